/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Socket addresses of GIDs. */
#ifndef SRNIC_ADDR_H
#define SRNIC_ADDR_H

#include <linux/socket.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct srnic_device;

void srnic_addr_of_gid(const struct srnic_device *dev, const union ib_gid *gid, u16 port,
		       struct sockaddr_storage *addr);
bool srnic_addr_is_unicast(const struct sockaddr_storage *addr);

/* Bytes of an address of its family */
static inline int srnic_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}

#endif
