// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory windows: the narrow ones; the RDMAC verbs have no others. */
#include <errno.h>
#include <stdlib.h>
#include "rnic.h"
#include "rnicpi/shared/memory.h"

static void use_parts(struct rnic_mw *mw, int n)
{
	ri_use(&mw->pd->users, n);
	ri_use(&mw->rnic->users, n);
}

static int mw_new(struct rnic_pd *pd, ri_mw_handle_t *handle, ri_rtag_t *rtag)
{
	struct rnic_mw *mw = calloc(1, sizeof(*mw));
	int err;

	if (!mw)
		return ENOMEM;
	*mw = (struct rnic_mw){ .rnic = pd->rnic, .pd = pd };
	mw->mw = ibv_alloc_mw(pd->pd, IBV_MW_TYPE_2);
	err = mw->mw ? 0 : errno;
	if (!err) {
		use_parts(mw, 1);
		if (ri_new_handle(RI_KIND_MW, mw, handle)) {
			*rtag = mw->mw->rkey;
			return 0;
		}
		use_parts(mw, -1);
		ibv_dealloc_mw(mw->mw);
		err = ENOMEM;
	}
	free(mw);
	return err;
}

/**
 * ri_do_mw_alloc() - Allocate a window
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
	ri_api_return_t ret;
	struct rnic_pd *p = ri_enter(rnic, RI_KIND_PD, pd, &ret);
	int err = 0;
	KEEP_ERRNO;

	(void)vp_data, (void)os_data;
	if (!p)
		return ri_answer(err_data, ret);
	if (!mw || !rtag)
		ret = RI_RET_INVALID_PARAMETER;
	else if (mw_type != RI_MW_TYPE_NARROW)
		ret = RI_RET_WINDOW_TYPE_UNSUPPORTED;
	else
		err = mw_new(p, mw, rtag);
	handle_leave(pd);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/**
 * ri_do_mw_query() - Query a window
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
	struct rnic_mw *w = ri_enter(rnic, RI_KIND_MW, mw, &ret);
	ri_pd_handle_t of;
	int err = 0;
	KEEP_ERRNO;

	if (!w)
		return ri_answer(err_data, ret);
	of = w->pd->handle;
	if (!w->rnic->native)
		ret = RI_RET_OP_UNSUPPORTED;
	else if (srnicdv_query_mw(w->mw, &resp, sizeof(resp)))
		err = errno;
	handle_leave(mw);
	if (ret || err)
		return ret ? ri_answer(err_data, ret) : ri_failed(err_data, err, RI_RET_FAIL);
	if (mw_type)
		*mw_type = RI_MW_TYPE_NARROW;
	if (stag_state)
		*stag_state = resp.flags & SRNIC_STAG_VALID ? RI_STAG_STATE_VALID :
							      RI_STAG_STATE_INVALID;
	if (pd)
		*pd = of;
	if (attr)
		*attr = ri_attr_of(resp.rights);
	if (rtag)
		*rtag = resp.stag;
	return ri_done(err_data);
}

/**
 * ri_mw_end() - End a window except its memory
 * @mw: the caller's alone
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_mw_end(void *mw)
{
	struct rnic_mw *w = mw;
	int err = ibv_dealloc_mw(w->mw);

	if (err)
		return err;
	use_parts(w, -1);
	return 0;
}

/**
 * ri_do_mw_dealloc() - Free a window
 * @rnic: an RNIC handle
 * @mw: a window of @rnic
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MW_INVALID_HANDLE
 */
ri_api_return_t ri_do_mw_dealloc(ri_rnic_handle_t rnic, ri_mw_handle_t mw, ri_err_data_t *err_data)
{
	return ri_end(rnic, RI_KIND_MW, mw, ri_mw_end, RI_RET_FAIL, err_data);
}
