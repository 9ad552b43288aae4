// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Dequeuing completed descriptors (9.6), and entries of CQs (9.6.7, 9.6.8) */
#include "cq.h"
#include "done.h"
#include "lock.h"
#include "progress.h"
#include "queue.h"

/* A call has found nothing; @waits: it sleeps until there is something */
static void tell_thread(struct vipl_nic *nic, bool waits)
{
	if (waits)
		vipl_progress_awaited(nic);
	else
		vipl_progress_polled(nic);
}

/* --- work queues --- */

static struct vipl_queue *queue_of(struct vipl_vi *vi, bool recv)
{
	return recv ? &vi->recv : &vi->send;
}

/* A program waits for the CQ of a queue that has one (9.6.3) */
static bool bound_to_cq(VIP_VI_HANDLE handle, bool recv)
{
	struct vipl_vi *vi = handle_object(VIPL_VI, handle);

	return vi && queue_of(vi, recv)->cq;
}

/* Looks the VI up, as it may be gone; @waits: the caller waits if no descriptor is done */
static VIP_RETURN dequeue(VIP_VI_HANDLE handle, bool recv, bool waits, VIP_DESCRIPTOR **desc,
			  uint32_t *errors)
{
	struct vipl_vi *vi = handle_object(VIPL_VI, handle);
	struct vipl_queue *queue;

	if (!vi)
		return VIP_INVALID_PARAMETER;
	queue = queue_of(vi, recv);
	if (!vipl_queue_is_done(queue))
		vipl_progress(vi->nic);
	if (!vipl_queue_is_done(queue)) {
		tell_thread(vi->nic, waits);
		return VIP_NOT_DONE;
	}
	*errors = queue->head->result;
	*desc = vipl_queue_take(queue);
	return VIP_SUCCESS;
}

/**
 * vipl_dequeue() - Dequeue the head of a queue if it is done
 * @handle: of VipCreateVi()
 * @recv: its receive queue
 * @desc: set to the descriptor dequeued, or NULL; its memory may be gone
 * @errors: set to the error bits of its status
 *
 * Context: any thread; takes the NIC's lock.
 * Return: as VipSendDone().
 */
VIP_RETURN vipl_dequeue(VIP_VI_HANDLE handle, bool recv, VIP_DESCRIPTOR **desc, uint32_t *errors)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;

	if (!desc)
		return ret;
	*desc = NULL;
	if (vipl_enter(VIPL_VI, handle, &nic))
		ret = dequeue(handle, recv, false, desc, errors);
	vipl_leave(nic);
	return ret;
}

/**
 * vipl_dequeue_wait() - Wait for the head of a queue and dequeue it
 * @handle: of VipCreateVi()
 * @recv: its receive queue
 * @msecs: in milliseconds, or VIP_INFINITE
 * @desc: as for vipl_dequeue()
 * @errors: likewise
 *
 * Context: any thread; sleeps.
 * Return: as VipSendWait().
 */
VIP_RETURN vipl_dequeue_wait(VIP_VI_HANDLE handle, bool recv, VIP_ULONG msecs,
			     VIP_DESCRIPTOR **desc, uint32_t *errors)
{
	struct vipl_deadline deadline = vipl_deadline_in(msecs);
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;

	if (!desc)
		return ret;
	*desc = NULL;
	if (!vipl_enter(VIPL_VI, handle, &nic))
		return ret;
	do
		ret = bound_to_cq(handle, recv) ? VIP_ERROR_RESOURCE :
						  dequeue(handle, recv, true, desc, errors);
	while (ret == VIP_NOT_DONE && vipl_wait(nic, &deadline));
	vipl_leave(nic);
	return ret == VIP_NOT_DONE ? VIP_TIMEOUT : ret;
}

/**
 * VipSendDone() - Dequeue the head of the send queue if it is done (9.6.2)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: set to the descriptor dequeued, or NULL; its status has the result
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_NOT_DONE, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **Descriptor)
{
	uint32_t errors;

	return vipl_dequeue(ViHandle, false, Descriptor, &errors);
}

/**
 * VipSendWait() - Wait for the head of the send queue and dequeue it (9.6.3)
 * @ViHandle: of VipCreateVi()
 * @TimeOut: in milliseconds, or VIP_INFINITE
 * @Descriptor: as for VipSendDone()
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_TIMEOUT; VIP_INVALID_PARAMETER, also if the VI ends meanwhile;
 * VIP_ERROR_RESOURCE: the queue has a CQ.
 */
VIP_RETURN VipSendWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **Descriptor)
{
	uint32_t errors;

	return vipl_dequeue_wait(ViHandle, false, TimeOut, Descriptor, &errors);
}

/**
 * VipRecvDone() - Dequeue the head of the receive queue if it is done (9.6.5)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: as for VipSendDone()
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_NOT_DONE, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **Descriptor)
{
	uint32_t errors;

	return vipl_dequeue(ViHandle, true, Descriptor, &errors);
}

/**
 * VipRecvWait() - Wait for the head of the receive queue and dequeue it (9.6.6)
 * @ViHandle: of VipCreateVi()
 * @TimeOut: in milliseconds, or VIP_INFINITE
 * @Descriptor: as for VipSendDone()
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_TIMEOUT; VIP_INVALID_PARAMETER, also if the VI ends meanwhile;
 * VIP_ERROR_RESOURCE: the queue has a CQ.
 */
VIP_RETURN VipRecvWait(VIP_VI_HANDLE ViHandle, VIP_ULONG TimeOut, VIP_DESCRIPTOR **Descriptor)
{
	uint32_t errors;

	return vipl_dequeue_wait(ViHandle, true, TimeOut, Descriptor, &errors);
}

/* --- CQs --- */

/* Looks the CQ up, as it may be gone; @waits: the caller waits if the CQ is empty */
static VIP_RETURN take(VIP_CQ_HANDLE handle, bool waits, struct vipl_cq_entry *entry)
{
	struct vipl_cq *cq = handle_object(VIPL_CQ, handle);

	if (!cq)
		return VIP_INVALID_PARAMETER;
	if (!cq->count)
		vipl_progress(cq->nic);
	if (!cq->count)
		tell_thread(cq->nic, waits);
	return vipl_cq_take(cq, entry) ? VIP_SUCCESS : VIP_NOT_DONE;
}

static VIP_RETURN take_until(VIP_CQ_HANDLE handle, const struct vipl_deadline *deadline,
			     VIP_VI_HANDLE *vi, VIP_BOOLEAN *recv)
{
	struct vipl_cq_entry entry = { NULL, VIP_FALSE };
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;

	if (!vi || !recv)
		return ret;
	if (vipl_enter(VIPL_CQ, handle, &nic))
		do
			ret = take(handle, deadline, &entry);
		while (ret == VIP_NOT_DONE && deadline && vipl_wait(nic, deadline));
	vipl_leave(nic);
	*vi = entry.vi;
	*recv = entry.recv;
	return ret;
}

/**
 * VipCQDone() - Take the oldest entry of a CQ, if there is one (9.6.7)
 * @CQHandle: of VipCreateCQ()
 * @ViHandle: set to the VI of a completed descriptor, which the program has to dequeue
 * @RecvQueue: set to VIP_TRUE if it is of the receive queue
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_NOT_DONE, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipCQDone(VIP_CQ_HANDLE CQHandle, VIP_VI_HANDLE *ViHandle, VIP_BOOLEAN *RecvQueue)
{
	return take_until(CQHandle, NULL, ViHandle, RecvQueue);
}

/**
 * VipCQWait() - Wait for an entry of a CQ and take it (9.6.8)
 * @CQHandle: of VipCreateCQ()
 * @Timeout: in milliseconds, or VIP_INFINITE
 * @ViHandle: as for VipCQDone()
 * @RecvQueue: as for VipCQDone()
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_TIMEOUT; VIP_INVALID_PARAMETER, also if the CQ ends meanwhile.
 */
VIP_RETURN VipCQWait(VIP_CQ_HANDLE CQHandle, VIP_ULONG Timeout, VIP_VI_HANDLE *ViHandle,
		     VIP_BOOLEAN *RecvQueue)
{
	struct vipl_deadline deadline = vipl_deadline_in(Timeout);
	VIP_RETURN ret = take_until(CQHandle, &deadline, ViHandle, RecvQueue);

	return ret == VIP_NOT_DONE ? VIP_TIMEOUT : ret;
}
