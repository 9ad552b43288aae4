/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * UD QPs: each message is one UDP datagram between two devices (ib/datagram.c).
 *
 * ud_port.c has the device's UDP sockets, one for each user and address; ud.c sends and
 * receives with them. A UD QP never has a stream: the core's state is Idle or Error.
 */
#ifndef SRNIC_UD_H
#define SRNIC_UD_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "ib/addr.h"
#include "ib/datagram.h"
#include "queue/sqe.h"

struct sock;
struct srnic_device;
struct srnic_qp;
struct srnic_rwr;
struct srnic_ud_set;

/* If a WR's Q_Key has this bit, the QP's Q_Key is sent (IBA 1.6, 10.2.5) */
#define SRNIC_QKEY_OF_QP	0x80000000U

/* Datagrams that a call of a socket's callback takes */
#define SRNIC_UD_BUDGET		16

/**
 * struct srnic_ud - the part of a QP that UD QPs have
 * @qp: the QP
 * @error: takes the QP to Error, for callers that may not sleep
 * @joined: the device's sockets deliver to the QP; Modify QP owns it
 * @failed: the holder of @tx_lock is to take the QP to Error before it lets go
 * @tx_lock: protects what follows; held while a message is sent. Outside of @rx_lock
 * @set: the sockets that send; NULL: the QP has not joined
 * @tx_on: RTS: WRs are sent
 * @psn: of the next message
 * @wr: the WR in progress
 * @buf: its datagram
 * @rx_lock: protects what follows; taken in softirq. Outside of the QP's locks, and held while a
 *	     receive completes and handlers are called: the consumer is a program, whose handlers
 *	     in ib_uverbs do not call the QP
 * @rx_on: RTR, RTS: messages are received. If not, none is sent either; the doorbell reads it
 *	   without the lock
 * @qkey: the Q_Key that messages must have
 * @rwr: the receive in progress
 */
struct srnic_ud {
	struct srnic_qp *qp;
	struct work_struct error;
	bool joined;
	bool failed;

	struct mutex tx_lock;	/* see above */
	struct srnic_ud_set *set;
	bool tx_on;
	u32 psn;
	struct srnic_fetched wr;
	u8 *buf;

	spinlock_t rx_lock;	/* see above */
	bool rx_on;
	u32 qkey;
	struct srnic_rwr *rwr;
};

/**
 * struct srnic_ud_ports - the sockets of a device
 * @dev: the device
 * @sync: opens and closes sockets
 * @qps: UD QPs in RTR or RTS, by QP number; looked up under RCU
 * @lock: serializes joining and leaving; protects @num_sets
 * @num_sets: number of @sets
 * @sets_lock: protects what follows; inside @lock
 * @sets: struct srnic_ud_set
 */
struct srnic_ud_ports {
	struct srnic_device *dev;
	struct work_struct sync;
	struct xarray qps;

	struct mutex lock;	/* see above */
	unsigned int num_sets;

	struct mutex sets_lock;	/* see above */
	struct list_head sets;
};

/**
 * struct srnic_dgm - a received message
 * @hdr: its header
 * @data: @hdr.length bytes
 * @grh: the addresses, as the program gets them
 */
struct srnic_dgm {
	struct dgm_hdr hdr;
	const u8 *data;
	struct ib_grh grh;
};

/* ud.c */
int srnic_ud_create(struct srnic_qp *qp);
void srnic_ud_destroy(struct srnic_qp *qp);
int srnic_ud_receive(struct srnic_qp *qp);
void srnic_ud_send(struct srnic_qp *qp, bool on);
void srnic_ud_error(struct srnic_qp *qp);
void srnic_ud_abort(struct srnic_qp *qp);
void srnic_ud_leave(struct srnic_qp *qp);
void srnic_ud_set_qkey(struct srnic_qp *qp, u32 qkey);
void srnic_ud_doorbell(struct srnic_qp *qp);
void srnic_ud_deliver(struct srnic_qp *qp, const struct srnic_dgm *dgm);

/* ud_port.c */
void srnic_ud_data_ready(struct sock *sk);
void srnic_ud_ports_init(struct srnic_ud_ports *ports, struct srnic_device *dev);
void srnic_ud_ports_exit(struct srnic_ud_ports *ports);
void srnic_ud_ports_changed(struct srnic_device *dev);
void srnic_ud_ports_moved(struct srnic_device *dev);
int srnic_ud_ports_join(struct srnic_qp *qp);
void srnic_ud_ports_leave(struct srnic_qp *qp);
int srnic_ud_ports_send(struct srnic_qp *qp, const struct srnic_av *av, u8 *buf, u32 len);
void srnic_ud_queue(struct work_struct *work);
int srnic_ud_init(void);
void srnic_ud_exit(void);

#endif
