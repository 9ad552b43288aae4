// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections: the active side, from connect() to the CONNECT_REPLY.
 *
 * TCP connects without blocking its caller. Then the endpoint sends the Request and
 * awaits the Reply, each within a time-out. If the peer does not understand revision
 * 2, the endpoint tries once more with revision 1. In all cases iwcm gets one
 * CONNECT_REPLY.
 */

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include "cm/cm_priv.h"

static __be16 *sockaddr_port(struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ?
		&((struct sockaddr_in6 *)addr)->sin6_port :
		&((struct sockaddr_in *)addr)->sin_port;
}

/*
 * rdma_cm assigns ephemeral ports from a space of its own; another TCP socket may
 * have the same one. A port that the ULP has chosen is kept.
 */
static bool port_is_ephemeral(struct socket *sock, struct sockaddr_storage *addr)
{
	u16 port = ntohs(*sockaddr_port(addr));
	int low, high;

	inet_get_local_port_range(sock_net(sock->sk), &low, &high);
	return port >= low && port <= high;
}

/*
 * Binds to the local address. @any_port: TCP chooses the port when it connects, unless the ULP
 * has chosen one. TCP takes a port that has no connection to the peer, not even in TIME_WAIT.
 */
static int active_bind(struct srnic_ep *ep, struct socket *sock, bool any_port)
{
	struct sockaddr_storage addr = ep->local;
	int err, late = 1;

	if (addr.ss_family == AF_INET6 && srnic_ep_v6only(ep)) {
		err = ip6_sock_set_v6only(sock->sk);
		if (err)
			return err;
	}
	err = srnic_sock_stay(ep->dev, sock->sk, false);
	if (err)
		return err;
	srnic_ep_set_tos(sock, ep->cm_id);
	if (ep->ops->bind) {
		err = ep->ops->bind(ep, sock);
		if (err != -EAGAIN)
			return err;
	}
	sock_set_reuseaddr(sock->sk);
	if (any_port && port_is_ephemeral(sock, &addr))
		*sockaddr_port(&addr) = 0;
	if (!*sockaddr_port(&addr))
		sock->ops->setsockopt(sock, SOL_IP, IP_BIND_ADDRESS_NO_PORT,
				      KERNEL_SOCKPTR(&late), sizeof(late));
	return kernel_bind(sock, (struct sockaddr_unsized *)&addr, srnic_addr_len(&addr));
}

/* Starts or continues the TCP connect. Return: 0 if it is up, -EALREADY or -EINPROGRESS. */
static int active_tcp_connect(struct srnic_ep *ep, struct socket *sock)
{
	struct sockaddr_storage addr = ep->remote;

	return kernel_connect(sock, (struct sockaddr_unsized *)&addr,
			      srnic_addr_len(&addr), O_NONBLOCK);
}

/*
 * Starts a TCP connection. It may be up already, or have failed. Callbacks report later events
 * only, so the caller runs srnic_ep_run_active(), or queues the work. @any_port: see active_bind()
 */
static int active_dial(struct srnic_ep *ep, bool any_port)
{
	struct srnic_stream *stream;
	struct socket *sock;
	int err;

	err = srnic_sock_create(ep->dev, ep->net, ep->local.ss_family, &sock);
	if (err)
		return err;
	err = active_bind(ep, sock, any_port);
	if (err)
		goto release;
	stream = srnic_stream_new(sock);
	if (!stream) {
		err = -ENOMEM;
		goto release;
	}
	err = active_tcp_connect(ep, sock);
	if (err && err != -EINPROGRESS) {
		srnic_stream_free(stream);
		return err;
	}
	srnic_ep_adopt(ep, stream);
	ep->state = SRNIC_EP_CONNECTING;
	srnic_ep_deadline_s(ep, ep->policy.connect_timeout);
	return 0;

release:
	sock_release(sock);
	return err;
}

/* Starts a TCP connection for an attempt with revision @rev. */
static int active_start(struct srnic_ep *ep, u8 rev)
{
	int err;

	ep->rev = rev;
	/* the second connection of a fallback would meet the first one's TIME_WAIT */
	err = active_dial(ep, rev < ep->policy.mpa.rev);
	/*
	 * rdma_cm's port is another socket's, or that of an earlier connection in TIME_WAIT. A
	 * pair, which has no port of rdma_cm's, tries others by itself.
	 */
	if (!ep->pair && (err == -EADDRINUSE || err == -EADDRNOTAVAIL))
		err = active_dial(ep, true);
	return err;
}

/**
 * srnic_iw_failed - report a failed connection to iw_cm
 * @ep: active, with a QP claimed; locked
 * @event: with status, and contents of the Reply
 * Context: process, may sleep.
 */
void srnic_iw_failed(struct srnic_ep *ep, struct iw_cm_event *event)
{
	struct iw_cm_id *id = ep->cm_id;

	srnic_ep_unclaim(ep);
	event->event = IW_CM_EVENT_CONNECT_REPLY;
	/* cma copies the addresses for any status; they have not changed */
	event->local_addr = id->local_addr;
	event->remote_addr = id->remote_addr;
	if (id->event_handler(id, event) && event->private_data_len) {
		/* iw_cm has no memory for a copy: report the event without private data */
		event->private_data_len = 0;
		id->event_handler(id, event);
	}
	ep->cm_id = NULL;
	id->rem_ref(id);
}

/* The connection has failed with @event; @linger: the stream has to deliver a last frame. */
static void active_fail(struct srnic_ep *ep, struct iw_cm_event *event, bool linger)
{
	int status = event->status;

	srnic_ep_fate(ep, status == -ECONNREFUSED ?
		      SRNIC_CNT_CONN_REJECTED : SRNIC_CNT_CONN_FAILED, status);
	ep->ops->failed(ep, event);
	if (linger && ep->stream)
		srnic_ep_linger(ep);
	else
		srnic_ep_close(ep, status == -ECONNABORTED);
}

static void active_fail_errno(struct srnic_ep *ep, int err)
{
	struct iw_cm_event event = { .status = err };

	if (err == -EPIPE)
		event.status = -ECONNRESET;
	active_fail(ep, &event, false);
}

/*
 * The peer does not understand revision 2: tries once more with revision 1, on a new
 * TCP connection (V2-19).
 */
static void active_fall_back(struct srnic_ep *ep)
{
	int err;

	/* a rendezvous needs the RTR, which only revision 2 has */
	if (ep->pair) {
		active_fail_errno(ep, -EPROTO);
		return;
	}
	srnic_ep_note(ep, "revision 1", 0);
	srnic_ep_drop_stream(ep, false);
	err = active_start(ep, 1);
	if (err)
		active_fail_errno(ep, err);
	else
		srnic_ep_kick(ep);
}

/**
 * srnic_iw_established - attach the stream to the QP, then report it to iw_cm
 * @ep: active, after an accepting Reply, with a QP claimed; locked
 * @mpa: negotiated settings
 *
 * The work reports CLOSE, so CLOSE has to wait for the endpoint's lock.
 *
 * Context: process, may sleep.
 * Return: 0, -EMSGSIZE for private data that no event can hold, or an errno of
 * srnic_ep_attach().
 */
int srnic_iw_established(struct srnic_ep *ep, const struct mpa_result *mpa)
{
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		/* the peer's depths (V2-12), or this end's if the Reply has none */
		.ird = srnic_ep_event_depth(ep->reply.ird, mpa->ord),
		.ord = srnic_ep_event_depth(ep->reply.ord, mpa->ird),
	};
	struct iw_cm_id *id = ep->cm_id;
	int err = -EMSGSIZE;

	event.local_addr = ep->local;
	event.remote_addr = ep->remote;
	/* the ULP could not tell truncated private data from complete data */
	if (srnic_ep_pdata(ep, &ep->reply, &event))
		err = srnic_ep_attach(ep, true, mpa, 0);
	if (err)
		return err;

	srnic_ep_fate(ep, SRNIC_CNT_CONN_ACTIVE, 0);
	err = id->event_handler(id, &event);
	if (err) {
		/* iw_cm has no memory for the private data, which the ULP must not miss */
		event.status = err;
		event.private_data_len = 0;
		ep->no_events = true;
		id->event_handler(id, &event);
		srnic_qp_abort(ep->qp);
	}
	srnic_qp_put(ep->qp);
	ep->qp = NULL;
	return 0;
}

/* The Reply accepts. */
static void active_established(struct srnic_ep *ep, const struct mpa_result *mpa)
{
	struct iw_cm_event event = { };

	event.status = ep->ops->established(ep, mpa);
	if (!event.status)
		return;
	srnic_ep_terminate(ep, RDMAP_E_MPA_LOCAL);
	if (test_bit(SRNIC_EPF_ABORT, &ep->flags))
		event.status = -ECONNABORTED;
	active_fail(ep, &event, true);
}

static void active_rejected(struct srnic_ep *ep)
{
	struct iw_cm_event event = { .status = -ECONNREFUSED };

	/* V2-12; private data that is too long for an event is truncated */
	event.ird = srnic_ep_event_depth(ep->reply.ird, 0);
	event.ord = srnic_ep_event_depth(ep->reply.ord, 0);
	srnic_ep_pdata(ep, &ep->reply, &event);
	active_fail(ep, &event, false);
}

/* A whole Reply is there. */
static void active_conclude(struct srnic_ep *ep)
{
	bool older = ep->reply.rev < ep->req.rev;
	struct iw_cm_event event = { };
	struct mpa_result mpa;

	switch (mpa_conclude(&ep->policy.mpa, &ep->req, &ep->reply, &mpa)) {
	case MPA_OK:
		active_established(ep, &mpa);
		break;
	case MPA_REJECTED:
		if (older)
			active_fall_back(ep);
		else
			active_rejected(ep);
		break;
	case MPA_BAD_ENHANCED:
	case MPA_BAD_REV:
		if (older)
			active_fall_back(ep);
		else
			active_fail_errno(ep, -EPROTO);
		break;
	case MPA_MARKERS_REFUSED:
		active_fail_errno(ep, -EOPNOTSUPP);
		break;
	case MPA_NO_IRD:
		srnic_ep_terminate(ep, RDMAP_E_MPA_IRD);
		event.status = -ENOMEM;
		active_fail(ep, &event, true);
		break;
	case MPA_NO_RTR:
		srnic_ep_terminate(ep, RDMAP_E_MPA_RTR);
		event.status = -EPROTO;
		active_fail(ep, &event, true);
		break;
	default:
		active_fail_errno(ep, -EPROTO);
		break;
	}
}

static void active_read_reply(struct srnic_ep *ep)
{
	int ret = srnic_ep_read_hello(ep, MPA_REPLY, &ep->reply);

	if (ret == -EAGAIN) {
		if (srnic_ep_expired(ep))
			active_fail_errno(ep, -ETIMEDOUT);
	} else if (!ret) {
		active_conclude(ep);
	} else if (ret > 0) {
		active_fail_errno(ep, -EPROTO);
	} else if (!ep->got && ep->req.rev > 1 &&
		   (ret == -EPIPE || ret == -ECONNRESET)) {
		active_fall_back(ep);
	} else {
		active_fail_errno(ep, ret);
	}
}

/*
 * A QP that is its own peer has a TCP connection from a port to itself. No end answers a
 * Request there, and there is nothing to negotiate.
 */
static void active_itself(struct srnic_ep *ep)
{
	struct mpa_result mpa = {
		.crc = ep->policy.mpa.crc != MPA_CRC_OFF,
		.ird = ep->ird,
		.ord = min(ep->ord, ep->ird),
	};

	active_established(ep, &mpa);
}

/**
 * srnic_ep_run_active - continue an outbound connection
 * @ep: CONNECTING or AWAIT_REPLY; locked
 * Context: process, may sleep.
 */
void srnic_ep_run_active(struct srnic_ep *ep)
{
	int err;

	if (test_bit(SRNIC_EPF_ABORT, &ep->flags)) {
		active_fail_errno(ep, -ECONNABORTED);
		return;
	}
	if (ep->state == SRNIC_EP_AWAIT_REPLY) {
		active_read_reply(ep);
		return;
	}
	err = active_tcp_connect(ep, ep->stream->sock);
	if (err == -EALREADY || err == -EINPROGRESS) {
		if (!srnic_ep_expired(ep))
			return;
		err = -ETIMEDOUT;
	}
	if (!err || err == -EISCONN) {
		kernel_getsockname(ep->stream->sock, (struct sockaddr *)&ep->local);
		if (ep->itself) {
			active_itself(ep);
			return;
		}
		err = srnic_ep_send_request(ep);
	}
	if (err) {
		active_fail_errno(ep, err);
		return;
	}
	ep->state = SRNIC_EP_AWAIT_REPLY;
	srnic_ep_deadline_s(ep, ep->policy.reply_timeout);
	/* a FIN may have come before, and then there is no further callback */
	active_read_reply(ep);
}

/**
 * srnic_ep_connect - begin to connect
 * @ep: with addresses, private data and depths; locked
 *
 * On one host TCP is up when this returns, and the Request is sent. Context: process, may sleep.
 *
 * Return: 0, and the endpoint's ops report the outcome, or have reported it; -EXDEV if the
 * interface is in another network namespace; another errno of the socket calls: the ops are not
 * called.
 */
int srnic_ep_connect(struct srnic_ep *ep)
{
	int err = active_start(ep, ep->policy.mpa.rev);

	if (err)
		return err;
	srnic_ep_run_active(ep);
	srnic_ep_await(ep);
	return 0;
}

/**
 * srnic_cm_connect - iw_cm connect
 * @id: iwcm's id, with addresses
 * @param: the QP, depths and private data
 *
 * Context: process, may sleep.
 * Return: 0, and a CONNECT_REPLY follows, or was reported already. On an error no event follows:
 * -EPERM for another user's QP; -EINVAL for a bad QP, a QP not in Idle, or private data too long
 * for an MPA Request; -EBUSY for a QP that connects already; -EDQUOT if the user's limit of
 * connected QPs is reached; -ENODEV on a device that is leaving; -EXDEV if the interface is in
 * another network namespace; another errno of the socket calls.
 */
int srnic_cm_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct srnic_device *dev = to_srnic_dev(id->device);
	int family = id->m_local_addr.ss_family;
	struct srnic_ep *ep;
	u32 max_pd;
	int err;

	if ((family != AF_INET && family != AF_INET6) ||
	    family != id->m_remote_addr.ss_family)
		return -EAFNOSUPPORT;
	ep = srnic_ep_new(dev, NULL, &srnic_iw_ops);
	if (!ep)
		return -ENOMEM;
	kref_get(&ep->ref);
	mutex_lock(&ep->lock);

	err = -ENODEV;
	if (srnic_ep_unwanted(ep))
		goto close;
	ep->net = srnic_cm_net(id);
	err = -EINVAL;
	max_pd = MPA_MAX_PD - (ep->policy.mpa.rev > 1 ? MPA_ENH_LEN : 0);
	if (param->private_data_len > max_pd)
		goto close;
	err = -ENOMEM;
	ep->pd_len = param->private_data_len;
	ep->pdata = kmemdup(param->private_data, ep->pd_len, GFP_KERNEL_ACCOUNT);
	if (ep->pd_len && !ep->pdata)
		goto close;
	ep->ird = min_t(u32, param->ird, ep->policy.mpa.max_ird);
	ep->ord = min_t(u32, param->ord, ep->policy.mpa.max_ord);

	err = srnic_ep_claim(ep, id, param->qpn);
	if (err)
		goto close;
	id->add_ref(id);
	ep->cm_id = id;
	ep->local = id->m_local_addr;
	ep->remote = id->m_remote_addr;
	err = srnic_ep_connect(ep);
	srnic_ep_note(ep, "connect", err);
	if (!err)
		goto unlock;
	ep->cm_id = NULL;
	id->rem_ref(id);
	srnic_ep_unclaim(ep);
close:
	srnic_ep_close(ep, false);
unlock:
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
	return err;
}
