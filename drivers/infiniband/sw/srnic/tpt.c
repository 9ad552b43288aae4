// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TPT: registration, lookup and the checks of every access.
 *
 * Life of an entry: srnic_tpt_get() finds it under RCU and takes a reference,
 * for no longer than one copy takes. Deregistration takes the entry out of
 * the table, drops the table's reference and waits until the last copy has
 * ended: when it returns nothing touches the memory any more (SEC-6).
 */

#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include "compat.h"
#include "srnic.h"
#include "tpt.h"

#define STAG_TRIES	128

static const u32 known_access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				IB_ACCESS_REMOTE_READ | IB_ACCESS_MW_BIND |
				IB_ZERO_BASED | IB_ACCESS_OPTIONAL;

static u8 access_to_rights(int access)
{
	u8 rights = SRNIC_LOCAL_READ;	/* Linux has no write-only regions */

	if (access & IB_ACCESS_LOCAL_WRITE)
		rights |= SRNIC_LOCAL_WRITE;
	if (access & IB_ACCESS_REMOTE_READ)
		rights |= SRNIC_REMOTE_READ;
	if (access & IB_ACCESS_REMOTE_WRITE)
		rights |= SRNIC_REMOTE_WRITE;
	return rights;
}

/**
 * srnic_tpt_check - may this access be made? (MR-13 to MR-18, RFC 5041 7.1)
 * @mr: entry that has the access's STag index
 * @acc: the access, length not zero
 *
 * Any context. The wrap is looked for before the bounds (E-12).
 *
 * Return: SRNIC_TPT_OK or the first thing wrong.
 */
enum srnic_tpt_err srnic_tpt_check(const struct srnic_mr *mr,
				   const struct srnic_access *acc)
{
	u64 end;

	if (!mr->valid || mr->stag != acc->stag)
		return SRNIC_TPT_STAG;
	if (mr->ibmr.pd != acc->pd)
		return SRNIC_TPT_PD;
	if ((mr->rights & acc->need) != acc->need)
		return SRNIC_TPT_ACCESS;
	/* an access that ends exactly at 2^64 does not wrap */
	if (check_add_overflow(acc->to, acc->length - 1, &end))
		return SRNIC_TPT_WRAP;
	if (acc->to < mr->base || acc->length > mr->length ||
	    acc->to - mr->base > mr->length - acc->length)
		return SRNIC_TPT_BOUNDS;
	return SRNIC_TPT_OK;
}

/**
 * srnic_tpt_get - check an access and keep the memory there meanwhile
 * @dev: whose table
 * @acc: the access, length not zero
 * @mr: set to the entry, or to NULL for STag 0 (all kernel memory)
 *
 * Any context. Call srnic_tpt_put() soon: deregistration waits for it.
 *
 * Return: SRNIC_TPT_OK or what is wrong, with no reference taken.
 */
enum srnic_tpt_err srnic_tpt_get(struct srnic_device *dev,
				 const struct srnic_access *acc,
				 struct srnic_mr **mr)
{
	enum srnic_tpt_err err;
	struct srnic_mr *found;

	*mr = NULL;
	if (!acc->stag)
		return acc->privileged ? SRNIC_TPT_OK : SRNIC_TPT_STAG;

	rcu_read_lock();
	found = xa_load(&dev->mrs, SRNIC_STAG_INDEX(acc->stag));
	if (found && !refcount_inc_not_zero(&found->ref))
		found = NULL;
	rcu_read_unlock();
	if (!found)
		return SRNIC_TPT_STAG;

	err = srnic_tpt_check(found, acc);
	if (err)
		srnic_tpt_put(found);
	else
		*mr = found;
	return err;
}

/**
 * srnic_tpt_put - an access is over
 * @mr: from srnic_tpt_get(), may be NULL
 */
void srnic_tpt_put(struct srnic_mr *mr)
{
	if (mr && refcount_dec_and_test(&mr->ref))
		complete(&mr->idle);
}

/**
 * srnic_tpt_addr - where an octet is
 * @mr: from srnic_tpt_get()
 * @to: tagged offset within the access that was checked
 * @len: in: octets wanted; out: how many of them are contiguous
 *
 * Return: kernel address.
 */
void *srnic_tpt_addr(const struct srnic_mr *mr, u64 to, u32 *len)
{
	const struct srnic_pbl *pbl = mr ? mr->pbl : NULL;
	u64 off, in_block;

	if (!pbl)
		return (void *)(uintptr_t)to;
	off = to - mr->base + mr->fbo;
	in_block = off & (BIT_ULL(pbl->shift) - 1);
	*len = min_t(u64, *len, BIT_ULL(pbl->shift) - in_block);
	return (void *)(uintptr_t)(pbl->addr[off >> pbl->shift] + in_block);
}

/* The same error has a name in a WC, one for a tagged segment, one for a Read source */
static const struct {
	enum srnic_wc_status wc;
	enum rdmap_err tagged;
	enum rdmap_err read;
} tpt_err_map[] = {
	[SRNIC_TPT_OK]	   = { SRNIC_WC_SUCCESS, RDMAP_OK, RDMAP_OK },
	[SRNIC_TPT_STAG]   = { SRNIC_WC_INVALID_STAG, RDMAP_E_TAGGED_STAG, RDMAP_E_READ_STAG },
	[SRNIC_TPT_PD]	   = { SRNIC_WC_INVALID_PD, RDMAP_E_TAGGED_STREAM, RDMAP_E_READ_STREAM },
	[SRNIC_TPT_ACCESS] = { SRNIC_WC_ACCESS, RDMAP_E_TAGGED_ACCESS, RDMAP_E_READ_ACCESS },
	[SRNIC_TPT_WRAP]   = { SRNIC_WC_WRAP, RDMAP_E_TAGGED_WRAP, RDMAP_E_READ_WRAP },
	[SRNIC_TPT_BOUNDS] = { SRNIC_WC_BOUNDS, RDMAP_E_TAGGED_BOUNDS, RDMAP_E_READ_BOUNDS },
};

/**
 * srnic_tpt_wc_status - a failed local access in a completion
 * @err: from srnic_tpt_get()
 */
enum srnic_wc_status srnic_tpt_wc_status(enum srnic_tpt_err err)
{
	return tpt_err_map[err].wc;
}

/**
 * srnic_tpt_tagged_err - a failed access of an inbound tagged segment (E-09 to E-13)
 * @err: from srnic_tpt_get()
 */
enum rdmap_err srnic_tpt_tagged_err(enum srnic_tpt_err err)
{
	return tpt_err_map[err].tagged;
}

/**
 * srnic_tpt_read_err - a failed access to the source of an inbound Read (E-18 to E-22)
 * @err: from srnic_tpt_get()
 */
enum rdmap_err srnic_tpt_read_err(enum srnic_tpt_err err)
{
	return tpt_err_map[err].read;
}

/**
 * srnic_tpt_invalidate_remote - the peer asks to invalidate an STag (SND-13, SND-14)
 * @dev: whose table
 * @stag: all 32 bits
 *
 * A region that several streams may use cannot be invalidated by one peer
 * (SEC-7), and there is no other kind of region yet.
 *
 * Return: RDMAP_E_INV_STAG or RDMAP_E_INV_SHARED.
 */
enum rdmap_err srnic_tpt_invalidate_remote(struct srnic_device *dev, u32 stag)
{
	enum rdmap_err err = RDMAP_E_INV_STAG;
	struct srnic_mr *mr;

	rcu_read_lock();
	mr = xa_load(&dev->mrs, SRNIC_STAG_INDEX(stag));
	if (mr && mr->stag == stag)
		err = RDMAP_E_INV_SHARED;
	rcu_read_unlock();
	return err;
}

/*
 * Give @mr a random STag and put it into the table (SEC-8). Sparse: at most
 * SRNIC_MAX_MR of 2^24 indexes are in use, so a few tries find a free one.
 */
static int tpt_insert(struct srnic_device *dev, struct srnic_mr *mr)
{
	int tries, err;

	if (atomic_inc_return(&dev->num_mr) > SRNIC_MAX_MR) {
		atomic_dec(&dev->num_mr);
		return -ENOMEM;
	}
	for (tries = 0; tries < STAG_TRIES; tries++) {
		u32 stag = get_random_u32();

		if (!SRNIC_STAG_INDEX(stag))	/* index 0 is reserved (MM-07) */
			continue;
		mr->stag = stag;
		mr->ibmr.lkey = stag;
		mr->ibmr.rkey = stag;
		err = xa_insert(&dev->mrs, SRNIC_STAG_INDEX(stag), mr, GFP_KERNEL);
		if (!err)
			return 0;
		if (err != -EBUSY)
			break;
	}
	atomic_dec(&dev->num_mr);
	return -ENOMEM;
}

static struct srnic_mr *mr_new(struct ib_pd *pd, enum srnic_mr_type type)
{
	struct srnic_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	if (!mr)
		return NULL;
	mr->dev = to_srnic_dev(pd->device);
	mr->type = type;
	mr->ibmr.pd = pd;	/* the core sets it again, but lookups may come first */
	mr->ibmr.device = pd->device;
	refcount_set(&mr->ref, 1);
	init_completion(&mr->idle);
	return mr;
}

static void mr_free(struct srnic_mr *mr)
{
	if (mr->umem)
		ib_umem_release(mr->umem);
	kvfree(mr->pbl);
	kfree_rcu(mr, rcu);
}

static struct srnic_pbl *pbl_from_umem(struct ib_umem *umem, unsigned long block)
{
	size_t count = ib_umem_num_dma_blocks(umem, block);
	struct ib_block_iter biter;
	struct srnic_pbl *pbl;
	u32 i = 0;

	if (count > U32_MAX)
		return NULL;
	pbl = kvmalloc(struct_size(pbl, addr, count), GFP_KERNEL_ACCOUNT);
	if (!pbl)
		return NULL;
	pbl->shift = ilog2(block);
	pbl->count = count;
	pbl->max = count;
	/* the device has no DMA mapping: "DMA addresses" are kernel addresses */
	rdma_umem_for_each_dma_block(umem, &biter, block)
		pbl->addr[i++] = rdma_block_iter_dma_address(&biter);
	return pbl;
}

/**
 * srnic_tpt_reg_user - register user memory (RDMAC verbs 7.3.1)
 * @pd: protection domain
 * @start: user address
 * @length: octets, not zero
 * @iova: TO of the first octet, unless IB_ZERO_BASED
 * @access: IB_ACCESS_*
 *
 * Pins the pages for as long as the region lives, within RLIMIT_MEMLOCK. May
 * sleep.
 *
 * Return: the region or an ERR_PTR: -EINVAL for a length of zero or one that
 * wraps, -EOPNOTSUPP for access flags not known here, -ENOMEM, -EFAULT.
 */
struct ib_mr *srnic_tpt_reg_user(struct ib_pd *pd, u64 start, u64 length,
				 u64 iova, int access)
{
	bool zero_based = access & IB_ZERO_BASED;
	struct srnic_mr *mr;
	unsigned long block;
	u64 last;
	int err;

	if (access & ~known_access)
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || check_add_overflow(iova, length - 1, &last))
		return ERR_PTR(-EINVAL);

	mr = mr_new(pd, SRNIC_MR_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->umem = ib_umem_get(pd->device, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		mr->umem = NULL;
		goto free;
	}
	/* contiguous pages are one block each: a huge page costs one entry */
	block = ib_umem_find_best_pgsz(mr->umem, GENMASK(30, PAGE_SHIFT),
				       zero_based ? start : iova);
	if (!block) {
		err = -EINVAL;
		goto free;
	}
	mr->pbl = pbl_from_umem(mr->umem, block);
	if (!mr->pbl) {
		err = -ENOMEM;
		goto free;
	}
	mr->base = zero_based ? 0 : iova;
	mr->fbo = (zero_based ? start : iova) & (block - 1);
	mr->length = length;
	mr->rights = access_to_rights(access);
	mr->valid = true;
	mr->ibmr.length = length;
	mr->ibmr.iova = mr->base;
	mr->ibmr.page_size = block;
	err = tpt_insert(mr->dev, mr);
	if (err)
		goto free;
	return &mr->ibmr;
free:
	mr_free(mr);
	return ERR_PTR(err);
}

/**
 * srnic_tpt_get_dma - a region of all kernel memory
 * @pd: protection domain
 * @access: IB_ACCESS_*
 *
 * Return: the region, ERR_PTR(-EOPNOTSUPP) or ERR_PTR(-ENOMEM). May sleep.
 */
struct ib_mr *srnic_tpt_get_dma(struct ib_pd *pd, int access)
{
	struct srnic_mr *mr;
	int err;

	if (access & ~known_access)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_new(pd, SRNIC_MR_DMA);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->length = U64_MAX;
	mr->rights = access_to_rights(access);
	mr->valid = true;
	err = tpt_insert(mr->dev, mr);
	if (err) {
		mr_free(mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/**
 * srnic_tpt_dereg - end a region (MR-37, MR-39)
 * @ibmr: any state
 *
 * Waits for accesses in progress; each is one copy long. May sleep.
 *
 * Return: 0.
 */
int srnic_tpt_dereg(struct ib_mr *ibmr)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);

	xa_erase(&mr->dev->mrs, SRNIC_STAG_INDEX(mr->stag));
	srnic_tpt_put(mr);
	wait_for_completion(&mr->idle);
	atomic_dec(&mr->dev->num_mr);
	mr_free(mr);
	return 0;
}
