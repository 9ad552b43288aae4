// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The direct verbs: methods of the driver for which libibverbs has no call. */
#include <errno.h>
#include <string.h>

#include "srnic.h"
#include "srnicdv.h"

/**
 * srnicdv_is_supported - do the other functions support a device and its objects?
 * @device: of ibv_get_device_list()
 */
bool srnicdv_is_supported(struct ibv_device *device)
{
	return srnic_is_ours(device);
}

/**
 * srnicdv_create_qp - ibv_create_qp_ex(), with attributes that verbs do not have
 * @ctx: the device
 * @attr: see ibv_create_qp_ex(3)
 * @dv_attr: those attributes; set to what the QP has
 *
 * Return: the QP, or NULL with errno, as ibv_create_qp_ex().
 */
struct ibv_qp *srnicdv_create_qp(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				 struct srnicdv_qp_init_attr *dv_attr)
{
	struct ibv_qp *qp = NULL;

	if (!srnic_is_ours(ctx->device) || dv_attr->comp_mask)
		errno = EOPNOTSUPP;
	else
		qp = srnic_create_qp_sges(ctx, attr, &dv_attr->max_write_sge);
	return qp;
}

/* All known flags */
#define STREAM_FLAGS \
	(SRNICDV_STREAM_RESPONDER | SRNICDV_STREAM_CRC | SRNICDV_STREAM_TX_MARKERS | \
	 SRNICDV_STREAM_RX_MARKERS | SRNICDV_STREAM_NO_BIND | SRNICDV_STREAM_RDMAC | \
	 SRNICDV_STREAM_NO_RESPONSES)

static uint32_t stream_flags(uint32_t flags)
{
	uint32_t to = 0;

	if (flags & SRNICDV_STREAM_RESPONDER)
		to |= SRNIC_QP_MODIFY_RESPONDER;
	if (flags & SRNICDV_STREAM_CRC)
		to |= SRNIC_QP_MODIFY_CRC;
	if (flags & SRNICDV_STREAM_TX_MARKERS)
		to |= SRNIC_QP_MODIFY_TX_MARKERS;
	if (flags & SRNICDV_STREAM_RX_MARKERS)
		to |= SRNIC_QP_MODIFY_RX_MARKERS;
	if (flags & SRNICDV_STREAM_NO_BIND)
		to |= SRNIC_QP_MODIFY_NO_BIND;
	if (flags & SRNICDV_STREAM_RDMAC)
		to |= SRNIC_QP_MODIFY_RDMAC;
	if (flags & SRNICDV_STREAM_NO_RESPONSES)
		to |= SRNIC_QP_MODIFY_NO_RESPONSES;
	return to;
}

static int check_stream(const struct ibv_qp *qp, const struct srnicdv_stream_attr *attr)
{
	if (!srnic_is_ours(qp->context->device) || attr->comp_mask ||
	    attr->flags & ~STREAM_FLAGS)
		return EOPNOTSUPP;
	if (attr->last_len > UINT16_MAX || (attr->last_len && !attr->last_msg))
		return EINVAL;
	/* libibverbs omits the attribute of a negative descriptor */
	return attr->fd < 0 ? EBADF : 0;
}

/**
 * srnicdv_attach_stream - take a QP from RESET or INIT to RTS with a TCP connection
 * @qp: the QP
 * @attr: the connection
 *
 * On success the QP owns the socket; the program may close its descriptor.
 * Documentation/uapi.rst has the other effects on the socket, and all errors.
 *
 * Return: 0 or an errno.
 */
int srnicdv_attach_stream(struct ibv_qp *qp, const struct srnicdv_stream_attr *attr)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, SRNIC_METHOD_QP_MODIFY, 4);
	struct srnic_ureq_qp_modify req = {
		.state = SRNIC_QP_MODIFY_RTS,
		.flags = stream_flags(attr->flags),
		.ird = attr->ird,
		.ord = attr->ord,
		.keepalive = attr->keepalive,
	};
	int err = check_stream(qp, attr);

	if (err)
		return err;
	fill_attr_in_obj(cmd, SRNIC_ATTR_QP_MODIFY_QP, qp->handle);
	fill_attr_in_ptr(cmd, SRNIC_ATTR_QP_MODIFY_REQ, &req);
	fill_attr_in_fd(cmd, SRNIC_ATTR_QP_MODIFY_STREAM_FD, attr->fd);
	if (attr->last_len)
		fill_attr_in(cmd, SRNIC_ATTR_QP_MODIFY_LAST_MSG, attr->last_msg,
			     attr->last_len);
	err = execute_ioctl(qp->context, cmd);
	if (err)
		return errno;
	qp->state = IBV_QPS_RTS;
	return 0;
}

static void fill_terminate(struct srnicdv_terminate *to, const struct srnic_terminate *from,
			   bool local)
{
	if (from->state == SRNIC_TERMINATE_NONE)
		return;
	to->valid = true;
	to->local = local;
	to->sent = local && from->state == SRNIC_TERMINATE_DONE;
	to->layer = from->layer;
	to->etype = from->etype;
	to->code = from->code;
	to->seg_len = from->seg_len;
	to->ddp_len = from->ddp_len;
	to->rdmap_len = from->rdmap_len;
	memcpy(to->ddp, from->ddp, sizeof(to->ddp));
	memcpy(to->rdmap, from->rdmap, sizeof(to->rdmap));
}

/**
 * srnicdv_query_terminate - the Terminate message that ended the last stream of a QP
 * @qp: the QP, in any state
 * @term: set
 *
 * Return: 0 or an errno.
 */
int srnicdv_query_terminate(struct ibv_qp *qp, struct srnicdv_terminate *term)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, SRNIC_METHOD_QP_QUERY_TERMINATE, 2);
	struct srnic_uresp_terminate resp = {};

	if (!srnic_is_ours(qp->context->device))
		return EOPNOTSUPP;
	fill_attr_in_obj(cmd, SRNIC_ATTR_QUERY_TERMINATE_QP, qp->handle);
	fill_attr_out_ptr(cmd, SRNIC_ATTR_QUERY_TERMINATE_RESP, &resp);
	if (execute_ioctl(qp->context, cmd))
		return errno;
	memset(term, 0, sizeof(*term));
	fill_terminate(term, &resp.sent, true);
	fill_terminate(term, &resp.received, false);
	return 0;
}

/**
 * srnicdv_wc_read_op - the operation of the current completion
 * @cq: between ibv_start_poll() and ibv_end_poll()
 *
 * Return: enum srnic_opcode, with SRNICDV_WC_SOLICITED; 0 for another driver's CQ.
 */
uint32_t srnicdv_wc_read_op(struct ibv_cq_ex *cq)
{
	const struct srnic_cqe *cqe = &to_srnic_cq_ex(cq)->current;

	if (!srnic_is_ours(cq->context->device))
		return 0;
	return cqe->opcode | (cqe->flags & SRNIC_CQE_SOLICITED ? SRNICDV_WC_SOLICITED : 0);
}
