// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A server of several clients with one CQ. The library calls a function for each entry of the
 * CQ. The server sends each message back, and ends when all clients have left.
 *
 *	server NIC CLIENTS		pingpong is a client of it
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vipl.h>

#define DISC		"pingpong"
#define MAX_CLIENTS	64
#define MAX_BYTES	65536
#define RECVS		8	/* for the next message, and for sends that are not done yet */

struct client {
	VIP_VI_HANDLE vi;
	VIP_DESCRIPTOR *descs;		/* its receives; each is sent back */
	char *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned int num_clients, left;
static unsigned long messages;

static struct client clients[MAX_CLIENTS];
static VIP_NIC_HANDLE nic;
static VIP_CQ_HANDLE cq;
static VIP_MEM_HANDLE handle;

static void check(VIP_RETURN ret, const char *what)
{
	if (ret == VIP_SUCCESS)
		return;
	fprintf(stderr, "%s: VIP_RETURN %d\n", what, ret);
	exit(1);
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

static void post_recv(struct client *c, VIP_DESCRIPTOR *d)
{
	fill(d, c->data + (d - c->descs) * MAX_BYTES, MAX_BYTES);
	check(VipPostRecv(c->vi, d, handle), "VipPostRecv");
}

static struct client *client_of(VIP_VI_HANDLE vi)
{
	struct client *c = clients;

	while (c->vi != vi)
		c++;
	return c;
}

/* Sends a received message back; posts a sent descriptor as a receive again. */
static void turn(struct client *c, VIP_DESCRIPTOR *d, VIP_BOOLEAN recv)
{
	if (d->CS.Status & VIP_STATUS_ERROR_MASK) {
		left += d == c->descs && recv;
		return;
	}
	if (!recv) {
		post_recv(c, d);
		return;
	}
	messages++;
	fill(d, c->data + (d - c->descs) * MAX_BYTES, d->CS.Length);
	check(VipPostSend(c->vi, d, handle), "VipPostSend");
}

/* Called for one entry, so it registers for the next one */
static void on_entry(VIP_PVOID context, VIP_NIC_HANDLE nic_handle, VIP_VI_HANDLE vi,
		     VIP_BOOLEAN recv)
{
	VIP_DESCRIPTOR *d;

	(void)nic_handle;
	pthread_mutex_lock(&lock);
	check(recv ? VipRecvDone(vi, &d) : VipSendDone(vi, &d), "an entry has a descriptor");
	turn(client_of(vi), d, recv);
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	check(VipCQNotify(cq, context, on_entry), "VipCQNotify");
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)context;
	if (error->ErrorCode != VIP_ERROR_CONN_LOST)
		fprintf(stderr, "error %d\n", error->ErrorCode);
}

static void serve_one(VIP_VI_ATTRIBUTES *attr)
{
	char local[4 + sizeof(DISC)] __attribute__((aligned(8)));
	char remote[128] __attribute__((aligned(8)));
	VIP_NET_ADDRESS *addr = (VIP_NET_ADDRESS *)local;
	struct client *c = &clients[num_clients];
	VIP_VI_ATTRIBUTES theirs;
	VIP_CONN_HANDLE conn;
	unsigned int i;

	addr->HostAddressLen = 0;
	addr->DiscriminatorLen = sizeof(DISC);
	memcpy(local + 4, DISC, sizeof(DISC));
	check(VipConnectWait(nic, addr, VIP_INFINITE, (VIP_NET_ADDRESS *)remote, &theirs, &conn),
	      "VipConnectWait");
	pthread_mutex_lock(&lock);
	check(VipCreateVi(nic, attr, cq, cq, &c->vi), "VipCreateVi");
	for (i = 0; i < RECVS; i++)
		post_recv(c, &c->descs[i]);
	num_clients++;
	pthread_mutex_unlock(&lock);
	check(VipConnectAccept(conn, c->vi), "VipConnectAccept");
}

static void get_memory(VIP_PROTECTION_HANDLE ptag, unsigned int count)
{
	VIP_MEM_ATTRIBUTES mem = { .Ptag = ptag };
	size_t each = RECVS * (sizeof(VIP_DESCRIPTOR) + MAX_BYTES);
	char *p = aligned_alloc(4096, count * each);
	unsigned int i;

	check(p ? VIP_SUCCESS : VIP_ERROR_RESOURCE, "memory");
	check(VipRegisterMem(nic, p, count * each, &mem, &handle), "VipRegisterMem");
	for (i = 0; i < count; i++) {
		clients[i].descs = (VIP_DESCRIPTOR *)(p + i * each);
		clients[i].data = (char *)(clients[i].descs + RECVS);
	}
}

int main(int argc, char **argv)
{
	VIP_VI_ATTRIBUTES attr = {
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
		.MaxTransferSize = MAX_BYTES,
	};
	unsigned int i, count = argc == 3 ? atoi(argv[2]) : 0;

	if (count < 1 || count > MAX_CLIENTS) {
		fprintf(stderr, "usage: server NIC CLIENTS\n");
		return 2;
	}
	check(VipOpenNic(argv[1], &nic), "VipOpenNic");
	check(VipErrorCallback(nic, NULL, on_error), "VipErrorCallback");
	check(VipCreatePtag(nic, &attr.Ptag), "VipCreatePtag");
	check(VipCreateCQ(nic, 2 * RECVS * count, &cq), "VipCreateCQ");
	get_memory(attr.Ptag, count);
	check(VipCQNotify(cq, NULL, on_entry), "VipCQNotify");
	for (i = 0; i < count; i++)
		serve_one(&attr);
	pthread_mutex_lock(&lock);
	while (left < count)
		pthread_cond_wait(&changed, &lock);
	printf("%u clients, %lu messages\n", count, messages);
	pthread_mutex_unlock(&lock);
	check(VipCloseNic(nic), "VipCloseNic");
	return 0;
}
