// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The direct verbs: diagnosis. */
#include <errno.h>

#include "srnic.h"
#include "srnicdv.h"

/**
 * srnicdv_diag - describe a device and its QPs as text, or reset the QPs of the device
 * @ctx: the device
 * @op: SRNIC_DIAG_*
 * @qp: for SRNIC_DIAG_QP; otherwise NULL
 * @buf: set to lines of a name and a value, and a NUL
 * @size: in: bytes of @buf; out: bytes of the text with its NUL. SRNIC_DIAG_RESET ignores it
 *
 * Return: 0 or an errno; ENOSPC, with @size set, if @buf is too small.
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
