// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* stream.c: the octets of an skb, however it is made up. */
#include <kunit/test.h>
#include <linux/skbuff.h>
#include "stream.h"

#define LINEAR	5
#define FRAG	7
#define ALL	(2 * (LINEAR + 2 * FRAG))

/* What came so far; @pieces tells that they are not all one */
struct taken {
	u8 data[ALL];
	u32 len;
	u32 pieces;
};

static void take(void *ctx, const u8 *data, u32 len)
{
	struct taken *taken = ctx;

	might_sleep();
	if (!len || len > ALL - taken->len)
		return;
	memcpy(taken->data + taken->len, data, len);
	taken->len += len;
	taken->pieces++;
}

static void fill(u8 *data, u32 len, u8 *next)
{
	while (len--)
		*data++ = (*next)++;
}

/* Some octets of its own, and two fragments within pages */
static struct sk_buff *make_skb(struct kunit *test, u8 *next)
{
	struct sk_buff *skb = alloc_skb(LINEAR, GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	fill(skb_put(skb, LINEAR), LINEAR, next);
	for (i = 0; i < 2; i++) {
		struct page *page = alloc_page(GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, page);
		fill((u8 *)page_address(page) + 100 + i, FRAG, next);
		skb_add_rx_frag(skb, i, page, 100 + i, FRAG, PAGE_SIZE);
	}
	return skb;
}

/* M-TCP-2: each range of an skb with fragments and a list, and each of its octets once */
static void each_byte_of_an_skb_once(struct kunit *test)
{
	u8 next = 0, want[ALL];
	struct sk_buff *skb = make_skb(test, &next), *more = make_skb(test, &next);
	u32 from, to;

	skb_shinfo(skb)->frag_list = more;
	skb->len += more->len;
	skb->data_len += more->len;
	KUNIT_ASSERT_EQ(test, skb->len, ALL);
	for (from = 0; from < ALL; from++) {
		for (to = from; to <= ALL; to++) {
			struct taken taken = { };
			u32 i;

			srnic_stream_walk(skb, from, to, take, &taken);
			for (i = from; i < to; i++)
				want[i - from] = i;
			KUNIT_EXPECT_EQ_MSG(test, taken.len, to - from, "%u to %u", from, to);
			KUNIT_EXPECT_EQ_MSG(test, memcmp(taken.data, want, to - from), 0,
					    "%u to %u", from, to);
			if (to - from == ALL)
				KUNIT_EXPECT_EQ(test, taken.pieces, 6);
		}
	}
	kfree_skb(skb);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(each_byte_of_an_skb_once),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "srnic-stream",
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);
