// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ri_qp_modify: state transitions of a QP, with its stream into RTS. All is checked before
 * anything changes.
 */
#include <errno.h>
#include <string.h>
#include "ops.h"
#include "qp.h"
#include "rnicpi/shared/rules.h"

/* --- states --- */

static int set_state(struct rnic_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
}

/* From Error, after all WRs are flushed (L2783) */
static int begin_anew(struct rnic_qp *qp)
{
	int err = set_state(qp, IBV_QPS_RESET);

	if (err)
		return err;
	if (qp->sq.slots)
		ri_ring_reset(&qp->sq);
	if (qp->rq.slots)
		ri_ring_reset(&qp->rq);
	return ri_qp_make_idle(qp);
}

/* --- the stream --- */

static ri_api_return_t stream_error(ri_err_data_t *err_data, int err)
{
	ri_api_return_t ret = ri_failed(err_data, err, RI_RET_INVALID_LLP_HANDLE);

	switch (err) {
	case EBADF:
	case ENOTSOCK:
	case ENOTCONN:
	case ESOCKTNOSUPPORT:
	case EPROTOTYPE:
	case EPROTONOSUPPORT:
	case EAFNOSUPPORT:
	case EXDEV:
	case EPIPE:
	case ESHUTDOWN:
	case ECONNRESET:
	case ETIMEDOUT:
		return RI_RET_INVALID_LLP_HANDLE;
	case EISCONN:
		return RI_RET_QP_INVALID_STATE;
	case EPERM:	/* the policy requires CRC */
		return RI_RET_MPA_ATTR_UNSUPPORTED;
	}
	return ret;
}

static ri_api_return_t attach(struct rnic_qp *qp, const char *msg, size_t len,
			      ri_err_data_t *err_data)
{
	const ri_mpa_attr_t *mpa = &qp->attr.qp_xport.qp_iwarp.mpa_attrs;
	struct srnicdv_stream_attr stream = {
		.fd = qp->llp.fd,
		.keepalive = qp->llp.keepalive,
		.flags = (mpa->crc_enabled ? SRNICDV_STREAM_CRC : 0) |
			 (mpa->xmit_marker_enabled ? SRNICDV_STREAM_TX_MARKERS : 0) |
			 (mpa->recv_marker_enabled ? SRNICDV_STREAM_RX_MARKERS : 0) |
			 (qp->attr.qp_xport.qp_iwarp.enable_bind ? 0 : SRNICDV_STREAM_NO_BIND) |
			 (len ? SRNICDV_STREAM_RESPONDER : 0),
		.ird = qp->attr.max_rdma_read_incoming,
		.ord = qp->attr.max_rdma_read_outgoing,
		.last_msg = len ? msg : NULL,
		.last_len = len,
	};
	int err;

	if (!qp->rnic->native)
		return ri_refuse(err_data, RI_RET_OP_UNSUPPORTED);
	err = ri_qp_attach(qp, &stream);
	return err ? stream_error(err_data, err) : ri_done(err_data);
}

/* --- checks --- */

static ri_api_return_t check_numbers(const struct rnic_qp *qp, uint32_t mask,
				     const ri_qp_attr_t *attrs)
{
	const struct rnic *r = qp->rnic;
	bool srq = qp->srq;

	if (mask & (srq ? RI_QP_ATTR_RQ_SIZE : RI_LIMIT))
		return RI_RET_QP_ATTRIBUTE_CANT_CHANGE;
	if (mask & RI_LIMIT && !r->native)
		return RI_RET_OP_UNSUPPORTED;
	if (mask & RI_QP_ATTR_RQ_HIWAT &&
	    attrs->qp_xport.qp_iwarp.rq_hiwat > (uint32_t)r->attr.max_srq_wr)
		return RI_RET_SRQ_LIMIT_OUT_OF_RANGE;
	if (mask & (RI_QP_ATTR_SQ_SIZE | RI_QP_ATTR_RQ_SIZE))
		return RI_RET_QP_RESIZE_UNSUPPORTED;
	if (mask & (RI_QP_ATTR_MAX_RDMA_READ_OUTGOING | RI_QP_ATTR_MAX_RDMA_READ_INCOMING) &&
	    qp->attr.state != RI_QP_STATE_IDLE)
		return RI_RET_QP_ATTRIBUTE_CANT_CHANGE;
	if ((mask & RI_QP_ATTR_MAX_RDMA_READ_INCOMING &&
	     attrs->max_rdma_read_incoming > (r->native ? r->dev.max_ird : 0)) ||
	    (mask & RI_QP_ATTR_MAX_RDMA_READ_OUTGOING &&
	     attrs->max_rdma_read_outgoing > (r->native ? r->dev.max_ord : 0)))
		return RI_RET_RNIC_IRD_ORD_EXCEEDED;
	return RI_RET_SUCCESS;
}

static bool is_stream(const struct ri_linux_llp *llp)
{
	return llp && llp->size >= sizeof(*llp) && llp->fd >= 0;
}

static ri_api_return_t check(const struct rnic_qp *qp, uint32_t mask, const ri_qp_attr_t *attrs)
{
	const ri_iwarp_qp_attr_t *iw = &attrs->qp_xport.qp_iwarp;
	ri_api_return_t ret = check_numbers(qp, mask, attrs);

	if (!ret)
		ret = ri_check_stream(qp->attr.state, mask, iw, is_stream(iw->llp_stream_handle));
	return ret ? ret : ri_check_move(qp->attr.state, mask, attrs, qp->have_llp, qp->windows);
}

/* A new mark is armed, unless rq_armed is given and false; rq_armed alone re-arms or disarms */
static int set_limit(struct rnic_qp *qp, uint32_t mask, const ri_qp_attr_t *attrs)
{
	if (!(mask & RI_LIMIT))
		return 0;
	return ri_qp_arm(qp, !(mask & RI_QP_ATTR_RQ_ARMED) || attrs->qp_xport.qp_iwarp.rq_armed);
}

/* --- the call --- */

static void keep(struct rnic_qp *qp, uint32_t mask, const ri_qp_attr_t *attrs)
{
	ri_keep(&qp->attr, mask, attrs);
	if (mask & RI_QP_ATTR_LLP_STREAM_HANDLE) {
		qp->llp = *attrs->qp_xport.qp_iwarp.llp_stream_handle;
		qp->have_llp = true;
	}
	if (mask & RI_QP_ATTR_MPA_ATTR)
		qp->have_mpa = true;
}

static ri_api_return_t move(struct rnic_qp *qp, uint32_t mask, const ri_qp_attr_t *attrs,
			    ri_err_data_t *err_data)
{
	const ri_iwarp_qp_attr_t *iw = &attrs->qp_xport.qp_iwarp;
	size_t len = mask & RI_QP_ATTR_STREAM_MSG_BUFFER ? iw->stream_msg_buf_length : 0;
	int err = 0;

	if (attrs->state == qp->attr.state)
		return ri_done(err_data);
	switch (attrs->state) {
	case RI_QP_STATE_READY_TO_SEND:
		return attach(qp, iw->stream_msg_buf, len, err_data);
	case RI_QP_STATE_CLOSING:
		err = set_state(qp, IBV_QPS_SQD);
		break;
	case RI_QP_STATE_TERMINATE:
		err = set_state(qp, IBV_QPS_SQE);
		break;
	case RI_QP_STATE_ERROR:
		err = set_state(qp, IBV_QPS_ERR);
		break;
	default:
		err = begin_anew(qp);
	}
	return err ? ri_failed(err_data, err, RI_RET_STILL_FLUSHING_WQES) : ri_done(err_data);
}

/* Restores the attributes of a QP after a failed transition */
static void restore(struct rnic_qp *qp, const struct rnic_qp *before, uint32_t mask)
{
	qp->attr = before->attr;
	qp->llp = before->llp;
	qp->have_llp = before->have_llp;
	qp->have_mpa = before->have_mpa;
	if (mask & RI_LIMIT)
		ri_qp_arm(qp, before->attr.qp_xport.qp_iwarp.rq_armed);
}

/**
 * ri_do_qp_modify() - ri_qp_modify
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic
 * @qp_mask: which of @attrs
 * @attrs: new attributes; all of them take effect, or none
 * @err_data: may be NULL
 *
 * Idle to RTS takes a TCP socket of the caller, which belongs to the kernel from then on. With a
 * last message the peer sends the first FPDU.
 *
 * Context: any thread; sleeps until the last message is sent.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_QP_INVALID_STATE, RI_RET_QP_ATTRIBUTE_CANT_CHANGE,
 * RI_RET_QP_RESIZE_UNSUPPORTED, RI_RET_RNIC_IRD_ORD_EXCEEDED, RI_RET_INVALID_LLP_HANDLE,
 * RI_RET_LLP_BAD_STATE, RI_RET_INVALID_DDP_RDMAP_VERSION, RI_RET_STILL_FLUSHING_WQES,
 * RI_RET_RESOURCE_SHORTAGE, RI_RET_SRQ_LIMIT_OUT_OF_RANGE, RI_RET_WINDOWS_BOUND;
 * RI_RET_MPA_ATTR_UNSUPPORTED: the device requires CRC; RI_RET_OP_UNSUPPORTED: the device
 * takes no socket, or has no high water mark
 */
ri_api_return_t ri_do_qp_modify(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_mask_t qp_mask,
				ri_qp_attr_t *attrs, ri_err_data_t *err_data)
{
	struct rnic_qp *q, before;
	ri_api_return_t ret;
	int err = 0;
	KEEP_ERRNO;

	pthread_mutex_lock(&ri_lock);
	ret = ri_qp_find_settled(rnic, qp, &q);
	if (!ret && !attrs)
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && qp_mask & ~RI_KNOWN)
		ret = RI_RET_QP_ATTRIBUTE_CANT_CHANGE;
	if (!ret)
		err = ri_qp_look(q);
	if (!ret && !err)
		ret = check(q, qp_mask, attrs);
	if (ret || err) {
		ret = err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_refuse(err_data, ret);
		goto out;
	}
	before = *q;
	keep(q, qp_mask, attrs);
	err = set_limit(q, qp_mask, attrs);	/* before the first message */
	if (err)
		ret = ri_failed(err_data, err, RI_RET_FAIL);
	else if (qp_mask & RI_QP_ATTR_NEXT_STATE)
		ret = move(q, qp_mask, attrs, err_data);
	else
		ret = ri_done(err_data);
	if (ret)
		restore(q, &before, qp_mask);
out:
	pthread_mutex_unlock(&ri_lock);
	return ret;
}
