// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion queues. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <rnicpi/rix.h>
#include "rnic.h"

#define BATCH	16

/* Return: 0; or an errno, and the CQ is destroyed */
static int number_cq(struct rnic_cq *cq)
{
	struct srnic_uresp_cq_query resp;
	int err;

	cq->number = cq->cq->handle;
	if (!cq->rnic->native)
		return 0;
	err = srnicdv_query_cq(cq->cq, &resp, sizeof(resp));
	if (err)
		ibv_destroy_cq(cq->cq);
	else
		cq->number = resp.cqn;
	return err;
}

/* Each CQ has a completion channel of its own, so that a program can wait for one CQ */
static int make_cq(struct rnic_cq *cq, uint32_t entries)
{
	int fd;

	cq->channel = ibv_create_comp_channel(cq->rnic->ctx);
	if (!cq->channel)
		return errno;
	fd = cq->channel->fd;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	cq->cq = ibv_create_cq(cq->rnic->ctx, entries, cq, cq->channel, 0);
	return cq->cq ? number_cq(cq) : errno;
}

/* Under ri_lock */
static void unlist(struct rnic_cq *cq)
{
	struct rnic_cq **p = &cq->rnic->cqs;

	while (*p != cq)
		p = &(*p)->next;
	*p = cq->next;
}

static void cq_free(struct rnic_cq *cq)
{
	if (cq->channel)
		ibv_destroy_comp_channel(cq->channel);
	pthread_mutex_destroy(&cq->poll_lock);
	free(cq);
}

/**
 * ri_do_cq_create() - ri_cq_create
 * @rnic: an RNIC handle
 * @cq_attr: num_cqe: in: requested entries; out: actual number. handler_id is ignored
 * @cq: the CQ
 * @vp_data: ignored
 * @os_data: returned in each completion
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_CQ_CAPACITY_EXCEEDED, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_cq_create(ri_rnic_handle_t rnic, ri_cq_attr_t *cq_attr, ri_cq_handle_t *cq,
				ri_vp_data_t vp_data, ri_os_data_t os_data,
				ri_err_data_t *err_data)
{
	struct rnic *r = handle_object(RI_KIND_RNIC, rnic);
	struct rnic_cq *c;
	int err;
	KEEP_ERRNO;

	(void)vp_data;
	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (!cq_attr || !cq || !cq_attr->num_cqe)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	if (cq_attr->num_cqe > (uint32_t)r->attr.max_cqe)
		return ri_answer(err_data, RI_RET_CQ_CAPACITY_EXCEEDED);
	c = calloc(1, sizeof(*c));
	if (!c)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	pthread_mutex_init(&c->poll_lock, NULL);
	c->rnic = r;
	c->os_data = os_data;
	err = make_cq(c, cq_attr->num_cqe);
	if (!err) {
		*cq = handle_new(RI_KIND_CQ, c);
		if (!*cq) {
			ibv_destroy_cq(c->cq);
			err = ENOMEM;
		}
	}
	if (err) {
		cq_free(c);
		return ri_failed(err_data, err, RI_RET_FAIL);
	}
	cq_attr->num_cqe = c->cq->cqe;
	pthread_mutex_lock(&ri_lock);
	c->next = r->cqs;
	r->cqs = c;
	r->users++;
	pthread_mutex_unlock(&ri_lock);
	return ri_done(err_data);
}

static bool has_overflowed(const struct rnic_cq *cq)
{
	struct srnic_uresp_cq_query resp;

	return cq->rnic->native && !srnicdv_query_cq(cq->cq, &resp, sizeof(resp)) &&
	       resp.flags & SRNIC_CQ_QUERY_OVERFLOWED;
}

/**
 * ri_do_cq_query() - ri_cq_query
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic
 * @cq_attr: set to the number of entries, with a handler_id of 0
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER; RI_RET_CQ_ERROR: it has overflowed
 */
ri_api_return_t ri_do_cq_query(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_cq_attr_t *cq_attr,
			       ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_cq *c = ri_find(rnic, RI_KIND_CQ, cq, &ret);
	KEEP_ERRNO;

	if (!ret && !cq_attr)
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && has_overflowed(c))
		ret = RI_RET_CQ_ERROR;
	if (ret)
		return ri_answer(err_data, ret);
	*cq_attr = (ri_cq_attr_t){ .num_cqe = c->cq->cqe };
	return ri_done(err_data);
}

/**
 * ri_do_cq_modify() - ri_cq_modify
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic
 * @mask: RI_CQ_MODIFY_MASK_NUM_CQE
 * @cq_attr: in: requested number of entries; out: actual number
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_CQ_CAPACITY_EXCEEDED, RI_RET_CQ_ERROR,
 * RI_RET_RESOURCE_SHORTAGE; RI_RET_CQ_WOULD_OVERFLOW: the CQ holds more completions;
 * RI_RET_OP_UNSUPPORTED: the device cannot resize
 */
ri_api_return_t ri_do_cq_modify(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_cq_modify_mask_t mask,
				ri_cq_attr_t *cq_attr, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_cq *c = ri_find(rnic, RI_KIND_CQ, cq, &ret);
	int err;
	KEEP_ERRNO;

	if (!ret && (mask != RI_CQ_MODIFY_MASK_NUM_CQE || !cq_attr || !cq_attr->num_cqe))
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && cq_attr->num_cqe > (uint32_t)c->rnic->attr.max_cqe)
		ret = RI_RET_CQ_CAPACITY_EXCEEDED;
	else if (!ret && has_overflowed(c))
		ret = RI_RET_CQ_ERROR;
	if (ret)
		return ri_answer(err_data, ret);
	err = ibv_resize_cq(c->cq, cq_attr->num_cqe);
	if (err == EINVAL)
		err = EBUSY;
	if (err)
		return ri_failed(err_data, err, RI_RET_CQ_WOULD_OVERFLOW);
	cq_attr->num_cqe = c->cq->cqe;
	return ri_done(err_data);
}

/**
 * ri_do_cq_destroy() - ri_cq_destroy
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic that no QP uses
 * @err_data: may be NULL
 *
 * Discards completions that were not polled.
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE,
 * RI_RET_CQ_INUSE
 */
ri_api_return_t ri_do_cq_destroy(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_cq *c;
	int err = 0;
	KEEP_ERRNO;

	pthread_mutex_lock(&ri_lock);
	c = ri_find(rnic, RI_KIND_CQ, cq, &ret);
	if (!ret && c->users)
		ret = RI_RET_CQ_INUSE;
	if (!ret)
		err = ibv_destroy_cq(c->cq);
	if (!ret && !err) {
		handle_free(cq);
		unlist(c);
		c->rnic->users--;
		cq_free(c);
	}
	pthread_mutex_unlock(&ri_lock);
	if (err)
		return ri_failed(err_data, err, RI_RET_CQ_INUSE);
	return ri_answer(err_data, ret);
}

/**
 * ri_do_cq_req_notification() - ri_cq_req_notification
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic
 * @type: the completions that are notified at rix_cq_fd()
 * @err_data: may be NULL
 *
 * Context: any thread.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER
 */
ri_api_return_t ri_do_cq_req_notification(ri_rnic_handle_t rnic, ri_cq_handle_t cq,
					  ri_cmplt_notify_type_t type, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_cq *c = ri_find(rnic, RI_KIND_CQ, cq, &ret);
	int err;
	KEEP_ERRNO;

	if (!ret && type != RI_CMPLT_NOTIFY_SOLICITED && type != RI_CMPLT_NOTIFY_ANY)
		ret = RI_RET_INVALID_PARAMETER;
	if (ret)
		return ri_answer(err_data, ret);
	err = ibv_req_notify_cq(c->cq, type == RI_CMPLT_NOTIFY_SOLICITED);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_done(err_data);
}

/* --- completions --- */

/* Merges @wc with the WR's slot. Return: false if the QP is destroyed. */
static bool complete(struct rnic_cq *cq, const struct ibv_wc *wc, ri_wc_t *out)
{
	struct rnic_qp *qp = ri_qp_of_number(cq->rnic, wc->qp_num);
	struct rnic_slot slot;

	if (!qp || !ri_slot_end(qp, wc, &slot) || qp->dead)
		return false;
	memset(out, 0, sizeof(*out));
	out->rc_wc.op_type = (ri_wc_type_t)slot.type;
	out->rc_wc.cq_os_data = cq->os_data;
	out->rc_wc.qp_os_data = qp->os_data;
	out->rc_wc.id = slot.id;
	out->rc_wc.op_status = ri_status_of(cq->rnic, wc);
	out->rc_wc.flags = (ri_wc_flags_t)slot.flags;
	out->rc_wc.bytes_transferred = slot.bytes;
	if (wc->status)
		return true;
	if (slot.type == RI_WC_TYPE_DATA_RECEIVED)
		out->rc_wc.bytes_transferred = wc->byte_len;
	if (wc->wc_flags & IBV_WC_WITH_INV) {
		out->rc_wc.flags = (ri_wc_flags_t)(out->rc_wc.flags | RI_WC_FLAG_RTAG_INVALIDATE);
		out->rc_wc.invalidated_rtag = wc->invalidated_rkey;
	}
	return true;
}

/**
 * ri_do_cq_poll() - ri_cq_poll
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic
 * @wcs: array of @num_wcs completions
 * @num_wcs: set to the number taken, which may be less than the number in the CQ
 * @err_data: may be NULL
 *
 * Context: any thread.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_CQ_EMPTY, RI_RET_CQ_ERROR
 */
ri_api_return_t ri_do_cq_poll(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_wc_t *wcs,
			      uint_t *num_wcs, ri_err_data_t *err_data)
{
	struct ibv_wc wc[BATCH];
	ri_api_return_t ret;
	struct rnic_cq *c = ri_find(rnic, RI_KIND_CQ, cq, &ret);
	uint_t found = 0;
	int n = 1, i;
	KEEP_ERRNO;

	if (!ret && (!wcs || !num_wcs || !*num_wcs))
		ret = RI_RET_INVALID_PARAMETER;
	if (ret)
		return ri_answer(err_data, ret);
	pthread_mutex_lock(&c->poll_lock);
	/* completions of destroyed QPs do not count */
	while (n > 0 && !found) {
		n = ibv_poll_cq(c->cq, *num_wcs < BATCH ? *num_wcs : BATCH, wc);
		for (i = 0; i < n; i++)
			found += complete(c, &wc[i], &wcs[found]);
	}
	pthread_mutex_unlock(&c->poll_lock);
	*num_wcs = found;
	if (n < 0)
		return ri_answer(err_data, RI_RET_CQ_ERROR);
	return found ? ri_done(err_data) : ri_answer(err_data, RI_RET_CQ_EMPTY);
}

/* --- extensions --- */

/**
 * rix_cq_fd() - File descriptor to wait for notifications of ri_cq_req_notification()
 * @cq: a CQ
 *
 * Context: any thread.
 * Return: a file descriptor, readable when there is a notification, for poll() and rix_cq_ack()
 * only; -1 if @cq is invalid.
 */
int rix_cq_fd(ri_cq_handle_t cq)
{
	struct rnic_cq *c = handle_object(RI_KIND_CQ, cq);

	return c ? c->channel->fd : -1;
}

/**
 * rix_cq_ack() - Take the notification of a CQ
 * @cq: a CQ
 * @err_data: may be NULL
 *
 * Context: any thread; does not wait.
 * Return: RI_RET_SUCCESS, RI_RET_CQ_INVALID_HANDLE; RI_RET_CQ_EMPTY: there is none
 */
ri_api_return_t rix_cq_ack(ri_cq_handle_t cq, ri_err_data_t *err_data)
{
	struct rnic_cq *c = handle_object(RI_KIND_CQ, cq);
	struct ibv_cq *told;
	void *context;
	KEEP_ERRNO;

	if (!c)
		return ri_answer(err_data, RI_RET_CQ_INVALID_HANDLE);
	if (ibv_get_cq_event(c->channel, &told, &context))
		return ri_answer(err_data, RI_RET_CQ_EMPTY);
	ibv_ack_cq_events(told, 1);
	return ri_done(err_data);
}

/**
 * rix_to_ibv_cq() - A CQ in verbs
 * @cq: a CQ
 *
 * Context: any thread.
 * Return: the CQ, owned by the handle, or NULL.
 */
struct ibv_cq *rix_to_ibv_cq(ri_cq_handle_t cq)
{
	struct rnic_cq *c = handle_object(RI_KIND_CQ, cq);

	return c ? c->cq : NULL;
}
