// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Return codes and completion statuses of RNICPI (4.4, 4.6.3). */
#include <rdma/srnic-abi.h>
#include "rnicpi/shared/answer.h"

#ifdef __KERNEL__
#include <linux/errno.h>
#else
#include <errno.h>
#endif

static ri_api_return_t say(ri_err_data_t *err_data, ri_api_return_t ret, uint32_t layer, int err)
{
	if (err_data)
		*err_data = ret ? (uint64_t)layer << 32 | (uint32_t)err : 0;
	return ret;
}

/**
 * ri_answer() - Answer a call that verbs has not refused
 * @err_data: set to the code of the access layer, 0 on success; or NULL
 * @ret: the return code
 *
 * Context: any.
 * Return: @ret
 */
ri_api_return_t ri_answer(ri_err_data_t *err_data, ri_api_return_t ret)
{
	return say(err_data, ret, RI_ERR_LAYER_AL, 0);
}

/* From here on an errno is positive, as in libibverbs; in the kernel it is negative */
static int positive(int err)
{
	return err < 0 ? -err : err;
}

static ri_api_return_t code_of(int err, ri_api_return_t busy)
{
	switch (err) {
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case ENOSPC:
	case EAGAIN:
	case EDQUOT:
		return RI_RET_RESOURCE_SHORTAGE;
	case EPERM:
	case EACCES:
		return RI_RET_NO_PERMISSION;
	case EBUSY:
		return busy;
	case EOPNOTSUPP:
	case ENOSYS:
	case ENOTTY:
		return RI_RET_OP_UNSUPPORTED;
	case EIO:	/* libibverbs returns it when the device is gone */
	case ENODEV:
		return RI_RET_RNIC_INVALID_HANDLE;
	case EFAULT:
		return RI_RET_MEM_INVALID_ADDRESS;
	case EINVAL:
		return RI_RET_INVALID_PARAMETER;
	default:
		return RI_RET_FAIL;
	}
}

/**
 * ri_failed() - Answer a call that verbs has refused
 * @err_data: set to the errno, or NULL
 * @err: an errno, of either sign
 * @busy: the code for EBUSY
 *
 * Context: any.
 * Return: the code.
 */
ri_api_return_t ri_failed(ri_err_data_t *err_data, int err, ri_api_return_t busy)
{
	err = positive(err);
	return say(err_data, code_of(err, busy), RI_ERR_LAYER_VP, err);
}

static ri_api_return_t stream_code_of(int err)
{
	switch (err) {
	case EBADF:
	case ENOTSOCK:
	case ENOTCONN:
	case EPROTOTYPE:
	case EADDRNOTAVAIL:
	case EXDEV:
	case EPIPE:
	case EBADMSG:
	case ECONNRESET:
	case ETIMEDOUT:
		return RI_RET_INVALID_LLP_HANDLE;
	case ECONNABORTED:	/* a move to Error was faster */
		return RI_RET_QP_INVALID_STATE;
	case EFAULT:		/* there is no such last message */
		return RI_RET_INVALID_PARAMETER;
	case EPERM:		/* the policy requires CRC */
		return RI_RET_MPA_ATTR_UNSUPPORTED;
	default:
		return code_of(err, RI_RET_INVALID_LLP_HANDLE);
	}
}

/**
 * ri_stream_failed() - Answer a call whose stream the device has refused
 * @err_data: set to the errno, or NULL
 * @err: an errno, of either sign
 *
 * Context: any.
 * Return: the code.
 */
ri_api_return_t ri_stream_failed(ri_err_data_t *err_data, int err)
{
	err = positive(err);
	return say(err_data, stream_code_of(err), RI_ERR_LAYER_VP, err);
}

/**
 * ri_memory_failed() - Answer a call whose memory the device has refused for a new region
 * @err_data: set to the errno, or NULL
 * @err: an errno, of either sign
 * @busy: the code for EBUSY
 *
 * Context: any.
 * Return: the code.
 */
ri_api_return_t ri_memory_failed(ri_err_data_t *err_data, int err, ri_api_return_t busy)
{
	err = positive(err);
	switch (err) {
	case EPERM:		/* the process may not pin memory at all */
		return say(err_data, RI_RET_RESOURCE_SHORTAGE, RI_ERR_LAYER_VP, err);
	case EACCES:		/* the memory that is shared is read-only */
		return say(err_data, RI_RET_MEM_INVALID_ACCESS, RI_ERR_LAYER_VP, err);
	case EINVAL:		/* its TO has another place in a page */
		return say(err_data, RI_RET_MEM_INVALID_ADDRESS, RI_ERR_LAYER_VP, err);
	default:
		return ri_failed(err_data, err, busy);
	}
}

/**
 * ri_invalid() - The code of an invalid handle
 * @kind: the expected kind
 *
 * Context: any.
 * Return: the code.
 */
ri_api_return_t ri_invalid(enum ri_kind kind)
{
	static const ri_api_return_t codes[] = {
		[RI_KIND_VP] = RI_RET_VP_INVALID_HANDLE,
		[RI_KIND_RNIC] = RI_RET_RNIC_INVALID_HANDLE,
		[RI_KIND_PD] = RI_RET_PD_INVALID_HANDLE,
		[RI_KIND_CQ] = RI_RET_CQ_INVALID_HANDLE,
		[RI_KIND_QP] = RI_RET_QP_INVALID_HANDLE,
		[RI_KIND_SRQ] = RI_RET_SRQ_INVALID_HANDLE,
		[RI_KIND_MR] = RI_RET_MR_INVALID_HANDLE,
		[RI_KIND_MW] = RI_RET_MW_INVALID_HANDLE,
	};

	return codes[kind];
}

#define SAME(native, name)	\
	_Static_assert((int)SRNIC_WC_##native == RI_WC_STATUS_##name##_ERROR, #name)

SAME(FLUSHED, WR_FLUSHED);
SAME(REMOTE_TERMINATION, REMOTE_TERMINATION);
SAME(NOT_PRIVILEGED, FMR_QP_NOT_PRIVILEGED);
SAME(PAGE_SIZE, INVALID_FMR_PAGE_SIZE);
SAME(PBE_SIZE, INVALID_FMR_BLOCK_SIZE);
SAME(INVALID_VA, INVALID_FMR_VA);
SAME(INVALID_LENGTH, HUGE_PAYLOAD);

/**
 * ri_native_status() - The status of a completion of srnic
 * @native: SRNIC_WC_*, which have the order of Figure 36 of the RDMAC verbs, as RNICPI's
 *
 * Context: any.
 * Return: the status in RNICPI's terms.
 */
ri_wc_status_t ri_native_status(uint32_t native)
{
	switch (native) {
	case SRNIC_WC_INVALID_WQE:
		return RI_WC_STATUS_WQE_FORMAT_ERROR;
	case SRNIC_WC_QP_CATASTROPHIC:
	case SRNIC_WC_NO_PEER:
	case SRNIC_WC_REMOTE_REQUEST:
	case SRNIC_WC_REMOTE_OPERATION:
	case SRNIC_WC_NO_RECEIVE:
		return RI_WC_STATUS_LOCAL_QP_CATASTROPHIC;
	default:
		return (ri_wc_status_t)native;
	}
}
