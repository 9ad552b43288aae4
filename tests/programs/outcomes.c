// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * outcomes: the result of each work request on QPs that are connected by ibv_modify_qp(), a line
 * each, without anything that changes from run to run: the output of two devices can be compared.
 *
 *	outcomes DEVICE GID-INDEX
 *
 * Both QPs are of one process. A line is "name: " and, of the requester (>) and the responder
 * (<), each completion in its order, and the states of both QPs. Fields without a meaning are not
 * printed: lengths of errors, the GRH of a connected QP, immediate data of a requester.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common.h"
#include "pattern.h"

#define BUF	(256 * 1024)
#define TO	(BUF / 2)	/* where the responder receives, and is written to */
#define RIGHTS	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		 IBV_ACCESS_REMOTE_ATOMIC)
#define IMM	0x01020304
#define QKEY	0x11223344
#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |		\
		  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |	\
		  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

static struct ibv_context *ctx;
static union ibv_gid gid;
static int gid_index;

struct end {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

/* --- QPs --- */

static void make(struct end *e, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = 64 },
	};

	e->buf = aligned_alloc(4096, BUF);
	e->pd = ibv_alloc_pd(ctx);
	e->cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	require(e->buf && e->pd && e->cq, "%s", strerror(errno));
	memset(e->buf, 0, BUF);
	e->mr = ibv_reg_mr(e->pd, e->buf, BUF, RIGHTS);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &attr);
	require(e->mr && e->qp, "%s", strerror(errno));
}

static void end(struct end *e)
{
	require(!ibv_destroy_qp(e->qp) && !ibv_destroy_cq(e->cq) && !ibv_dereg_mr(e->mr) &&
		!ibv_dealloc_pd(e->pd), "%s", strerror(errno));
	free(e->buf);
}

static int modify(struct end *e, struct ibv_qp_attr attr, int mask)
{
	return ibv_modify_qp(e->qp, &attr, mask);
}

static struct ibv_qp_attr init_attr(int rights)
{
	return (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1,
				     .qp_access_flags = rights };
}

static struct ibv_qp_attr rtr_attr(uint32_t qpn)
{
	return (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = qpn,
		.rq_psn = 100, .max_dest_rd_atomic = 4, .min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 } },
	};
}

static struct ibv_qp_attr rts_attr(uint8_t rnr_retry)
{
	return (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 1,
				     .rnr_retry = rnr_retry, .sq_psn = 100, .max_rd_atomic = 4 };
}

static void up(struct end *e, const struct end *peer, int rights, uint8_t rnr_retry)
{
	require(!modify(e, init_attr(rights), INIT_MASK) &&
		!modify(e, rtr_attr(peer->qp->qp_num), RTR_MASK) &&
		!modify(e, rts_attr(rnr_retry), RTS_MASK), "%s", strerror(errno));
}

static enum ibv_qp_state state(const struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	require(!ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init), "%s", strerror(errno));
	return attr.qp_state;
}

static const char *state_name(enum ibv_qp_state s)
{
	static const char * const name[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return s < ARRAY_SIZE(name) ? name[s] : "?";
}

/* --- printing results --- */

static void say_flags(const struct ibv_wc *wc, bool datagram)
{
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		printf(" imm %#x", be32toh(wc->imm_data));
	if (datagram && wc->wc_flags & IBV_WC_GRH)
		printf(" grh");
}

static void say_wc(const char *who, const struct ibv_wc *wc, bool datagram)
{
	static const char * const name[] = {
		[IBV_WC_SEND] = "SEND", [IBV_WC_RDMA_WRITE] = "WRITE", [IBV_WC_RDMA_READ] = "READ",
		[IBV_WC_COMP_SWAP] = "COMP_SWAP", [IBV_WC_FETCH_ADD] = "FETCH_ADD",
		[IBV_WC_LOCAL_INV] = "LOCAL_INV", [IBV_WC_BIND_MW] = "BIND_MW",
	};

	printf(" %s%llu", who, (unsigned long long)wc->wr_id);
	if (wc->status) {
		printf(" \"%s\"", ibv_wc_status_str(wc->status));
		return;
	}
	if (!(wc->opcode & IBV_WC_RECV)) {
		printf(" %s", wc->opcode < ARRAY_SIZE(name) && name[wc->opcode] ?
		       name[wc->opcode] : "?");
		return;
	}
	printf(" %s of %u", wc->opcode == IBV_WC_RECV ? "RECV" : "RECV_RDMA_WITH_IMM",
	       wc->byte_len);
	say_flags(wc, datagram);
}

/* Print all completions that are in the CQ */
static void say_rest(const char *who, struct end *e)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(e->cq, 1, &wc) > 0)
		say_wc(who, &wc, e->qp->qp_type == IBV_QPT_UD);
}

/* Wait for @num completions, print them and those behind them */
static void say_wcs(const char *who, struct end *e, int num)
{
	uint64_t until = now_ms() + 8000;
	struct ibv_wc wc;

	while (num && now_ms() < until) {
		int n = ibv_poll_cq(e->cq, 1, &wc);

		require(n >= 0, "ibv_poll_cq");
		if (n)
			say_wc(who, &wc, e->qp->qp_type == IBV_QPT_UD);
		else
			usleep(100);
		num -= n;
	}
	if (num)
		printf(" %s%d missing", who, num);
	say_rest(who, e);
}

/* The peer enters Error a moment later, if at all */
static void settle(const struct end *a, const struct end *b)
{
	for (int i = 0; i < 30 && state(a) != state(b); i++)
		usleep(10000);
	usleep(20000);
}

static void say_states(const struct end *a, const struct end *b)
{
	printf("; %s %s\n", state_name(state(a)), state_name(state(b)));
}

/* --- single work requests --- */

/*
 * @recv: bytes of each posted receive, @recvs of them; @qp, @mr: rights at the responder; errors
 * of the request: bits flipped in both keys, an offset of the remote address
 */
struct one {
	const char *name;
	enum ibv_wr_opcode op;
	uint32_t len;
	unsigned int flags;
	uint32_t recv;
	int recvs;
	int qp, mr;
	uint32_t bad_lkey, bad_rkey;
	int64_t off;
	bool twice;		/* a second, equal one behind it */
	bool outside;		/* its address is behind the end of the region */
};

#define SIGNALED	IBV_SEND_SIGNALED

#define ONE(_name, _op, _len, _flags, _recv, _recvs, ...)				\
	{ .name = (_name), .op = (_op), .len = (_len), .flags = (_flags),		\
	  .recv = (_recv), .recvs = (_recvs), ##__VA_ARGS__ }

static const struct one ones[] = {
	ONE("send", IBV_WR_SEND, 1000, SIGNALED, 1000, 1),
	ONE("send 0", IBV_WR_SEND, 0, SIGNALED, 1000, 1),
	ONE("send 1", IBV_WR_SEND, 1, SIGNALED, 1000, 1),
	ONE("send 65536", IBV_WR_SEND, 65536, SIGNALED, 65536, 1),
	ONE("send inline", IBV_WR_SEND, 64, SIGNALED | IBV_SEND_INLINE, 64, 1),
	ONE("send unsignaled", IBV_WR_SEND, 64, 0, 64, 1),
	ONE("send two", IBV_WR_SEND, 64, SIGNALED, 64, 2, .twice = true),
	ONE("send imm", IBV_WR_SEND_WITH_IMM, 1000, SIGNALED, 1000, 1),
	ONE("send imm 0", IBV_WR_SEND_WITH_IMM, 0, SIGNALED, 0, 1),
	ONE("write", IBV_WR_RDMA_WRITE, 5000, SIGNALED, 0, 0),
	ONE("write 0", IBV_WR_RDMA_WRITE, 0, SIGNALED, 0, 0),
	ONE("write inline", IBV_WR_RDMA_WRITE, 33, SIGNALED | IBV_SEND_INLINE, 0, 0),
	ONE("write imm", IBV_WR_RDMA_WRITE_WITH_IMM, 5000, SIGNALED, 0, 1),
	ONE("write imm 0", IBV_WR_RDMA_WRITE_WITH_IMM, 0, SIGNALED, 0, 1),
	ONE("read", IBV_WR_RDMA_READ, 5000, SIGNALED, 0, 0),
	ONE("read 65536", IBV_WR_RDMA_READ, 65536, SIGNALED, 0, 0),
	ONE("read two", IBV_WR_RDMA_READ, 64, SIGNALED, 0, 0, .twice = true),
	ONE("read fence", IBV_WR_RDMA_READ, 64, SIGNALED | IBV_SEND_FENCE, 0, 0,
	  .twice = true),
	ONE("fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, SIGNALED, 0, 0),
	ONE("cmp-swap", IBV_WR_ATOMIC_CMP_AND_SWP, 8, SIGNALED, 0, 0),

	/* errors that the requester detects */
	ONE("send, bad lkey", IBV_WR_SEND, 64, SIGNALED, 64, 1, .bad_lkey = 0x5a00),
	ONE("write, bad lkey", IBV_WR_RDMA_WRITE, 64, SIGNALED, 0, 0, .bad_lkey = 0x5a00),
	ONE("read, bad lkey", IBV_WR_RDMA_READ, 64, SIGNALED, 0, 0, .bad_lkey = 0x5a00),
	ONE("send, outside", IBV_WR_SEND, 64, SIGNALED, 64, 1, .outside = true),
	ONE("send, bad lkey, and one behind it", IBV_WR_SEND, 64, SIGNALED, 64, 1,
	  .bad_lkey = 0x5a00, .twice = true),

	/* ... and those that the responder detects */
	ONE("send, too long", IBV_WR_SEND, 1000, SIGNALED, 999, 1),
	ONE("read, bad rkey", IBV_WR_RDMA_READ, 64, SIGNALED, 0, 0, .bad_rkey = 0x5a00),
	ONE("read, no right", IBV_WR_RDMA_READ, 64, SIGNALED, 0, 0,
	  .mr = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE),
	ONE("read, not on this QP", IBV_WR_RDMA_READ, 64, SIGNALED, 0, 0,
	  .qp = IBV_ACCESS_REMOTE_WRITE),
	ONE("read, outside", IBV_WR_RDMA_READ, 64, SIGNALED, 0, 0, .off = BUF),
	ONE("read, before", IBV_WR_RDMA_READ, 64, SIGNALED, 0, 0, .off = -BUF),
	ONE("write, bad rkey", IBV_WR_RDMA_WRITE, 64, SIGNALED, 0, 0, .bad_rkey = 0x5a00),
	ONE("write, no right", IBV_WR_RDMA_WRITE, 64, SIGNALED, 0, 0,
	  .mr = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
	ONE("write, outside", IBV_WR_RDMA_WRITE, 64, SIGNALED, 0, 0, .off = BUF),
	ONE("fetch-add, bad rkey", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, SIGNALED, 0, 0,
	  .bad_rkey = 0x5a00),
	ONE("fetch-add, no right", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, SIGNALED, 0, 0,
	  .mr = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ),
	ONE("fetch-add, not aligned", IBV_WR_ATOMIC_FETCH_AND_ADD, 8, SIGNALED, 0, 0,
	  .off = 4),
};

static bool is_atomic(enum ibv_wr_opcode op)
{
	return op == IBV_WR_ATOMIC_FETCH_AND_ADD || op == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static bool takes_receive(const struct one *one)
{
	return one->op == IBV_WR_SEND || one->op == IBV_WR_SEND_WITH_IMM;
}

static void post_recvs(struct end *e, int num, uint32_t len)
{
	for (int i = 0; i < num; i++) {
		struct ibv_sge sge = { (uintptr_t)e->buf + TO, len, e->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = 100 + i, .sg_list = &sge, .num_sge = 1 }, *bad;

		require(!ibv_post_recv(e->qp, &wr, &bad), "ibv_post_recv: %s", strerror(errno));
	}
}

/* Return: whether a completion is expected */
static bool post(struct end *e, const struct one *one, uint64_t wr_id, const struct end *peer,
		 uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + (one->outside ? BUF : 0), one->len,
			       e->mr->lkey ^ (wr_id == 1 ? one->bad_lkey : 0) };
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = one->op, .sg_list = &sge,
				  .num_sge = 1, .send_flags = one->flags }, *bad;
	uint64_t to = (uintptr_t)peer->buf + TO + one->off;
	int err;

	wr.imm_data = htobe32(IMM);
	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = rkey;
	if (is_atomic(one->op)) {
		wr.wr.atomic.remote_addr = to;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 7;
		wr.wr.atomic.swap = 9;
	}
	err = ibv_post_send(e->qp, &wr, &bad);
	if (err)
		printf(" %s", strerror(err));
	return !err && one->flags & SIGNALED;
}

/* Where the data was placed, if all of it was right */
static void say_data(const struct one *one, const struct end *a, const struct end *b)
{
	const uint8_t *at = one->op == IBV_WR_RDMA_READ ? a->buf : b->buf + TO;
	uint64_t there, back;
	size_t where;
	uint8_t want;

	if (is_atomic(one->op)) {
		memcpy(&there, b->buf + TO, 8);
		memcpy(&back, a->buf, 8);
		printf(" %llu, was %llu", (unsigned long long)there, (unsigned long long)back);
	} else if (!pattern_matches(at, 1, 0, one->len, &where, &want)) {
		printf(" other data");
	}
}

static void put_data(const struct one *one, struct end *a, struct end *b)
{
	static const uint64_t seven = 7;

	if (is_atomic(one->op))
		memcpy(b->buf + TO, &seven, 8);
	else
		pattern_fill(one->op == IBV_WR_RDMA_READ ? b->buf + TO : a->buf, 1, 0, one->len);
}

static bool is_wrong(const struct one *one)
{
	return one->bad_lkey || one->bad_rkey || one->off || one->outside || one->qp || one->mr ||
	       (takes_receive(one) && one->recv < one->len);
}

static void do_one(const struct one *one)
{
	struct ibv_mr *mr;
	struct end a, b;
	int wait = 0;

	printf("%s:", one->name);
	make(&a, IBV_QPT_RC);
	make(&b, IBV_QPT_RC);
	mr = ibv_reg_mr(b.pd, b.buf, BUF, one->mr ? one->mr : RIGHTS);
	require(mr, "%s", strerror(errno));
	up(&b, &a, one->qp ? one->qp : RIGHTS, 7);
	up(&a, &b, RIGHTS, 7);
	put_data(one, &a, &b);
	post_recvs(&b, one->recvs, one->recv);
	for (int i = 1; i <= 1 + one->twice; i++)
		wait += post(&a, one, i, &b, mr->rkey ^ one->bad_rkey);
	say_wcs(">", &a, wait);
	if (is_wrong(one)) {
		settle(&a, &b);
		say_rest("<", &b);
	} else {
		say_wcs("<", &b, one->recvs);
		say_data(one, &a, &b);
	}
	say_states(&a, &b);
	require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	end(&a);
	end(&b);
}

/* --- more than a single work request --- */

static const struct one plain_send =
	ONE("send", IBV_WR_SEND, 64, SIGNALED, 64, 1);

static void two_up(struct end *a, struct end *b, uint8_t rnr_retry)
{
	make(a, IBV_QPT_RC);
	make(b, IBV_QPT_RC);
	up(b, a, RIGHTS, 7);
	up(a, b, RIGHTS, rnr_retry);
}

static void no_receive(void)
{
	struct end a, b;

	printf("send, no receive, rnr_retry 1:");
	two_up(&a, &b, 1);
	post(&a, &plain_send, 1, &b, 0);
	say_wcs(">", &a, 1);
	printf("; %s\n", state_name(state(&a)));
	end(&a);
	end(&b);
}

static void late_receive(void)
{
	struct end a, b;

	printf("send, a receive 50 ms later, rnr_retry 7:");
	two_up(&a, &b, 7);
	post(&a, &plain_send, 1, &b, 0);
	usleep(50000);
	post_recvs(&b, 1, 64);
	say_wcs(">", &a, 1);
	say_wcs("<", &b, 1);
	say_states(&a, &b);
	end(&a);
	end(&b);
}

/* The peer's QP is not in INIT yet */
static void no_peer(void)
{
	struct end a, b;

	printf("send, no peer:");
	make(&a, IBV_QPT_RC);
	make(&b, IBV_QPT_RC);
	up(&a, &b, RIGHTS, 7);
	post(&a, &plain_send, 1, &b, 0);
	say_wcs(">", &a, 1);
	printf("; %s\n", state_name(state(&a)));
	end(&a);
	end(&b);
}

static void flushed(void)
{
	struct end a, b;

	printf("all in ERR:");
	two_up(&a, &b, 7);
	post_recvs(&a, 2, 64);
	require(!modify(&a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_ERR }, IBV_QP_STATE), "ERR");
	say_wcs("", &a, 2);
	post(&a, &plain_send, 1, &b, 0);
	say_wcs(">", &a, 1);
	printf("; %s\n", state_name(state(&a)));
	end(&a);
	end(&b);
}

/* The receives go with the stream, and the QP can be used again */
static void again(void)
{
	struct end a, b;

	printf("RESET and again:");
	two_up(&a, &b, 7);
	post_recvs(&a, 2, 64);
	require(!modify(&a, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, IBV_QP_STATE) &&
		!modify(&b, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, IBV_QP_STATE),
		"RESET");
	say_rest("", &a);
	up(&b, &a, RIGHTS, 7);
	up(&a, &b, RIGHTS, 7);
	post_recvs(&b, 1, 64);
	post(&a, &plain_send, 1, &b, 0);
	say_wcs(">", &a, 1);
	say_wcs("<", &b, 1);
	say_states(&a, &b);
	end(&a);
	end(&b);
}

static void try_modify(const char *name, struct end *e, struct ibv_qp_attr attr, int mask)
{
	int err = modify(e, attr, mask);

	printf("%s: %s; %s\n", name, err ? strerror(err) : "ok", state_name(state(e)));
}

/* State transitions that skip one; each leaves the QP in its state */
static void steps(void)
{
	static const struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp_attr bad;
	struct end a, b;

	make(&a, IBV_QPT_RC);
	make(&b, IBV_QPT_RC);
	try_modify("RESET to RTR", &a, rtr_attr(b.qp->qp_num), RTR_MASK);
	try_modify("RESET to RTS", &a, rts_attr(7), RTS_MASK);
	try_modify("RESET to INIT without a port", &a, init_attr(RIGHTS), INIT_MASK & ~IBV_QP_PORT);
	bad = init_attr(RIGHTS);
	bad.port_num = 2;
	try_modify("RESET to INIT, port 2", &a, bad, INIT_MASK);
	try_modify("RESET to INIT", &a, init_attr(RIGHTS), INIT_MASK);
	try_modify("INIT to RTS", &a, rts_attr(7), RTS_MASK);
	try_modify("INIT to RTR without AV", &a, rtr_attr(b.qp->qp_num), RTR_MASK & ~IBV_QP_AV);
	try_modify("INIT to RTR without QPN", &a, rtr_attr(b.qp->qp_num),
		   RTR_MASK & ~IBV_QP_DEST_QPN);
	try_modify("INIT to RTR", &a, rtr_attr(b.qp->qp_num), RTR_MASK);
	try_modify("RTR to INIT", &a, init_attr(RIGHTS), INIT_MASK);
	try_modify("RTR to RTS without PSN", &a, rts_attr(7), RTS_MASK & ~IBV_QP_SQ_PSN);
	try_modify("RTR to RTS without timeout", &a, rts_attr(7), RTS_MASK & ~IBV_QP_TIMEOUT);
	try_modify("RTR to RTS", &a, rts_attr(7), RTS_MASK);
	try_modify("RTS to RTR", &a, rtr_attr(b.qp->qp_num), RTR_MASK);
	try_modify("RTS to RESET", &a, reset, IBV_QP_STATE);
	end(&a);
	end(&b);
}

/* Fill each queue, then post one more */
static void full(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = { }, *bad_recv;
	struct ibv_sge sges[64] = { };
	struct end a, b;

	two_up(&a, &b, 7);
	printf("post a receive with 64 SGEs: ");
	rwr.sg_list = sges;
	rwr.num_sge = ARRAY_SIZE(sges);
	printf("%s\n", ibv_post_recv(a.qp, &rwr, &bad_recv) ? "refused" : "ok");
	printf("post a send with 64 SGEs: ");
	wr.sg_list = sges;
	wr.num_sge = ARRAY_SIZE(sges);
	printf("%s\n", ibv_post_send(a.qp, &wr, &bad) ? "refused" : "ok");
	end(&a);
	end(&b);
}

static void datagram(const char *name, uint32_t len, uint32_t qkey, enum ibv_wr_opcode op,
		     bool arrives)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_ah_attr where = rtr_attr(0).ah_attr;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = op, .num_sge = 1,
				  .send_flags = SIGNALED }, *bad;
	struct ibv_sge sge = { .length = len };
	struct end a, b;

	printf("%s:", name);
	make(&a, IBV_QPT_UD);
	make(&b, IBV_QPT_UD);
	for (struct end *e = &a; e; e = e == &a ? &b : NULL) {
		attr.qp_state = IBV_QPS_INIT;
		require(!modify(e, attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				IBV_QP_QKEY), "INIT");
		attr.qp_state = IBV_QPS_RTR;
		require(!modify(e, attr, IBV_QP_STATE), "RTR");
		attr.qp_state = IBV_QPS_RTS;
		require(!modify(e, attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
	}
	post_recvs(&b, 1, 1040);
	sge.addr = (uintptr_t)a.buf;
	sge.lkey = a.mr->lkey;
	wr.sg_list = &sge;
	wr.imm_data = htobe32(IMM);
	wr.wr.ud.ah = ibv_create_ah(a.pd, &where);
	wr.wr.ud.remote_qpn = b.qp->qp_num;
	wr.wr.ud.remote_qkey = qkey;
	require(wr.wr.ud.ah, "ibv_create_ah: %s", strerror(errno));
	require(!ibv_post_send(a.qp, &wr, &bad), "ibv_post_send");
	say_wcs(">", &a, 1);
	settle(&a, &b);
	say_wcs("<", &b, arrives);
	say_states(&a, &b);
	require(!ibv_destroy_ah(wr.wr.ud.ah), "ibv_destroy_ah");
	end(&a);
	end(&b);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		die("usage: outcomes DEVICE GID-INDEX");
	deadline_set(env_uint("OUTCOMES_TIMEOUT", 100), NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	ctx = device_named(argv[1]);
	require(ctx, "no device %s", argv[1]);
	gid_index = atoi(argv[2]);
	require(!ibv_query_gid(ctx, 1, gid_index, &gid), "no GID %s", argv[2]);
	for (size_t i = 0; i < ARRAY_SIZE(ones); i++)
		do_one(&ones[i]);
	no_receive();
	late_receive();
	no_peer();
	flushed();
	again();
	steps();
	full();
	datagram("datagram", 1000, QKEY, IBV_WR_SEND, true);
	datagram("datagram 0", 0, QKEY, IBV_WR_SEND, true);
	datagram("datagram imm", 1000, QKEY, IBV_WR_SEND_WITH_IMM, true);
	datagram("datagram, another Q_Key", 1000, QKEY + 1, IBV_WR_SEND, false);
	datagram("datagram, longer than the receive", 1001, QKEY, IBV_WR_SEND, false);
	return 0;
}
