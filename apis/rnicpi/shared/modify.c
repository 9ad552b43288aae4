// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ri_qp_modify(): all of a call is checked before anything changes. A transition to RTS takes the
 * stream, and may fail afterwards: then the attributes are as before.
 */
#include "rnicpi/shared/os.h"
#include "rnicpi/shared/rules.h"

/* Known bits of a mask (bits 5 to 9 have other meanings for InfiniBand) */
#define KNOWN	(RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_SQ_SIZE | RI_QP_ATTR_RQ_SIZE |		\
		 RI_QP_ATTR_MAX_RDMA_READ_OUTGOING | RI_QP_ATTR_MAX_RDMA_READ_INCOMING |	\
		 RI_QP_ATTR_RQ_HIWAT | RI_QP_ATTR_RQ_ARMED | RI_QP_ATTR_LLP_STREAM_HANDLE |	\
		 RI_QP_ATTR_STREAM_MSG_BUFFER | RI_QP_ATTR_MPA_ATTR)
/* Attributes of the receive queue of a QP with an SRQ */
#define LIMIT	(RI_QP_ATTR_RQ_HIWAT | RI_QP_ATTR_RQ_ARMED)
/* Numbers of WRs */
#define SIZES	(RI_QP_ATTR_SQ_SIZE | RI_QP_ATTR_RQ_SIZE)
/* Attributes of the stream; they can be set in Idle only */
#define STREAM	(RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_STREAM_MSG_BUFFER | RI_QP_ATTR_MPA_ATTR)

/* Bytes of a last message in streaming mode */
#define MAX_LAST_MSG	65535

/* ----- checks ----- */

static ri_api_return_t check_numbers(const struct rnic_qp *qp, const struct ri_limits *n,
				     uint32_t mask, const ri_qp_attr_t *attrs)
{
	if (mask & ~KNOWN)
		return RI_RET_INVALID_PARAMETER;
	if (mask & (qp->srq ? RI_QP_ATTR_RQ_SIZE : LIMIT))
		return RI_RET_QP_ATTRIBUTE_CANT_CHANGE;
	if (mask & LIMIT && !n->rq_marks)
		return RI_RET_OP_UNSUPPORTED;
	if (mask & RI_QP_ATTR_RQ_HIWAT && attrs->qp_xport.qp_iwarp.rq_hiwat > n->srq_wr)
		return RI_RET_SRQ_LIMIT_OUT_OF_RANGE;
	if (mask & SIZES && !n->resizes)
		return RI_RET_QP_RESIZE_UNSUPPORTED;
	if ((mask & RI_QP_ATTR_SQ_SIZE && attrs->sq_size > n->qp_wr) ||
	    (mask & RI_QP_ATTR_RQ_SIZE && attrs->rq_size > n->qp_wr))
		return RI_RET_RNIC_WR_LIMIT_EXCEEDED;
	if (mask & (RI_QP_ATTR_MAX_RDMA_READ_OUTGOING | RI_QP_ATTR_MAX_RDMA_READ_INCOMING) &&
	    qp->attr.state != RI_QP_STATE_IDLE)
		return RI_RET_QP_ATTRIBUTE_CANT_CHANGE;
	if ((mask & RI_QP_ATTR_MAX_RDMA_READ_INCOMING && attrs->max_rdma_read_incoming > n->ird) ||
	    (mask & RI_QP_ATTR_MAX_RDMA_READ_OUTGOING && attrs->max_rdma_read_outgoing > n->ord))
		return RI_RET_RNIC_IRD_ORD_EXCEEDED;
	return RI_RET_SUCCESS;
}

static bool is_stream(const struct ri_linux_llp *llp)
{
	return llp && llp->size >= sizeof(*llp) && llp->keepalive <= SRNIC_MAX_KEEPALIVE &&
	       ri_is_connected(llp);
}

static ri_api_return_t check_stream(const struct rnic_qp *qp, const struct ri_limits *n,
				    uint32_t mask, const ri_iwarp_qp_attr_t *iw)
{
	if (mask & STREAM && qp->attr.state != RI_QP_STATE_IDLE)
		return RI_RET_LLP_BAD_STATE;
	if (mask & RI_QP_ATTR_LLP_STREAM_HANDLE && !is_stream(iw->llp_stream_handle))
		return RI_RET_INVALID_LLP_HANDLE;
	if (mask & RI_QP_ATTR_STREAM_MSG_BUFFER &&
	    (!iw->stream_msg_buf || !iw->stream_msg_buf_length ||
	     iw->stream_msg_buf_length > MAX_LAST_MSG))
		return RI_RET_INVALID_PARAMETER;
	return mask & RI_QP_ATTR_MPA_ATTR ? ri_check_mpa(n, &iw->mpa_attrs) : RI_RET_SUCCESS;
}

/* RDMAC verbs 6.2: transitions that a consumer may request */
static bool may_move(ri_qp_state_t from, ri_qp_state_t to)
{
	switch (to) {
	case RI_QP_STATE_IDLE:
		return from == RI_QP_STATE_IDLE || from == RI_QP_STATE_ERROR;
	case RI_QP_STATE_READY_TO_SEND:
		return from == RI_QP_STATE_IDLE || from == RI_QP_STATE_READY_TO_SEND;
	case RI_QP_STATE_CLOSING:
	case RI_QP_STATE_TERMINATE:
		return from == RI_QP_STATE_READY_TO_SEND;
	default:
		return to == RI_QP_STATE_ERROR;
	}
}

static bool may_resize(ri_qp_state_t state)
{
	return state == RI_QP_STATE_IDLE || state == RI_QP_STATE_READY_TO_SEND;
}

static ri_api_return_t check_move(const struct rnic_qp *qp, uint32_t mask, ri_qp_state_t to)
{
	bool moves = mask & RI_QP_ATTR_NEXT_STATE, to_rts = to == RI_QP_STATE_READY_TO_SEND;
	ri_qp_state_t from = qp->attr.state;

	if (moves && !may_move(from, to))
		return RI_RET_QP_INVALID_STATE;
	/* RDMAC verbs 6.1.3: in Idle, in RTS and on the way from the one to the other */
	if (mask & SIZES && (!may_resize(from) || (moves && !may_resize(to))))
		return RI_RET_QP_ATTRIBUTE_CANT_CHANGE;
	if (moves && from == RI_QP_STATE_ERROR && to == RI_QP_STATE_IDLE && qp->windows)
		return RI_RET_WINDOWS_BOUND;
	if (mask & RI_QP_ATTR_STREAM_MSG_BUFFER && !(moves && to_rts))
		return RI_RET_LLP_BAD_STATE;
	if (moves && to_rts && from == RI_QP_STATE_IDLE && !qp->have_llp &&
	    !(mask & RI_QP_ATTR_LLP_STREAM_HANDLE))
		return RI_RET_INVALID_LLP_HANDLE;
	return RI_RET_SUCCESS;
}

/* ----- the call ----- */

/**
 * ri_arm() - Arm the high water mark of a QP's receive queue
 * @qp: of an srnic device, with an SRQ
 * @arm: false: disarm it
 *
 * RNICPI's event comes at the mark, that of the RDMAC verbs above the limit: so the marks 0 and 1
 * both become the limit 0, which the first receive that the QP takes exceeds (L2700).
 *
 * Context: may sleep.
 * Return: 0 or an errno.
 */
int ri_arm(struct rnic_qp *qp, bool arm)
{
	uint32_t hiwat = qp->attr.qp_xport.qp_iwarp.rq_hiwat;

	return ri_qp_arm(qp, !arm ? SRNIC_QP_RQ_DISARM : hiwat ? hiwat - 1 : 0);
}

static void keep(struct rnic_qp *qp, uint32_t mask, const ri_qp_attr_t *attrs)
{
	const ri_iwarp_qp_attr_t *iw = &attrs->qp_xport.qp_iwarp;

	if (mask & RI_QP_ATTR_MAX_RDMA_READ_OUTGOING)
		qp->attr.max_rdma_read_outgoing = attrs->max_rdma_read_outgoing;
	if (mask & RI_QP_ATTR_MAX_RDMA_READ_INCOMING)
		qp->attr.max_rdma_read_incoming = attrs->max_rdma_read_incoming;
	if (mask & RI_QP_ATTR_MPA_ATTR)
		qp->attr.qp_xport.qp_iwarp.mpa_attrs = iw->mpa_attrs;
	if (mask & RI_QP_ATTR_RQ_HIWAT)
		qp->attr.qp_xport.qp_iwarp.rq_hiwat = iw->rq_hiwat;
	if (mask & RI_QP_ATTR_LLP_STREAM_HANDLE) {
		qp->llp = *iw->llp_stream_handle;
		qp->have_llp = true;
	}
}

static ri_api_return_t move(struct rnic_qp *qp, uint32_t mask, const ri_qp_attr_t *attrs,
			    ri_err_data_t *err_data)
{
	const ri_iwarp_qp_attr_t *iw = &attrs->qp_xport.qp_iwarp;
	int err;

	if (attrs->state == qp->attr.state)
		return ri_done(err_data);
	switch (attrs->state) {
	case RI_QP_STATE_READY_TO_SEND:
		err = mask & RI_QP_ATTR_STREAM_MSG_BUFFER ?
		      ri_qp_attach(qp, iw->stream_msg_buf, iw->stream_msg_buf_length) :
		      ri_qp_attach(qp, NULL, 0);
		return err ? ri_stream_failed(err_data, err) : ri_done(err_data);
	case RI_QP_STATE_CLOSING:
		err = ri_qp_set_state(qp, VERBS_STATE(SQD));
		break;
	case RI_QP_STATE_TERMINATE:
		err = ri_qp_set_state(qp, VERBS_STATE(SQE));
		break;
	case RI_QP_STATE_ERROR:
		err = ri_qp_set_state(qp, VERBS_STATE(ERR));
		break;
	default:
		/* to Idle, from Error, after all WRs are flushed (L2783) */
		err = ri_qp_set_state(qp, VERBS_STATE(RESET));
		if (!err)
			qp->have_llp = false;
	}
	return err ? ri_failed(err_data, err, RI_RET_STILL_FLUSHING_WQES) : ri_done(err_data);
}

/* @attrs is checked: what the device refuses is too small for the WRs that are outstanding */
static ri_api_return_t resize(struct rnic_qp *qp, uint32_t mask, const ri_qp_attr_t *attrs,
			      ri_err_data_t *err_data)
{
	int err = ri_qp_resize(qp, mask & RI_QP_ATTR_SQ_SIZE ? attrs->sq_size : qp->attr.sq_size,
			       mask & RI_QP_ATTR_RQ_SIZE ? attrs->rq_size : qp->attr.rq_size);

	if (err == EINVAL || err == -EINVAL)
		return ri_answer(err_data, RI_RET_QP_CANNOT_SHRINK);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_done(err_data);
}

/* @attrs is checked. A new mark is armed, unless rq_armed is given and false */
static ri_api_return_t change(struct rnic_qp *qp, uint32_t mask, const ri_qp_attr_t *attrs,
			      ri_err_data_t *err_data)
{
	bool arm = !(mask & RI_QP_ATTR_RQ_ARMED) || attrs->qp_xport.qp_iwarp.rq_armed;
	ri_api_return_t ret;
	int err;

	keep(qp, mask, attrs);
	ret = mask & SIZES ? resize(qp, mask, attrs, err_data) : RI_RET_SUCCESS;
	if (ret)
		return ret;
	err = mask & LIMIT ? ri_arm(qp, arm) : 0;	/* before the first message */
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	return mask & RI_QP_ATTR_NEXT_STATE ? move(qp, mask, attrs, err_data) : ri_done(err_data);
}

/**
 * ri_modify() - Change a QP
 * @qp: nobody else changes it
 * @n: limits of its device
 * @mask: which of @attrs
 * @attrs: new attributes; all of them take effect, or none; actual sizes afterwards
 * @err_data: may be NULL
 *
 * Context: may sleep.
 * Return: RI_RET_SUCCESS or a code of ri_do_qp_modify()
 */
ri_api_return_t ri_modify(struct rnic_qp *qp, const struct ri_limits *n, uint32_t mask,
			  ri_qp_attr_t *attrs, ri_err_data_t *err_data)
{
	int err = ri_qp_look(qp);
	struct ri_linux_llp llp;
	ri_api_return_t ret;
	ri_qp_attr_t before;
	bool had_llp;

	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	ret = check_numbers(qp, n, mask, attrs);
	if (!ret)
		ret = check_stream(qp, n, mask, &attrs->qp_xport.qp_iwarp);
	if (!ret)
		ret = check_move(qp, mask, attrs->state);
	if (ret)
		return ri_answer(err_data, ret);
	before = qp->attr;
	llp = qp->llp;
	had_llp = qp->have_llp;
	ret = change(qp, mask, attrs, err_data);
	if (ret) {
		if (qp->attr.sq_size != before.sq_size || qp->attr.rq_size != before.rq_size)
			ri_qp_resize(qp, before.sq_size, before.rq_size);
		/* WRs that were posted meanwhile may need the room */
		before.sq_size = qp->attr.sq_size;
		before.rq_size = qp->attr.rq_size;
		qp->attr = before;
		qp->llp = llp;
		qp->have_llp = had_llp;
		if (mask & LIMIT)
			ri_arm(qp, before.qp_xport.qp_iwarp.rq_armed);
	} else {
		if (mask & RI_QP_ATTR_SQ_SIZE)
			attrs->sq_size = qp->attr.sq_size;
		if (mask & RI_QP_ATTR_RQ_SIZE)
			attrs->rq_size = qp->attr.rq_size;
	}
	return ret;
}
