// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Streams that linger. The owner of a stream that ends has given its last words
 * to TCP: a Terminate, a Reply that rejects, data that is completed. A socket
 * that is closed at that moment answers what the peer still sends with a RST, and
 * the RST overtakes those words (RFC 5040 6.2.1, X-7). So somebody has to stay:
 * to hand over what TCP had no room for, to send FIN behind it, and to read and
 * drop what comes until the peer closes its side.
 *
 * That is nobody's wait. The owner hands its stream to srnic_linger() and goes on
 * at once; from then on the stream has a life of its own, run by a work and
 * bounded by a time. The work is part of the stream, so a stream can always linger.
 */

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "engine/linger.h"
#include "engine/stream.h"
#include "queue/trace.h"
#include "srnic.h"

/* Streams that linger at a time; the oldest gives way to a new one */
#define LINGER_MAX	1024

static struct workqueue_struct *linger_wq;
static DEFINE_SPINLOCK(linger_lock);
/* All of them, oldest first; linger_lock */
static LIST_HEAD(lingering);
static unsigned int num_lingering;
static DECLARE_WAIT_QUEUE_HEAD(linger_idle);

static void linger_kick(void *priv)
{
	struct srnic_stream *stream = priv;

	mod_delayed_work(linger_wq, &stream->linger, 0);
}

static const struct srnic_stream_ops linger_ops = {
	.data_ready = linger_kick,
	.write_space = linger_kick,
	.state_change = linger_kick,
};

/* linger_lock is held: the stream's work ends it the next time it runs */
static void linger_hurry(struct srnic_stream *stream)
{
	stream->hurry = true;
	linger_kick(stream);
}

/*
 * Hand over what TCP had no room for, then the FIN: behind it nothing is sent.
 *
 * Return: 0 if all is said, -EAGAIN if TCP has no room, another errno if the
 * connection is gone.
 */
static int linger_say(struct srnic_stream *stream)
{
	int n;

	while (stream->words && stream->words->len) {
		n = srnic_stream_send(stream, stream->words, false);
		if (n <= 0)
			return n ?: -EPIPE;
	}
	if (!stream->fin) {
		stream->fin = true;
		srnic_stream_shutdown(stream);
	}
	return 0;
}

/* @err: from linger_say(). Both sides are closed, or the connection is gone. */
static bool linger_over(enum srnic_stream_state state, int err)
{
	if (state == SRNIC_STREAM_UP || state == SRNIC_STREAM_FIN)
		return err ? err != -EAGAIN : state == SRNIC_STREAM_FIN;
	return true;
}

static void linger_note(const struct srnic_stream *stream, const char *end)
{
	struct sockaddr_storage local, remote;

	if (!trace_srnic_linger_enabled())
		return;
	srnic_stream_names(stream, &local, &remote);
	trace_srnic_linger(&local, &remote, end);
}

/*
 * The time is over. What TCP has taken it goes on to deliver by itself, within
 * its own limits for sockets without an owner. A peer that has acknowledged
 * everything and still holds its side open is reset, as is one that let no room
 * for the last of the words, or has acknowledged nothing all the time.
 */
static void linger_overdue(struct srnic_stream *stream)
{
	bool goes_on = stream->fin && srnic_stream_unacked(stream) &&
		       srnic_stream_acked(stream) != stream->acked;

	linger_note(stream, goes_on ? "left to TCP" : "reset");
	if (!goes_on)
		srnic_stream_abort(stream);
}

/* The end of the stream, by its work: nobody else can reach it any more */
static void linger_end(struct srnic_stream *stream)
{
	/* no callback queues the work after this, so that it stays cancelled */
	srnic_stream_unhook(stream);
	spin_lock(&linger_lock);
	list_del(&stream->lingering);
	cancel_delayed_work(&stream->linger);
	if (!--num_lingering)
		wake_up(&linger_idle);
	spin_unlock(&linger_lock);
	srnic_batch_free(stream->words);
	srnic_stream_free(stream);
}

static void linger_run(struct work_struct *work)
{
	struct srnic_stream *stream = container_of(to_delayed_work(work),
						   struct srnic_stream, linger);
	unsigned int noio = memalloc_noio_save();
	enum srnic_stream_state state;
	long left;
	bool more;
	int err;

	err = linger_say(stream);
	/* before the read, as in the rx kthread */
	state = srnic_stream_state(stream);
	more = srnic_stream_drop(stream);
	left = stream->deadline - jiffies;
	if (!more && linger_over(state, err)) {
		linger_note(stream, "closed");
		linger_end(stream);
	} else if (left <= 0 || READ_ONCE(stream->hurry)) {
		linger_overdue(stream);
		linger_end(stream);
	} else if (more) {
		mod_delayed_work(linger_wq, &stream->linger, 0);
	} else {
		/* a callback may have queued it meanwhile, for now: that is sooner */
		queue_delayed_work(linger_wq, &stream->linger, left);
	}
	memalloc_noio_restore(noio);
}

/**
 * srnic_linger - let a stream end by itself
 * @dev: the device it belonged to; for its counter, not used later
 * @stream: connected or not, hooked or not, used by nobody; gone for the caller
 * @words: what is still to be handed to TCP; the batch is taken over. NULL: nothing
 * @bound: jiffies that the peer has to close its side
 *
 * The peer gets what TCP has, @words, and FIN, as long as it takes them; what it
 * sends is dropped. When it has closed, or at @bound, the socket is released.
 * May sleep, but does not wait for the peer.
 */
void srnic_linger(struct srnic_device *dev, struct srnic_stream *stream,
		  struct srnic_batch *words, unsigned long bound)
{
	struct srnic_stream *oldest;

	srnic_count(dev, SRNIC_CNT_CLOSE_LINGERED);
	stream->words = words;
	stream->deadline = jiffies + bound;
	stream->acked = srnic_stream_acked(stream);
	INIT_DELAYED_WORK(&stream->linger, linger_run);
	/* a callback may queue the work at once; its end waits for the lock */
	spin_lock(&linger_lock);
	srnic_stream_hook(stream, &linger_ops, stream);
	list_add_tail(&stream->lingering, &lingering);
	oldest = list_first_entry(&lingering, struct srnic_stream, lingering);
	if (++num_lingering > LINGER_MAX)
		linger_hurry(oldest);
	linger_kick(stream);
	spin_unlock(&linger_lock);
}

/**
 * srnic_linger_init - at load of the module
 *
 * Return: 0 or -ENOMEM.
 */
int srnic_linger_init(void)
{
	linger_wq = alloc_workqueue("srnic_linger", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return linger_wq ? 0 : -ENOMEM;
}

/**
 * srnic_linger_exit - at unload of the module
 *
 * Nobody hands over streams any more. Those that linger end now.
 */
void srnic_linger_exit(void)
{
	struct srnic_stream *stream;

	spin_lock(&linger_lock);
	list_for_each_entry(stream, &lingering, lingering)
		linger_hurry(stream);
	spin_unlock(&linger_lock);
	wait_event(linger_idle, !READ_ONCE(num_lingering));
	destroy_workqueue(linger_wq);
}
