/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The policy in sysfs; policy.h, beside the folders, says what it is. */
#ifndef SRNIC_POLICY_SYSFS_H
#define SRNIC_POLICY_SYSFS_H

struct attribute_group;
struct srnic_policy_owner;

extern const struct attribute_group srnic_policy_group;
void srnic_policy_init(struct srnic_policy_owner *owner);

#endif
