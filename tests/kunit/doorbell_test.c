// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* tx.c: when who posts is asked for a doorbell, and how long the tx kthread goes on alone. */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "peer.h"
#include "tx.h"

#define ALL	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_READ_SINK)
#define BIG	SZ_512K		/* does not fit into the buffers of the sockets */
#define SIGNAL	IB_SEND_SIGNALED

static bool wants_doorbell(const struct peer *p)
{
	return READ_ONCE(p->qp->sq.hdr->flags) & SRNIC_RING_NEED_WAKEUP;
}

static bool sleeps(const struct peer *p)
{
	return waitqueue_active(&p->qp->tx_wait);	/* a test looks more than once */
}

/* The tx kthread sleeps, and stays asleep */
static bool asleep(const struct peer *p)
{
	bool slept = peer_until(sleeps(p));

	msleep(50);
	return slept && sleeps(p);
}

/* TCP is full: its room is awaited, and no post */
static void none_while_tcp_is_full(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge sge;

	KUNIT_ASSERT_NOT_NULL(test, big);
	KUNIT_EXPECT_TRUE(test, peer_until(wants_doorbell(p)));
	mr = peer_region(p, p->pd, big, BIG, ALL);
	sge = peer_sge(mr, 0, BIG);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 0, 1);
	KUNIT_EXPECT_TRUE(test, asleep(p));
	KUNIT_EXPECT_FALSE(test, wants_doorbell(p));
	/* what is posted now goes out all the same */
	peer_post(p, IB_WR_SEND, 2, SIGNAL, NULL, 0, 0);
	KUNIT_EXPECT_FALSE(test, wants_doorbell(p));
	do {
		KUNIT_ASSERT_GT(test, peer_recv(p), 0);
	} while (p->hdr.ulp == ULP_WRITE);
	KUNIT_EXPECT_EQ(test, p->hdr.ulp, ULP_SEND);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, peer_until(wants_doorbell(p)));
	peer_unregister(p, mr);
	vfree(big);
}

/* A WR waits for a response: it goes first, whatever is posted behind it */
static void none_behind_a_read(struct kunit *test)
{
	static const struct {
		const char *what;
		enum ib_wr_opcode op;
		int flags;
		u8 ulp;
		u32 len;
	} rows[] = {
		{ "ORD", IB_WR_RDMA_READ, SIGNAL, ULP_READ_REQ, 28 },
		{ "fence", IB_WR_SEND, SIGNAL | IB_SEND_FENCE, ULP_SEND, 0 },
	};
	struct ddp_hdr response = HDR_READ_RESP(0, 0);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct peer *p = peer_open(test, 1, 1);

		peer_post(p, IB_WR_RDMA_READ, 1, SIGNAL, NULL, 1, 1);
		peer_expect(p, ULP_READ_REQ, 28);
		KUNIT_EXPECT_TRUE_MSG(test, peer_until(wants_doorbell(p)), "%s", rows[i].what);
		peer_post(p, rows[i].op, 2, rows[i].flags, NULL, 1, 1);
		KUNIT_EXPECT_TRUE_MSG(test, peer_until(!wants_doorbell(p)), "%s", rows[i].what);
		KUNIT_EXPECT_TRUE_MSG(test, asleep(p), "%s", rows[i].what);
		KUNIT_EXPECT_FALSE_MSG(test, wants_doorbell(p), "%s", rows[i].what);
		peer_send(p, &response, NULL, 0);
		peer_expect(p, rows[i].ulp, rows[i].len);
		KUNIT_EXPECT_TRUE_MSG(test, peer_until(wants_doorbell(p)), "%s", rows[i].what);
	}
}

#define LOCALS	2000

static struct {
	struct peer *p;
	u32 most;		/* local WRs that were done and not completed */
} seen;

static void look(struct ib_cq *ibcq, void *context)
{
	struct srnic_tx *tx = seen.p->qp->tx;

	seen.most = max(seen.most, tx->staged - tx->marked);
	srnic_cq_arm(&seen.p->scq->cq, SRNIC_ARM_NEXT, false);
}

/* Local WRs, which fill no buffer, complete after some of them, and others get the CPU */
static void local_wrs_in_batches(struct kunit *test)
{
	struct peer *p = peer_idle_deep(test, LOCALS);
	struct srnic_tpte *mr;
	static u8 octet;
	u32 i;

	mr = peer_region(p, p->pd, &octet, 1, ALL);
	seen.p = p;
	seen.most = 0;
	p->scq->cq.ibcq.comp_handler = look;
	srnic_cq_arm(&p->scq->cq, SRNIC_ARM_NEXT, false);
	for (i = 0; i < LOCALS; i++)
		KUNIT_ASSERT_EQ(test, 0, peer_post(p, IB_WR_LOCAL_INV, i, SIGNAL, NULL, 0,
						   mr->stag));
	peer_connect(p, 1, 1);
	for (i = 0; i < LOCALS; i++)
		peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_GT(test, seen.most, 0);
	KUNIT_EXPECT_LE(test, seen.most, 256);
}

static struct kunit_case doorbell_cases[] = {
	KUNIT_CASE(none_while_tcp_is_full),
	KUNIT_CASE(none_behind_a_read),
	KUNIT_CASE(local_wrs_in_batches),
	{}
};

static struct kunit_suite doorbell_suite = {
	.name = "srnic-doorbell",
	.test_cases = doorbell_cases,
};

kunit_test_suite(doorbell_suite);
