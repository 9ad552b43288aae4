// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work queues (9.6). A program may poll a descriptor's status in memory, so the status
 * is written last.
 */
#include <stdlib.h>
#include "bounce.h"
#include "cq.h"
#include "dispatch.h"
#include "error.h"
#include "lock.h"
#include "queue.h"

/**
 * vipl_queue_init() - Initialize a queue
 * @queue: empty afterwards
 * @cq: its CQ, or NULL
 *
 * Context: the NIC's lock is held.
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
 * Context: the NIC's lock is held.
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
 * Context: the NIC's lock is held.
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
	free(work);
	return desc;
}

/**
 * vipl_queue_free() - Free a queue and release its CQ
 * @queue: of a VI that ends; does not change the program's descriptors
 *
 * Context: the NIC's lock is held.
 */
void vipl_queue_free(struct vipl_queue *queue)
{
	while (queue->head)
		vipl_queue_take(queue);
	vipl_calls_cancel(&queue->notify, NULL);
	if (queue->cq)
		queue->cq->users--;
}

/**
 * vipl_queue_notify() - Dequeue descriptors for registered handlers
 * @vi: the VI
 * @queue: one of its queues
 *
 * Context: the NIC's lock is held.
 */
void vipl_queue_notify(struct vipl_vi *vi, struct vipl_queue *queue)
{
	while (queue->notify && vipl_queue_is_done(queue)) {
		struct vipl_call *call = vipl_calls_take(&queue->notify);

		call->vi = vi->handle;
		call->desc = vipl_queue_take(queue);
		vipl_dispatch(vi->nic, call);
	}
}

static void write_result(VIP_DESCRIPTOR *desc, const struct vipl_result *result, bool received)
{
	uint32_t status = VIP_STATUS_DONE | result->status | result->op;

	desc->CS.Length = result->length;
	/* In a receive VIP_CONTROL_IMMEDIATE tells what came, not what was posted (10.2). */
	if (received)
		desc->CS.Control &= ~VIP_CONTROL_IMMEDIATE;
	if (result->has_imm) {
		desc->CS.ImmediateData = result->imm;
		desc->CS.Control |= VIP_CONTROL_IMMEDIATE;
		status |= VIP_STATUS_IMMEDIATE;
	}
	__atomic_store_n(&desc->CS.Status, status, __ATOMIC_RELEASE);
}

/**
 * vipl_queue_end() - Complete a descriptor
 * @vi: its VI
 * @queue: one of the VI's queues
 * @work: in @queue
 * @result: its result
 *
 * The caller calls vipl_queue_notify() when it does not use @work any more.
 *
 * Context: the NIC's lock is held.
 * Return: false if the program has deregistered the descriptor, which ends a reliable connection.
 */
bool vipl_queue_end(struct vipl_vi *vi, struct vipl_queue *queue, struct vipl_work *work,
		    const struct vipl_result *result)
{
	VIP_DESCRIPTOR *desc = work->desc;
	bool there = vipl_memory_covers(vi->nic, NULL, work->handle, desc, sizeof(desc->CS));

	work->done = true;
	work->result = result->status;
	vipl_bounce_free(vi, work);
	/* The library does not write to memory that the program has deregistered (VIA-007). */
	if (there)
		write_result(desc, result, queue == &vi->recv);
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
	vipl_wake(vi->nic);
	return there;
}

/**
 * vipl_queue_flush() - Flush all descriptors of a queue that are not done
 * @vi: its VI; the descriptors have no WRs in progress
 * @queue: one of its queues
 *
 * Context: the NIC's lock is held.
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
	vipl_queue_notify(vi, queue);
}

/**
 * vipl_queue_rewind() - Let all descriptors of a queue be posted again
 * @vi: its VI
 * @queue: without completed descriptors
 *
 * Context: the NIC's lock is held.
 */
void vipl_queue_rewind(struct vipl_vi *vi, struct vipl_queue *queue)
{
	struct vipl_work *work;

	queue->todo = NULL;
	for (work = queue->head; work; work = work->next) {
		if (work->done)
			continue;
		vipl_bounce_free(vi, work);
		work->wrs = 0;
		work->failed = 0;
		if (!queue->todo)
			queue->todo = work;
	}
}
