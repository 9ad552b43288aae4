// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The counters, as `rdma statistic` and sysfs show them. */

#include <linux/build_bug.h>
#include "device/stats.h"
#include "srnic.h"

static const struct rdma_stat_desc descs[] = {
	[SRNIC_CNT_TX_FPDU].name		= "tx_fpdus",
	[SRNIC_CNT_TX_BYTES].name		= "tx_bytes",
	[SRNIC_CNT_TX_SENDMSG].name		= "tx_sendmsg_calls",
	[SRNIC_CNT_TX_NO_MEMORY].name		= "tx_no_memory",
	[SRNIC_CNT_RX_FPDU].name		= "rx_fpdus",
	[SRNIC_CNT_RX_BYTES].name		= "rx_bytes",
	[SRNIC_CNT_RX_COLLECTED].name		= "rx_collected_fpdus",
	[SRNIC_CNT_RX_RNR].name			= "rx_rnr_waits",
	[SRNIC_CNT_TX_TERMINATE].name		= "tx_terminates",
	[SRNIC_CNT_RX_TERMINATE].name		= "rx_terminates",
	[SRNIC_CNT_CRC_ERROR].name		= "rx_crc_errors",
	[SRNIC_CNT_RX_PROTOCOL_ERROR].name	= "rx_protocol_errors",
	[SRNIC_CNT_RX_PROTECTION_ERROR].name	= "rx_protection_errors",
	[SRNIC_CNT_RQ_EMPTY].name		= "rq_empty",
	[SRNIC_CNT_LOCAL_WR_ERROR].name		= "local_wr_errors",
	[SRNIC_CNT_MW_BIND].name		= "mw_binds",
	[SRNIC_CNT_RING_CORRUPT].name		= "ring_corruptions",
	[SRNIC_CNT_CQ_OVERFLOW].name		= "cq_overflows",
	[SRNIC_CNT_CONN_ACTIVE].name		= "conn_active",
	[SRNIC_CNT_CONN_PASSIVE].name		= "conn_passive",
	[SRNIC_CNT_CONN_REJECTED].name		= "conn_rejected",
	[SRNIC_CNT_CONN_FAILED].name		= "conn_failed",
	[SRNIC_CNT_CONN_DROPPED].name		= "conn_dropped",
	[SRNIC_CNT_CONN_USER_LIMIT].name	= "conn_user_limit",
	[SRNIC_CNT_OBJ_USER_LIMIT].name		= "obj_user_limit",
	[SRNIC_CNT_CONN_NOT_OWNER].name		= "conn_not_owner",
	[SRNIC_CNT_CONN_NO_PEER].name		= "conn_no_peer",
	[SRNIC_CNT_LISTEN_WAIT].name		= "listen_waits",
	[SRNIC_CNT_NO_KTHREADS].name		= "no_kthreads",
	[SRNIC_CNT_CLOSE_GRACEFUL].name		= "close_graceful",
	[SRNIC_CNT_CLOSE_ABORTED].name		= "close_aborted",
	[SRNIC_CNT_CLOSE_LINGERED].name		= "close_lingered",
	[SRNIC_CNT_UD_TX].name			= "ud_tx_messages",
	[SRNIC_CNT_UD_TX_LOST].name		= "ud_tx_lost",
	[SRNIC_CNT_UD_RX].name			= "ud_rx_messages",
	[SRNIC_CNT_UD_RX_MALFORMED].name	= "ud_rx_malformed",
	[SRNIC_CNT_UD_RX_NO_QP].name		= "ud_rx_no_qp",
	[SRNIC_CNT_UD_RX_QKEY].name		= "ud_rx_wrong_qkey",
	[SRNIC_CNT_UD_RX_NO_RECV].name		= "ud_rx_no_receive",
};

static_assert(ARRAY_SIZE(descs) == SRNIC_CNT_COUNT);

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
