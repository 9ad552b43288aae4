// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/ddp.c: DDP segment headers (RFC 5041 4). */
#include <kunit/test.h>
#include "octets.h"
#include "wire/ddp.h"

/* The DDP headers of the golden frames, and some with every field different */
static const struct {
	const char *what;
	struct ddp_hdr hdr;
	const char *hex;
} golden[] = {
	{
		"Write",
		{ .tagged = true, .last = true, .version = 1, .ulp = 0x40,
		  .stag = 0x11223344, .to = 0x100000002 },
		"c140 11223344 0000000100000002",
	}, {
		"Write, zero length",
		{ .tagged = true, .last = true, .version = 1, .ulp = 0x40 },
		"c140 00000000 0000000000000000",
	}, {
		"Write, not last",
		{ .tagged = true, .version = 1, .ulp = 0x40,
		  .stag = 0xfedcba98, .to = 0xfffffffffffffffc },
		"8140 fedcba98 fffffffffffffffc",
	}, {
		"Read Response",
		{ .tagged = true, .last = true, .version = 1, .ulp = 0x42,
		  .stag = 0xa1a2a3a4, .to = 0x1000 },
		"c142 a1a2a3a4 0000000000001000",
	}, {
		"Read Request",
		{ .last = true, .version = 1, .ulp = 0x41, .qn = 1, .msn = 1 },
		"4141 00000000 00000001 00000001 00000000",
	}, {
		"Send",
		{ .last = true, .version = 1, .ulp = 0x43, .msn = 1 },
		"4143 00000000 00000000 00000001 00000000",
	}, {
		"Send with Invalidate",
		{ .last = true, .version = 1, .ulp = 0x44, .inv_stag = 0x55667788,
		  .msn = 2 },
		"4144 55667788 00000000 00000002 00000000",
	}, {
		"Send with SE, middle of a message, MSN about to wrap",
		{ .version = 1, .ulp = 0x45, .msn = 0xffffffff, .mo = 0x12345678 },
		"0145 00000000 00000000 ffffffff 12345678",
	}, {
		"Terminate",
		{ .last = true, .version = 1, .ulp = 0x47, .qn = 2, .msn = 1 },
		"4147 00000000 00000002 00000001 00000000",
	}, {
		"untagged, all fields different, version 2",
		{ .version = 2, .ulp = 0xff, .inv_stag = 0x01020304,
		  .qn = 0x05060708, .msn = 0x090a0b0c, .mo = 0x0d0e0f10 },
		"02ff 01020304 05060708 090a0b0c 0d0e0f10",
	},
};

static void expect_hdr(struct kunit *test, const char *what,
		       const struct ddp_hdr *got, const struct ddp_hdr *want)
{
	KUNIT_EXPECT_EQ_MSG(test, got->tagged, want->tagged, "%s: T", what);
	KUNIT_EXPECT_EQ_MSG(test, got->last, want->last, "%s: L", what);
	KUNIT_EXPECT_EQ_MSG(test, got->version, want->version, "%s: DV", what);
	KUNIT_EXPECT_EQ_MSG(test, got->ulp, want->ulp, "%s: RsvdULP", what);
	KUNIT_EXPECT_EQ_MSG(test, got->stag, want->stag, "%s: STag", what);
	KUNIT_EXPECT_EQ_MSG(test, got->to, want->to, "%s: TO", what);
	KUNIT_EXPECT_EQ_MSG(test, got->inv_stag, want->inv_stag, "%s: inv. STag", what);
	KUNIT_EXPECT_EQ_MSG(test, got->qn, want->qn, "%s: QN", what);
	KUNIT_EXPECT_EQ_MSG(test, got->msn, want->msn, "%s: MSN", what);
	KUNIT_EXPECT_EQ_MSG(test, got->mo, want->mo, "%s: MO", what);
}

static void header_lengths(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ddp_hdr_len(true), 14);
	KUNIT_EXPECT_EQ(test, ddp_hdr_len(false), 18);
	KUNIT_EXPECT_EQ(test, DDP_MAX_HDR, 18);
}

static void golden_encode(struct kunit *test)
{
	u8 buf[DDP_MAX_HDR + 1];
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		memset(buf, 0xa5, sizeof(buf));
		len = ddp_encode(buf, &golden[i].hdr);
		octets_expect(test, golden[i].what, buf, len, golden[i].hex);
		KUNIT_EXPECT_EQ_MSG(test, buf[len], 0xa5, "%s: wrote beyond",
				    golden[i].what);
	}
}

static void golden_decode(struct kunit *test)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct ddp_hdr hdr;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, o);
	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		octets_from_hex(test, o, golden[i].hex);
		memset(&hdr, 0xa5, sizeof(hdr));
		KUNIT_EXPECT_EQ_MSG(test, ddp_decode(o->at, &hdr), o->len, "%s",
				    golden[i].what);
		expect_hdr(test, golden[i].what, &hdr, &golden[i].hdr);
	}
}

/* Each control octet: T, L and DV are decoded, reserved bits ignored (D-CTL-1, -2, -5, -6) */
static void control_octet(struct kunit *test)
{
	u8 buf[DDP_MAX_HDR] = { };
	struct ddp_hdr hdr;
	u32 control;

	for (control = 0; control <= 0xff; control++) {
		buf[0] = control;
		KUNIT_EXPECT_EQ(test, ddp_decode(buf, &hdr), control & 0x80 ? 14 : 18);
		KUNIT_EXPECT_EQ(test, hdr.tagged, control >> 7);
		KUNIT_EXPECT_EQ(test, hdr.last, control >> 6 & 1);
		KUNIT_EXPECT_EQ(test, hdr.version, control & 3);

		/* reserved bits are sent as zero */
		ddp_encode(buf, &hdr);
		KUNIT_EXPECT_EQ(test, buf[0], control & 0xc3);
	}
}

static void version_does_not_spill(struct kunit *test)
{
	struct ddp_hdr hdr = { .version = 0xff };
	u8 buf[DDP_MAX_HDR];

	ddp_encode(buf, &hdr);
	KUNIT_EXPECT_EQ(test, buf[0], 3);
}

/* Encode is the inverse of decode for any header, except for the reserved bits */
static void random_round_trip(struct kunit *test)
{
	u8 in[DDP_MAX_HDR], out[DDP_MAX_HDR];
	u32 seed = 5041, i, j, len;
	struct ddp_hdr hdr;

	for (i = 0; i < 100000; i++) {
		for (j = 0; j < sizeof(in); j++)
			in[j] = octets_random(&seed);
		in[0] &= 0xc3;
		len = ddp_decode(in, &hdr);
		if (ddp_encode(out, &hdr) != len || memcmp(in, out, len))
			KUNIT_FAIL(test, "round %u", i);
	}
}

/* A tagged header is 14 octets: decode reads none behind them */
static void tagged_stops_at_14(struct kunit *test)
{
	u8 buf[DDP_MAX_HDR] = { 0xc1, 0x40, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	struct ddp_hdr a, b;

	ddp_decode(buf, &a);
	memset(buf + 14, 0xff, 4);
	ddp_decode(buf, &b);
	expect_hdr(test, "tagged", &b, &a);
	KUNIT_EXPECT_EQ(test, a.to, 0x05060708090a0b0c);
}

static struct kunit_case ddp_cases[] = {
	KUNIT_CASE(header_lengths),
	KUNIT_CASE(golden_encode),
	KUNIT_CASE(golden_decode),
	KUNIT_CASE(control_octet),
	KUNIT_CASE(version_does_not_spill),
	KUNIT_CASE(random_round_trip),
	KUNIT_CASE(tagged_stops_at_14),
	{}
};

static struct kunit_suite ddp_suite = {
	.name = "srnic-ddp",
	.test_cases = ddp_cases,
};

kunit_test_suite(ddp_suite);
