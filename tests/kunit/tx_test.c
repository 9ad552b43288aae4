// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* tx.c: messages and their order on the wire, received by a peer on a plain TCP socket. */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "engine/tx.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "peer.h"
#include "queue/wq.h"
#include "verbs/verbs.h"

#define LR	SRNIC_LOCAL_READ
#define LW	SRNIC_LOCAL_WRITE
#define RR	SRNIC_REMOTE_READ
#define RW	SRNIC_REMOTE_WRITE
#define SINK	SRNIC_READ_SINK
#define ALL	(LR | LW | RR | RW | SINK)
#define SIZE	4096
#define SIGNAL	IB_SEND_SIGNALED
#define BIG	SZ_512K	/* does not fit into the buffers of the sockets */

struct out {
	struct peer *p;
	u8 *mem;
	struct srnic_tpte *mr;
};

static struct out out_idle(struct kunit *test)
{
	struct out out = { .mem = kunit_kzalloc(test, SIZE, GFP_KERNEL) };
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, out.mem);
	out.p = peer_idle(test);	/* made first: the memory outlives the QP */
	for (i = 0; i < SIZE; i++)
		out.mem[i] = i * 7;
	out.mr = peer_region(out.p, out.p->pd, out.mem, SIZE, ALL);
	return out;
}

static struct out out_open(struct kunit *test, u16 ord)
{
	struct out out = out_idle(test);

	peer_connect(out.p, 1, ord);
	return out;
}

static int post(struct out *out, enum ib_wr_opcode op, u64 wr_id, int flags, u32 len)
{
	struct ib_sge sge = peer_sge(out->mr, 0, len);

	return peer_post(out->p, op, wr_id, flags, &sge, 0x1000 * wr_id, 0x100 + wr_id);
}

/* Answer the Read Request received last */
static void answer(struct peer *p)
{
	struct ddp_hdr hdr = HDR_READ_RESP(get_unaligned_be32(p->data),
					   get_unaligned_be64(p->data + 4));
	u32 len = get_unaligned_be32(p->data + 12);
	u8 data[64] = { };

	memset(data, 0x3c, sizeof(data));
	KUNIT_ASSERT_LE(p->test, len, sizeof(data));
	peer_send(p, &hdr, data, len);
}

/* Terminate, FIN, Error; the WR's completion reports the cause, and no event does (ST-33) */
static void expect_failed(struct out *out, const char *what, u16 code, u16 hdrct, u64 wr_id,
			  enum srnic_wc_status status, enum ib_wc_status verbs)
{
	struct peer *p = out->p;

	peer_expect_terminate(p, what, code, hdrct);
	peer_close(p);
	peer_expect_closed(p, what, SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ_MSG(p->test, peer_wc(p, p->scq, wr_id, status).status, verbs, "%s",
			    what);
	peer_expect_event(p, what, -1);
}

/*
 * ST-03, ST-14, OR-01: WRs posted in Idle are sent in RTS, before later ones; MSNs from 1 (ST-08)
 */
static void posted_in_idle(struct kunit *test)
{
	struct out out = out_idle(test);
	u32 i;

	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, post(&out, IB_WR_SEND, i, SIGNAL, 1 + i), 0);
		peer_post_recv(out.p, 10 + i, NULL);
	}
	peer_no_wc(out.p, out.p->scq);
	peer_connect(out.p, 1, 1);
	for (i = 4; i < 8; i++)
		KUNIT_EXPECT_EQ(test, post(&out, IB_WR_SEND, i, SIGNAL, 1 + i), 0);
	for (i = 0; i < 8; i++) {
		peer_expect(out.p, ULP_SEND, 1 + i);
		KUNIT_EXPECT_EQ(test, out.p->hdr.msn, 1 + i);
		KUNIT_EXPECT_EQ(test, out.p->hdr.qn, 0);
		KUNIT_EXPECT_EQ(test, memcmp(out.p->data, out.mem, 1 + i), 0);
		peer_wc(out.p, out.p->scq, i, SRNIC_WC_SUCCESS);
	}
	peer_no_wc(out.p, out.p->rcq);
}

/* D-UNT-3: after 0xffffffff comes 0, on each queue; all segments of a message have one MSN */
static void msn_wraps(struct kunit *test)
{
	static const u32 msn[] = { 0xfffffffe, 0xffffffff, 0, 1 };
	struct out out = out_open(test, 4);
	u32 i, got;

	out.p->qp->policy.max_fpdu = SIZE / 3;
	out.p->qp->tx->msn[DDP_QN_SEND] = msn[0];
	out.p->qp->tx->msn[DDP_QN_READ_REQUEST] = msn[0];
	for (i = 0; i < ARRAY_SIZE(msn); i++) {
		KUNIT_EXPECT_EQ(test, post(&out, IB_WR_SEND, 1 + i, SIGNAL, SIZE), 0);
		for (got = 0; got < SIZE; got += out.p->data_len) {
			KUNIT_ASSERT_GT(test, peer_recv(out.p), 0);
			KUNIT_EXPECT_LT(test, out.p->data_len, SIZE / 3);
			KUNIT_ASSERT_EQ(test, out.p->hdr.ulp, ULP_SEND);
			KUNIT_EXPECT_EQ(test, out.p->hdr.msn, msn[i]);
			KUNIT_EXPECT_EQ(test, out.p->hdr.mo, got);
		}
		peer_wc(out.p, out.p->scq, 1 + i, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, post(&out, IB_WR_RDMA_READ, 11 + i, SIGNAL, 8), 0);
		peer_expect(out.p, ULP_READ_REQ, 28);
		KUNIT_EXPECT_EQ(test, out.p->hdr.msn, msn[i]);
		answer(out.p);
		peer_wc(out.p, out.p->scq, 11 + i, SRNIC_WC_SUCCESS);
	}
}

/* WR-09 to WR-14, WR-17, WR-18: each WR as a segment; local ones send none */
static void opcodes(struct kunit *test)
{
	static const struct {
		enum ib_wr_opcode op;
		int flags;
		u8 ulp;		/* 0: nothing */
		enum ib_wc_opcode wc;
	} rows[] = {
		{ IB_WR_SEND, SIGNAL, ULP_SEND, IB_WC_SEND },
		{ IB_WR_SEND, SIGNAL | IB_SEND_SOLICITED, ULP_SEND_SE, IB_WC_SEND },
		{ IB_WR_SEND_WITH_INV, SIGNAL, ULP_SEND_INV, IB_WC_SEND },
		{ IB_WR_SEND_WITH_INV, SIGNAL | IB_SEND_SOLICITED, ULP_SEND_SE_INV,
		  IB_WC_SEND },
		{ IB_WR_RDMA_WRITE, SIGNAL, ULP_WRITE, IB_WC_RDMA_WRITE },
		{ IB_WR_LOCAL_INV, SIGNAL, 0, IB_WC_LOCAL_INV },
		{ IB_WR_RDMA_READ, SIGNAL, ULP_READ_REQ, IB_WC_RDMA_READ },
	};
	struct out out = out_open(test, 1);
	struct srnic_tpte *inv = peer_region(out.p, out.p->pd, out.mem, 1, LR);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		bool inv_op = rows[i].op == IB_WR_LOCAL_INV;
		struct ib_sge sge = peer_sge(out.mr, i, 9);
		struct ib_wc wc;

		KUNIT_EXPECT_EQ(test, 0, peer_post(out.p, rows[i].op, i, rows[i].flags,
						   inv_op ? NULL : &sge, 0x123456789a,
						   inv_op ? inv->stag : 0x8765));
		if (rows[i].ulp)
			peer_expect(out.p, rows[i].ulp, rows[i].ulp == ULP_READ_REQ ? 28 : 9);
		if (rows[i].op == IB_WR_SEND_WITH_INV)
			KUNIT_EXPECT_EQ(test, out.p->hdr.inv_stag, 0x8765);
		if (rows[i].op == IB_WR_SEND)
			KUNIT_EXPECT_EQ(test, out.p->hdr.inv_stag, 0);
		if (rows[i].op == IB_WR_RDMA_WRITE) {
			KUNIT_EXPECT_EQ(test, out.p->hdr.stag, 0x8765);
			KUNIT_EXPECT_EQ(test, out.p->hdr.to, 0x123456789a);
			KUNIT_EXPECT_EQ(test, memcmp(out.p->data, out.mem + i, 9), 0);
		}
		if (rows[i].op == IB_WR_RDMA_READ) {
			KUNIT_EXPECT_EQ(test, get_unaligned_be32(out.p->data), sge.lkey);
			KUNIT_EXPECT_EQ(test, get_unaligned_be64(out.p->data + 4), sge.addr);
			KUNIT_EXPECT_EQ(test, get_unaligned_be32(out.p->data + 12), 9);
			KUNIT_EXPECT_EQ(test, get_unaligned_be32(out.p->data + 16), 0x8765);
			KUNIT_EXPECT_EQ(test, get_unaligned_be64(out.p->data + 20),
					0x123456789a);
			answer(out.p);
		}
		wc = peer_wc(out.p, out.p->scq, i, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wc.opcode, rows[i].wc);
		if (!rows[i].ulp)
			peer_expect_nothing(out.p);
	}
	KUNIT_EXPECT_FALSE(test, inv->valid);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(out.mem + 6, 0x3c, 9), NULL);
}

/* RD-02: at most ORD Reads are outstanding; WRs behind them wait, and are not refused */
static void ord_stalls(struct kunit *test)
{
	struct out out = out_open(test, 2);
	u32 i;

	for (i = 1; i <= 6; i++)
		KUNIT_EXPECT_EQ(test, post(&out, IB_WR_RDMA_READ, i, SIGNAL, 8), 0);
	KUNIT_EXPECT_EQ(test, post(&out, IB_WR_SEND, 7, SIGNAL, 1), 0);
	for (i = 1; i <= 2; i++) {
		peer_expect(out.p, ULP_READ_REQ, 28);
		KUNIT_EXPECT_EQ(test, out.p->hdr.msn, i);
	}
	for (i = 1; i <= 6; i++) {
		/* the requests differ in their MSN only */
		if (i <= 4)
			peer_expect_nothing(out.p);
		answer(out.p);
		peer_wc(out.p, out.p->scq, i, SRNIC_WC_SUCCESS);
		if (i > 4)
			continue;
		peer_expect(out.p, ULP_READ_REQ, 28);
		KUNIT_EXPECT_EQ(test, out.p->hdr.msn, i + 2);
	}
	peer_expect(out.p, ULP_SEND, 1);
	peer_wc(out.p, out.p->scq, 7, SRNIC_WC_SUCCESS);
}

/* QP-19, RD-05: ORD can be lowered while connected, and is enforced */
static void ord_lowered(struct kunit *test)
{
	struct ib_qp_attr attr = { .max_rd_atomic = 1 };
	struct out out = out_open(test, 4);
	u32 i;

	KUNIT_EXPECT_EQ(test, 0, srnic_verbs_ops.modify_qp(&out.p->qp->ibqp, &attr,
							   IB_QP_MAX_QP_RD_ATOMIC, NULL));
	attr.max_rd_atomic = 5;
	KUNIT_EXPECT_EQ(test, -EINVAL, srnic_verbs_ops.modify_qp(&out.p->qp->ibqp, &attr,
								 IB_QP_MAX_QP_RD_ATOMIC, NULL));
	for (i = 1; i <= 3; i++)
		KUNIT_EXPECT_EQ(test, post(&out, IB_WR_RDMA_READ, i, SIGNAL, 8), 0);
	for (i = 1; i <= 3; i++) {
		peer_expect(out.p, ULP_READ_REQ, 28);
		peer_expect_nothing(out.p);
		answer(out.p);
		peer_wc(out.p, out.p->scq, i, SRNIC_WC_SUCCESS);
	}
}

/* RD-03, CP-11, TC-04 */
static void zero_ord(struct kunit *test)
{
	struct out out = out_open(test, 0);

	KUNIT_EXPECT_EQ(test, post(&out, IB_WR_RDMA_READ, 1, SIGNAL, 8), 0);
	expect_failed(&out, "ORD 0", 0, 0, 1, SRNIC_WC_ZERO_ORD, IB_WC_LOC_QP_OP_ERR);
}

/* RD-04: 32 QPs each have one outbound and one inbound Read at the same time */
static void read_each(struct kunit *test)
{
	struct out out[32];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(out); i++) {
		out[i] = out_open(test, 1);
		KUNIT_EXPECT_EQ(test, post(&out[i], IB_WR_RDMA_READ, 1, SIGNAL, 8), 0);
	}
	for (i = 0; i < ARRAY_SIZE(out); i++) {
		peer_expect(out[i].p, ULP_READ_REQ, 28);
		peer_read_request(out[i].p, 1, 0x77, i, 8, out[i].mr->stag, out[i].mr->base);
	}
	for (i = 0; i < ARRAY_SIZE(out); i++) {
		struct ddp_hdr hdr = HDR_READ_RESP(get_unaligned_be32(out[i].p->data),
						   get_unaligned_be64(out[i].p->data + 4));

		peer_expect(out[i].p, ULP_READ_RESP, 8);
		KUNIT_EXPECT_EQ(test, out[i].p->hdr.to, i);
		KUNIT_EXPECT_EQ(test, memcmp(out[i].p->data, out[i].mem, 8), 0);
		peer_no_wc(out[i].p, out[i].p->scq);
		peer_send(out[i].p, &hdr, "87654321", 8);
		peer_wc(out[i].p, out[i].p->scq, 1, SRNIC_WC_SUCCESS);
	}
}

/* IE-01: a refused verb leaves QP, queues and stream unchanged, and causes no event */
static void refused(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct peer *p = out.p;
	/* one more than a WR of the peer's QP may have */
	struct ib_sge sges[PEER_SGES + 1] = { peer_sge(out.mr, 0, 4) };
	struct ib_send_wr bad_sges = {
		.opcode = IB_WR_SEND, .sg_list = sges, .num_sge = PEER_SGES + 1,
	};
	struct ib_send_wr bad_op = { .opcode = IB_WR_LSO, .sg_list = sges, .num_sge = 1 };
	struct ib_recv_wr bad_recv = { .sg_list = sges, .num_sge = PEER_SGES + 1 };
	struct ib_qp_attr reset = { .qp_state = IB_QPS_RESET };
	struct ddp_hdr send = HDR_SEND(1), bad = HDR_WRITE(0xbad, 0);
	const struct ib_send_wr *at;
	const struct ib_recv_wr *recv_at;
	struct ib_qp *ibqp = &p->qp->ibqp;

	peer_post_recv(p, 10, &sges[0]);
	KUNIT_EXPECT_EQ(test, srnic_verbs_ops.post_send(ibqp, &bad_sges, &at), -EINVAL);
	KUNIT_EXPECT_LT(test, srnic_verbs_ops.post_send(ibqp, &bad_op, &at), 0);
	KUNIT_EXPECT_EQ(test, srnic_verbs_ops.post_recv(ibqp, &bad_recv, &recv_at), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_verbs_ops.modify_qp(ibqp, &reset, IB_QP_STATE, NULL), -EINVAL);
	peer_expect_nothing(p);
	peer_no_wc(p, p->scq);
	peer_no_wc(p, p->rcq);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(p->qp), SRNIC_QP_RTS);
	KUNIT_EXPECT_EQ(test, p->num_events, 0);
	/* the QP still works, without any step in between */
	post(&out, IB_WR_SEND, 1, SIGNAL, 5);
	peer_expect(p, ULP_SEND, 5);
	KUNIT_EXPECT_EQ(test, p->hdr.msn, 1);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_send(p, &send, "abcd", 4);
	peer_wc(p, p->rcq, 10, SRNIC_WC_SUCCESS);
	/* and the next event is reported */
	peer_send(p, &bad, "x", 1);
	peer_expect_terminate(p, "unknown STag", 0x1100, RDMAP_TERM_M | RDMAP_TERM_D);
	peer_close(p);
	peer_expect_closed(p, "unknown STag", SRNIC_QP_ERROR);
	peer_expect_event(p, "unknown STag", IB_EVENT_QP_ACCESS_ERR);
}

/* FE-01, FE-03, OR-02, OR-06: which WRs a Read delays, with a fence and without */
static void read_fence(struct kunit *test)
{
	struct out out = out_open(test, 4);

	post(&out, IB_WR_RDMA_READ, 1, SIGNAL, 8);
	post(&out, IB_WR_RDMA_WRITE, 2, SIGNAL, 2);
	/* on a Read the flag has no effect */
	post(&out, IB_WR_RDMA_READ, 3, SIGNAL | IB_SEND_FENCE, 8);
	post(&out, IB_WR_RDMA_WRITE, 4, SIGNAL | IB_SEND_FENCE, 4);
	post(&out, IB_WR_SEND, 5, SIGNAL, 5);
	peer_expect(out.p, ULP_READ_REQ, 28);
	peer_expect(out.p, ULP_WRITE, 2);
	peer_expect(out.p, ULP_READ_REQ, 28);
	peer_expect_nothing(out.p);
	peer_no_wc(out.p, out.p->scq);
	answer(out.p);
	peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_wc(out.p, out.p->scq, 2, SRNIC_WC_SUCCESS);
	peer_no_wc(out.p, out.p->scq);
	peer_expect_nothing(out.p);
	answer(out.p);
	peer_wc(out.p, out.p->scq, 3, SRNIC_WC_SUCCESS);
	peer_expect(out.p, ULP_WRITE, 4);
	peer_expect(out.p, ULP_SEND, 5);
	peer_wc(out.p, out.p->scq, 4, SRNIC_WC_SUCCESS);
	peer_wc(out.p, out.p->scq, 5, SRNIC_WC_SUCCESS);
}

/* FE-04: a Read of length 0, with random addresses, and a fence behind it */
static void fence_end_to_end(struct kunit *test)
{
	struct ib_sge rubbish = { .addr = 0xbad, .lkey = 0xbad };
	struct out out = out_open(test, 1);

	KUNIT_EXPECT_EQ(test, 0, peer_post(out.p, IB_WR_RDMA_READ, 1, 0, &rubbish, 1, 0xbad));
	post(&out, IB_WR_SEND, 2, SIGNAL | IB_SEND_FENCE, 5);
	peer_expect(out.p, ULP_READ_REQ, 28);
	peer_expect_nothing(out.p);
	answer(out.p);
	peer_expect(out.p, ULP_SEND, 5);
	peer_wc(out.p, out.p->scq, 2, SRNIC_WC_SUCCESS);
}

/* FE-02: Invalidate Local waits for all earlier WRs if fenced, else for none */
static void local_fence(struct kunit *test)
{
	u32 fenced;

	for (fenced = 0; fenced < 2; fenced++) {
		struct out out = out_open(test, 1);
		struct srnic_tpte *inv = peer_region(out.p, out.p->pd, out.mem, 1, LR);
		int flags = fenced ? SIGNAL | IB_SEND_FENCE : SIGNAL;

		post(&out, IB_WR_RDMA_READ, 1, SIGNAL, 8);
		peer_post(out.p, IB_WR_LOCAL_INV, 2, flags, NULL, 0, inv->stag);
		peer_expect(out.p, ULP_READ_REQ, 28);
		if (fenced)
			msleep(50);
		else
			peer_until(!READ_ONCE(inv->valid));
		KUNIT_EXPECT_EQ(test, inv->valid, fenced);
		peer_no_wc(out.p, out.p->scq);
		answer(out.p);
		peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS);
		peer_wc(out.p, out.p->scq, 2, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_FALSE(test, inv->valid);
	}
}

/* WR-15, OR-10: the sink is Invalid when the completion is polled; later WRs need not wait */
static void read_with_invalidate(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct srnic_tpte *sink = peer_region(out.p, out.p->pd, out.mem + 100, 8, ALL);
	struct ib_sge sge = peer_sge(sink, 0, 8);

	KUNIT_EXPECT_EQ(test, 0, peer_post(out.p, IB_WR_RDMA_READ_WITH_INV, 1, SIGNAL, &sge,
					   0x1000, 0x2000));
	post(&out, IB_WR_SEND, 2, SIGNAL, 3);
	peer_expect(out.p, ULP_READ_REQ, 28);
	answer(out.p);
	KUNIT_EXPECT_EQ(test, peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS).opcode,
			IB_WC_RDMA_READ);
	KUNIT_EXPECT_FALSE(test, sink->valid);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(out.mem + 100, 0x3c, 8), NULL);
	peer_expect(out.p, ULP_SEND, 3);
	peer_wc(out.p, out.p->scq, 2, SRNIC_WC_SUCCESS);
}

/* MR-15: a Read's sink is checked when the response comes, and does not need Local Write */
static void read_sink(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct srnic_tpte *sink = peer_region(out.p, out.p->pd, out.mem, 8, LR | LW | RR);
	struct ib_sge sge = peer_sge(sink, 0, 8);

	peer_post(out.p, IB_WR_RDMA_READ, 1, SIGNAL, &sge, 0x1000, 0x2000);
	peer_expect(out.p, ULP_READ_REQ, 28);
	peer_no_wc(out.p, out.p->scq);
	sink->rights = SINK;
	answer(out.p);
	peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS);

	sink->rights = LR | LW | RR;
	peer_post(out.p, IB_WR_RDMA_READ, 2, SIGNAL, &sge, 0x1000, 0x2000);
	peer_expect(out.p, ULP_READ_REQ, 28);
	peer_no_wc(out.p, out.p->scq);
	answer(out.p);
	expect_failed(&out, "sink", 0x1100, 0xc000, 2, SRNIC_WC_ACCESS, IB_WC_LOC_PROT_ERR);
}

/* QP-06, MR-19: a QP may take no data of Read Responses; then its Read ends the stream */
static void responses_disabled(struct kunit *test)
{
	const char *what = "Read Response not enabled";
	struct out out = out_idle(test);
	struct peer *p = out.p;
	u32 i;

	p->no_responses = true;
	peer_connect(p, 1, 1);
	post(&out, IB_WR_RDMA_READ, 1, SIGNAL, 0);
	peer_expect(p, ULP_READ_REQ, 28);
	answer(p);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	post(&out, IB_WR_RDMA_READ, 2, SIGNAL, 8);
	peer_expect(p, ULP_READ_REQ, 28);
	answer(p);
	peer_expect_terminate(p, what, 0x1100, 0xc000);
	peer_close(p);
	peer_expect_closed(p, what, SRNIC_QP_ERROR);
	peer_wc(p, p->scq, 2, SRNIC_WC_FLUSHED);
	peer_expect_event(p, what, IB_EVENT_QP_ACCESS_ERR);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, out.mem[i], (u8)(i * 7));
}

/* A region for Fast-Register, whose next list has this page */
static struct ib_mr *listed_page(struct out *out, u8 *page)
{
	struct ib_mr *mr = srnic_mr_alloc(out->p->pd, IB_MR_TYPE_MEM_REG, 4);
	struct kunit *test = out->p->test;
	struct scatterlist sg;

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	sg_init_one(&sg, page, PAGE_SIZE);
	sg.dma_address = (uintptr_t)page;
	sg_dma_len(&sg) = PAGE_SIZE;
	mr->page_size = PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, srnic_mr_map_sg(mr, &sg, 1, NULL), 1);
	return mr;
}

/* OR-11: registered, used and invalidated in one list; each WR sees the effect of those before */
static void register_use_invalidate(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct ib_sge sge, late;
	const struct ib_send_wr *bad;
	u8 *page = (u8 *)__get_free_page(GFP_KERNEL | __GFP_ZERO);
	struct ib_mr *mr = listed_page(&out, page);
	struct ib_reg_wr reg = { .wr = { .opcode = IB_WR_REG_MR, .send_flags = SIGNAL } };
	struct ib_send_wr send = { .wr_id = 1, .opcode = IB_WR_SEND, .send_flags = SIGNAL };
	struct ib_send_wr inv = { .wr_id = 2, .opcode = IB_WR_LOCAL_INV, .send_flags = SIGNAL };
	struct ib_send_wr after = { .wr_id = 3, .opcode = IB_WR_SEND, .send_flags = SIGNAL };

	reg.mr = mr;
	reg.key = mr->rkey ^ 0x55;
	reg.access = IB_ACCESS_LOCAL_WRITE;
	sge = (struct ib_sge){ mr->iova, 11, reg.key };
	late = sge;
	send.sg_list = &sge;
	send.num_sge = 1;
	after.sg_list = &late;
	after.num_sge = 1;
	inv.ex.invalidate_rkey = reg.key;
	reg.wr.next = &send;
	send.next = &inv;
	inv.next = &after;
	KUNIT_EXPECT_EQ(test, srnic_verbs_ops.post_send(&out.p->qp->ibqp, &reg.wr, &bad), 0);
	peer_wc(out.p, out.p->scq, 0, SRNIC_WC_SUCCESS);
	peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_wc(out.p, out.p->scq, 2, SRNIC_WC_SUCCESS);
	peer_expect(out.p, ULP_SEND, 11);
	expect_failed(&out, "after the invalidation", 0, 0, 3, SRNIC_WC_INVALID_STAG,
		      IB_WC_LOC_PROT_ERR);
	srnic_mr_dereg(mr);
	free_page((unsigned long)page);
}

/* As a provider posts: kernel verbs have no Bind */
static void post_bind(struct out *out, u64 wr_id, u32 window, u8 flags)
{
	struct srnic_qp *qp = out->p->qp;
	struct srnic_sqe *sqe = srnic_ring_slot(&qp->sq, qp->sq_posted);

	*sqe = (struct srnic_sqe){
		.wr_id = wr_id, .opcode = SRNIC_OP_BIND_MW, .flags = SRNIC_SQE_SIGNALED | flags,
		.rkey = out->mr->stag, .stag = window,
		.arg = { out->mr->base, 8, IB_ACCESS_REMOTE_READ },
	};
	smp_store_release(&qp->sq_posted, qp->sq_posted + 1);	/* after the SQE is written */
	srnic_qp_doorbell(qp);
}

static struct srnic_mw *window_on(struct out *out)
{
	struct srnic_mw *mw = kunit_kzalloc(out->p->test, sizeof(*mw), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(out->p->test, mw);
	out->mr->rights |= SRNIC_BINDABLE;
	mw->ibmw.device = &out->p->dev->ibdev;
	mw->ibmw.pd = out->p->pd;
	mw->ibmw.type = IB_MW_TYPE_2;
	KUNIT_ASSERT_EQ(out->p->test, srnic_mw_alloc(&mw->ibmw), 0);
	return mw;
}

/* The window's STag with another key */
static u32 next_key(const struct srnic_mw *mw)
{
	return mw->ibmw.rkey + (mw->ibmw.rkey & 0x80 ? -1 : 1);
}

/* MW-02, MW-09, MW-10: a Bind sends nothing; one that fails ends the stream */
static void bind_is_silent(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct srnic_mw *mw = window_on(&out);
	u32 rkey = next_key(mw);

	post_bind(&out, 1, rkey, 0);
	peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_expect_nothing(out.p);
	peer_read_request(out.p, 1, 5, 6, 8, rkey, out.mr->base);
	peer_expect(out.p, ULP_READ_RESP, 8);
	KUNIT_EXPECT_EQ(test, memcmp(out.p->data, out.mem, 8), 0);
	post_bind(&out, 2, rkey, 0);
	expect_failed(&out, "bound again", 0, 0, 2, SRNIC_WC_STAG_NOT_INVALID,
		      IB_WC_MW_BIND_ERR);
	srnic_mw_dealloc(&mw->ibmw);
}

/* FE-03: with a fence, too, Bind and Fast-Register take effect before an earlier Read is done */
static void no_fence_of_local_wrs(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct srnic_mw *mw = window_on(&out);
	u8 *page = (u8 *)__get_free_page(GFP_KERNEL | __GFP_ZERO);
	struct ib_mr *mr = listed_page(&out, page);
	struct ib_reg_wr reg = {
		.wr = { .wr_id = 3, .opcode = IB_WR_REG_MR, .send_flags = SIGNAL | IB_SEND_FENCE },
		.mr = mr, .key = mr->rkey, .access = IB_ACCESS_LOCAL_WRITE,
	};
	static const u8 data[8];
	const struct ib_send_wr *bad;
	struct peer *p = out.p;
	struct ddp_hdr response;
	u32 i;

	post(&out, IB_WR_RDMA_READ, 1, SIGNAL, sizeof(data));
	peer_expect(p, ULP_READ_REQ, 28);
	response = (struct ddp_hdr)HDR_READ_RESP(get_unaligned_be32(p->data),
						 get_unaligned_be64(p->data + 4));
	post_bind(&out, 2, next_key(mw), SRNIC_SQE_FENCE);
	KUNIT_EXPECT_EQ(test, srnic_verbs_ops.post_send(&p->qp->ibqp, &reg.wr, &bad), 0);
	post(&out, IB_WR_RDMA_WRITE, 4, SIGNAL, 4);
	peer_expect(p, ULP_WRITE, 4);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(mw->window->tpte.valid));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(to_srnic_mr(mr)->tpte.valid));
	peer_no_wc(p, p->scq);
	peer_send(p, &response, data, sizeof(data));
	for (i = 1; i <= 4; i++)
		peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
	srnic_mw_dealloc(&mw->ibmw);
	srnic_mr_dereg(mr);
	free_page((unsigned long)page);
}

/*
 * AE-19: an SQ with an impossible index ends its QP, with an event, as no WR can complete for it
 */
static void wild_index(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct peer *p = out.p;

	post(&out, IB_WR_SEND, 1, SIGNAL, 1);
	peer_expect(p, ULP_SEND, 1);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	p->qp->sq_posted += PEER_DEPTH + 1;
	srnic_qp_doorbell(p->qp);
	peer_expect_terminate(p, "wild index", 0x0207, 0);
	peer_close(p);
	peer_expect_closed(p, "wild index", SRNIC_QP_ERROR);
	peer_expect_event(p, "wild index", IB_EVENT_QP_FATAL);
	peer_no_wc(p, p->scq);
}

/*
 * TC-01, TC-04, TM-05, ST-22, ST-23, WR-24, CP-09: a WR that cannot be carried out. Earlier WRs
 * are sent, then a Terminate that quotes nothing.
 */
static void local_errors(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 stag_xor;
		s64 off;
		u8 rights;
		bool foreign;
		enum srnic_wc_status want;
	} rows[] = {
		{ "unknown STag", 0x5a5a00, 0, ALL, false, SRNIC_WC_INVALID_STAG },
		{ "wrong key", 1, 0, ALL, false, SRNIC_WC_INVALID_STAG },
		{ "past the end", 0, SIZE - 7, ALL, false, SRNIC_WC_BOUNDS },
		{ "no Local Read", 0, 0, LW | RR | RW, false, SRNIC_WC_ACCESS },
		{ "another PD", 0, 0, ALL, true, SRNIC_WC_INVALID_PD },
	};
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct out out = out_open(test, 1);
		struct srnic_tpte *mr = peer_region(out.p, rows[i].foreign ?
						    fake_pd(test, out.p->dev) : out.p->pd,
						    out.mem, SIZE, rows[i].rights);
		struct ib_sge sge = peer_sge(mr, rows[i].off, 8);

		sge.lkey ^= rows[i].stag_xor;
		peer_post_recv(out.p, 50, NULL);
		for (j = 0; j < 5; j++) {
			int flags = j & 1 ? 0 : SIGNAL;

			if (j == 1)
				peer_post(out.p, IB_WR_RDMA_WRITE, j, flags, &sge, 1, 2);
			else
				post(&out, IB_WR_RDMA_WRITE, j, flags, 3);
		}
		peer_wc(out.p, out.p->scq, 0, SRNIC_WC_SUCCESS);
		peer_expect(out.p, ULP_WRITE, 3);
		expect_failed(&out, rows[i].what, 0, 0, 1, rows[i].want, IB_WC_LOC_PROT_ERR);
		peer_flushes(out.p, out.p->scq, 2, 3);
		peer_flushes(out.p, out.p->rcq, 50, 1);
		KUNIT_EXPECT_TRUE(test, out.p->qp->term_valid && out.p->qp->term_local);
	}
}

/* CP-09: a wrap has its own status; MM-11: STag 0 is no remote buffer */
static void wrap_and_zero(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct ib_sge sge = peer_sge(out.mr, 0, 9);

	sge.addr = ~0ULL - 7;
	peer_post(out.p, IB_WR_SEND, 1, SIGNAL, &sge, 0, 0);
	expect_failed(&out, "wrap", 0, 0, 1, SRNIC_WC_WRAP, IB_WC_LOC_PROT_ERR);

	out = out_open(test, 1);
	sge = peer_sge(out.mr, 0, 9);
	peer_post(out.p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 0x1000, 0);
	expect_failed(&out, "STag 0", 0, 0, 1, SRNIC_WC_INVALID_STAG, IB_WC_LOC_PROT_ERR);
}

/* MM-08: all of memory, for a kernel consumer */
static void stag_zero(struct kunit *test)
{
	struct out out = out_open(test, 1);
	struct ib_sge sge = { (uintptr_t)out.mem + 5, 6, 0 };
	struct ib_sge into = { (uintptr_t)out.mem + 50, 6, 0 };
	struct ddp_hdr hdr = HDR_SEND(1);

	peer_post(out.p, IB_WR_SEND, 1, SIGNAL, &sge, 0, 0);
	peer_expect(out.p, ULP_SEND, 6);
	KUNIT_EXPECT_EQ(test, memcmp(out.p->data, out.mem + 5, 6), 0);
	peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_post_recv(out.p, 2, &into);
	peer_send(out.p, &hdr, "abcdef", 6);
	peer_wc(out.p, out.p->rcq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(out.mem + 50, "abcdef", 6), 0);
}

/*
 * MM-04, MR-01: an STag is invalidated while its message is sent; the message ends with a whole
 * FPDU
 */
static void revoked_while_sending(struct kunit *test)
{
	struct out out = out_open(test, 1);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge sge;

	KUNIT_ASSERT_NOT_NULL(test, big);
	mr = peer_region(out.p, out.p->pd, big, BIG, LR);
	sge = peer_sge(mr, 0, BIG);
	peer_post(out.p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 0x1000, 0x2000);
	peer_post(out.p, IB_WR_SEND, 2, 0, NULL, 0, 0);
	KUNIT_ASSERT_GT(test, peer_recv(out.p), 0);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(out.p->qp, mr->stag, false), SRNIC_INV_OK);
	memset(big, 0xff, BIG);		/* must not be read any more */
	out.p->skip = ULP_WRITE;
	expect_failed(&out, "revoked", 0, 0, 1, SRNIC_WC_INVALID_STAG, IB_WC_LOC_PROT_ERR);
	KUNIT_EXPECT_LT(test, out.p->skipped, BIG);
	peer_flushes(out.p, out.p->scq, 2, 1);
	peer_unregister(out.p, mr);
	vfree(big);
}

/* WR-01, WR-03: posting does not wait for the peer, and a posted WR is not read again */
static void post_does_not_wait(struct kunit *test)
{
	struct out out = out_open(test, 1);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge sge;
	unsigned long flags;
	spinlock_t lock;	/* for atomic context; guards nothing */
	u32 i, got = 0;

	KUNIT_ASSERT_NOT_NULL(test, big);
	spin_lock_init(&lock);
	mr = peer_region(out.p, out.p->pd, big, BIG, LR);
	spin_lock_irqsave(&lock, flags);
	for (i = 0; i < PEER_DEPTH; i++) {
		sge = peer_sge(mr, 0, BIG);
		KUNIT_EXPECT_EQ(test, 0, peer_post(out.p, IB_WR_RDMA_WRITE, i, SIGNAL, &sge, 0,
						   0x2000));
		memset(&sge, 0xff, sizeof(sge));
	}
	/* WR-05 */
	KUNIT_EXPECT_EQ(test, -ENOMEM, peer_post(out.p, IB_WR_SEND, i, SIGNAL, NULL, 0, 0));
	spin_unlock_irqrestore(&lock, flags);
	while (got < PEER_DEPTH) {
		KUNIT_ASSERT_GT(test, peer_recv(out.p), 0);
		KUNIT_ASSERT_EQ(test, out.p->hdr.ulp, ULP_WRITE);
		got += out.p->hdr.last;
	}
	for (i = 0; i < PEER_DEPTH; i++)
		peer_wc(out.p, out.p->scq, i, SRNIC_WC_SUCCESS);
	peer_unregister(out.p, mr);
	vfree(big);
}

/* TM-07, AE-18, CQ-05: a full CQ ends its QP; the Terminate quotes nothing */
static void cq_overflow(struct kunit *test)
{
	struct out out = out_idle(test);
	struct fake_cq *little = fake_cq(test, out.p->dev, 1);

	out.p->qp->scq = &little->cq;
	peer_connect(out.p, 1, 1);
	post(&out, IB_WR_SEND, 1, SIGNAL, 1);
	post(&out, IB_WR_SEND, 2, SIGNAL, 2);
	peer_expect(out.p, ULP_SEND, 1);
	peer_expect(out.p, ULP_SEND, 2);
	peer_expect_terminate(out.p, "CQ overflow", 0x0207, 0);
	peer_close(out.p);
	peer_expect_closed(out.p, "CQ overflow", SRNIC_QP_ERROR);
	peer_expect_event(out.p, "CQ overflow", IB_EVENT_QP_FATAL);
	KUNIT_EXPECT_EQ(test, little->errors, 1);
	peer_wc(out.p, little, 1, SRNIC_WC_SUCCESS);
	peer_no_wc(out.p, little);
	/* destroyed before its CQ */
	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(out.p->qp), 0);
	out.p->qp = NULL;
}

/* FPDUs began at each phase except that of a marker */
static void expect_all_phases(struct kunit *test, const char *what, const unsigned long *phases)
{
	KUNIT_EXPECT_EQ_MSG(test, bitmap_weight(phases, 128), 127, "%s", what);
}

/*
 * M-MRK-3 to M-MRK-7, M-CRC-5: FPDUs that begin at each phase, of messages of one segment and of
 * many, and of responses. peer_recv() checks the markers.
 */
static void markers(struct kunit *test)
{
	static const u32 lens[] = { 0, 1, 2, 3, 4, 5, 8, 9, 100, 501, 1000, SIZE };
	static const u8 ulp[] = { ULP_WRITE, ULP_SEND };
	struct out out = out_idle(test);
	struct peer *p = out.p;
	u32 i, off, msn = 0;

	p->tx_markers = true;
	peer_connect(p, 1, 1);
	for (i = 0; i < 500 || (i < 3000 && bitmap_weight(p->phases, 128) < 127); i++) {
		u32 len = lens[i % ARRAY_SIZE(lens)];
		u32 send = i / ARRAY_SIZE(lens) & 1;

		KUNIT_ASSERT_EQ(test, 0, post(&out, send ? IB_WR_SEND : IB_WR_RDMA_WRITE, i,
					      SIGNAL, len));
		msn += send;
		for (off = 0; ; off += p->data_len) {
			KUNIT_ASSERT_GT(test, peer_recv(p), 0);
			KUNIT_ASSERT_EQ(test, p->hdr.ulp, ulp[send]);
			KUNIT_ASSERT_LE(test, off + p->data_len, len);
			KUNIT_EXPECT_EQ(test, memcmp(p->data, out.mem + off, p->data_len), 0);
			if (send) {
				KUNIT_EXPECT_EQ(test, p->hdr.msn, msn);
				KUNIT_EXPECT_EQ(test, p->hdr.mo, off);
			} else {
				KUNIT_EXPECT_EQ(test, p->hdr.to, 0x1000 * i + off);
			}
			if (p->hdr.last)
				break;
		}
		KUNIT_EXPECT_EQ(test, off + p->data_len, len);
		peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
	}
	expect_all_phases(test, "messages", p->phases);

	bitmap_zero(p->phases, 128);
	for (i = 1; i <= 2000 && bitmap_weight(p->phases, 128) < 127; i++) {
		peer_read_request(p, i, 5, 6, i % 300, out.mr->stag, out.mr->base);
		peer_expect(p, ULP_READ_RESP, i % 300);
		KUNIT_EXPECT_EQ(test, memcmp(p->data, out.mem, i % 300), 0);
	}
	expect_all_phases(test, "responses", p->phases);
}

/* M-MRK-3, M-MRK-6: a long message, and a Terminate */
static void markers_in_bulk(struct kunit *test)
{
	struct out out = out_idle(test);
	u8 *big = vzalloc(BIG);
	struct peer *p = out.p;
	struct srnic_tpte *mr;
	struct ib_sge sge;
	u32 i, got = 0, inside = 0, fpdus = 0;

	KUNIT_ASSERT_NOT_NULL(test, big);
	for (i = 0; i < BIG; i++)
		big[i] = i % 251;
	p->tx_markers = true;
	peer_connect(p, 1, 1);
	mr = peer_region(p, p->pd, big, BIG, LR);
	sge = peer_sge(mr, 0, BIG);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 0x1000, 0x2000);
	do {
		KUNIT_ASSERT_GT(test, peer_recv(p), 0);
		KUNIT_EXPECT_LE(test, p->in_len, 64768);
		inside += p->in_len > 1024;
		KUNIT_EXPECT_EQ(test, memcmp(p->data, big + got, p->data_len), 0);
		got += p->data_len;
		fpdus++;
	} while (!p->hdr.last);
	KUNIT_EXPECT_EQ(test, got, BIG);
	/* the loopback device has large segments: FPDUs with many markers */
	KUNIT_EXPECT_GE(test, inside, fpdus - 1);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);

	sge.lkey ^= 1;
	peer_post(p, IB_WR_SEND, 2, SIGNAL, &sge, 0, 0);
	expect_failed(&out, "Terminate", 0, 0, 2, SRNIC_WC_INVALID_STAG, IB_WC_LOC_PROT_ERR);
	peer_unregister(p, mr);
	vfree(big);
}

static struct kunit_case tx_cases[] = {
	KUNIT_CASE(posted_in_idle),
	KUNIT_CASE(msn_wraps),
	KUNIT_CASE(opcodes),
	KUNIT_CASE(ord_stalls),
	KUNIT_CASE(ord_lowered),
	KUNIT_CASE(zero_ord),
	KUNIT_CASE(read_each),
	KUNIT_CASE(refused),
	KUNIT_CASE(read_fence),
	KUNIT_CASE(fence_end_to_end),
	KUNIT_CASE(local_fence),
	KUNIT_CASE(read_with_invalidate),
	KUNIT_CASE(read_sink),
	KUNIT_CASE(responses_disabled),
	KUNIT_CASE(register_use_invalidate),
	KUNIT_CASE(bind_is_silent),
	KUNIT_CASE(no_fence_of_local_wrs),
	KUNIT_CASE(wild_index),
	KUNIT_CASE(local_errors),
	KUNIT_CASE(wrap_and_zero),
	KUNIT_CASE(stag_zero),
	KUNIT_CASE(revoked_while_sending),
	KUNIT_CASE(post_does_not_wait),
	KUNIT_CASE(cq_overflow),
	KUNIT_CASE(markers),
	KUNIT_CASE(markers_in_bulk),
	{}
};

static struct kunit_suite tx_suite = {
	.name = "srnic-tx",
	.test_cases = tx_cases,
};

kunit_test_suite(tx_suite);
