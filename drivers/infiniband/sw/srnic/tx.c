// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The tx engine. One kthread per QP with a stream takes send WRs and inbound
 * requests in turn, a message at a time, cuts them into FPDUs no longer than a
 * TCP segment, stages many of them in one buffer, and hands the buffer to TCP
 * in one call: the call is what costs, not the segment.
 *
 * Data is copied into the buffer and the CRC is computed over the copy, so a
 * buffer that its owner changes meanwhile cannot break an FPDU, and a
 * WR that is handed over can be completed (ORD-14).
 */

#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include "mr.h"
#include "mw.h"
#include "srnic.h"
#include "stream.h"
#include "tx.h"

/* Whoever has a buffer keeps it for this long with nothing to send */
#define TX_BUF_IDLE	HZ

/* Charged to whom the stream was made for, whoever calls. Return: is there one? */
static bool tx_alloc_buf(struct srnic_tx *tx, size_t len)
{
	struct mem_cgroup *old;

	if (tx->buf)
		return true;
	old = set_active_memcg(tx->memcg);
	tx->buf = kvmalloc(len, SRNIC_GFP_USER);
	set_active_memcg(old);
	return tx->buf;
}

/* Short of memory the QP waits: neither its WRs nor its stream can help it */
static bool tx_get_buf(struct srnic_qp *qp)
{
	if (tx_alloc_buf(qp->tx, SRNIC_TX_BUF))
		return true;
	srnic_count(qp->dev, SRNIC_CNT_TX_NO_MEMORY);
	schedule_timeout_idle(HZ / 50);
	return false;
}

/**
 * srnic_tx_get_term_buf - have a buffer with room for a Terminate (tx kthread)
 * @qp: with a stream
 *
 * What is staged keeps that room free; where nothing is, there may be no buffer.
 *
 * Return: false without memory. May sleep.
 */
bool srnic_tx_get_term_buf(struct srnic_qp *qp)
{
	return tx_alloc_buf(qp->tx, SRNIC_TX_TERM);
}

static void tx_put_buf(struct srnic_tx *tx)
{
	if (tx->len)
		return;
	kvfree(tx->buf);
	tx->buf = NULL;
}

/**
 * srnic_tx_new - state of an outbound direction
 * @qp: to be attached; mpa is set
 *
 * What it allocates, now and later, is charged to the memory cgroup of the caller.
 *
 * Return: the state, or NULL. May sleep.
 */
struct srnic_tx *srnic_tx_new(const struct srnic_qp *qp)
{
	size_t data = max_t(size_t, qp->max_inline,
			    max(qp->max_send_sge, 1U) * sizeof(struct srnic_sge));
	struct srnic_tx *tx = kzalloc(sizeof(*tx), GFP_KERNEL_ACCOUNT);
	int qn;

	if (!tx)
		return NULL;
	tx->memcg = get_mem_cgroup_from_mm(current->mm);
	tx->data = kzalloc(data, GFP_KERNEL_ACCOUNT);
	if (!tx_alloc_buf(tx, SRNIC_TX_BUF) || !tx->data) {
		srnic_tx_free(tx);
		return NULL;
	}
	for (qn = 0; qn < DDP_QN_COUNT; qn++)
		tx->msn[qn] = 1;	/* D-UNT-3 */
	tx->staged = qp->sq_fetched;
	tx->marked = qp->sq_fetched;
	return tx;
}

/**
 * srnic_tx_free - the stream is gone
 * @tx: may be NULL
 */
void srnic_tx_free(struct srnic_tx *tx)
{
	if (!tx)
		return;
	kvfree(tx->buf);
	kfree(tx->data);
	mem_cgroup_put(tx->memcg);
	kfree(tx);
}

static bool tx_has_room(const struct srnic_qp *qp)
{
	const struct srnic_tx *tx = qp->tx;

	return SRNIC_TX_BUF - SRNIC_TX_TERM - tx->len >=
	       mpa_fpdu_room(tx->mulpdu, qp->mpa.tx_markers);
}

/* Complete the FPDU at the end of the buffer, whose ULPDU is in place */
static void tx_seal(struct srnic_qp *qp, u32 ulpdu_len)
{
	struct srnic_tx *tx = qp->tx;

	tx->len += mpa_fpdu_seal(tx->buf + tx->len, ulpdu_len, qp->mpa.crc,
				 qp->mpa.tx_markers ? &tx->phase : NULL);
	srnic_count(qp->dev, SRNIC_CNT_TX_FPDU);
}

/* Where the payload of the next FPDU goes, its DDP header being written */
static u8 *tx_header(struct srnic_qp *qp, const struct ddp_hdr *hdr)
{
	u8 *p = qp->tx->buf + qp->tx->len + MPA_LEN_FIELD;

	return p + ddp_encode(p, hdr);
}

/**
 * srnic_tx_untagged - stage a message of one untagged segment (tx kthread)
 * @qp: with a stream; its buffer has room
 * @opcode: of a message that is all header
 * @payload: RDMAP header
 * @len: its octets
 */
void srnic_tx_untagged(struct srnic_qp *qp, u8 opcode, const void *payload, u32 len)
{
	u32 qn = rdmap_op(opcode)->qn;
	struct ddp_hdr hdr = {
		.last = true,
		.version = DDP_VERSION,
		.ulp = RDMAP_RV_IETF | opcode,
		.qn = qn,
		.msn = qp->tx->msn[qn]++,
	};

	memcpy(tx_header(qp, &hdr), payload, len);
	tx_seal(qp, DDP_UNTAGGED_LEN + len);
}

/* Copy @len octets from where the current WR's data is. */
static enum srnic_wc_status tx_gather(struct srnic_qp *qp, u8 *dst, u32 len)
{
	struct srnic_tx *tx = qp->tx;

	if (tx->sqe.flags & SRNIC_SQE_INLINE) {
		memcpy(dst, tx->inl + tx->off, len);
		return SRNIC_WC_SUCCESS;
	}
	while (len) {
		const struct srnic_sge *sge = &tx->sges[tx->sge];
		struct srnic_access acc = {
			.stag = sge->lkey,
			.to = sge->addr + tx->sge_off,
			.length = min(len, sge->length - tx->sge_off),
			.need = SRNIC_LOCAL_READ,
			.pd = qp->ibqp.pd,
			.qpn = qp->ibqp.qp_num,
			.privileged = qp->kernel,
		};
		enum srnic_tpt_err err;
		struct srnic_span span;

		if (!acc.length) {	/* zero-length SGE: not looked at (MR-19) */
			tx->sge++;
			tx->sge_off = 0;
			continue;
		}
		err = srnic_tpt_get(qp->dev, &acc, &span);
		if (err)
			return srnic_tpt_wc_status(err);
		srnic_span_read(&span, 0, dst, acc.length);
		srnic_tpt_put(&span);
		dst += acc.length;
		tx->sge_off += acc.length;
		len -= acc.length;
	}
	return SRNIC_WC_SUCCESS;
}

/* The WR in progress failed here: complete it, terminate (TM-05) */
static void tx_wr_error(struct srnic_qp *qp, enum srnic_wc_status status)
{
	bool first;

	qp->tx->busy = false;
	srnic_count(qp->dev, SRNIC_CNT_LOCAL_WR_ERROR);
	/* one WC with an error at most (ST-35) */
	first = srnic_qp_fail(qp, RDMAP_E_LOCAL_WR, NULL, 0, true);
	srnic_sq_done(qp, qp->tx->index, first ? status : SRNIC_WC_FLUSHED);
}

static u8 send_opcode(const struct srnic_sqe *sqe)
{
	bool se = sqe->flags & SRNIC_SQE_SOLICITED;

	if (sqe->opcode == SRNIC_OP_SEND_INV)
		return se ? RDMAP_SEND_SE_INV : RDMAP_SEND_INV;
	return se ? RDMAP_SEND_SE : RDMAP_SEND;
}

static void tx_wr_staged(struct srnic_tx *tx)
{
	tx->busy = false;
	tx->staged = tx->index + 1;
}

/*
 * The FPDUs of a message are as long as a TCP segment, but for the last. Were that to
 * share a segment with what comes next, no segment would begin with an FPDU until
 * TCP has sent all it has. So TCP has to part large messages from others (M-TCP-1).
 * That takes a call for each, which is cheap for those that take several anyway; of
 * smaller ones many go to TCP at once. Where the buffer is full it costs nothing.
 */
static bool tx_is_large(u32 octets)
{
	return octets > SRNIC_TX_BUF;
}

static bool tx_cut_before(struct srnic_tx *tx, bool large)
{
	if (large && tx->len)
		tx->cut = true;
	return tx->cut;
}

static void tx_cut_after(struct srnic_qp *qp, bool large_ends)
{
	if (large_ends || !tx_has_room(qp))
		qp->tx->cut = true;
}

/* Stage segments of a Send or Write until it or the room ends */
static void tx_stage_data(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	bool with_imm = tx->sqe.opcode == SRNIC_OP_WRITE_IMM;
	bool tagged = tx->sqe.opcode == SRNIC_OP_WRITE || with_imm;
	struct ddp_hdr hdr = {
		.tagged = tagged,
		.version = DDP_VERSION,
		.ulp = RDMAP_RV_IETF | (tagged ? RDMAP_WRITE : send_opcode(&tx->sqe)),
		.stag = tx->sqe.rkey,
		.inv_stag = tx->sqe.opcode == SRNIC_OP_SEND_INV ? tx->sqe.stag : 0,
		.qn = DDP_QN_SEND,
		.msn = tx->msn[DDP_QN_SEND],
	};
	u32 room = tx->mulpdu - ddp_hdr_len(tagged);

	if (tx_cut_before(tx, !tx->off && tx_is_large(tx->total)))
		return;
	do {
		u32 len = min(room, tx->total - tx->off);
		enum srnic_wc_status status;

		hdr.last = len == tx->total - tx->off;
		hdr.to = tx->sqe.remote_addr + tx->off;
		hdr.mo = tx->off;
		status = tx_gather(qp, tx_header(qp, &hdr), len);
		if (status) {
			tx_wr_error(qp, status);
			return;
		}
		tx->off += len;
		tx_seal(qp, ddp_hdr_len(tagged) + len);
	} while (!hdr.last && tx_has_room(qp));

	tx_cut_after(qp, hdr.last && tx_is_large(tx->total));
	if (hdr.last) {
		if (!tagged)
			tx->msn[DDP_QN_SEND]++;
		if (with_imm)
			tx->imm_due = true;
		else
			tx_wr_staged(tx);
	}
}

/*
 * What follows the Write (RFC 7306 6): eight octets, of which verbs have four.
 * They go first and zeros behind them, as other makers of RNICs do it (X7-14).
 */
static void tx_stage_imm(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	u8 imm[RDMAP_IMM_LEN] = { };

	memcpy(imm, &tx->sqe.stag, sizeof(tx->sqe.stag));
	srnic_tx_untagged(qp, tx->sqe.flags & SRNIC_SQE_SOLICITED ?
			  RDMAP_IMMEDIATE_SE : RDMAP_IMMEDIATE, imm, sizeof(imm));
	tx->imm_due = false;
	tx_wr_staged(tx);
}

/**
 * srnic_tx_request - stage a request of the current WR (tx kthread)
 * @qp: with a stream; fewer than ORD requests are outstanding; the buffer has room
 * @opcode: of the message
 * @payload: RDMAP header
 * @len: its octets
 * @sink: where the response goes
 * @last: the WR has no other request
 */
void srnic_tx_request(struct srnic_qp *qp, u8 opcode, const void *payload, u32 len,
		      const struct srnic_sge *sink, bool last)
{
	struct srnic_tx *tx = qp->tx;
	struct srnic_outbound out = {
		.index = tx->index,
		.last = last,
		.opcode = tx->sqe.opcode,
		.length = sink->length,
		.sink_stag = sink->lkey,
		.sink_to = sink->addr,
	};

	srnic_tx_untagged(qp, opcode, payload, len);
	out.end = srnic_stream_taken(qp->stream) + tx->len - tx->sent;
	srnic_orq_push(qp, &out);
}

/*
 * A Read Request names one sink, so there is one for each SGE of the Read; SGEs of no
 * length need none, but of a Read of nothing, which is a message all the same.
 */
static void tx_stage_read(struct srnic_qp *qp)
{
	static const struct srnic_sge nothing;
	struct srnic_tx *tx = qp->tx;
	const struct srnic_sge *sge = tx->sqe.num_sge ? &tx->sges[tx->sge] : &nothing;
	struct rdmap_read_req req = {
		.sink_stag = sge->lkey,
		.sink_to = sge->addr,
		.size = sge->length,
		.src_stag = tx->sqe.rkey,
		.src_to = tx->sqe.remote_addr + tx->off,
	};
	u8 buf[RDMAP_READ_REQ_LEN];

	tx->sge++;
	if (!sge->length && tx->total)
		return;
	tx->off += sge->length;
	rdmap_read_req_encode(buf, &req);
	srnic_tx_request(qp, RDMAP_READ_REQUEST, buf, sizeof(buf), sge, tx->off == tx->total);
	if (tx->off == tx->total)
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

/*
 * The WR in progress must wait: ORD is used up (RD-02), or a fence. With an ORD
 * of 0 it does not wait, it fails. The read fence waits for reads and atomics
 * (FE-01), the local fence for all WRs before (FE-02); on others the flag means
 * nothing (FE-03).
 */
static bool tx_wr_blocked(const struct srnic_qp *qp)
{
	const struct srnic_tx *tx = qp->tx;

	if (srnic_op_has_response(tx->sqe.opcode))
		return srnic_orq_limit(qp) && srnic_orq_full(qp);
	if (!(tx->sqe.flags & SRNIC_SQE_FENCE))
		return false;
	if (tx->sqe.opcode == SRNIC_OP_LOCAL_INV)
		return READ_ONCE(qp->sq_completed) != tx->index;
	if (op_is_local(tx->sqe.opcode))
		return false;
	return srnic_orq_count(qp);
}

/*
 * In effect before the next WR is looked at (OR-11). Counts as staged: it is
 * done when all before it is with TCP.
 */
static void tx_local(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	enum srnic_wc_status status;

	tx->locals++;
	if (tx->sqe.opcode == SRNIC_OP_REG_MR)
		status = srnic_mr_fast_register(qp, &tx->sqe);
	else if (tx->sqe.opcode == SRNIC_OP_BIND_MW)
		status = srnic_mw_bind(qp, &tx->sqe);
	else
		status = srnic_inv_wc_status(srnic_tpt_invalidate(qp, tx->sqe.stag, false));
	if (status) {
		tx_wr_error(qp, status);
		return;
	}
	tx_wr_staged(tx);
}

static void tx_stage_op(struct srnic_qp *qp)
{
	switch (qp->tx->sqe.opcode) {
	case SRNIC_OP_READ:
	case SRNIC_OP_READ_INV:
		tx_stage_read(qp);
		break;
	case SRNIC_OP_FETCH_ADD:
	case SRNIC_OP_CMP_SWAP:
		tx_stage_atomic(qp);
		break;
	default:
		if (qp->tx->imm_due)
			tx_stage_imm(qp);
		else
			tx_stage_data(qp);
	}
}

/* Return: true if the SQ got further */
static bool tx_stage_wr(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	enum srnic_wc_status status;
	int n;

	if (!tx->busy) {
		n = srnic_sqe_fetch(qp, tx, &status);
		if (n < 0) {
			srnic_count(qp->dev, SRNIC_CNT_RING_CORRUPT);
			srnic_qp_fail(qp, RDMAP_E_LOCAL_WR, NULL, 0, false);
		}
		if (n <= 0)
			return false;
		if (status) {
			tx_wr_error(qp, status);
			return true;
		}
	}
	if (srnic_op_has_response(tx->sqe.opcode) && !srnic_orq_limit(qp)) {
		tx_wr_error(qp, SRNIC_WC_ZERO_ORD);	/* RD-03 */
		return true;
	}
	if (tx_wr_blocked(qp))
		return false;
	if (op_is_local(tx->sqe.opcode))
		tx_local(qp);
	else
		tx_stage_op(qp);
	return true;
}

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

/* One segment of a Read Response's payload from the region it names */
static enum srnic_tpt_err tx_read_copy(struct srnic_qp *qp, u8 *dst, u32 len)
{
	struct srnic_tx *tx = qp->tx;
	struct srnic_access acc = {
		.stag = tx->in.read.src_stag,
		.to = tx->in.read.src_to + tx->rd_off,
		.length = len,
		.need = SRNIC_REMOTE_READ,
		.pd = qp->ibqp.pd,
		.qpn = qp->ibqp.qp_num,
	};
	struct srnic_span span;
	enum srnic_tpt_err err;

	if (!len)
		return SRNIC_TPT_OK;
	/* the first segment answers for the whole, so that nothing is sent of a bad read */
	if (!tx->rd_off)
		acc.length = tx->in.read.size;
	err = srnic_tpt_get(qp->dev, &acc, &span);
	if (err)
		return err;
	srnic_span_read(&span, 0, dst, len);
	srnic_tpt_put(&span);
	return SRNIC_TPT_OK;
}

/* Return: true if an inbound request got further */
static bool tx_stage_response(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	struct ddp_hdr hdr = {
		.tagged = true,
		.version = DDP_VERSION,
		.ulp = RDMAP_RV_IETF | RDMAP_READ_RESPONSE,
	};
	u32 room = tx->mulpdu - DDP_TAGGED_LEN;

	if (!tx->responding) {
		if (!srnic_irq_head(qp, &tx->in))
			return false;
		if (tx->in.opcode == RDMAP_ATOMIC_REQUEST) {
			srnic_atomic_respond(qp, &tx->in);
			return true;
		}
		tx->responding = true;
		tx->rd_off = 0;
	}
	hdr.stag = tx->in.read.sink_stag;
	if (tx_cut_before(tx, !tx->rd_off && tx_is_large(tx->in.read.size)))
		return true;
	do {
		u32 len = min(room, tx->in.read.size - tx->rd_off);
		enum srnic_tpt_err err;

		hdr.last = len == tx->in.read.size - tx->rd_off;
		hdr.to = tx->in.read.sink_to + tx->rd_off;
		err = tx_read_copy(qp, tx_header(qp, &hdr), len);
		if (err) {
			tx_read_error(qp, err);
			return true;
		}
		tx->rd_off += len;
		tx_seal(qp, DDP_TAGGED_LEN + len);
	} while (!hdr.last && tx_has_room(qp));
	tx_cut_after(qp, hdr.last && tx_is_large(tx->in.read.size));
	if (hdr.last) {
		tx->responding = false;
		srnic_irq_done(qp);
	}
	return true;
}

static bool tx_running(const struct srnic_qp *qp)
{
	enum srnic_qp_state state = srnic_qp_state(qp);

	return state == SRNIC_QP_RTS || state == SRNIC_QP_CLOSING;
}

/* All of the buffer is with TCP: the WRs in it are done, but those that await a response */
static void tx_mark_done(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;

	for (; tx->marked != tx->staged; tx->marked++) {
		const struct srnic_swr *swr =
			&qp->swr[tx->marked & (qp->sq.entries - 1)];

		/* a Read that was answered: its slot may be another WR's by now */
		if ((s32)(READ_ONCE(qp->sq_completed) - tx->marked) > 0)
			continue;
		/* a WR in error is done already */
		if (swr->state == SRNIC_SWR_ACTIVE && !srnic_op_has_response(swr->opcode))
			srnic_sq_done(qp, tx->marked, SRNIC_WC_SUCCESS);
	}
}

/*
 * Of the WR in progress a part is staged, so that the rest must be next. The
 * requests of a Read are messages each.
 */
static bool tx_wr_begun(const struct srnic_tx *tx)
{
	return tx->busy && (tx->off || tx->imm_due) && !srnic_op_has_response(tx->sqe.opcode);
}

/* Local WRs take no room in the buffer, and may each wait for a copy to end */
#define LOCAL_BATCH	256

/* Fill the buffer from SQ and IRQ, a message of each in turn */
static void tx_stage(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	bool more = true;

	if (!test_bit(SRNIC_QPF_TX_OPEN, &qp->flags))
		return;
	tx->mulpdu = mpa_mulpdu(qp->max_fpdu ?: srnic_stream_emss(qp->stream),
				qp->mpa.tx_markers);
	tx->locals = 0;
	while (more && !tx->cut && tx_has_room(qp) && tx_running(qp) &&
	       tx->locals < LOCAL_BATCH) {
		/* what was begun goes on: no message inside another */
		if (tx->responding || (tx->read_turn && !tx_wr_begun(tx))) {
			more = tx_stage_response(qp);
			tx->read_turn = tx->responding;
			if (more || tx->responding)
				continue;
			more = tx_stage_wr(qp);
		} else {
			more = tx_stage_wr(qp);
			tx->read_turn = !tx_wr_begun(tx);
			if (!more)
				more = tx_stage_response(qp);
		}
	}
	/* local WRs alone leave nothing to push */
	if (!tx->len)
		tx_mark_done(qp);
}

/**
 * srnic_tx_push - hand what is staged to TCP, without waiting (tx kthread)
 * @qp: with a stream
 *
 * Return: 0 if the buffer is empty now, -EAGAIN, or another errno if the
 * connection is gone.
 */
int srnic_tx_push(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	int n;

	clear_bit(SRNIC_QPF_WRITE_SPACE, &qp->flags);
	while (tx->sent < tx->len) {
		srnic_count(qp->dev, SRNIC_CNT_TX_SENDMSG);
		n = srnic_stream_send(qp->stream, tx->buf + tx->sent, tx->len - tx->sent,
				      tx->cut);
		if (n <= 0)
			return n ?: -EPIPE;
		tx->sent += n;
	}
	srnic_count_add(qp->dev, SRNIC_CNT_TX_BYTES, tx->len);
	tx->len = 0;
	tx->sent = 0;
	tx->cut = false;
	tx_mark_done(qp);
	return 0;
}

/**
 * srnic_tx_rest - take away what was staged and is not handed to TCP (tx kthread)
 * @qp: with a stream; nothing is staged any more
 *
 * Return: the buffer, which is the caller's.
 */
struct srnic_words srnic_tx_rest(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	struct srnic_words rest = { };

	if (tx->sent < tx->len) {
		rest = (struct srnic_words){ .buf = tx->buf, .len = tx->len, .sent = tx->sent };
		tx->buf = NULL;
	}
	return rest;
}

/* Nothing of the SQ is left to send and no read is under way in either direction */
static bool tx_quiet(struct srnic_qp *qp)
{
	return !qp->tx->busy && !qp->tx->responding && !qp->tx->len &&
	       srnic_sq_empty(qp) && srnic_irq_empty(qp);
}

static bool tx_can_stage(struct srnic_qp *qp)
{
	const struct srnic_tx *tx = qp->tx;

	if (!test_bit(SRNIC_QPF_TX_OPEN, &qp->flags))
		return false;
	if (tx->responding || !srnic_irq_empty(qp))
		return true;
	return tx->busy ? !tx_wr_blocked(qp) : srnic_sq_pending(qp) != 0;
}

static bool tx_woken(struct srnic_qp *qp)
{
	if (!tx_running(qp) || test_bit(SRNIC_QPF_FIN, &qp->flags))
		return true;
	if (qp->tx->len)
		return test_bit(SRNIC_QPF_WRITE_SPACE, &qp->flags);
	return tx_can_stage(qp) ||
	       (srnic_qp_state(qp) == SRNIC_QP_CLOSING && tx_quiet(qp));
}

/* What is awaited is a post, and nothing of the socket or the peer, who wake by themselves */
static bool tx_awaits_post(const struct srnic_qp *qp)
{
	return test_bit(SRNIC_QPF_TX_OPEN, &qp->flags) && !qp->tx->len && !qp->tx->busy;
}

/* How long to sleep at most: what is to be done then is not told by a wake-up */
static long tx_patience(const struct srnic_qp *qp)
{
	if (srnic_qp_state(qp) == SRNIC_QP_CLOSING)
		return HZ / 2;
	return qp->tx->buf && !qp->tx->len ? TX_BUF_IDLE : MAX_SCHEDULE_TIMEOUT;
}

/*
 * Sleep until there is something to do. The flag asks who posts for a doorbell, where
 * a post can end the sleep; it is set before the producer index is looked at, as user
 * space stores the index before it looks at the flag: one of the two sees the other.
 */
static void tx_sleep(struct srnic_qp *qp)
{
	DEFINE_WAIT(wait);

	for (;;) {
		prepare_to_wait(&qp->tx_wait, &wait, TASK_IDLE);
		WRITE_ONCE(qp->sq.hdr->flags, tx_awaits_post(qp) ? SRNIC_RING_NEED_WAKEUP : 0);
		smp_mb();	/* flag, then index; see above */
		if (tx_woken(qp))
			break;
		if (!schedule_timeout(tx_patience(qp)))
			tx_put_buf(qp->tx);
		if (srnic_close_overdue(qp))
			break;
	}
	finish_wait(&qp->tx_wait, &wait);
	WRITE_ONCE(qp->sq.hdr->flags, 0);
}

/* The initiator's first FPDU tells the responder that it may send (V2-5, V2-15) */
static void tx_stage_rtr(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	u8 req[RDMAP_READ_REQ_LEN] = { };
	struct ddp_hdr hdr = {
		.tagged = true,
		.last = true,
		.version = DDP_VERSION,
		.ulp = RDMAP_RV_IETF | RDMAP_WRITE,
	};

	tx->mulpdu = MPA_MIN_MULPDU;
	if (qp->mpa.rtr == MPA_RTR_READ) {
		set_bit(SRNIC_QPF_RTR_READ, &qp->flags);
		srnic_tx_untagged(qp, RDMAP_READ_REQUEST, req, sizeof(req));
	} else if (qp->mpa.rtr == MPA_RTR_WRITE) {
		tx_header(qp, &hdr);
		tx_seal(qp, DDP_TAGGED_LEN);
	} else if (qp->mpa.rtr == MPA_RTR_SEND) {
		srnic_tx_untagged(qp, RDMAP_SEND, req, 0);
	}
}

/*
 * The peer closed its direction. With nothing under way here that is the
 * normal end (ST-17), else it came too early (ST-18).
 */
static void tx_peer_closed(struct srnic_qp *qp)
{
	if (tx_quiet(qp) && !srnic_orq_count(qp))
		srnic_qp_leave(qp, SRNIC_QP_CLOSING, SRNIC_EV_NONE);
	else
		srnic_qp_fail(qp, RDMAP_E_BAD_CLOSE, NULL, 0, false);
}

/**
 * srnic_tx_thread - the tx kthread of a QP
 * @arg: the QP, with a stream
 *
 * Works while the QP is in RTS, or in Closing with WRs left that were posted
 * before; then winds the stream down and ends by itself.
 *
 * Return: does not; completes qp->tx_exit.
 */
int srnic_tx_thread(void *arg)
{
	struct srnic_qp *qp = arg;
	int err;

	/* the memory that is short may be that of a disk behind this QP */
	memalloc_noio_save();
	if (qp->initiator)
		tx_stage_rtr(qp);
	while (tx_running(qp)) {
		err = srnic_tx_push(qp);
		if (err && err != -EAGAIN) {
			srnic_qp_leave(qp, SRNIC_QP_ERROR, err == -EPIPE || err == -ECONNRESET ?
				       SRNIC_EV_LLP_RESET : SRNIC_EV_LLP_LOST);
			break;
		}
		/* SQ state is stable here: all that was sent is marked done */
		if (test_bit(SRNIC_QPF_FIN, &qp->flags) &&
		    srnic_qp_state(qp) == SRNIC_QP_RTS) {
			tx_peer_closed(qp);
			continue;
		}
		if (srnic_qp_state(qp) == SRNIC_QP_CLOSING &&
		    (tx_quiet(qp) || test_bit(SRNIC_QPF_FIN, &qp->flags) ||
		     srnic_close_overdue(qp)))
			break;
		if (!err && tx_can_stage(qp) && tx_get_buf(qp))
			tx_stage(qp);
		if (err || !qp->tx->len)
			tx_sleep(qp);
		cond_resched();
	}
	srnic_close(qp);
	kthread_complete_and_exit(&qp->tx_exit, 0);
}
