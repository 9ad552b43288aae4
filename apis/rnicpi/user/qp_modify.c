// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ri_qp_modify: a QP from state to state, and with its stream into RTS. All is checked before
 * anything changes.
 */
#include <errno.h>
#include <string.h>
#include "ops.h"
#include "qp.h"
#include "rnicpi/shared/rules.h"

/* --- states --- */

static const struct {
	ri_qp_state_t ri;
	enum ibv_qp_state ibv;
} foreign_states[] = {
	{ RI_QP_STATE_IDLE, IBV_QPS_RESET },
	{ RI_QP_STATE_IDLE, IBV_QPS_INIT },
	{ RI_QP_STATE_READY_TO_SEND, IBV_QPS_RTR },
	{ RI_QP_STATE_READY_TO_SEND, IBV_QPS_RTS },
	{ RI_QP_STATE_CLOSING, IBV_QPS_SQD },
	{ RI_QP_STATE_TERMINATE, IBV_QPS_SQE },
	{ RI_QP_STATE_ERROR, IBV_QPS_ERR },
};

static const ri_qp_state_t native_states[] = {
	[SRNIC_QP_STATE_IDLE] = RI_QP_STATE_IDLE,
	[SRNIC_QP_STATE_RTS] = RI_QP_STATE_READY_TO_SEND,
	[SRNIC_QP_STATE_CLOSING] = RI_QP_STATE_CLOSING,
	[SRNIC_QP_STATE_TERMINATE] = RI_QP_STATE_TERMINATE,
	[SRNIC_QP_STATE_ERROR] = RI_QP_STATE_ERROR,
};

static int look_native(struct rnic_qp *qp)
{
	struct srnic_uresp_qp_query resp;
	int err;

	err = srnicdv_query_qp(qp->qp, &resp, sizeof(resp));
	if (err)
		return err;
	if (resp.state >= sizeof(native_states) / sizeof(native_states[0]))
		return EPROTO;
	qp->attr.state = native_states[resp.state];
	qp->windows = resp.windows;
	qp->attr.qp_xport.qp_iwarp.rq_armed = !!(resp.flags & SRNIC_QP_QUERY_RQ_ARMED);
	if (qp->attr.state == RI_QP_STATE_READY_TO_SEND) {
		qp->attr.max_rdma_read_incoming = resp.ird;
		qp->attr.max_rdma_read_outgoing = resp.ord;
	}
	return 0;
}

/**
 * ri_qp_look() - See what state a QP is in
 * @qp: its attributes are brought up to date
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_look(struct rnic_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	unsigned int i;
	int err;

	if (qp->rnic->native)
		return look_native(qp);
	err = ibv_query_qp(qp->qp, &attr, IBV_QP_STATE, &init);
	for (i = 0; !err && i < sizeof(foreign_states) / sizeof(foreign_states[0]); i++)
		if (foreign_states[i].ibv == attr.qp_state)
			qp->attr.state = foreign_states[i].ri;
	return err;
}

static int set_state(struct rnic_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
}

/**
 * ri_qp_make_idle() - Have a QP begin, or begin anew
 * @qp: in RESET of verbs
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_make_idle(struct rnic_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		/* no flag at all would be all of them */
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
				   (qp->attr.enable_rdma_read ? IBV_ACCESS_REMOTE_READ : 0) |
				   (qp->attr.enable_rdma_write ? IBV_ACCESS_REMOTE_WRITE : 0) |
				   (qp->attr.qp_xport.qp_iwarp.enable_bind ? IBV_ACCESS_MW_BIND : 0),
	};

	qp->have_llp = false;
	qp->have_mpa = false;
	return ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

/* From Error, when all is flushed (L2783) */
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
	case EPERM:	/* the administrator wants CRCs */
		return RI_RET_MPA_ATTR_UNSUPPORTED;
	}
	return ret;
}

static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;

/**
 * ri_qps_renew() - A child has no QP whose stream is being attached
 *
 * Context: ri_lock is held; in a child, in which no handle is valid.
 */
void ri_qps_renew(void)
{
	turned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/**
 * ri_qp_find_settled() - Look a QP up whose stream is not being attached
 * @rnic: an RNIC handle
 * @qp: of it
 * @found: the QP
 *
 * Context: ri_lock is held, but not while this waits for another thread's ri_qp_modify().
 * Return: as ri_qp_find()
 */
ri_api_return_t ri_qp_find_settled(ri_rnic_handle_t rnic, ri_qp_handle_t qp,
				   struct rnic_qp **found)
{
	ri_api_return_t ret;

	while (ret = ri_qp_find(rnic, qp, found), !ret && (*found)->turning)
		pthread_cond_wait(&turned, &ri_lock);
	return ret;
}

/*
 * Under ri_lock. The kernel may wait for the peer, which is none of the business of those
 * that do something with other objects.
 */
static int attach_unlocked(struct rnic_qp *qp, const struct srnicdv_stream_attr *stream)
{
	int err;

	qp->turning = true;
	pthread_mutex_unlock(&ri_lock);
	err = srnicdv_attach_stream(qp->qp, stream);
	pthread_mutex_lock(&ri_lock);
	qp->turning = false;
	pthread_cond_broadcast(&turned);
	return err;
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
	err = attach_unlocked(qp, &stream);
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

/* --- the high water mark --- */

/**
 * ri_qp_arm() - Have the high water mark of a QP's receive queue told
 * @qp: of an srnic device, with an SRQ
 * @arm: false: it is not told any more
 *
 * RNICPI's mark is hit, the limit of the RDMAC verbs is exceeded: so the marks 0 and 1 are the
 * limit 0, the first receive that the QP takes (L2700).
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_arm(struct rnic_qp *qp, bool arm)
{
	uint32_t hiwat = qp->attr.qp_xport.qp_iwarp.rq_hiwat;

	if (!arm)
		return srnicdv_arm_rq(qp->qp, SRNIC_QP_RQ_DISARM);
	return srnicdv_arm_rq(qp->qp, hiwat ? hiwat - 1 : 0);
}

/* A new mark is armed; rq_armed alone arms the old one, or disarms it */
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

/* What was kept of attributes that are not taken */
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
 * @qp: of it
 * @qp_mask: which of @attrs
 * @attrs: new attributes; all of them are taken, or none
 * @err_data: may be NULL
 *
 * Idle to RTS takes a TCP socket of the caller, which is the kernel's from then on. With a
 * last message the peer sends the first FPDU.
 *
 * Context: any thread; sleeps, for what the last message takes to be sent.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_QP_INVALID_STATE, RI_RET_QP_ATTRIBUTE_CANT_CHANGE,
 * RI_RET_QP_RESIZE_UNSUPPORTED, RI_RET_RNIC_IRD_ORD_EXCEEDED, RI_RET_INVALID_LLP_HANDLE,
 * RI_RET_LLP_BAD_STATE, RI_RET_INVALID_DDP_RDMAP_VERSION, RI_RET_STILL_FLUSHING_WQES,
 * RI_RET_RESOURCE_SHORTAGE, RI_RET_SRQ_LIMIT_OUT_OF_RANGE, RI_RET_WINDOWS_BOUND; RI_RET_MPA_ATTR_UNSUPPORTED: the
 * device wants CRCs; RI_RET_OP_UNSUPPORTED: it takes no socket, or has no high water mark
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
