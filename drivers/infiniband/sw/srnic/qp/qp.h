/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The life of a QP, and of the stream that is attached to it.
 *
 * srnic_qp_attach() gives a QP its stream; it does not depend on its caller. From
 * then on the owner of tx and the owner of rx run the two directions (tx.c, rx.c).
 * The tx kthread, or the work that could not make it, winds the stream down when the
 * QP leaves RTS: it sends the Terminate, stops the rx kthread, hands the stream to
 * linger.c, flushes the queues and raises the events. It waits for the peer in
 * Closing only, within a bound.
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
 * @stream: owned by the QP if srnic_qp_attach() succeeds, otherwise by the caller
 * @initiator: this end sends the first FPDU; if not, this end sends none
 *	       before it has received a valid one (M-STA-4)
 * @no_bind: the QP binds no window from now on
 * @no_responses: a Read Response with data ends the stream, as a Write does without
 *		  SRNIC_QP_WRITE_ENABLED
 * @mpa: negotiated settings
 * @policy: of the connection
 * @last_msg: last message in streaming mode, sent before the switch to FPDUs
 *	      (an MPA Reply); NULL if none
 * @last_len: its octets
 * @timeout_ms: time-out for sending it
 * @as_infiniband: rnr_retry, and not the policy, bounds how long a message waits for a
 *		   receive; and after a graceful close, in Idle, receive WRs stay posted
 * @send_imm: both ends offer Sends with immediate data, see RDMAP_SEND_IMM
 * @acks: both ends offer to acknowledge messages, see engine/ack.c
 * @placement: ... and to take Flush and Atomic Write, see engine/atomic.c
 * @rdmac: the stream has version 0, that of the RDMA Consortium, which has no negotiation:
 *	   @mpa is to have CRC and markers
 */
struct srnic_attach {
	struct srnic_stream *stream;
	bool initiator;
	bool no_bind;
	bool no_responses;
	struct mpa_result mpa;
	const struct srnic_policy *policy;
	void *last_msg;
	u32 last_len;
	unsigned int timeout_ms;
	bool as_infiniband;
	bool send_imm;
	bool acks;
	bool placement;
	bool rdmac;
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
void srnic_qp_moved(struct srnic_qp *qp);
void srnic_qp_give_up(struct srnic_qp *qp);

/* stream */
bool srnic_qp_abort_silent(struct srnic_qp *qp, void *priv);
int srnic_qp_attach(struct srnic_qp *qp, const struct srnic_attach *attach);

#endif
