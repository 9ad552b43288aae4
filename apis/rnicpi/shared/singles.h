/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The calls that post one WR, with the results of ri_qp_postsq(). post.c of librnicpi and of
 * rnicpi.ko include it; each has its own post_single().
 */

/** ri_do_qp_post_send - post one Send; Context and Return: as ri_do_qp_postsq() */
ri_api_return_t ri_do_qp_post_send(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
				   ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
				   ri_rtag_t rtag, uint_t num_sgle, uint32_t imm_data,
				   ri_err_data_t *err_data)
{
	ri_wr_t wr = { .wr_send = { type, flags, id, sg_list, rtag, num_sgle, imm_data } };

	return post_single(rnic, qp, &wr, RI_WR_TYPE_SEND, RI_WR_TYPE_SEND_INVALIDATE, err_data);
}

/** ri_do_qp_post_rdma_write - post one RDMA Write; Context and Return: as ri_do_qp_postsq() */
ri_api_return_t ri_do_qp_post_rdma_write(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
					 ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id,
					 ri_data_seg_t *sg_list, uint64_t rdma_addr, ri_rtag_t rtag,
					 uint_t num_sgle, uint32_t imm_data,
					 ri_err_data_t *err_data)
{
	ri_wr_t wr = { .wr_rdma_write = { type, flags, id, sg_list, rdma_addr, rtag, num_sgle,
					  imm_data } };

	return post_single(rnic, qp, &wr, RI_WR_TYPE_RDMA_WRITE, RI_WR_TYPE_RDMA_WRITE, err_data);
}

/** ri_do_qp_post_rdma_read - post one RDMA Read; Context and Return: as ri_do_qp_postsq() */
ri_api_return_t ri_do_qp_post_rdma_read(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
					ri_wr_type_t type, ri_wr_flags_t flags, ri_wr_id_t id,
					ri_data_seg_t *sg_list, uint64_t rdma_addr, uint_t num_sgle,
					ri_rtag_t rtag, ri_err_data_t *err_data)
{
	ri_wr_t wr = { .wr_rdma_read = { type, flags, id, sg_list, rdma_addr, num_sgle, rtag } };

	return post_single(rnic, qp, &wr, RI_WR_TYPE_RDMA_READ,
			   RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE, err_data);
}

/** ri_do_qp_post_bind - post one bind of a window; Context and Return: as ri_do_qp_postsq() */
ri_api_return_t ri_do_qp_post_bind(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
				   ri_wr_flags_t flags, ri_wr_id_t id, ri_mw_handle_t mw_handle,
				   ri_rtag_t rtag, ri_mr_handle_t mr_handle, ri_ltag_t ltag,
				   ri_addr_t vaddr, ri_length_t length, ri_mem_attr_t mem_attr,
				   ri_err_data_t *err_data)
{
	ri_wr_t wr = { .wr_bind = { type, flags, id, mw_handle, rtag, mr_handle, ltag, vaddr,
				    length, mem_attr } };

	return post_single(rnic, qp, &wr, RI_WR_TYPE_BIND, RI_WR_TYPE_BIND, err_data);
}

/** ri_do_qp_post_local_invalidate - post one; Context and Return: as ri_do_qp_postsq() */
ri_api_return_t ri_do_qp_post_local_invalidate(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
					       ri_wr_type_t type, ri_wr_flags_t flags,
					       ri_wr_id_t id, ri_ltag_t ltag, ri_rtag_t rtag,
					       ri_mrw_handle_t mrw_handle, ri_err_data_t *err_data)
{
	ri_wr_t wr = { .wr_li = { type, flags, id, ltag, rtag, mrw_handle } };

	return post_single(rnic, qp, &wr, RI_WR_TYPE_LOCAL_INVALIDATE_MR,
			   RI_WR_TYPE_LOCAL_INVALIDATE_MW, err_data);
}

/** ri_do_qp_post_recv - post one receive; Context and Return: as ri_do_qp_postrq() */
ri_api_return_t ri_do_qp_post_recv(ri_rnic_handle_t rnic, ri_qp_handle_t qp_handle,
				   ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
				   uint_t num_sgls, ri_err_data_t *err_data)
{
	ri_wr_recv_t wr = { flags, id, sg_list, num_sgls };
	uint_t one = 1;

	return ri_do_qp_postrq(rnic, qp_handle, &wr, &one, err_data);
}

/** ri_do_srq_post_recv - post one receive; Context and Return: as ri_do_srq_post() */
ri_api_return_t ri_do_srq_post_recv(ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle,
				    ri_wr_flags_t flags, ri_wr_id_t id, ri_data_seg_t *sg_list,
				    uint_t num_sgls, ri_err_data_t *err_data)
{
	ri_wr_recv_t wr = { flags, id, sg_list, num_sgls };
	uint_t one = 1;

	return ri_do_srq_post(rnic, srq_handle, &wr, &one, err_data);
}
