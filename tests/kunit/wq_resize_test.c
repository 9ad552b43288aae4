// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wq_resize.c: all WRs are moved and complete once, or nothing changes (QP-20 to QP-22). */
#include <kunit/test.h>
#include <linux/kthread.h>
#include "fake.h"
#include "queue/sqe.h"
#include "queue/srq.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "verbs/verbs.h"

#define DEPTH	8
#define NEAR	0xfffffffdU	/* indices are about to wrap */

/* A QP of a kernel consumer without a stream, and the WR fetched from its SQ last */
struct wq {
	struct srnic_device *dev;
	struct fake_cq *scq, *rcq;
	struct srnic_qp *qp;
	struct srnic_fetched wr;
	struct srnic_rwr *rwr;
};

static void make_wq(struct kunit *test, struct wq *wq, u32 depth, struct srnic_srq *srq)
{
	struct ib_qp_init_attr init = {
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.srq = srq ? &srq->ibsrq : NULL,
		.cap = {
			.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};

	wq->dev = fake_device(test);
	wq->scq = fake_cq(test, wq->dev, max(depth, 64U));
	wq->rcq = fake_cq(test, wq->dev, max(depth, 64U));
	wq->qp = fake_qp_memory(test, wq->dev);
	fake_qp_create(test, wq->qp, &init, wq->scq, wq->rcq);
	wq->wr.data = kunit_kzalloc(test, wq->qp->max_inline, GFP_KERNEL);
	wq->rwr = kunit_kzalloc(test, struct_size(wq->rwr, sge, 1), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wq->wr.data);
	KUNIT_ASSERT_NOT_NULL(test, wq->rwr);
	wq->qp->sq_posted = NEAR;
	wq->qp->sq_freed = NEAR;
	wq->qp->sq_fetched = NEAR;
	wq->qp->sq_completed = NEAR;
	wq->qp->rq_posted = NEAR;
	wq->qp->rq_freed = NEAR;
	wq->qp->rq_taken = NEAR;
}

static int send(struct wq *wq, u64 wr_id)
{
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = wr_id, .opcode = IB_WR_RDMA_WRITE },
		.remote_addr = ~wr_id,
	};
	const struct ib_send_wr *bad;

	return srnic_verbs_ops.post_send(&wq->qp->ibqp, &wr.wr, &bad);
}

static int recv(struct wq *wq, u64 wr_id)
{
	struct ib_sge sge = { .addr = wr_id, .length = 1, .lkey = 2 };
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad;

	return srnic_verbs_ops.post_recv(&wq->qp->ibqp, &wr, &bad);
}

/* The next WR of the SQ, which is whole */
static void fetch(struct kunit *test, struct wq *wq, u64 wr_id)
{
	enum srnic_wc_status status;

	KUNIT_ASSERT_EQ(test, srnic_sqe_fetch(wq->qp, &wq->wr, &status), 1);
	KUNIT_EXPECT_EQ(test, wq->wr.sqe.wr_id, wr_id);
	KUNIT_EXPECT_EQ(test, wq->wr.sqe.remote_addr, ~wr_id);
}

/* The next WR of the RQ, which is whole; it completes */
static void take(struct kunit *test, struct wq *wq, u64 wr_id)
{
	struct srnic_cqe cqe = { };

	KUNIT_ASSERT_EQ(test, srnic_rq_take(wq->qp, wq->rwr), 0);
	KUNIT_EXPECT_EQ(test, wq->rwr->wr_id, wr_id);
	KUNIT_EXPECT_EQ(test, wq->rwr->sge[0].addr, wr_id);
	srnic_rq_complete(wq->qp, wq->rwr, &cqe, SRNIC_WC_SUCCESS);
}

static int resize(struct wq *wq, u32 send_wr, u32 recv_wr)
{
	struct ib_qp_attr attr = {
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr },
	};

	return srnic_verbs_ops.modify_qp(&wq->qp->ibqp, &attr, IB_QP_CAP, NULL);
}

static void expect_sizes(struct kunit *test, struct wq *wq, u32 send_wr, u32 recv_wr)
{
	struct srnic_wq_use use;

	srnic_wq_query(wq->qp, &use);
	KUNIT_EXPECT_EQ(test, use.sq_size, send_wr);
	KUNIT_EXPECT_EQ(test, use.rq_size, recv_wr);
}

/* @n WRs in each queue, of which @fetched are in progress; then to @size, and all complete */
static void move(struct kunit *test, u32 n, u32 fetched, u32 size)
{
	struct wq wq;
	u32 i;

	make_wq(test, &wq, DEPTH, NULL);
	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_EQ(test, send(&wq, i), 0);
		KUNIT_ASSERT_EQ(test, recv(&wq, 100 + i), 0);
	}
	for (i = 0; i < fetched; i++)
		fetch(test, &wq, i);
	/* the last one is done before the others */
	if (fetched > 1)
		srnic_sq_done(wq.qp, NEAR + fetched - 1, SRNIC_WC_SUCCESS);
	if (n > size) {
		KUNIT_EXPECT_EQ(test, resize(&wq, size, size), -EINVAL);
		size = DEPTH;
	} else {
		KUNIT_EXPECT_EQ(test, resize(&wq, size, size), 0);
	}
	expect_sizes(test, &wq, size, size);
	KUNIT_EXPECT_PTR_EQ(test, wq.qp->next.sq.hdr, NULL);
	/* each queue has room for exactly as many as asked for */
	for (i = n; i < size; i++) {
		KUNIT_ASSERT_EQ(test, send(&wq, i), 0);
		KUNIT_ASSERT_EQ(test, recv(&wq, 100 + i), 0);
	}
	KUNIT_EXPECT_EQ(test, send(&wq, i), -ENOMEM);
	KUNIT_EXPECT_EQ(test, recv(&wq, i), -ENOMEM);
	for (i = fetched; i < size; i++)
		fetch(test, &wq, i);
	fake_expect_no_wc(test, wq.scq);
	for (i = 0; i < size; i++)
		if (fetched < 2 || i != fetched - 1)
			srnic_sq_done(wq.qp, NEAR + i, SRNIC_WC_SUCCESS);
	for (i = 0; i < size; i++) {
		fake_expect_wc(test, wq.scq, i, SRNIC_WC_SUCCESS);
		take(test, &wq, 100 + i);
		fake_expect_wc(test, wq.rcq, 100 + i, SRNIC_WC_SUCCESS);
	}
	fake_expect_no_wc(test, wq.scq);
	srnic_qp_destroy(wq.qp);
}

/* Larger, smaller and the same size, with any number of WRs that fits, across 2^32 */
static void nothing_is_lost(struct kunit *test)
{
	static const u32 sizes[] = { 1, 4, 8, 16, 64 };
	u32 i, n, fetched;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (n = 0; n <= DEPTH; n++)
			for (fetched = 0; fetched <= n; fetched++)
				move(test, n, fetched, sizes[i]);
}

/* A WR is outstanding until its completion is polled; the requested size counts (QP-22) */
static void too_small(struct kunit *test)
{
	struct srnic_ring_hdr *sq, *rq;
	struct wq wq;
	u32 i;

	make_wq(test, &wq, 16, NULL);
	sq = wq.qp->sq.hdr;
	rq = wq.qp->rq.hdr;
	for (i = 0; i < 10; i++) {
		KUNIT_ASSERT_EQ(test, send(&wq, i), 0);
		KUNIT_ASSERT_EQ(test, recv(&wq, 100 + i), 0);
		fetch(test, &wq, i);
		srnic_sq_done(wq.qp, NEAR + i, SRNIC_WC_SUCCESS);
		take(test, &wq, 100 + i);
	}
	KUNIT_EXPECT_EQ(test, resize(&wq, 5, 16), -EINVAL);
	KUNIT_EXPECT_EQ(test, resize(&wq, 9, 16), -EINVAL);
	KUNIT_EXPECT_EQ(test, resize(&wq, 0, 16), -EINVAL);
	/* one queue that is too small keeps the other one, too */
	KUNIT_EXPECT_EQ(test, resize(&wq, 64, 9), -EINVAL);
	KUNIT_EXPECT_EQ(test, resize(&wq, 9, 64), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, wq.qp->sq.hdr, sq);
	KUNIT_EXPECT_PTR_EQ(test, wq.qp->rq.hdr, rq);
	expect_sizes(test, &wq, 16, 16);
	KUNIT_EXPECT_EQ(test, resize(&wq, 10, 10), 0);
	expect_sizes(test, &wq, 16, 16);
	for (i = 0; i < 6; i++) {
		fake_expect_wc(test, wq.scq, i, SRNIC_WC_SUCCESS);
		fake_expect_wc(test, wq.rcq, 100 + i, SRNIC_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, resize(&wq, 4, 4), 0);
	expect_sizes(test, &wq, 4, 4);
	for (; i < 10; i++) {
		fake_expect_wc(test, wq.scq, i, SRNIC_WC_SUCCESS);
		fake_expect_wc(test, wq.rcq, 100 + i, SRNIC_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, resize(&wq, 0, 0), 0);
	expect_sizes(test, &wq, 1, 1);
	srnic_qp_destroy(wq.qp);
}

/* What Modify refuses, and nothing changes: as create does, and more SGEs than a slot has */
static void limits(struct kunit *test)
{
	static const struct {
		struct ib_qp_attr attr;
		int mask, err;
	} rows[] = {
		{ { .cap = { .max_send_wr = SRNIC_MAX_QP_WR + 1 } }, 0, -EINVAL },
		{ { .cap = { .max_recv_wr = SRNIC_MAX_QP_WR + 1 } }, 0, -EINVAL },
		{ { .cap = { .max_send_wr = 0x80000001 } }, 0, -EINVAL },
		{ { .cap = { .max_send_wr = 4, .max_send_sge = 2 } }, 0, -EINVAL },
		{ { .cap = { .max_send_wr = 4, .max_recv_sge = 2 } }, 0, -EINVAL },
		{ { .cap = { .max_send_wr = 4, .max_inline_data = SRNIC_MAX_INLINE + 1 } }, 0,
		  -EINVAL },
		/* with a transition (QP-20) */
		{ { .cap = { .max_send_wr = 4 }, .qp_state = IB_QPS_ERR }, IB_QP_STATE, -EINVAL },
		/* ... and with other attributes, of which one is bad */
		{ { .cap = { .max_send_wr = 4 }, .max_rd_atomic = SRNIC_MAX_ORD + 1 },
		  IB_QP_MAX_QP_RD_ATOMIC, -EINVAL },
		{ { .cap = { .max_send_wr = 3, .max_recv_wr = 5, .max_send_sge = 1 },
		    .qp_state = IB_QPS_RESET }, IB_QP_STATE, 0 },
	};
	struct ib_qp_attr attr;
	struct wq wq;
	u32 i;

	make_wq(test, &wq, DEPTH, NULL);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		expect_sizes(test, &wq, DEPTH, DEPTH);
		attr = rows[i].attr;
		KUNIT_EXPECT_EQ_MSG(test, rows[i].err,
				    srnic_verbs_ops.modify_qp(&wq.qp->ibqp, &attr,
							      rows[i].mask | IB_QP_CAP, NULL),
				    "row %u", i);
	}
	/* the caller is told what there is now */
	KUNIT_EXPECT_EQ(test, attr.cap.max_send_wr, 4);
	KUNIT_EXPECT_EQ(test, attr.cap.max_recv_wr, 8);
	expect_sizes(test, &wq, 4, 8);
	KUNIT_EXPECT_EQ(test, resize(&wq, SRNIC_MAX_QP_WR, SRNIC_MAX_QP_WR), 0);
	expect_sizes(test, &wq, SRNIC_MAX_QP_WR, SRNIC_MAX_QP_WR);
	/* not in Error (QP-20) */
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(wq.qp, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_EQ(test, resize(&wq, DEPTH, DEPTH), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(wq.qp, SRNIC_QP_IDLE), 0);
	KUNIT_EXPECT_EQ(test, resize(&wq, DEPTH, DEPTH), 0);
	srnic_qp_destroy(wq.qp);
}

/* The RQ of a QP with an SRQ is not its own; its SQ is */
static void with_an_srq(struct kunit *test)
{
	struct ib_srq_attr srq_attr = { .max_wr = DEPTH, .max_sge = 1 };
	struct srnic_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct wq wq;

	KUNIT_ASSERT_NOT_NULL(test, srq);
	KUNIT_ASSERT_EQ(test, srnic_srq_create(srq, &srq_attr, NULL), 0);
	make_wq(test, &wq, DEPTH, srq);
	KUNIT_ASSERT_EQ(test, send(&wq, 7), 0);
	KUNIT_EXPECT_EQ(test, resize(&wq, 64, 1), -EINVAL);
	expect_sizes(test, &wq, DEPTH, 0);
	KUNIT_EXPECT_EQ(test, resize(&wq, 64, 0), 0);
	expect_sizes(test, &wq, 64, 0);
	fetch(test, &wq, 7);
	srnic_qp_destroy(wq.qp);
	srnic_srq_destroy(srq);
}

static int commit(struct wq *wq, u32 send_wr, u32 recv_wr)
{
	const struct ib_qp_cap cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr };

	return srnic_wq_resize_commit(wq->qp, &cap);
}

static int prepare(struct wq *wq, u32 send_wr, u32 recv_wr)
{
	const struct ib_qp_cap cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr };

	return srnic_wq_resize_prepare(wq->qp, &cap, NULL, NULL);
}

static void steps(struct kunit *test)
{
	struct srnic_ring_hdr *hdr;
	struct wq wq;

	make_wq(test, &wq, DEPTH, NULL);
	hdr = wq.qp->sq.hdr;
	KUNIT_ASSERT_EQ(test, send(&wq, 0), 0);
	/* commit needs a prepare of the same sizes */
	KUNIT_EXPECT_EQ(test, commit(&wq, 8, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, prepare(&wq, 16, 32), 0);
	KUNIT_EXPECT_EQ(test, commit(&wq, 16, 16), -EINVAL);
	KUNIT_EXPECT_EQ(test, commit(&wq, 32, 32), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, wq.qp->sq.hdr, hdr);
	srnic_wq_resize_cancel(wq.qp);
	srnic_wq_resize_cancel(wq.qp);
	KUNIT_EXPECT_EQ(test, commit(&wq, 16, 32), -EINVAL);
	/* the last prepare counts; WRs posted between the two steps are moved */
	KUNIT_EXPECT_EQ(test, prepare(&wq, 64, 64), 0);
	KUNIT_EXPECT_EQ(test, prepare(&wq, 2, 4), 0);
	KUNIT_ASSERT_EQ(test, send(&wq, 1), 0);
	KUNIT_ASSERT_EQ(test, recv(&wq, 2), 0);
	KUNIT_EXPECT_EQ(test, commit(&wq, 64, 64), -EINVAL);
	KUNIT_EXPECT_EQ(test, commit(&wq, 2, 4), 0);
	KUNIT_EXPECT_EQ(test, commit(&wq, 2, 4), -EINVAL);
	expect_sizes(test, &wq, 2, 4);
	fetch(test, &wq, 0);
	fetch(test, &wq, 1);
	take(test, &wq, 2);
	/* unused new rings are freed with the QP; kmemleak would report them */
	KUNIT_EXPECT_EQ(test, prepare(&wq, 4, 4), 0);
	srnic_qp_destroy(wq.qp);
}

/* WRs that were moved are flushed, the one in error with its own status, each once (ST-34) */
static void flushed_after_the_move(struct kunit *test)
{
	struct wq wq;
	u32 i;

	make_wq(test, &wq, DEPTH, NULL);
	for (i = 0; i < 6; i++) {
		KUNIT_ASSERT_EQ(test, send(&wq, i), 0);
		KUNIT_ASSERT_EQ(test, recv(&wq, 100 + i), 0);
	}
	for (i = 0; i < 4; i++)
		fetch(test, &wq, i);
	srnic_sq_done(wq.qp, NEAR + 1, SRNIC_WC_BOUNDS);
	KUNIT_EXPECT_EQ(test, resize(&wq, 64, 64), 0);
	srnic_sq_done(wq.qp, NEAR, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(wq.qp, SRNIC_QP_ERROR), 0);
	fake_expect_wc(test, wq.scq, 0, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 1, SRNIC_WC_BOUNDS);
	for (i = 2; i < 6; i++)
		fake_expect_wc(test, wq.scq, i, SRNIC_WC_FLUSHED);
	for (i = 0; i < 6; i++)
		fake_expect_wc(test, wq.rcq, 100 + i, SRNIC_WC_FLUSHED);
	fake_expect_no_wc(test, wq.scq);
	fake_expect_no_wc(test, wq.rcq);
	srnic_qp_destroy(wq.qp);
}

/* Whether a post rings the doorbell is the same before and after */
static void doorbells_get_over(struct kunit *test)
{
	struct wq wq;
	u32 i;

	make_wq(test, &wq, DEPTH, NULL);
	for (i = 0; i < 4; i++) {
		srnic_sq_set_wakeup(wq.qp, i & 1);
		if (i & 2)
			srnic_rq_await(wq.qp);
		/* what a program writes there is not looked at */
		wq.qp->sq.hdr->flags ^= 0xdeadbeef;
		KUNIT_EXPECT_EQ(test, resize(&wq, DEPTH << (i & 1), DEPTH), 0);
		KUNIT_EXPECT_EQ(test, wq.qp->sq.hdr->flags, i & 1 ? SRNIC_RING_NEED_WAKEUP : 0);
		KUNIT_EXPECT_EQ(test, wq.qp->rq.hdr->flags, i & 2 ? SRNIC_RING_NEED_WAKEUP : 0);
		if (i & 2)
			srnic_rq_await_end(wq.qp);
	}
	srnic_qp_destroy(wq.qp);
}

/* A program's producer index is not trusted; a resize with an impossible one changes nothing */
static void user_producer(struct kunit *test)
{
	static const struct {
		u32 producer;
		u32 size;
		int err;
	} rows[] = {
		/* a ring of 8; from NEAR on 2 WRs are in progress, behind them more are posted */
		{ NEAR + 2, 2, 0 }, { NEAR + 5, 5, 0 }, { NEAR + 8, 8, 0 },
		{ NEAR + 5, 4, -EINVAL }, { NEAR + 2, 1, -EINVAL }, { NEAR + 1, 8, -EINVAL },
		{ NEAR + 9, 64, -EINVAL }, { NEAR - 1, 64, -EINVAL },
		{ NEAR + 0x80000000, 64, -EINVAL }, { 0x12345678, 16384, -EINVAL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_ring_hdr *sq, *rq;
		struct wq wq;

		make_wq(test, &wq, DEPTH, NULL);
		KUNIT_ASSERT_EQ(test, send(&wq, 0), 0);
		KUNIT_ASSERT_EQ(test, send(&wq, 1), 0);
		fetch(test, &wq, 0);
		fetch(test, &wq, 1);
		sq = wq.qp->sq.hdr;
		rq = wq.qp->rq.hdr;
		sq->producer = rows[i].producer;
		rq->producer = NEAR;
		wq.qp->kernel = false;
		KUNIT_EXPECT_EQ_MSG(test, prepare(&wq, rows[i].size, 4), 0, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, commit(&wq, rows[i].size, 4), rows[i].err, "row %u", i);
		KUNIT_EXPECT_EQ(test, wq.qp->sq_fetched, NEAR + 2);
		if (rows[i].err) {
			KUNIT_EXPECT_PTR_EQ(test, wq.qp->sq.hdr, sq);
			KUNIT_EXPECT_PTR_EQ(test, wq.qp->rq.hdr, rq);
		} else {
			KUNIT_EXPECT_EQ(test, wq.qp->sq.hdr->producer, rows[i].producer);
			KUNIT_EXPECT_EQ(test, wq.qp->rq.hdr->producer, NEAR);
		}
		/* nothing impossible is flushed */
		wq.qp->sq.hdr->producer = NEAR + 2;
		srnic_qp_destroy(wq.qp);
	}
}

#define ROUNDS	20000

/* Resizes, as fast as it can */
static int resizer(void *arg)
{
	struct wq *wq = arg;
	u32 n = 0;

	while (!kthread_should_stop()) {
		if (resize(wq, n & 1 ? 8 : 64, n & 2 ? 8 : 256))
			break;
		n++;
		cond_resched();
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return n;
}

/* WRs are posted, executed and completed all the time (QP-21) */
static void under_load(struct kunit *test)
{
	struct task_struct *task;
	struct wq wq;
	u32 i;

	make_wq(test, &wq, DEPTH, NULL);
	task = kthread_run(resizer, &wq, "srnic-resizer");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	for (i = 0; i < ROUNDS + 6; i++) {
		/* 6 are outstanding */
		if (i < ROUNDS) {
			KUNIT_EXPECT_EQ(test, send(&wq, i), 0);
			KUNIT_EXPECT_EQ(test, recv(&wq, i), 0);
		}
		if (i >= 3 && i < ROUNDS + 3)
			fetch(test, &wq, i - 3);
		if (i >= 6) {
			srnic_sq_done(wq.qp, NEAR + i - 6, SRNIC_WC_SUCCESS);
			fake_expect_wc(test, wq.scq, i - 6, SRNIC_WC_SUCCESS);
			take(test, &wq, i - 6);
			fake_expect_wc(test, wq.rcq, i - 6, SRNIC_WC_SUCCESS);
		}
		/* the resizer's turn, where there is one CPU */
		if (i % 1000 == 999)
			schedule_timeout_uninterruptible(1);
	}
	/* none of the resizes has failed, and there were some */
	KUNIT_EXPECT_GT(test, kthread_stop(task), 3);
	fake_expect_no_wc(test, wq.scq);
	fake_expect_no_wc(test, wq.rcq);
	srnic_qp_destroy(wq.qp);
}

static struct kunit_case wq_resize_cases[] = {
	KUNIT_CASE(nothing_is_lost),
	KUNIT_CASE(too_small),
	KUNIT_CASE(limits),
	KUNIT_CASE(with_an_srq),
	KUNIT_CASE(steps),
	KUNIT_CASE(flushed_after_the_move),
	KUNIT_CASE(doorbells_get_over),
	KUNIT_CASE(user_producer),
	KUNIT_CASE(under_load),
	{}
};

static struct kunit_suite wq_resize_suite = {
	.name = "srnic-wq-resize",
	.test_cases = wq_resize_cases,
};

kunit_test_suite(wq_resize_suite);
