// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resizing a CQ that is in use (RDMAC verbs 5.3.3, 9.2.3.3): all or nothing.
 *
 * In two steps, so that nothing can fail once the CQ has changed: a user maps
 * the new ring in between. The second step moves the CQEs that wait for their
 * consumer to the same indices of the new ring, and the arm word with them.
 * The kernel adds CQEs, takes arms and arms under cq->lock; the provider lets no
 * thread poll or arm meanwhile.
 */

#include <linux/log2.h>
#include <linux/sched/signal.h>
#include "queue/cq.h"
#include "srnic.h"

/* CQEs to copy before others get cq->lock */
#define COPY_BATCH	256

/*
 * cq->lock is held.
 *
 * Return: CQEs that wait from @consumer on; -EINVAL if a user scribbled over that index,
 * or if they are more than @entries.
 */
static int count_waiting(const struct srnic_cq *cq, u32 consumer, u32 entries)
{
	int n = srnic_ring_filled(&cq->ring, cq->producer, consumer);

	return n < 0 || (u32)n > entries ? -EINVAL : n;
}

/* cq->lock is held. Copy some CQEs from @next on. Return: where the next ones are. */
static u32 copy_some(struct srnic_cq *cq, u32 next, u32 consumer)
{
	u32 n;

	if ((s32)(consumer - next) > 0)		/* polled meanwhile */
		next = consumer;
	for (n = 0; n < COPY_BATCH && next != cq->producer; n++, next++)
		memcpy(srnic_ring_slot(&cq->next, next),
		       srnic_ring_slot(&cq->ring, next), sizeof(struct srnic_cqe));
	return next;
}

/* cq->lock is held, and all that waits is copied. @old is set to what was the ring. */
static void swap_rings(struct srnic_cq *cq, u32 consumer, struct srnic_ring *old)
{
	cq->next.hdr->producer = cq->producer;
	cq->next.hdr->consumer = consumer;
	cq->next.hdr->flags = xchg(&cq->ring.hdr->flags, 0);
	*old = cq->ring;
	cq->ring = cq->next;
	cq->ibcq.cqe = cq->ring.entries;
}

/*
 * There may be a million CQEs, so others get the lock and the CPU after each batch. A CQE
 * that was copied does not change: purging waits, and what a user writes there harms that
 * user alone. If CQEs are added as fast as they are copied only a fatal signal ends this.
 */
static int resize_commit(struct srnic_cq *cq, u32 entries)
{
	struct srnic_ring old;
	unsigned long flags;
	u32 consumer, next;
	int err;

	if (!cq->next.hdr || roundup_pow_of_two(entries) != cq->next.entries)
		return -EINVAL;
	flags = srnic_lock(&cq->lock);
	next = cq->producer - cq->ring.entries;		/* none is older */
	for (;;) {
		consumer = srnic_cq_consumer(cq);
		err = count_waiting(cq, consumer, entries);
		if (err < 0)
			break;
		next = copy_some(cq, next, consumer);
		if (next == cq->producer) {
			swap_rings(cq, consumer, &old);
			err = 0;
			break;
		}
		srnic_unlock(&cq->lock, flags);
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		flags = srnic_lock(&cq->lock);
	}
	srnic_unlock(&cq->lock, flags);
	if (err)
		return err;
	memset(&cq->next, 0, sizeof(cq->next));
	srnic_ring_free(&old);
	return 0;
}

/**
 * srnic_cq_resize_prepare - first step: make the new ring
 * @cq: the CQ, which stays as it is
 * @entries: at least this many, 1 to SRNIC_MAX_CQE
 * @uctx: the user that maps it next, NULL for a kernel consumer
 * @resp: filled in for a user
 *
 * A ring of an earlier first step is dropped. Context: process, may sleep.
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
 * An overflow is not undone by it. Context: process, may sleep.
 *
 * Return: 0 with cq->ibcq.cqe set to what there is now; -EINVAL if there was no
 * first step, or more CQEs than @entries wait for their consumer (CQ-10); -EINTR if
 * the process is being killed. After an error the CQ is as it was, and the new ring
 * still there.
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
 * Context: process, may sleep.
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
 * Context: process, may sleep.
 *
 * Return: 0; -EINVAL, -ENOMEM, -EINTR, and the CQ is as it was.
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
