// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rx.c: a stream with markers, from a peer on a plain TCP socket. */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "engine/rx.h"
#include "engine/stream.h"
#include "peer.h"

#define RIGHTS	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_READ | SRNIC_REMOTE_WRITE)
#define SIZE	SZ_64K
#define STREAM	SZ_128K
#define FPDUS	1000

/* A connection, and memory */
struct in {
	struct peer *p;
	u8 *mem;
	struct srnic_tpte *mr;
};

static struct in in_open(struct kunit *test, bool tx_markers, bool crc)
{
	struct in in = { .mem = kunit_kzalloc(test, SIZE, GFP_KERNEL) };

	KUNIT_ASSERT_NOT_NULL(test, in.mem);	/* outlives the QP */
	in.p = peer_idle(test);
	in.p->rx_markers = true;
	in.p->tx_markers = tx_markers;
	in.p->no_crc = !crc;
	peer_connect(in.p, 2, 2);
	in.mr = peer_region(in.p, in.p->pd, in.mem, SIZE, RIGHTS);
	return in;
}

static struct octets *octets_new(struct kunit *test)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, o);
	return o;
}

/* A Write of @len octets, all @fill, to offset @off */
static void write_fpdu(struct kunit *test, const struct in *in, struct octets *fpdu, u32 off,
		       u32 len, u8 fill, u32 *pos)
{
	struct ddp_hdr hdr = HDR_WRITE(in->mr->stag, in->mr->base + off);
	struct octets *out = &in->p->out;

	out->len = ddp_encode(out->at, &hdr);
	KUNIT_ASSERT_LE(test, len, OCTETS_MAX - out->len);
	memset(out->at + out->len, fill, len);
	out->len += len;
	octets_fpdu_marked(test, fpdu, out, pos);
}

/* Write the stream: Writes one after the other. Return: its octets. */
static u32 make_stream(struct kunit *test, const struct in *in, u8 *stream, u8 *image)
{
	struct octets *fpdu = octets_new(test);
	DECLARE_BITMAP(phases, 128) = { };
	u32 i, pos = 0, off = 0, have = 0;

	for (i = 0; i < FPDUS; i++) {
		/* each length of a short one, and some with two markers */
		u32 len = i % 64 == 63 ? 980 : i % 61;

		KUNIT_ASSERT_LE(test, off + len, SIZE);
		set_bit((pos % 512 ? pos : pos + 4) % 512 / 4, phases);
		write_fpdu(test, in, fpdu, off, len, i + 1, &pos);
		KUNIT_ASSERT_LE(test, have + fpdu->len, STREAM);
		memcpy(stream + have, fpdu->at, fpdu->len);
		memset(image + off, i + 1, len);
		have += fpdu->len;
		off += len;
	}
	KUNIT_EXPECT_EQ(test, have, pos);
	/* no FPDU begins at 0, where a marker is */
	KUNIT_EXPECT_EQ(test, bitmap_weight(phases, 128), 127);
	kunit_kfree(test, fpdu);
	return have;
}

static void collect(struct srnic_qp *qp, const u8 *data, u32 len)
{
	struct srnic_cursor cur = srnic_cursor_at(data);

	while (len)
		len -= srnic_rx_collect(qp, &cur, len);
}

/* M-MRK-4 to M-MRK-8, M-TCP-2: FPDUs at each phase, in pieces of any size */
static void in_pieces(struct kunit *test)
{
	static const u32 pieces[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 100, 508, 511, 512, 513, 1024, STREAM,
	};
	u8 *stream = vmalloc(STREAM), *image = vzalloc(SIZE);
	u32 i, at, len;

	KUNIT_ASSERT_TRUE(test, stream && image);
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct in in = in_open(test, false, true);

		len = make_stream(test, &in, stream, image);
		/* the rx kthread sleeps: the stream is handed to the engine without the socket */
		for (at = 0; at < len; at += pieces[i])
			collect(in.p->qp, stream + at, min(pieces[i], len - at));
		KUNIT_EXPECT_EQ_MSG(test, memcmp(in.mem, image, SIZE), 0, "pieces of %u",
				    pieces[i]);
		KUNIT_EXPECT_EQ_MSG(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS, "pieces of %u",
				    pieces[i]);
		KUNIT_EXPECT_EQ(test, FPDUS,
				srnic_counter(in.p->dev, SRNIC_CNT_RX_FPDU));
	}
	vfree(stream);
	vfree(image);
}

/* M-MRK-3, M-MRK-7: through the socket, both ways: markers in RDMAP headers and messages */
static void both_ways(struct kunit *test)
{
	struct in in = in_open(test, true, true);
	struct ib_sge sge = peer_sge(in.mr, 1000, 64);
	struct ddp_hdr send = HDR_SEND(1);
	struct peer *p = in.p;
	u32 i;

	for (i = 0; i < SIZE; i++)
		in.mem[i] = i * 11;
	for (i = 1; i <= 2000 && bitmap_weight(p->phases, 128) < 127; i++) {
		u8 octets[60];

		memset(octets, i, sizeof(octets));
		peer_post_recv(p, i, &sge);
		send.msn = i;
		peer_send(p, &send, octets, i % 61);
		peer_read_request(p, i, i, 6, i % 101, in.mr->stag, in.mr->base + 2000);
		peer_expect(p, ULP_READ_RESP, i % 101);
		KUNIT_EXPECT_EQ(test, p->hdr.stag, i);
		KUNIT_EXPECT_EQ(test, memcmp(p->data, in.mem + 2000, i % 101), 0);
		KUNIT_EXPECT_EQ(test, peer_wc(p, p->rcq, i, SRNIC_WC_SUCCESS).byte_len, i % 61);
		KUNIT_EXPECT_EQ(test, memcmp(in.mem + 1000, octets, i % 61), 0);
	}
	KUNIT_EXPECT_EQ(test, bitmap_weight(p->phases, 128), 127);
}

/* Replace a marker of the FPDU at @pos, with the CRC recomputed, or not */
static void change_marker(struct kunit *test, struct octets *fpdu, u32 pos, u32 marker, bool crc)
{
	u32 at = -pos % 512;

	KUNIT_ASSERT_LE(test, at + 8, fpdu->len);
	put_unaligned_be32(marker, fpdu->at + at);
	if (crc)
		put_unaligned_le32(mpa_crc_final(mpa_crc_add(mpa_crc_start(), fpdu->at,
							     fpdu->len - 4)),
				   fpdu->at + fpdu->len - 4);
}

/* Send Writes until the stream is at @pos, then make the one with the marker */
static u32 fpdu_at(struct kunit *test, struct in *in, struct octets *fpdu, u32 pos)
{
	u32 at = 0;

	/* marker, length, DDP header and CRC are 24 octets */
	write_fpdu(test, in, fpdu, 0, pos - 24, 1, &at);
	KUNIT_ASSERT_EQ(test, at, pos);
	peer_send_octets(in->p, fpdu->at, fpdu->len);
	write_fpdu(test, in, fpdu, 2000, 30, 2, &at);
	return at;
}

/* M-MRK-1, M-MRK-2, M-MRK-5, M-MRK-7, M-CRC-5; E-32 if the CRC is good, else E-31 */
static void bad_markers(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 pos;	/* of the FPDU; its marker is at 512 */
		u32 marker;
		bool crc;
		u16 code;	/* 0: good */
	} rows[] = {
		{ "before, as it should be", 512, 0, true, 0 },
		{ "before, RESERVED", 512, 0xffff0000, true, 0 },
		{ "before, low bits", 512, 3, true, 0 },
		{ "before, 4", 512, 4, true, 0x2003 },
		{ "before, 512", 512, 512, true, 0x2003 },
		{ "before, 65532", 512, 65532, true, 0x2003 },
		{ "before, not in the CRC", 512, 0x10000, false, 0x2002 },
		{ "header, as it should be", 504, 8, true, 0 },
		{ "header, RESERVED", 504, 0x12340008, true, 0 },
		{ "header, low bits", 504, 11, true, 0 },
		{ "header, 0", 504, 0, true, 0x2003 },
		{ "header, 4 less", 504, 4, true, 0x2003 },
		{ "header, 4 more", 504, 12, true, 0x2003 },
		{ "header, 512 more", 504, 520, true, 0x2003 },
		{ "header, not in the CRC", 504, 12, false, 0x2002 },
		{ "payload, as it should be", 488, 24, true, 0 },
		{ "payload, 0", 488, 0, true, 0x2003 },
		{ "payload, 4 less", 488, 20, true, 0x2003 },
		{ "payload, 4 more", 488, 28, true, 0x2003 },
		{ "payload, not in the CRC", 488, 0x80000018, false, 0x2002 },
		/* 46 octets, and 2 of PAD */
		{ "before the CRC, as it should be", 464, 48, true, 0 },
		{ "before the CRC, 0", 464, 0, true, 0x2003 },
		{ "before the CRC, 4 more", 464, 52, true, 0x2003 },
		{ "before the CRC, not in it", 464, 44, false, 0x2002 },
	};
	struct octets *fpdu = octets_new(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in in = in_open(test, false, true);
		struct peer *p = in.p;

		fpdu_at(test, &in, fpdu, rows[i].pos);
		change_marker(test, fpdu, rows[i].pos, rows[i].marker, rows[i].crc);
		peer_post_recv(p, 1, NULL);
		peer_send_octets(p, fpdu->at, fpdu->len);
		if (!rows[i].code) {
			KUNIT_EXPECT_TRUE_MSG(test, peer_until(in.mem[2029] == 2), "%s",
					      rows[i].what);
			KUNIT_EXPECT_EQ_MSG(test, srnic_qp_state(p->qp), SRNIC_QP_RTS, "%s",
					    rows[i].what);
			continue;
		}
		peer_expect_terminate(p, rows[i].what, rows[i].code, 0);
		peer_close(p);
		peer_expect_closed(p, rows[i].what, SRNIC_QP_ERROR);
		peer_expect_event(p, rows[i].what, IB_EVENT_QP_FATAL);
		peer_flushes(p, p->rcq, 1, 1);
		/* octets behind a marker known to be wrong are not placed */
		if (rows[i].crc && rows[i].pos > 488)
			KUNIT_EXPECT_PTR_EQ_MSG(test, memchr_inv(in.mem + 2000, 0, 30), NULL,
						"%s", rows[i].what);
	}
}

/* Without CRC the engine does not wait for more, and ignores the CRC field (M-FPD-3, M-CRC-3) */
static void without_crc(struct kunit *test)
{
	struct octets *fpdu = octets_new(test);
	struct in in = in_open(test, false, false);
	u32 pos, at;

	pos = fpdu_at(test, &in, fpdu, 504);
	put_unaligned_be32(0x11223344, fpdu->at + fpdu->len - 4);
	peer_send_octets(in.p, fpdu->at, fpdu->len);
	KUNIT_EXPECT_TRUE(test, peer_until(in.mem[2029] == 2));

	at = -pos % 512;
	write_fpdu(test, &in, fpdu, 3000, 900, 3, &pos);
	put_unaligned_be32(at + 4, fpdu->at + at);
	peer_send_octets(in.p, fpdu->at, fpdu->len);
	peer_expect_terminate(in.p, "no CRC", 0x2003, 0);
	peer_close(in.p);
	peer_expect_closed(in.p, "no CRC", SRNIC_QP_ERROR);
}

static struct kunit_case rx_marker_cases[] = {
	KUNIT_CASE(in_pieces),
	KUNIT_CASE(both_ways),
	KUNIT_CASE(bad_markers),
	KUNIT_CASE(without_crc),
	{}
};

static struct kunit_suite rx_marker_suite = {
	.name = "srnic-rx-marker",
	.test_cases = rx_marker_cases,
};

kunit_test_suite(rx_marker_suite);
