// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The driver's query methods. */
#include <string.h>
#include "method.h"
#include "query.h"

/* 0 or an errno */
int query_raw(struct ibv_context *ctx, uint16_t object, uint16_t method, uint32_t handle,
	      void *resp, size_t len)
{
	struct method_call call = {
		.hdr = METHOD_HDR(object, method, handle == NO_HANDLE ? 1 : 2),
		.attr = {
			ATTR_BYTES(SRNIC_ATTR_QUERY_RESP, resp, len),
			ATTR_NUMBER(SRNIC_ATTR_QUERY_HANDLE, handle),
		},
	};

	return call_method(ctx, &call);
}

void query(struct ibv_context *ctx, uint16_t object, uint16_t method, uint32_t handle,
	   void *resp, size_t len)
{
	int err;

	/* so that bytes which the kernel does not write are seen */
	memset(resp, 0xa5, len);
	err = query_raw(ctx, object, method, handle, resp, len);
	require(!err, "query of object %u: %s", object, strerror(err));
}
