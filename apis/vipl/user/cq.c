// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Completion queues (9.6.7, 9.6.8, 9.7). A full CQ loses new entries (6.4.1). A CQ of
 * verbs would break then, so a CQ is a ring of the library's own.
 */
#include <stdlib.h>
#include "cq.h"
#include "dispatch.h"
#include "lock.h"
#include "port.h"

/* --- entries --- */

/**
 * vipl_cq_take() - Take the oldest entry of a CQ
 * @cq: the CQ
 * @entry: the entry
 *
 * Context: the NIC's lock is held.
 * Return: false if there is none.
 */
bool vipl_cq_take(struct vipl_cq *cq, struct vipl_cq_entry *entry)
{
	if (!cq->count)
		return false;
	*entry = cq->ring[cq->first];
	cq->first = (cq->first + 1) % cq->size;
	cq->count--;
	return true;
}

/**
 * vipl_cq_notify() - Take entries for registered handlers
 * @cq: the CQ
 *
 * Context: the NIC's lock is held.
 */
void vipl_cq_notify(struct vipl_cq *cq)
{
	struct vipl_cq_entry entry;

	while (cq->notify && vipl_cq_take(cq, &entry)) {
		struct vipl_call *call = vipl_calls_take(&cq->notify);

		call->vi = entry.vi;
		call->recv = entry.recv;
		vipl_dispatch(cq->nic, call);
	}
}

/**
 * vipl_cq_add() - Add an entry for a completed descriptor
 * @cq: the CQ; NULL: does nothing
 * @vi: VI of the descriptor
 * @recv: it is of the receive queue
 *
 * Context: the NIC's lock is held; the caller calls vipl_wake().
 */
void vipl_cq_add(struct vipl_cq *cq, VIP_VI_HANDLE vi, bool recv)
{
	if (!cq)
		return;
	if (cq->count < cq->size)
		cq->ring[(cq->first + cq->count++) % cq->size] =
			(struct vipl_cq_entry){ vi, recv };
	else
		cq->nic->counters.CQEntriesLost++;
	vipl_cq_notify(cq);
}

/* --- life --- */

static VIP_RETURN cq_create(struct vipl_nic *nic, VIP_ULONG entries, VIP_CQ_HANDLE *handle)
{
	struct vipl_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return VIP_ERROR_RESOURCE;
	cq->nic = nic;
	cq->ring = calloc(entries, sizeof(*cq->ring));
	if (cq->ring)
		cq->handle = handle_new(VIPL_CQ, cq);
	if (!cq->handle) {
		free(cq->ring);
		free(cq);
		return VIP_ERROR_RESOURCE;
	}
	cq->size = entries;
	cq->next = nic->cqs;
	nic->cqs = cq;
	*handle = cq->handle;
	return VIP_SUCCESS;
}

static void cq_destroy(struct vipl_cq *cq)
{
	struct vipl_nic *nic = cq->nic;
	struct vipl_cq **p = &nic->cqs;

	while (*p != cq)
		p = &(*p)->next;
	*p = cq->next;
	vipl_calls_cancel(&cq->notify, NULL);
	vipl_calls_cancel(&cq->nic->calls, cq->handle);
	handle_free(cq->handle);
	free(cq->ring);
	free(cq);
	vipl_wake(nic);
}

static VIP_RETURN check_size(const struct vipl_nic *nic, VIP_ULONG entries)
{
	if (!entries)
		return VIP_INVALID_PARAMETER;
	return entries > nic->attribs.MaxCQEntries ? VIP_ERROR_RESOURCE : VIP_SUCCESS;
}

/**
 * VipCreateCQ() - Create a CQ (9.7.1)
 * @NicHandle: of VipOpenNic()
 * @EntryCount: number of entries, not 0
 * @CQHandle: the CQ
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: no memory, more than
 * MaxCQEntries, or the device is gone.
 */
VIP_RETURN VipCreateCQ(VIP_NIC_HANDLE NicHandle, VIP_ULONG EntryCount, VIP_CQ_HANDLE *CQHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;

	vipl_enter(VIPL_NIC, NicHandle, &nic);
	if (nic && CQHandle)
		ret = check_size(nic, EntryCount);
	if (!ret)
		ret = vipl_port_is_there(nic) ? cq_create(nic, EntryCount, CQHandle) :
						 VIP_ERROR_RESOURCE;
	vipl_leave(nic);
	return ret;
}

/**
 * VipDestroyCQ() - Destroy a CQ and its entries (9.7.2)
 * @CQHandle: of VipCreateCQ()
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: a VI is bound to it.
 */
VIP_RETURN VipDestroyCQ(VIP_CQ_HANDLE CQHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;
	struct vipl_cq *cq;

	cq = vipl_enter(VIPL_CQ, CQHandle, &nic);
	if (cq)
		ret = cq->users ? VIP_ERROR_RESOURCE : VIP_SUCCESS;
	if (!ret)
		cq_destroy(cq);
	vipl_leave(nic);
	return ret;
}

static VIP_RETURN cq_resize(struct vipl_cq *cq, VIP_ULONG entries)
{
	struct vipl_cq_entry *ring;
	unsigned long i;

	if (entries < cq->count)
		return VIP_ERROR_RESOURCE;
	ring = calloc(entries, sizeof(*ring));
	if (!ring)
		return VIP_ERROR_RESOURCE;
	for (i = 0; i < cq->count; i++)
		ring[i] = cq->ring[(cq->first + i) % cq->size];
	free(cq->ring);
	cq->ring = ring;
	cq->size = entries;
	cq->first = 0;
	return VIP_SUCCESS;
}

/**
 * VipResizeCQ() - Change the number of entries of a CQ (9.7.3)
 * @CQHandle: of VipCreateCQ(); its entries stay in it
 * @EntryCount: not 0
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: no memory, more than
 * MaxCQEntries, or fewer than it has.
 */
VIP_RETURN VipResizeCQ(VIP_CQ_HANDLE CQHandle, VIP_ULONG EntryCount)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;
	struct vipl_cq *cq;

	cq = vipl_enter(VIPL_CQ, CQHandle, &nic);
	if (cq)
		ret = check_size(cq->nic, EntryCount);
	if (!ret)
		ret = cq_resize(cq, EntryCount);
	vipl_leave(nic);
	return ret;
}

/**
 * vipl_cq_release() - Destroy all CQs of a NIC that is closing
 * @nic: the NIC, which has no VIs any more
 *
 * Context: the NIC's lock is held.
 */
void vipl_cq_release(struct vipl_nic *nic)
{
	while (nic->cqs)
		cq_destroy(nic->cqs);
}
