// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Methods of the driver: ioctls on the objects of uverbs, for functions of the RDMAC
 * verbs that Linux verbs do not have.
 */

#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include "queue/state.h"
#include "srnic.h"
#include "verbs/dm.h"
#include "verbs/events.h"
#include "verbs/qp_modify.h"
#include "verbs/query.h"
#include "verbs/share.h"
#include "verbs/uverbs.h"

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

/* The ABI: sizes and offsets that existing providers rely on */
#define ABI_SIZE(name, bytes)						\
	static_assert(sizeof(struct name) == (bytes))
#define ABI_FIELD(name, field, at)					\
	static_assert(offsetof(struct name, field) == (at))

ABI_SIZE(srnic_ureq_alloc_ctx, 16);
ABI_FIELD(srnic_ureq_alloc_ctx, required, 8);
ABI_SIZE(srnic_uresp_alloc_ctx, 24);
ABI_FIELD(srnic_uresp_alloc_ctx, max_inline, 8);
ABI_FIELD(srnic_uresp_alloc_ctx, max_recv_sge, 16);
ABI_SIZE(srnic_mmap, 16);
ABI_FIELD(srnic_mmap, size, 8);
ABI_SIZE(srnic_uresp_create_cq, 24);
ABI_FIELD(srnic_uresp_create_cq, entries, 16);
ABI_FIELD(srnic_uresp_create_cq, cqe_size, 20);
ABI_SIZE(srnic_ureq_resize_cq, 8);
ABI_FIELD(srnic_ureq_resize_cq, reserved, 4);
ABI_SIZE(srnic_uresp_resize_cq, 24);
ABI_FIELD(srnic_uresp_resize_cq, entries, 16);
ABI_SIZE(srnic_ureq_qp_resize, 16);
ABI_FIELD(srnic_ureq_qp_resize, reserved, 12);
ABI_SIZE(srnic_uresp_qp_resize, 40);
ABI_FIELD(srnic_uresp_qp_resize, rq, 16);
ABI_FIELD(srnic_uresp_qp_resize, rq_entries, 36);
ABI_SIZE(srnic_ureq_create_qp, 8);
ABI_SIZE(srnic_uresp_create_qp, 56);
ABI_FIELD(srnic_uresp_create_qp, rq, 16);
ABI_FIELD(srnic_uresp_create_qp, sq_entries, 32);
ABI_FIELD(srnic_uresp_create_qp, rq_entries, 36);
ABI_FIELD(srnic_uresp_create_qp, sqe_size, 40);
ABI_FIELD(srnic_uresp_create_qp, rqe_size, 44);
ABI_FIELD(srnic_uresp_create_qp, qpn, 48);
ABI_FIELD(srnic_uresp_create_qp, max_write_sge, 52);
ABI_SIZE(srnic_uresp_create_srq, 24);
ABI_FIELD(srnic_uresp_create_srq, entries, 16);
ABI_FIELD(srnic_uresp_create_srq, rqe_size, 20);
ABI_SIZE(srnic_uresp_create_ah, 8);
ABI_FIELD(srnic_uresp_create_ah, number, 0);
ABI_SIZE(srnic_ring_hdr, 256);
ABI_FIELD(srnic_ring_hdr, moved_entries, 16);
ABI_FIELD(srnic_ring_hdr, lost, 20);
ABI_FIELD(srnic_ring_hdr, producer, 64);
ABI_FIELD(srnic_ring_hdr, consumer, 128);
ABI_FIELD(srnic_ring_hdr, flags, 192);
ABI_SIZE(srnic_sge, 16);
ABI_FIELD(srnic_sge, lkey, 12);
ABI_SIZE(srnic_sqe, 64);
ABI_FIELD(srnic_sqe, opcode, 8);
ABI_FIELD(srnic_sqe, num_sge, 10);
ABI_FIELD(srnic_sqe, inline_len, 12);
ABI_FIELD(srnic_sqe, rkey, 16);
ABI_FIELD(srnic_sqe, stag, 20);
ABI_FIELD(srnic_sqe, remote_addr, 24);
ABI_FIELD(srnic_sqe, arg, 32);
ABI_SIZE(srnic_rqe, 16);
ABI_FIELD(srnic_rqe, num_sge, 8);
ABI_SIZE(srnic_cqe, 64);
ABI_FIELD(srnic_cqe, status, 8);
ABI_FIELD(srnic_cqe, qpn, 20);
ABI_FIELD(srnic_cqe, flags, 24);
ABI_FIELD(srnic_cqe, data, 28);
ABI_FIELD(srnic_cqe, vendor_err, 32);
ABI_FIELD(srnic_cqe, wqe_index, 36);
ABI_FIELD(srnic_cqe, timestamp, 40);
ABI_FIELD(srnic_cqe, wallclock, 48);
ABI_FIELD(srnic_cqe, src_qp, 56);
ABI_SIZE(srnic_terminate, 64);
ABI_FIELD(srnic_terminate, hdrct, 4);
ABI_FIELD(srnic_terminate, ddp, 12);
ABI_FIELD(srnic_terminate, rdmap, 30);
ABI_SIZE(srnic_uresp_terminate, 128);
ABI_FIELD(srnic_uresp_terminate, received, 64);

/* QP-15: the Terminate message, and which end sent it */
static int UVERBS_HANDLER(SRNIC_METHOD_QP_QUERY_TERMINATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QUERY_TERMINATE_QP);
	struct srnic_uresp_terminate resp = { };
	struct rdmap_term term;
	bool local, sent;

	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	if (srnic_qp_terminate(to_srnic_qp(ibqp), &term, &local, &sent))
		srnic_term_fill(local ? &resp.sent : &resp.received, &term, !local || sent);
	return uverbs_copy_to_struct_or_zero(attrs, SRNIC_ATTR_QUERY_TERMINATE_RESP, &resp,
					     sizeof(resp));
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_QP_QUERY_TERMINATE,
			    UVERBS_ATTR_IDR(SRNIC_ATTR_QUERY_TERMINATE_QP, UVERBS_OBJECT_QP,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SRNIC_ATTR_QUERY_TERMINATE_RESP,
						UVERBS_ATTR_STRUCT(struct srnic_uresp_terminate,
								   received),
						UA_MANDATORY));

ADD_UVERBS_METHODS(srnic_qp_object, UVERBS_OBJECT_QP,
		   &UVERBS_METHOD(SRNIC_METHOD_QP_QUERY_TERMINATE));

ADD_UVERBS_ATTRIBUTES_SIMPLE(srnic_query_context, UVERBS_OBJECT_DEVICE,
			     UVERBS_METHOD_QUERY_CONTEXT,
			     UVERBS_ATTR_PTR_OUT(SRNIC_ATTR_QUERY_CONTEXT_RESP,
						 UVERBS_ATTR_STRUCT(struct srnic_uresp_alloc_ctx,
								    reserved),
						 UA_OPTIONAL));

const struct uapi_definition srnic_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &srnic_query_context),
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &srnic_qp_object),
	UAPI_DEF_CHAIN(srnic_uapi_dm_defs),
	UAPI_DEF_CHAIN(srnic_uapi_event_defs),
	UAPI_DEF_CHAIN(srnic_uapi_modify_defs),
	UAPI_DEF_CHAIN(srnic_uapi_query_defs),
	UAPI_DEF_CHAIN(srnic_uapi_share_defs),
	{ },
};
