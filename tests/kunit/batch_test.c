// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* stream.c: bytes in pages on their way to TCP, and the references to these pages. */
#include <kunit/test.h>
#include <linux/sizes.h>
#include "engine/stream.h"
#include "peer.h"

#define PAGES	SRNIC_BATCH_PIECES

/* A batch, and pages of the test's own, in which each byte differs from its neighbours */
struct batch {
	struct srnic_batch *batch;
	struct page *page[PAGES];
};

static u8 byte_at(u32 page, u32 off)
{
	return page * 31 + off * 7 + off / 256;
}

static void make_batch(struct kunit *test, struct batch *b)
{
	u32 i, off;

	b->batch = srnic_batch_new();
	KUNIT_ASSERT_NOT_NULL(test, b->batch);
	KUNIT_EXPECT_EQ(test, b->batch->len, 0);
	for (i = 0; i < PAGES; i++) {
		b->page[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, b->page[i]);
		for (off = 0; off < PAGE_SIZE; off++)
			((u8 *)page_address(b->page[i]))[off] = byte_at(i, off);
	}
}

/* Nothing else holds a reference to the pages any more */
static bool all_back(const struct batch *b)
{
	u32 i;

	for (i = 0; i < PAGES; i++)
		if (page_count(b->page[i]) != 1)
			return false;
	return true;
}

static void end_batch(struct kunit *test, struct batch *b)
{
	u32 i;

	KUNIT_EXPECT_TRUE(test, peer_until(all_back(b)));
	for (i = 0; i < PAGES; i++)
		put_page(b->page[i]);
}

static void expect_piece(struct kunit *test, const struct srnic_batch *batch, u32 i,
			 const struct page *page, u32 off, u32 len)
{
	KUNIT_EXPECT_PTR_EQ_MSG(test, (const struct page *)batch->piece[i].bv_page, page, "%u", i);
	KUNIT_EXPECT_EQ_MSG(test, batch->piece[i].bv_offset, off, "%u", i);
	KUNIT_EXPECT_EQ_MSG(test, batch->piece[i].bv_len, len, "%u", i);
}

/* Bytes adjacent to the last piece extend it, and take no further reference */
static void coalesces(struct kunit *test)
{
	struct batch b;

	make_batch(test, &b);
	srnic_batch_add(b.batch, b.page[0], 100, 20);
	srnic_batch_add(b.batch, b.page[0], 120, 4);
	srnic_batch_add(b.batch, b.page[0], 124, 1);
	expect_piece(test, b.batch, 0, b.page[0], 100, 25);
	/* a gap; bytes before the piece; the same bytes; the fitting offset in another page */
	srnic_batch_add(b.batch, b.page[0], 126, 1);
	srnic_batch_add(b.batch, b.page[0], 90, 10);
	srnic_batch_add(b.batch, b.page[0], 90, 10);
	srnic_batch_add(b.batch, b.page[1], 100, 5);
	KUNIT_EXPECT_EQ(test, b.batch->end, 5);
	KUNIT_EXPECT_EQ(test, b.batch->len, 51);
	expect_piece(test, b.batch, 0, b.page[0], 100, 25);
	expect_piece(test, b.batch, 4, b.page[1], 100, 5);
	KUNIT_EXPECT_EQ(test, page_count(b.page[0]), 5);
	KUNIT_EXPECT_EQ(test, page_count(b.page[1]), 2);
	srnic_batch_free(b.batch);
	KUNIT_EXPECT_TRUE(test, all_back(&b));
	srnic_batch_free(NULL);
	end_batch(test, &b);
}

/* A connection of which the test holds both ends; its send buffer is smaller than a batch */
static struct srnic_stream *make_stream(struct kunit *test, struct peer *p)
{
	struct socket *sock;
	struct srnic_stream *stream;

	peer_sockets(p, &sock);
	sock->sk->sk_sndbuf = SZ_32K;
	stream = srnic_stream_new(sock);
	KUNIT_ASSERT_NOT_NULL(test, stream);
	return stream;
}

/* What the peer has received until now. Return: number of bytes. */
static u32 receive(struct peer *p, u8 *data, u32 room)
{
	struct msghdr msg = { };
	struct kvec vec = { .iov_base = data, .iov_len = room };
	int n = kernel_recvmsg(p->sock, &msg, &vec, 1, room, MSG_DONTWAIT);

	return max(n, 0);
}

/* As many pieces as the tx engine adds at most, and one more for a Terminate */
static void fill_batch(struct kunit *test, struct batch *b)
{
	u32 i;

	for (i = 0; i < PAGES; i++) {
		KUNIT_EXPECT_FALSE(test, srnic_batch_is_full(b->batch));
		srnic_batch_add(b->batch, b->page[i], i, PAGE_SIZE - i);
		KUNIT_EXPECT_EQ(test, page_count(b->page[i]), 2);
	}
	KUNIT_EXPECT_TRUE(test, srnic_batch_is_full(b->batch));
}

/*
 * TCP takes a full batch in parts, cut within pieces; a page's reference is dropped with its part
 */
static void taken_in_parts(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct srnic_stream *stream = make_stream(test, p);
	u32 want = PAGES * PAGE_SIZE - PAGES * (PAGES - 1) / 2, got = 0, at, i, parts = 0;
	u8 *data = kunit_kzalloc(test, want + 1, GFP_KERNEL);
	bool in_a_piece = false;
	struct batch b;
	int n;

	KUNIT_ASSERT_NOT_NULL(test, data);
	make_batch(test, &b);
	fill_batch(test, &b);
	KUNIT_EXPECT_EQ(test, b.batch->len, want);
	for (i = 0; i < 10000 && got < want; i++) {
		u32 before = b.batch->len;

		n = before ? srnic_stream_send(stream, b.batch, false) : 0;
		if (n == -EAGAIN)
			n = 0;
		KUNIT_ASSERT_GE(test, n, 0);
		KUNIT_EXPECT_EQ(test, b.batch->len, before - n);
		parts += n > 0;
		if (b.batch->len) {
			in_a_piece |= b.batch->piece[b.batch->begin].bv_offset >
				      b.batch->begin;
			KUNIT_EXPECT_EQ(test, b.batch->end, PAGES);
		}
		n = receive(p, data + got, want + 1 - got);
		got += n;
		if (!n)
			msleep(20);
	}
	KUNIT_ASSERT_EQ(test, got, want);
	KUNIT_EXPECT_GT(test, parts, 1);
	KUNIT_EXPECT_TRUE(test, in_a_piece);
	for (i = 0, got = 0; i < PAGES; i++)
		for (at = i; at < PAGE_SIZE; at++, got++)
			if (data[got] != byte_at(i, at))
				KUNIT_FAIL(test, "page %u, offset %u", i, at);
	/* an emptied batch is like a new one */
	KUNIT_EXPECT_EQ(test, b.batch->begin, 0);
	KUNIT_EXPECT_EQ(test, b.batch->end, 0);
	KUNIT_EXPECT_TRUE(test, peer_until(all_back(&b)));
	/* new bytes are not merged with a piece that was sent */
	srnic_batch_add(b.batch, b.page[PAGES - 1], 0, 1);
	KUNIT_EXPECT_EQ(test, b.batch->end, 1);
	KUNIT_EXPECT_EQ(test, b.batch->len, 1);
	expect_piece(test, b.batch, 0, b.page[PAGES - 1], 0, 1);
	srnic_batch_free(b.batch);
	srnic_stream_free(stream);
	end_batch(test, &b);
}

/* The connection goes after a part was taken: the rest is freed with the batch */
static void freed_in_part(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct srnic_stream *stream = make_stream(test, p);
	struct batch b;
	int n;

	make_batch(test, &b);
	fill_batch(test, &b);
	do {
		n = srnic_stream_send(stream, b.batch, true);
	} while (n > 0);
	KUNIT_EXPECT_EQ(test, n, -EAGAIN);
	KUNIT_EXPECT_GT(test, b.batch->len, 0);
	KUNIT_EXPECT_LT(test, b.batch->len, PAGES * PAGE_SIZE - PAGES * (PAGES - 1) / 2);
	peer_reset(p);
	KUNIT_EXPECT_TRUE(test, peer_until(srnic_stream_state(stream) == SRNIC_STREAM_RESET));
	KUNIT_EXPECT_LT(test, srnic_stream_send(stream, b.batch, false), 0);
	srnic_batch_free(b.batch);
	srnic_stream_free(stream);
	end_batch(test, &b);
}

/* TCP has the pages themselves, and nothing below it copies them once more */
static void pages_are_taken_as_they_are(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct srnic_stream *stream = make_stream(test, p);
	struct sock *sk = p->sock->sk;
	struct sk_buff *skb;
	struct batch b;

	make_batch(test, &b);
	srnic_batch_add(b.batch, b.page[0], 0, 100);
	KUNIT_EXPECT_EQ(test, srnic_stream_send(stream, b.batch, false), 100);
	KUNIT_EXPECT_TRUE(test, peer_until(!skb_queue_empty_lockless(&sk->sk_receive_queue)));
	lock_sock(sk);
	/* over loopback the receiver has the fragments of the sender */
	skb = skb_peek(&sk->sk_receive_queue);
	KUNIT_EXPECT_NOT_NULL(test, skb);
	if (skb) {
		KUNIT_EXPECT_EQ(test, skb_shinfo(skb)->nr_frags, 1);
		KUNIT_EXPECT_FALSE(test, skb_has_shared_frag(skb));
	}
	release_sock(sk);
	srnic_batch_free(b.batch);
	peer_reset(p);
	srnic_stream_free(stream);
	end_batch(test, &b);
}

static struct kunit_case batch_cases[] = {
	KUNIT_CASE(coalesces),
	KUNIT_CASE(taken_in_parts),
	KUNIT_CASE(freed_in_part),
	KUNIT_CASE(pages_are_taken_as_they_are),
	{}
};

static struct kunit_suite batch_suite = {
	.name = "srnic-batch",
	.test_cases = batch_cases,
};

kunit_test_suite(batch_suite);
