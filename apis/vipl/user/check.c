// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The form of descriptors, their lengths and their memory (6.1, 10.2 to 10.4) */
#include "check.h"

#define CONTROL_BITS	(VIP_CONTROL_OP_MASK | VIP_CONTROL_IMMEDIATE | VIP_CONTROL_QFENCE)

static bool is_rdma(const struct vipl_work *work)
{
	return work->op == VIP_STATUS_OP_RDMA_WRITE || work->op == VIP_STATUS_OP_RDMA_READ;
}

/**
 * vipl_first_data() - Index of the first data segment
 * @work: a descriptor
 *
 * Context: any.
 * Return: 1 after an address segment, otherwise 0.
 */
unsigned int vipl_first_data(const struct vipl_work *work)
{
	return is_rdma(work) ? 1 : 0;
}

/* Checks the fields that 10.2 and 10.3 require to be zero, and the address segment of RDMA */
static bool is_formed(const struct vipl_vi *vi, const struct vipl_work *work, bool recv)
{
	const VIP_CONTROL_SEGMENT *cs = &work->cs;
	unsigned int op = cs->Control & VIP_CONTROL_OP_MASK, first = vipl_first_data(work);

	if (cs->Reserved || cs->Control & ~CONTROL_BITS)
		return false;
	if (recv ? op != VIP_CONTROL_OP_SENDRECV : op == VIP_CONTROL_OP_MASK)
		return false;
	if (vipl_is_ud(vi) && work->op == VIP_STATUS_OP_RDMA_READ)
		return false;
	if (cs->SegCount < first || cs->SegCount - first > vi->nic->attribs.MaxSegmentsPerDesc)
		return false;
	return !first || !work->ds[0].Remote.Reserved;
}

/**
 * vipl_data_bytes() - Length of the data of a descriptor
 * @work: a well-formed descriptor
 *
 * Context: any.
 * Return: the bytes of all its data segments.
 */
uint64_t vipl_data_bytes(const struct vipl_work *work)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = vipl_first_data(work); i < work->cs.SegCount; i++)
		sum += work->ds[i].Local.Length;
	return sum;
}

/* Checks the Length of a send; that of a receive is ignored (10.2) */
static bool length_fits(const struct vipl_vi *vi, const struct vipl_work *work)
{
	uint64_t sum = vipl_data_bytes(work);

	return sum == work->cs.Length && sum <= vi->attribs.MaxTransferSize;
}

static bool data_is_ours(struct vipl_vi *vi, const struct vipl_work *work, bool written)
{
	uint32_t lkey;
	unsigned int i;

	for (i = vipl_first_data(work); i < work->cs.SegCount; i++)
		if (work->ds[i].Local.Length &&
		    !vipl_memory_key(vi->nic, vi->ptag, &work->ds[i].Local, written, &lkey))
			return false;
	return true;
}

/**
 * vipl_check_desc() - Check a descriptor before it is processed
 * @vi: the VI that it was posted to
 * @work: the descriptor
 * @recv: it is of the receive queue
 *
 * Context: the NIC's lock is held.
 * Return: the error bits of its status, 0 without an error.
 */
uint32_t vipl_check_desc(struct vipl_vi *vi, const struct vipl_work *work, bool recv)
{
	if (!is_formed(vi, work, recv))
		return VIP_STATUS_FORMAT_ERROR;
	if (!recv && !length_fits(vi, work))
		return VIP_STATUS_LENGTH_ERROR;
	if (!data_is_ours(vi, work, recv || work->op == VIP_STATUS_OP_RDMA_READ))
		return VIP_STATUS_PROTECTION_ERROR;
	return 0;
}
