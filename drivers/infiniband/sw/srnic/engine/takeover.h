/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Streams that are made out of a program's own TCP socket. */
#ifndef SRNIC_TAKEOVER_H
#define SRNIC_TAKEOVER_H

struct file;
struct srnic_device;
struct srnic_stream;

struct srnic_stream *srnic_takeover_begin(struct srnic_device *dev, struct file *file);
void srnic_takeover_cancel(struct srnic_stream *stream);
void srnic_takeover_commit(struct file *file);
int srnic_takeover_register(void);
void srnic_takeover_unregister(void);

#endif
