// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ackspeed: what acknowledgements cost, on two QPs that are connected by ibv_modify_qp(). The
 * policy ib_port is set.
 *
 *	ackspeed ADDR [MS]
 *
 * Prints a line, each figure measured for MS milliseconds over the device that has address ADDR:
 *
 *	round trip	us, p50: a Write of 64 bytes there and one back; both ends poll their memory
 *	completion	us, p50: a Write of 64 bytes, to its completion
 *	rate		Writes of 64 bytes in a second, 128 under way
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "ibqp.h"

#define PSN	0x123456
#define LEN	64
#define SQ	256
#define SIGNAL	32		/* each of so many is signaled */
#define SAMPLES	(4u << 20)
#define LAST	0xff		/* value of the byte that ends the game */

struct name {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t addr;
};

/* One of two processes: User Mode Linux runs no two threads of one at the same time */
struct side {
	struct hand h;
	struct name peer;
	uint32_t unsignaled;
	uint32_t under_way;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	require(!sched_setaffinity(0, sizeof(set), &set), "CPU %d: %s", cpu, strerror(errno));
}

static void side_open(struct side *e)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SQ, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = LEN },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = ACCESS_ALL };
	struct ibv_context *ctx = test_context();
	struct hand *h = &e->h;

	h->pd = ibv_alloc_pd(ctx);
	h->cq = ibv_create_cq(ctx, SQ + 1, NULL, NULL, 0);
	require(h->pd && h->cq, "%s", strerror(errno));
	init.send_cq = h->cq;
	init.recv_cq = h->cq;
	h->qp = ibv_create_qp(h->pd, &init);
	require(h->qp, "%s", strerror(errno));
	require(!ibv_modify_qp(h->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_ACCESS_FLAGS), "%s", strerror(errno));
	h->buf = calloc(1, BUF_SIZE);
	h->mr = ibv_reg_mr(h->pd, h->buf, BUF_SIZE, ACCESS_ALL);
	require(h->buf && h->mr, "%s", strerror(errno));
}

static void side_connect(struct side *e, int sock)
{
	struct name own = { e->h.qp->qp_num, e->h.mr->rkey, (uintptr_t)e->h.buf };
	uint8_t up = 1;

	require(write(sock, &own, sizeof(own)) == sizeof(own) &&
		read(sock, &e->peer, sizeof(e->peer)) == sizeof(e->peer), "no peer");
	ib_rtr(&e->h, &ib_gid, e->peer.qpn, PSN);
	ib_rts(&e->h, PSN, 0);
	require(write(sock, &up, 1) == 1 && read(sock, &up, 1) == 1, "no peer");
}

/* The peer's first LEN bytes become those from LEN on here */
static void post(struct side *e, bool signaled)
{
	struct ibv_sge sge = { (uintptr_t)e->h.buf + LEN, LEN, e->h.mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_INLINE,
		.wr.rdma = { e->peer.addr, e->peer.rkey },
	}, *bad;

	e->unsignaled++;
	e->under_way++;
	if (signaled || e->unsignaled == SIGNAL) {
		wr.send_flags |= IBV_SEND_SIGNALED;
		wr.wr_id = e->unsignaled;
		e->unsignaled = 0;
	}
	require(!ibv_post_send(e->h.qp, &wr, &bad), "%s", strerror(errno));
}

static void reap(struct side *e)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(e->h.cq, ARRAY_SIZE(wc), wc);

	require(n >= 0, "ibv_poll_cq: %d", n);
	for (int i = 0; i < n; i++) {
		require(wc[i].status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(wc[i].status));
		e->under_way -= wc[i].wr_id;
	}
}

static void drain(struct side *e)
{
	post(e, true);
	while (e->under_way)
		reap(e);
}

static uint8_t take(struct side *e, uint8_t old)
{
	volatile uint8_t *last = e->h.buf + LEN - 1;

	while (*last == old)
		;
	return *last;
}

static void throw(struct side *e, uint8_t byte)
{
	while (e->under_way >= 2 * SIGNAL)
		reap(e);
	e->h.buf[2 * LEN - 1] = byte;
	post(e, false);
}

static void ball(struct side *e)
{
	uint8_t byte = 0;

	while ((byte = take(e, byte)) != LAST)
		throw(e, byte);
	drain(e);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static double p50_us(uint32_t *ns, size_t num)
{
	require(num, "nothing was measured");
	qsort(ns, num, sizeof(*ns), by_value);
	return ns[num / 2] / 1000.0;
}

static double round_trip(struct side *a, uint32_t *ns, uint64_t ms)
{
	uint64_t at, now, until = now_ns() + ms * 1000000;
	uint8_t byte = 0, next;
	size_t num = 0;

	for (at = now_ns(); at < until && num < SAMPLES; at = now) {
		next = byte % 200 + 1;
		throw(a, next);
		byte = take(a, byte);
		require(byte == next, "%u came back, not %u", byte, next);
		now = now_ns();
		ns[num++] = now - at;
	}
	throw(a, LAST);
	drain(a);
	return p50_us(ns, num);
}

static double completion(struct side *a, uint32_t *ns, uint64_t ms)
{
	uint64_t at, now, until = now_ns() + ms * 1000000;
	size_t num = 0;

	for (at = now_ns(); at < until && num < SAMPLES; at = now) {
		post(a, true);
		while (a->under_way)
			reap(a);
		now = now_ns();
		ns[num++] = now - at;
	}
	return p50_us(ns, num);
}

static double rate(struct side *a, uint64_t ms)
{
	uint64_t since = now_ns(), until = since + ms * 1000000, num = 0;

	while (now_ns() < until) {
		for (int i = 0; i < SIGNAL; i++, num++) {
			while (a->under_way >= SQ / 2)
				reap(a);
			post(a, false);
		}
	}
	drain(a);
	return num * 1e9 / (now_ns() - since);
}

static void figures(struct side *a, uint64_t ms)
{
	uint32_t *ns = malloc(SAMPLES * sizeof(*ns));
	double there, done;

	require(ns, "%s", strerror(errno));
	memset(ns, 0, SAMPLES * sizeof(*ns));
	there = round_trip(a, ns, ms);
	done = completion(a, ns, ms);
	printf("round trip %.2f us, completion %.2f us (%.2f), rate %.0f/s\n", there, done,
	       done / there, rate(a, ms));
}

int main(int argc, char **argv)
{
	uint64_t ms = argc > 2 ? atoi(argv[2]) : 1000;
	struct side e = { };
	int socks[2], status;
	uint8_t end;
	pid_t child;

	if (argc < 2 || argc > 3)
		die("usage: ackspeed ADDR [MS]");
	test_addr = argv[1];
	deadline_set(60 + ms / 100, NULL);
	require(!socketpair(AF_UNIX, SOCK_STREAM, 0, socks), "%s", strerror(errno));
	child = fork_child();
	close(socks[!child]);
	pin(child ? 0 : sysconf(_SC_NPROCESSORS_ONLN) - 1);
	ib_find_gid();
	side_open(&e);
	side_connect(&e, socks[!!child]);
	if (!child) {
		ball(&e);
		/* it only waits then, and the other end goes first */
		require(!read(socks[0], &end, 1), "%s", strerror(errno));
		hand_qp_end(&e.h);
		return EXIT_PASS;
	}
	figures(&e, ms);
	close(socks[1]);
	require(waitpid(child, &status, 0) == child && !status, "the other end: %d", status);
	hand_qp_end(&e.h);
	return EXIT_PASS;
}
