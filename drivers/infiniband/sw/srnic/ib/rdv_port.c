// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous: the port. While the policy ib_port is set srnic holds the port, for TCP and UDP, at
 * all addresses of the interface's namespace. Otherwise a program could bind it before the first
 * QP, and receive the traffic for the QPs of all users. The sockets that hold the port neither
 * listen nor send. Listeners and the sockets of UD QPs bind the same port with SO_REUSEPORT,
 * which requires the same owner: the kernel.
 */

#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ipv6.h>
#include <linux/net.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include "cm/cm.h"
#include "engine/stream.h"
#include "ib/addr.h"
#include "ib/rdv_priv.h"

static const struct {
	int family;
	int type;
} kinds[] = {
	{ AF_INET, SOCK_STREAM }, { AF_INET, SOCK_DGRAM },
	{ AF_INET6, SOCK_STREAM }, { AF_INET6, SOCK_DGRAM },
};

/**
 * struct srnic_rdv_port - the TCP and UDP port ib_port of a device
 * @list: in @ports
 * @dev: the device, which outlives this
 * @number: host byte order
 * @sock: indexed as @kinds; NULL for a kind that the host does not support, and all NULL while
 *	  the port is not held. They have no reference to their network namespace
 */
struct srnic_rdv_port {
	struct list_head list;
	struct srnic_device *dev;
	u16 number;
	struct socket *sock[ARRAY_SIZE(kinds)];
};

/* Also taken under RTNL: a task that has it, and a kworker for that task, must not take RTNL */
static DEFINE_MUTEX(ports_mutex);
static LIST_HEAD(ports);

static void port_close(struct srnic_rdv_port *port)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (port->sock[i])
			sock_release(port->sock[i]);
		port->sock[i] = NULL;
	}
}

static int bind_to(struct socket *sock, int family, u16 number)
{
	struct sockaddr_storage addr = { .ss_family = family };

	((struct sockaddr_in *)&addr)->sin_port = htons(number);
	if (family == AF_INET6)
		sock->sk->sk_ipv6only = 1;
	sock_set_reuseport(sock->sk);
	/* datagrams that arrive here are never read: queue as few as possible */
	sock_set_rcvbuf(sock->sk, 0);
	return kernel_bind(sock, (struct sockaddr_unsized *)&addr, srnic_addr_len(&addr));
}

/* Return: 0, or an errno and all sockets are closed */
static int port_open_in(struct srnic_rdv_port *port, struct net *net)
{
	int i, err;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		/* otherwise sock_create_kern() would request a module, under RTNL */
		if (kinds[i].family == AF_INET6 && !ipv6_mod_enabled())
			continue;
		err = sock_create_kern(net, kinds[i].family, kinds[i].type, 0, &port->sock[i]);
		if (!err)
			err = bind_to(port->sock[i], kinds[i].family, port->number);
		if (err) {
			port_close(port);
			return err;
		}
	}
	return 0;
}

struct kworker_call {
	struct work_struct work;
	int (*fn)(void *arg);
	void *arg;
	int ret;
};

static void kworker_call(struct work_struct *work)
{
	struct kworker_call *call = container_of(work, struct kworker_call, work);

	call->ret = call->fn(call->arg);
}

/**
 * srnic_rdv_by_kworker - call a function in a kworker, and wait for it
 * @fn: the function; may sleep
 * @arg: its argument
 *
 * Sockets that @fn creates have the owner, security label and cgroup of the kernel, and may bind
 * any port. The work runs on the system workqueue: all works of the module's workqueues may wait
 * for a lock that the caller holds.
 *
 * Context: process, may sleep; not from a work of a workqueue with WQ_MEM_RECLAIM.
 *
 * Return: what @fn returned.
 */
int srnic_rdv_by_kworker(int (*fn)(void *arg), void *arg)
{
	struct kworker_call call = { .fn = fn, .arg = arg };

	INIT_WORK_ONSTACK(&call.work, kworker_call);
	schedule_work(&call.work);
	flush_work(&call.work);
	destroy_work_on_stack(&call.work);
	return call.ret;
}

static int port_make(void *arg)
{
	struct srnic_rdv_port *port = arg;
	struct net *net = srnic_device_get_net(port->dev);
	int err;

	if (!net)
		return -ENODEV;
	err = port_open_in(port, net);
	put_net(net);
	return err;
}

/* A kworker makes the sockets, so that the kernel owns them, which may bind and share any port */
static int port_open(struct srnic_rdv_port *port)
{
	return srnic_rdv_by_kworker(port_make, port);
}

static struct srnic_rdv_port *port_find(const struct srnic_device *dev)
{
	struct srnic_rdv_port *port;

	list_for_each_entry(port, &ports, list)
		if (port->dev == dev)
			return port;
	return NULL;
}

static void port_free(struct srnic_rdv_port *port)
{
	list_del(&port->list);
	port_close(port);
	kfree(port);
}

static struct srnic_rdv_port *port_new(struct srnic_device *dev, u16 number)
{
	struct srnic_rdv_port *port = kzalloc(sizeof(*port), GFP_KERNEL);
	int err;

	if (!port)
		return ERR_PTR(-ENOMEM);
	port->dev = dev;
	port->number = number;
	err = port_open(port);
	if (err) {
		kfree(port);
		return ERR_PTR(err);
	}
	return port;
}

/* Holds the port if it is not held yet. Return: 0 or an errno of port_open() */
static int port_hold(struct srnic_rdv_port *port)
{
	return port->sock[0] ? 0 : port_open(port);
}

/* ports_mutex is held. @old, which may be NULL, is freed if there is no error */
static int port_replace(struct srnic_rdv_port *old, struct srnic_device *dev, u16 number)
{
	struct srnic_rdv_port *port;

	if (old && old->number == number)
		return port_hold(old);
	if (number) {
		port = port_new(dev, number);
		if (IS_ERR(port))
			return PTR_ERR(port);
		list_add(&port->list, &ports);
	}
	if (old)
		port_free(old);
	return 0;
}

/**
 * srnic_rdv_set_port - hold a port for a device instead of the one held now
 * @dev: the device
 * @number: host byte order; 0: none, which always succeeds
 *
 * Context: process, may sleep.
 *
 * Return: 0; -EADDRINUSE if a program has the port; -ENODEV if the interface's namespace is
 * going; another errno of the socket calls; -ENOMEM. On an error nothing has changed.
 */
int srnic_rdv_set_port(struct srnic_device *dev, u16 number)
{
	int err;

	mutex_lock(&ports_mutex);
	err = port_replace(port_find(dev), dev, number);
	mutex_unlock(&ports_mutex);
	return err;
}

/**
 * srnic_rdv_hold_port - a QP is going to need the port
 * @dev: the device
 *
 * Context: process, may sleep.
 *
 * Return: 0 if it is held, or not set any more; otherwise an errno of srnic_rdv_set_port().
 */
int srnic_rdv_hold_port(struct srnic_device *dev)
{
	struct srnic_rdv_port *port;
	int err = 0;

	mutex_lock(&ports_mutex);
	port = port_find(dev);
	if (port)
		err = port_hold(port);
	mutex_unlock(&ports_mutex);
	return err;
}

static bool is_at_home(const struct srnic_rdv_port *port)
{
	return port->sock[0] && net_eq(sock_net(port->sock[0]->sk), dev_net(port->dev->netdev));
}

/**
 * srnic_rdv_device_moved - the interface may be in another network namespace
 * @dev: the device
 *
 * If a program has the port there, it is not held, and connections that need it are refused until
 * srnic_rdv_hold_port() succeeds. Context: process, may sleep; under RTNL.
 */
void srnic_rdv_device_moved(struct srnic_device *dev)
{
	struct srnic_rdv_port *port;
	int err;

	mutex_lock(&ports_mutex);
	port = port_find(dev);
	if (port && !is_at_home(port)) {
		port_close(port);
		err = port_open(port);
		/* no warning if the namespace that the interface leaves is ending */
		if (err && err != -ENODEV)
			ibdev_warn_ratelimited(&dev->ibdev, "port %u is not held: %d\n",
					       port->number, err);
	}
	mutex_unlock(&ports_mutex);
}

/* The sockets do not hold their namespace: close them before it is freed */
static void __net_exit ports_exit_net(struct net *net)
{
	struct srnic_rdv_port *port;

	mutex_lock(&ports_mutex);
	list_for_each_entry(port, &ports, list)
		if (port->sock[0] && net_eq(sock_net(port->sock[0]->sk), net))
			port_close(port);
	mutex_unlock(&ports_mutex);
}

static struct pernet_operations ports_net_ops = {
	.exit = ports_exit_net,
};

/**
 * srnic_rdv_ports_init - at load of the module
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
 */
int srnic_rdv_ports_init(void)
{
	return register_pernet_device(&ports_net_ops);
}

/**
 * srnic_rdv_ports_exit - at unload of the module: no device is left
 * Context: process, may sleep.
 */
void srnic_rdv_ports_exit(void)
{
	unregister_pernet_device(&ports_net_ops);
}
