// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * srq: shared receive queues of a program.
 *
 *	srq --list		names of the cases
 *	srq ADDR CASE		run one, over the device that has address ADDR
 *
 * Both ends of each connection are in one process. Exit status 0: passed, 1: failed, 77: cannot
 * be tested here.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/srnic-abi.h>
#include "cases.h"
#include "pair.h"

#define SLOT	4096	/* bytes of the buffer of one receive */
#define WAIT_MS	20000

/* An SRQ with a PD and buffers of its own; wr_id is the number of the buffer. */
struct pool {
	struct ibv_pd *pd;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint32_t slots;
};

static struct ibv_srq *make_srq(struct ibv_pd *pd, uint32_t max_wr, uint32_t max_sge,
				uint32_t limit)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = max_wr, .max_sge = max_sge, .srq_limit = limit },
	};
	struct ibv_srq *srq;

	errno = 0;
	srq = ibv_create_srq(pd, &attr);
	if (srq)
		require(attr.attr.max_wr >= max_wr && attr.attr.max_sge >= max_sge,
			"got %u WRs, %u SGEs", attr.attr.max_wr, attr.attr.max_sge);
	return srq;
}

static void pool_open(struct pool *s, uint32_t max_wr, uint32_t slots, uint32_t limit)
{
	s->slots = slots;
	s->pd = ibv_alloc_pd(test_context());
	require(s->pd, "%s", strerror(errno));
	s->srq = make_srq(s->pd, max_wr, 2, limit);
	require(s->srq, "ibv_create_srq: %s", strerror(errno));
	s->buf = mmap(NULL, (size_t)slots * SLOT, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(s->buf != MAP_FAILED, "%s", strerror(errno));
	memset(s->buf, GUARD_BYTE, (size_t)slots * SLOT);
	s->mr = ibv_reg_mr(s->pd, s->buf, (size_t)slots * SLOT, IBV_ACCESS_LOCAL_WRITE);
	require(s->mr, "%s", strerror(errno));
}

static void pool_close(struct pool *s)
{
	int err = ibv_destroy_srq(s->srq) ?: ibv_dereg_mr(s->mr) ?: ibv_dealloc_pd(s->pd);

	require(!err, "%s", strerror(err));
	munmap(s->buf, (size_t)s->slots * SLOT);
}

static uint8_t *slot_at(const struct pool *s, uint64_t slot)
{
	require(slot < s->slots, "wr_id %llu", (unsigned long long)slot);
	return s->buf + slot * SLOT;
}

/* Two SGEs of uneven length */
static int pool_post(struct pool *s, uint64_t slot)
{
	const uint32_t cut = 1001;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)slot_at(s, slot), cut, s->mr->lkey },
		{ (uintptr_t)slot_at(s, slot) + cut, SLOT - cut, s->mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = sge, .num_sge = 2 }, *bad = NULL;
	int err = ibv_post_srq_recv(s->srq, &wr, &bad);

	require(err >= 0, "ibv_post_srq_recv returned %d", err);
	if (err)
		require(bad == &wr, "bad_wr is %p", (void *)bad);
	return err;
}

static void pool_fill(struct pool *s, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		int err = pool_post(s, i);

		require(!err, "post %u: %s", i, strerror(err));
	}
}

/* End b has the SRQ, but a PD of its own. */
static void pair_on(struct pair *p, struct pool *s)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;

	pair_prepare(p, &cap);
	p->b.srq = s->srq;
	pair_connect(p);
}

static uint32_t len_of(uint64_t key)
{
	return mix64(key) % (SLOT + 1);
}

/* A message whose length and content follow from @key; @at is a place in a's buffer. */
static void send_post(struct pair *p, uint64_t key, uint32_t at)
{
	struct ibv_sge sge = sge_of(&p->a, at * SLOT, len_of(key));
	int err;

	pattern_fill(p->a.buf + at * SLOT, key, 0, sge.length);
	err = post_wr(&p->a, IBV_WR_SEND, key, &sge, 1, IBV_SEND_SIGNALED, 0, 0);
	require(!err, "ibv_post_send: %s", strerror(err));
}

static void send_msg(struct pair *p, uint64_t key)
{
	send_post(p, key, 0);
	expect_wc(p->a.scq, key, IBV_WC_SUCCESS, "send");
}

/* A READ that has completed shows that all earlier messages are delivered (CM-10). */
static void all_delivered(struct pair *p)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 1);
	int err = post_wr(&p->a, IBV_WR_RDMA_READ, 99, &sge, 1, IBV_SEND_SIGNALED,
			  (uintptr_t)p->b.buf, p->b.mr->rkey);

	require(!err, "%s", strerror(err));
	expect_wc(p->a.scq, 99, IBV_WC_SUCCESS, "READ");
}

/* The message is in the slot that the completion names, with nothing written behind it. */
static void check_msg(struct pair *p, struct pool *s, const struct ibv_wc *wc, uint64_t key)
{
	uint8_t *at = slot_at(s, wc->wr_id), want;
	size_t where;

	if (wc->status != IBV_WC_SUCCESS || wc->opcode != IBV_WC_RECV)
		die("message %llu: '%s' (vendor_err %u), opcode %d", (unsigned long long)key,
		    ibv_wc_status_str(wc->status), wc->vendor_err, wc->opcode);
	require(wc->qp_num == p->b.qp->qp_num, "QP %u", wc->qp_num);
	require(wc->byte_len == len_of(key), "%u in place of %u", wc->byte_len, len_of(key));
	require(pattern_matches(at, key, 0, wc->byte_len, &where, &want),
		"message %llu: byte %zu is %#x", (unsigned long long)key, where, at[where]);
	require(all_bytes(at + wc->byte_len, GUARD_BYTE, SLOT - wc->byte_len, &where),
		"message %llu: byte %zu behind it", (unsigned long long)key, where);
	memset(at, GUARD_BYTE, SLOT);
}

static uint64_t recv_msg(struct pair *p, struct pool *s, uint64_t key)
{
	struct ibv_wc wc = wait_wc(p->b.rcq, "receive");

	check_msg(p, s, &wc, key);
	return wc.wr_id;
}

static bool got_event(enum ibv_event_type type, void *object, unsigned int ms, const char *what)
{
	struct ibv_async_event ev;

	if (!take_async(test_context(), &ev, ms))
		return false;
	if (ev.event_type != type || ev.element.srq != object)
		die("%s: event '%s' in place of '%s'", what, ibv_event_type_str(ev.event_type),
		    ibv_event_type_str(type));
	return true;
}

static void expect_event(enum ibv_event_type type, void *object, const char *what)
{
	if (!got_event(type, object, WAIT_MS, what))
		die("%s: no event '%s'", what, ibv_event_type_str(type));
}

static void no_event(const char *what)
{
	struct ibv_async_event ev;

	if (take_async(test_context(), &ev, 100))
		die("%s: event '%s'", what, ibv_event_type_str(ev.event_type));
}

static struct ibv_srq_attr query(struct pool *s)
{
	struct ibv_srq_attr attr;
	int err = ibv_query_srq(s->srq, &attr);

	require(!err, "ibv_query_srq: %s", strerror(err));
	return attr;
}

static int modify(struct pool *s, uint32_t max_wr, uint32_t limit, int mask)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };
	int err = ibv_modify_srq(s->srq, &attr, mask);

	require(err >= 0, "ibv_modify_srq returned %d", err);
	return err;
}

/* Cases ---------------------------------------------------------------------- */

static void one_srq(struct ibv_pd *pd, uint32_t max_wr, uint32_t max_sge, uint32_t limit,
		    int want, const char *what)
{
	struct ibv_srq *srq = make_srq(pd, max_wr, max_sge, limit);

	if (want)
		require(!srq && errno == want, "%s: %s", what,
			srq ? "success" : strerror(errno));
	else
		require(srq && !ibv_destroy_srq(srq), "%s: %s", what, strerror(errno));
}

/* SR-01, SR-02, SR-06: as much as query_device reports, and not more */
static void case_limits(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_srq_init_attr_ex ex = {
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_TM, .pd = pd, .attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct ibv_device_attr dev;
	struct ibv_srq *srq;

	require(!ibv_query_device(ctx, &dev), "%s", strerror(errno));
	require(dev.max_srq > 0 && dev.max_srq_wr > 0 && dev.max_srq_sge > 0, "%d %d %d",
		dev.max_srq, dev.max_srq_wr, dev.max_srq_sge);
	require(dev.device_cap_flags & IBV_DEVICE_SRQ_RESIZE, "%#x", dev.device_cap_flags);
	one_srq(pd, dev.max_srq_wr, 1, dev.max_srq_wr, 0, "all WRs");
	one_srq(pd, dev.max_srq_wr + 1, 1, 0, EINVAL, "a WR too many");
	one_srq(pd, 0xffffffff, 1, 0, EINVAL, "far too many WRs");
	one_srq(pd, 1, dev.max_srq_sge, 0, 0, "all SGEs");
	one_srq(pd, 1, dev.max_srq_sge + 1, 0, EINVAL, "an SGE too many");
	one_srq(pd, 1, 0xffffffff, 0, EINVAL, "far too many SGEs");
	one_srq(pd, 10, 1, 10, 0, "limit as large as the SRQ");
	one_srq(pd, 10, 1, 11, EINVAL, "limit above the SRQ");

	ex.srq_type = IBV_SRQT_BASIC;
	srq = ibv_create_srq_ex(ctx, &ex);
	require(srq && !ibv_destroy_srq(srq), "basic: %s", strerror(errno));
	ex.srq_type = IBV_SRQT_TM;
	srq = ibv_create_srq_ex(ctx, &ex);
	require(!srq && errno == EOPNOTSUPP, "tag matching: %s", strerror(errno));
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

/* SR-03, SR-04, SR-05, SR-07, SR-10, QP-12, PD-05 */
static void case_objects(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_srq_attr sa;
	struct ibv_sge sge;
	struct pool s;
	struct pair p;
	int err;

	pool_open(&s, 10, 10, 7);
	sa = query(&s);
	require(sa.max_wr >= 10 && sa.max_sge >= 2 && sa.srq_limit == 7, "%u %u %u", sa.max_wr,
		sa.max_sge, sa.srq_limit);
	pair_on(&p, &s);
	require(!ibv_query_qp(p.b.qp, &attr, IBV_QP_CAP, &init), "%s", strerror(errno));
	require(init.srq == s.srq && !attr.cap.max_recv_wr && !attr.cap.max_recv_sge,
		"%p %u %u", (void *)init.srq, attr.cap.max_recv_wr, attr.cap.max_recv_sge);
	sge = sge_of(&p.b, 0, 100);
	err = post_rwr(&p.b, 1, &sge, 1);
	require(err == EINVAL, "post to the QP: %s", strerror(err));

	pool_fill(&s, 0, 10);
	err = ibv_destroy_srq(s.srq);
	require(err == EBUSY, "destroy with a QP: %s", strerror(err));
	err = ibv_dealloc_pd(s.pd);
	require(err == EBUSY, "PD with an SRQ: %s", strerror(err));
	send_msg(&p, 1);
	recv_msg(&p, &s, 1);
	pair_close(&p);
	/* with 9 WRs posted, whose buffers can be used again afterwards */
	pool_close(&s);
	no_event("all is gone");
}

#define PAIRS	8

/* SR-12, SR-15, SR-16, SR-17: each QP gets its messages, in order; one may use the whole SRQ */
static void case_many(void)
{
	const unsigned int rounds = 12, depth = 2 * PAIRS;
	struct pair p[PAIRS];
	struct pool s;
	int err;

	pool_open(&s, depth, depth, 0);
	pool_fill(&s, 0, depth);
	for (int i = 0; i < PAIRS; i++)
		pair_on(&p[i], &s);
	for (uint64_t r = 0; r < rounds; r++) {
		/* two messages of each QP are under way */
		for (int i = 0; i < PAIRS; i++) {
			send_post(&p[i], 1 + 1000 * i + 2 * r, 0);
			send_post(&p[i], 1 + 1000 * i + 2 * r + 1, 1);
		}
		for (int i = PAIRS - 1; i >= 0; i--) {
			for (int n = 0; n < 2; n++) {
				uint64_t key = 1 + 1000 * i + 2 * r + n;
				uint64_t slot = recv_msg(&p[i], &s, key);

				require(!pool_post(&s, slot), "repost");
				expect_wc(p[i].a.scq, key, IBV_WC_SUCCESS, "send");
			}
		}
	}
	/* one QP takes all WQEs */
	for (uint64_t n = 0; n < depth; n++)
		send_msg(&p[0], 5000 + n);
	for (uint64_t n = 0; n < depth; n++)
		recv_msg(&p[0], &s, 5000 + n);
	/* immediate data takes a WQE, too (RFC 7306 6.1) */
	require(!pool_post(&s, 3), "post");
	err = post_wr(&p[1].a, IBV_WR_RDMA_WRITE_WITH_IMM, 6000, NULL, 0, IBV_SEND_SIGNALED, 0, 0);
	if (on_srnic() || err != EOPNOTSUPP) {
		require(!err, "WRITE with immediate data: %s", strerror(err));
		require(expect_wc(p[1].b.rcq, 3, IBV_WC_SUCCESS, "immediate data").opcode ==
			IBV_WC_RECV_RDMA_WITH_IMM, "opcode");
		expect_wc(p[1].a.scq, 6000, IBV_WC_SUCCESS, "immediate data");
	}
	for (int i = 0; i < PAIRS; i++) {
		expect_no_wc(p[i].b.rcq, 0, "at the end");
		pair_close(&p[i]);
	}
	pool_close(&s);
	no_event("all was well");
}

/* SR-07, SR-25: one event for each arm, when fewer than the limit are left */
static void case_limit(void)
{
	struct pool s;
	struct pair p;
	uint64_t key = 1;

	pool_open(&s, 8, 8, 3);
	pair_on(&p, &s);
	pool_fill(&s, 0, 5);
	for (int i = 0; i < 2; i++, key++) {
		send_msg(&p, key);
		recv_msg(&p, &s, key);
	}
	no_event("3 left, limit 3");
	require(query(&s).srq_limit == 3, "%u", query(&s).srq_limit);
	send_msg(&p, key);
	recv_msg(&p, &s, key++);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, s.srq, "2 left");
	require(query(&s).srq_limit == 0, "%u", query(&s).srq_limit);
	/* refilled, then below the limit again */
	pool_fill(&s, 5, 3);
	for (int i = 0; i < 4; i++, key++) {
		send_msg(&p, key);
		recv_msg(&p, &s, key);
	}
	no_event("not armed");
	require(modify(&s, 0, 9, IBV_SRQ_LIMIT) == EINVAL, "limit above the SRQ");
	require(!modify(&s, 0, 8, IBV_SRQ_LIMIT), "arm");
	require(!modify(&s, 0, 2, IBV_SRQ_LIMIT), "arm what is armed");
	pool_fill(&s, 0, 2);
	send_msg(&p, key);
	recv_msg(&p, &s, key++);
	no_event("2 left, limit 2");
	send_msg(&p, key);
	recv_msg(&p, &s, key++);
	expect_event(IBV_EVENT_SRQ_LIMIT_REACHED, s.srq, "1 left");
	require(!modify(&s, 0, 1, IBV_SRQ_LIMIT), "arm");
	require(!modify(&s, 0, 0, IBV_SRQ_LIMIT), "disarm");
	send_msg(&p, key);
	recv_msg(&p, &s, key++);
	no_event("disarmed");
	pair_close(&p);
	pool_close(&s);
}

/* SR-13, SR-14: a slot is free once its completion is polled, not when it completes */
static void case_unpolled(void)
{
	struct pair p, q;
	struct pool s;
	uint32_t max;

	pool_open(&s, 4, 16, 0);
	pair_on(&p, &s);
	pair_on(&q, &s);
	max = query(&s).max_wr;
	require(max >= 4 && max < 16, "%u", max);
	pool_fill(&s, 0, max);
	require(pool_post(&s, max) == ENOMEM, "one too many");
	for (uint32_t i = 0; i < max; i++)
		send_msg(i % 2 ? &p : &q, 1 + i);
	all_delivered(&p);
	all_delivered(&q);
	require(pool_post(&s, max) == ENOMEM, "completed, not polled");
	recv_msg(&p, &s, 2);
	require(!pool_post(&s, max), "one polled");
	require(pool_post(&s, max + 1) == ENOMEM, "only one");
	/* completions that go with their QP free their slots */
	pair_close(&q);
	for (uint32_t i = 0; i < (max + 1) / 2; i++)
		require(!pool_post(&s, max + 1 + i), "after the QP is gone: %u", i);
	require(pool_post(&s, 15) == ENOMEM, "full again");
	pair_close(&p);
	pool_close(&s);
}

/* SR-19, SR-20, SR-23: SGEs belong to the SRQ's PD, other accesses to the QP's */
static void case_pd(void)
{
	struct ibv_async_event ev;
	struct ibv_mr *open;
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;
	struct pair p, q;
	struct pool s;
	int err;

	pool_open(&s, 4, 4, 0);
	pair_on(&p, &s);
	pair_on(&q, &s);
	pool_fill(&s, 0, 1);
	send_msg(&p, 1);
	recv_msg(&p, &s, 1);

	/* memory of the QP's PD in the SRQ: an error of the QP that takes the WQE */
	sge = sge_of(&p.b, 0, SLOT);
	wr = (struct ibv_recv_wr){ .wr_id = 9, .sg_list = &sge, .num_sge = 1 };
	err = ibv_post_srq_recv(s.srq, &wr, &bad);
	require(!err, "%s", strerror(err));
	pool_fill(&s, 1, 1);
	send_post(&p, 2, 0);
	expect_wc(p.b.rcq, 9, IBV_WC_LOC_PROT_ERR, "MR of the QP's PD");
	expect_state(&p.b, IBV_QPS_ERR, "MR of the QP's PD");
	require(p.b.buf[0] == GUARD_BYTE, "%#x", p.b.buf[0]);
	/* other QPs are not affected (SR-22) */
	send_msg(&q, 3);
	recv_msg(&q, &s, 3);
	/* the WC reports its own error, an event that of the peer */
	for (int i = 0, last = 0; i < 2; i++) {
		require(take_async(test_context(), &ev, WAIT_MS), "event %d", i);
		if (ev.event_type == IBV_EVENT_QP_FATAL)
			require(ev.element.qp == p.a.qp, "QP_FATAL");
		else
			require(ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && !last++ &&
				ev.element.qp == p.b.qp, "%s",
				ibv_event_type_str(ev.event_type));
	}

	/* a WRITE from the peer: the QP's PD counts */
	open = ibv_reg_mr(s.pd, s.buf, SLOT, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	require(open, "%s", strerror(errno));
	sge = sge_of(&q.a, 0, 100);
	memset(q.a.buf, 0, 100);
	err = post_wr(&q.a, IBV_WR_RDMA_WRITE, 4, &sge, 1, IBV_SEND_SIGNALED,
		      (uintptr_t)s.buf, open->rkey);
	require(!err, "%s", strerror(err));
	expect_state(&q.b, IBV_QPS_ERR, "WRITE to an MR of the SRQ's PD");
	require(s.buf[0] == GUARD_BYTE, "%#x", s.buf[0]);
	require(!ibv_dereg_mr(open), "%s", strerror(errno));
	pair_close(&p);
	pair_close(&q);
	pool_close(&s);
}

/* SR-18, SR-22: a message without a WQE ends its stream, with an event; other streams go on */
static void case_empty(void)
{
	struct ibv_async_event ev;
	struct pair p, q;
	struct pool s;

	pool_open(&s, 4, 4, 0);
	pair_on(&p, &s);
	pair_on(&q, &s);
	send_post(&p, 1, 0);
	expect_state(&p.b, IBV_QPS_ERR, "receiver");
	expect_state(&p.a, IBV_QPS_ERR, "sender");
	/* one event for the sender, two for the receiver, those in this order */
	for (int i = 0, fatal = 0; i < 3; i++) {
		require(take_async(test_context(), &ev, WAIT_MS), "event %d", i);
		if (ev.event_type == IBV_EVENT_QP_FATAL)
			fatal += ev.element.qp == p.b.qp;
		else
			require(ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && fatal &&
				ev.element.qp == p.b.qp, "%s",
				ibv_event_type_str(ev.event_type));
	}
	no_event("the others");
	pool_fill(&s, 0, 1);
	send_msg(&q, 2);
	recv_msg(&q, &s, 2);
	pair_close(&p);
	pair_close(&q);
	pool_close(&s);
}

/* SR-11, SR-22: the end of a QP does not flush WQEs that no message has taken */
static void case_error(void)
{
	struct ibv_qp_attr err_state = { .qp_state = IBV_QPS_ERR };
	struct pair p[3];
	struct pool s;
	int err;

	pool_open(&s, 4, 4, 0);
	for (int i = 0; i < 3; i++)
		pair_on(&p[i], &s);
	pool_fill(&s, 0, 4);
	err = ibv_modify_qp(p[0].b.qp, &err_state, IBV_QP_STATE);
	require(!err, "%s", strerror(err));
	expect_event(IBV_EVENT_QP_LAST_WQE_REACHED, p[0].b.qp, "modify to error");
	expect_no_wc(p[0].b.rcq, 50, "nothing was taken");
	/* an orderly close, then the end of the other side */
	rdma_disconnect(p[1].a.id);
	p[1].a.disconnected = true;
	expect_disconnected(&p[1].b, "disconnect");
	expect_no_wc(p[1].b.rcq, 50, "closed");
	/* the remaining QP can take all four */
	for (uint64_t key = 1; key <= 4; key++) {
		send_msg(&p[2], key);
		recv_msg(&p[2], &s, key);
	}
	for (int i = 0; i < 3; i++)
		pair_close(&p[i]);
	pool_close(&s);
}

/* Resize under load ------------------------------------------------------------ */

#define LOAD_PAIRS	4
#define LOAD_SLOTS	32

static struct {
	struct pool s;
	pthread_mutex_t lock;
	uint64_t free[LOAD_SLOTS];	/* slots to be posted again */
	unsigned int count;
	bool stop;
	unsigned int resizes;
} load = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool load_stopped(void)
{
	return __atomic_load_n(&load.stop, __ATOMIC_ACQUIRE);
}

static void *load_poster(void *arg)
{
	while (!load_stopped()) {
		uint64_t slot = ~0ULL;
		int err;

		pthread_mutex_lock(&load.lock);
		if (load.count)
			slot = load.free[--load.count];
		pthread_mutex_unlock(&load.lock);
		if (slot == ~0ULL) {
			usleep(200);
			continue;
		}
		err = pool_post(&load.s, slot);
		require(!err, "%s", strerror(err));
	}
	return NULL;
}

static void *load_resizer(void *arg)
{
	static const uint32_t sizes[] = { 32, 1000, 33, 64, 32, 5000, 40 };

	while (!load_stopped()) {
		uint32_t want = sizes[load.resizes++ % ARRAY_SIZE(sizes)];
		struct ibv_srq_attr attr = { .max_wr = want };
		int err = ibv_modify_srq(load.s.srq, &attr, IBV_SRQ_MAX_WR);

		require(!err, "to %u: %s", want, strerror(err));
		require(attr.max_wr >= want && query(&load.s).max_wr == attr.max_wr,
			"to %u: %u, %u", want, attr.max_wr, query(&load.s).max_wr);
		/* always more than 2 are outstanding: it fails, and changes nothing (SR-09) */
		err = modify(&load.s, 2, 0, IBV_SRQ_MAX_WR);
		require(err == EINVAL, "%s", strerror(err));
		require(query(&load.s).max_wr == attr.max_wr, "%u", query(&load.s).max_wr);
		usleep(1000);
	}
	return NULL;
}

/* SR-08, SR-09, SR-17, and posting by several threads */
static void case_resize(void)
{
	unsigned int msgs = env_uint("SRQ_MESSAGES", 150);
	uint64_t sent[LOAD_PAIRS] = { 0 }, done[LOAD_PAIRS] = { 0 }, rcvd[LOAD_PAIRS] = { 0 };
	struct pair p[LOAD_PAIRS];
	pthread_t thread[3];
	unsigned int busy = LOAD_PAIRS;
	struct ibv_wc wc;

	pool_open(&load.s, LOAD_SLOTS, LOAD_SLOTS, 0);
	pool_fill(&load.s, 0, LOAD_SLOTS);
	for (int i = 0; i < LOAD_PAIRS; i++)
		pair_on(&p[i], &load.s);
	require(!pthread_create(&thread[0], NULL, load_resizer, NULL), "%s", strerror(errno));
	require(!pthread_create(&thread[1], NULL, load_poster, NULL), "%s", strerror(errno));
	require(!pthread_create(&thread[2], NULL, load_poster, NULL), "%s", strerror(errno));
	while (busy) {
		busy = 0;
		for (uint64_t i = 0; i < LOAD_PAIRS; i++) {
			/* of 32 WQEs at most 4 * 6 are in use or on their way */
			if (sent[i] < msgs && sent[i] < rcvd[i] + 6 && sent[i] < done[i] + 6) {
				send_post(&p[i], 1 + 100000 * i + sent[i], sent[i] % 6);
				sent[i]++;
			}
			if (ibv_poll_cq(p[i].a.scq, 1, &wc) == 1) {
				require(wc.status == IBV_WC_SUCCESS, "%s",
					ibv_wc_status_str(wc.status));
				done[i]++;
			}
			if (ibv_poll_cq(p[i].b.rcq, 1, &wc) == 1) {
				check_msg(&p[i], &load.s, &wc, 1 + 100000 * i + rcvd[i]);
				pthread_mutex_lock(&load.lock);
				load.free[load.count++] = wc.wr_id;
				pthread_mutex_unlock(&load.lock);
				/* at most 4 slots may wait to be posted again */
				while (__atomic_load_n(&load.count, __ATOMIC_RELAXED) > 4)
					usleep(100);
				rcvd[i]++;
			}
			busy += rcvd[i] < msgs || done[i] < msgs;
		}
	}
	__atomic_store_n(&load.stop, true, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	note("%u resizes under %u messages", load.resizes, LOAD_PAIRS * msgs);
	require(load.resizes >= 5, "%u", load.resizes);

	/* not below an armed limit, which in turn must not be above the new size */
	require(!modify(&load.s, 500, 100, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), "both");
	require(modify(&load.s, 99, 0, IBV_SRQ_MAX_WR) == EINVAL, "below the limit");
	require(modify(&load.s, 50, 51, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) == EINVAL, "both, bad");
	require(query(&load.s).max_wr >= 500 && query(&load.s).srq_limit == 100, "%u %u",
		query(&load.s).max_wr, query(&load.s).srq_limit);
	no_event("resizing");
	for (int i = 0; i < LOAD_PAIRS; i++)
		pair_close(&p[i]);
	pool_close(&load.s);
}

static int resize_b(struct pair *p)
{
	struct ibv_srq_attr attr = { .max_wr = 64 };

	return ibv_modify_srq(p->b.srq, &attr, IBV_SRQ_MAX_WR);
}

/* A child of fork() has no ring: it must not move that of its parent */
static void case_resize_child(void)
{
	struct pair p;
	struct pool s;

	pool_open(&s, 4, 4, 0);
	pair_on(&p, &s);
	child_gets(resize_b, &p, EINVAL);
	require(query(&s).max_wr == 4, "%u", query(&s).max_wr);
	pool_fill(&s, 0, 4);
	send_msg(&p, 1);
	recv_msg(&p, &s, 1);
	require(!modify(&s, 64, 0, IBV_SRQ_MAX_WR), "the parent's own resize");
	pair_close(&p);
	pool_close(&s);
}

/* Traffic until it is killed; prints a word once it runs. */
static void case_endless(void)
{
	struct pair p[LOAD_PAIRS];
	struct pool s;

	pool_open(&s, LOAD_SLOTS, LOAD_SLOTS, 1);
	pool_fill(&s, 0, LOAD_SLOTS);
	for (int i = 0; i < LOAD_PAIRS; i++)
		pair_on(&p[i], &s);
	for (uint64_t key = 1;; key++) {
		struct pair *q = &p[key % LOAD_PAIRS];

		send_msg(q, key);
		require(!pool_post(&s, recv_msg(q, &s, key)), "repost");
		if (key == 50) {
			puts("running");
			fflush(stdout);
		}
	}
}

/* The only mapping of the device's memory */
static struct mapping the_ring(void)
{
	struct mapping ring[2];
	int n = uverbs_mappings(ring, ARRAY_SIZE(ring));

	if (!n)
		skip("this driver shares no memory with programs");
	require(n == 1, "%d mappings", n);
	return ring[0];
}

#define FLIP_MS		4000
#define RESIZE_MS	2000	/* limit for a resize that copies nothing */
#define WILD		0x7fffffff

static uint32_t *flipped;	/* the producer index that changes all the time */
static uint32_t flips;

/*
 * Each of the two values stands equally long: where the two threads share a CPU, the one that is
 * there for a resize is as often the good one.
 */
static void *flipper(void *arg)
{
	for (uint32_t value = 0;; value ^= WILD) {
		uint32_t *word = __atomic_load_n(&flipped, __ATOMIC_ACQUIRE);

		__atomic_store_n(word, value, __ATOMIC_RELAXED);
		__atomic_fetch_add(&flips, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* A new ring has the good value until the other thread has been at it */
static void await_flips(void)
{
	uint32_t since = __atomic_load_n(&flips, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&flips, __ATOMIC_ACQUIRE) - since < 2)
		sched_yield();
}

/* Flip the index of a ring, in a mapping that the provider does not know and so does not unmap */
static struct srnic_ring_hdr *flip(uint64_t offset, uint64_t size)
{
	struct srnic_ring_hdr *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
					   test_context()->cmd_fd, offset);

	require(ring != MAP_FAILED, "%s", strerror(errno));
	__atomic_store_n(&flipped, &ring->producer, __ATOMIC_RELEASE);
	return ring;
}

/* The kernel reads the producer index once: the value that it has checked is the one it uses */
static void case_flip(void)
{
	unsigned int good = 0, refused = 0;
	struct srnic_ring_hdr *hdr;
	struct mapping ring;
	uint64_t end, start;
	pthread_t thread;
	struct pool s;

	pool_open(&s, 4, 4, 0);
	ring = the_ring();
	hdr = flip(ring.offset, ring.len);
	require(!pthread_create(&thread, NULL, flipper, NULL), "%s", strerror(errno));
	end = now_ms() + FLIP_MS;
	while (now_ms() < end && good < 20000) {
		struct ibv_srq_attr attr = { .max_wr = 4 };
		int err;

		await_flips();
		start = now_ms();
		err = ibv_modify_srq(s.srq, &attr, IBV_SRQ_MAX_WR);
		require(now_ms() - start < RESIZE_MS, "%d after %llu ms", err,
			(unsigned long long)(now_ms() - start));
		require(!err || err == EINVAL, "%s", strerror(err));
		good += !err;
		refused += !!err;
		if (!err)
			hdr = flip(hdr->moved.offset, hdr->moved.size);
	}
	note("%u resizes, %u refused", good, refused);
	require(good && refused, "one of the two indices was never seen");
	exit(EXIT_PASS);
}

/* SR-24: an impossible index, written without the provider's knowledge */
static void case_broken(void)
{
	struct ibv_async_event ev;
	struct pair p, q;
	struct pool s;
	uint32_t *old;

	pool_open(&s, 4, 4, 0);
	old = (uint32_t *)the_ring().at;
	pair_on(&p, &s);
	pair_on(&q, &s);
	pool_fill(&s, 0, 4);
	for (uint32_t *word = old; word < old + 1024; word++)
		if (*word == 4)		/* the producer index, after 4 posts */
			*word = 0x12345678;
	send_post(&p, 1, 0);
	expect_state(&p.b, IBV_QPS_ERR, "after rubbish in the ring");
	for (int i = 0, srq = 0, fatal = 0; i < 4; i++) {
		require(take_async(test_context(), &ev, WAIT_MS), "event %d", i);
		if (ev.event_type == IBV_EVENT_SRQ_ERR)
			require(ev.element.srq == s.srq && !srq++, "SRQ");
		else if (ev.event_type == IBV_EVENT_QP_FATAL)
			fatal++;
		else
			require(ev.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && srq && fatal,
				"%s", ibv_event_type_str(ev.event_type));
	}
	/* the other QP goes on until it needs a WQE */
	expect_state(&q.b, IBV_QPS_RTS, "the other QP");
	send_post(&q, 1, 0);
	expect_state(&q.b, IBV_QPS_ERR, "the other QP");
	while (take_async(test_context(), &ev, 300))
		require(ev.event_type != IBV_EVENT_SRQ_ERR, "twice");
	pair_close(&p);
	pair_close(&q);
	pool_close(&s);
}

static const struct test_case cases[] = {
	{ "limits", case_limits, "the device's limits, and one more" },
	{ "objects", case_objects, "query, posts to the QP, destroying what is in use" },
	{ "many", case_many, "8 QPs on one SRQ, each byte checked" },
	{ "limit", case_limit, "limit event, once an arm" },
	{ "unpolled", case_unpolled, "a WQE counts until it was polled" },
	{ "pd", case_pd, "PD of the SRQ, PD of the QP" },
	{ "empty", case_empty, "a message and no WQE" },
	{ "error", case_error, "WQEs outlive QPs in error" },
	{ "resize", case_resize, "resizing under load, posting by two threads" },
	{ "resize-child", case_resize_child, "a child does not resize an SRQ of its parent" },
	{ "flip", case_flip, "resizing while the producer index changes all the time" },
	{ "broken", case_broken, "rubbish in the ring" },
	{ "endless", case_endless, "" },
};

static const struct test_program prog = {
	.usage = "srq --list | srq ADDR CASE",
	.timeout_env = "SRQ_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
