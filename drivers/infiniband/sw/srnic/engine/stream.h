/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The LLP: one in-kernel TCP socket. While a connection is being set up the
 * connection manager owns the socket; srnic_qp_attach() hands it to the QP,
 * which owns it from then on.
 */
#ifndef SRNIC_STREAM_H
#define SRNIC_STREAM_H

#include <linux/bvec.h>
#include <linux/net.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include "engine/linger.h"

struct file;
struct net;
struct srnic_device;
struct srnic_linger_user;

/**
 * struct srnic_stream_ops - callbacks of a socket to its owner
 * @received: a connection has something to read. The socket is locked, and softirqs are off: it
 *	      may call functions of the stream that do not sleep. Only srnic_stream_unhook() waits
 *	      until a running call has ended
 * @data_ready: there is something to read, or to accept
 * @write_space: there is room to write again
 * @state_change: connected, FIN or error
 *
 * All except @received are called in softirq or process context, with sk_callback_lock held for
 * reading: they must not sleep and must not call back into the stream.
 */
struct srnic_stream_ops {
	void (*received)(void *priv);
	void (*data_ready)(void *priv);
	void (*write_space)(void *priv);
	void (*state_change)(void *priv);
};

/**
 * struct srnic_stream - a socket and the callbacks of its owner
 * @sock: the socket; owned
 * @file: the program's file, which holds the socket; NULL: the socket is our own
 * @user_key: its user, see srnic_user_key(), or that of its QP's claim, see srnic_qp_claim()
 * @no_qp: it lingers, and no QP has had it
 * @stays: index of the interface that a program's socket stays bound to, see srnic_stream_stay();
 *	   0: it need not. Set before it is hooked
 * @noio: memory for it must not wait for I/O while it lingers, see srnic_noio_begin()
 * @ops: under sk_callback_lock
 * @priv: argument of @ops, under sk_callback_lock
 * @data_ready: the socket's own callback
 * @write_space: the socket's own callback
 * @state_change: the socket's own callback
 * @error_report: the socket's own callback
 * @owned: one of our own tasks has a program's socket locked
 * @turns: how often our tasks have unlocked it
 * @lost: a program keeps its socket locked, see srnic_stream_lock()
 * @linger: runs a stream that lingers; this field and all that follow are linger.c's
 * @linger_user: the lingering streams of its user
 * @lingering: in the list of @linger_user
 * @deadline: jiffies; when it stops lingering
 * @acked: srnic_stream_acked() when it began to linger
 * @charged: it counts as a connected QP of its user, see linger_charge()
 * @unsent: what is still to be handed to TCP; NULL: nothing
 * @fin: FIN is handed to TCP
 * @hurry: stop lingering now
 * @reset: end with RST
 */
struct srnic_stream {
	struct socket *sock;
	struct file *file;
	u32 user_key;
	bool no_qp;
	int stays;
	bool noio;
	const struct srnic_stream_ops *ops;
	void *priv;
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*error_report)(struct sock *sk);
	bool owned;
	unsigned int turns;
	bool lost;
	struct delayed_work linger;
	struct srnic_linger_user *linger_user;
	struct list_head lingering;
	unsigned long deadline;
	u32 acked;
	bool charged;
	struct srnic_batch *unsent;
	bool fin;
	bool hurry;
	bool reset;
};

/* Pieces of a batch; each is of one page of 32 KiB, or of a small one if memory is short */
#define SRNIC_BATCH_PIECES	48

/**
 * struct srnic_batch - bytes to be handed to TCP, in pages that are not written to any more
 * @len: bytes
 * @begin: first of the pieces that TCP has not taken
 * @end: behind the last one
 * @piece: each with a reference to its page
 */
struct srnic_batch {
	u32 len;
	u32 begin;
	u32 end;
	struct bio_vec piece[SRNIC_BATCH_PIECES];
};

/**
 * struct srnic_cursor - a position in bytes that were received
 * @at: where it is in memory of our own; NULL: it is in TCP's buffers, where the next fields say
 * @queue: the socket's
 * @skb: the buffer
 * @off: offset in @skb; the length of @skb or more, if the position is in a later buffer
 * @part: @skb or a buffer of its list, whose pieces are looked at next; NULL: not known yet
 * @frag: the piece of @part: 0: its linear data; n: fragment n - 1
 * @begin: offset in @skb where that piece begins, at most @off
 */
struct srnic_cursor {
	const u8 *at;
	struct sk_buff_head *queue;
	struct sk_buff *skb;
	u32 off;
	struct sk_buff *part;
	u32 frag;
	u32 begin;
};

static inline struct srnic_cursor srnic_cursor_at(const void *data)
{
	return (struct srnic_cursor){ .at = data };
}

/* Go on behind @len bytes */
static inline void srnic_cursor_skip(struct srnic_cursor *cur, u32 len)
{
	if (cur->at)
		cur->at += len;
	else
		cur->off += len;
}

static inline bool srnic_batch_is_full(const struct srnic_batch *batch)
{
	return batch->end == SRNIC_BATCH_PIECES;
}

/* Takes the next octets of the stream */
typedef void (*srnic_stream_actor)(void *ctx, const u8 *data, u32 len);

enum srnic_stream_state {
	SRNIC_STREAM_UP,
	SRNIC_STREAM_FIN,	/* the peer sent FIN; what preceded it may be unread */
	SRNIC_STREAM_RESET,	/* RST */
	SRNIC_STREAM_LOST,	/* time-out or another error */
};

/* sock.c */
struct net *srnic_device_get_net(const struct srnic_device *dev);
int srnic_sock_create(struct srnic_device *dev, u64 net, int family,
		      struct socket **sock);
void srnic_sock_prepare(struct socket *sock);
int srnic_sock_stay(const struct srnic_device *dev, struct sock *sk, bool always);
bool srnic_stream_stay(const struct srnic_device *dev, struct srnic_stream *stream);
bool srnic_sock_strays(const struct srnic_device *dev, const struct sock *sk);
unsigned int srnic_noio_begin(bool noio);
void srnic_noio_end(unsigned int before);
int srnic_addr_len(const struct sockaddr_storage *addr);

/* cursor.c */
bool srnic_cursor_is_readable(struct srnic_cursor cur, u32 len);
void srnic_cursor_copy(struct srnic_cursor *cur, void *dst, u32 len);
void srnic_cursor_walk(struct srnic_cursor *cur, u32 len, srnic_stream_actor actor, void *ctx);

/* stream.c */
struct srnic_stream *srnic_stream_new(struct socket *sock);
void srnic_stream_rebound(struct sock *sk);
bool srnic_stream_hook(struct srnic_stream *stream,
		       const struct srnic_stream_ops *ops, void *priv);
void srnic_stream_disinherit(const struct srnic_stream *listener, struct socket *sock);
void srnic_stream_unhook_owned(struct srnic_stream *stream);
void srnic_stream_unhook(struct srnic_stream *stream);
void srnic_stream_keepalive(struct srnic_stream *stream, unsigned int seconds);
struct srnic_batch *srnic_batch_new(void);
void srnic_batch_add(struct srnic_batch *batch, struct page *page, u32 off, u32 len);
void srnic_batch_free(struct srnic_batch *batch);
int srnic_stream_send_owned(struct srnic_stream *stream, struct srnic_batch *batch, bool cut);
int srnic_stream_send(struct srnic_stream *stream, struct srnic_batch *batch, bool cut);
int srnic_stream_send_locked(struct srnic_stream *stream, struct srnic_batch *batch, bool cut);
int srnic_stream_send_all(const struct srnic_device *dev, struct srnic_stream *stream,
			  void *data, size_t len, unsigned int timeout_ms);
int srnic_stream_recv(struct srnic_stream *stream, void *data, size_t len);
bool srnic_stream_trylock(struct srnic_stream *stream);
bool srnic_stream_call(struct srnic_stream *stream, void (*fn)(void *arg), void *arg);
bool srnic_stream_try_call(struct srnic_stream *stream, void (*fn)(void *arg), void *arg);
bool srnic_stream_lock(struct srnic_stream *stream);
void srnic_stream_unlock(struct srnic_stream *stream);
bool srnic_stream_is_owned(const struct srnic_stream *stream);
u32 srnic_stream_avail(const struct srnic_stream *stream);
struct srnic_cursor srnic_stream_first(const struct srnic_stream *stream);
void srnic_stream_take(struct srnic_stream *stream, u32 len);
bool srnic_stream_drop(struct srnic_stream *stream);
bool srnic_stream_is_stuck(const struct srnic_stream *stream, u32 need);
enum srnic_stream_state srnic_stream_state(const struct srnic_stream *stream);
bool srnic_stream_unacked(const struct srnic_stream *stream);
u32 srnic_stream_acked(const struct srnic_stream *stream);
void srnic_stream_names(const struct srnic_stream *stream, struct sockaddr_storage *local,
			struct sockaddr_storage *remote);
u32 srnic_stream_emss(const struct srnic_stream *stream);
u32 srnic_stream_window(const struct srnic_stream *stream);
u32 srnic_stream_taken(const struct srnic_stream *stream);
void srnic_stream_shutdown_owned(struct srnic_stream *stream);
void srnic_stream_shutdown(struct srnic_stream *stream);
void srnic_stream_abort_owned(struct srnic_stream *stream);
void srnic_stream_abort(struct srnic_stream *stream);
void srnic_stream_put_file(struct srnic_stream *stream);
void srnic_stream_free(struct srnic_stream *stream);

#endif
