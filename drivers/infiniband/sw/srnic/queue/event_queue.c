// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Events that a program has not read yet. An object has a bit for each event, so nothing is
 * allocated where one is raised, and a program that does not read costs nothing: an event
 * that comes again before it was read is one event.
 */

#include <linux/bitops.h>
#include <linux/spinlock.h>
#include "queue/event.h"
#include "queue/event_queue.h"
#include "srnic.h"

static_assert(SRNIC_EV_COUNT <= 64);

/* Of all queues: events are rare. It is innermost but for the lock of a QP. */
static DEFINE_SPINLOCK(event_lock);

/**
 * srnic_event_source_init - an object can have events
 * @src: zeroed
 * @uctx: its program's context, NULL for a kernel consumer
 * @describe: see struct srnic_event_source
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
 * @src: nobody adds to it; what was not read is gone
 *
 * Any context.
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
 * If the program has not opened a queue, the event is lost. Any context.
 */
void srnic_event_source_add(struct srnic_event_source *src, enum srnic_event event)
{
	struct srnic_event_queue *queue;
	unsigned long flags;

	if (!src->uctx)
		return;
	spin_lock_irqsave(&event_lock, flags);
	queue = to_srnic_ucontext(src->uctx)->events;
	if (queue) {
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

/**
 * srnic_event_queue_end - the context goes, or has nobody any more who reads
 * @queue: of srnic_event_queue_open()
 * @uctx: its context
 *
 * Who reads nevertheless is told of the end. Process context.
 */
void srnic_event_queue_end(struct srnic_event_queue *queue, struct ib_ucontext *uctx)
{
	struct srnic_event_source *src, *next;

	spin_lock_irq(&event_lock);
	to_srnic_ucontext(uctx)->events = NULL;
	list_for_each_entry_safe(src, next, &queue->sources, link) {
		src->pending = 0;
		list_del_init(&src->link);
	}
	queue->ended = true;
	wake_up(&queue->wait);
	spin_unlock_irq(&event_lock);
}

/**
 * srnic_event_queue_has - whether srnic_event_queue_take() has an answer
 * @queue: open or ended
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
 * What there is to say of a QP is said as it is at the moment. Process context.
 *
 * Return: 0; -EAGAIN: there is none; -EIO: the end was told, and nothing will come.
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
