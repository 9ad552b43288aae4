// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rx engine: verify, then place. It works on whole FPDUs that are still in the
 * socket's queue: while one is not complete nothing of it is taken. The header of a
 * complete one is copied, the CRC is checked over the copy and the rest in TCP's buffers,
 * the header is checked against the state of the stream and the TPT, and the payload is
 * copied to where it belongs (place.c). The error is the only effect of an FPDU with a
 * wrong CRC (M-RX-1, X-4).
 *
 * A sender on the same host may go on writing to what is in TCP's buffers: they can be the
 * pages of its file. So each byte that a decision depends on is read once, and the CRC
 * covers that copy. Only the payload is read again, to be copied.
 *
 * The holder of the socket lock owns rx: TCP's callback in softirq, which runs the engine
 * at once, or the rx kthread, which takes what the callback may not do: what sleeps, what
 * is too much at a time, an FPDU that TCP has no room for, and the end of the stream.
 * While SRNIC_QPF_RX_THREAD is set only the kthread runs the engine.
 */

#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "engine/ack.h"
#include "engine/kthreads.h"
#include "engine/rnr.h"
#include "engine/rx.h"
#include "engine/stream.h"
#include "engine/tx.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "srnic.h"

/* A turn has so many FPDUs, and takes about so many ns; then others get the CPU and the socket */
#define RX_BUDGET	64
#define RX_BUDGET_NS	(50 * NSEC_PER_USEC)
/* The largest FPDU that a length field can announce, and its markers */
#define RX_PART		mpa_fpdu_room(U16_MAX, true)

/**
 * srnic_rx_new - state of an inbound direction
 * @qp: to be attached; mpa is set
 *
 * Return: the state, or NULL. Context: process, may sleep.
 */
struct srnic_rx *srnic_rx_new(const struct srnic_qp *qp)
{
	struct srnic_rx *rx = kzalloc(sizeof(*rx), GFP_KERNEL_ACCOUNT);
	int qn;

	/* rx->hdr has room for each message that is all header */
	BUILD_BUG_ON(RDMAP_MAX_TERM_LEN < RDMAP_ATOMIC_REQ_LEN);

	if (!rx)
		return NULL;
	rx->rwr = kzalloc(struct_size(rx->rwr, sge, qp->max_recv_sge),
			  GFP_KERNEL_ACCOUNT);
	/* markers are taken out of a copy */
	if (qp->mpa.rx_markers)
		rx->part = kvmalloc(RX_PART, GFP_KERNEL_ACCOUNT);
	if (!rx->rwr || (qp->mpa.rx_markers && !rx->part)) {
		srnic_rx_free(rx);
		return NULL;
	}
	for (qn = 0; qn < DDP_QN_COUNT; qn++)
		rx->msn[qn] = 1;
	rx->rtr_response = qp->initiator && qp->mpa.rtr == MPA_RTR_READ;
	return rx;
}

/**
 * srnic_rx_free - free the state of an inbound direction, whose stream is gone
 * @rx: may be NULL
 * Context: process, may sleep.
 */
void srnic_rx_free(struct srnic_rx *rx)
{
	if (!rx)
		return;
	kvfree(rx->part);
	kfree(rx->rwr);
	kfree(rx);
}

/* Is it the peer's RTR, by Write? The peer's device sends it, before it could see our FIN. */
static bool rx_is_rtr_write(const struct srnic_qp *qp)
{
	const struct srnic_rx *rx = qp->rx;

	return !qp->initiator && (qp->mpa.rtr & MPA_RTR_WRITE) &&
	       !test_bit(SRNIC_QPF_TX_OPEN, &qp->flags) && !rx->err &&
	       rx->opcode == RDMAP_WRITE && rx->ddp.last && !rx->payload;
}

/*
 * Our FIN is sent: only a Terminate may still come (ST-44), and the RTR that ends the
 * start-up. After a close a program does not expect its memory to change.
 */
static void rx_late(struct srnic_qp *qp)
{
	if (rx_is_rtr_write(qp)) {
		set_bit(SRNIC_QPF_TX_OPEN, &qp->flags);
		return;
	}
	qp->rx->discard = true;
	/* in Terminate the QP stays there: a RST could overtake our message (TDN-8) */
	if (srnic_qp_state(qp) == SRNIC_QP_CLOSING)
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_BAD_CLOSE);
}

/* Bytes of the RDMAP header, behind the DDP header, that are kept in rx->hdr */
static u32 rx_rdmap_hdr_len(const struct srnic_rx *rx)
{
	u32 rest = rx->ulpdu_len - ddp_hdr_len(rx->ddp.tagged);

	if (rx->err)
		return 0;
	if (rx->opcode == RDMAP_TERMINATE)
		return min_t(u32, rest, RDMAP_MAX_TERM_LEN);
	return rdmap_op(rx->opcode)->hdr_len;
}

/*
 * Copy and decode the headers of a whole FPDU, whose length field was read as @ulpdu_len; @cur
 * is behind them afterwards. Return: false if @ulpdu_len leaves no room for a header.
 */
static bool rx_header(const struct srnic_qp *qp, u32 ulpdu_len, struct srnic_cursor *cur)
{
	struct srnic_rx *rx = qp->rx;
	u32 len, ddp_len;

	/* not read from TCP's buffers again, see the top of the file */
	put_unaligned_be16(ulpdu_len, rx->hdr);
	srnic_cursor_skip(cur, MPA_LEN_FIELD);
	srnic_cursor_copy(cur, rx->hdr + MPA_LEN_FIELD, 1);
	rx->hdr_len = MPA_LEN_FIELD + 1;
	rx->ulpdu_len = ulpdu_len;
	ddp_len = ddp_hdr_len(rx->hdr[MPA_LEN_FIELD] & DDP_T);
	if (rx->ulpdu_len < ddp_len)
		return false;
	srnic_cursor_copy(cur, rx->hdr + rx->hdr_len, ddp_len - 1);
	rx->hdr_len = MPA_LEN_FIELD + ddp_len;
	ddp_decode(rx->hdr + MPA_LEN_FIELD, &rx->ddp);
	rx->opcode = rx->ddp.ulp & RDMAP_OPCODE;
	rx->status = SRNIC_WC_SUCCESS;
	rx->rtr_send = false;
	rx->rtr_write = false;
	rx->err = rdmap_check_hdr(&rx->ddp, rx->ulpdu_len, qp->version);
	len = rx_rdmap_hdr_len(rx);
	srnic_cursor_copy(cur, rx->hdr + rx->hdr_len, len);
	rx->hdr_len += len;
	rx->payload = rx->ulpdu_len - ddp_len - len;
	return true;
}

/*
 * The FPDU is valid for MPA, so that this end may send (M-STA-4). If DDP finds it bad, this
 * end may send the Terminate.
 */
static void rx_open_tx(struct srnic_qp *qp)
{
	if (test_bit(SRNIC_QPF_TX_OPEN, &qp->flags))
		return;
	qp->rx->rtr_write = rx_is_rtr_write(qp);
	if (qp->rx->err)
		set_bit(SRNIC_QPF_TX_OPEN, &qp->flags);
	else
		srnic_tx_opens(qp);
}

/*
 * Process an FPDU without markers, whose CRC is good. @has_header: from rx_header(); @cur: the
 * payload. Return: false if that has to sleep, or to wait for a receive: the FPDU stays where
 * it is, and the rx kthread processes all of it again.
 */
static bool rx_fpdu(struct srnic_qp *qp, bool has_header, struct srnic_cursor *cur,
		    bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	bool done = true;

	rx->accesses = 0;
	if (!has_header) {
		srnic_rx_fail(qp, RDMAP_E_FPDU_LENGTH, SRNIC_WC_SUCCESS);
	} else if (test_bit(SRNIC_QPF_FIN_SENT, &qp->flags) && rx->opcode != RDMAP_TERMINATE) {
		rx_late(qp);
	} else {
		if (!rx->err)
			done = srnic_rx_place(qp, cur, may_sleep);
		if (done)
			rx_open_tx(qp);
		if (done && rx->err)
			srnic_rx_fail(qp, rx->err, rx->status);
		else if (done)
			done = srnic_rx_deliver(qp, may_sleep);
	}
	if (done) {
		/* its sender may have made it of the Send that waited, see the top of the file */
		rx->rnr_since = 0;
		rx->missing.length = 0;
		rx->taken_in = 0;
		if (rx->ddp.last)
			smp_wmb();	/* a program that polls memory sees messages in order */
		srnic_count_often(qp->dev, SRNIC_CNT_RX_FPDU, 1);
		if (rx->opcode != RDMAP_ACK)
			WRITE_ONCE(rx->heard, rx->heard + 1);
	}
	return done;
}

static void rx_crc_actor(void *ctx, const u8 *data, u32 len)
{
	u32 *crc = ctx;

	*crc = mpa_crc_add(*crc, data, len);
}

/*
 * Check the CRC of an FPDU, with its markers (RFC 5044 4.4): @hdr_len bytes of it were copied to
 * @hdr, @rest bytes are at @cur.
 */
static bool rx_crc_good(const u8 *hdr, u32 hdr_len, struct srnic_cursor cur, u32 rest)
{
	u32 crc = mpa_crc_add(mpa_crc_start(), hdr, hdr_len);
	u8 field[MPA_CRC_LEN];

	srnic_cursor_walk(&cur, rest - MPA_CRC_LEN, rx_crc_actor, &crc);
	srnic_cursor_copy(&cur, field, sizeof(field));
	return mpa_crc_final(crc) == get_unaligned_le32(field);
}

/* The FPDU is wrong, and nothing else is known of it */
static void rx_fail_unread(struct srnic_qp *qp, enum rdmap_err err)
{
	qp->rx->hdr_len = 0;
	srnic_count_often(qp->dev, SRNIC_CNT_RX_FPDU, 1);
	srnic_rx_fail(qp, err, SRNIC_WC_SUCCESS);
}

/*
 * A whole FPDU of a stream without markers is at @cur; its length field was read as @ulpdu_len.
 * Return: as rx_fpdu().
 */
static bool rx_verify(struct srnic_qp *qp, struct srnic_cursor cur, u32 ulpdu_len,
		      bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	bool has_header = rx_header(qp, ulpdu_len, &cur);

	if (!qp->mpa.crc ||
	    rx_crc_good(rx->hdr, rx->hdr_len, cur, mpa_fpdu_len(ulpdu_len) - rx->hdr_len))
		return rx_fpdu(qp, has_header, &cur, may_sleep);
	rx_fail_unread(qp, RDMAP_E_CRC);
	return true;
}

/*
 * Can the CPU read @len bytes at @cur? Not if TCP has received them into a device's memory
 * (devmem TCP); the stream ends then.
 */
static bool rx_readable(struct srnic_qp *qp, const struct srnic_cursor *cur, u32 len)
{
	if (srnic_cursor_is_readable(*cur, len))
		return true;
	ibdev_warn_ratelimited(&qp->dev->ibdev, "QP %u: received into a device's memory\n",
			       qp->ibqp.qp_num);
	qp->rx->discard = true;
	srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_LOST);
	return false;
}

/* ----- FPDUs that are put together outside of TCP ----- */

/* Bytes of the FPDU in the part, with its markers; or as many as it takes to know its length */
static u32 rx_part_want(const struct srnic_qp *qp)
{
	const struct srnic_rx *rx = qp->rx;
	u32 at = qp->mpa.rx_markers && !rx->phase ? MPA_MARKER_LEN : 0;
	u32 ulpdu_len, len;

	if (rx->part_have < at + MPA_LEN_FIELD)
		return at + MPA_LEN_FIELD;
	ulpdu_len = get_unaligned_be16(rx->part + at);
	len = mpa_fpdu_len(ulpdu_len);
	if (qp->mpa.rx_markers)
		len += MPA_MARKER_LEN * mpa_marker_count(rx->phase, len - MPA_CRC_LEN);
	return len;
}

/* Check what is in the part, and take its markers out. Return: false if it is wrong */
static bool rx_part_good(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	u32 len = rx->part_have;
	u32 covered = len - MPA_CRC_LEN;
	bool good = true;

	/* all of the part is a copy */
	if (qp->mpa.crc && !rx_crc_good(rx->part, covered, srnic_cursor_at(rx->part + covered),
					MPA_CRC_LEN)) {
		rx_fail_unread(qp, RDMAP_E_CRC);
		return false;
	}
	if (!qp->mpa.rx_markers)
		return true;
	mpa_marker_remove(rx->part, len, rx->phase, &good);
	rx->phase = (rx->phase + len) % MPA_MARKER_INTERVAL;
	if (!good)
		rx_fail_unread(qp, RDMAP_E_MARKER);
	return good;
}

/* Without markers the part serves one FPDU */
static void rx_drop_part(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	rx->part_have = 0;
	if (qp->mpa.rx_markers)
		return;
	kvfree(rx->part);
	rx->part = NULL;
}

/* Process the part, a whole FPDU. Return: false if it stays: its message waits for a receive */
static bool rx_part_done(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct srnic_cursor cur = srnic_cursor_at(rx->part);
	bool has_header;

	if (rx->part_whole || rx_part_good(qp)) {
		has_header = rx_header(qp, get_unaligned_be16(rx->part), &cur);
		rx->part_whole = !rx_fpdu(qp, has_header, &cur, true);
		if (rx->part_whole)
			return false;
	}
	rx_drop_part(qp);
	return true;
}

/**
 * srnic_rx_collect - put an FPDU together, and process it when it is whole (rx kthread)
 * @qp: with a stream; its rx has a part, which is not whole
 * @cur: the next bytes of the stream; moved behind those that are taken
 * @avail: how many; any segmentation will do (M-TCP-2)
 *
 * Context: the rx kthread, may sleep; srnic_rx_let_go() is due. For streams with markers, and for
 * FPDUs that TCP has no room for.
 *
 * Return: bytes taken, at most to the end of the FPDU, or all if they cannot be read.
 */
u32 srnic_rx_collect(struct srnic_qp *qp, struct srnic_cursor *cur, u32 avail)
{
	struct srnic_rx *rx = qp->rx;
	u32 n = min(avail, rx_part_want(qp) - rx->part_have);

	if (!rx_readable(qp, cur, n))
		return avail;
	srnic_cursor_copy(cur, rx->part + rx->part_have, n);
	rx->part_have += n;
	if (rx->part_have > MPA_MARKER_LEN + MPA_LEN_FIELD && rx->part_have == rx_part_want(qp))
		rx_part_done(qp);
	return n;
}

/*
 * TCP will not have the rest of the FPDU before what is here is taken: the window is too
 * small for it, or memory is short. So that neither waits for the other, the FPDU is
 * put together in memory of our own, charged to the memory cgroup of the stream.
 */
static bool rx_make_part(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct mem_cgroup *old = set_active_memcg(qp->tx->memcg);

	rx->part = kvmalloc(RX_PART, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	set_active_memcg(old);
	if (rx->part)
		srnic_count(qp->dev, SRNIC_CNT_RX_COLLECTED);
	return rx->part;
}

/* ----- the stream ----- */

/*
 * The length field of the FPDU at @cur, of which @avail bytes are here; 0 if these are fewer
 * than the shortest FPDU has, which has MPA_CRC_LEN bytes behind its length field.
 */
static u32 rx_ulpdu_len(struct srnic_cursor cur, u32 avail)
{
	u8 field[MPA_LEN_FIELD];

	if (avail < mpa_fpdu_len(0))
		return 0;
	srnic_cursor_copy(&cur, field, sizeof(field));
	return get_unaligned_be16(field);
}

/* Return: false if the part has a message that still waits for a receive */
static bool rx_part_again(struct srnic_qp *qp, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;

	if (!rx->part_whole)
		return true;
	if (!may_sleep)
		return false;
	if (!srnic_rx_discards(qp))
		return rx_part_done(qp);
	rx->part_whole = false;
	rx_drop_part(qp);
	return true;
}

/*
 * Process the @avail bytes at @cur, one FPDU at most. Return: bytes processed or dropped; 0 if
 * there is no whole FPDU, or only the kthread may go on.
 */
static u32 rx_next(struct srnic_qp *qp, struct srnic_cursor *cur, u32 avail, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	u32 ulpdu_len, len;

	if (srnic_rx_discards(qp)) {
		rx->discard = true;
		return avail;
	}
	if (rx->part)
		return may_sleep && !rx->part_whole ? srnic_rx_collect(qp, cur, avail) : 0;
	if (!rx_readable(qp, cur, min(avail, mpa_fpdu_len(0))))
		return avail;
	ulpdu_len = rx_ulpdu_len(*cur, avail);
	len = mpa_fpdu_len(ulpdu_len);
	if (qp->mpa.large && len > MPA_LARGE_FPDU) {
		rx_fail_unread(qp, RDMAP_E_FPDU_LENGTH);
		return avail;
	}
	if (len > avail) {
		rx->need = len;
		/* TCP may have room once it has got back the bytes that are processed */
		if (may_sleep && avail == srnic_stream_avail(qp->stream) &&
		    srnic_stream_is_stuck(qp->stream, len) && rx_make_part(qp))
			return srnic_rx_collect(qp, cur, avail);
		return 0;
	}
	if (!rx_readable(qp, cur, len))
		return avail;
	if (!rx_verify(qp, *cur, ulpdu_len, may_sleep))
		return 0;
	srnic_cursor_skip(cur, len);
	return len;
}

/* Process FPDUs within the budget, one at least. Return: bytes taken */
static u32 rx_fpdus(struct srnic_qp *qp, bool may_sleep)
{
	u32 avail = srnic_stream_avail(qp->stream);
	struct srnic_cursor cur = srnic_stream_first(qp->stream);
	u64 end = ktime_get_ns() + RX_BUDGET_NS;
	u32 taken = 0, fpdus = 0, n;

	if (!rx_part_again(qp, may_sleep))
		return 0;
	while (taken < avail) {
		n = rx_next(qp, &cur, avail - taken, may_sleep);
		if (!n)
			break;
		taken += n;
		if (++fpdus == RX_BUDGET || ktime_get_ns() >= end)
			break;
	}
	return taken;
}

/*
 * A turn: the socket is locked. Return: bytes taken; 0 if there is no more to do, unless a caller
 * that may sleep could go on.
 */
static u32 rx_run(struct srnic_qp *qp, bool may_sleep)
{
	u32 taken;

	qp->rx->need = 0;
	taken = rx_fpdus(qp, may_sleep);
	srnic_rx_let_go(qp->rx);
	if (!taken)
		return 0;
	srnic_stream_take(qp->stream, taken);
	qp->rx->ahead -= min(qp->rx->ahead, taken);
	srnic_count_often(qp->dev, SRNIC_CNT_RX_BYTES, taken);
	return taken;
}

/* From now on only the rx kthread runs the engine, until nothing is left for it */
static void rx_to_thread(struct srnic_qp *qp)
{
	set_bit(SRNIC_QPF_RX_THREAD, &qp->flags);
	srnic_qp_kick_rx(qp);
}

/*
 * Is there something for the kthread? A message that waits for a receive, bytes beyond the budget
 * of a turn, an FPDU that has to sleep, or the beginning of one whose rest TCP has no room for.
 */
static bool rx_left(const struct srnic_qp *qp)
{
	const struct srnic_rx *rx = qp->rx;
	u32 avail = srnic_stream_avail(qp->stream);

	if (rx->part_whole)
		return true;
	return avail && (avail >= rx->need || srnic_stream_is_stuck(qp->stream, rx->need));
}

/**
 * srnic_rx_ready - TCP has received something (the socket's callback)
 * @arg: the QP, with a stream
 *
 * Context: any, with softirqs off and the socket locked. Does not sleep.
 */
void srnic_rx_ready(void *arg)
{
	struct srnic_qp *qp = arg;

	if (test_bit(SRNIC_QPF_RX_THREAD, &qp->flags)) {
		srnic_qp_kick_rx(qp);
		return;
	}
	if (!qp->policy.inline_work) {
		rx_to_thread(qp);
		return;
	}
	rx_run(qp, false);
	srnic_tx_answer(qp);
	if (rx_left(qp) || srnic_stream_state(qp->stream) != SRNIC_STREAM_UP)
		rx_to_thread(qp);
}

/**
 * srnic_rx_begins - process what came before the callbacks were the QP's (srnic_qp_attach())
 * @qp: with a stream
 *
 * Context: process, may sleep, for the socket lock only.
 */
void srnic_rx_begins(struct srnic_qp *qp)
{
	if (!srnic_stream_lock(qp->stream)) {
		rx_to_thread(qp);	/* the kthread finds that the stream is lost */
		return;
	}
	local_bh_disable();
	srnic_rx_ready(qp);
	local_bh_enable();
	srnic_stream_unlock(qp->stream);
}

/* @cur: a whole FPDU that has the length of an acknowledgment */
static void rx_look_at(struct srnic_qp *qp, struct srnic_cursor cur)
{
	u8 buf[MPA_LEN_FIELD + DDP_UNTAGGED_LEN + MPA_CRC_LEN];
	u32 covered = sizeof(buf) - MPA_CRC_LEN;
	struct ddp_hdr hdr;

	BUILD_BUG_ON(sizeof(buf) % 4);	/* it has no PAD */

	srnic_cursor_copy(&cur, buf, sizeof(buf));
	if (get_unaligned_be16(buf) != DDP_UNTAGGED_LEN || buf[MPA_LEN_FIELD] & DDP_T)
		return;
	ddp_decode(buf + MPA_LEN_FIELD, &hdr);
	if ((hdr.ulp & RDMAP_OPCODE) != RDMAP_ACK ||
	    rdmap_check_hdr(&hdr, DDP_UNTAGGED_LEN, qp->version))
		return;
	if (qp->mpa.crc && !rx_crc_good(buf, covered, srnic_cursor_at(buf + covered), MPA_CRC_LEN))
		return;
	srnic_ack_ahead(qp, hdr.inv_stag);
}

/**
 * srnic_rx_look_ahead - take the acknowledgments behind a message that waits for a receive
 * @qp: with a stream; the socket is not locked
 *
 * This end's program may post the receive only when its own messages have completed, so these
 * acknowledgments must not wait for it. All else stays where it is, and the acknowledgments are
 * checked once more when their turn comes. Not on streams with markers, of which an FPDU has to be
 * copied first. Context: the rx kthread, may sleep.
 */
void srnic_rx_look_ahead(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct srnic_cursor cur;
	u32 avail, len;

	if (!qp->acks || qp->mpa.rx_markers || !srnic_stream_lock(qp->stream))
		return;
	avail = srnic_stream_avail(qp->stream);
	cur = srnic_stream_first(qp->stream);
	srnic_cursor_skip(&cur, rx->ahead);
	while (rx->ahead < avail &&
	       srnic_cursor_is_readable(cur, min(avail - rx->ahead, mpa_fpdu_len(0)))) {
		len = mpa_fpdu_len(rx_ulpdu_len(cur, avail - rx->ahead));
		if (len > avail - rx->ahead || !srnic_cursor_is_readable(cur, len))
			break;
		if (len == mpa_fpdu_len(DDP_UNTAGGED_LEN))
			rx_look_at(qp, cur);
		srnic_cursor_skip(&cur, len);
		rx->ahead += len;
		cond_resched();
	}
	srnic_stream_unlock(qp->stream);
}

/* Has a part of an FPDU arrived? A marker is a part, too (M-MRK-5) */
static bool rx_in_fpdu(const struct srnic_qp *qp)
{
	return qp->rx->part_have || srnic_stream_avail(qp->stream);
}

/* The stream has ended: notify the tx kthread, which winds it down */
static void rx_ended(struct srnic_qp *qp, enum srnic_stream_state state)
{
	const struct srnic_rx *rx = qp->rx;
	bool locked = srnic_stream_lock(qp->stream);

	if (state == SRNIC_STREAM_RESET)
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_RESET);
	else if (state == SRNIC_STREAM_LOST || !locked)
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_LOST);
	else if (!rx->discard && (rx_in_fpdu(qp) || rx->rwr_valid))
		srnic_rx_fail(qp, RDMAP_E_LLP_LOST, SRNIC_WC_SUCCESS);	/* in an FPDU or Send */
	else
		set_bit(SRNIC_QPF_FIN, &qp->flags);
	set_bit(SRNIC_QPF_RX_DONE, &qp->flags);
	if (locked) {
		/* a socket that is closed with bytes in it sends a RST */
		srnic_stream_take(qp->stream, srnic_stream_avail(qp->stream));
		srnic_stream_unlock(qp->stream);
	}
	srnic_qp_kick_tx(qp);
}

/*
 * Is something here that waits neither for the peer nor for a receive, so that the kthread takes it
 * even if the stream is lost?
 */
static bool rx_is_whole(const struct srnic_qp *qp)
{
	return rx_left(qp) && !qp->rx->need && !qp->rx->rnr_since;
}

/**
 * srnic_rx_ends - take what came of a stream that may have ended, for a QP without kthreads
 * @qp: with a stream
 *
 * Context: the work that makes the kthreads; sleeps for the socket lock only. Return: false if
 * only the rx kthread can take it.
 */
bool srnic_rx_ends(struct srnic_qp *qp)
{
	bool more, left, whole;
	enum srnic_stream_state state;

	if (test_bit(SRNIC_QPF_RX_DONE, &qp->flags))
		return true;
	/* read the state first: if nothing is left after a FIN all is read */
	state = srnic_stream_state(qp->stream);
	if (!srnic_stream_lock(qp->stream))
		return false;
	do {
		local_bh_disable();
		more = rx_run(qp, false);
		left = qp->rx->part || rx_left(qp);
		whole = rx_is_whole(qp);
		local_bh_enable();
		cond_resched();
	} while (more);
	if (!left)
		clear_bit(SRNIC_QPF_RX_THREAD, &qp->flags);
	srnic_stream_unlock(qp->stream);
	if (whole || (left && (state == SRNIC_STREAM_UP || state == SRNIC_STREAM_FIN)))
		return false;
	if (state != SRNIC_STREAM_UP)
		rx_ended(qp, state);
	return true;
}

/* The pages may be those of a file on a slow disk, or of a program that supplies a file system */
static void rx_take_in(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	if (!srnic_rx_discards(qp))
		srnic_tpt_take_in(qp->dev, &rx->missing);
	rx->missing.length = 0;
	rx->taken_in = rx->accesses;
}

/*
 * What has arrived waits for pages, for a receive, or for memory. Only this kthread takes it.
 * The socket is not locked: TCP acknowledges meanwhile, this end sends, and tools that look at
 * sockets do not wait.
 */
static void rx_nap(struct srnic_qp *qp)
{
	if (qp->rx->missing.length)
		rx_take_in(qp);
	else if (qp->rx->rnr_since)
		srnic_rnr_wait(qp);
	else
		schedule_timeout_idle(HZ / 50);
}

/* @state was read before the call. Return: whether there may be more to do */
static bool rx_turn(struct srnic_qp *qp, enum srnic_stream_state state)
{
	bool lost = state == SRNIC_STREAM_RESET || state == SRNIC_STREAM_LOST;
	bool more, starved;

	if (!srnic_stream_lock(qp->stream))
		return state != SRNIC_STREAM_LOST;	/* the next turn finds it LOST */
	more = rx_run(qp, true);
	/* what came before a stream was lost is not awaited, but its pages are */
	starved = (qp->rx->missing.length || (!more && !lost)) && rx_left(qp);
	/* from now on the callback takes what comes, or not before this kthread has */
	if (starved)
		set_bit(SRNIC_QPF_RX_THREAD, &qp->flags);
	else if (!more && !qp->rx->part)
		clear_bit(SRNIC_QPF_RX_THREAD, &qp->flags);
	srnic_stream_unlock(qp->stream);
	srnic_tx_acknowledge(qp);
	if (starved)
		rx_nap(qp);
	return more || starved;
}

/**
 * srnic_rx_thread - the rx kthread of a QP
 * @arg: the QP, with a stream
 *
 * Takes what the callback leaves to it, to the end of the stream, then waits to be stopped
 * by srnic_close().
 *
 * Context: the rx kthread.
 * Return: 0
 */
int srnic_rx_thread(void *arg)
{
	struct srnic_qp *qp = arg;
	enum srnic_stream_state state;
	bool more;

	srnic_kthread_begins(qp);
	while (!kthread_should_stop()) {
		wait_event_idle(qp->rx_wait,
				test_bit(SRNIC_QPF_DATA, &qp->flags) || kthread_should_stop());
		clear_bit(SRNIC_QPF_DATA, &qp->flags);
		smp_mb__after_atomic();	/* clear the flag, then look */
		if (test_bit(SRNIC_QPF_RX_DONE, &qp->flags))
			continue;
		do {
			/* read the state first: if nothing is left after a FIN all is read */
			state = srnic_stream_state(qp->stream);
			more = rx_turn(qp, state);
			cond_resched();
		} while (more && !kthread_should_stop());
		if (state != SRNIC_STREAM_UP)
			rx_ended(qp, state);
	}
	return 0;
}

/**
 * srnic_rx_flush - complete the receive WR of a message that was cut off (srnic_close())
 * @qp: rx has no owner any more
 * Context: process, in srnic_close().
 */
void srnic_rx_flush(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct srnic_cqe cqe = { };

	if (!rx->rwr_valid)
		return;
	rx->rwr_valid = false;
	srnic_rq_complete(qp, rx->rwr, &cqe, SRNIC_WC_FLUSHED);
}
