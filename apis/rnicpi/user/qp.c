// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* QPs: create, query, modify and destroy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rnicpi/rix.h>
#include "qp.h"

/* --- create --- */

/* Looks up PD, CQs and SRQ of the new QP, and checks its limits */
static ri_api_return_t enter_parts(ri_rnic_handle_t rnic, const ri_qp_attr_t *attrs,
				   struct rnic_qp *qp)
{
	const struct ri_limits limits = ri_limits_of(qp->rnic);
	ri_api_return_t ret;

	qp->pd = ri_enter_more(rnic, RI_KIND_PD, attrs->pd, &ret);
	if (!ret)
		qp->scq = ri_enter_more(rnic, RI_KIND_CQ, attrs->scq.scq_handle, &ret);
	if (!ret)
		qp->rcq = ri_enter_more(rnic, RI_KIND_CQ, attrs->rcq.rcq_handle, &ret);
	if (!ret && attrs->srq_valid)
		qp->srq = ri_enter_more(rnic, RI_KIND_SRQ, attrs->srq.srq_handle, &ret);
	if (!ret && attrs->enable_stag0_fastreg)
		ret = RI_RET_NO_PERMISSION;
	return ret ? ret : ri_check_qp(&limits, attrs);
}

static void leave_parts(const ri_qp_attr_t *attrs, const struct rnic_qp *qp)
{
	if (qp->pd)
		handle_leave(attrs->pd);
	if (qp->scq)
		handle_leave(attrs->scq.scq_handle);
	if (qp->rcq)
		handle_leave(attrs->rcq.rcq_handle);
	if (qp->srq)
		handle_leave(attrs->srq.srq_handle);
}

/* With @n of -1 this is the last access to a part: another thread may free it at once */
static void use_parts(struct rnic_qp *qp, int n)
{
	if (qp->srq)
		ri_use(&qp->srq->users, n);
	ri_use(&qp->rcq->users, n);
	ri_use(&qp->scq->users, n);
	ri_use(&qp->pd->users, n);
	ri_use(&qp->rnic->users, n);
}

static uint32_t at_least(uint32_t value, uint32_t least)
{
	return value < least ? least : value;
}

/* A device with one limit for all WRs gets the larger one. Return: the QP, NULL with errno */
static struct ibv_qp *verbs_qp(struct rnic_qp *qp, struct ibv_qp_init_attr_ex *init,
			       uint32_t *max_write_sge)
{
	struct srnicdv_qp_init_attr dv = { .max_write_sge = *max_write_sge };
	struct ibv_qp *made;

	if (qp->rnic->dev.flags & SRNIC_DEV_WRITE_SGES) {
		made = srnicdv_create_qp(qp->rnic->ctx, init, &dv);
		*max_write_sge = dv.max_write_sge;
		return made;
	}
	init->cap.max_send_sge = at_least(init->cap.max_send_sge, *max_write_sge);
	made = ibv_create_qp_ex(qp->rnic->ctx, init);
	*max_write_sge = init->cap.max_send_sge;
	return made;
}

/*
 * A message for which no receive is posted is an error at once (RDMAC verbs, Figure 24), whatever
 * the device's policy says
 */
static int without_rnr(struct rnic_qp *qp)
{
	struct ibv_qp_attr attr = { .rnr_retry = 0 };

	return qp->rnic->native ? ibv_modify_qp(qp->qp, &attr, IBV_QP_RNR_RETRY) : 0;
}

static int make_qp(struct rnic_qp *qp, const ri_qp_attr_t *attrs)
{
	uint32_t max_write_sge = at_least(attrs->sq_max_sges_rdmaw, 1);
	struct ibv_qp_init_attr_ex init = {
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = qp->pd->pd,
		.send_cq = qp->scq->cq,
		.recv_cq = qp->rcq->cq,
		.srq = qp->srq ? qp->srq->srq : NULL,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = at_least(attrs->sq_size, 1),
			.max_recv_wr = qp->srq ? 0 : at_least(attrs->rq_size, 1),
			.max_send_sge = at_least(attrs->sq_max_sges, 1),
			.max_recv_sge = qp->srq ? 0 : at_least(attrs->rq_max_sges, 1),
			.max_inline_data = qp->rnic->native ? qp->rnic->dev.max_inline : 0,
		},
	};
	int err;

	qp->qp = verbs_qp(qp, &init, &max_write_sge);
	if (!qp->qp)
		return errno;
	qp->qpn = qp->qp->qp_num;
	qp->attr = *attrs;
	qp->attr.qp_id = qp->qpn;
	qp->attr.sq_size = init.cap.max_send_wr;
	qp->attr.rq_size = init.cap.max_recv_wr;
	qp->attr.sq_max_sges = init.cap.max_send_sge;
	qp->attr.sq_max_sges_rdmaw = max_write_sge;
	qp->attr.rq_max_sges = init.cap.max_recv_sge;
	ri_made_qp(&qp->attr, attrs);
	qp->max_send_sge = init.cap.max_send_sge;
	qp->max_write_sge = max_write_sge;
	qp->max_recv_sge = init.cap.max_recv_sge;
	qp->max_inline = init.cap.max_inline_data;
	err = ri_qp_make_idle(qp);
	if (!err)
		err = without_rnr(qp);
	if (!err && qp->srq && qp->rnic->native && attrs->qp_xport.qp_iwarp.rq_hiwat)
		err = ri_arm(qp, true);
	return err;
}

static int qp_new(struct rnic_qp *qp, const ri_qp_attr_t *attrs)
{
	int err = make_qp(qp, attrs);

	if (!err && (!ri_ring_init(&qp->sq, qp->attr.sq_size) ||
		     !ri_ring_init(&qp->rq, qp->srq ? 0 : qp->attr.rq_size)))
		err = ENOMEM;
	if (!err) {
		use_parts(qp, 1);
		ri_qp_enter(qp);
		qp->handle = handle_new(RI_KIND_QP, qp);
		if (qp->handle)
			return 0;
		ri_qp_leave(qp);
		use_parts(qp, -1);
		err = ENOMEM;
	}
	if (qp->qp)
		ibv_destroy_qp(qp->qp);
	return err;
}

static void qp_uninit(struct rnic_qp *qp)
{
	ri_ring_free(&qp->sq);
	ri_ring_free(&qp->rq);
	pthread_mutex_destroy(&qp->mutex);
	pthread_cond_destroy(&qp->turned);
}

static ri_api_return_t create(ri_rnic_handle_t rnic, struct rnic *r, ri_qp_attr_t *attrs,
			      ri_qp_handle_t *qp, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_qp *q = calloc(1, sizeof(*q));
	const ri_qp_attr_t asked = *attrs;
	ri_api_return_t ret;
	int err;

	if (!q)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	q->rnic = r;
	q->os_data = os_data;
	pthread_mutex_init(&q->mutex, NULL);
	pthread_cond_init(&q->turned, NULL);
	ret = enter_parts(rnic, &asked, q);
	err = ret ? 0 : qp_new(q, &asked);
	leave_parts(&asked, q);
	if (ret || err) {
		qp_uninit(q);
		free(q);
		return ret ? ri_answer(err_data, ret) : ri_failed(err_data, err, RI_RET_FAIL);
	}
	*attrs = q->attr;
	*qp = q->handle;
	return ri_done(err_data);
}

/**
 * ri_do_qp_create() - Create a QP
 * @rnic: an RNIC handle
 * @attrs: in: attributes for create, as its page has them; out: actual ones
 * @qp: the QP, Idle
 * @vp_data: ignored
 * @os_data: returned in each completion
 * @err_data: may be NULL
 *
 * ORD and IRD are granted as requested, or refused. The peer's RDMA Writes need
 * enable_rdma_write.
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_PD_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE, RI_RET_SRQ_INVALID_HANDLE,
 * RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_RNIC_SG_LIMIT_EXCEEDED,
 * RI_RET_RNIC_IRD_ORD_EXCEEDED, RI_RET_SRQ_LIMIT_OUT_OF_RANGE, RI_RET_INVALID_DDP_RDMAP_VERSION,
 * RI_RET_RESOURCE_SHORTAGE; RI_RET_MPA_ATTR_UNSUPPORTED: the device requires CRC;
 * RI_RET_NO_PERMISSION: STag 0
 */
ri_api_return_t ri_do_qp_create(ri_rnic_handle_t rnic, ri_qp_attr_t *attrs, ri_qp_handle_t *qp,
				ri_vp_data_t vp_data, ri_os_data_t os_data,
				ri_err_data_t *err_data)
{
	struct rnic *r = ri_enter_rnic(rnic);
	ri_api_return_t ret;
	KEEP_ERRNO;

	(void)vp_data;
	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	ret = attrs && qp ? create(rnic, r, attrs, qp, os_data, err_data) :
			    ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	handle_leave(rnic);
	return ret;
}

/* --- query --- */

/**
 * ri_terminate_bytes() - Encode a Terminate message as on the wire
 * @buf: 52 bytes
 * @term: the message
 *
 * Context: any thread.
 * Return: its bytes
 */
uint32_t ri_terminate_bytes(char *buf, const struct srnic_terminate *term)
{
	uint32_t word = htonl((uint32_t)term->layer << 28 | (uint32_t)term->etype << 24 |
			      (uint32_t)term->code << 16 | term->hdrct);
	char *p = buf;

	memcpy(p, &word, sizeof(word));
	p += sizeof(word);
	if (term->ddp_len) {
		*p++ = (char)(term->seg_len >> 8);
		*p++ = (char)term->seg_len;
		memcpy(p, term->ddp, term->ddp_len);
		p += term->ddp_len;
	}
	memcpy(p, term->rdmap, term->rdmap_len);
	p += term->rdmap_len;
	return p - buf;
}

static void fill_terminate(struct rnic_qp *qp, ri_iwarp_qp_attr_t *iw)
{
	struct srnicdv_terminate t;
	struct srnic_terminate term = { 0 };

	if (!qp->rnic->native || srnicdv_query_terminate(qp->qp, &t) || !t.valid)
		return;
	term.layer = t.layer;
	term.etype = t.etype;
	term.code = t.code;
	term.hdrct = (t.ddp_len ? SRNIC_TERMINATE_M | SRNIC_TERMINATE_D : 0) |
		     (t.rdmap_len ? SRNIC_TERMINATE_R : 0);
	term.seg_len = t.seg_len;
	term.ddp_len = t.ddp_len;
	term.rdmap_len = t.rdmap_len;
	memcpy(term.ddp, t.ddp, sizeof(term.ddp));
	memcpy(term.rdmap, t.rdmap, sizeof(term.rdmap));
	iw->terminate_msg_length = ri_terminate_bytes(iw->terminate_buffer, &term);
	iw->is_terminate_local = t.local;
}

/* Under the QP's mutex */
static void fill_attrs(struct rnic_qp *q, ri_qp_attr_t *attrs)
{
	*attrs = q->attr;
	attrs->scq.scq_os_data = q->scq->os_data;
	attrs->rcq.rcq_os_data = q->rcq->os_data;
	attrs->srq.srq_os_data = q->srq ? q->srq->os_data : NULL;
	attrs->pd = q->pd->handle;
	attrs->qp_xport.qp_iwarp.llp_stream_handle = q->have_llp ? &q->llp : NULL;
	attrs->qp_xport.qp_iwarp.stream_msg_buf = NULL;
	attrs->qp_xport.qp_iwarp.stream_msg_buf_length = 0;
	attrs->qp_xport.qp_iwarp.terminate_msg_length = 0;
	if (attrs->state == RI_QP_STATE_TERMINATE || attrs->state == RI_QP_STATE_ERROR)
		fill_terminate(q, &attrs->qp_xport.qp_iwarp);
}

/**
 * ri_do_qp_query() - Query a QP
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic
 * @attrs: all attributes; CQs and SRQ as their os_data, the PD as its handle. The stream is
 * valid until the QP is destroyed
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER
 */
ri_api_return_t ri_do_qp_query(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_t *attrs,
			       ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_qp *q;
	int err = 0;
	KEEP_ERRNO;

	q = ri_enter(rnic, RI_KIND_QP, qp, &ret);
	if (!q)
		return ri_answer(err_data, ret);
	if (attrs) {
		pthread_mutex_lock(&q->mutex);
		err = ri_qp_look(q);
		if (!err)
			fill_attrs(q, attrs);
		pthread_mutex_unlock(&q->mutex);
	} else {
		ret = RI_RET_INVALID_PARAMETER;
	}
	handle_leave(qp);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/* --- modify and destroy --- */

/* Under the QP's mutex */
static ri_api_return_t modify(struct rnic_qp *q, const struct ri_limits *n, uint32_t mask,
			      ri_qp_attr_t *attrs, ri_err_data_t *err_data)
{
	const struct ri_linux_llp *llp = attrs->qp_xport.qp_iwarp.llp_stream_handle;
	const ino_t socket = q->socket;
	ri_api_return_t ret;

	/* ri_qp_attach() may be part of this call */
	if (mask & RI_QP_ATTR_LLP_STREAM_HANDLE && llp)
		q->socket = ri_socket_of(llp->fd);
	ret = ri_modify(q, n, mask, attrs, err_data);
	if (ret)
		q->socket = socket;
	return ret;
}

/**
 * ri_do_qp_modify() - Change attributes and the state of a QP
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
 * RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_QP_CANNOT_SHRINK, RI_RET_RNIC_IRD_ORD_EXCEEDED,
 * RI_RET_INVALID_LLP_HANDLE, RI_RET_LLP_BAD_STATE, RI_RET_INVALID_DDP_RDMAP_VERSION,
 * RI_RET_STILL_FLUSHING_WQES, RI_RET_RESOURCE_SHORTAGE, RI_RET_SRQ_LIMIT_OUT_OF_RANGE,
 * RI_RET_WINDOWS_BOUND;
 * RI_RET_MPA_ATTR_UNSUPPORTED: the device requires CRC; RI_RET_OP_UNSUPPORTED: the device
 * takes no socket, or has no high water mark; RI_RET_QP_RESIZE_UNSUPPORTED: it resizes no queues
 */
ri_api_return_t ri_do_qp_modify(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_mask_t qp_mask,
				ri_qp_attr_t *attrs, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct ri_limits n;
	struct rnic_qp *q;
	KEEP_ERRNO;

	q = ri_enter(rnic, RI_KIND_QP, qp, &ret);
	if (!q)
		return ri_answer(err_data, ret);
	if (attrs) {
		n = ri_limits_of(q->rnic);
		ri_qp_lock_settled(q);
		ret = modify(q, &n, qp_mask, attrs, err_data);
		pthread_mutex_unlock(&q->mutex);
	} else {
		ret = ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	}
	handle_leave(qp);
	return ret;
}

/**
 * ri_qp_end() - End a QP except its memory
 * @qp: the caller's alone
 *
 * Discards the completions that wait in its CQs, and frees the slots of an SRQ that they have.
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_end(void *qp)
{
	struct rnic_qp *q = qp;
	int err = q->rnic->native ? srnicdv_destroy_qp(q->qp) : ibv_destroy_qp(q->qp);

	if (err)
		return err;
	__atomic_store_n(&q->dead, true, __ATOMIC_RELEASE);
	ri_cq_keep(q->scq, q);
	if (q->rcq != q->scq)
		ri_cq_keep(q->rcq, q);
	ri_qp_leave(q);
	qp_uninit(q);
	use_parts(q, -1);
	return 0;
}

/**
 * ri_do_qp_destroy() - Destroy a QP
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic, in any state
 * @err_data: may be NULL
 *
 * Cancels posted WRs, which get no completion.
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE;
 * RI_RET_WINDOWS_BOUND: windows of type 2 are bound to it
 */
ri_api_return_t ri_do_qp_destroy(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_err_data_t *err_data)
{
	return ri_end(rnic, RI_KIND_QP, qp, ri_qp_end, RI_RET_WINDOWS_BOUND, err_data);
}

/**
 * rix_to_ibv_qp() - A QP in verbs
 * @qp: a QP
 *
 * Context: any thread.
 * Return: the QP, owned by the handle, or NULL.
 */
struct ibv_qp *rix_to_ibv_qp(ri_qp_handle_t qp)
{
	struct rnic_qp *q = handle_enter(RI_KIND_QP, qp, NULL, false);
	struct ibv_qp *in_verbs = q ? q->qp : NULL;

	if (q)
		handle_leave(qp);
	return in_verbs;
}
