// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Descriptors in error, and their effects. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "pair.h"

#define FORMAT		(VIP_STATUS_DONE | VIP_STATUS_FORMAT_ERROR)
#define PROTECTION	(VIP_STATUS_DONE | VIP_STATUS_PROTECTION_ERROR)
#define LENGTH		(VIP_STATUS_DONE | VIP_STATUS_LENGTH_ERROR)
#define RDMA_PROT	(VIP_STATUS_DONE | VIP_STATUS_RDMA_PROT_ERROR)
#define MAX_ERRORS	64

/* Errors reported to an end */
struct told {
	struct end *end;
	VIP_ERROR_DESCRIPTOR errors[MAX_ERRORS];
	unsigned int count;
};

static struct told at_client = { .end = &client }, at_server = { .end = &server };

static unsigned int count_of(const struct told *told)
{
	return __atomic_load_n(&told->count, __ATOMIC_ACQUIRE);
}

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	struct told *told = context;

	require(error->NicHandle == told->end->nic, "of its NIC");
	require(count_of(told) < MAX_ERRORS, "%u errors", count_of(told));
	told->errors[count_of(told)] = *error;
	__atomic_add_fetch(&told->count, 1, __ATOMIC_RELEASE);
}

static void start(void)
{
	at_client.count = 0;
	at_server.count = 0;
	open_pair();
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, &at_client, on_error));
	expect(VIP_SUCCESS, VipErrorCallback(server.nic, &at_server, on_error));
}

static void require_told(struct told *told, unsigned int i, VIP_RESOURCE_CODE resource,
			 VIP_ERROR_CODE code, VIP_DESCRIPTOR *desc)
{
	const VIP_ERROR_DESCRIPTOR *e = &told->errors[i];
	uint64_t end = now_ms() + LONG;

	while (count_of(told) <= i && now_ms() < end)
		usleep(1000);
	require(count_of(told) > i, "%u errors of the %s, not error %d", count_of(told),
		told == &at_client ? "client" : "server", code);
	require(e->ErrorCode == code && e->ResourceCode == resource, "error %d of %d",
		e->ErrorCode, e->ResourceCode);
	require(e->ViHandle == told->end->vi && e->DescriptorPtr == desc, "%p %p", e->ViHandle,
		(void *)e->DescriptorPtr);
}

static void require_lost(struct told *told, unsigned int i)
{
	require_told(told, i, VIP_RESOURCE_VI, VIP_ERROR_CONN_LOST, NULL);
}

static void take_all(struct end *end)
{
	VIP_DESCRIPTOR *got;

	while (!VipSendDone(end->vi, &got) || !VipRecvDone(end->vi, &got))
		;
}

/*
 * Posts @d between two valid descriptors: the first is done, @d has @status, the last is
 * flushed.
 */
static void require_breaks(bool recv, VIP_DESCRIPTOR *d, uint32_t status)
{
	VIP_DESCRIPTOR *before = make_send(&client, 60, 0, 8), *behind = make_send(&client, 61, 0, 8);
	VIP_DESCRIPTOR *got, *all[] = { before, d, behind };
	unsigned int i;

	post_recv(&server, make_send(&server, 60, 0, 64));
	if (recv) {
		post_recv(&client, before);
		post_recv(&client, d);
		post_recv(&client, behind);
		post_send(&server, make_send(&server, 61, 0, 8));
	} else {
		post_send(&client, before);
		post_send(&client, d);
		post_send(&client, behind);
	}
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		uint32_t want = i == 0 ? DONE : i == 1 ? status : FLUSHED;

		expect(VIP_SUCCESS, recv ? VipRecvWait(client.vi, LONG, &got) :
					   VipSendWait(client.vi, LONG, &got));
		require(got == all[i], "%p, not %p", (void *)got, (void *)all[i]);
		require((got->CS.Status & (DONE | VIP_STATUS_ERROR_MASK)) == want,
			"number %u has %#x, not %#x", i, got->CS.Status, want);
	}
	require_state(&client, VIP_STATE_ERROR);
	require_lost(&at_client, 0);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	take_all(&server);
	take_all(&client);
	__atomic_store_n(&at_client.count, 0, __ATOMIC_RELEASE);
	connect_pair();
}

void error_format(void)
{
	VIP_DESCRIPTOR *d;
	unsigned int bit;

	start();
	connect_pair();
	for (bit = 4; bit < 16; bit++) {
		d = make_send(&client, 0, 0, 8);
		d->CS.Control = 1u << bit;
		require_breaks(false, d, FORMAT);
	}
	for (bit = 0; bit < 32; bit += 31) {
		d = make_send(&client, 0, 0, 8);
		d->CS.Reserved = 1u << bit;
		require_breaks(false, d, FORMAT);
	}
	d = make_send(&client, 0, 0, 8);
	d->CS.Control = 3;
	require_breaks(false, d, FORMAT);
	d = desc_of(&client, 0);
	d->CS.Control = VIP_CONTROL_OP_RDMAWRITE;
	require_breaks(false, d, FORMAT);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMA_READ, server.data, server.handle);
	d->DS[0].Remote.Reserved = 1;
	require_breaks(false, d, FORMAT);
	d = desc_of(&client, 0);
	d->CS.SegCount = 253;
	require_breaks(false, d, FORMAT);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMAWRITE, server.data, server.handle);
	require_breaks(true, d, FORMAT);
	close_pair();
}

void error_length(void)
{
	VIP_DESCRIPTOR *d;

	start();
	connect_pair();
	d = make_send(&client, 0, 0, 8);
	d->CS.Length = 7;
	require_breaks(false, d, LENGTH);
	d->CS.Length = 9;
	require_breaks(false, d, LENGTH);
	require_breaks(false, make_send(&client, 0, 0, 65537), LENGTH);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMA_READ, server.data, server.handle);
	add_segment(&client, d, client.data, 65537);
	require_breaks(false, d, LENGTH);
	close_pair();
}

void error_protection(void)
{
	VIP_MEM_ATTRIBUTES other;
	VIP_MEM_HANDLE foreign, fixed;
	VIP_DESCRIPTOR *d;
	void *read_only = map(4096, PROT_READ);

	start();
	other = (VIP_MEM_ATTRIBUTES){ make_ptag(client.nic), VIP_FALSE, VIP_FALSE };
	expect(VIP_SUCCESS, VipRegisterMem(client.nic, client.data, 4096, &other, &foreign));
	other.Ptag = client.attr.Ptag;
	expect(VIP_SUCCESS, VipRegisterMem(client.nic, read_only, 4096, &other, &fixed));
	connect_pair();
	d = make_send(&client, 0, 0, 8);
	d->DS[0].Local.Handle = 0;
	require_breaks(false, d, PROTECTION);
	d = make_send(&client, 0, 0, 8);
	d->DS[0].Local.Handle = foreign;
	require_breaks(false, d, PROTECTION);
	require_breaks(false, make_send(&client, 0, DATA_BYTES - 7, 8), PROTECTION);
	require_breaks(true, make_send(&client, 0, DATA_BYTES - 7, 8), PROTECTION);
	d = make_send(&client, 0, 0, 8);
	d->DS[0].Local.Handle = fixed;
	d->DS[0].Local.Data.Address = read_only;
	require_breaks(true, d, PROTECTION);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMA_READ, server.data, server.handle);
	add_segment(&client, d, read_only, 8);
	d->DS[1].Local.Handle = fixed;
	require_breaks(false, d, PROTECTION);
	close_pair();
}

/* A send from read-only memory */
void read_only(void)
{
	VIP_MEM_ATTRIBUTES mem;
	VIP_MEM_HANDLE fixed;
	VIP_DESCRIPTOR *s, *r;
	void *p = map(4096, PROT_READ);

	start();
	mem = (VIP_MEM_ATTRIBUTES){ client.attr.Ptag, VIP_FALSE, VIP_FALSE };
	expect(VIP_SUCCESS, VipRegisterMem(client.nic, p, 4096, &mem, &fixed));
	connect_pair();
	memset(server.data, 1, 64);
	r = make_send(&server, 0, 0, 64);
	post_recv(&server, r);
	s = make_send(&client, 0, 0, 64);
	s->DS[0].Local.Data.Address = p;
	s->DS[0].Local.Handle = fixed;
	post_send(&client, s);
	require_received(&server, r, DONE);
	require(!server.data[0] && !server.data[63], "zeroes");
	close_pair();
}

/* A message that is longer than its receive is an error of both descriptors */
void overrun(void)
{
	VIP_DESCRIPTOR *r;

	start();
	r = make_send(&server, 0, 0, 5);
	post_recv(&server, r);
	post_recv(&server, make_send(&server, 1, 0, 64));
	connect_pair();
	post_send(&client, make_send(&client, 0, 0, 10));
	require_received(&server, r, LENGTH);
	require(!r->CS.Length, "%u bytes", r->CS.Length);
	require_received(&server, (void *)(server.descs + DESC_BYTES), FLUSHED);
	require_state(&server, VIP_STATE_ERROR);
	require_lost(&at_client, 0);
	require_state(&client, VIP_STATE_ERROR);
	close_pair();
}

/* A message without a receive: the receiver gets the error; the sender's descriptor is done */
void no_receive(void)
{
	start();
	connect_pair();
	post_send(&client, make_send(&client, 0, 0, 10));
	require_told(&at_server, 0, VIP_RESOURCE_VI, VIP_ERROR_RECVQ_EMPTY, NULL);
	require_lost(&at_server, 1);
	require_lost(&at_client, 0);
	require_sent(&client, (void *)client.descs, DONE);
	require_state(&client, VIP_STATE_ERROR);
	close_pair();
}

/* Immediate data finds no descriptor, when the data before it is in place already (2.3.2) */
void imm_no_receive(void)
{
	VIP_DESCRIPTOR *w;

	start();
	connect_pair();
	fill(client.data, 64, 6);
	w = make_rdma(&client, 0, VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, server.data,
		      server.handle);
	add_segment(&client, w, client.data, 64);
	post_send(&client, w);
	require_told(&at_server, 0, VIP_RESOURCE_VI, VIP_ERROR_RECVQ_EMPTY, NULL);
	require_lost(&at_server, 1);
	require_lost(&at_client, 0);
	require_sent(&client, w, DONE | VIP_STATUS_OP_RDMA_WRITE);
	require(!memcmp(server.data, client.data, 64), "the data");
	require_state(&client, VIP_STATE_ERROR);
	close_pair();
}

/* Memory that is deregistered before a descriptor's message comes, or before its post (3.2.1) */
void dereg_data(void)
{
	char *gone = map(4096, PROT_READ | PROT_WRITE);
	VIP_DESCRIPTOR *d;
	VIP_MEM_HANDLE h;

	start();
	connect_pair();
	fill(server.data, 8, 1);
	expect(VIP_SUCCESS, VipRegisterMem(client.nic, gone, 4096, &client.mem, &h));
	d = make_send(&client, 0, 0, 8);
	d->DS[0].Local.Data.Address = gone;
	d->DS[0].Local.Handle = h;
	post_recv(&client, d);
	expect(VIP_SUCCESS, VipDeregisterMem(client.nic, gone, h));
	post_send(&server, make_send(&server, 0, 0, 8));
	require_received(&client, d, PROTECTION);
	require(!gone[0] && !gone[7], "nothing was written");
	require_lost(&at_client, 0);
	require_state(&client, VIP_STATE_ERROR);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	take_all(&server);
	__atomic_store_n(&at_client.count, 0, __ATOMIC_RELEASE);
	connect_pair();
	d = make_send(&client, 0, 0, 8);
	d->DS[0].Local.Data.Address = gone;
	d->DS[0].Local.Handle = h;
	require_breaks(false, d, PROTECTION);
	close_pair();
}

/* @vi and @mem: whether the server's VI and memory allow it; both are required */
static void try_rdma(uint16_t op, bool vi, bool mem)
{
	VIP_DESCRIPTOR *d;
	bool write = op == VIP_CONTROL_OP_RDMAWRITE;

	start();
	client.attr.EnableRdmaWrite = VIP_FALSE;
	client.attr.EnableRdmaRead = VIP_FALSE;
	expect(VIP_SUCCESS, VipSetViAttributes(client.vi, &client.attr));
	client.mem.EnableRdmaWrite = VIP_FALSE;
	client.mem.EnableRdmaRead = VIP_FALSE;
	expect(VIP_SUCCESS, VipSetMemAttributes(client.nic, client.descs, client.handle,
						&client.mem));
	*(write ? &server.attr.EnableRdmaWrite : &server.attr.EnableRdmaRead) = vi;
	expect(VIP_SUCCESS, VipSetViAttributes(server.vi, &server.attr));
	*(write ? &server.mem.EnableRdmaWrite : &server.mem.EnableRdmaRead) = mem;
	expect(VIP_SUCCESS, VipSetMemAttributes(server.nic, server.descs, server.handle,
						&server.mem));
	connect_pair();
	memset(server.data, 1, 64);
	d = make_rdma(&client, 0, op, server.data, server.handle);
	add_segment(&client, d, client.data, 64);
	post_send(&client, d);
	if (vi && mem) {
		require_sent(&client, d, DONE | (write ? VIP_STATUS_OP_RDMA_WRITE :
							 VIP_STATUS_OP_RDMA_READ));
		post_recv(&server, make_send(&server, 0, 4096, 64));
		post_send(&client, make_send(&client, 1, 0, 64));
		require_received(&server, (void *)server.descs, DONE);
		require(server.data[0] == !write, "what was written");
	} else {
		require_told(&at_server, 0, VIP_RESOURCE_VI, write ? VIP_ERROR_RDMAW_PROT :
			     VIP_ERROR_RDMAR_PROT, NULL);
		require_lost(&at_client, 0);
		if (!write)
			require_sent(&client, d, RDMA_PROT | VIP_STATUS_OP_RDMA_READ);
		require(server.data[0] == 1 && server.data[63] == 1, "nothing was written");
	}
	close_pair();
}

/* The target's VI and memory must both allow it, the initiator's need not */
void rdma_enables(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		try_rdma(VIP_CONTROL_OP_RDMAWRITE, i & 1, i & 2);
		try_rdma(VIP_CONTROL_OP_RDMA_READ, i & 1, i & 2);
	}
}

static VIP_SMI_COUNTERS counters_of(struct end *end)
{
	VIP_PVOID info;

	expect(VIP_SUCCESS, VipQuerySystemManagementInfo(end->nic, VIP_SMI_TYPE_COUNTERS, &info));
	return *(VIP_SMI_COUNTERS *)info;
}

/* Errors of descriptors that are not queued, or that complete in deregistered memory */
void callbacks(void)
{
	VIP_DESCRIPTOR *d, *gone = map(4096, PROT_READ | PROT_WRITE);
	VIP_SMI_COUNTERS c;
	VIP_MEM_HANDLE h;
	VIP_PVOID info;

	start();
	d = make_send(&client, 0, 0, 8);
	expect(VIP_SUCCESS, VipPostRecv(client.vi, d, 0));
	require_told(&at_client, 0, VIP_RESOURCE_DESCRIPTOR, VIP_ERROR_POST_DESC, d);
	expect(VIP_SUCCESS, VipRegisterMem(client.nic, gone, 4096, &client.mem, &h));
	expect(VIP_SUCCESS, VipPostRecv(client.vi, gone, h));
	expect(VIP_SUCCESS, VipDeregisterMem(client.nic, gone, h));
	munmap(gone, 4096);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	require_told(&at_client, 1, VIP_RESOURCE_DESCRIPTOR, VIP_ERROR_COMP_PROT, gone);
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, NULL, NULL));
	expect(VIP_SUCCESS, VipPostRecv(client.vi, d, 0));
	usleep(50000);
	require(count_of(&at_client) == 2, "%u errors", count_of(&at_client));
	c = counters_of(&client);
	require(c.AsynchronousErrors == 3 && c.DescriptorsPosted == 1 &&
		c.DescriptorsCompleted == 1 && c.DescriptorsInError == 1, "the counters");
	expect(VIP_INVALID_PARAMETER, VipErrorCallback(STALE, NULL, on_error));
	expect(VIP_INVALID_PARAMETER, VipQuerySystemManagementInfo(client.nic, 0, &info));
	expect(VIP_INVALID_PARAMETER, VipQuerySystemManagementInfo(STALE, VIP_SMI_TYPE_COUNTERS,
								   &info));
	expect(VIP_INVALID_PARAMETER, VipQuerySystemManagementInfo(client.nic,
								   VIP_SMI_TYPE_COUNTERS, NULL));
	close_pair();
}

/* One descriptor more than a queue takes */
void queue_overrun(void)
{
	VIP_DESCRIPTOR *d;
	VIP_NIC_ATTRIBUTES limits;
	unsigned long i;

	start();
	expect(VIP_SUCCESS, VipQueryNic(client.nic, &limits));
	d = make_send(&client, 0, 0, 8);
	for (i = 0; i < limits.MaxDescriptorsPerQueue; i++)
		post_recv(&client, d);
	require(!counters_of(&client).AsynchronousErrors, "as many as the NIC says");
	post_recv(&client, d);
	require_told(&at_client, 0, VIP_RESOURCE_VI, VIP_ERROR_VI_OVERRUN, d);
	close_pair();
}

static void require_opcode(const struct told *told, VIP_ULONG want)
{
	require(told->errors[0].OpCode == want, "%#lx, not %#lx", told->errors[0].OpCode, want);
}

/* The error told first has ended the connection, unless it is unreliable */
static void require_ended(bool reliable)
{
	unsigned int before = count_of(&at_client);

	if (reliable) {
		require_lost(&at_client, 1);
		require_lost(&at_server, 0);
		require_state(&client, VIP_STATE_ERROR);
		require_state(&server, VIP_STATE_ERROR);
	} else {
		usleep(50000);
		require(before == 1 && count_of(&at_client) == 1, "%u errors", count_of(&at_client));
		require_state(&client, VIP_STATE_CONNECTED);
		require_state(&server, VIP_STATE_CONNECTED);
	}
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	take_all(&client);
	take_all(&server);
	__atomic_store_n(&at_client.count, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&at_server.count, 0, __ATOMIC_RELEASE);
}

/* One descriptor more than the client's queue takes, of which @op is told */
static void overrun_by(void (*post)(struct end *, VIP_DESCRIPTOR *), VIP_DESCRIPTOR *d, VIP_ULONG op)
{
	VIP_NIC_ATTRIBUTES limits;
	unsigned long i;

	expect(VIP_SUCCESS, VipQueryNic(client.nic, &limits));
	for (i = 0; i <= limits.MaxDescriptorsPerQueue; i++)
		post(&client, d);
	require_told(&at_client, 0, VIP_RESOURCE_VI, VIP_ERROR_VI_OVERRUN, d);
	require_opcode(&at_client, op);
}

static void overrun_of_sends(void)
{
	overrun_by(post_send, make_rdma(&client, 0, VIP_CONTROL_OP_RDMAWRITE, server.data,
					server.handle), VIP_STATUS_OP_RDMA_WRITE);
}

static void overrun_of_receives(void)
{
	overrun_by(post_recv, make_send(&client, 0, 0, 8), VIP_STATUS_OP_RECEIVE);
}

static void post_without_handle(void)
{
	VIP_DESCRIPTOR *d = make_send(&client, 0, 0, 8);

	expect(VIP_SUCCESS, VipPostSend(client.vi, d, 0));
	require_told(&at_client, 0, VIP_RESOURCE_DESCRIPTOR, VIP_ERROR_POST_DESC, d);
}

static void complete_without_memory(void)
{
	VIP_DESCRIPTOR *gone = map(4096, PROT_READ | PROT_WRITE);
	VIP_MEM_HANDLE h;

	expect(VIP_SUCCESS, VipRegisterMem(client.nic, gone, 4096, &client.mem, &h));
	expect(VIP_SUCCESS, VipPostRecv(client.vi, gone, h));
	expect(VIP_SUCCESS, VipDeregisterMem(client.nic, gone, h));
	munmap(gone, 4096);
	post_send(&server, make_send(&server, 1, 0, 0));
	require_told(&at_client, 0, VIP_RESOURCE_DESCRIPTOR, VIP_ERROR_COMP_PROT, gone);
}

/*
 * Errors that a post does not return, and of a status that cannot be written: any error ends a
 * reliable connection (2.5.2, 7.2, 7.3), and no unreliable one (2.5.1).
 */
void told_errors_end(void)
{
	static void (*const errors[])(void) = {
		overrun_of_sends, overrun_of_receives, post_without_handle, complete_without_memory,
	};
	VIP_RELIABILITY_LEVEL level;
	unsigned int i;

	for (level = VIP_SERVICE_UNRELIABLE; level <= VIP_SERVICE_RELIABLE_RECEPTION; level++) {
		start();
		client.attr.ReliabilityLevel = level;
		server.attr.ReliabilityLevel = level;
		client.attr.EnableRdmaRead = level != VIP_SERVICE_UNRELIABLE;
		server.attr.EnableRdmaRead = client.attr.EnableRdmaRead;
		expect(VIP_SUCCESS, VipSetViAttributes(client.vi, &client.attr));
		expect(VIP_SUCCESS, VipSetViAttributes(server.vi, &server.attr));
		for (i = 0; i < ARRAY_SIZE(errors); i++) {
			connect_pair();
			errors[i]();
			require_ended(level != VIP_SERVICE_UNRELIABLE);
		}
		close_pair();
	}
}

/* A receive that was posted while Idle is not looked at before there is a connection (5.1) */
void error_before(void)
{
	VIP_DESCRIPTOR *d;

	start();
	d = make_send(&client, 0, DATA_BYTES - 7, 8);
	post_recv(&client, d);
	expect(VIP_SUCCESS, try_connect(LONG / 2));
	require_received(&client, d, PROTECTION);
	require_lost(&at_client, 0);
	require_state(&client, VIP_STATE_ERROR);
	close_pair();
}

static unsigned int old_calls, old_running, new_calls;

static void old_handler(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)context;
	(void)error;
	__atomic_store_n(&old_running, 1, __ATOMIC_RELEASE);
	__atomic_add_fetch(&old_calls, 1, __ATOMIC_RELEASE);
	usleep(50000);
	__atomic_store_n(&old_running, 0, __ATOMIC_RELEASE);
}

static void new_handler(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)error;
	require(context == &new_calls, "its context");
	__atomic_add_fetch(&new_calls, 1, __ATOMIC_RELEASE);
}

/* The program may free the old handler's context as soon as it is replaced */
void replace_handler(void)
{
	uint64_t end = now_ms() + LONG;
	unsigned int i, before;

	open_end(&client);
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, NULL, old_handler));
	for (i = 0; i < 50; i++)
		expect(VIP_SUCCESS, VipPostRecv(client.vi, NULL, 0));
	while (!__atomic_load_n(&old_running, __ATOMIC_ACQUIRE))
		usleep(100);
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, &new_calls, new_handler));
	require(!__atomic_load_n(&old_running, __ATOMIC_ACQUIRE), "a call of the old one");
	before = __atomic_load_n(&old_calls, __ATOMIC_ACQUIRE);
	while (before + __atomic_load_n(&new_calls, __ATOMIC_ACQUIRE) < 50 && now_ms() < end)
		usleep(1000);
	require(before == __atomic_load_n(&old_calls, __ATOMIC_ACQUIRE), "more calls of the old one");
	require(before + new_calls == 50, "%u and %u calls", before, new_calls);
	expect(VIP_SUCCESS, VipCloseNic(client.nic));
}

static void close_it(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)context;
	require(VipCloseNic(error->NicHandle) == VIP_INVALID_PARAMETER, "it is in use");
	__atomic_store_n(&at_client.count, 1, __ATOMIC_RELEASE);
}

/* VipCloseNic() in a handler would wait for itself */
void close_in_call(void)
{
	open_end(&client);
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, NULL, close_it));
	expect(VIP_SUCCESS, VipPostRecv(client.vi, NULL, 0));
	while (!count_of(&at_client))
		usleep(1000);
	expect(VIP_SUCCESS, VipCloseNic(client.nic));
}
