/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The verbs: what a device does for ib_core. */
#ifndef SRNIC_VERBS_H
#define SRNIC_VERBS_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops srnic_verbs_ops;
extern const struct ib_device_ops srnic_ah_ops;

#endif
