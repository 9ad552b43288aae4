/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Datagrams of UD QPs, one UDP datagram for each message.
 * Pure: no sockets, no locks, no allocation.
 */
#ifndef SRNIC_DATAGRAM_H
#define SRNIC_DATAGRAM_H

#include "wire/os.h"

#define DGM_MAGIC	0x73725544U	/* "srUD" */
#define DGM_VERSION	1
#define DGM_HDR_LEN	32
#define DGM_MAX		4096		/* bytes of a message */
#define DGM_NUMBER_MAX	0xffffffU	/* QP numbers and PSNs have 24 bits */

/* struct dgm_hdr.flags */
#define DGM_SOLICITED	1
#define DGM_IMMEDIATE	2
#define DGM_FLAGS	(DGM_SOLICITED | DGM_IMMEDIATE)

/**
 * struct dgm_hdr - header of a message
 * @flags: DGM_*
 * @length: bytes of the message, at most DGM_MAX
 * @src_qpn: the sender's QP
 * @dst_qpn: the receiver's
 * @qkey: the receiver's Q_Key
 * @psn: counts the sender's messages; the receiver ignores it
 * @imm: immediate data; 0 without DGM_IMMEDIATE
 */
struct dgm_hdr {
	u8 flags;
	u16 length;
	u32 src_qpn;
	u32 dst_qpn;
	u32 qkey;
	u32 psn;
	u32 imm;
};

void dgm_seal(u8 *buf, const struct dgm_hdr *hdr);
bool dgm_open(const u8 *buf, u32 len, struct dgm_hdr *hdr);

#endif
