// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * late: receives are posted behind the messages that want them, on a device whose policy
 * no_receive is wait.
 *
 *	late --list		names of the cases
 *	late ADDR CASE		run one, over the device that has address ADDR
 */
#include <string.h>
#include <unistd.h>
#include "pair.h"

#define LATE_US		30000
#define MESSAGES	8
#define SIZE		64

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

static const struct test_case cases[] = {
	{ "messages", case_messages, "each message waits for its receive" },
	{ "write", case_write_behind, "a Write behind them waits, too" },
	{ "disconnect", case_disconnect, "the receiver disconnects instead" },
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
