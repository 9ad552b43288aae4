// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The private data of a connection, little-endian as all that VIA has in memory. */
#include <endian.h>
#include <string.h>
#include "hello.h"

#define MAGIC		0x4c504956u	/* "VIPL" */
#define VERSION		1
#define CAN_WRITE	1
#define CAN_READ	2

struct frame {
	uint32_t magic;
	uint8_t version;
	uint8_t kind;
	uint8_t level;
	uint8_t flags;
	uint32_t mts;
	uint16_t from_len;
	uint16_t to_len;
	uint8_t discs[2 * VIPL_MAX_DISC];
};

_Static_assert(sizeof(struct frame) == VIPL_HELLO_MAX, "the frame has no holes");

#define HEADER	offsetof(struct frame, discs)

/**
 * vipl_hello_pack() - Make private data
 * @hello: its contents
 * @data: VIPL_HELLO_MAX bytes
 *
 * Context: any.
 * Return: its length.
 */
size_t vipl_hello_pack(const struct vipl_hello *hello, void *data)
{
	const VIP_VI_ATTRIBUTES *a = &hello->attribs;
	struct frame f = {
		.magic = htole32(MAGIC),
		.version = VERSION,
		.kind = hello->kind,
		.level = a->ReliabilityLevel,
		.flags = (a->EnableRdmaWrite ? CAN_WRITE : 0) | (a->EnableRdmaRead ? CAN_READ : 0),
		.mts = htole32(a->MaxTransferSize),
		.from_len = htole16(hello->from.len),
		.to_len = htole16(hello->to.len),
	};

	memcpy(f.discs, hello->from.bytes, hello->from.len);
	memcpy(f.discs + hello->from.len, hello->to.bytes, hello->to.len);
	memcpy(data, &f, sizeof(f));
	return HEADER + hello->from.len + hello->to.len;
}

static void parse_attribs(const struct frame *f, VIP_VI_ATTRIBUTES *a)
{
	a->ReliabilityLevel = f->level;
	a->MaxTransferSize = le32toh(f->mts);
	a->EnableRdmaWrite = f->flags & CAN_WRITE ? VIP_TRUE : VIP_FALSE;
	a->EnableRdmaRead = f->flags & CAN_READ ? VIP_TRUE : VIP_FALSE;
}

static bool parse_discs(const struct frame *f, size_t len, struct vipl_hello *hello)
{
	hello->from.len = le16toh(f->from_len);
	hello->to.len = le16toh(f->to_len);
	if (hello->from.len > VIPL_MAX_DISC || hello->to.len > VIPL_MAX_DISC ||
	    HEADER + hello->from.len + hello->to.len > len)
		return false;
	memcpy(hello->from.bytes, f->discs, hello->from.len);
	memcpy(hello->to.bytes, f->discs + hello->from.len, hello->to.len);
	return true;
}

/**
 * vipl_hello_parse() - Read private data, which any host may have sent
 * @data: from rdma_cm, may be NULL if @len is 0
 * @len: in bytes; surplus bytes are ignored
 * @hello: filled in
 *
 * Context: any.
 * Return: false if it is not of this library and version.
 */
bool vipl_hello_parse(const void *data, size_t len, struct vipl_hello *hello)
{
	struct frame f;

	memset(&f, 0, sizeof(f));
	memset(hello, 0, sizeof(*hello));
	if (len < HEADER)
		return false;
	if (len > sizeof(f))
		len = sizeof(f);
	memcpy(&f, data, len);
	if (le32toh(f.magic) != MAGIC || f.version != VERSION || f.kind < VIPL_REQUEST ||
	    f.kind > VIPL_NO_MATCH)
		return false;
	hello->kind = f.kind;
	parse_attribs(&f, &hello->attribs);
	return parse_discs(&f, len, hello);
}
