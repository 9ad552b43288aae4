// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* holder.c: how much of a device one user can have, and what is left for others. */
#include <kunit/test.h>
#include "fake.h"

static struct srnic_holder *open_as(struct kunit *test, struct srnic_device *dev,
				    unsigned int uid)
{
	struct as as = as_user(test, uid, false);
	struct srnic_holder *holder = srnic_holder_open(dev);

	as_before(as);
	KUNIT_ASSERT_NOT_NULL(test, holder);
	return holder;
}

static int take_as(struct kunit *test, struct srnic_device *dev, struct srnic_holder *holder,
		   bool resource, enum srnic_kind kind, long n)
{
	struct as as = as_user(test, 1000, resource);
	int err = srnic_take(dev, holder, kind, n);

	as_before(as);
	return err;
}

static const struct {
	enum srnic_kind kind;
	long most;
} kinds[] = {
	{ SRNIC_KIND_PD, SRNIC_MAX_PD },
	{ SRNIC_KIND_CQ, SRNIC_MAX_CQ },
	{ SRNIC_KIND_SRQ, SRNIC_MAX_SRQ },
	{ SRNIC_KIND_QP, SRNIC_MAX_QP },
	{ SRNIC_KIND_MR, SRNIC_MAX_MR },
	{ SRNIC_KIND_MW, SRNIC_MAX_MW },
	{ SRNIC_KIND_AH, SRNIC_MAX_AH },
	{ SRNIC_KIND_DM, SRNIC_MAX_DM },
};

/* One user gets half; another user gets the rest, and kernel consumers have their own share */
static void each_leaves_the_others_some(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_holder *one = open_as(test, dev, 1000);
	struct srnic_holder *two = open_as(test, dev, 1001);
	struct srnic_holder *root = open_as(test, dev, 0);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		enum srnic_kind kind = kinds[i].kind;
		long half = kinds[i].most / 2;

		KUNIT_EXPECT_EQ_MSG(test, take_as(test, dev, one, false, kind, half), 0, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, take_as(test, dev, one, false, kind, 1), -EDQUOT, "%u",
				    i);
		KUNIT_EXPECT_EQ_MSG(test, take_as(test, dev, two, false, kind, half), 0, "%u", i);
		/* no user, whatever its capabilities, gets more than there is */
		KUNIT_EXPECT_EQ_MSG(test, take_as(test, dev, root, true, kind, 1), -ENOMEM, "%u",
				    i);
		KUNIT_EXPECT_EQ_MSG(test, srnic_take(dev, NULL, kind, kinds[i].most), 0, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, srnic_take(dev, NULL, kind, 1), -ENOMEM, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, srnic_held(dev, kind), 2 * kinds[i].most, "%u", i);

		/* a refusal leaves nothing behind */
		srnic_give(dev, one, kind, 1);
		KUNIT_EXPECT_EQ_MSG(test, take_as(test, dev, one, false, kind, 1), 0, "%u", i);
		srnic_give(dev, one, kind, half);
		srnic_give(dev, two, kind, half);
		srnic_give(dev, NULL, kind, kinds[i].most);
		KUNIT_EXPECT_EQ_MSG(test, srnic_held(dev, kind), 0, "%u", i);
	}
	KUNIT_EXPECT_EQ(test, srnic_counter(dev, SRNIC_CNT_OBJ_USER_LIMIT), ARRAY_SIZE(kinds));
	srnic_holder_close(dev, one);
	srnic_holder_close(dev, two);
	srnic_holder_close(dev, root);
}

/* Like max_user_qps, the share does not bound CAP_SYS_RESOURCE */
static void resource_may_have_all(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_holder *root = open_as(test, dev, 0);

	KUNIT_EXPECT_EQ(test, take_as(test, dev, root, true, SRNIC_KIND_PD, SRNIC_MAX_PD), 0);
	KUNIT_EXPECT_EQ(test, take_as(test, dev, root, true, SRNIC_KIND_PD, 1), -ENOMEM);
	srnic_give(dev, root, SRNIC_KIND_PD, SRNIC_MAX_PD);
	srnic_holder_close(dev, root);
}

/* Objects count for the user, in whichever process, until they are released */
static void a_user_is_one_holder(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_holder *one = open_as(test, dev, 1000);

	KUNIT_EXPECT_PTR_EQ(test, open_as(test, dev, 1000), one);
	KUNIT_EXPECT_PTR_NE(test, open_as(test, dev, 1001), one);
	srnic_holder_close(dev, one);
	KUNIT_EXPECT_PTR_EQ(test, open_as(test, dev, 1000), one);
	srnic_holder_close(dev, one);
	srnic_holder_close(dev, one);
	srnic_holder_close(dev, open_as(test, dev, 1001));
	KUNIT_EXPECT_FALSE(test, list_empty(&dev->holders));
	one = open_as(test, dev, 1001);
	srnic_holder_close(dev, one);
	srnic_holder_close(dev, one);
	KUNIT_EXPECT_TRUE(test, list_empty(&dev->holders));
	srnic_holders_exit(dev);
}

static int claim_as(struct kunit *test, unsigned int uid, struct srnic_qp *qp)
{
	static const struct srnic_llp_ops ops;
	struct as as = as_user(test, uid, false);
	int err = srnic_qp_claim(qp, &ops, qp);

	as_before(as);
	return err;
}

/* The claim of a program's QP counts against max_user_qps until it ends, and only once */
static void a_claim_is_charged(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_qp *qps = kunit_kzalloc(test, 3 * sizeof(*qps), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, qps);
	for (i = 0; i < 3; i++) {
		qps[i].dev = dev;
		spin_lock_init(&qps[i].lock);
	}
	qps[2].kernel = true;
	dev->policy.now.max_user_qps = 1;
	KUNIT_EXPECT_EQ(test, claim_as(test, 1000, &qps[0]), 0);
	KUNIT_EXPECT_EQ(test, claim_as(test, 1000, &qps[1]), -EDQUOT);
	KUNIT_EXPECT_EQ(test, claim_as(test, 1000, &qps[2]), 0);
	KUNIT_EXPECT_EQ(test, srnic_counter(dev, SRNIC_CNT_CONN_USER_LIMIT), 1);
	/* a claim that fails leaves no charge */
	KUNIT_EXPECT_EQ(test, claim_as(test, 1001, &qps[0]), -EBUSY);
	KUNIT_EXPECT_EQ(test, claim_as(test, 1001, &qps[1]), 0);
	/* only the owner of a claim ends it, and it has one end */
	srnic_qp_unclaim(&qps[0], dev);
	KUNIT_EXPECT_EQ(test, claim_as(test, 1000, &qps[0]), -EDQUOT);
	for (i = 0; i < 3; i++)
		srnic_qp_unclaim(&qps[i], &qps[i]);
	srnic_qp_unclaim(&qps[0], &qps[0]);
	KUNIT_EXPECT_EQ(test, claim_as(test, 1000, &qps[0]), 0);
	KUNIT_EXPECT_EQ(test, claim_as(test, 1000, &qps[1]), -EDQUOT);
	srnic_qp_unclaim(&qps[0], &qps[0]);
}

static struct kunit_case holder_cases[] = {
	KUNIT_CASE(each_leaves_the_others_some),
	KUNIT_CASE(resource_may_have_all),
	KUNIT_CASE(a_user_is_one_holder),
	KUNIT_CASE(a_claim_is_charged),
	{ }
};

static struct kunit_suite holder_suite = {
	.name = "srnic-holder",
	.test_cases = holder_cases,
};

kunit_test_suite(holder_suite);
