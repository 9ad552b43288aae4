// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * acked: what a completion says, on QPs that are connected by ibv_modify_qp(). The policy ib_port
 * is set. The cases that are listed want ib_ack to be on, the other one wants it off.
 *
 *	acked --list		names of the cases
 *	acked ADDR CASE		run one, over the device that has address ADDR
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "ibqp.h"

#define PSN	0x123456
#define LEN	64
#define WRITE	1000	/* wr_id */

static void connect_two(struct hand *a, struct hand *b)
{
	ib_rtr(a, &ib_gid, b->qp->qp_num, PSN);
	ib_rtr(b, &ib_gid, a->qp->qp_num, PSN);
	ib_rts(a, PSN, 0);
	ib_rts(b, PSN, 0);
}

static void open_two(struct hand *a, struct hand *b)
{
	ib_find_gid();
	hand_qp(a);
	hand_qp(b);
	connect_two(a, b);
}

static void close_two(struct hand *a, struct hand *b)
{
	hand_qp_end(a);
	hand_qp_end(b);
}

static void post(struct hand *h, enum ibv_wr_opcode op, uint64_t wr_id, uint32_t len, uint64_t to,
		 uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)h->buf, len, h->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .wr.rdma = { to, rkey } }, *bad;

	require(!ibv_post_send(h->qp, &wr, &bad), "%s", strerror(errno));
}

static void post_send(struct hand *h, uint64_t wr_id)
{
	post(h, IBV_WR_SEND, wr_id, LEN, 0, 0);
}

static void post_write(struct hand *from, struct hand *to, uint64_t wr_id)
{
	post(from, IBV_WR_RDMA_WRITE, wr_id, LEN, (uintptr_t)to->buf, to->mr->rkey);
}

static void post_recv_of(struct hand *h, uint64_t wr_id, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)h->buf + BUF_SIZE / 2, len, lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	require(!ibv_post_recv(h->qp, &wr, &bad), "%s", strerror(errno));
}

static void post_recv(struct hand *h, uint64_t wr_id)
{
	post_recv_of(h, wr_id, LEN, h->mr->lkey);
}

/* A third party that can read b's buffer: c, connected to d, which is on b's side */
struct third {
	struct hand c;
	struct hand d;
	struct ibv_mr *mr;
};

static void third_open(struct third *t, struct hand *b)
{
	hand_qp(&t->c);
	hand_qp(&t->d);
	connect_two(&t->c, &t->d);
	t->mr = ibv_reg_mr(t->d.pd, b->buf, BUF_SIZE, ACCESS_ALL);
	require(t->mr, "%s", strerror(errno));
}

static uint8_t third_reads(struct third *t, struct hand *b)
{
	t->c.buf[0] = 0xee;
	post(&t->c, IBV_WR_RDMA_READ, 1, 1, (uintptr_t)b->buf, t->mr->rkey);
	expect_wc(t->c.cq, 1, IBV_WC_SUCCESS, "READ of a third party");
	return t->c.buf[0];
}

static void third_close(struct third *t)
{
	require(!ibv_dereg_mr(t->mr), "%s", strerror(errno));
	close_two(&t->c, &t->d);
}

/*
 * A Write from a to b, whose device is kept from it by a Send before it that has no receive. When
 * it has completed, a tells a third party, which asks b.
 */
static void case_third(void)
{
	struct hand a, b;
	struct third t;

	open_two(&a, &b);
	third_open(&t, &b);
	for (int i = 1; i <= 20; i++) {
		memset(a.buf, i, LEN);
		post_send(&a, i);
		post_write(&a, &b, WRITE + i);
		if (i == 1)
			expect_no_wc(a.cq, 500, "before the data is in place");
		else
			usleep(2000);
		require(third_reads(&t, &b) == i - 1, "the Write is held up");
		post_recv(&b, i);
		expect_wc(a.cq, i, IBV_WC_SUCCESS, "Send");
		expect_wc(a.cq, WRITE + i, IBV_WC_SUCCESS, "Write");
		require(third_reads(&t, &b) == i, "round %d: completed, and not there", i);
		expect_wc(b.cq, i, IBV_WC_SUCCESS, "receive");
	}
	third_close(&t);
	close_two(&a, &b);
}

/* Without acknowledgments the same Write completes before it is there */
static void case_unacked(void)
{
	struct hand a, b;
	struct third t;

	open_two(&a, &b);
	third_open(&t, &b);
	memset(a.buf, 7, LEN);
	post_send(&a, 1);
	post_write(&a, &b, WRITE);
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "Send");
	expect_wc(a.cq, WRITE, IBV_WC_SUCCESS, "Write");
	require(!third_reads(&t, &b), "the Write is held up");
	third_close(&t);
	close_two(&a, &b);
}

/* b posts its receive for a's message only when its own message has completed, which comes behind */
static void case_crossed(void)
{
	struct hand a, b;

	open_two(&a, &b);
	post_recv(&a, 1);
	for (int i = 0; i < 4; i++)
		post_send(&a, 10 + i);
	usleep(100000);
	post_send(&b, 2);
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "receive of a");
	expect_wc(b.cq, 2, IBV_WC_SUCCESS, "Send of b");
	for (int i = 0; i < 4; i++)
		post_recv(&b, 20 + i);
	for (int i = 0; i < 4; i++)
		expect_wc(a.cq, 10 + i, IBV_WC_SUCCESS, "Send of a");
	for (int i = 0; i < 4; i++)
		expect_wc(b.cq, 20 + i, IBV_WC_SUCCESS, "receive of b");
	close_two(&a, &b);
}

/* A message that is delivered, one that is not, and one behind it */
static void refused(struct hand *a, struct hand *b, uint64_t bad, enum ibv_wc_status status,
		    const char *what)
{
	struct ibv_async_event event;

	expect_wc(a->cq, 1, IBV_WC_SUCCESS, what);
	expect_wc(a->cq, bad, status, what);
	expect_wc(a->cq, 3, IBV_WC_WR_FLUSH_ERR, what);
	ib_expect_state(a, IBV_QPS_ERR, what);
	while (take_async(test_context(), &event, 100))
		require(event.element.qp == b->qp, "%s: an event at the sender", what);
	close_two(a, b);
}

static void write_refused(uint64_t off, uint32_t key, const char *what)
{
	struct hand a, b;

	open_two(&a, &b);
	post_write(&a, &b, 1);
	post(&a, IBV_WR_RDMA_WRITE, 2, LEN, (uintptr_t)b.buf + off, b.mr->rkey ^ key);
	post_write(&a, &b, 3);
	refused(&a, &b, 2, IBV_WC_REM_ACCESS_ERR, what);
}

static void case_access(void)
{
	write_refused(0, 0x100, "another rkey");
	write_refused(BUF_SIZE - LEN + 1, 0, "bounds");
}

static void case_length(void)
{
	struct hand a, b;

	open_two(&a, &b);
	post_recv_of(&b, 1, LEN - 1, b.mr->lkey);
	post_write(&a, &b, 1);
	post_send(&a, 2);
	post_write(&a, &b, 3);
	expect_wc(b.cq, 1, IBV_WC_LOC_LEN_ERR, "receive");
	refused(&a, &b, 2, IBV_WC_REM_INV_REQ_ERR, "too long");
}

static void case_operation(void)
{
	struct hand a, b;

	open_two(&a, &b);
	post_recv_of(&b, 1, LEN, b.mr->lkey ^ 0x100);
	post_write(&a, &b, 1);
	post_send(&a, 2);
	post_write(&a, &b, 3);
	expect_wc(b.cq, 1, IBV_WC_LOC_PROT_ERR, "receive");
	refused(&a, &b, 2, IBV_WC_REM_OP_ERR, "the receive's memory");
}

static void case_no_receive(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = 0, .retry_cnt = 1,
				    .rnr_retry = 1, .sq_psn = PSN, .max_rd_atomic = 4 };
	struct hand a, b;

	ib_find_gid();
	hand_qp(&a);
	hand_qp(&b);
	ib_rtr(&a, &ib_gid, b.qp->qp_num, PSN);
	ib_rtr(&b, &ib_gid, a.qp->qp_num, PSN);
	require(!ibv_modify_qp(b.qp, &attr, RTS_MASK), "%s", strerror(errno));
	ib_rts(&a, PSN, 0);
	post_write(&a, &b, 1);
	post_send(&a, 2);
	post_write(&a, &b, 3);
	refused(&a, &b, 2, IBV_WC_RNR_RETRY_EXC_ERR, "no receive");
}

/* The peer is destroyed while a message waits for a receive */
static void case_gone(void)
{
	struct hand a, b;

	open_two(&a, &b);
	post_write(&a, &b, 1);
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "Write");
	post_send(&a, 2);
	post_write(&a, &b, 3);
	expect_no_wc(a.cq, 200, "without a receive");
	hand_qp_end(&b);
	expect_wc(a.cq, 2, IBV_WC_RETRY_EXC_ERR, "the peer is gone");
	expect_wc(a.cq, 3, IBV_WC_WR_FLUSH_ERR, "behind it");
	hand_qp_end(&a);
}

/* What was delivered is acknowledged before the peer goes: the sender sees no error */
static void case_leaves(void)
{
	struct hand a, b;

	for (int i = 0; i < 50; i++) {
		open_two(&a, &b);
		post_recv(&b, 1);
		post_send(&a, 2);
		expect_wc(b.cq, 1, IBV_WC_SUCCESS, "receive");
		hand_qp_end(&b);
		expect_wc(a.cq, 2, IBV_WC_SUCCESS, "Send");
		expect_no_wc(a.cq, 0, "the peer has left");
		hand_qp_end(&a);
	}
}

static const struct test_case cases[] = {
	{ "third", case_third, "a Write has completed: a third party finds it at the peer" },
	{ "crossed", case_crossed, "a completion does not wait for a receive of its own end" },
	{ "access", case_access, "a Write that the peer refuses: REM_ACCESS_ERR" },
	{ "length", case_length, "a Send that is too long: REM_INV_REQ_ERR" },
	{ "operation", case_operation, "a receive with wrong memory: REM_OP_ERR" },
	{ "no-receive", case_no_receive, "no receive in time: RNR_RETRY_EXC_ERR" },
	{ "gone", case_gone, "the peer is gone: RETRY_EXC_ERR" },
	{ "leaves", case_leaves, "the peer takes a message and leaves: success" },
	{ "unacked", case_unacked, "" },
};

static const struct test_program prog = {
	.usage = "acked --list | acked ADDR CASE",
	.timeout_env = "ACKED_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
