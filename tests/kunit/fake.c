// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Objects of the core without an RDMA core, a netdev or a user around them. */
#include <linux/capability.h>
#include "device/policy_sysfs.h"
#include "fake.h"

/**
 * as_user - give the test's task another user's credentials, until as_before()
 * @test: runs in this task
 * @uid: the user
 * @resource: with all capabilities, or with none
 */
struct as as_user(struct kunit *test, unsigned int uid, bool resource)
{
	struct as as = { .cred = prepare_creds() };

	KUNIT_ASSERT_NOT_NULL(test, as.cred);
	as.cred->uid = KUIDT_INIT(uid);
	as.cred->euid = KUIDT_INIT(uid);
	if (!resource)
		cap_clear(as.cred->cap_effective);
	as.old = override_creds(as.cred);
	return as;
}

/**
 * as_before - end of as_user()
 * @as: from there
 */
void as_before(struct as as)
{
	revert_creds(as.old);
	put_cred(as.cred);
}

static void free_counters(struct kunit_resource *res)
{
	free_percpu(res->data);
}

static int keep(struct kunit_resource *res, void *context)
{
	res->data = context;
	return 0;
}

/**
 * fake_device - a device that is not registered
 * @test: whose end is the device's end
 */
struct srnic_device *fake_device(struct kunit *test)
{
	struct srnic_device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, dev);
	dev->ibdev.node_type = RDMA_NODE_RNIC;
	dev->counters = alloc_percpu(struct srnic_counters);
	KUNIT_ASSERT_NOT_NULL(test, dev->counters);
	kunit_alloc_resource(test, keep, free_counters, GFP_KERNEL, dev->counters);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->stags, XA_FLAGS_ALLOC1);
	srnic_policy_init(&dev->policy);
	srnic_holders_init(dev);
	spin_lock_init(&dev->gid_lock);
	return dev;
}

/**
 * fake_pd - a protection domain
 * @test: whose end is its end
 * @dev: its device
 */
struct ib_pd *fake_pd(struct kunit *test, struct srnic_device *dev)
{
	struct srnic_pd *pd = kunit_kzalloc(test, sizeof(*pd), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pd);
	pd->ibpd.device = &dev->ibdev;
	return &pd->ibpd;
}

static void count_completion(struct ib_cq *ibcq, void *context)
{
	struct fake_cq *fake = context;

	fake->notified++;
}

static void count_event(struct ib_event *event, void *context)
{
	struct fake_cq *fake = context;

	if (event->event == IB_EVENT_CQ_ERR && event->element.cq == &fake->cq.ibcq)
		fake->errors++;
}

static void free_cq(struct kunit_resource *res)
{
	srnic_cq_destroy(res->data);
}

/**
 * fake_cq - a CQ whose consumer counts notifications and events
 * @test: whose end is its end
 * @dev: its device
 * @entries: at least
 */
struct fake_cq *fake_cq(struct kunit *test, struct srnic_device *dev, u32 entries)
{
	struct fake_cq *fake = kunit_kzalloc(test, sizeof(*fake), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fake);
	fake->cq.ibcq.device = &dev->ibdev;
	fake->cq.ibcq.comp_handler = count_completion;
	fake->cq.ibcq.event_handler = count_event;
	fake->cq.ibcq.cq_context = fake;
	KUNIT_ASSERT_EQ(test, srnic_cq_create(&fake->cq, entries, false, NULL), 0);
	kunit_alloc_resource(test, keep, free_cq, GFP_KERNEL, &fake->cq);
	return fake;
}

/**
 * fake_expect_wc - the next completion of a CQ
 * @test: fails if it is another one, or none
 * @fake: the CQ
 * @wr_id: of the WR
 * @status: of the WR
 *
 * Context: any.
 */
void fake_expect_wc(struct kunit *test, struct fake_cq *fake, u64 wr_id,
		    enum srnic_wc_status status)
{
	struct srnic_cqe cqe;

	KUNIT_ASSERT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 1);
	KUNIT_EXPECT_EQ(test, cqe.wr_id, wr_id);
	KUNIT_EXPECT_EQ_MSG(test, cqe.vendor_err, status, "wr_id %llu", wr_id);
}

/**
 * fake_expect_no_wc - a CQ has no completion
 * @test: fails if it has one
 * @fake: the CQ
 *
 * Context: any.
 */
void fake_expect_no_wc(struct kunit *test, struct fake_cq *fake)
{
	struct srnic_cqe cqe;

	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&fake->cq, &cqe), 0);
}

/**
 * fake_qp_memory - what a consumer has of a QP before it creates it
 * @test: owns the memory
 * @dev: from fake_device()
 *
 * Context: process. Return: the QP, with a PD of its own.
 */
struct srnic_qp *fake_qp_memory(struct kunit *test, struct srnic_device *dev)
{
	struct srnic_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->ibqp.device = &dev->ibdev;
	qp->ibqp.pd = fake_pd(test, dev);
	return qp;
}

/**
 * fake_qp_create - create a QP of a kernel consumer; the test destroys it
 * @test: fails if it cannot be created
 * @qp: from fake_qp_memory()
 * @init: attributes; its CQs are set
 * @scq: of sends
 * @rcq: of receives
 *
 * Context: process.
 */
void fake_qp_create(struct kunit *test, struct srnic_qp *qp, struct ib_qp_init_attr *init,
		    struct fake_cq *scq, struct fake_cq *rcq)
{
	init->send_cq = &scq->cq.ibcq;
	init->recv_cq = &rcq->cq.ibcq;
	KUNIT_ASSERT_EQ(test, srnic_qp_create(qp, to_srnic_dev(qp->ibqp.device), init, NULL), 0);
}
