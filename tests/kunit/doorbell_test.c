// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tx.c: when the device asks for a doorbell, when the owner of tx hands over to the tx kthread,
 * and how long that goes on without doorbells.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "engine/rx.h"
#include "engine/stream.h"
#include "engine/tx.h"
#include "peer.h"
#include "queue/cq.h"
#include "queue/wq.h"

#define ALL	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_READ_SINK)
#define BIG	SZ_512K		/* does not fit into the buffers of the sockets */
#define SIGNAL	IB_SEND_SIGNALED

static bool wants_doorbell(const struct peer *p)
{
	return READ_ONCE(p->qp->sq.hdr->flags) & SRNIC_RING_NEED_WAKEUP;
}

static bool sleeps(const struct peer *p)
{
	return waitqueue_active(&p->qp->tx_wait);	/* tests poll it */
}

/* The tx kthread sleeps, and stays asleep */
static bool asleep(const struct peer *p)
{
	bool slept = peer_until(sleeps(p));

	msleep(50);
	return slept && sleeps(p);
}

/* TCP's send buffer is full: the tx kthread waits for room, and needs no doorbell */
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
	/* a WR posted now is sent without one */
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

/* A WR waits for a response: it goes first, so later posts need no doorbell */
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
	u32 most;		/* local WRs done but not completed */
} seen;

static void look(struct ib_cq *ibcq, void *context)
{
	struct srnic_tx *tx = seen.p->qp->tx;

	seen.most = max(seen.most, tx->staged - tx->marked);
	srnic_cq_arm(&seen.p->scq->cq, SRNIC_ARM_NEXT, false);
}

/* Local WRs fill no buffer: they complete in batches, and between them the CPU is yielded */
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

/* ----- a program's doorbell: it posts to the ring, and runs tx if tx has no owner ----- */

/* Connected; the kthread sleeps, and all that a message needs is allocated */
static struct peer *program(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);

	KUNIT_ASSERT_TRUE(test, peer_until(wants_doorbell(p)));
	KUNIT_ASSERT_TRUE(test, asleep(p));
	p->qp->kernel = false;
	return p;
}

/* As the provider posts: without a notification of the kernel */
static void ring_post(struct peer *p, u64 wr_id, struct ib_sge *sge)
{
	struct srnic_ring_hdr *hdr = p->qp->sq.hdr;
	struct srnic_sqe *sqe = srnic_ring_slot(&p->qp->sq, hdr->producer);

	*sqe = (struct srnic_sqe){
		.wr_id = wr_id, .opcode = SRNIC_OP_SEND, .flags = SRNIC_SQE_SIGNALED,
		.num_sge = !!sge,
	};
	if (sge)
		*(struct srnic_sge *)(sqe + 1) = (struct srnic_sge){
			.addr = sge->addr, .length = sge->length, .lkey = sge->lkey,
		};
	/* the SQE before the index, as a provider does it */
	smp_store_release(&hdr->producer, hdr->producer + 1);
}

static bool owned(const struct peer *p)
{
	return test_bit(SRNIC_QPF_TX_OWNED, &p->qp->flags);
}

static bool kicked(const struct peer *p)
{
	return test_bit(SRNIC_QPF_TX_KICK, &p->qp->flags);
}

/* The Send is sent, and complete, when the doorbell returns */
static void doorbell_sends(struct kunit *test)
{
	struct peer *p = program(test);
	struct srnic_cqe cqe = { };
	u32 i;

	for (i = 0; i < 3; i++) {
		ring_post(p, i, NULL);
		srnic_tx_doorbell(p->qp);
		KUNIT_EXPECT_EQ(test, srnic_cq_poll(&p->scq->cq, &cqe), 1);
		KUNIT_EXPECT_EQ(test, cqe.wr_id, i);
		KUNIT_EXPECT_TRUE(test, sleeps(p) && !kicked(p));
		KUNIT_EXPECT_FALSE(test, owned(p));
		KUNIT_EXPECT_TRUE(test, wants_doorbell(p));
		peer_expect(p, ULP_SEND, 0);
	}
	p->qp->kernel = true;
}

/* More than a doorbell's budget: the kthread sends the rest */
static void doorbell_hands_over(struct kunit *test)
{
	struct peer *p = program(test);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge sge;

	KUNIT_ASSERT_NOT_NULL(test, big);
	mr = peer_region(p, p->pd, big, BIG, ALL);
	sge = peer_sge(mr, 0, BIG);
	ring_post(p, 1, &sge);
	ring_post(p, 2, NULL);
	srnic_tx_doorbell(p->qp);
	KUNIT_EXPECT_LE(test, srnic_counter(p->dev, SRNIC_CNT_TX_BYTES), SZ_128K + SZ_64K);
	KUNIT_EXPECT_EQ(test, peer_message(p), BIG);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, peer_until(wants_doorbell(p)));
	p->qp->kernel = true;
	peer_unregister(p, mr);
	vfree(big);
}

/* A task that keeps the socket locked, so that the test can go on using the peer's socket */
struct keeper {
	struct srnic_stream *stream;
	struct completion locked;
	struct completion enough;
	struct completion done;
};

static int keep_locked(void *arg)
{
	struct keeper *keeper = arg;

	srnic_stream_lock(keeper->stream);
	complete(&keeper->locked);
	wait_for_completion(&keeper->enough);
	srnic_stream_unlock(keeper->stream);
	complete(&keeper->done);
	return 0;
}

static void lock_socket(struct kunit *test, struct peer *p, struct keeper *keeper)
{
	keeper->stream = p->qp->stream;
	init_completion(&keeper->locked);
	init_completion(&keeper->enough);
	init_completion(&keeper->done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(keep_locked, keeper, "keeper")));
	wait_for_completion(&keeper->locked);
}

static void unlock_socket(struct keeper *keeper)
{
	complete(&keeper->enough);
	wait_for_completion(&keeper->done);
}

/* A doorbell from another task */
struct ringing {
	struct srnic_qp *qp;
	struct completion done;
};

static int ring(void *arg)
{
	struct ringing *ringing = arg;

	srnic_tx_doorbell(ringing->qp);
	complete(&ringing->done);
	return 0;
}

/* Start one that owns tx for as long as the socket stays locked */
static void ring_blocked(struct kunit *test, struct peer *p, struct ringing *ringing)
{
	ringing->qp = p->qp;
	init_completion(&ringing->done);
	KUNIT_ASSERT_FALSE(test, IS_ERR(kthread_run(ring, ringing, "ringing")));
	KUNIT_ASSERT_TRUE(test, peer_until(owned(p)));
	msleep(50);
	KUNIT_EXPECT_TRUE(test, owned(p));
	KUNIT_EXPECT_FALSE(test, completion_done(&ringing->done));
}

/* The owner of tx checks for a kick when it releases tx: the kthread could not start meanwhile */
static void kicked_while_a_doorbell_owns(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		struct peer *p = program(test);
		struct ringing ringing;
		struct keeper keeper;

		lock_socket(test, p, &keeper);
		ring_post(p, 1, NULL);
		ring_blocked(test, p, &ringing);
		/*
		 * by a second doorbell, which does not wait for the first; or by the socket's
		 * callback
		 */
		ring_post(p, 2, NULL);
		if (i)
			srnic_qp_kick_tx(p->qp);
		else
			srnic_tx_doorbell(p->qp);
		KUNIT_EXPECT_FALSE(test, completion_done(&ringing.done));
		KUNIT_EXPECT_TRUE(test, asleep(p));
		KUNIT_EXPECT_TRUE(test, kicked(p));
		unlock_socket(&keeper);
		peer_expect(p, ULP_SEND, 0);
		peer_expect(p, ULP_SEND, 0);
		wait_for_completion(&ringing.done);
		peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
		peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, peer_until(!kicked(p) && !owned(p)));
		p->qp->kernel = true;
	}
}

/* A small Read is answered in softirq; a larger one by the kthread */
static void small_read_needs_no_kthread(struct kunit *test)
{
	struct peer *p = program(test);
	u8 *mem = kunit_kzalloc(test, SZ_16K, GFP_KERNEL);
	struct srnic_tpte *mr;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	mr = peer_region(p, p->pd, mem, SZ_16K, SRNIC_REMOTE_READ);
	for (i = 0; i < 3; i++) {
		u32 size = i < 2 ? SZ_8K : SZ_8K + 1;
		u32 got = 0;

		mem[0] = i;
		peer_read_request(p, 1 + i, 5, 0, size, mr->stag, mr->base);
		do {
			KUNIT_ASSERT_GT(test, peer_recv(p), 0);
			KUNIT_EXPECT_EQ(test, p->hdr.ulp, ULP_READ_RESP);
			if (!got)
				KUNIT_EXPECT_EQ(test, p->data[0], i);
			got += p->data_len;
		} while (!p->hdr.last);
		KUNIT_EXPECT_EQ(test, got, size);
		/* the first Read has allocated pages, so the kthread is awake to free them */
		if (i == 1)
			KUNIT_EXPECT_TRUE(test, sleeps(p) && !kicked(p) && !owned(p));
		KUNIT_EXPECT_TRUE(test, asleep(p));
		KUNIT_EXPECT_TRUE(test, wants_doorbell(p));
	}
	p->qp->kernel = true;
	peer_unregister(p, mr);
}

/* In SQD posted WRs wait, also while the peer Reads, however much */
static void sqd_holds_what_is_posted(struct kunit *test)
{
	static const u32 size[] = { 0, SZ_4K, SZ_128K + 1 };
	struct peer *p = program(test);
	u8 *mem = vzalloc(SZ_256K);
	struct srnic_tpte *mr;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	mr = peer_region(p, p->pd, mem, SZ_256K, SRNIC_REMOTE_READ);
	WRITE_ONCE(p->qp->ib.sqd, true);
	ring_post(p, 1, NULL);
	srnic_tx_doorbell(p->qp);
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		u32 got = 0;

		peer_read_request(p, 1 + i, 5, 0, size[i], mr->stag, mr->base);
		do {
			KUNIT_ASSERT_GT(test, peer_recv(p), 0);
			KUNIT_ASSERT_EQ_MSG(test, p->hdr.ulp, ULP_READ_RESP, "%u bytes", size[i]);
			got += p->data_len;
		} while (!p->hdr.last);
		KUNIT_EXPECT_EQ(test, got, size[i]);
		peer_expect_nothing(p);
	}
	peer_no_wc(p, p->scq);
	WRITE_ONCE(p->qp->ib.sqd, false);
	srnic_qp_kick_tx(p->qp);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	p->qp->kernel = true;
	peer_unregister(p, mr);
	vfree(mem);
}

/* A Read Request that comes while a doorbell owns tx is answered by the kthread */
static void asked_while_a_doorbell_owns(struct kunit *test)
{
	struct peer *p = program(test);
	struct ringing ringing;
	struct keeper keeper;

	lock_socket(test, p, &keeper);
	ring_post(p, 1, NULL);
	ring_blocked(test, p, &ringing);
	peer_read_request(p, 1, 5, 6, 0, 7, 8);
	unlock_socket(&keeper);
	peer_expect(p, ULP_SEND, 0);
	peer_expect(p, ULP_READ_RESP, 0);
	wait_for_completion(&ringing.done);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, peer_until(!kicked(p) && !owned(p)));
	p->qp->kernel = true;
}

/*
 * So is one that comes while a task has the socket locked: the task then processes it from the
 * backlog, and TCP may process more of that while it sends
 */
static void asked_while_a_task_has_the_socket(struct kunit *test)
{
	struct peer *p = program(test);
	struct keeper keeper;

	lock_socket(test, p, &keeper);
	peer_read_request(p, 1, 5, 6, 0, 7, 8);
	unlock_socket(&keeper);
	peer_expect(p, ULP_READ_RESP, 0);
	KUNIT_EXPECT_TRUE(test, peer_until(!kicked(p) && !owned(p)));
	p->qp->kernel = true;
}

/* A doorbell while the kthread owns tx returns at once, and its WR is sent */
static void rung_while_the_kthread_owns(struct kunit *test)
{
	struct peer *p = program(test);
	struct keeper keeper;

	lock_socket(test, p, &keeper);
	ring_post(p, 1, NULL);
	srnic_qp_kick_tx(p->qp);
	KUNIT_ASSERT_TRUE(test, peer_until(owned(p)));
	msleep(50);
	KUNIT_EXPECT_TRUE(test, owned(p) && !sleeps(p));
	KUNIT_EXPECT_FALSE(test, wants_doorbell(p));
	ring_post(p, 2, NULL);
	srnic_tx_doorbell(p->qp);
	KUNIT_EXPECT_TRUE(test, kicked(p));
	unlock_socket(&keeper);
	peer_expect(p, ULP_SEND, 0);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, peer_until(sleeps(p) && !owned(p) && wants_doorbell(p)));
	p->qp->kernel = true;
}

#define RUN	16		/* doorbells that start a burst */

/* What starts a burst, and what does not */
static void a_run_of_small_messages(struct kunit *test)
{
	struct peer *p = program(test);
	struct srnic_qp *qp = p->qp;
	u32 i;

	KUNIT_ASSERT_FALSE(test, test_and_set_bit_lock(SRNIC_QPF_TX_OWNED, &qp->flags));
	for (i = 1; i < RUN; i++)
		KUNIT_EXPECT_FALSE(test, srnic_tx_burst_begins(qp, 84));
	/* a large WR, one that sends nothing, and an FPDU from the peer each restart the count */
	KUNIT_EXPECT_FALSE(test, srnic_tx_burst_begins(qp, SZ_4K));
	for (i = 1; i < RUN; i++)
		KUNIT_EXPECT_FALSE(test, srnic_tx_burst_begins(qp, 84));
	KUNIT_EXPECT_FALSE(test, srnic_tx_burst_begins(qp, 0));
	for (i = 1; i < RUN; i++)
		KUNIT_EXPECT_FALSE(test, srnic_tx_burst_begins(qp, 84));
	qp->rx->heard++;
	for (i = 0; i < RUN; i++)
		KUNIT_EXPECT_FALSE(test, srnic_tx_burst_begins(qp, 84));
	KUNIT_EXPECT_TRUE(test, srnic_tx_burst_begins(qp, 84));
	/* too slow */
	qp->tx->burst.on = false;
	for (i = 1; i < RUN; i++)
		KUNIT_EXPECT_FALSE(test, srnic_tx_burst_begins(qp, 84));
	qp->tx->burst.since -= NSEC_PER_SEC;
	KUNIT_EXPECT_FALSE(test, srnic_tx_burst_begins(qp, 84));
	KUNIT_EXPECT_FALSE(test, qp->tx->burst.on);
	clear_bit_unlock(SRNIC_QPF_TX_OWNED, &qp->flags);
	qp->kernel = true;
}

/* In a burst the kthread polls the SQ; it stops when no more WRs gather */
static void burst_needs_no_doorbell(struct kunit *test)
{
	struct peer *p = program(test);
	struct srnic_qp *qp = p->qp;
	u32 i, seen = 0;

	KUNIT_ASSERT_FALSE(test, test_and_set_bit_lock(SRNIC_QPF_TX_OWNED, &qp->flags));
	srnic_sq_set_wakeup(qp, false);
	for (i = 0; i < 2 * RUN && !srnic_tx_burst_begins(qp, 84); i++)
		;
	KUNIT_EXPECT_TRUE(test, qp->tx->burst.on);
	clear_bit_unlock(SRNIC_QPF_TX_OWNED, &qp->flags);
	srnic_qp_kick_tx(qp);
	ring_post(p, 1, NULL);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, peer_until(wants_doorbell(p) && !owned(p)));
	KUNIT_EXPECT_FALSE(test, qp->tx->burst.on);
	KUNIT_EXPECT_TRUE(test, asleep(p));
	/* after this poor burst the next one needs a longer run of doorbells, up to a bound */
	for (i = 0; i < 3; i++) {
		u32 run = 2 * RUN << min(i, 1U);

		KUNIT_ASSERT_FALSE(test, test_and_set_bit_lock(SRNIC_QPF_TX_OWNED, &qp->flags));
		for (seen = 1; seen < 8 * RUN && !srnic_tx_burst_begins(qp, 84); seen++)
			;
		KUNIT_EXPECT_EQ(test, seen, run);
		while (srnic_tx_nap(qp))
			;
		clear_bit_unlock(SRNIC_QPF_TX_OWNED, &qp->flags);
	}
	qp->kernel = true;
}

/* As if the thread had just sent much on another QP, and this one had before */
static void busy_thread(struct peer *p)
{
	struct srnic_help *help = &p->scq->cq.help;

	p->qp->tx->much = true;
	help->qpn = p->qp->ibqp.qp_num + 1;
	help->soon = U64_MAX;
	help->alone = 0;
}

static int helpers(const struct peer *p)
{
	return atomic_read(&p->scq->cq.help.kthreads);
}

/* Own tx, as a doorbell does, when the kthread is asleep */
static void own_tx(struct kunit *test, struct peer *p)
{
	KUNIT_ASSERT_TRUE(test, peer_until(!test_and_set_bit_lock(SRNIC_QPF_TX_OWNED,
								  &p->qp->flags)));
}

static void disown_tx(struct peer *p)
{
	clear_bit_unlock(SRNIC_QPF_TX_OWNED, &p->qp->flags);
}

/* When the kthread helps a thread that sends much on several QPs, and when not */
static void help_for_a_busy_thread(struct kunit *test)
{
	struct peer *p = program(test);
	const int cpus = num_online_cpus();
	struct srnic_help *help = &p->scq->cq.help;
	struct srnic_qp *qp = p->qp;

	own_tx(test, p);
	KUNIT_EXPECT_FALSE_MSG(test, srnic_tx_help_begins(qp), "nothing was sent");
	busy_thread(p);
	srnic_tx_has_rung(qp, SZ_64K);
	KUNIT_EXPECT_FALSE_MSG(test, srnic_tx_help_begins(qp), "one QP alone");
	KUNIT_EXPECT_EQ(test, help->qpn, qp->ibqp.qp_num);
	KUNIT_EXPECT_GT(test, help->soon + NSEC_PER_SEC, ktime_get_ns());
	KUNIT_EXPECT_LT(test, help->soon, ktime_get_ns() + NSEC_PER_MSEC);
	busy_thread(p);
	srnic_tx_has_rung(qp, SZ_4K);
	KUNIT_EXPECT_FALSE_MSG(test, srnic_tx_help_begins(qp), "small messages");
	KUNIT_EXPECT_NE_MSG(test, help->qpn, qp->ibqp.qp_num, "nor do they ask for others' help");
	busy_thread(p);
	help->soon = ktime_get_ns() - 1;
	KUNIT_EXPECT_FALSE_MSG(test, srnic_tx_help_begins(qp), "time between doorbells");
	busy_thread(p);
	help->alone = U64_MAX;
	KUNIT_EXPECT_FALSE_MSG(test, srnic_tx_help_begins(qp), "no CPU was idle");
	busy_thread(p);
	atomic_set(&help->kthreads, cpus - 1);
	KUNIT_EXPECT_FALSE_MSG(test, srnic_tx_help_begins(qp), "no CPU is left");
	KUNIT_EXPECT_EQ(test, helpers(p), cpus - 1);
	atomic_set(&help->kthreads, 0);
	KUNIT_EXPECT_EQ(test, srnic_tx_help_begins(qp), cpus > 1);
	KUNIT_EXPECT_EQ(test, helpers(p), cpus > 1);
	KUNIT_EXPECT_FALSE_MSG(test, cpus > 1 && srnic_tx_help_begins(qp), "has help");
	srnic_tx_help_ends(qp);
	KUNIT_EXPECT_EQ(test, helpers(p), 0);
	disown_tx(p);
	qp->kernel = true;
}

/* As if the kthread had been asked to help */
static void asked_to_help(struct peer *p)
{
	busy_thread(p);
	p->qp->tx->helped = true;
	atomic_inc(&p->scq->cq.help.kthreads);
}

/* What the kthread has sent tells whether the QP's messages are large */
static void help_ends_with_large_messages(struct kunit *test)
{
	static const u32 sent[] = { SZ_64K, SZ_1K };
	struct peer *p = program(test);
	struct srnic_tx *tx = p->qp->tx;
	u32 i;

	own_tx(test, p);
	for (i = 0; i < ARRAY_SIZE(sent); i++) {
		asked_to_help(p);
		tx->help_from = srnic_stream_taken(p->qp->stream) - sent[i];
		srnic_tx_help_ends(p->qp);
		KUNIT_EXPECT_EQ_MSG(test, tx->much, sent[i] == SZ_64K, "%u", sent[i]);
		KUNIT_EXPECT_EQ(test, helpers(p), 0);
	}
	disown_tx(p);
	p->qp->kernel = true;
}

/* Where no CPU is idle the kthread is late, and the thread goes on alone for a while */
static void late_help_is_not_asked_again(struct kunit *test)
{
	struct peer *p = program(test);
	struct srnic_help *help = &p->scq->cq.help;
	struct srnic_tx *tx = p->qp->tx;
	u64 now;

	own_tx(test, p);
	asked_to_help(p);
	now = ktime_get_ns();
	tx->help_asked = now - NSEC_PER_MSEC;
	srnic_tx_help_runs(p->qp);
	KUNIT_EXPECT_GE(test, help->alone, now + 8 * NSEC_PER_MSEC);
	KUNIT_EXPECT_LT(test, help->alone, now + 9 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, tx->help_asked, 0);
	help->alone = 0;
	srnic_tx_help_runs(p->qp);
	KUNIT_EXPECT_EQ_MSG(test, help->alone, 0, "only its first turn tells");
	srnic_tx_help_ends(p->qp);
	disown_tx(p);
	p->qp->kernel = true;
}

/* A real-time thread may have the kthread's CPU, so it sends by itself */
static void no_help_for_real_time(struct kunit *test)
{
	struct peer *p = program(test);

	own_tx(test, p);
	busy_thread(p);
	sched_set_fifo_low(current);
	KUNIT_EXPECT_FALSE(test, srnic_tx_help_begins(p->qp));
	sched_set_normal(current, 0);
	KUNIT_EXPECT_EQ(test, srnic_tx_help_begins(p->qp), num_online_cpus() > 1);
	srnic_tx_help_ends(p->qp);
	disown_tx(p);
	p->qp->kernel = true;
}

/* The kthread sends what is posted without a doorbell, until nothing is left */
static void help_sends_without_doorbells(struct kunit *test)
{
	struct peer *p = program(test);
	u32 i;

	if (num_online_cpus() == 1)
		goto end;
	for (i = 0; i < 3; i++) {
		busy_thread(p);
		ring_post(p, 1, NULL);
		srnic_tx_doorbell(p->qp);
		peer_expect(p, ULP_SEND, 0);
		peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, peer_until(sleeps(p) && !owned(p) && wants_doorbell(p)));
		KUNIT_EXPECT_EQ(test, helpers(p), 0);
		KUNIT_EXPECT_FALSE_MSG(test, p->qp->tx->much, "it was small");
	}
	/* the stream ends before the kthread has begun */
	busy_thread(p);
	own_tx(test, p);
	KUNIT_EXPECT_TRUE(test, srnic_tx_help_begins(p->qp));
	disown_tx(p);
	srnic_qp_leave(p->qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_LOST);
	peer_expect_closed(p, "the end", SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, helpers(p), 0);
end:
	p->qp->kernel = true;
}

/* ----- a kernel consumer, whose completions the RDMA core handles ----- */

static struct {
	struct fake_cq *cq;
	struct task_struct *by;		/* the task that completed something last */
} done;

static void completed(struct ib_cq *ibcq, void *context)
{
	done.by = current;
	srnic_cq_arm(&done.cq->cq, SRNIC_ARM_NEXT, false);
}

static struct peer *consumer(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);
	struct ib_cq *ibcq = &p->scq->cq.ibcq;

	KUNIT_ASSERT_TRUE(test, peer_until(wants_doorbell(p)));
	KUNIT_ASSERT_TRUE(test, asleep(p));
	ibcq->wc = kunit_kzalloc(test, sizeof(*ibcq->wc), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ibcq->wc);
	done.cq = p->scq;
	done.by = NULL;
	ibcq->comp_handler = completed;
	srnic_cq_arm(&p->scq->cq, SRNIC_ARM_NEXT, false);
	return p;
}

/* A task that has slept, and that no other one waits for, is about to post */
static void rested(struct peer *p)
{
	p->qp->tx->poster.task = NULL;
	cond_resched();
}

/* What a kernel consumer posts is sent, and complete, when the post returns */
static void consumer_posts_at_once(struct kunit *test)
{
	struct peer *p = consumer(test);
	struct srnic_tpte *mr;
	struct ib_sge sge;
	static u8 mem[64];
	u32 i;

	mr = peer_region(p, p->pd, mem, sizeof(mem), ALL);
	sge = peer_sge(mr, 0, sizeof(mem));
	for (i = 0; i < 3; i++) {
		done.by = NULL;
		rested(p);
		local_bh_disable();	/* as from a softirq */
		peer_post(p, IB_WR_SEND, i, SIGNAL, i ? &sge : NULL, 0, 0);
		KUNIT_EXPECT_PTR_EQ(test, done.by, current);
		local_bh_enable();
		peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
		peer_expect(p, ULP_SEND, i ? sizeof(mem) : 0);
		KUNIT_EXPECT_TRUE(test, sleeps(p) && !kicked(p) && !owned(p));
		KUNIT_EXPECT_TRUE(test, wants_doorbell(p));
	}
	done.by = NULL;
	rested(p);
	peer_post(p, IB_WR_LOCAL_INV, i, SIGNAL, NULL, 0, mr->stag);
	KUNIT_EXPECT_PTR_EQ(test, done.by, current);
	peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
	peer_unregister(p, mr);
}

/* The kthread sends what may not be sent at once, or is large, and waits for what has to be */
static void consumer_leaves_the_rest(struct kunit *test)
{
	struct peer *p = consumer(test);
	struct ib_wc *wc = p->scq->cq.ibcq.wc;
	u8 *big = vzalloc(BIG);
	struct srnic_span span;
	struct srnic_tpte *mr;
	struct keeper keeper;
	unsigned long flags;
	struct ib_sge sge;

	KUNIT_ASSERT_NOT_NULL(test, big);
	mr = peer_region(p, p->pd, big, BIG, ALL);
	sge = peer_sge(mr, 0, SZ_64K);

	local_irq_save(flags);
	peer_post(p, IB_WR_SEND, 1, SIGNAL, NULL, 0, 0);
	local_irq_restore(flags);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_PTR_NE_MSG(test, done.by, current, "interrupts are off");

	p->scq->cq.ibcq.wc = NULL;
	KUNIT_ASSERT_TRUE(test, asleep(p));
	rested(p);
	peer_post(p, IB_WR_SEND, 2, SIGNAL, NULL, 0, 0);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_PTR_NE_MSG(test, done.by, current, "the handler is the consumer's own");
	p->scq->cq.ibcq.wc = wc;

	KUNIT_ASSERT_TRUE(test, asleep(p));
	lock_socket(test, p, &keeper);
	peer_post(p, IB_WR_SEND, 3, SIGNAL, NULL, 0, 0);
	KUNIT_EXPECT_TRUE(test, peer_until(owned(p)));
	unlock_socket(&keeper);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 3, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_PTR_NE_MSG(test, done.by, current, "a task has the socket");

	KUNIT_ASSERT_TRUE(test, asleep(p));
	rested(p);
	peer_post(p, IB_WR_RDMA_WRITE, 4, SIGNAL, &sge, 0, 1);
	KUNIT_EXPECT_EQ(test, peer_message(p), SZ_64K);
	peer_wc(p, p->scq, 4, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_PTR_NE_MSG(test, done.by, current, "a large message");

	KUNIT_ASSERT_TRUE(test, asleep(p));
	peer_access(p, mr, &span);
	rested(p);
	peer_post(p, IB_WR_LOCAL_INV, 5, SIGNAL, NULL, 0, mr->stag);
	peer_no_wc(p, p->scq);
	srnic_tpt_put(&span);
	peer_wc(p, p->scq, 5, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_PTR_NE_MSG(test, done.by, current, "an access is in progress");
	peer_unregister(p, mr);
	vfree(big);
}

/*
 * A task that posts again without having slept has more to do: the kthread sends for it. If each of
 * its requests is the only one the answer may have come before it slept, but not many times.
 */
static void consumer_is_busy(struct kunit *test)
{
	static const struct {
		const char *what;
		bool slept;
		u32 under_way;		/* requests, before this post; -1: the peer's */
		u32 awake;		/* posts before this one */
		bool at_once;
	} rows[] = {
		{ "slept", .slept = true, .under_way = 3, .awake = 99, .at_once = true },
		{ "one of several requests", .under_way = 1 },
		{ "the only request", .at_once = true },
		{ "the only request, often", .awake = SRNIC_POSTER_AWAKE - 1, .at_once = true },
		{ "the only request, too often", .awake = SRNIC_POSTER_AWAKE },
		{ "the only answer", .under_way = -1, .at_once = true },
		{ "one of several answers", .under_way = -2 },
	};
	struct peer *p = consumer(test);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 *heard = &p->qp->rx->msn[DDP_QN_SEND];
		struct srnic_tx *tx = p->qp->tx;

		rested(p);
		tx->poster = (struct srnic_poster){
			.task = current, .slept = current->nvcsw - rows[i].slept,
			.awake = rows[i].awake,
		};
		WRITE_ONCE(*heard, tx->msn[DDP_QN_SEND] - rows[i].under_way);
		done.by = NULL;
		peer_post(p, IB_WR_SEND, i, SIGNAL, NULL, 0, 0);
		peer_expect(p, ULP_SEND, 0);
		peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_EQ_MSG(test, done.by == current, rows[i].at_once, "%s", rows[i].what);
		KUNIT_ASSERT_TRUE(test, peer_until(wants_doorbell(p)));
		KUNIT_ASSERT_TRUE(test, asleep(p));
	}
}

/* Requests of the peer that wait for the kthread are not overtaken by posts for ever */
static void consumer_takes_turns(struct kunit *test)
{
	struct peer *p = consumer(test);

	own_tx(test, p);
	peer_read_request(p, 1, 5, 6, 0, 7, 8);
	KUNIT_EXPECT_TRUE(test, peer_until(kicked(p)));
	disown_tx(p);
	peer_post(p, IB_WR_SEND, 1, SIGNAL, NULL, 0, 0);
	KUNIT_EXPECT_PTR_NE(test, done.by, current);
	peer_expect(p, ULP_SEND, 0);
	peer_expect(p, ULP_READ_RESP, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
}

/* With the policy inline_work off, doorbells and softirq only wake the kthreads */
static void kthreads_do_it_all(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct keeper keeper;

	p->qp->kernel = false;
	p->by_threads = true;
	peer_connect(p, 1, 1);
	KUNIT_ASSERT_TRUE(test, peer_until(wants_doorbell(p)));
	KUNIT_ASSERT_TRUE(test, asleep(p));
	lock_socket(test, p, &keeper);
	ring_post(p, 1, NULL);
	srnic_tx_doorbell(p->qp);	/* returns without waiting for the socket */
	KUNIT_EXPECT_TRUE(test, peer_until(owned(p)));
	unlock_socket(&keeper);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	p->qp->kernel = true;
}

/* Without a stream, before it begins and after it has ended, no context runs tx */
static void rung_without_a_stream(struct kunit *test)
{
	struct peer *p = peer_idle(test);

	p->qp->kernel = false;
	ring_post(p, 1, NULL);
	srnic_tx_doorbell(p->qp);
	peer_no_wc(p, p->scq);
	peer_connect(p, 1, 1);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_reset(p);
	peer_expect_closed(p, "reset", SRNIC_QP_ERROR);
	KUNIT_EXPECT_TRUE(test, owned(p));
	KUNIT_EXPECT_NULL(test, p->qp->tx);
	ring_post(p, 2, NULL);
	srnic_tx_doorbell(p->qp);
	peer_no_wc(p, p->scq);
	srnic_qp_doorbell(p->qp);
	peer_flushes(p, p->scq, 2, 1);
	p->qp->kernel = true;
}

static struct kunit_case doorbell_cases[] = {
	KUNIT_CASE(none_while_tcp_is_full),
	KUNIT_CASE(none_behind_a_read),
	KUNIT_CASE(local_wrs_in_batches),
	KUNIT_CASE(doorbell_sends),
	KUNIT_CASE(doorbell_hands_over),
	KUNIT_CASE(kicked_while_a_doorbell_owns),
	KUNIT_CASE(small_read_needs_no_kthread),
	KUNIT_CASE(sqd_holds_what_is_posted),
	KUNIT_CASE(asked_while_a_doorbell_owns),
	KUNIT_CASE(asked_while_a_task_has_the_socket),
	KUNIT_CASE(rung_while_the_kthread_owns),
	KUNIT_CASE(a_run_of_small_messages),
	KUNIT_CASE(burst_needs_no_doorbell),
	KUNIT_CASE(help_for_a_busy_thread),
	KUNIT_CASE(help_ends_with_large_messages),
	KUNIT_CASE(late_help_is_not_asked_again),
	KUNIT_CASE(no_help_for_real_time),
	KUNIT_CASE(help_sends_without_doorbells),
	KUNIT_CASE(consumer_posts_at_once),
	KUNIT_CASE(consumer_leaves_the_rest),
	KUNIT_CASE(consumer_is_busy),
	KUNIT_CASE(consumer_takes_turns),
	KUNIT_CASE(kthreads_do_it_all),
	KUNIT_CASE(rung_without_a_stream),
	{}
};

static struct kunit_suite doorbell_suite = {
	.name = "srnic-doorbell",
	.test_cases = doorbell_cases,
};

kunit_test_suite(doorbell_suite);
