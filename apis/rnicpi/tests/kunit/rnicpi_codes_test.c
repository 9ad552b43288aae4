// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Return codes of rnicpi.ko: of handles that are none, of other kinds, of what iWARP lacks, of what
 * is missing or too large, and of WRs that cannot be posted.
 */
#include <linux/slab.h>
#include "rnicpi/kernel/rnic.h"
#include "rnicpi_pair.h"
#include "srnic.h"

#define OK	RI_RET_SUCCESS
#define STALE	((void *)0xdeadbeef)

/* Of each function that has a device (4.5.2) */
static void no_device(struct kunit *test)
{
#define NONE(name, ...)								\
	KUNIT_EXPECT_EQ(test, name(STALE, __VA_ARGS__), RI_RET_VP_INVALID_HANDLE)
	NONE(ri_rnic_open, 0, NULL, NULL);
	NONE(ri_rnic_close, NULL);
	NONE(ri_async_set_event_handler, NULL, NULL);
	NONE(ri_rnic_get_hdl, 0, NULL, NULL, NULL, NULL);
	NONE(ri_rnic_free_hdl, NULL, NULL);
	NONE(ri_cq_set_event_handler, NULL, NULL, NULL);
	NONE(rix_rnic_info, NULL, 0, NULL, NULL);
	NONE(rix_rnic_vectors, NULL, NULL, NULL);
	NONE(ri_svc_detach, NULL);
#undef NONE
}

/* Of each other function, with @rnic as its RNIC handle */
static void none_of(struct kunit *test, void *rnic)
{
	static const ri_mrw_handle_t none;

#define NONE(name, ...)								\
	KUNIT_EXPECT_EQ(test, name(rnic, __VA_ARGS__, NULL), RI_RET_RNIC_INVALID_HANDLE)
	NONE(ri_rnic_query, 0, NULL, NULL);
	NONE(ri_rnic_modify, 0, NULL);
	NONE(ri_rnic_diag, 0, NULL, NULL, NULL);
	NONE(ri_pd_alloc, NULL, NULL, NULL);
	NONE(ri_pd_dealloc, NULL);
	NONE(ri_cq_create, NULL, NULL, NULL, NULL);
	NONE(ri_cq_query, NULL, NULL);
	NONE(ri_cq_modify, NULL, 0, NULL);
	NONE(ri_cq_destroy, NULL);
	NONE(ri_special_qp_get, 0, 0, NULL, NULL, NULL, NULL);
	NONE(ri_cq_req_notification, NULL, 0);
	NONE(ri_cq_poll, NULL, NULL, NULL);
	NONE(ri_qp_create, NULL, NULL, NULL, NULL);
	NONE(ri_qp_query, NULL, NULL);
	NONE(ri_qp_modify, NULL, 0, NULL);
	NONE(ri_qp_destroy, NULL);
	NONE(ri_qp_postsq, NULL, NULL, NULL);
	NONE(ri_qp_post_send, NULL, 0, 0, 0, NULL, 0, 0, 0);
	NONE(ri_qp_post_rdma_read, NULL, 0, 0, 0, NULL, 0, 0, 0);
	NONE(ri_qp_post_rdma_write, NULL, 0, 0, 0, NULL, 0, 0, 0, 0);
	NONE(ri_qp_post_bind, NULL, 0, 0, 0, NULL, 0, NULL, 0, 0, 0, 0);
	NONE(ri_qp_post_local_invalidate, NULL, 0, 0, 0, 0, 0, none);
	NONE(ri_qp_post_atomic, NULL, 0, 0, 0, 0, 0, 0, NULL);
	NONE(ri_qp_post_datagram, NULL, 0, 0, 0, NULL, 0, 0, NULL, 0, 0, 0);
	NONE(ri_qp_postrq, NULL, NULL, NULL);
	NONE(ri_qp_post_recv, NULL, 0, 0, NULL, 0);
	NONE(ri_srq_create, NULL, NULL, NULL, NULL);
	NONE(ri_srq_query, NULL, NULL);
	NONE(ri_srq_modify, NULL, 0, NULL);
	NONE(ri_srq_destroy, NULL);
	NONE(ri_srq_post, NULL, NULL, NULL);
	NONE(ri_srq_post_recv, NULL, 0, 0, NULL, 0);
	NONE(ri_ltag_alloc, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL);
	NONE(ri_mr_reg, NULL, NULL, NULL, NULL, NULL, NULL);
	NONE(ri_mr_query, NULL, NULL);
	NONE(ri_mr_rereg, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL);
	NONE(ri_mr_dereg, NULL);
	NONE(ri_mr_reg_phys, NULL, NULL, NULL, NULL, NULL, NULL);
	NONE(ri_mr_rereg_phys, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL);
	NONE(ri_mr_reg_shared, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	NONE(ri_mw_alloc, NULL, 0, NULL, NULL, NULL, NULL);
	NONE(ri_mw_dealloc, NULL);
	NONE(ri_mw_query, NULL, NULL, NULL, NULL, NULL, NULL);
	NONE(ri_mem_pin, NULL, 0, NULL);
	NONE(ri_mem_unpin, NULL, 0, NULL);
	NONE(ri_mem_map, NULL, 0, NULL, NULL);
	NONE(ri_mem_unmap, NULL, NULL);
	NONE(ri_mem_sync_rread, NULL, 0);
	NONE(ri_mem_sync_rwrite, NULL, 0);
	NONE(ri_ah_create, NULL, NULL, NULL, NULL, NULL);
	NONE(ri_ah_query, NULL, NULL, NULL);
	NONE(ri_ah_modify, NULL, NULL);
	NONE(ri_ah_destroy, NULL);
	NONE(ri_mcast_attach, 0, NULL, NULL, NULL, NULL);
	NONE(ri_mcast_detach, 0, NULL, NULL);
	NONE(ri_process_sma_mad, 0, NULL, NULL);
#undef NONE
}

static void no_rnic(struct kunit *test)
{
	struct pair *p = pair_device(test);
	ri_mr_reg_phys_attr_t attr = { };

	none_of(test, STALE);
	/* a device is no RNIC handle */
	none_of(test, p->vp);
	KUNIT_EXPECT_EQ(test, ri_qp_post_fmr(STALE, NULL, RI_WR_TYPE_FAST_REGISTER, 0, 0, &attr, 0,
					     0, NULL, NULL), RI_RET_RNIC_INVALID_HANDLE);
}

/* A handle of another kind is none */
static void other_kinds(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	const ri_mrw_handle_t none = { .mr_handle = p->a.mr };

	KUNIT_ASSERT_NOT_NULL(test, attr);
#define NONE(code, name, ...)							\
	KUNIT_EXPECT_EQ(test, name(p->rnic, __VA_ARGS__, NULL), RI_RET_##code##_INVALID_HANDLE)
	NONE(PD, ri_pd_dealloc, p->a.cq);
	NONE(CQ, ri_cq_query, p->pd, NULL);
	NONE(CQ, ri_cq_modify, p->pd, 0, NULL);
	NONE(CQ, ri_cq_destroy, p->pd);
	NONE(CQ, ri_cq_req_notification, p->pd, RI_CMPLT_NOTIFY_ANY);
	NONE(CQ, ri_cq_poll, p->pd, NULL, NULL);
	NONE(QP, ri_qp_query, p->pd, NULL);
	NONE(QP, ri_qp_modify, p->pd, 0, attr);
	NONE(QP, ri_qp_destroy, p->pd);
	NONE(QP, ri_qp_postsq, p->pd, NULL, NULL);
	NONE(QP, ri_qp_post_send, p->pd, RI_WR_TYPE_SEND, 0, 0, NULL, 0, 0, 0);
	NONE(QP, ri_qp_post_rdma_read, p->pd, RI_WR_TYPE_RDMA_READ, 0, 0, NULL, 0, 0, 0);
	NONE(QP, ri_qp_post_rdma_write, p->pd, RI_WR_TYPE_RDMA_WRITE, 0, 0, NULL, 0, 0, 0, 0);
	NONE(QP, ri_qp_post_bind, p->pd, RI_WR_TYPE_BIND, 0, 0, NULL, 0, NULL, 0, 0, 0, 0);
	NONE(QP, ri_qp_post_local_invalidate, p->pd, RI_WR_TYPE_LOCAL_INVALIDATE_MR, 0, 0, 0, 0,
	     none);
	NONE(QP, ri_qp_postrq, p->pd, NULL, NULL);
	NONE(QP, ri_qp_post_recv, p->pd, 0, 0, NULL, 0);
	NONE(SRQ, ri_srq_query, p->pd, NULL);
	NONE(SRQ, ri_srq_modify, p->pd, 0, NULL);
	NONE(SRQ, ri_srq_destroy, p->pd);
	NONE(SRQ, ri_srq_post, p->pd, NULL, NULL);
	NONE(SRQ, ri_srq_post_recv, p->pd, 0, 0, NULL, 0);
	NONE(PD, ri_ltag_alloc, NULL, p->a.cq, 0, NULL, NULL, NULL, NULL, NULL);
	NONE(MR, ri_mr_query, p->pd, NULL);
	NONE(MR, ri_mr_dereg, p->pd);
	NONE(PD, ri_mw_alloc, p->a.cq, RI_MW_TYPE_NARROW, NULL, NULL, NULL, NULL);
	NONE(MW, ri_mw_dealloc, p->pd);
	NONE(MW, ri_mw_query, p->pd, NULL, NULL, NULL, NULL, NULL);
	pair_close(p);
#undef NONE
}

/* What iWARP does not have (1.3), or rnicpi.ko */
static void refused(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_gid_t gid = { };

#define REFUSED(code, name, ...)						\
	KUNIT_EXPECT_EQ(test, name(p->rnic, __VA_ARGS__, NULL), code)
	REFUSED(RI_RET_OP_UNSUPPORTED, ri_rnic_diag, RI_DIAG_RNIC_DUMP, NULL, NULL, NULL);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_rnic_modify, 0, NULL);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_special_qp_get, 1, RI_SQP_TYPE_SMI, NULL, NULL, NULL,
		NULL);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_ah_create, p->pd, NULL, NULL, NULL, NULL);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_ah_query, NULL, NULL, NULL);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_ah_modify, NULL, NULL);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_ah_destroy, NULL);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_mcast_attach, 0, &gid, p->a.qp, NULL, NULL);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_mcast_detach, 0, &gid, p->a.qp);
	REFUSED(RI_RET_XPORT_UNSUPPORTED, ri_process_sma_mad, 1, NULL, NULL);
	/* all memory is coherent (L4395, L4446) */
	REFUSED(OK, ri_mem_sync_rread, NULL, 5);
	REFUSED(OK, ri_mem_sync_rwrite, NULL, 5);
	REFUSED(RI_RET_RNIC_ATOMICS_UNSUPPORTED, ri_qp_post_atomic, p->a.qp,
		RI_WR_TYPE_FETCH_AND_ADD, 0, 1, 0, 0, 0, NULL);
	REFUSED(RI_RET_WR_INVALID_TYPE, ri_qp_post_datagram, p->a.qp, RI_WR_TYPE_SEND, 0, 1, NULL,
		0, 0, NULL, 0, 0, 0);
	pair_close(p);
#undef REFUSED
}

/* What a call passes out, and the attributes that it needs, must be there */
static void missing(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_mr_reg_attr_t mr = {
		.va = (uintptr_t)p->a.mem, .length = 100, .pd = p->pd,
		.mem_attr = RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE,
	};
	ri_srq_attr_t srq_attr = { .max_wrs = 4, .max_sgl = 1, .pd = p->pd };
	ri_cq_attr_t cq_attr = { .num_cqe = 4 };
	ri_ltag_t ltag = 0;
	ri_mr_handle_t out;
	ri_srq_handle_t srq;
	ri_cq_handle_t cq;
	ri_mw_handle_t mw;

#define MISSING(name, ...)							\
	KUNIT_EXPECT_EQ(test, name(p->rnic, __VA_ARGS__, NULL), RI_RET_INVALID_PARAMETER)
	MISSING(ri_cq_create, NULL, &cq, NULL, NULL);
	MISSING(ri_cq_create, &cq_attr, NULL, NULL, NULL);
	MISSING(ri_cq_query, p->a.cq, NULL);
	MISSING(ri_qp_query, p->a.qp, NULL);
	MISSING(ri_mr_query, p->a.mr, NULL);
	MISSING(ri_mr_reg, NULL, &out, &ltag, &ltag, NULL, NULL);
	MISSING(ri_mr_reg, &mr, NULL, &ltag, &ltag, NULL, NULL);
	MISSING(ri_mr_reg, &mr, &out, NULL, &ltag, NULL, NULL);
	/* an RTag only if remote rights are asked for (L3620) */
	MISSING(ri_mr_reg, &mr, &out, &ltag, NULL, NULL, NULL);
	MISSING(ri_mr_reg_shared, p->a.mr, NULL, &out, &ltag, &ltag, NULL, NULL);
	MISSING(ri_mr_reg_shared, p->a.mr, &mr, NULL, &ltag, &ltag, NULL, NULL);
	MISSING(ri_mr_reg_shared, p->a.mr, &mr, &out, &ltag, NULL, NULL, NULL);
	MISSING(ri_mw_alloc, p->pd, RI_MW_TYPE_NARROW, NULL, &ltag, NULL, NULL);
	MISSING(ri_mw_alloc, p->pd, RI_MW_TYPE_NARROW, &mw, NULL, NULL, NULL);
	MISSING(ri_srq_create, NULL, &srq, NULL, NULL);
	MISSING(ri_srq_create, &srq_attr, NULL, NULL, NULL);
	KUNIT_ASSERT_EQ(test, ri_srq_create(p->rnic, &srq_attr, &srq, NULL, NULL, NULL), OK);
	MISSING(ri_srq_query, srq, NULL);
	KUNIT_EXPECT_EQ(test, ri_srq_destroy(p->rnic, srq, NULL), OK);
	pair_close(p);
#undef MISSING
}

/* Beyond what the RNIC has, or the SRQ */
static void too_large(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_srq_attr_t srq_attr = { .max_wrs = SRNIC_MAX_SRQ_WR + 1, .max_sgl = 1, .pd = p->pd };
	ri_srq_handle_t srq;
	ri_qp_handle_t qp;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_EXPECT_EQ(test, ri_srq_create(p->rnic, &srq_attr, &srq, NULL, NULL, NULL),
			RI_RET_RNIC_WR_LIMIT_EXCEEDED);
	srq_attr.max_wrs = 4;
	KUNIT_ASSERT_EQ(test, ri_srq_create(p->rnic, &srq_attr, &srq, NULL, NULL, NULL), OK);
	*attr = pair_qp_attr(p, &p->a);
	attr->srq_valid = 1;
	attr->srq.srq_handle = srq;
	attr->qp_xport.qp_iwarp.rq_hiwat = SRNIC_MAX_SRQ_WR + 1;
	KUNIT_EXPECT_EQ(test, ri_qp_create(p->rnic, attr, &qp, NULL, NULL, NULL),
			RI_RET_SRQ_LIMIT_OUT_OF_RANGE);
	attr->qp_xport.qp_iwarp.rq_hiwat = 0;
	KUNIT_ASSERT_EQ(test, ri_qp_create(p->rnic, attr, &qp, NULL, NULL, NULL), OK);
	attr->qp_xport.qp_iwarp.rq_hiwat = SRNIC_MAX_SRQ_WR + 1;
	KUNIT_EXPECT_EQ(test, ri_qp_modify(p->rnic, qp, RI_QP_ATTR_RQ_HIWAT, attr, NULL),
			RI_RET_SRQ_LIMIT_OUT_OF_RANGE);
	KUNIT_EXPECT_EQ(test, ri_qp_destroy(p->rnic, qp, NULL), OK);
	KUNIT_EXPECT_EQ(test, ri_srq_destroy(p->rnic, srq, NULL), OK);
	pair_close(p);
}

#define POST(code, name, ...)							\
	KUNIT_EXPECT_EQ(test, ri_qp_post_##name(p->rnic, p->a.qp, __VA_ARGS__, NULL), code)
#define WITHOUT_DATA(code, type, flags)						\
	POST(code, send, type, flags, 1, NULL, 0, 0, 0)

/* One WR by its fields. The QP is Idle: WRs stay in its SQ, which is full at the end */
static void singles(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	const ri_mrw_handle_t region = { .mr_handle = p->a.mr };
	const ri_mrw_handle_t other = { .mr_handle = p->pd };
	const ri_wr_flags_t bad = RI_WR_SOLICITED_EVENT_FLAG;
	ri_data_seg_t seg = pair_seg(&p->a, 0, 10);
	ri_mr_reg_phys_attr_t list = { };
	ri_mw_handle_t mw;
	ri_rtag_t rtag;
	u32 n;

	KUNIT_ASSERT_EQ(test, ri_mw_alloc(p->rnic, p->pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					  NULL), OK);
	POST(RI_RET_WR_INVALID_TYPE, rdma_write, RI_WR_TYPE_SEND, 0, 1, &seg, 0, 0, 1, 0);
	POST(RI_RET_WR_SG_INVALID_FORMAT, rdma_write, RI_WR_TYPE_RDMA_WRITE, 0, 1, NULL, 0, 0, 1,
	     0);
	POST(RI_RET_WR_INVALID_TYPE, rdma_read, RI_WR_TYPE_SEND, 0, 1, &seg, 0, 1, 0);
	POST(RI_RET_RNIC_SG_LIMIT_EXCEEDED, rdma_read, RI_WR_TYPE_RDMA_READ, 0, 1, &seg, 0, 99, 0);
#define BIND(code, type, flags, window, mr)					\
	POST(code, bind, type, flags, 1, window, rtag, mr, p->a.tag, (uintptr_t)p->a.mem, 100, 0)
	BIND(RI_RET_WR_INVALID_TYPE, RI_WR_TYPE_SEND, 0, mw, p->a.mr);
	BIND(RI_RET_WR_INVALID_FLAGS, RI_WR_TYPE_BIND, bad, mw, p->a.mr);
	BIND(RI_RET_MW_INVALID_HANDLE, RI_WR_TYPE_BIND, 0, p->a.mr, p->a.mr);
	BIND(RI_RET_MR_INVALID_HANDLE, RI_WR_TYPE_BIND, 0, mw, mw);
#define INVALIDATE(code, type, flags, handle)					\
	POST(code, local_invalidate, type, flags, 1, p->a.tag, rtag, handle)
	INVALIDATE(RI_RET_WR_INVALID_TYPE, RI_WR_TYPE_SEND, 0, region);
	INVALIDATE(RI_RET_WR_INVALID_FLAGS, RI_WR_TYPE_LOCAL_INVALIDATE_MR, bad, region);
	INVALIDATE(RI_RET_MR_INVALID_HANDLE, RI_WR_TYPE_LOCAL_INVALIDATE_MR, 0, other);
	INVALIDATE(RI_RET_MW_INVALID_HANDLE, RI_WR_TYPE_LOCAL_INVALIDATE_MW, 0, region);
#define FMR(code, type, flags)							\
	POST(code, fmr, type, flags, 1, &list, p->a.tag, p->a.tag, p->a.mr)
	FMR(RI_RET_WR_INVALID_TYPE, RI_WR_TYPE_SEND, 0);
	FMR(RI_RET_WR_INVALID_FLAGS, RI_WR_TYPE_FAST_REGISTER, bad);
	KUNIT_EXPECT_EQ(test, ri_qp_post_fmr(p->rnic, p->pd, RI_WR_TYPE_FAST_REGISTER, 0, 1, &list,
					     p->a.tag, p->a.tag, p->a.mr, NULL),
			RI_RET_QP_INVALID_HANDLE);
	for (n = 0; n < PAIR_DEPTH; n++)
		WITHOUT_DATA(OK, RI_WR_TYPE_SEND, 0);
	WITHOUT_DATA(RI_RET_QP_CAPACITY_EXCEEDED, RI_WR_TYPE_SEND, 0);
	POST(RI_RET_QP_CAPACITY_EXCEEDED, rdma_write, RI_WR_TYPE_RDMA_WRITE, 0, 1, &seg, 0, 0, 1,
	     0);
	POST(RI_RET_QP_CAPACITY_EXCEEDED, rdma_read, RI_WR_TYPE_RDMA_READ, 0, 1, &seg, 0, 1, 0);
	BIND(RI_RET_QP_CAPACITY_EXCEEDED, RI_WR_TYPE_BIND, 0, mw, p->a.mr);
	INVALIDATE(RI_RET_QP_CAPACITY_EXCEEDED, RI_WR_TYPE_LOCAL_INVALIDATE_MR, 0, region);
	FMR(RI_RET_QP_CAPACITY_EXCEEDED, RI_WR_TYPE_FAST_REGISTER, 0);
	KUNIT_EXPECT_EQ(test, ri_mw_dealloc(p->rnic, mw, NULL), OK);
	pair_close(p);
#undef BIND
#undef INVALIDATE
#undef FMR
}

static ri_api_return_t post_list(struct pair *p, ri_wr_t wr)
{
	uint_t one = 1;
	ri_api_return_t ret = ri_qp_postsq(p->rnic, p->a.qp, &wr, &one, NULL);

	KUNIT_EXPECT_EQ(p->test, one, ret ? 0 : 1);	/* L3089 */
	return ret;
}

/* A list of send WRs has the codes of each type */
static void lists(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_data_seg_t seg = pair_seg(&p->a, 0, 10);
	ri_wr_t send = { .wr_send = { RI_WR_TYPE_SEND, 0, 1, &seg, 0, 1, 0 } }, wr;
	ri_mw_handle_t mw;
	ri_rtag_t rtag;
	u32 n;

	KUNIT_ASSERT_EQ(test, ri_mw_alloc(p->rnic, p->pd, RI_MW_TYPE_NARROW, &mw, &rtag, NULL, NULL,
					  NULL), OK);
	wr = send;
	wr.wr_send.type = 99;
	KUNIT_EXPECT_EQ(test, post_list(p, wr), RI_RET_WR_INVALID_TYPE);
	wr = send;
	wr.wr_send.flags = RI_WR_LOCAL_FENCE_FLAG;
	KUNIT_EXPECT_EQ(test, post_list(p, wr), RI_RET_WR_INVALID_FLAGS);
	wr = send;
	wr.wr_send.num_sgls = 99;
	KUNIT_EXPECT_EQ(test, post_list(p, wr), RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	wr.wr_send.num_sgls = 1;
	wr.wr_send.sg_list = NULL;
	KUNIT_EXPECT_EQ(test, post_list(p, wr), RI_RET_WR_SG_INVALID_FORMAT);
	wr = (ri_wr_t){ .wr_bind = { RI_WR_TYPE_BIND, 0, 1, mw, rtag, p->a.mr, p->a.tag,
				     (uintptr_t)p->a.mem, 0, 0 } };
	KUNIT_EXPECT_EQ(test, post_list(p, wr), RI_RET_INVALID_WINDOW_TYPE);
	wr.wr_bind.length = 100;
	wr.wr_bind.rtag = rtag ^ 0x100;
	KUNIT_EXPECT_EQ(test, post_list(p, wr), RI_RET_MEM_INVALID_RTAG);
	wr = (ri_wr_t){ .wr_fmr = { .type = RI_WR_TYPE_FAST_REGISTER, .mr_handle = p->a.mr,
				    .ltag = p->a.tag ^ 0x100 } };
	KUNIT_EXPECT_EQ(test, post_list(p, wr), RI_RET_MEM_INVALID_LTAG);
	for (n = 0; n < PAIR_DEPTH; n++)
		KUNIT_EXPECT_EQ(test, post_list(p, send), OK);
	KUNIT_EXPECT_EQ(test, post_list(p, send), RI_RET_QP_CAPACITY_EXCEEDED);
	KUNIT_EXPECT_EQ(test, ri_mw_dealloc(p->rnic, mw, NULL), OK);
	pair_close(p);
}

/* By each of the four calls */
static void recv_gives(struct pair *p, ri_srq_handle_t srq, ri_wr_recv_t wr, ri_api_return_t code)
{
	uint_t n = 1;

	KUNIT_EXPECT_EQ(p->test, ri_qp_postrq(p->rnic, p->a.qp, &wr, &n, NULL), code);
	KUNIT_EXPECT_EQ(p->test, n, code ? 0 : 1);	/* L3286 */
	n = 1;
	KUNIT_EXPECT_EQ(p->test, ri_srq_post(p->rnic, srq, &wr, &n, NULL), code);
	KUNIT_EXPECT_EQ(p->test, n, code ? 0 : 1);
	KUNIT_EXPECT_EQ(p->test, ri_qp_post_recv(p->rnic, p->a.qp, wr.flags, wr.id, wr.sg_list,
						 wr.num_sgls, NULL), code);
	KUNIT_EXPECT_EQ(p->test, ri_srq_post_recv(p->rnic, srq, wr.flags, wr.id, wr.sg_list,
						  wr.num_sgls, NULL), code);
}

/* Receives, of a QP and of an SRQ */
static void receives(struct kunit *test)
{
	ri_qp_attr_t *attr = kunit_kzalloc(test, sizeof(*attr), GFP_KERNEL);
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	ri_srq_attr_t srq_attr = { .max_wrs = PAIR_DEPTH, .max_sgl = 1, .pd = p->pd };
	ri_data_seg_t seg = pair_seg(&p->a, 0, 10);
	const ri_wr_recv_t good = { 0, 1, &seg, 1 };
	ri_wr_recv_t wr = good;
	ri_srq_handle_t srq;
	ri_qp_handle_t qp;
	uint_t n, i;

	KUNIT_ASSERT_NOT_NULL(test, attr);
	KUNIT_ASSERT_EQ(test, ri_srq_create(p->rnic, &srq_attr, &srq, NULL, NULL, NULL), OK);
	*attr = pair_qp_attr(p, &p->a);
	attr->srq_valid = 1;
	attr->srq.srq_handle = srq;
	KUNIT_ASSERT_EQ(test, ri_qp_create(p->rnic, attr, &qp, NULL, NULL, NULL), OK);
	n = 1;
	KUNIT_EXPECT_EQ(test, ri_qp_postrq(p->rnic, qp, &wr, &n, NULL), RI_RET_QP_TIED_TO_SRQ);
	KUNIT_EXPECT_EQ(test, n, 0);
	KUNIT_EXPECT_EQ(test, ri_qp_destroy(p->rnic, qp, NULL), OK);
	wr.flags = RI_WR_SIGNALED_FLAG;
	recv_gives(p, srq, wr, RI_RET_WR_INVALID_FLAGS);
	wr = good;
	wr.num_sgls = 99;
	recv_gives(p, srq, wr, RI_RET_RNIC_SG_LIMIT_EXCEEDED);
	wr = good;
	wr.sg_list = NULL;
	recv_gives(p, srq, wr, RI_RET_WR_SG_INVALID_FORMAT);
	n = 1;
	KUNIT_EXPECT_EQ(test, ri_qp_postrq(p->rnic, p->a.qp, NULL, &n, NULL),
			RI_RET_INVALID_PARAMETER);
	KUNIT_EXPECT_EQ(test, ri_srq_post(p->rnic, srq, NULL, &n, NULL), RI_RET_INVALID_PARAMETER);
	/* each time two of the RQ, and two of the SRQ */
	for (i = 0; i < PAIR_DEPTH / 2; i++)
		recv_gives(p, srq, good, OK);
	recv_gives(p, srq, good, RI_RET_QP_CAPACITY_EXCEEDED);
	KUNIT_EXPECT_EQ(test, ri_srq_destroy(p->rnic, srq, NULL), OK);
	pair_close(p);
}

static void not_again(struct pair *p, u32 mask, ri_mr_reg_phys_attr_t wrong, ri_api_return_t code)
{
	ri_mr_reg_phys_attr_t good;
	ri_mr_handle_t mr, out;
	ri_phys_addr_t list[2];
	ri_ltag_t ltag = 0;

	pair_two_pages(&p->a, list);
	good = pair_phys_attr(p, list, 2, 0x10000 + 100, PAGE_SIZE);
	wrong.phys_buf_list = list;
	KUNIT_ASSERT_EQ(p->test, ri_mr_reg_phys(p->rnic, &good, &mr, &ltag, &ltag, NULL, NULL,
						NULL), OK);
	KUNIT_EXPECT_EQ(p->test, ri_mr_rereg_phys(p->rnic, mr, mask, &wrong, &out, &ltag, &ltag,
						  NULL, NULL, NULL), code);
	/* L3979, as L3782: the region has ended */
	KUNIT_EXPECT_EQ(p->test, ri_mr_dereg(p->rnic, mr, NULL), RI_RET_MR_INVALID_HANDLE);
}

/* Regions that are shared, or registered anew with physical buffers */
static void regions(struct kunit *test)
{
	struct pair *p = pair_idle(test, RI_PHYS_PAGE_LIST_MODE, 0);
	const ri_mr_reg_phys_attr_t good = pair_phys_attr(p, NULL, 2, 0x10000 + 100, PAGE_SIZE);
	ri_mr_reg_attr_t shared = { .va = 4096, .pd = p->pd, .mem_attr = RI_MEM_FLAGS_LOCAL };
	ri_mr_reg_phys_attr_t attr;
	ri_ltag_t ltag = 0;
	ri_mr_handle_t out;

	KUNIT_EXPECT_EQ(test, ri_mr_reg_shared(p->rnic, p->pd, &shared, &out, &ltag, &ltag, NULL,
					       NULL, NULL), RI_RET_MR_INVALID_HANDLE);
	shared.mem_attr = RI_MEM_FLAGS_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, ri_mr_reg_shared(p->rnic, p->a.mr, &shared, &out, &ltag, &ltag, NULL,
					       NULL, NULL), RI_RET_MEM_INVALID_ACCESS);
	attr = good;
	attr.common.length = 0;
	not_again(p, RI_MR_REREG_TRANSLATE, attr, RI_RET_MEM_INVALID_LENGTH);
	attr = good;
	attr.address_offset = PAGE_SIZE;
	not_again(p, RI_MR_REREG_TRANSLATE, attr, RI_RET_MEM_INVALID_OFFSET);
	attr = good;
	attr.common.va++;
	not_again(p, RI_MR_REREG_TRANSLATE, attr, RI_RET_MEM_INVALID_ADDRESS);
	attr = good;
	attr.common.mem_attr = RI_MEM_FLAGS_REMOTE_WRITE;
	not_again(p, RI_MR_REREG_ACCESS, attr, RI_RET_MEM_INVALID_ACCESS);
	attr = good;
	attr.common.pd = p->rnic;
	not_again(p, RI_MR_REREG_PD, attr, RI_RET_PD_INVALID_HANDLE);
	pair_close(p);
}

static struct kunit_case codes_cases[] = {
	KUNIT_CASE(no_device),
	KUNIT_CASE(no_rnic),
	KUNIT_CASE(other_kinds),
	KUNIT_CASE(refused),
	KUNIT_CASE(missing),
	KUNIT_CASE(too_large),
	KUNIT_CASE(singles),
	KUNIT_CASE(lists),
	KUNIT_CASE(receives),
	KUNIT_CASE(regions),
	{}
};

static struct kunit_suite codes_suite = {
	.name = "srnic-rnicpi-codes",
	.test_cases = codes_cases,
};

kunit_test_suite(codes_suite);
