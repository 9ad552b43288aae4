/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The edge of the work queues: a WQE is copied once out of memory that its
 * poster may still be writing to, and every field is checked here. Nothing
 * behind this file looks at a slot again. Pure, as wire/: no sockets, no locks,
 * no allocation.
 */
#ifndef SRNIC_WQE_H
#define SRNIC_WQE_H

#include "wire/os.h"
#include <rdma/srnic-abi.h>
#include "queue/event.h"

struct ib_pd;

/* The ABI as this version knows it: the opcodes of an SQ are below this; the srnic_sqe.flags */
#define SRNIC_OP_SQ_MAX		(SRNIC_OP_ATOMIC_WRITE + 1)
#define SRNIC_SQE_FLAGS		(SRNIC_SQE_SIGNALED | SRNIC_SQE_SOLICITED | \
				 SRNIC_SQE_FENCE | SRNIC_SQE_INLINE)

#define SRNIC_MAX_MSG		0xffffffffU	/* octets (WR-19) */

/* Messages that are not of each stream */
#define SRNIC_MSG_SEND_IMM	1	/* both ends have to offer them */
#define SRNIC_MSG_RFC7306	2	/* atomics, Immediate Data: not of version 0 */
#define SRNIC_MSG_PLACEMENT	4	/* Flush, Atomic Write: both ends have to offer them */

/**
 * struct srnic_sq_caps - what an SQ says about its WQEs
 * @privileged: the poster may use what only privileged users may
 * @max_sge: SGEs of a WQE that is no Write
 * @max_write_sge: SGEs of a Write
 * @max_inline: octets
 * @lacks: SRNIC_MSG_*: messages that the peer does not take
 * @ud: of a UD QP
 */
struct srnic_sq_caps {
	bool privileged;
	bool ud;
	u8 lacks;
	u32 max_sge;
	u32 max_write_sge;
	u32 max_inline;
};

/* A receive WQE, copied once from the RQ or SRQ and checked */
struct srnic_rwr {
	u64 wr_id;
	u32 index;			/* ring index */
	u32 num_sge;
	u64 length;			/* sum of the SGEs */
	struct ib_pd *pd;		/* what the SGEs are checked against (SR-19) */
	struct srnic_sge sge[];		/* max_recv_sge of them */
};

static inline bool srnic_op_is_atomic(u8 opcode)
{
	return opcode == SRNIC_OP_FETCH_ADD || opcode == SRNIC_OP_CMP_SWAP;
}

static inline bool srnic_op_is_write(u8 opcode)
{
	return opcode == SRNIC_OP_WRITE || opcode == SRNIC_OP_WRITE_IMM;
}

/* Does the WR wait for a response of the peer? Such WRs take room in ORQ and IRQ. */
static inline bool srnic_op_has_response(u8 opcode)
{
	return opcode == SRNIC_OP_READ || opcode == SRNIC_OP_READ_INV ||
	       srnic_op_is_atomic(opcode);
}

/* Messages of the WR that the peer acknowledges, where it has agreed to (engine/ack.c) */
static inline u32 srnic_op_messages(u8 opcode)
{
	switch (opcode) {
	case SRNIC_OP_SEND:
	case SRNIC_OP_SEND_INV:
	case SRNIC_OP_SEND_IMM:
	case SRNIC_OP_WRITE:
	case SRNIC_OP_FLUSH:
	case SRNIC_OP_ATOMIC_WRITE:
		return 1;
	case SRNIC_OP_WRITE_IMM:
		return 2;
	default:
		return 0;
	}
}

enum srnic_wc_status srnic_sqe_copy(const struct srnic_sq_caps *caps, const void *slot,
				    struct srnic_sqe *sqe, void *data, u32 *total);
int srnic_rqe_copy(struct srnic_rwr *rwr, const void *slot, u32 max_sge);

#endif
