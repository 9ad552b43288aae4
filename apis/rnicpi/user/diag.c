// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Diagnosis (L1863), for an administrator. */
#include <errno.h>
#include "ops.h"
#include "rnic.h"

static const enum srnic_diag_op native_ops[] = {
	[RI_DIAG_RNIC_DETAILS] = SRNIC_DIAG_DEVICE,
	[RI_DIAG_QP_DETAILS] = SRNIC_DIAG_QP,
	[RI_DIAG_RNIC_DUMP] = SRNIC_DIAG_DUMP,
	[RI_DIAG_RDMA_RESET] = SRNIC_DIAG_RESET,
};

static ri_api_return_t check(const struct rnic *rnic, ri_diag_op_type_t op,
			     const struct rnic_qp *qp, const ri_length_t *oplen)
{
	if (!rnic)
		return RI_RET_RNIC_INVALID_HANDLE;
	if (!rnic->native || (unsigned int)op >= sizeof(native_ops) / sizeof(native_ops[0]))
		return RI_RET_OP_UNSUPPORTED;
	if (op == RI_DIAG_QP_DETAILS && (!qp || qp->rnic != rnic))
		return RI_RET_INVALID_PARAMETER;
	return oplen || op == RI_DIAG_RDMA_RESET ? RI_RET_SUCCESS : RI_RET_INVALID_PARAMETER;
}

/**
 * ri_do_rnic_diag() - ri_rnic_diag
 * @rnic: an RNIC handle
 * @op: RI_DIAG_*
 * @arg: the QP of RI_DIAG_QP_DETAILS; otherwise ignored
 * @opval: set to lines of a name and a value, and a NUL
 * @oplen: in: size of @opval; out: bytes of the text
 * @err_data: may be NULL
 *
 * RI_DIAG_RDMA_RESET takes all QPs of the device to Error, also those of other programs and of
 * the kernel. It does not affect Ethernet and other TCP connections.
 *
 * Context: any thread; sleeps; takes ri_lock.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_RESOURCE_SHORTAGE, RI_RET_MEM_INVALID_ADDRESS; RI_RET_BUFFER_TOO_SMALL: only @oplen
 * is set; RI_RET_NO_PERMISSION: the caller does not have CAP_NET_ADMIN;
 * RI_RET_OP_UNSUPPORTED: the device is not srnic, or there is no such operation
 */
ri_api_return_t ri_do_rnic_diag(ri_rnic_handle_t rnic, ri_diag_op_type_t op, void *arg,
				unsigned char *opval, ri_length_t *oplen, ri_err_data_t *err_data)
{
	struct rnic_qp *qp = NULL;
	ri_api_return_t ret;
	struct rnic *r;
	size_t size;
	int err = 0;
	KEEP_ERRNO;

	pthread_mutex_lock(&ri_lock);
	r = handle_object(RI_KIND_RNIC, rnic);
	if (op == RI_DIAG_QP_DETAILS)
		qp = handle_object(RI_KIND_QP, arg);
	ret = check(r, op, qp, oplen);
	if (!ret) {
		size = oplen ? *oplen : 0;
		err = srnicdv_diag(r->ctx, native_ops[op], qp ? qp->qp : NULL, (char *)opval, &size);
		if (oplen && (!err || err == ENOSPC))
			*oplen = size;
		if (err == ENOSPC)
			ret = RI_RET_BUFFER_TOO_SMALL;
	}
	pthread_mutex_unlock(&ri_lock);
	if (ret)
		return ri_refuse(err_data, ret);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_done(err_data);
}
