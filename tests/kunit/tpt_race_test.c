// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* tpt.c: concurrent accesses on several CPUs, while an entry becomes Invalid. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include "fake.h"
#include "memory/mr.h"

#define MAX_THREADS	8

struct accessor {
	struct srnic_device *dev;
	struct srnic_access acc;
	struct task_struct *task;
	const bool *closed;	/* while set, no access may be in progress */
	u64 passed;
	u64 refused;
	u64 intruded;
};

static int access_thread(void *arg)
{
	struct accessor *a = arg;
	struct srnic_span span;

	while (!kthread_should_stop()) {
		int i;

		for (i = 0; i < 1000; i++) {
			if (srnic_tpt_get(a->dev, &a->acc, &span)) {
				a->refused++;
				continue;
			}
			a->intruded += READ_ONCE(*a->closed);
			a->passed++;
			srnic_tpt_put(&span);
		}
		cond_resched();
	}
	return 0;
}

struct race {
	struct srnic_device *dev;
	struct ib_pd *pd;
	struct srnic_mr *mr;
	struct accessor accessors[MAX_THREADS];
	int count;
	bool closed;
};

static void race_open(struct kunit *test, struct race *race)
{
	race->dev = fake_device(test);
	race->pd = fake_pd(test, race->dev);
	race->mr = to_srnic_mr(srnic_mr_get_dma(race->pd, IB_ACCESS_LOCAL_WRITE));
	race->closed = false;
}

static void race_start(struct kunit *test, struct race *race, int count)
{
	int i;

	race->count = count;
	for (i = 0; i < count; i++) {
		struct accessor *a = &race->accessors[i];

		*a = (struct accessor){
			.dev = race->dev,
			.acc = { .stag = race->mr->tpte.stag, .to = 1, .length = 1,
				 .need = SRNIC_LOCAL_READ, .pd = race->pd },
			.closed = &race->closed,
		};
		a->task = kthread_create(access_thread, a, "srnic-kunit");
		KUNIT_ASSERT_FALSE(test, IS_ERR(a->task));
		kthread_bind(a->task, cpumask_nth(i % num_online_cpus(), cpu_online_mask));
		wake_up_process(a->task);
	}
}

/* Return: accesses that passed, of all threads */
static u64 race_stop(struct kunit *test, struct race *race)
{
	u64 passed = 0;
	int i;

	for (i = 0; i < race->count; i++) {
		struct accessor *a = &race->accessors[i];

		kthread_stop(a->task);
		passed += a->passed;
		KUNIT_EXPECT_EQ(test, a->intruded, 0);
	}
	return passed;
}

/* One region, accessed on all CPUs: prints the cost of an access */
static void accesses_on_all_cpus(struct kunit *test)
{
	int cpus = min_t(int, num_online_cpus(), MAX_THREADS);
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	int threads;

	KUNIT_ASSERT_NOT_NULL(test, race);
	race_open(test, race);
	for (threads = 1; threads <= cpus; threads++) {
		ktime_t start = ktime_get();
		u64 passed;
		s64 ns;

		race_start(test, race, threads);
		msleep(300);
		passed = race_stop(test, race);
		ns = ktime_to_ns(ktime_sub(ktime_get(), start));
		KUNIT_EXPECT_GT(test, passed, 0);
		kunit_info(test, "%d CPUs: %llu ns for each access of a CPU\n", threads,
			   div64_u64(ns * threads, passed ?: 1));
	}
	srnic_mr_dereg(&race->mr->ibmr);
}

/* Suspending waits for accesses on all CPUs, wherever they began (SEC-6, MR-36) */
static void suspending_ends_the_accesses_of_all_cpus(struct kunit *test)
{
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	struct srnic_tpte *tpte;
	u64 passed;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	race_open(test, race);
	tpte = &race->mr->tpte;
	race_start(test, race, min_t(int, 2 * num_online_cpus(), MAX_THREADS));
	for (i = 0; i < 2000; i++) {
		KUNIT_ASSERT_EQ(test, srnic_tpt_suspend(tpte), 0);
		WRITE_ONCE(race->closed, true);
		udelay(5);
		WRITE_ONCE(race->closed, false);
		spin_lock_bh(&tpte->lock);
		srnic_tpte_validate(tpte);
		spin_unlock_bh(&tpte->lock);
		cond_resched();
		if (i % 8 == 0)
			usleep_range(20, 100);
	}
	passed = race_stop(test, race);
	KUNIT_EXPECT_GT(test, passed, 0);
	KUNIT_EXPECT_EQ(test, srnic_mr_dereg(&race->mr->ibmr), 0);
}

static struct kunit_case tpt_race_cases[] = {
	KUNIT_CASE(accesses_on_all_cpus),
	KUNIT_CASE(suspending_ends_the_accesses_of_all_cpus),
	{}
};

static struct kunit_suite tpt_race_suite = {
	.name = "srnic-tpt-race",
	.test_cases = tpt_race_cases,
};

kunit_test_suite(tpt_race_suite);
