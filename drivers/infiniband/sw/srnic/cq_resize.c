// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resizing a CQ that is in use (RDMAC verbs 5.3.3, 9.2.3.3): all or nothing.
 *
 * In two steps, so that nothing can fail once the CQ has changed: a user maps
 * the new ring in between. The second step moves the CQEs that wait for their
 * consumer to the same indices of the new ring, and the arm word with them.
 * Whoever adds a CQE, takes an arm or arms in the kernel holds cq->lock; the
 * provider lets nobody poll or arm meanwhile.
 */

#include <linux/log2.h>
#include <linux/sched.h>
#include "cq.h"
#include "srnic.h"

static void copy_cqes(struct srnic_cq *cq, u32 from, u32 to)
{
	for (; from != to; from++)
		memcpy(srnic_ring_slot(&cq->next, from),
		       srnic_ring_slot(&cq->ring, from), sizeof(struct srnic_cqe));
}

/* Waiting CQEs; -EINVAL if a user scribbled over the index, or if they are too many */
static int count_waiting(const struct srnic_cq *cq, u32 producer, u32 consumer, u32 entries)
{
	int n = srnic_ring_filled(&cq->ring, producer, consumer);

	return n < 0 || (u32)n > entries ? -EINVAL : n;
}

/* Copied between two chances to reschedule */
#define COPY_BATCH	1024

/*
 * A user's CQEs are copied without the lock first, since they can be a million.
 * They do not change until the user says that they were polled, and what a user
 * writes there harms that user alone. Those of a kernel consumer may be purged.
 *
 * Return: 0, and @done is the index up to which all is copied; -EINVAL.
 */
static int copy_ahead(struct srnic_cq *cq, u32 entries, u32 *done)
{
	u32 consumer, producer, end;
	unsigned long flags;
	int n;

	spin_lock_irqsave(&cq->lock, flags);
	producer = cq->producer;
	consumer = srnic_cq_consumer(cq);
	spin_unlock_irqrestore(&cq->lock, flags);

	n = count_waiting(cq, producer, consumer, entries);
	if (n < 0)
		return n;
	*done = consumer;
	if (cq->kernel)
		return 0;
	for (; consumer != producer; consumer = end) {
		end = consumer + min_t(u32, producer - consumer, COPY_BATCH);
		copy_cqes(cq, consumer, end);
		cond_resched();
	}
	*done = producer;
	return 0;
}

static int resize_commit(struct srnic_cq *cq, u32 entries)
{
	struct srnic_ring old;
	unsigned long flags;
	u32 consumer, done;
	int n;

	if (!cq->next.hdr || roundup_pow_of_two(entries) != cq->next.entries)
		return -EINVAL;
	n = copy_ahead(cq, entries, &done);
	if (n)
		return n;

	spin_lock_irqsave(&cq->lock, flags);
	consumer = srnic_cq_consumer(cq);
	n = count_waiting(cq, cq->producer, consumer, entries);
	if (n < 0) {
		spin_unlock_irqrestore(&cq->lock, flags);
		return n;
	}
	/* what was added since, which no index of a user makes more than @entries */
	copy_cqes(cq, cq->producer - min_t(u32, n, cq->producer - done), cq->producer);
	cq->next.hdr->producer = cq->producer;
	cq->next.hdr->consumer = consumer;
	cq->next.hdr->flags = xchg(&cq->ring.hdr->flags, 0);
	old = cq->ring;
	cq->ring = cq->next;
	cq->ibcq.cqe = cq->ring.entries;
	spin_unlock_irqrestore(&cq->lock, flags);

	memset(&cq->next, 0, sizeof(cq->next));
	srnic_ring_free(&old);
	return 0;
}

/**
 * srnic_cq_resize_prepare - first step: make the new ring
 * @cq: the CQ, which stays as it is
 * @entries: at least this many, 1 to SRNIC_MAX_CQE
 * @uctx: the user who maps it next, NULL for a kernel consumer
 * @resp: filled in for a user
 *
 * A ring of an earlier first step is dropped. May sleep.
 *
 * Return: 0, -EINVAL, -ENOMEM.
 */
int srnic_cq_resize_prepare(struct srnic_cq *cq, u32 entries, struct ib_ucontext *uctx,
			    struct srnic_uresp_resize_cq *resp)
{
	int err;

	if (!entries || entries > SRNIC_MAX_CQE)
		return -EINVAL;
	mutex_lock(&cq->resize);
	srnic_ring_free(&cq->next);
	err = srnic_ring_alloc(&cq->next, roundup_pow_of_two(entries),
			       sizeof(struct srnic_cqe), uctx);
	if (!err && resp) {
		srnic_ring_describe(&cq->next, &resp->ring);
		resp->entries = cq->next.entries;
	}
	mutex_unlock(&cq->resize);
	return err;
}

/**
 * srnic_cq_resize_commit - second step: move to the new ring
 * @cq: the CQ
 * @entries: as in the first step
 *
 * An overflow is not undone by it. May sleep.
 *
 * Return: 0 with cq->ibcq.cqe set to what there is now; -EINVAL if there was no
 * first step, or more CQEs than @entries wait for their consumer (CQ-10): then
 * the CQ is as it was, and the new ring still there.
 */
int srnic_cq_resize_commit(struct srnic_cq *cq, u32 entries)
{
	int err;

	if (!entries || entries > SRNIC_MAX_CQE)
		return -EINVAL;
	mutex_lock(&cq->resize);
	err = resize_commit(cq, entries);
	mutex_unlock(&cq->resize);
	return err;
}

/**
 * srnic_cq_resize_cancel - in place of the second step: drop the new ring
 * @cq: the CQ, which stays as it is
 *
 * May sleep.
 */
void srnic_cq_resize_cancel(struct srnic_cq *cq)
{
	mutex_lock(&cq->resize);
	srnic_ring_free(&cq->next);
	mutex_unlock(&cq->resize);
}

/**
 * srnic_cq_resize - both steps (kernel consumers)
 * @cq: the CQ
 * @entries: at least this many, 1 to SRNIC_MAX_CQE
 *
 * May sleep.
 *
 * Return: 0; -EINVAL, -ENOMEM, and the CQ is as it was.
 */
int srnic_cq_resize(struct srnic_cq *cq, u32 entries)
{
	int err;

	err = srnic_cq_resize_prepare(cq, entries, NULL, NULL);
	if (!err)
		err = srnic_cq_resize_commit(cq, entries);
	if (err)
		srnic_cq_resize_cancel(cq);
	return err;
}
