// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Methods of the driver and of the core, by the ioctl. */
#include <errno.h>
#include <sys/ioctl.h>
#include "method.h"

/* 0 or an errno. The kernel may write to the attributes. */
int call_method(struct ibv_context *ctx, struct method_call *call)
{
	call->hdr.length = sizeof(call->hdr) + call->hdr.num_attrs * sizeof(call->attr[0]);
	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, call) ? errno : 0;
}
