// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What each side does: a list of operations that follows from the seed alone, so that the
 * receiver knows what to expect.
 *
 * Rules that make every outcome certain:
 * - Operation 0 is a zero-length SEND, the last one is a SEND, and each group
 *   of window / 4 operations ends with a SEND, the commit.
 * - A WRITE goes to window slot n % window. The receiver looks at it when a
 *   later SEND has arrived (RFC 5040 5.5: Writes before a Send are there when
 *   the Send is delivered) and clears it at the commit.
 * - A READ_BACK reads what a WRITE of its own group has put there (RFC 5040
 *   5.5 12). As its response may be made after later Sends were delivered, the
 *   commit of its group is fenced, or the receiver could clear the slot first.
 * - A chained operation sends what the READ just before it fetches. Only
 *   operations with an even number start a chain, so no chain has three links.
 */
#include "pattern.h"
#include "plan.h"

static const char * const op_names[OP_KINDS] = {
	[OP_SEND]		= "SEND",
	[OP_WRITE]		= "WRITE",
	[OP_READ]		= "READ",
	[OP_READ_CHAIN]		= "READ_CHAIN",
	[OP_READ_BACK]		= "READ_BACK",
	[OP_SEND_CHAINED]	= "SEND_CHAINED",
	[OP_WRITE_CHAINED]	= "WRITE_CHAINED",
};

const char *op_name(enum op_kind kind)
{
	return op_names[kind];
}

static uint64_t plan_hash(const struct plan *p, int side, uint32_t qp, uint64_t what)
{
	return mix64(mix64(p->seed + side) ^ mix64((uint64_t)(qp + 1) << 32 ^ what));
}

uint64_t plan_source_key(const struct plan *p, int side, uint32_t qp)
{
	return plan_hash(p, side, qp, 1ULL << 60);
}

static bool is_commit(const struct plan *p, uint32_t n)
{
	uint32_t group = p->window / 4;

	return n % group == group - 1 || n == p->ops - 1;
}

/* The kind of operation n if no chain ends in it. */
static enum op_kind base_kind(const struct plan *p, int side, uint32_t qp, uint32_t n)
{
	struct rng r = { plan_hash(p, side, qp, n) };
	uint32_t dice = rng_below(&r, 100);

	if (!n || is_commit(p, n))
		return OP_SEND;
	if (dice < 35)
		return OP_SEND;
	if (dice < 60)
		return OP_WRITE;
	if (dice < 70)
		return OP_READ;
	if (dice < 85)
		return n % 2 ? OP_READ : OP_READ_CHAIN;
	return OP_READ_BACK;
}

static enum op_kind kind_of(const struct plan *p, int side, uint32_t qp, uint32_t n)
{
	struct rng r = { plan_hash(p, side, qp, n) ^ 1 };

	if (n && base_kind(p, side, qp, n - 1) == OP_READ_CHAIN)
		return is_commit(p, n) || rng_below(&r, 2) ?
			OP_SEND_CHAINED : OP_WRITE_CHAINED;
	return base_kind(p, side, qp, n);
}

/* Sizes at which behaviour changes: zero, a few bytes, borders of segments and pages. */
static uint32_t random_size(const struct plan *p, struct rng *r)
{
	static const uint32_t edges[] = { 8, 64, 1448, 2896, 4096, 8192, 8948, 65536 };
	uint32_t len;

	switch (rng_below(r, 8)) {
	case 0:
		len = 0;
		break;
	case 1:
	case 2:
		len = 1 + rng_below(r, 64);
		break;
	case 3:
	case 4:
		/* one after the other: compilers differ in which of two calls comes first */
		len = edges[rng_below(r, 8)];
		len += rng_below(r, 41) - 20;
		if ((int32_t)len < 0)
			len = 0;
		break;
	case 5:
		len = p->max_size;
		break;
	default:
		/* each power of two is equally likely */
		len = rng_below(r, 1 + (p->max_size >> rng_below(r, 10)));
		break;
	}
	return len < p->max_size ? len : p->max_size;
}

/* Where a WRITE of the same group lies that READ_BACK n can read. */
static bool find_write(const struct plan *p, int side, uint32_t qp, uint32_t n,
		       struct op *write, uint32_t *ref)
{
	uint32_t group = p->window / 4;

	for (uint32_t m = n; m-- > n / group * group;) {
		enum op_kind kind = kind_of(p, side, qp, m);

		if (kind != OP_WRITE)
			continue;
		plan_op(p, side, qp, m, write);
		if (!write->len)
			continue;
		*ref = m;
		return true;
	}
	return false;
}

static bool group_has_read_back(const struct plan *p, int side, uint32_t qp, uint32_t n)
{
	uint32_t group = p->window / 4;

	for (uint32_t m = n / group * group; m < n; m++)
		if (kind_of(p, side, qp, m) == OP_READ_BACK)
			return true;
	return false;
}

void plan_op(const struct plan *p, int side, uint32_t qp, uint32_t n, struct op *op)
{
	struct rng r = { plan_hash(p, side, qp, n) ^ 2 };
	struct op other;

	*op = (struct op){
		.kind = kind_of(p, side, qp, n),
		.commit = is_commit(p, n),
	};
	/* not among the initializers, whose order of evaluation differs between compilers, too */
	op->len = n ? random_size(p, &r) : 0;
	op->key = rng_next(&r);
	op->to = WINDOW_GUARD + rng_below(&r, WINDOW_SHIFT);
	op->solicited = op->commit || rng_below(&r, 4) == 0;
	op->fence = rng_below(&r, 8) == 0;

	if (op->kind == OP_READ_BACK) {
		if (find_write(p, side, qp, n, &other, &op->ref)) {
			op->key = other.key;
			op->key_off = rng_below(&r, other.len);
			op->len = 1 + rng_below(&r, other.len - op->key_off);
			op->to = other.to + op->key_off;
			return;
		}
		op->kind = OP_READ;
	}

	switch (op->kind) {
	case OP_READ:
	case OP_READ_CHAIN:
		/* of the peer's source region */
		op->key = plan_source_key(p, !side, qp);
		op->to = rng_below(&r, source_size(p) - op->len + 1);
		op->key_off = op->to;
		break;
	case OP_SEND_CHAINED:
	case OP_WRITE_CHAINED:
		plan_op(p, side, qp, n - 1, &other);
		op->key = other.key;
		op->key_off = other.key_off;
		op->len = other.len;
		op->fence = true;
		break;
	default:
		break;
	}
	if (op->commit && group_has_read_back(p, side, qp, n))
		op->fence = true;
}
