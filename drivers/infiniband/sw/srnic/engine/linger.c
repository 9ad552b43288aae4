// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Streams that linger. When a stream ends, TCP has just got its last data: a
 * Terminate, a Reply that rejects, messages that are completed. If the socket were
 * closed at that moment it would answer what the peer still sends with a RST, which
 * overtakes that data (RFC 5040 6.2.1, X-7). So the stream has to stay: to hand over
 * what TCP had no room for, to send FIN behind it, and to read and drop what comes
 * until the peer closes its side.
 *
 * The owner of the stream does not wait for this. It hands the stream to srnic_linger()
 * and goes on at once; from then on a work runs the stream, for a bounded time, or until a
 * program lets go of the lock of its own socket. The work is part of the stream, so a stream
 * can always linger.
 */

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "engine/linger.h"
#include "engine/stream.h"
#include "queue/holder.h"
#include "queue/trace.h"
#include "srnic.h"

/* Streams of one list that linger at a time; the oldest gives way to a new one */
#define LINGER_MAX	1024
/* Time after which a work tries again whose socket was locked */
#define LINGER_RETRY	(HZ / 4)

/**
 * struct srnic_linger_user - the lingering streams of a user
 * @entry: in linger_users; under linger_lock, as the fields below
 * @key: the user, see srnic_user_key()
 * @no_qp: of connections that no QP has had: any peer can make those, and have them refused, so
 *	   they have a list of their own
 * @streams: oldest first
 * @count: number of @streams, and of those that have left it, to end now
 */
struct srnic_linger_user {
	struct list_head entry;
	u32 key;
	bool no_qp;
	struct list_head streams;
	unsigned int count;
};

static struct workqueue_struct *linger_wq;
static DEFINE_SPINLOCK(linger_lock);
/* linger_lock */
static LIST_HEAD(linger_users);
/* Streams of users without an entry, for lack of memory; linger_lock */
static struct srnic_linger_user linger_rest = {
	.streams = LIST_HEAD_INIT(linger_rest.streams),
};

/* Streams of all users; linger_lock */
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

/*
 * linger_lock is held. The stream's work ends the stream the next time it runs. The stream leaves
 * the list: if its program keeps the socket locked, the next call hurries another stream.
 */
static void linger_hurry(struct srnic_stream *stream)
{
	stream->hurry = true;
	list_del_init(&stream->lingering);
	linger_kick(stream);
}

/*
 * Hand over what TCP had no room for, then the FIN: behind it nothing is sent.
 *
 * Return: 0 if TCP has all of it, -EAGAIN if TCP has no room, another errno if the
 * connection is gone.
 */
static int linger_send(struct srnic_stream *stream)
{
	int n;

	while (stream->unsent && stream->unsent->len) {
		n = srnic_stream_send_owned(stream, stream->unsent, false);
		if (n <= 0)
			return n ?: -EPIPE;
	}
	if (!stream->fin) {
		stream->fin = true;
		srnic_stream_shutdown_owned(stream);
	}
	return 0;
}

/*
 * Are both sides closed, or is the connection gone? @err: from linger_send(). A connection that is
 * to be reset is not over before it has been reset.
 */
static bool linger_over(const struct srnic_stream *stream, enum srnic_stream_state state, int err)
{
	if (state == SRNIC_STREAM_UP || state == SRNIC_STREAM_FIN)
		return err ? err != -EAGAIN : state == SRNIC_STREAM_FIN && !stream->reset;
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
 * The time is over. TCP goes on to deliver what it has taken, within its limits for
 * sockets without an owner. The connection is reset if the peer has acknowledged
 * everything and still holds its side open, if TCP had no room for the last data, or
 * if the peer has acknowledged nothing all the time.
 */
static void linger_overdue(struct srnic_stream *stream)
{
	bool goes_on = stream->fin && srnic_stream_unacked(stream) &&
		       srnic_stream_acked(stream) != stream->acked;

	linger_note(stream, goes_on ? "left to TCP" : "reset");
	if (!goes_on)
		srnic_stream_abort_owned(stream);
}

/* linger_lock is held. Return: the entry for @stream; NULL if there is none yet. */
static struct srnic_linger_user *linger_user_of(const struct srnic_stream *stream)
{
	struct srnic_linger_user *user;

	list_for_each_entry(user, &linger_users, entry)
		if (user->key == stream->user_key && user->no_qp == stream->no_qp)
			return user;
	return NULL;
}

/* linger_lock is held. @fresh: for a user without an entry; NULL if there was no memory. */
static void linger_add(struct srnic_stream *stream, struct srnic_linger_user **fresh)
{
	struct srnic_linger_user *user = linger_user_of(stream);

	if (!user && *fresh) {
		user = *fresh;
		*fresh = NULL;
		user->key = stream->user_key;
		user->no_qp = stream->no_qp;
		INIT_LIST_HEAD(&user->streams);
		list_add(&user->entry, &linger_users);
	}
	user = user ?: &linger_rest;
	stream->linger_user = user;
	list_add_tail(&stream->lingering, &user->streams);
	num_lingering++;
	user->count++;
}

/* The stream is gone */
static void linger_is_over(struct srnic_linger_user *user)
{
	bool last;

	spin_lock(&linger_lock);
	if (!--num_lingering)
		wake_up(&linger_idle);
	last = !--user->count && user != &linger_rest;
	if (last)
		list_del(&user->entry);
	spin_unlock(&linger_lock);
	if (last)
		kfree(user);
}

/* The stream's work, which has the socket locked, unlocks it and frees the stream */
static void linger_end(struct srnic_stream *stream)
{
	struct srnic_linger_user *user = stream->linger_user;

	/* no callback queues the work after this, so that it stays cancelled */
	srnic_stream_unhook_owned(stream);
	spin_lock(&linger_lock);
	cancel_delayed_work(&stream->linger);
	list_del(&stream->lingering);
	spin_unlock(&linger_lock);
	srnic_batch_free(stream->unsent);
	if (stream->file) {
		srnic_stream_put_file(stream);
	} else {
		srnic_stream_unlock(stream);
		srnic_stream_free(stream);
	}
	linger_is_over(user);
}

/* The socket is locked. Return: whether the stream has ended; otherwise its work is queued again */
static bool linger_turn(struct srnic_stream *stream)
{
	enum srnic_stream_state state;
	long left = stream->deadline - jiffies;
	bool overdue = left <= 0 || READ_ONCE(stream->hurry);
	bool more;
	int err;

	/* TCP calls back when all that it had, FIN included, is acknowledged */
	if (stream->reset && (overdue || !srnic_stream_unacked(stream))) {
		linger_note(stream, "reset");
		srnic_stream_abort_owned(stream);
		return true;
	}
	err = linger_send(stream);
	/* read the state before the data, as the rx kthread does */
	state = srnic_stream_state(stream);
	more = srnic_stream_drop(stream);
	if (!more && linger_over(stream, state, err)) {
		linger_note(stream, "closed");
	} else if (overdue) {
		linger_overdue(stream);
	} else {
		if (more)
			linger_kick(stream);
		else	/* does nothing if a callback has queued the work meanwhile, for now */
			queue_delayed_work(linger_wq, &stream->linger, left);
		return false;
	}
	return true;
}

/*
 * Neither LINGER_MAX nor the program's limit of open files bounds the streams whose sockets are
 * @kept locked by their program. So each of them counts as a connected QP of its user. If there is
 * no memory to count it, the next turn tries again.
 */
static void linger_charge(struct srnic_stream *stream, bool kept)
{
	if (!stream->file || stream->charged == kept)
		return;
	if (kept) {
		stream->charged = !srnic_user_charge_stream(stream->user_key);
	} else {
		stream->charged = false;
		srnic_user_uncharge(stream->user_key);
	}
}

/*
 * A program can keep its own socket locked for as long as it likes, by a thread that sleeps in a
 * call on the socket. No worker waits for that.
 */
static void linger_run(struct work_struct *work)
{
	struct srnic_stream *stream = container_of(to_delayed_work(work),
						   struct srnic_stream, linger);
	unsigned int before = srnic_noio_begin(stream->noio);
	bool locked = srnic_stream_trylock(stream);

	linger_charge(stream, !locked);
	if (!locked)
		queue_delayed_work(linger_wq, &stream->linger, LINGER_RETRY);
	else if (linger_turn(stream))
		linger_end(stream);
	else
		srnic_stream_unlock(stream);
	srnic_noio_end(before);
}

/**
 * srnic_linger - let a stream end by itself
 * @stream: connected or not, hooked or not; the caller may not use it any more
 * @unsent: what is still to be handed to TCP; the batch is taken over. NULL: nothing
 * @bound: jiffies that the peer has to close its side
 * @reset: the connection is reset when the peer has acknowledged all, at @bound at the latest;
 *	   at once if @bound is 0
 *
 * The peer gets what TCP has, @unsent, and FIN, as long as it takes them; what it
 * sends is dropped. When it has closed, or at @bound, the socket is released, except while a
 * program keeps it locked. If the user has more than LINGER_MAX such streams of QPs, or of no QP,
 * the oldest of them ends now.
 * Context: process, may sleep, but does not wait for the peer.
 */
void srnic_linger(struct srnic_stream *stream, struct srnic_batch *unsent, unsigned long bound,
		  bool reset)
{
	struct srnic_linger_user *user, *fresh = kzalloc(sizeof(*fresh), GFP_NOIO | __GFP_NOWARN);

	stream->unsent = unsent;
	stream->reset = reset;
	/* the stream may have been lost for its owner; linger.c never waits for its lock */
	stream->lost = false;
	stream->deadline = jiffies + bound;
	stream->acked = srnic_stream_acked(stream);
	INIT_DELAYED_WORK(&stream->linger, linger_run);
	spin_lock(&linger_lock);
	linger_add(stream, &fresh);
	/* a callback may queue the work at once; linger_end() waits for linger_lock */
	srnic_stream_hook(stream, &linger_ops, stream);
	linger_kick(stream);
	user = stream->linger_user;
	if (user->count > LINGER_MAX)
		linger_hurry(list_first_entry(&user->streams, struct srnic_stream, lingering));
	spin_unlock(&linger_lock);
	kfree(fresh);
}

/**
 * srnic_linger_init - at load of the module
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int srnic_linger_init(void)
{
	linger_wq = alloc_workqueue("srnic_linger", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return linger_wq ? 0 : -ENOMEM;
}

/* linger_lock is held */
static void linger_hurry_all(struct srnic_linger_user *user)
{
	struct srnic_stream *stream, *next;

	list_for_each_entry_safe(stream, next, &user->streams, lingering)
		linger_hurry(stream);
}

/**
 * srnic_linger_exit - at unload of the module
 *
 * No stream is handed over any more. Those that linger end now, as soon as no program keeps their
 * socket locked. Context: process, sleeps.
 */
void srnic_linger_exit(void)
{
	struct srnic_linger_user *user;

	spin_lock(&linger_lock);
	linger_hurry_all(&linger_rest);
	list_for_each_entry(user, &linger_users, entry)
		linger_hurry_all(user);
	spin_unlock(&linger_lock);
	wait_event(linger_idle, !READ_ONCE(num_lingering));
	destroy_workqueue(linger_wq);
}
