/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared by the harnesses: input in pieces, memory of exact size, checks. */
#ifndef SRNIC_FUZZ_H
#define SRNIC_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "wire/os.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that must hold for every input */
#define FUZZ_CHECK(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond); \
			abort(); \
		} \
	} while (0)

/* Input, which is taken from the front; zeros follow its end */
struct fuzz_in {
	const u8 *p;
	size_t left;
};

static inline u8 fuzz_u8(struct fuzz_in *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->p++;
}

static inline u16 fuzz_u16(struct fuzz_in *in)
{
	u16 high = fuzz_u8(in);

	return (u16)(high << 8 | fuzz_u8(in));
}

static inline u32 fuzz_u32(struct fuzz_in *in)
{
	u32 high = fuzz_u16(in);

	return high << 16 | fuzz_u16(in);
}

static inline u64 fuzz_u64(struct fuzz_in *in)
{
	u64 high = fuzz_u32(in);

	return high << 32 | fuzz_u32(in);
}

/* Memory of exactly @len octets, so that ASan detects an access beyond; end with free() */
static inline u8 *fuzz_box(struct fuzz_in *in, size_t len)
{
	u8 *box = malloc(len);
	size_t i;

	for (i = 0; i < len; i++)
		box[i] = fuzz_u8(in);
	return box;
}

#endif
