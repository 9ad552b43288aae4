// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work queues (9.6). A program may look for the end of a descriptor in its memory
 * alone, so the status is written last, and by whoever ends it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <syslog.h>
#include "cq.h"
#include "handle.h"
#include "vi.h"
#include "wait.h"

/* --- descriptors --- */

static size_t desc_bytes(const VIP_DESCRIPTOR *desc)
{
	return sizeof(desc->CS) + desc->CS.SegCount * sizeof(desc->DS[0]);
}

/*
 * All of it is in one region that has the VI's tag (VIA-009) and that its status can
 * be written to. How long it is says the descriptor itself, so its first part is
 * looked at first.
 */
static bool desc_is_valid(struct vipl_nic *nic, const struct vipl_ptag *ptag,
			  const VIP_DESCRIPTOR *desc, VIP_MEM_HANDLE handle)
{
	return !((uintptr_t)desc % VIP_DESCRIPTOR_ALIGNMENT) &&
	       vipl_memory_covers(nic, ptag, handle, desc, sizeof(desc->CS)) &&
	       vipl_memory_covers(nic, ptag, handle, desc, desc_bytes(desc));
}

static uint32_t send_op(const VIP_DESCRIPTOR *desc)
{
	switch (desc->CS.Control & VIP_CONTROL_OP_MASK) {
	case VIP_CONTROL_OP_RDMAWRITE:
		return VIP_STATUS_OP_RDMA_WRITE;
	case VIP_CONTROL_OP_RDMA_READ:
		return VIP_STATUS_OP_RDMA_READ;
	}
	return VIP_STATUS_OP_SEND;
}

/* --- the queue --- */

/**
 * vipl_queue_init() - Make a queue
 * @queue: becomes empty
 * @cq: where its ends are told, or NULL
 *
 * Context: vipl_lock is held, as for all of them.
 */
void vipl_queue_init(struct vipl_queue *queue, struct vipl_cq *cq)
{
	queue->head = NULL;
	queue->tail = &queue->head;
	queue->count = 0;
	queue->cq = cq;
	if (cq)
		cq->users++;
}

static void remove_head(struct vipl_queue *queue)
{
	struct vipl_work *work = queue->head;

	queue->head = work->next;
	if (!queue->head)
		queue->tail = &queue->head;
	queue->count--;
	free(work);
}

/**
 * vipl_queue_free() - Forget what is in a queue, and its CQ
 * @queue: of a VI that ends; the descriptors stay as they are
 *
 * Context: vipl_lock is held.
 */
void vipl_queue_free(struct vipl_queue *queue)
{
	while (queue->head)
		remove_head(queue);
	if (queue->cq)
		queue->cq->users--;
}

static bool append(struct vipl_queue *queue, VIP_DESCRIPTOR *desc, VIP_MEM_HANDLE handle,
		   uint32_t op)
{
	struct vipl_work *work = calloc(1, sizeof(*work));

	if (!work)
		return false;
	work->desc = desc;
	work->handle = handle;
	work->op = op;
	*queue->tail = work;
	queue->tail = &work->next;
	queue->count++;
	return true;
}

/* The memory may be no longer what was registered; then it is not touched (VIA-007). */
static void end_flushed(struct vipl_vi *vi, struct vipl_work *work)
{
	VIP_DESCRIPTOR *desc = work->desc;

	work->done = true;
	if (!vipl_memory_covers(vi->nic, NULL, work->handle, desc, sizeof(desc->CS))) {
		syslog(LOG_ERR, "libvipl: descriptor %p ended in memory that is not registered",
		       (void *)desc);
		return;
	}
	desc->CS.Length = 0;
	__atomic_store_n(&desc->CS.Status,
			 VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR | work->op,
			 __ATOMIC_RELEASE);
}

/**
 * vipl_queue_flush() - End all descriptors of a queue that are not done
 * @vi: whose it is
 * @queue: one of its queues
 *
 * Context: vipl_lock is held.
 */
void vipl_queue_flush(struct vipl_vi *vi, struct vipl_queue *queue)
{
	struct vipl_work *work;

	for (work = queue->head; work; work = work->next)
		if (!work->done) {
			end_flushed(vi, work);
			vipl_cq_add(queue->cq, vi->handle, queue == &vi->recv);
		}
	pthread_cond_broadcast(&vipl_changed);
}

/* --- posting --- */

/* Why a descriptor cannot be queued, which a post does not return: 9.9.1 */
static const char *refusal(struct vipl_vi *vi, struct vipl_queue *queue,
			   const VIP_DESCRIPTOR *desc, VIP_MEM_HANDLE handle)
{
	if (!desc_is_valid(vi->nic, vi->ptag, desc, handle))
		return "is not in registered memory of the tag";
	if (queue->count >= vi->nic->attribs.MaxDescriptorsPerQueue)
		return "is one too many";
	return NULL;
}

static VIP_RETURN post(struct vipl_vi *vi, struct vipl_queue *queue, VIP_DESCRIPTOR *desc,
		       VIP_MEM_HANDLE handle)
{
	const char *why = refusal(vi, queue, desc, handle);

	if (why) {
		syslog(LOG_ERR, "libvipl: descriptor %p %s", (void *)desc, why);
		return VIP_SUCCESS;
	}
	if (!append(queue, desc, handle,
		    queue == &vi->recv ? VIP_STATUS_OP_RECEIVE : send_op(desc)))
		return VIP_ERROR_RESOURCE;
	__atomic_store_n(&desc->CS.Status, 0, __ATOMIC_RELAXED);
	return VIP_SUCCESS;
}

/**
 * VipPostSend() - Post a descriptor to the send queue (9.6.1)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: the library's until it is dequeued
 * @MemoryHandle: of the memory that it lies in
 *
 * A VI that is not Connected flushes it at once (VIA-073). A descriptor that is
 * not in registered memory, or one too many, is logged and is not queued.
 *
 * Context: any thread; takes vipl_lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: no memory.
 */
VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *Descriptor,
		       VIP_MEM_HANDLE MemoryHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_vi *vi;

	pthread_mutex_lock(&vipl_lock);
	vi = vipl_handle_object(VIPL_VI, ViHandle);
	if (vi) {
		ret = post(vi, &vi->send, Descriptor, MemoryHandle);
		vipl_queue_flush(vi, &vi->send);
	}
	pthread_mutex_unlock(&vipl_lock);
	return ret;
}

/**
 * VipPostRecv() - Post a descriptor to the receive queue (9.6.4)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: the library's until it is dequeued
 * @MemoryHandle: of the memory that it lies in
 *
 * A VI that is Idle keeps it until VipDisconnect() (VIA-072). A descriptor that is
 * not in registered memory, or one too many, is logged and is not queued.
 *
 * Context: any thread; takes vipl_lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: no memory.
 */
VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *Descriptor,
		       VIP_MEM_HANDLE MemoryHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_vi *vi;

	pthread_mutex_lock(&vipl_lock);
	vi = vipl_handle_object(VIPL_VI, ViHandle);
	if (vi)
		ret = post(vi, &vi->recv, Descriptor, MemoryHandle);
	pthread_mutex_unlock(&vipl_lock);
	return ret;
}

/* --- dequeuing --- */

static struct vipl_queue *queue_of(struct vipl_vi *vi, bool recv)
{
	return recv ? &vi->recv : &vi->send;
}

/* Then it is the CQ that is waited for (9.6.3) */
static bool bound_to_cq(VIP_VI_HANDLE handle, bool recv)
{
	struct vipl_vi *vi = vipl_handle_object(VIPL_VI, handle);

	return vi && queue_of(vi, recv)->cq;
}

/* Of a VI that may be gone since the last look */
static VIP_RETURN dequeue(VIP_VI_HANDLE handle, bool recv, VIP_DESCRIPTOR **desc)
{
	struct vipl_vi *vi = vipl_handle_object(VIPL_VI, handle);
	struct vipl_queue *queue;

	*desc = NULL;
	if (!vi)
		return VIP_INVALID_PARAMETER;
	queue = queue_of(vi, recv);
	if (!queue->head || !queue->head->done)
		return VIP_NOT_DONE;
	*desc = queue->head->desc;
	remove_head(queue);
	return VIP_SUCCESS;
}

static VIP_RETURN dequeue_now(VIP_VI_HANDLE handle, bool recv, VIP_DESCRIPTOR **desc)
{
	VIP_RETURN ret;

	if (!desc)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&vipl_lock);
	ret = dequeue(handle, recv, desc);
	pthread_mutex_unlock(&vipl_lock);
	return ret;
}

static VIP_RETURN dequeue_wait(VIP_VI_HANDLE handle, bool recv, VIP_ULONG msecs,
			       VIP_DESCRIPTOR **desc)
{
	struct vipl_deadline deadline = vipl_deadline_in(msecs);
	VIP_RETURN ret;

	if (!desc)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&vipl_lock);
	do
		ret = bound_to_cq(handle, recv) ? VIP_ERROR_RESOURCE : dequeue(handle, recv, desc);
	while (ret == VIP_NOT_DONE && vipl_wait(&deadline));
	pthread_mutex_unlock(&vipl_lock);
	return ret == VIP_NOT_DONE ? VIP_TIMEOUT : ret;
}

/**
 * VipSendDone() - Dequeue the head of the send queue if it is done (9.6.2)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: the one dequeued, NULL if none is; its status says how it went
 *
 * Context: any thread; takes vipl_lock.
 * Return: VIP_SUCCESS, VIP_NOT_DONE, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipSendDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **Descriptor)
{
	return dequeue_now(ViHandle, false, Descriptor);
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
	return dequeue_wait(ViHandle, false, TimeOut, Descriptor);
}

/**
 * VipRecvDone() - Dequeue the head of the receive queue if it is done (9.6.5)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: as for VipSendDone()
 *
 * Context: any thread; takes vipl_lock.
 * Return: VIP_SUCCESS, VIP_NOT_DONE, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipRecvDone(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR **Descriptor)
{
	return dequeue_now(ViHandle, true, Descriptor);
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
	return dequeue_wait(ViHandle, true, TimeOut, Descriptor);
}
