// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placement of an inbound segment. The header is checked against the state of
 * the stream and the TPT once, before any byte is placed (D-SEC-4). Errors are
 * left in rx->err.
 */

#include "rx.h"
#include "srnic.h"
#include "tpt.h"
#include "tx.h"

static void rx_error(struct srnic_rx *rx, enum rdmap_err err, enum srnic_wc_status status)
{
	rx->err = err;
	rx->status = status;
}

static struct srnic_access rx_tagged_access(const struct srnic_qp *qp, u64 off, u32 len)
{
	const struct srnic_rx *rx = qp->rx;

	return (struct srnic_access){
		.stag = rx->ddp.stag,
		.to = rx->ddp.to + off,
		.length = len,
		/* a Read Response was matched with our own request */
		.need = rx->opcode == RDMAP_WRITE ? SRNIC_REMOTE_WRITE : SRNIC_READ_SINK,
		.pd = qp->ibqp.pd,
		.qpn = qp->ibqp.qp_num,
	};
}

static void rx_tagged_error(struct srnic_rx *rx, enum srnic_tpt_err err)
{
	rx_error(rx, srnic_tpt_tagged_err(err),
		 rx->opcode == RDMAP_WRITE ? SRNIC_WC_SUCCESS : srnic_tpt_wc_status(err));
}

static void rx_check_tagged(struct srnic_qp *qp)
{
	struct srnic_access acc = rx_tagged_access(qp, 0, qp->rx->payload);
	struct srnic_span span;
	enum srnic_tpt_err err;

	if (!acc.length)	/* STag and TO are not looked at (D-SEG-6) */
		return;
	err = srnic_tpt_get(qp->dev, &acc, &span);
	if (err)
		rx_tagged_error(qp->rx, err);
	else
		srnic_tpt_put(&span);
}

static void rx_check_write(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	if (!(READ_ONCE(qp->enables) & SRNIC_QP_WRITE_ENABLED) && rx->payload)
		rx_error(rx, RDMAP_E_TAGGED_ACCESS, SRNIC_WC_SUCCESS);
	else
		rx_check_tagged(qp);
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
	if (rx->ddp.stag != rx->rd.sink_stag)
		rx_error(rx, RDMAP_E_RESP_STAG, SRNIC_WC_INVALID_STAG);
	else if (rx->ddp.to != rx->rd.sink_to + rx->rd_off)
		rx_error(rx, RDMAP_E_RESP_RANGE, SRNIC_WC_BOUNDS);
	else
		rx_check_tagged(qp);
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

/* The QP takes no atomics, or the operation does not exist (E-40) */
static void rx_check_atomic_request(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct rdmap_atomic_req req;

	rdmap_atomic_req_decode(rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN, &req);
	if (!rdmap_atomic_known(req.aopcode))
		rx_error(rx, RDMAP_E_ATOMIC_OPCODE, SRNIC_WC_SUCCESS);
	else if (!(READ_ONCE(qp->enables) & SRNIC_QP_ATOMIC_ENABLED))
		rx_error(rx, RDMAP_E_ATOMIC_ACCESS, SRNIC_WC_SUCCESS);
}

static void rx_check_read_request(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	struct rdmap_read_req req;

	rdmap_read_req_decode(rx->hdr + MPA_LEN_FIELD + DDP_UNTAGGED_LEN, &req);
	if (req.size && !(READ_ONCE(qp->enables) & SRNIC_QP_READ_ENABLED))
		rx_error(rx, RDMAP_E_READ_ACCESS, SRNIC_WC_SUCCESS);
}

/*
 * The RTR of the peer, by Send. The RTR is a matter of the two devices: it takes an
 * MSN, as any message does, but no receive WQE, and the ULP does not see it (RFC 6581
 * 5, V2-20).
 */
static bool rx_is_rtr_send(const struct srnic_qp *qp)
{
	const struct srnic_rx *rx = qp->rx;

	return !qp->initiator && (qp->mpa.rtr & MPA_RTR_SEND) &&
	       !test_bit(SRNIC_QPF_TX_OPEN, &qp->flags) &&
	       rx->opcode == RDMAP_SEND && rx->ddp.last && !rx->ddp.mo && !rx->payload;
}

/* A Send, or Immediate Data, which takes a receive WQE but none of its buffer */
static void rx_check_send(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	int err;

	/* in the middle of a Send */
	if (rx->rwr_valid && srnic_rx_immediate(rx)) {
		rx_error(rx, RDMAP_E_OPCODE, SRNIC_WC_SUCCESS);
		return;
	}
	if (rx->ddp.msn != rx->msn[DDP_QN_SEND]) {
		rx_error(rx, RDMAP_E_MSN, SRNIC_WC_SUCCESS);
		return;
	}
	rx->rtr_send = rx_is_rtr_send(qp);
	if (rx->rtr_send)
		return;
	if (!rx->rwr_valid) {
		err = srnic_rq_take(qp, rx->rwr);
		if (err == -EAGAIN) {
			rx_error(rx, RDMAP_E_NO_RQE, SRNIC_WC_SUCCESS);
			return;
		}
		if (err == -EPROTO) {
			srnic_count(qp->dev, SRNIC_CNT_RING_CORRUPT);
			rx_error(rx, qp->srq ? RDMAP_E_SRQ : RDMAP_E_RQ_LOCAL,
				 SRNIC_WC_SUCCESS);
			return;
		}
		rx->rwr_valid = true;
		rx->mo = 0;
		if (err) {
			rx_error(rx, RDMAP_E_RQ_LOCAL, SRNIC_WC_INVALID_WQE);
			return;
		}
	}
	/* RFC 5041 permits segments out of order, but over TCP they come in order (D-SEG-9) */
	if (rx->ddp.mo != rx->mo)
		rx_error(rx, RDMAP_E_MO, SRNIC_WC_SUCCESS);
	else if ((u64)rx->mo + rx->payload > rx->rwr->length)
		rx_error(rx, RDMAP_E_TOO_LONG, SRNIC_WC_INVALID_LENGTH);
}

/* Messages of one segment on the other queues: requests, Terminate, Atomic Response */
static void rx_check_single(struct srnic_qp *qp, u32 qn)
{
	struct srnic_rx *rx = qp->rx;

	if (rx->ddp.msn != rx->msn[qn])
		rx_error(rx, RDMAP_E_MSN, SRNIC_WC_SUCCESS);
	else if (rx->ddp.mo)
		rx_error(rx, RDMAP_E_MO, SRNIC_WC_SUCCESS);
	else if (rx->opcode == RDMAP_READ_REQUEST)
		rx_check_read_request(qp);
	else if (rx->opcode == RDMAP_ATOMIC_REQUEST)
		rx_check_atomic_request(qp);
	else if (rx->opcode == RDMAP_ATOMIC_RESPONSE)
		rx_check_atomic_response(qp);
}

/**
 * srnic_rx_check - check a segment whose header is complete (rx kthread)
 * @qp: with a stream; the segment passed the stateless checks
 *
 * Leaves an error in rx->err and rx->status.
 */
void srnic_rx_check(struct srnic_qp *qp)
{
	switch (qp->rx->opcode) {
	case RDMAP_WRITE:
		rx_check_write(qp);
		break;
	case RDMAP_READ_RESPONSE:
		rx_check_read_response(qp);
		break;
	case RDMAP_READ_REQUEST:
	case RDMAP_ATOMIC_REQUEST:
	case RDMAP_ATOMIC_RESPONSE:
	case RDMAP_TERMINATE:
		rx_check_single(qp, rdmap_op(qp->rx->opcode)->qn);
		break;
	default:
		rx_check_send(qp);
	}
}

/* Return: the error. Each piece is looked up: the region may go away (SEC-6). */
static enum srnic_tpt_err place_at(struct srnic_qp *qp, const struct srnic_access *acc,
				   const u8 *data)
{
	struct srnic_span span;
	enum srnic_tpt_err err;

	err = srnic_tpt_get(qp->dev, acc, &span);
	if (err)
		return err;
	srnic_span_write(&span, 0, data, acc->length);
	srnic_tpt_put(&span);
	return SRNIC_TPT_OK;
}

static void place_untagged(struct srnic_qp *qp, const u8 *data, u32 len)
{
	struct srnic_rx *rx = qp->rx;
	u32 off = rx->mo + rx->placed;
	u32 i;

	for (i = 0; len && i < rx->rwr->num_sge; i++) {
		const struct srnic_sge *sge = &rx->rwr->sge[i];
		struct srnic_access acc = {
			.stag = sge->lkey,
			.to = sge->addr + off,
			.need = SRNIC_LOCAL_WRITE,
			.pd = rx->rwr->pd,
			.qpn = qp->ibqp.qp_num,
			.privileged = qp->kernel,
		};
		enum srnic_tpt_err err;

		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		acc.length = min(len, sge->length - off);
		err = place_at(qp, &acc, data);
		if (err) {
			rx_error(rx, RDMAP_E_RQ_LOCAL, srnic_tpt_wc_status(err));
			return;
		}
		data += acc.length;
		len -= acc.length;
		off = 0;
	}
}

/**
 * srnic_rx_place - place bytes of the current segment (rx kthread)
 * @qp: with a stream; the segment passed srnic_rx_check()
 * @data: bytes
 * @len: how many, within the segment
 *
 * Leaves an error in rx->err and rx->status.
 */
void srnic_rx_place(struct srnic_qp *qp, const u8 *data, u32 len)
{
	struct srnic_rx *rx = qp->rx;
	struct srnic_access acc;
	enum srnic_tpt_err err;

	if (!rx->ddp.tagged) {
		if (rx->opcode != RDMAP_TERMINATE)
			place_untagged(qp, data, len);
		return;
	}
	acc = rx_tagged_access(qp, rx->placed, len);
	err = place_at(qp, &acc, data);
	if (err)
		rx_tagged_error(rx, err);
}
