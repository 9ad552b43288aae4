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

/* A connect fails while the interface is down (5.1), and succeeds when it is up again. */
void device_down(void)
{
	union address local = client_at(""), remote = server_at(pair_name);

	open_pair();
	post_recv(&client, make_send(&client, 1, 0, 64));
	run("ip link set dev %s down", name_of("VIPL_NETDEV"));
	expect(VIP_ERROR_RESOURCE, VipConnectRequest(client.vi, &local.net, &remote.net, LONG,
						     &client.remote));
	require_state(&client, VIP_STATE_IDLE);
	run("ip link set dev %s up", name_of("VIPL_NETDEV"));
	connect_pair();
	transfer_one();
	close_pair();
}

/* All calls return, with an error */
void device_gone(void)
{
	union address local = client_at(""), remote = server_at(pair_name);
	VIP_VI_HANDLE idle;
	VIP_DESCRIPTOR *r;

	open_pair();
	idle = make_vi(client.nic, &client.attr);
	connect_pair();
	r = make_send(&server, 0, 0, 64);
	post_recv(&server, r);
	run("rdma link delete %s", name_of("VIPL_DEVICE"));
	require_received(&server, r, FLUSHED);
	require_state(&server, VIP_STATE_ERROR);
	expect(VIP_ERROR_RESOURCE, VipConnectRequest(idle, &local.net, &remote.net, LONG,
						     &client.remote));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDestroyVi(client.vi));
	close_pair();
}
