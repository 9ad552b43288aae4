// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connections between peers. */
#include <unistd.h>
#include "dg.h"

static void require_connected(VIP_VI_HANDLE vi)
{
	VIP_VI_ATTRIBUTES attr;
	VIP_BOOLEAN send, recv;
	VIP_VI_STATE state;

	expect(VIP_SUCCESS, VipQueryVi(vi, &state, &attr, &send, &recv));
	require(state == VIP_STATE_CONNECTED, "state %d", state);
}

/* @first requests the connection @ms before the other */
static void connect_peers(VIP_VI_HANDLE first, union address *a, VIP_VI_HANDLE second,
			  union address *b, unsigned int ms)
{
	VIP_VI_ATTRIBUTES attr;

	expect(VIP_SUCCESS, VipConnectPeerRequest(first, &a->net, &b->net, LONG));
	expect(VIP_INVALID_STATE, VipConnectPeerRequest(first, &a->net, &b->net, LONG));
	expect(VIP_NOT_DONE, VipConnectPeerDone(first, &attr));
	usleep(ms * 1000);
	expect(VIP_SUCCESS, VipConnectPeerRequest(second, &b->net, &a->net, LONG));
	expect(VIP_SUCCESS, VipConnectPeerWait(second, &attr));
	require(attr.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY &&
		attr.MaxTransferSize == 32768, "the peer's attributes");
	expect(VIP_SUCCESS, VipConnectPeerWait(first, &attr));
	expect(VIP_SUCCESS, VipConnectPeerDone(first, &attr));
	require_connected(first);
	require_connected(second);
	expect(VIP_SUCCESS, VipDisconnect(first));
	expect(VIP_SUCCESS, VipDisconnect(second));
	expect(VIP_INVALID_STATE, VipConnectPeerDone(first, &attr));
}

void peers(void)
{
	union address a = address_of("a"), b = address_of("b");
	VIP_NIC_HANDLE nic = open_nic(), other = open_nic();
	VIP_VI_HANDLE va = make_vi(nic), vb = make_vi(other);
	unsigned int ms;

	for (ms = 0; ms < 200; ms += 50) {
		connect_peers(va, &a, vb, &b, ms);
		connect_peers(vb, &b, va, &a, ms);
	}
	expect(VIP_SUCCESS, VipDestroyVi(va));
	expect(VIP_SUCCESS, VipCloseNic(nic));
	expect(VIP_SUCCESS, VipCloseNic(other));
}

void peers_bad(void)
{
	union address a = address_of("a"), b = address_of("b");
	VIP_NIC_HANDLE nic = open_nic();
	VIP_VI_HANDLE vi = make_vi(nic);
	VIP_VI_ATTRIBUTES attr;

	expect(VIP_INVALID_PARAMETER, VipConnectPeerRequest(NULL, &a.net, &b.net, 1));
	expect(VIP_INVALID_PARAMETER, VipConnectPeerRequest(vi, NULL, &b.net, 1));
	expect(VIP_INVALID_PARAMETER, VipConnectPeerRequest(vi, &a.net, NULL, 1));
	expect(VIP_INVALID_PARAMETER, VipConnectPeerRequest(vi, &a.net, &a.net, 1));
	expect(VIP_INVALID_PARAMETER, VipConnectPeerDone(NULL, &attr));
	expect(VIP_INVALID_PARAMETER, VipConnectPeerWait(vi, NULL));
	expect(VIP_SUCCESS, VipConnectPeerRequest(vi, &a.net, &b.net, 200));
	expect(VIP_TIMEOUT, VipConnectPeerWait(vi, &attr));
	expect(VIP_SUCCESS, VipConnectPeerRequest(vi, &b.net, &a.net, 200));
	expect(VIP_TIMEOUT, VipConnectPeerWait(vi, &attr));
	expect(VIP_SUCCESS, VipConnectPeerRequest(vi, &a.net, &b.net, VIP_INFINITE));
	expect(VIP_SUCCESS, VipDisconnect(vi));
	expect(VIP_INVALID_STATE, VipConnectPeerWait(vi, &attr));
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	vi = make_vi(nic);
	expect(VIP_SUCCESS, VipConnectPeerRequest(vi, &a.net, &b.net, VIP_INFINITE));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}
