/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A file that a traffic program and the controller both map: the program's counts, and the
 * controller's orders. It outlives the program, however that ends. chaos.py has the same layout
 * (journal.py).
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include <stdint.h>

#define JOURNAL_MAGIC	0x63686133
#define CONNS		4

enum phase { PHASE_START, PHASE_RUN, PHASE_DONE, PHASE_GONE, PHASE_FAILED };

enum conn_state { CONN_IDLE, CONN_CONNECTING, CONN_UP, CONN_DRAINING };

enum command {
	CMD_NONE,
	CMD_QUIT,		/* close everything in good order and end */
	CMD_DISCONNECT,		/* of a connection: rdma_disconnect() */
	CMD_ERROR,		/* Modify QP to Error */
	CMD_DESTROY,		/* destroy the QP with WRs posted */
	CMD_DEREG,		/* deregister the region the peer writes into */
	CMD_REREG,		/* register it anew, without remote write */
	CMD_INVALIDATE,		/* invalidate the window the peer writes through */
	CMD_OVERFLOW,		/* connect anew with a CQ that is too small, and not polled */
	CMD_STARVE,		/* post nothing more to the SRQ */
	CMD_FEED,		/* and go on again */
};

/*
 * Counts are over all connections that this place has had. Each is updated where its event
 * happens: *_posted where a WR is posted, the others where a completion of that kind is polled.
 * Open WRs are recorded separately, a bit for each slot, so that the counts can be checked
 * against them.
 */
struct jconn {
	uint32_t state;
	uint32_t begun;		/* connections that were established */
	uint32_t ended;		/* connections that ended */
	uint32_t tried;		/* attempts to connect that failed, without those refused */
	uint32_t refused;	/* by the peer's program, or because it is not there */
	uint32_t rejected;	/* Requests that this end refused */
	uint32_t forced;	/* ends that were ordered, without an event for them */
	uint32_t qpn;
	uint32_t port;		/* TCP port of the peer, if this end accepted */
	uint32_t reason;	/* the reason of the last end */
	uint64_t sq_posted;
	uint64_t sq_done;	/* completed with success */
	uint64_t sq_silent;	/* unsignaled, and covered by a later completion */
	uint64_t sq_flushed;
	uint64_t sq_error;
	uint64_t rq_posted;
	uint64_t rq_done;
	uint64_t rq_flushed;
	uint64_t rq_error;
	uint64_t purged;	/* destroyed with their QP, of both queues */
	uint64_t ops;		/* verified operations of both directions */
	uint64_t bytes;		/* verified */
	uint64_t sq_open;	/* WRs without a completion so far: bit N is slot N */
	uint64_t rq_open;
	uint64_t sq_next;	/* number of the QP's next WR */
	uint64_t rq_next;
};

struct journal {
	uint32_t magic;
	uint32_t pid;
	uint32_t phase;
	uint32_t cmd_seq;	/* the controller's: counts commands */
	uint32_t cmd;
	uint32_t cmd_arg;
	uint32_t cmd_ack;	/* cmd_seq of the command that was carried out last */
	uint32_t cmd_err;	/* 0, or an errno */
	uint32_t may_miss;	/* controller: an event may be lost for want of memory */
	uint32_t step;		/* between a count and the record of open WRs */
	char failure[216];
	struct jconn srq;	/* rq_* only */
	struct jconn conn[CONNS];
};

#endif
