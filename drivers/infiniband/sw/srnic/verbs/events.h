/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The descriptor by which a program reads its events. */
#ifndef SRNIC_EVENTS_H
#define SRNIC_EVENTS_H

#include <linux/minmax.h>
#include <rdma/srnic-abi.h>
#include <rdma/uverbs_ioctl.h>

/* The smallest record that a program may read: version 1 of the ABI */
#define SRNIC_EVENT_RECORD_MIN	offsetofend(struct srnic_event_record, term)

/**
 * srnic_event_bytes - number of bytes to copy of a record
 * @room: size of the program's buffer
 * @size: size of the kernel's record
 *
 * Return: the bytes, or -EINVAL if the buffer is too small.
 */
static inline ssize_t srnic_event_bytes(size_t room, size_t size)
{
	return room < SRNIC_EVENT_RECORD_MIN ? -EINVAL : min(room, size);
}

extern const struct uapi_definition srnic_uapi_event_defs[];

#endif
