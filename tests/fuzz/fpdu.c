// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs that are sent: length, PAD, markers and CRC around any ULPDU at any place
 * of the stream, against RFC 5044 4 octet by octet. Nothing is written beyond the
 * room that is asked for.
 *
 * Input: with markers and CRC or not, place in the stream, ULPDU.
 */
#include "fuzz.h"
#include "wire/mpa.h"

/* The stream, from the FPDU's first octet on */
struct out {
	u8 *octets;
	u32 len;
	u32 start;		/* where in the stream it begins */
	bool markers;
	u32 length_field;	/* where in @octets it is */
};

static void put(struct out *o, u8 octet)
{
	o->octets[o->len++] = octet;
}

/* RFC 5044 4.3: every 512 octets, before the next octet of the FPDU */
static void put_marker_if_due(struct out *o)
{
	u32 ptr;

	if (!o->markers || (o->start + o->len) % 512)
		return;
	ptr = o->len ? o->len - o->length_field : 0;
	put(o, 0);
	put(o, 0);
	put(o, ptr >> 8);
	put(o, ptr);
}

static u32 model(struct out *o, const u8 *ulpdu, u32 len, bool crc)
{
	u32 i, value, n = 2 + len;

	put_marker_if_due(o);
	o->length_field = o->len;
	put(o, len >> 8);
	put(o, len);
	for (i = 0; i < len; i++) {
		put_marker_if_due(o);
		put(o, ulpdu[i]);
	}
	for (; n % 4; n++)
		put(o, 0);
	put_marker_if_due(o);
	value = crc ? ~crc32c(~0U, o->octets, o->len) : 0;
	for (i = 0; i < 4; i++)
		put(o, value >> 8 * i);
	return o->len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 bits = fuzz_u8(&in);
	u32 phase = fuzz_u8(&in) % 128 * 4, next = phase;
	/* a length of its own, so that long ones need no long input; they take long */
	u32 len = fuzz_u16(&in) % (bits >= 252 ? MPA_MAX_ULPDU + 1 : 2048);
	bool markers = bits & 1;
	u8 *ulpdu = fuzz_box(&in, len);
	struct out want = { .start = phase, .markers = markers };
	u32 room = mpa_fpdu_room(len, markers);
	u8 *fpdu = malloc(room);
	u32 n, i, seen = 0;

	want.octets = malloc(4 * len + 64);
	n = model(&want, ulpdu, len, bits & 2);
	memcpy(fpdu + MPA_LEN_FIELD, ulpdu, len);
	FUZZ_CHECK(mpa_fpdu_seal(fpdu, len, bits & 2, markers ? &next : NULL) == n);
	FUZZ_CHECK(n <= room && !memcmp(fpdu, want.octets, n));
	FUZZ_CHECK(next == (markers ? (phase + n) % 512 : phase));

	if (markers) {
		for (i = -phase % 512; i < n - 4; i += 512) {
			u32 before = i - 4 * seen;

			/* of the FPDU itself, and those after its length field */
			FUZZ_CHECK(mpa_marker_good(fpdu + i, before, seen - (phase == 0 && seen)));
			seen++;
		}
		FUZZ_CHECK(seen == mpa_marker_count(phase, mpa_fpdu_len(len) - MPA_CRC_LEN));
	}
	free(want.octets);
	free(fpdu);
	free(ulpdu);
	return 0;
}
