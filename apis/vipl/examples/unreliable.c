// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unreliable Delivery: the sender does not wait for the receiver, and the receiver finds lost
 * messages by gaps in the immediate data.
 *
 *	unreliable NIC			receives until the sender has left
 *	unreliable NIC HOST [COUNT]
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vipl.h>

#define DISC		"lossy"
#define BYTES		256
#define DESCS		16

static VIP_NIC_HANDLE nic;
static VIP_VI_HANDLE vi;
static VIP_MEM_HANDLE handle;
static VIP_DESCRIPTOR *descs;
static char *data;

static void check(VIP_RETURN ret, const char *what)
{
	if (ret == VIP_SUCCESS)
		return;
	fprintf(stderr, "%s: VIP_RETURN %d\n", what, ret);
	exit(1);
}

static void open_all(const char *name)
{
	VIP_VI_ATTRIBUTES attr = {
		.ReliabilityLevel = VIP_SERVICE_UNRELIABLE,
		.MaxTransferSize = BYTES,
	};
	VIP_MEM_ATTRIBUTES mem = { 0 };
	size_t len = DESCS * (sizeof(VIP_DESCRIPTOR) + BYTES);

	descs = aligned_alloc(VIP_DESCRIPTOR_ALIGNMENT, len);
	check(descs ? VIP_SUCCESS : VIP_ERROR_RESOURCE, "memory");
	data = (char *)&descs[DESCS];
	check(VipOpenNic(name, &nic), "VipOpenNic");
	check(VipCreatePtag(nic, &attr.Ptag), "VipCreatePtag");
	check(VipCreateVi(nic, &attr, NULL, NULL, &vi), "VipCreateVi");
	mem.Ptag = attr.Ptag;
	check(VipRegisterMem(nic, descs, len, &mem, &handle), "VipRegisterMem");
}

static VIP_DESCRIPTOR *fill(unsigned int i)
{
	VIP_DESCRIPTOR *d = &descs[i];

	memset(d, 0, sizeof(*d));
	d->CS.SegCount = 1;
	d->CS.Length = BYTES;
	d->DS[0].Local.Data.Address = data + i * BYTES;
	d->DS[0].Local.Handle = handle;
	d->DS[0].Local.Length = BYTES;
	return d;
}

/* Takes the next message. Return: false when the sender has left */
static int next(VIP_DESCRIPTOR **d)
{
	check(VipRecvWait(vi, VIP_INFINITE, d), "VipRecvWait");
	return !((*d)->CS.Status & VIP_STATUS_DESC_FLUSHED_ERROR);
}

static void receive(void)
{
	struct {
		VIP_UINT16 host_len, disc_len;
		char disc[sizeof(DISC)];
	} local = { 0, sizeof(DISC), DISC };
	char remote[128] __attribute__((aligned(8)));
	unsigned int i, got = 0, lost = 0, expected = 0;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	VIP_DESCRIPTOR *d;

	check(VipConnectWait(nic, (VIP_NET_ADDRESS *)&local, VIP_INFINITE,
			     (VIP_NET_ADDRESS *)remote, &attr, &conn), "VipConnectWait");
	for (i = 0; i < DESCS; i++)
		check(VipPostRecv(vi, fill(i), handle), "VipPostRecv");
	check(VipConnectAccept(conn, vi), "VipConnectAccept");
	while (next(&d)) {
		got++;
		lost += d->CS.ImmediateData - expected;
		expected = d->CS.ImmediateData + 1;
		check(VipPostRecv(vi, fill(d - descs), handle), "VipPostRecv");
	}
	printf("%u messages received, %u lost before the last one\n", got, lost);
}

static void send_all(const char *host, unsigned int count)
{
	struct {
		VIP_UINT16 host_len, disc_len;
		unsigned char host[4];
		char disc[sizeof(DISC)];
	} remote = { 4, sizeof(DISC), { 0 }, DISC };
	VIP_NET_ADDRESS local = { 0, 0, { 0 } };
	VIP_VI_ATTRIBUTES attr;
	VIP_DESCRIPTOR *d;
	unsigned int i;

	if (inet_pton(AF_INET, host, remote.host) != 1)
		check(VIP_INVALID_PARAMETER, host);
	check(VipConnectRequest(vi, &local, (VIP_NET_ADDRESS *)&remote, 10000, &attr),
	      "VipConnectRequest");
	for (i = 0; i < count; i++) {
		d = fill(i % DESCS);
		d->CS.Control = VIP_CONTROL_IMMEDIATE;
		d->CS.ImmediateData = i;
		check(VipPostSend(vi, d, handle), "VipPostSend");
		check(VipSendWait(vi, VIP_INFINITE, &d), "VipSendWait");
	}
	printf("%u messages sent\n", count);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: unreliable NIC [HOST [COUNT]]\n");
		return 2;
	}
	open_all(argv[1]);
	if (argc > 2)
		send_all(argv[2], argc > 3 ? atoi(argv[3]) : 10000);
	else
		receive();
	check(VipDisconnect(vi), "VipDisconnect");
	check(VipCloseNic(nic), "VipCloseNic");
	return 0;
}
