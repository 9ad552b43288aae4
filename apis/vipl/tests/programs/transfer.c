// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Messages, RDMA Writes and RDMA Reads between two VIs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "pair.h"

static void start(void)
{
	open_pair();
	connect_pair();
}

void send_one(void)
{
	VIP_DESCRIPTOR *s, *r;

	start();
	fill(client.data, 1000, 1);
	r = make_send(&server, 0, 0, 4096);
	r->CS.Control = VIP_CONTROL_IMMEDIATE;	/* without a meaning there (10.2) */
	post_recv(&server, r);
	s = make_send(&client, 0, 0, 1000);
	post_send(&client, s);
	require(!(s->CS.Status & VIP_STATUS_IMMEDIATE), "what the last use left is gone");
	require_sent(&client, s, DONE);
	require_received(&server, r, DONE);
	require(!(r->CS.Control & VIP_CONTROL_IMMEDIATE), "no immediate data came (10.2)");
	require(r->CS.Length == 1000 && s->CS.Length == 1000, "%u", r->CS.Length);
	require(!memcmp(server.data, client.data, 1000), "the data");
	close_pair();
}

/* The server sends first, and then both at once, right after the connect */
void send_both(void)
{
	VIP_DESCRIPTOR *s, *r;
	unsigned int i;

	open_pair();
	for (i = 0; i < 20; i++) {
		post_recv(&server, make_send(&server, i, i * 1000, 1000));
		post_recv(&client, make_send(&client, i, i * 1000, 1000));
	}
	connect_pair();
	for (i = 0; i < 20; i++) {
		fill(server.data + 100000 + i * 1000, i * 50, i);
		s = make_send(&server, 20 + i, 100000 + i * 1000, i * 50);
		s->CS.Control = VIP_CONTROL_IMMEDIATE;
		s->CS.ImmediateData = ~i;
		post_send(&server, s);
		post_send(&client, make_send(&client, 20 + i, 100000, i));
	}
	for (i = 0; i < 20; i++) {
		r = (void *)(client.descs + i * DESC_BYTES);
		require_received(&client, r, DONE | VIP_STATUS_IMMEDIATE);
		require(r->CS.Length == i * 50 && r->CS.ImmediateData == ~i, "%u bytes, %#x",
			r->CS.Length, r->CS.ImmediateData);
		require(r->CS.Control & VIP_CONTROL_IMMEDIATE, "the bit of the control word");
		require(!memcmp(client.data + i * 1000, server.data + 100000 + i * 1000, i * 50),
			"the data of %u", i);
		r = (void *)(server.descs + i * DESC_BYTES);
		require_received(&server, r, DONE);
		require(r->CS.Length == i, "%u bytes", r->CS.Length);
	}
	for (i = 0; i < 20; i++)
		require_sent(&server, (void *)(server.descs + (20 + i) * DESC_BYTES), DONE);
	close_pair();
}

static void add_scattered(struct end *end, VIP_DESCRIPTOR *d, unsigned int n, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		add_segment(end, d, end->data + i * 256, len);
}

/* A descriptor in two pages, of the room of number @i and the one behind it */
static VIP_DESCRIPTOR *desc_across(struct end *end, unsigned int i)
{
	VIP_DESCRIPTOR *d = (void *)((char *)desc_of(end, i) + DESC_BYTES / 2);

	memset(d, 0, DESC_BYTES);
	return d;
}

/* Both are empty */
static void scatter(VIP_DESCRIPTOR *s, VIP_DESCRIPTOR *r, unsigned int seed)
{
	unsigned int i;

	fill(client.data, 65536, seed);
	add_scattered(&server, r, 252, 200);
	post_recv(&server, r);
	add_scattered(&client, s, 252, 200);
	post_send(&client, s);
	require_received(&server, r, DONE);
	require_sent(&client, s, DONE);
	for (i = 0; i < 252; i++)
		require(!memcmp(server.data + i * 256, client.data + i * 256, 200), "segment %u", i);
}

/* 252 segments, with segments of length 0 and without memory between them */
void segments(void)
{
	VIP_DESCRIPTOR *s, *r;

	start();
	scatter(desc_of(&client, 0), desc_of(&server, 0), 7);
	scatter(desc_across(&client, 3), desc_across(&server, 3), 8);	/* 6.1 */
	r = desc_of(&server, 1);
	add_segment(&server, r, NULL, 0);
	add_segment(&server, r, server.data, 10);
	add_segment(&server, r, STALE, 0);
	add_segment(&server, r, server.data + 500, 10);
	post_recv(&server, r);
	s = make_send(&client, 1, 0, 15);
	add_segment(&client, s, NULL, 0);
	post_send(&client, s);
	require_received(&server, r, DONE);
	require(r->CS.Length == 15 && !memcmp(server.data, client.data, 10) &&
		!memcmp(server.data + 500, client.data + 10, 5), "the data");
	r = desc_of(&server, 2);
	post_recv(&server, r);
	s = desc_of(&client, 2);
	post_send(&client, s);
	require_received(&server, r, DONE);
	require(!r->CS.Length, "%u bytes", r->CS.Length);
	close_pair();
}

/* In KiB */
static unsigned long pinned(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[200];

	require(status, "/proc/self/status");
	while (fgets(line, sizeof(line), status) && sscanf(line, "VmPin: %lu", &kib) != 1)
		;
	fclose(status);
	return kib;
}

#define MIB	(1 << 20)

/* The Length of a receive has no limit (10.2), that of a message has */
void long_segments(void)
{
	char *p = map(8 * MIB, PROT_READ | PROT_WRITE);
	unsigned long before;
	VIP_DESCRIPTOR *s, *r;
	VIP_MEM_HANDLE h;
	unsigned int i, j;

	start();
	expect(VIP_SUCCESS, VipRegisterMem(server.nic, p, 8 * MIB, &server.mem, &h));
	before = pinned();
	for (i = 0; i < 100; i++) {
		r = desc_of(&server, i % PAIR_DESCS);
		for (j = 0; j < 8; j++) {
			add_segment(&server, r, p, 8 * MIB);
			r->DS[j].Local.Handle = h;
		}
		post_recv(&server, r);
		require(pinned() < before + 1024, "%lu KiB more for %u", pinned() - before, i);
		fill(client.data, 60000, i);
		s = make_send(&client, i % PAIR_DESCS, 0, 60000);
		post_send(&client, s);
		require_sent(&client, s, DONE);
		require_received(&server, r, DONE);
		require(r->CS.Length == 60000 && !memcmp(p, client.data, 60000), "message %u", i);
	}
	close_pair();
}

void lengths(void)
{
	static const uint32_t len[] = { 0, 1, 32767, 32768, 65535, 65536 };
	VIP_DESCRIPTOR *s, *r;
	unsigned int i;

	start();
	for (i = 0; i < ARRAY_SIZE(len); i++) {
		fill(client.data, len[i], i);
		r = make_send(&server, i, 0, 65536);
		post_recv(&server, r);
		s = make_send(&client, i, 0, len[i]);
		post_send(&client, s);
		require_received(&server, r, DONE);
		require_sent(&client, s, DONE);
		require(r->CS.Length == len[i], "%u bytes, not %u", r->CS.Length, len[i]);
		require(!memcmp(server.data, client.data, len[i]), "the data of %u", len[i]);
	}
	close_pair();
}

void rdma_write(void)
{
	VIP_DESCRIPTOR *w, *s, *r;

	start();
	fill(client.data, 60000, 3);
	w = make_rdma(&client, 0, VIP_CONTROL_OP_RDMAWRITE, server.data + 5, server.handle);
	add_scattered(&client, w, 200, 256);
	post_send(&client, w);
	require_sent(&client, w, DONE | VIP_STATUS_OP_RDMA_WRITE);
	r = make_send(&server, 0, 500000, 10);
	post_recv(&server, r);
	s = make_send(&client, 1, 0, 3);
	post_send(&client, s);
	require_received(&server, r, DONE);
	require(!memcmp(server.data + 5, client.data, 51200), "what was written before it");
	close_pair();
}

/* It uses one receive descriptor, whose completion shows that the data has arrived */
void rdma_write_imm(void)
{
	VIP_DESCRIPTOR *w, *r, *got;

	start();
	fill(client.data, 60000, 4);
	r = make_send(&server, 0, 500000, 10);
	post_recv(&server, r);
	w = make_rdma(&client, 0, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, server.data,
		      server.handle);
	w->CS.ImmediateData = 0xfeedface;
	add_segment(&client, w, client.data, 60000);
	post_send(&client, w);
	expect(VIP_SUCCESS, VipRecvWait(server.vi, LONG, &got));
	require(got == r && r->CS.Status == (DONE | VIP_STATUS_OP_REMOTE_RDMA_WRITE |
					     VIP_STATUS_IMMEDIATE), "%#x", r->CS.Status);
	require(r->CS.ImmediateData == 0xfeedface && !r->CS.Length, "%#x", r->CS.ImmediateData);
	require(!memcmp(server.data, client.data, 60000), "the data");
	require_sent(&client, w, DONE | VIP_STATUS_OP_RDMA_WRITE);
	close_pair();
}

void rdma_read(void)
{
	VIP_DESCRIPTOR *d;
	unsigned int i;

	start();
	fill(server.data, 65536, 5);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMA_READ | VIP_CONTROL_IMMEDIATE, server.data + 7,
		      server.handle);
	add_scattered(&client, d, 252, 255);
	post_send(&client, d);
	require_sent(&client, d, DONE | VIP_STATUS_OP_RDMA_READ);
	for (i = 0; i < 252; i++)
		require(!memcmp(client.data + i * 256, server.data + 7 + i * 255, 255), "%u", i);
	d = make_rdma(&client, 1, VIP_CONTROL_OP_RDMA_READ, server.data, server.handle);
	post_send(&client, d);
	require_sent(&client, d, DONE | VIP_STATUS_OP_RDMA_READ);
	close_pair();
}

/* A fenced Send sends the data of the Read before it */
void fence(void)
{
	VIP_DESCRIPTOR *d, *s, *r;
	unsigned int i;

	start();
	for (i = 0; i < 20; i++) {
		fill(server.data, 60000, i + 1);
		memset(client.data, 0, 60000);
		r = make_send(&server, 0, 100000, 60000);
		post_recv(&server, r);
		d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMA_READ, server.data, server.handle);
		add_segment(&client, d, client.data, 60000);
		post_send(&client, d);
		s = make_send(&client, 1, 0, 60000);
		s->CS.Control = VIP_CONTROL_QFENCE;
		post_send(&client, s);
		require_received(&server, r, DONE);
		require(!memcmp(server.data + 100000, server.data, 60000), "round %u", i);
		require_sent(&client, d, DONE | VIP_STATUS_OP_RDMA_READ);
		require_sent(&client, s, DONE);
	}
	close_pair();
}

/* Polls the status in memory, without calls between post and completion */
void spin(void)
{
	VIP_DESCRIPTOR *s, *r;
	unsigned int i;

	start();
	for (i = 0; i < 100; i++) {
		r = make_send(&server, 0, 0, 64);
		post_recv(&server, r);
		s = make_send(&client, 0, 0, 64);
		memset(client.data, i, 64);
		post_send(&client, s);
		while (!(__atomic_load_n(&r->CS.Status, __ATOMIC_ACQUIRE) & DONE))
			;
		require(server.data[63] == (char)i && r->CS.Length == 64, "round %u", i);
		require_received(&server, r, DONE);
		require_sent(&client, s, DONE);
	}
	close_pair();
}

/* --- time --- */

#define TIMED		200	/* round trips, */
#define TIMED_US	1000000	/* or as many as there is time for */
#define ATTEMPTS	10	/* other programs take CPU time, too */
#define SLACK		500	/* us: half of the shortest nap of the library's thread */

static int stop;

/*
 * Between two looks. The threads of a program in User Mode Linux are in user space one at a time: one
 * that makes no system call keeps the others out until the next tick. Calls and looks in memory have
 * the same pauses.
 */
static void let_others_in(void)
{
	usleep(50);
}

/* Sleeps until a message comes, and replies */
static void *reply(void *unused)
{
	VIP_DESCRIPTOR *got;

	(void)unused;
	while (!VipRecvWait(server.vi, LONG, &got) && !(got->CS.Status & VIP_STATUS_ERROR_MASK)) {
		post_recv(&server, got);
		post_send(&server, make_send(&server, 8, 0, 64));
		expect(VIP_SUCCESS, VipSendWait(server.vi, LONG, &got));
	}
	return NULL;
}

static void await_in_memory(const VIP_DESCRIPTOR *d)
{
	while (!(__atomic_load_n(&d->CS.Status, __ATOMIC_ACQUIRE) & DONE))
		let_others_in();
}

static VIP_RETURN poll_by_call(bool recv, VIP_DESCRIPTOR **got)
{
	return recv ? VipRecvDone(client.vi, got) : VipSendDone(client.vi, got);
}

static void await_done(VIP_DESCRIPTOR *d, bool recv, bool in_memory)
{
	VIP_DESCRIPTOR *got;

	if (in_memory)
		await_in_memory(d);
	while (poll_by_call(recv, &got) == VIP_NOT_DONE)
		let_others_in();
	require(got == d && !(d->CS.Status & VIP_STATUS_ERROR_MASK), "%p, %#x", (void *)got,
		d->CS.Status);
}

static unsigned long us_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000ul + t.tv_nsec / 1000;
}

static int compare_times(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

struct times {
	unsigned long p50, p99;		/* us */
	unsigned int count;
};

static struct times time_round_trips(bool in_memory)
{
	static unsigned long times[TIMED];
	VIP_DESCRIPTOR *s = make_send(&client, 0, 0, 64), *r = make_send(&client, 1, 4096, 64);
	unsigned long begin = us_now(), since;
	unsigned int n = 0;

	do {
		since = us_now();
		post_recv(&client, r);
		post_send(&client, s);
		await_done(s, false, in_memory);
		await_done(r, true, in_memory);
		times[n++] = us_now() - since;
	} while (n < TIMED && us_now() - begin < TIMED_US);
	qsort(times, n, sizeof(times[0]), compare_times);
	return (struct times){ times[n / 2], times[n * 99 / 100], n };
}

/* In 1.5 times of the time by calls, in one attempt of some */
static void require_times(bool only_p50)
{
	struct times called, seen;
	pthread_t thread;
	unsigned int i;
	bool good = false;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip("a sanitizer takes time");
#endif
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip("one CPU is taken by the thread that spins");
	post_recv(&server, make_send(&server, 0, 0, 64));
	require(!pthread_create(&thread, NULL, reply, NULL), "a thread");
	for (i = 0; i < ATTEMPTS && !good; i++) {
		called = time_round_trips(false);
		seen = time_round_trips(true);
		note("p50 and p99 of %u by calls %lu, %lu us; of %u in memory %lu, %lu", called.count,
		     called.p50, called.p99, seen.count, seen.p50, seen.p99);
		good = seen.p50 <= called.p50 * 3 / 2 + SLACK &&
		       (only_p50 || seen.p99 <= called.p99 * 3 / 2 + SLACK);
	}
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	pthread_join(thread, NULL);
	require(good, "in one of %d attempts", ATTEMPTS);
}

void spin_time(void)
{
	start();
	require_times(false);
	close_pair();
}

static void *poll_other(void *arg)
{
	VIP_DESCRIPTOR *got;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		expect(VIP_NOT_DONE, VipRecvDone(arg, &got));
		let_others_in();
	}
	return NULL;
}

/* There may be more threads that spin than CPUs: only half of the round trips can be timed. */
void spin_time_beside(void)
{
	VIP_NIC_HANDLE other = open_nic();
	VIP_VI_ATTRIBUTES attr = plain_vi(other);
	VIP_VI_HANDLE vi = make_vi(other, &attr);
	pthread_t thread;

	start();
	require(!pthread_create(&thread, NULL, poll_other, vi), "a thread");
	require_times(true);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	expect(VIP_SUCCESS, VipCloseNic(other));
	close_pair();
}
