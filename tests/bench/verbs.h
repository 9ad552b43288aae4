/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* One end of a case over verbs: a device, one CQ, and all its connections. */
#ifndef VERBS_H
#define VERBS_H

#include "bench.h"

#define SMALL_RQ	16	/* receives of an end that gets words only */

struct link {
	struct rdma_cm_id *id;
	char *out, *in;		/* of node->size bytes each */
	uint64_t raddr;		/* the other end's in */
	uint32_t rkey;
	uint32_t outstanding;	/* WRs posted, but not known to be complete */
	uint32_t unsignaled;	/* posted since the last signaled one */
	uint64_t sent, credit;	/* messages sent, and those that the other end has room for */
	uint64_t received;
};

struct node {
	const struct bench *b;
	uint32_t sq, rq;	/* entries of the queues of each QP */
	uint32_t size;		/* bytes of a buffer */
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_context *device;
	struct ibv_pd *pd;
	struct ibv_comp_channel *events;
	struct ibv_cq *cq;
	bool event, armed;	/* how it waits */
	struct ibv_mr *mr;
	char *mem;
	size_t stride;		/* of mem, for each link */
	struct link *links;
	uint32_t num;
	uint32_t max_inline, reads;
	uint32_t up;		/* links that are connected */
};

/* private data of a connection */
struct greeting {
	uint32_t index, rkey;
	uint64_t addr;
};

#define CHUNK	16		/* completions taken at a time */

void node_init(struct node *n, const struct bench *b, uint32_t sq, uint32_t rq);
void node_connect(struct node *n);
void node_down(struct node *n);
void node_end(struct node *n);

/* the steps of node_connect() */
void node_listen(struct node *n);
void node_accept(struct node *n);
void link_resolve(struct node *n, struct link *l, uint16_t port);
void link_make(struct node *n, struct link *l, struct rdma_cm_id *id);
void link_connect(struct node *n, struct link *l);
void link_established(struct node *n, struct rdma_cm_event *ev);
void link_up(struct node *n, struct link *l);

void link_post(struct node *n, struct link *l, enum ibv_wr_opcode op, const void *data,
	       uint32_t len, bool signaled);
void link_receive(struct node *n, struct link *l);
int node_poll(struct node *n, struct ibv_wc *wc);
int node_wait(struct node *n, struct ibv_wc *wc);
struct link *link_of(struct node *n, const struct ibv_wc *wc);
bool link_done(struct node *n, const struct ibv_wc *wc);

/* stream.c, for links that are connected */
uint32_t signal_each(const struct bench *b);
void stream_measure(struct node *n);
void stream_serve(struct node *n);

#endif
