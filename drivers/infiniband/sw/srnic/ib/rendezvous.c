// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous: connections of QPs whose programs exchange GIDs and QP numbers by
 * themselves and call Modify QP. The endpoints are those of cm.c; these are their
 * callbacks. The private data of the MPA Request names the two QPs (ib/rdv.c). If two
 * attempts cross, one stays (RFC 4271 6.8).
 */

#include <linux/cred.h>
#include <linux/jhash.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <net/ip.h>
#include <net/sock.h>
#include <rdma/ib_addr.h>
#include "ib/addr.h"
#include "ib/rdv_priv.h"
#include "queue/holder.h"

/* The reserved ports below it are those of well-known servers */
#define RDV_MIN_RESERVED	512
#define RDV_NUM_RESERVED	(PROT_SOCK - RDV_MIN_RESERVED)

/* An attempt begins RDV_DIALS connections at most, and for each tries RDV_BINDS ports at most */
#define RDV_DIALS		4
#define RDV_BINDS		16

/* Decodes the private data of @hello. Return: false if it is no rendezvous */
static bool rdv_read(struct srnic_ep *ep, const struct mpa_hello *hello,
		     struct rdv_hello *peer)
{
	struct iw_cm_event event = { };

	return hello->enhanced && srnic_ep_pdata(ep, hello, &event) &&
	       rdv_decode(event.private_data, event.private_data_len, peer);
}

/* What the two ends use, if the peer has @offers */
static void rdv_agree(struct srnic_ep *ep, const struct srnic_pair *pair, u8 offers)
{
	offers &= pair->own.offers;
	ep->send_imm = offers & RDV_OFFER_SEND_IMM;
	ep->acks = offers & RDV_OFFER_ACKS;
	ep->placement = ep->acks && offers & RDV_OFFER_PLACEMENT;
	ep->large_fpdus = offers & RDV_OFFER_LARGE;
}

static bool is_addr(const struct sockaddr_storage *addr, const u8 *gid)
{
	union ib_gid got;

	rdma_ip2gid((struct sockaddr *)addr, &got);
	return !memcmp(&got, gid, sizeof(got));
}

/* ----- passive side ----- */

/*
 * Sends a Reply with R. It has only the code, since any host may have sent the Request. A host
 * that sends too many Requests gets no Reply; a peer that is only early tries again in both cases.
 */
static void rdv_refuse(struct srnic_ep *ep, enum rdv_code code)
{
	struct rdv_hello reply = { .code = code };
	u8 pdata[RDV_LEN];

	if (!srnic_rdv_may_refuse(&ep->remote)) {
		srnic_ep_fate(ep, SRNIC_CNT_CONN_DROPPED, -EBUSY);
		srnic_ep_close(ep, true);
		return;
	}
	srnic_ep_fate(ep, SRNIC_CNT_CONN_REJECTED, 0);
	rdv_encode(pdata, &reply);
	srnic_ep_refuse(ep, pdata, sizeof(pdata));
}

/*
 * May @ep, with @peer in its Request, be connected to @pair? Both are locked. A Request with
 * any wrong number gets the same code as one for a QP that does not exist.
 */
static enum rdv_code pair_judge(const struct srnic_pair *pair, const struct srnic_ep *ep,
				const struct rdv_hello *peer)
{
	const struct rdv_hello *own = &pair->own;

	if (pair->over || pair->attached || !rdv_fits(own, peer, pair->rts) ||
	    !is_addr(&ep->local, own->src_gid) || !is_addr(&ep->remote, own->dst_gid))
		return RDV_NOT_READY;
	if (pair->attempt && rdv_own_attempt_lives(own))
		return RDV_COLLISION;
	return RDV_OK;
}

/* Writes the Reply. Return: its bytes; 0 if there can be none */
static u32 rdv_answer(struct srnic_ep *ep, const struct srnic_pair *pair,
		      const struct rdv_hello *peer, struct mpa_result *mpa)
{
	const struct mpa_policy *policy = &ep->policy.mpa;
	struct rdv_hello own = pair->own;
	u8 pdata[RDV_LEN];

	/* before RTS the own PSN is unknown: the program will set what the peer expects */
	if (!pair->rts)
		own.src_psn = peer->dst_psn;
	if (mpa_respond(policy, &ep->req, min(pair->ird, policy->max_ird),
			pair->rts ? min(pair->ord, policy->max_ord) : policy->max_ord,
			RDV_LEN, &ep->reply, mpa) != MPA_OK)
		return 0;
	rdv_encode(pdata, &own);
	return srnic_ep_put_reply(ep, &ep->reply, pdata, RDV_LEN);
}

/* The kernel owns the accepted socket: the QP's user takes it over. Return: 0 or an errno */
static int rdv_attach(struct srnic_ep *ep, const struct srnic_pair *pair,
		      const struct mpa_result *mpa, u32 len)
{
	struct srnic_user_scope scope;
	int err;

	srnic_user_enter(pair->user, &scope);
	err = srnic_user_own(ep->stream->sock);
	if (!err)
		err = srnic_ep_attach(ep, false, mpa, len);
	srnic_user_leave(&scope);
	return err;
}

/* Both are locked. @ep ends, with its stream attached to the QP or closed */
static void rdv_accept(struct srnic_ep *ep, struct srnic_pair *pair,
		       const struct rdv_hello *peer)
{
	struct mpa_result mpa;
	u32 len;
	int err;

	if (pair->attempt)
		srnic_ep_notify(pair->attempt, SRNIC_EPF_ABORT);
	pair->attempt = NULL;
	len = rdv_answer(ep, pair, peer, &mpa);
	ep->qp = pair->qp;
	ep->qpn = pair->qpn;
	rdv_agree(ep, pair, peer->offers);
	err = len ? rdv_attach(ep, pair, &mpa, len) : -EPROTO;
	ep->qp = NULL;
	if (err) {
		srnic_ep_fate(ep, SRNIC_CNT_CONN_FAILED, err);
		srnic_pair_tried(pair);
		srnic_ep_close(ep, true);
		return;
	}
	pair->attached = true;
	if (mpa.p2p)
		pair->silent_until = (jiffies + ep->policy.request_timeout * HZ) ?: 1;
	srnic_pair_kick(pair);
	srnic_ep_fate(ep, SRNIC_CNT_CONN_PASSIVE, 0);
	srnic_ep_close(ep, false);
}

/*
 * A port that only the kernel or root of a host may bind. The limit is 1024, and not
 * net.ipv4.ip_unprivileged_port_start of this host: the peer's setting is unknown, and 1024 is
 * the default everywhere.
 */
static bool is_reserved(const struct sockaddr_storage *addr)
{
	/* at the same offset in both kinds of addresses */
	return ntohs(((const struct sockaddr_in *)addr)->sin_port) < PROT_SOCK;
}

/* With ib_privileged, only the kernel or root of the peer's host may connect */
static bool port_will_do(const struct srnic_ep *ep)
{
	return !ep->policy.ib_privileged || (is_reserved(&ep->remote) && is_reserved(&ep->local));
}

static void rdv_request(struct srnic_ep *ep)
{
	struct srnic_pair *pair;
	struct rdv_hello peer;
	enum rdv_code code;

	if (!rdv_read(ep, &ep->req, &peer)) {
		rdv_refuse(ep, RDV_MISMATCH);
		return;
	}
	pair = port_will_do(ep) ? srnic_pair_find(ep->dev, peer.dst_qpn) : NULL;
	if (!pair) {
		rdv_refuse(ep, RDV_NOT_READY);
		return;
	}
	mutex_lock(&pair->lock);
	code = pair_judge(pair, ep, &peer);
	if (code == RDV_OK)
		rdv_accept(ep, pair, &peer);
	mutex_unlock(&pair->lock);
	srnic_pair_put(pair);
	if (code != RDV_OK)
		rdv_refuse(ep, code);
}

/* ----- active side ----- */

/* @ep, locked, puts its pair and its QP */
static void rdv_let_go(struct srnic_ep *ep)
{
	srnic_qp_put(ep->qp);
	ep->qp = NULL;
	srnic_pair_put(ep->pair);
	ep->pair = NULL;
}

/* The attempt @ep, or NULL if it could not be created, has failed: schedule another one */
static void rdv_no_attempt(struct srnic_pair *pair, struct srnic_ep *ep)
{
	mutex_lock(&pair->lock);
	if (!pair->over && pair->attempt == ep) {
		pair->attempt = NULL;
		srnic_pair_tried(pair);
	}
	mutex_unlock(&pair->lock);
}

static void rdv_failed(struct srnic_ep *ep, struct iw_cm_event *event)
{
	rdv_no_attempt(ep->pair, ep);
	rdv_let_go(ep);
}

/* Both are locked. Is the Reply that of the pair's peer? */
static bool rdv_accepted(struct srnic_ep *ep, const struct srnic_pair *pair)
{
	struct rdv_hello peer;

	if (!rdv_read(ep, &ep->reply, &peer) || peer.code != RDV_OK ||
	    !rdv_fits(&pair->own, &peer, true))
		return false;
	rdv_agree(ep, pair, peer.offers);
	return true;
}

static int rdv_established(struct srnic_ep *ep, const struct mpa_result *mpa)
{
	struct srnic_pair *pair = ep->pair;
	int err = -EPROTO;

	mutex_lock(&pair->lock);
	if (pair->attempt != ep)
		err = -ECONNABORTED;
	else if (ep->itself || rdv_accepted(ep, pair))
		err = srnic_ep_attach(ep, true, mpa, 0);
	if (!err) {
		pair->attempt = NULL;
		pair->attached = true;
	}
	mutex_unlock(&pair->lock);
	if (err)
		return err;
	srnic_ep_fate(ep, SRNIC_CNT_CONN_ACTIVE, 0);
	rdv_let_go(ep);
	srnic_ep_close(ep, false);
	return 0;
}

/*
 * A user has one port in two, and cannot choose which. Each other user has about half of the rest,
 * too, so no user can take all ports from which a peer can be reached.
 */
static bool is_users(u16 port, u32 user)
{
	return jhash_2words(port, user, 0) & 1;
}

/*
 * The next port of @user, round and round, except those that the administrator keeps for others
 * (net.ipv4.ip_local_reserved_ports). Return: 0 if there is none
 */
static u16 next_port(struct srnic_pair *pair, u32 user, struct net *net)
{
	int n;

	for (n = 0; n < RDV_NUM_RESERVED; n++) {
		u16 port = RDV_MIN_RESERVED + pair->next_port++ % RDV_NUM_RESERVED;

		if (is_users(port, user) && !inet_is_local_reserved_port(net, port))
			return port;
	}
	return 0;
}

/* SO_REUSEADDR: connections to other peers can have the port, too, and services can listen there */
static int bind_reserved(struct srnic_ep *ep, struct socket *sock, u32 user)
{
	struct sockaddr_storage addr = ep->local;
	int n, err = -EADDRINUSE;
	u16 port;

	sock_set_reuseaddr(sock->sk);
	for (n = 0; err == -EADDRINUSE && n < RDV_BINDS; n++) {
		port = next_port(ep->pair, user, sock_net(sock->sk));
		if (!port)
			break;
		((struct sockaddr_in *)&addr)->sin_port = htons(port);
		err = kernel_bind(sock, (struct sockaddr_unsized *)&addr, srnic_addr_len(&addr));
	}
	return err;
}

/*
 * A port below 1024 proves to the peer that root consents. The program may not bind one, so the
 * kernel's credentials are used. The peer's port has to be below 1024 as well; it is not, if it was
 * taken from the policy before ib_privileged was set.
 */
static int bind_privileged(struct srnic_ep *ep, struct socket *sock)
{
	const struct cred *kernel, *old;
	u32 user = srnic_user_key();
	int err;

	if (!is_reserved(&ep->remote))
		return -EACCES;
	kernel = prepare_kernel_cred(&init_task);
	if (!kernel)
		return -ENOMEM;
	old = override_creds(kernel);
	err = bind_reserved(ep, sock, user);
	revert_creds(old);
	put_cred(kernel);
	return err;
}

/* Binds to any port, to which the socket then connects: a TCP simultaneous open with itself */
static int bind_itself(struct srnic_ep *ep, struct socket *sock)
{
	struct sockaddr_storage addr = ep->local;
	int err;

	err = kernel_bind(sock, (struct sockaddr_unsized *)&addr, srnic_addr_len(&addr));
	if (err)
		return err;
	err = kernel_getsockname(sock, (struct sockaddr *)&ep->remote);
	return min(err, 0);
}

static int rdv_bind(struct srnic_ep *ep, struct socket *sock)
{
	if (ep->itself)
		return bind_itself(ep, sock);
	return ep->policy.ib_privileged ? bind_privileged(ep, sock) : -EAGAIN;
}

/* Not static: rdv_listen.c uses it */
const struct srnic_ep_ops srnic_rdv_ep_ops = {
	.request = rdv_request,
	.established = rdv_established,
	.failed = rdv_failed,
	.waits = true,
	.as_infiniband = true,
	.bind = rdv_bind,
};

/* Makes @ep the attempt of its pair. Return: false if the pair need not connect any more */
static bool rdv_take(struct srnic_ep *ep, struct srnic_pair *pair)
{
	bool take;

	mutex_lock(&pair->lock);
	take = !pair->over && !pair->attached && !pair->attempt;
	if (take) {
		kref_get(&pair->ref);
		ep->pair = pair;
		kref_get(&pair->qp->ref);
		ep->qp = pair->qp;
		ep->qpn = pair->qpn;
		ep->ird = min(pair->ird, ep->policy.mpa.max_ird);
		ep->ord = min(pair->ord, ep->policy.mpa.max_ord);
		rdv_encode(ep->pdata, &pair->own);
		pair->attempt = ep;
	}
	mutex_unlock(&pair->lock);
	return take;
}

/* Sets up @ep, locked, for its pair. Return: 0 or an errno */
static int rdv_prepare_ep(struct srnic_ep *ep, struct srnic_pair *pair)
{
	if (srnic_ep_unwanted(ep))
		return -ENODEV;
	ep->net = pair->net;
	ep->local = pair->local;
	ep->remote = pair->remote;
	ep->itself = pair->itself;
	rdv_agree(ep, pair, pair->itself ? pair->own.offers : 0);
	/* with InfiniBand either side may send first: the RTR of revision 2 is needed */
	ep->policy.mpa.rev = 2;
	ep->policy.mpa.p2p = true;
	ep->pd_len = RDV_LEN;
	ep->pdata = kmalloc(RDV_LEN, GFP_KERNEL_ACCOUNT);
	if (!ep->pdata)
		return -ENOMEM;
	return rdv_take(ep, pair) ? 0 : -ECANCELED;
}

/* Connects; dials from another port if this one has a connection to the peer already */
static int rdv_dial(struct srnic_ep *ep)
{
	int n, err = -EADDRNOTAVAIL;

	for (n = 0; err == -EADDRNOTAVAIL && n < RDV_DIALS; n++)
		err = srnic_ep_connect(ep);
	return err;
}

/* @ep is locked. On an error @ep ends, and the pair's work tries again. */
static void rdv_begin(struct srnic_ep *ep, struct srnic_pair *pair)
{
	int err;

	err = rdv_prepare_ep(ep, pair);
	if (err) {
		rdv_no_attempt(pair, NULL);
	} else {
		err = rdv_dial(ep);
		if (err)
			rdv_failed(ep, NULL);
	}
	srnic_ep_note(ep, "connect", err);
	if (err)
		srnic_ep_close(ep, false);
}

/**
 * srnic_rdv_connect - begin an attempt to connect
 * @pair: not locked; the caller has a reference
 *
 * Context: process, may sleep. On an error the pair's work tries again.
 */
void srnic_rdv_connect(struct srnic_pair *pair)
{
	struct srnic_ep *ep = srnic_ep_new(pair->dev, pair->user, &srnic_rdv_ep_ops);

	if (!ep) {
		rdv_no_attempt(pair, NULL);
		return;
	}
	kref_get(&ep->ref);
	mutex_lock(&ep->lock);
	rdv_begin(ep, pair);
	mutex_unlock(&ep->lock);
	srnic_ep_put(ep);
}
