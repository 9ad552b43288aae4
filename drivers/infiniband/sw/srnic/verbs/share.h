/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The method that registers the memory of a region once more. */
#ifndef SRNIC_SHARE_H
#define SRNIC_SHARE_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition srnic_uapi_share_defs[];

#endif
