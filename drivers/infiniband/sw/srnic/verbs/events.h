/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The descriptor by which a program reads its events. */
#ifndef SRNIC_EVENTS_H
#define SRNIC_EVENTS_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition srnic_uapi_event_defs[];

#endif
