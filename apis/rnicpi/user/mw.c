// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory windows: the narrow ones; the RDMAC verbs have no others. */
#include <errno.h>
#include <stdlib.h>
#include "rnic.h"
#include "rnicpi/shared/memory.h"


/**
 * ri_do_mw_alloc() - ri_mw_alloc
 * @rnic: an RNIC handle
 * @pd: a PD of @rnic
 * @mw_type: RI_MW_TYPE_NARROW; only programs of verbs can have wide ones
 * @mw: the window, not bound
 * @rtag: its STag, Invalid
 * @vp_data: ignored
 * @os_data: ignored
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_PD_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_WINDOW_TYPE_UNSUPPORTED, RI_RET_RESOURCE_SHORTAGE;
 * RI_RET_OP_UNSUPPORTED: the device has no windows
 */
ri_api_return_t ri_do_mw_alloc(ri_rnic_handle_t rnic, ri_pd_handle_t pd, ri_mw_type_t mw_type,
			       ri_mw_handle_t *mw, ri_rtag_t *rtag, ri_vp_data_t vp_data,
			       ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_mw *w = NULL;
	ri_api_return_t ret;
	struct rnic_pd *p;
	int err = 0;
	KEEP_ERRNO;

	(void)vp_data, (void)os_data;
	pthread_mutex_lock(&ri_lock);
	p = ri_find(rnic, RI_KIND_PD, pd, &ret);
	if (!ret && (!mw || !rtag))
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && mw_type != RI_MW_TYPE_NARROW)
		ret = RI_RET_WINDOW_TYPE_UNSUPPORTED;
	if (!ret) {
		w = calloc(1, sizeof(*w));
		err = w ? 0 : ENOMEM;
	}
	if (w) {
		*w = (struct rnic_mw){ .rnic = p->rnic, .pd = p };
		w->mw = ibv_alloc_mw(p->pd, IBV_MW_TYPE_2);
		err = w->mw ? 0 : errno;
	}
	if (w && !err) {
		*mw = handle_new(RI_KIND_MW, w);
		if (!*mw) {
			ibv_dealloc_mw(w->mw);
			err = ENOMEM;
		}
	}
	if (!ret && !err) {
		p->rnic->users++;
		p->users++;
		*rtag = w->mw->rkey;
	} else {
		free(w);
	}
	pthread_mutex_unlock(&ri_lock);
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	return ri_answer(err_data, ret);
}

/**
 * ri_do_mw_query() - ri_mw_query
 * @rnic: an RNIC handle
 * @mw: a window of @rnic
 * @mw_type: may be NULL, as the parameters below
 * @stag_state: valid if the window is bound
 * @pd: its PD
 * @attr: access rights of the bind
 * @rtag: its STag
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MW_INVALID_HANDLE;
 * RI_RET_OP_UNSUPPORTED: the device is not srnic
 */
ri_api_return_t ri_do_mw_query(ri_rnic_handle_t rnic, ri_mw_handle_t mw, ri_mw_type_t *mw_type,
			       ri_stag_state_t *stag_state, ri_pd_handle_t *pd,
			       ri_mem_attr_t *attr, ri_rtag_t *rtag, ri_err_data_t *err_data)
{
	struct srnic_uresp_mw_query resp;
	ri_api_return_t ret;
	struct rnic_mw *w = ri_find(rnic, RI_KIND_MW, mw, &ret);
	KEEP_ERRNO;

	if (!ret && !w->rnic->native)
		ret = RI_RET_OP_UNSUPPORTED;
	if (ret)
		return ri_answer(err_data, ret);
	if (srnicdv_query_mw(w->mw, &resp, sizeof(resp)))
		return ri_failed(err_data, errno, RI_RET_FAIL);
	if (mw_type)
		*mw_type = RI_MW_TYPE_NARROW;
	if (stag_state)
		*stag_state = resp.flags & SRNIC_STAG_VALID ? RI_STAG_STATE_VALID :
							      RI_STAG_STATE_INVALID;
	if (pd)
		*pd = w->pd->handle;
	if (attr)
		*attr = ri_attr_of(resp.rights);
	if (rtag)
		*rtag = resp.stag;
	return ri_done(err_data);
}

/**
 * ri_do_mw_dealloc() - ri_mw_dealloc
 * @rnic: an RNIC handle
 * @mw: a window of @rnic
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MW_INVALID_HANDLE
 */
ri_api_return_t ri_do_mw_dealloc(ri_rnic_handle_t rnic, ri_mw_handle_t mw, ri_err_data_t *err_data)
{
	struct rnic_mw *w;
	ri_api_return_t ret;
	int err = 0;
	KEEP_ERRNO;

	pthread_mutex_lock(&ri_lock);
	w = ri_find(rnic, RI_KIND_MW, mw, &ret);
	if (!ret)
		err = ibv_dealloc_mw(w->mw);
	if (!ret && !err) {
		handle_free(mw);
		w->rnic->users--;
		w->pd->users--;
		free(w);
	}
	pthread_mutex_unlock(&ri_lock);
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	return ri_answer(err_data, ret);
}
