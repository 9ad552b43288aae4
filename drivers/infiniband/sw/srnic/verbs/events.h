/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The descriptor by which a program reads its events. */
#ifndef SRNIC_EVENTS_H
#define SRNIC_EVENTS_H

#include <linux/minmax.h>
#include <rdma/srnic-abi.h>
#include <rdma/uverbs_ioctl.h>

/* What each program has room for: version 1 of the ABI */
#define SRNIC_EVENT_RECORD_MIN	offsetofend(struct srnic_event_record, term)

/**
 * srnic_event_bytes - of a record that is read
 * @room: bytes that the program has room for
 * @size: of the record, as the kernel has it
 *
 * Return: bytes to give, or -EINVAL.
 */
static inline ssize_t srnic_event_bytes(size_t room, size_t size)
{
	return room < SRNIC_EVENT_RECORD_MIN ? -EINVAL : min(room, size);
}

extern const struct uapi_definition srnic_uapi_event_defs[];

#endif
