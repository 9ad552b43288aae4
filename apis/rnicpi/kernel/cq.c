// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Completion queues. */

#include <linux/slab.h>
#include <rnicpi/rix_kernel.h>
#include "rnicpi/kernel/rnic.h"

/* Under ri_lock */
static ri_api_return_t check_new(const struct rnic *rnic, const ri_cq_attr_t *attr)
{
	if (attr->num_cqe > (u32)rnic->vp->ibdev->attrs.max_cqe)
		return RI_RET_CQ_CAPACITY_EXCEEDED;
	return attr->handler_id > rnic->vp->cq_ids ? RI_RET_CQ_INVALID_EVENT_HANDLER :
						     RI_RET_SUCCESS;
}

/* Under ri_lock */
static int cq_new(struct rnic *rnic, struct rnic_cq *cq, const ri_cq_attr_t *attr,
		  ri_os_data_t os_data)
{
	/* at least as many as requested (L2012) */
	struct ib_cq_init_attr init = { .cqe = max(attr->num_cqe, 1U) };
	int err;

	ri_cq_ready_init(cq);
	cq->handler_id = attr->handler_id;
	cq->cq = ib_create_cq(rnic->vp->ibdev, ri_cq_ready, ri_cq_event, cq, &init);
	if (IS_ERR(cq->cq))
		return PTR_ERR(cq->cq);
	err = ri_enter(&cq->obj, RI_KIND_CQ, rnic, os_data);
	if (err)
		ib_destroy_cq(cq->cq);
	return err;
}

/**
 * ri_do_cq_create - create a CQ
 * @rnic: an RNIC handle
 * @cq_attr: num_cqe: in: requested entries; out: actual number. handler_id: of
 *	     ri_cq_set_event_handler(), or 0: the CQ cannot be armed
 * @cq: the CQ
 * @vp_data: ignored
 * @os_data: returned in each completion, and passed to the handler
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_CQ_CAPACITY_EXCEEDED, RI_RET_CQ_INVALID_EVENT_HANDLER, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_cq_create(ri_rnic_handle_t rnic, ri_cq_attr_t *cq_attr, ri_cq_handle_t *cq,
				ri_vp_data_t vp_data, ri_os_data_t os_data,
				ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_RNIC_INVALID_HANDLE;
	struct rnic_obj *r;
	struct rnic_cq *c;
	int err = 0;

	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	mutex_lock(&ri_lock);
	r = ri_look_up(RI_KIND_RNIC, rnic);
	if (r)
		ret = cq_attr && cq ? check_new(to_rnic(r), cq_attr) : RI_RET_INVALID_PARAMETER;
	if (!ret)
		err = cq_new(to_rnic(r), c, cq_attr, os_data);
	if (!ret && !err) {
		*cq = c->obj.handle;
		cq_attr->num_cqe = c->cq->cqe;
	}
	mutex_unlock(&ri_lock);
	if (ret || err)
		kfree(c);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/**
 * ri_do_cq_query - query a CQ
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic
 * @cq_attr: set to the number of entries and the handler id
 * @err_data: may be NULL
 *
 * Context: any. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE,
 * RI_RET_CQ_INVALID_HANDLE, RI_RET_INVALID_PARAMETER; RI_RET_CQ_ERROR: it has overflowed
 */
ri_api_return_t ri_do_cq_query(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_cq_attr_t *cq_attr,
			       ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_CQ, cq, &ret);
	if (!ret && !cq_attr)
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && srnic_native_cq_overflowed(to_cq(obj)->cq))
		ret = RI_RET_CQ_ERROR;
	if (!ret)
		*cq_attr = (ri_cq_attr_t){
			.num_cqe = to_cq(obj)->cq->cqe,
			.handler_id = to_cq(obj)->handler_id,
		};
	rcu_read_unlock();
	return ri_answer(err_data, ret);
}

static ri_api_return_t resize(struct ib_cq *cq, ri_cq_modify_mask_t mask, ri_cq_attr_t *attr,
			      ri_err_data_t *err_data)
{
	int err;

	if (mask != RI_CQ_MODIFY_MASK_NUM_CQE || !attr || !attr->num_cqe)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	if (attr->num_cqe > (u32)cq->device->attrs.max_cqe)
		return ri_answer(err_data, RI_RET_CQ_CAPACITY_EXCEEDED);
	if (srnic_native_cq_overflowed(cq))
		return ri_answer(err_data, RI_RET_CQ_ERROR);
	err = srnic_native_cq_resize(cq, attr->num_cqe);
	if (err)
		return ri_failed(err_data, err == -EINVAL ? -EBUSY : err,
				 RI_RET_CQ_WOULD_OVERFLOW);
	attr->num_cqe = cq->cqe;
	return ri_done(err_data);
}

/**
 * ri_do_cq_modify - resize a CQ
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic
 * @mask: RI_CQ_MODIFY_MASK_NUM_CQE
 * @cq_attr: in: requested number of entries; out: actual number
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_CQ_CAPACITY_EXCEEDED, RI_RET_CQ_ERROR, RI_RET_RESOURCE_SHORTAGE;
 * RI_RET_CQ_WOULD_OVERFLOW: the CQ holds more completions
 */
ri_api_return_t ri_do_cq_modify(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_cq_modify_mask_t mask,
				ri_cq_attr_t *cq_attr, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_get(rnic, RI_KIND_CQ, cq, &ret);

	if (!obj)
		return ri_answer(err_data, ret);
	ret = resize(to_cq(obj)->cq, mask, cq_attr, err_data);
	ri_put(obj);
	return ret;
}

/**
 * ri_cq_end - end a CQ
 * @cq: without users; nobody else knows it
 *
 * Its handler is not called any more after this (RI-37). Context: takes ri_lock.
 */
void ri_cq_end(struct rnic_cq *cq)
{
	ri_cq_ready_end(cq);
	ib_destroy_cq(cq->cq);
	ri_upcall_end(cq->obj.rnic->vp, &cq->obj);
	mutex_lock(&ri_lock);
	ri_leave(&cq->obj);
	mutex_unlock(&ri_lock);
}

/**
 * ri_do_cq_destroy - destroy a CQ
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic that no QP uses
 * @err_data: may be NULL
 *
 * Discards completions that were not polled. Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE,
 * RI_RET_CQ_INUSE
 */
ri_api_return_t ri_do_cq_destroy(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_hide(rnic, RI_KIND_CQ, cq, RI_RET_CQ_INUSE, &ret);

	if (obj)
		ri_cq_end(to_cq(obj));
	return ri_answer(err_data, ret);
}

/**
 * ri_do_cq_req_notification - arm a CQ for one notification
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic
 * @type: the completions for which the CQ's handler is called
 * @err_data: may be NULL
 *
 * Context: any. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE,
 * RI_RET_CQ_INVALID_HANDLE, RI_RET_INVALID_PARAMETER; RI_RET_CQ_NO_EVENT_HANDLER: it was
 * created without one
 */
ri_api_return_t ri_do_cq_req_notification(ri_rnic_handle_t rnic, ri_cq_handle_t cq,
					  ri_cmplt_notify_type_t type, ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_CQ, cq, &ret);
	if (!ret && type != RI_CMPLT_NOTIFY_SOLICITED && type != RI_CMPLT_NOTIFY_ANY)
		ret = RI_RET_INVALID_PARAMETER;
	else if (!ret && !to_cq(obj)->handler_id)
		ret = RI_RET_CQ_NO_EVENT_HANDLER;
	if (!ret)
		ib_req_notify_cq(to_cq(obj)->cq, type == RI_CMPLT_NOTIFY_SOLICITED ?
				 IB_CQ_SOLICITED : IB_CQ_NEXT_COMP);
	rcu_read_unlock();
	return ri_answer(err_data, ret);
}

/* ----- completions ----- */

static const ri_wc_type_t types[] = {
	[SRNIC_OP_SEND] = RI_WC_TYPE_SEND,
	[SRNIC_OP_SEND_INV] = RI_WC_TYPE_SEND,
	[SRNIC_OP_WRITE] = RI_WC_TYPE_RDMA_WRITE,
	[SRNIC_OP_READ] = RI_WC_TYPE_RDMA_READ,
	[SRNIC_OP_READ_INV] = RI_WC_TYPE_RDMA_READ_LOCAL_INVALIDATE,
	[SRNIC_OP_LOCAL_INV] = RI_WC_TYPE_LOCAL_INVALIDATE,
	[SRNIC_OP_BIND_MW] = RI_WC_TYPE_BIND,
	[SRNIC_OP_REG_MR] = RI_WC_TYPE_FAST_REGISTER,
	[SRNIC_OP_RECV] = RI_WC_TYPE_DATA_RECEIVED,
	[SRNIC_OP_RECV_IMM] = RI_WC_TYPE_DATA_RECEIVED,
};

/* Under RCU. Return: false if the QP of @cqe is destroyed. */
static bool to_wc(const struct rnic_cq *cq, const struct srnic_cqe *cqe, ri_wc_t *out)
{
	const struct rnic_qp *qp = xa_load(&cq->obj.rnic->qps, cqe->qpn);

	if (!qp)
		return false;
	memset(out, 0, sizeof(*out));
	out->rc_wc = (ri_rc_wc_t){
		.op_type = types[cqe->opcode],
		.cq_os_data = cq->obj.os_data,
		.qp_os_data = qp->obj.os_data,
		.id = cqe->wr_id,
		.op_status = ri_native_status(cqe->vendor_err),
		.bytes_transferred = cqe->byte_len,
	};
	if (cqe->flags & SRNIC_CQE_SOLICITED)
		out->rc_wc.flags |= RI_WC_FLAG_SOLICITED_EVENT;
	if (cqe->opcode == SRNIC_OP_SEND_INV)
		out->rc_wc.flags |= RIX_WC_FLAG_SEND_INVALIDATE;
	if (cqe->flags & SRNIC_CQE_WITH_INV) {
		out->rc_wc.flags |= RI_WC_FLAG_RTAG_INVALIDATE;
		out->rc_wc.invalidated_rtag = cqe->data;
	}
	return true;
}

/* Under RCU */
static ri_api_return_t poll(const struct rnic_cq *cq, ri_wc_t *wcs, uint_t *num_wcs)
{
	struct srnic_cqe cqe;
	uint_t found = 0;

	while (found < *num_wcs && srnic_native_poll(cq->cq, &cqe))
		found += to_wc(cq, &cqe, &wcs[found]);
	*num_wcs = found;
	return found ? RI_RET_SUCCESS : RI_RET_CQ_EMPTY;
}

/**
 * ri_do_cq_poll - take completions from a CQ
 * @rnic: an RNIC handle
 * @cq: a CQ of @rnic
 * @wcs: array of @num_wcs completions
 * @num_wcs: set to the number taken
 * @err_data: may be NULL
 *
 * A CQ that has overflowed still has the completions from before (L2489). Context: any.
 *
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_CQ_EMPTY
 */
ri_api_return_t ri_do_cq_poll(ri_rnic_handle_t rnic, ri_cq_handle_t cq, ri_wc_t *wcs,
			      uint_t *num_wcs, ri_err_data_t *err_data)
{
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_CQ, cq, &ret);
	if (!ret && (!wcs || !num_wcs || !*num_wcs))
		ret = RI_RET_INVALID_PARAMETER;
	if (!ret)
		ret = poll(to_cq(obj), wcs, num_wcs);
	rcu_read_unlock();
	return ri_answer(err_data, ret);
}
