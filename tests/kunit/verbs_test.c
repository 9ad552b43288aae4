// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* verbs.c, device.c: verbs and their results, for objects without a suite of their own. */
#include <kunit/test.h>
#include <linux/scatterlist.h>
#include "device/device.h"
#include "fake.h"
#include "memory/mr.h"
#include "peer.h"
#include "queue/srq.h"
#include "verbs/query.h"
#include "verbs/verbs.h"

#define ops	srnic_verbs_ops

#ifndef SRNIC_HAVE_RESIZE_USER_CQ
#define resize_user_cq resize_cq
#endif

/* RN-07 to RN-15, RD-01, RD-04, QP-04: each limit is the one that creation enforces */
static void device_attributes(struct kunit *test)
{
	struct srnic_uresp_dev_query rnic;
	struct ib_device_attr attr;
	struct ib_udata udata = { };
	struct srnic_device *dev = fake_device(test);

	memset(&attr, 0xa5, sizeof(attr));
	KUNIT_ASSERT_EQ(test, 0, srnic_device_ops.query_device(&dev->ibdev, &attr, &udata));
	KUNIT_EXPECT_NE(test, attr.vendor_id, 0);
	KUNIT_EXPECT_EQ(test, attr.max_qp, SRNIC_MAX_QP);
	KUNIT_EXPECT_EQ(test, attr.max_qp_wr, SRNIC_MAX_QP_WR);
	KUNIT_EXPECT_EQ(test, attr.max_send_sge, SRNIC_MAX_SGE);
	KUNIT_EXPECT_EQ(test, attr.max_recv_sge, SRNIC_MAX_SGE);
	KUNIT_EXPECT_GE(test, attr.max_send_sge, 4);
	KUNIT_EXPECT_EQ(test, attr.max_sge_rd, 32);
	KUNIT_EXPECT_EQ(test, attr.max_cq, SRNIC_MAX_CQ);
	KUNIT_EXPECT_EQ(test, attr.max_cqe, SRNIC_MAX_CQE);
	KUNIT_EXPECT_EQ(test, attr.max_mr, SRNIC_MAX_MR);
	KUNIT_EXPECT_EQ(test, attr.max_mw, SRNIC_MAX_MW);
	KUNIT_EXPECT_EQ(test, attr.max_pd, SRNIC_MAX_PD);
	KUNIT_EXPECT_EQ(test, attr.max_fast_reg_page_list_len, SRNIC_MAX_FR_BLOCKS);
	KUNIT_EXPECT_EQ(test, attr.max_qp_rd_atom, SRNIC_MAX_IRD);
	KUNIT_EXPECT_EQ(test, attr.max_qp_init_rd_atom, SRNIC_MAX_ORD);
	KUNIT_EXPECT_GE(test, attr.max_res_rd_atom, attr.max_qp);
	KUNIT_EXPECT_TRUE(test, attr.page_size_cap & SZ_4K);
	KUNIT_EXPECT_TRUE(test, attr.page_size_cap & SZ_2M);
	KUNIT_EXPECT_TRUE(test, attr.kernel_cap_flags & IBK_SG_GAPS_REG);
	/* Query RNIC reports what verbs report */
	dev->ibdev.attrs = attr;
	dev->ibdev.num_comp_vectors = 3;
	srnic_query_rnic(&dev->ibdev, &rnic);
	KUNIT_EXPECT_EQ(test, rnic.vendor_id, attr.vendor_id);
	KUNIT_EXPECT_EQ(test, rnic.max_qp, SRNIC_MAX_QP);
	KUNIT_EXPECT_EQ(test, rnic.max_qp_wr, SRNIC_MAX_QP_WR);
	KUNIT_EXPECT_EQ(test, rnic.max_srq, SRNIC_MAX_SRQ);
	KUNIT_EXPECT_EQ(test, rnic.max_srq_wr, SRNIC_MAX_SRQ_WR);
	KUNIT_EXPECT_EQ(test, rnic.max_write_sge, SRNIC_MAX_SGE);
	KUNIT_EXPECT_EQ(test, rnic.max_cq, SRNIC_MAX_CQ);
	KUNIT_EXPECT_EQ(test, rnic.max_cqe, SRNIC_MAX_CQE);
	KUNIT_EXPECT_EQ(test, rnic.max_cq_handlers, 3);
	KUNIT_EXPECT_EQ(test, rnic.max_mr, SRNIC_MAX_MR);
	KUNIT_EXPECT_EQ(test, rnic.max_mw, SRNIC_MAX_MW);
	KUNIT_EXPECT_EQ(test, rnic.max_pd, SRNIC_MAX_PD);
	KUNIT_EXPECT_EQ(test, rnic.max_fast_reg_blocks, SRNIC_MAX_FR_BLOCKS);
	KUNIT_EXPECT_EQ(test, rnic.max_ird, SRNIC_MAX_IRD);
	KUNIT_EXPECT_EQ(test, rnic.max_device_ird, 0);
	KUNIT_EXPECT_TRUE(test, rnic.flags & SRNIC_DEV_SRQ);
	KUNIT_EXPECT_TRUE(test, rnic.flags & SRNIC_DEV_CAN_RESIZE_QP);
	KUNIT_EXPECT_TRUE(test, attr.device_cap_flags & IB_DEVICE_RESIZE_MAX_WR);
}

/* PD-01, RN-11 */
static void pd_limit(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);

	atomic_long_set(&dev->held_kernel[SRNIC_KIND_PD], SRNIC_MAX_PD - 1);
	KUNIT_EXPECT_EQ(test, ops.alloc_pd(pd, NULL), 0);
	KUNIT_EXPECT_EQ(test, ops.alloc_pd(fake_pd(test, dev), NULL), -ENOMEM);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_PD), SRNIC_MAX_PD);
	KUNIT_EXPECT_EQ(test, ops.dealloc_pd(pd, NULL), 0);
	KUNIT_EXPECT_EQ(test, ops.alloc_pd(pd, NULL), 0);
}

/* CQ-04, RN-10 */
static void cq_limit(struct kunit *test)
{
	struct ib_cq_init_attr attr = { .cqe = 5 };
	struct srnic_device *dev = fake_device(test);
	struct srnic_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, cq);
	cq->ibcq.device = &dev->ibdev;
	atomic_long_set(&dev->held_kernel[SRNIC_KIND_CQ], SRNIC_MAX_CQ);
	KUNIT_EXPECT_EQ(test, ops.create_cq(&cq->ibcq, &attr, NULL), -ENOMEM);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_CQ), SRNIC_MAX_CQ);
	atomic_long_dec(&dev->held_kernel[SRNIC_KIND_CQ]);
	attr.flags = 1 << 31;
	KUNIT_EXPECT_EQ(test, ops.create_cq(&cq->ibcq, &attr, NULL), -EOPNOTSUPP);
	attr.flags = 0;
	KUNIT_EXPECT_EQ(test, ops.create_cq(&cq->ibcq, &attr, NULL), 0);
	KUNIT_EXPECT_GE(test, cq->ibcq.cqe, 5);
	ops.destroy_cq(&cq->ibcq, NULL);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_CQ), SRNIC_MAX_CQ - 1);
}

/* RN-01: objects of one device are invalid on another */
static void other_device(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct srnic_device *other = fake_device(test);
	static u8 mem[8];
	struct srnic_tpte *mr = peer_region(p, p->pd, mem, 8, SRNIC_LOCAL_READ);
	struct srnic_access acc = {
		.stag = mr->stag, .to = mr->base, .length = 8, .need = SRNIC_LOCAL_READ,
		.pd = p->pd,
	};
	struct srnic_span span;

	KUNIT_EXPECT_EQ(test, srnic_tpt_get(p->dev, &acc, &span), SRNIC_TPT_OK);
	srnic_tpt_put(&span);
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(other, &acc, &span), SRNIC_TPT_STAG);
	KUNIT_EXPECT_PTR_EQ(test, srnic_qp_find(other, p->qp->ibqp.qp_num), NULL);
}

/* QP-14: Query returns the attributes of Create */
static void query_qp(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr = { };

	KUNIT_ASSERT_EQ(test, ops.query_qp(&p->qp->ibqp, &attr, -1, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RESET);
	KUNIT_EXPECT_EQ(test, attr.cap.max_send_wr, PEER_DEPTH);
	KUNIT_EXPECT_EQ(test, attr.cap.max_recv_wr, PEER_DEPTH);
	KUNIT_EXPECT_EQ(test, attr.cap.max_send_sge, PEER_SGES);
	KUNIT_EXPECT_EQ(test, attr.cap.max_recv_sge, 2);
	KUNIT_EXPECT_EQ(test, init.cap.max_send_wr, PEER_DEPTH);
	KUNIT_EXPECT_PTR_EQ(test, init.send_cq, &p->scq->cq.ibcq);
	KUNIT_EXPECT_PTR_EQ(test, init.recv_cq, &p->rcq->cq.ibcq);
	KUNIT_EXPECT_EQ(test, init.sq_sig_type, IB_SIGNAL_REQ_WR);
	peer_connect(p, 3, 4);
	KUNIT_ASSERT_EQ(test, ops.query_qp(&p->qp->ibqp, &attr, -1, &init), 0);
	KUNIT_EXPECT_EQ(test, attr.qp_state, IB_QPS_RTS);
	KUNIT_EXPECT_EQ(test, attr.max_dest_rd_atomic, 3);
	KUNIT_EXPECT_EQ(test, attr.max_rd_atomic, 4);
	KUNIT_EXPECT_TRUE(test, attr.qp_access_flags & IB_ACCESS_REMOTE_READ);
	KUNIT_EXPECT_TRUE(test, attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE);
}

/*
 * Attributes that the QP has no value for are 0: the caller's memory, which may reach a user,
 * does not keep its former contents.
 */
static void query_qp_zeroes(struct kunit *test)
{
	struct ib_qp_init_attr init, want_init = { };
	struct ib_qp_attr attr, want = { };
	struct peer *p = peer_idle(test);

	memset(&attr, 0xa5, sizeof(attr));
	memset(&init, 0xa5, sizeof(init));
	KUNIT_ASSERT_EQ(test, ops.query_qp(&p->qp->ibqp, &attr, -1, &init), 0);

	memset(&want, 0, sizeof(want));
	want.qp_state = attr.qp_state;
	want.cur_qp_state = attr.cur_qp_state;
	want.path_mtu = attr.path_mtu;
	want.qp_access_flags = attr.qp_access_flags;
	want.cap = attr.cap;
	want.max_rd_atomic = attr.max_rd_atomic;
	want.max_dest_rd_atomic = attr.max_dest_rd_atomic;
	want.port_num = attr.port_num;
	KUNIT_EXPECT_EQ(test, memcmp(&attr, &want, sizeof(attr)), 0);

	memset(&want_init, 0, sizeof(want_init));
	want_init.event_handler = init.event_handler;
	want_init.qp_context = init.qp_context;
	want_init.send_cq = init.send_cq;
	want_init.recv_cq = init.recv_cq;
	want_init.cap = init.cap;
	want_init.sq_sig_type = init.sq_sig_type;
	want_init.qp_type = init.qp_type;
	KUNIT_EXPECT_EQ(test, memcmp(&init, &want_init, sizeof(init)), 0);
}

/* QP-10, QP-19, RD-05, ST-06: IRD and ORD in Idle */
static void modify_reads(struct kunit *test)
{
	static const struct {
		struct ib_qp_attr attr;
		int mask, err;
	} rows[] = {
		{ { .max_rd_atomic = SRNIC_MAX_ORD }, IB_QP_MAX_QP_RD_ATOMIC, 0 },
		{ { .max_rd_atomic = SRNIC_MAX_ORD + 1 }, IB_QP_MAX_QP_RD_ATOMIC, -EINVAL },
		{ { .max_dest_rd_atomic = SRNIC_MAX_IRD }, IB_QP_MAX_DEST_RD_ATOMIC, 0 },
		{ { .max_dest_rd_atomic = SRNIC_MAX_IRD + 1 }, IB_QP_MAX_DEST_RD_ATOMIC,
		  -EINVAL },
		{ { .cap.max_send_wr = SRNIC_MAX_QP_WR + 1 }, IB_QP_CAP, -EINVAL },
		{ { .qp_state = IB_QPS_RESET, .max_rd_atomic = 7, .max_dest_rd_atomic = 8 },
		  IB_QP_STATE | IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC, 0 },
	};
	struct peer *p = peer_idle(test);
	struct ib_qp_init_attr init;
	struct ib_qp_attr now = { };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ib_qp_attr attr = rows[i].attr;

		KUNIT_EXPECT_EQ_MSG(test, rows[i].err,
				    ops.modify_qp(&p->qp->ibqp, &attr, rows[i].mask, NULL),
				    "row %u", i);
	}
	KUNIT_ASSERT_EQ(test, ops.query_qp(&p->qp->ibqp, &now, -1, &init), 0);
	KUNIT_EXPECT_EQ(test, now.max_rd_atomic, 7);
	KUNIT_EXPECT_EQ(test, now.max_dest_rd_atomic, 8);
}

/* Attributes of InfiniBand alone are accepted if they are valid there, and reported by Query */
static void modify_ib(struct kunit *test)
{
	static const struct {
		struct ib_qp_attr attr;
		int mask, err;
	} rows[] = {
		{ { .path_mtu = IB_MTU_256 }, IB_QP_PATH_MTU, 0 },
		{ { .path_mtu = IB_MTU_1024 }, IB_QP_PATH_MTU, 0 },
		{ { .path_mtu = 0 }, IB_QP_PATH_MTU, -EINVAL },
		{ { .path_mtu = IB_MTU_4096 + 1 }, IB_QP_PATH_MTU, -EINVAL },
		{ { .timeout = 31 }, IB_QP_TIMEOUT, 0 },
		{ { .timeout = 32 }, IB_QP_TIMEOUT, -EINVAL },
		{ { .retry_cnt = 6, .rnr_retry = 7 }, IB_QP_RETRY_CNT | IB_QP_RNR_RETRY, 0 },
		{ { .retry_cnt = 8 }, IB_QP_RETRY_CNT, -EINVAL },
		{ { .retry_cnt = 1, .rnr_retry = 8 }, IB_QP_RETRY_CNT | IB_QP_RNR_RETRY, -EINVAL },
		{ { .min_rnr_timer = 30 }, IB_QP_MIN_RNR_TIMER, 0 },
		{ { .min_rnr_timer = 32 }, IB_QP_MIN_RNR_TIMER, -EINVAL },
		{ { .qkey = 1 }, IB_QP_QKEY, -EOPNOTSUPP },
	};
	struct peer *p = peer_idle(test);
	struct ib_qp_init_attr init;
	struct ib_qp_attr now = { };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ib_qp_attr attr = rows[i].attr;

		KUNIT_EXPECT_EQ_MSG(test, rows[i].err,
				    ops.modify_qp(&p->qp->ibqp, &attr, rows[i].mask, NULL),
				    "row %u", i);
	}
	KUNIT_ASSERT_EQ(test, ops.query_qp(&p->qp->ibqp, &now, -1, &init), 0);
	KUNIT_EXPECT_EQ(test, now.path_mtu, IB_MTU_1024);
	KUNIT_EXPECT_EQ(test, now.timeout, 31);
	KUNIT_EXPECT_EQ(test, now.retry_cnt, 6);
	KUNIT_EXPECT_EQ(test, now.rnr_retry, 7);
	KUNIT_EXPECT_EQ(test, now.min_rnr_timer, 30);
}

/* Only rnr_retry 0 that a program has set means that no message waits for a receive */
static void modify_no_rnr(struct kunit *test)
{
	static const struct {
		struct ib_qp_attr attr;
		int mask;
		bool no_rnr;
	} rows[] = {
		{ { .rnr_retry = 0 }, IB_QP_RETRY_CNT, false },
		{ { .rnr_retry = 0 }, IB_QP_RNR_RETRY, true },
		{ { .rnr_retry = 1 }, IB_QP_MIN_RNR_TIMER, true },
		{ { .rnr_retry = 8 }, IB_QP_RNR_RETRY, true },
		{ { .rnr_retry = 1 }, IB_QP_RNR_RETRY, false },
	};
	struct peer *p = peer_idle(test);
	u32 i;

	KUNIT_EXPECT_FALSE(test, p->qp->ib.no_rnr);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ib_qp_attr attr = rows[i].attr;

		ops.modify_qp(&p->qp->ibqp, &attr, rows[i].mask, NULL);
		KUNIT_EXPECT_EQ_MSG(test, p->qp->ib.no_rnr, rows[i].no_rnr, "row %u", i);
	}
}

/*
 * RN-05, RN-14, MR-11, MR-12: a block size is a power of two, from a page up to a limit; those that
 * Query RNIC lists are taken, and no others
 */
static void block_sizes(struct kunit *test)
{
	static const struct {
		u32 size;
		int mapped;
	} rows[] = {
		{ 4096, 1 }, { 8192, 1 }, { 1 << 21, 1 },
		{ 0, -EINVAL }, { 512, -EINVAL }, { 4096 * 3, -EINVAL }, { 5000, -EINVAL },
		{ 1U << 31, -EINVAL },
	};
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	struct srnic_uresp_dev_query rnic;
	struct ib_udata udata = { };
	struct scatterlist sg;
	struct ib_mr *mr;
	u32 i;

	KUNIT_ASSERT_EQ(test, 0, srnic_device_ops.query_device(&dev->ibdev, &dev->ibdev.attrs,
							       &udata));
	srnic_query_rnic(&dev->ibdev, &rnic);
	mr = srnic_mr_alloc(pd, IB_MR_TYPE_MEM_REG, 4);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	sg_init_table(&sg, 1);
	sg.dma_address = 1 << 30;
	sg_dma_len(&sg) = 4096;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		mr->page_size = rows[i].size;
		KUNIT_EXPECT_EQ_MSG(test, srnic_mr_map_sg(mr, &sg, 1, NULL), rows[i].mapped,
				    "%u", rows[i].size);
	}
	for (i = 0; i < 64; i++) {
		bool listed = rnic.page_sizes & BIT_ULL(i);

		/* a page size of verbs has 32 bits */
		mr->page_size = i < 32 ? 1U << i : 0;
		KUNIT_EXPECT_EQ_MSG(test, srnic_mr_map_sg(mr, &sg, 1, NULL),
				    listed ? 1 : -EINVAL, "2^%u", i);
	}
	srnic_mr_dereg(mr);
}

/*
 * Calls of the kernel refuse objects of users: indices, opcodes and sizes in a ring are the
 * kernel's own only if no user maps it.
 */
static void users_rings(struct kunit *test)
{
	struct ib_srq_attr attr = { .max_wr = 8, .max_sge = 1 };
	struct ib_send_wr wr = { .opcode = IB_WR_SEND };
	struct ib_recv_wr rwr = { };
	struct peer *p = peer_idle(test);
	const struct ib_recv_wr *bad_rwr;
	const struct ib_send_wr *bad_wr;
	struct ib_cq *ibcq = &p->scq->cq.ibcq;
	struct srnic_cqe cqe = { .opcode = 5000, .qpn = 1 };
	struct srnic_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct ib_wc wc;
	u32 seen = 0;

	KUNIT_ASSERT_NOT_NULL(test, srq);
	srq->ibsrq.device = &p->dev->ibdev;
	KUNIT_ASSERT_EQ(test, srnic_srq_create(srq, &attr, NULL), 0);
	KUNIT_ASSERT_EQ(test, srnic_cq_add(&p->scq->cq, &cqe, SRNIC_WC_SUCCESS, &seen), 0);
	p->scq->cq.kernel = false;
	p->qp->kernel = false;
	srq->kernel = false;
	KUNIT_EXPECT_EQ(test, ops.poll_cq(ibcq, 1, &wc), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ops.req_notify_cq(ibcq, IB_CQ_NEXT_COMP), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, READ_ONCE(p->scq->cq.ring.hdr->flags), 0);
	KUNIT_EXPECT_EQ(test, ops.resize_user_cq(ibcq, 64, NULL), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ops.modify_srq(&srq->ibsrq, &attr, IB_SRQ_MAX_WR, NULL),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, ops.post_send(&p->qp->ibqp, &wr, &bad_wr), -EINVAL);
	KUNIT_EXPECT_EQ(test, ops.post_recv(&p->qp->ibqp, &rwr, &bad_rwr), -EINVAL);
	KUNIT_EXPECT_EQ(test, ops.post_srq_recv(&srq->ibsrq, &rwr, &bad_rwr), -EINVAL);
	p->scq->cq.kernel = true;
	p->qp->kernel = true;
	srq->kernel = true;
	srnic_srq_destroy(srq);
}

static struct kunit_case verbs_cases[] = {
	KUNIT_CASE(device_attributes),
	KUNIT_CASE(pd_limit),
	KUNIT_CASE(cq_limit),
	KUNIT_CASE(other_device),
	KUNIT_CASE(query_qp),
	KUNIT_CASE(query_qp_zeroes),
	KUNIT_CASE(modify_reads),
	KUNIT_CASE(modify_ib),
	KUNIT_CASE(modify_no_rnr),
	KUNIT_CASE(block_sizes),
	KUNIT_CASE(users_rings),
	{}
};

static struct kunit_suite verbs_suite = {
	.name = "srnic-verbs",
	.test_cases = verbs_cases,
};

kunit_test_suite(verbs_suite);
