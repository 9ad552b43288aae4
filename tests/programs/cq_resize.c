// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Resizing a CQ (RDMAC verbs 5.3.3): no completion is lost; it succeeds or changes nothing. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "busy.h"
#include "cq.h"

/* CQ-10, CQ-14, with the ring's indices at different places */
void case_resize(void)
{
	static const struct {
		int queued;
		int size;
		int err;
	} rows[] = {
		{ 10, 5, EINVAL }, { 10, 9, EINVAL }, { 10, 10, 0 }, { 0, 1, 0 }, { 1, 1, 0 },
		{ 2, 1, EINVAL }, { 3, 1000, 0 }, { 4, 4, 0 }, { 5, 4, EINVAL }, { 7, 16, 0 },
		{ 12, 12, 0 }, { 12, 11, EINVAL }, { 12, 100000, 0 },
	};
	struct ibv_async_event ev;
	struct ibv_context *ctx;
	uint64_t id = 0;
	struct pair p;
	int err;

	pair_open(&p);
	ctx = p.a.id->verbs;
	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		struct ibv_cq *cqs[] = { p.a.scq, p.b.rcq };
		int cqe[2];

		for (int i = 0; i < 2; i++) {
			err = ibv_resize_cq(cqs[i], 16);
			require(!err && cqs[i]->cqe == 16, "row %zu: %s", r, strerror(err));
		}
		for (int i = 0; i < rows[r].queued; i++) {
			must_recv(&p.b, id + i, 64 * i, 64);
			send_plain(&p.a, id + i, IBV_SEND_SIGNALED);
		}
		barrier(&p);
		for (int i = 0; i < 2; i++) {
			cqe[i] = cqs[i]->cqe;
			err = ibv_resize_cq(cqs[i], rows[r].size);
			require(err == rows[r].err, "row %zu, CQ %d: %s", r, i, strerror(err));
			require(err ? cqs[i]->cqe == cqe[i] : cqs[i]->cqe >= rows[r].size,
				"row %zu, CQ %d: %d entries", r, i, cqs[i]->cqe);
		}
		for (int i = 0; i < rows[r].queued; i++)
			for (int k = 0; k < 2; k++)
				expect_wc(cqs[k], id + i, IBV_WC_SUCCESS, "over a resize");
		id += rows[r].queued;
		for (int k = 0; k < 2; k++)
			expect_no_wc(cqs[k], 0, "over a resize");
	}
	/* CQ-14: each polled completion makes room for one */
	for (int i = 0; i < 2; i++)
		require(!ibv_resize_cq(i ? p.b.rcq : p.a.scq, 4), "%s", strerror(errno));
	for (int i = 0; i < 4; i++) {
		must_recv(&p.b, i, 64 * i, 64);
		send_plain(&p.a, i, IBV_SEND_SIGNALED);
	}
	usleep(100000);
	for (int i = 0; i < 20; i++) {
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "a full CQ");
		expect_wc(p.b.rcq, i, IBV_WC_SUCCESS, "a full CQ");
		must_recv(&p.b, i + 4, 0, 64);
		send_plain(&p.a, i + 4, IBV_SEND_SIGNALED);
	}
	require(!take_async(ctx, &ev, 100), "%s", ibv_event_type_str(ev.event_type));
	pair_close(&p);
}

static int resize_a(struct pair *p)
{
	return ibv_resize_cq(p->a.scq, 64);
}

/* A child of fork() has no rings: it must not move that of its parent */
void case_resize_child(void)
{
	struct pair p;

	pair_open(&p);
	child_gets(resize_a, &p, EINVAL);
	must_recv(&p.b, 1, 0, 64);
	send_plain(&p.a, 1, IBV_SEND_SIGNALED);
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, "after a child's resize");
	expect_wc(p.b.rcq, 1, IBV_WC_SUCCESS, "after a child's resize");
	require(!ibv_resize_cq(p.a.scq, 64), "the parent's own resize: %s", strerror(errno));
	pair_close(&p);
}

static struct ibv_comp_channel *channel;
static uint64_t received, resizes, events;

static void send_signaled(struct end *from, uint64_t n)
{
	send_plain(from, n, IBV_SEND_SIGNALED);
}

/* Sleeps until notified: a completion behind the arm must notify. */
static void *receiver(void *arg)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct ibv_cq *cq = busy.p.b.rcq;
	uint64_t done = 0, total = 0;
	struct ibv_wc wc;
	void *context;
	int n;

	while (!total || done < total) {
		require(!ibv_req_notify_cq(cq, 0), "%s", strerror(errno));
		while ((n = ibv_poll_cq(cq, 1, &wc)) > 0)
			busy_received(&wc, done++);
		require(!n, "ibv_poll_cq: %d", n);
		while (!poll(&pfd, 1, 50) && (!total || done < total)) {
			n = ibv_poll_cq(cq, 1, &wc);
			require(n >= 0, "ibv_poll_cq: %d", n);
			if (n) {
				require(poll(&pfd, 1, 5000) == 1, "no notification of %llu",
					(unsigned long long)done);
				busy_received(&wc, done++);
			}
			total = busy_total();
		}
		if (total && done == total)
			break;
		require(!ibv_get_cq_event(channel, &cq, &context), "%s", strerror(errno));
		require(cq == busy.p.b.rcq, "an event of another CQ");
		ibv_ack_cq_events(cq, 1);
		events++;
	}
	received = done;
	return NULL;
}

static void *resizer(void *arg)
{
	struct ibv_cq *cq = arg;
	unsigned int seed = (uintptr_t)arg, n = 0;

	while (!busy_stopped()) {
		int size = DEPTH << rand_r(&seed) % 8;
		int err = ibv_resize_cq(cq, size + rand_r(&seed) % size);

		require(!err, "ibv_resize_cq: %s", strerror(err));
		/* another thread may have resized the other CQ since */
		require(cq != busy.p.a.scq || cq->cqe >= size, "%d entries of %d", cq->cqe, size);
		n++;
		usleep(rand_r(&seed) % 2000);
	}
	__atomic_fetch_add(&resizes, n, __ATOMIC_RELAXED);
	return NULL;
}

static void channel_hook(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	e->rcq = ibv_create_cq(e->id->verbs, DEPTH, NULL, channel, 0);
	e->scq = ibv_create_cq(e->id->verbs, DEPTH, NULL, NULL, 0);
	require(e->rcq && e->scq, "%s", strerror(errno));
}

/* CQ-08, CQ-09, CN-11: several threads resize, every completion is counted. */
void case_resize_busy(void)
{
	struct busy_thread threads[] = {
		{ receiver, NULL }, { resizer, NULL }, { resizer, NULL }, { resizer, NULL },
	};
	struct ibv_async_event ev;

	channel = ibv_create_comp_channel(test_context());
	require(channel, "%s", strerror(errno));
	end_hook = channel_hook;
	busy_open(send_signaled);
	threads[1].arg = busy.p.a.scq;
	threads[2].arg = busy.p.b.rcq;
	threads[3].arg = busy.p.b.rcq;
	busy_run(threads, ARRAY_SIZE(threads), env_uint("CQ_SECONDS", 8));
	note("messages %llu resizes %llu events %llu", (unsigned long long)busy.sent,
	     (unsigned long long)resizes, (unsigned long long)events);
	require(received == busy.sent && busy.sent > 100, "%llu of %llu received",
		(unsigned long long)received, (unsigned long long)busy.sent);
	require(resizes > 30 && events > 10, "too little happened");
	expect_no_wc(busy.p.a.scq, 100, "after all");
	expect_no_wc(busy.p.b.rcq, 0, "after all");
	require(!take_async(test_context(), &ev, 0), "%s", ibv_event_type_str(ev.event_type));
	require(!take_async(busy.p.a.id->verbs, &ev, 0), "%s", ibv_event_type_str(ev.event_type));
	pair_close(&busy.p);
	require(!ibv_destroy_comp_channel(channel), "%s", strerror(errno));
}

/* A poller with real-time priority ------------------------------------------- */

#define FIFO_DEPTH	4096
#define FIFO_RESIZES	200

static struct {
	struct ibv_cq *cq;
	unsigned long polls;
	bool stop;
} fifo;

static void spins(int sig)
{
	static const char text[] = "the poller spins in place of the thread that resizes\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(EXIT_FAIL);
	_exit(EXIT_FAIL);
}

static void be_fifo(void)
{
	struct sched_param param = { .sched_priority = 10 };
	/* microseconds that the poller may run without sleeping */
	struct rlimit limit = { 500000, RLIM_INFINITY };
	int err;

	signal(SIGXCPU, spins);
	require(!setrlimit(RLIMIT_RTTIME, &limit), "%s", strerror(errno));
	err = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
	require(!err, "%s", strerror(err));
}

/* The poller looks at the CQ and polls nothing, so that a resize copies all completions */
static void *fifo_poller(void *arg)
{
	struct ibv_wc wc;

	be_fifo();
	while (!__atomic_load_n(&fifo.stop, __ATOMIC_ACQUIRE)) {
		require(!ibv_poll_cq(fifo.cq, 0, &wc), "poll");
		require(!ibv_req_notify_cq(fifo.cq, 0), "arm");
		fifo.polls++;
		usleep(20);
	}
	return NULL;
}

static void one_cpu(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	require(!sched_setaffinity(0, sizeof(cpus), &cpus), "%s", strerror(errno));
}

/* A QP whose flushes fill the CQ */
static struct ibv_qp *flushed_qp(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = fifo.cq, .recv_cq = fifo.cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = FIFO_DEPTH, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_recv_wr wr = { 0 }, *bad;

	require(qp, "%s", strerror(errno));
	for (int i = 0; i < FIFO_DEPTH; i++)
		require(!ibv_post_recv(qp, &wr, &bad), "receive %d", i);
	require(!ibv_modify_qp(qp, &attr, IBV_QP_STATE), "%s", strerror(errno));
	return qp;
}

/* The resizing thread may be preempted: the poller must not spin until it runs again. */
void case_resize_fifo(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_qp *qp;
	pthread_t thread;

	one_cpu();
	fifo.cq = ibv_create_cq(ctx, FIFO_DEPTH, NULL, NULL, 0);
	require(pd && fifo.cq, "%s", strerror(errno));
	qp = flushed_qp(pd);
	expect_wc(fifo.cq, 0, IBV_WC_WR_FLUSH_ERR, "flush");
	require(!pthread_create(&thread, NULL, fifo_poller, NULL), "pthread_create");
	for (int i = 0; i < FIFO_RESIZES; i++) {
		int err = ibv_resize_cq(fifo.cq, FIFO_DEPTH * (1 + i % 4));

		require(!err, "resize %d: %s", i, strerror(err));
	}
	__atomic_store_n(&fifo.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	note("%lu polls beside %d resizes", fifo.polls, FIFO_RESIZES);
	require(fifo.polls > FIFO_RESIZES / 4, "the poller has hardly run");
	for (int i = 1; i < FIFO_DEPTH; i++)
		expect_wc(fifo.cq, 0, IBV_WC_WR_FLUSH_ERR, "after the resizes");
	require(!ibv_destroy_qp(qp) && !ibv_destroy_cq(fifo.cq) && !ibv_dealloc_pd(pd), "%s",
		strerror(errno));
}
