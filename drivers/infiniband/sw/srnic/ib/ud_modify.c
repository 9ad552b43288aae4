// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Modify QP of UD QPs. They have InfiniBand's states and attributes (IBA 1.6, 10.3.1 and
 * 11.2.5.2); the core's state is Idle or Error.
 */

#include <rdma/ib_verbs.h>
#include "ib/rendezvous.h"
#include "ib/ud.h"
#include "ib/ud_modify.h"
#include "qp/qp.h"
#include "queue/cq.h"
#include "srnic.h"

/* An error may have taken the QP to Error without Modify QP */
static enum ib_qp_state state_now(const struct srnic_qp *qp)
{
	return srnic_qp_state(qp) == SRNIC_QP_ERROR ? IB_QPS_ERR : qp->verbs_state;
}

static int check(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state now = state_now(qp);
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : now;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != now)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(now, next, IB_QPT_UD, mask))
		return -EINVAL;
	if ((mask & IB_QP_PKEY_INDEX && attr->pkey_index) ||
	    (mask & IB_QP_PORT && attr->port_num != 1))
		return -EINVAL;
	return 0;
}

/* Discards posted WRs, and completions that were not polled */
static int reset(struct srnic_qp *qp)
{
	srnic_ud_leave(qp);
	srnic_cq_purge(qp->scq, qp->ibqp.qp_num);
	srnic_cq_purge(qp->rcq, qp->ibqp.qp_num);
	return srnic_qp_modify(qp, SRNIC_QP_IDLE);
}

static int enter(struct srnic_qp *qp, enum ib_qp_state next)
{
	switch (next) {
	case IB_QPS_RESET:
		return reset(qp);
	case IB_QPS_RTR:
		return srnic_rdv_hold_port(qp->dev) ?: srnic_ud_receive(qp);
	case IB_QPS_RTS:
	case IB_QPS_SQD:
		srnic_ud_send(qp, next == IB_QPS_RTS);
		return 0;
	case IB_QPS_ERR:
		srnic_ud_error(qp);
		return 0;
	default:
		return 0;
	}
}

/**
 * srnic_ud_modify - Modify QP
 * @qp: a UD QP; no other Modify QP is under way
 * @attr: the requested attributes
 * @mask: which fields of @attr are valid
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EINVAL for a transition or attributes that InfiniBand does not have; an errno
 * of srnic_rdv_hold_port() or srnic_ud_receive().
 */
int srnic_ud_modify(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	int err = check(qp, attr, mask);

	if (err)
		return err;
	if (mask & IB_QP_QKEY)
		srnic_ud_set_qkey(qp, attr->qkey);
	if (mask & IB_QP_SQ_PSN) {
		qp->ib.sq_psn = attr->sq_psn;
		WRITE_ONCE(qp->ud->psn, attr->sq_psn);
	}
	if (!(mask & IB_QP_STATE))
		return 0;
	err = enter(qp, attr->qp_state);
	if (!err)
		WRITE_ONCE(qp->verbs_state, attr->qp_state);
	return err;
}

/**
 * srnic_ud_query - Query QP: attributes of a UD QP
 * @qp: a UD QP
 * @attr: filled in
 * Context: process.
 */
void srnic_ud_query(const struct srnic_qp *qp, struct ib_qp_attr *attr)
{
	attr->qkey = READ_ONCE(qp->ud->qkey);
	attr->sq_psn = qp->ib.sq_psn;
	attr->qp_access_flags = 0;
	attr->max_rd_atomic = 0;
	attr->max_dest_rd_atomic = 0;
}
