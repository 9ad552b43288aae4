// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rx.c, place.c: only whole FPDUs are processed, in TCP's callback or by the rx kthread. Each
 * FPDU is first verified, then placed; the callback leaves to the kthread what it may not do.
 */
#include <kunit/test.h>
#include <linux/dma-buf.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>
#include "engine/rx.h"
#include "engine/stream.h"
#include "exporter.h"
#include "peer.h"
#include "queue/cq.h"

#define SIZE	SZ_4K
#define GUARD	0xa5
#define RIGHTS	(SRNIC_LOCAL_WRITE | SRNIC_REMOTE_WRITE)
#define FPDU	SZ_64K

/* Two regions that the peer may write to, and guard octets around each */
struct in {
	struct peer *p;
	u8 *all;
	u8 *mem;
	struct srnic_tpte *mr;
	struct srnic_tpte *other;
	u8 *fpdu;
};

static struct in in_idle(struct kunit *test)
{
	struct in in = { .all = kunit_kzalloc(test, 5 * SIZE, GFP_KERNEL) };

	KUNIT_ASSERT_NOT_NULL(test, in.all);	/* outlives the QP */
	in.fpdu = kunit_kzalloc(test, FPDU + 64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, in.fpdu);
	memset(in.all, GUARD, 5 * SIZE);
	in.mem = in.all + SIZE;
	in.p = peer_idle(test);
	in.mr = peer_region(in.p, in.p->pd, in.mem, SIZE, RIGHTS);
	in.other = peer_region(in.p, in.p->pd, in.mem + 2 * SIZE, SIZE, RIGHTS);
	return in;
}

static u64 counter(const struct in *in, enum srnic_counter c)
{
	return srnic_counter(in->p->dev, c);
}

static bool rx_sleeps(const struct in *in)
{
	return waitqueue_active(&in->p->qp->rx_wait) &&	/* tests poll it */
	       !test_bit(SRNIC_QPF_DATA, &in->p->qp->flags);
}

/* The rx kthread has looked once, and sleeps */
static struct in in_open(struct kunit *test)
{
	struct in in = in_idle(test);

	peer_connect(in.p, 1, 1);
	KUNIT_ASSERT_TRUE(test, peer_until(rx_sleeps(&in)));
	return in;
}

/* An FPDU of @len octets of payload, in which neighbours differ. Return: its octets. */
static u32 make_fpdu(const struct in *in, const struct ddp_hdr *hdr, u32 len)
{
	u32 head = ddp_encode(in->fpdu + MPA_LEN_FIELD, hdr), at, i;

	put_unaligned_be16(head + len, in->fpdu);
	at = MPA_LEN_FIELD + head;
	for (i = 0; i < len; i++)
		in->fpdu[at++] = i * 7 + i / 256 + 1;
	while (at % 4)
		in->fpdu[at++] = 0;
	put_unaligned_le32(mpa_crc_final(mpa_crc_add(mpa_crc_start(), in->fpdu, at)),
			   in->fpdu + at);
	return at + MPA_CRC_LEN;
}

static bool placed(const u8 *mem, u32 len)
{
	u32 i;

	for (i = 0; i < len; i++)
		if (READ_ONCE(mem[i]) != (u8)(i * 7 + i / 256 + 1))
			return false;
	return true;
}

/* Only the rx kthread runs the engine, until it has no more to do */
static void by_the_thread(const struct in *in)
{
	srnic_stream_lock(in->p->qp->stream);
	set_bit(SRNIC_QPF_RX_THREAD, &in->p->qp->flags);
	srnic_stream_unlock(in->p->qp->stream);
}

static bool in_callback(const struct in *in)
{
	return !test_bit(SRNIC_QPF_RX_THREAD, &in->p->qp->flags);
}

static unsigned long switches(const struct in *in)
{
	return READ_ONCE(in->p->qp->rx_task->nvcsw);
}

/* A good Write shows whether the rx kthread or the callback runs the engine */
static void write_first(struct kunit *test, const struct in *in, bool thread, const char *what)
{
	struct ddp_hdr hdr = HDR_WRITE(in->mr->stag, in->mr->base);
	unsigned long before = switches(in);

	if (thread)
		by_the_thread(in);
	peer_send_octets(in->p, in->fpdu, make_fpdu(in, &hdr, 9));
	KUNIT_EXPECT_TRUE_MSG(test, peer_until(placed(in->mem, 9)), "%s", what);
	KUNIT_EXPECT_TRUE_MSG(test, peer_until(in_callback(in)), "%s", what);
	/* a woken kthread is counted once it sleeps again, after it has released the engine */
	if (thread)
		KUNIT_EXPECT_TRUE_MSG(test, peer_until(switches(in) != before), "%s", what);
	else
		KUNIT_EXPECT_EQ_MSG(test, switches(in), before, "%s", what);
	memset(in->mem, GUARD, 9);
}

/*
 * M-RX-1, X-4: an FPDU damaged on the way changes no octet of any region, though its header
 * permits the access.
 */
static void damaged(struct kunit *test, bool thread)
{
	static const char * const what[] = { "STag", "TO", "payload", "length", "CRC" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		struct in in = in_open(test);
		struct ddp_hdr hdr = HDR_WRITE(in.mr->stag, in.mr->base + 100);
		u32 len;

		write_first(test, &in, thread, what[i]);
		len = make_fpdu(&in, &hdr, 46);
		if (i == 0)
			put_unaligned_be32(in.other->stag, in.fpdu + 4);
		else if (i == 1)
			in.fpdu[15] ^= 8;
		else if (i == 2)
			in.fpdu[30] ^= 1;
		else if (i == 3)
			in.fpdu[1] ^= 1;	/* the same number of octets, but for the PAD */
		else
			in.fpdu[len - 1] ^= 0x80;
		KUNIT_ASSERT_EQ(test, mpa_fpdu_len(get_unaligned_be16(in.fpdu)), len);
		if (thread)
			by_the_thread(&in);
		peer_post_recv(in.p, 1, NULL);
		peer_send_octets(in.p, in.fpdu, len);
		peer_expect_terminate(in.p, what[i], 0x2002, 0);
		peer_close(in.p);
		peer_expect_closed(in.p, what[i], SRNIC_QP_ERROR);
		peer_expect_event(in.p, what[i], IB_EVENT_QP_FATAL);
		peer_flushes(in.p, in.p->rcq, 1, 1);
		KUNIT_EXPECT_EQ_MSG(test, counter(&in, SRNIC_CNT_CRC_ERROR), 1, "%s", what[i]);
		KUNIT_EXPECT_EQ_MSG(test, counter(&in, SRNIC_CNT_RX_FPDU), 2, "%s", what[i]);
		KUNIT_EXPECT_PTR_EQ_MSG(test, memchr_inv(in.all, GUARD, 5 * SIZE), NULL, "%s",
					what[i]);
	}
}

static void damaged_in_the_callback(struct kunit *test)
{
	damaged(test, false);
}

static void damaged_by_the_thread(struct kunit *test)
{
	damaged(test, true);
}

/* M-RX-1: an incomplete FPDU is not placed, and does not keep the kthread running */
static void incomplete(struct kunit *test)
{
	struct in in = in_open(test);
	struct ddp_hdr hdr = HDR_WRITE(in.mr->stag, in.mr->base);
	u32 len = make_fpdu(&in, &hdr, 1000);
	unsigned long before = switches(&in);

	peer_send_octets(in.p, in.fpdu, len - 1);
	msleep(50);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(in.all, GUARD, 5 * SIZE), NULL);
	KUNIT_EXPECT_EQ(test, counter(&in, SRNIC_CNT_RX_BYTES), 0);
	KUNIT_EXPECT_TRUE(test, in_callback(&in));
	peer_send_octets(in.p, in.fpdu + len - 1, 1);
	KUNIT_EXPECT_TRUE(test, peer_until(placed(in.mem, 1000)));
	KUNIT_EXPECT_EQ(test, counter(&in, SRNIC_CNT_RX_BYTES), len);
	KUNIT_EXPECT_EQ(test, switches(&in), before);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(in.mem + 1000, GUARD, 4 * SIZE - 1000), NULL);
}

#define MANY	20

/* M-TCP-2: FPDUs may lie across TCP's segments in any way */
static void over_segments(struct kunit *test)
{
	static const u32 pieces[] = { 9, 100, 1777, 4096, 10000 };
	u8 *stream = kunit_kzalloc(test, MANY * SIZE, GFP_KERNEL);
	u32 i, n, at, len;

	KUNIT_ASSERT_NOT_NULL(test, stream);
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct in in = in_open(test);

		for (n = 0, len = 0; n < MANY; n++) {
			struct ddp_hdr hdr = HDR_WRITE(in.mr->stag, in.mr->base);
			u32 fpdu = make_fpdu(&in, &hdr, 3000 - n);

			memcpy(stream + len, in.fpdu, fpdu);
			len += fpdu;
		}
		/* each Write is shorter than the one before, whose last octet stays */
		for (at = 0; at < len; at += pieces[i])
			peer_send_octets(in.p, stream + at, min(pieces[i], len - at));
		KUNIT_EXPECT_TRUE_MSG(test, peer_until(counter(&in, SRNIC_CNT_RX_FPDU) == MANY),
				      "pieces of %u", pieces[i]);
		KUNIT_EXPECT_TRUE_MSG(test, placed(in.mem, 3000), "pieces of %u", pieces[i]);
		KUNIT_EXPECT_EQ_MSG(test, counter(&in, SRNIC_CNT_RX_BYTES), len, "pieces of %u",
				    pieces[i]);
		KUNIT_EXPECT_PTR_EQ_MSG(test, memchr_inv(in.mem + 3000, GUARD, 4 * SIZE - 3000),
					NULL, "pieces of %u", pieces[i]);
		KUNIT_EXPECT_EQ_MSG(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS,
				    "pieces of %u", pieces[i]);
		KUNIT_EXPECT_TRUE_MSG(test, peer_until(in_callback(&in)), "pieces of %u",
				      pieces[i]);
	}
}

/*
 * Many small FPDUs are as much work as a few large ones: the callback leaves them to the kthread
 */
static void many_in_one_call(struct kunit *test)
{
	u8 *stream = kunit_kzalloc(test, SIZE, GFP_KERNEL);
	struct in in = in_open(test);
	struct ddp_hdr hdr = HDR_WRITE(0, 0);
	unsigned long before = switches(&in);
	u32 i, n = 0, len = 0;

	KUNIT_ASSERT_NOT_NULL(test, stream);
	while (len + 20 <= SIZE) {
		len += make_fpdu(&in, &hdr, 0);
		memcpy(stream + len - 20, in.fpdu, 20);
		n++;
	}
	for (i = 1; i <= 3; i++) {
		peer_send_octets(in.p, stream, len);
		KUNIT_EXPECT_TRUE(test, peer_until(counter(&in, SRNIC_CNT_RX_FPDU) == i * n));
		KUNIT_EXPECT_TRUE(test, peer_until(switches(&in) != before));
		KUNIT_EXPECT_TRUE(test, peer_until(in_callback(&in) && rx_sleeps(&in)));
		before = switches(&in);
	}
	KUNIT_EXPECT_EQ(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS);
}

/* An FPDU larger than the receive buffer is collected in memory of its own; others are not */
static void larger_than_the_buffer(struct kunit *test)
{
	static const u32 rcvbuf[] = { 1, SZ_8K, SZ_16K };
	u8 *mem = vmalloc(FPDU);
	u32 i, n;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	for (i = 0; i < ARRAY_SIZE(rcvbuf); i++) {
		struct in in = in_idle(test);
		struct srnic_tpte *mr = peer_region(in.p, in.p->pd, mem, FPDU, RIGHTS);
		struct ddp_hdr hdr = HDR_WRITE(mr->stag, mr->base);
		u32 len;

		in.p->rcvbuf = rcvbuf[i];
		peer_connect(in.p, 1, 1);
		for (n = 0; n < 3; n++) {
			memset(mem, GUARD, FPDU);
			/* the longest that a length field can announce */
			len = make_fpdu(&in, &hdr, U16_MAX - DDP_TAGGED_LEN - n);
			peer_send_octets(in.p, in.fpdu, len);
			KUNIT_ASSERT_TRUE_MSG(test, peer_until(counter(&in, SRNIC_CNT_RX_FPDU) ==
							       2 * n + 1),
					      "a buffer of %u", rcvbuf[i]);
			KUNIT_EXPECT_TRUE_MSG(test, placed(mem, U16_MAX - DDP_TAGGED_LEN - n),
					      "a buffer of %u", rcvbuf[i]);
			/* that memory is freed, and the callback runs the engine again */
			KUNIT_EXPECT_TRUE_MSG(test, peer_until(!READ_ONCE(in.p->qp->rx->part) &&
							       in_callback(&in)),
					      "a buffer of %u", rcvbuf[i]);
			peer_send_octets(in.p, in.fpdu, make_fpdu(&in, &hdr, 100));
			KUNIT_EXPECT_TRUE_MSG(test, peer_until(counter(&in, SRNIC_CNT_RX_FPDU) ==
							       2 * n + 2),
					      "a buffer of %u", rcvbuf[i]);
		}
		KUNIT_EXPECT_EQ_MSG(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS,
				    "a buffer of %u", rcvbuf[i]);
		KUNIT_EXPECT_GE_MSG(test, counter(&in, SRNIC_CNT_RX_COLLECTED), 3,
				    "a buffer of %u", rcvbuf[i]);
		peer_close(in.p);
		peer_expect_closed(in.p, "the end", SRNIC_QP_IDLE);
		peer_unregister(in.p, mr);
	}
	vfree(mem);
}

/* A collected FPDU is verified, too */
static void larger_and_damaged(struct kunit *test)
{
	struct in in = in_idle(test);
	u8 *mem = vmalloc(FPDU);
	struct ddp_hdr hdr;
	struct srnic_tpte *mr;
	u32 len;

	KUNIT_ASSERT_NOT_NULL(test, mem);
	memset(mem, GUARD, FPDU);
	mr = peer_region(in.p, in.p->pd, mem, FPDU, RIGHTS);
	hdr = (struct ddp_hdr)HDR_WRITE(mr->stag, mr->base);
	in.p->rcvbuf = SZ_8K;
	peer_connect(in.p, 1, 1);
	len = make_fpdu(&in, &hdr, 60000);
	in.fpdu[len - 100] ^= 1;
	peer_send_octets(in.p, in.fpdu, len);
	peer_expect_terminate(in.p, "damaged", 0x2002, 0);
	peer_close(in.p);
	peer_expect_closed(in.p, "damaged", SRNIC_QP_ERROR);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(mem, GUARD, FPDU), NULL);
	KUNIT_EXPECT_EQ(test, counter(&in, SRNIC_CNT_RX_FPDU), 1);
	peer_unregister(in.p, mr);
	vfree(mem);
}

/*
 * OR-09: the callback does not wait for an access through the STag; the kthread does, and
 * completes the receive once
 */
static void invalidates_in_use(struct kunit *test)
{
	struct in in = in_open(test);
	struct ib_sge sge = peer_sge(in.mr, 0, 64);
	struct srnic_access acc = {
		.stag = in.other->stag, .to = in.other->base, .length = 1,
		.need = SRNIC_REMOTE_WRITE, .pd = in.p->pd,
	};
	struct ddp_hdr hdr = HDR_SEND(1);
	struct srnic_span span;
	struct ib_wc wc;

	peer_post_recv(in.p, 7, &sge);
	peer_post_recv(in.p, 8, &sge);
	hdr.ulp = ULP_SEND_INV;
	hdr.inv_stag = in.other->stag;
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(in.p->dev, &acc, &span), SRNIC_TPT_OK);
	peer_send_octets(in.p, in.fpdu, make_fpdu(&in, &hdr, 20));
	KUNIT_EXPECT_TRUE(test, peer_until(!in_callback(&in)));
	peer_no_wc(in.p, in.p->rcq);
	KUNIT_EXPECT_EQ(test, counter(&in, SRNIC_CNT_RX_FPDU), 0);
	srnic_tpt_put(&span);
	wc = peer_wc(in.p, in.p->rcq, 7, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_EQ(test, wc.byte_len, 20);
	KUNIT_EXPECT_EQ(test, wc.wc_flags, IB_WC_WITH_INVALIDATE);
	KUNIT_EXPECT_EQ(test, wc.ex.invalidate_rkey, in.other->stag);
	KUNIT_EXPECT_TRUE(test, placed(in.mem, 20));
	KUNIT_EXPECT_FALSE(test, in.other->valid);
	peer_no_wc(in.p, in.p->rcq);
	KUNIT_EXPECT_EQ(test, counter(&in, SRNIC_CNT_RX_FPDU), 1);
	/* the next FPDU is processed in the callback again */
	KUNIT_EXPECT_TRUE(test, peer_until(in_callback(&in)));
	hdr = (struct ddp_hdr)HDR_SEND(2);
	peer_send_octets(in.p, in.fpdu, make_fpdu(&in, &hdr, 3));
	KUNIT_EXPECT_EQ(test, peer_wc(in.p, in.p->rcq, 8, SRNIC_WC_SUCCESS).byte_len, 3);
}

/* The same, but the QP ends meanwhile: the receive completes once, by whichever context */
static void invalidates_at_the_end(struct kunit *test)
{
	struct in in = in_open(test);
	struct ib_sge sge = peer_sge(in.mr, 0, 64);
	struct srnic_access acc = {
		.stag = in.other->stag, .to = in.other->base, .length = 1,
		.need = SRNIC_REMOTE_WRITE, .pd = in.p->pd,
	};
	struct ddp_hdr hdr = HDR_SEND(1);
	struct srnic_cqe cqe = { };
	struct srnic_span span;

	peer_post_recv(in.p, 7, &sge);
	peer_post_recv(in.p, 8, &sge);
	hdr.ulp = ULP_SEND_INV;
	hdr.inv_stag = in.other->stag;
	KUNIT_ASSERT_EQ(test, srnic_tpt_get(in.p->dev, &acc, &span), SRNIC_TPT_OK);
	peer_send_octets(in.p, in.fpdu, make_fpdu(&in, &hdr, 20));
	KUNIT_EXPECT_TRUE(test, peer_until(!in_callback(&in)));
	srnic_qp_leave(in.p->qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_LOST);
	msleep(50);
	srnic_tpt_put(&span);
	peer_expect_closed(in.p, "the end", SRNIC_QP_ERROR);
	/* the first may have been delivered before */
	KUNIT_EXPECT_EQ(test, srnic_cq_poll(&in.p->rcq->cq, &cqe), 1);
	KUNIT_EXPECT_EQ(test, cqe.wr_id, 7);
	peer_flushes(in.p, in.p->rcq, 8, 1);
}

/* Two FPDUs in one call of TCP, so that one turn of rx processes both */
static void send_both(struct kunit *test, const struct in *in, const struct ddp_hdr *first, u32 len,
		      const struct ddp_hdr *second, u32 second_len)
{
	u8 *stream = kunit_kzalloc(test, 2 * SIZE, GFP_KERNEL);
	u32 n;

	KUNIT_ASSERT_NOT_NULL(test, stream);
	n = make_fpdu(in, first, len);
	memcpy(stream, in->fpdu, n);
	len = make_fpdu(in, second, second_len);
	memcpy(stream + n, in->fpdu, len);
	/* what a Terminate quotes */
	in->p->out.len = get_unaligned_be16(in->fpdu);
	memcpy(in->p->out.at, in->fpdu + MPA_LEN_FIELD, in->p->out.len);
	peer_send_octets(in->p, stream, n + len);
}

/* OR-09: a turn that has written through an STag and invalidates it does not wait for itself */
static void invalidates_what_it_has_written(struct kunit *test)
{
	u32 thread;

	for (thread = 0; thread < 2; thread++) {
		struct in in = in_open(test);
		struct ib_sge sge = peer_sge(in.mr, 0, 64);
		struct ddp_hdr write = HDR_WRITE(in.other->stag, in.other->base);
		struct ddp_hdr send = HDR_SEND(1);
		unsigned long before = switches(&in);

		peer_post_recv(in.p, 7, &sge);
		send.ulp = ULP_SEND_INV;
		send.inv_stag = in.other->stag;
		if (thread)
			by_the_thread(&in);
		send_both(test, &in, &write, 100, &send, 0);
		peer_wc(in.p, in.p->rcq, 7, SRNIC_WC_SUCCESS);
		KUNIT_EXPECT_TRUE(test, placed(in.mem + 2 * SIZE, 100));
		KUNIT_EXPECT_FALSE(test, in.other->valid);
		if (!thread)
			KUNIT_EXPECT_EQ(test, switches(&in), before);
	}
}

/* SEC-6: between two turns nothing is kept of the memory that was written to */
static void lets_go_of_what_it_has_written(struct kunit *test)
{
	u32 thread;

	for (thread = 0; thread < 2; thread++) {
		struct in in = in_open(test);

		write_first(test, &in, thread, thread ? "the kthread" : "the callback");
		KUNIT_ASSERT_FALSE(test, srnic_tpt_in_use(in.mr));
	}
}

/* The region's memory becomes a list of a page, which the test frees */
static struct srnic_pbl *in_a_page(struct kunit *test, const struct in *in)
{
	struct srnic_pbl *pbl = kzalloc(struct_size(pbl, addr, 1), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, pbl);
	pbl->shift = PAGE_SHIFT;
	pbl->count = 1;
	pbl->max = 1;
	pbl->addr[0] = (uintptr_t)in->mem;
	in->mr->pbl = pbl;
	in->mr->off = 0;
	return pbl;
}

/* ... nor looked at, by the next turn: its region may be gone */
static void forgets_what_it_has_written(struct kunit *test)
{
	struct in in = in_open(test);
	struct srnic_pbl *pbl = in_a_page(test, &in);
	struct ddp_hdr hdr = HDR_WRITE(in.mr->stag, in.mr->base);

	peer_send_octets(in.p, in.fpdu, make_fpdu(&in, &hdr, 100));
	KUNIT_EXPECT_TRUE(test, peer_until(counter(&in, SRNIC_CNT_RX_FPDU) == 1));
	KUNIT_EXPECT_TRUE(test, placed(in.mem, 100));
	peer_unregister(in.p, in.mr);
	kfree(pbl);
	/* of no length: it is placed nowhere */
	peer_send_octets(in.p, in.fpdu, make_fpdu(&in, &hdr, 0));
	KUNIT_EXPECT_TRUE(test, peer_until(counter(&in, SRNIC_CNT_RX_FPDU) == 2));
	KUNIT_EXPECT_EQ(test, srnic_qp_state(in.p->qp), SRNIC_QP_RTS);
}

/* Ends of accesses that the exporter learns of when the program can see a completion already */
struct ends {
	const struct srnic_cq *cq;
	u32 late;
};

static void note_end(void *arg)
{
	struct ends *ends = arg;

	ends->late += READ_ONCE(ends->cq->producer) != 0;
}

/* The exporter of a DMA buffer is told of the end of an access before a completion tells of it */
static void exporter_knows_before_the_completion(struct kunit *test)
{
	struct in in = in_open(test);
	struct srnic_pbl *pbl = in_a_page(test, &in);
	struct ends ends = { .cq = &in.p->rcq->cq };
	struct ib_sge sge = peer_sge(in.mr, 0, 64);
	struct ddp_hdr write = HDR_WRITE(in.mr->stag, in.mr->base + 64);
	struct ddp_hdr send = HDR_SEND(1);

	pbl->dmabuf = exporter_begins(test, in.mem, PAGE_SIZE);
	exporter.on_end = note_end;
	exporter.arg = &ends;
	peer_post_recv(in.p, 7, &sge);
	/* it may have to sleep, so this is the kthread's; and both are of one turn */
	send_both(test, &in, &write, 4, &send, 4);
	peer_wc(in.p, in.p->rcq, 7, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, placed(in.mem, 4));
	KUNIT_EXPECT_TRUE(test, placed(in.mem + 64, 4));
	KUNIT_EXPECT_EQ(test, exporter.begun, 2);
	KUNIT_EXPECT_EQ(test, exporter.ended, 2);
	KUNIT_EXPECT_EQ(test, ends.late, 0);
	KUNIT_EXPECT_EQ(test, srnic_qp_destroy(in.p->qp), 0);
	in.p->qp = NULL;
	peer_unregister(in.p, in.mr);
	dma_buf_put(pbl->dmabuf);
	kfree(pbl);
}

/* An access that was good says nothing of the next one through the same STag */
static void bad_after_good(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 at;
		u32 bad_at;
		u32 bad_len;
		u32 key;
		u16 code;
	} rows[] = {
		{ "past the end", 0, SIZE - 7, 8, 0, 0x1101 },
		{ "past the end, at once", SIZE - 4, SIZE - 4, 5, 0, 0x1101 },
		{ "behind the end", SIZE - 4, SIZE, 1, 0, 0x1101 },
		{ "before the start", 8, -8, 8, 0, 0x1101 },
		{ "wrong key", 0, 0, 8, 1, 0x1100 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct in in = in_open(test);
		struct ddp_hdr good = HDR_WRITE(in.mr->stag, in.mr->base + rows[i].at);
		struct ddp_hdr bad = HDR_WRITE(in.mr->stag ^ rows[i].key,
					       in.mr->base + (s32)rows[i].bad_at);

		send_both(test, &in, &good, 4, &bad, rows[i].bad_len);
		peer_expect_terminate(in.p, rows[i].what, rows[i].code, 0xc000);
		KUNIT_EXPECT_TRUE_MSG(test, placed(in.mem + rows[i].at, 4), "%s", rows[i].what);
		memset(in.mem + rows[i].at, GUARD, 4);
		KUNIT_EXPECT_PTR_EQ_MSG(test, memchr_inv(in.all, GUARD, 5 * SIZE), NULL, "%s",
					rows[i].what);
		peer_close(in.p);
		peer_expect_closed(in.p, rows[i].what, SRNIC_QP_ERROR);
	}
}

/* ... nor does a receive, which needs another right, of a Write */
static void write_after_receive(struct kunit *test)
{
	struct in in = in_idle(test);
	struct srnic_tpte *mr = peer_region(in.p, in.p->pd, in.mem, SIZE, SRNIC_LOCAL_WRITE);
	struct ib_sge sge = peer_sge(mr, 0, 64);
	struct ddp_hdr send = HDR_SEND(1), write = HDR_WRITE(mr->stag, mr->base + 64);

	peer_connect(in.p, 1, 1);
	peer_post_recv(in.p, 7, &sge);
	send_both(test, &in, &send, 4, &write, 4);
	peer_expect_terminate(in.p, "no right", 0x1100, 0xc000);
	peer_wc(in.p, in.p->rcq, 7, SRNIC_WC_SUCCESS);
	KUNIT_EXPECT_TRUE(test, placed(in.mem, 4));
	memset(in.mem, GUARD, 4);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(in.all, GUARD, 5 * SIZE), NULL);
	peer_close(in.p);
	peer_expect_closed(in.p, "no right", SRNIC_QP_ERROR);
}

static struct kunit_case rx_verify_cases[] = {
	KUNIT_CASE(damaged_in_the_callback),
	KUNIT_CASE(damaged_by_the_thread),
	KUNIT_CASE(incomplete),
	KUNIT_CASE(over_segments),
	KUNIT_CASE(many_in_one_call),
	KUNIT_CASE(larger_than_the_buffer),
	KUNIT_CASE(larger_and_damaged),
	KUNIT_CASE(invalidates_in_use),
	KUNIT_CASE(invalidates_at_the_end),
	KUNIT_CASE(invalidates_what_it_has_written),
	KUNIT_CASE(lets_go_of_what_it_has_written),
	KUNIT_CASE(forgets_what_it_has_written),
	KUNIT_CASE(exporter_knows_before_the_completion),
	KUNIT_CASE(bad_after_good),
	KUNIT_CASE(write_after_receive),
	{}
};

static struct kunit_suite rx_verify_suite = {
	.name = "srnic-rx-verify",
	.test_cases = rx_verify_cases,
};

kunit_test_suite(rx_verify_suite);
