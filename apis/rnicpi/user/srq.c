// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "qp.h"

static int set_limit(struct rnic_srq *srq, uint32_t lowat)
{
	struct ibv_srq_attr attr = { .srq_limit = ri_srq_limit(lowat, srq->ring.size) };
	int err = ibv_modify_srq(srq->srq, &attr, IBV_SRQ_LIMIT);

	if (!err)
		srq->lowat = lowat;
	return err;
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

/* Under ri_lock */
static void unlist(struct rnic_srq *srq)
{
	struct rnic_srq **p = &srq->rnic->srqs;

	while (*p != srq)
		p = &(*p)->next;
	*p = srq->next;
}

static int make_srq(struct rnic_srq *srq, ri_srq_attr_t *attrs)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = attrs->max_wrs, .max_sge = attrs->max_sgl },
	};
	int err;

	srq->srq = ibv_create_srq(srq->pd->pd, &init);
	if (!srq->srq)
		return errno;
	srq->max_sge = init.attr.max_sge;
	err = number_srq(srq);
	if (!err && !ri_srq_ring_init(&srq->ring, init.attr.max_wr))
		err = ENOMEM;
	if (!err && attrs->lowat)
		err = set_limit(srq, attrs->lowat);
	if (!err) {
		srq->handle = handle_new(RI_KIND_SRQ, srq);
		err = srq->handle ? 0 : ENOMEM;
	}
	if (err) {
		ibv_destroy_srq(srq->srq);
		return err;
	}
	attrs->max_wrs = init.attr.max_wr;
	attrs->max_sgl = init.attr.max_sge;
	attrs->srq_armed = attrs->lowat != 0;
	return 0;
}

/**
 * ri_do_srq_create() - ri_srq_create
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
	struct rnic *r = handle_object(RI_KIND_RNIC, rnic);
	struct ri_limits n;
	ri_api_return_t ret;
	struct rnic_srq *s;
	int err;
	KEEP_ERRNO;

	(void)vp_data;
	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (!srq_attrs || !srq)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	s = calloc(1, sizeof(*s));
	if (!s)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	s->rnic = r;
	s->os_data = os_data;
	pthread_mutex_lock(&ri_lock);
	s->pd = ri_find(rnic, RI_KIND_PD, srq_attrs->pd, &ret);
	n = ri_limits_of(r);
	if (!ret)
		ret = ri_check_srq(&n, srq_attrs);
	err = ret ? 0 : make_srq(s, srq_attrs);
	if (!ret && !err) {
		r->users++;
		s->pd->users++;
		s->next = r->srqs;
		r->srqs = s;
		*srq = s->handle;
	}
	pthread_mutex_unlock(&ri_lock);
	if (!ret && !err)
		return ri_done(err_data);
	ri_ring_free(&s->ring);
	free(s);
	return ret ? ri_answer(err_data, ret) : ri_failed(err_data, err, RI_RET_FAIL);
}

/**
 * ri_do_srq_query() - ri_srq_query
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
	struct srnic_uresp_srq_query native = { 0 };
	struct ibv_srq_attr attr;
	ri_api_return_t ret;
	struct rnic_srq *s = ri_find(rnic, RI_KIND_SRQ, srq, &ret);
	int err;
	KEEP_ERRNO;

	if (!ret && !srq_attrs)
		ret = RI_RET_INVALID_PARAMETER;
	if (ret)
		return ri_answer(err_data, ret);
	err = ibv_query_srq(s->srq, &attr);
	if (!err && s->rnic->native)
		err = srnicdv_query_srq(s->srq, &native, sizeof(native));
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	if (native.flags & SRNIC_SRQ_QUERY_BROKEN)
		return ri_answer(err_data, RI_RET_SRQ_IN_ERROR);
	*srq_attrs = (ri_srq_attr_t){
		.max_wrs = attr.max_wr,
		.max_sgl = attr.max_sge,
		.lowat = s->lowat,
		.pd = s->pd->handle,
		.srq_armed = s->rnic->native ? !!(native.flags & SRNIC_SRQ_QUERY_ARMED) :
					       attr.srq_limit != 0,
	};
	return ri_done(err_data);
}

/**
 * ri_do_srq_modify() - ri_srq_modify
 * @rnic: an RNIC handle
 * @srq: an SRQ of @rnic
 * @srqmask: RI_SRQ_ATTR_LOWAT, which is armed anew
 * @attrs: the new value
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_SRQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_SRQ_RESIZE_UNSUPPORTED, RI_RET_SRQ_LIMIT_OUT_OF_RANGE
 */
ri_api_return_t ri_do_srq_modify(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
				 ri_srq_attr_mask_t srqmask, ri_srq_attr_t *attrs,
				 ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_srq *s = ri_find(rnic, RI_KIND_SRQ, srq, &ret);
	int err;
	KEEP_ERRNO;

	if (!ret)
		ret = ri_check_srq_change(s->ring.size, srqmask, attrs);
	if (ret)
		return ri_answer(err_data, ret);
	err = set_limit(s, attrs->lowat);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_done(err_data);
}

/**
 * ri_do_srq_destroy() - ri_srq_destroy
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
	ri_api_return_t ret;
	struct rnic_srq *s;
	int err = 0;
	KEEP_ERRNO;

	pthread_mutex_lock(&ri_lock);
	s = ri_find(rnic, RI_KIND_SRQ, srq, &ret);
	if (!ret && s->users)
		ret = RI_RET_SRQ_INUSE;
	if (!ret)
		err = ibv_destroy_srq(s->srq);
	if (!ret && !err) {
		handle_free(srq);
		unlist(s);
		s->rnic->users--;
		s->pd->users--;
		ri_qp_forget(s->rnic, s);
		ri_ring_free(&s->ring);
		free(s);
	}
	pthread_mutex_unlock(&ri_lock);
	if (err)
		return ri_failed(err_data, err, RI_RET_SRQ_INUSE);
	return ri_answer(err_data, ret);
}
