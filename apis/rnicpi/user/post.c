// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Work requests. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rnicpi/rix.h>
#include "qp.h"
#include "rnicpi/shared/memory.h"

#define OPAQUE	(RI_WR_CONSUMER_FLAG0 | RI_WR_CONSUMER_FLAG1 | RI_WR_CONSUMER_FLAG2)
#define MAX_SGE	64

static const struct {
	enum ibv_wr_opcode opcode;
	ri_wc_type_t done;
} types[] = {
	[RI_WR_TYPE_SEND] = { IBV_WR_SEND, RI_WC_TYPE_SEND },
	[RI_WR_TYPE_SEND_INVALIDATE] = { IBV_WR_SEND_WITH_INV, RI_WC_TYPE_SEND },
	[RI_WR_TYPE_RDMA_WRITE] = { IBV_WR_RDMA_WRITE, RI_WC_TYPE_RDMA_WRITE },
	[RI_WR_TYPE_RDMA_READ] = { IBV_WR_RDMA_READ, RI_WC_TYPE_RDMA_READ },
	[RI_WR_TYPE_BIND] = { IBV_WR_BIND_MW, RI_WC_TYPE_BIND },
	[RI_WR_TYPE_LOCAL_INVALIDATE_MR] = { IBV_WR_LOCAL_INV, RI_WC_TYPE_LOCAL_INVALIDATE },
	[RI_WR_TYPE_LOCAL_INVALIDATE_MW] = { IBV_WR_LOCAL_INV, RI_WC_TYPE_LOCAL_INVALIDATE },
	[RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE] = { SRNICDV_WR_READ_INV,
		RI_WC_TYPE_RDMA_READ_LOCAL_INVALIDATE },
};

/* --- the send queue --- */

static uint64_t copy_sges(struct ibv_sge *sge, const ri_data_seg_t *list, uint_t num)
{
	uint64_t bytes = 0;
	uint_t i;

	for (i = 0; i < num; i++) {
		sge[i].addr = list[i].addr.vaddr;
		sge[i].lkey = list[i].tag.ltag;
		sge[i].length = list[i].len;
		bytes += list[i].len;
	}
	return bytes;
}

static uint32_t at_most(uint32_t max_sge)
{
	return max_sge < MAX_SGE ? max_sge : MAX_SGE;
}

static int access_of_bind(ri_mem_attr_t attr)
{
	return ri_access_of(attr) & ~IBV_ACCESS_MW_BIND;
}

/* The window's key is the consumer's (L6346) */
static ri_api_return_t fill_bind(const struct rnic_mw *mw, const struct rnic_mr *mr,
				 const ri_wr_bind_t *bind, struct ibv_send_wr *wr)
{
	if (!bind->length)
		return RI_RET_INVALID_WINDOW_TYPE;
	if ((bind->rtag ^ mw->mw->rkey) >> RI_KEY_BITS)
		return RI_RET_MEM_INVALID_RTAG;
	if (bind->ltag != mr->mr->lkey)
		return RI_RET_MEM_INVALID_LTAG;
	wr->bind_mw.mw = mw->mw;
	wr->bind_mw.rkey = bind->rtag;
	wr->bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr->mr,
		.addr = bind->vaddr,
		.length = bind->length,
		.mw_access_flags = access_of_bind(bind->mem_attr),
	};
	return RI_RET_SUCCESS;
}

/* Fills in the fields of the opcode */
static ri_api_return_t fill(const struct rnic_qp *qp, const ri_wr_t *ri, struct ibv_send_wr *wr,
			    struct ibv_sge *sge, uint64_t *bytes)
{
	const ri_data_seg_t *list = NULL;
	uint_t num = 0, max = qp->max_send_sge;
	ri_api_return_t ret;

	switch (ri->wr_common.type) {
	case RI_WR_TYPE_SEND:
	case RI_WR_TYPE_SEND_INVALIDATE:
		list = ri->wr_send.sg_list;
		num = ri->wr_send.num_sgls;
		wr->invalidate_rkey = ri->wr_send.rtag;
		break;
	case RI_WR_TYPE_RDMA_WRITE:
		list = ri->wr_rdma_write.sg_list;
		num = ri->wr_rdma_write.num_sgls;
		max = qp->max_write_sge;
		wr->wr.rdma.remote_addr = ri->wr_rdma_write.rdma_addr;
		wr->wr.rdma.rkey = ri->wr_rdma_write.rtag;
		break;
	case RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE:
		if (!qp->rnic->native)
			return RI_RET_OP_UNSUPPORTED;
		if (ri->wr_rdma_read.num_sgls > 1)
			return RI_RET_WR_SG_INVALID_FORMAT;
		/* fall through */
	case RI_WR_TYPE_RDMA_READ:
		list = ri->wr_rdma_read.sg_list;
		num = ri->wr_rdma_read.num_sgls;
		wr->wr.rdma.remote_addr = ri->wr_rdma_read.rdma_addr;
		wr->wr.rdma.rkey = ri->wr_rdma_read.rtag;
		break;
	case RI_WR_TYPE_LOCAL_INVALIDATE_MR:
		wr->invalidate_rkey = ri->wr_li.ltag;
		return RI_RET_SUCCESS;
	default:
		wr->invalidate_rkey = ri->wr_li.rtag;
		return RI_RET_SUCCESS;
	}
	ret = ri_check_list(list, num, at_most(max));
	if (ret)
		return ret;
	*bytes = copy_sges(sge, list, num);
	if (*bytes > UINT32_MAX)
		return RI_RET_WR_SG_INVALID_FORMAT;
	wr->sg_list = sge;
	wr->num_sge = num;
	return RI_RET_SUCCESS;
}

static unsigned int verbs_flags(const struct rnic_qp *qp, const ri_wr_t *ri, uint64_t bytes)
{
	uint32_t f = ri->wr_common.flags;

	return (f & RI_WR_SIGNALED_FLAG ? IBV_SEND_SIGNALED : 0) |
	       (f & RI_WR_SOLICITED_EVENT_FLAG ? IBV_SEND_SOLICITED : 0) |
	       (f & (RI_WR_READ_FENCE_FLAG | RI_WR_LOCAL_FENCE_FLAG) ? IBV_SEND_FENCE : 0) |
	       (f & RI_WR_INLINE_OK_FLAG && bytes <= qp->max_inline ? IBV_SEND_INLINE : 0);
}

/* ri_wc_flags_t of its completion */
static uint32_t flags_when_done(const ri_wr_common_t *ri)
{
	return (ri->flags & OPAQUE) |
	       (ri->flags & RI_WR_SOLICITED_EVENT_FLAG ? RI_WC_FLAG_SOLICITED_EVENT : 0) |
	       (ri->type == RI_WR_TYPE_SEND_INVALIDATE ? RIX_WC_FLAG_SEND_INVALIDATE : 0);
}

static ri_api_return_t post_error(ri_err_data_t *err_data, int err)
{
	if (err == ENOMEM)
		return ri_answer(err_data, RI_RET_QP_CAPACITY_EXCEEDED);
	return ri_failed(err_data, err, RI_RET_FAIL);
}

/* Posts a WR of which @wr has the fields of the opcode */
static int post_filled(struct rnic_qp *qp, const ri_wr_t *ri, struct ibv_send_wr *wr,
		       uint64_t bytes)
{
	const struct rnic_slot slot = {
		.id = ri->wr_common.id,
		.flags = flags_when_done(&ri->wr_common),
		.type = types[ri->wr_common.type].done,
		.bytes = bytes,
	};
	struct ibv_send_wr *bad;
	int err = ENOMEM;

	wr->opcode = types[ri->wr_common.type].opcode;
	wr->send_flags = verbs_flags(qp, ri, bytes);
	pthread_mutex_lock(&qp->sq.lock);
	wr->wr_id = RI_SEND_ID | qp->sq.head;
	if (!ri_ring_full(&qp->sq))
		err = ibv_post_send(qp->qp, wr, &bad);
	if (!err)
		ri_ring_take(&qp->sq, &slot);
	pthread_mutex_unlock(&qp->sq.lock);
	return err;
}

static ri_api_return_t post_bind(ri_rnic_handle_t rnic, struct rnic_qp *qp, const ri_wr_t *ri,
				 ri_err_data_t *err_data)
{
	const ri_mw_handle_t window = ri->wr_bind.mw_handle;
	const ri_mr_handle_t region = ri->wr_bind.mr_handle;
	struct ibv_send_wr wr = { 0 };
	struct rnic_mr *mr = NULL;
	ri_api_return_t ret;
	struct rnic_mw *mw = ri_enter_more(rnic, RI_KIND_MW, window, &ret);
	int err = 0;

	if (mw)
		mr = ri_enter_more(rnic, RI_KIND_MR, region, &ret);
	if (mr) {
		ret = fill_bind(mw, mr, &ri->wr_bind, &wr);
		err = ret ? 0 : post_filled(qp, ri, &wr, 0);
		handle_leave(region);
	}
	if (mw)
		handle_leave(window);
	return err ? post_error(err_data, err) : ri_answer(err_data, ret);
}

/* Return: the code if a local invalidate is of no region, or of no window */
static ri_api_return_t check_invalidate(ri_rnic_handle_t rnic, const ri_wr_local_invalidate_t *li)
{
	const bool window = li->type == RI_WR_TYPE_LOCAL_INVALIDATE_MW;
	const ri_handle_t handle = window ? li->mrw_handle.mw_handle : li->mrw_handle.mr_handle;
	ri_api_return_t ret;

	if (ri_enter_more(rnic, window ? RI_KIND_MW : RI_KIND_MR, handle, &ret))
		handle_leave(handle);
	return ret;
}

static bool is_invalidate(ri_wr_type_t type)
{
	return type == RI_WR_TYPE_LOCAL_INVALIDATE_MR || type == RI_WR_TYPE_LOCAL_INVALIDATE_MW;
}

static ri_api_return_t post_one(ri_rnic_handle_t rnic, struct rnic_qp *qp, const ri_wr_t *ri,
				ri_err_data_t *err_data)
{
	ri_api_return_t ret = ri_check_wr(&ri->wr_common);
	struct ibv_send_wr wr = { 0 };
	struct ibv_sge sge[MAX_SGE];
	uint64_t bytes = 0;
	int err;

	if (!ret && ri->wr_common.type == RI_WR_TYPE_BIND)
		return post_bind(rnic, qp, ri, err_data);
	if (!ret && is_invalidate(ri->wr_common.type))
		ret = check_invalidate(rnic, &ri->wr_li);
	if (!ret)
		ret = fill(qp, ri, &wr, sge, &bytes);
	if (ret)
		return ri_answer(err_data, ret);
	err = post_filled(qp, ri, &wr, bytes);
	return err ? post_error(err_data, err) : ri_done(err_data);
}

/* Nothing is posted so far (L3089, L3286). Return: how many there are to be */
static uint_t begin_posts(uint_t *num_wrs)
{
	const uint_t num = num_wrs ? *num_wrs : 0;

	if (num_wrs)
		*num_wrs = 0;
	return num;
}

/**
 * ri_do_qp_postsq() - Post send WRs
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic
 * @wr: @num_wrs WRs, in order
 * @num_wrs: set to the number posted; an error belongs to the next WR
 * @err_data: may be NULL
 *
 * Context: any thread.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_WR_INVALID_TYPE, RI_RET_WR_INVALID_FLAGS,
 * RI_RET_RNIC_SG_LIMIT_EXCEEDED, RI_RET_QP_CAPACITY_EXCEEDED, RI_RET_MW_INVALID_HANDLE,
 * RI_RET_MR_INVALID_HANDLE, RI_RET_INVALID_WINDOW_TYPE, RI_RET_MEM_INVALID_RTAG,
 * RI_RET_MEM_INVALID_LTAG, RI_RET_NO_PERMISSION, RI_RET_RNIC_ATOMICS_UNSUPPORTED,
 * RI_RET_WR_SG_INVALID_FORMAT; RI_RET_OP_UNSUPPORTED: verbs of this device has no such WR
 */
ri_api_return_t ri_do_qp_postsq(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_t *wr,
				uint_t *num_wrs, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_qp *q = ri_enter(rnic, RI_KIND_QP, qp, &ret);
	uint_t num, i;
	KEEP_ERRNO;

	num = begin_posts(num_wrs);
	if (!q)
		return ri_answer(err_data, ret);
	if (!wr || !num_wrs)
		ret = RI_RET_INVALID_PARAMETER;
	ri_answer(err_data, ret);
	for (i = 0; i < num && !ret; i++) {
		ret = post_one(rnic, q, &wr[i], err_data);
		*num_wrs += !ret;
	}
	handle_leave(qp);
	return ret;
}

/* One WR, for the calls that take its fields; @type has to be one of @first and @second */
static ri_api_return_t post_single(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_t *wr,
				   ri_wr_type_t first, ri_wr_type_t second, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_qp *q = ri_enter(rnic, RI_KIND_QP, qp, &ret);
	KEEP_ERRNO;

	if (!q)
		return ri_answer(err_data, ret);
	ret = ri_check_single(wr->wr_common.type, first, second);
	ret = ret ? ri_answer(err_data, ret) : post_one(rnic, q, wr, err_data);
	handle_leave(qp);
	return ret;
}

#include "rnicpi/shared/singles.h"

/* --- receives --- */

/* verbs takes no more bytes in a list than a message has */
static ri_api_return_t check_recv(const ri_wr_recv_t *wr, uint32_t max_sge)
{
	ri_api_return_t ret = ri_check_recv(wr, at_most(max_sge));
	uint64_t bytes = 0;
	uint_t i;

	for (i = 0; !ret && i < wr->num_sgls; i++)
		bytes += wr->sg_list[i].len;
	return !ret && bytes > UINT32_MAX ? RI_RET_WR_SG_INVALID_FORMAT : ret;
}

static struct rnic_slot slot_of(const ri_wr_recv_t *ri)
{
	return (struct rnic_slot){
		.id = ri->id,
		.flags = ri->flags & OPAQUE,
		.type = RI_WC_TYPE_DATA_RECEIVED,
	};
}

static int recv_one(struct rnic_qp *qp, const ri_wr_recv_t *ri)
{
	struct ibv_recv_wr wr = { 0 }, *bad;
	const struct rnic_slot slot = slot_of(ri);
	struct ibv_sge sge[MAX_SGE];
	int err = ENOMEM;

	copy_sges(sge, ri->sg_list, ri->num_sgls);
	wr.sg_list = sge;
	wr.num_sge = ri->num_sgls;
	pthread_mutex_lock(&qp->rq.lock);
	wr.wr_id = qp->rq.head;
	if (!ri_ring_full(&qp->rq))
		err = ibv_post_recv(qp->qp, &wr, &bad);
	if (!err)
		ri_ring_take(&qp->rq, &slot);
	pthread_mutex_unlock(&qp->rq.lock);
	return err;
}

/**
 * ri_do_qp_postrq() - Post receive WRs to a QP
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic, without an SRQ
 * @wr: @num_wrs WRs, in order
 * @num_wrs: set to the number posted
 * @err_data: may be NULL
 *
 * Context: any thread.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_QP_TIED_TO_SRQ, RI_RET_WR_INVALID_FLAGS,
 * RI_RET_RNIC_SG_LIMIT_EXCEEDED, RI_RET_WR_SG_INVALID_FORMAT, RI_RET_QP_CAPACITY_EXCEEDED
 */
ri_api_return_t ri_do_qp_postrq(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_recv_t *wr,
				uint_t *num_wrs, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_qp *q = ri_enter(rnic, RI_KIND_QP, qp, &ret);
	uint_t num, i;
	int err = 0;
	KEEP_ERRNO;

	num = begin_posts(num_wrs);
	if (!q)
		return ri_answer(err_data, ret);
	if (!wr || !num_wrs)
		ret = RI_RET_INVALID_PARAMETER;
	else if (q->srq)
		ret = RI_RET_QP_TIED_TO_SRQ;
	for (i = 0; i < num && !ret && !err; i++) {
		ret = check_recv(&wr[i], q->max_recv_sge);
		err = ret ? 0 : recv_one(q, &wr[i]);
		*num_wrs += !ret && !err;
	}
	handle_leave(qp);
	return err ? post_error(err_data, err) : ri_answer(err_data, ret);
}

static int srq_recv_one(struct rnic_srq *srq, const ri_wr_recv_t *ri)
{
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_sge sge[MAX_SGE];
	struct rnic_slot *slot;
	uint32_t next;
	int err = ENOMEM;

	copy_sges(sge, ri->sg_list, ri->num_sgls);
	wr.sg_list = sge;
	wr.num_sge = ri->num_sgls;
	pthread_mutex_lock(&srq->ring.lock);
	slot = ri_srq_ring_next(&srq->ring, &wr.wr_id);
	if (slot) {
		next = slot->next;
		*slot = slot_of(ri);
		slot->next = next;
		err = ibv_post_srq_recv(srq->srq, &wr, &bad);
		if (!err)
			srq->ring.head = next;
	}
	pthread_mutex_unlock(&srq->ring.lock);
	return err;
}

/**
 * ri_do_srq_post() - Post receive WRs to an SRQ
 * @rnic: an RNIC handle
 * @srq_handle: an SRQ of @rnic
 * @wr: @num_wrs WRs
 * @num_wrs: set to the number posted
 * @err_data: may be NULL
 *
 * Context: any thread.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_SRQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_WR_INVALID_FLAGS, RI_RET_RNIC_SG_LIMIT_EXCEEDED,
 * RI_RET_WR_SG_INVALID_FORMAT, RI_RET_QP_CAPACITY_EXCEEDED
 */
ri_api_return_t ri_do_srq_post(ri_rnic_handle_t rnic, ri_srq_handle_t srq_handle, ri_wr_recv_t *wr,
			       uint_t *num_wrs, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_srq *srq = ri_enter(rnic, RI_KIND_SRQ, srq_handle, &ret);
	uint_t num, i;
	int err = 0;
	KEEP_ERRNO;

	num = begin_posts(num_wrs);
	if (!srq)
		return ri_answer(err_data, ret);
	if (!wr || !num_wrs)
		ret = RI_RET_INVALID_PARAMETER;
	for (i = 0; i < num && !ret && !err; i++) {
		ret = check_recv(&wr[i], srq->max_sge);
		err = ret ? 0 : srq_recv_one(srq, &wr[i]);
		*num_wrs += !ret && !err;
	}
	handle_leave(srq_handle);
	return err ? post_error(err_data, err) : ri_answer(err_data, ret);
}
