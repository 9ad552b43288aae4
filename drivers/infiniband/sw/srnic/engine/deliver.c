// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Delivery of placed segments: messages complete, STags are invalidated, requests go to tx, a
 * Terminate ends the stream. An error in a segment is recorded here, too.
 */

#include "engine/ack.h"
#include "engine/atomic.h"
#include "engine/read.h"
#include "engine/rx.h"
#include "memory/tpt.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "srnic.h"

/**
 * srnic_rx_fail - record the error of this FPDU, or of the stream; the first one wins (ERR-5)
 * @qp: with a stream, whose socket is locked
 * @err: what is wrong
 * @status: status of the local WR that is in error, if there is one; SRNIC_WC_SUCCESS: no WR
 *	    is in error
 *
 * The rest of the stream is dropped. Context: the owner of rx, in process or softirq.
 */
void srnic_rx_fail(struct srnic_qp *qp, enum rdmap_err err, enum srnic_wc_status status)
{
	struct srnic_rx *rx = qp->rx;
	const struct rdmap_error *e = rdmap_error(err, qp->version);
	bool response = rx->rd_valid && (rx->opcode == RDMAP_READ_RESPONSE ||
					 rx->opcode == RDMAP_ATOMIC_RESPONSE);
	bool quote = e->hdrct & RDMAP_TERM_D;
	struct srnic_cqe cqe = { };

	rx->discard = true;
	if (err == RDMAP_E_CRC)
		srnic_count(qp->dev, SRNIC_CNT_CRC_ERROR);
	else if ((err >= RDMAP_E_TAGGED_STAG && err <= RDMAP_E_TAGGED_ACCESS) ||
		 (err >= RDMAP_E_ATOMIC_ALIGN && err <= RDMAP_E_ATOMIC_WRAP) ||
		 err == RDMAP_E_WRITE_DISABLED)
		srnic_count(qp->dev, SRNIC_CNT_RX_PROTECTION_ERROR);
	else if (err == RDMAP_E_NO_RQE)
		srnic_count(qp->dev, SRNIC_CNT_RQ_EMPTY);
	else if (err == RDMAP_E_RQ_LOCAL || err == RDMAP_E_LOCAL_WR || err == RDMAP_E_SRQ ||
		 err == RDMAP_E_RING)
		srnic_count(qp->dev, SRNIC_CNT_LOCAL_WR_ERROR);
	else
		srnic_count(qp->dev, SRNIC_CNT_RX_PROTOCOL_ERROR);

	/* one WC with an error at most (ST-35): the others are Flushed */
	if (!srnic_qp_fail(qp, err, quote ? rx->hdr : NULL, quote ? rx->hdr_len : 0,
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

/* A Send, or what counts as one, is over; the owner of tx looks */
static void rx_next_send(struct srnic_rx *rx)
{
	WRITE_ONCE(rx->msn[DDP_QN_SEND], rx->msn[DDP_QN_SEND] + 1);
}

/* A message is in place and delivered: the peer can be told */
static void rx_delivered(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	/* pairs with srnic_ack_stage(): the octets, then the number */
	smp_store_release(&rx->delivered, rx->delivered + 1);
	if (qp->acks && rx->ddp.ulp & RDMAP_ASK) {
		smp_mb__before_atomic();	/* the number, then the bit; likewise */
		set_bit(SRNIC_QPF_ACK_ASKED, &qp->flags);
	}
}

static enum srnic_inv_err rx_invalidate(struct srnic_qp *qp, u32 stag, bool remote,
					bool may_sleep)
{
	srnic_rx_let_go(qp->rx);
	return may_sleep ? srnic_tpt_invalidate(qp, stag, remote) :
			   srnic_tpt_try_invalidate(qp, stag, remote);
}

/*
 * A whole Send or Immediate Data message is here and good: invalidate, then
 * complete (OR-09). In verbs, Immediate Data is the end of an RDMA Write with
 * immediate data; its length is that of the Write before it.
 */
static bool rx_deliver_send(struct srnic_qp *qp, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	const struct rdmap_op *op = rdmap_op(rx->opcode);
	struct srnic_cqe cqe = {
		.byte_len = rx->mo + rx->payload,
		.flags = op->solicited ? SRNIC_CQE_SOLICITED : 0,
	};

	if (op->inval) {
		enum srnic_inv_err err = rx_invalidate(qp, rx->ddp.inv_stag, true, may_sleep);

		if (err == SRNIC_INV_BUSY)
			return false;
		if (err) {
			srnic_rx_fail(qp, srnic_inv_remote_err(err), srnic_inv_recv_status(err));
			return true;
		}
		cqe.flags |= SRNIC_CQE_WITH_INV;
		cqe.data = rx->ddp.inv_stag;
	}
	if (srnic_rx_immediate(rx)) {
		cqe.opcode = SRNIC_OP_RECV_IMM;
		cqe.flags |= SRNIC_CQE_WITH_IMM;
		cqe.byte_len = rx->write_len;
		memcpy(&cqe.data, rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN,
		       sizeof(cqe.data));
	}
	if (op->imm) {
		cqe.flags |= SRNIC_CQE_WITH_IMM;
		cqe.data = (__force u32)cpu_to_be32(rx->ddp.inv_stag);
	}
	rx->rwr_valid = false;
	rx->mo = 0;
	rx->write_len = 0;
	rx_next_send(rx);
	srnic_rq_complete(qp, rx->rwr, &cqe, SRNIC_WC_SUCCESS);
	rx_delivered(qp);
	return true;
}

/* A Write is not reported (WR-2), but Immediate Data behind it reports its length */
static void rx_deliver_write(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	if (rx->write_ended)
		rx->write_len = 0;
	rx->write_len += rx->payload;
	rx->write_ended = rx->ddp.last;
	if (rx->ddp.last && !rx->rtr_write)
		rx_delivered(qp);
}

/* A Read Request or an Atomic Request: tx answers, in order. A Flush or Atomic Write is done */
static void rx_deliver_request(struct srnic_qp *qp, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	const u8 *hdr = rx->hdr + MPA_LEN_FIELD;
	struct srnic_inbound in = { .opcode = rx->opcode };

	memcpy(in.ddp, hdr, DDP_UNTAGGED_LEN);
	if (rx->opcode == RDMAP_READ_REQUEST)
		rdmap_read_req_decode(hdr + DDP_UNTAGGED_LEN, &in.read);
	else
		rdmap_atomic_req_decode(hdr + DDP_UNTAGGED_LEN, &in.atomic);
	if (rx->opcode == RDMAP_ATOMIC_REQUEST && rdmap_atomic_places(in.atomic.aopcode)) {
		rx->msn[DDP_QN_READ_REQUEST]++;
		rx_delivered(qp);
		return;
	}
	if (srnic_irq_push(qp, &in)) {
		srnic_rx_fail(qp, RDMAP_E_IRD, SRNIC_WC_SUCCESS);
		return;
	}
	rx->msn[DDP_QN_READ_REQUEST]++;
	if (may_sleep)	/* else srnic_rx_ready() answers, or kicks tx */
		srnic_qp_kick_tx(qp);
}

static bool rx_deliver_read_response(struct srnic_qp *qp, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;

	if (rx->rtr_response) {
		rx->rtr_response = false;
		clear_bit(SRNIC_QPF_RTR_READ, &qp->flags);
		srnic_qp_kick_tx(qp);
		return true;
	}
	/* invalidate after the data is in place, and before the completion is seen (OR-10) */
	if (rx->ddp.last && rx->rd.opcode == SRNIC_OP_READ_INV) {
		enum srnic_inv_err err = rx_invalidate(qp, rx->rd.sink_stag, false, may_sleep);

		if (err == SRNIC_INV_BUSY)
			return false;
		if (err) {
			srnic_rx_fail(qp, RDMAP_E_LOCAL_WR, srnic_inv_wc_status(err));
			return true;
		}
	}
	rx->rd_off += rx->payload;
	if (!rx->ddp.last)
		return true;
	rx->rd_valid = false;
	srnic_orq_done(qp, SRNIC_WC_SUCCESS);
	return true;
}

static bool rx_deliver_atomic_response(struct srnic_qp *qp, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	struct rdmap_atomic_resp resp;
	enum srnic_tpt_err err;

	rdmap_atomic_resp_decode(rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN, &resp);
	err = srnic_atomic_place(qp, &rx->rd, resp.value, may_sleep);
	if (err == SRNIC_TPT_SLEEPS) {
		rx->rd_valid = false;
		return false;
	}
	if (err) {
		srnic_rx_fail(qp, RDMAP_E_LOCAL_WR, srnic_tpt_wc_status(err));
		return true;
	}
	rx->msn[DDP_QN_ATOMIC_RESPONSE]++;
	rx->rd_valid = false;
	srnic_orq_done(qp, SRNIC_WC_SUCCESS);
	return true;
}

/*
 * Does the Terminate report an error of a request of ours? Then it is the oldest one
 * (CP-08); but a Flush or Atomic Write, which is on the same queue, is not among the requests. The
 * RDMAP header of an Atomic Request is never quoted (RFC 7306 8.1), and a peer that does not know
 * the opcode may quote nothing at all.
 */
static bool term_answers_request(const struct srnic_qp *qp, const struct rdmap_term *term,
				 const struct srnic_outbound *oldest)
{
	const struct rdmap_error *unknown = rdmap_error(RDMAP_E_OPCODE, RDMAP_IETF);
	struct ddp_hdr hdr;

	if (term->err.hdrct & RDMAP_TERM_R)
		return true;
	if (term->err.hdrct & RDMAP_TERM_D) {
		ddp_decode(term->ddp, &hdr);
		return !hdr.tagged && hdr.qn == DDP_QN_READ_REQUEST &&
		       (!qp->placement || hdr.msn == oldest->msn);
	}
	return srnic_op_is_atomic(oldest->opcode) && term->err.layer == unknown->layer &&
	       term->err.etype == unknown->etype && term->err.code == unknown->code;
}

/* The peer has ended the stream: no Terminate is sent in return (ST-24) */
static void rx_deliver_terminate(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	u32 off = MPA_LEN_FIELD + DDP_UNTAGGED_LEN;
	struct rdmap_term term;
	struct srnic_outbound out;
	bool request, in_wc;

	rx->discard = true;
	srnic_count(qp->dev, SRNIC_CNT_RX_TERMINATE);
	if (rdmap_term_decode(rx->hdr + off, rx->hdr_len - off, &term)) {
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_TERMINATE_RECEIVED);
		return;
	}
	request = srnic_orq_head(qp, &out) && term_answers_request(qp, &term, &out);
	in_wc = request || srnic_ack_terminated(qp, &term);
	if (srnic_qp_terminated(qp, &term, in_wc) && request)
		srnic_orq_done(qp, SRNIC_WC_REMOTE_TERMINATION);
}

/* A segment of a Send, or Immediate Data. The ULP does not see the RTR. */
static bool rx_deliver_untagged(struct srnic_qp *qp, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;

	if (rx->rtr_send) {
		rx_next_send(rx);
		return true;
	}
	if (rx->ddp.last)
		return rx_deliver_send(qp, may_sleep);
	rx->mo += rx->payload;
	return true;
}

/**
 * srnic_rx_deliver - deliver a segment that is placed
 * @qp: with a stream, whose socket is locked; the segment passed srnic_rx_place()
 * @may_sleep: whether the caller may
 *
 * Context: process or softirq, with the socket locked; sleeps only if @may_sleep.
 * Return: false if that has to sleep; nothing has changed then.
 */
bool srnic_rx_deliver(struct srnic_qp *qp, bool may_sleep)
{
	switch (qp->rx->opcode) {
	case RDMAP_WRITE:
		rx_deliver_write(qp);
		return true;
	case RDMAP_READ_REQUEST:
	case RDMAP_ATOMIC_REQUEST:
		rx_deliver_request(qp, may_sleep);
		return true;
	case RDMAP_ATOMIC_RESPONSE:
		return rx_deliver_atomic_response(qp, may_sleep);
	case RDMAP_READ_RESPONSE:
		return rx_deliver_read_response(qp, may_sleep);
	case RDMAP_TERMINATE:
		rx_deliver_terminate(qp);
		return true;
	case RDMAP_ACK:
		srnic_ack_received(qp);
		return true;
	default:
		return rx_deliver_untagged(qp, may_sleep);
	}
}
