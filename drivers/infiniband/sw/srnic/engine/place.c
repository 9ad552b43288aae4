// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placement of an inbound segment, whose CRC is good. The header is checked against the
 * state of the stream and the TPT before any byte is placed (D-SEC-4). Errors are left in
 * rx->err.
 */

#include "engine/ack.h"
#include "engine/atomic.h"
#include "engine/read.h"
#include "engine/rnr.h"
#include "engine/rx.h"
#include "engine/stream.h"
#include "memory/tpt.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "srnic.h"

static void rx_error(struct srnic_rx *rx, enum rdmap_err err, enum srnic_wc_status status)
{
	rx->err = err;
	rx->status = status;
}

/* Where the next bytes of a payload go, until there is an error. @qp: NULL in softirq */
struct rx_place {
	const struct srnic_qp *qp;
	const struct srnic_span *span;
	u64 at;
	enum srnic_tpt_err err;
};

static void rx_place_actor(void *ctx, const u8 *data, u32 len)
{
	struct rx_place *place = ctx;

	/* each piece may wait for a page: the end of the QP waits for one of them at most */
	if (!place->err && place->qp && srnic_rx_discards(place->qp))
		place->err = SRNIC_TPT_SLEEPS;
	if (!place->err)
		place->err = srnic_span_write(place->span, place->at, data, len);
	place->at += len;
}

/**
 * srnic_rx_let_go - release the memory that was placed to (owner of rx)
 * @rx: of a QP with a stream
 *
 * Called at the end of each turn, so that a deregistration does not wait for long, and before an
 * invalidation, which would wait for this. Context: the owner of rx; sleeps only if the memory is a
 * DMA buffer's, which is not kept.
 */
void srnic_rx_let_go(struct srnic_rx *rx)
{
	srnic_tpt_put(&rx->span);
}

/* Was an access of this turn to the same memory, so that its check and its count serve this one? */
static bool rx_reaches(const struct srnic_rx *rx, const struct srnic_access *acc)
{
	const struct srnic_access *last = &rx->reach;
	u64 at = acc->to - last->to;

	return rx->span.tpte && last->stag == acc->stag && last->need == acc->need &&
	       last->pd == acc->pd && last->nofault == acc->nofault && acc->to >= last->to &&
	       at <= rx->span.left && acc->length <= rx->span.left - at;
}

/* Check an access. Return: as srnic_tpt_get(); @place->at is set */
static enum srnic_tpt_err rx_reach(struct srnic_qp *qp, const struct srnic_access *acc,
				   struct rx_place *place)
{
	struct srnic_rx *rx = qp->rx;

	if (!rx_reaches(rx, acc)) {
		srnic_rx_let_go(rx);
		rx->reach = *acc;
		place->err = srnic_tpt_get(qp->dev, acc, &rx->span);
	}
	place->span = &rx->span;
	place->at = acc->to - rx->reach.to;
	return place->err;
}

/*
 * Check an access and copy what is at @cur; after an error nothing is copied, except for pages
 * before one that is missing
 */
static enum srnic_tpt_err rx_place_at(struct srnic_qp *qp, struct srnic_access *acc,
				      struct srnic_cursor *cur)
{
	struct srnic_span span;
	struct rx_place place = { .qp = acc->nowait ? NULL : qp, .span = &span };
	enum srnic_tpt_err err;

	if (!acc->nowait)
		srnic_rx_access(qp->rx, acc);
	err = qp->ud ? srnic_tpt_get(qp->dev, acc, &span) : rx_reach(qp, acc, &place);
	if (err)
		return err;
	srnic_cursor_walk(cur, acc->length, rx_place_actor, &place);
	if (qp->ud)
		srnic_tpt_put(&span);
	else if (!srnic_span_may_stay(&qp->rx->span))
		srnic_rx_let_go(qp->rx);
	return acc->nowait ? place.err : srnic_rx_accessed(qp->rx, acc, place.err);
}

/* Return: false if the access has to sleep */
static bool rx_place_tagged(struct srnic_qp *qp, struct srnic_cursor *cur, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	struct srnic_access acc = {
		.stag = rx->ddp.stag,
		.to = rx->ddp.to,
		.length = rx->payload,
		/* a Read Response was matched with our own request */
		.need = rx->opcode == RDMAP_WRITE ? SRNIC_REMOTE_WRITE : SRNIC_READ_SINK,
		.pd = qp->ibqp.pd,
		.qpn = qp->ibqp.qp_num,
		.nowait = !may_sleep,
	};
	enum srnic_tpt_err err;

	if (!acc.length)	/* STag and TO are not looked at (D-SEG-6) */
		return true;
	err = rx_place_at(qp, &acc, cur);
	if (err == SRNIC_TPT_SLEEPS)
		return false;
	if (err)
		rx_error(rx, srnic_tpt_tagged_err(err), rx->opcode == RDMAP_WRITE ?
			 SRNIC_WC_SUCCESS : srnic_tpt_wc_status(err));
	return true;
}

static bool rx_place_write(struct srnic_qp *qp, struct srnic_cursor *cur, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;

	if (READ_ONCE(qp->enables) & SRNIC_QP_WRITE_ENABLED || !rx->payload)
		return rx_place_tagged(qp, cur, may_sleep);
	rx_error(rx, RDMAP_E_WRITE_DISABLED, SRNIC_WC_SUCCESS);
	return true;
}

/* The segment must continue the response to the oldest Read, byte by byte (SEC-3, E-17) */
static void rx_check_read_response(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	bool ends;
	u32 left;

	if (rx->rtr_response) {
		if (rx->payload || !rx->ddp.last)
			rx_error(rx, RDMAP_E_RESP_RANGE, SRNIC_WC_SUCCESS);
		return;
	}
	if (!rx->rd_valid) {
		if (!srnic_orq_head(qp, &rx->rd) ||
		    srnic_op_is_atomic(rx->rd.opcode)) {
			rx_error(rx, RDMAP_E_RESP_UNEXPECTED, SRNIC_WC_SUCCESS);
			return;
		}
		rx->rd_valid = true;
		rx->rd_off = 0;
	}
	left = rx->rd.length - rx->rd_off;
	ends = rx->payload == left;
	/* a zero-length segment that is not the last is legal (D-SEG-11) */
	if (!rx->payload && !rx->ddp.last)
		return;
	if (rx->payload > left || rx->ddp.last != ends) {
		rx_error(rx, RDMAP_E_RESP_RANGE, SRNIC_WC_INVALID_LENGTH);
		return;
	}
	if (!rx->payload)
		return;
	if (qp->no_responses)
		rx_error(rx, RDMAP_E_WRITE_DISABLED, SRNIC_WC_SUCCESS);
	else if (rx->ddp.stag != rx->rd.sink_stag)
		rx_error(rx, RDMAP_E_RESP_STAG, SRNIC_WC_INVALID_STAG);
	else if (rx->ddp.to != rx->rd.sink_to + rx->rd_off)
		rx_error(rx, RDMAP_E_RESP_RANGE, SRNIC_WC_BOUNDS);
}

static bool rx_place_read_response(struct srnic_qp *qp, struct srnic_cursor *cur,
				   bool may_sleep)
{
	rx_check_read_response(qp);
	return qp->rx->err || rx_place_tagged(qp, cur, may_sleep);
}

/* The response must belong to the oldest request (RFC 7306 5.2.2) */
static void rx_check_atomic_response(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct rdmap_atomic_resp resp;

	rdmap_atomic_resp_decode(rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN, &resp);
	if (rx->rtr_response || rx->rd_valid ||
	    !srnic_orq_head(qp, &rx->rd) ||
	    !srnic_op_is_atomic(rx->rd.opcode) || rx->rd.index != resp.id)
		rx_error(rx, RDMAP_E_RESP_UNEXPECTED, SRNIC_WC_SUCCESS);
	else
		rx->rd_valid = true;
}

/*
 * It is an error if the QP takes no atomics, or if the operation does not exist (E-40). tx executes
 * it later; but a Flush or an Atomic Write takes effect here. Return: false if that has to sleep
 */
static bool rx_check_atomic_request(struct srnic_qp *qp, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	struct rdmap_atomic_req req;

	rdmap_atomic_req_decode(rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN, &req);
	if (qp->placement && rdmap_atomic_places(req.aopcode))
		return srnic_placement_execute(qp, &req, may_sleep, &rx->err);
	if (!rdmap_atomic_known(req.aopcode))
		rx_error(rx, RDMAP_E_ATOMIC_OPCODE, SRNIC_WC_SUCCESS);
	else if (!(READ_ONCE(qp->enables) & SRNIC_QP_ATOMIC_ENABLED))
		rx_error(rx, RDMAP_E_ATOMIC_ACCESS, SRNIC_WC_SUCCESS);
	return true;
}

static void rx_check_read_request(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct rdmap_read_req req;

	rdmap_read_req_decode(rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN, &req);
	if (req.size && !(READ_ONCE(qp->enables) & SRNIC_QP_READ_ENABLED))
		rx_error(rx, RDMAP_E_READ_DISABLED, SRNIC_WC_SUCCESS);
}

/*
 * The RTR of the peer, by Send. The RTR is between the two devices: it takes an MSN, as
 * any message does, but no receive WQE, and the ULP does not see it (RFC 6581 5, V2-20).
 */
static bool rx_is_rtr_send(const struct srnic_qp *qp)
{
	const struct srnic_rx *rx = qp->rx;

	return !qp->initiator && (qp->mpa.rtr & MPA_RTR_SEND) &&
	       !test_bit(SRNIC_QPF_TX_OPEN, &qp->flags) &&
	       rx->opcode == RDMAP_SEND && rx->ddp.last && !rx->ddp.mo && !rx->payload;
}

/* A message begins. Return: false if it has to wait for a receive */
static bool rx_take_receive(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	int err = srnic_rq_take(qp, rx->rwr);

	if (err == -EAGAIN) {
		if (srnic_rnr_waits(qp))
			return false;
		rx_error(rx, RDMAP_E_NO_RQE, SRNIC_WC_SUCCESS);
		return true;
	}
	if (err == -EPROTO) {
		srnic_count(qp->dev, SRNIC_CNT_RING_CORRUPT);
		rx_error(rx, qp->srq ? RDMAP_E_SRQ : RDMAP_E_RING, SRNIC_WC_SUCCESS);
		return true;
	}
	rx->rwr_valid = true;
	rx->mo = 0;
	if (err)
		rx_error(rx, RDMAP_E_RQ_LOCAL, SRNIC_WC_INVALID_WQE);
	return true;
}

/*
 * A Send, or Immediate Data, which takes a receive WQE but none of its buffer. Return: false
 * if it has to wait for a receive
 */
static bool rx_check_send(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	/* Immediate Data in the middle of a Send; or an opcode that was not offered */
	if ((rx->rwr_valid && srnic_rx_immediate(rx)) ||
	    (rdmap_op(rx->opcode)->imm && !qp->send_imm)) {
		rx_error(rx, RDMAP_E_OPCODE, SRNIC_WC_SUCCESS);
		return true;
	}
	if (rx->ddp.msn != rx->msn[DDP_QN_SEND]) {
		rx_error(rx, RDMAP_E_MSN, SRNIC_WC_SUCCESS);
		return true;
	}
	rx->rtr_send = rx_is_rtr_send(qp);
	if (rx->rtr_send)
		return true;
	if (!rx->rwr_valid) {
		if (!rx_take_receive(qp))
			return false;
		if (rx->err)
			return true;
	}
	/* RFC 5041 permits segments out of order, but over TCP they come in order (D-SEG-9) */
	if (rx->ddp.mo != rx->mo)
		rx_error(rx, RDMAP_E_MO, SRNIC_WC_SUCCESS);
	else if ((u64)rx->mo + rx->payload > rx->rwr->length)
		rx_error(rx, RDMAP_E_TOO_LONG, SRNIC_WC_INVALID_LENGTH);
	return true;
}

/*
 * Messages of one segment on the other queues: requests, Terminate, Atomic Response. Return: false
 * if that has to sleep
 */
static bool rx_check_single(struct srnic_qp *qp, u32 qn, bool may_sleep)
{
	bool request = qn == DDP_QN_READ_REQUEST;
	struct srnic_rx *rx = qp->rx;

	if (rx->ddp.msn != rx->msn[qn])
		rx_error(rx, request ? RDMAP_E_IRRQ_MSN : RDMAP_E_MSN, SRNIC_WC_SUCCESS);
	else if (rx->ddp.mo)
		rx_error(rx, request ? RDMAP_E_READ_MO : RDMAP_E_MO, SRNIC_WC_SUCCESS);
	else if (rx->opcode == RDMAP_READ_REQUEST)
		rx_check_read_request(qp);
	else if (rx->opcode == RDMAP_ATOMIC_REQUEST)
		return rx_check_atomic_request(qp, may_sleep);
	else if (rx->opcode == RDMAP_ATOMIC_RESPONSE)
		rx_check_atomic_response(qp);
	return true;
}

/* An acknowledgment; without the agreement there is no such message */
static void rx_check_ack(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	if (!qp->acks)
		rx_error(rx, RDMAP_E_OPCODE, SRNIC_WC_SUCCESS);
	else if (rx->ddp.msn != rx->msn[rx->ddp.qn])
		rx_error(rx, RDMAP_E_MSN, SRNIC_WC_SUCCESS);
	else if (rx->ddp.mo)
		rx_error(rx, RDMAP_E_MO, SRNIC_WC_SUCCESS);
	else if (rx->payload)
		rx_error(rx, RDMAP_E_IMM_LENGTH, SRNIC_WC_SUCCESS);
	else if (!rx->ddp.last)
		rx_error(rx, RDMAP_E_NO_L_BIT, SRNIC_WC_SUCCESS);
	else if (!srnic_ack_fits(qp, rx->ddp.inv_stag))
		rx_error(rx, RDMAP_E_OPCODE, SRNIC_WC_SUCCESS);
}

/**
 * srnic_place_receive - copy into the memory of a receive WR
 * @qp: took the WR
 * @rwr: the WR
 * @off: where to, in bytes from its start
 * @cur: what is copied
 * @len: its bytes, for which the WR has room
 * @may_sleep: whether the caller may
 *
 * Context: process or softirq; sleeps only if @may_sleep.
 *
 * Return: SRNIC_TPT_OK; SRNIC_TPT_SLEEPS if an access has to sleep, or another error, and some
 * bytes may be in place then.
 */
enum srnic_tpt_err srnic_place_receive(struct srnic_qp *qp, const struct srnic_rwr *rwr, u32 off,
				       struct srnic_cursor *cur, u32 len, bool may_sleep)
{
	struct srnic_sge_walk walk = srnic_sge_walk(qp, rwr->pd, SRNIC_LOCAL_WRITE, rwr->sge,
						    off, len);
	enum srnic_tpt_err err = SRNIC_TPT_OK;

	walk.acc.nowait = !may_sleep;
	while (!err && srnic_sge_next(&walk))
		err = rx_place_at(qp, &walk.acc, cur);
	return err;
}

static bool rx_scatter(struct srnic_qp *qp, struct srnic_cursor *cur, bool may_sleep)
{
	struct srnic_rx *rx = qp->rx;
	enum srnic_tpt_err err = srnic_place_receive(qp, rx->rwr, rx->mo, cur, rx->payload,
						     may_sleep);

	if (err == SRNIC_TPT_SLEEPS)
		return false;
	if (err)
		rx_error(rx, RDMAP_E_RQ_LOCAL, srnic_tpt_wc_status(err));
	return true;
}

static bool rx_place_send(struct srnic_qp *qp, struct srnic_cursor *cur, bool may_sleep)
{
	if (!rx_check_send(qp))
		return false;
	return qp->rx->err || rx_scatter(qp, cur, may_sleep);
}

/**
 * srnic_rx_place - check a segment, and place its payload
 * @qp: with a stream, whose socket is locked; the segment passed the stateless checks
 * @cur: its payload
 * @may_sleep: whether the caller may
 *
 * A segment with an error is not placed, except that bytes may be in the memory of the SGEs of a
 * receive WR before a wrong SGE, and in pages before one that the process does not have. The error
 * is left in rx->err and rx->status.
 *
 * Context: process or softirq, with the socket locked; sleeps only if @may_sleep.
 * Return: false if only a caller that may sleep can access the memory, or the message waits
 * for a receive (rx->rnr_since). The call may then be made again.
 */
bool srnic_rx_place(struct srnic_qp *qp, struct srnic_cursor *cur, bool may_sleep)
{
	switch (qp->rx->opcode) {
	case RDMAP_WRITE:
		return rx_place_write(qp, cur, may_sleep);
	case RDMAP_READ_RESPONSE:
		return rx_place_read_response(qp, cur, may_sleep);
	case RDMAP_READ_REQUEST:
	case RDMAP_ATOMIC_REQUEST:
	case RDMAP_ATOMIC_RESPONSE:
	case RDMAP_TERMINATE:
		return rx_check_single(qp, rdmap_op(qp->rx->opcode)->qn, may_sleep);
	case RDMAP_ACK:
		rx_check_ack(qp);
		return true;
	default:
		return rx_place_send(qp, cur, may_sleep);
	}
}
