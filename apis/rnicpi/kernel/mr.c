// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory regions: of kernel memory, of physical buffers, without memory (for fast-register
 * WRs), and shared with another region. LTag and RTag are one STag on iWARP (5.1).
 */

#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "rnicpi/kernel/rnic.h"
#include "rnicpi/shared/memory.h"
#include "srnic.h"

#define ALL	(RI_MR_REREG_TRANSLATE | RI_MR_REREG_PD | RI_MR_REREG_ACCESS)

/**
 * struct memory - memory for a new region
 * @phys: a list of physical buffers, or NULL
 * @from: a region that has the memory, or NULL. Without @phys and @from it is that at @va
 * @va: kernel address
 * @length: bytes
 */
struct memory {
	const ri_mr_reg_phys_attr_t *phys;
	struct ib_mr *from;
	u64 va;
	u64 length;
};

/* ----- kernel memory ----- */

/* vmalloc memory is listed by pages; other memory is contiguous: one or two larger blocks */
static u32 shift_of(const struct memory *mem)
{
	if (is_vmalloc_addr((void *)(uintptr_t)mem->va))
		return PAGE_SHIFT;
	return clamp_t(u32, fls64(mem->length - 1), PAGE_SHIFT, 30);
}

static u64 blocks_of_va(const struct memory *mem)
{
	u32 shift = shift_of(mem);

	return ((mem->va + mem->length - 1) >> shift) - (mem->va >> shift) + 1;
}

/* The linear address: it stays valid when a vmalloc mapping is removed */
static u64 linear(u64 va)
{
	void *at = (void *)(uintptr_t)va;

	return is_vmalloc_addr(at) ? (uintptr_t)page_address(vmalloc_to_page(at)) : va;
}

static void list_va(struct ib_mr *mr, const struct memory *mem)
{
	u32 shift = shift_of(mem);
	u64 at = mem->va & ~(BIT_ULL(shift) - 1);

	srnic_native_mr_begin(mr, BIT(shift), mem->va - at);
	for (; at < mem->va + mem->length; at += BIT_ULL(shift))
		srnic_native_mr_add(mr, linear(at), BIT_ULL(shift));
}

/* ----- registration ----- */

/* Return: number of blocks; 0 if the list is invalid or too long */
static u32 blocks_of(struct rnic_vp *vp, const struct memory *mem)
{
	if (mem->phys)
		return ri_phys_blocks(vp, mem->phys);
	if (mem->from)
		return srnic_native_mr_blocks(mem->from);
	return blocks_of_va(mem) > SRNIC_MAX_FR_BLOCKS ? 0 : blocks_of_va(mem);
}

static enum srnic_wc_status list_memory(struct rnic_vp *vp, struct ib_mr *mr,
					const struct memory *mem)
{
	if (mem->phys)
		return ri_phys_list(vp, mr, mem->phys);
	if (mem->from)
		srnic_native_mr_copy(mr, mem->from);
	else
		list_va(mr, mem);
	return SRNIC_WC_SUCCESS;
}

/*
 * In block mode all regions have block lists. The Remote Access Flag is that of the rights asked
 * for (MR-04).
 */
static struct ib_mr *alloc_mr(struct rnic_pd *pd, u32 num, ri_mem_attr_t attr)
{
	bool blocks = pd->obj.rnic->vp->mode == RI_PHYS_BLOCK_LIST_MODE;
	struct ib_mr *mr;

	mr = ib_alloc_mr(pd->pd, blocks ? IB_MR_TYPE_SG_GAPS : IB_MR_TYPE_MEM_REG, num);
	if (!IS_ERR(mr) && !(attr & RI_MEM_FLAGS_REMOTE))
		srnic_native_mr_local_only(mr);
	return mr;
}

/* The return code of what is wrong with a list of physical buffers, or with a registration */
static ri_api_return_t code_of(enum srnic_wc_status native)
{
	static const ri_api_return_t codes[] = {
		[SRNIC_WC_PAGE_SIZE] = RI_RET_MEM_INVALID_PBLE_LENGTH,
		[SRNIC_WC_PBE_SIZE] = RI_RET_MEM_INVALID_PBLE_LENGTH,
		[SRNIC_WC_PBL_ENTRY] = RI_RET_MEM_INVALID_PBLE,
		[SRNIC_WC_FBO] = RI_RET_MEM_INVALID_OFFSET,
		[SRNIC_WC_FR_LENGTH] = RI_RET_MEM_INVALID_LENGTH,
		[SRNIC_WC_FR_ACCESS] = RI_RET_MEM_INVALID_ACCESS,
		[SRNIC_WC_PBL_TOO_LONG] = RI_RET_RESOURCE_SHORTAGE,
		[SRNIC_WC_INVALID_VA] = RI_RET_MEM_INVALID_ADDRESS,
		[SRNIC_WC_INVALID_PD] = RI_RET_PD_INVALID_HANDLE,
	};

	return native < ARRAY_SIZE(codes) && codes[native] ? codes[native] : RI_RET_FAIL;
}

/* Return: RI_RET_SUCCESS with @made set; or the code, with @err_data set. @key: see L3616 */
static ri_api_return_t make(struct rnic_pd *pd, const ri_mr_reg_attr_t *attr,
			    const struct memory *mem, ri_ltag_t key, struct ib_mr **made,
			    ri_err_data_t *err_data)
{
	struct rnic_vp *vp = pd->obj.rnic->vp;
	enum srnic_wc_status status;
	struct ib_mr *mr;

	if (!attr->length)
		return ri_answer(err_data, RI_RET_MEM_INVALID_LENGTH);
	/* an invalid list gets a region as well: list_memory() below finds the error */
	mr = alloc_mr(pd, blocks_of(vp, mem) ?: 1, attr->mem_attr);
	if (IS_ERR(mr))
		return ri_failed(err_data, PTR_ERR(mr), RI_RET_FAIL);
	if (attr->mem_attr & RI_MEM_FLAGS_CONSUMER_OWNS_KEY)
		ib_update_fast_reg_key(mr, key);
	status = list_memory(vp, mr, mem);
	if (!status)
		status = srnic_native_mr_register(mr, attr->va, attr->length,
						  ri_access_of(attr->mem_attr));
	if (!status) {
		*made = mr;
		return ri_done(err_data);
	}
	ib_dereg_mr(mr);
	return ri_answer(err_data, code_of(status));
}

/* An RNIC handle of the kernel has no process whose addresses could be meant (L5833) */
static ri_api_return_t check_va(const ri_mr_reg_attr_t *attr)
{
	if (!attr->length || attr->length > (u64)SRNIC_MAX_FR_BLOCKS << PAGE_SHIFT)
		return RI_RET_MEM_INVALID_LENGTH;
	if (attr->mem_attr & RI_MEM_FLAGS_USER_VA)
		return RI_RET_MEM_INVALID_ADDRESS;
	return ri_is_memory((void *)(uintptr_t)attr->va, attr->length) ?
	       RI_RET_SUCCESS : RI_RET_MEM_INVALID_ADDRESS;
}

/* Under ri_lock. Enters @m; on an error its region is deregistered */
static ri_api_return_t enter(struct rnic_mr *m, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	int err = ri_enter(&m->obj, RI_KIND_MR, m->pd->obj.rnic, os_data);

	if (err) {
		ib_dereg_mr(m->mr);
		return ri_failed(err_data, err, RI_RET_FAIL);
	}
	m->pd->obj.users++;
	return ri_done(err_data);
}

/* Under ri_lock. @attr is checked, except for the PD */
static ri_api_return_t new_mr(ri_rnic_handle_t rnic, const ri_mr_reg_attr_t *attr,
			      const struct memory *mem, ri_ltag_t key, struct rnic_mr **made,
			      ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_mr *m;
	struct rnic_obj *pd;
	ri_api_return_t ret;

	pd = ri_find(rnic, RI_KIND_PD, attr->pd, &ret);
	if (ret)
		return ri_answer(err_data, ret);
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	m->pd = to_pd(pd);
	m->attr = *attr;
	ret = make(m->pd, attr, mem, key, &m->mr, err_data);
	if (!ret)
		ret = enter(m, os_data, err_data);
	if (ret)
		kfree(m);
	else
		*made = m;
	return ret;
}

/* Under ri_lock */
static ri_api_return_t reg(ri_rnic_handle_t rnic, const ri_mr_reg_attr_t *attr,
			   const struct memory *mem, ri_mr_handle_t *mr, ri_ltag_t *ltag,
			   ri_rtag_t *rtag, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_mr *m = NULL;
	ri_api_return_t ret = new_mr(rnic, attr, mem, *ltag, &m, os_data, err_data);

	if (!ret) {
		*mr = m->obj.handle;
		ri_tell_tags(m->mr->lkey, ltag, rtag);
	}
	return ret;
}

/**
 * ri_do_mr_reg - register memory
 * @rnic: an RNIC handle
 * @mr_reg_attr: kernel memory, rights, PD
 * @mr: the region
 * @ltag: in: with RI_MEM_FLAGS_CONSUMER_OWNS_KEY its key is the STag's key; out: the STag
 * @rtag: the same STag; may be NULL only for regions without remote rights
 * @vp_data: ignored
 * @os_data: stored
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_PD_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_MEM_INVALID_LENGTH, RI_RET_MEM_INVALID_ACCESS,
 * RI_RET_MEM_INVALID_ADDRESS, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_mr_reg(ri_rnic_handle_t rnic, const ri_mr_reg_attr_t *mr_reg_attr,
			     ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
			     ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct memory mem = { };
	ri_api_return_t ret;

	if (!ri_is_rnic(rnic))
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (!mr_reg_attr || !mr || !ltag)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	ret = ri_check_attr(mr_reg_attr->mem_attr, rtag);
	if (!ret)
		ret = check_va(mr_reg_attr);
	if (ret)
		return ri_answer(err_data, ret);
	mem.va = mr_reg_attr->va;
	mem.length = mr_reg_attr->length;
	mutex_lock(&ri_lock);
	ret = reg(rnic, mr_reg_attr, &mem, mr, ltag, rtag, os_data, err_data);
	mutex_unlock(&ri_lock);
	return ret;
}

/**
 * ri_do_mr_reg_phys - register physical buffers
 * @rnic: an RNIC handle
 * @mr_phys_attr: list of physical buffers, in the mode that the RNIC was opened with; TO, rights
 *		  and PD
 * @mr: the region
 * @ltag: as of ri_do_mr_reg()
 * @rtag: the same STag; may be NULL only for regions without remote rights
 * @vp_data: ignored
 * @os_data: stored
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: as ri_do_mr_reg(), and RI_RET_MEM_INVALID_PBLE,
 * RI_RET_MEM_INVALID_PBLE_LENGTH, RI_RET_MEM_INVALID_OFFSET
 */
ri_api_return_t ri_do_mr_reg_phys(ri_rnic_handle_t rnic, ri_mr_reg_phys_attr_t *mr_phys_attr,
				  ri_mr_handle_t *mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
				  ri_vp_data_t vp_data, ri_os_data_t os_data,
				  ri_err_data_t *err_data)
{
	struct memory mem = { .phys = mr_phys_attr };
	ri_api_return_t ret;

	if (!ri_is_rnic(rnic))
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (!mr_phys_attr || !mr || !ltag)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	ret = ri_check_attr(mr_phys_attr->common.mem_attr, rtag);
	if (ret)
		return ri_answer(err_data, ret);
	mutex_lock(&ri_lock);
	ret = reg(rnic, &mr_phys_attr->common, &mem, mr, ltag, rtag, os_data, err_data);
	mutex_unlock(&ri_lock);
	return ret;
}

/* Under ri_lock */
static ri_api_return_t reg_shared(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
				  ri_mr_reg_attr_t *asked, ri_mr_handle_t *out_mr,
				  ri_ltag_t *ltag, ri_rtag_t *rtag, ri_os_data_t os_data,
				  ri_err_data_t *err_data)
{
	ri_mr_reg_attr_t attr = *asked;
	struct srnic_native_stag is;
	struct memory mem = { };
	struct rnic_obj *from;
	struct rnic_mr *m = NULL;
	ri_api_return_t ret;

	from = ri_find(rnic, RI_KIND_MR, in_mr, &ret);
	if (!ret)
		ret = ri_check_attr(attr.mem_attr, rtag);
	if (ret)
		return ri_answer(err_data, ret);
	mem.from = to_mr(from)->mr;
	srnic_native_mr_query(mem.from, &is);
	if (!is.valid)
		return ri_answer(err_data, RI_RET_MR_INVALID_HANDLE);
	attr.length = is.length;
	attr.mem_attr = ri_shared_attr(attr.mem_attr, to_mr(from)->attr.mem_attr);
	ret = new_mr(rnic, &attr, &mem, *ltag, &m, os_data, err_data);
	if (ret)
		return ret;
	srnic_native_mr_share(mem.from);
	srnic_native_mr_share(m->mr);
	*asked = attr;
	*out_mr = m->obj.handle;
	ri_tell_tags(m->mr->lkey, ltag, rtag);
	return ret;
}

/**
 * ri_do_mr_reg_shared - register the memory of a region as another region
 * @rnic: an RNIC handle
 * @in_mr: a region of @rnic, with memory
 * @mr_reg_attr: TO, rights and PD of the new region; its length becomes that of @in_mr
 * @out_mr: a region with the same memory; both stay shared
 * @ltag: as of ri_do_mr_reg()
 * @rtag: the same STag; may be NULL only for regions without remote rights
 * @vp_data: ignored
 * @os_data: stored
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: as ri_do_mr_reg(), and RI_RET_MR_INVALID_HANDLE
 */
ri_api_return_t ri_do_mr_reg_shared(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
				    ri_mr_reg_attr_t *mr_reg_attr, ri_mr_handle_t *out_mr,
				    ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
				    ri_os_data_t os_data, ri_err_data_t *err_data)
{
	ri_api_return_t ret;

	if (!ri_is_rnic(rnic))
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (!mr_reg_attr || !out_mr || !ltag)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	mutex_lock(&ri_lock);
	ret = reg_shared(rnic, in_mr, mr_reg_attr, out_mr, ltag, rtag, os_data, err_data);
	mutex_unlock(&ri_lock);
	return ret;
}

/* ----- regions without memory ----- */

/* Under ri_lock */
static ri_api_return_t alloc(struct rnic_pd *pd, uint_t num, ri_mem_attr_t attr,
			     struct rnic_mr **made, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_mr *m = kzalloc(sizeof(*m), GFP_KERNEL);
	ri_api_return_t ret;

	if (!m)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	m->pd = pd;
	m->attr.mem_attr = attr;
	m->attr.pd = pd->obj.handle;
	m->mr = alloc_mr(pd, num, attr);
	if (IS_ERR(m->mr))
		ret = ri_failed(err_data, PTR_ERR(m->mr), RI_RET_FAIL);
	else
		ret = enter(m, os_data, err_data);
	if (ret)
		kfree(m);
	else
		*made = m;
	return ret;
}

/**
 * ri_do_ltag_alloc - allocate a region without memory
 * @rnic: an RNIC handle
 * @address_list_length: the largest number of physical buffers
 * @pd: a PD of @rnic
 * @attr: rights that a WR may grant; only whether they include remote ones matters
 * @mr: the region, without memory, for ri_qp_post_fmr()
 * @ltag: in: its key is the STag's key; out: the STag
 * @rtag: the same STag; may be NULL only for regions without remote rights
 * @vp_data: ignored
 * @os_data: stored
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_PD_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_ltag_alloc(ri_rnic_handle_t rnic, uint_t *address_list_length,
				 ri_pd_handle_t pd, ri_mem_attr_t attr, ri_mr_handle_t *mr,
				 ri_ltag_t *ltag, ri_rtag_t *rtag, ri_vp_data_t vp_data,
				 ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_mr *m = NULL;
	struct rnic_obj *obj;
	ri_api_return_t ret;

	mutex_lock(&ri_lock);
	obj = ri_find(rnic, RI_KIND_PD, pd, &ret);
	if (!ret && (!address_list_length || !*address_list_length || !mr || !ltag ||
		     (attr & RI_MEM_FLAGS_REMOTE && !rtag)))
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && *address_list_length > SRNIC_MAX_FR_BLOCKS)
		ret = RI_RET_RESOURCE_SHORTAGE;
	if (ret)
		ri_answer(err_data, ret);
	else
		ret = alloc(to_pd(obj), *address_list_length, attr, &m, os_data, err_data);
	if (!ret) {
		ib_update_fast_reg_key(m->mr, *ltag);
		*mr = m->obj.handle;
		ri_tell_tags(m->mr->lkey, ltag, rtag);
	}
	mutex_unlock(&ri_lock);
	return ret;
}

/* ----- query ----- */

static void look(struct rnic_mr *m, ri_mr_info_t *info)
{
	struct srnic_native_stag is;

	srnic_native_mr_query(m->mr, &is);
	*info = (ri_mr_info_t){
		.attr = m->attr,
		.ltag = is.valid ? is.stag : m->mr->lkey,
		.rtag = is.valid ? is.stag : m->mr->rkey,
		.is_shared_region = is.shared,
		.local_lb = is.base,
		.local_ub = is.base + is.length,
		.stag_state = is.valid ? RI_STAG_STATE_VALID : RI_STAG_STATE_INVALID,
	};
	if (is.valid) {
		info->attr.mem_attr = ri_attr_of(is.rights) | (m->attr.mem_attr & RI_MEM_KEPT);
		info->attr.va = is.base;
		info->attr.length = is.length;
	}
	info->attr.mem_attr |= RI_MEM_FLAGS_LOCAL_READ;
	if (info->attr.mem_attr & RI_MEM_FLAGS_REMOTE) {
		info->remote_lb = info->local_lb;
		info->remote_ub = info->local_ub;
	}
}

/**
 * ri_do_mr_query - query a region
 * @rnic: an RNIC handle
 * @mr: a region of @rnic
 * @mr_info: filled in
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MR_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER
 */
ri_api_return_t ri_do_mr_query(ri_rnic_handle_t rnic, ri_mr_handle_t mr, ri_mr_info_t *mr_info,
			       ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	mutex_lock(&ri_lock);
	obj = ri_find(rnic, RI_KIND_MR, mr, &ret);
	if (!ret && !mr_info)
		ret = RI_RET_INVALID_PARAMETER;
	if (!ret)
		look(to_mr(obj), mr_info);
	mutex_unlock(&ri_lock);
	return ri_answer(err_data, ret);
}

/* ----- rereg and dereg ----- */

/**
 * struct change - a region that is registered anew
 * @attr: its attributes afterwards: those that are asked for, and the present ones
 * @pd: its PD
 * @mem: its memory
 * @old: its region of the RDMA core before; a user of @old_pd until end_old()
 * @old_pd: the PD of @old
 */
struct change {
	ri_mr_reg_attr_t attr;
	struct rnic_pd *pd;
	struct memory mem;
	struct ib_mr *old;
	struct rnic_pd *old_pd;
};

/* Under ri_lock. An RTag is needed if remote rights are asked for (L3753) */
static ri_api_return_t plan(struct rnic_mr *m, u32 mask, const ri_mr_reg_attr_t *asked,
			    const ri_mr_reg_phys_attr_t *phys, const ri_rtag_t *rtag,
			    struct change *c)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct srnic_native_stag is;
	struct rnic_obj *obj;

	srnic_native_mr_query(m->mr, &is);
	*c = (struct change){ .attr = m->attr, .pd = m->pd, .old = m->mr, .old_pd = m->pd };
	c->attr.va = is.base;
	c->attr.length = is.length;
	if (mask & RI_MR_REREG_ACCESS) {
		c->attr.mem_attr = asked->mem_attr;
		ret = ri_check_attr(asked->mem_attr, rtag);
	}
	if (mask & RI_MR_REREG_TRANSLATE) {
		c->attr.va = asked->va;
		c->attr.length = asked->length;
		c->mem = (struct memory){ .phys = phys, .va = asked->va, .length = asked->length };
		if (!ret && !phys)
			ret = check_va(&c->attr);
	} else {
		c->mem.from = m->mr;
	}
	if (!ret && mask & RI_MR_REREG_PD) {
		obj = ri_find(m->obj.rnic->obj.handle, RI_KIND_PD, asked->pd, &ret);
		c->attr.pd = asked->pd;
		c->pd = obj ? to_pd(obj) : NULL;
	}
	return ret;
}

/* Under ri_lock. Share status is permanent (L754) */
static void take_over(struct rnic_mr *m, struct ib_mr *mr, const struct change *c)
{
	struct srnic_native_stag is;

	srnic_native_mr_query(c->old, &is);
	if (is.shared)
		srnic_native_mr_share(mr);
	WRITE_ONCE(m->mr, mr);
	c->pd->obj.users++;
	m->pd = c->pd;
	m->attr = c->attr;
}

/* Without ri_lock. Posts in progress may have looked the old region up */
static void end_old(const struct change *c)
{
	synchronize_rcu();
	ib_dereg_mr(c->old);
	mutex_lock(&ri_lock);
	c->old_pd->obj.users--;
	mutex_unlock(&ri_lock);
}

/* Under ri_lock. Errors that leave the region as it is are found before it is made Invalid */
static ri_api_return_t rereg(struct rnic_mr *m, u32 mask, const ri_mr_reg_attr_t *asked,
			     const ri_mr_reg_phys_attr_t *phys, ri_ltag_t key,
			     const ri_rtag_t *rtag, struct change *c, ri_err_data_t *err_data)
{
	ri_api_return_t ret = plan(m, mask, asked, phys, rtag, c);
	struct ib_mr *mr;
	int err;

	if (ret && ri_leaves_mr(ret))
		return ri_answer(err_data, ret);
	err = srnic_native_mr_suspend(m->mr);
	if (err)
		return ri_failed(err_data, err, RI_RET_WINDOWS_BOUND);
	if (ret)
		return ri_answer(err_data, ret);
	ret = make(c->pd, &c->attr, &c->mem, key, &mr, err_data);
	if (!ret)
		take_over(m, mr, c);
	return ret;
}

/* Under ri_lock */
static ri_api_return_t check_rereg(struct rnic_mr *m, u32 mask, const ri_mr_reg_attr_t *attr,
				   const ri_mr_reg_phys_attr_t *phys, const ri_mr_handle_t *out_mr,
				   const ri_ltag_t *ltag)
{
	struct srnic_native_stag is;

	if (!attr || !out_mr || !ltag || !mask || mask & ~ALL)
		return RI_RET_INVALID_PARAMETER;
	srnic_native_mr_query(m->mr, &is);
	return phys && is.shared ? RI_RET_MR_INVALID_HANDLE : RI_RET_SUCCESS;
}

/* @phys may be NULL; otherwise @attr is part of it */
static ri_api_return_t do_rereg(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr, u32 mask,
				const ri_mr_reg_attr_t *attr, const ri_mr_reg_phys_attr_t *phys,
				ri_mr_handle_t *out_mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
				ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_get(rnic, RI_KIND_MR, in_mr, &ret);
	struct change c;
	bool gone;

	if (!obj)
		return ri_answer(err_data, ret);
	mutex_lock(&ri_lock);
	ret = check_rereg(to_mr(obj), mask, attr, phys, out_mr, ltag);
	if (ret)
		ri_answer(err_data, ret);
	else
		ret = rereg(to_mr(obj), mask, attr, phys, *ltag, rtag, &c, err_data);
	if (!ret) {
		*out_mr = in_mr;
		ri_tell_tags(to_mr(obj)->mr->lkey, ltag, rtag);
	}
	/* a hidden region is ended by another call, which waits for this one */
	gone = !ri_leaves_mr(ret) && !obj->hidden;
	if (gone)
		WRITE_ONCE(obj->hidden, true);
	mutex_unlock(&ri_lock);
	if (!ret)
		end_old(&c);
	ri_put(obj);
	if (gone) {
		ri_quiesce(obj);
		ri_mr_end(to_mr(obj));
	}
	return ret;
}

/**
 * ri_do_mr_rereg - register a region anew
 * @rnic: an RNIC handle
 * @in_mr: a region of @rnic
 * @change_mask: RI_MR_REREG_*: which fields of @mr_attr are valid
 * @mr_attr: the new attributes
 * @out_mr: the region, which is @in_mr
 * @ltag: in: as of ri_do_mr_reg(); out: its new STag
 * @rtag: the same STag; may be NULL unless remote rights are asked for
 * @vp_data: ignored
 * @os_data: ignored
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MR_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_WINDOWS_BOUND: nothing has changed; any other: the region is
 * gone
 */
ri_api_return_t ri_do_mr_rereg(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
			       ri_mr_rereg_t change_mask, const ri_mr_reg_attr_t *mr_attr,
			       ri_mr_handle_t *out_mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
			       ri_vp_data_t vp_data, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return do_rereg(rnic, in_mr, change_mask, mr_attr, NULL, out_mr, ltag, rtag, err_data);
}

/**
 * ri_do_mr_rereg_phys - register a region anew, with physical buffers
 * @rnic: an RNIC handle
 * @in_mr: a region of @rnic, not shared
 * @change_mask: RI_MR_REREG_*: which fields of @mr_phys_attr are valid
 * @mr_phys_attr: the new attributes
 * @out_mr: the region, which is @in_mr
 * @ltag: in: as of ri_do_mr_reg(); out: its new STag
 * @rtag: the same STag; may be NULL unless remote rights are asked for
 * @vp_data: ignored
 * @os_data: ignored
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: as ri_do_mr_rereg()
 */
ri_api_return_t ri_do_mr_rereg_phys(ri_rnic_handle_t rnic, ri_mr_handle_t in_mr,
				    ri_mr_rereg_t change_mask, ri_mr_reg_phys_attr_t *mr_phys_attr,
				    ri_mr_handle_t *out_mr, ri_ltag_t *ltag, ri_rtag_t *rtag,
				    ri_vp_data_t vp_data, ri_os_data_t os_data,
				    ri_err_data_t *err_data)
{
	return do_rereg(rnic, in_mr, change_mask, mr_phys_attr ? &mr_phys_attr->common : NULL,
			mr_phys_attr, out_mr, ltag, rtag, err_data);
}

/**
 * ri_mr_end - end a region
 * @mr: nobody else knows it
 *
 * No peer or QP accesses the memory through the region after this. Context: takes ri_lock.
 *
 * Return: 0; -EBUSY: windows are bound to it, and its handle is valid again.
 */
int ri_mr_end(struct rnic_mr *mr)
{
	int err = ib_dereg_mr(mr->mr);

	if (err) {
		ri_show(&mr->obj);
		return err;
	}
	mutex_lock(&ri_lock);
	mr->pd->obj.users--;
	ri_leave(&mr->obj);
	mutex_unlock(&ri_lock);
	return 0;
}

/* Refuses before the region is hidden: the handle of a region that cannot be ended stays valid */
static ri_api_return_t check_windows(ri_rnic_handle_t rnic, ri_mr_handle_t mr)
{
	struct srnic_native_stag is;
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_MR, mr, &ret);
	if (obj)
		srnic_native_mr_query(READ_ONCE(to_mr(obj)->mr), &is);
	rcu_read_unlock();
	return obj && is.windows ? RI_RET_WINDOWS_BOUND : ret;
}

/**
 * ri_do_mr_dereg - deregister a region
 * @rnic: an RNIC handle
 * @mr: a region of @rnic
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_MR_INVALID_HANDLE,
 * RI_RET_WINDOWS_BOUND
 */
ri_api_return_t ri_do_mr_dereg(ri_rnic_handle_t rnic, ri_mr_handle_t mr, ri_err_data_t *err_data)
{
	ri_api_return_t ret = check_windows(rnic, mr);
	struct rnic_obj *obj;
	int err;

	if (ret)
		return ri_answer(err_data, ret);
	obj = ri_hide(rnic, RI_KIND_MR, mr, RI_RET_FAIL, &ret);
	err = obj ? ri_mr_end(to_mr(obj)) : 0;
	return err ? ri_failed(err_data, err, RI_RET_WINDOWS_BOUND) : ri_answer(err_data, ret);
}
