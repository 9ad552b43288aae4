// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ri_qp_modify: what shared/modify.c needs of the device. */

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/net.h>
#include <net/sock.h>
#include "rnicpi/kernel/rnic.h"
#include "srnic.h"

static const ri_qp_state_t states[] = {
	[SRNIC_QP_IDLE] = RI_QP_STATE_IDLE,
	[SRNIC_QP_RTS] = RI_QP_STATE_READY_TO_SEND,
	[SRNIC_QP_CLOSING] = RI_QP_STATE_CLOSING,
	[SRNIC_QP_TERMINATE] = RI_QP_STATE_TERMINATE,
	[SRNIC_QP_ERROR] = RI_QP_STATE_ERROR,
};

/**
 * ri_qp_hold_stream - hold the file of the stream handle that is set now, and no other one
 * @qp: its mutex is held, or nobody else knows it
 *
 * Context: may sleep.
 */
void ri_qp_hold_stream(struct rnic_qp *qp)
{
	struct file *file = qp->have_llp ? qp->llp.file : NULL;

	if (file == qp->file)
		return;
	if (qp->file)
		fput(qp->file);
	qp->file = file ? get_file(file) : NULL;
}

/**
 * ri_is_connected - is a stream an established TCP connection? (L1297)
 * @llp: a stream
 *
 * Context: any.
 */
bool ri_is_connected(const struct ri_linux_llp *llp)
{
	struct socket *sock = llp->file ? sock_from_file(llp->file) : NULL;

	return sock && sock->sk && sk_is_tcp(sock->sk) &&
	       READ_ONCE(sock->sk->sk_state) == TCP_ESTABLISHED;
}

/**
 * ri_qp_look - query the state of a QP
 * @qp: its attributes are brought up to date; its mutex is held
 *
 * Context: any. Return: 0.
 */
int ri_qp_look(struct rnic_qp *qp)
{
	struct srnic_native_qp is;

	srnic_native_qp_query(qp->qp, &is);
	qp->attr.state = states[is.state];
	qp->windows = is.windows;
	qp->attr.qp_xport.qp_iwarp.rq_armed = is.rq_armed;
	qp->attr.qp_xport.qp_iwarp.terminate_msg_length = is.term_len;
	qp->attr.qp_xport.qp_iwarp.is_terminate_local = is.term_local;
	memcpy(qp->attr.qp_xport.qp_iwarp.terminate_buffer, is.term, is.term_len);
	if (is.state == SRNIC_QP_RTS) {
		qp->attr.max_rdma_read_incoming = is.ird;
		qp->attr.max_rdma_read_outgoing = is.ord;
	}
	return 0;
}

/**
 * ri_qp_refresh - query the state of a QP, and let go of a stream that has ended
 * @qp: its mutex is held
 *
 * A stream ends with its connection: a QP that is Idle again has none (L2749). Context: may sleep.
 */
void ri_qp_refresh(struct rnic_qp *qp)
{
	ri_qp_look(qp);
	if (!qp->attached || qp->attr.state != RI_QP_STATE_IDLE)
		return;
	qp->attached = false;
	qp->have_llp = false;
	ri_qp_hold_stream(qp);
}

/**
 * ri_qp_arm - arm the limit of a QP's receive queue
 * @qp: with an SRQ; its mutex is held, or it is new
 * @limit: see srnic_native_rq_arm()
 *
 * Context: any. Return: 0 or a negative errno.
 */
int ri_qp_arm(struct rnic_qp *qp, u32 limit)
{
	return srnic_native_rq_arm(qp->qp, limit);
}

/**
 * ri_qp_set_state - change the state of a QP
 * @qp: its mutex is held
 * @state: IB_QPS_*
 *
 * Context: may sleep. Return: 0 or a negative errno.
 */
int ri_qp_set_state(struct rnic_qp *qp, int state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(qp->qp, &attr, IB_QP_STATE);
}

/**
 * ri_qp_resize - resize the queues of a QP
 * @qp: in Idle or RTS; its mutex is held
 * @sq_size: WRs that the SQ is to take
 * @rq_size: WRs that the RQ is to take; ignored with an SRQ
 *
 * Its attributes have the actual sizes afterwards; with an SRQ rq_size stays as it is, see
 * ri_made_qp(). Context: may sleep.
 *
 * Return: 0 or a negative errno; -EINVAL: more WRs are outstanding.
 */
int ri_qp_resize(struct rnic_qp *qp, u32 sq_size, u32 rq_size)
{
	struct ib_qp_attr attr = {
		.cap = {
			.max_send_wr = max(sq_size, 1U),
			.max_recv_wr = qp->srq ? 0 : max(rq_size, 1U),
		},
	};
	int err = ib_modify_qp(qp->qp, &attr, IB_QP_CAP);

	if (err)
		return err;
	qp->attr.sq_size = attr.cap.max_send_wr;
	if (!qp->srq)
		qp->attr.rq_size = attr.cap.max_recv_wr;
	return 0;
}

/**
 * ri_qp_attach - attach its stream to a QP
 * @qp: Idle; its mutex is held
 * @msg: the last message in streaming mode
 * @len: its bytes; 0: none, and this end sends the first FPDU
 *
 * Context: may sleep. Return: 0 or a negative errno.
 */
int ri_qp_attach(struct rnic_qp *qp, char *msg, u32 len)
{
	const ri_mpa_attr_t *mpa = &qp->attr.qp_xport.qp_iwarp.mpa_attrs;
	const struct srnic_handover req = {
		.file = qp->llp.file,
		.keepalive = qp->llp.keepalive,
		.attach = {
			.mpa = {
				.crc = mpa->crc_enabled,
				.tx_markers = mpa->xmit_marker_enabled,
				.rx_markers = mpa->recv_marker_enabled,
				.ird = qp->attr.max_rdma_read_incoming,
				.ord = qp->attr.max_rdma_read_outgoing,
			},
			.rdmac = !mpa->ddp_rdmap_version,
			.initiator = !len,
			.no_responses = !qp->attr.enable_rdma_write,
			.last_msg = msg,
			.last_len = len,
		},
	};
	int err = srnic_native_handover(qp->qp, &req);

	qp->attached |= !err;
	return err;
}

static ri_api_return_t modify(struct rnic_qp *qp, ri_qp_attr_mask_t mask, ri_qp_attr_t *attrs,
			      ri_err_data_t *err_data)
{
	struct ri_limits n = ri_limits_of(qp->obj.rnic);
	ri_api_return_t ret;

	mutex_lock(&qp->mutex);
	ri_qp_refresh(qp);
	ret = ri_modify(qp, &n, mask, attrs, err_data);
	ri_qp_hold_stream(qp);
	mutex_unlock(&qp->mutex);
	return ret;
}

/**
 * ri_do_qp_modify - change attributes and the state of a QP
 * @rnic: an RNIC handle
 * @qp: a QP of @rnic
 * @qp_mask: which of @attrs
 * @attrs: new attributes; all of them take effect, or none
 * @err_data: may be NULL
 *
 * Idle to RTS takes the file of a connected TCP socket. The QP holds a reference to the file that
 * is set, in this call or an earlier one. With a last message the peer sends the first FPDU.
 * Context: may sleep until the last message is sent.
 *
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_QP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_QP_INVALID_STATE, RI_RET_QP_ATTRIBUTE_CANT_CHANGE,
 * RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_QP_CANNOT_SHRINK, RI_RET_RNIC_IRD_ORD_EXCEEDED,
 * RI_RET_INVALID_LLP_HANDLE,
 * RI_RET_LLP_BAD_STATE, RI_RET_INVALID_DDP_RDMAP_VERSION, RI_RET_STILL_FLUSHING_WQES,
 * RI_RET_WINDOWS_BOUND, RI_RET_RESOURCE_SHORTAGE, RI_RET_SRQ_LIMIT_OUT_OF_RANGE;
 * RI_RET_MPA_ATTR_UNSUPPORTED: the device requires CRC
 */
ri_api_return_t ri_do_qp_modify(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_qp_attr_mask_t qp_mask,
				ri_qp_attr_t *attrs, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_get(rnic, RI_KIND_QP, qp, &ret);

	if (!obj)
		return ri_answer(err_data, ret);
	if (attrs)
		ret = modify(to_qp(obj), qp_mask, attrs, err_data);
	else
		ret = ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	ri_put(obj);
	return ret;
}
