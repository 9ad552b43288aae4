// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The status of a descriptor in error, which depends on the reliability level (10.2) */
#include "error.h"
#include "status.h"

#define ALWAYS	(VIP_STATUS_FORMAT_ERROR | VIP_STATUS_PROTECTION_ERROR | \
		 VIP_STATUS_LENGTH_ERROR | VIP_STATUS_DESC_FLUSHED_ERROR)

/* With Reliable Reception the sender gets the result of each descriptor */
static uint32_t allowed_when_received(uint32_t op)
{
	switch (op) {
	case VIP_STATUS_OP_SEND:
		return ALWAYS | VIP_STATUS_TRANSPORT_ERROR | VIP_STATUS_REMOTE_DESC_ERROR;
	case VIP_STATUS_OP_RDMA_WRITE:
		return ALWAYS | VIP_STATUS_TRANSPORT_ERROR | VIP_STATUS_REMOTE_DESC_ERROR |
		       VIP_STATUS_RDMA_PROT_ERROR;
	}
	return ALWAYS | VIP_STATUS_TRANSPORT_ERROR | VIP_STATUS_RDMA_PROT_ERROR;
}

static uint32_t allowed_when_delivered(uint32_t op)
{
	switch (op) {
	case VIP_STATUS_OP_RDMA_READ:
		return ALWAYS | VIP_STATUS_TRANSPORT_ERROR | VIP_STATUS_RDMA_PROT_ERROR;
	case VIP_STATUS_OP_RECEIVE:
		return ALWAYS | VIP_STATUS_TRANSPORT_ERROR;
	}
	return ALWAYS;
}

static bool is_reception(const struct vipl_link *link)
{
	return link->vi->attribs.ReliabilityLevel == VIP_SERVICE_RELIABLE_RECEPTION;
}

static uint32_t allowed(const struct vipl_link *link, uint32_t op)
{
	return is_reception(link) ? allowed_when_received(op) : allowed_when_delivered(op);
}

static uint32_t bits_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_SUCCESS:
		return 0;
	case IBV_WC_LOC_LEN_ERR:
		return VIP_STATUS_LENGTH_ERROR;
	case IBV_WC_LOC_QP_OP_ERR:
		return VIP_STATUS_FORMAT_ERROR;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
		return VIP_STATUS_PROTECTION_ERROR;
	case IBV_WC_WR_FLUSH_ERR:
		return VIP_STATUS_DESC_FLUSHED_ERROR;
	case IBV_WC_REM_ACCESS_ERR:
		return VIP_STATUS_RDMA_PROT_ERROR;
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
		return VIP_STATUS_REMOTE_DESC_ERROR;
	default:
		return VIP_STATUS_TRANSPORT_ERROR;
	}
}

/*
 * The Read behind a descriptor has failed, because the descriptor has. The status is the peer's
 * error if that is known, otherwise that the connection has failed.
 */
static uint32_t of_reception(struct vipl_link *link, const struct vipl_work *work)
{
	uint32_t bits = vipl_error_of_peer(link);

	if (work->op == VIP_STATUS_OP_SEND && bits == VIP_STATUS_RDMA_PROT_ERROR)
		return VIP_STATUS_TRANSPORT_ERROR;
	return bits ? bits : VIP_STATUS_TRANSPORT_ERROR;
}

/* Is @work the first to fail of those that wait for the peer? Not if the program disconnects */
static bool is_first_to_fail(const struct vipl_link *link, const struct vipl_work *work)
{
	return is_reception(link) && work->op != VIP_STATUS_OP_RECEIVE && !link->blamed &&
	       (!link->ending || link->then == VIP_STATE_ERROR);
}

/**
 * vipl_status_of() - The status of a descriptor after the completion of one of its WRs
 * @link: its connection
 * @work: the descriptor
 * @status: of the WR
 *
 * With Reliable Reception the first send that is not acknowledged has the error; those after
 * it are flushed (2.5.3).
 *
 * Context: the NIC's lock is held.
 * Return: error bits that @work may have, 0 without an error.
 */
uint32_t vipl_status_of(struct vipl_link *link, const struct vipl_work *work,
			enum ibv_wc_status status)
{
	uint32_t bits = bits_of(status);

	if (bits && is_first_to_fail(link, work)) {
		if (status == IBV_WC_WR_FLUSH_ERR || status == IBV_WC_REM_ACCESS_ERR)
			bits = of_reception(link, work);
		link->blamed = true;
	}
	return !bits || bits & allowed(link, work->op) ? bits : VIP_STATUS_DESC_FLUSHED_ERROR;
}
