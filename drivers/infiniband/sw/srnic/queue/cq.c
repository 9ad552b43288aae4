// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion queues (RDMAC verbs 5.3, 8.2.4, 8.2.5). */

#include <linux/ktime.h>
#include <linux/log2.h>
#include "queue/cq.h"
#include "queue/wq.h"
#include "srnic.h"

/* Kernel CQs only: the CQE's QP was destroyed, skip it (QP-30) */
#define SRNIC_CQE_PURGED	BIT(31)

/**
 * srnic_cq_arm_fires - does an added CQE fire the arm? (CN-06 to CN-10)
 * @before: SRNIC_ARM_* that were requested before the CQE could be seen
 * @arm: those requested now
 * @seen: SRNIC_ARM_* that the CQE satisfies
 * @taken: the consumer has taken the CQE
 *
 * A consumer that armed later, and has taken the CQE, may have taken it before it armed: such
 * an arm is for the next CQE (CN-11). Context: any.
 */
bool srnic_cq_arm_fires(u32 before, u32 arm, u32 seen, bool taken)
{
	return arm & seen && (before & seen || !taken);
}

/* Bits of the arm word */
#define ARM_BITS	(SRNIC_ARM_NEXT | SRNIC_ARM_SOLICITED)

/* There is room for one more CQE, and what a user writes, index and arm word, is valid */
static bool cq_takes_more(const struct srnic_cq *cq)
{
	int filled = srnic_ring_filled(&cq->ring, cq->producer, srnic_cq_consumer(cq));

	return filled >= 0 && filled < cq->ring.entries &&
	       !(READ_ONCE(cq->ring.hdr->flags) & ~ARM_BITS);
}

/* Tries to change the arm word, which a user may be changing all the time */
#define ARM_TRIES	16

/*
 * cq->lock is held: the word moves with the ring. Clear the arm if it fires: at
 * most one notification for each arm (CN-05).
 */
static bool cq_take_arm(struct srnic_cq *cq, u32 before, u32 seen)
{
	u32 *arm = &cq->ring.hdr->flags;
	u32 now = READ_ONCE(*arm), old;
	bool taken;
	int i;

	for (i = 0; i < ARM_TRIES; i++) {
		smp_rmb();	/* arm, then index, which a user stores before it arms */
		taken = (s32)(srnic_cq_consumer(cq) - cq->producer) >= 0;
		if (!srnic_cq_arm_fires(before, now, seen, taken))
			return false;
		old = now;
		now = cmpxchg(arm, old, 0);
		if (now == old)
			return true;
	}
	return true;
}

/**
 * srnic_cq_add - add a completion
 * @cq: the CQ
 * @cqe: all is set except status, vendor_err and times, which are set here
 * @status: its status
 * @seen: SRNIC_ARM_* that the CQE satisfies are added if it fires an arm; pass
 *	  to srnic_cq_notify() later
 *
 * A receive of a solicited message and any error satisfy a solicited arm
 * (CN-08, CN-09). An arm that comes later is for later completions (CN-06).
 * The caller notifies after it has dropped its own locks, since a consumer may
 * post from its handler. Context: that of srnic_lock(); takes cq->lock.
 *
 * Return: 0, or -ENOSPC if the CQ is full, if its user has spoilt its indices or
 * its arm word, or if one of these was found before: the caller's QP cannot go on
 * (SEC-10, AE-18).
 */
int srnic_cq_add(struct srnic_cq *cq, struct srnic_cqe *cqe,
		 enum srnic_wc_status status, u32 *seen)
{
	const u32 solicits = SRNIC_CQE_RQ | SRNIC_CQE_SOLICITED;
	u32 satisfies = SRNIC_ARM_NEXT, before;
	unsigned long flags;

	if (status != SRNIC_WC_SUCCESS || (cqe->flags & solicits) == solicits)
		satisfies |= SRNIC_ARM_SOLICITED;
	cqe->status = srnic_wc_verbs_status(status);
	cqe->vendor_err = status;

	flags = srnic_lock(&cq->lock);
	if (cq->overflowed || !cq_takes_more(cq)) {
		if (!cq->overflowed)
			cq->overflow_event = true;
		cq->overflowed = true;
		srnic_unlock(&cq->lock, flags);
		return -ENOSPC;
	}
	/* taken under the lock: times grow in the order of the CQEs */
	cqe->timestamp = cq->times ? ktime_get_ns() : 0;
	cqe->wallclock = cq->times ? ktime_get_real_ns() : 0;
	memcpy(srnic_ring_slot(&cq->ring, cq->producer), cqe, sizeof(*cqe));
	WRITE_ONCE(cq->producer, cq->producer + 1);	/* nldev.c reads it at any time */
	before = READ_ONCE(cq->ring.hdr->flags);
	/* the CQE, then the index */
	smp_store_release(&cq->ring.hdr->producer, cq->producer);
	/* CQE, then arm word; the user arms, then polls (CN-11) */
	smp_mb();
	if (cq_take_arm(cq, before, satisfies))
		*seen |= satisfies;
	srnic_unlock(&cq->lock, flags);
	return 0;
}

/**
 * srnic_cq_notify - after CQEs were added: notify if due; report an overflow
 * @cq: the CQ
 * @seen: as srnic_cq_add() left it
 *
 * Context: that of srnic_lock(), without the QP's locks: calls the consumer's handlers. May take
 * cq->lock.
 */
void srnic_cq_notify(struct srnic_cq *cq, u32 seen)
{
	struct ib_cq *ibcq = &cq->ibcq;

	if (seen && ibcq->comp_handler)
		ibcq->comp_handler(ibcq, ibcq->cq_context);

	if (READ_ONCE(cq->overflow_event)) {
		unsigned long flags;
		bool raise;

		flags = srnic_lock(&cq->lock);
		raise = cq->overflow_event;
		cq->overflow_event = false;
		srnic_unlock(&cq->lock, flags);
		if (!raise)
			return;
		srnic_count(to_srnic_dev(ibcq->device), SRNIC_CNT_CQ_OVERFLOW);
		srnic_cq_raise(cq, SRNIC_EV_CQ_OVERFLOW);
	}
}

/**
 * srnic_cq_poll - take the oldest completion (kernel consumers)
 * @cq: of a kernel consumer
 * @cqe: filled in
 *
 * Also gives the WQE's slot back to its queue (WR-04): a CQE in the CQ means
 * that its QP exists, since srnic_cq_purge() takes the same lock.
 *
 * Context: any; takes cq->lock.
 * Return: 1, or 0 if the CQ is empty.
 */
int srnic_cq_poll(struct srnic_cq *cq, struct srnic_cqe *cqe)
{
	unsigned long flags;
	int found = 0;

	flags = srnic_lock(&cq->lock);
	while (!found && cq->consumer != cq->producer) {
		memcpy(cqe, srnic_ring_slot(&cq->ring, cq->consumer), sizeof(*cqe));
		cq->consumer++;
		if (!(cqe->flags & SRNIC_CQE_PURGED)) {
			srnic_qp_polled(to_srnic_dev(cq->ibcq.device), cqe);
			found = 1;
		}
	}
	srnic_unlock(&cq->lock, flags);
	return found;
}

/**
 * srnic_cq_arm - request a notification (kernel consumers)
 * @cq: the CQ
 * @arm: SRNIC_ARM_*, added to what is armed already (CN-07)
 * @report_missed: return whether completions are waiting
 *
 * Context: any; takes cq->lock.
 * Return: 1 if @report_missed and the CQ is not empty, else 0.
 */
int srnic_cq_arm(struct srnic_cq *cq, u32 arm, bool report_missed)
{
	unsigned long flags;
	int missed;

	flags = srnic_lock(&cq->lock);
	atomic_or(arm, (atomic_t *)&cq->ring.hdr->flags);
	missed = report_missed && cq->producer != cq->consumer;
	srnic_unlock(&cq->lock, flags);
	return missed;
}

/**
 * srnic_cq_purge - forget the completions of a QP that is being destroyed
 * @cq: of a kernel consumer; a user's CQ is purged by the provider
 * @qpn: the QP
 *
 * Context: process, may sleep: no CQE changes while a resize copies it.
 */
void srnic_cq_purge(struct srnic_cq *cq, u32 qpn)
{
	unsigned long flags;
	u32 i;

	if (!cq->kernel)
		return;
	mutex_lock(&cq->resize);
	flags = srnic_lock(&cq->lock);
	for (i = cq->consumer; i != cq->producer; i++) {
		struct srnic_cqe *cqe = srnic_ring_slot(&cq->ring, i);

		if (cqe->qpn != qpn || cqe->flags & SRNIC_CQE_PURGED)
			continue;
		cqe->flags |= SRNIC_CQE_PURGED;
		/* its WQE may be an SRQ's, which outlives the QP */
		srnic_qp_polled(to_srnic_dev(cq->ibcq.device), cqe);
	}
	srnic_unlock(&cq->lock, flags);
	mutex_unlock(&cq->resize);
}

/**
 * srnic_cq_create - set up a CQ (RDMAC verbs 5.3.1)
 * @cq: zeroed except the core's part
 * @entries: at least this many, 1 to SRNIC_MAX_CQE
 * @times: its CQEs have the time at which they were added
 * @uctx: the user, NULL for a kernel consumer
 *
 * Context: process, may sleep.
 * Return: 0 with cq->ibcq.cqe set to what was allocated, -EINVAL, -ENOMEM.
 */
int srnic_cq_create(struct srnic_cq *cq, u32 entries, bool times,
		    struct ib_ucontext *uctx)
{
	int err;

	if (!entries || entries > SRNIC_MAX_CQE)
		return -EINVAL;
	srnic_lock_init(&cq->lock, !uctx);
	srnic_cq_events_init(cq, uctx);
	mutex_init(&cq->resize);
	cq->kernel = !uctx;
	cq->times = times;
	err = srnic_ring_alloc(&cq->ring, roundup_pow_of_two(entries),
			       sizeof(struct srnic_cqe), uctx);
	if (!err)
		cq->ibcq.cqe = cq->ring.entries;
	return err;
}

/**
 * srnic_cq_destroy - free what srnic_cq_create() made
 * @cq: no QP refers to it any more (the core counts)
 * Context: process, may sleep.
 */
void srnic_cq_destroy(struct srnic_cq *cq)
{
	srnic_event_source_end(&cq->events);
	srnic_ring_free(&cq->next);
	srnic_ring_free(&cq->ring);
	mutex_destroy(&cq->resize);
}
