// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The two vectors (4.3.1). They have the same functions: verbs locks by itself, which a
 * caller that locks may as well have. An RNIC handle has the vector that made it.
 */
#include <stddef.h>
#include "ops.h"
#include "refused.h"
#include "rnic.h"

_Static_assert(sizeof(struct ri_ops) == 63 * sizeof(void *), "63 functions");

#define GET_HDL(name, ops)								\
	static ri_api_return_t name(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,	\
				    ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,		\
				    ri_os_data_t os_data, ri_err_data_t *err_data)		\
	{										\
		(void)location, (void)vp_data;						\
		return ri_do_get_hdl(ops, vp_hdl, rnic, os_data, err_data);			\
	}

GET_HDL(get_hdl_al, &ri_al_ops)
GET_HDL(get_hdl_vp, &ri_vp_ops)

/* In the order of the text, which the asserts below hold */
#define VECTOR(get_hdl) {							\
	.ri_op_rnic_open = ri_refused_rnic_open, \
	.ri_op_rnic_close = ri_refused_rnic_close, \
	.ri_op_async_set_event_handler = ri_refused_async_set_event_handler, \
	.ri_op_rnic_get_hdl = get_hdl, \
	.ri_op_rnic_query = ri_do_rnic_query, \
	.ri_op_rnic_modify = ri_refused_rnic_modify, \
	.ri_op_rnic_free_hdl = ri_do_rnic_free_hdl, \
	.ri_op_rnic_diag = ri_do_rnic_diag, \
	.ri_op_pd_alloc = ri_do_pd_alloc, \
	.ri_op_pd_dealloc = ri_do_pd_dealloc, \
	.ri_op_cq_create = ri_do_cq_create, \
	.ri_op_cq_query = ri_do_cq_query, \
	.ri_op_cq_modify = ri_do_cq_modify, \
	.ri_op_cq_destroy = ri_do_cq_destroy, \
	.ri_op_special_qp_get = ri_refused_special_qp_get, \
	.ri_op_cq_set_event_handler = ri_refused_cq_set_event_handler, \
	.ri_op_cq_req_notification = ri_do_cq_req_notification, \
	.ri_op_cq_poll = ri_do_cq_poll, \
	.ri_op_qp_create = ri_do_qp_create, \
	.ri_op_qp_query = ri_do_qp_query, \
	.ri_op_qp_modify = ri_do_qp_modify, \
	.ri_op_qp_destroy = ri_do_qp_destroy, \
	.ri_op_qp_postsq = ri_do_qp_postsq, \
	.ri_op_qp_post_send = ri_do_qp_post_send, \
	.ri_op_qp_post_rdma_read = ri_do_qp_post_rdma_read, \
	.ri_op_qp_post_rdma_write = ri_do_qp_post_rdma_write, \
	.ri_op_qp_post_bind = ri_do_qp_post_bind, \
	.ri_op_qp_post_fmr = ri_refused_qp_post_fmr, \
	.ri_op_qp_post_local_invalidate = ri_do_qp_post_local_invalidate, \
	.ri_op_qp_post_atomic = ri_refused_qp_post_atomic, \
	.ri_op_qp_post_datagram = ri_refused_qp_post_datagram, \
	.ri_op_qp_postrq = ri_do_qp_postrq, \
	.ri_op_qp_post_recv = ri_do_qp_post_recv, \
	.ri_op_srq_create = ri_do_srq_create, \
	.ri_op_srq_query = ri_do_srq_query, \
	.ri_op_srq_modify = ri_do_srq_modify, \
	.ri_op_srq_destroy = ri_do_srq_destroy, \
	.ri_op_srq_post = ri_do_srq_post, \
	.ri_op_srq_post_recv = ri_do_srq_post_recv, \
	.ri_op_ltag_alloc = ri_refused_ltag_alloc, \
	.ri_op_mr_reg = ri_do_mr_reg, \
	.ri_op_mr_query = ri_do_mr_query, \
	.ri_op_mr_rereg = ri_do_mr_rereg, \
	.ri_op_mr_dereg = ri_do_mr_dereg, \
	.ri_op_mr_reg_phys = ri_refused_mr_reg_phys, \
	.ri_op_mr_rereg_phys = ri_refused_mr_rereg_phys, \
	.ri_op_mr_reg_shared = ri_do_mr_reg_shared, \
	.ri_op_mw_alloc = ri_do_mw_alloc, \
	.ri_op_mw_dealloc = ri_do_mw_dealloc, \
	.ri_op_mw_query = ri_do_mw_query, \
	.ri_op_mem_pin = ri_refused_mem_pin, \
	.ri_op_mem_unpin = ri_refused_mem_unpin, \
	.ri_op_mem_map = ri_refused_mem_map, \
	.ri_op_mem_unmap = ri_refused_mem_unmap, \
	.ri_op_mem_sync_rread = ri_do_mem_sync_rread, \
	.ri_op_mem_sync_rwrite = ri_do_mem_sync_rwrite, \
	.ri_op_ah_create = ri_refused_ah_create, \
	.ri_op_ah_query = ri_refused_ah_query, \
	.ri_op_ah_modify = ri_refused_ah_modify, \
	.ri_op_ah_destroy = ri_refused_ah_destroy, \
	.ri_op_mcast_attach = ri_refused_mcast_attach, \
	.ri_op_mcast_detach = ri_refused_mcast_detach, \
	.ri_op_process_sma_mad = ri_refused_process_sma_mad, \
}

const struct ri_ops ri_al_ops = VECTOR(get_hdl_al);
const struct ri_ops ri_vp_ops = VECTOR(get_hdl_vp);

#define AT(name, number)								\
	_Static_assert(offsetof(struct ri_ops, ri_op_##name) == (number) * sizeof(void *), #name)

AT(rnic_open, 0);
AT(rnic_close, 1);
AT(async_set_event_handler, 2);
AT(rnic_get_hdl, 3);
AT(rnic_query, 4);
AT(rnic_modify, 5);
AT(rnic_free_hdl, 6);
AT(rnic_diag, 7);
AT(pd_alloc, 8);
AT(pd_dealloc, 9);
AT(cq_create, 10);
AT(cq_query, 11);
AT(cq_modify, 12);
AT(cq_destroy, 13);
AT(special_qp_get, 14);
AT(cq_set_event_handler, 15);
AT(cq_req_notification, 16);
AT(cq_poll, 17);
AT(qp_create, 18);
AT(qp_query, 19);
AT(qp_modify, 20);
AT(qp_destroy, 21);
AT(qp_postsq, 22);
AT(qp_post_send, 23);
AT(qp_post_rdma_read, 24);
AT(qp_post_rdma_write, 25);
AT(qp_post_bind, 26);
AT(qp_post_fmr, 27);
AT(qp_post_local_invalidate, 28);
AT(qp_post_atomic, 29);
AT(qp_post_datagram, 30);
AT(qp_postrq, 31);
AT(qp_post_recv, 32);
AT(srq_create, 33);
AT(srq_query, 34);
AT(srq_modify, 35);
AT(srq_destroy, 36);
AT(srq_post, 37);
AT(srq_post_recv, 38);
AT(ltag_alloc, 39);
AT(mr_reg, 40);
AT(mr_query, 41);
AT(mr_rereg, 42);
AT(mr_dereg, 43);
AT(mr_reg_phys, 44);
AT(mr_rereg_phys, 45);
AT(mr_reg_shared, 46);
AT(mw_alloc, 47);
AT(mw_dealloc, 48);
AT(mw_query, 49);
AT(mem_pin, 50);
AT(mem_unpin, 51);
AT(mem_map, 52);
AT(mem_unmap, 53);
AT(mem_sync_rread, 54);
AT(mem_sync_rwrite, 55);
AT(ah_create, 56);
AT(ah_query, 57);
AT(ah_modify, 58);
AT(ah_destroy, 59);
AT(mcast_attach, 60);
AT(mcast_detach, 61);
AT(process_sma_mad, 62);
