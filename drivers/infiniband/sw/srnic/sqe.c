// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The edge of the SQ: an SQE is copied once out of memory that its poster may
 * still be writing to, and every field is checked here. Nothing behind this
 * file looks at the ring again.
 */

#include "srnic.h"
#include "tx.h"

/* Which WR a send queue takes: RN-19, WR-08 */
static const struct sqe_rule {
	bool allowed;
	bool kernel_only;
	bool has_inline;
	u8 max_sge;		/* 0: as many as the QP has */
	bool no_data;		/* takes no SGE and moves nothing */
	bool atomic;		/* eight octets, in one SGE, are the sink */
	bool remote;		/* names remote memory */
} sqe_rules[SRNIC_OP_SQ_MAX] = {
	[SRNIC_OP_SEND]		= { .allowed = true, .has_inline = true },
	[SRNIC_OP_SEND_INV]	= { .allowed = true, .has_inline = true },
	[SRNIC_OP_WRITE]	= { .allowed = true, .has_inline = true, .remote = true },
	[SRNIC_OP_READ]		= { .allowed = true, .max_sge = 1, .remote = true },
	[SRNIC_OP_READ_INV]	= { .allowed = true, .max_sge = 1, .remote = true },
	[SRNIC_OP_WRITE_IMM]	= { .allowed = true, .has_inline = true, .remote = true },
	[SRNIC_OP_FETCH_ADD]	= { .allowed = true, .max_sge = 1, .atomic = true, .remote = true },
	[SRNIC_OP_CMP_SWAP]	= { .allowed = true, .max_sge = 1, .atomic = true, .remote = true },
	[SRNIC_OP_LOCAL_INV]	= { .allowed = true, .no_data = true },
	[SRNIC_OP_BIND_MW]	= { .allowed = true, .no_data = true },
	[SRNIC_OP_REG_MR]	= { .allowed = true, .kernel_only = true, .no_data = true },
};

/* Return: octets of the SGE list, or -1 if they exceed a message (WR-19) */
static s64 sge_total(const struct srnic_sge *sge, u32 n)
{
	u64 total = 0;

	while (n--)
		total += sge++->length;
	return total > SRNIC_MAX_MSG ? -1 : (s64)total;
}

/* What follows the header; @sqe is our own copy */
static enum srnic_wc_status sqe_copy_data(const struct srnic_qp *qp, struct srnic_tx *tx,
					  const void *src)
{
	const struct srnic_sqe *sqe = &tx->sqe;
	s64 total;

	if (sqe->flags & SRNIC_SQE_INLINE) {
		if (sqe->inline_len > qp->max_inline)
			return SRNIC_WC_INVALID_WQE;
		memcpy(tx->inl, src, sqe->inline_len);
		tx->total = sqe->inline_len;
		return SRNIC_WC_SUCCESS;
	}
	memcpy(tx->sges, src, sqe->num_sge * sizeof(*tx->sges));
	total = sge_total(tx->sges, sqe->num_sge);
	if (total < 0)
		return SRNIC_WC_INVALID_LENGTH;
	tx->total = total;
	if (sqe_rules[sqe->opcode].atomic && total != sizeof(u64))
		return SRNIC_WC_INVALID_LENGTH;
	return SRNIC_WC_SUCCESS;
}

static enum srnic_wc_status sqe_check(const struct srnic_qp *qp, const struct srnic_sqe *sqe)
{
	const struct sqe_rule *rule;

	if (sqe->opcode >= SRNIC_OP_SQ_MAX || !sqe_rules[sqe->opcode].allowed)
		return SRNIC_WC_INVALID_WQE;
	rule = &sqe_rules[sqe->opcode];
	if (rule->kernel_only && !qp->kernel)
		return SRNIC_WC_NOT_PRIVILEGED;
	if (sqe->flags & ~SRNIC_SQE_FLAGS ||
	    sqe->num_sge > qp->max_send_sge ||
	    (rule->max_sge && sqe->num_sge > rule->max_sge) ||
	    (rule->no_data && sqe->num_sge) || (rule->atomic && !sqe->num_sge) ||
	    (sqe->flags & SRNIC_SQE_INLINE && !rule->has_inline))
		return SRNIC_WC_INVALID_WQE;
	return SRNIC_WC_SUCCESS;
}

/* A remote STag of zero can never be right, with data to move (MM-11) */
static enum srnic_wc_status sqe_check_stags(const struct srnic_tx *tx)
{
	const struct srnic_sqe *sqe = &tx->sqe;

	if (!tx->total)
		return SRNIC_WC_SUCCESS;
	if (sqe_rules[sqe->opcode].remote && !sqe->rkey)
		return SRNIC_WC_INVALID_STAG;
	/* the sink of an atomic is not named on the wire: it is an SGE like others */
	if (srnic_op_has_response(sqe->opcode) && !srnic_op_is_atomic(sqe->opcode) &&
	    !tx->sges[0].lkey)
		return SRNIC_WC_INVALID_STAG;
	return SRNIC_WC_SUCCESS;
}

/**
 * srnic_sqe_fetch - take the next SQE, copy and check it (tx kthread)
 * @qp: with a stream
 * @tx: its fields of the send WR are filled in; tx->busy is set
 * @status: set to success if the WR is fit to run, else to its error, with
 *	    which the caller completes it
 *
 * Return: 1 if a WR was fetched, 0 if none is posted, -EPROTO if the ring's
 * index was tampered with.
 */
int srnic_sqe_fetch(struct srnic_qp *qp, struct srnic_tx *tx,
		    enum srnic_wc_status *status)
{
	const struct srnic_sqe *src;
	struct srnic_swr *swr;
	unsigned long flags;
	int n;

	n = srnic_sq_pending(qp);
	if (n <= 0)
		return n;

	tx->index = qp->sq_fetched;
	src = srnic_ring_slot(&qp->sq, tx->index);
	memcpy(&tx->sqe, src, sizeof(tx->sqe));
	tx->total = 0;
	tx->off = 0;
	tx->sge = 0;
	tx->sge_off = 0;
	*status = sqe_check(qp, &tx->sqe);
	if (!*status)
		*status = sqe_copy_data(qp, tx, src + 1);
	if (!*status)
		*status = sqe_check_stags(tx);

	spin_lock_irqsave(&qp->sq_lock, flags);
	swr = &qp->swr[tx->index & (qp->sq.entries - 1)];
	*swr = (struct srnic_swr){
		.wr_id = tx->sqe.wr_id,
		.opcode = tx->sqe.opcode,
		.signaled = qp->sig_all || tx->sqe.flags & SRNIC_SQE_SIGNALED,
		.state = SRNIC_SWR_ACTIVE,
	};
	if (!*status && srnic_op_has_response(tx->sqe.opcode) && tx->sqe.num_sge) {
		swr->byte_len = tx->total;
		swr->sink_stag = tx->sges[0].lkey;
		swr->sink_to = tx->sges[0].addr;
	}
	WRITE_ONCE(qp->sq_fetched, qp->sq_fetched + 1);
	spin_unlock_irqrestore(&qp->sq_lock, flags);

	tx->busy = true;
	return 1;
}
