// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Send WRs. */

#include "memory/tpt.h"
#include "rnicpi/kernel/rnic.h"
#include "rnicpi/shared/memory.h"
#include "srnic.h"

static const u8 opcodes[] = {
	[RI_WR_TYPE_SEND] = SRNIC_OP_SEND,
	[RI_WR_TYPE_SEND_INVALIDATE] = SRNIC_OP_SEND_INV,
	[RI_WR_TYPE_RDMA_WRITE] = SRNIC_OP_WRITE,
	[RI_WR_TYPE_RDMA_READ] = SRNIC_OP_READ,
	[RI_WR_TYPE_BIND] = SRNIC_OP_BIND_MW,
	[RI_WR_TYPE_FAST_REGISTER] = SRNIC_OP_REG_MR,
	[RI_WR_TYPE_LOCAL_INVALIDATE_MR] = SRNIC_OP_LOCAL_INV,
	[RI_WR_TYPE_LOCAL_INVALIDATE_MW] = SRNIC_OP_LOCAL_INV,
	[RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE] = SRNIC_OP_READ_INV,
};

/**
 * struct wqe - a WR in the device's format
 * @sqe: its header
 * @sge: its SGEs
 * @data: its inline data
 */
struct wqe {
	struct srnic_sqe sqe;
	union {
		struct srnic_sge sge[SRNIC_MAX_SGE];
		u8 data[SRNIC_MAX_INLINE];
	};
};

static void copy_inline(struct wqe *w, const ri_data_seg_t *list, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++) {
		memcpy(w->data + w->sqe.inline_len, (void *)(uintptr_t)list[i].addr.vaddr,
		       list[i].len);
		w->sqe.inline_len += list[i].len;
	}
	w->sqe.flags |= SRNIC_SQE_INLINE;
}

/* With STag 0 the consumer passes physical addresses, and the device takes kernel addresses */
static u64 address_of(const ri_data_seg_t *seg)
{
	if (seg->tag.ltag || !seg->len)
		return seg->addr.vaddr;
	return (uintptr_t)phys_to_virt(seg->addr.paddr);
}

static bool is_physical(const ri_data_seg_t *list, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++)
		if (!list[i].tag.ltag && list[i].len)
			return true;
	return false;
}

static u64 bytes_of(const ri_data_seg_t *list, u32 num)
{
	u64 bytes = 0;

	while (num--)
		bytes += list++->len;
	return bytes;
}

/* INLINE_OK is a hint. Data of STag 0 has no virtual address */
static bool may_inline(const struct rnic_qp *qp, u32 flags, const ri_data_seg_t *list, u32 num)
{
	return flags & RI_WR_INLINE_OK_FLAG && bytes_of(list, num) <= qp->max_inline &&
	       !is_physical(list, num);
}

static ri_api_return_t fill_data(const struct rnic_qp *qp, u32 flags, const ri_data_seg_t *list,
				 u32 num, struct wqe *w)
{
	ri_api_return_t ret = ri_check_list(list, num, w->sqe.opcode == SRNIC_OP_WRITE ?
					    qp->attr.sq_max_sges_rdmaw : qp->attr.sq_max_sges);
	u32 i;

	if (ret)
		return ret;
	if (may_inline(qp, flags, list, num)) {
		copy_inline(w, list, num);
		return RI_RET_SUCCESS;
	}
	w->sqe.num_sge = num;
	for (i = 0; i < num; i++)
		w->sge[i] = (struct srnic_sge){
			.addr = address_of(&list[i]),
			.length = list[i].len,
			.lkey = list[i].tag.ltag,
		};
	return RI_RET_SUCCESS;
}

static ri_api_return_t fill_read(const struct rnic_qp *qp, const ri_wr_rdma_read_t *wr,
				 struct wqe *w)
{
	if (wr->type == RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE && wr->num_sgls > 1)
		return RI_RET_WR_SG_INVALID_FORMAT;
	w->sqe.rkey = wr->rtag;
	w->sqe.remote_addr = wr->rdma_addr;
	return fill_data(qp, 0, wr->sg_list, wr->num_sgls, w);
}

static ri_api_return_t fill_bind(const struct rnic_qp *qp, ri_wr_bind_t *wr, struct wqe *w)
{
	struct rnic_obj *mw = ri_look_up(RI_KIND_MW, wr->mw_handle);
	struct rnic_obj *mr = ri_look_up(RI_KIND_MR, wr->mr_handle);

	if (!mw || mw->rnic != qp->obj.rnic)
		return RI_RET_MW_INVALID_HANDLE;
	if (!mr || mr->rnic != qp->obj.rnic)
		return RI_RET_MR_INVALID_HANDLE;
	if (!wr->length)
		return RI_RET_INVALID_WINDOW_TYPE;
	if ((wr->rtag ^ to_mw(mw)->mw->rkey) >> SRNIC_STAG_KEY_BITS)
		return RI_RET_MEM_INVALID_RTAG;
	/* its key is the consumer's (RI-47) */
	w->sqe.stag = wr->rtag;
	w->sqe.rkey = wr->ltag;
	w->sqe.arg[0] = wr->vaddr;
	w->sqe.arg[1] = wr->length;
	w->sqe.arg[2] = ri_access_of(wr->mem_attr) & ~(IB_ACCESS_MW_BIND | IB_ACCESS_LOCAL_WRITE);
	return RI_RET_SUCCESS;
}

/* The WR's status reports an invalid list; the consumer chooses the STag's key (RI-47) */
static ri_api_return_t fill_fmr(const struct rnic_qp *qp, const ri_wr_fmr_t *wr, struct wqe *w)
{
	const ri_mr_reg_attr_t *common = &wr->attr.common;
	struct rnic_obj *obj = ri_look_up(RI_KIND_MR, wr->mr_handle);
	struct ib_mr *mr;

	if (!obj || obj->rnic != qp->obj.rnic)
		return RI_RET_MR_INVALID_HANDLE;
	/* ri_mr_rereg() may replace this region, and keeps the old one until this call is over */
	mr = READ_ONCE(to_mr(obj)->mr);
	if ((wr->ltag ^ mr->lkey) >> SRNIC_STAG_KEY_BITS)
		return RI_RET_MEM_INVALID_LTAG;
	/* without the privilege the WR fails: do not replace a list that may be in use */
	if (qp->attr.enable_stag0_fastreg)
		srnic_native_mr_refuse(mr, ri_phys_list(obj->rnic->vp, mr, &wr->attr));
	w->sqe.stag = wr->ltag;
	w->sqe.arg[0] = common->mem_attr & RI_MEM_FLAGS_ZBVA ? 0 : common->va;
	w->sqe.arg[1] = common->length;
	w->sqe.arg[2] = ri_access_of(common->mem_attr);
	return RI_RET_SUCCESS;
}

static ri_api_return_t fill_invalidate(const struct rnic_qp *qp,
				       const ri_wr_local_invalidate_t *wr, struct wqe *w)
{
	bool window = wr->type == RI_WR_TYPE_LOCAL_INVALIDATE_MW;
	struct rnic_obj *obj = window ? ri_look_up(RI_KIND_MW, wr->mrw_handle.mw_handle) :
					ri_look_up(RI_KIND_MR, wr->mrw_handle.mr_handle);

	if (!obj || obj->rnic != qp->obj.rnic)
		return window ? RI_RET_MW_INVALID_HANDLE : RI_RET_MR_INVALID_HANDLE;
	w->sqe.stag = window ? wr->rtag : wr->ltag;
	return RI_RET_SUCCESS;
}

/* Fills in the fields of the opcode */
static ri_api_return_t fill(const struct rnic_qp *qp, ri_wr_t *ri, struct wqe *w)
{
	switch (ri->wr_common.type) {
	case RI_WR_TYPE_SEND_INVALIDATE:
		w->sqe.stag = ri->wr_send.rtag;
		fallthrough;
	case RI_WR_TYPE_SEND:
		return fill_data(qp, ri->wr_send.flags, ri->wr_send.sg_list,
				 ri->wr_send.num_sgls, w);
	case RI_WR_TYPE_RDMA_WRITE:
		w->sqe.rkey = ri->wr_rdma_write.rtag;
		w->sqe.remote_addr = ri->wr_rdma_write.rdma_addr;
		return fill_data(qp, ri->wr_rdma_write.flags, ri->wr_rdma_write.sg_list,
				 ri->wr_rdma_write.num_sgls, w);
	case RI_WR_TYPE_RDMA_READ:
	case RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE:
		return fill_read(qp, &ri->wr_rdma_read, w);
	case RI_WR_TYPE_BIND:
		return fill_bind(qp, &ri->wr_bind, w);
	case RI_WR_TYPE_FAST_REGISTER:
		return fill_fmr(qp, &ri->wr_fmr, w);
	default:
		return fill_invalidate(qp, &ri->wr_li, w);
	}
}

static void begin(struct wqe *w, const ri_wr_t *ri)
{
	u32 f = ri->wr_common.flags;

	memset(&w->sqe, 0, sizeof(w->sqe));
	w->sqe.wr_id = ri->wr_common.id;
	w->sqe.opcode = opcodes[ri->wr_common.type];
	w->sqe.flags = (f & RI_WR_SIGNALED_FLAG ? SRNIC_SQE_SIGNALED : 0) |
		       (f & RI_WR_SOLICITED_EVENT_FLAG ? SRNIC_SQE_SOLICITED : 0) |
		       (f & (RI_WR_READ_FENCE_FLAG | RI_WR_LOCAL_FENCE_FLAG) ?
			SRNIC_SQE_FENCE : 0);
}

/* Under RCU */
static ri_api_return_t post_one(struct rnic_qp *qp, ri_wr_t *ri, ri_err_data_t *err_data)
{
	ri_api_return_t ret = ri_check_wr(&ri->wr_common);
	struct wqe w;
	int err;

	if (ret)
		return ri_answer(err_data, ret);
	begin(&w, ri);
	ret = fill(qp, ri, &w);
	if (ret)
		return ri_answer(err_data, ret);
	err = srnic_native_post_send(qp->qp, &w.sqe, w.data);
	if (err == -ENOMEM)
		return ri_answer(err_data, RI_RET_QP_CAPACITY_EXCEEDED);
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	return ri_done(err_data);
}

/**
 * ri_do_qp_postsq - post send WRs
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic
 * @wr: @num_wrs WRs, in order
 * @num_wrs: set to the number posted; an error belongs to the next WR
 * @err_data: may be NULL
 *
 * Context: any. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_WR_INVALID_TYPE, RI_RET_WR_INVALID_FLAGS,
 * RI_RET_WR_SG_INVALID_FORMAT, RI_RET_RNIC_SG_LIMIT_EXCEEDED,
 * RI_RET_QP_CAPACITY_EXCEEDED, RI_RET_MW_INVALID_HANDLE, RI_RET_MR_INVALID_HANDLE,
 * RI_RET_INVALID_WINDOW_TYPE, RI_RET_MEM_INVALID_LTAG, RI_RET_RNIC_ATOMICS_UNSUPPORTED
 */
ri_api_return_t ri_do_qp_postsq(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_t *wr,
				uint_t *num_wrs, ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;
	uint_t i, num;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_QP, qp, &ret);
	if (!ret && (!wr || !num_wrs))
		ret = RI_RET_INVALID_PARAMETER;
	ri_answer(err_data, ret);
	num = ret ? 0 : *num_wrs;
	for (i = 0; i < num; i++) {
		ret = post_one(to_qp(obj), &wr[i], err_data);
		if (ret)
			break;
	}
	if (num_wrs)
		*num_wrs = i;
	rcu_read_unlock();
	return ret;
}

/* One WR, for the calls that take its fields; @type has to be one of @first and @second */
static ri_api_return_t post_single(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_t *wr,
				   ri_wr_type_t first, ri_wr_type_t second, ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_QP, qp, &ret);
	if (!ret)
		ret = ri_check_single(wr->wr_common.type, first, second);
	ret = ret ? ri_answer(err_data, ret) : post_one(to_qp(obj), wr, err_data);
	rcu_read_unlock();
	return ret;
}

#include "rnicpi/shared/singles.h"

/** ri_do_qp_post_fmr - post one fast-register; Context and Return: as ri_do_qp_postsq() */
ri_api_return_t ri_do_qp_post_fmr(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_wr_type_t type,
				  ri_wr_flags_t flags, ri_wr_id_t id, ri_mr_reg_phys_attr_t *attr,
				  ri_ltag_t ltag, ri_rtag_t rtag, ri_mr_handle_t mr_handle,
				  ri_err_data_t *err_data)
{
	ri_wr_t wr = { .wr_fmr = { .type = type, .flags = flags, .id = id, .ltag = ltag,
				   .rtag = rtag, .mr_handle = mr_handle } };

	if (!attr)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	wr.wr_fmr.attr = *attr;
	return post_single(rnic, qp, &wr, RI_WR_TYPE_FAST_REGISTER, RI_WR_TYPE_FAST_REGISTER,
			   err_data);
}
