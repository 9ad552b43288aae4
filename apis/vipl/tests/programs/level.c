// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The reliability levels: which messages are lost, and which end gets an error. */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "pair.h"

#define REMOTE_DESC	(VIP_STATUS_DONE | VIP_STATUS_REMOTE_DESC_ERROR)
#define RDMA_PROT	(VIP_STATUS_DONE | VIP_STATUS_RDMA_PROT_ERROR)

static void set_level(struct end *end, VIP_RELIABILITY_LEVEL level)
{
	end->attr.ReliabilityLevel = level;
	end->attr.EnableRdmaRead = level != VIP_SERVICE_UNRELIABLE;
	expect(VIP_SUCCESS, VipSetViAttributes(end->vi, &end->attr));
}

static void start(VIP_RELIABILITY_LEVEL level)
{
	open_pair();
	set_level(&client, level);
	set_level(&server, level);
	connect_pair();
}

/* A Send, a Send with immediate data, a Write, a Write with immediate data */
static void transfer_all(void)
{
	VIP_DESCRIPTOR *d, *r[3], *got;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		r[i] = make_send(&server, i, 200000 + i * 4096, 4096);
		r[i]->CS.Control = VIP_CONTROL_IMMEDIATE;
		post_recv(&server, r[i]);
	}
	fill(client.data, 60000, 9);
	post_send(&client, make_send(&client, 0, 0, 4096));
	require_received(&server, r[0], DONE);
	require(!memcmp(server.data + 200000, client.data, 4096) && r[0]->CS.Length == 4096, "data");
	require(!(r[0]->CS.Control & VIP_CONTROL_IMMEDIATE), "no immediate data came (10.2)");
	d = make_send(&client, 1, 5, 7);
	d->CS.Control = VIP_CONTROL_IMMEDIATE;
	d->CS.ImmediateData = 0x01020304;
	post_send(&client, d);
	require_received(&server, r[1], DONE | VIP_STATUS_IMMEDIATE);
	require(r[1]->CS.ImmediateData == 0x01020304 && r[1]->CS.Length == 7 &&
		r[1]->CS.Control == VIP_CONTROL_IMMEDIATE, "immediate data");
	d = make_rdma(&client, 2, VIP_CONTROL_OP_RDMAWRITE, server.data, server.handle);
	add_segment(&client, d, client.data, 50000);
	post_send(&client, d);
	d = make_rdma(&client, 3, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE,
		      server.data + 50000, server.handle);
	d->CS.ImmediateData = 5;
	add_segment(&client, d, client.data + 50000, 10000);
	post_send(&client, d);
	expect(VIP_SUCCESS, VipRecvWait(server.vi, LONG, &got));
	require(got == r[2] && got->CS.Status == (DONE | VIP_STATUS_OP_REMOTE_RDMA_WRITE |
						  VIP_STATUS_IMMEDIATE), "%#x", got->CS.Status);
	require(got->CS.ImmediateData == 5 && !memcmp(server.data, client.data, 60000), "data");
	for (i = 0; i < 4; i++)
		require_sent(&client, (void *)(client.descs + i * DESC_BYTES),
			     DONE | (i < 2 ? VIP_STATUS_OP_SEND : VIP_STATUS_OP_RDMA_WRITE));
}

void levels(void)
{
	VIP_RELIABILITY_LEVEL level;

	for (level = VIP_SERVICE_UNRELIABLE; level <= VIP_SERVICE_RELIABLE_RECEPTION; level++) {
		start(level);
		transfer_all();
		close_pair();
	}
}

static void *request(void *unused)
{
	union address local = client_at(""), remote = server_at("level");

	(void)unused;
	require(VipConnectRequest(client.vi, &local.net, &remote.net, LONG, &client.remote) ==
		VIP_REJECT, "rejected at last");
	return NULL;
}

/* Only VIs of one level connect */
void level_mismatch(void)
{
	union address local = server_at("level"), remote;
	VIP_RELIABILITY_LEVEL level;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	pthread_t thread;

	open_pair();
	set_level(&client, VIP_SERVICE_UNRELIABLE);
	attr = client.attr;
	attr.EnableRdmaRead = VIP_TRUE;
	expect(VIP_INVALID_RDMAREAD, VipSetViAttributes(client.vi, &attr));
	require(!pthread_create(&thread, NULL, request, NULL), "a thread");
	expect(VIP_SUCCESS, at_server(VipConnectWait(server.nic, &local.net, LONG, &remote.net, &attr,
						     &conn)));
	require(attr.ReliabilityLevel == VIP_SERVICE_UNRELIABLE, "%d", attr.ReliabilityLevel);
	for (level = VIP_SERVICE_RELIABLE_DELIVERY; level <= VIP_SERVICE_RELIABLE_RECEPTION; level++) {
		set_level(&server, level);
		expect(VIP_INVALID_RELIABILITY_LEVEL, VipConnectAccept(conn, server.vi));
	}
	expect(VIP_SUCCESS, VipConnectReject(conn));
	pthread_join(thread, NULL);
	close_pair();
}

/* Three messages have a receive; the fourth send gets the error, the others are flushed */
void reception_no_receive(void)
{
	unsigned int i;

	start(VIP_SERVICE_RELIABLE_RECEPTION);
	for (i = 0; i < 3; i++)
		post_recv(&server, make_send(&server, i, 0, 64));
	for (i = 0; i < 6; i++)
		post_send(&client, make_send(&client, i, 0, i));
	for (i = 0; i < 6; i++)
		require_sent(&client, (void *)(client.descs + i * DESC_BYTES),
			     i < 3 ? DONE : i == 3 ? REMOTE_DESC : FLUSHED);
	for (i = 0; i < 3; i++)
		require_received(&server, (void *)(server.descs + i * DESC_BYTES), DONE);
	require_state(&client, VIP_STATE_ERROR);
	close_pair();
}

/* A descriptor is done when the data is in the memory of the target, and not before (2.5.3) */
void reception_done(void)
{
	VIP_DESCRIPTOR *r, *w;
	unsigned int i;

	start(VIP_SERVICE_RELIABLE_RECEPTION);
	for (i = 0; i < 20; i++) {
		fill(client.data, 60000, i + 1);
		memset(server.data, 0, 200000);
		r = make_send(&server, 0, 100000, 60000);
		post_recv(&server, r);
		post_send(&client, make_send(&client, 0, 0, 60000));
		require_sent(&client, (void *)client.descs, DONE);
		require(!memcmp(server.data + 100000, client.data, 60000), "message %u", i);
		w = make_rdma(&client, 1, VIP_CONTROL_OP_RDMAWRITE, server.data, server.handle);
		add_segment(&client, w, client.data, 60000);
		post_send(&client, w);
		require_sent(&client, w, DONE | VIP_STATUS_OP_RDMA_WRITE);
		require(!memcmp(server.data, client.data, 60000), "RDMA Write %u", i);
		require_received(&server, r, DONE);
	}
	close_pair();
}

/* The refused descriptor has the error, and descriptors after it have no effect (6.3.1.1). */
static void require_refused(uint16_t op, uint32_t status_op)
{
	VIP_DESCRIPTOR *d;

	start(VIP_SERVICE_RELIABLE_RECEPTION);
	post_recv(&server, make_send(&server, 0, 0, 64));
	d = make_rdma(&client, 0, op, server.data, server.handle + 0x100);
	add_segment(&client, d, client.data, 64);
	post_send(&client, d);
	post_send(&client, make_send(&client, 1, 0, 8));
	require_sent(&client, d, RDMA_PROT | status_op);
	require_sent(&client, (void *)(client.descs + DESC_BYTES), FLUSHED);
	require_received(&server, (void *)server.descs, FLUSHED);
	close_pair();
}

void reception_refused(void)
{
	require_refused(VIP_CONTROL_OP_RDMAWRITE, VIP_STATUS_OP_RDMA_WRITE);
}

void reception_read_refused(void)
{
	require_refused(VIP_CONTROL_OP_RDMA_READ, VIP_STATUS_OP_RDMA_READ);
}

static void never(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)context;
	die("error %d", error->ErrorCode);
}

static unsigned long dropped(void)
{
	VIP_PVOID info;

	expect(VIP_SUCCESS, VipQuerySystemManagementInfo(server.nic, VIP_SMI_TYPE_COUNTERS, &info));
	return ((VIP_SMI_COUNTERS *)info)->MessagesDropped;
}

static void await_dropped(unsigned long want)
{
	uint64_t end = now_ms() + LONG;

	while (dropped() < want && now_ms() < end)
		usleep(1000);
	require(dropped() == want, "%lu, not %lu", dropped(), want);
}

/* Each error costs a message or a descriptor; the connection stays up, no handler is called */
void unreliable(void)
{
	VIP_DESCRIPTOR *d, *r;
	unsigned int i;

	start(VIP_SERVICE_UNRELIABLE);
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, NULL, never));
	expect(VIP_SUCCESS, VipErrorCallback(server.nic, NULL, never));
	for (i = 0; i < 40; i++) {
		post_send(&client, make_send(&client, 0, 0, 100));
		require_sent(&client, (void *)client.descs, DONE);
	}
	await_dropped(40);
	r = make_send(&server, 0, 0, 5);
	post_recv(&server, r);
	post_send(&client, make_send(&client, 0, 0, 6));
	require_received(&server, r, DONE | VIP_STATUS_LENGTH_ERROR);
	require(!r->CS.Length, "%u bytes", r->CS.Length);
	require_sent(&client, (void *)client.descs, DONE);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMAWRITE, server.data, server.handle + 0x100);
	add_segment(&client, d, client.data, 64);
	post_send(&client, d);
	require_sent(&client, d, DONE | VIP_STATUS_OP_RDMA_WRITE);
	await_dropped(41);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE,
		      server.data + DATA_BYTES - 63, server.handle);
	add_segment(&client, d, client.data, 64);
	r = make_send(&server, 0, 0, 5);
	post_recv(&server, r);
	post_send(&client, d);
	expect(VIP_SUCCESS, VipRecvWait(server.vi, LONG, &r));
	require(r->CS.Status == (DONE | VIP_STATUS_PROTECTION_ERROR |
				 VIP_STATUS_OP_REMOTE_RDMA_WRITE), "%#x", r->CS.Status);
	require_sent(&client, d, DONE | VIP_STATUS_OP_RDMA_WRITE);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMA_READ, server.data, server.handle);
	post_send(&client, d);
	require_sent(&client, d, DONE | VIP_STATUS_FORMAT_ERROR | VIP_STATUS_OP_RDMA_READ);
	d = make_send(&client, 0, 0, 8);
	d->CS.Length = 9;
	post_send(&client, d);
	require_sent(&client, d, DONE | VIP_STATUS_LENGTH_ERROR);
	r = make_send(&server, 0, DATA_BYTES - 8, 9);
	post_recv(&server, r);
	require_received(&server, r, DONE | VIP_STATUS_PROTECTION_ERROR);
	require_state(&client, VIP_STATE_CONNECTED);
	require_state(&server, VIP_STATE_CONNECTED);
	transfer_all();
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, NULL, NULL));
	expect(VIP_SUCCESS, VipErrorCallback(server.nic, NULL, NULL));
	close_pair();
}

static unsigned int received;

/* One of a hundred is too long for its receive; all others arrive, once and in order */
static void *receive_all(void *unused)
{
	unsigned int i, count = env_uint("VIPL_MESSAGES", 10000);
	VIP_DESCRIPTOR *got;

	(void)unused;
	for (i = 0; i < count; i++) {
		expect(VIP_SUCCESS, VipRecvWait(server.vi, LONG, &got));
		if (i % 100 == 99)
			require(got->CS.Status == (DONE | VIP_STATUS_LENGTH_ERROR |
						   VIP_STATUS_OP_RECEIVE), "%#x", got->CS.Status);
		else
			require(got->CS.Status == (DONE | VIP_STATUS_IMMEDIATE |
						   VIP_STATUS_OP_RECEIVE) &&
				got->CS.ImmediateData == i, "%#x, %u, not %u", got->CS.Status,
				got->CS.ImmediateData, i);
		if (i + 48 < count)
			post_recv(&server, got);
		__atomic_store_n(&received, i + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Waits until the server has a receive, and the client a descriptor, for one more message */
static void require_space(unsigned int sent)
{
	VIP_DESCRIPTOR *got;

	while (sent >= __atomic_load_n(&received, __ATOMIC_ACQUIRE) + 48)
		usleep(100);
	if (sent < 16)
		return;
	expect(VIP_SUCCESS, VipSendWait(client.vi, LONG, &got));
	require(got->CS.Status == DONE, "%#x", got->CS.Status);
}

void unreliable_many(void)
{
	unsigned int i, count = env_uint("VIPL_MESSAGES", 10000);
	pthread_t thread;
	VIP_DESCRIPTOR *d;

	start(VIP_SERVICE_UNRELIABLE);
	for (i = 0; i < 48; i++)
		post_recv(&server, make_send(&server, i, i * 64, 64));
	require(!pthread_create(&thread, NULL, receive_all, NULL), "a thread");
	for (i = 0; i < count; i++) {
		require_space(i);
		d = make_send(&client, i % PAIR_DESCS, 0, i % 100 == 99 ? 65 : 64);
		d->CS.Control = VIP_CONTROL_IMMEDIATE;
		d->CS.ImmediateData = i;
		post_send(&client, d);
	}
	pthread_join(thread, NULL);
	require_state(&client, VIP_STATE_CONNECTED);
	require_state(&server, VIP_STATE_CONNECTED);
	close_pair();
}

/* --- a flood --- */

#define FLOOD		6000	/* messages */
#define FLOOD_TAKEN	2000	/* completions: a VI has fewer WRs in progress */

static __thread unsigned int *taken;	/* what a call of this thread takes, or NULL */
static int (*poll_in_verbs)(struct ibv_cq *cq, int num, struct ibv_wc *wc);

/* As a CPU sees it that is slower than those that send: there is one more completion, always */
static int poll_slowly(struct ibv_cq *cq, int num, struct ibv_wc *wc)
{
	int n = poll_in_verbs(cq, num, wc), tries;

	for (tries = 0; taken && !n && tries < 100; tries++) {
		usleep(1000);
		n = poll_in_verbs(cq, num, wc);
	}
	if (taken && n > 0)
		*taken += n;
	return n;
}

/* In place of the one of libibverbs, for libvipl: each CQ of this program is polled slowly */
struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *(*create)(struct ibv_context *, int, void *, struct ibv_comp_channel *,
				 int) = dlsym(RTLD_NEXT, "ibv_create_cq");
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&once);
	if (context->ops.poll_cq != poll_slowly) {
		poll_in_verbs = context->ops.poll_cq;
		context->ops.poll_cq = poll_slowly;
	}
	pthread_mutex_unlock(&once);
	return create(context, cqe, cq_context, channel, comp_vector);
}

static void *send_flood(void *unused)
{
	VIP_DESCRIPTOR *got;
	unsigned int i;

	(void)unused;
	for (i = 0; i < FLOOD; i++) {
		post_send(&client, make_send(&client, i % PAIR_DESCS, 0, 8));
		expect(VIP_SUCCESS, VipSendWait(client.vi, LONG, &got));
		require(got->CS.Status == DONE, "%#x", got->CS.Status);
	}
	return NULL;
}

/* No receive is posted: the messages are lost, and each is done with as soon as it has come */
void unreliable_flood(void)
{
	unsigned int count = 0;
	VIP_VI_STATE state;
	pthread_t thread;

	start(VIP_SERVICE_UNRELIABLE);
	require(poll_in_verbs, "libvipl creates its CQs here");
	require(!pthread_create(&thread, NULL, send_flood, NULL), "a thread");
	usleep(10000);
	taken = &count;
	expect(VIP_SUCCESS, VipQueryVi(server.vi, &state, &server.attr));
	taken = NULL;
	pthread_join(thread, NULL);
	note("%u completions", count);
	require(count && count <= FLOOD_TAKEN, "a call takes %u completions", count);
	close_pair();
}
