// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* mr.c, mr_fast.c, tpt.c: fast registration and invalidation, one row for each check. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/fdtable.h>
#include <linux/kthread.h>
#include <linux/scatterlist.h>
#include <rdma/ib_umem.h>
#include "compat.h"
#include "exporter.h"
#include "fake.h"
#include "memory/mr.h"
#include "qp/qp.h"

#define LR	SRNIC_LOCAL_READ
#define LW	SRNIC_LOCAL_WRITE
#define RR	SRNIC_REMOTE_READ
#define RW	SRNIC_REMOTE_WRITE
#define QPN	7

struct fix {
	struct srnic_device *dev;
	struct ib_pd *pd;
	struct srnic_qp *qp;
	struct srnic_mr *mr;
	u8 *memory;
};

static struct srnic_qp *qp_on(struct kunit *test, struct fix *fix, struct ib_pd *pd, u32 qpn)
{
	struct srnic_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->dev = fix->dev;
	qp->kernel = true;
	qp->ibqp.pd = pd;
	qp->ibqp.qp_num = qpn;
	qp->enables = SRNIC_QP_READ_ENABLED | SRNIC_QP_WRITE_ENABLED;
	return qp;
}

#define BLOCKS	4

/* Map @mapped blocks for the next registration, from octet @fbo of the first */
static void fix_map(struct kunit *test, const struct fix *fix, u32 mapped, u32 fbo)
{
	struct scatterlist sg;
	unsigned int offset = fbo;

	sg_init_one(&sg, fix->memory, mapped * PAGE_SIZE);
	sg.dma_address = (uintptr_t)fix->memory;
	sg_dma_len(&sg) = mapped * PAGE_SIZE;
	fix->mr->ibmr.page_size = PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, srnic_mr_map_sg(&fix->mr->ibmr, &sg, 1, &offset), 1);
}

/* A fast-register region of at most BLOCKS pages or blocks */
static struct fix fix_alloc(struct kunit *test, enum ib_mr_type type)
{
	struct fix fix = { .dev = fake_device(test) };
	struct ib_mr *ibmr;

	fix.pd = fake_pd(test, fix.dev);
	fix.qp = qp_on(test, &fix, fix.pd, QPN);
	fix.memory = (u8 *)kunit_kzalloc(test, (BLOCKS + 1) * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, fix.memory);
	fix.memory = PTR_ALIGN(fix.memory, PAGE_SIZE);
	ibmr = srnic_mr_alloc(fix.pd, type, BLOCKS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ibmr));
	fix.mr = to_srnic_mr(ibmr);
	return fix;
}

/* The same of pages, @mapped of them mapped, from octet @fbo of the first */
static struct fix fix_make(struct kunit *test, u32 mapped, u32 fbo)
{
	struct fix fix = fix_alloc(test, IB_MR_TYPE_MEM_REG);

	fix_map(test, &fix, mapped, fbo);
	return fix;
}

/* Part of the memory */
struct piece {
	u32 at, len;
};

/* Map pieces for the next registration of a block list */
static int map_pieces(const struct fix *fix, const struct piece *pieces, int n,
		      unsigned int *offset)
{
	struct scatterlist sg[BLOCKS + 1];
	int i;

	sg_init_table(sg, n);
	for (i = 0; i < n; i++) {
		sg[i].dma_address = (uintptr_t)fix->memory + pieces[i].at;
		sg_dma_len(&sg[i]) = pieces[i].len;
	}
	return srnic_mr_map_sg(&fix->mr->ibmr, sg, n, offset);
}

static struct srnic_sqe reg_sqe(const struct fix *fix, u8 key)
{
	return (struct srnic_sqe){
		.opcode = SRNIC_OP_REG_MR,
		.stag = (fix->mr->tpte.stag & ~0xffU) | key,
		.arg = { fix->mr->ibmr.iova, fix->mr->ibmr.length,
			 IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE },
	};
}

/* MR-02, MR-03, MR-30: Invalid at first; then Valid with the WR's key, base and rights */
static void fast_register(struct kunit *test)
{
	struct fix fix = fix_make(test, 2, 0x123);
	struct srnic_sqe sqe = reg_sqe(&fix, 0x5a);
	struct srnic_access acc = {
		.to = sqe.arg[0], .length = 1, .need = LR, .pd = fix.pd, .qpn = QPN,
		.stag = fix.mr->tpte.stag,
	};
	struct srnic_span span;
	u32 len = 2 * PAGE_SIZE;

	KUNIT_EXPECT_FALSE(test, fix.mr->tpte.valid);
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_STAG);
	KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	if ((fix.mr->tpte.stag & 0xff) != 0x5a)
		KUNIT_FAIL(test, "key %x", fix.mr->tpte.stag & 0xff);
	acc.stag = sqe.stag;
	acc.need = LR | LW | RW;
	acc.length = 2 * PAGE_SIZE - 0x123;
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 0, &len),
			    (void *)(fix.memory + 0x123));
	KUNIT_EXPECT_EQ(test, len, PAGE_SIZE - 0x123);
	srnic_tpt_put(&span);
	acc.length++;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_BOUNDS);
	acc.length--;
	acc.need = RR;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_ACCESS);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* WR-17: the region has the rights of the WR, Bind enable among them, and no others */
static void fast_register_rights(struct kunit *test)
{
	static const struct {
		int access;
		u8 rights;
	} rows[] = {
		{ 0, LR },
		{ IB_ACCESS_LOCAL_WRITE, LR | LW },
		{ IB_ACCESS_REMOTE_READ, LR | RR },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, LR | LW | RW },
		{ IB_ACCESS_MW_BIND, LR | SRNIC_BINDABLE },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ |
		  IB_ACCESS_MW_BIND, LR | LW | RW | RR | SRNIC_BINDABLE },
		{ 0, LR },
	};
	struct fix fix = fix_make(test, 1, 0);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_sqe sqe = reg_sqe(&fix, i);

		sqe.arg[2] = rows[i].access;
		KUNIT_EXPECT_EQ_MSG(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS,
				    "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, fix.mr->tpte.rights &
				    (LR | LW | RR | RW | SRNIC_BINDABLE | SRNIC_REMOTE_ATOMIC),
				    rows[i].rights, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false),
				    SRNIC_INV_OK, "row %u", i);
	}
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* Kernel ULPs map for the next WR, then post LOCAL_INV and REG_MR in one list */
static void map_while_valid(struct kunit *test)
{
	struct fix fix = fix_make(test, 1, 0x10);
	struct srnic_sqe sqe = reg_sqe(&fix, 1);
	u64 base = fix.mr->ibmr.iova, length = fix.mr->ibmr.length;
	struct srnic_access acc = {
		.to = base, .length = length, .need = LR, .pd = fix.pd, .stag = sqe.stag,
	};
	u8 *second = fix.memory + 2 * PAGE_SIZE;
	struct srnic_span span;
	struct scatterlist sg;
	u32 len = 1;

	KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	sg_init_one(&sg, second, 2 * PAGE_SIZE);
	sg.dma_address = (uintptr_t)second;
	sg_dma_len(&sg) = 2 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, srnic_mr_map_sg(&fix.mr->ibmr, &sg, 1, NULL), 1);

	/* the registration in effect does not change */
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 0, &len), (void *)(fix.memory + 0x10));
	srnic_tpt_put(&span);
	acc.length++;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_BOUNDS);

	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);
	sqe = reg_sqe(&fix, 2);
	KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	acc.stag = sqe.stag;
	acc.to = sqe.arg[0];
	acc.length = 2 * PAGE_SIZE;
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 0, &len), (void *)second);
	srnic_tpt_put(&span);

	/* without a new mapping the memory stays the same */
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);
	KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 0, &len), (void *)second);
	srnic_tpt_put(&span);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* MR-09: zero-based; the first octet is not at a block's start */
static void fast_register_zero_based(struct kunit *test)
{
	struct fix fix = fix_make(test, 1, 5);
	struct srnic_sqe sqe = reg_sqe(&fix, 1);
	struct srnic_access acc = {
		.to = 0, .length = 3, .need = LR, .pd = fix.pd, .stag = sqe.stag,
	};
	struct srnic_span span;
	u32 len = 3;

	sqe.arg[2] |= IB_ZERO_BASED;
	KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 0, &len), (void *)(fix.memory + 5));
	srnic_tpt_put(&span);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* MR-31: each check fails on its own and changes nothing; then the correct WR succeeds */
static void fast_register_errors(struct kunit *test)
{
	enum { STAG, OTHER_INDEX, PD, RIGHTS, FLAG, LONG, EMPTY, VA, WRAP, USERS,
	       UNMAPPED, AGAIN, COUNT };
	static const enum srnic_wc_status want[COUNT] = {
		[STAG] = SRNIC_WC_INVALID_STAG,
		[OTHER_INDEX] = SRNIC_WC_INVALID_STAG,
		[PD] = SRNIC_WC_INVALID_PD,
		[RIGHTS] = SRNIC_WC_FR_ACCESS,
		[FLAG] = SRNIC_WC_FR_ACCESS,
		[LONG] = SRNIC_WC_FR_LENGTH,
		[EMPTY] = SRNIC_WC_FR_LENGTH,
		[VA] = SRNIC_WC_INVALID_VA,
		[WRAP] = SRNIC_WC_INVALID_VA,
		[USERS] = SRNIC_WC_STAG_NOT_INVALID,	/* it is being invalidated */
		[UNMAPPED] = SRNIC_WC_FR_LENGTH,
		[AGAIN] = SRNIC_WC_STAG_NOT_INVALID,
	};
	struct fix fix = fix_make(test, 2, 0x100);
	u32 old = fix.mr->tpte.stag;
	int i;

	for (i = 0; i < COUNT; i++) {
		struct srnic_sqe sqe = reg_sqe(&fix, 9);
		struct srnic_qp *qp = fix.qp;

		switch (i) {
		case STAG:
			sqe.stag = 0;
			break;
		case OTHER_INDEX:
			sqe.stag ^= 0x100;
			break;
		case PD:
			qp = qp_on(test, &fix, fake_pd(test, fix.dev), QPN);
			break;
		case RIGHTS:
			sqe.arg[2] = IB_ACCESS_REMOTE_WRITE;
			break;
		case FLAG:
			sqe.arg[2] |= IB_ACCESS_ON_DEMAND;
			break;
		case LONG:
			sqe.arg[1] = 2 * PAGE_SIZE - 0x100 + 1;
			break;
		case EMPTY:
			sqe.arg[1] = 0;
			break;
		case VA:
			sqe.arg[0]++;
			break;
		case WRAP:
			sqe.arg[0] = ~0ULL - PAGE_SIZE + 1 + 0x100;
			break;
		case USERS:
			fix.mr->tpte.users.count = 1;
			break;
		case UNMAPPED:
			fix.mr->tpte.users.count = 0;
			KUNIT_EXPECT_LE(test, srnic_mr_map_sg(&fix.mr->ibmr, NULL, 0, NULL), 0);
			break;
		case AGAIN:
			fix_map(test, &fix, 2, 0x100);
			KUNIT_EXPECT_FALSE(test, fix.mr->tpte.valid);
			KUNIT_EXPECT_EQ(test, fix.mr->tpte.stag, old);
			KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(qp, &sqe),
					SRNIC_WC_SUCCESS);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, srnic_mr_fast_register(qp, &sqe), want[i],
				    "row %d", i);
	}
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* The pieces are the region: each octet, and no other, is written and read, in @step at a time */
static void use_pieces(struct kunit *test, const struct fix *fix, const struct piece *piece,
		       u32 stag, u64 to, u32 length, u32 step)
{
	struct srnic_access acc = {
		.stag = stag, .to = to, .length = length, .need = LR | LW | RW, .pd = fix->pd,
	};
	u8 *octets = kunit_kzalloc(test, length, GFP_KERNEL);
	u32 at, in_piece = 0;
	struct srnic_span span;

	KUNIT_ASSERT_NOT_NULL(test, octets);
	for (at = 0; at < length; at++)
		octets[at] = 1 + at % 251;
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix->dev, &acc, &span), SRNIC_TPT_OK);
	for (at = 0; at < length; at += step)
		srnic_span_write(&span, at, octets + at, min(step, length - at));
	memset(octets, 0, length);
	for (at = 0; at < length; at += step)
		srnic_span_read(&span, at, octets + at, min(step, length - at));
	srnic_tpt_put(&span);
	for (at = 0; at < length; at++, in_piece++) {
		u8 *is;

		for (; in_piece == piece->len; piece++)
			in_piece = 0;
		is = fix->memory + piece->at + in_piece;
		if (*is != 1 + at % 251 || octets[at] != *is)
			KUNIT_FAIL(test, "octet %u is %u, read as %u", at, *is, octets[at]);
		*is = 0;
	}
	KUNIT_EXPECT_NULL(test, memchr_inv(fix->memory, 0, BLOCKS * PAGE_SIZE));
	/* beside it, which may be beyond the last or the first TO */
	acc.length++;
	KUNIT_EXPECT_NE(test, srnic_tpt_get(fix->dev, &acc, &span), SRNIC_TPT_OK);
	acc.length--;
	acc.to--;
	KUNIT_EXPECT_NE(test, srnic_tpt_get(fix->dev, &acc, &span), SRNIC_TPT_OK);
}

/*
 * MR-12: a region of IB_MR_TYPE_SG_GAPS takes pieces of any length at any address, and its TO is
 * any; it is invalidated, and registered again with the same and with other memory
 */
static void block_list(struct kunit *test)
{
	/* the last is adjacent to the first, and one has no octets */
	static const struct piece pieces[] = {
		{ 3, 1000 }, { 5001, 513 }, { 9000, 0 }, { 1003, 1 },
	};
	static const struct piece other[] = { { 4097, 4095 }, { 1, 4096 } };
	struct fix fix = fix_alloc(test, IB_MR_TYPE_SG_GAPS);
	struct ib_mr *ibmr = &fix.mr->ibmr;
	struct srnic_sqe sqe;
	u32 step;

	for (step = 1; step <= 1514; step += 151) {
		KUNIT_ASSERT_EQ(test, map_pieces(&fix, pieces, 4, NULL), 4);
		KUNIT_EXPECT_EQ(test, ibmr->iova, (uintptr_t)fix.memory + 3);
		KUNIT_EXPECT_EQ(test, ibmr->length, 1514);
		ibmr->iova = 0x123456789 + step;
		sqe = reg_sqe(&fix, step);
		KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
		use_pieces(test, &fix, pieces, sqe.stag, ibmr->iova, 1514, step);
		/* the list for the next time does not change what is Valid */
		KUNIT_ASSERT_EQ(test, map_pieces(&fix, other, 2, NULL), 2);
		use_pieces(test, &fix, pieces, sqe.stag, 0x123456789 + step, 1514, step);
		KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);
		sqe = reg_sqe(&fix, step + 1);
		sqe.arg[2] |= IB_ZERO_BASED;
		KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
		use_pieces(test, &fix, other, sqe.stag, 0, 8191, step);
		KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);
		/* without another list the memory stays the same */
		KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
		use_pieces(test, &fix, other, sqe.stag, 0, 8191, step);
		KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);
	}
	srnic_mr_dereg(ibmr);
}

/* As many entries as there is room for; the offset skips octets of the first one */
static void block_list_prefix(struct kunit *test)
{
	static const struct piece pieces[BLOCKS + 1] = {
		{ 100, 10 }, { 200, 10 }, { 300, 10 }, { 400, 10 }, { 500, 10 },
	};
	static const struct piece used[] = { { 107, 3 }, { 200, 10 }, { 300, 10 }, { 400, 10 } };
	struct fix fix = fix_alloc(test, IB_MR_TYPE_SG_GAPS);
	unsigned int offset = 7;
	struct srnic_sqe sqe;

	KUNIT_EXPECT_EQ(test, map_pieces(&fix, pieces, BLOCKS + 1, &offset), BLOCKS);
	KUNIT_EXPECT_EQ(test, offset, 0);
	KUNIT_EXPECT_EQ(test, fix.mr->ibmr.length, 33);
	sqe = reg_sqe(&fix, 1);
	sqe.arg[1] = 34;
	KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_FR_LENGTH);
	sqe.arg[1] = 33;
	KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	use_pieces(test, &fix, used, sqe.stag, sqe.arg[0], 33, 5);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);

	/* what cannot be mapped leaves an empty list */
	offset = 11;
	KUNIT_EXPECT_EQ(test, map_pieces(&fix, pieces, 1, &offset), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_FR_LENGTH);
	KUNIT_EXPECT_EQ(test, srnic_mr_map_sg(&fix.mr->ibmr, NULL, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_FR_LENGTH);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/*
 * 7.6.2.2, MR-08, MR-09: equal blocks, of a size that is no power of two: VA modulo size is FBO,
 * and a zero-based region begins at FBO; what ends behind the last block is refused
 */
static void block_list_errors(struct kunit *test)
{
	static const struct {
		u64 fbo, iova, length;
		int flag;
		enum srnic_wc_status want;
	} rows[] = {
		{ 0, 5000, 3000, 0, SRNIC_WC_SUCCESS },
		{ 0, 5000, 3001, 0, SRNIC_WC_FR_LENGTH },
		{ 0, 5000, 0, 0, SRNIC_WC_FR_LENGTH },
		{ 999, 5999, 2001, 0, SRNIC_WC_SUCCESS },
		{ 999, 5999, 2002, 0, SRNIC_WC_FR_LENGTH },
		{ 999, 5998, 1, 0, SRNIC_WC_INVALID_VA },
		{ 1, 5000, 1, 0, SRNIC_WC_INVALID_VA },
		/* a block's size is not taken for that of a page */
		{ 0, 4096, 1, 0, SRNIC_WC_INVALID_VA },
		{ 999, 0, 2001, IB_ZERO_BASED, SRNIC_WC_SUCCESS },
		{ 999, 0, 2002, IB_ZERO_BASED, SRNIC_WC_FR_LENGTH },
		/* the last multiple of 1000 below 2^64, which it ends at, or passes */
		{ 0, 18446744073709551000ULL, 616, 0, SRNIC_WC_SUCCESS },
		{ 0, 18446744073709551000ULL, 617, 0, SRNIC_WC_INVALID_VA },
		{ ~0ULL, 999, 1, 0, SRNIC_WC_FR_LENGTH },
		{ 1, 1, ~0ULL, 0, SRNIC_WC_FR_LENGTH },
	};
	struct fix fix = fix_alloc(test, IB_MR_TYPE_SG_GAPS);
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct piece used[3] = { { 5001, 1000 }, { 7, 1000 }, { 2500, 1000 } };
		struct srnic_sqe sqe;

		srnic_mr_begin(fix.mr, 1000, rows[i].fbo);
		for (j = 0; j < 3; j++)
			srnic_mr_add(fix.mr, (uintptr_t)fix.memory + used[j].at, used[j].len);
		sqe = reg_sqe(&fix, i);
		sqe.arg[0] = rows[i].iova;
		sqe.arg[1] = rows[i].length;
		sqe.arg[2] |= rows[i].flag;
		KUNIT_EXPECT_EQ_MSG(test, srnic_mr_fast_register(fix.qp, &sqe), rows[i].want,
				    "row %u", i);
		if (!fix.mr->tpte.valid)
			continue;
		used[0].at += rows[i].fbo;
		used[0].len -= rows[i].fbo;
		use_pieces(test, &fix, used, sqe.stag, rows[i].iova, rows[i].length, 700);
		KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);
	}
	/* no more entries than it was allocated with */
	KUNIT_EXPECT_EQ(test, srnic_mr_add(fix.mr, (uintptr_t)fix.memory, 1000), 0);
	KUNIT_EXPECT_EQ(test, srnic_mr_add(fix.mr, (uintptr_t)fix.memory, 1000), -ENOSPC);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* MR-31: neither a user's region nor a window can be fast-registered; limits */
static void alloc_limits(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	struct ib_mr *mr;

	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(srnic_mr_alloc(pd, IB_MR_TYPE_MEM_REG, 0)));
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(srnic_mr_alloc(pd, IB_MR_TYPE_MEM_REG,
							      SRNIC_MAX_FR_BLOCKS + 1)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR(srnic_mr_alloc(pd, IB_MR_TYPE_INTEGRITY, 1)));
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(srnic_mr_alloc(pd, IB_MR_TYPE_SG_GAPS,
							      SRNIC_MAX_FR_BLOCKS + 1)));
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 0);
	mr = srnic_mr_alloc(pd, IB_MR_TYPE_MEM_REG, SRNIC_MAX_FR_BLOCKS);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	srnic_mr_dereg(mr);

	mr = srnic_mr_get_dma(pd, IB_ACCESS_LOCAL_WRITE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	KUNIT_EXPECT_EQ(test, -EINVAL, srnic_mr_map_sg(mr, NULL, 0, NULL));
	srnic_mr_dereg(mr);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 0);
}

/* MR-32 to MR-35, MM-12 */
static void invalidate(struct kunit *test)
{
	struct fix fix = fix_make(test, 1, 0);
	struct srnic_sqe sqe = reg_sqe(&fix, 0x21);
	struct srnic_qp *foreign = qp_on(test, &fix, fake_pd(test, fix.dev), QPN);
	struct srnic_tpte *tpte = &fix.mr->tpte;

	KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, 0, false), SRNIC_INV_STAG);
	/* all 32 bits while Valid */
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag ^ 1, false),
			SRNIC_INV_STAG);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag ^ 0x100, false),
			SRNIC_INV_STAG);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(foreign, sqe.stag, false), SRNIC_INV_PD);
	tpte->windows = 1;
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_BOUND);
	tpte->windows = 0;
	KUNIT_EXPECT_TRUE(test, tpte->valid);

	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);
	KUNIT_EXPECT_FALSE(test, tpte->valid);
	/* again, with any key, but only within the PD */
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_OK);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag ^ 1, false), SRNIC_INV_OK);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(foreign, sqe.stag, false), SRNIC_INV_PD);
	/* it can be registered again, with as many blocks as at creation */
	KUNIT_EXPECT_EQ(test, tpte->pbl->max, BLOCKS);
	KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	srnic_mr_dereg(&fix.mr->ibmr);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_STAG);
}

/* MR-33: the peer needs a remote right of the STag and the QP's permission; SEC-7 */
static void invalidate_remote(struct kunit *test)
{
	struct fix fix = fix_make(test, 1, 0);
	struct srnic_tpte *tpte = &fix.mr->tpte;
	struct srnic_sqe sqe = reg_sqe(&fix, 1);

	KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	tpte->rights = LR | LW | SRNIC_READ_SINK;
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, true), SRNIC_INV_ACCESS);
	tpte->rights = LR | RR;
	fix.qp->enables = SRNIC_QP_BIND_ENABLED;
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, true), SRNIC_INV_ACCESS);
	fix.qp->enables = SRNIC_QP_WRITE_ENABLED;
	tpte->type = SRNIC_STAG_USER;
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, true), SRNIC_INV_ACCESS);
	tpte->type = SRNIC_STAG_DMA;
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, true), SRNIC_INV_ACCESS);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, false), SRNIC_INV_ACCESS);
	tpte->type = SRNIC_STAG_FAST_REG;
	KUNIT_EXPECT_TRUE(test, tpte->valid);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, sqe.stag, true), SRNIC_INV_OK);
	KUNIT_EXPECT_FALSE(test, tpte->valid);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* A Valid region with writable memory, like a user's */
static struct srnic_mr *user_region(struct fix *fix, struct ib_umem *umem)
{
	struct srnic_sqe sqe = reg_sqe(fix, 1);

	WARN_ON(srnic_mr_fast_register(fix->qp, &sqe));
	fix->mr->tpte.type = SRNIC_STAG_USER;
	fix->mr->umem = umem;
	return fix->mr;
}

/* MR-21: PD and rights change, the STag does not; an Invalid region becomes Valid again */
static void rereg_in_place(struct kunit *test)
{
	struct fix fix = fix_make(test, 2, 0);
	struct ib_pd *pd = fake_pd(test, fix.dev);
	struct ib_umem umem = { .writable = 1 };
	struct srnic_mr *mr = user_region(&fix, &umem);
	u32 stag = mr->tpte.stag;

	KUNIT_EXPECT_EQ(test, srnic_mr_rereg(&mr->ibmr, IB_MR_REREG_ACCESS, 0, 0, 0,
					     IB_ACCESS_REMOTE_READ, NULL), 0);
	KUNIT_EXPECT_EQ(test, mr->tpte.rights, LR | RR);
	KUNIT_EXPECT_PTR_EQ(test, mr->tpte.pd, fix.pd);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, stag, false), SRNIC_INV_OK);
	KUNIT_EXPECT_EQ(test, srnic_mr_rereg(&mr->ibmr, IB_MR_REREG_PD, 0, 0, 0, 0, pd), 0);
	KUNIT_EXPECT_TRUE(test, mr->tpte.valid);
	KUNIT_EXPECT_PTR_EQ(test, mr->tpte.pd, pd);
	KUNIT_EXPECT_EQ(test, mr->tpte.rights, LR | RR);
	KUNIT_EXPECT_EQ(test, mr->tpte.stag, stag);
	mr->umem = NULL;
	srnic_mr_dereg(&mr->ibmr);
}

/* MR-23: while a window is bound nothing changes */
static void rereg_busy(struct kunit *test)
{
	struct fix fix = fix_make(test, 2, 0);
	struct ib_umem umem = { .writable = 1 };
	struct srnic_mr *mr = user_region(&fix, &umem);
	u8 rights = mr->tpte.rights;

	mr->tpte.windows = 1;
	KUNIT_EXPECT_EQ(test, srnic_mr_rereg(&mr->ibmr, IB_MR_REREG_ACCESS, 0, 0, 0,
					     IB_ACCESS_REMOTE_READ, NULL), -EBUSY);
	KUNIT_EXPECT_TRUE(test, mr->tpte.valid);
	KUNIT_EXPECT_EQ(test, mr->tpte.rights, rights);
	mr->tpte.windows = 0;
	mr->umem = NULL;
	srnic_mr_dereg(&mr->ibmr);
}

/* MM-02, MM-04: a region gets a key, and no access by the old one is possible any more */
static void set_key(struct kunit *test)
{
	struct fix fix = fix_make(test, 2, 0);
	struct srnic_mr *mr = user_region(&fix, NULL);
	u32 was = mr->tpte.stag, now = (was & ~0xff) | ((was + 1) & 0xff);

	KUNIT_EXPECT_EQ(test, srnic_mr_set_key(&mr->ibmr, now), 0);
	KUNIT_EXPECT_EQ(test, mr->tpte.stag, now);
	KUNIT_EXPECT_EQ(test, mr->ibmr.lkey, now);
	KUNIT_EXPECT_EQ(test, mr->ibmr.rkey, now);
	KUNIT_EXPECT_TRUE(test, mr->tpte.valid);
	KUNIT_EXPECT_PTR_EQ(test, srnic_tpt_find(fix.dev, now), &mr->tpte);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, was, false), SRNIC_INV_STAG);
	mr->tpte.windows = 1;
	KUNIT_EXPECT_EQ(test, srnic_mr_set_key(&mr->ibmr, 5), -EBUSY);
	mr->tpte.windows = 0;
	KUNIT_EXPECT_TRUE(test, mr->tpte.valid);
	KUNIT_EXPECT_EQ(test, mr->tpte.stag, now);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, now, false), SRNIC_INV_OK);
	KUNIT_EXPECT_EQ(test, srnic_mr_set_key(&mr->ibmr, 5), -EINVAL);
	srnic_mr_dereg(&mr->ibmr);
}

/* A region whose parameters are refused is unchanged, whichever memory it has */
static void rereg_refused(struct kunit *test)
{
	static const struct {
		int flags;
		u64 length;
		u64 iova;
		int access;
		int err;
	} rows[] = {
		{ IB_MR_REREG_TRANS, 0, 0, 0, -EINVAL },
		{ IB_MR_REREG_TRANS, 2, U64_MAX, 0, -EINVAL },
		{ IB_MR_REREG_TRANS, SRNIC_MAX_MR_SIZE + 1, 0, 0, -EINVAL },
		{ IB_MR_REREG_TRANS | IB_MR_REREG_ACCESS, 2, 0, IB_ACCESS_HUGETLB, -EOPNOTSUPP },
		{ IB_MR_REREG_ACCESS, 0, 0, IB_ZERO_BASED, -EINVAL },
		{ IB_MR_REREG_ACCESS, 0, 0, IB_ACCESS_HUGETLB, -EOPNOTSUPP },
		{ IB_MR_REREG_ACCESS, 0, 0, IB_ACCESS_LOCAL_WRITE, -EINVAL },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fix fix = fix_make(test, 2, 0);
		/* without user memory, as one of a DMA buffer */
		struct srnic_mr *mr = user_region(&fix, NULL);
		u8 was = mr->tpte.rights;

		KUNIT_EXPECT_EQ(test, srnic_mr_rereg(&mr->ibmr, rows[i].flags, 0, rows[i].length,
						     rows[i].iova, rows[i].access, NULL),
				rows[i].err);
		KUNIT_EXPECT_TRUE(test, mr->tpte.valid);
		KUNIT_EXPECT_NOT_NULL(test, mr->tpte.pbl);
		KUNIT_EXPECT_EQ(test, mr->tpte.rights, was);
		srnic_mr_dereg(&mr->ibmr);
	}
}

/* E-25 to E-27, the statuses of a send WR and those of a receive (TC-03, CP-10) */
static void invalidate_error_names(struct kunit *test)
{
	static const struct {
		enum srnic_inv_err err;
		enum srnic_wc_status wc;
		enum srnic_wc_status recv;
		enum rdmap_err remote;
	} rows[] = {
		{ SRNIC_INV_OK, SRNIC_WC_SUCCESS, SRNIC_WC_SUCCESS, RDMAP_OK },
		{ SRNIC_INV_STAG, SRNIC_WC_INVALID_STAG, SRNIC_WC_INVALID_STAG,
		  RDMAP_E_INV_STAG },
		{ SRNIC_INV_PD, SRNIC_WC_INVALID_PD, SRNIC_WC_INVALIDATE,
		  RDMAP_E_INV_STREAM },
		{ SRNIC_INV_ACCESS, SRNIC_WC_ACCESS, SRNIC_WC_INVALIDATE,
		  RDMAP_E_INV_SHARED },
		{ SRNIC_INV_BOUND, SRNIC_WC_INVALIDATE, SRNIC_WC_INVALIDATE,
		  RDMAP_E_INV_BOUND },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, srnic_inv_wc_status(rows[i].err), rows[i].wc);
		KUNIT_EXPECT_EQ(test, srnic_inv_recv_status(rows[i].err), rows[i].recv);
		KUNIT_EXPECT_EQ(test, srnic_inv_remote_err(rows[i].err), rows[i].remote);
	}
}

struct inv_job {
	struct fix *fix;
	u32 stag;
	bool done;
};

static int job_is_done(struct inv_job *job)
{
	WRITE_ONCE(job->done, true);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static int invalidate_thread(void *arg)
{
	struct inv_job *job = arg;

	srnic_tpt_invalidate(job->fix->qp, job->stag, false);
	return job_is_done(job);
}

static int set_key_thread(void *arg)
{
	struct inv_job *job = arg;

	srnic_mr_set_key(&job->fix->mr->ibmr, ~job->stag);
	return job_is_done(job);
}

/* @change ends an STag: it waits for accesses in progress, and no new one begins */
static void change_waits(struct kunit *test, int (*change)(void *job))
{
	struct fix fix = fix_make(test, 1, 0);
	struct srnic_sqe sqe = reg_sqe(&fix, 1);
	struct srnic_access acc = {
		.stag = sqe.stag, .to = sqe.arg[0], .length = 1, .need = LR,
		.pd = fix.pd, .qpn = QPN,
	};
	struct inv_job job = { .fix = &fix, .stag = sqe.stag };
	struct srnic_span span, again;
	struct task_struct *task;
	int i;

	KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	task = kthread_run(change, &job, "srnic-kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	msleep(50);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(job.done));
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &again), SRNIC_TPT_STAG);
	srnic_tpt_put(&span);
	for (i = 0; i < 100 && !READ_ONCE(job.done); i++)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(job.done));
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &again), SRNIC_TPT_STAG);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, fix.mr->tpte.holds, 0);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* MR-36 */
static void invalidate_waits(struct kunit *test)
{
	change_waits(test, invalidate_thread);
}

/* MM-02 */
static void set_key_waits(struct kunit *test)
{
	change_waits(test, set_key_thread);
}

/*
 * MR-36: the invalidation waits for accesses that began before it, not for those of the next
 * registration, which may begin before the invalidating task runs again.
 */
static void invalidate_waits_no_longer(struct kunit *test)
{
	struct fix fix = fix_make(test, 1, 0);
	struct srnic_sqe sqe = reg_sqe(&fix, 1);
	struct srnic_access acc = {
		.stag = sqe.stag, .to = sqe.arg[0], .length = 1, .need = LR,
		.pd = fix.pd, .qpn = QPN,
	};
	struct inv_job job = { .fix = &fix, .stag = sqe.stag };
	struct srnic_span span, next;
	struct task_struct *task;
	int i;

	KUNIT_ASSERT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	task = kthread_run(invalidate_thread, &job, "srnic-kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	msleep(50);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(job.done));
	/* without sleeping: on one CPU the invalidating task cannot run in between */
	srnic_tpt_put(&span);
	KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &next), SRNIC_TPT_OK);
	for (i = 0; i < 100 && !READ_ONCE(job.done); i++)
		msleep(20);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(job.done));
	srnic_tpt_put(&next);
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, fix.mr->tpte.holds, 0);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* A region of an exporter's memory */
static struct ib_mr *reg_exported(struct kunit *test, struct fix *fix, int access)
{
	struct dma_buf *buf = exporter_begins(test, fix->memory, PAGE_SIZE);
	struct ib_mr *mr;
	int fd;

	fd = dma_buf_fd(buf, O_CLOEXEC);
	KUNIT_ASSERT_GE(test, fd, 0);
	mr = srnic_mr_reg_dmabuf(fix->pd, fd, 0, PAGE_SIZE, 0x1000, access);
	close_fd(fd);
	KUNIT_ASSERT_FALSE(test, IS_ERR(mr));
	return mr;
}

/* Each access calls the exporter of a DMA buffer before and after it; the exporter may refuse */
static void dmabuf_access_is_told(struct kunit *test)
{
	static const struct {
		u8 need;
		enum dma_data_direction direction;
	} rows[] = {
		{ LR, DMA_FROM_DEVICE }, { LW, DMA_BIDIRECTIONAL },
		{ RR, DMA_FROM_DEVICE }, { RW, DMA_BIDIRECTIONAL },
		{ SRNIC_REMOTE_ATOMIC, DMA_BIDIRECTIONAL },
		{ SRNIC_READ_SINK, DMA_BIDIRECTIONAL },
	};
	struct fix fix = fix_make(test, 1, 0);
	struct ib_mr *mr = reg_exported(test, &fix, IB_ACCESS_LOCAL_WRITE |
					IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |
					IB_ACCESS_REMOTE_ATOMIC);
	struct srnic_access acc = {
		.stag = mr->lkey, .to = 0x1000, .length = 8, .pd = fix.pd, .qpn = QPN,
	};
	struct srnic_span span;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		acc.need = rows[i].need;
		KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
		KUNIT_EXPECT_EQ_MSG(test, exporter.begun, 1 + i, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, exporter.ended, i, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, (int)exporter.direction, (int)rows[i].direction,
				    "row %u", i);
		srnic_tpt_put(&span);
		KUNIT_EXPECT_EQ_MSG(test, exporter.ended, 1 + i, "row %u", i);
	}
	acc.length = PAGE_SIZE + 1;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_BOUNDS);
	srnic_tpt_put(&span);
	exporter.err = -EIO;
	acc.length = 8;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_ACCESS);
	srnic_tpt_put(&span);
	KUNIT_EXPECT_EQ(test, exporter.begun, ARRAY_SIZE(rows));
	KUNIT_EXPECT_EQ(test, exporter.ended, ARRAY_SIZE(rows));
	/* no access is left that deregistration would wait for */
	KUNIT_EXPECT_EQ(test, srnic_mr_dereg(mr), 0);
	srnic_mr_dereg(&fix.mr->ibmr);
}

/* The buffer is mapped and unmapped with its lock held, as other importers do */
static void dmabuf_is_mapped_locked(struct kunit *test)
{
	struct fix fix = fix_make(test, 1, 0);
	struct ib_mr *mr = reg_exported(test, &fix, IB_ACCESS_LOCAL_WRITE);

	KUNIT_EXPECT_EQ(test, exporter.mapped, 1);
	KUNIT_EXPECT_EQ(test, srnic_mr_dereg(mr), 0);
	KUNIT_EXPECT_EQ(test, exporter.mapped, 0);
	KUNIT_EXPECT_EQ(test, exporter.unlocked, 0);
	srnic_mr_dereg(&fix.mr->ibmr);
}

static struct kunit_case mr_cases[] = {
	KUNIT_CASE(fast_register),
	KUNIT_CASE(fast_register_rights),
	KUNIT_CASE(map_while_valid),
	KUNIT_CASE(fast_register_zero_based),
	KUNIT_CASE(fast_register_errors),
	KUNIT_CASE(block_list),
	KUNIT_CASE(block_list_prefix),
	KUNIT_CASE(block_list_errors),
	KUNIT_CASE(alloc_limits),
	KUNIT_CASE(invalidate),
	KUNIT_CASE(invalidate_remote),
	KUNIT_CASE(invalidate_error_names),
	KUNIT_CASE(invalidate_waits),
	KUNIT_CASE(invalidate_waits_no_longer),
	KUNIT_CASE(set_key_waits),
	KUNIT_CASE(rereg_in_place),
	KUNIT_CASE(rereg_busy),
	KUNIT_CASE(rereg_refused),
	KUNIT_CASE(set_key),
	KUNIT_CASE(dmabuf_access_is_told),
	KUNIT_CASE(dmabuf_is_mapped_locked),
	{}
};

static struct kunit_suite mr_suite = {
	.name = "srnic-mr",
	.test_cases = mr_cases,
};

kunit_test_suite(mr_suite);
