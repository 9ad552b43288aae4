// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* QPs: create, query and destroy. State transitions are in qp_modify.c. */

#include <linux/slab.h>
#include "rnicpi/kernel/rnic.h"
#include "srnic.h"

/* ----- create ----- */

/* Under ri_lock. Looks up PD, CQs and SRQ of the new QP */
static ri_api_return_t find_parts(ri_rnic_handle_t rnic, const ri_qp_attr_t *attrs,
				  struct rnic_qp *qp)
{
	struct rnic_obj *pd, *scq, *rcq, *srq = NULL;
	struct ri_limits n;
	ri_api_return_t ret;

	pd = ri_find(rnic, RI_KIND_PD, attrs->pd, &ret);
	if (ret)
		return ret;
	scq = ri_find(rnic, RI_KIND_CQ, attrs->scq.scq_handle, &ret);
	if (ret)
		return ret;
	rcq = ri_find(rnic, RI_KIND_CQ, attrs->rcq.rcq_handle, &ret);
	if (!ret && attrs->srq_valid)
		srq = ri_find(rnic, RI_KIND_SRQ, attrs->srq.srq_handle, &ret);
	if (ret)
		return ret;
	qp->pd = to_pd(pd);
	qp->scq = to_cq(scq);
	qp->rcq = to_cq(rcq);
	qp->srq = srq ? to_srq(srq) : NULL;
	n = ri_limits_of(pd->rnic);
	return ri_check_qp(&n, attrs);
}

static u8 enables_of(const ri_qp_attr_t *attrs)
{
	return (attrs->enable_rdma_read ? SRNIC_QP_ENABLE_READ : 0) |
	       (attrs->enable_rdma_write ? SRNIC_QP_ENABLE_WRITE : 0) |
	       (attrs->qp_xport.qp_iwarp.enable_bind ? SRNIC_QP_ENABLE_BIND : 0);
}

static void keep_attrs(struct rnic_qp *qp, const ri_qp_attr_t *attrs,
		       const struct ib_qp_cap *cap)
{
	qp->attr = *attrs;
	qp->attr.qp_id = qp->qp->qp_num;
	qp->attr.sq_size = cap->max_send_wr;
	qp->attr.rq_size = cap->max_recv_wr;
	qp->attr.sq_max_sges = max(attrs->sq_max_sges, 1U);
	qp->attr.sq_max_sges_rdmaw = max(attrs->sq_max_sges_rdmaw, 1U);
	qp->attr.rq_max_sges = cap->max_recv_sge;
	ri_made_qp(&qp->attr, attrs);
	qp->max_inline = cap->max_inline_data;
}

static int make_qp(struct rnic *rnic, struct rnic_qp *qp, const ri_qp_attr_t *attrs)
{
	struct ib_qp_init_attr init = {
		.qp_context = qp,
		.send_cq = qp->scq->cq,
		.recv_cq = qp->rcq->cq,
		.srq = qp->srq ? qp->srq->srq : NULL,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.port_num = 1,
		.cap = {
			.max_send_wr = max(attrs->sq_size, 1U),
			.max_recv_wr = qp->srq ? 0 : max(attrs->rq_size, 1U),
			.max_send_sge = max3(attrs->sq_max_sges, attrs->sq_max_sges_rdmaw, 1U),
			.max_recv_sge = qp->srq ? 0 : max(attrs->rq_max_sges, 1U),
			.max_inline_data = SRNIC_MAX_INLINE,
		},
	};
	struct ib_qp_attr got;
	struct ib_qp_init_attr is;
	int err;

	qp->qp = ib_create_qp(qp->pd->pd, &init);
	if (IS_ERR(qp->qp))
		return PTR_ERR(qp->qp);
	srnic_native_qp_setup(qp->qp, attrs->enable_stag0_fastreg, ri_qp_event);
	srnic_native_qp_enable(qp->qp, enables_of(attrs));
	err = ib_query_qp(qp->qp, &got, IB_QP_CAP, &is);
	if (!err) {
		keep_attrs(qp, attrs, &got.cap);
		srnic_native_qp_sges(qp->qp, qp->attr.sq_max_sges, qp->attr.sq_max_sges_rdmaw);
	}
	if (!err && qp->srq && attrs->qp_xport.qp_iwarp.rq_hiwat)
		err = ri_arm(qp, true);
	if (err)
		ib_destroy_qp(qp->qp);
	return err;
}

/* Under ri_lock */
static void count_users(struct rnic_qp *qp, int n)
{
	qp->pd->obj.users += n;
	qp->scq->obj.users += n;
	qp->rcq->obj.users += n;
	if (qp->srq)
		qp->srq->obj.users += n;
}

/* Under ri_lock */
static int qp_new(struct rnic *rnic, struct rnic_qp *qp, const ri_qp_attr_t *attrs,
		  ri_os_data_t os_data)
{
	int err = make_qp(rnic, qp, attrs);

	if (err)
		return err;
	err = xa_err(xa_store(&rnic->qps, qp->qp->qp_num, qp, GFP_KERNEL));
	if (!err)
		err = ri_enter(&qp->obj, RI_KIND_QP, rnic, os_data);
	if (err) {
		xa_erase(&rnic->qps, qp->qp->qp_num);
		ib_destroy_qp(qp->qp);
		return err;
	}
	count_users(qp, 1);
	return 0;
}

/**
 * ri_do_qp_create - create a QP
 * @rnic: an RNIC handle
 * @attrs: in: attributes for create, as its page has them; out: actual ones
 * @qp: the QP, Idle
 * @vp_data: ignored
 * @os_data: returned in each completion and event
 * @err_data: may be NULL
 *
 * ORD and IRD are granted as requested, or refused. Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_PD_INVALID_HANDLE, RI_RET_CQ_INVALID_HANDLE, RI_RET_SRQ_INVALID_HANDLE,
 * RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_RNIC_SG_LIMIT_EXCEEDED,
 * RI_RET_RNIC_IRD_ORD_EXCEEDED, RI_RET_SRQ_LIMIT_OUT_OF_RANGE, RI_RET_INVALID_DDP_RDMAP_VERSION,
 * RI_RET_RESOURCE_SHORTAGE; RI_RET_MPA_ATTR_UNSUPPORTED: the device requires CRC
 */
ri_api_return_t ri_do_qp_create(ri_rnic_handle_t rnic, ri_qp_attr_t *attrs, ri_qp_handle_t *qp,
				ri_vp_data_t vp_data, ri_os_data_t os_data,
				ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_qp *q;
	int err = 0;

	q = kzalloc(sizeof(*q), GFP_KERNEL);
	if (!q)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	mutex_init(&q->mutex);
	mutex_lock(&ri_lock);
	if (!ri_look_up(RI_KIND_RNIC, rnic))
		ret = RI_RET_RNIC_INVALID_HANDLE;
	else
		ret = attrs && qp ? find_parts(rnic, attrs, q) : RI_RET_INVALID_PARAMETER;
	if (!ret)
		err = qp_new(q->pd->obj.rnic, q, attrs, os_data);
	if (!ret && !err) {
		*qp = q->obj.handle;
		*attrs = q->attr;
	}
	mutex_unlock(&ri_lock);
	/* it may have been in @rnic->qps, where a poll of a CQ looks numbers up under RCU */
	if (ret || err)
		kfree_rcu(q, obj.rcu);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/* ----- query ----- */

/* @q->mutex is held */
static void fill(struct rnic_qp *q, ri_qp_attr_t *attrs)
{
	ri_iwarp_qp_attr_t *iw = &attrs->qp_xport.qp_iwarp;

	ri_qp_refresh(q);
	*attrs = q->attr;
	attrs->scq.scq_os_data = q->scq->obj.os_data;
	attrs->rcq.rcq_os_data = q->rcq->obj.os_data;
	attrs->srq.srq_os_data = q->srq ? q->srq->obj.os_data : NULL;
	attrs->pd = q->pd->obj.handle;
	iw->llp_stream_handle = q->have_llp ? &q->llp : NULL;
	iw->stream_msg_buf = NULL;
	iw->stream_msg_buf_length = 0;
	if (attrs->state != RI_QP_STATE_TERMINATE && attrs->state != RI_QP_STATE_ERROR)
		iw->terminate_msg_length = 0;
}

static_assert(RDMAP_MAX_TERM_LEN <=
	      sizeof_field(ri_iwarp_qp_attr_t, terminate_buffer));

/**
 * ri_do_qp_query - query a QP
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic
 * @attrs: all attributes; CQs and SRQ as their os_data, the PD as its handle. The stream is
 *	   valid until the QP is Idle again, has another one, or is destroyed
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER
 */
ri_api_return_t ri_do_qp_query(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_t *attrs,
			       ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_get(rnic, RI_KIND_QP, qp, &ret);

	if (!obj)
		return ri_answer(err_data, ret);
	if (attrs) {
		mutex_lock(&to_qp(obj)->mutex);
		fill(to_qp(obj), attrs);
		mutex_unlock(&to_qp(obj)->mutex);
	} else {
		ret = RI_RET_INVALID_PARAMETER;
	}
	ri_put(obj);
	return ri_answer(err_data, ret);
}

/* ----- destroy ----- */

/**
 * ri_qp_end - end a QP
 * @qp: nobody else knows it
 *
 * None of its events is reported after this (RI-37). Context: takes ri_lock.
 *
 * Return: 0; -EBUSY: windows are bound to it, and its handle is valid again.
 */
int ri_qp_end(struct rnic_qp *qp)
{
	u32 qpn = qp->qp->qp_num;
	int err;

	err = ib_destroy_qp(qp->qp);
	if (err) {
		ri_show(&qp->obj);
		return err;
	}
	qp->have_llp = false;
	ri_qp_hold_stream(qp);
	ri_upcall_end(qp->obj.rnic->vp, &qp->obj);
	mutex_lock(&ri_lock);
	/* another QP may have the number already */
	xa_cmpxchg(&qp->obj.rnic->qps, qpn, qp, NULL, GFP_KERNEL);
	count_users(qp, -1);
	ri_leave(&qp->obj);
	mutex_unlock(&ri_lock);
	return 0;
}

/* Refuses before the QP is hidden: the handle of a QP that cannot be destroyed stays valid */
static ri_api_return_t check_windows(ri_rnic_handle_t rnic, ri_qp_handle_t qp)
{
	struct srnic_native_qp is;
	struct rnic_obj *obj;
	ri_api_return_t ret;

	rcu_read_lock();
	obj = ri_find(rnic, RI_KIND_QP, qp, &ret);
	if (obj)
		srnic_native_qp_query(to_qp(obj)->qp, &is);
	rcu_read_unlock();
	return obj && is.windows ? RI_RET_WINDOWS_BOUND : ret;
}

/**
 * ri_do_qp_destroy - destroy a QP
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic, in any state
 * @err_data: may be NULL
 *
 * Cancels posted WRs, which get no completion. Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE;
 * RI_RET_WINDOWS_BOUND: windows of type 2 are bound to it
 */
ri_api_return_t ri_do_qp_destroy(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_err_data_t *err_data)
{
	ri_api_return_t ret = check_windows(rnic, qp);
	struct rnic_obj *obj;
	int err;

	if (ret)
		return ri_answer(err_data, ret);
	obj = ri_hide(rnic, RI_KIND_QP, qp, RI_RET_QP_INUSE, &ret);
	err = obj ? ri_qp_end(to_qp(obj)) : 0;
	return err ? ri_failed(err_data, err, RI_RET_WINDOWS_BOUND) : ri_answer(err_data, ret);
}
