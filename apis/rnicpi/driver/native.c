// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The part of srnic.ko that rnicpi.ko calls: queues and QPs. A kernel consumer has created the
 * objects with the RDMA core.
 */

#include <linux/export.h>
#include "queue/cq.h"
#include "queue/srq.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "rnicpi/driver/native.h"
#include "srnic.h"
#include "verbs/query.h"

/**
 * srnic_native - is it a device of this driver?
 * @ibdev: any device
 *
 * Context: any.
 */
bool srnic_native(const struct ib_device *ibdev)
{
	return (u32)ibdev->ops.driver_id == SRNIC_DRIVER_ID;
}
EXPORT_SYMBOL_GPL(srnic_native);

/**
 * srnic_native_netdev - the interface of a device
 * @ibdev: srnic, alive
 *
 * Context: any.
 *
 * Return: the interface, valid as long as the device is.
 */
struct net_device *srnic_native_netdev(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct srnic_device, ibdev)->netdev;
}
EXPORT_SYMBOL_GPL(srnic_native_netdev);

/**
 * srnic_native_query - as srnic_query_rnic()
 * @ibdev: srnic, alive
 * @is: filled in
 *
 * Context: process.
 */
void srnic_native_query(struct ib_device *ibdev, struct srnic_uresp_dev_query *is)
{
	srnic_query_rnic(ibdev, is);
}
EXPORT_SYMBOL_GPL(srnic_native_query);

/* ----- QPs ----- */

/**
 * srnic_native_qp_setup - set the privileges and the event handler of a new QP
 * @ibqp: of a kernel consumer, new
 * @privileged: STag 0 and fast-register WRs are allowed (MM-08, QP-07)
 * @event: called for all of its events, in any context, until it is destroyed; or NULL
 *
 * A message for which no receive is posted is an error at once (AE-15), whatever the device's
 * policy says. Context: process, may sleep.
 */
void srnic_native_qp_setup(struct ib_qp *ibqp, bool privileged, srnic_native_event_fn *event)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);

	qp->privileged = privileged;
	qp->native_event = event;
	qp->ib.no_rnr = true;
}
EXPORT_SYMBOL_GPL(srnic_native_qp_setup);

/**
 * srnic_native_qp_sges - set the limits of SGEs of a new QP (QP-05)
 * @ibqp: of a kernel consumer, new
 * @send: of a WR that is no Write
 * @write: of a Write; the larger one is max_send_sge with which it was created
 * Context: process.
 */
void srnic_native_qp_sges(struct ib_qp *ibqp, u32 send, u32 write)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);

	qp->max_send_sge = send;
	qp->max_write_sge = write;
}
EXPORT_SYMBOL_GPL(srnic_native_qp_sges);

/**
 * srnic_native_qp_enable - set the operations that a QP accepts from its peer (QP-06)
 * @ibqp: of a kernel consumer, in Idle
 * @enables: SRNIC_QP_ENABLE_*; 0 disables all, unlike with modify_qp
 * Context: process.
 */
void srnic_native_qp_enable(struct ib_qp *ibqp, u8 enables)
{
	WRITE_ONCE(to_srnic_qp(ibqp)->enables, enables);
}
EXPORT_SYMBOL_GPL(srnic_native_qp_enable);

/**
 * srnic_native_qp_query - query a QP (QP-13, QP-15)
 * @ibqp: srnic's, alive
 * @is: filled in
 *
 * Context: any.
 */
void srnic_native_qp_query(struct ib_qp *ibqp, struct srnic_native_qp *is)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	*is = (struct srnic_native_qp){
		.state = qp->state,
		.ird = qp->ird,
		.ord = qp->ord,
		.windows = qp->windows,
		.rq_armed = READ_ONCE(qp->rq_armed),
	};
	if (qp->term_valid) {
		is->term_local = qp->term_local;
		is->term_len = rdmap_term_encode(is->term, &qp->term);
	}
	spin_unlock_irqrestore(&qp->lock, flags);
}
EXPORT_SYMBOL_GPL(srnic_native_qp_query);

/**
 * srnic_native_rq_arm - arm the receive queue limit of a QP with an SRQ (SR-26)
 * @ibqp: srnic's, alive
 * @limit: see srnic_rq_arm()
 *
 * Context: any. Return: as srnic_rq_arm().
 */
int srnic_native_rq_arm(struct ib_qp *ibqp, u32 limit)
{
	return srnic_rq_arm(to_srnic_qp(ibqp), limit);
}
EXPORT_SYMBOL_GPL(srnic_native_rq_arm);

/**
 * srnic_native_handover - Idle to RTS with a TCP socket (QP-22 to QP-24)
 * @ibqp: srnic's, alive
 * @req: see srnic_handover()
 *
 * Context: process, may sleep: waits for room in the socket for the last message.
 *
 * Return: as srnic_handover().
 */
int srnic_native_handover(struct ib_qp *ibqp, const struct srnic_handover *req)
{
	return srnic_handover(to_srnic_qp(ibqp), req);
}
EXPORT_SYMBOL_GPL(srnic_native_handover);

/* sq_lock is held, and the sizes are checked. Copies @sqe and its data into the next slot */
static int post_checked(struct srnic_qp *qp, const struct srnic_sqe *sqe, const void *data)
{
	struct srnic_sqe *slot = srnic_ring_slot(&qp->sq, qp->sq_posted);

	if (qp->sq_posted - READ_ONCE(qp->sq_freed) >= qp->sq.entries)
		return -ENOMEM;
	*slot = *sqe;
	if (sqe->flags & SRNIC_SQE_INLINE)
		memcpy(slot + 1, data, sqe->inline_len);
	else
		memcpy(slot + 1, data, sqe->num_sge * sizeof(struct srnic_sge));
	/* the SQE before the index */
	smp_store_release(&qp->sq_posted, qp->sq_posted + 1);
	return 0;
}

/**
 * srnic_native_post_send - post one WR to a SQ (RDMAC verbs 8.2.1)
 * @ibqp: of a kernel consumer
 * @sqe: the WR; its completion reports what is wrong with it
 * @data: its SGEs, or its inline data
 *
 * Context: any.
 *
 * Return: 0; -ENOMEM for a full queue; -EINVAL for more SGEs or inline data than the QP takes.
 */
int srnic_native_post_send(struct ib_qp *ibqp, const struct srnic_sqe *sqe, const void *data)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	unsigned long flags;
	int err;

	if (sqe->num_sge > srnic_qp_max_sge(qp, sqe->opcode) || sqe->inline_len > qp->max_inline)
		return -EINVAL;
	flags = srnic_lock(&qp->sq_lock);
	err = post_checked(qp, sqe, data);
	srnic_unlock(&qp->sq_lock, flags);
	if (!err)
		srnic_qp_doorbell(qp);
	return err;
}
EXPORT_SYMBOL_GPL(srnic_native_post_send);

/* ----- CQs and SRQs ----- */

/**
 * srnic_native_poll - take the oldest completion, untranslated
 * @ibcq: of a kernel consumer
 * @cqe: filled in; vendor_err is its status, opcode is valid after an error, too
 *
 * Context: any. Return: 1, or 0 if the CQ is empty.
 */
int srnic_native_poll(struct ib_cq *ibcq, struct srnic_cqe *cqe)
{
	return srnic_cq_poll(to_srnic_cq(ibcq), cqe);
}
EXPORT_SYMBOL_GPL(srnic_native_poll);

/**
 * srnic_native_cq_resize - resize a CQ (CQ-06)
 * @ibcq: of a kernel consumer
 * @entries: at least this many
 *
 * Context: process, may sleep. Return: as srnic_cq_resize().
 */
int srnic_native_cq_resize(struct ib_cq *ibcq, u32 entries)
{
	return srnic_cq_resize(to_srnic_cq(ibcq), entries);
}
EXPORT_SYMBOL_GPL(srnic_native_cq_resize);

/**
 * srnic_native_cq_overflowed - has a CQ overflowed? (CQ-05)
 * @ibcq: srnic's
 *
 * Context: any.
 */
bool srnic_native_cq_overflowed(struct ib_cq *ibcq)
{
	return READ_ONCE(to_srnic_cq(ibcq)->overflowed);
}
EXPORT_SYMBOL_GPL(srnic_native_cq_overflowed);

/**
 * srnic_native_srq_query - query an SRQ (SR-07)
 * @ibsrq: srnic's
 * @armed: set to whether the limit is armed
 *
 * Context: any. Return: true if it is in error: no receive is taken from it any more.
 */
bool srnic_native_srq_query(struct ib_srq *ibsrq, bool *armed)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);

	*armed = READ_ONCE(srq->armed);
	return READ_ONCE(srq->broken);
}
EXPORT_SYMBOL_GPL(srnic_native_srq_query);
