/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Private header of rendezvous.c and rdv_*.c. */
#ifndef SRNIC_RDV_PRIV_H
#define SRNIC_RDV_PRIV_H

#include "cm/cm_priv.h"
#include "ib/rdv.h"
#include "ib/rendezvous.h"

struct srnic_rdv_listener;

/* Time between two attempts: the first; the longest while WRs wait; and while no WR waits */
#define SRNIC_RDV_MIN_MS	10
#define SRNIC_RDV_MAX_MS	1000
#define SRNIC_RDV_IDLE_MS	(30 * MSEC_PER_SEC)

/* srnic_pair.flags: messages to a pair's work */
enum {
	SRNIC_PAIRF_ABORT,	/* the QP is destroyed, or in Error, before there is a stream */
	SRNIC_PAIRF_GONE,	/* the QP has finished with the stream */
};

/*
 * A QP in RTR or RTS whose program has set the peer's GID and QP number.
 *
 * Lifetime: @ref counts one for the pair being registered, one for @work while it
 * is queued, one for an attempt, one for each lookup. The pair has the claim of the
 * QP and a reference to it, from RTR until the pair ends; destroy_qp waits for that.
 *
 * Lock order: srnic_ep.lock, @lock. The callbacks of the claim do not take @lock.
 */
struct srnic_pair {
	struct kref ref;

	/* immutable */
	struct srnic_device *dev;	/* held */
	struct srnic_qp *qp;		/* held until the pair ends */
	u32 qpn;
	struct srnic_user *user;	/* held: connects with its credentials */
	u64 net;			/* cookie of the program's network namespace */
	struct sockaddr_storage local;	/* port: 0 */
	struct sockaddr_storage remote;
	bool itself;			/* the QP is its own peer */
	struct srnic_rdv_listener *listener;
	u16 ird;

	struct completion ended;	/* it has given up its entry, listener and claim */
	struct delayed_work work;
	u16 next_port;			/* @work's: the next reserved port that it may bind */
	unsigned long flags;		/* SRNIC_PAIRF_* */

	struct mutex lock;		/* protects what follows */
	struct rdv_hello own;		/* src_psn from RTS on */
	u16 ord;
	bool rts;			/* its program has set RTS */
	bool attached;			/* there is, or was, a stream */
	bool over;			/* it has ended or is ending */
	struct srnic_ep *attempt;	/* under way; has a reference of its state */
	bool tried;
	unsigned long last_try;		/* jiffies: end of the last attempt */
	unsigned int backoff;		/* ms */
	unsigned long wanted;		/* jiffies: a WR waits since then; 0: none waits */
	unsigned long silent_until;	/* jiffies: time-out for the peer's RTR; 0: none */
};

/* rendezvous.c */
extern const struct srnic_ep_ops srnic_rdv_ep_ops;
void srnic_rdv_connect(struct srnic_pair *pair);

/* rdv_pair.c */
struct srnic_pair *srnic_pair_find(struct srnic_device *dev, u32 qpn);
void srnic_pair_put(struct srnic_pair *pair);
void srnic_pair_kick(struct srnic_pair *pair);
void srnic_pair_tried(struct srnic_pair *pair);

/* rdv_limit.c */
bool srnic_rdv_may_refuse(const struct sockaddr_storage *from);
void srnic_rdv_limit_init(void);

/* rdv_port.c */
int srnic_rdv_by_kworker(int (*fn)(void *arg), void *arg);
int srnic_rdv_ports_init(void);
void srnic_rdv_ports_exit(void);

/* rdv_listen.c */
struct srnic_rdv_listener *srnic_rdv_listen(struct srnic_device *dev, u64 net,
					    const struct sockaddr_storage *addr);
void srnic_rdv_unlisten(struct srnic_rdv_listener *listener);

#endif
