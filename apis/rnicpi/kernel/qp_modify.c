// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ri_qp_modify: state transitions of a QP, with its stream into RTS. All is checked before
 * anything changes.
 */

#include <linux/slab.h>
#include "rnicpi/kernel/ops.h"
#include "rnicpi/kernel/qp.h"
#include "rnicpi/shared/rules.h"

#define KEEPALIVE_MAX	7200

static const ri_qp_state_t states[] = {
	[SRNIC_QP_IDLE] = RI_QP_STATE_IDLE,
	[SRNIC_QP_RTS] = RI_QP_STATE_READY_TO_SEND,
	[SRNIC_QP_CLOSING] = RI_QP_STATE_CLOSING,
	[SRNIC_QP_TERMINATE] = RI_QP_STATE_TERMINATE,
	[SRNIC_QP_ERROR] = RI_QP_STATE_ERROR,
};

/**
 * ri_qp_look - query the state of a QP
 * @qp: its attributes are brought up to date; its mutex is held
 * @is: filled in
 */
void ri_qp_look(struct rnic_qp *qp, struct srnic_native_qp *is)
{
	srnic_native_qp_query(qp->qp, is);
	qp->attr.state = states[is->state];
	qp->attr.qp_xport.qp_iwarp.rq_armed = is->rq_armed;
	if (is->state == SRNIC_QP_RTS) {
		qp->attr.max_rdma_read_incoming = is->ird;
		qp->attr.max_rdma_read_outgoing = is->ord;
	}
}

/**
 * ri_qp_arm - arm the high water mark of a QP's receive queue
 * @qp: with an SRQ; its mutex is held, or it is new
 * @arm: false: disarm it
 *
 * RNICPI's event comes at the mark, that of the RDMAC verbs above the limit: so the marks 0 and 1
 * both become the limit 0, which the first receive that the QP takes exceeds (L2700).
 *
 * Return: 0 or a negative errno.
 */
int ri_qp_arm(struct rnic_qp *qp, bool arm)
{
	u32 hiwat = qp->attr.qp_xport.qp_iwarp.rq_hiwat;

	if (!arm)
		return srnic_native_rq_arm(qp->qp, SRNIC_QP_RQ_DISARM);
	return srnic_native_rq_arm(qp->qp, hiwat ? hiwat - 1 : 0);
}

static int set_state(struct rnic_qp *qp, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(qp->qp, &attr, IB_QP_STATE);
}

/* ----- the stream ----- */

static ri_api_return_t stream_error(ri_err_data_t *err_data, int err)
{
	ri_api_return_t ret = ri_failed(err_data, err, RI_RET_INVALID_LLP_HANDLE);

	switch (err) {
	case -ENOTSOCK:
	case -ENOTCONN:
	case -EPROTOTYPE:
	case -EADDRNOTAVAIL:
	case -EXDEV:
	case -EPIPE:
	case -EBADMSG:
	case -ECONNRESET:
	case -ETIMEDOUT:
		return RI_RET_INVALID_LLP_HANDLE;
	case -ECONNABORTED:
		return RI_RET_QP_INVALID_STATE;
	case -EPERM:	/* the policy requires CRC */
		return RI_RET_MPA_ATTR_UNSUPPORTED;
	}
	return ret;
}

static ri_api_return_t attach(struct rnic_qp *qp, char *msg, u32 len, ri_err_data_t *err_data)
{
	const ri_mpa_attr_t *mpa = &qp->attr.qp_xport.qp_iwarp.mpa_attrs;
	const struct srnic_handover req = {
		.file = qp->llp.file,
		.mpa = {
			.crc = mpa->crc_enabled,
			.tx_markers = mpa->xmit_marker_enabled,
			.rx_markers = mpa->recv_marker_enabled,
			.ird = qp->attr.max_rdma_read_incoming,
			.ord = qp->attr.max_rdma_read_outgoing,
		},
		.initiator = !len,
		.keepalive = qp->llp.keepalive,
		.last_msg = len ? msg : NULL,
		.last_len = len,
	};
	int err = srnic_native_handover(qp->qp, &req);

	return err ? stream_error(err_data, err) : ri_done(err_data);
}

/* ----- checks ----- */

static bool is_stream(const struct ri_linux_llp *llp)
{
	return llp && llp->size >= sizeof(*llp) && llp->file && llp->keepalive <= KEEPALIVE_MAX;
}

static ri_api_return_t check_numbers(const struct rnic_qp *qp, u32 mask,
				     const ri_qp_attr_t *attrs)
{
	struct srnic_native_limits n;

	if (mask & (qp->srq ? RI_QP_ATTR_RQ_SIZE : RI_LIMIT))
		return RI_RET_QP_ATTRIBUTE_CANT_CHANGE;
	if (mask & RI_QP_ATTR_RQ_HIWAT && attrs->qp_xport.qp_iwarp.rq_hiwat > SRNIC_MAX_SRQ_WR)
		return RI_RET_SRQ_LIMIT_OUT_OF_RANGE;
	if (mask & (RI_QP_ATTR_SQ_SIZE | RI_QP_ATTR_RQ_SIZE))
		return RI_RET_QP_RESIZE_UNSUPPORTED;
	if (mask & (RI_QP_ATTR_MAX_RDMA_READ_OUTGOING | RI_QP_ATTR_MAX_RDMA_READ_INCOMING) &&
	    qp->attr.state != RI_QP_STATE_IDLE)
		return RI_RET_QP_ATTRIBUTE_CANT_CHANGE;
	srnic_native_limits(qp->qp->device, &n);
	if ((mask & RI_QP_ATTR_MAX_RDMA_READ_INCOMING &&
	     attrs->max_rdma_read_incoming > n.max_ird) ||
	    (mask & RI_QP_ATTR_MAX_RDMA_READ_OUTGOING &&
	     attrs->max_rdma_read_outgoing > n.max_ord))
		return RI_RET_RNIC_IRD_ORD_EXCEEDED;
	return RI_RET_SUCCESS;
}

static ri_api_return_t check(const struct rnic_qp *qp, const struct srnic_native_qp *is,
			     u32 mask, const ri_qp_attr_t *attrs)
{
	const ri_iwarp_qp_attr_t *iw = &attrs->qp_xport.qp_iwarp;
	ri_api_return_t ret = mask & ~RI_KNOWN ? RI_RET_QP_ATTRIBUTE_CANT_CHANGE :
						 check_numbers(qp, mask, attrs);

	if (!ret)
		ret = ri_check_stream(qp->attr.state, mask, iw, is_stream(iw->llp_stream_handle));
	return ret ?: ri_check_move(qp->attr.state, mask, attrs, qp->have_llp, is->windows);
}

/* ----- the call ----- */

static void keep(struct rnic_qp *qp, u32 mask, const ri_qp_attr_t *attrs)
{
	ri_keep(&qp->attr, mask, attrs);
	if (mask & RI_QP_ATTR_LLP_STREAM_HANDLE) {
		qp->llp = *attrs->qp_xport.qp_iwarp.llp_stream_handle;
		qp->have_llp = true;
	}
}

static ri_api_return_t move(struct rnic_qp *qp, u32 mask, const ri_qp_attr_t *attrs,
			    ri_err_data_t *err_data)
{
	const ri_iwarp_qp_attr_t *iw = &attrs->qp_xport.qp_iwarp;
	u32 len = mask & RI_QP_ATTR_STREAM_MSG_BUFFER ? iw->stream_msg_buf_length : 0;
	int err;

	if (attrs->state == qp->attr.state)
		return ri_done(err_data);
	switch (attrs->state) {
	case RI_QP_STATE_READY_TO_SEND:
		return attach(qp, iw->stream_msg_buf, len, err_data);
	case RI_QP_STATE_CLOSING:
		err = set_state(qp, IB_QPS_SQD);
		break;
	case RI_QP_STATE_TERMINATE:
		err = set_state(qp, IB_QPS_SQE);
		break;
	case RI_QP_STATE_ERROR:
		err = set_state(qp, IB_QPS_ERR);
		break;
	default:
		/* from Error, after all WRs are flushed (L2783) */
		err = set_state(qp, IB_QPS_RESET);
		if (!err)
			qp->have_llp = false;
	}
	return err ? ri_failed(err_data, err, RI_RET_STILL_FLUSHING_WQES) : ri_done(err_data);
}

/* @qp->mutex is held */
static ri_api_return_t modify(struct rnic_qp *qp, u32 mask, const ri_qp_attr_t *attrs,
			      ri_err_data_t *err_data)
{
	struct ri_linux_llp llp = qp->llp;
	bool have_llp = qp->have_llp;
	struct srnic_native_qp is;
	ri_qp_attr_t *before;
	ri_api_return_t ret;

	ri_qp_look(qp, &is);
	ret = check(qp, &is, mask, attrs);
	if (ret)
		return ri_refuse(err_data, ret);
	before = kmemdup(&qp->attr, sizeof(qp->attr), GFP_KERNEL);
	if (!before)
		return ri_refuse(err_data, RI_RET_RESOURCE_SHORTAGE);
	keep(qp, mask, attrs);
	ret = mask & RI_QP_ATTR_NEXT_STATE ? move(qp, mask, attrs, err_data) : ri_done(err_data);
	/* the parameters are checked: it cannot fail */
	if (!ret && mask & RI_LIMIT)
		ri_qp_arm(qp, !(mask & RI_QP_ATTR_RQ_ARMED) || attrs->qp_xport.qp_iwarp.rq_armed);
	if (ret) {
		qp->attr = *before;
		qp->llp = llp;
		qp->have_llp = have_llp;
	}
	kfree(before);
	return ret;
}

/**
 * ri_do_qp_modify - ri_qp_modify
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic
 * @qp_mask: which of @attrs
 * @attrs: new attributes; all of them take effect, or none
 * @err_data: may be NULL
 *
 * Idle to RTS takes the file of a connected TCP socket; the QP holds a reference to it from
 * then on. With a last message the peer sends the first FPDU. May sleep until the last message
 * is sent.
 *
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_QP_INVALID_STATE, RI_RET_QP_ATTRIBUTE_CANT_CHANGE,
 * RI_RET_QP_RESIZE_UNSUPPORTED, RI_RET_RNIC_IRD_ORD_EXCEEDED, RI_RET_INVALID_LLP_HANDLE,
 * RI_RET_LLP_BAD_STATE, RI_RET_INVALID_DDP_RDMAP_VERSION, RI_RET_STILL_FLUSHING_WQES,
 * RI_RET_WINDOWS_BOUND, RI_RET_RESOURCE_SHORTAGE, RI_RET_SRQ_LIMIT_OUT_OF_RANGE;
 * RI_RET_MPA_ATTR_UNSUPPORTED: the device requires CRC
 */
ri_api_return_t ri_do_qp_modify(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_mask_t qp_mask,
				ri_qp_attr_t *attrs, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_find(rnic, RI_KIND_QP, qp, &ret);

	if (!ret && !attrs)
		ret = RI_RET_INVALID_PARAMETER;
	if (ret)
		return ri_refuse(err_data, ret);
	mutex_lock(&to_qp(obj)->mutex);
	ret = modify(to_qp(obj), qp_mask, attrs, err_data);
	mutex_unlock(&to_qp(obj)->mutex);
	return ret;
}
