// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* iWARP on a byte stream: see wire.h. */
#include <string.h>
#include "wire.h"

/* RFC 3385's CRC32C, reflected; without the complement at start and end */
uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	static uint32_t table[256];
	const uint8_t *p = data;

	if (!table[1]) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
			table[i] = c;
		}
	}
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

uint32_t tagged_hdr(uint8_t *u, enum op op, bool last, uint32_t stag, uint64_t to)
{
	u[0] = DDP_T | (last ? DDP_L : 0) | 1;
	u[1] = 0x40 | op;
	put32(u + 2, stag);
	put64(u + 6, to);
	return TAGGED_LEN;
}

uint32_t untagged_hdr(uint8_t *u, enum op op, bool last, uint32_t inv, uint32_t qn,
		      uint32_t msn, uint32_t mo)
{
	u[0] = (last ? DDP_L : 0) | 1;
	u[1] = 0x40 | op;
	put32(u + 2, inv);
	put32(u + 6, qn);
	put32(u + 10, msn);
	put32(u + 14, mo);
	return UNTAGGED_LEN;
}

/* An MPA Request or Reply; @enh: the IRD and the ORD word, or NULL */
uint32_t hello(uint8_t *p, const char *key, uint8_t flags, uint8_t rev, const int enh[2],
	       const void *pd, uint16_t pd_len)
{
	uint32_t off = HELLO_LEN;

	memcpy(p, key, 16);
	p[16] = flags | (enh ? MPA_S : 0);
	p[17] = rev;
	put16(p + 18, pd_len + (enh ? 4 : 0));
	if (enh) {
		put16(p + off, enh[0]);
		put16(p + off + 2, enh[1]);
		off += 4;
	}
	memcpy(p + off, pd, pd_len);
	return off + pd_len;
}

/*
 * The FPDU with its lies, and with markers if the stream has them. A marker before the length
 * field belongs to this FPDU (RFC 5044 4.3, 4.4).
 */
uint32_t fpdu_encode(uint8_t *out, const uint8_t *ulpdu, uint32_t len,
		     const struct fpdu_lies *lies, struct markers *mk)
{
	uint8_t plain[2 + ULPDU_MAX + 8];
	uint32_t body = (2 + len + 3) & ~3U, n = 0, crc, begin = 0;
	bool begun = false;

	put16(plain, lies->length >= 0 ? (uint32_t)lies->length : len);
	memcpy(plain + 2, ulpdu, len);
	memset(plain + 2 + len, lies->pad, body - 2 - len);
	for (uint32_t i = 0; i <= body; i += 4) {
		if (mk->on && !((mk->pos + n) % MARKER_GAP)) {
			put16(out + n, lies->marker_reserved ? 0xa55a : 0);
			put16(out + n + 2, (begun ? n - begin : 0) + lies->marker_off);
			n += 4;
		}
		if (!begun) {
			begin = n;
			begun = true;
		}
		if (i == body)
			break;
		memcpy(out + n, plain + i, 4);
		n += 4;
	}
	crc = ~crc32c(~0U, out, n) ^ lies->crc_xor;
	for (int i = 0; i < 4; i++)
		out[n++] = crc >> 8 * i;
	if (lies->flip >= 0)
		out[lies->flip % n] ^= lies->flip_bits;
	mk->pos += n;
	return n;
}

void deframer_init(struct deframer *d, bool markers)
{
	memset(d, 0, offsetof(struct deframer, buf));
	d->mk.on = markers;
	d->mk.pos = 0;
	d->have = d->start = d->marker_have = d->marker_count = 0;
	d->crc = ~0U;
	d->bad = NULL;
}

static void check_marker(struct deframer *d)
{
	d->marker_count++;
	if (get16(d->marker))
		d->bad = "reserved octets of a marker are not zero";
	if (get16(d->marker + 2) != d->start)
		d->bad = "FPDUPTR of a marker";
}

/* Called when an FPDU is complete in d->buf */
static void check_fpdu(struct deframer *d)
{
	uint32_t len = get16(d->buf), body = d->have - 4, crc = 0;

	for (uint32_t i = 2 + len; i < body; i++)
		if (d->buf[i])
			d->bad = "PAD is not zero";
	for (int i = 0; i < 4; i++)
		crc |= (uint32_t)d->buf[body + i] << 8 * i;
	if (~d->crc != crc)
		d->bad = "CRC of an FPDU from the device is wrong";
}

/* Take octets up to the end of an FPDU; returns their number, *complete: d->buf has one */
size_t deframer_put(struct deframer *d, const uint8_t *data, size_t len, bool *complete)
{
	size_t used = 0;

	*complete = false;
	while (used < len) {
		uint32_t total = d->have < 2 ? 2 : fpdu_len(get16(d->buf)), n;

		if (d->mk.on && d->mk.pos % MARKER_GAP < 4) {
			d->marker[d->mk.pos % MARKER_GAP] = data[used];
			d->crc = crc32c(d->crc, data + used, 1);
			d->mk.pos++;
			used++;
			if (d->mk.pos % MARKER_GAP == 4) {
				check_marker(d);
				if (d->have)
					d->start += 4;
			}
			continue;
		}
		n = total - d->have;
		if (n > len - used)
			n = len - used;
		if (d->mk.on && n > MARKER_GAP - d->mk.pos % MARKER_GAP)
			n = MARKER_GAP - d->mk.pos % MARKER_GAP;
		memcpy(d->buf + d->have, data + used, n);
		/* the CRC covers all but itself; the part of it before the length comes later */
		if (d->have + n <= 2)
			d->crc = crc32c(d->crc, data + used, n);
		else if (d->have < total - 4)
			d->crc = crc32c(d->crc, data + used,
					n < total - 4 - d->have ? n : total - 4 - d->have);
		d->have += n;
		d->start += n;
		d->mk.pos += n;
		used += n;
		if (d->have == total && total > 2) {
			check_fpdu(d);
			*complete = true;
			return used;
		}
	}
	return used;
}
