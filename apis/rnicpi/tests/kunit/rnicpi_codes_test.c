// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Return codes of rnicpi.ko: of handles that are none, of other kinds, and of what iWARP lacks. */
#include <linux/slab.h>
#include "rnicpi/kernel/rnic.h"
#include "rnicpi_pair.h"

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
	REFUSED(RI_RET_RNIC_ATOMICS_UNSUPPORTED, ri_qp_post_atomic, p->a.qp,
		RI_WR_TYPE_FETCH_AND_ADD, 0, 1, 0, 0, 0, NULL);
	REFUSED(RI_RET_WR_INVALID_TYPE, ri_qp_post_datagram, p->a.qp, RI_WR_TYPE_SEND, 0, 1, NULL,
		0, 0, NULL, 0, 0, 0);
	pair_close(p);
#undef REFUSED
}

static struct kunit_case codes_cases[] = {
	KUNIT_CASE(no_device),
	KUNIT_CASE(no_rnic),
	KUNIT_CASE(other_kinds),
	KUNIT_CASE(refused),
	{}
};

static struct kunit_suite codes_suite = {
	.name = "srnic-rnicpi-codes",
	.test_cases = codes_cases,
};

kunit_test_suite(codes_suite);
