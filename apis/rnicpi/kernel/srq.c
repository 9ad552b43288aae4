// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Shared receive queues. */

#include <linux/slab.h>
#include "rnicpi/kernel/rnic.h"

/* Under ri_lock. Sets what @mask says to that of @to, which then has the actual size */
static int change(struct rnic_srq *srq, u32 mask, ri_srq_attr_t *to)
{
	const bool resize = mask & RI_SRQ_ATTR_MAX_WRS, arm = mask & RI_SRQ_ATTR_LOWAT;
	struct ib_srq_attr attr = {
		.max_wr = to->max_wrs,
		.srq_limit = ri_srq_limit(to->lowat, to->max_wrs),
	};
	int err = ib_modify_srq(srq->srq, &attr, (resize ? IB_SRQ_MAX_WR : 0) |
				(arm ? IB_SRQ_LIMIT : 0));

	if (err)
		return err;
	if (arm)
		srq->lowat = to->lowat;
	if (resize)
		srq->size = attr.max_wr;
	to->max_wrs = srq->size;
	return 0;
}

/* Under ri_lock */
static int srq_new(struct rnic *rnic, struct rnic_srq *srq, ri_srq_attr_t *attrs,
		   ri_os_data_t os_data)
{
	struct ib_srq_init_attr init = {
		.event_handler = ri_srq_event,
		.srq_context = srq,
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = attrs->max_wrs, .max_sge = max(attrs->max_sgl, 1U) },
	};
	ri_srq_attr_t made = *attrs;
	int err = 0;

	srq->srq = ib_create_srq(srq->pd->pd, &init);
	if (IS_ERR(srq->srq))
		return PTR_ERR(srq->srq);
	srq->size = init.attr.max_wr;
	srq->max_sge = init.attr.max_sge;
	made.max_wrs = init.attr.max_wr;
	made.max_sgl = init.attr.max_sge;
	made.srq_armed = made.lowat != 0;
	if (made.lowat)
		err = change(srq, RI_SRQ_ATTR_LOWAT, &made);
	if (!err)
		err = ri_enter(&srq->obj, RI_KIND_SRQ, rnic, os_data);
	if (err) {
		ib_destroy_srq(srq->srq);
		return err;
	}
	srq->pd->obj.users++;
	*attrs = made;
	return 0;
}

/**
 * ri_do_srq_create - create an SRQ
 * @rnic: an RNIC handle
 * @srq_attrs: in: requested attributes; out: actual ones; a lowat other than 0 is armed
 * @srq: the SRQ
 * @vp_data: ignored
 * @os_data: returned in each event and by ri_qp_query()
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_PD_INVALID_HANDLE, RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_RNIC_SG_LIMIT_EXCEEDED,
 * RI_RET_SRQ_LIMIT_OUT_OF_RANGE, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_srq_create(ri_rnic_handle_t rnic, ri_srq_attr_t *srq_attrs,
				 ri_srq_handle_t *srq, ri_vp_data_t vp_data, ri_os_data_t os_data,
				 ri_err_data_t *err_data)
{
	struct ri_limits n;
	ri_api_return_t ret;
	struct rnic_obj *pd = NULL;
	struct rnic_srq *s;
	int err = 0;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	mutex_lock(&ri_lock);
	if (!ri_look_up(RI_KIND_RNIC, rnic))
		ret = RI_RET_RNIC_INVALID_HANDLE;
	else if (!srq_attrs || !srq)
		ret = RI_RET_INVALID_PARAMETER;
	else
		pd = ri_find(rnic, RI_KIND_PD, srq_attrs->pd, &ret);
	if (!ret) {
		n = ri_limits_of(pd->rnic);
		ret = ri_check_srq(&n, srq_attrs);
	}
	if (!ret) {
		s->pd = to_pd(pd);
		err = srq_new(pd->rnic, s, srq_attrs, os_data);
	}
	if (!ret && !err)
		*srq = s->obj.handle;
	mutex_unlock(&ri_lock);
	if (ret || err)
		kfree(s);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/* Return: RI_RET_SRQ_IN_ERROR if the device takes no receives from it any more */
static ri_api_return_t look(struct rnic_srq *srq, ri_srq_attr_t *a)
{
	bool armed;

	if (srnic_native_srq_query(srq->srq, &armed))
		return RI_RET_SRQ_IN_ERROR;
	*a = (ri_srq_attr_t){
		.max_wrs = srq->size,
		.max_sgl = srq->max_sge,
		.lowat = srq->lowat,
		.pd = srq->pd->obj.handle,
		.srq_armed = armed,
	};
	return RI_RET_SUCCESS;
}

/**
 * ri_do_srq_query - query an SRQ
 * @rnic: an RNIC handle
 * @srq: an SRQ of @rnic
 * @srq_attrs: all attributes
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE,
 * RI_RET_SRQ_INVALID_HANDLE, RI_RET_INVALID_PARAMETER, RI_RET_SRQ_IN_ERROR
 */
ri_api_return_t ri_do_srq_query(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
				ri_srq_attr_t *srq_attrs, ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	mutex_lock(&ri_lock);
	obj = ri_find(rnic, RI_KIND_SRQ, srq, &ret);
	if (!ret)
		ret = srq_attrs ? look(to_srq(obj), srq_attrs) : RI_RET_INVALID_PARAMETER;
	mutex_unlock(&ri_lock);
	return ri_answer(err_data, ret);
}

/* Under ri_lock */
static ri_api_return_t modify(struct rnic_srq *srq, u32 mask, ri_srq_attr_t *attrs,
			      ri_err_data_t *err_data)
{
	const struct ri_limits n = ri_limits_of(srq->obj.rnic);
	ri_srq_attr_t is;
	ri_api_return_t ret = look(srq, &is);
	int err;

	if (!ret)
		ret = ri_change_srq(&n, &is, &mask, attrs);
	if (ret)
		return ri_answer(err_data, ret);
	err = change(srq, mask, &is);
	/* all else is checked: more WRs are outstanding */
	if (err == -EINVAL && mask & RI_SRQ_ATTR_MAX_WRS)
		return ri_answer(err_data, RI_RET_SRQ_CANNOT_SHRINK);
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	*attrs = is;
	return ri_done(err_data);
}

/**
 * ri_do_srq_modify - resize an SRQ, and set its low water mark
 * @rnic: an RNIC handle
 * @srq: an SRQ of @rnic
 * @srqmask: RI_SRQ_ATTR_MAX_WRS; RI_SRQ_ATTR_LOWAT, which is armed anew unless it is 0
 * @attrs: in: the new values; out: all actual attributes
 * @err_data: may be NULL
 *
 * WRs that are outstanding stay, and both attributes change or none.
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE,
 * RI_RET_SRQ_INVALID_HANDLE, RI_RET_INVALID_PARAMETER, RI_RET_RNIC_WR_LIMIT_EXCEEDED,
 * RI_RET_SRQ_LIMIT_OUT_OF_RANGE, RI_RET_SRQ_IN_ERROR, RI_RET_RESOURCE_SHORTAGE;
 * RI_RET_SRQ_CANNOT_SHRINK: more WRs are outstanding
 */
ri_api_return_t ri_do_srq_modify(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
				 ri_srq_attr_mask_t srqmask, ri_srq_attr_t *attrs,
				 ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	mutex_lock(&ri_lock);
	obj = ri_find(rnic, RI_KIND_SRQ, srq, &ret);
	ret = ret ? ri_answer(err_data, ret) : modify(to_srq(obj), srqmask, attrs, err_data);
	mutex_unlock(&ri_lock);
	return ret;
}

/**
 * ri_srq_end - end an SRQ
 * @srq: without users; nobody else knows it
 *
 * None of its events is reported after this (RI-37). Context: takes ri_lock.
 */
void ri_srq_end(struct rnic_srq *srq)
{
	ib_destroy_srq(srq->srq);
	ri_upcall_end(srq->obj.rnic->vp, &srq->obj);
	mutex_lock(&ri_lock);
	srq->pd->obj.users--;
	ri_leave(&srq->obj);
	mutex_unlock(&ri_lock);
}

/**
 * ri_do_srq_destroy - destroy an SRQ
 * @rnic: an RNIC handle
 * @srq: an SRQ of @rnic that no QP uses
 * @err_data: may be NULL
 *
 * Posted WRs get no completion. Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_SRQ_INVALID_HANDLE,
 * RI_RET_SRQ_INUSE
 */
ri_api_return_t ri_do_srq_destroy(ri_rnic_handle_t rnic, ri_srq_handle_t srq,
				  ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_hide(rnic, RI_KIND_SRQ, srq, RI_RET_SRQ_INUSE, &ret);

	if (obj)
		ri_srq_end(to_srq(obj));
	return ri_answer(err_data, ret);
}
