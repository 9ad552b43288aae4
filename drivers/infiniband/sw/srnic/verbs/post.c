// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting by kernel consumers: WRs of verbs are translated to WQEs in the rings.
 * Programs post to the mapped rings by themselves, and call here as a doorbell.
 */

#include <rdma/ib_verbs.h>
#include "compat.h"
#include "engine/tx.h"
#include "ib/ib.h"
#include "memory/tpt.h"
#include "queue/srq.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "srnic.h"
#include "verbs/post.h"

/* The WR uses the region's STag index, and the memory that was mapped last */
static int wr_reg_mr(const struct ib_reg_wr *wr, struct srnic_sqe *sqe)
{
	if (SRNIC_STAG_INDEX(wr->key) != SRNIC_STAG_INDEX(wr->mr->rkey))
		return -EINVAL;
	sqe->opcode = SRNIC_OP_REG_MR;
	sqe->stag = wr->key;
	sqe->arg[0] = wr->mr->iova;
	sqe->arg[1] = wr->mr->length;
	sqe->arg[2] = wr->access;
	return 0;
}

static void wr_atomic(const struct ib_atomic_wr *wr, struct srnic_sqe *sqe)
{
	sqe->rkey = wr->rkey;
	sqe->remote_addr = wr->remote_addr;
	sqe->arg[0] = wr->compare_add;
	if (sqe->opcode == SRNIC_OP_CMP_SWAP)
		sqe->arg[1] = wr->swap;
}

static int wr_opcode(const struct ib_send_wr *wr, struct srnic_sqe *sqe)
{
	switch (wr->opcode) {
	case IB_WR_SEND:
		sqe->opcode = SRNIC_OP_SEND;
		return 0;
	case IB_WR_SEND_WITH_INV:
		sqe->opcode = SRNIC_OP_SEND_INV;
		sqe->stag = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_RDMA_WRITE:
		sqe->opcode = SRNIC_OP_WRITE;
		break;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		sqe->opcode = SRNIC_OP_WRITE_IMM;
		sqe->stag = (__force u32)wr->ex.imm_data;
		break;
	case IB_WR_RDMA_READ:
		sqe->opcode = SRNIC_OP_READ;
		break;
	case IB_WR_RDMA_READ_WITH_INV:
		sqe->opcode = SRNIC_OP_READ_INV;
		break;
	case IB_WR_LOCAL_INV:
		sqe->opcode = SRNIC_OP_LOCAL_INV;
		sqe->stag = wr->ex.invalidate_rkey;
		return 0;
	case IB_WR_REG_MR:
		return wr_reg_mr(reg_wr(wr), sqe);
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		sqe->opcode = SRNIC_OP_FETCH_ADD;
		wr_atomic(atomic_wr(wr), sqe);
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
		sqe->opcode = SRNIC_OP_CMP_SWAP;
		wr_atomic(atomic_wr(wr), sqe);
		return 0;
	case IB_WR_SEND_WITH_IMM:
		/* RFC 7306 has no such message (X7-13); kernel consumers cannot negotiate it */
		return -EOPNOTSUPP;
	default:
		/* likewise */
		return wr->opcode == IB_WR_FLUSH || wr->opcode == IB_WR_ATOMIC_WRITE ?
		       -EOPNOTSUPP : -EINVAL;
	}
	sqe->rkey = rdma_wr(wr)->rkey;
	sqe->remote_addr = rdma_wr(wr)->remote_addr;
	return 0;
}

static void wr_copy_sges(struct srnic_sge *dst, const struct ib_sge *src, int n)
{
	while (n--) {
		dst->addr = src->addr;
		dst->length = src->length;
		dst->lkey = src->lkey;
		dst++;
		src++;
	}
}

/* Inline data of a kernel consumer is at kernel addresses */
static int wr_copy_inline(const struct srnic_qp *qp, const struct ib_send_wr *wr,
			  struct srnic_sqe *sqe)
{
	u8 *dst = (u8 *)(sqe + 1);
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > qp->max_inline - sqe->inline_len)
			return -EINVAL;
		memcpy(dst + sqe->inline_len, (void *)(uintptr_t)sge->addr, sge->length);
		sqe->inline_len += sge->length;
	}
	sqe->flags |= SRNIC_SQE_INLINE;
	return 0;
}

static int wr_to_sqe(const struct srnic_qp *qp, const struct ib_send_wr *wr,
		     struct srnic_sqe *sqe)
{
	int err;

	memset(sqe, 0, sizeof(*sqe));
	err = wr_opcode(wr, sqe);
	if (err)
		return err;
	if (wr->num_sge < 0 || wr->num_sge > srnic_qp_max_sge(qp, sqe->opcode))
		return -EINVAL;
	sqe->wr_id = wr->wr_id;
	sqe->flags = (wr->send_flags & IB_SEND_SIGNALED ? SRNIC_SQE_SIGNALED : 0) |
		     (wr->send_flags & IB_SEND_SOLICITED ? SRNIC_SQE_SOLICITED : 0) |
		     (wr->send_flags & IB_SEND_FENCE ? SRNIC_SQE_FENCE : 0);
	if (wr->send_flags & IB_SEND_INLINE)
		return wr_copy_inline(qp, wr, sqe);
	sqe->num_sge = wr->num_sge;
	wr_copy_sges((struct srnic_sge *)(sqe + 1), wr->sg_list, wr->num_sge);
	return 0;
}

/**
 * srnic_post_send - post_send of ib_device_ops (RDMAC verbs 8.2.1, 9.3.1)
 * @ibqp: a kernel consumer's QP, or a program's if @wr is NULL
 * @wr: list of WRs; NULL is the doorbell of a program, which posts to the mapped SQ
 * @bad_wr: set to the first WR that was not posted
 *
 * Context: any for a kernel consumer, whose WRs may be sent here, too, see srnic_tx_post(). A
 * program's doorbell sends posted WRs, and may sleep.
 *
 * Return: 0; -ENOMEM for a full queue; -EOPNOTSUPP or -EINVAL for an invalid WR.
 */
int srnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	unsigned long flags;
	int err = 0;

	if (!qp->kernel) {
		if (wr) {
			*bad_wr = wr;
			return -EINVAL;
		}
		srnic_qp_doorbell(qp);
		if (qp->ud)
			srnic_ud_doorbell(qp);
		else
			srnic_tx_doorbell(qp);
		return 0;
	}
	flags = srnic_lock(&qp->sq_lock);
	for (; wr; wr = wr->next) {
		if (qp->sq_posted - READ_ONCE(qp->sq_freed) >= qp->sq.entries)
			err = -ENOMEM;
		else
			err = wr_to_sqe(qp, wr, srnic_ring_slot(&qp->sq, qp->sq_posted));
		if (err) {
			*bad_wr = wr;
			break;
		}
		/* the SQE before the index */
		smp_store_release(&qp->sq_posted, qp->sq_posted + 1);
	}
	srnic_unlock(&qp->sq_lock, flags);
	if (!srnic_tx_post(qp))
		srnic_qp_doorbell(qp);
	return err;
}

static int wr_to_rqe(const struct ib_recv_wr *wr, u32 max_sge, struct srnic_rqe *rqe)
{
	if (wr->num_sge < 0 || wr->num_sge > max_sge)
		return -EINVAL;
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	rqe->reserved = 0;
	wr_copy_sges((struct srnic_sge *)(rqe + 1), wr->sg_list, wr->num_sge);
	return 0;
}

/**
 * srnic_post_recv - post_recv of ib_device_ops (RDMAC verbs 8.2.1, 9.3.1)
 * @ibqp: a kernel consumer's QP without an SRQ, or a program's if @wr is NULL
 * @wr: list of WRs; NULL is the doorbell of a program, which posts to the mapped RQ
 * @bad_wr: set to the first WR that was not posted
 *
 * Context: any for a kernel consumer; a program's doorbell may reschedule.
 *
 * Return: 0; -ENOMEM for a full queue; -EINVAL for an invalid WR.
 */
int srnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	unsigned long flags;
	int err = 0;

	if (!qp->kernel) {
		if (wr) {
			*bad_wr = wr;
			return -EINVAL;
		}
		srnic_qp_doorbell(qp);
		return 0;
	}
	if (qp->srq) {	/* SR-05 */
		*bad_wr = wr;
		return -EINVAL;
	}
	flags = srnic_lock(&qp->rq_lock);
	for (; wr; wr = wr->next) {
		if (qp->rq_posted - READ_ONCE(qp->rq_freed) >= qp->rq.entries)
			err = -ENOMEM;
		else
			err = wr_to_rqe(wr, qp->max_recv_sge,
					srnic_ring_slot(&qp->rq, qp->rq_posted));
		if (err) {
			*bad_wr = wr;
			break;
		}
		/* the RQE before the index */
		smp_store_release(&qp->rq_posted, qp->rq_posted + 1);
	}
	srnic_unlock(&qp->rq_lock, flags);
	if (READ_ONCE(qp->rq_flushing) || READ_ONCE(qp->rq_awaited))
		srnic_qp_doorbell(qp);
	return err;
}

/**
 * srnic_post_srq_recv - post_srq_recv of ib_device_ops (RDMAC verbs 6.3.5)
 * @ibsrq: a kernel consumer's
 * @wr: list of WRs
 * @bad_wr: set to the first WR that was not posted
 *
 * A program posts to the mapped ring, and needs no doorbell. Context: any.
 *
 * Return: 0; -ENOMEM for a full queue; -EINVAL for an invalid WR.
 */
int srnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	unsigned long flags;
	int err = 0;

	if (!srq->kernel) {
		*bad_wr = wr;
		return -EINVAL;
	}
	flags = srnic_lock(&srq->lock);
	for (; wr; wr = wr->next) {
		struct srnic_rqe *rqe = srnic_srq_next(srq);

		err = rqe ? wr_to_rqe(wr, srq->max_sge, rqe) : -ENOMEM;
		if (err) {
			*bad_wr = wr;
			break;
		}
		srq->posted++;
	}
	srnic_unlock(&srq->lock, flags);
	return err;
}
