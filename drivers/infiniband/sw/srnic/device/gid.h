/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The GIDs of a port. */
#ifndef SRNIC_GID_H
#define SRNIC_GID_H

#include <rdma/ib_verbs.h>

struct srnic_device;

bool srnic_gid_sync(struct srnic_device *dev);
int srnic_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);

#endif
