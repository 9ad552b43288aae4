/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* VIs and their work queues. All of it is under the NIC's lock. */
#ifndef VIPL_VI_H
#define VIPL_VI_H

#include "nic.h"

struct vipl_link;

/**
 * struct vipl_work - a descriptor from post to dequeue
 * @next: next in the queue
 * @desc: the program's
 * @handle: of the memory of @desc
 * @op: operation bits of the status, as of the post
 * @wrs: its WRs without a completion
 * @failed: status bits of the first WR that failed
 * @bounce: buffer for its data, while it has WRs, if it has more segments than they take; or NULL
 * @result: error bits of its status, valid with @done
 * @done: its status is written
 * @cs: copy of the control segment, as of the post: the program could change it
 * @ds: likewise of the segments, up to the maximum of a descriptor
 */
struct vipl_work {
	struct vipl_work *next;
	VIP_DESCRIPTOR *desc;
	VIP_MEM_HANDLE handle;
	uint32_t op;
	unsigned int wrs;
	uint32_t failed;
	struct ibv_mr *bounce;
	uint32_t result;
	bool done;
	VIP_CONTROL_SEGMENT cs;
	VIP_DESCRIPTOR_SEGMENT ds[];
};

/**
 * struct vipl_queue - a work queue
 * @head: the oldest, which is dequeued next
 * @tail: link for the next one
 * @todo: the oldest without posted WRs, or NULL
 * @count: number of descriptors, done and not
 * @cq: its CQ, or NULL
 * @notify: calls that wait for completed descriptors, one each
 */
struct vipl_queue {
	struct vipl_work *head;
	struct vipl_work **tail;
	struct vipl_work *todo;
	unsigned int count;
	struct vipl_cq *cq;
	struct vipl_call *notify;
};

/* State of an attempt to connect */
enum vipl_outcome {
	VIPL_TRYING,
	VIPL_CONNECTED,
	VIPL_REJECTED,		/* by the peer's program */
	VIPL_NOBODY,		/* no server there, or none for the discriminator */
	VIPL_FAILED,		/* no resources at this end */
};

/**
 * struct vipl_vi - a VI
 * @nic: its owner
 * @next: in the NIC's list
 * @handle: the program's
 * @state: of chapter 5
 * @attribs: as they were set last
 * @ptag: of @attribs
 * @send: the send queue
 * @recv: the receive queue
 * @link: its connection or attempt, or NULL
 * @outcome: of the last attempt
 * @epoch: number of VipDisconnect() calls
 * @remote: attributes of the peer, once it is Connected
 * @spare: bounce buffers without a descriptor, of MaxTransferSize, kept until its link has ended
 * @peer_ret: result of VipConnectPeerRequest(), VIP_NOT_DONE before
 */
struct vipl_vi {
	struct vipl_nic *nic;
	struct vipl_vi *next;
	void *handle;
	VIP_VI_STATE state;
	VIP_VI_ATTRIBUTES attribs;
	struct vipl_ptag *ptag;
	struct vipl_queue send;
	struct vipl_queue recv;
	struct vipl_link *link;
	enum vipl_outcome outcome;
	unsigned long epoch;
	VIP_VI_ATTRIBUTES remote;
	struct ibv_mr *spare;
	VIP_RETURN peer_ret;
};

/* Is it of Unreliable Delivery? */
static inline bool vipl_is_ud(const struct vipl_vi *vi)
{
	return vi->attribs.ReliabilityLevel == VIP_SERVICE_UNRELIABLE;
}

#endif
