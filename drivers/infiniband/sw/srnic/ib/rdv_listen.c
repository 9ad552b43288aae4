// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous: listeners. There is one for each device and local address: the first QP
 * in RTR that uses the address creates it, the last one ends it.
 */

#include <linux/slab.h>
#include "ib/rdv_priv.h"

/**
 * struct srnic_rdv_listener - a listener that QPs share
 * @list: in @listeners
 * @ep: held; its device, namespace and local address are the key
 * @users: QPs
 */
struct srnic_rdv_listener {
	struct list_head list;
	struct srnic_ep *ep;
	unsigned int users;
};

/* Lock order: listen_mutex, srnic_ep.lock of a listener */
static DEFINE_MUTEX(listen_mutex);
static LIST_HEAD(listeners);

static struct srnic_rdv_listener *listener_find(const struct srnic_device *dev, u64 net,
						const struct sockaddr_storage *addr)
{
	struct srnic_rdv_listener *listener;

	list_for_each_entry(listener, &listeners, list) {
		const struct srnic_ep *ep = listener->ep;

		if (ep->dev == dev && ep->net == net &&
		    !memcmp(&ep->local, addr, sizeof(*addr)))
			return listener;
	}
	return NULL;
}

static int listener_start(struct srnic_ep *ep, u64 net,
			  const struct sockaddr_storage *addr)
{
	int err;

	mutex_lock(&ep->lock);
	ep->net = net;
	ep->backlog = SRNIC_CM_MAX_HALF_OPEN;
	ep->max_half = SRNIC_CM_MAX_HALF_OPEN;
	ep->local = *addr;
	err = srnic_ep_listen(ep);
	mutex_unlock(&ep->lock);
	return err;
}

/**
 * struct listener_wanted - arguments of listener_make()
 * @dev: the device
 * @net: cookie of the namespace
 * @addr: address and port
 * @ep: set to its endpoint
 */
struct listener_wanted {
	struct srnic_device *dev;
	u64 net;
	const struct sockaddr_storage *addr;
	struct srnic_ep *ep;
};

static int listener_make(void *arg)
{
	struct listener_wanted *wanted = arg;
	int err;

	wanted->ep = srnic_ep_new(wanted->dev, NULL, &srnic_rdv_ep_ops);
	if (!wanted->ep)
		return -ENOMEM;
	err = listener_start(wanted->ep, wanted->net, wanted->addr);
	if (err)
		srnic_ep_put(wanted->ep);
	return err;
}

/* The kernel owns the listener. rdv_attach() gives an accepted socket to the QP's user */
static struct srnic_rdv_listener *listener_new(struct srnic_device *dev, u64 net,
					       const struct sockaddr_storage *addr)
{
	struct srnic_rdv_listener *listener = kzalloc(sizeof(*listener), GFP_KERNEL);
	struct listener_wanted wanted = { .dev = dev, .net = net, .addr = addr };
	int err;

	if (!listener)
		return ERR_PTR(-ENOMEM);
	err = srnic_rdv_by_kworker(listener_make, &wanted);
	if (err) {
		kfree(listener);
		return ERR_PTR(err);
	}
	listener->ep = wanted.ep;
	list_add(&listener->list, &listeners);
	return listener;
}

/**
 * srnic_rdv_listen - listen at an address, or share the listener there
 * @dev: the device
 * @net: cookie of the network namespace of the caller
 * @addr: a local address and port, with all of its other bytes 0
 *
 * Context: process, may sleep, without locks of endpoints and pairs.
 *
 * Return: the listener, which the caller passes to srnic_rdv_unlisten() later; an ERR_PTR
 * of srnic_ep_listen(), or -ENOMEM.
 */
struct srnic_rdv_listener *srnic_rdv_listen(struct srnic_device *dev, u64 net,
					    const struct sockaddr_storage *addr)
{
	struct srnic_rdv_listener *listener;

	mutex_lock(&listen_mutex);
	listener = listener_find(dev, net, addr);
	if (!listener)
		listener = listener_new(dev, net, addr);
	if (!IS_ERR(listener))
		listener->users++;
	mutex_unlock(&listen_mutex);
	return listener;
}

/**
 * srnic_rdv_unlisten - undo srnic_rdv_listen(); the last user ends the listener
 * @listener: not to be touched afterwards
 *
 * Context: as srnic_rdv_listen().
 */
void srnic_rdv_unlisten(struct srnic_rdv_listener *listener)
{
	mutex_lock(&listen_mutex);
	if (!--listener->users) {
		list_del(&listener->list);
		mutex_lock(&listener->ep->lock);
		srnic_ep_unlisten(listener->ep);
		mutex_unlock(&listener->ep->lock);
		srnic_ep_put(listener->ep);
		kfree(listener);
	}
	mutex_unlock(&listen_mutex);
}
