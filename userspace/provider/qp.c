// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: queue pairs, and the table that finds one by its number.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <util/util.h>

#include "srnic.h"
#include "srnicdv.h"

/**
 * srnic_qpn_find - the QP with this number
 * @ctx: context
 * @qpn: number
 *
 * Takes no lock. The caller holds the lock of a CQ and has found a completion of
 * this QP in it: srnic_destroy_qp() purges the CQ under that lock before it
 * removes the QP from the table, so the QP and its leaf stay meanwhile.
 *
 * Return: the QP, or NULL if there is none.
 */
struct srnic_qp *srnic_qpn_find(struct srnic_ctx *ctx, uint32_t qpn)
{
	struct srnic_qpn_leaf *leaf;

	if (qpn >> SRNIC_QPN_BITS)
		return NULL;
	leaf = __atomic_load_n(&ctx->qpn_root[qpn >> SRNIC_QPN_LEAF_BITS],
			       __ATOMIC_ACQUIRE);
	if (!leaf)
		return NULL;
	return __atomic_load_n(&leaf->qp[qpn & (SRNIC_QPN_LEAF_SIZE - 1)],
			       __ATOMIC_ACQUIRE);
}

/*
 * The kernel may assign a number again before the thread that has destroyed the old
 * QP has removed it here. The new QP has no WRs yet, so wait for that thread.
 */
static int srnic_qpn_insert(struct srnic_ctx *ctx, uint32_t qpn,
			    struct srnic_qp *qp)
{
	struct srnic_qpn_leaf **slot, *leaf;
	unsigned int i = qpn & (SRNIC_QPN_LEAF_SIZE - 1);
	int ret = 0;

	if (qpn >> SRNIC_QPN_BITS)
		return EPROTO;
	slot = &ctx->qpn_root[qpn >> SRNIC_QPN_LEAF_BITS];

	pthread_mutex_lock(&ctx->qpn_lock);
	while (*slot && (*slot)->qp[i])
		pthread_cond_wait(&ctx->qpn_freed, &ctx->qpn_lock);

	leaf = *slot;
	if (!leaf) {
		leaf = calloc(1, sizeof(*leaf));
		if (!leaf) {
			ret = ENOMEM;
			goto out;
		}
		__atomic_store_n(slot, leaf, __ATOMIC_RELEASE);
	}
	leaf->used++;
	__atomic_store_n(&leaf->qp[i], qp, __ATOMIC_RELEASE);
out:
	pthread_mutex_unlock(&ctx->qpn_lock);
	return ret;
}

static void srnic_qpn_remove(struct srnic_ctx *ctx, uint32_t qpn)
{
	struct srnic_qpn_leaf **slot, *leaf;

	pthread_mutex_lock(&ctx->qpn_lock);
	slot = &ctx->qpn_root[qpn >> SRNIC_QPN_LEAF_BITS];
	leaf = *slot;
	__atomic_store_n(&leaf->qp[qpn & (SRNIC_QPN_LEAF_SIZE - 1)], NULL,
			 __ATOMIC_RELEASE);
	if (!--leaf->used) {
		__atomic_store_n(slot, NULL, __ATOMIC_RELEASE);
		free(leaf);
	}
	pthread_cond_broadcast(&ctx->qpn_freed);
	pthread_mutex_unlock(&ctx->qpn_lock);
}

/**
 * srnic_qpn_for_each - do something for each QP of a context
 * @ctx: context
 * @fn: called for each; no QP is created or destroyed meanwhile
 *
 * Takes a while, and qpn_lock. Any thread.
 */
void srnic_qpn_for_each(struct srnic_ctx *ctx, void (*fn)(struct srnic_qp *qp))
{
	unsigned int i, j;

	pthread_mutex_lock(&ctx->qpn_lock);
	for (i = 0; i < SRNIC_QPN_ROOT_SIZE; i++) {
		struct srnic_qpn_leaf *leaf = ctx->qpn_root[i];

		for (j = 0; leaf && j < SRNIC_QPN_LEAF_SIZE; j++)
			if (leaf->qp[j])
				fn(leaf->qp[j]);
	}
	pthread_mutex_unlock(&ctx->qpn_lock);
}

static int srnic_wq_init(struct srnic_wq *wq, int cmd_fd,
			 const struct srnic_mmap *map, uint32_t entries,
			 uint32_t stride, uint32_t max_wr, uint32_t max_sge)
{
	int ret;

	ret = srnic_ring_map(&wq->ring, cmd_fd, map, entries, stride);
	if (ret)
		return ret;
	ret = pthread_mutex_init(&wq->lock, NULL);
	if (ret) {
		srnic_ring_unmap(&wq->ring);
		return ret;
	}

	wq->max_wr = max_wr < wq->ring.entries ? max_wr : wq->ring.entries;
	wq->max_sge = max_sge;
	return 0;
}

static void srnic_wq_uninit(struct srnic_wq *wq)
{
	pthread_mutex_destroy(&wq->lock);
	srnic_ring_unmap(&wq->ring);
}

/* The kernel does not add completions of the QP any more */
static void srnic_qp_purge(const struct ibv_qp *ibqp, enum srnic_keep keep)
{
	srnic_cq_purge(to_srnic_cq(ibqp->send_cq), ibqp->qp_num, keep);
	if (ibqp->recv_cq != ibqp->send_cq)
		srnic_cq_purge(to_srnic_cq(ibqp->recv_cq), ibqp->qp_num, keep);
}

/* Frees slots of a queue at rest that no completion will ever cover. */
static void srnic_wq_reclaim(struct srnic_wq *wq, struct ibv_cq *ibcq)
{
	struct srnic_cq *cq = to_srnic_cq(ibcq);

	pthread_mutex_lock(&wq->lock);
	if (srnic_ring_is_here(&wq->ring)) {
		pthread_mutex_lock(&cq->lock);
		srnic_wq_free_to(wq, srnic_ring_consumed(&wq->ring));
		pthread_mutex_unlock(&cq->lock);
	}
	pthread_mutex_unlock(&wq->lock);
}

static int srnic_qp_attr_check(const struct ibv_qp_init_attr_ex *attr)
{
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return EINVAL;
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS))
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    attr->create_flags)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !srnic_wr_ops_known(attr->send_ops_flags))
		return EOPNOTSUPP;
	return 0;
}

/* Maps the rings of a QP that the kernel has created. */
static int srnic_qp_map(struct srnic_qp *qp,
			const struct ibv_qp_init_attr_ex *attr,
			const struct srnic_uresp_create_qp *resp)
{
	const struct ibv_qp_cap *cap = &attr->cap;
	int fd = attr->pd->context->cmd_fd;
	uint64_t sq_room = cap->max_send_sge, rq_room;
	int ret;

	/* An older kernel has one limit for all WRs, and answers 0 */
	qp->max_write_sge = resp->max_write_sge ? resp->max_write_sge :
						  cap->max_send_sge;
	/* Posting relies on a slot holding all that the caps allow. */
	if (sq_room < qp->max_write_sge)
		sq_room = qp->max_write_sge;
	sq_room *= sizeof(struct srnic_sge);
	if (sq_room < cap->max_inline_data)
		sq_room = cap->max_inline_data;
	rq_room = (uint64_t)cap->max_recv_sge * sizeof(struct srnic_sge);
	if (resp->sq.size &&
	    resp->sqe_size < sizeof(struct srnic_sqe) + sq_room)
		return EPROTO;
	if (resp->rq.size &&
	    resp->rqe_size < sizeof(struct srnic_rqe) + rq_room)
		return EPROTO;

	ret = srnic_wq_init(&qp->sq, fd, &resp->sq, resp->sq_entries,
			    resp->sqe_size, cap->max_send_wr,
			    cap->max_send_sge);
	if (ret)
		return ret;
	ret = srnic_wq_init(&qp->rq, fd, &resp->rq, resp->rq_entries,
			    resp->rqe_size, cap->max_recv_wr,
			    cap->max_recv_sge);
	if (ret)
		srnic_wq_uninit(&qp->sq);
	return ret;
}

/**
 * srnic_create_qp_sges - ibv_create_qp_ex(), with a limit of SGEs for Writes
 * @ibctx: context
 * @attr: see ibv_create_qp_ex(3); its cap is set to the actual sizes
 * @max_write_sge: 0: as many as a Send may have; set to the actual number
 *
 * Return: the QP, or NULL with errno: EOPNOTSUPP (an attribute, flag or
 * operation that this device does not support), ENOMEM, an errno of the kernel or
 * of mapping the rings, or EPROTO if the kernel's numbers contradict each other.
 * Any thread.
 */
struct ibv_qp *srnic_create_qp_sges(struct ibv_context *ibctx,
				    struct ibv_qp_init_attr_ex *attr,
				    uint32_t *max_write_sge)
{
	struct srnic_ctx *ctx = to_srnic_ctx(ibctx);
	struct srnic_cmd_create_qp_resp resp = {};
	struct srnic_cmd_create_qp cmd = {
		.drv_payload.max_write_sge = *max_write_sge,
	};
	struct ibv_qp_init_attr_ex ask = *attr;
	struct srnic_mem mem;
	struct srnic_qp *qp;
	int ret;

	ret = srnic_qp_attr_check(attr);
	if (ret)
		goto err;
	qp = srnic_zalloc(&mem, attr->pd, sizeof(*qp), SRNIC_RES_TYPE_QP);
	if (!qp) {
		ret = ENOMEM;
		goto err;
	}
	qp->mem = mem;

	ask.comp_mask = IBV_QP_INIT_ATTR_PD;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		srnic_wr_prepare(qp);
	ret = ibv_cmd_create_qp_ex(ibctx, &qp->vqp, &ask, &cmd.ibv_cmd,
				   sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;

	if (attr->srq)
		qp->srq = to_srnic_srq(attr->srq);
	qp->max_inline = ask.cap.max_inline_data;
	qp->sq_sig_all = attr->sq_sig_all;
	qp->ud = attr->qp_type == IBV_QPT_UD;
	qp->kind = srnic_wr_kind(attr->qp_type);
	ret = pthread_mutex_init(&qp->resize, NULL);
	if (ret)
		goto err_destroy;
	ret = srnic_qp_map(qp, &ask, &resp.drv_payload);
	if (ret)
		goto err_mutex;
	ret = srnic_qpn_insert(ctx, qp->vqp.qp.qp_num, qp);
	if (ret)
		goto err_unmap;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		srnic_wr_init(qp, attr->send_ops_flags);
	attr->cap = ask.cap;
	*max_write_sge = qp->max_write_sge;
	return &qp->vqp.qp;

err_unmap:
	srnic_wq_uninit(&qp->rq);
	srnic_wq_uninit(&qp->sq);
err_mutex:
	pthread_mutex_destroy(&qp->resize);
err_destroy:
	verbs_err(&ctx->vctx, "no QP rings: %s\n", strerror(ret));
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free:
	srnic_free(&mem, qp, SRNIC_RES_TYPE_QP);
err:
	errno = ret;
	return NULL;
}

/**
 * srnic_create_qp_ex - ibv_create_qp_ex()
 * @ibctx: context
 * @attr: see ibv_create_qp_ex(3); its cap is set to the actual sizes
 *
 * As srnic_create_qp_sges().
 */
struct ibv_qp *srnic_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr)
{
	uint32_t max_write_sge = 0;

	return srnic_create_qp_sges(ibctx, attr, &max_write_sge);
}

/**
 * srnic_create_qp - ibv_create_qp()
 * @pd: protection domain
 * @attr: see verbs(7); its cap is set to the actual sizes
 *
 * As srnic_create_qp_ex().
 */
struct ibv_qp *srnic_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = srnic_create_qp_ex(pd->context, &ex);

	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/**
 * srnic_query_qp - ibv_query_qp()
 * @ibqp: QP
 * @attr: result
 * @attr_mask: see verbs(7)
 * @init_attr: result
 *
 * Return: 0 or an errno. Any thread.
 */
int srnic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr)
{
	struct ibv_query_qp cmd = {};

	return ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
				sizeof(cmd));
}

static int srnic_resize_step(struct srnic_qp *qp, const struct ibv_qp_cap *cap,
			     uint32_t step, struct srnic_uresp_qp_resize *resp)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, SRNIC_METHOD_QP_RESIZE, 3);
	const struct srnic_ureq_qp_resize req = {
		.step = step,
		.max_send_wr = cap->max_send_wr,
		.max_recv_wr = cap->max_recv_wr,
	};

	fill_attr_in_obj(cmd, SRNIC_ATTR_QP_RESIZE_QP, qp->vqp.qp.handle);
	fill_attr_in_ptr(cmd, SRNIC_ATTR_QP_RESIZE_REQ, &req);
	fill_attr_out(cmd, SRNIC_ATTR_QP_RESIZE_RESP, resp, sizeof(*resp));
	return execute_ioctl(qp->vqp.qp.context, cmd) ? errno : 0;
}

/* Maps the rings that the kernel has prepared. */
static int srnic_resize_map(struct srnic_qp *qp, const struct srnic_uresp_qp_resize *resp,
			    struct srnic_ring *sq, struct srnic_ring *rq)
{
	int fd = qp->vqp.qp.context->cmd_fd;
	int ret;

	ret = srnic_ring_map(sq, fd, &resp->sq, resp->sq_entries, qp->sq.ring.stride);
	if (!ret)
		ret = srnic_ring_map(rq, fd, &resp->rq, resp->rq_entries,
				     qp->rq.ring.stride);
	if (!ret && (!sq->hdr || !rq->hdr != !qp->rq.ring.hdr))
		ret = EPROTO;
	return ret;
}

/* Both locks are held. Takes the new ring; the old one is the caller's then. */
static void srnic_wq_take_ring(struct srnic_wq *wq, struct srnic_ring *ring)
{
	struct srnic_ring old = wq->ring;

	wq->ring = *ring;
	wq->max_wr = ring->entries;
	*ring = old;
}

/* Number of WRs whose completions are not polled. The lock is held. */
static uint32_t srnic_wq_outstanding(const struct srnic_wq *wq)
{
	return wq->head - __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE);
}

/*
 * The second step. Posts, also those between ibv_wr_start() and ibv_wr_complete() of
 * another thread, are over; those of other threads wait.
 */
static int srnic_resize_commit(struct srnic_qp *qp, const struct ibv_qp_cap *cap,
			       struct srnic_ring *sq, struct srnic_ring *rq)
{
	struct srnic_uresp_qp_resize resp;
	int ret = EINVAL;

	pthread_mutex_lock(&qp->sq.lock);
	pthread_mutex_lock(&qp->rq.lock);
	if (srnic_wq_outstanding(&qp->sq) <= cap->max_send_wr &&
	    srnic_wq_outstanding(&qp->rq) <= cap->max_recv_wr)
		ret = srnic_resize_step(qp, cap, SRNIC_RESIZE_COMMIT, &resp);
	if (!ret) {
		srnic_wq_take_ring(&qp->sq, sq);
		srnic_wq_take_ring(&qp->rq, rq);
	}
	pthread_mutex_unlock(&qp->rq.lock);
	pthread_mutex_unlock(&qp->sq.lock);
	return ret;
}

/* A child of fork() has no rings, and must not move those of its parent. */
static bool srnic_rings_are_here(struct srnic_qp *qp)
{
	bool here;

	pthread_mutex_lock(&qp->sq.lock);
	here = srnic_ring_is_here(&qp->sq.ring);
	pthread_mutex_unlock(&qp->sq.lock);
	return here;
}

/*
 * As srnic_resize_cq(): the new rings are mapped before the kernel moves to them, so
 * nothing can fail once the QP has changed.
 */
static int srnic_resize_qp(struct srnic_qp *qp, struct ibv_qp_cap *cap)
{
	struct srnic_uresp_qp_resize resp = {};
	struct srnic_ring sq = {}, rq = {};
	int ret;

	if (cap->max_send_sge > qp->sq.max_sge || cap->max_recv_sge > qp->rq.max_sge ||
	    cap->max_inline_data > qp->max_inline || !srnic_rings_are_here(qp))
		return EINVAL;

	pthread_mutex_lock(&qp->resize);
	ret = srnic_resize_step(qp, cap, SRNIC_RESIZE_PREPARE, &resp);
	if (ret)
		goto out;
	ret = srnic_resize_map(qp, &resp, &sq, &rq);
	if (!ret)
		ret = srnic_resize_commit(qp, cap, &sq, &rq);
	srnic_ring_unmap(&rq);
	srnic_ring_unmap(&sq);
	if (ret) {
		srnic_resize_step(qp, cap, SRNIC_RESIZE_CANCEL, &resp);
	} else {
		cap->max_send_wr = resp.sq_entries;
		cap->max_recv_wr = resp.rq_entries;
	}
out:
	pthread_mutex_unlock(&qp->resize);
	return ret;
}

/**
 * srnic_modify_qp - ibv_modify_qp()
 * @ibqp: QP
 * @attr: new attributes
 * @attr_mask: which of them
 *
 * A QP that is set to RESET or INIT is at rest (RDMAC Idle). Unsignaled WRs
 * that succeeded just before have no completion after them; this frees their
 * slots, up to the kernel's consumer index. RESET removes completions that were
 * not polled, so that they take no room in the CQs. WRs posted while at rest
 * stay.
 *
 * IBV_QP_CAP, which goes alone, resizes the queues of a QP, which may be in use; the
 * QP has to be at rest or in RTS. max_send_wr and max_recv_wr are set to what there
 * is then. SGEs and inline data stay as they are, and must not be asked for more.
 * Posts of other threads wait for it.
 *
 * Return: 0, or an errno and nothing has changed (of IBV_QP_CAP: EINVAL for fewer WRs
 * than are outstanding, for too many, for receives of an SRQ, or in another state;
 * EOPNOTSUPP with other attributes; EPROTONOSUPPORT by an older kernel). Any thread.
 */
int srnic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask)
{
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	struct ibv_modify_qp cmd = {};
	int ret;

	if (attr_mask == IBV_QP_CAP)
		return srnic_resize_qp(qp, &attr->cap);
	/* the kernel refuses IBV_QP_CAP together with others */
	ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (ret)
		return ret;

	if (!(attr_mask & IBV_QP_STATE))
		return 0;
	if (attr->qp_state == IBV_QPS_RTR)
		qp->names_peer = attr_mask & IBV_QP_DEST_QPN;
	if (attr->qp_state == IBV_QPS_RESET) {
		qp->names_peer = false;
		srnic_qp_purge(ibqp, SRNIC_KEEP_NONE);
	}
	if (attr->qp_state == IBV_QPS_RESET || attr->qp_state == IBV_QPS_INIT) {
		srnic_wq_reclaim(&qp->sq, ibqp->send_cq);
		srnic_wq_reclaim(&qp->rq, ibqp->recv_cq);
	}
	return 0;
}

static int destroy_qp(struct ibv_qp *ibqp, enum srnic_keep keep)
{
	struct srnic_ctx *ctx = to_srnic_ctx(ibqp->context);
	struct srnic_qp *qp = to_srnic_qp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;

	/* From here on the kernel adds no completions of this QP. */
	srnic_qp_purge(ibqp, keep);
	srnic_qpn_remove(ctx, ibqp->qp_num);
	srnic_doorbell_clear(qp);

	srnic_wq_uninit(&qp->rq);
	srnic_wq_uninit(&qp->sq);
	pthread_mutex_destroy(&qp->resize);
	srnic_free(&qp->mem, qp, SRNIC_RES_TYPE_QP);
	return 0;
}

/**
 * srnic_destroy_qp - ibv_destroy_qp()
 * @ibqp: QP that no other thread uses any more (its CQs may be in use)
 *
 * Completions of received messages can still be polled (RDMAC verbs 6.1.4): a
 * program that gets the event of the connection's end first must not lose earlier
 * messages. Other completions that were not polled are discarded.
 *
 * Return: 0, or an errno and the QP is unchanged.
 */
int srnic_destroy_qp(struct ibv_qp *ibqp)
{
	return destroy_qp(ibqp, SRNIC_KEEP_RECEIVED);
}

/**
 * srnicdv_destroy_qp - as ibv_destroy_qp(), but each completion can still be polled
 * @qp: QP that no other thread uses any more
 *
 * So a program that keeps a record of each WR of an SRQ gets a completion for each.
 *
 * Return: 0, or an errno (EOPNOTSUPP: of another device) and the QP is unchanged.
 */
int srnicdv_destroy_qp(struct ibv_qp *qp)
{
	if (!srnic_is_ours(qp->context->device))
		return EOPNOTSUPP;
	return destroy_qp(qp, SRNIC_KEEP_ALL);
}
