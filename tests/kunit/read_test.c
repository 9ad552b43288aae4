// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* read.c: how many Reads and atomics may be outstanding, in each direction. */
#include <kunit/test.h>
#include "engine/read.h"
#include "fake.h"

#define DEPTH	8

static const struct srnic_outbound request = { .opcode = SRNIC_OP_READ, .last = true };

/* A QP whose stream was negotiated with @ird and @ord, without a socket */
static struct srnic_qp *make_qp(struct kunit *test, u16 ird, u16 ord)
{
	struct srnic_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	srnic_lock_init(&qp->sq_lock, true);
	qp->mpa.ird = ird;
	qp->mpa.ord = ord;
	qp->ird = ird;
	qp->ord = ord;
	qp->irq = kunit_kcalloc(test, DEPTH, sizeof(*qp->irq), GFP_KERNEL);
	qp->orq = kunit_kcalloc(test, DEPTH, sizeof(*qp->orq), GFP_KERNEL);
	qp->irq_mask = DEPTH - 1;
	qp->orq_mask = DEPTH - 1;
	KUNIT_ASSERT_NOT_NULL(test, qp->irq);
	KUNIT_ASSERT_NOT_NULL(test, qp->orq);
	return qp;
}

/* ORD is an upper bound (INI-6); Modify QP changes it at once (QP-19, RD-05) */
static void ord(struct kunit *test)
{
	struct srnic_qp *qp = make_qp(test, 4, 3);
	u32 i;

	KUNIT_EXPECT_EQ(test, srnic_orq_limit(qp), 3);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, srnic_orq_full(qp));
		srnic_orq_push(qp, &request);
	}
	KUNIT_EXPECT_TRUE(test, srnic_orq_full(qp));
	KUNIT_EXPECT_EQ(test, srnic_orq_count(qp), 3);

	qp->orq_head += 2;
	KUNIT_EXPECT_FALSE(test, srnic_orq_full(qp));
	qp->ord = 1;
	KUNIT_EXPECT_TRUE(test, srnic_orq_full(qp));
	qp->ord = 2;
	KUNIT_EXPECT_FALSE(test, srnic_orq_full(qp));
	/* never more than the negotiated ORD */
	qp->ord = 100;
	KUNIT_EXPECT_EQ(test, srnic_orq_limit(qp), 3);
	srnic_orq_push(qp, &request);
	KUNIT_EXPECT_FALSE(test, srnic_orq_full(qp));
	srnic_orq_push(qp, &request);
	KUNIT_EXPECT_TRUE(test, srnic_orq_full(qp));
	qp->ord = 0;
	KUNIT_EXPECT_EQ(test, srnic_orq_limit(qp), 0);
}

/* A Read Request sent as RTR counts against ORD until it is answered (V2-20) */
static void rtr_counts(struct kunit *test)
{
	struct srnic_qp *qp = make_qp(test, 4, 1);

	set_bit(SRNIC_QPF_RTR_READ, &qp->flags);
	KUNIT_EXPECT_TRUE(test, srnic_orq_full(qp));
	/* it is no Read of the consumer, so no fence waits for it */
	KUNIT_EXPECT_EQ(test, srnic_orq_count(qp), 0);
	clear_bit(SRNIC_QPF_RTR_READ, &qp->flags);
	KUNIT_EXPECT_FALSE(test, srnic_orq_full(qp));

	qp = make_qp(test, 4, 3);
	set_bit(SRNIC_QPF_RTR_READ, &qp->flags);
	srnic_orq_push(qp, &request);
	KUNIT_EXPECT_FALSE(test, srnic_orq_full(qp));
	srnic_orq_push(qp, &request);
	KUNIT_EXPECT_TRUE(test, srnic_orq_full(qp));
}

/* IRD is an upper bound on both kinds together, which are taken in order (INI-7, X7-7, X7-8) */
static void ird(struct kunit *test)
{
	struct srnic_qp *qp = make_qp(test, 4, 4);
	struct srnic_inbound in = { }, out;
	u32 i;

	KUNIT_EXPECT_TRUE(test, srnic_irq_empty(qp));
	for (i = 0; i < 4; i++) {
		in.opcode = i % 2 ? RDMAP_ATOMIC_REQUEST : RDMAP_READ_REQUEST;
		in.ddp[0] = i;
		KUNIT_EXPECT_EQ(test, srnic_irq_push(qp, &in), 0);
	}
	KUNIT_EXPECT_EQ(test, srnic_irq_push(qp, &in), -ENOSPC);
	for (i = 0; i < 4; i++) {
		KUNIT_ASSERT_TRUE(test, srnic_irq_head(qp, &out));
		KUNIT_EXPECT_EQ(test, out.ddp[0], i);
		KUNIT_EXPECT_EQ(test, out.opcode,
				i % 2 ? RDMAP_ATOMIC_REQUEST : RDMAP_READ_REQUEST);
		/* taken, but not answered: its slot is not free */
		KUNIT_EXPECT_EQ(test, srnic_irq_push(qp, &in), i ? 0 : -ENOSPC);
		if (i)
			qp->irq_tail--;
		srnic_irq_done(qp);
	}
	KUNIT_EXPECT_FALSE(test, srnic_irq_head(qp, &out));

	/* Modify QP takes effect at once, never above the slots there are */
	qp->ird = 1;
	KUNIT_EXPECT_EQ(test, srnic_irq_push(qp, &in), 0);
	KUNIT_EXPECT_EQ(test, srnic_irq_push(qp, &in), -ENOSPC);
	qp->ird = 0;
	srnic_irq_done(qp);
	KUNIT_EXPECT_EQ(test, srnic_irq_push(qp, &in), -ENOSPC);
	qp->ird = 0xffff;
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, srnic_irq_push(qp, &in), 0);
	KUNIT_EXPECT_EQ(test, srnic_irq_push(qp, &in), -ENOSPC);
}

static struct kunit_case read_cases[] = {
	KUNIT_CASE(ord),
	KUNIT_CASE(rtr_counts),
	KUNIT_CASE(ird),
	{}
};

static struct kunit_suite read_suite = {
	.name = "srnic-read",
	.test_cases = read_cases,
};

kunit_test_suite(read_suite);
