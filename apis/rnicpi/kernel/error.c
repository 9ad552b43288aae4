// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Return codes and completion statuses of RNICPI (4.4, 4.6.3). */

#include <linux/errno.h>
#include <linux/kernel.h>
#include "rnicpi/kernel/rnic.h"

static ri_api_return_t say(ri_err_data_t *err_data, ri_api_return_t ret, u32 layer, int err)
{
	if (err_data)
		*err_data = ret ? (u64)layer << 32 | (u32)err : 0;
	return ret;
}

/**
 * ri_done - a call has succeeded
 * @err_data: set to 0; may be NULL
 *
 * Any context. Return: RI_RET_SUCCESS
 */
ri_api_return_t ri_done(ri_err_data_t *err_data)
{
	return say(err_data, RI_RET_SUCCESS, 0, 0);
}

/**
 * ri_refuse - this module's own checks refuse a call
 * @err_data: set to the code of the access layer; may be NULL
 * @ret: the return code
 *
 * Any context. Return: @ret
 */
ri_api_return_t ri_refuse(ri_err_data_t *err_data, ri_api_return_t ret)
{
	return say(err_data, ret, RI_ERR_LAYER_AL, 0);
}

/**
 * ri_answer - end a call without a call of the RDMA core
 * @err_data: may be NULL
 * @ret: its code
 *
 * Any context. Return: @ret
 */
ri_api_return_t ri_answer(ri_err_data_t *err_data, ri_api_return_t ret)
{
	return say(err_data, ret, RI_ERR_LAYER_AL, 0);
}

/**
 * ri_failed - the RDMA core or the device has refused a call
 * @err_data: set to the errno; may be NULL
 * @err: a negative errno
 * @busy: the code for EBUSY
 *
 * Any context. Return: the code.
 */
ri_api_return_t ri_failed(ri_err_data_t *err_data, int err, ri_api_return_t busy)
{
	ri_api_return_t ret = RI_RET_FAIL;

	switch (err) {
	case -ENOMEM:
	case -ENOSPC:
	case -EAGAIN:
	case -EDQUOT:
		ret = RI_RET_RESOURCE_SHORTAGE;
		break;
	case -EPERM:
	case -EACCES:
		ret = RI_RET_NO_PERMISSION;
		break;
	case -EBUSY:
		ret = busy;
		break;
	case -EOPNOTSUPP:
		ret = RI_RET_OP_UNSUPPORTED;
		break;
	case -EFAULT:
		ret = RI_RET_MEM_INVALID_ADDRESS;
		break;
	case -EINVAL:
		ret = RI_RET_INVALID_PARAMETER;
		break;
	}
	return say(err_data, ret, RI_ERR_LAYER_VP, -err);
}

/**
 * ri_status_of - the status of a completion
 * @native: enum srnic_wc_status, in the order of Figure 36 as RNICPI's are
 *
 * Any context. Return: the status in RNICPI's terms.
 */
ri_wc_status_t ri_status_of(u32 native)
{
	switch (native) {
	case SRNIC_WC_INVALID_WQE:
		return RI_WC_STATUS_WQE_FORMAT_ERROR;
	case SRNIC_WC_QP_CATASTROPHIC:
	case SRNIC_WC_NO_PEER:
		return RI_WC_STATUS_LOCAL_QP_CATASTROPHIC;
	default:
		return (ri_wc_status_t)native;
	}
}

static_assert((int)SRNIC_WC_FLUSHED == RI_WC_STATUS_WR_FLUSHED_ERROR);
static_assert((int)SRNIC_WC_REMOTE_TERMINATION == RI_WC_STATUS_REMOTE_TERMINATION_ERROR);
static_assert((int)SRNIC_WC_NOT_PRIVILEGED == RI_WC_STATUS_FMR_QP_NOT_PRIVILEGED_ERROR);
static_assert((int)SRNIC_WC_PAGE_SIZE == RI_WC_STATUS_INVALID_FMR_PAGE_SIZE_ERROR);
static_assert((int)SRNIC_WC_PBE_SIZE == RI_WC_STATUS_INVALID_FMR_BLOCK_SIZE_ERROR);
static_assert((int)SRNIC_WC_INVALID_VA == RI_WC_STATUS_INVALID_FMR_VA_ERROR);
static_assert((int)SRNIC_WC_INVALID_LENGTH == RI_WC_STATUS_HUGE_PAYLOAD_ERROR);

/**
 * ri_code_of - the return code of a failed registration
 * @native: enum srnic_wc_status of a registration without a WR
 *
 * Any context. Return: the code.
 */
ri_api_return_t ri_code_of(u32 native)
{
	static const ri_api_return_t codes[] = {
		[SRNIC_WC_PAGE_SIZE] = RI_RET_MEM_INVALID_PBLE_LENGTH,
		[SRNIC_WC_PBE_SIZE] = RI_RET_MEM_INVALID_PBLE_LENGTH,
		[SRNIC_WC_PBL_ENTRY] = RI_RET_MEM_INVALID_PBLE,
		[SRNIC_WC_FBO] = RI_RET_MEM_INVALID_OFFSET,
		[SRNIC_WC_FR_LENGTH] = RI_RET_MEM_INVALID_LENGTH,
		[SRNIC_WC_FR_ACCESS] = RI_RET_MEM_INVALID_ACCESS,
		[SRNIC_WC_PBL_TOO_LONG] = RI_RET_RESOURCE_SHORTAGE,
		[SRNIC_WC_INVALID_VA] = RI_RET_MEM_INVALID_ADDRESS,
		[SRNIC_WC_INVALID_PD] = RI_RET_PD_INVALID_HANDLE,
	};

	if (!native)
		return RI_RET_SUCCESS;
	return native < ARRAY_SIZE(codes) && codes[native] ? codes[native] : RI_RET_FAIL;
}
