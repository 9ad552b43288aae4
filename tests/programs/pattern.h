/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Random numbers and test data that both ends derive without communication. */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUARD_BYTE	0xc3	/* memory that must not be written */
#define POISON_BYTE	0x5e	/* memory that must not be read any more */

struct rng {
	uint64_t state;
};

uint64_t mix64(uint64_t x);
uint64_t rng_next(struct rng *r);
uint32_t rng_below(struct rng *r, uint32_t n);

void pattern_fill(void *buf, uint64_t key, uint64_t off, size_t len);
bool pattern_matches(const void *buf, uint64_t key, uint64_t off, size_t len,
		     size_t *where, uint8_t *want);
bool all_bytes(const void *buf, uint8_t byte, size_t len, size_t *where);

#endif
