// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* libibverbs has no call for a driver's methods, so this is the ioctl itself. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>
#include "common.h"
#include "lastterm.h"

/* 0 or an errno */
int last_terminate_raw(struct ibv_context *ctx, uint32_t handle, void *resp, size_t len,
		       uint32_t driver_id)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd),
			.object_id = UVERBS_OBJECT_QP,
			.method_id = SRNIC_METHOD_QP_QUERY_TERMINATE,
			.num_attrs = 2,
			.driver_id = driver_id,
		},
		.attr = {
			{ .attr_id = SRNIC_ATTR_QUERY_TERMINATE_QP,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = handle },
			{ .attr_id = SRNIC_ATTR_QUERY_TERMINATE_RESP, .len = len,
			  .flags = UVERBS_ATTR_F_MANDATORY, .data = (uintptr_t)resp },
		},
	};

	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? errno : 0;
}

void last_terminate(struct ibv_qp *qp, struct srnic_uresp_terminate *resp)
{
	int err;

	/* so that bytes which the kernel does not write are seen */
	memset(resp, 0xa5, sizeof(*resp));
	err = last_terminate_raw(qp->context, qp->handle, resp, sizeof(*resp), SRNIC_DRIVER_ID);
	require(!err, "query of the Terminate: %s", strerror(err));
}
