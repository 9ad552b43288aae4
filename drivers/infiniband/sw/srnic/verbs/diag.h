/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Diagnosis of a device. */
#ifndef SRNIC_DIAG_H
#define SRNIC_DIAG_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition srnic_uapi_diag_defs[];

#endif
