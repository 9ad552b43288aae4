// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Taking SQEs out of the SQ; wqe.c checks them. */

#include "queue/sqe.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "queue/wqe.h"

/* sq_lock is held, and a WQE is posted */
static void sqe_take(struct srnic_qp *qp, struct srnic_fetched *wr,
		     enum srnic_wc_status *status)
{
	const struct srnic_sq_caps caps = {
		.privileged = qp->privileged,
		.max_sge = qp->max_send_sge,
		.max_write_sge = qp->max_write_sge,
		.max_inline = qp->max_inline,
		.lacks = (qp->send_imm ? 0 : SRNIC_MSG_SEND_IMM) |
			 (qp->placement ? 0 : SRNIC_MSG_PLACEMENT) |
			 (qp->version == RDMAP_RDMAC ? SRNIC_MSG_RFC7306 : 0),
		.ud = qp->ud,
	};
	struct srnic_swr *swr;

	wr->index = qp->sq_fetched;
	*status = srnic_sqe_copy(&caps, srnic_ring_slot(&qp->sq, wr->index), &wr->sqe,
				 wr->data, &wr->total);
	if (qp->acks)
		qp->sq_messages += srnic_op_messages(wr->sqe.opcode);
	swr = &qp->swr[wr->index & (qp->sq.entries - 1)];
	*swr = (struct srnic_swr){
		.wr_id = wr->sqe.wr_id,
		.opcode = wr->sqe.opcode,
		.flags = wr->sqe.flags | (qp->sig_all ? SRNIC_SQE_SIGNALED : 0),
		.state = SRNIC_SWR_ACTIVE,
		.acked_at = qp->sq_messages,
	};
	if (!*status && srnic_op_has_response(wr->sqe.opcode))
		swr->byte_len = wr->total;
	WRITE_ONCE(qp->sq_fetched, qp->sq_fetched + 1);
}

/**
 * srnic_sqe_fetch - take the next SQE, copy and check it (owner of tx)
 * @qp: with a stream; or a UD QP whose tx_lock is held
 * @wr: filled in; @wr->data is memory of the caller, for the SGEs or the inline data
 * @status: set to success if the WR is fit to run, else to its error, with
 *	    which the caller completes it
 *
 * The SQE is copied with sq_lock held, as a resize moves it. Context: the owner of tx, in process
 * or softirq.
 *
 * Return: 1 if a WR was fetched, 0 if none is posted, -EPROTO if the ring's
 * index was tampered with.
 */
int srnic_sqe_fetch(struct srnic_qp *qp, struct srnic_fetched *wr,
		    enum srnic_wc_status *status)
{
	unsigned long flags;
	int n;

	flags = srnic_lock(&qp->sq_lock);
	n = srnic_sq_filled(qp, srnic_sq_producer(qp));
	if (n > 0) {
		sqe_take(qp, wr, status);
		n = 1;
	}
	srnic_unlock(&qp->sq_lock, flags);
	return n;
}
