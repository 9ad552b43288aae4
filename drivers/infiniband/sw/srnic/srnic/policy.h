/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The policy in sysfs. What it is, is in the policy.h of the folder above, for all. */
#ifndef SRNIC_SRNIC_POLICY_H
#define SRNIC_SRNIC_POLICY_H

struct attribute_group;
struct srnic_policy_owner;

extern const struct attribute_group srnic_policy_group;
void srnic_policy_init(struct srnic_policy_owner *owner);

#endif
