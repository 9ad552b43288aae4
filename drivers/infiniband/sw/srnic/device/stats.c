// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The counters, as `rdma statistic` and sysfs show them. */

#include "device/stats.h"
#include "srnic.h"

static const struct rdma_stat_desc descs[] = {
#define SRNIC_COUNTER(_symbol, _name) \
	[SRNIC_CNT_##_symbol] = { .name = _name },
#include "counters.h"
};

/**
 * srnic_alloc_hw_port_stats - allocate the core's copy of the counters
 * @ibdev: the device
 * @port: 1
 *
 * Context: process, may sleep.
 * Return: the memory, freed by the core, or NULL.
 */
struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(descs, ARRAY_SIZE(descs),
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * srnic_get_hw_stats - read the counters
 * @ibdev: the device
 * @stats: from srnic_alloc_hw_port_stats()
 * @port: 1; 0, for counters of the device, is an error
 * @index: of the requested counter; ignored, all are read
 *
 * Context: process.
 * Return: how many were read, or -EINVAL.
 */
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index)
{
	struct srnic_device *dev = to_srnic_dev(ibdev);
	int i;

	if (port != 1)
		return -EINVAL;
	for (i = 0; i < SRNIC_CNT_COUNT; i++)
		stats->value[i] = srnic_counter(dev, i);
	return SRNIC_CNT_COUNT;
}
