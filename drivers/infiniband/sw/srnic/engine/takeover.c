// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A program's own TCP socket becomes a stream in mid-conversation (RDMAC verbs 6.2.1.2).
 *
 * The socket is marked as one with an upper layer protocol, as kernel TLS does: so no
 * other one gets it, and the mark holds the module until TCP has done with the socket.
 * The stream holds the file: the program may close it at any time. What the program
 * calls on the socket from then on fails; the calls that were under way go on, and can
 * spoil no more than the program's own stream.
 */

#include <linux/file.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include <rdma/ib_addr.h>
#include "compat.h"
#include "engine/stream.h"
#include "engine/takeover.h"
#include "srnic.h"

static const struct tcp_ulp_ops takeover_ulp = {
	.name = "srnic",
	.owner = THIS_MODULE,
};

/* ----- what the program can do with its socket afterwards ----- */

/* Nothing will come: who waits is to find out */
static __poll_t sealed_poll(struct file *file, struct socket *sock,
			    struct poll_table_struct *wait)
{
	return EPOLLERR | EPOLLHUP;
}

/* Of IPv4, of IPv6; made at first use, of what the kernel's sockets have */
static const struct proto_ops *sealed_ops[2];
static DEFINE_MUTEX(sealed_mutex);

/*
 * What is missing here is EOPNOTSUPP, too, setsockopt and getsockopt among it. The
 * owner is that of the kernel's socket: the module is held by the mark.
 */
static const struct proto_ops *sealed_new(const struct proto_ops *base)
{
	const struct proto_ops ops = {
		.family = base->family,
		.owner = base->owner,
		.release = base->release,
		.bind = sock_no_bind,
		.connect = sock_no_connect,
		.socketpair = sock_no_socketpair,
		.accept = sock_no_accept,
		.getname = base->getname,
		.poll = sealed_poll,
		.ioctl = sock_no_ioctl,
		.listen = sock_no_listen,
		.shutdown = sock_no_shutdown,
		.sendmsg = sock_no_sendmsg,
		.recvmsg = sock_no_recvmsg,
		.mmap = sock_no_mmap,
	};

	return kmemdup(&ops, sizeof(ops), GFP_KERNEL);
}

static const struct proto_ops **sealed_of(const struct socket *sock)
{
	return &sealed_ops[sock->ops->family == AF_INET6];
}

/* Return: 0 or -ENOMEM */
static int sealed_make(const struct socket *sock)
{
	const struct proto_ops **ops = sealed_of(sock);
	int err = 0;

	mutex_lock(&sealed_mutex);
	if (!*ops)
		*ops = sealed_new(sock->ops);
	if (!*ops)
		err = -ENOMEM;
	mutex_unlock(&sealed_mutex);
	return err;
}

/* ----- from the program to the QP ----- */

/* Between the program and the QP: nobody is told anything */
static const struct srnic_stream_ops takeover_quiet = { };

static int check_state(const struct sock *sk)
{
	switch (sk->sk_state) {
	case TCP_ESTABLISHED:
		return sk->sk_shutdown ? -EPIPE : 0;
	case TCP_CLOSE_WAIT:
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
	case TCP_CLOSING:
	case TCP_LAST_ACK:
		return -EPIPE;
	default:
		return -ENOTCONN;
	}
}

/* Is the socket's own address one of the interface's? */
static bool is_of_device(struct srnic_device *dev, struct socket *sock)
{
	struct sockaddr_storage addr = { };
	union ib_gid gid;
	bool found = false;
	int i;

	if (kernel_getsockname(sock, (struct sockaddr *)&addr) < 0)
		return false;
	rdma_ip2gid((struct sockaddr *)&addr, &gid);
	spin_lock_bh(&dev->gid_lock);
	for (i = 1; i < SRNIC_MAX_GID; i++)
		found |= !memcmp(&dev->gids[i], &gid, sizeof(gid));
	spin_unlock_bh(&dev->gid_lock);
	return found;
}

static bool is_in_use(const struct sock *sk)
{
	/* a thread that waits for room would write into the middle of an FPDU */
	return inet_csk(sk)->icsk_ulp_ops || tcp_sk(sk)->repair || sk->sk_write_pending;
}

/* @sk is locked. See srnic_takeover_begin() for the errors. */
static int check_socket(const struct sock *sk)
{
	int err = check_state(sk);

	if (err)
		return err;
	if (is_in_use(sk))
		return -EBUSY;
	if (tcp_sk(sk)->urg_data)
		return -EBADMSG;
	return 0;
}

static int check_kind(const struct srnic_device *dev, const struct socket *sock)
{
	const struct sock *sk = sock->sk;

	if ((sk->sk_family != AF_INET && sk->sk_family != AF_INET6) || !sk_is_tcp(sk))
		return -EPROTOTYPE;
	return net_eq(sock_net(sk), dev_net(dev->netdev)) ? 0 : -EXDEV;
}

/* What a program may have set that would keep data or the end of the stream back */
static void reset_options(struct sock *sk)
{
	sk->sk_rcvlowat = 1;
	sock_reset_flag(sk, SOCK_LINGER);
}

static int take_locked(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;
	int err = check_socket(sk);

	if (err)
		return err;
	if (!srnic_stream_hook(stream, &takeover_quiet, NULL))
		return -EBUSY;
	__module_get(THIS_MODULE);
	inet_csk(sk)->icsk_ulp_ops = &takeover_ulp;
	reset_options(sk);
	return 0;
}

static int take(struct srnic_device *dev, struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;
	int err = check_kind(dev, stream->sock);

	/* for a better answer: one that is not connected may have no address */
	if (!err)
		err = check_state(sk);
	if (!err && !is_of_device(dev, stream->sock))
		err = -EADDRNOTAVAIL;
	if (!err)
		err = sealed_make(stream->sock);
	if (err)
		return err;
	lock_sock(sk);
	err = take_locked(stream);
	release_sock(sk);
	return err;
}

/**
 * srnic_takeover_begin - make a stream out of a program's socket
 * @dev: the socket's address is to be one of its interface
 * @file: the socket's; the stream holds it
 *
 * Nothing is read: what has arrived is there for the stream. SO_RCVLOWAT, SO_LINGER,
 * TCP_CORK and TCP_NODELAY are set as a stream needs them.
 *
 * Context: process, may sleep.
 *
 * Return: the stream, hooked, for srnic_qp_attach() and srnic_takeover_commit(), or for
 * srnic_takeover_cancel(); -ENOTSOCK; -EPROTOTYPE for anything but TCP; -EXDEV if it
 * is not in the network namespace of the interface; -EADDRNOTAVAIL if its address is not of the
 * interface; -ENOTCONN if it is not connected; -EPIPE if one side has closed; -EBUSY if
 * it belongs to another QP or protocol, or a thread waits to send on it; -EBADMSG if
 * urgent data is in it; -ENOMEM. On an error the socket is as it was.
 */
struct srnic_stream *srnic_takeover_begin(struct srnic_device *dev, struct file *file)
{
	struct socket *sock = sock_from_file(file);
	struct srnic_stream *stream;
	int err;

	if (!sock)
		return ERR_PTR(-ENOTSOCK);
	stream = srnic_stream_new(sock);
	if (!stream)
		return ERR_PTR(-ENOMEM);
	err = take(dev, stream);
	if (err) {
		kfree(stream);
		return ERR_PTR(err);
	}
	stream->file = get_file(file);
	tcp_sock_set_cork(sock->sk, false);
	srnic_sock_prepare(sock);
	return stream;
}

/**
 * srnic_takeover_cancel - give the socket back to the program
 * @stream: of srnic_takeover_begin(), and not attached; not to be touched afterwards
 *
 * The program can go on with it, with the options that srnic_takeover_begin() has set.
 *
 * Context: process, may sleep.
 */
void srnic_takeover_cancel(struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;

	srnic_stream_unhook(stream);
	lock_sock(sk);
	inet_csk(sk)->icsk_ulp_ops = NULL;
	release_sock(sk);
	module_put(THIS_MODULE);
	/* what came meanwhile was not told to the program */
	sk->sk_data_ready(sk);
	fput(stream->file);
	kfree(stream);
}

/**
 * srnic_takeover_commit - the socket is a QP's: the program has no use for it any more
 * @file: of the socket, held by the caller
 *
 * Its stream may be gone already. From now on poll() on the socket says EPOLLERR and
 * EPOLLHUP, and what else a program can call but close() and getsockname() is EOPNOTSUPP.
 *
 * Context: process, may sleep.
 */
void srnic_takeover_commit(struct file *file)
{
	struct socket *sock = sock_from_file(file);
	struct sock *sk = sock->sk;

	lock_sock(sk);
	/* options of SOL_SOCKET are the protocol's, too, and it has none */
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	WRITE_ONCE(sock->ops, *sealed_of(sock));
	release_sock(sk);
	/* who waits is told that there is nothing to wait for */
	wake_up_interruptible_all(sk_sleep(sk));
}

/**
 * srnic_takeover_exit - at unload of the module: TCP has done with all of the sockets
 */
void srnic_takeover_exit(void)
{
	kfree(sealed_ops[0]);
	kfree(sealed_ops[1]);
}
