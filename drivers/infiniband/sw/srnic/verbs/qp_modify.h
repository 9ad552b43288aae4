/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The method that takes a QP to RTS with a program's own socket. */
#ifndef SRNIC_QP_MODIFY_H
#define SRNIC_QP_MODIFY_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition srnic_uapi_modify_defs[];

#endif
