// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mesh: one of many hosts, each of which connects to all others.
 *
 *	mesh SELF ADDR...	SELF: this host's place among the addresses, from 0 on
 *
 * With n hosts there are n (n - 1) connections. A word on each line of its input tells it what to
 * do, and a line of output says that it is done:
 *
 *	(begin)			listening
 *	connect			connected N	N connections to and from the others are there
 *	exchange R		exchanged N	on each of N connections R messages more went each
 *						way, and each byte that came was right
 *	forget HOST		forgotten	the connections with that one do not count any more
 *	finish			finished	nor do any others
 *	end						all are disconnected
 *
 * On each connection an end sends its next message when it has received as many from the other
 * end, so two receives suffice. Exit status 0: passed, 1: failed. A connection that ends fails the
 * program, unless it is forgotten.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common.h"
#include "pattern.h"

#define MAX_HOSTS	32
#define PORT		7480
#define SIZE		8192		/* of the longest message */
#define RECEIVES	4

struct link {
	struct rdma_cm_id *id;
	unsigned int from, to;		/* the host that connects, and the other */
	bool up, forgotten;
	unsigned int sent, received;	/* messages; a send whose completion is due is sent */
	bool sending;
	uint8_t *out, *in[RECEIVES];
};

static unsigned int self, hosts, target;
static struct sockaddr_storage addrs[MAX_HOSTS];
static struct link links[2 * MAX_HOSTS];
static unsigned int num_links;
static struct rdma_event_channel *cm;
static struct ibv_comp_channel *comp;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t *memory;
static enum { IDLE, CONNECTING, EXCHANGING } state;

static void say(const char *word, int number)
{
	if (number < 0)
		printf("%s\n", word);
	else
		printf("%s %d\n", word, number);
	fflush(stdout);
}

/* The key of a message's contents, and its length, which both ends know */
static uint64_t key_of(unsigned int from, unsigned int to, unsigned int n)
{
	return mix64((uint64_t)from << 48 | (uint64_t)to << 32 | n);
}

static uint32_t length_of(uint64_t key)
{
	return 1 + mix64(key) % SIZE;
}

static unsigned int peer_of(const struct link *l)
{
	return l->from == self ? l->to : l->from;
}

static void receive(struct link *l, unsigned int slot)
{
	struct ibv_sge sge = { .addr = (uintptr_t)l->in[slot], .length = SIZE, .lkey = mr->lkey };
	struct ibv_recv_wr wr = {
		.wr_id = (uint64_t)(l - links) << 32 | slot, .sg_list = &sge, .num_sge = 1,
	}, *bad;

	require(!ibv_post_recv(l->id->qp, &wr, &bad), "%s", strerror(errno));
}

/* The next message, if it is this end's turn */
static void send_next(struct link *l)
{
	uint64_t key = key_of(self, peer_of(l), l->sent);
	struct ibv_sge sge = { .addr = (uintptr_t)l->out, .length = length_of(key), .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = (uint64_t)(l - links) << 32 | RECEIVES, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (!l->up || l->sending || l->sent >= target || l->sent > l->received)
		return;
	pattern_fill(l->out, key, 0, sge.length);
	require(!ibv_post_send(l->id->qp, &wr, &bad), "%s", strerror(errno));
	l->sending = true;
	l->sent++;
}

static void make_objects(struct ibv_context *context)
{
	size_t size = (size_t)2 * MAX_HOSTS * (RECEIVES + 1) * SIZE;

	if (pd)
		return;
	pd = ibv_alloc_pd(context);
	comp = ibv_create_comp_channel(context);
	require(pd && comp, "%s", strerror(errno));
	cq = ibv_create_cq(context, 2 * MAX_HOSTS * (RECEIVES + 1), NULL, comp, 0);
	memory = malloc(size);
	require(cq && memory, "%s", strerror(errno));
	mr = ibv_reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
	require(mr, "%s", strerror(errno));
	require(!ibv_req_notify_cq(cq, 0), "%s", strerror(errno));
}

static struct link *new_link(struct rdma_cm_id *id, unsigned int from, unsigned int to)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct link *l = &links[num_links];
	uint8_t *at;

	require(num_links < ARRAY_SIZE(links), "too many connections");
	make_objects(id->verbs);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	require(!rdma_create_qp(id, pd, &attr), "%s", strerror(errno));
	at = memory + (size_t)num_links++ * (RECEIVES + 1) * SIZE;
	*l = (struct link){ .id = id, .from = from, .to = to, .out = at };
	id->context = l;
	for (unsigned int i = 0; i < RECEIVES; i++) {
		l->in[i] = at + (i + 1) * SIZE;
		receive(l, i);
	}
	return l;
}

static void begin(unsigned int to)
{
	struct rdma_cm_id *id;

	require(!rdma_create_id(cm, &id, NULL, RDMA_PS_TCP), "%s", strerror(errno));
	id->context = (void *)(uintptr_t)to;
	require(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addrs[to], 20000), "%s", strerror(errno));
}

static void answer(struct rdma_cm_id *id, const struct rdma_conn_param *asked)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };
	uint32_t from;

	require(asked->private_data_len >= sizeof(from), "%u", asked->private_data_len);
	memcpy(&from, asked->private_data, sizeof(from));
	from = ntohl(from);
	require(from < hosts && from != self, "%u", from);
	new_link(id, from, self);
	require(!rdma_accept(id, &param), "%s", strerror(errno));
}

static void connect_to(struct rdma_cm_id *id)
{
	unsigned int to = (uintptr_t)id->context;
	uint32_t from = htonl(self);
	struct rdma_conn_param param = {
		.private_data = &from, .private_data_len = sizeof(from),
		.responder_resources = 1, .initiator_depth = 1,
	};

	new_link(id, self, to);
	require(!rdma_connect(id, &param), "%s", strerror(errno));
}

static void ended(struct link *l, const char *how)
{
	require(l->forgotten, "the connection from %u to %u has ended: %s", l->from, l->to, how);
	l->up = false;
}

static void event(void)
{
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;

	require(!rdma_get_cm_event(cm, &e), "%s", strerror(errno));
	id = e->id;
	switch (e->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		require(!rdma_resolve_route(id, 20000), "%s", strerror(errno));
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect_to(id);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		answer(id, &e->param.conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		((struct link *)id->context)->up = true;
		send_next(id->context);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		ended(id->context, rdma_event_str(e->event));
		break;
	default:
		die("%s, status %d", rdma_event_str(e->event), e->status);
	}
	rdma_ack_cm_event(e);
}

static void received(struct link *l, unsigned int slot, uint32_t length)
{
	uint64_t key = key_of(peer_of(l), self, l->received);
	size_t where;
	uint8_t want;

	require(length == length_of(key), "message %u from %u: %u bytes, not %u", l->received, peer_of(l),
		length, length_of(key));
	require(pattern_matches(l->in[slot], key, 0, length, &where, &want),
		"message %u from %u: byte %zu is %#x, not %#x", l->received, peer_of(l), where,
		l->in[slot][where], want);
	l->received++;
	receive(l, slot);
}

static void completions(void)
{
	struct ibv_cq *which;
	struct ibv_wc wc;
	void *context;

	require(!ibv_get_cq_event(comp, &which, &context), "%s", strerror(errno));
	ibv_ack_cq_events(which, 1);
	require(!ibv_req_notify_cq(cq, 0), "%s", strerror(errno));
	while (ibv_poll_cq(cq, 1, &wc) == 1) {
		struct link *l = &links[wc.wr_id >> 32];
		unsigned int slot = (uint32_t)wc.wr_id;

		if (wc.status != IBV_WC_SUCCESS) {
			ended(l, ibv_wc_status_str(wc.status));
			continue;
		}
		if (slot == RECEIVES)
			l->sending = false;
		else
			received(l, slot, wc.byte_len);
		send_next(l);
	}
}

/* Is what was asked for done? */
static void look(void)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < num_links; i++) {
		struct link *l = &links[i];

		if (l->forgotten)
			continue;
		if (!l->up || (state == EXCHANGING && (l->received < target || l->sent < target || l->sending)))
			return;
		count++;
	}
	if (state == CONNECTING && count == 2 * (hosts - 1)) {
		state = IDLE;
		say("connected", count);
	} else if (state == EXCHANGING) {
		state = IDLE;
		say("exchanged", count);
	}
}

static void forget(unsigned int host, bool all)
{
	for (unsigned int i = 0; i < num_links; i++)
		if (all || peer_of(&links[i]) == host)
			links[i].forgotten = true;
	say(all ? "finished" : "forgotten", -1);
}

/* Returns false at the end. */
static bool command(void)
{
	char line[64];
	unsigned int n;

	if (!fgets(line, sizeof(line), stdin) || !strcmp(line, "end\n"))
		return false;
	if (!strcmp(line, "connect\n")) {
		state = CONNECTING;
		for (unsigned int i = 1; i < hosts; i++)
			begin((self + i) % hosts);
	} else if (sscanf(line, "exchange %u", &n) == 1) {
		state = EXCHANGING;
		target += n;
		for (unsigned int i = 0; i < num_links; i++)
			send_next(&links[i]);
	} else if (sscanf(line, "forget %u", &n) == 1) {
		forget(n, false);
	} else if (!strcmp(line, "finish\n")) {
		forget(0, true);
	} else {
		die("what is %s?", line);
	}
	return true;
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *listener;
	struct pollfd fds[3] = { { .events = POLLIN }, { .events = POLLIN }, { .events = POLLIN } };

	if (argc < 4 || argc - 2 > MAX_HOSTS)
		die("usage: mesh SELF ADDR...");
	self = strtoul(argv[1], NULL, 0);
	hosts = argc - 2;
	require(self < hosts, "%u", self);
	/* input is looked for by poll() */
	setvbuf(stdin, NULL, _IONBF, 0);
	for (unsigned int i = 0; i < hosts; i++)
		resolve(argv[2 + i], PORT, &addrs[i]);
	cm = cm_channel(false);
	require(!rdma_create_id(cm, &listener, NULL, RDMA_PS_TCP), "%s", strerror(errno));
	require(!rdma_bind_addr(listener, (struct sockaddr *)&addrs[self]), "%s", strerror(errno));
	require(!rdma_listen(listener, hosts), "%s", strerror(errno));
	say("listening", -1);
	for (;;) {
		fds[0].fd = STDIN_FILENO;
		fds[1].fd = cm->fd;
		fds[2].fd = comp ? comp->fd : -1;
		require(poll(fds, ARRAY_SIZE(fds), -1) > 0, "%s", strerror(errno));
		if (fds[1].revents)
			event();
		if (fds[2].revents)
			completions();
		if (fds[0].revents && !command())
			break;
		look();
	}
	for (unsigned int i = 0; i < num_links; i++)
		rdma_disconnect(links[i].id);
	return EXIT_PASS;
}
