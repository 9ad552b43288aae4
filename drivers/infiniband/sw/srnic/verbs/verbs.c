// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ib_device_ops, translated to calls of the layers below.
 */

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include "compat.h"
#include "ib/ib.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "qp/qp.h"
#include "queue/cq.h"
#include "queue/holder.h"
#include "queue/srq.h"
#include "queue/wq.h"
#include "srnic.h"
#include "verbs/dm.h"
#include "verbs/post.h"
#include "verbs/udata.h"
#include "verbs/verbs.h"

/* All known features (srnic-abi.h) */
#define FEATURES	(SRNIC_FEAT_DOORBELL_FLAG | SRNIC_FEAT_ARM_WORD)

#define ENABLE_ALL (SRNIC_QP_READ_ENABLED | SRNIC_QP_WRITE_ENABLED | \
		    SRNIC_QP_BIND_ENABLED | SRNIC_QP_ATOMIC_ENABLED | \
		    SRNIC_QP_FLUSH_ENABLED)

/*
 * Sizes of requests and responses in version 1 of the ABI. The oldest provider sends
 * so many bytes, and has room for so many.
 */
#define UREQ_RESIZE_CQ_MIN	offsetofend(struct srnic_ureq_resize_cq, reserved)
#define URESP_ALLOC_CTX_MIN	offsetofend(struct srnic_uresp_alloc_ctx, reserved)
#define URESP_CREATE_CQ_MIN	offsetofend(struct srnic_uresp_create_cq, cqe_size)
#define URESP_RESIZE_CQ_MIN	offsetofend(struct srnic_uresp_resize_cq, reserved)
#define URESP_CREATE_QP_MIN	offsetofend(struct srnic_uresp_create_qp, max_write_sge)
#define URESP_CREATE_SRQ_MIN	offsetofend(struct srnic_uresp_create_srq, rqe_size)

static struct srnic_uresp_alloc_ctx ctx_answer(u64 features)
{
	return (struct srnic_uresp_alloc_ctx){
		.features = features,
		.max_inline = SRNIC_MAX_INLINE,
		.max_send_sge = SRNIC_MAX_SGE,
		.max_recv_sge = SRNIC_MAX_SGE,
	};
}

static void srnic_dealloc_ucontext(struct ib_ucontext *uctx)
{
	srnic_holder_close(to_srnic_dev(uctx->device), to_srnic_ucontext(uctx)->holder);
}

/* Negotiation: both sides use the features that both know; an unknown required one fails */
static int srnic_alloc_ucontext(struct ib_ucontext *uctx, struct ib_udata *udata)
{
	struct srnic_uresp_alloc_ctx resp = ctx_answer(FEATURES);
	struct srnic_ureq_alloc_ctx req;
	int err;

	if (udata->outlen < URESP_ALLOC_CTX_MIN)
		return -EINVAL;
	err = srnic_udata_ask(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	if (req.required & ~FEATURES)
		return -EOPNOTSUPP;
	to_srnic_ucontext(uctx)->features = req.features & FEATURES;
	to_srnic_ucontext(uctx)->holder = srnic_holder_open(to_srnic_dev(uctx->device));
	if (!to_srnic_ucontext(uctx)->holder)
		return -ENOMEM;
	err = srnic_udata_respond(udata, &resp, sizeof(resp));
	if (err)
		srnic_dealloc_ucontext(uctx);
	return err;
}

/* Because this method exists programs do not pin the module: the core destroys their objects */
static void srnic_disassociate_ucontext(struct ib_ucontext *uctx)
{
}

/*
 * ibv_import_device(): a process with the file gets the features that its opener has negotiated.
 * A generic tool does not pass the attribute.
 */
static int srnic_query_ucontext(struct ib_ucontext *uctx, struct uverbs_attr_bundle *attrs)
{
	struct srnic_uresp_alloc_ctx resp = ctx_answer(to_srnic_ucontext(uctx)->features);

	if (!uverbs_attr_is_valid(attrs, SRNIC_ATTR_QUERY_CONTEXT_RESP))
		return 0;
	return uverbs_copy_to_struct_or_zero(attrs, SRNIC_ATTR_QUERY_CONTEXT_RESP, &resp,
					     sizeof(resp));
}

/* The user that an object without a PD is counted against; NULL for a kernel consumer */
static struct srnic_holder *udata_holder(struct ib_udata *udata)
{
	return udata ? to_srnic_ucontext(srnic_udata_to_ucontext(udata))->holder : NULL;
}

static int srnic_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int err = srnic_udata_check_none(udata);

	if (err)
		return err;
	container_of(pd, struct srnic_pd, ibpd)->holder = udata_holder(udata);
	return srnic_take(to_srnic_dev(pd->device), srnic_pd_holder(pd), SRNIC_KIND_PD, 1);
}

static int srnic_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	srnic_give(to_srnic_dev(pd->device), srnic_pd_holder(pd), SRNIC_KIND_PD, 1);
	return 0;
}

static struct ib_mr *srnic_get_dma_mr(struct ib_pd *pd, int access)
{
	return srnic_mr_get_dma(pd, access);
}

static struct ib_mr *srnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length,
				       u64 iova, int access, struct ib_dmah *dmah,
				       struct ib_udata *udata)
{
	int err = srnic_udata_check_none(udata);

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return err ? ERR_PTR(err) : srnic_mr_reg_user(pd, start, length, iova, access);
}

static struct ib_mr *srnic_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length,
					      u64 iova, int fd, int access,
					      struct ib_dmah *dmah,
					      struct uverbs_attr_bundle *attrs)
{
	int err = srnic_udata_check_none(&attrs->driver_udata);

	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return err ? ERR_PTR(err) : srnic_mr_reg_dmabuf(pd, fd, offset, length, iova, access);
}

/* In place: the core keeps its object, and sets PD, length and address in it */
static struct ib_mr *srnic_rereg_user_mr(struct ib_mr *mr, int flags, u64 start,
					 u64 length, u64 iova, int access,
					 struct ib_pd *pd, struct ib_udata *udata)
{
	int err = srnic_udata_check_none(udata);

	if (!err)
		err = srnic_mr_rereg(mr, flags, start, length, iova, access, pd);
	return err ? ERR_PTR(err) : NULL;
}

static int srnic_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	return srnic_mr_dereg(mr);
}

static int srnic_alloc_mw(struct ib_mw *ibmw, struct ib_udata *udata)
{
	int err = srnic_udata_check_none(udata);

	return err ?: srnic_mw_alloc(ibmw);
}

static int srnic_dealloc_mw(struct ib_mw *ibmw)
{
	srnic_mw_dealloc(ibmw);
	return 0;
}

static int srnic_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
			   struct uverbs_attr_bundle *attrs)
{
	struct srnic_device *dev = to_srnic_dev(ibcq->device);
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_uresp_create_cq resp = { };
	int err = srnic_udata_check(udata, URESP_CREATE_CQ_MIN);

	if (err)
		return err;
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	cq->holder = udata_holder(udata);
	err = srnic_take(dev, cq->holder, SRNIC_KIND_CQ, 1);
	if (err)
		return err;
	err = srnic_cq_create(cq, attr->cqe,
			      attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION,
			      udata ? srnic_udata_to_ucontext(udata) : NULL);
	if (err)
		goto uncount;
	if (udata) {
		srnic_ring_describe(&cq->ring, &resp.ring);
		resp.entries = cq->ring.entries;
		resp.cqe_size = cq->ring.stride;
		err = srnic_udata_respond(udata, &resp, sizeof(resp));
		if (err)
			goto destroy;
	}
	return 0;
destroy:
	srnic_cq_destroy(cq);
uncount:
	srnic_give(dev, cq->holder, SRNIC_KIND_CQ, 1);
	return err;
}

static int srnic_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);

	srnic_cq_destroy(cq);
	srnic_give(to_srnic_dev(ibcq->device), cq->holder, SRNIC_KIND_CQ, 1);
	return 0;
}

/* A program resizes in two calls, see srnic-abi.h */
static int srnic_resize_cq(struct ib_cq *ibcq, unsigned int cqe, struct ib_udata *udata)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_uresp_resize_cq resp = { };
	struct srnic_ureq_resize_cq req;
	int err;

	if (cq->kernel != !udata)
		return -EOPNOTSUPP;
	if (!udata)
		return srnic_cq_resize(cq, cqe);
	if (udata->outlen < URESP_RESIZE_CQ_MIN)
		return -EINVAL;
	err = srnic_udata_ask(udata, &req, sizeof(req), UREQ_RESIZE_CQ_MIN);
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;
	switch (req.step) {
	case SRNIC_RESIZE_PREPARE:
		err = srnic_cq_resize_prepare(cq, cqe, srnic_udata_to_ucontext(udata), &resp);
		break;
	case SRNIC_RESIZE_COMMIT:
		return srnic_cq_resize_commit(cq, cqe);
	case SRNIC_RESIZE_CANCEL:
		srnic_cq_resize_cancel(cq);
		return 0;
	default:
		return -EINVAL;
	}
	return err ?: srnic_udata_respond(udata, &resp, sizeof(resp));
}

/* Opcodes of completions, by native opcode */
static const enum ib_wc_opcode wc_opcode[] = {
	[SRNIC_OP_SEND]	      = IB_WC_SEND,
	[SRNIC_OP_SEND_INV]   = IB_WC_SEND,
	[SRNIC_OP_WRITE]      = IB_WC_RDMA_WRITE,
	[SRNIC_OP_READ]	      = IB_WC_RDMA_READ,
	[SRNIC_OP_READ_INV]   = IB_WC_RDMA_READ,
	[SRNIC_OP_WRITE_IMM]  = IB_WC_RDMA_WRITE,
	[SRNIC_OP_SEND_IMM]   = IB_WC_SEND,
	[SRNIC_OP_FETCH_ADD]  = IB_WC_FETCH_ADD,
	[SRNIC_OP_CMP_SWAP]   = IB_WC_COMP_SWAP,
	[SRNIC_OP_LOCAL_INV]  = IB_WC_LOCAL_INV,
	[SRNIC_OP_BIND_MW]    = IB_WC_BIND_MW,
	[SRNIC_OP_REG_MR]     = IB_WC_REG_MR,
	[SRNIC_OP_UD_SEND]    = IB_WC_SEND,
	[SRNIC_OP_UD_SEND_IMM] = IB_WC_SEND,
	[SRNIC_OP_RECV]	      = IB_WC_RECV,
	[SRNIC_OP_RECV_IMM]   = IB_WC_RECV_RDMA_WITH_IMM,
};

static void cqe_to_wc(struct ib_device *ibdev, const struct srnic_cqe *cqe,
		      struct ib_wc *wc)
{
	struct srnic_qp *qp = xa_load(&to_srnic_dev(ibdev)->qps, cqe->qpn);

	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->vendor_err = cqe->vendor_err;
	wc->opcode = wc_opcode[cqe->opcode];
	wc->byte_len = cqe->byte_len;
	wc->qp = qp ? &qp->ibqp : NULL;
	wc->port_num = 1;
	if (cqe->flags & SRNIC_CQE_WITH_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = cqe->data;
	}
	if (cqe->flags & SRNIC_CQE_WITH_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		wc->ex.imm_data = (__force __be32)cqe->data;
	}
}

/* Kernel consumers only: a program may have written anything into the ring of its CQ */
static int srnic_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);
	struct srnic_cqe cqe;
	int n;

	if (!cq->kernel)
		return -EOPNOTSUPP;
	for (n = 0; n < num && srnic_cq_poll(cq, &cqe); n++)
		cqe_to_wc(ibcq->device, &cqe, &wc[n]);
	return n;
}

static int srnic_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	u32 arm = (flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED ?
		  SRNIC_ARM_SOLICITED : SRNIC_ARM_NEXT;
	struct srnic_cq *cq = to_srnic_cq(ibcq);

	if (!cq->kernel)
		return -EOPNOTSUPP;
	return srnic_cq_arm(cq, arm, flags & IB_CQ_REPORT_MISSED_EVENTS);
}

static int qp_respond(const struct srnic_qp *qp, struct ib_udata *udata)
{
	struct srnic_uresp_create_qp resp = {
		.sq_entries = qp->sq.entries,
		.rq_entries = qp->rq.entries,
		.sqe_size = qp->sq.stride,
		.rqe_size = qp->rq.stride,
		.qpn = qp->ibqp.qp_num,
		.max_write_sge = qp->max_write_sge,
	};

	srnic_ring_describe(&qp->sq, &resp.sq);
	srnic_ring_describe(&qp->rq, &resp.rq);
	return srnic_udata_respond(udata, &resp, sizeof(resp));
}

/* The state that programs expect of a new QP: INIT for an RNIC, otherwise RESET */
static enum ib_qp_state first_state(const struct ib_qp_init_attr *init,
				    const struct ib_device *ibdev)
{
	return init->qp_type == IB_QPT_RC && ibdev->node_type == RDMA_NODE_RNIC ?
	       IB_QPS_INIT : IB_QPS_RESET;
}

/*
 * UC and UD QPs are for programs, if the policy sets ib_port. A UC QP works as an RC QP. UD
 * is not available with ib_privileged: a datagram does not prove that the kernel or root of its
 * host has sent it.
 */
static bool qp_type_ok(struct srnic_device *dev, const struct ib_qp_init_attr *init,
		       const struct ib_udata *udata)
{
	struct srnic_policy policy = srnic_policy_get(&dev->policy);

	switch (init->qp_type) {
	case IB_QPT_RC:
		return true;
	case IB_QPT_UC:
		return udata && policy.ib_port;
	case IB_QPT_UD:
		return udata && policy.ib_port && !policy.ib_privileged;
	default:
		return false;
	}
}

/* No windows are bound to a UD QP, so it can always be destroyed */
static int srnic_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err;

	if (qp->ud)
		srnic_ud_leave(qp);
	err = srnic_qp_destroy(qp);
	if (!err && qp->ud)
		srnic_ud_destroy(qp);
	return err;
}

static int qp_ask(struct srnic_qp *qp, struct ib_udata *udata)
{
	struct srnic_ureq_create_qp req;
	int err;

	if (!udata)
		return 0;
	if (udata->outlen < URESP_CREATE_QP_MIN)
		return -EINVAL;
	err = srnic_udata_ask(udata, &req, sizeof(req), 0);
	if (err)
		return err;
	qp->max_write_sge = req.max_write_sge;
	return req.reserved ? -EINVAL : 0;
}

static int srnic_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init,
			   struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err = qp_ask(qp, udata);

	if (err)
		return err;
	if (init->create_flags || !qp_type_ok(to_srnic_dev(ibqp->device), init, udata))
		return -EOPNOTSUPP;
	err = srnic_qp_create(qp, to_srnic_dev(ibqp->device), init,
			      udata ? srnic_udata_to_ucontext(udata) : NULL);
	if (err)
		return err;
	qp->verbs_state = first_state(init, ibqp->device);
	qp->enables = ENABLE_ALL;
	if (init->qp_type == IB_QPT_UD) {
		err = srnic_ud_create(qp);
		if (err) {
			srnic_qp_destroy(qp);
			return err;
		}
	}
	if (udata) {
		err = qp_respond(qp, udata);
		if (err)
			srnic_destroy_qp(ibqp, udata);
	}
	return err;
}

/* Verbs have three states for Idle; the others are mapped as by other iWARP drivers */
static const enum srnic_qp_state native_state[] = {
	[IB_QPS_RESET] = SRNIC_QP_IDLE,
	[IB_QPS_INIT]  = SRNIC_QP_IDLE,
	[IB_QPS_RTR]   = SRNIC_QP_IDLE,
	[IB_QPS_RTS]   = SRNIC_QP_RTS,
	[IB_QPS_SQD]   = SRNIC_QP_CLOSING,
	[IB_QPS_SQE]   = SRNIC_QP_TERMINATE,
	[IB_QPS_ERR]   = SRNIC_QP_ERROR,
};

static enum ib_qp_state verbs_state(const struct srnic_qp *qp)
{
	static const enum ib_qp_state state[SRNIC_QP_STATES] = {
		[SRNIC_QP_RTS]	     = IB_QPS_RTS,
		[SRNIC_QP_CLOSING]   = IB_QPS_SQD,
		[SRNIC_QP_TERMINATE] = IB_QPS_SQE,
		[SRNIC_QP_ERROR]     = IB_QPS_ERR,
	};
	enum srnic_qp_state native = srnic_qp_state(qp);

	/* the peer may have connected before the program sets RTS */
	if (native == SRNIC_QP_IDLE || (native == SRNIC_QP_RTS && READ_ONCE(qp->ib.paired)))
		return READ_ONCE(qp->verbs_state);
	return state[native];
}

/*
 * rdma_cm sets no access flag on the QP of a program that connects, since it
 * has no iw_cm id yet at that time. So no flag in Idle means the default:
 * everything is enabled, and the rights of each region decide. rdma_cm has no
 * flag for windows: in Idle the flag can enable binding, but not disable it.
 * Nor has it one for atomics: on the QP of a program that accepts it sets Read
 * and Write, so these two together enable atomics, in regions that allow them.
 */
static u8 access_to_enables(const struct srnic_qp *qp, int access)
{
	static const int both = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE;
	bool atomic = access & IB_ACCESS_REMOTE_ATOMIC || (access & both) == both;
	bool idle = srnic_qp_state(qp) == SRNIC_QP_IDLE;

	if (idle && !access)
		return ENABLE_ALL;
	return (idle ? READ_ONCE(qp->enables) & SRNIC_QP_BIND_ENABLED : 0) |
	       (access & IB_ACCESS_REMOTE_READ ? SRNIC_QP_READ_ENABLED : 0) |
	       (access & IB_ACCESS_REMOTE_WRITE ? SRNIC_QP_WRITE_ENABLED : 0) |
	       (access & IB_ACCESS_MW_BIND ? SRNIC_QP_BIND_ENABLED : 0) |
	       (access & IB_ACCESS_FLUSH_GLOBAL ? SRNIC_QP_FLUSH_ENABLED : 0) |
	       (atomic ? SRNIC_QP_ATOMIC_ENABLED : 0);
}

static int enables_to_access(u8 enables)
{
	return IB_ACCESS_LOCAL_WRITE |
	       (enables & SRNIC_QP_READ_ENABLED ? IB_ACCESS_REMOTE_READ : 0) |
	       (enables & SRNIC_QP_WRITE_ENABLED ? IB_ACCESS_REMOTE_WRITE : 0) |
	       (enables & SRNIC_QP_BIND_ENABLED ? IB_ACCESS_MW_BIND : 0) |
	       (enables & SRNIC_QP_FLUSH_ENABLED ? IB_ACCESS_FLUSH_GLOBAL : 0) |
	       (enables & SRNIC_QP_ATOMIC_ENABLED ? IB_ACCESS_REMOTE_ATOMIC : 0);
}

/*
 * Attributes of InfiniBand, which programs set on any QP. Query QP returns them. TCP
 * has its own segments and timers; RNR waits and rendezvous (ib/) use some of these.
 */
#define QP_IB_ATTRS (IB_QP_PATH_MTU | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | \
		     IB_QP_RNR_RETRY | IB_QP_MIN_RNR_TIMER)
#define QP_ATTRS (IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS | \
		  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_MAX_QP_RD_ATOMIC | \
		  IB_QP_MAX_DEST_RD_ATOMIC | QP_IB_ATTRS)

/* Checks InfiniBand's attributes against the sizes of its fields */
static int qp_modify_check_ib(const struct ib_qp_attr *attr, int mask)
{
	if ((mask & IB_QP_PATH_MTU &&
	     (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096)) ||
	    (mask & IB_QP_TIMEOUT && attr->timeout > 31) ||
	    (mask & IB_QP_RETRY_CNT && attr->retry_cnt > 7) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > 7) ||
	    (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31))
		return -EINVAL;
	return 0;
}

static void qp_modify_ib(struct srnic_ib_attr *ib, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PATH_MTU)
		WRITE_ONCE(ib->path_mtu, attr->path_mtu);
	if (mask & IB_QP_TIMEOUT)
		WRITE_ONCE(ib->timeout, attr->timeout);
	if (mask & IB_QP_RETRY_CNT)
		WRITE_ONCE(ib->retry_cnt, attr->retry_cnt);
	if (mask & IB_QP_RNR_RETRY) {
		WRITE_ONCE(ib->rnr_retry, attr->rnr_retry);
		WRITE_ONCE(ib->no_rnr, !attr->rnr_retry);
	}
	if (mask & IB_QP_MIN_RNR_TIMER)
		WRITE_ONCE(ib->min_rnr_timer, attr->min_rnr_timer);
}

static void qp_query_ib(const struct srnic_qp *qp, struct ib_qp_attr *attr)
{
	const struct srnic_ib_attr *ib = &qp->ib;

	attr->path_mtu = READ_ONCE(ib->path_mtu) ?:
			 ib_mtu_int_to_enum(READ_ONCE(qp->dev->netdev->mtu));
	attr->timeout = READ_ONCE(ib->timeout);
	attr->retry_cnt = READ_ONCE(ib->retry_cnt);
	attr->rnr_retry = READ_ONCE(ib->rnr_retry);
	attr->min_rnr_timer = READ_ONCE(ib->min_rnr_timer);
}

/*
 * IRD and ORD can be set in Idle, where they are only queried, and changed in RTS
 * (ST-16, QP-19, RD-05) within the negotiated depths, and with no other transition
 * (QP-20). A lower IRD is enforced at once; the ULP has to tell the peer (RD-09).
 */
static int qp_modify_check_rd(const struct srnic_qp *qp, const struct ib_qp_attr *attr,
			      int mask)
{
	enum srnic_qp_state state = srnic_qp_state(qp);
	u32 max_ird = SRNIC_MAX_IRD, max_ord = SRNIC_MAX_ORD;

	if (!(mask & (IB_QP_MAX_QP_RD_ATOMIC | IB_QP_MAX_DEST_RD_ATOMIC)))
		return 0;
	if (state != SRNIC_QP_IDLE && state != SRNIC_QP_RTS)
		return -EINVAL;
	if (mask & IB_QP_STATE && native_state[attr->qp_state] != state)
		return -EINVAL;
	if (state == SRNIC_QP_RTS) {
		max_ird = qp->mpa.ird;
		max_ord = qp->mpa.ord;
	}
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > max_ord) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > max_ird))
		return -EINVAL;
	return 0;
}

static bool is_current(const struct srnic_qp *qp, enum ib_qp_state state)
{
	if (qp->ib.paired)
		return state == verbs_state(qp);
	return state < ARRAY_SIZE(native_state) && native_state[state] == srnic_qp_state(qp);
}

/* Depths of SQ and RQ change with no transition (QP-20), and SGEs and inline data do not grow */
static int qp_modify_check_cap(const struct srnic_qp *qp, const struct ib_qp_attr *attr,
			       int mask)
{
	const struct ib_qp_cap *cap = &attr->cap;

	if (!(mask & IB_QP_CAP))
		return 0;
	if (mask & IB_QP_STATE && !is_current(qp, attr->qp_state))
		return -EINVAL;
	if (cap->max_send_sge > qp->max_send_sge || cap->max_recv_sge > qp->max_recv_sge ||
	    cap->max_inline_data > qp->max_inline)
		return -EINVAL;
	return 0;
}

/*
 * Checks all attributes before any of them takes effect (QP-17). A program has a method for the
 * depths of its queues: uverbs has no room for them, and passes zeros.
 */
static int qp_modify_check(const struct srnic_qp *qp, const struct ib_qp_attr *attr,
			   int mask)
{
	int err;

	if (mask & ~(QP_ATTRS | SRNIC_IB_QP_ATTRS | (qp->kernel ? IB_QP_CAP : 0)))
		return -EOPNOTSUPP;
	if ((mask & IB_QP_PKEY_INDEX && attr->pkey_index) ||
	    (mask & IB_QP_PORT && attr->port_num != 1))
		return -EINVAL;
	if (mask & IB_QP_STATE && attr->qp_state >= ARRAY_SIZE(native_state))
		return -EINVAL;
	/* any verbs state of the native state will do: a new QP may pass for one in RESET */
	if (mask & IB_QP_CUR_STATE && !is_current(qp, attr->cur_qp_state))
		return -EINVAL;
	/* the enables cannot change with a transition that ends the stream (QP-20) */
	if (mask & IB_QP_STATE && mask & IB_QP_ACCESS_FLAGS &&
	    native_state[attr->qp_state] > SRNIC_QP_RTS)
		return -EINVAL;
	err = qp_modify_check_ib(attr, mask) ?: qp_modify_check_cap(qp, attr, mask) ?:
	      srnic_ib_modify_check(qp, attr, mask);
	if (err || srnic_ib_modify_keeps(qp, attr, mask))
		return err;
	return qp_modify_check_rd(qp, attr, mask);
}

/*
 * rdma_disconnect() requests Closing, and must not fail if the peer was first,
 * though the core refuses the transition then (ST-05, ST-38, ST-49). After the
 * call programs rely on all WRs being flushed, also those that they have posted
 * after the QP went to Idle: so Idle goes to Error here (ST-50).
 */
static enum srnic_qp_state qp_target(const struct srnic_qp *qp, enum ib_qp_state next)
{
	enum srnic_qp_state now = srnic_qp_state(qp);

	if (next == IB_QPS_SQD && now == SRNIC_QP_IDLE)
		return SRNIC_QP_ERROR;
	return native_state[next];
}

static int qp_modify_state(struct srnic_qp *qp, enum ib_qp_state next, struct ib_udata *udata)
{
	int err;

	/*
	 * iw_cm takes a program's QP to Error when the id of its connection is
	 * destroyed, by the program or at its exit: completed Sends are delivered.
	 */
	if (next == IB_QPS_ERR && !udata && !qp->kernel) {
		srnic_qp_give_up(qp);
		return 0;
	}
	err = srnic_qp_modify(qp, qp_target(qp, next));
	/* an error means that the connection is ending already */
	return next == IB_QPS_SQD ? 0 : err;
}

/*
 * What may fail after the checks: a resize or a transition, never both, so that nothing has changed
 * then. With IB_QP_CAP the state is the present one, see qp_modify_check_cap().
 */
static int qp_resize_or_move(struct srnic_qp *qp, struct ib_qp_attr *attr, int mask,
			     struct ib_udata *udata)
{
	bool keeps = srnic_ib_modify_keeps(qp, attr, mask);
	int err;

	if (mask & IB_QP_CAP)
		return srnic_wq_resize(qp, &attr->cap);
	err = srnic_ib_modify(qp, attr, mask);
	if (err || keeps || !(mask & IB_QP_STATE))
		return err;
	return qp_modify_state(qp, attr->qp_state, udata);
}

/* Takes the lock: a hand-over, which clears a bit of the enables in RTS, may be under way */
static void qp_modify_enables(struct srnic_qp *qp, int access)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	WRITE_ONCE(qp->enables, access_to_enables(qp, access));
	spin_unlock_irqrestore(&qp->lock, flags);
}

static int qp_modify(struct srnic_qp *qp, struct ib_qp_attr *attr, int mask,
		     struct ib_udata *udata)
{
	bool keeps = srnic_ib_modify_keeps(qp, attr, mask);
	int err = qp_modify_check(qp, attr, mask) ?: qp_resize_or_move(qp, attr, mask, udata);

	if (err)
		return err;
	if (mask & IB_QP_STATE && (keeps || native_state[attr->qp_state] <= SRNIC_QP_RTS))
		WRITE_ONCE(qp->verbs_state, attr->qp_state);
	if (mask & IB_QP_ACCESS_FLAGS)
		qp_modify_enables(qp, attr->qp_access_flags);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		WRITE_ONCE(qp->ord, srnic_ib_ord(qp, attr));
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		WRITE_ONCE(qp->ird, attr->max_dest_rd_atomic);
	qp_modify_ib(&qp->ib, attr, mask);
	/* the time that a message waits for a receive may have changed */
	if (mask & (IB_QP_RNR_RETRY | IB_QP_MIN_RNR_TIMER))
		srnic_qp_wake_rnr(qp);
	/* a WR that waits for ORD may have a place now, or has to fail */
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		srnic_qp_kick_tx(qp);
	return 0;
}

/* The mutex serializes threads of a program; iw_cm and kernel consumers pass no udata */
static int srnic_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			   struct ib_udata *udata)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int err = srnic_udata_check_none(udata);

	if (err)
		return err;
	if (!udata)
		return qp_modify(qp, attr, mask, NULL);
	mutex_lock(&qp->modify);
	err = qp->ud ? srnic_ud_modify(qp, attr, mask) : qp_modify(qp, attr, mask, udata);
	mutex_unlock(&qp->modify);
	return err;
}

static int srnic_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
			  struct ib_qp_init_attr *init)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct srnic_wq_use use;

	/* uverbs passes memory that is not zeroed, and copies all of it to the program */
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = verbs_state(qp);
	attr->cur_qp_state = attr->qp_state;
	attr->qp_access_flags = enables_to_access(READ_ONCE(qp->enables));
	attr->max_rd_atomic = READ_ONCE(qp->ord);
	attr->max_dest_rd_atomic = READ_ONCE(qp->ird);
	attr->port_num = 1;
	qp_query_ib(qp, attr);
	srnic_ib_query(qp, attr);
	if (qp->ud)
		srnic_ud_query(qp, attr);
	srnic_wq_query(qp, &use);
	attr->cap.max_send_wr = use.sq_size;
	attr->cap.max_recv_wr = use.rq_size;
	attr->cap.max_send_sge = qp->max_send_sge;
	attr->cap.max_recv_sge = qp->srq ? 0 : qp->max_recv_sge;
	attr->cap.max_inline_data = qp->max_inline;

	init->event_handler = ibqp->event_handler;
	init->qp_context = ibqp->qp_context;
	init->send_cq = ibqp->send_cq;
	init->recv_cq = ibqp->recv_cq;
	init->srq = ibqp->srq;
	init->cap = attr->cap;
	init->sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR;
	init->qp_type = ibqp->qp_type;
	return 0;
}

static int srnic_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init,
			    struct ib_udata *udata)
{
	struct srnic_device *dev = to_srnic_dev(ibsrq->device);
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	struct srnic_uresp_create_srq resp = { };
	int err = srnic_udata_check(udata, URESP_CREATE_SRQ_MIN);

	if (err)
		return err;
	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	err = srnic_take(dev, srnic_pd_holder(ibsrq->pd), SRNIC_KIND_SRQ, 1);
	if (err)
		return err;
	err = srnic_srq_create(srq, &init->attr, udata ? srnic_udata_to_ucontext(udata) : NULL);
	if (err)
		goto uncount;
	if (udata) {
		srnic_ring_describe(&srq->ring, &resp.ring);
		resp.entries = srq->ring.entries;
		resp.rqe_size = srq->ring.stride;
		err = srnic_udata_respond(udata, &resp, sizeof(resp));
		if (err)
			goto destroy;
	}
	return 0;
destroy:
	srnic_srq_destroy(srq);
uncount:
	srnic_give(dev, srnic_pd_holder(ibsrq->pd), SRNIC_KIND_SRQ, 1);
	return err;
}

static int srnic_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	srnic_srq_destroy(to_srnic_srq(ibsrq));
	srnic_give(to_srnic_dev(ibsrq->device), srnic_pd_holder(ibsrq->pd), SRNIC_KIND_SRQ, 1);
	return 0;
}

static int srnic_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr,
			    enum ib_srq_attr_mask mask, struct ib_udata *udata)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	int err = srnic_udata_check_none(udata);

	if (err)
		return err;
	if (srq->kernel != !udata)
		return -EOPNOTSUPP;
	if (mask & ~(IB_SRQ_MAX_WR | IB_SRQ_LIMIT))
		return -EINVAL;
	return srnic_srq_modify(srq, attr, mask,
				udata ? srnic_udata_to_ucontext(udata) : NULL);
}

static int srnic_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	srnic_srq_query(to_srnic_srq(ibsrq), attr);
	return 0;
}

#include "verbs/compat_verbs.h"

/* Not static: device.c registers them, with those of the device and of iw_cm */
const struct ib_device_ops srnic_verbs_ops = {
#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
	.advise_mr = srnic_mr_advise,
#endif
	.alloc_dm = srnic_alloc_dm,
	.alloc_mr = srnic_mr_alloc,
	.alloc_mw = srnic_alloc_mw,
	.alloc_pd = srnic_alloc_pd,
	.alloc_ucontext = srnic_alloc_ucontext,
	.create_cq = srnic_create_cq,
	.create_qp = srnic_create_qp,
	.create_srq = srnic_create_srq,
	.dealloc_dm = srnic_dealloc_dm,
	.dealloc_mw = srnic_dealloc_mw,
	.dealloc_pd = srnic_dealloc_pd,
	.dealloc_ucontext = srnic_dealloc_ucontext,
	.dereg_mr = srnic_dereg_mr,
	.destroy_cq = srnic_destroy_cq,
	.destroy_qp = srnic_destroy_qp,
	.destroy_srq = srnic_destroy_srq,
	.disassociate_ucontext = srnic_disassociate_ucontext,
	.get_dma_mr = srnic_get_dma_mr,
	.map_mr_sg = srnic_mr_map_sg,
	.mmap = srnic_ring_mmap,
	.mmap_free = srnic_ring_mmap_free,
	.modify_qp = srnic_modify_qp,
	.modify_srq = srnic_modify_srq,
	.poll_cq = srnic_poll_cq,
	.post_recv = srnic_post_recv,
	.post_send = srnic_post_send,
	.post_srq_recv = srnic_post_srq_recv,
	.query_qp = srnic_query_qp,
	.query_srq = srnic_query_srq,
	.query_ucontext = srnic_query_ucontext,
	.reg_dm_mr = srnic_reg_dm_mr,
	.reg_user_mr = srnic_reg_user_mr,
	.reg_user_mr_dmabuf = srnic_reg_user_mr_dmabuf,
	.req_notify_cq = srnic_req_notify_cq,
	.rereg_user_mr = srnic_rereg_user_mr,
	.resize_user_cq = srnic_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_cq, srnic_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, srnic_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, srnic_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, srnic_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, srnic_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, srnic_ucontext, ibuc),
};
