// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Following changes of the interface: state, addresses, name, network namespace, end. */

#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include "cm/cm.h"
#include "device/device.h"
#include "device/gid.h"
#include "device/netdev.h"
#include "ib/ib.h"
#include "qp/qp.h"
#include "srnic.h"

static void dispatch(struct srnic_device *dev, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = 1,
		.event = type,
	};

	ib_dispatch_event(&event);
}

static void sync_gids(struct srnic_device *dev)
{
	if (!srnic_gid_sync(dev))
		return;
	srnic_ud_ports_changed(dev);
	dispatch(dev, IB_EVENT_GID_CHANGE);
}

/*
 * Compares the reported state of the interface with the current one, and reports the
 * difference. So notifications may come in any order, and more than once.
 */
static void sync_device(struct srnic_device *dev)
{
	struct net_device *netdev = dev->netdev;
	bool active = srnic_netdev_active(netdev);

	ASSERT_RTNL();
	if (strcmp(dev->ibdev.iw_ifname, netdev->name))
		strscpy(dev->ibdev.iw_ifname, netdev->name,
			sizeof(dev->ibdev.iw_ifname));

	sync_gids(dev);

	if (dev->port_active != active) {
		dev->port_active = active;
		dispatch(dev, active ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR);
	}
}

static void end_device(struct srnic_device *dev)
{
	srnic_device_leave(dev);
	ib_unregister_device_queued(&dev->ibdev);
}

/**
 * srnic_netdev_sync - bring a device up to date with its interface
 * @netdev: an interface with or without a device
 *
 * Context: under RTNL.
 */
void srnic_netdev_sync(struct net_device *netdev)
{
	struct ib_device *ibdev;

	ibdev = ib_device_get_by_netdev(netdev, SRNIC_DRIVER_ID);
	if (!ibdev)
		return;
	if (netdev->reg_state == NETREG_REGISTERED)
		sync_device(to_srnic_dev(ibdev));
	else
		end_device(to_srnic_dev(ibdev));
	ib_device_put(ibdev);
}

/*
 * The interface is leaving its network namespace, or has arrived in another one. A socket
 * keeps its namespace, so the connections end. Listeners of the interface's current
 * namespace open a socket, the others close theirs.
 */
static void end_connections(struct net_device *netdev)
{
	struct srnic_device *dev;
	struct ib_device *ibdev;
	unsigned long qpn;
	void *entry;

	ibdev = ib_device_get_by_netdev(netdev, SRNIC_DRIVER_ID);
	if (!ibdev)
		return;
	dev = to_srnic_dev(ibdev);
	srnic_cm_drop_device(dev);
	srnic_cm_device_moved(dev);
	srnic_rdv_device_moved(dev);
	srnic_ud_ports_moved(dev);
	xa_for_each(&dev->qps, qpn, entry) {
		struct srnic_qp *qp = srnic_qp_find(dev, qpn);

		if (!qp)
			continue;
		srnic_qp_moved(qp);
		srnic_qp_put(qp);
	}
	ib_device_put(ibdev);
}

static int netdev_event(struct notifier_block *nb, unsigned long event, void *info)
{
	struct net_device *netdev = netdev_notifier_info_to_dev(info);

	switch (event) {
	case NETDEV_UNREGISTER:
		/* the interface moves to another namespace, and stays registered */
		if (netdev->reg_state == NETREG_REGISTERED) {
			end_connections(netdev);
			break;
		}
		srnic_netdev_sync(netdev);
		break;
	case NETDEV_REGISTER:	/* arrived in the other namespace */
		end_connections(netdev);
		fallthrough;
	case NETDEV_UP:
	case NETDEV_DOWN:
	case NETDEV_CHANGE:
	case NETDEV_CHANGEADDR:
	case NETDEV_CHANGENAME:
		srnic_netdev_sync(netdev);
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block netdev_nb = {
	.notifier_call = netdev_event,
};

/* An address came or went. Any context except hard interrupts; not under RTNL for IPv6. */
static void addr_event(struct net_device *netdev)
{
	struct ib_device *ibdev = ib_device_get_by_netdev(netdev, SRNIC_DRIVER_ID);

	if (!ibdev)
		return;
	sync_gids(to_srnic_dev(ibdev));
	ib_device_put(ibdev);
}

static int inetaddr_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct in_ifaddr *ifa = info;

	addr_event(ifa->ifa_dev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block inetaddr_nb = {
	.notifier_call = inetaddr_event,
};

#if IS_ENABLED(CONFIG_IPV6)
static int inet6addr_event(struct notifier_block *nb, unsigned long event, void *info)
{
	const struct inet6_ifaddr *ifa = info;

	addr_event(ifa->idev->dev);
	return NOTIFY_DONE;
}

static struct notifier_block inet6addr_nb = {
	.notifier_call = inet6addr_event,
};

static int follow_ipv6(void)
{
	return register_inet6addr_notifier(&inet6addr_nb);
}

static void unfollow_ipv6(void)
{
	unregister_inet6addr_notifier(&inet6addr_nb);
}
#else
static int follow_ipv6(void)
{
	return 0;
}

static void unfollow_ipv6(void)
{
}
#endif

/**
 * srnic_netdev_init - start to follow the interfaces and their addresses
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
 */
int srnic_netdev_init(void)
{
	int err;

	err = register_inetaddr_notifier(&inetaddr_nb);
	if (err)
		return err;
	err = follow_ipv6();
	if (err)
		goto inetaddr;
	err = register_netdevice_notifier(&netdev_nb);
	if (err)
		goto inet6addr;
	return 0;
inet6addr:
	unfollow_ipv6();
inetaddr:
	unregister_inetaddr_notifier(&inetaddr_nb);
	return err;
}

/**
 * srnic_netdev_exit - stop following the interfaces
 * Context: process, may sleep.
 */
void srnic_netdev_exit(void)
{
	unregister_netdevice_notifier(&netdev_nb);
	unfollow_ipv6();
	unregister_inetaddr_notifier(&inetaddr_nb);
}
