/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Query methods of the RDMAC verbs. */
#ifndef SRNIC_QUERY_H
#define SRNIC_QUERY_H

#include <rdma/uverbs_ioctl.h>

struct srnic_uresp_dev_query;

extern const struct uapi_definition srnic_uapi_query_defs[];

void srnic_query_rnic(struct ib_device *ibdev, struct srnic_uresp_dev_query *is);

#endif
