/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The functions of a vector, in the order of the specification. librnicpi and rnicpi.ko include
 * this file more than once, to generate code for each function: it has no guard.
 *
 *	RI_FUNCTION(name, handle, callers, parameters...)
 *
 * handle: type of the first parameter, VP or RNIC. callers: ALL; KERNEL: programs may not call
 * it; OPTIONAL: neither librnicpi nor rnicpi.ko has it; COHERENT: there is nothing to do, since all
 * memory is coherent; INFINIBAND, ATOMICS, DATAGRAMS: iWARP does not have it; MODIFY: iWARP does
 * not have it, and programs may not call it. err_data, the last parameter of each, is omitted.
 */
RI_FUNCTION(rnic_open, VP, KERNEL, ri_vp_handle_t vp_hdl, ri_pbl_mode_t pbl_mode,
	    ri_os_data_t os_data)
RI_FUNCTION(rnic_close, VP, KERNEL, ri_vp_handle_t vp_hdl)
RI_FUNCTION(async_set_event_handler, VP, KERNEL, ri_vp_handle_t vp_hdl,
	    ri_async_event_callback_t async_event_callback)
RI_FUNCTION(rnic_get_hdl, VP, ALL, ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,
	    ri_rnic_handle_t *rnic, ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(rnic_query, RNIC, ALL, ri_rnic_handle_t rnic, ri_rnic_query_flags_t flags,
	    ri_rnic_attr_t *attrs, uint_t *attr_size)
RI_FUNCTION(rnic_modify, RNIC, MODIFY, ri_rnic_handle_t rnic, ri_rnic_attr_mask_t attr_mask,
	    ri_rnic_modify_req_t *attrs)
RI_FUNCTION(rnic_free_hdl, VP, ALL, ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic)
RI_FUNCTION(rnic_diag, RNIC, OPTIONAL, ri_rnic_handle_t rnic, ri_diag_op_type_t op, void *arg,
	    unsigned char *opval, ri_length_t *oplen)
RI_FUNCTION(pd_alloc, RNIC, ALL, ri_rnic_handle_t rnic, ri_pd_handle_t *pd, ri_vp_data_t vp_data,
	    ri_os_data_t os_data)
RI_FUNCTION(pd_dealloc, RNIC, ALL, ri_rnic_handle_t rnic, ri_pd_handle_t pd)
RI_FUNCTION(cq_create, RNIC, ALL, ri_rnic_handle_t rnic, ri_cq_attr_t *cq_attr, ri_cq_handle_t *cq,
	    ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(cq_query, RNIC, ALL, ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_cq_attr_t *cq_attr)
RI_FUNCTION(cq_modify, RNIC, ALL, ri_rnic_handle_t rnic, ri_cq_handle_t cq,
	    ri_cq_modify_mask_t mask, ri_cq_attr_t *cq_attr)
RI_FUNCTION(cq_destroy, RNIC, ALL, ri_rnic_handle_t rnic, ri_cq_handle_t cq)
RI_FUNCTION(special_qp_get, RNIC, INFINIBAND, ri_rnic_handle_t rnic, uint8_t port,
	    ri_sqp_type_t qp_type, ri_qp_attr_t *attrs, ri_qp_handle_t *qp, ri_vp_data_t vp_data,
	    ri_os_data_t os_data)
RI_FUNCTION(cq_set_event_handler, VP, KERNEL, ri_vp_handle_t vp_hdl,
	    ri_cq_event_handler_id_t *handler_id, ri_cq_event_callback_t cq_callback)
RI_FUNCTION(cq_req_notification, RNIC, ALL, ri_rnic_handle_t rnic, ri_cq_handle_t cq,
	    ri_cmplt_notify_type_t type)
RI_FUNCTION(cq_poll, RNIC, ALL, ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_wc_t *wcs,
	    uint_t *num_wcs)
RI_FUNCTION(qp_create, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_attr_t *attrs, ri_qp_handle_t *qp,
	    ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(qp_query, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_t *attrs)
RI_FUNCTION(qp_modify, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	    ri_qp_attr_mask_t qp_mask, ri_qp_attr_t *attrs)
RI_FUNCTION(qp_destroy, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp)
RI_FUNCTION(qp_postsq, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_t *wr,
	    uint_t *num_wrs)
RI_FUNCTION(qp_post_send, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
	    ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list, ri_rtag_t rtag,
	    uint_t num_sgle, uint32_t imm_data)
RI_FUNCTION(qp_post_rdma_read, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	    ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
	    uint64_t rdma_addr, uint_t num_sgle, ri_rtag_t rtag)
RI_FUNCTION(qp_post_rdma_write, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	    ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
	    uint64_t rdma_addr, ri_rtag_t rtag, uint_t num_sgle, uint32_t imm_data)
RI_FUNCTION(qp_post_bind, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
	    ri_wr_flags_t flags, ri_wr_id_t id, ri_mw_handle_t mw_handle, ri_rtag_t rtag,
	    ri_mr_handle_t mr_handle, ri_ltag_t ltag, ri_addr_t vaddr, ri_length_t length,
	    ri_mem_attr_t mem_attr)
RI_FUNCTION(qp_post_fmr, RNIC, KERNEL, ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
	    ri_wr_flags_t flags, ri_wr_id_t id, ri_mr_reg_phys_attr_t *attr, ri_ltag_t ltag,
	    ri_rtag_t rtag, ri_mr_handle_t mr_handle)
RI_FUNCTION(qp_post_local_invalidate, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	    ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_ltag_t ltag, ri_rtag_t rtag,
	    ri_mrw_handle_t mrw_handle)
RI_FUNCTION(qp_post_atomic, RNIC, ATOMICS, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	    ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_rtag_t rtag,
	    uint64_t atomic_operand1, uint64_t atomic_operand2, ri_data_seg_t *sg_list)
RI_FUNCTION(qp_post_datagram, RNIC, DATAGRAMS, ri_rnic_handle_t rnic, ri_qp_handle_t qp,
	    ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
	    uint_t num_sgle, uint32_t imm_data, ri_address_handle_t remote_node_address,
	    uint32_t dest_qp, uint32_t dest_qkey, uint8_t max_static_rate)
RI_FUNCTION(qp_postrq, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle,
	    ri_wr_recv_t *wr, uint_t *num_wrs)
RI_FUNCTION(qp_post_recv, RNIC, ALL, ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle,
	    ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list, uint_t num_sgls)
RI_FUNCTION(srq_create, RNIC, ALL, ri_rnic_handle_t rnic, ri_srq_attr_t *srq_attrs,
	    ri_srq_handle_t *srq, ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(srq_query, RNIC, ALL, ri_rnic_handle_t rnic, ri_srq_handle_t srq,
	    ri_srq_attr_t *srq_attrs)
RI_FUNCTION(srq_modify, RNIC, ALL, ri_rnic_handle_t rnic, ri_srq_handle_t srq,
	    ri_srq_attr_mask_t srqmask, ri_srq_attr_t *attrs)
RI_FUNCTION(srq_destroy, RNIC, ALL, ri_rnic_handle_t rnic, ri_srq_handle_t srq)
RI_FUNCTION(srq_post, RNIC, ALL, ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle,
	    ri_wr_recv_t *wr, uint_t *num_wrs)
RI_FUNCTION(srq_post_recv, RNIC, ALL, ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle,
	    ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list, uint_t num_sgls)
RI_FUNCTION(ltag_alloc, RNIC, KERNEL, ri_rnic_handle_t rnic, uint_t *address_list_length,
	    ri_pd_handle_t pd, ri_mem_attr_t attr, ri_mr_handle_t *mr, ri_ltag_t *ltag,
	    ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(mr_reg, RNIC, ALL, ri_rnic_handle_t rnic, const ri_mr_reg_attr_t *mr_reg_attr,
	    ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
	    ri_os_data_t os_data)
RI_FUNCTION(mr_query, RNIC, ALL, ri_rnic_handle_t rnic, ri_mr_handle_t mr, ri_mr_info_t *mr_info)
RI_FUNCTION(mr_rereg, RNIC, ALL, ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
	    ri_mr_rereg_t change_mask, const ri_mr_reg_attr_t *mr_attr, ri_mr_handle_t *out_mr,
	    ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(mr_dereg, RNIC, ALL, ri_rnic_handle_t rnic, ri_mr_handle_t mr)
RI_FUNCTION(mr_reg_phys, RNIC, KERNEL, ri_rnic_handle_t rnic, ri_mr_reg_phys_attr_t *mr_phys_attr,
	    ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
	    ri_os_data_t os_data)
RI_FUNCTION(mr_rereg_phys, RNIC, KERNEL, ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
	    ri_mr_rereg_t change_mask, ri_mr_reg_phys_attr_t *mr_phys_attr, ri_mr_handle_t *out_mr,
	    ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(mr_reg_shared, RNIC, ALL, ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
	    ri_mr_reg_attr_t *mr_reg_attr, ri_mr_handle_t *out_mr, ri_ltag_t *ltag,
	    ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(mw_alloc, RNIC, ALL, ri_rnic_handle_t rnic, ri_pd_handle_t pd, ri_mw_type_t mw_type,
	    ri_mw_handle_t *mw, ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(mw_dealloc, RNIC, ALL, ri_rnic_handle_t rnic, ri_mw_handle_t mw)
RI_FUNCTION(mw_query, RNIC, ALL, ri_rnic_handle_t rnic, ri_mw_handle_t mw, ri_mw_type_t *mw_type,
	    ri_stag_state_t *stag_state, ri_pd_handle_t *pd, ri_mem_attr_t *attr, ri_rtag_t *rtag)
RI_FUNCTION(mem_pin, RNIC, KERNEL, ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len,
	    ri_os_data_t os_data)
RI_FUNCTION(mem_unpin, RNIC, KERNEL, ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len,
	    ri_os_data_t os_data)
RI_FUNCTION(mem_map, RNIC, KERNEL, ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len,
	    ri_phys_buf_t *io, ri_os_data_t os_data)
RI_FUNCTION(mem_unmap, RNIC, KERNEL, ri_rnic_handle_t rnic, ri_phys_buf_t *io,
	    ri_os_data_t os_data)
RI_FUNCTION(mem_sync_rread, RNIC, COHERENT, ri_rnic_handle_t rnic, ri_data_seg_t *local_seg_list,
	    uint_t num_seg)
RI_FUNCTION(mem_sync_rwrite, RNIC, COHERENT, ri_rnic_handle_t rnic, ri_data_seg_t *local_seg_list,
	    uint_t num_seg)
RI_FUNCTION(ah_create, RNIC, INFINIBAND, ri_rnic_handle_t rnic, ri_pd_handle_t pd,
	    ri_ud_address_vector_t *av, ri_address_handle_t *ah, ri_vp_data_t vp_data,
	    ri_os_data_t os_data)
RI_FUNCTION(ah_query, RNIC, INFINIBAND, ri_rnic_handle_t rnic, ri_address_handle_t ah,
	    ri_ud_address_vector_t *av, ri_pd_handle_t *pd)
RI_FUNCTION(ah_modify, RNIC, INFINIBAND, ri_rnic_handle_t rnic, ri_address_handle_t ah,
	    ri_ud_address_vector_t *av)
RI_FUNCTION(ah_destroy, RNIC, INFINIBAND, ri_rnic_handle_t rnic, ri_address_handle_t ah)
RI_FUNCTION(mcast_attach, RNIC, INFINIBAND, ri_rnic_handle_t rnic, ri_lid_t mlid, ri_gid_t *mgid,
	    ri_qp_handle_t qp, ri_vp_data_t vp_data, ri_os_data_t os_data)
RI_FUNCTION(mcast_detach, RNIC, INFINIBAND, ri_rnic_handle_t rnic, ri_lid_t mlid, ri_gid_t *mgid,
	    ri_qp_handle_t qp)
RI_FUNCTION(process_sma_mad, RNIC, INFINIBAND, ri_rnic_handle_t rnic, uint8_t port_num,
	    char *in_mad, char *out_mad)

#undef RI_FUNCTION
