/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause */
/*
 * srnic: ABI between the kernel module and its libibverbs provider.
 *
 * Rules of this file: fixed-width fields, natural alignment, sizes that are
 * multiples of 8, no bit-fields. Rings have no pointers; one request has the address
 * of a buffer, as 64 bits (DM_COPY). What the kernel reads from a shared ring it copies
 * once and then checks; nothing here is trusted. There is no name here for "all that is
 * known": that differs between a program and a kernel, and each has its own.
 */
#ifndef SRNIC_ABI_H
#define SRNIC_ABI_H

#include <linux/types.h>
#include <rdma/ib_user_ioctl_cmds.h>

#define SRNIC_ABI_VERSION	1
#define SRNIC_DRIVER_ID		0x73724e43	/* "srNC", a private rdma_driver_id */

/*
 * Feature handshake (alloc_ucontext). The provider says what it can make use
 * of, the kernel answers what it has. A bit both know may be used. A bit in
 * @required that the kernel does not know fails the call with EOPNOTSUPP.
 * An importer of a context has no handshake, and asks for what is in use: see
 * SRNIC_ATTR_QUERY_CONTEXT_RESP.
 */
#define SRNIC_FEAT_DOORBELL_FLAG	(1ULL << 0)	/* SRNIC_RING_NEED_WAKEUP */
#define SRNIC_FEAT_ARM_WORD		(1ULL << 1)	/* CQ arm word in the ring */

struct srnic_ureq_alloc_ctx {
	__aligned_u64 features;
	__aligned_u64 required;
};

struct srnic_uresp_alloc_ctx {
	__aligned_u64 features;
	__u32 max_inline;	/* bytes */
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 reserved;
};

/* A mapping: pass @offset to mmap(2) on the uverbs fd, with exactly @size. */
struct srnic_mmap {
	__aligned_u64 offset;
	__aligned_u64 size;
};

struct srnic_uresp_create_cq {
	struct srnic_mmap ring;
	__u32 entries;		/* power of two */
	__u32 cqe_size;		/* bytes from one CQE to the next */
};

/*
 * A CQ is resized in two calls, so that nothing can fail after it has changed:
 * PREPARE makes a ring, which the user maps, and COMMIT moves the CQEs that wait
 * in the old ring, and the arm word, to the same indices of the new one. During
 * COMMIT no thread may poll or arm. A later PREPARE, or CANCEL, drops the ring.
 */
enum srnic_resize_step {
	SRNIC_RESIZE_PREPARE	= 1,
	SRNIC_RESIZE_COMMIT	= 2,
	SRNIC_RESIZE_CANCEL	= 3,
};

struct srnic_ureq_resize_cq {
	__u32 step;		/* enum srnic_resize_step */
	__u32 reserved;		/* 0 */
};

struct srnic_uresp_resize_cq {	/* of PREPARE; zeros of the others */
	struct srnic_mmap ring;
	__u32 entries;		/* power of two */
	__u32 reserved;
};

/*
 * The queues of a QP are resized in the same way, by SRNIC_METHOD_QP_RESIZE: COMMIT moves the
 * WQEs that wait in the old rings to the same indices of the new ones. During COMMIT no thread
 * may post to the QP.
 */
struct srnic_ureq_qp_resize {
	__u32 step;		/* enum srnic_resize_step */
	__u32 max_send_wr;	/* of PREPARE, and the same of COMMIT */
	__u32 max_recv_wr;	/* ...; 0 with an SRQ */
	__u32 reserved;		/* 0 */
};

struct srnic_uresp_qp_resize {	/* of PREPARE; the others leave it as it is */
	struct srnic_mmap sq;
	struct srnic_mmap rq;	/* size 0: the QP uses an SRQ */
	__u32 sq_entries;	/* power of two */
	__u32 rq_entries;	/* power of two */
};

struct srnic_ureq_create_qp {
	__u32 max_write_sge;	/* SGEs of an RDMA Write; 0: as many as a Send may have */
	__u32 reserved;		/* 0 */
};

struct srnic_uresp_create_qp {
	struct srnic_mmap sq;
	struct srnic_mmap rq;	/* size 0: the QP uses an SRQ */
	__u32 sq_entries;	/* power of two */
	__u32 rq_entries;	/* power of two */
	__u32 sqe_size;		/* bytes from one SQE to the next */
	__u32 rqe_size;		/* bytes from one RQE to the next */
	__u32 qpn;		/* below 2^24 */
	__u32 max_write_sge;	/* 0: as many as a Send may have */
};

/* of an address handle, for UD QPs */
struct srnic_uresp_create_ah {
	__u32 number;		/* for srnic_sqe.rkey */
	__u32 reserved;
};

struct srnic_uresp_create_srq {
	struct srnic_mmap ring;
	__u32 entries;		/* power of two */
	__u32 rqe_size;		/* bytes from one RQE to the next */
};

/*
 * Ring memory: one header page of SRNIC_RING_HDR bytes, then the entries.
 * Indices run freely modulo 2^32; slot = index & (entries - 1). Each index
 * has a cache line of its own. The writer of an entry fills it, then stores
 * the producer index with release; the reader loads it with acquire.
 *
 * Indices run on over Error -> Idle -> RTS.
 *
 * SQ, RQ, SRQ: user produces, kernel consumes. The kernel stores the index of
 * the first WQE that it has not consumed when the QP enters Idle.
 * CQ: kernel produces, user consumes.
 *
 * A slot of an SQ, RQ or SRQ is free again when the completion that covers
 * it was polled (RDMAC verbs 8.2.1), so the provider counts its own free
 * slots with the CQE's @wqe_index and needs no consumer index from the kernel.
 * The WQEs of an SRQ complete in any order, so the provider only counts them: those
 * posted, less those polled, less @lost, are outstanding.
 */
#define SRNIC_RING_HDR		4096

struct srnic_ring_hdr {
	/*
	 * SRQ, written by the kernel: where the ring is after a MODIFY_SRQ with
	 * IB_SRQ_MAX_WR has succeeded, whose answer has no room for it. Indices
	 * run on. Nothing is to be posted during that command. @lost counts the
	 * WQEs that never get a completion, since their CQ overflowed.
	 */
	struct srnic_mmap moved;	/* size 0: the ring is here */
	__u32 moved_entries;
	__u32 lost;
	__u32 reserved0[10];
	__u32 producer;
	__u32 reserved1[15];
	__u32 consumer;
	__u32 reserved2[15];
	/*
	 * SQ, RQ: SRNIC_RING_NEED_WAKEUP, set by the kernel: a doorbell (the
	 *         POST_SEND or POST_RECV command with no WR) is needed after
	 *         the producer index was stored. Full barrier between the
	 *         store of the index and the load of this word.
	 * CQ:     arm word. The user sets SRNIC_ARM_* with an atomic OR, then
	 *         a full barrier, then polls once more. The kernel clears the
	 *         whole word when it notifies. Other bits are an error of the CQ.
	 */
	__u32 flags;
	__u32 reserved3[15];
};

#define SRNIC_RING_NEED_WAKEUP	(1U << 0)
#define SRNIC_ARM_NEXT		(1U << 0)
#define SRNIC_ARM_SOLICITED	(1U << 1)

struct srnic_sge {
	__aligned_u64 addr;
	__u32 length;
	__u32 lkey;
};

enum srnic_opcode {
	SRNIC_OP_SEND		= 1,
	SRNIC_OP_SEND_INV	= 2,
	SRNIC_OP_WRITE		= 3,
	SRNIC_OP_READ		= 4,
	SRNIC_OP_READ_INV	= 5,
	SRNIC_OP_WRITE_IMM	= 6,
	SRNIC_OP_FETCH_ADD	= 7,
	SRNIC_OP_CMP_SWAP	= 8,
	SRNIC_OP_LOCAL_INV	= 9,
	SRNIC_OP_BIND_MW	= 10,
	SRNIC_OP_REG_MR		= 11,	/* kernel consumers only */
	SRNIC_OP_SEND_IMM	= 12,	/* where both ends have offered it */
	SRNIC_OP_UD_SEND	= 13,	/* of UD QPs, and of no others */
	SRNIC_OP_UD_SEND_IMM	= 14,	/* ... */
	SRNIC_OP_FLUSH		= 15,	/* where both ends have offered it */
	SRNIC_OP_ATOMIC_WRITE	= 16,	/* ... */
	/* in CQEs only */
	SRNIC_OP_RECV		= 32,
	SRNIC_OP_RECV_IMM	= 33,
};

/* srnic_sqe.flags */
#define SRNIC_SQE_SIGNALED	(1U << 0)
#define SRNIC_SQE_SOLICITED	(1U << 1)
#define SRNIC_SQE_FENCE		(1U << 2)
#define SRNIC_SQE_INLINE	(1U << 3)

/*
 * Fields that an opcode has no use for are 0, and so are num_sge with inline
 * data and inline_len without it: else the WR fails with SRNIC_WC_INVALID_WQE.
 * The SQE is followed by num_sge srnic_sge or, with SRNIC_SQE_INLINE, inline_len
 * bytes of data, both at offset sizeof(struct srnic_sqe).
 */
struct srnic_sqe {
	__aligned_u64 wr_id;
	__u8 opcode;		/* enum srnic_opcode */
	__u8 flags;		/* SRNIC_SQE_* */
	__u16 num_sge;
	__u32 inline_len;
	/*
	 * WRITE, READ, atomics, FLUSH, ATOMIC_WRITE: remote STag. BIND_MW: STag of the MR. UD_*:
	 * address handle
	 */
	__u32 rkey;
	/* *_INV: STag to invalidate. BIND_MW, REG_MR: new STag. *_IMM: data (be32) */
	__u32 stag;
	__aligned_u64 remote_addr;
	/*
	 * atomics: compare or add, swap. BIND_MW: TO, length, access. UD_*: QP number, Q_Key.
	 * FLUSH: length, enum ib_placement_type, enum ib_selectivity_level. ATOMIC_WRITE: the
	 * octets
	 */
	__aligned_u64 arg[4];
};

/* Followed by num_sge srnic_sge. */
struct srnic_rqe {
	__aligned_u64 wr_id;
	__u32 num_sge;
	__u32 reserved;		/* 0, else the WR fails with SRNIC_WC_INVALID_WQE */
};

/* srnic_cqe.vendor_err: completion statuses, RDMAC verbs Figure 36 */
enum srnic_wc_status {
	SRNIC_WC_SUCCESS		= 0,
	SRNIC_WC_FLUSHED		= 1,
	SRNIC_WC_INVALID_WQE		= 2,
	SRNIC_WC_QP_CATASTROPHIC	= 3,
	SRNIC_WC_REMOTE_TERMINATION	= 4,
	SRNIC_WC_INVALID_STAG		= 5,
	SRNIC_WC_BOUNDS			= 6,
	SRNIC_WC_ACCESS			= 7,
	SRNIC_WC_INVALID_PD		= 8,
	SRNIC_WC_WRAP			= 9,
	SRNIC_WC_INVALIDATE		= 10,	/* STag to invalidate: wrong PD or rights */
	SRNIC_WC_ZERO_ORD		= 11,
	SRNIC_WC_NOT_PRIVILEGED		= 12,
	SRNIC_WC_STAG_NOT_INVALID	= 13,
	SRNIC_WC_PAGE_SIZE		= 14,
	SRNIC_WC_PBE_SIZE		= 15,
	SRNIC_WC_PBL_ENTRY		= 16,
	SRNIC_WC_FBO			= 17,
	SRNIC_WC_FR_LENGTH		= 18,
	SRNIC_WC_FR_ACCESS		= 19,
	SRNIC_WC_PBL_TOO_LONG		= 20,
	SRNIC_WC_INVALID_VA		= 21,
	SRNIC_WC_INVALID_REGION		= 22,
	SRNIC_WC_INVALID_WINDOW		= 23,
	SRNIC_WC_INVALID_LENGTH		= 24,
	/* of a QP that modify_qp connects */
	SRNIC_WC_NO_PEER		= 25,
	SRNIC_WC_REMOTE_REQUEST		= 26,	/* the peer has refused the message itself */
	SRNIC_WC_REMOTE_OPERATION	= 27,	/* the peer could not carry it out */
	SRNIC_WC_NO_RECEIVE		= 28,	/* the peer had no receive for it in time */
};

/* srnic_cqe.flags */
#define SRNIC_CQE_WITH_INV	(1U << 0)
#define SRNIC_CQE_WITH_IMM	(1U << 1)
#define SRNIC_CQE_SOLICITED	(1U << 2)	/* of the message; of an SQ: SRNIC_SQE_SOLICITED */
#define SRNIC_CQE_RQ		(1U << 3)	/* of the receive queue (also when flushed) */
#define SRNIC_CQE_GRH		(1U << 4)	/* of a UD QP: 40 bytes of GRH, then the message */

struct srnic_cqe {
	__aligned_u64 wr_id;
	__u32 status;		/* numbers of enum ibv_wc_status */
	__u32 opcode;		/* enum srnic_opcode; valid if status is 0 */
	__u32 byte_len;
	__u32 qpn;
	__u32 flags;		/* SRNIC_CQE_* */
	__u32 data;		/* WITH_INV: STag. WITH_IMM: immediate data (be32) */
	__u32 vendor_err;	/* enum srnic_wc_status */
	__u32 wqe_index;	/* of the WQE in its ring: SQ, RQ or SRQ */
	__aligned_u64 timestamp;	/* CLOCK_MONOTONIC, ns; 0 if not asked for */
	__aligned_u64 wallclock;	/* CLOCK_REALTIME, ns; 0 if not asked for */
	__u32 src_qp;		/* GRH: the sender's QP; else 0 */
	__u32 reserved;
};

/*
 * QUERY_CONTEXT (UVERBS_METHOD_QUERY_CONTEXT), by which a context is imported:
 * the answer to the opener's handshake. Its features are those in use, which the
 * opener's provider and the kernel know. An importer that does not know all of them
 * cannot use the context, nor can one that needs others. An importer has to ask.
 */
enum srnic_query_context_attrs {
	/* struct srnic_uresp_alloc_ctx; optional, as the method is not the driver's */
	SRNIC_ATTR_QUERY_CONTEXT_RESP = 1U << UVERBS_ID_NS_SHIFT,
};

/*
 * Methods of the driver, by the ioctl RDMA_VERBS_IOCTL. On a QP (UVERBS_OBJECT_QP):
 * query the Terminate that ended its last stream; take the QP to RTS with a TCP socket
 * that the program has connected; query the QP; arm an event of a QP with an SRQ; resize
 * the queues.
 */
enum srnic_qp_methods {
	SRNIC_METHOD_QP_QUERY_TERMINATE = 1U << UVERBS_ID_NS_SHIFT,
	SRNIC_METHOD_QP_MODIFY,
	SRNIC_METHOD_QP_QUERY,
	SRNIC_METHOD_QP_ARM_RQ,
	SRNIC_METHOD_QP_RESIZE,
};

enum srnic_qp_modify_attrs {
	SRNIC_ATTR_QP_MODIFY_QP = 1U << UVERBS_ID_NS_SHIFT,	/* handle */
	SRNIC_ATTR_QP_MODIFY_REQ,	/* struct srnic_ureq_qp_modify */
	SRNIC_ATTR_QP_MODIFY_STREAM_FD,	/* the socket */
	SRNIC_ATTR_QP_MODIFY_LAST_MSG,	/* bytes, sent before the first FPDU; optional */
};

/* srnic_ureq_qp_modify.state */
#define SRNIC_QP_MODIFY_RTS		1U

/*
 * srnic_ureq_qp_modify.keepalive. TCP's own limit is 32767 s; TCP ends a dead connection after
 * twice the time
 */
#define SRNIC_MAX_KEEPALIVE		7200U

/* srnic_ureq_qp_modify.flags */
#define SRNIC_QP_MODIFY_RESPONDER	(1U << 0)	/* the peer sends the first FPDU */
#define SRNIC_QP_MODIFY_CRC		(1U << 1)	/* CRC is sent, and checked */
#define SRNIC_QP_MODIFY_TX_MARKERS	(1U << 2)	/* markers are sent */
#define SRNIC_QP_MODIFY_RX_MARKERS	(1U << 3)	/* markers are received */
#define SRNIC_QP_MODIFY_NO_BIND		(1U << 4)	/* no window is bound by it */
#define SRNIC_QP_MODIFY_RDMAC		(1U << 5)	/* version 0: CRC and markers go with it */
#define SRNIC_QP_MODIFY_NO_RESPONSES	(1U << 6)	/* it takes no data of Read Responses */

struct srnic_ureq_qp_modify {
	__u32 state;		/* SRNIC_QP_MODIFY_RTS */
	__u32 flags;		/* SRNIC_QP_MODIFY_* */
	__u16 ird;
	__u16 ord;
	__u32 keepalive;	/* seconds, SRNIC_MAX_KEEPALIVE at most; 0: as the program set it */
};

/* QP_ARM_RQ: a QP with an SRQ raises an event when more than LIMIT messages are in progress */
enum srnic_qp_arm_rq_attrs {
	SRNIC_ATTR_QP_ARM_RQ_QP = 1U << UVERBS_ID_NS_SHIFT,	/* handle */
	SRNIC_ATTR_QP_ARM_RQ_LIMIT,	/* __u32; SRNIC_QP_RQ_DISARM: no event any more */
};

#define SRNIC_QP_RQ_DISARM	0xffffffffU

enum srnic_qp_resize_attrs {
	SRNIC_ATTR_QP_RESIZE_QP = 1U << UVERBS_ID_NS_SHIFT,	/* handle */
	SRNIC_ATTR_QP_RESIZE_REQ,	/* struct srnic_ureq_qp_resize */
	SRNIC_ATTR_QP_RESIZE_RESP,	/* struct srnic_uresp_qp_resize */
};

enum srnic_query_terminate_attrs {
	SRNIC_ATTR_QUERY_TERMINATE_QP = 1U << UVERBS_ID_NS_SHIFT,	/* handle */
	SRNIC_ATTR_QUERY_TERMINATE_RESP,	/* struct srnic_uresp_terminate */
};

/* srnic_terminate.state */
enum srnic_terminate_state {
	SRNIC_TERMINATE_NONE	= 0,
	SRNIC_TERMINATE_UNSENT	= 1,	/* TCP had not taken all of it when the QP ended */
	SRNIC_TERMINATE_DONE	= 2,	/* received; or given to TCP */
};

/* srnic_terminate.hdrct: what is quoted, as on the wire */
#define SRNIC_TERMINATE_M	0x8000	/* @seg_len */
#define SRNIC_TERMINATE_D	0x4000	/* @ddp */
#define SRNIC_TERMINATE_R	0x2000	/* @rdmap */

/* RFC 5040 4.8. What the message does not quote is 0. */
struct srnic_terminate {
	__u8 state;		/* enum srnic_terminate_state */
	__u8 layer;
	__u8 etype;
	__u8 code;
	__u16 hdrct;		/* SRNIC_TERMINATE_* */
	__u16 seg_len;		/* ULPDU_Length of the segment that was wrong */
	__u8 ddp_len;		/* octets of @ddp: 14 or 18 */
	__u8 rdmap_len;		/* octets of @rdmap: 28 */
	__u8 reserved0[2];
	__u8 ddp[18];		/* as on the wire */
	__u8 rdmap[28];		/* as on the wire */
	__u8 reserved1[6];
};

struct srnic_uresp_terminate {
	struct srnic_terminate sent;
	struct srnic_terminate received;
};

/*
 * Queries, in the terms of the RDMAC verbs: SRNIC_METHOD_QP_QUERY above, and these on
 * UVERBS_OBJECT_DEVICE, _CQ, _SRQ, _MR, _MW.
 */
enum srnic_query_methods {
	SRNIC_METHOD_DEV_QUERY = 1U << UVERBS_ID_NS_SHIFT,
	SRNIC_METHOD_CQ_QUERY = 1U << UVERBS_ID_NS_SHIFT,
	SRNIC_METHOD_SRQ_QUERY = 1U << UVERBS_ID_NS_SHIFT,
	SRNIC_METHOD_MR_QUERY = 1U << UVERBS_ID_NS_SHIFT,
	SRNIC_METHOD_MW_QUERY = 1U << UVERBS_ID_NS_SHIFT,
};

/* Of each of them */
enum srnic_query_attrs {
	SRNIC_ATTR_QUERY_HANDLE = 1U << UVERBS_ID_NS_SHIFT,	/* none of DEV_QUERY */
	SRNIC_ATTR_QUERY_RESP,	/* struct srnic_uresp_*_query */
};

/* srnic_uresp_dev_query.flags */
#define SRNIC_DEV_CAN_MODIFY_IRD	(1U << 0)	/* of a QP that is connected */
#define SRNIC_DEV_CAN_MODIFY_ORD	(1U << 1)
#define SRNIC_DEV_CQ_OVERFLOW_DETECTED	(1U << 2)
#define SRNIC_DEV_TAKES_SOCKETS		(1U << 3)	/* SRNIC_METHOD_QP_MODIFY */
#define SRNIC_DEV_CRC_REQUIRED		(1U << 4)	/* by the policy, at the moment */
#define SRNIC_DEV_SRQ_BY_ARRIVAL	(1U << 5)	/* WQEs are taken as messages arrive */
#define SRNIC_DEV_SRQ			(1U << 6)	/* there are SRQs */
#define SRNIC_DEV_CAN_RESIZE_QP		(1U << 7)	/* WRs of a QP's queues */
#define SRNIC_DEV_WRITE_SGES		(1U << 8)	/* CREATE_QP takes max_write_sge */
#define SRNIC_DEV_RDMAC			(1U << 9)	/* SRNIC_QP_MODIFY_RDMAC */

/* Query RNIC: each attribute of RDMAC verbs 9.2.1.2, and more. Version 1 ends at @stag_key_bits */
struct srnic_uresp_dev_query {
	__u32 flags;		/* SRNIC_DEV_* */
	__u16 max_ird;		/* of a QP */
	__u16 max_ord;
	__u32 max_send_sge;
	__u32 max_write_sge;
	__u32 max_read_sge;
	__u32 max_recv_sge;	/* of an SRQ's WRs, too */
	__u32 max_inline;	/* bytes */
	__u32 max_fast_reg_blocks;
	__aligned_u64 page_sizes;	/* a bit for each size, in bytes */
	__u32 stag_key_bits;
	__u32 vendor_id;
	__aligned_u64 fw_ver;		/* major << 32 | minor << 16 | patch level */
	__u32 vendor_part_id;
	__u32 hw_ver;
	__u32 max_qp;
	__u32 max_qp_wr;		/* of each of its queues */
	__u32 max_srq;
	__u32 max_srq_wr;
	__u32 max_cq;
	__u32 max_cqe;			/* of a CQ */
	__u32 max_cq_handlers;		/* completion vectors */
	__u32 max_mr;
	__u32 max_mw;
	__u32 max_pd;
	__u32 max_device_ird;		/* of all QPs together; 0: each has its own */
	__u32 max_device_ord;
	__aligned_u64 min_block_size;	/* of block lists, in bytes; 0: page lists are in force */
	__aligned_u64 max_block_size;
};

/* srnic_uresp_qp_query.state: RDMAC verbs 6.2 */
enum srnic_qp_query_state {
	SRNIC_QP_STATE_IDLE		= 0,
	SRNIC_QP_STATE_RTS		= 1,
	SRNIC_QP_STATE_CLOSING		= 2,
	SRNIC_QP_STATE_TERMINATE	= 3,
	SRNIC_QP_STATE_ERROR		= 4,
};

/* srnic_uresp_qp_query.enables: what the peer may do, and what may be bound */
#define SRNIC_QP_ENABLE_READ		(1U << 0)
#define SRNIC_QP_ENABLE_WRITE		(1U << 1)
#define SRNIC_QP_ENABLE_BIND		(1U << 2)
#define SRNIC_QP_ENABLE_ATOMIC		(1U << 3)
#define SRNIC_QP_ENABLE_FLUSH		(1U << 4)

/*
 * srnic_uresp_qp_query.flags; from INITIATOR to RX_MARKERS, and RDMAC, they are of the stream, and
 * 0 in Idle
 */
#define SRNIC_QP_QUERY_SRQ		(1U << 0)	/* its RQ is an SRQ */
#define SRNIC_QP_QUERY_STREAM		(1U << 1)	/* there is a stream */
#define SRNIC_QP_QUERY_INITIATOR	(1U << 2)
#define SRNIC_QP_QUERY_CRC		(1U << 3)
#define SRNIC_QP_QUERY_TX_MARKERS	(1U << 4)
#define SRNIC_QP_QUERY_RX_MARKERS	(1U << 5)
#define SRNIC_QP_QUERY_RQ_ARMED		(1U << 6)	/* QP_ARM_RQ; its event is to come */
#define SRNIC_QP_QUERY_RDMAC		(1U << 7)	/* version 0 */

struct srnic_uresp_qp_query {
	__u32 qpn;
	__u32 state;		/* enum srnic_qp_query_state */
	__u32 enables;		/* SRNIC_QP_ENABLE_* */
	__u32 flags;		/* SRNIC_QP_QUERY_* */
	__u16 ird;
	__u16 ord;
	__u32 windows;		/* bound to it */
	__u32 sq_entries;
	__u32 rq_entries;	/* 0 with an SRQ */
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 max_inline;	/* bytes */
	__u32 rq_limit;		/* of QP_ARM_RQ, as it was set last. The end of version 1 */
	__u32 max_write_sge;
	__u32 reserved;
};

/* srnic_uresp_cq_query.flags */
#define SRNIC_CQ_QUERY_OVERFLOWED	(1U << 0)	/* nothing is added any more */

struct srnic_uresp_cq_query {
	__u32 entries;
	__u32 waiting;		/* CQEs that were not polled */
	__u32 flags;		/* SRNIC_CQ_QUERY_* */
	__u32 cqn;		/* in events, and of rdma(8) */
};

/* srnic_uresp_srq_query.flags */
#define SRNIC_SRQ_QUERY_ARMED		(1U << 0)	/* the limit */
#define SRNIC_SRQ_QUERY_BROKEN		(1U << 1)	/* nothing is taken any more */

struct srnic_uresp_srq_query {
	__u32 max_wr;
	__u32 max_sge;
	__u32 limit;		/* as it was set last, armed or not */
	__u32 flags;		/* SRNIC_SRQ_QUERY_* */
	__u32 srqn;		/* in events, and of rdma(8) */
	__u32 reserved;
};

/* srnic_uresp_mr_query.flags, srnic_uresp_mw_query.flags */
#define SRNIC_STAG_VALID		(1U << 0)
#define SRNIC_STAG_SHARED		(1U << 1)	/* others have, or had, its memory */

/* .rights of the same */
#define SRNIC_STAG_LOCAL_READ		(1U << 0)
#define SRNIC_STAG_LOCAL_WRITE		(1U << 1)
#define SRNIC_STAG_REMOTE_READ		(1U << 2)
#define SRNIC_STAG_REMOTE_WRITE		(1U << 3)
#define SRNIC_STAG_REMOTE_ATOMIC	(1U << 4)
#define SRNIC_STAG_BINDABLE		(1U << 6)	/* windows may be bound to it */
#define SRNIC_STAG_ZERO_BASED		(1U << 7)
#define SRNIC_STAG_FLUSH_GLOBAL		(1U << 8)

struct srnic_uresp_mr_query {
	__u32 stag;
	__u32 flags;		/* SRNIC_STAG_VALID, _SHARED */
	__u32 rights;		/* SRNIC_STAG_* */
	__u32 windows;		/* bound to it */
	__aligned_u64 base;	/* TO of its first byte */
	__aligned_u64 length;	/* bytes */
	__u32 blocks;		/* of its PBL */
	__u32 block_shift;	/* log2 of their size in bytes */
};

/* If the window is not bound, all fields except @stag and @type are 0. */
struct srnic_uresp_mw_query {
	__u32 stag;
	__u32 type;		/* 1 or 2, as in verbs */
	__u32 flags;		/* SRNIC_STAG_VALID */
	__u32 rights;		/* SRNIC_STAG_* */
	__u32 qpn;		/* the one QP that may use it; 0: each of its PD */
	__u32 region;		/* STag of the region that it is bound to */
	__aligned_u64 base;
	__aligned_u64 length;
};

/* On UVERBS_OBJECT_MR, beside MR_QUERY: register the memory once more; set the STag's key */
enum srnic_mr_methods {
	SRNIC_METHOD_MR_REG_SHARED = (1U << UVERBS_ID_NS_SHIFT) + 1,
	SRNIC_METHOD_MR_SET_KEY,
};

enum srnic_mr_reg_shared_attrs {
	SRNIC_ATTR_MR_REG_SHARED_HANDLE = 1U << UVERBS_ID_NS_SHIFT,	/* of the new region */
	SRNIC_ATTR_MR_REG_SHARED_SOURCE,	/* handle of a region */
	SRNIC_ATTR_MR_REG_SHARED_PD,	/* handle */
	SRNIC_ATTR_MR_REG_SHARED_REQ,	/* struct srnic_ureq_mr_reg_shared */
	SRNIC_ATTR_MR_REG_SHARED_STAG,	/* __u32: the new STag */
};

struct srnic_ureq_mr_reg_shared {
	__aligned_u64 iova;	/* TO of the first byte, unless IB_UVERBS_ACCESS_ZERO_BASED */
	__u32 access;		/* enum ib_uverbs_access_flags */
	__u32 reserved;
};

enum srnic_mr_set_key_attrs {
	SRNIC_ATTR_MR_SET_KEY_HANDLE = 1U << UVERBS_ID_NS_SHIFT,	/* of a region */
	SRNIC_ATTR_MR_SET_KEY_KEY,	/* __u32: 0 to 255 */
	SRNIC_ATTR_MR_SET_KEY_STAG,	/* __u32: the STag that it has now */
};

/*
 * On memory of the device (UVERBS_OBJECT_DM), which cannot be mapped: copy to and from it.
 */
enum srnic_dm_methods {
	SRNIC_METHOD_DM_COPY = 1U << UVERBS_ID_NS_SHIFT,
};

enum srnic_dm_copy_attrs {
	SRNIC_ATTR_DM_COPY_HANDLE = 1U << UVERBS_ID_NS_SHIFT,
	SRNIC_ATTR_DM_COPY_REQ,	/* struct srnic_ureq_dm_copy */
};

enum srnic_dm_copy_op {
	SRNIC_DM_WRITE	= 0,	/* from the program's memory */
	SRNIC_DM_READ	= 1,	/* to it */
};

struct srnic_ureq_dm_copy {
	__aligned_u64 offset;	/* bytes, in the memory of the device */
	__aligned_u64 addr;	/* in the program's memory */
	__aligned_u64 length;	/* bytes */
	__u32 op;		/* enum srnic_dm_copy_op */
	__u32 reserved;
};

/*
 * Events, by a file descriptor of UVERBS_OBJECT SRNIC_OBJECT_EVENTS: all of them, where verbs
 * leave some out. read(2) gives one record, or as much of it as there is room for.
 */
enum srnic_objects {
	SRNIC_OBJECT_EVENTS = 1U << UVERBS_ID_NS_SHIFT,
};

enum srnic_events_methods {
	SRNIC_METHOD_EVENTS_OPEN = 1U << UVERBS_ID_NS_SHIFT,
};

enum srnic_events_open_attrs {
	SRNIC_ATTR_EVENTS_OPEN_FD = 1U << UVERBS_ID_NS_SHIFT,	/* the new descriptor */
};

/* RDMAC verbs Figure 37 (events of a QP, then others), and ATOMIC_OPERATION, LAST_WQE */
enum srnic_event {
	SRNIC_EV_NONE			= 0,
	SRNIC_EV_LLP_CLOSE_COMPLETE	= 1,
	SRNIC_EV_TERMINATE_RECEIVED	= 2,
	SRNIC_EV_LLP_RESET		= 3,
	SRNIC_EV_LLP_LOST		= 4,
	SRNIC_EV_LLP_SEGMENT_SIZE	= 5,
	SRNIC_EV_LLP_CRC		= 6,
	SRNIC_EV_LLP_BAD_FPDU		= 7,
	SRNIC_EV_DDP_VERSION		= 8,
	SRNIC_EV_RDMAP_VERSION		= 9,
	SRNIC_EV_OPCODE			= 10,
	SRNIC_EV_DDP_QN			= 11,
	SRNIC_EV_READ_NOT_ENABLED	= 12,
	SRNIC_EV_WRITE_NOT_ENABLED	= 13,
	SRNIC_EV_READ_REQUEST_SIZE	= 14,
	SRNIC_EV_NO_L_BIT		= 15,
	SRNIC_EV_TAGGED_STAG		= 16,
	SRNIC_EV_TAGGED_BOUNDS		= 17,
	SRNIC_EV_TAGGED_ACCESS		= 18,
	SRNIC_EV_TAGGED_PD		= 19,
	SRNIC_EV_TAGGED_WRAP		= 20,
	SRNIC_EV_BAD_CLOSE		= 21,
	SRNIC_EV_BAD_LLP_CLOSE		= 22,
	SRNIC_EV_RQ_MSN_RANGE		= 23,
	SRNIC_EV_RQ_MSN_GAP		= 24,
	SRNIC_EV_IRRQ_TOO_MANY		= 25,
	SRNIC_EV_IRRQ_MSN_GAP		= 26,
	SRNIC_EV_IRRQ_MSN_RANGE		= 27,
	SRNIC_EV_IRRQ_STAG		= 28,
	SRNIC_EV_IRRQ_BOUNDS		= 29,
	SRNIC_EV_IRRQ_ACCESS		= 30,
	SRNIC_EV_IRRQ_PD		= 31,
	SRNIC_EV_IRRQ_WRAP		= 32,
	SRNIC_EV_ATOMIC_OPERATION	= 33,
	SRNIC_EV_CQ_SQ			= 34,
	SRNIC_EV_CQ_RQ			= 35,
	SRNIC_EV_SRQ_ON_QP		= 36,
	SRNIC_EV_QP_CATASTROPHIC	= 37,
	SRNIC_EV_CQ_OVERFLOW		= 38,
	SRNIC_EV_CQ_OPERATION		= 39,
	SRNIC_EV_SRQ_LIMIT		= 40,
	SRNIC_EV_RQ_LIMIT		= 41,
	SRNIC_EV_SRQ_CATASTROPHIC	= 42,
	SRNIC_EV_RNIC_CATASTROPHIC	= 43,
	SRNIC_EV_LAST_WQE		= 44,
};

enum srnic_event_object {
	SRNIC_EVENT_OF_DEVICE	= 0,
	SRNIC_EVENT_OF_QP	= 1,
	SRNIC_EVENT_OF_CQ	= 2,
	SRNIC_EVENT_OF_SRQ	= 3,
};

/* srnic_event_record.flags */
#define SRNIC_EVENT_TERMINATE_SENT	(1U << 0)	/* @term is this end's own */

/*
 * The record of a later kernel may be longer. read(2) gives one record, truncated to the program's
 * buffer, and returns the number of bytes. A program clears the buffer first, so that fields that
 * the kernel does not know are 0. A buffer that has no room for all up to @term is EINVAL.
 */
struct srnic_event_record {
	__u32 event;		/* enum srnic_event */
	__u32 object;		/* enum srnic_event_object */
	__u32 number;		/* QP number; cqn, srqn: those of the queries and of rdma(8) */
	__u32 flags;		/* SRNIC_EVENT_* */
	__u32 error;		/* of a QP: as in the tracepoint srnic_fpdu_error; 0: none */
	__u32 reserved;
	struct srnic_terminate term;	/* of a QP: what ended its stream */
};

#endif
