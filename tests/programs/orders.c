// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * orders: QPs that are connected by ibv_modify_qp(), in each order in which two programs can come
 * to RTR and RTS, and how they end. Both QPs belong to one thread, so no call may block. The
 * policy ib_port is set, and ib_timeout is 1 s.
 *
 *	orders --list		names of the cases
 *	orders ADDR CASE	run one, over the device that has address ADDR
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ibqp.h"

#define PSN_A	0x123456
#define PSN_B	0xabcdef
#define LEN	1000
/* With the policy's 1 s, and a check each second */
#define NO_PEER_MS	1000
#define LATE_MS		8000

/* 4.096 us x 2^8 is 1 ms, so that the policy decides */
#define TIMEOUT		8

static struct ibv_qp_attr rtr_attr(const struct hand *peer, uint32_t psn)
{
	return ib_rtr_attr(&ib_gid, peer->qp->qp_num, psn);
}

static void must_rtr(struct hand *h, const struct hand *peer, uint32_t psn)
{
	ib_rtr(h, &ib_gid, peer->qp->qp_num, psn);
}

static void post_send(struct hand *h, uint64_t wr_id, uint8_t fill)
{
	struct ibv_sge sge = { (uintptr_t)h->buf, LEN, h->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;

	memset(h->buf, fill, LEN);
	require(!ibv_post_send(h->qp, &wr, &bad), "%s", strerror(errno));
}

static void post_recv(struct hand *h, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)h->buf + BUF_SIZE / 2, LEN, h->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	require(!ibv_post_recv(h->qp, &wr, &bad), "%s", strerror(errno));
}

/* One message from a to b; both have receives posted */
static void arrives(struct hand *a, struct hand *b, uint8_t fill)
{
	post_recv(b, 100 + fill);
	post_send(a, fill, fill);
	expect_wc(a->cq, fill, IBV_WC_SUCCESS, "send");
	expect_wc(b->cq, 100 + fill, IBV_WC_SUCCESS, "receive");
	require(b->buf[BUF_SIZE / 2] == fill && b->buf[BUF_SIZE / 2 + LEN - 1] == fill, "data");
}

static void both_ways(struct hand *a, struct hand *b)
{
	arrives(a, b, 1);
	arrives(b, a, 2);
}

static void open_two(struct hand *a, struct hand *b)
{
	ib_find_gid();
	hand_qp(a);
	hand_qp(b);
}

static void close_two(struct hand *a, struct hand *b)
{
	hand_qp_end(a);
	hand_qp_end(b);
}

static void connected(struct hand *a, struct hand *b)
{
	open_two(a, b);
	must_rtr(a, b, PSN_B);
	must_rtr(b, a, PSN_A);
	ib_rts(a, PSN_A, TIMEOUT);
	ib_rts(b, PSN_B, TIMEOUT);
	both_ways(a, b);
}

static void case_both(void)
{
	struct hand a, b;

	connected(&a, &b);
	close_two(&a, &b);
}

static void case_init(void)
{
	struct hand a, b;

	open_two(&a, &b);
	must_rtr(&a, &b, PSN_B);
	ib_rts(&a, PSN_A, 0);
	post_send(&a, 1, 1);
	expect_no_wc(a.cq, 1500, "without a peer");
	post_recv(&b, 2);
	must_rtr(&b, &a, PSN_A);
	ib_rts(&b, PSN_B, TIMEOUT);
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "send");
	expect_wc(b.cq, 2, IBV_WC_SUCCESS, "receive");
	arrives(&b, &a, 3);
	close_two(&a, &b);
}

static void case_rtr(void)
{
	struct hand a, b;

	open_two(&a, &b);
	must_rtr(&b, &a, PSN_A);
	must_rtr(&a, &b, PSN_B);
	ib_rts(&a, PSN_A, TIMEOUT);
	arrives(&a, &b, 1);
	ib_expect_state(&b, IBV_QPS_RTR, "the peer is in RTS");
	ib_rts(&b, PSN_B, TIMEOUT);
	both_ways(&b, &a);
	close_two(&a, &b);
}

static void case_neither(void)
{
	struct hand a, b;

	open_two(&a, &b);
	must_rtr(&a, &b, PSN_B);
	must_rtr(&b, &a, PSN_A);
	post_recv(&a, 1);
	post_recv(&b, 1);
	expect_no_wc(a.cq, 500, "in RTR");
	expect_no_wc(b.cq, 0, "in RTR");
	close_two(&a, &b);
}

/* The first WR completes with the cause, and all others are flushed */
static void expect_no_peer(struct hand *h, uint64_t since)
{
	expect_wc(h->cq, 1, IBV_WC_RETRY_EXC_ERR, "first send");
	require(now_ms() - since >= NO_PEER_MS && now_ms() - since < LATE_MS, "after %u ms",
		(unsigned int)(now_ms() - since));
	expect_wc(h->cq, 2, IBV_WC_WR_FLUSH_ERR, "second send");
	expect_wc(h->cq, 3, IBV_WC_WR_FLUSH_ERR, "receive");
	ib_expect_state(h, IBV_QPS_ERR, "without a peer");
}

static void waits_in_vain(struct hand *h)
{
	uint64_t since = now_ms();

	post_recv(h, 3);
	post_send(h, 1, 1);
	post_send(h, 2, 2);
	expect_no_peer(h, since);
}

static void case_nobody(void)
{
	struct hand a, b;

	open_two(&a, &b);
	must_rtr(&a, &b, PSN_B);
	ib_rts(&a, PSN_A, TIMEOUT);
	waits_in_vain(&a);
	close_two(&a, &b);
}

static void case_gone(void)
{
	struct hand a, b;

	open_two(&a, &b);
	must_rtr(&a, &b, PSN_B);
	must_rtr(&b, &a, PSN_A);
	require(!ibv_destroy_qp(b.qp), "%s", strerror(errno));
	ib_rts(&a, PSN_A, TIMEOUT);
	waits_in_vain(&a);
	require(!ibv_dereg_mr(b.mr) && !ibv_destroy_cq(b.cq) && !ibv_dealloc_pd(b.pd), "free");
	hand_qp_end(&a);
}

/* b expects another QP, or another PSN: it does not connect to a */
static void mismatch(bool qpn)
{
	struct hand a, b, c;

	open_two(&a, &b);
	hand_qp(&c);
	must_rtr(&b, qpn ? &c : &a, qpn ? PSN_A : PSN_A + 1);
	ib_rts(&b, PSN_B, TIMEOUT);
	must_rtr(&a, &b, PSN_B);
	ib_rts(&a, PSN_A, TIMEOUT);
	post_recv(&b, 1);
	waits_in_vain(&a);
	expect_no_wc(b.cq, 0, "at the wrong peer");
	hand_qp_end(&c);
	close_two(&a, &b);
}

static void case_qpn(void) { mismatch(true); }
static void case_psn(void) { mismatch(false); }

static void post_one(struct hand *a, enum ibv_wr_opcode op, uint64_t to, uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, LEN, a->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = op, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = 7,
		.wr.rdma = { to, rkey },
	}, *bad;

	require(!ibv_post_send(a->qp, &wr, &bad), "%s", strerror(errno));
}

/* The receive and the Send of one message complete in any order */
static void message_to_itself(struct hand *a, enum ibv_wr_opcode op)
{
	struct ibv_wc wc;
	int got = 0;

	memset(a->buf, 0x30 + op, LEN);
	post_recv(a, 100);
	post_one(a, op, 0, 0);
	for (int n = 0; n < 2; n++) {
		wc = wait_wc(a->cq, "a message to itself");
		require(!wc.status && (wc.wr_id == 100 || wc.wr_id == op), "status %d of %d",
			wc.status, (int)wc.wr_id);
		got |= wc.wr_id == 100 ? 1 : 2;
	}
	require(got == 3 && !memcmp(a->buf, a->buf + BUF_SIZE / 2, LEN), "both, and the data");
}

static void to_itself(struct hand *a)
{
	uint8_t *far = a->buf + BUF_SIZE / 2;

	message_to_itself(a, IBV_WR_SEND);
	message_to_itself(a, IBV_WR_SEND_WITH_IMM);
	memset(a->buf, 0x77, LEN);
	post_one(a, IBV_WR_RDMA_WRITE, (uintptr_t)far, a->mr->rkey);
	expect_wc(a->cq, IBV_WR_RDMA_WRITE, IBV_WC_SUCCESS, "Write");
	memset(a->buf, 0, LEN);
	post_one(a, IBV_WR_RDMA_READ, (uintptr_t)far, a->mr->rkey);
	expect_wc(a->cq, IBV_WR_RDMA_READ, IBV_WC_SUCCESS, "Read");
	require(a->buf[0] == 0x77 && a->buf[LEN - 1] == 0x77, "what was written is read");
}

static void case_itself(void)
{
	struct hand a;

	ib_find_gid();
	hand_qp(&a);
	for (int i = 0; i < 20; i++) {
		ib_rtr(&a, &ib_gid, a.qp->qp_num, PSN_A);
		ib_rts(&a, PSN_A, 0);
		to_itself(&a);
		/* by RESET, or by Error first */
		if (i % 2)
			ib_state(&a, IBV_QPS_ERR);
		ib_reset(&a);
	}
	ib_rtr(&a, &ib_gid, a.qp->qp_num, PSN_A);
	ib_rts(&a, PSN_A, 0);
	to_itself(&a);
	hand_qp_end(&a);
}

/* The peer ends while no WR is under way: nothing happens before the next send */
static void case_closes(void)
{
	struct hand a, b;

	connected(&a, &b);
	post_recv(&a, 3);
	hand_qp_end(&b);
	expect_no_wc(a.cq, 1000, "the peer has closed");
	ib_expect_state(&a, IBV_QPS_RTS, "the peer has closed");
	post_send(&a, 1, 1);
	expect_wc(a.cq, 1, IBV_WC_RETRY_EXC_ERR, "send");
	expect_wc(a.cq, 3, IBV_WC_WR_FLUSH_ERR, "receive");
	hand_qp_end(&a);
}

/* What a program sends beyond what its peer has waited for fails only when InfiniBand's does */
static void case_leaves(void)
{
	struct hand a, b;
	uint64_t since;

	open_two(&a, &b);
	must_rtr(&a, &b, PSN_B);
	must_rtr(&b, &a, PSN_A);
	/* 2 x 4.096 us x 2^16 is 537 ms */
	ib_rts(&a, PSN_A, 16);
	ib_rts(&b, PSN_B, 16);
	both_ways(&a, &b);
	/* the READ stays behind a Send that b has no receive for */
	post_send(&a, 1, 1);
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "send");
	post_one(&a, IBV_WR_RDMA_READ, (uintptr_t)b.buf, b.mr->rkey);
	expect_no_wc(a.cq, 50, "the peer waits");
	since = now_ms();
	hand_qp_end(&b);
	expect_wc(a.cq, IBV_WR_RDMA_READ, IBV_WC_RETRY_EXC_ERR, "READ");
	require(now_ms() - since >= 500 && now_ms() - since < LATE_MS, "after %u ms",
		(unsigned int)(now_ms() - since));
	hand_qp_end(&a);
}

static void refused(struct hand *h, const struct ibv_qp_attr *attr, int all)
{
	struct ibv_qp_attr copy = *attr;
	int err;

	for (int bit = 1; bit <= all; bit <<= 1) {
		if (!(all & bit) || bit == IBV_QP_STATE)
			continue;
		err = ibv_modify_qp(h->qp, &copy, all & ~bit);
		/* an InfiniBand RTR without an address is invalid */
		require(err == EINVAL || err == EOPNOTSUPP, "without %#x: %s", bit,
			strerror(err));
	}
}

static void case_attributes(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, got;
	struct hand a, b;

	open_two(&a, &b);
	attr = rtr_attr(&b, PSN_B);
	refused(&a, &attr, RTR_MASK);
	attr.ah_attr.is_global = 0;
	require(ibv_modify_qp(a.qp, &attr, RTR_MASK) == EINVAL, "without a GRH");
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.sgid_index = 0;
	require(ibv_modify_qp(a.qp, &attr, RTR_MASK) == EINVAL, "GID 0");
	ib_expect_state(&a, IBV_QPS_INIT, "refused");
	must_rtr(&a, &b, PSN_B);
	attr = ib_rts_attr(PSN_A, TIMEOUT);
	refused(&a, &attr, RTS_MASK);
	ib_expect_state(&a, IBV_QPS_RTR, "refused");
	ib_rts(&a, PSN_A, TIMEOUT);

	require(!ibv_query_qp(a.qp, &got, IBV_QP_STATE | RTR_MASK | RTS_MASK, &init), "%s", strerror(errno));
	require(got.qp_state == IBV_QPS_RTS && got.cur_qp_state == IBV_QPS_RTS, "state");
	require(got.dest_qp_num == b.qp->qp_num && got.rq_psn == PSN_B && got.sq_psn == PSN_A,
		"numbers");
	require(got.path_mtu == IBV_MTU_1024 && got.timeout == TIMEOUT && got.retry_cnt == 1 &&
		got.rnr_retry == 7 && got.min_rnr_timer == 12, "timers");
	require(got.ah_attr.is_global && got.ah_attr.grh.sgid_index == ib_gid_index &&
		!memcmp(&got.ah_attr.grh.dgid, &ib_gid, sizeof(ib_gid)), "route");
	require(got.max_rd_atomic == 4 && got.max_dest_rd_atomic == 4, "reads");
	close_two(&a, &b);
}

static void connect_again(struct hand *a, struct hand *b)
{
	must_rtr(a, b, PSN_B);
	must_rtr(b, a, PSN_A);
	ib_rts(a, PSN_A, TIMEOUT);
	ib_rts(b, PSN_B, TIMEOUT);
	both_ways(a, b);
}

/* From each state; afterwards the QP can be connected again */
static void case_reset(void)
{
	struct hand a, b;

	open_two(&a, &b);
	ib_reset(&a);
	must_rtr(&a, &b, PSN_B);
	ib_reset(&a);
	must_rtr(&a, &b, PSN_B);
	ib_rts(&a, PSN_A, TIMEOUT);
	post_send(&a, 1, 1);
	ib_reset(&a);
	connect_again(&a, &b);
	/* with a stream; posted WRs leave no completion */
	post_recv(&a, 1);
	post_recv(&b, 1);
	ib_reset(&a);
	ib_reset(&b);
	expect_no_wc(a.cq, 100, "after RESET");
	expect_no_wc(b.cq, 0, "after RESET");
	connect_again(&a, &b);
	ib_state(&a, IBV_QPS_ERR);
	ib_expect_state(&a, IBV_QPS_ERR, "after ERR");
	ib_reset(&a);
	ib_reset(&b);
	connect_again(&a, &b);
	close_two(&a, &b);
}

static void case_resets(void)
{
	struct hand a, b;

	open_two(&a, &b);
	for (int i = 0; i < 100; i++) {
		connect_again(&a, &b);
		ib_reset(i & 1 ? &a : &b);
		ib_reset(i & 1 ? &b : &a);
	}
	close_two(&a, &b);
}

/* SQD: posted sends wait, incoming messages are received */
static void case_drain(void)
{
	struct hand a, b;

	connected(&a, &b);
	ib_state(&a, IBV_QPS_SQD);
	ib_expect_state(&a, IBV_QPS_SQD, "drained");
	post_recv(&b, 12);
	post_send(&a, 11, 11);
	arrives(&b, &a, 3);
	expect_no_wc(a.cq, 200, "in SQD");
	expect_no_wc(b.cq, 0, "in SQD");
	ib_state(&a, IBV_QPS_RTS);
	expect_wc(a.cq, 11, IBV_WC_SUCCESS, "send");
	expect_wc(b.cq, 12, IBV_WC_SUCCESS, "receive");
	both_ways(&a, &b);
	close_two(&a, &b);
}

/* The ends synchronize by completions only: no message that crosses another may be lost */
static void case_crossing(void)
{
	struct hand a, b;

	open_two(&a, &b);
	for (int i = 0; i < 50; i++) {
		must_rtr(&a, &b, PSN_B);
		must_rtr(&b, &a, PSN_A);
		post_recv(&a, 1);
		post_recv(&b, 1);
		ib_rts(&a, PSN_A, 0);
		ib_rts(&b, PSN_B, 0);
		post_send(&a, 2, 2);
		post_send(&b, 2, 2);
		for (int n = 0; n < 2; n++) {
			require(wait_wc(a.cq, "a").status == IBV_WC_SUCCESS, "a");
			require(wait_wc(b.cq, "b").status == IBV_WC_SUCCESS, "b");
		}
		ib_reset(&a);
		ib_reset(&b);
	}
	close_two(&a, &b);
}

#define RESETS	200

/* A Modify may fail: the other thread was first */
static void *resets(void *arg)
{
	struct hand *h = arg;
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_ERR };

	for (int i = 0; i < RESETS; i++) {
		struct ibv_qp_attr attr = { .qp_state = states[i % 3], .port_num = 1 };

		ibv_modify_qp(h->qp, &attr, attr.qp_state == IBV_QPS_INIT ? IBV_QP_STATE |
			      IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS :
			      IBV_QP_STATE);
	}
	return NULL;
}

static void *connects(void *arg)
{
	struct hand *h = arg;
	struct ibv_qp_attr rtr = ib_rtr_attr(&ib_gid, h[1].qp->qp_num, PSN_B);
	struct ibv_qp_attr rts = ib_rts_attr(PSN_A, TIMEOUT);

	for (int i = 0; i < RESETS; i++) {
		ibv_modify_qp(h->qp, &rtr, RTR_MASK);
		ibv_modify_qp(h->qp, &rts, RTS_MASK);
	}
	return NULL;
}

/* Threads that move a QP back and forth while its peer keeps connecting */
static void case_threads(void)
{
	pthread_t thread[4];
	struct hand h[2];

	open_two(&h[0], &h[1]);
	must_rtr(&h[1], &h[0], PSN_A);
	ib_rts(&h[1], PSN_B, 0);
	post_send(&h[1], 1, 1);
	for (int i = 0; i < 4; i++)
		require(!pthread_create(&thread[i], NULL, i & 1 ? resets : connects, h), "thread");
	for (int i = 0; i < 4; i++)
		require(!pthread_join(thread[i], NULL), "thread");
	close_two(&h[0], &h[1]);
}

/* Posted by a, with the bytes of its buffer; b has a receive posted */
static void imm_arrives(struct hand *a, struct hand *b, uint32_t len, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)a->buf, len, a->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = len ? 1 : 0, .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | flags, .imm_data = htonl(0x01020300 + len),
	}, *bad;
	struct ibv_wc wc;

	memset(a->buf, len + 1, LEN);
	memset(b->buf + BUF_SIZE / 2, 0, LEN);
	post_recv(b, len);
	require(!ibv_post_send(a->qp, &wr, &bad), "%s", strerror(errno));
	require(expect_wc(a->cq, 1, IBV_WC_SUCCESS, "send").opcode == IBV_WC_SEND, "opcode");
	wc = expect_wc(b->cq, len, IBV_WC_SUCCESS, "receive");
	require(wc.opcode == IBV_WC_RECV && wc.wc_flags == IBV_WC_WITH_IMM &&
		ntohl(wc.imm_data) == 0x01020300 + len && wc.byte_len == len,
		"opcode %d, flags %#x, data %#x, %u bytes", wc.opcode, wc.wc_flags,
		ntohl(wc.imm_data), wc.byte_len);
	require(!len || b->buf[BUF_SIZE / 2 + len - 1] == (uint8_t)(len + 1), "data");
}

static void case_send_imm(void)
{
	struct hand a, b;

	connected(&a, &b);
	imm_arrives(&a, &b, 0, 0);
	imm_arrives(&b, &a, 1, IBV_SEND_SOLICITED);
	imm_arrives(&a, &b, 16, IBV_SEND_INLINE);
	imm_arrives(&b, &a, LEN, 0);
	both_ways(&a, &b);
	close_two(&a, &b);
}

static void case_numbers(void)
{
	struct hand h[4];
	int near = 0;

	for (size_t i = 0; i < ARRAY_SIZE(h); i++) {
		hand_qp(&h[i]);
		near += i && h[i].qp->qp_num - h[i - 1].qp->qp_num < 256;
	}
	require(near < 2, "%d of 3 QP numbers are guessed easily", near);
	for (size_t i = 0; i < ARRAY_SIZE(h); i++)
		hand_qp_end(&h[i]);
}

static void post_imm(struct hand *h, uint64_t wr_id, uint32_t imm)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .opcode = IBV_WR_SEND_WITH_IMM, .send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(imm),
	}, *bad;

	require(!ibv_post_send(h->qp, &wr, &bad), "%s", strerror(errno));
}

/* Print the number of completions; status, bytes of a receive, immediate data if it has any */
static void tell_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc = { 0 };
	int n = ibv_poll_cq(cq, 1, &wc);
	bool recv = n && !wc.status && wc.opcode == IBV_WC_RECV;

	printf("%d %d %u %u\n", n, wc.status, recv ? wc.byte_len : 0,
	       recv && wc.wc_flags & IBV_WC_WITH_IMM ? ntohl(wc.imm_data) : 0);
}

/*
 * For a scripted peer at the same address: prints the number of a QP, reads that of the peer's QP,
 * goes to RTR, at "rts" to RTS, posts a Send with immediate data at "imm", and prints each
 * completion until its input ends. The peer's PSN is PSN_B.
 */
static void case_held(void)
{
	struct ibv_qp_attr attr;
	unsigned int qpn;
	struct hand a;
	char line[80];

	ib_find_gid();
	hand_qp(&a);
	post_recv(&a, 1);
	printf("%u %u %u %d\n", a.qp->qp_num, PSN_A, PSN_B, ib_gid_index);
	fflush(stdout);
	require(fgets(line, sizeof(line), stdin) && sscanf(line, "%u", &qpn) == 1, "a QP number");
	attr = rtr_attr(&a, PSN_B);
	attr.dest_qp_num = qpn;
	require(!ibv_modify_qp(a.qp, &attr, RTR_MASK), "RTR");
	puts("rtr");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "rts\n")) {
			ib_rts(&a, PSN_A, 0);
			puts("rts");
		} else if (!strcmp(line, "imm\n")) {
			post_imm(&a, 2, 0x01020304);
			puts("imm");
		} else {
			tell_completion(a.cq);
		}
		fflush(stdout);
	}
	hand_qp_end(&a);
}

static const struct test_case cases[] = {
	{ "both", case_both, "both in RTR, then both in RTS" },
	{ "init", case_init, "one is in RTS, and has posted, before the other leaves INIT" },
	{ "rtr", case_rtr, "one is in RTS: the other receives in RTR, and sends in RTS" },
	{ "neither", case_neither, "both in RTR: nothing happens" },
	{ "nobody", case_nobody, "the peer stays in INIT: the send ends in RETRY_EXC_ERR" },
	{ "gone", case_gone, "the peer is destroyed in RTR: RETRY_EXC_ERR" },
	{ "qpn", case_qpn, "the peer wants another QP: RETRY_EXC_ERR" },
	{ "psn", case_psn, "the peer expects another PSN: RETRY_EXC_ERR" },
	{ "itself", case_itself, "a QP is its own peer: messages, Write, Read, RESET" },
	{ "closes", case_closes, "the peer closes: silence, then the send ends in RETRY_EXC_ERR" },
	{ "leaves", case_leaves, "the peer closes: a READ under way ends in RETRY_EXC_ERR when its tries are over" },
	{ "attributes", case_attributes, "each that InfiniBand wants is wanted, and is told" },
	{ "reset", case_reset, "RESET from each state, and all begins anew" },
	{ "resets", case_resets, "100 connections of one pair of QPs" },
	{ "drain", case_drain, "RTS, SQD and RTS again" },
	{ "crossing", case_crossing, "both connect at once, 50 times" },
	{ "threads", case_threads, "four threads modify one QP, whose peer connects" },
	{ "send_imm", case_send_imm, "SEND with immediate data, at both ends" },
	{ "numbers", case_numbers, "QP numbers are random" },
	{ "held", case_held, "" },
};

static const struct test_program prog = {
	.usage = "orders --list | orders ADDR CASE",
	.timeout_env = "ORDERS_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
