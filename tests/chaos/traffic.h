/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A program that survives faults: shared by its parts. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "../programs/common.h"
#include "../programs/pattern.h"
#include "journal.h"

#define WINDOW		8	/* messages that may be on their way, unacknowledged */
#define SQ_DEPTH	32
#define RQ_DEPTH	16	/* WINDOW, HELLO, and acknowledgements */
#define SRQ_DEPTH	64
#define ORD		4
#define SOURCE		65536	/* bytes that the peer may read */
#define SMALL_CQ	8

/* The head of each Send */
struct header {
	uint32_t magic;
	uint32_t kind;
	uint64_t msg;		/* number of the message */
	uint64_t acked;		/* messages of the peer that were verified */
	uint32_t len;
	uint32_t pad;
};

enum kind { MSG_HELLO, MSG_ACK, MSG_SEND, MSG_WRITE, MSG_WRITE_IMM, OP_READ, OP_ADD, OP_BIND,
	    OP_INVALIDATE, OP_MARKER };

/* Where the peer's memory is; behind the header of MSG_HELLO */
struct hello {
	uint64_t window;
	uint64_t source;
	uint64_t counter;
	uint32_t window_rkey;
	uint32_t source_rkey;
};

/* Private data of a Request */
struct request {
	uint32_t magic;
	uint32_t index;
	uint64_t seed;
} __attribute__((packed));

#define MAGIC 0x63684d31

struct sent {
	uint32_t kind;
	uint32_t len;
	uint64_t arg;		/* READ: offset; ADD: value expected */
	bool signaled;
};

struct conn {
	struct jconn *j;
	uint32_t index;
	uint16_t gen;		/* in wr_ids: identifies completions of a QP that is gone */
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	struct ibv_cq *scq, *rcq;	/* shared ones or own ones */
	struct ibv_mr *mr, *mr_window;
	struct ibv_mw *mw;
	bool use_mw, use_srq, own_cq;
	bool established, has_hello, said_hello;
	bool modified, marked, last_wqe;
	bool overflow, want_overflow, cq_err;
	bool ending;		/* rdma_disconnect() was called */
	bool disconnect_again;	/* and failed for want of memory */
	bool quit;
	uint64_t deadline, retry_at;
	uint64_t seed;

	uint8_t *mem;		/* send slots, receive slots, window, source, counter */
	uint8_t *send, *recv, *window, *source;
	uint64_t *counter;
	struct hello peer;

	struct sent sq[SQ_DEPTH];
	uint64_t sq_head, sq_tail;
	uint32_t since_signal;
	bool flushing;		/* the SQ is being flushed: no WR may succeed any more */
	bool sq_failed;		/* one WR at most has an error of its own */
	uint64_t rq_head, rq_tail;
	uint64_t adds;		/* atomics posted */
	uint64_t reads;		/* reads and atomics outstanding */
	uint64_t tx_msg, tx_acked;
	uint64_t rx_msg, rx_told;
	double budget;		/* operations that are due */
	uint32_t burst;		/* so many at once */
	bool bursting;
};

struct traffic {
	struct journal *j;
	bool server;
	const char *addr;
	uint16_t port;
	uint32_t max_size, slot, slow;
	double rate;		/* operations a second and connection */
	uint64_t seed;
	struct rng rng;
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_context *verbs;
	struct ibv_pd *pd;
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;	/* shared by half of the connections */
	struct ibv_srq *srq;
	struct ibv_mr *srq_mr;
	uint8_t *srq_mem;
	uint64_t srq_seq[SRQ_DEPTH];	/* which WR is in a slot; 0: none */
	uint64_t srq_next, srq_newest;	/* posted, and completed */
	bool starving, quitting;
	struct conn conn[CONNS];
};

extern struct traffic t;

void violation(const char *fmt, ...) __printf_like(1, 2) __attribute__((noreturn));
void gone(void) __attribute__((noreturn));
void failed(const struct conn *c, int err, const char *what);
bool transient(int err);

/* In the journal (objects.c) */
void wr_posted(uint64_t *count, uint64_t *open, uint64_t *next, uint32_t slot);
void wr_done(uint64_t *count, uint64_t *open, uint32_t slot);

/* objects.c: what a connection is made of */
bool device_setup(struct ibv_context *verbs);
void device_release(void);
int conn_make(struct conn *c, struct rdma_cm_id *id);
void conn_unmake(struct conn *c);
void conn_purge(struct conn *c);
void srq_feed(void);
void srq_give_back(uint32_t slot);

/* data.c: what goes over it */
int conn_post_recvs(struct conn *c);
void conn_post(struct conn *c);
void conn_post_empty(struct conn *c);
int conn_post_invalidate(struct conn *c);
void conn_drain(struct conn *c);
bool conn_drained(struct conn *c);
void poll_cqs(void);

#endif
