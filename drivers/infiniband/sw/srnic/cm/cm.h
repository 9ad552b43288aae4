/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Connections: the iw_cm operations and MPA start-up. */
#ifndef SRNIC_CM_H
#define SRNIC_CM_H

#include <rdma/ib_verbs.h>

struct srnic_device;

extern const struct ib_device_ops srnic_cm_ops;

int srnic_cm_init(void);
void srnic_cm_exit(void);
void srnic_cm_drop_device(struct srnic_device *dev);
void srnic_cm_wait_device(struct srnic_device *dev);
void srnic_cm_device_moved(struct srnic_device *dev);

#endif
