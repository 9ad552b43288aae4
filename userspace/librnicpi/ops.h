/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the vectors are made of, as functions of rnicpi.h. */
#ifndef OPS_H
#define OPS_H

#include <rnicpi/rnicpi.h>

ri_api_return_t ri_do_rnic_query(ri_rnic_handle_t, ri_rnic_query_flags_t, ri_rnic_attr_t *,
	uint_t *, ri_err_data_t *err_data);
ri_api_return_t ri_do_rnic_free_hdl(ri_vp_handle_t, ri_rnic_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_rnic_diag(ri_rnic_handle_t, ri_diag_op_type_t, void *, unsigned char *,
	ri_length_t *, ri_err_data_t *err_data);
ri_api_return_t ri_do_pd_alloc(ri_rnic_handle_t, ri_pd_handle_t *, ri_vp_data_t, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_pd_dealloc(ri_rnic_handle_t, ri_pd_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_cq_create(ri_rnic_handle_t, ri_cq_attr_t *, ri_cq_handle_t *, ri_vp_data_t,
	ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_cq_query(ri_rnic_handle_t, ri_cq_handle_t, ri_cq_attr_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_cq_modify(ri_rnic_handle_t, ri_cq_handle_t, ri_cq_modify_mask_t,
	ri_cq_attr_t *, ri_err_data_t *err_data);
ri_api_return_t ri_do_cq_destroy(ri_rnic_handle_t, ri_cq_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_cq_req_notification(ri_rnic_handle_t, ri_cq_handle_t,
	ri_cmplt_notify_type_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_cq_poll(ri_rnic_handle_t, ri_cq_handle_t, ri_wc_t *, uint_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_create(ri_rnic_handle_t, ri_qp_attr_t *, ri_qp_handle_t *, ri_vp_data_t,
	ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_query(ri_rnic_handle_t, ri_qp_handle_t, ri_qp_attr_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_modify(ri_rnic_handle_t, ri_qp_handle_t, ri_qp_attr_mask_t,
	ri_qp_attr_t *, ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_destroy(ri_rnic_handle_t, ri_qp_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_postsq(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_t *, uint_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_post_send(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t, ri_wr_flags_t,
	ri_wr_id_t, ri_data_seg_t *, ri_rtag_t, uint_t, uint32_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_post_rdma_read(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t,
	ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint64_t, uint_t, ri_rtag_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_post_rdma_write(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t,
	ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint64_t, ri_rtag_t, uint_t, uint32_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_post_bind(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t, ri_wr_flags_t,
	ri_wr_id_t, ri_mw_handle_t, ri_rtag_t, ri_mr_handle_t, ri_ltag_t, ri_addr_t, ri_length_t,
	ri_mem_attr_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_post_local_invalidate(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t,
	ri_wr_flags_t, ri_wr_id_t, ri_ltag_t, ri_rtag_t, ri_mrw_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_postrq(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_recv_t *, uint_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_qp_post_recv(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_flags_t, ri_wr_id_t,
	ri_data_seg_t *, uint_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_srq_create(ri_rnic_handle_t, ri_srq_attr_t *, ri_srq_handle_t *,
	ri_vp_data_t, ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_srq_query(ri_rnic_handle_t, ri_srq_handle_t, ri_srq_attr_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_srq_modify(ri_rnic_handle_t, ri_srq_handle_t, ri_srq_attr_mask_t,
	ri_srq_attr_t *, ri_err_data_t *err_data);
ri_api_return_t ri_do_srq_destroy(ri_rnic_handle_t, ri_srq_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_srq_post(ri_rnic_handle_t, ri_srq_handle_t, ri_wr_recv_t *, uint_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_srq_post_recv(ri_rnic_handle_t, ri_srq_handle_t, ri_wr_flags_t, ri_wr_id_t,
	ri_data_seg_t *, uint_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_mr_reg(ri_rnic_handle_t, const ri_mr_reg_attr_t *, ri_mr_handle_t *,
	ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_mr_query(ri_rnic_handle_t, ri_mr_handle_t, ri_mr_info_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_mr_rereg(ri_rnic_handle_t, ri_mr_handle_t, ri_mr_rereg_t,
	const ri_mr_reg_attr_t *, ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t,
	ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_mr_dereg(ri_rnic_handle_t, ri_mr_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_mr_reg_shared(ri_rnic_handle_t, ri_mr_handle_t, ri_mr_reg_attr_t *,
	ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_mw_alloc(ri_rnic_handle_t, ri_pd_handle_t, ri_mw_type_t, ri_mw_handle_t *,
	ri_rtag_t *, ri_vp_data_t, ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_mw_dealloc(ri_rnic_handle_t, ri_mw_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_do_mw_query(ri_rnic_handle_t, ri_mw_handle_t, ri_mw_type_t *,
	ri_stag_state_t *, ri_pd_handle_t *, ri_mem_attr_t *, ri_rtag_t *, ri_err_data_t *err_data);
ri_api_return_t ri_do_mem_sync_rread(ri_rnic_handle_t, ri_data_seg_t *, uint_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_do_mem_sync_rwrite(ri_rnic_handle_t, ri_data_seg_t *, uint_t,
	ri_err_data_t *err_data);

ri_api_return_t ri_do_get_hdl(const struct ri_ops *ops, ri_vp_handle_t vp_hdl, ri_rnic_handle_t *rnic,
			      ri_os_data_t os_data, ri_err_data_t *err_data);

#endif
