// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The same cases over libvipl: messages there and back, and a stream of RDMA Writes, with so many
 * under way.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <vipl.h>
#include "bench.h"

#define DISC		"bench"
#define CONNECT_MS	20000
#define RECVS		2
#define MAX_BYTES	65536
#define LAST		0xff	/* value of the byte that ends the measurement */

union address {
	VIP_NET_ADDRESS net;
	char room[4 + 4 + sizeof(DISC)];
};

/* The server's memory, as sent to the client */
struct target {
	VIP_PVOID64 data;
	VIP_MEM_HANDLE handle;
};

struct end {
	const struct bench *b;
	VIP_NIC_HANDLE nic;
	VIP_VI_HANDLE vi;
	VIP_VI_ATTRIBUTES attr;
	VIP_MEM_HANDLE handle;
	VIP_DESCRIPTOR *descs;
	char *data;		/* MAX_BYTES for each descriptor */
	const void *heard;	/* the last message */
	unsigned int next;	/* the receive that is done next */
};

static void check(VIP_RETURN ret, const char *what)
{
	require(!ret, "%s: VIP_RETURN %d", what, ret);
}

/* The device that has the server's address, or has a route to it */
static const char *device_of(const struct bench *b)
{
	struct rdma_event_channel *ch = cm_channel(false);
	struct sockaddr_storage addr;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	resolve(b->addr, 0, &addr);
	if (!ch || rdma_create_id(ch, &id, NULL, RDMA_PS_TCP))
		die("rdma_create_id: %s", strerror(errno));
	if (b->server) {
		require(!rdma_bind_addr(id, (struct sockaddr *)&addr), "rdma_bind_addr");
	} else {
		require(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 2000), "route");
		cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, &event);
		rdma_ack_cm_event(event);
	}
	require(id->verbs, "%s has no device", b->addr);
	return ibv_get_device_name(id->verbs->device);
}

static void open_all(struct end *e, const struct bench *b)
{
	size_t count = b->depth + RECVS, len = count * (sizeof(*e->descs) + MAX_BYTES);
	VIP_MEM_ATTRIBUTES mem = { .EnableRdmaWrite = VIP_TRUE };

	require(b->size <= MAX_BYTES && b->links == 1, "size or links is too large");
	e->b = b;
	e->attr.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY;
	e->attr.MaxTransferSize = MAX_BYTES;
	e->attr.EnableRdmaWrite = VIP_TRUE;
	check(VipOpenNic(device_of(b), &e->nic), "VipOpenNic");
	check(VipCreatePtag(e->nic, &e->attr.Ptag), "VipCreatePtag");
	check(VipCreateVi(e->nic, &e->attr, NULL, NULL, &e->vi), "VipCreateVi");
	mem.Ptag = e->attr.Ptag;
	e->descs = aligned_alloc(4096, (len + 4095) & ~4095ul);
	require(e->descs, "%s", strerror(errno));
	memset(e->descs, 0, len);
	e->data = (char *)&e->descs[count];
	check(VipRegisterMem(e->nic, e->descs, len, &mem, &e->handle), "VipRegisterMem");
}

static VIP_DESCRIPTOR *fill(struct end *e, unsigned int i, unsigned int bytes)
{
	VIP_DESCRIPTOR *d = &e->descs[i];
	VIP_DATA_SEGMENT *seg = &d->DS[0].Local;

	memset(d, 0, sizeof(*d));
	d->CS.SegCount = 1;
	d->CS.Length = bytes;
	seg->Data.Address = e->data + i * MAX_BYTES;
	seg->Handle = e->handle;
	seg->Length = bytes;
	return d;
}

static void post_recv(struct end *e, unsigned int i)
{
	check(VipPostRecv(e->vi, fill(e, i, MAX_BYTES), e->handle), "VipPostRecv");
}

/*
 * Looks at a status in memory, if that is how this end waits. It gives way between two looks: of the
 * threads of a program in User Mode Linux one at a time is in user space.
 */
static void look_for(struct end *e, unsigned int i)
{
	while (e->b->memory &&
	       !(__atomic_load_n(&e->descs[i].CS.Status, __ATOMIC_ACQUIRE) & VIP_STATUS_DONE))
		sched_yield();
}

static void await_sent(struct end *e)
{
	VIP_DESCRIPTOR *d;

	while (VipSendDone(e->vi, &d) == VIP_NOT_DONE)
		;
	require(!(d->CS.Status & VIP_STATUS_ERROR_MASK), "%#x", d->CS.Status);
}

/* All that are done, at least one */
static unsigned int take_sent(struct end *e)
{
	unsigned int n = 1;
	VIP_DESCRIPTOR *d;

	await_sent(e);
	while (VipSendDone(e->vi, &d) == VIP_SUCCESS)
		n++;
	return n;
}

/* Sends the data of descriptor RECVS */
static void say(struct end *e, unsigned int bytes)
{
	check(VipPostSend(e->vi, fill(e, RECVS, bytes), e->handle), "VipPostSend");
	look_for(e, RECVS);
	await_sent(e);
}

/* The last byte of a message; polling for it takes CPU from the tasks that send and receive. */
static uint8_t hear(struct end *e, bool sleep)
{
	VIP_RETURN ret;
	VIP_DESCRIPTOR *d;
	uint8_t last;

	look_for(e, e->next);
	do
		ret = sleep ? VipRecvWait(e->vi, VIP_INFINITE, &d) : VipRecvDone(e->vi, &d);
	while (ret == VIP_NOT_DONE);
	check(ret, "VipRecvDone");
	require(!(d->CS.Status & VIP_STATUS_ERROR_MASK), "%#x", d->CS.Status);
	last = e->data[(d - e->descs) * MAX_BYTES + d->CS.Length - 1];
	e->heard = e->data + (d - e->descs) * MAX_BYTES;
	post_recv(e, d - e->descs);
	e->next = (e->next + 1) % RECVS;
	return last;
}

static void serve(struct end *e)
{
	union address local = { .net = { .DiscriminatorLen = sizeof(DISC) } };
	char remote[128] __attribute__((aligned(8)));
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	memcpy(local.net.HostAddress, DISC, sizeof(DISC));
	check(VipConnectWait(e->nic, &local.net, CONNECT_MS, (VIP_NET_ADDRESS *)remote, &attr,
			     &conn), "VipConnectWait");
	check(VipConnectAccept(conn, e->vi), "VipConnectAccept");
}

static void call(struct end *e)
{
	union address local = { .net = { .HostAddressLen = 0 } };
	union address remote = { .net = { 4, sizeof(DISC), { 0 } } };
	VIP_VI_ATTRIBUTES attr;

	require(inet_pton(AF_INET, e->b->addr, remote.net.HostAddress) == 1, "%s", e->b->addr);
	memcpy(remote.room + 8, DISC, sizeof(DISC));
	check(VipConnectRequest(e->vi, &local.net, &remote.net, CONNECT_MS, &attr),
	      "VipConnectRequest");
}

static void begin(struct end *e, const struct bench *b)
{
	unsigned int i;

	memset(e, 0, sizeof(*e));
	open_all(e, b);
	for (i = 0; i < RECVS; i++)
		post_recv(e, i);
	if (b->server)
		serve(e);
	else
		call(e);
}

static void end(struct end *e)
{
	control_meet(e->b);
	check(VipDisconnect(e->vi), "VipDisconnect");
	check(VipCloseNic(e->nic), "VipCloseNic");
}

/* The receiver looks at the last byte of a message */
static void set_last(struct end *e, uint8_t byte)
{
	e->data[RECVS * MAX_BYTES + e->b->size - 1] = byte;
}

static void play(struct end *e)
{
	uint32_t *samples = calloc(MAX_SAMPLES, sizeof(*samples));
	struct usage before, after;
	uint64_t at, now, from, to;
	size_t num = 0, all = 0;

	require(samples, "%s", strerror(errno));
	memset(samples, 0, MAX_SAMPLES * sizeof(*samples));
	usage_now(&before);
	from = now_ns() + e->b->ms * 100000ULL;
	to = from + e->b->ms * 1000000ULL;
	for (at = now_ns(); at < to || !num; at = now, all++) {
		set_last(e, all % 200);
		say(e, e->b->size);
		require(hear(e, e->b->event) == all % 200, "another one came back");
		now = now_ns();
		if (at >= from && num < MAX_SAMPLES)
			samples[num++] = now - at;
	}
	usage_now(&after);
	set_last(e, LAST);
	say(e, e->b->size);
	result_begin(e->b);
	result_samples(samples, num, 0.5);
	result_usage(&before, &after, 2 * all, 0);
	result_end();
}

static void answer(struct end *e)
{
	uint8_t byte;

	while ((byte = hear(e, e->b->event)) != LAST) {
		set_last(e, byte);
		say(e, e->b->size);
	}
}

void vipl_latency(struct bench *b)
{
	struct end e;

	require(b->op == OP_SEND, "latency is that of a Send");
	begin(&e, b);
	if (b->server)
		answer(&e);
	else
		play(&e);
	end(&e);
}

static void post_write(struct end *e, const struct target *target, unsigned int i)
{
	VIP_DESCRIPTOR *d = fill(e, RECVS + i, e->b->size);

	/* All Writes have the same source, as in the other cases */
	d->DS[0].Local.Data.Address = e->data + RECVS * MAX_BYTES;
	d->DS[1] = d->DS[0];
	d->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
	d->CS.SegCount = 2;
	memset(&d->DS[0], 0, sizeof(d->DS[0]));
	d->DS[0].Remote.Data = target->data;
	d->DS[0].Remote.Handle = target->handle;
	check(VipPostSend(e->vi, d, e->handle), "VipPostSend");
}

/* The number of Writes in that time; the Send behind them is answered when they are done. */
static uint64_t write_for(struct end *e, const struct target *target, uint64_t ms)
{
	uint64_t rounds = 0, posted = 0, done = 0, to = now_ns() + ms * 1000000;

	/* Reading the clock may be a system call. */
	while (rounds++ % 16 || now_ns() < to) {
		while (posted - done < e->b->depth)
			post_write(e, target, posted++ % e->b->depth);
		done += take_sent(e);
	}
	for (; done < posted; done++)
		await_sent(e);
	say(e, 1);
	hear(e, true);
	return posted;
}

static void tell_target(struct end *e)
{
	struct target target = { .handle = e->handle };

	target.data.Address = e->data + RECVS * MAX_BYTES;
	memcpy(e->data + RECVS * MAX_BYTES, &target, sizeof(target));
	say(e, sizeof(target));
}

static void receive_stream(struct end *e)
{
	int phase;

	tell_target(e);
	for (phase = 0; phase < 2; phase++) {
		hear(e, true);
		say(e, 1);
	}
}

static void send_stream(struct end *e)
{
	const struct bench *b = e->b;
	struct usage before, after;
	struct target target;
	uint64_t count;
	double seconds;

	hear(e, true);
	memcpy(&target, e->heard, sizeof(target));
	write_for(e, &target, b->ms / 8);
	usage_now(&before);
	count = write_for(e, &target, b->ms);
	usage_now(&after);
	seconds = (after.ns - before.ns) / 1e9;
	result_begin(b);
	result_number("mib_s", count * b->size / seconds / 1048576);
	result_number("msg_s", count / seconds);
	result_usage(&before, &after, count, count * b->size);
	result_end();
}

void vipl_stream(struct bench *b)
{
	struct end e;

	require(b->op == OP_WRITE, "a stream is that of Writes");
	begin(&e, b);
	if (b->server)
		receive_stream(&e);
	else
		send_stream(&e);
	end(&e);
}
