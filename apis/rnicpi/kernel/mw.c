// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory windows: the narrow ones; the RDMAC verbs have no others. */

#include <linux/slab.h>
#include "rnicpi/kernel/rnic.h"
#include "rnicpi/shared/memory.h"

/* Under ri_lock */
static int mw_new(struct rnic_mw *mw, struct rnic_pd *pd, ri_os_data_t os_data)
{
	int err;

	mw->pd = pd;
	mw->mw = srnic_native_mw_alloc(pd->pd);
	if (IS_ERR(mw->mw))
		return PTR_ERR(mw->mw);
	err = ri_enter(&mw->obj, RI_KIND_MW, pd->obj.rnic, os_data);
	if (err)
		srnic_native_mw_dealloc(mw->mw);
	else
		pd->obj.users++;
	return err;
}

/**
 * ri_do_mw_alloc - allocate a window
 * @rnic: an RNIC handle
 * @pd: a PD of @rnic
 * @mw_type: RI_MW_TYPE_NARROW
 * @mw: the window, not bound
 * @rtag: its STag, Invalid
 * @vp_data: ignored
 * @os_data: stored
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_PD_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_WINDOW_TYPE_UNSUPPORTED, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_mw_alloc(ri_rnic_handle_t rnic, ri_pd_handle_t pd, ri_mw_type_t mw_type,
			       ri_mw_handle_t *mw, ri_rtag_t *rtag, ri_vp_data_t vp_data,
			       ri_os_data_t os_data, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *p;
	struct rnic_mw *w;
	int err = 0;

	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	mutex_lock(&ri_lock);
	p = ri_find(rnic, RI_KIND_PD, pd, &ret);
	if (!ret && (!mw || !rtag))
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && mw_type != RI_MW_TYPE_NARROW)
		ret = RI_RET_WINDOW_TYPE_UNSUPPORTED;
	if (!ret)
		err = mw_new(w, to_pd(p), os_data);
	if (!ret && !err) {
		*mw = w->obj.handle;
		*rtag = w->mw->rkey;
	}
	mutex_unlock(&ri_lock);
	if (ret || err)
		kfree(w);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/**
 * ri_do_mw_query - query a window
 * @rnic: an RNIC handle
 * @mw: a window of @rnic
 * @mw_type: may be NULL, as the parameters below
 * @stag_state: valid if the window is bound
 * @pd: its PD
 * @attr: access rights of the bind
 * @rtag: its STag
 * @err_data: may be NULL
 *
 * Context: process. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE,
 * RI_RET_MW_INVALID_HANDLE
 */
ri_api_return_t ri_do_mw_query(ri_rnic_handle_t rnic, ri_mw_handle_t mw, ri_mw_type_t *mw_type,
			       ri_stag_state_t *stag_state, ri_pd_handle_t *pd,
			       ri_mem_attr_t *attr, ri_rtag_t *rtag, ri_err_data_t *err_data)
{
	struct srnic_native_stag is;
	ri_pd_handle_t of = NULL;
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_MW, mw, &ret);
	if (obj) {
		srnic_native_mw_query(to_mw(obj)->mw, &is);
		of = to_mw(obj)->pd->obj.handle;
	}
	rcu_read_unlock();
	if (ret)
		return ri_answer(err_data, ret);
	if (mw_type)
		*mw_type = RI_MW_TYPE_NARROW;
	if (stag_state)
		*stag_state = is.valid ? RI_STAG_STATE_VALID : RI_STAG_STATE_INVALID;
	if (pd)
		*pd = of;
	if (attr)
		*attr = ri_attr_of(is.rights);
	if (rtag)
		*rtag = is.stag;
	return ri_done(err_data);
}

/**
 * ri_mw_end - end a window, bound or not
 * @mw: nobody else knows it
 *
 * Context: takes ri_lock.
 */
void ri_mw_end(struct rnic_mw *mw)
{
	srnic_native_mw_dealloc(mw->mw);
	mutex_lock(&ri_lock);
	mw->pd->obj.users--;
	ri_leave(&mw->obj);
	mutex_unlock(&ri_lock);
}

/**
 * ri_do_mw_dealloc - free a window
 * @rnic: an RNIC handle
 * @mw: a window of @rnic
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MW_INVALID_HANDLE
 */
ri_api_return_t ri_do_mw_dealloc(ri_rnic_handle_t rnic, ri_mw_handle_t mw, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_hide(rnic, RI_KIND_MW, mw, RI_RET_FAIL, &ret);

	if (obj)
		ri_mw_end(to_mw(obj));
	return ri_answer(err_data, ret);
}
