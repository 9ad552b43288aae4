// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * late: receives are posted behind the messages that want them. The cases that are listed want
 * the policy no_receive to be forever, the others one that the script sets.
 *
 *	late --list		names of the cases
 *	late ADDR CASE		run one, over the device that has address ADDR
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pair.h"

#define LATE_US		30000
#define MESSAGES	8
#define SIZE		64
/* The default of no_receive, less a tick of the kernel's clock */
#define TIME_MS		980

/* Messages from a to b, each with different contents */
static void send_all(struct pair *p)
{
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_sge sge = sge_of(&p->a, i * SIZE, SIZE);

		memset(p->a.buf + i * SIZE, i + 1, SIZE);
		require(!post_wr(&p->a, IBV_WR_SEND, i, &sge, 1, IBV_SEND_SIGNALED, 0, 0),
			"ibv_post_send");
	}
}

/* One receive each 30 ms; receive i gets message i */
static void receive_all(struct pair *p)
{
	for (int i = 0; i < MESSAGES; i++) {
		usleep(LATE_US);
		expect_no_wc(p->b.rcq, 0, "without a receive");
		must_recv(&p->b, i, 4096, SIZE);
		require(expect_wc(p->b.rcq, i, IBV_WC_SUCCESS, "receive").byte_len == SIZE,
			"length");
		require(p->b.buf[4096] == i + 1 && p->b.buf[4096 + SIZE - 1] == i + 1,
			"message %d", i);
	}
	for (int i = 0; i < MESSAGES; i++)
		expect_wc(p->a.scq, i, IBV_WC_SUCCESS, "send");
}

static void case_messages(void)
{
	struct pair p;

	pair_open(&p);
	send_all(&p);
	receive_all(&p);
	pair_works(&p, "after that");
	pair_close(&p);
}

static void case_write_behind(void)
{
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p);
	p.b.buf[0] = 0;
	send_all(&p);
	sge = sge_of(&p.a, 0, 1);
	require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, MESSAGES, &sge, 1, IBV_SEND_SIGNALED,
			 (uintptr_t)p.b.buf, p.b.mr->rkey), "ibv_post_send");
	usleep(LATE_US);
	require(!p.b.buf[0], "a Write overtakes a Send");
	receive_all(&p);
	expect_wc(p.a.scq, MESSAGES, IBV_WC_SUCCESS, "write");
	pair_works(&p, "after that");
	pair_close(&p);
}

/* Messages that wait are lost with the connection, without further effect */
static void case_disconnect(void)
{
	struct pair p;

	pair_open(&p);
	send_all(&p);
	usleep(LATE_US);
	require(!rdma_disconnect(p.b.id), "rdma_disconnect");
	expect_disconnected(&p.a, "sender");
	expect_disconnected(&p.b, "receiver");
	expect_no_wc(p.b.rcq, 0, "receiver");
	pair_close(&p);
}

static void send_one(struct end *from)
{
	struct ibv_sge sge = sge_of(from, 0, SIZE);

	memset(from->buf, 7, SIZE);
	require(!post_wr(from, IBV_WR_SEND, 1, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "ibv_post_send");
	expect_wc(from->scq, 1, IBV_WC_SUCCESS, "send");
}

static void expect_ended(struct pair *p)
{
	expect_disconnected(&p->a, "no receive");
	expect_disconnected(&p->b, "no receive");
	expect_state(&p->a, IBV_QPS_ERR, "no receive");
	expect_state(&p->b, IBV_QPS_ERR, "no receive");
}

/* With the default */
static void case_in_time(void)
{
	struct pair p;

	pair_open(&p);
	send_one(&p.a);
	usleep(300000);
	expect_no_wc(p.b.rcq, 0, "without a receive");
	must_recv(&p.b, 2, 4096, SIZE);
	require(expect_wc(p.b.rcq, 2, IBV_WC_SUCCESS, "receive").byte_len == SIZE, "length");
	require(p.b.buf[4096] == 7 && p.b.buf[4096 + SIZE - 1] == 7, "the message");
	pair_works(&p, "after that");
	pair_close(&p);
}

/* With the default. Another connection of the same device goes on in the meantime */
static void case_too_late(void)
{
	unsigned int rounds = 0;
	struct pair p, other;
	uint64_t begin, took;

	pair_open(&p);
	pair_open(&other);
	begin = now_ms();
	send_one(&p.a);
	while (!cm_wait(p.a.cm, 0)) {
		pair_works(&other, "while a message waits on another QP");
		rounds++;
	}
	took = now_ms() - begin;
	expect_ended(&p);
	note("the connection ended after %llu ms, %u rounds on another one meanwhile",
	     (unsigned long long)took, rounds);
	require(took >= TIME_MS && took < 10 * TIME_MS, "it ended after %llu ms",
		(unsigned long long)took);
	require(rounds > 1, "%u rounds", rounds);
	pair_works(&other, "after that");
	pair_close(&p);
	pair_close(&other);
}

/*
 * Connections whose messages wait, every other one for an SRQ of its own, until the program is
 * killed. LATE_MANY says how many
 */
static void case_many(void)
{
	unsigned int n = env_uint("LATE_MANY", 32);
	struct pair *p = calloc(n, sizeof(*p));
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_pd *pd = ibv_alloc_pd(test_context());

	require(p && pd, "%s", strerror(errno));
	for (unsigned int i = 0; i < n; i++) {
		pair_prepare(&p[i], &cap);
		if (i % 2) {
			p[i].b.srq = ibv_create_srq(pd, &attr);
			require(p[i].b.srq, "%s", strerror(errno));
		}
		pair_connect(&p[i]);
		send_one(&p[i].a);
	}
	puts("waiting");
	fflush(stdout);
	pause();
}

/* With forever: the message waits longer than the default would let it */
static void case_patient(void)
{
	struct pair p;

	pair_open(&p);
	send_one(&p.a);
	usleep(2500000);
	must_recv(&p.b, 2, 4096, SIZE);
	expect_wc(p.b.rcq, 2, IBV_WC_SUCCESS, "receive");
	pair_works(&p, "after that");
	pair_close(&p);
}

/* With 0: the script looks at the counters */
static void case_at_once(void)
{
	struct pair p;

	pair_open(&p);
	send_one(&p.a);
	expect_ended(&p);
	pair_close(&p);
}

/* Whatever the policy is: the receiver's program wants no wait */
static void case_not_wanted(void)
{
	struct ibv_qp_attr attr = { .rnr_retry = 0 };
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct pair p;

	pair_prepare(&p, &cap);
	require(!ibv_modify_qp(p.a.qp, &attr, IBV_QP_RNR_RETRY), "ibv_modify_qp");
	pair_connect(&p);
	pair_works(&p, "with rnr_retry 0");
	send_one(&p.b);
	expect_ended(&p);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "messages", case_messages, "each message waits for its receive" },
	{ "write", case_write_behind, "a Write behind them waits, too" },
	{ "disconnect", case_disconnect, "the receiver disconnects instead" },
	{ "in-time", case_in_time, "" },
	{ "too-late", case_too_late, "" },
	{ "patient", case_patient, "" },
	{ "many", case_many, "" },
	{ "at-once", case_at_once, "" },
	{ "not-wanted", case_not_wanted, "" },
};

static const struct test_program prog = {
	.usage = "late --list | late ADDR CASE",
	.timeout_env = "LATE_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
