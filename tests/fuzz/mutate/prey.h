/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The program behind the device, whose peer is hostile (mutate.c): several QPs at once, each with
 * memory of all rights between guard octets, with receives posted and with READs, atomics, Sends
 * and Writes of its own under way.
 */
#ifndef PREY_H
#define PREY_H

#include <poll.h>
#include "common.h"

#define SLOTS		16	/* connections at once */
#define SLOT_MEM	32768
#define GUARD_BYTE	0xee
#define MAX_RECV	24

/* ms: bound for each wait */
#define PATIENCE	(10000 * env_uint("SRNIC_SLOW", 1))

#define RECV_STRIDE	320	/* 256 octets in two pieces with a gap */
#define RECV_GAP	16
#define MAX_SEND	8
#define SINK_OFF	8192	/* within AREA_LOCAL */
#define SINK_LEN	512
#define PREY_IRD	8
#define PREY_ORD	4

/* Where the regions are in the memory of a slot: at odd places, to the octet */
enum area_id { AREA_ALL, AREA_WO, AREA_RO, AREA_AT, AREA_LOCAL, AREA_OTHER, AREA_COUNT };

struct area {
	const char *name;
	uint32_t off, len;
	int access;		/* IBV_ACCESS_REMOTE_*; all have local write */
	bool other_pd;
};

extern const struct area areas[AREA_COUNT];

#define MW_OFF		100	/* of the window, within AREA_ALL */
#define MW_LEN		600

struct prey_op {
	enum ibv_wr_opcode opcode;
	uint32_t len;
	uint64_t remote;
	uint32_t rkey;
};

/* The properties of a connection, and how it went */
struct prey_slot {
	int index;
	uint8_t *mem;
	struct ibv_mr *mr[AREA_COUNT];
	/* the wish */
	uint64_t tag;		/* upper half of wr_ids */
	uint16_t port;		/* the peer's, of a passive connection */
	bool window;
	int recvs, recv_len, recv_sges;
	int ops;
	struct prey_op op[MAX_SEND];
	/* the results */
	struct rdma_cm_id *id;
	struct ibv_mw *mw;
	bool requested, accepted, established, failed, disconnected, has_qp;
	int fail_status;
	uint32_t qpn;
	int recv_done, send_done, events;
	int recv_status[MAX_RECV], send_status[MAX_SEND + 1];
	uint32_t recv_bytes[MAX_RECV];
	uint8_t recv_seen[MAX_RECV], send_seen[MAX_SEND + 1];
	int recv_order[MAX_RECV], send_order[MAX_SEND + 1];
};

struct prey {
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_context *ctx;
	struct ibv_pd *pd, *pd2;
	struct ibv_cq *cq;
	uint8_t *mem;
	struct prey_slot slot[SLOTS];
	struct sockaddr_storage addr;
	uint64_t accepts, connects, async_events;
	struct pollfd watch[SLOTS];	/* further descriptors that may end prey_until()'s wait */
	int watched;
	const char *broken;	/* an error that must never happen */
	char why[256];
};

extern struct prey prey;

void prey_open(const char *addr, uint16_t port);
void prey_close(void);
void prey_wish(struct prey_slot *s, uint64_t tag);
bool prey_until(bool (*done)(void *), void *arg, unsigned int ms);
void prey_connect(struct prey_slot *s, uint16_t port);
void prey_bind(struct prey_slot *s, bool may_fail);
void prey_act(struct prey_slot *s);
void prey_poll(void);
void prey_end(struct prey_slot *s);

static inline uint8_t *prey_recv_at(const struct prey_slot *s, int i, uint32_t off)
{
	uint8_t *p = s->mem + areas[AREA_LOCAL].off + i * RECV_STRIDE;
	uint32_t first = s->recv_sges == 2 ? s->recv_len / 2 : s->recv_len;

	return off < first ? p + off : p + off + RECV_GAP;
}

static inline uint8_t *prey_sink(const struct prey_slot *s, int i)
{
	return s->mem + areas[AREA_LOCAL].off + SINK_OFF + i * SINK_LEN;
}

#endif
