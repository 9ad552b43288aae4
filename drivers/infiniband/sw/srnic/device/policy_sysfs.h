/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The policy's attributes in sysfs; policy.h has the policy. */
#ifndef SRNIC_POLICY_SYSFS_H
#define SRNIC_POLICY_SYSFS_H

struct attribute_group;
struct srnic_policy_owner;

extern const struct attribute_group srnic_policy_group;
void srnic_policy_init(struct srnic_policy_owner *owner);

#endif
