// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Return codes; conversion of errnos and statuses of verbs (4.4, 4.6.3). */
#include <errno.h>
#include "rnic.h"

static ri_api_return_t say(ri_err_data_t *err_data, ri_api_return_t ret, uint32_t layer, int err)
{
	if (err_data)
		*err_data = ret ? (uint64_t)layer << 32 | (uint32_t)err : 0;
	return ret;
}

/**
 * ri_done() - A call has succeeded
 * @err_data: set to 0, or NULL
 *
 * Context: any thread.
 * Return: RI_RET_SUCCESS
 */
ri_api_return_t ri_done(ri_err_data_t *err_data)
{
	return say(err_data, RI_RET_SUCCESS, 0, 0);
}

/**
 * ri_refuse() - The library's own checks refuse a call
 * @err_data: set to the code of the access layer, or NULL
 * @ret: the return code
 *
 * Context: any thread.
 * Return: @ret
 */
ri_api_return_t ri_refuse(ri_err_data_t *err_data, ri_api_return_t ret)
{
	return say(err_data, ret, RI_ERR_LAYER_AL, 0);
}

/**
 * ri_failed() - Verbs has refused a call
 * @err_data: set to the errno, or NULL
 * @err: an errno
 * @busy: the code for EBUSY
 *
 * Context: any thread.
 * Return: the code.
 */
ri_api_return_t ri_failed(ri_err_data_t *err_data, int err, ri_api_return_t busy)
{
	ri_api_return_t ret = RI_RET_FAIL;

	switch (err) {
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case EAGAIN:
	case EDQUOT:
		ret = RI_RET_RESOURCE_SHORTAGE;
		break;
	case EPERM:
	case EACCES:
		ret = RI_RET_NO_PERMISSION;
		break;
	case EBUSY:
		ret = busy;
		break;
	case EOPNOTSUPP:
	case ENOSYS:
	case ENOTTY:
		ret = RI_RET_OP_UNSUPPORTED;
		break;
	case EIO:	/* libibverbs returns it when the device is gone */
	case ENODEV:
		ret = RI_RET_RNIC_INVALID_HANDLE;
		break;
	case EFAULT:
		ret = RI_RET_MEM_INVALID_ADDRESS;
		break;
	case EINVAL:
		ret = RI_RET_INVALID_PARAMETER;
		break;
	}
	return say(err_data, ret, RI_ERR_LAYER_VP, err);
}

/**
 * ri_restore_errno() - End of KEEP_ERRNO
 * @saved: errno at the beginning of the call
 *
 * Context: any thread.
 */
void ri_restore_errno(const int *saved)
{
	errno = *saved;
}

/* The native statuses have the order of Figure 36 of the RDMAC verbs, and so have RNICPI's. */
static ri_wc_status_t native_status(uint32_t status)
{
	switch (status) {
	case SRNIC_WC_INVALID_WQE:
		return RI_WC_STATUS_WQE_FORMAT_ERROR;
	case SRNIC_WC_QP_CATASTROPHIC:
	case SRNIC_WC_NO_PEER:
		return RI_WC_STATUS_LOCAL_QP_CATASTROPHIC;
	default:
		return (ri_wc_status_t)status;
	}
}

/**
 * ri_status_of() - The status of a completion
 * @rnic: its RNIC handle
 * @wc: the completion
 *
 * For a device other than srnic the status is less exact.
 *
 * Context: any thread.
 * Return: the status in RNICPI's terms.
 */
ri_wc_status_t ri_status_of(const struct rnic *rnic, const struct ibv_wc *wc)
{
	if (rnic->native)
		return native_status(wc->vendor_err);
	switch (wc->status) {
	case IBV_WC_SUCCESS:
		return RI_WC_STATUS_SUCCESS;
	case IBV_WC_WR_FLUSH_ERR:
		return RI_WC_STATUS_WR_FLUSHED_ERROR;
	case IBV_WC_LOC_LEN_ERR:
		return RI_WC_STATUS_BASE_BOUNDS_VIOLATION_ERROR;
	case IBV_WC_LOC_PROT_ERR:
		return RI_WC_STATUS_INVALID_STAG_ERROR;
	case IBV_WC_LOC_ACCESS_ERR:
		return RI_WC_STATUS_ACCESS_VIOLATION_ERROR;
	case IBV_WC_MW_BIND_ERR:
		return RI_WC_STATUS_INVALID_BIND_MW_ERROR;
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_REM_ABORT_ERR:
		return RI_WC_STATUS_REMOTE_TERMINATION_ERROR;
	case IBV_WC_LOC_QP_OP_ERR:
		return RI_WC_STATUS_WQE_FORMAT_ERROR;
	default:
		return RI_WC_STATUS_LOCAL_QP_CATASTROPHIC;
	}
}
