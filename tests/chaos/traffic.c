// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * traffic: a program that lives with faults. Four connections between two
 * processes, mixed operations both ways without an end, every byte and every
 * completion checked. A connection that ends is taken down, after all of its
 * WRs have completed, and the client makes it anew. The journal (journal.h)
 * has the counts; the controller gives orders in it.
 *
 *	traffic JOURNAL server ADDR PORT SEED RATE SIZE SLOW
 *	traffic JOURNAL client ADDR PORT SEED RATE SIZE SLOW
 *
 * Status 0: closed in good order; 1: something is wrong, and the journal says
 * what; 3: the device went away; 4: cannot start now.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "traffic.h"

#define EXIT_GONE	3
#define EXIT_LATER	4
#define TICK_MS		20

struct traffic t;

void violation(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t.j->failure, sizeof(t.j->failure), fmt, ap);
	va_end(ap);
	t.j->phase = PHASE_FAILED;
	fprintf(stderr, "FAIL: %s\n", t.j->failure);
	_exit(EXIT_FAIL);
}

/* The controller judges whether the device had to go. */
void gone(void)
{
	t.j->phase = PHASE_GONE;
	_exit(EXIT_GONE);
}

/*
 * An operation failed: transient errors are left to the caller, a lost device ends the program.
 */
void failed(const struct conn *c, int err, const char *what)
{
	if (err == EIO || err == ENODEV)
		gone();
	if (err && !transient(err))
		violation("connection %d: %s: %s", c ? (int)c->index : -1, what, strerror(err));
}

/* --- connections --------------------------------------------------------------- */

static void params(struct rdma_conn_param *p, const struct request *req)
{
	*p = (struct rdma_conn_param){
		.responder_resources = 2 * ORD, .initiator_depth = ORD,
		.retry_count = 7, .rnr_retry_count = 7,
		.private_data = req, .private_data_len = req ? sizeof(*req) : 0,
	};
}

/* @count: of the journal, for connections that were not established */
static void give_up(struct conn *c, uint32_t *count)
{
	++*count;
	if (c->qp)
		conn_drain(c);	/* its receives must be flushed, too */
	else
		conn_unmake(c);
}

static void conn_start(struct conn *c)
{
	struct sockaddr_storage addr;

	if (c->quit || now_ms() < c->retry_at)
		return;
	c->retry_at = now_ms() + 50;
	c->overflow = c->want_overflow;
	c->seed = mix64(t.seed + c->index + ((uint64_t)c->gen << 32));
	if (rdma_create_id(t.cm, &c->id, c, RDMA_PS_TCP)) {
		c->id = NULL;
		return;
	}
	c->j->state = CONN_CONNECTING;
	c->deadline = now_ms() + 6000 * t.slow;
	resolve(t.addr, t.port, &addr);
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)&addr, 2000 * t.slow))
		give_up(c, &c->j->tried);
}

static void connect_now(struct conn *c)
{
	struct request req = { MAGIC, c->index, c->seed };
	struct rdma_conn_param param;

	if (!device_setup(c->id->verbs) || conn_make(c, c->id)) {
		give_up(c, &c->j->tried);
		return;
	}
	params(&param, &req);
	if (rdma_connect(c->id, &param))
		give_up(c, &c->j->tried);
}

static void conn_request(struct rdma_cm_event *ev)
{
	struct rdma_cm_id *id = ev->id;
	struct rdma_conn_param param;
	struct request req = {};
	struct conn *c;

	if (ev->param.conn.private_data_len >= sizeof(req))
		memcpy(&req, ev->param.conn.private_data, sizeof(req));
	rdma_ack_cm_event(ev);
	if (req.magic != MAGIC || req.index >= CONNS || t.quitting)
		goto reject;
	c = &t.conn[req.index];
	if (c->j->state == CONN_UP)	/* the client has ended it already */
		conn_drain(c);
	if (c->j->state != CONN_IDLE || !device_setup(id->verbs))
		goto reject;
	id->context = c;
	c->id = id;
	c->j->state = CONN_CONNECTING;
	c->deadline = now_ms() + 8000 * t.slow;
	c->seed = req.seed;
	params(&param, NULL);
	if (conn_make(c, id) || rdma_accept(id, &param))
		give_up(c, &c->j->tried);
	else
		c->j->port = ntohs(rdma_get_dst_port(id));
	return;
reject:
	if (req.magic == MAGIC && req.index < CONNS)
		t.conn[req.index].j->rejected++;
	rdma_reject(id, NULL, 0);
	for (int i = 0; rdma_destroy_id(id) && i < 5000; i++)
		usleep(1000);
}

static void cm_event(struct rdma_cm_event *ev)
{
	enum rdma_cm_event_type type = ev->event;
	struct conn *c = ev->id->context;
	int status = ev->status;

	if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
		conn_request(ev);
		return;
	}
	rdma_ack_cm_event(ev);
	if (type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		gone();
	if (!c)
		return;
	if (c->j->state == CONN_DRAINING)
		return;
	switch (type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(c->id, 2000 * t.slow))
			give_up(c, &c->j->tried);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect_now(c);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		c->established = true;
		c->j->state = CONN_UP;
		c->j->begun++;
		c->deadline = now_ms() + 15000 * t.slow;	/* time limit for the overflow */
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		conn_drain(c);
		break;
	default:	/* could not connect */
		give_up(c, type == RDMA_CM_EVENT_REJECTED && status == -ECONNREFUSED ?
			&c->j->refused : &c->j->tried);
	}
}

static void cm_events(void)
{
	struct rdma_cm_event *ev;

	while (!rdma_get_cm_event(t.cm, &ev))
		cm_event(ev);
}

static struct conn *conn_of_cq(const struct ibv_cq *cq)
{
	for (uint32_t i = 0; i < CONNS; i++)
		if (t.conn[i].own_cq && t.conn[i].scq == cq)
			return &t.conn[i];
	return NULL;
}

static void async_events(void)
{
	struct ibv_async_event ev;
	struct conn *c;

	while (t.verbs && !ibv_get_async_event(t.verbs, &ev)) {
		switch (ev.event_type) {
		case IBV_EVENT_DEVICE_FATAL:
			gone();
		case IBV_EVENT_QP_LAST_WQE_REACHED:
			c = ev.element.qp->qp_context;
			if (!c->use_srq)
				violation("connection %u: last WQE reached without an SRQ", c->index);
			c->last_wqe = true;
			break;
		case IBV_EVENT_CQ_ERR:
			c = conn_of_cq(ev.element.cq);
			if (!c || !c->overflow)
				violation("CQ_ERR of a CQ that is large enough");
			c->cq_err = true;
			break;
		case IBV_EVENT_SRQ_ERR:
			violation("SRQ_ERR");
		default:
			break;
		}
		ibv_ack_async_event(&ev);
	}
}

static void purge(struct conn *c)
{
	c->j->ended += c->established;
	conn_purge(c);
}

/* The CQ is not polled: it must overflow, and its QP must end. */
static void overflow_step(struct conn *c)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (c->j->state == CONN_UP && !c->said_hello) {
		conn_post(c);
		for (int i = 0; i < SMALL_CQ + 1; i++)
			conn_post_empty(c);
	}
	if (c->cq_err && !ibv_query_qp(c->qp, &attr, IBV_QP_STATE, &init) &&
	    attr.qp_state != IBV_QPS_RTS) {
		purge(c);
		return;
	}
	if (c->j->state == CONN_DRAINING && !c->cq_err && !c->established) {
		purge(c);	/* it was not established */
		return;
	}
	if (now_ms() > c->deadline)
		violation("connection %u: its CQ of %d did not overflow (%s)", c->index,
			  c->scq->cqe, c->cq_err ? "the QP is in RTS" : "no CQ_ERR");
}

/*
 * A disconnect that failed for want of memory is tried again; it may have been done in part, so
 * nothing is posted any more.
 */
static int disconnect(struct conn *c)
{
	int err = rdma_disconnect(c->id) ? errno : 0;

	if (!c->ending)
		c->deadline = now_ms() + 15000 * t.slow;
	c->ending = true;
	c->disconnect_again = transient(err);
	return err;
}

/* No event reported the end that was ordered */
static void not_told(struct conn *c)
{
	if (!t.j->may_miss)
		violation("connection %u: no event tells of the end that was asked for", c->index);
	c->j->forced++;
	conn_drain(c);
}

static void conn_step(struct conn *c, double seconds)
{
	if (c->overflow && c->qp && c->j->state != CONN_CONNECTING) {
		overflow_step(c);
		return;
	}
	switch (c->j->state) {
	case CONN_IDLE:
		if (!t.server)
			conn_start(c);
		break;
	case CONN_CONNECTING:
		if (now_ms() > c->deadline)
			give_up(c, &c->j->tried);
		break;
	case CONN_UP:
		c->budget += seconds * t.rate;
		if (c->budget > 16)
			c->budget = 16;
		if (c->disconnect_again || (c->quit && !c->ending))
			disconnect(c);
		else if (!c->ending)
			conn_post(c);
		else if (now_ms() > c->deadline)
			not_told(c);
		break;
	case CONN_DRAINING:
		if (!conn_drained(c))
			break;
		c->j->ended += c->established;
		conn_unmake(c);
		break;
	}
}

/* --- orders -------------------------------------------------------------------- */

static int carry_out(uint32_t cmd, struct conn *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	switch (cmd) {
	case CMD_QUIT:
		t.quitting = true;
		t.starving = false;
		srq_feed();
		for (uint32_t i = 0; i < CONNS; i++) {
			t.conn[i].quit = true;
			if (t.conn[i].j->state == CONN_UP && !t.conn[i].overflow)
				disconnect(&t.conn[i]);
		}
		return 0;
	case CMD_STARVE:
		t.starving = true;
		return 0;
	case CMD_FEED:
		t.starving = false;
		srq_feed();
		return 0;
	}
	if (c->j->state != CONN_UP || c->overflow || c->ending)
		return EAGAIN;
	switch (cmd) {
	case CMD_OVERFLOW:
		c->want_overflow = true;
		return disconnect(c);
	case CMD_DISCONNECT:
		return disconnect(c);
	case CMD_ERROR:
		return ibv_modify_qp(c->qp, &attr, IBV_QP_STATE);
	case CMD_DESTROY:
		if (c->use_srq)
			return EINVAL;
		purge(c);
		return 0;
	case CMD_INVALIDATE:
		return conn_post_invalidate(c);
	case CMD_DEREG:
	case CMD_REREG:
		if (c->use_mw)
			return EINVAL;
		if (cmd == CMD_REREG)
			return ibv_rereg_mr(c->mr_window, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					    IBV_ACCESS_LOCAL_WRITE);
		errno = ibv_dereg_mr(c->mr_window);
		if (!errno)
			c->mr_window = NULL;
		return errno;
	}
	return EINVAL;
}

static void orders(void)
{
	uint32_t seq = __atomic_load_n(&t.j->cmd_seq, __ATOMIC_ACQUIRE);

	if (seq == t.j->cmd_ack)
		return;
	t.j->cmd_err = carry_out(t.j->cmd, &t.conn[t.j->cmd_arg % CONNS]);
	__atomic_store_n(&t.j->cmd_ack, seq, __ATOMIC_RELEASE);
}

/* --- the program ----------------------------------------------------------------- */

static void cq_events(void)
{
	struct ibv_cq *cq;
	void *context;

	while (t.comp && !ibv_get_cq_event(t.comp, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

static void arm(void)
{
	if (t.cq)
		ibv_req_notify_cq(t.cq, 0);
	for (uint32_t i = 0; i < CONNS; i++)
		if (t.conn[i].qp && t.conn[i].own_cq)
			ibv_req_notify_cq(t.conn[i].scq, 0);
}

static bool all_idle(void)
{
	for (uint32_t i = 0; i < CONNS; i++)
		if (t.conn[i].j->state != CONN_IDLE)
			return false;
	return true;
}

static void run(void)
{
	uint64_t last = now_ms();

	while (!t.quitting || !all_idle()) {
		struct pollfd pfd[3] = {
			{ .fd = t.cm->fd, .events = POLLIN },
			{ .fd = t.comp ? t.comp->fd : -1, .events = POLLIN },
			{ .fd = t.verbs ? t.verbs->async_fd : -1, .events = POLLIN },
		};
		uint64_t now;

		/* system calls are the main cost in User Mode Linux */
		poll(pfd, 3, TICK_MS);
		if (pfd[0].revents)
			cm_events();
		if (pfd[2].revents)
			async_events();
		if (pfd[1].revents)
			cq_events();
		arm();
		poll_cqs();
		orders();
		srq_feed();
		now = now_ms();
		for (uint32_t i = 0; i < CONNS; i++)
			conn_step(&t.conn[i], (now - last) / 1000.0);
		last = now;
	}
}

static void start(void)
{
	struct sockaddr_storage addr;

	t.cm = rdma_create_event_channel();
	if (!t.cm)
		_exit(EXIT_LATER);
	fcntl(t.cm->fd, F_SETFL, O_NONBLOCK);
	if (!t.server)
		return;
	resolve(t.addr, t.port, &addr);
	if (rdma_create_id(t.cm, &t.listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(t.listener, (struct sockaddr *)&addr) ||
	    rdma_listen(t.listener, 16))
		_exit(EXIT_LATER);
	if (!t.listener->verbs || !device_setup(t.listener->verbs))
		_exit(EXIT_LATER);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 9) {
		fprintf(stderr, "traffic JOURNAL server|client ADDR PORT SEED RATE SIZE SLOW\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(argv[1], O_RDWR);
	t.j = mmap(NULL, sizeof(*t.j), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd < 0 || t.j == MAP_FAILED)
		die("%s: %s", argv[1], strerror(errno));
	t.server = !strcmp(argv[2], "server");
	t.addr = argv[3];
	t.port = atoi(argv[4]);
	t.seed = strtoull(argv[5], NULL, 0);
	t.rate = atof(argv[6]);
	t.max_size = atoi(argv[7]);
	t.slow = atoi(argv[8]);
	t.slot = (t.max_size + sizeof(struct header) + 127) & ~63U;
	t.rng.state = t.seed + t.server;
	t.j->magic = JOURNAL_MAGIC;
	t.j->pid = getpid();
	for (uint32_t i = 0; i < CONNS; i++)
		t.conn[i] = (struct conn){ .j = &t.j->conn[i], .index = i };
	start();
	t.j->phase = PHASE_RUN;
	run();
	if (t.listener && rdma_destroy_id(t.listener))
		violation("rdma_destroy_id of the listener: %s", strerror(errno));
	device_release();
	rdma_destroy_event_channel(t.cm);
	t.j->phase = PHASE_DONE;
	return EXIT_PASS;
}
