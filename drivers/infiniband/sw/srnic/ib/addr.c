// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Socket addresses of GIDs. */

#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include "ib/addr.h"
#include "srnic.h"

/**
 * srnic_addr_of_gid - convert a GID to a socket address
 * @dev: the device; its interface is the scope of a link-local address
 * @gid: an IPv6 address, or an IPv4 address mapped into it
 * @port: port of the address
 * @addr: filled in; bytes after the address are 0
 *
 * Context: any.
 */
void srnic_addr_of_gid(const struct srnic_device *dev, const union ib_gid *gid, u16 port,
		       struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	memset(addr, 0, sizeof(*addr));
	rdma_gid2ip((struct sockaddr *)addr, gid);
	/* at the same offset in both kinds of addresses */
	in6->sin6_port = htons(port);
	if (addr->ss_family == AF_INET6 &&
	    ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		in6->sin6_scope_id = dev->netdev->ifindex;
}

/**
 * srnic_addr_is_unicast - can it be the address of one host?
 * @addr: of AF_INET or AF_INET6
 *
 * Context: any.
 */
bool srnic_addr_is_unicast(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	const struct in6_addr *in6 = &((const struct sockaddr_in6 *)addr)->sin6_addr;

	if (addr->ss_family == AF_INET6)
		return !ipv6_addr_any(in6) && !ipv6_addr_is_multicast(in6);
	return !ipv4_is_zeronet(sin->sin_addr.s_addr) && !ipv4_is_lbcast(sin->sin_addr.s_addr) &&
	       !ipv4_is_multicast(sin->sin_addr.s_addr);
}
