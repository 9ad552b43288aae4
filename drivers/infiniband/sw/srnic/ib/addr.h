/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Addresses of UD messages; socket addresses of GIDs. */
#ifndef SRNIC_ADDR_H
#define SRNIC_ADDR_H

#include <linux/socket.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct srnic_device;

/**
 * struct srnic_av - address vector of messages; immutable
 * @pd: of the address handle
 * @sgid_index: index of @sgid
 * @sgid: the sender's address
 * @dgid: the receiver's address
 */
struct srnic_av {
	struct ib_pd *pd;
	int sgid_index;
	union ib_gid sgid;
	union ib_gid dgid;
};

void srnic_addr_of_gid(const struct srnic_device *dev, const union ib_gid *gid, u16 port,
		       struct sockaddr_storage *addr);
bool srnic_addr_is_unicast(const struct sockaddr_storage *addr);

#endif
