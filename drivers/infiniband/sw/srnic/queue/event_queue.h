/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Events that a program has not read yet. */
#ifndef SRNIC_EVENT_QUEUE_H
#define SRNIC_EVENT_QUEUE_H

#include <linux/list.h>
#include <linux/wait.h>
#include <rdma/srnic-abi.h>

struct ib_ucontext;
struct srnic_event_source;

/**
 * struct srnic_event_queue - where a program reads its events
 * @sources: objects with events, that of the oldest first
 * @wait: readers
 * @ended: it was closed, or the device is gone; its events were dropped
 * @told_end: ... and the event of the end was read
 */
struct srnic_event_queue {
	struct list_head sources;
	wait_queue_head_t wait;
	bool ended;
	bool told_end;
};

/**
 * struct srnic_event_source - an object that events come from
 * @uctx: its program's context; NULL: of a kernel consumer, which has no queue
 * @link: in the queue, if @pending is not 0
 * @pending: a bit for each enum srnic_event
 * @describe: fills in what is known of the object; called under the lock of the queues
 */
struct srnic_event_source {
	struct ib_ucontext *uctx;
	struct list_head link;
	u64 pending;
	void (*describe)(struct srnic_event_source *src, struct srnic_event_record *rec);
};

void srnic_event_source_init(struct srnic_event_source *src, struct ib_ucontext *uctx,
			     void (*describe)(struct srnic_event_source *,
					      struct srnic_event_record *));
void srnic_event_source_end(struct srnic_event_source *src);
void srnic_event_source_add(struct srnic_event_source *src, enum srnic_event event);
int srnic_event_queue_open(struct srnic_event_queue *queue, struct ib_ucontext *uctx);
void srnic_event_queue_end(struct srnic_event_queue *queue, struct ib_ucontext *uctx);
bool srnic_event_queue_has(struct srnic_event_queue *queue);
int srnic_event_queue_take(struct srnic_event_queue *queue, struct srnic_event_record *rec);

#endif
