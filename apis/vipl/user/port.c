// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The port of a NIC's device. Each call asks the kernel. */
#include "port.h"

static bool query(const struct vipl_nic *nic, struct ibv_port_attr *port)
{
	return !ibv_query_port(nic->id->verbs, 1, port);
}

/**
 * vipl_port_is_there() - Whether a NIC can have new objects
 * @nic: open
 *
 * Context: the NIC's lock is held.
 * Return: false if the device is gone.
 */
bool vipl_port_is_there(const struct vipl_nic *nic)
{
	struct ibv_port_attr port;

	return query(nic, &port);
}

/**
 * vipl_port_is_up() - Whether a NIC can have connections
 * @nic: open
 *
 * Context: the NIC's lock is held.
 * Return: false if the device is gone, or its interface is down.
 */
bool vipl_port_is_up(const struct vipl_nic *nic)
{
	struct ibv_port_attr port;

	return query(nic, &port) && port.state == IBV_PORT_ACTIVE;
}

/**
 * vipl_port_mtu() - The largest MTU of verbs up to that of the link
 * @nic: bound to its device
 *
 * Context: any.
 * Return: in bytes; 0 if the device is gone.
 */
VIP_ULONG vipl_port_mtu(const struct vipl_nic *nic)
{
	struct ibv_port_attr port;

	return query(nic, &port) ? 128ul << port.active_mtu : 0;
}
