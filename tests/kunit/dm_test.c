// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* dm.c: memory of the device, and regions over it. */
#include <kunit/test.h>
#include "fake.h"
#include "memory/dm.h"
#include "memory/mr.h"

#define ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ZERO_BASED)

static void no_memory(struct kunit *test, struct srnic_device *dev, u64 length, u32 log_align,
		      int want)
{
	struct srnic_dm *dm = srnic_dm_alloc(dev, NULL, length, log_align);

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(dm), want);
}

static struct srnic_dm *memory(struct kunit *test, struct srnic_device *dev, u64 length)
{
	struct srnic_dm *dm = srnic_dm_alloc(dev, NULL, length, PAGE_SHIFT);

	KUNIT_ASSERT_FALSE(test, IS_ERR(dm));
	return dm;
}

/* Allocations count in whole pages; one that fails counts nothing */
static void limit_of_the_device(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_dm *most, *last;

	no_memory(test, dev, 0, 0, -EINVAL);
	no_memory(test, dev, SRNIC_MAX_DM + 1, 0, -EINVAL);
	no_memory(test, dev, U64_MAX, 0, -EINVAL);
	no_memory(test, dev, 1, PAGE_SHIFT + 1, -EINVAL);
	most = memory(test, dev, SRNIC_MAX_DM - 2 * PAGE_SIZE + 1);
	no_memory(test, dev, PAGE_SIZE + 1, 0, -ENOMEM);
	last = memory(test, dev, 1);
	no_memory(test, dev, 1, 0, -ENOMEM);
	srnic_dm_free(most);
	srnic_dm_free(last);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_DM), 0);
}

/* Zeroed, and aligned as requested */
static void zero_and_aligned(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_dm *dm = memory(test, dev, 3 * PAGE_SIZE);

	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(dm->memory, 0, 3 * PAGE_SIZE), (void *)NULL);
	KUNIT_EXPECT_TRUE(test, PAGE_ALIGNED(dm->memory));
	srnic_dm_free(dm);
}

/*
 * TO 0 of a region is its first byte, wherever in the memory; its bounds are those of the region
 */
static void region_of_a_part(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_dm *dm = memory(test, dev, 3 * PAGE_SIZE);
	struct ib_pd *pd = fake_pd(test, dev);
	struct ib_mr *mr = srnic_mr_reg_dm(pd, dm, 20, 2 * PAGE_SIZE, ACCESS);
	struct srnic_access acc = { .length = 2 * PAGE_SIZE, .need = SRNIC_REMOTE_READ, .pd = pd };
	struct srnic_span span;
	u32 len = U32_MAX;

	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	acc.stag = mr->rkey;
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 0, &len), dm->memory + 20);
	KUNIT_EXPECT_GE(test, len, (u32)(2 * PAGE_SIZE));
	srnic_tpt_put(&span);
	acc.length++;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &span), SRNIC_TPT_BOUNDS);
	acc.length--;
	acc.need = SRNIC_REMOTE_WRITE;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &span), SRNIC_TPT_ACCESS);
	srnic_mr_dereg(mr);
	srnic_dm_free(dm);
}

/* A region of zero bytes is allowed, and no access to it is */
static void region_of_nothing(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_dm *dm = memory(test, dev, PAGE_SIZE);
	struct ib_pd *pd = fake_pd(test, dev);
	struct ib_mr *mr = srnic_mr_reg_dm(pd, dm, PAGE_SIZE, 0, ACCESS);
	struct srnic_access acc = { .length = 1, .need = SRNIC_REMOTE_READ, .pd = pd };
	struct srnic_span span;

	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	acc.stag = mr->rkey;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &span), SRNIC_TPT_BOUNDS);
	srnic_mr_dereg(mr);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(srnic_mr_reg_dm(pd, dm, 0, 8, ACCESS | BIT(30))),
			-EOPNOTSUPP);
	srnic_dm_free(dm);
}

static struct kunit_case dm_cases[] = {
	KUNIT_CASE(limit_of_the_device),
	KUNIT_CASE(zero_and_aligned),
	KUNIT_CASE(region_of_a_part),
	KUNIT_CASE(region_of_nothing),
	{}
};

static struct kunit_suite dm_suite = {
	.name = "srnic-dm",
	.test_cases = dm_cases,
};

kunit_test_suite(dm_suite);
