// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Atomic operations that the peer or the own device refuses, and how both ends are notified. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "rfc7306.h"

#define TARGET	8192	/* in the peer's buffer; SIZE octets of it are the region */
#define SIZE	4100	/* so that the last eight octets that are aligned end behind it */
#define REMOTE_ATOMIC (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
#define REMOTE_RDMA (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static const struct bad {
	const char *what;
	int64_t off;		/* from the start of the region */
	uint32_t flip;		/* bits of its rkey */
	int access;
	bool other_pd;
	bool wraps;
	bool stale;
} bad_targets[] = {
	{ "one octet off", 1, 0, REMOTE_ATOMIC, false, false, false },
	{ "four octets off", 4, 0, REMOTE_ATOMIC, false, false, false },
	{ "seven octets off", 4087, 0, REMOTE_ATOMIC, false, false, false },
	{ "over a page boundary", 4092, 0, REMOTE_ATOMIC, false, false, false },
	{ "wrong key", 8, 1, REMOTE_ATOMIC, false, false, false },
	{ "unknown index", 8, 0x5a5a5a00, REMOTE_ATOMIC, false, false, false },
	{ "region that is gone", 8, 0, REMOTE_ATOMIC, false, false, true },
	{ "other protection domain", 8, 0, REMOTE_ATOMIC, true, false, false },
	{ "READ and WRITE, no atomics", 8, 0, REMOTE_RDMA, false, false, false },
	{ "no remote right", 8, 0, IBV_ACCESS_LOCAL_WRITE, false, false, false },
	{ "half behind the end", 4096, 0, REMOTE_ATOMIC, false, false, false },
	{ "behind the end", 4104, 0, REMOTE_ATOMIC, false, false, false },
	{ "before the start", -8, 0, REMOTE_ATOMIC, false, false, false },
	{ "wraps", -4, 0, REMOTE_ATOMIC, false, true, false },
};

/* The peer's device refused the WR: it completes with an error, and both ends disconnect. */
static void expect_refused(struct pair *p, uint64_t wr_id, const char *what)
{
	expect_wc(p->a.scq, wr_id, IBV_WC_REM_ACCESS_ERR, what);
	expect_no_wc(p->a.scq, 20, what);
	expect_disconnected(&p->a, what);
	expect_disconnected(&p->b, what);
	expect_state(&p->a, IBV_QPS_ERR, what);
	expect_state(&p->b, IBV_QPS_ERR, what);
}

static void one_bad_target(const struct bad *bad, bool swap)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct pair p;
	uint32_t rkey;
	uint64_t at;
	size_t where;

	pair_open(&p);
	pd = ibv_alloc_pd(p.b.id->verbs);
	mr = ibv_reg_mr(bad->other_pd ? pd : p.b.pd, p.b.buf + TARGET, SIZE, bad->access);
	require(pd && mr, "%s: %s", bad->what, strerror(errno));
	rkey = mr->rkey ^ bad->flip;
	at = bad->wraps ? (uint64_t)bad->off : (uintptr_t)p.b.buf + TARGET + bad->off;
	if (bad->stale) {
		require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
		mr = NULL;
	}
	must_recv(&p.a, 200, 0, 64);
	must_recv(&p.b, 100, 0, 64);
	memset(p.a.buf, GUARD_BYTE, BUF_SIZE);
	memset(p.b.buf, 0, BUF_SIZE);
	/* it would change the memory if it were executed */
	require(!(swap ? post_cmp_swap(&p.a, 1, 0, at, rkey, 0, 7, 0) :
			 post_fetch_add(&p.a, 1, 0, at, rkey, 7, 0)), "post");
	expect_refused(&p, 1, bad->what);
	expect_flushes(p.a.rcq, 200, 1, bad->what);
	expect_flushes(p.b.rcq, 100, 1, bad->what);
	expect_qp_event(&p.b, IBV_EVENT_QP_ACCESS_ERR, bad->what);
	require(all_bytes(p.b.buf, 0, BUF_SIZE, &where), "%s: byte %zu", bad->what, where);
	require(all_bytes(p.a.buf, GUARD_BYTE, BUF_SIZE, &where), "%s: sink, byte %zu",
		bad->what, where);
	if (mr)
		require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	require(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
	pair_close(&p);
}

void case_atomic_target(void)
{
	struct pair bystander;

	pair_open(&bystander);
	for (size_t i = 0; i < ARRAY_SIZE(bad_targets); i++)
		one_bad_target(&bad_targets[i], i % 2);
	pair_works(&bystander, "after atomics that were refused");
	pair_close(&bystander);
}

/* RFC 7306 5.1: the address of the memory must be aligned, whatever the TO is. */
void case_atomic_zero_based(void)
{
	uint64_t word = 40;
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p);
	mr = ibv_reg_mr(p.b.pd, p.b.buf + TARGET + 4, 64, REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED);
	require(mr, "ibv_reg_mr: %s", strerror(errno));
	memcpy(p.b.buf + TARGET + 8, &word, sizeof(word));
	require(!post_fetch_add(&p.a, 1, 0, 4, mr->rkey, 2, IBV_SEND_SIGNALED), "post");
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, "TO 4 of an address that is aligned");
	memcpy(&word, p.b.buf + TARGET + 8, sizeof(word));
	require(word == 42 && value_at(&p.a, 0) == 40, "%llu", (unsigned long long)word);
	require(!post_fetch_add(&p.a, 2, 0, 8, mr->rkey, 2, IBV_SEND_SIGNALED), "post");
	expect_refused(&p, 2, "TO 8 of an address that is not aligned");
	require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	pair_close(&p);
}

/* The sink of the returned value is invalid: nothing changes at the peer. */
void case_atomic_sink(void)
{
	static const struct {
		const char *what;
		uint32_t flip;
		int64_t off;
		bool read_only;
		unsigned int vendor_err;
	} rows[] = {
		{ "wrong lkey", 1, 0, false, 5 },
		{ "outside", 0, BUF_SIZE - 4, false, 6 },
		{ "no right", 0, 0, true, 7 },
	};
	struct ibv_mr *target, *sink;
	struct ibv_sge sge[2];
	struct ibv_wc wc;
	struct pair p;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ibv_send_wr wr = {
			.wr_id = 5, .sg_list = sge, .num_sge = 1,
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		}, *bad;
		size_t where;

		pair_open(&p);
		target = ibv_reg_mr(p.b.pd, p.b.buf, BUF_SIZE, REMOTE_ATOMIC);
		sink = ibv_reg_mr(p.a.pd, p.a.buf, BUF_SIZE,
				  rows[i].read_only ? IBV_ACCESS_REMOTE_READ :
						      IBV_ACCESS_LOCAL_WRITE);
		require(target && sink, "ibv_reg_mr: %s", strerror(errno));
		memset(p.b.buf, 0, BUF_SIZE);
		wr.wr.atomic.remote_addr = (uintptr_t)p.b.buf;
		wr.wr.atomic.compare_add = 1;
		wr.wr.atomic.rkey = target->rkey;
		sge[0] = (struct ibv_sge){ (uintptr_t)p.a.buf + rows[i].off, 8,
					   sink->lkey ^ rows[i].flip };
		sge[1] = sge[0];

		/* eight octets, in one piece, not inline */
		wr.num_sge = 2;
		require(ibv_post_send(p.a.qp, &wr, &bad) == EINVAL, "two SGEs");
		wr.num_sge = 0;
		require(ibv_post_send(p.a.qp, &wr, &bad) == EINVAL, "no SGE");
		wr.num_sge = 1;
		sge[0].length = 7;
		require(ibv_post_send(p.a.qp, &wr, &bad) == EINVAL, "seven octets");
		sge[0].length = 16;
		require(ibv_post_send(p.a.qp, &wr, &bad) == EINVAL, "sixteen octets");
		sge[0].length = 8;
		wr.send_flags = IBV_SEND_INLINE;
		require(ibv_post_send(p.a.qp, &wr, &bad) == EINVAL, "inline");
		wr.send_flags = 0;

		require(!ibv_post_send(p.a.qp, &wr, &bad), "%s: post", rows[i].what);
		wc = expect_wc(p.a.scq, 5, IBV_WC_LOC_PROT_ERR, rows[i].what);
		require(wc.vendor_err == rows[i].vendor_err, "%s: vendor_err %u", rows[i].what,
			wc.vendor_err);
		expect_disconnected(&p.a, rows[i].what);
		expect_disconnected(&p.b, rows[i].what);
		require(all_bytes(p.b.buf, 0, BUF_SIZE, &where), "%s: byte %zu", rows[i].what,
			where);
		require(!ibv_dereg_mr(target) && !ibv_dereg_mr(sink), "ibv_dereg_mr");
		pair_close(&p);
	}
}

/* The QP's access flags, too, decide what the peer may do (QP-06). */
void case_atomic_disabled(void)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_REMOTE_READ };
	struct ibv_qp_init_attr init;
	struct ibv_mr *mr;
	struct pair p;
	size_t where;

	pair_open(&p);
	require(!ibv_query_qp(p.b.qp, &attr, IBV_QP_ACCESS_FLAGS, &init) &&
		attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC, "not by default");
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	require(!ibv_modify_qp(p.b.qp, &attr, IBV_QP_ACCESS_FLAGS), "ibv_modify_qp");
	mr = ibv_reg_mr(p.b.pd, p.b.buf, BUF_SIZE, REMOTE_ATOMIC);
	require(mr, "ibv_reg_mr: %s", strerror(errno));
	memset(p.b.buf, 0, BUF_SIZE);
	require(!post_fetch_add(&p.a, 1, 0, (uintptr_t)p.b.buf, mr->rkey, 1, 0), "post");
	expect_refused(&p, 1, "atomics not enabled");
	expect_qp_event(&p.b, IBV_EVENT_QP_ACCESS_ERR, "atomics not enabled");
	require(all_bytes(p.b.buf, 0, BUF_SIZE, &where), "byte %zu", where);
	require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	pair_close(&p);
}

static void set_rd(struct end *e, int mask, unsigned int num, int want)
{
	struct ibv_qp_attr attr = { .max_rd_atomic = num, .max_dest_rd_atomic = num };
	struct ibv_qp_init_attr init;
	int err = ibv_modify_qp(e->qp, &attr, mask);

	require(err == want, "%u: %s", num, strerror(err));
	require(!ibv_query_qp(e->qp, &attr, mask, &init), "ibv_query_qp");
	if (!want)
		require((mask == IBV_QP_MAX_QP_RD_ATOMIC ? attr.max_rd_atomic :
			 attr.max_dest_rd_atomic) == num, "%u was not set", num);
}

/* ORD can be lowered, and raised again up to the negotiated value; not above (RD-05, QP-19). */
void case_ord(void)
{
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p);
	sge = sge_of(&p.a, 0, 20000);
	for (unsigned int ord = 4; ord; ord--) {
		set_rd(&p.a, IBV_QP_MAX_QP_RD_ATOMIC, ord, 0);
		for (int i = 0; i < 12; i++)
			require(!post_wr(&p.a, IBV_WR_RDMA_READ, i, &sge, 1, IBV_SEND_SIGNALED,
					 (uintptr_t)p.b.buf, p.b.mr->rkey), "post");
		/* while READs are under way */
		set_rd(&p.a, IBV_QP_MAX_QP_RD_ATOMIC, 1, 0);
		set_rd(&p.a, IBV_QP_MAX_QP_RD_ATOMIC, 4, 0);
		for (int i = 0; i < 12; i++)
			expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "READ");
	}
	set_rd(&p.a, IBV_QP_MAX_QP_RD_ATOMIC, 5, EINVAL);
	pair_works(&p, "after changes of ORD");
	/* no READ may be outstanding: an error, not an endless wait (RD-03) */
	set_rd(&p.a, IBV_QP_MAX_QP_RD_ATOMIC, 0, 0);
	require(!post_wr(&p.a, IBV_WR_RDMA_READ, 1, &sge, 1, IBV_SEND_SIGNALED,
			 (uintptr_t)p.b.buf, p.b.mr->rkey), "post");
	require(expect_wc(p.a.scq, 1, IBV_WC_LOC_QP_OP_ERR, "ORD 0").vendor_err == 11, "status");
	pair_close(&p);
}

/* A lower IRD takes effect at once: a READ beyond it is refused (QP-09, RD-08). */
void case_ird(void)
{
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p);
	sge = sge_of(&p.a, 0, 8);
	set_rd(&p.b, IBV_QP_MAX_DEST_RD_ATOMIC, 5, EINVAL);
	set_rd(&p.b, IBV_QP_MAX_DEST_RD_ATOMIC, 1, 0);
	set_rd(&p.b, IBV_QP_MAX_DEST_RD_ATOMIC, 4, 0);
	pair_works(&p, "after changes of IRD");
	set_rd(&p.b, IBV_QP_MAX_DEST_RD_ATOMIC, 0, 0);
	require(!post_wr(&p.a, IBV_WR_RDMA_READ, 1, &sge, 1, 0, (uintptr_t)p.b.buf,
			 p.b.mr->rkey), "post");
	expect_refused(&p, 1, "IRD 0");
	expect_qp_event(&p.b, IBV_EVENT_QP_REQ_ERR, "IRD 0");
	pair_close(&p);
}

/*
 * A server without RFC 7306 refuses the opcode with a Terminate: an atomic ends with its error, a
 * Write is complete when TCP has it.
 */
void refused_by_peer(unsigned int port, const char *op)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					 .retry_count = 7 };
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;
	struct end e = { 0 };
	bool atomic = !strcmp(op, "fetch-add");
	struct ibv_wc wc;

	resolve(test_addr, port, &addr);
	e.cm = cm_channel(false);
	if (rdma_create_id(e.cm, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 20000))
		die("rdma_resolve_addr: %s", strerror(errno));
	cm_expect(e.cm, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	require(!rdma_resolve_route(id, 20000), "%s", strerror(errno));
	cm_expect(e.cm, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	end_init(&e, id, &cap);
	for (int i = 0; i < 4; i++)
		must_recv(&e, 200 + i, 64 * i, 64);
	require(!rdma_connect(id, &param), "%s", strerror(errno));
	cm_expect(e.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);

	if (atomic) {
		require(!post_fetch_add(&e, 1, 0, 0, 0x100, 0, 0), "post");
		wc = wait_wc(e.scq, op);
		/*
		 * A Terminate with the header of the request completes that request. siw of Linux
		 * 6.1 sends one without (2/0/06), so the WR is flushed and the Terminate is an
		 * event.
		 */
		require(wc.wr_id == 1 && (wc.status == IBV_WC_REM_ACCESS_ERR ||
					  wc.status == IBV_WC_WR_FLUSH_ERR), "%s",
			ibv_wc_status_str(wc.status));
		if (wc.status == IBV_WC_WR_FLUSH_ERR)
			expect_qp_event(&e, IBV_EVENT_QP_FATAL, op);
	} else {
		struct ibv_send_wr wr = {
			.wr_id = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(1),
			.send_flags = IBV_SEND_SIGNALED,
		}, *bad;

		require(!ibv_post_send(e.qp, &wr, &bad), "post");
		wc = wait_wc(e.scq, op);
		require(wc.wr_id == 1 && (wc.status == IBV_WC_SUCCESS ||
					  wc.status == IBV_WC_WR_FLUSH_ERR), "%s",
			ibv_wc_status_str(wc.status));
		expect_qp_event(&e, IBV_EVENT_QP_FATAL, op);
	}
	expect_disconnected(&e, op);
	expect_flushes(e.rcq, 200, 4, op);
	expect_no_wc(e.scq, 50, op);
	expect_state(&e, IBV_QPS_ERR, op);
	rdma_destroy_qp(id);
	require(!ibv_dereg_mr(e.mr) && !rdma_destroy_id(id), "%s", strerror(errno));
}
