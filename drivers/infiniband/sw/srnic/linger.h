/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Streams that outlive their owner, for a while. */
#ifndef SRNIC_LINGER_H
#define SRNIC_LINGER_H

#include <linux/types.h>

struct srnic_device;
struct srnic_stream;

/**
 * struct srnic_words - what a stream still has to say
 * @buf: bytes, from kvmalloc(); NULL if there are none
 * @len: bytes in @buf
 * @sent: of them, handed to TCP already
 */
struct srnic_words {
	void *buf;
	u32 len;
	u32 sent;
};

int srnic_linger_init(void);
void srnic_linger_exit(void);
void srnic_linger(struct srnic_device *dev, struct srnic_stream *stream,
		  const struct srnic_words *words, unsigned long bound);

#endif
