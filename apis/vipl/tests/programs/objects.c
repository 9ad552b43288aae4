// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * vipl: NICs, protection tags, memory, VIs and CQs of libvipl, with each return code that
 * the VI Architecture Specification has for them.
 *
 *	vipl ADDR CASE		on the device that has address ADDR
 *
 * The names of that device and of its network interface are in the environment.
 */
#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <vipl.h>
#include "cases.h"
#include "common.h"
#include "objects.h"

#define PAGE	4096

static void layout(void)
{
	require(sizeof(VIP_DESCRIPTOR) == 64, "%zu", sizeof(VIP_DESCRIPTOR));
	require(sizeof(VIP_CONTROL_SEGMENT) == 32, "%zu", sizeof(VIP_CONTROL_SEGMENT));
	require(sizeof(VIP_ADDRESS_SEGMENT) == 16, "%zu", sizeof(VIP_ADDRESS_SEGMENT));
	require(sizeof(VIP_DATA_SEGMENT) == 16, "%zu", sizeof(VIP_DATA_SEGMENT));
	require(offsetof(VIP_DESCRIPTOR, CS.NextHandle) == 8, "NextHandle");
	require(offsetof(VIP_DESCRIPTOR, CS.SegCount) == 12, "SegCount");
	require(offsetof(VIP_DESCRIPTOR, CS.Control) == 14, "Control");
	require(offsetof(VIP_DESCRIPTOR, CS.ImmediateData) == 20, "ImmediateData");
	require(offsetof(VIP_DESCRIPTOR, CS.Length) == 24, "Length");
	require(offsetof(VIP_DESCRIPTOR, CS.Status) == 28, "Status");
	require(offsetof(VIP_DESCRIPTOR, DS[1].Local.Length) == 60, "Local.Length");
}

static void open_by_name(void)
{
	char via[80];
	VIP_NIC_HANDLE a, b;

	snprintf(via, sizeof(via), "/dev/via_%s", name_of("VIPL_NETDEV"));
	expect(VIP_SUCCESS, VipOpenNic(via, &a));
	expect(VIP_SUCCESS, VipOpenNic(name_of("VIPL_NETDEV"), &b));
	require(a != b, "two that are open are two");
	expect(VIP_SUCCESS, VipCloseNic(a));
	expect(VIP_SUCCESS, VipCloseNic(b));
	expect(VIP_SUCCESS, VipCloseNic(open_nic()));
}

static void open_bad(void)
{
	VIP_NIC_HANDLE nic = NULL;

	expect(VIP_INVALID_PARAMETER, VipOpenNic("no-such-nic", &nic));
	expect(VIP_INVALID_PARAMETER, VipOpenNic("", &nic));
	expect(VIP_INVALID_PARAMETER, VipOpenNic(NULL, &nic));
	expect(VIP_INVALID_PARAMETER, VipOpenNic(name_of("VIPL_DEVICE"), NULL));
	expect(VIP_ERROR_RESOURCE, VipOpenNic("lo", &nic));
	require(!nic, "no handle of a failed open");
}

static void query_nic(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_NIC_ATTRIBUTES a;
	struct in_addr addr;

	expect(VIP_SUCCESS, VipQueryNic(nic, &a));
	require(inet_aton(test_addr, &addr), "%s", test_addr);
	require(!strcmp(a.Name, name_of("VIPL_DEVICE")), "%s", a.Name);
	require(a.NicAddressLen == 4 && !memcmp(a.LocalNicAddress, &addr, 4), "the address");
	require(a.ThreadSafe == VIP_TRUE, "thread safe");
	require(a.MaxSegmentsPerDesc >= 252 && a.MaxTransferSize >= 32768, "10.4, 6.1.1.2");
	require(a.MaxCQEntries >= 1024 && a.MaxPtags >= a.MaxVI, "3.4, 9.10.4");
	expect(VIP_INVALID_PARAMETER, VipQueryNic(nic, NULL));
	expect(VIP_INVALID_PARAMETER, VipQueryNic(NULL, &a));
	expect(VIP_INVALID_PARAMETER, VipQueryNic(STALE, &a));
	expect(VIP_SUCCESS, VipCloseNic(nic));
	expect(VIP_INVALID_PARAMETER, VipQueryNic(nic, &a));
}

static void ptags(void)
{
	VIP_NIC_HANDLE nic = open_nic(), other = open_nic();
	VIP_PROTECTION_HANDLE ptag = make_ptag(nic), second = make_ptag(nic);

	require(ptag != second, "each tag is its own");
	expect(VIP_INVALID_PARAMETER, VipCreatePtag(nic, NULL));
	expect(VIP_INVALID_PARAMETER, VipCreatePtag(ptag, &second));
	expect(VIP_INVALID_PARAMETER, VipDestroyPtag(other, ptag));
	expect(VIP_INVALID_PARAMETER, VipDestroyPtag(nic, nic));
	expect(VIP_SUCCESS, VipDestroyPtag(nic, ptag));
	expect(VIP_INVALID_PARAMETER, VipDestroyPtag(nic, ptag));
	expect(VIP_SUCCESS, VipCloseNic(other));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void memory_life(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_MEM_ATTRIBUTES attr = { make_ptag(nic), VIP_TRUE, VIP_FALSE }, got;
	VIP_MEM_HANDLE a, b;
	char *p = map(8192, PROT_READ | PROT_WRITE);

	expect(VIP_SUCCESS, VipRegisterMem(nic, p + 1, 5000, &attr, &a));
	expect(VIP_SUCCESS, VipRegisterMem(nic, p + 1, 5000, &attr, &b));
	require(a && b && a != b, "%#x and %#x", a, b);
	expect(VIP_SUCCESS, VipQueryMem(nic, p + 1, a, &got));
	require(got.Ptag == attr.Ptag && got.EnableRdmaWrite && !got.EnableRdmaRead, "as given");
	expect(VIP_INVALID_PARAMETER, VipQueryMem(nic, p, a, &got));
	expect(VIP_INVALID_PARAMETER, VipQueryMem(nic, p + 1, a, NULL));
	expect(VIP_ERROR_RESOURCE, VipDestroyPtag(nic, attr.Ptag));
	expect(VIP_INVALID_PARAMETER, VipDeregisterMem(nic, p, a));
	expect(VIP_SUCCESS, VipDeregisterMem(nic, p + 1, a));
	expect(VIP_INVALID_PARAMETER, VipDeregisterMem(nic, p + 1, a));
	expect(VIP_ERROR_RESOURCE, VipDestroyPtag(nic, attr.Ptag));
	expect(VIP_SUCCESS, VipDeregisterMem(nic, p + 1, b));
	expect(VIP_SUCCESS, VipDestroyPtag(nic, attr.Ptag));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void memory_bad(void)
{
	VIP_NIC_HANDLE nic = open_nic(), other = open_nic();
	VIP_MEM_ATTRIBUTES attr = { make_ptag(nic), VIP_FALSE, VIP_FALSE };
	VIP_MEM_HANDLE h = 1;
	char *p = map(8192, PROT_READ | PROT_WRITE);

	expect(VIP_INVALID_PARAMETER, VipRegisterMem(nic, p, 0, &attr, &h));
	require(!h, "no handle of a failed registration");
	expect(VIP_INVALID_PARAMETER, VipRegisterMem(nic, NULL, 1, &attr, &h));
	expect(VIP_INVALID_PARAMETER, VipRegisterMem(nic, p, 1, NULL, &h));
	expect(VIP_INVALID_PARAMETER, VipRegisterMem(nic, p, 1, &attr, NULL));
	expect(VIP_INVALID_PARAMETER, VipRegisterMem(STALE, p, 1, &attr, &h));
	expect(VIP_INVALID_PTAG, VipRegisterMem(other, p, 1, &attr, &h));
	expect(VIP_ERROR_RESOURCE, VipRegisterMem(nic, p, -1ul, &attr, &h));
	munmap(p + 4096, 4096);
	expect(VIP_ERROR_RESOURCE, VipRegisterMem(nic, p, 8192, &attr, &h));
	require(!h, "all or nothing");
	expect(VIP_SUCCESS, VipDestroyPtag(nic, attr.Ptag));
	expect(VIP_INVALID_PTAG, VipRegisterMem(nic, p, 1, &attr, &h));
	attr.Ptag = NULL;
	expect(VIP_INVALID_PTAG, VipRegisterMem(nic, p, 1, &attr, &h));
	expect(VIP_SUCCESS, VipCloseNic(other));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void memory_change(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_PROTECTION_HANDLE first = make_ptag(nic), second = make_ptag(nic);
	VIP_MEM_ATTRIBUTES attr = { first, VIP_FALSE, VIP_FALSE }, got;
	char *p = map(4096, PROT_READ | PROT_WRITE);
	VIP_MEM_HANDLE h;

	expect(VIP_SUCCESS, VipRegisterMem(nic, p, 4096, &attr, &h));
	attr = (VIP_MEM_ATTRIBUTES){ second, VIP_TRUE, VIP_TRUE };
	expect(VIP_SUCCESS, VipSetMemAttributes(nic, p, h, &attr));
	expect(VIP_SUCCESS, VipQueryMem(nic, p, h, &got));
	require(got.Ptag == second && got.EnableRdmaWrite && got.EnableRdmaRead, "as changed");
	expect(VIP_SUCCESS, VipDestroyPtag(nic, first));
	expect(VIP_ERROR_RESOURCE, VipDestroyPtag(nic, second));
	attr.Ptag = first;
	expect(VIP_INVALID_PTAG, VipSetMemAttributes(nic, p, h, &attr));
	expect(VIP_INVALID_PARAMETER, VipSetMemAttributes(nic, p + 1, h, &attr));
	expect(VIP_INVALID_PARAMETER, VipSetMemAttributes(nic, p, h, NULL));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void memory_read_only(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_MEM_ATTRIBUTES attr = { make_ptag(nic), VIP_FALSE, VIP_TRUE };
	void *p = map(4096, PROT_READ);
	VIP_MEM_HANDLE h;

	expect(VIP_SUCCESS, VipRegisterMem(nic, p, 4096, &attr, &h));
	attr.EnableRdmaWrite = VIP_TRUE;
	expect(VIP_INVALID_PARAMETER, VipSetMemAttributes(nic, p, h, &attr));
	expect(VIP_ERROR_RESOURCE, VipRegisterMem(nic, p, 4096, &attr, &h));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

/* The line of /proc/self/maps that has @p: the attributes of its mapping */
static void mapping_of(const void *p, char *line, int size)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	void *from, *to;

	require(maps, "/proc/self/maps");
	do
		require(fgets(line, size, maps), "no mapping of %p", p);
	while (sscanf(line, "%p-%p", &from, &to) != 2 || p < from || p >= to);
	fclose(maps);
}

static void memory_kept(void)
{
	int prot[] = { PROT_READ | PROT_WRITE, PROT_READ };
	VIP_NIC_HANDLE nic = open_nic();
	VIP_MEM_ATTRIBUTES attr = { make_ptag(nic), VIP_FALSE, VIP_TRUE };
	char before[200], after[200], copy[5 * PAGE];
	VIP_MEM_HANDLE h;
	unsigned int i, j;
	char *p;

	for (i = 0; i < ARRAY_SIZE(prot); i++) {
		/* between inaccessible pages, so that it is not merged with another mapping */
		p = (char *)map(sizeof(copy) + 2 * PAGE, PROT_NONE) + PAGE;
		require(!mprotect(p, sizeof(copy), PROT_READ | PROT_WRITE), "mprotect");
		for (j = 0; j < sizeof(copy); j++)
			copy[j] = p[j] = (char)(j * 7 + i);
		require(!mprotect(p, sizeof(copy), prot[i]), "mprotect");
		mapping_of(p, before, sizeof(before));
		expect(VIP_SUCCESS, VipRegisterMem(nic, p + 100, 9000, &attr, &h));
		mapping_of(p, after, sizeof(after));
		require(!strcmp(before, after), "%s is now %s", before, after);
		require(!memcmp(p, copy, sizeof(copy)), "the bytes of what is registered");
		expect(VIP_SUCCESS, VipDeregisterMem(nic, p + 100, h));
		mapping_of(p, after, sizeof(after));
		require(!strcmp(before, after), "%s is now %s", before, after);
		require(!memcmp(p, copy, sizeof(copy)), "the bytes of what was registered");
	}
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static void close_all(void)
{
	VIP_NIC_HANDLE nic = open_nic();
	VIP_MEM_ATTRIBUTES attr = { make_ptag(nic), VIP_FALSE, VIP_FALSE };
	void *p = map(4096, PROT_READ | PROT_WRITE);
	VIP_MEM_HANDLE h;

	expect(VIP_SUCCESS, VipRegisterMem(nic, p, 4096, &attr, &h));
	expect(VIP_SUCCESS, VipCloseNic(nic));
	expect(VIP_INVALID_PARAMETER, VipCloseNic(nic));
	expect(VIP_INVALID_PARAMETER, VipDeregisterMem(nic, p, h));
	expect(VIP_INVALID_PARAMETER, VipDestroyPtag(nic, attr.Ptag));
	nic = open_nic();
	expect(VIP_INVALID_PARAMETER, VipDestroyPtag(nic, attr.Ptag));
	expect(VIP_SUCCESS, VipCloseNic(nic));
}

static const struct test_case all_cases[] = {
	{ "layout", layout, "descriptors and their segments lie as chapter 10 has them" },
	{ "open", open_by_name, "a NIC is opened by each of its names, and more than once" },
	{ "open_bad", open_bad, "a name that is none, or is not of an RNIC, opens nothing" },
	{ "query_nic", query_nic, "a NIC says its address and limits that the text asks for" },
	{ "ptags", ptags, "a tag is of its NIC alone, and is destroyed once" },
	{ "memory", memory_life, "each registration of memory has a handle and uses the tag" },
	{ "memory_bad", memory_bad, "what is not memory, or has no tag, is not registered" },
	{ "memory_change", memory_change, "tag and enables of memory change, its handle does not" },
	{ "memory_read_only", memory_read_only, "read-only memory is not for RDMA Write" },
	{ "close", close_all, "closing a NIC ends its memory and tags" },
	{ "vi", vi_life, "a VI is Idle, has the attributes it was made with, and uses its tag" },
	{ "vi_bad", vi_bad, "each attribute that is wrong makes no VI, and has its own code" },
	{ "vi_change", vi_change, "the attributes of an Idle VI change, all or none" },
	{ "vi_close", vi_close, "closing a NIC ends its VIs, with what is queued on them" },
	{ "idle_recv", idle_recv, "an Idle VI keeps its receives until it is disconnected" },
	{ "idle_send", idle_send, "an Idle VI flushes what it is to send, at once and in order" },
	{ "post_bad", post_bad, "a descriptor that is not in registered memory is never queued" },
	{ "post_full", post_full, "a queue takes as many descriptors as the NIC says" },
	{ "post_dereg", post_dereg, "a descriptor whose memory is gone is not written to" },
	{ "dequeue_bad", dequeue_bad, "what is no VI, or nowhere to put it, dequeues nothing" },
	{ "wait", wait_time, "a wait takes as long as it says, and ends with the VI" },
	{ "cq", cq_life, "a CQ is not destroyed while a VI is bound to it" },
	{ "cq_bad", cq_bad, "a CQ is of its NIC alone, and of a size that there is" },
	{ "cq_entries", cq_entries, "each descriptor that is done has an entry in its CQ" },
	{ "cq_overrun", cq_overrun, "a CQ that is full loses what is new, and goes on" },
	{ "cq_resize", cq_resize, "a CQ that is resized keeps its entries, in order" },
	{ "cq_wait", cq_wait, "a wait for a CQ ends with an entry, or with the CQ" },
	{ "connect", connect_accept, "a client and a server connect, and tell each other of them" },
	{ "connect_reject", connect_reject, "a client that is rejected hears so, and is Idle" },
	{ "connect_mismatch", connect_mismatch, "a request outlives an accept that does not fit" },
	{ "connect_timeout", connect_timeout, "a request and a wait take as long as they say" },
	{ "connect_stale", connect_stale, "a request that was given up makes no connection" },
	{ "connect_any", connect_any, "a wait of no discriminator gets requests for any" },
	{ "connect_other", connect_other, "a request is for a program that waits, not for one that did" },
	{ "connect_polled", connect_polled, "a server that never waits but looks finds its clients" },
	{ "connect_bad", connect_bad, "what is no address, VI or request connects nothing" },
	{ "connect_cancel", connect_cancel, "a disconnect ends a request that is under way" },
	{ "reconnect", reconnect, "a VI is connected and disconnected many times" },
	{ "connect_left", connect_left, "a client that leaves at once was connected with its server" },
	{ "peer_leaves", peer_leaves, "a VI whose peer leaves is in Error, with all flushed" },
	{ "send", send_one, "a message arrives, with its length" },
	{ "send_both", send_both, "both ends send at once, with immediate data, in order" },
	{ "segments", segments, "a descriptor has 252 segments, or none, or empty ones" },
	{ "long_segments", long_segments,
	  "a receive of long segments locks memory for a message, and no more" },
	{ "lengths", lengths, "a message has 0 bytes to MaxTransferSize" },
	{ "rdma_write", rdma_write, "an RDMA Write is placed before a message behind it comes" },
	{ "rdma_write_imm", rdma_write_imm, "immediate data takes one descriptor of the target" },
	{ "rdma_read", rdma_read, "an RDMA Read is scattered over 252 segments" },
	{ "fence", fence, "a descriptor that is fenced waits for those before it" },
	{ "spin", spin, "a status is written while nobody calls" },
	{ "spin_time", spin_time, "a program that looks in memory waits as long as one that calls" },
	{ "spin_time_beside", spin_time_beside,
	  "so it does while another thread polls a VI of another NIC" },
	{ "notify", notify, "a function is called once for each time it is asked for" },
	{ "notify_cq", notify_cq, "a function is called with an entry of a CQ" },
	{ "cq_lost", cq_lost, "a CQ that is full costs no message, and no connection" },
	{ "notify_bad", notify_bad, "what is no VI, CQ or function is never called" },
	{ "format", error_format, "a descriptor that is not formed breaks the connection" },
	{ "length", error_length, "lengths that do not add up break the connection" },
	{ "protection", error_protection, "memory of no or another tag breaks the connection" },
	{ "read_only", read_only, "memory that may not be written is sent from" },
	{ "overrun", overrun, "a message that is too long ends its descriptor, and the connection" },
	{ "no_receive", no_receive, "a message that finds no descriptor breaks the connection" },
	{ "imm_no_receive", imm_no_receive,
	  "immediate data that finds no descriptor breaks the connection" },
	{ "dereg_data", dereg_data, "a descriptor whose data has no memory any more is in error" },
	{ "rdma_enables", rdma_enables, "RDMA is for VIs and memory that both allow it" },
	{ "queue_overrun", queue_overrun, "a descriptor that is one too many is told" },
	{ "told_errors_end", told_errors_end,
	  "an error that no descriptor has ends a reliable connection, and no unreliable one" },
	{ "error_before", error_before,
	  "a receive in error that was posted while Idle is one of the connection" },
	{ "callbacks", callbacks, "what no descriptor tells is told to a function, and counted" },
	{ "levels", levels, "messages and RDMA Writes go at each reliability level" },
	{ "level_mismatch", level_mismatch, "only VIs of one level connect" },
	{ "reception_no_receive", reception_no_receive,
	  "a send is done when its message has a descriptor, or says that it has none" },
	{ "reception_done", reception_done, "" },
	{ "reception_refused", reception_refused, "an RDMA Write that is refused says so" },
	{ "reception_read_refused", reception_read_refused,
	  "what follows an RDMA Read that fails has no effect" },
	{ "unreliable", unreliable, "an error costs an unreliable VI a message and no more" },
	{ "unreliable_many", unreliable_many,
	  "unreliable messages come once and in order where there is room" },
	{ "unreliable_flood", unreliable_flood,
	  "a call does not last as long as a peer sends unreliable messages" },
	{ "peer_killed", peer_killed, "a peer that is killed is lost, and told" },
	{ "peer_stopped", peer_stopped, "posts and disconnects do not wait for a peer that is stopped" },
	{ "foreign_tag", foreign_tag, "memory of another tag is not for RDMA, whatever its handle" },
	{ "foreign_handle", foreign_handle, "a handle of another process is none" },
	{ "descriptor_kept", descriptor_kept, "of a descriptor only what is to be written is written" },
	{ "threads", threads, "several threads take each message once" },
	{ "memory_kept", memory_kept, "memory is registered and deregistered, and stays as it is" },
	{ "fork", forked, "a child has nothing of its parent's NICs, and may open its own" },
	{ "signals", interrupted, "signals end no wait, and are not for the library's threads" },
	{ "short_of_memory", short_of_memory, "a call that finds no memory says so, and changes nothing" },
	{ "many_vis", many_vis, "many VIs are connected at once, and each has its messages" },
	{ "fairness", fairness, "VIs with little to send get on beside one with much" },
	{ "many_regions", many_regions, "what a descriptor costs does not grow with the regions" },
	{ "device_down", device_down, "a device that is down is told, at once and when a VI is to be connected" },
	{ "peer_cut_off", peer_cut_off, "" },
	{ "device_gone", device_gone, "" },
	{ "device_gone_pending", device_gone_pending, "" },
	{ "fuzz", fuzz, "descriptors of random fields end with a status that there is" },
	{ "replace_handler", replace_handler, "a function that was replaced is not called, nor under way" },
	{ "close_in_call", close_in_call, "a NIC is not closed by a function it calls" },
};

int main(int argc, char **argv)
{
	static const struct test_program prog = {
		.usage = "vipl ADDR CASE",
		.timeout_env = "VIPL_TIMEOUT",
		.timeout = 50,
		.cases = all_cases,
		.count = ARRAY_SIZE(all_cases),
	};

	return run_cases(&prog, argc, argv);
}
