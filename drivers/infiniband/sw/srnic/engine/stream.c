// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The LLP: one in-kernel TCP socket, its callbacks, sending, reading, closing. */

#include <linux/delay.h>
#include <linux/file.h>
#include <linux/sched/signal.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/inet_common.h>
#include <net/tcp.h>
#include "compat.h"
#include "engine/stream.h"
#include "queue/holder.h"
#include "srnic.h"

/**
 * srnic_stream_new - wrap a socket
 * @sock: owned by the stream from now on if this succeeds
 *
 * The stream's user is that of the calling task, see srnic_user_key().
 *
 * Return: the stream, not hooked, or NULL. Context: process, may sleep.
 */
struct srnic_stream *srnic_stream_new(struct socket *sock)
{
	struct srnic_stream *stream = kzalloc(sizeof(*stream), GFP_KERNEL_ACCOUNT);

	if (!stream)
		return NULL;
	stream->sock = sock;
	stream->user_key = srnic_user_key();
	return stream;
}

/* sk_callback_lock is held. The low bits of sk_user_data are flags. */
static struct srnic_stream *stream_of(const struct sock *sk)
{
	return (void *)((uintptr_t)sk->sk_user_data & SK_USER_DATA_PTRMASK);
}

/*
 * TCP has the socket of a connection locked, but not that of a listener. received() may send,
 * and TCP may call back meanwhile, so sk_callback_lock is dropped before the call of received(),
 * and srnic_stream_unhook() waits for RCU.
 */
static void stream_data_ready(struct sock *sk)
{
	void (*received)(void *priv) = NULL;
	struct srnic_stream *stream;
	void *priv = NULL;

	local_bh_disable();
	rcu_read_lock();
	read_lock(&sk->sk_callback_lock);
	stream = stream_of(sk);
	if (stream) {
		received = stream->ops->received;
		priv = stream->priv;
	}
	if (stream && stream->ops->data_ready)
		stream->ops->data_ready(priv);
	read_unlock(&sk->sk_callback_lock);
	if (received)
		received(priv);
	rcu_read_unlock();
	local_bh_enable();
}

/**
 * srnic_stream_rebound - a program has bound its socket to another interface, or to none
 * @sk: locked since before that; its route is still the old one
 *
 * A call that was under way at the hand-over can do this; on Linux 6.1 a later one, too. Context:
 * process.
 */
void srnic_stream_rebound(struct sock *sk)
{
	read_lock_bh(&sk->sk_callback_lock);
	/* a socket that was given back, or not taken yet, can have another user of sk_user_data */
	if (sk->sk_data_ready == stream_data_ready && stream_of(sk) && stream_of(sk)->stays)
		WRITE_ONCE(sk->sk_bound_dev_if, stream_of(sk)->stays);
	read_unlock_bh(&sk->sk_callback_lock);
}

static void stream_write_space(struct sock *sk)
{
	struct srnic_stream *stream;

	read_lock_bh(&sk->sk_callback_lock);
	stream = stream_of(sk);
	if (stream && sk_stream_is_writeable(sk)) {
		if (sk->sk_socket)
			clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		if (stream->ops->write_space)
			stream->ops->write_space(stream->priv);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

static void stream_state_change(struct sock *sk)
{
	struct srnic_stream *stream;

	read_lock_bh(&sk->sk_callback_lock);
	stream = stream_of(sk);
	if (stream && stream->ops->state_change)
		stream->ops->state_change(stream->priv);
	read_unlock_bh(&sk->sk_callback_lock);
}

/**
 * srnic_stream_hook - direct a socket's callbacks to @ops
 * @stream: hooked or not
 * @ops: from now on
 * @priv: their argument
 *
 * A change from one owner to the next is atomic: each callback goes to one of
 * them. What arrived before is not reported again, so the new owner looks once by
 * itself. Context: process or softirq.
 *
 * Return: false if the callbacks have another user, which a socket of our own never
 * has; nothing has changed then.
 */
bool srnic_stream_hook(struct srnic_stream *stream,
		       const struct srnic_stream_ops *ops, void *priv)
{
	struct sock *sk = stream->sock->sk;
	bool other;

	write_lock_bh(&sk->sk_callback_lock);
	other = stream_of(sk) && stream_of(sk) != stream;
	if (!other) {
		stream->ops = ops;
		stream->priv = priv;
	}
	if (!stream_of(sk)) {
		stream->data_ready = sk->sk_data_ready;
		stream->write_space = sk->sk_write_space;
		stream->state_change = sk->sk_state_change;
		stream->error_report = sk->sk_error_report;
		/* NOCOPY: an accepted socket gets no stream, so its copied callbacks do nothing */
		__rcu_assign_sk_user_data_with_flags(sk, stream, SK_USER_DATA_NOCOPY);
		sk->sk_data_ready = stream_data_ready;
		sk->sk_write_space = stream_write_space;
		sk->sk_state_change = stream_state_change;
		sk->sk_error_report = stream_state_change;
	}
	write_unlock_bh(&sk->sk_callback_lock);
	return !other;
}

/**
 * srnic_stream_disinherit - restore TCP's own callbacks of an accepted socket
 * @listener: hooked
 * @sock: accepted from it, not hooked itself
 *
 * The kernel gave @sock copies of its listener's callbacks, which are functions of this module,
 * and @sock may outlive the module. Context: process.
 */
void srnic_stream_disinherit(const struct srnic_stream *listener, struct socket *sock)
{
	struct sock *sk = sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_data_ready = listener->data_ready;
	sk->sk_write_space = listener->write_space;
	sk->sk_state_change = listener->state_change;
	sk->sk_error_report = listener->error_report;
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * srnic_stream_unhook_owned - no callback from now on
 * @stream: hooked or not; the caller has locked its socket
 *
 * When this returns no callback is running. Context: process.
 */
void srnic_stream_unhook_owned(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;

	write_lock_bh(&sk->sk_callback_lock);
	if (stream_of(sk) == stream) {
		rcu_assign_sk_user_data(sk, NULL);
		sk->sk_data_ready = stream->data_ready;
		sk->sk_write_space = stream->write_space;
		sk->sk_state_change = stream->state_change;
		sk->sk_error_report = stream->error_report;
	}
	write_unlock_bh(&sk->sk_callback_lock);
}

/**
 * srnic_stream_unhook - no callback from now on
 * @stream: hooked or not
 *
 * When this returns no callback is running. Context: process, may sleep, but does not wait for
 * the socket lock.
 */
void srnic_stream_unhook(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;
	bool owned;

	srnic_stream_unhook_owned(stream);
	/* received() runs under slock, or in the task that owns the socket */
	spin_lock_bh(&sk->sk_lock.slock);
	owned = sock_owned_by_user_nocheck(sk);
	spin_unlock_bh(&sk->sk_lock.slock);
	if (owned)
		synchronize_rcu();
}

/* Probes without an answer after which TCP takes the peer for lost */
#define KEEPALIVE_PROBES	5

/**
 * srnic_stream_keepalive - let TCP notice a peer that has vanished
 * @stream: connected
 * @seconds: idle time before TCP probes the peer, 0: it does not; if there is no
 *	     answer for as long again the stream is LOST
 *
 * While data is in flight TCP's retransmissions find a lost peer, and no probe does. Context:
 * process, may sleep.
 */
void srnic_stream_keepalive(struct srnic_stream *stream, unsigned int seconds)
{
	struct sock *sk = stream->sock->sk;
	struct tcp_sock *tp = tcp_sk(sk);

	if (!seconds || !srnic_stream_lock(stream))
		return;
	WRITE_ONCE(tp->keepalive_probes, KEEPALIVE_PROBES);
	WRITE_ONCE(tp->keepalive_intvl, max(seconds / KEEPALIVE_PROBES, 1U) * HZ);
	WRITE_ONCE(tp->keepalive_time, seconds * HZ);
	/* keepalive() sets a timer that runs already only if the flag was clear */
	sock_reset_flag(sk, SOCK_KEEPOPEN);
	sk->sk_prot->keepalive(sk, true);
	sock_set_flag(sk, SOCK_KEEPOPEN);
	srnic_stream_unlock(stream);
}

/**
 * srnic_batch_new - make an empty batch
 *
 * Return: the batch, or NULL. Context: process, may sleep.
 */
struct srnic_batch *srnic_batch_new(void)
{
	return kzalloc(sizeof(struct srnic_batch), GFP_KERNEL_ACCOUNT);
}

/**
 * srnic_batch_add - add bytes behind those that are there
 * @batch: srnic_batch_is_full() says no
 * @page: holds the bytes, which do not change any more; the batch takes its own reference
 * @off: where the bytes begin in @page, which may be a compound one
 * @len: how many
 * Context: any.
 */
void srnic_batch_add(struct srnic_batch *batch, struct page *page, u32 off, u32 len)
{
	struct bio_vec *last = batch->piece + batch->end - 1;

	batch->len += len;
	if (batch->end > batch->begin && last->bv_page == page &&
	    last->bv_offset + last->bv_len == off) {
		last->bv_len += len;
		return;
	}
	get_page(page);
	last = batch->piece + batch->end++;
	last->bv_page = page;
	last->bv_offset = off;
	last->bv_len = len;
}

/* TCP has taken @len bytes */
static void batch_advance(struct srnic_batch *batch, u32 len)
{
	batch->len -= len;
	while (len) {
		struct bio_vec *first = batch->piece + batch->begin;
		u32 n = min(len, first->bv_len);

		first->bv_offset += n;
		first->bv_len -= n;
		len -= n;
		if (first->bv_len)
			break;
		put_page(first->bv_page);
		batch->begin++;
	}
	if (!batch->len) {
		batch->begin = 0;
		batch->end = 0;
	}
}

/**
 * srnic_batch_free - forget a batch
 * @batch: may be NULL, or hold bytes that were not sent
 * Context: any.
 */
void srnic_batch_free(struct srnic_batch *batch)
{
	if (!batch)
		return;
	batch_advance(batch, batch->len);
	kfree(batch);
}

static int batch_sent(struct srnic_batch *batch, int n)
{
	if (n > 0)
		batch_advance(batch, n);
	return n;
}

/*
 * TCP gets the pages themselves, where it can (MSG_SPLICE_PAGES). Nobody changes what they hold of
 * the batch any more, so nothing below TCP has to copy it before it computes a checksum
 * (MSG_NO_SHARED_FRAGS).
 */
static void batch_msg(struct srnic_batch *batch, bool cut, struct msghdr *msg)
{
	*msg = (struct msghdr) {
		.msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_SPLICE_PAGES | MSG_NO_SHARED_FRAGS |
			     (cut ? MSG_EOR : 0),
	};
	iov_iter_bvec(&msg->msg_iter, WRITE, batch->piece + batch->begin,
		      batch->end - batch->begin, batch->len);
}

/**
 * srnic_stream_send_owned - hand a batch to TCP, without waiting for room
 * @stream: connected; the caller has locked its socket
 * @batch: not empty; shorter by what TCP took
 * @cut: the bytes that follow the batch begin a TCP segment
 *
 * Context: process, may sleep for memory.
 *
 * Return: bytes taken, at least 1; -EAGAIN if there is no room (write_space
 * tells when there is); another errno if the connection is gone.
 */
int srnic_stream_send_owned(struct srnic_stream *stream, struct srnic_batch *batch, bool cut)
{
	struct msghdr msg;

	batch_msg(batch, cut, &msg);
	return batch_sent(batch, tcp_sendmsg_locked(stream->sock->sk, &msg, batch->len));
}

/**
 * srnic_stream_send - srnic_stream_send_owned(), with the lock around it
 * @stream: connected
 * @batch: as for srnic_stream_send_owned()
 * @cut: as for srnic_stream_send_owned()
 *
 * Context: process, may sleep for memory and as srnic_stream_lock(), not for room.
 *
 * Return: as srnic_stream_send_owned(); -ETIMEDOUT if the socket cannot be locked.
 */
int srnic_stream_send(struct srnic_stream *stream, struct srnic_batch *batch, bool cut)
{
	int n;

	if (!srnic_stream_lock(stream))
		return -ETIMEDOUT;
	n = srnic_stream_send_owned(stream, batch, cut);
	srnic_stream_unlock(stream);
	return n;
}

/**
 * srnic_stream_send_locked - srnic_stream_send_owned() with softirqs off
 * @stream: connected; its socket is locked, and srnic_stream_is_owned() is false
 * @batch: as for srnic_stream_send_owned()
 * @cut: as for srnic_stream_send_owned()
 *
 * Context: softirq, or process with softirqs off. No task owns the socket: if one did, TCP could
 * release the socket during the call, and process its backlog.
 *
 * Return: as srnic_stream_send_owned(); also -EAGAIN for lack of memory. If TCP then has nothing
 * in flight, whose acknowledgment would free room, TCP calls write_space() at once.
 */
int srnic_stream_send_locked(struct srnic_stream *stream, struct srnic_batch *batch, bool cut)
{
	struct sock *sk = stream->sock->sk;
	bool task_frag = sk_get_task_frag(sk);
	gfp_t usual = sk->sk_allocation;
	struct msghdr msg;
	int n;

	lockdep_assert_held(&sk->sk_lock.slock);
	lockdep_assert_not_held(&sk->sk_callback_lock);
	batch_msg(batch, cut, &msg);
	/* a device without scatter-gather has TCP copy; the task may be filling its own fragment */
	sk_set_task_frag(sk, false);
	sk->sk_allocation = GFP_ATOMIC | __GFP_NOWARN;
	n = tcp_sendmsg_locked(sk, &msg, batch->len);
	sk->sk_allocation = usual;
	sk_set_task_frag(sk, task_frag);
	return batch_sent(batch, n);
}

/**
 * srnic_stream_send_all - hand all octets to TCP, waiting for room
 * @dev: the device that the connection is for
 * @stream: connected
 * @data: octets
 * @len: how many; a start-up frame, not bulk data
 * @timeout_ms: bound
 *
 * Context: process, may sleep; ends early if the caller is killed or the device leaves.
 *
 * Return: 0; -ETIMEDOUT; -EINTR if the caller is killed; -ENODEV if the device is leaving;
 * another errno if the connection is gone.
 */
int srnic_stream_send_all(const struct srnic_device *dev, struct srnic_stream *stream,
			  void *data, size_t len, unsigned int timeout_ms)
{
	unsigned long end = jiffies + msecs_to_jiffies(timeout_ms);
	int n;

	while (len) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		struct kvec vec = { .iov_base = data, .iov_len = len };

		iov_iter_kvec(&msg.msg_iter, WRITE, &vec, 1, len);
		if (!srnic_stream_lock(stream))
			return -ETIMEDOUT;
		n = tcp_sendmsg_locked(stream->sock->sk, &msg, len);
		srnic_stream_unlock(stream);
		if (n > 0) {
			data += n;
			len -= n;
			continue;
		}
		if (n != -EAGAIN)
			return n ?: -EPIPE;
		if (fatal_signal_pending(current))
			return -EINTR;
		if (srnic_device_phase(dev) == SRNIC_DEV_LEAVING)
			return -ENODEV;
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		/* rare: an empty send buffer has room for a start-up frame */
		usleep_range(1000, 2000);
	}
	return 0;
}

/**
 * srnic_stream_recv - take what is there, without waiting
 * @stream: connected
 * @data: room
 * @len: at most this many octets
 *
 * Context: process, may sleep.
 * Return: octets; 0 at the end of the stream; -EAGAIN; another errno.
 */
int srnic_stream_recv(struct srnic_stream *stream, void *data, size_t len)
{
	struct msghdr msg = { };
	struct kvec vec = { .iov_base = data, .iov_len = len };

	return kernel_recvmsg(stream->sock, &msg, &vec, 1, len, MSG_DONTWAIT);
}

/**
 * srnic_stream_trylock - lock the socket, if no task has it locked
 * @stream: any state
 *
 * Context: process.
 * Return: whether it is locked, as by srnic_stream_lock().
 */
bool srnic_stream_trylock(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;
	bool owned;

	/* as lock_sock(), which waits without an end */
	spin_lock_bh(&sk->sk_lock.slock);
	owned = sock_owned_by_user_nocheck(sk);
	if (!owned) {
		sk->sk_lock.owned = 1;
		WRITE_ONCE(stream->owned, true);
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	if (owned)
		return false;
	mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return true;
}

/* The socket's spinlock is held. Return: whether @fn was called, since no task has the socket */
static bool call_unowned(struct sock *sk, void (*fn)(void *arg), void *arg)
{
	if (sock_owned_by_user_nocheck(sk))
		return false;
	fn(arg);
	return true;
}

/**
 * srnic_stream_call - call a function as TCP calls received(), if no task has the socket locked
 * @stream: any state
 * @fn: called at once, with the socket locked and softirqs off
 * @arg: its argument
 *
 * Context: process; does not wait for a task.
 * Return: whether @fn was called.
 */
bool srnic_stream_call(struct srnic_stream *stream, void (*fn)(void *arg), void *arg)
{
	struct sock *sk = stream->sock->sk;
	bool called;

	spin_lock_bh(&sk->sk_lock.slock);
	called = call_unowned(sk, fn, arg);
	spin_unlock_bh(&sk->sk_lock.slock);
	return called;
}

/**
 * srnic_stream_try_call - srnic_stream_call() that does not wait for another CPU, either
 * @stream: any state
 * @fn: called at once, with the socket locked
 * @arg: its argument
 *
 * Context: softirqs are off, interrupts are on. The caller may have locks that are taken inside of
 * the socket's elsewhere, or that of the socket itself.
 * Return: whether @fn was called.
 */
bool srnic_stream_try_call(struct srnic_stream *stream, void (*fn)(void *arg), void *arg)
{
	struct sock *sk = stream->sock->sk;
	bool called;

	if (!spin_trylock(&sk->sk_lock.slock))
		return false;
	called = call_unowned(sk, fn, arg);
	spin_unlock(&sk->sk_lock.slock);
	return called;
}

/* How long a stream waits for its socket, if the program has the socket locked */
#define LOCK_TIME	(2 * HZ)

/**
 * srnic_stream_lock - lock the socket
 * @stream: any state
 *
 * A thread of a program that sleeps in a call on the program's own socket (its data is memory
 * that FUSE supplies, say) keeps the lock for as long as the program likes. So a caller waits for
 * the lock LOCK_TIME at most. After that the stream is SRNIC_STREAM_LOST, and no caller waits.
 *
 * Context: process, may sleep. Only the holder of the lock, and TCP's callbacks, may look at
 * what was received.
 *
 * Return: whether it is locked; always true if the socket is our own.
 */
bool srnic_stream_lock(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;
	unsigned int turns;

	might_sleep();
	if (!stream->file) {
		lock_sock(sk);
		return true;
	}
	while (!READ_ONCE(stream->lost)) {
		turns = READ_ONCE(stream->turns);
		if (wait_event_idle_timeout(sk->sk_lock.wq, srnic_stream_trylock(stream),
					    LOCK_TIME))
			return true;
		/* try again if one of our tasks has or had the lock: it may wait for memory */
		if (!READ_ONCE(stream->owned) && turns == READ_ONCE(stream->turns))
			WRITE_ONCE(stream->lost, true);
	}
	return false;
}

/**
 * srnic_stream_unlock - the end of srnic_stream_lock()
 * @stream: locked
 *
 * TCP now processes what came meanwhile, and calls back. Context: process, may sleep.
 */
void srnic_stream_unlock(struct srnic_stream *stream)
{
	WRITE_ONCE(stream->turns, stream->turns + 1);
	WRITE_ONCE(stream->owned, false);
	release_sock(stream->sock->sk);
}

/**
 * srnic_stream_is_owned - has a task locked the socket?
 * @stream: its socket is locked
 *
 * Context: any, with the socket locked.
 * Return: true if a task has, also while it processes the backlog; false if TCP has, in softirq.
 */
bool srnic_stream_is_owned(const struct srnic_stream *stream)
{
	return sock_owned_by_user(stream->sock->sk);
}

/**
 * srnic_stream_avail - count the bytes that were received and not taken
 * @stream: its socket is locked
 * Context: any, with the socket locked. Return: their number.
 */
u32 srnic_stream_avail(const struct srnic_stream *stream)
{
	return tcp_inq(stream->sock->sk);
}

/**
 * srnic_stream_first - a cursor at the first byte that was received and not taken
 * @stream: its socket is locked
 *
 * Context: any, with the socket locked.
 * Return: the cursor, good until bytes are taken or the socket is unlocked.
 */
struct srnic_cursor srnic_stream_first(const struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;
	struct srnic_cursor cur = { .queue = &sk->sk_receive_queue };

	cur.skb = tcp_recv_skb(sk, tcp_sk(sk)->copied_seq, &cur.off);
	return cur;
}

/**
 * srnic_stream_take - give bytes back to TCP, which makes room for more
 * @stream: its socket is locked
 * @len: of those that srnic_stream_avail() counts, from the first on
 *
 * Context: process or softirq.
 */
void srnic_stream_take(struct srnic_stream *stream, u32 len)
{
	tcp_read_done(stream->sock->sk, len);
}

/**
 * srnic_stream_drop - take what there is, and forget it
 * @stream: connected, or closed with data left; its socket is locked
 *
 * Context: process. Return: whether there was anything.
 */
bool srnic_stream_drop(struct srnic_stream *stream)
{
	u32 avail = srnic_stream_avail(stream);

	if (avail)
		srnic_stream_take(stream, avail);
	return avail;
}

/**
 * srnic_stream_is_stuck - may TCP receive no more until bytes are taken?
 * @stream: its socket is locked
 * @need: bytes that are waited for, more than srnic_stream_avail()
 *
 * Either the window has no room for the missing bytes, or memory is short: TCP then receives
 * into an empty queue only. Context: any, with the socket locked.
 */
bool srnic_stream_is_stuck(const struct srnic_stream *stream, u32 need)
{
	const struct sock *sk = stream->sock->sk;

	return tcp_rmem_pressure(sk) ||
	       need - srnic_stream_avail(stream) > tcp_receive_window(tcp_sk(sk));
}

/**
 * srnic_stream_state - is the peer still there?
 * @stream: a stream
 *
 * A caller that reads asks before the read: if the read then finds nothing, all that preceded the
 * FIN was read. Context: any. Return: SRNIC_STREAM_UP, or how the stream has ended.
 */
enum srnic_stream_state srnic_stream_state(const struct srnic_stream *stream)
{
	const struct sock *sk = stream->sock->sk;
	u8 shutdown = READ_ONCE(sk->sk_shutdown);
	int err;

	if (READ_ONCE(stream->lost))
		return SRNIC_STREAM_LOST;
	smp_rmb();	/* TCP sets the error first: a RST is not taken for a FIN */
	err = READ_ONCE(sk->sk_err);
	if (err == ECONNRESET || err == EPIPE || err == ECONNABORTED)
		return SRNIC_STREAM_RESET;
	if (err)
		return SRNIC_STREAM_LOST;
	/* MPA has no urgent data, and tcp_inq() counts no byte behind it */
	if (READ_ONCE(tcp_sk(sk)->urg_data))
		return SRNIC_STREAM_LOST;
	if (shutdown & RCV_SHUTDOWN)
		return SRNIC_STREAM_FIN;
	if (READ_ONCE(sk->sk_state) == TCP_CLOSE)
		return SRNIC_STREAM_RESET;
	return SRNIC_STREAM_UP;
}

/**
 * srnic_stream_emss - how much fits a TCP segment now?
 * @stream: connected
 *
 * Changes with the path MTU: read it again for each batch of FPDUs. Context: any. Return: octets.
 */
u32 srnic_stream_emss(const struct srnic_stream *stream)
{
	return READ_ONCE(tcp_sk(stream->sock->sk)->mss_cache);
}

/**
 * srnic_stream_window - the most that the peer's receive buffer ever had room for
 * @stream: connected
 * Context: any. Return: octets.
 */
u32 srnic_stream_window(const struct srnic_stream *stream)
{
	return READ_ONCE(tcp_sk(stream->sock->sk)->max_window);
}

/**
 * srnic_stream_unacked - does TCP still have bytes that the peer has not acknowledged?
 * @stream: any state
 *
 * A FIN counts as a byte. Context: any.
 */
bool srnic_stream_unacked(const struct srnic_stream *stream)
{
	const struct tcp_sock *tp = tcp_sk(stream->sock->sk);

	return READ_ONCE(tp->snd_una) != READ_ONCE(tp->write_seq);
}

/**
 * srnic_stream_acked - how far the peer has acknowledged, to be compared with a later value
 * @stream: any state
 *
 * Context: any. Return: a sequence number.
 */
u32 srnic_stream_acked(const struct srnic_stream *stream)
{
	return READ_ONCE(tcp_sk(stream->sock->sk)->snd_una);
}

/**
 * srnic_stream_names - both addresses, for a trace
 * @stream: was connected once
 * @local: set, all zero if not known
 * @remote: as @local
 *
 * Context: any.
 */
void srnic_stream_names(const struct srnic_stream *stream, struct sockaddr_storage *local,
			struct sockaddr_storage *remote)
{
	const struct sock *sk = stream->sock->sk;
	const struct inet_sock *inet = inet_sk(sk);

	memset(local, 0, sizeof(*local));
	memset(remote, 0, sizeof(*remote));
	/* getname() would wait for the socket lock */
	if (sk->sk_family == AF_INET) {
		*(struct sockaddr_in *)local = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = inet->inet_sport,
			.sin_addr.s_addr = inet->inet_rcv_saddr,
		};
		*(struct sockaddr_in *)remote = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = inet->inet_dport,
			.sin_addr.s_addr = inet->inet_daddr,
		};
#if IS_ENABLED(CONFIG_IPV6)
	} else {
		*(struct sockaddr_in6 *)local = (struct sockaddr_in6){
			.sin6_family = AF_INET6,
			.sin6_port = inet->inet_sport,
			.sin6_addr = sk->sk_v6_rcv_saddr,
		};
		*(struct sockaddr_in6 *)remote = (struct sockaddr_in6){
			.sin6_family = AF_INET6,
			.sin6_port = inet->inet_dport,
			.sin6_addr = sk->sk_v6_daddr,
		};
#endif
	}
}

/**
 * srnic_stream_taken - how far has TCP taken what is to be sent?
 * @stream: connected
 *
 * The peer can have received nothing from that number on. The number is stable for the owner of
 * tx, and while the socket is locked. Context: any. Return: the sequence number behind what TCP
 * has taken.
 */
u32 srnic_stream_taken(const struct srnic_stream *stream)
{
	return READ_ONCE(tcp_sk(stream->sock->sk)->write_seq);
}

/**
 * srnic_stream_abort_owned - send RST and forget what was not sent (LLP Reset)
 * @stream: any state; the caller has locked its socket
 *
 * Context: process. Callbacks may come during the call.
 */
void srnic_stream_abort_owned(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;

	if (sk->sk_state == TCP_CLOSE)
		return;
#ifdef SRNIC_HAVE_SK_DISCONNECTS
	/* as connect() to AF_UNSPEC does: a thread of the program that waits returns */
	sk->sk_disconnects++;
#endif
	/* tcp_abort() would lock the socket, and sk_prot's may be takeover_disconnect() */
	tcp_prot.disconnect(sk, 0);
}

/**
 * srnic_stream_abort - srnic_stream_abort_owned(), with the lock around it
 * @stream: any state; its socket is our own
 *
 * Context: process, may sleep. Callbacks may come during the call.
 */
void srnic_stream_abort(struct srnic_stream *stream)
{
	srnic_stream_lock(stream);
	srnic_stream_abort_owned(stream);
	srnic_stream_unlock(stream);
}

/**
 * srnic_stream_shutdown_owned - send FIN after what was sent; receiving goes on
 * @stream: any state; where no FIN is due nothing is done. The caller has locked its socket
 *
 * If there is no memory for a FIN, TCP sends a RST. Context: process.
 */
void srnic_stream_shutdown_owned(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;
	u32 seq = tcp_sk(sk)->write_seq;

	if (!((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)))
		return;
	/* as inet_shutdown(), which locks the socket */
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | SEND_SHUTDOWN);
	sk->sk_prot->shutdown(sk, SEND_SHUTDOWN);
	sk->sk_state_change(sk);
	/*
	 * A FIN takes a sequence number. If TCP cannot allocate the FIN it goes on as if
	 * the FIN were sent, without a timer: the peer never gets it, and the socket would
	 * stay for ever after its release.
	 */
	if (tcp_sk(sk)->write_seq == seq)
		srnic_stream_abort_owned(stream);
}

/**
 * srnic_stream_shutdown - srnic_stream_shutdown_owned(), with the lock around it
 * @stream: any state; a stream whose socket cannot be locked is lost
 *
 * Context: process, may sleep.
 */
void srnic_stream_shutdown(struct srnic_stream *stream)
{
	if (!srnic_stream_lock(stream))
		return;
	srnic_stream_shutdown_owned(stream);
	srnic_stream_unlock(stream);
}

/**
 * srnic_stream_put_file - let go of a program's own socket
 * @stream: unhooked; the caller has locked its socket, and does not use it any more
 *
 * The socket stays for as long as the program has it open. The last fput() must not wait for
 * the peer: it may run in a work that releases the files of others, too. A thread that sets
 * SO_LINGER after this has a reference to the file, and puts it later. Context: process.
 */
void srnic_stream_put_file(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;

	sock_hold(sk);
	sock_reset_flag(sk, SOCK_LINGER);
	/* wakes a thread that has waited in a call since before the hand-over */
	sk->sk_state_change(sk);
	fput(stream->file);
	release_sock(sk);
	sock_put(sk);
	kfree(stream);
}

/**
 * srnic_stream_free - close the socket, orderly if it was not aborted
 * @stream: unhooked, or NULL; its socket is our own
 *
 * Context: process, may sleep.
 */
void srnic_stream_free(struct srnic_stream *stream)
{
	if (!stream)
		return;
	/* with unread data TCP sends a RST */
	if (skb_queue_empty_lockless(&stream->sock->sk->sk_receive_queue))
		srnic_stream_shutdown(stream);
	sock_release(stream->sock);
	kfree(stream);
}
