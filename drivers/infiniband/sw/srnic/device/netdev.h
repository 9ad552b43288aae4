/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Following changes of the interface. */
#ifndef SRNIC_NETDEV_H
#define SRNIC_NETDEV_H

struct net_device;

int srnic_netdev_init(void);
void srnic_netdev_exit(void);
void srnic_netdev_sync(struct net_device *netdev);

#endif
