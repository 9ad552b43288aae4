// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* CQs, with entries of descriptors that an Idle VI flushes. */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common.h"
#include "objects.h"

static VIP_NIC_HANDLE nic;
static VIP_CQ_HANDLE cq;
static VIP_VI_HANDLE vi;	/* both of its queues are bound to @cq */
static VIP_DESCRIPTOR *desc;
static VIP_MEM_HANDLE handle;

static void start(VIP_ULONG entries)
{
	VIP_MEM_ATTRIBUTES mem = { 0 };
	VIP_VI_ATTRIBUTES attr;

	nic = open_nic();
	attr = plain_vi(nic);
	mem.Ptag = attr.Ptag;
	expect(VIP_SUCCESS, VipCreateCQ(nic, entries, &cq));
	expect(VIP_SUCCESS, VipCreateVi(nic, &attr, cq, cq, &vi));
	desc = map(4096, PROT_READ | PROT_WRITE);
	expect(VIP_SUCCESS, VipRegisterMem(nic, desc, 4096, &mem, &handle));
}

static void post_sends(int count)
{
	while (count--)
		expect(VIP_SUCCESS, VipPostSend(vi, &desc[count], handle));
}

static void require_entry_of(VIP_VI_HANDLE of, VIP_BOOLEAN want)
{
	VIP_VI_HANDLE got;
	VIP_BOOLEAN recv;

	expect(VIP_SUCCESS, VipCQDone(cq, &got, &recv));
	require(got == of && recv == want, "of its VI and queue");
}

static void require_entry(VIP_BOOLEAN want)
{
	require_entry_of(vi, want);
}

static void require_no_entry(void)
{
	VIP_VI_HANDLE got = vi;
	VIP_BOOLEAN recv;

	expect(VIP_NOT_DONE, VipCQDone(cq, &got, &recv));
	require(!got, "no VI where there is no entry");
	expect(VIP_TIMEOUT, VipCQWait(cq, 1, &got, &recv));
}

void cq_life(void)
{
	VIP_CQ_HANDLE second;

	start(1024);
	expect(VIP_SUCCESS, VipCreateCQ(nic, 1, &second));
	require(second && second != cq, "each CQ is its own");
	expect(VIP_ERROR_RESOURCE, VipDestroyCQ(cq));
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_SUCCESS, VipDestroyCQ(cq));
	expect(VIP_INVALID_PARAMETER, VipDestroyCQ(cq));
	expect(VIP_SUCCESS, VipCloseNic(nic));
	expect(VIP_INVALID_PARAMETER, VipDestroyCQ(second));
}

static void bad_sizes(void)
{
	VIP_NIC_ATTRIBUTES limits;
	VIP_CQ_HANDLE none = NULL;

	expect(VIP_SUCCESS, VipQueryNic(nic, &limits));
	expect(VIP_INVALID_PARAMETER, VipCreateCQ(nic, 0, &none));
	expect(VIP_INVALID_PARAMETER, VipResizeCQ(cq, 0));
	expect(VIP_ERROR_RESOURCE, VipCreateCQ(nic, limits.MaxCQEntries + 1, &none));
	expect(VIP_ERROR_RESOURCE, VipResizeCQ(cq, limits.MaxCQEntries + 1));
	require(!none, "no handle of a CQ that is not made");
}

void cq_bad(void)
{
	VIP_NIC_HANDLE other = open_nic();
	VIP_VI_ATTRIBUTES attr = plain_vi(other);
	VIP_VI_HANDLE got;
	VIP_BOOLEAN recv;

	start(1);
	bad_sizes();
	expect(VIP_INVALID_PARAMETER, VipCreateCQ(nic, 1, NULL));
	expect(VIP_INVALID_PARAMETER, VipCreateCQ(STALE, 1, &got));
	expect(VIP_INVALID_PARAMETER, VipResizeCQ(vi, 1));
	expect(VIP_INVALID_PARAMETER, VipDestroyCQ(NULL));
	expect(VIP_INVALID_PARAMETER, VipCQDone(STALE, &got, &recv));
	expect(VIP_INVALID_PARAMETER, VipCQDone(cq, NULL, &recv));
	expect(VIP_INVALID_PARAMETER, VipCQWait(STALE, VIP_INFINITE, &got, &recv));
	expect(VIP_INVALID_PARAMETER, VipCQWait(cq, 0, &got, NULL));
	expect(VIP_INVALID_PARAMETER, VipCreateVi(other, &attr, cq, NULL, &got));
	expect(VIP_INVALID_PARAMETER, VipCreateVi(other, &attr, NULL, cq, &got));
	expect(VIP_SUCCESS, VipCloseNic(other));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

/* Entries of two VIs, in the order in which their descriptors are done (6.4.1) */
static void entries_of_two(void)
{
	VIP_VI_ATTRIBUTES attr;
	VIP_VI_HANDLE second;
	VIP_DESCRIPTOR *got;
	VIP_VI_STATE state;

	expect(VIP_SUCCESS, VipQueryVi(vi, &state, &attr));
	expect(VIP_SUCCESS, VipCreateVi(nic, &attr, cq, cq, &second));
	expect(VIP_SUCCESS, VipPostRecv(second, &desc[5], handle));
	expect(VIP_SUCCESS, VipPostSend(second, &desc[3], handle));
	expect(VIP_SUCCESS, VipPostSend(vi, &desc[4], handle));
	expect(VIP_SUCCESS, VipDisconnect(second));
	require_entry_of(second, VIP_FALSE);
	require_entry_of(vi, VIP_FALSE);
	require_entry_of(second, VIP_TRUE);
	require_no_entry();
	expect(VIP_SUCCESS, VipSendDone(vi, &got));
	require(got == &desc[4], "of its VI");
}

void cq_entries(void)
{
	VIP_DESCRIPTOR *got;

	start(1024);
	entries_of_two();
	expect(VIP_SUCCESS, VipPostRecv(vi, &desc[2], handle));
	require_no_entry();
	post_sends(2);
	require_entry(VIP_FALSE);
	expect(VIP_SUCCESS, VipDisconnect(vi));
	require_entry(VIP_FALSE);
	require_entry(VIP_TRUE);
	require_no_entry();
	expect(VIP_ERROR_RESOURCE, VipSendWait(vi, 0, &got));
	expect(VIP_ERROR_RESOURCE, VipRecvWait(vi, VIP_INFINITE, &got));
	expect(VIP_SUCCESS, VipSendDone(vi, &got));
	require(got == &desc[1], "an entry that is taken dequeues nothing");
	expect(VIP_SUCCESS, VipRecvDone(vi, &got));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

void cq_overrun(void)
{
	VIP_DESCRIPTOR *got;
	int i;

	start(2);
	post_sends(3);
	require_entry(VIP_FALSE);
	require_entry(VIP_FALSE);
	require_no_entry();
	for (i = 0; i < 3; i++)
		expect(VIP_SUCCESS, VipSendDone(vi, &got));
	post_sends(1);
	require_entry(VIP_FALSE);
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

/* Resizes the ring while its entries wrap around. */
void cq_resize(void)
{
	start(3);
	post_sends(2);
	require_entry(VIP_FALSE);
	require_entry(VIP_FALSE);
	expect(VIP_SUCCESS, VipPostRecv(vi, &desc[8], handle));
	expect(VIP_SUCCESS, VipDisconnect(vi));
	post_sends(2);
	expect(VIP_ERROR_RESOURCE, VipResizeCQ(cq, 2));
	expect(VIP_SUCCESS, VipResizeCQ(cq, 5));
	post_sends(2);
	expect(VIP_SUCCESS, VipResizeCQ(cq, 5));
	require_entry(VIP_TRUE);
	require_entry(VIP_FALSE);
	expect(VIP_SUCCESS, VipResizeCQ(cq, 3));
	require_entry(VIP_FALSE);
	require_entry(VIP_FALSE);
	require_entry(VIP_FALSE);
	require_no_entry();
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void *send_soon(void *unused)
{
	(void)unused;
	usleep(100000);
	post_sends(1);
	return NULL;
}

static void *close_soon(void *unused)
{
	(void)unused;
	usleep(100000);
	expect(VIP_SUCCESS, VipCloseNic(nic));
	return NULL;
}

/* Waits while another thread runs @meanwhile. Return: the code of the wait */
static VIP_RETURN wait_while(void *(*meanwhile)(void *), VIP_VI_HANDLE *got)
{
	VIP_BOOLEAN recv;
	pthread_t thread;
	VIP_RETURN ret;

	require(!pthread_create(&thread, NULL, meanwhile, NULL), "a thread");
	ret = noted(VipCQWait(cq, VIP_INFINITE, got, &recv));
	pthread_join(thread, NULL);
	return ret;
}

void cq_wait(void)
{
	VIP_DESCRIPTOR *sent;
	VIP_VI_HANDLE got;

	start(1);
	expect(VIP_SUCCESS, wait_while(send_soon, &got));
	require(got == vi, "the VI that sent");
	expect(VIP_SUCCESS, VipSendDone(vi, &sent));
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_INVALID_PARAMETER, wait_while(close_soon, &got));
}
