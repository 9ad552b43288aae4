/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The LLP: one in-kernel TCP socket. While a connection is being set up the
 * connection manager owns the socket; srnic_qp_attach() hands it to the QP,
 * which owns it from then on.
 */
#ifndef SRNIC_STREAM_H
#define SRNIC_STREAM_H

#include <linux/net.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include "linger.h"

struct srnic_device;

/**
 * struct srnic_stream_ops - what a socket tells its owner
 * @data_ready: there is something to read
 * @write_space: there is room to write again
 * @state_change: connected, FIN or error
 *
 * Called in softirq or process context with sk_callback_lock held for
 * reading: must not sleep and must not call back into the stream.
 */
struct srnic_stream_ops {
	void (*data_ready)(void *priv);
	void (*write_space)(void *priv);
	void (*state_change)(void *priv);
};

/**
 * struct srnic_stream - a socket and who is told about it
 * @sock: the socket; owned
 * @ops: under sk_callback_lock
 * @priv: argument of @ops, under sk_callback_lock
 * @data_ready: the socket's own callback
 * @write_space: the socket's own callback
 * @state_change: the socket's own callback
 * @error_report: the socket's own callback
 * @linger: runs a stream that lingers; this field and the next are linger.c's
 * @lingering: in the list of those that do
 * @deadline: jiffies; the end of it
 * @acked: srnic_stream_acked() at the beginning
 * @words: what is still to be handed to TCP
 * @fin: FIN is handed to TCP
 * @hurry: the end is now
 */
struct srnic_stream {
	struct socket *sock;
	const struct srnic_stream_ops *ops;
	void *priv;
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*state_change)(struct sock *sk);
	void (*error_report)(struct sock *sk);
	struct delayed_work linger;
	struct list_head lingering;
	unsigned long deadline;
	u32 acked;
	struct srnic_words words;
	bool fin;
	bool hurry;
};

/* Takes the next octets of the stream */
typedef void (*srnic_stream_actor)(void *ctx, const u8 *data, u32 len);

enum srnic_stream_state {
	SRNIC_STREAM_UP,
	SRNIC_STREAM_FIN,	/* the peer sent FIN; what preceded it may be unread */
	SRNIC_STREAM_RESET,	/* RST */
	SRNIC_STREAM_LOST,	/* time-out or another error */
};

int srnic_sock_create(struct srnic_device *dev, const struct net *net, int family,
		      struct socket **sock);
void srnic_sock_prepare(struct socket *sock);
struct srnic_stream *srnic_stream_new(struct socket *sock);
void srnic_stream_hook(struct srnic_stream *stream,
		       const struct srnic_stream_ops *ops, void *priv);
void srnic_stream_disinherit(const struct srnic_stream *listener, struct socket *sock);
void srnic_stream_unhook(struct srnic_stream *stream);
void srnic_stream_keepalive(struct srnic_stream *stream, unsigned int seconds);
int srnic_stream_send(struct srnic_stream *stream, void *data, size_t len, bool cut);
int srnic_stream_send_all(struct srnic_stream *stream, void *data, size_t len,
			  unsigned int timeout_ms);
int srnic_stream_recv(struct srnic_stream *stream, void *data, size_t len);
void srnic_stream_walk(struct sk_buff *skb, unsigned int offset, unsigned int end,
		       srnic_stream_actor actor, void *ctx);
int srnic_stream_read(struct srnic_stream *stream, srnic_stream_actor actor,
		      void *ctx, size_t budget);
enum srnic_stream_state srnic_stream_state(const struct srnic_stream *stream);
bool srnic_stream_unacked(const struct srnic_stream *stream);
u32 srnic_stream_acked(const struct srnic_stream *stream);
void srnic_stream_names(const struct srnic_stream *stream, struct sockaddr_storage *local,
			struct sockaddr_storage *remote);
u32 srnic_stream_emss(const struct srnic_stream *stream);
u32 srnic_stream_taken(const struct srnic_stream *stream);
void srnic_stream_shutdown(struct srnic_stream *stream);
void srnic_stream_abort(struct srnic_stream *stream);
void srnic_stream_free(struct srnic_stream *stream);

#endif
