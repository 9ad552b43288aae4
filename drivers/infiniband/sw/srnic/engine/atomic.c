// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Atomic operations (RFC 7306 5), at both ends: the request, its execution in
 * the responder's memory, the response and where its value goes.
 *
 * The operation is a compare-and-exchange of the CPU on the memory itself, so
 * it is atomic with respect to atomics of all streams of this host and to
 * atomic operations of programs, but not to RDMA Writes, which are copies.
 */

#include "engine/atomic.h"
#include "engine/read.h"
#include "engine/tx.h"
#include "memory/tpt.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "srnic.h"

/* Check the place for the value of the response; put the value there if @value is not NULL */
static enum srnic_tpt_err sink_access(const struct srnic_qp *qp, u32 stag, u64 to,
				      const u64 *value, bool may_sleep)
{
	struct srnic_access acc = {
		.stag = stag,
		.to = to,
		.length = sizeof(u64),
		.need = SRNIC_LOCAL_WRITE,
		.pd = qp->ibqp.pd,
		.qpn = qp->ibqp.qp_num,
		.privileged = qp->privileged,
		.nowait = !may_sleep,
	};
	enum srnic_tpt_err err;
	struct srnic_span span;

	err = srnic_tpt_get(qp->dev, &acc, &span);
	if (err)
		return err;
	if (value)
		err = srnic_span_write(&span, 0, value, sizeof(*value));
	srnic_tpt_put(&span);
	return err;
}

/**
 * srnic_atomic_place - put the value of a response where the WR wants it
 * @qp: with a stream
 * @out: the request
 * @value: in host order, as a program expects it
 * @may_sleep: whether the caller may
 *
 * Context: process or softirq, with the socket locked; sleeps only if @may_sleep.
 * Return: SRNIC_TPT_OK; SRNIC_TPT_SLEEPS if only a caller that may sleep can do it; or what is
 * wrong: the place was checked when the request was sent, but may be gone since.
 */
enum srnic_tpt_err srnic_atomic_place(const struct srnic_qp *qp,
				      const struct srnic_outbound *out, u64 value, bool may_sleep)
{
	return sink_access(qp, out->sink_stag, out->sink_to, &value, may_sleep);
}

/**
 * srnic_atomic_request - stage the request of the current WR (owner of tx)
 * @qp: with a stream; fewer than ORD requests are outstanding; the buffer has room
 *
 * A WR whose value could not be delivered is not sent: the peer's memory would
 * change for nothing. The mask of FetchAdd is zero, both masks of CmpSwap are all
 * ones: verbs operate on all 64 bits only (RFC 7306 5.1.1, 5.2.1).
 *
 * Context: the owner of tx, in process, may sleep.
 * Return: success, or the status with which the WR ends here.
 */
enum srnic_wc_status srnic_atomic_request(struct srnic_qp *qp)
{
	const struct srnic_tx *tx = qp->tx;
	const struct srnic_sqe *sqe = &tx->wr.sqe;
	struct rdmap_atomic_req req = {
		.aopcode = RDMAP_FETCH_ADD,
		.id = tx->wr.index,
		.stag = sqe->rkey,
		.to = sqe->remote_addr,
		.data = sqe->arg[0],
		.compare_mask = U64_MAX,
	};
	u8 buf[RDMAP_ATOMIC_REQ_LEN];
	enum srnic_tpt_err err;

	err = sink_access(qp, tx->wr.sges[0].lkey, tx->wr.sges[0].addr, NULL, true);
	if (err)
		return srnic_tpt_wc_status(err);
	if (sqe->opcode == SRNIC_OP_CMP_SWAP) {
		req.aopcode = RDMAP_CMP_SWAP;
		req.compare = sqe->arg[0];
		req.data = sqe->arg[1];
		req.mask = U64_MAX;
	}
	rdmap_atomic_req_encode(buf, &req);
	srnic_tx_request(qp, RDMAP_ATOMIC_REQUEST, buf, sizeof(buf), &tx->wr.sges[0], true);
	return SRNIC_WC_SUCCESS;
}

/**
 * struct exchange - an operation, for srnic_span_visit()
 * @req: the request
 * @was: the value before
 * @bad: what is wrong with the place
 */
struct exchange {
	const struct rdmap_atomic_req *req;
	u64 was;
	enum rdmap_err bad;
};

/* Memory that is not aligned may be in two pieces */
static void exchange(void *ctx, void *piece, u32 len)
{
	struct exchange *x = ctx;
	u64 *at = piece;
	u64 seen;

	if (len < sizeof(u64) || !IS_ALIGNED((uintptr_t)at, sizeof(u64))) {
		x->bad = RDMAP_E_ATOMIC_ALIGN;
		return;
	}
	seen = READ_ONCE(*at);
	do {
		x->was = seen;
		seen = cmpxchg64(at, x->was, rdmap_atomic_result(x->req, x->was));
	} while (seen != x->was);
}

/**
 * srnic_atomic_execute - execute a request of the peer (owner of tx)
 * @qp: with a stream
 * @req: an operation that is known
 * @was: set to the value before
 *
 * RFC 7306 5.1. The memory must be aligned. The TO need not be, as a zero-based region
 * may begin anywhere. Nothing keeps other accesses out during the operation.
 *
 * Context: the owner of tx, in process, may sleep: srnic_tx_answer() executes no atomics.
 * Return: RDMAP_OK, or E-38 or E-39, and then nothing was changed.
 */
enum rdmap_err srnic_atomic_execute(const struct srnic_qp *qp,
				    const struct rdmap_atomic_req *req, u64 *was)
{
	struct srnic_access acc = {
		.stag = req->stag,
		.to = req->to,
		.length = sizeof(u64),
		.need = SRNIC_REMOTE_ATOMIC,
		.pd = qp->ibqp.pd,
		.qpn = qp->ibqp.qp_num,
	};
	struct exchange x = { .req = req, .bad = RDMAP_OK };
	enum srnic_tpt_err err;
	struct srnic_span span;

	err = srnic_tpt_get(qp->dev, &acc, &span);
	if (err)
		return srnic_tpt_atomic_err(err);
	err = srnic_span_visit(&span, 0, sizeof(u64), exchange, &x);
	srnic_tpt_put(&span);
	if (err)
		return srnic_tpt_atomic_err(err);
	*was = x.was;
	return x.bad;
}

/**
 * srnic_atomic_respond - execute a request and stage its response (owner of tx)
 * @qp: with a stream; the request is the oldest in the IRQ; the buffer has room
 * @in: the request
 *
 * Its place in the IRQ is free afterwards. An error ends the stream; the Terminate quotes the
 * DDP header only (RFC 7306 8.1). Context: as srnic_atomic_execute().
 */
void srnic_atomic_respond(struct srnic_qp *qp, const struct srnic_inbound *in)
{
	struct rdmap_atomic_resp resp = { .id = in->atomic.id };
	u8 seg[MPA_LEN_FIELD + DDP_UNTAGGED_LEN];
	u8 buf[RDMAP_ATOMIC_RESP_LEN];
	enum rdmap_err err;

	err = srnic_atomic_execute(qp, &in->atomic, &resp.value);
	if (err) {
		put_unaligned_be16(DDP_UNTAGGED_LEN + RDMAP_ATOMIC_REQ_LEN, seg);
		memcpy(seg + MPA_LEN_FIELD, in->ddp, DDP_UNTAGGED_LEN);
		srnic_count(qp->dev, SRNIC_CNT_RX_PROTECTION_ERROR);
		srnic_qp_fail(qp, err, seg, sizeof(seg), false);
		return;
	}
	rdmap_atomic_resp_encode(buf, &resp);
	srnic_tx_untagged(qp, RDMAP_ATOMIC_RESPONSE, buf, sizeof(buf));
	srnic_irq_done(qp);
}
