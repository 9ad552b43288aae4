// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* stream.c: the octets of an skb, and of a queue of skbs, in any layout. */
#include <kunit/test.h>
#include <linux/skbuff.h>
#include <net/tcp.h>
#include "compat.h"
#include "engine/stream.h"

#define LINEAR	5
#define FRAG	7
#define ALL	(2 * (LINEAR + 2 * FRAG))
#define QUEUE	90	/* bytes of a queue of skbs */

/* A kernel without devmem TCP lacks skb_frags_readable() */
#ifdef SRNIC_HAVE_SKB_READABLE
#define HAS_UNREADABLE	true
static void skb_make_unreadable(struct sk_buff *skb)
{
	skb->unreadable = true;
}
#else
#define HAS_UNREADABLE	false
static void skb_make_unreadable(struct sk_buff *skb)
{
}
#endif

/* Bytes seen so far; @pieces tells that they are not all in one piece */
struct taken {
	u8 data[QUEUE];
	u32 len;
	u32 pieces;
};

static void take(void *ctx, const u8 *data, u32 len)
{
	struct taken *taken = ctx;

	might_sleep();
	if (!len || len > QUEUE - taken->len)
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

/* Some octets in the linear part, and two fragments within pages */
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

/* Bytes @from to @to of the stream; the skb before may have some of them, too */
static void queue_skb(struct kunit *test, struct sk_buff_head *queue, u8 from, u8 to)
{
	struct sk_buff *skb = alloc_skb(QUEUE, GFP_KERNEL);
	u8 next = from;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	fill(skb_put(skb, to - from), to - from, &next);
	/* the sequence number wraps on the way */
	TCP_SKB_CB(skb)->seq = from - 40;
	__skb_queue_tail(queue, skb);
}

/* As TCP may queue them: with fragments, empty, and overlapping an earlier one */
static void make_queue(struct kunit *test, struct sk_buff_head *queue)
{
	struct sk_buff *skb;
	u8 next = 20;

	__skb_queue_head_init(queue);
	queue_skb(test, queue, 0, 7);
	queue_skb(test, queue, 7, 8);
	queue_skb(test, queue, 8, 8);
	queue_skb(test, queue, 5, 20);
	skb = make_skb(test, &next);
	TCP_SKB_CB(skb)->seq = 20 - 40;
	__skb_queue_tail(queue, skb);
	/* no new bytes */
	queue_skb(test, queue, 22, 30);
	queue_skb(test, queue, 39, 41);
	queue_skb(test, queue, 30, QUEUE);
}

static struct srnic_cursor cursor_of(struct sk_buff_head *queue, u32 at)
{
	struct srnic_cursor cur = { .queue = queue, .skb = skb_peek(queue) };

	srnic_cursor_skip(&cur, at);
	return cur;
}

/* M-TCP-2: each range that an FPDU may have, over any number of skbs */
static void cursor_over_buffers(struct kunit *test)
{
	struct sk_buff_head queue;
	u8 got[QUEUE], want[QUEUE];
	u32 from, mid, to, i;

	for (i = 0; i < QUEUE; i++)
		want[i] = i;
	make_queue(test, &queue);
	for (from = 0; from < QUEUE; from++) {
		for (to = from; to <= QUEUE; to++) {
			struct srnic_cursor cur = cursor_of(&queue, from), copy = cur;
			struct taken taken = { };

			mid = (from + to) / 2;
			memset(got, 0xee, sizeof(got));
			srnic_cursor_copy(&cur, got, mid - from);
			srnic_cursor_copy(&cur, got + mid - from, to - mid);
			KUNIT_EXPECT_EQ_MSG(test, memcmp(got, want + from, to - from), 0,
					    "copy of %u to %u", from, to);
			srnic_cursor_walk(&copy, to - from, take, &taken);
			KUNIT_EXPECT_EQ_MSG(test, taken.len, to - from, "%u to %u", from, to);
			KUNIT_EXPECT_EQ_MSG(test, memcmp(taken.data, want + from, to - from), 0,
					    "walk of %u to %u", from, to);
			if (to == QUEUE)
				continue;
			/* all three cursors are at the same place */
			srnic_cursor_copy(&copy, got, 1);
			KUNIT_EXPECT_EQ_MSG(test, got[0], to, "behind %u", to);
			srnic_cursor_copy(&cur, got, 1);
			KUNIT_EXPECT_EQ_MSG(test, got[0], to, "behind %u", to);
		}
	}
	__skb_queue_purge(&queue);
}

/* The same in linear memory */
static void cursor_in_memory(struct kunit *test)
{
	static const u8 data[] = "0123456789";
	struct srnic_cursor cur = srnic_cursor_at(data);
	struct taken taken = { };
	u8 got[4];

	srnic_cursor_copy(&cur, got, 2);
	srnic_cursor_skip(&cur, 3);
	srnic_cursor_walk(&cur, 4, take, &taken);
	srnic_cursor_copy(&cur, got + 2, 1);
	KUNIT_EXPECT_EQ(test, memcmp(got, "019", 3), 0);
	KUNIT_EXPECT_EQ(test, taken.len, 4);
	KUNIT_EXPECT_EQ(test, memcmp(taken.data, "5678", 4), 0);
}

/* Bytes in a device's memory are not read; those beside them are */
static void memory_of_a_device(struct kunit *test)
{
	struct sk_buff_head queue;
	struct sk_buff *skb;
	u32 from, to;

	make_queue(test, &queue);
	skb_queue_walk(&queue, skb)
		if (skb_is_nonlinear(skb))	/* bytes 20 to 38 */
			skb_make_unreadable(skb);
	for (from = 0; from < QUEUE; from++)
		for (to = from + 1; to <= QUEUE; to++)
			KUNIT_EXPECT_EQ_MSG(test, to <= 20 || from >= 39 || !HAS_UNREADABLE,
					    srnic_cursor_is_readable(cursor_of(&queue, from),
								     to - from),
					    "%u to %u", from, to);
	KUNIT_EXPECT_TRUE(test, srnic_cursor_is_readable(srnic_cursor_at(&queue), 1));
	__skb_queue_purge(&queue);
}

static struct kunit_case stream_cases[] = {
	KUNIT_CASE(each_byte_of_an_skb_once),
	KUNIT_CASE(cursor_over_buffers),
	KUNIT_CASE(cursor_in_memory),
	KUNIT_CASE(memory_of_a_device),
	{}
};

static struct kunit_suite stream_suite = {
	.name = "srnic-stream",
	.test_cases = stream_cases,
};

kunit_test_suite(stream_suite);
