// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The tx engine: send WRs to messages. */

#include "engine/atomic.h"
#include "engine/read.h"
#include "engine/stream.h"
#include "engine/tx.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "memory/tpt.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "srnic.h"

/* Copy the next @len bytes of the current WR's data */
static enum srnic_tpt_err tx_gather(struct srnic_qp *qp, u8 *dst, u32 len)
{
	struct srnic_tx *tx = qp->tx;
	struct srnic_sge_walk walk;

	if (tx->wr.sqe.flags & SRNIC_SQE_INLINE) {
		memcpy(dst, tx->wr.inl + tx->off, len);
		return SRNIC_TPT_OK;
	}
	walk = srnic_sge_walk(qp, qp->ibqp.pd, SRNIC_LOCAL_READ, tx->wr.sges, tx->off, len);
	while (srnic_sge_next(&walk)) {
		u32 n = walk.acc.length;
		enum srnic_tpt_err err;

		walk.acc.length = walk.rest;
		err = srnic_tx_copy(qp, &walk.acc, dst, n);
		if (err)
			return err;
		if (n == walk.rest)
			srnic_tx_let_go(tx);
		dst += n;
	}
	return SRNIC_TPT_OK;
}

/* The WR in progress failed here: complete it, terminate (TM-05) */
static void tx_wr_error(struct srnic_qp *qp, enum srnic_wc_status status)
{
	bool first;

	qp->tx->busy = false;
	srnic_count(qp->dev, SRNIC_CNT_LOCAL_WR_ERROR);
	/* one WC with an error at most (ST-35) */
	first = srnic_qp_fail(qp, RDMAP_E_LOCAL_WR, NULL, 0, true);
	srnic_sq_done(qp, qp->tx->wr.index, first ? status : SRNIC_WC_FLUSHED);
}

static u8 send_opcode(const struct srnic_sqe *sqe)
{
	bool se = sqe->flags & SRNIC_SQE_SOLICITED;

	if (sqe->opcode == SRNIC_OP_SEND_INV)
		return se ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
	if (sqe->opcode == SRNIC_OP_SEND_IMM)
		return se ? RDMAP_SEND_SE_IMM : RDMAP_SEND_IMM;
	return se ? RDMAP_SEND_SE : RDMAP_SEND;
}

/* The Invalidate STag field */
static u32 send_inv_stag(const struct srnic_sqe *sqe)
{
	switch (sqe->opcode) {
	case SRNIC_OP_SEND_INV:
		return sqe->stag;
	case SRNIC_OP_SEND_IMM:
		return be32_to_cpu((__force __be32)sqe->stag);
	default:
		return 0;
	}
}

/* A whole message is staged, which the peer acknowledges if it does that */
static void tx_message_staged(struct srnic_tx *tx)
{
	WRITE_ONCE(tx->messages, tx->messages + 1);
}

/* A completion waits for the WR's last message: ask the peer to acknowledge it at once */
static u8 tx_ask(const struct srnic_qp *qp)
{
	bool waits = qp->sig_all || qp->tx->wr.sqe.flags & SRNIC_SQE_SIGNALED;

	return qp->acks && waits ? RDMAP_ASK : 0;
}

static void tx_wr_staged(struct srnic_tx *tx)
{
	tx->busy = false;
	tx->staged = tx->wr.index + 1;
}

/*
 * Stage segments of a Send or Write until the message or the room ends. Return: false if the next
 * one has to wait for its memory, and tx->nowait
 */
static bool tx_stage_data(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	bool with_imm = tx->wr.sqe.opcode == SRNIC_OP_WRITE_IMM;
	bool tagged = tx->wr.sqe.opcode == SRNIC_OP_WRITE || with_imm;
	struct ddp_hdr hdr = {
		.tagged = tagged,
		.version = qp->version,
		.ulp = rdmap_control(qp->version, tagged ? RDMAP_WRITE :
				     send_opcode(&tx->wr.sqe)),
		.stag = tx->wr.sqe.rkey,
		.inv_stag = send_inv_stag(&tx->wr.sqe),
		.qn = DDP_QN_SEND,
		.msn = tx->msn[DDP_QN_SEND],
	};

	if (srnic_tx_cut_before(tx, !tx->off && srnic_tx_is_large(tx->wr.total)))
		return true;
	do {
		u32 len = min(tx->mulpdu - ddp_hdr_len(tagged), tx->wr.total - tx->off);
		enum srnic_tpt_err err;

		hdr.last = len == tx->wr.total - tx->off;
		if (hdr.last && !with_imm)
			hdr.ulp |= tx_ask(qp);
		hdr.to = tx->wr.sqe.remote_addr + tx->off;
		hdr.mo = tx->off;
		err = tx_gather(qp, srnic_tx_header(qp, &hdr), len);
		if (err == SRNIC_TPT_SLEEPS)	/* of this segment nothing is staged */
			return false;
		if (err) {
			tx_wr_error(qp, srnic_tpt_wc_status(err));
			return true;
		}
		tx->off += len;
		srnic_tx_seal(qp, ddp_hdr_len(tagged) + len);
	} while (!hdr.last && srnic_tx_has_room(qp));

	srnic_tx_cut_after(qp, hdr.last && srnic_tx_is_large(tx->wr.total));
	if (hdr.last) {
		tx_message_staged(tx);
		if (!tagged)
			tx->msn[DDP_QN_SEND]++;
		if (with_imm)
			tx->imm_due = true;
		else
			tx_wr_staged(tx);
	}
	return true;
}

/*
 * Immediate Data follows the Write (RFC 7306 6). It has eight octets, and that of verbs
 * four: these go first and zeros behind them, as other RNICs do it (X7-14).
 */
static void tx_stage_imm(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	u8 opcode = tx->wr.sqe.flags & SRNIC_SQE_SOLICITED ? RDMAP_IMMEDIATE_SE : RDMAP_IMMEDIATE;
	u8 imm[RDMAP_IMM_LEN] = { };

	memcpy(imm, &tx->wr.sqe.stag, sizeof(tx->wr.sqe.stag));
	srnic_tx_untagged(qp, opcode | tx_ask(qp), imm, sizeof(imm));
	tx_message_staged(tx);
	tx->imm_due = false;
	tx_wr_staged(tx);
}

/**
 * srnic_tx_request - stage a request of the current WR (owner of tx)
 * @qp: with a stream; fewer than ORD requests are outstanding; the buffer has room
 * @opcode: of the message
 * @payload: RDMAP header
 * @len: its octets
 * @sink: where the response goes
 * @last: the request is the last one of the WR
 * Context: the owner of tx, in process or softirq.
 */
void srnic_tx_request(struct srnic_qp *qp, u8 opcode, const void *payload, u32 len,
		      const struct srnic_sge *sink, bool last)
{
	struct srnic_tx *tx = qp->tx;
	struct srnic_outbound out = {
		.index = tx->wr.index,
		.msn = tx->msn[DDP_QN_READ_REQUEST],
		.last = last,
		.opcode = tx->wr.sqe.opcode,
		.length = sink->length,
		.sink_stag = sink->lkey,
		.sink_to = sink->addr,
	};

	srnic_tx_untagged(qp, opcode, payload, len);
	out.end = srnic_stream_taken(qp->stream) + tx->batch->len;
	srnic_orq_push(qp, &out);
}

/*
 * A Read Request names one sink, so there is one for each SGE of the Read. SGEs of no
 * length need none, but a Read of no length has one, as it is a message all the same.
 */
static void tx_stage_read(struct srnic_qp *qp)
{
	static const struct srnic_sge nothing;
	struct srnic_tx *tx = qp->tx;
	const struct srnic_sge *sge = tx->wr.sqe.num_sge ? &tx->wr.sges[tx->sge] : &nothing;
	struct rdmap_read_req req = {
		.sink_stag = sge->lkey,
		.sink_to = sge->addr,
		.size = sge->length,
		.src_stag = tx->wr.sqe.rkey,
		.src_to = tx->wr.sqe.remote_addr + tx->off,
	};
	u8 buf[RDMAP_READ_REQ_LEN];

	tx->sge++;
	if (!sge->length && tx->wr.total)
		return;
	tx->off += sge->length;
	rdmap_read_req_encode(buf, &req);
	srnic_tx_request(qp, RDMAP_READ_REQUEST, buf, sizeof(buf), sge, tx->off == tx->wr.total);
	if (tx->off == tx->wr.total)
		tx_wr_staged(tx);
}

/* WRs that are done here: nothing of them goes on the wire (RDMAC verbs 8.1.2.3) */
static bool op_is_local(u8 opcode)
{
	return opcode == SRNIC_OP_LOCAL_INV || opcode == SRNIC_OP_REG_MR ||
	       opcode == SRNIC_OP_BIND_MW;
}

static void tx_stage_atomic(struct srnic_qp *qp)
{
	enum srnic_wc_status status = srnic_atomic_request(qp);

	if (status)
		tx_wr_error(qp, status);
	else
		tx_wr_staged(qp->tx);
}

static void tx_stage_placement(struct srnic_qp *qp)
{
	srnic_placement_request(qp, tx_ask(qp));
	tx_message_staged(qp->tx);
	tx_wr_staged(qp->tx);
}

/**
 * srnic_tx_wr_blocked - must the WR in progress wait? (owner of tx)
 * @qp: with a stream, and a WR in progress
 *
 * It waits if ORD is used up (RD-02), or for a fence. With an ORD of 0 it does not wait, it
 * fails. The read fence waits for reads and atomics (FE-01), the local fence for all WRs before
 * (FE-02); on other WRs the flag means nothing (FE-03). Context: the owner of tx, in process or
 * softirq.
 */
bool srnic_tx_wr_blocked(const struct srnic_qp *qp)
{
	const struct srnic_tx *tx = qp->tx;

	if (srnic_op_has_response(tx->wr.sqe.opcode))
		return srnic_orq_limit(qp) && srnic_orq_full(qp);
	if (!(tx->wr.sqe.flags & SRNIC_SQE_FENCE))
		return false;
	if (tx->wr.sqe.opcode == SRNIC_OP_LOCAL_INV)
		return READ_ONCE(qp->sq_completed) != tx->wr.index;
	if (op_is_local(tx->wr.sqe.opcode))
		return false;
	return srnic_orq_count(qp);
}

static enum srnic_inv_err tx_invalidate(struct srnic_qp *qp)
{
	u32 stag = qp->tx->wr.sqe.stag;

	return qp->tx->nowait ? srnic_tpt_try_invalidate(qp, stag, false) :
				srnic_tpt_invalidate(qp, stag, false);
}

/*
 * Execute a local WR: it takes effect before the next WR is looked at (OR-11). It
 * counts as staged, and completes when TCP has all before it. Return: false if it has to wait
 * for accesses to end, and tx->nowait
 */
static bool tx_local(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	enum srnic_wc_status status;
	enum srnic_inv_err err;

	tx->locals++;
	if (tx->wr.sqe.opcode == SRNIC_OP_REG_MR) {
		status = srnic_mr_fast_register(qp, &tx->wr.sqe);
	} else if (tx->wr.sqe.opcode == SRNIC_OP_BIND_MW) {
		status = srnic_mw_bind(qp, &tx->wr.sqe);
	} else {
		err = tx_invalidate(qp);
		if (err == SRNIC_INV_BUSY)
			return false;
		status = srnic_inv_wc_status(err);
	}
	if (status)
		tx_wr_error(qp, status);
	else
		tx_wr_staged(tx);
	return true;
}

/* May it have to wait for memory, other than data that it sends, or an STag that it ends? */
static bool op_may_wait(u8 opcode)
{
	return opcode == SRNIC_OP_BIND_MW || srnic_op_is_atomic(opcode);
}

/* Return: false if it has to wait for its memory, and tx->nowait */
static bool tx_stage_op(struct srnic_qp *qp)
{
	switch (qp->tx->wr.sqe.opcode) {
	case SRNIC_OP_READ:
	case SRNIC_OP_READ_INV:
		tx_stage_read(qp);
		break;
	case SRNIC_OP_FETCH_ADD:
	case SRNIC_OP_CMP_SWAP:
		tx_stage_atomic(qp);
		break;
	case SRNIC_OP_FLUSH:
	case SRNIC_OP_ATOMIC_WRITE:
		tx_stage_placement(qp);
		break;
	default:
		if (!qp->tx->imm_due)
			return tx_stage_data(qp);
		tx_stage_imm(qp);
	}
	return true;
}

/**
 * srnic_tx_stage_wr - stage what there is room for of the next send WR (owner of tx)
 * @qp: with a stream; there is room
 *
 * Context: the owner of tx, may sleep unless tx->nowait. Return: false if no WR is ready, or it has
 * to wait for its memory, and tx->nowait.
 */
bool srnic_tx_stage_wr(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	enum srnic_wc_status status;
	int n;

	/* in SQD posted WRs wait; a WR that was begun goes on */
	if (!tx->busy && READ_ONCE(qp->ib.sqd))
		return false;
	if (!tx->busy) {
		n = srnic_sqe_fetch(qp, &tx->wr, &status);
		if (n < 0) {
			srnic_count(qp->dev, SRNIC_CNT_RING_CORRUPT);
			srnic_qp_fail(qp, RDMAP_E_RING, NULL, 0, false);
		}
		if (n <= 0)
			return false;
		tx->busy = true;
		tx->off = 0;
		tx->sge = 0;
		if (status) {
			tx_wr_error(qp, status);
			return true;
		}
	}
	if (srnic_op_has_response(tx->wr.sqe.opcode) && !srnic_orq_limit(qp)) {
		tx_wr_error(qp, SRNIC_WC_ZERO_ORD);	/* RD-03 */
		return true;
	}
	if (srnic_tx_wr_blocked(qp) || (tx->nowait && op_may_wait(tx->wr.sqe.opcode)))
		return false;
	return op_is_local(tx->wr.sqe.opcode) ? tx_local(qp) : tx_stage_op(qp);
}

/**
 * srnic_tx_wr_begun - is a part of the WR in progress staged, so that the rest must be next?
 * @tx: of a QP with a stream
 *
 * False for a Read: each of its requests is a message. Context: the owner of tx, in process
 * or softirq.
 */
bool srnic_tx_wr_begun(const struct srnic_tx *tx)
{
	return tx->busy && (tx->off || tx->imm_due) && !srnic_op_has_response(tx->wr.sqe.opcode);
}

