// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The vector, for both models of locking (4.3.1): its functions lock by themselves, and sleep
 * in none that any context may call. So a caller that locks may have them as well.
 */

#include <linux/build_bug.h>
#include "rnicpi/ops.h"
#include "rnicpi/rnic.h"

static_assert(sizeof(ri_ops_t) == 63 * sizeof(void *));

/* In the order of the text, which librnicpi asserts of the same header */
ri_ops_t ri_vector = {
	.ri_op_rnic_open = ri_do_rnic_open,
	.ri_op_rnic_close = ri_do_rnic_close,
	.ri_op_async_set_event_handler = ri_do_async_set_event_handler,
	.ri_op_rnic_get_hdl = ri_do_rnic_get_hdl,
	.ri_op_rnic_query = ri_do_rnic_query,
	.ri_op_rnic_modify = ri_do_rnic_modify,
	.ri_op_rnic_free_hdl = ri_do_rnic_free_hdl,
	.ri_op_rnic_diag = ri_do_rnic_diag,
	.ri_op_pd_alloc = ri_do_pd_alloc,
	.ri_op_pd_dealloc = ri_do_pd_dealloc,
	.ri_op_cq_create = ri_do_cq_create,
	.ri_op_cq_query = ri_do_cq_query,
	.ri_op_cq_modify = ri_do_cq_modify,
	.ri_op_cq_destroy = ri_do_cq_destroy,
	.ri_op_special_qp_get = ri_do_special_qp_get,
	.ri_op_cq_set_event_handler = ri_do_cq_set_event_handler,
	.ri_op_cq_req_notification = ri_do_cq_req_notification,
	.ri_op_cq_poll = ri_do_cq_poll,
	.ri_op_qp_create = ri_do_qp_create,
	.ri_op_qp_query = ri_do_qp_query,
	.ri_op_qp_modify = ri_do_qp_modify,
	.ri_op_qp_destroy = ri_do_qp_destroy,
	.ri_op_qp_postsq = ri_do_qp_postsq,
	.ri_op_qp_post_send = ri_do_qp_post_send,
	.ri_op_qp_post_rdma_read = ri_do_qp_post_rdma_read,
	.ri_op_qp_post_rdma_write = ri_do_qp_post_rdma_write,
	.ri_op_qp_post_bind = ri_do_qp_post_bind,
	.ri_op_qp_post_fmr = ri_do_qp_post_fmr,
	.ri_op_qp_post_local_invalidate = ri_do_qp_post_local_invalidate,
	.ri_op_qp_post_atomic = ri_do_qp_post_atomic,
	.ri_op_qp_post_datagram = ri_do_qp_post_datagram,
	.ri_op_qp_postrq = ri_do_qp_postrq,
	.ri_op_qp_post_recv = ri_do_qp_post_recv,
	.ri_op_srq_create = ri_do_srq_create,
	.ri_op_srq_query = ri_do_srq_query,
	.ri_op_srq_modify = ri_do_srq_modify,
	.ri_op_srq_destroy = ri_do_srq_destroy,
	.ri_op_srq_post = ri_do_srq_post,
	.ri_op_srq_post_recv = ri_do_srq_post_recv,
	.ri_op_ltag_alloc = ri_do_ltag_alloc,
	.ri_op_mr_reg = ri_do_mr_reg,
	.ri_op_mr_query = ri_do_mr_query,
	.ri_op_mr_rereg = ri_do_mr_rereg,
	.ri_op_mr_dereg = ri_do_mr_dereg,
	.ri_op_mr_reg_phys = ri_do_mr_reg_phys,
	.ri_op_mr_rereg_phys = ri_do_mr_rereg_phys,
	.ri_op_mr_reg_shared = ri_do_mr_reg_shared,
	.ri_op_mw_alloc = ri_do_mw_alloc,
	.ri_op_mw_dealloc = ri_do_mw_dealloc,
	.ri_op_mw_query = ri_do_mw_query,
	.ri_op_mem_pin = ri_do_mem_pin,
	.ri_op_mem_unpin = ri_do_mem_unpin,
	.ri_op_mem_map = ri_do_mem_map,
	.ri_op_mem_unmap = ri_do_mem_unmap,
	.ri_op_mem_sync_rread = ri_do_mem_sync_rread,
	.ri_op_mem_sync_rwrite = ri_do_mem_sync_rwrite,
	.ri_op_ah_create = ri_do_ah_create,
	.ri_op_ah_query = ri_do_ah_query,
	.ri_op_ah_modify = ri_do_ah_modify,
	.ri_op_ah_destroy = ri_do_ah_destroy,
	.ri_op_mcast_attach = ri_do_mcast_attach,
	.ri_op_mcast_detach = ri_do_mcast_detach,
	.ri_op_process_sma_mad = ri_do_process_sma_mad,
};
