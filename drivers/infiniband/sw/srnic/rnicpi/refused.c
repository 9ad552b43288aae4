// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Functions that refuse: all of a handle that is none, and those that no iWARP device has. */

#include "rnicpi/ops.h"
#include "rnicpi/rnic.h"

#define NONE_OF(name, code, ...)							\
	static ri_api_return_t none_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{									\
		return ri_refuse(err_data, code);				\
	}

NONE_OF(rnic_open, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t vp_hdl, ri_pbl_mode_t pbl_mode,
	ri_os_data_t os_data)
NONE_OF(rnic_close, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t vp_hdl)
NONE_OF(async_set_event_handler, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t vp_hdl,
	ri_async_event_callback_t async_event_callback)
NONE_OF(rnic_get_hdl, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t vp_hdl,
	ri_consumer_domain_t location,
	ri_rnic_handle_t *rnic, ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(rnic_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_rnic_query_flags_t flags,
	ri_rnic_attr_t *attrs, uint_t *attr_size)
NONE_OF(rnic_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic,
	ri_rnic_attr_mask_t attr_mask,
	ri_rnic_modify_req_t *attrs)
NONE_OF(rnic_free_hdl, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic)
NONE_OF(rnic_diag, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_diag_op_type_t op,
	void *arg,
	unsigned char *opval, ri_length_t *oplen)
NONE_OF(pd_alloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_pd_handle_t *pd,
	ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(pd_dealloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_pd_handle_t pd)
NONE_OF(cq_create, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_cq_attr_t *cq_attr,
	ri_cq_handle_t *cq, ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(cq_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_cq_handle_t cq,
	ri_cq_attr_t *cq_attr)
NONE_OF(cq_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_cq_handle_t cq,
	ri_cq_modify_mask_t mask, ri_cq_attr_t *cq_attr)
NONE_OF(cq_destroy, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_cq_handle_t cq)
NONE_OF(special_qp_get, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, u8 port,
	ri_sqp_type_t qp_type, ri_qp_attr_t *attrs, ri_qp_handle_t *qp, ri_vp_data_t vp_data,
	ri_os_data_t os_data)
NONE_OF(cq_set_event_handler, RI_RET_VP_INVALID_HANDLE, ri_vp_handle_t vp_hdl,
	ri_cq_event_handler_id_t *handler_id, ri_cq_event_callback_t cq_callback)
NONE_OF(cq_req_notification, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_cq_handle_t cq,
	ri_cmplt_notify_type_t type)
NONE_OF(cq_poll, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_wc_t *wcs,
	uint_t *num_wcs)
NONE_OF(qp_create, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_attr_t *attrs,
	ri_qp_handle_t *qp, ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(qp_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_qp_attr_t *attrs)
NONE_OF(qp_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_qp_attr_mask_t qp_mask, ri_qp_attr_t *attrs)
NONE_OF(qp_destroy, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp)
NONE_OF(qp_postsq, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_t *wr,
	uint_t *num_wrs)
NONE_OF(qp_post_send, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
	ri_rtag_t rtag, uint_t num_sgle, u32 imm_data)
NONE_OF(qp_post_rdma_read, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
	u64 rdma_addr, uint_t num_sgle, ri_rtag_t rtag)
NONE_OF(qp_post_rdma_write, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
	u64 rdma_addr, ri_rtag_t rtag, uint_t num_sgle, u32 imm_data)
NONE_OF(qp_post_bind, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_mw_handle_t mw_handle,
	ri_rtag_t rtag, ri_mr_handle_t mr_handle, ri_ltag_t ltag, ri_addr_t vaddr,
	ri_length_t length, ri_mem_attr_t mem_attr)
NONE_OF(qp_post_fmr, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_mr_reg_phys_attr_t *attr,
	ri_ltag_t ltag, ri_rtag_t rtag, ri_mr_handle_t mr_handle)
NONE_OF(qp_post_local_invalidate, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic,
	ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_ltag_t ltag, ri_rtag_t rtag,
	ri_mrw_handle_t mrw_handle)
NONE_OF(qp_post_atomic, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_rtag_t rtag,
	u64 atomic_operand1, u64 atomic_operand2, ri_data_seg_t *sg_list)
NONE_OF(qp_post_datagram, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
	uint_t num_sgle, u32 imm_data, ri_address_handle_t remote_node_address,
	u32 dest_qp, u32 dest_qkey, u8 max_static_rate)
NONE_OF(qp_postrq, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle,
	ri_wr_recv_t *wr, uint_t *num_wrs)
NONE_OF(qp_post_recv, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle,
	ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list, uint_t num_sgls)
NONE_OF(srq_create, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_srq_attr_t *srq_attrs,
	ri_srq_handle_t *srq, ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(srq_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_srq_handle_t srq,
	ri_srq_attr_t *srq_attrs)
NONE_OF(srq_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_srq_handle_t srq,
	ri_srq_attr_mask_t srqmask, ri_srq_attr_t *attrs)
NONE_OF(srq_destroy, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_srq_handle_t srq)
NONE_OF(srq_post, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle,
	ri_wr_recv_t *wr, uint_t *num_wrs)
NONE_OF(srq_post_recv, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic,
	ri_srq_handle_t srq_handle,
	ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list, uint_t num_sgls)
NONE_OF(ltag_alloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, uint_t *address_list_length,
	ri_pd_handle_t pd, ri_mem_attr_t attr, ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
	ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(mr_reg, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic,
	const ri_mr_reg_attr_t *mr_reg_attr,
	ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
	ri_os_data_t os_data)
NONE_OF(mr_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_mr_handle_t mr,
	ri_mr_info_t *mr_info)
NONE_OF(mr_rereg, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
	ri_mr_rereg_t change_mask, const ri_mr_reg_attr_t *mr_attr, ri_mr_handle_t *out_mr,
	ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(mr_dereg, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_mr_handle_t mr)
NONE_OF(mr_reg_phys, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic,
	ri_mr_reg_phys_attr_t *mr_phys_attr, ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
	ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(mr_rereg_phys, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
	ri_mr_rereg_t change_mask, ri_mr_reg_phys_attr_t *mr_phys_attr, ri_mr_handle_t *out_mr,
	ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(mr_reg_shared, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
	ri_mr_reg_attr_t *mr_reg_attr, ri_mr_handle_t *out_mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
	ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(mw_alloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_pd_handle_t pd,
	ri_mw_type_t mw_type, ri_mw_handle_t *mw, ri_rtag_t *rtag, ri_vp_data_t vp_data,
	ri_os_data_t os_data)
NONE_OF(mw_dealloc, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_mw_handle_t mw)
NONE_OF(mw_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_mw_handle_t mw,
	ri_mw_type_t *mw_type, ri_stag_state_t *stag_state, ri_pd_handle_t *pd, ri_mem_attr_t *attr,
	ri_rtag_t *rtag)
NONE_OF(mem_pin, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_vaddr_t vaddr,
	ri_length_t len,
	ri_os_data_t os_data)
NONE_OF(mem_unpin, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_vaddr_t vaddr,
	ri_length_t len, ri_os_data_t os_data)
NONE_OF(mem_map, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_vaddr_t vaddr,
	ri_length_t len,
	ri_phys_buf_t *io, ri_os_data_t os_data)
NONE_OF(mem_unmap, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_phys_buf_t *io,
	ri_os_data_t os_data)
NONE_OF(mem_sync_rread, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic,
	ri_data_seg_t *local_seg_list, uint_t num_seg)
NONE_OF(mem_sync_rwrite, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic,
	ri_data_seg_t *local_seg_list, uint_t num_seg)
NONE_OF(ah_create, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_pd_handle_t pd,
	ri_ud_address_vector_t *av, ri_address_handle_t *ah, ri_vp_data_t vp_data,
	ri_os_data_t os_data)
NONE_OF(ah_query, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_address_handle_t ah,
	ri_ud_address_vector_t *av, ri_pd_handle_t *pd)
NONE_OF(ah_modify, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_address_handle_t ah,
	ri_ud_address_vector_t *av)
NONE_OF(ah_destroy, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_address_handle_t ah)
NONE_OF(mcast_attach, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_lid_t mlid,
	ri_gid_t *mgid,
	ri_qp_handle_t qp, ri_vp_data_t vp_data, ri_os_data_t os_data)
NONE_OF(mcast_detach, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, ri_lid_t mlid,
	ri_gid_t *mgid,
	ri_qp_handle_t qp)
NONE_OF(process_sma_mad, RI_RET_RNIC_INVALID_HANDLE, ri_rnic_handle_t rnic, u8 port_num,
	char *in_mad, char *out_mad)

/* Of what is no handle of a device or of an RNIC */
const ri_ops_t ri_no_ops = {
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

/* Those of InfiniBand (1.3): no state is touched */
#define REFUSED(name, code, ...)						\
	ri_api_return_t ri_do_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{									\
		return ri_refuse(err_data, code);				\
	}

REFUSED(rnic_modify, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, ri_rnic_attr_mask_t attr_mask,
	ri_rnic_modify_req_t *attrs)
REFUSED(special_qp_get, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, u8 port,
	ri_sqp_type_t qp_type, ri_qp_attr_t *attrs, ri_qp_handle_t *qp, ri_vp_data_t vp_data,
	ri_os_data_t os_data)
REFUSED(qp_post_atomic, RI_RET_RNIC_ATOMICS_UNSUPPORTED, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_rtag_t rtag,
	u64 atomic_operand1, u64 atomic_operand2, ri_data_seg_t *sg_list)
REFUSED(qp_post_datagram, RI_RET_WR_INVALID_TYPE, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
	uint_t num_sgle, u32 imm_data, ri_address_handle_t remote_node_address,
	u32 dest_qp, u32 dest_qkey, u8 max_static_rate)
REFUSED(ah_create, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, ri_pd_handle_t pd,
	ri_ud_address_vector_t *av, ri_address_handle_t *ah, ri_vp_data_t vp_data,
	ri_os_data_t os_data)
REFUSED(ah_query, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, ri_address_handle_t ah,
	ri_ud_address_vector_t *av, ri_pd_handle_t *pd)
REFUSED(ah_modify, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, ri_address_handle_t ah,
	ri_ud_address_vector_t *av)
REFUSED(ah_destroy, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, ri_address_handle_t ah)
REFUSED(mcast_attach, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, ri_lid_t mlid,
	ri_gid_t *mgid, ri_qp_handle_t qp, ri_vp_data_t vp_data, ri_os_data_t os_data)
REFUSED(mcast_detach, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, ri_lid_t mlid,
	ri_gid_t *mgid, ri_qp_handle_t qp)
REFUSED(process_sma_mad, RI_RET_XPORT_UNSUPPORTED, ri_rnic_handle_t rnic, u8 port_num,
	char *in_mad, char *out_mad)
