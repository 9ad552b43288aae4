// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections: the iw_cm operations, the life of an endpoint, and its events.
 *
 * One endpoint stands for one connection or listener; its states, references
 * and locks are described in cm_priv.h. What waits happens in the endpoint's
 * own work. connect() begins in its caller, and the listener's work begins what it
 * accepts. The workqueue starts the next work when one sleeps, so connections do not
 * wait for each other. It is per CPU, so works that do not sleep keep their order. The
 * active side is in cm_active.c, listeners and half-open connections are in
 * cm_listen.c, MPA frames in cm_mpa.c.
 *
 * iwcm has a BUG_ON for each of these rules: for each connect() that returns 0,
 * exactly one CONNECT_REPLY, which may come before it returns; after accept() has
 * returned 0, exactly one ESTABLISHED, and no event after an error; then, and only
 * after a CONNECT_REPLY with status 0 or an ESTABLISHED, exactly one CLOSE.
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/nsproxy.h>
#include <linux/xarray.h>
#include <net/sock.h>
#include <rdma/rdma_cm.h>
#include "cm/cm_priv.h"
#include "engine/linger.h"
#include "queue/trace.h"

static struct workqueue_struct *srnic_cm_wq;
/* All endpoints, by handle. Holds no reference: see srnic_ep_find(). */
static DEFINE_XARRAY_ALLOC1(srnic_cm_eps);
static u32 srnic_cm_next_handle;
static DECLARE_WAIT_QUEUE_HEAD(srnic_cm_idle);

/* ----- endpoints ----- */

static void srnic_ep_run(struct work_struct *work);

/**
 * srnic_ep_new - make an endpoint
 * @dev: its device
 * @user: the user whose credentials its work has; NULL: the calling task
 * @ops: callbacks of the endpoint's user
 *
 * On a device that is leaving SRNIC_EPF_ABORT is set from the beginning. Context: process,
 * may sleep.
 *
 * Return: the endpoint, IDLE and with one reference, or NULL.
 */
struct srnic_ep *srnic_ep_new(struct srnic_device *dev, struct srnic_user *user,
			      const struct srnic_ep_ops *ops)
{
	struct srnic_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL_ACCOUNT);

	if (!ep)
		return NULL;
	if (user)
		srnic_user_get(user);
	else
		user = srnic_user_current();
	if (!user)
		goto free;
	kref_init(&ep->ref);
	ep->ops = ops;
	ep->dev = dev;
	ep->user = user;
	ep->policy = srnic_policy_get(&dev->policy);
	ep->born = jiffies;
	INIT_DELAYED_WORK(&ep->work, srnic_ep_run);
	mutex_init(&ep->lock);
	INIT_LIST_HEAD(&ep->sibling);
	spin_lock_init(&ep->half_lock);
	INIT_LIST_HEAD(&ep->half_open);
	/* cyclic: a stale handle finds nothing, and not another endpoint */
	if (xa_alloc_cyclic(&srnic_cm_eps, &ep->handle, ep, XA_LIMIT(1, INT_MAX),
			    &srnic_cm_next_handle, GFP_KERNEL_ACCOUNT) < 0)
		goto free;
	/* srnic_cm_drop_device() finds @ep from now on; if it was called before, phase is set */
	if (srnic_device_phase(dev) == SRNIC_DEV_LEAVING)
		set_bit(SRNIC_EPF_ABORT, &ep->flags);
	get_device(&dev->ibdev.dev);
	return ep;
free:
	srnic_user_put(user);
	kfree(ep);
	return NULL;
}

static void srnic_ep_release(struct kref *ref)
{
	struct srnic_ep *ep = container_of(ref, struct srnic_ep, ref);
	struct srnic_device *dev = ep->dev;

	xa_erase(&srnic_cm_eps, ep->handle);
	mutex_destroy(&ep->lock);
	kfree(ep->pdata);
	srnic_user_put(ep->user);
	kfree(ep);
	put_device(&dev->ibdev.dev);
	wake_up(&srnic_cm_idle);
}

/**
 * srnic_ep_put - drop a reference
 * @ep: may be freed
 *
 * Context: any. The last reference is dropped in process context: callbacks in softirq have a
 * stream, so the endpoint still has the reference of its state.
 */
void srnic_ep_put(struct srnic_ep *ep)
{
	kref_put(&ep->ref, srnic_ep_release);
}

/**
 * srnic_ep_note - trace a step in a connection's life
 * @ep: an endpoint
 * @event: a short literal
 * @status: 0 or an errno
 * Context: any.
 */
void srnic_ep_note(struct srnic_ep *ep, const char *event, int status)
{
	trace_srnic_conn(ep->dev, ep->qpn, event, &ep->local, &ep->remote, status);
}

/**
 * srnic_ep_fate - count and trace the outcome of a connection
 * @ep: an endpoint
 * @counter: SRNIC_CNT_CONN_*
 * @status: 0 or an errno
 * Context: any.
 */
void srnic_ep_fate(struct srnic_ep *ep, enum srnic_counter counter, int status)
{
	static const char * const name[SRNIC_CNT_COUNT] = {
		[SRNIC_CNT_CONN_ACTIVE] = "connected",
		[SRNIC_CNT_CONN_PASSIVE] = "accepted",
		[SRNIC_CNT_CONN_REJECTED] = "rejected",
		[SRNIC_CNT_CONN_FAILED] = "failed",
		[SRNIC_CNT_CONN_DROPPED] = "dropped",
	};

	srnic_count(ep->dev, counter);
	srnic_ep_note(ep, name[counter], status);
}

/**
 * srnic_ep_find - look up the endpoint of an iw_cm id
 * @id: a listener's id, or one that iwcm made for a CONNECT_REQUEST
 *
 * Context: process.
 * Return: the endpoint with a reference, or NULL if it is gone.
 */
struct srnic_ep *srnic_ep_find(const struct iw_cm_id *id)
{
	struct srnic_ep *ep;

	xa_lock(&srnic_cm_eps);
	ep = xa_load(&srnic_cm_eps, (uintptr_t)id->provider_data);
	if (ep && !kref_get_unless_zero(&ep->ref))
		ep = NULL;
	xa_unlock(&srnic_cm_eps);
	return ep;
}

/**
 * srnic_ep_next - iterate over the endpoints
 * @dev: of this device only; NULL: of all
 * @handle: in: 0, or the last endpoint's; out: the returned endpoint's
 *
 * Context: process.
 * Return: the next endpoint, with a reference, or NULL at the end.
 */
struct srnic_ep *srnic_ep_next(const struct srnic_device *dev, unsigned long *handle)
{
	struct srnic_ep *ep;

	xa_lock(&srnic_cm_eps);
	do {
		ep = xa_find_after(&srnic_cm_eps, handle, ULONG_MAX, XA_PRESENT);
	} while (ep && ((dev && ep->dev != dev) || !kref_get_unless_zero(&ep->ref)));
	xa_unlock(&srnic_cm_eps);
	return ep;
}

/* rdma_cm's id, the context of an iw_cm id. Return: NULL if rdma_cm has not made @id */
static const struct rdma_cm_id *cma_id_of(const struct iw_cm_id *id)
{
	struct rdma_cm_id *cma_id = id->context;

	return cma_id && rdma_iw_cm_id(cma_id) == id ? cma_id : NULL;
}

/**
 * srnic_cm_net - the network namespace of the program that connects or listens
 * @id: iwcm's id
 *
 * iw_cm does not pass the namespace, and the calling task may be in another one: rdma_cm makes
 * its listeners on a new device in the task that adds the device. rdma_cm's id has it.
 *
 * Context: any.
 * Return: the namespace's cookie, not its pointer: a later struct net may be at the same place.
 */
u64 srnic_cm_net(const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cma_id = cma_id_of(id);

	if (cma_id)
		return cma_id->route.addr.dev_addr.net->net_cookie;
	return current->nsproxy->net_ns->net_cookie;
}

/**
 * srnic_cm_queue - queue a work that has a reference while it is queued
 * @wq: the workqueue
 * @work: the work
 * @ref: of the object that contains @work; the caller has a reference
 * @delay: jiffies; 0: at once, even if it is queued for later
 *
 * Context: any.
 *
 * Return: false if it was queued already. The caller has to put one reference then.
 */
bool srnic_cm_queue(struct workqueue_struct *wq, struct delayed_work *work, struct kref *ref,
		    unsigned long delay)
{
	kref_get(ref);
	if (delay)
		return queue_delayed_work(wq, work, delay);
	return !mod_delayed_work(wq, work, 0);
}

static void srnic_ep_queue(struct srnic_ep *ep, unsigned long delay)
{
	if (!srnic_cm_queue(srnic_cm_wq, &ep->work, &ep->ref, delay))
		srnic_ep_put(ep);
}

/**
 * srnic_ep_kick - run the endpoint's work
 * @ep: an endpoint to which the caller has a reference
 *
 * Context: any.
 */
void srnic_ep_kick(struct srnic_ep *ep)
{
	srnic_ep_queue(ep, 0);
}

/**
 * srnic_ep_notify - set a flag for the endpoint's work, and run it
 * @ep: an endpoint to which the caller has a reference
 * @flag: SRNIC_EPF_*
 *
 * Context: any.
 */
void srnic_ep_notify(struct srnic_ep *ep, int flag)
{
	smp_mb__before_atomic();	/* close_err before its flag */
	set_bit(flag, &ep->flags);
	smp_mb__after_atomic();		/* see srnic_ep_attach(), ep_new_deadline() */
	srnic_ep_kick(ep);
}

/**
 * srnic_ep_deadline - set the time-out of the current state
 * @ep: locked; its work is or will be queued
 * @ms: from now
 * Context: process.
 */
void srnic_ep_deadline(struct srnic_ep *ep, unsigned int ms)
{
	ep->deadline = (jiffies + msecs_to_jiffies(ms)) ?: 1;
}

/**
 * srnic_ep_deadline_s - as srnic_ep_deadline(), with a time-out of the policy
 * @ep: locked; its work is or will be queued
 * @seconds: from now
 * Context: process.
 */
void srnic_ep_deadline_s(struct srnic_ep *ep, unsigned int seconds)
{
	srnic_ep_deadline(ep, seconds * MSEC_PER_SEC);
}

/**
 * srnic_ep_expired - has the deadline passed?
 * @ep: locked
 * Context: process.
 */
bool srnic_ep_expired(const struct srnic_ep *ep)
{
	return ep->deadline && time_after_eq(jiffies, ep->deadline);
}

/**
 * srnic_ep_unwanted - has the endpoint to give up?
 * @ep: locked
 * Context: process.
 */
bool srnic_ep_unwanted(const struct srnic_ep *ep)
{
	return test_bit(SRNIC_EPF_ABORT, &ep->flags) ||
	       (ep->listener && test_bit(SRNIC_EPF_EVICT, &ep->flags));
}

static void srnic_ep_socket_event(void *priv)
{
	srnic_ep_kick(priv);
}

static const struct srnic_stream_ops srnic_ep_stream_ops = {
	.data_ready = srnic_ep_socket_event,
	.state_change = srnic_ep_socket_event,
};

/**
 * srnic_ep_await - run the endpoint's work at its deadline, if no event comes before
 * @ep: locked
 * Context: process.
 */
void srnic_ep_await(struct srnic_ep *ep)
{
	long left = ep->deadline - jiffies;

	/* a delay of 0 would move a work that is queued already */
	if (ep->deadline)
		srnic_ep_queue(ep, max(left, 1L));
}

/*
 * The deadline that the work waits for is over. Whoever else queued the work has set a flag. The
 * caller has a reference.
 */
static void ep_new_deadline(struct srnic_ep *ep)
{
	if (cancel_delayed_work(&ep->work))
		srnic_ep_put(ep);
	srnic_ep_await(ep);
	smp_mb();	/* cancel, then look; srnic_ep_notify() sets the flag, then queues */
	if (ep->flags & (BIT(SRNIC_EPF_ABORT) | BIT(SRNIC_EPF_GONE)))
		srnic_ep_kick(ep);
}

/**
 * srnic_ep_adopt - give an endpoint its stream
 * @ep: without a stream; locked
 * @stream: owned by the endpoint from now on
 *
 * Callbacks do not report earlier events of the socket: the caller looks, or queues the work.
 * Context: process.
 */
void srnic_ep_adopt(struct srnic_ep *ep, struct srnic_stream *stream)
{
	ep->stream = stream;
	srnic_stream_hook(stream, &srnic_ep_stream_ops, ep);
}

/**
 * srnic_ep_drop_stream - close the stream
 * @ep: with or without a stream; locked
 * @abort: by RST and not by FIN
 * Context: process, may sleep.
 */
void srnic_ep_drop_stream(struct srnic_ep *ep, bool abort)
{
	if (!ep->stream)
		return;
	srnic_stream_unhook(ep->stream);
	if (abort)
		srnic_stream_abort(ep->stream);
	srnic_stream_free(ep->stream);
	ep->stream = NULL;
}

/**
 * srnic_ep_close - end an endpoint
 * @ep: locked; the caller has a reference beside that of its state
 * @abort: close its stream by RST and not by FIN
 * Context: process, may sleep.
 */
void srnic_ep_close(struct srnic_ep *ep, bool abort)
{
	srnic_ep_drop_stream(ep, abort);
	srnic_ep_leave(ep);
	ep->deadline = 0;
	ep->state = SRNIC_EP_CLOSED;
	/* a work that waits for the deadline has a reference */
	if (cancel_delayed_work(&ep->work))
		srnic_ep_put(ep);
	srnic_ep_put(ep);
}

/**
 * srnic_ep_linger - the last frame was sent: the stream lingers, the endpoint ends
 * @ep: with a stream; locked
 * Context: process, may sleep.
 */
void srnic_ep_linger(struct srnic_ep *ep)
{
	srnic_count(ep->dev, SRNIC_CNT_CLOSE_LINGERED);
	ep->stream->no_qp = true;
	srnic_linger(ep->stream, NULL, ep->policy.close_timeout * HZ, false);
	ep->stream = NULL;
	srnic_ep_close(ep, false);
}

/* ----- the QP ----- */

static void srnic_ep_qp_abort(void *priv)
{
	srnic_ep_notify(priv, SRNIC_EPF_ABORT);
}

/* The claim has ended. Puts the claim's reference to the endpoint. */
static void srnic_ep_qp_closed(void *priv, int err)
{
	struct srnic_ep *ep = priv;

	ep->close_err = err;
	srnic_ep_notify(ep, SRNIC_EPF_GONE);
	srnic_ep_put(ep);
}

static const struct srnic_llp_ops srnic_ep_llp_ops = {
	.abort = srnic_ep_qp_abort,
	.closed = srnic_ep_qp_closed,
};

/* Could the caller send any packet on the interface of @dev, with a packet socket? */
static bool may_send_raw(const struct srnic_device *dev)
{
	bool may;

	rcu_read_lock();
	may = ns_capable(dev_net(dev->netdev)->user_ns, CAP_NET_RAW);
	rcu_read_unlock();
	return may;
}

/*
 * iw_cm names a QP by its number, and any user can list the numbers. A program's QP may be
 * claimed by the user that made it, and by tasks with CAP_NET_RAW. A kernel consumer's QP is for
 * the rdma_cm id that has the QP; the id of a program has no QP. An id without a QP belongs to a
 * kernel consumer if a kthread calls.
 */
static bool ep_may_claim(const struct srnic_ep *ep, const struct srnic_qp *qp,
			 const struct iw_cm_id *id)
{
	const struct rdma_cm_id *cma_id = cma_id_of(id);

	if (qp->kernel)
		return !cma_id || cma_id->qp == &qp->ibqp || current->flags & PF_KTHREAD;
	return uid_eq(current_euid(), qp->owner) || may_send_raw(ep->dev);
}

/**
 * srnic_ep_claim - reserve the QP for this connection
 * @ep: without a QP; locked
 * @id: iwcm's id of the connection
 * @qpn: QP number
 *
 * Context: process, of the task that connects or accepts; may sleep.
 *
 * Return: 0; -EPERM, counted, for another user's QP; an errno of srnic_qp_claim().
 */
int srnic_ep_claim(struct srnic_ep *ep, const struct iw_cm_id *id, u32 qpn)
{
	struct srnic_qp *qp = srnic_qp_find(ep->dev, qpn);
	int err;

	if (!qp)
		return -EINVAL;
	if (!ep_may_claim(ep, qp, id)) {
		srnic_count(ep->dev, SRNIC_CNT_CONN_NOT_OWNER);
		err = -EPERM;
		goto put_qp;
	}
	kref_get(&ep->ref);
	err = srnic_qp_claim(qp, &srnic_ep_llp_ops, ep);
	if (err)
		goto put_ep;
	ep->qp = qp;
	ep->qpn = qpn;
	return 0;

put_ep:
	srnic_ep_put(ep);
put_qp:
	srnic_qp_put(qp);
	return err;
}

/**
 * srnic_ep_unclaim - release the QP without a connection
 * @ep: with a QP claimed and not attached; locked
 * Context: process, may sleep.
 */
void srnic_ep_unclaim(struct srnic_ep *ep)
{
	srnic_qp_unclaim(ep->qp, ep);
	srnic_qp_put(ep->qp);
	ep->qp = NULL;
	srnic_ep_put(ep);
}

/**
 * srnic_ep_attach - hand the stream to the QP, which may call closed() from then on
 * @ep: with a stream and a QP claimed; locked
 * @initiator: active side
 * @mpa: negotiated settings
 * @last_len: octets of the Reply in the frame buffer, 0 if there is none
 *
 * If SRNIC_EPF_ABORT is set during the call, the QP gets the stream, and is aborted at once.
 *
 * Context: process, may sleep.
 * Return: 0; -ECONNABORTED if the flag was set before, or the errno of
 * srnic_qp_attach(): stream and QP are unchanged.
 */
int srnic_ep_attach(struct srnic_ep *ep, bool initiator,
		    const struct mpa_result *mpa, u32 last_len)
{
	struct srnic_attach attach = {
		.stream = ep->stream,
		.initiator = initiator,
		.mpa = *mpa,
		.policy = &ep->policy,
		.last_msg = last_len ? ep->frame : NULL,
		.last_len = last_len,
		.timeout_ms = SRNIC_CM_SEND_MS,
		.as_infiniband = ep->ops->as_infiniband,
		.send_imm = ep->send_imm,
		.acks = ep->acks,
		.placement = ep->placement,
	};
	int err;

	if (test_bit(SRNIC_EPF_ABORT, &ep->flags))
		return -ECONNABORTED;
	if (ep->large_fpdus)
		mpa_agree_large(&attach.mpa);
	/* the listener's user may be another one */
	ep->stream->user_key = ep->qp->llp_user;
	srnic_stream_keepalive(ep->stream, ep->policy.keepalive);
	err = srnic_qp_attach(ep->qp, &attach);
	if (err)
		return err;
	ep->stream = NULL;
	ep->state = SRNIC_EP_ATTACHED;
	/* pairs with srnic_ep_notify(): afterwards its caller may find the QP still in Idle */
	smp_mb();
	if (test_bit(SRNIC_EPF_ABORT, &ep->flags))
		srnic_qp_abort(ep->qp);
	ep->deadline = 0;
	/* the RTR ends the start-up (RFC 6581 9.3): it has a time-out, too (M-STA-8) */
	if (!initiator && mpa->p2p)
		srnic_ep_deadline_s(ep, ep->policy.request_timeout);
	ep_new_deadline(ep);
	return 0;
}

/* The time-out for the RTR has expired. If no RTR has come, CLOSE follows. */
static void srnic_ep_check_rtr(struct srnic_ep *ep)
{
	struct srnic_qp *qp = srnic_qp_find(ep->dev, ep->qpn);

	ep->deadline = 0;
	if (!qp)
		return;
	if (srnic_qp_abort_silent(qp, ep))
		srnic_ep_note(ep, "no RTR", -ETIMEDOUT);
	srnic_qp_put(qp);
}

static void iw_closed(struct srnic_ep *ep, int err)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_CLOSE, .status = err };
	struct iw_cm_id *id = ep->cm_id;

	if (!ep->no_events)
		id->event_handler(id, &event);
	ep->cm_id = NULL;
	id->rem_ref(id);
}

/* Not static: cm_active.c and cm_listen.c use it */
const struct srnic_ep_ops srnic_iw_ops = {
	.request = srnic_iw_request,
	.established = srnic_iw_established,
	.failed = srnic_iw_failed,
	.closed = iw_closed,
};

static void srnic_ep_run_attached(struct srnic_ep *ep)
{
	if (!test_bit(SRNIC_EPF_GONE, &ep->flags)) {
		if (srnic_ep_expired(ep))
			srnic_ep_check_rtr(ep);
		return;
	}
	smp_rmb();		/* see srnic_ep_notify() */
	srnic_ep_note(ep, "closed", ep->close_err);
	ep->ops->closed(ep, ep->close_err);
	srnic_ep_close(ep, false);
}

/* ----- passive side: accept and reject ----- */

/*
 * On a device that is added later rdma_cm listens in the name of who adds it. What a program
 * accepts is the program's. Return: 0 or an errno of srnic_user_own()
 */
static int passive_own(struct socket *sock)
{
	return uid_eq(SOCK_INODE(sock)->i_uid, current_fsuid()) ? 0 : srnic_user_own(sock);
}

/* Return: 0 with ESTABLISHED sent; else an errno, and the endpoint has ended. */
static int passive_accept(struct srnic_ep *ep, struct iw_cm_id *id,
			  const struct iw_cm_conn_param *param)
{
	struct iw_cm_event event = { .event = IW_CM_EVENT_ESTABLISHED };
	struct mpa_result mpa;
	u32 len;
	int err;

	err = passive_own(ep->stream->sock) ?: srnic_ep_claim(ep, id, param->qpn);
	if (err) {
		srnic_ep_refuse(ep, NULL, 0);
		return err;
	}
	if (mpa_respond(&ep->policy.mpa, &ep->req,
			min_t(u32, param->ird, ep->policy.mpa.max_ird),
			min_t(u32, param->ord, ep->policy.mpa.max_ord),
			param->private_data_len, &ep->reply, &mpa) != MPA_OK) {
		/* passive_request() has checked the markers: there is too much private data */
		srnic_ep_unclaim(ep);
		srnic_ep_refuse(ep, NULL, 0);
		return -EINVAL;
	}
	len = srnic_ep_put_reply(ep, &ep->reply, param->private_data,
				 param->private_data_len);
	err = srnic_ep_attach(ep, false, &mpa, len);
	if (err) {
		/* the Reply may have been sent: no other one can follow */
		srnic_ep_unclaim(ep);
		srnic_ep_close(ep, true);
		return err;
	}

	srnic_ep_fate(ep, SRNIC_CNT_CONN_PASSIVE, 0);
	srnic_qp_put(ep->qp);
	ep->qp = NULL;
	id->add_ref(id);
	ep->cm_id = id;
	event.local_addr = ep->local;
	event.remote_addr = ep->remote;
	event.ird = srnic_ep_event_depth(mpa.ord, 0);
	event.ord = srnic_ep_event_depth(mpa.ird, 0);
	id->event_handler(id, &event);
	return 0;
}

/**
 * srnic_cm_accept - iw_cm accept
 * @id: iwcm's id for a CONNECT_REQUEST
 * @param: the QP, depths and private data
 *
 * Return: 0, and ESTABLISHED has been reported; -ECONNRESET if the peer or the device is
 * gone, or the accept time-out has expired; -EDQUOT if the user's limit of connected QPs is
 * reached; -EPERM for another user's QP; -EINVAL for a bad QP, a QP not in Idle, or too much
 * private data; -EBUSY for a QP that connects already; another errno of srnic_user_own() or
 * srnic_qp_attach(). On an error the connection is refused or closed, and no event is reported.
 */
static int srnic_cm_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct srnic_ep *ep = srnic_ep_find(id);
	int err = -ECONNRESET;

	if (!ep)
		return err;
	mutex_lock(&ep->lock);
	if (ep->state == SRNIC_EP_REPORTED) {
		if (srnic_ep_unwanted(ep) || srnic_ep_probe(ep))
			srnic_ep_close(ep, true);
		else
			err = passive_accept(ep, id, param);
		if (err)
			srnic_ep_fate(ep, SRNIC_CNT_CONN_FAILED, err);
	}
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
	return err;
}

/**
 * srnic_cm_reject - iw_cm reject
 * @id: iwcm's id for a CONNECT_REQUEST
 * @pdata: private data for the peer's ULP
 * @pdata_len: its octets
 *
 * Return: 0, or -ECONNRESET if the peer is gone already.
 */
static int srnic_cm_reject(struct iw_cm_id *id, const void *pdata, u8 pdata_len)
{
	struct srnic_ep *ep = srnic_ep_find(id);
	int err = -ECONNRESET;

	if (!ep)
		return err;
	mutex_lock(&ep->lock);
	if (ep->state == SRNIC_EP_REPORTED) {
		srnic_ep_fate(ep, SRNIC_CNT_CONN_REJECTED, 0);
		srnic_ep_refuse(ep, pdata, pdata_len);
		err = 0;
	}
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
	return err;
}

/*
 * iwcm has no reference of its own when it looks a QP up by number, so iw_get_qp
 * takes one: destroy_qp may come in between. iwcm calls iw_add_ref right after it.
 */
static void srnic_iw_add_ref(struct ib_qp *ibqp)
{
}

static void srnic_iw_rem_ref(struct ib_qp *ibqp)
{
	srnic_qp_put(to_srnic_qp(ibqp));
}

static struct ib_qp *srnic_iw_get_qp(struct ib_device *ibdev, int qpn)
{
	struct srnic_qp *qp = srnic_qp_find(to_srnic_dev(ibdev), qpn);

	return qp ? &qp->ibqp : NULL;
}

/* Not static: device.c registers them */
const struct ib_device_ops srnic_cm_ops = {
	.iw_accept = srnic_cm_accept,
	.iw_add_ref = srnic_iw_add_ref,
	.iw_connect = srnic_cm_connect,
	.iw_create_listen = srnic_cm_listen,
	.iw_destroy_listen = srnic_cm_destroy_listen,
	.iw_get_qp = srnic_iw_get_qp,
	.iw_reject = srnic_cm_reject,
	.iw_rem_ref = srnic_iw_rem_ref,
};

/* ----- the work, and the module ----- */

static void srnic_ep_run(struct work_struct *work)
{
	struct srnic_ep *ep = container_of(to_delayed_work(work),
					   struct srnic_ep, work);
	struct srnic_user_scope scope;

	srnic_user_enter(ep->user, &scope);
	mutex_lock(&ep->lock);
	switch (ep->state) {
	case SRNIC_EP_LISTENING:
		srnic_ep_run_listener(ep);
		break;
	case SRNIC_EP_CONNECTING:
	case SRNIC_EP_AWAIT_REPLY:
		srnic_ep_run_active(ep);
		break;
	case SRNIC_EP_AWAIT_REQUEST:
	case SRNIC_EP_REPORTED:
		srnic_ep_run_passive(ep);
		break;
	case SRNIC_EP_ATTACHED:
		srnic_ep_run_attached(ep);
		break;
	case SRNIC_EP_IDLE:
	case SRNIC_EP_CLOSED:
		break;
	}
	srnic_ep_await(ep);
	mutex_unlock(&ep->lock);
	srnic_user_leave(&scope);
	srnic_ep_put(ep);
}

/**
 * srnic_cm_drop_device - give up connections that are being set up on a device
 * @dev: the device, or NULL for all
 *
 * Called when a device or an interface is going away, so that no task has to wait for
 * a time-out. Attached connections end with their QP, listeners with their id. Does
 * not wait. Context: process.
 */
void srnic_cm_drop_device(struct srnic_device *dev)
{
	unsigned long handle = 0;
	struct srnic_ep *ep;

	while ((ep = srnic_ep_next(dev, &handle))) {
		srnic_ep_notify(ep, SRNIC_EPF_ABORT);
		srnic_ep_put(ep);
	}
}

static bool device_has_eps(const struct srnic_device *dev)
{
	unsigned long handle;
	struct srnic_ep *ep;
	bool has = false;

	xa_lock(&srnic_cm_eps);
	xa_for_each(&srnic_cm_eps, handle, ep)
		has |= ep->dev == dev;
	xa_unlock(&srnic_cm_eps);
	return has;
}

/**
 * srnic_cm_wait_device - wait until a device has no endpoints
 * @dev: after srnic_cm_drop_device(); its QPs and its ids are gone
 *
 * An endpoint has a reference to struct srnic_device, but counts in dev->counters, which the
 * caller frees after this. Context: process, may sleep, but does not wait for a peer.
 */
void srnic_cm_wait_device(struct srnic_device *dev)
{
	wait_event(srnic_cm_idle, !device_has_eps(dev));
}

/**
 * srnic_cm_device_moved - the interface may be in another network namespace
 * @dev: the device
 *
 * Listeners of the new namespace open a socket, the others close theirs. Does not wait. Context:
 * process.
 */
void srnic_cm_device_moved(struct srnic_device *dev)
{
	unsigned long handle = 0;
	struct srnic_ep *ep;

	while ((ep = srnic_ep_next(dev, &handle))) {
		if (test_bit(SRNIC_EPF_LISTENS, &ep->flags))
			srnic_ep_kick(ep);
		srnic_ep_put(ep);
	}
}

/**
 * srnic_cm_init - at load of the module
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int srnic_cm_init(void)
{
	/*
	 * Not unbound: no standard promises an order among connections, but programs
	 * that set up many at once (perftest) expect it, and other drivers keep it.
	 */
	srnic_cm_wq = alloc_workqueue("srnic_cm", WQ_PERCPU | WQ_MEM_RECLAIM, 0);
	return srnic_cm_wq ? 0 : -ENOMEM;
}

/**
 * srnic_cm_exit - at unload of the module
 *
 * The devices are gone, and with them all endpoints that iwcm knows. Endpoints that iwcm has not
 * been told of, or has dropped, are left; they end at once. Context: process, may sleep.
 */
void srnic_cm_exit(void)
{
	srnic_cm_drop_device(NULL);
	wait_event(srnic_cm_idle, !srnic_xa_has_entries(&srnic_cm_eps));
	destroy_workqueue(srnic_cm_wq);
	xa_destroy(&srnic_cm_eps);
}
