/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Octets in tests: literal frames, FPDUs, repeatable random numbers. */
#ifndef SRNIC_KUNIT_OCTETS_H
#define SRNIC_KUNIT_OCTETS_H

#include <kunit/test.h>
#include "wire/os.h"

#define OCTETS_MAX	1024

/**
 * struct octets - some octets
 * @len: how many
 * @at: the octets
 */
struct octets {
	u32 len;
	u8 at[OCTETS_MAX];
};

void octets_from_hex(struct kunit *test, struct octets *o, const char *hex);
void octets_add(struct kunit *test, struct octets *o, const void *data, u32 len);
void octets_add_hex(struct kunit *test, struct octets *o, const char *hex);
void octets_fpdu(struct kunit *test, struct octets *fpdu, const struct octets *ulpdu);
void octets_fpdu_marked(struct kunit *test, struct octets *fpdu,
			const struct octets *ulpdu, u32 *pos);
void octets_expect(struct kunit *test, const char *what,
		   const void *got, u32 len, const char *hex);

/* xorshift32: the same numbers in each run, from any seed but 0 */
static inline u32 octets_random(u32 *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

#endif
