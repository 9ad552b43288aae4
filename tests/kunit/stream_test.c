// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* stream.c: the octets of an skb, and of a queue of skbs, in any layout. */
#include <kunit/test.h>
#include <linux/skbuff.h>
#include <net/tcp.h>
#include "compat.h"
#include "engine/stream.h"
#include "wire/mpa.h"

#define ALL	19	/* bytes of an skb with everything */
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

/* @len[0] octets in the linear part, and then fragments, which reach over the end of a page */
static struct sk_buff *make_part(struct kunit *test, u8 *next, const u32 *len, u32 pieces)
{
	struct sk_buff *skb = alloc_skb(len[0], GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, skb);
	fill(skb_put(skb, len[0]), len[0], next);
	for (i = 0; i + 1 < pieces; i++) {
		struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, 1);
		u32 off = PAGE_SIZE - 1 + i;

		KUNIT_ASSERT_NOT_NULL(test, page);
		fill((u8 *)page_address(page) + off, len[i + 1], next);
		skb_add_rx_frag(skb, i, page, off, len[i + 1], 2 * PAGE_SIZE);
	}
	return skb;
}

#define PART(test, next, ...) ({							\
	static const u32 _len[] = { __VA_ARGS__ };					\
											\
	make_part(test, next, _len, ARRAY_SIZE(_len));					\
})

/* @skb gets the buffers of @list, which have lists of their own by now */
static void set_list(struct sk_buff *skb, struct sk_buff *list)
{
	skb_shinfo(skb)->frag_list = list;
	for (; list; list = list->next) {
		skb->len += list->len;
		skb->data_len += list->len;
	}
}

/*
 * Linear data and fragments, some of them empty, and a list of more such buffers, one of which
 * has a list as well
 */
static struct sk_buff *make_skb(struct kunit *test, u8 *next)
{
	struct sk_buff *skb = PART(test, next, 3, 2, 0, 3);
	struct sk_buff *list = PART(test, next, 4);
	struct sk_buff *empty = PART(test, next, 0);
	struct sk_buff *mid = PART(test, next, 0, 2);
	struct sk_buff *inner = PART(test, next, 1, 2);
	struct sk_buff *last = PART(test, next, 0, 0, 1);
	struct sk_buff *end = PART(test, next, 1, 0);

	inner->next = last;
	set_list(mid, inner);
	list->next = empty;
	empty->next = mid;
	mid->next = end;
	set_list(skb, list);
	return skb;
}

static struct srnic_cursor cursor_of(struct sk_buff_head *queue, u32 at)
{
	struct srnic_cursor cur = { .queue = queue, .skb = skb_peek(queue) };

	srnic_cursor_skip(&cur, at);
	return cur;
}

/* M-TCP-2: each range of an skb of any layout, each of its octets once, in steps of any size */
static void each_byte_of_an_skb_once(struct kunit *test)
{
	struct sk_buff_head queue;
	struct sk_buff *skb;
	u32 from, to, step, at;
	u8 next = 0, want[ALL];

	skb = make_skb(test, &next);
	KUNIT_ASSERT_EQ(test, skb->len, ALL);
	__skb_queue_head_init(&queue);
	__skb_queue_tail(&queue, skb);
	for (at = 0; at < ALL; at++)
		want[at] = at;
	for (from = 0; from < ALL; from++) {
		for (to = from; to <= ALL; to++) {
			struct srnic_cursor cur = cursor_of(&queue, from);
			struct taken taken = { };

			srnic_cursor_walk(&cur, to - from, take, &taken);
			KUNIT_EXPECT_EQ_MSG(test, taken.len, to - from, "%u to %u", from, to);
			KUNIT_EXPECT_EQ_MSG(test, memcmp(taken.data, want + from, to - from), 0,
					    "%u to %u", from, to);
			/* one for each that is not empty */
			if (to - from == ALL)
				KUNIT_EXPECT_EQ(test, taken.pieces, 9);
		}
		for (step = 1; step < ALL; step++) {
			struct srnic_cursor cur = cursor_of(&queue, from);
			u8 got[ALL] = { };

			for (at = from; at < ALL; at += step)
				srnic_cursor_copy(&cur, got + at, min(step, ALL - at));
			KUNIT_EXPECT_EQ_MSG(test, memcmp(got + from, want + from, ALL - from), 0,
					    "from %u in steps of %u", from, step);
		}
	}
	__skb_queue_purge(&queue);
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

static void add_crc(void *ctx, const u8 *data, u32 len)
{
	u32 *crc = ctx;

	*crc = mpa_crc_add(*crc, data, len);
}

/* M-TCP-2: each range that an FPDU may have, over any number of skbs, and its CRC */
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
			struct srnic_cursor cur = cursor_of(&queue, from), copy = cur, sum = cur;
			u32 crc = mpa_crc_start();
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
			srnic_cursor_walk(&sum, mid - from, add_crc, &crc);
			srnic_cursor_walk(&sum, to - mid, add_crc, &crc);
			KUNIT_EXPECT_EQ_MSG(test, crc, mpa_crc_add(mpa_crc_start(), want + from,
								   to - from),
					    "CRC of %u to %u", from, to);
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
	skb_queue_walk(&queue, skb) {
		if (skb_is_nonlinear(skb)) {
			skb_make_unreadable(skb);	/* bytes 20 to 27 */
			skb_make_unreadable(skb_shinfo(skb)->frag_list);	/* to 31 */
		}
	}
	for (from = 0; from < QUEUE; from++)
		for (to = from + 1; to <= QUEUE; to++)
			KUNIT_EXPECT_EQ_MSG(test, to <= 20 || from >= 32 || !HAS_UNREADABLE,
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
