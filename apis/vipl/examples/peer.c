// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two peers connect, neither of which is the server, and send each other their names. It is
 * written for the Developer's Guide (VIPL_DG).
 *
 *	peer NIC MY-NAME HOST YOUR-NAME
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define VIPL_DG
#include <vipl.h>

#define NAME_MAX_LEN	32

union address {
	VIP_NET_ADDRESS net;
	char room[4 + 4 + NAME_MAX_LEN];
};

static void check(VIP_RETURN ret, const char *what)
{
	if (ret == VIP_SUCCESS)
		return;
	fprintf(stderr, "%s: VIP_RETURN %d\n", what, ret);
	exit(1);
}

/* A name is the discriminator */
static union address make_address(VIP_NIC_HANDLE nic, char *host, const char *name)
{
	union address a;

	memset(&a, 0, sizeof(a));
	a.net.HostAddressLen = 0;
	if (host)
		check(VipNSGetHostByName(nic, host, &a.net, 0), host);
	a.net.DiscriminatorLen = strnlen(name, NAME_MAX_LEN);
	memcpy(a.net.HostAddress + a.net.HostAddressLen, name, a.net.DiscriminatorLen);
	return a;
}

static void fill(VIP_DESCRIPTOR *d, void *at, VIP_MEM_HANDLE handle)
{
	memset(d, 0, sizeof(*d));
	d->CS.SegCount = 1;
	d->CS.Length = NAME_MAX_LEN;
	d->DS[0].Local.Data.Address = at;
	d->DS[0].Local.Handle = handle;
	d->DS[0].Local.Length = NAME_MAX_LEN;
}

static void talk(VIP_VI_HANDLE vi, VIP_DESCRIPTOR *descs, VIP_MEM_HANDLE handle, char *names)
{
	VIP_DESCRIPTOR *done;

	fill(&descs[1], names, handle);
	check(VipPostSend(vi, &descs[1], handle), "VipPostSend");
	check(VipRecvWait(vi, 10000, &done), "VipRecvWait");
	check(VipSendWait(vi, 10000, &done), "VipSendWait");
	printf("%.*s heard %.*s\n", NAME_MAX_LEN, names, NAME_MAX_LEN, names + NAME_MAX_LEN);
}

int main(int argc, char **argv)
{
	VIP_VI_ATTRIBUTES attr = {
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
		.MaxTransferSize = 4096,
	};
	VIP_MEM_ATTRIBUTES mem = { 0 };
	union address local, remote;
	VIP_DESCRIPTOR *descs;
	VIP_MEM_HANDLE handle;
	VIP_NIC_HANDLE nic;
	VIP_VI_HANDLE vi;
	char *names;

	if (argc != 5) {
		fprintf(stderr, "usage: peer NIC MY-NAME HOST YOUR-NAME\n");
		return 2;
	}
	check(VipOpenNic(argv[1], &nic), "VipOpenNic");
	check(VipNSInit(nic, NULL), "VipNSInit");
	check(VipCreateVi(nic, &attr, NULL, NULL, &vi), "VipCreateVi");
	descs = aligned_alloc(4096, 4096);
	check(descs ? VIP_SUCCESS : VIP_ERROR_RESOURCE, "memory");
	memset(descs, 0, 4096);
	names = (char *)&descs[2];
	strncpy(names, argv[2], NAME_MAX_LEN);
	check(VipRegisterMem(nic, descs, 4096, &mem, &handle), "VipRegisterMem");
	fill(&descs[0], names + NAME_MAX_LEN, handle);
	check(VipPostRecv(vi, &descs[0], handle), "VipPostRecv");

	local = make_address(nic, NULL, argv[2]);
	remote = make_address(nic, argv[3], argv[4]);
	check(VipConnectPeerRequest(vi, &local.net, &remote.net, 10000), "VipConnectPeerRequest");
	check(VipConnectPeerWait(vi, &attr), "VipConnectPeerWait");
	talk(vi, descs, handle, names);
	check(VipDisconnect(vi), "VipDisconnect");
	check(VipNSShutdown(nic), "VipNSShutdown");
	check(VipCloseNic(nic), "VipCloseNic");
	return 0;
}
