// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections: listeners, and inbound connections up to the CONNECT_REQUEST.
 *
 * A connection is half-open from TCP's accept until its request was given to
 * iwcm, or it is closed. Half-open connections have a bounded number of places
 * at their listener; when all are taken TCP's own queue holds the next ones,
 * and the oldest gives way as soon as it had a second to send its Request. So
 * silent peers cannot lock others out.
 */

#include <linux/inet.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include "cm_priv.h"

/**
 * srnic_ep_set_tos - honour the ULP's type of service
 * @sock: not yet connected or listening
 * @id: iwcm's id with the wish
 */
void srnic_ep_set_tos(struct socket *sock, const struct iw_cm_id *id)
{
	int tos = id->tos;

	if (!id->tos_set)
		return;
	if (sock->sk->sk_family == AF_INET6)
		sock->ops->setsockopt(sock, SOL_IPV6, IPV6_TCLASS,
				      KERNEL_SOCKPTR(&tos), sizeof(tos));
	else
		ip_sock_set_tos(sock->sk, tos);
}

/**
 * srnic_ep_leave - give back the place of a half-open connection
 * @ep: half-open or not; locked
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

/* Is there a place for one more? If not, sees to it that there will be. */
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
			srnic_ep_tell(oldest, SRNIC_EPF_EVICT);
		else
			ep->deadline = end ?: 1;
	}
	spin_unlock(&ep->half_lock);
	return room;
}

/* An IPv4 peer of an IPv6 socket: rdma_cm knows its devices by IPv4 addresses */
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

/* Takes over @sock. @listener is locked. */
static void listener_adopt(struct srnic_ep *listener, struct socket *sock)
{
	struct srnic_stream *stream = NULL;
	struct srnic_ep *ep;

	srnic_sock_prepare(sock);
	ep = srnic_ep_new(listener->dev);
	if (ep)
		stream = srnic_stream_new(sock);
	if (!stream) {
		srnic_count(listener->dev, SRNIC_CNT_CONN_DROPPED);
		sock_release(sock);
		if (ep)
			srnic_ep_put(ep);
		return;
	}

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
	mutex_unlock(&ep->lock);
}

/**
 * srnic_ep_run_listener - take connections from TCP
 * @ep: LISTENING; locked
 */
void srnic_ep_run_listener(struct srnic_ep *ep)
{
	struct socket *sock;
	int i, err;

	ep->deadline = 0;
	for (i = 0; i < SRNIC_CM_ACCEPT_BATCH; i++) {
		if (!listener_has_room(ep))
			return;
		err = kernel_accept(ep->stream->sock, &sock, O_NONBLOCK);
		if (err == -ECONNABORTED)
			continue;
		if (err) {
			/* without memory nothing else would wake us */
			if (err == -ENOMEM || err == -ENOBUFS)
				srnic_ep_deadline(ep, SRNIC_CM_RETRY_MS);
			return;
		}
		srnic_stream_disinherit(ep->stream, sock);
		listener_adopt(ep, sock);
	}
	srnic_ep_kick(ep);
}

/*
 * Gives the Request to iwcm. The state is REPORTED before, since the verdict
 * may come at once; it then waits for our lock.
 */
static void passive_report(struct srnic_ep *ep)
{
	struct srnic_ep *listener = ep->listener;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.provider_data = (void *)(uintptr_t)ep->handle,
		.local_addr = ep->local,
		.remote_addr = ep->remote,
		/* the peer's, of which cma makes initiator_depth and responder_resources */
		.ird = srnic_ep_event_depth(ep->req.ird, ep->policy.mpa.max_ord),
		.ord = srnic_ep_event_depth(ep->req.ord, ep->policy.mpa.max_ird),
	};
	int err = -ECONNABORTED;

	if (!srnic_ep_pdata(ep, &ep->req, &event)) {
		/* cut private data would be taken for the ULP's own words */
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
	 * iwcm's backlog is full. A close without a Reply would read as
	 * "revision 2 not understood", and the peer would try again at once.
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
	/* as an end that knows revision 1 only: closed without a Reply (V2-19) */
	if (!ret && ep->req.rev > ep->policy.mpa.rev)
		ret = MPA_BAD_REV;
	if (ret) {
		srnic_ep_fate(ep, SRNIC_CNT_CONN_FAILED, ret > 0 ? -EPROTO : ret);
		if (ret == MPA_BAD_REV && !ep->req.rev) {
			/* M-RDMAC-1: we cannot speak the RDMAC protocols */
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
	passive_report(ep);
}

/**
 * srnic_ep_run_passive - an inbound connection that was not accepted yet
 * @ep: AWAIT_REQUEST or REPORTED; locked
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

/* Binds to the listening address; a wildcard means all of this device only. */
static int listener_bind(struct srnic_ep *ep, struct socket *sock,
			 const struct iw_cm_id *id)
{
	struct sockaddr_storage addr = id->m_local_addr;
	struct sockaddr_in *sin = (struct sockaddr_in *)&addr;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&addr;
	bool v6 = addr.ss_family == AF_INET6;
	int err;

	sock_set_reuseaddr(sock->sk);
	if (v6 && id->afonly) {
		err = ip6_sock_set_v6only(sock->sk);
		if (err)
			return err;
	}
	if (v6 ? ipv6_addr_any(&sin6->sin6_addr) : !sin->sin_addr.s_addr) {
		/* rdma_cm has one such listener on each device */
		err = sock_bindtoindex(sock->sk, ep->dev->netdev->ifindex, true);
		if (err)
			return err;
	}
	srnic_ep_set_tos(sock, id);
	return kernel_bind(sock, (struct sockaddr *)&addr,
			   v6 ? sizeof(*sin6) : sizeof(*sin));
}

/**
 * srnic_cm_listen - iw_cm create_listen
 * @id: iwcm's id, held until destroy_listen
 * @backlog: connections that may wait, in TCP and half-open
 *
 * Return: 0 or an errno of the socket calls.
 */
int srnic_cm_listen(struct iw_cm_id *id, int backlog)
{
	struct srnic_device *dev = to_srnic_dev(id->device);
	int family = id->m_local_addr.ss_family;
	struct srnic_stream *stream;
	struct srnic_ep *ep;
	struct socket *sock;
	int err;

	if (family != AF_INET && family != AF_INET6)
		return -EAFNOSUPPORT;
	ep = srnic_ep_new(dev);
	if (!ep)
		return -ENOMEM;
	err = srnic_sock_create(dev, family, &sock);
	if (err)
		goto put;
	err = listener_bind(ep, sock, id);
	if (err)
		goto release;
	stream = srnic_stream_new(sock);
	if (!stream) {
		err = -ENOMEM;
		goto release;
	}

	kref_get(&ep->ref);
	mutex_lock(&ep->lock);
	ep->max_half = clamp(backlog, SRNIC_CM_MIN_HALF_OPEN,
			     SRNIC_CM_MAX_HALF_OPEN);
	ep->state = SRNIC_EP_LISTENING;
	ep->local = id->m_local_addr;
	id->add_ref(id);
	ep->cm_id = id;
	id->provider_data = (void *)(uintptr_t)ep->handle;
	srnic_ep_adopt(ep, stream);
	err = kernel_listen(sock, backlog);
	srnic_ep_note(ep, "listen", err);
	if (err) {
		ep->cm_id = NULL;
		id->rem_ref(id);
		srnic_ep_close(ep, false);
	}
	mutex_unlock(&ep->lock);
	goto put;

release:
	sock_release(sock);
put:
	srnic_ep_put(ep);
	return err;
}

/**
 * srnic_cm_destroy_listen - iw_cm destroy_listen
 * @id: listening
 *
 * No CONNECT_REQUEST comes after this; the port is free. Half-open connections
 * are closed by their own work; those iwcm knows of are left to its verdict.
 * May sleep, but waits for nothing that a peer does.
 *
 * Return: 0.
 */
int srnic_cm_destroy_listen(struct iw_cm_id *id)
{
	struct srnic_ep *ep = srnic_ep_find(id);
	struct srnic_ep *child;

	if (!ep)
		return 0;
	mutex_lock(&ep->lock);
	if (ep->state == SRNIC_EP_LISTENING) {
		spin_lock(&ep->half_lock);
		ep->stopped = true;
		srnic_ep_note(ep, "listen end", 0);
		list_for_each_entry(child, &ep->half_open, sibling)
			srnic_ep_tell(child, SRNIC_EPF_EVICT);
		spin_unlock(&ep->half_lock);
		ep->cm_id = NULL;
		srnic_ep_close(ep, false);
		id->rem_ref(id);
	}
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
	return 0;
}
