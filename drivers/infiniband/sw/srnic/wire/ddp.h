/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* DDP segment headers (RFC 5041 4). Pure: no sockets, no locks, no allocation. */
#ifndef SRNIC_WIRE_DDP_H
#define SRNIC_WIRE_DDP_H

#include "wire/os.h"

#define DDP_TAGGED_LEN		14
#define DDP_UNTAGGED_LEN	18
#define DDP_MAX_HDR		DDP_UNTAGGED_LEN

/* control byte */
#define DDP_T			0x80
#define DDP_L			0x40
#define DDP_DV			0x03

enum ddp_qn {
	DDP_QN_SEND,
	DDP_QN_READ_REQUEST,
	DDP_QN_TERMINATE,
	DDP_QN_ATOMIC_RESPONSE,
	DDP_QN_COUNT,
};

/**
 * struct ddp_hdr - a decoded DDP header
 * @tagged: T
 * @last: L
 * @version: DV
 * @ulp: first RsvdULP byte: the RDMAP control field
 * @stag: tagged: STag
 * @to: tagged: TO
 * @inv_stag: untagged: RsvdULP bytes 2 to 5: STag to invalidate
 * @qn: untagged
 * @msn: untagged
 * @mo: untagged
 */
struct ddp_hdr {
	bool tagged;
	bool last;
	u8 version;
	u8 ulp;
	u32 stag;
	u64 to;
	u32 inv_stag;
	u32 qn;
	u32 msn;
	u32 mo;
};

static inline u32 ddp_hdr_len(bool tagged)
{
	return tagged ? DDP_TAGGED_LEN : DDP_UNTAGGED_LEN;
}

u32 ddp_encode(u8 *buf, const struct ddp_hdr *hdr);
u32 ddp_decode(const u8 *buf, struct ddp_hdr *hdr);

#endif
