// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a QP leaves RTS: the first error is recorded, the Terminate message it
 * calls for is made, and the state changes. The tx kthread does the rest (close.c).
 */

#include "qp.h"
#include "srnic.h"
#include "trace.h"
#include "tx.h"

/* The Terminate for @err; @seg is the offending FPDU from ULPDU_Length on */
static void term_make(struct rdmap_term *term, enum rdmap_err err,
		      const u8 *seg, u32 seg_len)
{
	memset(term, 0, sizeof(*term));
	term->err = *rdmap_error(err);
	if (!seg || seg_len < MPA_LEN_FIELD + DDP_TAGGED_LEN) {
		term->err.hdrct = 0;
		return;
	}
	term->seg_len = get_unaligned_be16(seg);
	seg += MPA_LEN_FIELD;
	seg_len -= MPA_LEN_FIELD;
	term->ddp_len = ddp_hdr_len(seg[0] & DDP_T);
	if (seg_len < term->ddp_len) {
		term->err.hdrct = 0;
		return;
	}
	memcpy(term->ddp, seg, term->ddp_len);
	if (seg_len >= term->ddp_len + RDMAP_READ_REQ_LEN)
		memcpy(term->read_req, seg + term->ddp_len, RDMAP_READ_REQ_LEN);
	else
		term->err.hdrct &= ~RDMAP_TERM_R;
}

/* qp->lock is held. The only place where the state of a QP with a stream changes. */
static bool set_state(struct srnic_qp *qp, enum srnic_qp_state next)
{
	if (!srnic_qp_transition_ok(qp->state, next, SRNIC_QP_BY_ITSELF))
		return false;
	trace_srnic_qp_state(qp, qp->state, next);
	WRITE_ONCE(qp->state, next);
	if (next == SRNIC_QP_ERROR)
		set_bit(SRNIC_QPF_ABORT, &qp->flags);
	return true;
}

/**
 * srnic_qp_fail - an error that calls for a Terminate (ST-22)
 * @qp: with a stream
 * @err: what is wrong
 * @seg: headers of the offending FPDU, from ULPDU_Length on, or NULL
 * @seg_len: octets of them
 * @in_wc: a completion carries the error, so that no event is to (ST-33)
 *
 * Any context. In Closing there is no Terminate any more: Bad Close (ST-43).
 *
 * Return: true if this was the error that ended the stream (ERR-5).
 */
bool srnic_qp_fail(struct srnic_qp *qp, enum rdmap_err err, const u8 *seg,
		   u32 seg_len, bool in_wc)
{
	unsigned long flags;
	bool first = false;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state == SRNIC_QP_RTS) {
		first = set_state(qp, SRNIC_QP_TERMINATE);
		qp->error = err;
		qp->error_in_wc = in_wc;
		qp->term_local = true;
		qp->term_valid = true;
		term_make(&qp->term, err, seg, seg_len);
	} else if (qp->state == SRNIC_QP_CLOSING) {
		first = set_state(qp, SRNIC_QP_ERROR);
		qp->error_in_wc = in_wc;
		qp->close_event = SRNIC_EV_BAD_CLOSE;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (first)
		trace_srnic_fpdu_error(qp, err, seg ? get_unaligned_be16(seg) : 0);
	wake_up(&qp->tx_wait);
	return first;
}

/**
 * srnic_qp_terminated - the peer sent a Terminate (ST-24, ST-45)
 * @qp: with a stream
 * @term: decoded
 * @in_wc: a completion carries the error
 *
 * No Terminate is sent in return. Any context.
 *
 * Return: true if this ended the stream.
 */
bool srnic_qp_terminated(struct srnic_qp *qp, const struct rdmap_term *term, bool in_wc)
{
	unsigned long flags;
	bool first = false;

	trace_srnic_terminate(qp, &term->err, false);
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->state == SRNIC_QP_RTS || qp->state == SRNIC_QP_CLOSING) {
		first = set_state(qp, qp->state == SRNIC_QP_RTS ?
				      SRNIC_QP_TERMINATE : SRNIC_QP_ERROR);
		qp->error_in_wc = in_wc;
		qp->close_event = SRNIC_EV_TERMINATE_RECEIVED;
		qp->term_local = false;
		qp->term_valid = true;
		qp->term = *term;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	wake_up(&qp->tx_wait);
	return first;
}

/**
 * srnic_qp_leave - the QP changes its state by itself, without a Terminate
 * @qp: with a stream
 * @next: SRNIC_QP_CLOSING or SRNIC_QP_ERROR
 * @event: why
 *
 * Any context. Return: true if the state changed.
 */
bool srnic_qp_leave(struct srnic_qp *qp, enum srnic_qp_state next,
		    enum srnic_event event)
{
	enum srnic_qp_state from;
	unsigned long flags;
	bool done;

	spin_lock_irqsave(&qp->lock, flags);
	from = qp->state;
	if (from == SRNIC_QP_RTS)
		WRITE_ONCE(qp->close_deadline, jiffies + qp->close_timeout);
	smp_wmb();	/* before the state: srnic_close_overdue() has no lock */
	done = set_state(qp, next);
	/* what brought it to Terminate is the reason, not how the stream ended then (AE-05) */
	if (done && from != SRNIC_QP_TERMINATE)
		qp->close_event = event;
	spin_unlock_irqrestore(&qp->lock, flags);
	wake_up(&qp->tx_wait);
	return done;
}

/**
 * srnic_tx_terminate - hand the Terminate to TCP if there is one to send (tx kthread)
 * @qp: in Terminate; no other FPDU follows (TER-8)
 *
 * What was staged goes first: those FPDUs may be partly on the wire. What TCP
 * has no room for stays in the buffer.
 *
 * Return: 0; an errno if the connection is gone, or has to be reset.
 */
int srnic_tx_terminate(struct srnic_qp *qp)
{
	u8 buf[RDMAP_MAX_TERM_LEN];
	struct rdmap_term term;
	unsigned long flags;
	bool send;
	int err;

	/* the state was seen without the lock: who set it may still be making the message */
	spin_lock_irqsave(&qp->lock, flags);
	send = qp->term_local && qp->term_valid;
	term = qp->term;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (send && test_bit(SRNIC_QPF_TX_OPEN, &qp->flags)) {
		if (!srnic_tx_get_term_buf(qp))
			return -ENOMEM;		/* a reset, and not a FIN that says all is well */
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

/**
 * srnic_qp_terminate - the Terminate that ended the QP's last stream (QP-15, CM-09)
 * @qp: in any state; one that left Error for Idle has none any more
 * @term: filled if there is one
 * @local: it was made here
 * @sent: if so, TCP took all of it
 *
 * Any context. Return: whether there is one.
 */
bool srnic_qp_terminate(struct srnic_qp *qp, struct rdmap_term *term, bool *local,
			bool *sent)
{
	unsigned long flags;
	bool valid;

	spin_lock_irqsave(&qp->lock, flags);
	valid = qp->term_valid;
	*local = qp->term_local;
	*sent = qp->term_sent;
	if (valid)
		*term = qp->term;
	spin_unlock_irqrestore(&qp->lock, flags);
	return valid;
}
