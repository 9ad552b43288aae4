// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* close.c, state.c, qp.c: how a QP leaves RTS, and how its peer sees it. */
#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include <net/sock.h>
#include <net/tcp_states.h>
#include "engine/stream.h"
#include "peer.h"
#include "queue/cq.h"
#include "verbs/verbs.h"

#define ALL	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_READ | \
		 SRNIC_REMOTE_WRITE | SRNIC_READ_SINK)
#define SIGNAL	IB_SEND_SIGNALED
#define FATAL	IB_EVENT_QP_FATAL
#define BIG	SZ_512K	/* does not fit into the buffers of the sockets */

static int modify(struct peer *p, enum srnic_qp_state next)
{
	return srnic_qp_modify(p->qp, next);
}

static bool in_state(struct peer *p, enum srnic_qp_state state)
{
	return srnic_qp_state(p->qp) == state;
}

/* FIN, and receiving goes on */
static void peer_fin(struct peer *p)
{
	kernel_sock_shutdown(p->sock, SHUT_WR);
}

/* A QP in RTS with two receive WRs, 10 and 11 */
static struct peer *open_with_receives(struct kunit *test)
{
	struct peer *p = peer_open(test, 1, 1);

	peer_post_recv(p, 10, NULL);
	peer_post_recv(p, 11, NULL);
	return p;
}

/* ST-17, ST-40 to ST-42, ST-48, AE-04, CM-07: the peer closes a QP at rest; it ends in Idle */
static void peer_closes(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	unsigned long flags;

	peer_fin(p);
	peer_expect_end(p, "FIN is answered by FIN", 0);
	peer_expect_closed(p, "FIN", SRNIC_QP_IDLE);
	KUNIT_EXPECT_EQ(test, p->closed_err, 0);
	/* although the program has completions to poll */
	flags = srnic_lock(&p->rcq->cq.lock);
	KUNIT_EXPECT_EQ(test, p->rcq->cq.producer - srnic_cq_consumer(&p->rcq->cq), 2);
	srnic_unlock(&p->rcq->cq.lock, flags);
	peer_expect_event(p, "FIN", -1);
	peer_flushes(p, p->rcq, 10, 2);
	peer_no_wc(p, p->scq);
}

/*
 * ST-04, ST-50: in Idle after a close the QP has no stream, and posted WRs stay in the queue; Error
 * flushes them
 */
static void idle_after_close(struct kunit *test)
{
	struct peer *p = open_with_receives(test);

	KUNIT_EXPECT_NOT_NULL(test, p->qp->stream);
	peer_close(p);
	peer_expect_closed(p, "FIN", SRNIC_QP_IDLE);
	KUNIT_EXPECT_NULL(test, p->qp->stream);
	peer_flushes(p, p->rcq, 10, 2);
	peer_post_recv(p, 20, NULL);
	KUNIT_EXPECT_EQ(test, peer_post(p, IB_WR_SEND, 21, 0, NULL, 0, 0), 0);
	peer_no_wc(p, p->rcq);
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_ERROR), 0);
	peer_flushes(p, p->rcq, 20, 1);
	peer_flushes(p, p->scq, 21, 1);
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_IDLE), 0);
}

/* ST-18, AE-14: a FIN that comes too early is an error, which a Terminate reports to the peer */
static void peer_closes_early(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 mem[8];
	struct srnic_tpte *mr = peer_region(p, p->pd, mem, 8, ALL);
	struct ib_sge sge = peer_sge(mr, 0, 8);

	peer_post(p, IB_WR_RDMA_READ, 1, SIGNAL, &sge, 1, 2);
	peer_expect(p, ULP_READ_REQ, 28);
	peer_fin(p);
	peer_expect_terminate(p, "FIN before the response", 0x0207, 0);
	peer_expect_closed(p, "FIN before the response", SRNIC_QP_ERROR);
	peer_expect_event(p, "FIN before the response", FATAL);
	peer_flushes(p, p->scq, 1, 1);
	peer_flushes(p, p->rcq, 10, 2);
	peer_unregister(p, mr);
}

/* As peer_closes_early(), of a QP that InfiniBand's verbs have connected. Return: since when */
static unsigned long peer_leaves_a_pair(struct peer *p, struct srnic_tpte *mr, u8 timeout)
{
	struct ib_sge sge = peer_sge(mr, 0, 8);
	unsigned long since = jiffies;

	p->qp->ib.timeout = timeout;
	p->qp->ib.retry_cnt = 1;
	/* behind both, see srnic_ib_modify() */
	smp_store_release(&p->qp->ib.paired, true);
	peer_post(p, IB_WR_RDMA_READ, 1, SIGNAL, &sge, 1, 2);
	peer_expect(p, ULP_READ_REQ, 28);
	peer_fin(p);
	peer_expect_terminate(p, "FIN before the response", 0x0207, 0);
	return since;
}

/* The WR fails when an InfiniBand sender gives up: after 2 x 4.096 us x 2^14 */
static void pair_loses_its_peer(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 mem[8];
	struct srnic_tpte *mr = peer_region(p, p->pd, mem, 8, ALL);
	unsigned long since = peer_leaves_a_pair(p, mr, 14);

	peer_wc(p, p->scq, 1, SRNIC_WC_NO_PEER);
	KUNIT_EXPECT_GE(test, jiffies_to_msecs(jiffies - since), 134 - jiffies_to_msecs(1));
	peer_expect_closed(p, "the time is over", SRNIC_QP_ERROR);
	peer_flushes(p, p->rcq, 10, 2);
	peer_unregister(p, mr);
}

/* It would try for hours; Error is asked for, and does not wait for the second that is left */
static void pair_does_not_wait(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 mem[8];
	struct srnic_tpte *mr = peer_region(p, p->pd, mem, 8, ALL);
	unsigned long since = peer_leaves_a_pair(p, mr, 31);

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_ERROR), 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_NO_PEER);
	KUNIT_EXPECT_LT(test, jiffies - since, HZ);
	peer_expect_closed(p, "Error was asked for", SRNIC_QP_ERROR);
	peer_flushes(p, p->rcq, 10, 2);
	peer_unregister(p, mr);
}

/* A FIN inside of an FPDU */
static void peer_closes_inside(struct kunit *test)
{
	struct peer *p = open_with_receives(test);

	peer_send_octets(p, "\0\x12\x41\x43", 4);
	peer_fin(p);
	peer_expect_terminate(p, "half an FPDU", 0x2001, 0);
	peer_expect_closed(p, "half an FPDU", SRNIC_QP_ERROR);
	peer_flushes(p, p->rcq, 10, 2);
}

/*
 * ST-19, QP-23, ST-42, ST-48: the state changes at once, then FIN is sent; no asynchronous event
 */
static void modify_closing(struct kunit *test)
{
	struct peer *p = open_with_receives(test);

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
	KUNIT_EXPECT_TRUE(test, in_state(p, SRNIC_QP_CLOSING));
	peer_post_recv(p, 12, NULL);	/* ST-41 */
	peer_expect_end(p, "Closing", 0);
	msleep(50);
	KUNIT_EXPECT_TRUE(test, in_state(p, SRNIC_QP_CLOSING));
	peer_expect_event(p, "Closing", -1);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(p->sock->sk->sk_state) == TCP_CLOSE);
	peer_close(p);
	peer_expect_closed(p, "Closing", SRNIC_QP_IDLE);
	KUNIT_EXPECT_EQ(test, p->closed_err, 0);
	peer_expect_event(p, "Closing", -1);
	peer_flushes(p, p->rcq, 10, 3);
}

/* ST-20: WRs posted before are sent before the FIN, and Reads are answered */
static void modify_closing_busy(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge all, little;
	struct ddp_hdr hdr;
	u32 got = 0;

	KUNIT_ASSERT_NOT_NULL(test, big);
	mr = peer_region(p, p->pd, big, BIG, ALL);
	all = peer_sge(mr, 0, BIG);
	little = peer_sge(mr, 0, 4);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &all, 1, 2);
	peer_post(p, IB_WR_RDMA_READ, 2, SIGNAL, &little, 1, 2);
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
	do {
		KUNIT_ASSERT_GT(test, peer_recv(p), 0);
		got += p->data_len;
	} while (p->hdr.ulp == ULP_WRITE);
	KUNIT_EXPECT_EQ(test, got, BIG + 28);
	hdr = (struct ddp_hdr)HDR_READ_RESP(mr->stag, mr->base);
	peer_send(p, &hdr, "abcd", 4);
	peer_expect_end(p, "Closing", 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	peer_wc(p, p->scq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, memcmp(big, "abcd", 4), 0);
	peer_close(p);
	peer_expect_closed(p, "Closing", SRNIC_QP_IDLE);
	peer_unregister(p, mr);
	vfree(big);
}

/* Closing waits for the last response: the FIN follows it without a time-out */
static void closing_after_a_read(struct kunit *test)
{
	s64 took, best = S64_MAX;
	u32 i;

	for (i = 0; i < 3; i++) {
		struct peer *p = peer_open(test, 1, 1);
		struct ddp_hdr hdr = HDR_READ_RESP(0, 0);
		ktime_t begin;

		peer_post(p, IB_WR_RDMA_READ, 1, SIGNAL, NULL, 1, 2);
		peer_expect(p, ULP_READ_REQ, 28);
		KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
		msleep(100);
		begin = ktime_get();
		peer_send(p, &hdr, NULL, 0);
		peer_expect_end(p, "Closing", 0);
		took = ktime_ms_delta(ktime_get(), begin);
		best = min(best, took);
		peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
		peer_close(p);
		peer_expect_closed(p, "Closing", SRNIC_QP_IDLE);
	}
	/* the machine may be busy in some rounds, but not in all */
	KUNIT_EXPECT_LT(test, best, 150);
}

/* ST-43, AE-13: a WR posted in Closing makes it a bad close */
static void posted_in_closing(struct kunit *test)
{
	struct peer *p = open_with_receives(test);

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
	peer_expect_end(p, "Closing", 0);
	KUNIT_EXPECT_EQ(test, peer_post(p, IB_WR_SEND, 1, 0, NULL, 0, 0), 0);
	peer_close(p);
	peer_expect_closed(p, "a WR in Closing", SRNIC_QP_ERROR);
	peer_expect_event(p, "a WR in Closing", FATAL);
	peer_flushes(p, p->scq, 1, 1);
	peer_flushes(p, p->rcq, 10, 2);
}

/* ST-44, ST-47, AE-13: a segment after our FIN is not processed: RST, Error, then the event */
static void segment_in_closing(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	struct ddp_hdr hdr = HDR_SEND(1);

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
	peer_expect_end(p, "Closing", 0);
	peer_send(p, &hdr, NULL, 0);
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
	peer_expect_closed(p, "a Send in Closing", SRNIC_QP_ERROR);
	peer_expect_event(p, "a Send in Closing", FATAL);
	KUNIT_EXPECT_EQ(test, p->event_state, SRNIC_QP_ERROR);
	peer_flushes(p, p->rcq, 10, 2);
	KUNIT_EXPECT_FALSE(test, p->qp->term_valid);
}

#define CROSSED		4	/* Sends of 64 KiB: more than the peer's window has room for */

/* A segment of the peer crosses our FIN, and data before that is not acknowledged */
static struct peer *segment_crosses(struct kunit *test, u8 **data, struct srnic_tpte **mr)
{
	struct peer *p = open_with_receives(test);
	struct ddp_hdr hdr = HDR_SEND(1);
	struct ib_sge sge;
	int i;

	*data = vzalloc(SZ_64K);
	KUNIT_ASSERT_NOT_NULL(test, *data);
	*mr = peer_region(p, p->pd, *data, SZ_64K, ALL);
	sge = peer_sge(*mr, 0, SZ_64K);
	for (i = 0; i < CROSSED; i++) {
		peer_post(p, IB_WR_SEND, i, SIGNAL, &sge, 0, 0);
		peer_wc(p, p->scq, i, SRNIC_WC_SUCCESS);
	}
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
	KUNIT_EXPECT_TRUE(test, peer_until(test_bit(SRNIC_QPF_FIN_SENT, &p->qp->flags)));
	peer_send(p, &hdr, NULL, 0);
	peer_expect_closed(p, "a Send in Closing", SRNIC_QP_ERROR);
	return p;
}

/* ST-44: the RST waits until the peer has acknowledged what completed before the FIN */
static void segment_behind_data(struct kunit *test)
{
	struct srnic_tpte *mr;
	u32 got = 0;
	u8 *data;
	struct peer *p = segment_crosses(test, &data, &mr);

	while (got < CROSSED * SZ_64K) {
		KUNIT_ASSERT_GT(test, peer_recv(p), 0);
		got += p->data_len;
	}
	peer_expect_end(p, "a Send in Closing", 0);
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
	peer_unregister(p, mr);
	vfree(data);
}

/* ... but not for ever, if the peer takes nothing */
static void segment_and_silence(struct kunit *test)
{
	struct srnic_tpte *mr;
	u8 *data;
	struct peer *p = segment_crosses(test, &data, &mr);

	msleep(PEER_CLOSE_TIMEOUT * MSEC_PER_SEC / 2);
	KUNIT_EXPECT_NE(test, READ_ONCE(p->sock->sk->sk_state), TCP_CLOSE);
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
	peer_unregister(p, mr);
	vfree(data);
}

/* ST-45: a Terminate in Closing: RST, Error; the Terminate can be queried */
static void terminate_in_closing(struct kunit *test)
{
	static const u8 term[4] = { 0x00, 0x00, 0, 0 };
	struct peer *p = open_with_receives(test);
	struct ddp_hdr hdr = HDR_TERMINATE;

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
	peer_expect_end(p, "Closing", 0);
	peer_send(p, &hdr, term, sizeof(term));
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
	peer_expect_closed(p, "a Terminate in Closing", SRNIC_QP_ERROR);
	KUNIT_EXPECT_TRUE(test, p->qp->term_valid && !p->qp->term_local);
	peer_flushes(p, p->rcq, 10, 2);
}

/* ST-21, ST-27, ST-28, ST-33, QP-15, QP-23: Modify to Terminate */
static void modify_terminate(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 mem[4] = { };
	struct srnic_tpte *mr = peer_region(p, p->pd, mem, 4, ALL);
	struct ddp_hdr write = HDR_WRITE(mr->stag, mr->base);

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_TERMINATE), 0);
	/* Error follows without a further Modify */
	KUNIT_EXPECT_TRUE(test, in_state(p, SRNIC_QP_TERMINATE) || in_state(p, SRNIC_QP_ERROR));
	KUNIT_EXPECT_TRUE(test, p->qp->term_valid && p->qp->term_local);
	KUNIT_EXPECT_EQ(test, p->qp->term.err.layer + p->qp->term.err.etype +
			p->qp->term.err.code + p->qp->term.err.hdrct, 0);
	/* what arrives now is ignored (TM-03), posted WRs are flushed (ST-30) */
	peer_send(p, &write, "abcd", 4);
	KUNIT_EXPECT_EQ(test, peer_post(p, IB_WR_SEND, 1, 0, NULL, 0, 0), 0);
	peer_post_recv(p, 12, NULL);
	peer_expect_terminate(p, "Modify", 0x0000, 0);
	peer_close(p);
	peer_expect_closed(p, "Modify", SRNIC_QP_ERROR);
	peer_expect_event(p, "Modify", -1);
	peer_flushes(p, p->scq, 1, 1);
	peer_flushes(p, p->rcq, 10, 3);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(mem, 0, 4), NULL);
	KUNIT_EXPECT_TRUE(test, p->qp->term_valid);	/* in Error, too (CM-09) */
	peer_unregister(p, mr);
}

/* TM-01, TM-04: the message being sent is cut between two FPDUs */
static void terminate_inside(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge sge;

	KUNIT_ASSERT_NOT_NULL(test, big);
	mr = peer_region(p, p->pd, big, BIG, ALL);
	sge = peer_sge(mr, 0, BIG);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 1, 2);
	KUNIT_ASSERT_GT(test, peer_recv(p), 0);
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_TERMINATE), 0);
	p->skip = ULP_WRITE;
	peer_expect_terminate(p, "Modify", 0x0000, 0);
	KUNIT_EXPECT_LT(test, p->skipped, BIG);
	peer_close(p);
	peer_expect_closed(p, "Modify", SRNIC_QP_ERROR);
	peer_flushes(p, p->scq, 1, 1);
	peer_unregister(p, mr);
	vfree(big);
}

/* ST-25, TM-10, CM-07: RST without a Terminate, also within a message; ST-37 */
static void modify_error(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge sge;
	struct sock *sk;
	int n;

	KUNIT_ASSERT_NOT_NULL(test, big);
	mr = peer_region(p, p->pd, big, BIG, ALL);
	sge = peer_sge(mr, 0, BIG);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 1, 2);
	KUNIT_ASSERT_GT(test, peer_recv(p), 0);
	/* while the socket is locked, its stream cannot be wound down */
	sk = p->qp->stream->sock->sk;
	sock_hold(sk);
	lock_sock(sk);
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_TRUE(test, in_state(p, SRNIC_QP_ERROR));
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_IDLE), -EBUSY);
	release_sock(sk);
	sock_put(sk);
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
	peer_expect_closed(p, "Modify", SRNIC_QP_ERROR);
	peer_expect_event(p, "Modify", -1);
	peer_flushes(p, p->scq, 1, 1);
	peer_flushes(p, p->rcq, 10, 2);
	n = srnic_counter(p->dev, SRNIC_CNT_TX_TERMINATE);
	KUNIT_EXPECT_EQ(test, n, 0);
	KUNIT_EXPECT_FALSE(test, p->qp->term_valid);
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_IDLE), 0);
	peer_unregister(p, mr);
	vfree(big);
}

/* ST-26, AE-06, TM-10: the stream breaks */
static void peer_resets(struct kunit *test)
{
	struct peer *p = open_with_receives(test);

	peer_reset(p);
	peer_expect_closed(p, "RST", SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, p->closed_err, -ECONNRESET);
	KUNIT_EXPECT_EQ(test, srnic_counter(p->dev, SRNIC_CNT_TX_TERMINATE), 0);
	peer_flushes(p, p->rcq, 10, 2);
}

/* ST-31, ST-49: Modify is refused there, except to Error, which Linux needs: it ends the wait */
static void modify_refused(struct kunit *test)
{
	static const enum srnic_qp_state next[] = {
		SRNIC_QP_IDLE, SRNIC_QP_RTS, SRNIC_QP_CLOSING, SRNIC_QP_TERMINATE,
	};
	struct peer *p = open_with_receives(test);
	u32 i;

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
	for (i = 0; i < ARRAY_SIZE(next); i++) {
		KUNIT_EXPECT_EQ(test, modify(p, next[i]), -EINVAL);
		KUNIT_EXPECT_TRUE(test, in_state(p, SRNIC_QP_CLOSING));
		/* the QP leaves Terminate too soon for a reliable Modify */
		KUNIT_EXPECT_FALSE(test, srnic_qp_transition_ok(SRNIC_QP_TERMINATE, next[i],
								SRNIC_QP_BY_MODIFY));
	}
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_ERROR), 0);
	KUNIT_EXPECT_TRUE(test, in_state(p, SRNIC_QP_ERROR));
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
	peer_expect_closed(p, "forced", SRNIC_QP_ERROR);
	peer_flushes(p, p->rcq, 10, 2);
}

/* ST-29, ST-46: the wait for a peer that does not answer is bounded */
static void peer_is_silent(struct kunit *test)
{
	struct peer *p = open_with_receives(test);

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_CLOSING), 0);
	peer_expect_end(p, "Closing", 0);
	msleep(1000);
	KUNIT_EXPECT_TRUE(test, in_state(p, SRNIC_QP_CLOSING));
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
	peer_expect_closed(p, "Closing", SRNIC_QP_ERROR);
	KUNIT_EXPECT_EQ(test, p->closed_err, -ETIMEDOUT);
	peer_flushes(p, p->rcq, 10, 2);
}

/* A Send and a Read each way, the first of their stream */
static void expect_new_stream(struct kunit *test, struct peer *p, u64 wr_id)
{
	struct ddp_hdr hdr = HDR_SEND(1), resp = HDR_READ_RESP(0, 0);

	peer_post_recv(p, wr_id, NULL);
	KUNIT_EXPECT_EQ(test, peer_post(p, IB_WR_SEND, wr_id, SIGNAL, NULL, 0, 0), 0);
	peer_expect(p, ULP_SEND, 0);
	KUNIT_EXPECT_EQ(test, p->hdr.msn, 1);
	peer_wc(p, p->scq, wr_id, SRNIC_WC_SUCCESS);
	peer_send(p, &hdr, NULL, 0);
	peer_wc(p, p->rcq, wr_id, SRNIC_WC_SUCCESS);
	/* the inbound and the outbound queue of Read Requests begin anew as well */
	peer_read_request(p, 1, 5, 6, 0, 0, 0);
	peer_expect(p, ULP_READ_RESP, 0);
	KUNIT_EXPECT_EQ(test, peer_post(p, IB_WR_RDMA_READ, wr_id, SIGNAL, NULL, 0, 0), 0);
	peer_expect(p, ULP_READ_REQ, 28);
	KUNIT_EXPECT_EQ(test, p->hdr.msn, 1);
	resp.stag = get_unaligned_be32(p->data);
	resp.to = get_unaligned_be64(p->data + 4);
	peer_send(p, &resp, NULL, 0);
	peer_wc(p, p->scq, wr_id, SRNIC_WC_SUCCESS);
}

/* ST-08, ST-32, ST-39: the same QP connects again, after an orderly close and after each error */
static void reuse(struct kunit *test)
{
	static const enum srnic_qp_state end[] = {
		SRNIC_QP_CLOSING, SRNIC_QP_TERMINATE, SRNIC_QP_ERROR, SRNIC_QP_CLOSING,
	};
	struct peer *p = peer_idle(test);
	u32 i;

	/* markers begin anew as well */
	p->tx_markers = true;
	p->rx_markers = true;
	peer_connect(p, 1, 1);
	for (i = 0; i < ARRAY_SIZE(end); i++) {
		expect_new_stream(test, p, i);
		KUNIT_EXPECT_EQ(test, modify(p, end[i]), 0);
		peer_close(p);
		peer_expect_closed(p, "one of many", end[i] == SRNIC_QP_CLOSING ?
				   SRNIC_QP_IDLE : SRNIC_QP_ERROR);
		KUNIT_EXPECT_EQ(test, p->qp->term_valid, end[i] == SRNIC_QP_TERMINATE);
		KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_IDLE), 0);
		KUNIT_EXPECT_FALSE(test, p->qp->term_valid);
		peer_no_wc(p, p->rcq);
		peer_connect(p, 1, 1);
	}
	expect_new_stream(test, p, 99);
}

/* QP-27, QP-29, QP-30: a QP with full queues is destroyed in each state; no completion is left */
static void destroy(struct kunit *test)
{
	static const enum srnic_qp_state state[] = {
		SRNIC_QP_RTS, SRNIC_QP_CLOSING, SRNIC_QP_TERMINATE, SRNIC_QP_ERROR,
	};
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(state); i++) {
		struct peer *p = peer_open(test, 1, 1);
		u32 qpn = p->qp->ibqp.qp_num;
		u8 mem[8];
		struct srnic_tpte *mr = peer_region(p, p->pd, mem, 8, ALL);
		struct ib_sge sge = peer_sge(mr, 0, 8);
		struct srnic_qp *qp = p->qp;

		for (j = 0; j < PEER_DEPTH; j++) {
			peer_post_recv(p, j, NULL);
			peer_post(p, IB_WR_RDMA_READ, j, SIGNAL, &sge, 1, 2);
		}
		if (state[i] != SRNIC_QP_RTS)
			KUNIT_EXPECT_EQ(test, modify(p, state[i]), 0);
		srnic_qp_destroy(qp);
		p->qp = NULL;
		KUNIT_EXPECT_EQ(test, p->closed, 1);
		KUNIT_EXPECT_EQ(test, srnic_held(p->dev, SRNIC_KIND_QP), 0);
		KUNIT_EXPECT_PTR_EQ(test, srnic_qp_find(p->dev, qpn), NULL);
		peer_no_wc(p, p->scq);
		peer_no_wc(p, p->rcq);
		peer_unregister(p, mr);
	}
}

/* Ways into Terminate and, from there, to Error */
static void bad_lkey(struct peer *p)
{
	struct ib_sge sge = { .length = 4, .lkey = 0xdead00 };

	peer_post(p, IB_WR_SEND, 1, SIGNAL, &sge, 0, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_INVALID_STAG);
}

static void lying_response(struct peer *p)
{
	struct ddp_hdr hdr = HDR_READ_RESP(0xdead00, 0);

	peer_send(p, &hdr, "abcd", 4);
}

static void terminated(struct peer *p)
{
	static const u8 term[4] = { 0x00, 0x00, 0, 0 };
	struct ddp_hdr hdr = HDR_TERMINATE;

	peer_send(p, &hdr, term, sizeof(term));
}

static void by_modify(struct peer *p)
{
	modify(p, SRNIC_QP_TERMINATE);
}

/* An error is reported to the consumer at once, whatever the peer does with its direction */
static void told_at_once(struct kunit *test)
{
	static void (* const error[])(struct peer *) = {
		bad_lkey, lying_response, terminated, by_modify,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(error); i++) {
		struct peer *p = open_with_receives(test);
		u64 begin = ktime_get_ns();

		error[i](p);
		peer_expect_closed(p, "an error, and the peer stays", SRNIC_QP_ERROR);
		peer_flushes(p, p->rcq, 10, 2);
		KUNIT_EXPECT_LT_MSG(test, ktime_get_ns() - begin, NSEC_PER_SEC / 2, "row %u", i);
		/* the QP has given up the stream, and can take another one (ST-39) */
		KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_IDLE), 0);
	}
}

/* TDN-8, X-6: staged FPDUs, the Terminate and the FIN arrive in this order once the peer reads */
static void words_linger(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 *big = vzalloc(BIG);
	struct srnic_tpte *mr;
	struct ib_sge sge;

	KUNIT_ASSERT_NOT_NULL(test, big);
	mr = peer_region(p, p->pd, big, BIG, ALL);
	sge = peer_sge(mr, 0, BIG);
	peer_post(p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 1, 2);
	/* until the buffers of both sockets are full */
	msleep(200);
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_TERMINATE), 0);
	peer_expect_closed(p, "a peer that does not read", SRNIC_QP_ERROR);
	peer_flushes(p, p->scq, 1, 1);
	peer_unregister(p, mr);
	vfree(big);
	p->skip = ULP_WRITE;
	peer_expect_terminate(p, "a peer that reads at last", 0x0000, 0);
	KUNIT_EXPECT_GT(test, p->skipped, SZ_64K);
	KUNIT_EXPECT_LT(test, p->skipped, BIG);
	peer_expect_end(p, "a peer that reads at last", 0);
}

/* TDN-8, X-7: octets that the peer still sends are dropped; no RST overtakes the Terminate */
static void linger_drains(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 *big = vzalloc(BIG);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, big);
	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_TERMINATE), 0);
	peer_expect_closed(p, "Modify", SRNIC_QP_ERROR);
	for (i = 0; i < 8; i++)
		peer_send_octets(p, big, BIG);
	peer_expect_terminate(p, "a peer that goes on", 0x0000, 0);
	peer_expect_end(p, "a peer that goes on", 0);
	vfree(big);
}

/* ST-29: a peer that has received everything and does not close is reset */
static void linger_ends(struct kunit *test)
{
	struct peer *p = open_with_receives(test);

	KUNIT_EXPECT_EQ(test, modify(p, SRNIC_QP_TERMINATE), 0);
	peer_expect_terminate(p, "Modify", 0x0000, 0);
	peer_expect_end(p, "Modify", 0);
	msleep(PEER_CLOSE_TIMEOUT * MSEC_PER_SEC / 2);
	KUNIT_EXPECT_NE(test, READ_ONCE(p->sock->sk->sk_state), TCP_CLOSE);
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
}

/* Destroy in RTS delivers what has completed, then sends FIN */
static void destroy_delivers(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 *data = vzalloc(SZ_64K);
	struct srnic_tpte *mr;
	struct ib_sge sge;
	u32 got = 0;

	KUNIT_ASSERT_NOT_NULL(test, data);
	mr = peer_region(p, p->pd, data, SZ_64K, ALL);
	sge = peer_sge(mr, 0, SZ_64K);
	peer_post(p, IB_WR_SEND, 1, SIGNAL, &sge, 0, 0);
	peer_wc(p, p->scq, 1, SRNIC_WC_SUCCESS);
	/* the device has not read it when the QP is destroyed */
	peer_send_octets(p, "\0\x12\x41\x43", 4);
	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(p->qp), 0);
	p->qp = NULL;
	while (got < SZ_64K) {
		KUNIT_ASSERT_GT(test, peer_recv(p), 0);
		got += p->data_len;
	}
	peer_expect_end(p, "destroy", 0);
	peer_unregister(p, mr);
	vfree(data);
}

/* Destroy in RTS with WRs outstanding resets */
static void destroy_resets(struct kunit *test)
{
	struct peer *p = open_with_receives(test);
	u8 mem[8];
	struct srnic_tpte *mr = peer_region(p, p->pd, mem, 8, ALL);
	struct ib_sge sge = peer_sge(mr, 0, 8);

	peer_post(p, IB_WR_RDMA_READ, 1, SIGNAL, &sge, 1, 2);
	peer_expect(p, ULP_READ_REQ, 28);
	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(p->qp), 0);
	p->qp = NULL;
	KUNIT_EXPECT_TRUE(test, peer_was_reset(p));
	peer_expect_end(p, "destroy", -ECONNRESET);
	peer_unregister(p, mr);
}

/*
 * QP-17, QP-20, QP-24, ST-15, ST-16: a refused Modify changes nothing, not even valid attributes
 */
static void modify_all_or_nothing(struct kunit *test)
{
	static const struct {
		struct ib_qp_attr attr;
		int mask, err;
	} rows[] = {
		{ { .max_rd_atomic = 1, .qp_state = IB_QPS_RESET },
		  IB_QP_MAX_QP_RD_ATOMIC | IB_QP_STATE, -EINVAL },
		{ { .max_rd_atomic = 1, .qp_state = 77 },
		  IB_QP_MAX_QP_RD_ATOMIC | IB_QP_STATE, -EINVAL },
		{ { .max_rd_atomic = 1, .cur_qp_state = IB_QPS_ERR },
		  IB_QP_MAX_QP_RD_ATOMIC | IB_QP_CUR_STATE, -EINVAL },
		{ { .max_rd_atomic = 1, .max_dest_rd_atomic = 3 },
		  IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC, -EINVAL },
		{ { .max_rd_atomic = 1, .port_num = 2 }, IB_QP_MAX_QP_RD_ATOMIC | IB_QP_PORT,
		  -EINVAL },
		{ { .max_rd_atomic = 1 }, IB_QP_MAX_QP_RD_ATOMIC | IB_QP_QKEY, -EOPNOTSUPP },
		/* with a transition that takes no attribute (QP-20) */
		{ { .max_rd_atomic = 1, .qp_state = IB_QPS_SQD },
		  IB_QP_MAX_QP_RD_ATOMIC | IB_QP_STATE, -EINVAL },
		{ { .max_rd_atomic = 1, .qp_state = IB_QPS_ERR },
		  IB_QP_MAX_QP_RD_ATOMIC | IB_QP_STATE, -EINVAL },
		/* these are valid */
		{ { .qp_state = IB_QPS_RTS }, IB_QP_STATE, 0 },
		{ { .max_dest_rd_atomic = 2, .max_rd_atomic = 2 },
		  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MAX_QP_RD_ATOMIC, 0 },
	};
	struct peer *p = peer_open(test, 2, 2);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ib_qp_attr attr = rows[i].attr, now;
		struct ib_qp_init_attr init;

		KUNIT_EXPECT_EQ_MSG(test, rows[i].err,
				    srnic_verbs_ops.modify_qp(&p->qp->ibqp, &attr, rows[i].mask,
							      NULL), "row %u", i);
		KUNIT_EXPECT_EQ(test, 0, srnic_verbs_ops.query_qp(&p->qp->ibqp, &now, -1, &init));
		KUNIT_EXPECT_EQ_MSG(test, now.max_rd_atomic, 2, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, now.max_dest_rd_atomic, 2, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, now.qp_state, IB_QPS_RTS, "row %u", i);
	}
	expect_new_stream(test, p, 1);
	KUNIT_EXPECT_EQ(test, p->num_events, 0);
}

static struct kunit_case close_cases[] = {
	KUNIT_CASE(peer_closes),
	KUNIT_CASE(idle_after_close),
	KUNIT_CASE(peer_closes_early),
	KUNIT_CASE(pair_loses_its_peer),
	KUNIT_CASE(pair_does_not_wait),
	KUNIT_CASE(peer_closes_inside),
	KUNIT_CASE(modify_closing),
	KUNIT_CASE(modify_closing_busy),
	KUNIT_CASE(closing_after_a_read),
	KUNIT_CASE(posted_in_closing),
	KUNIT_CASE(segment_in_closing),
	KUNIT_CASE(segment_behind_data),
	KUNIT_CASE(segment_and_silence),
	KUNIT_CASE(terminate_in_closing),
	KUNIT_CASE(modify_terminate),
	KUNIT_CASE(terminate_inside),
	KUNIT_CASE(modify_error),
	KUNIT_CASE(peer_resets),
	KUNIT_CASE(modify_refused),
	KUNIT_CASE(peer_is_silent),
	KUNIT_CASE(reuse),
	KUNIT_CASE(destroy),
	KUNIT_CASE(told_at_once),
	KUNIT_CASE(words_linger),
	KUNIT_CASE(linger_drains),
	KUNIT_CASE(linger_ends),
	KUNIT_CASE(destroy_delivers),
	KUNIT_CASE(destroy_resets),
	KUNIT_CASE(modify_all_or_nothing),
	{}
};

static struct kunit_suite close_suite = {
	.name = "srnic-close",
	.test_cases = close_cases,
};

kunit_test_suite(close_suite);
