// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory regions. LTag and RTag are one STag on iWARP (5.1). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "rnic.h"
#include "rnicpi/shared/memory.h"

static void use_parts(struct rnic_mr *mr, int n)
{
	ri_use(&mr->pd->users, n);
	ri_use(&mr->rnic->users, n);
}

/*
 * The STag's key is the program's if it says so. Without RI_RNIC_EXT_INDEX_KEY_SPLIT, which srnic
 * has, that is ignored (L3616). Return: 0 or an errno.
 */
static int own_key(const struct rnic_mr *mr, const ri_ltag_t *ltag)
{
	if (!mr->rnic->native || !(mr->attr.mem_attr & RI_MEM_FLAGS_CONSUMER_OWNS_KEY))
		return 0;
	return srnicdv_set_mr_key(mr->mr, (uint8_t)*ltag);
}

static int mr_new(struct rnic_mr *mr, struct rnic_mr *source, const ri_ltag_t *ltag,
		  ri_mr_handle_t *handle)
{
	const ri_mr_reg_attr_t *attr = &mr->attr;
	int access = ri_access_of(attr->mem_attr), err;

	mr->mr = source ? srnicdv_reg_shared_mr(mr->pd->pd, source->mr, attr->va, access) :
			  ibv_reg_mr(mr->pd->pd, (void *)(uintptr_t)attr->va, attr->length, access);
	if (!mr->mr)
		return errno;
	err = own_key(mr, ltag);
	if (!err) {
		use_parts(mr, 1);
		if (ri_new_handle(RI_KIND_MR, mr, handle))
			return 0;
		use_parts(mr, -1);
		err = ENOMEM;
	}
	ibv_dereg_mr(mr->mr);
	return err;
}

static ri_api_return_t make_mr(ri_rnic_handle_t rnic, const ri_mr_reg_attr_t *attr,
			       struct rnic_mr *source, ri_mr_handle_t *mr, ri_ltag_t *ltag,
			       ri_rtag_t *rtag, ri_err_data_t *err_data)
{
	const ri_pd_handle_t of = attr->pd;
	ri_api_return_t ret;
	struct rnic_pd *pd = ri_enter_more(rnic, RI_KIND_PD, of, &ret);
	struct rnic_mr *m;
	int err = ENOMEM;

	if (!pd)
		return ri_answer(err_data, ret);
	m = calloc(1, sizeof(*m));
	if (m) {
		*m = (struct rnic_mr){ .rnic = pd->rnic, .pd = pd, .attr = *attr, .shared = source };
		err = mr_new(m, source, ltag, mr);
	}
	if (!err)
		ri_tell_tags(m->mr->lkey, ltag, rtag);
	handle_leave(of);
	if (!err)
		return ri_done(err_data);
	free(m);
	return ri_memory_failed(err_data, err, RI_RET_FAIL);
}

/**
 * ri_do_mr_reg() - Register memory
 * @rnic: an RNIC handle
 * @mr_reg_attr: memory of the caller, rights, PD
 * @mr: the region
 * @ltag: in: with RI_MEM_FLAGS_CONSUMER_OWNS_KEY its key is the STag's key; out: the STag
 * @rtag: the same STag; may be NULL only for regions without remote rights
 * @vp_data: ignored
 * @os_data: ignored
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_PD_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_MEM_INVALID_LENGTH, RI_RET_MEM_INVALID_ACCESS,
 * RI_RET_MEM_INVALID_ADDRESS, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_mr_reg(ri_rnic_handle_t rnic, const ri_mr_reg_attr_t *mr_reg_attr,
			     ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
			     ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic *r = ri_enter_rnic(rnic);
	ri_api_return_t ret = RI_RET_SUCCESS;
	KEEP_ERRNO;

	(void)vp_data, (void)os_data;
	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (!mr_reg_attr || !mr || !ltag)
		ret = RI_RET_INVALID_PARAMETER;
	if (!ret)
		ret = ri_check_attr(mr_reg_attr->mem_attr, rtag);
	if (!ret)
		ret = ri_check_range(mr_reg_attr->va, mr_reg_attr->length, r->attr.max_mr_size);
	ret = ret ? ri_answer(err_data, ret) :
		    make_mr(rnic, mr_reg_attr, NULL, mr, ltag, rtag, err_data);
	handle_leave(rnic);
	return ret;
}

/**
 * ri_do_mr_reg_shared() - Register the memory of a region as another region
 * @rnic: an RNIC handle
 * @in_mr: a region of @rnic
 * @mr_reg_attr: TO, rights and PD of the new region; its length becomes that of @in_mr
 * @out_mr: a region with the same memory; both stay shared
 * @ltag: as ri_do_mr_reg()
 * @rtag: the same STag; may be NULL only for regions without remote rights
 * @vp_data: ignored
 * @os_data: ignored
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: as ri_do_mr_reg(), and RI_RET_MR_INVALID_HANDLE; RI_RET_OP_UNSUPPORTED: the
 * device is not srnic
 */
ri_api_return_t ri_do_mr_reg_shared(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
				    ri_mr_reg_attr_t *mr_reg_attr, ri_mr_handle_t *out_mr,
				    ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
				    ri_os_data_t os_data, ri_err_data_t *err_data)
{
	ri_mr_reg_attr_t attr;
	struct rnic_mr *m;
	ri_api_return_t ret;
	KEEP_ERRNO;

	(void)vp_data, (void)os_data;
	m = ri_enter(rnic, RI_KIND_MR, in_mr, &ret);
	if (!m)
		return ri_answer(err_data, ret);
	if (!mr_reg_attr || !out_mr || !ltag)
		ret = RI_RET_INVALID_PARAMETER;
	if (!ret)
		ret = ri_check_attr(mr_reg_attr->mem_attr, rtag);
	if (!ret && !m->rnic->native)
		ret = RI_RET_OP_UNSUPPORTED;
	if (ret) {
		ri_answer(err_data, ret);
	} else {
		attr = *mr_reg_attr;
		attr.length = m->attr.length;
		attr.mem_attr = ri_shared_attr(attr.mem_attr, m->attr.mem_attr);
		ret = make_mr(rnic, &attr, m, out_mr, ltag, rtag, err_data);
		if (!ret) {
			*mr_reg_attr = attr;
			__atomic_store_n(&m->shared, true, __ATOMIC_RELAXED);
		}
	}
	handle_leave(in_mr);
	return ret;
}

static int look(struct rnic_mr *m, ri_mr_info_t *info)
{
	struct srnic_uresp_mr_query resp;

	*info = (ri_mr_info_t){
		.attr = m->attr,
		.ltag = m->mr->lkey,
		.rtag = m->mr->rkey,
		.is_shared_region = __atomic_load_n(&m->shared, __ATOMIC_RELAXED),
		.local_lb = m->attr.va,
		.local_ub = m->attr.va + m->attr.length,
		.stag_state = RI_STAG_STATE_VALID,
	};
	if (m->rnic->native) {
		if (srnicdv_query_mr(m->mr, &resp, sizeof(resp)))
			return errno;
		info->ltag = info->rtag = resp.stag;
		info->attr.mem_attr = (ri_mem_attr_t)(ri_attr_of(resp.rights) |
						      (m->attr.mem_attr & RI_MEM_KEPT));
		info->is_shared_region = !!(resp.flags & SRNIC_STAG_SHARED);
		info->local_lb = resp.base;
		info->local_ub = resp.base + resp.length;
		if (!(resp.flags & SRNIC_STAG_VALID))
			info->stag_state = RI_STAG_STATE_INVALID;
	}
	info->attr.mem_attr = (ri_mem_attr_t)(info->attr.mem_attr | RI_MEM_FLAGS_LOCAL_READ);
	if (info->attr.mem_attr & RI_MEM_FLAGS_REMOTE) {
		info->remote_lb = info->local_lb;
		info->remote_ub = info->local_ub;
	}
	return 0;
}

/**
 * ri_do_mr_query() - Query a region
 * @rnic: an RNIC handle
 * @mr: a region of @rnic
 * @mr_info: filled in
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MR_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER
 */
ri_api_return_t ri_do_mr_query(ri_rnic_handle_t rnic, ri_mr_handle_t mr, ri_mr_info_t *mr_info,
			       ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_mr *m = ri_enter(rnic, RI_KIND_MR, mr, &ret);
	int err = 0;
	KEEP_ERRNO;

	if (!m)
		return ri_answer(err_data, ret);
	if (mr_info)
		err = look(m, mr_info);
	else
		ret = RI_RET_INVALID_PARAMETER;
	handle_leave(mr);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/* --- rereg and dereg --- */

/* @pd: of @a with RI_MR_REREG_PD, else that of @m */
static ri_api_return_t rereg(struct rnic_mr *m, ri_mr_rereg_t mask, struct rnic_pd *pd,
			     const ri_mr_reg_attr_t *a, const ri_ltag_t *ltag,
			     ri_err_data_t *err_data)
{
	int flags = (mask & RI_MR_REREG_TRANSLATE ? IBV_REREG_MR_CHANGE_TRANSLATION : 0) |
		    (mask & RI_MR_REREG_PD ? IBV_REREG_MR_CHANGE_PD : 0) |
		    (mask & RI_MR_REREG_ACCESS ? IBV_REREG_MR_CHANGE_ACCESS : 0);
	int ret;

	ret = ibv_rereg_mr(m->mr, flags, pd->pd, (void *)(uintptr_t)a->va, a->length,
			   mask & RI_MR_REREG_ACCESS ? ri_access_of(a->mem_attr) : 0);
	/* after EINVAL the region is as it was */
	if (ret)
		return errno == EINVAL ? ri_failed(err_data, errno, RI_RET_WINDOWS_BOUND) :
					 ri_memory_failed(err_data, errno, RI_RET_WINDOWS_BOUND);
	ri_use(&pd->users, 1);
	ri_use(&m->pd->users, -1);
	m->pd = pd;
	if (mask & RI_MR_REREG_PD)
		m->attr.pd = a->pd;
	if (mask & RI_MR_REREG_ACCESS)
		m->attr.mem_attr = a->mem_attr;
	if (mask & RI_MR_REREG_TRANSLATE) {
		m->attr.va = a->va;
		m->attr.length = a->length;
	}
	ret = own_key(m, ltag);
	if (!ret)
		return ri_done(err_data);
	/* something has changed, so not one of the codes of ri_leaves_mr(), whatever the errno is */
	ri_failed(err_data, ret, RI_RET_FAIL);
	return RI_RET_FAIL;
}

static ri_api_return_t enter_pd_and_rereg(ri_rnic_handle_t rnic, struct rnic_mr *m,
					  ri_mr_rereg_t mask, const ri_mr_reg_attr_t *a,
					  const ri_ltag_t *ltag, ri_err_data_t *err_data)
{
	const ri_pd_handle_t of = a->pd;
	struct rnic_pd *pd;
	ri_api_return_t ret;

	if (!(mask & RI_MR_REREG_PD))
		return rereg(m, mask, m->pd, a, ltag, err_data);
	pd = ri_enter_more(rnic, RI_KIND_PD, of, &ret);
	if (!pd)
		return ri_answer(err_data, ret);
	ret = rereg(m, mask, pd, a, ltag, err_data);
	handle_leave(of);
	return ret;
}

/* After most errors the old region is gone (L3782), except if windows are bound to it */
static ri_api_return_t end_of_rereg(struct rnic_mr *m, ri_mr_handle_t in, ri_api_return_t ret,
				    ri_err_data_t *err_data)
{
	int err = ri_leaves_mr(ret) ? 0 : ri_mr_end(m);

	if (ri_leaves_mr(ret) || err) {
		handle_reopen(in);
		return err ? ri_failed(err_data, err, RI_RET_WINDOWS_BOUND) : ret;
	}
	handle_free(in);
	free(m);
	return ret;
}

/**
 * ri_do_mr_rereg() - Register a region anew
 * @rnic: an RNIC handle
 * @in_mr: a region of @rnic
 * @change_mask: RI_MR_REREG_*: which fields of @mr_attr are valid
 * @mr_attr: the new attributes
 * @out_mr: the region, which is @in_mr
 * @ltag: as ri_do_mr_reg(); the STag stays the same but for its key
 * @rtag: the same STag; may be NULL only for regions without remote rights
 * @vp_data: ignored
 * @os_data: ignored
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MR_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_WINDOWS_BOUND: nothing has changed;
 * RI_RET_MEM_INVALID_ACCESS, RI_RET_MEM_INVALID_LENGTH, RI_RET_PD_INVALID_HANDLE,
 * RI_RET_MEM_INVALID_ADDRESS, RI_RET_OP_UNSUPPORTED, RI_RET_RESOURCE_SHORTAGE: the region is gone
 */
ri_api_return_t ri_do_mr_rereg(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
			       ri_mr_rereg_t change_mask, const ri_mr_reg_attr_t *mr_attr,
			       ri_mr_handle_t *out_mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
			       ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	uint32_t all = RI_MR_REREG_TRANSLATE | RI_MR_REREG_PD | RI_MR_REREG_ACCESS;
	struct rnic_mr *m;
	ri_api_return_t ret;
	KEEP_ERRNO;

	(void)vp_data, (void)os_data;
	m = ri_close(rnic, RI_KIND_MR, in_mr, &ret);
	if (!m)
		return ri_answer(err_data, ret);
	if (!mr_attr || !out_mr || !ltag || !change_mask || change_mask & ~all)
		ret = RI_RET_INVALID_PARAMETER;
	if (!ret && change_mask & RI_MR_REREG_ACCESS)
		ret = ri_check_attr(mr_attr->mem_attr, rtag);
	if (!ret && change_mask & RI_MR_REREG_TRANSLATE)
		ret = ri_check_range(mr_attr->va, mr_attr->length, m->rnic->attr.max_mr_size);
	if (ret) {
		ri_answer(err_data, ret);
	} else {
		ret = enter_pd_and_rereg(rnic, m, change_mask, mr_attr, ltag, err_data);
		if (!ret) {
			*out_mr = in_mr;
			ri_tell_tags(m->mr->lkey, ltag, rtag);
		}
	}
	return end_of_rereg(m, in_mr, ret, err_data);
}

/**
 * ri_mr_end() - End a region except its memory
 * @mr: the caller's alone
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_mr_end(void *mr)
{
	struct rnic_mr *m = mr;
	int err = ibv_dereg_mr(m->mr);

	if (!err)
		use_parts(m, -1);
	return err;
}

/**
 * ri_do_mr_dereg() - Deregister a region
 * @rnic: an RNIC handle
 * @mr: a region of @rnic
 * @err_data: may be NULL
 *
 * No peer or QP accesses the memory through the region after this.
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MR_INVALID_HANDLE,
 * RI_RET_WINDOWS_BOUND
 */
ri_api_return_t ri_do_mr_dereg(ri_rnic_handle_t rnic, ri_mr_handle_t mr, ri_err_data_t *err_data)
{
	return ri_end(rnic, RI_KIND_MR, mr, ri_mr_end, RI_RET_WINDOWS_BOUND, err_data);
}
