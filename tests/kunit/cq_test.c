// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* cq.c: arm rules (CN-03 to CN-10), order, overflow. */
#include <kunit/test.h>
#include "fake.h"

#define NEXT	SRNIC_ARM_NEXT
#define SOL	SRNIC_ARM_SOLICITED

/* Add one CQE and notify, as a QP does */
static int add(struct fake_cq *fake, u64 wr_id, u32 flags, enum srnic_wc_status status)
{
	struct srnic_cqe cqe = { .wr_id = wr_id, .flags = flags, .qpn = 99 };
	u32 seen = 0;
	int err;

	err = srnic_cq_add(&fake->cq, &cqe, status, &seen);
	srnic_cq_notify(&fake->cq, seen);
	return err;
}

static int add_plain(struct fake_cq *fake)
{
	return add(fake, 0, 0, SRNIC_WC_SUCCESS);
}

static int add_solicited(struct fake_cq *fake)
{
	return add(fake, 0, SRNIC_CQE_SOLICITED | SRNIC_CQE_RQ, SRNIC_WC_SUCCESS);
}

static void arm_fires(struct kunit *test)
{
	static const struct {
		u32 arm, seen;
		bool fires;
	} rows[] = {
		{ 0, 0, false }, { 0, NEXT, false }, { 0, SOL, false },
		{ 0, NEXT | SOL, false },
		{ NEXT, 0, false }, { NEXT, NEXT, true }, { NEXT, NEXT | SOL, true },
		{ SOL, 0, false }, { SOL, NEXT, false }, { SOL, NEXT | SOL, true },
		{ NEXT | SOL, 0, false }, { NEXT | SOL, NEXT, true },
		{ NEXT | SOL, NEXT | SOL, true },
		/* the user writes this word: unknown bits are ignored */
		{ 0xfffffffc, NEXT | SOL, false }, { 0xffffffff, NEXT, true },
		{ 0xfffffffe, NEXT, false }, { 0xfffffffe, NEXT | SOL, true },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 arm = rows[i].arm, seen = rows[i].seen;

		KUNIT_EXPECT_EQ_MSG(test, srnic_cq_arm_fires(arm, arm, seen, false), rows[i].fires,
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, srnic_cq_arm_fires(arm, arm, seen, true), rows[i].fires,
				    "row %u, taken", i);
	}
}

/*
 * An arm that comes while a CQE is added fires if the CQE is not polled yet (CN-11); if it is
 * polled, the arm is for the next CQE (CN-06)
 */
static void arm_while_added(struct kunit *test)
{
	static const struct {
		u32 before, arm, seen;
		bool taken, fires;
	} rows[] = {
		{ 0, NEXT, NEXT, false, true }, { 0, NEXT, NEXT, true, false },
		{ NEXT, NEXT, NEXT, true, true }, { NEXT, 0, NEXT, false, false },
		/* the earlier arm was of another kind */
		{ SOL, SOL | NEXT, NEXT, false, true }, { SOL, SOL | NEXT, NEXT, true, false },
		{ SOL, SOL | NEXT, NEXT | SOL, true, true },
		{ 0, SOL, NEXT | SOL, false, true }, { 0, SOL, NEXT | SOL, true, false },
		{ 0, SOL, NEXT, false, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, srnic_cq_arm_fires(rows[i].before, rows[i].arm,
							     rows[i].seen, rows[i].taken),
				    rows[i].fires, "row %u", i);
}

/*
 * Which arms a CQE satisfies: both kinds if it is of a solicited message that was received, or in
 * error, else the plain one (CN-08 to CN-10)
 */
static void add_satisfies(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 1024);
	u32 status, flags, seen;

	for (status = 0; status < SRNIC_WC_COUNT; status++) {
		for (flags = 0; flags <= SRNIC_CQE_RQ + SRNIC_CQE_SOLICITED;
		     flags += SRNIC_CQE_SOLICITED) {
			struct srnic_cqe cqe = { .flags = flags };

			seen = 0;
			srnic_cq_arm(&fake->cq, NEXT, false);
			KUNIT_ASSERT_EQ(test, 0,
					srnic_cq_add(&fake->cq, &cqe, status, &seen));
			KUNIT_EXPECT_EQ_MSG(test, seen,
					    status != SRNIC_WC_SUCCESS ||
					    flags == (SRNIC_CQE_RQ | SRNIC_CQE_SOLICITED) ?
						    NEXT | SOL : NEXT,
					    "status %u, flags %x", status, flags);
		}
	}
	/* kinds seen before are kept; a kind that is not armed is not added */
	seen = SOL;
	KUNIT_ASSERT_EQ(test, 0, srnic_cq_add(&fake->cq, &(struct srnic_cqe){ },
					      SRNIC_WC_SUCCESS, &seen));
	KUNIT_EXPECT_EQ(test, seen, SOL);
	srnic_cq_arm(&fake->cq, NEXT, false);
	KUNIT_ASSERT_EQ(test, 0, srnic_cq_add(&fake->cq, &(struct srnic_cqe){ },
					      SRNIC_WC_SUCCESS, &seen));
	KUNIT_EXPECT_EQ(test, seen, NEXT | SOL);
}

/* An arm between a CQE and its notification is for the next CQE (CN-06) */
static void arm_after_add(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 8);
	u32 seen = 0;

	KUNIT_ASSERT_EQ(test, 0, srnic_cq_add(&fake->cq, &(struct srnic_cqe){ },
					      SRNIC_WC_FLUSHED, &seen));
	srnic_cq_arm(&fake->cq, NEXT, false);
	srnic_cq_notify(&fake->cq, seen);
	KUNIT_EXPECT_EQ(test, fake->notified, 0);
	add_plain(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 1);
}

/* A handler without an arm is not called (CN-03) */
static void not_armed(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 8);

	add_plain(fake);
	add_solicited(fake);
	add(fake, 0, 0, SRNIC_WC_FLUSHED);
	KUNIT_EXPECT_EQ(test, fake->notified, 0);
}

/* One notification for each arm, however many completions (CN-05) */
static void one_shot(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 256);
	u32 i;

	srnic_cq_arm(&fake->cq, NEXT, false);
	for (i = 0; i < 100; i++)
		add_plain(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 1);
	KUNIT_EXPECT_EQ(test, fake->cq.ring.hdr->flags, 0);
	srnic_cq_arm(&fake->cq, NEXT, false);
	KUNIT_EXPECT_EQ(test, fake->notified, 1);
	add_plain(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 2);
}

/* CQEs that precede the arm do not fire it, the next one does (CN-06) */
static void present_do_not_fire(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 8);
	u32 i;

	for (i = 0; i < 5; i++)
		add_plain(fake);
	KUNIT_EXPECT_EQ(test, srnic_cq_arm(&fake->cq, NEXT, false), 0);
	KUNIT_EXPECT_EQ(test, fake->notified, 0);
	add_plain(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 1);
}

/* ... but if asked to, arming reports that there are CQEs to poll */
static void report_missed(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 8);
	struct srnic_cqe cqe;

	KUNIT_EXPECT_EQ(test, srnic_cq_arm(&fake->cq, NEXT, true), 0);
	add_plain(fake);
	KUNIT_EXPECT_EQ(test, srnic_cq_arm(&fake->cq, NEXT, true), 1);
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
	KUNIT_EXPECT_EQ(test, srnic_cq_arm(&fake->cq, NEXT, true), 0);
}

/* Arms combine: a solicited one does not weaken a plain one, in either order (CN-07) */
static void arm_is_a_union(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 16);

	srnic_cq_arm(&fake->cq, NEXT, false);
	srnic_cq_arm(&fake->cq, SOL, false);
	add_plain(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 1);
	/* one notification for both arms */
	add_solicited(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 1);

	srnic_cq_arm(&fake->cq, SOL, false);
	srnic_cq_arm(&fake->cq, NEXT, false);
	srnic_cq_arm(&fake->cq, NEXT, false);
	add_plain(fake);
	add_plain(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 2);
}

/* A solicited arm waits for a solicited completion (CN-08) or an error (CN-09) */
static void solicited_arm(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 64);
	u32 want = 0, status;

	srnic_cq_arm(&fake->cq, SOL, false);
	add_plain(fake);
	add_plain(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 0);
	add_solicited(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, ++want);
	add_solicited(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, want);

	for (status = SRNIC_WC_FLUSHED; status < SRNIC_WC_COUNT; status++) {
		srnic_cq_arm(&fake->cq, SOL, false);
		add(fake, 0, status % 2 ? SRNIC_CQE_RQ : 0, status);
		KUNIT_EXPECT_EQ_MSG(test, fake->notified, ++want, "status %u", status);
	}
}

/* A plain arm fires on each CQE (CN-10) */
static void next_arm(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 16);

	srnic_cq_arm(&fake->cq, NEXT, false);
	add_plain(fake);
	srnic_cq_arm(&fake->cq, NEXT, false);
	add_solicited(fake);
	srnic_cq_arm(&fake->cq, NEXT, false);
	add(fake, 0, 0, SRNIC_WC_FLUSHED);
	KUNIT_EXPECT_EQ(test, fake->notified, 3);
	/* an unsignaled WR adds no CQE, so nothing fires */
	srnic_cq_arm(&fake->cq, NEXT | SOL, false);
	srnic_cq_notify(&fake->cq, 0);
	KUNIT_EXPECT_EQ(test, fake->notified, 3);
}

static void no_handler(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 2);
	u32 i;

	fake->cq.ibcq.comp_handler = NULL;
	fake->cq.ibcq.event_handler = NULL;
	srnic_cq_arm(&fake->cq, NEXT, false);
	for (i = 0; i < 4; i++)
		add_plain(fake);
	KUNIT_EXPECT_EQ(test, fake->notified, 0);
	KUNIT_EXPECT_EQ(test, fake->errors, 0);
}

/* CQEs come out in order and unchanged, across the wrap of the indices */
static void poll_order(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 8);
	struct srnic_cqe cqe;
	u64 in = 1, out = 1;
	u32 round, i;

	fake->cq.producer = 0xfffffff0;
	fake->cq.consumer = 0xfffffff0;
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 0);
	for (round = 0; round < 10; round++) {
		for (i = 0; i < 1 + round % 8; i++)
			KUNIT_ASSERT_EQ(test, 0, add(fake, in++, SRNIC_CQE_RQ,
						     SRNIC_WC_SUCCESS));
		while (srnic_cq_poll(&fake->cq, &cqe)) {
			KUNIT_EXPECT_EQ(test, cqe.wr_id, out++);
			KUNIT_EXPECT_EQ(test, cqe.flags, SRNIC_CQE_RQ);
			KUNIT_EXPECT_EQ(test, cqe.qpn, 99);
			KUNIT_EXPECT_EQ(test, cqe.status, IB_WC_SUCCESS);
			KUNIT_EXPECT_EQ(test, cqe.vendor_err, SRNIC_WC_SUCCESS);
		}
		KUNIT_EXPECT_EQ(test, in, out);
		KUNIT_EXPECT_EQ(test, fake->cq.ring.hdr->producer, fake->cq.producer);
	}
}

/* The native status and its nearest verbs status are both reported (CP-06 to CP-12) */
static void statuses(struct kunit *test)
{
	static const struct {
		enum srnic_wc_status native;
		enum ib_wc_status verbs;
	} rows[] = {
		{ SRNIC_WC_SUCCESS, IB_WC_SUCCESS },
		{ SRNIC_WC_FLUSHED, IB_WC_WR_FLUSH_ERR },
		{ SRNIC_WC_INVALID_WQE, IB_WC_LOC_QP_OP_ERR },
		{ SRNIC_WC_QP_CATASTROPHIC, IB_WC_FATAL_ERR },
		{ SRNIC_WC_INVALID_STAG, IB_WC_LOC_PROT_ERR },
		{ SRNIC_WC_BOUNDS, IB_WC_LOC_PROT_ERR },
		{ SRNIC_WC_ACCESS, IB_WC_LOC_PROT_ERR },
		{ SRNIC_WC_INVALID_PD, IB_WC_LOC_PROT_ERR },
		{ SRNIC_WC_WRAP, IB_WC_LOC_PROT_ERR },
		{ SRNIC_WC_INVALID_LENGTH, IB_WC_LOC_LEN_ERR },
	};
	struct fake_cq *fake = fake_cq(test, fake_device(test), 16);
	struct srnic_cqe cqe;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		add(fake, i, 0, rows[i].native);
		KUNIT_ASSERT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
		KUNIT_EXPECT_EQ_MSG(test, cqe.status, rows[i].verbs, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, cqe.vendor_err, rows[i].native, "row %u", i);
	}
}

/* A full CQ refuses further CQEs, reports one event, and keeps those it has (AE-20, SEC-10) */
static void overflow(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct fake_cq *fake = fake_cq(test, dev, 4), *other = fake_cq(test, dev, 4);
	struct srnic_cqe cqe;
	u32 i;

	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, add(fake, i, 0, SRNIC_WC_SUCCESS), 0);
	KUNIT_EXPECT_EQ(test, fake->errors, 0);
	KUNIT_EXPECT_EQ(test, add(fake, 4, 0, SRNIC_WC_SUCCESS), -ENOSPC);
	KUNIT_EXPECT_EQ(test, add(fake, 5, 0, SRNIC_WC_SUCCESS), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fake->errors, 1);
	KUNIT_EXPECT_EQ(test, srnic_counter(dev, SRNIC_CNT_CQ_OVERFLOW), 1);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
		KUNIT_EXPECT_EQ(test, cqe.wr_id, i);
	}
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 0);
	/* the CQ stays unusable: a completion is lost */
	KUNIT_EXPECT_EQ(test, add(fake, 6, 0, SRNIC_WC_SUCCESS), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fake->errors, 1);
	/* the other CQ is not affected */
	KUNIT_EXPECT_EQ(test, add(other, 1, 0, SRNIC_WC_SUCCESS), 0);
	KUNIT_EXPECT_EQ(test, other->errors, 0);
}

/* A CQE that did not fit causes no notification */
static void overflow_does_not_complete(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 1);

	KUNIT_EXPECT_EQ(test, add_plain(fake), 0);
	srnic_cq_arm(&fake->cq, NEXT | SOL, false);
	KUNIT_EXPECT_EQ(test, add(fake, 0, 0, SRNIC_WC_FLUSHED), -ENOSPC);
	KUNIT_EXPECT_EQ(test, fake->notified, 0);
	KUNIT_EXPECT_EQ(test, fake->errors, 1);
}

/* A user's consumer index is not trusted: no value makes the kernel overwrite a CQE */
static void user_consumer(struct kunit *test)
{
	static const struct {
		u32 producer, consumer;
		bool room;
	} rows[] = {
		{ 0, 0, true }, { 3, 0, true }, { 4, 0, false }, { 4, 1, true },
		{ 4, 4, true }, { 4, 5, false }, { 4, 0xffffffff, false },
		{ 4, 0x80000000, false }, { 4, 0x80000004, false },
		{ 0, 0xffffffff, true }, { 0, 0xfffffffd, true },
		{ 0, 0xfffffffc, false }, { 0, 1, false }, { 0xffffffff, 0, false },
		{ 0xffffffff, 0xfffffffc, true }, { 0xffffffff, 0xfffffffb, false },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_cq *fake = fake_cq(test, fake_device(test), 4);

		fake->cq.kernel = false;
		fake->cq.producer = rows[i].producer;
		/* nor does the kernel trust the producer index */
		fake->cq.ring.hdr->producer = 0x12345678;
		fake->cq.ring.hdr->consumer = rows[i].consumer;
		KUNIT_EXPECT_EQ_MSG(test, add(fake, 7, 0, SRNIC_WC_SUCCESS),
				    rows[i].room ? 0 : -ENOSPC, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, fake->errors, rows[i].room ? 0 : 1, "row %u", i);
		if (rows[i].room)
			KUNIT_EXPECT_EQ_MSG(test, fake->cq.ring.hdr->producer,
					    rows[i].producer + 1, "row %u", i);
	}
}

/* An undefined bit in the arm word is an error of the CQ, reported once */
static void user_arm_word(struct kunit *test)
{
	static const u32 words[] = {
		0xdeadbeec, 0xffffffff, BIT(2), BIT(2) | NEXT, BIT(31) | SOL,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		struct fake_cq *fake = fake_cq(test, fake_device(test), 16);

		fake->cq.kernel = false;
		WRITE_ONCE(fake->cq.ring.hdr->flags, NEXT | SOL);
		KUNIT_EXPECT_EQ(test, add_plain(fake), 0);
		KUNIT_EXPECT_EQ(test, fake->notified, 1);
		KUNIT_EXPECT_EQ(test, fake->cq.ring.hdr->flags, 0);
		WRITE_ONCE(fake->cq.ring.hdr->flags, words[i]);
		KUNIT_EXPECT_EQ_MSG(test, add_solicited(fake), -ENOSPC, "%#x", words[i]);
		KUNIT_EXPECT_EQ_MSG(test, add_plain(fake), -ENOSPC, "%#x", words[i]);
		KUNIT_EXPECT_EQ_MSG(test, fake->errors, 1, "%#x", words[i]);
		KUNIT_EXPECT_EQ_MSG(test, fake->notified, 1, "%#x", words[i]);
		KUNIT_EXPECT_EQ_MSG(test, fake->cq.ring.hdr->producer, 1, "%#x", words[i]);
	}
}

/* A CQ created with timestamps has increasing ones; for others no clock is read */
static void times(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	u32 times, i;

	for (times = 0; times < 2; times++) {
		struct fake_cq *fake = fake_cq(test, dev, 8);
		u64 mono = ktime_get_ns(), real = ktime_get_real_ns();
		struct srnic_cqe cqe;

		fake->cq.times = times;
		for (i = 0; i < 3; i++)
			add_plain(fake);
		for (i = 0; i < 3; i++) {
			KUNIT_ASSERT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
			if (!times) {
				KUNIT_EXPECT_EQ(test, cqe.timestamp, 0);
				KUNIT_EXPECT_EQ(test, cqe.wallclock, 0);
				continue;
			}
			KUNIT_EXPECT_GE(test, cqe.timestamp, mono);
			mono = cqe.timestamp;
			KUNIT_EXPECT_GE(test, cqe.wallclock, real);
			real = cqe.wallclock;
		}
		KUNIT_EXPECT_LE(test, mono, ktime_get_ns());
	}
}

static void create_limits(struct kunit *test)
{
	static const struct {
		u32 asked;
		int err;
		u32 got;
	} rows[] = {
		{ 0, -EINVAL, 0 }, { 1, 0, 1 }, { 2, 0, 2 }, { 3, 0, 4 },
		{ 1000, 0, 1024 }, { SRNIC_MAX_CQE + 1, -EINVAL, 0 },
		{ 0x80000000, -EINVAL, 0 }, { 0xffffffff, -EINVAL, 0 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_cq *cq = kunit_kzalloc(test, sizeof(*cq), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, cq);
		KUNIT_EXPECT_EQ_MSG(test, srnic_cq_create(cq, rows[i].asked, false, NULL),
				    rows[i].err, "%u", rows[i].asked);
		if (rows[i].err)
			continue;
		KUNIT_EXPECT_EQ(test, cq->ibcq.cqe, rows[i].got);
		KUNIT_EXPECT_EQ(test, cq->ring.entries, rows[i].got);
		srnic_cq_destroy(cq);
	}
}

/* CQEs of a destroyed QP are skipped, the others keep their order (QP-30) */
static void purge(struct kunit *test)
{
	struct fake_cq *fake = fake_cq(test, fake_device(test), 16);
	struct srnic_cqe cqe;
	u32 i, seen = 0;

	fake->cq.producer = 0xfffffffc;
	fake->cq.consumer = 0xfffffffc;
	for (i = 0; i < 12; i++) {
		struct srnic_cqe in = { .wr_id = i, .qpn = 1 + i % 3 };

		KUNIT_ASSERT_EQ(test, 0, srnic_cq_add(&fake->cq, &in, SRNIC_WC_SUCCESS,
						      &seen));
	}
	srnic_cq_purge(&fake->cq, 2);
	for (i = 0; i < 12; i++) {
		if (i % 3 == 1)
			continue;
		KUNIT_ASSERT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
		KUNIT_EXPECT_EQ(test, cqe.wr_id, i);
		KUNIT_EXPECT_EQ(test, cqe.flags, 0);
	}
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 0);
	/* and their slots are free again */
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, add_plain(fake), 0);
}

static struct kunit_case cq_cases[] = {
	KUNIT_CASE(arm_fires),
	KUNIT_CASE(arm_while_added),
	KUNIT_CASE(add_satisfies),
	KUNIT_CASE(arm_after_add),
	KUNIT_CASE(not_armed),
	KUNIT_CASE(one_shot),
	KUNIT_CASE(present_do_not_fire),
	KUNIT_CASE(report_missed),
	KUNIT_CASE(arm_is_a_union),
	KUNIT_CASE(solicited_arm),
	KUNIT_CASE(next_arm),
	KUNIT_CASE(no_handler),
	KUNIT_CASE(poll_order),
	KUNIT_CASE(statuses),
	KUNIT_CASE(overflow),
	KUNIT_CASE(overflow_does_not_complete),
	KUNIT_CASE(user_consumer),
	KUNIT_CASE(user_arm_word),
	KUNIT_CASE(times),
	KUNIT_CASE(create_limits),
	KUNIT_CASE(purge),
	{}
};

static struct kunit_suite cq_suite = {
	.name = "srnic-cq",
	.test_cases = cq_cases,
};

kunit_test_suite(cq_suite);
