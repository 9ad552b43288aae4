/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Each function of RNICPI under its own name: it calls the vector of its first handle. */
#ifndef RNICPI_OSDFUNC_H
#define RNICPI_OSDFUNC_H

/* RNICs */

static inline ri_api_return_t
ri_rnic_open(ri_vp_handle_t vp_hdl, ri_pbl_mode_t pbl_mode, ri_os_data_t os_data,
	     ri_err_data_t *err_data)
{
	return ri_svc_ops(vp_hdl)->ri_op_rnic_open(vp_hdl, pbl_mode, os_data, err_data);
}

static inline ri_api_return_t ri_rnic_close(ri_vp_handle_t vp_hdl, ri_err_data_t *err_data)
{
	return ri_svc_ops(vp_hdl)->ri_op_rnic_close(vp_hdl, err_data);
}

static inline ri_api_return_t
ri_async_set_event_handler(ri_vp_handle_t vp_hdl, ri_async_event_callback_t callback,
			   ri_err_data_t *err_data)
{
	return ri_svc_ops(vp_hdl)->ri_op_async_set_event_handler(vp_hdl, callback, err_data);
}

static inline ri_api_return_t
ri_rnic_get_hdl(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location, ri_rnic_handle_t *rnic,
		ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(vp_hdl)->ri_op_rnic_get_hdl(vp_hdl, location, rnic, vp_data, os_data,
						      err_data);
}

static inline ri_api_return_t
ri_rnic_query(ri_rnic_handle_t rnic, ri_rnic_query_flags_t flags, ri_rnic_attr_t *attrs,
	      uint_t *attr_size, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_rnic_query(rnic, flags, attrs, attr_size, err_data);
}

static inline ri_api_return_t
ri_rnic_modify(ri_rnic_handle_t rnic, ri_rnic_attr_mask_t attr_mask, ri_rnic_modify_req_t *attrs,
	       ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_rnic_modify(rnic, attr_mask, attrs, err_data);
}

static inline ri_api_return_t
ri_rnic_free_hdl(ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic, ri_err_data_t *err_data)
{
	return ri_svc_ops(vp_hdl)->ri_op_rnic_free_hdl(vp_hdl, rnic, err_data);
}

static inline ri_api_return_t
ri_rnic_diag(ri_rnic_handle_t rnic, ri_diag_op_type_t op, void *arg, unsigned char *opval,
	     ri_length_t *oplen, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_rnic_diag(rnic, op, arg, opval, oplen, err_data);
}

/* PDs and CQs */

static inline ri_api_return_t
ri_pd_alloc(ri_rnic_handle_t rnic, ri_pd_handle_t *pd, ri_vp_data_t vp_data, ri_os_data_t os_data,
	    ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_pd_alloc(rnic, pd, vp_data, os_data, err_data);
}

static inline ri_api_return_t
ri_pd_dealloc(ri_rnic_handle_t rnic, ri_pd_handle_t pd, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_pd_dealloc(rnic, pd, err_data);
}

static inline ri_api_return_t
ri_cq_create(ri_rnic_handle_t rnic, ri_cq_attr_t *cq_attr, ri_cq_handle_t *cq, ri_vp_data_t vp_data,
	     ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_cq_create(rnic, cq_attr, cq, vp_data, os_data, err_data);
}

static inline ri_api_return_t
ri_cq_query(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_cq_attr_t *cq_attr,
	    ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_cq_query(rnic, cq, cq_attr, err_data);
}

static inline ri_api_return_t
ri_cq_modify(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_cq_modify_mask_t mask,
	     ri_cq_attr_t *cq_attr, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_cq_modify(rnic, cq, mask, cq_attr, err_data);
}

static inline ri_api_return_t
ri_cq_destroy(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_cq_destroy(rnic, cq, err_data);
}

static inline ri_api_return_t
ri_special_qp_get(ri_rnic_handle_t rnic, uint8_t port, ri_sqp_type_t qp_type, ri_qp_attr_t *attrs,
		  ri_qp_handle_t *qp, ri_vp_data_t vp_data, ri_os_data_t os_data,
		  ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_special_qp_get(rnic, port, qp_type, attrs, qp, vp_data,
						      os_data, err_data);
}

static inline ri_api_return_t
ri_cq_set_event_handler(ri_vp_handle_t vp_hdl, ri_cq_event_handler_id_t *handler_id,
			ri_cq_event_callback_t cq_callback, ri_err_data_t *err_data)
{
	return ri_svc_ops(vp_hdl)->ri_op_cq_set_event_handler(vp_hdl, handler_id, cq_callback,
							      err_data);
}

static inline ri_api_return_t
ri_cq_req_notification(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_cmplt_notify_type_t type,
		       ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_cq_req_notification(rnic, cq, type, err_data);
}

static inline ri_api_return_t
ri_cq_poll(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_wc_t *wcs, uint_t *num_wcs,
	   ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_cq_poll(rnic, cq, wcs, num_wcs, err_data);
}

/* QPs */

static inline ri_api_return_t
ri_qp_create(ri_rnic_handle_t rnic, ri_qp_attr_t *attrs, ri_qp_handle_t *qp, ri_vp_data_t vp_data,
	     ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_create(rnic, attrs, qp, vp_data, os_data, err_data);
}

static inline ri_api_return_t
ri_qp_query(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_t *attrs, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_query(rnic, qp, attrs, err_data);
}

static inline ri_api_return_t
ri_qp_modify(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_mask_t qp_mask,
	     ri_qp_attr_t *attrs, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_modify(rnic, qp, qp_mask, attrs, err_data);
}

static inline ri_api_return_t
ri_qp_destroy(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_destroy(rnic, qp, err_data);
}

/* Work requests */

static inline ri_api_return_t
ri_qp_postsq(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_t *wr, uint_t *num_wrs,
	     ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_postsq(rnic, qp, wr, num_wrs, err_data);
}

static inline ri_api_return_t
ri_qp_post_send(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type, ri_wr_flags_t flags,
		ri_wr_id_t id, ri_data_seg_t *sg_list, ri_rtag_t rtag, uint_t num_sgle,
		uint32_t imm_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_send(rnic, qp, type, flags, id, sg_list, rtag,
						    num_sgle, imm_data, err_data);
}

static inline ri_api_return_t
ri_qp_post_rdma_read(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
		     ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list, uint64_t rdma_addr,
		     uint_t num_sgle, ri_rtag_t rtag, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_rdma_read(rnic, qp, type, flags, id, sg_list,
							 rdma_addr, num_sgle, rtag, err_data);
}

static inline ri_api_return_t
ri_qp_post_rdma_write(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
		      ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
		      uint64_t rdma_addr, ri_rtag_t rtag, uint_t num_sgle, uint32_t imm_data,
		      ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_rdma_write(rnic, qp, type, flags, id, sg_list,
							  rdma_addr, rtag, num_sgle, imm_data,
							  err_data);
}

static inline ri_api_return_t
ri_qp_post_bind(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type, ri_wr_flags_t flags,
		ri_wr_id_t id, ri_mw_handle_t mw_handle, ri_rtag_t rtag, ri_mr_handle_t mr_handle,
		ri_ltag_t ltag, ri_addr_t vaddr, ri_length_t length, ri_mem_attr_t mem_attr,
		ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_bind(rnic, qp, type, flags, id, mw_handle, rtag,
						    mr_handle, ltag, vaddr, length, mem_attr,
						    err_data);
}

static inline ri_api_return_t
ri_qp_post_fmr(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type, ri_wr_flags_t flags,
	       ri_wr_id_t id, ri_mr_reg_phys_attr_t *attr, ri_ltag_t ltag, ri_rtag_t rtag,
	       ri_mr_handle_t mr_handle, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_fmr(rnic, qp, type, flags, id, attr, ltag, rtag,
						   mr_handle, err_data);
}

static inline ri_api_return_t
ri_qp_post_local_invalidate(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
			    ri_wr_flags_t flags, ri_wr_id_t id, ri_ltag_t ltag, ri_rtag_t rtag,
			    ri_mrw_handle_t mrw_handle, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_local_invalidate(rnic, qp, type, flags, id, ltag,
								rtag, mrw_handle, err_data);
}

static inline ri_api_return_t
ri_qp_post_atomic(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type, ri_wr_flags_t flags,
		  ri_wr_id_t id, ri_rtag_t rtag, uint64_t atomic_operand1, uint64_t atomic_operand2,
		  ri_data_seg_t *sg_list, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_atomic(rnic, qp, type, flags, id, rtag,
						      atomic_operand1, atomic_operand2, sg_list,
						      err_data);
}

static inline ri_api_return_t
ri_qp_post_datagram(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
		    ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list, uint_t num_sgle,
		    uint32_t imm_data, ri_address_handle_t remote_node_address, uint32_t dest_qp,
		    uint32_t dest_qkey, uint8_t max_static_rate, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_datagram(rnic, qp, type, flags, id, sg_list,
							num_sgle, imm_data, remote_node_address,
							dest_qp, dest_qkey, max_static_rate,
							err_data);
}

static inline ri_api_return_t
ri_qp_postrq(ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle, ri_wr_recv_t *wr, uint_t *num_wrs,
	     ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_postrq(rnic, qp_handle, wr, num_wrs, err_data);
}

static inline ri_api_return_t
ri_qp_post_recv(ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle, ri_wr_flags_t flags, ri_wr_id_t id,
		ri_data_seg_t *sg_list, uint_t num_sgls, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_qp_post_recv(rnic, qp_handle, flags, id, sg_list, num_sgls,
						    err_data);
}

/* SRQs */

static inline ri_api_return_t
ri_srq_create(ri_rnic_handle_t rnic, ri_srq_attr_t *srq_attrs, ri_srq_handle_t *srq,
	      ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_srq_create(rnic, srq_attrs, srq, vp_data, os_data, err_data);
}

static inline ri_api_return_t
ri_srq_query(ri_rnic_handle_t rnic, ri_srq_handle_t srq, ri_srq_attr_t *srq_attrs,
	     ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_srq_query(rnic, srq, srq_attrs, err_data);
}

static inline ri_api_return_t
ri_srq_modify(ri_rnic_handle_t rnic, ri_srq_handle_t srq, ri_srq_attr_mask_t srqmask,
	      ri_srq_attr_t *attrs, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_srq_modify(rnic, srq, srqmask, attrs, err_data);
}

static inline ri_api_return_t
ri_srq_destroy(ri_rnic_handle_t rnic, ri_srq_handle_t srq, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_srq_destroy(rnic, srq, err_data);
}

static inline ri_api_return_t
ri_srq_post(ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle, ri_wr_recv_t *wr, uint_t *num_wrs,
	    ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_srq_post(rnic, srq_handle, wr, num_wrs, err_data);
}

static inline ri_api_return_t
ri_srq_post_recv(ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle, ri_wr_flags_t flags,
		 ri_wr_id_t id, ri_data_seg_t *sg_list, uint_t num_sgls, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_srq_post_recv(rnic, srq_handle, flags, id, sg_list, num_sgls,
						     err_data);
}

/* Memory regions */

static inline ri_api_return_t
ri_ltag_alloc(ri_rnic_handle_t rnic, uint_t *address_list_length, ri_pd_handle_t pd,
	      ri_mem_attr_t attr, ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
	      ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_ltag_alloc(rnic, address_list_length, pd, attr, mr, ltag,
						  rtag, vp_data, os_data, err_data);
}

static inline ri_api_return_t
ri_mr_reg(ri_rnic_handle_t rnic, const ri_mr_reg_attr_t *mr_reg_attr, ri_mr_handle_t *mr,
	  ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data,
	  ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mr_reg(rnic, mr_reg_attr, mr, ltag, rtag, vp_data, os_data,
					      err_data);
}

static inline ri_api_return_t
ri_mr_query(ri_rnic_handle_t rnic, ri_mr_handle_t mr, ri_mr_info_t *mr_info,
	    ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mr_query(rnic, mr, mr_info, err_data);
}

static inline ri_api_return_t
ri_mr_rereg(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr, ri_mr_rereg_t change_mask,
	    const ri_mr_reg_attr_t *mr_attr, ri_mr_handle_t *out_mr, ri_ltag_t *ltag,
	    ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mr_rereg(rnic, in_mr, change_mask, mr_attr, out_mr, ltag,
						rtag, vp_data, os_data, err_data);
}

static inline ri_api_return_t
ri_mr_dereg(ri_rnic_handle_t rnic, ri_mr_handle_t mr, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mr_dereg(rnic, mr, err_data);
}

static inline ri_api_return_t
ri_mr_reg_phys(ri_rnic_handle_t rnic, ri_mr_reg_phys_attr_t *mr_phys_attr, ri_mr_handle_t *mr,
	       ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data,
	       ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mr_reg_phys(rnic, mr_phys_attr, mr, ltag, rtag, vp_data,
						   os_data, err_data);
}

static inline ri_api_return_t
ri_mr_rereg_phys(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr, ri_mr_rereg_t change_mask,
		 ri_mr_reg_phys_attr_t *mr_phys_attr, ri_mr_handle_t *out_mr, ri_ltag_t *ltag,
		 ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data,
		 ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mr_rereg_phys(rnic, in_mr, change_mask, mr_phys_attr, out_mr,
						     ltag, rtag, vp_data, os_data, err_data);
}

static inline ri_api_return_t
ri_mr_reg_shared(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr, ri_mr_reg_attr_t *mr_reg_attr,
		 ri_mr_handle_t *out_mr, ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
		 ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mr_reg_shared(rnic, in_mr, mr_reg_attr, out_mr, ltag, rtag,
						     vp_data, os_data, err_data);
}

/* Memory windows */

static inline ri_api_return_t
ri_mw_alloc(ri_rnic_handle_t rnic, ri_pd_handle_t pd, ri_mw_type_t mw_type, ri_mw_handle_t *mw,
	    ri_rtag_t *rtag, ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mw_alloc(rnic, pd, mw_type, mw, rtag, vp_data, os_data,
						err_data);
}

static inline ri_api_return_t
ri_mw_dealloc(ri_rnic_handle_t rnic, ri_mw_handle_t mw, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mw_dealloc(rnic, mw, err_data);
}

static inline ri_api_return_t
ri_mw_query(ri_rnic_handle_t rnic, ri_mw_handle_t mw, ri_mw_type_t *mw_type,
	    ri_stag_state_t *stag_state, ri_pd_handle_t *pd, ri_mem_attr_t *attr, ri_rtag_t *rtag,
	    ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mw_query(rnic, mw, mw_type, stag_state, pd, attr, rtag,
						err_data);
}

/* Memory as such */

static inline ri_api_return_t
ri_mem_pin(ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len, ri_os_data_t os_data,
	   ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mem_pin(rnic, vaddr, len, os_data, err_data);
}

static inline ri_api_return_t
ri_mem_unpin(ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len, ri_os_data_t os_data,
	     ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mem_unpin(rnic, vaddr, len, os_data, err_data);
}

static inline ri_api_return_t
ri_mem_map(ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len, ri_phys_buf_t *io,
	   ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mem_map(rnic, vaddr, len, io, os_data, err_data);
}

static inline ri_api_return_t
ri_mem_unmap(ri_rnic_handle_t rnic, ri_phys_buf_t *io, ri_os_data_t os_data,
	     ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mem_unmap(rnic, io, os_data, err_data);
}

static inline ri_api_return_t
ri_mem_sync_rread(ri_rnic_handle_t rnic, ri_data_seg_t *local_seg_list, uint_t num_seg,
		  ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mem_sync_rread(rnic, local_seg_list, num_seg, err_data);
}

static inline ri_api_return_t
ri_mem_sync_rwrite(ri_rnic_handle_t rnic, ri_data_seg_t *local_seg_list, uint_t num_seg,
		   ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mem_sync_rwrite(rnic, local_seg_list, num_seg, err_data);
}

/* InfiniBand */

static inline ri_api_return_t
ri_ah_create(ri_rnic_handle_t rnic, ri_pd_handle_t pd, ri_ud_address_vector_t *av,
	     ri_address_handle_t *ah, ri_vp_data_t vp_data, ri_os_data_t os_data,
	     ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_ah_create(rnic, pd, av, ah, vp_data, os_data, err_data);
}

static inline ri_api_return_t
ri_ah_query(ri_rnic_handle_t rnic, ri_address_handle_t ah, ri_ud_address_vector_t *av,
	    ri_pd_handle_t *pd, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_ah_query(rnic, ah, av, pd, err_data);
}

static inline ri_api_return_t
ri_ah_modify(ri_rnic_handle_t rnic, ri_address_handle_t ah, ri_ud_address_vector_t *av,
	     ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_ah_modify(rnic, ah, av, err_data);
}

static inline ri_api_return_t
ri_ah_destroy(ri_rnic_handle_t rnic, ri_address_handle_t ah, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_ah_destroy(rnic, ah, err_data);
}

static inline ri_api_return_t
ri_mcast_attach(ri_rnic_handle_t rnic, ri_lid_t mlid, ri_gid_t *mgid, ri_qp_handle_t qp,
		ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mcast_attach(rnic, mlid, mgid, qp, vp_data, os_data,
						    err_data);
}

static inline ri_api_return_t
ri_mcast_detach(ri_rnic_handle_t rnic, ri_lid_t mlid, ri_gid_t *mgid, ri_qp_handle_t qp,
		ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_mcast_detach(rnic, mlid, mgid, qp, err_data);
}

static inline ri_api_return_t
ri_process_sma_mad(ri_rnic_handle_t rnic, uint8_t port_num, char *in_mad, char *out_mad,
		   ri_err_data_t *err_data)
{
	return ri_svc_ops(rnic)->ri_op_process_sma_mad(rnic, port_num, in_mad, out_mad, err_data);
}

#endif
