// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* TCP sockets of a device: where they are made, what they are bound to, and how they get memory. */

#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/sched/mm.h>
#include <net/net_namespace.h>
#include <net/tcp.h>
#include "engine/stream.h"
#include "srnic.h"

/**
 * srnic_device_get_net - the network namespace that a device is in now
 * @dev: the device
 *
 * The interface may be leaving it. Context: any.
 *
 * Return: the namespace, to be given to put_net(); NULL if it is going.
 */
struct net *srnic_device_get_net(const struct srnic_device *dev)
{
	struct net *net;

	rcu_read_lock();
	net = maybe_get_net(dev_net(dev->netdev));
	rcu_read_unlock();
	return net;
}

/**
 * srnic_sock_create - make a TCP socket in the network namespace of a device
 * @dev: the device; the namespace is that of its netdev
 * @net: cookie of the namespace of the caller; it need not exist any more
 * @family: AF_INET or AF_INET6
 * @sock: set to the socket
 *
 * The socket is a user's, not the kernel's: it holds its namespace, and its owner, cgroup
 * and security label are those of the calling task.
 *
 * Context: process, may sleep. Return: 0; -EXDEV if the netdev is not in @net; -ENODEV if its
 * namespace is going; an errno of socket creation.
 */
int srnic_sock_create(struct srnic_device *dev, u64 net, int family,
		      struct socket **sock)
{
	struct net *home = srnic_device_get_net(dev);
	int err = -EXDEV;

	if (!home)
		return -ENODEV;
	if (home->net_cookie == net)
		err = __sock_create(home, family, SOCK_STREAM, IPPROTO_TCP, sock, 0);
	if (!err)
		srnic_sock_prepare(*sock);
	put_net(home);
	return err;
}

/*
 * The peers of a tunnel of IP packets are not those of the network below it: what comes from there
 * is neither encrypted nor authentic, and nothing may go there while the tunnel is down and the
 * host has another route. So the sockets are bound to the tunnel. With other interfaces the host's
 * routes decide, as for any TCP socket.
 */
static bool is_tunnel(const struct srnic_device *dev)
{
	return dev->netdev->type == ARPHRD_NONE;
}

/**
 * srnic_sock_stay - what a socket sends and receives goes over the device's interface alone
 * @dev: the device
 * @sk: in the namespace of its netdev, not yet bound
 * @always: with any interface; otherwise with a tunnel of IP packets only
 *
 * Context: process, may sleep. Return: 0, or an errno of binding to an interface.
 */
int srnic_sock_stay(const struct srnic_device *dev, struct sock *sk, bool always)
{
	if (!always && !is_tunnel(dev))
		return 0;
	return sock_bindtoindex(sk, READ_ONCE(dev->netdev->ifindex), true);
}

/**
 * srnic_stream_stay - does a program's socket stay where srnic_sock_stay() would have it?
 * @dev: the device
 * @stream: not hooked yet; its socket is locked, and in the namespace of the device's netdev
 *
 * The socket is as the program has bound it. If it has to stay it is not bound anew from now on,
 * while it is hooked, see srnic_stream_rebound(). Context: process.
 *
 * Return: false: it has to, and is bound to nothing, or to another interface, as the tunnel's VRF,
 * which has other ways out.
 */
bool srnic_stream_stay(const struct srnic_device *dev, struct srnic_stream *stream)
{
	const int ifindex = READ_ONCE(dev->netdev->ifindex);

	if (!is_tunnel(dev))
		return true;
	stream->stays = ifindex;
	return stream->sock->sk->sk_bound_dev_if == ifindex;
}

/**
 * srnic_sock_strays - is the interface in another namespace, or has it another index by now?
 * @dev: the device
 * @sk: its socket, see srnic_sock_stay()
 * Context: any.
 */
bool srnic_sock_strays(const struct srnic_device *dev, const struct sock *sk)
{
	const struct net_device *netdev = dev->netdev;

	return !net_eq(sock_net(sk), dev_net(netdev)) ||
	       (sk->sk_bound_dev_if && sk->sk_bound_dev_if != READ_ONCE(netdev->ifindex));
}

/**
 * srnic_sock_prepare - settings every socket of a connection or listener gets
 * @sock: just created or accepted
 *
 * Segments go out at once (M-TCP-1). Context: process, may sleep.
 */
void srnic_sock_prepare(struct socket *sock)
{
	struct sock *sk = sock->sk;

	tcp_sock_set_nodelay(sk);
	sk->sk_allocation = GFP_KERNEL;
}

/**
 * srnic_noio_begin - the calling task begins to work for a stream
 * @noio: of the stream, or of its QP
 *
 * A disk may be behind the QP of a kernel consumer, or of a program that serves I/O
 * (PR_SET_IO_FLUSHER): the reclaim of memory must not wait for its I/O. Any other stream's does:
 * TCP charges the program's memory cgroup, and one that may not swap kills the program at its
 * limit.
 *
 * Context: any. Return: to be given to srnic_noio_end().
 */
unsigned int srnic_noio_begin(bool noio)
{
	unsigned int before = current->flags;

	if (noio)
		memalloc_noio_save();
	return before;
}

/**
 * srnic_noio_end - the calling task has worked for a stream
 * @before: from srnic_noio_begin()
 * Context: any.
 */
void srnic_noio_end(unsigned int before)
{
	current_restore_flags(before, PF_MEMALLOC_NOIO);
}

/**
 * srnic_addr_len - length of a socket address
 * @addr: of AF_INET or AF_INET6
 *
 * Context: any. Return: bytes.
 */
int srnic_addr_len(const struct sockaddr_storage *addr)
{
	return addr->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					     sizeof(struct sockaddr_in);
}
