// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Modify QP as InfiniBand programs call it, which exchange GIDs and QP numbers by
 * themselves: RTR with the peer's address, then RTS. Such a QP is called paired. In
 * both states the core's state is Idle until there is a stream.
 */

#include <rdma/ib_verbs.h>
#include "ib/ib_device.h"
#include "ib/ib_modify.h"
#include "ib/rendezvous.h"
#include "qp/qp.h"
#include "queue/cq.h"
#include "srnic.h"

static bool is_rtr(const struct ib_qp_attr *attr, int mask)
{
	return mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTR &&
	       mask & (IB_QP_AV | IB_QP_DEST_QPN);
}

static bool is_rts(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return qp->ib.paired && qp->verbs_state == IB_QPS_RTR &&
	       mask & IB_QP_STATE && attr->qp_state == IB_QPS_RTS;
}

/* RTS to SQD, and back */
static bool is_sqd(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return qp->ib.paired && mask & IB_QP_STATE &&
	       (attr->qp_state == IB_QPS_SQD ||
		(attr->qp_state == IB_QPS_RTS && qp->verbs_state == IB_QPS_SQD));
}

/*
 * To INIT by InfiniBand's rules, which require a port. An unpaired QP of an RNIC is
 * exempt: rdma_cm takes it to INIT without a port
 */
static bool is_init(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return mask & IB_QP_STATE && attr->qp_state == IB_QPS_INIT &&
	       (qp->ib.paired || qp->ibqp.device->node_type != RDMA_NODE_RNIC);
}

/**
 * srnic_ib_modify_keeps - is this a transition of verbs alone?
 * @qp: alive
 * @attr: the requested attributes
 * @mask: which fields of @attr are valid
 *
 * In RTS a paired QP may be connected or not, and in SQD it does not send: the core's
 * state does not change. Context: any.
 */
bool srnic_ib_modify_keeps(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return is_rts(qp, attr, mask) || is_sqd(qp, attr, mask);
}

/* By InfiniBand's table of transitions, which the RDMA core has (IBA 1.6, 11.2.5.2) */
static int check_table(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return ib_modify_qp_is_ok(qp->verbs_state, attr->qp_state, qp->ibqp.qp_type, mask) ?
	       0 : -EINVAL;
}

/* Without the mask bit, as for a UC QP, the field may be anything */
static u8 ird_of(const struct ib_qp_attr *attr, int mask)
{
	return mask & IB_QP_MAX_DEST_RD_ATOMIC ? attr->max_dest_rd_atomic : 0;
}

static u8 ord_of(const struct ib_qp_attr *attr, int mask)
{
	return mask & IB_QP_MAX_QP_RD_ATOMIC ? attr->max_rd_atomic : 0;
}

static int check_rtr(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int err = check_table(qp, attr, mask);

	if (err)
		return err;
	if (srnic_qp_state(qp) != SRNIC_QP_IDLE ||
	    !(rdma_ah_get_ah_flags(&attr->ah_attr) & IB_AH_GRH) ||
	    !rdma_ah_read_grh(&attr->ah_attr)->sgid_index ||
	    ird_of(attr, mask) > SRNIC_MAX_IRD)
		return -EINVAL;
	return 0;
}

static int check_rts(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int err = check_table(qp, attr, mask);

	if (err)
		return err;
	return srnic_qp_state(qp) > SRNIC_QP_RTS || ord_of(attr, mask) > SRNIC_MAX_ORD ?
	       -EINVAL : 0;
}

static int check_sqd(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	return srnic_qp_state(qp) > SRNIC_QP_RTS ? -EINVAL : check_table(qp, attr, mask);
}

/**
 * srnic_ib_modify_check - InfiniBand's rules, for programs that connect without rdma_cm
 * @qp: alive
 * @attr: the requested attributes
 * @mask: which fields of @attr are valid
 *
 * Context: process.
 * Return: 0; -EINVAL for attributes that are missing or wrong, or of another transition;
 * -EOPNOTSUPP for InfiniBand's attributes if the policy sets no ib_port.
 */
int srnic_ib_modify_check(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (is_rts(qp, attr, mask))
		return check_rts(qp, attr, mask);
	if (is_sqd(qp, attr, mask))
		return check_sqd(qp, attr, mask);
	if (is_init(qp, attr, mask))
		return check_table(qp, attr, mask);
	if (!(mask & SRNIC_IB_QP_ATTRS))
		return 0;
	if (!srnic_policy_get(&qp->dev->policy).ib_port)
		return -EOPNOTSUPP;
	return is_rtr(attr, mask) ? check_rtr(qp, attr, mask) : -EINVAL;
}

static int modify_rtr(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct srnic_ib_attr *ib = &qp->ib;
	int err = qp->dev->ib->rdv->prepare(qp, attr, ird_of(attr, mask));

	if (err)
		return err;
	ib->av = attr->ah_attr;
	ib->av.grh.sgid_attr = NULL;	/* the core's reference */
	ib->dest_qpn = attr->dest_qp_num;
	ib->rq_psn = attr->rq_psn;
	/* until RTS sets it, the peer's messages wait for receives without a limit */
	WRITE_ONCE(ib->rnr_retry, SRNIC_RNR_WITHOUT_END);
	/* the peer may have connected by now: first rnr_retry, see rnr_bound() */
	smp_store_release(&ib->paired, true);
	return 0;
}

static int modify_rts(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	qp->ib.sq_psn = attr->sq_psn;
	return qp->dev->ib->rdv->start(qp, attr->sq_psn, ord_of(attr, mask));
}

static void modify_sqd(struct srnic_qp *qp, bool sqd)
{
	WRITE_ONCE(qp->ib.sqd, sqd);
	if (!sqd)
		srnic_qp_kick_tx(qp);
}

/*
 * Back to RESET, from any state. Resets a stream, and discards posted WRs and
 * completions that were not polled.
 */
static void modify_back(struct srnic_qp *qp)
{
	srnic_qp_abort(qp);
	if (qp->dev->ib->rdv->cancel(qp) == -EBUSY) {
		srnic_qp_join_tx(qp);
		qp->dev->ib->rdv->cancel(qp);
	}
	srnic_cq_purge(qp->scq, qp->ibqp.qp_num);
	srnic_cq_purge(qp->rcq, qp->ibqp.qp_num);
	WRITE_ONCE(qp->ib.paired, false);
	WRITE_ONCE(qp->ib.sqd, false);
}

/**
 * srnic_ib_modify - InfiniBand's part of Modify QP, for programs that connect without rdma_cm
 * @qp: alive
 * @attr: checked by srnic_ib_modify_check()
 * @mask: which fields of @attr are valid
 *
 * Context: process, may sleep; to RESET it waits until a stream is wound down, but not for
 * the peer.
 *
 * Return: 0, or an errno of struct srnic_rdv_ops.
 */
int srnic_ib_modify(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	if (is_rtr(attr, mask))
		return modify_rtr(qp, attr, mask);
	if (is_rts(qp, attr, mask))
		return modify_rts(qp, attr, mask);
	if (is_sqd(qp, attr, mask))
		modify_sqd(qp, attr->qp_state == IB_QPS_SQD);
	else if (qp->ib.paired && mask & IB_QP_STATE && attr->qp_state == IB_QPS_RESET)
		modify_back(qp);
	return 0;
}

/**
 * srnic_ib_ord - the ORD that a program gets
 * @qp: alive
 * @attr: with max_rd_atomic, checked
 *
 * If the peer has connected first, the ORD was negotiated before this end's program
 * set RTS: then the smaller one applies. Context: any. Return: the ORD.
 */
u16 srnic_ib_ord(const struct srnic_qp *qp, const struct ib_qp_attr *attr)
{
	if (!qp->ib.paired || srnic_qp_state(qp) != SRNIC_QP_RTS)
		return attr->max_rd_atomic;
	return min_t(u16, attr->max_rd_atomic, qp->mpa.ord);
}

/**
 * srnic_ib_query - Query QP: attributes of a paired QP
 * @qp: alive
 * @attr: filled in
 * Context: process.
 */
void srnic_ib_query(const struct srnic_qp *qp, struct ib_qp_attr *attr)
{
	const struct srnic_ib_attr *ib = &qp->ib;

	if (!READ_ONCE(ib->paired))
		return;
	attr->ah_attr = ib->av;
	attr->dest_qp_num = ib->dest_qpn;
	attr->rq_psn = ib->rq_psn;
	attr->sq_psn = ib->sq_psn;
	attr->sq_draining = READ_ONCE(ib->sqd) &&
			    READ_ONCE(qp->sq_completed) != READ_ONCE(qp->sq_fetched);
}
