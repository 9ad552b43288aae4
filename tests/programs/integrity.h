/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The data-integrity program: its connections and the operations under way. */
#ifndef INTEGRITY_H
#define INTEGRITY_H

#include "common.h"
#include "pattern.h"
#include "plan.h"

#define MAX_SGE		16
#define SGE_GAP		32	/* at most so many bytes between two pieces */
#define CTRL_ROOM	8	/* receives and sends beyond the window, for acknowledgements */
#define MAX_BATCH	4	/* work requests in one list */

/* A scattered buffer within a slot */
struct sgl {
	int num;
	struct {
		uint32_t off;
		uint32_t len;
	} piece[MAX_SGE];
};

/* A posted send work request, in post order */
struct sq_entry {
	uint64_t wr_id;
	uint32_t op;
	uint32_t len;
	enum ibv_wc_opcode opcode;
	bool control;
	bool signaled;
};

/* A posted receive work request, in post order */
struct rq_entry {
	uint64_t wr_id;
	uint32_t capacity;
	struct sgl sgl;
};

/* Sent by a receiver at a commit, in network order: all operations before @acked are verified */
struct control {
	uint64_t magic;
	uint64_t acked;
	uint64_t check;
};

#define CONTROL_MAGIC	0x7372746573744143ULL

/* Private data that the two ends exchange, in network order */
struct hello {
	uint32_t magic;
	uint32_t index;
	uint64_t seed;
	uint32_t qps;
	uint32_t ops;
	uint32_t max_size;
	uint32_t window;
	uint64_t window_addr;
	uint64_t source_addr;
	uint32_t window_rkey;
	uint32_t source_rkey;
} __attribute__((packed));

#define HELLO_MAGIC	0x73726932

struct region {
	uint8_t *mem;
	size_t size;
	struct ibv_mr *mr[2];	/* the same memory twice: two STags for one byte */
};

struct conn {
	struct rdma_cm_id *id;
	uint32_t index;
	uint32_t qpn;
	bool established;
	bool disconnected;

	struct region out;	/* sources and sinks of own operations */
	struct region window;	/* the peer writes here */
	struct region source;	/* the peer reads here */
	struct region recv;
	struct region control;
	uint32_t out_slot;	/* bytes of a slot */
	uint32_t recv_slot;

	uint64_t peer_window;
	uint64_t peer_source;
	uint32_t peer_window_rkey;
	uint32_t peer_source_rkey;

	/* own operations */
	uint32_t next_op;	/* to be posted */
	uint32_t retired;	/* all before it are complete */
	uint32_t acked;		/* all before it were verified by the peer */
	uint32_t since_signal;
	struct sgl *out_sgl;	/* by slot */
	struct sq_entry *sq;
	uint32_t sq_head, sq_tail, sq_size;
	uint64_t sq_posted;

	/* the peer's operations */
	uint32_t rx_op;		/* to be seen next */
	uint32_t cleared;	/* window slots of all before it are cleared */
	uint32_t ack_due;
	uint32_t ack_posted;
	uint64_t acks_posted;
	uint32_t acks_in_flight;
	struct rq_entry *rq;
	uint32_t rq_head, rq_tail, rq_size;
	uint64_t rq_posted;
	uint32_t flushed;
};

struct options {
	bool server;
	const char *addr;
	uint16_t port;
	struct plan plan;
	bool events;
	bool one_cq;
	bool empty_recv;	/* a receive without an SGE for the zero-length SEND */
	bool close_both;
	bool fence_all;
	uint32_t sge;
	uint32_t inline_size;
	uint32_t ord;
	uint32_t timeout;
};

struct stats {
	uint64_t ops[OP_KINDS];
	uint64_t bytes;		/* verified */
	uint64_t inlined;
	uint64_t unsignaled;
	uint64_t recvs;
	uint64_t sends;
	uint64_t flushes;
	uint64_t events;
	uint64_t arms;
};

struct test {
	struct options opt;
	struct stats stats;
	struct rng rng;		/* local decisions, which the peer need not know */
	struct rdma_event_channel *cm;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	struct ibv_cq *scq, *rcq;
	bool s_armed, r_armed;
	uint64_t s_since_arm, r_since_arm;	/* completions that may have notified */
	struct conn *conns;
	uint32_t max_rd_sge;
	uint32_t max_inline;
};

extern struct test t;

static inline uint32_t my_side(void)
{
	return t.opt.server;
}

/* transfer.c */
void conn_setup(struct conn *c, struct rdma_cm_id *id);
void conn_release(struct conn *c);
bool conn_done(const struct conn *c);
int conn_post(struct conn *c);
void conn_post_recvs(struct conn *c);
int drain_cqs(void);

#endif
