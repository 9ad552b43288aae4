// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/mpa.c: FPDUs with markers. tests/wire/vectors.py has computed the expected ones. */
#include <kunit/test.h>
#include "octets.h"
#include "wire/mpa.h"

#define GUARD		0xa5
#define ZEROS_24	"000000000000000000000000000000000000000000000000"

static const struct {
	const char *what;
	u32 phase;
	const char *ulpdu;
	const char *fpdu;
} golden[] = {
	/* Figures 5 and 6 are those of RFC 5044 */
	{ "Figure 5", 0, "4143000000000000000000000001" ZEROS_24 "00000000",
	  "00000000002a4143000000000000000000000001" ZEROS_24 "0000000052239983" },
	{ "Figure 6", 492, "4143000000000000000000000002" ZEROS_24 "00000000",
	  "002a41430000000000000000000000020000000000000014" ZEROS_24 "84925898" },
	{ "in the TO", 504, "c140112233440102030405060708616263",
	  "0011c140112233440000000801020304050607086162630094a4b2cf" },
	{ "between PAD and CRC", 492, "c14011223344010203040506070861",
	  "000fc14011223344010203040506070861000000000000144f8261ee" },
	{ "right behind the CRC", 488, "c14011223344010203040506070861",
	  "000fc1401122334401020304050607086100000032ec6cca" },
	{ "in an empty Write", 508, "c140000000000000000000000000",
	  "000ec140000000040000000000000000000000004e32c9f4" },
};

/* FNV-1a of all FPDUs with ULPDUs of @first to @last octets, at each phase */
static const struct {
	u32 first, last, digest;
} digests[] = {
	{ 14, 31, 0x91c21200 },
	{ 32, 63, 0x7923a253 },
	{ 64, 127, 0x7a56ae37 },
	{ 128, 255, 0x5fcd4156 },
	{ 256, 479, 0xc9a5db91 },
	{ 480, 519, 0xa9ba1032 },
	{ 520, 600, 0x2aafdae4 },
	{ 1000, 1030, 0x58570c6b },
	{ 1430, 1430, 0x85ce6daf },
	{ 8870, 8870, 0x9efd2d4d },
	{ 64768, 64768, 0x348842b3 },
};

/* M-MRK-1, M-MRK-2, M-MRK-5, M-MRK-7, M-CRC-5, M-STA-6 */
static void golden_fpdus(struct kunit *test)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	u8 buf[128];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, o);
	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		u32 phase = golden[i].phase, len;

		octets_from_hex(test, o, golden[i].ulpdu);
		memset(buf, GUARD, sizeof(buf));
		memcpy(buf + 2, o->at, o->len);
		len = mpa_fpdu_seal(buf, o->len, true, &phase);
		octets_expect(test, golden[i].what, buf, len, golden[i].fpdu);
		KUNIT_EXPECT_EQ_MSG(test, buf[len], GUARD, "%s: wrote beyond", golden[i].what);
		KUNIT_EXPECT_EQ_MSG(test, phase, (golden[i].phase + len) % 512, "%s: phase",
				    golden[i].what);
	}
}

static u32 fnv1a(u32 value, const u8 *at, u32 len)
{
	while (len--)
		value = (value ^ *at++) * 0x01000193;
	return value;
}

/* M-MRK-4, M-MRK-6, M-MRK-7: lengths and phases; nothing is written beyond the buffer */
static void all_phases(struct kunit *test)
{
	u8 *buf = kunit_kzalloc(test, 68 * 1024, GFP_KERNEL);
	u32 i, j, n, start;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < ARRAY_SIZE(digests); i++) {
		u32 digest = 0x811c9dc5;

		for (n = digests[i].first; n <= digests[i].last; n++) {
			for (start = 0; start < 512; start += 4) {
				u32 room = mpa_fpdu_room(n, true);
				u32 phase = start, len;

				for (j = 0; j < n; j++)
					buf[2 + j] = j * 7 + n;
				buf[room] = GUARD;
				len = mpa_fpdu_seal(buf, n, true, &phase);
				digest = fnv1a(digest, buf, len);
				if (len > room || buf[room] != GUARD ||
				    phase != (start + len) % 512)
					KUNIT_FAIL(test, "%u octets, phase %u: %u of %u octets, %u",
						   n, start, len, room, phase);
			}
		}
		KUNIT_EXPECT_EQ_MSG(test, digest, digests[i].digest, "%u to %u octets",
				    digests[i].first, digests[i].last);
	}
}

/* Without markers and without CRC (M-FPD-1, M-FPD-2, M-FPD-3) */
static void without_markers(struct kunit *test)
{
	static const struct {
		const char *what;
		const char *ulpdu;
		bool crc;
		const char *fpdu;
	} rows[] = {
		{ "Write", "c140112233440000000100000002 01020304", true,
		  "0012c14011223344000000010000000201020304e398c573" },
		{ "Send, PAD", "4143000000000000000000000001000000005a", true,
		  "00134143000000000000000000000001000000005a00000013cd73e4" },
		{ "Send, PAD, no CRC", "4143000000000000000000000001000000005a", false,
		  "00134143000000000000000000000001000000005a00000000000000" },
	};
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	u8 buf[64];
	u32 i, len;

	KUNIT_ASSERT_NOT_NULL(test, o);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		octets_from_hex(test, o, rows[i].ulpdu);
		memset(buf, GUARD, sizeof(buf));
		memcpy(buf + 2, o->at, o->len);
		len = mpa_fpdu_seal(buf, o->len, rows[i].crc, NULL);
		octets_expect(test, rows[i].what, buf, len, rows[i].fpdu);
		KUNIT_EXPECT_EQ_MSG(test, buf[len], GUARD, "%s: wrote beyond", rows[i].what);
	}
}

/*
 * Octets received and what remains of them without markers, written by hand: 4-octet words differ
 * in their digits, markers are words of their own.
 */
#define WORDS_2		"00021111 22222222"
#define WORDS_3		WORDS_2 "33333333"

/* M-MRK-1, M-MRK-2, M-MRK-4, M-MRK-5, M-MRK-7: one marker, wherever it can be, or none */
static void removed(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 phase;
		const char *came;
		bool good;
		const char *left;
	} rows[] = {
		{ "none is due", 4, WORDS_3, true, WORDS_3 },
		{ "due right behind the CRC", 500, WORDS_3, true, WORDS_3 },
		{ "before the length field", 0, "00000000" WORDS_2, true, WORDS_2 },
		{ "before it, RESERVED", 0, "ffff0000" WORDS_2, true, WORDS_2 },
		{ "before it, low bits", 0, "00000003" WORDS_2, true, WORDS_2 },
		{ "before it, 4", 0, "00000004" WORDS_2, false, WORDS_2 },
		{ "before it, all ones", 0, "ffffffff" WORDS_2, false, WORDS_2 },
		{ "behind the first word", 508, "00021111 00000004 22222222 33333333", true,
		  WORDS_3 },
		{ "behind it, low bits", 508, "00021111 00000007 22222222 33333333", true,
		  WORDS_3 },
		{ "behind it, RESERVED", 508, "00021111 12340004 22222222 33333333", true,
		  WORDS_3 },
		{ "behind it, 0", 508, "00021111 00000000 22222222 33333333", false, WORDS_3 },
		{ "behind it, 8", 508, "00021111 00000008 22222222 33333333", false, WORDS_3 },
		{ "before the CRC", 504, "00021111 22222222 00000008 33333333", true, WORDS_3 },
		{ "before the CRC, 4", 504, "00021111 22222222 00000004 33333333", false,
		  WORDS_3 },
		{ "nothing behind it", 504, "00021111 22222222 00000008", true, WORDS_2 },
		{ "nothing but it", 0, "00000000", true, "" },
		{ "nothing", 0, "", true, "" },
	};
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	u32 i, len;
	bool good;

	KUNIT_ASSERT_NOT_NULL(test, o);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		octets_from_hex(test, o, rows[i].came);
		memset(o->at + o->len, GUARD, 4);
		good = !rows[i].good;
		len = mpa_marker_remove(o->at, o->len, rows[i].phase, &good);
		KUNIT_EXPECT_EQ_MSG(test, good, rows[i].good, "%s", rows[i].what);
		octets_expect(test, rows[i].what, o->at, len, rows[i].left);
		KUNIT_EXPECT_EQ_MSG(test, o->at[o->len], GUARD, "%s: wrote beyond",
				    rows[i].what);
	}
}

/* Three markers, the first @first octets behind the start; @marker has their values */
static u32 make_three(u8 *at, u32 first, const u32 *marker)
{
	u32 i, word = 0, len = first + 2 * 512 + 4 + 8;

	for (i = 0; i < len; i += 4) {
		if (i % 512 == first % 512)
			put_unaligned_be32(marker[i / 512], at + i);
		else
			put_unaligned_be32(0xa0000000 + word++, at + i);
	}
	return len;
}

/* The pointers of several markers: one before the length field does not count in them */
static void removed_several(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 phase;
		u32 first;
		u32 marker[3];
		bool good;
	} rows[] = {
		{ "the first precedes the length field", 0, 0, { 0, 508, 1020 }, true },
		{ "the first is counted", 0, 0, { 0, 512, 1024 }, false },
		{ "in the payload", 412, 100, { 100, 612, 1124 }, true },
		{ "markers are not counted", 412, 100, { 100, 608, 1116 }, false },
		{ "the first is wrong", 412, 100, { 104, 612, 1124 }, false },
		{ "the second is wrong", 412, 100, { 100, 100, 1124 }, false },
		{ "the last is wrong", 412, 100, { 100, 612, 612 }, false },
		{ "behind the first word", 508, 4, { 4, 516, 1028 }, true },
	};
	u8 *at = kunit_kzalloc(test, 2048, GFP_KERNEL);
	u32 i, word, len, left;
	bool good;

	KUNIT_ASSERT_NOT_NULL(test, at);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		len = make_three(at, rows[i].first, rows[i].marker);
		left = mpa_marker_remove(at, len, rows[i].phase, &good);
		KUNIT_EXPECT_EQ_MSG(test, left, len - 12, "%s", rows[i].what);
		KUNIT_EXPECT_EQ_MSG(test, good, rows[i].good, "%s", rows[i].what);
		for (word = 0; word < left / 4; word++)
			if (get_unaligned_be32(at + 4 * word) != 0xa0000000 + word)
				break;
		KUNIT_EXPECT_EQ_MSG(test, word, left / 4, "%s", rows[i].what);
	}
}

static struct kunit_case mpa_marker_cases[] = {
	KUNIT_CASE(golden_fpdus),
	KUNIT_CASE(all_phases),
	KUNIT_CASE(without_markers),
	KUNIT_CASE(removed),
	KUNIT_CASE(removed_several),
	{}
};

static struct kunit_suite mpa_marker_suite = {
	.name = "srnic-mpa-marker",
	.test_cases = mpa_marker_cases,
};

kunit_test_suite(mpa_marker_suite);
