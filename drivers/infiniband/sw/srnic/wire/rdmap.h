/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMAP (RFC 5040, RFC 7306): opcodes, headers, and the one table of errors
 * with their Terminate codes. Pure: no sockets, no locks, no allocation.
 */
#ifndef SRNIC_WIRE_RDMAP_H
#define SRNIC_WIRE_RDMAP_H

#include "wire/atomic.h"
#include "wire/ddp.h"

#define RDMAP_RV		0xc0
#define RDMAP_RV_SHIFT		6
#define RDMAP_OPCODE		0x0f
/* srnic's own, where both ends acknowledge messages: this one at once. A reserved bit elsewhere. */
#define RDMAP_ASK		0x20

#define RDMAP_READ_REQ_LEN	28
#define RDMAP_IMM_LEN		8
#define RDMAP_MAX_TERM_LEN	(4 + 2 + DDP_UNTAGGED_LEN + RDMAP_READ_REQ_LEN)

/* The version of a stream: DV and RV of each of its segments (RFC 5040 4.1, RFC 5044 C) */
enum rdmap_version {
	RDMAP_RDMAC,		/* the RDMA Consortium's */
	RDMAP_IETF,
	RDMAP_VERSIONS,
};

enum rdmap_opcode {
	RDMAP_WRITE		= 0,
	RDMAP_READ_REQUEST	= 1,
	RDMAP_READ_RESPONSE	= 2,
	RDMAP_SEND		= 3,
	RDMAP_SEND_INV		= 4,
	RDMAP_SEND_SE		= 5,
	RDMAP_SEND_SE_INV	= 6,
	RDMAP_TERMINATE		= 7,
	RDMAP_IMMEDIATE		= 8,
	RDMAP_IMMEDIATE_SE	= 9,
	RDMAP_ATOMIC_REQUEST	= 10,
	RDMAP_ATOMIC_RESPONSE	= 11,
	/* srnic's own, of no RFC: a Send whose Invalidate STag field is immediate data */
	RDMAP_SEND_IMM		= 12,
	RDMAP_SEND_SE_IMM	= 13,
	/* ... and an acknowledgment, whose number is in that field; see engine/ack.c */
	RDMAP_ACK		= 14,
	RDMAP_OPCODE_COUNT	= 16,
};

/**
 * struct rdmap_op - one row of the opcode table (RFC 5040 Fig 4, 5)
 * @valid: assigned and supported
 * @tagged: T
 * @qn: queue number if untagged
 * @inval: the Invalidate STag field is valid
 * @imm: the Invalidate STag field is immediate data; no RFC has that, and it is valid only
 *	 where both ends have offered it
 * @solicited: SE variant
 * @hdr_len: RDMAP header after the DDP header, bytes
 * @payload: carries ULP payload
 * @since: the first version that has it
 */
struct rdmap_op {
	bool valid;
	bool tagged;
	u8 qn;
	bool inval;
	bool imm;
	bool solicited;
	u8 hdr_len;
	bool payload;
	u8 since;
};

/*
 * What can be wrong with a stream, one entry for each row E-xx of the
 * requirement tables; rdmap_error() gives the Terminate code of each.
 */
enum rdmap_err {
	RDMAP_OK,
	RDMAP_E_DDP_VERSION_TAGGED,	/* E-01 */
	RDMAP_E_DDP_VERSION_UNTAGGED,	/* E-02 */
	RDMAP_E_QN,			/* E-03 */
	RDMAP_E_NO_RQE,			/* E-04 */
	RDMAP_E_IRD,			/* E-05 */
	RDMAP_E_MSN,			/* E-06 */
	RDMAP_E_MO,			/* E-07 */
	RDMAP_E_TOO_LONG,		/* E-08 */
	RDMAP_E_TAGGED_STAG,		/* E-09 */
	RDMAP_E_TAGGED_BOUNDS,		/* E-10 */
	RDMAP_E_TAGGED_STREAM,		/* E-11 */
	RDMAP_E_TAGGED_WRAP,		/* E-12 */
	RDMAP_E_TAGGED_ACCESS,		/* E-13 */
	RDMAP_E_RDMAP_VERSION,		/* E-14 */
	RDMAP_E_OPCODE,			/* E-15 */
	RDMAP_E_RESP_UNEXPECTED,	/* E-16 */
	RDMAP_E_RESP_STAG,		/* E-17 */
	RDMAP_E_RESP_RANGE,		/* E-17 */
	RDMAP_E_READ_STAG,		/* E-18 */
	RDMAP_E_READ_BOUNDS,		/* E-19 */
	RDMAP_E_READ_ACCESS,		/* E-20 */
	RDMAP_E_READ_STREAM,		/* E-21 */
	RDMAP_E_READ_WRAP,		/* E-22 */
	RDMAP_E_READ_LONG,		/* E-23 */
	RDMAP_E_READ_SHORT,		/* E-23 */
	RDMAP_E_READ_REVOKED,		/* E-24 */
	RDMAP_E_INV_STAG,		/* E-25 */
	RDMAP_E_INV_STREAM,		/* E-26 */
	RDMAP_E_INV_SHARED,		/* E-27: no right to invalidate it */
	RDMAP_E_PLACEMENT,		/* E-28 */
	RDMAP_E_CQ_OVERFLOW,		/* E-29, found by the SQ */
	RDMAP_E_RQ_CQ_OVERFLOW,		/* E-29, found by the RQ */
	RDMAP_E_LOCAL_WR,		/* E-30, also RTS to Terminate by Modify QP (ST-21) */
	RDMAP_E_CRC,			/* E-31 */
	RDMAP_E_FPDU_LENGTH,		/* E-32: too short for its header, or longer than agreed */
	RDMAP_E_LLP_LOST,		/* E-33 */
	RDMAP_E_MPA_HELLO,		/* E-34 */
	RDMAP_E_MPA_IRD,		/* E-35 */
	RDMAP_E_MPA_RTR,		/* E-36 */
	RDMAP_E_MPA_LOCAL,		/* E-37 */
	RDMAP_E_ATOMIC_ALIGN,		/* E-38 */
	RDMAP_E_ATOMIC_STAG,		/* E-39 */
	RDMAP_E_ATOMIC_BOUNDS,		/* E-39 */
	RDMAP_E_ATOMIC_ACCESS,		/* E-39 */
	RDMAP_E_ATOMIC_STREAM,		/* E-39 */
	RDMAP_E_ATOMIC_WRAP,		/* E-39 */
	RDMAP_E_ATOMIC_OPCODE,		/* E-40 */
	RDMAP_E_IMM_LENGTH,		/* E-41; of an atomic's message, too */
	RDMAP_E_BAD_CLOSE,		/* ST-18, AE-14: FIN while SQ or IRRQ is busy */
	RDMAP_E_RQ_LOCAL,		/* TC-02: bad receive WQE */
	RDMAP_E_NO_L_BIT,		/* AE-10: L missing where one segment must be all */
	RDMAP_E_TERM_SHORT,		/* TER-6: no complete Terminate control field */
	RDMAP_E_SRQ,			/* AE-19, SR-24: the SRQ cannot be used */
	RDMAP_E_WRITE_DISABLED,		/* E-13, AE-09: the QP takes no Writes */
	RDMAP_E_READ_DISABLED,		/* E-20, AE-09: ... no Read Requests */
	RDMAP_E_IRRQ_MSN,		/* E-06, AE-17: MSN of a Read Request or Atomic Request */
	RDMAP_E_INV_BOUND,		/* E-27, TC-03: a region that has windows */
	RDMAP_E_MARKER,			/* E-32, AE-07: a marker points elsewhere */
	RDMAP_E_READ_MO,		/* E-07, AE-09: MO of a Read Request or Atomic Request */
	RDMAP_E_RING,			/* AE-19: the index of the SQ or RQ cannot be */
	RDMAP_ERR_COUNT,
};

/* Terminate header control: what is quoted */
#define RDMAP_TERM_M		0x8000	/* DDP segment length */
#define RDMAP_TERM_D		0x4000	/* DDP header */
#define RDMAP_TERM_R		0x2000	/* RDMAP header */

/**
 * struct rdmap_error - a Terminate code (RFC 5040 4.8)
 * @layer: 0 RDMAP, 1 DDP, 2 LLP
 * @etype: 4 bits
 * @code: 8 bits
 * @hdrct: RDMAP_TERM_* to quote
 */
struct rdmap_error {
	u8 layer;
	u8 etype;
	u8 code;
	u16 hdrct;
};

/**
 * struct rdmap_read_req - Read Request header (RFC 5040 4.4)
 * @sink_stag: STag of the response's destination
 * @sink_to: TO of the response's destination
 * @size: bytes, RDMARDSZ
 * @src_stag: STag of the source
 * @src_to: TO of the source
 */
struct rdmap_read_req {
	u32 sink_stag;
	u64 sink_to;
	u32 size;
	u32 src_stag;
	u64 src_to;
};

/**
 * struct rdmap_term - a Terminate message
 * @err: layer, type, code; hdrct says what of the rest is valid
 * @seg_len: ULPDU_Length of the offending segment (M)
 * @ddp: its DDP header as it was on the wire (D)
 * @ddp_len: DDP_TAGGED_LEN or DDP_UNTAGGED_LEN (D)
 * @read_req: its RDMAP header as on the wire (R)
 */
struct rdmap_term {
	struct rdmap_error err;
	u16 seg_len;
	u8 ddp_len;
	u8 ddp[DDP_UNTAGGED_LEN];
	u8 read_req[RDMAP_READ_REQ_LEN];
};

/* The RDMAP control field */
static inline u8 rdmap_control(enum rdmap_version version, u8 opcode)
{
	return version << RDMAP_RV_SHIFT | opcode;
}

const struct rdmap_op *rdmap_op(u8 opcode);
const struct rdmap_error *rdmap_error(enum rdmap_err err, enum rdmap_version version);
enum rdmap_err rdmap_check_hdr(const struct ddp_hdr *hdr, u32 ulpdu_len,
			       enum rdmap_version version);
void rdmap_read_req_encode(u8 *buf, const struct rdmap_read_req *req);
void rdmap_read_req_decode(const u8 *buf, struct rdmap_read_req *req);
u32 rdmap_term_encode(u8 *buf, const struct rdmap_term *term);
int rdmap_term_decode(const u8 *buf, u32 len, struct rdmap_term *term);

#endif
