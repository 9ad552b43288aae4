// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Posting descriptors (9.6.1, 9.6.4): checks before a descriptor is queued, and a copy of it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "error.h"
#include "link.h"
#include "lock.h"
#include "progress.h"
#include "queue.h"
#include "transfer.h"

static size_t desc_bytes(const VIP_DESCRIPTOR *desc)
{
	return sizeof(desc->CS) + desc->CS.SegCount * sizeof(desc->DS[0]);
}

/*
 * All of the descriptor has to be in one region with the VI's tag (VIA-009), which is
 * writable for its status. Its control segment has the number of segments, and is
 * therefore checked before that number is read.
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

/* Ignores segments beyond the maximum: such a descriptor is in error anyway. */
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

/* Is a new descriptor flushed: a send without a connection, or a receive after a broken one? */
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

/* Reports an error that a post does not return (9.9.1) */
static void refuse(struct vipl_vi *vi, struct vipl_queue *queue, VIP_DESCRIPTOR *desc, bool valid)
{
	VIP_ERROR_DESCRIPTOR error = {
		.ViHandle = vi->handle,
		.DescriptorPtr = desc,
		.OpCode = queue == &vi->recv ? VIP_STATUS_OP_RECEIVE :
			  valid ? send_op(desc) : VIP_STATUS_OP_SEND,
		.ResourceCode = valid ? VIP_RESOURCE_VI : VIP_RESOURCE_DESCRIPTOR,
		.ErrorCode = valid ? VIP_ERROR_VI_OVERRUN : VIP_ERROR_POST_DESC,
	};

	vipl_error(vi->nic, &error);
}

/* Without the descriptor the peer would get a stream with a hole. */
static void break_connection(struct vipl_vi *vi)
{
	if (!vi->link || !vi->link->up)
		return;
	vipl_link_fault(vi->link);
	vipl_link_reap(vi->link);
}

static VIP_RETURN post(struct vipl_vi *vi, struct vipl_queue *queue, VIP_DESCRIPTOR *desc,
		       VIP_MEM_HANDLE handle)
{
	bool valid = desc_is_valid(vi->nic, vi->ptag, desc, handle);

	if (!valid || queue->count >= vi->nic->attribs.MaxDescriptorsPerQueue) {
		refuse(vi, queue, desc, valid);
		break_connection(vi);
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
 * @Descriptor: belongs to the library until it is dequeued
 * @MemoryHandle: of the descriptor's memory
 *
 * A VI that is not Connected flushes it at once (VIA-073). A descriptor that is not in
 * registered memory, or exceeds the queue, is not queued but reported to the handler of
 * VipErrorCallback().
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: no memory.
 */
VIP_RETURN VipPostSend(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *Descriptor,
		       VIP_MEM_HANDLE MemoryHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;
	struct vipl_vi *vi;

	vi = vipl_enter(VIPL_VI, ViHandle, &nic);
	if (vi)
		ret = post(vi, &vi->send, Descriptor, MemoryHandle);
	if (vi && vi->link)
		vipl_progress_posted(vi->link);
	vipl_leave(nic);
	return ret;
}

/**
 * VipPostRecv() - Post a descriptor to the receive queue (9.6.4)
 * @ViHandle: of VipCreateVi()
 * @Descriptor: belongs to the library until it is dequeued
 * @MemoryHandle: of the descriptor's memory
 *
 * A VI that is Idle or Pending keeps it for a connection or VipDisconnect() (VIA-072);
 * one in Error flushes it. A descriptor that is not in registered memory, or exceeds the
 * queue, is not queued but reported to the handler of VipErrorCallback().
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: no memory.
 */
VIP_RETURN VipPostRecv(VIP_VI_HANDLE ViHandle, VIP_DESCRIPTOR *Descriptor,
		       VIP_MEM_HANDLE MemoryHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;
	struct vipl_vi *vi;

	vi = vipl_enter(VIPL_VI, ViHandle, &nic);
	if (vi)
		ret = post(vi, &vi->recv, Descriptor, MemoryHandle);
	vipl_leave(nic);
	return ret;
}
