// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections: listeners, and inbound connections up to the CONNECT_REQUEST.
 *
 * TCP delivers a connection with its first octets, or after a second without any: in
 * MPA the initiator sends first. The connection is half-open from then until its
 * Request is reported to iwcm, or it is closed. A listener has a bounded number of
 * places for half-open connections. When all are taken TCP's queue holds the next
 * ones, and the oldest is evicted once it has had SRNIC_CM_GRACE_MS to send its
 * Request. So silent peers cannot lock others out.
 */

#include <linux/inet.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include "cm/cm_priv.h"

/**
 * srnic_ep_v6only - is an IPv6 socket for IPv6 peers only?
 * @ep: locked
 * Context: process.
 */
bool srnic_ep_v6only(const struct srnic_ep *ep)
{
	return !ep->cm_id || ep->cm_id->afonly;
}

/**
 * srnic_ep_set_tos - set the ULP's type of service
 * @sock: not yet connected or listening
 * @id: iwcm's id, which may have one; NULL: none
 * Context: process, may sleep.
 */
void srnic_ep_set_tos(struct socket *sock, const struct iw_cm_id *id)
{
	int tos;

	if (!id || !id->tos_set)
		return;
	tos = id->tos;
	if (sock->sk->sk_family == AF_INET6)
		sock->ops->setsockopt(sock, SOL_IPV6, IPV6_TCLASS,
				      KERNEL_SOCKPTR(&tos), sizeof(tos));
	else
		ip_sock_set_tos(sock->sk, tos);
}

/**
 * srnic_ep_leave - free the place of a half-open connection
 * @ep: half-open or not; locked
 * Context: process.
 */
void srnic_ep_leave(struct srnic_ep *ep)
{
	struct srnic_ep *listener = ep->listener;
	bool full;

	if (!listener)
		return;
	spin_lock(&listener->half_lock);
	list_del_init(&ep->sibling);
	full = listener->num_half-- >= listener->max_half;
	spin_unlock(&listener->half_lock);
	ep->listener = NULL;
	if (full)
		srnic_ep_kick(listener);
	srnic_ep_put(listener);
}

/* Is there a place for one more? If not, evict the oldest, now or after its grace time. */
static bool listener_has_room(struct srnic_ep *ep)
{
	struct srnic_ep *oldest;
	unsigned long end;
	bool room;

	spin_lock(&ep->half_lock);
	room = ep->num_half < ep->max_half;
	if (!room) {
		oldest = list_first_entry(&ep->half_open, struct srnic_ep,
					  sibling);
		end = oldest->born + msecs_to_jiffies(SRNIC_CM_GRACE_MS);
		if (time_after_eq(jiffies, end))
			srnic_ep_notify(oldest, SRNIC_EPF_EVICT);
		else
			ep->deadline = end ?: 1;
	}
	spin_unlock(&ep->half_lock);
	return room;
}

/* An IPv6 socket may have an IPv4 peer. rdma_cm finds its devices by plain IPv4 addresses */
static void unmap_v4(struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in sin = { .sin_family = AF_INET };

	if (addr->ss_family != AF_INET6 || !ipv6_addr_v4mapped(&sin6->sin6_addr))
		return;
	sin.sin_port = sin6->sin6_port;
	sin.sin_addr.s_addr = sin6->sin6_addr.s6_addr32[3];
	memset(addr, 0, sizeof(*addr));
	memcpy(addr, &sin, sizeof(sin));
}

/* Takes over @sock, and what has come with it. @listener is locked. */
static void listener_adopt(struct srnic_ep *listener, struct socket *sock)
{
	struct srnic_stream *stream = NULL;
	struct srnic_ep *ep;

	srnic_sock_prepare(sock);
	ep = srnic_ep_new(listener->dev, listener->user, listener->ops);
	if (ep)
		stream = srnic_stream_new(sock);
	if (!stream) {
		srnic_count(listener->dev, SRNIC_CNT_CONN_DROPPED);
		sock_release(sock);
		if (ep)
			srnic_ep_put(ep);
		return;
	}

	/* it may end here, or by its work while it is being unlocked */
	kref_get(&ep->ref);
	mutex_lock_nested(&ep->lock, SINGLE_DEPTH_NESTING);
	kernel_getsockname(sock, (struct sockaddr *)&ep->local);
	kernel_getpeername(sock, (struct sockaddr *)&ep->remote);
	unmap_v4(&ep->local);
	unmap_v4(&ep->remote);
	kref_get(&listener->ref);
	ep->listener = listener;
	spin_lock(&listener->half_lock);
	list_add_tail(&ep->sibling, &listener->half_open);
	listener->num_half++;
	spin_unlock(&listener->half_lock);
	ep->want = MPA_HELLO_LEN;
	ep->state = SRNIC_EP_AWAIT_REQUEST;
	srnic_ep_deadline_s(ep, ep->policy.request_timeout);
	srnic_ep_adopt(ep, stream);
	if (ep->ops->waits) {
		srnic_ep_kick(ep);
	} else {
		/* mostly its Request is there, see tcp_defer_accept(): no work has to run for it */
		srnic_ep_run_passive(ep);
		srnic_ep_await(ep);
	}
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
}

/* Takes connections from TCP. @ep is locked. */
static void listener_accept(struct srnic_ep *ep)
{
	struct socket *sock;
	int i, err;

	for (i = 0; i < SRNIC_CM_ACCEPT_BATCH; i++) {
		if (!listener_has_room(ep))
			return;
		err = kernel_accept(ep->stream->sock, &sock, O_NONBLOCK);
		if (err == -ECONNABORTED)
			continue;
		if (err) {
			/* after a failed allocation there is no callback: set a time-out */
			if (err == -ENOMEM || err == -ENOBUFS)
				srnic_ep_deadline(ep, SRNIC_CM_RETRY_MS);
			return;
		}
		srnic_stream_disinherit(ep->stream, sock);
		listener_adopt(ep, sock);
	}
	srnic_ep_kick(ep);
}

/**
 * srnic_iw_request - report the Request to iwcm
 * @ep: AWAIT_REQUEST; locked
 *
 * Sets REPORTED first, since accept() or reject() may come at once; these wait for
 * the endpoint's lock. Context: process, may sleep.
 */
void srnic_iw_request(struct srnic_ep *ep)
{
	struct srnic_ep *listener = ep->listener;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)(uintptr_t)ep->handle,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
		/* the peer's depths; cma makes initiator_depth and responder_resources of them */
		.ird = srnic_ep_event_depth(ep->req.ird, ep->policy.mpa.max_ord),
		.ord = srnic_ep_event_depth(ep->req.ord, ep->policy.mpa.max_ird),
	};
	int err = -ECONNABORTED;

	if (!srnic_ep_pdata(ep, &ep->req, &event)) {
		/* the ULP could not tell truncated private data from complete data */
		srnic_ep_fate(ep, SRNIC_CNT_CONN_FAILED, -EMSGSIZE);
		srnic_ep_refuse(ep, NULL, 0);
		return;
	}

	ep->state = SRNIC_EP_REPORTED;
	srnic_ep_deadline_s(ep, ep->policy.accept_timeout);
	spin_lock(&listener->half_lock);
	if (!listener->stopped)
		err = listener->cm_id->event_handler(listener->cm_id, &event);
	spin_unlock(&listener->half_lock);
	if (!err) {
		srnic_ep_note(ep, "request", 0);
		srnic_ep_leave(ep);
		return;
	}
	/*
	 * iwcm's backlog is full. The peer would take a close without a Reply for
	 * "revision 2 not understood", and try again at once.
	 */
	srnic_ep_fate(ep, SRNIC_CNT_CONN_DROPPED, err);
	srnic_ep_refuse(ep, NULL, 0);
}

static void passive_request(struct srnic_ep *ep)
{
	int ret = srnic_ep_read_hello(ep, MPA_REQUEST, &ep->req);

	if (ret == -EAGAIN) {
		if (!srnic_ep_expired(ep))
			return;
		ret = -ETIMEDOUT;
	}
	if (!ret)
		ret = srnic_ep_probe(ep);
	/* do as an end that supports revision 1 only: close without a Reply (V2-19) */
	if (!ret && ep->req.rev > ep->policy.mpa.rev)
		ret = MPA_BAD_REV;
	if (ret) {
		srnic_ep_fate(ep, SRNIC_CNT_CONN_FAILED, ret > 0 ? -EPROTO : ret);
		if (ret == MPA_BAD_REV && !ep->req.rev) {
			/* M-RDMAC-1: the RDMAC protocols are not supported */
			ep->req.rev = 1;
			srnic_ep_refuse(ep, NULL, 0);
			return;
		}
		srnic_ep_close(ep, true);
		return;
	}
	if (ep->req.markers && !ep->policy.mpa.tx_markers) {
		srnic_ep_fate(ep, SRNIC_CNT_CONN_FAILED, -EOPNOTSUPP);
		srnic_ep_refuse(ep, NULL, 0);
		return;
	}
	ep->ops->request(ep);
}

/**
 * srnic_ep_run_passive - continue an inbound connection before accept()
 * @ep: AWAIT_REQUEST or REPORTED; locked
 * Context: process, may sleep.
 */
void srnic_ep_run_passive(struct srnic_ep *ep)
{
	int err;

	if (srnic_ep_unwanted(ep)) {
		srnic_ep_fate(ep, SRNIC_CNT_CONN_DROPPED, -ECONNABORTED);
		srnic_ep_close(ep, true);
		return;
	}
	if (ep->state == SRNIC_EP_AWAIT_REQUEST) {
		passive_request(ep);
		return;
	}
	err = srnic_ep_probe(ep);
	if (!err && srnic_ep_expired(ep))
		err = -ETIMEDOUT;
	if (err) {
		srnic_ep_fate(ep, SRNIC_CNT_CONN_FAILED, err);
		srnic_ep_close(ep, true);
	}
}

/*
 * The initiator sends first, so TCP delivers a connection when data has arrived. A
 * silent connection stays in TCP's queue of SYNs for a second. Then TCP repeats its
 * SYN-ACK, and delivers the connection with the peer's next ACK.
 */
static void tcp_defer_accept(struct socket *sock)
{
	int seconds = 1;

	sock->ops->setsockopt(sock, SOL_TCP, TCP_DEFER_ACCEPT, KERNEL_SOCKPTR(&seconds),
			      sizeof(seconds));
}

static bool listener_is_wildcard(const struct srnic_ep *ep)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&ep->local;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&ep->local;

	return ep->local.ss_family == AF_INET6 ? ipv6_addr_any(&sin6->sin6_addr) :
						 !sin->sin_addr.s_addr;
}

static bool listener_is_loopback(const struct srnic_ep *ep)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&ep->local;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&ep->local;

	return ep->local.ss_family == AF_INET6 ? ipv6_addr_loopback(&sin6->sin6_addr) :
						 ipv4_is_loopback(sin->sin_addr.s_addr);
}

/* Binds to the listening address; a wildcard covers all addresses of this device only. */
static int listener_bind(struct srnic_ep *ep, struct socket *sock)
{
	int err;

	sock_set_reuseaddr(sock->sk);
	/* the sockets that hold the port have SO_REUSEPORT, too: see rdv_port.c */
	if (ep->ops->as_infiniband)
		sock_set_reuseport(sock->sk);
	if (ep->local.ss_family == AF_INET6 && srnic_ep_v6only(ep)) {
		err = ip6_sock_set_v6only(sock->sk);
		if (err)
			return err;
	}
	/* rdma_cm listens at a wildcard on each device: bind each listener to its own interface */
	err = srnic_sock_stay(ep->dev, sock->sk, listener_is_wildcard(ep));
	if (err)
		return err;
	srnic_ep_set_tos(sock, ep->cm_id);
	return kernel_bind(sock, (struct sockaddr_unsized *)&ep->local, srnic_addr_len(&ep->local));
}

/*
 * Return: 0; -EXDEV if the interface is in another namespace, or the address is reached over lo
 * and this is another interface; an errno of the socket calls.
 */
static int listener_open(struct srnic_ep *ep)
{
	struct srnic_stream *stream;
	struct socket *sock;
	int err;

	if (listener_is_loopback(ep) && !(ep->dev->netdev->flags & IFF_LOOPBACK))
		return -EXDEV;
	err = srnic_sock_create(ep->dev, ep->net, ep->local.ss_family, &sock);
	if (err)
		return err;
	err = listener_bind(ep, sock);
	if (err)
		goto release;
	stream = srnic_stream_new(sock);
	if (!stream) {
		err = -ENOMEM;
		goto release;
	}
	srnic_ep_adopt(ep, stream);
	/* silent connections stay in TCP's queue of SYNs for a second, so the backlog is long */
	tcp_defer_accept(sock);
	err = kernel_listen(sock, max(ep->backlog, SRNIC_CM_MAX_HALF_OPEN));
	if (err)
		srnic_ep_drop_stream(ep, false);
	return err;

release:
	sock_release(sock);
	return err;
}

/*
 * There is no socket because of @err; @was is the previous error, or 0. No notifier
 * tells when a port becomes free, so the listener tries again after a time-out. After
 * -EXDEV srnic_cm_device_moved() runs the listener's work.
 */
static void listener_wait(struct srnic_ep *ep, int err, int was)
{
	if (err != was) {
		srnic_ep_note(ep, "listen waits", err);
		if (err != -EXDEV)
			srnic_count(ep->dev, SRNIC_CNT_LISTEN_WAIT);
	}
	ep->wait_err = err;
	set_bit(SRNIC_EPF_WAITS, &ep->flags);
	if (err != -EXDEV)
		srnic_ep_deadline(ep, SRNIC_CM_LISTEN_MS);
}

/* Return: true if there is a socket */
static bool listener_is_open(struct srnic_ep *ep)
{
	int err;

	if (ep->stream && !srnic_sock_strays(ep->dev, ep->stream->sock->sk))
		return true;
	srnic_ep_drop_stream(ep, false);
	err = listener_open(ep);
	if (err) {
		listener_wait(ep, err, ep->wait_err);
		return false;
	}
	ep->wait_err = 0;
	clear_bit(SRNIC_EPF_WAITS, &ep->flags);
	srnic_ep_note(ep, "listen", 0);
	return true;
}

/**
 * srnic_ep_run_listener - take connections from TCP and begin them, or try again to get a socket
 * @ep: LISTENING; locked
 * Context: process, may sleep.
 */
void srnic_ep_run_listener(struct srnic_ep *ep)
{
	ep->deadline = 0;
	if (listener_is_open(ep))
		listener_accept(ep);
}

static bool same_port(const struct srnic_ep *a, const struct srnic_ep *b)
{
	/* at the same place in both kinds of addresses */
	const struct sockaddr_in *sa = (const struct sockaddr_in *)&a->local;
	const struct sockaddr_in *sb = (const struct sockaddr_in *)&b->local;

	return sa->sin_family == sb->sin_family && sa->sin_port == sb->sin_port;
}

/* The number of interfaces with an srnic in the network namespace of @dev */
static unsigned int devices_beside(const struct srnic_device *dev)
{
	struct net_device *netdev;
	struct ib_device *ibdev;
	unsigned int n = 0;

	rcu_read_lock();
	for_each_netdev_rcu(dev_net(dev->netdev), netdev) {
		ibdev = ib_device_get_by_netdev(netdev, SRNIC_DRIVER_ID);
		if (!ibdev)
			continue;
		ib_device_put(ibdev);
		n++;
	}
	rcu_read_unlock();
	return n;
}

/*
 * The port is taken on this device. Does the program listen at it on another device of
 * its namespace, or has rdma_cm yet to call for one of them? rdma_cm calls for one
 * device after the other, so the last call decides whether all have failed.
 */
static bool listener_has_others(const struct srnic_ep *ep)
{
	unsigned int waiting = 1;	/* @ep would wait */
	unsigned long handle = 0;
	bool open = false;
	struct srnic_ep *other;

	while (!open && (other = srnic_ep_next(NULL, &handle))) {
		if (test_bit(SRNIC_EPF_LISTENS, &other->flags)) {
			smp_rmb();	/* see srnic_ep_listen() */
			if (other->dev != ep->dev && other->net == ep->net &&
			    same_port(ep, other) && listener_is_wildcard(other)) {
				open = !test_bit(SRNIC_EPF_WAITS, &other->flags);
				waiting++;
			}
		}
		srnic_ep_put(other);
	}
	return open || waiting < devices_beside(ep->dev);
}

/*
 * rdma_cm creates a wildcard listener on every device, in any network namespace, and
 * on new devices, too; and takes a loopback address for a wildcard. After an error it
 * would end the program's listeners on all devices, or ignore the new device.
 */
static bool listener_may_wait(const struct srnic_ep *ep, int err)
{
	bool wildcard = listener_is_wildcard(ep);

	if (!wildcard && !listener_is_loopback(ep))
		return false;
	if (srnic_device_phase(ep->dev) != SRNIC_DEV_UP || err == -EXDEV)
		return true;
	return err == -EADDRINUSE && wildcard && listener_has_others(ep);
}

/**
 * srnic_ep_listen - make an endpoint a listener
 * @ep: with address, namespace, backlog; locked
 *
 * Context: process, may sleep.
 * Return: 0, with a socket or without; -EADDRINUSE, -EXDEV, or another errno of the
 * socket calls.
 */
int srnic_ep_listen(struct srnic_ep *ep)
{
	int err = listener_open(ep);

	if (err && !listener_may_wait(ep, err))
		return err;
	if (err)
		listener_wait(ep, err, 0);
	else
		srnic_ep_note(ep, "listen", 0);
	ep->state = SRNIC_EP_LISTENING;
	smp_mb__before_atomic();	/* address and namespace before the flag */
	set_bit(SRNIC_EPF_LISTENS, &ep->flags);
	/* the state has a reference; the work queues itself again for the deadline */
	kref_get(&ep->ref);
	srnic_ep_kick(ep);
	return 0;
}

/**
 * srnic_cm_listen - iw_cm create_listen
 * @id: iwcm's id, held until destroy_listen
 * @backlog: connections that may wait, in TCP and half-open
 *
 * A listener is in the network namespace of the program that listens. At a wildcard
 * or loopback address it may begin without a socket: see listener_may_wait().
 *
 * Context: process, may sleep.
 * Return: 0; -EADDRINUSE if the port is taken, at a wildcard address on every device
 * of the namespace; -EXDEV for an address of an interface in another namespace;
 * another errno of the socket calls.
 */
int srnic_cm_listen(struct iw_cm_id *id, int backlog)
{
	struct srnic_device *dev = to_srnic_dev(id->device);
	int family = id->m_local_addr.ss_family;
	struct srnic_ep *ep;
	int err;

	if (family != AF_INET && family != AF_INET6)
		return -EAFNOSUPPORT;
	ep = srnic_ep_new(dev, NULL, &srnic_iw_ops);
	if (!ep)
		return -ENOMEM;
	mutex_lock(&ep->lock);
	ep->net = srnic_cm_net(id);
	ep->backlog = backlog;
	ep->max_half = clamp(backlog, SRNIC_CM_MIN_HALF_OPEN,
			     SRNIC_CM_MAX_HALF_OPEN);
	ep->local = id->m_local_addr;
	ep->cm_id = id;
	err = srnic_ep_listen(ep);
	if (err) {
		srnic_ep_note(ep, "listen", err);
		ep->cm_id = NULL;
	} else {
		id->add_ref(id);
		id->provider_data = (void *)(uintptr_t)ep->handle;
	}
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
	return err;
}

/**
 * srnic_ep_unlisten - end a listener and free its port
 * @ep: LISTENING; locked
 *
 * The works of half-open connections close them. Context: process, may sleep.
 */
void srnic_ep_unlisten(struct srnic_ep *ep)
{
	struct srnic_ep *child;

	spin_lock(&ep->half_lock);
	ep->stopped = true;
	srnic_ep_note(ep, "listen end", 0);
	list_for_each_entry(child, &ep->half_open, sibling)
		srnic_ep_notify(child, SRNIC_EPF_EVICT);
	spin_unlock(&ep->half_lock);
	clear_bit(SRNIC_EPF_LISTENS, &ep->flags);
	ep->cm_id = NULL;
	srnic_ep_close(ep, false);
}

/**
 * srnic_cm_destroy_listen - iw_cm destroy_listen
 * @id: listening
 *
 * No CONNECT_REQUEST is reported after this, and the port is free. The works of
 * half-open connections close them; reported ones still wait for accept() or
 * reject(). Context: process, may sleep, but does not wait for a peer.
 *
 * Return: 0.
 */
int srnic_cm_destroy_listen(struct iw_cm_id *id)
{
	struct srnic_ep *ep = srnic_ep_find(id);

	if (!ep)
		return 0;
	mutex_lock(&ep->lock);
	if (ep->state == SRNIC_EP_LISTENING) {
		srnic_ep_unlisten(ep);
		id->rem_ref(id);
	}
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
	return 0;
}
