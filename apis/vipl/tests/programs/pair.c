// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Two VIs of one process, and helpers for their descriptors. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "pair.h"

struct end client, server;
const char *pair_name = "pair";

extern const char *test_addr;

/* An address with @disc as the discriminator */
static union address address_of(const char *host, const char *disc)
{
	union address a = { .net = { .HostAddressLen = 4, .DiscriminatorLen = strlen(disc) } };

	require(inet_pton(AF_INET, host, a.net.HostAddress) == 1, "%s", host);
	memcpy(a.room + 8, disc, strlen(disc));
	return a;
}

union address client_at(const char *disc)
{
	return address_of(test_addr, disc);
}

union address server_at(const char *disc)
{
	const char *host = getenv("VIPL_SERVER");

	return address_of(host ? host : test_addr, disc);
}

/* --- the server's network namespace --- */

static void enter_netns(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && !setns(fd, CLONE_NEWNET), "%s", path);
	close(fd);
}

/* Sets this thread's namespace; threads that it starts inherit it */
void enter_server(void)
{
	const char *path = getenv("VIPL_SERVER_NETNS");

	if (path)
		enter_netns(path);
}

void leave_server(void)
{
	if (getenv("VIPL_SERVER_NETNS"))
		enter_netns(name_of("VIPL_NETNS"));
}

static void open_end_nic(struct end *end)
{
	const char *name = getenv("VIPL_SERVER_DEVICE");

	if (end == &server && name)
		expect(VIP_SUCCESS, at_server(VipOpenNic(name, &end->nic)));
	else
		end->nic = open_nic();
}

void open_end(struct end *end)
{
	size_t len = PAIR_DESCS * DESC_BYTES + DATA_BYTES;

	open_end_nic(end);
	end->attr = plain_vi(end->nic);
	end->attr.MaxTransferSize = 65536;
	end->attr.EnableRdmaWrite = VIP_TRUE;
	end->attr.EnableRdmaRead = VIP_TRUE;
	end->vi = make_vi(end->nic, &end->attr);
	end->mem = (VIP_MEM_ATTRIBUTES){ end->attr.Ptag, VIP_TRUE, VIP_TRUE };
	end->descs = map(len + GUARD_BYTES, PROT_READ | PROT_WRITE);
	end->data = end->descs + PAIR_DESCS * DESC_BYTES;
	expect(VIP_SUCCESS, VipRegisterMem(end->nic, end->descs, len, &end->mem, &end->handle));
}

void open_pair(void)
{
	open_end(&client);
	open_end(&server);
}

static void *accept_one(void *unused)
{
	union address local = server_at(pair_name), remote;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	(void)unused;
	expect(VIP_SUCCESS, at_server(VipConnectWait(server.nic, &local.net, LONG, &remote.net, &attr,
						     &conn)));
	expect(VIP_SUCCESS, VipConnectAccept(conn, server.vi));
	return NULL;
}

/* Connects the pair. Return: the code of the client's request */
VIP_RETURN try_connect(VIP_ULONG msecs)
{
	union address local = client_at(""), remote = server_at(pair_name);
	pthread_t thread;
	VIP_RETURN ret;

	require(!pthread_create(&thread, NULL, accept_one, NULL), "a thread");
	ret = noted(VipConnectRequest(client.vi, &local.net, &remote.net, msecs, &client.remote));
	pthread_join(thread, NULL);
	return ret;
}

void connect_pair(void)
{
	expect(VIP_SUCCESS, try_connect(LONG));
	require_state(&client, VIP_STATE_CONNECTED);
	require_state(&server, VIP_STATE_CONNECTED);
}

void close_pair(void)
{
	expect(VIP_SUCCESS, VipCloseNic(client.nic));
	expect(VIP_SUCCESS, VipCloseNic(server.nic));
}

/* A descriptor that is zero, except for the status of its last use */
VIP_DESCRIPTOR *desc_of(struct end *end, unsigned int i)
{
	VIP_DESCRIPTOR *d = (void *)(end->descs + i * DESC_BYTES);

	memset(d, 0, DESC_BYTES);
	d->CS.Status = VIP_STATUS_DONE | VIP_STATUS_IMMEDIATE;
	return d;
}

void add_segment(struct end *end, VIP_DESCRIPTOR *d, void *p, uint32_t len)
{
	VIP_DATA_SEGMENT *seg = &d->DS[d->CS.SegCount++].Local;

	seg->Data.Address = p;
	seg->Handle = end->handle;
	seg->Length = len;
	d->CS.Length += len;
}

/* Makes a descriptor with one segment of the data */
VIP_DESCRIPTOR *make_send(struct end *end, unsigned int i, unsigned int offset, uint32_t len)
{
	VIP_DESCRIPTOR *d = desc_of(end, i);

	add_segment(end, d, end->data + offset, len);
	return d;
}

VIP_DESCRIPTOR *make_rdma(struct end *end, unsigned int i, uint16_t op, const void *remote,
			  VIP_MEM_HANDLE handle)
{
	VIP_DESCRIPTOR *d = desc_of(end, i);

	d->CS.Control = op;
	d->CS.SegCount = 1;
	d->DS[0].Remote.Data.Address = (void *)remote;
	d->DS[0].Remote.Handle = handle;
	return d;
}

void post_send(struct end *end, VIP_DESCRIPTOR *d)
{
	expect(VIP_SUCCESS, VipPostSend(end->vi, d, end->handle));
}

void post_recv(struct end *end, VIP_DESCRIPTOR *d)
{
	expect(VIP_SUCCESS, VipPostRecv(end->vi, d, end->handle));
}

static void require_status(VIP_DESCRIPTOR *got, VIP_DESCRIPTOR *want, uint32_t status)
{
	require(got == want, "%p, not %p", (void *)got, (void *)want);
	require(got->CS.Status == status, "status %#x, not %#x", got->CS.Status, status);
}

void require_sent(struct end *end, VIP_DESCRIPTOR *d, uint32_t status)
{
	VIP_DESCRIPTOR *got;

	expect(VIP_SUCCESS, VipSendWait(end->vi, LONG, &got));
	require_status(got, d, status);
}

void require_received(struct end *end, VIP_DESCRIPTOR *d, uint32_t status)
{
	VIP_DESCRIPTOR *got;

	expect(VIP_SUCCESS, VipRecvWait(end->vi, LONG, &got));
	require_status(got, d, status | VIP_STATUS_OP_RECEIVE);
}

void require_state(struct end *end, VIP_VI_STATE want)
{
	VIP_VI_ATTRIBUTES attr;
	VIP_VI_STATE got;

	expect(VIP_SUCCESS, VipQueryVi(end->vi, &got, &attr));
	require(got == want, "state %d, not %d", got, want);
}

void fill(char *p, size_t len, unsigned int seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = (char)(seed + i * 31 + (i >> 8));
}
