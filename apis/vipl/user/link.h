/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A connection in verbs: an rdma_cm_id, its QP, and the header of each message. */
#ifndef VIPL_LINK_H
#define VIPL_LINK_H

#include "hello.h"
#include "vi.h"

#define VIPL_SEND_WRS	128
#define VIPL_RECV_WRS	(VIPL_MAX_DESCS + 1)	/* one for the peer's first message */

#define VIPL_UD_CREDITS		16	/* messages that a peer may have in flight */
#define VIPL_UD_RECVS		(VIPL_UD_CREDITS + 4)	/* and messages that return credits */

/* Header of each message, little-endian */
struct vipl_header {
	uint8_t type;
	uint8_t flags;
	uint16_t reserved;
	uint32_t imm;
	uint64_t target;	/* of VIPL_MSG_WRITE, with @handle */
	uint32_t handle;
	uint32_t reserved2;
};

enum vipl_message {
	VIPL_MSG_SEND = 1,
	VIPL_MSG_WRITTEN,	/* an RDMA Write with immediate data is placed */
	VIPL_MSG_READY,		/* the client has its connection; uses no descriptor */
	VIPL_MSG_WRITE,		/* an RDMA Write of Unreliable Delivery */
	VIPL_MSG_CREDITS,	/* @imm buffers are free again */
};

#define VIPL_HAS_IMM	1	/* of flags */

/* A WR in progress; its wr_id points here */
struct vipl_slot {
	struct vipl_ring *ring;
	struct vipl_work *work;		/* NULL: the library's own */
};

/**
 * struct vipl_ring - the WRs of one direction
 * @link: its link
 * @slots: one for each WR
 * @headers: one for each slot, in registered memory
 * @size: number of slots
 * @next: slot of the next WR
 * @busy: WRs without a completion
 */
struct vipl_ring {
	struct vipl_link *link;
	struct vipl_slot *slots;
	struct vipl_header *headers;
	unsigned int size;
	unsigned int next;
	unsigned int busy;
};

/**
 * struct vipl_link - a connection, from its request to its last completion; all of it is
 * under the NIC's lock
 * @nic: its owner
 * @next: in the NIC's list, the oldest first
 * @handle: the context of @id, and the handle of a request
 * @vi: its VI; NULL for a request that is not accepted yet
 * @id: of rdma_cm; its QP is created as late as possible
 * @peer: the peer's discriminators and attributes, as far as received
 * @passive: the peer has requested it
 * @offered: a request that VipConnectWait() has returned
 * @up: descriptors may use it
 * @ending: it is ending
 * @then: state of @vi after the end
 * @abort_at: time-out for a graceful end, in ms of the monotonic clock
 * @lane: the CQ of its completions
 * @mr: of the headers
 * @send: WRs that send
 * @recv: WRs that receive
 * @reads: RDMA Reads of the program in progress
 * @blamed: of Reliable Reception: a descriptor has reported why the connection broke
 * @buffers: of Unreliable Delivery: receive buffers of all messages; or NULL
 * @credits: number of messages for which the peer has buffers
 * @owed: free buffers that were not yet reported to the peer
 */
struct vipl_link {
	struct vipl_nic *nic;
	struct vipl_link *next;
	void *handle;
	struct vipl_vi *vi;
	struct rdma_cm_id *id;
	struct vipl_hello peer;
	bool passive;
	bool offered;
	bool up;
	bool ending;
	VIP_VI_STATE then;
	uint64_t abort_at;
	struct vipl_lane *lane;
	struct ibv_mr *mr;
	struct vipl_ring send;
	struct vipl_ring recv;
	unsigned int reads;
	bool blamed;
	struct ibv_mr *buffers;
	unsigned int credits;
	unsigned int owed;
};

/**
 * struct vipl_event - an event of rdma_cm
 * @type: its type
 * @id: the new id of a request, otherwise NULL
 * @context: of the link, or of the listener of a request
 * @len: of @data
 * @data: private data
 */
struct vipl_event {
	enum rdma_cm_event_type type;
	struct rdma_cm_id *id;
	void *context;
	size_t len;
	uint8_t data[256];
};

struct vipl_link *vipl_link_new(struct vipl_nic *nic, struct rdma_cm_id *id);
void vipl_link_refuse(struct vipl_link *link, enum vipl_hello_kind why);
void vipl_link_up(struct vipl_link *link);
void vipl_link_end(struct vipl_link *link, VIP_VI_STATE then);
void vipl_link_fault(struct vipl_link *link);
void vipl_link_broken(struct vipl_link *link);
void vipl_link_abort(struct vipl_link *link);
void vipl_link_reap(struct vipl_link *link);
void vipl_link_give_up(struct vipl_link *link, enum vipl_outcome outcome);

#endif
