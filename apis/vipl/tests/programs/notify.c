// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Handlers of completed descriptors. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "pair.h"

#define MESSAGES	100

static unsigned int received, sent, taken;
static VIP_CQ_HANDLE cq;

static unsigned int read_of(unsigned int *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

static void add_to(unsigned int *count)
{
	__atomic_add_fetch(count, 1, __ATOMIC_RELEASE);
}

static void await(unsigned int *count, unsigned int want)
{
	uint64_t end = now_ms() + LONG;

	while (read_of(count) < want && now_ms() < end)
		usleep(1000);
	require(read_of(count) == want, "%u calls, not %u", read_of(count), want);
}

static void on_recv(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *desc)
{
	require(context == &server && nic == server.nic && vi == server.vi, "of the server");
	require(desc->CS.Status == (DONE | VIP_STATUS_OP_RECEIVE), "%#x", desc->CS.Status);
	require(desc->CS.Length == read_of(&received), "%u bytes as number %u", desc->CS.Length,
		read_of(&received));
	/* A handler may post, and register again. */
	desc->CS.Length = 0;
	post_recv(&server, desc);
	if (read_of(&received) % 2)
		expect(VIP_SUCCESS, VipRecvNotify(vi, context, on_recv));
	add_to(&received);
}

static void on_send(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *desc)
{
	require(context == &client && nic == client.nic && vi == client.vi, "of the client");
	require(desc->CS.Status == DONE, "%#x", desc->CS.Status);
	add_to(&sent);
}

/* Half of the handlers are registered before there is a message */
void notify(void)
{
	unsigned int i;

	open_pair();
	for (i = 0; i < 32; i++)
		post_recv(&server, make_send(&server, i, i * 1024, 1024));
	connect_pair();
	for (i = 0; i < MESSAGES / 2; i++)
		expect(VIP_SUCCESS, VipRecvNotify(server.vi, &server, on_recv));
	for (i = 0; i < MESSAGES; i++) {
		post_send(&client, make_send(&client, i % PAIR_DESCS, 0, i));
		expect(VIP_SUCCESS, VipSendNotify(client.vi, &client, on_send));
		await(&sent, i + 1);
		if (i < MESSAGES - 1)
			await(&received, i + 1);
	}
	usleep(50000);
	require(read_of(&received) == MESSAGES || read_of(&received) == MESSAGES - 1, "%u calls",
		read_of(&received));
	close_pair();
}

static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
	VIP_DESCRIPTOR *desc;

	require(context == &cq && nic == server.nic && vi == server.vi && recv, "of the CQ");
	expect(VIP_SUCCESS, VipRecvDone(vi, &desc));
	require(desc->CS.Length == read_of(&taken), "%u bytes", desc->CS.Length);
	add_to(&taken);
}

void notify_cq(void)
{
	VIP_DESCRIPTOR *got;
	unsigned int i;

	open_pair();
	expect(VIP_SUCCESS, VipDestroyVi(server.vi));
	expect(VIP_SUCCESS, VipCreateCQ(server.nic, 16, &cq));
	expect(VIP_SUCCESS, VipCreateVi(server.nic, &server.attr, NULL, cq, &server.vi));
	for (i = 0; i < 10; i++)
		post_recv(&server, make_send(&server, i, 0, 1024));
	connect_pair();
	expect(VIP_ERROR_RESOURCE, VipRecvNotify(server.vi, &server, on_recv));
	expect(VIP_ERROR_RESOURCE, VipRecvWait(server.vi, 0, &got));
	for (i = 0; i < 10; i++) {
		if (i < 5)
			expect(VIP_SUCCESS, VipCQNotify(cq, &cq, on_entry));
		post_send(&client, make_send(&client, i, 0, i));
		if (i >= 5)
			expect(VIP_SUCCESS, VipCQNotify(cq, &cq, on_entry));
		await(&taken, i + 1);
	}
	close_pair();
}

#define ROOM	4	/* entries of a CQ */
#define LATE	20	/* messages that nobody takes an entry of */

/* A CQ that overruns loses entries (6.4.1), but no message, and no connection */
void cq_lost(void)
{
	VIP_DESCRIPTOR *got;
	unsigned int i;
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;

	open_pair();
	expect(VIP_SUCCESS, VipDestroyVi(server.vi));
	expect(VIP_SUCCESS, VipCreateCQ(server.nic, ROOM, &cq));
	expect(VIP_SUCCESS, VipCreateVi(server.nic, &server.attr, NULL, cq, &server.vi));
	for (i = 0; i <= LATE; i++)
		post_recv(&server, make_send(&server, i, 0, 1024));
	connect_pair();
	for (i = 0; i < LATE; i++) {
		post_send(&client, make_send(&client, 0, 0, i));
		require_sent(&client, (void *)client.descs, DONE);
	}
	for (i = 0; i < LATE; i++) {
		while (VipRecvDone(server.vi, &got) == VIP_NOT_DONE)
			usleep(1000);
		require(got == (void *)(server.descs + i * DESC_BYTES) && got->CS.Length == i &&
			got->CS.Status == (DONE | VIP_STATUS_OP_RECEIVE), "message %u: %#x", i,
			got->CS.Status);
	}
	for (i = 0; i < ROOM; i++)
		expect(VIP_SUCCESS, VipCQDone(cq, &vi, &recv));
	expect(VIP_NOT_DONE, VipCQDone(cq, &vi, &recv));
	require_state(&client, VIP_STATE_CONNECTED);
	require_state(&server, VIP_STATE_CONNECTED);
	post_send(&client, make_send(&client, 0, 0, LATE));
	expect(VIP_SUCCESS, VipCQWait(cq, LONG, &vi, &recv));
	require(vi == server.vi && recv, "of its VI and queue");
	expect(VIP_SUCCESS, VipRecvDone(server.vi, &got));
	require(got->CS.Length == LATE, "%u bytes", got->CS.Length);
	close_pair();
}

static void never(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *desc)
{
	die("called with %p %p %p %p", context, nic, vi, (void *)desc);
}

static void never_cq(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_BOOLEAN recv)
{
	die("called with %p %p %p %d", context, nic, vi, recv);
}

/* A VI, and a CQ with another one, that are made where others were have none of their calls */
static void new_ones(void)
{
	VIP_VI_HANDLE bound;
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;

	server.vi = make_vi(server.nic, &server.attr);
	expect(VIP_SUCCESS, VipCreateCQ(server.nic, 16, &cq));
	expect(VIP_SUCCESS, VipCreateVi(server.nic, &server.attr, cq, NULL, &bound));
	post_recv(&server, make_send(&server, 0, 0, 64));
	post_send(&server, make_send(&server, 1, 0, 64));
	expect(VIP_SUCCESS, VipPostSend(bound, make_send(&server, 2, 0, 64), server.handle));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	usleep(100000);
	require_sent(&server, (void *)(server.descs + DESC_BYTES), FLUSHED);
	require_received(&server, (void *)server.descs, FLUSHED);
	expect(VIP_SUCCESS, VipCQDone(cq, &vi, &recv));
	require(vi == bound && !recv, "of its VI and queue");
}

static unsigned int holds, released, last;

/* Keeps the library's thread that makes calls */
static void hold(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *desc)
{
	add_to(&holds);
	while (!read_of(&released))
		usleep(1000);
}

static void on_last(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *desc)
{
	add_to(&last);
}

/* A send of an Idle VI is done at once, and so the call is due */
static void make_due(VIP_VI_HANDLE vi, unsigned int i,
		     void (*handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *))
{
	expect(VIP_SUCCESS, VipSendNotify(vi, NULL, handler));
	expect(VIP_SUCCESS, VipPostSend(vi, make_send(&server, i, 0, 64), server.handle));
}

/* Calls of a VI and of a CQ are due behind one that runs; the VI and the CQ end meanwhile */
static void due_ones(void)
{
	VIP_VI_HANDLE holder = make_vi(server.nic, &server.attr), bound;
	VIP_DESCRIPTOR *got;

	expect(VIP_SUCCESS, VipCreateCQ(server.nic, 16, &cq));
	expect(VIP_SUCCESS, VipCreateVi(server.nic, &server.attr, cq, NULL, &bound));
	make_due(holder, 0, hold);
	await(&holds, 1);
	make_due(server.vi, 1, never);
	expect(VIP_SUCCESS, VipCQNotify(cq, NULL, never_cq));
	expect(VIP_SUCCESS, VipPostSend(bound, make_send(&server, 2, 0, 64), server.handle));
	make_due(holder, 3, on_last);
	expect(VIP_SUCCESS, VipDestroyVi(server.vi));
	expect(VIP_SUCCESS, VipSendDone(bound, &got));
	expect(VIP_SUCCESS, VipDestroyVi(bound));
	expect(VIP_SUCCESS, VipDestroyCQ(cq));
	add_to(&released);
	await(&last, 1);
}

/* The end of a VI or CQ cancels its calls */
void notify_bad(void)
{
	VIP_VI_HANDLE vi;

	open_end(&server);
	expect(VIP_INVALID_PARAMETER, VipRecvNotify(server.vi, NULL, NULL));
	expect(VIP_INVALID_PARAMETER, VipSendNotify(STALE, NULL, never));
	expect(VIP_INVALID_PARAMETER, VipRecvNotify(server.nic, NULL, never));
	expect(VIP_INVALID_PARAMETER, VipCQNotify(server.vi, NULL, never_cq));
	expect(VIP_SUCCESS, VipCreateCQ(server.nic, 16, &cq));
	expect(VIP_INVALID_PARAMETER, VipCQNotify(cq, NULL, NULL));
	expect(VIP_SUCCESS, VipCreateVi(server.nic, &server.attr, cq, NULL, &vi));
	expect(VIP_ERROR_RESOURCE, VipSendNotify(vi, NULL, never));
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_SUCCESS, VipCQNotify(cq, NULL, never_cq));
	expect(VIP_SUCCESS, VipSendNotify(server.vi, NULL, never));
	expect(VIP_SUCCESS, VipRecvNotify(server.vi, NULL, never));
	expect(VIP_SUCCESS, VipDestroyVi(server.vi));
	expect(VIP_SUCCESS, VipDestroyCQ(cq));
	new_ones();
	due_ones();
	expect(VIP_SUCCESS, VipCloseNic(server.nic));
}
