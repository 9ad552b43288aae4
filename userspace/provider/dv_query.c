// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The direct verbs: queries of the RDMAC verbs. */
#include <errno.h>

#include "srnic.h"
#include "srnicdv.h"

/* Sets fields that the kernel does not know to 0. Return: 0 or an errno */
static int query(struct ibv_context *ctx, uint16_t object, uint16_t method,
		 const uint32_t *handle, void *resp, size_t size)
{
	DECLARE_COMMAND_BUFFER(cmd, object, method, 2);

	if (!srnic_is_ours(ctx->device))
		return EOPNOTSUPP;
	if (size > UINT16_MAX)
		return EINVAL;
	if (handle)
		fill_attr_in_obj(cmd, SRNIC_ATTR_QUERY_HANDLE, *handle);
	fill_attr_out(cmd, SRNIC_ATTR_QUERY_RESP, resp, size);
	return execute_ioctl(ctx, cmd) ? errno : 0;
}

/**
 * srnicdv_query_device - attributes of a device
 * @ctx: the device
 * @resp: filled in
 * @size: its bytes, as for the functions below
 *
 * Return: 0 or an errno, as the functions below.
 */
int srnicdv_query_device(struct ibv_context *ctx, struct srnic_uresp_dev_query *resp,
			 size_t size)
{
	return query(ctx, UVERBS_OBJECT_DEVICE, SRNIC_METHOD_DEV_QUERY, NULL, resp, size);
}

/**
 * srnicdv_query_qp - attributes of a QP and of its stream
 */
int srnicdv_query_qp(struct ibv_qp *qp, struct srnic_uresp_qp_query *resp, size_t size)
{
	return query(qp->context, UVERBS_OBJECT_QP, SRNIC_METHOD_QP_QUERY, &qp->handle, resp,
		     size);
}

/**
 * srnicdv_query_cq - attributes of a CQ
 */
int srnicdv_query_cq(struct ibv_cq *cq, struct srnic_uresp_cq_query *resp, size_t size)
{
	return query(cq->context, UVERBS_OBJECT_CQ, SRNIC_METHOD_CQ_QUERY, &cq->handle, resp,
		     size);
}

/**
 * srnicdv_query_srq - attributes of an SRQ
 */
int srnicdv_query_srq(struct ibv_srq *srq, struct srnic_uresp_srq_query *resp, size_t size)
{
	return query(srq->context, UVERBS_OBJECT_SRQ, SRNIC_METHOD_SRQ_QUERY, &srq->handle,
		     resp, size);
}

/**
 * srnicdv_query_mr - attributes of a region
 */
int srnicdv_query_mr(struct ibv_mr *mr, struct srnic_uresp_mr_query *resp, size_t size)
{
	return query(mr->context, UVERBS_OBJECT_MR, SRNIC_METHOD_MR_QUERY, &mr->handle, resp,
		     size);
}

/**
 * srnicdv_query_mw - attributes of a window
 */
int srnicdv_query_mw(struct ibv_mw *mw, struct srnic_uresp_mw_query *resp, size_t size)
{
	return query(mw->context, UVERBS_OBJECT_MW, SRNIC_METHOD_MW_QUERY, &mw->handle, resp,
		     size);
}
