// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Fast registration (RDMAC verbs 7.3.2.5): the list of the memory of a region, and the WR. */

#include <linux/math64.h>
#include <linux/scatterlist.h>
#include "memory/mr.h"
#include "queue/state.h"
#include "srnic.h"

/**
 * srnic_mr_begin - begin the list of the next registration
 * @mr: of srnic_mr_alloc(), in any state
 * @modulus: of a page list: the page size in bytes, a power of two; of a block list: see
 *	     struct srnic_pbl
 * @fbo: offset of the region's first octet in the list (MR-09)
 *
 * Nothing else may set the list until it is registered. Context: any.
 */
void srnic_mr_begin(struct srnic_mr *mr, u32 modulus, u64 fbo)
{
	struct srnic_pbl *pbl = mr->next;

	pbl->shift = pbl->ends ? 0 : ilog2(modulus);
	pbl->count = 0;
	pbl->modulus = modulus;
	mr->fbo = fbo;
	mr->mapped = true;
}

/**
 * srnic_mr_add - add a page or a block to the list of the next registration
 * @mr: after srnic_mr_begin()
 * @addr: its kernel address
 * @length: of a block, octets
 *
 * Context: any. Return: 0; -ENOSPC if the list is full.
 */
int srnic_mr_add(struct srnic_mr *mr, u64 addr, u64 length)
{
	struct srnic_pbl *pbl = mr->next;
	u32 i = pbl->count;

	if (i == pbl->max)
		return -ENOSPC;
	pbl->addr[i] = addr;
	if (pbl->ends)
		pbl->ends[i] = length + (i ? pbl->ends[i - 1] : 0);
	pbl->count++;
	return 0;
}

static int add_page(struct ib_mr *ibmr, u64 addr)
{
	return srnic_mr_add(to_srnic_mr(ibmr), addr, 0);
}

static int map_pages(struct srnic_mr *mr, struct scatterlist *sg, int n, unsigned int *offset)
{
	u32 size = mr->ibmr.page_size;

	if (!(size & SRNIC_PAGE_SIZES) || !is_power_of_2(size))
		return -EINVAL;
	srnic_mr_begin(mr, size, 0);
	n = ib_sg_to_pages(&mr->ibmr, sg, n, offset, add_page);
	if (mr->next->count)
		mr->fbo = mr->ibmr.iova & (size - 1);
	return n;
}

/* A block for each entry. The first block begins at the region's first octet */
static int map_blocks(struct srnic_mr *mr, struct scatterlist *sgl, int n, unsigned int *offset)
{
	unsigned int skip = offset ? *offset : 0;
	struct scatterlist *sg;
	int i;

	srnic_mr_begin(mr, 1, 0);
	if (n <= 0 || skip > sg_dma_len(sgl))
		return -EINVAL;
	mr->ibmr.iova = sg_dma_address(sgl) + skip;
	mr->ibmr.length = 0;
	for_each_sg(sgl, sg, n, i) {
		if (srnic_mr_add(mr, sg_dma_address(sg) + skip, sg_dma_len(sg) - skip))
			break;
		mr->ibmr.length += sg_dma_len(sg) - skip;
		skip = 0;
	}
	if (offset)
		*offset = 0;
	return i;
}

/**
 * srnic_mr_map_sg - set the PBL of the next fast-register WR
 * @ibmr: from srnic_mr_alloc(), in any state
 * @sg: memory
 * @n: entries of @sg
 * @offset: bytes to skip of the first entry, or NULL; out: 0, or bytes mapped of the first entry
 *	    that was not mapped as a whole
 *
 * A region of IB_MR_TYPE_SG_GAPS takes any entries, and its TO may be any. A Valid region is
 * unchanged: consumers map the next memory before they post the invalidation of the current one
 * (as RDMA R/W and iSER do). The caller must not set the list again until the WR has been
 * processed. Context: any.
 *
 * Return: how many entries of @sg were mapped, or -EINVAL if the region is not
 * one of srnic_mr_alloc() or the page size is not supported.
 */
int srnic_mr_map_sg(struct ib_mr *ibmr, struct scatterlist *sg, int n,
		    unsigned int *offset)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);

	if (mr->tpte.type != SRNIC_STAG_FAST_REG)
		return -EINVAL;
	return mr->next->ends ? map_blocks(mr, sg, n, offset) : map_pages(mr, sg, n, offset);
}

/* Octets of a list */
static u64 pbl_octets(const struct srnic_pbl *pbl)
{
	if (pbl->shift)
		return (u64)pbl->count << pbl->shift;
	return pbl->count ? pbl->ends[pbl->count - 1] : 0;
}

static bool is_congruent(u64 a, u64 b, u32 modulus)
{
	u32 rest_a, rest_b;

	div_u64_rem(a, modulus, &rest_a);
	div_u64_rem(b, modulus, &rest_b);
	return rest_a == rest_b;
}

/* tpte->lock is held. MR-31, in the order of RDMAC verbs Figure 23. */
static enum srnic_wc_status check_fast_register(struct srnic_mr *mr, const struct ib_pd *pd,
						u64 iova, u64 length, int access)
{
	struct srnic_tpte *tpte = &mr->tpte;
	const struct srnic_pbl *pbl = mr->mapped ? mr->next : tpte->pbl;
	u64 end;

	/* an invalidation that still waits for accesses has not ended (MR-36) */
	if (tpte->valid || srnic_tpt_in_use(tpte))
		return SRNIC_WC_STAG_NOT_INVALID;
	if (tpte->pd != pd)
		return SRNIC_WC_INVALID_PD;
	if (mr->native_status)
		return mr->native_status;
	if (access & ~SRNIC_MR_ACCESS ||
	    (mr->native_local && srnic_access_to_rights(access) & SRNIC_REMOTE_RIGHTS) ||
	    (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC) &&
	     !(access & IB_ACCESS_LOCAL_WRITE)))
		return SRNIC_WC_FR_ACCESS;
	if (!length || check_add_overflow(mr->fbo, length, &end) || end > pbl_octets(pbl))
		return SRNIC_WC_FR_LENGTH;
	if (access & IB_ZERO_BASED)
		return SRNIC_WC_SUCCESS;
	if (!is_congruent(iova, mr->fbo, pbl->modulus) ||
	    check_add_overflow(iova, length - 1, &end))
		return SRNIC_WC_INVALID_VA;
	return SRNIC_WC_SUCCESS;
}

/**
 * srnic_mr_register - register the memory that was mapped last (MR-31)
 * @mr: from srnic_mr_alloc()
 * @stag: its STag from now on; the index is the same
 * @pd: of the QP, or of the region
 * @iova: TO of the first byte, unless IB_ZERO_BASED
 * @length: bytes
 * @access: IB_ACCESS_*
 *
 * Context: process or softirq; does not sleep.
 *
 * Return: SRNIC_WC_SUCCESS, and the region is Valid; or the error, and nothing has changed.
 */
enum srnic_wc_status srnic_mr_register(struct srnic_mr *mr, u32 stag, const struct ib_pd *pd,
				       u64 iova, u64 length, int access)
{
	struct srnic_tpte *tpte = &mr->tpte;
	enum srnic_wc_status status;

	spin_lock_bh(&tpte->lock);
	status = check_fast_register(mr, pd, iova, length, access);
	if (!status) {
		tpte->base = access & IB_ZERO_BASED ? 0 : iova;
		tpte->length = length;
		if (mr->mapped)
			swap(tpte->pbl, mr->next);
		mr->mapped = false;
		tpte->off = mr->fbo;
		tpte->rights = srnic_access_to_rights(access);
		tpte->stag = stag;
		srnic_tpte_validate(tpte);
	}
	spin_unlock_bh(&tpte->lock);
	return status;
}

/**
 * srnic_mr_fast_register - process a fast-register WR (MR-30)
 * @qp: of a kernel consumer
 * @sqe: stag is the new STag, arg[] are TO of the first byte, bytes, IB_ACCESS_*
 *
 * Context: the owner of tx, in process or softirq; does not sleep.
 *
 * Return: as srnic_mr_register(), or SRNIC_WC_INVALID_STAG.
 */
enum srnic_wc_status srnic_mr_fast_register(struct srnic_qp *qp,
					    const struct srnic_sqe *sqe)
{
	enum srnic_wc_status status = SRNIC_WC_INVALID_STAG;
	struct srnic_tpte *tpte;

	rcu_read_lock();
	tpte = srnic_tpt_find(qp->dev, sqe->stag);
	if (tpte && tpte->type == SRNIC_STAG_FAST_REG)
		status = srnic_mr_register(container_of(tpte, struct srnic_mr, tpte), sqe->stag,
					   qp->ibqp.pd, sqe->arg[0], sqe->arg[1], sqe->arg[2]);
	rcu_read_unlock();
	return status;
}
