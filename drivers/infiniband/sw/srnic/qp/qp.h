/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The life of a QP, and of the stream that is attached to it.
 *
 * A QP gets its stream by srnic_qp_attach(), which knows nothing of who calls
 * it. From then on two kthreads own the two directions (tx.c, rx.c). The tx
 * kthread also winds the stream down when the QP leaves RTS: it sends the
 * Terminate, stops the rx kthread, leaves the stream to itself (linger.c),
 * flushes the queues and raises the events. Only in Closing does it wait for
 * the peer, within a bound.
 */
#ifndef SRNIC_QP_H
#define SRNIC_QP_H

#include <rdma/ib_verbs.h>
#include "queue/state.h"
#include "wire/mpa.h"

struct file;
struct srnic_device;
struct srnic_policy;
struct srnic_stream;

/**
 * struct srnic_attach - a connected stream for a QP
 * @stream: owned by the QP if srnic_qp_attach() succeeds, by the caller else
 * @initiator: this end sends the first FPDU; if not, this end sends none
 *	       before it has received a valid one (M-STA-4)
 * @mpa: negotiated settings
 * @policy: of the connection
 * @last_msg: last message in streaming mode, sent before the switch to FPDUs
 *	      (an MPA Reply); NULL if none
 * @last_len: its octets
 * @timeout_ms: bound for sending it
 * @as_infiniband: a message waits until a receive is posted, whatever the policy says, and
 *		   after a graceful close, in Idle, receive WRs stay posted
 * @send_imm: both ends have Sends with immediate data, see RDMAP_SEND_IMM
 */
struct srnic_attach {
	struct srnic_stream *stream;
	bool initiator;
	struct mpa_result mpa;
	const struct srnic_policy *policy;
	void *last_msg;
	u32 last_len;
	unsigned int timeout_ms;
	bool as_infiniband;
	bool send_imm;
};

/**
 * struct srnic_handover - what a program that connected by itself hands over
 * @file: of its TCP socket, held by the caller
 * @mpa: what it has negotiated, or knows
 * @initiator: see struct srnic_attach
 * @no_bind: the QP binds no window from now on
 * @keepalive: seconds after which TCP asks whether the peer is still there; 0: as the
 *	       program set it
 * @last_msg: see struct srnic_attach
 * @last_len: its bytes
 */
struct srnic_handover {
	struct file *file;
	struct mpa_result mpa;
	bool initiator;
	bool no_bind;
	u32 keepalive;
	void *last_msg;
	u32 last_len;
};

/**
 * struct srnic_rdv_ops - who connects QPs of programs without a connection manager
 * @hold_port: a UD QP is going to need the port. See srnic_rdv_hold_port()
 * @prepare: the program takes the QP, in Idle, to RTR: @attr has the peer's QP number, which may
 *	     be its own, the PSN, and a route with the local and the peer's GID; @ird is the IRD.
 *	     From now on the peer may connect. Returns 0; -EOPNOTSUPP if no port is set for it;
 *	     -EINVAL for addresses that cannot be connected; -EBUSY; -EDQUOT; -ENOMEM; an errno
 *	     of the socket calls
 * @start: the program takes it to RTS: it connects by itself. Returns 0, or -ENOTCONN
 *	   if the connection was made before, and is over
 * @cancel: the program takes it back from RTR or RTS, and it is in Error: no stream is
 *	    attached any more. Returns 0, and the connector has nothing to do with the QP; or
 *	    -EBUSY if the connector has yet to be told that its stream is wound down
 * @handover: the program has connected a socket, which becomes the QP's stream. See
 *	      srnic_handover(). May wait for the peer to take the last message
 *
 * Context: process, may sleep; but for @handover not for the peer.
 */
struct srnic_rdv_ops {
	int (*hold_port)(struct srnic_device *dev);
	int (*prepare)(struct srnic_qp *qp, const struct ib_qp_attr *attr, u8 ird);
	int (*start)(struct srnic_qp *qp, u32 psn, u16 ord);
	int (*cancel)(struct srnic_qp *qp);
	int (*handover)(struct srnic_qp *qp, const struct srnic_handover *req);
};

/* life */
int srnic_qp_create(struct srnic_qp *qp, struct srnic_device *dev,
		    struct ib_qp_init_attr *init, struct ib_ucontext *uctx);
int srnic_qp_destroy(struct srnic_qp *qp);
struct srnic_qp *srnic_qp_find(struct srnic_device *dev, u32 qpn);
void srnic_qp_put(struct srnic_qp *qp);
void srnic_qp_join_tx(struct srnic_qp *qp);

/* state */
int srnic_qp_modify(struct srnic_qp *qp, enum srnic_qp_state next);
void srnic_qp_abort(struct srnic_qp *qp);
void srnic_qp_give_up(struct srnic_qp *qp);

/* stream */
void srnic_qp_settle(struct srnic_qp *qp);
int srnic_qp_claim(struct srnic_qp *qp, const struct srnic_llp_ops *ops, void *priv);
void srnic_qp_unclaim(struct srnic_qp *qp, void *priv);
bool srnic_qp_abort_silent(struct srnic_qp *qp, void *priv);
int srnic_qp_attach(struct srnic_qp *qp, const struct srnic_attach *attach);

#endif
