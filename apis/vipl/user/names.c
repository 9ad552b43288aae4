// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The name service of the Developer's Guide, on top of the system's resolver */
#include <netdb.h>
#include <string.h>
#include "dg.h"
#include "kind.h"
#include "nic.h"

static VIP_RETURN check_nic(VIP_NIC_HANDLE handle)
{
	return handle_object(VIPL_NIC, handle) ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/**
 * VipNSInit() - Begin to use the name service
 * @NicHandle: of VipOpenNic()
 * @NSInitInfo: ignored; the system's configuration applies
 *
 * The other functions work without it as well.
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipNSInit(VIP_NIC_HANDLE NicHandle, VIP_PVOID NSInitInfo)
{
	(void)NSInitInfo;
	return check_nic(NicHandle);
}

/**
 * VipNSShutdown() - End the use of the name service
 * @NicHandle: of VipOpenNic()
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipNSShutdown(VIP_NIC_HANDLE NicHandle)
{
	return check_nic(NicHandle);
}

static const struct addrinfo *address_number(const struct addrinfo *ai, VIP_ULONG index)
{
	while (ai && index--)
		ai = ai->ai_next;
	return ai;
}

static VIP_RETURN host_by_name(const char *name, VIP_NET_ADDRESS *address, VIP_ULONG index)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *all;
	const struct addrinfo *ai;

	if (getaddrinfo(name, NULL, &hints, &all))
		return VIP_ERROR_NAMESERVICE;
	ai = address_number(all, index);
	if (ai) {
		address->HostAddressLen = VIPL_ADDRESS_LEN;
		memcpy(address->HostAddress, &((struct sockaddr_in *)ai->ai_addr)->sin_addr,
		       VIPL_ADDRESS_LEN);
	}
	freeaddrinfo(all);
	return ai ? VIP_SUCCESS : VIP_ERROR_NAMESERVICE;
}

/**
 * VipNSGetHostByName() - The address of a host
 * @NicHandle: of VipOpenNic()
 * @Name: as getaddrinfo(3) takes it
 * @Address: its host is filled in; the discriminator and its length stay as they are
 * @NameIndex: index of the host's address, from 0 on
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_NAMESERVICE: there is none.
 */
VIP_RETURN VipNSGetHostByName(VIP_NIC_HANDLE NicHandle, VIP_CHAR *Name, VIP_NET_ADDRESS *Address,
			      VIP_ULONG NameIndex)
{
	if (!Name || !Address || check_nic(NicHandle))
		return VIP_INVALID_PARAMETER;
	return host_by_name(Name, Address, NameIndex);
}

/**
 * VipNSGetHostByAddr() - The name of a host
 * @NicHandle: of VipOpenNic()
 * @Address: only its host is used
 * @Name: set to the name, with a NUL
 * @NameLen: in: size of @Name; out: length of the name without the NUL
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_NAMESERVICE: it has no name, or a
 * longer one.
 */
VIP_RETURN VipNSGetHostByAddr(VIP_NIC_HANDLE NicHandle, VIP_NET_ADDRESS *Address, VIP_CHAR *Name,
			      VIP_ULONG *NameLen)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };

	if (!Address || !Name || !NameLen || Address->HostAddressLen != VIPL_ADDRESS_LEN ||
	    check_nic(NicHandle))
		return VIP_INVALID_PARAMETER;
	memcpy(&addr.sin_addr, Address->HostAddress, VIPL_ADDRESS_LEN);
	if (getnameinfo((struct sockaddr *)&addr, sizeof(addr), Name, *NameLen, NULL, 0,
			NI_NAMEREQD))
		return VIP_ERROR_NAMESERVICE;
	*NameLen = strlen(Name);
	return VIP_SUCCESS;
}
