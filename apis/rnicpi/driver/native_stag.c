// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The part of srnic.ko that rnicpi.ko calls: regions of lists of physical buffers, and windows,
 * which the RDMA core offers to programs only.
 */

#include <linux/export.h>
#include <linux/slab.h>
#include "memory/mr.h"
#include "memory/mw.h"
#include "rnicpi/driver/native.h"
#include "srnic.h"

/* ----- regions ----- */

/**
 * srnic_native_mr_local_only - allocate without the Remote Access Flag (MR-04)
 * @ibmr: of ib_alloc_mr(), which gives the flag; not registered yet
 *
 * A registration with remote rights fails from now on. Context: any.
 */
void srnic_native_mr_local_only(struct ib_mr *ibmr)
{
	to_srnic_mr(ibmr)->native_local = true;
}
EXPORT_SYMBOL_GPL(srnic_native_mr_local_only);

/**
 * srnic_native_mr_begin - begin the list of the next registration, as ib_map_mr_sg()
 * @ibmr: of ib_alloc_mr()
 * @modulus: with IB_MR_TYPE_MEM_REG the page size in bytes, a power of two; with
 *	     IB_MR_TYPE_SG_GAPS the block size, or what divides the sizes of all blocks
 * @fbo: offset of the region in the list
 *
 * Context: any.
 */
void srnic_native_mr_begin(struct ib_mr *ibmr, u32 modulus, u64 fbo)
{
	srnic_mr_begin(to_srnic_mr(ibmr), modulus, fbo);
}
EXPORT_SYMBOL_GPL(srnic_native_mr_begin);

/**
 * srnic_native_mr_add - add a page or a block to the list
 * @ibmr: after srnic_native_mr_begin()
 * @addr: its kernel address
 * @length: of a block, bytes
 *
 * Context: any. Return: 0; -ENOSPC if the list is full.
 */
int srnic_native_mr_add(struct ib_mr *ibmr, u64 addr, u64 length)
{
	return srnic_mr_add(to_srnic_mr(ibmr), addr, length);
}
EXPORT_SYMBOL_GPL(srnic_native_mr_add);

/**
 * srnic_native_mr_refuse - let the next registration fail: its list is invalid
 * @ibmr: of ib_alloc_mr()
 * @status: the WR's status, unless an earlier check fails
 *
 * Context: any.
 */
void srnic_native_mr_refuse(struct ib_mr *ibmr, enum srnic_wc_status status)
{
	to_srnic_mr(ibmr)->native_status = status;
}
EXPORT_SYMBOL_GPL(srnic_native_mr_refuse);

/**
 * srnic_native_mr_copy - take the list of the next registration from another region
 * @to: of ib_alloc_mr(), with room for as many blocks
 * @from: of the same type; was registered, and the caller does not register it meanwhile
 *
 * Context: process.
 */
void srnic_native_mr_copy(struct ib_mr *to, struct ib_mr *from)
{
	const struct srnic_tpte *tpte = &to_srnic_mr(from)->tpte;
	const struct srnic_pbl *pbl = tpte->pbl;
	u64 end, last = 0;
	u32 i;

	srnic_native_mr_begin(to, pbl->modulus, tpte->off);
	for (i = 0; i < pbl->count; i++) {
		end = pbl->ends ? pbl->ends[i] : 0;
		srnic_native_mr_add(to, pbl->addr[i], end - last);
		last = end;
	}
}
EXPORT_SYMBOL_GPL(srnic_native_mr_copy);

/**
 * srnic_native_mr_register - register a list without a WR
 * @ibmr: Invalid, with a list; its STag has the key of ib_update_fast_reg_key() (MM-02)
 * @iova: TO of the first byte, unless IB_ZERO_BASED
 * @length: bytes
 * @access: IB_ACCESS_*
 *
 * Context: process or softirq. Return: as srnic_mr_register().
 */
enum srnic_wc_status srnic_native_mr_register(struct ib_mr *ibmr, u64 iova, u64 length,
					      int access)
{
	return srnic_mr_register(to_srnic_mr(ibmr), ibmr->lkey, ibmr->pd, iova, length, access);
}
EXPORT_SYMBOL_GPL(srnic_native_mr_register);

/**
 * srnic_native_mr_suspend - make a region Invalid before it is registered anew
 * @ibmr: in any state
 *
 * Context: process, may sleep. Return: as srnic_tpt_suspend().
 */
int srnic_native_mr_suspend(struct ib_mr *ibmr)
{
	return srnic_tpt_suspend(&to_srnic_mr(ibmr)->tpte);
}
EXPORT_SYMBOL_GPL(srnic_native_mr_suspend);

/**
 * srnic_native_mr_share - mark a region as shared: it stays Valid (MR-29)
 * @ibmr: Valid
 *
 * Context: process.
 */
void srnic_native_mr_share(struct ib_mr *ibmr)
{
	struct srnic_tpte *tpte = &to_srnic_mr(ibmr)->tpte;

	spin_lock_bh(&tpte->lock);
	tpte->shared = true;
	spin_unlock_bh(&tpte->lock);
}
EXPORT_SYMBOL_GPL(srnic_native_mr_share);

/**
 * srnic_native_mr_blocks - number of blocks of a region
 * @ibmr: of ib_alloc_mr()
 *
 * Context: process. Return: the number.
 */
u32 srnic_native_mr_blocks(struct ib_mr *ibmr)
{
	struct srnic_tpte *tpte = &to_srnic_mr(ibmr)->tpte;
	u32 count;

	spin_lock_bh(&tpte->lock);
	count = tpte->pbl->count;
	spin_unlock_bh(&tpte->lock);
	return count;
}
EXPORT_SYMBOL_GPL(srnic_native_mr_blocks);

/* @tpte is locked */
static void fill_stag(struct srnic_native_stag *is, const struct srnic_tpte *tpte)
{
	*is = (struct srnic_native_stag){
		.stag = tpte->stag,
		.valid = tpte->valid,
		.shared = tpte->shared,
		.windows = tpte->windows,
		.rights = tpte->rights & SRNIC_QUERY_RIGHTS,
		.base = tpte->base,
		.length = tpte->length,
	};
}

/**
 * srnic_native_mr_query - query a region (MR-20)
 * @ibmr: srnic's
 * @is: filled in
 *
 * Context: process.
 */
void srnic_native_mr_query(struct ib_mr *ibmr, struct srnic_native_stag *is)
{
	struct srnic_tpte *tpte = &to_srnic_mr(ibmr)->tpte;

	spin_lock_bh(&tpte->lock);
	fill_stag(is, tpte);
	spin_unlock_bh(&tpte->lock);
}
EXPORT_SYMBOL_GPL(srnic_native_mr_query);

/* ----- windows ----- */

/**
 * srnic_native_mw_alloc - allocate a narrow window (MW-01)
 * @pd: of a kernel consumer, which keeps it as long as the window exists
 *
 * Context: process, may sleep. Return: the window or an ERR_PTR: -ENOMEM.
 */
struct ib_mw *srnic_native_mw_alloc(struct ib_pd *pd)
{
	struct srnic_mw *mw = kzalloc(sizeof(*mw), GFP_KERNEL_ACCOUNT);
	int err;

	if (!mw)
		return ERR_PTR(-ENOMEM);
	mw->ibmw.device = pd->device;
	mw->ibmw.pd = pd;
	mw->ibmw.type = IB_MW_TYPE_2;
	err = srnic_mw_alloc(&mw->ibmw);
	if (err) {
		kfree(mw);
		return ERR_PTR(err);
	}
	atomic_inc(&pd->usecnt);
	return &mw->ibmw;
}
EXPORT_SYMBOL_GPL(srnic_native_mw_alloc);

/**
 * srnic_native_mw_dealloc - end a window, in any state
 * @ibmw: of srnic_native_mw_alloc()
 *
 * Context: process, may sleep.
 */
void srnic_native_mw_dealloc(struct ib_mw *ibmw)
{
	struct ib_pd *pd = ibmw->pd;

	srnic_mw_dealloc(ibmw);
	kfree(to_srnic_mw(ibmw));
	atomic_dec(&pd->usecnt);
}
EXPORT_SYMBOL_GPL(srnic_native_mw_dealloc);

/**
 * srnic_native_mw_query - query a window (MW-18)
 * @ibmw: srnic's
 * @is: filled in
 *
 * Context: process.
 */
void srnic_native_mw_query(struct ib_mw *ibmw, struct srnic_native_stag *is)
{
	struct srnic_tpte *tpte = &to_srnic_mw(ibmw)->window->tpte;

	spin_lock_bh(&tpte->lock);
	fill_stag(is, tpte);
	spin_unlock_bh(&tpte->lock);
	if (!is->valid)
		*is = (struct srnic_native_stag){ .stag = is->stag };
}
EXPORT_SYMBOL_GPL(srnic_native_mw_query);
