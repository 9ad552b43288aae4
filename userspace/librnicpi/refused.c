// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Functions that refuse: all of a handle that is none, and those that no user program may call
 * or no iWARP device has.
 */
#include "rnic.h"
#include "refused.h"

#define REFUSE(name, code, ...)							\
	static ri_api_return_t none_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{									\
		return ri_refuse(err_data, code);				\
	}

REFUSE(rnic_open, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t, ri_pbl_mode_t, ri_os_data_t)
REFUSE(rnic_close, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t)
REFUSE(async_set_event_handler, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t,
     ri_async_event_callback_t)
REFUSE(rnic_get_hdl, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t, ri_consumer_domain_t,
     ri_rnic_handle_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(rnic_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_rnic_query_flags_t,
     ri_rnic_attr_t *, uint_t *)
REFUSE(rnic_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_rnic_attr_mask_t,
     ri_rnic_modify_req_t *)
REFUSE(rnic_free_hdl, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t, ri_rnic_handle_t)
REFUSE(rnic_diag, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_diag_op_type_t, void *,
     unsigned char *, ri_length_t *)
REFUSE(pd_alloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_pd_handle_t *, ri_vp_data_t,
     ri_os_data_t)
REFUSE(pd_dealloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_pd_handle_t)
REFUSE(cq_create, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_cq_attr_t *,
     ri_cq_handle_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(cq_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_cq_handle_t, ri_cq_attr_t *)
REFUSE(cq_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_cq_handle_t,
     ri_cq_modify_mask_t, ri_cq_attr_t *)
REFUSE(cq_destroy, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_cq_handle_t)
REFUSE(special_qp_get, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, uint8_t, ri_sqp_type_t,
     ri_qp_attr_t *, ri_qp_handle_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(cq_set_event_handler, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t,
     ri_cq_event_handler_id_t *, ri_cq_event_callback_t)
REFUSE(cq_req_notification, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_cq_handle_t,
     ri_cmplt_notify_type_t)
REFUSE(cq_poll, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_cq_handle_t, ri_wc_t *,
     uint_t *)
REFUSE(qp_create, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_attr_t *,
     ri_qp_handle_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(qp_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t, ri_qp_attr_t *)
REFUSE(qp_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_qp_attr_mask_t, ri_qp_attr_t *)
REFUSE(qp_destroy, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t)
REFUSE(qp_postsq, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t, ri_wr_t *,
     uint_t *)
REFUSE(qp_post_send, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, ri_rtag_t, uint_t, uint32_t)
REFUSE(qp_post_rdma_read, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint64_t, uint_t, ri_rtag_t)
REFUSE(qp_post_rdma_write, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint64_t, ri_rtag_t, uint_t,
     uint32_t)
REFUSE(qp_post_bind, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_mw_handle_t, ri_rtag_t, ri_mr_handle_t,
     ri_ltag_t, ri_addr_t, ri_length_t, ri_mem_attr_t)
REFUSE(qp_post_fmr, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t,
     ri_wr_flags_t, ri_wr_id_t, ri_mr_reg_phys_attr_t *, ri_ltag_t, ri_rtag_t, ri_mr_handle_t)
REFUSE(qp_post_local_invalidate, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_ltag_t, ri_rtag_t, ri_mrw_handle_t)
REFUSE(qp_post_atomic, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_rtag_t, uint64_t, uint64_t, ri_data_seg_t *)
REFUSE(qp_post_datagram, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint_t, uint32_t,
     ri_address_handle_t, uint32_t, uint32_t, uint8_t)
REFUSE(qp_postrq, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t, ri_wr_recv_t *,
     uint_t *)
REFUSE(qp_post_recv, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint_t)
REFUSE(srq_create, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_srq_attr_t *,
     ri_srq_handle_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(srq_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_srq_handle_t,
     ri_srq_attr_t *)
REFUSE(srq_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_srq_handle_t,
     ri_srq_attr_mask_t, ri_srq_attr_t *)
REFUSE(srq_destroy, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_srq_handle_t)
REFUSE(srq_post, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_srq_handle_t, ri_wr_recv_t *,
     uint_t *)
REFUSE(srq_post_recv, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_srq_handle_t,
     ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint_t)
REFUSE(ltag_alloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, uint_t *, ri_pd_handle_t,
     ri_mem_attr_t, ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(mr_reg, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, const ri_mr_reg_attr_t *,
     ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(mr_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_mr_handle_t, ri_mr_info_t *)
REFUSE(mr_rereg, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_mr_handle_t, ri_mr_rereg_t,
     const ri_mr_reg_attr_t *, ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t,
     ri_os_data_t)
REFUSE(mr_dereg, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_mr_handle_t)
REFUSE(mr_reg_phys, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_mr_reg_phys_attr_t *,
     ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(mr_rereg_phys, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_mr_handle_t,
     ri_mr_rereg_t, ri_mr_reg_phys_attr_t *, ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *,
     ri_vp_data_t, ri_os_data_t)
REFUSE(mr_reg_shared, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_mr_handle_t,
     ri_mr_reg_attr_t *, ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t,
     ri_os_data_t)
REFUSE(mw_alloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_pd_handle_t, ri_mw_type_t,
     ri_mw_handle_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(mw_dealloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_mw_handle_t)
REFUSE(mw_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_mw_handle_t, ri_mw_type_t *,
     ri_stag_state_t *, ri_pd_handle_t *, ri_mem_attr_t *, ri_rtag_t *)
REFUSE(mem_pin, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_vaddr_t, ri_length_t,
     ri_os_data_t)
REFUSE(mem_unpin, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_vaddr_t, ri_length_t,
     ri_os_data_t)
REFUSE(mem_map, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_vaddr_t, ri_length_t,
     ri_phys_buf_t *, ri_os_data_t)
REFUSE(mem_unmap, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_phys_buf_t *, ri_os_data_t)
REFUSE(mem_sync_rread, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_data_seg_t *, uint_t)
REFUSE(mem_sync_rwrite, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_data_seg_t *, uint_t)
REFUSE(ah_create, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_pd_handle_t,
     ri_ud_address_vector_t *, ri_address_handle_t *, ri_vp_data_t, ri_os_data_t)
REFUSE(ah_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_address_handle_t,
     ri_ud_address_vector_t *, ri_pd_handle_t *)
REFUSE(ah_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_address_handle_t,
     ri_ud_address_vector_t *)
REFUSE(ah_destroy, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_address_handle_t)
REFUSE(mcast_attach, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_lid_t, ri_gid_t *,
     ri_qp_handle_t, ri_vp_data_t, ri_os_data_t)
REFUSE(mcast_detach, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, ri_lid_t, ri_gid_t *,
     ri_qp_handle_t)
REFUSE(process_sma_mad, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t, uint8_t, char *, char *)

/* Of what is no handle of a device or of an RNIC */
const struct ri_ops ri_no_rnic_ops = {
	.ri_op_rnic_open = none_rnic_open,
	.ri_op_rnic_close = none_rnic_close,
	.ri_op_async_set_event_handler = none_async_set_event_handler,
	.ri_op_rnic_get_hdl = none_rnic_get_hdl,
	.ri_op_rnic_query = none_rnic_query,
	.ri_op_rnic_modify = none_rnic_modify,
	.ri_op_rnic_free_hdl = none_rnic_free_hdl,
	.ri_op_rnic_diag = none_rnic_diag,
	.ri_op_pd_alloc = none_pd_alloc,
	.ri_op_pd_dealloc = none_pd_dealloc,
	.ri_op_cq_create = none_cq_create,
	.ri_op_cq_query = none_cq_query,
	.ri_op_cq_modify = none_cq_modify,
	.ri_op_cq_destroy = none_cq_destroy,
	.ri_op_special_qp_get = none_special_qp_get,
	.ri_op_cq_set_event_handler = none_cq_set_event_handler,
	.ri_op_cq_req_notification = none_cq_req_notification,
	.ri_op_cq_poll = none_cq_poll,
	.ri_op_qp_create = none_qp_create,
	.ri_op_qp_query = none_qp_query,
	.ri_op_qp_modify = none_qp_modify,
	.ri_op_qp_destroy = none_qp_destroy,
	.ri_op_qp_postsq = none_qp_postsq,
	.ri_op_qp_post_send = none_qp_post_send,
	.ri_op_qp_post_rdma_read = none_qp_post_rdma_read,
	.ri_op_qp_post_rdma_write = none_qp_post_rdma_write,
	.ri_op_qp_post_bind = none_qp_post_bind,
	.ri_op_qp_post_fmr = none_qp_post_fmr,
	.ri_op_qp_post_local_invalidate = none_qp_post_local_invalidate,
	.ri_op_qp_post_atomic = none_qp_post_atomic,
	.ri_op_qp_post_datagram = none_qp_post_datagram,
	.ri_op_qp_postrq = none_qp_postrq,
	.ri_op_qp_post_recv = none_qp_post_recv,
	.ri_op_srq_create = none_srq_create,
	.ri_op_srq_query = none_srq_query,
	.ri_op_srq_modify = none_srq_modify,
	.ri_op_srq_destroy = none_srq_destroy,
	.ri_op_srq_post = none_srq_post,
	.ri_op_srq_post_recv = none_srq_post_recv,
	.ri_op_ltag_alloc = none_ltag_alloc,
	.ri_op_mr_reg = none_mr_reg,
	.ri_op_mr_query = none_mr_query,
	.ri_op_mr_rereg = none_mr_rereg,
	.ri_op_mr_dereg = none_mr_dereg,
	.ri_op_mr_reg_phys = none_mr_reg_phys,
	.ri_op_mr_rereg_phys = none_mr_rereg_phys,
	.ri_op_mr_reg_shared = none_mr_reg_shared,
	.ri_op_mw_alloc = none_mw_alloc,
	.ri_op_mw_dealloc = none_mw_dealloc,
	.ri_op_mw_query = none_mw_query,
	.ri_op_mem_pin = none_mem_pin,
	.ri_op_mem_unpin = none_mem_unpin,
	.ri_op_mem_map = none_mem_map,
	.ri_op_mem_unmap = none_mem_unmap,
	.ri_op_mem_sync_rread = none_mem_sync_rread,
	.ri_op_mem_sync_rwrite = none_mem_sync_rwrite,
	.ri_op_ah_create = none_ah_create,
	.ri_op_ah_query = none_ah_query,
	.ri_op_ah_modify = none_ah_modify,
	.ri_op_ah_destroy = none_ah_destroy,
	.ri_op_mcast_attach = none_mcast_attach,
	.ri_op_mcast_detach = none_mcast_detach,
	.ri_op_process_sma_mad = none_process_sma_mad,
};

/* Those of the kernel, or of privileged callers, and those of InfiniBand (3.2.1, 1.3) */
#define REFUSED(name, code, ...)						\
	ri_api_return_t ri_refused_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{									\
		return ri_refuse(err_data, code);				\
	}

REFUSED(rnic_open, RI_RET_NO_PERMISSION, ri_vp_handle_t, ri_pbl_mode_t, ri_os_data_t)
REFUSED(rnic_close, RI_RET_NO_PERMISSION, ri_vp_handle_t)
REFUSED(async_set_event_handler, RI_RET_NO_PERMISSION, ri_vp_handle_t,
     ri_async_event_callback_t)
REFUSED(rnic_modify, RI_RET_NO_PERMISSION, ri_rnic_handle_t, ri_rnic_attr_mask_t,
     ri_rnic_modify_req_t *)
REFUSED(special_qp_get, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t, uint8_t, ri_sqp_type_t,
     ri_qp_attr_t *, ri_qp_handle_t *, ri_vp_data_t, ri_os_data_t)
REFUSED(cq_set_event_handler, RI_RET_NO_PERMISSION, ri_vp_handle_t, ri_cq_event_handler_id_t *,
     ri_cq_event_callback_t)
REFUSED(qp_post_fmr, RI_RET_NO_PERMISSION, ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t,
     ri_wr_flags_t, ri_wr_id_t, ri_mr_reg_phys_attr_t *, ri_ltag_t, ri_rtag_t, ri_mr_handle_t)
REFUSED(qp_post_atomic, RI_RET_RNIC_ATOMICS_UNSUPPORTED, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_rtag_t, uint64_t, uint64_t, ri_data_seg_t *)
REFUSED(qp_post_datagram, RI_RET_WR_INVALID_TYPE, ri_rnic_handle_t, ri_qp_handle_t,
     ri_wr_type_t, ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint_t, uint32_t,
     ri_address_handle_t, uint32_t, uint32_t, uint8_t)
REFUSED(ltag_alloc, RI_RET_NO_PERMISSION, ri_rnic_handle_t, uint_t *, ri_pd_handle_t,
     ri_mem_attr_t, ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t)
REFUSED(mr_reg_phys, RI_RET_NO_PERMISSION, ri_rnic_handle_t, ri_mr_reg_phys_attr_t *,
     ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t)
REFUSED(mr_rereg_phys, RI_RET_NO_PERMISSION, ri_rnic_handle_t, ri_mr_handle_t, ri_mr_rereg_t,
     ri_mr_reg_phys_attr_t *, ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t,
     ri_os_data_t)
REFUSED(mem_pin, RI_RET_NO_PERMISSION, ri_rnic_handle_t, ri_vaddr_t, ri_length_t, ri_os_data_t)
REFUSED(mem_unpin, RI_RET_NO_PERMISSION, ri_rnic_handle_t, ri_vaddr_t, ri_length_t,
     ri_os_data_t)
REFUSED(mem_map, RI_RET_NO_PERMISSION, ri_rnic_handle_t, ri_vaddr_t, ri_length_t,
     ri_phys_buf_t *, ri_os_data_t)
REFUSED(mem_unmap, RI_RET_NO_PERMISSION, ri_rnic_handle_t, ri_phys_buf_t *, ri_os_data_t)
REFUSED(ah_create, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t, ri_pd_handle_t,
     ri_ud_address_vector_t *, ri_address_handle_t *, ri_vp_data_t, ri_os_data_t)
REFUSED(ah_query, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t, ri_address_handle_t,
     ri_ud_address_vector_t *, ri_pd_handle_t *)
REFUSED(ah_modify, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t, ri_address_handle_t,
     ri_ud_address_vector_t *)
REFUSED(ah_destroy, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t, ri_address_handle_t)
REFUSED(mcast_attach, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t, ri_lid_t, ri_gid_t *,
     ri_qp_handle_t, ri_vp_data_t, ri_os_data_t)
REFUSED(mcast_detach, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t, ri_lid_t, ri_gid_t *,
     ri_qp_handle_t)
REFUSED(process_sma_mad, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t, uint8_t, char *, char *)
