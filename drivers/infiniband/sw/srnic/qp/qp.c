// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Queue pairs: life, Modify, and attaching a stream. */

#include <linux/cred.h>
#include <linux/log2.h>
#include <linux/netdevice.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <net/sock.h>
#include "engine/close.h"
#include "engine/kthreads.h"
#include "engine/stream.h"
#include "qp/qp.h"
#include "queue/cq.h"
#include "queue/holder.h"
#include "queue/srq.h"
#include "queue/trace.h"
#include "queue/wq.h"
#include "srnic.h"

static void qp_release(struct kref *ref)
{
	struct srnic_qp *qp = container_of(ref, struct srnic_qp, ref);

	complete(&qp->freed);
}

/**
 * srnic_qp_put - drop a reference; srnic_qp_destroy() waits for the last
 * @qp: not to be touched afterwards
 * Context: any.
 */
void srnic_qp_put(struct srnic_qp *qp)
{
	kref_put(&qp->ref, qp_release);
}

/**
 * srnic_qp_find - look a QP up
 * @dev: its device
 * @qpn: QP number
 *
 * Context: any. Return: the QP with a reference taken, or NULL.
 */
struct srnic_qp *srnic_qp_find(struct srnic_device *dev, u32 qpn)
{
	struct srnic_qp *qp;
	unsigned long flags;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp && (test_bit(SRNIC_QPF_DESTROY, &qp->flags) ||
		   !kref_get_unless_zero(&qp->ref)))
		qp = NULL;
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

/* Inline data that every QP takes, octets */
#define MIN_INLINE	64U

static u32 ring_stride(u32 header, u32 data)
{
	return roundup_pow_of_two(header + data);
}

static int qp_check_cap(const struct ib_qp_cap *cap, u32 max_write_sge)
{
	if (cap->max_send_wr > SRNIC_MAX_QP_WR || cap->max_recv_wr > SRNIC_MAX_QP_WR ||
	    cap->max_send_sge > SRNIC_MAX_SGE || cap->max_recv_sge > SRNIC_MAX_SGE ||
	    max_write_sge > SRNIC_MAX_SGE || cap->max_inline_data > SRNIC_MAX_INLINE)
		return -EINVAL;
	return 0;
}

/* A QP with an SRQ has no RQ: its sizes are ignored, and 0 is returned (QP-12) */
static void qp_use_srq(struct srnic_qp *qp, struct ib_qp_init_attr *init)
{
	if (!init->srq)
		return;
	qp->srq = to_srnic_srq(init->srq);
	init->cap.max_recv_wr = 0;
	init->cap.max_recv_sge = 0;
}

static int qp_alloc_rq(struct srnic_qp *qp, struct ib_qp_cap *cap, struct ib_ucontext *uctx)
{
	u32 entries = roundup_pow_of_two(max(cap->max_recv_wr, 1U));
	u32 stride = ring_stride(sizeof(struct srnic_rqe),
				 cap->max_recv_sge * sizeof(struct srnic_sge));

	if (qp->srq) {
		qp->max_recv_sge = qp->srq->max_sge;
		return 0;
	}
	qp->max_recv_sge = cap->max_recv_sge;
	cap->max_recv_wr = entries;
	return srnic_ring_alloc(&qp->rq, entries, stride, uctx);
}

static int qp_alloc_queues(struct srnic_qp *qp, struct ib_qp_cap *cap,
			   struct ib_ucontext *uctx)
{
	u32 sq_entries = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	u32 sges = max(cap->max_send_sge, qp->max_write_sge);
	u32 sqe = ring_stride(sizeof(struct srnic_sqe),
			      max3((u32)(sges * sizeof(struct srnic_sge)),
				   cap->max_inline_data, MIN_INLINE));
	int err;

	err = srnic_ring_alloc(&qp->sq, sq_entries, sqe, uctx);
	if (err)
		return err;
	err = qp_alloc_rq(qp, cap, uctx);
	if (err)
		goto free_sq;
	qp->swr = kvcalloc(sq_entries, sizeof(*qp->swr), SRNIC_GFP_USER);
	if (!qp->swr) {
		err = -ENOMEM;
		goto free_rq;
	}
	qp->max_send_sge = cap->max_send_sge;
	if (!qp->max_write_sge)
		qp->max_write_sge = cap->max_send_sge;
	/* all of the SQE's room: many programs post inline data without asking for it */
	qp->max_inline = min_t(u32, sqe - sizeof(struct srnic_sqe), SRNIC_MAX_INLINE);
	cap->max_inline_data = qp->max_inline;
	cap->max_send_wr = sq_entries;
	return 0;
free_rq:
	srnic_ring_free(&qp->rq);
free_sq:
	srnic_ring_free(&qp->sq);
	return err;
}

static void qp_free_queues(struct srnic_qp *qp)
{
	srnic_wq_resize_cancel(qp);
	kvfree(qp->swr);
	srnic_ring_free(&qp->rq);
	srnic_ring_free(&qp->sq);
}

/*
 * Numbers are cyclic, so that it takes long until one is used again. If programs may connect
 * without rdma_cm they are random: the number is a part of what a peer has to know to connect.
 */
static int qp_number(struct srnic_qp *qp)
{
	static const struct xa_limit limit = XA_LIMIT(1, (1U << 24) - 1);
	struct srnic_device *dev = qp->dev;
	u32 random = get_random_u32() & limit.max;
	u32 *next = srnic_policy_get(&dev->policy).ib_port ? &random : &dev->next_qpn;

	return xa_alloc_cyclic_irq(&dev->qps, &qp->ibqp.qp_num, qp, limit, next, GFP_KERNEL);
}

/**
 * srnic_qp_create - create a QP, in Idle (RDMAC verbs 6.1.1)
 * @qp: zeroed except the core's part, and @max_write_sge if that is not to be @max_send_sge
 * @dev: its device
 * @init: in: the request; out: cap has the allocated sizes
 * @uctx: the user's, NULL for a kernel consumer
 *
 * Context: process, may sleep. Return: 0, -EINVAL above a limit, -ENOMEM, -EDQUOT (see
 * srnic_take()).
 */
int srnic_qp_create(struct srnic_qp *qp, struct srnic_device *dev,
		    struct ib_qp_init_attr *init, struct ib_ucontext *uctx)
{
	int err;

	qp_use_srq(qp, init);
	err = qp_check_cap(&init->cap, qp->max_write_sge);
	if (err)
		return err;
	err = srnic_take(dev, srnic_pd_holder(qp->ibqp.pd), SRNIC_KIND_QP, 1);
	if (err)
		return err;
	qp->dev = dev;
	qp->kernel = !uctx;
	qp->owner = current_euid();
	qp->privileged = qp->kernel;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->version = RDMAP_IETF;	/* a stream may have another one */
	qp->scq = to_srnic_cq(init->send_cq);
	qp->rcq = to_srnic_cq(init->recv_cq);
	kref_init(&qp->ref);
	init_completion(&qp->freed);
	init_completion(&qp->tx_exit);
	spin_lock_init(&qp->lock);
	mutex_init(&qp->modify);
	mutex_init(&qp->resize);
	srnic_qp_events_init(qp, uctx);
	srnic_lock_init(&qp->sq_lock, !uctx);
	srnic_lock_init(&qp->rq_lock, !uctx);
	/* tx has no owner before there is a stream: the bit keeps others out */
	set_bit(SRNIC_QPF_TX_OWNED, &qp->flags);
	init_waitqueue_head(&qp->tx_wait);
	init_waitqueue_head(&qp->rx_wait);
	srnic_kthreads_prepare(qp);

	err = qp_alloc_queues(qp, &init->cap, uctx);
	if (err)
		goto uncount;
	err = qp_number(qp);
	if (err < 0)
		goto free_queues;
	return 0;
free_queues:
	qp_free_queues(qp);
uncount:
	srnic_give(dev, srnic_pd_holder(qp->ibqp.pd), SRNIC_KIND_QP, 1);
	return err;
}

/**
 * srnic_qp_join_tx - wait until the last stream is wound down
 * @qp: without a stream, or with one that ends; the caller attaches no other stream meanwhile
 *
 * When this returns the stream's memory is free, and llp_ops->closed() has been called. Context:
 * process, may sleep, for the close time-out at most.
 */
void srnic_qp_join_tx(struct srnic_qp *qp)
{
	if (!qp->tx_started)
		return;
	wait_for_completion(&qp->tx_exit);
	/* another task may wait, too */
	complete_all(&qp->tx_exit);
	qp->tx_started = false;
}

/**
 * srnic_qp_destroy - end a QP in any state (QP-27 to QP-31)
 * @qp: no verb is running on it
 *
 * A stream in Closing is closed gracefully, and so is one in RTS if all send
 * WRs have completed; otherwise it is reset. When this returns there are no more
 * completions, events or placements of this QP. Context: process, may sleep, bounded by the close
 * time-out.
 *
 * Return: 0; -EBUSY while windows are bound to the QP, also in Error (MW-17), and
 * nothing has changed.
 */
int srnic_qp_destroy(struct srnic_qp *qp)
{
	struct srnic_device *dev = qp->dev;
	unsigned long flags;

	/* from here on no window is bound, see mw.c */
	spin_lock_irqsave(&qp->lock, flags);
	if (qp->windows) {
		spin_unlock_irqrestore(&qp->lock, flags);
		return -EBUSY;
	}
	set_bit(SRNIC_QPF_DESTROY, &qp->flags);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (srnic_qp_state(qp) == SRNIC_QP_IDLE || srnic_qp_state(qp) == SRNIC_QP_RTS)
		srnic_qp_give_up(qp);
	srnic_qp_kick_tx(qp);

	srnic_qp_put(qp);
	/* the owner of the claim and iw_cm put their references when the stream is gone */
	wait_for_completion(&qp->freed);
	srnic_qp_join_tx(qp);
	srnic_event_source_end(&qp->events);
	srnic_cq_purge(qp->scq, qp->ibqp.qp_num);
	srnic_cq_purge(qp->rcq, qp->ibqp.qp_num);
	/* erase it last: srnic_poll_cq() looks the QP up, and the number is not reused before */
	xa_erase_irq(&dev->qps, qp->ibqp.qp_num);
	qp_free_queues(qp);
	srnic_give(dev, srnic_pd_holder(qp->ibqp.pd), SRNIC_KIND_QP, 1);
	return 0;
}

/* Error without a stream: ST-13 */
static void qp_error_idle(struct srnic_qp *qp)
{
	unsigned long flags;

	srnic_sq_flush(qp);
	srnic_rq_flush(qp);
	srnic_qp_last_wqe(qp);
	spin_lock_irqsave(&qp->lock, flags);
	qp->idle_moves--;
	spin_unlock_irqrestore(&qp->lock, flags);
}

/*
 * Error: stop all, reset the LLP (ST-25). @by: SRNIC_QP_BY_*. @deliver: the data of
 * completed send WRs is delivered first, see close.c. A connection that is being made
 * is aborted, too.
 */
static int qp_to_error(struct srnic_qp *qp, u8 by, bool deliver)
{
	const struct srnic_llp_ops *ops = NULL;
	enum srnic_qp_state from;
	unsigned long flags;
	void *priv = NULL;

	spin_lock_irqsave(&qp->lock, flags);
	from = qp->state;
	if (!srnic_qp_transition_ok(from, SRNIC_QP_ERROR, by)) {
		spin_unlock_irqrestore(&qp->lock, flags);
		return -EINVAL;
	}
	/* also out of Closing: if the close ended in Idle later, no WR would be flushed */
	if (from != SRNIC_QP_ERROR) {
		trace_srnic_qp_state(qp, from, SRNIC_QP_ERROR, "asked for");
		WRITE_ONCE(qp->state, SRNIC_QP_ERROR);
	}
	if (from == SRNIC_QP_IDLE)
		qp->idle_moves++;
	if (from == SRNIC_QP_IDLE && qp->llp_ops && !qp->llp_aborted) {
		qp->llp_aborted = true;
		ops = qp->llp_ops;
		priv = qp->llp_priv;
		ops->abort(priv);
	}
	if (from == SRNIC_QP_RTS && deliver)
		set_bit(SRNIC_QPF_DELIVER, &qp->flags);
	set_bit(SRNIC_QPF_ABORT, &qp->flags);
	spin_unlock_irqrestore(&qp->lock, flags);

	if (from == SRNIC_QP_IDLE)
		qp_error_idle(qp);
	srnic_qp_kick_tx(qp);
	return 0;
}

/**
 * srnic_qp_abort - to Error, from any state
 * @qp: alive
 *
 * Flushes the queues if there is no stream; otherwise the tx kthread winds the stream down.
 * Context: as srnic_sq_flush(). Returns at once.
 */
void srnic_qp_abort(struct srnic_qp *qp)
{
	qp_to_error(qp, SRNIC_QP_BY_MODIFY | SRNIC_QP_BY_FORCE, false);
}

/**
 * srnic_qp_moved - the interface is in another network namespace: the connection ends
 * @qp: alive
 *
 * A stream that attaches meanwhile is refused: it looks at the namespace with the lock held, so
 * one of the two sees the other. Context: as srnic_qp_abort(). Returns at once.
 */
void srnic_qp_moved(struct srnic_qp *qp)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(&qp->lock, flags);
	idle = qp->state == SRNIC_QP_IDLE;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!idle)
		srnic_qp_abort(qp);
}

/**
 * srnic_qp_give_up - to Error, because the program does not use the connection any more
 * @qp: alive
 *
 * As srnic_qp_abort(), but out of RTS the stream is not reset if all send WRs have
 * completed: TCP delivers their data, and a FIN. Programs expect a completed
 * Send to arrive, and destroy the QP or exit. Context: as srnic_qp_abort(). Returns at once.
 */
void srnic_qp_give_up(struct srnic_qp *qp)
{
	qp_to_error(qp, SRNIC_QP_BY_MODIFY | SRNIC_QP_BY_FORCE, true);
}

/* Error to Idle: fails until the old stream is gone (ST-37) */
static int qp_to_idle(struct srnic_qp *qp)
{
	bool restart = false;
	unsigned long flags;
	int err = 0;

	spin_lock_irqsave(&qp->lock, flags);
	if (!srnic_qp_transition_ok(qp->state, SRNIC_QP_IDLE, SRNIC_QP_BY_MODIFY)) {
		err = -EINVAL;
	} else if (qp->state == SRNIC_QP_ERROR) {
		if (test_bit(SRNIC_QPF_ATTACHED, &qp->flags) || qp->llp_ops || qp->idle_moves)
			err = -EBUSY;
		else
			restart = true;
	}
	qp->idle_moves += restart;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!restart)
		return err;

	/* before Idle is visible, as in srnic_close(); @idle_moves keeps others from changing it */
	srnic_wq_restart(qp);
	spin_lock_irqsave(&qp->lock, flags);
	qp->idle_moves--;
	trace_srnic_qp_state(qp, qp->state, SRNIC_QP_IDLE, "asked for");
	WRITE_ONCE(qp->state, SRNIC_QP_IDLE);
	qp->error = RDMAP_OK;
	qp->term_valid = false;
	spin_unlock_irqrestore(&qp->lock, flags);
	return 0;
}

/**
 * srnic_qp_modify - Modify QP, the state part (RDMAC verbs 6.2)
 * @qp: alive
 * @next: the requested state
 *
 * To Closing (ST-19): TCP still gets the WRs on the SQ and the requests on the IRQ, within
 * the close time-out, then a FIN (RFC 5041 6.2.1 demands it, and users of
 * rdma_disconnect() expect it; the RDMAC verbs would allow an error, ST-20).
 *
 * Context: as srnic_qp_abort(). Return: 0; -EINVAL for a transition that
 * does not exist, -EBUSY while the QP is still being flushed.
 */
int srnic_qp_modify(struct srnic_qp *qp, enum srnic_qp_state next)
{
	bool done;

	switch (next) {
	case SRNIC_QP_IDLE:
		return qp_to_idle(qp);
	case SRNIC_QP_ERROR:
		return qp_to_error(qp, SRNIC_QP_BY_MODIFY | SRNIC_QP_BY_FORCE, false);
	case SRNIC_QP_CLOSING:
		done = srnic_qp_leave(qp, SRNIC_QP_CLOSING, SRNIC_EV_NONE);
		return done ? 0 : -EINVAL;
	case SRNIC_QP_TERMINATE:
		if (srnic_qp_state(qp) != SRNIC_QP_RTS)
			return -EINVAL;
		done = srnic_qp_fail(qp, RDMAP_E_LOCAL_WR, NULL, 0, true);
		return done ? 0 : -EINVAL;
	default:
		return srnic_qp_transition_ok(srnic_qp_state(qp), next,
					      SRNIC_QP_BY_MODIFY) ? 0 : -EINVAL;
	}
}

/**
 * srnic_qp_abort_silent - to Error, if the peer has not sent an FPDU yet
 * @qp: alive
 * @priv: as claimed; does nothing if the claim has another owner
 *
 * Context: as srnic_qp_abort().
 * Return: true if the peer has sent none; the QP is then in Error.
 */
bool srnic_qp_abort_silent(struct srnic_qp *qp, void *priv)
{
	unsigned long flags;
	bool silent;

	spin_lock_irqsave(&qp->lock, flags);
	silent = qp->llp_ops && qp->llp_priv == priv && qp->state == SRNIC_QP_RTS &&
		 !test_bit(SRNIC_QPF_TX_OPEN, &qp->flags);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (silent)
		srnic_qp_abort(qp);
	return silent;
}

/* How long a message waits for a receive on this connection */
static u32 qp_no_receive(const struct srnic_qp *qp, const struct srnic_attach *attach)
{
	if (attach->as_infiniband)	/* rnr_retry bounds it, see engine/rnr.c */
		return SRNIC_FOREVER;
	/* the program has asked for no wait, by rnr_retry 0 */
	return READ_ONCE(qp->ib.no_rnr) ? 0 : attach->policy->no_receive;
}

/* Memory and initial conditions of a stream (ST-08) */
static int qp_prepare(struct srnic_qp *qp, const struct srnic_attach *attach)
{
	qp->mpa = attach->mpa;
	qp->version = attach->rdmac ? RDMAP_RDMAC : RDMAP_IETF;
	qp->policy = *attach->policy;
	qp->policy.no_receive = qp_no_receive(qp, attach);
	qp->initiator = attach->initiator;
	qp->keep_recv = attach->as_infiniband;
	qp->send_imm = attach->send_imm;
	qp->acks = attach->acks;
	qp->placement = attach->placement;
	qp->sq_messages = 0;
	qp->sq_acked = 0;
	qp->no_responses = attach->no_responses;
	qp->error = RDMAP_OK;
	qp->error_in_wc = false;
	qp->term_valid = false;
	qp->term_sent = false;
	qp->close_event = SRNIC_EV_NONE;
	return srnic_engine_alloc(qp);
}

/* The interface may have gone to another network namespace since the stream was begun */
static bool is_at_home(const struct srnic_qp *qp, const struct srnic_stream *stream)
{
	return net_eq(sock_net(stream->sock->sk), dev_net(qp->dev->netdev));
}

/* Sends the last message, and enters RTS. After this, attaching cannot fail */
static int qp_enter_rts(struct srnic_qp *qp, const struct srnic_attach *attach)
{
	unsigned long flags;
	int err = 0;

	if (attach->last_msg) {
		err = srnic_stream_send_all(qp->dev, attach->stream, attach->last_msg,
					    attach->last_len, attach->timeout_ms);
		if (err)
			return err;
	}
	spin_lock_irqsave(&qp->lock, flags);
	if (!srnic_qp_transition_ok(qp->state, SRNIC_QP_RTS, SRNIC_QP_BY_ATTACH) ||
	    test_bit(SRNIC_QPF_DESTROY, &qp->flags)) {
		err = -ECONNABORTED;
	} else if (!is_at_home(qp, attach->stream)) {
		err = -EXDEV;
	} else {
		trace_srnic_qp_state(qp, qp->state, SRNIC_QP_RTS, "connected");
		WRITE_ONCE(qp->state, SRNIC_QP_RTS);
		qp->ird = attach->mpa.ird;
		qp->ord = attach->mpa.ord;
		/* clear it before WRs begin that are posted already */
		if (attach->no_bind)
			WRITE_ONCE(qp->enables, qp->enables & ~SRNIC_QP_BIND_ENABLED);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
	return err;
}

/**
 * srnic_qp_attach - attach a stream to a QP: Idle to RTS (ST-07 to ST-12)
 * @qp: claimed by the caller, in Idle
 * @attach: the stream and its settings
 *
 * Sends the last streaming-mode message, then switches to FPDUs in both
 * directions. Data that TCP has received before is processed, too (ST-11).
 * Context: process, may sleep, for attach->timeout_ms, and until srnic_close() of the QP's last
 * stream is done.
 *
 * Return: 0: the QP owns the stream, and srnic_close() ends the claim, unless its owner keeps it.
 * -EXDEV: the interface is not in the network namespace of the stream. Otherwise an errno: nothing
 * has changed, except that the last message may have been sent.
 */
int srnic_qp_attach(struct srnic_qp *qp, const struct srnic_attach *attach)
{
	unsigned int bit;
	int err;

	srnic_qp_join_tx(qp);
	for (bit = 0; bit < SRNIC_QPF_STREAM_BITS; bit++)
		clear_bit(bit, &qp->flags);
	err = qp_prepare(qp, attach);
	if (err)
		goto release;
	set_bit(SRNIC_QPF_ATTACHED, &qp->flags);
	err = qp_enter_rts(qp, attach);
	if (err)
		goto detach;

	qp->stream = attach->stream;
	reinit_completion(&qp->tx_exit);
	qp->tx_started = true;
	if (attach->initiator)
		set_bit(SRNIC_QPF_TX_OPEN, &qp->flags);
	srnic_engine_start(qp);
	return 0;
detach:
	clear_bit(SRNIC_QPF_ATTACHED, &qp->flags);
release:
	srnic_engine_free(qp);
	return err;
}
