// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* qp.c, wq.c: the transition table, and a QP's life without a stream. */
#include <kunit/test.h>
#include "fake.h"
#include "queue/sqe.h"
#include "queue/wq.h"
#include "verbs/verbs.h"

#define MODIFY	SRNIC_QP_BY_MODIFY
#define ATTACH	SRNIC_QP_BY_ATTACH
#define ITSELF	SRNIC_QP_BY_ITSELF
#define FORCE	SRNIC_QP_BY_FORCE

/*
 * RDMAC verbs 6.2, once more: rows from, columns to Idle, RTS, Closing, Terminate, Error. A QP
 * enters RTS when a stream is attached. The RDMAC verbs refuse Modify to Error in Closing and
 * Terminate (ST-31, ST-49); here it is allowed with force, since Linux drains queues that way.
 * For the same reason Modify from Error to Error is no error.
 */
static const u8 want[5][5] = {
	/* Idle: ST-05, ST-06, ST-07, ST-13 */
	{ MODIFY, ATTACH, 0, 0, MODIFY },
	/* RTS: ST-15, ST-16, ST-17 and ST-19, ST-18 and ST-21, ST-25 and ST-26 */
	{ 0, MODIFY, MODIFY | ITSELF, MODIFY | ITSELF, MODIFY | ITSELF },
	/* Closing: ST-48, ST-49, ST-43 to ST-46 */
	{ ITSELF, 0, 0, 0, ITSELF | FORCE },
	/* Terminate: ST-31, ST-32 */
	{ 0, 0, 0, 0, ITSELF | FORCE },
	/* Error: ST-37, ST-38 */
	{ MODIFY, 0, 0, 0, MODIFY },
};

static void transition_table(struct kunit *test)
{
	static const u8 by[] = { MODIFY, ATTACH, ITSELF, FORCE };
	u32 from, to, i;

	for (from = 0; from < 5; from++)
		for (to = 0; to < 5; to++)
			for (i = 0; i < ARRAY_SIZE(by); i++)
				KUNIT_EXPECT_EQ_MSG(test, !!(want[from][to] & by[i]),
						    srnic_qp_transition_ok(from, to, by[i]),
						    "%s to %s by %u",
						    srnic_qp_state_name(from),
						    srnic_qp_state_name(to), by[i]);
}

static void transition_by_several(struct kunit *test)
{
	u32 from, to, by;

	for (from = 0; from < 5; from++)
		for (to = 0; to < 5; to++)
			for (by = 0; by < 16; by++)
				KUNIT_EXPECT_EQ(test, !!(want[from][to] & by),
						srnic_qp_transition_ok(from, to, by));
}

static void state_names(struct kunit *test)
{
	KUNIT_EXPECT_STREQ(test, srnic_qp_state_name(SRNIC_QP_IDLE), "Idle");
	KUNIT_EXPECT_STREQ(test, srnic_qp_state_name(SRNIC_QP_RTS), "RTS");
	KUNIT_EXPECT_STREQ(test, srnic_qp_state_name(SRNIC_QP_CLOSING), "Closing");
	KUNIT_EXPECT_STREQ(test, srnic_qp_state_name(SRNIC_QP_TERMINATE), "Terminate");
	KUNIT_EXPECT_STREQ(test, srnic_qp_state_name(SRNIC_QP_ERROR), "Error");
	KUNIT_EXPECT_STREQ(test, srnic_qp_state_name(99), "?");
}

/* A QP of a kernel consumer and its two CQs */
struct pair {
	struct srnic_device *dev;
	struct fake_cq *scq, *rcq;
	struct srnic_qp *qp;
};

static void make_qp_sges(struct kunit *test, struct pair *p, u32 depth, u32 max_write_sge)
{
	struct ib_qp_init_attr init = {
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.cap = {
			.max_send_wr = depth, .max_recv_wr = depth,
			.max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64,
		},
	};

	p->dev = fake_device(test);
	p->scq = fake_cq(test, p->dev, 64);
	p->rcq = fake_cq(test, p->dev, 64);
	p->qp = fake_qp_memory(test, p->dev);
	p->qp->max_write_sge = max_write_sge;
	fake_qp_create(test, p->qp, &init, p->scq, p->rcq);
}

static void make_qp(struct kunit *test, struct pair *p, u32 depth)
{
	make_qp_sges(test, p, depth, 0);
}

static int post_send(struct pair *p, u64 wr_id, int flags)
{
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = wr_id, .opcode = IB_WR_RDMA_WRITE, .send_flags = flags },
	};
	const struct ib_send_wr *bad;

	return srnic_verbs_ops.post_send(&p->qp->ibqp, &wr.wr, &bad);
}

static int post_recv(struct pair *p, u64 wr_id)
{
	struct ib_recv_wr wr = { .wr_id = wr_id };
	const struct ib_recv_wr *bad;

	return srnic_verbs_ops.post_recv(&p->qp->ibqp, &wr, &bad);
}

/* The next @count completions are flushes, wr_id @first and up, and then there are none */
static void expect_flushed(struct kunit *test, struct fake_cq *fake, u64 first, u32 count)
{
	struct srnic_cqe cqe;
	u32 i;

	for (i = 0; i < count; i++) {
		KUNIT_ASSERT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
		KUNIT_EXPECT_EQ(test, cqe.wr_id, first + i);
		KUNIT_EXPECT_EQ(test, cqe.status, IB_WC_WR_FLUSH_ERR);
		KUNIT_EXPECT_EQ(test, cqe.vendor_err, SRNIC_WC_FLUSHED);
	}
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 0);
}

/*
 * In Idle posted WRs stay in the queues; in Error each is flushed once, and so is each later one
 */
static void idle_error_idle(struct kunit *test)
{
	struct pair p;
	u32 i;

	make_qp(test, &p, 8);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(p.qp), SRNIC_QP_IDLE);

	/* ST-03 */
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, post_send(&p, 100 + i, i % 2 ? IB_SEND_SIGNALED : 0), 0);
		KUNIT_EXPECT_EQ(test, post_recv(&p, 200 + i), 0);
	}
	expect_flushed(test, p.scq, 0, 0);
	expect_flushed(test, p.rcq, 0, 0);

	/* ST-13, ST-34; unsignaled WRs complete, too (WR-24) */
	srnic_cq_arm(&p.scq->cq, SRNIC_ARM_SOLICITED, false);
	srnic_cq_arm(&p.rcq->cq, SRNIC_ARM_NEXT, false);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(p.qp), SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, p.scq->notified, 1);
	KUNIT_EXPECT_EQ(test, p.rcq->notified, 1);
	expect_flushed(test, p.scq, 100, 4);
	expect_flushed(test, p.rcq, 200, 4);

	/* ST-36 */
	for (i = 0; i < 20; i++) {
		KUNIT_EXPECT_EQ(test, post_send(&p, 300 + i, 0), 0);
		KUNIT_EXPECT_EQ(test, post_recv(&p, 400 + i), 0);
		expect_flushed(test, p.scq, 300 + i, 1);
		expect_flushed(test, p.rcq, 400 + i, 1);
	}

	/* ST-37, then as new (ST-39) */
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_IDLE), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(p.qp), SRNIC_QP_IDLE);
	for (i = 0; i < 8; i++) {
		KUNIT_EXPECT_EQ(test, post_send(&p, 500 + i, 0), 0);
		KUNIT_EXPECT_EQ(test, post_recv(&p, 600 + i), 0);
	}
	expect_flushed(test, p.scq, 0, 0);
	expect_flushed(test, p.rcq, 0, 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_ERROR), 0);
	expect_flushed(test, p.scq, 500, 8);
	expect_flushed(test, p.rcq, 600, 8);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_ERROR), 0);
	expect_flushed(test, p.scq, 0, 0);
	srnic_qp_destroy(p.qp);
}

/* A refused Modify changes nothing (QP-17) */
static void modify_refused(struct kunit *test)
{
	static const enum srnic_qp_state from_idle[] = {
		SRNIC_QP_RTS, SRNIC_QP_CLOSING, SRNIC_QP_TERMINATE,
	};
	struct pair p;
	u32 i;

	make_qp(test, &p, 8);
	post_send(&p, 1, IB_SEND_SIGNALED);
	post_recv(&p, 2);
	for (i = 0; i < ARRAY_SIZE(from_idle); i++) {
		KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, from_idle[i]), -EINVAL);
		KUNIT_EXPECT_EQ(test, srnic_qp_state(p.qp), SRNIC_QP_IDLE);
	}
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_IDLE), 0);
	expect_flushed(test, p.scq, 0, 0);

	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_ERROR), 0);
	for (i = 0; i < ARRAY_SIZE(from_idle); i++) {
		KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, from_idle[i]), -EINVAL);
		KUNIT_EXPECT_EQ(test, srnic_qp_state(p.qp), SRNIC_QP_ERROR);
	}
	expect_flushed(test, p.scq, 1, 1);
	expect_flushed(test, p.rcq, 2, 1);
	KUNIT_EXPECT_FALSE(test, p.qp->term_valid);
	srnic_qp_destroy(p.qp);
}

/* A slot is free once its completion was polled, not before (WR-04) */
static void queue_full(struct kunit *test)
{
	struct srnic_cqe cqe;
	struct pair p;
	u32 i;

	make_qp(test, &p, 4);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, post_send(&p, i, IB_SEND_SIGNALED), 0);
		KUNIT_EXPECT_EQ(test, post_recv(&p, i), 0);
	}
	KUNIT_EXPECT_EQ(test, post_send(&p, 4, IB_SEND_SIGNALED), -ENOMEM);
	KUNIT_EXPECT_EQ(test, post_recv(&p, 4), -ENOMEM);
	srnic_qp_modify(p.qp, SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, post_send(&p, 4, IB_SEND_SIGNALED), -ENOMEM);
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&p.scq->cq, &cqe), 1);
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&p.rcq->cq, &cqe), 1);
	KUNIT_EXPECT_EQ(test, post_send(&p, 4, IB_SEND_SIGNALED), 0);
	KUNIT_EXPECT_EQ(test, post_send(&p, 5, IB_SEND_SIGNALED), -ENOMEM);
	KUNIT_EXPECT_EQ(test, post_recv(&p, 4), 0);
	KUNIT_EXPECT_EQ(test, post_recv(&p, 5), -ENOMEM);
	expect_flushed(test, p.scq, 1, 4);
	expect_flushed(test, p.rcq, 1, 4);
	srnic_qp_destroy(p.qp);
}

/* In one list the WRs before the bad one are posted, the rest are not */
static void post_list(struct kunit *test)
{
	struct ib_rdma_wr wr[4] = { };
	const struct ib_send_wr *bad = NULL;
	struct pair p;
	u32 i;

	make_qp(test, &p, 8);
	for (i = 0; i < 4; i++) {
		wr[i].wr.wr_id = i;
		wr[i].wr.opcode = i == 2 ? IB_WR_SEND_WITH_IMM : IB_WR_RDMA_WRITE;
		wr[i].wr.next = i < 3 ? &wr[i + 1].wr : NULL;
	}
	KUNIT_EXPECT_NE(test, 0, srnic_verbs_ops.post_send(&p.qp->ibqp, &wr[0].wr, &bad));
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr[2].wr);
	srnic_qp_modify(p.qp, SRNIC_QP_ERROR);
	expect_flushed(test, p.scq, 0, 2);

	bad = NULL;
	wr[0].wr.next = NULL;
	wr[0].wr.num_sge = 3;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			srnic_verbs_ops.post_send(&p.qp->ibqp, &wr[0].wr, &bad));
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_send_wr *)&wr[0].wr);
	srnic_qp_destroy(p.qp);
}

/* Destroyed in any state with WRs outstanding; no completion is left (QP-27, QP-30) */
static void destroy_with_work(struct kunit *test)
{
	u32 error;

	for (error = 0; error < 2; error++) {
		struct srnic_cqe cqe;
		struct pair p;

		make_qp(test, &p, 8);
		post_send(&p, 1, IB_SEND_SIGNALED);
		post_recv(&p, 2);
		if (error)
			srnic_qp_modify(p.qp, SRNIC_QP_ERROR);
		post_send(&p, 3, IB_SEND_SIGNALED);
		KUNIT_EXPECT_EQ(test, srnic_held(p.dev, SRNIC_KIND_QP), 1);
		srnic_qp_destroy(p.qp);
		KUNIT_EXPECT_EQ(test, srnic_held(p.dev, SRNIC_KIND_QP), 0);
		KUNIT_EXPECT_TRUE(test, xa_empty(&p.dev->qps));
		KUNIT_EXPECT_EQ(test, srnic_cq_poll(&p.scq->cq, &cqe), 0);
		KUNIT_EXPECT_EQ(test, srnic_cq_poll(&p.rcq->cq, &cqe), 0);
	}
}

static void create_limits(struct kunit *test)
{
	static const struct {
		u32 swr, rwr, ssge, rsge, inl;
		int err;
	} rows[] = {
		{ 1, 1, 1, 1, 0, 0 },
		{ 0, 0, 0, 0, 0, 0 },
		{ 3, 17, 1, 1, 0, 0 },
		{ 17, 3, 1, 1, 0, 0 },
		{ SRNIC_MAX_QP_WR, 1, 1, 1, 0, 0 },
		{ SRNIC_MAX_QP_WR + 1, 1, 1, 1, 0, -EINVAL },
		{ 1, SRNIC_MAX_QP_WR, 1, 1, 0, 0 },
		{ 1, SRNIC_MAX_QP_WR + 1, 1, 1, 0, -EINVAL },
		{ 1, 1, SRNIC_MAX_SGE, SRNIC_MAX_SGE, SRNIC_MAX_INLINE, 0 },
		{ 1, 1, SRNIC_MAX_SGE + 1, 1, 0, -EINVAL },
		{ 1, 1, 1, SRNIC_MAX_SGE + 1, 0, -EINVAL },
		{ 1, 1, 1, 1, SRNIC_MAX_INLINE + 1, -EINVAL },
		{ 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, -EINVAL },
	};
	struct srnic_device *dev = fake_device(test);
	struct fake_cq *cq = fake_cq(test, dev, 4);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_qp *qp = fake_qp_memory(test, dev);
		struct ib_qp_init_attr init = {
			.send_cq = &cq->cq.ibcq, .recv_cq = &cq->cq.ibcq,
			.cap = {
				.max_send_wr = rows[i].swr, .max_recv_wr = rows[i].rwr,
				.max_send_sge = rows[i].ssge, .max_recv_sge = rows[i].rsge,
				.max_inline_data = rows[i].inl,
			},
		};

		KUNIT_EXPECT_EQ_MSG(test, srnic_qp_create(qp, dev, &init, NULL),
				    rows[i].err, "row %u", i);
		KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_QP), rows[i].err ? 0 : 1);
		if (rows[i].err)
			continue;
		KUNIT_EXPECT_GE(test, init.cap.max_send_wr, rows[i].swr);
		KUNIT_EXPECT_GE(test, init.cap.max_recv_wr, rows[i].rwr);
		/* QP-02: what is returned is what there is, of each queue by itself */
		KUNIT_EXPECT_EQ_MSG(test, init.cap.max_send_wr, qp->sq.entries, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, init.cap.max_recv_wr, qp->rq.entries, "row %u", i);
		srnic_qp_destroy(qp);
	}
	atomic_long_set(&dev->held_kernel[SRNIC_KIND_QP], SRNIC_MAX_QP);
	{
		struct srnic_qp *qp = fake_qp_memory(test, dev);
		struct ib_qp_init_attr init = {
			.send_cq = &cq->cq.ibcq, .recv_cq = &cq->cq.ibcq,
		};

		KUNIT_EXPECT_EQ(test, srnic_qp_create(qp, dev, &init, NULL), -ENOMEM);
	}
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_QP), SRNIC_MAX_QP);
}

/* A QP is found by its number while it exists, and a reference is taken */
static void find(struct kunit *test)
{
	struct pair p;
	u32 qpn;

	make_qp(test, &p, 1);
	qpn = p.qp->ibqp.qp_num;
	KUNIT_EXPECT_NE(test, qpn, 0);
	KUNIT_EXPECT_PTR_EQ(test, srnic_qp_find(p.dev, qpn), p.qp);
	srnic_qp_put(p.qp);
	KUNIT_EXPECT_PTR_EQ(test, srnic_qp_find(p.dev, qpn + 1), NULL);
	KUNIT_EXPECT_PTR_EQ(test, srnic_qp_find(p.dev, 0), NULL);
	srnic_qp_destroy(p.qp);
	KUNIT_EXPECT_PTR_EQ(test, srnic_qp_find(p.dev, qpn), NULL);
}

static u32 aborted;

static void count_abort(void *priv)
{
	(*(u32 *)priv)++;
}

static const struct srnic_llp_ops llp_ops = { .abort = count_abort };
static const struct srnic_llp_ops other_ops = { .abort = count_abort };

/* One connection at a time; entering Error during set-up aborts it, once */
static void one_claim_at_a_time(struct kunit *test)
{
	struct pair p;
	u32 other = 0;

	aborted = 0;
	make_qp(test, &p, 1);
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p.qp, &llp_ops, &aborted), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p.qp, &other_ops, &other), -EBUSY);
	srnic_qp_unclaim(p.qp, &other);		/* not the owner of the claim */
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p.qp, &other_ops, &other), -EBUSY);
	srnic_qp_unclaim(p.qp, &aborted);
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p.qp, &other_ops, &other), 0);
	srnic_qp_unclaim(p.qp, &other);
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p.qp, &llp_ops, &aborted), 0);

	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_EQ(test, aborted, 1);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_EQ(test, aborted, 1);
	KUNIT_EXPECT_EQ(test, other, 0);
	/* ST-37: refused until the claim is given up */
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_IDLE), -EBUSY);
	srnic_qp_unclaim(p.qp, &aborted);
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p.qp, &llp_ops, &aborted), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_IDLE), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p.qp, &llp_ops, &aborted), 0);
	srnic_qp_unclaim(p.qp, &aborted);
	srnic_qp_destroy(p.qp);
}

/* To the core a UD QP stays in Idle; its SQ has a consumer all the same */
static void a_ud_qp_has_no_connection(struct kunit *test)
{
	struct pair p;

	aborted = 0;
	make_qp(test, &p, 1);
	p.qp->ibqp.qp_type = IB_QPT_UD;
	KUNIT_EXPECT_EQ(test, srnic_qp_claim(p.qp, &llp_ops, &aborted), -EINVAL);
	srnic_qp_destroy(p.qp);
	KUNIT_EXPECT_EQ(test, aborted, 0);
}

/* A user's producer index is not trusted: the kernel reads no slot that was not posted */
static void user_producer(struct kunit *test)
{
	static const u32 wild[] = { 9, 0x7fffffff, 0x80000000, 0xffffffff };
	struct pair p;
	u32 i;

	make_qp(test, &p, 8);
	p.qp->kernel = false;
	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		p.qp->sq.hdr->producer = wild[i];
		p.qp->rq.hdr->producer = wild[i];
		KUNIT_EXPECT_EQ(test, srnic_sq_pending(p.qp), -EPROTO);
		KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_ERROR), 0);
		expect_flushed(test, p.scq, 0, 0);
		expect_flushed(test, p.rcq, 0, 0);
		KUNIT_EXPECT_EQ(test, srnic_qp_modify(p.qp, SRNIC_QP_IDLE), 0);
	}
	KUNIT_EXPECT_EQ(test, 2 * ARRAY_SIZE(wild),
			srnic_counter(p.dev, SRNIC_CNT_RING_CORRUPT));
	srnic_qp_destroy(p.qp);
}

static int post_sges(struct pair *p, enum ib_wr_opcode op, int num)
{
	static struct ib_sge sges[SRNIC_MAX_SGE + 1];
	struct ib_rdma_wr wr = {
		.wr = { .opcode = op, .sg_list = sges, .num_sge = num },
	};
	const struct ib_send_wr *bad;

	return srnic_verbs_ops.post_send(&p->qp->ibqp, &wr.wr, &bad);
}

/* The limit of SGEs of a Write is apart from that of other WRs, which is 2 here (QP-05) */
static void write_sges(struct kunit *test)
{
	static const u32 limits[] = { 0, 1, 5, SRNIC_MAX_SGE };
	struct srnic_fetched wr = { };
	enum srnic_wc_status status;
	struct pair p;
	u32 i, j, max;

	wr.data = kunit_kzalloc(test, SRNIC_MAX_SGE * sizeof(struct srnic_sge), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, wr.data);
	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		max = limits[i] ?: 2;
		make_qp_sges(test, &p, 8, limits[i]);
		KUNIT_EXPECT_EQ(test, p.qp->max_write_sge, max);
		KUNIT_EXPECT_EQ(test, post_sges(&p, IB_WR_SEND, 3), -EINVAL);
		KUNIT_EXPECT_EQ(test, post_sges(&p, IB_WR_RDMA_READ, 3), -EINVAL);
		KUNIT_EXPECT_EQ(test, post_sges(&p, IB_WR_RDMA_WRITE, max + 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, post_sges(&p, IB_WR_SEND, 2), 0);
		KUNIT_EXPECT_EQ(test, post_sges(&p, IB_WR_RDMA_READ, 2), 0);
		KUNIT_EXPECT_EQ(test, post_sges(&p, IB_WR_RDMA_WRITE, max), 0);
		for (j = 0; j < 3; j++) {
			KUNIT_ASSERT_EQ(test, srnic_sqe_fetch(p.qp, &wr, &status), 1);
			KUNIT_EXPECT_EQ_MSG(test, status, SRNIC_WC_SUCCESS, "limit %u, WR %u", max,
					    j);
		}
		KUNIT_EXPECT_EQ(test, wr.sqe.num_sge, max);
		srnic_qp_destroy(p.qp);
	}
}

static struct kunit_case qp_cases[] = {
	KUNIT_CASE(transition_table),
	KUNIT_CASE(transition_by_several),
	KUNIT_CASE(state_names),
	KUNIT_CASE(idle_error_idle),
	KUNIT_CASE(modify_refused),
	KUNIT_CASE(queue_full),
	KUNIT_CASE(post_list),
	KUNIT_CASE(destroy_with_work),
	KUNIT_CASE(create_limits),
	KUNIT_CASE(find),
	KUNIT_CASE(one_claim_at_a_time),
	KUNIT_CASE(a_ud_qp_has_no_connection),
	KUNIT_CASE(user_producer),
	KUNIT_CASE(write_sges),
	{}
};

static struct kunit_suite qp_suite = {
	.name = "srnic-qp",
	.test_cases = qp_cases,
};

kunit_test_suite(qp_suite);
