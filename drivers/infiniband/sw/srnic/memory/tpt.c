// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TPT: lookup, the checks of every access, and invalidation.
 *
 * srnic_tpt_get() finds an entry under RCU, checks the access, and counts it as a
 * user for no longer than a turn of rx or tx takes, with the pages that a copy waits for if they
 * are paged on demand. An invalidation waits until the last user is gone: when it returns nothing
 * touches the memory through the entry any more (SEC-6, MR-36).
 *
 * Many QPs use a region of user memory, or of all memory, at once. Its users are
 * counted per CPU, so that accesses on different CPUs share no cache line. Both the
 * check and the count are under the lock of that CPU's users. An invalidation clears
 * valid and then takes each of these locks: an access has then been counted, or finds
 * the entry Invalid.
 */

#include <linux/random.h>
#include <linux/sched.h>
#include "memory/dmabuf.h"
#include "memory/mw.h"
#include "memory/odp.h"
#include "memory/tpt.h"
#include "queue/state.h"
#include "srnic.h"

#define STAG_TRIES	128

/**
 * srnic_tpt_find - find an entry by the index of its STag
 * @dev: the device
 * @stag: its key is ignored
 *
 * The caller is in an RCU read section, which keeps the entry until the caller has locked it.
 *
 * Context: any.
 * Return: the entry or NULL.
 */
struct srnic_tpte *srnic_tpt_find(struct srnic_device *dev, u32 stag)
{
	return xa_load(&dev->stags, SRNIC_STAG_INDEX(stag));
}

/**
 * srnic_tpt_check - may this access be made? (MR-13 to MR-18, RFC 5041 7.1)
 * @tpte: entry that has the access's STag index
 * @acc: the access; without a length, neither its TO nor its bounds are checked
 *
 * Context: any; a lock of the entry's users is held, or the entry is not in the table. The
 * wrap is checked before the bounds (E-12). The PD of a window that is bound to a QP
 * is not checked (PD-04).
 *
 * Return: SRNIC_TPT_OK or the first error.
 */
enum srnic_tpt_err srnic_tpt_check(const struct srnic_tpte *tpte,
				   const struct srnic_access *acc)
{
	u64 end;

	/* pairs with srnic_tpte_validate() */
	if (!smp_load_acquire(&tpte->valid) || tpte->stag != acc->stag)
		return SRNIC_TPT_STAG;
	if (tpte->qpn ? tpte->qpn != acc->qpn : tpte->pd != acc->pd)
		return SRNIC_TPT_PD;
	if ((tpte->rights & acc->need) != acc->need)
		return SRNIC_TPT_ACCESS;
	if (!acc->length)
		return SRNIC_TPT_OK;
	/* an access that ends exactly at 2^64 does not wrap */
	if (check_add_overflow(acc->to, acc->length - 1, &end))
		return SRNIC_TPT_WRAP;
	if (acc->to < tpte->base || acc->length > tpte->length ||
	    acc->to - tpte->base > tpte->length - acc->length)
		return SRNIC_TPT_BOUNDS;
	return SRNIC_TPT_OK;
}

static struct dma_buf *span_dmabuf(const struct srnic_span *span)
{
	return span->pbl ? span->pbl->dmabuf : NULL;
}

/* The exporter of a DMA buffer waits for devices that write it, and makes it coherent */
static enum srnic_tpt_err span_begin(struct srnic_span *span, bool may_sleep)
{
	struct dma_buf *buf = span_dmabuf(span);

	if (!buf || (may_sleep && !srnic_dmabuf_begin(buf, span->write)))
		return SRNIC_TPT_OK;
	span->pbl = NULL;
	srnic_tpt_put(span);
	return may_sleep ? SRNIC_TPT_ACCESS : SRNIC_TPT_SLEEPS;
}

/* The count for an access that begins on this CPU; the access may end on another one */
static struct srnic_tpt_users *users_here(struct srnic_tpte *tpte)
{
	return tpte->cpu_users ? raw_cpu_ptr(tpte->cpu_users) : &tpte->users;
}

static bool users_left(struct srnic_tpt_users *users)
{
	bool left;

	spin_lock_bh(&users->lock);
	left = users->count;
	spin_unlock_bh(&users->lock);
	return left;
}

/**
 * srnic_tpt_in_use - is an access in progress, on whichever CPU it began?
 * @tpte: its lock may be held
 *
 * Context: process or softirq. When this returns, no access that began earlier is inside
 * srnic_tpt_get() or srnic_tpt_put(). For an entry that is and stays Invalid, false is final.
 */
bool srnic_tpt_in_use(struct srnic_tpte *tpte)
{
	int cpu;

	if (!tpte->cpu_users)
		return users_left(&tpte->users);
	for_each_possible_cpu(cpu)
		if (users_left(per_cpu_ptr(tpte->cpu_users, cpu)))
			return true;
	return false;
}

/* @users->lock is held, and the access passed its check: it begins */
static void span_set(struct srnic_span *span, struct srnic_tpte *tpte,
		     struct srnic_tpt_users *users, const struct srnic_access *acc)
{
	users->count++;
	span->tpte = tpte;
	span->users = users;
	span->pbl = tpte->pbl;
	span->off = acc->to - tpte->base + tpte->off;
	span->left = tpte->length - (acc->to - tpte->base);
	span->write = acc->need & SRNIC_WRITE_RIGHTS;
	span->nofault = acc->nowait || acc->nofault;
}

/* Find the entry and check the access, which begins if there is a @span for it, and no error */
static enum srnic_tpt_err tpt_check(struct srnic_device *dev, const struct srnic_access *acc,
				    struct srnic_span *span)
{
	enum srnic_tpt_err err = SRNIC_TPT_STAG;
	struct srnic_tpt_users *users;
	struct srnic_tpte *tpte;

	rcu_read_lock();
	tpte = srnic_tpt_find(dev, acc->stag);
	if (tpte) {
		users = users_here(tpte);
		spin_lock_bh(&users->lock);
		err = srnic_tpt_check(tpte, acc);
		if (!err && span)
			span_set(span, tpte, users, acc);
		spin_unlock_bh(&users->lock);
	}
	rcu_read_unlock();
	return err;
}

/**
 * srnic_tpt_test - check an access that reads and writes nothing
 * @dev: the device
 * @acc: the access, of any length; not privileged
 *
 * Context: process or softirq. Return: as srnic_tpt_check().
 */
enum srnic_tpt_err srnic_tpt_test(struct srnic_device *dev, const struct srnic_access *acc)
{
	return tpt_check(dev, acc, NULL);
}

/**
 * srnic_tpt_get - check an access and keep its memory until srnic_tpt_put()
 * @dev: the device
 * @acc: the access, length not zero
 * @span: set to the memory
 *
 * Context: process or softirq; may sleep if the memory is a DMA buffer's, unless @acc->nowait
 * is set. Call srnic_tpt_put() soon: deregistration and invalidation wait for it.
 *
 * Return: SRNIC_TPT_OK or the error, with nothing kept; SRNIC_TPT_SLEEPS if the memory needs
 * a caller that may sleep.
 */
enum srnic_tpt_err srnic_tpt_get(struct srnic_device *dev,
				 const struct srnic_access *acc,
				 struct srnic_span *span)
{
	enum srnic_tpt_err err;

	memset(span, 0, sizeof(*span));
	if (!acc->stag) {
		span->off = acc->to;
		return acc->privileged ? SRNIC_TPT_OK : SRNIC_TPT_STAG;
	}
	err = tpt_check(dev, acc, span);
	return err ?: span_begin(span, !acc->nowait);
}

/**
 * srnic_tpt_put - end an access
 * @span: from srnic_tpt_get(); once more, or after an error, nothing is done
 *
 * Context: process or softirq; may sleep if the memory is a DMA buffer's.
 */
void srnic_tpt_put(struct srnic_span *span)
{
	struct srnic_tpt_users *users = span->users;
	struct srnic_tpte *tpte = span->tpte;
	struct dma_buf *buf;

	if (!tpte)	/* what it was of may be freed */
		return;
	buf = span_dmabuf(span);
	if (buf)
		srnic_dmabuf_end(buf, span->write);
	span->tpte = NULL;
	spin_lock_bh(&users->lock);
	/* under the lock: see srnic_tpt_remove() */
	if (!--users->count && !READ_ONCE(tpte->valid))
		wake_up_all(&tpte->idle);
	spin_unlock_bh(&users->lock);
}

/* srnic_span_addr() in a block list: the first block that ends behind @off has it */
static void *block_addr(const struct srnic_pbl *pbl, u64 off, u32 *len)
{
	u32 low = 0, high = pbl->count - 1;

	while (low < high) {
		u32 mid = (low + high) / 2;

		if (off < pbl->ends[mid])
			high = mid;
		else
			low = mid + 1;
	}
	*len = min_t(u64, *len, pbl->ends[low] - off);
	return (void *)(uintptr_t)(pbl->addr[low] + off - (low ? pbl->ends[low - 1] : 0));
}

/**
 * srnic_span_addr - address of an octet of an access
 * @span: from srnic_tpt_get()
 * @at: the octet, counted from the start of the access
 * @len: in: octets wanted; out: contiguous octets, at most as many as wanted
 *
 * Memory that is paged on demand has none: see srnic_span_visit(). Context: any.
 * Return: kernel address.
 */
void *srnic_span_addr(const struct srnic_span *span, u64 at, u32 *len)
{
	const struct srnic_pbl *pbl = span->pbl;
	u64 off = span->off + at, in_block;

	if (!pbl)
		return (void *)(uintptr_t)off;
	if (unlikely(!pbl->shift))
		return block_addr(pbl, off, len);
	in_block = off & (BIT_ULL(pbl->shift) - 1);
	*len = min_t(u64, *len, BIT_ULL(pbl->shift) - in_block);
	return (void *)(uintptr_t)(pbl->addr[off >> pbl->shift] + in_block);
}

static bool span_is_odp(const struct srnic_span *span)
{
	return span->pbl && span->pbl->odp;
}

static enum srnic_tpt_err span_walk(const struct srnic_span *span, u64 at, u32 len,
				    srnic_span_fn fn, void *ctx)
{
	int err = srnic_odp_walk(span->pbl->odp, span->off + at, len, span->write, !span->nofault,
				 fn, ctx);

	if (err == -EAGAIN)
		return SRNIC_TPT_SLEEPS;
	return err ? SRNIC_TPT_ACCESS : SRNIC_TPT_OK;
}

static void copy_out(void *ctx, void *at, u32 len)
{
	u8 **dst = ctx;

	memcpy(*dst, at, len);
	*dst += len;
}

static void copy_in(void *ctx, void *at, u32 len)
{
	const u8 **src = ctx;

	memcpy(at, *src, len);
	*src += len;
}

/**
 * srnic_span_read - copy out of the memory of an access
 * @span: from srnic_tpt_get()
 * @at: first octet to copy, counted from the start of the access
 * @dst: the destination
 * @len: octets, within the access
 *
 * Context: process or softirq; sleeps only if the memory is paged on demand, and the access says
 * neither nowait nor nofault.
 *
 * Return: SRNIC_TPT_OK. Of memory that is paged on demand also SRNIC_TPT_SLEEPS if a page is not
 * here and the access says nowait or nofault, SRNIC_TPT_ACCESS if the process does not have it.
 */
enum srnic_tpt_err srnic_span_read(const struct srnic_span *span, u64 at, void *dst, u32 len)
{
	if (unlikely(span_is_odp(span)))
		return span_walk(span, at, len, copy_out, &dst);
	while (len) {
		u32 n = len;
		const void *src = srnic_span_addr(span, at, &n);

		memcpy(dst, src, n);
		dst += n;
		at += n;
		len -= n;
	}
	return SRNIC_TPT_OK;
}

/**
 * srnic_span_write - copy into the memory of an access
 * @span: from srnic_tpt_get()
 * @at: first octet to copy to, counted from the start of the access
 * @src: the source
 * @len: octets, within the access
 *
 * Context: as srnic_span_read().
 * Return: as srnic_span_read(); in case of an error some octets may have been copied.
 */
enum srnic_tpt_err srnic_span_write(const struct srnic_span *span, u64 at, const void *src,
				    u32 len)
{
	if (unlikely(span_is_odp(span)))
		return span_walk(span, at, len, copy_in, &src);
	while (len) {
		u32 n = len;
		void *dst = srnic_span_addr(span, at, &n);

		memcpy(dst, src, n);
		src += n;
		at += n;
		len -= n;
	}
	return SRNIC_TPT_OK;
}

/**
 * srnic_span_visit - do something to the memory of an access, where it is
 * @span: from srnic_tpt_get()
 * @at: first octet, counted from the start of the access
 * @len: octets, within the access
 * @fn: called for each contiguous piece, in order
 * @ctx: its argument
 *
 * Context: as srnic_span_read().
 * Return: as srnic_span_read(); in case of an error @fn may have been called for some pieces.
 */
enum srnic_tpt_err srnic_span_visit(const struct srnic_span *span, u64 at, u32 len,
				    srnic_span_fn fn, void *ctx)
{
	if (span_is_odp(span))
		return span_walk(span, at, len, fn, ctx);
	while (len) {
		u32 n = len;
		void *piece = srnic_span_addr(span, at, &n);

		fn(ctx, piece, n);
		at += n;
		len -= n;
	}
	return SRNIC_TPT_OK;
}

static void touch(void *ctx, void *at, u32 len)
{
}

/**
 * srnic_tpt_take_in - take in the pages of an access that will be made
 * @dev: the device
 * @acc: the access, of an FPDU at most
 *
 * Of memory that is paged on demand. The pages may go again before the access, and what is wrong
 * with it shows when it is made. Context: process, may sleep, for as long as the pages take;
 * deregistration and invalidation wait for it.
 */
void srnic_tpt_take_in(struct srnic_device *dev, const struct srnic_access *acc)
{
	struct srnic_access now = *acc;
	struct srnic_span span;

	now.nowait = false;
	now.nofault = false;
	if (srnic_tpt_get(dev, &now, &span))
		return;
	if (span_is_odp(&span))
		span_walk(&span, 0, now.length, touch, NULL);
	srnic_tpt_put(&span);
}

/**
 * srnic_tpte_init - prepare an entry: Invalid, not in the table
 * @tpte: zeroed
 * @pd: protection domain
 * @type: of the region or window
 * Context: any.
 */
void srnic_tpte_init(struct srnic_tpte *tpte, struct ib_pd *pd, enum srnic_stag_type type)
{
	tpte->dev = to_srnic_dev(pd->device);
	tpte->type = type;
	tpte->pd = pd;
	spin_lock_init(&tpte->users.lock);
	spin_lock_init(&tpte->lock);
	init_waitqueue_head(&tpte->idle);
}

/**
 * srnic_tpte_spread - count the users of an entry per CPU
 * @tpte: initialised, not in the table; free_percpu(@tpte->cpu_users) after a grace period
 *
 * For entries that many QPs use. If the allocation fails, all CPUs share one count. Context:
 * process, may sleep.
 */
void srnic_tpte_spread(struct srnic_tpte *tpte)
{
	int cpu;

	tpte->cpu_users = alloc_percpu_gfp(struct srnic_tpt_users, SRNIC_GFP_USER);
	if (!tpte->cpu_users)
		return;
	for_each_possible_cpu(cpu)
		spin_lock_init(&per_cpu_ptr(tpte->cpu_users, cpu)->lock);
}

/**
 * srnic_tpt_insert_drawn - give an entry a drawn STag and put it into the table
 * @tpte: initialised; a lookup may find it at once
 * @draw: returns an STag; called once for each try, may sleep
 *
 * At most a fraction of the 2^24 indexes are in use, so a few tries find a free
 * one. The caller enforces the limit of entries. Context: process, may sleep.
 *
 * Return: 0 or -ENOMEM.
 */
int srnic_tpt_insert_drawn(struct srnic_tpte *tpte, u32 (*draw)(void))
{
	int tries, err;

	for (tries = 0; tries < STAG_TRIES; tries++) {
		u32 stag = draw();

		if (!SRNIC_STAG_INDEX(stag))	/* index 0 is reserved (MM-07) */
			continue;
		tpte->stag = stag;
		err = xa_insert(&tpte->dev->stags, SRNIC_STAG_INDEX(stag), tpte, GFP_KERNEL);
		if (!err)
			return 0;
		if (err != -EBUSY)
			break;
	}
	return -ENOMEM;
}

static u32 random_stag(void)
{
	return get_random_u32();
}

/**
 * srnic_tpt_insert - give an entry a random STag and put it into the table (SEC-8)
 * @tpte: initialised; a lookup may find it at once
 *
 * Context: process, may sleep.
 * Return: as srnic_tpt_insert_drawn().
 */
int srnic_tpt_insert(struct srnic_tpte *tpte)
{
	return srnic_tpt_insert_drawn(tpte, random_stag);
}

/**
 * srnic_tpt_remove - take an entry out of the table, in any state
 * @tpte: was inserted
 *
 * Waits for accesses in progress, as srnic_tpt_quiesce() does. Afterwards no access
 * uses the entry, but a lookup may still hold its lock: free it after a grace
 * period. Context: process, may sleep.
 *
 * Return: 0; -EBUSY if windows are bound to the region, which is unchanged
 * then (MR-38).
 */
int srnic_tpt_remove(struct srnic_tpte *tpte)
{
	spin_lock_bh(&tpte->lock);
	if (tpte->windows) {
		spin_unlock_bh(&tpte->lock);
		return -EBUSY;
	}
	WRITE_ONCE(tpte->valid, false);
	srnic_tpt_in_use(tpte);
	tpte->pd = NULL;	/* a lookup finds no PD that matches */
	spin_unlock_bh(&tpte->lock);
	xa_erase(&tpte->dev->stags, SRNIC_STAG_INDEX(tpte->stag));
	/* srnic_tpt_in_use() takes the users' locks: the srnic_tpt_put() that woke us is over */
	wait_event(tpte->idle, !srnic_tpt_in_use(tpte) && !READ_ONCE(tpte->holds));
	/* a srnic_tpt_release() that woke us may still hold this lock */
	spin_lock_bh(&tpte->lock);
	spin_unlock_bh(&tpte->lock);
	return 0;
}

/**
 * srnic_tpt_hold - keep an entry from being freed
 * @tpte: found under RCU
 *
 * Context: process or softirq.
 * Return: true, and srnic_tpt_remove() waits for srnic_tpt_release(); false if
 * the entry is being removed.
 */
bool srnic_tpt_hold(struct srnic_tpte *tpte)
{
	bool there;

	spin_lock_bh(&tpte->lock);
	there = tpte->pd;
	tpte->holds += there;
	spin_unlock_bh(&tpte->lock);
	return there;
}

/**
 * srnic_tpt_release - undo srnic_tpt_hold()
 * @tpte: not to be touched afterwards
 * Context: process or softirq.
 */
void srnic_tpt_release(struct srnic_tpte *tpte)
{
	spin_lock_bh(&tpte->lock);
	if (!--tpte->holds)
		wake_up_all(&tpte->idle);
	spin_unlock_bh(&tpte->lock);
}

/* Under the lock: srnic_tpt_put() wakes a task that has got false here */
static bool tpte_quiet(struct srnic_tpte *tpte)
{
	bool quiet;

	spin_lock_bh(&tpte->lock);
	quiet = tpte->valid || !srnic_tpt_in_use(tpte);
	spin_unlock_bh(&tpte->lock);
	return quiet;
}

/**
 * srnic_tpt_quiesce - wait for the accesses in progress through an entry
 * @tpte: was just made Invalid, so that no access begins; it is held, or the
 *	  caller keeps it from being removed
 *
 * Another task may have waited for the same accesses, and have made the entry Valid
 * again, before this one runs. An entry becomes Valid only without users, so
 * the accesses waited for have ended then, too. Context: process, may sleep, for as long as a
 * copy takes, with the pages that it waits for if they are paged on demand.
 */
void srnic_tpt_quiesce(struct srnic_tpte *tpte)
{
	wait_event(tpte->idle, tpte_quiet(tpte));
}

/**
 * srnic_tpt_suspend - make a region Invalid, so that it can be registered anew
 * @tpte: in any state; the caller keeps it from being removed
 *
 * Afterwards nothing touches the memory through the STag. Context: process, may sleep, as
 * srnic_tpt_quiesce().
 *
 * Return: 0; -EBUSY if windows are bound to the region, which is unchanged then (MR-23).
 */
int srnic_tpt_suspend(struct srnic_tpte *tpte)
{
	bool busy;

	spin_lock_bh(&tpte->lock);
	busy = tpte->windows;
	if (!busy)
		WRITE_ONCE(tpte->valid, false);
	spin_unlock_bh(&tpte->lock);
	if (busy)
		return -EBUSY;
	srnic_tpt_quiesce(tpte);
	return 0;
}

/* tpte->lock is held. May @qp invalidate the entry? (MR-32, MR-33, MW-14) */
static enum srnic_inv_err check_invalidate(const struct srnic_tpte *tpte,
					   const struct srnic_qp *qp, u32 stag,
					   bool remote)
{
	const u8 enables = SRNIC_QP_READ_ENABLED | SRNIC_QP_WRITE_ENABLED;

	if (tpte->valid && tpte->stag != stag)
		return SRNIC_INV_STAG;
	/* regions of all memory and shared ones stay Valid; verbs invalidate no window of type 1 */
	if (tpte->type == SRNIC_STAG_DMA || tpte->type == SRNIC_STAG_PD_WINDOW || tpte->shared)
		return SRNIC_INV_ACCESS;
	if (tpte->valid && tpte->qpn ? tpte->qpn != qp->ibqp.qp_num : tpte->pd != qp->ibqp.pd)
		return SRNIC_INV_PD;
	/*
	 * All streams of the PD may use a region of user memory: no single peer may
	 * invalidate it (SEC-7).
	 */
	if (remote && (tpte->type == SRNIC_STAG_USER || !(READ_ONCE(qp->enables) & enables) ||
		       (tpte->valid && !(tpte->rights & SRNIC_REMOTE_RIGHTS))))
		return SRNIC_INV_ACCESS;
	if (tpte->windows)
		return SRNIC_INV_BOUND;
	return SRNIC_INV_OK;
}

/*
 * tpte->lock is held. No access begins after this. Return: SRNIC_INV_BUSY, with the entry
 * unchanged, if accesses are in progress and !@may_sleep.
 */
static enum srnic_inv_err make_invalid(struct srnic_tpte *tpte, bool may_sleep, bool *busy)
{
	bool valid = tpte->valid;

	WRITE_ONCE(tpte->valid, false);
	*busy = srnic_tpt_in_use(tpte);
	if (!*busy || may_sleep)
		return SRNIC_INV_OK;
	if (valid)
		srnic_tpte_validate(tpte);
	return SRNIC_INV_BUSY;
}

/* Return: SRNIC_INV_BUSY if accesses are in progress and !@may_sleep */
static enum srnic_inv_err tpt_invalidate(struct srnic_qp *qp, u32 stag, bool remote,
					 bool may_sleep)
{
	struct srnic_tpte *tpte;
	enum srnic_inv_err err;
	bool busy = false, held = false;

	rcu_read_lock();
	tpte = srnic_tpt_find(qp->dev, stag);
	if (!tpte) {
		rcu_read_unlock();
		return SRNIC_INV_STAG;
	}
	spin_lock_bh(&tpte->lock);
	/*
	 * An entry that is Invalid already may still have users, for which another
	 * invalidation waits, and a window may still have its region.
	 */
	err = check_invalidate(tpte, qp, stag, remote) ?: make_invalid(tpte, may_sleep, &busy);
	if (!err) {
		held = busy || srnic_tpte_is_window(tpte);
		tpte->holds += held;
	}
	spin_unlock_bh(&tpte->lock);
	rcu_read_unlock();
	if (!held)
		return err;
	if (busy)
		srnic_tpt_quiesce(tpte);
	if (srnic_tpte_is_window(tpte))
		srnic_mw_unbind(tpte);
	srnic_tpt_release(tpte);
	return SRNIC_INV_OK;
}

/**
 * srnic_tpt_invalidate - Valid to Invalid (RDMAC verbs 7.8, 7.10.4)
 * @qp: the QP that asks, or whose peer asks
 * @stag: all 32 bits; 0 can never be invalidated (MM-12)
 * @remote: the peer asks, with a Send with Invalidate
 *
 * An STag that is Invalid already stays so, without an error. When this returns nothing touches
 * the memory through the STag (MR-36). Context: process, may sleep, as srnic_tpt_quiesce().
 *
 * Return: SRNIC_INV_OK, or the first error, and nothing has changed.
 */
enum srnic_inv_err srnic_tpt_invalidate(struct srnic_qp *qp, u32 stag, bool remote)
{
	return tpt_invalidate(qp, stag, remote, true);
}

/**
 * srnic_tpt_try_invalidate - srnic_tpt_invalidate() that does not wait
 * @qp: the QP that asks, or whose peer asks
 * @stag: all 32 bits
 * @remote: the peer asks, with a Send with Invalidate
 *
 * Context: process or softirq. Return: as srnic_tpt_invalidate(); SRNIC_INV_BUSY, with the
 * entry unchanged, if accesses are in progress.
 */
enum srnic_inv_err srnic_tpt_try_invalidate(struct srnic_qp *qp, u32 stag, bool remote)
{
	return tpt_invalidate(qp, stag, remote, false);
}
