/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Counters for tools. */
#ifndef SRNIC_STATS_H
#define SRNIC_STATS_H

#include <linux/types.h>

struct attribute_group;
struct ib_device;
struct rdma_hw_stats;

extern const struct attribute_group *srnic_port_groups[];

struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index);

#endif
