// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows (RDMAC verbs 7.10). A window shares the PBL of its region. The
 * region counts it: while a window is bound, the region cannot be invalidated,
 * registered anew or deregistered.
 *
 * The windows of the RDMAC verbs are type 2B of Linux verbs: they belong to a PD
 * while Invalid and to one QP while Valid, and have to be invalidated before they
 * are bound again. A window of type 1 stays with its PD, and a new bind replaces the old.
 */

#include <linux/slab.h>
#include "memory/mw.h"
#include "queue/holder.h"
#include "queue/state.h"
#include "srnic.h"

/* Access flags of a bind; a window gives no other rights */
#define WINDOW_ACCESS (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
		       IB_ACCESS_REMOTE_ATOMIC | IB_ZERO_BASED)

/* Parameters of a bind, from the SQE */
struct bind {
	u32 stag;	/* of the window, with its new key */
	u32 region;	/* STag */
	u64 to;		/* of the first octet, in the region */
	u64 length;
	int access;
};

static struct srnic_window *to_window(struct srnic_tpte *tpte)
{
	return container_of(tpte, struct srnic_window, tpte);
}

/* Remote rights only: a window is no local buffer (MW-12), but can be a Read's sink (MW-13) */
static u8 window_rights(int access)
{
	return (access & IB_ACCESS_REMOTE_READ ? SRNIC_REMOTE_READ : 0) |
	       (access & IB_ACCESS_REMOTE_WRITE ? SRNIC_REMOTE_WRITE | SRNIC_READ_SINK : 0) |
	       (access & IB_ACCESS_REMOTE_ATOMIC ? SRNIC_REMOTE_ATOMIC : 0);
}

/* The local rights that the region needs for the window's rights (MW-06, Figure 20) */
static u8 rights_of_region(int access)
{
	u8 need = access & IB_ACCESS_REMOTE_READ ? SRNIC_LOCAL_READ : 0;

	if (access & (IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_ATOMIC))
		need |= SRNIC_LOCAL_WRITE;
	return need;
}

/**
 * srnic_mw_alloc - allocate a window (MW-01)
 * @ibmw: zeroed except device, PD and type, which is one of verbs' two
 *
 * The window is Invalid until it is bound. Context: process, may sleep.
 *
 * Return: 0 and @ibmw->rkey is the STag; -ENOMEM; -EDQUOT, see srnic_take().
 */
int srnic_mw_alloc(struct ib_mw *ibmw)
{
	struct srnic_device *dev = to_srnic_dev(ibmw->device);
	struct srnic_window *window = kzalloc(sizeof(*window), GFP_KERNEL_ACCOUNT);
	struct srnic_holder *holder = srnic_pd_holder(ibmw->pd);
	int err;

	if (!window)
		return -ENOMEM;
	srnic_tpte_init(&window->tpte, ibmw->pd, ibmw->type == IB_MW_TYPE_1 ?
			SRNIC_STAG_PD_WINDOW : SRNIC_STAG_WINDOW);
	err = srnic_take(dev, holder, SRNIC_KIND_MW, 1);
	if (err)
		goto free;
	err = srnic_tpt_insert(&window->tpte);
	if (err)
		goto give;
	to_srnic_mw(ibmw)->window = window;
	ibmw->rkey = window->tpte.stag;
	return 0;
give:
	srnic_give(dev, holder, SRNIC_KIND_MW, 1);
free:
	kfree(window);
	return err;
}

/**
 * srnic_mw_dealloc - end a window, in any state (MR-37, MW-16)
 * @ibmw: the window, bound or not
 *
 * Never fails: the clean-up of a process relies on it to free regions and QPs that have windows.
 * Waits for accesses in progress, as srnic_tpt_quiesce() does. Context: process, may sleep.
 */
void srnic_mw_dealloc(struct ib_mw *ibmw)
{
	struct srnic_window *window = to_srnic_mw(ibmw)->window;
	int err = srnic_tpt_remove(&window->tpte);

	WARN_ON_ONCE(err);	/* a window has no windows of its own, so it is never busy */
	srnic_mw_unbind(&window->tpte);
	srnic_give(window->tpte.dev, srnic_pd_holder(ibmw->pd), SRNIC_KIND_MW, 1);
	kfree_rcu(window, rcu);
}

static void qp_uncount(struct srnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	qp->windows--;
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* Return: false if the QP is being destroyed: it takes no more windows (QP-28) */
static bool qp_count(struct srnic_qp *qp)
{
	unsigned long flags;
	bool alive;

	spin_lock_irqsave(&qp->lock, flags);
	alive = !test_bit(SRNIC_QPF_DESTROY, &qp->flags);
	qp->windows += alive;
	spin_unlock_irqrestore(&qp->lock, flags);
	return alive;
}

/**
 * srnic_mw_unbind - detach a window from its region and QP (MW-15)
 * @tpte: of a window; after srnic_tpt_quiesce(), the caller keeps it
 *
 * The region may be gone when this returns. Does nothing if the window is Valid or in
 * use: another task has bound it again, or has made it Invalid, waits for its users, and
 * then calls this function. Context: process or softirq.
 */
void srnic_mw_unbind(struct srnic_tpte *tpte)
{
	struct srnic_window *window = to_window(tpte);
	struct srnic_tpte *region;
	struct srnic_qp *qp;

	spin_lock_bh(&tpte->lock);
	if (tpte->valid || srnic_tpt_in_use(tpte)) {
		spin_unlock_bh(&tpte->lock);
		return;
	}
	region = window->region;
	qp = window->qp;
	window->region = NULL;
	window->qp = NULL;
	tpte->pbl = NULL;
	tpte->qpn = 0;
	if (region) {
		spin_lock_nested(&region->lock, SINGLE_DEPTH_NESTING);
		region->windows--;
		spin_unlock(&region->lock);
	}
	if (qp)
		qp_uncount(qp);
	spin_unlock_bh(&tpte->lock);
}

/* The window's lock is held. First part of MW-04, in the order of 7.10.6.1. */
static enum srnic_wc_status check_window(const struct srnic_window *window,
					 const struct srnic_qp *qp)
{
	const struct srnic_tpte *tpte = &window->tpte;

	/* an invalidation ends when the window has no region any more (MW-09) */
	if (tpte->type == SRNIC_STAG_WINDOW && (tpte->valid || window->region))
		return SRNIC_WC_STAG_NOT_INVALID;
	if (!(READ_ONCE(qp->enables) & SRNIC_QP_BIND_ENABLED))
		return SRNIC_WC_ACCESS;
	if (tpte->pd != qp->ibqp.pd)
		return SRNIC_WC_INVALID_PD;
	return SRNIC_WC_SUCCESS;
}

/* The region's lock is held. Second part of MW-04 to MW-07. */
static enum srnic_wc_status check_region(const struct srnic_tpte *tpte,
					 const struct srnic_qp *qp, const struct bind *bind)
{
	u8 need = rights_of_region(bind->access);
	u64 last;

	if (!tpte->valid || tpte->stag != bind->region)
		return SRNIC_WC_INVALID_REGION;
	if (tpte->pd != qp->ibqp.pd)
		return SRNIC_WC_INVALID_PD;
	if (!(tpte->rights & SRNIC_BINDABLE))
		return SRNIC_WC_ACCESS;	/* MR-40 */
	/*
	 * The region's remote rights do not matter. The window needs at least one (MW-06), but
	 * InfiniBand knows windows of which no peer can make use.
	 */
	if (bind->access & ~WINDOW_ACCESS ||
	    (!window_rights(bind->access) && !READ_ONCE(qp->ib.paired)) ||
	    (tpte->rights & need) != need)
		return SRNIC_WC_ACCESS;
	if (tpte->rights & SRNIC_ZERO_BASED)
		return SRNIC_WC_INVALID_REGION;	/* MW-05, Figure 19 */
	if (bind->length && check_add_overflow(bind->to, bind->length - 1, &last))
		return SRNIC_WC_WRAP;
	if (bind->to < tpte->base || bind->length > tpte->length ||
	    bind->to - tpte->base > tpte->length - bind->length)
		return SRNIC_WC_BOUNDS;	/* MW-07 */
	return SRNIC_WC_SUCCESS;
}

/*
 * The window's lock is held, and the region's inside it. Region and QP count the
 * window before it is Valid.
 */
static enum srnic_wc_status bind_to(struct srnic_window *window, struct srnic_tpte *region,
				    struct srnic_qp *qp, const struct bind *bind)
{
	struct srnic_tpte *tpte = &window->tpte;

	if (tpte->type == SRNIC_STAG_WINDOW) {
		if (!qp_count(qp))
			return SRNIC_WC_FLUSHED;
		window->qp = qp;
		tpte->qpn = qp->ibqp.qp_num;	/* MW-08 */
	}
	region->windows++;
	window->region = region;
	tpte->stag = bind->stag;
	tpte->rights = window_rights(bind->access);
	tpte->base = bind->access & IB_ZERO_BASED ? 0 : bind->to;
	tpte->length = bind->length;
	tpte->pbl = region->pbl;
	tpte->off = bind->to - region->base + region->off;
	srnic_tpte_validate(tpte);
	return SRNIC_WC_SUCCESS;
}

/* The caller keeps the window. Return: -EAGAIN if it has to be unbound first. */
static int try_bind(struct srnic_window *window, struct srnic_qp *qp,
		    const struct bind *bind, enum srnic_wc_status *status)
{
	struct srnic_tpte *tpte = &window->tpte;
	bool pd_window = tpte->type == SRNIC_STAG_PD_WINDOW;
	struct srnic_tpte *region = NULL;
	int err = 0;

	rcu_read_lock();
	spin_lock_bh(&tpte->lock);
	*status = check_window(window, qp);
	/* verbs: a bind with a length of zero unbinds type 1 */
	if (!*status && (bind->length || !pd_window)) {
		region = srnic_tpt_find(qp->dev, bind->region);
		if (!region || srnic_tpte_is_window(region))
			*status = SRNIC_WC_INVALID_REGION;
	}
	if (!*status && region) {
		spin_lock_nested(&region->lock, SINGLE_DEPTH_NESTING);
		*status = check_region(region, qp, bind);
		if (!*status && !window->region)
			*status = bind_to(window, region, qp, bind);
		else if (!*status)
			err = -EAGAIN;
		spin_unlock(&region->lock);
	} else if (!*status) {
		if (window->region)
			err = -EAGAIN;
		else
			tpte->stag = bind->stag;
	}
	if (err)
		WRITE_ONCE(tpte->valid, false);
	spin_unlock_bh(&tpte->lock);
	rcu_read_unlock();
	return err;
}

/**
 * srnic_mw_bind - process a bind WR (MW-02 to MW-10)
 * @qp: the QP; the caller is its owner of tx
 * @sqe: stag is the window's, with its new key; rkey the region's; arg[] are
 *	 TO of the first octet in the region, octets, IB_ACCESS_*
 *
 * A window of type 1 that is bound is bound anew, after accesses through the
 * old binding have ended. Context: process; may sleep, as srnic_tpt_quiesce().
 *
 * Return: SRNIC_WC_SUCCESS, and the window is Valid (unbound, if type 1 and the length
 * is zero); or the error, and nothing has changed, except that a window of type 1 may
 * have lost its old binding if the region was deregistered meanwhile.
 */
enum srnic_wc_status srnic_mw_bind(struct srnic_qp *qp, const struct srnic_sqe *sqe)
{
	const struct bind bind = {
		.stag = sqe->stag,
		.region = sqe->rkey,
		.to = sqe->arg[0],
		.length = sqe->arg[1],
		.access = sqe->arg[2] > INT_MAX ? -1 : (int)sqe->arg[2],
	};
	enum srnic_wc_status status = SRNIC_WC_INVALID_WINDOW;
	struct srnic_tpte *tpte;

	rcu_read_lock();
	tpte = srnic_tpt_find(qp->dev, bind.stag);
	if (!tpte || !srnic_tpte_is_window(tpte) || !srnic_tpt_hold(tpte)) {
		rcu_read_unlock();
		return status;
	}
	rcu_read_unlock();

	while (try_bind(to_window(tpte), qp, &bind, &status)) {
		srnic_tpt_quiesce(tpte);
		srnic_mw_unbind(tpte);
	}
	srnic_tpt_release(tpte);
	if (!status)
		srnic_count(qp->dev, SRNIC_CNT_MW_BIND);
	return status;
}
