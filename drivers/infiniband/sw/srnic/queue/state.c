// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state machine of a QP, and how it leaves RTS: the first error is recorded,
 * the Terminate message it calls for is made, and the state changes. The owner of
 * tx does the rest, in srnic_close(). And the claim of a QP by a connection.
 */

#include "queue/holder.h"
#include "queue/state.h"
#include "queue/trace.h"

/*
 * The state machine of RDMAC verbs 6.2: what may take a QP from a state (row)
 * to another (column). ST-01 to ST-50.
 */
static const u8 transitions[SRNIC_QP_STATES][SRNIC_QP_STATES] = {
	[SRNIC_QP_IDLE] = {
		[SRNIC_QP_IDLE]	     = SRNIC_QP_BY_MODIFY,
		[SRNIC_QP_RTS]	     = SRNIC_QP_BY_ATTACH,
		[SRNIC_QP_ERROR]     = SRNIC_QP_BY_MODIFY,
	},
	[SRNIC_QP_RTS] = {
		[SRNIC_QP_RTS]	     = SRNIC_QP_BY_MODIFY,
		[SRNIC_QP_CLOSING]   = SRNIC_QP_BY_MODIFY | SRNIC_QP_BY_ITSELF,
		[SRNIC_QP_TERMINATE] = SRNIC_QP_BY_MODIFY | SRNIC_QP_BY_ITSELF,
		[SRNIC_QP_ERROR]     = SRNIC_QP_BY_MODIFY | SRNIC_QP_BY_ITSELF,
	},
	[SRNIC_QP_CLOSING] = {
		[SRNIC_QP_IDLE]	     = SRNIC_QP_BY_ITSELF,
		[SRNIC_QP_ERROR]     = SRNIC_QP_BY_ITSELF | SRNIC_QP_BY_FORCE,
	},
	[SRNIC_QP_TERMINATE] = {
		[SRNIC_QP_ERROR]     = SRNIC_QP_BY_ITSELF | SRNIC_QP_BY_FORCE,
	},
	[SRNIC_QP_ERROR] = {
		[SRNIC_QP_IDLE]	     = SRNIC_QP_BY_MODIFY,
		[SRNIC_QP_ERROR]     = SRNIC_QP_BY_MODIFY,
	},
};

/**
 * srnic_qp_transition_ok - does the table have a transition?
 * @from: present state
 * @to: next state
 * @by: SRNIC_QP_BY_*, any of them
 * Context: any.
 */
bool srnic_qp_transition_ok(enum srnic_qp_state from, enum srnic_qp_state to, u8 by)
{
	return transitions[from][to] & by;
}

/**
 * srnic_qp_state_name - name a state in logs, traces and rdma(8)
 * @state: a state
 * Context: any. Return: the name, or "?".
 */
const char *srnic_qp_state_name(enum srnic_qp_state state)
{
	static const char * const name[SRNIC_QP_STATES] = {
		"Idle", "RTS", "Closing", "Terminate", "Error",
	};

	return state < SRNIC_QP_STATES ? name[state] : "?";
}

/* The Terminate with the code @err; @seg is the offending FPDU from ULPDU_Length on */
static void term_make(struct rdmap_term *term, const struct rdmap_error *err,
		      const u8 *seg, u32 seg_len)
{
	memset(term, 0, sizeof(*term));
	term->err = *err;
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

/* qp->lock is held. The QP changes its state by itself. Return: false if it must not. */
static bool set_state(struct srnic_qp *qp, enum srnic_qp_state next, enum srnic_event why)
{
	if (!srnic_qp_transition_ok(qp->state, next, SRNIC_QP_BY_ITSELF))
		return false;
	trace_srnic_qp_state(qp, qp->state, next,
			     why == SRNIC_EV_NONE ? "close" : srnic_event_name(why));
	WRITE_ONCE(qp->state, next);
	return true;
}

/**
 * srnic_qp_fail - an error that calls for a Terminate (ST-22)
 * @qp: with a stream
 * @err: what is wrong
 * @seg: headers of the offending FPDU, from ULPDU_Length on, or NULL
 * @seg_len: octets of them
 * @in_wc: a completion carries the error, so that no event does (ST-33)
 *
 * Context: any. In Closing there is no Terminate any more: Bad Close (ST-43). A UD QP has no
 * stream to end: ib/ud.c takes it to Error when it finds qp->error set.
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
		first = set_state(qp, SRNIC_QP_TERMINATE, srnic_event_of(err));
		qp->error = err;
		qp->error_in_wc = in_wc;
		qp->term_local = true;
		qp->term_valid = true;
		term_make(&qp->term, rdmap_error(err, qp->version), seg, seg_len);
	} else if (qp->state == SRNIC_QP_CLOSING) {
		first = set_state(qp, SRNIC_QP_ERROR, SRNIC_EV_BAD_CLOSE);
		qp->error_in_wc = in_wc;
		qp->close_event = SRNIC_EV_BAD_CLOSE;
	} else if (qp->state == SRNIC_QP_IDLE && qp->ud && !qp->error) {
		WRITE_ONCE(qp->error, err);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (first)
		trace_srnic_fpdu_error(qp, err, seg ? get_unaligned_be16(seg) : 0);
	srnic_qp_kick_tx(qp);
	return first;
}

/**
 * srnic_qp_terminated - the peer sent a Terminate (ST-24, ST-45)
 * @qp: with a stream
 * @term: decoded
 * @in_wc: a completion carries the error
 *
 * No Terminate is sent in return. Context: any.
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
				      SRNIC_QP_TERMINATE : SRNIC_QP_ERROR,
				  SRNIC_EV_TERMINATE_RECEIVED);
		qp->error_in_wc = in_wc;
		qp->close_event = SRNIC_EV_TERMINATE_RECEIVED;
		qp->term_local = false;
		qp->term_valid = true;
		qp->term = *term;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	srnic_qp_kick_tx(qp);
	return first;
}

/**
 * srnic_qp_leave - the QP changes its state by itself, without a Terminate
 * @qp: with a stream
 * @next: SRNIC_QP_CLOSING or SRNIC_QP_ERROR
 * @event: why
 *
 * Context: any. Return: true if the state changed.
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
		WRITE_ONCE(qp->close_deadline, jiffies + qp->policy.close_timeout * HZ);
	smp_wmb();	/* before the state: srnic_close_overdue() has no lock */
	done = set_state(qp, next, event);
	/* the reason is what brought the QP to Terminate, not how the stream ended then (AE-05) */
	if (done && from != SRNIC_QP_TERMINATE)
		qp->close_event = event;
	spin_unlock_irqrestore(&qp->lock, flags);
	srnic_qp_kick_tx(qp);
	return done;
}

/**
 * srnic_term_fill - a Terminate message for a program
 * @to: zeroed; of the headers only what the message quoted is copied
 * @term: the message
 * @done: it was received, or all of it was sent
 * Context: any.
 */
void srnic_term_fill(struct srnic_terminate *to, const struct rdmap_term *term, bool done)
{
	BUILD_BUG_ON(SRNIC_TERMINATE_M != RDMAP_TERM_M || SRNIC_TERMINATE_D != RDMAP_TERM_D ||
		     SRNIC_TERMINATE_R != RDMAP_TERM_R);
	BUILD_BUG_ON(sizeof(to->ddp) != DDP_UNTAGGED_LEN ||
		     sizeof(to->rdmap) != RDMAP_READ_REQ_LEN);
	to->state = done ? SRNIC_TERMINATE_DONE : SRNIC_TERMINATE_UNSENT;
	to->layer = term->err.layer;
	to->etype = term->err.etype;
	to->code = term->err.code;
	to->hdrct = term->err.hdrct;
	if (term->err.hdrct & RDMAP_TERM_M)
		to->seg_len = term->seg_len;
	if (term->err.hdrct & RDMAP_TERM_D) {
		to->ddp_len = ddp_hdr_len(term->ddp[0] & DDP_T);
		memcpy(to->ddp, term->ddp, to->ddp_len);
	}
	if (term->err.hdrct & RDMAP_TERM_R) {
		to->rdmap_len = RDMAP_READ_REQ_LEN;
		memcpy(to->rdmap, term->read_req, RDMAP_READ_REQ_LEN);
	}
}

/**
 * srnic_qp_terminate - the Terminate that ended the QP's last stream (QP-15, CM-09)
 * @qp: in any state; one that left Error for Idle has none any more
 * @term: filled if there is one
 * @local: it was made here
 * @sent: if so, TCP took all of it
 *
 * Context: any. Return: whether there is one.
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

/* The claim of a kernel consumer's QP is charged to no user: the invalid uid */
#define NO_USER	U32_MAX

static void uncharge(u32 user)
{
	if (user != NO_USER)
		srnic_user_uncharge(user);
}

/**
 * srnic_qp_claim - reserve a QP for a connection that is going to be made
 * @qp: alive
 * @ops: callbacks of the caller; @ops->abort is called under a spinlock
 * @priv: their argument
 *
 * A program's QP is charged to the calling task's user until the claim ends. Does not check
 * permissions: the caller has a handle of the QP, or see srnic_ep_claim(). Context: process,
 * may sleep.
 *
 * Return: 0; -EINVAL for a UD QP, which has no connections, or if the QP is not in Idle; -EBUSY
 * if it is claimed; -EDQUOT if the user's limit of connected QPs is reached; -ENOMEM.
 */
int srnic_qp_claim(struct srnic_qp *qp, const struct srnic_llp_ops *ops, void *priv)
{
	unsigned long flags;
	u32 user = NO_USER;
	int err = 0;

	if (!qp->kernel)
		err = srnic_user_charge(qp->dev, &user);
	if (err)
		return err;
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->ibqp.qp_type == IB_QPT_UD || qp->state != SRNIC_QP_IDLE ||
	    test_bit(SRNIC_QPF_DESTROY, &qp->flags)) {
		err = -EINVAL;
	} else if (qp->llp_ops) {
		err = -EBUSY;
	} else {
		qp->llp_ops = ops;
		qp->llp_priv = priv;
		qp->llp_user = user;
		qp->llp_aborted = false;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	if (err)
		uncharge(user);
	return err;
}

/**
 * srnic_qp_unclaim - end a claim, and its charge
 * @qp: alive, without a stream
 * @priv: as claimed; does nothing if the claim has another owner
 *
 * @ops->abort is not called any more after this. Context: process.
 */
void srnic_qp_unclaim(struct srnic_qp *qp, void *priv)
{
	unsigned long flags;
	u32 user = NO_USER;

	spin_lock_irqsave(&qp->lock, flags);
	if (qp->llp_ops && qp->llp_priv == priv) {
		qp->llp_ops = NULL;
		qp->llp_priv = NULL;
		/* another claim may follow at once, of another user */
		user = qp->llp_user;
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	uncharge(user);
}
