// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The UDP sockets of a device, by which its UD QPs send and receive: one for each GID that
 * is an address of the interface, while there are such QPs in RTR or RTS.
 */

#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/rwsem.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/udp.h>
#include "compat.h"
#include "engine/addr.h"
#include "engine/ud.h"
#include "queue/state.h"
#include "srnic.h"

/* How long a post waits for room in a socket; then the message is lost */
#define UD_PATIENCE	(HZ / 10)

/* What a GRH has as its next header: InfiniBand's transport (IBA 1.6, 8.3) */
#define UD_NEXT_HDR	0x1b

/**
 * struct srnic_ud_port - a socket
 * @dev: its device
 * @gid: its address
 * @sock: NULL: none
 * @data_ready: what the socket's callback was
 */
struct srnic_ud_port {
	struct srnic_device *dev;
	union ib_gid gid;
	struct socket *sock;
	void (*data_ready)(struct sock *sk);
};

/**
 * struct srnic_ud_ports - the sockets of a device
 * @dev: the device
 * @sync: makes and ends sockets
 * @qps: by QP number, UD QPs in RTR or RTS; looked up under RCU
 * @lock: of the next two, and of joining and leaving
 * @users: QPs in @qps
 * @number: UDP port of all sockets, while there are users; host byte order
 * @sem: of what follows; for reading, to send
 * @err: why there is no socket at an address; 0 if there is one at each
 * @port: by index of the GID
 */
struct srnic_ud_ports {
	struct srnic_device *dev;
	struct work_struct sync;
	struct xarray qps;

	struct mutex lock;	/* see above */
	unsigned int users;
	u16 number;

	struct rw_semaphore sem;	/* see above */
	int err;
	struct srnic_ud_port port[SRNIC_MAX_GID];
};

static struct workqueue_struct *ud_wq;

/* ----- receiving ----- */

static void grh_of_ipv4(struct ib_grh *grh, const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);

	grh->version_tclass_flow = cpu_to_be32(6 << 28 | ip->tos << 20);
	grh->hop_limit = ip->ttl;
	ipv6_addr_set_v4mapped(ip->saddr, (struct in6_addr *)&grh->sgid);
	ipv6_addr_set_v4mapped(ip->daddr, (struct in6_addr *)&grh->dgid);
}

static void grh_of_ipv6(struct ib_grh *grh, const struct sk_buff *skb)
{
	const struct ipv6hdr *ip = ipv6_hdr(skb);

	grh->version_tclass_flow = *(const __be32 *)ip;
	grh->hop_limit = ip->hop_limit;
	memcpy(&grh->sgid, &ip->saddr, sizeof(grh->sgid));
	memcpy(&grh->dgid, &ip->daddr, sizeof(grh->dgid));
}

/* As InfiniBand has it, IPv4 addresses too: libibverbs finds the GIDs of both in it */
static void make_grh(struct ib_grh *grh, const struct sk_buff *skb, u32 length)
{
	memset(grh, 0, sizeof(*grh));
	if (skb->protocol == htons(ETH_P_IPV6))
		grh_of_ipv6(grh, skb);
	else
		grh_of_ipv4(grh, skb);
	grh->paylen = cpu_to_be16(length);
	grh->next_hdr = UD_NEXT_HDR;
}

/* From the port that it goes to, where no program of a host with srnic can be */
static bool dgm_read(struct srnic_dgm *dgm, struct sk_buff *skb)
{
	if (skb->len > DGM_HDR_LEN + DGM_MAX || udp_hdr(skb)->source != udp_hdr(skb)->dest ||
	    skb_linearize(skb) || !dgm_open(skb->data, skb->len, &dgm->hdr))
		return false;
	dgm->data = skb->data + DGM_HDR_LEN;
	make_grh(&dgm->grh, skb, dgm->hdr.length);
	return true;
}

static void port_receive(struct srnic_ud_port *port, struct sk_buff *skb)
{
	struct srnic_device *dev = port->dev;
	struct srnic_dgm dgm;
	struct srnic_qp *qp;

	if (!dgm_read(&dgm, skb)) {
		srnic_count(dev, SRNIC_CNT_UD_RX_MALFORMED);
		return;
	}
	rcu_read_lock();
	qp = xa_load(&dev->ud->qps, dgm.hdr.dst_qpn);
	if (qp)
		srnic_ud_deliver(qp, &dgm);
	else
		srnic_count(dev, SRNIC_CNT_UD_RX_NO_QP);
	rcu_read_unlock();
}

/* Softirq */
static void port_data_ready(struct sock *sk)
{
	struct srnic_ud_port *port;
	struct sk_buff *skb;
	int err;

	read_lock_bh(&sk->sk_callback_lock);
	port = sk->sk_user_data;
	while (port && (skb = skb_recv_udp(sk, MSG_DONTWAIT, &err))) {
		port_receive(port, skb);
		consume_skb(skb);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/* ----- sockets ----- */

static void port_hook(struct srnic_ud_port *port)
{
	struct sock *sk = port->sock->sk;

	sk->sk_sndtimeo = UD_PATIENCE;
	write_lock_bh(&sk->sk_callback_lock);
	port->data_ready = sk->sk_data_ready;
	sk->sk_user_data = port;
	sk->sk_data_ready = port_data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
}

static void port_close(struct srnic_ud_port *port)
{
	struct sock *sk;

	if (!port->sock)
		return;
	sk = port->sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk->sk_user_data = NULL;
	sk->sk_data_ready = port->data_ready;
	write_unlock_bh(&sk->sk_callback_lock);
	sock_release(port->sock);
	port->sock = NULL;
}

/* An address of IPv6 may be there and not be the interface's yet, until no other host has it */
static int port_bind(struct socket *sock, struct sockaddr_storage *addr)
{
	ip_sock_set_freebind(sock->sk);
	if (addr->ss_family == AF_INET6)
		sock->sk->sk_ipv6only = 1;
	return kernel_bind(sock, (struct sockaddr_unsized *)addr, srnic_addr_len(addr));
}

static int port_open(struct srnic_ud_port *port, struct net *net, u16 number)
{
	struct sockaddr_storage addr;
	struct socket *sock;
	int err;

	srnic_addr_of_gid(port->dev, &port->gid, number, &addr);
	/* that of a user, as others are: it holds its namespace */
	err = __sock_create(net, addr.ss_family, SOCK_DGRAM, IPPROTO_UDP, &sock, 0);
	if (err)
		return err;
	err = port_bind(sock, &addr);
	if (err) {
		ibdev_warn_ratelimited(&port->dev->ibdev, "UD: no socket at %pISpc: %d\n",
				       &addr, err);
		sock_release(sock);
		return err;
	}
	port->sock = sock;
	port_hook(port);
	/* what came before the hook */
	port_data_ready(sock->sk);
	return 0;
}

/* ports->sem is held for writing. @gid, in @net, is to have a socket, if it is not zero */
static int port_sync(struct srnic_ud_port *port, const union ib_gid *gid, struct net *net,
		     u16 number)
{
	static const union ib_gid none;

	if (port->sock && net && net_eq(sock_net(port->sock->sk), net) &&
	    !memcmp(&port->gid, gid, sizeof(*gid)))
		return 0;
	port_close(port);
	port->gid = *gid;
	return net && memcmp(gid, &none, sizeof(none)) ? port_open(port, net, number) : 0;
}

/* Index 0 is no IP address */
static void ports_sync_to(struct srnic_ud_ports *ports, struct net *net, u16 number)
{
	union ib_gid gid;
	int i, err;

	down_write(&ports->sem);
	ports->err = 0;
	for (i = 1; i < SRNIC_MAX_GID; i++) {
		spin_lock_bh(&ports->dev->gid_lock);
		gid = ports->dev->gids[i];
		spin_unlock_bh(&ports->dev->gid_lock);
		err = port_sync(&ports->port[i], &gid, net, number);
		if (err)
			ports->err = err;
	}
	up_write(&ports->sem);
}

/* Where the device is now; without users nowhere */
static void ports_sync(struct work_struct *work)
{
	struct srnic_ud_ports *ports = container_of(work, struct srnic_ud_ports, sync);
	struct net *net = NULL;

	if (READ_ONCE(ports->users)) {
		rcu_read_lock();
		net = maybe_get_net(dev_net(ports->dev->netdev));
		rcu_read_unlock();
	}
	ports_sync_to(ports, net, READ_ONCE(ports->number));
	if (net)
		put_net(net);
}

/**
 * srnic_ud_ports_changed - the device has other addresses, or is in another namespace
 * @dev: the device
 *
 * Context: any. Returns at once.
 */
void srnic_ud_ports_changed(struct srnic_device *dev)
{
	if (READ_ONCE(dev->ud->users))
		queue_work(ud_wq, &dev->ud->sync);
}

/* ports->lock is held. The first user has the sockets made, by a task that may have any port. */
static int ports_open(struct srnic_ud_ports *ports)
{
	ports->number = srnic_policy_get(&ports->dev->policy).ib_port;
	if (!ports->number)
		return -EOPNOTSUPP;
	WRITE_ONCE(ports->users, 1);
	queue_work(ud_wq, &ports->sync);
	flush_work(&ports->sync);
	return ports->err;
}

/* ports->lock is held */
static void ports_put(struct srnic_ud_ports *ports)
{
	WRITE_ONCE(ports->users, ports->users - 1);
	if (ports->users)
		return;
	queue_work(ud_wq, &ports->sync);
	flush_work(&ports->sync);
}

/**
 * srnic_ud_ports_join - from now on a QP gets what comes for it
 * @qp: a UD QP
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EOPNOTSUPP if no port is set for it; -EADDRINUSE if the port is taken at one of
 * the addresses; another errno of the socket calls; -ENOMEM.
 */
int srnic_ud_ports_join(struct srnic_qp *qp)
{
	struct srnic_ud_ports *ports = qp->dev->ud;
	int err = 0;

	mutex_lock(&ports->lock);
	if (ports->users)
		WRITE_ONCE(ports->users, ports->users + 1);
	else
		err = ports_open(ports);
	if (!err)
		err = xa_err(xa_store(&ports->qps, qp->ibqp.qp_num, qp, GFP_KERNEL_ACCOUNT));
	if (err && ports->users)
		ports_put(ports);
	mutex_unlock(&ports->lock);
	return err;
}

/**
 * srnic_ud_ports_leave - end of srnic_ud_ports_join()
 * @qp: a UD QP that has joined
 *
 * When this returns nothing of the QP is used any more. Context: process, may sleep.
 */
void srnic_ud_ports_leave(struct srnic_qp *qp)
{
	struct srnic_ud_ports *ports = qp->dev->ud;

	mutex_lock(&ports->lock);
	xa_erase(&ports->qps, qp->ibqp.qp_num);
	ports_put(ports);
	mutex_unlock(&ports->lock);
	synchronize_rcu();
}

static int port_send(struct srnic_ud_port *port, const union ib_gid *dgid, u16 number, u8 *buf,
		     u32 len)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };
	struct sockaddr_storage addr;
	struct msghdr msg = {
		.msg_name = &addr,
		.msg_flags = MSG_NOSIGNAL,
	};

	srnic_addr_of_gid(port->dev, dgid, number, &addr);
	msg.msg_namelen = srnic_addr_len(&addr);
	return kernel_sendmsg(port->sock, &msg, &vec, 1, len);
}

/**
 * srnic_ud_ports_send - send a datagram
 * @dev: the device
 * @av: where from, and where to
 * @buf: the datagram
 * @len: its bytes
 *
 * Context: process; waits for room in the socket, UD_PATIENCE at most.
 *
 * Return: 0; -EADDRNOTAVAIL if the own address is gone; another errno of the socket calls. The
 * datagram is lost then.
 */
int srnic_ud_ports_send(struct srnic_device *dev, const struct srnic_av *av, u8 *buf,
			u32 len)
{
	struct srnic_ud_ports *ports = dev->ud;
	struct srnic_ud_port *port = &ports->port[av->sgid_index];
	int n = -EADDRNOTAVAIL;

	down_read(&ports->sem);
	if (port->sock && !memcmp(&port->gid, &av->sgid, sizeof(av->sgid)))
		n = port_send(port, &av->dgid, READ_ONCE(ports->number), buf, len);
	up_read(&ports->sem);
	return n < 0 ? n : 0;
}

/**
 * srnic_ud_ports_new - what a device needs for UD QPs, without sockets
 * @dev: being made
 *
 * Return: 0 or -ENOMEM.
 */
int srnic_ud_ports_new(struct srnic_device *dev)
{
	struct srnic_ud_ports *ports = kzalloc(sizeof(*ports), GFP_KERNEL);
	int i;

	if (!ports)
		return -ENOMEM;
	ports->dev = dev;
	INIT_WORK(&ports->sync, ports_sync);
	xa_init_flags(&ports->qps, XA_FLAGS_ACCOUNT);
	mutex_init(&ports->lock);
	init_rwsem(&ports->sem);
	for (i = 0; i < SRNIC_MAX_GID; i++)
		ports->port[i].dev = dev;
	dev->ud = ports;
	return 0;
}

/**
 * srnic_ud_ports_free - end of srnic_ud_ports_new()
 * @dev: without QPs; nobody tells of its addresses any more
 */
void srnic_ud_ports_free(struct srnic_device *dev)
{
	cancel_work_sync(&dev->ud->sync);
	xa_destroy(&dev->ud->qps);
	kfree(dev->ud);
}

/**
 * srnic_ud_queue - run a work of UD QPs
 * @work: the work
 *
 * Context: any.
 */
void srnic_ud_queue(struct work_struct *work)
{
	queue_work(ud_wq, work);
}

/**
 * srnic_ud_init - at load of the module
 *
 * Return: 0 or -ENOMEM.
 */
int srnic_ud_init(void)
{
	ud_wq = alloc_workqueue("srnic_ud", WQ_UNBOUND, 0);
	return ud_wq ? 0 : -ENOMEM;
}

/**
 * srnic_ud_exit - at unload of the module: no device is left
 */
void srnic_ud_exit(void)
{
	destroy_workqueue(ud_wq);
}
