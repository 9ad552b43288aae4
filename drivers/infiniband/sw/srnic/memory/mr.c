// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Memory regions (RDMAC verbs 7.3): of user memory, of all memory, for fast registration. */

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include "compat.h"
#include "memory/dm.h"
#include "memory/mr.h"
#include "memory/odp.h"
#include "queue/holder.h"
#include "queue/state.h"
#include "srnic.h"

/**
 * srnic_access_to_rights - rights of a region
 * @access: IB_ACCESS_*
 *
 * Context: any. Return: SRNIC_* rights.
 */
u16 srnic_access_to_rights(int access)
{
	u16 rights = SRNIC_LOCAL_READ;	/* Linux has no write-only regions */

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
	if (access & IB_ACCESS_FLUSH_GLOBAL)
		rights |= SRNIC_FLUSH_GLOBAL;
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

static void pbl_free(struct srnic_pbl *pbl)
{
	if (pbl)
		srnic_odp_free(pbl->odp);
	kvfree(pbl);
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
	pbl_free(shared->pbl);
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
	pbl_free(mr->tpte.pbl);
	pbl_free(mr->next);
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
	pbl->odp = NULL;
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
 * @on_demand: it is not pinned
 * @pbl: its blocks
 * @base: TO of the first byte
 * @off: of the first byte in its block
 * @length: bytes
 */
struct mr_memory {
	struct ib_umem *umem;
	bool on_demand;
	struct srnic_pbl *pbl;
	u64 base;
	u64 off;
	u64 length;
};

/* Huge pages of pinned memory need no flag */
static int check_user_access(int access)
{
	if (access & IB_ACCESS_HUGETLB && !(access & IB_ACCESS_ON_DEMAND))
		return -EOPNOTSUPP;
	return access & ~SRNIC_USER_MR_ACCESS ? -EOPNOTSUPP : 0;
}

/* All of the address space, whatever the process has there, is registered by this range */
static int check_range(u64 start, u64 length, u64 iova, bool on_demand)
{
	u64 last;

	if (on_demand && !start && length == U64_MAX)
		return iova ? -EINVAL : 0;
	return !length || length > SRNIC_MAX_MR_SIZE ||
	       check_add_overflow(iova, length - 1, &last) ? -EINVAL : 0;
}

/* Memory whose pages are taken in when they are accessed. The range is checked */
static int memory_on_demand(struct ib_device *dev, u64 start, u64 length, struct mr_memory *mem)
{
	struct srnic_pbl *pbl = pbl_new(0, false);
	struct srnic_odp *odp;

	if (!pbl)
		return -ENOMEM;
	odp = srnic_odp_new(to_srnic_dev(dev), start, length);
	if (IS_ERR(odp)) {
		pbl_free(pbl);
		return PTR_ERR(odp);
	}
	pbl->odp = odp;
	mem->pbl = pbl;
	mem->on_demand = true;
	mem->off = start;
	return 0;
}

/* Pin user memory and list its blocks. The range is checked */
static int memory_pin(struct ib_device *dev, u64 start, u64 length, u64 first, int access,
		      struct mr_memory *mem)
{
	struct ib_umem *umem = ib_umem_get_va(dev, start, length, access);
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
	mem->off = first & (block - 1);
	return 0;
release:
	ib_umem_release(umem);
	return err;
}

/* The range is checked */
static int memory_get(struct ib_device *dev, u64 start, u64 length, u64 iova, int access,
		      bool zero_based, struct mr_memory *mem)
{
	mem->base = zero_based ? 0 : iova;
	mem->length = length;
	if (access & IB_ACCESS_ON_DEMAND)
		return memory_on_demand(dev, start, length, mem);
	return memory_pin(dev, start, length, zero_based ? start : iova, access, mem);
}

static void memory_put(struct mr_memory *mem)
{
	pbl_free(mem->pbl);
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
	mr->on_demand = mem->on_demand;
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
	pbl_free(pbl);
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
 * Pins the pages for as long as the region lives, within RLIMIT_MEMLOCK; with IB_ACCESS_ON_DEMAND
 * none is pinned. With that flag a @start of 0 and a @length of U64_MAX are all of the address
 * space. Context: process, may sleep.
 *
 * Return: the region or an ERR_PTR: -EINVAL for a length of zero, one beyond max_mr_size, or one
 * that wraps, -EOPNOTSUPP for unknown access flags, -ENOMEM, -EFAULT; -EINTR with
 * IB_ACCESS_ON_DEMAND, if a signal is pending.
 */
struct ib_mr *srnic_mr_reg_user(struct ib_pd *pd, u64 start, u64 length,
				u64 iova, int access)
{
	struct mr_memory mem = { };
	struct srnic_mr *mr;
	int err;

	err = check_user_access(access) ?:
	      check_range(start, length, iova, access & IB_ACCESS_ON_DEMAND);
	if (err)
		return ERR_PTR(err);
	mr = mr_new(pd, SRNIC_STAG_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = memory_get(pd->device, start, length, iova, access, access & IB_ZERO_BASED, &mem);
	if (err)
		goto free;
	mr_take(mr, &mem);
	mr->tpte.rights = srnic_access_to_rights(access);
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
	mr->tpte.rights = srnic_access_to_rights(access);
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

	if (access & ~SRNIC_MR_ACCESS)
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

	if (access & ~SRNIC_MR_ACCESS)
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

/* share_mutex is held, as another call may share the region */
static struct ib_umem **mr_umem(struct srnic_mr *mr)
{
	return mr->shared ? &mr->shared->umem : &mr->umem;
}

/*
 * Pages that were pinned for reading may belong to a read-only mapping. Pin them
 * once more for writing, and check that it is the same memory. The core keeps others from
 * registering the region anew, though not from sharing it.
 */
static int mr_make_writable(struct srnic_mr *mr, int access)
{
	unsigned long block = BIT_ULL(mr->tpte.pbl->shift);
	u64 start, length, iova;
	struct ib_umem *umem;
	struct srnic_pbl *pbl;
	bool writable;
	int err = -EFAULT;

	/* the mutex is not held over the pinning, which may take as long as the process likes */
	mutex_lock(&share_mutex);
	umem = *mr_umem(mr);
	start = umem->address;
	length = umem->length;
	iova = umem->iova;
	writable = umem->writable;
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
		swap(*mr_umem(mr), umem);
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
 * @on_demand: valid in any case
 */
struct mr_change {
	int flags;
	u64 start;
	u64 length;
	u64 iova;
	int access;
	bool zero_based;
	bool on_demand;
};

/* Checks what can be checked before the region is made Invalid: after an error it is unchanged */
static int check_change(struct srnic_mr *mr, const struct mr_change *c)
{
	int err = c->flags & IB_MR_REREG_ACCESS ? check_user_access(c->access) : 0;

	if (err)
		return err;
	if (c->flags & IB_MR_REREG_TRANS)
		return check_range(c->start, c->length, c->iova, c->on_demand);
	if (!mr->umem && !mr->shared && !(mr->on_demand && mr->tpte.pbl))
		return -EINVAL;
	/* these may change only together with the translation */
	return c->zero_based == !!(mr->tpte.rights & SRNIC_ZERO_BASED) &&
	       c->on_demand == mr->on_demand ? 0 : -EINVAL;
}

/* Gets the memory that the change needs: new memory in @mem; or the old memory, made writable */
static int get_memory(struct srnic_mr *mr, const struct mr_change *c, struct mr_memory *mem)
{
	int access = c->access;

	if (!(c->flags & IB_MR_REREG_ACCESS))
		access = (mr->tpte.rights & SRNIC_LOCAL_WRITE ? IB_ACCESS_LOCAL_WRITE : 0) |
			 (c->on_demand ? IB_ACCESS_ON_DEMAND : 0);
	if (c->flags & IB_MR_REREG_TRANS)
		return memory_get(mr->ibmr.device, c->start, c->length, c->iova, access,
				  c->zero_based, mem);
	/* whether the process may write to a page that is paged on demand is seen at the access */
	return ib_access_writable(access) && !c->on_demand ? mr_make_writable(mr, access) : 0;
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
 * @access: IB_ACCESS_*, with IB_MR_REREG_ACCESS. IB_ZERO_BASED and IB_ACCESS_ON_DEMAND may
 *	    change only together with the translation
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
		.on_demand = flags & IB_MR_REREG_ACCESS ? access & IB_ACCESS_ON_DEMAND :
							  mr->on_demand,
	};
	struct mr_memory mem = { };
	int err = check_change(mr, &change);

	if (!err)
		err = change_memory(mr, &change, &mem);
	if (err) {
		memory_put(&mem);
		return err;
	}
	if (flags & IB_MR_REREG_TRANS) {
		mr_unpin(mr);
		mr_take(mr, &mem);
	}
	spin_lock_bh(&tpte->lock);
	if (flags & IB_MR_REREG_ACCESS)
		tpte->rights = srnic_access_to_rights(access);
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
 * may sleep, as srnic_tpt_quiesce().
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

/*
 * Checks the parameters of a region that is to share the memory of @source. Return: -EACCES if the
 * only fault is that the memory was pinned for reading
 */
static int check_shared(struct srnic_mr *source, u64 iova, int access)
{
	const struct srnic_tpte *tpte = &source->tpte;
	const struct ib_umem *umem = *mr_umem(source);
	u64 last;

	if (access & ~SRNIC_MR_ACCESS || !umem)
		return -EOPNOTSUPP;
	/* MR-28: the TO has the same offset in its block as the memory */
	if (!(access & IB_ZERO_BASED) &&
	    (((iova ^ tpte->off) & (BIT_ULL(tpte->pbl->shift) - 1)) ||
	     check_add_overflow(iova, tpte->length - 1, &last)))
		return -EINVAL;
	return ib_access_writable(access) && !umem->writable ? -EACCES : 0;
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
	tpte->rights = srnic_access_to_rights(access);
	tpte->shared = true;
	srnic_tpte_validate(tpte);
	spin_unlock_bh(&tpte->lock);
	mr->ibmr.length = tpte->length;
	mr->ibmr.iova = tpte->base;
	mr->ibmr.page_size = source->ibmr.page_size;
}

/* Return: as srnic_mr_reg_shared(), but -EACCES as check_shared(); then @from is unchanged */
static int share_memory(struct srnic_mr *mr, struct srnic_mr *from, u64 iova, int access)
{
	int err;

	mutex_lock(&share_mutex);
	err = from->tpte.pbl ? check_shared(from, iova, access) : -EINVAL;
	if (!err)
		err = mr_make_shared(from);
	if (!err)
		mr_share(mr, from, iova, access);
	mutex_unlock(&share_mutex);
	return err;
}

/**
 * srnic_mr_reg_shared - register the memory of a region once more (RDMAC verbs 7.3.2.4)
 * @pd: protection domain
 * @source: a user's region of user memory; the core keeps it from being registered anew
 *	    meanwhile. It becomes shared, too
 * @iova: TO of the first byte, unless IB_ZERO_BASED
 * @access: IB_ACCESS_*, whatever those of @source are
 *
 * Neither region can be invalidated; the memory stays pinned until the last of them is
 * deregistered, or gets other memory. Context: process, may sleep.
 *
 * Return: the region or an ERR_PTR, with @source unchanged: -EINVAL if @source is
 * Invalid, if @iova has another offset in its block than @source, or wraps; -EACCES for
 * write rights to memory that the calling process cannot write to, or does not have; -EOPNOTSUPP
 * for unknown access flags, and for a region of other memory; -ENOMEM.
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
	err = share_memory(mr, from, iova, access);
	if (err == -EACCES) {
		err = mr_make_writable(from, access);
		if (!err)
			err = share_memory(mr, from, iova, access);
		else if (err == -EFAULT)
			err = -EACCES;
	}
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

	if (access & ~SRNIC_MR_ACCESS)
		return ERR_PTR(-EOPNOTSUPP);
	mr = mr_new(pd, SRNIC_STAG_DMA);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->tpte.length = U64_MAX;
	mr->tpte.rights = srnic_access_to_rights(access);
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
 * srnic_mr_dereg - end a region (MR-37 to MR-39)
 * @ibmr: any state
 *
 * Waits for accesses in progress, as srnic_tpt_quiesce() does. Context: process, may sleep.
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

/*
 * The peer is not involved: the rights are the region's, not the remote ones. Return: 0, and @span
 * is kept
 */
static int advise_begin(struct ib_pd *pd, const struct ib_sge *sge, bool write,
			struct srnic_span *span)
{
	const struct srnic_access acc = {
		.stag = sge->lkey,
		.to = sge->addr,
		.length = sge->length,
		.need = write ? SRNIC_LOCAL_WRITE : SRNIC_LOCAL_READ,
		.pd = pd,
		.nowait = true,
	};

	switch (srnic_tpt_get(to_srnic_dev(pd->device), &acc, span)) {
	case SRNIC_TPT_OK:
		break;
	case SRNIC_TPT_PD:
	case SRNIC_TPT_ACCESS:
		return -EPERM;
	case SRNIC_TPT_SLEEPS:	/* of a DMA buffer */
		return -EINVAL;
	default:
		return -EFAULT;
	}
	if (!span->pbl || !span->pbl->odp) {
		srnic_tpt_put(span);
		return -EINVAL;
	}
	return 0;
}

/**
 * srnic_mr_advise - take pages of regions in before they are accessed
 * @pd: of the regions
 * @advice: IB_UVERBS_ADVISE_MR_ADVICE_*
 * @flags: ignored: the pages are here when the call returns
 * @sge: parts of regions that are paged on demand
 * @count: of them
 * @attrs: of the call
 *
 * Context: process, may sleep; a signal that ends the task ends the call. The deregistration of a
 * region waits for it.
 *
 * Return: 0; -EOPNOTSUPP for another advice; -EFAULT for memory that the process does not have,
 * an unknown lkey, or a part that is not in the region; -EPERM for a region of another PD, or one
 * that may not be written if that is advised; -EINVAL for a region of other memory; -ENOMEM;
 * -EINTR. Parts before the one with the error are here then.
 */
int srnic_mr_advise(struct ib_pd *pd, enum ib_uverbs_advise_mr_advice advice, u32 flags,
		    struct ib_sge *sge, u32 count, struct uverbs_attr_bundle *attrs)
{
	enum srnic_odp_want want;
	u32 i;

	switch (advice) {
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH:
		want = SRNIC_ODP_READ;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		want = SRNIC_ODP_WRITE;
		break;
	case IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		want = SRNIC_ODP_PRESENT;
		break;
	default:
		return -EOPNOTSUPP;
	}
	for (i = 0; i < count; i++) {
		struct srnic_span span;
		int err;

		if (!sge[i].length)
			continue;
		err = advise_begin(pd, &sge[i], want == SRNIC_ODP_WRITE, &span);
		if (err)
			return err;
		err = srnic_odp_prefetch(span.pbl->odp, span.off, sge[i].length, want);
		srnic_tpt_put(&span);
		if (err)
			return err;
	}
	return 0;
}
