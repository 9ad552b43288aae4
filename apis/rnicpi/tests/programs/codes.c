// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Return codes: each function with an invalid handle, and with missing arguments. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "rnicpi.h"

static const ri_mrw_handle_t none;

static void no_vp(void)
{
	expect(RI_RET_VP_INVALID_HANDLE, ri_rnic_open(STALE, 0, NULL, &err));
	expect(RI_RET_VP_INVALID_HANDLE, ri_rnic_close(STALE, &err));
	expect(RI_RET_VP_INVALID_HANDLE, ri_async_set_event_handler(STALE, NULL, &err));
	expect(RI_RET_VP_INVALID_HANDLE, ri_rnic_get_hdl(STALE, 0, NULL, NULL, NULL, &err));
	expect(RI_RET_VP_INVALID_HANDLE, ri_rnic_free_hdl(STALE, NULL, &err));
	expect(RI_RET_VP_INVALID_HANDLE, ri_cq_set_event_handler(STALE, NULL, NULL, &err));
}

static void no_rnic(void)
{
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_rnic_query(STALE, 0, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_rnic_modify(STALE, 0, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_rnic_diag(STALE, 0, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_alloc(STALE, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_pd_dealloc(STALE, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_create(STALE, NULL, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_query(STALE, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_modify(STALE, NULL, 0, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_destroy(STALE, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_special_qp_get(STALE, 0, 0, NULL, NULL, NULL, NULL,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_req_notification(STALE, NULL, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_cq_poll(STALE, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_create(STALE, NULL, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_query(STALE, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_modify(STALE, NULL, 0, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_destroy(STALE, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_postsq(STALE, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_send(STALE, NULL, 0, 0, 0, NULL, 0, 0, 0,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_rdma_read(STALE, NULL, 0, 0, 0, NULL, 0, 0, 0,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_rdma_write(STALE, NULL, 0, 0, 0, NULL, 0, 0,
			0, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_bind(STALE, NULL, 0, 0, 0, NULL, 0, NULL, 0,
			0, 0, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_fmr(STALE, NULL, 0, 0, 0, NULL, 0, 0, NULL,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_local_invalidate(STALE, NULL, 0, 0, 0, 0, 0,
			none, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_atomic(STALE, NULL, 0, 0, 0, 0, 0, 0, NULL,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_datagram(STALE, NULL, 0, 0, 0, NULL, 0, 0,
			NULL, 0, 0, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_postrq(STALE, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_qp_post_recv(STALE, NULL, 0, 0, NULL, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_srq_create(STALE, NULL, NULL, NULL, NULL, &err));
}

static void no_rnic_either(void)
{
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_srq_query(STALE, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_srq_modify(STALE, NULL, 0, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_srq_destroy(STALE, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_srq_post(STALE, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_srq_post_recv(STALE, NULL, 0, 0, NULL, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_ltag_alloc(STALE, NULL, NULL, 0, NULL, NULL, NULL,
			NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_reg(STALE, NULL, NULL, NULL, NULL, NULL, NULL,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_query(STALE, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_rereg(STALE, NULL, 0, NULL, NULL, NULL, NULL, NULL,
			NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_dereg(STALE, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_reg_phys(STALE, NULL, NULL, NULL, NULL, NULL, NULL,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_rereg_phys(STALE, NULL, 0, NULL, NULL, NULL, NULL,
			NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mr_reg_shared(STALE, NULL, NULL, NULL, NULL, NULL,
			NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mw_alloc(STALE, NULL, 0, NULL, NULL, NULL, NULL,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mw_dealloc(STALE, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mw_query(STALE, NULL, NULL, NULL, NULL, NULL, NULL,
			&err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mem_pin(STALE, NULL, 0, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mem_unpin(STALE, NULL, 0, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mem_map(STALE, NULL, 0, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mem_unmap(STALE, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mem_sync_rread(STALE, NULL, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mem_sync_rwrite(STALE, NULL, 0, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_ah_create(STALE, NULL, NULL, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_ah_query(STALE, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_ah_modify(STALE, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_ah_destroy(STALE, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mcast_attach(STALE, 0, NULL, NULL, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_mcast_detach(STALE, 0, NULL, NULL, &err));
	expect(RI_RET_RNIC_INVALID_HANDLE, ri_process_sma_mad(STALE, 0, NULL, NULL, &err));
}

void codes_handles(void)
{
	no_vp();
	no_rnic();
	no_rnic_either();
}

static void bad_qp(ri_qp_attr_t attr, ri_api_return_t want)
{
	ri_qp_handle_t qp;

	expect(want, ri_qp_create(a.rnic, &attr, &qp, NULL, NULL, &err));
}

/* Each field of a new QP that can be wrong */
void codes_qp(void)
{
	ri_qp_attr_t good, attr;
	ri_srq_attr_t srq_attr = { .max_wrs = 4, .max_sgl = 1 };
	ri_srq_handle_t srq;

	open_end(&a);
	good = qp_attr_of(&a);
	expect(RI_RET_INVALID_PARAMETER, ri_qp_create(a.rnic, NULL, &a.qp, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_qp_create(a.rnic, &good, NULL, NULL, NULL, &err));
	attr = good;
	attr.pd = a.scq;
	bad_qp(attr, RI_RET_PD_INVALID_HANDLE);
	attr = good;
	attr.rcq.rcq_handle = a.pd;
	bad_qp(attr, RI_RET_CQ_INVALID_HANDLE);
	attr = good;
	attr.sq_size = 1 << 30;
	bad_qp(attr, RI_RET_RNIC_WR_LIMIT_EXCEEDED);
	attr = good;
	attr.sq_max_sges_rdmaw = 1000;
	bad_qp(attr, RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	attr = good;
	attr.max_rdma_read_incoming = 10000;
	bad_qp(attr, RI_RET_RNIC_IRD_ORD_EXCEEDED);
	attr = good;
	attr.qp_xport.qp_iwarp.mpa_attrs.ddp_rdmap_version = 2;
	bad_qp(attr, RI_RET_INVALID_DDP_RDMAP_VERSION);
	srq_attr.pd = a.pd;
	expect(RI_RET_INVALID_PARAMETER, ri_srq_create(a.rnic, NULL, &srq, NULL, NULL, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_srq_create(a.rnic, &srq_attr, NULL, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_srq_create(a.rnic, &srq_attr, &srq, NULL, NULL, &err));
	attr = good;
	attr.srq_valid = 1;
	attr.srq.srq_handle = srq;
	attr.qp_xport.qp_iwarp.rq_hiwat = -1;
	bad_qp(attr, RI_RET_SRQ_LIMIT_OUT_OF_RANGE);
	expect(RI_RET_SUCCESS, ri_srq_destroy(a.rnic, srq, &err));
	close_end(&a);
}

static void bad_wr(ri_wr_t wr, ri_api_return_t want)
{
	uint_t one = 1;

	expect(want, ri_qp_postsq(a.rnic, a.qp, &wr, &one, &err));
}

/* The reasons for which a post is refused */
void codes_post(void)
{
	ri_wr_t wr = { .wr_rdma_read = { .type = RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE,
					 .num_sgls = 2 } };
	ri_srq_attr_t attr = { .max_wrs = 1, .max_sgl = 1 };
	ri_wr_recv_t recv = { 0 };
	ri_srq_handle_t srq;
	ri_qp_attr_t qp;
	uint_t one = 1, i;

	open_end(&a);
	bad_wr(wr, RI_RET_WR_SG_INVALID_FORMAT);
	wr.wr_common.type = RI_WR_TYPE_FAST_REGISTER;
	bad_wr(wr, RI_RET_NO_PERMISSION);
	wr.wr_common.type = RI_WR_TYPE_FETCH_AND_ADD;
	bad_wr(wr, RI_RET_RNIC_ATOMICS_UNSUPPORTED);
	wr = (ri_wr_t){ .wr_send = { .type = RI_WR_TYPE_SEND } };
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &qp, &err));
	for (i = 0; i < qp.sq_size; i++)
		bad_wr(wr, RI_RET_SUCCESS);	/* Idle keeps them */
	bad_wr(wr, RI_RET_QP_CAPACITY_EXCEEDED);
	attr.pd = a.pd;
	expect(RI_RET_SUCCESS, ri_srq_create(a.rnic, &attr, &srq, NULL, NULL, &err));
	expect(RI_RET_SRQ_INVALID_HANDLE, ri_srq_post(a.rnic, a.qp, &recv, &one, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_srq_post(a.rnic, srq, NULL, &one, &err));
	expect(RI_RET_INVALID_PARAMETER, ri_srq_post(a.rnic, srq, &recv, NULL, &err));
	recv.num_sgls = 50;
	one = 1;
	expect(RI_RET_RNIC_SG_LIMIT_EXCEEDED, ri_srq_post(a.rnic, srq, &recv, &one, &err));
	recv.num_sgls = 0;
	recv.flags = SIGNALED;
	one = 1;
	expect(RI_RET_WR_INVALID_FLAGS, ri_srq_post(a.rnic, srq, &recv, &one, &err));
	recv.flags = NONE;
	for (i = 0; i < attr.max_wrs; i++) {
		one = 1;
		expect(RI_RET_SUCCESS, ri_srq_post(a.rnic, srq, &recv, &one, &err));
	}
	expect(RI_RET_QP_CAPACITY_EXCEEDED, ri_srq_post(a.rnic, srq, &recv, &one, &err));
	one = 1;
	expect(RI_RET_SUCCESS, ri_qp_postrq(a.rnic, a.qp, &recv, &one, &err));
	qp = qp_attr_of(&a);
	qp.srq_valid = 1;
	qp.srq.srq_handle = srq;
	renew_qp(&a, &qp);
	expect(RI_RET_QP_TIED_TO_SRQ, ri_qp_postrq(a.rnic, a.qp, &recv, &one, &err));
	qp = qp_attr_of(&a);
	renew_qp(&a, &qp);
	expect(RI_RET_SUCCESS, ri_srq_destroy(a.rnic, srq, &err));
	close_end(&a);
}

/* What is invalidated */
static ri_mrw_handle_t mrw;

static ri_api_return_t post_by(unsigned int how, ri_qp_handle_t qp, uint32_t type, uint32_t flags,
			       uint_t num)
{
	ri_data_seg_t seg[40] = { 0 };
	ri_wr_type_t t = (ri_wr_type_t)type;
	ri_wr_flags_t f = (ri_wr_flags_t)flags;

	switch (how) {
	case 0:
		return ri_qp_post_send(a.rnic, qp, t, f, 1, seg, 0, num, 0, &err);
	case 1:
		return ri_qp_post_rdma_read(a.rnic, qp, t, f, 1, seg, 0, num, 1, &err);
	case 2:
		return ri_qp_post_rdma_write(a.rnic, qp, t, f, 1, seg, 0, 1, num, 0, &err);
	case 3:
		return ri_qp_post_local_invalidate(a.rnic, qp, t, f, 1, 0, 0, mrw, &err);
	default:
		return ri_qp_post_recv(a.rnic, qp, f, 1, seg, num, &err);
	}
}

/* The calls that post one WR */
void codes_single(void)
{
	static const uint32_t types[] = {
		RI_WR_TYPE_SEND, RI_WR_TYPE_RDMA_READ, RI_WR_TYPE_RDMA_WRITE,
		RI_WR_TYPE_LOCAL_INVALIDATE_MW, 0,	/* a receive has none */
	};
	const uint32_t of_region = RI_WR_TYPE_LOCAL_INVALIDATE_MR;
	ri_rtag_t rtag;
	ri_qp_attr_t attr;
	unsigned int i, j;

	open_end(&a);
	expect(RI_RET_SUCCESS, ri_qp_query(a.rnic, a.qp, &attr, &err));
	/* what is invalidated has a handle (L3156) */
	mrw.mw_handle = STALE;
	expect(RI_RET_MW_INVALID_HANDLE, post_by(3, a.qp, types[3], 0, 0));
	mrw.mr_handle = a.mr;
	expect(RI_RET_MW_INVALID_HANDLE, post_by(3, a.qp, types[3], 0, 0));
	expect(RI_RET_SUCCESS, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mrw.mw_handle, &rtag,
					   NULL, NULL, &err));
	expect(RI_RET_MR_INVALID_HANDLE, post_by(3, a.qp, of_region, 0, 0));
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		expect(RI_RET_QP_INVALID_HANDLE, post_by(i, a.pd, types[i], 0, 0));
		expect(RI_RET_WR_INVALID_FLAGS, post_by(i, a.qp, types[i], 1 << 20, 0));
		if (i != 4)
			expect(RI_RET_WR_INVALID_TYPE, post_by(i, a.qp, RI_WR_TYPE_BIND, 0, 0));
		if (i != 3)
			expect(RI_RET_RNIC_SG_LIMIT_EXCEEDED, post_by(i, a.qp, types[i], 0, 40));
	}
	for (j = 0; j < attr.sq_size; j++)
		expect(RI_RET_SUCCESS, post_by(0, a.qp, RI_WR_TYPE_SEND, 0, 0));
	for (j = 0; j < attr.rq_size; j++)
		expect(RI_RET_SUCCESS, post_by(4, a.qp, 0, 0, 0));
	for (i = 0; i < ARRAY_SIZE(types); i++)
		expect(RI_RET_QP_CAPACITY_EXCEEDED, post_by(i, a.qp, types[i], 0, 0));
	expect(RI_RET_SUCCESS, ri_mw_dealloc(a.rnic, mrw.mw_handle, &err));
	close_end(&a);
}

/* The call that posts a bind */
static ri_api_return_t bind_at(ri_qp_handle_t qp, uint32_t type, uint32_t flags, ri_mw_handle_t mw,
			       ri_rtag_t rtag, ri_mr_handle_t mr, ri_ltag_t ltag, ri_length_t len)
{
	return ri_qp_post_bind(a.rnic, qp, (ri_wr_type_t)type, (ri_wr_flags_t)flags, 1, mw, rtag, mr,
			       ltag, (uintptr_t)a.buf, len, RI_MEM_FLAGS_REMOTE_READ, &err);
}

void codes_bind(void)
{
	const uint32_t type = RI_WR_TYPE_BIND;
	ri_mr_reg_attr_t mr = { .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_mr_handle_t other;
	ri_mw_handle_t mw;
	ri_ltag_t ltag;
	ri_rtag_t rtag;

	open_pair();
	expect(RI_RET_SUCCESS, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					   &err));
	expect(RI_RET_QP_INVALID_HANDLE, bind_at(STALE, type, 1, mw, rtag, a.mr, a.ltag, 10));
	expect(RI_RET_WR_INVALID_TYPE, bind_at(a.qp, RI_WR_TYPE_SEND, 1, mw, rtag, a.mr, a.ltag, 10));
	expect(RI_RET_WR_INVALID_FLAGS, bind_at(a.qp, type, RI_WR_INLINE_OK_FLAG, mw, rtag, a.mr,
						a.ltag, 10));
	expect(RI_RET_MW_INVALID_HANDLE, bind_at(a.qp, type, 1, a.mr, rtag, a.mr, a.ltag, 10));
	expect(RI_RET_MR_INVALID_HANDLE, bind_at(a.qp, type, 1, mw, rtag, mw, a.ltag, 10));
	expect(RI_RET_INVALID_WINDOW_TYPE, bind_at(a.qp, type, 1, mw, rtag, a.mr, a.ltag, 0));
	expect(RI_RET_MEM_INVALID_RTAG, bind_at(a.qp, type, 1, mw, 0, a.mr, a.ltag, 10));
	expect(RI_RET_MEM_INVALID_LTAG, bind_at(a.qp, type, 1, mw, rtag, a.mr, b.ltag, 10));
	expect(RI_RET_SUCCESS, bind_at(a.qp, type, 1, mw, rtag, a.mr, a.ltag, 10));
	take(&a, a.scq, 1, RI_WC_TYPE_BIND, RI_WC_STATUS_SUCCESS);
	expect(RI_RET_SUCCESS, ri_mw_dealloc(a.rnic, mw, &err));
	/* a shared region has arguments of its own */
	mr.pd = STALE;
	expect(RI_RET_INVALID_PARAMETER, ri_mr_reg_shared(a.rnic, a.mr, NULL, &other, &ltag, &rtag,
							  NULL, NULL, &err));
	expect(RI_RET_PD_INVALID_HANDLE, ri_mr_reg_shared(a.rnic, a.mr, &mr, &other, &ltag, &rtag,
							  NULL, NULL, &err));
	mr.mem_attr = RI_MEM_FLAGS_REMOTE_WRITE;
	expect(RI_RET_MEM_INVALID_ACCESS, ri_mr_reg_shared(a.rnic, a.mr, &mr, &other, &ltag, &rtag,
							   NULL, NULL, &err));
	close_pair();
}

/* A CQ smaller than its completions, MPA without CRC, shared regions, invalid frames */
void codes_more(void)
{
	struct ri_linux_llp llp = { .size = sizeof(llp) };
	ri_qp_attr_t attr = { .state = RI_QP_STATE_READY_TO_SEND };
	ri_iwarp_qp_attr_t *iw = &attr.qp_xport.qp_iwarp;
	ri_cq_attr_t cq = { .num_cqe = 2 };
	ri_mr_reg_attr_t mr = { .length = 4096, .mem_attr = RI_MEM_FLAGS_LOCAL };
	struct rix_mpa_frame frame;
	ri_mr_handle_t other;
	ri_ltag_t ltag;
	ri_rtag_t rtag;
	int i, ends[2];

	open_end(&a);
	open_end(&b);
	connect_sockets();
	llp.fd = a.fd;
	iw->llp_stream_handle = &llp;
	iw->mpa_attrs = (ri_mpa_attr_t){ 0, 0, 0, 1 };
	expect(RI_RET_MPA_ATTR_UNSUPPORTED, ri_qp_modify(a.rnic, a.qp, (ri_qp_attr_mask_t)(
				RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_LLP_STREAM_HANDLE |
				RI_QP_ATTR_MPA_ATTR), &attr, &err));
	mr.pd = a.pd;
	mr.va = (uintptr_t)a.buf;
	expect(RI_RET_SUCCESS, ri_mr_reg_shared(a.rnic, a.mr, &mr, &other, &ltag, &rtag, NULL, NULL,
						&err));
	/* a shared region can be registered anew as any other (L3767) */
	expect(RI_RET_SUCCESS, ri_mr_rereg(a.rnic, other, RI_MR_REREG_ACCESS, &mr, &other, &ltag,
					   &rtag, NULL, NULL, &err));
	expect(RI_RET_SUCCESS, ri_mr_dereg(a.rnic, other, &err));
	turn(false, true);
	set_state(&a, RI_QP_STATE_ERROR, RI_RET_SUCCESS);
	require_state(&a, RI_QP_STATE_ERROR);
	for (i = 0; i < 5; i++)
		post_send(&a, i, 0, 1);
	usleep(50000);
	expect(RI_RET_CQ_WOULD_OVERFLOW, ri_cq_modify(a.rnic, a.scq, RI_CQ_MODIFY_MASK_NUM_CQE, &cq,
						      &err));
	require(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "sockets");
	require(write(ends[0], "this is no frame of MPA", 23) == 23, "write");
	expect(RI_RET_FAIL, rix_mpa_recv(ends[1], 0, &frame, &err));
	close(ends[0]);
	expect(RI_RET_INVALID_LLP_HANDLE, rix_mpa_recv(ends[1], 0, &frame, &err));
	close(ends[1]);
	close_pair();
}

static void limit(int resource, rlim_t value)
{
	struct rlimit l;

	require(!getrlimit(resource, &l), "getrlimit");
	l.rlim_cur = value;
	require(!setrlimit(resource, &l), "setrlimit");
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static bool no_memory(bool none)
{
	(void)none;
	return false;
}
#else
void *__libc_realloc(void *p, size_t size);

static bool refuse;

/* In place of the C library's, for this program and its libraries. What is there does not grow */
void *realloc(void *p, size_t size)
{
	if (!refuse || !p)
		return __libc_realloc(p, size);
	errno = ENOMEM;
	return NULL;
}

/* Whether the table of handles can be kept from growing */
static bool no_memory(bool none)
{
	refuse = none;
	return true;
}
#endif

#define MANY	5000

/* Without memory for another handle a call says so, leaves what is passed out, and keeps nothing */
void codes_handles_out(void)
{
	ri_mr_reg_attr_t mr = { .length = BUF_BYTES, .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_srq_attr_t srq_attr = { .max_wrs = 5, .max_sgl = 1 };
	ri_mr_handle_t region = STALE, shared = STALE;
	ri_rnic_handle_t rnic = STALE;
	ri_cq_attr_t cq_attr = { .num_cqe = 5 };
	ri_srq_handle_t srq = STALE;
	ri_mw_handle_t mw = STALE;
	ri_qp_handle_t qp = STALE;
	ri_cq_handle_t cq = STALE;
	ri_rtag_t rtag = 7;
	ri_ltag_t ltag = 7;
	ri_pd_handle_t pd[MANY];
	ri_api_return_t ret;
	ri_qp_attr_t attr;
	unsigned int n = 0;

	open_end(&a);
	mr.pd = srq_attr.pd = a.pd;
	mr.va = (uintptr_t)a.buf;
	attr = qp_attr_of(&a);
	if (!no_memory(true))
		skip("a sanitizer has its own realloc()");
	do {
		pd[n] = STALE;
		ret = ri_pd_alloc(a.rnic, &pd[n], NULL, NULL, &err);
	} while (!ret && ++n < MANY);
	require(ret == RI_RET_RESOURCE_SHORTAGE && pd[n] == STALE, "%d, %p", ret, pd[n]);
	expect(RI_RET_RESOURCE_SHORTAGE, ri_cq_create(a.rnic, &cq_attr, &cq, NULL, NULL, &err));
	expect(RI_RET_RESOURCE_SHORTAGE, ri_srq_create(a.rnic, &srq_attr, &srq, NULL, NULL, &err));
	expect(RI_RET_RESOURCE_SHORTAGE, ri_qp_create(a.rnic, &attr, &qp, NULL, NULL, &err));
	expect(RI_RET_RESOURCE_SHORTAGE, ri_mr_reg(a.rnic, &mr, &region, &ltag, NULL, NULL, NULL,
						   &err));
	expect(RI_RET_RESOURCE_SHORTAGE, ri_mr_reg_shared(a.rnic, a.mr, &mr, &shared, &ltag, NULL,
							  NULL, NULL, &err));
	expect(RI_RET_RESOURCE_SHORTAGE, ri_mw_alloc(a.rnic, a.pd, RI_MW_TYPE_NARROW, &mw, &rtag,
						     NULL, NULL, &err));
	expect(RI_RET_RESOURCE_SHORTAGE, ri_rnic_get_hdl(find_vp(), RI_CONSUMER_LOCATION_USER, &rnic,
							 NULL, NULL, &err));
	no_memory(false);
	require(cq == STALE && srq == STALE && qp == STALE && region == STALE && shared == STALE &&
		mw == STALE && rnic == STALE, "handles");
	require(ltag == 7 && rtag == 7 && cq_attr.num_cqe == 5 && srq_attr.max_wrs == 5, "the rest");
	/* there is memory again */
	expect(RI_RET_SUCCESS, ri_pd_alloc(a.rnic, &pd[n], NULL, NULL, &err));
	do
		expect(RI_RET_SUCCESS, ri_pd_dealloc(a.rnic, pd[n], &err));
	while (n--);
	/* the PD, the CQs and the RNIC handle end, so nothing that uses them was kept */
	close_end(&a);
}

/* Shortages of descriptors and memory */
void codes_shortage(void)
{
	ri_mr_reg_attr_t mr = { .length = BUF_BYTES, .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_vp_handle_t vp = find_vp();
	ri_cq_attr_t cq = { .num_cqe = 2 };
	ri_rnic_handle_t rnic;
	ri_mr_handle_t region;
	ri_cq_handle_t c;
	ri_ltag_t ltag;
	uint_t num;

	open_end(&a);
	limit(RLIMIT_NOFILE, 0);
	expect(RI_RET_RESOURCE_SHORTAGE, ri_cq_create(a.rnic, &cq, &c, NULL, NULL, &err));
	expect(RI_RET_RESOURCE_SHORTAGE, ri_rnic_get_hdl(vp, RI_CONSUMER_LOCATION_USER, &rnic, NULL,
							 NULL, &err));
	num = 1;
	expect(RI_RET_RESOURCE_SHORTAGE, rix_rnic_list(&vp, &num, &err));
	limit(RLIMIT_NOFILE, 100);
	mr.pd = a.pd;
	mr.va = (uintptr_t)a.buf;
	expect(RI_RET_SUCCESS, ri_mr_reg(a.rnic, &mr, &region, &ltag, NULL, NULL, NULL, &err));
	require(!seteuid(65534), "another user");
	limit(RLIMIT_MEMLOCK, 0);
	expect(RI_RET_RESOURCE_SHORTAGE, ri_mr_reg(a.rnic, &mr, &region, &ltag, NULL, NULL, NULL, &err));
	limit(RLIMIT_MEMLOCK, 4096);
	expect(RI_RET_RESOURCE_SHORTAGE, ri_mr_reg(a.rnic, &mr, &region, &ltag, NULL, NULL, NULL,
						   &err));
	expect(RI_RET_RESOURCE_SHORTAGE, ri_mr_rereg(a.rnic, region, RI_MR_REREG_TRANSLATE, &mr,
						     &region, &ltag, NULL, NULL, NULL, &err));
	require(!seteuid(0), "root");
	close_end(&a);
}
