// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* tx.c, read.c, place.c: Reads of several SGEs, and responses to requests not yet sent. */
#include <kunit/test.h>
#include <linux/vmalloc.h>
#include "engine/stream.h"
#include "engine/tx.h"
#include "peer.h"
#include "verbs/verbs.h"

#define ALL	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_READ | \
		 SRNIC_REMOTE_WRITE | SRNIC_READ_SINK)
#define SIZE	4096
#define SIGNAL	IB_SEND_SIGNALED
#define RKEY	0x8765
#define RADDR	0x123456789aULL

struct out {
	struct peer *p;
	u8 *mem;
	struct srnic_tpte *mr;
};

static struct out out_open(struct kunit *test, u16 ord)
{
	struct out out = { .mem = kunit_kzalloc(test, SIZE, GFP_KERNEL) };

	KUNIT_ASSERT_NOT_NULL(test, out.mem);
	out.p = peer_open(test, 1, ord);
	out.mr = peer_region(out.p, out.p->pd, out.mem, SIZE, ALL);
	return out;
}

/* A Read into the memory, 100 octets from one SGE to the next */
static void post_read(struct out *out, u64 wr_id, const u32 *lens, u32 count, int flags)
{
	struct ib_sge sge[PEER_SGES];
	struct ib_rdma_wr wr = {
		.wr = { .wr_id = wr_id, .opcode = IB_WR_RDMA_READ, .send_flags = flags,
			.sg_list = sge, .num_sge = count },
		.remote_addr = RADDR, .rkey = RKEY,
	};
	const struct ib_send_wr *bad;
	u32 i;

	for (i = 0; i < count; i++)
		sge[i] = peer_sge(out->mr, 100 * i, lens[i]);
	KUNIT_ASSERT_EQ(out->p->test, 0,
			srnic_verbs_ops.post_send(&out->p->qp->ibqp, &wr.wr, &bad));
}

/* The next FPDU asks for @len octets, @off octets into the source, for SGE @sge */
static void expect_request(struct out *out, u32 msn, u32 sge, u32 len, u32 off)
{
	struct kunit *test = out->p->test;
	const u8 *req;

	peer_expect(out->p, ULP_READ_REQ, 28);
	req = out->p->data;
	KUNIT_EXPECT_EQ(test, out->p->hdr.msn, msn);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(req), out->mr->stag);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(req + 4), out->mr->base + 100 * sge);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(req + 12), len);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(req + 16), RKEY);
	KUNIT_EXPECT_EQ(test, get_unaligned_be64(req + 20), RADDR + off);
}

static void answer(struct out *out, u32 sge, u32 len, u8 octet)
{
	struct ddp_hdr hdr = HDR_READ_RESP(out->mr->stag, out->mr->base + 100 * sge);
	u8 data[100];

	memset(data, octet, sizeof(data));
	peer_send(out->p, &hdr, data, len);
}

static void expect_placed(struct out *out, u32 sge, u32 len, u8 octet)
{
	const u8 *at = out->mem + 100 * sge;

	KUNIT_EXPECT_PTR_EQ(out->p->test, memchr_inv(at, octet, len), NULL);
	KUNIT_EXPECT_PTR_EQ(out->p->test, memchr_inv(at + len, 0, 100 - len), NULL);
}

/*
 * A Read of several SGEs: one request for each SGE with a length; the last response completes it
 */
static void read_of_many_sges(struct kunit *test)
{
	static const u32 lens[] = { 8, 0, 100, 1 };
	struct out out = out_open(test, 8);
	struct ib_wc wc;

	post_read(&out, 1, lens, 4, SIGNAL);
	peer_post(out.p, IB_WR_SEND, 2, SIGNAL, NULL, 0, 0);
	expect_request(&out, 1, 0, 8, 0);
	expect_request(&out, 2, 2, 100, 8);
	expect_request(&out, 3, 3, 1, 108);
	peer_expect(out.p, ULP_SEND, 0);
	answer(&out, 0, 8, 0x11);
	answer(&out, 2, 100, 0x22);
	peer_no_wc(out.p, out.p->scq);
	answer(&out, 3, 1, 0x33);
	wc = peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RDMA_READ);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 109);
	peer_wc(out.p, out.p->scq, 2, SRNIC_WC_SUCCESS);
	expect_placed(&out, 0, 8, 0x11);
	expect_placed(&out, 1, 0, 0);
	expect_placed(&out, 2, 100, 0x22);
	expect_placed(&out, 3, 1, 0x33);
}

/* RD-02: ORD counts each request; the peer's Reads are answered in between */
static void ord_counts_each_request(struct kunit *test)
{
	static const u32 lens[] = { 5, 6, 7 };
	struct out out = out_open(test, 1);
	u32 i, off = 0;

	post_read(&out, 1, lens, 3, SIGNAL);
	for (i = 0; i < 3; i++) {
		expect_request(&out, 1 + i, i, lens[i], off);
		peer_expect_nothing(out.p);
		peer_read_request(out.p, 1 + i, 5, 6, 9, out.mr->stag, out.mr->base);
		peer_expect(out.p, ULP_READ_RESP, 9);
		peer_no_wc(out.p, out.p->scq);
		answer(&out, i, lens[i], 0x40 + i);
		off += lens[i];
	}
	peer_wc(out.p, out.p->scq, 1, SRNIC_WC_SUCCESS);
	for (i = 0; i < 3; i++)
		expect_placed(&out, i, lens[i], 0x40 + i);
}

/* FE-01: a fence waits for all requests; a Read of length 0 is one request whatever its SGEs */
static void fence_behind_many_sges(struct kunit *test)
{
	static const u32 lens[] = { 0, 3, 4 }, none[] = { 0, 0, 0 };
	struct out out = out_open(test, 8);

	post_read(&out, 1, lens, 3, 0);
	peer_post(out.p, IB_WR_SEND, 2, SIGNAL | IB_SEND_FENCE, NULL, 0, 0);
	expect_request(&out, 1, 1, 3, 0);
	expect_request(&out, 2, 2, 4, 3);
	answer(&out, 1, 3, 1);
	peer_expect_nothing(out.p);
	answer(&out, 2, 4, 1);
	peer_expect(out.p, ULP_SEND, 0);
	peer_wc(out.p, out.p->scq, 2, SRNIC_WC_SUCCESS);

	post_read(&out, 3, none, 3, SIGNAL);
	expect_request(&out, 3, 0, 0, 0);
	peer_expect_nothing(out.p);
	answer(&out, 0, 0, 0);
	peer_wc(out.p, out.p->scq, 3, SRNIC_WC_SUCCESS);
}

/* ST-35, CP-08: an error of one request ends the WR, once; later WRs are flushed */
static void one_of_many_fails(struct kunit *test)
{
	static const u32 lens[] = { 8, 8, 8, 8 };
	u32 bad;

	for (bad = 0; bad < 4; bad++) {
		struct out out = out_open(test, 8);
		u32 i;

		post_read(&out, 1, lens, 4, SIGNAL);
		peer_post(out.p, IB_WR_SEND, 2, SIGNAL, NULL, 0, 0);
		for (i = 0; i < 4; i++)
			expect_request(&out, 1 + i, i, 8, 8 * i);
		peer_expect(out.p, ULP_SEND, 0);
		for (i = 0; i < bad; i++)
			answer(&out, i, 8, 0x55);
		answer(&out, bad, 7, 0x66);	/* too short */
		peer_expect_terminate(out.p, "too short", 0x1101, 0xc000);
		peer_close(out.p);
		peer_expect_closed(out.p, "too short", SRNIC_QP_ERROR);
		peer_wc(out.p, out.p->scq, 1, SRNIC_WC_INVALID_LENGTH);
		peer_flushes(out.p, out.p->scq, 2, 1);
		peer_expect_event(out.p, "too short", -1);
	}
}

/* The stream ends between the responses: the Read has one completion, flushed */
static void flushed_between_responses(struct kunit *test)
{
	static const u32 lens[] = { 8, 8 };
	struct out out = out_open(test, 1);

	post_read(&out, 1, lens, 2, SIGNAL);
	expect_request(&out, 1, 0, 8, 0);
	answer(&out, 0, 8, 0x55);
	expect_request(&out, 2, 1, 8, 8);
	peer_reset(out.p);
	peer_expect_closed(out.p, "reset", SRNIC_QP_ERROR);
	peer_flushes(out.p, out.p->scq, 1, 1);
}

#define PIECES	(PEER_DEPTH - 1)
#define PIECE	40000

/* Writes that TCP cannot take at once, then a request that is made to count as not taken */
static u8 *stuck_request(struct peer *p, u32 atomic)
{
	u8 *big = vzalloc(PIECE);
	struct srnic_tpte *mr;
	struct ib_sge sge;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(p->test, big);
	peer_connect(p, 1, 1);
	p->qp->policy.max_fpdu = 4096;		/* so that the request has room behind Writes */
	mr = peer_region(p, p->pd, big, PIECE, ALL);
	sge = peer_sge(mr, 0, PIECE);
	for (i = 0; i < PIECES; i++)
		KUNIT_ASSERT_EQ(p->test, 0, peer_post(p, IB_WR_RDMA_WRITE, i, SIGNAL, &sge, 0,
						      RKEY));
	sge = peer_sge(mr, 0, 8);
	if (atomic) {
		struct ib_atomic_wr wr = {
			.wr = { .wr_id = i, .opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
				.send_flags = SIGNAL, .sg_list = &sge, .num_sge = 1 },
			.remote_addr = 0x1000, .rkey = RKEY,
		};
		const struct ib_send_wr *bad;

		KUNIT_ASSERT_EQ(p->test, 0,
				srnic_verbs_ops.post_send(&p->qp->ibqp, &wr.wr, &bad));
	} else {
		peer_post(p, IB_WR_RDMA_READ, i, SIGNAL, &sge, 0x1000, RKEY);
	}
	while (!READ_ONCE(p->qp->orq_tail)) {
		KUNIT_ASSERT_GT(p->test, peer_recv(p), 0);
		KUNIT_ASSERT_EQ(p->test, p->hdr.ulp, ULP_WRITE);
		usleep_range(500, 1000);
	}
	msleep(50);
	/*
	 * how much TCP has taken differs between kernels, so the end of the request is set far
	 * ahead
	 */
	WRITE_ONCE(p->qp->orq[0].end, srnic_stream_taken(p->qp->stream) + SZ_1M);
	WRITE_ONCE(p->qp->orq_out, 0);
	return big;
}

/* A response to a request not yet taken by TCP matches no request (E-16) and is not placed */
static void premature_response(struct kunit *test)
{
	u32 atomic;

	for (atomic = 0; atomic < 2; atomic++) {
		struct peer *p = peer_idle(test);
		u8 *big = stuck_request(p, atomic);
		struct ddp_hdr atomic_hdr = {
			.last = true, .version = 1, .ulp = 0x4b, .qn = 3, .msn = 1,
		};
		struct ddp_hdr read_hdr = HDR_READ_RESP(p->region[0].stag, p->region[0].base);
		u8 data[16] = { };

		put_unaligned_be32(PIECES, data + 4);	/* identifier: index of the WR */
		memset(data + 8, 0x77, 8);
		if (atomic)
			peer_send(p, &atomic_hdr, data + 4, 12);
		else
			peer_send(p, &read_hdr, data + 8, 8);
		do {
			int got = peer_recv(p);

			KUNIT_ASSERT_GT_MSG(test, got, 0, "atomic %u, QP state %d", atomic,
					    srnic_qp_state(p->qp));
		} while (p->hdr.ulp != ULP_TERMINATE);
		KUNIT_EXPECT_EQ(test, get_unaligned_be16(p->data), 0x0206);
		peer_close(p);
		peer_expect_closed(p, "premature", SRNIC_QP_ERROR);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(big, 0, PIECE), NULL);
		KUNIT_EXPECT_EQ(test, p->num_events, 1);
		peer_unregister(p, &p->region[0]);
		vfree(big);
	}
}

/* Shift the request's end, as if @gone bytes had been sent behind it */
static void sent_behind(struct peer *p, u32 gone)
{
	struct srnic_qp *qp = p->qp;
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	qp->orq[qp->orq_head & qp->orq_mask].end = srnic_stream_taken(qp->stream) - gone;
	srnic_unlock(&qp->sq_lock, flags);
}

/* A response may come late: this end keeps sending, and sequence numbers wrap */
static void late_response(struct kunit *test)
{
	static const u32 gone[] = { 0, SZ_1G, SZ_2G - 1, SZ_2G, SZ_2G + SZ_1M, 3U * SZ_1G,
				    U32_MAX };
	static const u32 len = 40;
	struct out out = out_open(test, 2);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(gone); i++) {
		post_read(&out, i, &len, 1, SIGNAL);
		expect_request(&out, 1 + i, 0, len, 0);
		/* the sender of the request has returned from TCP */
		KUNIT_ASSERT_TRUE(test, peer_until(READ_ONCE(out.p->qp->orq_out) == 1 + i));
		sent_behind(out.p, gone[i]);
		answer(&out, 0, len, 0x11 + i);
		peer_wc(out.p, out.p->scq, i, SRNIC_WC_SUCCESS);
		expect_placed(&out, 0, len, 0x11 + i);
	}
}

static struct kunit_case outbound_cases[] = {
	KUNIT_CASE(read_of_many_sges),
	KUNIT_CASE(ord_counts_each_request),
	KUNIT_CASE(fence_behind_many_sges),
	KUNIT_CASE(one_of_many_fails),
	KUNIT_CASE(flushed_between_responses),
	KUNIT_CASE(premature_response),
	KUNIT_CASE(late_response),
	{}
};

static struct kunit_suite outbound_suite = {
	.name = "srnic-outbound",
	.test_cases = outbound_cases,
};

kunit_test_suite(outbound_suite);
