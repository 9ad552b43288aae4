// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The driver's method that returns the last Terminate of a QP. */
#include <string.h>
#include "common.h"
#include "lastterm.h"
#include "method.h"

/* 0 or an errno */
int last_terminate_raw(struct ibv_context *ctx, uint32_t handle, void *resp, size_t len,
		       uint32_t driver_id)
{
	struct method_call call = {
		.hdr = METHOD_HDR(UVERBS_OBJECT_QP, SRNIC_METHOD_QP_QUERY_TERMINATE, 2),
		.attr = {
			ATTR_NUMBER(SRNIC_ATTR_QUERY_TERMINATE_QP, handle),
			ATTR_BYTES(SRNIC_ATTR_QUERY_TERMINATE_RESP, resp, len),
		},
	};

	call.hdr.driver_id = driver_id;
	return call_method(ctx, &call);
}

void last_terminate(struct ibv_qp *qp, struct srnic_uresp_terminate *resp)
{
	int err;

	/* so that bytes which the kernel does not write are seen */
	memset(resp, 0xa5, sizeof(*resp));
	err = last_terminate_raw(qp->context, qp->handle, resp, sizeof(*resp), SRNIC_DRIVER_ID);
	require(!err, "query of the Terminate: %s", strerror(err));
}
