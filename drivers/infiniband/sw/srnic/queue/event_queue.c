// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events that a program has not read yet. An object has a bit for each event, so raising one
 * allocates nothing, and a program that does not read costs no memory. An event that is raised
 * again before it was read is one event.
 */

#include <linux/bitops.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include "queue/event.h"
#include "queue/event_queue.h"
#include "srnic.h"

static_assert(SRNIC_EV_COUNT <= 64);

/* One lock for all queues: events are rare. Only the lock of a QP is taken inside of it. */
static DEFINE_SPINLOCK(event_lock);

/* Objects to drop each time event_lock is held: a program may have events of many objects */
#define DROPPED_AT_ONCE	64

/**
 * srnic_event_source_init - an object can have events
 * @src: zeroed
 * @uctx: its program's context, NULL for a kernel consumer
 * @describe: see struct srnic_event_source
 * Context: any.
 */
void srnic_event_source_init(struct srnic_event_source *src, struct ib_ucontext *uctx,
			     void (*describe)(struct srnic_event_source *,
					      struct srnic_event_record *))
{
	src->uctx = uctx;
	src->describe = describe;
	INIT_LIST_HEAD(&src->link);
}

/**
 * srnic_event_source_end - an object has no events any more (AE-14)
 * @src: no event is added any more; those that were not read are dropped
 *
 * Context: any.
 */
void srnic_event_source_end(struct srnic_event_source *src)
{
	unsigned long flags;

	spin_lock_irqsave(&event_lock, flags);
	list_del_init(&src->link);
	spin_unlock_irqrestore(&event_lock, flags);
}

/**
 * srnic_event_source_add - an event has happened
 * @src: of the object
 * @event: native
 *
 * If the program has not opened a queue, the event is lost. Context: any.
 */
void srnic_event_source_add(struct srnic_event_source *src, enum srnic_event event)
{
	struct srnic_event_queue *queue;
	unsigned long flags;

	if (!src->uctx)
		return;
	spin_lock_irqsave(&event_lock, flags);
	queue = to_srnic_ucontext(src->uctx)->events;
	if (queue && !queue->ended) {
		src->pending |= BIT_ULL(event);
		if (list_empty(&src->link))
			list_add_tail(&src->link, &queue->sources);
		wake_up(&queue->wait);
	}
	spin_unlock_irqrestore(&event_lock, flags);
}

/**
 * srnic_event_queue_open - events of a context's objects are kept from now on
 * @queue: zeroed
 * @uctx: the context
 *
 * Context: process, may sleep.
 * Return: 0, or -EBUSY if the context has a queue.
 */
int srnic_event_queue_open(struct srnic_event_queue *queue, struct ib_ucontext *uctx)
{
	struct srnic_ucontext *ctx = to_srnic_ucontext(uctx);
	int err = 0;

	INIT_LIST_HEAD(&queue->sources);
	init_waitqueue_head(&queue->wait);
	spin_lock_irq(&event_lock);
	if (ctx->events)
		err = -EBUSY;
	else
		ctx->events = queue;
	spin_unlock_irq(&event_lock);
	return err;
}

/* Return: whether there are more */
static bool drop_some(struct srnic_event_queue *queue, struct srnic_ucontext *ctx)
{
	struct srnic_event_source *src;
	unsigned int n;

	spin_lock_irq(&event_lock);
	queue->ended = true;
	for (n = 0; n < DROPPED_AT_ONCE; n++) {
		src = list_first_entry_or_null(&queue->sources, struct srnic_event_source, link);
		if (!src) {
			ctx->events = NULL;
			wake_up(&queue->wait);
			break;
		}
		src->pending = 0;
		list_del_init(&src->link);
	}
	spin_unlock_irq(&event_lock);
	return n == DROPPED_AT_ONCE;
}

/**
 * srnic_event_queue_end - the program has closed the queue, or the device goes
 * @queue: of srnic_event_queue_open()
 * @uctx: its context
 *
 * A program that still reads gets an event of the end. Context: process, may sleep.
 */
void srnic_event_queue_end(struct srnic_event_queue *queue, struct ib_ucontext *uctx)
{
	while (drop_some(queue, to_srnic_ucontext(uctx)))
		cond_resched();
}

/**
 * srnic_event_queue_has - has srnic_event_queue_take() an answer?
 * @queue: open or ended
 * Context: any.
 */
bool srnic_event_queue_has(struct srnic_event_queue *queue)
{
	return READ_ONCE(queue->ended) || !list_empty_careful(&queue->sources);
}

/* event_lock is held */
static void take_from(struct srnic_event_source *src, struct srnic_event_record *rec)
{
	rec->event = __ffs64(src->pending);
	src->describe(src, rec);
	src->pending &= ~BIT_ULL(rec->event);
	if (!src->pending)
		list_del_init(&src->link);
}

/**
 * srnic_event_queue_take - read an event
 * @queue: open or ended
 * @rec: zeroed; filled in
 *
 * The error and the Terminate of a QP are those of this moment. Context: process.
 *
 * Return: 0; -EAGAIN: there is none; -EIO: the end was reported, and nothing will come.
 */
int srnic_event_queue_take(struct srnic_event_queue *queue, struct srnic_event_record *rec)
{
	struct srnic_event_source *src;
	int err = 0;

	spin_lock_irq(&event_lock);
	src = list_first_entry_or_null(&queue->sources, struct srnic_event_source, link);
	if (src) {
		take_from(src, rec);
	} else if (!queue->ended) {
		err = -EAGAIN;
	} else if (queue->told_end) {
		err = -EIO;
	} else {
		queue->told_end = true;
		rec->event = SRNIC_EV_RNIC_CATASTROPHIC;
		rec->object = SRNIC_EVENT_OF_DEVICE;
	}
	spin_unlock_irq(&event_lock);
	return err;
}
