// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections: requested, accepted, rejected, and ended. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "pair.h"

static void transfer_one(void)
{
	VIP_DESCRIPTOR *r = make_send(&server, 0, 0, 64), *s = make_send(&client, 0, 0, 64);

	post_recv(&server, r);
	post_send(&client, s);
	require_received(&server, r, DONE);
	require_sent(&client, s, DONE);
}

static VIP_RETURN request(const char *disc, VIP_ULONG msecs)
{
	union address local = client_at("me"), remote = server_at(disc);

	return noted(VipConnectRequest(client.vi, &local.net, &remote.net, msecs,
				       &client.remote));
}

static VIP_CONN_HANDLE await(const char *disc)
{
	union address local = server_at(disc), client_addr = client_at(""), remote;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	expect(VIP_SUCCESS, at_server(VipConnectWait(server.nic, &local.net, LONG, &remote.net, &attr,
						     &conn)));
	require(remote.net.HostAddressLen == 4 && remote.net.DiscriminatorLen == 2 &&
		!memcmp(remote.room + 8, "me", 2), "the client's address");
	require(!memcmp(remote.net.HostAddress, client_addr.net.HostAddress, 4), "the client's host");
	require(attr.MaxTransferSize == client.attr.MaxTransferSize && attr.EnableRdmaWrite,
		"the client's attributes");
	return conn;
}

struct request {
	pthread_t thread;
	const char *disc;
	VIP_ULONG msecs;
	VIP_RETURN got;
};

static void *do_request(void *arg)
{
	struct request *r = arg;

	r->got = request(r->disc, r->msecs);
	return NULL;
}

static void start_request(struct request *r, const char *disc, VIP_ULONG msecs)
{
	r->disc = disc;
	r->msecs = msecs;
	require(!pthread_create(&r->thread, NULL, do_request, r), "a thread");
}

static void require_request(struct request *r, VIP_RETURN want)
{
	pthread_join(r->thread, NULL);
	require(r->got == want, "%d, not %d", r->got, want);
}

/* 5.2: in Pending Connect receives wait, sends are in error, and there is no second request */
static void require_pending(VIP_DESCRIPTOR *recv)
{
	VIP_DESCRIPTOR *s = make_send(&client, 1, 0, 64), *got;

	require_state(&client, VIP_STATE_CONNECT_PENDING);
	require(request("a server", LONG) == VIP_INVALID_PARAMETER, "a VI that is Pending");
	expect(VIP_INVALID_PARAMETER, VipSetViAttributes(client.vi, &client.attr));
	expect(VIP_ERROR_RESOURCE, VipDestroyVi(client.vi));
	post_recv(&client, recv);
	post_send(&client, s);
	require_sent(&client, s, FLUSHED);
	expect(VIP_NOT_DONE, VipRecvDone(client.vi, &got));
	require_state(&client, VIP_STATE_CONNECT_PENDING);
}

/* A request is not accepted for a VI that is Connected, and can still be answered */
static void accept_again(void)
{
	struct end first = client;
	VIP_CONN_HANDLE conn;
	struct request r;

	open_end(&client);
	start_request(&r, "a server", LONG);
	conn = await("a server");
	expect(VIP_INVALID_PARAMETER, VipConnectAccept(conn, server.vi));
	require_state(&server, VIP_STATE_CONNECTED);
	require_state(&client, VIP_STATE_CONNECT_PENDING);
	expect(VIP_SUCCESS, VipConnectReject(conn));
	require_request(&r, VIP_REJECT);
	expect(VIP_SUCCESS, VipCloseNic(client.nic));
	client = first;
}

void connect_accept(void)
{
	VIP_DESCRIPTOR *recv, *s;
	struct request r;
	VIP_CONN_HANDLE conn;

	open_pair();
	server.attr.EnableRdmaRead = VIP_FALSE;
	expect(VIP_SUCCESS, VipSetViAttributes(server.vi, &server.attr));
	start_request(&r, "a server", LONG);
	conn = await("a server");
	recv = make_send(&client, 0, 4096, 64);
	require_pending(recv);
	expect(VIP_SUCCESS, VipConnectAccept(conn, server.vi));
	require_request(&r, VIP_SUCCESS);
	require_state(&client, VIP_STATE_CONNECTED);
	require_state(&server, VIP_STATE_CONNECTED);
	require(client.remote.MaxTransferSize == server.attr.MaxTransferSize &&
		!client.remote.EnableRdmaRead && client.remote.EnableRdmaWrite,
		"the server's attributes");
	expect(VIP_INVALID_PARAMETER, VipConnectAccept(conn, server.vi));
	expect(VIP_INVALID_PARAMETER, VipConnectReject(conn));
	accept_again();
	s = make_send(&server, 0, 0, 64);
	post_send(&server, s);
	require_received(&client, recv, DONE);
	require_sent(&server, s, DONE);
	require(request("a server", LONG) == VIP_INVALID_PARAMETER, "a VI that is not Idle");
	expect(VIP_INVALID_PARAMETER, VipSetViAttributes(client.vi, &client.attr));
	expect(VIP_ERROR_RESOURCE, VipDestroyVi(client.vi));
	close_pair();
}

void connect_reject(void)
{
	struct request r;
	VIP_CONN_HANDLE conn;

	open_pair();
	start_request(&r, "x", LONG);
	conn = await("x");
	expect(VIP_SUCCESS, VipConnectReject(conn));
	require_request(&r, VIP_REJECT);
	require_state(&client, VIP_STATE_IDLE);
	expect(VIP_INVALID_PARAMETER, VipConnectReject(conn));
	expect(VIP_INVALID_PARAMETER, VipConnectAccept(conn, server.vi));
	close_pair();
}

/* The client gets no answer when an accept fails */
void connect_mismatch(void)
{
	struct request r;
	VIP_CONN_HANDLE conn;

	open_pair();
	server.attr.MaxTransferSize = 1024;
	expect(VIP_SUCCESS, VipSetViAttributes(server.vi, &server.attr));
	start_request(&r, "x", LONG);
	conn = await("x");
	expect(VIP_INVALID_MTU, VipConnectAccept(conn, server.vi));
	require_state(&server, VIP_STATE_IDLE);
	require_state(&client, VIP_STATE_CONNECT_PENDING);
	server.attr.MaxTransferSize = client.attr.MaxTransferSize;
	expect(VIP_SUCCESS, VipSetViAttributes(server.vi, &server.attr));
	expect(VIP_SUCCESS, VipConnectAccept(conn, server.vi));
	require_request(&r, VIP_SUCCESS);
	close_pair();
}

void connect_timeout(void)
{
	union address local = server_at("x"), remote;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	struct request r;
	uint64_t since;

	open_pair();
	require(request("nobody", 0) == VIP_TIMEOUT, "no time");
	since = now_ms();
	require(request("nobody", 500) == VIP_TIMEOUT, "nobody is there");
	require(now_ms() - since >= 499, "after %d ms", (int)(now_ms() - since));
	require_state(&client, VIP_STATE_IDLE);
	expect(VIP_TIMEOUT, at_server(VipConnectWait(server.nic, &local.net, 0, &remote.net, &attr,
						     &conn)));
	since = now_ms();
	expect(VIP_TIMEOUT, at_server(VipConnectWait(server.nic, &local.net, 300, &remote.net, &attr,
						     &conn)));
	require(now_ms() - since >= 299, "after %d ms", (int)(now_ms() - since));
	require(request("another", 500) == VIP_TIMEOUT, "somebody else is there");
	start_request(&r, "x", 300);
	conn = await("x");
	require_request(&r, VIP_TIMEOUT);
	require_state(&client, VIP_STATE_IDLE);
	expect(VIP_ERROR_RESOURCE, VipConnectAccept(conn, server.vi));
	require_state(&server, VIP_STATE_IDLE);
	expect(VIP_INVALID_PARAMETER, VipConnectAccept(conn, server.vi));
	close_pair();
}

/* The client of a request has given up: no connection comes of it, nor of its next one (4.1) */
void connect_stale(void)
{
	union address local = server_at("x"), remote;
	VIP_CONN_HANDLE stale, conn;
	VIP_VI_ATTRIBUTES attr;
	struct request r;

	open_pair();
	expect(VIP_TIMEOUT, at_server(VipConnectWait(server.nic, &local.net, 0, &remote.net, &attr,
						     &conn)));
	start_request(&r, "x", 2000);
	stale = await("x");
	require_request(&r, VIP_TIMEOUT);
	start_request(&r, "x", LONG);
	conn = await("x");
	require(conn != stale, "each request is its own");
	expect(VIP_ERROR_RESOURCE, VipConnectAccept(stale, server.vi));
	require_state(&server, VIP_STATE_IDLE);
	require_state(&client, VIP_STATE_CONNECT_PENDING);
	expect(VIP_SUCCESS, VipConnectAccept(conn, server.vi));
	require_request(&r, VIP_SUCCESS);
	transfer_one();
	close_pair();
}

/* A wait gets requests for its discriminator; one without a discriminator gets any */
void connect_any(void)
{
	struct request r;

	open_pair();
	start_request(&r, "second", LONG);
	expect(VIP_SUCCESS, VipConnectReject(await("")));
	require_request(&r, VIP_REJECT);
	start_request(&r, "", LONG);
	expect(VIP_SUCCESS, VipConnectReject(await("")));
	require_request(&r, VIP_REJECT);
	close_pair();
}

/* One NIC has waited once and waits no more; a request is for the one that waits now (4.1) */
void connect_other(void)
{
	union address local = server_at("x"), remote;
	const char *name = getenv("VIPL_SERVER_DEVICE");
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	VIP_NIC_HANDLE idle;

	open_pair();
	expect(VIP_SUCCESS, at_server(VipOpenNic(name ? name : name_of("VIPL_DEVICE"), &idle)));
	expect(VIP_TIMEOUT, at_server(VipConnectWait(idle, &local.net, 0, &remote.net, &attr, &conn)));
	pair_name = "x";
	connect_pair();
	expect(VIP_SUCCESS, VipCloseNic(idle));
	transfer_one();
	close_pair();
}

/* A server that looks for requests from time to time, and never waits */
void connect_polled(void)
{
	union address local = server_at("x"), remote;
	VIP_RETURN ret = VIP_TIMEOUT;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	struct request r;
	unsigned int i;

	open_pair();
	start_request(&r, "x", LONG);
	for (i = 0; i < 6 && ret == VIP_TIMEOUT; i++) {
		usleep(1200000);
		ret = at_server(VipConnectWait(server.nic, &local.net, 0, &remote.net, &attr, &conn));
	}
	require(!ret, "%d after %u times", ret, i);
	expect(VIP_SUCCESS, VipConnectAccept(conn, server.vi));
	require_request(&r, VIP_SUCCESS);
	close_pair();
}

void connect_bad(void)
{
	union address good = client_at("x"), bad = client_at("x"), out;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	open_pair();
	bad.net.HostAddressLen = 3;
	expect(VIP_INVALID_PARAMETER, VipConnectWait(NULL, &good.net, 0, &out.net, &attr, &conn));
	expect(VIP_INVALID_PARAMETER, VipConnectWait(server.nic, NULL, 0, &out.net, &attr, &conn));
	expect(VIP_INVALID_PARAMETER, VipConnectWait(server.nic, &good.net, 0, NULL, &attr, &conn));
	expect(VIP_INVALID_PARAMETER, VipConnectWait(server.nic, &good.net, 0, &out.net, NULL,
						     &conn));
	expect(VIP_INVALID_PARAMETER, VipConnectWait(server.nic, &good.net, 0, &out.net, &attr,
						     NULL));
	expect(VIP_INVALID_PARAMETER, VipConnectWait(server.nic, &bad.net, 0, &out.net, &attr,
						     &conn));
	expect(VIP_INVALID_PARAMETER, VipConnectRequest(client.vi, &bad.net, &good.net, 1, &attr));
	expect(VIP_INVALID_PARAMETER, VipConnectRequest(client.vi, &good.net, &bad.net, 1, &attr));
	expect(VIP_INVALID_PARAMETER, VipConnectRequest(client.vi, NULL, &good.net, 1, &attr));
	expect(VIP_INVALID_PARAMETER, VipConnectRequest(client.vi, &good.net, NULL, 1, &attr));
	expect(VIP_INVALID_PARAMETER, VipConnectRequest(client.vi, &good.net, &good.net, 1, NULL));
	expect(VIP_INVALID_PARAMETER, VipConnectRequest(STALE, &good.net, &good.net, 1, &attr));
	bad = good;
	bad.net.DiscriminatorLen = 65;
	expect(VIP_INVALID_PARAMETER, VipConnectRequest(client.vi, &good.net, &bad.net, 1, &attr));
	bad = good;
	bad.net.HostAddress[0]++;
	expect(VIP_INVALID_PARAMETER, VipConnectWait(server.nic, &bad.net, 0, &out.net, &attr,
						     &conn));
	expect(VIP_INVALID_PARAMETER, VipConnectReject(NULL));
	expect(VIP_INVALID_PARAMETER, VipConnectReject(server.vi));
	expect(VIP_INVALID_PARAMETER, VipConnectAccept(STALE, server.vi));
	close_pair();
}

static void *disconnect_soon(void *unused)
{
	(void)unused;
	usleep(200000);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	return NULL;
}

void connect_cancel(void)
{
	pthread_t thread;
	uint64_t since;

	open_pair();
	post_recv(&client, make_send(&client, 0, 0, 64));
	require(!pthread_create(&thread, NULL, disconnect_soon, NULL), "a thread");
	since = now_ms();
	require(request("nobody", VIP_INFINITE) == VIP_ERROR_RESOURCE, "ended by a disconnect");
	require(now_ms() - since < LONG, "soon");
	pthread_join(thread, NULL);
	require_state(&client, VIP_STATE_IDLE);
	require_received(&client, (void *)client.descs, FLUSHED);
	close_pair();
}

/* A VI can connect again and again, and change its tag between */
void reconnect(void)
{
	unsigned int i;

	open_pair();
	for (i = 0; i < env_uint("VIPL_ROUNDS", 20); i++) {
		connect_pair();
		transfer_one();
		post_recv(&server, make_send(&server, 1, 0, 64));
		expect(VIP_SUCCESS, VipDisconnect(i % 2 ? server.vi : client.vi));
		expect(VIP_SUCCESS, VipDisconnect(i % 2 ? client.vi : server.vi));
		require_received(&server, (void *)(server.descs + DESC_BYTES), FLUSHED);
		require_state(&client, VIP_STATE_IDLE);
		require_state(&server, VIP_STATE_IDLE);
	}
	expect(VIP_SUCCESS, VipDestroyVi(client.vi));
	expect(VIP_SUCCESS, VipDestroyVi(server.vi));
	close_pair();
}

#define LARGE	(32 << 20)
#define VISITS	8

static unsigned int enough;

/* Has the lock of the server's NIC for most of the time */
static void *keep_busy(void *unused)
{
	char *p = map(LARGE, PROT_READ | PROT_WRITE);
	VIP_MEM_HANDLE h;

	(void)unused;
	while (!__atomic_load_n(&enough, __ATOMIC_ACQUIRE)) {
		require(!VipRegisterMem(server.nic, p, LARGE, &server.mem, &h) &&
			!VipDeregisterMem(server.nic, p, h), "a region");
		usleep(100);
	}
	munmap(p, LARGE);
	return NULL;
}

static void *visit(void *unused)
{
	(void)unused;
	require(request("x", LONG) == VIP_SUCCESS, "connected");
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	return NULL;
}

/*
 * The client was connected, and has left before the server's library looked: so the server's VI
 * was Connected, too (5.2), and is told that it is no more (4.2).
 */
void connect_left(void)
{
	pthread_t visitor, busy;
	VIP_DESCRIPTOR *r;
	unsigned int i;

	open_pair();
	require(!pthread_create(&busy, NULL, keep_busy, NULL), "a thread");
	for (i = 0; i < VISITS; i++) {
		r = make_send(&server, 0, 0, 64);
		post_recv(&server, r);
		require(!pthread_create(&visitor, NULL, visit, NULL), "a thread");
		expect(VIP_SUCCESS, VipConnectAccept(await("x"), server.vi));
		pthread_join(visitor, NULL);
		require_received(&server, r, FLUSHED);
		require_state(&server, VIP_STATE_ERROR);
		expect(VIP_SUCCESS, VipDisconnect(server.vi));
	}
	__atomic_store_n(&enough, 1, __ATOMIC_RELEASE);
	pthread_join(busy, NULL);
	close_pair();
}

/* The peer leaves: without a call the descriptors complete; then the state is Error */
void peer_leaves(void)
{
	VIP_DESCRIPTOR *r[3];
	unsigned int i;

	open_pair();
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i] = make_send(&server, i, 0, 64);
		post_recv(&server, r[i]);
	}
	connect_pair();
	post_send(&client, make_send(&client, 0, 0, 64));
	require_sent(&client, (void *)client.descs, DONE);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	require_received(&server, r[0], DONE);
	require_received(&server, r[1], FLUSHED);
	require_received(&server, r[2], FLUSHED);
	require_state(&server, VIP_STATE_ERROR);
	post_recv(&server, make_send(&server, 4, 0, 64));
	require_received(&server, (void *)(server.descs + 4 * DESC_BYTES), FLUSHED);
	post_send(&server, make_send(&server, 5, 0, 64));
	require_sent(&server, (void *)(server.descs + 5 * DESC_BYTES), FLUSHED);
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	connect_pair();
	transfer_one();
	close_pair();
}
