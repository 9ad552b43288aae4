// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The device of a local address, and the device that routes to an address (3.2.3, 3.2.4). */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rnicpi/rix.h>
#include "rnic.h"

#define MAX_GIDS	32

_Static_assert(MAX_GIDS <= RI_MAX_ADDRS, "room for all");

/* The first line of a file in the sysfs directory of a device */
static bool read_line(const char *dir, const char *file, char *line, size_t size)
{
	char path[IBV_SYSFS_PATH_MAX + 64];
	bool good;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	f = fopen(path, "r");
	if (!f)
		return false;
	good = fgets(line, size, f);
	fclose(f);
	if (good)
		line[strcspn(line, "\n")] = '\0';
	return good && line[0];
}

/* For old kernels without ndevs: GID 0 of an RNIC is its hardware address */
static bool netdev_of_mac(const struct ibv_device *device, char *name, size_t size)
{
	struct ifaddrs *all, *i;
	unsigned char mac[6];
	char gid[64];
	bool found = false;

	if (!read_line(device->ibdev_path, "ports/1/gids/0", gid, sizeof(gid)) ||
	    sscanf(gid, "%2hhx%2hhx:%2hhx%2hhx:%2hhx%2hhx", &mac[0], &mac[1], &mac[2], &mac[3],
		   &mac[4], &mac[5]) != 6 || getifaddrs(&all))
		return false;
	for (i = all; i && !found; i = i->ifa_next) {
		const struct sockaddr_ll *ll = (const struct sockaddr_ll *)i->ifa_addr;

		found = ll && ll->sll_family == AF_PACKET && ll->sll_halen == sizeof(mac) &&
			!memcmp(ll->sll_addr, mac, sizeof(mac));
		if (found)
			snprintf(name, size, "%s", i->ifa_name);
	}
	freeifaddrs(all);
	return found;
}

/**
 * ri_netdev_of() - The network interface of a device
 * @device: a device of verbs
 * @name: set to the name of the interface
 * @size: size of @name
 *
 * Context: any thread; sleeps.
 * Return: false if there is none.
 */
bool ri_netdev_of(const struct ibv_device *device, char *name, size_t size)
{
	return read_line(device->ibdev_path, "ports/1/gid_attrs/ndevs/0", name, size) ||
	       netdev_of_mac(device, name, size);
}

static socklen_t length_of(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The GID of an address: IPv4 is mapped into IPv6 */
static struct in6_addr gid_of(const struct sockaddr *addr)
{
	struct in6_addr gid = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	if (addr->sa_family == AF_INET6)
		return ((const struct sockaddr_in6 *)addr)->sin6_addr;
	memcpy(&gid.s6_addr[12], &((const struct sockaddr_in *)addr)->sin_addr, 4);
	return gid;
}

static bool same_address(const struct sockaddr *one, const struct sockaddr *two)
{
	struct in6_addr a, b;

	if (!one || one->sa_family != two->sa_family)
		return false;
	a = gid_of(one);
	b = gid_of(two);
	return !memcmp(&a, &b, sizeof(a));
}

/* The interface of this network namespace that has an address */
static bool interface_of(const struct sockaddr *addr, char *name, size_t size)
{
	struct ifaddrs *all, *ifa;

	if (getifaddrs(&all))
		return false;
	ifa = all;
	while (ifa && !same_address(ifa->ifa_addr, addr))
		ifa = ifa->ifa_next;
	if (ifa)
		snprintf(name, size, "%s", ifa->ifa_name);
	freeifaddrs(all);
	return ifa;
}

static bool read_gid(const struct ibv_device *device, unsigned int i, struct in6_addr *gid)
{
	char file[32], line[64];

	snprintf(file, sizeof(file), "ports/1/gids/%u", i);
	return read_line(device->ibdev_path, file, line, sizeof(line)) &&
	       inet_pton(AF_INET6, line, gid) == 1 && !IN6_IS_ADDR_UNSPECIFIED(gid);
}

/* All GIDs but the first, which is the hardware address, are addresses */
static unsigned int addresses_of_gids(const struct ibv_device *device, struct in6_addr *addrs)
{
	unsigned int i, n = 0;

	for (i = 1; i < MAX_GIDS; i++)
		n += read_gid(device, i, &addrs[n]);
	return n;
}

/* The interface's name is not enough: another network namespace may have one of that name. */
static bool has_gid(const struct ibv_device *device, const struct sockaddr *addr)
{
	struct in6_addr want = gid_of(addr), gids[MAX_GIDS];
	unsigned int i = 0, n = addresses_of_gids(device, gids);

	while (i < n && memcmp(&gids[i], &want, sizeof(want)))
		i++;
	return i < n;
}

static bool serves(struct ibv_device *device, const char *netdev, const struct sockaddr *addr)
{
	char name[64];

	return ri_netdev_of(device, name, sizeof(name)) && !strcmp(name, netdev) &&
	       (!srnicdv_is_supported(device) || has_gid(device, addr));
}

static bool is_address(const struct sockaddr *addr)
{
	return addr && (addr->sa_family == AF_INET || addr->sa_family == AF_INET6);
}

static unsigned int addresses_of_interface(const struct ibv_device *device, struct in6_addr *addrs)
{
	struct ifaddrs *all, *i;
	unsigned int n = 0;
	char name[64];

	if (!ri_netdev_of(device, name, sizeof(name)) || getifaddrs(&all))
		return 0;
	for (i = all; i && n < RI_MAX_ADDRS; i = i->ifa_next)
		if (is_address(i->ifa_addr) && !strcmp(i->ifa_name, name))
			addrs[n++] = gid_of(i->ifa_addr);
	freeifaddrs(all);
	return n;
}

/**
 * ri_addresses_of() - The IP addresses of a device
 * @device: a device of verbs
 * @addrs: RI_MAX_ADDRS of them; those of IPv4 are mapped into IPv6
 *
 * Those of an srnic device are its own, whatever the caller's network namespace is.
 *
 * Context: any thread; sleeps.
 * Return: their number.
 */
unsigned int ri_addresses_of(struct ibv_device *device, struct in6_addr *addrs)
{
	return srnicdv_is_supported(device) ? addresses_of_gids(device, addrs) :
					      addresses_of_interface(device, addrs);
}

/**
 * rix_rnic_by_local_addr() - The device that has an address
 * @addr: an IP address of this host; the port is ignored
 * @vp_hdl: the device
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps; takes ri_lock.
 * Return: RI_RET_SUCCESS, RI_RET_INVALID_PARAMETER, RI_RET_RESOURCE_SHORTAGE;
 * RI_RET_RNIC_NOT_OPEN: no device has it
 */
ri_api_return_t rix_rnic_by_local_addr(const struct sockaddr *addr, ri_vp_handle_t *vp_hdl,
				       ri_err_data_t *err_data)
{
	struct ibv_device **list;
	char netdev[64];
	int i = 0;
	KEEP_ERRNO;

	if (!is_address(addr) || !vp_hdl)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	*vp_hdl = NULL;
	if (!interface_of(addr, netdev, sizeof(netdev)))
		return ri_answer(err_data, RI_RET_RNIC_NOT_OPEN);
	list = ri_device_list();
	if (!list)
		return ri_failed(err_data, errno, RI_RET_FAIL);
	while (list[i] && !serves(list[i], netdev, addr))
		i++;
	if (list[i])
		*vp_hdl = ri_vp_of(list[i]);
	ibv_free_device_list(list);
	return *vp_hdl ? ri_done(err_data) : ri_answer(err_data, RI_RET_RNIC_NOT_OPEN);
}

/**
 * rix_rnic_by_remote_addr() - The device that the host routes an address to
 * @addr: an IP address; the port is ignored
 * @vp_hdl: set to the device
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps; takes ri_lock.
 * Return: RI_RET_SUCCESS, RI_RET_INVALID_PARAMETER, RI_RET_RESOURCE_SHORTAGE;
 * RI_RET_RNIC_NOT_OPEN: there is no route, or not over a device
 */
ri_api_return_t rix_rnic_by_remote_addr(const struct sockaddr *addr, ri_vp_handle_t *vp_hdl,
					ri_err_data_t *err_data)
{
	struct sockaddr_storage to = { 0 }, from;
	socklen_t len = sizeof(from);
	bool found;
	int fd;
	KEEP_ERRNO;

	if (!is_address(addr) || !vp_hdl)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	memcpy(&to, addr, length_of(addr));
	((struct sockaddr_in *)&to)->sin_port = htons(9);	/* same offset as for IPv6 */
	fd = socket(addr->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return ri_failed(err_data, errno, RI_RET_FAIL);
	/* connect() of a datagram socket finds the route, and sends nothing */
	found = !connect(fd, (struct sockaddr *)&to, length_of(addr)) &&
		!getsockname(fd, (struct sockaddr *)&from, &len);
	close(fd);
	if (!found)
		return ri_answer(err_data, RI_RET_RNIC_NOT_OPEN);
	return rix_rnic_by_local_addr((struct sockaddr *)&from, vp_hdl, err_data);
}
