// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work queues (9.6). A program may look for the end of a descriptor in its memory
 * alone, so the status is written last, and by whoever ends it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "bounce.h"
#include "cq.h"
#include "dispatch.h"
#include "error.h"
#include "kind.h"
#include "link.h"
#include "notify.h"
#include "progress.h"
#include "queue.h"
#include "transfer.h"
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
	queue->todo = NULL;
	queue->count = 0;
	queue->notify = NULL;
	queue->cq = cq;
	if (cq)
		cq->users++;
}

/**
 * vipl_queue_is_done() - Whether the head of a queue is done
 * @queue: may be empty
 *
 * Context: vipl_lock is held.
 * Return: true if it is and can be dequeued.
 */
bool vipl_queue_is_done(const struct vipl_queue *queue)
{
	return queue->head && queue->head->done;
}

/**
 * vipl_queue_take() - Dequeue the head of a queue
 * @queue: not empty
 *
 * Context: vipl_lock is held.
 * Return: the program's descriptor.
 */
VIP_DESCRIPTOR *vipl_queue_take(struct vipl_queue *queue)
{
	struct vipl_work *work = queue->head;
	VIP_DESCRIPTOR *desc = work->desc;

	queue->head = work->next;
	if (!queue->head)
		queue->tail = &queue->head;
	queue->count--;
	vipl_bounce_free(work);
	free(work);
	return desc;
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
		vipl_queue_take(queue);
	vipl_calls_cancel(&queue->notify, NULL);
	if (queue->cq)
		queue->cq->users--;
}

/* What is beyond the longest that there may be is not looked at: it is in error anyway. */
static unsigned int copied_segments(const struct vipl_vi *vi, const VIP_DESCRIPTOR *desc)
{
	unsigned int max = vi->nic->attribs.MaxSegmentsPerDesc + 1;

	return desc->CS.SegCount < max ? desc->CS.SegCount : max;
}

static struct vipl_work *work_new(const struct vipl_vi *vi, VIP_DESCRIPTOR *desc)
{
	unsigned int n = copied_segments(vi, desc);
	struct vipl_work *work = malloc(sizeof(*work) + n * sizeof(work->ds[0]));

	if (!work)
		return NULL;
	memset(work, 0, sizeof(*work));
	work->desc = desc;
	work->cs = desc->CS;
	memcpy(work->ds, desc->DS, n * sizeof(work->ds[0]));
	return work;
}

static bool append(struct vipl_vi *vi, struct vipl_queue *queue, VIP_DESCRIPTOR *desc,
		   VIP_MEM_HANDLE handle)
{
	struct vipl_work *work = work_new(vi, desc);

	if (!work)
		return false;
	work->handle = handle;
	work->op = queue == &vi->recv ? VIP_STATUS_OP_RECEIVE : send_op(desc);
	*queue->tail = work;
	queue->tail = &work->next;
	if (!queue->todo)
		queue->todo = work;
	queue->count++;
	vi->nic->counters.DescriptorsPosted++;
	return true;
}

static void write_result(VIP_DESCRIPTOR *desc, const struct vipl_result *result)
{
	uint32_t status = VIP_STATUS_DONE | result->status | result->op;

	desc->CS.Length = result->length;
	if (result->has_imm) {
		desc->CS.ImmediateData = result->imm;
		desc->CS.Control |= VIP_CONTROL_IMMEDIATE;
		status |= VIP_STATUS_IMMEDIATE;
	}
	__atomic_store_n(&desc->CS.Status, status, __ATOMIC_RELEASE);
}

/**
 * vipl_queue_end() - A descriptor is done
 * @vi: whose it is
 * @queue: one of its queues
 * @work: in @queue
 * @result: how it went
 *
 * The caller calls vipl_notify_queue() when it looks at @work no more.
 *
 * Context: vipl_lock is held.
 */
void vipl_queue_end(struct vipl_vi *vi, struct vipl_queue *queue, struct vipl_work *work,
		    const struct vipl_result *result)
{
	VIP_DESCRIPTOR *desc = work->desc;

	work->done = true;
	/* The memory may be no longer what was registered; then it is not touched (VIA-007). */
	if (vipl_memory_covers(vi->nic, NULL, work->handle, desc, sizeof(desc->CS)))
		write_result(desc, result);
	else
		vipl_error(vi->nic, &(VIP_ERROR_DESCRIPTOR){
			.ViHandle = vi->handle,
			.DescriptorPtr = desc,
			.OpCode = result->op,
			.ResourceCode = VIP_RESOURCE_DESCRIPTOR,
			.ErrorCode = VIP_ERROR_COMP_PROT,
		});
	vi->nic->counters.DescriptorsCompleted++;
	vi->nic->counters.DescriptorsInError += result->status != 0;
	vipl_cq_add(queue->cq, vi->handle, queue == &vi->recv);
	pthread_cond_broadcast(&vipl_changed);
}

/**
 * vipl_queue_flush() - End all descriptors of a queue that are not done
 * @vi: whose it is; no WR is under way for any of them
 * @queue: one of its queues
 *
 * Context: vipl_lock is held.
 */
void vipl_queue_flush(struct vipl_vi *vi, struct vipl_queue *queue)
{
	struct vipl_result result = { .status = VIP_STATUS_DESC_FLUSHED_ERROR };
	struct vipl_work *work;

	queue->todo = NULL;
	for (work = queue->head; work; work = work->next)
		if (!work->done) {
			result.op = work->op;
			vipl_queue_end(vi, queue, work, &result);
		}
	vipl_notify_queue(vi, queue);
}

/* --- posting --- */

/* Only a connection sends, and what breaks one waits until it is gone. */
static bool is_dead(const struct vipl_vi *vi, const struct vipl_queue *queue)
{
	if (queue == &vi->send)
		return !vi->link || !vi->link->up;
	return !vi->link && vi->state == VIP_STATE_ERROR;
}

static void go_on(struct vipl_vi *vi, struct vipl_queue *queue)
{
	if (is_dead(vi, queue)) {
		vipl_queue_flush(vi, queue);
		return;
	}
	vipl_transfer_push(vi, queue);
	if (vi->link)
		vipl_link_reap(vi->link);
}

/* What a post does not return (9.9.1) */
static void refuse(struct vipl_vi *vi, struct vipl_queue *queue, VIP_DESCRIPTOR *desc, bool valid)
{
	VIP_ERROR_DESCRIPTOR error = {
		.ViHandle = vi->handle,
		.DescriptorPtr = desc,
		.OpCode = queue == &vi->recv ? VIP_STATUS_OP_RECEIVE : VIP_STATUS_OP_SEND,
		.ResourceCode = valid ? VIP_RESOURCE_VI : VIP_RESOURCE_DESCRIPTOR,
		.ErrorCode = valid ? VIP_ERROR_VI_OVERRUN : VIP_ERROR_POST_DESC,
	};

	vipl_error(vi->nic, &error);
}

static VIP_RETURN post(struct vipl_vi *vi, struct vipl_queue *queue, VIP_DESCRIPTOR *desc,
		       VIP_MEM_HANDLE handle)
{
	bool valid = desc_is_valid(vi->nic, vi->ptag, desc, handle);

	if (!valid || queue->count >= vi->nic->attribs.MaxDescriptorsPerQueue) {
		refuse(vi, queue, desc, valid);
		return VIP_SUCCESS;
	}
	if (!append(vi, queue, desc, handle))
		return VIP_ERROR_RESOURCE;
	__atomic_store_n(&desc->CS.Status, 0, __ATOMIC_RELAXED);
	go_on(vi, queue);
	return VIP_SUCCESS;
}

/**
 * VipPostSend() - Post a descriptor to the send queue (9.6.1)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: the library's until it is dequeued
 * @MemoryHandle: of the memory that it lies in
 *
 * A VI that is not Connected flushes it at once (VIA-073). A descriptor that is
 * not in registered memory, or one too many, is told to VipErrorCallback()'s function and
 * is not queued.
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
	vi = handle_object(VIPL_VI, ViHandle);
	if (vi)
		ret = post(vi, &vi->send, Descriptor, MemoryHandle);
	pthread_mutex_unlock(&vipl_lock);
	return ret;
}

/**
 * VipPostRecv() - Post a descriptor to the receive queue (9.6.4)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: the library's until it is dequeued
 * @MemoryHandle: of the memory that it lies in
 *
 * A VI that is Idle or Pending keeps it for a connection or VipDisconnect() (VIA-072);
 * one in Error flushes it. A descriptor that is
 * not in registered memory, or one too many, is told to VipErrorCallback()'s function and
 * is not queued.
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
	vi = handle_object(VIPL_VI, ViHandle);
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
	struct vipl_vi *vi = handle_object(VIPL_VI, handle);

	return vi && queue_of(vi, recv)->cq;
}

/* Of a VI that may be gone since the last look; @waits: for what is not done */
static VIP_RETURN dequeue(VIP_VI_HANDLE handle, bool recv, bool waits, VIP_DESCRIPTOR **desc)
{
	struct vipl_vi *vi = handle_object(VIPL_VI, handle);
	struct vipl_queue *queue;

	*desc = NULL;
	if (!vi)
		return VIP_INVALID_PARAMETER;
	queue = queue_of(vi, recv);
	if (!vipl_queue_is_done(queue))
		vipl_progress(vi->nic);
	if (!vipl_queue_is_done(queue)) {
		if (waits)
			vipl_progress_awaited(vi->nic);
		return VIP_NOT_DONE;
	}
	*desc = vipl_queue_take(queue);
	return VIP_SUCCESS;
}

static VIP_RETURN dequeue_now(VIP_VI_HANDLE handle, bool recv, VIP_DESCRIPTOR **desc)
{
	VIP_RETURN ret;

	if (!desc)
		return VIP_INVALID_PARAMETER;
	pthread_mutex_lock(&vipl_lock);
	ret = dequeue(handle, recv, false, desc);
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
		ret = bound_to_cq(handle, recv) ? VIP_ERROR_RESOURCE :
						  dequeue(handle, recv, true, desc);
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
