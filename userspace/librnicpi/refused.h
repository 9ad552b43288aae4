/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions that refuse: see refused.c. */
#ifndef REFUSED_H
#define REFUSED_H

#include <rnicpi/rnicpi.h>

ri_api_return_t ri_refused_rnic_open(ri_vp_handle_t, ri_pbl_mode_t, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_rnic_close(ri_vp_handle_t, ri_err_data_t *err_data);
ri_api_return_t ri_refused_async_set_event_handler(ri_vp_handle_t, ri_async_event_callback_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_rnic_modify(ri_rnic_handle_t, ri_rnic_attr_mask_t,
	ri_rnic_modify_req_t *, ri_err_data_t *err_data);
ri_api_return_t ri_refused_special_qp_get(ri_rnic_handle_t, uint8_t, ri_sqp_type_t,
	ri_qp_attr_t *, ri_qp_handle_t *, ri_vp_data_t, ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_refused_cq_set_event_handler(ri_vp_handle_t, ri_cq_event_handler_id_t *,
	ri_cq_event_callback_t, ri_err_data_t *err_data);
ri_api_return_t ri_refused_qp_post_fmr(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t,
	ri_wr_flags_t, ri_wr_id_t, ri_mr_reg_phys_attr_t *, ri_ltag_t, ri_rtag_t, ri_mr_handle_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_qp_post_atomic(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t,
	ri_wr_flags_t, ri_wr_id_t, ri_rtag_t, uint64_t, uint64_t, ri_data_seg_t *,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_qp_post_datagram(ri_rnic_handle_t, ri_qp_handle_t, ri_wr_type_t,
	ri_wr_flags_t, ri_wr_id_t, ri_data_seg_t *, uint_t, uint32_t, ri_address_handle_t, uint32_t,
	uint32_t, uint8_t, ri_err_data_t *err_data);
ri_api_return_t ri_refused_ltag_alloc(ri_rnic_handle_t, uint_t *, ri_pd_handle_t, ri_mem_attr_t,
	ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_mr_reg_phys(ri_rnic_handle_t, ri_mr_reg_phys_attr_t *,
	ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_mr_rereg_phys(ri_rnic_handle_t, ri_mr_handle_t, ri_mr_rereg_t,
	ri_mr_reg_phys_attr_t *, ri_mr_handle_t *, ri_ltag_t *, ri_rtag_t *, ri_vp_data_t, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_mem_pin(ri_rnic_handle_t, ri_vaddr_t, ri_length_t, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_mem_unpin(ri_rnic_handle_t, ri_vaddr_t, ri_length_t, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_mem_map(ri_rnic_handle_t, ri_vaddr_t, ri_length_t, ri_phys_buf_t *,
	ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_refused_mem_unmap(ri_rnic_handle_t, ri_phys_buf_t *, ri_os_data_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_ah_create(ri_rnic_handle_t, ri_pd_handle_t, ri_ud_address_vector_t *,
	ri_address_handle_t *, ri_vp_data_t, ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_refused_ah_query(ri_rnic_handle_t, ri_address_handle_t,
	ri_ud_address_vector_t *, ri_pd_handle_t *, ri_err_data_t *err_data);
ri_api_return_t ri_refused_ah_modify(ri_rnic_handle_t, ri_address_handle_t,
	ri_ud_address_vector_t *, ri_err_data_t *err_data);
ri_api_return_t ri_refused_ah_destroy(ri_rnic_handle_t, ri_address_handle_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_mcast_attach(ri_rnic_handle_t, ri_lid_t, ri_gid_t *, ri_qp_handle_t,
	ri_vp_data_t, ri_os_data_t, ri_err_data_t *err_data);
ri_api_return_t ri_refused_mcast_detach(ri_rnic_handle_t, ri_lid_t, ri_gid_t *, ri_qp_handle_t,
	ri_err_data_t *err_data);
ri_api_return_t ri_refused_process_sma_mad(ri_rnic_handle_t, uint8_t, char *, char *,
	ri_err_data_t *err_data);

#endif
