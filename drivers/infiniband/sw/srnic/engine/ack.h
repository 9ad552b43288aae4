/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Acknowledgments between two QPs that have agreed on them. */
#ifndef SRNIC_ACK_H
#define SRNIC_ACK_H

#include "engine/rx.h"
#include "engine/tx.h"
#include "queue/state.h"

/* Has this end delivered messages that it has not acknowledged? Any context, with a stream. */
static inline bool srnic_ack_due(const struct srnic_qp *qp)
{
	return qp->acks && READ_ONCE(qp->tx->acked) != READ_ONCE(qp->rx->delivered);
}

/* ... and is one of them asked for, so that it is to go at once? */
static inline bool srnic_ack_asked(const struct srnic_qp *qp)
{
	return test_bit(SRNIC_QPF_ACK_ASKED, &qp->flags) && srnic_ack_due(qp);
}

void srnic_ack_stage(struct srnic_qp *qp);
bool srnic_ack_fits(const struct srnic_qp *qp, u32 number);
void srnic_ack_received(struct srnic_qp *qp);
void srnic_ack_ahead(struct srnic_qp *qp, u32 number);
bool srnic_ack_terminated(struct srnic_qp *qp, const struct rdmap_term *term);

#endif
