// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ring.c, ring.h: indices that may be hostile, slots, memory. */
#include <kunit/test.h>
#include "octets.h"
#include "queue/ring.h"

static void filled_values(struct kunit *test)
{
	static const struct {
		u32 entries, producer, consumer;
		int want;
	} rows[] = {
		{ 8, 0, 0, 0 },
		{ 8, 1, 0, 1 },
		{ 8, 8, 0, 8 },
		{ 8, 9, 0, -EPROTO },
		{ 8, 0, 1, -EPROTO },			/* consumer ahead */
		{ 8, 0, 8, -EPROTO },
		{ 8, 100, 100, 0 },
		{ 8, 100, 92, 8 },
		{ 8, 100, 91, -EPROTO },
		{ 8, 100, 101, -EPROTO },
		/* across 2^32 */
		{ 8, 0, 0xffffffff, 1 },
		{ 8, 3, 0xfffffffb, 8 },
		{ 8, 3, 0xfffffffa, -EPROTO },
		{ 8, 0xffffffff, 0, -EPROTO },
		{ 8, 0xffffffff, 0xffffffff, 0 },
		/* half way round, where a signed difference would change its sign */
		{ 8, 0x80000000, 0, -EPROTO },
		{ 8, 0, 0x80000000, -EPROTO },
		{ 8, 0x7fffffff, 0, -EPROTO },
		{ 8, 0x80000003, 0x7fffffff, 4 },
		{ 1, 5, 5, 0 },
		{ 1, 6, 5, 1 },
		{ 1, 7, 5, -EPROTO },
		{ 1 << 20, 1 << 20, 0, 1 << 20 },
		{ 1 << 20, (1 << 20) + 1, 0, -EPROTO },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_ring ring = { .entries = rows[i].entries };

		KUNIT_EXPECT_EQ_MSG(test, rows[i].want,
				    srnic_ring_filled(&ring, rows[i].producer,
						      rows[i].consumer),
				    "row %u", i);
	}
}

/* Any two indices: the result is at most the number of entries, or -EPROTO */
static void filled_random(struct kunit *test)
{
	u32 seed = 1, i, log, a, b;

	for (i = 0; i < 100000; i++) {
		struct srnic_ring ring;
		s64 n;

		log = octets_random(&seed) % 21;
		ring.entries = 1U << log;
		a = octets_random(&seed);
		b = i % 2 ? octets_random(&seed) :
			    a + octets_random(&seed) % (4 * ring.entries) - 2 * ring.entries;
		n = srnic_ring_filled(&ring, a, b);
		if (n == -EPROTO ? a - b <= ring.entries :
				   n < 0 || n > ring.entries || a - b != n)
			KUNIT_FAIL(test, "%u entries, %u and %u: %lld", ring.entries, a,
				   b, n);
	}
}

/* Any index gives a slot within the ring; consecutive indices give adjacent slots */
static void slot_is_in_the_ring(struct kunit *test)
{
	static const u32 indices[] = {
		0, 1, 7, 8, 9, 0x7fffffff, 0x80000000, 0xfffffff8, 0xffffffff,
	};
	static const u32 strides[] = { 16, 64, 128, 1024 };
	u32 i, j, entries;

	for (i = 0; i < ARRAY_SIZE(strides); i++) {
		for (entries = 1; entries <= 1024; entries *= 8) {
			/* never dereferenced */
			struct srnic_ring ring = {
				.hdr = (void *)0x10000, .entries = entries,
				.stride = strides[i],
			};
			uintptr_t first = 0x10000 + SRNIC_RING_HDR;

			for (j = 0; j < ARRAY_SIZE(indices); j++) {
				uintptr_t at = (uintptr_t)srnic_ring_slot(&ring, indices[j]);

				KUNIT_EXPECT_EQ(test, at,
						first + indices[j] % entries * strides[i]);
			}
		}
	}
}

static void alloc_and_free(struct kunit *test)
{
	static const struct {
		u32 entries, stride;
		size_t bytes;
	} rows[] = {
		{ 1, 16, PAGE_ALIGN(4096 + 16) }, { 64, 64, PAGE_ALIGN(8192) },
		{ 65, 64, PAGE_ALIGN(8192 + 64) }, { 1024, 128, PAGE_ALIGN(4096 + 131072) },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct srnic_mmap desc = { .offset = 1, .size = 1 };
		struct srnic_ring ring;

		memset(&ring, 0xa5, sizeof(ring));
		KUNIT_ASSERT_EQ(test, 0, srnic_ring_alloc(&ring, rows[i].entries,
							  rows[i].stride, NULL));
		KUNIT_EXPECT_NOT_NULL(test, ring.hdr);
		KUNIT_EXPECT_EQ(test, ring.entries, rows[i].entries);
		KUNIT_EXPECT_EQ(test, ring.stride, rows[i].stride);
		KUNIT_EXPECT_EQ(test, ring.bytes, rows[i].bytes);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(ring.hdr, 0, ring.bytes), NULL);
		/* all of the memory can be written */
		memset(ring.hdr, 0xff, ring.bytes);

		srnic_ring_describe(&ring, &desc);
		KUNIT_EXPECT_EQ(test, desc.offset, 0);
		KUNIT_EXPECT_EQ(test, desc.size, rows[i].bytes);

		srnic_ring_free(&ring);
		KUNIT_EXPECT_PTR_EQ(test, memchr_inv(&ring, 0, sizeof(ring)), NULL);
		srnic_ring_free(&ring);		/* a second time, and without an allocation */
	}
}

/* Sizes that do not fit are refused, not truncated */
static void alloc_overflow(struct kunit *test)
{
	static const struct {
		u32 entries, stride;
	} rows[] = {
		{ 0x80000000, 0x80000000 }, { 0x80000000, 2 }, { 1, 0xffffffff },
		{ 1 << 26, 64 }, { (1 << 26) - 64, 64 }, { 0xffffffff, 0xffffffff },
	};
	struct srnic_ring ring;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		KUNIT_EXPECT_EQ_MSG(test, -EOVERFLOW,
				    srnic_ring_alloc(&ring, rows[i].entries,
						     rows[i].stride, NULL),
				    "row %u", i);
}

/* The ABI: the layout that user space was built with must not change */
static void abi_layout(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, offsetof(struct srnic_ring_hdr, producer), 64);
	KUNIT_EXPECT_EQ(test, offsetof(struct srnic_ring_hdr, consumer), 128);
	KUNIT_EXPECT_EQ(test, offsetof(struct srnic_ring_hdr, flags), 192);
	KUNIT_EXPECT_LE(test, sizeof(struct srnic_ring_hdr), SRNIC_RING_HDR);
	KUNIT_EXPECT_EQ(test, sizeof(struct srnic_sge), 16);
	KUNIT_EXPECT_EQ(test, sizeof(struct srnic_rqe), 16);
	KUNIT_EXPECT_EQ(test, sizeof(struct srnic_sqe), 64);
	KUNIT_EXPECT_EQ(test, sizeof(struct srnic_cqe), 64);
	KUNIT_EXPECT_EQ(test, offsetof(struct srnic_sqe, remote_addr), 24);
	KUNIT_EXPECT_EQ(test, offsetof(struct srnic_cqe, vendor_err), 32);
	KUNIT_EXPECT_EQ(test, offsetof(struct srnic_cqe, timestamp), 40);
}

static struct kunit_case ring_cases[] = {
	KUNIT_CASE(filled_values),
	KUNIT_CASE(filled_random),
	KUNIT_CASE(slot_is_in_the_ring),
	KUNIT_CASE(alloc_and_free),
	KUNIT_CASE(alloc_overflow),
	KUNIT_CASE(abi_layout),
	{}
};

static struct kunit_suite ring_suite = {
	.name = "srnic-ring",
	.test_cases = ring_cases,
};

kunit_test_suite(ring_suite);
