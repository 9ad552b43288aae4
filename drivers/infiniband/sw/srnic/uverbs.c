// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Methods of the driver: ioctls on the objects of uverbs, for what RDMAC has
 * and Linux verbs have no call for.
 */

#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include "qp.h"
#include "srnic.h"

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

/* Nothing is copied but what the message quoted: the rest stays 0 */
static void fill_terminate(struct srnic_terminate *to, const struct rdmap_term *term,
			   bool done)
{
	to->state = done ? SRNIC_TERMINATE_DONE : SRNIC_TERMINATE_UNSENT;
	to->layer = term->err.layer;
	to->etype = term->err.etype;
	to->code = term->err.code;
	to->hdrct = term->err.hdrct;
	if (term->err.hdrct & RDMAP_TERM_M)
		to->seg_len = term->seg_len;
	if (term->err.hdrct & RDMAP_TERM_D) {
		to->ddp_len = ddp_hdr_len(term->ddp[0] & DDP_T);
		memcpy(to->ddp, term->ddp, to->ddp_len);
	}
	if (term->err.hdrct & RDMAP_TERM_R) {
		to->rdmap_len = RDMAP_READ_REQ_LEN;
		memcpy(to->rdmap, term->read_req, RDMAP_READ_REQ_LEN);
	}
}

/* QP-15: the Terminate message, and who sent it */
static int UVERBS_HANDLER(SRNIC_METHOD_QP_QUERY_TERMINATE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_qp *ibqp = uverbs_attr_get_obj(attrs, SRNIC_ATTR_QUERY_TERMINATE_QP);
	struct srnic_uresp_terminate resp = { };
	struct rdmap_term term;
	bool local, sent;

	BUILD_BUG_ON(sizeof(struct srnic_terminate) != 64);
	BUILD_BUG_ON(SRNIC_TERMINATE_M != RDMAP_TERM_M || SRNIC_TERMINATE_D != RDMAP_TERM_D ||
		     SRNIC_TERMINATE_R != RDMAP_TERM_R);
	BUILD_BUG_ON(sizeof(resp.sent.ddp) != DDP_UNTAGGED_LEN ||
		     sizeof(resp.sent.rdmap) != RDMAP_READ_REQ_LEN);

	if (IS_ERR(ibqp))
		return PTR_ERR(ibqp);
	if (srnic_qp_terminate(to_srnic_qp(ibqp), &term, &local, &sent))
		fill_terminate(local ? &resp.sent : &resp.received, &term, !local || sent);
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

const struct uapi_definition srnic_uapi_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_QP, &srnic_qp_object),
	{ },
};
