// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TPT: lookup, the checks of every access, and invalidation.
 *
 * srnic_tpt_get() finds an entry under RCU, checks the access under the
 * entry's lock, and counts as a user for no longer than one copy takes. Who
 * takes an entry out of Valid state waits until the last user is gone: when
 * that is done nothing touches the memory through it any more (SEC-6, MR-36).
 */

#include <linux/random.h>
#include <linux/sched.h>
#include "memory/dmabuf.h"
#include "memory/mw.h"
#include "memory/tpt.h"
#include "queue/state.h"
#include "srnic.h"

#define STAG_TRIES	128

/**
 * srnic_tpt_find - find an entry by the index of its STag
 * @dev: whose table
 * @stag: its key is not looked at
 *
 * Within an RCU read section, which keeps the entry for the caller to lock.
 *
 * Return: the entry or NULL.
 */
struct srnic_tpte *srnic_tpt_find(struct srnic_device *dev, u32 stag)
{
	return xa_load(&dev->stags, SRNIC_STAG_INDEX(stag));
}

/**
 * srnic_tpt_check - may this access be made? (MR-13 to MR-18, RFC 5041 7.1)
 * @tpte: entry that has the access's STag index
 * @acc: the access, length not zero
 *
 * Any context; the entry's lock is held or nobody else has the entry. The
 * wrap is looked for before the bounds (E-12). A window that is bound to a QP
 * has no PD to match (PD-04).
 *
 * Return: SRNIC_TPT_OK or the first thing wrong.
 */
enum srnic_tpt_err srnic_tpt_check(const struct srnic_tpte *tpte,
				   const struct srnic_access *acc)
{
	u64 end;

	if (!tpte->valid || tpte->stag != acc->stag)
		return SRNIC_TPT_STAG;
	if (tpte->qpn ? tpte->qpn != acc->qpn : tpte->pd != acc->pd)
		return SRNIC_TPT_PD;
	if ((tpte->rights & acc->need) != acc->need)
		return SRNIC_TPT_ACCESS;
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

/* The owner of a DMA buffer makes what devices wrote visible, or waits for them to end */
static enum srnic_tpt_err span_begin(struct srnic_span *span, bool may_sleep)
{
	struct dma_buf *buf = span_dmabuf(span);

	if (!buf || (may_sleep && !srnic_dmabuf_begin(buf, span->write)))
		return SRNIC_TPT_OK;
	span->pbl = NULL;
	srnic_tpt_put(span);
	return may_sleep ? SRNIC_TPT_ACCESS : SRNIC_TPT_SLEEPS;
}

/**
 * srnic_tpt_get - check an access and keep the memory there meanwhile
 * @dev: whose table
 * @acc: the access, length not zero
 * @span: set to where the memory is
 *
 * Process context or softirq; may sleep if the memory is a DMA buffer's, unless @acc says
 * that the caller may not. Call srnic_tpt_put() soon: deregistration and invalidation
 * wait for it.
 *
 * Return: SRNIC_TPT_OK or what is wrong, with nothing kept; SRNIC_TPT_SLEEPS if only a
 * caller that may sleep can have the memory.
 */
enum srnic_tpt_err srnic_tpt_get(struct srnic_device *dev,
				 const struct srnic_access *acc,
				 struct srnic_span *span)
{
	enum srnic_tpt_err err = SRNIC_TPT_STAG;
	struct srnic_tpte *tpte;

	memset(span, 0, sizeof(*span));
	if (!acc->stag) {
		span->off = acc->to;
		return acc->privileged ? SRNIC_TPT_OK : SRNIC_TPT_STAG;
	}
	rcu_read_lock();
	tpte = srnic_tpt_find(dev, acc->stag);
	if (tpte) {
		spin_lock_bh(&tpte->lock);
		err = srnic_tpt_check(tpte, acc);
		if (!err) {
			tpte->users++;
			span->tpte = tpte;
			span->pbl = tpte->pbl;
			span->off = acc->to - tpte->base + tpte->off;
			span->write = acc->need & SRNIC_WRITE_RIGHTS;
		}
		spin_unlock_bh(&tpte->lock);
	}
	rcu_read_unlock();
	return err ?: span_begin(span, !acc->nowait);
}

/**
 * srnic_tpt_put - an access is over
 * @span: from srnic_tpt_get()
 *
 * Process context or softirq; may sleep if the memory is a DMA buffer's.
 */
void srnic_tpt_put(struct srnic_span *span)
{
	struct srnic_tpte *tpte = span->tpte;
	struct dma_buf *buf = span_dmabuf(span);

	if (!tpte)
		return;
	if (buf)
		srnic_dmabuf_end(buf, span->write);
	span->tpte = NULL;
	spin_lock_bh(&tpte->lock);
	/* under the lock: see srnic_tpt_remove() */
	if (!--tpte->users && !tpte->valid)
		wake_up_all(&tpte->idle);
	spin_unlock_bh(&tpte->lock);
}

/**
 * srnic_span_addr - where an octet is
 * @span: from srnic_tpt_get()
 * @at: which one, counted from the start of the access
 * @len: in: octets wanted; out: how many of them are contiguous
 *
 * Return: kernel address.
 */
void *srnic_span_addr(const struct srnic_span *span, u64 at, u32 *len)
{
	const struct srnic_pbl *pbl = span->pbl;
	u64 off = span->off + at, in_block;

	if (!pbl)
		return (void *)(uintptr_t)off;
	in_block = off & (BIT_ULL(pbl->shift) - 1);
	*len = min_t(u64, *len, BIT_ULL(pbl->shift) - in_block);
	return (void *)(uintptr_t)(pbl->addr[off >> pbl->shift] + in_block);
}

/**
 * srnic_span_read - copy out of the memory of an access
 * @span: from srnic_tpt_get()
 * @at: from which octet on, counted from the start of the access
 * @dst: where to
 * @len: octets, within the access
 */
void srnic_span_read(const struct srnic_span *span, u64 at, void *dst, u32 len)
{
	while (len) {
		u32 n = len;
		const void *src = srnic_span_addr(span, at, &n);

		memcpy(dst, src, n);
		dst += n;
		at += n;
		len -= n;
	}
}

/**
 * srnic_span_write - copy into the memory of an access
 * @span: from srnic_tpt_get()
 * @at: from which octet on, counted from the start of the access
 * @src: where from
 * @len: octets, within the access
 */
void srnic_span_write(const struct srnic_span *span, u64 at, const void *src, u32 len)
{
	while (len) {
		u32 n = len;
		void *dst = srnic_span_addr(span, at, &n);

		memcpy(dst, src, n);
		src += n;
		at += n;
		len -= n;
	}
}

/* The same error has a name in a WC, and one each for what the peer wanted to do */
static const struct {
	enum srnic_wc_status wc;
	enum rdmap_err tagged;
	enum rdmap_err read;
	enum rdmap_err atomic;
} tpt_err_map[] = {
	[SRNIC_TPT_OK]	   = { SRNIC_WC_SUCCESS, RDMAP_OK, RDMAP_OK, RDMAP_OK },
	[SRNIC_TPT_STAG]   = { SRNIC_WC_INVALID_STAG, RDMAP_E_TAGGED_STAG, RDMAP_E_READ_STAG,
			     RDMAP_E_ATOMIC_STAG },
	[SRNIC_TPT_PD]	   = { SRNIC_WC_INVALID_PD, RDMAP_E_TAGGED_STREAM, RDMAP_E_READ_STREAM,
			     RDMAP_E_ATOMIC_STREAM },
	[SRNIC_TPT_ACCESS] = { SRNIC_WC_ACCESS, RDMAP_E_TAGGED_ACCESS, RDMAP_E_READ_ACCESS,
			     RDMAP_E_ATOMIC_ACCESS },
	[SRNIC_TPT_WRAP]   = { SRNIC_WC_WRAP, RDMAP_E_TAGGED_WRAP, RDMAP_E_READ_WRAP,
			     RDMAP_E_ATOMIC_WRAP },
	[SRNIC_TPT_BOUNDS] = { SRNIC_WC_BOUNDS, RDMAP_E_TAGGED_BOUNDS, RDMAP_E_READ_BOUNDS,
			     RDMAP_E_ATOMIC_BOUNDS },
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
 * srnic_tpt_atomic_err - a failed access to the target of an inbound atomic (E-39)
 * @err: from srnic_tpt_get()
 */
enum rdmap_err srnic_tpt_atomic_err(enum srnic_tpt_err err)
{
	return tpt_err_map[err].atomic;
}

/**
 * srnic_tpte_init - prepare an entry: Invalid, not in the table
 * @tpte: zeroed
 * @pd: protection domain
 * @type: what it is for
 */
void srnic_tpte_init(struct srnic_tpte *tpte, struct ib_pd *pd, enum srnic_stag_type type)
{
	tpte->dev = to_srnic_dev(pd->device);
	tpte->type = type;
	tpte->pd = pd;
	spin_lock_init(&tpte->lock);
	init_waitqueue_head(&tpte->idle);
}

/**
 * srnic_tpt_insert_drawn - give an entry a drawn STag and put it into the table
 * @tpte: initialised; may be found by others at once
 * @draw: any STag; called once for each try, may sleep
 *
 * Sparse: at most a fraction of the 2^24 indexes are in use, so a few tries
 * find a free one. May sleep. The caller counts what there may be.
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
 * @tpte: initialised; may be found by others at once
 *
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
 * Waits for accesses in progress; each is one copy long. Afterwards nobody
 * uses the entry, but a lookup may still hold its lock: free it after a grace
 * period. May sleep.
 *
 * Return: 0; -EBUSY if it is a region with windows bound to it, and nothing
 * has changed (MR-38).
 */
int srnic_tpt_remove(struct srnic_tpte *tpte)
{
	spin_lock_bh(&tpte->lock);
	if (tpte->windows) {
		spin_unlock_bh(&tpte->lock);
		return -EBUSY;
	}
	tpte->valid = false;
	tpte->pd = NULL;	/* who finds it finds nothing that fits */
	spin_unlock_bh(&tpte->lock);
	xa_erase(&tpte->dev->stags, SRNIC_STAG_INDEX(tpte->stag));
	wait_event(tpte->idle, !READ_ONCE(tpte->users) && !READ_ONCE(tpte->holds));
	/* who woke us has let go of the lock, too */
	spin_lock_bh(&tpte->lock);
	spin_unlock_bh(&tpte->lock);
	return 0;
}

/**
 * srnic_tpt_hold - keep an entry from being freed
 * @tpte: found under RCU
 *
 * Return: true, and srnic_tpt_remove() waits for srnic_tpt_release(); false if
 * it is being removed.
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
 * srnic_tpt_release - the end of srnic_tpt_hold()
 * @tpte: not to be touched afterwards
 */
void srnic_tpt_release(struct srnic_tpte *tpte)
{
	spin_lock_bh(&tpte->lock);
	if (!--tpte->holds)
		wake_up_all(&tpte->idle);
	spin_unlock_bh(&tpte->lock);
}

/* Under the lock, so that who finds it false is woken by srnic_tpt_put() */
static bool tpte_quiet(struct srnic_tpte *tpte)
{
	bool quiet;

	spin_lock_bh(&tpte->lock);
	quiet = !tpte->users || tpte->valid;
	spin_unlock_bh(&tpte->lock);
	return quiet;
}

/**
 * srnic_tpt_quiesce - wait for the accesses under way through an entry
 * @tpte: was just made Invalid, so that no access begins; it is held, or the
 *	  caller sees to it that it is not removed meanwhile
 *
 * Others may have waited for the same accesses and have made it Valid again, with
 * users of its own, before this one runs: only what has no users becomes Valid,
 * so the accesses waited for have ended then, too. May sleep, for as long as a
 * copy takes.
 */
void srnic_tpt_quiesce(struct srnic_tpte *tpte)
{
	wait_event(tpte->idle, tpte_quiet(tpte));
}

/**
 * srnic_tpt_suspend - make a region Invalid, so that it can be registered anew
 * @tpte: in any state; the caller sees to it that it is not removed meanwhile
 *
 * Afterwards nothing touches the memory through the STag. May sleep, for as
 * long as a copy takes.
 *
 * Return: 0; -EBUSY with windows bound to it, and nothing has changed (MR-23).
 */
int srnic_tpt_suspend(struct srnic_tpte *tpte)
{
	bool busy;

	spin_lock_bh(&tpte->lock);
	busy = tpte->windows;
	if (!busy)
		tpte->valid = false;
	spin_unlock_bh(&tpte->lock);
	if (busy)
		return -EBUSY;
	srnic_tpt_quiesce(tpte);
	return 0;
}

/* tpte->lock is held. May it be invalidated on this QP? (MR-32, MR-33, MW-14) */
static enum srnic_inv_err check_invalidate(const struct srnic_tpte *tpte,
					   const struct srnic_qp *qp, u32 stag,
					   bool remote)
{
	const u8 enables = SRNIC_QP_READ_ENABLED | SRNIC_QP_WRITE_ENABLED;

	if (tpte->valid && tpte->stag != stag)
		return SRNIC_INV_STAG;
	/* for ever Valid; and verbs have no invalidation of type 1 */
	if (tpte->type == SRNIC_STAG_DMA || tpte->type == SRNIC_STAG_PD_WINDOW || tpte->shared)
		return SRNIC_INV_ACCESS;
	if (tpte->valid && tpte->qpn ? tpte->qpn != qp->ibqp.qp_num : tpte->pd != qp->ibqp.pd)
		return SRNIC_INV_PD;
	/*
	 * A region of user memory can be in use by all of its PD's streams: no
	 * single peer may take it away (SEC-7).
	 */
	if (remote && (tpte->type == SRNIC_STAG_USER || !(READ_ONCE(qp->enables) & enables) ||
		       (tpte->valid && !(tpte->rights & SRNIC_REMOTE_RIGHTS))))
		return SRNIC_INV_ACCESS;
	if (tpte->windows)
		return SRNIC_INV_BOUND;
	return SRNIC_INV_OK;
}

/* SRNIC_INV_BUSY: there are users to wait for, and @may_sleep says not to */
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
	err = check_invalidate(tpte, qp, stag, remote);
	if (!err && tpte->users && !may_sleep)
		err = SRNIC_INV_BUSY;
	if (!err) {
		/*
		 * Invalid already, it may still have users that another invalidation
		 * waits for, and a window its region.
		 */
		busy = tpte->users;
		held = busy || srnic_tpte_is_window(tpte);
		tpte->valid = false;
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
 * @qp: on which it is asked for
 * @stag: all 32 bits; 0 can never be invalidated (MM-12)
 * @remote: the peer asks, with a Send with Invalidate
 *
 * What is Invalid already stays so, and that is no error. When this returns
 * nothing touches the memory through the STag (MR-36). Process context, may
 * sleep for as long as a copy takes.
 *
 * Return: SRNIC_INV_OK or the first thing wrong, and nothing has changed.
 */
enum srnic_inv_err srnic_tpt_invalidate(struct srnic_qp *qp, u32 stag, bool remote)
{
	return tpt_invalidate(qp, stag, remote, true);
}

/**
 * srnic_tpt_try_invalidate - srnic_tpt_invalidate(), but without waiting
 * @qp: on which it is asked for
 * @stag: all 32 bits
 * @remote: the peer asks, with a Send with Invalidate
 *
 * Process context or softirq. Return: as srnic_tpt_invalidate(); SRNIC_INV_BUSY if there
 * are accesses to wait for, and nothing has changed.
 */
enum srnic_inv_err srnic_tpt_try_invalidate(struct srnic_qp *qp, u32 stag, bool remote)
{
	return tpt_invalidate(qp, stag, remote, false);
}

/*
 * The same error in the WC of a send WR and, asked for by the peer, in that of
 * the receive (TC-03, CP-10) and in a Terminate (E-25 to E-27)
 */
static const struct {
	enum srnic_wc_status wc;
	enum srnic_wc_status recv;
	enum rdmap_err remote;
} inv_err_map[SRNIC_INV_COUNT] = {
	[SRNIC_INV_OK]	   = { SRNIC_WC_SUCCESS, SRNIC_WC_SUCCESS, RDMAP_OK },
	[SRNIC_INV_STAG]   = { SRNIC_WC_INVALID_STAG, SRNIC_WC_INVALID_STAG, RDMAP_E_INV_STAG },
	[SRNIC_INV_PD]	   = { SRNIC_WC_INVALID_PD, SRNIC_WC_INVALIDATE, RDMAP_E_INV_STREAM },
	[SRNIC_INV_ACCESS] = { SRNIC_WC_ACCESS, SRNIC_WC_INVALIDATE, RDMAP_E_INV_SHARED },
	[SRNIC_INV_BOUND]  = { SRNIC_WC_INVALIDATE, SRNIC_WC_INVALIDATE, RDMAP_E_INV_SHARED },
};

/**
 * srnic_inv_wc_status - a failed invalidation in the completion of a send WR
 * @err: from srnic_tpt_invalidate()
 */
enum srnic_wc_status srnic_inv_wc_status(enum srnic_inv_err err)
{
	return inv_err_map[err].wc;
}

/**
 * srnic_inv_recv_status - a failed invalidation in the completion of the receive
 *			   whose message asked for it
 * @err: from srnic_tpt_invalidate()
 */
enum srnic_wc_status srnic_inv_recv_status(enum srnic_inv_err err)
{
	return inv_err_map[err].recv;
}

/**
 * srnic_inv_remote_err - a failed invalidation that the peer asked for
 * @err: from srnic_tpt_invalidate()
 */
enum rdmap_err srnic_inv_remote_err(enum srnic_inv_err err)
{
	return inv_err_map[err].remote;
}
