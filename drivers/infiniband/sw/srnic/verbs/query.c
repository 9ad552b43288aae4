// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Query methods of the RDMAC verbs, for which Linux verbs have no call, or one that reports
 * less. The attributes of each are the handle of the object, and the response.
 */

#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include "memory/mr.h"
#include "memory/mw.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "srnic.h"
#include "verbs/query.h"

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

static_assert(sizeof(struct srnic_uresp_dev_query) == 128);
static_assert(sizeof(struct srnic_uresp_qp_query) == 56);
static_assert(sizeof(struct srnic_uresp_cq_query) == 16);
static_assert(sizeof(struct srnic_uresp_srq_query) == 24);
static_assert(sizeof(struct srnic_uresp_mr_query) == 40);
static_assert(sizeof(struct srnic_uresp_mw_query) == 40);

/* The core uses the numbers of the ABI */
static_assert(SRNIC_QP_ENABLE_READ == SRNIC_QP_READ_ENABLED);
static_assert(SRNIC_QP_ENABLE_WRITE == SRNIC_QP_WRITE_ENABLED);
static_assert(SRNIC_QP_ENABLE_BIND == SRNIC_QP_BIND_ENABLED);
static_assert(SRNIC_QP_ENABLE_ATOMIC == SRNIC_QP_ATOMIC_ENABLED);
static_assert(SRNIC_QP_ENABLE_FLUSH == SRNIC_QP_FLUSH_ENABLED);
static_assert((int)SRNIC_QP_STATE_RTS == SRNIC_QP_RTS);
static_assert((int)SRNIC_QP_STATE_CLOSING == SRNIC_QP_CLOSING);
static_assert((int)SRNIC_QP_STATE_TERMINATE == SRNIC_QP_TERMINATE);
static_assert((int)SRNIC_QP_STATE_ERROR == SRNIC_QP_ERROR);
static_assert(SRNIC_STAG_LOCAL_READ == SRNIC_LOCAL_READ);
static_assert(SRNIC_STAG_LOCAL_WRITE == SRNIC_LOCAL_WRITE);
static_assert(SRNIC_STAG_REMOTE_READ == SRNIC_REMOTE_READ);
static_assert(SRNIC_STAG_REMOTE_WRITE == SRNIC_REMOTE_WRITE);
static_assert(SRNIC_STAG_REMOTE_ATOMIC == SRNIC_REMOTE_ATOMIC);
static_assert(SRNIC_STAG_BINDABLE == SRNIC_BINDABLE);
static_assert(SRNIC_STAG_ZERO_BASED == SRNIC_ZERO_BASED);
static_assert(SRNIC_STAG_FLUSH_GLOBAL == SRNIC_FLUSH_GLOBAL);

#define ANSWER(attrs, resp) \
	uverbs_copy_to_struct_or_zero(attrs, SRNIC_ATTR_QUERY_RESP, &(resp), sizeof(resp))

/**
 * srnic_query_rnic - attributes of the device: Query RNIC (RN-07 to RN-16)
 * @ibdev: srnic, alive
 * @is: filled in
 *
 * An attribute that verbs report, too, has the same value there. Context: process.
 */
void srnic_query_rnic(struct ib_device *ibdev, struct srnic_uresp_dev_query *is)
{
	struct srnic_policy policy = srnic_policy_get(&to_srnic_dev(ibdev)->policy);
	const struct ib_device_attr *attr = &ibdev->attrs;

	*is = (struct srnic_uresp_dev_query){
		.flags = SRNIC_DEV_CAN_MODIFY_IRD | SRNIC_DEV_CAN_MODIFY_ORD |
			 SRNIC_DEV_CQ_OVERFLOW_DETECTED | SRNIC_DEV_TAKES_SOCKETS |
			 SRNIC_DEV_SRQ_BY_ARRIVAL | SRNIC_DEV_SRQ | SRNIC_DEV_WRITE_SGES |
			 SRNIC_DEV_RDMAC | SRNIC_DEV_CAN_RESIZE_QP,
		.max_ird = policy.mpa.max_ird,
		.max_ord = policy.mpa.max_ord,
		.max_send_sge = attr->max_send_sge,
		.max_write_sge = attr->max_send_sge,
		.max_read_sge = attr->max_sge_rd,
		.max_recv_sge = attr->max_recv_sge,
		.max_inline = SRNIC_MAX_INLINE,
		.max_fast_reg_blocks = attr->max_fast_reg_page_list_len,
		.page_sizes = attr->page_size_cap,
		.stag_key_bits = SRNIC_STAG_KEY_BITS,
		.vendor_id = attr->vendor_id,
		.fw_ver = attr->fw_ver,
		.vendor_part_id = attr->vendor_part_id,
		.hw_ver = attr->hw_ver,
		.max_qp = attr->max_qp,
		.max_qp_wr = attr->max_qp_wr,
		.max_srq = attr->max_srq,
		.max_srq_wr = attr->max_srq_wr,
		.max_cq = attr->max_cq,
		.max_cqe = attr->max_cqe,
		.max_cq_handlers = ibdev->num_comp_vectors,
		.max_mr = attr->max_mr,
		.max_mw = attr->max_mw,
		.max_pd = attr->max_pd,
	};
	if (policy.mpa.crc == MPA_CRC_REQUIRED)
		is->flags |= SRNIC_DEV_CRC_REQUIRED;
}

static int UVERBS_HANDLER(SRNIC_METHOD_DEV_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct srnic_uresp_dev_query resp;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	srnic_query_rnic(uctx->device, &resp);
	return ANSWER(attrs, resp);
}

/* Flags of the current stream, or of the last one */
static u32 stream_flags(const struct srnic_qp *qp)
{
	u32 flags = 0;

	if (READ_ONCE(qp->initiator))
		flags |= SRNIC_QP_QUERY_INITIATOR;
	if (READ_ONCE(qp->mpa.crc))
		flags |= SRNIC_QP_QUERY_CRC;
	if (READ_ONCE(qp->mpa.tx_markers))
		flags |= SRNIC_QP_QUERY_TX_MARKERS;
	if (READ_ONCE(qp->mpa.rx_markers))
		flags |= SRNIC_QP_QUERY_RX_MARKERS;
	if (READ_ONCE(qp->version) == RDMAP_RDMAC)
		flags |= SRNIC_QP_QUERY_RDMAC;
	return flags;
}

/* A consistent snapshot of the fields that may change */
static void fill_qp_state(struct srnic_uresp_qp_query *resp, struct srnic_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	resp->state = qp->state;
	resp->enables = qp->enables;
	resp->ird = qp->ird;
	resp->ord = qp->ord;
	resp->windows = qp->windows;
	if (test_bit(SRNIC_QPF_ATTACHED, &qp->flags))
		resp->flags |= SRNIC_QP_QUERY_STREAM;
	spin_unlock_irqrestore(&qp->lock, flags);
	if (resp->state != SRNIC_QP_IDLE)
		resp->flags |= stream_flags(qp);
}

/* QP-13 */
static int UVERBS_HANDLER(SRNIC_METHOD_QP_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QUERY_HANDLE);
	struct srnic_uresp_qp_query resp = { };
	struct srnic_wq_use use;
	struct srnic_qp *qp;

	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	qp = to_srnic_qp(ibqp);
	resp.qpn = ibqp->qp_num;
	srnic_wq_query(qp, &use);
	resp.sq_entries = use.sq_size;
	resp.rq_entries = use.rq_size;
	resp.max_send_sge = qp->max_send_sge;
	resp.max_recv_sge = qp->max_recv_sge;
	resp.max_write_sge = qp->max_write_sge;
	resp.max_inline = qp->max_inline;
	if (qp->srq)
		resp.flags |= SRNIC_QP_QUERY_SRQ;
	if (READ_ONCE(qp->rq_armed))
		resp.flags |= SRNIC_QP_QUERY_RQ_ARMED;
	resp.rq_limit = READ_ONCE(qp->rq_limit);
	fill_qp_state(&resp, qp);
	return ANSWER(attrs, resp);
}

/* Clamped: the program may have written any value into the ring */
static u32 cq_waiting(const struct srnic_cq *cq)
{
	return min(cq->producer - srnic_cq_consumer(cq), cq->ring.entries);
}

/* CQ-05: whether this CQ has overflowed */
static int UVERBS_HANDLER(SRNIC_METHOD_CQ_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_cq *ibcq = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QUERY_HANDLE);
	struct srnic_uresp_cq_query resp = { };
	struct srnic_cq *cq;
	unsigned long flags;

	if (IS_ERR(ibcq))
		return PTR_ERR(ibcq);
	cq = to_srnic_cq(ibcq);
	flags = srnic_lock(&cq->lock);
	resp.entries = cq->ring.entries;
	resp.waiting = cq_waiting(cq);
	if (cq->overflowed)
		resp.flags |= SRNIC_CQ_QUERY_OVERFLOWED;
	resp.cqn = ibcq->res.id;
	srnic_unlock(&cq->lock, flags);
	return ANSWER(attrs, resp);
}

/* SR-07 */
static int UVERBS_HANDLER(SRNIC_METHOD_SRQ_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *ibsrq = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QUERY_HANDLE);
	struct srnic_uresp_srq_query resp = { };
	struct srnic_srq *srq;
	unsigned long flags;

	if (IS_ERR(ibsrq))
		return PTR_ERR(ibsrq);
	srq = to_srnic_srq(ibsrq);
	flags = srnic_lock(&srq->lock);
	resp.max_wr = srq->max_wr;
	resp.max_sge = srq->max_sge;
	resp.limit = srq->limit;
	resp.srqn = ibsrq->res.id;
	if (srq->armed)
		resp.flags |= SRNIC_SRQ_QUERY_ARMED;
	if (srq->broken)
		resp.flags |= SRNIC_SRQ_QUERY_BROKEN;
	srnic_unlock(&srq->lock, flags);
	return ANSWER(attrs, resp);
}

/* Rights of the TPT that the RDMAC verbs have */
static u32 stag_rights(const struct srnic_tpte *tpte)
{
	return tpte->rights & SRNIC_QUERY_RIGHTS;
}

/* MR-20 */
static int UVERBS_HANDLER(SRNIC_METHOD_MR_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_mr *ibmr = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QUERY_HANDLE);
	struct srnic_uresp_mr_query resp = { };
	struct srnic_tpte *tpte;

	if (IS_ERR(ibmr))
		return PTR_ERR(ibmr);
	tpte = &to_srnic_mr(ibmr)->tpte;
	spin_lock_bh(&tpte->lock);
	resp.stag = tpte->stag;
	resp.flags = tpte->valid ? SRNIC_STAG_VALID : 0;
	if (tpte->shared)
		resp.flags |= SRNIC_STAG_SHARED;
	resp.rights = stag_rights(tpte);
	resp.windows = tpte->windows;
	resp.base = tpte->base;
	resp.length = tpte->length;
	if (tpte->pbl) {
		resp.blocks = tpte->pbl->count;
		resp.block_shift = tpte->pbl->shift;
	}
	spin_unlock_bh(&tpte->lock);
	return ANSWER(attrs, resp);
}

/* The window's entry is locked */
static void fill_binding(struct srnic_uresp_mw_query *resp, const struct srnic_window *window)
{
	const struct srnic_tpte *tpte = &window->tpte;

	if (!tpte->valid)
		return;
	resp->flags = SRNIC_STAG_VALID;
	resp->rights = stag_rights(tpte);
	resp->qpn = tpte->qpn;
	resp->base = tpte->base;
	resp->length = tpte->length;
	if (window->region)
		resp->region = READ_ONCE(window->region->stag);
}

/* MW-18 */
static int UVERBS_HANDLER(SRNIC_METHOD_MW_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_mw *ibmw = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QUERY_HANDLE);
	struct srnic_uresp_mw_query resp = { };
	struct srnic_window *window;

	if (IS_ERR(ibmw))
		return PTR_ERR(ibmw);
	window = to_srnic_mw(ibmw)->window;
	spin_lock_bh(&window->tpte.lock);
	resp.stag = window->tpte.stag;
	resp.type = window->tpte.type == SRNIC_STAG_WINDOW ? 2 : 1;
	fill_binding(&resp, window);
	spin_unlock_bh(&window->tpte.lock);
	return ANSWER(attrs, resp);
}

#define QUERY_RESP(_resp, _last) \
	UVERBS_ATTR_PTR_OUT(SRNIC_ATTR_QUERY_RESP, \
			    UVERBS_ATTR_STRUCT(struct srnic_uresp_##_resp##_query, _last), \
			    UA_MANDATORY)
#define QUERY_HANDLE(_object) \
	UVERBS_ATTR_IDR(SRNIC_ATTR_QUERY_HANDLE, _object, UVERBS_ACCESS_READ, UA_MANDATORY)

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_DEV_QUERY, QUERY_RESP(dev, vendor_id));
DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_QP_QUERY, QUERY_HANDLE(UVERBS_OBJECT_QP),
			    QUERY_RESP(qp, rq_limit));
DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_CQ_QUERY, QUERY_HANDLE(UVERBS_OBJECT_CQ),
			    QUERY_RESP(cq, cqn));
DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_SRQ_QUERY, QUERY_HANDLE(UVERBS_OBJECT_SRQ),
			    QUERY_RESP(srq, reserved));
DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_MR_QUERY, QUERY_HANDLE(UVERBS_OBJECT_MR),
			    QUERY_RESP(mr, block_shift));
DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_MW_QUERY, QUERY_HANDLE(UVERBS_OBJECT_MW),
			    QUERY_RESP(mw, length));

ADD_UVERBS_METHODS(srnic_dev_query_object, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(SRNIC_METHOD_DEV_QUERY));
ADD_UVERBS_METHODS(srnic_qp_query_object, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(SRNIC_METHOD_QP_QUERY));
ADD_UVERBS_METHODS(srnic_cq_query_object, UVERBS_OBJECT_CQ,
		   &UVERBS_METHOD(SRNIC_METHOD_CQ_QUERY));
ADD_UVERBS_METHODS(srnic_srq_query_object, UVERBS_OBJECT_SRQ,
		   &UVERBS_METHOD(SRNIC_METHOD_SRQ_QUERY));
ADD_UVERBS_METHODS(srnic_mr_query_object, UVERBS_OBJECT_MR,
		   &UVERBS_METHOD(SRNIC_METHOD_MR_QUERY));
ADD_UVERBS_METHODS(srnic_mw_query_object, UVERBS_OBJECT_MW,
		   &UVERBS_METHOD(SRNIC_METHOD_MW_QUERY));

const struct uapi_definition srnic_uapi_query_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &srnic_dev_query_object),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &srnic_qp_query_object),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_CQ, &srnic_cq_query_object),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &srnic_srq_query_object),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MR, &srnic_mr_query_object),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MW, &srnic_mw_query_object),
	{ },
};
