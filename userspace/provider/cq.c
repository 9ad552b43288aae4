// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: completion queues, polled and armed without a system call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ccan/array_size.h>
#include <util/compiler.h>

#include "srnic.h"

static const enum ibv_wc_opcode srnic_wc_opcode[] = {
	[SRNIC_OP_SEND]		= IBV_WC_SEND,
	[SRNIC_OP_SEND_INV]	= IBV_WC_SEND,
	[SRNIC_OP_WRITE]	= IBV_WC_RDMA_WRITE,
	[SRNIC_OP_READ]		= IBV_WC_RDMA_READ,
	[SRNIC_OP_READ_INV]	= IBV_WC_RDMA_READ,
	[SRNIC_OP_WRITE_IMM]	= IBV_WC_RDMA_WRITE,
	[SRNIC_OP_FETCH_ADD]	= IBV_WC_FETCH_ADD,
	[SRNIC_OP_CMP_SWAP]	= IBV_WC_COMP_SWAP,
	[SRNIC_OP_LOCAL_INV]	= IBV_WC_LOCAL_INV,
	[SRNIC_OP_BIND_MW]	= IBV_WC_BIND_MW,
	[SRNIC_OP_RECV]		= IBV_WC_RECV,
	[SRNIC_OP_RECV_IMM]	= IBV_WC_RECV_RDMA_WITH_IMM,
};

/**
 * srnic_create_cq - ibv_create_cq()
 * @ibctx: context
 * @cqe: entries asked for; the result's cqe says how many there are
 * @channel: where notifications go, or NULL
 * @comp_vector: see verbs(7)
 *
 * Return: the CQ, or NULL with errno: ENOMEM, what the kernel said, or what
 * mapping the ring gave. Any thread.
 */
struct ibv_cq *srnic_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct srnic_cmd_create_cq_resp resp = {};
	struct srnic_cmd_create_cq cmd = {};
	struct srnic_cq *cq;
	int ret;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	ret = ibv_cmd_create_cq(ibctx, cqe, channel, comp_vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (ret)
		goto err_free;

	ret = srnic_ring_map(&cq->ring, ibctx->cmd_fd, &resp.ring, resp.entries,
			     sizeof(struct srnic_cqe));
	if (!ret && !cq->ring.hdr)
		ret = EPROTO;
	if (ret)
		goto err_destroy;

	ret = pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	if (ret)
		goto err_unmap;
	return &cq->vcq.cq;

err_unmap:
	srnic_ring_unmap(&cq->ring);
err_destroy:
	verbs_err(&to_srnic_ctx(ibctx)->vctx, "no CQ ring: %s\n",
		  strerror(ret));
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	free(cq);
	errno = ret;
	return NULL;
}

/**
 * srnic_destroy_cq - ibv_destroy_cq()
 * @ibcq: CQ that no other thread uses any more
 *
 * Return: 0, or an errno (EBUSY: a QP uses it) and the CQ is as it was.
 */
int srnic_destroy_cq(struct ibv_cq *ibcq)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	srnic_ring_unmap(&cq->ring);
	pthread_spin_destroy(&cq->lock);
	free(cq);
	return 0;
}

static void srnic_fill_wc(struct ibv_wc *wc, const struct srnic_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp_num = cqe->qpn,
	};

	/* The receive bit is right also where a failure left no opcode. */
	if (cqe->opcode < ARRAY_SIZE(srnic_wc_opcode))
		wc->opcode = srnic_wc_opcode[cqe->opcode];
	if ((cqe->flags & SRNIC_CQE_RQ) && !(wc->opcode & IBV_WC_RECV))
		wc->opcode = IBV_WC_RECV;

	if (cqe->flags & SRNIC_CQE_WITH_INV) {
		wc->wc_flags |= IBV_WC_WITH_INV;
		wc->invalidated_rkey = cqe->data;
	} else if (cqe->flags & SRNIC_CQE_WITH_IMM) {
		wc->wc_flags |= IBV_WC_WITH_IMM;
		wc->imm_data = (__force __be32)cqe->data;
	}
}

/* The slots that this completion covers may be posted to again. */
static void srnic_retire(struct srnic_ctx *ctx, const struct srnic_cqe *cqe)
{
	struct srnic_qp *qp = srnic_qpn_find(ctx, cqe->qpn);

	if (qp)
		srnic_wq_free_to(cqe->flags & SRNIC_CQE_RQ ? &qp->rq : &qp->sq,
				 cqe->wqe_index + 1);
}

/**
 * srnic_poll_cq - ibv_poll_cq()
 * @ibcq: CQ
 * @num_entries: room in @wc
 * @wc: result
 *
 * Return: number of completions, or -EIO if the ring's indices cannot be (it
 * was overwritten). Any thread, any number at a time; each completion goes to
 * one of them.
 */
int srnic_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct srnic_ctx *ctx = to_srnic_ctx(ibcq->context);
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	uint32_t avail;
	int n;

	pthread_spin_lock(&cq->lock);
	avail = srnic_ring_produced(&cq->ring) - cq->tail;
	if (avail > cq->ring.entries) {
		pthread_spin_unlock(&cq->lock);
		return -EIO;
	}

	for (n = 0; n < num_entries && avail; n++, avail--) {
		const struct srnic_cqe *cqe =
			srnic_ring_entry(&cq->ring, cq->tail++);

		srnic_fill_wc(&wc[n], cqe);
		srnic_retire(ctx, cqe);
	}

	if (n)
		srnic_ring_consume(&cq->ring, cq->tail);
	pthread_spin_unlock(&cq->lock);
	return n;
}

/**
 * srnic_req_notify_cq - ibv_req_notify_cq()
 * @ibcq: CQ
 * @solicited_only: only solicited and failed completions notify
 *
 * Several requests before the event add up; "next completion" includes
 * "solicited". No system call.
 *
 * Return: 0. Any thread, any number at a time.
 */
int srnic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);

	srnic_ring_arm(&cq->ring,
		       solicited_only ? SRNIC_ARM_SOLICITED : SRNIC_ARM_NEXT);
	return 0;
}

/**
 * srnic_cq_purge - take out the completions of one QP
 * @cq: CQ
 * @qpn: of a QP that the kernel no longer has
 *
 * The others move up towards the producer, in their order, so that the space
 * is free again at once. All entries between the two indices are ours while
 * we hold the lock; the kernel only adds behind them.
 *
 * Any thread.
 */
void srnic_cq_purge(struct srnic_cq *cq, uint32_t qpn)
{
	uint32_t from, to;

	pthread_spin_lock(&cq->lock);
	from = srnic_ring_produced(&cq->ring);
	if (from - cq->tail > cq->ring.entries)
		goto out;

	for (to = from; from != cq->tail;) {
		const struct srnic_cqe *cqe =
			srnic_ring_entry(&cq->ring, --from);

		if (cqe->qpn == qpn)
			continue;
		if (--to != from)
			memcpy(srnic_ring_entry(&cq->ring, to), cqe,
			       sizeof(*cqe));
	}

	if (to != cq->tail) {
		cq->tail = to;
		srnic_ring_consume(&cq->ring, to);
	}
out:
	pthread_spin_unlock(&cq->lock);
}
