// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * integrity: mixed random operations on many connections, both ways at once,
 * with every byte and every completion checked.
 *
 *	integrity --server [--addr A]		on one host
 *	integrity --client A [--seed N] ...	on the other
 *
 * The client's choice of seed, QPs, operations and sizes travels to the server as private data;
 * from then on each end knows what the other will do (plan.c), so neither has to trust the other.
 * Prints a summary; status 0 if no error was found.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "integrity.h"

struct test t = {
	.opt = {
		.port = 7475,
		.plan = { .qps = 4, .ops = 1000, .max_size = 65536, .window = 16 },
		.empty_recv = true,
		.sge = MAX_SGE,
		.inline_size = 64,
		.ord = 8,
		.timeout = 120,
	},
};

static const struct option long_options[] = {
	{ "server",	no_argument,		NULL, 's' },
	{ "client",	required_argument,	NULL, 'c' },
	{ "addr",	required_argument,	NULL, 'a' },
	{ "port",	required_argument,	NULL, 'p' },
	{ "seed",	required_argument,	NULL, 'S' },
	{ "qps",	required_argument,	NULL, 'q' },
	{ "ops",	required_argument,	NULL, 'n' },
	{ "max-size",	required_argument,	NULL, 'm' },
	{ "window",	required_argument,	NULL, 'w' },
	{ "events",	no_argument,		NULL, 'e' },
	{ "one-cq",	no_argument,		NULL, '1' },
	{ "close-both",	no_argument,		NULL, 'b' },
	{ "no-empty-recv", no_argument,		NULL, 'E' },
	{ "fence-all",	no_argument,		NULL, 'f' },
	{ "sge",	required_argument,	NULL, 'g' },
	{ "inline",	required_argument,	NULL, 'I' },
	{ "ord",	required_argument,	NULL, 'o' },
	{ "timeout",	required_argument,	NULL, 't' },
	{ }
};

static void usage(void)
{
	fprintf(stderr,
		"integrity --server [--addr A] | --client A\n"
		"  of the client: --seed N --qps N --ops N (a side and QP) --max-size N --window N\n"
		"  of each side:  --port N --events --one-cq --close-both --no-empty-recv\n"
		"                 --fence-all\n"
		"                 --sge N --inline N --ord N --timeout SECONDS\n");
	exit(2);
}

static void parse(int argc, char **argv)
{
	struct options *o = &t.opt;
	bool seeded = false;
	int c;

	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		switch (c) {
		case 's': o->server = true; break;
		case 'c':
		case 'a': o->addr = optarg; break;
		case 'p': o->port = atoi(optarg); break;
		case 'S': o->plan.seed = strtoull(optarg, NULL, 0); seeded = true; break;
		case 'q': o->plan.qps = strtoul(optarg, NULL, 0); break;
		case 'n': o->plan.ops = strtoul(optarg, NULL, 0); break;
		case 'm': o->plan.max_size = strtoul(optarg, NULL, 0); break;
		case 'w': o->plan.window = strtoul(optarg, NULL, 0); break;
		case 'e': o->events = true; break;
		case '1': o->one_cq = true; break;
		case 'b': o->close_both = true; break;
		case 'E': o->empty_recv = false; break;
		case 'f': o->fence_all = true; break;
		case 'g': o->sge = strtoul(optarg, NULL, 0); break;
		case 'I': o->inline_size = strtoul(optarg, NULL, 0); break;
		case 'o': o->ord = strtoul(optarg, NULL, 0); break;
		case 't': o->timeout = strtoul(optarg, NULL, 0); break;
		default: usage();
		}
	}
	if (optind != argc || (!o->server && !o->addr))
		usage();
	if (!o->sge || o->sge > MAX_SGE || o->inline_size > 4096 - 1024)
		usage();
	if (!seeded) {
		struct timespec ts;

		clock_gettime(CLOCK_REALTIME, &ts);
		o->plan.seed = mix64(ts.tv_sec * 1000000000ULL + ts.tv_nsec);
	}
}

static void check_plan(const struct plan *p)
{
	if (!p->qps || p->qps > 4096 || p->ops < 2 || p->max_size > 1 << 28 ||
	    p->window < 8 || p->window % 8 || p->window > 1024)
		die("bad parameters: %u QPs, %u operations, size %u, window %u", p->qps, p->ops,
		    p->max_size, p->window);
}

static void report(void)
{
	for (uint32_t i = 0; t.conns && i < t.opt.plan.qps; i++) {
		struct conn *c = &t.conns[i];

		if (!c->id)
			continue;
		note("QP %u%s%s: own operations: %u posted, %u complete, %u acknowledged; the peer's: %u seen, %u acknowledged; on SQ %u, on RQ %u, flushed %u",
		     i, c->established ? "" : ", not established",
		     c->disconnected ? ", disconnected" : "", c->next_op, c->retired, c->acked,
		     c->rx_op, c->ack_posted, c->sq_tail - c->sq_head, c->rq_tail - c->rq_head,
		     c->flushed);
	}
	note("events: %llu of %llu arms; seed %#llx", (unsigned long long)t.stats.events,
	     (unsigned long long)t.stats.arms, (unsigned long long)t.opt.plan.seed);
}

/* Called once the device and, on the server, the client's parameters are known. */
static void setup_device(struct ibv_context *verbs)
{
	struct plan *p = &t.opt.plan;
	struct ibv_device_attr attr;
	uint32_t depth = p->qps * (p->window + CTRL_ROOM);

	if (t.pd) {
		require(verbs == t.verbs, "connections over two devices");
		return;
	}
	t.verbs = verbs;
	if (ibv_query_device(verbs, &attr))
		die("ibv_query_device: %s", strerror(errno));
	if (t.opt.sge > (uint32_t)attr.max_sge)
		die("%u SGEs asked for, the device has %d", t.opt.sge, attr.max_sge);
	t.max_rd_sge = attr.max_sge_rd > 0 ? attr.max_sge_rd : 1;
	if (t.max_rd_sge > t.opt.sge)
		t.max_rd_sge = t.opt.sge;
	t.pd = ibv_alloc_pd(verbs);
	if (!t.pd)
		die("ibv_alloc_pd: %s", strerror(errno));
	if (t.opt.events) {
		t.comp = ibv_create_comp_channel(verbs);
		if (!t.comp)
			die("ibv_create_comp_channel: %s", strerror(errno));
		fcntl(t.comp->fd, F_SETFL, fcntl(t.comp->fd, F_GETFL) | O_NONBLOCK);
	}
	t.rcq = ibv_create_cq(verbs, t.opt.one_cq ? 2 * depth : depth, NULL, t.comp, 0);
	if (!t.rcq)
		die("ibv_create_cq: %s", strerror(errno));
	t.scq = t.opt.one_cq ? t.rcq : ibv_create_cq(verbs, depth, NULL, t.comp, 0);
	if (!t.scq)
		die("ibv_create_cq: %s", strerror(errno));
	t.conns = calloc(p->qps, sizeof(*t.conns));
	t.rng.state = p->seed ^ (t.opt.server ? 0x5e7 : 0xc11);
}

static void fill_hello(const struct conn *c, struct hello *h)
{
	const struct plan *p = &t.opt.plan;

	*h = (struct hello){
		.magic = htobe32(HELLO_MAGIC),
		.index = htobe32(c->index),
		.seed = htobe64(p->seed),
		.qps = htobe32(p->qps),
		.ops = htobe32(p->ops),
		.max_size = htobe32(p->max_size),
		.window = htobe32(p->window),
		.window_addr = htobe64((uintptr_t)c->window.mem),
		.source_addr = htobe64((uintptr_t)c->source.mem),
		.window_rkey = htobe32(c->window.mr[0]->rkey),
		.source_rkey = htobe32(c->source.mr[0]->rkey),
	};
}

static void take_hello(const struct rdma_cm_event *ev, struct hello *h)
{
	if (ev->param.conn.private_data_len < sizeof(*h))
		die("private data of %u bytes", ev->param.conn.private_data_len);
	memcpy(h, ev->param.conn.private_data, sizeof(*h));
	if (be32toh(h->magic) != HELLO_MAGIC)
		die("private data is not what the peer has sent: %#x", be32toh(h->magic));
}

static void use_hello(struct conn *c, const struct hello *h)
{
	c->peer_window = be64toh(h->window_addr);
	c->peer_source = be64toh(h->source_addr);
	c->peer_window_rkey = be32toh(h->window_rkey);
	c->peer_source_rkey = be32toh(h->source_rkey);
}

static void conn_param(struct rdma_conn_param *param, const struct hello *h)
{
	*param = (struct rdma_conn_param){
		.private_data = h,
		.private_data_len = sizeof(*h),
		.responder_resources = t.opt.ord,
		.initiator_depth = t.opt.ord,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

static void do_connect(struct conn *c)
{
	struct rdma_conn_param param;
	struct hello h;

	conn_setup(c, c->id);
	conn_post_recvs(c);
	fill_hello(c, &h);
	conn_param(&param, &h);
	if (rdma_connect(c->id, &param))
		die("rdma_connect: %s", strerror(errno));
}

static void do_accept(const struct rdma_cm_event *ev)
{
	struct plan *p = &t.opt.plan;
	struct rdma_conn_param param;
	struct hello h;
	struct conn *c;

	take_hello(ev, &h);
	if (!t.pd) {
		p->seed = be64toh(h.seed);
		p->qps = be32toh(h.qps);
		p->ops = be32toh(h.ops);
		p->max_size = be32toh(h.max_size);
		p->window = be32toh(h.window);
		check_plan(p);
	}
	setup_device(ev->id->verbs);
	require(be32toh(h.index) < p->qps, "%u", be32toh(h.index));
	c = &t.conns[be32toh(h.index)];
	require(!c->id, "connection %u twice", be32toh(h.index));
	c->index = be32toh(h.index);
	use_hello(c, &h);
	conn_setup(c, ev->id);
	conn_post_recvs(c);
	fill_hello(c, &h);
	conn_param(&param, &h);
	if (param.initiator_depth > ev->param.conn.initiator_depth)
		param.initiator_depth = ev->param.conn.initiator_depth;
	if (rdma_accept(ev->id, &param))
		die("rdma_accept: %s", strerror(errno));
}

static void cm_event(struct rdma_cm_event *ev)
{
	struct conn *c = ev->id->context;
	struct hello h;

	if (ev->status)
		die("%s: status %d", rdma_event_str(ev->event), ev->status);
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		setup_device(ev->id->verbs);
		if (rdma_resolve_route(ev->id, 20000))
			die("rdma_resolve_route: %s", strerror(errno));
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		/* ids were made before the connections: their context is the number */
		c = &t.conns[(uintptr_t)c];
		c->index = c - t.conns;
		c->id = ev->id;
		do_connect(c);
		break;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		do_accept(ev);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		require(!c->established, "QP %u: established twice", c->index);
		c->established = true;
		if (!t.opt.server) {
			take_hello(ev, &h);
			use_hello(c, &h);
		}
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		require(!c->disconnected, "QP %u: disconnected twice", c->index);
		c->disconnected = true;
		break;
	default:
		die("%s", rdma_event_str(ev->event));
	}
}

static int drain_cm(void)
{
	struct rdma_cm_event *ev;
	int n = 0;

	while (!rdma_get_cm_event(t.cm, &ev)) {
		cm_event(ev);
		rdma_ack_cm_event(ev);
		n++;
	}
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		die("rdma_get_cm_event: %s", strerror(errno));
	return n;
}

static bool all(bool (*cond)(const struct conn *c))
{
	if (!t.conns)
		return false;
	for (uint32_t i = 0; i < t.opt.plan.qps; i++)
		if (!t.conns[i].id || !cond(&t.conns[i]))
			return false;
	return true;
}

static bool is_established(const struct conn *c)
{
	return c->established;
}

static bool is_disconnected(const struct conn *c)
{
	return c->disconnected;
}

static bool is_gone(const struct conn *c)
{
	return c->disconnected && c->rq_head == c->rq_tail;
}

static void arm(void)
{
	int err = 0;

	/* with one CQ for both queues, sends must notify, too */
	if (!t.r_armed) {
		t.r_since_arm = 0;
		err = ibv_req_notify_cq(t.rcq, !t.opt.one_cq);
		t.r_armed = true;
		t.stats.arms++;
	}
	if (!err && !t.opt.one_cq && !t.s_armed) {
		t.s_since_arm = 0;
		err = ibv_req_notify_cq(t.scq, 0);
		t.s_armed = true;
		t.stats.arms++;
	}
	if (err)
		die("ibv_req_notify_cq: %s", strerror(err));
}

static int drain_events(void)
{
	struct ibv_cq *cq;
	void *context;
	int n = 0;

	while (!ibv_get_cq_event(t.comp, &cq, &context)) {
		bool recv = cq == t.rcq;
		bool *armed = recv ? &t.r_armed : &t.s_armed;

		require(recv || cq == t.scq, "event of an unknown CQ");
		require(*armed, "second event of the %s CQ after one arm",
			recv ? "receive" : "send");
		*armed = false;
		ibv_ack_cq_events(cq, 1);
		t.stats.events++;
		n++;
		/* completions that notified are in the CQ, or were polled since the arm */
		drain_cqs();
		require(recv ? t.r_since_arm : t.s_since_arm,
			"event of the %s CQ without a completion that asks for one",
			recv ? "receive" : "send");
	}
	return n;
}

/* Sleeps until there is an event of the device or the connection manager. */
static void wait_event(void)
{
	struct pollfd pfd[2] = {
		{ .fd = t.cm->fd, .events = POLLIN },
		{ .fd = t.comp->fd, .events = POLLIN },
	};

	if (poll(pfd, 2, -1) < 0 && errno != EINTR)	/* the deadline ends it */
		die("poll: %s", strerror(errno));
}

/* One round of all work that is possible; @post: operations, too. */
static void turn(bool post)
{
	static unsigned int idle;
	int work;

	work = drain_cqs();
	for (uint32_t i = 0; post && i < t.opt.plan.qps; i++)
		work += conn_post(&t.conns[i]);
	if (work)
		return;
	if (!t.opt.events) {
		if (idle++ % 16 == 0)
			drain_cm();
		sched_yield();
		return;
	}
	if (!t.r_armed || (!t.s_armed && !t.opt.one_cq)) {
		arm();
		return;		/* look at the CQs once more before sleeping */
	}
	wait_event();
	drain_cm();
	drain_events();
}

static void start(void)
{
	struct rdma_cm_id *id;
	struct sockaddr_storage addr;

	t.cm = cm_channel(true);
	resolve(t.opt.addr, t.opt.port, &addr);
	if (t.opt.server) {
		if (rdma_create_id(t.cm, &id, NULL, RDMA_PS_TCP) ||
		    rdma_bind_addr(id, (struct sockaddr *)&addr) || rdma_listen(id, 64))
			die("cannot listen: %s", strerror(errno));
		while (!all(is_established)) {
			cm_wait(t.cm, 1000);
			drain_cm();
		}
		if (rdma_destroy_id(id))
			die("rdma_destroy_id of the listener: %s", strerror(errno));
		return;
	}
	check_plan(&t.opt.plan);
	for (uintptr_t i = 0; i < t.opt.plan.qps; i++) {
		if (rdma_create_id(t.cm, &id, (void *)i, RDMA_PS_TCP))
			die("rdma_create_id: %s", strerror(errno));
		if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 20000))
			die("rdma_resolve_addr: %s", strerror(errno));
	}
	while (!all(is_established)) {
		cm_wait(t.cm, 1000);
		drain_cm();
	}
}

static void transfer(void)
{
	while (!all(conn_done)) {
		turn(true);
		for (uint32_t i = 0; i < t.opt.plan.qps; i++) {
			struct conn *c = &t.conns[i];

			if (!c->disconnected || conn_done(c))
				continue;
			/* the last acknowledgement may have come before the FIN */
			drain_cqs();
			if (!conn_done(c))
				die("QP %u: disconnected in the middle", c->index);
		}
	}
}

/*
 * After the end of a connection every receive still posted is flushed, each once and in order
 * (RDMAC verbs 6.2.5).
 */
static void finish(void)
{
	uint64_t posted = t.stats.recvs + t.stats.flushes, quiet;

	for (uint32_t i = 0; i < t.opt.plan.qps; i++)
		posted += t.conns[i].rq_tail - t.conns[i].rq_head;
	if (t.opt.server && !t.opt.close_both)
		while (!all(is_disconnected))
			turn(false);
	/*
	 * Called at the other end, too: a receive posted when the QP was in Idle again stays in
	 * the queue until the QP is disconnected (ST-50).
	 */
	for (uint32_t i = 0; i < t.opt.plan.qps; i++)
		if (rdma_disconnect(t.conns[i].id))
			die("rdma_disconnect: %s", strerror(errno));
	while (!all(is_gone))
		turn(false);
	require(t.stats.recvs + t.stats.flushes == posted, "%llu receives were posted",
		(unsigned long long)posted);

	/* no completion comes after that */
	for (quiet = now_ms() + 200; now_ms() < quiet; usleep(20000)) {
		int late = drain_cqs();

		require(!late, "%d completions after all were there", late);
	}
}

static void release(void)
{
	int err;

	for (uint32_t i = 0; i < t.opt.plan.qps; i++)
		conn_release(&t.conns[i]);
	err = ibv_destroy_cq(t.rcq);
	if (!err && t.scq != t.rcq)
		err = ibv_destroy_cq(t.scq);
	if (!err && t.comp)
		err = ibv_destroy_comp_channel(t.comp);
	if (!err)
		err = ibv_dealloc_pd(t.pd);
	if (err)
		die("release: %s", strerror(err));
	rdma_destroy_event_channel(t.cm);
}

static void summary(void)
{
	struct stats *s = &t.stats;

	printf("integrity: ok: seed %#llx, %u QPs, %u operations each, %u SGEs, %s%s\n",
	       (unsigned long long)t.opt.plan.seed, t.opt.plan.qps, t.opt.plan.ops, t.opt.sge,
	       t.opt.events ? "events" : "polling", t.opt.one_cq ? ", one CQ" : "");
	for (int i = 0; i < OP_KINDS; i++)
		printf("  %-14s %llu\n", op_name(i), (unsigned long long)s->ops[i]);
	printf("  %-14s %llu\n  %-14s %llu\n  %-14s %llu\n  %-14s %llu\n",
	       "inline", (unsigned long long)s->inlined,
	       "unsignaled", (unsigned long long)s->unsignaled,
	       "verified bytes", (unsigned long long)s->bytes,
	       "flushed", (unsigned long long)s->flushes);
	if (t.opt.events)
		printf("  %-14s %llu\n", "events", (unsigned long long)s->events);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	deadline_set(t.opt.timeout, report);
	if (!t.opt.server)
		printf("integrity: seed %#llx\n", (unsigned long long)t.opt.plan.seed);
	fflush(stdout);
	start();
	transfer();
	finish();
	release();
	summary();
	return EXIT_PASS;
}
