// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Fields of the rings that must be zero: a WQE is changed after the provider has posted it. A QP
 * in Idle does not process posted WRs, so there is time for it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "abi.h"

#define WR_ID	0x1122334455667788ULL
#define HDR	4096	/* bytes before the first entry */
#define ARM	192	/* where the arm word is */

/* The slot of the one WQE that was posted with WR_ID */
static uint8_t *posted_slot(void)
{
	const uint64_t id = WR_ID;
	struct mapping map[64];
	int n = uverbs_mappings(map, ARRAY_SIZE(map));

	for (int i = 0; i < n; i++)
		for (size_t at = HDR; at < map[i].len; at += 16)
			if (!memcmp(map[i].at + at, &id, sizeof(id)))
				return map[i].at + at;
	die("no ring has the WQE");
}

static int post(struct end *e, enum ibv_wr_opcode op, bool inl)
{
	struct ibv_sge sge = sge_of(e, 0, 8);
	struct ibv_send_wr wr = {
		.wr_id = WR_ID, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED | (inl ? IBV_SEND_INLINE : 0),
	}, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		/* a program need not clear the fields of the other atomic */
		wr.wr.atomic = (typeof(wr.wr.atomic)){ (uintptr_t)e->buf, 1, ~0ULL, e->mr->rkey };
	else if (op == IBV_WR_RDMA_WRITE || op == IBV_WR_RDMA_READ)
		wr.wr.rdma = (typeof(wr.wr.rdma)){ (uintptr_t)e->buf, e->mr->rkey };
	else if (op == IBV_WR_LOCAL_INV)
		wr.num_sge = 0;
	return ibv_post_send(e->qp, &wr, &bad);
}

/* Set a bit of octet @at of the WQE, or none; returns the WR's completion */
static struct ibv_wc spoil(const char *what, enum ibv_wr_opcode op, bool recv, bool inl,
			   size_t at)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct ibv_wc wc;
	struct pair p;

	pair_prepare(&p, &cap);
	if (recv)
		must_recv(&p.a, WR_ID, 0, 64);
	else
		require(!post(&p.a, op, inl), "%s: post", what);
	if (at)
		posted_slot()[at] |= 1;
	pair_connect(&p);
	if (recv) {
		struct ibv_sge sge = sge_of(&p.b, 0, 8);

		require(!post_wr(&p.b, IBV_WR_SEND, 1, &sge, 1, 0, 0, 0), "%s: post", what);
		wc = wait_wc(p.a.rcq, what);
	} else {
		if (op == IBV_WR_SEND)
			must_recv(&p.b, 1, 0, 64);
		wc = wait_wc(p.a.scq, what);
	}
	require(wc.wr_id == WR_ID && wc.qp_num == p.a.qp->qp_num, "%s", what);
	pair_close(&p);
	return wc;
}

void case_unused(void)
{
	static const struct {
		const char *what;
		enum ibv_wr_opcode op;
		bool recv, inl;
		size_t at;
	} rows[] = {
		{ "SEND, rkey", IBV_WR_SEND, false, false, 16 },
		{ "SEND, stag", IBV_WR_SEND, false, false, 23 },
		{ "SEND, remote_addr", IBV_WR_SEND, false, false, 31 },
		{ "SEND, inline_len", IBV_WR_SEND, false, false, 12 },
		{ "inline SEND, num_sge", IBV_WR_SEND, false, true, 10 },
		{ "SEND, last octet", IBV_WR_SEND, false, false, 63 },
		{ "WRITE, stag", IBV_WR_RDMA_WRITE, false, false, 20 },
		{ "WRITE, arg[0]", IBV_WR_RDMA_WRITE, false, false, 32 },
		{ "READ, arg[3]", IBV_WR_RDMA_READ, false, false, 56 },
		{ "FETCH_ADD, arg[1]", IBV_WR_ATOMIC_FETCH_AND_ADD, false, false, 40 },
		{ "LOCAL_INV, rkey", IBV_WR_LOCAL_INV, false, false, 16 },
		{ "receive, reserved", 0, true, false, 12 },
	};
	struct ibv_wc wc;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		wc = spoil(rows[i].what, rows[i].op, rows[i].recv, rows[i].inl, rows[i].at);
		require(wc.status == IBV_WC_LOC_QP_OP_ERR && wc.vendor_err == 2, "%s: '%s' (%u)",
			rows[i].what, ibv_wc_status_str(wc.status), wc.vendor_err);
	}
	/* a WQE as the provider writes it is accepted */
	wc = spoil("SEND", IBV_WR_SEND, false, false, 0);
	require(!wc.status, "SEND: %s", ibv_wc_status_str(wc.status));
	wc = spoil("inline SEND", IBV_WR_SEND, false, true, 0);
	require(!wc.status, "inline SEND: %s", ibv_wc_status_str(wc.status));
	wc = spoil("receive", 0, true, false, 0);
	require(!wc.status, "receive: %s", ibv_wc_status_str(wc.status));
	/* it gets as far as the peer, which has no such STag */
	wc = spoil("FETCH_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD, false, false, 0);
	require(wc.status != IBV_WC_LOC_QP_OP_ERR, "FETCH_ADD: %s", ibv_wc_status_str(wc.status));
}

/* The arm word of the one CQ that is armed for solicited completions */
static uint32_t *arm_word(void)
{
	struct mapping map[64];
	int n = uverbs_mappings(map, ARRAY_SIZE(map));

	for (int i = 0; i < n; i++)
		if (*(uint32_t *)(map[i].at + ARM) == 2)
			return (uint32_t *)(map[i].at + ARM);
	die("no CQ is armed");
}

void case_arm_bits(void)
{
	struct ibv_async_event ev;
	bool cq_err = false;
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p);
	pair_works(&p, "before");
	require(!ibv_req_notify_cq(p.a.scq, 1), "ibv_req_notify_cq");
	*arm_word() |= 4;
	must_recv(&p.b, 1, 0, 64);
	sge = sge_of(&p.a, 0, 64);
	require(!post_wr(&p.a, IBV_WR_SEND, 1, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
	expect_wc(p.b.rcq, 1, IBV_WC_SUCCESS, "the message is on its way before");
	while (!cq_err) {
		require(take_async(p.a.id->verbs, &ev, 10000), "no event");
		cq_err = ev.event_type == IBV_EVENT_CQ_ERR;
		require(!cq_err || ev.element.cq == p.a.scq, "another CQ");
	}
	expect_state(&p.a, IBV_QPS_ERR, "QP of the CQ");
	expect_no_wc(p.a.scq, 50, "a CQ in error");
	pair_close(&p);
}
