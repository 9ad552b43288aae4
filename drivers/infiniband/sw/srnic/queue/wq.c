// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work queues: how WQEs come in, and how each completes exactly once.
 *
 * Send WRs complete in the order they were posted (ORD-15), while a Read is
 * done only when its response came: srnic_sq_done() marks a WR, and CQEs are
 * written for as many WRs at the head as are marked, and acknowledged where the
 * peer does that.
 */

#include <linux/sched.h>
#include "queue/cq.h"
#include "queue/srq.h"
#include "queue/state.h"
#include "queue/trace.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "srnic.h"

/**
 * srnic_sq_producer - index behind the last send WQE that was posted
 * @qp: alive; its sq_lock is held
 *
 * Context: any, with sq_lock held. Return: the index; a program may have written any value.
 */
u32 srnic_sq_producer(const struct srnic_qp *qp)
{
	const u32 *index = qp->kernel ? &qp->sq_posted : &qp->sq.hdr->producer;

	/* pairs with the release of post_send, in the kernel or in the provider */
	return smp_load_acquire(index);
}

/**
 * srnic_rq_producer - index behind the last receive WQE that was posted
 * @qp: alive, without an SRQ; its rq_lock is held
 *
 * Context: any, with rq_lock held. Return: as srnic_sq_producer().
 */
u32 srnic_rq_producer(const struct srnic_qp *qp)
{
	const u32 *index = qp->kernel ? &qp->rq_posted : &qp->rq.hdr->producer;

	/* as for the SQ */
	return smp_load_acquire(index);
}

/**
 * srnic_sq_filled - send WQEs between the next one to fetch and a producer index
 * @qp: alive; its sq_lock is held
 * @producer: of srnic_sq_producer(), which is read once
 *
 * Context: any, with sq_lock held. Return: as srnic_sq_pending().
 */
int srnic_sq_filled(const struct srnic_qp *qp, u32 producer)
{
	if (srnic_ring_filled(&qp->sq, producer, qp->sq_completed) < 0)
		return -EPROTO;
	return srnic_ring_filled(&qp->sq, producer, qp->sq_fetched);
}

/**
 * srnic_sq_pending - send WQEs posted and not fetched
 * @qp: alive
 *
 * Context: that of srnic_lock(), without the QP's locks; takes sq_lock, since the ring may move.
 *
 * Return: how many; -EPROTO if the ring's index was tampered with: a slot is
 * taken until its WR has completed, not only until it is fetched.
 */
int srnic_sq_pending(struct srnic_qp *qp)
{
	unsigned long flags;
	int n;

	flags = srnic_lock(&qp->sq_lock);
	n = srnic_sq_filled(qp, srnic_sq_producer(qp));
	srnic_unlock(&qp->sq_lock, flags);
	return n;
}

/**
 * srnic_sq_empty - is no send WR posted or in progress?
 * @qp: alive
 * Context: as srnic_sq_pending().
 */
bool srnic_sq_empty(struct srnic_qp *qp)
{
	return READ_ONCE(qp->sq_completed) == READ_ONCE(qp->sq_fetched) &&
	       !srnic_sq_pending(qp);
}

/* sq_lock is held */
static void sq_set_wakeup(struct srnic_qp *qp, bool wanted)
{
	WRITE_ONCE(qp->sq_wakeup, wanted);
	/* the doorbell that this asks for finds what was stored before */
	smp_store_release(&qp->sq.hdr->flags, wanted ? SRNIC_RING_NEED_WAKEUP : 0);
}

/**
 * srnic_sq_set_wakeup - say whether a post to the SQ is to ring the doorbell
 * @qp: alive
 * @wanted: it is
 *
 * The caller needs a full barrier before its last look at the SQ. Context: as srnic_sq_pending().
 */
void srnic_sq_set_wakeup(struct srnic_qp *qp, bool wanted)
{
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	sq_set_wakeup(qp, wanted);
	srnic_unlock(&qp->sq_lock, flags);
}

/* Receive WQEs that were posted and not taken; none with an SRQ. Takes rq_lock */
static int rq_pending(struct srnic_qp *qp, u32 *size)
{
	unsigned long flags;
	int n;

	*size = 0;
	if (qp->srq)
		return 0;
	flags = srnic_lock(&qp->rq_lock);
	*size = qp->rq.entries;
	n = srnic_ring_filled(&qp->rq, srnic_rq_producer(qp), qp->rq_taken);
	srnic_unlock(&qp->rq_lock, flags);
	return n;
}

/**
 * srnic_wq_query - sizes and fill of the queues
 * @qp: alive
 * @use: filled in
 *
 * Context: that of srnic_lock(), without the QP's locks; takes sq_lock, then rq_lock.
 */
void srnic_wq_query(struct srnic_qp *qp, struct srnic_wq_use *use)
{
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	use->sq_size = qp->sq.entries;
	use->sq_fill = srnic_ring_filled(&qp->sq, srnic_sq_producer(qp), qp->sq_completed);
	srnic_unlock(&qp->sq_lock, flags);
	use->rq_fill = rq_pending(qp, &use->rq_size);
}

/* sq_lock is held. Write the CQE of a send WR, if the WR gives one. */
static int sq_write_cqe(struct srnic_qp *qp, u32 index, const struct srnic_swr *swr,
			enum srnic_wc_status status, u32 *seen)
{
	struct srnic_cqe cqe = {
		.wr_id = swr->wr_id,
		.opcode = swr->opcode,
		.byte_len = swr->byte_len,
		.qpn = qp->ibqp.qp_num,
		.flags = swr->flags & SRNIC_SQE_SOLICITED ? SRNIC_CQE_SOLICITED : 0,
		.wqe_index = index,
	};

	if (status == SRNIC_WC_SUCCESS && !(swr->flags & SRNIC_SQE_SIGNALED))
		return 0;
	if (status > SRNIC_WC_FLUSHED)
		trace_srnic_wqe_error(qp, swr->wr_id, status);
	return srnic_cq_add(qp->scq, &cqe, status, seen);
}

/* sq_lock is held. Is a WR that was fetched over, with success? */
static bool sq_is_over(const struct srnic_qp *qp, const struct srnic_swr *swr)
{
	/* both numbers are 0 without acknowledgments */
	if ((s32)(swr->acked_at - qp->sq_acked) > 0)
		return false;
	if (swr->state == SRNIC_SWR_DONE)
		return swr->status == SRNIC_WC_SUCCESS;
	/* the peer has all of it, though TCP has not taken all of the batch it is in */
	return qp->acks && srnic_op_messages(swr->opcode);
}

/* WRs to complete each time sq_lock is held */
#define DONE_BATCH	64

/*
 * sq_lock is held. Complete WRs at the head that are over. Return: whether there may be more of
 * them
 */
static bool sq_complete_some(struct srnic_qp *qp, u32 *seen, int *err)
{
	u32 n;

	for (n = 0; n < DONE_BATCH && qp->sq_completed != qp->sq_fetched; n++) {
		u32 index = qp->sq_completed;
		struct srnic_swr *swr = &qp->swr[index & (qp->sq.entries - 1)];

		if (!sq_is_over(qp, swr))
			return false;
		swr->state = SRNIC_SWR_FREE;
		/* before the CQE that lets the slot be posted to again, see srnic_sq_pending() */
		WRITE_ONCE(qp->sq_completed, index + 1);
		*err = sq_write_cqe(qp, index, swr, SRNIC_WC_SUCCESS, seen);
		if (*err)
			return false;
	}
	return n == DONE_BATCH;
}

/*
 * sq_lock is held, and is let go. Complete the WRs at the head that are over: as many as the queue
 * has, if the first one has waited for the peer. Others get the lock after each batch, and each
 * takes the next WR under the lock, so all complete once and in their order.
 */
static void sq_complete(struct srnic_qp *qp, unsigned long flags)
	__releases(&qp->sq_lock.lock)
{
	bool more;

	for (;;) {
		u32 seen = 0;
		int err = 0;

		more = sq_complete_some(qp, &seen, &err);
		srnic_unlock(&qp->sq_lock, flags);
		srnic_cq_notify(qp->scq, seen);
		if (err)
			srnic_qp_fail(qp, RDMAP_E_CQ_OVERFLOW, NULL, 0, false);
		if (!more)
			return;
		flags = srnic_lock(&qp->sq_lock);
	}
}

/**
 * srnic_sq_done - a send WR is done
 * @qp: alive
 * @index: its ring index
 * @status: how it ended
 *
 * If @status is an error the caller, and not this function, fails the QP. Completions behind a WR
 * in error wait for the flush. The response of a Read or an atomic also acknowledges all WRs before
 * it: the peer has answered in order. Context: that of srnic_lock(), without the QP's locks; takes
 * sq_lock for a batch of WRs at a time.
 */
void srnic_sq_done(struct srnic_qp *qp, u32 index, enum srnic_wc_status status)
{
	struct srnic_swr *swr;
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	swr = &qp->swr[index & (qp->sq.entries - 1)];
	swr->status = status;
	swr->state = SRNIC_SWR_DONE;
	if (status == SRNIC_WC_SUCCESS && (s32)(swr->acked_at - qp->sq_acked) > 0)
		qp->sq_acked = swr->acked_at;
	sq_complete(qp, flags);
}

/**
 * srnic_sq_sent - complete send WRs whose messages TCP has taken
 * @qp: alive
 * @from: ring index of the first WR
 * @to: index behind the last WR; all of them are fetched
 *
 * The WRs are done, except those that await a response. Context: as srnic_sq_done().
 */
void srnic_sq_sent(struct srnic_qp *qp, u32 from, u32 to)
{
	unsigned long flags;

	while ((s32)(to - from) > 0) {
		u32 n = 0;

		flags = srnic_lock(&qp->sq_lock);
		/* a Read that was answered: its slot may be another WR's by now */
		if ((s32)(qp->sq_completed - from) > 0)
			from = qp->sq_completed;
		for (; (s32)(to - from) > 0 && n < DONE_BATCH; from++, n++) {
			struct srnic_swr *swr = &qp->swr[from & (qp->sq.entries - 1)];

			/* a WR in error is done already */
			if (swr->state != SRNIC_SWR_ACTIVE || srnic_op_has_response(swr->opcode))
				continue;
			swr->status = SRNIC_WC_SUCCESS;
			swr->state = SRNIC_SWR_DONE;
		}
		sq_complete(qp, flags);
	}
}

/**
 * srnic_sq_acked - the peer has acknowledged messages
 * @qp: with a stream that has acknowledgments
 * @number: of messages since the stream began, modulo 2^32; all of them were staged. One that is
 *	    not new changes nothing
 *
 * Context: as srnic_sq_done().
 */
void srnic_sq_acked(struct srnic_qp *qp, u32 number)
{
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	if ((s32)(number - qp->sq_acked) > 0)
		qp->sq_acked = number;
	sq_complete(qp, flags);
}

/*
 * WRs to flush each time the lock is held. In between other contexts may flush, too: each
 * takes the next WR under the lock, so all complete once and in their order.
 */
#define FLUSH_BATCH	64

/* sq_lock is held. Return: the status of the next WR that has none of its own */
static enum srnic_wc_status sq_flush_status(struct srnic_qp *qp)
{
	enum srnic_wc_status status = qp->sq_first ?: SRNIC_WC_FLUSHED;

	if (qp->sq_first == SRNIC_WC_NO_PEER)
		srnic_count(qp->dev, SRNIC_CNT_CONN_NO_PEER);
	qp->sq_first = 0;
	return status;
}

/* sq_lock is held. Flush a WR that was fetched */
static void sq_flush_fetched(struct srnic_qp *qp, u32 index, u32 *seen)
{
	struct srnic_swr *swr = &qp->swr[index & (qp->sq.entries - 1)];
	bool failed = swr->state == SRNIC_SWR_DONE && swr->status != SRNIC_WC_SUCCESS;

	swr->state = SRNIC_SWR_FREE;
	sq_write_cqe(qp, index, swr, failed ? swr->status : sq_flush_status(qp), seen);
}

/* sq_lock is held. Flush a WR that is still in its slot */
static void sq_flush_posted(struct srnic_qp *qp, u32 index, u32 *seen)
{
	const struct srnic_sqe *sqe = srnic_ring_slot(&qp->sq, index);
	struct srnic_swr swr = {
		.wr_id = READ_ONCE(sqe->wr_id),
		.opcode = READ_ONCE(sqe->opcode),
		.flags = READ_ONCE(sqe->flags),
	};

	sq_write_cqe(qp, index, &swr, sq_flush_status(qp), seen);
}

/* sq_lock is held. Complete WRs before @end. Return: whether some are left. */
static bool sq_flush_some(struct srnic_qp *qp, u32 end, u32 *seen)
{
	u32 n;

	for (n = 0; (s32)(end - qp->sq_completed) > 0; n++) {
		u32 index = qp->sq_completed;

		if (n == FLUSH_BATCH)
			return true;
		/* before the CQE that lets the slot be posted to again, see srnic_sq_pending() */
		WRITE_ONCE(qp->sq_completed, index + 1);
		if (index != qp->sq_fetched) {
			sq_flush_fetched(qp, index, seen);
		} else {
			WRITE_ONCE(qp->sq_fetched, index + 1);
			sq_flush_posted(qp, index, seen);
		}
	}
	return false;
}

/*
 * @begin: flushing starts; else it goes on if it has not ended meanwhile. Only what was
 * posted before the call is flushed here: later posts ring the doorbell.
 */
static void sq_flush(struct srnic_qp *qp, bool begin)
{
	unsigned long flags;
	bool more = true;
	int pending;
	u32 end;

	flags = srnic_lock(&qp->sq_lock);
	if (begin) {
		qp->sq_flushing = true;
		qp->orq_head = qp->orq_tail;
		sq_set_wakeup(qp, true);
	}
	smp_mb();	/* flag, then index; the provider has it the other way round */
	pending = srnic_sq_filled(qp, srnic_sq_producer(qp));
	if (pending < 0 && begin)
		srnic_count(qp->dev, SRNIC_CNT_RING_CORRUPT);
	end = qp->sq_fetched + max(pending, 0);
	while (more && qp->sq_flushing) {
		u32 seen = 0;

		more = sq_flush_some(qp, end, &seen);
		srnic_unlock(&qp->sq_lock, flags);
		srnic_cq_notify(qp->scq, seen);
		if (!begin && !qp->kernel)	/* a user's doorbell is a system call */
			cond_resched();
		flags = srnic_lock(&qp->sq_lock);
	}
	srnic_unlock(&qp->sq_lock, flags);
}

/**
 * srnic_sq_fail_first - the peer has refused the first WR that it has not acknowledged
 * @qp: with a stream, which ends
 * @status: why
 *
 * The first WR to be flushed then has @status. Context: that of srnic_lock(); takes sq_lock.
 *
 * Return: false if there is no such WR.
 */
bool srnic_sq_fail_first(struct srnic_qp *qp, enum srnic_wc_status status)
{
	unsigned long flags;
	bool any;

	flags = srnic_lock(&qp->sq_lock);
	any = qp->sq_completed != qp->sq_fetched;
	if (any)
		qp->sq_first = status;
	srnic_unlock(&qp->sq_lock, flags);
	return any;
}

/**
 * srnic_sq_no_peer - the QP has no peer to send to
 * @qp: is going to Error
 *
 * The first WR to be flushed then has SRNIC_WC_NO_PEER, even if it is posted later: InfiniBand
 * reports a lost peer in this way. Context: that of srnic_lock(); takes sq_lock.
 */
void srnic_sq_no_peer(struct srnic_qp *qp)
{
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	qp->sq_first = SRNIC_WC_NO_PEER;
	srnic_unlock(&qp->sq_lock, flags);
}

/**
 * srnic_sq_flush - complete all send WRs that are left (ST-34)
 * @qp: alive; no owner of tx works on its SQ
 *
 * The WR in error keeps its status, all others are Flushed, signaled or not
 * (WR-24), except the first one after srnic_sq_no_peer(). From now on whatever is posted is
 * flushed at once (ST-36), until the QP goes to Idle. Context: as srnic_sq_done(); takes sq_lock
 * for a batch of WRs at a time, and notifies the CQ's consumer after each batch.
 */
void srnic_sq_flush(struct srnic_qp *qp)
{
	sq_flush(qp, true);
}

/*
 * A WQE of the SRQ was taken (SR-26). A stream places one message after the other, so one
 * message is in progress now.
 */
static void rq_check_limit(struct srnic_qp *qp)
{
	unsigned long flags;
	bool raise;

	if (!READ_ONCE(qp->rq_armed))
		return;
	flags = srnic_lock(&qp->rq_lock);
	raise = qp->rq_armed && qp->rq_limit < 1;
	if (raise)
		qp->rq_armed = false;
	srnic_unlock(&qp->rq_lock, flags);
	if (raise)
		srnic_qp_raise(qp, SRNIC_EV_RQ_LIMIT);
}

/**
 * srnic_rq_arm - request an event for when messages in progress exceed a limit (SR-26)
 * @qp: alive
 * @limit: messages; SRNIC_QP_RQ_DISARM: no event any more
 *
 * One event for each time it is armed; arming what is armed is allowed. Context: that of
 * srnic_lock(); takes rq_lock.
 *
 * Return: 0; -EINVAL without an SRQ; -ERANGE above what an SRQ can have.
 */
int srnic_rq_arm(struct srnic_qp *qp, u32 limit)
{
	unsigned long flags;

	if (!qp->srq)
		return -EINVAL;
	if (limit > SRNIC_MAX_SRQ_WR && limit != SRNIC_QP_RQ_DISARM)
		return -ERANGE;
	flags = srnic_lock(&qp->rq_lock);
	WRITE_ONCE(qp->rq_armed, limit != SRNIC_QP_RQ_DISARM);
	if (qp->rq_armed)
		WRITE_ONCE(qp->rq_limit, limit);
	srnic_unlock(&qp->rq_lock, flags);
	return 0;
}

/**
 * srnic_rq_take - take the oldest receive WQE, of the RQ or the SRQ
 * @qp: alive
 * @rwr: filled in; room for qp->max_recv_sge SGEs
 *
 * Context: process or softirq, without the QP's locks; rx_lock of a UD QP may be held, see
 * ib/ud.h. Takes rq_lock or the SRQ's lock, and may call the consumer's event handler.
 *
 * Return: 0; -EAGAIN if none is posted; -EINVAL if the WQE is malformed (it
 * was taken and is to be completed with an error); -EPROTO if the ring's
 * index was tampered with.
 */
int srnic_rq_take(struct srnic_qp *qp, struct srnic_rwr *rwr)
{
	unsigned long flags;
	int n;

	if (qp->srq) {
		n = srnic_srq_take(qp->srq, rwr);
		if (!n || n == -EINVAL)
			rq_check_limit(qp);
		return n;
	}
	rwr->pd = qp->ibqp.pd;
	flags = srnic_lock(&qp->rq_lock);
	n = srnic_ring_filled(&qp->rq, srnic_rq_producer(qp), qp->rq_taken);
	if (n > 0) {
		rwr->index = qp->rq_taken++;
		n = srnic_rqe_copy(rwr, srnic_ring_slot(&qp->rq, rwr->index), qp->max_recv_sge);
	} else if (!n) {
		n = -EAGAIN;
	}
	srnic_unlock(&qp->rq_lock, flags);
	return n;
}

/**
 * srnic_rq_await - a message waits for a receive: the next post is to ring the doorbell
 * @qp: with a stream; the caller is its rx kthread
 *
 * Call it before the last look, which is srnic_rq_is_empty(): a post stores the index and
 * then looks whether a doorbell is wanted. A post to an SRQ rings none. Takes rq_lock, so
 * that a kernel consumer, which posts under it, needs no barrier. Context: the rx kthread.
 */
void srnic_rq_await(struct srnic_qp *qp)
{
	unsigned long flags;

	trace_srnic_rnr_wait(qp, true);
	if (qp->srq)
		srnic_srq_await(qp);
	flags = srnic_lock(&qp->rq_lock);
	WRITE_ONCE(qp->rq_awaited, true);
	if (!qp->srq)	/* the doorbell that this asks for finds the flag above */
		smp_store_release(&qp->rq.hdr->flags, SRNIC_RING_NEED_WAKEUP);
	srnic_unlock(&qp->rq_lock, flags);
	smp_mb();	/* flags, then index; the provider has it the other way round */
}

/**
 * srnic_rq_await_end - end of srnic_rq_await()
 * @qp: as for srnic_rq_await()
 * Context: the rx kthread.
 */
void srnic_rq_await_end(struct srnic_qp *qp)
{
	unsigned long flags;

	flags = srnic_lock(&qp->rq_lock);
	WRITE_ONCE(qp->rq_awaited, false);
	if (!qp->srq)
		WRITE_ONCE(qp->rq.hdr->flags, 0);
	srnic_unlock(&qp->rq_lock, flags);
	if (qp->srq)
		srnic_srq_await_end(qp);
	trace_srnic_rnr_wait(qp, false);
}

/**
 * srnic_rq_is_empty - no receive is posted
 * @qp: with a stream; only the caller takes receives
 *
 * Context: the rx kthread; takes rq_lock, or the lock of the SRQ.
 *
 * Return: whether srnic_rq_take() would be -EAGAIN.
 */
bool srnic_rq_is_empty(struct srnic_qp *qp)
{
	u32 size;

	return qp->srq ? srnic_srq_is_empty(qp->srq) : !rq_pending(qp, &size);
}

/* Write the CQE of a receive WR; the caller calls srnic_cq_notify() */
static int rq_write_cqe(struct srnic_qp *qp, const struct srnic_rwr *rwr,
			struct srnic_cqe *cqe, enum srnic_wc_status status, u32 *seen)
{
	cqe->wr_id = rwr->wr_id;
	if (!cqe->opcode)
		cqe->opcode = SRNIC_OP_RECV;
	cqe->qpn = qp->ibqp.qp_num;
	cqe->wqe_index = rwr->index;
	cqe->flags |= SRNIC_CQE_RQ;
	if (status > SRNIC_WC_FLUSHED)
		trace_srnic_wqe_error(qp, rwr->wr_id, status);
	return srnic_cq_add(qp->rcq, cqe, status, seen);
}

/**
 * srnic_rq_complete - complete a receive WR that was taken
 * @qp: alive
 * @rwr: from srnic_rq_take()
 * @cqe: byte_len, flags and data are set if @status is success, and opcode if it is not
 *	 SRNIC_OP_RECV
 * @status: how it ended; if it is an error the caller, and not this function, fails the QP
 *
 * Context: as srnic_rq_take(); calls the consumer's handlers.
 */
void srnic_rq_complete(struct srnic_qp *qp, const struct srnic_rwr *rwr,
		       struct srnic_cqe *cqe, enum srnic_wc_status status)
{
	u32 seen = 0;
	int err;

	err = rq_write_cqe(qp, rwr, cqe, status, &seen);
	if (err && qp->srq)
		srnic_srq_lose(qp->srq);
	srnic_cq_notify(qp->rcq, seen);
	if (err)
		srnic_qp_fail(qp, RDMAP_E_RQ_CQ_OVERFLOW, NULL, 0, false);
}

/* rq_lock is held. Complete WRs before @end. Return: whether some are left. */
static bool rq_flush_some(struct srnic_qp *qp, u32 end, u32 *seen)
{
	u32 n;

	for (n = 0; (s32)(end - qp->rq_taken) > 0; n++) {
		const struct srnic_rqe *rqe = srnic_ring_slot(&qp->rq, qp->rq_taken);
		struct srnic_rwr rwr = { .wr_id = READ_ONCE(rqe->wr_id) };
		struct srnic_cqe cqe = { };

		if (n == FLUSH_BATCH)
			return true;
		rwr.index = qp->rq_taken++;
		rq_write_cqe(qp, &rwr, &cqe, SRNIC_WC_FLUSHED, seen);
	}
	return false;
}

/* As sq_flush() */
static void rq_flush(struct srnic_qp *qp, bool begin)
{
	unsigned long flags;
	bool more = true;
	int pending;
	u32 end;

	/* WQEs of an SRQ that were not taken are not this QP's (SR-22) */
	if (qp->srq)
		return;
	flags = srnic_lock(&qp->rq_lock);
	if (begin) {
		qp->rq_flushing = true;
		/* the doorbell that this asks for finds the flag above */
		smp_store_release(&qp->rq.hdr->flags, SRNIC_RING_NEED_WAKEUP);
	}
	smp_mb();	/* flag, then index; the provider has it the other way round */
	pending = srnic_ring_filled(&qp->rq, srnic_rq_producer(qp), qp->rq_taken);
	if (pending < 0 && begin)
		srnic_count(qp->dev, SRNIC_CNT_RING_CORRUPT);
	end = qp->rq_taken + max(pending, 0);
	while (more && qp->rq_flushing) {
		u32 seen = 0;

		more = rq_flush_some(qp, end, &seen);
		srnic_unlock(&qp->rq_lock, flags);
		srnic_cq_notify(qp->rcq, seen);
		if (!begin && !qp->kernel)	/* a user's doorbell is a system call */
			cond_resched();
		flags = srnic_lock(&qp->rq_lock);
	}
	srnic_unlock(&qp->rq_lock, flags);
}

/**
 * srnic_rq_flush - complete all receive WRs that are left (ST-34, ST-41)
 * @qp: alive; no owner of rx takes from its RQ
 *
 * As srnic_sq_flush(), with rq_lock. Context: as srnic_sq_flush().
 */
void srnic_rq_flush(struct srnic_qp *qp)
{
	rq_flush(qp, true);
}

/**
 * srnic_wq_restart - the QP goes to Idle: posts are kept again (ST-03, ST-37)
 * @qp: alive, without a stream
 *
 * Indices run on. Slots of unsignaled WRs that completed are given back here, since
 * no later completion does it. Context: that of srnic_lock(); takes sq_lock, then rq_lock.
 */
void srnic_wq_restart(struct srnic_qp *qp)
{
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	qp->sq_flushing = false;
	qp->sq_first = 0;
	WRITE_ONCE(qp->sq_freed, qp->sq_fetched);
	WRITE_ONCE(qp->sq.hdr->consumer, qp->sq_fetched);
	sq_set_wakeup(qp, false);
	srnic_unlock(&qp->sq_lock, flags);
	if (qp->srq)
		return;
	flags = srnic_lock(&qp->rq_lock);
	qp->rq_flushing = false;
	WRITE_ONCE(qp->rq.hdr->consumer, qp->rq_taken);
	WRITE_ONCE(qp->rq.hdr->flags, 0);
	srnic_unlock(&qp->rq_lock, flags);
}

/**
 * srnic_qp_last_wqe - the QP is in Error and will take no more of its SRQ
 * @qp: alive; what it had taken is completed
 *
 * A consumer that drains a QP with an SRQ waits for this event, as no flushed WR
 * reports the end. Not for a QP that is being destroyed. Context: any, without the
 * QP's locks.
 */
void srnic_qp_last_wqe(struct srnic_qp *qp)
{
	if (qp->srq && !test_bit(SRNIC_QPF_DESTROY, &qp->flags))
		srnic_qp_raise(qp, SRNIC_EV_LAST_WQE);
}

/* The doorbell of a program is a system call, which runs the engine itself */
static bool tx_wants_wakeup(const struct srnic_qp *qp)
{
	if (!qp->kernel)
		return false;
	smp_mb();	/* index, then flag; see tx.c */
	return READ_ONCE(qp->sq_wakeup);
}

/**
 * srnic_qp_doorbell - something was posted
 * @qp: alive
 *
 * Flushes if the QP is being flushed. Kicks the rx kthread if it waits for a receive, and the tx
 * kthread if a kernel consumer has posted and tx waits for it. Context: any for a kernel
 * consumer; process for a user, may sleep.
 */
void srnic_qp_doorbell(struct srnic_qp *qp)
{
	if (READ_ONCE(qp->sq_flushing))
		sq_flush(qp, false);
	if (READ_ONCE(qp->rq_flushing))
		rq_flush(qp, false);
	if (READ_ONCE(qp->rq_awaited))
		srnic_qp_kick_rx(qp);
	if (tx_wants_wakeup(qp))
		srnic_qp_kick_tx(qp);
}

/**
 * srnic_qp_polled - a kernel consumer polled a CQE: its slot is free (WR-04)
 * @dev: the device
 * @cqe: from the CQ, whose lock is held
 * Context: any, with cq->lock held.
 */
void srnic_qp_polled(struct srnic_device *dev, const struct srnic_cqe *cqe)
{
	struct srnic_qp *qp = xa_load(&dev->qps, cqe->qpn);
	u32 *freed;

	if (!qp)
		return;
	if (qp->srq && cqe->flags & SRNIC_CQE_RQ) {
		srnic_srq_polled(qp->srq);
		return;
	}
	freed = cqe->flags & SRNIC_CQE_RQ ? &qp->rq_freed : &qp->sq_freed;
	/* after a restart, which has freed all slots, an old CQE frees none */
	if ((s32)(cqe->wqe_index + 1 - *freed) > 0)
		WRITE_ONCE(*freed, cqe->wqe_index + 1);
}
