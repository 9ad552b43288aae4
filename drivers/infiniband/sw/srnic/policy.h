/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What an administrator may choose for the connections of a device. */
#ifndef SRNIC_POLICY_H
#define SRNIC_POLICY_H

#include <linux/spinlock.h>
#include "wire/mpa.h"

/* A time without end */
#define SRNIC_FOREVER	(~0U)
/* The peer is asked whether it takes FPDUs larger than a TCP segment */
#define SRNIC_FPDU_AUTO	(~0U)

/**
 * struct srnic_policy - choices for connections that are made from now on
 * @mpa: settings that the MPA start-up asks for and grants
 * @max_fpdu: octets of the largest FPDU to send, with its markers; 0: what
 *	      fits into a TCP segment; SRNIC_FPDU_AUTO: MPA_LARGE_FPDU, if the peer has
 *	      SRNIC_FPDU_AUTO as well. @mpa has it, too
 * @connect_timeout: for a TCP connection to come up; this and the others in
 *		     seconds
 * @request_timeout: for the whole MPA Request, from TCP's accept on; with peer-
 *		     to-peer set-up for the RTR, from the Reply on
 * @reply_timeout: for the MPA Reply
 * @accept_timeout: for our application to decide on a request
 * @close_timeout: for the peer to close its side: bounds Closing, and a stream
 *		   that lingers
 * @keepalive: idle time after which TCP asks whether the peer is still there; 0:
 *	       never
 * @max_user_qps: connected QPs that one user may have; 0: no limit
 * @ib_port: TCP port of QPs that programs connect by Modify QP; 0: there are none
 * @ib_timeout: a WR of such a QP waits at least this long for the peer
 * @ib_privileged: both ends of such a connection use ports below 1024, which only the kernel
 *		   or root of a host can use; @ib_port is 0 or such a port then
 * @ib_ack: such a QP acknowledges the peer's messages, and its own WRs complete when the peer has
 *	    acknowledged them, if the peer does so, too
 * @no_receive: so long a message waits for a receive, then it ends the connection; 0: it does so
 *		at once; SRNIC_FOREVER: it waits without end
 * @inline_work: doorbells, posts and softirq do what they can; else the kthreads do it all
 */
struct srnic_policy {
	struct mpa_policy mpa;
	u32 max_fpdu;
	u32 connect_timeout;
	u32 request_timeout;
	u32 reply_timeout;
	u32 accept_timeout;
	u32 close_timeout;
	u32 keepalive;
	u32 max_user_qps;
	u32 ib_port;
	u32 ib_timeout;
	u32 no_receive;
	u8 ib_privileged;
	u8 ib_ack;
	u8 inline_work;
};

/**
 * struct srnic_policy_owner - the policy of a device
 * @lock: so that a connection gets one policy and not the parts of two
 * @now: under @lock
 */
struct srnic_policy_owner {
	spinlock_t lock;	/* innermost */
	struct srnic_policy now;
};

/**
 * srnic_policy_get - the policy for a connection
 * @owner: of the device
 *
 * Context: process.
 *
 * Return: a copy, of one moment.
 */
static inline struct srnic_policy srnic_policy_get(struct srnic_policy_owner *owner)
{
	struct srnic_policy policy;

	spin_lock(&owner->lock);
	policy = owner->now;
	spin_unlock(&owner->lock);
	return policy;
}

#endif
