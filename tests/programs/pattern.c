// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Random numbers and test data that both ends derive without communication.
 *
 * A pattern is an endless string of bytes named by its key. Any part of it
 * can be made on its own, so that a receiver can check a fragment. It is the same on hosts of any
 * byte order.
 */
#include <endian.h>
#include <string.h>
#include "pattern.h"

#define GOLDEN 0x9e3779b97f4a7c15ULL

/* The output function of SplitMix64: good bits from any counter. */
uint64_t mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

uint64_t rng_next(struct rng *r)
{
	r->state += GOLDEN;
	return mix64(r->state);
}

uint32_t rng_below(struct rng *r, uint32_t n)
{
	return n ? rng_next(r) % n : 0;
}

static uint64_t pattern_word(uint64_t key, uint64_t i)
{
	return htole64(mix64(key + i * GOLDEN));
}

/* Bytes @off to @off + @len of pattern @key. */
void pattern_fill(void *buf, uint64_t key, uint64_t off, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		uint64_t word = pattern_word(key, off / 8);
		size_t skip = off % 8;
		size_t n = 8 - skip < len ? 8 - skip : len;

		if (n == 8)
			memcpy(p, &word, 8);
		else
			memcpy(p, (uint8_t *)&word + skip, n);
		p += n;
		off += n;
		len -= n;
	}
}

/* On a mismatch, @where is the index in @buf and @want the expected byte. */
bool pattern_matches(const void *buf, uint64_t key, uint64_t off, size_t len,
		     size_t *where, uint8_t *want)
{
	const uint8_t *p = buf;
	uint8_t good[512];
	size_t done = 0;

	while (done < len) {
		size_t n = len - done < sizeof(good) ? len - done : sizeof(good);

		pattern_fill(good, key, off + done, n);
		if (memcmp(p + done, good, n)) {
			size_t i = 0;

			while (p[done + i] == good[i])
				i++;
			*where = done + i;
			*want = good[i];
			return false;
		}
		done += n;
	}
	return true;
}

bool all_bytes(const void *buf, uint8_t byte, size_t len, size_t *where)
{
	const uint8_t *p = buf;

	/* memory is all one byte if it equals itself shifted by one */
	if (!len || (p[0] == byte && !memcmp(p, p + 1, len - 1)))
		return true;
	for (*where = 0; p[*where] == byte; (*where)++)
		;
	return false;
}
