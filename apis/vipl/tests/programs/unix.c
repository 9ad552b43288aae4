// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Processes that fork, get signals, are short of memory, or lose their device. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pair.h"

static void transfer_one(void)
{
	VIP_DESCRIPTOR *r = make_send(&server, 0, 4096, 64), *s = make_send(&client, 0, 0, 64);

	post_recv(&server, r);
	post_send(&client, s);
	require_received(&server, r, DONE);
	require_sent(&client, s, DONE);
}

/* --- fork --- */

/* The parent's handles are invalid in a child, and its own NICs work. */
static void be_child(void)
{
	struct end inherited = client;
	VIP_VI_ATTRIBUTES attr;
	VIP_DESCRIPTOR *got;
	VIP_VI_STATE state;

	expect(VIP_INVALID_PARAMETER, VipQueryVi(inherited.vi, &state, &attr));
	expect(VIP_INVALID_PARAMETER, VipPostSend(inherited.vi, (void *)client.descs,
						  client.handle));
	expect(VIP_INVALID_PARAMETER, VipRecvWait(server.vi, VIP_INFINITE, &got));
	expect(VIP_INVALID_PARAMETER, VipDisconnect(inherited.vi));
	expect(VIP_INVALID_PARAMETER, VipCloseNic(inherited.nic));
	pair_name = "child";	/* the parent listens for the other */
	open_pair();
	connect_pair();
	transfer_one();
	expect(VIP_INVALID_PARAMETER, VipQueryVi(inherited.vi, &state, &attr));
	close_pair();
}

static void require_child(pid_t pid)
{
	int status;

	require(waitpid(pid, &status, 0) == pid && !status, "the child's status is %#x", status);
}

void forked(void)
{
	unsigned int i;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip("ThreadSanitizer has no threads in a child of a process with threads");
#endif
	open_pair();
	connect_pair();
	for (i = 0; i < 3; i++) {
		pid = fork();
		require(pid >= 0, "fork");
		if (!pid) {
			be_child();
			_exit(0);
		}
		transfer_one();
		require_child(pid);
		transfer_one();
	}
	close_pair();
}

/* --- signals --- */

static unsigned int signals, elsewhere;
static pthread_t self;

static void on_alarm(int number)
{
	(void)number;
	signals++;
	elsewhere += !pthread_equal(self, pthread_self());
}

/* Signals do not shorten a wait, and threads of the library get none. */
void interrupted(void)
{
	struct itimerval each = { { 0, 1000 }, { 0, 1000 } }, none = { 0 };
	struct sigaction action = { .sa_handler = on_alarm };
	VIP_DESCRIPTOR *got;
	uint64_t since;
	unsigned int i;

	self = pthread_self();
	open_pair();
	connect_pair();
	require(!sigaction(SIGALRM, &action, NULL) && !setitimer(ITIMER_REAL, &each, NULL), "a timer");
	since = now_ms();
	expect(VIP_TIMEOUT, VipRecvWait(server.vi, 300, &got));
	require(now_ms() - since >= 299, "after %d ms", (int)(now_ms() - since));
	for (i = 0; i < 100; i++)
		transfer_one();
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	close_pair();
	setitimer(ITIMER_REAL, &none, NULL);
	require(signals, "there were signals");
	require(!elsewhere, "%u of %u in threads of the library", elsewhere, signals);
}

/* --- memory --- */

#define LARGEST		(1 << 20)
#define MOST		100000

static void *eaten[MOST];
static unsigned int meals;

/* Allocates all memory, for this thread; the library's threads allocate none meanwhile */
static void eat(void)
{
	struct rlimit none = { 0, RLIM_INFINITY };
	size_t size;

	require(!setrlimit(RLIMIT_AS, &none), "a limit");
	for (size = LARGEST; size >= 16; size = size > 1024 ? size / 2 : size - 16)
		while (meals < MOST && (eaten[meals] = malloc(size)))
			meals++;
	require(meals < MOST, "more than %d pieces", MOST);
}

static void give_back(void)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	require(!setrlimit(RLIMIT_AS, &all), "no limit");
	while (meals)
		free(eaten[--meals]);
}

#define expect_short(call) do {						\
	VIP_RETURN short_;						\
	eat();								\
	short_ = (call);						\
	give_back();							\
	require(short_ == VIP_ERROR_RESOURCE, "%s gives %d", #call, short_); \
	note_seen(#call, short_);					\
	expect(VIP_SUCCESS, call);					\
} while (0)

/* A call that fails leaves nothing behind: it succeeds when there is memory. */
void short_of_memory(void)
{
	union address local = server_at("short"), remote;
	VIP_PROTECTION_HANDLE ptag;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;
	VIP_CQ_HANDLE cq;
	VIP_MEM_HANDLE h;
	VIP_NIC_HANDLE nic;
	VIP_RETURN ret;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	skip("a sanitizer does not live without memory");
#endif
	open_pair();
	expect_short(VipOpenNic(name_of("VIPL_DEVICE"), &nic));
	expect_short(VipCreatePtag(server.nic, &ptag));
	expect_short(VipCreateVi(server.nic, &server.attr, NULL, NULL, &server.vi));
	expect_short(VipCreateCQ(server.nic, 4096, &cq));
	expect_short(VipResizeCQ(cq, 8192));
	expect_short(VipRegisterMem(server.nic, server.data, 64, &server.mem, &h));
	eat();
	ret = at_server(VipConnectWait(server.nic, &local.net, 0, &remote.net, &attr, &conn));
	give_back();
	require(ret == VIP_ERROR_RESOURCE, "VipConnectWait gives %d", ret);
	expect(VIP_TIMEOUT, at_server(VipConnectWait(server.nic, &local.net, 0, &remote.net, &attr,
						     &conn)));
	connect_pair();
	transfer_one();
	close_pair();
}

/* --- the device --- */

static void run(const char *format, const char *name)
{
	char command[200];

	snprintf(command, sizeof(command), format, name);
	require(!system(command), "%s", command);
}

static unsigned int failures;	/* of NICs, as told */

static void on_failure(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	if (error->ResourceCode != VIP_RESOURCE_NIC)
		return;
	require(error->NicHandle == *(VIP_NIC_HANDLE *)context && !error->ViHandle &&
		!error->DescriptorPtr && error->ErrorCode == VIP_ERROR_CATASTROPHIC, "error %d",
		error->ErrorCode);
	__atomic_add_fetch(&failures, 1, __ATOMIC_RELEASE);
}

static void await_failures(unsigned int want)
{
	uint64_t end = now_ms() + LONG;

	while (__atomic_load_n(&failures, __ATOMIC_ACQUIRE) < want && now_ms() < end)
		usleep(1000);
	require(failures >= want, "%u NICs are told to have failed, not %u", failures, want);
}

/* Both NICs are told that the link is lost (7.1 to 7.3). A connect fails while the interface is
 * down (5.1), and succeeds when it is up again.
 */
void device_down(void)
{
	union address local = client_at(""), remote = server_at(pair_name);

	open_pair();
	post_recv(&client, make_send(&client, 1, 0, 64));
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, &client.nic, on_failure));
	expect(VIP_SUCCESS, VipErrorCallback(server.nic, &server.nic, on_failure));
	run("ip link set dev %s down", name_of("VIPL_NETDEV"));
	await_failures(getenv("VIPL_SERVER_DEVICE") ? 1 : 2);
	expect(VIP_ERROR_RESOURCE, VipConnectRequest(client.vi, &local.net, &remote.net, LONG,
						     &client.remote));
	require_state(&client, VIP_STATE_IDLE);
	run("ip link set dev %s up", name_of("VIPL_NETDEV"));
	connect_pair();
	transfer_one();
	close_pair();
}

/*
 * A peer that no packet reaches any more. A disconnect gives it a second, though nothing happens
 * in that time, and its receives are flushed (9.4.5).
 */
void peer_cut_off(void)
{
	VIP_DESCRIPTOR *r;
	uint64_t since;

	open_pair();
	connect_pair();
	r = make_send(&client, 0, 0, 64);
	post_recv(&client, r);
	run("tc qdisc replace dev %s root netem loss 100%%", name_of("VIPL_NETDEV"));
	since = now_ms();
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	since = now_ms() - since;
	run("tc qdisc del dev %s root", name_of("VIPL_NETDEV"));
	require(since < 3000, "after %d ms", (int)since);
	require_state(&client, VIP_STATE_IDLE);
	require_received(&client, r, FLUSHED);
	close_pair();
}

/* All NICs of it are told (7). All calls return, with an error */
void device_gone(void)
{
	union address local = client_at(""), remote = server_at(pair_name);
	VIP_VI_HANDLE idle, none;
	VIP_CQ_HANDLE cq;
	VIP_DESCRIPTOR *r;

	open_pair();
	idle = make_vi(client.nic, &client.attr);
	connect_pair();
	r = make_send(&server, 0, 0, 64);
	post_recv(&server, r);
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, &client.nic, on_failure));
	expect(VIP_SUCCESS, VipErrorCallback(server.nic, &server.nic, on_failure));
	run("rdma link delete %s", name_of("VIPL_DEVICE"));
	await_failures(2);
	require_received(&server, r, FLUSHED);
	require_state(&server, VIP_STATE_ERROR);
	expect(VIP_ERROR_RESOURCE, VipCreateVi(client.nic, &client.attr, NULL, NULL, &none));
	expect(VIP_ERROR_RESOURCE, VipCreateCQ(client.nic, 10, &cq));
	expect(VIP_ERROR_RESOURCE, VipConnectRequest(idle, &local.net, &remote.net, LONG,
						     &client.remote));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDestroyVi(client.vi));
	close_pair();
}

static void *delete_soon(void *unused)
{
	VIP_VI_STATE state = VIP_STATE_IDLE;
	VIP_VI_ATTRIBUTES attr;

	(void)unused;
	while (state != VIP_STATE_CONNECT_PENDING)
		expect(VIP_SUCCESS, VipQueryVi(client.vi, &state, &attr));
	usleep(100000);
	run("rdma link delete %s", name_of("VIPL_DEVICE"));
	return NULL;
}

static void *wait_meanwhile(void *unused)
{
	union address local = server_at("other"), remote;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	(void)unused;
	expect(VIP_ERROR_RESOURCE, VipConnectWait(server.nic, &local.net, VIP_INFINITE, &remote.net,
						  &attr, &conn));
	return NULL;
}

/* An error of the device while a VI is Pending: the VI is in Error, its receives are flushed (5.2) */
void device_gone_pending(void)
{
	union address local = client_at(""), remote = server_at("nobody");
	pthread_t deleter, waiter;
	VIP_DESCRIPTOR *r;

	open_pair();
	r = make_send(&client, 0, 0, 64);
	post_recv(&client, r);
	require(!pthread_create(&waiter, NULL, wait_meanwhile, NULL) &&
		!pthread_create(&deleter, NULL, delete_soon, NULL), "threads");
	expect(VIP_ERROR_RESOURCE, VipConnectRequest(client.vi, &local.net, &remote.net, LONG,
						     &client.remote));
	require_state(&client, VIP_STATE_ERROR);
	require_received(&client, r, FLUSHED);
	pthread_join(waiter, NULL);
	pthread_join(deleter, NULL);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	require_state(&client, VIP_STATE_IDLE);
	close_pair();
}
