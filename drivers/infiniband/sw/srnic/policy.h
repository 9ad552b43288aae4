/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What an administrator may choose for the connections of a device. */
#ifndef SRNIC_POLICY_H
#define SRNIC_POLICY_H

#include <linux/spinlock.h>
#include <linux/sysfs.h>
#include "wire/mpa.h"

/**
 * struct srnic_policy - choices for connections that are made from now on
 * @mpa: what MPA start-up asks for and grants
 * @max_fpdu: octets of the largest FPDU to send, with its markers; 0: what
 *	      fits into a TCP segment
 */
struct srnic_policy {
	struct mpa_policy mpa;
	u32 max_fpdu;
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

extern const struct attribute_group srnic_policy_group;

void srnic_policy_init(struct srnic_policy_owner *owner);
struct srnic_policy srnic_policy_get(struct srnic_policy_owner *owner);

#endif
