// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Bad work requests. Section numbers are of the RDMAC verbs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "badinput.h"

/*
 * An opcode that does not exist, or that an RC QP of this device does not have, is refused at
 * once, and the QP goes on (9.3.1).
 */
void case_opcode(void)
{
	static const unsigned int opcodes[] = {
		0x7f, 0xffffffff, 0x100, 32, IBV_WR_TSO, IBV_WR_DRIVER1 + 1,
	};
	struct ibv_sge sge;
	struct pair p;

	pair_open(&p);
	sge = sge_of(&p.a, 0, 8);
	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		int err = post_wr(&p.a, opcodes[i], 1, &sge, 1, IBV_SEND_SIGNALED,
				  (uintptr_t)p.b.buf, p.b.mr->rkey);

		require(err, "opcode %#x was accepted", opcodes[i]);
	}
	expect_no_wc(p.a.scq, 50, "a refused work request");
	pair_works(&p, "after unknown opcodes");
	pair_close(&p);
}

/* The first bad WR stops the list; those before it are posted (8.2.1). */
void case_wr_list(void)
{
	struct ibv_send_wr wr[5], *bad = NULL;
	struct ibv_recv_wr rwr[5], *rbad = NULL;
	struct ibv_sge sge, rsge;
	struct pair p;
	int err;

	pair_open(&p);
	sge = sge_of(&p.a, 0, 8);
	rsge = sge_of(&p.b, 0, 64);
	memset(wr, 0, sizeof(wr));
	memset(rwr, 0, sizeof(rwr));
	for (int i = 0; i < 5; i++) {
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .next = i < 4 ? &wr[i + 1] : NULL, .sg_list = &sge,
			.num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
		};
		rwr[i] = (struct ibv_recv_wr){
			.wr_id = i, .next = i < 4 ? &rwr[i + 1] : NULL, .sg_list = &rsge,
			.num_sge = 1,
		};
	}
	rwr[2].num_sge = p.b.cap.max_recv_sge + 1;
	err = ibv_post_recv(p.b.qp, rwr, &rbad);
	require(err > 0 && rbad == &rwr[2], "%d, bad_wr is number %td", err, rbad - rwr);

	wr[2].opcode = 0x7f;
	err = ibv_post_send(p.a.qp, wr, &bad);
	require(err > 0 && bad == &wr[2], "%d, bad_wr is number %td", err, bad - wr);
	for (int i = 0; i < 2; i++) {
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "sends before the bad one");
		expect_wc(p.b.rcq, i, IBV_WC_SUCCESS, "receives before the bad one");
	}
	expect_no_wc(p.a.scq, 50, "sends behind the bad one");
	expect_no_wc(p.b.rcq, 50, "receives behind the bad one");
	pair_works(&p, "after a list with a bad one");
	pair_close(&p);
}

void case_sge_count(void)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	static struct ibv_sge sge[4096];
	struct pair p;

	pair_prepare(&p, &cap);
	pair_connect(&p);
	require(p.a.cap.max_send_sge < 2048 && p.b.cap.max_recv_sge < 2048, "limits");
	for (int i = 0; i < 4096; i++)
		sge[i] = sge_of(&p.a, i, 1);

	/* beyond the QP's own limit, not the device's */
	const int bad_send[] = { p.a.cap.max_send_sge + 1, 2048, 4096, -1, 0x7fffffff };

	for (size_t i = 0; i < ARRAY_SIZE(bad_send); i++)
		require(post_wr(&p.a, IBV_WR_SEND, 1, sge, bad_send[i], IBV_SEND_SIGNALED, 0, 0),
			"%d SGEs", bad_send[i]);

	const int bad_recv[] = { p.b.cap.max_recv_sge + 1, 2048, 4096, -1, 0x7fffffff };

	for (size_t i = 0; i < ARRAY_SIZE(bad_recv); i++)
		require(post_rwr(&p.b, 1, sge, bad_recv[i]), "%d SGEs", bad_recv[i]);

	/* as many as the limit succeed */
	must_recv(&p.b, 5, 0, 4096);
	require(!post_wr(&p.a, IBV_WR_SEND, 5, sge, p.a.cap.max_send_sge, IBV_SEND_SIGNALED, 0, 0),
		"%u SGEs", p.a.cap.max_send_sge);
	expect_wc(p.a.scq, 5, IBV_WC_SUCCESS, "max_send_sge");
	require(expect_wc(p.b.rcq, 5, IBV_WC_SUCCESS, "max_send_sge").byte_len ==
		p.a.cap.max_send_sge, "%u", p.a.cap.max_send_sge);
	pair_works(&p, "after too many SGEs");
	pair_close(&p);
}

/*
 * A slot of the SQ is in use until its completion was polled, so one WR more than the depth that
 * create has returned is refused, however fast the device is (8.2.1). Zero-length WRITEs need
 * nothing from the peer.
 */
void case_sq_full(void)
{
	struct pair p;
	uint32_t n;
	int err;

	pair_open(&p);
	for (n = 0; n < p.a.cap.max_send_wr; n++) {
		err = post_wr(&p.a, IBV_WR_RDMA_WRITE, n, NULL, 0, IBV_SEND_SIGNALED,
			      (uintptr_t)p.b.buf, p.b.mr->rkey);
		require(!err, "number %u of %u: %s", n, p.a.cap.max_send_wr, strerror(err));
	}
	usleep(300000);		/* complete, but not polled */
	err = post_wr(&p.a, IBV_WR_RDMA_WRITE, n, NULL, 0, IBV_SEND_SIGNALED,
		      (uintptr_t)p.b.buf, p.b.mr->rkey);
	require(err == ENOMEM, "%s (%d) for number %u of %u", strerror(err), err, n,
		p.a.cap.max_send_wr);
	/* one was polled, so one more is accepted */
	expect_wc(p.a.scq, 0, IBV_WC_SUCCESS, "full SQ");
	err = post_wr(&p.a, IBV_WR_RDMA_WRITE, n, NULL, 0, IBV_SEND_SIGNALED,
		      (uintptr_t)p.b.buf, p.b.mr->rkey);
	require(!err, "a slot is free: %s", strerror(err));
	for (uint32_t i = 1; i <= n; i++)
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "full SQ");
	expect_no_wc(p.a.scq, 50, "full SQ");
	pair_works(&p, "after a full SQ");
	pair_close(&p);
}

void case_rq_full(void)
{
	struct ibv_sge sge;
	struct pair p;
	uint32_t n;
	int err;

	pair_open(&p);
	sge = sge_of(&p.b, 0, 64);
	for (n = 0; n < p.b.cap.max_recv_wr; n++)
		must_recv(&p.b, n, 0, 64);
	err = post_rwr(&p.b, n, &sge, 1);
	require(err == ENOMEM, "%s (%d) for number %u of %u", strerror(err), err, n,
		p.b.cap.max_recv_wr);
	rdma_disconnect(p.a.id);
	expect_flushes(p.b.rcq, 0, n, "full RQ");
	pair_close(&p);
}

/* Memory for bad SGEs. */
struct odd_memory {
	struct ibv_pd *pd;		/* another protection domain */
	struct ibv_mr *foreign;		/* in it */
	struct ibv_mr *read_only;	/* no local write */
	uint32_t stale;			/* lkey of an MR that is gone */
	uint8_t *mem;
};

static void odd_memory(struct odd_memory *m, struct end *e)
{
	struct ibv_mr *mr;

	m->mem = mmap(NULL, BUF_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	m->pd = ibv_alloc_pd(e->id->verbs);
	m->foreign = ibv_reg_mr(m->pd, m->mem, BUF_SIZE, ACCESS_ALL);
	m->read_only = ibv_reg_mr(e->pd, m->mem, BUF_SIZE, IBV_ACCESS_REMOTE_READ);
	mr = ibv_reg_mr(e->pd, m->mem, BUF_SIZE, ACCESS_ALL);
	require(m->foreign && m->read_only && mr, "ibv_reg_mr: %s", strerror(errno));
	m->stale = mr->lkey;
	require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
}

static void odd_memory_free(struct odd_memory *m)
{
	require(!ibv_dereg_mr(m->foreign) && !ibv_dereg_mr(m->read_only) &&
		!ibv_dealloc_pd(m->pd), "%s", strerror(errno));
	munmap(m->mem, BUF_SIZE);
}

enum bad_sge {
	UNKNOWN_INDEX,
	WRONG_KEY,
	LKEY_ZERO,
	OTHER_PD,
	STALE,
	PAST_END,
	BEFORE_START,
	WRAPS,
	SECOND_SGE,
	NO_LOCAL_WRITE,
	BAD_SGES,
};

static const char * const bad_sge_names[BAD_SGES] = {
	[UNKNOWN_INDEX]	= "lkey with an unknown index",
	[WRONG_KEY]	= "lkey with a wrong key byte",
	[LKEY_ZERO]	= "lkey 0",
	[OTHER_PD]	= "lkey of another protection domain",
	[STALE]		= "lkey of an MR that is gone",
	[PAST_END]	= "one byte past the end of the MR",
	[BEFORE_START]	= "one byte before the MR",
	[WRAPS]		= "an address range that wraps",
	[SECOND_SGE]	= "a second SGE with a bad lkey",
	[NO_LOCAL_WRITE] = "an MR without local write",
};

/* Returns the number of SGEs. 64 bytes each, so that nothing is zero-length. */
static int make_bad_sge(struct ibv_sge *sge, enum bad_sge kind, struct end *e,
			const struct odd_memory *m)
{
	sge[0] = sge_of(e, 0, 64);
	switch (kind) {
	case UNKNOWN_INDEX:
		sge[0].lkey ^= 0x5a5a5a00;
		break;
	case WRONG_KEY:
		sge[0].lkey ^= 1;
		break;
	case LKEY_ZERO:
		sge[0].lkey = 0;
		break;
	case OTHER_PD:
		sge[0] = (struct ibv_sge){ (uintptr_t)m->mem, 64, m->foreign->lkey };
		break;
	case STALE:
		sge[0] = (struct ibv_sge){ (uintptr_t)m->mem, 64, m->stale };
		break;
	case PAST_END:
		sge[0].addr += BUF_SIZE - 63;
		break;
	case BEFORE_START:
		sge[0].addr -= 1;
		break;
	case WRAPS:
		sge[0].addr = UINT64_MAX - 31;
		break;
	case SECOND_SGE:
		sge[1] = sge[0];
		sge[1].lkey ^= 0x5a5a5a00;
		return 2;
	case NO_LOCAL_WRITE:
		sge[0] = (struct ibv_sge){ (uintptr_t)m->mem, 64, m->read_only->lkey };
		break;
	default:
		break;
	}
	return 1;
}

/*
 * Five SENDs, the second one bad: success, the error, three flushes, whether signaled or not
 * (8.1.3.1, 6.2.2.3). The receiver gets the first message and its receives are flushed; no
 * asynchronous event where the completion reports the error (6.2.3).
 */
static void send_sge(enum bad_sge kind)
{
	const char *what = bad_sge_names[kind];
	struct ibv_async_event ev;
	struct ibv_sge good, bad[2];
	struct odd_memory m;
	struct pair p;
	int num, err;

	pair_open(&p);
	odd_memory(&m, &p.a);
	for (int i = 0; i < 5; i++) {
		must_recv(&p.a, 200 + i, 256 * i, 256);
		must_recv(&p.b, 100 + i, 256 * i, 256);
	}
	good = sge_of(&p.a, 4096, 64);
	num = make_bad_sge(bad, kind, &p.a, &m);
	err = post_wr(&p.a, IBV_WR_SEND, 0, &good, 1, IBV_SEND_SIGNALED, 0, 0) ?:
	      post_wr(&p.a, IBV_WR_SEND, 1, bad, num, 0, 0, 0);
	require(!err, "%s: the SGE is looked at later: %s", what, strerror(err));
	for (int i = 2; i < 5; i++) {
		err = post_wr(&p.a, IBV_WR_SEND, i, &good, 1, i & 1 ? IBV_SEND_SIGNALED : 0,
			      0, 0);
		/* the QP may be in Error by now, for which another device may refuse the post */
		require(!err || !on_srnic(), "%s: a post behind it: %s", what, strerror(err));
		if (err) {
			num = i;
			break;
		}
		num = 5;
	}
	expect_wc(p.a.scq, 0, IBV_WC_SUCCESS, what);
	expect_wc(p.a.scq, 1, IBV_WC_LOC_PROT_ERR, what);
	expect_flushes(p.a.scq, 2, num - 2, what);
	expect_flushes(p.a.rcq, 200, 5, what);
	expect_wc(p.b.rcq, 100, IBV_WC_SUCCESS, what);
	expect_flushes(p.b.rcq, 101, 4, what);
	expect_disconnected(&p.a, what);
	expect_disconnected(&p.b, what);
	expect_state(&p.a, IBV_QPS_ERR, what);
	while (take_async(p.a.id->verbs, &ev, 0))
		if ((ev.event_type == IBV_EVENT_QP_FATAL ||
		     ev.event_type == IBV_EVENT_QP_REQ_ERR ||
		     ev.event_type == IBV_EVENT_QP_ACCESS_ERR) && ev.element.qp == p.a.qp)
			die("%s: event '%s' besides the completion", what,
			    ibv_event_type_str(ev.event_type));
	odd_memory_free(&m);
	pair_close(&p);
}

void case_send_sge(void)
{
	struct pair bystander;

	pair_open(&bystander);
	for (int kind = 0; kind < NO_LOCAL_WRITE; kind++) {
		send_sge(kind);
		pair_works(&bystander, bad_sge_names[kind]);
	}
	pair_close(&bystander);
}

/* Posting succeeds; the error comes with the message (8.1.2.1). */
static void recv_sge(enum bad_sge kind)
{
	const char *what = bad_sge_names[kind];
	struct ibv_sge sge[2];
	struct odd_memory m;
	struct pair p;
	size_t where;
	int num;

	pair_open(&p);
	odd_memory(&m, &p.b);
	memset(m.mem, GUARD_BYTE, BUF_SIZE);
	num = make_bad_sge(sge, kind, &p.b, &m);
	require(!post_rwr(&p.b, 100, sge, num), "%s", what);
	must_recv(&p.b, 101, 256, 256);
	must_recv(&p.a, 200, 256, 256);
	/* long enough to reach the second SGE */
	sge[0] = sge_of(&p.a, 0, kind == SECOND_SGE ? 128 : 64);
	memset(p.a.buf, 0x11, 128);
	require(!post_wr(&p.a, IBV_WR_SEND, 1, sge, 1, IBV_SEND_SIGNALED, 0, 0), "%s", what);
	expect_wc(p.b.rcq, 100, IBV_WC_LOC_PROT_ERR, what);
	expect_flushes(p.b.rcq, 101, 1, what);
	expect_flushes(p.a.rcq, 200, 1, what);
	expect_disconnected(&p.a, what);
	expect_disconnected(&p.b, what);
	require(all_bytes(m.mem, GUARD_BYTE, BUF_SIZE, &where), "%s: byte %zu", what, where);
	odd_memory_free(&m);
	pair_close(&p);
}

void case_recv_sge(void)
{
	struct pair bystander;

	pair_open(&bystander);
	for (int kind = 0; kind < BAD_SGES; kind++) {
		recv_sge(kind);
		pair_works(&bystander, bad_sge_names[kind]);
	}
	pair_close(&bystander);
}

/* A bad sink of a READ is an error of the reader. */
static void read_sink(enum bad_sge kind)
{
	const char *what = bad_sge_names[kind];
	struct ibv_sge sge[2];
	struct odd_memory m;
	struct ibv_wc wc;
	struct pair p;
	size_t where;

	pair_open(&p);
	odd_memory(&m, &p.a);
	memset(m.mem, GUARD_BYTE, BUF_SIZE);
	make_bad_sge(sge, kind, &p.a, &m);
	must_recv(&p.a, 200, 256, 256);
	require(!post_wr(&p.a, IBV_WR_RDMA_READ, 1, sge, 1, IBV_SEND_SIGNALED,
			 (uintptr_t)p.b.buf, p.b.mr->rkey), "%s", what);
	wc = wait_wc(p.a.scq, what);
	require(wc.wr_id == 1 && (wc.status == IBV_WC_LOC_PROT_ERR ||
				  (wc.status == IBV_WC_LOC_ACCESS_ERR && !on_srnic())),
		"%s: %s", what, ibv_wc_status_str(wc.status));
	expect_no_wc(p.a.scq, 50, what);
	expect_flushes(p.a.rcq, 200, 1, what);
	expect_disconnected(&p.a, what);
	expect_disconnected(&p.b, what);
	require(all_bytes(m.mem, GUARD_BYTE, BUF_SIZE, &where), "%s: byte %zu", what, where);
	odd_memory_free(&m);
	pair_close(&p);
}

void case_read_sink(void)
{
	struct pair bystander;

	pair_open(&bystander);
	for (int kind = 0; kind < BAD_SGES; kind++) {
		if (kind == SECOND_SGE)
			continue;	/* an iWARP READ has one SGE */
		read_sink(kind);
		pair_works(&bystander, bad_sge_names[kind]);
	}
	pair_close(&bystander);
}

/* The lengths of an SGL add up to 2^32 - 1 at most (8.1.3.2). */
void case_too_long(void)
{
	struct ibv_sge sge[3];
	struct ibv_wc wc;
	struct pair p;
	int err;

	pair_open(&p);
	for (int i = 0; i < 3; i++) {
		sge[i] = sge_of(&p.a, 0, 0x7fffffff);
	}
	/* modulo 2^32 these make 1 + 64: a 32-bit sum would look harmless */
	sge[2].length = 67;
	err = post_wr(&p.a, IBV_WR_SEND, 1, sge, 3, IBV_SEND_SIGNALED, 0, 0);
	require(err == EINVAL || !on_srnic(), "%s", strerror(err));
	if (!err) {
		wc = wait_wc(p.a.scq, "a message of 2^32 + 65 bytes");
		require(wc.status == IBV_WC_LOC_LEN_ERR || wc.status == IBV_WC_LOC_PROT_ERR,
			"%s", ibv_wc_status_str(wc.status));
		expect_disconnected(&p.a, "too long");
		expect_disconnected(&p.b, "too long");
		pair_close(&p);
		pair_open(&p);
	}

	/* one byte of inline data too many is refused */
	sge[0] = sge_of(&p.a, 0, p.a.cap.max_inline_data);
	sge[1] = sge_of(&p.a, 0, 1);
	must_recv(&p.b, 2, 0, 4096);
	require(!post_wr(&p.a, IBV_WR_SEND, 2, sge, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE, 0, 0),
		"%u bytes", p.a.cap.max_inline_data);
	expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, "inline data");
	expect_wc(p.b.rcq, 2, IBV_WC_SUCCESS, "inline data");
	require(post_wr(&p.a, IBV_WR_SEND, 3, sge, 2, IBV_SEND_SIGNALED | IBV_SEND_INLINE, 0, 0),
		"%u + 1 bytes", p.a.cap.max_inline_data);
	/* inline data of a READ makes no sense */
	sge[0] = sge_of(&p.a, 0, 8);
	require(post_wr(&p.a, IBV_WR_RDMA_READ, 4, sge, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE,
			(uintptr_t)p.b.buf, p.b.mr->rkey), "an inline READ");
	expect_no_wc(p.a.scq, 50, "refused work requests");
	pair_works(&p, "after too long ones");
	pair_close(&p);
}

/* A receive of the exact length succeeds; one byte less is an error of both ends (8.1.2.1). */
void case_recv_short(void)
{
	struct pair p, bystander;
	struct ibv_sge sge;
	size_t where;

	pair_open(&bystander);
	pair_open(&p);
	must_recv(&p.b, 100, 0, 5000);
	must_recv(&p.b, 101, 8192, 4999);
	must_recv(&p.b, 102, 16384, 5000);
	must_recv(&p.a, 200, 0, 64);
	sge = sge_of(&p.a, 100, 5000);
	require(!post_wr(&p.a, IBV_WR_SEND, 1, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
	require(!post_wr(&p.a, IBV_WR_SEND, 2, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
	require(expect_wc(p.b.rcq, 100, IBV_WC_SUCCESS, "exact length").byte_len == 5000,
		"exact length");
	expect_wc(p.b.rcq, 101, IBV_WC_LOC_LEN_ERR, "a byte too many");
	expect_flushes(p.b.rcq, 102, 1, "a byte too many");
	expect_flushes(p.a.rcq, 200, 1, "a byte too many");
	expect_disconnected(&p.a, "a byte too many");
	expect_disconnected(&p.b, "a byte too many");
	require(all_bytes(p.b.buf + 8192 + 4999, GUARD_BYTE, 64, &where), "byte %zu", where);
	pair_works(&bystander, "after a byte too many");
	pair_close(&p);
	pair_close(&bystander);
}

/*
 * Sends may be posted in Idle but must not be processed there (6.2.1): they are sent in order
 * once the QP is connected. Another device may refuse them, srnic does not.
 */
void case_idle(void)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	int posted = 0, err;
	struct ibv_sge sge;
	struct pair p;

	pair_prepare(&p, &cap);
	sge = sge_of(&p.a, 0, 64);
	for (int i = 0; i < 4; i++) {
		err = post_wr(&p.a, IBV_WR_RDMA_WRITE, i, &sge, 0, IBV_SEND_SIGNALED, 0, 1);
		if (!err)
			posted++;
		must_recv(&p.a, 200 + i, 0, 64);
	}
	require(posted == 4 || (!posted && !on_srnic()), "%d", posted);
	expect_no_wc(p.a.scq, 100, "a send in Idle");
	expect_no_wc(p.a.rcq, 100, "a receive in Idle");
	pair_connect(&p);
	for (int i = 0; i < posted; i++)
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "sends posted in Idle");
	expect_no_wc(p.a.scq, 50, "sends posted in Idle");
	rdma_disconnect(p.a.id);
	expect_flushes(p.a.rcq, 200, 4, "receives posted in Idle");
	pair_close(&p);

	/* a QP that goes to Error without having been connected flushes all WRs */
	pair_prepare(&p, &cap);
	for (int i = 0; i < 4; i++)
		must_recv(&p.a, 200 + i, 0, 64);
	err = ibv_modify_qp(p.a.qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR },
			    IBV_QP_STATE);
	require(!err, "Idle to Error: %s", strerror(err));
	expect_flushes(p.a.rcq, 200, 4, "Idle to Error");
	p.a.disconnected = true;
	pair_close(&p);
}

/* In Error a posted WR is flushed, once (6.2.4). Another device may refuse it, srnic does not. */
void case_error_state(void)
{
	struct ibv_sge sge;
	struct pair p;
	int err;

	pair_open(&p);
	must_recv(&p.a, 200, 0, 64);
	must_recv(&p.b, 100, 0, 64);
	err = ibv_modify_qp(p.a.qp, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR },
			    IBV_QP_STATE);
	require(!err, "RTS to Error: %s", strerror(err));
	expect_flushes(p.a.rcq, 200, 1, "RTS to Error");
	expect_flushes(p.b.rcq, 100, 1, "RTS to Error, the peer");
	expect_disconnected(&p.a, "RTS to Error");
	expect_disconnected(&p.b, "RTS to Error, the peer");

	sge = sge_of(&p.a, 0, 64);
	for (int i = 0; i < 40; i++) {	/* more than slots: each polled flush frees one */
		err = post_wr(&p.a, IBV_WR_SEND, i, &sge, 1, 0, 0, 0);
		require(!err || !on_srnic(), "a send in Error: %s", strerror(err));
		if (!err)
			expect_wc(p.a.scq, i, IBV_WC_WR_FLUSH_ERR, "a send in Error");
		err = post_rwr(&p.a, 300 + i, &sge, 1);
		require(!err || !on_srnic(), "a receive in Error: %s", strerror(err));
		if (!err)
			expect_wc(p.a.rcq, 300 + i, IBV_WC_WR_FLUSH_ERR, "a receive in Error");
	}
	expect_no_wc(p.a.scq, 50, "sends in Error");
	expect_no_wc(p.a.rcq, 50, "receives in Error");
	pair_close(&p);
}
