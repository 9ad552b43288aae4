// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Octets in tests: literal frames, FPDUs, repeatable random numbers. */
#include "octets.h"
#include "wire/mpa.h"

/**
 * octets_add - append octets
 * @test: the test, failed if there is no room
 * @o: appended to
 * @data: what to append
 * @len: how many
 */
void octets_add(struct kunit *test, struct octets *o, const void *data, u32 len)
{
	KUNIT_ASSERT_LE(test, len, OCTETS_MAX - o->len);
	memcpy(o->at + o->len, data, len);
	o->len += len;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/**
 * octets_add_hex - append octets given in hexadecimal
 * @test: the test, failed if @hex is not pairs of lower case digits
 * @o: appended to
 * @hex: the digits; blanks between octets are skipped
 */
void octets_add_hex(struct kunit *test, struct octets *o, const char *hex)
{
	while (*hex) {
		int high, low;
		u8 octet;

		if (*hex == ' ') {
			hex++;
			continue;
		}
		high = hex_digit(hex[0]);
		low = hex_digit(hex[1]);
		KUNIT_ASSERT_GE(test, high, 0);
		KUNIT_ASSERT_GE(test, low, 0);
		octet = high << 4 | low;
		octets_add(test, o, &octet, 1);
		hex += 2;
	}
}

/**
 * octets_from_hex - octets given in hexadecimal
 * @test: the test, failed if @hex is not pairs of lower case digits
 * @o: filled
 * @hex: the digits; blanks between octets are skipped
 */
void octets_from_hex(struct kunit *test, struct octets *o, const char *hex)
{
	o->len = 0;
	octets_add_hex(test, o, hex);
}

/**
 * octets_fpdu - put a ULPDU into an FPDU without markers (RFC 5044 4.1)
 * @test: the test
 * @fpdu: filled
 * @ulpdu: what goes in
 */
void octets_fpdu(struct kunit *test, struct octets *fpdu, const struct octets *ulpdu)
{
	static const u8 zero[3];
	u8 field[4];

	fpdu->len = 0;
	put_unaligned_be16(ulpdu->len, field);
	octets_add(test, fpdu, field, 2);
	octets_add(test, fpdu, ulpdu->at, ulpdu->len);
	octets_add(test, fpdu, zero, (4 - fpdu->len % 4) % 4);
	put_unaligned_le32(mpa_crc_final(mpa_crc_add(mpa_crc_start(), fpdu->at,
						     fpdu->len)), field);
	octets_add(test, fpdu, field, 4);
}

/**
 * octets_fpdu_marked - put a ULPDU into an FPDU with markers (RFC 5044 4.3)
 * @test: the test
 * @fpdu: filled
 * @ulpdu: what goes in
 * @pos: where it begins, octets from the start of the stream; then where it ends
 *
 * Goes word by word; the module computes the places.
 */
void octets_fpdu_marked(struct kunit *test, struct octets *fpdu,
			const struct octets *ulpdu, u32 *pos)
{
	struct octets *plain = kunit_kzalloc(test, sizeof(*plain), GFP_KERNEL);
	u32 start = 0, i;
	u8 field[4];

	KUNIT_ASSERT_NOT_NULL(test, plain);
	octets_fpdu(test, plain, ulpdu);
	fpdu->len = 0;
	for (i = 0; i < plain->len; i += 4) {
		if (*pos % 512 == 0) {
			put_unaligned_be16(0, field);
			put_unaligned_be16(i ? *pos - start : 0, field + 2);
			octets_add(test, fpdu, field, 4);
			*pos += 4;
		}
		if (!i)
			start = *pos;
		if (i + 4 == plain->len)
			put_unaligned_le32(mpa_crc_final(mpa_crc_add(mpa_crc_start(), fpdu->at,
								     fpdu->len)),
					   plain->at + i);
		octets_add(test, fpdu, plain->at + i, 4);
		*pos += 4;
	}
	kunit_kfree(test, plain);
}

/**
 * octets_expect - expect certain octets
 * @test: the test
 * @what: name of the octets, for the message
 * @got: what the code made
 * @len: its octets
 * @hex: what it should be, in hexadecimal
 */
void octets_expect(struct kunit *test, const char *what,
		   const void *got, u32 len, const char *hex)
{
	struct octets *want = kunit_kzalloc(test, sizeof(*want), GFP_KERNEL);
	const u8 *at = got;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, want);
	octets_from_hex(test, want, hex);
	KUNIT_EXPECT_EQ_MSG(test, len, want->len, "%s: length", what);
	for (i = 0; i < len && i < want->len; i++) {
		KUNIT_EXPECT_EQ_MSG(test, at[i], want->at[i], "%s: octet %u",
				    what, i);
		if (at[i] != want->at[i])
			break;
	}
	kunit_kfree(test, want);
}
