// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * vipl_dg: libvipl's interface of the Developer's Guide, for which most programs for VI are
 * written. It is built with VIPL_DG.
 *
 *	vipl_dg ADDR CASE	on the device that has address ADDR
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "cases.h"
#include "dg.h"

union address address_of(const char *disc)
{
	union address a = { .net = { .HostAddressLen = 4, .DiscriminatorLen = strlen(disc) } };

	require(inet_pton(AF_INET, test_addr, a.net.HostAddress) == 1, "%s", test_addr);
	memcpy(a.room + 8, disc, strlen(disc));
	return a;
}

VIP_NIC_HANDLE open_nic(void)
{
	VIP_NIC_HANDLE nic;

	require(getenv("VIPL_DEVICE"), "VIPL_DEVICE is not set");
	expect(VIP_SUCCESS, VipOpenNic(getenv("VIPL_DEVICE"), &nic));
	return nic;
}

/* Without a tag, as in programs that do not know tags */
VIP_VI_HANDLE make_vi(VIP_NIC_HANDLE nic)
{
	VIP_VI_ATTRIBUTES attr = {
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_DELIVERY,
		.MaxTransferSize = 32768,
	};
	VIP_VI_HANDLE vi;

	expect(VIP_SUCCESS, VipCreateVi(nic, &attr, NULL, NULL, &vi));
	return vi;
}

static void levels(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_NIC_ATTRIBUTES limits;
	VIP_VI_HANDLE vi = make_vi(nic);
	VIP_VI_ATTRIBUTES attr;
	VIP_VI_STATE state;
	VIP_BOOLEAN send, recv;

	expect(VIP_SUCCESS, VipQueryNic(nic, &limits));
	require(limits.ReliabilityLevelSupport == (VIP_SERVICE_UNRELIABLE |
		VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION), "%#lx",
		limits.ReliabilityLevelSupport);
	require(limits.RDMAReadSupport == (VIP_SERVICE_RELIABLE_DELIVERY |
		VIP_SERVICE_RELIABLE_RECEPTION), "%#lx", limits.RDMAReadSupport);
	expect(VIP_SUCCESS, VipQueryVi(vi, &state, &attr, &send, &recv));
	require(attr.ReliabilityLevel == VIP_SERVICE_RELIABLE_DELIVERY && send && recv, "as made");
	attr.ReliabilityLevel = VIP_SERVICE_RELIABLE_RECEPTION;
	expect(VIP_SUCCESS, VipSetViAttributes(vi, &attr));
	attr.ReliabilityLevel = 0;
	expect(VIP_INVALID_RELIABILITY_LEVEL, VipSetViAttributes(vi, &attr));
	attr.ReliabilityLevel = 3;
	expect(VIP_INVALID_RELIABILITY_LEVEL, VipSetViAttributes(vi, &attr));
	expect(VIP_SUCCESS, VipQueryVi(vi, &state, &attr, &send, &recv));
	require(attr.ReliabilityLevel == VIP_SERVICE_RELIABLE_RECEPTION, "%d",
		attr.ReliabilityLevel);
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void descriptor_error(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_VI_HANDLE vi = make_vi(nic);
	VIP_DESCRIPTOR *d = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				 0), *got;
	VIP_MEM_ATTRIBUTES mem = { 0 };
	VIP_BOOLEAN send, recv;
	VIP_VI_ATTRIBUTES attr;
	VIP_VI_STATE state;
	VIP_MEM_HANDLE h;

	expect(VIP_SUCCESS, VipRegisterMem(nic, d, 4096, &mem, &h));
	expect(VIP_SUCCESS, VipPostRecv(vi, d, h));
	expect(VIP_SUCCESS, VipQueryVi(vi, &state, &attr, &send, &recv));
	require(send && !recv, "one receive");
	expect(VIP_NOT_DONE, VipRecvDone(vi, &got));
	expect(VIP_TIMEOUT, VipRecvWait(vi, 1, &got));
	expect(VIP_SUCCESS, VipDisconnect(vi));
	expect(VIP_DESCRIPTOR_ERROR, VipRecvDone(vi, &got));
	require(got == d, "the one that was flushed");
	expect(VIP_SUCCESS, VipPostSend(vi, d, h));
	expect(VIP_DESCRIPTOR_ERROR, VipSendWait(vi, VIP_INFINITE, &got));
	require(got == d, "the one that was flushed");
	expect(VIP_SUCCESS, VipPostRecv(vi, d, h));
	expect(VIP_SUCCESS, VipDeregisterMem(nic, d, h));
	munmap(d, 4096);
	expect(VIP_SUCCESS, VipDisconnect(vi));
	expect(VIP_DESCRIPTOR_ERROR, VipRecvDone(vi, &got));
	require(got == d, "the one whose memory is gone");
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void states(void)
{
	union address a = address_of("nobody");
	VIP_NIC_HANDLE nic = open_nic();
	VIP_VI_HANDLE vi = make_vi(nic);
	VIP_VI_ATTRIBUTES attr;
	uint64_t since = now_ms();

	expect(VIP_NO_MATCH, VipConnectRequest(vi, &a.net, &a.net, VIP_INFINITE, &attr));
	require(now_ms() - since < LONG, "at once");
	expect(VIP_INVALID_STATE, VipConnectPeerDone(vi, &attr));
	expect(VIP_INVALID_PARAMETER, VipConnectAccept(NULL, vi));
	expect(VIP_INVALID_PARAMETER, VipConnectAccept(NULL, NULL));
	expect(VIP_SUCCESS, VipDestroyVi(vi));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void names(void)
{
	union address a = address_of("kept"), b;
	VIP_NIC_HANDLE nic = open_nic();
	char name[256];
	VIP_ULONG len = sizeof(name);

	expect(VIP_SUCCESS, VipNSInit(nic, NULL));
	expect(VIP_INVALID_PARAMETER, VipNSInit(NULL, NULL));
	b = a;
	b.net.HostAddressLen = 0;
	expect(VIP_SUCCESS, VipNSGetHostByName(nic, (char *)test_addr, &b.net, 0));
	require(!memcmp(&a, &b, 12), "the host, and nothing else");
	expect(VIP_ERROR_NAMESERVICE, VipNSGetHostByName(nic, (char *)test_addr, &b.net, 1));
	expect(VIP_ERROR_NAMESERVICE, VipNSGetHostByName(nic, "no.such.host.invalid", &b.net, 0));
	expect(VIP_INVALID_PARAMETER, VipNSGetHostByName(nic, NULL, &b.net, 0));
	expect(VIP_SUCCESS, VipNSGetHostByName(nic, "localhost", &b.net, 0));
	require(b.net.HostAddress[0] == 127, "%d", b.net.HostAddress[0]);
	expect(VIP_SUCCESS, VipNSGetHostByAddr(nic, &b.net, name, &len));
	require(len == strlen(name) && len, "%s", name);
	len = 1;
	expect(VIP_ERROR_NAMESERVICE, VipNSGetHostByAddr(nic, &b.net, name, &len));
	expect(VIP_SUCCESS, VipNSShutdown(nic));
	expect(VIP_SUCCESS, VipCloseNic(nic));
	expect(VIP_INVALID_PARAMETER, VipNSShutdown(nic));
}

static void *function(void *library, const char *name)
{
	void *found = dlsym(library, name);

	require(found, "%s: %s", name, dlerror());
	return found;
}

/* A program that finds its functions by their names, and has the types of the guide */
static void by_name(void)
{
	void *library = dlopen("libvipl_dg.so.1", RTLD_NOW | RTLD_LOCAL);
	VIP_RETURN (*open)(const VIP_CHAR *name, VIP_NIC_HANDLE *nic);
	VIP_RETURN (*query)(VIP_NIC_HANDLE nic, VIP_NIC_ATTRIBUTES *attr);
	VIP_RETURN (*create)(VIP_NIC_HANDLE nic, VIP_VI_ATTRIBUTES *attr, VIP_CQ_HANDLE send,
			     VIP_CQ_HANDLE recv, VIP_VI_HANDLE *vi);
	VIP_RETURN (*query_vi)(VIP_VI_HANDLE vi, VIP_VI_STATE *state, VIP_VI_ATTRIBUTES *attr,
			       VIP_BOOLEAN *send, VIP_BOOLEAN *recv);
	VIP_RETURN (*close)(VIP_NIC_HANDLE nic);
	VIP_VI_ATTRIBUTES attr = {
		.ReliabilityLevel = VIP_SERVICE_RELIABLE_RECEPTION,
		.MaxTransferSize = 32768,
	};
	VIP_NIC_ATTRIBUTES limits;
	VIP_BOOLEAN send, recv;
	VIP_NIC_HANDLE nic;
	VIP_VI_STATE state;
	VIP_VI_HANDLE vi;

	require(library, "%s", dlerror());
	open = function(library, "VipOpenNic");
	query = function(library, "VipQueryNic");
	create = function(library, "VipCreateVi");
	query_vi = function(library, "VipQueryVi");
	close = function(library, "VipCloseNic");
	function(library, "VipConnectPeerRequest");
	require(!open(getenv("VIPL_DEVICE"), &nic) && !query(nic, &limits), "a NIC");
	require(limits.ReliabilityLevelSupport == (VIP_SERVICE_UNRELIABLE |
		VIP_SERVICE_RELIABLE_DELIVERY | VIP_SERVICE_RELIABLE_RECEPTION), "%#lx",
		limits.ReliabilityLevelSupport);
	require(!create(nic, &attr, NULL, NULL, &vi), "a VI");
	require(!query_vi(vi, &state, &attr, &send, &recv) && send && recv &&
		attr.ReliabilityLevel == VIP_SERVICE_RELIABLE_RECEPTION, "as made");
	require(!close(nic), "closed");
}

static const struct test_case all_cases[] = {
	{ "levels", levels, "reliability levels are bits, and a NIC says which it has" },
	{ "descriptor_error", descriptor_error, "a descriptor in error has a code, and is dequeued" },
	{ "states", states, "a wrong state and a server that is not there have codes" },
	{ "names", names, "hosts have names" },
	{ "by_name", by_name, "a program that finds its functions by name gets the guide's" },
	{ "peers", peers, "two peers connect, whoever is first" },
	{ "peers_bad", peers_bad, "a peer that does not come is waited for as long as was said" },
	{ "pong", pong, "a program of those times plays ping-pong" },
	{ "leave_all", leave_all, "a program that leaves everything behind leaves nothing" },
};

int main(int argc, char **argv)
{
	static const struct test_program prog = {
		.usage = "vipl_dg ADDR CASE",
		.timeout_env = "VIPL_TIMEOUT",
		.timeout = 50,
		.cases = all_cases,
		.count = ARRAY_SIZE(all_cases),
	};

	return run_cases(&prog, argc, argv);
}
