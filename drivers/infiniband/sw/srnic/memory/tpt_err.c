// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* TPT: error codes of a refused access or invalidation, in completions and on the wire. */

#include "memory/tpt.h"
#include "wire/rdmap.h"

/* One error has one code in a WC, and one on the wire for each kind of access of the peer */
static const struct {
	enum srnic_wc_status wc;
	enum rdmap_err tagged;
	enum rdmap_err read;
	enum rdmap_err atomic;
} tpt_err_map[] = {
	[SRNIC_TPT_OK]	   = { SRNIC_WC_SUCCESS, RDMAP_OK, RDMAP_OK, RDMAP_OK },
	[SRNIC_TPT_STAG]   = { SRNIC_WC_INVALID_STAG, RDMAP_E_TAGGED_STAG, RDMAP_E_READ_STAG,
			     RDMAP_E_ATOMIC_STAG },
	[SRNIC_TPT_PD]	   = { SRNIC_WC_INVALID_PD, RDMAP_E_TAGGED_STREAM, RDMAP_E_READ_STREAM,
			     RDMAP_E_ATOMIC_STREAM },
	[SRNIC_TPT_ACCESS] = { SRNIC_WC_ACCESS, RDMAP_E_TAGGED_ACCESS, RDMAP_E_READ_ACCESS,
			     RDMAP_E_ATOMIC_ACCESS },
	[SRNIC_TPT_WRAP]   = { SRNIC_WC_WRAP, RDMAP_E_TAGGED_WRAP, RDMAP_E_READ_WRAP,
			     RDMAP_E_ATOMIC_WRAP },
	[SRNIC_TPT_BOUNDS] = { SRNIC_WC_BOUNDS, RDMAP_E_TAGGED_BOUNDS, RDMAP_E_READ_BOUNDS,
			     RDMAP_E_ATOMIC_BOUNDS },
};

/**
 * srnic_tpt_wc_status - a failed local access in a completion
 * @err: from srnic_tpt_get()
 * Context: any. Return: the status of the completion.
 */
enum srnic_wc_status srnic_tpt_wc_status(enum srnic_tpt_err err)
{
	return tpt_err_map[err].wc;
}

/**
 * srnic_tpt_tagged_err - a failed access of an inbound tagged segment (E-09 to E-13)
 * @err: from srnic_tpt_get()
 * Context: any. Return: the error of the stream.
 */
enum rdmap_err srnic_tpt_tagged_err(enum srnic_tpt_err err)
{
	return tpt_err_map[err].tagged;
}

/**
 * srnic_tpt_read_err - a failed access to the source of an inbound Read (E-18 to E-22)
 * @err: from srnic_tpt_get()
 * Context: any. Return: the error of the stream.
 */
enum rdmap_err srnic_tpt_read_err(enum srnic_tpt_err err)
{
	return tpt_err_map[err].read;
}

/**
 * srnic_tpt_atomic_err - a failed access to the target of an inbound atomic (E-39)
 * @err: from srnic_tpt_get()
 * Context: any. Return: the error of the stream.
 */
enum rdmap_err srnic_tpt_atomic_err(enum srnic_tpt_err err)
{
	return tpt_err_map[err].atomic;
}

/*
 * One error has a code in the WC of a send WR; if the peer asked for the invalidation,
 * one in the WC of the receive (TC-03, CP-10) and one in a Terminate (E-25 to E-27)
 */
static const struct {
	enum srnic_wc_status wc;
	enum srnic_wc_status recv;
	enum rdmap_err remote;
} inv_err_map[SRNIC_INV_COUNT] = {
	[SRNIC_INV_OK]	   = { SRNIC_WC_SUCCESS, SRNIC_WC_SUCCESS, RDMAP_OK },
	[SRNIC_INV_STAG]   = { SRNIC_WC_INVALID_STAG, SRNIC_WC_INVALID_STAG, RDMAP_E_INV_STAG },
	[SRNIC_INV_PD]	   = { SRNIC_WC_INVALID_PD, SRNIC_WC_INVALIDATE, RDMAP_E_INV_STREAM },
	[SRNIC_INV_ACCESS] = { SRNIC_WC_ACCESS, SRNIC_WC_INVALIDATE, RDMAP_E_INV_SHARED },
	[SRNIC_INV_BOUND]  = { SRNIC_WC_INVALIDATE, SRNIC_WC_INVALIDATE, RDMAP_E_INV_BOUND },
};

/**
 * srnic_inv_wc_status - a failed invalidation in the completion of a send WR
 * @err: from srnic_tpt_invalidate()
 * Context: any. Return: the status of the completion.
 */
enum srnic_wc_status srnic_inv_wc_status(enum srnic_inv_err err)
{
	return inv_err_map[err].wc;
}

/**
 * srnic_inv_recv_status - a failed invalidation in the completion of the receive
 *			   whose message asked for it
 * @err: from srnic_tpt_invalidate()
 * Context: any. Return: the status of the completion.
 */
enum srnic_wc_status srnic_inv_recv_status(enum srnic_inv_err err)
{
	return inv_err_map[err].recv;
}

/**
 * srnic_inv_remote_err - a failed invalidation that the peer asked for
 * @err: from srnic_tpt_invalidate()
 * Context: any. Return: the error of the stream.
 */
enum rdmap_err srnic_inv_remote_err(enum srnic_inv_err err)
{
	return inv_err_map[err].remote;
}
