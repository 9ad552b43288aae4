// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ack.c: acknowledgments, and completions that wait for them. */
#include <kunit/test.h>
#include <linux/jiffies.h>
#include "engine/rx.h"
#include "engine/tx.h"
#include "peer.h"
#include "verbs/verbs.h"
#include "wire/mpa.h"

#define ALL	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_READ | \
		 SRNIC_REMOTE_WRITE | SRNIC_READ_SINK)
#define SIZE	256
#define SIGNAL	IB_SEND_SIGNALED
#define RKEY	0x8765
#define ULP_ACK	0x4e
#define ASKS	0x20

#define HDR_ACK(_msn, _number) \
	{ .last = true, .version = 1, .ulp = ULP_ACK, .qn = 3, .msn = (_msn), \
	  .inv_stag = (_number) }

struct acks {
	struct peer *p;
	u8 *mem;
	struct srnic_tpte *mr;
	u32 msn;	/* of the next acknowledgment that the test sends */
};

static struct acks acks_begin(struct kunit *test, bool agreed, bool by_threads)
{
	struct acks a = { .mem = kunit_kzalloc(test, SIZE, GFP_KERNEL), .msn = 1 };

	KUNIT_ASSERT_NOT_NULL(test, a.mem);
	a.p = peer_idle(test);
	a.p->acks = agreed;
	a.p->by_threads = by_threads;
	a.p->no_receive = SRNIC_FOREVER;
	peer_connect(a.p, 2, 2);
	a.mr = peer_region(a.p, a.p->pd, a.mem, SIZE, ALL);
	return a;
}

static struct acks acks_open(struct kunit *test)
{
	return acks_begin(test, true, false);
}

static void post(struct acks *a, enum ib_wr_opcode op, u64 wr_id, int flags)
{
	struct ib_sge sge = peer_sge(a->mr, 0, 8);

	KUNIT_ASSERT_EQ(a->p->test, 0, peer_post(a->p, op, wr_id, flags, &sge, 0, RKEY));
}

/* The QP posts a Write of 8 octets, which the test takes */
static void write_out(struct acks *a, u64 wr_id, int flags)
{
	post(a, IB_WR_RDMA_WRITE, wr_id, flags);
	peer_expect(a->p, ULP_WRITE, 8);
}

static void say_ack(struct acks *a, u32 number)
{
	struct ddp_hdr hdr = HDR_ACK(a->msn++, number);

	peer_send(a->p, &hdr, NULL, 0);
}

static void write_in_asks(struct acks *a, u8 asks)
{
	struct ddp_hdr hdr = HDR_WRITE(a->mr->stag, a->mr->base);

	hdr.ulp |= asks;
	peer_send(a->p, &hdr, "12345678", 8);
}

static void write_in(struct acks *a)
{
	write_in_asks(a, 0);
}

static void expect_ack(struct acks *a, u32 msn, u32 number)
{
	peer_expect(a->p, ULP_ACK, 0);
	KUNIT_EXPECT_EQ(a->p->test, a->p->hdr.qn, 3);
	KUNIT_EXPECT_EQ(a->p->test, a->p->hdr.msn, msn);
	KUNIT_EXPECT_EQ(a->p->test, a->p->hdr.mo, 0);
	KUNIT_EXPECT_TRUE(a->p->test, a->p->hdr.last);
	KUNIT_EXPECT_EQ(a->p->test, a->p->hdr.inv_stag, number);
}

/* A Send or Write completes when it is acknowledged, and not when TCP has it */
static void completions_wait(struct kunit *test)
{
	struct acks a = acks_open(test);

	write_out(&a, 1, SIGNAL);
	post(&a, IB_WR_SEND, 2, SIGNAL);
	peer_expect(a.p, ULP_SEND, 8);
	msleep(50);
	peer_no_wc(a.p, a.p->scq);
	say_ack(&a, 1);
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_no_wc(a.p, a.p->scq);
	say_ack(&a, 2);
	peer_wc(a.p, a.p->scq, 2, SRNIC_WC_SUCCESS);
}

/* One number acknowledges all messages before it, unsignaled ones as well */
static void numbers_are_cumulative(struct kunit *test)
{
	struct acks a = acks_open(test);
	u32 i;

	for (i = 1; i <= 6; i++)
		write_out(&a, i, i % 3 ? 0 : SIGNAL);
	say_ack(&a, 5);
	peer_wc(a.p, a.p->scq, 3, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, peer_until(READ_ONCE(a.p->qp->sq_completed) == 5));
	peer_no_wc(a.p, a.p->scq);
	say_ack(&a, 6);
	peer_wc(a.p, a.p->scq, 6, SRNIC_WC_SUCCESS);
}

/* A Write with immediate data is two messages */
static void immediate_data_counts(struct kunit *test)
{
	struct acks a = acks_open(test);

	post(&a, IB_WR_RDMA_WRITE_WITH_IMM, 1, SIGNAL);
	peer_expect(a.p, ULP_WRITE, 8);
	peer_expect(a.p, 0x48, 8);
	say_ack(&a, 1);
	msleep(50);
	peer_no_wc(a.p, a.p->scq);
	say_ack(&a, 2);
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
}

/* The peer answers a Read when all before it is in place */
static void a_response_acknowledges(struct kunit *test)
{
	struct acks a = acks_open(test);
	struct ddp_hdr hdr = HDR_READ_RESP(a.mr->stag, a.mr->base);

	write_out(&a, 1, SIGNAL);
	post(&a, IB_WR_RDMA_READ, 2, SIGNAL);
	peer_expect(a.p, ULP_READ_REQ, 28);
	write_out(&a, 3, SIGNAL);
	peer_no_wc(a.p, a.p->scq);
	peer_send(a.p, &hdr, "12345678", 8);
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_wc(a.p, a.p->scq, 2, SRNIC_WC_SUCCESS);
	peer_no_wc(a.p, a.p->scq);
	/* the number that came with the response says nothing new of the Write before it */
	say_ack(&a, 1);
	say_ack(&a, 2);
	peer_wc(a.p, a.p->scq, 3, SRNIC_WC_SUCCESS);
}

static void acknowledges(struct acks *a)
{
	struct ib_sge sge = peer_sge(a->mr, 0, 8);
	struct ddp_hdr send = HDR_SEND(1);

	write_in(a);
	expect_ack(a, 1, 1);
	peer_post_recv(a->p, 1, &sge);
	peer_send(a->p, &send, "12345678", 8);
	expect_ack(a, 2, 2);
	peer_wc(a->p, a->p->rcq, 1, SRNIC_WC_SUCCESS);
	/* an acknowledgment is not acknowledged */
	write_out(a, 2, SIGNAL);
	say_ack(a, 1);
	peer_wc(a->p, a->p->scq, 2, SRNIC_WC_SUCCESS);
	peer_expect_nothing(a->p);
}

/* What is placed and delivered is acknowledged, in softirq or by the kthreads */
static void delivered_messages_are_acknowledged(struct kunit *test)
{
	struct acks a = acks_open(test);

	acknowledges(&a);
	a = acks_begin(test, true, true);
	acknowledges(&a);
}

/* A segment that is not the last of its message is not */
static void only_whole_messages(struct kunit *test)
{
	struct acks a = acks_open(test);
	struct ddp_hdr hdr = HDR_WRITE(a.mr->stag, a.mr->base);

	hdr.last = false;
	peer_send(a.p, &hdr, "12345678", 8);
	peer_expect_nothing(a.p);
	write_in(&a);
	expect_ack(&a, 1, 1);
}

/* A message that waits for a receive is not acknowledged, and those before it are */
static void a_waiting_message_is_not(struct kunit *test)
{
	struct acks a = acks_open(test);
	struct ib_sge sge = peer_sge(a.mr, 0, 8);
	struct ddp_hdr send = HDR_SEND(1);

	write_in(&a);
	expect_ack(&a, 1, 1);
	peer_send(a.p, &send, "12345678", 8);
	peer_expect_nothing(a.p);
	peer_post_recv(a.p, 1, &sge);
	expect_ack(&a, 2, 2);
}

/* ... and an acknowledgment behind it is taken: the receive may depend on it */
static void looks_ahead(struct kunit *test)
{
	struct acks a = acks_open(test);
	struct ib_sge sge = peer_sge(a.mr, 0, 8);
	struct ddp_hdr send = HDR_SEND(1);

	write_out(&a, 1, SIGNAL);
	write_out(&a, 2, SIGNAL);
	peer_send(a.p, &send, "12345678", 8);
	write_in(&a);
	say_ack(&a, 1);
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
	say_ack(&a, 2);
	peer_wc(a.p, a.p->scq, 2, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_FALSE(test, a.mem[0]);
	peer_post_recv(a.p, 3, &sge);
	peer_wc(a.p, a.p->rcq, 3, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(a.p->qp), SRNIC_QP_RTS);
}

static void misuse(struct kunit *test, const char *what, bool agreed, u32 first, struct ddp_hdr hdr,
		   u32 len, u16 code)
{
	struct acks a = acks_begin(test, agreed, false);

	write_out(&a, 1, SIGNAL);
	write_out(&a, 2, SIGNAL);
	if (first)
		say_ack(&a, first);
	peer_send(a.p, &hdr, "1234", len);
	peer_expect_terminate(a.p, what, code, 0xc000);
	peer_expect_closed(a.p, what, SRNIC_QP_ERROR);
}

/* Acknowledgments that nobody has agreed on, or of what was not sent, or backwards */
static void misuse_is_an_unexpected_opcode(struct kunit *test)
{
	misuse(test, "without the agreement", false, 0, (struct ddp_hdr)HDR_ACK(1, 1), 0, 0x0206);
	misuse(test, "never sent", true, 0, (struct ddp_hdr)HDR_ACK(1, 3), 0, 0x0206);
	misuse(test, "never sent, far", true, 1, (struct ddp_hdr)HDR_ACK(2, 0x80000000), 0, 0x0206);
	misuse(test, "nothing", true, 0, (struct ddp_hdr)HDR_ACK(1, 0), 0, 0x0206);
	misuse(test, "once more", true, 1, (struct ddp_hdr)HDR_ACK(2, 1), 0, 0x0206);
	misuse(test, "backwards", true, 2, (struct ddp_hdr)HDR_ACK(2, 1), 0, 0x0206);
	misuse(test, "without the agreement, long", false, 0, (struct ddp_hdr)HDR_ACK(1, 1), 4,
	       0x0206);
}

/* ... or with another form */
static void malformed(struct kunit *test)
{
	struct ddp_hdr hdr = HDR_ACK(1, 1);

	misuse(test, "MSN", true, 0, (struct ddp_hdr)HDR_ACK(2, 1), 0, 0x1203);
	misuse(test, "length", true, 0, hdr, 4, 0x02ff);
	hdr.mo = 1;
	misuse(test, "MO", true, 0, hdr, 0, 0x1204);
	hdr.mo = 0;
	hdr.last = false;
	misuse(test, "L", true, 0, hdr, 0, 0x0207);
}

/* The last acknowledgment goes before the Terminate: the peer learns which message is bad */
static void acknowledged_before_the_terminate(struct kunit *test)
{
	struct acks a = acks_open(test);
	struct ddp_hdr bad = HDR_WRITE(a.mr->stag ^ 0x100, a.mr->base);

	write_in(&a);
	write_in(&a);
	peer_send(a.p, &bad, "1", 1);
	do {
		peer_expect(a.p, ULP_ACK, 0);
	} while (a.p->hdr.inv_stag == 1);
	KUNIT_EXPECT_EQ(test, a.p->hdr.inv_stag, 2);
	peer_expect_terminate(a.p, "a bad STag", 0x1100, 0xc000);
}

static void terminated(struct kunit *test, u16 code, enum srnic_wc_status status,
		       enum ib_wc_status verbs)
{
	struct acks a = acks_open(test);
	struct ddp_hdr hdr = HDR_TERMINATE;
	u8 term[4] = { code >> 8, code, 0, 0 };
	struct ib_wc wc;

	write_out(&a, 1, 0);
	write_out(&a, 2, SIGNAL);
	write_out(&a, 3, 0);
	write_out(&a, 4, SIGNAL);
	say_ack(&a, 2);
	peer_send(a.p, &hdr, term, sizeof(term));
	peer_wc(a.p, a.p->scq, 2, SRNIC_WC_SUCCESS);
	wc = peer_wc(a.p, a.p->scq, 3, status);
	KUNIT_EXPECT_EQ_MSG(test, wc.status, verbs, "%04x", code);
	peer_wc(a.p, a.p->scq, 4, SRNIC_WC_FLUSHED);
	peer_expect_closed(a.p, "Terminate", SRNIC_QP_ERROR);
	peer_expect_event(a.p, "a completion has told it", -1);
}

/* The first WR that was not acknowledged has InfiniBand's status for the Terminate */
static void a_terminate_has_a_status(struct kunit *test)
{
	terminated(test, 0x1100, SRNIC_WC_REMOTE_TERMINATION, IB_WC_REM_ACCESS_ERR);
	terminated(test, 0x1101, SRNIC_WC_REMOTE_TERMINATION, IB_WC_REM_ACCESS_ERR);
	terminated(test, 0x0209, SRNIC_WC_REMOTE_TERMINATION, IB_WC_REM_ACCESS_ERR);
	terminated(test, 0x1205, SRNIC_WC_REMOTE_REQUEST, IB_WC_REM_INV_REQ_ERR);
	terminated(test, 0x0206, SRNIC_WC_REMOTE_REQUEST, IB_WC_REM_INV_REQ_ERR);
	terminated(test, 0x0000, SRNIC_WC_REMOTE_OPERATION, IB_WC_REM_OP_ERR);
	terminated(test, 0x0207, SRNIC_WC_REMOTE_OPERATION, IB_WC_REM_OP_ERR);
	terminated(test, 0x1202, SRNIC_WC_NO_RECEIVE, IB_WC_RNR_RETRY_EXC_ERR);
	terminated(test, 0x2002, SRNIC_WC_NO_PEER, IB_WC_RETRY_EXC_ERR);
}

/* Each stream begins to count anew */
static void a_stream_counts_anew(struct kunit *test)
{
	struct acks a = acks_open(test);

	write_out(&a, 1, SIGNAL);
	say_ack(&a, 1);
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_close(a.p);
	peer_expect_closed(a.p, "closed", SRNIC_QP_IDLE);
	peer_connect(a.p, 2, 2);
	a.msn = 1;
	write_out(&a, 2, SIGNAL);
	msleep(50);
	peer_no_wc(a.p, a.p->scq);
	say_ack(&a, 1);
	peer_wc(a.p, a.p->scq, 2, SRNIC_WC_SUCCESS);
	a.p->acks = false;
	peer_close(a.p);
	peer_expect_closed(a.p, "closed", SRNIC_QP_IDLE);
	peer_connect(a.p, 2, 2);
	write_out(&a, 3, SIGNAL);
	peer_wc(a.p, a.p->scq, 3, SRNIC_WC_SUCCESS);
	write_in(&a);
	peer_expect_nothing(a.p);
}

/* As if so many messages had been sent in either direction */
static void count_from(struct acks *a, u32 number)
{
	struct srnic_qp *qp = a->p->qp;

	qp->sq_messages = number;
	qp->sq_acked = number;
	qp->tx->messages = number;
	qp->tx->acked = number;
	qp->rx->delivered = number;
	qp->rx->ack_heard = number;
}

/* The numbers are modulo 2^32: after the largest comes 0, and half of them are no more special */
static void numbers_wrap(struct kunit *test)
{
	static const u32 begins[] = { U32_MAX - 1, S32_MAX - 1 };
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(begins); i++) {
		struct acks a = acks_open(test);

		count_from(&a, begins[i]);
		for (j = 1; j <= 4; j++)
			write_out(&a, j, SIGNAL);
		say_ack(&a, begins[i] + 1);
		peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
		peer_no_wc(a.p, a.p->scq);
		say_ack(&a, begins[i] + 4);
		for (j = 2; j <= 4; j++)
			peer_wc(a.p, a.p->scq, j, SRNIC_WC_SUCCESS);
		for (j = 1; j <= 4; j++) {
			write_in(&a);
			expect_ack(&a, j, begins[i] + j);
		}
		say_ack(&a, begins[i] + 5);
		peer_expect_terminate(a.p, "never sent", 0x0206, 0xc000);
		peer_expect_closed(a.p, "never sent", SRNIC_QP_ERROR);
	}
}

/* A peer that acknowledges nothing holds up nobody who ends the QP */
static void a_silent_peer(struct kunit *test)
{
	struct acks a = acks_open(test);
	unsigned long since;

	write_out(&a, 1, SIGNAL);
	since = jiffies;
	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(a.p->qp), 0);
	a.p->qp = NULL;
	KUNIT_EXPECT_LT(test, jiffies - since, PEER_CLOSE_TIMEOUT * HZ);
	peer_expect_end(a.p, "destroyed", 0);

	a = acks_open(test);
	write_out(&a, 1, SIGNAL);
	since = jiffies;
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(a.p->qp, SRNIC_QP_ERROR), 0);
	peer_flushes(a.p, a.p->scq, 1, 1);
	peer_expect_closed(a.p, "Error", SRNIC_QP_ERROR);
	KUNIT_EXPECT_LT(test, jiffies - since, PEER_CLOSE_TIMEOUT * HZ);

	/* only Closing waits for it, for the close time-out */
	a = acks_open(test);
	write_out(&a, 1, SIGNAL);
	since = jiffies;
	KUNIT_EXPECT_EQ(test, srnic_qp_modify(a.p->qp, SRNIC_QP_CLOSING), 0);
	peer_flushes(a.p, a.p->scq, 1, 1);
	peer_expect_closed(a.p, "Closing", SRNIC_QP_ERROR);
	KUNIT_EXPECT_GE(test, jiffies - since, (PEER_CLOSE_TIMEOUT - 1) * HZ);
	KUNIT_EXPECT_LT(test, jiffies - since, 3 * PEER_CLOSE_TIMEOUT * HZ);
}

/* WRs that await their acknowledgment move with their queue (QP-22) */
static void resized_meanwhile(struct kunit *test)
{
	static const u32 sizes[] = { 64, 8 };
	struct acks a = acks_open(test);
	u32 i, j, sent = 0, done = 0;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct ib_qp_attr attr = {
			.cap = { .max_send_wr = sizes[i], .max_recv_wr = PEER_DEPTH },
		};

		for (j = 0; j < 6; j++, sent++)
			write_out(&a, sent + 1, SIGNAL);
		say_ack(&a, done + 2);
		for (j = 0; j < 2; j++)
			peer_wc(a.p, a.p->scq, ++done, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_EQ(test, 0, srnic_verbs_ops.modify_qp(&a.p->qp->ibqp, &attr,
								   IB_QP_CAP, NULL));
		peer_no_wc(a.p, a.p->scq);
		write_out(&a, ++sent, SIGNAL);
		say_ack(&a, sent);
		while (done < sent)
			peer_wc(a.p, a.p->scq, ++done, SRNIC_WC_SUCCESS);
	}
}

/* An acknowledgment as it is on the wire, 24 octets; or with another CRC */
static void put_ack(u8 *fpdu, u32 msn, u32 number, bool good)
{
	struct ddp_hdr hdr = HDR_ACK(msn, number);

	put_unaligned_be16(DDP_UNTAGGED_LEN, fpdu);
	ddp_encode(fpdu + MPA_LEN_FIELD, &hdr);
	put_unaligned_le32(mpa_crc_final(mpa_crc_add(mpa_crc_start(), fpdu, 20)) ^ !good,
			   fpdu + 20);
}

/* One octet at a time, one WR at a time, many at a time */
static void in_pieces(struct kunit *test)
{
	struct acks a = acks_open(test);
	u8 octets[PEER_DEPTH * 24];
	u32 i;

	write_out(&a, 0, SIGNAL);
	put_ack(octets, 1, 1, true);
	for (i = 0; i < 24; i++)
		peer_send_octets(a.p, octets + i, 1);
	peer_wc(a.p, a.p->scq, 0, SRNIC_WC_SUCCESS);
	for (i = 1; i < PEER_DEPTH; i++) {
		write_out(&a, i, SIGNAL);
		put_ack(octets + i * 24, i + 1, i + 1, true);
	}
	peer_send_octets(a.p, octets + 24, sizeof(octets) - 24);
	for (i = 1; i < PEER_DEPTH; i++)
		peer_wc(a.p, a.p->scq, i, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, srnic_qp_state(a.p->qp), SRNIC_QP_RTS);
}

/* The look ahead takes nothing for an acknowledgment that is none, and ends where FPDUs end */
static void looks_at_a_hostile_stream(struct kunit *test)
{
	struct acks a = acks_open(test);
	struct ib_sge sge = peer_sge(a.mr, 0, 8);
	struct ddp_hdr send = HDR_SEND(1), write = HDR_WRITE(a.mr->stag, a.mr->base + 8);
	u8 octets[24], nothing[8] = { };
	u32 i;

	for (i = 1; i <= 4; i++)
		write_out(&a, i, SIGNAL);
	peer_send(a.p, &send, "12345678", 8);
	/* inside of a Write; a Write of this length; a wrong CRC; and of what was not sent */
	put_ack(octets, 1, 2, true);
	peer_send(a.p, &write, octets, sizeof(octets));
	peer_send(a.p, &write, "1234", 4);
	put_ack(octets, 1, 2, false);
	peer_send_octets(a.p, octets, sizeof(octets));
	put_ack(octets, 1, 5, true);
	peer_send_octets(a.p, octets, sizeof(octets));
	/* the shortest FPDUs, which are none of DDP */
	for (i = 0; i < 100; i++)
		peer_send_octets(a.p, nothing, sizeof(nothing));
	msleep(50);
	peer_no_wc(a.p, a.p->scq);
	put_ack(octets, 7, 1, true);
	peer_send_octets(a.p, octets, sizeof(octets));
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
	/* the longest length, of which there is only the beginning */
	peer_send_octets(a.p, "\xff\xff", 2);
	put_ack(octets, 2, 2, true);
	peer_send_octets(a.p, octets, sizeof(octets));
	msleep(50);
	peer_no_wc(a.p, a.p->scq);
	/* in order it ends with the wrong CRC: RFC 5044 8, 2/0/02 */
	peer_post_recv(a.p, 3, &sge);
	peer_wc(a.p, a.p->rcq, 3, SRNIC_WC_SUCCESS);
	while (peer_recv(a.p) > 0 && a.p->hdr.ulp == ULP_ACK)
		;
	KUNIT_EXPECT_EQ(test, a.p->hdr.ulp, ULP_TERMINATE);
	KUNIT_EXPECT_EQ(test, get_unaligned_be16(a.p->data), 0x2002);
	peer_flushes(a.p, a.p->scq, 2, 3);
	peer_expect_closed(a.p, "a wrong CRC", SRNIC_QP_ERROR);
}

/* After the end no acknowledgment turns a flush into success */
static void too_late(struct kunit *test)
{
	struct acks a = acks_open(test);
	struct ddp_hdr bad = HDR_WRITE(a.mr->stag ^ 0x100, a.mr->base);

	write_out(&a, 1, SIGNAL);
	write_out(&a, 2, SIGNAL);
	peer_send(a.p, &bad, "1", 1);
	say_ack(&a, 1);
	peer_flushes(a.p, a.p->scq, 1, 2);
	peer_expect_closed(a.p, "a bad STag", SRNIC_QP_ERROR);
}

/* In SQD posted WRs wait; what was sent before completes, and what comes is acknowledged */
static void while_the_sq_is_stopped(struct kunit *test)
{
	struct acks a = acks_open(test);

	write_out(&a, 1, SIGNAL);
	WRITE_ONCE(a.p->qp->ib.sqd, true);
	post(&a, IB_WR_SEND, 2, SIGNAL);
	write_in(&a);
	expect_ack(&a, 1, 1);
	say_ack(&a, 1);
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_expect_nothing(a.p);
	peer_no_wc(a.p, a.p->scq);
}

/* Nothing is acknowledged for lack of a question until release_late() */
static void hold_late(struct acks *a)
{
	queue_delayed_work(system_wq, &a->p->qp->ack_late, 60 * HZ);
}

static void release_late(struct acks *a)
{
	mod_delayed_work(system_wq, &a->p->qp->ack_late, 0);
}

/* @writes have come that nobody asks about, and nothing is sent */
static struct acks acks_held(struct kunit *test, bool by_threads, u32 writes)
{
	struct acks a = acks_begin(test, true, by_threads);

	hold_late(&a);
	while (writes--)
		write_in(&a);
	peer_expect_nothing(a.p);
	return a;
}

/* What the peer asks for is acknowledged at once, with all before it */
static void asked_for(struct kunit *test)
{
	struct acks a = acks_held(test, false, 2);

	write_in_asks(&a, ASKS);
	expect_ack(&a, 1, 3);
	write_in(&a);
	peer_expect_nothing(a.p);
	write_in_asks(&a, ASKS);
	expect_ack(&a, 2, 5);
	release_late(&a);
	peer_expect_nothing(a.p);
}

/* ... by the kthreads as well */
static void asked_of_kthreads(struct kunit *test)
{
	struct acks a = acks_held(test, true, 1);

	write_in_asks(&a, ASKS);
	expect_ack(&a, 1, 2);
	release_late(&a);
}

/* What it does not ask for is acknowledged a little later */
static void not_asked_for(struct kunit *test)
{
	struct acks a = acks_held(test, false, 2);

	release_late(&a);
	expect_ack(&a, 1, 2);
	write_in(&a);
	expect_ack(&a, 2, 3);
}

/* ... or goes before a message that this end sends anyway */
static void goes_with_a_message(struct kunit *test)
{
	struct acks a = acks_held(test, false, 2);

	post(&a, IB_WR_RDMA_WRITE, 1, SIGNAL);
	expect_ack(&a, 1, 2);
	peer_expect(a.p, ULP_WRITE, 8);
	write_out(&a, 2, 0);
	release_late(&a);
	peer_expect_nothing(a.p);
}

/* Before the FIN all that was delivered is acknowledged, asked for or not */
static void before_the_fin(struct kunit *test)
{
	struct acks a = acks_held(test, false, 1);

	KUNIT_EXPECT_EQ(test, 0, srnic_qp_modify(a.p->qp, SRNIC_QP_CLOSING));
	expect_ack(&a, 1, 1);
	peer_expect_end(a.p, "Closing", 0);
	peer_close(a.p);
	peer_expect_closed(a.p, "Closing", SRNIC_QP_IDLE);
}

/* The end of a stream waits for no time */
static void the_end_cancels(struct kunit *test)
{
	struct acks a = acks_held(test, false, 1);

	KUNIT_EXPECT_EQ(test, 0, srnic_qp_modify(a.p->qp, SRNIC_QP_ERROR));
	KUNIT_EXPECT_TRUE(test, peer_until(!delayed_work_pending(&a.p->qp->ack_late)));
}

/* The last segment of what is signaled asks, and nothing else does */
static void asks(struct kunit *test)
{
	struct acks a = acks_open(test);

	write_out(&a, 1, SIGNAL);
	KUNIT_EXPECT_TRUE(test, a.p->asked);
	say_ack(&a, 1);
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
	write_out(&a, 2, 0);
	KUNIT_EXPECT_FALSE(test, a.p->asked);
	post(&a, IB_WR_RDMA_WRITE_WITH_IMM, 1, SIGNAL);
	peer_expect(a.p, ULP_WRITE, 8);
	KUNIT_EXPECT_FALSE(test, a.p->asked);
	peer_expect(a.p, 0x48, 8);
	KUNIT_EXPECT_TRUE(test, a.p->asked);
}

/* Without the agreement the bit is reserved: not sent, and not looked at */
static void nobody_asks_without_the_agreement(struct kunit *test)
{
	struct acks a = acks_begin(test, false, false);

	post(&a, IB_WR_RDMA_WRITE, 1, SIGNAL);
	peer_expect(a.p, ULP_WRITE, 8);
	peer_wc(a.p, a.p->scq, 1, SRNIC_WC_SUCCESS);
	write_in_asks(&a, ASKS);
	peer_expect_nothing(a.p);
	KUNIT_EXPECT_TRUE(test, a.mem[0]);
}

static struct kunit_case ack_cases[] = {
	KUNIT_CASE(completions_wait),
	KUNIT_CASE(numbers_are_cumulative),
	KUNIT_CASE(immediate_data_counts),
	KUNIT_CASE(a_response_acknowledges),
	KUNIT_CASE(delivered_messages_are_acknowledged),
	KUNIT_CASE(only_whole_messages),
	KUNIT_CASE(a_waiting_message_is_not),
	KUNIT_CASE(looks_ahead),
	KUNIT_CASE(misuse_is_an_unexpected_opcode),
	KUNIT_CASE(malformed),
	KUNIT_CASE(acknowledged_before_the_terminate),
	KUNIT_CASE(a_terminate_has_a_status),
	KUNIT_CASE(a_stream_counts_anew),
	KUNIT_CASE(numbers_wrap),
	KUNIT_CASE(a_silent_peer),
	KUNIT_CASE(resized_meanwhile),
	KUNIT_CASE(in_pieces),
	KUNIT_CASE(looks_at_a_hostile_stream),
	KUNIT_CASE(too_late),
	KUNIT_CASE(while_the_sq_is_stopped),
	KUNIT_CASE(asked_for),
	KUNIT_CASE(asked_of_kthreads),
	KUNIT_CASE(not_asked_for),
	KUNIT_CASE(goes_with_a_message),
	KUNIT_CASE(before_the_fin),
	KUNIT_CASE(the_end_cancels),
	KUNIT_CASE(asks),
	KUNIT_CASE(nobody_asks_without_the_agreement),
	{}
};

static struct kunit_suite ack_suite = {
	.name = "srnic-ack",
	.test_cases = ack_cases,
};

kunit_test_suite(ack_suite);
