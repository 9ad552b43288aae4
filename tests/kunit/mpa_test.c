// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/mpa.c: FPDU sizes, CRC, start-up frames. */
#include <kunit/test.h>
#include "octets.h"
#include "wire/mpa.h"

#define NO_NEG		0x3fff
#define ZEROS_24	"000000000000000000000000000000000000000000000000"

static const u16 depths[] = { 0, 1, 8, 255, 16382, NO_NEG };

/* FPDU sizes (RFC 5044 4.1, 4.5) */

static void mulpdu_values(struct kunit *test)
{
	static const struct {
		u32 emss, without, with;
	} rows[] = {
		{ 0, 128, 128 }, { 1, 128, 128 }, { 88, 128, 128 },
		{ 133, 128, 128 }, { 134, 128, 128 }, { 135, 128, 128 },
		{ 136, 130, 128 }, { 137, 130, 128 }, { 139, 130, 128 },
		{ 140, 134, 130 }, { 144, 138, 134 },
		{ 512, 506, 502 }, { 513, 506, 498 }, { 516, 510, 502 },
		{ 536, 530, 522 },
		{ 1024, 1018, 1010 }, { 1025, 1018, 1006 },
		{ 1220, 1214, 1202 },
		{ 1447, 1438, 1426 }, { 1448, 1442, 1430 }, { 1449, 1442, 1430 },
		{ 1460, 1454, 1442 },
		{ 8948, 8942, 8870 },
		{ 64772, 64766, 64258 }, { 64774, 64766, 64258 },
		{ 64776, 64768, 64262 }, { 65288, 64768, 64768 },
		{ 65284, 64768, 64766 },
		{ 65535, 64768, 64768 }, { 0x7fffffff, 64768, 64768 },
		{ 0xffffffff, 64768, 64768 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ_MSG(test, mpa_mulpdu(rows[i].emss, false),
				    rows[i].without, "EMSS %u, no markers", rows[i].emss);
		KUNIT_EXPECT_EQ_MSG(test, mpa_mulpdu(rows[i].emss, true),
				    rows[i].with, "EMSS %u, markers", rows[i].emss);
	}
}

/* The formula as it is printed (M-SIZ-1, M-SIZ-2, M-DDP-2), for each EMSS */
static void mulpdu_formula(struct kunit *test)
{
	int emss;

	for (emss = 88; emss <= 65535; emss++) {
		int without = emss - (6 + emss % 4);
		int with = emss - (6 + 4 * ((emss + 511) / 512) + emss % 4);

		without = without < 128 ? 128 : without > 64768 ? 64768 : without;
		with = with < 128 ? 128 : with > 64768 ? 64768 : with;
		if (mpa_mulpdu(emss, false) != without)
			KUNIT_FAIL(test, "EMSS %d, no markers: %u, not %d", emss,
				   mpa_mulpdu(emss, false), without);
		if (mpa_mulpdu(emss, true) != with)
			KUNIT_FAIL(test, "EMSS %d, markers: %u, not %d", emss,
				   mpa_mulpdu(emss, true), with);
	}
}

/* Its purpose: an FPDU of MULPDU octets fits one segment, at any marker phase */
static void mulpdu_fits(struct kunit *test)
{
	u32 emss, phase;

	for (emss = 148; emss <= 65535; emss++) {
		if (mpa_fpdu_len(mpa_mulpdu(emss, false)) > emss)
			KUNIT_FAIL(test, "EMSS %u, no markers", emss);
	}
	for (emss = 148; emss <= 9000; emss += emss < 2100 ? 1 : 97) {
		for (phase = 0; phase < 512; phase += 4) {
			u32 left = mpa_fpdu_len(mpa_mulpdu(emss, true));
			u32 at = phase;

			/* a marker is due where the stream position is a multiple of 512 */
			while (left) {
				at += at % 512 ? 4 : 8;
				left -= 4;
			}
			if (at - phase > emss)
				KUNIT_FAIL(test, "EMSS %u, markers, phase %u: %u",
					   emss, phase, at - phase);
		}
	}
}

static void pad_and_fpdu_len(struct kunit *test)
{
	static const u8 pads[] = { 2, 1, 0, 3 };	/* after 0, 1, 2, 3 octets */
	u32 len;

	for (len = 0; len <= 65535; len++) {
		if (mpa_pad(len) != pads[len % 4])
			KUNIT_FAIL(test, "pad after %u octets: %u", len, mpa_pad(len));
		if (mpa_fpdu_len(len) != 2 + len + pads[len % 4] + 4)
			KUNIT_FAIL(test, "FPDU of %u octets: %u", len, mpa_fpdu_len(len));
	}
	KUNIT_EXPECT_EQ(test, mpa_fpdu_len(14), 20);
	KUNIT_EXPECT_EQ(test, mpa_fpdu_len(22), 28);
	KUNIT_EXPECT_EQ(test, mpa_fpdu_len(46), 52);
	KUNIT_EXPECT_EQ(test, mpa_fpdu_len(70), 76);
}

/* CRC (RFC 5044 4.4) */

static void expect_crc(struct kunit *test, const char *what, const char *covered,
		       const char *crc)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	u8 field[4];

	KUNIT_ASSERT_NOT_NULL(test, o);
	octets_from_hex(test, o, covered);
	put_unaligned_le32(mpa_crc_final(mpa_crc_add(mpa_crc_start(), o->at, o->len)),
			   field);
	octets_expect(test, what, field, 4, crc);
}

static void crc_values(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, 0xe3069283,
			mpa_crc_final(mpa_crc_add(mpa_crc_start(), "123456789", 9)));
	expect_crc(test, "nothing", "", "00000000");
	/* RFC 3720 B.4 */
	expect_crc(test, "32 zeros",
		   "0000000000000000000000000000000000000000000000000000000000000000",
		   "aa36918a");
	expect_crc(test, "32 ones",
		   "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		   "43aba862");
	expect_crc(test, "32 ascending",
		   "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
		   "4e79dd46");
	/* RFC 5044 Figure 5: the marker before the FPDU is in its CRC */
	expect_crc(test, "Figure 5",
		   "00000000 002a4143 00000000 00000000 00000001 00000000 " ZEROS_24,
		   "52239983");
	/* RFC 5044 Figure 6: the marker inside */
	expect_crc(test, "Figure 6",
		   "002a4143 00000000 00000000 00000002 00000000 00000014 " ZEROS_24,
		   "84925898");
}

static void crc_in_pieces(struct kunit *test)
{
	static const char text[] = "123456789";
	u32 first, second;

	for (first = 0; first <= 9; first++) {
		for (second = first; second <= 9; second++) {
			u32 crc = mpa_crc_start();

			crc = mpa_crc_add(crc, text, first);
			crc = mpa_crc_add(crc, text + first, second - first);
			crc = mpa_crc_add(crc, text + second, 9 - second);
			KUNIT_EXPECT_EQ_MSG(test, mpa_crc_final(crc), 0xe3069283,
					    "cut at %u and %u", first, second);
		}
	}
}

/* Start-up frames (RFC 5044 7.1.1, RFC 6581 9) */

static const struct {
	const char *what;
	enum mpa_role role;
	struct mpa_hello hello;
	const char *hex;
} golden[] = {
	{
		"v1 Request, C", MPA_REQUEST,
		{ .crc = true, .rev = 1, .ird = NO_NEG, .ord = NO_NEG },
		"4d504120494420526571204672616d65 40010000",
	}, {
		"v1 Request, M, 512 octets to follow", MPA_REQUEST,
		{ .markers = true, .rev = 1, .pd_len = 512, .ird = NO_NEG, .ord = NO_NEG },
		"4d504120494420526571204672616d65 80010200",
	}, {
		"v1 Reply, C R", MPA_REPLY,
		{ .crc = true, .reject = true, .rev = 1, .ird = NO_NEG, .ord = NO_NEG },
		"4d504120494420526570204672616d65 60010000",
	}, {
		"v2 Request, C S, A C D, IRD 8, ORD 8, 2 octets to follow", MPA_REQUEST,
		{ .crc = true, .enhanced = true, .rev = 2, .pd_len = 6, .p2p = true,
		  .rtr = MPA_RTR_WRITE | MPA_RTR_READ, .ird = 8, .ord = 8 },
		"4d504120494420526571204672616d65 50020006 8008c008",
	}, {
		"v2 Reply, C S, A C, IRD 8, ORD 4", MPA_REPLY,
		{ .crc = true, .enhanced = true, .rev = 2, .pd_len = 4, .p2p = true,
		  .rtr = MPA_RTR_WRITE, .ird = 8, .ord = 4 },
		"4d504120494420526570204672616d65 50020004 80088004",
	}, {
		"v2 Reply, all flags, no negotiation", MPA_REPLY,
		{ .markers = true, .crc = true, .reject = true, .enhanced = true,
		  .rev = 2, .pd_len = 512, .p2p = true,
		  .rtr = MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
		  .ird = NO_NEG, .ord = NO_NEG },
		"4d504120494420526570204672616d65 f0020200 ffffffff",
	}, {
		"v2 Request, S, client-server, IRD 16382, ORD 0", MPA_REQUEST,
		{ .enhanced = true, .rev = 2, .pd_len = 4, .ird = 16382 },
		"4d504120494420526571204672616d65 10020004 3ffe0000",
	}, {
		"v2 Request without S", MPA_REQUEST,
		{ .crc = true, .rev = 2, .ird = NO_NEG, .ord = NO_NEG },
		"4d504120494420526571204672616d65 40020000",
	},
};

static void expect_hello(struct kunit *test, const char *what,
			 const struct mpa_hello *got, const struct mpa_hello *want)
{
	KUNIT_EXPECT_EQ_MSG(test, got->markers, want->markers, "%s: M", what);
	KUNIT_EXPECT_EQ_MSG(test, got->crc, want->crc, "%s: C", what);
	KUNIT_EXPECT_EQ_MSG(test, got->reject, want->reject, "%s: R", what);
	KUNIT_EXPECT_EQ_MSG(test, got->enhanced, want->enhanced, "%s: S", what);
	KUNIT_EXPECT_EQ_MSG(test, got->large, want->large, "%s: large FPDUs", what);
	KUNIT_EXPECT_EQ_MSG(test, got->rev, want->rev, "%s: Rev", what);
	KUNIT_EXPECT_EQ_MSG(test, got->pd_len, want->pd_len, "%s: PD_Length", what);
	KUNIT_EXPECT_EQ_MSG(test, got->p2p, want->p2p, "%s: A", what);
	KUNIT_EXPECT_EQ_MSG(test, got->rtr, want->rtr, "%s: RTR", what);
	KUNIT_EXPECT_EQ_MSG(test, got->ird, want->ird, "%s: IRD", what);
	KUNIT_EXPECT_EQ_MSG(test, got->ord, want->ord, "%s: ORD", what);
}

static void hello_golden_encode(struct kunit *test)
{
	u8 buf[MPA_HELLO_LEN + MPA_ENH_LEN + 1];
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		memset(buf, 0xa5, sizeof(buf));
		len = mpa_hello_encode(buf, golden[i].role, &golden[i].hello);
		octets_expect(test, golden[i].what, buf, len, golden[i].hex);
		KUNIT_EXPECT_EQ_MSG(test, buf[len], 0xa5, "%s: wrote beyond",
				    golden[i].what);
	}
}

static void hello_golden_decode(struct kunit *test)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct mpa_hello hello;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, o);
	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		octets_from_hex(test, o, golden[i].hex);
		memset(&hello, 0xa5, sizeof(hello));
		KUNIT_EXPECT_EQ_MSG(test, MPA_OK,
				    mpa_hello_decode(o->at, golden[i].role, &hello),
				    "%s", golden[i].what);
		if (golden[i].hello.enhanced)
			KUNIT_EXPECT_EQ_MSG(test, MPA_OK,
					    mpa_enhanced_decode(o->at + 20, &hello),
					    "%s", golden[i].what);
		expect_hello(test, golden[i].what, &hello, &golden[i].hello);
	}
}

/* M-REQ-1, M-STA-5: each single-bit error in the key, and the key of the other role */
static void hello_key(struct kunit *test)
{
	static const char *const keys[] = { "MPA ID Req Frame", "MPA ID Rep Frame" };
	struct mpa_hello hello;
	u8 buf[20] = { };
	u32 role, bit;

	buf[16] = 0x40;
	buf[17] = 1;
	for (role = MPA_REQUEST; role <= MPA_REPLY; role++) {
		memcpy(buf, keys[role], 16);
		KUNIT_EXPECT_EQ(test, mpa_hello_decode(buf, role, &hello), MPA_OK);
		KUNIT_EXPECT_EQ(test, MPA_BAD_KEY,
				mpa_hello_decode(buf, role ^ 1, &hello));
		for (bit = 0; bit < 128; bit++) {
			buf[bit / 8] ^= 1 << bit % 8;
			KUNIT_EXPECT_EQ_MSG(test, MPA_BAD_KEY,
					    mpa_hello_decode(buf, role, &hello),
					    "role %u, bit %u", role, bit);
			buf[bit / 8] ^= 1 << bit % 8;
		}
	}
}

static void fill_hello(u8 *buf, enum mpa_role role, u16 flags, u16 pd_len)
{
	memcpy(buf, role == MPA_REQUEST ? "MPA ID Req Frame" : "MPA ID Rep Frame", 16);
	put_unaligned_be16(flags, buf + 16);
	put_unaligned_be16(pd_len, buf + 18);
}

static void hello_revision(struct kunit *test)
{
	struct mpa_hello hello;
	u32 rev, role;
	u8 buf[20];

	for (role = MPA_REQUEST; role <= MPA_REPLY; role++) {
		for (rev = 0; rev <= 255; rev++) {
			fill_hello(buf, role, 0x4000 | rev, 0);
			KUNIT_EXPECT_EQ_MSG(test, mpa_hello_decode(buf, role, &hello),
					    rev == 1 || rev == 2 ? MPA_OK : MPA_BAD_REV,
					    "revision %u", rev);
			KUNIT_EXPECT_EQ_MSG(test, hello.rev, rev, "revision %u", rev);
		}
	}
}

static void hello_pd_length(struct kunit *test)
{
	struct mpa_hello hello;
	u32 len, role;
	u8 buf[20];

	for (role = MPA_REQUEST; role <= MPA_REPLY; role++) {
		for (len = 0; len <= 65535; len++) {
			enum mpa_status plain_want = len <= 512 ? MPA_OK : MPA_BAD_PD_LEN;
			enum mpa_status enh_want = len < 4 ? MPA_BAD_PD_LEN : plain_want;
			enum mpa_status got;

			fill_hello(buf, role, 0x4001, len);
			got = mpa_hello_decode(buf, role, &hello);
			if (got != plain_want || hello.pd_len != len)
				KUNIT_FAIL(test, "Rev 1, %u: %u", len, got);

			/* S is a reserved bit in revision 1 */
			fill_hello(buf, role, 0x5001, len);
			got = mpa_hello_decode(buf, role, &hello);
			if (got != plain_want || hello.enhanced)
				KUNIT_FAIL(test, "Rev 1 with S, %u: %u", len, got);

			fill_hello(buf, role, 0x4002, len);
			got = mpa_hello_decode(buf, role, &hello);
			if (got != plain_want || hello.enhanced)
				KUNIT_FAIL(test, "Rev 2, %u: %u", len, got);

			fill_hello(buf, role, 0x5002, len);
			got = mpa_hello_decode(buf, role, &hello);
			if (got != enh_want || !hello.enhanced || hello.pd_len != len)
				KUNIT_FAIL(test, "Rev 2 with S, %u: %u", len, got);
		}
	}
	for (len = 511; len <= 513; len++) {
		fill_hello(buf, MPA_REQUEST, 0x5002, len);
		KUNIT_EXPECT_EQ_MSG(test, mpa_hello_decode(buf, MPA_REQUEST, &hello),
				    len == 513 ? MPA_BAD_PD_LEN : MPA_OK, "%u", len);
	}
}

/* The key is checked before the revision, the revision before the length */
static void hello_precedence(struct kunit *test)
{
	struct mpa_hello hello;
	u8 buf[20];

	fill_hello(buf, MPA_REQUEST, 0x4000, 513);
	KUNIT_EXPECT_EQ(test, mpa_hello_decode(buf, MPA_REQUEST, &hello), MPA_BAD_REV);
	buf[3] = 'x';
	KUNIT_EXPECT_EQ(test, mpa_hello_decode(buf, MPA_REQUEST, &hello), MPA_BAD_KEY);
}

/* All flags with all reserved bits (M-REQ-2 to M-REQ-4) */
static void hello_flags(struct kunit *test)
{
	struct mpa_hello hello;
	u32 flags, rev, role;
	u8 buf[20];

	for (role = MPA_REQUEST; role <= MPA_REPLY; role++) {
		for (rev = 1; rev <= 2; rev++) {
			for (flags = 0; flags <= 0xff; flags++) {
				struct mpa_hello want = {
					.markers = flags & 0x80,
					.crc = flags & 0x40,
					.reject = flags & 0x20 && role == MPA_REPLY,
					.enhanced = flags & 0x10 && rev == 2,
					/* an offer; an answer, which is no echo */
					.large = (flags & 3) == (role == MPA_REQUEST ? 1 : 2),
					.rev = rev, .pd_len = 4,
					.ird = NO_NEG, .ord = NO_NEG,
				};
				char what[32];

				snprintf(what, sizeof(what), "role %u rev %u flags %02x",
					 role, rev, flags);
				fill_hello(buf, role, flags << 8 | rev, 4);
				KUNIT_EXPECT_EQ_MSG(test, MPA_OK,
						    mpa_hello_decode(buf, role, &hello),
						    "%s", what);
				expect_hello(test, what, &hello, &want);
			}
		}
	}
}

/* Each combination of A to D leaves IRD and ORD unchanged (V2-4, V2-13) */
static void enhanced_decode(struct kunit *test)
{
	u32 flags, i, j;
	u8 buf[4];

	for (flags = 0; flags < 16; flags++) {
		bool a = flags & 8, b = flags & 4, c = flags & 2, d = flags & 1;

		for (i = 0; i < ARRAY_SIZE(depths); i++) {
			for (j = 0; j < ARRAY_SIZE(depths); j++) {
				struct mpa_hello hello = {
					.enhanced = true, .rev = 2, .pd_len = 4,
					.p2p = !a, .rtr = 7,
				};

				put_unaligned_be16(a << 15 | b << 14 | depths[i], buf);
				put_unaligned_be16(c << 15 | d << 14 | depths[j], buf + 2);
				KUNIT_EXPECT_EQ(test, mpa_enhanced_decode(buf, &hello), MPA_OK);
				KUNIT_EXPECT_EQ(test, hello.p2p, a);
				KUNIT_EXPECT_EQ(test, hello.rtr,
						!a ? 0 : (b ? MPA_RTR_SEND : 0) |
							 (c ? MPA_RTR_WRITE : 0) |
							 (d ? MPA_RTR_READ : 0));
				KUNIT_EXPECT_EQ(test, hello.ird, depths[i]);
				KUNIT_EXPECT_EQ(test, hello.ord, depths[j]);
			}
		}
	}
}

static void enhanced_decode_without(struct kunit *test)
{
	struct mpa_hello hello = { .rev = 2, .ird = NO_NEG, .ord = NO_NEG };
	static const u8 buf[4] = { 0x80, 8, 0xc0, 8 };

	KUNIT_EXPECT_EQ(test, mpa_enhanced_decode(buf, &hello), MPA_BAD_ENHANCED);
	KUNIT_EXPECT_EQ(test, hello.ird, NO_NEG);
	KUNIT_EXPECT_EQ(test, hello.ord, NO_NEG);
	KUNIT_EXPECT_FALSE(test, hello.p2p);
}

/* Bits that must not be sent are not: R of a Request, B to D without A */
static void encode_withholds(struct kunit *test)
{
	struct mpa_hello hello = {
		.reject = true, .enhanced = true, .rev = 2, .pd_len = 4,
		.rtr = MPA_RTR_SEND | MPA_RTR_WRITE | MPA_RTR_READ,
		.ird = 0xffff, .ord = 0xc001,
	};
	u8 buf[24];

	KUNIT_EXPECT_EQ(test, mpa_hello_encode(buf, MPA_REQUEST, &hello), 24);
	octets_expect(test, "Request", buf + 16, 8, "10020004 3fff0001");
	KUNIT_EXPECT_EQ(test, mpa_hello_encode(buf, MPA_REPLY, &hello), 24);
	octets_expect(test, "Reply", buf + 16, 8, "30020004 3fff0001");
}

static struct kunit_case mpa_cases[] = {
	KUNIT_CASE(mulpdu_values),
	KUNIT_CASE(mulpdu_formula),
	KUNIT_CASE(mulpdu_fits),
	KUNIT_CASE(pad_and_fpdu_len),
	KUNIT_CASE(crc_values),
	KUNIT_CASE(crc_in_pieces),
	KUNIT_CASE(hello_golden_encode),
	KUNIT_CASE(hello_golden_decode),
	KUNIT_CASE(hello_key),
	KUNIT_CASE(hello_revision),
	KUNIT_CASE(hello_pd_length),
	KUNIT_CASE(hello_precedence),
	KUNIT_CASE(hello_flags),
	KUNIT_CASE(enhanced_decode),
	KUNIT_CASE(enhanced_decode_without),
	KUNIT_CASE(encode_withholds),
	{}
};

static struct kunit_suite mpa_suite = {
	.name = "srnic-mpa",
	.test_cases = mpa_cases,
};

kunit_test_suite(mpa_suite);
