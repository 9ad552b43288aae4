// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ib/datagram.c: the header of a UD message, and its CRC. */
#include <kunit/test.h>
#include "ib/datagram.h"
#include "octets.h"

/* Computed by tests/wire/iwarp.py */
#define GOLDEN	"73725544 01 03 0005 00000011 00fffffe 11111111 00abcdef 01020304 51876adf " \
		"68656c6c 6f"
#define LEN	(DGM_HDR_LEN + 5)

static const struct dgm_hdr golden = {
	.flags = DGM_SOLICITED | DGM_IMMEDIATE,
	.length = 5,
	.src_qpn = 0x11,
	.dst_qpn = 0xfffffe,
	.qkey = 0x11111111,
	.psn = 0xabcdef,
	.imm = 0x01020304,
};

static void make(u8 *buf)
{
	memset(buf, 0xa5, LEN + 1);
	memcpy(buf + DGM_HDR_LEN, "hello", 5);
	dgm_seal(buf, &golden);
}

static void seal_writes_each_field_at_its_place(struct kunit *test)
{
	u8 buf[LEN + 1];

	make(buf);
	octets_expect(test, "datagram", buf, LEN, GOLDEN);
	KUNIT_EXPECT_EQ(test, buf[LEN], 0xa5);
}

static void open_gives_back_what_was_sealed(struct kunit *test)
{
	struct dgm_hdr got = { };
	u8 buf[LEN + 1];

	make(buf);
	KUNIT_ASSERT_TRUE(test, dgm_open(buf, LEN, &got));
	KUNIT_EXPECT_EQ(test, got.flags, golden.flags);
	KUNIT_EXPECT_EQ(test, got.length, golden.length);
	KUNIT_EXPECT_EQ(test, got.src_qpn, golden.src_qpn);
	KUNIT_EXPECT_EQ(test, got.dst_qpn, golden.dst_qpn);
	KUNIT_EXPECT_EQ(test, got.qkey, golden.qkey);
	KUNIT_EXPECT_EQ(test, got.psn, golden.psn);
	KUNIT_EXPECT_EQ(test, got.imm, golden.imm);
}

static void no_other_length_is_opened(struct kunit *test)
{
	struct dgm_hdr got;
	u8 buf[LEN + 1];
	u32 len;

	make(buf);
	for (len = 0; len <= LEN + 1; len++)
		KUNIT_EXPECT_EQ(test, dgm_open(buf, len, &got), len == LEN);
}

static void no_bit_may_change(struct kunit *test)
{
	struct dgm_hdr got;
	u8 buf[LEN + 1];
	u32 bit;

	make(buf);
	for (bit = 0; bit < LEN * 8; bit++) {
		buf[bit / 8] ^= 1 << bit % 8;
		KUNIT_EXPECT_FALSE_MSG(test, dgm_open(buf, LEN, &got), "bit %u", bit);
		buf[bit / 8] ^= 1 << bit % 8;
	}
}

/* With a matching CRC */
static const struct {
	const char *what;
	struct dgm_hdr hdr;
	bool good;
} fields[] = {
	{ "nothing", { 0 }, true },
	{ "solicited", { .flags = DGM_SOLICITED }, true },
	{ "immediate data of 0", { .flags = DGM_IMMEDIATE }, true },
	{ "immediate data that is not announced", { .imm = 1 }, false },
	{ "an unknown flag", { .flags = 4 }, false },
	{ "the highest numbers", { .src_qpn = 0xffffff, .dst_qpn = 0xffffff, .psn = 0xffffff },
	  true },
	{ "a source QP of 25 bits", { .src_qpn = 0x1000000 }, false },
	{ "a destination QP of 25 bits", { .dst_qpn = 0x1000000 }, false },
	{ "a PSN of 25 bits", { .psn = 0x1000000 }, false },
	{ "any Q_Key", { .qkey = 0xffffffff }, true },
	{ "the longest message", { .length = DGM_MAX }, true },
	{ "a longer message", { .length = DGM_MAX + 1 }, false },
};

static void each_field_has_its_range(struct kunit *test)
{
	u8 *buf = kunit_kzalloc(test, DGM_HDR_LEN + DGM_MAX + 1, GFP_KERNEL);
	struct dgm_hdr got;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct dgm_hdr *hdr = &fields[i].hdr;

		dgm_seal(buf, hdr);
		KUNIT_EXPECT_EQ_MSG(test, dgm_open(buf, DGM_HDR_LEN + hdr->length, &got),
				    fields[i].good, "%s", fields[i].what);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(seal_writes_each_field_at_its_place),
	KUNIT_CASE(open_gives_back_what_was_sealed),
	KUNIT_CASE(no_other_length_is_opened),
	KUNIT_CASE(no_bit_may_change),
	KUNIT_CASE(each_field_has_its_range),
	{ }
};

static struct kunit_suite suite = {
	.name = "srnic-datagram",
	.test_cases = cases,
};

kunit_test_suite(suite);
