// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The direct verbs: diagnosis. */
#include <errno.h>

#include "srnic.h"
#include "srnicdv.h"

/**
 * srnicdv_diag - what a device and its QPs are doing, as text; or a reset of the device
 * @ctx: the device
 * @op: SRNIC_DIAG_*
 * @qp: of SRNIC_DIAG_QP; else NULL
 * @buf: becomes lines of a name and a value, with a 0 behind them
 * @size: its bytes; becomes those of the text with its 0. Not looked at by SRNIC_DIAG_RESET
 *
 * Return: 0 or an errno; ENOSPC, and @size, if @buf is too small.
 */
int srnicdv_diag(struct ibv_context *ctx, enum srnic_diag_op op, struct ibv_qp *qp, char *buf,
		 size_t *size)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE, SRNIC_METHOD_DIAG, 3);
	struct srnic_ureq_diag req = {
		.op = op,
		.buf = (uintptr_t)buf,
		.size = buf && size ? *size : 0,
	};
	uint64_t need = 0;
	int err;

	if (!srnic_is_ours(ctx->device))
		return EOPNOTSUPP;
	fill_attr_in_ptr(cmd, SRNIC_ATTR_DIAG_REQ, &req);
	if (qp)
		fill_attr_in_obj(cmd, SRNIC_ATTR_DIAG_QP, qp->handle);
	fill_attr_out_ptr(cmd, SRNIC_ATTR_DIAG_SIZE, &need);
	err = execute_ioctl(ctx, cmd) ? errno : 0;
	if (size && (!err || err == ENOSPC))
		*size = need;
	return err;
}
