// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* VIs without a connection: creation, changes, end. */
#include <sys/mman.h>
#include "common.h"
#include "objects.h"

static void require_idle(VIP_VI_HANDLE vi, const VIP_VI_ATTRIBUTES *want)
{
	VIP_VI_ATTRIBUTES got;
	VIP_VI_STATE state;

	expect(VIP_SUCCESS, VipQueryVi(vi, &state, &got));
	require(state == VIP_STATE_IDLE, "state %d", state);
	require(got.ReliabilityLevel == want->ReliabilityLevel &&
		got.MaxTransferSize == want->MaxTransferSize && got.QoS == want->QoS &&
		got.Ptag == want->Ptag && got.EnableRdmaWrite == want->EnableRdmaWrite &&
		got.EnableRdmaRead == want->EnableRdmaRead, "attributes as given");
}

void vi_life(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_VI_ATTRIBUTES attr = plain_vi(nic), got;
	VIP_VI_HANDLE vi, second;
	VIP_VI_STATE state;

	attr.EnableRdmaRead = VIP_TRUE;
	vi = make_vi(nic, &attr);
	second = make_vi(nic, &attr);
	require(vi != second, "each VI is its own");
	require_idle(vi, &attr);
	expect(VIP_INVALID_PARAMETER, VipQueryVi(vi, NULL, &got));
	expect(VIP_INVALID_PARAMETER, VipQueryVi(vi, &state, NULL));
	expect(VIP_INVALID_PARAMETER, VipQueryVi(STALE, &state, &got));
	expect(VIP_ERROR_RESOURCE, VipDestroyPtag(nic, attr.Ptag));
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_INVALID_PARAMETER, VipDestroyVi(vi));
	expect(VIP_INVALID_PARAMETER, VipQueryVi(vi, &state, &got));
	expect(VIP_ERROR_RESOURCE, VipDestroyPtag(nic, attr.Ptag));
	expect(VIP_SUCCESS, VipDestroyVi(second));
	expect(VIP_SUCCESS, VipDestroyPtag(nic, attr.Ptag));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

/* Creating a VI with @attr, and setting @attr, fail with @want. */
static void require_refused(VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_RETURN want,
			    VIP_VI_ATTRIBUTES attr)
{
	VIP_VI_HANDLE none = NULL;

	expect(want, VipCreateVi(nic, &attr, NULL, NULL, &none));
	require(!none, "no handle of a VI that is not made");
	expect(want, VipSetViAttributes(vi, &attr));
}

static void bad_attributes(VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, const VIP_VI_ATTRIBUTES *good)
{
	VIP_VI_ATTRIBUTES attr = *good;
	VIP_NIC_ATTRIBUTES limits;

	expect(VIP_SUCCESS, VipQueryNic(nic, &limits));
	attr.ReliabilityLevel = 3;
	require_refused(nic, vi, VIP_INVALID_RELIABILITY_LEVEL, attr);
	attr = *good;
	attr.MaxTransferSize = 0;
	require_refused(nic, vi, VIP_INVALID_MTU, attr);
	attr.MaxTransferSize = limits.MaxTransferSize + 1;
	require_refused(nic, vi, VIP_INVALID_MTU, attr);
	attr = *good;
	attr.QoS = STALE;
	require_refused(nic, vi, VIP_INVALID_QOS, attr);
	attr = *good;
	attr.Ptag = NULL;
	require_refused(nic, vi, VIP_INVALID_PTAG, attr);
	attr = *good;
	attr.ReliabilityLevel = VIP_SERVICE_UNRELIABLE;
	attr.EnableRdmaRead = VIP_TRUE;
	require_refused(nic, vi, VIP_INVALID_RDMAREAD, attr);
}

static void never(VIP_PVOID context, VIP_NIC_HANDLE nic, VIP_VI_HANDLE vi, VIP_DESCRIPTOR *desc)
{
	(void)context;
	(void)nic;
	(void)vi;
	(void)desc;
	require(false, "a function of a VI that is gone is called");
}

/* The handle of a VI that is gone is good for no call, also when others were made since (9.3.2) */
static void require_gone(VIP_VI_HANDLE vi, VIP_VI_ATTRIBUTES *attr)
{
	VIP_NET_ADDRESS addr = { 0 };
	VIP_VI_ATTRIBUTES remote;
	VIP_DESCRIPTOR desc = { 0 }, *got;
	VIP_VI_STATE state;

	expect(VIP_INVALID_PARAMETER, VipQueryVi(vi, &state, &remote));
	expect(VIP_INVALID_PARAMETER, VipSetViAttributes(vi, attr));
	expect(VIP_INVALID_PARAMETER, VipConnectRequest(vi, &addr, &addr, 1, &remote));
	expect(VIP_INVALID_PARAMETER, VipPostSend(vi, &desc, 1));
	expect(VIP_INVALID_PARAMETER, VipPostRecv(vi, &desc, 1));
	expect(VIP_INVALID_PARAMETER, VipSendDone(vi, &got));
	expect(VIP_INVALID_PARAMETER, VipRecvDone(vi, &got));
	expect(VIP_INVALID_PARAMETER, VipSendWait(vi, VIP_INFINITE, &got));
	expect(VIP_INVALID_PARAMETER, VipRecvWait(vi, VIP_INFINITE, &got));
	expect(VIP_INVALID_PARAMETER, VipSendNotify(vi, NULL, never));
	expect(VIP_INVALID_PARAMETER, VipRecvNotify(vi, NULL, never));
	expect(VIP_INVALID_PARAMETER, VipDisconnect(vi));
	expect(VIP_INVALID_PARAMETER, VipDestroyVi(vi));
}

void vi_bad(void)
{
	VIP_NIC_HANDLE nic = open_nic(), other = open_nic();
	VIP_VI_ATTRIBUTES good = plain_vi(nic);
	VIP_VI_HANDLE vi = make_vi(nic, &good), none;
	unsigned int i;

	bad_attributes(nic, vi, &good);
	require_idle(vi, &good);
	expect(VIP_INVALID_PTAG, VipCreateVi(other, &good, NULL, NULL, &none));
	expect(VIP_INVALID_PARAMETER, VipCreateVi(STALE, &good, NULL, NULL, &none));
	expect(VIP_INVALID_PARAMETER, VipCreateVi(nic, NULL, NULL, NULL, &none));
	expect(VIP_INVALID_PARAMETER, VipCreateVi(nic, &good, NULL, NULL, NULL));
	expect(VIP_INVALID_PARAMETER, VipCreateVi(nic, &good, STALE, NULL, &none));
	expect(VIP_INVALID_PARAMETER, VipCreateVi(nic, &good, NULL, STALE, &none));
	expect(VIP_INVALID_PARAMETER, VipSetViAttributes(vi, NULL));
	expect(VIP_INVALID_PARAMETER, VipSetViAttributes(nic, &good));
	expect(VIP_INVALID_PARAMETER, VipDestroyVi(NULL));
	expect(VIP_INVALID_PARAMETER, VipDisconnect(NULL));
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	require_gone(vi, &good);
	for (i = 0; i < 64; i++)
		require(make_vi(nic, &good) != vi, "a handle of its own");
	require_gone(vi, &good);
	expect(VIP_SUCCESS, VipCloseNic(other));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

void vi_change(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_VI_ATTRIBUTES first = plain_vi(nic), second = plain_vi(nic);
	VIP_VI_HANDLE vi = make_vi(nic, &first);

	second.MaxTransferSize = 1;
	second.EnableRdmaWrite = VIP_TRUE;
	expect(VIP_SUCCESS, VipSetViAttributes(vi, &second));
	require_idle(vi, &second);
	expect(VIP_ERROR_RESOURCE, VipDestroyPtag(nic, second.Ptag));
	expect(VIP_SUCCESS, VipDestroyPtag(nic, first.Ptag));
	expect(VIP_INVALID_PTAG, VipSetViAttributes(vi, &first));
	require_idle(vi, &second);
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_SUCCESS, VipDestroyPtag(nic, second.Ptag));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

void vi_close(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_VI_ATTRIBUTES attr = plain_vi(nic), got;
	VIP_MEM_ATTRIBUTES mem = { attr.Ptag, VIP_FALSE, VIP_FALSE };
	VIP_VI_HANDLE vi = make_vi(nic, &attr);
	void *p = map(4096, PROT_READ | PROT_WRITE);
	VIP_VI_STATE state;
	VIP_MEM_HANDLE h;

	expect(VIP_SUCCESS, VipRegisterMem(nic, p, 4096, &mem, &h));
	expect(VIP_SUCCESS, VipPostRecv(vi, p, h));
	expect(VIP_SUCCESS, VipCloseNic(nic));
	expect(VIP_INVALID_PARAMETER, VipQueryVi(vi, &state, &got));
	expect(VIP_INVALID_PARAMETER, VipPostRecv(vi, p, h));
}
