// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The driver's query methods. libibverbs has no call for them, so this is the ioctl. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <rdma/rdma_user_ioctl.h>
#include "query.h"

/* 0 or an errno */
int query_raw(struct ibv_context *ctx, uint16_t object, uint16_t method, uint32_t handle,
	      void *resp, size_t len)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd) - (handle == NO_HANDLE ? sizeof(cmd.attr[0]) : 0),
			.object_id = object,
			.method_id = method,
			.num_attrs = handle == NO_HANDLE ? 1 : 2,
			.driver_id = SRNIC_DRIVER_ID,
		},
		.attr = {
			{ .attr_id = SRNIC_ATTR_QUERY_RESP, .len = len,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)resp },
			{ .attr_id = SRNIC_ATTR_QUERY_HANDLE,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = handle },
		},
	};

	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
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
