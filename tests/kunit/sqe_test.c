// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* sqe.c: SQEs that a user may write into an SQ, and how each WR ends. */
#include <kunit/test.h>
#include "fake.h"
#include "octets.h"
#include "queue/sqe.h"
#include "queue/wq.h"
#include "queue/wqe.h"

#define DEPTH		4
#define MAX_SGE		3
#define MAX_INLINE	100

/* A QP of a user, without a stream, and the WR fetched from its SQ last */
struct sq {
	struct srnic_device *dev;
	struct fake_cq *cq;
	struct srnic_qp *qp;
	struct srnic_fetched wr;
};

static void make_sq(struct kunit *test, struct sq *sq)
{
	struct ib_qp_init_attr init = {
		.cap = {
			.max_send_wr = DEPTH, .max_recv_wr = 1, .max_send_sge = MAX_SGE,
			.max_recv_sge = 1, .max_inline_data = MAX_INLINE,
		},
	};

	sq->dev = fake_device(test);
	sq->cq = fake_cq(test, sq->dev, 64);
	sq->qp = fake_qp_memory(test, sq->dev);
	fake_qp_create(test, sq->qp, &init, sq->cq, sq->cq);
	sq->qp->kernel = false;
	sq->qp->privileged = false;
	sq->wr.data = kunit_kzalloc(test, max_t(size_t, sq->qp->max_inline,
						MAX_SGE * sizeof(struct srnic_sge)),
				    GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, sq->wr.data);
}

static void end_sq(struct sq *sq)
{
	sq->qp->kernel = true;
	srnic_qp_destroy(sq->qp);
}

/* As a provider posts: the SQE, its SGEs or inline data, the index */
static void post(struct sq *sq, const struct srnic_sqe *sqe, const void *data, u32 len)
{
	struct srnic_sqe *slot = srnic_ring_slot(&sq->qp->sq, sq->qp->sq.hdr->producer);

	*slot = *sqe;
	memcpy(slot + 1, data, len);
	sq->qp->sq.hdr->producer++;
}

/* Whether a WR is valid, by the check alone */
static enum srnic_wc_status copy_sqe(struct sq *sq, const struct srnic_sqe *sqe,
				     const void *data, u32 len, u32 *total)
{
	const struct srnic_sq_caps caps = {
		.privileged = true, .max_sge = MAX_SGE, .max_write_sge = MAX_SGE,
	};
	struct srnic_sqe *slot = srnic_ring_slot(&sq->qp->sq, 0), copy;

	*slot = *sqe;
	memcpy(slot + 1, data, len);
	return srnic_sqe_copy(&caps, slot, &copy, sq->wr.data, total);
}

/* Complete the one WR that was fetched */
static u32 end_wr(struct kunit *test, struct sq *sq, u64 wr_id)
{
	struct srnic_cqe cqe;

	srnic_sq_flush(sq->qp);
	KUNIT_ASSERT_EQ(test, srnic_cq_poll(&sq->cq->cq, &cqe), 1);
	KUNIT_EXPECT_EQ(test, cqe.wr_id, wr_id);
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&sq->cq->cq, &cqe), 0);
	srnic_wq_restart(sq->qp);
	return cqe.vendor_err;
}

/* The WR is valid, or ends with status @want */
static void expect_wr(struct kunit *test, struct sq *sq, const char *what,
		      const struct srnic_sqe *sqe, const void *data, u32 len,
		      enum srnic_wc_status want)
{
	enum srnic_wc_status got;

	post(sq, sqe, data, len);
	KUNIT_ASSERT_EQ_MSG(test, srnic_sqe_fetch(sq->qp, &sq->wr, &got), 1, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, got, want, "%s", what);
	if (got)	/* as the tx engine does */
		srnic_sq_done(sq->qp, sq->wr.index, got);
	KUNIT_EXPECT_EQ_MSG(test, end_wr(test, sq, sqe->wr_id),
			    want ? want : SRNIC_WC_FLUSHED, "%s", what);
}

static void empty(struct kunit *test)
{
	enum srnic_wc_status status;
	struct sq sq;

	make_sq(test, &sq);
	KUNIT_EXPECT_EQ(test, srnic_sqe_fetch(sq.qp, &sq.wr, &status), 0);
	end_sq(&sq);
}

/* Which opcodes are valid; a user's SQ takes none of the privileged ones (WR-08, RN-19) */
static void opcodes(struct kunit *test)
{
	static const struct {
		enum srnic_wc_status user;
		bool has_data;
		bool remote;
	} known[] = {
		[SRNIC_OP_SEND] = { SRNIC_WC_SUCCESS, true },
		[SRNIC_OP_SEND_INV] = { SRNIC_WC_SUCCESS, true },
		[SRNIC_OP_WRITE] = { SRNIC_WC_SUCCESS, true, true },
		[SRNIC_OP_READ] = { SRNIC_WC_SUCCESS, true, true },
		[SRNIC_OP_READ_INV] = { SRNIC_WC_SUCCESS, true, true },
		[SRNIC_OP_WRITE_IMM] = { SRNIC_WC_SUCCESS, true, true },
		[SRNIC_OP_FETCH_ADD] = { SRNIC_WC_SUCCESS, true, true },
		[SRNIC_OP_CMP_SWAP] = { SRNIC_WC_SUCCESS, true, true },
		[SRNIC_OP_LOCAL_INV] = { SRNIC_WC_SUCCESS },
		[SRNIC_OP_BIND_MW] = { SRNIC_WC_SUCCESS },
		[SRNIC_OP_REG_MR] = { SRNIC_WC_NOT_PRIVILEGED },
		[SRNIC_OP_SEND_IMM] = { SRNIC_WC_INVALID_WQE, true },	/* not offered */
		[SRNIC_OP_UD_SEND] = { SRNIC_WC_INVALID_WQE, true },	/* not of an RC QP */
		[SRNIC_OP_UD_SEND_IMM] = { SRNIC_WC_INVALID_WQE, true },
		[SRNIC_OP_FLUSH] = { SRNIC_WC_INVALID_WQE, false, true },	/* not offered */
		[SRNIC_OP_ATOMIC_WRITE] = { SRNIC_WC_INVALID_WQE, false, true },
	};
	static const struct srnic_sge sge = { .addr = 0x1000, .length = 8, .lkey = 0x100 };
	char what[32];
	struct sq sq;
	u32 opcode;

	make_sq(test, &sq);
	for (opcode = 0; opcode <= 0xff; opcode++) {
		struct srnic_sqe sqe = {
			.wr_id = opcode, .opcode = opcode, .num_sge = 1,
			.flags = SRNIC_SQE_SIGNALED,
		};
		enum srnic_wc_status want = SRNIC_WC_INVALID_WQE;
		bool data = true;

		if (opcode && opcode < ARRAY_SIZE(known)) {
			want = known[opcode].user;
			data = known[opcode].has_data;
			sqe.rkey = known[opcode].remote ? 0x100 : 0;
		}
		snprintf(what, sizeof(what), "opcode %u", opcode);
		if (!data && want == SRNIC_WC_SUCCESS) {
			expect_wr(test, &sq, what, &sqe, &sge, sizeof(sge), SRNIC_WC_INVALID_WQE);
			sqe.num_sge = 0;
		}
		expect_wr(test, &sq, what, &sqe, &sge, sizeof(sge), want);
	}
	end_sq(&sq);
}

/* A UD QP takes its own opcodes, with an address handle, a QP number and a Q_Key, and no others */
static void ud_opcodes(struct kunit *test)
{
	static const struct srnic_sq_caps caps = { .ud = true, .max_sge = 1 };
	struct srnic_sqe *slot, copy;
	struct sq sq;
	u32 opcode, total;

	make_sq(test, &sq);
	slot = srnic_ring_slot(&sq.qp->sq, 0);
	memset(slot + 1, 0, sizeof(struct srnic_sge));
	for (opcode = 0; opcode <= 0xff; opcode++) {
		enum srnic_wc_status want = SRNIC_WC_INVALID_WQE;

		*slot = (struct srnic_sqe){
			.opcode = opcode, .num_sge = 1, .rkey = 5, .arg = { 7, 8 },
		};
		if (opcode == SRNIC_OP_UD_SEND || opcode == SRNIC_OP_UD_SEND_IMM)
			want = SRNIC_WC_SUCCESS;
		else if (opcode == SRNIC_OP_REG_MR)
			want = SRNIC_WC_NOT_PRIVILEGED;
		KUNIT_EXPECT_EQ_MSG(test, srnic_sqe_copy(&caps, slot, &copy, sq.wr.data, &total),
				    want, "opcode %u", opcode);
	}
	slot->opcode = SRNIC_OP_UD_SEND;
	slot->stag = 1;
	KUNIT_EXPECT_EQ(test, srnic_sqe_copy(&caps, slot, &copy, sq.wr.data, &total),
			SRNIC_WC_INVALID_WQE);
	slot->stag = 0;
	slot->remote_addr = 1;
	KUNIT_EXPECT_EQ(test, srnic_sqe_copy(&caps, slot, &copy, sq.wr.data, &total),
			SRNIC_WC_INVALID_WQE);
	slot->remote_addr = 0;
	slot->arg[2] = 1;
	KUNIT_EXPECT_EQ(test, srnic_sqe_copy(&caps, slot, &copy, sq.wr.data, &total),
			SRNIC_WC_INVALID_WQE);
	slot->arg[2] = 0;
	KUNIT_EXPECT_EQ(test, srnic_sqe_copy(&caps, slot, &copy, sq.wr.data, &total),
			SRNIC_WC_SUCCESS);
	end_sq(&sq);
}

/* Fields of an SQE, and which opcodes have a use for them (Documentation/uapi.rst) */
enum {
	RKEY = BIT(0), STAG = BIT(1), ADDR = BIT(2), ARG0 = BIT(3), ARG1 = BIT(4),
	ARG2 = BIT(5), ARG3 = BIT(6), FIELDS = 7,
};

static const u8 used_fields[] = {
	[SRNIC_OP_SEND] = 0,
	[SRNIC_OP_SEND_INV] = STAG,
	[SRNIC_OP_WRITE] = RKEY | ADDR,
	[SRNIC_OP_READ] = RKEY | ADDR,
	[SRNIC_OP_READ_INV] = RKEY | ADDR,
	[SRNIC_OP_WRITE_IMM] = RKEY | ADDR | STAG,
	[SRNIC_OP_FETCH_ADD] = RKEY | ADDR | ARG0,
	[SRNIC_OP_CMP_SWAP] = RKEY | ADDR | ARG0 | ARG1,
	[SRNIC_OP_LOCAL_INV] = STAG,
	[SRNIC_OP_BIND_MW] = RKEY | STAG | ARG0 | ARG1 | ARG2,
	[SRNIC_OP_REG_MR] = STAG | ARG0 | ARG1 | ARG2,
	[SRNIC_OP_SEND_IMM] = STAG,
	[SRNIC_OP_FLUSH] = RKEY | ADDR | ARG0 | ARG1 | ARG2,
	[SRNIC_OP_ATOMIC_WRITE] = RKEY | ADDR | ARG0,
};

static void set_field(struct srnic_sqe *sqe, u32 field)
{
	switch (BIT(field)) {
	case RKEY:
		sqe->rkey = 1;
		break;
	case STAG:
		sqe->stag = 1;
		break;
	case ADDR:
		sqe->remote_addr = 1ULL << 63;
		break;
	default:
		sqe->arg[field - 3] = 1ULL << 32;
	}
}

/* A field that the opcode does not use must be 0, else the WR is malformed */
static void unused_fields(struct kunit *test)
{
	static const struct srnic_sge sge = { .addr = 0x1000, .length = 8, .lkey = 1 };
	char what[32];
	struct sq sq;
	u32 opcode, i;

	make_sq(test, &sq);
	for (opcode = SRNIC_OP_SEND; opcode < ARRAY_SIZE(used_fields); opcode++) {
		for (i = 0; i < FIELDS; i++) {
			bool used = used_fields[opcode] & BIT(i);
			struct srnic_sqe sqe = {
				.opcode = opcode, .num_sge = opcode <= SRNIC_OP_CMP_SWAP,
				.rkey = used_fields[opcode] & RKEY ? 1 : 0,
			};
			enum srnic_wc_status got;
			u32 total;

			set_field(&sqe, i);
			snprintf(what, sizeof(what), "opcode %u, field %u", opcode, i);
			got = copy_sqe(&sq, &sqe, &sge, sizeof(sge), &total);
			KUNIT_EXPECT_EQ_MSG(test, got,
					    used ? SRNIC_WC_SUCCESS : SRNIC_WC_INVALID_WQE,
					    "%s", what);
		}
	}
	end_sq(&sq);
}

/* Either inline data or SGEs: the count of the other is 0 */
static void inline_or_sges(struct kunit *test)
{
	static const struct srnic_sge sge = { .length = 1, .lkey = 1 };
	struct srnic_sqe sqe = { .opcode = SRNIC_OP_SEND, .num_sge = 1, .inline_len = 1 };
	struct sq sq;

	make_sq(test, &sq);
	expect_wr(test, &sq, "SGEs", &sqe, &sge, sizeof(sge), SRNIC_WC_INVALID_WQE);
	sqe.flags = SRNIC_SQE_INLINE;
	expect_wr(test, &sq, "inline", &sqe, &sge, sizeof(sge), SRNIC_WC_INVALID_WQE);
	sqe.num_sge = 0;
	expect_wr(test, &sq, "inline alone", &sqe, &sge, sizeof(sge), SRNIC_WC_SUCCESS);
	end_sq(&sq);
}

static void flag_bits(struct kunit *test)
{
	char what[32];
	struct sq sq;
	u32 bits;

	make_sq(test, &sq);
	for (bits = 0; bits <= 0xff; bits++) {
		struct srnic_sqe sqe = {
			.wr_id = bits, .opcode = SRNIC_OP_SEND, .flags = bits,
		};

		snprintf(what, sizeof(what), "bits %02x", bits);
		expect_wr(test, &sq, what, &sqe, NULL, 0,
			  bits & ~0x0f ? SRNIC_WC_INVALID_WQE : SRNIC_WC_SUCCESS);
	}
	end_sq(&sq);
}

/* Up to the QP's own limit; one SGE for a Read with Invalidate (WR-14, WR-15) */
static void sge_counts(struct kunit *test)
{
	static const u32 counts[] = { 0, 1, 2, 3, 4, 5, 0x7fff, 0x8000, 0xffff };
	static const struct srnic_sge sges[MAX_SGE] = {
		{ .length = 1, .lkey = 1 }, { .length = 1, .lkey = 1 },
		{ .length = 1, .lkey = 1 },
	};
	char what[32];
	struct sq sq;
	u32 i;

	make_sq(test, &sq);
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		struct srnic_sqe sqe = {
			.opcode = SRNIC_OP_WRITE, .num_sge = counts[i], .rkey = 1,
		};

		snprintf(what, sizeof(what), "%u SGEs", counts[i]);
		expect_wr(test, &sq, what, &sqe, sges, sizeof(sges),
			  counts[i] > MAX_SGE ? SRNIC_WC_INVALID_WQE : SRNIC_WC_SUCCESS);
		sqe.opcode = SRNIC_OP_READ;
		expect_wr(test, &sq, what, &sqe, sges, sizeof(sges),
			  counts[i] > MAX_SGE ? SRNIC_WC_INVALID_WQE : SRNIC_WC_SUCCESS);
		sqe.opcode = SRNIC_OP_READ_INV;
		expect_wr(test, &sq, what, &sqe, sges, sizeof(sges),
			  counts[i] > 1 ? SRNIC_WC_INVALID_WQE : SRNIC_WC_SUCCESS);
	}
	end_sq(&sq);
}

static void inline_lengths(struct kunit *test)
{
	u32 lengths[] = {
		0, 1, 99, 100, 0, 0, 512, 513, 0x7fffffff, 0x80000000, 0xffffffff,
	};
	u8 data[SRNIC_MAX_INLINE];
	char what[32];
	struct sq sq;
	u32 limit, i;

	make_sq(test, &sq);
	/* at least as requested, and reported (QP-02) */
	limit = sq.qp->max_inline;
	KUNIT_ASSERT_GE(test, limit, MAX_INLINE);
	KUNIT_ASSERT_LE(test, sizeof(struct srnic_sqe) + limit, sq.qp->sq.stride);
	lengths[4] = limit;
	lengths[5] = limit + 1;
	for (i = 0; i < sizeof(data); i++)
		data[i] = i;
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct srnic_sqe sqe = {
			.opcode = SRNIC_OP_SEND, .flags = SRNIC_SQE_INLINE,
			.inline_len = lengths[i],
		};

		snprintf(what, sizeof(what), "%u octets", lengths[i]);
		expect_wr(test, &sq, what, &sqe, data, limit,
			  lengths[i] > limit ? SRNIC_WC_INVALID_WQE : SRNIC_WC_SUCCESS);
		if (lengths[i] > limit)
			continue;
		KUNIT_EXPECT_EQ(test, sq.wr.total, lengths[i]);
		KUNIT_EXPECT_EQ(test, memcmp(sq.wr.inl, data, lengths[i]), 0);
	}
	end_sq(&sq);
}

/* An atomic has one SGE of eight octets, for the returned value */
static void atomic_sink(struct kunit *test)
{
	static const struct {
		u32 num_sge, length, rkey, lkey;
		u8 flags;
		enum srnic_wc_status want;
	} rows[] = {
		{ 1, 8, 1, 1, 0, SRNIC_WC_SUCCESS },
		{ 0, 8, 1, 1, 0, SRNIC_WC_INVALID_WQE },
		{ 2, 4, 1, 1, 0, SRNIC_WC_INVALID_WQE },
		{ 2, 8, 1, 1, 0, SRNIC_WC_INVALID_WQE },
		{ 1, 0, 1, 1, 0, SRNIC_WC_INVALID_LENGTH },
		{ 1, 7, 1, 1, 0, SRNIC_WC_INVALID_LENGTH },
		{ 1, 9, 1, 1, 0, SRNIC_WC_INVALID_LENGTH },
		{ 1, 16, 1, 1, 0, SRNIC_WC_INVALID_LENGTH },
		{ 1, 8, 0, 1, 0, SRNIC_WC_INVALID_STAG },
		{ 0, 8, 1, 1, SRNIC_SQE_INLINE, SRNIC_WC_INVALID_WQE },
	};
	static const u8 opcodes[] = { SRNIC_OP_FETCH_ADD, SRNIC_OP_CMP_SWAP };
	char what[32];
	struct sq sq;
	u32 i, j;

	make_sq(test, &sq);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (j = 0; j < ARRAY_SIZE(opcodes); j++) {
			struct srnic_sqe sqe = {
				.opcode = opcodes[j], .rkey = rows[i].rkey,
				.num_sge = rows[i].num_sge, .flags = rows[i].flags,
			};
			struct srnic_sge sges[2] = {
				{ .lkey = rows[i].lkey, .length = rows[i].length },
				{ .lkey = rows[i].lkey, .length = rows[i].length },
			};

			snprintf(what, sizeof(what), "opcode %u, row %u", opcodes[j], i);
			expect_wr(test, &sq, what, &sqe, sges, sizeof(sges), rows[i].want);
		}
	}
	end_sq(&sq);
}

/* There is no inline Read */
static void inline_read(struct kunit *test)
{
	struct srnic_sqe sqe = {
		.opcode = SRNIC_OP_READ, .flags = SRNIC_SQE_INLINE, .inline_len = 4,
		.rkey = 1,
	};
	struct sq sq;

	make_sq(test, &sq);
	expect_wr(test, &sq, "inline Read", &sqe, "abcd", 4, SRNIC_WC_INVALID_WQE);
	end_sq(&sq);
}

/* The sum of the lengths is the message's, computed without overflow (WR-19) */
static void sge_sums(struct kunit *test)
{
	static const struct {
		u32 length[MAX_SGE];
		enum srnic_wc_status want;
		u32 total;
	} rows[] = {
		{ { 0, 0, 0 }, SRNIC_WC_SUCCESS, 0 },
		{ { 1, 2, 3 }, SRNIC_WC_SUCCESS, 6 },
		{ { 0xffffffff, 0, 0 }, SRNIC_WC_SUCCESS, 0xffffffff },
		{ { 0x7fffffff, 0x80000000, 0 }, SRNIC_WC_SUCCESS, 0xffffffff },
		{ { 0xffffffff, 1, 0 }, SRNIC_WC_INVALID_LENGTH, 0 },
		{ { 0x80000000, 0x80000000, 0 }, SRNIC_WC_INVALID_LENGTH, 0 },
		{ { 0xffffffff, 0xffffffff, 0xffffffff }, SRNIC_WC_INVALID_LENGTH, 0 },
		{ { 0xfffffffe, 1, 1 }, SRNIC_WC_INVALID_LENGTH, 0 },
	};
	struct srnic_sqe sqe = { .opcode = SRNIC_OP_SEND, .num_sge = MAX_SGE };
	char what[16];
	struct sq sq;
	u32 i, j;

	make_sq(test, &sq);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_sge sges[MAX_SGE] = { };

		for (j = 0; j < MAX_SGE; j++)
			sges[j].length = rows[i].length[j];
		snprintf(what, sizeof(what), "row %u", i);
		expect_wr(test, &sq, what, &sqe, sges, sizeof(sges), rows[i].want);
		if (!rows[i].want)
			KUNIT_EXPECT_EQ(test, sq.wr.total, rows[i].total);
	}
	end_sq(&sq);
}

/*
 * STag 0 is valid neither as remote buffer nor as the sink of a Read (MM-11), unless the length
 * is 0 (MR-19)
 */
static void stag_zero(struct kunit *test)
{
	static const struct {
		u8 opcode;
		u32 rkey, lkey, length;
		enum srnic_wc_status want;
	} rows[] = {
		{ SRNIC_OP_WRITE, 1, 1, 1, SRNIC_WC_SUCCESS },
		{ SRNIC_OP_WRITE, 0, 1, 1, SRNIC_WC_INVALID_STAG },
		{ SRNIC_OP_WRITE, 0, 0, 0, SRNIC_WC_SUCCESS },
		{ SRNIC_OP_READ, 1, 1, 1, SRNIC_WC_SUCCESS },
		{ SRNIC_OP_READ, 0, 1, 1, SRNIC_WC_INVALID_STAG },
		{ SRNIC_OP_READ, 1, 0, 1, SRNIC_WC_INVALID_STAG },
		{ SRNIC_OP_READ, 0, 0, 0, SRNIC_WC_SUCCESS },
		{ SRNIC_OP_SEND, 0, 1, 1, SRNIC_WC_SUCCESS },
		{ SRNIC_OP_WRITE_IMM, 1, 1, 1, SRNIC_WC_SUCCESS },
		{ SRNIC_OP_WRITE_IMM, 0, 1, 1, SRNIC_WC_INVALID_STAG },
		{ SRNIC_OP_WRITE_IMM, 0, 0, 0, SRNIC_WC_SUCCESS },
	};
	char what[16];
	struct sq sq;
	u32 i;

	make_sq(test, &sq);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_sqe sqe = {
			.opcode = rows[i].opcode, .rkey = rows[i].rkey, .num_sge = 1,
		};
		struct srnic_sge sge = { .lkey = rows[i].lkey, .length = rows[i].length };

		snprintf(what, sizeof(what), "row %u", i);
		expect_wr(test, &sq, what, &sqe, &sge, sizeof(sge), rows[i].want);
	}
	end_sq(&sq);
}

/* The kernel uses its copy: the user may overwrite the slot */
static void copied_once(struct kunit *test)
{
	struct srnic_sqe sqe = {
		.wr_id = 5, .opcode = SRNIC_OP_WRITE, .num_sge = 1, .rkey = 7,
		.remote_addr = 0x1234,
	};
	struct srnic_sge sge = { .addr = 0x1000, .length = 10, .lkey = 9 };
	enum srnic_wc_status status;
	struct sq sq;

	make_sq(test, &sq);
	post(&sq, &sqe, &sge, sizeof(sge));
	KUNIT_ASSERT_EQ(test, srnic_sqe_fetch(sq.qp, &sq.wr, &status), 1);
	memset(srnic_ring_slot(&sq.qp->sq, 0), 0xff, sq.qp->sq.stride);
	KUNIT_EXPECT_EQ(test, memcmp(&sq.wr.sqe, &sqe, sizeof(sqe)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(sq.wr.sges, &sge, sizeof(sge)), 0);
	KUNIT_EXPECT_EQ(test, end_wr(test, &sq, 5), SRNIC_WC_FLUSHED);
	end_sq(&sq);
}

/* An impossible index is an error, and is not taken for posted WRs */
static void wild_index(struct kunit *test)
{
	static const u32 wild[] = { DEPTH + 1, 0x7fffffff, 0x80000000, 0xffffffff };
	enum srnic_wc_status status;
	struct sq sq;
	u32 i;

	make_sq(test, &sq);
	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		sq.qp->sq.hdr->producer = wild[i];
		KUNIT_EXPECT_EQ(test, srnic_sqe_fetch(sq.qp, &sq.wr, &status), -EPROTO);
	}
	sq.qp->sq.hdr->producer = 0;
	end_sq(&sq);
}

/* A slot stays in use until its WR has completed: the producer index may not pass it */
static void over_incomplete(struct kunit *test)
{
	struct srnic_sqe sqe = { .opcode = SRNIC_OP_WRITE };
	enum srnic_wc_status status;
	struct sq sq;
	u32 i;

	make_sq(test, &sq);
	for (i = 0; i < DEPTH; i++) {
		post(&sq, &sqe, NULL, 0);
		KUNIT_ASSERT_EQ(test, srnic_sqe_fetch(sq.qp, &sq.wr, &status), 1);
	}
	sq.qp->sq.hdr->producer++;
	KUNIT_EXPECT_EQ(test, srnic_sqe_fetch(sq.qp, &sq.wr, &status), -EPROTO);
	srnic_sq_done(sq.qp, 0, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, srnic_sqe_fetch(sq.qp, &sq.wr, &status), 1);
	srnic_sq_flush(sq.qp);
	end_sq(&sq);
}

/* Random slots: valid or not, each WR completes once, and KASAN reports nothing */
static void random_slots(struct kunit *test)
{
	u32 seed = 36, round, i;
	struct sq sq;

	make_sq(test, &sq);
	for (round = 0; round < 20000; round++) {
		u8 *slot = srnic_ring_slot(&sq.qp->sq, sq.qp->sq.hdr->producer);
		struct srnic_sqe *sqe = (struct srnic_sqe *)slot;
		enum srnic_wc_status status;

		for (i = 0; i < sq.qp->sq.stride; i++)
			slot[i] = octets_random(&seed);
		/* most rounds are nearly valid */
		if (round % 4)
			sqe->opcode %= SRNIC_OP_SQ_MAX;
		if (round % 8)
			sqe->flags &= 0x0f;
		if (round % 3)
			sqe->num_sge %= MAX_SGE + 2;
		if (round % 5)
			sqe->inline_len %= MAX_INLINE + 30;
		if (round % 7) {
			memset(sqe->arg, 0, sizeof(sqe->arg));
			sqe->stag = 0;
			if (sqe->flags & SRNIC_SQE_INLINE)
				sqe->num_sge = 0;
			else
				sqe->inline_len = 0;
		}
		sqe->wr_id = round;
		sq.qp->sq.hdr->producer++;
		KUNIT_ASSERT_EQ(test, srnic_sqe_fetch(sq.qp, &sq.wr, &status), 1);
		if (status)
			srnic_sq_done(sq.qp, sq.wr.index, status);
		end_wr(test, &sq, round);
	}
	end_sq(&sq);
}

static struct kunit_case sqe_cases[] = {
	KUNIT_CASE(empty),
	KUNIT_CASE(opcodes),
	KUNIT_CASE(ud_opcodes),
	KUNIT_CASE(unused_fields),
	KUNIT_CASE(inline_or_sges),
	KUNIT_CASE(flag_bits),
	KUNIT_CASE(sge_counts),
	KUNIT_CASE(inline_lengths),
	KUNIT_CASE(atomic_sink),
	KUNIT_CASE(inline_read),
	KUNIT_CASE(sge_sums),
	KUNIT_CASE(stag_zero),
	KUNIT_CASE(copied_once),
	KUNIT_CASE(wild_index),
	KUNIT_CASE(over_incomplete),
	KUNIT_CASE(random_slots),
	{}
};

static struct kunit_suite sqe_suite = {
	.name = "srnic-sqe",
	.test_cases = sqe_cases,
};

kunit_test_suite(sqe_suite);
