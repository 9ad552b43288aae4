// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* rnr.c: messages that wait for a receive, from a peer on a plain TCP socket. */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sizes.h>
#include <linux/sort.h>
#include "engine/rnr.h"
#include "engine/rx.h"
#include "peer.h"
#include "queue/srq.h"
#include "verbs/post.h"
#include "wire/mpa.h"

#define RIGHTS	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_WRITE)
#define SIZE	SZ_4K
#define QUOTED	0xc000	/* M and D of HdrCt: DDP segment length and header */

/* A connection, and memory */
struct in {
	struct peer *p;
	u8 *mem;
	struct srnic_tpte *mr;
};

/* A QP in Idle, whose messages will wait @seconds for a receive */
static struct in in_idle(struct kunit *test, u32 seconds)
{
	struct in in = { .mem = kunit_kzalloc(test, SIZE, GFP_KERNEL) };

	KUNIT_ASSERT_NOT_NULL(test, in.mem);	/* outlives the QP */
	in.p = peer_idle(test);
	in.p->no_receive = seconds;
	return in;
}

static void in_connect(struct in *in)
{
	peer_connect(in->p, 2, 2);
	in->mr = peer_region(in->p, in->p->pd, in->mem, SIZE, RIGHTS);
}

static struct in in_open(struct kunit *test, bool markers, bool by_threads)
{
	struct in in = in_idle(test, SRNIC_FOREVER);

	in.p->rx_markers = markers;
	in.p->by_threads = by_threads;
	in_connect(&in);
	return in;
}

static void send(const struct in *in, u32 msn, const char *text)
{
	struct ddp_hdr hdr = HDR_SEND(msn);

	peer_send(in->p, &hdr, text, strlen(text));
}

static void expect_waits(struct kunit *test, const struct in *in, u64 waits)
{
	KUNIT_EXPECT_TRUE(test, peer_until(srnic_counter(in->p->dev, SRNIC_CNT_RX_RNR) == waits));
	msleep(60);
	KUNIT_EXPECT_EQ(test, srnic_counter(in->p->dev, SRNIC_CNT_RX_RNR), waits);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(in->p->qp), SRNIC_QP_RTS);
	peer_no_wc(in->p, in->p->rcq);
}

static void expect_text(struct kunit *test, const struct in *in, u64 wr_id, const char *text)
{
	u32 len = strlen(text);

	KUNIT_EXPECT_EQ(test, peer_wc(in->p, in->p->rcq, wr_id, SRNIC_WC_SUCCESS).byte_len, len);
	KUNIT_EXPECT_EQ(test, memcmp(in->mem, text, len), 0);
}

/* Each message waits for its receive, and so do all octets behind it */
static void waits_for(struct kunit *test, bool markers, bool by_threads)
{
	struct in in = in_open(test, markers, by_threads);
	struct ib_sge sge = peer_sge(in.mr, 0, 64);
	struct ddp_hdr hdr = HDR_WRITE(in.mr->stag, in.mr->base + 1000);

	send(&in, 1, "first");
	expect_waits(test, &in, 1);
	send(&in, 2, "second");
	peer_send(in.p, &hdr, "x", 1);
	expect_waits(test, &in, 1);
	peer_post_recv(in.p, 1, &sge);
	expect_text(test, &in, 1, "first");
	expect_waits(test, &in, 2);
	KUNIT_EXPECT_EQ(test, in.mem[1000], 0);
	peer_post_recv(in.p, 2, &sge);
	expect_text(test, &in, 2, "second");
	KUNIT_EXPECT_TRUE(test, peer_until(READ_ONCE(in.mem[1000]) == 'x'));
	/* with a receive posted the message does not wait */
	peer_post_recv(in.p, 3, &sge);
	send(&in, 3, "third");
	expect_text(test, &in, 3, "third");
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_RX_RNR), 2);
	peer_close(in.p);
	peer_expect_closed(in.p, "the end", SRNIC_QP_IDLE);
}

static void a_message_waits(struct kunit *test)
{
	waits_for(test, false, false);
}

static void a_message_waits_for_threads(struct kunit *test)
{
	waits_for(test, false, true);
}

static void a_message_with_markers_waits(struct kunit *test)
{
	waits_for(test, true, false);
}

/* Context switches of the rx kthread */
static unsigned long switches(const struct peer *p)
{
	const struct task_struct *task = READ_ONCE(p->qp->rx_task);

	return READ_ONCE(task->nvcsw) + READ_ONCE(task->nivcsw);
}

/* While a message waits, the kthread does not poll, even with the shortest RNR timer */
static void nobody_polls(struct kunit *test)
{
	struct in in = in_open(test, false, false);
	struct ib_sge sge = peer_sge(in.mr, 0, 64);
	unsigned long before;

	in.p->qp->ib.paired = true;
	in.p->qp->ib.min_rnr_timer = 1;
	in.p->qp->ib.rnr_retry = SRNIC_RNR_WITHOUT_END;
	send(&in, 1, "first");
	expect_waits(test, &in, 1);
	before = switches(in.p);
	msleep(300);
	KUNIT_EXPECT_LE(test, switches(in.p) - before, 2);
	peer_post_recv(in.p, 1, &sge);
	expect_text(test, &in, 1, "first");
}

#define WAITERS	6

static struct srnic_srq *srq_open(struct kunit *test)
{
	struct srnic_srq *srq = kunit_kzalloc(test, sizeof(*srq), GFP_KERNEL);
	struct ib_srq_attr attr = { .max_wr = WAITERS, .max_sge = 1 };

	KUNIT_ASSERT_NOT_NULL(test, srq);
	srq->ibsrq.pd = fake_pd(test, fake_device(test));
	srq->ibsrq.device = srq->ibsrq.pd->device;
	KUNIT_ASSERT_EQ(test, srnic_srq_create(srq, &attr, NULL), 0);
	return srq;
}

/* A QP on the SRQ, or with an RQ if there is none, with an empty message that waits @seconds */
static struct peer *waiter(struct kunit *test, struct srnic_srq *srq, u32 seconds)
{
	struct peer *p = srq ? peer_idle_srq(test, srq) : peer_idle(test);
	struct ddp_hdr hdr = HDR_SEND(1);

	p->no_receive = seconds;
	peer_connect(p, 2, 2);
	peer_send(p, &hdr, NULL, 0);
	KUNIT_ASSERT_TRUE(test, peer_until(READ_ONCE(p->qp->rq_awaited)));
	return p;
}

/* The waiters that have run meanwhile */
static u32 that_poll(struct peer **p)
{
	unsigned long before[WAITERS];
	u32 i, n = 0;

	msleep(100);
	for (i = 0; i < WAITERS; i++)
		before[i] = switches(p[i]);
	msleep(300);
	for (i = 0; i < WAITERS; i++)
		n += switches(p[i]) - before[i] > 2;
	return n;
}

static u32 that_wait(struct peer **p)
{
	u32 i, n = 0;

	for (i = 0; i < WAITERS; i++)
		n += READ_ONCE(p[i]->qp->rq_awaited);
	return n;
}

/* Of many QPs that wait for an SRQ one polls it; as many wake as there are WQEs */
static void one_polls_an_srq(struct kunit *test)
{
	const struct ib_recv_wr wr = { }, *bad;
	struct srnic_srq *srq = srq_open(test);
	struct peer *p[WAITERS];
	u32 i;

	for (i = 0; i < WAITERS; i++)
		p[i] = waiter(test, srq, SRNIC_FOREVER);
	KUNIT_EXPECT_EQ(test, that_poll(p), 1);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, srnic_post_srq_recv(&srq->ibsrq, &wr, &bad), 0);
	KUNIT_EXPECT_TRUE(test, peer_until(that_wait(p) == WAITERS - 2));
	KUNIT_EXPECT_EQ(test, that_poll(p), 1);
	/* so does the next one if the one that polls ends */
	for (i = 0; !srnic_srq_is_first(p[i]->qp); i++)
		KUNIT_ASSERT_LT(test, i, WAITERS - 1);
	srnic_qp_abort(p[i]->qp);
	peer_expect_closed(p[i], "abort", SRNIC_QP_ERROR);
	for (i = 0; i < WAITERS - 3; i++)
		KUNIT_EXPECT_EQ(test, srnic_post_srq_recv(&srq->ibsrq, &wr, &bad), 0);
	KUNIT_EXPECT_TRUE(test, peer_until(!that_wait(p)));
	for (i = 0; i < WAITERS; i++) {
		srnic_qp_destroy(p[i]->qp);
		p[i]->qp = NULL;
	}
	srnic_srq_destroy(srq);
}

/* The device asks for a doorbell, which ends the wait; without one it does not look at the RQ */
static void a_program_rings(struct kunit *test)
{
	struct in in = in_open(test, false, false);
	struct srnic_qp *qp = in.p->qp;
	struct srnic_rqe *rqe = srnic_ring_slot(&qp->rq, 0);

	qp->kernel = false;
	KUNIT_EXPECT_EQ(test, READ_ONCE(qp->rq.hdr->flags), 0);
	send(&in, 1, "");
	expect_waits(test, &in, 1);
	KUNIT_EXPECT_EQ(test, READ_ONCE(qp->rq.hdr->flags), SRNIC_RING_NEED_WAKEUP);
	*rqe = (struct srnic_rqe){ .wr_id = 7 };
	smp_store_release(&qp->rq.hdr->producer, 1);	/* as the provider posts */
	msleep(100);
	peer_no_wc(in.p, in.p->rcq);
	KUNIT_EXPECT_EQ(test, srnic_post_recv(&qp->ibqp, NULL, NULL), 0);
	peer_wc(in.p, in.p->rcq, 7, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, peer_until(!READ_ONCE(qp->rq.hdr->flags)));
	qp->rq_posted = 1;
	qp->kernel = true;
}

/* The wait is as long as an InfiniBand sender retries: rnr_retry times min_rnr_timer */
static void a_paired_qp_waits_so_long(struct kunit *test)
{
	struct in in = in_open(test, false, false);
	unsigned long begin;

	in.p->qp->ib.paired = true;
	in.p->qp->ib.min_rnr_timer = 26;	/* 81.92 ms */
	in.p->qp->ib.rnr_retry = SRNIC_RNR_WITHOUT_END;
	send(&in, 1, "first");
	expect_waits(test, &in, 1);
	msleep(200);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS);
	/* RTS sets rnr_retry: the limit counts from now on */
	begin = READ_ONCE(in.p->qp->rx->rnr_since);
	WRITE_ONCE(in.p->qp->ib.rnr_retry, 6);
	srnic_qp_wake_rnr(in.p->qp);
	peer_expect_terminate(in.p, "no receive WR", 0x1202, QUOTED);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - begin), 6 * 81);
	KUNIT_EXPECT_LE(test, jiffies_to_msecs(jiffies - begin), 3000);
	peer_close(in.p);
	peer_expect_closed(in.p, "no receive WR", SRNIC_QP_ERROR);
}

/* rnr_retry 0: an InfiniBand sender would not retry */
static void a_paired_qp_may_not_wait(struct kunit *test)
{
	struct in in = in_open(test, false, false);

	in.p->qp->ib.paired = true;
	in.p->qp->ib.min_rnr_timer = 1;
	send(&in, 1, "first");
	peer_expect_terminate(in.p, "no receive WR", 0x1202, QUOTED);
	peer_close(in.p);
	peer_expect_closed(in.p, "no receive WR", SRNIC_QP_ERROR);
}

/* No receive comes: the connection ends as if there was no wait, at about @ms behind @since */
static void expect_no_receive(struct kunit *test, struct peer *p, unsigned long since, u32 ms)
{
	unsigned int took;

	peer_expect_terminate(p, "no receive WR", 0x1202, QUOTED);
	took = jiffies_to_msecs(jiffies - since);
	KUNIT_EXPECT_GE(test, took, ms);
	KUNIT_EXPECT_LE(test, took, ms + 2000);
	KUNIT_EXPECT_EQ(test, srnic_counter(p->dev, SRNIC_CNT_RQ_EMPTY), 1);
	peer_close(p);
	peer_expect_closed(p, "no receive WR", SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, (int)p->events[0], IB_EVENT_QP_FATAL);
}

/* SR-18: the time of no_receive, then the error (E-04) */
static void the_wait_has_an_end(struct kunit *test)
{
	struct in in = in_idle(test, 1);
	unsigned long since = jiffies;

	in_connect(&in);
	send(&in, 1, "first");
	expect_waits(test, &in, 1);
	expect_no_receive(test, in.p, since, 1000);
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_RX_RNR), 1);
}

/* A receive that comes in time ends the wait, and the next message has all of the time again */
static void each_message_has_its_time(struct kunit *test)
{
	static const char *const texts[] = { "one", "two", "three" };
	struct in in = in_idle(test, 1);
	struct ib_sge sge;
	u32 i;

	in_connect(&in);
	sge = peer_sge(in.mr, 0, 64);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		send(&in, i + 1, texts[i]);
		expect_waits(test, &in, i + 1);
		msleep(500);
		peer_post_recv(in.p, i, &sge);
		expect_text(test, &in, i, texts[i]);
	}
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_RQ_EMPTY), 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS);
}

static u32 make_fpdu(u8 *fpdu, const struct ddp_hdr *hdr, u32 len)
{
	u32 head = ddp_encode(fpdu + MPA_LEN_FIELD, hdr);

	memset(fpdu + MPA_LEN_FIELD + head, 'x', len);
	return mpa_fpdu_seal(fpdu, head + len, true, NULL);
}

/* The sender makes a Write of the Send that waits. The next Send has all of the time */
static void a_message_that_waits_changes(struct kunit *test)
{
	struct page *page = alloc_page(GFP_KERNEL);
	struct in in = in_idle(test, 1);
	struct ddp_hdr hdr = HDR_SEND(1);
	struct ib_sge sge;

	KUNIT_ASSERT_NOT_NULL(test, page);
	in_connect(&in);
	sge = peer_sge(in.mr, 0, 64);
	peer_send_page(in.p, page, make_fpdu(page_address(page), &hdr, 4));
	expect_waits(test, &in, 1);
	hdr = (struct ddp_hdr)HDR_WRITE(in.mr->stag, in.mr->base + 1000);
	make_fpdu(page_address(page), &hdr, 8);
	/* the kthread looks when the time is over */
	KUNIT_EXPECT_TRUE(test, peer_until(READ_ONCE(in.mem[1000]) == 'x'));
	send(&in, 1, "first");
	expect_waits(test, &in, 2);
	peer_post_recv(in.p, 1, &sge);
	expect_text(test, &in, 1, "first");
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_RQ_EMPTY), 0);
	put_page(page);
}

/* no_receive 0: softirq finds the error, and no kthread waits */
static void no_time_is_no_wait(struct kunit *test)
{
	struct in in = in_idle(test, 0);

	in_connect(&in);
	send(&in, 1, "first");
	expect_no_receive(test, in.p, jiffies, 0);
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_RX_RNR), 0);
}

/* A program does without the wait by rnr_retry 0, for the connections that begin after that */
static void a_program_may_not_want_it(struct kunit *test)
{
	struct in in = in_idle(test, SRNIC_FOREVER);

	in.p->qp->ib.no_rnr = true;
	in_connect(&in);
	in.p->qp->ib.no_rnr = false;	/* too late for this connection */
	send(&in, 1, "first");
	expect_no_receive(test, in.p, jiffies, 0);
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_RX_RNR), 0);
}

/* Whether a QP polls the SRQ or waits behind the one that does, its time ends */
static void a_wait_for_an_srq_has_an_end(struct kunit *test)
{
	struct srnic_srq *srq = srq_open(test);
	unsigned long since = jiffies;
	struct peer *p[2];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = waiter(test, srq, 1);
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		expect_no_receive(test, p[i], since, 1000);
		srnic_qp_destroy(p[i]->qp);
		p[i]->qp = NULL;
	}
	srnic_srq_destroy(srq);
}

/* The QP goes while a message has some of its time left: nothing of the wait outlives it */
static void a_qp_goes_while_it_waits(struct kunit *test)
{
	struct in in = in_idle(test, 1);

	in_connect(&in);
	send(&in, 1, "first");
	expect_waits(test, &in, 1);
	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(in.p->qp), 0);
	in.p->qp = NULL;
	msleep(1100);
	KUNIT_EXPECT_EQ(test, srnic_counter(in.p->dev, SRNIC_CNT_RQ_EMPTY), 0);
}

#define NAPPERS	21

static u32 us_to_end(struct peer *p)
{
	ktime_t since = ktime_get();

	srnic_qp_destroy(p->qp);
	p->qp = NULL;
	return ktime_us_delta(ktime_get(), since);
}

static int by_size(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : *(const u32 *)a > *(const u32 *)b;
}

static u32 median(u32 *us)
{
	sort(us, NAPPERS, sizeof(us[0]), by_size, NULL);
	return us[NAPPERS / 2];
}

/*
 * A QP that waits alone for an SRQ looks at it from time to time. Its end does not wait for the
 * next look, and takes no longer than that of a QP that waits for a doorbell
 */
static void no_end_waits_for_a_look(struct kunit *test)
{
	u32 i, rq_us[NAPPERS], srq_us[NAPPERS];
	struct peer *rq[NAPPERS], *p[NAPPERS];
	struct srnic_srq *srq[NAPPERS];

	for (i = 0; i < NAPPERS; i++) {
		srq[i] = srq_open(test);
		p[i] = waiter(test, srq[i], SRNIC_FOREVER);
		rq[i] = waiter(test, NULL, SRNIC_FOREVER);
	}
	msleep(100);	/* the time between two looks has grown to its most */
	for (i = 0; i < NAPPERS; i++) {
		rq_us[i] = us_to_end(rq[i]);
		srq_us[i] = us_to_end(p[i]);
		srnic_srq_destroy(srq[i]);
	}
	/* looks are more than 20 ms apart: to wait for one takes half of that */
	KUNIT_EXPECT_LE(test, median(srq_us), median(rq_us) + 5000);
}

static void a_reset_ends_the_wait(struct kunit *test)
{
	struct in in = in_open(test, false, false);

	send(&in, 1, "first");
	expect_waits(test, &in, 1);
	peer_reset(in.p);
	peer_expect_closed(in.p, "reset", SRNIC_QP_ERROR);
}

/* The peer's FIN is behind the message, so the end waits, too */
static void a_close_waits_behind_it(struct kunit *test)
{
	struct in in = in_open(test, false, false);
	struct ib_sge sge = peer_sge(in.mr, 0, 64);

	send(&in, 1, "first");
	peer_close(in.p);
	expect_waits(test, &in, 1);
	peer_post_recv(in.p, 1, &sge);
	expect_text(test, &in, 1, "first");
	peer_expect_closed(in.p, "close", SRNIC_QP_IDLE);
}

static void the_program_ends_the_wait(struct kunit *test)
{
	int markers;

	for (markers = 0; markers < 2; markers++) {
		struct in in = in_open(test, markers, false);

		send(&in, 1, "first");
		expect_waits(test, &in, 1);
		srnic_qp_abort(in.p->qp);
		peer_expect_closed(in.p, "abort", SRNIC_QP_ERROR);
	}
}

/* The values that InfiniBand has for the RNR NAK Timer field */
static void timers(struct kunit *test)
{
	static const u32 us[] = {
		655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
		2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880,
		163840, 245760, 327680, 491520,
	};
	u8 i;

	for (i = 0; i < ARRAY_SIZE(us); i++)
		KUNIT_EXPECT_EQ_MSG(test, srnic_rnr_timer_us(i), us[i], "%u", i);
}

static struct kunit_case rx_wait_cases[] = {
	KUNIT_CASE(a_message_waits),
	KUNIT_CASE(a_message_waits_for_threads),
	KUNIT_CASE(a_message_with_markers_waits),
	KUNIT_CASE(nobody_polls),
	KUNIT_CASE(one_polls_an_srq),
	KUNIT_CASE(a_program_rings),
	KUNIT_CASE(a_paired_qp_waits_so_long),
	KUNIT_CASE(a_paired_qp_may_not_wait),
	KUNIT_CASE(the_wait_has_an_end),
	KUNIT_CASE(each_message_has_its_time),
	KUNIT_CASE(a_message_that_waits_changes),
	KUNIT_CASE(no_time_is_no_wait),
	KUNIT_CASE(a_program_may_not_want_it),
	KUNIT_CASE(a_wait_for_an_srq_has_an_end),
	KUNIT_CASE(a_qp_goes_while_it_waits),
	KUNIT_CASE(no_end_waits_for_a_look),
	KUNIT_CASE(a_reset_ends_the_wait),
	KUNIT_CASE(a_close_waits_behind_it),
	KUNIT_CASE(the_program_ends_the_wait),
	KUNIT_CASE(timers),
	{}
};

static struct kunit_suite rx_wait_suite = {
	.name = "srnic-rx-wait",
	.test_cases = rx_wait_cases,
};

kunit_test_suite(rx_wait_suite);
