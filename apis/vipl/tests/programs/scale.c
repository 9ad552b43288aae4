// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Many VIs, and VIs beside each other. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "pair.h"

#define MAX_REGIONS	10000
#define SMALL	16		/* VIs with little to send */
#define PINGS	50		/* of each */
#define BULK	16		/* receives of the one with much to send */

static struct end *clients, *servers;

/* @count pairs of VIs of the NICs of client and server */
static void connect_many(unsigned int count)
{
	unsigned int i;

	clients = calloc(count, sizeof(*clients));
	servers = calloc(count, sizeof(*servers));
	require(clients && servers, "memory");
	for (i = 0; i < count; i++) {
		client.vi = make_vi(client.nic, &client.attr);
		server.vi = make_vi(server.nic, &server.attr);
		connect_pair();
		clients[i] = client;
		servers[i] = server;
	}
}

/* All VIs at once, with traffic on each (8.1) */
void many_vis(void)
{
	unsigned int i, count = env_uint("VIPL_VIS", 128);
	VIP_DESCRIPTOR *r;

	open_pair();
	connect_many(count);
	for (i = 0; i < count; i++) {
		r = make_send(&servers[i], i % PAIR_DESCS, i % PAIR_DESCS * 4, 4);
		post_recv(&servers[i], r);
		memcpy(client.data, &i, 4);
		post_send(&clients[i], make_send(&clients[i], 0, 0, 4));
		require_received(&servers[i], r, DONE);
		require(!memcmp(r->DS[0].Local.Data.Address, &i, 4), "the bytes of VI %u", i);
		require_sent(&clients[i], (void *)client.descs, DONE);
	}
	for (i = 0; i < count; i++) {
		require_state(&clients[i], VIP_STATE_CONNECTED);
		require_state(&servers[i], VIP_STATE_CONNECTED);
	}
	close_pair();
}

static unsigned int taken;	/* messages of the VI with much to send */
static int over;

static bool is_over(void)
{
	return __atomic_load_n(&over, __ATOMIC_ACQUIRE);
}

static void *take_bulk(void *arg)
{
	struct end *end = arg;
	VIP_DESCRIPTOR *got;

	while (VipRecvWait(end->vi, 20, &got) == VIP_SUCCESS || !is_over()) {
		if (!got)
			continue;
		require(got->CS.Length == 65536, "%#x", got->CS.Status);
		post_recv(end, got);
		__atomic_add_fetch(&taken, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Sends as many messages as there are receives */
static void *send_bulk(void *arg)
{
	struct end *end = arg;
	VIP_DESCRIPTOR *got;
	unsigned int sent = 0;

	while (!is_over()) {
		if (sent >= __atomic_load_n(&taken, __ATOMIC_ACQUIRE) + BULK) {
			usleep(50);
			continue;
		}
		post_send(end, make_send(end, sent % BULK, 0, 65536));
		if (sent++ < BULK / 2)
			continue;
		expect(VIP_SUCCESS, VipSendWait(end->vi, LONG, &got));
		require(got->CS.Status == DONE, "%#x", got->CS.Status);
	}
	return NULL;
}

static void ping(unsigned int i)
{
	VIP_DESCRIPTOR *r = make_send(&servers[i], 32 + i, 65536 + i * 64, 64);

	post_recv(&servers[i], r);
	post_send(&clients[i], make_send(&clients[i], 32 + i, 65536, 64));
	require_received(&servers[i], r, DONE);
	require_sent(&clients[i], (void *)(client.descs + (32 + i) * DESC_BYTES), DONE);
}

/* No VI keeps another one from sending (6.3.1, 2.6). */
void fairness(void)
{
	struct end *much_from, *much_to;
	unsigned int i;
	pthread_t from, to;

	open_pair();
	connect_many(SMALL + 1);
	much_from = &clients[SMALL];
	much_to = &servers[SMALL];
	for (i = 0; i < BULK; i++)
		post_recv(much_to, make_send(much_to, i, 0, 65536));
	require(!pthread_create(&to, NULL, take_bulk, much_to), "a thread");
	require(!pthread_create(&from, NULL, send_bulk, much_from), "a thread");
	/* if the bulk VI starved, this would not end, and the case would time out */
	for (i = 0; i < SMALL * PINGS || __atomic_load_n(&taken, __ATOMIC_ACQUIRE) <= SMALL; i++)
		ping(i % SMALL);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	pthread_join(from, NULL);
	pthread_join(to, NULL);
	close_pair();
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The time of a post on an Idle VI, which looks the descriptor's memory up, and of its dequeue */
static uint64_t cost_of_post(void)
{
	VIP_DESCRIPTOR *d = make_send(&client, 0, 0, 8), *got;
	uint64_t best = UINT64_MAX, since;
	unsigned int i, batch;

	for (batch = 0; batch < 20; batch++) {
		since = now_ns();
		for (i = 0; i < 100; i++) {
			post_send(&client, d);
			expect(VIP_SUCCESS, VipSendDone(client.vi, &got));
		}
		since = (now_ns() - since) / 100;
		best = since < best ? since : best;
	}
	return best;
}

/* A post costs the same with the many regions of a message-passing library; each is found */
void many_regions(void)
{
	static VIP_MEM_HANDLE handles[MAX_REGIONS];
	char *p = map(64 * 4096, PROT_READ | PROT_WRITE);
	unsigned int i, count = env_uint("VIPL_REGIONS", 2000);
	uint64_t few, many;

	require(count <= MAX_REGIONS, "%u", count);
	open_end(&client);
	few = cost_of_post();
	for (i = 0; i < count; i++)
		expect(VIP_SUCCESS, VipRegisterMem(client.nic, p + i % 64 * 4096, 4096, &client.mem,
						   &handles[i]));
	many = cost_of_post();
	note("%d ns with one region, %d with %u more", (int)few, (int)many, count);
	require(many < 5 * few, "%d ns, and %d", (int)few, (int)many);
	for (i = 0; i < count; i++)
		expect(VIP_SUCCESS, VipQueryMem(client.nic, p + i % 64 * 4096, handles[i],
						&client.mem));
	for (i = 0; i < count; i += 2)
		expect(VIP_SUCCESS, VipDeregisterMem(client.nic, p + i % 64 * 4096, handles[i]));
	for (i = 0; i < count; i++) {
		VIP_RETURN want = i % 2 ? VIP_SUCCESS : VIP_INVALID_PARAMETER;

		expect(want, VipQueryMem(client.nic, p + i % 64 * 4096, handles[i], &client.mem));
	}
	expect(VIP_SUCCESS, VipCloseNic(client.nic));
}
