// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rx engine: one kthread per QP with a stream walks over what TCP
 * received, finds the FPDUs, and places each octet where its header says
 * (place.c) while the CRC is computed over it.
 *
 * Octets are placed before the CRC at the end of the FPDU is known, but
 * nothing is delivered, and no error of a header is acted upon, before the
 * CRC was found good (M-RX-1, X-4). A place is always checked first.
 */

#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "rx.h"
#include "srnic.h"
#include "stream.h"
#include "tpt.h"
#include "tx.h"

/* Octets to take before others get the CPU and the socket lock */
#define RX_BUDGET	(256 * 1024)

static void rx_next_fpdu(struct srnic_rx *rx)
{
	rx->phase = SRNIC_RX_HEADER;
	rx->have = 0;
	rx->need = MPA_LEN_FIELD + 1;
	rx->err = RDMAP_OK;
	rx->status = SRNIC_WC_SUCCESS;
	rx->placed = 0;
	rx->payload = 0;
	rx->crc = mpa_crc_start();
	rx->covered = 0;
	rx->markers = 0;
}

/**
 * srnic_rx_new - state of an inbound direction
 * @qp: to be attached; mpa is set
 *
 * Return: the state, or NULL. May sleep.
 */
struct srnic_rx *srnic_rx_new(const struct srnic_qp *qp)
{
	struct srnic_rx *rx = kzalloc(sizeof(*rx), GFP_KERNEL_ACCOUNT);
	int qn;

	/* whatever is all header is kept whole */
	BUILD_BUG_ON(RDMAP_MAX_TERM_LEN < RDMAP_ATOMIC_REQ_LEN);

	if (!rx)
		return NULL;
	rx->rwr = kzalloc(struct_size(rx->rwr, sge, qp->max_recv_sge),
			  GFP_KERNEL_ACCOUNT);
	if (!rx->rwr) {
		kfree(rx);
		return NULL;
	}
	for (qn = 0; qn < DDP_QN_COUNT; qn++)
		rx->msn[qn] = 1;
	rx->rtr_response = qp->initiator && qp->mpa.rtr == MPA_RTR_READ;
	rx_next_fpdu(rx);
	return rx;
}

/**
 * srnic_rx_free - the stream is gone
 * @rx: may be NULL
 */
void srnic_rx_free(struct srnic_rx *rx)
{
	if (!rx)
		return;
	kfree(rx->rwr);
	kfree(rx);
}

/* The error of this FPDU, or of the stream. First one wins (ERR-5). */
static void rx_fail(struct srnic_qp *qp, enum rdmap_err err, enum srnic_wc_status status)
{
	struct srnic_rx *rx = qp->rx;
	const struct rdmap_error *e = rdmap_error(err);
	bool response = rx->rd_valid && (rx->opcode == RDMAP_READ_RESPONSE ||
					 rx->opcode == RDMAP_ATOMIC_RESPONSE);
	bool quote = e->hdrct & RDMAP_TERM_D;
	struct srnic_cqe cqe = { };

	rx->discard = true;
	if (err == RDMAP_E_CRC)
		srnic_count(qp->dev, SRNIC_CNT_CRC_ERROR);
	else if (err >= RDMAP_E_TAGGED_STAG && err <= RDMAP_E_TAGGED_ACCESS)
		srnic_count(qp->dev, SRNIC_CNT_RX_PROTECTION_ERROR);
	else if (err == RDMAP_E_NO_RQE)
		srnic_count(qp->dev, SRNIC_CNT_RQ_EMPTY);
	else if (err == RDMAP_E_RQ_LOCAL || err == RDMAP_E_LOCAL_WR || err == RDMAP_E_SRQ)
		srnic_count(qp->dev, SRNIC_CNT_LOCAL_WR_ERROR);
	else
		srnic_count(qp->dev, SRNIC_CNT_RX_PROTOCOL_ERROR);

	/* one WC with an error at most (ST-35): the others' are Flushed */
	if (!srnic_qp_fail(qp, err, quote ? rx->hdr : NULL, quote ? rx->need : 0,
			   status && (response || rx->rwr_valid)))
		return;
	if (status && response) {
		rx->rd_valid = false;
		srnic_orq_done(qp, status);
	} else if (status && rx->rwr_valid) {
		rx->rwr_valid = false;
		srnic_rq_complete(qp, rx->rwr, &cqe, status);
	}
}

/*
 * A whole Send or Immediate Data message is here and good: invalidate, then
 * complete (OR-09). To verbs the latter is the end of an RDMA Write with
 * immediate data, whose octets are those of the Write before it.
 */
static void rx_deliver_send(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	const struct rdmap_op *op = rdmap_op(rx->opcode);
	struct srnic_cqe cqe = {
		.byte_len = rx->mo,
		.flags = op->solicited ? SRNIC_CQE_SOLICITED : 0,
	};

	if (op->inval) {
		enum srnic_inv_err err = srnic_tpt_invalidate(qp, rx->ddp.inv_stag, true);

		if (err) {
			rx_fail(qp, srnic_inv_remote_err(err), srnic_inv_recv_status(err));
			return;
		}
		cqe.flags |= SRNIC_CQE_WITH_INV;
		cqe.data = rx->ddp.inv_stag;
	}
	if (srnic_rx_immediate(rx)) {
		cqe.flags |= SRNIC_CQE_WITH_IMM;
		cqe.byte_len = rx->write_len;
		memcpy(&cqe.data, rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN,
		       sizeof(cqe.data));
	}
	rx->rwr_valid = false;
	rx->mo = 0;
	rx->write_len = 0;
	rx->msn[DDP_QN_SEND]++;
	srnic_rq_complete(qp, rx->rwr, &cqe, SRNIC_WC_SUCCESS);
}

/* The ULP is not told (WR-2), but of the length if Immediate Data follows */
static void rx_deliver_write(struct srnic_rx *rx)
{
	if (rx->write_ended)
		rx->write_len = 0;
	rx->write_len += rx->payload;
	rx->write_ended = rx->ddp.last;
}

/* A Read Request or an Atomic Request: the tx kthread's, in order */
static void rx_deliver_request(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	const u8 *hdr = rx->hdr + MPA_LEN_FIELD;
	struct srnic_inbound in = { .opcode = rx->opcode };

	memcpy(in.ddp, hdr, DDP_UNTAGGED_LEN);
	if (rx->opcode == RDMAP_READ_REQUEST)
		rdmap_read_req_decode(hdr + DDP_UNTAGGED_LEN, &in.read);
	else
		rdmap_atomic_req_decode(hdr + DDP_UNTAGGED_LEN, &in.atomic);
	if (srnic_irq_push(qp, &in)) {
		rx_fail(qp, RDMAP_E_IRD, SRNIC_WC_SUCCESS);
		return;
	}
	rx->msn[DDP_QN_READ_REQUEST]++;
	wake_up(&qp->tx_wait);
}

static void rx_deliver_read_response(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	if (rx->rtr_response) {
		rx->rtr_response = false;
		clear_bit(SRNIC_QPF_RTR_READ, &qp->flags);
		wake_up(&qp->tx_wait);
		return;
	}
	rx->rd_off += rx->payload;
	if (!rx->ddp.last)
		return;
	/* after the data is in place, before the completion is seen (OR-10) */
	if (rx->rd.opcode == SRNIC_OP_READ_INV) {
		enum srnic_inv_err err = srnic_tpt_invalidate(qp, rx->rd.sink_stag, false);

		if (err) {
			rx_fail(qp, RDMAP_E_LOCAL_WR, srnic_inv_wc_status(err));
			return;
		}
	}
	rx->rd_valid = false;
	srnic_orq_done(qp, SRNIC_WC_SUCCESS);
}

static void rx_deliver_atomic_response(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct rdmap_atomic_resp resp;
	enum srnic_wc_status status;

	rdmap_atomic_resp_decode(rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN, &resp);
	status = srnic_atomic_place(qp, &rx->rd, resp.value);
	if (status) {
		rx_fail(qp, RDMAP_E_LOCAL_WR, status);
		return;
	}
	rx->msn[DDP_QN_ATOMIC_RESPONSE]++;
	rx->rd_valid = false;
	srnic_orq_done(qp, SRNIC_WC_SUCCESS);
}

/*
 * Is it about a request of ours? Then the oldest one is it (CP-08). Of an Atomic
 * Request the RDMAP header is never quoted (RFC 7306 8.1), and of an opcode that
 * is unknown to it a peer may quote nothing at all.
 */
static bool term_answers_request(const struct rdmap_term *term,
				 const struct srnic_outbound *oldest)
{
	const struct rdmap_error *unknown = rdmap_error(RDMAP_E_OPCODE);
	struct ddp_hdr hdr;

	if (term->err.hdrct & RDMAP_TERM_R)
		return true;
	if (term->err.hdrct & RDMAP_TERM_D) {
		ddp_decode(term->ddp, &hdr);
		return !hdr.tagged && hdr.qn == DDP_QN_READ_REQUEST;
	}
	return srnic_op_is_atomic(oldest->opcode) && term->err.layer == unknown->layer &&
	       term->err.etype == unknown->etype && term->err.code == unknown->code;
}

/* The peer gave up: no Terminate is sent in return (ST-24) */
static void rx_deliver_terminate(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	u32 off = MPA_LEN_FIELD + DDP_UNTAGGED_LEN;
	struct rdmap_term term;
	struct srnic_outbound out;
	bool in_wc;

	rx->discard = true;
	srnic_count(qp->dev, SRNIC_CNT_RX_TERMINATE);
	if (rdmap_term_decode(rx->hdr + off, rx->need - off, &term)) {
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_TERMINATE_RECEIVED);
		return;
	}
	in_wc = srnic_orq_head(qp, &out) && term_answers_request(&term, &out);
	if (srnic_qp_terminated(qp, &term, in_wc) && in_wc)
		srnic_orq_done(qp, SRNIC_WC_REMOTE_TERMINATION);
}

static void rx_deliver(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	switch (rx->opcode) {
	case RDMAP_WRITE:
		rx_deliver_write(rx);
		break;
	case RDMAP_READ_REQUEST:
	case RDMAP_ATOMIC_REQUEST:
		rx_deliver_request(qp);
		break;
	case RDMAP_ATOMIC_RESPONSE:
		rx_deliver_atomic_response(qp);
		break;
	case RDMAP_READ_RESPONSE:
		rx_deliver_read_response(qp);
		break;
	case RDMAP_TERMINATE:
		rx_deliver_terminate(qp);
		break;
	default:
		if (rx->rtr_send) {
			rx->rtr_send = false;
			rx->msn[DDP_QN_SEND]++;
			break;
		}
		rx->mo += rx->payload;
		if (rx->ddp.last)
			rx_deliver_send(qp);
	}
}

/* The peer's RTR, by Write: no message of its ULP, and sent before it could see our FIN */
static bool rx_is_rtr_write(const struct srnic_qp *qp)
{
	const struct srnic_rx *rx = qp->rx;

	return !qp->initiator && (qp->mpa.rtr & MPA_RTR_WRITE) &&
	       !test_bit(SRNIC_QPF_TX_OPEN, &qp->flags) && !rx->err &&
	       rx->opcode == RDMAP_WRITE && rx->ddp.last && !rx->payload;
}

/* PAD and CRC are here: the FPDU is complete */
static void rx_fpdu_done(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	u32 pad = rx->need - MPA_CRC_LEN;
	bool opened;

	srnic_count(qp->dev, SRNIC_CNT_RX_FPDU);
	if (qp->mpa.crc) {
		u32 crc = mpa_crc_final(mpa_crc_add(rx->crc, rx->trailer + rx->covered,
						    pad - rx->covered));

		if (crc != get_unaligned_le32(rx->trailer + pad)) {
			rx_fail(qp, RDMAP_E_CRC, SRNIC_WC_SUCCESS);
			return;
		}
	}
	if (rx->err == RDMAP_E_FPDU_LENGTH) {
		rx_fail(qp, rx->err, SRNIC_WC_SUCCESS);
		return;
	}
	/* our FIN is out: only a Terminate may still come (ST-44), and what ends the start-up */
	if (test_bit(SRNIC_QPF_FIN_SENT, &qp->flags) && rx->opcode != RDMAP_TERMINATE) {
		if (rx_is_rtr_write(qp)) {
			set_bit(SRNIC_QPF_TX_OPEN, &qp->flags);
			rx_next_fpdu(rx);
			return;
		}
		rx->discard = true;
		/* not after our Terminate: a RST could overtake it (TDN-8) */
		if (srnic_qp_state(qp) == SRNIC_QP_CLOSING)
			srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_BAD_CLOSE);
		return;
	}
	rx->need = MPA_LEN_FIELD + ddp_hdr_len(rx->ddp.tagged) +
		   (rx->ulpdu_len - ddp_hdr_len(rx->ddp.tagged) - rx->payload);
	/* M-STA-4; to MPA the FPDU is valid, and the Terminate must get out if DDP finds it bad */
	opened = !test_bit(SRNIC_QPF_TX_OPEN, &qp->flags);
	if (opened)
		set_bit(SRNIC_QPF_TX_OPEN, &qp->flags);
	if (rx->err) {
		rx_fail(qp, rx->err, rx->status);
		return;
	}
	if (opened)
		wake_up(&qp->tx_wait);
	rx_deliver(qp);
	rx_next_fpdu(rx);
}

static void rx_start_trailer(struct srnic_rx *rx)
{
	rx->phase = SRNIC_RX_TRAILER;
	rx->have = 0;
	rx->covered = 0;
	rx->need = mpa_pad(rx->ulpdu_len) + MPA_CRC_LEN;
}

/* How much of the ULPDU, after the DDP header, is RDMAP's and kept in rx->hdr */
static u32 rx_rdmap_hdr_len(const struct srnic_rx *rx)
{
	u32 rest = rx->ulpdu_len - ddp_hdr_len(rx->ddp.tagged);

	if (rx->err)
		return 0;
	if (rx->opcode == RDMAP_TERMINATE)
		return min_t(u32, rest, RDMAP_MAX_TERM_LEN);
	return rdmap_op(rx->opcode)->hdr_len;
}

/* rx->need octets of header are here: is it all? */
static void rx_header(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	u32 ddp_len = ddp_hdr_len(rx->hdr[MPA_LEN_FIELD] & DDP_T);
	u32 rdmap_len;

	if (rx->need == MPA_LEN_FIELD + 1) {
		rx->ulpdu_len = get_unaligned_be16(rx->hdr);
		if (rx->ulpdu_len < ddp_len) {
			/* where the next FPDU starts is unknown: act at once */
			rx_fail(qp, RDMAP_E_FPDU_LENGTH, SRNIC_WC_SUCCESS);
			return;
		}
		rx->need = MPA_LEN_FIELD + ddp_len;
		return;
	}
	if (rx->need == MPA_LEN_FIELD + ddp_len) {
		ddp_decode(rx->hdr + MPA_LEN_FIELD, &rx->ddp);
		rx->opcode = rx->ddp.ulp & RDMAP_OPCODE;
		if (!rx->err)	/* a marker may have been wrong */
			rx->err = rdmap_check_hdr(&rx->ddp, rx->ulpdu_len);
		rdmap_len = rx_rdmap_hdr_len(rx);
		rx->payload = rx->ulpdu_len - ddp_len - rdmap_len;
		rx->need += rdmap_len;
		if (rdmap_len)
			return;
	}
	rx->crc = mpa_crc_add(rx->crc, rx->hdr + rx->covered, rx->need - rx->covered);
	/* who was told of a close does not expect its memory to change (ST-44) */
	rx->late = test_bit(SRNIC_QPF_FIN_SENT, &qp->flags) && rx->opcode != RDMAP_TERMINATE;
	if (!rx->err && !rx->late)
		srnic_rx_check(qp);
	if (rx->payload)
		rx->phase = SRNIC_RX_PAYLOAD;
	else
		rx_start_trailer(rx);
}

/* Octets of FPDUs, without markers */
static void rx_fpdu_octets(struct srnic_qp *qp, const u8 *data, u32 len)
{
	struct srnic_rx *rx = qp->rx;
	u32 n;

	while (len && !rx->discard) {
		switch (rx->phase) {
		case SRNIC_RX_HEADER:
			n = min(len, rx->need - rx->have);
			memcpy(rx->hdr + rx->have, data, n);
			rx->have += n;
			if (rx->have == rx->need)
				rx_header(qp);
			break;
		case SRNIC_RX_PAYLOAD:
			n = min(len, rx->payload - rx->placed);
			if (!rx->err && !rx->late)
				srnic_rx_place(qp, data, n);
			if (qp->mpa.crc)
				rx->crc = mpa_crc_add(rx->crc, data, n);
			rx->placed += n;
			if (rx->placed == rx->payload)
				rx_start_trailer(rx);
			break;
		case SRNIC_RX_TRAILER:
			n = min(len, rx->need - rx->have);
			memcpy(rx->trailer + rx->have, data, n);
			rx->have += n;
			if (rx->have == rx->need)
				rx_fpdu_done(qp);
			break;
		}
		data += n;
		len -= n;
	}
}

/* The octets of the FPDU so far, without markers */
static u32 rx_fpdu_have(const struct srnic_rx *rx)
{
	switch (rx->phase) {
	case SRNIC_RX_PAYLOAD:
		return MPA_LEN_FIELD + rx->ulpdu_len - rx->payload + rx->placed;
	case SRNIC_RX_TRAILER:
		return MPA_LEN_FIELD + rx->ulpdu_len + rx->have;
	default:
		return rx->have;
	}
}

/*
 * A marker is complete. It belongs to the FPDU that is under way or, between
 * FPDUs, to the next one (M-MRK-5), and so to its CRC. Whether the marker or
 * the CRC is wrong is known at the end of the FPDU; without a CRC, now.
 */
static void rx_marker(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	u32 have = rx_fpdu_have(rx);
	bool good = mpa_marker_good(rx->marker, have, rx->markers);

	/* PAD and CRC are not cut by a marker: what is here of a trailer is PAD (M-MRK-7) */
	if (rx->phase != SRNIC_RX_PAYLOAD) {
		const u8 *at = rx->phase == SRNIC_RX_HEADER ? rx->hdr : rx->trailer;

		rx->crc = mpa_crc_add(rx->crc, at + rx->covered, rx->have - rx->covered);
		rx->covered = rx->have;
	}
	rx->crc = mpa_crc_add(rx->crc, rx->marker, MPA_MARKER_LEN);
	rx->markers += have != 0;
	if (good)
		return;
	rx->err = RDMAP_E_FPDU_LENGTH;		/* RFC 5044 8, code 3 (E-32) */
	rx->status = SRNIC_WC_SUCCESS;
	if (!qp->mpa.crc)
		rx_fail(qp, rx->err, rx->status);
}

/* Octets of a stream with markers: they are where its position says */
static void rx_marked_octets(struct srnic_qp *qp, const u8 *data, u32 len)
{
	struct srnic_rx *rx = qp->rx;

	while (len && !rx->discard) {
		u32 n;

		if (rx->pos < MPA_MARKER_LEN) {
			n = min(len, MPA_MARKER_LEN - rx->pos);
			memcpy(rx->marker + rx->pos, data, n);
			rx->pos += n;
			if (rx->pos == MPA_MARKER_LEN)
				rx_marker(qp);
		} else {
			n = min(len, MPA_MARKER_INTERVAL - rx->pos);
			rx_fpdu_octets(qp, data, n);
			rx->pos = (rx->pos + n) % MPA_MARKER_INTERVAL;
		}
		data += n;
		len -= n;
	}
}

/**
 * srnic_rx_octets - the next octets of the stream (rx kthread)
 * @qp: with a stream
 * @data: octets
 * @len: how many; any segmentation will do (M-TCP-2)
 */
void srnic_rx_octets(struct srnic_qp *qp, const u8 *data, u32 len)
{
	if (unlikely(qp->mpa.rx_markers))
		rx_marked_octets(qp, data, len);
	else
		rx_fpdu_octets(qp, data, len);
}

/* TCP's pieces; the socket is locked */
static void rx_actor(void *ctx, const u8 *data, u32 len)
{
	struct srnic_qp *qp = ctx;

	/* the QP left its working states by another's doing: what comes is dropped (TDN-10) */
	if (srnic_qp_state(qp) == SRNIC_QP_TERMINATE || srnic_qp_state(qp) == SRNIC_QP_ERROR)
		qp->rx->discard = true;
	if (qp->rx->discard)
		return;
	srnic_rx_octets(qp, data, len);
	srnic_count_add(qp->dev, SRNIC_CNT_RX_BYTES, len);
}

/* A part of an FPDU is here; a marker is one, too (M-MRK-5) */
static bool rx_in_fpdu(const struct srnic_rx *rx)
{
	return rx->phase != SRNIC_RX_HEADER || rx->have ||
	       (rx->pos && rx->pos <= MPA_MARKER_LEN);
}

/* The stream ended: say so to the tx kthread, which winds down */
static void rx_ended(struct srnic_qp *qp, enum srnic_stream_state state)
{
	const struct srnic_rx *rx = qp->rx;

	if (state == SRNIC_STREAM_RESET)
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_RESET);
	else if (state == SRNIC_STREAM_LOST)
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_LLP_LOST);
	else if (!rx->discard && (rx_in_fpdu(rx) || rx->rwr_valid))
		rx_fail(qp, RDMAP_E_LLP_LOST, SRNIC_WC_SUCCESS);	/* in an FPDU or Send */
	else
		set_bit(SRNIC_QPF_FIN, &qp->flags);
	set_bit(SRNIC_QPF_RX_DONE, &qp->flags);
	wake_up(&qp->tx_wait);
}

/**
 * srnic_rx_thread - the rx kthread of a QP
 * @arg: the QP, with a stream
 *
 * Reads to the end of the stream, then waits to be stopped by srnic_close().
 *
 * Return: 0
 */
int srnic_rx_thread(void *arg)
{
	struct srnic_qp *qp = arg;

	memalloc_noio_save();	/* as the tx kthread */
	while (!kthread_should_stop()) {
		enum srnic_stream_state state;
		int n;

		wait_event_idle(qp->rx_wait,
				test_bit(SRNIC_QPF_DATA, &qp->flags) || kthread_should_stop());
		clear_bit(SRNIC_QPF_DATA, &qp->flags);
		smp_mb__after_atomic();	/* flag, then look */
		if (test_bit(SRNIC_QPF_RX_DONE, &qp->flags))
			continue;
		do {
			/* before the read: an empty read after FIN means all is read */
			state = srnic_stream_state(qp->stream);
			n = srnic_stream_read(qp->stream, rx_actor, qp, RX_BUDGET);
			cond_resched();
		} while (n > 0 && !kthread_should_stop());
		if (state != SRNIC_STREAM_UP)
			rx_ended(qp, state);
	}
	return 0;
}

/**
 * srnic_rx_flush - complete the receive WR of a message that was cut off (tx kthread)
 * @qp: its rx kthread has ended
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
