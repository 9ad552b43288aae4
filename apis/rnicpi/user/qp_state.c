// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The QPs of an RNIC, by handle and by number, and the state that one is in. */
#include <errno.h>
#include <stdlib.h>
#include "qp.h"

/* --- looking one up --- */

/**
 * ri_qp_of_number() - The QP of a completion
 * @rnic: its RNIC handle
 * @qpn: its number
 *
 * Context: any thread; takes qp_lock.
 * Return: the QP, which may be dead, or NULL.
 */
struct rnic_qp *ri_qp_of_number(struct rnic *rnic, uint32_t qpn)
{
	struct rnic_qp *qp;

	pthread_mutex_lock(&rnic->qp_lock);
	qp = rnic->qps[qpn % QPN_BUCKETS];
	while (qp && qp->qpn != qpn)
		qp = qp->next;
	pthread_mutex_unlock(&rnic->qp_lock);
	return qp;
}

/**
 * ri_qp_free() - Free a QP that lookups do not find any more
 * @qp: its QP of verbs is destroyed
 *
 * Context: any thread.
 */
void ri_qp_free(struct rnic_qp *qp)
{
	ri_ring_free(&qp->sq);
	ri_ring_free(&qp->rq);
	free(qp);
}

/**
 * ri_qp_enter() - Make a QP known by its number
 * @rnic: its RNIC handle
 * @qp: new
 *
 * Frees a dead QP with the same number, which has no more completions.
 *
 * Context: any thread; takes qp_lock.
 */
void ri_qp_enter(struct rnic *rnic, struct rnic_qp *qp)
{
	struct rnic_qp **p = &rnic->qps[qp->qpn % QPN_BUCKETS], *old;

	pthread_mutex_lock(&rnic->qp_lock);
	while (*p && (*p)->qpn != qp->qpn)
		p = &(*p)->next;
	old = *p;
	qp->next = old ? old->next : NULL;
	*p = qp;
	pthread_mutex_unlock(&rnic->qp_lock);
	if (old)
		ri_qp_free(old);
}

/**
 * ri_qp_forget() - Free dead QPs
 * @rnic: an RNIC handle
 * @srq: only QPs with this SRQ; NULL: all
 *
 * Context: any thread; takes qp_lock.
 */
void ri_qp_forget(struct rnic *rnic, const struct rnic_srq *srq)
{
	struct rnic_qp **p, *qp;
	unsigned int i;

	pthread_mutex_lock(&rnic->qp_lock);
	for (i = 0; i < QPN_BUCKETS; i++) {
		for (p = &rnic->qps[i]; (qp = *p);) {
			if (!qp->dead || (srq && qp->srq != srq)) {
				p = &qp->next;
				continue;
			}
			*p = qp->next;
			ri_qp_free(qp);
		}
	}
	pthread_mutex_unlock(&rnic->qp_lock);
}

static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;

/**
 * ri_qps_renew() - Reset the condition variable in a child, which has no QPs
 *
 * Context: ri_lock is held; in a child, in which no handle is valid.
 */
void ri_qps_renew(void)
{
	turned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/**
 * ri_qp_find_settled() - Look a QP up, and wait until its stream is not being attached
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic
 * @ret: as ri_find()
 *
 * Context: ri_lock is held; released while this waits for another thread's ri_qp_modify().
 * Return: the QP or NULL.
 */
struct rnic_qp *ri_qp_find_settled(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_api_return_t *ret)
{
	struct rnic_qp *found;

	while (found = ri_find(rnic, RI_KIND_QP, qp, ret), found && found->turning)
		pthread_cond_wait(&turned, &ri_lock);
	return found;
}

/**
 * ri_qp_attach() - Attach its stream to a QP
 * @qp: Idle
 * @msg: the last message in streaming mode
 * @len: its bytes; 0: none, and this end sends the first FPDU
 *
 * The kernel may wait for the peer, so other threads can use other objects meanwhile.
 *
 * Context: ri_lock is held; released during the call of the kernel.
 * Return: 0 or an errno.
 */
int ri_qp_attach(struct rnic_qp *qp, char *msg, uint32_t len)
{
	const ri_iwarp_qp_attr_t *iw = &qp->attr.qp_xport.qp_iwarp;
	const struct srnicdv_stream_attr stream = {
		.fd = qp->llp.fd,
		.keepalive = qp->llp.keepalive,
		.flags = (iw->mpa_attrs.crc_enabled ? SRNICDV_STREAM_CRC : 0) |
			 (iw->mpa_attrs.xmit_marker_enabled ? SRNICDV_STREAM_TX_MARKERS : 0) |
			 (iw->mpa_attrs.recv_marker_enabled ? SRNICDV_STREAM_RX_MARKERS : 0) |
			 (iw->enable_bind ? 0 : SRNICDV_STREAM_NO_BIND) |
			 (len ? SRNICDV_STREAM_RESPONDER : 0),
		.ird = qp->attr.max_rdma_read_incoming,
		.ord = qp->attr.max_rdma_read_outgoing,
		.last_msg = msg,
		.last_len = len,
	};
	int err;

	if (!qp->rnic->native)
		return EOPNOTSUPP;
	qp->turning = true;
	pthread_mutex_unlock(&ri_lock);
	err = srnicdv_attach_stream(qp->qp, &stream);
	pthread_mutex_lock(&ri_lock);
	qp->turning = false;
	pthread_cond_broadcast(&turned);
	return err;
}

/* --- the state --- */

static const struct {
	ri_qp_state_t ri;
	enum ibv_qp_state ibv;
} foreign_states[] = {
	{ RI_QP_STATE_IDLE, IBV_QPS_RESET },
	{ RI_QP_STATE_IDLE, IBV_QPS_INIT },
	{ RI_QP_STATE_READY_TO_SEND, IBV_QPS_RTR },
	{ RI_QP_STATE_READY_TO_SEND, IBV_QPS_RTS },
	{ RI_QP_STATE_CLOSING, IBV_QPS_SQD },
	{ RI_QP_STATE_TERMINATE, IBV_QPS_SQE },
	{ RI_QP_STATE_ERROR, IBV_QPS_ERR },
};

static const ri_qp_state_t native_states[] = {
	[SRNIC_QP_STATE_IDLE] = RI_QP_STATE_IDLE,
	[SRNIC_QP_STATE_RTS] = RI_QP_STATE_READY_TO_SEND,
	[SRNIC_QP_STATE_CLOSING] = RI_QP_STATE_CLOSING,
	[SRNIC_QP_STATE_TERMINATE] = RI_QP_STATE_TERMINATE,
	[SRNIC_QP_STATE_ERROR] = RI_QP_STATE_ERROR,
};

static int look_native(struct rnic_qp *qp)
{
	struct srnic_uresp_qp_query resp;
	int err;

	err = srnicdv_query_qp(qp->qp, &resp, sizeof(resp));
	if (err)
		return err;
	if (resp.state >= sizeof(native_states) / sizeof(native_states[0]))
		return EPROTO;
	qp->attr.state = native_states[resp.state];
	qp->windows = resp.windows;
	qp->attr.qp_xport.qp_iwarp.rq_armed = !!(resp.flags & SRNIC_QP_QUERY_RQ_ARMED);
	if (qp->attr.state == RI_QP_STATE_READY_TO_SEND) {
		qp->attr.max_rdma_read_incoming = resp.ird;
		qp->attr.max_rdma_read_outgoing = resp.ord;
	}
	return 0;
}

/**
 * ri_qp_look() - Query the state of a QP
 * @qp: its attributes are updated
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_look(struct rnic_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	unsigned int i;
	int err;

	if (qp->rnic->native)
		return look_native(qp);
	err = ibv_query_qp(qp->qp, &attr, IBV_QP_STATE, &init);
	for (i = 0; !err && i < sizeof(foreign_states) / sizeof(foreign_states[0]); i++)
		if (foreign_states[i].ibv == attr.qp_state)
			qp->attr.state = foreign_states[i].ri;
	return err;
}

/**
 * ri_qp_make_idle() - Take a QP to Idle, at its creation or again
 * @qp: in RESET of verbs
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_make_idle(struct rnic_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		/* the kernel takes no flags for all flags */
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
				   (qp->attr.enable_rdma_read ? IBV_ACCESS_REMOTE_READ : 0) |
				   (qp->attr.enable_rdma_write ? IBV_ACCESS_REMOTE_WRITE : 0) |
				   (qp->attr.qp_xport.qp_iwarp.enable_bind ? IBV_ACCESS_MW_BIND : 0),
	};

	return ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

/**
 * ri_qp_set_state() - Change the state of a QP
 * @qp: a QP
 * @state: IBV_QPS_*; IBV_QPS_RESET: Idle, from Error
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_set_state(struct rnic_qp *qp, int state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int err = ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);

	if (err || state != IBV_QPS_RESET)
		return err;
	if (qp->sq.slots)
		ri_ring_reset(&qp->sq);
	if (qp->rq.slots)
		ri_ring_reset(&qp->rq);
	return ri_qp_make_idle(qp);
}

/**
 * ri_qp_arm() - Arm the limit of a QP's receive queue
 * @qp: of an srnic device, with an SRQ
 * @limit: see srnicdv_arm_rq()
 *
 * Context: any thread; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_arm(struct rnic_qp *qp, uint32_t limit)
{
	return srnicdv_arm_rq(qp->qp, limit);
}
