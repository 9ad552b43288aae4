/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A connection in verbs: an rdma_cm_id, its QP, and what lies in front of each message. */
#ifndef VIPL_LINK_H
#define VIPL_LINK_H

#include "hello.h"
#include "vi.h"

#define VIPL_SEND_WRS	128
#define VIPL_RECV_WRS	(VIPL_MAX_DESCS + 1)	/* and the peer's first message */

#define VIPL_UD_CREDITS		16	/* messages that a peer may have under way */
#define VIPL_UD_RECVS		(VIPL_UD_CREDITS + 4)	/* with those that give credits back */

/* In front of the data of each message, little-endian */
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
	VIPL_MSG_READY,		/* the client has its connection; no descriptor takes it */
	VIPL_MSG_WRITE,		/* an RDMA Write of Unreliable Delivery */
	VIPL_MSG_CREDITS,	/* @imm buffers are free again */
};

#define VIPL_HAS_IMM	1	/* of flags */

/* A WR that is under way; its wr_id points here */
struct vipl_slot {
	struct vipl_ring *ring;
	struct vipl_work *work;		/* NULL: the library's own */
};

/**
 * struct vipl_ring - the WRs of one direction
 * @link: whose
 * @slots: one for each WR
 * @headers: one for each slot, in registered memory
 * @size: how many
 * @next: the slot that the next WR gets
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
 * under vipl_lock
 * @next: of the NIC's, the oldest first
 * @handle: the context of @id, and the handle of a request
 * @nic: its owner
 * @vi: whose connection it is; NULL while it is a request that is not accepted
 * @id: of rdma_cm; its QP is made as late as can be
 * @peer: its discriminators and attributes, as far as it told them
 * @passive: the peer asked for it
 * @offered: a request that VipConnectWait() has returned
 * @up: descriptors go through it
 * @ending: it has been told to end, and is waited for
 * @then: the state of @vi when it has
 * @abort_at: when what does not end by itself is ended, in ms of the monotonic clock
 * @lane: where its completions are
 * @mr: of the headers
 * @send: what is to go
 * @recv: what may come
 * @reads: RDMA Reads of the program that are under way
 * @blamed: of Reliable Reception: a descriptor has said why the connection broke
 * @buffers: of Unreliable Delivery, where all comes; or NULL
 * @credits: messages that the peer has buffers for
 * @owed: buffers that are free again without the peer's knowing it
 */
struct vipl_link {
	struct vipl_link *next;
	void *handle;
	struct vipl_nic *nic;
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
 * struct vipl_event - what rdma_cm says
 * @type: what it is
 * @id: the new one of a request, else NULL
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
void vipl_link_broken(struct vipl_link *link);
void vipl_link_abort(struct vipl_link *link);
void vipl_link_reap(struct vipl_link *link);
void vipl_link_give_up(struct vipl_link *link, enum vipl_outcome outcome);

#endif
