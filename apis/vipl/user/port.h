/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The port of a NIC's device, as it is now. */
#ifndef VIPL_PORT_H
#define VIPL_PORT_H

#include "nic.h"

bool vipl_port_is_there(const struct vipl_nic *nic);
bool vipl_port_is_up(const struct vipl_nic *nic);
VIP_ULONG vipl_port_mtu(const struct vipl_nic *nic);

#endif
