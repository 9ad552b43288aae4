/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What each side does: a list of operations that follows from the seed alone. */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum op_kind {
	OP_SEND,		/* data made for it */
	OP_WRITE,		/* data made for it, to the peer's window slot */
	OP_READ,		/* of the peer's source region */
	OP_READ_CHAIN,		/* a READ whose sink is the source of the next operation */
	OP_READ_BACK,		/* a READ of the data that an earlier WRITE has placed */
	OP_SEND_CHAINED,	/* SEND of the buffer just read, fenced */
	OP_WRITE_CHAINED,	/* WRITE of the buffer just read, fenced */
	OP_KINDS,
};

struct plan {
	uint64_t seed;
	uint32_t qps;
	uint32_t ops;		/* each side, each QP */
	uint32_t max_size;
	uint32_t window;	/* operations ahead of the peer's acknowledgement; multiple of 8 */
};

/**
 * struct op - one operation
 * @kind: what it is
 * @len: octets
 * @to: WRITE: offset in the window slot. READ: offset in the source region
 * @key: pattern of its data (WRITE, SEND; READ_BACK: that of the WRITE)
 * @key_off: offset of the data in the pattern
 * @ref: READ_BACK: the number of the WRITE
 * @fence: it must wait for earlier READs
 * @solicited: SEND with Solicited Event
 * @commit: the receiver acknowledges this SEND and all operations before it
 */
struct op {
	enum op_kind kind;
	uint32_t len;
	uint32_t to;
	uint64_t key;
	uint64_t key_off;
	uint32_t ref;
	bool fence;
	bool solicited;
	bool commit;
};

/* Window slots have room for an offset and for guard bytes on both sides. */
#define WINDOW_GUARD	64
#define WINDOW_SHIFT	64
#define window_slot_size(p)	((p)->max_size + 2 * WINDOW_GUARD + WINDOW_SHIFT)
#define source_size(p)		((p)->max_size + 4096)

static inline bool op_is_send(const struct op *op)
{
	return op->kind == OP_SEND || op->kind == OP_SEND_CHAINED;
}

static inline bool op_is_write(const struct op *op)
{
	return op->kind == OP_WRITE || op->kind == OP_WRITE_CHAINED;
}

static inline bool op_is_read(const struct op *op)
{
	return op->kind == OP_READ || op->kind == OP_READ_CHAIN ||
	       op->kind == OP_READ_BACK;
}

void plan_op(const struct plan *p, int side, uint32_t qp, uint32_t n, struct op *op);
uint64_t plan_source_key(const struct plan *p, int side, uint32_t qp);
const char *op_name(enum op_kind kind);

#endif
