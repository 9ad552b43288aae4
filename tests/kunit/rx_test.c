// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rx.c, place.c, read.c: reception, from a peer on a plain TCP socket. */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "engine/rx.h"
#include "peer.h"
#include "queue/srq.h"
#include "verbs/verbs.h"

#define M	0x8000
#define D	0x4000
#define R	0x2000
#define LR	SRNIC_LOCAL_READ
#define LW	SRNIC_LOCAL_WRITE
#define RR	SRNIC_REMOTE_READ
#define RW	SRNIC_REMOTE_WRITE
#define SINK	SRNIC_READ_SINK
#define ALL	(LR | LW | RR | RW | SINK)

#define SIZE	4096
#define FATAL	IB_EVENT_QP_FATAL
#define REQ	IB_EVENT_QP_REQ_ERR
#define ACCESS	IB_EVENT_QP_ACCESS_ERR
#define BY_WC	(-1)	/* the completion reports it, so there must be no event */

/* Which STag the peer uses */
enum target {
	GOOD, WRONG_KEY, WRONG_INDEX, ZERO, INVALID, FOREIGN, NO_RIGHT, TARGETS,
};

/* A connection, and memory with guard octets around it */
struct in {
	struct peer *p;
	u8 *mem;
	u32 stag[TARGETS];
	struct srnic_tpte *good;
};

/* @rdmac: a stream of version 0, which has markers */
static struct in in_open_as(struct kunit *test, bool rdmac)
{
	u8 *all = kunit_kzalloc(test, 3 * SIZE, GFP_KERNEL);	/* outlives the QP */
	struct srnic_tpte *tpte;
	struct in in;

	KUNIT_ASSERT_NOT_NULL(test, all);
	in.p = peer_idle(test);
	in.p->rdmac = rdmac;
	in.p->tx_markers = rdmac;
	in.p->rx_markers = rdmac;
	peer_connect(in.p, 2, 2);
	KUNIT_ASSERT_EQ(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS);
	memset(all, 0xa5, 3 * SIZE);
	in.mem = all + SIZE;
	in.good = peer_region(in.p, in.p->pd, in.mem, SIZE, ALL);
	in.stag[ZERO] = 0;
	in.stag[GOOD] = in.good->stag;
	in.stag[WRONG_KEY] = in.good->stag ^ 1;
	in.stag[WRONG_INDEX] = in.good->stag ^ 0x5a5a5a00;
	tpte = peer_region(in.p, in.p->pd, in.mem, SIZE, ALL);
	tpte->valid = false;
	in.stag[INVALID] = tpte->stag;
	in.stag[FOREIGN] = peer_region(in.p, fake_pd(test, in.p->dev), in.mem, SIZE, ALL)->stag;
	in.stag[NO_RIGHT] = peer_region(in.p, in.p->pd, in.mem, SIZE, LR | LW | SINK)->stag;
	return in;
}

static struct in in_open(struct kunit *test)
{
	return in_open_as(test, false);
}

static struct octets *octets_new(struct kunit *test)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, o);
	return o;
}

static void expect_untouched(struct kunit *test, const struct in *in, const char *what)
{
	KUNIT_EXPECT_PTR_EQ_MSG(test, memchr_inv(in->mem - SIZE, 0xa5, 3 * SIZE), NULL, "%s",
				what);
}

/* The peer made a mistake: Terminate, FIN, Error, everything flushed, one event */
static void expect_failed(struct kunit *test, struct in *in, const char *what, u16 code,
			  u16 hdrct, int event)
{
	struct peer *p = in->p;

	peer_expect_terminate(p, what, code, hdrct);
	peer_close(p);
	peer_expect_closed(p, what, SRNIC_QP_ERROR);
	peer_expect_event(p, what, event);
	KUNIT_EXPECT_TRUE_MSG(test, p->qp->term_valid && p->qp->term_local, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, srnic_counter(p->dev, SRNIC_CNT_TX_TERMINATE), 1,
			    "%s", what);
}

/*
 * RDMAC verbs Figure 24, with the codes of the RFCs, and in version 0 its own; AE-08 to AE-11,
 * AE-15, AE-17, MM-10, MR-16, TM-09
 */
static void bad_segments(struct kunit *test)
{
	static const struct {
		const char *what;
		struct ddp_hdr hdr;
		enum target target;
		s64 to;			/* from the start of the memory */
		u32 len;
		u8 disable;
		u16 code;
		u16 rdmac;		/* the code in version 0 */
		int event;
	} rows[] = {
		{ "unknown STag", HDR_WRITE(0, 0), WRONG_INDEX, 0, 8, 0, 0x1100, 0x1100, ACCESS },
		{ "wrong key", HDR_WRITE(0, 0), WRONG_KEY, 0, 8, 0, 0x1100, 0x1100, ACCESS },
		{ "STag 0", HDR_WRITE(0, 0), ZERO, 0, 8, 0, 0x1100, 0x1100, ACCESS },
		{ "Invalid STag", HDR_WRITE(0, 0), INVALID, 0, 8, 0, 0x1100, 0x1100, ACCESS },
		{ "another PD", HDR_WRITE(0, 0), FOREIGN, 0, 8, 0, 0x1102, 0x1102, ACCESS },
		{ "no Remote Write", HDR_WRITE(0, 0), NO_RIGHT, 0, 8, 0, 0x1100, 0x1102, ACCESS },
		{ "Write not enabled", HDR_WRITE(0, 0), GOOD, 0, 8, SRNIC_QP_WRITE_ENABLED,
		  0x1100, 0x1102, ACCESS },
		{ "past the end", HDR_WRITE(0, 0), GOOD, SIZE - 7, 8, 0, 0x1101, 0x1101, ACCESS },
		{ "before the start", HDR_WRITE(0, 0), GOOD, -1, 8, 0, 0x1101, 0x1101, ACCESS },
		{ "DDP version", { .tagged = true, .last = true, .version = 2,
		  .ulp = ULP_WRITE }, GOOD, 0, 8, 0, 0x1104, 0x1206, FATAL },
		{ "DDP version, untagged", { .last = true, .ulp = ULP_SEND, .msn = 1 },
		  GOOD, 0, 8, 0, 0x1206, 0x1206, FATAL },
		{ "RDMAP version", { .last = true, .version = 1, .ulp = 0x83, .msn = 1 },
		  GOOD, 0, 8, 0, 0x0205, 0x0205, FATAL },
		{ "opcode", { .last = true, .version = 1, .ulp = 0x4f, .msn = 1 },
		  GOOD, 0, 8, 0, 0x0206, 0x0206, FATAL },
		{ "Send, tagged", { .tagged = true, .last = true, .version = 1,
		  .ulp = ULP_SEND }, GOOD, 0, 8, 0, 0x0206, 0x0206, FATAL },
		{ "Read Response not asked for", HDR_READ_RESP(0, 0), GOOD, 0, 8, 0, 0x0206, 0x0206,
		  FATAL },
		{ "queue number", { .last = true, .version = 1, .ulp = ULP_SEND, .qn = 7,
		  .msn = 1 }, GOOD, 0, 8, 0, 0x1201, 0x1201, FATAL },
		{ "Send's MSN skips one", HDR_SEND(2), GOOD, 0, 8, 0, 0x1203, 0x1202, FATAL },
		{ "Send's MSN of the past", HDR_SEND(0), GOOD, 0, 8, 0, 0x1203, 0x1202, FATAL },
		{ "Send's MO", { .last = true, .version = 1, .ulp = ULP_SEND, .msn = 1,
		  .mo = 4 }, GOOD, 0, 8, 0, 0x1204, 0x1204, FATAL },
		{ "Read Request of many segments", { .version = 1, .ulp = ULP_READ_REQ,
		  .qn = 1, .msn = 1 }, GOOD, 0, 28, 0, 0x0207, 0x0207, REQ },
		{ "Read Request too small", HDR_READ_REQ(1), GOOD, 0, 27, 0, 0x02ff, 0x02ff, REQ },
		{ "Read Request too large", HDR_READ_REQ(1), GOOD, 0, 29, 0, 0x1205, 0x1205, REQ },
		{ "Read Request's MO", { .last = true, .version = 1, .ulp = ULP_READ_REQ,
		  .qn = 1, .msn = 1, .mo = 28 }, GOOD, 0, 28, 0, 0x1204, 0x1204, REQ },
		{ "Read Request's MSN skips one", HDR_READ_REQ(2), GOOD, 0, 28, 0, 0x1203, 0x1203,
		  REQ },
	};
	static const u8 data[32] = { 1, 2, 3, 4 };
	u32 n;

	for (n = 0; n < 2 * ARRAY_SIZE(rows); n++) {
		const u32 i = n / 2, rdmac = n % 2;
		struct in in = in_open_as(test, rdmac);
		struct ib_sge sge = peer_sge(in.good, 0, 64);
		struct ddp_hdr hdr = rows[i].hdr;

		if (hdr.tagged) {
			hdr.stag = in.stag[rows[i].target];
			hdr.to = in.good->base + rows[i].to;
		}
		in.p->qp->enables &= ~rows[i].disable;
		peer_post_recv(in.p, 1, &sge);
		peer_post_recv(in.p, 2, &sge);
		peer_send(in.p, &hdr, data, rows[i].len);
		expect_failed(test, &in, rows[i].what, rdmac ? rows[i].rdmac : rows[i].code, M | D,
			      rows[i].event);
		peer_flushes(in.p, in.p->rcq, 1, 2);
		expect_untouched(test, &in, rows[i].what);
	}
}

/* AE-11: a TO that wraps has a code of its own */
static void write_wraps(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr hdr = HDR_WRITE(in.stag[GOOD], ~0ULL - 6);

	peer_send(in.p, &hdr, "12345678", 8);
	expect_failed(test, &in, "wrap", 0x1103, M | D, ACCESS);
}

/* AE-16: the source of a Read, an error of RDMAP and not of DDP; TM-06: no response before it */
static void bad_reads(struct kunit *test)
{
	static const struct {
		const char *what;
		enum target target;
		s64 off;
		u32 size;
		u8 disable;
		u16 code;
	} rows[] = {
		{ "unknown STag", WRONG_INDEX, 0, 8, 0, 0x0100 },
		{ "wrong key", WRONG_KEY, 0, 8, 0, 0x0100 },
		{ "STag 0", ZERO, 0, 8, 0, 0x0100 },
		{ "Invalid STag", INVALID, 0, 8, 0, 0x0100 },
		{ "past the end", GOOD, 0, SIZE + 1, 0, 0x0101 },
		{ "before the start", GOOD, -1, 2, 0, 0x0101 },
		{ "no Remote Read", NO_RIGHT, 0, 8, 0, 0x0102 },
		{ "Read not enabled", GOOD, 0, 8, SRNIC_QP_READ_ENABLED, 0x0102 },
		{ "another PD", FOREIGN, 0, 8, 0, 0x0103 },
	};
	struct in in;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		in = in_open(test);
		in.p->qp->enables &= ~rows[i].disable;
		peer_read_request(in.p, 1, 0x1234, 0, rows[i].size, in.stag[rows[i].target],
				  in.good->base + rows[i].off);
		expect_failed(test, &in, rows[i].what, rows[i].code, M | D | R, ACCESS);
	}
	in = in_open(test);
	peer_read_request(in.p, 1, 0x1234, 0, 9, in.stag[GOOD], ~0ULL - 7);
	expect_failed(test, &in, "wrap", 0x0104, M | D | R, ACCESS);
}

/* AE-07: a Terminate for an error below DDP quotes nothing */
static void bad_fpdus(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr hdr = HDR_WRITE(in.stag[GOOD], in.good->base);
	struct octets *fpdu = octets_new(test);

	/* a good one, and the same with one bit of the payload changed */
	in.p->out.len = ddp_encode(in.p->out.at, &hdr);
	octets_add(test, &in.p->out, "12345678", 8);
	octets_fpdu(test, fpdu, &in.p->out);
	fpdu->at[17] ^= 4;
	peer_send_octets(in.p, fpdu->at, fpdu->len);
	expect_failed(test, &in, "CRC", 0x2002, 0, FATAL);
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_CRC_ERROR), 1);

	in = in_open(test);
	octets_from_hex(test, &in.p->out, "c140 00");
	octets_fpdu(test, fpdu, &in.p->out);
	peer_send_octets(in.p, fpdu->at, fpdu->len);
	expect_failed(test, &in, "shorter than its header", 0x2003, 0, FATAL);
}

/* AE-15: no receive WR for a Send; earlier messages are delivered (SR-18) */
static void no_receive(struct kunit *test)
{
	struct in in = in_open(test);
	struct ib_sge sge = peer_sge(in.good, 0, 64);
	struct ddp_hdr hdr = HDR_SEND(1);

	peer_post_recv(in.p, 1, &sge);
	peer_send(in.p, &hdr, "ab", 2);
	hdr.msn = 2;
	peer_send(in.p, &hdr, "cd", 2);
	KUNIT_EXPECT_EQ(test, peer_wc(in.p, in.p->rcq, 1, SRNIC_WC_SUCCESS).byte_len, 2);
	expect_failed(test, &in, "no receive WR", 0x1202, M | D, FATAL);
	KUNIT_EXPECT_EQ(test, memcmp(in.mem, "ab", 2), 0);
}

/* D-UNT-3: after 0xffffffff comes 0, on each queue; any other MSN is an error */
static void msn_wraps(struct kunit *test)
{
	static const u32 msn[] = { 0xfffffffe, 0xffffffff, 0, 1 };
	struct in in = in_open(test);
	struct ib_sge sge = peer_sge(in.good, 0, 64);
	struct ddp_hdr hdr = HDR_SEND(0);
	u32 i;

	in.p->qp->rx->msn[DDP_QN_SEND] = msn[0];
	in.p->qp->rx->msn[DDP_QN_READ_REQUEST] = msn[0];
	for (i = 0; i < ARRAY_SIZE(msn); i++) {
		peer_post_recv(in.p, i, &sge);
		hdr.msn = msn[i];
		hdr.last = false;
		hdr.mo = 0;
		peer_send(in.p, &hdr, "abc", 3);
		hdr.last = true;
		hdr.mo = 3;
		peer_send(in.p, &hdr, "de", 2);
		KUNIT_EXPECT_EQ(test, peer_wc(in.p, in.p->rcq, i, SRNIC_WC_SUCCESS).byte_len, 5);
		peer_read_request(in.p, msn[i], 7, 0, 8, in.stag[GOOD], in.good->base);
		peer_expect(in.p, ULP_READ_RESP, 8);
	}

	in = in_open(test);
	in.p->qp->rx->msn[DDP_QN_SEND] = 0xffffffff;
	for (i = 0; i < 2; i++)
		peer_post_recv(in.p, i, NULL);
	hdr = (struct ddp_hdr)HDR_SEND(0xffffffff);
	peer_send(in.p, &hdr, NULL, 0);
	peer_wc(in.p, in.p->rcq, 0, SRNIC_WC_SUCCESS);
	hdr.msn = 1;
	peer_send(in.p, &hdr, NULL, 0);
	expect_failed(test, &in, "MSN 1 in place of 0", 0x1203, M | D, FATAL);
}

/* RD-08, AE-17: no Read is accepted with an IRD of 0 */
static void no_reads(struct kunit *test)
{
	struct in in = in_open(test);

	in.p->qp->mpa.ird = 0;
	peer_read_request(in.p, 1, 1, 0, 8, in.stag[GOOD], in.good->base);
	expect_failed(test, &in, "IRD 0", 0x1202, M | D, REQ);
}

#define BIG	SZ_512K	/* does not fit into the buffers of the sockets */

/*
 * RD-08, AE-17: with IRD Reads under way one more is too many. TM-01, TM-04: the
 * response that is being sent ends with a whole FPDU, and the Terminate follows.
 */
static void too_many_reads(struct kunit *test)
{
	struct in in = in_open(test);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *tpte;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, big);
	tpte = peer_region(in.p, in.p->pd, big, BIG, RR);
	peer_read_request(in.p, 1, 1, 0, BIG, tpte->stag, tpte->base);
	KUNIT_ASSERT_GT(test, peer_recv(in.p), 0);
	for (i = 2; i <= 3; i++)
		peer_read_request(in.p, i, i, 0, BIG, tpte->stag, tpte->base);
	KUNIT_EXPECT_TRUE(test, peer_until(srnic_qp_state(in.p->qp) > SRNIC_QP_CLOSING));
	in.p->skip = ULP_READ_RESP;
	expect_failed(test, &in, "IRD + 1", 0x1202, M | D, REQ);
	KUNIT_EXPECT_GT(test, in.p->skipped, 0);
	KUNIT_EXPECT_LT(test, in.p->skipped, BIG);
	peer_unregister(in.p, tpte);
	vfree(big);
}

/* AE-09, AE-16, AE-17, RD-08 in version 0: Read Requests */
static void rdmac_reads(struct kunit *test)
{
	static const struct {
		const char *what;
		enum target target;
		s64 off;
		u8 disable;
		u16 code;
		u16 hdrct;
	} rows[] = {
		{ "unknown STag", WRONG_INDEX, 0, 0, 0x0100, M | D | R },
		{ "past the end", GOOD, SIZE - 7, 0, 0x0101, M | D | R },
		{ "no Remote Read", NO_RIGHT, 0, 0, 0x0102, M | D | R },
		{ "another PD", FOREIGN, 0, 0, 0x0103, M | D | R },
		{ "Read not enabled", GOOD, 0, SRNIC_QP_READ_ENABLED, 0x1201, M | D },
	};
	struct in in;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		in = in_open_as(test, true);
		in.p->qp->enables &= ~rows[i].disable;
		peer_read_request(in.p, 1, 0x1234, 0, 8, in.stag[rows[i].target],
				  in.good->base + rows[i].off);
		expect_failed(test, &in, rows[i].what, rows[i].code, rows[i].hdrct, ACCESS);
	}
	in = in_open_as(test, true);
	peer_read_request(in.p, 1, 0x1234, 0, 9, in.stag[GOOD], ~0ULL - 7);
	expect_failed(test, &in, "wrap", 0x0104, M | D | R, ACCESS);

	in = in_open_as(test, true);
	in.p->qp->mpa.ird = 0;
	peer_read_request(in.p, 1, 1, 0, 8, in.stag[GOOD], in.good->base);
	expect_failed(test, &in, "IRD 0", 0x1203, M | D, REQ);
}

/* AE-11, AE-15, TC-02 in version 0: Writes that wrap, and Sends without room */
static void rdmac_room(struct kunit *test)
{
	struct in in = in_open_as(test, true);
	struct ddp_hdr write = HDR_WRITE(in.stag[GOOD], ~0ULL - 6), send = HDR_SEND(1);
	struct ib_sge sge;

	peer_send(in.p, &write, "12345678", 8);
	expect_failed(test, &in, "wrap", 0x1103, M | D, ACCESS);

	in = in_open_as(test, true);
	peer_send(in.p, &send, "12345678", 8);
	expect_failed(test, &in, "no receive WR", 0x1202, M | D, FATAL);

	in = in_open_as(test, true);
	sge = peer_sge(in.good, 0, 7);
	peer_post_recv(in.p, 10, &sge);
	peer_send(in.p, &send, "12345678", 8);
	peer_wc(in.p, in.p->rcq, 10, SRNIC_WC_INVALID_LENGTH);
	expect_failed(test, &in, "too short", 0x0000, 0, BY_WC);
}

/* AE-07 in version 0: CRC, a length without room for a header, a marker that points elsewhere */
static void rdmac_fpdus(struct kunit *test)
{
	static const struct {
		const char *what;
		const char *fpdu;
		u16 code;
	} rows[] = {
		{ "CRC", "00000000 0012 4003 00000000 00000000 00000001 00000000 00000000",
		  0x0202 },
		{ "shorter than its header", "00000000 0003 c000 00 000000 382c6981",
		  0x1000 },
		{ "marker", "00000004 0012 4003 00000000 00000000 00000001 00000000 100ce379",
		  0x0203 },
	};
	struct octets *fpdu = octets_new(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in in = in_open_as(test, true);

		octets_from_hex(test, fpdu, rows[i].fpdu);
		peer_send_octets(in.p, fpdu->at, fpdu->len);
		expect_failed(test, &in, rows[i].what, rows[i].code, 0, FATAL);
	}
}

/* A stream of version 0, and its octets; it has no message for some WRs (RFC 7306) */
static void rdmac_stream(struct kunit *test)
{
	struct in in = in_open_as(test, true);
	struct ib_sge sge = peer_sge(in.good, 0, 1), sink = peer_sge(in.good, 64, 8);
	struct ddp_hdr send = HDR_SEND(1), write = HDR_WRITE(in.stag[GOOD], in.good->base);

	peer_post_recv(in.p, 1, &sink);
	peer_send(in.p, &write, "Z", 1);
	peer_send(in.p, &send, "12345678", 8);
	KUNIT_EXPECT_EQ(test, peer_wc(in.p, in.p->rcq, 1, SRNIC_WC_SUCCESS).byte_len, 8);
	KUNIT_EXPECT_EQ(test, memcmp(in.mem + 64, "12345678", 8), 0);
	KUNIT_EXPECT_EQ(test, peer_post(in.p, IB_WR_SEND, 2, IB_SEND_SIGNALED, &sge, 0, 0), 0);
	peer_expect(in.p, ULP_SEND, 1);
	octets_expect(test, "Send", in.p->in, 28,
		      "0013 4003 00000000 00000000 00000001 00000000 5a 000000 73e8ff87");
	peer_wc(in.p, in.p->scq, 2, SRNIC_WC_SUCCESS);
	peer_read_request(in.p, 1, 0x777, 0x5000, 1, in.stag[GOOD], in.good->base);
	peer_expect(in.p, ULP_READ_RESP, 1);
	KUNIT_EXPECT_EQ(test, in.p->data[0], 'Z');
	KUNIT_EXPECT_EQ(test, peer_post(in.p, IB_WR_RDMA_READ, 3, IB_SEND_SIGNALED, &sge, 0, 5), 0);
	peer_expect(in.p, ULP_READ_REQ, 28);
	write.ulp = ULP_READ_RESP;
	peer_send(in.p, &write, "Y", 1);
	peer_wc(in.p, in.p->scq, 3, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, in.mem[0], 'Y');

	KUNIT_EXPECT_EQ(test, peer_post(in.p, IB_WR_RDMA_WRITE_WITH_IMM, 4, IB_SEND_SIGNALED, &sge,
					0, 5), 0);
	peer_wc(in.p, in.p->scq, 4, SRNIC_WC_INVALID_WQE);
	expect_failed(test, &in, "Write with immediate data", 0x0000, 0, BY_WC);
}

/*
 * TC-02, CP-09, MR-14, ST-23: the receive WR completes with the error, the others are flushed; no
 * event
 */
static void bad_receives(struct kunit *test)
{
	static const struct {
		const char *what;
		enum target target;
		u64 off;
		u32 length;
		u16 code;
		enum srnic_wc_status want;
		enum ib_wc_status verbs;
	} rows[] = {
		{ "unknown STag", WRONG_INDEX, 0, 64, 0, SRNIC_WC_INVALID_STAG,
		  IB_WC_LOC_PROT_ERR },
		{ "wrong key", WRONG_KEY, 0, 64, 0, SRNIC_WC_INVALID_STAG, IB_WC_LOC_PROT_ERR },
		{ "Invalid STag", INVALID, 0, 64, 0, SRNIC_WC_INVALID_STAG, IB_WC_LOC_PROT_ERR },
		{ "past the end", GOOD, SIZE - 3, 64, 0, SRNIC_WC_BOUNDS, IB_WC_LOC_PROT_ERR },
		{ "another PD", FOREIGN, 0, 64, 0, SRNIC_WC_INVALID_PD, IB_WC_LOC_PROT_ERR },
		/* the code on the wire is from RFC 5041, the status from the RDMAC verbs */
		{ "too short", GOOD, 0, 3, 0x1205, SRNIC_WC_INVALID_LENGTH, IB_WC_LOC_LEN_ERR },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in in = in_open(test);
		struct ib_sge good = peer_sge(in.good, 0, 64);
		struct ib_sge sge = {
			in.good->base + rows[i].off, rows[i].length, in.stag[rows[i].target],
		};
		struct ddp_hdr hdr = HDR_SEND(1);
		struct ib_wc wc;

		peer_post_recv(in.p, 10, &sge);
		peer_post_recv(in.p, 11, &good);
		peer_send(in.p, &hdr, "12345678", 8);
		wc = peer_wc(in.p, in.p->rcq, 10, rows[i].want);
		KUNIT_EXPECT_EQ_MSG(test, wc.status, rows[i].verbs, "%s", rows[i].what);
		KUNIT_EXPECT_PTR_EQ(test, wc.qp, &in.p->qp->ibqp);
		expect_failed(test, &in, rows[i].what, rows[i].code,
			      rows[i].code ? M | D : 0, BY_WC);
		peer_flushes(in.p, in.p->rcq, 11, 1);
		KUNIT_EXPECT_EQ(test, in.mem[SIZE], 0xa5);
	}
}

/* TC-02: two causes that need a WQE written by hand: format and wrap */
static void bad_receive_wqes(struct kunit *test)
{
	u32 wraps;

	for (wraps = 0; wraps < 2; wraps++) {
		const char *what = wraps ? "wrap" : "format";
		struct in in = in_open(test);
		struct ib_sge sge = peer_sge(in.good, 0, 64);
		struct ddp_hdr hdr = HDR_SEND(1);
		struct srnic_rqe *rqe;

		if (wraps)
			sge.addr = U64_MAX - 3;
		peer_post_recv(in.p, 10, &sge);
		rqe = srnic_ring_slot(&in.p->qp->rq, 0);
		if (!wraps)
			rqe->num_sge = 0x80000000;
		peer_send(in.p, &hdr, "12345678", 8);
		peer_wc(in.p, in.p->rcq, 10, wraps ? SRNIC_WC_WRAP : SRNIC_WC_INVALID_WQE);
		expect_failed(test, &in, what, 0x0000, 0, BY_WC);
		expect_untouched(test, &in, what);
	}
}

/* AE-19: an RQ with an impossible index ends its QP when a message comes */
static void wild_index(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr hdr = HDR_SEND(1);

	in.p->qp->rq_posted += PEER_DEPTH + 1;
	peer_send(in.p, &hdr, "12345678", 8);
	expect_failed(test, &in, "wild index", 0x0207, 0, FATAL);
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_LOCAL_WR_ERROR), 1);
	peer_no_wc(in.p, in.p->rcq);
	expect_untouched(test, &in, "wild index");
}

static void read_only_receive(struct kunit *test)
{
	struct in in = in_open(test);
	struct ib_sge sge = peer_sge(in.good, 0, 64);
	struct ddp_hdr hdr = HDR_SEND(1);

	in.good->rights = LR | RW | RR | SINK;
	peer_post_recv(in.p, 10, &sge);
	peer_send(in.p, &hdr, "12345678", 8);
	peer_wc(in.p, in.p->rcq, 10, SRNIC_WC_ACCESS);
	expect_failed(test, &in, "no Local Write", 0, 0, BY_WC);
	expect_untouched(test, &in, "no Local Write");
}

/* TC-03, CP-10, MR-33, MR-34: STags that the peer may not invalidate */
static void bad_invalidates(struct kunit *test)
{
	static const struct {
		const char *what;
		enum target target;
		u8 enables;
		u32 windows;
		u16 code;
		u16 rdmac;		/* the code in version 0 */
		enum srnic_wc_status want;
		enum ib_wc_status verbs;
	} rows[] = {
		{ "unknown STag", WRONG_INDEX, 3, 0, 0x0209, 0x0100, SRNIC_WC_INVALID_STAG,
		  IB_WC_LOC_PROT_ERR },
		{ "wrong key", WRONG_KEY, 3, 0, 0x0209, 0x0100, SRNIC_WC_INVALID_STAG,
		  IB_WC_LOC_PROT_ERR },
		{ "STag 0", ZERO, 3, 0, 0x0209, 0x0100, SRNIC_WC_INVALID_STAG, IB_WC_LOC_PROT_ERR },
		{ "another PD", FOREIGN, 3, 0, 0x0109, 0x0103, SRNIC_WC_INVALIDATE,
		  IB_WC_REM_INV_REQ_ERR },
		{ "no remote right", NO_RIGHT, 3, 0, 0x0109, 0x0102, SRNIC_WC_INVALIDATE,
		  IB_WC_REM_INV_REQ_ERR },
		{ "nothing enabled", GOOD, SRNIC_QP_BIND_ENABLED, 0, 0x0109, 0x0102,
		  SRNIC_WC_INVALIDATE, IB_WC_REM_INV_REQ_ERR },
		{ "a window is bound", GOOD, 3, 1, 0x0109, 0x0109, SRNIC_WC_INVALIDATE,
		  IB_WC_REM_INV_REQ_ERR },
	};
	u32 n;

	for (n = 0; n < 2 * ARRAY_SIZE(rows); n++) {
		const u32 i = n / 2, rdmac = n % 2;
		struct in in = in_open_as(test, rdmac);
		struct ib_sge sge = peer_sge(in.good, 0, 64);
		struct ddp_hdr hdr = HDR_SEND(1);
		struct ib_wc wc;

		hdr.ulp = ULP_SEND_INV;
		hdr.inv_stag = in.stag[rows[i].target];
		in.good->windows = rows[i].windows;
		in.p->qp->enables = rows[i].enables;
		peer_post_recv(in.p, 10, &sge);
		peer_post_recv(in.p, 11, &sge);
		peer_send(in.p, &hdr, "12345678", 8);
		wc = peer_wc(in.p, in.p->rcq, 10, rows[i].want);
		KUNIT_EXPECT_EQ_MSG(test, wc.status, rows[i].verbs, "%s", rows[i].what);
		expect_failed(test, &in, rows[i].what, rdmac ? rows[i].rdmac : rows[i].code, M | D,
			      BY_WC);
		peer_flushes(in.p, in.p->rcq, 11, 1);
		KUNIT_EXPECT_TRUE_MSG(test, in.good->valid, "%s", rows[i].what);
		in.good->windows = 0;
	}
}

/* OR-04, OR-05, OR-09, OR-12, WR-09 to WR-12, WR-20, CP-01, CN-08: the four Sends */
static void sends(struct kunit *test)
{
	static const u8 ulp[] = { ULP_SEND, ULP_SEND_SE, ULP_SEND_INV, ULP_SEND_SE_INV };
	struct in in = in_open(test);
	struct peer *p = in.p;
	struct srnic_tpte *inv[2] = {
		peer_region(p, p->pd, in.mem, 1, RR), peer_region(p, p->pd, in.mem, 1, RW),
	};
	u32 i, want = 0;

	for (i = 0; i < 4; i++) {
		struct ib_sge sge = peer_sge(in.good, 100 * i, 100);

		peer_post_recv(p, 10 + i, &sge);
	}
	for (i = 0; i < 4; i++) {
		struct ddp_hdr hdr = HDR_SEND(i + 1), write = HDR_WRITE(in.stag[GOOD], 0);
		bool invalidates = i >= 2;
		u8 octets[9];
		struct ib_wc wc;

		memset(octets, i + 1, sizeof(octets));
		hdr.ulp = ulp[i];
		hdr.inv_stag = invalidates ? inv[i - 2]->stag : 0;
		write.to = in.good->base + 1000;
		srnic_cq_arm(&p->rcq->cq, SRNIC_ARM_SOLICITED, false);
		peer_send(p, &write, octets, 9);
		/* in two segments */
		hdr.last = false;
		peer_send(p, &hdr, octets, 4);
		peer_no_wc(p, p->rcq);
		/* not before all of the payload is there */
		if (invalidates)
			KUNIT_EXPECT_TRUE(test, inv[i - 2]->valid);
		hdr.last = true;
		hdr.mo = 4;
		peer_send(p, &hdr, octets, i + 1);
		wc = peer_wc(p, p->rcq, 10 + i, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, wc.byte_len, 5 + i);
		KUNIT_EXPECT_EQ(test, wc.opcode, IB_WC_RECV);
		KUNIT_EXPECT_PTR_EQ(test, wc.qp, &p->qp->ibqp);
		KUNIT_EXPECT_EQ(test, wc.wc_flags, invalidates ? IB_WC_WITH_INVALIDATE : 0);
		if (invalidates) {
			KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, inv[i - 2]->stag);
			KUNIT_EXPECT_FALSE(test, inv[i - 2]->valid);
		}
		KUNIT_EXPECT_EQ(test, memcmp(in.mem + 100 * i, octets, 5 + i), 0);
		KUNIT_EXPECT_EQ(test, in.mem[100 * i + 5 + i], 0xa5);
		KUNIT_EXPECT_EQ(test, memcmp(in.mem + 1000, octets, 9), 0);
		want += i % 2;	/* with SE */
		KUNIT_EXPECT_TRUE(test, peer_until(READ_ONCE(p->rcq->notified) == want));
	}
	KUNIT_EXPECT_EQ(test, p->num_events, 0);
}

/* OR-07, QP-09: a Read sees earlier Writes; Reads are answered in order */
static void reads(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr write = HDR_WRITE(in.stag[GOOD], in.good->base + 50);
	u32 i;

	for (i = 0; i < 20; i++) {
		u8 octets[20];

		memset(octets, i, sizeof(octets));
		peer_send(in.p, &write, octets, sizeof(octets));
		peer_read_request(in.p, 2 * i + 1, 0x777 + i, 0x5000 + i, 30, in.stag[GOOD],
				  in.good->base + 45);
		peer_read_request(in.p, 2 * i + 2, 0x888 + i, 0x6000 + i, 0, 0xbad, 0xbad);

		peer_expect(in.p, ULP_READ_RESP, 30);
		KUNIT_EXPECT_EQ(test, in.p->hdr.stag, 0x777 + i);
		KUNIT_EXPECT_EQ(test, in.p->hdr.to, 0x5000 + i);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(in.p->data, 0xa5, 5), NULL);
		KUNIT_EXPECT_EQ(test, memcmp(in.p->data + 5, octets, 20), 0);
		peer_expect(in.p, ULP_READ_RESP, 0);
		KUNIT_EXPECT_EQ(test, in.p->hdr.stag, 0x888 + i);
	}
	KUNIT_EXPECT_EQ(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS);
}

/* MR-19: an access of length 0 checks neither the target nor the QP's enables */
static void zero_length(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr write = HDR_WRITE(0xbadbad, 0xbad), send = HDR_SEND(1);
	struct ib_sge sge = { .addr = 0xbad, .lkey = 0xbad };

	in.p->qp->enables = 0;
	peer_post_recv(in.p, 1, &sge);
	peer_send(in.p, &write, NULL, 0);
	peer_read_request(in.p, 1, 5, 6, 0, 0xbadbad, 0xbad);
	peer_expect(in.p, ULP_READ_RESP, 0);
	peer_send(in.p, &send, NULL, 0);
	KUNIT_EXPECT_EQ(test, peer_wc(in.p, in.p->rcq, 1, SRNIC_WC_SUCCESS).byte_len, 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS);
}

/* MR-17: each of the QP's enables permits its own kind of access */
static void enables(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr write = HDR_WRITE(in.stag[GOOD], in.good->base);

	in.p->qp->enables = SRNIC_QP_READ_ENABLED;
	peer_read_request(in.p, 1, 5, 6, 3, in.stag[GOOD], in.good->base);
	peer_expect(in.p, ULP_READ_RESP, 3);
	in.p->qp->enables = SRNIC_QP_WRITE_ENABLED;
	peer_send(in.p, &write, "abc", 3);
	KUNIT_EXPECT_TRUE(test, peer_until(!memcmp(in.mem, "abc", 3)));
	peer_read_request(in.p, 2, 5, 6, 3, in.stag[GOOD], in.good->base);
	expect_failed(test, &in, "Read not enabled", 0x0102, M | D | R, ACCESS);
}

/* TM-03, TM-08: after the first bad segment no other is placed, delivered or reported */
static void after_an_error(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr bad = HDR_WRITE(in.stag[GOOD], in.good->base + SIZE);
	struct ddp_hdr worse = HDR_WRITE(in.stag[FOREIGN], in.good->base);
	struct ddp_hdr good = HDR_WRITE(in.stag[GOOD], in.good->base), send = HDR_SEND(1);
	struct ib_sge sge = peer_sge(in.good, 0, 64);
	struct octets *all = octets_new(test), *fpdu = octets_new(test);
	struct octets *ulpdu = octets_new(test);
	const struct ddp_hdr *hdr[] = { &bad, &good, &send, &worse };
	u32 i;

	/* all in one segment of TCP */
	for (i = 0; i < ARRAY_SIZE(hdr); i++) {
		ulpdu->len = ddp_encode(ulpdu->at, hdr[i]);
		octets_add(test, ulpdu, "12345678", 8);
		octets_fpdu(test, fpdu, ulpdu);
		octets_add(test, all, fpdu->at, fpdu->len);
		if (!i)
			in.p->out = *ulpdu;
	}
	peer_post_recv(in.p, 1, &sge);
	peer_send_octets(in.p, all->at, all->len);
	expect_failed(test, &in, "the first", 0x1101, M | D, ACCESS);
	expect_untouched(test, &in, "what came after it");
	peer_flushes(in.p, in.p->rcq, 1, 1);
}

/* TM-03: the first half of a message is in place when an error comes; it is never delivered */
static void half_before_an_error(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr first = HDR_SEND(1), last = HDR_SEND(1);
	struct ddp_hdr bad = HDR_WRITE(in.stag[GOOD], in.good->base + SIZE);
	struct ib_sge sge = peer_sge(in.good, 0, 64);
	struct octets *all = octets_new(test), *fpdu = octets_new(test);
	struct octets *ulpdu = octets_new(test);
	const struct ddp_hdr *hdr[] = { &bad, &last };
	u32 i;

	first.last = false;
	last.mo = 4;
	peer_post_recv(in.p, 1, &sge);
	peer_send(in.p, &first, "1234", 4);
	KUNIT_EXPECT_TRUE(test, peer_until(!memcmp(in.mem, "1234", 4)));
	/* the error, and the second half, in one segment of TCP */
	for (i = 0; i < ARRAY_SIZE(hdr); i++) {
		ulpdu->len = ddp_encode(ulpdu->at, hdr[i]);
		octets_add(test, ulpdu, "5678", 4);
		octets_fpdu(test, fpdu, ulpdu);
		octets_add(test, all, fpdu->at, fpdu->len);
		if (!i)
			in.p->out = *ulpdu;
	}
	peer_send_octets(in.p, all->at, all->len);
	expect_failed(test, &in, "between the halves", 0x1101, M | D, ACCESS);
	peer_flushes(in.p, in.p->rcq, 1, 1);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(in.mem + 4, 0xa5, 2 * SIZE - 4), NULL);
}

/*
 * MM-16: regions of the same memory, each with its own STag, rights and state. The end of two of
 * them, by invalidation and deregistration, changes nothing of a third.
 */
static void overlapping(struct kunit *test)
{
	struct in in = in_open(test);
	struct peer *p = in.p;
	struct srnic_tpte *read = peer_region(p, p->pd, in.mem, SIZE, LR | RR);
	struct srnic_tpte *other = peer_region(p, p->pd, in.mem + 8, SIZE - 8, ALL);
	struct ddp_hdr write = HDR_WRITE(other->stag, other->base), send = HDR_SEND(1);

	peer_post_recv(p, 1, NULL);
	peer_post_recv(p, 2, NULL);
	peer_post_recv(p, 3, NULL);
	peer_send(p, &write, "first...", 8);
	send.ulp = ULP_SEND_INV;
	send.inv_stag = other->stag;
	peer_send(p, &send, NULL, 0);
	peer_wc(p, p->rcq, 1, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(in.mem + 8, "first...", 8), 0);
	peer_unregister(p, read);
	KUNIT_EXPECT_FALSE(test, other->valid);
	KUNIT_EXPECT_TRUE(test, in.good->valid);
	write = (struct ddp_hdr)HDR_WRITE(in.stag[GOOD], in.good->base + 8);
	peer_send(p, &write, "second..", 8);
	send = (struct ddp_hdr)HDR_SEND(2);
	peer_send(p, &send, NULL, 0);
	peer_wc(p, p->rcq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(in.mem + 8, "second..", 8), 0);
	write = (struct ddp_hdr)HDR_WRITE(other->stag, other->base);
	peer_send(p, &write, "third...", 8);
	expect_failed(test, &in, "the one that is Invalid", 0x1100, M | D, ACCESS);
	KUNIT_EXPECT_EQ(test, memcmp(in.mem + 8, "second..", 8), 0);
	peer_flushes(p, p->rcq, 3, 1);
}

/* An FPDU may come in any pieces */
static void octet_by_octet(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr hdr = HDR_SEND(1);
	struct ib_sge sge = peer_sge(in.good, 0, 64);
	struct octets *fpdu = octets_new(test);
	u32 i;

	in.p->out.len = ddp_encode(in.p->out.at, &hdr);
	octets_add(test, &in.p->out, "123456789", 9);
	octets_fpdu(test, fpdu, &in.p->out);
	peer_post_recv(in.p, 1, &sge);
	for (i = 0; i < fpdu->len; i++) {
		peer_send_octets(in.p, fpdu->at + i, 1);
		msleep(20);
	}
	KUNIT_EXPECT_EQ(test, peer_wc(in.p, in.p->rcq, 1, SRNIC_WC_SUCCESS).byte_len, 9);
	KUNIT_EXPECT_EQ(test, memcmp(in.mem, "123456789", 9), 0);
}

/* ST-11, CM-06: octets received before the switch to FPDUs are not lost */
static void early(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct ddp_hdr hdr = HDR_SEND(1);
	struct socket *passive;
	u32 i;

	for (i = 0; i < 3; i++)
		peer_post_recv(p, i, NULL);
	peer_sockets(p, &passive);
	for (i = 0; i < 3; i++) {
		peer_send(p, &hdr, NULL, 0);
		hdr.msn++;
	}
	msleep(50);
	peer_no_wc(p, p->rcq);
	peer_attach(p, passive, 1, 1);
	for (i = 0; i < 3; i++)
		peer_wc(p, p->rcq, i, SRNIC_WC_SUCCESS);
}

/*
 * ST-24, AE-05, TM-10, QP-15: a Terminate is not answered by one; it is kept, marked as the
 * peer's
 */
static void terminated(struct kunit *test)
{
	static const u8 term[4] = { 0x11, 0x01, 0, 0 };
	struct ddp_hdr hdr = HDR_TERMINATE;
	struct peer *p = peer_open(test, 1, 1);

	peer_post_recv(p, 1, NULL);
	peer_send(p, &hdr, term, sizeof(term));
	peer_expect_end(p, "FIN without a Terminate", 0);
	peer_close(p);
	peer_expect_closed(p, "terminated", SRNIC_QP_ERROR);
	peer_expect_event(p, "terminated", FATAL);
	peer_flushes(p, p->rcq, 1, 1);
	KUNIT_EXPECT_TRUE(test, p->qp->term_valid);
	KUNIT_EXPECT_FALSE(test, p->qp->term_local);
	KUNIT_EXPECT_EQ(test, p->qp->term.err.layer, 1);
	KUNIT_EXPECT_EQ(test, p->qp->term.err.etype, 1);
	KUNIT_EXPECT_EQ(test, p->qp->term.err.code, 1);
}

/* CP-08, AE-03: a Terminate about our Read Request completes that Read, without an event */
static void read_terminated(struct kunit *test)
{
	struct in in = in_open(test);
	struct peer *p = in.p;
	struct ib_sge sge = peer_sge(in.good, 0, 8);
	struct ddp_hdr hdr = HDR_TERMINATE;
	struct octets *term = octets_new(test);
	u8 len[2];

	KUNIT_EXPECT_EQ(test, 0, peer_post(p, IB_WR_RDMA_READ, 1, IB_SEND_SIGNALED, &sge,
					   0x1000, 0x2000));
	peer_post(p, IB_WR_RDMA_WRITE, 2, 0, NULL, 0x1000, 0x2000);
	peer_expect(p, ULP_READ_REQ, 28);
	octets_from_hex(test, term, "0100 e000");
	put_unaligned_be16(p->in_len, len);
	octets_add(test, term, len, 2);
	octets_add(test, term, p->in + 2, 46);
	peer_send(p, &hdr, term->at, term->len);
	peer_expect(p, ULP_WRITE, 0);
	peer_expect_end(p, "FIN without a Terminate", 0);
	peer_close(p);
	peer_expect_closed(p, "terminated", SRNIC_QP_ERROR);
	peer_expect_event(p, "terminated", BY_WC);
	KUNIT_EXPECT_EQ(test, peer_wc(p, p->scq, 1, SRNIC_WC_REMOTE_TERMINATION).status,
			IB_WC_REM_ACCESS_ERR);
	/* unsignaled and behind an error, it completes all the same (WR-24) */
	peer_flushes(p, p->scq, 2, 1);
}

/* SR-21: only a kernel consumer's QP may use STag 0 in an SRQ's WQE */
static void shared_receive(struct kunit *test)
{
	u32 user;

	for (user = 0; user < 2; user++) {
		u8 *mem = kunit_kzalloc(test, 8, GFP_KERNEL);
		struct srnic_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
		struct ib_sge sge = { (uintptr_t)mem, 8, 0 };
		struct ib_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 };
		struct ib_srq_attr attr = { .max_wr = 2, .max_sge = 1 };
		struct in in = { .p = peer_idle(test) };
		struct ddp_hdr hdr = HDR_SEND(1);
		const struct ib_recv_wr *bad;

		KUNIT_ASSERT_NOT_NULL(test, mem);
		KUNIT_ASSERT_NOT_NULL(test, srq);
		srq->ibsrq.device = &in.p->dev->ibdev;
		srq->ibsrq.pd = in.p->pd;
		KUNIT_ASSERT_EQ(test, srnic_srq_create(srq, &attr, NULL), 0);
		in.p->qp->srq = srq;
		in.p->qp->kernel = !user;
		in.p->qp->privileged = !user;
		KUNIT_ASSERT_EQ(test, srnic_verbs_ops.post_srq_recv(&srq->ibsrq, &wr, &bad), 0);
		peer_connect(in.p, 1, 1);
		peer_send(in.p, &hdr, "abcdefgh", 8);
		if (user) {
			peer_wc(in.p, in.p->rcq, 7, SRNIC_WC_INVALID_STAG);
			peer_expect_terminate(in.p, "STag 0", 0, 0);
			KUNIT_EXPECT_PTR_EQ(test, memchr_inv(mem, 0, 8), NULL);
		} else {
			peer_wc(in.p, in.p->rcq, 7, SRNIC_WC_SUCCESS);
			KUNIT_EXPECT_EQ(test, memcmp(mem, "abcdefgh", 8), 0);
		}
		/* destroyed before its SRQ */
		peer_close(in.p);
		peer_expect_closed(in.p, "shared", user ? SRNIC_QP_ERROR : SRNIC_QP_IDLE);
		in.p->qp->kernel = true;
		KUNIT_EXPECT_EQ(test, srnic_qp_destroy(in.p->qp), 0);
		in.p->qp = NULL;
		srnic_srq_destroy(srq);
	}
}

static struct kunit_case rx_cases[] = {
	KUNIT_CASE(bad_segments),
	KUNIT_CASE(write_wraps),
	KUNIT_CASE(bad_reads),
	KUNIT_CASE(bad_fpdus),
	KUNIT_CASE(no_receive),
	KUNIT_CASE(msn_wraps),
	KUNIT_CASE(no_reads),
	KUNIT_CASE(too_many_reads),
	KUNIT_CASE(rdmac_reads),
	KUNIT_CASE(rdmac_room),
	KUNIT_CASE(rdmac_fpdus),
	KUNIT_CASE(rdmac_stream),
	KUNIT_CASE(bad_receives),
	KUNIT_CASE(bad_receive_wqes),
	KUNIT_CASE(wild_index),
	KUNIT_CASE(read_only_receive),
	KUNIT_CASE(bad_invalidates),
	KUNIT_CASE(sends),
	KUNIT_CASE(reads),
	KUNIT_CASE(zero_length),
	KUNIT_CASE(enables),
	KUNIT_CASE(after_an_error),
	KUNIT_CASE(half_before_an_error),
	KUNIT_CASE(overlapping),
	KUNIT_CASE(octet_by_octet),
	KUNIT_CASE(early),
	KUNIT_CASE(terminated),
	KUNIT_CASE(read_terminated),
	KUNIT_CASE(shared_receive),
	{}
};

static struct kunit_suite rx_suite = {
	.name = "srnic-rx",
	.test_cases = rx_cases,
};

kunit_test_suite(rx_suite);
