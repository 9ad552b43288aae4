// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * cq: completion queues and the extended calls around them.
 *
 *	cq --list			names of the cases
 *	cq ADDR CASE			run one, over the device that has address ADDR
 *
 * Both ends of each connection are in one process. Exit status 0: passed, 1: failed, 77: cannot
 * be tested here.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cases.h"
#include "cq.h"

static const struct test_case cases[] = {
	{ "limits", case_limits, "each size up to the limit, and not one more" },
	{ "vectors", case_vectors, "a completion vector for each CPU" },
	{ "shared", case_shared, "one CQ for many queues, and too small for all they hold" },
	{ "overflow", case_overflow, "a CQ that overflows, beside others that do not" },
	{ "resize", case_resize, "other sizes for a CQ with completions in it" },
	{ "resize-child", case_resize_child, "a child does not resize a CQ of its parent" },
	{ "resize-fifo", case_resize_fifo, "a poller of a higher priority lets a resize on its CPU end" },
	{ "resize-busy", case_resize_busy, "other sizes for CQs under traffic" },
	{ "notify", case_notify, "what notifies, and what does not" },
	{ "notify-busy", case_notify_busy, "no notification is lost" },
	{ "cq-ex", case_cq_ex, "the same completions by both ways of polling" },
	{ "cq-ex-batch", case_cq_ex_batch, "batches of completions" },
	{ "cq-ex-full", case_cq_ex_full, "a completion that was taken makes room in the SQ and in a full CQ" },
	{ "domains", case_domains, "thread domains and parent domains" },
	{ "allocators", case_allocators, "objects in the memory of a parent domain's allocators" },
	{ "qp-ex", case_qp_ex, "each ibv_wr_* call, data compared" },
	{ "qp-ex-batch", case_qp_ex_batch, "batches of work requests, whole or not at all" },
};

void send_plain(struct end *from, uint64_t wr_id, unsigned int flags)
{
	struct ibv_sge sge = sge_of(from, 0, 64);
	int err = post_wr(from, IBV_WR_SEND, wr_id, &sge, 1, flags, 0, 0);

	require(!err, "ibv_post_send: %s", strerror(err));
}

/*
 * All messages that a has sent have completed at b, without a poll of b's completions: a READ
 * behind them was answered. The READ is unsignaled; its data shows the response.
 */
void barrier(struct pair *p)
{
	static uint64_t mark;
	volatile uint64_t *from = (void *)(p->b.buf + 8192), *to = (void *)(p->a.buf + 8192);
	struct ibv_sge sge = sge_of(&p->a, 8192, sizeof(mark));
	const uint64_t end = now_ms() + 20000;
	int err;

	*from = ++mark;
	err = post_wr(&p->a, IBV_WR_RDMA_READ, 0, &sge, 1, 0, (uintptr_t)from, p->b.mr->rkey);
	require(!err, "ibv_post_send: %s", strerror(err));
	while (*to != mark) {
		require(now_ms() < end, "no answer to a READ");
		usleep(100);
	}
	usleep(20000);	/* then a's own completions are written, too */
}

/* CQ-03, CQ-04, CQ-07: at least the requested size, up to the limit that query_device reports. */
void case_limits(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
	struct ibv_device_attr attr;
	struct ibv_cq *cq;
	int err;

	require(ch && !ibv_query_device(ctx, &attr), "%s", strerror(errno));
	const int bad[] = { 0, -1, INT_MIN, INT_MAX, attr.max_cqe + 1 };
	const int good[] = { 1, 2, 3, 5, 100, 1000, 4097 };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		errno = 0;
		require(!ibv_create_cq(ctx, bad[i], NULL, NULL, 0), "%d entries", bad[i]);
		require(errno == EINVAL, "%d entries: %s", bad[i], strerror(errno));
	}
	cq = ibv_create_cq(ctx, 10, &attr, ch, ctx->num_comp_vectors - 1);
	require(cq && cq->channel == ch && cq->cq_context == &attr, "%s", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		err = ibv_resize_cq(cq, good[i]);
		require(!err && cq->cqe >= good[i], "%d entries: %s, %d", good[i], strerror(err),
			cq->cqe);
		require(cq->channel == ch && cq->cq_context == &attr, "after resizing");
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const int before = cq->cqe;

		err = ibv_resize_cq(cq, bad[i]);
		require(err == EINVAL, "resize to %d: %s", bad[i], strerror(err));
		require(cq->cqe == before, "%d after %d", cq->cqe, before);
	}
	err = ibv_resize_cq(cq, attr.max_cqe);
	require(!err && cq->cqe == attr.max_cqe, "resize to the limit: %s", strerror(err));
	require(!ibv_destroy_cq(cq), "%s", strerror(errno));
	cq = ibv_create_cq(ctx, attr.max_cqe, NULL, NULL, 0);
	require(cq && cq->cqe == attr.max_cqe, "the limit: %s", strerror(errno));
	err = ibv_resize_cq(cq, 1);
	require(!err && cq->cqe >= 1 && cq->cqe < attr.max_cqe, "resize to 1: %s", strerror(err));
	require(!ibv_destroy_cq(cq) && !ibv_destroy_comp_channel(ch), "%s", strerror(errno));
}

/* CN-01: a vector for each CPU; an armed CQ notifies on each; a higher vector is refused. */
void case_vectors(void)
{
	struct ibv_qp_attr to_err = { .qp_state = IBV_QPS_ERR };
	struct ibv_context *ctx = test_context();
	const int n = ctx->num_comp_vectors;
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	require(pd, "%s", strerror(errno));
	require(n == sysconf(_SC_NPROCESSORS_ONLN), "%d vectors", n);
	for (int i = 0; i < n; i++) {
		struct ibv_comp_channel *ch = ibv_create_comp_channel(ctx);
		struct ibv_cq *cq = ch ? ibv_create_cq(ctx, 16, &cq, ch, i) : NULL, *got;
		struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq,
						 .qp_type = IBV_QPT_RC, .cap = DEFAULT_CAP };
		struct ibv_recv_wr wr = { .wr_id = i }, *bad;
		struct ibv_qp *qp;
		void *context;

		require(cq && !ibv_req_notify_cq(cq, 0), "vector %d: %s", i, strerror(errno));
		qp = ibv_create_qp(pd, &init);
		require(qp && !ibv_post_recv(qp, &wr, &bad) &&
			!ibv_modify_qp(qp, &to_err, IBV_QP_STATE), "%s", strerror(errno));
		require(!ibv_get_cq_event(ch, &got, &context) && got == cq, "vector %d", i);
		ibv_ack_cq_events(cq, 1);
		expect_wc(cq, i, IBV_WC_WR_FLUSH_ERR, "flush");
		require(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) &&
			!ibv_destroy_comp_channel(ch), "%s", strerror(errno));
	}
	require(!ibv_create_cq(ctx, 16, NULL, NULL, n) && errno == EINVAL, "one too many");
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

/* CQ-02, CQ-06: the queues of a CQ may together hold more than the CQ has room for. */
void case_shared(void)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq = ibv_create_cq(ctx, 1, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .cap = cap };
	struct ibv_qp_attr err_state = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_qp *qp[64];
	struct ibv_wc wc;
	int err;

	require(pd && cq, "%s", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++) {
		qp[i] = ibv_create_qp(pd, &init);
		require(qp[i], "QP %zu: %s", i, strerror(errno));
	}
	err = ibv_resize_cq(cq, ARRAY_SIZE(qp));
	require(!err, "%s", strerror(err));
	require(!ibv_poll_cq(cq, 1, &wc), "a completion out of nothing");
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++)	/* one each, flushed */
		require(!ibv_post_recv(qp[i], &wr, &bad) &&
			!ibv_modify_qp(qp[i], &err_state, IBV_QP_STATE), "%s", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++) {
		wc = expect_wc(cq, 1, IBV_WC_WR_FLUSH_ERR, "flush");
		require(wc.qp_num == qp[i]->qp_num, "QP %u", wc.qp_num);
	}
	expect_no_wc(cq, 100, "more than there was");
	for (size_t i = 0; i < ARRAY_SIZE(qp); i++)
		require(!ibv_destroy_qp(qp[i]), "%s", strerror(errno));
	require(!ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd), "%s", strerror(errno));
}

static bool overflow_rq;

/* The first end of a pair has a CQ of 4 entries, for one of its queues. */
static void small_cq(struct end *e, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_cq *cq = ibv_create_cq(test_context(), 4, NULL, NULL, 0);

	require(cq && cq->cqe == 4, "%s", strerror(errno));
	*(overflow_rq ? &e->rcq : &e->scq) = cq;
	end_hook = NULL;
}

/* CQ-05: the other CQs are not affected, and keep their completions. */
static void overflow(bool rq)
{
	struct ibv_context *ctx = test_context();
	struct ibv_async_event ev;
	struct pair p, other;
	struct ibv_cq *cq;
	int cq_err = 0, qp_fatal = 0;
	uint64_t end;

	while (take_async(ctx, &ev, 0))
		;
	pair_open(&other);
	overflow_rq = rq;
	end_hook = small_cq;
	pair_open(&p);
	cq = rq ? p.a.rcq : p.a.scq;
	ctx = p.a.id->verbs;
	/* 3 completions wait in CQs of the bystander */
	for (int i = 0; i < 3; i++) {
		must_recv(&other.b, i, 64 * i, 64);
		send_plain(&other.a, i, IBV_SEND_SIGNALED);
	}
	for (int i = 0; i < 8; i++) {
		struct end *to = rq ? &p.a : &p.b, *from = rq ? &p.b : &p.a;

		must_recv(to, 100 + i, 64 * i, 64);
		send_plain(from, 100 + i, IBV_SEND_SIGNALED);
	}
	for (end = now_ms() + 20000; now_ms() < end && !(cq_err && qp_fatal);)
		while (take_async(ctx, &ev, 100)) {
			if (ev.event_type == IBV_EVENT_CQ_ERR && ev.element.cq == cq)
				cq_err++;
			else if (ev.event_type == IBV_EVENT_QP_FATAL && ev.element.qp == p.a.qp)
				qp_fatal++;
			/* the peer gets a Terminate */
			else if (ev.event_type != IBV_EVENT_QP_FATAL ||
				 ev.element.qp != p.b.qp)
				die("%s", ibv_event_type_str(ev.event_type));
		}
	require(cq_err == 1 && qp_fatal == 1, "CQ_ERR %d times, QP_FATAL %d times", cq_err,
		qp_fatal);
	for (int i = 0; i < 4; i++)	/* those before the overflow are valid */
		expect_wc(cq, 100 + i, IBV_WC_SUCCESS, "before the overflow");
	expect_no_wc(cq, 200, "after the overflow");
	while (take_async(ctx, &ev, 0))
		require(ev.event_type == IBV_EVENT_QP_FATAL && ev.element.qp == p.b.qp, "%s",
			ibv_event_type_str(ev.event_type));
	for (int i = 0; i < 3; i++) {
		expect_wc(other.a.scq, i, IBV_WC_SUCCESS, "bystander");
		expect_wc(other.b.rcq, i, IBV_WC_SUCCESS, "bystander");
	}
	pair_works(&other, "bystander");
	pair_close(&p);
	pair_close(&other);
}

void case_overflow(void)
{
	overflow(false);
	overflow(true);
}

static const struct test_program prog = {
	.usage = "cq --list | cq ADDR CASE",
	.timeout_env = "CQ_TIMEOUT",
	.timeout = 55,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
