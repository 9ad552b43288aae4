// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The edge of the work queues: copying and checking SQEs and RQEs. */

#include "queue/wqe.h"

/* Which WR a send queue takes: RN-19, WR-08 */
static const struct sqe_rule {
	bool allowed;
	bool kernel_only;
	u8 needs;		/* SRNIC_MSG_* that the peer has to take */
	bool ud;		/* of UD QPs, and of no others; names an address handle in rkey */
	bool has_inline;
	u8 max_sge;		/* 0: as many as the QP has */
	bool no_data;		/* takes no SGE and moves nothing */
	bool atomic;		/* eight octets, in one SGE, are the sink */
	bool remote;		/* names remote memory, with rkey and remote_addr */
	bool stag;		/* has a use for stag */
	bool region;		/* names a region in rkey, and nothing in remote_addr */
	u8 args;		/* of arg[], the others are 0 */
} sqe_rules[SRNIC_OP_SQ_MAX] = {
	[SRNIC_OP_SEND]		= { .allowed = true, .has_inline = true },
	[SRNIC_OP_SEND_INV]	= { .allowed = true, .has_inline = true, .stag = true },
	[SRNIC_OP_WRITE]	= { .allowed = true, .has_inline = true, .remote = true },
	[SRNIC_OP_READ]		= { .allowed = true, .remote = true },
	[SRNIC_OP_READ_INV]	= { .allowed = true, .max_sge = 1, .remote = true },
	[SRNIC_OP_WRITE_IMM]	= { .allowed = true, .needs = SRNIC_MSG_RFC7306, .has_inline = true,
				    .remote = true, .stag = true },
	[SRNIC_OP_FETCH_ADD]	= { .allowed = true, .needs = SRNIC_MSG_RFC7306, .max_sge = 1,
				    .atomic = true, .remote = true, .args = 1 },
	[SRNIC_OP_CMP_SWAP]	= { .allowed = true, .needs = SRNIC_MSG_RFC7306, .max_sge = 1,
				    .atomic = true, .remote = true, .args = 2 },
	[SRNIC_OP_LOCAL_INV]	= { .allowed = true, .no_data = true, .stag = true },
	[SRNIC_OP_BIND_MW]	= { .allowed = true, .no_data = true, .stag = true,
				    .region = true, .args = 3 },
	[SRNIC_OP_SEND_IMM]	= { .allowed = true, .needs = SRNIC_MSG_SEND_IMM,
				    .has_inline = true, .stag = true },
	[SRNIC_OP_UD_SEND]	= { .allowed = true, .ud = true, .has_inline = true, .args = 2 },
	[SRNIC_OP_UD_SEND_IMM]	= { .allowed = true, .ud = true, .has_inline = true,
				    .stag = true, .args = 2 },
	[SRNIC_OP_FLUSH]	= { .allowed = true, .needs = SRNIC_MSG_PLACEMENT, .no_data = true,
				    .remote = true, .args = 3 },
	[SRNIC_OP_ATOMIC_WRITE]	= { .allowed = true, .needs = SRNIC_MSG_PLACEMENT, .no_data = true,
				    .remote = true, .args = 1 },
	[SRNIC_OP_REG_MR]	= { .allowed = true, .kernel_only = true, .no_data = true,
				    .stag = true, .args = 3 },
};

/* Octets of an SGE list */
static u64 sge_total(const struct srnic_sge *sge, u32 n)
{
	u64 total = 0;

	while (n--)
		total += sge++->length;
	return total;
}

/* Fields that the opcode does not use are 0, so that they can get a use later */
static bool sqe_unused_clear(const struct sqe_rule *rule, const struct srnic_sqe *sqe)
{
	u64 set = 0;
	u32 i;

	if (!rule->remote)
		set |= sqe->remote_addr;
	if (!rule->remote && !rule->region && !rule->ud)
		set |= sqe->rkey;
	if (!rule->stag)
		set |= sqe->stag;
	for (i = rule->args; i < ARRAY_SIZE(sqe->arg); i++)
		set |= sqe->arg[i];
	set |= sqe->flags & SRNIC_SQE_INLINE ? sqe->num_sge : sqe->inline_len;
	return !set;
}

/* Check the header, our own copy */
static enum srnic_wc_status sqe_check(const struct srnic_sq_caps *caps,
				      const struct srnic_sqe *sqe)
{
	const struct sqe_rule *rule;

	if (sqe->opcode >= SRNIC_OP_SQ_MAX || !sqe_rules[sqe->opcode].allowed)
		return SRNIC_WC_INVALID_WQE;
	rule = &sqe_rules[sqe->opcode];
	if (rule->kernel_only && !caps->privileged)
		return SRNIC_WC_NOT_PRIVILEGED;
	if (rule->ud != caps->ud || (rule->needs & caps->lacks))
		return SRNIC_WC_INVALID_WQE;
	if (sqe->flags & ~SRNIC_SQE_FLAGS ||
	    sqe->num_sge > (srnic_op_is_write(sqe->opcode) ? caps->max_write_sge :
							     caps->max_sge) ||
	    (rule->max_sge && sqe->num_sge > rule->max_sge) ||
	    (rule->no_data && sqe->num_sge) || (rule->atomic && !sqe->num_sge) ||
	    !sqe_unused_clear(rule, sqe))
		return SRNIC_WC_INVALID_WQE;
	if (sqe->flags & SRNIC_SQE_INLINE &&
	    (!rule->has_inline || sqe->inline_len > caps->max_inline))
		return SRNIC_WC_INVALID_WQE;
	return SRNIC_WC_SUCCESS;
}

/* Each SGE that takes data has an STag that a peer can name */
static bool sinks_named(const struct srnic_sge *sge, u32 n)
{
	for (; n--; sge++)
		if (sge->length && !sge->lkey)
			return false;
	return true;
}

/* Check the SGEs, our own copies, with the header */
static enum srnic_wc_status sqe_check_sges(const struct srnic_sqe *sqe,
					   const struct srnic_sge *sges, u64 total)
{
	if (total > SRNIC_MAX_MSG)	/* WR-19 */
		return SRNIC_WC_INVALID_LENGTH;
	if (sqe_rules[sqe->opcode].atomic && total != sizeof(u64))
		return SRNIC_WC_INVALID_LENGTH;
	/* the sink of an atomic is not named on the wire: it is an SGE like others */
	if (srnic_op_has_response(sqe->opcode) && !srnic_op_is_atomic(sqe->opcode) &&
	    !sinks_named(sges, sqe->num_sge))
		return SRNIC_WC_INVALID_STAG;
	return SRNIC_WC_SUCCESS;
}

/**
 * srnic_sqe_copy - copy an SQE out of its slot and check it
 * @caps: of the SQ; a slot has room for what they allow
 * @slot: the SQE and what follows it; may change at any time
 * @sqe: the copy of its header, whatever the result is
 * @data: room for as many SGEs as @caps allow, and for @caps->max_inline octets: the
 *	  copy of what follows the header
 * @total: octets of the message, 0 if the result is not success
 *
 * If there is data to move, a remote STag of zero is never valid, nor is that of a
 * Read's sink (MM-11). Context: any.
 *
 * Return: success if the WR is fit to run, else its completion status.
 */
enum srnic_wc_status srnic_sqe_copy(const struct srnic_sq_caps *caps, const void *slot,
				    struct srnic_sqe *sqe, void *data, u32 *total)
{
	enum srnic_wc_status status;
	u64 octets;

	*total = 0;
	memcpy(sqe, slot, sizeof(*sqe));
	barrier();	/* no field is taken from the slot again */
	status = sqe_check(caps, sqe);
	if (status)
		return status;

	slot = (const struct srnic_sqe *)slot + 1;
	if (sqe->flags & SRNIC_SQE_INLINE) {
		octets = sqe->inline_len;
		memcpy(data, slot, octets);
	} else {
		memcpy(data, slot, sqe->num_sge * sizeof(struct srnic_sge));
		barrier();
		octets = sge_total(data, sqe->num_sge);
		status = sqe_check_sges(sqe, data, octets);
	}
	if (!status && octets && sqe_rules[sqe->opcode].remote && !sqe->rkey)
		status = SRNIC_WC_INVALID_STAG;
	if (!status)
		*total = octets;
	return status;
}

/**
 * srnic_rqe_copy - copy an RQE out of its slot and check it
 * @rwr: filled in except the PD and the index; room for @max_sge SGEs
 * @slot: of an RQ or SRQ, the RQE and what follows it; may change at any time
 * @max_sge: SGEs it may have
 *
 * Context: any.
 *
 * Return: 0, or -EINVAL for a malformed one, which has no SGEs then.
 */
int srnic_rqe_copy(struct srnic_rwr *rwr, const void *slot, u32 max_sge)
{
	const struct srnic_rqe *rqe = slot;

	rwr->wr_id = READ_ONCE(rqe->wr_id);
	rwr->num_sge = READ_ONCE(rqe->num_sge);
	rwr->length = 0;
	if (rwr->num_sge > max_sge || READ_ONCE(rqe->reserved)) {
		rwr->num_sge = 0;
		return -EINVAL;
	}
	memcpy(rwr->sge, rqe + 1, rwr->num_sge * sizeof(rwr->sge[0]));
	barrier();
	rwr->length = sge_total(rwr->sge, rwr->num_sge);
	if (rwr->length > SRNIC_MAX_MSG) {
		rwr->num_sge = 0;
		rwr->length = 0;
		return -EINVAL;
	}
	return 0;
}
