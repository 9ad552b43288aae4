// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wq.c: completion in order, once each; receive WQEs written by a user. */
#include <kunit/test.h>
#include "fake.h"
#include "queue/cq.h"
#include "queue/sqe.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "verbs/verbs.h"

#define DEPTH	8

/* A QP without a stream, and the WR fetched from its SQ last */
struct wq {
	struct srnic_device *dev;
	struct fake_cq *scq, *rcq;
	struct srnic_qp *qp;
	struct srnic_fetched wr;
};

static void make_wq_deep(struct kunit *test, struct wq *wq, u32 depth)
{
	struct ib_qp_init_attr init = {
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = depth, .max_recv_wr = depth, .max_send_sge = 1,
			.max_recv_sge = 2,
		},
	};

	wq->dev = fake_device(test);
	wq->scq = fake_cq(test, wq->dev, max(depth, 64U));
	wq->rcq = fake_cq(test, wq->dev, max(depth, 64U));
	wq->qp = fake_qp_memory(test, wq->dev);
	fake_qp_create(test, wq->qp, &init, wq->scq, wq->rcq);
	wq->wr.data = kunit_kzalloc(test, max_t(size_t, wq->qp->max_inline,
						sizeof(struct srnic_sge)), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wq->wr.data);
}

static void make_wq(struct kunit *test, struct wq *wq)
{
	make_wq_deep(test, wq, DEPTH);
}

static void end_wq(struct wq *wq)
{
	srnic_qp_destroy(wq->qp);
}

/* Post @count WRs of no length, wr_id @first and up, and fetch them */
static void start_op(struct kunit *test, struct wq *wq, enum ib_wr_opcode op, u64 first,
		     u32 count, int send_flags)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct ib_rdma_wr wr = {
			.wr = { .wr_id = first + i, .opcode = op, .send_flags = send_flags },
		};
		const struct ib_send_wr *bad;
		enum srnic_wc_status status;
		int err;

		err = srnic_verbs_ops.post_send(&wq->qp->ibqp, &wr.wr, &bad);
		KUNIT_ASSERT_EQ(test, err, 0);
		KUNIT_ASSERT_EQ(test, srnic_sqe_fetch(wq->qp, &wq->wr, &status), 1);
	}
}

static void start(struct kunit *test, struct wq *wq, u64 first, u32 count, int send_flags)
{
	start_op(test, wq, IB_WR_RDMA_WRITE, first, count, send_flags);
}

/* A completed WR waits for those before it, as a Write behind a Read (ORD-15) */
static void in_order(struct kunit *test)
{
	struct wq wq;

	make_wq(test, &wq);
	start(test, &wq, 10, 4, IB_SEND_SIGNALED);
	srnic_sq_done(wq.qp, 1, SRNIC_WC_SUCCESS);
	srnic_sq_done(wq.qp, 2, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	KUNIT_EXPECT_FALSE(test, srnic_sq_empty(wq.qp));
	srnic_sq_done(wq.qp, 0, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 10, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 11, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 12, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_done(wq.qp, 3, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 13, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, srnic_sq_empty(wq.qp));
	end_wq(&wq);
}

/* An unsignaled success gives no completion; a signaled one still does (N4) */
static void unsignaled(struct kunit *test)
{
	struct wq wq;

	make_wq(test, &wq);
	start(test, &wq, 0, 3, 0);
	start(test, &wq, 3, 1, IB_SEND_SIGNALED);
	srnic_sq_done(wq.qp, 0, SRNIC_WC_SUCCESS);
	srnic_sq_done(wq.qp, 1, SRNIC_WC_SUCCESS);
	srnic_sq_done(wq.qp, 2, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_done(wq.qp, 3, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 3, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	end_wq(&wq);
}

/* Kinds of Sends, and of Reads, are told apart, flushed ones, too (CP-02) */
static void kinds(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode op;
		int flags;
		u32 opcode;
		u32 cqe_flags;
	} rows[] = {
		{ IB_WR_SEND, 0, SRNIC_OP_SEND, 0 },
		{ IB_WR_SEND, IB_SEND_SOLICITED, SRNIC_OP_SEND, SRNIC_CQE_SOLICITED },
		{ IB_WR_SEND_WITH_INV, 0, SRNIC_OP_SEND_INV, 0 },
		{ IB_WR_SEND_WITH_INV, IB_SEND_SOLICITED, SRNIC_OP_SEND_INV, SRNIC_CQE_SOLICITED },
		{ IB_WR_RDMA_READ, 0, SRNIC_OP_READ, 0 },
		{ IB_WR_RDMA_READ_WITH_INV, 0, SRNIC_OP_READ_INV, 0 },
	};
	struct srnic_cqe cqe;
	struct wq wq;
	u32 i, flush;

	make_wq(test, &wq);
	for (flush = 0; flush < 2; flush++) {
		for (i = 0; i < ARRAY_SIZE(rows); i++)
			start_op(test, &wq, rows[i].op, i, 1, rows[i].flags | IB_SEND_SIGNALED);
		for (i = 0; i < ARRAY_SIZE(rows) && !flush; i++)
			srnic_sq_done(wq.qp, i, SRNIC_WC_SUCCESS);
		if (flush)
			srnic_sq_flush(wq.qp);
		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			KUNIT_ASSERT_EQ(test, srnic_cq_poll(&wq.scq->cq, &cqe), 1);
			KUNIT_EXPECT_EQ(test, cqe.wr_id, i);
			KUNIT_EXPECT_EQ(test, cqe.vendor_err,
					flush ? SRNIC_WC_FLUSHED : SRNIC_WC_SUCCESS);
			KUNIT_EXPECT_EQ_MSG(test, cqe.opcode, rows[i].opcode, "row %u", i);
			KUNIT_EXPECT_EQ_MSG(test, cqe.flags, rows[i].cqe_flags, "row %u", i);
		}
	}
	end_wq(&wq);
}

/* One WR completes with an error, in its place among the flushed ones (ST-34, ST-35, WR-24) */
static void one_error(struct kunit *test)
{
	struct wq wq;

	make_wq(test, &wq);
	start(test, &wq, 0, 1, 0);
	start(test, &wq, 1, 1, IB_SEND_SIGNALED);
	start(test, &wq, 2, 3, 0);
	srnic_sq_done(wq.qp, 0, SRNIC_WC_SUCCESS);
	srnic_sq_done(wq.qp, 3, SRNIC_WC_SUCCESS);
	srnic_sq_done(wq.qp, 2, SRNIC_WC_BOUNDS);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_flush(wq.qp);
	fake_expect_wc(test, wq.scq, 1, SRNIC_WC_FLUSHED);
	fake_expect_wc(test, wq.scq, 2, SRNIC_WC_BOUNDS);
	fake_expect_wc(test, wq.scq, 3, SRNIC_WC_FLUSHED);
	fake_expect_wc(test, wq.scq, 4, SRNIC_WC_FLUSHED);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_flush(wq.qp);
	fake_expect_no_wc(test, wq.scq);
	KUNIT_EXPECT_TRUE(test, srnic_sq_empty(wq.qp));
	end_wq(&wq);
}

/* Behind an error no WR succeeds, even if it was done before (WR-24) */
static void error_at_head(struct kunit *test)
{
	struct wq wq;

	make_wq(test, &wq);
	start(test, &wq, 0, 3, IB_SEND_SIGNALED);
	srnic_sq_done(wq.qp, 1, SRNIC_WC_SUCCESS);
	srnic_sq_done(wq.qp, 0, SRNIC_WC_INVALID_STAG);
	srnic_sq_done(wq.qp, 2, SRNIC_WC_SUCCESS);
	srnic_sq_flush(wq.qp);
	fake_expect_wc(test, wq.scq, 0, SRNIC_WC_INVALID_STAG);
	fake_expect_wc(test, wq.scq, 1, SRNIC_WC_FLUSHED);
	fake_expect_wc(test, wq.scq, 2, SRNIC_WC_FLUSHED);
	fake_expect_no_wc(test, wq.scq);
	end_wq(&wq);
}

/* ORD-15: a WR is done once TCP has it, except a Read or an atomic, which awaits its response */
static void sent_with_reads(struct kunit *test)
{
	struct wq wq;

	make_wq(test, &wq);
	start(test, &wq, 0, 2, IB_SEND_SIGNALED);
	start_op(test, &wq, IB_WR_RDMA_READ, 2, 1, IB_SEND_SIGNALED);
	start(test, &wq, 3, 1, IB_SEND_SIGNALED);
	start_op(test, &wq, IB_WR_RDMA_READ, 4, 1, 0);
	start(test, &wq, 5, 3, IB_SEND_SIGNALED);
	/* an empty range completes nothing; a range completes nothing behind it */
	srnic_sq_sent(wq.qp, 0, 0);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_sent(wq.qp, 0, 7);
	fake_expect_wc(test, wq.scq, 0, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 1, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	/* the responses in the wrong order, as from no peer: completions stay in order */
	srnic_sq_done(wq.qp, 4, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_done(wq.qp, 2, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 2, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 3, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 5, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 6, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_sent(wq.qp, 7, 8);
	fake_expect_wc(test, wq.scq, 7, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, srnic_sq_empty(wq.qp));
	end_wq(&wq);
}

/* WR-24: a WR in error keeps its status, and none behind it succeeds */
static void sent_with_an_error(struct kunit *test)
{
	struct wq wq;

	make_wq(test, &wq);
	start(test, &wq, 0, 1, IB_SEND_SIGNALED);
	start_op(test, &wq, IB_WR_RDMA_READ, 1, 1, IB_SEND_SIGNALED);
	start(test, &wq, 2, 4, IB_SEND_SIGNALED);
	srnic_sq_done(wq.qp, 3, SRNIC_WC_BOUNDS);
	srnic_sq_sent(wq.qp, 0, 6);
	fake_expect_wc(test, wq.scq, 0, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_done(wq.qp, 1, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 1, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 2, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_flush(wq.qp);
	fake_expect_wc(test, wq.scq, 3, SRNIC_WC_BOUNDS);
	fake_expect_wc(test, wq.scq, 4, SRNIC_WC_FLUSHED);
	fake_expect_wc(test, wq.scq, 5, SRNIC_WC_FLUSHED);
	fake_expect_no_wc(test, wq.scq);
	end_wq(&wq);
}

/*
 * A Read can be answered before srnic_sq_sent() is called for its range: TCP has it, and the peer
 * is fast. Its slot then holds another WR, of which TCP has nothing.
 */
static void sent_after_the_answer(struct kunit *test)
{
	u32 near = 0xfffffffd, i;
	struct wq wq;

	make_wq(test, &wq);
	wq.qp->sq_posted = near;
	wq.qp->sq_freed = near;
	wq.qp->sq_fetched = near;
	wq.qp->sq_completed = near;
	start_op(test, &wq, IB_WR_RDMA_READ, 0, 1, IB_SEND_SIGNALED);
	start(test, &wq, 1, DEPTH - 1, IB_SEND_SIGNALED);
	srnic_sq_done(wq.qp, near, SRNIC_WC_SUCCESS);
	fake_expect_wc(test, wq.scq, 0, SRNIC_WC_SUCCESS);
	srnic_qp_polled(wq.dev, &(struct srnic_cqe){
		.qpn = wq.qp->ibqp.qp_num, .wqe_index = near,
	});
	start(test, &wq, DEPTH, 1, IB_SEND_SIGNALED);
	srnic_sq_sent(wq.qp, near, near + DEPTH);
	for (i = 1; i < DEPTH; i++)
		fake_expect_wc(test, wq.scq, i, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	srnic_sq_sent(wq.qp, near + DEPTH, near + DEPTH + 1);
	fake_expect_wc(test, wq.scq, DEPTH, SRNIC_WC_SUCCESS);
	end_wq(&wq);
}

/* After Error and Idle all slots are free, also those that no completion has freed (ST-37) */
static void restart_frees_slots(struct kunit *test)
{
	struct wq wq;
	u32 i;

	make_wq(test, &wq);
	start(test, &wq, 0, 5, 0);
	for (i = 0; i < 5; i++)
		srnic_sq_done(wq.qp, i, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(wq.qp, SRNIC_QP_ERROR), 0);
	fake_expect_no_wc(test, wq.scq);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(wq.qp, SRNIC_QP_IDLE), 0);
	start(test, &wq, 100, DEPTH, IB_SEND_SIGNALED);
	for (i = 0; i < DEPTH; i++) {
		srnic_sq_done(wq.qp, 5 + i, SRNIC_WC_SUCCESS);
		fake_expect_wc(test, wq.scq, 100 + i, SRNIC_WC_SUCCESS);
	}
	end_wq(&wq);
}

/* Many times around the ring, across 2^32 */
static void indices_wrap(struct kunit *test)
{
	u32 near = 0xfffffffb, i, index;
	struct wq wq;

	make_wq(test, &wq);
	wq.qp->sq_posted = near;
	wq.qp->sq_freed = near;
	wq.qp->sq_fetched = near;
	wq.qp->sq_completed = near;
	for (i = 0; i < 5 * DEPTH; i += DEPTH) {
		start(test, &wq, i, DEPTH, IB_SEND_SIGNALED);
		for (index = 0; index < DEPTH; index++)
			srnic_sq_done(wq.qp, near + i + index, SRNIC_WC_SUCCESS);
		for (index = 0; index < DEPTH; index++)
			fake_expect_wc(test, wq.scq, i + index, SRNIC_WC_SUCCESS);
	}
	fake_expect_no_wc(test, wq.scq);
	end_wq(&wq);
}

/* As a provider posts a receive */
static void post_rqe(struct wq *wq, u64 wr_id, u32 num_sge, u32 first, u32 second)
{
	struct srnic_ring_hdr *hdr = wq->qp->rq.hdr;
	struct srnic_rqe *rqe = srnic_ring_slot(&wq->qp->rq, hdr->producer);
	struct srnic_sge *sge = (struct srnic_sge *)(rqe + 1);

	*rqe = (struct srnic_rqe){ .wr_id = wr_id, .num_sge = num_sge };
	sge[0] = (struct srnic_sge){ .addr = 0x1000, .length = first, .lkey = 1 };
	sge[1] = (struct srnic_sge){ .addr = 0x2000, .length = second, .lkey = 2 };
	hdr->producer++;
}

/* Receive WQEs are taken oldest first, checked, and complete one by one */
static void receives(struct kunit *test)
{
	static const struct {
		u32 num_sge, first, second;
		int want;
		u64 length;
	} rows[] = {
		{ 0, 5, 5, 0, 0 },
		{ 1, 5, 5, 0, 5 },
		{ 2, 5, 6, 0, 11 },
		{ 2, 0x7fffffff, 0x80000000, 0, 0xffffffff },
		{ 2, 0x80000000, 0x80000000, -EINVAL, 0 },	/* WR-19 */
		{ 3, 5, 5, -EINVAL, 0 },
		{ 0xffffffff, 5, 5, -EINVAL, 0 },
		{ 0x80000000, 5, 5, -EINVAL, 0 },
	};
	struct srnic_rwr *rwr;
	struct wq wq;
	u32 i;

	make_wq(test, &wq);
	wq.qp->kernel = false;
	rwr = kunit_kzalloc(test, struct_size(rwr, sge, 2), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rwr);
	KUNIT_EXPECT_EQ(test, srnic_rq_take(wq.qp, rwr), -EAGAIN);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		post_rqe(&wq, i, rows[i].num_sge, rows[i].first, rows[i].second);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_cqe cqe = { .byte_len = i };

		KUNIT_EXPECT_EQ_MSG(test, srnic_rq_take(wq.qp, rwr), rows[i].want,
				    "row %u", i);
		KUNIT_EXPECT_EQ(test, rwr->wr_id, i);
		KUNIT_EXPECT_EQ(test, rwr->index, i);
		if (!rows[i].want) {
			KUNIT_EXPECT_EQ_MSG(test, rwr->num_sge, rows[i].num_sge, "row %u",
					    i);
			KUNIT_EXPECT_EQ_MSG(test, rwr->length, rows[i].length, "row %u", i);
		}
		/* a malformed WQE does not give more SGEs than there is room for, either */
		KUNIT_EXPECT_LE(test, rwr->num_sge, 2);
		srnic_rq_complete(wq.qp, rwr, &cqe, rows[i].want ? SRNIC_WC_INVALID_WQE :
								    SRNIC_WC_SUCCESS);
		fake_expect_wc(test, wq.rcq, i, rows[i].want ? SRNIC_WC_INVALID_WQE :
							  SRNIC_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, srnic_rq_take(wq.qp, rwr), -EAGAIN);
	wq.qp->rq.hdr->producer += DEPTH + 1;
	KUNIT_EXPECT_EQ(test, srnic_rq_take(wq.qp, rwr), -EPROTO);
	wq.qp->kernel = true;
	end_wq(&wq);
}

/* A reserved word of an RQE that is not zero makes it malformed */
static void receive_reserved(struct kunit *test)
{
	struct srnic_rwr *rwr;
	struct srnic_rqe *rqe;
	struct wq wq;

	make_wq(test, &wq);
	wq.qp->kernel = false;
	rwr = kunit_kzalloc(test, struct_size(rwr, sge, 2), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rwr);
	post_rqe(&wq, 7, 1, 5, 0);
	rqe = srnic_ring_slot(&wq.qp->rq, 0);
	rqe->reserved = 1;
	KUNIT_EXPECT_EQ(test, srnic_rq_take(wq.qp, rwr), -EINVAL);
	KUNIT_EXPECT_EQ(test, rwr->wr_id, 7);
	KUNIT_EXPECT_EQ(test, rwr->num_sge, 0);
	KUNIT_EXPECT_EQ(test, rwr->length, 0);
	wq.qp->kernel = true;
	end_wq(&wq);
}

/* WQEs taken and not taken: each completes or is flushed, none twice */
static void receives_flushed(struct kunit *test)
{
	struct srnic_cqe cqe = { };
	struct srnic_rwr *rwr;
	struct wq wq;
	u32 i;

	make_wq(test, &wq);
	wq.qp->kernel = false;
	rwr = kunit_kzalloc(test, struct_size(rwr, sge, 2), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rwr);
	/* a malformed one is flushed like any other */
	for (i = 0; i < 4; i++)
		post_rqe(&wq, i, i == 2 ? 99 : 1, 1, 1);
	KUNIT_EXPECT_EQ(test, srnic_rq_take(wq.qp, rwr), 0);
	srnic_rq_complete(wq.qp, rwr, &cqe, SRNIC_WC_FLUSHED);
	srnic_rq_flush(wq.qp);
	for (i = 0; i < 4; i++)
		fake_expect_wc(test, wq.rcq, i, SRNIC_WC_FLUSHED);
	fake_expect_no_wc(test, wq.rcq);
	KUNIT_EXPECT_EQ(test, srnic_rq_take(wq.qp, rwr), -EAGAIN);
	wq.qp->kernel = true;
	end_wq(&wq);
}

static void fill_cq(struct kunit *test, struct fake_cq *fake)
{
	u32 seen = 0;

	while (fake->cq.producer - fake->cq.consumer != fake->cq.ring.entries)
		KUNIT_ASSERT_EQ(test, 0, srnic_cq_add(&fake->cq, &(struct srnic_cqe){ },
						      SRNIC_WC_SUCCESS, &seen));
}

/* A full CQ ends the QP that adds a CQE; the event tells which queue's CQ it was (E-29) */
static void cq_overflow(struct kunit *test)
{
	u32 rq;

	for (rq = 0; rq < 2; rq++) {
		struct srnic_cqe cqe = { };
		struct srnic_rwr rwr = { };
		struct wq wq;

		make_wq(test, &wq);
		wq.qp->state = SRNIC_QP_RTS;
		fill_cq(test, rq ? wq.rcq : wq.scq);
		start(test, &wq, 1, 1, IB_SEND_SIGNALED);
		srnic_sq_done(wq.qp, 0, SRNIC_WC_SUCCESS);
		srnic_rq_complete(wq.qp, &rwr, &cqe, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wq.qp->state, SRNIC_QP_TERMINATE);
		KUNIT_EXPECT_EQ(test, srnic_event_of(wq.qp->error),
				rq ? SRNIC_EV_CQ_RQ : SRNIC_EV_CQ_SQ);
		KUNIT_EXPECT_EQ(test, wq.scq->errors, !rq);
		KUNIT_EXPECT_EQ(test, wq.rcq->errors, rq);
		wq.qp->state = SRNIC_QP_ERROR;
		end_wq(&wq);
	}
}

#define MANY	1000

/* A consumer that requests the next notification in each handler call */
static struct flush_watch {
	struct srnic_qp *qp;
	struct fake_cq *cq;
	u32 last;		/* producer of the CQ when it was notified last */
	u32 most;		/* completions between two notifications */
	bool doorbell;		/* the handler posts at once: a flush within the flush */
	bool disabled;		/* interrupts were off */
} watch;

static void watch_flush(struct ib_cq *ibcq, void *context)
{
	struct srnic_cq *cq = &watch.cq->cq;

	watch.most = max(watch.most, cq->producer - watch.last);
	watch.last = cq->producer;
	watch.disabled |= irqs_disabled();
	srnic_cq_arm(cq, SRNIC_ARM_NEXT, false);
	if (watch.doorbell) {
		watch.doorbell = false;
		srnic_qp_doorbell(watch.qp);
	}
}

static void watch_cq(struct wq *wq, struct fake_cq *cq, bool doorbell)
{
	watch = (struct flush_watch){ .qp = wq->qp, .cq = cq, .doorbell = doorbell };
	cq->cq.ibcq.comp_handler = watch_flush;
	srnic_cq_arm(&cq->cq, SRNIC_ARM_NEXT, false);
}

/*
 * Half of the SQ fetched, half not; and the RQ. Each WR is flushed once, in order (ST-34, ORD-15)
 */
static void flush_many(struct kunit *test, bool doorbell)
{
	struct ib_rdma_wr wr = { .wr = { .opcode = IB_WR_RDMA_WRITE } };
	struct ib_recv_wr recv = { };
	const struct ib_recv_wr *bad_recv;
	const struct ib_send_wr *bad;
	struct wq wq;
	u32 i;

	make_wq_deep(test, &wq, MANY);
	start(test, &wq, 0, MANY / 2, 0);
	for (wr.wr.wr_id = MANY / 2; wr.wr.wr_id < MANY; wr.wr.wr_id++)
		KUNIT_ASSERT_EQ(test, 0, srnic_verbs_ops.post_send(&wq.qp->ibqp, &wr.wr, &bad));
	for (recv.wr_id = 0; recv.wr_id < MANY; recv.wr_id++)
		KUNIT_ASSERT_EQ(test, 0, srnic_verbs_ops.post_recv(&wq.qp->ibqp, &recv,
								   &bad_recv));
	watch_cq(&wq, wq.scq, doorbell);
	srnic_sq_flush(wq.qp);
	KUNIT_EXPECT_LE(test, watch.most, 64);
	KUNIT_EXPECT_FALSE(test, watch.disabled);
	watch_cq(&wq, wq.rcq, doorbell);
	srnic_rq_flush(wq.qp);
	KUNIT_EXPECT_LE(test, watch.most, 64);
	KUNIT_EXPECT_FALSE(test, watch.disabled);
	for (i = 0; i < MANY; i++) {
		fake_expect_wc(test, wq.scq, i, SRNIC_WC_FLUSHED);
		fake_expect_wc(test, wq.rcq, i, SRNIC_WC_FLUSHED);
	}
	fake_expect_no_wc(test, wq.scq);
	fake_expect_no_wc(test, wq.rcq);
	KUNIT_EXPECT_TRUE(test, srnic_sq_empty(wq.qp));
	end_wq(&wq);
}

/* A flush enables interrupts, and notifies, after some of the WRs */
static void flush_in_batches(struct kunit *test)
{
	flush_many(test, false);
}

/* Of two concurrent flushes each continues where the other is */
static void flush_within_a_flush(struct kunit *test)
{
	flush_many(test, true);
}

/* A long range completes in batches as well, whatever WRs it has */
static void sent_in_batches(struct kunit *test)
{
	struct wq wq;
	u32 i;

	make_wq_deep(test, &wq, MANY);
	for (i = 0; i < MANY; i++)
		start_op(test, &wq, i % 100 == 99 ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE, i, 1,
			 IB_SEND_SIGNALED);
	for (i = 99; i < MANY; i += 100)
		srnic_sq_done(wq.qp, i, SRNIC_WC_SUCCESS);
	watch_cq(&wq, wq.scq, false);
	srnic_sq_sent(wq.qp, 0, MANY);
	KUNIT_EXPECT_GT(test, watch.most, 0);
	KUNIT_EXPECT_LE(test, watch.most, 65);
	KUNIT_EXPECT_FALSE(test, watch.disabled);
	for (i = 0; i < MANY; i++)
		fake_expect_wc(test, wq.scq, i, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq.scq);
	end_wq(&wq);
}

static void expect_batches(struct kunit *test, struct wq *wq)
{
	u32 i;

	KUNIT_EXPECT_GT(test, watch.most, 0);
	KUNIT_EXPECT_LE(test, watch.most, 64);
	KUNIT_EXPECT_FALSE(test, watch.disabled);
	for (i = 0; i < MANY; i++)
		fake_expect_wc(test, wq->scq, i, SRNIC_WC_SUCCESS);
	fake_expect_no_wc(test, wq->scq);
	KUNIT_EXPECT_TRUE(test, srnic_sq_empty(wq->qp));
	end_wq(wq);
}

/* So do the WRs that a peer has held up, until it answers the Read before them */
static void answered_in_batches(struct kunit *test)
{
	struct wq wq;

	make_wq_deep(test, &wq, MANY);
	start_op(test, &wq, IB_WR_RDMA_READ, 0, 1, IB_SEND_SIGNALED);
	start(test, &wq, 1, MANY - 1, IB_SEND_SIGNALED);
	srnic_sq_sent(wq.qp, 0, MANY);
	fake_expect_no_wc(test, wq.scq);
	watch_cq(&wq, wq.scq, false);
	srnic_sq_done(wq.qp, 0, SRNIC_WC_SUCCESS);
	expect_batches(test, &wq);
}

/* ... or until it acknowledges a message; not all behind it need be messages */
static void acked_in_batches(struct kunit *test)
{
	struct wq wq;

	make_wq_deep(test, &wq, MANY);
	wq.qp->acks = true;
	start(test, &wq, 0, 1, IB_SEND_SIGNALED);
	start_op(test, &wq, IB_WR_LOCAL_INV, 1, MANY / 2, IB_SEND_SIGNALED);
	start(test, &wq, 1 + MANY / 2, MANY / 2 - 1, IB_SEND_SIGNALED);
	srnic_sq_sent(wq.qp, 0, MANY);
	fake_expect_no_wc(test, wq.scq);
	watch_cq(&wq, wq.scq, false);
	srnic_sq_acked(wq.qp, MANY / 2);
	expect_batches(test, &wq);
}

static struct kunit_case wq_cases[] = {
	KUNIT_CASE(in_order),
	KUNIT_CASE(unsignaled),
	KUNIT_CASE(kinds),
	KUNIT_CASE(one_error),
	KUNIT_CASE(error_at_head),
	KUNIT_CASE(sent_with_reads),
	KUNIT_CASE(sent_with_an_error),
	KUNIT_CASE(sent_after_the_answer),
	KUNIT_CASE(restart_frees_slots),
	KUNIT_CASE(indices_wrap),
	KUNIT_CASE(receives),
	KUNIT_CASE(receive_reserved),
	KUNIT_CASE(receives_flushed),
	KUNIT_CASE(cq_overflow),
	KUNIT_CASE(flush_in_batches),
	KUNIT_CASE(flush_within_a_flush),
	KUNIT_CASE(sent_in_batches),
	KUNIT_CASE(answered_in_batches),
	KUNIT_CASE(acked_in_batches),
	{}
};

static struct kunit_suite wq_suite = {
	.name = "srnic-wq",
	.test_cases = wq_cases,
};

kunit_test_suite(wq_suite);
