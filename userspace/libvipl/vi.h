/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* VIs and their work queues. All of it is under vipl_lock. */
#ifndef VIPL_VI_H
#define VIPL_VI_H

#include "nic.h"

/**
 * struct vipl_work - a descriptor from its post to its Done
 * @next: behind it in the queue
 * @desc: the program's
 * @handle: of the memory that @desc lies in
 * @op: of the status, as the descriptor had it when it was posted
 * @done: its status is written
 */
struct vipl_work {
	struct vipl_work *next;
	VIP_DESCRIPTOR *desc;
	VIP_MEM_HANDLE handle;
	uint32_t op;
	bool done;
};

/**
 * struct vipl_queue - a work queue
 * @head: the oldest, the one that is dequeued next
 * @tail: where the next one is linked
 * @count: of descriptors, done and not
 * @cq: where their ends are told, or NULL
 */
struct vipl_queue {
	struct vipl_work *head;
	struct vipl_work **tail;
	unsigned int count;
	struct vipl_cq *cq;
};

/**
 * struct vipl_vi - a VI
 * @next: of the NIC's
 * @handle: what the program holds
 * @nic: its owner
 * @state: of chapter 5
 * @attribs: as they were set last
 * @ptag: of @attribs
 * @send: the send queue
 * @recv: the receive queue
 */
struct vipl_vi {
	struct vipl_vi *next;
	void *handle;
	struct vipl_nic *nic;
	VIP_VI_STATE state;
	VIP_VI_ATTRIBUTES attribs;
	struct vipl_ptag *ptag;
	struct vipl_queue send;
	struct vipl_queue recv;
};

void vipl_queue_init(struct vipl_queue *queue, struct vipl_cq *cq);
void vipl_queue_flush(struct vipl_vi *vi, struct vipl_queue *queue);
void vipl_queue_free(struct vipl_queue *queue);

#endif
