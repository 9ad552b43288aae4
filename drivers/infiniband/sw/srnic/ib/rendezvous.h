/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Connections of QPs whose programs exchange GIDs and QP numbers by themselves. */
#ifndef SRNIC_RENDEZVOUS_H
#define SRNIC_RENDEZVOUS_H

#include <rdma/ib_verbs.h>

struct srnic_device;
struct srnic_qp;

/**
 * struct srnic_rdv_ops - connecting QPs of programs without a connection manager
 * @prepare: the program takes the QP, in Idle, to RTR: @attr has the peer's QP number, which may
 *	     be its own, the PSN, and a route with the local and the peer's GID; @ird is the IRD.
 *	     From now on the peer may connect. Returns 0; -EOPNOTSUPP if the policy sets no port;
 *	     -EINVAL for addresses that cannot be connected; -EBUSY; -EDQUOT; -ENOMEM; an errno
 *	     of the socket calls
 * @start: the program takes the QP to RTS: it begins to connect. Returns 0, or -ENOTCONN
 *	   if the peer has connected before, and has closed again
 * @cancel: the program takes the QP, which is in Error, back from RTR or RTS. Returns 0, and
 *	    the pair has released the QP; or -EBUSY if closed() of its stream has yet to be called
 *
 * Context: process, may sleep; does not wait for the peer.
 */
struct srnic_rdv_ops {
	int (*prepare)(struct srnic_qp *qp, const struct ib_qp_attr *attr, u8 ird);
	int (*start)(struct srnic_qp *qp, u32 psn, u16 ord);
	int (*cancel)(struct srnic_qp *qp);
};

extern const struct srnic_rdv_ops srnic_rdv_ops;

int srnic_rdv_init(void);
void srnic_rdv_exit(void);
int srnic_rdv_set_port(struct srnic_device *dev, u16 number);
int srnic_rdv_hold_port(struct srnic_device *dev);
void srnic_rdv_device_moved(struct srnic_device *dev);

#endif
