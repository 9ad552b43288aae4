// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tx.c, rx.c, read.c: messages of 2^32 - 1 octets, the longest possible (WR-26).
 *
 * A region of that length need not have as much memory: its PBL repeats the same few blocks. The
 * source has a different number of blocks than the sink. So the end of the message is right in
 * the sink only if each octet came from, and went to, its own place; and the stream is still open
 * only if the middle was transferred.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include "peer.h"
#include "verbs/verbs.h"

#define LONGEST		U32_MAX
#define SHIFT		16
#define BLOCK		BIT(SHIFT)
#define BLOCKS		BIT(32 - SHIFT)
#define SOURCE_BLOCKS	3
#define SINK_BLOCKS	4
#define ALL		(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_READ | \
			 SRNIC_REMOTE_WRITE | SRNIC_READ_SINK)

/* Two QPs connected to each other, and the memory of both ends' regions */
struct large {
	struct peer *from;
	struct peer *to;
	u8 *source;
	u8 *sink;
	struct srnic_pbl *source_pbl;
	struct srnic_pbl *sink_pbl;
};

/* Called before the QPs are made, so that the memory outlives them */
static struct srnic_pbl *blocks(struct kunit *test, u32 count, u8 **mem)
{
	struct srnic_pbl *pbl = kunit_kzalloc(test, struct_size(pbl, addr, BLOCKS), GFP_KERNEL);
	u32 i;

	*mem = kunit_kzalloc(test, count * BLOCK, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, *mem);
	KUNIT_ASSERT_NOT_NULL(test, pbl);
	pbl->shift = SHIFT;
	pbl->count = BLOCKS;
	pbl->max = BLOCKS;
	for (i = 0; i < BLOCKS; i++)
		pbl->addr[i] = (uintptr_t)*mem + (i % count) * BLOCK;
	return pbl;
}

static struct srnic_tpte *region(struct peer *p, struct srnic_pbl *pbl)
{
	struct srnic_tpte *tpte = peer_region(p, p->pd, NULL, LONGEST, ALL);

	tpte->pbl = pbl;
	return tpte;
}

/* Without CRC, which takes most of the time here; with the sockets' default buffers */
static void connect(struct large *l)
{
	struct socket *sock;

	peer_sockets(l->from, &sock);
	sock->sk->sk_sndbuf = SZ_4M;
	l->from->sock->sk->sk_rcvbuf = SZ_4M;
	l->from->sock->sk->sk_sndbuf = SZ_4M;
	l->from->no_crc = true;
	l->to->no_crc = true;
	peer_attach(l->from, sock, 1, 1);
	peer_attach(l->to, l->from->sock, 1, 1);
	l->from->sock = NULL;
}

static struct large *large(struct kunit *test)
{
	struct large *l = kunit_kzalloc(test, sizeof(*l), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, l);
	l->source_pbl = blocks(test, SOURCE_BLOCKS, &l->source);
	l->sink_pbl = blocks(test, SINK_BLOCKS, &l->sink);
	for (i = 0; i < SOURCE_BLOCKS * BLOCK; i += 4)
		put_unaligned_le32(i * 2654435761U, l->source + i);
	l->from = peer_idle(test);
	l->to = peer_idle(test);
	connect(l);
	return l;
}

static struct ib_wc wait_long(struct peer *p, struct fake_cq *fake, u64 wr_id)
{
	struct ib_wc wc = { };
	u32 tries;

	for (tries = 0; tries < 12000; tries++) {
		if (srnic_verbs_ops.poll_cq(&fake->cq.ibcq, 1, &wc))
			break;
		msleep(20);
	}
	KUNIT_ASSERT_EQ_MSG(p->test, wc.wr_id, wr_id, "no completion");
	KUNIT_EXPECT_EQ(p->test, wc.vendor_err, SRNIC_WC_SUCCESS);
	return wc;
}

static void check_end(struct kunit *test, const struct large *l)
{
	u64 off = LONGEST - SINK_BLOCKS * BLOCK;
	u32 wrong = 0;

	for (; off < LONGEST; off++)
		wrong += l->sink[off % (SINK_BLOCKS * BLOCK)] !=
			 l->source[off % (SOURCE_BLOCKS * BLOCK)];
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* A further message arrives: both ends agree on the place in the stream */
static void one_more(struct large *l)
{
	peer_post_recv(l->to, 8, NULL);
	KUNIT_EXPECT_EQ(l->to->test, 0, peer_post(l->from, IB_WR_SEND, 7, IB_SEND_SIGNALED,
						  NULL, 0, 0));
	wait_long(l->from, l->from->scq, 7);
	wait_long(l->to, l->to->rcq, 8);
}

static void longest_send(struct kunit *test)
{
	struct large *l = large(test);
	struct ib_sge sge = peer_sge(region(l->from, l->source_pbl), 0, LONGEST);
	struct ib_sge sink = peer_sge(region(l->to, l->sink_pbl), 0, LONGEST);

	peer_post_recv(l->to, 2, &sink);
	KUNIT_ASSERT_EQ(test, 0, peer_post(l->from, IB_WR_SEND, 1, IB_SEND_SIGNALED, &sge, 0, 0));
	wait_long(l->from, l->from->scq, 1);
	KUNIT_EXPECT_EQ(test, wait_long(l->to, l->to->rcq, 2).byte_len, LONGEST);
	one_more(l);
	check_end(test, l);
}

/* The response is a tagged message, as a Write is */
static void longest_read(struct kunit *test)
{
	struct large *l = large(test);
	struct srnic_tpte *source = region(l->to, l->source_pbl);
	struct ib_sge sge = peer_sge(region(l->from, l->sink_pbl), 0, LONGEST);

	KUNIT_ASSERT_EQ(test, 0, peer_post(l->from, IB_WR_RDMA_READ, 1, IB_SEND_SIGNALED, &sge,
					   0, source->stag));
	KUNIT_EXPECT_EQ(test, wait_long(l->from, l->from->scq, 1).byte_len, LONGEST);
	one_more(l);
	check_end(test, l);
}

static struct kunit_case large_cases[] = {
	KUNIT_CASE(longest_send),
	KUNIT_CASE(longest_read),
	{}
};

static struct kunit_suite large_suite = {
	.name = "srnic-large",
	.test_cases = large_cases,
};

kunit_test_suite(large_suite);
