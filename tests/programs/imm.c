// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* RDMA Write with immediate data: what the receiver's completion reports, and when. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include "rfc7306.h"

#define DST 4096	/* in the peer's buffer */

static int post_imm(struct end *e, struct end *to, uint64_t wr_id, uint32_t imm,
		    struct ibv_sge *sge, int num, uint32_t dst, unsigned int flags)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = sge, .num_sge = num,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .send_flags = flags,
		.imm_data = htonl(imm),
		.wr.rdma = { (uintptr_t)to->buf + dst, to->mr->rkey },
	}, *bad = NULL;

	return ibv_post_send(e->qp, &wr, &bad);
}

static void expect_imm(struct end *e, uint64_t wr_id, uint32_t imm, uint32_t len,
		       const char *what)
{
	struct ibv_wc wc = expect_wc(e->rcq, wr_id, IBV_WC_SUCCESS, what);

	if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || wc.wc_flags != IBV_WC_WITH_IMM ||
	    ntohl(wc.imm_data) != imm || wc.byte_len != len || wc.qp_num != e->qp->qp_num)
		die("%s: opcode %d, flags %#x, data %#x, %u bytes; not %d, %#x, %#x, %u", what,
		    wc.opcode, wc.wc_flags, ntohl(wc.imm_data), wc.byte_len,
		    IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM, imm, len);
}

/* A receive without a buffer is enough: immediate data does not go there. */
static void one_size(struct pair *p, uint32_t len, int num_sge, unsigned int flags)
{
	static uint64_t key = 100;
	uint32_t imm = 0xa0b0c0d0 ^ len << 3 ^ num_sge;
	struct ibv_sge sge[4];
	size_t where;
	uint8_t want;
	char what[64];

	snprintf(what, sizeof(what), "%u bytes, %d SGEs, flags %#x", len, num_sge, flags);
	for (int i = 0; i < num_sge; i++) {
		uint32_t from = len / num_sge * i;
		uint32_t n = i == num_sge - 1 ? len - from : len / num_sge;

		sge[i] = sge_of(&p->a, 64 + from, n);
	}
	pattern_fill(p->a.buf + 64, ++key, 0, len);
	memset(p->b.buf, GUARD_BYTE, BUF_SIZE);
	require(!post_rwr(&p->b, key, NULL, 0), "%s: receive", what);
	require(!post_imm(&p->a, &p->b, key, imm, sge, num_sge, DST, IBV_SEND_SIGNALED | flags),
		"%s: post", what);
	expect_imm(&p->b, key, imm, len, what);
	/* when the receive completes, the data is placed */
	require(pattern_matches(p->b.buf + DST, key, 0, len, &where, &want), "%s: byte %zu",
		what, where);
	require(all_bytes(p->b.buf, GUARD_BYTE, DST, &where) &&
		all_bytes(p->b.buf + DST + len, GUARD_BYTE, BUF_SIZE - DST - len, &where),
		"%s: outside, byte %zu", what, where);
	require(expect_wc(p->a.scq, key, IBV_WC_SUCCESS, what).opcode == IBV_WC_RDMA_WRITE,
		"%s: opcode", what);
}

void case_imm_sizes(void)
{
	static const uint32_t sizes[] = {
		0, 1, 3, 4, 5, 8, 64, 1000, 1427, 1428, 1429, 1430, 1431, 1432, 1433, 1434,
		1435, 1436, 1437, 1438, 1439, 1440, 2863, 2864, 2865, 4096, 20000, 60000,
	};
	struct pair p;

	pair_open(&p);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		one_size(&p, sizes[i], 1, 0);
		if (sizes[i] >= 4)
			one_size(&p, sizes[i], 4, 0);
		if (sizes[i] <= p.a.cap.max_inline_data)
			one_size(&p, sizes[i], 1, IBV_SEND_INLINE);
	}
	one_size(&p, 0, 0, 0);
	one_size(&p, 0, 0, IBV_SEND_INLINE);
	pair_works(&p, "after WRITEs with immediate data");
	pair_close(&p);
}

/* Each takes one receive, in order, and reports the length of its own data. */
void case_imm_order(void)
{
	const int rounds = 40;
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p);
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < 4; i++)
			must_recv(&p.b, 10 + i, 1024 * i, 1024);
		sge = sge_of(&p.a, 0, 3000);
		require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, 1, &sge, 1, 0,
				 (uintptr_t)p.b.buf + DST, p.b.mr->rkey), "WRITE");
		sge = sge_of(&p.a, 0, 5000 + r);
		require(!post_imm(&p.a, &p.b, 2, r, &sge, 1, DST, 0), "first");
		sge = sge_of(&p.a, 0, 100);
		require(!post_wr(&p.a, IBV_WR_SEND, 3, &sge, 1, 0, 0, 0), "SEND");
		require(!post_imm(&p.a, &p.b, 4, ~r, NULL, 0, DST, 0), "empty");
		require(!post_wr(&p.a, IBV_WR_RDMA_READ, 5, &sge, 1, 0,
				 (uintptr_t)p.b.buf + DST, p.b.mr->rkey), "READ");
		require(!post_imm(&p.a, &p.b, 6, 7, &sge, 1, DST,
				  IBV_SEND_SIGNALED | IBV_SEND_FENCE), "last");
		expect_imm(&p.b, 10, r, 5000 + r, "after a WRITE");
		require(expect_wc(p.b.rcq, 11, IBV_WC_SUCCESS, "SEND").opcode == IBV_WC_RECV,
			"opcode");
		expect_imm(&p.b, 12, ~r, 0, "empty");
		expect_imm(&p.b, 13, 7, 100, "fenced, after a READ");
		expect_wc(p.a.scq, 6, IBV_WC_SUCCESS, "last");
	}
	expect_no_wc(p.a.scq, 20, "unsignaled");
	pair_works(&p, "after WRITEs with immediate data");
	pair_close(&p);
}

static bool notified(struct end *e, unsigned int ms)
{
	struct pollfd pfd = { .fd = e->rch->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *ctx;

	if (poll(&pfd, 1, ms) <= 0)
		return false;
	require(!ibv_get_cq_event(e->rch, &cq, &ctx) && cq == e->rcq, "event");
	ibv_ack_cq_events(cq, 1);
	return true;
}

void case_imm_solicited(void)
{
	struct pair p;

	pair_open(&p);
	for (int i = 0; i < 3; i++)
		must_recv(&p.b, i, 0, 8);
	require(!ibv_req_notify_cq(p.b.rcq, 1), "arm");
	require(!post_imm(&p.a, &p.b, 1, 1, NULL, 0, DST, IBV_SEND_SIGNALED), "post");
	expect_imm(&p.b, 0, 1, 0, "not solicited");
	require(!notified(&p.b, 100), "woken by one that is not solicited");
	require(!post_imm(&p.a, &p.b, 2, 2, NULL, 0, DST,
			  IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), "post");
	require(notified(&p.b, 20000), "not woken");
	expect_imm(&p.b, 1, 2, 0, "solicited");
	require(!ibv_req_notify_cq(p.b.rcq, 0), "arm");
	require(!post_imm(&p.a, &p.b, 3, 3, NULL, 0, DST, IBV_SEND_SIGNALED), "post");
	require(notified(&p.b, 20000), "not woken");
	expect_imm(&p.b, 2, 3, 0, "any");
	pair_close(&p);
}

/* The Write is placed, the message behind it has no receive: Terminate (E-04). */
void case_imm_no_receive(void)
{
	const char *what = "no receive";
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct pair p;
	uint8_t want;
	size_t where;

	pair_open(&p);
	must_recv(&p.a, 200, 0, 64);
	sge = sge_of(&p.a, 0, 5000);
	pattern_fill(p.a.buf, 9, 0, 5000);
	require(!post_imm(&p.a, &p.b, 1, 1, &sge, 1, DST, IBV_SEND_SIGNALED), "post");
	wc = wait_wc(p.a.scq, what);
	require(wc.wr_id == 1 && (wc.status == IBV_WC_SUCCESS ||
				  wc.status == IBV_WC_WR_FLUSH_ERR), "%s",
		ibv_wc_status_str(wc.status));
	expect_disconnected(&p.a, what);
	expect_disconnected(&p.b, what);
	expect_flushes(p.a.rcq, 200, 1, what);
	expect_no_wc(p.b.rcq, 20, what);
	expect_state(&p.a, IBV_QPS_ERR, what);
	expect_state(&p.b, IBV_QPS_ERR, what);
	expect_qp_event(&p.b, IBV_EVENT_QP_FATAL, what);
	require(pattern_matches(p.b.buf + DST, 9, 0, 5000, &where, &want), "byte %zu", where);
	pair_close(&p);
}

/* The Write is refused, so no immediate data is delivered. */
void case_imm_bad_target(void)
{
	const char *what = "bad target";
	struct ibv_sge sge;
	struct pair p;
	size_t where;

	pair_open(&p);
	must_recv(&p.b, 100, 0, 64);
	sge = sge_of(&p.a, 0, 5000);
	p.b.mr->rkey ^= 1;
	memset(p.b.buf, GUARD_BYTE, BUF_SIZE);
	require(!post_imm(&p.a, &p.b, 1, 1, &sge, 1, DST, IBV_SEND_SIGNALED), "post");
	wait_wc(p.a.scq, what);
	expect_disconnected(&p.a, what);
	expect_disconnected(&p.b, what);
	expect_flushes(p.b.rcq, 100, 1, what);
	expect_qp_event(&p.b, IBV_EVENT_QP_ACCESS_ERR, what);
	require(all_bytes(p.b.buf, GUARD_BYTE, BUF_SIZE, &where), "byte %zu", where);
	pair_close(&p);
}

/* RFC 7306 has no Send with immediate data: refused unless both ends have offered srnic's own. */
void case_send_imm(void)
{
	struct ibv_sge sge;
	struct pair p;
	int err;

	pair_open(&p);
	must_recv(&p.b, 100, 0, 64);
	sge = sge_of(&p.a, 0, 8);
	err = post_wr(&p.a, IBV_WR_SEND_WITH_IMM, 1, &sge, 1, IBV_SEND_SIGNALED, 0, 0);
	require(err == EOPNOTSUPP, "%s", strerror(err));
	expect_no_wc(p.a.scq, 50, "a refused work request");
	expect_no_wc(p.b.rcq, 50, "a refused work request");
	require(!post_imm(&p.a, &p.b, 2, 2, NULL, 0, DST, IBV_SEND_SIGNALED), "post");
	expect_imm(&p.b, 100, 2, 0, "after a refused one");
	expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, "after a refused one");
	pair_works(&p, "after a refused one");
	pair_close(&p);
}
