// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The program behind the device in tests of connections (startup.py): it listens, and connects on
 * command. Commands come as lines on stdin, events go as lines of JSON to stdout.
 *
 *	roles ADDRESS PORT
 *
 *	answer accept|reject|ignore PD_LEN RESOURCES DEPTH RECVS
 *					what becomes of requests from now on
 *	connect PORT PD_LEN RESOURCES DEPTH RECVS
 *					to the listener's own address
 *	send LEN | read N RKEY ADDR LEN	post on the connection
 *	state				completions, state of the QP, dirty octets
 *	close				disconnect
 *	end				drop the connection
 *
 * Private data is 0, 1, 2, ... One connection at a time.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common.h"

#define BUF_LEN		(128 * 1024)
#define RECV_LEN	256
#define MAX_WR		64

struct roles {
	struct sockaddr_storage addr;
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;		/* receives use the second half */
	struct rdma_cm_id *id;	/* the connection, or NULL */
	char answer[16];
	unsigned int recvs;
	uint8_t pdata[256];
	struct rdma_conn_param param;
};

static void say_event(const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;
	const uint8_t *pd = p->private_data;

	printf("{\"event\": \"%s\", \"status\": %d, \"resources\": %u, \"depth\": %u, \"pd\": \"",
	       rdma_event_str(ev->event) + strlen("RDMA_CM_EVENT_"), ev->status,
	       p->responder_resources, p->initiator_depth);
	for (unsigned int i = 0; pd && i < p->private_data_len; i++)
		printf("%02x", pd[i]);
	printf("\"}\n");
}

static void post_recvs(struct roles *r)
{
	for (unsigned int i = 0; i < r->recvs; i++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)r->buf + BUF_LEN / 2 + i * RECV_LEN,
			.length = RECV_LEN,
			.lkey = r->mr->lkey,
		};
		struct ibv_recv_wr wr = { .wr_id = 100 + i, .sg_list = &sge, .num_sge = 1 }, *bad;

		require(!ibv_post_recv(r->id->qp, &wr, &bad), "receive %u", i);
	}
}

static void make_qp(struct roles *r)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = r->cq,
		.recv_cq = r->cq,
		.cap = { .max_send_wr = MAX_WR, .max_recv_wr = MAX_WR,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	for (unsigned int i = 0; i < BUF_LEN; i++)
		r->buf[i] = i % 251;
	require(!rdma_create_qp(r->id, r->pd, &attr), "%s", strerror(errno));
	post_recvs(r);
}

static void drop(struct roles *r)
{
	struct ibv_wc wc;

	if (!r->id)
		return;
	if (r->id->qp)
		rdma_destroy_qp(r->id);
	rdma_destroy_id(r->id);
	r->id = NULL;
	while (ibv_poll_cq(r->cq, 1, &wc) > 0)
		;
}

static void on_request(struct roles *r)
{
	if (!strcmp(r->answer, "reject")) {
		rdma_reject(r->id, r->param.private_data, r->param.private_data_len);
	} else if (!strcmp(r->answer, "accept")) {
		make_qp(r);
		if (rdma_accept(r->id, &r->param))
			printf("{\"event\": \"no accept\", \"status\": %d}\n", -errno);
	}
}

static void on_event(struct roles *r)
{
	enum rdma_cm_event_type type;
	struct rdma_cm_event *ev;
	int err = 0;

	if (rdma_get_cm_event(r->cm, &ev))
		return;
	type = ev->event;
	if (type != RDMA_CM_EVENT_ADDR_RESOLVED && type != RDMA_CM_EVENT_ROUTE_RESOLVED)
		say_event(ev);
	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		drop(r);
		r->id = ev->id;
	}
	rdma_ack_cm_event(ev);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		on_request(r);
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = rdma_resolve_route(r->id, 5000);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		make_qp(r);
		err = rdma_connect(r->id, &r->param);
		break;
	default:
		break;
	}
	if (err)
		printf("{\"event\": \"no connect\", \"status\": %d}\n", -errno);
}

static void set_param(struct roles *r, unsigned int pd_len, unsigned int resources,
		      unsigned int depth, unsigned int recvs)
{
	require(pd_len <= 255 && recvs <= MAX_WR, "a command that can be obeyed");
	r->recvs = recvs;
	r->param = (struct rdma_conn_param) {
		.private_data = r->pdata,
		.private_data_len = pd_len,
		.responder_resources = resources,
		.initiator_depth = depth,
	};
}

static void do_connect(struct roles *r, unsigned int port)
{
	struct sockaddr_storage dst = r->addr;

	if (dst.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&dst)->sin6_port = htobe16(port);
	else
		((struct sockaddr_in *)&dst)->sin_port = htobe16(port);
	drop(r);
	require(!rdma_create_id(r->cm, &r->id, NULL, RDMA_PS_TCP) &&
		!rdma_resolve_addr(r->id, NULL, (struct sockaddr *)&dst, 5000),
		"%s", strerror(errno));
}

static void post(struct roles *r, enum ibv_wr_opcode opcode, unsigned int len,
		 uint32_t rkey, uint64_t addr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)r->buf, .length = len, .lkey = r->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { .remote_addr = addr, .rkey = rkey },
	}, *bad;

	require(r->id && r->id->qp && !ibv_post_send(r->id->qp, &wr, &bad), "a connection");
}

static void say_state(struct roles *r)
{
	unsigned int first = BUF_LEN, last = 0;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = { 0 };
	const char *comma = "";
	struct ibv_wc wc;

	printf("{\"event\": \"state\", \"wcs\": [");
	while (ibv_poll_cq(r->cq, 1, &wc) == 1) {
		printf("%s[%llu, %d, %u]", comma, (unsigned long long)wc.wr_id, wc.status,
		       wc.status ? 0 : wc.byte_len);
		comma = ", ";
	}
	for (unsigned int i = 0; i < BUF_LEN; i++) {
		if (r->buf[i] == i % 251)
			continue;
		if (first == BUF_LEN)
			first = i;
		last = i;
	}
	if (first < BUF_LEN)
		printf("], \"dirty\": [%u, %u], ", first, last);
	else
		printf("], \"dirty\": null, ");
	if (r->id && r->id->qp)
		require(!ibv_query_qp(r->id->qp, &attr, IBV_QP_STATE, &init), "%s",
			strerror(errno));
	printf("\"state\": %d}\n", attr.qp_state);
}

static void obey(struct roles *r, const char *line)
{
	unsigned int a, b, c, d, e;
	unsigned long long to;
	char word[16];

	if (sscanf(line, "answer %15s %u %u %u %u", word, &a, &b, &c, &d) == 5) {
		strcpy(r->answer, word);
		set_param(r, a, b, c, d);
	} else if (sscanf(line, "connect %u %u %u %u %u", &a, &b, &c, &d, &e) == 5) {
		set_param(r, b, c, d, e);
		do_connect(r, a);
	} else if (sscanf(line, "send %u", &a) == 1) {
		post(r, IBV_WR_SEND, a, 0, 0);
	} else if (sscanf(line, "read %u %u %llu %u", &a, &b, &to, &c) == 4) {
		while (a--)
			post(r, IBV_WR_RDMA_READ, c, b, to);
	} else if (!strcmp(line, "state\n")) {
		say_state(r);
	} else if (!strcmp(line, "close\n")) {
		rdma_disconnect(r->id);
	} else if (!strcmp(line, "end\n")) {
		drop(r);
		printf("{\"event\": \"end\"}\n");
	} else {
		die("what is: %s", line);
	}
}

static void start(struct roles *r)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE;

	r->cm = cm_channel(true);
	require(!rdma_create_id(r->cm, &r->listener, NULL, RDMA_PS_TCP) &&
		!rdma_bind_addr(r->listener, (struct sockaddr *)&r->addr) &&
		!rdma_listen(r->listener, 16), "%s", strerror(errno));
	require(r->listener->verbs, "no device has the address");
	r->pd = ibv_alloc_pd(r->listener->verbs);
	r->cq = ibv_create_cq(r->listener->verbs, 4 * MAX_WR, NULL, NULL, 0);
	r->buf = aligned_alloc(4096, BUF_LEN);
	require(r->pd && r->cq && r->buf, "%s", strerror(errno));
	r->mr = ibv_reg_mr(r->pd, r->buf, BUF_LEN, access);
	require(r->mr, "%s", strerror(errno));
	for (unsigned int i = 0; i < sizeof(r->pdata); i++)
		r->pdata[i] = i;
	strcpy(r->answer, "accept");
	printf("{\"event\": \"ready\", \"addr\": %llu, \"rkey\": %u}\n",
	       (unsigned long long)(uintptr_t)r->buf, r->mr->rkey);
}

int main(int argc, char **argv)
{
	static struct roles r;
	char line[128];

	if (argc != 3) {
		fprintf(stderr, "usage: roles ADDRESS PORT\n");
		return EXIT_FAIL;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);	/* so that poll() sees all input */
	resolve(argv[1], atoi(argv[2]), &r.addr);
	start(&r);
	for (;;) {
		struct pollfd pfd[] = {
			{ .fd = 0, .events = POLLIN },
			{ .fd = r.cm->fd, .events = POLLIN },
		};

		poll(pfd, ARRAY_SIZE(pfd), -1);
		/* commands given before a connection apply to it */
		if (!pfd[0].revents) {
			on_event(&r);
			continue;
		}
		if (!fgets(line, sizeof(line), stdin))
			return EXIT_PASS;
		obey(&r, line);
	}
}
