// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: posting. A post fills ring slots, publishes them, and enters the kernel
 * only if the ring asks for it.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <ccan/array_size.h>

#include "srnic.h"
#include "srnicdv.h"

/* SGEs are copied into the ring unchanged. */
static_assert(sizeof(struct srnic_sge) == sizeof(struct ibv_sge) &&
	      offsetof(struct srnic_sge, addr) ==
		      offsetof(struct ibv_sge, addr) &&
	      offsetof(struct srnic_sge, length) ==
		      offsetof(struct ibv_sge, length) &&
	      offsetof(struct srnic_sge, lkey) ==
		      offsetof(struct ibv_sge, lkey), "SGE layout");

/* One doorbell request serves both queues. */
static_assert(sizeof(struct ibv_post_send) == sizeof(struct ibv_post_recv) &&
	      sizeof(struct ib_uverbs_post_send_resp) ==
		      sizeof(struct ib_uverbs_post_recv_resp),
	      "doorbell layout");

#define SRNIC_SEND_FLAGS                                                       \
	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED |             \
	 IBV_SEND_INLINE)

enum {
	SRNIC_WR_INLINE	= 1 << 0,	/* may carry inline data */
	SRNIC_WR_SE	= 1 << 1,	/* may have a solicited event */
	SRNIC_WR_REMOTE	= 1 << 2,	/* names remote memory */
	SRNIC_WR_INV	= 1 << 3,	/* names an STag to invalidate */
	SRNIC_WR_IMM	= 1 << 5,	/* has immediate data */
	SRNIC_WR_ATOMIC	= 1 << 6,	/* has operands; one SGE takes 8 bytes */
	SRNIC_WR_NODATA	= 1 << 7,	/* moves no data: SGEs are ignored */
	SRNIC_WR_BIND	= 1 << 8,	/* has the parameters of a bind */
	SRNIC_WR_OWN	= 1 << 9,	/* not of iWARP: the peer has to be srnic, too */
	SRNIC_WR_RC	= 1 << 10,	/* kinds of QPs that take it */
	SRNIC_WR_UC	= 1 << 11,
	SRNIC_WR_UD	= 1 << 12,
	SRNIC_WR_CALL	= 1 << 13,	/* has a call of its own: not of ibv_post_send() */
	SRNIC_WR_CONN	= SRNIC_WR_RC | SRNIC_WR_UC,
};

/*
 * Opcodes of verbs, and their properties. This device does not support those without a
 * native opcode: EOPNOTSUPP. iWARP has no SEND_WITH_IMM (RFC 7306 6), and neither Flush
 * nor Atomic Write: they are for QPs whose program has named the peer in
 * ibv_modify_qp().
 */
static const struct srnic_wr_rule {
	uint8_t opcode;			/* enum srnic_opcode */
	uint16_t has;			/* SRNIC_WR_* */
} srnic_wr_rules[] = {
	[IBV_WR_SEND]		= { SRNIC_OP_SEND,
				    SRNIC_WR_CONN | SRNIC_WR_UD |
				    SRNIC_WR_INLINE | SRNIC_WR_SE },
	[IBV_WR_SEND_WITH_INV]	= { SRNIC_OP_SEND_INV,
				    SRNIC_WR_CONN | SRNIC_WR_INLINE |
				    SRNIC_WR_SE | SRNIC_WR_INV },
	[IBV_WR_SEND_WITH_IMM]	= { SRNIC_OP_SEND_IMM,
				    SRNIC_WR_CONN | SRNIC_WR_UD |
				    SRNIC_WR_INLINE | SRNIC_WR_SE |
				    SRNIC_WR_IMM | SRNIC_WR_OWN },
	[IBV_WR_RDMA_WRITE]	= { SRNIC_OP_WRITE,
				    SRNIC_WR_CONN | SRNIC_WR_INLINE |
				    SRNIC_WR_REMOTE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { SRNIC_OP_WRITE_IMM,
				    SRNIC_WR_CONN | SRNIC_WR_INLINE |
				    SRNIC_WR_SE | SRNIC_WR_REMOTE |
				    SRNIC_WR_IMM },
	[IBV_WR_RDMA_READ]	= { SRNIC_OP_READ,
				    SRNIC_WR_RC | SRNIC_WR_REMOTE },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { SRNIC_OP_FETCH_ADD,
				    SRNIC_WR_RC | SRNIC_WR_ATOMIC },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { SRNIC_OP_CMP_SWAP,
				    SRNIC_WR_RC | SRNIC_WR_ATOMIC },
	[IBV_WR_LOCAL_INV]	= { SRNIC_OP_LOCAL_INV,
				    SRNIC_WR_CONN | SRNIC_WR_NODATA |
				    SRNIC_WR_INV },
	[IBV_WR_BIND_MW]	= { SRNIC_OP_BIND_MW,
				    SRNIC_WR_CONN | SRNIC_WR_NODATA |
				    SRNIC_WR_BIND },
	[SRNIC_WR_FLUSH]	= { SRNIC_OP_FLUSH,
				    SRNIC_WR_RC | SRNIC_WR_NODATA |
				    SRNIC_WR_REMOTE | SRNIC_WR_OWN |
				    SRNIC_WR_CALL },
	[SRNIC_WR_ATOMIC_WRITE]	= { SRNIC_OP_ATOMIC_WRITE,
				    SRNIC_WR_RC | SRNIC_WR_NODATA |
				    SRNIC_WR_REMOTE | SRNIC_WR_OWN |
				    SRNIC_WR_CALL },
	[SRNICDV_WR_READ_INV]	= { SRNIC_OP_READ_INV,
				    SRNIC_WR_RC | SRNIC_WR_REMOTE },
};

/**
 * srnic_wr_kind - the kinds of WRs that a QP takes
 * @type: of the QP
 *
 * Return: for srnic_qp.kind.
 */
uint16_t srnic_wr_kind(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_UD: return SRNIC_WR_UD;
	case IBV_QPT_UC: return SRNIC_WR_UC;
	default:	 return SRNIC_WR_RC;
	}
}

/**
 * srnic_wq_free_to - free the slots before an index
 * @wq: work queue
 * @index: free-running; one that is not within the taken slots is stale and
 *         changes nothing
 *
 * The caller holds the lock of the CQ that @wq completes to.
 */
void srnic_wq_free_to(struct srnic_wq *wq, uint32_t index)
{
	uint32_t head = __atomic_load_n(&wq->head, __ATOMIC_RELAXED);

	if (index - wq->tail <= head - wq->tail)
		__atomic_store_n(&wq->tail, index, __ATOMIC_RELEASE);
}

/**
 * srnic_wq_full - is the slot at an index taken?
 * @wq: work queue, whose lock is held
 * @head: index of the next WR
 */
bool srnic_wq_full(const struct srnic_wq *wq, uint32_t head)
{
	return head - __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE) >=
	       wq->max_wr;
}

/**
 * srnic_wq_publish - hand the written slots to the kernel
 * @qp: QP
 * @wq: its SQ or RQ, whose lock is held
 * @head: index after the last WR
 *
 * Return: whether srnic_doorbell() is to be called, after the lock is dropped.
 */
bool srnic_wq_publish(const struct srnic_qp *qp, struct srnic_wq *wq,
		      uint32_t head)
{
	bool due = __atomic_load_n(&qp->doorbell_due, __ATOMIC_RELAXED);

	if (head == wq->head)
		return due;
	__atomic_store_n(&wq->head, head, __ATOMIC_RELAXED);
	srnic_ring_produce(&wq->ring, head);
	return srnic_ring_wants_doorbell(&wq->ring) || due;
}

static int srnic_doorbell_once(struct srnic_qp *qp, bool send)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;
	struct ib_uverbs_post_send_resp resp;
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad_send;
	struct ibv_post_send cmd = {
		.hdr = {
			.command = send ? IB_USER_VERBS_CMD_POST_SEND :
					  IB_USER_VERBS_CMD_POST_RECV,
			.in_words = sizeof(cmd) / 4,
			.out_words = sizeof(resp) / 4,
		},
		.response = (uintptr_t)&resp,
		.qp_handle = ibqp->handle,
		.wqe_size = send ? sizeof(struct ib_uverbs_send_wr) :
				   sizeof(struct ib_uverbs_recv_wr),
	};

	if (!__atomic_load_n(&qp->doorbell_ioctl, __ATOMIC_RELAXED)) {
		if (write(ibqp->context->cmd_fd, &cmd, sizeof(cmd)) ==
		    sizeof(cmd))
			return 0;
		if (errno != EACCES)
			return errno;
		__atomic_store_n(&qp->doorbell_ioctl, true, __ATOMIC_RELAXED);
	}
	return send ? ibv_cmd_post_send(ibqp, NULL, &bad_send) :
		      ibv_cmd_post_recv(ibqp, NULL, &bad_recv);
}

/* Errors after which the kernel may take the doorbell later: no memory, the QP is locked */
static bool srnic_doorbell_later(int err)
{
	return err == ENOMEM || err == EBUSY || err == EAGAIN || err == EINTR;
}

/* Attempts to ring a doorbell before it becomes due */
#define SRNIC_DOORBELL_TRIES 1000

/**
 * srnic_doorbell_clear - clear the due doorbell of a QP
 * @qp: QP
 *
 * Return: whether one was due. Any thread.
 */
bool srnic_doorbell_clear(struct srnic_qp *qp)
{
	struct srnic_ctx *ctx = to_srnic_ctx(qp->vqp.qp.context);

	if (!__atomic_exchange_n(&qp->doorbell_due, false, __ATOMIC_SEQ_CST))
		return false;
	__atomic_fetch_sub(&ctx->doorbells_due, 1, __ATOMIC_RELAXED);
	return true;
}

static void srnic_doorbell_set_due(struct srnic_qp *qp)
{
	struct srnic_ctx *ctx = to_srnic_ctx(qp->vqp.qp.context);

	if (!__atomic_exchange_n(&qp->doorbell_due, true, __ATOMIC_SEQ_CST))
		__atomic_fetch_add(&ctx->doorbells_due, 1, __ATOMIC_RELAXED);
}

/**
 * srnic_doorbell - notify the kernel of a post
 * @qp: QP
 * @send: to its SQ, otherwise to its RQ; the kernel checks both
 *
 * The POST_SEND or POST_RECV command without a WR. write(2) is the cheapest
 * way in, but the kernel refuses it (EACCES) to a process that changed its
 * credentials after it opened the device. The ioctl has no such rule.
 *
 * The WRs are in the ring and cannot be taken back: if the post failed, the next
 * doorbell would execute them all the same. So a temporary failure is not
 * returned to the caller. The doorbell stays due, and the next post to the QP, or
 * the next poll that finds a CQ empty, rings it again.
 *
 * Return: 0, or an errno: the kernel will never take the doorbell.
 */
int srnic_doorbell(struct srnic_qp *qp, bool send)
{
	int tries = 0;
	int ret;

	srnic_doorbell_clear(qp);
	while (srnic_doorbell_later(ret = srnic_doorbell_once(qp, send))) {
		if (++tries == SRNIC_DOORBELL_TRIES) {
			srnic_doorbell_set_due(qp);
			return 0;
		}
		sched_yield();
	}
	return ret;
}

/* Rings the due doorbell of a QP; it stays due if the kernel still cannot take it. */
static void srnic_doorbell_again(struct srnic_qp *qp)
{
	if (srnic_doorbell_clear(qp) &&
	    srnic_doorbell_later(srnic_doorbell_once(qp, true)))
		srnic_doorbell_set_due(qp);
}

/**
 * srnic_doorbell_all - ring all doorbells of a context that are due
 * @ctx: context
 *
 * A program may wait for a completion before it posts again. Any thread, without
 * the locks of a CQ or a queue.
 */
void srnic_doorbell_all(struct srnic_ctx *ctx)
{
	srnic_qpn_for_each(ctx, srnic_doorbell_again);
}

/* Copies the SGL; more than 2^32-1 bytes do not fit an RDMAP message. */
static int srnic_put_sgl(struct srnic_sge *to, const struct ibv_sge *from,
			 uint32_t num)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < num; i++)
		bytes += from[i].length;
	if (bytes > UINT32_MAX)
		return EINVAL;
	if (num)
		memcpy(to, from, num * sizeof(*to));
	return 0;
}

/*
 * Only the index of the window's own rkey is used; the WR chooses the key. The
 * kernel checks window and region when it executes the WR.
 */
static int srnic_put_bind(struct srnic_sqe *sqe, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

	if ((wr->bind_mw.rkey ^ wr->bind_mw.mw->rkey) >> SRNIC_STAG_KEY_BITS)
		return EINVAL;
	/* verbs: a bind of type 1 with length 0 unbinds, and needs no region */
	if (!info->mr &&
	    (wr->bind_mw.mw->type != IBV_MW_TYPE_1 || info->length))
		return EINVAL;
	sqe->stag = wr->bind_mw.rkey;
	sqe->rkey = info->mr ? info->mr->rkey : 0;
	sqe->arg[0] = info->addr;
	sqe->arg[1] = info->length;
	/* programs for InfiniBand set local write together with remote write (MW-06) */
	sqe->arg[2] = info->mw_access_flags & ~IBV_ACCESS_LOCAL_WRITE;
	return 0;
}

/**
 * srnic_put_head - check the fields of a WR except its data, and begin its SQE
 * @qp: QP
 * @sqe: slot that is not published yet
 * @wr: opcode, wr_id, flags and the opcode's fields; data and the flag
 *      IBV_SEND_INLINE are ignored. The SQE has no data yet.
 *
 * The one place that maps a WR's fields to the SQE, for ibv_post_send() and the
 * ibv_wr_* calls. The SQ's lock is held.
 *
 * Return: 0, EINVAL (unknown opcode or flag, a key of another window, no region
 * to bind to, a UD QP that is not in RTS yet), EOPNOTSUPP (operation that this
 * device or this kind of QP does not support).
 */
int srnic_put_head(const struct srnic_qp *qp, struct srnic_sqe *sqe,
		   const struct ibv_send_wr *wr)
{
	const struct srnic_wr_rule *rule;
	uint8_t flags = 0;

	if ((unsigned int)wr->opcode >= ARRAY_SIZE(srnic_wr_rules))
		return EINVAL;
	rule = &srnic_wr_rules[wr->opcode];
	if (!rule->opcode)
		return EOPNOTSUPP;
	if (!(rule->has & qp->kind))
		return EOPNOTSUPP;
	if ((rule->has & SRNIC_WR_OWN) && !qp->ud && !qp->names_peer)
		return EOPNOTSUPP;
	if (wr->send_flags & ~SRNIC_SEND_FLAGS)
		return EINVAL;

	if (qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED))
		flags |= SRNIC_SQE_SIGNALED;
	if (wr->send_flags & IBV_SEND_FENCE)
		flags |= SRNIC_SQE_FENCE;
	/* verbs(7): the other opcodes ignore the flag */
	if ((wr->send_flags & IBV_SEND_SOLICITED) && (rule->has & SRNIC_WR_SE))
		flags |= SRNIC_SQE_SOLICITED;

	*sqe = (struct srnic_sqe){
		.wr_id = wr->wr_id,
		.opcode = rule->opcode,
		.flags = flags,
	};
	if (rule->has & SRNIC_WR_REMOTE) {
		sqe->rkey = wr->wr.rdma.rkey;
		sqe->remote_addr = wr->wr.rdma.remote_addr;
	}
	if (rule->has & SRNIC_WR_ATOMIC) {
		sqe->rkey = wr->wr.atomic.rkey;
		sqe->remote_addr = wr->wr.atomic.remote_addr;
		sqe->arg[0] = wr->wr.atomic.compare_add;
		if (rule->opcode == SRNIC_OP_CMP_SWAP)
			sqe->arg[1] = wr->wr.atomic.swap;
	}
	if (rule->has & SRNIC_WR_INV)
		sqe->stag = wr->invalidate_rkey;
	if (qp->ud && qp->vqp.qp.state < IBV_QPS_RTS)
		return EINVAL;
	if (qp->ud)
		sqe->opcode = rule->has & SRNIC_WR_IMM ? SRNIC_OP_UD_SEND_IMM :
							 SRNIC_OP_UD_SEND;
	if (rule->has & SRNIC_WR_IMM)
		sqe->stag = (__force uint32_t)wr->imm_data;
	if (rule->has & SRNIC_WR_BIND)
		return srnic_put_bind(sqe, wr);
	return 0;
}

/**
 * srnic_put_address - set the destination of a WR of a UD QP
 * @sqe: begun by srnic_put_head()
 * @ibah: address handle
 * @qpn: the receiver's QP
 * @qkey: its Q_Key
 */
void srnic_put_address(struct srnic_sqe *sqe, struct ibv_ah *ibah, uint32_t qpn,
		       uint32_t qkey)
{
	sqe->rkey = to_srnic_ah(ibah)->number;
	sqe->arg[0] = qpn;
	sqe->arg[1] = qkey;
}

static uint32_t srnic_max_sge(const struct srnic_qp *qp,
			      enum ibv_wr_opcode opcode)
{
	const uint16_t write = SRNIC_WR_REMOTE | SRNIC_WR_INLINE;

	return (srnic_wr_rules[opcode].has & write) == write ? qp->max_write_sge :
							       qp->sq.max_sge;
}

/**
 * srnic_put_sges - set the SGEs of a WR
 * @qp: QP
 * @sqe: begun by srnic_put_head()
 * @opcode: that of its WR
 * @sgl: SGEs
 * @num: their number
 *
 * Ignores the SGEs of a WR that moves no data (RDMAC verbs 9.3.1.1).
 *
 * Return: 0, or EINVAL: too many SGEs, too many bytes, or not one SGE of 8 bytes
 * for an atomic.
 */
int srnic_put_sges(const struct srnic_qp *qp, struct srnic_sqe *sqe,
		   enum ibv_wr_opcode opcode, const struct ibv_sge *sgl,
		   size_t num)
{
	if (srnic_wr_rules[opcode].has & SRNIC_WR_NODATA)
		return 0;
	if (num > srnic_max_sge(qp, opcode))
		return EINVAL;
	if ((srnic_wr_rules[opcode].has & SRNIC_WR_ATOMIC) &&
	    (num != 1 || sgl->length != sizeof(uint64_t)))
		return EINVAL;
	sqe->num_sge = num;
	return srnic_put_sgl((struct srnic_sge *)(sqe + 1), sgl, num);
}

/**
 * srnic_put_inline - append to the inline data of a WR
 * @qp: QP
 * @sqe: begun by srnic_put_head()
 * @opcode: that of its WR
 * @addr: data
 * @length: bytes, may be 0
 *
 * Return: 0, or EINVAL: more than the QP takes, or an opcode without inline data.
 */
int srnic_put_inline(const struct srnic_qp *qp, struct srnic_sqe *sqe,
		     enum ibv_wr_opcode opcode, const void *addr,
		     size_t length)
{
	if (srnic_wr_rules[opcode].has & SRNIC_WR_NODATA)
		return 0;
	if (!(srnic_wr_rules[opcode].has & SRNIC_WR_INLINE) ||
	    length > qp->max_inline - sqe->inline_len)
		return EINVAL;
	sqe->flags |= SRNIC_SQE_INLINE;
	if (length)
		memcpy((uint8_t *)(sqe + 1) + sqe->inline_len, addr, length);
	sqe->inline_len += length;
	return 0;
}

/**
 * srnic_wr_known - can a WR of this opcode be posted at all?
 * @opcode: of a WR
 */
bool srnic_wr_known(enum ibv_wr_opcode opcode)
{
	return (unsigned int)opcode < ARRAY_SIZE(srnic_wr_rules) &&
	       srnic_wr_rules[opcode].opcode;
}

/* Checks a WR and writes it to a slot that is not published yet. */
static int srnic_put_send(const struct srnic_qp *qp, struct srnic_sqe *sqe,
			  const struct ibv_send_wr *wr)
{
	const struct ibv_sge *sge = wr->sg_list;
	uint32_t num = wr->num_sge;
	int ret;

	if (!srnic_wr_bindable(wr))
		return EINVAL;
	ret = srnic_put_head(qp, sqe, wr);
	if (ret)
		return ret;
	if (srnic_wr_rules[wr->opcode].has & SRNIC_WR_CALL)
		return EOPNOTSUPP;
	if (qp->ud) {
		if (!wr->wr.ud.ah)
			return EINVAL;
		srnic_put_address(sqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
				  wr->wr.ud.remote_qkey);
	}
	if (!(wr->send_flags & IBV_SEND_INLINE))
		return srnic_put_sges(qp, sqe, wr->opcode, sge, num);

	if (num > srnic_max_sge(qp, wr->opcode))
		return EINVAL;
	ret = srnic_put_inline(qp, sqe, wr->opcode, NULL, 0);
	for (; !ret && num; num--, sge++)
		ret = srnic_put_inline(qp, sqe, wr->opcode,
				       (const void *)(uintptr_t)sge->addr,
				       sge->length);
	return ret;
}

/**
 * srnic_post_head - post one WR that moves no data
 * @qp: QP
 * @wr: WR, which may be one that ibv_post_send() refuses
 *
 * Return: as srnic_post_send(). Any thread.
 */
int srnic_post_head(struct srnic_qp *qp, const struct ibv_send_wr *wr)
{
	struct srnic_wq *sq = &qp->sq;
	bool doorbell = false;
	int ret = ENOMEM;

	pthread_mutex_lock(&sq->lock);
	if (!srnic_wq_full(sq, sq->head))
		ret = srnic_put_head(qp, srnic_ring_entry(&sq->ring, sq->head),
				     wr);
	if (!ret)
		doorbell = srnic_wq_publish(qp, sq, sq->head + 1);
	pthread_mutex_unlock(&sq->lock);
	return doorbell ? srnic_doorbell(qp, true) : ret;
}

/**
 * srnic_put_recv - check a receive WR and write it to a slot
 * @rqe: slot of an RQ or SRQ that is not published yet
 * @wr: WR
 * @max_sge: the most SGEs; the slot has room for them
 *
 * Return: 0, or EINVAL (too many SGEs or bytes).
 */
int srnic_put_recv(struct srnic_rqe *rqe, const struct ibv_recv_wr *wr,
		   uint32_t max_sge)
{
	uint32_t num = wr->num_sge;

	if (num > max_sge)
		return EINVAL;
	*rqe = (struct srnic_rqe){
		.wr_id = wr->wr_id,
		.num_sge = num,
	};
	return srnic_put_sgl((struct srnic_sge *)(rqe + 1), wr->sg_list, num);
}

/**
 * srnic_post_send - ibv_post_send()
 * @ibqp: QP, in any state: in Idle the kernel keeps the WRs, in Error it flushes
 *        them
 * @wr: list of WRs
 * @bad_wr: on error, the first one that was not posted
 *
 * The WRs before a bad one are posted. If the kernel never takes the doorbell
 * (EIO, ENODEV: the device is gone), none counts as posted.
 *
 * Return: 0, or EINVAL (unknown opcode or flag, too many SGEs, too many bytes),
 * EOPNOTSUPP (operation that this device does not support), ENOMEM (queue full),
 * or the doorbell's errno. Any thread, any number at a time.
 */
int srnic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct ibv_send_wr *first = wr;
	struct srnic_wq *sq = &qp->sq;
	bool doorbell;
	uint32_t head;
	int ret = 0;
	int db;

	pthread_mutex_lock(&sq->lock);
	for (head = sq->head; wr; wr = wr->next, head++) {
		if (srnic_wq_full(sq, head))
			ret = ENOMEM;
		else
			ret = srnic_put_send(qp,
					     srnic_ring_entry(&sq->ring, head),
					     wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	doorbell = srnic_wq_publish(qp, sq, head);
	pthread_mutex_unlock(&sq->lock);

	if (doorbell) {
		db = srnic_doorbell(qp, true);
		if (db) {
			*bad_wr = first;
			ret = db;
		}
	}
	return ret;
}

/**
 * srnic_post_recv - ibv_post_recv()
 * @ibqp: QP without an SRQ, in any state, except a UD QP in RESET
 * @wr: list of WRs
 * @bad_wr: on error, the first one that was not posted
 *
 * As srnic_post_send(). A WR without SGEs has a buffer of length 0.
 *
 * Return: 0, or EINVAL (too many SGEs or bytes, the QP has an SRQ), ENOMEM
 * (queue full), or the doorbell's errno. Any thread, any number at a time.
 */
int srnic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct ibv_recv_wr *first = wr;
	struct srnic_wq *rq = &qp->rq;
	bool doorbell;
	uint32_t head;
	int ret = 0;
	int db;

	if (qp->srq || (qp->ud && ibqp->state == IBV_QPS_RESET)) {
		*bad_wr = wr;
		return EINVAL;
	}

	pthread_mutex_lock(&rq->lock);
	for (head = rq->head; wr; wr = wr->next, head++) {
		if (srnic_wq_full(rq, head))
			ret = ENOMEM;
		else
			ret = srnic_put_recv(srnic_ring_entry(&rq->ring, head),
					     wr, rq->max_sge);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	doorbell = srnic_wq_publish(qp, rq, head);
	pthread_mutex_unlock(&rq->lock);

	if (doorbell) {
		db = srnic_doorbell(qp, false);
		if (db) {
			*bad_wr = first;
			ret = db;
		}
	}
	return ret;
}
