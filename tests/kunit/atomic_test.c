// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/atomic.c and atomic.c: headers, arithmetic, execution in memory (RFC 7306 5). */
#include <kunit/test.h>
#include "engine/atomic.h"
#include "engine/tx.h"
#include "fake.h"
#include "memory/mr.h"
#include "octets.h"

/* Headers: RFC 7306 Figures 4 and 6, field after field */

#define FLUSH		"0000000e 00000009 b1b2b3b4 0000000000001000 0000000100000002 " \
			"0000000000000003 0000000000000001 0000000000000000"
#define ATOMIC_WRITE	"0000000f 0000000a b1b2b3b4 0000000000001000 3132333435363738 " \
			"0000000000000000 0000000000000000 0000000000000000"
#define FETCH_ADD	"00000000 00000007 b1b2b3b4 0000000000001000 0000000000000005 " \
			"0000000000000000 0000000000000000 ffffffffffffffff"
#define CMP_SWAP	"00000002 89abcdef 01020304 1112131415161718 2122232425262728 " \
			"3132333435363738 4142434445464748 5152535455565758"

static const struct {
	const char *hex;
	struct rdmap_atomic_req req;
} requests[] = {
	{ FETCH_ADD, { .aopcode = 0, .id = 7, .stag = 0xb1b2b3b4, .to = 0x1000, .data = 5,
		       .compare_mask = ~0ULL } },
	{ CMP_SWAP, { .aopcode = 2, .id = 0x89abcdef, .stag = 0x01020304,
		      .to = 0x1112131415161718, .data = 0x2122232425262728,
		      .mask = 0x3132333435363738, .compare = 0x4142434445464748,
		      .compare_mask = 0x5152535455565758 } },
	{ FLUSH, { .aopcode = 14, .id = 9, .stag = 0xb1b2b3b4, .to = 0x1000,
		   .data = 0x100000002, .mask = 3, .compare = 1 } },
	{ ATOMIC_WRITE, { .aopcode = 15, .id = 10, .stag = 0xb1b2b3b4, .to = 0x1000,
			  .data = 0x3132333435363738 } },
};

static void request_golden(struct kunit *test)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct rdmap_atomic_req got;
	u8 buf[53];
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, o);
	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		const struct rdmap_atomic_req *req = &requests[i].req;

		memset(buf, 0xa5, sizeof(buf));
		rdmap_atomic_req_encode(buf, req);
		octets_expect(test, "request", buf, 52, requests[i].hex);
		KUNIT_EXPECT_EQ(test, buf[52], 0xa5);

		octets_from_hex(test, o, requests[i].hex);
		/* a receiver ignores it */
		o->at[0] = 0xff;
		o->at[3] |= 0xf0;
		rdmap_atomic_req_decode(o->at, &got);
		KUNIT_EXPECT_EQ(test, got.aopcode, req->aopcode);
		KUNIT_EXPECT_EQ(test, got.id, req->id);
		KUNIT_EXPECT_EQ(test, got.stag, req->stag);
		KUNIT_EXPECT_EQ(test, got.to, req->to);
		KUNIT_EXPECT_EQ(test, got.data, req->data);
		KUNIT_EXPECT_EQ(test, got.mask, req->mask);
		KUNIT_EXPECT_EQ(test, got.compare, req->compare);
		KUNIT_EXPECT_EQ(test, got.compare_mask, req->compare_mask);
	}
}

static void response_golden(struct kunit *test)
{
	static const struct rdmap_atomic_resp resp = {
		.id = 0x89abcdef, .value = 0x2122232425262728,
	};
	struct rdmap_atomic_resp got;
	u8 buf[13];

	memset(buf, 0xa5, sizeof(buf));
	rdmap_atomic_resp_encode(buf, &resp);
	octets_expect(test, "response", buf, 12, "89abcdef 2122232425262728");
	KUNIT_EXPECT_EQ(test, buf[12], 0xa5);
	rdmap_atomic_resp_decode(buf, &got);
	KUNIT_EXPECT_EQ(test, got.id, resp.id);
	KUNIT_EXPECT_EQ(test, got.value, resp.value);
}

/* All codes but two are reserved or not assigned (RFC 7306 10.1) */
static void two_operations_known(struct kunit *test)
{
	u32 code;

	for (code = 0; code <= 0xff; code++) {
		KUNIT_EXPECT_EQ(test, rdmap_atomic_known(code), code == 0 || code == 2);
		KUNIT_EXPECT_EQ(test, rdmap_atomic_places(code), code == 14 || code == 15);
	}
}

/* Arithmetic */

/* RFC 7306 5.1.1, letter by letter */
static u64 fetch_add(u64 original, u64 add_data, u64 add_mask)
{
	u64 bit_location = 1, carry = 0, remote = 0, val1, val2, sum;
	int bit;

	for (bit = 0; bit < 64; bit++) {
		if (bit != 0)
			bit_location = bit_location << 1;
		val1 = (original & bit_location) >> bit;
		val2 = (add_data & bit_location) >> bit;
		sum = carry + val1 + val2;
		carry = (sum & 2) >> 1;
		sum = sum & 1;
		if (sum)
			remote |= bit_location;
		carry = ((carry) && (!(add_mask & bit_location)));
	}
	return remote;
}

/* RFC 7306 5.1.2 */
static u64 cmp_swap(const struct rdmap_atomic_req *req, u64 original)
{
	if (!((req->compare ^ original) & req->compare_mask))
		return (original & ~(req->mask)) | (req->data & req->mask);
	return original;
}

static u64 random64(u32 *seed)
{
	u64 high = octets_random(seed);

	return high << 32 | octets_random(seed);
}

/* Sums and carries at the edges, written down by hand */
static void add_edges(struct kunit *test)
{
	static const struct {
		u64 value, add, mask, want;
	} rows[] = {
		{ 0, 0, 0, 0 },
		{ 1, 2, 0, 3 },
		{ ~0ULL, 1, 0, 0 },			/* wraps 2^64 */
		{ ~0ULL, ~0ULL, 0, ~0ULL - 1 },
		{ 0x7fffffffffffffff, 1, 0, 0x8000000000000000 },
		{ 0xffffffff, 1, 0, 0x100000000 },	/* one field: carried */
		/* two fields of 32 bits: nothing crosses */
		{ 0xffffffff, 1, 0x8000000080000000, 0 },
		{ 0x00000005ffffffff, 0x0000000300000001, 0x8000000080000000,
		  0x0000000800000000 },
		{ 0xffffffff00000000, 0x0000000100000000, 0x8000000080000000, 0 },
		/* the same without the top bit of the upper one */
		{ 0x00000005ffffffff, 0x0000000300000001, 0x80000000, 0x0000000800000000 },
		/* the carry into a top bit stays */
		{ 0x7fffffff, 1, 0x80000000, 0x80000000 },
		/* eight fields of an octet */
		{ 0xff00ff00ff00ff00, 0x0101010101010101, 0x8080808080808080,
		  0x0001000100010001 },
		/* each bit for itself: exclusive or */
		{ 0xf0f0, 0xff00, ~0ULL, 0x0ff0 },
		/* bit 0 only */
		{ 1, 1, 1, 0 },
		{ 3, 1, 1, 2 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rdmap_atomic_req req = { .aopcode = 0, .data = rows[i].add,
						.mask = rows[i].mask };

		KUNIT_EXPECT_EQ_MSG(test, rdmap_atomic_result(&req, rows[i].value),
				    rows[i].want, "row %u", i);
	}
}

static void add_by_pseudocode(struct kunit *test)
{
	u32 seed = 7306, i;

	for (i = 0; i < 20000; i++) {
		u64 value = random64(&seed), mask = random64(&seed);
		struct rdmap_atomic_req req = { .aopcode = 0, .data = random64(&seed) };

		/* masks with no bit up to nearly all bits */
		req.mask = i % 4 == 0 ? 0 : i % 4 == 1 ? mask & random64(&seed) & random64(&seed) :
			   i % 4 == 2 ? mask : mask | random64(&seed);
		if (rdmap_atomic_result(&req, value) != fetch_add(value, req.data, req.mask))
			KUNIT_FAIL(test, "%llx + %llx, mask %llx", value, req.data, req.mask);
	}
}

static void swap_by_pseudocode(struct kunit *test)
{
	u32 seed = 7306, i, swapped = 0;

	for (i = 0; i < 20000; i++) {
		u64 value = random64(&seed), got;
		struct rdmap_atomic_req req = {
			.aopcode = 2, .data = random64(&seed), .mask = random64(&seed),
			.compare = random64(&seed), .compare_mask = random64(&seed),
		};

		if (i % 2)	/* equal under the mask */
			req.compare = (value & req.compare_mask) |
				      (req.compare & ~req.compare_mask);
		if (i % 8 == 3)
			req.compare_mask = ~0ULL;
		if (i % 8 == 4)
			req.compare_mask = 0;
		if (i % 8 == 5)
			req.mask = ~0ULL;
		got = rdmap_atomic_result(&req, value);
		swapped += got != value;
		if (got != cmp_swap(&req, value))
			KUNIT_FAIL(test, "round %u", i);
	}
	KUNIT_EXPECT_GT(test, swapped, 5000);
}

/* Execution */

#define ATOMIC_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_ATOMIC)

/* The peer's memory, and the QP over which the peer accesses it */
struct target {
	struct srnic_device *dev;
	struct ib_pd *pd;
	struct srnic_qp *qp;
	struct srnic_mr *mr;
	u64 *mem;
};

#define TARGET_WORDS	16

static void make_target(struct kunit *test, struct target *tg, int access)
{
	struct ib_mr *ibmr;

	tg->dev = fake_device(test);
	tg->pd = fake_pd(test, tg->dev);
	tg->qp = kunit_kzalloc(test, sizeof(*tg->qp), GFP_KERNEL);
	tg->mem = kunit_kzalloc(test, TARGET_WORDS * sizeof(u64), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tg->qp);
	KUNIT_ASSERT_NOT_NULL(test, tg->mem);
	tg->qp->dev = tg->dev;
	tg->qp->ibqp.pd = tg->pd;
	ibmr = srnic_mr_get_dma(tg->pd, access);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ibmr));
	tg->mr = to_srnic_mr(ibmr);
}

static struct rdmap_atomic_req add_to(const struct target *tg, u64 to, u64 data)
{
	return (struct rdmap_atomic_req){
		.aopcode = 0, .stag = tg->mr->tpte.stag, .to = to, .data = data,
		.compare_mask = ~0ULL,
	};
}

/* The original value is returned, and neighbouring memory does not change */
static void executed_in_memory(struct kunit *test)
{
	struct rdmap_atomic_req req;
	struct target tg;
	u64 was = 0;
	u32 i;

	make_target(test, &tg, ATOMIC_ACCESS);
	for (i = 0; i < TARGET_WORDS; i++)
		tg.mem[i] = 0x1111111111111111 * i;
	req = add_to(&tg, (uintptr_t)&tg.mem[5], 3);
	KUNIT_EXPECT_EQ(test, srnic_atomic_execute(tg.qp, &req, &was), RDMAP_OK);
	KUNIT_EXPECT_EQ(test, was, 0x5555555555555555);
	/* the endian format of the memory is the host's (RFC 7306 5.1) */
	KUNIT_EXPECT_EQ(test, tg.mem[5], 0x5555555555555558);

	req.aopcode = 2;
	req.mask = ~0ULL;
	req.data = 77;
	req.compare = 1;
	KUNIT_EXPECT_EQ(test, srnic_atomic_execute(tg.qp, &req, &was), RDMAP_OK);
	KUNIT_EXPECT_EQ(test, was, 0x5555555555555558);
	KUNIT_EXPECT_EQ(test, tg.mem[5], 0x5555555555555558);
	req.compare = was;
	KUNIT_EXPECT_EQ(test, srnic_atomic_execute(tg.qp, &req, &was), RDMAP_OK);
	KUNIT_EXPECT_EQ(test, was, 0x5555555555555558);
	KUNIT_EXPECT_EQ(test, tg.mem[5], 77);
	for (i = 0; i < TARGET_WORDS; i++)
		if (i != 5)
			KUNIT_EXPECT_EQ(test, tg.mem[i], 0x1111111111111111 * i);
	KUNIT_EXPECT_FALSE(test, srnic_tpt_in_use(&tg.mr->tpte));
	srnic_mr_dereg(&tg.mr->ibmr);
}

/* E-38: an atomic at an unaligned address does not touch memory (X7-6) */
static void alignment(struct kunit *test)
{
	struct target tg;
	u64 was;
	u32 off;

	make_target(test, &tg, ATOMIC_ACCESS);
	for (off = 0; off <= 16; off++) {
		struct rdmap_atomic_req req = add_to(&tg, (uintptr_t)tg.mem + off, ~0ULL);

		KUNIT_EXPECT_EQ_MSG(test, srnic_atomic_execute(tg.qp, &req, &was),
				    off % 8 ? RDMAP_E_ATOMIC_ALIGN : RDMAP_OK, "offset %u", off);
	}
	KUNIT_EXPECT_EQ(test, tg.mem[0], ~0ULL);
	KUNIT_EXPECT_EQ(test, tg.mem[1], ~0ULL);
	KUNIT_EXPECT_EQ(test, tg.mem[2], ~0ULL);
	KUNIT_EXPECT_EQ(test, tg.mem[3], 0);
	KUNIT_EXPECT_FALSE(test, srnic_tpt_in_use(&tg.mr->tpte));
	srnic_mr_dereg(&tg.mr->ibmr);
}

/*
 * X7-6: in a block list an atomic is of one block; of a word that a block's end divides it is not,
 * though the next block goes on with the memory
 */
static void block_ends(struct kunit *test)
{
	static const struct {
		u32 at, len;
	} blocks[] = { { 0, 16 }, { 20, 4 }, { 24, 16 }, { 43, 5 }, { 48, 4 }, { 52, 12 } };
	/* TOs at which a word of the memory begins, and ends in the same block */
	static const u64 good = BIT_ULL(0) | BIT_ULL(8) | BIT_ULL(20) | BIT_ULL(28) |
				BIT_ULL(16 + 4 + 16 + 5 + 4 + 4);
	struct ib_mr *ibmr;
	struct target tg;
	u64 was;
	u32 i;

	make_target(test, &tg, ATOMIC_ACCESS);
	srnic_mr_dereg(&tg.mr->ibmr);
	ibmr = srnic_mr_alloc(tg.pd, IB_MR_TYPE_SG_GAPS, ARRAY_SIZE(blocks));
	KUNIT_ASSERT_FALSE(test, IS_ERR(ibmr));
	tg.mr = to_srnic_mr(ibmr);
	srnic_mr_begin(tg.mr, 1, 0);
	for (i = 0; i < ARRAY_SIZE(blocks); i++)
		srnic_mr_add(tg.mr, (uintptr_t)tg.mem + blocks[i].at, blocks[i].len);
	KUNIT_ASSERT_EQ(test, srnic_mr_register(tg.mr, ibmr->lkey, tg.pd, 0x1001, 57,
						ATOMIC_ACCESS), SRNIC_WC_SUCCESS);
	for (i = 0; i <= 57 - 8; i++) {
		struct rdmap_atomic_req req = add_to(&tg, 0x1001 + i, 1);

		KUNIT_EXPECT_EQ_MSG(test, srnic_atomic_execute(tg.qp, &req, &was),
				    good & BIT_ULL(i) ? RDMAP_OK : RDMAP_E_ATOMIC_ALIGN,
				    "at %u", i);
	}
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ_MSG(test, tg.mem[i], i != 2 && i != 5 && i != 6, "word %u", i);
	srnic_mr_dereg(ibmr);
}

/* E-39: each access would be within memory, but for the one error */
static void protection(struct kunit *test)
{
	static const struct {
		int access;
		enum rdmap_err want;
	} rights[] = {
		{ IB_ACCESS_LOCAL_WRITE, RDMAP_E_ATOMIC_ACCESS },
		{ IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ,
		  RDMAP_E_ATOMIC_ACCESS },
		{ ATOMIC_ACCESS, RDMAP_OK },
		{ ATOMIC_ACCESS | IB_ACCESS_REMOTE_WRITE | IB_ACCESS_REMOTE_READ, RDMAP_OK },
	};
	struct rdmap_atomic_req req, good;
	struct target tg;
	u64 was;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rights); i++) {
		make_target(test, &tg, rights[i].access);
		req = add_to(&tg, (uintptr_t)tg.mem, 1);
		KUNIT_EXPECT_EQ_MSG(test, srnic_atomic_execute(tg.qp, &req, &was),
				    rights[i].want, "row %u", i);
		KUNIT_EXPECT_EQ(test, tg.mem[0], rights[i].want ? 0 : 1);
		srnic_mr_dereg(&tg.mr->ibmr);
	}

	make_target(test, &tg, ATOMIC_ACCESS);
	good = add_to(&tg, (uintptr_t)tg.mem, 1);
	req = good;
	req.stag ^= 1;
	KUNIT_EXPECT_EQ(test, srnic_atomic_execute(tg.qp, &req, &was), RDMAP_E_ATOMIC_STAG);
	req.stag = 0;
	KUNIT_EXPECT_EQ(test, srnic_atomic_execute(tg.qp, &req, &was), RDMAP_E_ATOMIC_STAG);
	req = good;
	req.to = ~0ULL - 6;
	KUNIT_EXPECT_EQ(test, srnic_atomic_execute(tg.qp, &req, &was), RDMAP_E_ATOMIC_WRAP);
	tg.qp->ibqp.pd = fake_pd(test, tg.dev);
	KUNIT_EXPECT_EQ(test, srnic_atomic_execute(tg.qp, &good, &was), RDMAP_E_ATOMIC_STREAM);
	KUNIT_EXPECT_EQ(test, tg.mem[0], 0);
	srnic_mr_dereg(&tg.mr->ibmr);
}

static struct kunit_case atomic_cases[] = {
	KUNIT_CASE(request_golden),
	KUNIT_CASE(response_golden),
	KUNIT_CASE(two_operations_known),
	KUNIT_CASE(add_edges),
	KUNIT_CASE(add_by_pseudocode),
	KUNIT_CASE(swap_by_pseudocode),
	KUNIT_CASE(executed_in_memory),
	KUNIT_CASE(alignment),
	KUNIT_CASE(block_ends),
	KUNIT_CASE(protection),
	{}
};

static struct kunit_suite atomic_suite = {
	.name = "srnic-atomic",
	.test_cases = atomic_cases,
};

kunit_test_suite(atomic_suite);
