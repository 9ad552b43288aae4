/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Called by rx.c and place.c in place of the functions of stream.c, see Kbuild. */
#ifndef SRNIC_KUNIT_RX_CHANGE_H
#define SRNIC_KUNIT_RX_CHANGE_H

#include "engine/stream.h"

void rx_change_copy(struct srnic_cursor *cur, void *dst, u32 len);
void rx_change_walk(struct srnic_cursor *cur, u32 len, srnic_stream_actor actor, void *ctx);

#endif
