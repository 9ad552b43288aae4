// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mw: memory windows of a program.
 *
 *	mw --list		names of the cases
 *	mw ADDR CASE		run one, over the device that has address ADDR
 *
 * Both ends of each connection are in one process. Windows are on b's memory,
 * and a is the peer that uses them. Exit status as badinput's.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cases.h"
#include "pair.h"

#define RR	IBV_ACCESS_REMOTE_READ
#define RW	IBV_ACCESS_REMOTE_WRITE
#define WIN_OFF	8192		/* where in b's buffer the window is */
#define WIN_LEN	5000		/* several segments over any MTU up to 4 KiB */

/* RDMAC verbs Figure 36, as vendor_err has it (Documentation/architecture.rst) */
enum {
	NATIVE_INVALID_STAG	= 5,
	NATIVE_BOUNDS		= 6,
	NATIVE_ACCESS		= 7,
	NATIVE_INVALID_PD	= 8,
	NATIVE_NOT_INVALID	= 13,
	NATIVE_INVALID_REGION	= 22,
	NATIVE_INVALID_WINDOW	= 23,
};

/* A region of b's buffer that gives local rights only, and a window */
struct win {
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t rkey;
};

static struct ibv_mr *reg_mr(struct end *e, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(e->pd, e->buf, BUF_SIZE, access);

	require(mr, "ibv_reg_mr: %s", strerror(errno));
	return mr;
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);

	require(mw, "ibv_alloc_mw: %s", strerror(errno));
	return mw;
}

static struct win win_make(struct end *e, enum ibv_mw_type type)
{
	struct win w = {
		.mr = reg_mr(e, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND),
		.mw = alloc_mw(e->pd, type),
	};

	w.rkey = w.mw->rkey;
	return w;
}

static void win_free(struct win *w)
{
	int err = ibv_dealloc_mw(w->mw) ?: ibv_dereg_mr(w->mr);

	require(!err, "%s", strerror(err));
}

static int post_bind(struct end *e, struct win *w, uint64_t addr, uint64_t len, int access)
{
	struct ibv_send_wr wr = {
		.wr_id = 500, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED,
		.bind_mw = { w->mw, w->rkey, { w->mr, addr, len, access } },
	}, *bad;

	return ibv_post_send(e->qp, &wr, &bad);
}

/* With a new key, which is stored in w->rkey. */
static void bind_at(struct end *e, struct win *w, uint64_t addr, uint64_t len, int access)
{
	struct ibv_wc wc;
	int err;

	w->rkey = ibv_inc_rkey(w->rkey);
	err = post_bind(e, w, addr, len, access);
	require(!err, "bind: %s", strerror(err));
	wc = expect_wc(e->scq, 500, IBV_WC_SUCCESS, "bind");
	require(wc.opcode == IBV_WC_BIND_MW, "opcode %d", wc.opcode);
}

static void bind_win(struct end *e, struct win *w)
{
	bind_at(e, w, (uintptr_t)e->buf + WIN_OFF, WIN_LEN, RR | RW);
}

static int post_inv(struct end *e, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.wr_id = 501, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = rkey,
	}, *bad;

	return ibv_post_send(e->qp, &wr, &bad);
}

static void invalidate(struct end *e, uint32_t rkey)
{
	struct ibv_wc wc;
	int err = post_inv(e, rkey);

	require(!err, "local invalidate: %s", strerror(err));
	wc = expect_wc(e->scq, 501, IBV_WC_SUCCESS, "local invalidate");
	require(wc.opcode == IBV_WC_LOCAL_INV, "opcode %d", wc.opcode);
}

static void op(struct end *e, enum ibv_wr_opcode opcode, uint64_t raddr, uint32_t rkey,
	       uint32_t len)
{
	struct ibv_sge sge = sge_of(e, 30000, len);
	int err = post_wr(e, opcode, 600, &sge, 1, IBV_SEND_SIGNALED, raddr, rkey);

	require(!err, "post: %s", strerror(err));
}

/* a writes the whole window, whose remote address is @raddr, and reads it back. */
static void window_works(struct pair *p, uint64_t raddr, uint32_t rkey, const char *when)
{
	static uint64_t key = 1000;
	uint8_t want;
	size_t where;

	memset(p->b.buf, GUARD_BYTE, BUF_SIZE);
	pattern_fill(p->a.buf + 30000, ++key, 0, WIN_LEN);
	op(&p->a, IBV_WR_RDMA_WRITE, raddr, rkey, WIN_LEN);
	expect_wc(p->a.scq, 600, IBV_WC_SUCCESS, when);
	memset(p->a.buf + 30000, 0, WIN_LEN);
	op(&p->a, IBV_WR_RDMA_READ, raddr, rkey, WIN_LEN);
	expect_wc(p->a.scq, 600, IBV_WC_SUCCESS, when);
	require(pattern_matches(p->b.buf + WIN_OFF, key, 0, WIN_LEN, &where, &want),
		"%s: WRITE, byte %zu", when, where);
	require(pattern_matches(p->a.buf + 30000, key, 0, WIN_LEN, &where, &want),
		"%s: READ, byte %zu", when, where);
	require(all_bytes(p->b.buf, GUARD_BYTE, WIN_OFF, &where) &&
		all_bytes(p->b.buf + WIN_OFF + WIN_LEN, GUARD_BYTE,
			  BUF_SIZE - WIN_OFF - WIN_LEN, &where), "%s: byte %zu", when, where);
}

/* One access by a ends both streams, b gets an event, and b's memory does not change. */
static void refused(struct pair *p, enum ibv_wr_opcode opcode, uint64_t raddr, uint32_t rkey,
		    uint32_t len, const char *what)
{
	struct ibv_wc wc;
	size_t where;

	memset(p->b.buf, GUARD_BYTE, BUF_SIZE);
	op(&p->a, opcode, raddr, rkey, len);
	wc = wait_wc(p->a.scq, what);
	/* a WRITE may have been complete before the Terminate came (8.2.2 11) */
	if (wc.status != IBV_WC_REM_ACCESS_ERR &&
	    !(opcode == IBV_WR_RDMA_WRITE && wc.status == IBV_WC_SUCCESS))
		die("%s: '%s'", what, ibv_wc_status_str(wc.status));
	expect_disconnected(&p->a, what);
	expect_disconnected(&p->b, what);
	expect_qp_event(&p->b, IBV_EVENT_QP_ACCESS_ERR, what);
	require(all_bytes(p->b.buf, GUARD_BYTE, BUF_SIZE, &where), "%s: byte %zu", what, where);
}

static uint64_t win_addr(const struct pair *p)
{
	return (uintptr_t)p->b.buf + WIN_OFF;
}

/* MW-08, MW-11: the region has no remote right, the window has */
static void case_use(void)
{
	struct pair p;
	struct win w;

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	require(w.mw->type == IBV_MW_TYPE_2 && w.mw->pd == p.b.pd, "the window");
	bind_win(&p.b, &w);
	window_works(&p, win_addr(&p), w.rkey, "a window");
	invalidate(&p.b, w.rkey);
	bind_win(&p.b, &w);
	window_works(&p, win_addr(&p), w.rkey, "bound again");
	win_free(&w);
	pair_works(&p, "after the window");
	pair_close(&p);
}

/* MW-07, MW-11, MW-04: accesses outside of the window, or without its right */
static void case_refused(void)
{
	static const struct {
		const char *what;
		enum ibv_wr_opcode opcode;
		int access, off;
		uint32_t len, key;
	} rows[] = {
		{ "one byte before", IBV_WR_RDMA_WRITE, RR | RW, -1, 1, 0 },
		{ "one byte behind", IBV_WR_RDMA_WRITE, RR | RW, WIN_LEN, 1, 0 },
		{ "read one byte before", IBV_WR_RDMA_READ, RR | RW, -1, 2, 0 },
		{ "read one byte too many", IBV_WR_RDMA_READ, RR | RW, 1, WIN_LEN, 0 },
		{ "WRITE with read right", IBV_WR_RDMA_WRITE, RR, 0, 1, 0 },
		{ "READ with write right", IBV_WR_RDMA_READ, RW, 0, 1, 0 },
		{ "another key", IBV_WR_RDMA_WRITE, RR | RW, 0, 1, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pair p;
		struct win w;

		pair_open(&p);
		w = win_make(&p.b, IBV_MW_TYPE_2);
		bind_at(&p.b, &w, win_addr(&p), WIN_LEN, rows[i].access);
		refused(&p, rows[i].opcode, win_addr(&p) + rows[i].off, w.rkey ^ rows[i].key,
			rows[i].len, rows[i].what);
		win_free(&w);
		pair_close(&p);
	}
}

/* MW-05: TO 0 is the first byte of the window */
static void case_zero_based(void)
{
	struct pair p;
	struct win w;

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	bind_at(&p.b, &w, win_addr(&p), WIN_LEN, RR | RW | IBV_ACCESS_ZERO_BASED);
	window_works(&p, 0, w.rkey, "a zero-based window");
	refused(&p, IBV_WR_RDMA_WRITE, WIN_LEN, w.rkey, 1, "one byte behind");
	win_free(&w);
	pair_close(&p);
}

/* MW-08, PD-04: for one QP, not for its PD; MW-15: then for another one */
static void case_foreign_qp(void)
{
	struct pair p, other, third;
	struct win w;

	pair_open(&p);
	pair_open_with(&other, &p);
	pair_open_with(&third, &p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	bind_win(&p.b, &w);
	/* the window is on p's memory, which the WRITE must not change */
	refused(&other, IBV_WR_RDMA_WRITE, win_addr(&p), w.rkey, 1, "over another QP");
	window_works(&p, win_addr(&p), w.rkey, "its own QP");
	invalidate(&p.b, w.rkey);
	bind_at(&third.b, &w, win_addr(&p), WIN_LEN, RR | RW);
	refused(&p, IBV_WR_RDMA_WRITE, win_addr(&p), w.rkey, 1, "over the QP it left");
	op(&third.a, IBV_WR_RDMA_WRITE, win_addr(&p), w.rkey, 100);
	expect_wc(third.a.scq, 600, IBV_WC_SUCCESS, "over the QP it went to");
	op(&third.a, IBV_WR_RDMA_READ, win_addr(&p), w.rkey, 100);
	expect_wc(third.a.scq, 600, IBV_WC_SUCCESS, "over the QP it went to");
	win_free(&w);
	pair_close(&third);
	pair_close(&other);
	pair_close(&p);
}

/* MW-14, MW-16: no access goes through it after the completion */
static void case_inv_local(void)
{
	struct pair p;
	struct win w;

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	bind_win(&p.b, &w);
	window_works(&p, win_addr(&p), w.rkey, "a window");
	invalidate(&p.b, w.rkey);
	/* an Invalid window can be invalidated */
	invalidate(&p.b, w.rkey);
	refused(&p, IBV_WR_RDMA_WRITE, win_addr(&p), w.rkey, 1, "after a local invalidate");
	win_free(&w);
	pair_close(&p);
}

/* WR-11, OR-09: the peer invalidates it; the receive completion reports the STag */
static void case_inv_remote(void)
{
	for (int solicited = 0; solicited < 2; solicited++) {
		struct ibv_send_wr wr = {
			.wr_id = 700, .opcode = IBV_WR_SEND_WITH_INV, .num_sge = 1,
			.send_flags = IBV_SEND_SIGNALED | (solicited ? IBV_SEND_SOLICITED : 0),
		}, *bad;
		struct ibv_sge sge;
		struct ibv_wc wc;
		struct pair p;
		struct win w;
		uint32_t old;

		pair_open(&p);
		w = win_make(&p.b, IBV_MW_TYPE_2);
		bind_win(&p.b, &w);
		window_works(&p, win_addr(&p), w.rkey, "a window");
		must_recv(&p.b, 701, 0, 64);
		sge = sge_of(&p.a, 0, 64);
		wr.sg_list = &sge;
		wr.invalidate_rkey = w.rkey;
		require(!ibv_post_send(p.a.qp, &wr, &bad), "SEND_WITH_INV");
		wc = expect_wc(p.b.rcq, 701, IBV_WC_SUCCESS, "SEND_WITH_INV");
		require(wc.wc_flags & IBV_WC_WITH_INV && wc.invalidated_rkey == w.rkey,
			"wc_flags %#x, rkey %#x of %#x", wc.wc_flags, wc.invalidated_rkey,
			w.rkey);
		require(wc.byte_len == 64, "byte_len %u", wc.byte_len);
		expect_wc(p.a.scq, 700, IBV_WC_SUCCESS, "SEND_WITH_INV");
		old = w.rkey;
		bind_win(&p.b, &w);	/* it can be bound again at once */
		window_works(&p, win_addr(&p), w.rkey, "bound again");
		refused(&p, IBV_WR_RDMA_WRITE, win_addr(&p), old, 1, "its old key");
		win_free(&w);
		pair_close(&p);
	}
}

/* MR-33, SEC-7: a peer can invalidate nothing but a window of this stream */
static void case_inv_remote_refused(void)
{
	static const char * const what[] = {
		"a region", "an unknown STag", "another QP's window", "a window's old key",
	};
	/* an unknown STag, and one that may not be invalidated (TC-03) */
	static const enum ibv_wc_status want[] = {
		IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_REM_INV_REQ_ERR,
		IBV_WC_LOC_PROT_ERR,
	};

	for (size_t i = 0; i < ARRAY_SIZE(what); i++) {
		struct ibv_send_wr wr = {
			.wr_id = 700, .opcode = IBV_WR_SEND_WITH_INV,
			.send_flags = IBV_SEND_SIGNALED,
		}, *bad;
		struct pair p, other;
		struct ibv_wc wc;
		struct win w;

		pair_open(&p);
		pair_open_with(&other, &p);
		w = win_make(&p.b, IBV_MW_TYPE_2);
		bind_at(i == 2 ? &other.b : &p.b, &w, win_addr(&p), WIN_LEN, RR | RW);
		wr.invalidate_rkey = i == 0 ? p.b.mr->rkey : i == 1 ? 0x12345600 :
				     i == 2 ? w.rkey : w.rkey - 1;
		must_recv(&p.b, 701, 0, 64);
		require(!ibv_post_send(p.a.qp, &wr, &bad), "SEND_WITH_INV");
		wc = wait_wc(p.b.rcq, what[i]);
		require(wc.wr_id == 701 && wc.status == want[i], "%s: '%s'",
			what[i], ibv_wc_status_str(wc.status));
		expect_disconnected(&p.b, what[i]);
		win_free(&w);
		pair_close(&other);
		pair_close(&p);
	}
}

/*
 * MW-09, MW-10: a bound window must be invalidated before the next bind; otherwise the QP fails
 */
static void case_rebind_valid(void)
{
	struct pair p;
	struct win w;
	struct ibv_wc wc;

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	bind_win(&p.b, &w);
	require(!post_bind(&p.b, &w, win_addr(&p), 1, RR), "bind");
	wc = wait_wc(p.b.scq, "a second bind");
	require(wc.status == IBV_WC_MW_BIND_ERR && wc.vendor_err == NATIVE_NOT_INVALID,
		"'%s', vendor_err %u", ibv_wc_status_str(wc.status), wc.vendor_err);
	expect_disconnected(&p.b, "a second bind");
	expect_state(&p.b, IBV_QPS_ERR, "a second bind");
	win_free(&w);
	pair_close(&p);
}

/* MW-04, MW-10: an invalid bind completes with an error, and all later WRs are flushed */
static void case_bad_bind(void)
{
	enum { UNBINDABLE, ZERO_BASED, READ_ONLY, OTHER_PD, PAST_END, BEFORE, NO_ACCESS, STALE,
	       DISABLED, COUNT };
	static const struct {
		const char *what;
		uint32_t native;
	} rows[COUNT] = {
		[UNBINDABLE] = { "a region not made for windows", NATIVE_ACCESS },
		[ZERO_BASED] = { "a zero-based region", NATIVE_INVALID_REGION },
		[READ_ONLY] = { "write right on a read-only region", NATIVE_ACCESS },
		[OTHER_PD] = { "a region of another PD", NATIVE_INVALID_PD },
		[PAST_END] = { "one byte past the region", NATIVE_BOUNDS },
		[BEFORE] = { "one byte before the region", NATIVE_BOUNDS },
		[NO_ACCESS] = { "no right at all", NATIVE_ACCESS },
		[STALE] = { "a region that has gone", NATIVE_INVALID_REGION },
		[DISABLED] = { "a QP that may not bind", NATIVE_ACCESS },
	};

	for (int i = 0; i < COUNT; i++) {
		int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
		struct ibv_qp_attr attr = { .qp_access_flags = RR | RW };
		struct ibv_mr *mr, gone;
		struct ibv_wc wc;
		struct pair p;
		struct win w;
		uint64_t addr;

		pair_open(&p);
		w = win_make(&p.b, IBV_MW_TYPE_2);
		mr = w.mr;
		if (i == UNBINDABLE)
			access = ACCESS_ALL;
		else if (i == ZERO_BASED)
			access |= IBV_ACCESS_ZERO_BASED;
		else if (i == READ_ONLY)
			access = RR | IBV_ACCESS_MW_BIND;
		w.mr = reg_mr(i == OTHER_PD ? &p.a : &p.b, access);
		gone = *w.mr;
		addr = i == OTHER_PD ? (uintptr_t)p.a.buf : (uintptr_t)p.b.buf;
		if (i == STALE) {
			require(!ibv_dereg_mr(w.mr), "ibv_dereg_mr");
			w.mr = &gone;
		} else if (i == DISABLED) {
			require(!ibv_modify_qp(p.b.qp, &attr, IBV_QP_ACCESS_FLAGS),
				"ibv_modify_qp");
		} else if (i == ZERO_BASED) {
			addr = 0;
		}
		addr += (i == PAST_END) - (i == BEFORE);
		require(!post_bind(&p.b, &w, addr, BUF_SIZE, i == NO_ACCESS ? 0 : RR | RW),
			"bind");
		wc = wait_wc(p.b.scq, rows[i].what);
		require(wc.wr_id == 500 && wc.status != IBV_WC_SUCCESS &&
			wc.vendor_err == rows[i].native, "%s: '%s', vendor_err %u",
			rows[i].what, ibv_wc_status_str(wc.status), wc.vendor_err);
		expect_disconnected(&p.b, rows[i].what);
		expect_disconnected(&p.a, rows[i].what);
		/* nothing is bound: all objects can be destroyed */
		if (i != STALE)
			require(!ibv_dereg_mr(w.mr), "ibv_dereg_mr");
		w.mr = mr;
		win_free(&w);
		pair_close(&p);
	}
}

/* Errors of the call, before there is a WR */
static void case_post_errors(void)
{
	struct pair p;
	struct win w, one;
	struct ibv_mw_bind bind = { .wr_id = 1 };

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	one = win_make(&p.b, IBV_MW_TYPE_1);
	w.rkey ^= 0x100;
	require(post_bind(&p.b, &w, win_addr(&p), 1, RR) == EINVAL, "another index");
	require(post_bind(&p.b, &one, win_addr(&p), 1, RR) == EINVAL, "type 1 by a WR");
	require(ibv_bind_mw(p.b.qp, w.mw, &bind) == EINVAL, "type 2 by ibv_bind_mw()");
	expect_no_wc(p.b.scq, 50, "refused");
	pair_works(&p, "after refused binds");
	win_free(&w);
	win_free(&one);
	pair_close(&p);
}

static void bind_type_1(struct end *e, struct win *w, uint64_t addr, uint64_t len)
{
	struct ibv_mw_bind bind = {
		.wr_id = 502, .send_flags = IBV_SEND_SIGNALED,
		.bind_info = { len ? w->mr : NULL, addr, len, RR | RW },
	};
	uint32_t old = w->mw->rkey;
	int err = ibv_bind_mw(e->qp, w->mw, &bind);

	require(!err, "ibv_bind_mw: %s", strerror(err));
	expect_wc(e->scq, 502, IBV_WC_SUCCESS, "ibv_bind_mw");
	require(w->mw->rkey != old && !((w->mw->rkey ^ old) >> 8), "rkey %#x after %#x",
		w->mw->rkey, old);
}

/* ibv_bind_mw(): for the PD; can be bound again while bound; length 0 unbinds */
static void case_type_1(void)
{
	struct pair p, other;
	struct win w;
	uint32_t old;

	pair_open(&p);
	pair_open_with(&other, &p);
	w = win_make(&p.b, IBV_MW_TYPE_1);
	bind_type_1(&p.b, &w, win_addr(&p) - 1, WIN_LEN + 2);
	old = w.mw->rkey;
	bind_type_1(&p.b, &w, win_addr(&p), WIN_LEN);
	window_works(&p, win_addr(&p), w.mw->rkey, "type 1");
	op(&other.a, IBV_WR_RDMA_READ, win_addr(&p), w.mw->rkey, 100);
	expect_wc(other.a.scq, 600, IBV_WC_SUCCESS, "over another QP of the PD");
	require(ibv_dereg_mr(w.mr) == EBUSY, "ibv_dereg_mr() with a window");
	refused(&other, IBV_WR_RDMA_WRITE, win_addr(&p), old, 1, "the old key");
	bind_type_1(&p.b, &w, 0, 0);
	require(!ibv_dereg_mr(w.mr), "ibv_dereg_mr() after unbinding");
	refused(&p, IBV_WR_RDMA_WRITE, win_addr(&p), w.mw->rkey, 1, "unbound");
	require(!ibv_dealloc_mw(w.mw), "ibv_dealloc_mw");
	pair_close(&other);
	pair_close(&p);
}

/* MW-12: a window is no local buffer, MW-13: except as a Read's sink */
static void case_local(void)
{
	struct ibv_sge sge;
	struct ibv_wc wc;
	struct pair p;
	struct win w;
	uint8_t want;
	size_t where;

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	bind_win(&p.b, &w);
	pattern_fill(p.a.buf, 4711, 0, WIN_LEN);
	sge = (struct ibv_sge){ win_addr(&p), WIN_LEN, w.rkey };
	require(!post_wr(&p.b, IBV_WR_RDMA_READ, 1, &sge, 1, IBV_SEND_SIGNALED,
			 (uintptr_t)p.a.buf, p.a.mr->rkey), "READ");
	expect_wc(p.b.scq, 1, IBV_WC_SUCCESS, "READ into a window");
	require(pattern_matches(p.b.buf + WIN_OFF, 4711, 0, WIN_LEN, &where, &want), "READ");
	require(!post_wr(&p.b, IBV_WR_SEND, 2, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "SEND");
	wc = wait_wc(p.b.scq, "SEND out of a window");
	require(wc.status == IBV_WC_LOC_PROT_ERR && wc.vendor_err == NATIVE_ACCESS,
		"SEND out of a window: '%s', vendor_err %u", ibv_wc_status_str(wc.status),
		wc.vendor_err);
	expect_disconnected(&p.b, "SEND out of a window");
	win_free(&w);
	pair_close(&p);
}

/* MR-38, QP-28, MW-17, PD-05: while a window is bound, its region and QP are busy, and usable */
static void case_busy(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct pair p;
	struct win w;

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	bind_win(&p.b, &w);
	for (int i = 0; i < 3; i++) {
		require(ibv_dereg_mr(w.mr) == EBUSY, "ibv_dereg_mr() with a window");
		require(ibv_destroy_qp(p.b.qp) == EBUSY, "ibv_destroy_qp() with a window");
	}
	require(ibv_dealloc_pd(p.b.pd) == EBUSY, "ibv_dealloc_pd()");
	window_works(&p, win_addr(&p), w.rkey, "after EBUSY");
	pair_works(&p, "after EBUSY");
	/* an error of the QP does not unbind */
	require(!ibv_modify_qp(p.b.qp, &attr, IBV_QP_STATE), "ibv_modify_qp");
	expect_disconnected(&p.b, "Error");
	require(ibv_destroy_qp(p.b.qp) == EBUSY && ibv_dereg_mr(w.mr) == EBUSY, "in Error");
	win_free(&w);
	pair_close(&p);
}

/* PD-05, trap of the PD: a window that is not bound keeps the PD busy, too */
static void case_pd_busy(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(test_context());
	struct ibv_mw *mw;

	require(pd, "ibv_alloc_pd");
	mw = alloc_mw(pd, IBV_MW_TYPE_2);
	require(ibv_dealloc_pd(pd) == EBUSY, "ibv_dealloc_pd() with a window");
	require(!ibv_dealloc_mw(mw) && !ibv_dealloc_pd(pd), "ibv_dealloc_pd()");
}

/* MW-03: many windows on one region and one QP */
static void case_many(void)
{
	enum { N = 200 };
	struct win w, each[N];
	struct pair p;

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	for (int i = 0; i < N; i++) {
		each[i] = w;
		each[i].mw = alloc_mw(p.b.pd, IBV_MW_TYPE_2);
		each[i].rkey = each[i].mw->rkey;
		bind_at(&p.b, &each[i], (uintptr_t)p.b.buf + i, BUF_SIZE - i, RW);
	}
	for (int i = 0; i < N; i += 7) {
		op(&p.a, IBV_WR_RDMA_WRITE, (uintptr_t)p.b.buf + i, each[i].rkey, 1);
		expect_wc(p.a.scq, 600, IBV_WC_SUCCESS, "one of many");
	}
	/* A completed WRITE need not have arrived: the windows stay bound until then. */
	pair_works(&p, "with many windows");
	for (int i = 0; i < N; i++)
		require(!ibv_dealloc_mw(each[i].mw), "ibv_dealloc_mw");
	pair_works(&p, "after many windows");
	win_free(&w);
	pair_close(&p);
}

struct writer {
	struct pair *pair;
	uint32_t rkey;
};

/* Writes all of b's buffer, again and again, until a write is refused. */
static void *write_on(void *arg)
{
	const struct writer *writer = arg;
	struct end *a = &writer->pair->a;
	struct ibv_wc wc;

	do {
		struct ibv_sge sge = sge_of(a, 0, BUF_SIZE);

		if (post_wr(a, IBV_WR_RDMA_WRITE, 1, &sge, 1, IBV_SEND_SIGNALED,
			    (uintptr_t)writer->pair->b.buf, writer->rkey))
			break;
		wc = wait_wc(a->scq, "WRITE without an end");
	} while (wc.status == IBV_WC_SUCCESS);
	return NULL;
}

/* MW-16: after ibv_dealloc_mw() returns no octet is written through the window */
static void case_dealloc_busy(void)
{
	for (int round = 0; round < 3; round++) {
		struct writer writer;
		pthread_t thread;
		uint64_t end;
		struct pair p;
		struct win w;
		size_t where;

		pair_open(&p);
		w = win_make(&p.b, IBV_MW_TYPE_2);
		bind_at(&p.b, &w, (uintptr_t)p.b.buf, BUF_SIZE, RW);
		memset(p.a.buf, 0x5a, BUF_SIZE);
		writer = (struct writer){ &p, w.rkey };
		require(!pthread_create(&thread, NULL, write_on, &writer), "pthread_create");
		for (end = now_ms() + 10000; ((volatile uint8_t *)p.b.buf)[BUF_SIZE - 1] != 0x5a;) {
			require(now_ms() < end, "nothing was written");
			usleep(500);
		}
		usleep(7000 + 3000 * round);	/* somewhere within the WRITE */
		require(!ibv_dealloc_mw(w.mw), "ibv_dealloc_mw");
		memset(p.b.buf, GUARD_BYTE, BUF_SIZE);
		expect_disconnected(&p.b, "dealloc while in use");
		require(!pthread_join(thread, NULL), "pthread_join");
		require(all_bytes(p.b.buf, GUARD_BYTE, BUF_SIZE, &where), "byte %zu", where);
		require(!ibv_dereg_mr(w.mr), "ibv_dereg_mr");
		pair_close(&p);
	}
}

/* OR-11: bind, SEND with it, invalidate, bind again: each sees the one before, without a fence */
static void case_order(void)
{
	struct ibv_send_wr wr[4] = { }, *bad;
	struct pair p;
	struct win w;

	pair_open(&p);
	w = win_make(&p.b, IBV_MW_TYPE_2);
	for (int i = 0; i < 4; i++) {
		wr[i].wr_id = 900 + i;
		wr[i].send_flags = i == 3 ? IBV_SEND_SIGNALED : 0;
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
		wr[i].opcode = i % 2 ? IBV_WR_LOCAL_INV : IBV_WR_BIND_MW;
		if (i % 2) {
			wr[i].invalidate_rkey = w.rkey;
			continue;
		}
		w.rkey = ibv_inc_rkey(w.rkey);
		wr[i].bind_mw.mw = w.mw;
		wr[i].bind_mw.rkey = w.rkey;
		wr[i].bind_mw.bind_info = (struct ibv_mw_bind_info){ w.mr, win_addr(&p), 1, RR };
	}
	for (int round = 0; round < 50; round++) {
		require(!ibv_post_send(p.b.qp, wr, &bad), "post");
		expect_wc(p.b.scq, 903, IBV_WC_SUCCESS, "a chain");
	}
	win_free(&w);
	pair_works(&p, "after the chains");
	pair_close(&p);
}

/* A process is killed with everything bound; mw.sh checks that nothing is left. */
static void case_killed(void)
{
	int fd[2], status;
	pid_t pid;
	char c;

	require(!pipe(fd), "pipe");
	pid = fork_child();
	if (!pid) {
		struct pair p, other;
		struct win w, one, late;

		pair_open(&p);
		pair_open_with(&other, &p);
		w = win_make(&p.b, IBV_MW_TYPE_2);
		one = win_make(&p.b, IBV_MW_TYPE_1);
		late = win_make(&other.b, IBV_MW_TYPE_2);
		bind_win(&p.b, &w);
		bind_type_1(&p.b, &one, win_addr(&p), WIN_LEN);
		bind_win(&other.b, &late);
		require(write(fd[1], "x", 1) == 1, "write");
		for (;;)
			window_works(&p, win_addr(&p), w.rkey, "until the end");
	}
	require(read(fd[0], &c, 1) == 1, "the child failed");
	usleep(100000);
	kill(pid, SIGKILL);
	require(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status), "status %#x", status);
}

static const struct test_case cases[] = {
	{ "use", case_use, "WRITE and READ through a window" },
	{ "refused", case_refused, "what is not in the window, or not its right" },
	{ "zero-based", case_zero_based, "a zero-based window" },
	{ "foreign-qp", case_foreign_qp, "a window is of one QP, until it goes to another" },
	{ "inv-local", case_inv_local, "local invalidate" },
	{ "inv-remote", case_inv_remote, "the peer invalidates, and the receive says so" },
	{ "inv-remote-refused", case_inv_remote_refused, "what a peer must not invalidate" },
	{ "rebind-valid", case_rebind_valid, "binding a Valid window" },
	{ "bad-bind", case_bad_bind, "binds that may not be" },
	{ "post-errors", case_post_errors, "binds that are not posted" },
	{ "type-1", case_type_1, "windows of type 1" },
	{ "local", case_local, "a window as local buffer" },
	{ "busy", case_busy, "region and QP are busy with a window" },
	{ "pd-busy", case_pd_busy, "so is the PD with one that is not bound" },
	{ "many", case_many, "many windows on one region" },
	{ "dealloc-busy", case_dealloc_busy, "deallocation while the peer writes" },
	{ "order", case_order, "bind and invalidate in one list" },
	{ "killed", case_killed, "kill -9 with windows bound" },
};

static const struct test_program prog = {
	.usage = "mw --list | mw ADDR CASE",
	.timeout_env = "MW_TIMEOUT",
	.timeout = 60,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
