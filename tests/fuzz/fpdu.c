// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * FPDUs that are sent: length, PAD, markers and CRC around any ULPDU at any place of the stream,
 * compared with RFC 5044 4 octet by octet. No octet is written beyond the computed size. Then the
 * markers are removed again: from the FPDU, from one with an octet of a marker changed, and from
 * any octets of any length.
 *
 * Input: with markers and CRC or not, place in the stream, ULPDU; which octet of the
 * markers to change, and how; octets.
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

/* @octets without the markers. Return: whether each marker points to the begin of the FPDU. */
static bool model_remove(const u8 *octets, u32 n, u32 start, u8 *left, u32 *left_len)
{
	u32 i, length = 0;
	bool good = true;

	*left_len = 0;
	for (i = 0; i < n; i++) {
		bool due = (start + i) % 512 == 0;
		u32 ptr;

		/* the end of the stream is no marker */
		if (!due || n - i < 4) {
			left[(*left_len)++] = octets[i];
			continue;
		}
		/* a marker before the length field points at itself */
		if (!i)
			length = 4;
		ptr = octets[i + 2] << 8 | octets[i + 3];
		/* the low bits are not part of the pointer */
		good = good && (ptr & 0xfffc) == (i ? i - length : 0);
		i += 3;
	}
	return good;
}

/* In memory of exact size, so that any access beyond it is detected */
static void check_remove(const u8 *octets, u32 n, u32 start)
{
	u8 *fpdu = malloc(n), *want = malloc(n);
	u32 left, got;
	bool good = false, right;

	memcpy(fpdu, octets, n);
	right = model_remove(octets, n, start, want, &left);
	got = mpa_marker_remove(fpdu, n, start, &good);
	FUZZ_CHECK(got == left && good == right);
	FUZZ_CHECK(!memcmp(fpdu, want, left));
	free(fpdu);
	free(want);
}

/* Remove the markers of a sent FPDU, also with one octet of a marker changed */
static void check_inverse(struct fuzz_in *in, const struct out *sent, u32 plain_len)
{
	u32 n = sent->len, markers = (n - plain_len) / 4, which = fuzz_u16(in), at;
	u8 *fpdu = malloc(n), change = fuzz_u8(in);
	bool good = false;

	memcpy(fpdu, sent->octets, n);
	FUZZ_CHECK(mpa_marker_remove(fpdu, n, sent->start, &good) == plain_len && good);
	free(fpdu);
	if (!markers)
		return;
	which %= markers * 4;
	at = -sent->start % 512 + which / 4 * 512 + which % 4;
	sent->octets[at] ^= change;
	check_remove(sent->octets, n, sent->start);
	sent->octets[at] ^= change;
}

/* Any octets: whole words, as all FPDUs are */
static void check_any(struct fuzz_in *in, u32 start)
{
	u32 n = fuzz_u16(in) % 2048;
	u8 *octets;

	n = (n < in->left ? n : in->left) & ~3u;
	octets = fuzz_box(in, n);
	check_remove(octets, n, start);
	free(octets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 bits = fuzz_u8(&in);
	u32 phase = fuzz_u8(&in) % 128 * 4, next = phase;
	/*
	 * the length is independent of the input, so that long FPDUs need no long input; they
	 * take long
	 */
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

			/* the markers of the FPDU itself, and those after its length field */
			FUZZ_CHECK(mpa_marker_good(fpdu + i, before, seen - (phase == 0 && seen)));
			seen++;
		}
		FUZZ_CHECK(seen == mpa_marker_count(phase, mpa_fpdu_len(len) - MPA_CRC_LEN));
		check_inverse(&in, &want, mpa_fpdu_len(len));
		check_any(&in, phase);
	}
	free(want.octets);
	free(fpdu);
	free(ulpdu);
	return 0;
}
