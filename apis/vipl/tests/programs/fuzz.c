// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Descriptors with random fields, some of them valid. Each ends with known status bits, memory
 * around them does not change, and an unreliable connection stays up.
 */
#include <stdlib.h>
#include <string.h>
#include "pair.h"

#define ROUNDS		2000
#define KNOWN_BITS	(DONE | VIP_STATUS_ERROR_MASK | VIP_STATUS_OP_MASK | VIP_STATUS_IMMEDIATE)
#define CANARY		0x5a

static unsigned int seed;

static unsigned int pick(unsigned int n)
{
	return rand_r(&seed) % n;
}

/* An address around registered memory, or anywhere */
static uint64_t some_address(struct end *end)
{
	const uint64_t from[] = {
		(uintptr_t)end->data, (uintptr_t)end->data + pick(DATA_BYTES),
		(uintptr_t)end->data + DATA_BYTES - pick(3), 0, -1ull - pick(64), rand_r(&seed),
		(uintptr_t)end->data,
	};

	return from[pick(ARRAY_SIZE(from))];
}

static uint32_t some_handle(struct end *end)
{
	return pick(8) ? end->handle : pick(2) ? 0 : (uint32_t)rand_r(&seed);
}

static uint32_t some_length(void)
{
	static const uint32_t lengths[] = { 0, 1, 7, 64, 300, 300, 65536, 65537, 0xffffffff };

	return lengths[pick(ARRAY_SIZE(lengths))];
}

static void fill_segments(struct end *end, struct end *peer, VIP_DESCRIPTOR *d)
{
	unsigned int i, op = d->CS.Control & VIP_CONTROL_OP_MASK;
	unsigned int max = (DESC_BYTES - sizeof(d->CS)) / sizeof(d->DS[0]);

	for (i = 0; i < d->CS.SegCount && i < max; i++) {
		bool address = !i && (op == VIP_CONTROL_OP_RDMAWRITE || op == VIP_CONTROL_OP_RDMA_READ);

		d->DS[i].Local.Data.AddressBits = some_address(address ? peer : end);
		d->DS[i].Local.Handle = some_handle(address ? peer : end);
		d->DS[i].Local.Length = address ? (pick(10) ? 0 : 1) : some_length();
		d->CS.Length += address ? 0 : d->DS[i].Local.Length;
	}
}

static VIP_DESCRIPTOR *some_desc(struct end *end, struct end *peer, unsigned int i)
{
	static const uint16_t counts[] = { 0, 1, 1, 1, 2, 2, 3, 10, 252, 253, 254, 65535 };
	VIP_DESCRIPTOR *d = desc_of(end, i);

	d->CS.SegCount = counts[pick(ARRAY_SIZE(counts))];
	d->CS.Control = pick(4) ? pick(3) | (pick(2) ? VIP_CONTROL_IMMEDIATE : 0) :
				  (uint16_t)rand_r(&seed);
	d->CS.Reserved = pick(20) ? 0 : rand_r(&seed);
	d->CS.ImmediateData = rand_r(&seed);
	fill_segments(end, peer, d);
	if (!pick(10))
		d->CS.Length = rand_r(&seed);
	return d;
}

/* Not all are queued: some are longer than their memory. */
static void take_all(struct end *end)
{
	VIP_DESCRIPTOR *got;

	while (!VipSendDone(end->vi, &got) || !VipRecvDone(end->vi, &got)) {
		require(got->CS.Status & DONE && !(got->CS.Status & ~KNOWN_BITS), "%#x",
			got->CS.Status);
		require((char *)got >= end->descs && (char *)got < end->data, "%p", (void *)got);
	}
}

static void connect_again(void)
{
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	take_all(&client);
	take_all(&server);
	connect_pair();
}

static bool is_connected(struct end *end)
{
	VIP_VI_ATTRIBUTES attr;
	VIP_VI_STATE state;

	expect(VIP_SUCCESS, VipQueryVi(end->vi, &state, &attr));
	return state == VIP_STATE_CONNECTED;
}

static void set_levels(VIP_RELIABILITY_LEVEL level)
{
	struct end *ends[] = { &client, &server };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		ends[i]->attr.ReliabilityLevel = level;
		ends[i]->attr.EnableRdmaRead = level != VIP_SERVICE_UNRELIABLE;
		expect(VIP_SUCCESS, VipSetViAttributes(ends[i]->vi, &ends[i]->attr));
	}
}

static void post_some(unsigned int rounds, bool unreliable)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		struct end *end = pick(2) ? &client : &server;
		struct end *peer = end == &client ? &server : &client;
		VIP_DESCRIPTOR *d = some_desc(end, peer, i % PAIR_DESCS);

		if (pick(3))
			post_send(end, d);
		else
			post_recv(end, d);
		if (i % PAIR_DESCS == PAIR_DESCS - 1 ||
		    (!unreliable && !(is_connected(&client) && is_connected(&server))))
			connect_again();
	}
	require(!unreliable || (is_connected(&client) && is_connected(&server)), "it stands");
}

static void require_guarded(struct end *end)
{
	const char *guard = end->data + DATA_BYTES;

	require(guard[0] == CANARY && !memcmp(guard, guard + 1, GUARD_BYTES - 1),
		"the memory behind what is registered");
}

void fuzz(void)
{
	VIP_RELIABILITY_LEVEL level;

	seed = env_uint("VIPL_SEED", 1);
	note("VIPL_SEED=%u", seed);
	open_pair();
	memset(client.data + DATA_BYTES, CANARY, GUARD_BYTES);
	memset(server.data + DATA_BYTES, CANARY, GUARD_BYTES);
	for (level = VIP_SERVICE_UNRELIABLE; level <= VIP_SERVICE_RELIABLE_RECEPTION; level++) {
		set_levels(level);
		connect_pair();
		post_some(env_uint("VIPL_FUZZ", ROUNDS) / (level ? 10 : 1),
			  level == VIP_SERVICE_UNRELIABLE);
		expect(VIP_SUCCESS, VipDisconnect(client.vi));
		expect(VIP_SUCCESS, VipDisconnect(server.vi));
		take_all(&client);
		take_all(&server);
	}
	require_guarded(&client);
	require_guarded(&server);
	close_pair();
}
