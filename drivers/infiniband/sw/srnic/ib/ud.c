// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* UD QPs: sending send WRs as datagrams, receiving datagrams into receive WRs. */

#include <linux/sched/signal.h>
#include <linux/slab.h>
#include "engine/rx.h"
#include "engine/stream.h"
#include "ib/ib_device.h"
#include "memory/tpt.h"
#include "queue/cq.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "srnic.h"

/* ----- Error ----- */

static void ud_rx_set(struct srnic_ud *ud, bool on)
{
	spin_lock_bh(&ud->rx_lock);
	WRITE_ONCE(ud->rx_on, on);
	spin_unlock_bh(&ud->rx_lock);
}

/*
 * tx_lock is held. Stops receiving and sending, and flushes all WRs. An event reports an error
 * that no completion reports, see srnic_qp_fail(). The transition out of Error waits for
 * tx_lock, too.
 */
static void ud_to_error(struct srnic_qp *qp)
{
	enum srnic_event event;
	unsigned long flags;
	bool first;

	WRITE_ONCE(qp->ud->failed, false);
	qp->ud->tx_on = false;
	ud_rx_set(qp->ud, false);
	spin_lock_irqsave(&qp->lock, flags);
	first = qp->state == SRNIC_QP_IDLE;
	if (first)
		WRITE_ONCE(qp->state, SRNIC_QP_ERROR);
	event = srnic_event_of(qp->error);
	spin_unlock_irqrestore(&qp->lock, flags);
	if (!first)
		return;
	srnic_sq_flush(qp);
	srnic_rq_flush(qp);
	if (event)
		srnic_qp_raise(qp, event);
	srnic_qp_last_wqe(qp);
}

/* Let go of tx_lock, and do what a work has left meanwhile */
static void ud_tx_unlock(struct srnic_qp *qp)
{
	struct srnic_ud *ud = qp->ud;

	do {
		if (READ_ONCE(ud->failed))
			ud_to_error(qp);
		mutex_unlock(&ud->tx_lock);
		smp_mb();	/* let go, then look; ud_error_work() has it the other way round */
	} while (READ_ONCE(ud->failed) && mutex_trylock(&ud->tx_lock));
}

/**
 * srnic_ud_error - to Error
 * @qp: a UD QP
 *
 * When this returns all WRs are flushed. Context: process, may sleep.
 */
void srnic_ud_error(struct srnic_qp *qp)
{
	/* a doorbell, which has tx_lock, stops after the message in progress */
	ud_rx_set(qp->ud, false);
	mutex_lock(&qp->ud->tx_lock);
	ud_to_error(qp);
	ud_tx_unlock(qp);
}

/*
 * The QPs of all users share a workqueue, and a doorbell may wait for the program's memory, with
 * tx_lock. So the work does not wait for it: whoever has it takes the QP to Error.
 */
static void ud_error_work(struct work_struct *work)
{
	struct srnic_ud *ud = container_of(work, struct srnic_ud, error);

	ud_rx_set(ud, false);
	WRITE_ONCE(ud->failed, true);
	smp_mb();	/* say it, then try; see ud_tx_unlock() */
	if (mutex_trylock(&ud->tx_lock))
		ud_tx_unlock(ud->qp);
}

/* rx_lock is held. Stops receiving and sending; a work, which may sleep, does the rest. */
static void ud_rx_fail(struct srnic_ud *ud)
{
	WRITE_ONCE(ud->rx_on, false);
	srnic_ud_queue(&ud->error);
}

/**
 * srnic_ud_abort - to Error, for callers that may not sleep
 * @qp: a UD QP that has joined
 *
 * No message is received after this; a work does the rest. Context: process or softirq.
 */
void srnic_ud_abort(struct srnic_qp *qp)
{
	spin_lock_bh(&qp->ud->rx_lock);
	ud_rx_fail(qp->ud);
	spin_unlock_bh(&qp->ud->rx_lock);
}

/* ----- receiving ----- */

/* rx_lock is held */
static enum srnic_wc_status ud_place(struct srnic_qp *qp, const struct srnic_dgm *dgm)
{
	struct srnic_cursor grh = srnic_cursor_at(&dgm->grh), data = srnic_cursor_at(dgm->data);
	const struct srnic_rwr *rwr = qp->ud->rwr;
	enum srnic_tpt_err err;

	if (rwr->length < sizeof(dgm->grh) + dgm->hdr.length)
		return SRNIC_WC_INVALID_LENGTH;
	err = srnic_place_receive(qp, rwr, 0, &grh, sizeof(dgm->grh), false) ?:
	      srnic_place_receive(qp, rwr, sizeof(dgm->grh), &data, dgm->hdr.length, false);
	return err == SRNIC_TPT_SLEEPS ? SRNIC_WC_ACCESS : srnic_tpt_wc_status(err);
}

static void ud_complete(struct srnic_qp *qp, const struct srnic_dgm *dgm,
			enum srnic_wc_status status)
{
	struct srnic_cqe cqe = { };

	if (!status) {
		cqe.byte_len = sizeof(dgm->grh) + dgm->hdr.length;
		cqe.src_qp = dgm->hdr.src_qpn;
		cqe.flags = SRNIC_CQE_GRH;
		if (dgm->hdr.flags & DGM_SOLICITED)
			cqe.flags |= SRNIC_CQE_SOLICITED;
		if (dgm->hdr.flags & DGM_IMMEDIATE) {
			cqe.flags |= SRNIC_CQE_WITH_IMM;
			cqe.data = (__force u32)cpu_to_be32(dgm->hdr.imm);
		}
	}
	srnic_rq_complete(qp, qp->ud->rwr, &cqe, status);
}

/*
 * rx_lock is held. A message that is too long completes a receive with an error, but does not
 * end the QP: any peer may send one. All other errors are local ones, and take the QP to Error.
 */
static void ud_take(struct srnic_qp *qp, const struct srnic_dgm *dgm)
{
	enum srnic_wc_status status;
	int err = srnic_rq_take(qp, qp->ud->rwr);

	if (err == -EAGAIN) {
		srnic_count(qp->dev, SRNIC_CNT_UD_RX_NO_RECV);
		return;
	}
	if (err == -EPROTO) {
		srnic_count(qp->dev, SRNIC_CNT_RING_CORRUPT);
		srnic_qp_fail(qp, RDMAP_E_RQ_LOCAL, NULL, 0, false);
		ud_rx_fail(qp->ud);
		return;
	}
	status = err ? SRNIC_WC_INVALID_WQE : ud_place(qp, dgm);
	srnic_count(qp->dev, status ? SRNIC_CNT_LOCAL_WR_ERROR : SRNIC_CNT_UD_RX);
	ud_complete(qp, dgm, status);
	if ((status && status != SRNIC_WC_INVALID_LENGTH) || READ_ONCE(qp->error))
		ud_rx_fail(qp->ud);
}

/**
 * srnic_ud_deliver - deliver a message to a QP
 * @qp: a UD QP that has joined
 * @dgm: the message
 *
 * A message that cannot be delivered is dropped and counted. Context: softirq or process.
 */
void srnic_ud_deliver(struct srnic_qp *qp, const struct srnic_dgm *dgm)
{
	struct srnic_ud *ud = qp->ud;

	spin_lock_bh(&ud->rx_lock);
	if (!ud->rx_on)
		srnic_count(qp->dev, SRNIC_CNT_UD_RX_NO_QP);
	else if (dgm->hdr.qkey != ud->qkey)
		srnic_count(qp->dev, SRNIC_CNT_UD_RX_QKEY);
	else
		ud_take(qp, dgm);
	spin_unlock_bh(&ud->rx_lock);
}

/* ----- sending ----- */

/* tx_lock is held. Copies the data of the WR */
static enum srnic_wc_status ud_gather(struct srnic_qp *qp, u8 *dst)
{
	const struct srnic_fetched *wr = &qp->ud->wr;
	struct srnic_sge_walk walk = srnic_sge_walk(qp, qp->ibqp.pd, SRNIC_LOCAL_READ, wr->sges,
						    0, wr->total);

	if (wr->sqe.flags & SRNIC_SQE_INLINE) {
		memcpy(dst, wr->inl, wr->total);
		return SRNIC_WC_SUCCESS;
	}
	while (srnic_sge_next(&walk)) {
		struct srnic_span span;
		enum srnic_tpt_err err = srnic_tpt_get(qp->dev, &walk.acc, &span);

		if (err)
			return srnic_tpt_wc_status(err);
		err = srnic_span_read(&span, 0, dst, walk.acc.length);
		srnic_tpt_put(&span);
		if (err)
			return srnic_tpt_wc_status(err);
		dst += walk.acc.length;
	}
	return SRNIC_WC_SUCCESS;
}

/* Copies the address vector: the program may destroy its address handle at any time */
static bool ud_find_av(struct srnic_qp *qp, u32 number, struct srnic_av *av)
{
	const struct srnic_av *found;

	xa_lock(&qp->dev->ib->avs);
	found = xa_load(&qp->dev->ib->avs, number);
	if (found)
		*av = *found;
	xa_unlock(&qp->dev->ib->avs);
	return found && av->pd == qp->ibqp.pd;
}

/* Bytes of the longest message: the largest IB MTU that the interface's MTU has room for */
static u32 ud_max(const struct srnic_device *dev)
{
	return ib_mtu_enum_to_int(ib_mtu_int_to_enum(READ_ONCE(dev->netdev->mtu)));
}

/* tx_lock is held. Makes the header; srnic_sqe_fetch() has checked the SQE */
static enum srnic_wc_status ud_header(struct srnic_qp *qp, struct dgm_hdr *hdr,
				      struct srnic_av *av)
{
	const struct srnic_sqe *sqe = &qp->ud->wr.sqe;

	if (sqe->arg[0] > DGM_NUMBER_MAX || sqe->arg[1] > U32_MAX ||
	    !ud_find_av(qp, sqe->rkey, av))
		return SRNIC_WC_INVALID_WQE;
	if (qp->ud->wr.total > ud_max(qp->dev))
		return SRNIC_WC_INVALID_LENGTH;
	*hdr = (struct dgm_hdr){
		.length = qp->ud->wr.total,
		.src_qpn = qp->ibqp.qp_num,
		.dst_qpn = sqe->arg[0],
		.qkey = sqe->arg[1] & SRNIC_QKEY_OF_QP ? READ_ONCE(qp->ud->qkey) : sqe->arg[1],
		.psn = qp->ud->psn++ & DGM_NUMBER_MAX,
	};
	if (sqe->flags & SRNIC_SQE_SOLICITED)
		hdr->flags |= DGM_SOLICITED;
	if (sqe->opcode == SRNIC_OP_UD_SEND_IMM) {
		hdr->flags |= DGM_IMMEDIATE;
		hdr->imm = be32_to_cpu((__force __be32)sqe->stag);
	}
	return SRNIC_WC_SUCCESS;
}

/* tx_lock is held. Sends the WR in progress. A message that the socket refuses is just lost */
static enum srnic_wc_status ud_send_wr(struct srnic_qp *qp)
{
	u8 *buf = qp->ud->buf;
	enum srnic_wc_status status;
	struct dgm_hdr hdr;
	struct srnic_av av;
	int err;

	status = ud_header(qp, &hdr, &av);
	if (!status)
		status = ud_gather(qp, buf + DGM_HDR_LEN);
	if (status)
		return status;
	dgm_seal(buf, &hdr);
	err = srnic_ud_ports_send(qp, &av, buf, DGM_HDR_LEN + hdr.length);
	srnic_count(qp->dev, err ? SRNIC_CNT_UD_TX_LOST : SRNIC_CNT_UD_TX);
	return SRNIC_WC_SUCCESS;
}

/* tx_lock is held. Return: whether to go on */
static bool ud_send_next(struct srnic_qp *qp)
{
	enum srnic_wc_status status;
	int n = srnic_sqe_fetch(qp, &qp->ud->wr, &status);

	if (n < 0) {
		srnic_count(qp->dev, SRNIC_CNT_RING_CORRUPT);
		srnic_qp_fail(qp, RDMAP_E_LOCAL_WR, NULL, 0, false);
		ud_to_error(qp);
	}
	if (n <= 0)
		return false;
	if (!status)
		status = ud_send_wr(qp);
	srnic_sq_done(qp, qp->ud->wr.index, status);
	if (status)
		srnic_count(qp->dev, SRNIC_CNT_LOCAL_WR_ERROR);
	if (!status && !READ_ONCE(qp->error))
		return true;
	ud_to_error(qp);
	return false;
}

/*
 * Each message may wait for room in the socket: stop for a fatal signal, a leaving device, or an
 * error.
 */
static bool ud_goes_on(const struct srnic_qp *qp)
{
	return qp->ud->tx_on && READ_ONCE(qp->ud->rx_on) && !fatal_signal_pending(current) &&
	       srnic_device_phase(qp->dev) != SRNIC_DEV_LEAVING;
}

/**
 * srnic_ud_doorbell - send posted WRs, in the program's call
 * @qp: a UD QP
 *
 * Sends as many WRs as the queue has entries, at most: each post rings the doorbell, so WRs that
 * other threads post meanwhile get their own call. Context: process, may sleep; see
 * srnic_ud_ports_send().
 */
void srnic_ud_doorbell(struct srnic_qp *qp)
{
	struct srnic_wq_use use;
	u32 n;

	srnic_wq_query(qp, &use);
	n = use.sq_size;
	mutex_lock(&qp->ud->tx_lock);
	while (n-- && ud_goes_on(qp) && ud_send_next(qp))
		cond_resched();
	ud_tx_unlock(qp);
}

/* ----- states ----- */

/**
 * srnic_ud_receive - to RTR: start receiving
 * @qp: a UD QP, in Idle
 *
 * Context: process, may sleep.
 *
 * Return: 0, or an errno of srnic_ud_ports_join().
 */
int srnic_ud_receive(struct srnic_qp *qp)
{
	int err;

	/* before the QP has joined: from then on an error may stop receiving */
	ud_rx_set(qp->ud, true);
	err = srnic_ud_ports_join(qp);
	if (err)
		ud_rx_set(qp->ud, false);
	else
		qp->ud->joined = true;
	return err;
}

/**
 * srnic_ud_send - RTS or SQD: start or stop sending
 * @qp: a UD QP, in Idle
 * @on: start; WRs that were posted before are sent now
 *
 * Context: process, may sleep.
 */
void srnic_ud_send(struct srnic_qp *qp, bool on)
{
	mutex_lock(&qp->ud->tx_lock);
	/* a work may have taken the QP to Error meanwhile */
	qp->ud->tx_on = on && srnic_qp_state(qp) == SRNIC_QP_IDLE;
	/* in SQD a doorbell does nothing */
	if (on)
		srnic_sq_set_wakeup(qp, true);
	ud_tx_unlock(qp);
	smp_mb();	/* flag, then index; the provider writes the index, then reads the flag */
	srnic_ud_doorbell(qp);
}

/**
 * srnic_ud_leave - stop receiving and sending, and flush all WRs
 * @qp: a UD QP; in Error afterwards
 *
 * When this returns neither the sockets nor a work use the QP. Context: process, may sleep.
 */
void srnic_ud_leave(struct srnic_qp *qp)
{
	/* a doorbell, which has tx_lock, stops after the message in progress */
	ud_rx_set(qp->ud, false);
	if (qp->ud->joined)
		srnic_ud_ports_leave(qp);
	qp->ud->joined = false;
	cancel_work_sync(&qp->ud->error);
	srnic_ud_error(qp);
}

/**
 * srnic_ud_set_qkey - set the Q_Key
 * @qp: a UD QP
 * @qkey: the Q_Key that messages must have from now on
 * Context: process or softirq.
 */
void srnic_ud_set_qkey(struct srnic_qp *qp, u32 qkey)
{
	spin_lock_bh(&qp->ud->rx_lock);
	WRITE_ONCE(qp->ud->qkey, qkey);
	spin_unlock_bh(&qp->ud->rx_lock);
}

static void ud_free(struct srnic_ud *ud)
{
	kfree(ud->rwr);
	kfree(ud->wr.data);
	kfree(ud->buf);
	kfree(ud);
}

/**
 * srnic_ud_create - set up the UD part of a QP
 * @qp: just created, of a user
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int srnic_ud_create(struct srnic_qp *qp)
{
	struct srnic_ud *ud = kzalloc(sizeof(*ud), GFP_KERNEL_ACCOUNT);

	if (!ud)
		return -ENOMEM;
	ud->qp = qp;
	INIT_WORK(&ud->error, ud_error_work);
	mutex_init(&ud->tx_lock);
	spin_lock_init(&ud->rx_lock);
	ud->buf = kmalloc(DGM_HDR_LEN + DGM_MAX, GFP_KERNEL_ACCOUNT);
	ud->wr.data = kmalloc(max_t(u32, qp->max_send_sge * sizeof(struct srnic_sge),
				    qp->max_inline), GFP_KERNEL_ACCOUNT);
	ud->rwr = kzalloc(struct_size(ud->rwr, sge, qp->max_recv_sge), GFP_KERNEL_ACCOUNT);
	if (!ud->buf || !ud->wr.data || !ud->rwr) {
		ud_free(ud);
		return -ENOMEM;
	}
	qp->ud = ud;
	return 0;
}

/**
 * srnic_ud_destroy - undo srnic_ud_create()
 * @qp: not in use any more; srnic_ud_leave() was called
 * Context: process, may sleep.
 */
void srnic_ud_destroy(struct srnic_qp *qp)
{
	ud_free(qp->ud);
}
