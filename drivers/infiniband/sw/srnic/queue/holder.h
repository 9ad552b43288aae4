/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Quotas of what users hold of a device, and of their connected QPs. */
#ifndef SRNIC_HOLDER_H
#define SRNIC_HOLDER_H

#include <linux/list.h>
#include <linux/types.h>
#include "srnic.h"

/* The largest number of connected QPs of one user that a policy can allow */
#define SRNIC_USER_MAX_QPS	65536

/**
 * struct srnic_holder - a user of a device
 * @entry: among the holders of the device
 * @uses: open contexts; under the lock of the holders
 * @key: see srnic_user_key()
 * @held: what it holds, by enum srnic_kind
 */
struct srnic_holder {
	struct list_head entry;
	unsigned int uses;
	u32 key;
	atomic_long_t held[SRNIC_KINDS];
};

u32 srnic_user_key(void);
void srnic_holders_init(struct srnic_device *dev);
void srnic_holders_exit(struct srnic_device *dev);
struct srnic_holder *srnic_holder_open(struct srnic_device *dev);
void srnic_holder_close(struct srnic_device *dev, struct srnic_holder *holder);
int srnic_take(struct srnic_device *dev, struct srnic_holder *holder, enum srnic_kind kind,
	       long n);
void srnic_give(struct srnic_device *dev, struct srnic_holder *holder, enum srnic_kind kind,
		long n);
long srnic_held(const struct srnic_device *dev, enum srnic_kind kind);
int srnic_user_charge(struct srnic_device *dev, u32 *key);
int srnic_user_charge_stream(u32 key);
void srnic_user_uncharge(u32 key);
u32 srnic_user_max_default(void);

#endif
