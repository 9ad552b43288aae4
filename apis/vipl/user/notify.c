// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Handlers of completed descriptors (9.6.9 to 9.6.11): each registration causes one call, for
 * one descriptor or one entry.
 */
#include <stdlib.h>
#include "cq.h"
#include "dispatch.h"
#include "lock.h"
#include "progress.h"
#include "queue.h"

/* Allocates a call without a handler. Return: NULL without memory */
static struct vipl_call *new_call(struct vipl_nic *nic, const void *owner, void *context)
{
	struct vipl_call *call = vipl_dispatch_start(nic) ? calloc(1, sizeof(*call)) : NULL;

	if (call) {
		call->owner = owner;
		call->context = context;
	}
	return call;
}

static VIP_RETURN notify_queue(struct vipl_vi *vi, struct vipl_queue *queue, void *context,
			       vipl_desc_handler handler)
{
	struct vipl_call *call;

	if (queue->cq)
		return VIP_ERROR_RESOURCE;
	call = new_call(vi->nic, vi->handle, context);
	if (!call)
		return VIP_ERROR_RESOURCE;
	call->desc_handler = handler;
	vipl_calls_add(&queue->notify, call);
	vipl_progress(vi->nic);
	vipl_progress_awaited(vi->nic);
	return VIP_SUCCESS;
}

static VIP_RETURN notify_vi(VIP_VI_HANDLE handle, bool recv, void *context,
			    vipl_desc_handler handler)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;
	struct vipl_vi *vi;

	if (!handler)
		return ret;
	vi = vipl_enter(VIPL_VI, handle, &nic);
	if (vi)
		ret = notify_queue(vi, recv ? &vi->recv : &vi->send, context, handler);
	/* The completions taken may have ended the VI: look it up again. */
	vi = nic ? vipl_object(nic, VIPL_VI, handle) : NULL;
	if (vi)
		vipl_queue_notify(vi, recv ? &vi->recv : &vi->send);
	vipl_leave(nic);
	return ret;
}

/**
 * VipSendNotify() - Register a handler for the next completed send (9.6.9)
 * @ViHandle: of VipCreateVi()
 * @Context: passed to @Handler
 * @Handler: called once, in a thread of the library, with a dequeued descriptor; it may call
 * the library
 *
 * The end of the VI cancels pending calls.
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: the queue has a CQ, or
 * there is no memory.
 */
VIP_RETURN VipSendNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context,
			 void (*Handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE,
					 VIP_DESCRIPTOR *))
{
	return notify_vi(ViHandle, false, Context, Handler);
}

/**
 * VipRecvNotify() - Register a handler for the next completed receive (9.6.10)
 * @ViHandle: of VipCreateVi()
 * @Context: passed to @Handler
 * @Handler: as for VipSendNotify()
 *
 * The end of the VI cancels pending calls.
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: the queue has a CQ, or
 * there is no memory.
 */
VIP_RETURN VipRecvNotify(VIP_VI_HANDLE ViHandle, VIP_PVOID Context,
			 void (*Handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE,
					 VIP_DESCRIPTOR *))
{
	return notify_vi(ViHandle, true, Context, Handler);
}

static VIP_RETURN notify_cq(struct vipl_cq *cq, void *context, vipl_cq_handler handler)
{
	struct vipl_call *call = new_call(cq->nic, cq->handle, context);

	if (!call)
		return VIP_ERROR_RESOURCE;
	call->cq_handler = handler;
	vipl_calls_add(&cq->notify, call);
	vipl_progress(cq->nic);
	vipl_progress_awaited(cq->nic);
	vipl_cq_notify(cq);
	return VIP_SUCCESS;
}

/**
 * VipCQNotify() - Register a handler for the next entry of a CQ (9.6.11)
 * @CQHandle: of VipCreateCQ()
 * @Context: passed to @Handler
 * @Handler: called once, in a thread of the library, with an entry that is taken from the CQ;
 * it has to dequeue the descriptor
 *
 * The end of the CQ cancels pending calls.
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS; VIP_INVALID_PARAMETER, also without memory, for which the specification
 * has no code.
 */
VIP_RETURN VipCQNotify(VIP_CQ_HANDLE CQHandle, VIP_PVOID Context,
		       void (*Handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_BOOLEAN))
{
	struct vipl_nic *nic = NULL;
	struct vipl_cq *cq;

	cq = Handler ? vipl_enter(VIPL_CQ, CQHandle, &nic) : NULL;
	if (cq && notify_cq(cq, Context, Handler))
		cq = NULL;
	vipl_leave(nic);
	return cq ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}
