// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: completion queues, polled and armed without a system call.
 */
#include <errno.h>
#include <string.h>

#include <ccan/array_size.h>
#include <util/compiler.h>
#include <util/util.h>

#include "srnic.h"

static const enum ibv_wc_opcode srnic_wc_opcode[] = {
	[SRNIC_OP_SEND]		= IBV_WC_SEND,
	[SRNIC_OP_SEND_INV]	= IBV_WC_SEND,
	[SRNIC_OP_WRITE]	= IBV_WC_RDMA_WRITE,
	[SRNIC_OP_READ]		= IBV_WC_RDMA_READ,
	[SRNIC_OP_READ_INV]	= IBV_WC_RDMA_READ,
	[SRNIC_OP_WRITE_IMM]	= IBV_WC_RDMA_WRITE,
	[SRNIC_OP_SEND_IMM]	= IBV_WC_SEND,
	[SRNIC_OP_FETCH_ADD]	= IBV_WC_FETCH_ADD,
	[SRNIC_OP_CMP_SWAP]	= IBV_WC_COMP_SWAP,
	[SRNIC_OP_LOCAL_INV]	= IBV_WC_LOCAL_INV,
	[SRNIC_OP_BIND_MW]	= IBV_WC_BIND_MW,
	[SRNIC_OP_UD_SEND]	= IBV_WC_SEND,
	[SRNIC_OP_UD_SEND_IMM]	= IBV_WC_SEND,
	[SRNIC_OP_FLUSH]	= SRNIC_WC_FLUSH,
	[SRNIC_OP_ATOMIC_WRITE]	= SRNIC_WC_ATOMIC_WRITE,
	[SRNIC_OP_RECV]		= IBV_WC_RECV,
	[SRNIC_OP_RECV_IMM]	= IBV_WC_RECV_RDMA_WITH_IMM,
};

/* Maps the ring of a CQ that the kernel has created, and initializes the rest. */
static int srnic_cq_init(struct srnic_cq *cq,
			 const struct srnic_uresp_create_cq *resp)
{
	int ret;

	if (resp->cqe_size < sizeof(struct srnic_cqe))
		return EPROTO;
	ret = srnic_ring_map(&cq->ring, cq->vcq.cq.context->cmd_fd, &resp->ring,
			     resp->entries, resp->cqe_size);
	if (!ret && !cq->ring.hdr)
		ret = EPROTO;
	if (ret)
		return ret;

	ret = pthread_mutex_init(&cq->lock, NULL);
	if (ret)
		goto err_unmap;
	ret = pthread_mutex_init(&cq->arm_lock, NULL);
	if (ret)
		goto err_lock;
	ret = pthread_mutex_init(&cq->resize, NULL);
	if (ret)
		goto err_arm_lock;
	return 0;

err_arm_lock:
	pthread_mutex_destroy(&cq->arm_lock);
err_lock:
	pthread_mutex_destroy(&cq->lock);
err_unmap:
	srnic_ring_unmap(&cq->ring);
	return ret;
}

static void srnic_cq_uninit(struct srnic_cq *cq)
{
	srnic_ring_unmap(&cq->ring);
	pthread_mutex_destroy(&cq->resize);
	pthread_mutex_destroy(&cq->arm_lock);
	pthread_mutex_destroy(&cq->lock);
}

/**
 * srnic_create_cq - ibv_create_cq()
 * @ibctx: context
 * @cqe: requested entries; the result's cqe has the actual number
 * @channel: channel for notifications, or NULL
 * @comp_vector: see verbs(7)
 *
 * Return: the CQ, or NULL with errno: ENOMEM, an errno of the kernel, or of
 * mapping the ring. Any thread.
 */
struct ibv_cq *srnic_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct srnic_cmd_create_cq_resp resp = {};
	struct srnic_cmd_create_cq cmd = {};
	struct srnic_mem mem;
	struct srnic_cq *cq;
	int ret;

	cq = srnic_zalloc(&mem, NULL, sizeof(*cq), SRNIC_RES_TYPE_CQ);
	if (!cq)
		return NULL;
	cq->mem = mem;

	ret = ibv_cmd_create_cq(ibctx, cqe, channel, comp_vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (ret)
		goto err_free;
	ret = srnic_cq_init(cq, &resp.drv_payload);
	if (ret)
		goto err_destroy;
	return &cq->vcq.cq;

err_destroy:
	verbs_err(&to_srnic_ctx(ibctx)->vctx, "no CQ ring: %s\n",
		  strerror(ret));
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	srnic_free(&mem, cq, SRNIC_RES_TYPE_CQ);
	errno = ret;
	return NULL;
}

#ifdef SRNIC_HAVE_CQ_PROV_ATTR
/* The kernel allocates the memory of a CQ's ring: the argument for other memory is NULL */
#define cmd_create_cq_ex(ctx, attr, ...)                                       \
	ibv_cmd_create_cq_ex(ctx, attr, NULL, __VA_ARGS__)
#else
#define cmd_create_cq_ex ibv_cmd_create_cq_ex
#endif

/* Supported fields of ibv_wc_read_*() */
#define SRNIC_WC_FLAGS                                                         \
	(IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |         \
	 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

/**
 * srnic_create_cq_ex - ibv_create_cq_ex()
 * @ibctx: context
 * @attr: see ibv_create_cq_ex(3). A single-threaded CQ is locked like any
 *        other: the lock is free then, and cheap.
 *
 * Return: the CQ, or NULL with errno: EOPNOTSUPP (a flag that this device does not
 * support, such as "ignore overrun"), otherwise as srnic_create_cq().
 */
struct ibv_cq_ex *srnic_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct srnic_cmd_create_cq_ex_resp resp = {};
	struct srnic_cmd_create_cq_ex cmd = {};
	struct ibv_pd *pd = NULL;
	struct srnic_mem mem;
	struct srnic_cq *cq;
	int ret;

	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
						      IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags, SRNIC_WC_FLAGS) ||
	    ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	     !check_comp_mask(attr->flags,
			      IBV_CREATE_CQ_ATTR_SINGLE_THREADED))) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		pd = attr->parent_domain;
	cq = srnic_zalloc(&mem, pd, sizeof(*cq), SRNIC_RES_TYPE_CQ);
	if (!cq)
		return NULL;
	cq->mem = mem;

	ret = cmd_create_cq_ex(ibctx, attr, &cq->vcq, &cmd.ibv_cmd, sizeof(cmd),
			       &resp.ibv_resp, sizeof(resp), 0);
	if (ret)
		goto err_free;
	ret = srnic_cq_init(cq, &resp.drv_payload);
	if (ret)
		goto err_destroy;
	srnic_cq_ex_init(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;

err_destroy:
	verbs_err(&to_srnic_ctx(ibctx)->vctx, "no CQ ring: %s\n",
		  strerror(ret));
	ibv_cmd_destroy_cq(&cq->vcq.cq);
err_free:
	srnic_free(&mem, cq, SRNIC_RES_TYPE_CQ);
	errno = ret;
	return NULL;
}

/**
 * srnic_destroy_cq - ibv_destroy_cq()
 * @ibcq: CQ that no other thread uses any more
 *
 * Return: 0, or an errno (EBUSY: a QP uses it) and the CQ is unchanged.
 */
int srnic_destroy_cq(struct ibv_cq *ibcq)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;

	srnic_cq_uninit(cq);
	srnic_free(&cq->mem, cq, SRNIC_RES_TYPE_CQ);
	return 0;
}

static int srnic_resize_step(struct srnic_cq *cq, int cqe, uint32_t step,
			     struct srnic_uresp_resize_cq *answer)
{
	struct srnic_cmd_resize_cq cmd = { .drv_payload.step = step };
	struct srnic_cmd_resize_cq_resp resp = {};
	int ret;

	ret = ibv_cmd_resize_cq(&cq->vcq.cq, cqe, &cmd.ibv_cmd, sizeof(cmd),
				&resp.ibv_resp, sizeof(resp));
	if (!ret && answer)
		*answer = resp.drv_payload;
	return ret;
}

/**
 * srnic_resize_cq - ibv_resize_cq()
 * @ibcq: CQ, which may be in use
 * @cqe: requested entries; afterwards the CQ's cqe has the actual number
 *
 * The new ring is mapped before the kernel moves to it, so nothing can fail
 * once the CQ has changed. The move may take a while, and excludes polls and
 * arms: their threads sleep, so that this one can run, whatever the priorities.
 *
 * Return: 0, or EINVAL (no entries, too many, fewer than completions wait, or a CQ
 * of the parent), ENOMEM, an errno of mapping the ring, and the CQ is unchanged. Any
 * thread.
 */
int srnic_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_uresp_resize_cq resp = {};
	struct srnic_ring ring, old;
	int ret;

	pthread_mutex_lock(&cq->resize);
	/* A child of fork() has no ring, and must not move that of its parent. */
	ret = srnic_ring_is_here(&cq->ring) ? 0 : EINVAL;
	if (!ret)
		ret = srnic_resize_step(cq, cqe, SRNIC_RESIZE_PREPARE, &resp);
	if (ret)
		goto out;
	ret = srnic_ring_map(&ring, ibcq->context->cmd_fd, &resp.ring,
			     resp.entries, cq->ring.stride);
	if (!ret && !ring.hdr)
		ret = EPROTO;
	if (ret)
		goto err_cancel;

	pthread_mutex_lock(&cq->lock);
	pthread_mutex_lock(&cq->arm_lock);
	ret = srnic_resize_step(cq, cqe, SRNIC_RESIZE_COMMIT, NULL);
	if (!ret) {
		old = cq->ring;
		cq->ring = ring;
		ring = old;
	}
	pthread_mutex_unlock(&cq->arm_lock);
	pthread_mutex_unlock(&cq->lock);
	srnic_ring_unmap(&ring);

err_cancel:
	if (ret)
		srnic_resize_step(cq, cqe, SRNIC_RESIZE_CANCEL, NULL);
out:
	pthread_mutex_unlock(&cq->resize);
	return ret;
}

/**
 * srnic_cqe_opcode - opcode of a completion, in verbs
 * @cqe: completion
 */
enum ibv_wc_opcode srnic_cqe_opcode(const struct srnic_cqe *cqe)
{
	enum ibv_wc_opcode opcode = IBV_WC_SEND;

	if (cqe->opcode < ARRAY_SIZE(srnic_wc_opcode))
		opcode = srnic_wc_opcode[cqe->opcode];
	/* SRNIC_CQE_RQ is valid even if a failed WR has no opcode. */
	if ((cqe->flags & SRNIC_CQE_RQ) && !(opcode & IBV_WC_RECV))
		opcode = IBV_WC_RECV;
	return opcode;
}

/**
 * srnic_cqe_wc_flags - enum ibv_wc_flags of a completion
 * @cqe: completion
 */
unsigned int srnic_cqe_wc_flags(const struct srnic_cqe *cqe)
{
	if (cqe->flags & SRNIC_CQE_WITH_INV)
		return IBV_WC_WITH_INV;
	return (cqe->flags & SRNIC_CQE_WITH_IMM ? IBV_WC_WITH_IMM : 0) |
	       (cqe->flags & SRNIC_CQE_GRH ? IBV_WC_GRH : 0);
}

static void srnic_fill_wc(struct ibv_wc *wc, const struct srnic_cqe *cqe)
{
	*wc = (struct ibv_wc){
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = srnic_cqe_opcode(cqe),
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp_num = cqe->qpn,
		.src_qp = cqe->src_qp,
		.wc_flags = srnic_cqe_wc_flags(cqe),
	};

	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = cqe->data;
	else if (wc->wc_flags & IBV_WC_WITH_IMM)
		wc->imm_data = (__force __be32)cqe->data;
}

/* The provider sets this in a completion that waits after its QP is destroyed */
#define SRNIC_CQE_DISOWNED	0x80000000U

/*
 * Frees the slots, or WQEs of an SRQ, that n completions of a queue cover; cqe is
 * the newest of them. The CQ's consumer index is past them already: a WR that is
 * posted into a freed slot may complete at once, and its completion takes their
 * room in the CQ.
 */
static void srnic_retire(struct srnic_ctx *ctx, const struct srnic_cqe *cqe,
			 uint32_t n)
{
	struct srnic_qp *qp = NULL;

	if (!(cqe->flags & SRNIC_CQE_DISOWNED))
		qp = srnic_qpn_find(ctx, cqe->qpn);
	if (!qp)
		return;
	if (qp->srq && (cqe->flags & SRNIC_CQE_RQ))
		srnic_srq_polled(qp->srq, n);
	else
		srnic_wq_free_to(cqe->flags & SRNIC_CQE_RQ ? &qp->rq : &qp->sq,
				 cqe->wqe_index + 1);
}

/**
 * srnic_cq_waiting - number of completions that can be taken
 * @cq: CQ, whose lock is held
 *
 * Return: the number, or -EIO if the ring's indices are impossible (it was
 * overwritten).
 */
int srnic_cq_waiting(const struct srnic_cq *cq)
{
	uint32_t n = srnic_ring_produced(&cq->ring) - cq->tail;

	return n <= cq->ring.entries ? (int)n : -EIO;
}

/**
 * srnic_cq_take - take the oldest completion
 * @cq: CQ, not empty, whose lock is held
 * @cqe: set to a copy: the entry itself belongs to the kernel again
 */
void srnic_cq_take(struct srnic_cq *cq, struct srnic_cqe *cqe)
{
	*cqe = *(const struct srnic_cqe *)srnic_ring_entry(&cq->ring, cq->tail);
	srnic_ring_consume(&cq->ring, ++cq->tail);
	srnic_retire(to_srnic_ctx(cq->vcq.cq.context), cqe, 1);
}

/**
 * srnic_cq_empty - ring due doorbells after a poll of an empty CQ
 * @cq: CQ, whose lock is not held
 *
 * The completion that the program waits for may depend on a due doorbell.
 */
void srnic_cq_empty(struct srnic_cq *cq)
{
	struct srnic_ctx *ctx = to_srnic_ctx(cq->vcq.cq.context);

	if (__atomic_load_n(&ctx->doorbells_due, __ATOMIC_RELAXED))
		srnic_doorbell_all(ctx);
}

/**
 * srnic_poll_cq - ibv_poll_cq()
 * @ibcq: CQ
 * @num_entries: size of @wc
 * @wc: result
 *
 * Return: number of completions, or -EIO if the ring's indices are impossible (it
 * was overwritten). Any thread, any number at a time; each completion goes to
 * one of them.
 */
int srnic_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_cqe cqe;
	int avail, n;

	pthread_mutex_lock(&cq->lock);
	avail = srnic_cq_waiting(cq);
	if (avail < 0) {
		pthread_mutex_unlock(&cq->lock);
		return avail;
	}

	for (n = 0; n < num_entries && n < avail; n++) {
		srnic_cq_take(cq, &cqe);
		srnic_fill_wc(&wc[n], &cqe);
	}
	pthread_mutex_unlock(&cq->lock);
	if (!avail)
		srnic_cq_empty(cq);
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

	/* not the lock of polling: the ring must not move, but a poll may be in progress */
	pthread_mutex_lock(&cq->arm_lock);
	srnic_ring_arm(&cq->ring,
		       solicited_only ? SRNIC_ARM_SOLICITED : SRNIC_ARM_NEXT);
	pthread_mutex_unlock(&cq->arm_lock);
	return 0;
}

/**
 * srnic_cq_purge - remove the completions of one QP
 * @cq: CQ
 * @qpn: of a QP whose completions the kernel does not add any more, and that
 *       srnic_qpn_find() still finds
 * @keep: those that stay
 *
 * Frees the slots that they cover, as a poll does. The others move up towards the
 * producer, in their order, so that the space is free again at once. The holder of
 * the lock owns all entries between the two indices; the kernel only adds after
 * them.
 *
 * Any thread.
 */
void srnic_cq_purge(struct srnic_cq *cq, uint32_t qpn, enum srnic_keep keep)
{
	struct srnic_ctx *ctx = to_srnic_ctx(cq->vcq.cq.context);
	struct {
		struct srnic_cqe newest;
		uint32_t n;
	} out[2] = {};	/* of the SQ, of the RQ */
	uint32_t from, to;
	unsigned int rq;

	/* in a child of the process that mapped the ring: the completions are the parent's */
	if (!srnic_ring_is_here(&cq->ring))
		return;
	pthread_mutex_lock(&cq->lock);
	from = srnic_ring_produced(&cq->ring);
	if (from - cq->tail > cq->ring.entries)
		goto unlock;

	for (to = from; from != cq->tail;) {
		struct srnic_cqe *cqe = srnic_ring_entry(&cq->ring, --from);

		/* a new QP may have the number while completions of the old one wait */
		if (cqe->qpn == qpn && !(cqe->flags & SRNIC_CQE_DISOWNED)) {
			rq = !!(cqe->flags & SRNIC_CQE_RQ);
			if (!out[rq].n++)
				out[rq].newest = *cqe;
			if (keep == SRNIC_KEEP_NONE ||
			    (keep == SRNIC_KEEP_RECEIVED &&
			     (!rq || cqe->status != IBV_WC_SUCCESS)))
				continue;
			cqe->flags |= SRNIC_CQE_DISOWNED;
		}
		if (--to != from)
			memcpy(srnic_ring_entry(&cq->ring, to), cqe,
			       sizeof(*cqe));
	}

	cq->tail = to;
	srnic_ring_consume(&cq->ring, to);
	for (rq = 0; rq < 2; rq++)
		if (out[rq].n)
			srnic_retire(ctx, &out[rq].newest, out[rq].n);
unlock:
	pthread_mutex_unlock(&cq->lock);
}
