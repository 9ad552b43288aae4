// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The GIDs of a port. Index 0 has the interface's hardware address, by which rdma_cm
 * finds the device; the others have the interface's IP addresses, IPv4 mapped
 * into IPv6. An address keeps its index as long as the interface has it.
 */

#include <linux/etherdevice.h>
#include <linux/inetdevice.h>
#include <linux/jhash.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <rdma/srnic-abi.h>
#include "device/gid.h"
#include "srnic.h"

/* For an interface without a MAC address: a hash of its name, the same after a reboot */
static void made_up_addr(const struct net_device *netdev, u8 *addr)
{
	size_t len = strnlen(netdev->name, IFNAMSIZ);
	u32 hash[2];

	hash[0] = jhash(netdev->name, len, SRNIC_DRIVER_ID);
	hash[1] = jhash(netdev->name, len, hash[0]);
	memcpy(addr, hash, ETH_ALEN);
	addr[0] &= ~1;	/* unicast */
	addr[0] |= 2;	/* locally administered */
}

/* GID 0 is padded with zeros, as rdma_cm compares it. Return: whether it has changed. */
static bool sync_hardware_addr(struct srnic_device *dev)
{
	const struct net_device *netdev = dev->netdev;
	u8 *gid = dev->gids[0].raw;
	u8 addr[ETH_ALEN];

	if (netdev->addr_len == ETH_ALEN && !is_zero_ether_addr(netdev->dev_addr))
		memcpy(addr, netdev->dev_addr, ETH_ALEN);
	else if (is_zero_ether_addr(gid))
		made_up_addr(netdev, addr);
	else
		return false;	/* a made-up address stays after the interface is renamed */

	if (!memcmp(gid, addr, ETH_ALEN))
		return false;
	memcpy(gid, addr, ETH_ALEN);
	return true;
}

/**
 * struct gid_walk - a walk over the addresses of an interface
 * @dev: its device, with gid_lock held
 * @found: bitmap of the indices of addresses found so far
 * @add: give an index to addresses that have none
 * @changed: a GID was added or removed
 */
struct gid_walk {
	struct srnic_device *dev;
	unsigned long found;
	bool add;
	bool changed;
};

static int gid_index(const struct srnic_device *dev, const union ib_gid *gid)
{
	int i;

	for (i = 1; i < SRNIC_MAX_GID; i++)
		if (!memcmp(&dev->gids[i], gid, sizeof(*gid)))
			return i;
	return 0;
}

/* If the table is full the address gets no GID */
static void walk_addr(struct gid_walk *walk, const struct in6_addr *addr)
{
	union ib_gid gid, none = { };
	int i;

	memcpy(&gid, addr, sizeof(gid));
	i = gid_index(walk->dev, &gid);
	if (!i && walk->add) {
		i = gid_index(walk->dev, &none);
		if (i) {
			walk->dev->gids[i] = gid;
			walk->changed = true;
		}
	}
	walk->found |= BIT(i);
}

static void walk_ipv4(struct gid_walk *walk)
{
	const struct in_device *in_dev;
	const struct in_ifaddr *ifa;
	struct in6_addr addr;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(walk->dev->netdev);
	if (in_dev) {
		in_dev_for_each_ifa_rcu(ifa, in_dev) {
			ipv6_addr_set_v4mapped(ifa->ifa_local, &addr);
			walk_addr(walk, &addr);
		}
	}
	rcu_read_unlock();
}

static void walk_ipv6(struct gid_walk *walk)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct inet6_ifaddr *ifa;
	struct inet6_dev *in6_dev;

	rcu_read_lock();
	in6_dev = __in6_dev_get(walk->dev->netdev);
	if (in6_dev) {
		read_lock_bh(&in6_dev->lock);
		list_for_each_entry(ifa, &in6_dev->addr_list, if_list)
			walk_addr(walk, &ifa->addr);
		read_unlock_bh(&in6_dev->lock);
	}
	rcu_read_unlock();
#endif
}

static void walk_all(struct gid_walk *walk)
{
	walk_ipv4(walk);
	walk_ipv6(walk);
}

/* Removes old addresses first: new ones may take their indices. */
static bool sync_ip_addrs(struct srnic_device *dev)
{
	static const union ib_gid none;
	struct gid_walk walk = { .dev = dev };
	int i;

	walk_all(&walk);
	for (i = 1; i < SRNIC_MAX_GID; i++) {
		if (walk.found & BIT(i) || !memcmp(&dev->gids[i], &none, sizeof(none)))
			continue;
		dev->gids[i] = none;
		walk.changed = true;
	}
	walk.add = true;
	walk_all(&walk);
	return walk.changed;
}

/**
 * srnic_gid_sync - bring the GIDs up to date with the interface's addresses
 * @dev: the device
 *
 * Context: any except hard interrupts.
 *
 * Return: whether a GID has changed.
 */
bool srnic_gid_sync(struct srnic_device *dev)
{
	bool changed;

	spin_lock_bh(&dev->gid_lock);
	changed = sync_hardware_addr(dev);
	changed |= sync_ip_addrs(dev);
	spin_unlock_bh(&dev->gid_lock);
	return changed;
}

/**
 * srnic_query_gid - a GID of the port
 * @ibdev: the device
 * @port: 1
 * @index: below SRNIC_MAX_GID
 * @gid: filled in; zero if there is none
 *
 * Context: any except hard interrupts.
 *
 * Return: 0, or -EINVAL for an index out of range.
 */
int srnic_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid)
{
	struct srnic_device *dev = to_srnic_dev(ibdev);

	if (index < 0 || index >= SRNIC_MAX_GID)
		return -EINVAL;
	spin_lock_bh(&dev->gid_lock);
	*gid = dev->gids[index];
	spin_unlock_bh(&dev->gid_lock);
	return 0;
}
