// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * kthreads.c, tx.c, rx.c: a stream begins without kthreads, goes on without them while doorbells
 * and softirq do the work, and gets them when it needs them.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include "engine/kthreads.h"
#include "engine/tx.h"
#include "memory/mr.h"
#include "peer.h"
#include "queue/cq.h"
#include "queue/ring.h"

#define SIGNAL	IB_SEND_SIGNALED
#define ULP_ACK	0x4e
/* More than the allocations that two kthreads need of the task that makes them */
#define MANY	20

static bool has_kthreads(const struct peer *p)
{
	return READ_ONCE(p->qp->rx_task);
}

static bool wants_doorbell(const struct peer *p)
{
	return READ_ONCE(p->qp->sq.hdr->flags) & SRNIC_RING_NEED_WAKEUP;
}

/* A program's QP gets its stream; the test posts to it as a kernel consumer does */
static void attach_program(struct peer *p, struct socket *passive)
{
	struct srnic_qp *qp = p->qp;

	qp->kernel = false;
	/* earlier WRs, as a program's producer index shows them */
	qp->sq.hdr->producer = qp->sq_posted;
	qp->rq.hdr->producer = qp->rq_posted;
	peer_attach(p, passive, 1, 1);
	qp->kernel = true;
}

static void connect_program(struct peer *p)
{
	struct socket *passive;

	peer_sockets(p, &passive);
	attach_program(p, passive);
}

static struct peer *program(struct kunit *test)
{
	struct peer *p = peer_idle(test);

	connect_program(p);
	return p;
}

static void expect_none(struct peer *p, const char *what)
{
	msleep(50);
	KUNIT_EXPECT_FALSE_MSG(p->test, has_kthreads(p), "%s", what);
}

static void none_while_nobody_wants_them(struct kunit *test)
{
	struct peer *p = program(test);
	struct ddp_hdr hdr = HDR_SEND(1);

	KUNIT_EXPECT_TRUE(test, wants_doorbell(p));
	peer_post_recv(p, 1, NULL);
	peer_send(p, &hdr, NULL, 0);
	peer_wc(p, p->rcq, 1, SRNIC_WC_SUCCESS);
	expect_none(p, "after a Send of the peer");
	KUNIT_EXPECT_EQ(test, peer_post(p, IB_WR_SEND, 2, SIGNAL, NULL, 0, 0), 0);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
	/* the test has posted as a kernel consumer does, which kicks the tx kthread */
	KUNIT_EXPECT_TRUE(test, peer_until(has_kthreads(p)));
}

static bool has_pages(const struct peer *p)
{
	return READ_ONCE(p->qp->tx->frag.page);
}

/* ... nor do its pages: they are put when they have been idle for a second */
static void none_for_pages(struct kunit *test)
{
	struct peer *p = program(test);
	u8 *mem = kunit_kzalloc(test, 64, GFP_KERNEL);
	struct srnic_tpte *mr;
	u32 msn;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	mr = peer_region(p, p->pd, mem, 64, SRNIC_LOCAL_READ | SRNIC_REMOTE_READ);
	for (msn = 1; msn <= 2; msn++) {
		peer_read_request(p, msn, 0x77, 0, 64, mr->stag, mr->base);
		peer_expect(p, ULP_READ_RESP, 64);
		KUNIT_EXPECT_TRUE(test, has_pages(p));
		expect_none(p, "after a response");
		KUNIT_EXPECT_TRUE(test, peer_until(!has_pages(p)));
		expect_none(p, "without pages");
	}
	peer_unregister(p, mr);
}

static void at_once_for_the_kernel(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);

	KUNIT_EXPECT_TRUE(test, peer_until(has_kthreads(p)));
}

/*
 * A QP's kthreads have the nice value of the task that created it; a kernel consumer's the lowest
 */
static void nice_as_their_maker(struct kunit *test)
{
	int own = task_nice(current);
	struct peer *p;

	p = peer_open(test, 1, 1);
	KUNIT_EXPECT_TRUE(test, peer_until(has_kthreads(p)));
	KUNIT_EXPECT_TRUE(test, peer_until(task_nice(p->qp->rx_task) == MIN_NICE));

	set_user_nice(current, 7);
	p = peer_idle(test);
	p->qp->kernel = false;
	srnic_kthreads_prepare(p->qp);
	set_user_nice(current, own);
	p->by_threads = true;
	connect_program(p);
	KUNIT_EXPECT_TRUE(test, peer_until(has_kthreads(p)));
	KUNIT_EXPECT_TRUE(test, peer_until(task_nice(p->qp->rx_task) == 7));
}

static void at_once_without_inline_work(struct kunit *test)
{
	struct peer *p = peer_idle(test);

	p->by_threads = true;
	connect_program(p);
	KUNIT_EXPECT_TRUE(test, peer_until(has_kthreads(p)));
}

/* A work's nice value, and so that of others of its queue */
struct nice_work {
	struct work_struct work;
	int nice;
};

static void look(struct work_struct *work)
{
	container_of(work, struct nice_work, work)->nice = task_nice(current);
}

static int nice_of_works(const struct peer *p)
{
	struct nice_work w;

	INIT_WORK_ONSTACK(&w.work, look);
	queue_work(p->qp->kthreads_wq, &w.work);
	flush_work(&w.work);
	destroy_work_on_stack(&w.work);
	return w.nice;
}

/* ... and the works of a program's QP are no more urgent than programs are */
static void works_of_programs_are_not_urgent(struct kunit *test)
{
	struct peer *p = peer_idle(test);

	KUNIT_EXPECT_EQ(test, nice_of_works(p), MIN_NICE);
	p->qp->kernel = false;
	srnic_kthreads_prepare(p->qp);
	KUNIT_EXPECT_EQ(test, nice_of_works(p), 0);
	p->qp->kernel = true;
}

/* As a program that rings no doorbell: an empty Send */
static void post_quietly(struct peer *p, u64 wr_id)
{
	struct srnic_qp *qp = p->qp;
	struct srnic_sqe *sqe = srnic_ring_slot(&qp->sq, qp->sq_posted);

	*sqe = (struct srnic_sqe){ .wr_id = wr_id, .opcode = SRNIC_OP_SEND,
				   .flags = SRNIC_SQE_SIGNALED };
	/* the SQE before the index */
	smp_store_release(&qp->sq_posted, qp->sq_posted + 1);
}

/*
 * The works of all programs share a queue. So none waits for what a program may keep it waiting
 * for, as the memory of its WRs: an acknowledgment that nobody has asked for goes alone...
 */
static void a_work_sends_no_wr(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	u8 *mem = kunit_kzalloc(test, 64, GFP_KERNEL);
	struct srnic_tpte *mr;
	struct ddp_hdr hdr;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	p->acks = true;
	connect_program(p);
	mr = peer_region(p, p->pd, mem, 64, SRNIC_LOCAL_WRITE | SRNIC_REMOTE_WRITE);
	hdr = (struct ddp_hdr)HDR_WRITE(mr->stag, mr->base);
	post_quietly(p, 1);
	peer_send(p, &hdr, "12345678", 8);
	peer_expect(p, ULP_ACK, 0);
	peer_expect_nothing(p);
	expect_none(p, "after an acknowledgment");
	srnic_tx_doorbell(p->qp);
	peer_expect(p, ULP_SEND, 0);
	peer_unregister(p, mr);
}

/* ... WRs that are left at the end are the kthread's... */
static void a_work_ends_no_wr(struct kunit *test)
{
	struct peer *p = program(test);

	post_quietly(p, 1);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_CLOSING), 0);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_expect_end(p, "FIN", 0);
	peer_close(p);
	peer_expect_closed(p, "a WR that was left", SRNIC_QP_IDLE);
	KUNIT_EXPECT_FALSE(test, p->closed_by_work);
}

/* ... and so is, at the beginning, a WR that may wait */
static void a_work_begins_no_wait(struct kunit *test)
{
	u8 *mem = kunit_kzalloc(test, 64, GFP_KERNEL);
	struct peer *p = peer_idle(test);
	struct srnic_span span;
	struct srnic_tpte *mr;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	peer_post(p, IB_WR_SEND, 1, SIGNAL, NULL, 0, 0);
	connect_program(p);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	expect_none(p, "after a Send");

	p = peer_idle(test);
	mr = peer_region(p, p->pd, mem, 64, SRNIC_LOCAL_READ);
	peer_access(p, mr, &span);
	peer_post(p, IB_WR_SEND, 1, SIGNAL, NULL, 0, 0);
	peer_post(p, IB_WR_LOCAL_INV, 2, SIGNAL, NULL, 0, mr->stag);
	connect_program(p);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_no_wc(p, p->scq);
	srnic_tpt_put(&span);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, peer_until(has_kthreads(p)));
}

static void to_closing(struct peer *p)
{
	KUNIT_EXPECT_EQ(p->test, srnic_qp_modify(p->qp, SRNIC_QP_CLOSING), 0);
	peer_expect_end(p, "FIN", 0);
	peer_close(p);
}

static void to_error(struct peer *p)
{
	KUNIT_EXPECT_EQ(p->test, srnic_qp_modify(p->qp, SRNIC_QP_ERROR), 0);
}

static void a_bad_fpdu(struct peer *p)
{
	static const u8 nothing[8];

	peer_send_octets(p, nothing, sizeof(nothing));
}

/* However a stream without kthreads ends, it is wound down without them */
static void no_end_needs_them(struct kunit *test)
{
	static const struct {
		const char *what;
		void (*end)(struct peer *p);
		enum srnic_qp_state state;
	} rows[] = {
		{ "the peer's FIN", peer_close, SRNIC_QP_IDLE },
		{ "the peer's RST", peer_reset, SRNIC_QP_ERROR },
		{ "Modify to Closing", to_closing, SRNIC_QP_IDLE },
		{ "Modify to Error", to_error, SRNIC_QP_ERROR },
		{ "an FPDU without a header", a_bad_fpdu, SRNIC_QP_ERROR },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct peer *p = program(test);

		expect_none(p, rows[i].what);
		rows[i].end(p);
		peer_expect_closed(p, rows[i].what, rows[i].state);
		KUNIT_EXPECT_TRUE_MSG(test, p->closed_by_work, "%s", rows[i].what);
	}
}

static bool sent_fin(const struct peer *p)
{
	return test_bit(SRNIC_QPF_FIN_SENT, &p->qp->flags);
}

/* ST-46: nobody waits in a work for the peer's FIN */
static void a_peer_that_does_not_close(struct kunit *test)
{
	struct peer *p = program(test);

	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_CLOSING), 0);
	KUNIT_EXPECT_TRUE(test, peer_until(sent_fin(p)));
	KUNIT_EXPECT_TRUE(test, peer_until(!work_busy(&p->qp->kthreads)));
	KUNIT_EXPECT_EQ(test, srnic_qp_state(p->qp), SRNIC_QP_CLOSING);
	peer_expect_closed(p, "no FIN", SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, p->closed_err, -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, p->closed_by_work);
}

/* ST-44: what comes behind our FIN is late, also for a QP without kthreads */
static void a_message_behind_the_fin(struct kunit *test)
{
	struct peer *p = program(test);
	struct ddp_hdr hdr = HDR_SEND(1);

	peer_post_recv(p, 1, NULL);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_CLOSING), 0);
	KUNIT_EXPECT_TRUE(test, peer_until(sent_fin(p)));
	peer_send(p, &hdr, NULL, 0);
	peer_expect_closed(p, "late", SRNIC_QP_ERROR);
	KUNIT_EXPECT_TRUE(test, p->closed_by_work);
	peer_flushes(p, p->rcq, 1, 1);
}

static void destroyed_in_closing(struct kunit *test)
{
	struct peer *p = program(test);

	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_CLOSING), 0);
	KUNIT_EXPECT_TRUE(test, peer_until(sent_fin(p)));
	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(p->qp), 0);
	p->qp = NULL;
	KUNIT_EXPECT_EQ(test, p->closed, 1);
	KUNIT_EXPECT_TRUE(test, p->closed_by_work);
}

/* A WR that TCP has no room for has to go before the FIN: that is waited for by a kthread */
static void an_end_that_waits_for_room(struct kunit *test)
{
	struct peer *p = program(test);
	u8 *big = kunit_kzalloc(test, SZ_1M, GFP_KERNEL);
	struct srnic_tpte *mr;
	struct ib_sge sge;

	KUNIT_ASSERT_NOT_NULL(test, big);
	mr = peer_region(p, p->pd, big, SZ_1M, SRNIC_LOCAL_READ);
	sge = peer_sge(mr, 0, SZ_1M);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 0, 0x2000);
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_CLOSING), 0);
	KUNIT_EXPECT_EQ(test, peer_message(p), SZ_1M);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_expect_end(p, "FIN", 0);
	peer_close(p);
	peer_expect_closed(p, "room", SRNIC_QP_IDLE);
	KUNIT_EXPECT_FALSE(test, p->closed_by_work);
	peer_unregister(p, mr);
}

static void destroyed_without_them(struct kunit *test)
{
	struct peer *p = program(test);

	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(p->qp), 0);
	p->qp = NULL;
	KUNIT_EXPECT_EQ(test, p->closed, 1);
}

/* V2-5, V2-15: srnic_qp_attach() sends the RTR, then the WRs that were posted before */
static void rtr_goes_first(struct kunit *test)
{
	static const struct {
		u8 kind;
		u8 ulp;
		u32 len;
	} rows[] = {
		{ MPA_RTR_SEND, ULP_SEND, 0 },
		{ MPA_RTR_WRITE, ULP_WRITE, 0 },
		{ MPA_RTR_READ, ULP_READ_REQ, 28 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct peer *p = peer_idle(test);

		p->rtr = rows[i].kind;
		peer_post(p, IB_WR_SEND_WITH_INV, 1, SIGNAL, NULL, 0, 7);
		connect_program(p);
		peer_expect(p, rows[i].ulp, rows[i].len);
		peer_expect(p, ULP_SEND_INV, 0);
		peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
		expect_none(p, "after the RTR");
	}
}

/* M-STA-4: a responder sends once it has received an FPDU, with kthreads or without */
static void responder_opens(struct kunit *test)
{
	struct ddp_hdr rtr = HDR_WRITE(0, 0);
	u32 posted;

	for (posted = 0; posted < 2; posted++) {
		struct peer *p = peer_idle(test);

		p->responder = true;
		if (posted)
			peer_post(p, IB_WR_SEND, 1, SIGNAL, NULL, 0, 0);
		connect_program(p);
		expect_none(p, "before the RTR");
		KUNIT_EXPECT_FALSE(test, wants_doorbell(p));
		peer_no_wc(p, p->scq);
		peer_send(p, &rtr, NULL, 0);
		if (posted) {
			peer_expect(p, ULP_SEND, 0);
			peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
		}
		KUNIT_EXPECT_TRUE(test, peer_until(wants_doorbell(p)));
		if (!posted)
			expect_none(p, "after the RTR");
	}
}

/* Octets received before the socket's callbacks were set are processed (ST-11) */
static void data_before_the_stream(struct kunit *test)
{
	struct peer *p = peer_idle(test);
	struct ddp_hdr hdr = HDR_SEND(1);
	struct socket *passive;

	peer_post_recv(p, 1, NULL);
	peer_sockets(p, &passive);
	peer_send(p, &hdr, NULL, 0);
	msleep(50);
	attach_program(p, passive);
	peer_wc(p, p->rcq, 1, SRNIC_WC_SUCCESS);
	expect_none(p, "after what came before");
}

/*
 * If kthreads cannot be created, the QP goes to Error, its consumer and peer are notified, and it
 * can be used again
 */
static void no_memory_for_them(struct kunit *test)
{
	struct peer *p = program(test);

	peer_post_recv(p, 1, NULL);
	KUNIT_ASSERT_TRUE(test, test_and_clear_bit(SRNIC_QPF_NO_KTHREADS, &p->qp->flags));
	srnic_kthreads_failed(p->qp);
	peer_expect_closed(p, "no kthreads", SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, p->closed_err, -ECONNRESET);
	peer_expect_event(p, "no kthreads", IB_EVENT_QP_FATAL);
	peer_expect_end(p, "no kthreads", -ECONNRESET);
	peer_flushes(p, p->rcq, 1, 1);
	KUNIT_EXPECT_EQ(test, srnic_counter(p->dev, SRNIC_CNT_NO_KTHREADS), 1);
	peer_close(p);
	KUNIT_ASSERT_EQ(test, srnic_qp_modify(p->qp, SRNIC_QP_IDLE), 0);
	connect_program(p);
	KUNIT_EXPECT_EQ(test, peer_post(p, IB_WR_SEND, 2, SIGNAL, NULL, 0, 0), 0);
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
}

/* ... but a Terminate that is due is sent, with FIN behind it, and is what is reported */
static void a_terminate_without_them(struct kunit *test)
{
	struct peer *p = program(test);
	struct ddp_hdr hdr = HDR_WRITE(0, 0);

	peer_post_recv(p, 1, NULL);
	/* as the QPs of ib/, which may have to wait at their end */
	p->qp->ib.paired = true;
	KUNIT_ASSERT_TRUE(test, test_and_clear_bit(SRNIC_QPF_NO_KTHREADS, &p->qp->flags));
	peer_send(p, &hdr, "12345678", 8);
	KUNIT_ASSERT_TRUE(test, peer_until(srnic_qp_state(p->qp) == SRNIC_QP_TERMINATE));
	KUNIT_EXPECT_EQ(test, srnic_tx_wind_down(p->qp), SRNIC_WIND_KTHREADS);
	srnic_kthreads_failed(p->qp);
	peer_expect_terminate(p, "no kthreads", 0x1100, 0xc000);
	peer_close(p);
	peer_expect_closed(p, "no kthreads", SRNIC_QP_ERROR);
	peer_expect_event(p, "no kthreads", IB_EVENT_QP_ACCESS_ERR);
	peer_flushes(p, p->rcq, 1, 1);
}

#ifdef CONFIG_FAILSLAB
/* A program that has posted a Send, which was not sent, and a receive, when the kthreads are due */
static struct peer *in_need(struct kunit *test)
{
	struct peer *p = program(test);

	peer_post_recv(p, 1, NULL);
	post_quietly(p, 2);
	KUNIT_ASSERT_TRUE(test, test_and_clear_bit(SRNIC_QPF_NO_KTHREADS, &p->qp->flags));
	srnic_qp_kick_tx(p->qp);
	return p;
}

static void expect_flushed(struct peer *p)
{
	peer_expect_event(p, "no kthreads", IB_EVENT_QP_FATAL);
	peer_expect_end(p, "no kthreads", -ECONNRESET);
	peer_flushes(p, p->rcq, 1, 1);
	peer_flushes(p, p->scq, 2, 1);
	peer_no_wc(p, p->rcq);
	peer_no_wc(p, p->scq);
	KUNIT_EXPECT_EQ(p->test, srnic_qp_destroy(p->qp), 0);
	p->qp = NULL;
}

static void expect_sent(struct peer *p)
{
	peer_expect(p, ULP_SEND, 0);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
}
#endif

/*
 * Whichever allocation of either kthread fails: nothing is lost, and the QP can be destroyed. The
 * kernel can do without some of them.
 */
static void each_allocation_fails(struct kunit *test)
{
#ifdef CONFIG_FAILSLAB
	unsigned int nth, left = 0, failed = 0;

	for (nth = 1; nth <= MANY && !left; nth++) {
		struct peer *p = in_need(test);

		current->fail_nth = nth;
		p->qp->kthreads.func(&p->qp->kthreads);
		/* zero if an allocation has failed: scripts/kunit sets up fault injection */
		left = current->fail_nth;
		current->fail_nth = 0;
		failed += p->closed;
		if (p->closed)
			expect_flushed(p);
		else
			expect_sent(p);
	}
	KUNIT_EXPECT_GT(test, left, 0);
	/* at least one of each kthread */
	KUNIT_EXPECT_GE(test, failed, 2);
	kunit_info(test, "%u of %u allocations are needed\n", failed, nth - 2);
#else
	kunit_skip(test, "this kernel cannot make allocations fail");
#endif
}

static struct kunit_case kthreads_cases[] = {
	KUNIT_CASE(none_while_nobody_wants_them),
	KUNIT_CASE(none_for_pages),
	KUNIT_CASE(at_once_for_the_kernel),
	KUNIT_CASE(nice_as_their_maker),
	KUNIT_CASE(works_of_programs_are_not_urgent),
	KUNIT_CASE(a_work_sends_no_wr),
	KUNIT_CASE(a_work_ends_no_wr),
	KUNIT_CASE(a_work_begins_no_wait),
	KUNIT_CASE(at_once_without_inline_work),
	KUNIT_CASE(no_end_needs_them),
	KUNIT_CASE(a_peer_that_does_not_close),
	KUNIT_CASE(a_message_behind_the_fin),
	KUNIT_CASE(destroyed_in_closing),
	KUNIT_CASE(an_end_that_waits_for_room),
	KUNIT_CASE(destroyed_without_them),
	KUNIT_CASE(rtr_goes_first),
	KUNIT_CASE(responder_opens),
	KUNIT_CASE(data_before_the_stream),
	KUNIT_CASE(no_memory_for_them),
	KUNIT_CASE(a_terminate_without_them),
	KUNIT_CASE(each_allocation_fails),
	{ }
};

static struct kunit_suite kthreads_suite = {
	.name = "srnic-kthreads",
	.test_cases = kthreads_cases,
};

kunit_test_suite(kthreads_suite);
