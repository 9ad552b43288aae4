// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory regions (RDMAC verbs 7.3): of user memory, of all memory, fast-register. */

#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include "compat.h"
#include "memory/dm.h"
#include "memory/mr.h"
#include "queue/holder.h"
#include "queue/state.h"
#include "srnic.h"

static const u32 known_access = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |
				IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC |
				IB_ACCESS_MW_BIND |
				IB_ZERO_BASED | IB_ACCESS_OPTIONAL;

static u8 access_to_rights(int access)
{
	u8 rights = SRNIC_LOCAL_READ;	/* Linux has no write-only regions */

	if (access & IB_ACCESS_LOCAL_WRITE)
		rights |= SRNIC_LOCAL_WRITE | SRNIC_READ_SINK;
	if (access & IB_ACCESS_REMOTE_READ)
		rights |= SRNIC_REMOTE_READ;
	if (access & IB_ACCESS_REMOTE_WRITE)
		rights |= SRNIC_REMOTE_WRITE;
	if (access & IB_ACCESS_MW_BIND)
		rights |= SRNIC_BINDABLE;
	if (access & IB_ZERO_BASED)
		rights |= SRNIC_ZERO_BASED;
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		rights |= SRNIC_REMOTE_ATOMIC;
	return rights;
}

static struct srnic_mr *mr_new(struct ib_pd *pd, enum srnic_stag_type type)
{
	struct srnic_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);

	if (!mr)
		return NULL;
	srnic_tpte_init(&mr->tpte, pd, type);
	if (type != SRNIC_STAG_FAST_REG)
		srnic_tpte_spread(&mr->tpte);
	mr->ibmr.pd = pd;
	mr->ibmr.device = pd->device;
	return mr;
}

/**
 * struct srnic_shared - memory that several regions share
 * @refs: regions
 * @umem: the memory
 * @pbl: its list
 */
struct srnic_shared {
	refcount_t refs;
	struct ib_umem *umem;
	struct srnic_pbl *pbl;
};

/* Serializes calls that share the same region, and changes of what they share */
static DEFINE_MUTEX(share_mutex);

/* @mr gives up its list; the last region that shares the memory frees it */
static void mr_unshare(struct srnic_mr *mr)
{
	struct srnic_shared *shared = mr->shared;

	if (!shared)
		return;
	spin_lock_bh(&mr->tpte.lock);
	mr->tpte.pbl = NULL;
	spin_unlock_bh(&mr->tpte.lock);
	mr->shared = NULL;
	if (!refcount_dec_and_test(&shared->refs))
		return;
	ib_umem_release(shared->umem);
	kvfree(shared->pbl);
	kfree(shared);
}

static void mr_free_rcu(struct rcu_head *rcu)
{
	struct srnic_mr *mr = container_of(rcu, struct srnic_mr, rcu);

	free_percpu(mr->tpte.cpu_users);
	kfree(mr);
}

static void mr_free(struct srnic_mr *mr)
{
	mr_unshare(mr);
	if (mr->umem)
		ib_umem_release(mr->umem);
	srnic_dmabuf_put(&mr->dmabuf);
	kvfree(mr->tpte.pbl);
	kvfree(mr->next);
	call_rcu(&mr->rcu, mr_free_rcu);
}

static int mr_insert(struct srnic_mr *mr)
{
	struct srnic_device *dev = mr->tpte.dev;
	struct srnic_holder *holder = srnic_pd_holder(mr->tpte.pd);
	int err = srnic_take(dev, holder, SRNIC_KIND_MR, 1);

	if (err)
		return err;
	err = srnic_tpt_insert(&mr->tpte);
	if (err) {
		srnic_give(dev, holder, SRNIC_KIND_MR, 1);
		return err;
	}
	mr->ibmr.lkey = mr->tpte.stag;
	mr->ibmr.rkey = mr->tpte.stag;
	return 0;
}

/* @blocks: for a block list */
static struct srnic_pbl *pbl_new(size_t max, bool blocks)
{
	struct srnic_pbl *pbl;

	if (max > U32_MAX)
		return NULL;
	pbl = kvmalloc(struct_size(pbl, addr, blocks ? 2 * max : max), SRNIC_GFP_USER);
	if (!pbl)
		return NULL;
	pbl->shift = blocks ? 0 : PAGE_SHIFT;
	pbl->count = 0;
	pbl->max = max;
	pbl->modulus = BIT(pbl->shift);
	pbl->dmabuf = NULL;
	pbl->ends = blocks ? pbl->addr + max : NULL;
	return pbl;
}

static struct srnic_pbl *pbl_from_umem(struct ib_umem *umem, unsigned long block)
{
	struct srnic_pbl *pbl = pbl_new(ib_umem_num_dma_blocks(umem, block), false);
	struct ib_block_iter biter;

	if (!pbl)
		return NULL;
	pbl->shift = ilog2(block);
	/* the device has no DMA mapping: "DMA addresses" are kernel addresses */
	rdma_umem_for_each_dma_block(umem, &biter, block)
		pbl->addr[pbl->count++] = rdma_block_iter_dma_address(&biter);
	return pbl;
}

/**
 * struct mr_memory - user memory for a region
 * @umem: pinned; NULL: there is none
 * @pbl: its blocks
 * @base: TO of the first byte
 * @off: of the first byte in its block
 * @length: bytes
 */
struct mr_memory {
	struct ib_umem *umem;
	struct srnic_pbl *pbl;
	u64 base;
	u64 off;
	u64 length;
};

static int check_range(u64 iova, u64 length)
{
	u64 last;

	return !length || length > SRNIC_MAX_MR_SIZE ||
	       check_add_overflow(iova, length - 1, &last) ? -EINVAL : 0;
}

/* Pin user memory and list its blocks. The range is checked */
static int memory_pin(struct ib_device *dev, u64 start, u64 length, u64 iova, int access,
		      bool zero_based, struct mr_memory *mem)
{
	struct ib_umem *umem = ib_umem_get_va(dev, start, length, access);
	u64 first = zero_based ? start : iova;
	unsigned long block;
	int err = -EINVAL;

	if (IS_ERR(umem))
		return PTR_ERR(umem);
	/* the largest block size that fits: a huge page costs one entry */
	block = ib_umem_find_best_pgsz(umem, SRNIC_PAGE_SIZES, first);
	if (!block)
		goto release;
	err = -ENOMEM;
	mem->pbl = pbl_from_umem(umem, block);
	if (!mem->pbl)
		goto release;
	mem->umem = umem;
	mem->base = zero_based ? 0 : iova;
	mem->off = first & (block - 1);
	mem->length = length;
	return 0;
release:
	ib_umem_release(umem);
	return err;
}

static void memory_unpin(struct mr_memory *mem)
{
	kvfree(mem->pbl);
	if (mem->umem)
		ib_umem_release(mem->umem);
}

/*
 * @mr has no memory, and is Invalid or not in the table yet. The lock is for nldev.c, which may
 * read the entry at any time.
 */
static void mr_take(struct srnic_mr *mr, const struct mr_memory *mem)
{
	struct srnic_tpte *tpte = &mr->tpte;

	mr->umem = mem->umem;
	spin_lock_bh(&tpte->lock);
	tpte->pbl = mem->pbl;
	tpte->base = mem->base;
	tpte->off = mem->off;
	tpte->length = mem->length;
	spin_unlock_bh(&tpte->lock);
	mr->ibmr.length = mem->length;
	mr->ibmr.iova = mem->base;
	mr->ibmr.page_size = BIT_ULL(mem->pbl->shift);
}

/* @mr is Invalid and nothing uses it */
static void mr_unpin(struct srnic_mr *mr)
{
	struct srnic_pbl *pbl;

	mr_unshare(mr);
	spin_lock_bh(&mr->tpte.lock);
	pbl = mr->tpte.pbl;
	mr->tpte.pbl = NULL;
	spin_unlock_bh(&mr->tpte.lock);
	kvfree(pbl);
	if (mr->umem)
		ib_umem_release(mr->umem);
	mr->umem = NULL;
	srnic_dmabuf_put(&mr->dmabuf);
}

/**
 * srnic_mr_reg_user - register user memory (RDMAC verbs 7.3.1)
 * @pd: protection domain
 * @start: user address
 * @length: bytes, not zero
 * @iova: TO of the first byte, unless IB_ZERO_BASED
 * @access: IB_ACCESS_*
 *
 * Pins the pages for as long as the region lives, within RLIMIT_MEMLOCK. Context: process, may
 * sleep.
 *
 * Return: the region or an ERR_PTR: -EINVAL for a length of zero, one beyond max_mr_size, or one
 * that wraps, -EOPNOTSUPP for unknown access flags, -ENOMEM, -EFAULT.
 */
struct ib_mr *srnic_mr_reg_user(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access)
{
	struct mr_memory mem = { };
	struct srnic_mr *mr;
	int err;

	if (access & ~known_access)
		return ERR_PTR(-EOPNOTSUPP);
	err = check_range(iova, length);
	if (err)
		return ERR_PTR(err);
	mr = mr_new(pd, SRNIC_STAG_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = memory_pin(pd->device, start, length, iova, access, access & IB_ZERO_BASED, &mem);
	if (err)
		goto free;
	mr_take(mr, &mem);
	mr->tpte.rights = access_to_rights(access);
	srnic_tpte_validate(&mr->tpte);
	err = mr_insert(mr);
	if (err)
		goto free;
	return &mr->ibmr;
free:
	mr_free(mr);
	return ERR_PTR(err);
}

/* The memory is contiguous in the kernel's mapping: one block describes it */
static int mr_set_mapping(struct srnic_mr *mr, const void *at, u64 length, u64 iova, int access)
{
	struct srnic_pbl *pbl = pbl_new(1, false);

	if (!pbl)
		return -ENOMEM;
	pbl->shift = length > PAGE_SIZE ? fls64(length - 1) : PAGE_SHIFT;
	pbl->count = 1;
	pbl->addr[0] = (uintptr_t)at;
	mr->tpte.pbl = pbl;
	mr->tpte.base = access & IB_ZERO_BASED ? 0 : iova;
	mr->tpte.length = length;
	mr->tpte.rights = access_to_rights(access);
	srnic_tpte_validate(&mr->tpte);
	mr->ibmr.length = length;
	mr->ibmr.iova = mr->tpte.base;
	mr->ibmr.page_size = PAGE_SIZE;
	return 0;
}

/**
 * srnic_mr_reg_dmabuf - register a part of a DMA buffer
 * @pd: protection domain
 * @fd: of the buffer
 * @offset: of the part, bytes
 * @length: of the part, bytes, not zero
 * @iova: TO of the first byte, unless IB_ZERO_BASED
 * @access: IB_ACCESS_*
 *
 * Context: process, may sleep.
 *
 * Return: the region or an ERR_PTR: -EINVAL for a part that is not in the buffer or
 * wraps, -EOPNOTSUPP for unknown access flags, -ENOMEM, or as srnic_dmabuf_get().
 */
struct ib_mr *srnic_mr_reg_dmabuf(struct ib_pd *pd, int fd, u64 offset, u64 length,
				  u64 iova, int access)
{
	struct srnic_mr *mr;
	u64 last;
	int err;

	if (access & ~known_access)
		return ERR_PTR(-EOPNOTSUPP);
	if (!length || check_add_overflow(iova, length - 1, &last))
		return ERR_PTR(-EINVAL);
	mr = mr_new(pd, SRNIC_STAG_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = srnic_dmabuf_get(&mr->dmabuf, &pd->device->dev, fd, offset, length,
			       ib_access_writable(access));
	if (err)
		goto free;
	err = mr_set_mapping(mr, mr->dmabuf.map.vaddr + offset, length, iova, access);
	if (err)
		goto free;
	mr->tpte.pbl->dmabuf = mr->dmabuf.buf;
	err = mr_insert(mr);
	if (err)
		goto free;
	return &mr->ibmr;
free:
	mr_free(mr);
	return ERR_PTR(err);
}

/**
 * srnic_mr_reg_dm - register a part of the device's own memory
 * @pd: protection domain
 * @dm: the memory, which outlives the region
 * @offset: of the part, bytes
 * @length: of the part, bytes; may be zero
 * @access: IB_ACCESS_*, of which IB_ZERO_BASED is one
 *
 * The caller has checked that the part is inside the memory. Context: process, may sleep.
 *
 * Return: the region or an ERR_PTR: -EOPNOTSUPP for unknown access flags, -ENOMEM.
 */
struct ib_mr *srnic_mr_reg_dm(struct ib_pd *pd, struct srnic_dm *dm, u64 offset, u64 length,
			      int access)
{
	struct srnic_mr *mr;
	int err;

	if (access & ~known_access)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_new(pd, SRNIC_STAG_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = mr_set_mapping(mr, dm->memory + offset, length, 0, access) ?: mr_insert(mr);
	if (err) {
		mr_free(mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/*
 * Pages that were pinned for reading may belong to a read-only mapping. Pin them
 * once more for writing, and check that it is the same memory.
 */
static int mr_make_writable(struct srnic_mr *mr, int access)
{
	struct ib_umem **held = mr->shared ? &mr->shared->umem : &mr->umem, *umem;
	unsigned long block = BIT_ULL(mr->tpte.pbl->shift);
	u64 start, length, iova;
	struct srnic_pbl *pbl;
	bool writable;
	int err = -EFAULT;

	/* the mutex is not held over the pinning, which may take as long as the process likes */
	mutex_lock(&share_mutex);
	start = (*held)->address;
	length = (*held)->length;
	iova = (*held)->iova;
	writable = (*held)->writable;
	mutex_unlock(&share_mutex);
	if (writable)
		return 0;
	umem = ib_umem_get_va(mr->ibmr.device, start, length, access);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	/*
	 * A list has the address of each block only. Equal lists mean equal pages if
	 * both are contiguous in blocks of that size, counted from the same IOVA.
	 */
	if (ib_umem_find_best_pgsz(umem, block, iova) != block)
		goto release;
	err = -ENOMEM;
	pbl = pbl_from_umem(umem, block);
	if (!pbl)
		goto release;
	err = -EFAULT;
	if (pbl->count == mr->tpte.pbl->count &&
	    !memcmp(pbl->addr, mr->tpte.pbl->addr, pbl->count * sizeof(pbl->addr[0]))) {
		mutex_lock(&share_mutex);
		swap(*held, umem);
		mutex_unlock(&share_mutex);
		err = 0;
	}
	kvfree(pbl);
release:
	ib_umem_release(umem);
	return err;
}

/**
 * struct mr_change - what is asked for of a region that is registered anew
 * @flags: IB_MR_REREG_*: which of the fields below are valid
 * @start: user address
 * @length: bytes
 * @iova: TO of the first byte
 * @access: IB_ACCESS_*
 * @zero_based: valid in any case
 */
struct mr_change {
	int flags;
	u64 start;
	u64 length;
	u64 iova;
	int access;
	bool zero_based;
};

/* Checks what can be checked before the region is made Invalid: after an error it is unchanged */
static int check_change(struct srnic_mr *mr, const struct mr_change *c)
{
	if (c->flags & IB_MR_REREG_ACCESS && c->access & ~known_access)
		return -EOPNOTSUPP;
	if (c->flags & IB_MR_REREG_TRANS)
		return check_range(c->iova, c->length);
	/* whether TOs start with 0 may change only together with the translation */
	if (!mr->umem && !mr->shared)
		return -EINVAL;
	return c->zero_based == !!(mr->tpte.rights & SRNIC_ZERO_BASED) ? 0 : -EINVAL;
}

/* Gets the memory that the change needs: new memory in @mem; or the old memory, made writable */
static int get_memory(struct srnic_mr *mr, const struct mr_change *c, struct mr_memory *mem)
{
	int access = c->access;

	if (!(c->flags & IB_MR_REREG_ACCESS))
		access = mr->tpte.rights & SRNIC_LOCAL_WRITE ? IB_ACCESS_LOCAL_WRITE : 0;
	if (c->flags & IB_MR_REREG_TRANS)
		return memory_pin(mr->ibmr.device, c->start, c->length, c->iova, access,
				  c->zero_based, mem);
	return ib_access_writable(access) ? mr_make_writable(mr, access) : 0;
}

/* The region is Invalid and without users afterwards, unless windows are bound to it: -EBUSY */
static int change_memory(struct srnic_mr *mr, const struct mr_change *c, struct mr_memory *mem)
{
	int err;

	/* MR-29: a shared region stays Valid after an error, so it first gets its new memory */
	if (mr->tpte.shared) {
		err = get_memory(mr, c, mem);
		return err ?: srnic_tpt_suspend(&mr->tpte);
	}
	err = srnic_tpt_suspend(&mr->tpte);
	if (err)
		return err;
	/* unpin first: old and new memory together may exceed RLIMIT_MEMLOCK */
	if (c->flags & IB_MR_REREG_TRANS)
		mr_unpin(mr);
	err = get_memory(mr, c, mem);
	if (err)
		mr_unpin(mr);
	return err;
}

/**
 * srnic_mr_rereg - register a user's region anew, in place (RDMAC verbs 7.3.2.3)
 * @ibmr: of a user, in any state; the core excludes other calls on it
 * @flags: IB_MR_REREG_*: which of the parameters below are valid
 * @start: user address, with IB_MR_REREG_TRANS
 * @length: bytes, with IB_MR_REREG_TRANS
 * @iova: TO of the first byte, with IB_MR_REREG_TRANS
 * @access: IB_ACCESS_*, with IB_MR_REREG_ACCESS. IB_ZERO_BASED may change only
 *	    together with the translation
 * @pd: protection domain, with IB_MR_REREG_PD
 *
 * The STag stays the same. Accesses during the call find it Invalid, as between a
 * deregistration and a registration (MR-25). A shared region stays shared, and the regions that
 * share its old memory keep it. Context: process, may sleep.
 *
 * Return: 0, and the region is Valid; -EBUSY if windows are bound to the region (MR-23),
 * -EINVAL or -EOPNOTSUPP if a parameter is invalid, and it is unchanged then. Any other error, as
 * of srnic_mr_reg_user(), leaves the region Invalid and without memory: the program can only
 * register it anew, or deregister it (MR-24). A shared region is unchanged (MR-29).
 */
int srnic_mr_rereg(struct ib_mr *ibmr, int flags, u64 start, u64 length,
		   u64 iova, int access, struct ib_pd *pd)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);
	struct srnic_tpte *tpte = &mr->tpte;
	const struct mr_change change = {
		.flags = flags,
		.start = start,
		.length = length,
		.iova = iova,
		.access = access,
		.zero_based = flags & IB_MR_REREG_ACCESS ? access & IB_ZERO_BASED :
							   tpte->rights & SRNIC_ZERO_BASED,
	};
	struct mr_memory mem = { };
	int err = check_change(mr, &change);

	if (!err)
		err = change_memory(mr, &change, &mem);
	if (err) {
		memory_unpin(&mem);
		return err;
	}
	if (flags & IB_MR_REREG_TRANS) {
		mr_unpin(mr);
		mr_take(mr, &mem);
	}
	spin_lock_bh(&tpte->lock);
	if (flags & IB_MR_REREG_ACCESS)
		tpte->rights = access_to_rights(access);
	if (flags & IB_MR_REREG_PD)
		tpte->pd = pd;
	srnic_tpte_validate(tpte);
	spin_unlock_bh(&tpte->lock);
	return 0;
}

/**
 * srnic_mr_set_key - give the STag of a user's region a key of the program's (MM-02)
 * @ibmr: of a user, Valid; the core excludes other calls on it
 * @key: the low 8 bits of the STag; the index stays the same
 *
 * Accesses during the call find the STag Invalid, as during srnic_mr_rereg(). Context: process,
 * may sleep, for as long as a copy takes.
 *
 * Return: 0; -EBUSY if windows are bound to the region, -EINVAL if it is Invalid, and it is
 * unchanged then.
 */
int srnic_mr_set_key(struct ib_mr *ibmr, u8 key)
{
	struct srnic_tpte *tpte = &to_srnic_mr(ibmr)->tpte;
	int err = 0;

	spin_lock_bh(&tpte->lock);
	if (!tpte->valid)
		err = -EINVAL;
	else if (tpte->windows)
		err = -EBUSY;
	else
		WRITE_ONCE(tpte->valid, false);
	spin_unlock_bh(&tpte->lock);
	if (err)
		return err;
	srnic_tpt_quiesce(tpte);
	ib_update_fast_reg_key(ibmr, key);
	spin_lock_bh(&tpte->lock);
	tpte->stag = ibmr->lkey;
	srnic_tpte_validate(tpte);
	spin_unlock_bh(&tpte->lock);
	return 0;
}

/* Checks the parameters of a region that is to share the memory of @source */
static int check_shared(const struct srnic_mr *source, u64 iova, int access)
{
	const struct srnic_tpte *tpte = &source->tpte;
	const struct ib_umem *umem = source->shared ? source->shared->umem : source->umem;
	u64 last;

	if (access & ~known_access || !umem)
		return -EOPNOTSUPP;
	if (ib_access_writable(access) && !umem->writable)
		return -EACCES;
	if (access & IB_ZERO_BASED)
		return 0;
	/* MR-28: the TO has the same offset in its block as the memory */
	if (((iova ^ tpte->off) & (BIT_ULL(tpte->pbl->shift) - 1)) ||
	    check_add_overflow(iova, tpte->length - 1, &last))
		return -EINVAL;
	return 0;
}

/* MR-27: @mr stays shared. Its memory moves to the struct that the regions share */
static int mr_make_shared(struct srnic_mr *mr)
{
	struct srnic_shared *shared;
	bool valid;

	if (mr->shared)
		return 0;
	shared = kzalloc(sizeof(*shared), GFP_KERNEL_ACCOUNT);
	if (!shared)
		return -ENOMEM;
	spin_lock_bh(&mr->tpte.lock);
	valid = mr->tpte.valid;
	mr->tpte.shared = valid;
	spin_unlock_bh(&mr->tpte.lock);
	if (!valid) {
		kfree(shared);
		return -EINVAL;
	}
	refcount_set(&shared->refs, 1);
	shared->umem = mr->umem;
	shared->pbl = mr->tpte.pbl;
	mr->umem = NULL;
	mr->shared = shared;
	return 0;
}

/* @mr is in the table, and Invalid */
static void mr_share(struct srnic_mr *mr, const struct srnic_mr *source, u64 iova, int access)
{
	struct srnic_tpte *tpte = &mr->tpte;

	refcount_inc(&source->shared->refs);
	mr->shared = source->shared;
	spin_lock_bh(&tpte->lock);
	tpte->pbl = mr->shared->pbl;
	tpte->off = source->tpte.off;
	tpte->base = access & IB_ZERO_BASED ? 0 : iova;
	tpte->length = source->tpte.length;
	tpte->rights = access_to_rights(access);
	tpte->shared = true;
	srnic_tpte_validate(tpte);
	spin_unlock_bh(&tpte->lock);
	mr->ibmr.length = tpte->length;
	mr->ibmr.iova = tpte->base;
	mr->ibmr.page_size = source->ibmr.page_size;
}

/**
 * srnic_mr_reg_shared - register the memory of a region once more (RDMAC verbs 7.3.2.4)
 * @pd: protection domain
 * @source: a user's region of user memory; the core keeps it from being registered anew
 *	    meanwhile. It becomes shared, too
 * @iova: TO of the first byte, unless IB_ZERO_BASED
 * @access: IB_ACCESS_*
 *
 * Neither region can be invalidated; the memory stays pinned until the last of them is
 * deregistered, or gets other memory. Context: process, may sleep.
 *
 * Return: the region or an ERR_PTR, with @source unchanged: -EINVAL if @source is
 * Invalid, if @iova has another offset in its block than @source, or wraps; -EACCES for
 * write rights to memory that was registered for reading; -EOPNOTSUPP for unknown access
 * flags, and for a region of other memory; -ENOMEM.
 */
struct ib_mr *srnic_mr_reg_shared(struct ib_pd *pd, struct ib_mr *source, u64 iova, int access)
{
	struct srnic_mr *from = to_srnic_mr(source);
	struct srnic_mr *mr;
	int err;

	mr = mr_new(pd, SRNIC_STAG_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = mr_insert(mr);
	if (err) {
		mr_free(mr);
		return ERR_PTR(err);
	}
	mutex_lock(&share_mutex);
	err = from->tpte.pbl ? check_shared(from, iova, access) : -EINVAL;
	if (!err)
		err = mr_make_shared(from);
	if (!err)
		mr_share(mr, from, iova, access);
	mutex_unlock(&share_mutex);
	if (err) {
		srnic_mr_dereg(&mr->ibmr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/**
 * srnic_mr_get_dma - create a region of all kernel memory
 * @pd: protection domain
 * @access: IB_ACCESS_*
 *
 * Return: the region, ERR_PTR(-EOPNOTSUPP) or ERR_PTR(-ENOMEM). Context: process, may sleep.
 */
struct ib_mr *srnic_mr_get_dma(struct ib_pd *pd, int access)
{
	struct srnic_mr *mr;
	int err;

	if (access & ~known_access)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_new(pd, SRNIC_STAG_DMA);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->tpte.length = U64_MAX;
	mr->tpte.rights = access_to_rights(access);
	srnic_tpte_validate(&mr->tpte);
	err = mr_insert(mr);
	if (err) {
		mr_free(mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/**
 * srnic_mr_alloc - allocate a Non-Shared STag for fast registration (MR-02, MR-03)
 * @pd: protection domain
 * @type: IB_MR_TYPE_MEM_REG, for page lists; IB_MR_TYPE_SG_GAPS, for block lists
 * @max_sg: number of pages or blocks, 1 to SRNIC_MAX_FR_BLOCKS
 *
 * The region is Invalid until a fast-register WR has been processed. Context: process, may sleep.
 *
 * Return: the region or an ERR_PTR: -EOPNOTSUPP for another type, -EINVAL for
 * a number out of range, -ENOMEM.
 */
struct ib_mr *srnic_mr_alloc(struct ib_pd *pd, enum ib_mr_type type, u32 max_sg)
{
	bool blocks = type == IB_MR_TYPE_SG_GAPS;
	struct srnic_mr *mr;
	int err;

	if (type != IB_MR_TYPE_MEM_REG && !blocks)
		return ERR_PTR(-EOPNOTSUPP);
	if (!max_sg || max_sg > SRNIC_MAX_FR_BLOCKS)
		return ERR_PTR(-EINVAL);
	mr = mr_new(pd, SRNIC_STAG_FAST_REG);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->tpte.pbl = pbl_new(max_sg, blocks);
	mr->next = pbl_new(max_sg, blocks);
	if (!mr->tpte.pbl || !mr->next) {
		err = -ENOMEM;
		goto free;
	}
	err = mr_insert(mr);
	if (err)
		goto free;
	return &mr->ibmr;
free:
	mr_free(mr);
	return ERR_PTR(err);
}

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
	if (access & ~known_access ||
	    (mr->native_local && access_to_rights(access) & SRNIC_REMOTE_RIGHTS) ||
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
		tpte->rights = access_to_rights(access);
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

/**
 * srnic_mr_dereg - end a region (MR-37 to MR-39)
 * @ibmr: any state
 *
 * Waits for accesses in progress; each is one copy long. Context: process, may sleep.
 *
 * Return: 0, or -EBUSY if windows are bound to the region, which is unchanged
 * then.
 */
int srnic_mr_dereg(struct ib_mr *ibmr)
{
	struct srnic_mr *mr = to_srnic_mr(ibmr);
	/* read it first: srnic_tpt_remove() clears the PD */
	struct srnic_holder *holder = srnic_pd_holder(mr->tpte.pd);

	if (srnic_tpt_remove(&mr->tpte))
		return -EBUSY;
	srnic_give(mr->tpte.dev, holder, SRNIC_KIND_MR, 1);
	mr_free(mr);
	return 0;
}
