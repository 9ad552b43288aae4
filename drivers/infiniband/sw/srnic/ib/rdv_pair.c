// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous: QPs that wait for their peer. Modify QP to RTR creates a pair. From RTS
 * on the pair tries to connect, again and again. It ends when the QP is destroyed or
 * goes to Error or RESET; it stays after a graceful close by the peer.
 */

#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include "engine/close.h"
#include "engine/rnr.h"
#include "ib/addr.h"
#include "ib/ib_device.h"
#include "ib/rdv_priv.h"
#include "queue/wq.h"

static struct workqueue_struct *pair_wq;

static void pair_release(struct kref *ref)
{
	struct srnic_pair *pair = container_of(ref, struct srnic_pair, ref);
	struct srnic_device *dev = pair->dev;

	mutex_destroy(&pair->lock);
	srnic_user_put(pair->user);
	kfree(pair);
	put_device(&dev->ibdev.dev);
}

/**
 * srnic_pair_put - drop a reference
 * @pair: may be freed
 * Context: process.
 */
void srnic_pair_put(struct srnic_pair *pair)
{
	kref_put(&pair->ref, pair_release);
}

/**
 * srnic_pair_find - the pair of a QP
 * @dev: its device
 * @qpn: QP number
 *
 * Context: process.
 * Return: the pair with a reference, or NULL.
 */
struct srnic_pair *srnic_pair_find(struct srnic_device *dev, u32 qpn)
{
	struct srnic_pair *pair;

	xa_lock(&dev->ib->pairs);
	pair = xa_load(&dev->ib->pairs, qpn);
	if (pair)
		kref_get(&pair->ref);
	xa_unlock(&dev->ib->pairs);
	return pair;
}

static void pair_queue(struct srnic_pair *pair, unsigned long delay)
{
	if (!srnic_cm_queue(pair_wq, &pair->work, &pair->ref, delay))
		srnic_pair_put(pair);
}

/**
 * srnic_pair_kick - run the pair's work
 * @pair: the caller has a reference
 *
 * Context: any.
 */
void srnic_pair_kick(struct srnic_pair *pair)
{
	pair_queue(pair, 0);
}

/**
 * srnic_pair_tried - an attempt has failed: schedule the next one
 * @pair: locked
 * Context: process.
 */
void srnic_pair_tried(struct srnic_pair *pair)
{
	pair->backoff = clamp(pair->backoff * 2, SRNIC_RDV_MIN_MS, SRNIC_RDV_MAX_MS);
	pair->tried = true;
	pair->last_try = jiffies;
	srnic_pair_kick(pair);
}

/* Called under a spinlock */
static void pair_abort(void *priv)
{
	struct srnic_pair *pair = priv;

	set_bit(SRNIC_PAIRF_ABORT, &pair->flags);
	srnic_pair_kick(pair);
}

static void pair_closed(void *priv, int err)
{
	struct srnic_pair *pair = priv;

	/* once the flag is set the work, or rdv_cancel(), may end the pair */
	kref_get(&pair->ref);
	set_bit(SRNIC_PAIRF_GONE, &pair->flags);
	srnic_pair_kick(pair);
	srnic_pair_put(pair);
}

static const struct srnic_llp_ops pair_llp_ops = {
	.abort = pair_abort,
	.closed = pair_closed,
	.keeps = true,
};

/* The caller got true from pair_over(). Without locks. */
static void pair_end(struct srnic_pair *pair)
{
	struct srnic_qp *qp = pair->qp;

	srnic_rdv_unlisten(pair->listener);
	srnic_qp_unclaim(qp, pair);
	/*
	 * After the claim has ended: Modify QP to RESET fails while there is a claim, and waits
	 * only for a pair that it finds.
	 */
	xa_erase(&pair->dev->ib->pairs, pair->qpn);
	complete_all(&pair->ended);
	/* the QP and its device may be freed after this */
	srnic_qp_put(qp);
	srnic_pair_put(pair);
}

/* Begins the end of @pair, which is locked. Return: true if the caller has to call pair_end() */
static bool pair_over(struct srnic_pair *pair)
{
	if (pair->over)
		return false;
	pair->over = true;
	if (pair->attempt)
		srnic_ep_notify(pair->attempt, SRNIC_EPF_ABORT);
	pair->attempt = NULL;
	return true;
}

/*
 * @pair is locked, in RTS, and has neither stream nor attempt. Return: jiffies until
 * it has to connect; 0: now. A post does not run the work, so it polls the SQ.
 */
static unsigned long pair_wait(const struct srnic_pair *pair)
{
	bool posted = srnic_sq_pending(pair->qp) > 0;
	unsigned int ms = posted ? pair->backoff : SRNIC_RDV_IDLE_MS;
	unsigned long due = pair->last_try + msecs_to_jiffies(ms);

	if (!pair->tried || time_after_eq(jiffies, due))
		return 0;
	return min(due - jiffies, msecs_to_jiffies(SRNIC_RDV_MAX_MS));
}

/* Checks the time-out for the RTR (M-STA-8), as srnic_ep_check_rtr() does for iw_cm */
static void pair_check_silent(struct srnic_pair *pair)
{
	if (!pair->silent_until)
		return;
	if (time_before(jiffies, pair->silent_until)) {
		pair_queue(pair, pair->silent_until - jiffies);
		return;
	}
	pair->silent_until = 0;
	srnic_qp_abort_silent(pair->qp, pair);
}

/* The first WR completes with SRNIC_WC_NO_PEER, all others are flushed */
static void pair_no_peer(struct srnic_pair *pair)
{
	srnic_sq_no_peer(pair->qp);
	srnic_qp_abort(pair->qp);
}

/*
 * How long the QP tries to reach a peer that may not be there yet. TCP needs more time than
 * InfiniBand, so the policy sets a minimum. Return: jiffies; 0: no limit
 */
static unsigned long pair_patience(const struct srnic_pair *pair)
{
	u32 least = srnic_policy_get(&pair->dev->policy).ib_timeout;
	u64 us = srnic_ib_retry_us(pair->qp);

	return us ? max_t(u64, usecs_to_jiffies(min_t(u64, us, UINT_MAX)), least * HZ) : 0;
}

/*
 * @pair is locked, in RTS and without a stream. @patience: jiffies for which a WR may wait; 0: for
 * ever. Return: true if its time has expired
 */
static bool pair_gives_up(struct srnic_pair *pair, unsigned long patience)
{
	if (srnic_sq_pending(pair->qp) <= 0) {
		pair->wanted = 0;
		return false;
	}
	if (!pair->wanted)
		pair->wanted = jiffies ?: 1;
	return patience && time_after_eq(jiffies, pair->wanted + patience);
}

/* The peer has closed the connection. A post without a stream does not run the work: poll the SQ */
static void pair_check_send(struct srnic_pair *pair)
{
	if (pair_gives_up(pair, srnic_close_retry_time(pair->qp)))
		pair_no_peer(pair);
	else
		pair_queue(pair, msecs_to_jiffies(SRNIC_RDV_MAX_MS));
}

/* @pair is locked. Its claim is srnic_close()'s until that has called pair_closed() */
static bool pair_has_stream(const struct srnic_pair *pair)
{
	return pair->attached && !test_bit(SRNIC_PAIRF_GONE, &pair->flags);
}

/* @pair is locked. Return: true if it has to connect now */
static bool pair_look(struct srnic_pair *pair)
{
	unsigned long wait;

	if (pair_has_stream(pair)) {
		pair->wanted = 0;
		pair_check_silent(pair);
		return false;
	}
	if (pair->attached) {
		pair_check_send(pair);
		return false;
	}
	if (!pair->rts)
		return false;
	if (pair_gives_up(pair, pair_patience(pair))) {
		pair_no_peer(pair);
		return false;
	}
	wait = pair->attempt ? msecs_to_jiffies(SRNIC_RDV_MAX_MS) : pair_wait(pair);
	if (wait)
		pair_queue(pair, wait);
	return !wait;
}

/*
 * @pair, locked, has no stream. After a graceful close by the peer the QP is in Idle, the pair
 * stays, and the program gets no event, as in InfiniBand. Return: true if the pair has to end
 */
static bool pair_must_end(const struct srnic_pair *pair)
{
	return test_bit(SRNIC_PAIRF_ABORT, &pair->flags) ||
	       srnic_qp_state(pair->qp) != SRNIC_QP_IDLE ||
	       test_bit(SRNIC_QPF_DESTROY, &pair->qp->flags);
}

static void pair_run(struct work_struct *work)
{
	struct srnic_pair *pair = container_of(to_delayed_work(work), struct srnic_pair, work);
	bool end = false, connect = false;
	struct srnic_user_scope scope;

	srnic_user_enter(pair->user, &scope);
	mutex_lock(&pair->lock);
	/* after its end a pair has no QP */
	if (!pair->over && !pair_has_stream(pair) && pair_must_end(pair))
		end = pair_over(pair);
	else if (!pair->over)
		connect = pair_look(pair);
	mutex_unlock(&pair->lock);
	if (end)
		pair_end(pair);
	if (connect)
		srnic_rdv_connect(pair);
	srnic_user_leave(&scope);
	srnic_pair_put(pair);
}

/*
 * On InfiniBand a message of a UC QP completes when it is sent. Where the administrator has set the
 * size of FPDUs, the two ends do not agree on another one.
 */
static u8 pair_offers(const struct srnic_pair *pair)
{
	struct srnic_policy policy = srnic_policy_get(&pair->dev->policy);
	bool acks = policy.ib_ack && pair->qp->ibqp.qp_type != IB_QPT_UC;
	bool large = !policy.max_fpdu || policy.max_fpdu == SRNIC_FPDU_AUTO;

	return RDV_OFFER_SEND_IMM | (acks ? RDV_OFFER_ACKS | RDV_OFFER_PLACEMENT : 0) |
	       (large ? RDV_OFFER_LARGE : 0);
}

/* Return: 0; -EINVAL for addresses that cannot be connected */
static int pair_address(struct srnic_pair *pair, const struct ib_qp_attr *attr, u16 port)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&attr->ah_attr);
	const union ib_gid *sgid = &grh->sgid_attr->gid;
	struct rdv_hello *own = &pair->own;

	srnic_addr_of_gid(pair->dev, sgid, 0, &pair->local);
	srnic_addr_of_gid(pair->dev, &grh->dgid, port, &pair->remote);
	if (pair->local.ss_family != pair->remote.ss_family ||
	    !srnic_addr_is_unicast(&pair->remote))
		return -EINVAL;
	memcpy(own->src_gid, sgid, RDV_GID_LEN);
	memcpy(own->dst_gid, &grh->dgid, RDV_GID_LEN);
	own->offers = pair_offers(pair);
	own->src_qpn = pair->qpn;
	own->dst_qpn = attr->dest_qp_num & RDV_NUMBER_MAX;
	own->dst_psn = attr->rq_psn & RDV_NUMBER_MAX;
	pair->itself = own->src_qpn == own->dst_qpn && !memcmp(sgid, &grh->dgid, sizeof(*sgid));
	return 0;
}

static struct srnic_pair *pair_new(struct srnic_qp *qp, const struct ib_qp_attr *attr, u8 ird)
{
	struct srnic_pair *pair = kzalloc(sizeof(*pair), GFP_KERNEL_ACCOUNT);

	if (!pair)
		return NULL;
	pair->user = srnic_user_current();
	if (!pair->user) {
		kfree(pair);
		return NULL;
	}
	kref_init(&pair->ref);
	mutex_init(&pair->lock);
	init_completion(&pair->ended);
	INIT_DELAYED_WORK(&pair->work, pair_run);
	/* the work may still run when the QP is gone, and the device after it */
	get_device(&qp->dev->ibdev.dev);
	pair->dev = qp->dev;
	pair->qp = qp;
	pair->qpn = qp->ibqp.qp_num;
	pair->net = current->nsproxy->net_ns->net_cookie;
	/* QP numbers are random: each begins at another port */
	pair->next_port = pair->qpn;
	pair->ird = ird;
	return pair;
}

/*
 * Enters @pair, locked, into the device's table, and claims the QP. The claim comes last: from
 * then on its callbacks may queue the work. Return: 0 or an errno
 */
static int pair_register(struct srnic_pair *pair)
{
	int err;

	err = xa_insert(&pair->dev->ib->pairs, pair->qpn, pair, GFP_KERNEL_ACCOUNT);
	if (err)
		return err;
	kref_get(&pair->qp->ref);
	err = srnic_qp_claim(pair->qp, &pair_llp_ops, pair);
	if (!err)
		return 0;
	/* for a task that has found @pair meanwhile */
	pair->over = true;
	xa_erase(&pair->dev->ib->pairs, pair->qpn);
	srnic_qp_put(pair->qp);
	return err;
}

/* Return: 0; an errno of srnic_rdv_listen() or srnic_qp_claim() */
static int pair_start(struct srnic_pair *pair, u16 ib_port)
{
	struct sockaddr_storage addr = pair->local;
	int err;

	((struct sockaddr_in6 *)&addr)->sin6_port = htons(ib_port);
	pair->listener = srnic_rdv_listen(pair->dev, pair->net, &addr);
	if (IS_ERR(pair->listener))
		return PTR_ERR(pair->listener);
	/* once the QP is claimed the pair may end while it is being unlocked here */
	kref_get(&pair->ref);
	mutex_lock(&pair->lock);
	err = pair_register(pair);
	mutex_unlock(&pair->lock);
	if (err)
		srnic_rdv_unlisten(pair->listener);
	srnic_pair_put(pair);
	return err;
}

/* See struct srnic_rdv_ops */
static int rdv_prepare(struct srnic_qp *qp, const struct ib_qp_attr *attr, u8 ird)
{
	u16 ib_port = srnic_policy_get(&qp->dev->policy).ib_port;
	struct srnic_pair *pair;
	int err;

	if (!ib_port)
		return -EOPNOTSUPP;
	pair = pair_new(qp, attr, ird);
	if (!pair)
		return -ENOMEM;
	err = pair_address(pair, attr, ib_port);
	if (!err)
		err = srnic_rdv_hold_port(qp->dev);
	if (!err)
		err = pair_start(pair, ib_port);
	if (err)
		srnic_pair_put(pair);
	return err;
}

static int rdv_start(struct srnic_qp *qp, u32 psn, u16 ord)
{
	struct srnic_pair *pair = srnic_pair_find(qp->dev, qp->ibqp.qp_num);

	/* the peer has connected, and the connection has ended */
	if (!pair)
		return -ENOTCONN;
	mutex_lock(&pair->lock);
	pair->own.src_psn = psn & RDV_NUMBER_MAX;
	pair->ord = ord;
	pair->rts = true;
	srnic_pair_kick(pair);
	mutex_unlock(&pair->lock);
	srnic_pair_put(pair);
	return 0;
}

static int rdv_cancel(struct srnic_qp *qp)
{
	struct srnic_pair *pair = srnic_pair_find(qp->dev, qp->ibqp.qp_num);
	bool stream, end = false;

	if (!pair)
		return 0;
	/* excludes rdv_accept() and rdv_established(), which attach the stream */
	mutex_lock(&pair->lock);
	stream = pair_has_stream(pair);
	if (!stream)
		end = pair_over(pair);
	mutex_unlock(&pair->lock);
	if (end)
		pair_end(pair);
	else if (!stream)
		wait_for_completion(&pair->ended);
	srnic_pair_put(pair);
	return stream ? -EBUSY : 0;
}

/* Not static: ib_device.c sets it; unit tests replace it */
const struct srnic_rdv_ops srnic_rdv_ops = {
	.prepare = rdv_prepare,
	.start = rdv_start,
	.cancel = rdv_cancel,
};

/**
 * srnic_rdv_init - at load of the module
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
 */
int srnic_rdv_init(void)
{
	int err;

	srnic_rdv_limit_init();
	pair_wq = alloc_workqueue("srnic_rdv", WQ_PERCPU | WQ_MEM_RECLAIM, 0);
	if (!pair_wq)
		return -ENOMEM;
	err = srnic_rdv_ports_init();
	if (err)
		destroy_workqueue(pair_wq);
	return err;
}

/**
 * srnic_rdv_exit - at unload of the module: the QPs are gone, works may still run
 * Context: process, may sleep.
 */
void srnic_rdv_exit(void)
{
	srnic_rdv_ports_exit();
	destroy_workqueue(pair_wq);
}
