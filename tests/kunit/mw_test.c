// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* mw.c: binding, one row for each check; accesses; what keeps a window's region and QP busy. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include "fake.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "qp/qp.h"

#define LR	SRNIC_LOCAL_READ
#define LW	SRNIC_LOCAL_WRITE
#define RR	SRNIC_REMOTE_READ
#define RW	SRNIC_REMOTE_WRITE
#define SINK	SRNIC_READ_SINK

#define REGION_STAG	0x00abcd11
#define BASE		0x7000000100ULL
#define SIZE		0x3000
#define OFF		0x40	/* of the region's first octet in its PBL */

struct fix {
	struct srnic_device *dev;
	struct ib_pd *pd;
	struct srnic_qp *qp, *other_qp, *foreign_qp;
	struct srnic_tpte *region;
	struct srnic_pbl *pbl;
	struct srnic_mw *mw;
	struct srnic_window *window;
};

static struct srnic_qp *new_qp(struct kunit *test, struct fix *fix, struct ib_pd *pd, u32 qpn)
{
	struct srnic_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->dev = fix->dev;
	qp->ibqp.pd = pd;
	qp->ibqp.qp_num = qpn;
	qp->enables = SRNIC_QP_READ_ENABLED | SRNIC_QP_WRITE_ENABLED | SRNIC_QP_BIND_ENABLED;
	spin_lock_init(&qp->lock);
	return qp;
}

static struct srnic_mw *new_mw(struct kunit *test, struct fix *fix, struct ib_pd *pd,
			       enum ib_mw_type type)
{
	struct srnic_mw *mw = kunit_kzalloc(test, sizeof(*mw), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mw);
	mw->ibmw.device = &fix->dev->ibdev;
	mw->ibmw.pd = pd;
	mw->ibmw.type = type;
	KUNIT_ASSERT_EQ(test, srnic_mw_alloc(&mw->ibmw), 0);
	return mw;
}

/* A VA-based region of SIZE octets, bindable, local rights only; a window; three QPs */
static struct fix fix_make(struct kunit *test, enum ib_mw_type type)
{
	struct fix fix = { .dev = fake_device(test) };
	u8 *memory;

	fix.pd = fake_pd(test, fix.dev);
	fix.qp = new_qp(test, &fix, fix.pd, 7);
	fix.other_qp = new_qp(test, &fix, fix.pd, 8);
	fix.foreign_qp = new_qp(test, &fix, fake_pd(test, fix.dev), 9);
	memory = (u8 *)kunit_kzalloc(test, 4 * PAGE_SIZE, GFP_KERNEL);
	fix.pbl = kunit_kzalloc(test, struct_size(fix.pbl, addr, 1), GFP_KERNEL);
	fix.region = kunit_kzalloc(test, sizeof(*fix.region), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, memory && fix.pbl && fix.region);
	fix.pbl->shift = 14;	/* all of it one block */
	fix.pbl->count = 1;
	fix.pbl->addr[0] = (uintptr_t)memory;
	srnic_tpte_init(fix.region, fix.pd, SRNIC_STAG_USER);
	fix.region->stag = REGION_STAG;
	fix.region->valid = true;
	fix.region->rights = LR | LW | SRNIC_BINDABLE;
	fix.region->base = BASE;
	fix.region->length = SIZE;
	fix.region->pbl = fix.pbl;
	fix.region->off = OFF;
	KUNIT_ASSERT_EQ(test, 0, xa_insert(&fix.dev->stags, SRNIC_STAG_INDEX(REGION_STAG),
					   fix.region, GFP_KERNEL));
	fix.mw = new_mw(test, &fix, fix.pd, type);
	fix.window = fix.mw->window;
	return fix;
}

static void fix_end(struct kunit *test, struct fix *fix)
{
	if (fix->mw)
		srnic_mw_dealloc(&fix->mw->ibmw);
	KUNIT_EXPECT_EQ(test, fix->region->windows, 0);
	KUNIT_EXPECT_EQ(test, fix->qp->windows, 0);
	KUNIT_EXPECT_EQ(test, fix->other_qp->windows, 0);
	KUNIT_EXPECT_EQ(test, srnic_held(fix->dev, SRNIC_KIND_MW), 0);
	KUNIT_EXPECT_EQ(test, srnic_tpt_remove(fix->region), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&fix->dev->stags));
}

static u32 key(const struct fix *fix, u8 k)
{
	return (fix->mw->ibmw.rkey & ~0xffU) | k;
}

static struct srnic_sqe bind_sqe(const struct fix *fix, u8 k, u64 to, u64 length, int access)
{
	return (struct srnic_sqe){
		.opcode = SRNIC_OP_BIND_MW,
		.stag = key(fix, k),
		.rkey = REGION_STAG,
		.arg = { to, length, access },
	};
}

static enum srnic_wc_status bind(const struct fix *fix, struct srnic_qp *qp, u8 k, u64 to,
				 u64 length, int access)
{
	struct srnic_sqe sqe = bind_sqe(fix, k, to, length, access);

	return srnic_mw_bind(qp, &sqe);
}

static enum srnic_tpt_err access_on(const struct fix *fix, struct srnic_qp *qp, u32 stag,
				    u64 to, u64 length, u8 need)
{
	struct srnic_access acc = {
		.stag = stag, .to = to, .length = length, .need = need,
		.pd = qp->ibqp.pd, .qpn = qp->ibqp.qp_num,
	};
	struct srnic_span span;
	enum srnic_tpt_err err = srnic_tpt_get(fix->dev, &acc, &span);

	if (!err)
		srnic_tpt_put(&span);
	return err;
}

#define REMOTE_BOTH (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

/* MW-01, MW-08, MW-11: Invalid at first; then bound to this QP, with rights the region lacks */
static void bind_and_use(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	struct srnic_access acc = {
		.stag = key(&fix, 0x5a), .to = BASE + 0x100, .length = 0x20, .need = RR | RW,
		.pd = fix.pd, .qpn = 7,
	};
	struct srnic_span span;
	u32 len = 0x20;

	KUNIT_EXPECT_NE(test, SRNIC_STAG_INDEX(fix.mw->ibmw.rkey), 0);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, fix.mw->ibmw.rkey, 0, 1, RR),
			SRNIC_TPT_STAG);
	KUNIT_ASSERT_EQ(test, bind(&fix, fix.qp, 0x5a, BASE + 0x100, 0x20, REMOTE_BOTH),
			SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix.region->windows, 1);
	KUNIT_EXPECT_EQ(test, fix.qp->windows, 1);
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 0, &len),
			    (void *)(uintptr_t)(fix.pbl->addr[0] + OFF + 0x100));
	srnic_tpt_put(&span);
	/* the region itself still has no remote right */
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, REGION_STAG, BASE, 1, RR),
			SRNIC_TPT_ACCESS);
	/* MW-09: only this key */
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, key(&fix, 0x5b), BASE + 0x100, 1, RR),
			SRNIC_TPT_STAG);
	/* PD-04: the QP counts, not the PD */
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.other_qp, acc.stag, BASE + 0x100, 1, RR),
			SRNIC_TPT_PD);
	fix_end(test, &fix);
}

/* MW-07, MW-11: bounds are exact to the octet at both ends */
static void bounds(struct kunit *test)
{
	static const struct {
		u64 to, length;
		enum srnic_tpt_err want;
	} rows[] = {
		{ BASE + 10, 20, SRNIC_TPT_OK },
		{ BASE + 10, 1, SRNIC_TPT_OK },
		{ BASE + 29, 1, SRNIC_TPT_OK },
		{ BASE + 9, 1, SRNIC_TPT_BOUNDS },
		{ BASE + 9, 2, SRNIC_TPT_BOUNDS },
		{ BASE + 30, 1, SRNIC_TPT_BOUNDS },
		{ BASE + 29, 2, SRNIC_TPT_BOUNDS },
		{ BASE + 10, 21, SRNIC_TPT_BOUNDS },
		{ ~0ULL, 2, SRNIC_TPT_WRAP },
	};
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	u32 i;

	KUNIT_ASSERT_EQ(test, bind(&fix, fix.qp, 1, BASE + 10, 20, REMOTE_BOTH),
			SRNIC_WC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, access_on(&fix, fix.qp, key(&fix, 1), rows[i].to,
						    rows[i].length, RW),
				    rows[i].want, "row %u", i);
	fix_end(test, &fix);
}

/* MW-05, Figure 19: a zero-based window begins with TO 0, wherever in the region it is */
static void zero_based(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	struct srnic_access acc = {
		.stag = key(&fix, 1), .to = 3, .length = 1, .need = RR, .pd = fix.pd, .qpn = 7,
	};
	struct srnic_span span;
	u32 len = 1;

	KUNIT_ASSERT_EQ(test, bind(&fix, fix.qp, 1, BASE + 0x200, 8,
				   IB_ACCESS_REMOTE_READ | IB_ZERO_BASED), SRNIC_WC_SUCCESS);
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 0, &len),
			    (void *)(uintptr_t)(fix.pbl->addr[0] + OFF + 0x203));
	srnic_tpt_put(&span);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, acc.stag, 7, 1, RR), SRNIC_TPT_OK);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, acc.stag, 8, 1, RR), SRNIC_TPT_BOUNDS);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, acc.stag, BASE + 0x200, 1, RR),
			SRNIC_TPT_BOUNDS);
	fix_end(test, &fix);
}

/* MW-04 to MW-07: each check has its own status, and changes nothing */
static void bind_errors(struct kunit *test)
{
	enum {
		NO_WINDOW, STAG_0, REGION_AS_WINDOW, QP_DISABLED, NO_REGION, REGION_0, REGION_KEY,
		WINDOW_AS_REGION, REGION_INVALID, QP_PD, WINDOW_PD, REGION_PD, NOT_BINDABLE,
		NO_RIGHT, LOCAL_RIGHT, UNKNOWN_RIGHT, HIGH_RIGHT, ZERO_BASED_REGION,
		ONE_BEFORE, ONE_BEHIND, TOO_LONG, LONGEST, WRAPS, QP_GOING, COUNT,
	};
	static const enum srnic_wc_status want[COUNT] = {
		[NO_WINDOW] = SRNIC_WC_INVALID_WINDOW,
		[STAG_0] = SRNIC_WC_INVALID_WINDOW,
		[REGION_AS_WINDOW] = SRNIC_WC_INVALID_WINDOW,
		[QP_DISABLED] = SRNIC_WC_ACCESS,
		[NO_REGION] = SRNIC_WC_INVALID_REGION,
		[REGION_0] = SRNIC_WC_INVALID_REGION,
		[REGION_KEY] = SRNIC_WC_INVALID_REGION,
		[WINDOW_AS_REGION] = SRNIC_WC_INVALID_REGION,
		[REGION_INVALID] = SRNIC_WC_INVALID_REGION,
		[QP_PD] = SRNIC_WC_INVALID_PD,
		[WINDOW_PD] = SRNIC_WC_INVALID_PD,
		[REGION_PD] = SRNIC_WC_INVALID_PD,
		[NOT_BINDABLE] = SRNIC_WC_ACCESS,
		[NO_RIGHT] = SRNIC_WC_ACCESS,
		[LOCAL_RIGHT] = SRNIC_WC_ACCESS,
		[UNKNOWN_RIGHT] = SRNIC_WC_ACCESS,
		[HIGH_RIGHT] = SRNIC_WC_ACCESS,
		[ZERO_BASED_REGION] = SRNIC_WC_INVALID_REGION,
		[ONE_BEFORE] = SRNIC_WC_BOUNDS,
		[ONE_BEHIND] = SRNIC_WC_BOUNDS,
		[TOO_LONG] = SRNIC_WC_BOUNDS,
		[LONGEST] = SRNIC_WC_WRAP,
		[WRAPS] = SRNIC_WC_WRAP,
		[QP_GOING] = SRNIC_WC_FLUSHED,
	};
	u32 i;

	for (i = 0; i < COUNT; i++) {
		struct fix fix = fix_make(test, IB_MW_TYPE_2);
		struct srnic_sqe sqe = bind_sqe(&fix, 2, BASE, SIZE, REMOTE_BOTH);
		struct srnic_qp *qp = fix.qp;
		struct srnic_mw *foreign = NULL;
		u32 old = fix.window->tpte.stag;

		switch (i) {
		case NO_WINDOW:
			sqe.stag ^= 0x100;
			break;
		case STAG_0:
			sqe.stag = 0;
			break;
		case REGION_AS_WINDOW:
			sqe.stag = REGION_STAG;
			break;
		case QP_DISABLED:
			qp->enables &= ~SRNIC_QP_BIND_ENABLED;
			break;
		case NO_REGION:
			sqe.rkey ^= 0x100;
			break;
		case REGION_0:
			sqe.rkey = 0;
			break;
		case REGION_KEY:
			sqe.rkey ^= 1;
			break;
		case WINDOW_AS_REGION:
			sqe.rkey = old;
			break;
		case REGION_INVALID:
			fix.region->valid = false;
			break;
		case QP_PD:
			qp = fix.foreign_qp;
			break;
		case WINDOW_PD:
			foreign = new_mw(test, &fix, fix.foreign_qp->ibqp.pd, IB_MW_TYPE_2);
			sqe.stag = foreign->ibmw.rkey;
			break;
		case REGION_PD:
			fix.region->pd = fix.foreign_qp->ibqp.pd;
			break;
		case NOT_BINDABLE:
			fix.region->rights = LR | LW | RR | RW;
			break;
		case NO_RIGHT:
			sqe.arg[2] = 0;
			break;
		case LOCAL_RIGHT:
			sqe.arg[2] |= IB_ACCESS_LOCAL_WRITE;
			break;
		case UNKNOWN_RIGHT:
			sqe.arg[2] |= IB_ACCESS_ON_DEMAND;
			break;
		case HIGH_RIGHT:
			sqe.arg[2] |= 1ULL << 32;
			break;
		case ZERO_BASED_REGION:
			fix.region->rights |= SRNIC_ZERO_BASED;
			break;
		case ONE_BEFORE:
			sqe.arg[0]--;
			break;
		case ONE_BEHIND:
			sqe.arg[0]++;
			break;
		case TOO_LONG:
			sqe.arg[1]++;
			break;
		case LONGEST:
			sqe.arg[1] = ~0ULL;
			break;
		case WRAPS:
			sqe.arg[0] = ~0ULL;
			sqe.arg[1] = 2;
			break;
		case QP_GOING:
			set_bit(SRNIC_QPF_DESTROY, &qp->flags);
			break;
		}
		KUNIT_EXPECT_EQ_MSG(test, srnic_mw_bind(qp, &sqe), want[i], "row %u", i);
		KUNIT_EXPECT_FALSE_MSG(test, fix.window->tpte.valid, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, fix.window->tpte.stag, old, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, fix.region->windows, 0, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, fix.window->tpte.holds, 0, "row %u", i);
		/* the correct bind succeeds */
		if (i == REGION_PD || i == QP_PD || i == QP_DISABLED || i == NO_RIGHT) {
			fix.region->pd = fix.pd;
			fix.qp->enables |= SRNIC_QP_BIND_ENABLED;
			KUNIT_EXPECT_EQ_MSG(test, bind(&fix, fix.qp, 2, BASE, SIZE, REMOTE_BOTH),
					    SRNIC_WC_SUCCESS, "row %u", i);
		}
		if (foreign)
			srnic_mw_dealloc(&foreign->ibmw);
		fix_end(test, &fix);
	}
}

/* MW-06, Figure 20, and which accesses each window allows (MW-12, MW-13) */
static void rights(struct kunit *test)
{
	static const struct {
		u8 region;
		int access;
		enum srnic_wc_status want;
		u8 have;
	} rows[] = {
		{ LR, IB_ACCESS_REMOTE_WRITE, SRNIC_WC_ACCESS },
		{ LR, IB_ACCESS_REMOTE_READ, SRNIC_WC_SUCCESS, RR },
		{ LR, REMOTE_BOTH, SRNIC_WC_ACCESS },
		{ LW, IB_ACCESS_REMOTE_WRITE, SRNIC_WC_SUCCESS, RW | SINK },
		{ LW, IB_ACCESS_REMOTE_READ, SRNIC_WC_ACCESS },
		{ LW, REMOTE_BOTH, SRNIC_WC_ACCESS },
		{ LR | LW, IB_ACCESS_REMOTE_WRITE, SRNIC_WC_SUCCESS, RW | SINK },
		{ LR | LW, IB_ACCESS_REMOTE_READ, SRNIC_WC_SUCCESS, RR },
		{ LR | LW, REMOTE_BOTH, SRNIC_WC_SUCCESS, RR | RW | SINK },
		{ 0, REMOTE_BOTH, SRNIC_WC_ACCESS },
		{ 0, IB_ACCESS_REMOTE_READ, SRNIC_WC_ACCESS },
		{ 0, IB_ACCESS_REMOTE_WRITE, SRNIC_WC_ACCESS },
		{ LR | LW, 0, SRNIC_WC_ACCESS },
		{ LR | LW, IB_ZERO_BASED, SRNIC_WC_ACCESS },
		{ LR, IB_ACCESS_REMOTE_ATOMIC, SRNIC_WC_ACCESS },
		{ LR | LW, IB_ACCESS_REMOTE_ATOMIC, SRNIC_WC_SUCCESS, SRNIC_REMOTE_ATOMIC },
	};
	static const u8 needs[] = { LR, LW, RR, RW, SINK, SRNIC_REMOTE_ATOMIC };
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fix fix = fix_make(test, IB_MW_TYPE_2);

		fix.region->rights = rows[i].region | SRNIC_BINDABLE;
		KUNIT_EXPECT_EQ_MSG(test, bind(&fix, fix.qp, 1, BASE, 1, rows[i].access),
				    rows[i].want, "row %u", i);
		for (j = 0; j < ARRAY_SIZE(needs) && !rows[i].want; j++)
			KUNIT_EXPECT_EQ_MSG(test, access_on(&fix, fix.qp, key(&fix, 1), BASE, 1,
							    needs[j]),
					    rows[i].have & needs[j] ? SRNIC_TPT_OK :
					    SRNIC_TPT_ACCESS, "row %u, need %x", i, needs[j]);
		fix_end(test, &fix);
	}
}

/* ... and on a QP that modify_qp connects InfiniBand's window of which no peer can make use */
static void rights_of_a_pair(struct kunit *test)
{
	static const u8 needs[] = { RR, RW, SINK, SRNIC_REMOTE_ATOMIC };
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	u32 i;

	fix.region->rights = LR | LW | SRNIC_BINDABLE;
	fix.qp->ib.paired = true;
	KUNIT_EXPECT_EQ(test, bind(&fix, fix.qp, 1, BASE, 1, 0), SRNIC_WC_SUCCESS);
	for (i = 0; i < ARRAY_SIZE(needs); i++)
		KUNIT_EXPECT_EQ_MSG(test, access_on(&fix, fix.qp, key(&fix, 1), BASE, 1, needs[i]),
				    SRNIC_TPT_ACCESS, "need %x", needs[i]);
	fix_end(test, &fix);
}

/*
 * MW-09, MW-14, MW-15: bound to one QP until that QP invalidates it; then any QP of the PD binds
 * it
 */
static void invalidate(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	u32 stag = key(&fix, 1);

	/* Invalid: within the PD, with any key */
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.foreign_qp, stag, false), SRNIC_INV_PD);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.other_qp, stag, false), SRNIC_INV_OK);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.other_qp, stag ^ 1, true), SRNIC_INV_OK);

	KUNIT_ASSERT_EQ(test, bind(&fix, fix.qp, 1, BASE, 16, REMOTE_BOTH), SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, bind(&fix, fix.qp, 2, BASE, 16, REMOTE_BOTH),
			SRNIC_WC_STAG_NOT_INVALID);
	KUNIT_EXPECT_EQ(test, bind(&fix, fix.other_qp, 2, BASE, 16, REMOTE_BOTH),
			SRNIC_WC_STAG_NOT_INVALID);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.other_qp, stag, false), SRNIC_INV_PD);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.other_qp, stag, true), SRNIC_INV_PD);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.foreign_qp, stag, false), SRNIC_INV_PD);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, stag ^ 1, false), SRNIC_INV_STAG);
	KUNIT_EXPECT_EQ(test, fix.qp->windows, 1);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, stag, BASE, 1, RW), SRNIC_TPT_OK);

	/* by the peer, if the QP permits it (MR-33); a window always permits it */
	fix.qp->enables = SRNIC_QP_BIND_ENABLED;
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, stag, true), SRNIC_INV_ACCESS);
	fix.qp->enables |= SRNIC_QP_READ_ENABLED;
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, stag, true), SRNIC_INV_OK);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, stag, BASE, 1, RW), SRNIC_TPT_STAG);
	KUNIT_EXPECT_EQ(test, fix.qp->windows, 0);
	KUNIT_EXPECT_EQ(test, fix.region->windows, 0);

	/* bound to another QP, then invalidated locally */
	KUNIT_ASSERT_EQ(test, bind(&fix, fix.other_qp, 3, BASE, 16, REMOTE_BOTH),
			SRNIC_WC_SUCCESS);
	stag = key(&fix, 3);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, stag, BASE, 1, RW), SRNIC_TPT_PD);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.other_qp, stag, BASE, 1, RW), SRNIC_TPT_OK);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.other_qp, stag, false), SRNIC_INV_OK);
	KUNIT_EXPECT_EQ(test, fix.other_qp->windows, 0);
	fix_end(test, &fix);
}

/*
 * MW-03: many overlapping windows on one region; MR-32, MR-38: it is busy until the last is gone
 */
static void region_busy(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	struct srnic_mw *mw[20];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mw); i++) {
		struct srnic_sqe sqe = bind_sqe(&fix, 0, BASE + i, SIZE - 2 * i, REMOTE_BOTH);

		mw[i] = new_mw(test, &fix, fix.pd, i % 2 ? IB_MW_TYPE_1 : IB_MW_TYPE_2);
		sqe.stag = mw[i]->ibmw.rkey;
		KUNIT_ASSERT_EQ(test, srnic_mw_bind(fix.qp, &sqe), SRNIC_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, fix.region->windows, ARRAY_SIZE(mw));
	KUNIT_EXPECT_EQ(test, fix.qp->windows, ARRAY_SIZE(mw) / 2);
	for (i = 0; i < ARRAY_SIZE(mw); i++) {
		KUNIT_EXPECT_EQ(test, srnic_tpt_remove(fix.region), -EBUSY);
		KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, REGION_STAG, false),
				SRNIC_INV_BOUND);
		KUNIT_EXPECT_TRUE(test, fix.region->valid);
		KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, REGION_STAG, BASE, 1, LR),
				SRNIC_TPT_OK);
		/* every second one is deallocated in Valid state */
		if (i % 4)
			KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, mw[i]->ibmw.rkey,
								   false),
					i % 2 ? SRNIC_INV_ACCESS : SRNIC_INV_OK);
		srnic_mw_dealloc(&mw[i]->ibmw);
	}
	fix_end(test, &fix);
}

/* QP-28, MW-17: a QP with a window bound cannot be destroyed, not in Error either */
static void qp_busy(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	struct fake_cq *cq = fake_cq(test, fix.dev, 4);
	struct ib_qp_init_attr init = { .send_cq = &cq->cq.ibcq, .recv_cq = &cq->cq.ibcq };
	struct srnic_qp *qp = new_qp(test, &fix, fix.pd, 0);
	struct srnic_sqe sqe = bind_sqe(&fix, 1, BASE, 1, REMOTE_BOTH);
	struct srnic_qp *found;
	u32 i;

	qp->ibqp.device = &fix.dev->ibdev;
	KUNIT_ASSERT_EQ(test, srnic_qp_create(qp, fix.dev, &init, NULL), 0);
	KUNIT_ASSERT_EQ(test, srnic_mw_bind(qp, &sqe), SRNIC_WC_SUCCESS);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, srnic_qp_destroy(qp), -EBUSY);
		found = srnic_qp_find(fix.dev, qp->ibqp.qp_num);
		KUNIT_EXPECT_PTR_EQ(test, found, qp);
		if (found)
			srnic_qp_put(found);
		KUNIT_EXPECT_EQ(test, access_on(&fix, qp, sqe.stag, BASE, 1, RW), SRNIC_TPT_OK);
		KUNIT_EXPECT_EQ(test, srnic_qp_modify(qp, SRNIC_QP_ERROR), 0);
	}
	srnic_mw_dealloc(&fix.mw->ibmw);
	fix.mw = NULL;
	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(qp), 0);
	fix_end(test, &fix);
}

/*
 * Verbs type 1: for all QPs of the PD; can be bound again while bound; a bind of length 0 unbinds
 */
static void type_1_for_all_of_a_pd(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_1);

	KUNIT_ASSERT_EQ(test, bind(&fix, fix.qp, 1, BASE, 16, REMOTE_BOTH), SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, key(&fix, 1), BASE, 16, RW), SRNIC_TPT_OK);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.other_qp, key(&fix, 1), BASE, 16, RW),
			SRNIC_TPT_OK);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.foreign_qp, key(&fix, 1), BASE, 16, RW),
			SRNIC_TPT_PD);
	KUNIT_EXPECT_EQ(test, fix.qp->windows, 0);

	KUNIT_ASSERT_EQ(test, bind(&fix, fix.other_qp, 2, BASE + 32, 8, IB_ACCESS_REMOTE_READ),
			SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix.region->windows, 1);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, key(&fix, 1), BASE, 1, RW), SRNIC_TPT_STAG);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, key(&fix, 2), BASE + 32, 8, RR),
			SRNIC_TPT_OK);
	/* a failed bind leaves the previous binding */
	KUNIT_EXPECT_EQ(test, bind(&fix, fix.qp, 3, BASE, SIZE + 1, REMOTE_BOTH),
			SRNIC_WC_BOUNDS);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, key(&fix, 2), BASE + 32, 8, RR),
			SRNIC_TPT_OK);
	/* verbs invalidate windows of type 2 only */
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, key(&fix, 2), false),
			SRNIC_INV_ACCESS);
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, key(&fix, 2), true),
			SRNIC_INV_ACCESS);

	KUNIT_EXPECT_EQ(test, bind(&fix, fix.foreign_qp, 4, 0, 0, 0), SRNIC_WC_INVALID_PD);
	KUNIT_EXPECT_EQ(test, bind(&fix, fix.qp, 4, 0, 0, 0), SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, fix.region->windows, 0);
	KUNIT_EXPECT_EQ(test, access_on(&fix, fix.qp, key(&fix, 4), BASE + 32, 1, RR),
			SRNIC_TPT_STAG);
	KUNIT_EXPECT_EQ(test, bind(&fix, fix.qp, 5, 0, 0, 0), SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, bind(&fix, fix.qp, 6, BASE, 1, REMOTE_BOTH), SRNIC_WC_SUCCESS);
	fix_end(test, &fix);
}

/* A window is no region: not for a fast-register WR (MW-01) */
static void window_is_no_region(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	struct srnic_sqe sqe = {
		.stag = fix.mw->ibmw.rkey, .arg = { 0, 1, IB_ACCESS_LOCAL_WRITE },
	};

	KUNIT_EXPECT_EQ(test, srnic_mr_fast_register(fix.qp, &sqe), SRNIC_WC_INVALID_STAG);
	fix_end(test, &fix);
}

static void alloc_limit(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	struct srnic_mw *mw = kunit_kzalloc(test, sizeof(*mw), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mw);
	mw->ibmw = fix.mw->ibmw;
	atomic_long_set(&fix.dev->held_kernel[SRNIC_KIND_MW], SRNIC_MAX_MW);
	KUNIT_EXPECT_EQ(test, srnic_mw_alloc(&mw->ibmw), -ENOMEM);
	KUNIT_EXPECT_EQ(test, srnic_held(fix.dev, SRNIC_KIND_MW), SRNIC_MAX_MW);
	atomic_long_set(&fix.dev->held_kernel[SRNIC_KIND_MW], 1);
	fix_end(test, &fix);
}

struct job {
	struct fix *fix;
	enum { JOB_INVALIDATE, JOB_DEALLOC, JOB_REBIND, JOB_COUNT } what;
	bool done;
};

static int job_thread(void *arg)
{
	struct job *job = arg;
	struct fix *fix = job->fix;

	if (job->what == JOB_INVALIDATE)
		srnic_tpt_invalidate(fix->qp, key(fix, 1), true);
	else if (job->what == JOB_DEALLOC)
		srnic_mw_dealloc(&fix->mw->ibmw);
	else
		bind(fix, fix->qp, 2, BASE + 1, 1, REMOTE_BOTH);
	WRITE_ONCE(job->done, true);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/*
 * MW-16: ending a binding waits for accesses in progress; no new one begins, and the region and
 * the QP stay busy until then.
 */
static void waits_for_access(struct kunit *test)
{
	int what, i;

	for (what = 0; what < JOB_COUNT; what++) {
		struct fix fix = fix_make(test, what == JOB_REBIND ? IB_MW_TYPE_1 : IB_MW_TYPE_2);
		struct job job = { .fix = &fix, .what = what };
		struct srnic_access acc = {
			.stag = key(&fix, 1), .to = BASE, .length = 1, .need = RW,
			.pd = fix.pd, .qpn = 7,
		};
		struct srnic_span span, again;
		struct task_struct *task;

		KUNIT_ASSERT_EQ(test, bind(&fix, fix.qp, 1, BASE, 1, REMOTE_BOTH),
				SRNIC_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
		task = kthread_run(job_thread, &job, "srnic-kunit");
		KUNIT_ASSERT_FALSE(test, IS_ERR(task));
		msleep(50);
		KUNIT_EXPECT_FALSE_MSG(test, READ_ONCE(job.done), "job %d", what);
		KUNIT_EXPECT_EQ(test, srnic_tpt_get(fix.dev, &acc, &again), SRNIC_TPT_STAG);
		KUNIT_EXPECT_EQ(test, srnic_tpt_remove(fix.region), -EBUSY);
		if (what == JOB_INVALIDATE) {
			KUNIT_EXPECT_EQ(test, fix.qp->windows, 1);
			KUNIT_EXPECT_EQ(test, bind(&fix, fix.qp, 2, BASE, 1, REMOTE_BOTH),
					SRNIC_WC_STAG_NOT_INVALID);
		}
		srnic_tpt_put(&span);
		for (i = 0; i < 100 && !READ_ONCE(job.done); i++)
			msleep(20);
		KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(job.done), "job %d", what);
		kthread_stop(task);
		if (what == JOB_DEALLOC)
			fix.mw = NULL;
		KUNIT_EXPECT_EQ(test, fix.region->windows, what == JOB_REBIND);
		fix_end(test, &fix);
	}
}

struct binder {
	struct fix *fix;
	u64 length;
	enum srnic_wc_status status;
	bool done;
};

static int binder_thread(void *arg)
{
	struct binder *b = arg;

	b->status = bind(b->fix, b->fix->qp, 2, BASE, b->length, REMOTE_BOTH);
	WRITE_ONCE(b->done, true);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/*
 * Type 1: two tasks wait for the same access, one to unbind the window and one to bind it. The
 * later one undoes nothing of the earlier: a Valid window has its memory, and counts with its
 * region.
 */
static void two_binders(struct kunit *test)
{
	int order, i;

	for (order = 0; order < 2; order++) {
		struct fix fix = fix_make(test, IB_MW_TYPE_1);
		struct binder b[2] = {
			{ .fix = &fix, .length = order },
			{ .fix = &fix, .length = !order },
		};
		struct srnic_access acc = {
			.stag = key(&fix, 1), .to = BASE, .length = 1, .need = RW,
			.pd = fix.pd, .qpn = 7,
		};
		struct task_struct *task[2];
		struct srnic_span span;

		KUNIT_ASSERT_EQ(test, bind(&fix, fix.qp, 1, BASE, 1, REMOTE_BOTH),
				SRNIC_WC_SUCCESS);
		KUNIT_ASSERT_EQ(test, srnic_tpt_get(fix.dev, &acc, &span), SRNIC_TPT_OK);
		for (i = 0; i < 2; i++) {
			task[i] = kthread_run(binder_thread, &b[i], "srnic-kunit");
			KUNIT_ASSERT_FALSE(test, IS_ERR(task[i]));
			msleep(50);
			KUNIT_EXPECT_FALSE(test, READ_ONCE(b[i].done));
		}
		srnic_tpt_put(&span);
		for (i = 0; i < 100 && !(READ_ONCE(b[0].done) && READ_ONCE(b[1].done)); i++)
			msleep(20);
		for (i = 0; i < 2; i++) {
			KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(b[i].done), "order %d", order);
			kthread_stop(task[i]);
			KUNIT_EXPECT_EQ(test, b[i].status, SRNIC_WC_SUCCESS);
		}
		KUNIT_EXPECT_PTR_EQ_MSG(test, fix.window->tpte.pbl,
					fix.window->tpte.valid ? fix.pbl : NULL,
					"order %d", order);
		KUNIT_EXPECT_EQ(test, fix.region->windows, fix.window->tpte.valid);
		fix_end(test, &fix);
	}
}

/* An unbind that runs late finds the window Valid again, or in use: it does nothing */
static void late_unbind(struct kunit *test)
{
	struct fix fix = fix_make(test, IB_MW_TYPE_2);
	struct srnic_tpte *tpte = &fix.window->tpte;

	KUNIT_ASSERT_EQ(test, bind(&fix, fix.qp, 1, BASE, 1, REMOTE_BOTH), SRNIC_WC_SUCCESS);
	srnic_mw_unbind(tpte);
	KUNIT_EXPECT_TRUE(test, tpte->valid);
	KUNIT_EXPECT_PTR_EQ(test, tpte->pbl, fix.pbl);
	KUNIT_EXPECT_EQ(test, tpte->qpn, 7);
	KUNIT_EXPECT_EQ(test, fix.region->windows, 1);
	tpte->valid = false;
	tpte->users.count = 1;
	srnic_mw_unbind(tpte);
	KUNIT_EXPECT_EQ(test, fix.region->windows, 1);
	KUNIT_EXPECT_EQ(test, fix.qp->windows, 1);
	/* MW-09: an invalidation of a window that is Invalid already unbinds it, too */
	tpte->users.count = 0;
	KUNIT_EXPECT_EQ(test, srnic_tpt_invalidate(fix.qp, tpte->stag, false), SRNIC_INV_OK);
	KUNIT_EXPECT_EQ(test, fix.region->windows, 0);
	KUNIT_EXPECT_EQ(test, fix.qp->windows, 0);
	fix_end(test, &fix);
}

static struct kunit_case mw_cases[] = {
	KUNIT_CASE(bind_and_use),
	KUNIT_CASE(bounds),
	KUNIT_CASE(zero_based),
	KUNIT_CASE(bind_errors),
	KUNIT_CASE(rights),
	KUNIT_CASE(rights_of_a_pair),
	KUNIT_CASE(invalidate),
	KUNIT_CASE(region_busy),
	KUNIT_CASE(qp_busy),
	KUNIT_CASE(type_1_for_all_of_a_pd),
	KUNIT_CASE(window_is_no_region),
	KUNIT_CASE(alloc_limit),
	KUNIT_CASE(waits_for_access),
	KUNIT_CASE(two_binders),
	KUNIT_CASE(late_unbind),
	{}
};

static struct kunit_suite mw_suite = {
	.name = "srnic-mw",
	.test_cases = mw_cases,
};

kunit_test_suite(mw_suite);
