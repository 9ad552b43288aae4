// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Ping-pong over VI: sends messages to and fro, and prints the median of half a round trip.
 *
 *	pingpong NIC			serves one client
 *	pingpong NIC HOST [BYTES [COUNT]]
 *
 * NIC is an RDMA device or a network interface, HOST an IPv4 address.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vipl.h>

#define DISC		"pingpong"
#define MAX_BYTES	65536

union address {
	VIP_NET_ADDRESS net;
	char room[4 + 4 + sizeof(DISC)];
};

static VIP_NIC_HANDLE nic;
static VIP_VI_HANDLE vi;
static VIP_MEM_HANDLE handle;
static VIP_DESCRIPTOR *recvs[2], *send_desc;
static char *data;	/* MAX_BYTES for each receive and for the send */

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
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
		.MaxTransferSize = MAX_BYTES,
	};
	VIP_MEM_ATTRIBUTES mem = { 0 };
	size_t len = 3 * sizeof(VIP_DESCRIPTOR) + 3 * MAX_BYTES;
	VIP_DESCRIPTOR *descs = aligned_alloc(VIP_DESCRIPTOR_ALIGNMENT, len);

	check(descs ? VIP_SUCCESS : VIP_ERROR_RESOURCE, "memory");
	memset(descs, 0, len);
	check(VipOpenNic(name, &nic), "VipOpenNic");
	check(VipCreatePtag(nic, &attr.Ptag), "VipCreatePtag");
	check(VipCreateVi(nic, &attr, NULL, NULL, &vi), "VipCreateVi");
	mem.Ptag = attr.Ptag;
	check(VipRegisterMem(nic, descs, len, &mem, &handle), "VipRegisterMem");
	recvs[0] = &descs[0];
	recvs[1] = &descs[1];
	send_desc = &descs[2];
	data = (char *)&descs[3];
}

static void fill(VIP_DESCRIPTOR *d, char *at, unsigned int bytes)
{
	memset(d, 0, sizeof(*d));
	d->CS.SegCount = 1;
	d->CS.Length = bytes;
	d->DS[0].Local.Data.Address = at;
	d->DS[0].Local.Handle = handle;
	d->DS[0].Local.Length = bytes;
}

static void post_recv(unsigned int i)
{
	fill(recvs[i], data + i * MAX_BYTES, MAX_BYTES);
	check(VipPostRecv(vi, recvs[i], handle), "VipPostRecv");
}

static void say(unsigned int bytes)
{
	VIP_DESCRIPTOR *done;

	fill(send_desc, data + 2 * MAX_BYTES, bytes);
	check(VipPostSend(vi, send_desc, handle), "VipPostSend");
	check(VipSendWait(vi, VIP_INFINITE, &done), "VipSendWait");
}

/* Receives a message. Return: its length; 0 when the peer has left */
static unsigned int hear(unsigned int i)
{
	VIP_DESCRIPTOR *done;
	unsigned int bytes;
	VIP_RETURN ret;

	while ((ret = VipRecvDone(vi, &done)) == VIP_NOT_DONE)
		;
	check(ret, "VipRecvDone");
	if (done->CS.Status & VIP_STATUS_ERROR_MASK)
		return 0;
	bytes = done->CS.Length;
	post_recv(i);
	return bytes;
}

static void serve(void)
{
	union address local = { .net = { 0, sizeof(DISC), { 0 } } };
	char remote[128];
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	unsigned int bytes, i = 0;

	memcpy(local.net.HostAddress, DISC, sizeof(DISC));
	check(VipConnectWait(nic, &local.net, VIP_INFINITE, (VIP_NET_ADDRESS *)remote, &attr,
			     &conn), "VipConnectWait");
	check(VipConnectAccept(conn, vi), "VipConnectAccept");
	while ((bytes = hear(i++ % 2)))
		say(bytes);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void call(const char *host, unsigned int bytes, unsigned int count)
{
	union address local = { .net = { 0, 0, { 0 } } };
	union address remote = { .net = { 4, sizeof(DISC), { 0 } } };
	VIP_VI_ATTRIBUTES attr;
	double *took = calloc(count, sizeof(*took)), begin;
	unsigned int i;

	check(took ? VIP_SUCCESS : VIP_ERROR_RESOURCE, "memory");
	if (inet_pton(AF_INET, host, remote.net.HostAddress) != 1)
		check(VIP_INVALID_PARAMETER, host);
	memcpy(remote.room + 8, DISC, sizeof(DISC));
	check(VipConnectRequest(vi, &local.net, &remote.net, 10000, &attr), "VipConnectRequest");
	for (i = 0; i < count; i++) {
		begin = now();
		say(bytes);
		if (hear(i % 2) != bytes)
			check(VIP_ERROR_RESOURCE, "a message");
		took[i] = now() - begin;
	}
	qsort(took, count, sizeof(*took), compare);
	printf("%u bytes, %u round trips: %.2f us each way\n", bytes, count,
	       took[count / 2] / 2);
	free(took);
}

int main(int argc, char **argv)
{
	unsigned int bytes = argc > 3 ? atoi(argv[3]) : 64;
	unsigned int count = argc > 4 ? atoi(argv[4]) : 1000;

	if (argc < 2 || bytes < 1 || bytes > MAX_BYTES || !count) {
		fprintf(stderr, "usage: pingpong NIC [HOST [BYTES [COUNT]]]\n");
		return 2;
	}
	open_all(argv[1]);
	post_recv(0);
	post_recv(1);
	if (argc > 2)
		call(argv[2], bytes, count);
	else
		serve();
	check(VipDisconnect(vi), "VipDisconnect");
	check(VipCloseNic(nic), "VipCloseNic");
	return 0;
}
