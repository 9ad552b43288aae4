// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Habits of old programs for VI: one region with descriptors and data, registered more than
 * once; addresses with uninitialized tails; no tag and no quality of service; the name service
 * is shut down before it is needed; the program polls statuses in memory, posts descriptors
 * again at once, and destroys nothing.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "dg.h"

#define MESSAGES	50
#define DATA		64

struct player {
	VIP_NIC_HANDLE nic;
	VIP_VI_HANDLE vi;
	VIP_MEM_HANDLE desc_handle, data_handle;
	VIP_DESCRIPTOR *recv, *send;	/* the data of each is right after it */
};

static void get_memory(struct player *p)
{
	VIP_MEM_ATTRIBUTES mem = { 0 };
	char *region;

	require(!posix_memalign((void **)&region, 64, 4096), "memory");
	memset(region, 0xff, 4096);
	expect(VIP_SUCCESS, VipRegisterMem(p->nic, region, 4096, &mem, &p->desc_handle));
	expect(VIP_SUCCESS, VipRegisterMem(p->nic, region, 4096, &mem, &p->data_handle));
	p->recv = (void *)region;
	p->send = (void *)(region + 1024);
}

static void join(struct player *p)
{
	p->nic = open_nic();
	expect(VIP_SUCCESS, VipNSInit(p->nic, NULL));
	expect(VIP_SUCCESS, VipNSShutdown(p->nic));
	p->vi = make_vi(p->nic);
	get_memory(p);
}

/* Keeps the status of the descriptor's last use. */
static void prepare(struct player *p, VIP_DESCRIPTOR *d)
{
	d->CS.Reserved = 0;
	d->CS.Control = VIP_CONTROL_OP_SENDRECV;
	d->CS.SegCount = 1;
	d->CS.Length = DATA;
	d->DS[0].Local.Data.Address = d + 1;
	d->DS[0].Local.Handle = p->data_handle;
	d->DS[0].Local.Length = DATA;
}

static void spin(VIP_DESCRIPTOR *d)
{
	while (!(__atomic_load_n(&d->CS.Status, __ATOMIC_ACQUIRE) & VIP_STATUS_DONE))
		;
	require(!(d->CS.Status & VIP_STATUS_ERROR_MASK), "%#x", d->CS.Status);
}

static void hear(struct player *p, unsigned char want)
{
	VIP_DESCRIPTOR *got;

	spin(p->recv);
	require(*(unsigned char *)(p->recv + 1) == want, "%d, not %d",
		*(unsigned char *)(p->recv + 1), want);
	expect(VIP_SUCCESS, VipRecvDone(p->vi, &got));
	expect(VIP_SUCCESS, VipPostRecv(p->vi, got, p->desc_handle));
}

static void say(struct player *p, unsigned char what)
{
	VIP_DESCRIPTOR *got;

	prepare(p, p->send);
	memset(p->send + 1, what, DATA);
	expect(VIP_SUCCESS, VipPostSend(p->vi, p->send, p->desc_handle));
	spin(p->send);
	expect(VIP_SUCCESS, VipSendDone(p->vi, &got));
}

/* With an uninitialized tail */
static union address dirty_address(const char *disc)
{
	union address a, clean = address_of(disc);

	memset(&a, 0xa5, sizeof(a));
	memcpy(&a, &clean, 8 + strlen(disc));
	return a;
}

static void *serve(void *arg)
{
	union address local = dirty_address("pong"), remote;
	struct player *p = arg;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	unsigned int i;

	expect(VIP_SUCCESS, VipConnectWait(p->nic, &local.net, LONG, &remote.net, &attr, &conn));
	expect(VIP_SUCCESS, VipConnectAccept(conn, p->vi));
	for (i = 0; i < MESSAGES; i++) {
		hear(p, i);
		say(p, i + 1);
	}
	return NULL;
}

/* Tries until the server is there, as old programs do */
static void call(struct player *p)
{
	union address local = dirty_address(""), remote = dirty_address("pong");
	VIP_VI_ATTRIBUTES attr;
	VIP_RETURN ret;

	while ((ret = VipConnectRequest(p->vi, &local.net, &remote.net, LONG, &attr)) == VIP_NO_MATCH)
		usleep(10000);
	require(!ret, "%d", ret);
}

void pong(void)
{
	struct player server, client;
	pthread_t thread;
	unsigned int i;

	join(&server);
	join(&client);
	prepare(&server, server.recv);
	prepare(&client, client.recv);
	expect(VIP_SUCCESS, VipPostRecv(server.vi, server.recv, server.desc_handle));
	expect(VIP_SUCCESS, VipPostRecv(client.vi, client.recv, client.desc_handle));
	require(!pthread_create(&thread, NULL, serve, &server), "a thread");
	call(&client);
	for (i = 0; i < MESSAGES; i++) {
		say(&client, i);
		hear(&client, i + 1);
	}
	pthread_join(thread, NULL);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_ERROR_RESOURCE, VipDestroyVi(client.vi));
	expect(VIP_SUCCESS, VipCloseNic(client.nic));
	expect(VIP_SUCCESS, VipCloseNic(server.nic));
}

/* Exits while connected, with posted receives, waits for requests and registered handlers */
void leave_all(void)
{
	struct player server, client;
	pthread_t thread;

	join(&server);
	join(&client);
	prepare(&server, server.recv);
	expect(VIP_SUCCESS, VipPostRecv(server.vi, server.recv, server.desc_handle));
	require(!pthread_create(&thread, NULL, serve, &server), "a thread");
	call(&client);
}
