/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Rendezvous: the private data with which two QPs find each other after their programs
 * have exchanged GIDs and QP numbers, and the rule for two attempts that cross.
 * Pure: no sockets, no locks, no allocation.
 */
#ifndef SRNIC_RDV_H
#define SRNIC_RDV_H

#include "wire/os.h"

#define RDV_MAGIC	0x73724942U	/* "srIB" */
#define RDV_VERSION	1
#define RDV_LEN		56
#define RDV_GID_LEN	16
#define RDV_NUMBER_MAX	0xffffffU	/* QP numbers and PSNs have 24 bits */

/* The code of a Reply; a Request has RDV_OK */
enum rdv_code {
	RDV_OK,
	RDV_NOT_READY,		/* no such QP, not in RTR yet, or with another peer: try again */
	RDV_MISMATCH,		/* the Request is no rendezvous */
	RDV_COLLISION,		/* the attempt of the Reply's sender stays: wait for it */
	RDV_CODES,
};

/* Extensions of the RFCs that the two ends use if both offer them */
#define RDV_OFFER_SEND_IMM	1	/* RDMAP_SEND_IMM and RDMAP_SEND_SE_IMM */
#define RDV_OFFER_ACKS		2	/* RDMAP_ACK: each end acknowledges the other's messages */
#define RDV_OFFER_LARGE		4	/* FPDUs of up to MPA_LARGE_FPDU bytes */
#define RDV_OFFER_PLACEMENT	8	/* RDMAP_FLUSH, RDMAP_ATOMIC_WRITE; needs RDV_OFFER_ACKS */

/**
 * struct rdv_hello - the two QPs of a connection, as the sender of the frame sees them
 * @code: enum rdv_code
 * @offers: RDV_OFFER_*; unknown bits are ignored
 * @src_qpn: the sender's QP
 * @dst_qpn: the receiver's
 * @src_psn: first PSN that the sender's QP uses
 * @dst_psn: first PSN that the sender expects
 * @src_gid: the sender's address
 * @dst_gid: the receiver's
 *
 * iWARP has no PSNs on the wire: here they only prove that the programs of both ends
 * have exchanged them.
 */
struct rdv_hello {
	u8 code;
	u8 offers;
	u32 src_qpn;
	u32 dst_qpn;
	u32 src_psn;
	u32 dst_psn;
	u8 src_gid[RDV_GID_LEN];
	u8 dst_gid[RDV_GID_LEN];
};

void rdv_encode(u8 *buf, const struct rdv_hello *hello);
bool rdv_decode(const u8 *buf, u32 len, struct rdv_hello *hello);
bool rdv_fits(const struct rdv_hello *own, const struct rdv_hello *peer,
	      bool own_psn_known);
bool rdv_own_attempt_lives(const struct rdv_hello *own);

#endif
