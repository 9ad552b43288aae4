// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Shared receive queues (RDMAC verbs 6.3).
 *
 * A WQE is copied when a message takes it, in the order of arrival (SR-15),
 * so slots of the ring come free in ring order. Posting is not bounded by the
 * ring but by a count: a WQE is the SRQ's until its completion was polled
 * (SR-13), in any order. So posted less polled is counted, by the provider for
 * a user's SRQ, here for a kernel consumer's.
 */

#include <linux/log2.h>
#include <linux/sched.h>
#include "queue/event.h"
#include "queue/srq.h"
#include "queue/state.h"
#include "queue/wqe.h"
#include "srnic.h"

/* RQEs to copy to another ring before takers get the lock */
#define COPY_BATCH	64

/* lock is held */
static u32 srq_producer(const struct srnic_srq *srq)
{
	/* pairs with the release of the provider; a kernel consumer posts under the lock */
	return srq->kernel ? srq->posted : smp_load_acquire(&srq->ring.hdr->producer);
}

static int srq_ring_alloc(const struct srnic_srq *srq, struct srnic_ring *ring, u32 max_wr,
			  struct ib_ucontext *uctx)
{
	u32 stride = sizeof(struct srnic_rqe) + srq->max_sge * sizeof(struct srnic_sge);

	return srnic_ring_alloc(ring, roundup_pow_of_two(max(max_wr, 1U)),
				roundup_pow_of_two(stride), uctx);
}

/**
 * srnic_srq_create - set up an SRQ (SR-06)
 * @srq: zeroed except the core's part
 * @attr: in: what is asked for; out: max_wr is what was allocated
 * @uctx: the user, NULL for a kernel consumer
 *
 * A limit that is not 0 is armed. Context: process, may sleep.
 *
 * Return: 0, -EINVAL above a limit of the device or with an SRQ limit above
 * max_wr, -ENOMEM.
 */
int srnic_srq_create(struct srnic_srq *srq, struct ib_srq_attr *attr,
		     struct ib_ucontext *uctx)
{
	int err;

	if (attr->max_wr > SRNIC_MAX_SRQ_WR || attr->max_sge > SRNIC_MAX_SGE ||
	    attr->srq_limit > attr->max_wr)
		return -EINVAL;
	srq->kernel = !uctx;
	srq->max_sge = attr->max_sge;
	mutex_init(&srq->modifying);
	srnic_lock_init(&srq->lock, !uctx);
	INIT_LIST_HEAD(&srq->waiters);
	srnic_srq_events_init(srq, uctx);
	err = srq_ring_alloc(srq, &srq->ring, attr->max_wr, uctx);
	if (err)
		return err;
	srq->max_wr = srq->ring.entries;
	srq->limit = attr->srq_limit;
	srq->armed = srq->limit;
	attr->max_wr = srq->max_wr;
	return 0;
}

/**
 * srnic_srq_destroy - free what srnic_srq_create() made (SR-10, SR-11)
 * @srq: no QP refers to it any more (the core counts)
 *
 * WQEs that were not taken go with it, without a completion. Context: process, may sleep.
 */
void srnic_srq_destroy(struct srnic_srq *srq)
{
	srnic_event_source_end(&srq->events);
	srnic_ring_free(&srq->ring);
	mutex_destroy(&srq->modifying);
}

/*
 * lock is held. May the SRQ have @attr->max_wr WQEs? (SR-09) @end is set to the producer
 * index that was checked: a user can change it at any time, so it is not read again.
 */
static int srq_check_size(const struct srnic_srq *srq, const struct ib_srq_attr *attr,
			  u32 mask, u32 *end)
{
	u32 limit = mask & IB_SRQ_LIMIT ? attr->srq_limit : srq->armed ? srq->limit : 0;
	int pending;

	*end = srq_producer(srq);
	pending = srq->broken ? -EPROTO : srnic_ring_filled(&srq->ring, *end, srq->taken);
	if (pending < 0 || limit > attr->max_wr)
		return -EINVAL;
	/* the provider counts a user's WQEs that were not polled, and calls only if they fit */
	if (srq->kernel)
		pending = srq->posted - atomic_read(&srq->polled);
	return pending <= attr->max_wr ? 0 : -EINVAL;
}

/* lock is held. Copy some RQEs from @next on. Return: where the next ones are, @end at most. */
static u32 srq_copy_some(struct srnic_srq *srq, struct srnic_ring *to, u32 next, u32 end)
{
	u32 n;

	if ((s32)(srq->taken - next) > 0)
		next = srq->taken;
	for (n = 0; n < COPY_BATCH && (s32)(end - next) > 0; n++, next++)
		memcpy(srnic_ring_slot(to, next), srnic_ring_slot(&srq->ring, next),
		       to->stride);
	return next;
}

/*
 * lock is held. The user finds the new ring by what is written into the old
 * one, since the answer of MODIFY_SRQ has no room for it. The kernel reads
 * none of it back.
 */
static void srq_publish_move(struct srnic_srq *srq, const struct srnic_ring *to, u32 end)
{
	struct srnic_ring_hdr *old = srq->ring.hdr;
	struct srnic_mmap desc;

	to->hdr->lost = srq->lost;
	to->hdr->producer = end;
	srnic_ring_describe(to, &desc);
	old->moved_entries = to->entries;
	old->moved = desc;
}

/*
 * Pending RQEs move to @ring, at the same indices; @ring gets the old memory.
 * Messages go on taking WQEs all the time (SR-08), and a kernel consumer goes
 * on posting; a user's provider does not, so its index is read once.
 */
static int srq_move(struct srnic_srq *srq, struct srnic_ring *ring,
		    const struct ib_srq_attr *attr, u32 mask)
{
	unsigned long flags;
	u32 next, end;
	int err;

	flags = srnic_lock(&srq->lock);
	err = srq_check_size(srq, attr, mask, &end);
	if (err)
		goto unlock;
	/* posts from now on are bounded by what both rings have room for */
	srq->max_wr = min(srq->ring.entries, ring->entries);
	next = srq->taken;
	for (;;) {
		next = srq_copy_some(srq, ring, next, end);
		if ((s32)(end - next) <= 0)
			break;
		srnic_unlock(&srq->lock, flags);
		cond_resched();
		flags = srnic_lock(&srq->lock);
		if (srq->kernel)
			end = srq->posted;
	}
	if (!srq->kernel)
		srq_publish_move(srq, ring, end);
	swap(srq->ring, *ring);
	srq->max_wr = srq->ring.entries;
	if (mask & IB_SRQ_LIMIT) {
		srq->limit = attr->srq_limit;
		srq->armed = srq->limit;
	}
unlock:
	srnic_unlock(&srq->lock, flags);
	return err;
}

static int srq_resize(struct srnic_srq *srq, struct ib_srq_attr *attr, u32 mask,
		      struct ib_ucontext *uctx)
{
	struct srnic_ring ring;
	int err;

	if (attr->max_wr > SRNIC_MAX_SRQ_WR)
		return -EINVAL;
	err = srq_ring_alloc(srq, &ring, attr->max_wr, uctx);
	if (err)
		return err;
	err = srq_move(srq, &ring, attr, mask);
	if (!err)
		attr->max_wr = srq->ring.entries;
	srnic_ring_free(&ring);		/* the old one, or after an error the new one */
	return err;
}

static int srq_set_limit(struct srnic_srq *srq, u32 limit)
{
	unsigned long flags;
	int err = 0;

	flags = srnic_lock(&srq->lock);
	if (limit > srq->max_wr) {
		err = -EINVAL;
	} else {
		srq->limit = limit;
		srq->armed = limit;
	}
	srnic_unlock(&srq->lock, flags);
	return err;
}

/**
 * srnic_srq_modify - resize, arm the limit (RDMAC verbs 9.2.4.3)
 * @srq: alive
 * @attr: new values; out: max_wr as allocated, if it was asked for
 * @mask: IB_SRQ_MAX_WR, IB_SRQ_LIMIT; others are ignored
 * @uctx: of the user, NULL for a kernel consumer
 *
 * A limit of 0 disarms. If fewer WQEs than the limit are available already, the
 * next one that is taken raises the event, which is for dropping below (SR-25).
 * Context: process, may sleep.
 *
 * Return: 0; or -EINVAL (above a limit of the device, below what is
 * outstanding, limit above max_wr; SR-09), -ENOMEM, and nothing has changed.
 */
int srnic_srq_modify(struct srnic_srq *srq, struct ib_srq_attr *attr, u32 mask,
		     struct ib_ucontext *uctx)
{
	int err = 0;

	mutex_lock(&srq->modifying);
	if (mask & IB_SRQ_MAX_WR)
		err = srq_resize(srq, attr, mask, uctx);
	else if (mask & IB_SRQ_LIMIT)
		err = srq_set_limit(srq, attr->srq_limit);
	mutex_unlock(&srq->modifying);
	return err;
}

/**
 * srnic_srq_query - attributes of an SRQ (SR-07)
 * @srq: alive
 * @attr: filled in; srq_limit is 0 if it is not armed, as ibv_query_srq(3) has it
 *
 * Context: that of srnic_lock(); takes the SRQ's lock.
 */
void srnic_srq_query(struct srnic_srq *srq, struct ib_srq_attr *attr)
{
	unsigned long flags;

	flags = srnic_lock(&srq->lock);
	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = srq->armed ? srq->limit : 0;
	srnic_unlock(&srq->lock, flags);
}

/**
 * srnic_srq_next - where a kernel consumer's next RQE goes
 * @srq: of a kernel consumer; its lock is held
 *
 * The caller fills the RQE in and increments @srq->posted.
 *
 * Context: any, with the SRQ's lock held.
 * Return: the slot, or NULL if the SRQ is full (SR-14).
 */
struct srnic_rqe *srnic_srq_next(struct srnic_srq *srq)
{
	if (srq->posted - (u32)atomic_read(&srq->polled) >= srq->max_wr)
		return NULL;
	return srnic_ring_slot(&srq->ring, srq->posted);
}

/**
 * srnic_srq_take - take the oldest WQE (SR-12)
 * @srq: alive
 * @rwr: filled in; room for srq->max_sge SGEs
 *
 * Context: as srnic_rq_take(), and without the SRQ's lock: may call the consumer's event handler.
 *
 * Return: as srnic_rq_take(); with -EPROTO the SRQ cannot be used any more.
 */
int srnic_srq_take(struct srnic_srq *srq, struct srnic_rwr *rwr)
{
	enum srnic_event event = SRNIC_EV_NONE;
	unsigned long flags;
	int n, err;

	flags = srnic_lock(&srq->lock);
	n = srq->broken ? -EPROTO :
	    srnic_ring_filled(&srq->ring, srq_producer(srq), srq->taken);
	if (n > 0) {
		rwr->index = srq->taken++;
		err = srnic_rqe_copy(rwr, srnic_ring_slot(&srq->ring, rwr->index), srq->max_sge);
		rwr->pd = srq->ibsrq.pd;
		if (srq->armed && n - 1 < srq->limit) {
			srq->armed = false;
			event = SRNIC_EV_SRQ_LIMIT;
		}
	} else if (!n) {
		err = -EAGAIN;
	} else {
		err = n;
		if (!srq->broken)
			event = SRNIC_EV_SRQ_CATASTROPHIC;
		srq->broken = true;
	}
	srnic_unlock(&srq->lock, flags);
	if (event)
		srnic_srq_raise(srq, event);
	return err;
}

/**
 * srnic_srq_is_empty - there is no WQE to take
 * @srq: alive
 *
 * Context: that of srnic_lock(); takes the SRQ's lock.
 *
 * Return: whether srnic_srq_take() would be -EAGAIN.
 */
bool srnic_srq_is_empty(struct srnic_srq *srq)
{
	unsigned long flags;
	bool empty;

	flags = srnic_lock(&srq->lock);
	empty = !srq->broken && !srnic_ring_filled(&srq->ring, srq_producer(srq), srq->taken);
	srnic_unlock(&srq->lock, flags);
	return empty;
}

/**
 * srnic_srq_await - a message waits for a WQE
 * @qp: with an SRQ; the caller is its rx kthread
 * Context: process.
 */
void srnic_srq_await(struct srnic_qp *qp)
{
	unsigned long flags;

	flags = srnic_lock(&qp->srq->lock);
	list_add_tail(&qp->srq_waiting, &qp->srq->waiters);
	srnic_unlock(&qp->srq->lock, flags);
}

static bool srq_is_first(const struct srnic_qp *qp)
{
	return qp->srq->waiters.next == &qp->srq_waiting;
}

/**
 * srnic_srq_await_end - end of srnic_srq_await()
 * @qp: as for srnic_srq_await()
 *
 * If it was the first of the waiters the next one becomes the first, and is woken: there may be
 * more WQEs, and if there are none that QP polls. Context: process.
 */
void srnic_srq_await_end(struct srnic_qp *qp)
{
	struct srnic_srq *srq = qp->srq;
	unsigned long flags;
	bool was_first;

	flags = srnic_lock(&srq->lock);
	was_first = srq_is_first(qp);
	list_del(&qp->srq_waiting);
	/* kick with the lock held: the waiter may be gone as soon as it is free */
	if (was_first && !list_empty(&srq->waiters))
		srnic_qp_kick_rx(list_first_entry(&srq->waiters, struct srnic_qp, srq_waiting));
	srnic_unlock(&srq->lock, flags);
}

/**
 * srnic_srq_is_first - is a QP the first that waits for a WQE?
 * @qp: between srnic_srq_await() and srnic_srq_await_end()
 * Context: that of srnic_lock(); takes the SRQ's lock.
 */
bool srnic_srq_is_first(struct srnic_qp *qp)
{
	unsigned long flags;
	bool first;

	flags = srnic_lock(&qp->srq->lock);
	first = srq_is_first(qp);
	srnic_unlock(&qp->srq->lock, flags);
	return first;
}

/**
 * srnic_srq_polled - the completion of a WQE was polled or purged (SR-13)
 * @srq: of a kernel consumer; a user's are counted by the provider
 *
 * Context: any, no lock needed.
 */
void srnic_srq_polled(struct srnic_srq *srq)
{
	atomic_inc(&srq->polled);
}

/**
 * srnic_srq_lose - a WQE has no completion and never will: its CQ overflowed
 * @srq: alive
 *
 * It counts as polled, or the SRQ would have a WQE less for good. Context: that of srnic_lock();
 * takes the SRQ's lock.
 */
void srnic_srq_lose(struct srnic_srq *srq)
{
	unsigned long flags;

	if (srq->kernel) {
		srnic_srq_polled(srq);
		return;
	}
	flags = srnic_lock(&srq->lock);
	srq->lost++;
	WRITE_ONCE(srq->ring.hdr->lost, srq->lost);
	srnic_unlock(&srq->lock, flags);
}
