/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Creation and end of a device, and its attributes. */
#ifndef SRNIC_DEVICE_H
#define SRNIC_DEVICE_H

#include <rdma/ib_verbs.h>

struct net_device;
struct srnic_device;

extern const struct ib_device_ops srnic_device_ops;
int srnic_device_add(const char *name, struct net_device *netdev, u8 type);
void srnic_device_leave(struct srnic_device *dev);
int srnic_client_init(void);
void srnic_client_exit(void);
void srnic_release_late(struct srnic_device *dev);
int srnic_release_init(void);
void srnic_release_exit(void);
bool srnic_netdev_active(const struct net_device *netdev);

#endif
