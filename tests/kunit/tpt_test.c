// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* tpt.c, mr.c: checks of an access at each bound, STags, addresses, lifetime. */
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include "fake.h"
#include "memory/mr.h"
#include "octets.h"

#define LR	SRNIC_LOCAL_READ
#define LW	SRNIC_LOCAL_WRITE
#define RR	SRNIC_REMOTE_READ
#define RW	SRNIC_REMOTE_WRITE
#define RA	SRNIC_REMOTE_ATOMIC
#define SINK	SRNIC_READ_SINK
#define TOP	(~0ULL)

/* A region of [base, base + length) with every right */
static struct srnic_tpte *region(struct kunit *test, struct ib_pd *pd, u64 base, u64 length)
{
	struct srnic_tpte *tpte = kunit_kzalloc(test, sizeof(*tpte), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tpte);
	srnic_tpte_init(tpte, pd, SRNIC_STAG_USER);
	tpte->stag = 0x12345678;
	tpte->valid = true;
	tpte->rights = LR | LW | RR | RW;
	tpte->base = base;
	tpte->length = length;
	return tpte;
}

static enum srnic_tpt_err check(const struct srnic_tpte *tpte, u64 to, u64 length)
{
	struct srnic_access acc = {
		.stag = tpte->stag, .to = to, .length = length, .need = RW,
		.pd = tpte->pd, .qpn = 1,
	};

	return srnic_tpt_check(tpte, &acc);
}

/* Bounds and wrap (MR-10, MR-18, E-10, E-12) */
static void bounds(struct kunit *test)
{
	static const struct {
		u64 base, size, to, length;
		enum srnic_tpt_err want;
	} rows[] = {
		/* somewhere in the middle */
		{ 0x1000, 0x100, 0x1000, 1, SRNIC_TPT_OK },
		{ 0x1000, 0x100, 0x1000, 0x100, SRNIC_TPT_OK },
		{ 0x1000, 0x100, 0x10ff, 1, SRNIC_TPT_OK },
		{ 0x1000, 0x100, 0x1001, 0xff, SRNIC_TPT_OK },
		{ 0x1000, 0x100, 0x0fff, 1, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0x0fff, 2, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0x1000, 0x101, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0x1001, 0x100, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0x10ff, 2, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0x1100, 1, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0, 1, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0, 0x2000, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, TOP, 1, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0x1000, 0xffffffff, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, 0x8000000000001000, 1, SRNIC_TPT_BOUNDS },
		/* the sum would wrap into the region */
		{ 0x1000, 0x100, TOP - 0xf, 0x1090, SRNIC_TPT_WRAP },
		{ 0x1000, 0x100, 0x1080, TOP - 0x7f, SRNIC_TPT_WRAP },
		{ 0x1000, 0x100, 0x1000, TOP, SRNIC_TPT_WRAP },
		{ 0x1000, 0x100, TOP, 2, SRNIC_TPT_WRAP },
		{ 0x1000, 0x100, TOP, TOP, SRNIC_TPT_WRAP },
		/* an access that ends at 2^64 is no wrap, one octet more is */
		{ 0x1000, 0x100, TOP - 7, 8, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x100, TOP - 7, 9, SRNIC_TPT_WRAP },
		/* zero based (MR-07) */
		{ 0, 0x100, 0, 0x100, SRNIC_TPT_OK },
		{ 0, 0x100, 0xff, 1, SRNIC_TPT_OK },
		{ 0, 0x100, 0x100, 1, SRNIC_TPT_BOUNDS },
		{ 0, 0x100, 0, 0x101, SRNIC_TPT_BOUNDS },
		{ 0, 0x100, TOP, 1, SRNIC_TPT_BOUNDS },
		/* one octet */
		{ 5, 1, 5, 1, SRNIC_TPT_OK },
		{ 5, 1, 4, 1, SRNIC_TPT_BOUNDS },
		{ 5, 1, 6, 1, SRNIC_TPT_BOUNDS },
		{ 5, 1, 5, 2, SRNIC_TPT_BOUNDS },
		/* the last octets there are */
		{ TOP - 0xff, 0x100, TOP - 0xff, 0x100, SRNIC_TPT_OK },
		{ TOP - 0xff, 0x100, TOP, 1, SRNIC_TPT_OK },
		{ TOP - 0xff, 0x100, TOP, 2, SRNIC_TPT_WRAP },
		{ TOP - 0xff, 0x100, TOP - 0xff, 0x101, SRNIC_TPT_WRAP },
		{ TOP - 0xff, 0x100, TOP - 0x100, 0x100, SRNIC_TPT_BOUNDS },
		{ TOP - 0xff, 0x100, 0, 1, SRNIC_TPT_BOUNDS },
		/* more than 4 GiB */
		{ 0x1000, 0x300000000, 0x200001000, 0xffffffff, SRNIC_TPT_OK },
		{ 0x1000, 0x300000000, 0x300000fff, 1, SRNIC_TPT_OK },
		{ 0x1000, 0x300000000, 0x300001000, 1, SRNIC_TPT_BOUNDS },
		{ 0x1000, 0x300000000, 0x200001001, 0x100000000, SRNIC_TPT_BOUNDS },
	};
	struct ib_pd *pd = fake_pd(test, fake_device(test));
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_tpte *tpte = region(test, pd, rows[i].base, rows[i].size);

		KUNIT_EXPECT_EQ_MSG(test, check(tpte, rows[i].to, rows[i].length),
				    rows[i].want, "row %u", i);
	}
}

/* Each access near small regions, compared with counting octets */
static void bounds_by_counting(struct kunit *test)
{
	struct ib_pd *pd = fake_pd(test, fake_device(test));
	u32 base, size, to, length, i;

	for (base = 0; base < 6; base++) {
		for (size = 1; size < 6; size++) {
			struct srnic_tpte *tpte = region(test, pd, base, size);

			for (to = 0; to < 16; to++) {
				for (length = 1; length < 16; length++) {
					bool inside = true;

					for (i = to; i < to + length; i++)
						inside &= i >= base && i < base + size;
					if (check(tpte, to, length) !=
					    (inside ? SRNIC_TPT_OK : SRNIC_TPT_BOUNDS))
						KUNIT_FAIL(test, "[%u, +%u): %u, %u", base,
							   size, to, length);
				}
			}
		}
	}
}

/*
 * A walk over any part of an SGE list, compared with counting octets: each piece is in one SGE,
 * and SGEs of no length are not looked at (MR-19). The access is that of the QP.
 */
static void sges_by_counting(struct kunit *test)
{
	static const struct srnic_sge list[] = {
		{ .lkey = 1, .length = 0 }, { .lkey = 2, .addr = 100, .length = 3 },
		{ .lkey = 3, .length = 0 }, { .lkey = 4, .length = 0 },
		{ .lkey = 5, .addr = 200, .length = 1 }, { .lkey = 6, .addr = 300, .length = 4 },
	};
	static const u64 octets[] = { 100, 101, 102, 200, 300, 301, 302, 303 };
	struct srnic_qp *qp = kunit_kzalloc(test, sizeof(*qp), GFP_KERNEL);
	struct ib_pd *pd = fake_pd(test, fake_device(test));
	u32 off, len, i;

	KUNIT_ASSERT_NOT_NULL(test, qp);
	qp->ibqp.qp_num = 7;
	qp->privileged = true;
	for (off = 0; off < ARRAY_SIZE(octets); off++) {
		for (len = 0; len <= ARRAY_SIZE(octets) - off; len++) {
			struct srnic_sge_walk walk = srnic_sge_walk(qp, pd, SRNIC_LOCAL_WRITE, list,
								    off, len);
			u32 at = off;

			while (srnic_sge_next(&walk)) {
				const struct srnic_access *acc = &walk.acc;

				KUNIT_EXPECT_EQ(test, acc->stag, walk.sge->lkey);
				KUNIT_EXPECT_EQ(test, acc->to + walk.rest,
						walk.sge->addr + walk.sge->length);
				KUNIT_EXPECT_TRUE(test, acc->length && acc->length <= walk.rest);
				KUNIT_EXPECT_TRUE(test, acc->privileged && acc->qpn == 7 &&
						  acc->pd == pd && acc->need == SRNIC_LOCAL_WRITE);
				for (i = 0; i < acc->length && at < off + len; i++)
					KUNIT_EXPECT_EQ(test, acc->to + i, octets[at++]);
			}
			KUNIT_EXPECT_EQ(test, at, off + len);
		}
	}
}

/* All 32 bits of the STag are compared (MM-04), and the state (MR-01) */
static void stag_bits(struct kunit *test)
{
	struct ib_pd *pd = fake_pd(test, fake_device(test));
	struct srnic_tpte *tpte = region(test, pd, 0, 100);
	struct srnic_access acc = { .to = 0, .length = 1, .need = LR, .pd = pd };
	u32 bit;

	acc.stag = tpte->stag;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_OK);
	for (bit = 0; bit < 32; bit++) {
		acc.stag = tpte->stag ^ 1U << bit;
		KUNIT_EXPECT_EQ_MSG(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_STAG,
				    "bit %u", bit);
	}
	acc.stag = tpte->stag;
	tpte->valid = false;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_STAG);
}

/* SEC-1 */
static void other_pd(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev), *other = fake_pd(test, dev);
	struct srnic_tpte *tpte = region(test, pd, 0, 100);
	struct srnic_access acc = {
		.stag = tpte->stag, .to = 0, .length = 1, .need = LR, .pd = other,
	};

	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_PD);
	acc.pd = NULL;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_PD);
	acc.pd = pd;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_OK);
}

/*
 * Rights are independent: remote ones do not permit local accesses, nor the reverse (MR-14 to
 * MR-16)
 */
static void rights(struct kunit *test)
{
	struct ib_pd *pd = fake_pd(test, fake_device(test));
	struct srnic_tpte *tpte = region(test, pd, 0, 100);
	u32 have, need;

	for (have = 0; have < 16; have++) {
		for (need = 1; need < 16; need++) {
			struct srnic_access acc = {
				.stag = tpte->stag, .to = 0, .length = 1, .need = need,
				.pd = pd,
			};

			tpte->rights = have;
			KUNIT_EXPECT_EQ_MSG(test, srnic_tpt_check(tpte, &acc),
					    need & ~have ? SRNIC_TPT_ACCESS : SRNIC_TPT_OK,
					    "have %x, need %x", have, need);
		}
	}
}

/* STag, PD, rights, wrap, bounds: the first error is reported */
static void first_error_is_told(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	struct srnic_tpte *tpte = region(test, pd, 0x1000, 0x100);
	struct srnic_access acc = {
		.stag = tpte->stag + 1, .to = TOP, .length = 2, .need = RW,
		.pd = fake_pd(test, dev),
	};

	tpte->rights = LR;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_STAG);
	acc.stag = tpte->stag;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_PD);
	acc.pd = pd;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_ACCESS);
	tpte->rights = LR | LW | RW;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_WRAP);
	acc.length = 1;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_BOUNDS);
	acc.to = 0x1000;
	KUNIT_EXPECT_EQ(test, srnic_tpt_check(tpte, &acc), SRNIC_TPT_OK);
}

/* One error, four names (E-09 to E-13, E-18 to E-22, E-39, CP-08) */
static void error_names(struct kunit *test)
{
	static const struct {
		enum srnic_tpt_err err;
		enum srnic_wc_status wc;
		enum rdmap_err tagged, read, atomic;
	} rows[] = {
		{ SRNIC_TPT_OK, SRNIC_WC_SUCCESS, RDMAP_OK, RDMAP_OK, RDMAP_OK },
		{ SRNIC_TPT_STAG, SRNIC_WC_INVALID_STAG, RDMAP_E_TAGGED_STAG,
		  RDMAP_E_READ_STAG, RDMAP_E_ATOMIC_STAG },
		{ SRNIC_TPT_PD, SRNIC_WC_INVALID_PD, RDMAP_E_TAGGED_STREAM,
		  RDMAP_E_READ_STREAM, RDMAP_E_ATOMIC_STREAM },
		{ SRNIC_TPT_ACCESS, SRNIC_WC_ACCESS, RDMAP_E_TAGGED_ACCESS,
		  RDMAP_E_READ_ACCESS, RDMAP_E_ATOMIC_ACCESS },
		{ SRNIC_TPT_WRAP, SRNIC_WC_WRAP, RDMAP_E_TAGGED_WRAP,
		  RDMAP_E_READ_WRAP, RDMAP_E_ATOMIC_WRAP },
		{ SRNIC_TPT_BOUNDS, SRNIC_WC_BOUNDS, RDMAP_E_TAGGED_BOUNDS,
		  RDMAP_E_READ_BOUNDS, RDMAP_E_ATOMIC_BOUNDS },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		KUNIT_EXPECT_EQ(test, srnic_tpt_wc_status(rows[i].err), rows[i].wc);
		KUNIT_EXPECT_EQ(test, srnic_tpt_tagged_err(rows[i].err), rows[i].tagged);
		KUNIT_EXPECT_EQ(test, srnic_tpt_read_err(rows[i].err), rows[i].read);
		KUNIT_EXPECT_EQ(test, srnic_tpt_atomic_err(rows[i].err), rows[i].atomic);
	}
}

static struct srnic_mr *dma_region(struct kunit *test, struct ib_pd *pd, int access)
{
	struct ib_mr *ibmr = srnic_mr_get_dma(pd, access);

	KUNIT_ASSERT_FALSE(test, IS_ERR(ibmr));
	return to_srnic_mr(ibmr);
}

/* Accesses through the table, from registration to deregistration */
static void life(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	struct srnic_mr *mr = dma_region(test, pd, IB_ACCESS_LOCAL_WRITE);
	struct srnic_span found;
	struct srnic_access acc = {
		.stag = mr->tpte.stag, .to = 0x1234, .length = 1, .need = LR | LW, .pd = pd,
	};
	u32 stag = mr->tpte.stag;

	KUNIT_EXPECT_EQ(test, mr->ibmr.lkey, stag);
	KUNIT_EXPECT_EQ(test, mr->ibmr.rkey, stag);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 1);

	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &found), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, found.tpte, &mr->tpte);
	KUNIT_EXPECT_EQ(test, found.off, 0x1234);
	KUNIT_EXPECT_TRUE(test, srnic_tpt_in_use(&mr->tpte));
	srnic_tpt_put(&found);
	KUNIT_EXPECT_FALSE(test, srnic_tpt_in_use(&mr->tpte));

	/* a refused access holds nothing */
	acc.need = RR;
	found.tpte = &mr->tpte;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &found), SRNIC_TPT_ACCESS);
	KUNIT_EXPECT_PTR_EQ(test, found.tpte, NULL);
	acc.need = LR;
	acc.stag = stag ^ 1;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &found), SRNIC_TPT_STAG);
	acc.stag = stag ^ 0x100;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &found), SRNIC_TPT_STAG);
	KUNIT_EXPECT_FALSE(test, srnic_tpt_in_use(&mr->tpte));

	KUNIT_EXPECT_EQ(test, srnic_mr_dereg(&mr->ibmr), 0);
	acc.stag = stag;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &found), SRNIC_TPT_STAG);
	KUNIT_EXPECT_PTR_EQ(test, found.tpte, NULL);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->stags));
}

/* STag 0 is all memory for a privileged access (MM-08, MM-09), whatever the PD and rights */
static void stag_zero(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct srnic_access acc = {
		.to = 0x1000, .length = 8, .need = LR | LW, .pd = fake_pd(test, dev),
	};
	struct srnic_span span;
	u32 len = 8;

	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &span), SRNIC_TPT_STAG);
	acc.privileged = true;
	span.tpte = (void *)1;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, span.tpte, NULL);
	KUNIT_EXPECT_EQ(test, (uintptr_t)srnic_span_addr(&span, 0, &len), 0x1000);
	KUNIT_EXPECT_EQ(test, len, 8);
	srnic_tpt_put(&span);
	/* index 0 with a key is not STag 0 */
	acc.stag = 1;
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &span), SRNIC_TPT_STAG);
}

/* Access flags to rights; Linux knows no region without Local Read (MR-13) */
static void access_flags(struct kunit *test)
{
	static const struct {
		int access;
		u16 rights;
	} rows[] = {
		{ 0, LR },
		{ IB_ACCESS_LOCAL_WRITE, LR | LW | SINK },
		{ IB_ACCESS_REMOTE_READ, LR | RR },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE, LR | LW | SINK | RW },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
		  LR | LW | SINK | RW | RR },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC,
		  LR | LW | SINK | SRNIC_REMOTE_ATOMIC },
		{ IB_ACCESS_RELAXED_ORDERING, LR },
		/* 0 in a kernel without it */
		{ IB_ACCESS_FLUSH_GLOBAL, LR | (IB_ACCESS_FLUSH_GLOBAL ? SRNIC_FLUSH_GLOBAL : 0) },
	};
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_mr *mr = dma_region(test, pd, rows[i].access);

		KUNIT_EXPECT_EQ_MSG(test, mr->tpte.rights, rows[i].rights, "row %u", i);
		KUNIT_EXPECT_TRUE(test, mr->tpte.valid);
		srnic_mr_dereg(&mr->ibmr);
	}
	/* unknown flags are refused, not ignored (MM-06) */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR(srnic_mr_get_dma(pd, IB_ACCESS_ON_DEMAND)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR(srnic_mr_get_dma(pd, 1 << 30)));
	/* IB_ACCESS_FLUSH_PERSISTENT: no memory is */
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, PTR_ERR(srnic_mr_get_dma(pd, 1 << 9)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR(srnic_mr_reg_user(pd, 0x1000, 1, 0x1000, 1 << 30)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			PTR_ERR(srnic_mr_reg_user(pd, 0x1000, 1, 0x1000, IB_ACCESS_HUGETLB)));
	if (!IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
				PTR_ERR(srnic_mr_reg_user(pd, 0x1000, 1, 0x1000,
							  IB_ACCESS_ON_DEMAND)));
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 0);
}

/* Refused before anything is pinned */
static void reg_user_lengths(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);

	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(srnic_mr_reg_user(pd, 0x1000, 0, 0x1000, 0)));
	KUNIT_EXPECT_EQ(test, -EINVAL, PTR_ERR(srnic_mr_reg_user(pd, 0x1000, 2, TOP, 0)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR(srnic_mr_reg_user(pd, 0x1000, TOP, 0x1000, 0)));
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->stags));
}

#define MANY	2000

static const u32 *draws;	/* the next values; the last one is repeated */
static u32 draws_left;

static u32 draw(void)
{
	if (draws_left > 1) {
		draws_left--;
		return *draws++;
	}
	return *draws;
}

/* A drawn STag with index 0, whatever its key, or with an index in use is drawn again (MM-07) */
static void draws_refused(struct kunit *test)
{
	static const u32 zeros[] = { 0, 1, 0x80, 0xff, 0x100 };
	static const u32 taken[] = { 0x100, 0x1ff, 0x1aa, 0xffffffff };
	static const u32 nothing[] = { 0xff };
	static const struct {
		const u32 *draws;
		u32 count, want;	/* 0: no STag */
	} rows[] = {
		{ zeros, ARRAY_SIZE(zeros), 0x100 },
		{ taken, ARRAY_SIZE(taken), 0xffffffff },
		{ nothing, ARRAY_SIZE(nothing), 0 },
		{ taken, 1, 0 },
	};
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_tpte *tpte = region(test, pd, 0, 1);

		draws = rows[i].draws;
		draws_left = rows[i].count;
		KUNIT_EXPECT_EQ_MSG(test, srnic_tpt_insert_drawn(tpte, draw),
				    rows[i].want ? 0 : -ENOMEM, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, draws_left, 1, "row %u", i);
		if (rows[i].want) {
			KUNIT_EXPECT_EQ_MSG(test, tpte->stag, rows[i].want, "row %u", i);
			KUNIT_EXPECT_PTR_EQ(test, srnic_tpt_find(dev, tpte->stag), tpte);
		}
	}
	KUNIT_EXPECT_NULL(test, srnic_tpt_find(dev, 0));
	xa_erase(&dev->stags, 0x100 >> 8);
	xa_erase(&dev->stags, 0xffffffff >> 8);
}

/*
 * STags are hard to guess (SEC-8): index never 0 (MM-07), evenly spread, not in order, varying
 * key
 */
static void stags_are_random(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	struct srnic_mr **mr = kunit_kcalloc(test, MANY, sizeof(*mr), GFP_KERNEL);
	u32 *part = kunit_kcalloc(test, 16, sizeof(*part), GFP_KERNEL);
	u32 *key = kunit_kcalloc(test, 16, sizeof(*key), GFP_KERNEL);
	u32 i, up = 0, near = 0;

	KUNIT_ASSERT_NOT_NULL(test, mr);
	KUNIT_ASSERT_NOT_NULL(test, part);
	KUNIT_ASSERT_NOT_NULL(test, key);
	for (i = 0; i < MANY; i++) {
		mr[i] = dma_region(test, pd, 0);
		KUNIT_EXPECT_NE(test, mr[i]->tpte.stag >> 8, 0);
		KUNIT_EXPECT_PTR_EQ(test, xa_load(&dev->stags, mr[i]->tpte.stag >> 8),
				    &mr[i]->tpte);
		part[mr[i]->tpte.stag >> 28]++;
		key[mr[i]->tpte.stag & 15]++;
		if (i) {
			s64 step = (s64)mr[i]->tpte.stag - mr[i - 1]->tpte.stag;

			up += step > 0;
			near += step > -65536 && step < 65536;
		}
	}
	/* 125 each on average, standard deviation 11; these bounds are 6 of them away */
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_GT_MSG(test, part[i], 60, "part %u", i);
		KUNIT_EXPECT_LT_MSG(test, part[i], 190, "part %u", i);
		KUNIT_EXPECT_GT_MSG(test, key[i], 60, "key %u", i);
		KUNIT_EXPECT_LT_MSG(test, key[i], 190, "key %u", i);
	}
	KUNIT_EXPECT_GT(test, up, MANY / 2 - 150);
	KUNIT_EXPECT_LT(test, up, MANY / 2 + 150);
	KUNIT_EXPECT_LT(test, near, 10);
	for (i = 0; i < MANY; i++)
		srnic_mr_dereg(&mr[i]->ibmr);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&dev->stags));
}

/*
 * SEC-8, S-1: an STag that was freed does not come back soon. Of 2^32 values, 2000 draws repeat
 * one in one run of 2000; twice in a run, or at once, is no chance.
 */
static void stags_are_not_reused(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	u32 *stag = kunit_kcalloc(test, MANY, sizeof(*stag), GFP_KERNEL);
	u32 i, j, again = 0;

	KUNIT_ASSERT_NOT_NULL(test, stag);
	for (i = 0; i < MANY; i++) {
		struct srnic_mr *mr = dma_region(test, pd, 0);

		stag[i] = mr->tpte.stag;
		srnic_mr_dereg(&mr->ibmr);
		for (j = 0; j < i; j++)
			again += stag[i] == stag[j];
		if (i)
			KUNIT_EXPECT_NE(test, stag[i], stag[i - 1]);
	}
	KUNIT_EXPECT_LT(test, again, 2);
}

/* The device limits the number of regions; a refused one counts nothing (MM-06) */
static void limit_of_regions(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	struct srnic_mr *mr;

	atomic_long_set(&dev->held_kernel[SRNIC_KIND_MR], SRNIC_MAX_MR - 1);
	mr = dma_region(test, pd, 0);
	KUNIT_EXPECT_EQ(test, -ENOMEM, PTR_ERR(srnic_mr_get_dma(pd, 0)));
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), SRNIC_MAX_MR);
	srnic_mr_dereg(&mr->ibmr);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), SRNIC_MAX_MR - 1);
}

static int dereg_thread(void *arg)
{
	struct srnic_mr *mr = arg;

	srnic_mr_dereg(&mr->ibmr);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

/* Deregistration waits for an access in progress, and no new one begins (SEC-6, MR-39) */
static void dereg_waits(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	struct srnic_mr *mr = dma_region(test, pd, 0);
	struct srnic_span found, again;
	struct srnic_access acc = {
		.stag = mr->tpte.stag, .to = 0, .length = 1, .need = LR, .pd = pd,
	};
	struct task_struct *task;
	int i;

	KUNIT_ASSERT_EQ(test, srnic_tpt_get(dev, &acc, &found), SRNIC_TPT_OK);
	task = kthread_run(dereg_thread, mr, "srnic-kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	msleep(50);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 1);
	KUNIT_EXPECT_EQ(test, srnic_tpt_get(dev, &acc, &again), SRNIC_TPT_STAG);
	srnic_tpt_put(&found);
	for (i = 0; i < 100 && srnic_held(dev, SRNIC_KIND_MR); i++)
		msleep(20);
	KUNIT_EXPECT_EQ(test, srnic_held(dev, SRNIC_KIND_MR), 0);
	kthread_stop(task);
}

/* The address of each octet: any offset into the first block, any number of blocks */
static void address_of_each_byte(struct kunit *test)
{
	static const u64 blocks[] = {
		0x10000000, 0x7fff00000000, 0x20000000, 0x10000000,
	};
	static const struct {
		u32 shift;
		u64 fbo, length;
	} rows[] = {
		{ 12, 0, 4 * 4096 },
		{ 12, 0x123, 3 * 4096 },
		{ 12, 0xfff, 4097 },	/* one octet of the first block */
		{ 12, 0, 4096 },
		{ 21, 0, 4 << 21 },
		{ 21, 0x12345, 3 << 21 },
	};
	struct srnic_pbl *pbl = kunit_kzalloc(test, struct_size(pbl, addr, ARRAY_SIZE(blocks)),
					      GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, pbl);
	memcpy(pbl->addr, blocks, sizeof(blocks));
	pbl->count = ARRAY_SIZE(blocks);
	pbl->max = ARRAY_SIZE(blocks);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_span span = { .pbl = pbl, .off = rows[i].fbo };
		u64 size = 1ULL << rows[i].shift, done = 0;

		pbl->shift = rows[i].shift;
		while (done < rows[i].length) {
			u64 at = rows[i].fbo + done;
			u64 left = rows[i].length - done;
			u64 in_block = size - at % size;
			u32 one = 1, len = min_t(u64, left, U32_MAX);
			u64 want = blocks[at / size] + at % size;

			KUNIT_EXPECT_EQ_MSG(test, want,
					    (uintptr_t)srnic_span_addr(&span, done, &len),
					    "row %u at %llu", i, done);
			KUNIT_EXPECT_EQ_MSG(test, len, min(left, in_block),
					    "row %u at %llu", i, done);
			KUNIT_EXPECT_EQ(test, want,
					(uintptr_t)srnic_span_addr(&span, done, &one));
			KUNIT_EXPECT_EQ(test, one, 1);
			KUNIT_ASSERT_NE(test, len, 0);
			/* step sizes that do not divide the blocks */
			done += min_t(u32, len, 1021 << (rows[i].shift - 12));
		}
	}
}

/*
 * MR-12: in a block list, too, whose blocks have any size, at any address. A block of no octets
 * takes no part
 */
static void address_in_block_list(struct kunit *test)
{
	static const struct {
		u32 fbo, count, sizes[5];
	} rows[] = {
		{ 0, 1, { 1 } },
		{ 0, 3, { 1000, 1000, 1000 } },
		{ 999, 3, { 1000, 1000, 1000 } },
		{ 0, 4, { 1, 1, 1, 1 } },
		{ 13, 5, { 512, 1, 4096, 7, 3000 } },
		{ 600, 4, { 512, 512, 512, 512 } },
		{ 0, 5, { 0, 100, 0, 5, 0 } },
	};
	u64 ends[5];
	struct srnic_pbl *pbl = kunit_kzalloc(test, struct_size(pbl, addr, 5), GFP_KERNEL);
	u32 i, j;

	KUNIT_ASSERT_NOT_NULL(test, pbl);
	pbl->ends = ends;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_span span = { .pbl = pbl, .off = rows[i].fbo };
		u32 total = 0, at, block = 0, before = 0;

		pbl->count = rows[i].count;
		for (j = 0; j < pbl->count; j++) {
			/* the next one is below, so that none are adjacent */
			pbl->addr[j] = 0x7fff00000001 - j * 0x10003;
			total += rows[i].sizes[j];
			ends[j] = total;
		}
		for (at = rows[i].fbo; at < total; at++) {
			u32 one = 1, len = total - at;
			u64 want;

			while (at >= before + rows[i].sizes[block])
				before += rows[i].sizes[block++];
			want = pbl->addr[block] + at - before;
			if ((uintptr_t)srnic_span_addr(&span, at - span.off, &len) != want ||
			    len != before + rows[i].sizes[block] - at ||
			    (uintptr_t)srnic_span_addr(&span, at - span.off, &one) != want ||
			    one != 1)
				KUNIT_FAIL(test, "row %u at %u: %u octets", i, at, len);
		}
	}
}

struct visits {
	void *at[4];
	u32 len[4];
	u32 count;
};

static void visit(void *ctx, void *at, u32 len)
{
	struct visits *v = ctx;

	if (v->count < ARRAY_SIZE(v->at)) {
		v->at[v->count] = at;
		v->len[v->count] = len;
	}
	v->count++;
}

/* What is in two blocks is visited in two pieces, in order */
static void visited_pieces(struct kunit *test)
{
	struct srnic_pbl *pbl = kunit_kzalloc(test, struct_size(pbl, addr, 2), GFP_KERNEL);
	struct srnic_span span = { .pbl = pbl, .off = 4096 - 3 };
	struct visits v = { };

	KUNIT_ASSERT_NOT_NULL(test, pbl);
	pbl->shift = 12;
	pbl->count = 2;
	pbl->addr[0] = 0x7000;
	pbl->addr[1] = 0x3000;
	KUNIT_EXPECT_EQ(test, srnic_span_visit(&span, 0, 8, visit, &v), SRNIC_TPT_OK);
	KUNIT_ASSERT_EQ(test, v.count, 2);
	KUNIT_EXPECT_PTR_EQ(test, v.at[0], (void *)0x7ffdul);
	KUNIT_EXPECT_EQ(test, v.len[0], 3);
	KUNIT_EXPECT_PTR_EQ(test, v.at[1], (void *)0x3000ul);
	KUNIT_EXPECT_EQ(test, v.len[1], 5);
}

/* All of memory as one region: TO is the address */
static void dma_addresses(struct kunit *test)
{
	struct srnic_device *dev = fake_device(test);
	struct ib_pd *pd = fake_pd(test, dev);
	struct srnic_mr *mr = dma_region(test, pd, 0);
	u8 octets[4];
	struct srnic_access acc = {
		.stag = mr->tpte.stag, .to = (uintptr_t)octets, .length = sizeof(octets),
		.need = LR, .pd = pd,
	};
	struct srnic_span span;
	u32 len = 3;

	KUNIT_ASSERT_EQ(test, srnic_tpt_get(dev, &acc, &span), SRNIC_TPT_OK);
	KUNIT_EXPECT_PTR_EQ(test, srnic_span_addr(&span, 1, &len), (void *)&octets[1]);
	KUNIT_EXPECT_EQ(test, len, 3);
	srnic_tpt_put(&span);
	srnic_mr_dereg(&mr->ibmr);
}

static struct kunit_case tpt_cases[] = {
	KUNIT_CASE(bounds),
	KUNIT_CASE(bounds_by_counting),
	KUNIT_CASE(sges_by_counting),
	KUNIT_CASE(stag_bits),
	KUNIT_CASE(other_pd),
	KUNIT_CASE(rights),
	KUNIT_CASE(first_error_is_told),
	KUNIT_CASE(error_names),
	KUNIT_CASE(life),
	KUNIT_CASE(stag_zero),
	KUNIT_CASE(access_flags),
	KUNIT_CASE(reg_user_lengths),
	KUNIT_CASE(draws_refused),
	KUNIT_CASE(stags_are_random),
	KUNIT_CASE(stags_are_not_reused),
	KUNIT_CASE(limit_of_regions),
	KUNIT_CASE(dereg_waits),
	KUNIT_CASE(address_of_each_byte),
	KUNIT_CASE(address_in_block_list),
	KUNIT_CASE(visited_pieces),
	KUNIT_CASE(dma_addresses),
	{}
};

static struct kunit_suite tpt_suite = {
	.name = "srnic-tpt",
	.test_cases = tpt_cases,
};

kunit_test_suite(tpt_suite);
