// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Winding a stream down, by the tx kthread, in order: Terminate or FIN or
 * RST, the peer's end within a bound, rx kthread, queues, final state, events.
 */

#include <linux/kthread.h>
#include "qp.h"
#include "rx.h"
#include "srnic.h"
#include "stream.h"
#include "trace.h"
#include "tx.h"

/**
 * srnic_close_overdue - has Closing taken too long? (ST-29)
 * @qp: with a stream
 */
bool srnic_close_overdue(const struct srnic_qp *qp)
{
	if (srnic_qp_state(qp) != SRNIC_QP_CLOSING)
		return false;
	smp_rmb();	/* see srnic_qp_leave() */
	return time_after(jiffies, READ_ONCE(qp->close_deadline));
}

/* Until the peer's FIN or RST, an abort, or the bound. Inbound data is drained meanwhile. */
static void wait_for_peer(struct srnic_qp *qp, unsigned long deadline)
{
	long left = deadline - jiffies;

	if (left <= 0)
		return;
	wait_event_idle_timeout(qp->tx_wait,
				test_bit(SRNIC_QPF_RX_DONE, &qp->flags) ||
				test_bit(SRNIC_QPF_ABORT, &qp->flags) ||
				test_bit(SRNIC_QPF_DESTROY, &qp->flags), left);
}

/*
 * Close with FIN. If the QP is being destroyed nobody waits for the peer: TCP
 * finishes the handshake by itself after the socket is released.
 */
static void close_gracefully(struct srnic_qp *qp, unsigned long deadline)
{
	set_bit(SRNIC_QPF_FIN_SENT, &qp->flags);
	srnic_stream_shutdown(qp->stream);
	wait_for_peer(qp, deadline);
	if (!test_bit(SRNIC_QPF_RX_DONE, &qp->flags) &&
	    !test_bit(SRNIC_QPF_DESTROY, &qp->flags))
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_LOST);	/* ST-46 */
}

static void close_llp(struct srnic_qp *qp)
{
	unsigned long deadline = jiffies + SRNIC_CLOSE_TIMEOUT;

	if (srnic_qp_state(qp) == SRNIC_QP_TERMINATE &&
	    !srnic_tx_terminate(qp, deadline)) {
		close_gracefully(qp, deadline);
	} else if (srnic_qp_state(qp) == SRNIC_QP_CLOSING) {
		/* no FIN inside of an FPDU or of a Read Response */
		if (srnic_sq_empty(qp) && srnic_irq_empty(qp) &&
		    !qp->tx->busy && !qp->tx->responding && !qp->tx->len)
			close_gracefully(qp, deadline);
		else
			srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_BAD_CLOSE);	/* ST-20 */
	}
	/* a WR posted, or a read asked for, as the FIN went: a bad close all the same (ST-43) */
	if (srnic_qp_state(qp) == SRNIC_QP_CLOSING &&
	    !(srnic_sq_empty(qp) && srnic_irq_empty(qp)))
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_BAD_CLOSE);
	if (srnic_qp_state(qp) == SRNIC_QP_ERROR ||
	    !test_bit(SRNIC_QPF_FIN_SENT, &qp->flags))
		srnic_stream_abort(qp->stream);
}

/* The state in which the QP stays, without a stream */
static enum srnic_qp_state final_state(struct srnic_qp *qp)
{
	enum srnic_qp_state from, next;
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	from = qp->state;
	next = from == SRNIC_QP_CLOSING ? SRNIC_QP_IDLE : SRNIC_QP_ERROR;
	if (from != next)
		trace_srnic_qp_state(qp, from, next);
	WRITE_ONCE(qp->state, next);
	spin_unlock_irqrestore(&qp->lock, flags);
	return next;
}

/* What the consumer is told at the end: nothing a completion has told (AE-03) */
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

static int close_errno(const struct srnic_qp *qp, enum srnic_qp_state final)
{
	if (final == SRNIC_QP_IDLE)
		return 0;
	return qp->close_event == SRNIC_EV_LLP_LOST ? -ETIMEDOUT : -ECONNRESET;
}

/**
 * srnic_close - wind the stream down (tx kthread, its last act)
 * @qp: has left RTS
 *
 * Afterwards the QP is in Error or Idle, its queues are flushed, the stream
 * is gone, and who made the connection was told. Takes at most about
 * SRNIC_CLOSE_TIMEOUT, or twice that out of Closing.
 */
void srnic_close(struct srnic_qp *qp)
{
	const struct srnic_llp_ops *ops;
	enum srnic_qp_state final;
	unsigned long flags;
	void *priv;
	int err;

	close_llp(qp);
	srnic_stream_unhook(qp->stream);
	kthread_stop(qp->rx_task);

	/*
	 * Before the QP is seen in Idle (ST-41, ST-48): who then takes it to Error
	 * flushes by itself, and a restart after that would end the flushing.
	 */
	if (srnic_qp_state(qp) == SRNIC_QP_CLOSING) {
		srnic_rx_flush(qp);
		srnic_rq_flush(qp);
		srnic_wq_restart(qp);
	}
	final = final_state(qp);
	if (final == SRNIC_QP_ERROR) {
		srnic_sq_flush(qp);
		srnic_rx_flush(qp);
		srnic_rq_flush(qp);
	}
	err = close_errno(qp, final);
	raise_events(qp, final);

	srnic_qp_release_stream(qp);
	spin_lock_irqsave(&qp->lock, flags);
	ops = qp->llp_ops;
	priv = qp->llp_priv;
	qp->llp_ops = NULL;
	qp->llp_priv = NULL;
	spin_unlock_irqrestore(&qp->lock, flags);
	clear_bit(SRNIC_QPF_ATTACHED, &qp->flags);
	if (ops)
		ops->closed(priv, err);
}
