/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Methods of the driver. */
#ifndef SRNIC_UVERBS_H
#define SRNIC_UVERBS_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition srnic_uapi_defs[];

#endif
