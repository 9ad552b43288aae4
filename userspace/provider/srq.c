// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: shared receive queues. Posting fills ring slots and publishes them; no
 * doorbell is needed, as the kernel takes a WQE when a message comes.
 *
 * A WQE is outstanding until its completion is polled (RDMAC verbs 6.3.5).
 * WQEs complete in any order, so the provider only counts them. The kernel frees
 * the slots of the ring in ring order.
 */
#include <errno.h>
#include <string.h>

#include "srnic.h"

static struct srnic_ring_hdr *srnic_srq_moved(const struct srnic_srq *srq)
{
	return srq->ring.hdr->moved.size ? srq->ring.hdr : NULL;
}

/*
 * Map the ring that the kernel has moved to. The old ring, which has the offset of
 * the new one, stays mapped until this has succeeded. The lock is held.
 */
static int srnic_srq_follow(struct srnic_srq *srq)
{
	const struct srnic_ring_hdr *hdr;
	struct srnic_ring ring;
	int ret;

	while ((hdr = srnic_srq_moved(srq))) {
		struct srnic_mmap map = hdr->moved;

		ret = srnic_ring_map(&ring, srq->ibsrq.context->cmd_fd, &map,
				     hdr->moved_entries, srq->ring.stride);
		if (ret)
			return ret;
		srnic_ring_unmap(&srq->ring);
		srq->ring = ring;
	}
	return 0;
}

/* Number of WQEs posted, whose completions are not polled. The lock is held. */
static uint32_t srnic_srq_outstanding(const struct srnic_srq *srq)
{
	uint32_t done = __atomic_load_n(&srq->polled, __ATOMIC_ACQUIRE) +
			__atomic_load_n(&srq->ring.hdr->lost, __ATOMIC_RELAXED);

	return srq->head - done;
}

/**
 * srnic_srq_polled - count completions of WQEs that were polled or purged
 * @srq: SRQ
 * @n: their number
 *
 * As many WQEs may be posted again. Any thread.
 */
void srnic_srq_polled(struct srnic_srq *srq, uint32_t n)
{
	__atomic_fetch_add(&srq->polled, n, __ATOMIC_RELEASE);
}

/**
 * srnic_create_srq - ibv_create_srq()
 * @pd: protection domain of the SGEs
 * @attr: see verbs(7); its max_wr is set to the actual number
 *
 * Return: the SRQ, or NULL with errno: ENOMEM, an errno of the kernel or of
 * mapping the ring, or EPROTO if the kernel's numbers contradict each other. Any
 * thread.
 */
struct ibv_srq *srnic_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr)
{
	struct srnic_cmd_create_srq_resp resp = {};
	struct srnic_cmd_create_srq cmd = {};
	struct srnic_mem mem;
	struct srnic_srq *srq;
	int ret;

	srq = srnic_zalloc(&mem, pd, sizeof(*srq), SRNIC_RES_TYPE_SRQ);
	if (!srq)
		return NULL;
	srq->mem = mem;

	ret = ibv_cmd_create_srq(pd, &srq->ibsrq, attr, &cmd.ibv_cmd,
				 sizeof(cmd), &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err_free;

	srq->max_sge = attr->attr.max_sge;
	ret = EPROTO;
	if (resp.rqe_size < sizeof(struct srnic_rqe) +
				    (uint64_t)srq->max_sge *
					    sizeof(struct srnic_sge))
		goto err_destroy;
	ret = srnic_ring_map(&srq->ring, pd->context->cmd_fd, &resp.ring,
			     resp.entries, resp.rqe_size);
	if (!ret && !srq->ring.hdr)
		ret = EPROTO;
	if (ret)
		goto err_destroy;
	ret = pthread_mutex_init(&srq->lock, NULL);
	if (ret)
		goto err_unmap;
	return &srq->ibsrq;

err_unmap:
	srnic_ring_unmap(&srq->ring);
err_destroy:
	verbs_err(&to_srnic_ctx(pd->context)->vctx, "no SRQ ring: %s\n",
		  strerror(ret));
	ibv_cmd_destroy_srq(&srq->ibsrq);
err_free:
	srnic_free(&mem, srq, SRNIC_RES_TYPE_SRQ);
	errno = ret;
	return NULL;
}

/**
 * srnic_create_srq_ex - ibv_create_srq_ex()
 * @ibctx: context
 * @attr: see verbs(7)
 *
 * Return: a basic SRQ as from srnic_create_srq(); NULL with errno EOPNOTSUPP
 * for other types, EINVAL without a PD or with attributes of other types.
 * Any thread.
 */
struct ibv_srq *srnic_create_srq_ex(struct ibv_context *ibctx,
				    struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr basic = {
		.srq_context = attr->srq_context,
		.attr = attr->attr,
	};
	struct ibv_srq *srq;

	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) &&
	    attr->srq_type != IBV_SRQT_BASIC) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
	    (attr->comp_mask &
	     ~(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD))) {
		errno = EINVAL;
		return NULL;
	}
	srq = srnic_create_srq(attr->pd, &basic);
	if (!srq)
		return NULL;
	attr->attr = basic.attr;
	srq->context = ibctx;
	srq->srq_context = attr->srq_context;
	srq->pd = attr->pd;
	return srq;
}

/**
 * srnic_modify_srq - ibv_modify_srq()
 * @ibsrq: SRQ
 * @attr: new attributes; its max_wr is set to the actual number
 * @attr_mask: which of them
 *
 * Posts of other threads wait for a resize. If the new ring cannot be mapped
 * afterwards, posts fail with ENOMEM until it can.
 *
 * Return: 0; or an errno (EINVAL: fewer than the outstanding WQEs or the armed
 * limit, more than the device supports, or a resize of the parent's SRQ), and
 * nothing has changed. Any thread.
 */
int srnic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int attr_mask)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	struct ibv_modify_srq cmd = {};
	int ret;

	if (!(attr_mask & IBV_SRQ_MAX_WR))
		return ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd,
					  sizeof(cmd));

	pthread_mutex_lock(&srq->lock);
	/* A child of fork() has no ring, and what is at its address is the child's own. */
	ret = EINVAL;
	if (!srnic_ring_is_here(&srq->ring))
		goto out;
	ret = srnic_srq_follow(srq);
	if (ret)
		goto out;
	ret = EINVAL;
	if (attr->max_wr < srnic_srq_outstanding(srq))
		goto out;
	ret = ibv_cmd_modify_srq(ibsrq, attr, attr_mask, &cmd, sizeof(cmd));
	if (ret)
		goto out;
	attr->max_wr = srq->ring.hdr->moved_entries;
	srnic_srq_follow(srq);
out:
	pthread_mutex_unlock(&srq->lock);
	return ret;
}

/**
 * srnic_query_srq - ibv_query_srq()
 * @ibsrq: SRQ
 * @attr: result
 *
 * Return: 0 or an errno. Any thread.
 */
int srnic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ibv_query_srq cmd = {};

	return ibv_cmd_query_srq(ibsrq, attr, &cmd, sizeof(cmd));
}

/**
 * srnic_destroy_srq - ibv_destroy_srq()
 * @ibsrq: SRQ that no other thread uses any more
 *
 * Return: 0, or an errno (EBUSY: a QP uses it) and the SRQ is unchanged.
 */
int srnic_destroy_srq(struct ibv_srq *ibsrq)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	int ret;

	ret = ibv_cmd_destroy_srq(ibsrq);
	if (ret)
		return ret;

	srnic_ring_unmap(&srq->ring);
	pthread_mutex_destroy(&srq->lock);
	srnic_free(&srq->mem, srq, SRNIC_RES_TYPE_SRQ);
	return 0;
}

/**
 * srnic_post_srq_recv - ibv_post_srq_recv()
 * @ibsrq: SRQ
 * @wr: list of WRs
 * @bad_wr: on error, the first one that was not posted
 *
 * The WRs before a bad one are posted. No system call.
 *
 * Return: 0, EINVAL (too many SGEs or bytes), or ENOMEM (the maximum of WQEs is
 * outstanding). Any thread, any number at a time.
 */
int srnic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr)
{
	struct srnic_srq *srq = to_srnic_srq(ibsrq);
	int ret;

	pthread_mutex_lock(&srq->lock);
	ret = srnic_srq_follow(srq);
	for (; wr && !ret; wr = wr->next) {
		if (srnic_srq_outstanding(srq) >= srq->ring.entries)
			ret = ENOMEM;
		else
			ret = srnic_put_recv(srnic_ring_entry(&srq->ring,
							      srq->head),
					     wr, srq->max_sge);
		if (ret)
			break;
		srq->head++;
	}
	if (ret)
		*bad_wr = wr;
	srnic_ring_produce(&srq->ring, srq->head);
	pthread_mutex_unlock(&srq->lock);
	return ret;
}
