// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/rdmap.c: the Terminate header (RFC 5040 4.8). */
#include <kunit/test.h>
#include "octets.h"
#include "wire/rdmap.h"

#define M	0x8000
#define D	0x4000
#define R	0x2000

/* Quoted segments: a Write of 8 octets to a bad STag, a Read Request */
#define BAD_WRITE		"0016 c140 deadbeef 0000000000000010 "
#define SEGMENT		"002e 4141 00000000 00000001 00000001 00000000 "
#define READ_REQUEST	"a1a2a3a4 0000000000001000 00002000 b1b2b3b4 00007f0000001000 "
#define ZEROS_24	"000000000000000000000000000000000000000000000000 "

/* Quote the Read Request of the golden frame */
static void quote_read_request(struct kunit *test, struct rdmap_term *term)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, o);
	octets_from_hex(test, o, SEGMENT READ_REQUEST);
	term->seg_len = get_unaligned_be16(o->at);
	term->ddp_len = 18;
	memcpy(term->ddp, o->at + 2, 18);
	memcpy(term->read_req, o->at + 20, 28);
	kunit_kfree(test, o);
}

/* Quote a Write of 8 octets to a bad STag */
static void quote_write(struct rdmap_term *term)
{
	static const struct ddp_hdr hdr = {
		.tagged = true, .last = true, .version = 1, .ulp = 0x40,
		.stag = 0xdeadbeef, .to = 0x10,
	};

	term->seg_len = 22;
	term->ddp_len = ddp_encode(term->ddp, &hdr);
}

static void expect_term_fpdu(struct kunit *test, const char *what,
			     const struct rdmap_term *term, const char *hex)
{
	static const struct ddp_hdr hdr = {
		.last = true, .version = 1, .ulp = 0x47, .qn = 2, .msn = 1,
	};
	struct octets *ulpdu = kunit_kzalloc(test, sizeof(*ulpdu), GFP_KERNEL);
	struct octets *fpdu = kunit_kzalloc(test, sizeof(*fpdu), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ulpdu);
	KUNIT_ASSERT_NOT_NULL(test, fpdu);
	ulpdu->len = ddp_encode(ulpdu->at, &hdr);
	ulpdu->len += rdmap_term_encode(ulpdu->at + ulpdu->len, term);
	octets_fpdu(test, fpdu, ulpdu);
	octets_expect(test, what, fpdu->at, fpdu->len, hex);
}

static void golden_encode(struct kunit *test)
{
	struct rdmap_term term = { };

	term.err = *rdmap_error(RDMAP_E_CRC, RDMAP_IETF);
	expect_term_fpdu(test, "2/0/02", &term,
			 "0016 4147 00000000 00000002 00000001 00000000 20020000 7fe42585");

	quote_write(&term);
	term.err = *rdmap_error(RDMAP_E_TAGGED_STAG, RDMAP_IETF);
	expect_term_fpdu(test, "1/1/00 with a Write", &term,
			 "0026 4147 00000000 00000002 00000001 00000000 1100c000 "
			 BAD_WRITE "4a758b98");

	quote_read_request(test, &term);
	term.err = *rdmap_error(RDMAP_E_READ_BOUNDS, RDMAP_IETF);
	expect_term_fpdu(test, "0/1/01 with a Read Request", &term,
			 "0046 4147 00000000 00000002 00000001 00000000 0101e000 "
			 SEGMENT READ_REQUEST "15445f4f");
}

/* Each error: the control word and the length (RFC 5040 Figure 8) */
static void encode_each_error(struct kunit *test)
{
	struct rdmap_term term = { };
	u8 buf[RDMAP_MAX_TERM_LEN];
	u32 n, len;

	quote_read_request(test, &term);
	for (n = 0; n < RDMAP_VERSIONS * RDMAP_ERR_COUNT; n++) {
		const u32 i = n / RDMAP_VERSIONS;
		const struct rdmap_error *err = rdmap_error(i, n % RDMAP_VERSIONS);

		term.err = *err;
		memset(buf, 0xa5, sizeof(buf));
		len = rdmap_term_encode(buf, &term);
		KUNIT_EXPECT_EQ_MSG(test, buf[0], err->layer << 4 | err->etype, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, buf[1], err->code, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, buf[2] << 8 | buf[3], err->hdrct, "%u", i);
		KUNIT_EXPECT_EQ_MSG(test, len,
				    err->hdrct & R ? 52 : err->hdrct & D ? 24 : 4, "%u", i);
	}
}

/* Combinations of M, D and R that the table lacks: nothing is misplaced */
static void encode_odd_hdrct(struct kunit *test)
{
	static const struct {
		u16 hdrct;
		const char *hex;
	} rows[] = {
		{ 0,	 "12340000" },
		{ R,	 "12340000" },			/* R needs D */
		{ M,	 "12348000 0016" },
		{ M | R, "12348000 0016" },
		{ D,	 "12344000 0000 c140 deadbeef 0000000000000010" },
		{ M | D, "1234c000 0016 c140 deadbeef 0000000000000010" },
		{ 0x1fff, "12340000" },			/* reserved (TRM-7) */
	};
	struct rdmap_term term = { };
	u8 buf[RDMAP_MAX_TERM_LEN];
	u32 i, len;

	quote_write(&term);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char what[16];

		snprintf(what, sizeof(what), "row %u", i);
		term.err.layer = 0x1;
		term.err.etype = 0x2;
		term.err.code = 0x34;
		term.err.hdrct = rows[i].hdrct;
		len = rdmap_term_encode(buf, &term);
		octets_expect(test, what, buf, len, rows[i].hex);
	}
	term.err.layer = 0xff;
	term.err.etype = 0;
	term.err.hdrct = 0;
	rdmap_term_encode(buf, &term);
	octets_expect(test, "layer too large", buf, 4, "f0340000");
}

static void expect_term(struct kunit *test, const char *what,
			const struct rdmap_term *got, u8 layer, u8 etype, u8 code,
			u16 hdrct, u16 seg_len, u8 ddp_len)
{
	KUNIT_EXPECT_EQ_MSG(test, got->err.layer, layer, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->err.etype, etype, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->err.code, code, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->err.hdrct, hdrct, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->seg_len, seg_len, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got->ddp_len, ddp_len, "%s", what);
}

static void decode_values(struct kunit *test)
{
	static const struct {
		const char *control, *quote;
		u8 layer, etype, code;
		u16 hdrct, seg_len;
		u8 ddp_len;
	} rows[] = {
		{ "20020000", "",	2, 0, 0x02, 0, 0, 0 },
		{ "1100c000", BAD_WRITE,	1, 1, 0x00, M | D, 22, 14 },
		{ "0101e000", SEGMENT READ_REQUEST,	0, 1, 0x01, M | D | R, 46, 18 },
		/* headers that are absent, sent as zeros (RFC 5040 7.1) */
		{ "20020000", ZEROS_24 ZEROS_24,	2, 0, 0x02, 0, 0, 0 },
		{ "1100c000", SEGMENT READ_REQUEST,	1, 1, 0x00, M | D, 46, 18 },
		/* reserved bits set (TRM-7) */
		{ "20021fff", "",	2, 0, 0x02, 0, 0, 0 },
		/* any code, any layer (TRM-6) */
		{ "00ff0000", "",	0, 0, 0xff, 0, 0, 0 },
		{ "ff7f0000", "",	15, 15, 0x7f, 0, 0, 0 },
		/* length without header, header without length */
		{ "11008000", "0016",	1, 1, 0x00, M, 22, 0 },
		{ "11004000", BAD_WRITE,	1, 1, 0x00, D, 0, 14 },
		/* announced, but absent */
		{ "0101e000", "",	0, 1, 0x01, 0, 0, 0 },
		{ "0101e000", "00",	0, 1, 0x01, 0, 0, 0 },
		{ "0101e000", "0016",	0, 1, 0x01, M, 22, 0 },
		{ "0101e000", "0016c140deadbeef00000000000000",
					0, 1, 0x01, M, 22, 0 },
		{ "0101e000", BAD_WRITE,	0, 1, 0x01, M | D, 22, 14 },
		/* R without D: nothing may follow */
		{ "0101a000", SEGMENT READ_REQUEST,	0, 1, 0x01, M, 46, 0 },
		{ "01012000", SEGMENT READ_REQUEST,	0, 1, 0x01, 0, 0, 0 },
	};
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct rdmap_term term;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, o);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char what[16];

		snprintf(what, sizeof(what), "row %u", i);
		octets_from_hex(test, o, rows[i].control);
		octets_add_hex(test, o, rows[i].quote);
		memset(&term, 0xa5, sizeof(term));
		KUNIT_EXPECT_EQ(test, rdmap_term_decode(o->at, o->len, &term), 0);
		expect_term(test, what, &term, rows[i].layer, rows[i].etype,
			    rows[i].code, rows[i].hdrct, rows[i].seg_len,
			    rows[i].ddp_len);
		if (rows[i].hdrct & D)
			KUNIT_EXPECT_EQ_MSG(test, 0,
					    memcmp(term.ddp, o->at + 6, term.ddp_len),
					    "row %u", i);
		if (rows[i].hdrct & R)
			KUNIT_EXPECT_EQ_MSG(test, 0,
					    memcmp(term.read_req, o->at + 6 + term.ddp_len, 28),
					    "row %u", i);
	}
}

static void decode_short(struct kunit *test)
{
	static const u8 buf[4] = { 0x20, 0x02, 0xe0, 0x00 };
	struct rdmap_term term;
	u32 len;

	for (len = 0; len < 4; len++) {
		memset(&term, 0xa5, sizeof(term));
		KUNIT_EXPECT_EQ(test, rdmap_term_decode(buf, len, &term), -EINVAL);
		expect_term(test, "short", &term, 0, 0, 0, 0, 0, 0);
	}
	KUNIT_EXPECT_EQ(test, rdmap_term_decode(buf, 4, &term), 0);
}

/*
 * Each M, D, R, each T, each length, with memory of just that length (for KASAN) and with two
 * different fillings behind it (for other kernels).
 */
static void decode_truncated(struct kunit *test)
{
	u32 bits, tagged, len;

	for (bits = 0; bits < 8; bits++) {
		for (tagged = 0; tagged < 2; tagged++) {
			for (len = 4; len <= 64; len++) {
				bool m = bits & 4, d = bits & 2, r = bits & 1;
				u32 hdr = tagged ? 14 : 18;
				u16 want = 0;
				struct rdmap_term term;
				u8 *buf = kunit_kmalloc(test, len, GFP_KERNEL);

				KUNIT_ASSERT_NOT_NULL(test, buf);
				memset(buf, 0x11, len);
				buf[0] = 0x01;
				buf[1] = 0x01;
				buf[2] = bits << 5;
				if (len > 6)
					buf[6] = tagged ? 0xc1 : 0x41;
				if (m && len >= 6)
					want |= M;
				if (d && len >= 6 + hdr)
					want |= D;
				if (d && r && len >= 6 + hdr + 28)
					want |= R;
				KUNIT_EXPECT_EQ(test, rdmap_term_decode(buf, len, &term), 0);
				KUNIT_EXPECT_EQ_MSG(test, term.err.hdrct, want,
						    "bits %u, T %u, %u octets", bits,
						    tagged, len);
				KUNIT_EXPECT_EQ(test, term.ddp_len, want & D ? hdr : 0);
				kunit_kfree(test, buf);
			}
		}
	}
}

/* Any octets, any length: nothing behind them is read, and what is read encodes back */
static void decode_random(struct kunit *test)
{
	u8 buf[128], again[RDMAP_MAX_TERM_LEN];
	u32 seed = 7306, round, i, len;
	struct rdmap_term a, b;

	for (round = 0; round < 100000; round++) {
		int status;

		len = octets_random(&seed) % 80;
		for (i = 0; i < len; i++)
			buf[i] = octets_random(&seed);
		memset(buf + len, 0x00, sizeof(buf) - len);
		status = rdmap_term_decode(buf, len, &a);
		memset(buf + len, 0xff, sizeof(buf) - len);
		if (status != rdmap_term_decode(buf, len, &b) || memcmp(&a, &b, sizeof(a)))
			KUNIT_FAIL(test, "round %u: read beyond %u octets", round, len);
		if (status != (len < 4 ? -EINVAL : 0))
			KUNIT_FAIL(test, "round %u: %d for %u octets", round, status, len);
		if (status)
			continue;
		i = rdmap_term_encode(again, &a);
		if (i > len || i > sizeof(again) ||
		    rdmap_term_decode(again, i, &b) || memcmp(&a, &b, sizeof(a)))
			KUNIT_FAIL(test, "round %u: does not encode back", round);
	}
}

static struct kunit_case rdmap_term_cases[] = {
	KUNIT_CASE(golden_encode),
	KUNIT_CASE(encode_each_error),
	KUNIT_CASE(encode_odd_hdrct),
	KUNIT_CASE(decode_values),
	KUNIT_CASE(decode_short),
	KUNIT_CASE(decode_truncated),
	KUNIT_CASE(decode_random),
	{}
};

static struct kunit_suite rdmap_term_suite = {
	.name = "srnic-rdmap-term",
	.test_cases = rdmap_term_cases,
};

kunit_test_suite(rdmap_term_suite);
