// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* srq.c: the limit, the count, resizing, and hostile contents of the ring. */
#include <kunit/test.h>
#include "fake.h"
#include "queue/srq.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "verbs/verbs.h"

#define DEPTH	8
#define SGES	3

/* An SRQ of a kernel consumer, a QP on it, and counts of its events */
struct fixture {
	struct srnic_device *dev;
	struct fake_cq *cq;
	struct srnic_srq *srq;
	struct srnic_qp *qp;
	struct srnic_rwr *rwr;
	struct ib_pd *pd;
	u32 limits;
	u32 catastrophes;
	u32 last_wqes;
};

static void srq_event(struct ib_event *event, void *context)
{
	struct fixture *f = context;

	if (event->element.srq != &f->srq->ibsrq)
		return;
	f->limits += event->event == IB_EVENT_SRQ_LIMIT_REACHED;
	f->catastrophes += event->event == IB_EVENT_SRQ_ERR;
}

static void qp_event(struct ib_event *event, void *context)
{
	struct fixture *f = context;

	f->last_wqes += event->event == IB_EVENT_QP_LAST_WQE_REACHED;
}

static struct srnic_qp *make_qp(struct kunit *test, struct fixture *f)
{
	struct ib_qp_init_attr init = {
		.send_cq = &f->cq->cq.ibcq,
		.recv_cq = &f->cq->cq.ibcq,
		.srq = &f->srq->ibsrq,
		/* attributes that an SRQ makes meaningless are ignored (QP-12) */
		.cap = { .max_send_wr = 1, .max_send_sge = 1, .max_recv_wr = 0xffffffff,
			 .max_recv_sge = 0xffffffff },
	};
	struct srnic_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->ibqp.device = &f->dev->ibdev;
	qp->ibqp.pd = fake_pd(test, f->dev);
	qp->ibqp.event_handler = qp_event;
	qp->ibqp.qp_context = f;
	KUNIT_ASSERT_EQ(test, srnic_qp_create(qp, f->dev, &init, NULL), 0);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_wr, 0);
	KUNIT_EXPECT_EQ(test, init.cap.max_recv_sge, 0);
	return qp;
}

static struct fixture *make(struct kunit *test, u32 limit)
{
	struct ib_srq_attr attr = { .max_wr = DEPTH, .max_sge = SGES, .srq_limit = limit };
	struct fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	f->dev = fake_device(test);
	f->cq = fake_cq(test, f->dev, 4 * DEPTH);
	f->srq = kunit_kzalloc(test, sizeof(*f->srq), GFP_KERNEL);
	f->rwr = kunit_kzalloc(test, struct_size(f->rwr, sge, SGES), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->srq);
	KUNIT_ASSERT_NOT_NULL(test, f->rwr);
	f->pd = fake_pd(test, f->dev);
	f->srq->ibsrq.device = &f->dev->ibdev;
	f->srq->ibsrq.pd = f->pd;
	f->srq->ibsrq.event_handler = srq_event;
	f->srq->ibsrq.srq_context = f;
	KUNIT_ASSERT_EQ(test, srnic_srq_create(f->srq, &attr, NULL), 0);
	KUNIT_ASSERT_EQ(test, attr.max_wr, DEPTH);
	f->qp = make_qp(test, f);
	return f;
}

static void end(struct fixture *f)
{
	srnic_qp_destroy(f->qp);
	srnic_srq_destroy(f->srq);
}

static int post(struct fixture *f, u64 wr_id)
{
	struct ib_sge sge = { .addr = wr_id, .length = 5, .lkey = 7 };
	struct ib_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	const struct ib_recv_wr *bad = NULL;
	int err = srnic_verbs_ops.post_srq_recv(&f->srq->ibsrq, &wr, &bad);

	return err && bad != &wr ? -EPROTO : err;
}

static void post_many(struct kunit *test, struct fixture *f, u64 first, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		KUNIT_ASSERT_EQ(test, post(f, first + i), 0);
}

static void take(struct kunit *test, struct fixture *f, struct srnic_qp *qp, u64 want)
{
	KUNIT_ASSERT_EQ(test, srnic_rq_take(qp, f->rwr), 0);
	KUNIT_EXPECT_EQ(test, f->rwr->wr_id, want);
	KUNIT_EXPECT_EQ(test, f->rwr->num_sge, 1);
	KUNIT_EXPECT_EQ(test, f->rwr->sge[0].addr, want);
	KUNIT_EXPECT_EQ(test, f->rwr->length, 5);
}

static void complete_wr(struct fixture *f, struct srnic_qp *qp)
{
	struct srnic_cqe cqe = { };

	srnic_rq_complete(qp, f->rwr, &cqe, SRNIC_WC_SUCCESS);
}

static void poll(struct kunit *test, struct fixture *f, u64 want)
{
	struct srnic_cqe cqe;

	KUNIT_ASSERT_EQ(test, srnic_cq_poll(&f->cq->cq, &cqe), 1);
	KUNIT_EXPECT_EQ(test, cqe.wr_id, want);
}

/* SR-06, SR-14 */
static void create_limits(struct kunit *test)
{
	static const struct {
		struct ib_srq_attr in;
		int want;
		u32 max_wr;
	} rows[] = {
		{ { 1, 1, 0 }, 0, 1 },
		{ { 5, 1, 0 }, 0, 8 },
		{ { 5, 1, 5 }, 0, 8 },
		{ { 5, 1, 6 }, -EINVAL },
		{ { 0, 0, 0 }, 0, 1 },
		{ { SRNIC_MAX_SRQ_WR, 1, 0 }, 0, SRNIC_MAX_SRQ_WR },
		{ { SRNIC_MAX_SRQ_WR + 1, 1, 0 }, -EINVAL },
		{ { 0xffffffff, 1, 0 }, -EINVAL },
		{ { 1, SRNIC_MAX_SGE, 0 }, 0, 1 },
		{ { 1, SRNIC_MAX_SGE + 1, 0 }, -EINVAL },
		{ { 1, 0xffffffff, 0 }, -EINVAL },
		{ { 1, 1, 0xffffffff }, -EINVAL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_srq srq = { };
		struct ib_srq_attr attr = rows[i].in;
		int err = srnic_srq_create(&srq, &attr, NULL);

		KUNIT_EXPECT_EQ_MSG(test, err, rows[i].want, "row %u", i);
		if (err)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, attr.max_wr, rows[i].max_wr, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, attr.max_sge, rows[i].in.max_sge, "row %u", i);
		srnic_srq_destroy(&srq);
	}
}

/* A WQE counts until its completion was polled, in any order (SR-13, SR-14) */
static void counted_until_polled(struct kunit *test)
{
	struct fixture *f = make(test, 0);
	struct srnic_qp *other = make_qp(test, f);
	struct srnic_rwr *held;
	u32 i;

	post_many(test, f, 0, DEPTH);
	KUNIT_EXPECT_EQ(test, post(f, 99), -ENOMEM);
	/* a long message takes the oldest WQE */
	take(test, f, f->qp, 0);
	held = kunit_kzalloc(test, struct_size(held, sge, SGES), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, held);
	memcpy(held, f->rwr, struct_size(held, sge, SGES));
	for (i = 1; i < DEPTH; i++) {
		take(test, f, other, i);
		complete_wr(f, other);
	}
	KUNIT_EXPECT_EQ(test, srnic_rq_take(other, f->rwr), -EAGAIN);
	KUNIT_EXPECT_EQ(test, post(f, 99), -ENOMEM);
	/* each polled completion frees a slot at once, though the oldest WQE is still in use */
	for (i = 1; i < DEPTH; i++) {
		poll(test, f, i);
		KUNIT_EXPECT_EQ(test, post(f, 100 + i), 0);
		KUNIT_EXPECT_EQ(test, post(f, 99), -ENOMEM);
	}
	memcpy(f->rwr, held, struct_size(held, sge, SGES));
	complete_wr(f, f->qp);
	KUNIT_EXPECT_EQ(test, post(f, 99), -ENOMEM);
	poll(test, f, 0);
	KUNIT_EXPECT_EQ(test, post(f, 100 + DEPTH), 0);
	for (i = 1; i <= DEPTH; i++)
		take(test, f, f->qp, 100 + i);
	srnic_qp_destroy(other);
	end(f);
}

/* Destroying a QP frees the slots of its unpolled completions, each once (SR-13, QP-30) */
static void purge_gives_back(struct kunit *test)
{
	struct fixture *f = make(test, 0);
	struct srnic_qp *other = make_qp(test, f);
	struct srnic_cqe cqe;
	u32 i;

	post_many(test, f, 0, DEPTH);
	for (i = 0; i < DEPTH; i++) {
		struct srnic_qp *qp = i < 3 ? other : f->qp;

		take(test, f, qp, i);
		complete_wr(f, qp);
	}
	srnic_qp_destroy(other);
	post_many(test, f, 100, 3);
	KUNIT_EXPECT_EQ(test, post(f, 99), -ENOMEM);
	for (i = 3; i < DEPTH; i++)
		poll(test, f, i);
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&f->cq->cq, &cqe), 0);
	post_many(test, f, 200, DEPTH - 3);
	KUNIT_EXPECT_EQ(test, post(f, 99), -ENOMEM);
	end(f);
}

/* A completion lost by an overflowed CQ frees its SRQ slot all the same */
static void overflow_gives_back(struct kunit *test)
{
	struct fixture *f = make(test, 0);
	u32 i;

	f->cq->cq.overflowed = true;
	for (i = 0; i < 3 * DEPTH; i++) {
		KUNIT_ASSERT_EQ(test, post(f, i), 0);
		take(test, f, f->qp, i);
		complete_wr(f, f->qp);
	}
	/* in a user's ring the field "lost" counts it */
	f->srq->kernel = false;
	srnic_srq_lose(f->srq);
	KUNIT_EXPECT_EQ(test, f->srq->ring.hdr->lost, 1);
	f->srq->kernel = true;
	end(f);
}

/* One event for each arm, when fewer than the limit are left (SR-25) */
static void limit_once(struct kunit *test)
{
	struct ib_srq_attr attr = { .srq_limit = 3 };
	struct fixture *f = make(test, 3);
	u32 i;

	KUNIT_EXPECT_EQ(test, f->limits, 0);
	post_many(test, f, 0, 5);
	KUNIT_EXPECT_EQ(test, f->limits, 0);
	for (i = 0; i < 2; i++)
		take(test, f, f->qp, i);
	KUNIT_EXPECT_EQ_MSG(test, f->limits, 0, "as many as the limit are left");
	srnic_srq_query(f->srq, &attr);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 3);
	take(test, f, f->qp, 2);
	KUNIT_EXPECT_EQ(test, f->limits, 1);
	srnic_srq_query(f->srq, &attr);
	KUNIT_EXPECT_EQ_MSG(test, attr.srq_limit, 0, "not armed any more");
	/* fewer again: no event without an arm */
	for (i = 0; i < 3; i++) {
		complete_wr(f, f->qp);
		poll(test, f, 2);
	}
	post_many(test, f, 5, 3);
	for (i = 3; i < 8; i++)
		take(test, f, f->qp, i);
	KUNIT_EXPECT_EQ(test, f->limits, 1);
	KUNIT_EXPECT_EQ(test, srnic_rq_take(f->qp, f->rwr), -EAGAIN);
	KUNIT_EXPECT_EQ(test, f->limits, 1);
	end(f);
}

static void rearm(struct kunit *test)
{
	struct ib_srq_attr attr = { .srq_limit = 2 };
	struct fixture *f = make(test, 1);

	post_many(test, f, 0, 6);
	/* an armed one can be armed again, with another limit */
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_LIMIT, NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_LIMIT, NULL), 0);
	take(test, f, f->qp, 0);
	take(test, f, f->qp, 1);
	take(test, f, f->qp, 2);
	take(test, f, f->qp, 3);
	KUNIT_EXPECT_EQ(test, f->limits, 0);
	take(test, f, f->qp, 4);
	KUNIT_EXPECT_EQ(test, f->limits, 1);
	/* armed below the limit: the event comes with the next WQE taken */
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_LIMIT, NULL), 0);
	KUNIT_EXPECT_EQ(test, f->limits, 1);
	take(test, f, f->qp, 5);
	KUNIT_EXPECT_EQ(test, f->limits, 2);
	/* 0 disarms; a limit above the size is an error that changes nothing */
	attr.srq_limit = DEPTH;
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_LIMIT, NULL), 0);
	attr.srq_limit = DEPTH + 1;
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_LIMIT, NULL), -EINVAL);
	srnic_srq_query(f->srq, &attr);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, DEPTH);
	attr.srq_limit = 0;
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_LIMIT, NULL), 0);
	KUNIT_EXPECT_EQ(test, post(f, 6), 0);
	take(test, f, f->qp, 6);
	KUNIT_EXPECT_EQ(test, f->limits, 2);
	end(f);
}

static void set_index(struct fixture *f, u32 index)
{
	f->srq->posted = index;
	f->srq->taken = index;
	atomic_set(&f->srq->polled, index);
}

/* WQEs are moved, whatever the indices are (SR-08) */
static void resize(struct kunit *test)
{
	static const u32 starts[] = { 0, 3, 7, 0xfffffffa, 0xffffffff };
	u32 s, i;

	for (s = 0; s < ARRAY_SIZE(starts); s++) {
		struct ib_srq_attr attr = { .max_wr = 100 };
		struct fixture *f = make(test, 0);

		set_index(f, starts[s]);
		post_many(test, f, 0, DEPTH);
		take(test, f, f->qp, 0);
		KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL),
				0);
		KUNIT_EXPECT_EQ(test, attr.max_wr, 128);
		post_many(test, f, DEPTH, 128 - DEPTH);
		KUNIT_EXPECT_EQ(test, post(f, 99), -ENOMEM);
		/* more than are copied at a time */
		attr.max_wr = 200;
		KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL),
				0);
		for (i = 1; i < 126; i++) {
			take(test, f, f->qp, i);
			complete_wr(f, f->qp);
			if (i % 16 == 0)
				while (i - f->cq->cq.consumer)
					poll(test, f, f->cq->cq.consumer + 1);
		}
		while (f->cq->cq.consumer < 125)
			poll(test, f, f->cq->cq.consumer + 1);
		/* of 128 posted 125 were polled: no less than 3 */
		attr.max_wr = 2;
		KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL),
				-EINVAL);
		srnic_srq_query(f->srq, &attr);
		KUNIT_EXPECT_EQ(test, attr.max_wr, 256);
		attr.max_wr = 3;
		KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL),
				0);
		KUNIT_EXPECT_EQ(test, attr.max_wr, 4);
		KUNIT_EXPECT_EQ(test, post(f, 128), 0);
		KUNIT_EXPECT_EQ(test, post(f, 99), -ENOMEM);
		for (i = 126; i < 129; i++)
			take(test, f, f->qp, i);
		KUNIT_EXPECT_EQ(test, srnic_rq_take(f->qp, f->rwr), -EAGAIN);
		end(f);
	}
}

/* No size below an armed limit; size and limit in one call are checked together (SR-09, IE-01) */
static void resize_and_limit(struct kunit *test)
{
	struct ib_srq_attr attr = { .max_wr = 4 };
	struct fixture *f = make(test, 5);
	u32 both = IB_SRQ_MAX_WR | IB_SRQ_LIMIT;

	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL), -EINVAL);
	attr = (struct ib_srq_attr){ .max_wr = 16, .srq_limit = 17 };
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, both, NULL), -EINVAL);
	attr = (struct ib_srq_attr){ .max_wr = SRNIC_MAX_SRQ_WR + 1, .srq_limit = 1 };
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, both, NULL), -EINVAL);
	srnic_srq_query(f->srq, &attr);
	KUNIT_EXPECT_EQ(test, attr.max_wr, DEPTH);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 5);
	attr = (struct ib_srq_attr){ .max_wr = 4, .srq_limit = 4 };
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, both, NULL), 0);
	srnic_srq_query(f->srq, &attr);
	KUNIT_EXPECT_EQ(test, attr.max_wr, 4);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 4);
	attr = (struct ib_srq_attr){ .max_wr = 2, .srq_limit = 0 };
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, both, NULL), 0);
	srnic_srq_query(f->srq, &attr);
	KUNIT_EXPECT_EQ(test, attr.max_wr, 2);
	KUNIT_EXPECT_EQ(test, attr.srq_limit, 0);
	end(f);
}

/* As a provider posts */
static void user_post(struct fixture *f, u64 wr_id, u32 num_sge)
{
	struct srnic_ring_hdr *hdr = f->srq->ring.hdr;
	struct srnic_rqe *rqe = srnic_ring_slot(&f->srq->ring, hdr->producer);

	*rqe = (struct srnic_rqe){ .wr_id = wr_id, .num_sge = num_sge };
	*(struct srnic_sge *)(rqe + 1) = (struct srnic_sge){ .addr = wr_id, .length = 5 };
	hdr->producer++;
}

/* Once taken, a WQE in the ring is not read again; a bad one does not affect others */
static void user_wqes(struct kunit *test)
{
	struct fixture *f = make(test, 0);

	f->srq->kernel = false;
	user_post(f, 1, 1);
	user_post(f, 2, SGES + 1);
	user_post(f, 3, 0xffffffff);
	user_post(f, 4, 1);
	take(test, f, f->qp, 1);
	memset(srnic_ring_slot(&f->srq->ring, 0), 0xff, f->srq->ring.stride);
	KUNIT_EXPECT_EQ(test, f->rwr->wr_id, 1);
	KUNIT_EXPECT_EQ(test, f->rwr->num_sge, 1);
	KUNIT_EXPECT_EQ(test, srnic_rq_take(f->qp, f->rwr), -EINVAL);
	KUNIT_EXPECT_EQ(test, f->rwr->wr_id, 2);
	KUNIT_EXPECT_EQ(test, f->rwr->num_sge, 0);
	KUNIT_EXPECT_EQ(test, srnic_rq_take(f->qp, f->rwr), -EINVAL);
	take(test, f, f->qp, 4);
	f->srq->kernel = true;
	end(f);
}

/* An impossible index makes the SRQ unusable, and is reported once (SR-24) */
static void bad_index(struct kunit *test)
{
	static const u32 bad[] = { DEPTH + 1, 0x80000000, 0xffffffff };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct ib_srq_attr attr = { .max_wr = 2 * DEPTH };
		struct fixture *f = make(test, 0);

		f->srq->kernel = false;
		f->srq->ring.hdr->producer = bad[i];
		KUNIT_EXPECT_EQ(test, srnic_rq_take(f->qp, f->rwr), -EPROTO);
		KUNIT_EXPECT_EQ(test, f->catastrophes, 1);
		f->srq->ring.hdr->producer = 1;
		KUNIT_EXPECT_EQ(test, srnic_rq_take(f->qp, f->rwr), -EPROTO);
		KUNIT_EXPECT_EQ(test, f->catastrophes, 1);
		KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL),
				-EINVAL);
		f->srq->kernel = true;
		end(f);
	}
}

/* A full ring is not an overrun */
static void full_index(struct kunit *test)
{
	struct fixture *f = make(test, 0);
	u32 i;

	f->srq->kernel = false;
	for (i = 0; i < DEPTH; i++)
		user_post(f, i, 1);
	for (i = 0; i < DEPTH; i++)
		take(test, f, f->qp, i);
	KUNIT_EXPECT_EQ(test, srnic_rq_take(f->qp, f->rwr), -EAGAIN);
	KUNIT_EXPECT_EQ(test, f->catastrophes, 0);
	f->srq->kernel = true;
	end(f);
}

/* A user's ring: the old header has the offset of the new ring */
static void user_resize(struct kunit *test)
{
	struct ib_srq_attr attr = { .max_wr = 2 };
	struct fixture *f = make(test, 0);
	u32 i;

	f->srq->kernel = false;
	for (i = 0; i < 6; i++)
		user_post(f, i, 1);
	take(test, f, f->qp, 0);
	f->srq->lost = 1;
	/* 5 are pending */
	attr.max_wr = 4;
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, f->srq->ring.hdr->moved_entries, 0);
	attr.max_wr = 5;
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL), 0);
	attr.max_wr = 200;
	KUNIT_EXPECT_EQ(test, srnic_srq_modify(f->srq, &attr, IB_SRQ_MAX_WR, NULL), 0);
	KUNIT_EXPECT_EQ(test, attr.max_wr, 256);
	KUNIT_EXPECT_EQ(test, f->srq->ring.hdr->producer, 6);
	KUNIT_EXPECT_EQ(test, f->srq->ring.hdr->lost, 1);
	KUNIT_EXPECT_EQ(test, f->srq->ring.hdr->moved_entries, 0);
	user_post(f, 6, 1);
	for (i = 1; i < 7; i++)
		take(test, f, f->qp, i);
	KUNIT_EXPECT_EQ(test, srnic_rq_take(f->qp, f->rwr), -EAGAIN);
	f->srq->kernel = true;
	end(f);
}

/* SGEs are checked against the SRQ's PD, those of an RQ against the QP's (SR-19) */
static void pd_of_wqe(struct kunit *test)
{
	struct fixture *f = make(test, 0);

	post_many(test, f, 0, 1);
	take(test, f, f->qp, 0);
	KUNIT_EXPECT_PTR_EQ(test, f->rwr->pd, f->pd);
	KUNIT_EXPECT_PTR_NE(test, f->rwr->pd, f->qp->ibqp.pd);
	end(f);
}

/*
 * A QP with an SRQ refuses receive WRs; the SRQ's WQEs survive the QP's Error; a QP that enters
 * Error gets LAST_WQE_REACHED (SR-05, SR-22)
 */
static void error_of_a_qp(struct kunit *test)
{
	struct fixture *f = make(test, 0);
	struct srnic_qp *other = make_qp(test, f);
	struct ib_recv_wr wr = { };
	const struct ib_recv_wr *bad = NULL;
	struct srnic_cqe cqe;

	KUNIT_EXPECT_EQ(test, srnic_verbs_ops.post_recv(&f->qp->ibqp, &wr, &bad), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, bad, (const struct ib_recv_wr *)&wr);
	post_many(test, f, 0, 2);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(f->qp, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_EQ(test, f->last_wqes, 1);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(f->qp, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_EQ_MSG(test, f->last_wqes, 1, "it was in Error before");
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&f->cq->cq, &cqe), 0);
	take(test, f, other, 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(f->qp, SRNIC_QP_IDLE), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(f->qp, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_EQ(test, f->last_wqes, 2);
	srnic_qp_destroy(other);
	KUNIT_EXPECT_EQ_MSG(test, f->last_wqes, 2, "no event of a QP that goes");
	take(test, f, f->qp, 1);
	end(f);
}

static struct kunit_case srq_cases[] = {
	KUNIT_CASE(create_limits),
	KUNIT_CASE(counted_until_polled),
	KUNIT_CASE(purge_gives_back),
	KUNIT_CASE(overflow_gives_back),
	KUNIT_CASE(limit_once),
	KUNIT_CASE(rearm),
	KUNIT_CASE(resize),
	KUNIT_CASE(resize_and_limit),
	KUNIT_CASE(user_wqes),
	KUNIT_CASE(bad_index),
	KUNIT_CASE(full_index),
	KUNIT_CASE(user_resize),
	KUNIT_CASE(pd_of_wqe),
	KUNIT_CASE(error_of_a_qp),
	{}
};

static struct kunit_suite srq_suite = {
	.name = "srnic-srq",
	.test_cases = srq_cases,
};

kunit_test_suite(srq_suite);
