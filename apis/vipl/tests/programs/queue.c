// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The queues of a VI without a connection. */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "common.h"
#include "objects.h"

#define FLUSHED		(VIP_STATUS_DONE | VIP_STATUS_DESC_FLUSHED_ERROR)
#define STALE_STATUS	(VIP_STATUS_DONE | VIP_STATUS_IMMEDIATE)
#define DESCS		4096
#define BYTES		(DESCS * sizeof(VIP_DESCRIPTOR))

static VIP_NIC_HANDLE nic;
static VIP_VI_HANDLE vi;
static VIP_DESCRIPTOR *desc;	/* DESCS of them, in memory of @handle */
static VIP_MEM_HANDLE handle;
static VIP_MEM_ATTRIBUTES mem;

static void start(void)
{
	VIP_VI_ATTRIBUTES attr;

	nic = open_nic();
	attr = plain_vi(nic);
	vi = make_vi(nic, &attr);
	mem.Ptag = attr.Ptag;
	desc = map(BYTES, PROT_READ | PROT_WRITE);
	expect(VIP_SUCCESS, VipRegisterMem(nic, desc, BYTES, &mem, &handle));
}

/* Checks that @want is the completed head of the queue; NULL: the head is not done */
static void require_next(bool recv, VIP_DESCRIPTOR *want)
{
	VIP_RETURN ret = want ? VIP_SUCCESS : VIP_NOT_DONE;
	VIP_DESCRIPTOR *got = desc;

	if (recv)
		expect(ret, VipRecvDone(vi, &got));
	else
		expect(ret, VipSendDone(vi, &got));
	require(got == want, "%p, not %p", (void *)got, (void *)want);
}

static void require_recv(VIP_DESCRIPTOR *want)
{
	require_next(true, want);
}

static void require_send(VIP_DESCRIPTOR *want)
{
	require_next(false, want);
}

void idle_recv(void)
{
	start();
	desc[0].CS.Status = STALE_STATUS;
	desc[0].CS.Control = VIP_CONTROL_IMMEDIATE;
	expect(VIP_SUCCESS, VipPostRecv(vi, &desc[0], handle));
	expect(VIP_SUCCESS, VipPostRecv(vi, &desc[1], handle));
	require(!desc[0].CS.Status, "what the last use left is gone");
	require_recv(NULL);
	expect(VIP_ERROR_RESOURCE, VipDestroyVi(vi));
	expect(VIP_SUCCESS, VipDisconnect(vi));
	require(desc[1].CS.Status == (FLUSHED | VIP_STATUS_OP_RECEIVE), "%#x",
		desc[1].CS.Status);
	require(!desc[0].CS.Control, "no immediate data came (10.2)");
	expect(VIP_ERROR_RESOURCE, VipDestroyVi(vi));
	require_recv(&desc[0]);
	require_recv(&desc[1]);
	require_recv(NULL);
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

void idle_send(void)
{
	start();
	desc[1].CS.Control = VIP_CONTROL_OP_RDMAWRITE;
	desc[2].CS.Control = VIP_CONTROL_OP_RDMA_READ;
	expect(VIP_SUCCESS, VipPostSend(vi, &desc[0], handle));
	expect(VIP_SUCCESS, VipPostSend(vi, &desc[1], handle));
	expect(VIP_SUCCESS, VipPostSend(vi, &desc[2], handle));
	require(desc[0].CS.Status == (FLUSHED | VIP_STATUS_OP_SEND), "%#x", desc[0].CS.Status);
	require(desc[1].CS.Status == (FLUSHED | VIP_STATUS_OP_RDMA_WRITE), "%#x",
		desc[1].CS.Status);
	require(desc[2].CS.Status == (FLUSHED | VIP_STATUS_OP_RDMA_READ), "%#x",
		desc[2].CS.Status);
	require_recv(NULL);
	require_send(&desc[0]);
	require_send(&desc[1]);
	require_send(&desc[2]);
	require_send(NULL);
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void require_not_queued(VIP_DESCRIPTOR *d, VIP_MEM_HANDLE h)
{
	expect(VIP_SUCCESS, VipPostSend(vi, d, h));
	require_send(NULL);
}

void post_bad(void)
{
	VIP_MEM_ATTRIBUTES other;
	VIP_MEM_HANDLE foreign, fixed;
	void *read_only;

	start();
	other = (VIP_MEM_ATTRIBUTES){ make_ptag(nic), VIP_FALSE, VIP_FALSE };
	read_only = map(4096, PROT_READ);
	expect(VIP_SUCCESS, VipRegisterMem(nic, desc, BYTES, &other, &foreign));
	expect(VIP_SUCCESS, VipRegisterMem(nic, read_only, 4096, &mem, &fixed));
	desc[DESCS - 1].CS.SegCount = 3;
	require_not_queued(&desc[DESCS - 1], handle);
	desc[DESCS - 1].CS.SegCount = 2;
	expect(VIP_SUCCESS, VipPostSend(vi, &desc[DESCS - 1], handle));
	require_send(&desc[DESCS - 1]);
	require_not_queued(NULL, handle);
	require_not_queued(desc, 0);
	require_not_queued(desc, foreign);
	require_not_queued(read_only, fixed);
	require_not_queued((void *)((char *)desc + 32), handle);
	require_not_queued(desc - 1, handle);
	require_not_queued((void *)-64, handle);
	expect(VIP_INVALID_PARAMETER, VipPostSend(NULL, desc, handle));
	expect(VIP_INVALID_PARAMETER, VipPostRecv(nic, desc, handle));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

void post_full(void)
{
	VIP_NIC_ATTRIBUTES limits;
	unsigned long i;

	start();
	expect(VIP_SUCCESS, VipQueryNic(nic, &limits));
	require(limits.MaxDescriptorsPerQueue < DESCS, "%lu", limits.MaxDescriptorsPerQueue);
	for (i = 0; i <= limits.MaxDescriptorsPerQueue; i++)
		expect(VIP_SUCCESS, VipPostRecv(vi, &desc[i], handle));
	expect(VIP_SUCCESS, VipDisconnect(vi));
	for (i = 0; i < limits.MaxDescriptorsPerQueue; i++)
		require_recv(&desc[i]);
	require_recv(NULL);
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

void post_dereg(void)
{
	start();
	expect(VIP_SUCCESS, VipPostRecv(vi, desc, handle));
	expect(VIP_SUCCESS, VipDeregisterMem(nic, desc, handle));
	munmap(desc, BYTES);
	expect(VIP_SUCCESS, VipDisconnect(vi));
	require_recv(desc);
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

void dequeue_bad(void)
{
	VIP_DESCRIPTOR *got;

	start();
	expect(VIP_INVALID_PARAMETER, VipSendDone(vi, NULL));
	expect(VIP_INVALID_PARAMETER, VipRecvDone(vi, NULL));
	expect(VIP_INVALID_PARAMETER, VipSendWait(vi, 0, NULL));
	expect(VIP_INVALID_PARAMETER, VipRecvWait(vi, 0, NULL));
	expect(VIP_INVALID_PARAMETER, VipSendDone(STALE, &got));
	expect(VIP_INVALID_PARAMETER, VipRecvDone(NULL, &got));
	expect(VIP_INVALID_PARAMETER, VipSendWait(nic, 0, &got));
	expect(VIP_INVALID_PARAMETER, VipRecvWait(STALE, VIP_INFINITE, &got));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void *disconnect_soon(void *unused)
{
	(void)unused;
	usleep(100000);
	expect(VIP_SUCCESS, VipDisconnect(vi));
	return NULL;
}

static void *destroy_soon(void *unused)
{
	(void)unused;
	usleep(100000);
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	return NULL;
}

/* Waits while another thread runs @meanwhile. Return: the code of the wait */
static VIP_RETURN wait_while(void *(*meanwhile)(void *), VIP_ULONG msecs, VIP_DESCRIPTOR **got)
{
	pthread_t thread;
	VIP_RETURN ret;

	require(!pthread_create(&thread, NULL, meanwhile, NULL), "a thread");
	ret = VipRecvWait(vi, msecs, got);
	pthread_join(thread, NULL);
	return ret;
}

static long msecs_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void wait_time(void)
{
	VIP_DESCRIPTOR *got;
	long since;

	start();
	expect(VIP_TIMEOUT, VipSendWait(vi, 0, &got));
	since = msecs_now();
	expect(VIP_TIMEOUT, VipRecvWait(vi, 1100, &got));
	require(msecs_now() - since >= 1099, "after %ld ms", msecs_now() - since);
	expect(VIP_SUCCESS, VipPostRecv(vi, desc, handle));
	expect(VIP_TIMEOUT, VipRecvWait(vi, 1, &got));
	expect(VIP_SUCCESS, wait_while(disconnect_soon, 0xffffffff, &got));
	require(got == desc, "the one that was flushed");
	expect(VIP_INVALID_PARAMETER, wait_while(destroy_soon, VIP_INFINITE, &got));
	require(!got, "nothing of a VI that is gone");
	expect(VIP_SUCCESS, VipCloseNic(nic));
}
