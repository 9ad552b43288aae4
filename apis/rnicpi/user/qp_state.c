// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The QPs of an RNIC, by handle and by number, and the state that one is in. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "qp.h"

/* --- by number --- */

/**
 * ri_qp_handle_of() - Look up a QP's handle and os_data by its number
 * @rnic: its RNIC handle
 * @qpn: its number
 * @os_data: set
 *
 * Context: any thread; takes qp_lock.
 * Return: the handle, NULL if there is no such QP. It may be destroyed meanwhile.
 */
ri_qp_handle_t ri_qp_handle_of(struct rnic *rnic, uint32_t qpn, ri_os_data_t *os_data)
{
	ri_qp_handle_t handle = NULL;
	struct rnic_qp *qp;

	pthread_mutex_lock(&rnic->qp_lock);
	for (qp = rnic->qps[qpn % QPN_BUCKETS]; qp && !handle; qp = qp->next) {
		if (qp->qpn != qpn || __atomic_load_n(&qp->dead, __ATOMIC_ACQUIRE))
			continue;
		handle = qp->handle;
		*os_data = qp->os_data;
	}
	pthread_mutex_unlock(&rnic->qp_lock);
	return handle;
}

/**
 * ri_qp_enter() - Make a QP known by its number
 * @qp: new
 *
 * Context: any thread; takes qp_lock.
 */
void ri_qp_enter(struct rnic_qp *qp)
{
	struct rnic_qp **p = &qp->rnic->qps[qp->qpn % QPN_BUCKETS];

	pthread_mutex_lock(&qp->rnic->qp_lock);
	qp->next = *p;
	*p = qp;
	pthread_mutex_unlock(&qp->rnic->qp_lock);
}

/**
 * ri_qp_leave() - Take a QP out of the table of numbers
 * @qp: no CQ has a completion of it
 *
 * Context: any thread; takes qp_lock.
 */
void ri_qp_leave(struct rnic_qp *qp)
{
	struct rnic_qp **p = &qp->rnic->qps[qp->qpn % QPN_BUCKETS];

	pthread_mutex_lock(&qp->rnic->qp_lock);
	while (*p != qp)
		p = &(*p)->next;
	*p = qp->next;
	pthread_mutex_unlock(&qp->rnic->qp_lock);
}

/* --- streams --- */

/**
 * ri_is_connected() - Whether a stream is an established TCP connection (L1297)
 * @llp: a stream
 *
 * Context: any thread.
 * Return: false: a QP cannot have it.
 */
bool ri_is_connected(const struct ri_linux_llp *llp)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info);

	return !getsockopt(llp->fd, IPPROTO_TCP, TCP_INFO, &info, &size) &&
	       info.tcpi_state == TCP_ESTABLISHED;
}

/**
 * ri_socket_of() - Identify a socket
 * @fd: its descriptor
 *
 * Context: any thread.
 * Return: its inode's number, 0 if @fd is not open.
 */
ino_t ri_socket_of(int fd)
{
	struct stat is;

	return fstat(fd, &is) ? 0 : is.st_ino;
}

/* --- changes, one after the other --- */

/**
 * ri_qp_lock_settled() - Lock a QP whose stream is not being attached
 * @qp: a QP
 *
 * Context: any thread; takes the QP's mutex, and waits for another thread's ri_qp_modify().
 */
void ri_qp_lock_settled(struct rnic_qp *qp)
{
	pthread_mutex_lock(&qp->mutex);
	while (qp->turning)
		pthread_cond_wait(&qp->turned, &qp->mutex);
}

/**
 * ri_qp_attach() - Attach its stream to a QP
 * @qp: Idle
 * @msg: the last message in streaming mode
 * @len: its bytes; 0: none, and this end sends the first FPDU
 *
 * The kernel may wait for the peer, so other threads can query the QP meanwhile.
 *
 * Context: the QP's mutex is held; released during the call of the kernel.
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
			 (iw->mpa_attrs.ddp_rdmap_version ? 0 : SRNICDV_STREAM_RDMAC) |
			 (iw->enable_bind ? 0 : SRNICDV_STREAM_NO_BIND) |
			 (qp->attr.enable_rdma_write ? 0 : SRNICDV_STREAM_NO_RESPONSES) |
			 (len ? SRNICDV_STREAM_RESPONDER : 0),
		.ird = qp->attr.max_rdma_read_incoming,
		.ord = qp->attr.max_rdma_read_outgoing,
		.last_msg = msg,
		.last_len = len,
	};
	int err;

	if (!qp->rnic->native)
		return EOPNOTSUPP;
	if (ri_socket_of(qp->llp.fd) != qp->socket)
		return EBADF;
	qp->turning = true;
	pthread_mutex_unlock(&qp->mutex);
	err = srnicdv_attach_stream(qp->qp, &stream);
	pthread_mutex_lock(&qp->mutex);
	qp->turning = false;
	qp->restless = !err;
	pthread_cond_broadcast(&qp->turned);
	return err;
}

/**
 * ri_qp_resize() - Resize the queues of a QP
 * @qp: in Idle or RTS, on an srnic device
 * @sq_size: WRs that the SQ is to take
 * @rq_size: WRs that the RQ is to take; ignored with an SRQ
 *
 * Its attributes have the actual sizes afterwards; with an SRQ rq_size stays as it is, see
 * ri_made_qp().
 *
 * Context: the QP's mutex is held; sleeps.
 * Return: 0 or an errno; EINVAL: more WRs are outstanding.
 */
int ri_qp_resize(struct rnic_qp *qp, uint32_t sq_size, uint32_t rq_size)
{
	struct ibv_qp_attr attr = {
		.cap = {
			.max_send_wr = sq_size ? sq_size : 1,
			.max_recv_wr = qp->srq ? 0 : rq_size ? rq_size : 1,
		},
	};
	int err;

	if (!ri_ring_grow(&qp->sq, attr.cap.max_send_wr) ||
	    !ri_ring_grow(&qp->rq, attr.cap.max_recv_wr))
		return ENOMEM;
	err = ibv_modify_qp(qp->qp, &attr, IBV_QP_CAP);
	if (err)
		return err;
	qp->attr.sq_size = attr.cap.max_send_wr;
	if (!qp->srq)
		qp->attr.rq_size = attr.cap.max_recv_wr;
	return 0;
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

/**
 * ri_qp_make_idle() - Take a QP to Idle, at its creation or again
 * @qp: new, in Error or in Idle
 *
 * verbs then takes as many new WRs as the queues have, whether or not the last ones were signaled.
 *
 * Context: the QP is new, or its mutex is held; sleeps.
 * Return: 0 or an errno.
 */
int ri_qp_make_idle(struct rnic_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		/* the kernel would read 0 as all flags */
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
				   (qp->attr.enable_rdma_read ? IBV_ACCESS_REMOTE_READ : 0) |
				   (qp->attr.enable_rdma_write ? IBV_ACCESS_REMOTE_WRITE : 0) |
				   (qp->attr.qp_xport.qp_iwarp.enable_bind ? IBV_ACCESS_MW_BIND : 0),
	};

	return ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

/*
 * Makes the QP as it was after its creation (L2791): verbs has no WR and no completion of it. The
 * program can still take the completions from before (L2786).
 */
static int come_to_rest(struct rnic_qp *qp)
{
	int err = ri_qp_make_idle(qp);

	if (err)
		return err;
	ri_cq_keep(qp->scq, NULL);
	if (qp->rcq != qp->scq)
		ri_cq_keep(qp->rcq, NULL);
	ri_ring_rest(&qp->sq);
	ri_ring_rest(&qp->rq);
	qp->restless = false;
	qp->have_llp = false;
	return 0;
}

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
	return qp->attr.state == RI_QP_STATE_IDLE && qp->restless ? come_to_rest(qp) : 0;
}

/**
 * ri_qp_look() - Query the state of a QP
 * @qp: its attributes are updated
 *
 * A normal close takes the QP to Idle without a call. Then this call makes its queues as new.
 *
 * Context: the QP's mutex is held; sleeps.
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
	int err = 0;

	/* on srnic RESET would discard completions; come_to_rest() uses INIT */
	if (state != IBV_QPS_RESET || !qp->rnic->native)
		err = ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
	if (!err && state == IBV_QPS_RESET)
		err = come_to_rest(qp);
	return err;
}

/**
 * ri_qp_closed() - Query a QP whose LLP close is complete, so that its queues are as new
 * @qp: a QP
 *
 * Context: any thread; does nothing if another thread has the QP's mutex, and so looks by itself.
 */
void ri_qp_closed(struct rnic_qp *qp)
{
	if (pthread_mutex_trylock(&qp->mutex))
		return;
	ri_qp_look(qp);
	pthread_mutex_unlock(&qp->mutex);
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
