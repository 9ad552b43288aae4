// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* cq_resize.c: all CQEs and arms are moved, or nothing changes (CQ-08 to CQ-10). */
#include <kunit/test.h>
#include <linux/hrtimer.h>
#include "compat.h"
#include "fake.h"

#define NEXT	SRNIC_ARM_NEXT
#define SOL	SRNIC_ARM_SOLICITED

/* A CQ whose indices are about to wrap, with @n CQEs of wr_id 0 and up */
static struct fake_cq *filled_cq(struct kunit *test, u32 entries, u32 n)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), entries);
	u32 i, seen = 0;

	fake->cq.producer = 0xfffffffd;
	fake->cq.consumer = 0xfffffffd;
	for (i = 0; i < n; i++) {
		struct srnic_cqe cqe = { .wr_id = i, .qpn = 1 + i % 3 };

		KUNIT_ASSERT_EQ(test, 0, srnic_cq_add(&fake->cq, &cqe, SRNIC_WC_SUCCESS,
						      &seen));
	}
	return fake;
}

static int add(struct fake_cq *fake, u64 wr_id)
{
	struct srnic_cqe cqe = { .wr_id = wr_id, .qpn = 99 };
	u32 seen = 0;
	int err;

	err = srnic_cq_add(&fake->cq, &cqe, SRNIC_WC_SUCCESS, &seen);
	srnic_cq_notify(&fake->cq, seen);
	return err;
}

static void expect_polled(struct kunit *test, struct fake_cq *fake, u64 from, u64 to)
{
	struct srnic_cqe cqe;

	for (; from != to; from++) {
		KUNIT_ASSERT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
		KUNIT_EXPECT_EQ(test, cqe.wr_id, from);
	}
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 0);
}

/* Larger, smaller and the same size, with any number of CQEs that fits */
static void nothing_is_lost(struct kunit *test)
{
	static const u32 sizes[] = { 4, 8, 16, 64 };
	u32 i, n, to;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (n = 0; n <= 8; n++) {
			struct fake_cq *fake = filled_cq(test, 8, n);
			u64 next = n;

			to = sizes[i];
			if (n > to) {
				KUNIT_EXPECT_EQ(test, srnic_cq_resize(&fake->cq, to), -EINVAL);
				KUNIT_EXPECT_EQ(test, fake->cq.ibcq.cqe, 8);
			} else {
				KUNIT_EXPECT_EQ(test, srnic_cq_resize(&fake->cq, to), 0);
				KUNIT_EXPECT_EQ(test, fake->cq.ibcq.cqe, to);
				/* the CQ has room for exactly as many as asked for */
				for (; next < to; next++)
					KUNIT_EXPECT_EQ(test, add(fake, next), 0);
				KUNIT_EXPECT_EQ(test, fake->errors, 0);
				KUNIT_EXPECT_EQ(test, add(fake, next), -ENOSPC);
				KUNIT_EXPECT_EQ(test, fake->errors, 1);
			}
			KUNIT_EXPECT_PTR_EQ(test, fake->cq.next.hdr, NULL);
			expect_polled(test, fake, 0, next);
		}
	}
}

/* The requested size counts, not the allocated one (9.2.3.3) */
static void too_small(struct kunit *test)
{
	struct fake_cq *fake = filled_cq(test, 16, 10);
	struct srnic_ring_hdr *hdr = fake->cq.ring.hdr;

	srnic_cq_arm(&fake->cq, SOL, false);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize(&fake->cq, 5), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize(&fake->cq, 9), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, fake->cq.ring.hdr, hdr);
	KUNIT_EXPECT_EQ(test, fake->cq.ibcq.cqe, 16);
	KUNIT_EXPECT_EQ(test, hdr->flags, SOL);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize(&fake->cq, 10), 0);
	expect_polled(test, fake, 0, 10);
}

static void limits(struct kunit *test)
{
	static const u32 bad[] = { 0, SRNIC_MAX_CQE + 1, 0x80000000, 0xffffffff };
	struct fake_cq *fake = filled_cq(test, 4, 2);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ(test, srnic_cq_resize(&fake->cq, bad[i]), -EINVAL);
		KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(&fake->cq, bad[i]), -EINVAL);
	}
	KUNIT_EXPECT_EQ(test, srnic_cq_resize(&fake->cq, 3), 0);
	KUNIT_EXPECT_EQ(test, fake->cq.ibcq.cqe, 4);
	expect_polled(test, fake, 0, 2);
}

/* An arm survives the resize with its kind, and fires once (CN-05, CN-07) */
static void arms_get_over(struct kunit *test)
{
	static const u32 words[] = { 0, NEXT, SOL, NEXT | SOL };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		struct fake_cq *fake = filled_cq(test, 8, 3);

		srnic_cq_arm(&fake->cq, words[i], false);
		KUNIT_ASSERT_EQ(test, srnic_cq_resize(&fake->cq, 32), 0);
		KUNIT_EXPECT_EQ(test, fake->cq.ring.hdr->flags, words[i]);
		/* moving a CQE is not adding one (CN-06) */
		KUNIT_EXPECT_EQ(test, fake->notified, 0);
		add(fake, 3);
		KUNIT_EXPECT_EQ(test, fake->notified, words[i] & NEXT ? 1 : 0);
		add(fake, 4);
		KUNIT_EXPECT_EQ(test, fake->notified, words[i] & NEXT ? 1 : 0);
	}
}

/* A completion whose notification is still due notifies after the move */
static void due_notification(struct kunit *test)
{
	struct fake_cq *fake = filled_cq(test, 8, 0);
	u32 seen = 0;

	srnic_cq_arm(&fake->cq, NEXT, false);
	KUNIT_ASSERT_EQ(test, 0, srnic_cq_add(&fake->cq, &(struct srnic_cqe){ },
					      SRNIC_WC_SUCCESS, &seen));
	KUNIT_ASSERT_EQ(test, srnic_cq_resize(&fake->cq, 4), 0);
	srnic_cq_notify(&fake->cq, seen);
	KUNIT_EXPECT_EQ(test, fake->notified, 1);
	expect_polled(test, fake, 0, 1);
}

/* CQEs of a destroyed QP stay forgotten (QP-30) */
static void purged_stay_purged(struct kunit *test)
{
	struct fake_cq *fake = filled_cq(test, 16, 12);
	struct srnic_cqe cqe;
	u32 i;

	srnic_cq_purge(&fake->cq, 2);
	KUNIT_ASSERT_EQ(test, srnic_cq_resize(&fake->cq, 64), 0);
	for (i = 0; i < 12; i++) {
		if (i % 3 == 1)
			continue;
		KUNIT_ASSERT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
		KUNIT_EXPECT_EQ(test, cqe.wr_id, i);
	}
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 0);
}

/* A larger CQ does not clear an overflow: a completion is lost */
static void overflow_stays(struct kunit *test)
{
	struct fake_cq *fake = filled_cq(test, 4, 4);

	KUNIT_EXPECT_EQ(test, add(fake, 4), -ENOSPC);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize(&fake->cq, 8), 0);
	KUNIT_EXPECT_EQ(test, add(fake, 5), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fake->errors, 1);
	expect_polled(test, fake, 0, 4);
}

static void steps(struct kunit *test)
{
	struct fake_cq *fake = filled_cq(test, 8, 3);
	struct srnic_cq *cq = &fake->cq;
	struct srnic_ring_hdr *hdr = cq->ring.hdr;

	/* commit needs a prepare of the same size */
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(cq, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_prepare(cq, 16, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(cq, 17), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(cq, 8), -EINVAL);
	KUNIT_EXPECT_PTR_EQ(test, cq->ring.hdr, hdr);
	srnic_cq_resize_cancel(cq);
	srnic_cq_resize_cancel(cq);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(cq, 16), -EINVAL);
	/* the last prepare counts; CQEs added between the two steps are moved */
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_prepare(cq, 64, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_prepare(cq, 4, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, add(fake, 3), 0);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(cq, 64), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(cq, 4), 0);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(cq, 4), -EINVAL);
	expect_polled(test, fake, 0, 4);
	/* an unused new ring is freed with the CQ; kmemleak would report it */
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_prepare(cq, 4, NULL, NULL), 0);
}

/* A user's consumer index is not trusted; a resize with an impossible one changes nothing */
static void user_consumer(struct kunit *test)
{
	static const struct {
		u32 consumer;
		u32 entries;
		int err;
	} rows[] = {
		/* producer 10, ring of 8 */
		{ 10, 1, 0 }, { 9, 1, 0 }, { 8, 1, -EINVAL }, { 8, 2, 0 },
		{ 2, 8, 0 }, { 2, 4, -EINVAL }, { 1, 8, -EINVAL }, { 1, 64, -EINVAL },
		{ 11, 64, -EINVAL }, { 0xffffffff, 64, -EINVAL },
		{ 0x8000000a, 64, -EINVAL }, { 0, 1024, -EINVAL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_cq *fake = filled_cq(test, 8, 0);
		struct srnic_cq *cq = &fake->cq;
		struct srnic_ring_hdr *hdr = cq->ring.hdr;
		u32 j, seen = 0;

		cq->kernel = false;
		cq->producer = 0;
		hdr->consumer = 0;
		for (j = 0; j < 10; j++) {
			struct srnic_cqe cqe = { .wr_id = j };

			hdr->consumer = j > 7 ? j - 7 : 0;
			KUNIT_ASSERT_EQ(test, 0, srnic_cq_add(cq, &cqe, SRNIC_WC_SUCCESS,
							      &seen));
		}
		hdr->consumer = rows[i].consumer;
		hdr->producer = 0x12345678;
		hdr->flags = 0xdeadbeef;
		KUNIT_EXPECT_EQ_MSG(test, srnic_cq_resize(cq, rows[i].entries), rows[i].err,
				    "row %u", i);
		KUNIT_EXPECT_EQ(test, cq->producer, 10);
		KUNIT_EXPECT_EQ(test, cq->overflowed, false);
		if (rows[i].err) {
			KUNIT_EXPECT_PTR_EQ(test, cq->ring.hdr, hdr);
			KUNIT_EXPECT_EQ(test, cq->ring.entries, 8);
			KUNIT_EXPECT_EQ(test, hdr->flags, 0xdeadbeef);
			continue;
		}
		KUNIT_EXPECT_EQ(test, cq->ring.hdr->producer, 10);
		KUNIT_EXPECT_EQ(test, cq->ring.hdr->consumer, rows[i].consumer);
		KUNIT_EXPECT_EQ(test, cq->ring.hdr->flags, 0xdeadbeef);
		for (j = rows[i].consumer; j != 10; j++) {
			const struct srnic_cqe *cqe = srnic_ring_slot(&cq->ring, j);

			KUNIT_EXPECT_EQ_MSG(test, cqe->wr_id, j, "row %u", i);
		}
	}
}

#define MILLION	SRNIC_MAX_CQE

struct tick {
	struct hrtimer timer;
	struct srnic_cq *cq;
	u32 in_the_middle;
};

/* The first CQE is in the new ring, the last one not yet */
static enum hrtimer_restart on_tick(struct hrtimer *timer)
{
	struct tick *tick = container_of(timer, struct tick, timer);
	struct srnic_ring *next = &tick->cq->next;
	const struct srnic_cqe *first, *last;

	if (next->hdr) {
		first = srnic_ring_slot(next, 0);
		last = srnic_ring_slot(next, MILLION - 1);
		tick->in_the_middle += READ_ONCE(first->wr_id) && !READ_ONCE(last->wr_id);
	}
	hrtimer_forward_now(timer, ms_to_ktime(1));
	return HRTIMER_RESTART;
}

/* A million CQEs of a kernel consumer: interrupts stay enabled while they are copied */
static void interrupts_while_copying(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), MILLION);
	struct tick tick = { .cq = &fake->cq };
	struct srnic_cqe *cqe;
	u32 i;

	for (i = 0; i < MILLION; i++) {
		cqe = srnic_ring_slot(&fake->cq.ring, i);
		cqe->wr_id = 1 + i;
	}
	fake->cq.producer = MILLION;
	KUNIT_ASSERT_EQ(test, srnic_cq_resize_prepare(&fake->cq, MILLION, NULL, NULL), 0);
	hrtimer_setup_on_stack(&tick.timer, on_tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	hrtimer_start(&tick.timer, ms_to_ktime(1), HRTIMER_MODE_REL);
	KUNIT_EXPECT_EQ(test, srnic_cq_resize_commit(&fake->cq, MILLION), 0);
	hrtimer_cancel(&tick.timer);
	destroy_hrtimer_on_stack(&tick.timer);
	KUNIT_EXPECT_GT(test, tick.in_the_middle, 0);
	for (i = 0; i < MILLION; i++) {
		cqe = srnic_ring_slot(&fake->cq.ring, i);
		if (cqe->wr_id != 1 + i)
			break;
	}
	KUNIT_EXPECT_EQ(test, i, MILLION);
}

static struct kunit_case cq_resize_cases[] = {
	KUNIT_CASE(nothing_is_lost),
	KUNIT_CASE(too_small),
	KUNIT_CASE(limits),
	KUNIT_CASE(arms_get_over),
	KUNIT_CASE(due_notification),
	KUNIT_CASE(purged_stay_purged),
	KUNIT_CASE(overflow_stays),
	KUNIT_CASE(steps),
	KUNIT_CASE(user_consumer),
	KUNIT_CASE(interrupts_while_copying),
	{}
};

static struct kunit_suite cq_resize_suite = {
	.name = "srnic-cq-resize",
	.test_cases = cq_resize_cases,
};

kunit_test_suite(cq_resize_suite);
