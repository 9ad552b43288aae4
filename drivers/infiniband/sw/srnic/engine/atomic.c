// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Atomic operations (RFC 7306 5), at both ends: the request, its execution in
 * the responder's memory, the response and where its value goes.
 *
 * The operation is a compare-and-exchange of the CPU on the memory itself, so
 * it is atomic with respect to atomics of all streams of this host and to
 * atomic operations of programs, but not to RDMA Writes, which are copies.
 *
 * Flush and Atomic Write are Atomic Requests of srnic's own, between two QPs that ib/ has
 * connected. The owner of rx executes them as it places Writes, so all of these take effect in
 * the order in which they were posted; and acknowledges them, so they have no response (ack.c).
 */

#include "engine/atomic.h"
#include "engine/read.h"
#include "engine/rx.h"
#include "engine/tx.h"
#include "memory/tpt.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "srnic.h"

/*
 * Check the place for the value of the response (owner of tx); put the value there if @value is not
 * NULL (owner of rx)
 */
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

	if (value)
		srnic_rx_access(qp->rx, &acc);
	err = srnic_tpt_get(qp->dev, &acc, &span);
	if (err)
		return err;
	if (value)
		err = srnic_rx_accessed(qp->rx, &acc,
					srnic_span_write(&span, 0, value, sizeof(*value)));
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
static bool is_whole(const void *piece, u32 len)
{
	return len == sizeof(u64) && IS_ALIGNED((uintptr_t)piece, sizeof(u64));
}

static void exchange(void *ctx, void *piece, u32 len)
{
	struct exchange *x = ctx;
	u64 *at = piece;
	u64 seen;

	if (!is_whole(piece, len)) {
		x->bad = RDMAP_E_ATOMIC_ALIGN;
		return;
	}
	seen = READ_ONCE(*at);
	do {
		x->was = seen;
		seen = cmpxchg64(at, x->was, rdmap_atomic_result(x->req, x->was));
	} while (seen != x->was);
}

/* An access of the peer to the place that it has named, in our memory */
static struct srnic_access peer_access(const struct srnic_qp *qp,
				       const struct rdmap_atomic_req *req, u64 length, u16 need)
{
	return (struct srnic_access){
		.stag = req->stag,
		.to = req->to,
		.length = length,
		.need = need,
		.pd = qp->ibqp.pd,
		.qpn = qp->ibqp.qp_num,
	};
}

/* Do @fn to the eight octets of an access */
static enum srnic_tpt_err visit_octets(const struct srnic_qp *qp, const struct srnic_access *acc,
				       srnic_span_fn fn, void *ctx)
{
	enum srnic_tpt_err err;
	struct srnic_span span;

	err = srnic_tpt_get(qp->dev, acc, &span);
	if (err)
		return err;
	err = srnic_span_visit(&span, 0, sizeof(u64), fn, ctx);
	srnic_tpt_put(&span);
	return err;
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
	const struct srnic_access acc = peer_access(qp, req, sizeof(u64), SRNIC_REMOTE_ATOMIC);
	struct exchange x = { .req = req, .bad = RDMAP_OK };
	enum srnic_tpt_err err;

	err = visit_octets(qp, &acc, exchange, &x);
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

/* ----- Flush and Atomic Write ----- */

/**
 * srnic_placement_request - stage the current WR, a Flush or an Atomic Write (owner of tx)
 * @qp: with a stream whose ends have agreed on them; the buffer has room
 * @ask: RDMAP_ASK, or 0
 * Context: the owner of tx, in process or softirq.
 */
void srnic_placement_request(struct srnic_qp *qp, u8 ask)
{
	const struct srnic_fetched *wr = &qp->tx->wr;
	struct rdmap_atomic_req req = {
		.aopcode = RDMAP_FLUSH,
		.id = wr->index,
		.stag = wr->sqe.rkey,
		.to = wr->sqe.remote_addr,
		.data = wr->sqe.arg[0],
		.mask = wr->sqe.arg[1],
		.compare = wr->sqe.arg[2],
	};
	u8 buf[RDMAP_ATOMIC_REQ_LEN];

	if (wr->sqe.opcode == SRNIC_OP_ATOMIC_WRITE) {
		req.aopcode = RDMAP_ATOMIC_WRITE;
		/* octets, as they are in memory, and no number */
		req.data = be64_to_cpu((__force __be64)wr->sqe.arg[0]);
	}
	rdmap_atomic_req_encode(buf, &req);
	srnic_tx_untagged(qp, RDMAP_ATOMIC_REQUEST | ask, buf, sizeof(buf));
}

/*
 * All that came before is in place: CPUs of the host see it when they see what follows, and so
 * does the peer, whom the acknowledgment tells (rx_delivered()). So only the rights are checked.
 * No region is persistent.
 */
static enum rdmap_err flush(const struct srnic_qp *qp, const struct rdmap_atomic_req *req)
{
	u16 need = (req->mask & RDMAP_FLUSH_GLOBAL ? SRNIC_FLUSH_GLOBAL : 0) |
		   (req->mask & RDMAP_FLUSH_PERSISTENT ? SRNIC_FLUSH_PERSISTENT : 0);
	u64 length = req->compare == RDMAP_FLUSH_RANGE ? req->data : 0;
	const struct srnic_access acc = peer_access(qp, req, length, need);

	if (!rdmap_flush_known(req))
		return RDMAP_E_ATOMIC_OPCODE;
	if (!(READ_ONCE(qp->enables) & SRNIC_QP_FLUSH_ENABLED))
		return RDMAP_E_ATOMIC_ACCESS;
	return srnic_tpt_atomic_err(srnic_tpt_test(qp->dev, &acc));
}

/**
 * struct store - an Atomic Write, for srnic_span_visit()
 * @octets: as they are in memory
 * @bad: what is wrong with the place
 */
struct store {
	u64 octets;
	enum rdmap_err bad;
};

static void store(void *ctx, void *piece, u32 len)
{
	struct store *st = ctx;

	if (is_whole(piece, len))	/* what was placed before, then these octets */
		smp_store_release((u64 *)piece, st->octets);
	else
		st->bad = RDMAP_E_ATOMIC_ALIGN;
}

/**
 * srnic_placement_execute - execute a Flush or an Atomic Write of the peer (owner of rx)
 * @qp: with a stream whose ends have agreed on them
 * @req: one of the two
 * @may_sleep: whether the caller may
 * @bad: set to RDMAP_OK, or E-38 to E-40, and then nothing was changed
 *
 * The memory of an Atomic Write must be aligned, as that of atomics. Whoever reads it sees all of
 * the octets or none, and after them all that was placed before.
 *
 * Context: the owner of rx, in process or softirq; sleeps only if @may_sleep.
 * Return: false if only a caller that may sleep can do it; the call may then be made again.
 */
bool srnic_placement_execute(struct srnic_qp *qp, const struct rdmap_atomic_req *req,
			     bool may_sleep, enum rdmap_err *bad)
{
	struct store st = { .octets = (__force u64)cpu_to_be64(req->data), .bad = RDMAP_OK };
	struct srnic_access acc = peer_access(qp, req, sizeof(u64), SRNIC_REMOTE_WRITE);
	enum srnic_tpt_err err;

	if (req->aopcode == RDMAP_FLUSH) {
		*bad = flush(qp, req);
		return true;
	}
	*bad = RDMAP_E_ATOMIC_ACCESS;
	if (!(READ_ONCE(qp->enables) & SRNIC_QP_WRITE_ENABLED))
		return true;
	acc.nowait = !may_sleep;
	srnic_rx_access(qp->rx, &acc);
	err = srnic_rx_accessed(qp->rx, &acc, visit_octets(qp, &acc, store, &st));
	if (err == SRNIC_TPT_SLEEPS)
		return false;
	*bad = err ? srnic_tpt_atomic_err(err) : st.bad;
	return true;
}
