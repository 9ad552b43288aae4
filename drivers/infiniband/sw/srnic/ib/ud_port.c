// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The UDP sockets of a device, with which its UD QPs send and receive: one for each GID that
 * is an address of the interface, and for each user that has such QPs in RTR or RTS, in the
 * network namespace of the user's programs. If the interface moves to another namespace the QPs
 * go to Error, and the sockets are closed.
 *
 * A user's socket receives datagrams for the QPs of all users: the kernel delivers to any socket at
 * the address and port. But each user sends with its own sockets: datagrams to a host that does not
 * answer stay in the send buffer until neighbour resolution fails, and do not block other users.
 */

#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/list.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/rwsem.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/udp.h>
#include "compat.h"
#include "engine/stream.h"
#include "ib/addr.h"
#include "ib/ib_device.h"
#include "queue/state.h"
#include "srnic.h"

/* How long a post waits for room in a socket; then the message is dropped */
#define UD_PATIENCE	(HZ / 10)

/* The next header of a GRH: InfiniBand's transport (IBA 1.6, 8.3) */
#define UD_NEXT_HDR	0x1b

/**
 * struct srnic_ud_port - a socket
 * @dev: its device
 * @gid: its address
 * @number: its UDP port; host byte order
 * @sock: NULL: none
 */
struct srnic_ud_port {
	struct srnic_device *dev;
	union ib_gid gid;
	u16 number;
	struct socket *sock;
};

/**
 * struct srnic_ud_set - the sockets of a user in a network namespace
 * @entry: among the sets of the device
 * @holder: the user; NULL: the kernel
 * @net: cookie of the namespace; if the interface is in another one there are no sockets
 * @members: the user's QPs that have joined; ports->lock
 * @sem: protects what follows; held for reading by senders
 * @err: the error because of which an address has no socket; 0 if each has one
 * @port: by index of the GID
 */
struct srnic_ud_set {
	struct list_head entry;
	const struct srnic_holder *holder;
	u64 net;
	unsigned int members;

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

/* InfiniBand's GRH, for IPv4 too, with mapped addresses: libibverbs reads the GIDs from it */
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

/*
 * The source port has to be ib_port, which no program can bind on a host with srnic; on other
 * hosts any program may. The CRC of the message does not cover the addresses in the GRH, so
 * UDP's checksum is verified, too.
 */
static bool dgm_read(struct srnic_dgm *dgm, struct sk_buff *skb)
{
	if (skb->len > DGM_HDR_LEN + DGM_MAX || udp_hdr(skb)->source != udp_hdr(skb)->dest ||
	    udp_lib_checksum_complete(skb) || skb_linearize(skb) ||
	    !dgm_open(skb->data, skb->len, &dgm->hdr))
		return false;
	dgm->data = skb->data + DGM_HDR_LEN;
	make_grh(&dgm->grh, skb, dgm->hdr.length);
	return true;
}

/* RCU */
static void port_receive(struct srnic_device *dev, struct sk_buff *skb)
{
	struct srnic_dgm dgm;
	struct srnic_qp *qp;

	if (!dgm_read(&dgm, skb)) {
		srnic_count(dev, SRNIC_CNT_UD_RX_MALFORMED);
		return;
	}
	qp = xa_load(&dev->ib->ud.qps, dgm.hdr.dst_qpn);
	if (qp)
		srnic_ud_deliver(qp, &dgm);
	else
		srnic_count(dev, SRNIC_CNT_UD_RX_NO_QP);
}

/**
 * srnic_ud_data_ready - the callback of a socket of UD QPs
 * @sk: the socket; its user data is the device
 *
 * The kernel calls it once for each datagram that it has put into the queue, so no datagram is
 * left there though a call takes only SRNIC_UD_BUDGET. That bound keeps a flood on several CPUs
 * from holding one of them here. No lock is held from one datagram to the next.
 * Context: softirq or process.
 */
void srnic_ud_data_ready(struct sock *sk)
{
	struct srnic_device *dev;
	struct sk_buff *skb;
	int n = 0, err;

	rcu_read_lock();
	dev = rcu_dereference_sk_user_data(sk);
	while (dev && n++ < SRNIC_UD_BUDGET && (skb = skb_recv_udp(sk, MSG_DONTWAIT, &err))) {
		port_receive(dev, skb);
		consume_skb(skb);
	}
	rcu_read_unlock();
}

/* ----- sockets ----- */

/* Called before the socket is bound, so that each datagram causes a call of the callback */
static void port_hook(struct srnic_device *dev, struct sock *sk)
{
	sk->sk_sndtimeo = UD_PATIENCE;
#ifdef CONFIG_NET_RX_BUSY_POLL
	/* whatever net.core.busy_read is: the callback does not poll the interface */
	sk->sk_ll_usec = 0;
#endif
	rcu_assign_sk_user_data(sk, dev);
	sk->sk_data_ready = srnic_ud_data_ready;
}

/* The callback may use the device until a grace period has ended */
static void port_close(struct srnic_ud_port *port)
{
	if (!port->sock)
		return;
	rcu_assign_sk_user_data(port->sock->sk, NULL);
	sock_release(port->sock);
	port->sock = NULL;
}

/* Freebind: an IPv6 address may be tentative until duplicate address detection has ended */
static int port_bind(struct socket *sock, struct sockaddr_storage *addr)
{
	ip_sock_set_freebind(sock->sk);
	/*
	 * The kernel's sockets that hold the port, see ib/rdv_port.c, and those of other
	 * users have the same port: all have the same owner
	 */
	sock_set_reuseport(sock->sk);
	if (addr->ss_family == AF_INET6)
		sock->sk->sk_ipv6only = 1;
	return kernel_bind(sock, (struct sockaddr_unsized *)addr, srnic_addr_len(addr));
}

static int port_open(struct srnic_ud_port *port, struct net *net)
{
	struct sockaddr_storage addr;
	struct socket *sock;
	int err;

	srnic_addr_of_gid(port->dev, &port->gid, port->number, &addr);
	/* not sock_create_kern(): the socket has to hold its namespace */
	err = __sock_create(net, addr.ss_family, SOCK_DGRAM, IPPROTO_UDP, &sock, 0);
	if (err)
		return err;
	port_hook(port->dev, sock->sk);
	err = srnic_sock_stay(port->dev, sock->sk, false);
	if (!err)
		err = port_bind(sock, &addr);
	if (err) {
		ibdev_warn_ratelimited(&port->dev->ibdev, "UD: no socket at %pISpc: %d\n",
				       &addr, err);
		sock_release(sock);
		return err;
	}
	port->sock = sock;
	return 0;
}

static const union ib_gid no_gid;

/* Has @port a socket at @gid and @number in @net; or none, if @net is NULL or @gid zero? */
static bool port_is_right(const struct srnic_ud_port *port, const union ib_gid *gid,
			  const struct net *net, u16 number)
{
	if (!net || !memcmp(gid, &no_gid, sizeof(no_gid)))
		return !port->sock;
	return port->sock && net_eq(sock_net(port->sock->sk), net) &&
	       !srnic_sock_strays(port->dev, port->sock->sk) &&
	       port->number == number && !memcmp(&port->gid, gid, sizeof(*gid));
}

/* set->sem is held for writing. Gives @port a socket at @gid in @net, if @gid is not zero */
static int port_sync(struct srnic_ud_port *port, const union ib_gid *gid, struct net *net,
		     u16 number)
{
	if (port_is_right(port, gid, net, number))
		return 0;
	port_close(port);
	port->gid = *gid;
	port->number = number;
	return net && memcmp(gid, &no_gid, sizeof(no_gid)) ? port_open(port, net) : 0;
}

static bool set_is_right(struct srnic_ud_set *set, const union ib_gid *gids,
			 const struct net *net, u16 number)
{
	bool right = true;
	int i;

	down_read(&set->sem);
	for (i = 1; i < SRNIC_MAX_GID; i++)
		right = right && port_is_right(&set->port[i], &gids[i], net, number);
	up_read(&set->sem);
	return right;
}

/*
 * Index 0 is no IP address. If all sockets are right, does not take the lock for writing, which
 * would wait for posts: a post holds it for reading while it waits for room.
 */
static void set_sync(struct srnic_ud_set *set, const union ib_gid *gids, struct net *net,
		     u16 number)
{
	int i, err;

	if (set_is_right(set, gids, net, number))
		return;
	down_write(&set->sem);
	set->err = 0;
	for (i = 1; i < SRNIC_MAX_GID; i++) {
		err = port_sync(&set->port[i], &gids[i], net, number);
		if (err)
			set->err = err;
	}
	up_write(&set->sem);
}

/*
 * Opens sockets in the interface's current namespace, at the current port. A work does it, so
 * that all sockets have the kernel as their owner, which may bind any port.
 */
static void ports_sync(struct work_struct *work)
{
	struct srnic_ud_ports *ports = container_of(work, struct srnic_ud_ports, sync);
	u16 number = srnic_policy_get(&ports->dev->policy).ib_port;
	struct net *net = number ? srnic_device_get_net(ports->dev) : NULL;
	union ib_gid gids[SRNIC_MAX_GID];
	struct srnic_ud_set *set;

	spin_lock_bh(&ports->dev->gid_lock);
	memcpy(gids, ports->dev->gids, sizeof(gids));
	spin_unlock_bh(&ports->dev->gid_lock);
	mutex_lock(&ports->sets_lock);
	list_for_each_entry(set, &ports->sets, entry)
		set_sync(set, gids, net && net->net_cookie == set->net ? net : NULL, number);
	mutex_unlock(&ports->sets_lock);
	if (net)
		put_net(net);
}

/**
 * srnic_ud_ports_changed - the device has another port or address
 * @dev: the device
 *
 * A work brings its sockets up to date. Context: any. Returns at once.
 */
void srnic_ud_ports_changed(struct srnic_device *dev)
{
	queue_work(ud_wq, &dev->ib->ud.sync);
}

/**
 * srnic_ud_ports_moved - the interface leaves its network namespace, or has arrived in another
 * @dev: the device
 *
 * All QPs that have joined go to Error. Context: process. Returns at once.
 */
void srnic_ud_ports_moved(struct srnic_device *dev)
{
	struct xarray *qps = &dev->ib->ud.qps;
	struct srnic_qp *qp;
	unsigned long qpn;

	/* a QP that joins after this sees the new namespace */
	xa_lock(qps);
	xa_for_each(qps, qpn, qp)
		srnic_ud_abort(qp);
	xa_unlock(qps);
	srnic_ud_ports_changed(dev);
}

/* ports->lock is held; the set has no members */
static void set_free(struct srnic_ud_ports *ports, struct srnic_ud_set *set)
{
	int i;

	mutex_lock(&ports->sets_lock);
	list_del(&set->entry);
	mutex_unlock(&ports->sets_lock);
	ports->num_sets--;
	for (i = 1; i < SRNIC_MAX_GID; i++)
		port_close(&set->port[i]);
	kvfree(set);
}

/* ports->lock is held. A new set, with its sockets; or an ERR_PTR */
static struct srnic_ud_set *set_new(struct srnic_ud_ports *ports,
				    const struct srnic_holder *holder, u64 net)
{
	struct srnic_ud_set *set;
	int i, err;

	if (ports->num_sets == SRNIC_MAX_UD_USERS)
		return ERR_PTR(-ENOMEM);
	set = kvzalloc(sizeof(*set), GFP_KERNEL_ACCOUNT);
	if (!set)
		return ERR_PTR(-ENOMEM);
	ports->num_sets++;
	set->holder = holder;
	set->net = net;
	init_rwsem(&set->sem);
	for (i = 0; i < SRNIC_MAX_GID; i++)
		set->port[i].dev = ports->dev;
	mutex_lock(&ports->sets_lock);
	list_add(&set->entry, &ports->sets);
	mutex_unlock(&ports->sets_lock);
	queue_work(ud_wq, &ports->sync);
	flush_work(&ports->sync);
	err = set->err;
	if (!err)
		return set;
	set_free(ports, set);
	return ERR_PTR(err);
}

/* ports->lock is held. The set of the user of @qp in @net; or an ERR_PTR */
static struct srnic_ud_set *set_of(struct srnic_ud_ports *ports, struct srnic_qp *qp, u64 net)
{
	const struct srnic_holder *holder = srnic_pd_holder(qp->ibqp.pd);
	struct srnic_ud_set *set;

	list_for_each_entry(set, &ports->sets, entry)
		if (set->holder == holder && set->net == net)
			return set;
	return set_new(ports, holder, net);
}

/* ports->lock is held */
static int ports_join(struct srnic_ud_ports *ports, struct srnic_qp *qp, u64 net)
{
	struct srnic_ud_set *set = set_of(ports, qp, net);
	int err;

	if (IS_ERR(set))
		return PTR_ERR(set);
	err = xa_err(xa_store(&ports->qps, qp->ibqp.qp_num, qp, GFP_KERNEL_ACCOUNT));
	if (!err) {
		qp->ud->set = set;
		set->members++;
	} else if (!set->members) {
		set_free(ports, set);
	}
	return err;
}

/**
 * srnic_ud_ports_leave - undo srnic_ud_ports_join()
 * @qp: a UD QP that has joined
 *
 * When this returns the sockets do not use the QP any more. Context: process, may sleep.
 */
void srnic_ud_ports_leave(struct srnic_qp *qp)
{
	struct srnic_ud_ports *ports = &qp->dev->ib->ud;
	struct srnic_ud_set *set;

	/* nothing is sent after this; srnic_ud_leave() does next what ud_tx_unlock() would do */
	mutex_lock(&qp->ud->tx_lock);
	set = qp->ud->set;
	qp->ud->set = NULL;
	mutex_unlock(&qp->ud->tx_lock);
	mutex_lock(&ports->lock);
	xa_erase(&ports->qps, qp->ibqp.qp_num);
	if (!--set->members)
		set_free(ports, set);
	mutex_unlock(&ports->lock);
	synchronize_rcu();
}

static bool is_home(const struct srnic_device *dev, u64 cookie)
{
	bool is;

	rcu_read_lock();
	is = dev_net(dev->netdev)->net_cookie == cookie;
	rcu_read_unlock();
	return is;
}

/**
 * srnic_ud_ports_join - start to deliver messages to a QP
 * @qp: a UD QP
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EOPNOTSUPP if the policy sets no port; -EXDEV if the interface is in another network
 * namespace than the caller; -EADDRINUSE if the port is taken at one of the addresses; another
 * errno of the socket calls; -ENOMEM, also if SRNIC_MAX_UD_USERS other users have such QPs.
 */
int srnic_ud_ports_join(struct srnic_qp *qp)
{
	u64 net = current->nsproxy->net_ns->net_cookie;
	struct srnic_ud_ports *ports = &qp->dev->ib->ud;
	int err;

	if (!srnic_policy_get(&qp->dev->policy).ib_port)
		return -EOPNOTSUPP;
	mutex_lock(&ports->lock);
	err = is_home(qp->dev, net) ? ports_join(ports, qp, net) : -EXDEV;
	mutex_unlock(&ports->lock);
	/* look once more: srnic_ud_ports_moved() does not find a QP that has not joined yet */
	if (!err && !is_home(qp->dev, net)) {
		srnic_ud_ports_leave(qp);
		err = -EXDEV;
	}
	return err;
}

static int port_send(struct srnic_ud_port *port, const union ib_gid *dgid, u8 *buf, u32 len)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };
	struct sockaddr_storage addr;
	struct msghdr msg = {
		.msg_name = &addr,
		.msg_flags = MSG_NOSIGNAL,
	};

	srnic_addr_of_gid(port->dev, dgid, port->number, &addr);
	msg.msg_namelen = srnic_addr_len(&addr);
	return kernel_sendmsg(port->sock, &msg, &vec, 1, len);
}

/**
 * srnic_ud_ports_send - send a datagram
 * @qp: a UD QP, whose tx_lock is held
 * @av: source and destination
 * @buf: the datagram
 * @len: its bytes
 *
 * Context: process; waits for room in the socket, UD_PATIENCE at most. The socket is the user's
 * own: other users cannot fill it.
 *
 * Return: 0; -EADDRNOTAVAIL if the source address is gone; another errno of the socket calls. On
 * an error the datagram is lost.
 */
int srnic_ud_ports_send(struct srnic_qp *qp, const struct srnic_av *av, u8 *buf, u32 len)
{
	struct srnic_ud_set *set = qp->ud->set;
	struct srnic_ud_port *port;
	int n = -EADDRNOTAVAIL;

	if (!set)
		return n;
	port = &set->port[av->sgid_index];
	down_read(&set->sem);
	if (port->sock && !memcmp(&port->gid, &av->sgid, sizeof(av->sgid)))
		n = port_send(port, &av->dgid, buf, len);
	up_read(&set->sem);
	return n < 0 ? n : 0;
}

/**
 * srnic_ud_ports_init - begin a device's part for UD QPs, without sockets
 * @ports: zeroed
 * @dev: the device, which is being created
 *
 * Context: process.
 */
void srnic_ud_ports_init(struct srnic_ud_ports *ports, struct srnic_device *dev)
{
	ports->dev = dev;
	INIT_WORK(&ports->sync, ports_sync);
	xa_init_flags(&ports->qps, XA_FLAGS_ACCOUNT);
	mutex_init(&ports->lock);
	mutex_init(&ports->sets_lock);
	INIT_LIST_HEAD(&ports->sets);
}

/**
 * srnic_ud_ports_exit - undo srnic_ud_ports_init()
 * @ports: of a device without QPs; srnic_ud_ports_changed() is not called for it any more
 * Context: process, may sleep.
 */
void srnic_ud_ports_exit(struct srnic_ud_ports *ports)
{
	cancel_work_sync(&ports->sync);
	/* for callbacks of sockets that are closed */
	synchronize_rcu();
	WARN_ON_ONCE(!list_empty(&ports->sets));
	xa_destroy(&ports->qps);
	mutex_destroy(&ports->lock);
	mutex_destroy(&ports->sets_lock);
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
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int srnic_ud_init(void)
{
	ud_wq = alloc_workqueue("srnic_ud", WQ_UNBOUND, 0);
	return ud_wq ? 0 : -ENOMEM;
}

/**
 * srnic_ud_exit - at unload of the module: no device is left
 * Context: process, may sleep.
 */
void srnic_ud_exit(void)
{
	destroy_workqueue(ud_wq);
}
