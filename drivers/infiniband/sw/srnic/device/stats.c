// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The counters, as `rdma statistic` and sysfs show them. */

#include <linux/sysfs.h>
#include <rdma/ib_sysfs.h>
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

/*
 * The folder "counters" of a port, which InfiniBand's devices have, with those of its files that
 * have a meaning here. Exporters of metrics look for them, and for no counters of a driver: if one
 * device lacks the folder, that of Prometheus says nothing of any. Data has units of four octets.
 */
struct port_counter {
	struct ib_port_attribute attr;
	enum srnic_counter counter;
	unsigned int shift;
};

static ssize_t show_port_counter(struct ib_device *ibdev, u32 port,
				 struct ib_port_attribute *attr, char *buf)
{
	const struct port_counter *c = container_of(attr, struct port_counter, attr);

	return sysfs_emit(buf, "%llu\n",
			  srnic_counter(to_srnic_dev(ibdev), c->counter) >> c->shift);
}

#define PORT_COUNTER(_name, _counter, _shift)					\
	static struct port_counter _name = {					\
		.attr = {							\
			.attr = { .name = #_name, .mode = 0444 },		\
			.show = show_port_counter,				\
		},								\
		.counter = _counter,						\
		.shift = _shift,						\
	}

PORT_COUNTER(port_xmit_data, SRNIC_CNT_TX_BYTES, 2);
PORT_COUNTER(port_xmit_packets, SRNIC_CNT_TX_FPDU, 0);
PORT_COUNTER(port_rcv_data, SRNIC_CNT_RX_BYTES, 2);
PORT_COUNTER(port_rcv_packets, SRNIC_CNT_RX_FPDU, 0);

static struct attribute *port_counters[] = {
	&port_xmit_data.attr.attr,
	&port_xmit_packets.attr.attr,
	&port_rcv_data.attr.attr,
	&port_rcv_packets.attr.attr,
	NULL
};

static const struct attribute_group port_counter_group = {
	.name = "counters",
	.attrs = port_counters,
};

/* Files of a port beside those of the core */
const struct attribute_group *srnic_port_groups[] = {
	&port_counter_group,
	NULL
};
