// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * qp: states of a QP, Modify QP in each of them, and the events of their changes.
 *
 *	qp --list		names of the cases
 *	qp ADDR CASE		run one, over the device that has address ADDR
 *
 * Both ends of each connection are in one process. Exit status as badinput's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cases.h"
#include "pair.h"
#include "qp.h"

static int modify(struct end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(e->qp, &attr, IBV_QP_STATE);
}

static struct ibv_qp_attr query(struct end *e, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_init_attr unused;
	struct ibv_qp_attr attr = { 0 };
	int err = ibv_query_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_CAP |
			       IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
			       init ? init : &unused);

	require(!err, "ibv_query_qp: %s", strerror(err));
	return attr;
}

static bool is_idle(enum ibv_qp_state state)
{
	return state == IBV_QPS_RESET || state == IBV_QPS_INIT || state == IBV_QPS_RTR;
}

static void expect_idle(struct end *e, const char *what)
{
	uint64_t end = now_ms() + 20000;

	while (!is_idle(query(e, NULL).qp_state)) {
		require(now_ms() < end, "%s: state %d", what, query(e, NULL).qp_state);
		usleep(10000);
	}
}

/* Error to Idle: refused while the old stream is wound down, then accepted (ST-37) */
static void reset(struct end *e, const char *what)
{
	uint64_t end = now_ms() + 20000;
	int err;

	while ((err = modify(e, IBV_QPS_RESET))) {
		require(err == EBUSY, "%s: %s", what, strerror(err));
		require(now_ms() < end, "%s: busy for ever", what);
		usleep(10000);
	}
	require(query(e, NULL).qp_state == IBV_QPS_RESET, "%s: state", what);
}

static void drop_id(struct end *e)
{
	e->id->qp = NULL;
	if (rdma_destroy_id(e->id))
		die("rdma_destroy_id: %s", strerror(errno));
}

/* A new connection of the same two QPs, which are in Idle. */
static void reconnect(struct pair *p)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4,
					 .retry_count = 7, .rnr_retry_count = 7 };
	struct sockaddr_storage addr;
	struct rdma_cm_event *ev;

	drop_id(&p->a);
	drop_id(&p->b);
	resolve(test_addr, ntohs(rdma_get_src_port(p->listener)), &addr);
	if (rdma_create_id(p->a.cm, &p->a.id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(p->a.id, NULL, (struct sockaddr *)&addr, 20000))
		die("rdma_resolve_addr: %s", strerror(errno));
	cm_expect(p->a.cm, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	if (rdma_resolve_route(p->a.id, 20000))
		die("rdma_resolve_route: %s", strerror(errno));
	cm_expect(p->a.cm, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	p->a.id->qp = p->a.qp;
	if (rdma_connect(p->a.id, &param))
		die("rdma_connect: %s", strerror(errno));
	cm_expect(p->b.cm, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	p->b.id = ev->id;
	rdma_ack_cm_event(ev);
	p->b.id->qp = p->b.qp;
	if (rdma_accept(p->b.id, &param))
		die("rdma_accept: %s", strerror(errno));
	cm_expect(p->a.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);
	cm_expect(p->b.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);
	p->a.disconnected = false;
	p->b.disconnected = false;
}

/* How an end leaves RTS: its final state, and the events at it and at the peer */
enum cause {
	BY_CLOSING, BY_TERMINATE, BY_ERROR, BY_BAD_WR, BY_READ_REFUSED, BY_WRITE_REFUSED,
	BY_SHORT_RECV, BY_EMPTY_RQ, CAUSES,
};

#define NO_EVENT (-1)

static const struct {
	const char *what;
	bool idle;		/* ends in Idle, and not in Error */
	int at_a, at_b;		/* the one event, or none */
} causes[CAUSES] = {
	/* ST-19, ST-48: iw_cm reports it */
	[BY_CLOSING] = { "Modify to Closing", true, NO_EVENT, NO_EVENT },
	/* ST-21, ST-33; AE-05 */
	[BY_TERMINATE] = { "Modify to Terminate", false, NO_EVENT, IBV_EVENT_QP_FATAL },
	/* ST-25, AE-06: iw_cm reports it */
	[BY_ERROR] = { "Modify to Error", false, NO_EVENT, NO_EVENT },
	/* ST-23, ST-33, AE-03: the completion reports it; AE-05 */
	[BY_BAD_WR] = { "a SEND that may not be", false, NO_EVENT, IBV_EVENT_QP_FATAL },
	/* the READ's completion reports it; AE-16 */
	[BY_READ_REFUSED] = { "a READ that is refused", false, NO_EVENT,
			      IBV_EVENT_QP_ACCESS_ERR },
	/* AE-05; AE-11 */
	[BY_WRITE_REFUSED] = { "a WRITE that is refused", false, IBV_EVENT_QP_FATAL,
			       IBV_EVENT_QP_ACCESS_ERR },
	/* AE-05; the receive's completion reports it */
	[BY_SHORT_RECV] = { "a receive too short", false, IBV_EVENT_QP_FATAL, NO_EVENT },
	/* AE-05; AE-15 */
	[BY_EMPTY_RQ] = { "no receive", false, IBV_EVENT_QP_FATAL, IBV_EVENT_QP_FATAL },
};

static void leave_rts(struct pair *p, enum cause cause)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 100);
	uint64_t raddr = (uintptr_t)p->b.buf;
	enum ibv_wr_opcode op = IBV_WR_SEND;
	uint32_t rkey = 0;

	switch (cause) {
	case BY_CLOSING:
		require(!modify(&p->a, IBV_QPS_SQD), "Modify to Closing");
		return;
	case BY_TERMINATE:
		require(!modify(&p->a, IBV_QPS_SQE), "Modify to Terminate");
		return;
	case BY_ERROR:
		require(!modify(&p->a, IBV_QPS_ERR), "Modify to Error");
		require(query(&p->a, NULL).qp_state == IBV_QPS_ERR, "not at once (QP-23)");
		return;
	case BY_BAD_WR:
		sge.lkey ^= 0x100;
		break;
	case BY_READ_REFUSED:
	case BY_WRITE_REFUSED:
		op = cause == BY_READ_REFUSED ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
		rkey = p->b.mr->rkey ^ 1;
		break;
	case BY_SHORT_RECV:
		must_recv(&p->b, 100, 0, 99);
		break;
	default:
		break;
	}
	require(!post_wr(&p->a, op, 1, &sge, 1, 0, raddr, rkey), "post");
}

/* Exactly the expected events come, each once, and each for its own QP. */
static void expect_events(struct pair *p, enum cause cause)
{
	int left_a = causes[cause].at_a, left_b = causes[cause].at_b;
	struct ibv_async_event ev;

	for (;;) {
		bool due = left_a != NO_EVENT || left_b != NO_EVENT;

		if (!take_async(p->a.id->verbs, &ev, due ? 5000 : 200)) {
			require(!due, "%s: an event is missing", causes[cause].what);
			return;
		}
		if (ev.element.qp == p->a.qp && (int)ev.event_type == left_a)
			left_a = NO_EVENT;
		else if (ev.element.qp == p->b.qp && (int)ev.event_type == left_b)
			left_b = NO_EVENT;
		else
			die("%s: '%s' at %s", causes[cause].what,
			    ibv_event_type_str(ev.event_type),
			    ev.element.qp == p->a.qp ? "a" : "b");
	}
}

static void drain(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
}

/*
 * ST-39, ST-08: the same two QPs for one connection after another, however the last one ended,
 * with many more WRs than the rings have slots.
 */
static void case_reuse(void)
{
	struct pair p;

	pair_open(&p);
	for (int round = 0; round < 2 * CAUSES; round++) {
		enum cause cause = round % CAUSES;
		struct end *ends[] = { &p.a, &p.b };

		for (int i = 0; i < 4; i++)
			pair_works(&p, causes[cause].what);
		leave_rts(&p, cause);
		for (int i = 0; i < 2; i++) {
			expect_disconnected(ends[i], causes[cause].what);
			if (causes[cause].idle) {
				expect_idle(ends[i], causes[cause].what);
			} else {
				expect_state(ends[i], IBV_QPS_ERR, causes[cause].what);
				reset(ends[i], causes[cause].what);
			}
			drain(ends[i]->scq);
			drain(ends[i]->rcq);
		}
		expect_events(&p, cause);
		reconnect(&p);
	}
	pair_works(&p, "at the end");
	pair_close(&p);
}

/* ST-01, QP-17, QP-18, QP-20, QP-26: a refused Modify changes nothing */
static void case_modify(void)
{
	static const enum ibv_qp_state from_rts[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,	/* ST-15 */
	};
	static const enum ibv_qp_state from_error[] = {
		IBV_QPS_RTS, IBV_QPS_SQE,			/* ST-38 */
	};
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct ibv_qp_attr attr, was;
	struct pair p;

	pair_prepare(&p, &cap);
	was = query(&p.a, NULL);
	require(is_idle(was.qp_state), "a new QP is in state %d (QP-11)", was.qp_state);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .max_rd_atomic = 1 };
	require(ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC) == EINVAL,
		"to RTS without a stream");
	require(modify(&p.a, IBV_QPS_SQE) == EINVAL, "Idle to Terminate (ST-05)");
	require(query(&p.a, NULL).max_rd_atomic == was.max_rd_atomic &&
		query(&p.a, NULL).qp_state == was.qp_state, "changed");
	pair_connect(&p);

	was = query(&p.a, NULL);
	require(was.max_rd_atomic == 4 && was.max_dest_rd_atomic == 4, "ORD %u, IRD %u",
		was.max_rd_atomic, was.max_dest_rd_atomic);
	for (size_t i = 0; i < ARRAY_SIZE(from_rts); i++) {
		attr = (struct ibv_qp_attr){ .qp_state = from_rts[i], .max_rd_atomic = 1 };
		require(ibv_modify_qp(p.a.qp, &attr,
				      IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC) == EINVAL,
			"RTS to %d", from_rts[i]);
	}
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR, .max_rd_atomic = 1 };
	require(ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC) == EINVAL,
		"an attribute with a transition that takes none");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .max_rd_atomic = 5,
				     .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	require(ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC |
			      IBV_QP_ACCESS_FLAGS) == EINVAL, "ORD above what was negotiated");
	attr.cur_qp_state = IBV_QPS_INIT;
	require(ibv_modify_qp(p.a.qp, &attr, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS) == EINVAL,
		"another present state");
	require(ibv_modify_qp(p.a.qp, &attr, IBV_QP_ACCESS_FLAGS | IBV_QP_QKEY) == EOPNOTSUPP,
		"an attribute that an RNIC has not");
	require(ibv_modify_qp(p.a.qp, &attr, IBV_QP_ACCESS_FLAGS | IBV_QP_CAP) == EOPNOTSUPP,
		"depths");
	attr = query(&p.a, NULL);
	require(attr.qp_state == IBV_QPS_RTS && attr.max_rd_atomic == was.max_rd_atomic &&
		attr.qp_access_flags == was.qp_access_flags, "changed");
	pair_works(&p, "after what was refused");

	/* ST-16, QP-19, QP-24: a lower ORD, and the stream goes on */
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .max_rd_atomic = 1 };
	require(!ibv_modify_qp(p.a.qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC),
		"less ORD");
	require(query(&p.a, NULL).max_rd_atomic == 1, "ORD");
	pair_works(&p, "after RTS to RTS");

	require(!modify(&p.a, IBV_QPS_ERR), "to Error");
	for (size_t i = 0; i < ARRAY_SIZE(from_error); i++) {
		require(modify(&p.a, from_error[i]) == EINVAL, "Error to %d", from_error[i]);
		require(query(&p.a, NULL).qp_state == IBV_QPS_ERR, "changed");
	}
	expect_disconnected(&p.a, "Error");
	expect_disconnected(&p.b, "Error");
	pair_close(&p);
}

/* Attributes of InfiniBand that programs set on any QP: accepted, reported, and not used */
static void case_ib_attributes(void)
{
	const int mask = IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			 IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER;
	struct ibv_qp_attr set = { .path_mtu = IBV_MTU_512, .timeout = 14, .retry_cnt = 7,
				   .rnr_retry = 6, .min_rnr_timer = 12 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;
	int err;

	pair_open(&p);
	err = ibv_modify_qp(p.a.qp, &set, mask);
	require(!err, "ibv_modify_qp: %s", strerror(err));
	require(!ibv_query_qp(p.a.qp, &attr, mask, &init), "ibv_query_qp");
	require(attr.path_mtu == IBV_MTU_512 && attr.timeout == 14 && attr.retry_cnt == 7 &&
		attr.rnr_retry == 6 && attr.min_rnr_timer == 12, "MTU %d, %u, %u, %u, %u",
		attr.path_mtu, attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer);
	set.timeout = 32;
	require(ibv_modify_qp(p.a.qp, &set, mask) == EINVAL, "a timeout that there is not");
	require(!ibv_query_qp(p.a.qp, &attr, mask, &init) && attr.timeout == 14, "changed");
	pair_works(&p, "with InfiniBand's attributes");
	pair_close(&p);
}

/*
 * Modify to RESET removes the QP's completions from its CQs, and no others: the QP's later
 * completions can use their room.
 */
static void case_reset(void)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct ibv_qp_init_attr other = { .qp_type = IBV_QPT_RC, .cap = cap };
	struct ibv_recv_wr wr = { .wr_id = 77 }, *bad;
	struct ibv_qp_attr to_err = { .qp_state = IBV_QPS_ERR };
	struct ibv_async_event ev;
	struct ibv_qp *qp;
	struct pair p;

	pair_prepare(&p, &cap);
	other.send_cq = p.a.scq;
	other.recv_cq = p.a.rcq;
	qp = ibv_create_qp(p.a.pd, &other);
	require(qp, "%s", strerror(errno));
	require(!ibv_post_recv(qp, &wr, &bad) && !ibv_modify_qp(qp, &to_err, IBV_QP_STATE),
		"%s", strerror(errno));
	for (int round = 0; round < 10; round++) {
		for (unsigned int i = 0; i < p.a.cap.max_recv_wr; i++)
			must_recv(&p.a, i, 0, 64);
		require(!modify(&p.a, IBV_QPS_ERR), "to Error");
		usleep(20000);
		reset(&p.a, "with completions that were not polled");
	}
	expect_wc(p.a.rcq, 77, IBV_WC_WR_FLUSH_ERR, "the other QP's");
	expect_no_wc(p.a.rcq, 50, "of a QP that was reset");
	require(!take_async(p.a.id->verbs, &ev, 50), "%s", ibv_event_type_str(ev.event_type));
	require(!ibv_destroy_qp(qp), "%s", strerror(errno));
	pair_connect(&p);
	pair_works(&p, "after RESET");
	pair_close(&p);
}

/* QP-02, QP-08, QP-14: Query returns what Create has set */
static void case_query(void)
{
	struct ibv_qp_cap cap = { .max_send_wr = 1, .max_recv_wr = 300, .max_send_sge = 4,
				  .max_recv_sge = 5, .max_inline_data = 33 };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct pair p;

	pair_prepare(&p, &cap);
	attr = query(&p.a, &init);
	require(!memcmp(&init.cap, &attr.cap, sizeof(cap)), "two caps");
	require(attr.cap.max_send_wr >= 1 && attr.cap.max_recv_wr >= 300 &&
		attr.cap.max_send_sge >= 4 && attr.cap.max_recv_sge >= 5 &&
		attr.cap.max_inline_data >= 33, "less than was asked for");
	require(!memcmp(&attr.cap, &p.a.cap, sizeof(cap)), "not what Create said");
	require(init.send_cq == p.a.scq && init.recv_cq == p.a.rcq && !init.srq, "CQs");
	require(init.qp_type == IBV_QPT_RC && !init.sq_sig_all, "type");
	require(attr.qp_access_flags & IBV_ACCESS_REMOTE_READ &&
		attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE &&
		attr.qp_access_flags & IBV_ACCESS_MW_BIND, "flags %#x (QP-06)",
		attr.qp_access_flags);
	pair_connect(&p);
	require(p.a.qp->qp_num != p.b.qp->qp_num, "one number for two QPs");
	pair_close(&p);
}

static void set_access(struct end *e, int flags)
{
	struct ibv_qp_attr attr = { .qp_access_flags = flags };
	int err = ibv_modify_qp(e->qp, &attr, IBV_QP_ACCESS_FLAGS);

	require(!err, "ibv_modify_qp: %s", strerror(err));
}

/*
 * QP-06, MR-17: the QP's enables and the region's rights, set in Idle or in RTS. b uses a's
 * memory, as accepting a connection resets b's flags.
 */
static void case_access(void)
{
	for (int i = 0; i < 4; i++) {
		bool in_rts = i & 1, write = i & 2;
		int flag = write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
		enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE };
		struct ibv_qp_cap cap = DEFAULT_CAP;
		struct ibv_async_event ev;
		struct ibv_sge sge;
		struct pair p;
		size_t where;

		pair_prepare(&p, &cap);
		if (!in_rts)
			set_access(&p.a, flag);
		pair_connect(&p);
		if (in_rts)
			set_access(&p.a, flag);
		sge = sge_of(&p.b, 0, 100);
		require(!post_wr(&p.b, ops[write], 1, &sge, 1, IBV_SEND_SIGNALED,
				 (uintptr_t)p.a.buf, p.a.mr->rkey), "post");
		expect_wc(p.b.scq, 1, IBV_WC_SUCCESS, "enabled");
		memset(p.a.buf, GUARD_BYTE, BUF_SIZE);
		memset(p.b.buf, 0x11, BUF_SIZE);
		require(!post_wr(&p.b, ops[!write], 2, &sge, 1, 0, (uintptr_t)p.a.buf,
				 p.a.mr->rkey), "post");
		expect_disconnected(&p.a, "not enabled");
		expect_disconnected(&p.b, "not enabled");
		require(all_bytes(p.a.buf, GUARD_BYTE, BUF_SIZE, &where) &&
			all_bytes(p.b.buf, 0x11, BUF_SIZE, &where), "byte %zu", where);
		for (;;) {
			require(take_async(p.a.id->verbs, &ev, 5000), "no event (AE-09)");
			if (ev.element.qp != p.a.qp)
				continue;
			require(ev.event_type == IBV_EVENT_QP_ACCESS_ERR, "'%s'",
				ibv_event_type_str(ev.event_type));
			break;
		}
		pair_close(&p);
	}
}

/*
 * QP-27, QP-29, QP-30: destroyed in each state with WRs in both queues. Afterwards it has no
 * completion, and its CQs can be destroyed.
 */
static void case_destroy(void)
{
	static const struct {
		const char *what;
		int modify;	/* -1: stay in RTS, -2: in Idle */
	} rows[] = {
		{ "Idle", -2 },
		{ "RTS", -1 },
		{ "Closing", IBV_QPS_SQD },
		{ "Terminate", IBV_QPS_SQE },
		{ "Error", IBV_QPS_ERR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ibv_qp_cap cap = DEFAULT_CAP;
		struct pair p;
		int err;

		pair_prepare(&p, &cap);
		if (rows[i].modify != -2)
			pair_connect(&p);
		for (unsigned int n = 0; n < cap.max_send_wr; n++) {
			struct ibv_sge sge = sge_of(&p.a, 0, BUF_SIZE);

			must_recv(&p.a, 200 + n, 0, 64);
			err = post_wr(&p.a, IBV_WR_RDMA_WRITE, n, &sge, 1, IBV_SEND_SIGNALED,
				      p.b.buf ? (uintptr_t)p.b.buf : 1,
				      p.b.mr ? p.b.mr->rkey : 1);
			require(!err, "post: %s", strerror(err));
		}
		if (rows[i].modify >= 0)
			require(!modify(&p.a, rows[i].modify), "Modify: %s", rows[i].what);
		err = ibv_destroy_qp(p.a.qp);
		require(!err, "%s: ibv_destroy_qp: %s", rows[i].what, strerror(err));
		p.a.id->qp = NULL;
		expect_no_wc(p.a.scq, 100, rows[i].what);
		expect_no_wc(p.a.rcq, 1, rows[i].what);
		err = ibv_destroy_cq(p.a.scq) ?: ibv_destroy_cq(p.a.rcq) ?:
		      ibv_dereg_mr(p.a.mr) ?: ibv_dealloc_pd(p.a.pd);
		require(!err, "%s: %s", rows[i].what, strerror(err));
		if (p.b.id)
			expect_disconnected(&p.b, rows[i].what);
		rdma_destroy_id(p.a.id);
		p.a.id = NULL;
		pair_close(&p);
	}
}

/*
 * QP-30: a received message can be polled after its QP is destroyed, also if the end of the
 * connection was reported before. Flushes and Sends go with the QP.
 */
static void case_unread(void)
{
	enum { MESSAGES = 3 };
	struct ibv_sge sge;
	struct ibv_cq *cq;
	struct pair p;
	void *context;

	pair_open(&p);
	for (int i = 0; i < MESSAGES + 2; i++)
		must_recv(&p.b, 10 + i, 64 * i, 64);
	for (int i = 0; i < MESSAGES; i++) {
		require(!ibv_req_notify_cq(p.b.rcq, 0), "%s", strerror(errno));
		sge = sge_of(&p.a, 0, 8 + i);
		require(!post_wr(&p.a, IBV_WR_SEND, i, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "send");
		require(!ibv_get_cq_event(p.b.rch, &cq, &context), "%s", strerror(errno));
		ibv_ack_cq_events(cq, 1);
	}
	sge = sge_of(&p.b, 0, 8);
	require(!post_wr(&p.b, IBV_WR_SEND, 99, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
	require(!modify(&p.b, IBV_QPS_ERR), "Modify to Error");
	usleep(100000);
	require(!ibv_destroy_qp(p.b.qp), "%s", strerror(errno));
	p.b.id->qp = NULL;
	p.b.qp = NULL;
	for (int i = 0; i < MESSAGES; i++) {
		struct ibv_wc wc = expect_wc(p.b.rcq, 10 + i, IBV_WC_SUCCESS, "after destroy");

		require(wc.opcode == IBV_WC_RECV && wc.byte_len == 8U + i, "message %d: %u bytes",
			i, wc.byte_len);
	}
	expect_no_wc(p.b.rcq, 20, "flushed receives");
	expect_no_wc(p.b.scq, 20, "sends");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "reuse", case_reuse, "one connection after another, each cause of an end, its events" },
	{ "modify", case_modify, "what Modify refuses, and what it does" },
	{ "ib-attributes", case_ib_attributes, "InfiniBand's timers, counts and MTU are taken and told" },
	{ "reset", case_reset, "Modify to RESET takes out what was not polled" },
	{ "query", case_query, "Query tells what Create made" },
	{ "access", case_access, "a QP's own remote rights, set in Idle and in RTS" },
	{ "destroy", case_destroy, "destruction in each state" },
	{ "unread", case_unread, "messages that were received outlive their QP" },
	{ "resize", case_resize, "SQ and RQ are resized with WRs outstanding, or not at all" },
	{ "resize-rules", case_resize_rules, "when queues are resized, and how many WRs they take then" },
	{ "resize-srq", case_resize_srq, "of a QP with an SRQ the SQ is resized alone" },
	{ "resize-child", case_resize_child, "a child does not resize queues of its parent" },
	{ "resize-busy", case_resize_busy, "SQ and RQ are resized with traffic, and nothing is lost" },
	{ "terminate", case_terminate, "the last Terminate, as the driver's method tells it" },
};

static const struct test_program prog = {
	.usage = "qp --list | qp ADDR CASE",
	.timeout_env = "QP_TIMEOUT",
	.timeout = 90,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
