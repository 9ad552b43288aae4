/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Streams that outlive their owner, for a while. */
#ifndef SRNIC_LINGER_H
#define SRNIC_LINGER_H

#include <linux/types.h>

struct srnic_batch;
struct srnic_stream;

int srnic_linger_init(void);
void srnic_linger_exit(void);
void srnic_linger(struct srnic_stream *stream, struct srnic_batch *unsent, unsigned long bound,
		  bool reset);

#endif
