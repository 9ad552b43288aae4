// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resizing the SQ and the RQ of a QP that is in use (RDMAC verbs 6.1.3, QP-20 to QP-22): all or
 * nothing.
 *
 * In two steps, as a CQ: see cq_resize.c. The second step moves the WQEs that the kernel has yet
 * to read to the same indices of the new rings, and the send WRs in progress with them. All that
 * uses a ring holds sq_lock or rq_lock, and the second step holds both when it changes the QP:
 * nothing sees one queue of the old size and the other of the new one.
 */

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "queue/srq.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "srnic.h"

/* WQEs of each queue to copy before others get the locks */
#define COPY_BATCH	64

/**
 * struct move - a queue whose WQEs are copied to another ring
 * @next: index of the next WQE to copy
 * @end: index behind the last one, as it was checked: a user may change what it is read from
 */
struct move {
	u32 next;
	u32 end;
};

/* What both steps ask for. The RQ of a QP with an SRQ is not its own (QP-12) */
static int check_request(const struct srnic_qp *qp, const struct ib_qp_cap *cap)
{
	enum srnic_qp_state state = srnic_qp_state(qp);

	if (state != SRNIC_QP_IDLE && state != SRNIC_QP_RTS)
		return -EINVAL;
	if (cap->max_send_wr > SRNIC_MAX_QP_WR || cap->max_recv_wr > SRNIC_MAX_QP_WR)
		return -EINVAL;
	return qp->srq && cap->max_recv_wr ? -EINVAL : 0;
}

static u32 entries_of(u32 max_wr)
{
	return roundup_pow_of_two(max(max_wr, 1U));
}

/* ----- first step ----- */

static void free_next(struct srnic_qp *qp)
{
	kvfree(qp->next.swr);
	srnic_ring_free(&qp->next.rq);
	srnic_ring_free(&qp->next.sq);
	qp->next.swr = NULL;
}

/* Only a holder of @qp->resize changes the rings, so their strides can be read */
static int alloc_next(struct srnic_qp *qp, const struct ib_qp_cap *cap, struct ib_ucontext *uctx)
{
	struct srnic_queues *next = &qp->next;
	u32 sq_entries = entries_of(cap->max_send_wr);
	int err;

	err = srnic_ring_alloc(&next->sq, sq_entries, qp->sq.stride, uctx);
	if (!err && !qp->srq)
		err = srnic_ring_alloc(&next->rq, entries_of(cap->max_recv_wr), qp->rq.stride,
				       uctx);
	if (err)
		return err;
	next->swr = kvcalloc(sq_entries, sizeof(*next->swr), SRNIC_GFP_USER);
	return next->swr ? 0 : -ENOMEM;
}

/**
 * srnic_wq_resize_prepare - first step: make the new rings
 * @qp: alive; stays as it is
 * @cap: at least so many WRs; no other field is looked at
 * @uctx: the user that maps them next, NULL for a kernel consumer
 * @resp: filled in for a user
 *
 * Rings of an earlier first step are dropped. Context: process, may sleep.
 *
 * Return: 0; -EINVAL in a state other than Idle and RTS, above a limit, or for the RQ of a QP with
 * an SRQ; -ENOMEM.
 */
int srnic_wq_resize_prepare(struct srnic_qp *qp, const struct ib_qp_cap *cap,
			    struct ib_ucontext *uctx, struct srnic_uresp_qp_resize *resp)
{
	int err = check_request(qp, cap);

	if (err)
		return err;
	mutex_lock(&qp->resize);
	free_next(qp);
	err = alloc_next(qp, cap, uctx);
	if (err) {
		free_next(qp);
	} else if (resp) {
		srnic_ring_describe(&qp->next.sq, &resp->sq);
		srnic_ring_describe(&qp->next.rq, &resp->rq);
		resp->sq_entries = qp->next.sq.entries;
		resp->rq_entries = qp->next.rq.entries;
	}
	mutex_unlock(&qp->resize);
	return err;
}

/* ----- second step ----- */

/*
 * sq_lock is held. Do the WRs that are outstanding fit? A kernel consumer's are so until their
 * completion is polled; a user's are counted by the provider, which calls only if they fit.
 */
static int check_sq(const struct srnic_qp *qp, u32 max_wr, struct move *sq)
{
	u32 n;

	sq->end = srnic_sq_producer(qp);
	if (srnic_sq_filled(qp, sq->end) < 0)
		return -EINVAL;
	n = sq->end - (qp->kernel ? READ_ONCE(qp->sq_freed) : qp->sq_completed);
	return n <= max_wr ? 0 : -EINVAL;
}

/* rq_lock is held. As check_sq() */
static int check_rq(const struct srnic_qp *qp, u32 max_wr, struct move *rq)
{
	u32 n;

	if (qp->srq)
		return 0;
	rq->end = srnic_rq_producer(qp);
	if (srnic_ring_filled(&qp->rq, rq->end, qp->rq_taken) < 0)
		return -EINVAL;
	n = rq->end - (qp->kernel ? READ_ONCE(qp->rq_freed) : qp->rq_taken);
	return n <= max_wr ? 0 : -EINVAL;
}

/* The lock of the queue is held. WQEs before @begin are read already. Return: all are copied */
static bool copy_some(const struct srnic_ring *from, const struct srnic_ring *to, u32 begin,
		      struct move *wq)
{
	u32 n;

	if ((s32)(begin - wq->next) > 0)
		wq->next = begin;
	for (n = 0; n < COPY_BATCH && (s32)(wq->end - wq->next) > 0; n++, wq->next++)
		memcpy(srnic_ring_slot(to, wq->next), srnic_ring_slot(from, wq->next), to->stride);
	return (s32)(wq->end - wq->next) <= 0;
}

/* sq_lock is held. The words of the header are those that the user would find in the old ring */
static void swap_sq(struct srnic_qp *qp, u32 end)
{
	struct srnic_queues *next = &qp->next;
	u32 i;

	/* these change until the end, so they are copied here; they are small, and in cache */
	for (i = qp->sq_completed; i != qp->sq_fetched; i++)
		next->swr[i & (next->sq.entries - 1)] = qp->swr[i & (qp->sq.entries - 1)];
	next->sq.hdr->producer = end;
	next->sq.hdr->consumer = qp->sq_completed;
	next->sq.hdr->flags = qp->sq_wakeup ? SRNIC_RING_NEED_WAKEUP : 0;
	swap(qp->sq, next->sq);
	swap(qp->swr, next->swr);
}

/* rq_lock is held. As swap_sq() */
static void swap_rq(struct srnic_qp *qp, u32 end)
{
	struct srnic_ring *next = &qp->next.rq;

	if (qp->srq)
		return;
	next->hdr->producer = end;
	next->hdr->consumer = qp->rq_taken;
	next->hdr->flags = qp->rq_flushing || qp->rq_awaited ? SRNIC_RING_NEED_WAKEUP : 0;
	swap(qp->rq, *next);
}

/*
 * sq_lock and rq_lock are held. Return: 1 if the QP has the new rings, 0 if there is more to copy,
 * -EINVAL.
 */
static int commit_some(struct srnic_qp *qp, const struct ib_qp_cap *cap, struct move *sq,
		       struct move *rq)
{
	bool copied;
	int err;

	err = check_sq(qp, cap->max_send_wr, sq) ?: check_rq(qp, cap->max_recv_wr, rq);
	if (err)
		return err;
	copied = copy_some(&qp->sq, &qp->next.sq, qp->sq_fetched, sq);
	if (!qp->srq)
		copied &= copy_some(&qp->rq, &qp->next.rq, qp->rq_taken, rq);
	if (!copied)
		return 0;
	swap_sq(qp, sq->end);
	swap_rq(qp, rq->end);
	return 1;
}

/*
 * There may be thousands of WQEs, so others get the locks and the CPU after each batch. What was
 * copied does not change: a kernel consumer writes behind it, and what a user writes there harms
 * that user alone. If WRs are posted as fast as they are copied only a fatal signal ends this.
 */
static int resize_commit(struct srnic_qp *qp, const struct ib_qp_cap *cap)
{
	unsigned long sq_flags, rq_flags;
	struct move sq = { }, rq = { };
	bool first = true;
	int ret;

	do {
		sq_flags = srnic_lock(&qp->sq_lock);
		rq_flags = srnic_lock(&qp->rq_lock);
		if (first) {
			sq.next = qp->sq_fetched;
			rq.next = qp->rq_taken;
			first = false;
		}
		ret = commit_some(qp, cap, &sq, &rq);
		srnic_unlock(&qp->rq_lock, rq_flags);
		srnic_unlock(&qp->sq_lock, sq_flags);
		if (ret)
			return min(ret, 0);
		cond_resched();
	} while (!fatal_signal_pending(current));
	return -EINTR;
}

/**
 * srnic_wq_resize_commit - second step: move to the new rings
 * @qp: alive
 * @cap: as in the first step
 *
 * WRs go on being posted by a kernel consumer, and executed, in the meantime. Context: process,
 * may sleep; takes sq_lock and in it rq_lock, for a batch of WQEs at a time.
 *
 * Return: 0; as srnic_wq_resize_prepare(); -EINVAL if there was no such first step, or if more WRs
 * than @cap has room for are outstanding (QP-22); -EINTR if the process is being killed. After an
 * error the QP is as it was, and the new rings are still there.
 */
int srnic_wq_resize_commit(struct srnic_qp *qp, const struct ib_qp_cap *cap)
{
	int err = check_request(qp, cap);

	if (err)
		return err;
	mutex_lock(&qp->resize);
	if (!qp->next.sq.hdr || qp->next.sq.entries != entries_of(cap->max_send_wr) ||
	    (!qp->srq && qp->next.rq.entries != entries_of(cap->max_recv_wr)))
		err = -EINVAL;
	else
		err = resize_commit(qp, cap);
	if (!err)
		free_next(qp);	/* what was the QP's */
	mutex_unlock(&qp->resize);
	return err;
}

/**
 * srnic_wq_resize_cancel - in place of the second step: drop the new rings
 * @qp: stays as it is
 *
 * Context: process, may sleep.
 */
void srnic_wq_resize_cancel(struct srnic_qp *qp)
{
	mutex_lock(&qp->resize);
	free_next(qp);
	mutex_unlock(&qp->resize);
}

/**
 * srnic_wq_resize - both steps (kernel consumers)
 * @qp: alive
 * @cap: in: at least so many WRs; out: how many there are; no other field is looked at
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EINVAL, -ENOMEM, -EINTR, and the QP is as it was.
 */
int srnic_wq_resize(struct srnic_qp *qp, struct ib_qp_cap *cap)
{
	int err;

	err = srnic_wq_resize_prepare(qp, cap, NULL, NULL);
	if (!err)
		err = srnic_wq_resize_commit(qp, cap);
	if (err) {
		srnic_wq_resize_cancel(qp);
		return err;
	}
	cap->max_send_wr = entries_of(cap->max_send_wr);
	cap->max_recv_wr = qp->srq ? 0 : entries_of(cap->max_recv_wr);
	return 0;
}
