// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Winding a stream down, in this order: Terminate or FIN or RST, rx kthread, stream,
 * queues, final state, events. Only a graceful close, in Closing, waits for the peer.
 * In all other cases the stream lingers by itself (linger.c), or is reset, so that the
 * error is reported at once.
 */

#include <linux/kthread.h>
#include "engine/ack.h"
#include "engine/close.h"
#include "engine/kthreads.h"
#include "engine/linger.h"
#include "engine/read.h"
#include "engine/rnr.h"
#include "engine/rx.h"
#include "engine/stream.h"
#include "engine/tx.h"
#include "queue/state.h"
#include "queue/trace.h"
#include "queue/wq.h"
#include "srnic.h"

/**
 * srnic_close_overdue - has Closing taken too long? (ST-29)
 * @qp: with a stream
 * Context: any.
 */
bool srnic_close_overdue(const struct srnic_qp *qp)
{
	if (srnic_qp_state(qp) != SRNIC_QP_CLOSING)
		return false;
	smp_rmb();	/* see srnic_qp_leave() */
	return time_after(jiffies, READ_ONCE(qp->close_deadline));
}

/* Send FIN. What comes from now on is late. */
static void close_send_fin(struct srnic_qp *qp)
{
	set_bit(SRNIC_QPF_FIN_SENT, &qp->flags);
	srnic_qp_wake_rnr(qp);	/* a message that waits for a receive is late now (ST-43) */
	srnic_stream_shutdown(qp->stream);
	if (srnic_stream_state(qp->stream) == SRNIC_STREAM_LOST)
		srnic_qp_kick_rx(qp);	/* there is no FIN, and the peer does not answer one */
}

/* Is there no FIN or RST of the peer to wait for, after ours? The destruction of the QP ends it */
static bool close_need_not_wait(const struct srnic_qp *qp)
{
	return test_bit(SRNIC_QPF_RX_DONE, &qp->flags) ||
	       srnic_qp_state(qp) != SRNIC_QP_CLOSING ||
	       test_bit(SRNIC_QPF_DESTROY, &qp->flags);
}

/* Send FIN, and wait, with a time-out. Inbound data is drained meanwhile. */
static void close_gracefully(struct srnic_qp *qp)
{
	if (!test_bit(SRNIC_QPF_FIN_SENT, &qp->flags))
		close_send_fin(qp);
	if (!wait_event_idle_timeout(qp->tx_wait, close_need_not_wait(qp),
				     qp->policy.close_timeout * HZ))
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_LOST);	/* ST-46 */
}

/* No send WR is posted or in progress: the SQ has completed all of them */
static bool sq_at_rest(struct srnic_qp *qp)
{
	return srnic_sq_empty(qp) && !qp->tx->busy;
}

/* As sq_at_rest(), but what the peer has yet to acknowledge is not waited for: TCP has it */
static bool sq_is_sent(struct srnic_qp *qp)
{
	return sq_at_rest(qp) ||
	       (qp->acks && !qp->tx->busy && qp->tx->marked == READ_ONCE(qp->sq_fetched) &&
		!srnic_orq_count(qp) && !srnic_sq_pending(qp));
}

/* A FIN may not come inside of an FPDU or of a Read Response */
static bool close_may_send_fin(struct srnic_qp *qp)
{
	return sq_at_rest(qp) && srnic_irq_empty(qp) && !qp->tx->responding && !qp->tx->batch->len;
}

static void close_closing(struct srnic_qp *qp)
{
	if (close_may_send_fin(qp))
		close_gracefully(qp);
	else
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_BAD_CLOSE);	/* ST-20 */
	/* with a WR or a Read Request that came while the FIN was sent it is bad, too (ST-43) */
	if (!srnic_sq_empty(qp) || !srnic_irq_empty(qp))
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_BAD_CLOSE);
}

/*
 * Hand the Terminate to TCP if there is one to send; no other FPDU follows (TER-8).
 * What was staged goes first: those FPDUs may be partly on the wire. What TCP
 * has no room for stays in the buffer. Return: 0; an errno if the connection is gone,
 * or has to be reset.
 */
static int close_terminate(struct srnic_qp *qp)
{
	u8 buf[RDMAP_MAX_TERM_LEN];
	struct rdmap_term term;
	unsigned long flags;
	bool send;
	int err;

	/* the state was read without the lock: its writer may still be making the message */
	spin_lock_irqsave(&qp->lock, flags);
	send = qp->term_local && qp->term_valid;
	term = qp->term;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (send && test_bit(SRNIC_QPF_TX_OPEN, &qp->flags)) {
		if (!srnic_tx_get_term_room(qp))
			return -ENOMEM;		/* a reset: a FIN would look like success */
		/* so the peer's first message without one is the message in error */
		if (srnic_ack_due(qp))
			srnic_ack_stage(qp);
		srnic_tx_untagged(qp, RDMAP_TERMINATE, buf, rdmap_term_encode(buf, &term));
		srnic_count(qp->dev, SRNIC_CNT_TX_TERMINATE);
		trace_srnic_terminate(qp, &term.err, true);
	} else {
		send = false;
	}
	err = srnic_tx_push(qp);
	if (!err && send) {
		spin_lock_irqsave(&qp->lock, flags);
		qp->term_sent = true;
		spin_unlock_irqrestore(&qp->lock, flags);
	}
	return err == -EAGAIN ? 0 : err;
}

/*
 * The program gives the QP up, see srnic_qp_give_up(): what it has received is acknowledged.
 * Return: as close_llp()
 */
static bool close_given_up(struct srnic_qp *qp)
{
	int err;

	if (!sq_is_sent(qp))
		return false;
	/* the program may have seen a completion of a turn of rx that has not counted it yet */
	if (qp->acks && srnic_stream_lock(qp->stream))
		srnic_stream_unlock(qp->stream);
	if (!srnic_ack_due(qp) || qp->tx->responding || !test_bit(SRNIC_QPF_TX_OPEN, &qp->flags))
		return true;
	if (!srnic_tx_get_term_room(qp))
		return false;
	srnic_ack_stage(qp);
	err = srnic_tx_push(qp);
	return !err || err == -EAGAIN;
}

/* Return: true if the stream ends with FIN, behind all that was handed to TCP; false: with RST */
static bool close_llp(struct srnic_qp *qp)
{
	if (srnic_qp_state(qp) == SRNIC_QP_TERMINATE)
		return !close_terminate(qp);
	if (srnic_qp_state(qp) == SRNIC_QP_CLOSING)
		close_closing(qp);
	return srnic_qp_state(qp) == SRNIC_QP_CLOSING ||
	       (test_bit(SRNIC_QPF_DELIVER, &qp->flags) && close_given_up(qp));
}

/*
 * The peer has sent something more after our FIN, or the program has posted (ST-43, ST-44): the
 * connection is reset. But a RST throws away what TCP has not delivered yet, and that is the data
 * of send WRs that have completed. So the reset waits for the peer to acknowledge this data.
 */
static bool reset_can_wait(const struct srnic_qp *qp)
{
	return test_bit(SRNIC_QPF_FIN_SENT, &qp->flags) && qp->close_event == SRNIC_EV_BAD_CLOSE;
}

/*
 * Neither kthread uses the stream any more. It lingers if TCP has not taken all, the peer has not
 * closed, or a reset can wait. Else, and after a reset, it is released. A program may have its own
 * socket locked, so linger.c always ends a stream on such a socket.
 */
static void part_from_stream(struct srnic_qp *qp, bool fin)
{
	struct srnic_stream *stream = qp->stream;
	struct srnic_batch *rest = srnic_tx_rest(qp);
	bool lingers = fin ? rest || !test_bit(SRNIC_QPF_RX_DONE, &qp->flags) : reset_can_wait(qp);

	qp->stream = NULL;
	if (lingers)
		srnic_count(qp->dev, SRNIC_CNT_CLOSE_LINGERED);
	if (lingers || stream->file) {
		stream->noio = qp->noio;
		srnic_linger(stream, rest, fin || lingers ? qp->policy.close_timeout * HZ : 0,
			     !fin);
		return;
	}
	if (!fin)
		srnic_stream_abort(stream);
	srnic_batch_free(rest);
	srnic_stream_free(stream);
}

/*
 * The state in which the QP stays. In Idle it can be connected again at once: srnic_qp_attach()
 * waits for the end of srnic_close().
 */
static enum srnic_qp_state final_state(struct srnic_qp *qp)
{
	enum srnic_qp_state from, next;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	from = qp->state;
	next = from == SRNIC_QP_CLOSING ? SRNIC_QP_IDLE : SRNIC_QP_ERROR;
	if (from != next)
		trace_srnic_qp_state(qp, from, next, "stream ended");
	WRITE_ONCE(qp->state, next);
	if (next == SRNIC_QP_IDLE)
		clear_bit(SRNIC_QPF_ATTACHED, &qp->flags);
	spin_unlock_irqrestore(&qp->lock, flags);
	return next;
}

/* Raise the event of the stream's end: none for an error that a completion has reported (AE-03) */
static void raise_events(struct srnic_qp *qp, enum srnic_qp_state final)
{
	enum srnic_event event = qp->close_event;

	if (final == SRNIC_QP_IDLE) {
		srnic_count(qp->dev, SRNIC_CNT_CLOSE_GRACEFUL);
		srnic_qp_raise(qp, SRNIC_EV_LLP_CLOSE_COMPLETE);
		return;
	}
	srnic_count(qp->dev, SRNIC_CNT_CLOSE_ABORTED);
	if (!qp->error_in_wc) {
		if (qp->error)
			event = srnic_event_of(qp->error);
		if (event)
			srnic_qp_raise(qp, event);
	}
	srnic_qp_last_wqe(qp);
}

/*
 * Has a paired QP lost its peer? Then the first WR that was not delivered reports the loss, as
 * with InfiniBand. For other QPs an event or iw_cm does.
 */
static bool peer_is_gone(const struct srnic_qp *qp)
{
	bool lost = qp->close_event && qp->close_event != SRNIC_EV_TERMINATE_RECEIVED;

	return READ_ONCE(qp->ib.paired) &&
	       (qp->error == RDMAP_E_LLP_LOST || qp->error == RDMAP_E_BAD_CLOSE ||
		(lost && !qp->error));
}

/* A program that would try for longer learns of the loss all the same: TCP is sure of it */
#define RETRY_MOST_US	USEC_PER_SEC

/**
 * srnic_close_retry_time - for how long a paired QP without a peer goes on as if there was one
 * @qp: alive
 *
 * An InfiniBand sender learns that its peer is gone when it has tried for a time. A program that
 * ends when its last message has come counts on it: what it has sent beyond what its peer waited
 * for fails after it has left.
 *
 * Context: any.
 * Return: jiffies, at most those of a second.
 */
unsigned long srnic_close_retry_time(const struct srnic_qp *qp)
{
	return usecs_to_jiffies(min_t(u64, srnic_ib_retry_us(qp) ?: RETRY_MOST_US, RETRY_MOST_US));
}

static void try_as_infiniband(struct srnic_qp *qp)
{
	wait_event_idle_timeout(qp->tx_wait,
				test_bit(SRNIC_QPF_ABORT, &qp->flags) ||
				test_bit(SRNIC_QPF_DESTROY, &qp->flags),
				srnic_close_retry_time(qp));
}

static int close_errno(const struct srnic_qp *qp, enum srnic_qp_state final)
{
	if (final == SRNIC_QP_IDLE)
		return 0;
	return qp->close_event == SRNIC_EV_LLP_LOST ? -ETIMEDOUT : -ECONNRESET;
}

/**
 * srnic_close_at_once - srnic_close(), if it has nothing to wait for (owner of tx)
 * @qp: has left RTS, and has no kthreads
 *
 * Else, in Closing, sends FIN: the peer's FIN kicks, as all does that ends the wait for it but
 * the time-out. Context: process, sleeps.
 *
 * Return: SRNIC_WIND_DONE, SRNIC_WIND_WAITS, or SRNIC_WIND_KTHREADS if the QP has to try on.
 */
enum srnic_wind srnic_close_at_once(struct srnic_qp *qp)
{
	bool closing = srnic_qp_state(qp) == SRNIC_QP_CLOSING;

	srnic_tx_help_is_over(qp);
	if (READ_ONCE(qp->ib.paired) && !test_bit(SRNIC_QPF_DESTROY, &qp->flags))
		return SRNIC_WIND_KTHREADS;	/* see try_as_infiniband() */
	if (closing && !close_need_not_wait(qp)) {
		if (!test_bit(SRNIC_QPF_FIN_SENT, &qp->flags) && close_may_send_fin(qp))
			close_send_fin(qp);
		else if (srnic_close_overdue(qp))
			srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_LOST);	/* ST-46 */
		if (test_bit(SRNIC_QPF_FIN_SENT, &qp->flags) && !close_need_not_wait(qp))
			return SRNIC_WIND_WAITS;
	}
	srnic_close(qp);
	return SRNIC_WIND_DONE;
}

/**
 * srnic_close - wind the stream down (owner of tx, its last act)
 * @qp: has left RTS
 *
 * Afterwards the QP is in Error or Idle, its queues are flushed, the stream is not
 * the QP's any more, and closed() of struct srnic_llp_ops was called. Waits for the
 * peer only in Closing, for the close time-out at most; Error follows at once
 * (ST-32: the LLP Close goes on behind it).
 *
 * Context: the tx kthread, or the work that makes the kthreads. Sleeps.
 */
void srnic_close(struct srnic_qp *qp)
{
	const struct srnic_llp_ops *ops = qp->llp_ops;
	enum srnic_qp_state final;
	void *priv = qp->llp_priv;
	bool fin;
	int err;

	/* the peer may keep its FIN for long */
	srnic_tx_help_is_over(qp);
	fin = close_llp(qp);
	srnic_stream_unhook(qp->stream);
	if (qp->rx_task)
		kthread_stop(qp->rx_task);
	qp->rx_task = NULL;
	/* rx has no owner, and tx no other, that queue them */
	cancel_delayed_work_sync(&qp->ack_late);
	cancel_delayed_work_sync(&qp->frag_due);
	part_from_stream(qp, fin);

	/*
	 * Before the QP is seen in Idle (ST-41, ST-48): Modify QP from Idle to Error
	 * flushes by itself, and a restart after that would end the flushing; and the
	 * program may connect it again.
	 */
	if (srnic_qp_state(qp) == SRNIC_QP_CLOSING) {
		srnic_rx_flush(qp);
		if (!qp->keep_recv)
			srnic_rq_flush(qp);
		srnic_wq_restart(qp);
	}
	if (!ops->keeps)
		srnic_qp_unclaim(qp, priv);
	final = final_state(qp);
	if (final == SRNIC_QP_ERROR) {
		if (peer_is_gone(qp)) {
			try_as_infiniband(qp);
			srnic_sq_no_peer(qp);
		}
		srnic_sq_flush(qp);
		srnic_rx_flush(qp);
		srnic_rq_flush(qp);
	}
	err = close_errno(qp, final);
	raise_events(qp, final);

	srnic_engine_free(qp);
	clear_bit_unlock(SRNIC_QPF_ATTACHED, &qp->flags);
	ops->closed(priv, err);
}
