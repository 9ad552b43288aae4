// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The tx engine: answers to the Reads and atomics that the peer asked for. */

#include "engine/atomic.h"
#include "engine/read.h"
#include "engine/tx.h"
#include "memory/tpt.h"
#include "srnic.h"

/* An inbound read cannot go on: E-18 to E-22, or E-24 if part of it was answered */
static void tx_read_error(struct srnic_qp *qp, enum srnic_tpt_err err)
{
	struct srnic_tx *tx = qp->tx;
	u8 seg[MPA_LEN_FIELD + DDP_UNTAGGED_LEN + RDMAP_READ_REQ_LEN];
	struct rdmap_read_req req = tx->in.read;

	/* quote the request, advanced over what was answered (TRM-11, TRM-12) */
	req.sink_to += tx->rd_off;
	req.src_to += tx->rd_off;
	req.size -= tx->rd_off;
	put_unaligned_be16(DDP_UNTAGGED_LEN + RDMAP_READ_REQ_LEN, seg);
	memcpy(seg + MPA_LEN_FIELD, tx->in.ddp, DDP_UNTAGGED_LEN);
	rdmap_read_req_encode(seg + MPA_LEN_FIELD + DDP_UNTAGGED_LEN, &req);
	tx->responding = false;
	srnic_count(qp->dev, SRNIC_CNT_RX_PROTECTION_ERROR);
	srnic_qp_fail(qp, tx->rd_off && err == SRNIC_TPT_STAG ?
			  RDMAP_E_READ_REVOKED : srnic_tpt_read_err(err),
		      seg, sizeof(seg), false);
}

/*
 * Copy one segment of a Read Response's payload from the region of the Read. The first access
 * checks the whole Read, so that nothing of a bad Read is sent.
 */
static enum srnic_tpt_err tx_read_copy(struct srnic_qp *qp, u8 *dst, u32 len)
{
	const struct srnic_tx *tx = qp->tx;
	struct srnic_access acc = {
		.stag = tx->in.read.src_stag,
		.to = tx->in.read.src_to + tx->rd_off,
		.length = tx->in.read.size - tx->rd_off,
		.need = SRNIC_REMOTE_READ,
		.pd = qp->ibqp.pd,
		.qpn = qp->ibqp.qp_num,
	};

	return len ? srnic_tx_copy(qp, &acc, dst, len) : SRNIC_TPT_OK;
}

/* Take the next request into tx->in; answer an atomic at once. Return: false if there is none */
static bool tx_next_request(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;

	if (!srnic_irq_head(qp, &tx->in))
		return false;
	if (tx->in.opcode == RDMAP_ATOMIC_REQUEST) {
		srnic_atomic_respond(qp, &tx->in);
	} else {
		tx->responding = true;
		tx->rd_off = 0;
	}
	return true;
}

/* Stage segments of the response that is under way, until the response or the room ends */
static void tx_stage_read_response(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	bool large = srnic_tx_is_large(tx->in.read.size);
	struct ddp_hdr hdr = {
		.tagged = true,
		.version = qp->version,
		.ulp = rdmap_control(qp->version, RDMAP_READ_RESPONSE),
		.stag = tx->in.read.sink_stag,
	};

	if (srnic_tx_cut_before(tx, !tx->rd_off && large))
		return;
	do {
		u32 len = min(tx->mulpdu - DDP_TAGGED_LEN, tx->in.read.size - tx->rd_off);
		enum srnic_tpt_err err;

		hdr.last = len == tx->in.read.size - tx->rd_off;
		hdr.to = tx->in.read.sink_to + tx->rd_off;
		err = tx_read_copy(qp, srnic_tx_header(qp, &hdr), len);
		if (err == SRNIC_TPT_SLEEPS)	/* of this segment nothing is staged */
			return;
		if (err) {
			tx_read_error(qp, err);
			return;
		}
		tx->rd_off += len;
		srnic_tx_seal(qp, DDP_TAGGED_LEN + len);
	} while (!hdr.last && srnic_tx_has_room(qp));
	srnic_tx_cut_after(qp, hdr.last && large);
	if (hdr.last) {
		srnic_tx_let_go(tx);
		tx->responding = false;
		srnic_irq_done(qp);
	}
}

/**
 * srnic_tx_stage_response - stage what answers the oldest inbound request (owner of tx)
 * @qp: with a stream; there is room
 *
 * Context: the owner of tx, may sleep unless tx->locked. Return: false if there is no inbound
 * request.
 */
bool srnic_tx_stage_response(struct srnic_qp *qp)
{
	if (!qp->tx->responding && !tx_next_request(qp))
		return false;
	if (qp->tx->responding)
		tx_stage_read_response(qp);
	return true;
}
