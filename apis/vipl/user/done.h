/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Dequeuing descriptors, for both interfaces. */
#ifndef VIPL_DONE_H
#define VIPL_DONE_H

#include <stdbool.h>
#include <stdint.h>
#include <vipl.h>

VIP_RETURN vipl_dequeue(VIP_VI_HANDLE handle, bool recv, VIP_DESCRIPTOR **desc, uint32_t *errors);
VIP_RETURN vipl_dequeue_wait(VIP_VI_HANDLE handle, bool recv, VIP_ULONG msecs,
			     VIP_DESCRIPTOR **desc, uint32_t *errors);

#endif
