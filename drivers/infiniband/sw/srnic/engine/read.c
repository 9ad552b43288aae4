// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reads and atomics under way: the IRQ holds those the peer asked for until the
 * tx engine has answered them, the ORQ those that await the peer's response.
 * Both kinds share queues, order and limits (RFC 7306 5.2).
 */

#include "engine/read.h"
#include "engine/stream.h"
#include "engine/tx.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "queue/wqe.h"

/**
 * srnic_irq_empty - does no inbound request wait for its answer?
 * @qp: with a stream
 * Context: any.
 */
bool srnic_irq_empty(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->irq_head) == READ_ONCE(qp->irq_tail);
}

/**
 * srnic_irq_push - the peer asked for a Read or an atomic
 * @qp: with a stream, whose socket is locked
 * @in: the request
 *
 * Context: the owner of rx, in process or softirq.
 * Return: 0; -ENOSPC if the peer has IRD requests outstanding already (INI-7).
 */
int srnic_irq_push(struct srnic_qp *qp, const struct srnic_inbound *in)
{
	/* Modify QP may have changed qp->ird, but the IRQ holds no more than mpa.ird */
	u32 ird = min(READ_ONCE(qp->ird), qp->mpa.ird);

	/* pairs with srnic_irq_done(): the place is free */
	if (qp->irq_tail - smp_load_acquire(&qp->irq_head) >= ird)
		return -ENOSPC;
	qp->irq[qp->irq_tail & qp->irq_mask] = *in;
	/* pairs with srnic_irq_head(): the request, then the index */
	smp_store_release(&qp->irq_tail, qp->irq_tail + 1);
	return 0;
}

/**
 * srnic_irq_head - the oldest inbound request, which stays there (owner of tx)
 * @qp: with a stream
 * @in: filled in
 *
 * Context: the owner of tx, in process or softirq.
 * Return: false if there is none.
 */
bool srnic_irq_head(struct srnic_qp *qp, struct srnic_inbound *in)
{
	/* pairs with srnic_irq_push() */
	if (qp->irq_head == smp_load_acquire(&qp->irq_tail))
		return false;
	*in = qp->irq[qp->irq_head & qp->irq_mask];
	return true;
}

/**
 * srnic_irq_done - the oldest inbound request is answered: its place is free (owner of tx)
 * @qp: with a stream
 * Context: the owner of tx, in process or softirq.
 */
void srnic_irq_done(struct srnic_qp *qp)
{
	/* pairs with srnic_irq_push(): the request was copied */
	smp_store_release(&qp->irq_head, qp->irq_head + 1);
}

/**
 * srnic_orq_count - count the requests that await their response
 * @qp: alive
 *
 * The caller also sees the data of the responses that are over: a fenced message may be made of
 * that data. Context: any. Return: their number.
 */
u32 srnic_orq_count(const struct srnic_qp *qp)
{
	/* pairs with srnic_orq_done() */
	u32 head = smp_load_acquire(&qp->orq_head);

	return READ_ONCE(qp->orq_tail) - head;
}

/**
 * srnic_orq_limit - how many requests may be outstanding? (RD-02)
 * @qp: with a stream
 *
 * Modify QP may have changed ORD, never above the negotiated one, which is what the ORQ holds and
 * the peer takes. Context: any. Return: the present ORD.
 */
u32 srnic_orq_limit(const struct srnic_qp *qp)
{
	return min(READ_ONCE(qp->ord), qp->mpa.ord);
}

/**
 * srnic_orq_full - are as many requests outstanding as may be? (INI-6)
 * @qp: with a stream
 *
 * A Read Request that was sent as RTR takes a place at the peer like any other
 * until it is answered (V2-20). Context: any.
 */
bool srnic_orq_full(const struct srnic_qp *qp)
{
	return srnic_orq_count(qp) + test_bit(SRNIC_QPF_RTR_READ, &qp->flags) >=
	       srnic_orq_limit(qp);
}

/**
 * srnic_orq_push - a request is about to go out (owner of tx)
 * @qp: with a stream; srnic_orq_full() said no
 * @out: the request
 * Context: the owner of tx, in process or softirq.
 */
void srnic_orq_push(struct srnic_qp *qp, const struct srnic_outbound *out)
{
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	qp->orq[qp->orq_tail & qp->orq_mask] = *out;
	WRITE_ONCE(qp->orq_tail, qp->orq_tail + 1);
	srnic_unlock(&qp->sq_lock, flags);
}

/**
 * srnic_orq_sent - TCP has taken all requests there are (owner of tx)
 * @qp: with a stream; nothing is staged any more
 *
 * Context: the owner of tx, in process or softirq; takes sq_lock.
 */
void srnic_orq_sent(struct srnic_qp *qp)
{
	unsigned long flags;

	if (qp->orq_out == qp->orq_tail)
		return;
	flags = srnic_lock(&qp->sq_lock);
	qp->orq_out = qp->orq_tail;
	srnic_unlock(&qp->sq_lock, flags);
}

/*
 * Can the peer have the request? If not, it cannot answer it. The socket is locked, and
 * sq_lock is held. orq_out counts the requests that TCP has. Sequence numbers are compared
 * only for those that are being handed over: they may wrap before a late response comes.
 */
static bool orq_is_out(const struct srnic_qp *qp, const struct srnic_outbound *out)
{
	return (s32)(qp->orq_out - qp->orq_head) > 0 ||
	       (s32)(srnic_stream_taken(qp->stream) - out->end) >= 0;
}

/**
 * srnic_orq_head - the request whose response is due next (owner of rx)
 * @qp: with a stream, whose socket is locked
 * @out: set to a copy of the request
 *
 * Context: the owner of rx, in process or softirq.
 * Return: false if none is outstanding. A request that TCP has not taken yet is not
 * outstanding: a response that comes before it does not answer it.
 */
bool srnic_orq_head(struct srnic_qp *qp, struct srnic_outbound *out)
{
	unsigned long flags;
	bool found = false;

	flags = srnic_lock(&qp->sq_lock);
	if (qp->orq_head != qp->orq_tail) {
		*out = qp->orq[qp->orq_head & qp->orq_mask];
		found = orq_is_out(qp, out);
	}
	srnic_unlock(&qp->sq_lock, flags);
	return found;
}

/**
 * srnic_orq_done - the response of the oldest request is over (owner of rx)
 * @qp: with a stream; srnic_orq_head() said yes
 * @status: how it ended
 *
 * Completes the WR with an error, or with the last of its requests. Kicks the tx kthread if tx
 * waits for a response, as it does in Closing. Context: the owner of rx, in process or softirq.
 */
void srnic_orq_done(struct srnic_qp *qp, enum srnic_wc_status status)
{
	struct srnic_outbound out;
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	out = qp->orq[qp->orq_head & qp->orq_mask];
	/* pairs with srnic_orq_count(): the octets are in place, then the index */
	smp_store_release(&qp->orq_head, qp->orq_head + 1);
	srnic_unlock(&qp->sq_lock, flags);
	if (status || out.last)
		srnic_sq_done(qp, out.index, status);
	smp_mb();	/* orq_head, then tx->blocked; see tx_enable_doorbell() */
	/* after RTS tx may wait for this response alone */
	if (READ_ONCE(qp->tx->blocked) || srnic_qp_state(qp) != SRNIC_QP_RTS)
		srnic_qp_kick_tx(qp);
}
