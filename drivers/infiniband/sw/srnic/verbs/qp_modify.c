// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Modify QP of the RDMAC verbs, with parameters that Linux verbs do not have: the LLP
 * stream, the last message in streaming mode, and the settings that MPA negotiated.
 */

#include <linux/file.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include "cm/handover.h"
#include "qp/qp.h"
#include "queue/wq.h"
#include "srnic.h"
#include "verbs/qp_modify.h"

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

static_assert(sizeof(struct srnic_ureq_qp_modify) == 16);
static_assert(offsetof(struct srnic_ureq_qp_modify, ird) == 8);
static_assert(offsetof(struct srnic_ureq_qp_modify, keepalive) == 12);

/* All known flags */
#define MODIFY_FLAGS	(SRNIC_QP_MODIFY_RESPONDER | SRNIC_QP_MODIFY_CRC | \
			 SRNIC_QP_MODIFY_TX_MARKERS | SRNIC_QP_MODIFY_RX_MARKERS | \
			 SRNIC_QP_MODIFY_NO_BIND | SRNIC_QP_MODIFY_RDMAC | \
			 SRNIC_QP_MODIFY_NO_RESPONSES)

static int check_request(const struct srnic_ureq_qp_modify *req)
{
	if (req->state != SRNIC_QP_MODIFY_RTS || req->flags & ~MODIFY_FLAGS)
		return -EOPNOTSUPP;
	return req->keepalive > SRNIC_MAX_KEEPALIVE ? -EINVAL : 0;
}

static void fill_attach(struct srnic_attach *to, const struct srnic_ureq_qp_modify *req)
{
	to->initiator = !(req->flags & SRNIC_QP_MODIFY_RESPONDER);
	to->no_bind = req->flags & SRNIC_QP_MODIFY_NO_BIND;
	to->no_responses = req->flags & SRNIC_QP_MODIFY_NO_RESPONSES;
	to->rdmac = req->flags & SRNIC_QP_MODIFY_RDMAC;
	to->mpa.crc = req->flags & SRNIC_QP_MODIFY_CRC;
	to->mpa.tx_markers = req->flags & SRNIC_QP_MODIFY_TX_MARKERS;
	to->mpa.rx_markers = req->flags & SRNIC_QP_MODIFY_RX_MARKERS;
	to->mpa.ird = req->ird;
	to->mpa.ord = req->ord;
}

/* The last message may be absent */
static int fill_message(struct srnic_attach *to, struct uverbs_attr_bundle *attrs)
{
	if (!uverbs_attr_is_valid(attrs, SRNIC_ATTR_QP_MODIFY_LAST_MSG))
		return 0;
	to->last_msg = uverbs_attr_get_alloced_ptr(attrs, SRNIC_ATTR_QP_MODIFY_LAST_MSG);
	if (IS_ERR(to->last_msg))
		return PTR_ERR(to->last_msg);
	to->last_len = uverbs_attr_get_len(attrs, SRNIC_ATTR_QP_MODIFY_LAST_MSG);
	return 0;
}

static int handover_fd(struct srnic_qp *qp, struct srnic_handover *to, int fd)
{
	int err;

	to->file = fget(fd);
	if (!to->file)
		return -EBADF;
	err = srnic_handover(qp, to);
	fput(to->file);
	return err;
}

/* QP-22 to QP-24: Idle to RTS */
static int UVERBS_HANDLER(SRNIC_METHOD_QP_MODIFY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QP_MODIFY_QP);
	struct srnic_ureq_qp_modify req = { };
	struct srnic_handover to = { };
	int err, fd;

	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	err = uverbs_copy_from(&req, attrs, SRNIC_ATTR_QP_MODIFY_REQ);
	if (!err)
		err = check_request(&req);
	if (!err)
		err = uverbs_get_raw_fd(&fd, attrs, SRNIC_ATTR_QP_MODIFY_STREAM_FD);
	if (!err)
		err = fill_message(&to.attach, attrs);
	if (err)
		return err;
	to.keepalive = req.keepalive;
	fill_attach(&to.attach, &req);
	return handover_fd(to_srnic_qp(ibqp), &to, fd);
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_QP_MODIFY,
			    UVERBS_ATTR_IDR(SRNIC_ATTR_QP_MODIFY_QP, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SRNIC_ATTR_QP_MODIFY_REQ,
					       UVERBS_ATTR_STRUCT(struct srnic_ureq_qp_modify,
								  keepalive),
					       UA_MANDATORY),
			    UVERBS_ATTR_RAW_FD(SRNIC_ATTR_QP_MODIFY_STREAM_FD, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SRNIC_ATTR_QP_MODIFY_LAST_MSG,
					       UVERBS_ATTR_MIN_SIZE(1),
					       UA_OPTIONAL, UA_ALLOC_AND_COPY));

/* SR-26 */
static int UVERBS_HANDLER(SRNIC_METHOD_QP_ARM_RQ)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QP_ARM_RQ_QP);
	u32 limit;
	int err;

	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	err = uverbs_copy_from(&limit, attrs, SRNIC_ATTR_QP_ARM_RQ_LIMIT);
	return err ?: srnic_rq_arm(to_srnic_qp(ibqp), limit);
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_QP_ARM_RQ,
			    UVERBS_ATTR_IDR(SRNIC_ATTR_QP_ARM_RQ_QP, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SRNIC_ATTR_QP_ARM_RQ_LIMIT,
					       UVERBS_ATTR_TYPE(u32), UA_MANDATORY));

/* QP-20 to QP-22. A program resizes in two calls, see srnic-abi.h */
static int UVERBS_HANDLER(SRNIC_METHOD_QP_RESIZE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QP_RESIZE_QP);
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct srnic_uresp_qp_resize resp = { };
	struct srnic_ureq_qp_resize req = { };
	struct ib_qp_cap cap = { };
	struct srnic_qp *qp;
	int err;

	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	err = uverbs_copy_from(&req, attrs, SRNIC_ATTR_QP_RESIZE_REQ);
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;
	qp = to_srnic_qp(ibqp);
	cap.max_send_wr = req.max_send_wr;
	cap.max_recv_wr = req.max_recv_wr;
	switch (req.step) {
	case SRNIC_RESIZE_PREPARE:
		err = srnic_wq_resize_prepare(qp, &cap, uctx, &resp);
		break;
	case SRNIC_RESIZE_COMMIT:
		return srnic_wq_resize_commit(qp, &cap);
	case SRNIC_RESIZE_CANCEL:
		srnic_wq_resize_cancel(qp);
		return 0;
	default:
		return -EINVAL;
	}
	return err ?: uverbs_copy_to_struct_or_zero(attrs, SRNIC_ATTR_QP_RESIZE_RESP, &resp,
						    sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_QP_RESIZE,
			    UVERBS_ATTR_IDR(SRNIC_ATTR_QP_RESIZE_QP, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SRNIC_ATTR_QP_RESIZE_REQ,
					       UVERBS_ATTR_STRUCT(struct srnic_ureq_qp_resize,
								  reserved),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SRNIC_ATTR_QP_RESIZE_RESP,
						UVERBS_ATTR_STRUCT(struct srnic_uresp_qp_resize,
								   rq_entries),
						UA_MANDATORY));

ADD_UVERBS_METHODS(srnic_qp_modify_object, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(SRNIC_METHOD_QP_MODIFY),
		   &UVERBS_METHOD(SRNIC_METHOD_QP_ARM_RQ),
		   &UVERBS_METHOD(SRNIC_METHOD_QP_RESIZE));

const struct uapi_definition srnic_uapi_modify_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &srnic_qp_modify_object),
	{ },
};
