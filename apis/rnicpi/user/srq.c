// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "qp.h"

/*
 * The SRQ is new, or its mutex is held. Sets what @mask says to that of @to, which then has the
 * actual size
 */
static int change(struct rnic_srq *srq, uint32_t mask, ri_srq_attr_t *to)
{
	const bool resize = mask & RI_SRQ_ATTR_MAX_WRS, arm = mask & RI_SRQ_ATTR_LOWAT;
	struct ibv_srq_attr attr = {
		.max_wr = to->max_wrs,
		.srq_limit = ri_srq_limit(to->lowat, to->max_wrs),
	};
	int err;

	if (resize && ri_srq_ring_grow(&srq->ring, attr.max_wr) < attr.max_wr)
		return ENOMEM;
	err = ibv_modify_srq(srq->srq, &attr, (resize ? IBV_SRQ_MAX_WR : 0) |
			     (arm ? IBV_SRQ_LIMIT : 0));
	if (err)
		return err;
	if (arm)
		srq->lowat = to->lowat;
	if (resize)
		srq->size = ri_srq_ring_grow(&srq->ring, attr.max_wr);
	to->max_wrs = srq->size;
	return 0;
}

static int number_srq(struct rnic_srq *srq)
{
	struct srnic_uresp_srq_query resp;
	int err;

	srq->number = srq->srq->handle;
	if (!srq->rnic->native)
		return 0;
	err = srnicdv_query_srq(srq->srq, &resp, sizeof(resp));
	if (!err)
		srq->number = resp.srqn;
	return err;
}

static void list(struct rnic_srq *srq)
{
	pthread_mutex_lock(&ri_lock);
	srq->next = srq->rnic->srqs;
	srq->rnic->srqs = srq;
	pthread_mutex_unlock(&ri_lock);
}

static void unlist(struct rnic_srq *srq)
{
	struct rnic_srq **p = &srq->rnic->srqs;

	pthread_mutex_lock(&ri_lock);
	while (*p != srq)
		p = &(*p)->next;
	*p = srq->next;
	pthread_mutex_unlock(&ri_lock);
}

static void use_parts(struct rnic_srq *srq, int n)
{
	ri_use(&srq->pd->users, n);
	ri_use(&srq->rnic->users, n);
}

static int make_srq(struct rnic_srq *srq, ri_srq_attr_t *made)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = made->max_wrs, .max_sge = made->max_sgl },
	};
	int err;

	srq->srq = ibv_create_srq(srq->pd->pd, &init);
	if (!srq->srq)
		return errno;
	srq->max_sge = init.attr.max_sge;
	srq->size = init.attr.max_wr;
	made->max_wrs = init.attr.max_wr;
	made->max_sgl = init.attr.max_sge;
	made->srq_armed = made->lowat != 0;
	err = number_srq(srq);
	if (!err && !ri_srq_ring_init(&srq->ring, srq->size))
		err = ENOMEM;
	if (!err && made->lowat)
		err = change(srq, RI_SRQ_ATTR_LOWAT, made);
	if (err)
		ibv_destroy_srq(srq->srq);
	return err;
}

static void srq_uninit(struct rnic_srq *srq)
{
	ri_ring_free(&srq->ring);
	pthread_mutex_destroy(&srq->mutex);
}

static int srq_new(struct rnic_srq *srq, ri_srq_attr_t *attrs, ri_srq_handle_t *handle)
{
	ri_srq_attr_t made = *attrs;
	int err = make_srq(srq, &made);

	if (err)
		return err;
	list(srq);
	use_parts(srq, 1);
	if (ri_new_handle(RI_KIND_SRQ, srq, handle)) {
		*attrs = made;
		return 0;
	}
	use_parts(srq, -1);
	unlist(srq);
	ibv_destroy_srq(srq->srq);
	return ENOMEM;
}

static ri_api_return_t create(ri_rnic_handle_t rnic, struct rnic *r, ri_srq_attr_t *attrs,
			      ri_srq_handle_t *handle, ri_os_data_t os_data,
			      ri_err_data_t *err_data)
{
	const struct ri_limits n = ri_limits_of(r);
	struct rnic_srq *srq = calloc(1, sizeof(*srq));
	const ri_pd_handle_t pd = attrs->pd;
	ri_api_return_t ret;
	int err = 0;

	if (!srq)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	srq->rnic = r;
	srq->os_data = os_data;
	pthread_mutex_init(&srq->mutex, NULL);
	srq->pd = ri_enter_more(rnic, RI_KIND_PD, pd, &ret);
	if (!ret)
		ret = ri_check_srq(&n, attrs);
	if (!ret)
		err = srq_new(srq, attrs, handle);
	if (srq->pd)
		handle_leave(pd);
	if (!ret && !err)
		return ri_done(err_data);
	srq_uninit(srq);
	free(srq);
	return ret ? ri_answer(err_data, ret) : ri_failed(err_data, err, RI_RET_FAIL);
}

/**
 * ri_do_srq_create() - Create an SRQ
 * @rnic: an RNIC handle
 * @srq_attrs: in: requested attributes; out: actual ones; a lowat other than 0 is armed
 * @srq: the SRQ
 * @vp_data: ignored
 * @os_data: returned by ri_qp_query()
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_PD_INVALID_HANDLE, RI_RET_SRQ_UNSUPPORTED, RI_RET_RNIC_WR_LIMIT_EXCEEDED,
 * RI_RET_RNIC_SG_LIMIT_EXCEEDED, RI_RET_SRQ_LIMIT_OUT_OF_RANGE, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_srq_create(ri_rnic_handle_t rnic, ri_srq_attr_t *srq_attrs,
				 ri_srq_handle_t *srq, ri_vp_data_t vp_data, ri_os_data_t os_data,
				 ri_err_data_t *err_data)
{
	struct rnic *r = ri_enter_rnic(rnic);
	ri_api_return_t ret;
	KEEP_ERRNO;

	(void)vp_data;
	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	ret = srq_attrs && srq ? create(rnic, r, srq_attrs, srq, os_data, err_data) :
				 ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	handle_leave(rnic);
	return ret;
}

/* Under the SRQ's mutex. All but whether it is armed */
static ri_srq_attr_t attrs_of(const struct rnic_srq *s)
{
	return (ri_srq_attr_t){
		.max_wrs = s->size,
		.max_sgl = s->max_sge,
		.lowat = s->lowat,
		.pd = s->pd->handle,
	};
}

/* Under the SRQ's mutex */
static ri_api_return_t query(struct rnic_srq *s, ri_srq_attr_t *attrs, ri_err_data_t *err_data)
{
	struct srnic_uresp_srq_query native = { 0 };
	struct ibv_srq_attr attr = { 0 };
	int err;

	err = s->rnic->native ? srnicdv_query_srq(s->srq, &native, sizeof(native)) :
				ibv_query_srq(s->srq, &attr);
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	if (native.flags & SRNIC_SRQ_QUERY_BROKEN)
		return ri_answer(err_data, RI_RET_SRQ_IN_ERROR);
	*attrs = attrs_of(s);
	attrs->srq_armed = native.flags & SRNIC_SRQ_QUERY_ARMED || attr.srq_limit;
	return ri_done(err_data);
}

/**
 * ri_do_srq_query() - Query an SRQ
 * @rnic: an RNIC handle
 * @srq: an SRQ of @rnic
 * @srq_attrs: all attributes
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_SRQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER; RI_RET_SRQ_IN_ERROR: the device takes no receives from it any more
 */
ri_api_return_t ri_do_srq_query(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
				ri_srq_attr_t *srq_attrs, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_srq *s = ri_enter(rnic, RI_KIND_SRQ, srq, &ret);
	KEEP_ERRNO;

	if (!s)
		return ri_answer(err_data, ret);
	if (srq_attrs) {
		pthread_mutex_lock(&s->mutex);
		ret = query(s, srq_attrs, err_data);
		pthread_mutex_unlock(&s->mutex);
	} else {
		ret = ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	}
	handle_leave(srq);
	return ret;
}

/* Under the SRQ's mutex */
static ri_api_return_t modify(struct rnic_srq *s, uint32_t mask, ri_srq_attr_t *attrs,
			      ri_err_data_t *err_data)
{
	const struct ri_limits n = ri_limits_of(s->rnic);
	ri_srq_attr_t is = attrs_of(s);
	ri_api_return_t ret;
	int err;

	/* another device is not resized, so whether it is armed does not count */
	ret = s->rnic->native ? query(s, &is, err_data) : RI_RET_SUCCESS;
	if (ret)
		return ret;
	ret = ri_change_srq(&n, &is, &mask, attrs);
	if (ret)
		return ri_answer(err_data, ret);
	err = change(s, mask, &is);
	/* all else is checked: more WRs are outstanding */
	if (err == EINVAL && mask & RI_SRQ_ATTR_MAX_WRS)
		return ri_answer(err_data, RI_RET_SRQ_CANNOT_SHRINK);
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	*attrs = is;
	return ri_done(err_data);
}

/**
 * ri_do_srq_modify() - Resize an SRQ, and set its low water mark
 * @rnic: an RNIC handle
 * @srq: an SRQ of @rnic
 * @srqmask: RI_SRQ_ATTR_MAX_WRS; RI_SRQ_ATTR_LOWAT, which is armed anew unless it is 0
 * @attrs: in: the new values; out: all actual attributes
 * @err_data: may be NULL
 *
 * WRs that are outstanding stay, and both attributes change or none.
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_SRQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_SRQ_LIMIT_OUT_OF_RANGE,
 * RI_RET_SRQ_IN_ERROR, RI_RET_RESOURCE_SHORTAGE; RI_RET_SRQ_CANNOT_SHRINK: more WRs are
 * outstanding; RI_RET_SRQ_RESIZE_UNSUPPORTED: the device resizes no queues
 */
ri_api_return_t ri_do_srq_modify(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
				 ri_srq_attr_mask_t srqmask, ri_srq_attr_t *attrs,
				 ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_srq *s = ri_enter(rnic, RI_KIND_SRQ, srq, &ret);
	KEEP_ERRNO;

	if (!s)
		return ri_answer(err_data, ret);
	pthread_mutex_lock(&s->mutex);
	ret = modify(s, srqmask, attrs, err_data);
	pthread_mutex_unlock(&s->mutex);
	handle_leave(srq);
	return ret;
}

/**
 * ri_srq_end() - End an SRQ except its memory
 * @srq: the caller's alone
 *
 * Context: any thread; sleeps.
 * Return: 0, an errno or RI_IN_USE.
 */
int ri_srq_end(void *srq)
{
	struct rnic_srq *s = srq;
	int err = ri_is_used(&s->users) ? RI_IN_USE : ibv_destroy_srq(s->srq);

	if (err)
		return err;
	unlist(s);
	srq_uninit(s);
	use_parts(s, -1);
	return 0;
}

/**
 * ri_do_srq_destroy() - Destroy an SRQ
 * @rnic: an RNIC handle
 * @srq: an SRQ of @rnic that no QP uses
 * @err_data: may be NULL
 *
 * Posted WRs get no completion.
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_SRQ_INVALID_HANDLE,
 * RI_RET_SRQ_INUSE
 */
ri_api_return_t ri_do_srq_destroy(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
				  ri_err_data_t *err_data)
{
	return ri_end(rnic, RI_KIND_SRQ, srq, ri_srq_end, RI_RET_SRQ_INUSE, err_data);
}
