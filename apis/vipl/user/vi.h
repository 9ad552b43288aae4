/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* VIs and their work queues. All of it is under vipl_lock. */
#ifndef VIPL_VI_H
#define VIPL_VI_H

#include "nic.h"

struct vipl_link;

/**
 * struct vipl_work - a descriptor from its post to its Done
 * @next: behind it in the queue
 * @desc: the program's
 * @handle: of the memory that @desc lies in
 * @op: of the status, as the descriptor had it when it was posted
 * @wrs: of it that have no completion yet
 * @failed: in bits of the status, of the first WR that failed
 * @bounce: its data, if it has more segments than a WR takes; or NULL
 * @done: its status is written
 * @cs: as @desc had it when it was posted; the program may not change it, but it can
 * @ds: the same, of as many segments as a descriptor may have at most
 */
struct vipl_work {
	struct vipl_work *next;
	VIP_DESCRIPTOR *desc;
	VIP_MEM_HANDLE handle;
	uint32_t op;
	unsigned int wrs;
	uint32_t failed;
	struct ibv_mr *bounce;
	bool done;
	VIP_CONTROL_SEGMENT cs;
	VIP_DESCRIPTOR_SEGMENT ds[];
};

/**
 * struct vipl_queue - a work queue
 * @head: the oldest, the one that is dequeued next
 * @tail: where the next one is linked
 * @todo: the oldest that no WR has been posted for, or NULL
 * @count: of descriptors, done and not
 * @cq: where their ends are told, or NULL
 * @notify: who is called when the head is done, each for one
 */
struct vipl_queue {
	struct vipl_work *head;
	struct vipl_work **tail;
	struct vipl_work *todo;
	unsigned int count;
	struct vipl_cq *cq;
	struct vipl_call *notify;
};

/* How an attempt to connect stands */
enum vipl_outcome {
	VIPL_TRYING,
	VIPL_CONNECTED,
	VIPL_REJECTED,		/* by the peer's program */
	VIPL_NOBODY,		/* there, or nobody who waits for it */
	VIPL_FAILED,		/* for want of resources here */
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
 * @link: its connection or the attempt at one, or NULL
 * @outcome: of the last attempt
 * @epoch: of VipDisconnect() calls
 * @remote: the attributes of the peer, once it is Connected
 * @peer_ret: what came of it, VIP_NOT_DONE before
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
	struct vipl_link *link;
	enum vipl_outcome outcome;
	unsigned long epoch;
	VIP_VI_ATTRIBUTES remote;
	VIP_RETURN peer_ret;
};

/* Of Unreliable Delivery */
static inline bool vipl_is_ud(const struct vipl_vi *vi)
{
	return vi->attribs.ReliabilityLevel == VIP_SERVICE_UNRELIABLE;
}

#endif
