// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Resizing SQ and RQ (RDMAC verbs 6.1.3, QP-20 to QP-22): with WRs outstanding and with traffic
 * nothing is lost; it succeeds or changes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "busy.h"
#include "qp.h"

static int resize(struct end *e, uint32_t send_wr, uint32_t recv_wr)
{
	struct ibv_qp_attr attr = {
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr },
	};

	return ibv_modify_qp(e->qp, &attr, IBV_QP_CAP);
}

static struct ibv_qp_cap caps(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err = ibv_query_qp(e->qp, &attr, IBV_QP_CAP, &init);

	require(!err, "ibv_query_qp: %s", strerror(err));
	return attr.cap;
}

/* Message @n, of a length and contents of its own, which needs no slot of the buffer */
static void send_number(struct end *e, uint64_t n)
{
	struct ibv_sge sge;
	uint8_t data[8];

	memcpy(data, &n, sizeof(data));
	sge = (struct ibv_sge){ (uintptr_t)data, sizeof(data), 0 };
	require(!post_wr(e, IBV_WR_SEND, n, &sge, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE, 0, 0),
		"post of %llu", (unsigned long long)n);
}

static void expect_number(struct end *e, uint32_t off, uint64_t n)
{
	uint64_t got;

	memcpy(&got, e->buf + off, sizeof(got));
	require(got == n, "message %llu in place of %llu", (unsigned long long)got,
		(unsigned long long)n);
}

/* QP-21, QP-22: each size, with @rows[].queued WRs whose completions are not polled */
void case_resize(void)
{
	static const struct {
		int queued;
		uint32_t size;
		int err;
	} rows[] = {
		{ 10, 5, EINVAL }, { 10, 9, EINVAL }, { 10, 10, 0 }, { 0, 1, 0 }, { 1, 1, 0 },
		{ 2, 1, EINVAL }, { 3, 1000, 0 }, { 4, 4, 0 }, { 5, 4, EINVAL }, { 7, 16, 0 },
		{ 12, 12, 0 }, { 12, 11, EINVAL }, { 12, 16384, 0 }, { 1, 0, EINVAL },
		{ 0, 0x7fffffff, EINVAL },
	};
	struct ibv_device_attr dev;
	uint64_t id = 0;
	struct pair p;
	int err;

	pair_open(&p);
	require(!ibv_query_device(p.a.id->verbs, &dev), "ibv_query_device");
	require(dev.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR, "%#x", dev.device_cap_flags);
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		err = resize(&p.a, 16, 16) ?: resize(&p.b, 16, 16);
		require(!err, "row %zu: %s", r, strerror(err));
		for (int i = 0; i < rows[r].queued; i++) {
			must_recv(&p.b, id + i, 64 * i, 64);
			send_number(&p.a, id + i);
		}
		err = resize(&p.a, rows[r].size, 16);
		require(err == rows[r].err, "row %zu, SQ: %s", r, strerror(err));
		err = resize(&p.b, 16, rows[r].size);
		require(err == rows[r].err, "row %zu, RQ: %s", r, strerror(err));
		require(err ? caps(&p.a).max_send_wr == 16 && caps(&p.b).max_recv_wr == 16 :
			caps(&p.a).max_send_wr >= rows[r].size &&
			caps(&p.b).max_recv_wr >= rows[r].size,
			"row %zu: %u %u", r, caps(&p.a).max_send_wr, caps(&p.b).max_recv_wr);
		require(caps(&p.a).max_recv_wr == 16 && caps(&p.b).max_send_wr == 16,
			"row %zu: the other queues", r);
		for (int i = 0; i < rows[r].queued; i++) {
			expect_wc(p.a.scq, id + i, IBV_WC_SUCCESS, "over a resize");
			expect_wc(p.b.rcq, id + i, IBV_WC_SUCCESS, "over a resize");
			expect_number(&p.b, 64 * i, id + i);
		}
		id += rows[r].queued;
	}
	pair_works(&p, "after the resizes");
	pair_close(&p);
}

/* In which states, with which attributes, and how many WRs there are then */
void case_resize_rules(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct ibv_sge sge;
	struct pair p;
	int err, n = 0;

	pair_prepare(&p, &cap);
	/* Idle, with receives posted */
	must_recv(&p.a, 1, 0, 64);
	err = resize(&p.a, 3, 5);
	require(!err, "in Idle: %s", strerror(err));
	require(caps(&p.a).max_send_wr == 4 && caps(&p.a).max_recv_wr == 8, "%u %u",
		caps(&p.a).max_send_wr, caps(&p.a).max_recv_wr);
	pair_connect(&p);
	send_number(&p.b, 77);
	expect_wc(p.a.rcq, 1, IBV_WC_SUCCESS, "posted before the resize");
	expect_wc(p.b.scq, 77, IBV_WC_SUCCESS, "send");
	expect_number(&p.a, 0, 77);

	/* as many WRs as are told, and no more */
	err = resize(&p.b, 16, 3);
	require(!err, "in RTS: %s", strerror(err));
	sge = sge_of(&p.b, 0, 64);
	while (!post_rwr(&p.b, n, &sge, 1))
		n++;
	require((uint32_t)n == caps(&p.b).max_recv_wr, "%d receives of %u", n,
		caps(&p.b).max_recv_wr);

	/* SGEs and inline data do not grow; the caller is told the sizes */
	attr.cap = caps(&p.b);
	attr.cap.max_send_sge++;
	require(ibv_modify_qp(p.b.qp, &attr, IBV_QP_CAP) == EINVAL, "an SGE more");
	attr.cap = caps(&p.b);
	attr.cap.max_recv_sge++;
	require(ibv_modify_qp(p.b.qp, &attr, IBV_QP_CAP) == EINVAL, "a receive SGE more");
	attr.cap = caps(&p.b);
	attr.cap.max_send_wr = 20;
	err = ibv_modify_qp(p.b.qp, &attr, IBV_QP_CAP);
	require(!err && attr.cap.max_send_wr == 32, "%s, %u", strerror(err),
		attr.cap.max_send_wr);
	/* with another attribute nothing changes, neither of them */
	attr.cap.max_send_wr = 64;
	err = ibv_modify_qp(p.b.qp, &attr, IBV_QP_CAP | IBV_QP_STATE);
	require(err == EOPNOTSUPP, "with a state: %s", strerror(err));
	require(caps(&p.b).max_send_wr == 32, "%u", caps(&p.b).max_send_wr);
	expect_state(&p.b, IBV_QPS_RTS, "after a refused Modify");

	/* not in Error (QP-20) */
	require(!ibv_modify_qp(p.b.qp, &attr, IBV_QP_STATE), "to Error");
	err = resize(&p.b, 16, 64);
	require(err == EINVAL, "in Error: %s", strerror(err));
	pair_close(&p);
}

/* The RQ of a QP with an SRQ has no size; its SQ has */
void case_resize_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	struct pair p;
	int err;

	pair_prepare(&p, &cap);
	pd = ibv_alloc_pd(p.a.id->verbs);
	srq = pd ? ibv_create_srq(pd, &init) : NULL;
	require(srq, "%s", strerror(errno));
	p.b.srq = srq;
	pair_connect(&p);
	err = resize(&p.b, 64, 4);
	require(err == EINVAL && caps(&p.b).max_send_wr == 16, "the RQ: %s", strerror(err));
	err = resize(&p.b, 64, 0);
	require(!err && caps(&p.b).max_send_wr == 64, "the SQ: %s", strerror(err));
	must_recv(&p.a, 1, 0, 64);
	send_number(&p.b, 77);
	expect_wc(p.a.rcq, 1, IBV_WC_SUCCESS, "after the resize");
	expect_number(&p.a, 0, 77);
	pair_close(&p);
	err = ibv_destroy_srq(srq) ?: ibv_dealloc_pd(pd);
	require(!err, "%s", strerror(err));
}

static int resize_a(struct pair *p)
{
	return resize(&p->a, 64, 64);
}

/* A child of fork() has no rings: it must not move those of its parent */
void case_resize_child(void)
{
	struct pair p;

	pair_open(&p);
	child_gets(resize_a, &p, EINVAL);
	require(caps(&p.a).max_send_wr == 16, "%u", caps(&p.a).max_send_wr);
	pair_works(&p, "after a child's resize");
	pair_close(&p);
}

static unsigned int resizes;

/* Each message is whole, and the next one */
static void *receiver(void *arg)
{
	uint64_t done = 0, total = 0;

	while (!total || done < total) {
		struct ibv_wc wc;
		int n = ibv_poll_cq(busy.p.b.rcq, 1, &wc);

		require(n >= 0, "ibv_poll_cq: %d", n);
		total = busy_total();
		if (!n) {
			usleep(50);
			continue;
		}
		busy_in_order(&wc, done);
		require(wc.byte_len == 8, "%u bytes", wc.byte_len);
		expect_number(&busy.p.b, 64 * (done % DEPTH), done);
		busy_received(&wc, done++);
	}
	return NULL;
}

/* No resize that has room for all fails */
static void *resizer(void *arg)
{
	unsigned int seed = (uintptr_t)arg;
	struct end *e = arg;

	while (!busy_stopped()) {
		int err = resize(e, (DEPTH << rand_r(&seed) % 6) + rand_r(&seed) % 8,
				 (DEPTH << rand_r(&seed) % 6) + rand_r(&seed) % 8);

		require(!err, "ibv_modify_qp: %s", strerror(err));
		__atomic_fetch_add(&resizes, 1, __ATOMIC_RELAXED);
		usleep(rand_r(&seed) % 2000);
	}
	return NULL;
}

/* QP-21: several threads resize, every message and every completion is counted */
void case_resize_busy(void)
{
	const struct busy_thread threads[] = {
		{ receiver, NULL }, { resizer, &busy.p.a }, { resizer, &busy.p.b },
		{ resizer, &busy.p.b },
	};
	struct ibv_async_event ev;

	busy_open(send_number);
	busy_run(threads, ARRAY_SIZE(threads), env_uint("QP_SECONDS", 6));
	note("messages %llu resizes %u", (unsigned long long)busy.sent, resizes);
	require(busy.sent > 100 && resizes > 30, "too little happened");
	expect_no_wc(busy.p.a.scq, 100, "after all");
	require(!take_async(busy.p.a.id->verbs, &ev, 0), "%s", ibv_event_type_str(ev.event_type));
	pair_close(&busy.p);
}
