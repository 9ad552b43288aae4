// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* event_queue.c: which events are kept for a reading program, and for how long. */
#include <kunit/test.h>
#include "queue/event.h"
#include "queue/event_queue.h"
#include "srnic.h"
#include "verbs/events.h"

struct fixture {
	struct srnic_ucontext uctx;
	struct srnic_event_queue queue;
	struct srnic_event_source one, two;
};

static struct fixture *f;

static void describe(struct srnic_event_source *src, struct srnic_event_record *rec)
{
	rec->number = src == &f->one ? 1 : 2;
}

static int queue_init(struct kunit *test)
{
	f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	if (!f)
		return -ENOMEM;
	srnic_event_source_init(&f->one, &f->uctx.ibuc, describe);
	srnic_event_source_init(&f->two, &f->uctx.ibuc, describe);
	return 0;
}

static void must_be(struct kunit *test, u32 number, enum srnic_event event)
{
	struct srnic_event_record rec = { };

	KUNIT_EXPECT_TRUE(test, srnic_event_queue_has(&f->queue));
	KUNIT_EXPECT_EQ(test, srnic_event_queue_take(&f->queue, &rec), 0);
	KUNIT_EXPECT_EQ(test, rec.number, number);
	KUNIT_EXPECT_EQ(test, rec.event, (u32)event);
}

static void must_be_empty(struct kunit *test)
{
	struct srnic_event_record rec = { };

	KUNIT_EXPECT_FALSE(test, srnic_event_queue_has(&f->queue));
	KUNIT_EXPECT_EQ(test, srnic_event_queue_take(&f->queue, &rec), -EAGAIN);
}

static void kept_once(struct kunit *test)
{
	srnic_event_source_add(&f->one, SRNIC_EV_LLP_LOST);	/* dropped: no queue is open */
	KUNIT_ASSERT_EQ(test, srnic_event_queue_open(&f->queue, &f->uctx.ibuc), 0);
	must_be_empty(test);
	srnic_event_source_add(&f->two, SRNIC_EV_LAST_WQE);
	srnic_event_source_add(&f->one, SRNIC_EV_RQ_LIMIT);
	srnic_event_source_add(&f->two, SRNIC_EV_LLP_LOST);
	srnic_event_source_add(&f->two, SRNIC_EV_LLP_LOST);
	must_be(test, 2, SRNIC_EV_LLP_LOST);
	must_be(test, 2, SRNIC_EV_LAST_WQE);
	must_be(test, 1, SRNIC_EV_RQ_LIMIT);
	must_be_empty(test);
	srnic_event_source_add(&f->two, SRNIC_EV_LLP_LOST);
	must_be(test, 2, SRNIC_EV_LLP_LOST);
	srnic_event_queue_end(&f->queue, &f->uctx.ibuc);
}

static void forgotten_with_its_object(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, srnic_event_queue_open(&f->queue, &f->uctx.ibuc), 0);
	srnic_event_source_add(&f->one, SRNIC_EV_LLP_LOST);
	srnic_event_source_add(&f->two, SRNIC_EV_LLP_RESET);
	srnic_event_source_end(&f->one);
	must_be(test, 2, SRNIC_EV_LLP_RESET);
	must_be_empty(test);
	srnic_event_source_end(&f->two);
	srnic_event_queue_end(&f->queue, &f->uctx.ibuc);
}

static void end_is_told(struct kunit *test)
{
	struct srnic_event_queue second = { };
	struct srnic_event_record rec = { };

	KUNIT_ASSERT_EQ(test, srnic_event_queue_open(&f->queue, &f->uctx.ibuc), 0);
	KUNIT_EXPECT_EQ(test, srnic_event_queue_open(&second, &f->uctx.ibuc), -EBUSY);
	srnic_event_source_add(&f->one, SRNIC_EV_LLP_LOST);
	srnic_event_queue_end(&f->queue, &f->uctx.ibuc);
	must_be(test, 0, SRNIC_EV_RNIC_CATASTROPHIC);
	KUNIT_EXPECT_TRUE(test, srnic_event_queue_has(&f->queue));
	KUNIT_EXPECT_EQ(test, srnic_event_queue_take(&f->queue, &rec), -EIO);
	/* the context can have another queue, without the events of the first */
	memset(&f->queue, 0, sizeof(f->queue));
	KUNIT_ASSERT_EQ(test, srnic_event_queue_open(&f->queue, &f->uctx.ibuc), 0);
	srnic_event_source_add(&f->one, SRNIC_EV_LLP_RESET);
	must_be(test, 1, SRNIC_EV_LLP_RESET);
	must_be_empty(test);
	srnic_event_queue_end(&f->queue, &f->uctx.ibuc);
}

/* More than are dropped with the lock held once */
static void all_are_dropped(struct kunit *test)
{
	const u32 count = 1000;
	struct srnic_event_source *src;
	u32 i;

	src = kunit_kcalloc(test, count, sizeof(*src), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, src);
	KUNIT_ASSERT_EQ(test, srnic_event_queue_open(&f->queue, &f->uctx.ibuc), 0);
	for (i = 0; i < count; i++) {
		srnic_event_source_init(&src[i], &f->uctx.ibuc, describe);
		srnic_event_source_add(&src[i], SRNIC_EV_LLP_LOST);
	}
	srnic_event_queue_end(&f->queue, &f->uctx.ibuc);
	KUNIT_EXPECT_NULL(test, f->uctx.events);
	for (i = 0; i < count; i++) {
		KUNIT_EXPECT_EQ(test, src[i].pending, 0ULL);
		KUNIT_EXPECT_TRUE(test, list_empty(&src[i].link));
	}
	must_be(test, 0, SRNIC_EV_RNIC_CATASTROPHIC);
}

static void kernel_has_none(struct kunit *test)
{
	srnic_event_source_init(&f->one, NULL, describe);
	srnic_event_source_add(&f->one, SRNIC_EV_LLP_LOST);
	KUNIT_EXPECT_EQ(test, f->one.pending, 0ULL);
	srnic_event_source_end(&f->one);
}

/* A program may have been built with a record shorter or longer than the kernel's */
static void record_may_grow(struct kunit *test)
{
	static const struct {
		size_t room, size;
		ssize_t bytes;
	} rows[] = {
		{ 0, 88, -EINVAL }, { 87, 88, -EINVAL }, { 88, 88, 88 }, { 96, 88, 88 },
		{ SIZE_MAX, 88, 88 },
		/* the record of a later kernel */
		{ 87, 96, -EINVAL }, { 88, 96, 88 }, { 92, 96, 92 }, { 96, 96, 96 },
		{ 4096, 96, 96 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, srnic_event_bytes(rows[i].room, rows[i].size),
				    rows[i].bytes, "row %u", i);
}

static struct kunit_case queue_cases[] = {
	KUNIT_CASE(kept_once),
	KUNIT_CASE(forgotten_with_its_object),
	KUNIT_CASE(end_is_told),
	KUNIT_CASE(all_are_dropped),
	KUNIT_CASE(kernel_has_none),
	KUNIT_CASE(record_may_grow),
	{}
};

static struct kunit_suite queue_suite = {
	.name = "srnic-event-queue",
	.init = queue_init,
	.test_cases = queue_cases,
};

kunit_test_suite(queue_suite);
