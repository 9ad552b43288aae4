// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A program's own TCP socket becomes a stream in mid-conversation (RDMAC verbs 6.2.1.2).
 *
 * srnic is an upper layer protocol of TCP, as kernel TLS is one. A socket that has it keeps
 * its family and its connection (IPV6_ADDRFORM and connect() refuse), no other protocol
 * gets it, and it holds the module until TCP has done with it. Only such a socket is hooked.
 * The socket keeps the protocol even if the QP does not take it: threads of the program may
 * be in calls that came through the functions that are replaced here.
 *
 * The stream holds the file: the program may close it at any time. Once the socket is a
 * QP's, the program's calls on it fail. Calls that were under way go on, and can spoil no
 * more than the program's own stream. They do not lead it out of a tunnel, see
 * srnic_stream_rebound().
 */

#include <linux/file.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <net/inet_common.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include <rdma/ib_addr.h>
#include "compat.h"
#include "engine/stream.h"
#include "engine/takeover.h"
#include "srnic.h"

/**
 * struct takeover_family - the functions that replace TCP's, for sockets of a family
 * @prot: of a socket that has srnic as its ULP
 * @sealed: of a socket that is a QP's; NULL: no socket of the family had the ULP yet
 */
struct takeover_family {
	struct proto prot;
	const struct proto_ops *sealed;
};

/* Of IPv4, of IPv6; made at first use, as copies of TCP's tables */
static struct takeover_family families[2];
static DEFINE_MUTEX(families_mutex);

/* @sk is locked, or has the ULP: else its family may change */
static struct takeover_family *family_of(const struct sock *sk)
{
	return &families[sk->sk_family == AF_INET6];
}

/* ----- what the program can do with its socket afterwards ----- */

/* Nothing will come: a thread that polls must not wait for it */
static __poll_t sealed_poll(struct file *file, struct socket *sock,
			    struct poll_table_struct *wait)
{
	return EPOLLERR | EPOLLHUP;
}

static int sealed_gettstamp(struct socket *sock, void __user *stamp, bool timeval, bool time32)
{
	return -EOPNOTSUPP;
}

static int sealed_setsockopt(struct socket *sock, int level, int name, sockptr_t val,
			     unsigned int len)
{
	return -EOPNOTSUPP;
}

static int sealed_getsockopt(struct socket *sock, int level, int name, char __user *val,
			     int __user *len)
{
	return -EOPNOTSUPP;
}

static ssize_t sealed_splice_read(struct socket *sock, loff_t *pos, struct pipe_inode_info *pipe,
				  size_t len, unsigned int flags)
{
	return -EOPNOTSUPP;
}

static int sealed_set_rcvlowat(struct sock *sk, int val)
{
	return -EOPNOTSUPP;
}

/*
 * A call may find a member in one table and then call it in the other, so this table has
 * each member that the kernel's own has. Members that are not replaced do no harm, or are for
 * callers in the kernel. The owner is that of the kernel's table: the protocol holds the module.
 */
static const struct proto_ops *sealed_new(const struct proto_ops *base)
{
	struct proto_ops *const ops = kmemdup(base, sizeof(*base), GFP_KERNEL);

	if (!ops)
		return NULL;
	ops->bind = sock_no_bind;
	ops->connect = sock_no_connect;
	ops->socketpair = sock_no_socketpair;
	ops->accept = sock_no_accept;
	ops->poll = sealed_poll;
	ops->ioctl = sock_no_ioctl;
#ifdef CONFIG_COMPAT
	ops->compat_ioctl = sock_no_ioctl;
#endif
	ops->gettstamp = sealed_gettstamp;
	ops->listen = sock_no_listen;
	ops->shutdown = sock_no_shutdown;
	ops->setsockopt = sealed_setsockopt;
	ops->getsockopt = sealed_getsockopt;
	ops->sendmsg = sock_no_sendmsg;
	ops->recvmsg = sock_no_recvmsg;
	ops->mmap = sock_no_mmap;
	ops->splice_read = sealed_splice_read;
	ops->set_rcvlowat = sealed_set_rcvlowat;
	proto_ops_no_sendpage(ops);
	return ops;
}

/* ----- the protocol ----- */

static struct proto *base_prot(const struct sock *sk)
{
	/* after IPV6_ADDRFORM an IPv4 socket still has tcpv6_prot as its sk_prot_creator */
	return sk->sk_family == AF_INET6 ? sk->sk_prot_creator : &tcp_prot;
}

/*
 * @sk is locked. Return: true inside TCP's close(). shutdown(), too, sets SEND_SHUTDOWN, and has
 * left both states when it unlocks the socket.
 */
static bool is_closing(const struct sock *sk)
{
	return sk->sk_shutdown & SEND_SHUTDOWN &&
	       (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/*
 * A program's connect() to AF_UNSPEC is refused: the socket would not be the connection that
 * was marked. close() calls this, too, if it has to reset the connection (SO_LINGER, TCP_REPAIR),
 * and does not look at the result: after a refusal the connection would stay for ever. Where a FIN
 * is under way, a refusal does no harm: the FIN ends the connection.
 */
static int takeover_disconnect(struct sock *sk, int flags)
{
	return is_closing(sk) ? base_prot(sk)->disconnect(sk, flags) : -EOPNOTSUPP;
}

/* Return: 0 or -ENOMEM */
static int family_make(struct takeover_family *family, const struct sock *sk)
{
	int err = 0;

	mutex_lock(&families_mutex);
	if (!family->sealed) {
		family->prot = *base_prot(sk);
		family->prot.disconnect = takeover_disconnect;
		/* SO_BINDTODEVICE alone calls it: TCP itself has none */
		family->prot.rehash = srnic_stream_rebound;
		family->sealed = sealed_new(sk->sk_socket->ops);
		err = family->sealed ? 0 : -ENOMEM;
	}
	mutex_unlock(&families_mutex);
	return err;
}

/* setsockopt(TCP_ULP), or mark(); @sk is locked */
static int takeover_init(struct sock *sk)
{
	int err;

	if (sk->sk_state != TCP_ESTABLISHED)
		return -ENOTCONN;
	if (sk->sk_prot != base_prot(sk) || sk->sk_user_data)
		return -EBUSY;
	err = family_make(family_of(sk), sk);
	if (err)
		return err;
	/* from here on the family cannot change: IPV6_ADDRFORM demands TCP's own sk_prot */
	WRITE_ONCE(sk->sk_prot, &family_of(sk)->prot);
	return 0;
}

/* TCP calls this when it has done with @sk, and then puts the module */
static void takeover_release(struct sock *sk)
{
	WRITE_ONCE(sk->sk_prot, base_prot(sk));
}

static struct tcp_ulp_ops takeover_ulp __read_mostly = {
	.name = "srnic",
	.owner = THIS_MODULE,
	.init = takeover_init,
	.release = takeover_release,
};

static bool is_marked(const struct sock *sk)
{
	return READ_ONCE(inet_csk(sk)->icsk_ulp_ops) == &takeover_ulp;
}

/*
 * @sk is locked. Does what setsockopt(TCP_ULP) does, which would wait for the lock without an
 * end. Return: 0; -ENODEV if the module is being unloaded; an errno of takeover_init()
 */
static int mark(struct sock *sk)
{
	int err;

	if (is_marked(sk))
		return 0;
	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	err = takeover_init(sk);
	if (err) {
		module_put(THIS_MODULE);
		return err;
	}
	clear_bit(SOCK_SUPPORT_ZC, &sk->sk_socket->flags);
	WRITE_ONCE(inet_csk(sk)->icsk_ulp_ops, &takeover_ulp);
	return 0;
}

/* ----- from the program to the QP ----- */

/* While the socket is the program's no more, and no QP's yet, no event is reported */
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
static bool is_of_device(struct srnic_device *dev, const struct srnic_stream *stream)
{
	struct sockaddr_storage local, remote;
	union ib_gid gid;
	bool found = false;
	int i;

	srnic_stream_names(stream, &local, &remote);
	rdma_ip2gid((struct sockaddr *)&local, &gid);
	spin_lock_bh(&dev->gid_lock);
	for (i = 1; i < SRNIC_MAX_GID; i++)
		found |= !memcmp(&dev->gids[i], &gid, sizeof(gid));
	spin_unlock_bh(&dev->gid_lock);
	return found;
}

/* @sk is locked. TCP itself refuses a protocol beside PSP, and PSP beside a protocol */
static bool is_in_use(const struct sock *sk)
{
	if ((inet_csk(sk)->icsk_ulp_ops && !is_marked(sk)) || psp_sk_assoc(sk))
		return true;
	/* a thread that waits for room would write into the middle of an FPDU */
	return tcp_sk(sk)->repair || sk->sk_write_pending;
}

/* See srnic_takeover_begin() for the errors. */
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

/*
 * Set options of the program as a stream needs them, see srnic_sock_prepare(). What TCP_CORK
 * holds back goes with the next segment, or when TCP's patience for it is over.
 */
static void reset_options(struct sock *sk)
{
	sk->sk_rcvlowat = 1;
	sock_reset_flag(sk, SOCK_LINGER);
	tcp_sk(sk)->nonagle = TCP_NAGLE_OFF | TCP_NAGLE_PUSH;
	sk->sk_allocation = GFP_KERNEL;
}

static int take_locked(struct srnic_device *dev, struct srnic_stream *stream)
{
	struct sock *sk = stream->sock->sk;
	/* before is_of_device(), as an unconnected socket may lack an address; and before mark() */
	int err = check_socket(sk);

	if (!err && !is_of_device(dev, stream))
		err = -EADDRNOTAVAIL;
	if (!err && !srnic_stream_stay(dev, stream))
		err = -EXDEV;
	if (!err)
		err = mark(sk);
	if (err)
		return err;
	if (!srnic_stream_hook(stream, &takeover_quiet, NULL))
		return -EBUSY;
	reset_options(sk);
	return 0;
}

static int take(struct srnic_device *dev, struct srnic_stream *stream)
{
	int err = check_kind(dev, stream->sock);

	if (err)
		return err;
	if (!srnic_stream_lock(stream))
		return -EBUSY;
	err = take_locked(dev, stream);
	srnic_stream_unlock(stream);
	return err;
}

/**
 * srnic_takeover_begin - make a stream out of a program's socket
 * @dev: the device; the socket's address is to be one of its interface, as its binding, see
 *	 srnic_stream_stay()
 * @file: the socket's; the stream holds it
 *
 * Nothing is read: what has arrived is there for the stream. SO_RCVLOWAT, SO_LINGER,
 * TCP_CORK and TCP_NODELAY are set as a stream needs them.
 *
 * Context: process, may sleep.
 *
 * Return: the stream, hooked, for srnic_qp_attach() and srnic_takeover_commit(), or for
 * srnic_takeover_cancel(); -ENOTSOCK; -EPROTOTYPE if the socket is none of TCP; -EXDEV if it
 * is not in the network namespace of the interface, or not bound to the interface, which is a
 * tunnel; -EADDRNOTAVAIL if its address is not of the interface; -ENOTCONN if it is not connected;
 * -EPIPE if one side has closed; -EBUSY if it belongs to another QP or protocol, as PSP, or a
 * thread waits to send on it, or keeps it locked for seconds; -EBADMSG if urgent data is in it;
 * -ENODEV if the module is being unloaded; -ENOMEM. On an error the socket is as it was, except
 * that it may have the ULP srnic.
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
	stream->file = get_file(file);
	err = take(dev, stream);
	if (err) {
		fput(stream->file);
		kfree(stream);
		return ERR_PTR(err);
	}
	return stream;
}

/**
 * srnic_takeover_cancel - give the socket back to the program
 * @stream: of srnic_takeover_begin(), and not attached; not to be touched afterwards
 *
 * The program can go on with it, with the protocol and the options that
 * srnic_takeover_begin() has set, and hand it over again.
 *
 * Context: process, may sleep.
 */
void srnic_takeover_cancel(struct srnic_stream *stream)
{
	srnic_stream_unhook(stream);
	/*
	 * The program was not notified of what came meanwhile. Not sk_data_ready, which may be a
	 * QP's again: another thread may hand the socket over once more.
	 */
	stream->data_ready(stream->sock->sk);
	fput(stream->file);
	kfree(stream);
}

/**
 * srnic_takeover_commit - the socket is a QP's: the program cannot use it any more
 * @file: of the socket, held by the caller
 *
 * Its stream may be gone already. From now on poll() on the socket returns EPOLLERR and
 * EPOLLHUP, and calls that would use or change the connection fail with EOPNOTSUPP.
 *
 * Context: process, may sleep.
 */
void srnic_takeover_commit(struct file *file)
{
	struct socket *sock = sock_from_file(file);
	struct sock *sk = sock->sk;

	/* sealed_setsockopt() gets the options of SOL_SOCKET, too */
	set_bit(SOCK_CUSTOM_SOCKOPT, &sock->flags);
	WRITE_ONCE(sock->ops, family_of(sk)->sealed);
	/* a thread that waits in poll() finds that nothing will come */
	wake_up_interruptible_all(sk_sleep(sk));
}

/**
 * srnic_takeover_register - at load of the module: TCP knows the protocol from now on
 *
 * Context: process, may sleep.
 * Return: 0; -EEXIST if there is another one of this name.
 */
int srnic_takeover_register(void)
{
	return tcp_register_ulp(&takeover_ulp);
}

/**
 * srnic_takeover_unregister - at unload of the module: no socket has the protocol any more
 *
 * Context: process, may sleep.
 */
void srnic_takeover_unregister(void)
{
	tcp_unregister_ulp(&takeover_ulp);
	kfree(families[0].sealed);
	kfree(families[1].sealed);
}
