/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Connections of QPs whose programs exchange GIDs and QP numbers by themselves. */
#ifndef SRNIC_RENDEZVOUS_H
#define SRNIC_RENDEZVOUS_H

#include <rdma/ib_verbs.h>

struct srnic_device;
struct srnic_qp;

/**
 * struct srnic_rdv_ops - connecting QPs of programs without a connection manager
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
 *
 * Context: process, may sleep; but not for the peer.
 */
struct srnic_rdv_ops {
	int (*hold_port)(struct srnic_device *dev);
	int (*prepare)(struct srnic_qp *qp, const struct ib_qp_attr *attr, u8 ird);
	int (*start)(struct srnic_qp *qp, u32 psn, u16 ord);
	int (*cancel)(struct srnic_qp *qp);
};

extern const struct srnic_rdv_ops srnic_rdv_ops;

int srnic_rdv_init(void);
void srnic_rdv_exit(void);
int srnic_rdv_set_port(struct srnic_device *dev, u16 number);
void srnic_rdv_device_moved(struct srnic_device *dev);

#endif
