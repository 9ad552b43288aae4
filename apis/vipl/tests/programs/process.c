// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Peers in another process that stops or is killed; and several threads of one process. */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "pair.h"

#define THREADS		4
#define MESSAGES	2000
#define AHEAD		32	/* receives that are posted */
#define ROUNDS		300	/* of a message and its answer */

static unsigned int lost;

static void on_error(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error)
{
	(void)context;
	require(error->ErrorCode == VIP_ERROR_CONN_LOST && error->ViHandle == client.vi, "%d",
		error->ErrorCode);
	__atomic_store_n(&lost, 1, __ATOMIC_RELEASE);
}

static void accept_client(void)
{
	union address local = server_at("process"), remote;
	VIP_VI_ATTRIBUTES attr;
	VIP_CONN_HANDLE conn;

	expect(VIP_SUCCESS, at_server(VipConnectWait(server.nic, &local.net, LONG, &remote.net, &attr,
						     &conn)));
	expect(VIP_SUCCESS, VipConnectAccept(conn, server.vi));
}

/* Connects with a process that posts @receives and then does nothing */
static pid_t connect_child(unsigned int receives)
{
	union address local = client_at(""), remote = server_at("process");
	unsigned int i;
	pid_t pid = fork();

	require(pid >= 0, "fork");
	if (!pid) {
		open_end(&server);
		for (i = 0; i < receives; i++)
			post_recv(&server, make_send(&server, i, i * 64, 64));
		accept_client();
		pause();
		_exit(0);
	}
	open_end(&client);
	expect(VIP_SUCCESS, VipErrorCallback(client.nic, NULL, on_error));
	expect(VIP_SUCCESS, VipConnectRequest(client.vi, &local.net, &remote.net, LONG,
					      &client.remote));
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	require(waitpid(pid, NULL, 0) == pid, "the child");
}

/* Posted descriptors are flushed, and the state is Error, without calls except queries */
void peer_killed(void)
{
	pid_t pid = connect_child(0);
	uint64_t end = now_ms() + LONG;

	post_recv(&client, make_send(&client, 0, 0, 64));
	end_child(pid);
	require_received(&client, (void *)client.descs, FLUSHED);
	require_state(&client, VIP_STATE_ERROR);
	while (!__atomic_load_n(&lost, __ATOMIC_ACQUIRE) && now_ms() < end)
		usleep(1000);
	require(lost, "the function is called");
	post_send(&client, make_send(&client, 1, 0, 64));
	require_sent(&client, (void *)(client.descs + DESC_BYTES), FLUSHED);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDestroyVi(client.vi));
	expect(VIP_SUCCESS, VipCloseNic(client.nic));
}

/* The peer's program is stopped: posts return, and so does a disconnect */
void peer_stopped(void)
{
	pid_t pid = connect_child(PAIR_DESCS);
	uint64_t since = now_ms();
	unsigned int i;

	kill(pid, SIGSTOP);
	for (i = 0; i < PAIR_DESCS; i++)
		post_send(&client, make_send(&client, i, 0, 64));
	/* a Send is done when it has been transmitted, whatever the peer does (2.5.2) */
	for (i = 0; i < PAIR_DESCS; i++)
		require_sent(&client, (void *)(client.descs + i * DESC_BYTES), DONE);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	require(now_ms() - since < LONG, "after %d ms", (int)(now_ms() - since));
	require_state(&client, VIP_STATE_IDLE);
	end_child(pid);
	expect(VIP_SUCCESS, VipCloseNic(client.nic));
}

/* A peer cannot write to memory of another tag, even if it knows the handle */
void foreign_tag(void)
{
	VIP_MEM_ATTRIBUTES other = { NULL, VIP_TRUE, VIP_TRUE };
	VIP_MEM_HANDLE foreign;
	VIP_DESCRIPTOR *d;

	open_pair();
	other.Ptag = make_ptag(server.nic);
	expect(VIP_SUCCESS, VipRegisterMem(server.nic, server.data, 4096, &other, &foreign));
	connect_pair();
	memset(server.data, 1, 64);
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMA_READ, server.data, foreign);
	add_segment(&client, d, client.data, 64);
	post_send(&client, d);
	require_sent(&client, d, DONE | VIP_STATUS_RDMA_PROT_ERROR | VIP_STATUS_OP_RDMA_READ);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	connect_pair();
	post_recv(&server, make_send(&server, 0, 4096, 64));
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMAWRITE, server.data, foreign);
	add_segment(&client, d, client.data, 64);
	post_send(&client, d);
	require_received(&server, (void *)server.descs, FLUSHED);
	require(server.data[0] == 1 && server.data[63] == 1, "nothing is written");
	close_pair();
}

struct registered {
	void *data;
	VIP_MEM_HANDLE handle;
};

/* A process that registers memory and then does nothing */
static struct registered register_in_child(pid_t *pid)
{
	struct registered r;
	int fd[2];

	require(!pipe(fd), "a pipe");
	*pid = fork();
	require(*pid >= 0, "fork");
	if (!*pid) {
		open_end(&server);
		r = (struct registered){ server.data, server.handle };
		require(write(fd[1], &r, sizeof(r)) == (ssize_t)sizeof(r), "write");
		pause();
		_exit(0);
	}
	close(fd[1]);
	require(read(fd[0], &r, sizeof(r)) == (ssize_t)sizeof(r), "read");
	close(fd[0]);
	return r;
}

/* A process cannot use the handle of another one, nor lets a peer use it (3.2.1) */
void foreign_handle(void)
{
	struct registered foreign;
	VIP_DESCRIPTOR *d;
	pid_t pid;

	foreign = register_in_child(&pid);
	open_pair();
	connect_pair();
	d = make_send(&client, 0, 0, 8);
	d->DS[0].Local.Handle = foreign.handle;
	d->DS[0].Local.Data.Address = foreign.data;
	post_send(&client, d);
	require_sent(&client, d, DONE | VIP_STATUS_PROTECTION_ERROR);
	expect(VIP_SUCCESS, VipDisconnect(client.vi));
	expect(VIP_SUCCESS, VipDisconnect(server.vi));
	connect_pair();
	d = make_rdma(&client, 0, VIP_CONTROL_OP_RDMA_READ, foreign.data, foreign.handle);
	add_segment(&client, d, client.data, 64);
	post_send(&client, d);
	require_sent(&client, d, DONE | VIP_STATUS_RDMA_PROT_ERROR | VIP_STATUS_OP_RDMA_READ);
	end_child(pid);
	close_pair();
}

static void require_kept(const VIP_DESCRIPTOR *d, const VIP_DESCRIPTOR *before)
{
	require(!memcmp(d->DS, before->DS, sizeof(before->DS)), "the segments");
	require(d->CS.SegCount == before->CS.SegCount && d->CS.Control == before->CS.Control &&
		d->CS.Reserved == before->CS.Reserved, "the rest of the control segment");
}

/*
 * In a completed descriptor only the fields of the specification have changed. Behind its
 * segments the memory is the program's, while it is posted, too.
 */
void descriptor_kept(void)
{
	VIP_DESCRIPTOR *r, *s, before, sent;

	open_pair();
	connect_pair();
	r = make_send(&server, 0, 0, 64);
	before = *r;
	before.DS[1].Local.Data.AddressBits = 0x1122334455667788;
	before.DS[1].Local.Handle = 7;
	post_recv(&server, r);
	r->DS[1] = before.DS[1];
	s = make_send(&client, 0, 0, 10);
	s->CS.Control = VIP_CONTROL_QFENCE;
	s->DS[1].Local.Handle = 8;
	sent = *s;
	post_send(&client, s);
	require_received(&server, r, DONE);
	require_sent(&client, s, DONE);
	require_kept(r, &before);
	require_kept(s, &sent);
	close_pair();
}

static unsigned int received;
static VIP_CQ_HANDLE cq;

static bool is_over(void)
{
	return __atomic_load_n(&received, __ATOMIC_ACQUIRE) >= MESSAGES;
}

/* Return: VIP_NOT_DONE if another thread was first */
static VIP_RETURN take_message(void)
{
	VIP_DESCRIPTOR *d;
	VIP_RETURN ret = noted(VipRecvDone(server.vi, &d));

	if (ret == VIP_NOT_DONE)
		return ret;
	require(ret == VIP_SUCCESS, "%d", ret);
	require(d->CS.Status == (DONE | VIP_STATUS_OP_RECEIVE) && d->CS.Length == 8, "%#x",
		d->CS.Status);
	post_recv(&server, d);
	__atomic_add_fetch(&received, 1, __ATOMIC_RELEASE);
	return ret;
}

/* @beside: others poll the queue beside the CQ, so that an entry may be too late (9.6.7) */
static void *take_entries(void *beside)
{
	VIP_BOOLEAN recv;
	VIP_VI_HANDLE vi;

	while (!is_over()) {
		if (VipCQWait(cq, 20, &vi, &recv) == VIP_TIMEOUT)
			continue;
		require(recv && vi == server.vi, "a receive of the server");
		require(take_message() == VIP_SUCCESS || beside, "an entry without a message");
	}
	return NULL;
}

static void *poll_queue(void *unused)
{
	(void)unused;
	while (!is_over())
		if (take_message() == VIP_NOT_DONE)
			usleep(20);
	return NULL;
}

/* The first @pollers of the threads poll the queue itself */
static void take_all(unsigned int pollers)
{
	pthread_t thread[THREADS];
	unsigned int i;

	received = 0;
	open_pair();
	expect(VIP_SUCCESS, VipDestroyVi(server.vi));
	expect(VIP_SUCCESS, VipCreateCQ(server.nic, 1024, &cq));
	expect(VIP_SUCCESS, VipCreateVi(server.nic, &server.attr, NULL, cq, &server.vi));
	for (i = 0; i < AHEAD; i++)
		post_recv(&server, make_send(&server, i, i * 64, 64));
	connect_pair();
	for (i = 0; i < THREADS; i++)
		require(!pthread_create(&thread[i], NULL, i < pollers ? poll_queue : take_entries,
					pollers ? &cq : NULL), "a thread");
	for (i = 0; i < MESSAGES; i++) {
		while (i >= __atomic_load_n(&received, __ATOMIC_ACQUIRE) + AHEAD - THREADS)
			usleep(100);
		post_send(&client, make_send(&client, 0, 0, 8));
		require_sent(&client, (void *)client.descs, DONE);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	require(received == MESSAGES, "%u messages", received);
	close_pair();
}

/* Each thread has one message of the other at a time, and waits for it before or after it comes */
static void *answer(void *unused)
{
	VIP_DESCRIPTOR *s;
	unsigned int i;

	(void)unused;
	for (i = 0; i < ROUNDS; i++) {
		require_received(&server, (void *)server.descs, DONE);
		post_recv(&server, make_send(&server, 0, 0, 8));
		usleep(i * 7 % 100);
		s = make_send(&server, 1, 64, 8);
		post_send(&server, s);
		require_sent(&server, s, DONE);
	}
	return NULL;
}

static void to_and_fro(void)
{
	VIP_DESCRIPTOR *r, *s;
	pthread_t thread;
	unsigned int i;

	open_pair();
	post_recv(&server, make_send(&server, 0, 0, 8));
	connect_pair();
	require(!pthread_create(&thread, NULL, answer, NULL), "a thread");
	for (i = 0; i < ROUNDS; i++) {
		r = make_send(&client, 0, 0, 8);
		post_recv(&client, r);
		usleep(i * 11 % 100);
		s = make_send(&client, 1, 64, 8);
		post_send(&client, s);
		require_sent(&client, s, DONE);
		require_received(&client, r, DONE);
	}
	pthread_join(thread, NULL);
	close_pair();
}

/* Each message is taken once, by any of the threads, and none that waits is forgotten (6.4.1.1) */
void threads(void)
{
	take_all(0);
	take_all(THREADS / 2);
	to_and_fro();
}
