// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* tx_stage.c: pages for FPDUs exist only while there is data to send. */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include <net/sock.h>
#include "engine/stream.h"
#include "engine/tx.h"
#include "memory/mr.h"
#include "peer.h"

#define SIGNAL	IB_SEND_SIGNALED
#define BIG	SZ_1M	/* does not fit into the buffers of the sockets */

static bool has_buffer(const struct peer *p)
{
	return READ_ONCE(p->qp->tx->frag.page);
}

/* Connected, and idle for long enough that the buffer was freed */
static struct peer *without_buffer(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);

	KUNIT_ASSERT_TRUE(test, peer_until(!has_buffer(p)));
	return p;
}

static void comes_with_a_post(struct kunit *test)
{
	struct peer *p = without_buffer(test);
	u32 i;

	for (i = 0; i < 2; i++) {
		peer_post(p, IB_WR_SEND, i, SIGNAL, NULL, 0, 0);
		peer_expect(p, ULP_SEND, 0);
		peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, has_buffer(p));
		KUNIT_EXPECT_TRUE(test, peer_until(!has_buffer(p)));
	}
}

static void comes_with_a_read_request(struct kunit *test)
{
	struct peer *p = without_buffer(test);
	u8 *mem = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
	struct srnic_tpte *mr;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	mr = peer_region(p, p->pd, mem, SZ_4K, SRNIC_LOCAL_READ | SRNIC_REMOTE_READ);
	peer_read_request(p, 1, 0x77, 0, 64, mr->stag, mr->base);
	peer_expect(p, ULP_READ_RESP, 64);
	peer_unregister(p, mr);
}

static void comes_with_a_terminate(struct kunit *test)
{
	struct peer *p = without_buffer(test);
	struct ddp_hdr hdr = HDR_SEND(1);

	/* there is no receive for it */
	peer_send(p, &hdr, NULL, 0);
	peer_expect_terminate(p, "no buffer posted", 0x1202, 0xc000);
	peer_close(p);
	peer_expect_closed(p, "no buffer posted", SRNIC_QP_ERROR);
}

/* Octets that TCP has no room for are kept, however long it takes */
static void stays_while_the_peer_does_not_read(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge sge;
	u32 got = 0, i;

	KUNIT_ASSERT_NOT_NULL(test, big);
	for (i = 0; i < BIG; i++)
		big[i] = i / 7;
	mr = peer_region(p, p->pd, big, BIG, SRNIC_LOCAL_READ);
	sge = peer_sge(mr, 0, BIG);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 0, 0x2000);
	msleep(2500);
	KUNIT_EXPECT_GT(test, READ_ONCE(p->qp->tx->batch->len), 0);
	KUNIT_EXPECT_TRUE(test, has_buffer(p));
	do {
		KUNIT_ASSERT_GT(test, peer_recv(p), 0);
		KUNIT_ASSERT_LE(test, got + p->data_len, BIG);
		KUNIT_EXPECT_EQ(test, 0, memcmp(p->data, big + got, p->data_len));
		got += p->data_len;
	} while (!p->hdr.last);
	KUNIT_EXPECT_EQ(test, got, BIG);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_unregister(p, mr);
	vfree(big);
}

#define SMALL	200

/* Where TCP segments are large, small messages share a page nevertheless */
static void small_messages_share_pages(struct kunit *test)
{
	const unsigned long begin = jiffies;
	struct peer *p = peer_open(test, 1, 1);
	const struct page *page = NULL, *now;
	u32 i, pages = 0;

	KUNIT_ASSERT_GT(test, srnic_stream_emss(p->qp->stream), SZ_16K);
	for (i = 0; i < SMALL; i++) {
		peer_post(p, IB_WR_SEND, i, SIGNAL, NULL, 0, 0);
		peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
		now = READ_ONCE(p->qp->tx->frag.page);
		if (now && now != page) {
			page = now;
			pages++;
		}
	}
	/* a page is put after a second */
	KUNIT_EXPECT_LE(test, pages, 1 + (jiffies - begin) / HZ);
}

/* ... but where a fragment has room for several segments, FPDUs are as long as these (M-TCP-1) */
static void fpdus_are_as_long_as_segments(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);
	u8 *mem = vzalloc(SZ_128K);
	struct srnic_tpte *mr;
	struct ib_sge sge;
	u32 got = 0, len;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	p->qp->policy.max_fpdu = 8948;
	mr = peer_region(p, p->pd, mem, SZ_128K, SRNIC_LOCAL_READ);
	sge = peer_sge(mr, 0, SZ_128K);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 0, 0x2000);
	do {
		KUNIT_ASSERT_GT(test, peer_recv(p), 0);
		if (!got)
			len = p->data_len;
		else if (!p->hdr.last)
			KUNIT_EXPECT_EQ(test, p->data_len, len);
		got += p->data_len;
	} while (!p->hdr.last);
	KUNIT_EXPECT_GT(test, len, 8900);
	KUNIT_EXPECT_EQ(test, got, SZ_128K);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_unregister(p, mr);
	vfree(mem);
}

/*
 * On a device without scatter-gather TCP copies. In softirq it does not copy to the page fragment
 * of the task that was interrupted, maybe while that fills it
 */
static void softirq_leaves_the_task_its_fragment(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);
	u8 *mem = kunit_kzalloc(test, SZ_4K, GFP_KERNEL);
	struct sock *sk = p->qp->stream->sock->sk;
	struct srnic_tpte *mr;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	mr = peer_region(p, p->pd, mem, SZ_4K, SRNIC_LOCAL_READ | SRNIC_REMOTE_READ);
	KUNIT_ASSERT_TRUE(test, peer_until(!test_bit(SRNIC_QPF_TX_OWNED, &p->qp->flags)));
	lock_sock(sk);
	sk->sk_route_caps &= ~NETIF_F_SG;
	KUNIT_EXPECT_NULL(test, sk->sk_frag.page);
	release_sock(sk);
	peer_read_request(p, 1, 0x77, 0, 64, mr->stag, mr->base);
	peer_expect(p, ULP_READ_RESP, 64);
	KUNIT_EXPECT_NOT_NULL(test, sk->sk_frag.page);
	peer_unregister(p, mr);
}

static struct kunit_case tx_buffer_cases[] = {
	KUNIT_CASE(comes_with_a_post),
	KUNIT_CASE(comes_with_a_read_request),
	KUNIT_CASE(comes_with_a_terminate),
	KUNIT_CASE(stays_while_the_peer_does_not_read),
	KUNIT_CASE(small_messages_share_pages),
	KUNIT_CASE(fpdus_are_as_long_as_segments),
	KUNIT_CASE(softirq_leaves_the_task_its_fragment),
	{}
};

static struct kunit_suite tx_buffer_suite = {
	.name = "srnic-tx-buffer",
	.test_cases = tx_buffer_cases,
};

kunit_test_suite(tx_buffer_suite);
