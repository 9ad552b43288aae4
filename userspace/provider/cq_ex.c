// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: polling with ibv_start_poll() and the like. They return the same values
 * as ibv_poll_cq() for a completion.
 */
#include <errno.h>
#include <time.h>

#include <util/compiler.h>

#include "srnic.h"

static void srnic_set_current(struct srnic_cq *cq)
{
	srnic_cq_take(cq, &cq->current);
	cq->vcq.cq_ex.wr_id = cq->current.wr_id;
	cq->vcq.cq_ex.status = cq->current.status;
}

/* On success the CQ's lock is held until srnic_end_poll(). */
static int srnic_start_poll(struct ibv_cq_ex *ibcqx,
			    struct ibv_poll_cq_attr *attr)
{
	struct srnic_cq *cq = to_srnic_cq_ex(ibcqx);
	int n;

	if (attr->comp_mask)
		return EINVAL;
	pthread_mutex_lock(&cq->lock);
	n = srnic_cq_waiting(cq);
	if (n <= 0) {
		pthread_mutex_unlock(&cq->lock);
		srnic_cq_empty(cq);
		return n ? -n : ENOENT;
	}
	srnic_set_current(cq);
	return 0;
}

static int srnic_next_poll(struct ibv_cq_ex *ibcqx)
{
	struct srnic_cq *cq = to_srnic_cq_ex(ibcqx);
	int n = srnic_cq_waiting(cq);

	if (n <= 0)
		return n ? -n : ENOENT;
	srnic_set_current(cq);
	return 0;
}

static void srnic_end_poll(struct ibv_cq_ex *ibcqx)
{
	pthread_mutex_unlock(&to_srnic_cq_ex(ibcqx)->lock);
}

static enum ibv_wc_opcode srnic_read_opcode(struct ibv_cq_ex *ibcqx)
{
	return srnic_cqe_opcode(&to_srnic_cq_ex(ibcqx)->current);
}

static uint32_t srnic_read_vendor_err(struct ibv_cq_ex *ibcqx)
{
	return to_srnic_cq_ex(ibcqx)->current.vendor_err;
}

static unsigned int srnic_read_wc_flags(struct ibv_cq_ex *ibcqx)
{
	return srnic_cqe_wc_flags(&to_srnic_cq_ex(ibcqx)->current);
}

static uint32_t srnic_read_byte_len(struct ibv_cq_ex *ibcqx)
{
	return to_srnic_cq_ex(ibcqx)->current.byte_len;
}

/* Serves ibv_wc_read_invalidated_rkey(), too. */
static __be32 srnic_read_imm_data(struct ibv_cq_ex *ibcqx)
{
	return (__force __be32)to_srnic_cq_ex(ibcqx)->current.data;
}

static uint32_t srnic_read_qp_num(struct ibv_cq_ex *ibcqx)
{
	return to_srnic_cq_ex(ibcqx)->current.qpn;
}

static uint32_t srnic_read_src_qp(struct ibv_cq_ex *ibcqx)
{
	return to_srnic_cq_ex(ibcqx)->current.src_qp;
}

/* A field of InfiniBand only; ibv_poll_cq() returns 0, too. */
static uint32_t srnic_read_none32(struct ibv_cq_ex *ibcqx)
{
	return 0;
}

static uint8_t srnic_read_none8(struct ibv_cq_ex *ibcqx)
{
	return 0;
}

static uint64_t srnic_read_completion_ts(struct ibv_cq_ex *ibcqx)
{
	return to_srnic_cq_ex(ibcqx)->current.timestamp;
}

static uint64_t srnic_read_wallclock(struct ibv_cq_ex *ibcqx)
{
	return to_srnic_cq_ex(ibcqx)->current.wallclock;
}

/**
 * srnic_cq_ex_init - set the calls of ibv_start_poll() and the like
 * @cq: new CQ
 * @wc_flags: IBV_WC_EX_WITH_* that its program is going to read
 */
void srnic_cq_ex_init(struct srnic_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *cqx = &cq->vcq.cq_ex;

	cqx->start_poll = srnic_start_poll;
	cqx->next_poll = srnic_next_poll;
	cqx->end_poll = srnic_end_poll;
	cqx->read_opcode = srnic_read_opcode;
	cqx->read_vendor_err = srnic_read_vendor_err;
	cqx->read_wc_flags = srnic_read_wc_flags;
	/* Also for the STag of a Send with Invalidate, which has no flag. */
	cqx->read_imm_data = srnic_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cqx->read_byte_len = srnic_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cqx->read_qp_num = srnic_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cqx->read_src_qp = srnic_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cqx->read_slid = srnic_read_none32;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cqx->read_sl = srnic_read_none8;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cqx->read_dlid_path_bits = srnic_read_none8;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		cqx->read_completion_ts = srnic_read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		cqx->read_completion_wallclock_ns = srnic_read_wallclock;
}

/**
 * srnic_query_rt_values - ibv_query_rt_values_ex()
 * @ibctx: context
 * @values: in: requested values; out: the values
 *
 * The raw clock is that of completion timestamps. It is in tv_nsec as a whole, as
 * programs compare it with ibv_wc_read_completion_ts().
 *
 * Return: 0, or EINVAL for an unknown value.
 */
int srnic_query_rt_values(struct ibv_context *ibctx,
			  struct ibv_values_ex *values)
{
	struct timespec now;

	if (!check_comp_mask(values->comp_mask, IBV_VALUES_MASK_RAW_CLOCK))
		return EINVAL;
	if (values->comp_mask & IBV_VALUES_MASK_RAW_CLOCK) {
		if (clock_gettime(CLOCK_MONOTONIC, &now))
			return errno;
		values->raw_clock.tv_sec = 0;
		values->raw_clock.tv_nsec = now.tv_sec * 1000000000ULL +
					    now.tv_nsec;
	}
	return 0;
}
