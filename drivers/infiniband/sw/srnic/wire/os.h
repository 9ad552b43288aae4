/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What wire/ needs from its surroundings: types, unaligned big-endian access,
 * CRC32c. In user space (fuzzers, tests) the few kernel names are made here,
 * so that the codecs compile unchanged in both places.
 */
#ifndef SRNIC_WIRE_OS_H
#define SRNIC_WIRE_OS_H

#ifdef __KERNEL__

#include <linux/compiler.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>
#include "compat.h"

#else

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;

#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define min_t(type, a, b)	((type)min(a, b))

static inline void barrier(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline u32 min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static inline u32 max(u32 a, u32 b)
{
	return a > b ? a : b;
}

static inline u16 get_unaligned_be16(const void *p)
{
	const u8 *b = p;

	return (u16)(b[0] << 8 | b[1]);
}

static inline u32 get_unaligned_be32(const void *p)
{
	const u8 *b = p;

	return (u32)b[0] << 24 | (u32)b[1] << 16 | (u32)b[2] << 8 | b[3];
}

static inline u64 get_unaligned_be64(const void *p)
{
	const u8 *b = p;

	return (u64)get_unaligned_be32(b) << 32 | get_unaligned_be32(b + 4);
}

static inline u32 get_unaligned_le32(const void *p)
{
	const u8 *b = p;

	return (u32)b[3] << 24 | (u32)b[2] << 16 | (u32)b[1] << 8 | b[0];
}

static inline void put_unaligned_be16(u16 v, void *p)
{
	u8 *b = p;

	b[0] = v >> 8;
	b[1] = (u8)v;
}

static inline void put_unaligned_be32(u32 v, void *p)
{
	u8 *b = p;

	b[0] = v >> 24;
	b[1] = (u8)(v >> 16);
	b[2] = (u8)(v >> 8);
	b[3] = (u8)v;
}

static inline void put_unaligned_be64(u64 v, void *p)
{
	u8 *b = p;

	put_unaligned_be32(v >> 32, b);
	put_unaligned_be32((u32)v, b + 4);
}

static inline void put_unaligned_le32(u32 v, void *p)
{
	u8 *b = p;

	b[3] = v >> 24;
	b[2] = (u8)(v >> 16);
	b[1] = (u8)(v >> 8);
	b[0] = (u8)v;
}

/* Bit by bit: slow and obviously right. */
static inline u32 crc32c(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;
	int i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0);
	}
	return crc;
}

#endif /* __KERNEL__ */
#endif
