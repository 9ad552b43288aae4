// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Errors of verbs in the terms of RNICPI (4.4), and errno, which stays as it is (4.6.3). */
#include <errno.h>
#include "rnic.h"

/**
 * ri_restore_errno() - Restore errno at the end of a call with KEEP_ERRNO
 * @saved: errno at the beginning of the call
 *
 * Context: any thread.
 */
void ri_restore_errno(const int *saved)
{
	errno = *saved;
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
		return ri_native_status(wc->vendor_err);
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
