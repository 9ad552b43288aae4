// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* What one peer can do to the other: wrong remote addresses, sudden death. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "badinput.h"

enum bad_target {
	UNKNOWN_INDEX,
	WRONG_KEY,
	OTHER_PD,
	STALE,
	NO_RIGHT,
	PAST_END,
	BEFORE_START,
	WRAPS,
	BAD_TARGETS,
};

static const char * const bad_target_names[BAD_TARGETS] = {
	[UNKNOWN_INDEX]	= "rkey with an unknown index",
	[WRONG_KEY]	= "rkey with a wrong key byte",
	[OTHER_PD]	= "rkey of another protection domain",
	[STALE]		= "rkey of an MR that is gone",
	[NO_RIGHT]	= "an MR without the right",
	[PAST_END]	= "one byte past the end of the MR",
	[BEFORE_START]	= "one byte before the MR",
	[WRAPS]		= "an address range that wraps",
};

#define TARGET_LEN 5000		/* several segments over any MTU up to 4 KiB */

struct target {
	uint8_t *mem;
	uint64_t addr;
	uint32_t rkey;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
};

static void make_target(struct target *tg, enum bad_target kind, struct end *e, int right)
{
	const size_t size = 2 * BUF_SIZE;
	uint8_t *mid;

	tg->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(tg->mem, GUARD_BYTE, size);
	/* guard memory on both sides of the MR, which a wrong access would change */
	mid = tg->mem + BUF_SIZE / 2;
	tg->pd = ibv_alloc_pd(e->id->verbs);
	tg->mr = ibv_reg_mr(kind == OTHER_PD ? tg->pd : e->pd, mid, BUF_SIZE,
			    kind == NO_RIGHT ? ACCESS_ALL & ~right : ACCESS_ALL);
	require(tg->mem != MAP_FAILED && tg->pd && tg->mr, "%s", strerror(errno));
	tg->addr = (uintptr_t)mid + 64;
	tg->rkey = tg->mr->rkey;
	switch (kind) {
	case UNKNOWN_INDEX:
		tg->rkey ^= 0x5a5a5a00;
		break;
	case WRONG_KEY:
		tg->rkey ^= 1;
		break;
	case STALE:
		require(!ibv_dereg_mr(tg->mr), "ibv_dereg_mr");
		tg->mr = NULL;
		break;
	case PAST_END:
		tg->addr = (uintptr_t)mid + BUF_SIZE - TARGET_LEN + 1;
		break;
	case BEFORE_START:
		tg->addr = (uintptr_t)mid - 1;
		break;
	case WRAPS:
		tg->addr = UINT64_MAX - TARGET_LEN + 2;
		break;
	default:
		break;
	}
}

static void free_target(struct target *tg)
{
	if (tg->mr)
		require(!ibv_dereg_mr(tg->mr), "%s", strerror(errno));
	require(!ibv_dealloc_pd(tg->pd), "%s", strerror(errno));
	munmap(tg->mem, 2 * BUF_SIZE);
}

/*
 * Segments that pass the check may have been placed before the one that fails; but nothing
 * outside of the MR, and nothing at all without the right.
 */
static void check_untouched(const struct target *tg, enum bad_target kind, const char *what)
{
	const uint8_t *mid = tg->mem + BUF_SIZE / 2;
	size_t where;

	require(all_bytes(tg->mem, GUARD_BYTE, BUF_SIZE / 2, &where), "%s: byte %zu", what,
		where);
	require(all_bytes(mid + BUF_SIZE, GUARD_BYTE, BUF_SIZE / 2, &where), "%s: byte %zu",
		what, where);
	if (kind != PAST_END)
		require(all_bytes(mid, GUARD_BYTE, BUF_SIZE, &where), "%s: byte %zu", what,
			where);
}

static void bad_remote(enum ibv_wr_opcode op, enum bad_target kind)
{
	const char *what = bad_target_names[kind];
	bool write = op == IBV_WR_RDMA_WRITE;
	struct ibv_sge sge;
	struct target tg;
	struct ibv_wc wc;
	struct pair p;
	size_t where;
	int err;

	pair_open(&p);
	make_target(&tg, kind, &p.b, write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ);
	must_recv(&p.a, 200, 0, 64);
	must_recv(&p.b, 100, 0, 64);
	memset(p.a.buf + 4096, 0x11, TARGET_LEN);
	sge = sge_of(&p.a, 4096, TARGET_LEN);
	err = post_wr(&p.a, op, 1, &sge, 1, IBV_SEND_SIGNALED, tg.addr, tg.rkey);
	require(!err, "%s: %s", what, strerror(err));
	wc = wait_wc(p.a.scq, what);
	/*
	 * The Terminate completes a READ, which has no response. A WRITE may have been complete
	 * before the Terminate came (8.2.2 11).
	 */
	require(wc.wr_id == 1, "%s: wr_id %llu", what, (unsigned long long)wc.wr_id);
	if (wc.status != IBV_WC_REM_ACCESS_ERR && !(write && wc.status == IBV_WC_SUCCESS))
		die("%s: completion with '%s', vendor_err %#x", what,
		    ibv_wc_status_str(wc.status), wc.vendor_err);
	expect_disconnected(&p.a, what);
	expect_disconnected(&p.b, what);
	expect_flushes(p.a.rcq, 200, 1, what);
	expect_flushes(p.b.rcq, 100, 1, what);
	expect_state(&p.a, IBV_QPS_ERR, what);
	expect_state(&p.b, IBV_QPS_ERR, what);
	/* Figure 24 */
	expect_qp_event(&p.b, IBV_EVENT_QP_ACCESS_ERR, what);
	check_untouched(&tg, kind, what);
	if (!write && kind != PAST_END)
		require(all_bytes(p.a.buf + 4096, 0x11, TARGET_LEN, &where), "%s: byte %zu",
			what, where);
	free_target(&tg);
	pair_close(&p);
}

static void all_targets(enum ibv_wr_opcode op)
{
	struct pair bystander;

	pair_open(&bystander);
	for (int kind = 0; kind < BAD_TARGETS; kind++) {
		bad_remote(op, kind);
		pair_works(&bystander, bad_target_names[kind]);
	}
	pair_close(&bystander);
}

void case_remote_write(void)
{
	all_targets(IBV_WR_RDMA_WRITE);
}

void case_remote_read(void)
{
	all_targets(IBV_WR_RDMA_READ);
}

/* A zero-length access skips every check (7.6.3, RFC 5040 5.2). */
void case_zero_length(void)
{
	struct ibv_sge sge = { 0x1234567, 0, 0xdeadbeef };
	struct pair p;

	pair_open(&p);
	for (int num = 0; num < 2; num++) {
		must_recv(&p.b, 3, 0, 64);
		require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, 1, &sge, num, IBV_SEND_SIGNALED,
				 0x7654321, 0xdeadbeef) &&
			!post_wr(&p.a, IBV_WR_RDMA_READ, 2, &sge, num, IBV_SEND_SIGNALED,
				 0x7654321, 0xdeadbeef) &&
			!post_wr(&p.a, IBV_WR_SEND, 3, &sge, num, IBV_SEND_SIGNALED, 0, 0),
			"%d SGEs", num);
		expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, "zero-length WRITE");
		expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, "zero-length READ");
		expect_wc(p.a.scq, 3, IBV_WC_SUCCESS, "zero-length SEND");
		require(!expect_wc(p.b.rcq, 3, IBV_WC_SUCCESS, "zero-length SEND").byte_len,
			"length");
	}
	/* a receive may have length zero, too */
	require(!post_rwr(&p.b, 4, NULL, 0) && !post_rwr(&p.b, 5, &sge, 1), "ibv_post_recv");
	for (int i = 4; i < 6; i++) {
		require(!post_wr(&p.a, IBV_WR_SEND, i, NULL, 0, IBV_SEND_SIGNALED, 0, 0),
			"SEND");
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "zero-length SEND");
		expect_wc(p.b.rcq, i, IBV_WC_SUCCESS, "zero-length receive");
	}
	pair_works(&p, "after zero-length operations");
	pair_close(&p);
}

/* Every WR completes exactly once, in order: successes first, flushes last. */
static void count_out(struct ibv_cq *cq, uint32_t first, uint32_t num, const char *what)
{
	bool flushing = false;

	for (uint32_t i = 0; i < num; i++) {
		struct ibv_wc wc = wait_wc(cq, what);

		require(wc.wr_id == first + i, "%s: %llu in place of %u", what,
			(unsigned long long)wc.wr_id, first + i);
		require(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR,
			"%s: %s", what, ibv_wc_status_str(wc.status));
		require(!flushing || wc.status == IBV_WC_WR_FLUSH_ERR,
			"%s: success after a flush", what);
		flushing = wc.status == IBV_WC_WR_FLUSH_ERR;
	}
	expect_no_wc(cq, 50, what);
}

void case_disconnect_busy(void)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct pair p, bystander;
	struct ibv_sge sge;

	pair_open(&bystander);
	for (int round = 0; round < 8; round++) {
		enum ibv_wr_opcode op = round & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
		uint32_t n = 0;

		pair_prepare(&p, &cap);
		pair_connect(&p);
		for (uint32_t i = 0; i < 8; i++) {
			must_recv(&p.a, 200 + i, 0, 64);
			must_recv(&p.b, 100 + i, 0, 64);
		}
		sge = sge_of(&p.a, 0, BUF_SIZE);
		while (!post_wr(&p.a, op, n, &sge, 1, IBV_SEND_SIGNALED,
				(uintptr_t)p.b.buf, p.b.mr->rkey))
			n++;
		require(n == p.a.cap.max_send_wr, "%u", n);
		usleep(2000 * (round / 2));
		require(!rdma_disconnect(round & 2 ? p.b.id : p.a.id), "%s", strerror(errno));
		count_out(p.a.scq, 0, n, "send queue");
		count_out(p.a.rcq, 200, 8, "receive queue");
		count_out(p.b.rcq, 100, 8, "receive queue of the peer");
		expect_disconnected(&p.a, "disconnect");
		expect_disconnected(&p.b, "disconnect");
		pair_close(&p);
		pair_works(&bystander, "after a disconnect");
	}
	pair_close(&bystander);
}

/* Sudden death --------------------------------------------------------- */

/* A server that accepts one connection and does nothing; writes its port to @fd. */
static void victim_server(int fd)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct rdma_event_channel *cm = cm_channel(false);
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct sockaddr_storage addr;
	struct rdma_cm_id *listener;
	struct rdma_cm_event *ev;
	struct end e = { 0 };
	uint16_t port;

	resolve(test_addr, 0, &addr);
	if (rdma_create_id(cm, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&addr) || rdma_listen(listener, 1))
		die("cannot listen: %s", strerror(errno));
	port = ntohs(rdma_get_src_port(listener));
	require(write(fd, &port, sizeof(port)) == sizeof(port), "pipe");
	cm_expect(cm, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	end_init(&e, ev->id, &cap);
	for (int i = 0; i < 8; i++)
		must_recv(&e, i, 0, BUF_SIZE);
	if (rdma_accept(ev->id, &param))
		die("rdma_accept: %s", strerror(errno));
	for (;;)
		pause();
}

static void connect_to(struct end *e, uint16_t port)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;

	resolve(test_addr, port, &addr);
	e->cm = cm_channel(false);
	if (rdma_create_id(e->cm, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 20000))
		die("rdma_resolve_addr: %s", strerror(errno));
	cm_expect(e->cm, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	require(!rdma_resolve_route(id, 20000), "%s", strerror(errno));
	cm_expect(e->cm, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	end_init(e, id, &cap);
	for (int i = 0; i < 8; i++)
		must_recv(e, 200 + i, 64 * i, 64);
	require(!rdma_connect(id, &param), "%s", strerror(errno));
}

/* The survivor is disconnected, and each of its receives is flushed. */
static void survive(struct end *e, uint64_t first)
{
	expect_disconnected(e, "the peer was killed");
	expect_flushes(e->rcq, first, 8, "the peer was killed");
	rdma_destroy_qp(e->id);
	require(!ibv_dereg_mr(e->mr) && !rdma_destroy_id(e->id), "%s", strerror(errno));
}

void case_kill_server(void)
{
	struct pair bystander;
	struct end e = { 0 };
	uint16_t port;
	pid_t child;
	int fd[2];

	/* forked before anything is opened: a child shares no RDMA object with this process */
	require(!pipe(fd), "%s", strerror(errno));
	child = fork_child();
	if (!child)
		victim_server(fd[1]);
	require(read(fd[0], &port, sizeof(port)) == sizeof(port), "child");
	pair_open(&bystander);
	connect_to(&e, port);
	cm_expect(e.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	survive(&e, 200);
	pair_works(&bystander, "after the death of another process");
	pair_close(&bystander);
}

void case_kill_client(void)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct sockaddr_storage addr;
	struct rdma_cm_id *listener;
	struct rdma_cm_event *ev;
	struct pair bystander;
	struct end e = { 0 };
	uint16_t port;
	pid_t child;
	int fd[2];

	require(!pipe(fd), "%s", strerror(errno));
	child = fork_child();
	if (!child) {
		require(read(fd[0], &port, sizeof(port)) == sizeof(port), "pipe");
		connect_to(&e, port);
		for (;;)
			pause();
	}
	pair_open(&bystander);
	e.cm = cm_channel(false);
	resolve(test_addr, 0, &addr);
	if (rdma_create_id(e.cm, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&addr) || rdma_listen(listener, 1))
		die("cannot listen: %s", strerror(errno));
	port = ntohs(rdma_get_src_port(listener));
	require(write(fd[1], &port, sizeof(port)) == sizeof(port), "pipe");
	cm_expect(e.cm, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	end_init(&e, ev->id, &cap);
	rdma_ack_cm_event(ev);
	for (int i = 0; i < 8; i++)
		must_recv(&e, 200 + i, 64 * i, 64);
	require(!rdma_accept(e.id, &param), "%s", strerror(errno));
	cm_expect(e.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	survive(&e, 200);
	pair_works(&bystander, "after the death of another process");
	pair_close(&bystander);
}

/* Connections that are not established ------------------------------------ */

void case_refused(void)
{
	struct rdma_cm_event *ev;
	struct end e = { 0 };

	connect_to(&e, 9);	/* discard: no listener */
	require(cm_wait(e.cm, 20000), "no answer");
	require(!rdma_get_cm_event(e.cm, &ev), "%s", strerror(errno));
	/* rdma_cm reports a reset (ECONNREFUSED) as a rejection */
	require(ev->event == RDMA_CM_EVENT_REJECTED, "%s, status %d", rdma_event_str(ev->event),
		ev->status);
	rdma_ack_cm_event(ev);
	rdma_destroy_qp(e.id);
	require(!rdma_destroy_id(e.id), "%s", strerror(errno));
}

/* A rejection carries private data, as much as librdmacm's u8 length allows. */
void case_reject(void)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	uint8_t hello[255], no[255];
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;
	struct pair p;

	pattern_fill(hello, 1, 0, sizeof(hello));
	pattern_fill(no, 2, 0, sizeof(no));
	pair_prepare(&p, &cap);
	param.private_data = hello;
	param.private_data_len = sizeof(hello);
	require(!rdma_connect(p.a.id, &param), "%s", strerror(errno));
	cm_expect(p.b.cm, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	require(ev->param.conn.private_data_len >= sizeof(hello) &&
		!memcmp(ev->param.conn.private_data, hello, sizeof(hello)), "%u bytes",
		ev->param.conn.private_data_len);
	id = ev->id;
	rdma_ack_cm_event(ev);
	require(!rdma_reject(id, no, sizeof(no)), "%s", strerror(errno));
	require(!rdma_destroy_id(id), "%s", strerror(errno));
	cm_expect(p.a.cm, RDMA_CM_EVENT_REJECTED, &ev);
	require(ev->param.conn.private_data_len >= sizeof(no) &&
		!memcmp(ev->param.conn.private_data, no, sizeof(no)), "%u bytes",
		ev->param.conn.private_data_len);
	rdma_ack_cm_event(ev);
	expect_no_wc(p.a.rcq, 50, "a rejected connection");

	/* the same id cannot connect again, a new one to the same listener can */
	p.a.disconnected = true;
	pair_close(&p);
	pair_open(&p);
	pair_works(&p, "after a rejection");
	pair_close(&p);
}
