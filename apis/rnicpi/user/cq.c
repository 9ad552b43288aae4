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

static void list(struct rnic_cq *cq)
{
	pthread_mutex_lock(&ri_lock);
	cq->next = cq->rnic->cqs;
	cq->rnic->cqs = cq;
	pthread_mutex_unlock(&ri_lock);
}

static void unlist(struct rnic_cq *cq)
{
	struct rnic_cq **p = &cq->rnic->cqs;

	pthread_mutex_lock(&ri_lock);
	while (*p != cq)
		p = &(*p)->next;
	*p = cq->next;
	pthread_mutex_unlock(&ri_lock);
}

static void cq_uninit(struct rnic_cq *cq)
{
	if (cq->channel)
		ibv_destroy_comp_channel(cq->channel);
	pthread_mutex_destroy(&cq->poll_lock);
	free(cq->kept);
}

static int cq_new(struct rnic_cq *cq, uint32_t entries, ri_cq_handle_t *handle)
{
	int err = make_cq(cq, entries);

	if (err)
		return err;
	list(cq);
	ri_use(&cq->rnic->users, 1);
	if (ri_new_handle(RI_KIND_CQ, cq, handle))
		return 0;
	ri_use(&cq->rnic->users, -1);
	unlist(cq);
	ibv_destroy_cq(cq->cq);
	return ENOMEM;
}

static ri_api_return_t create(struct rnic *rnic, ri_cq_attr_t *attr, ri_cq_handle_t *handle,
			      ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_cq *cq;
	int err;

	if (attr->num_cqe > (uint32_t)rnic->attr.max_cqe)
		return ri_answer(err_data, RI_RET_CQ_CAPACITY_EXCEEDED);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	pthread_mutex_init(&cq->poll_lock, NULL);
	cq->rnic = rnic;
	cq->os_data = os_data;
	/* at least as many as requested (L2012) */
	err = cq_new(cq, attr->num_cqe ? attr->num_cqe : 1, handle);
	if (err) {
		cq_uninit(cq);
		free(cq);
		return ri_failed(err_data, err, RI_RET_FAIL);
	}
	attr->num_cqe = cq->cq->cqe;
	return ri_done(err_data);
}

/**
 * ri_do_cq_create() - Create a CQ
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
	struct rnic *r = ri_enter_rnic(rnic);
	ri_api_return_t ret;
	KEEP_ERRNO;

	(void)vp_data;
	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	ret = cq_attr && cq ? create(r, cq_attr, cq, os_data, err_data) :
			      ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	handle_leave(rnic);
	return ret;
}

/* Under poll_lock */
static bool has_overflowed(const struct rnic_cq *cq)
{
	struct srnic_uresp_cq_query resp;

	return cq->overflowed ||
	       (cq->rnic->native && !srnicdv_query_cq(cq->cq, &resp, sizeof(resp)) &&
		resp.flags & SRNIC_CQ_QUERY_OVERFLOWED);
}

/**
 * ri_do_cq_query() - Query a CQ
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
	struct rnic_cq *c = ri_enter(rnic, RI_KIND_CQ, cq, &ret);
	KEEP_ERRNO;

	if (!c)
		return ri_answer(err_data, ret);
	pthread_mutex_lock(&c->poll_lock);
	if (!cq_attr)
		ret = RI_RET_INVALID_PARAMETER;
	else if (has_overflowed(c))
		ret = RI_RET_CQ_ERROR;
	else
		*cq_attr = (ri_cq_attr_t){ .num_cqe = c->cq->cqe };
	pthread_mutex_unlock(&c->poll_lock);
	handle_leave(cq);
	return ri_answer(err_data, ret);
}

/* Under poll_lock */
static ri_api_return_t resize(struct rnic_cq *cq, ri_cq_attr_t *attr, ri_err_data_t *err_data)
{
	int err;

	if (attr->num_cqe > (uint32_t)cq->rnic->attr.max_cqe)
		return ri_answer(err_data, RI_RET_CQ_CAPACITY_EXCEEDED);
	if (has_overflowed(cq))
		return ri_answer(err_data, RI_RET_CQ_ERROR);
	if (attr->num_cqe < cq->end - cq->first)
		return ri_answer(err_data, RI_RET_CQ_WOULD_OVERFLOW);
	err = ibv_resize_cq(cq->cq, attr->num_cqe);
	if (err == EINVAL)
		err = EBUSY;
	if (err)
		return ri_failed(err_data, err, RI_RET_CQ_WOULD_OVERFLOW);
	attr->num_cqe = cq->cq->cqe;
	return ri_done(err_data);
}

/**
 * ri_do_cq_modify() - Resize a CQ
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
	struct rnic_cq *c = ri_enter(rnic, RI_KIND_CQ, cq, &ret);
	KEEP_ERRNO;

	if (!c)
		return ri_answer(err_data, ret);
	if (mask != RI_CQ_MODIFY_MASK_NUM_CQE || !cq_attr || !cq_attr->num_cqe) {
		ret = ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	} else {
		pthread_mutex_lock(&c->poll_lock);
		ret = resize(c, cq_attr, err_data);
		pthread_mutex_unlock(&c->poll_lock);
	}
	handle_leave(cq);
	return ret;
}

/**
 * ri_cq_end() - End a CQ except its memory
 * @cq: the caller's alone
 *
 * Context: any thread; sleeps.
 * Return: 0, an errno or RI_IN_USE.
 */
int ri_cq_end(void *cq)
{
	struct rnic_cq *c = cq;
	int err = ri_is_used(&c->users) ? RI_IN_USE : ibv_destroy_cq(c->cq);

	if (err)
		return err;
	unlist(c);
	cq_uninit(c);
	ri_use(&c->rnic->users, -1);
	return 0;
}

/**
 * ri_do_cq_destroy() - Destroy a CQ
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
	return ri_end(rnic, RI_KIND_CQ, cq, ri_cq_end, RI_RET_CQ_INUSE, err_data);
}

/**
 * ri_do_cq_req_notification() - Arm a CQ for one notification
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
	struct rnic_cq *c = ri_enter(rnic, RI_KIND_CQ, cq, &ret);
	int err = 0;
	KEEP_ERRNO;

	if (!c)
		return ri_answer(err_data, ret);
	if (type != RI_CMPLT_NOTIFY_SOLICITED && type != RI_CMPLT_NOTIFY_ANY)
		ret = RI_RET_INVALID_PARAMETER;
	else
		err = ibv_req_notify_cq(c->cq, type == RI_CMPLT_NOTIFY_SOLICITED);
	handle_leave(cq);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/* --- completions --- */

/* poll_lock of one of the QP's CQs is held, so the QP stays. Takes qp_lock. */
static struct rnic_qp *qp_of_number(struct rnic *rnic, uint32_t qpn)
{
	struct rnic_qp *qp;

	pthread_mutex_lock(&rnic->qp_lock);
	qp = rnic->qps[qpn % QPN_BUCKETS];
	while (qp && qp->qpn != qpn)
		qp = qp->next;
	pthread_mutex_unlock(&rnic->qp_lock);
	return qp;
}

/*
 * Under poll_lock. Merges @wc with the WR's slot. Return: the WR's QP; NULL if the QP is destroyed,
 * or has no such slot.
 */
static const struct rnic_qp *complete(struct rnic_cq *cq, const struct ibv_wc *wc, ri_wc_t *out)
{
	struct rnic_qp *qp = qp_of_number(cq->rnic, wc->qp_num);
	struct rnic_slot slot;

	if (!qp || !ri_slot_end(qp, wc, &slot) || __atomic_load_n(&qp->dead, __ATOMIC_ACQUIRE))
		return NULL;
	memset(out, 0, sizeof(*out));
	out->rc_wc.op_type = (ri_wc_type_t)slot.type;
	out->rc_wc.cq_os_data = cq->os_data;
	out->rc_wc.qp_os_data = qp->os_data;
	out->rc_wc.id = slot.id;
	out->rc_wc.op_status = ri_status_of(cq->rnic, wc);
	out->rc_wc.flags = (ri_wc_flags_t)slot.flags;
	out->rc_wc.bytes_transferred = slot.bytes;
	if (wc->status)
		return qp;
	if (slot.type == RI_WC_TYPE_DATA_RECEIVED)
		out->rc_wc.bytes_transferred = wc->byte_len;
	if (wc->wc_flags & IBV_WC_WITH_INV) {
		out->rc_wc.flags = (ri_wc_flags_t)(out->rc_wc.flags | RI_WC_FLAG_RTAG_INVALIDATE);
		out->rc_wc.invalidated_rtag = wc->invalidated_rkey;
	}
	return qp;
}

/* Finds room for one completion. Return: NULL if the CQ has no more entries, or without memory. */
static struct rnic_kept *kept_next(struct rnic_cq *cq)
{
	uint32_t max = cq->cq->cqe, room = cq->room ? 2 * cq->room : BATCH;
	struct rnic_kept *more;

	if (cq->end < cq->room)
		return &cq->kept[cq->end];
	if (cq->first) {
		memmove(cq->kept, cq->kept + cq->first, (cq->end - cq->first) * sizeof(*cq->kept));
		cq->end -= cq->first;
		cq->first = 0;
		return &cq->kept[cq->end];
	}
	room = room < max ? room : max;
	more = room > cq->room ? realloc(cq->kept, room * sizeof(*more)) : NULL;
	if (!more)
		return NULL;
	cq->kept = more;
	cq->room = room;
	return &cq->kept[cq->end];
}

static void keep(struct rnic_cq *cq, const struct ibv_wc *wc)
{
	const struct rnic_qp *qp;
	struct rnic_kept *kept;
	ri_wc_t out;

	qp = complete(cq, wc, &out);
	if (!qp)
		return;
	kept = kept_next(cq);
	if (kept) {
		*kept = (struct rnic_kept){ qp, out };
		cq->end++;
	} else {
		cq->overflowed = true;
	}
}

static void kept_free_if_empty(struct rnic_cq *cq)
{
	if (cq->first != cq->end)
		return;
	free(cq->kept);
	cq->kept = NULL;
	cq->first = cq->end = cq->room = 0;
}

static void kept_drop(struct rnic_cq *cq, const struct rnic_qp *gone)
{
	uint32_t from, to = cq->first;

	for (from = cq->first; from != cq->end; from++)
		if (cq->kept[from].qp != gone)
			cq->kept[to++] = cq->kept[from];
	cq->end = to;
	kept_free_if_empty(cq);
}

static uint_t kept_take(struct rnic_cq *cq, ri_wc_t *wcs, uint_t num)
{
	uint_t n = 0;

	while (n < num && cq->first != cq->end)
		wcs[n++] = cq->kept[cq->first++].wc;
	kept_free_if_empty(cq);
	return n;
}

/**
 * ri_cq_keep() - Take all completions from verbs, for the program to take them later
 * @cq: a CQ
 * @gone: a QP whose completions are discarded, dead; NULL: none
 *
 * A QP at rest then has none in verbs. The slots of its WRs are free.
 *
 * Context: any thread; takes poll_lock.
 */
void ri_cq_keep(struct rnic_cq *cq, const struct rnic_qp *gone)
{
	struct ibv_wc wc[BATCH];
	int n = BATCH, left, i;

	pthread_mutex_lock(&cq->poll_lock);
	/* of a QP at rest @cq has no more than it has entries; other QPs may go on to complete */
	for (left = cq->cq->cqe; left > 0 && n == BATCH; left -= n) {
		n = ibv_poll_cq(cq->cq, BATCH, wc);
		for (i = 0; i < n; i++)
			keep(cq, &wc[i]);
	}
	if (gone)
		kept_drop(cq, gone);
	pthread_mutex_unlock(&cq->poll_lock);
}

/* Under poll_lock. Return: RI_RET_SUCCESS, RI_RET_CQ_EMPTY or RI_RET_CQ_ERROR */
static ri_api_return_t poll_cq(struct rnic_cq *cq, ri_wc_t *wcs, uint_t *num)
{
	uint_t found = kept_take(cq, wcs, *num);
	struct ibv_wc wc[BATCH];
	int n = 1, i;

	/* completions of destroyed QPs do not count */
	while (n > 0 && !found) {
		n = ibv_poll_cq(cq->cq, *num < BATCH ? *num : BATCH, wc);
		for (i = 0; i < n; i++)
			found += !!complete(cq, &wc[i], &wcs[found]);
	}
	*num = found;
	if (n < 0)
		return RI_RET_CQ_ERROR;
	return found ? RI_RET_SUCCESS : RI_RET_CQ_EMPTY;
}

/**
 * ri_do_cq_poll() - Take completions from a CQ
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
	ri_api_return_t ret;
	struct rnic_cq *c = ri_enter(rnic, RI_KIND_CQ, cq, &ret);
	KEEP_ERRNO;

	if (!c)
		return ri_answer(err_data, ret);
	if (!wcs || !num_wcs || !*num_wcs) {
		ret = RI_RET_INVALID_PARAMETER;
	} else {
		pthread_mutex_lock(&c->poll_lock);
		ret = poll_cq(c, wcs, num_wcs);
		pthread_mutex_unlock(&c->poll_lock);
	}
	handle_leave(cq);
	return ri_answer(err_data, ret);
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
	struct rnic_cq *c = handle_enter(RI_KIND_CQ, cq, NULL, false);
	int fd = c ? c->channel->fd : -1;

	if (c)
		handle_leave(cq);
	return fd;
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
	struct rnic_cq *c = handle_enter(RI_KIND_CQ, cq, NULL, false);
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct ibv_cq *told;
	void *context;
	KEEP_ERRNO;

	if (!c)
		return ri_answer(err_data, RI_RET_CQ_INVALID_HANDLE);
	if (ibv_get_cq_event(c->channel, &told, &context))
		ret = RI_RET_CQ_EMPTY;
	else
		ibv_ack_cq_events(told, 1);
	handle_leave(cq);
	return ri_answer(err_data, ret);
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
	struct rnic_cq *c = handle_enter(RI_KIND_CQ, cq, NULL, false);
	struct ibv_cq *in_verbs = c ? c->cq : NULL;

	if (c)
		handle_leave(cq);
	return in_verbs;
}
