// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * many: connections in numbers, for tests of what they cost and how they end.
 *
 *	many pending ADDR PORT N	connect N QPs to a TCP server that says nothing,
 *					print "pending", wait for a signal
 *	many self ADDR PORT N		connect QPs to a listener of its own, one after the
 *					other; all send an empty Write; print "connected C"
 *					and, if it came to an end before N, the errno it was
 *					refused with; wait for a
 *					signal if told so by the environment (MANY_STAYS)
 *	many fork N			make N processes that live at the same time
 *
 * Exit status 0: passed, 1: failed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common.h"



static struct rdma_event_channel *ch;
static struct ibv_pd *pd;
static struct ibv_cq *cq;

/* All connected ids, of both sides */
static struct rdma_cm_id **ids;
static int num_ids;

static void keep(struct rdma_cm_id *id)
{
	ids = realloc(ids, (num_ids + 1) * sizeof(*ids));
	require(ids, "%s", strerror(errno));
	ids[num_ids++] = id;
}

/* A QP has no kthreads, and no send buffer, before it has sent something */
static void all_send(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;

	for (int i = 0; i < num_ids; i++)
		require(!ibv_post_send(ids[i]->qp, &wr, &bad), "%s", strerror(errno));
}

/* One CQ and one PD for all, so that a connection costs as little as possible */
static int make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (!pd)
		pd = ibv_alloc_pd(id->verbs);
	if (!cq)
		cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	require(pd && cq, "%s", strerror(errno));
	attr.send_cq = cq;
	attr.recv_cq = cq;
	return rdma_create_qp(id, pd, &attr);
}

static struct rdma_cm_id *resolved(struct sockaddr_storage *addr)
{
	struct rdma_cm_id *id;

	require(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "%s", strerror(errno));
	require(!rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, 5000), "%s",
		strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	require(!rdma_resolve_route(id, 5000), "%s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	return id;
}

static void pending(struct sockaddr_storage *addr, int n)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_cm_id *id;

	while (n--) {
		id = resolved(addr);
		require(!make_qp(id), "%s", strerror(errno));
		require(!rdma_connect(id, &param), "%s", strerror(errno));
	}
	puts("pending");
	fflush(stdout);
	pause();
}

/* Return: 0, or the errno of connect or accept */
static int connect_self(struct sockaddr_storage *addr)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id = resolved(addr), *child;
	int up = 0;

	if (make_qp(id) || rdma_connect(id, &param))
		return errno;
	while (up < 2) {
		require(!rdma_get_cm_event(ch, &event), "%s", strerror(errno));
		child = event->id;
		switch (event->event) {
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			rdma_ack_cm_event(event);
			if (make_qp(child) || rdma_accept(child, &param))
				return errno;
			break;
		case RDMA_CM_EVENT_ESTABLISHED:
			rdma_ack_cm_event(event);
			keep(child);
			up++;
			break;
		default:
			require(false, "%s, status %d", rdma_event_str(event->event),
				event->status);
		}
	}
	return 0;
}

static void self(struct sockaddr_storage *addr, int n)
{
	struct rdma_cm_id *listener;
	int i, err = 0;

	require(!rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP), "%s", strerror(errno));
	require(!rdma_bind_addr(listener, (struct sockaddr *)addr), "%s", strerror(errno));
	require(!rdma_listen(listener, 16), "%s", strerror(errno));
	for (i = 0; i < n && !err; i++)
		err = connect_self(addr);
	all_send();
	printf("connected %d %s\n", err ? i - 1 : i, err ? strerrorname_np(err) : "");
	fflush(stdout);
	if (getenv("MANY_STAYS"))
		pause();
}

static void fork_many(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		pid_t pid = fork();

		require(pid >= 0, "process %d: %s", i, strerror(errno));
		if (!pid) {
			pause();
			_exit(0);
		}
	}
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	struct sockaddr_storage addr;

	if (argc == 3 && !strcmp(argv[1], "fork")) {
		setpgid(0, 0);
		fork_many(atoi(argv[2]));
		return EXIT_PASS;
	}
	require(argc == 5, "many pending|self ADDR PORT N");
	resolve(argv[2], atoi(argv[3]), &addr);
	ch = cm_channel(false);
	if (!strcmp(argv[1], "pending"))
		pending(&addr, atoi(argv[4]));
	else
		self(&addr, atoi(argv[4]));
	return EXIT_PASS;
}
