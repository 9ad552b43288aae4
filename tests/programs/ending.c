// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * ending: a program that sends, waits for its completions, and ends without notifying its peer.
 * Each completed message must arrive.
 *
 *	ending serve ADDR COUNT SIZE	one connection; status 0 if COUNT messages came
 *	ending WAY ADDR COUNT SIZE	send them, then end in the way WAY
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common.h"
#include "pattern.h"

#define PORT	7600
#define LIMIT	60	/* seconds */

static struct rdma_event_channel *ch;
static struct rdma_cm_id *id;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t *buf;
static unsigned int count, size;

static void make_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = count, .max_recv_wr = count,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	require(pd, "%s", strerror(errno));
	cq = ibv_create_cq(id->verbs, count, NULL, NULL, 0);
	require(cq, "%s", strerror(errno));
	buf = malloc((size_t)count * size);
	require(buf, "%u messages of %u bytes", count, size);
	mr = ibv_reg_mr(pd, buf, (size_t)count * size, IBV_ACCESS_LOCAL_WRITE);
	require(mr, "%s", strerror(errno));
	attr.send_cq = cq;
	attr.recv_cq = cq;
	require(!rdma_create_qp(id, pd, &attr), "%s", strerror(errno));
}

static struct ibv_sge message(unsigned int i)
{
	return (struct ibv_sge){ (uintptr_t)buf + (size_t)i * size, size, mr->lkey };
}

/* The number of WRs that complete with success, until one fails or @more() returns false */
static unsigned int completed(bool (*more)(void))
{
	struct ibv_wc wc;
	unsigned int done = 0;
	bool last = false;

	while (done < count) {
		int n = ibv_poll_cq(cq, 1, &wc);

		require(n >= 0, "ibv_poll_cq: %d", n);
		if (n && wc.status != IBV_WC_SUCCESS)
			break;
		done += n;
		if (n)
			continue;
		/* after the end is reported, earlier completions are in the CQ */
		if (last)
			break;
		last = !more();
		usleep(1000);
	}
	return done;
}

static bool forever(void)
{
	return true;
}

static bool connected(void)
{
	return !cm_wait(ch, 0);
}

static int serve(const char *addr)
{
	struct rdma_conn_param param = { };
	struct rdma_cm_event *event;
	struct rdma_cm_id *listener;
	struct sockaddr_storage at;
	unsigned int got, i;

	resolve(addr, PORT, &at);
	require(!rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP), "%s", strerror(errno));
	require(!rdma_bind_addr(listener, (struct sockaddr *)&at), "%s", strerror(errno));
	require(!rdma_listen(listener, 1), "%s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST, &event);
	id = event->id;
	rdma_ack_cm_event(event);
	make_qp();
	memset(buf, 0, (size_t)count * size);
	for (i = 0; i < count; i++) {
		struct ibv_sge sge = message(i);
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		require(!ibv_post_recv(id->qp, &wr, &bad), "receive %u", i);
	}
	require(!rdma_accept(id, &param), "%s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_ESTABLISHED, NULL);
	got = completed(connected);
	for (i = 0; i < got; i++) {
		uint8_t want;
		size_t where;

		require(pattern_matches(buf + (size_t)i * size, i, 0, size, &where, &want),
			"message %u, byte %zu", i, where);
	}
	require(got == count, "%u of %u messages arrived", got, count);
	return EXIT_PASS;
}

static void by_exit(void)
{
	_exit(EXIT_PASS);
}

static void by_signal(void)
{
	raise(SIGKILL);
}

static void by_destroy_qp(void)
{
	rdma_destroy_qp(id);
}

static void by_destroy_ep(void)
{
	rdma_destroy_ep(id);
}

/* As a program that makes its own QP: the id is destroyed first */
static void by_destroy_id(void)
{
	struct ibv_qp *qp = id->qp;

	id->qp = NULL;
	require(!rdma_destroy_id(id), "%s", strerror(errno));
	require(!ibv_destroy_qp(qp), "%s", strerror(errno));
}

static void by_disconnect(void)
{
	require(!rdma_disconnect(id), "%s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_DISCONNECTED, NULL);
}

static const struct way {
	const char *name;
	void (*end)(void);
} ways[] = {
	{ "exit", by_exit },
	{ "kill", by_signal },
	{ "destroy-qp", by_destroy_qp },
	{ "destroy-ep", by_destroy_ep },
	{ "destroy-id", by_destroy_id },
	{ "disconnect", by_disconnect },
};

static void send_all(const char *addr)
{
	struct rdma_conn_param param = { };
	struct sockaddr_storage at;
	unsigned int i;

	resolve(addr, PORT, &at);
	require(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "%s", strerror(errno));
	require(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, 5000), "%s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	require(!rdma_resolve_route(id, 5000), "%s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	make_qp();
	require(!rdma_connect(id, &param), "%s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_ESTABLISHED, NULL);
	for (i = 0; i < count; i++) {
		struct ibv_sge sge = message(i);
		struct ibv_send_wr wr = {
			.wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		}, *bad;

		pattern_fill(buf + (size_t)i * size, i, 0, size);
		require(!ibv_post_send(id->qp, &wr, &bad), "send %u", i);
	}
	require(completed(forever) == count, "not all Sends were completed");
}

int main(int argc, char **argv)
{
	if (argc != 5) {
		fprintf(stderr, "usage: ending serve|WAY ADDR COUNT SIZE\n");
		return 2;
	}
	count = atoi(argv[3]);
	size = atoi(argv[4]);
	deadline_set(LIMIT, NULL);
	ch = cm_channel(false);
	if (!strcmp(argv[1], "serve"))
		return serve(argv[2]);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		if (strcmp(argv[1], ways[i].name))
			continue;
		send_all(argv[2]);
		ways[i].end();
		return EXIT_PASS;
	}
	fprintf(stderr, "ending: no way %s\n", argv[1]);
	return 2;
}
