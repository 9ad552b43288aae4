// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of fast-register STags: registration, use, and each way to invalidate them. REG_MR,
 * which refuses a Valid STag (MR-31), shows that one is Invalid.
 */

#include <linux/slab.h>
#include "selftest.h"

#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)
#define LEN	9000
#define CYCLES	600	/* more than twice the number of keys */

/* A buffer and a region at each end */
struct st_mem {
	struct st_buf cb, sb;
	struct ib_mr *cm, *sm;
};

static int mem_new(struct st_mem *m, struct st_pair *p)
{
	int err;

	err = st_buf_new(&m->cb, p->cli.dev, 123, LEN);
	if (!err)
		err = st_buf_new(&m->sb, p->srv.dev, 4001, LEN);
	if (err)
		return err;
	m->cm = ib_alloc_mr(p->cli.pd, IB_MR_TYPE_MEM_REG, m->cb.npages);
	m->sm = ib_alloc_mr(p->srv.pd, IB_MR_TYPE_MEM_REG, m->sb.npages);
	st_check(!IS_ERR(m->cm) && !IS_ERR(m->sm), "ib_alloc_mr");
	return 0;
}

static void mem_free(struct st_mem *m)
{
	if (!IS_ERR_OR_NULL(m->cm))
		ib_dereg_mr(m->cm);
	if (!IS_ERR_OR_NULL(m->sm))
		ib_dereg_mr(m->sm);
	st_buf_free(&m->cb);
	st_buf_free(&m->sb);
}

static int with_mem(struct st_pair *p, int (*run)(struct st_pair *p, struct st_mem *m))
{
	struct st_mem *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int err;

	if (!m)
		return -ENOMEM;
	err = mem_new(m, p);
	if (!err)
		err = run(p, m);
	st_pair_hang_up(p);
	mem_free(m);
	kfree(m);
	return err;
}

static void next_key(struct ib_mr *mr)
{
	ib_update_fast_reg_key(mr, mr->rkey + 1);
}

static struct ib_sge whole(const struct ib_mr *mr)
{
	return (struct ib_sge){ .addr = mr->iova, .length = mr->length, .lkey = mr->lkey };
}

/* Each key in turn: register, peer writes, local invalidate */
static int cycle_write(struct st_pair *p, struct st_mem *m)
{
	struct st_op recv, write, send, inv;
	struct ib_sge sge, none[1];
	int i;

	st_try(st_register(&p->cli, m->cm, &m->cb, IB_ACCESS_LOCAL_WRITE));
	for (i = 0; i < CYCLES; i++) {
		next_key(m->sm);
		st_try(st_register(&p->srv, m->sm, &m->sb,
				   IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE));
		st_fill(m->cb.v, LEN, i);
		sge = whole(m->cm);
		st_try(st_recv(&p->srv, &recv, none, 0));
		st_try(st_rdma(&p->cli, &write, IB_WR_RDMA_WRITE, &sge, 1, m->sm->iova,
			       m->sm->rkey, 0));
		st_try(st_send(&p->cli, &send, none, 0, 0));
		st_try(st_wait_ok(&p->srv, &recv));
		st_try(st_wait_ok(&p->cli, &send));
		st_check(write.done && write.order < send.order, "order of completion (OR-02)");
		st_check(st_is(m->sb.v, LEN, i), "cycle %d, rkey %08x", i, m->sm->rkey);
		st_try(st_inv(&p->srv, &inv, m->sm->rkey, i & 1 ? IB_SEND_FENCE : 0));
		st_try(st_wait_ok(&p->srv, &inv));
		st_check(inv.wc.opcode == IB_WC_LOCAL_INV, "opcode %d", inv.wc.opcode);
	}
	/* an Invalid STag may be invalidated once more (MR-32) */
	st_try(st_inv(&p->srv, &inv, m->sm->rkey, 0));
	return st_wait_ok(&p->srv, &inv);
}

static int run_cycles(struct st_pair *p)
{
	return with_mem(p, cycle_write);
}

static int test_cycles(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_cycles);
}

/* The peer invalidates with its Send (OR-09): the RPC pattern */
static int cycle_send_inv(struct st_pair *p, struct st_mem *m)
{
	struct st_op recv, write, send;
	struct ib_sge sge, none[1];
	int i;

	st_try(st_register(&p->cli, m->cm, &m->cb, IB_ACCESS_LOCAL_WRITE));
	for (i = 0; i < CYCLES; i++) {
		next_key(m->sm);
		/* an error if the last invalidate was not done, and the STag still Valid */
		st_try(st_register(&p->srv, m->sm, &m->sb, ALL_ACCESS));
		st_fill(m->cb.v, LEN, i);
		sge = whole(m->cm);
		st_try(st_recv(&p->srv, &recv, none, 0));
		st_try(st_rdma(&p->cli, &write, IB_WR_RDMA_WRITE, &sge, 1, m->sm->iova,
			       m->sm->rkey, 0));
		st_try(st_send_inv(&p->cli, &send, none, 0, m->sm->rkey));
		st_try(st_wait_ok(&p->srv, &recv));
		st_check(recv.wc.wc_flags & IB_WC_WITH_INVALIDATE, "flags %x", recv.wc.wc_flags);
		st_check(recv.wc.ex.invalidate_rkey == m->sm->rkey, "rkey %08x, not %08x",
			 recv.wc.ex.invalidate_rkey, m->sm->rkey);
		st_check(st_is(m->sb.v, LEN, i), "cycle %d", i);
		st_try(st_wait_ok(&p->cli, &send));
	}
	return 0;
}

static int run_send_inv(struct st_pair *p)
{
	return with_mem(p, cycle_send_inv);
}

static int test_send_inv(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_send_inv);
}

/* The sink of a Read with Invalidate is Invalid once its WC is polled (OR-10, WR-15) */
static int cycle_read_inv(struct st_pair *p, struct st_mem *m)
{
	struct ib_sge sge;
	struct st_op op;
	int i;

	st_try(st_register(&p->srv, m->sm, &m->sb, ALL_ACCESS));
	for (i = 0; i < CYCLES; i++) {
		next_key(m->cm);
		/* some iWARP devices require a remote right of the sink (MR-15) */
		st_try(st_register(&p->cli, m->cm, &m->cb,
				   IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE));
		st_fill(m->sb.v, LEN, i);
		memset(m->cb.v, 0, LEN);
		sge = whole(m->cm);
		st_try(st_rdma(&p->cli, &op, IB_WR_RDMA_READ_WITH_INV, &sge, 1, m->sm->iova,
			       m->sm->rkey, 0));
		st_try(st_wait_ok(&p->cli, &op));
		st_check(op.wc.opcode == IB_WC_RDMA_READ, "opcode %d", op.wc.opcode);
		st_check(st_is(m->cb.v, LEN, i), "cycle %d", i);
	}
	return 0;
}

static int run_read_inv(struct st_pair *p)
{
	return with_mem(p, cycle_read_inv);
}

static int test_read_inv(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_read_inv);
}

/*
 * REG_MR, Send, LOCAL_INV in one list: each takes effect before the next (OR-11). In the RDMAC
 * verbs an unfenced invalidate may run while the Send is under way; srnic's Send no longer uses its
 * buffer then.
 */
static int chain_once(struct st_pair *p, struct st_mem *m, int i, bool fence)
{
	struct ib_sge sge, rsge[ST_SGE];
	struct st_op recv, reg, send, inv;
	struct ib_send_wr inv_wr, send_wr;
	struct ib_reg_wr reg_wr;
	int n;

	next_key(m->cm);
	st_try(st_map(m->cm, &m->cb));
	st_fill(m->cb.v, LEN, i);
	memset(m->sb.v, 0, LEN);
	st_op_init(&reg);
	st_op_init(&send);
	st_op_init(&inv);
	sge = whole(m->cm);
	inv_wr = (struct ib_send_wr){
		.wr_cqe = &inv.cqe, .opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED | (fence ? IB_SEND_FENCE : 0),
		.ex.invalidate_rkey = m->cm->rkey,
	};
	send_wr = (struct ib_send_wr){
		.next = &inv_wr, .wr_cqe = &send.cqe, .opcode = IB_WR_SEND,
		.sg_list = &sge, .num_sge = 1,
	};
	/* on REG_MR the flag means nothing (FE-03) */
	reg_wr = (struct ib_reg_wr){
		.wr = { .next = &send_wr, .wr_cqe = &reg.cqe, .opcode = IB_WR_REG_MR,
			.send_flags = i & 1 ? IB_SEND_FENCE : 0 },
		.mr = m->cm, .key = m->cm->rkey, .access = IB_ACCESS_LOCAL_WRITE,
	};
	n = st_sges(&m->sb, rsge, ST_SGE, 0, LEN);
	st_try(st_recv(&p->srv, &recv, rsge, n));
	st_try(ib_post_send(p->cli.qp, &reg_wr.wr, NULL));
	st_try(st_wait_ok(&p->cli, &inv));
	st_try(st_wait_ok(&p->srv, &recv));
	st_check(!reg.done && !send.done, "unsignaled WRs give no completion");
	st_check(st_is(m->sb.v, LEN, i), "chain %d", i);
	return 0;
}

static int chains(struct st_pair *p, struct st_mem *m)
{
	int i;

	for (i = 0; i < CYCLES; i++)
		st_try(chain_once(p, m, i, true));
	for (i = 0; st_native(&p->cli) && i < CYCLES; i++)
		st_try(chain_once(p, m, i, false));
	return 0;
}

static int run_chain(struct st_pair *p)
{
	return with_mem(p, chains);
}

static int test_chain(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_chain);
}

/*
 * FE-01: a fenced Send behind a Read sends the data that the Read brought. FE-02: a fenced
 * invalidate of a Read's sink waits for the Read. OR-02: in this order.
 */
static int fence_once(struct st_pair *p, struct st_mem *m, int i)
{
	struct ib_sge sink, part, rsge[ST_SGE];
	struct st_op recv, read, send, inv;
	int n;

	next_key(m->cm);
	st_try(st_register(&p->cli, m->cm, &m->cb,
			   IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE));
	st_fill(m->sb.v, LEN / 2, i);
	memset(m->sb.v + LEN / 2, 0, LEN / 2);
	memset(m->cb.v, 0, LEN);
	sink = whole(m->cm);
	sink.length = LEN / 2;
	part = sink;
	n = st_sges(&m->sb, rsge, ST_SGE, LEN / 2, LEN / 2);
	st_try(st_recv(&p->srv, &recv, rsge, n));
	/* on a Read the flag means nothing (FE-03) */
	st_try(st_rdma(&p->cli, &read, IB_WR_RDMA_READ, &sink, 1, m->sm->iova, m->sm->rkey,
		       IB_SEND_FENCE));
	st_try(st_send(&p->cli, &send, &part, 1, IB_SEND_FENCE));
	st_try(st_inv(&p->cli, &inv, m->cm->rkey, IB_SEND_FENCE));
	st_try(st_wait_ok(&p->cli, &inv));
	st_try(st_wait_ok(&p->srv, &recv));
	st_check(read.done && send.done && read.order < send.order && send.order < inv.order,
		 "order %u, %u, %u", read.order, send.order, inv.order);
	st_check(st_is(m->sb.v + LEN / 2, LEN / 2, i), "fence %d", i);
	return 0;
}

static int fences(struct st_pair *p, struct st_mem *m)
{
	int i;

	st_try(st_register(&p->srv, m->sm, &m->sb, ALL_ACCESS));
	for (i = 0; i < CYCLES / 2; i++)
		st_try(fence_once(p, m, i));
	return 0;
}

static int run_fence(struct st_pair *p)
{
	return with_mem(p, fences);
}

static int test_fence(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_fence);
}

/* FE-04, MR-19: a Read of length 0 from any address, then fenced Writes, are a barrier */
static int read_barrier(struct st_pair *p, struct st_mem *m)
{
	struct ib_sge none = { .addr = 0x123, .lkey = 0xdead00 }, sge;
	struct st_op read, write;
	int i;

	st_try(st_register(&p->cli, m->cm, &m->cb, IB_ACCESS_LOCAL_WRITE));
	st_try(st_register(&p->srv, m->sm, &m->sb, ALL_ACCESS));
	for (i = 0; i < 50; i++) {
		sge = whole(m->cm);
		st_fill(m->cb.v, LEN, i);
		st_try(st_rdma(&p->cli, &write, IB_WR_RDMA_WRITE, &sge, 1, m->sm->iova,
			       m->sm->rkey, 0));
		st_try(st_rdma(&p->cli, &read, IB_WR_RDMA_READ, &none, i & 1, 0x4567,
			       0xbad00, 0));
		st_try(st_wait_ok(&p->cli, &read));
		st_check(write.done && write.order < read.order, "order");
		/* the Read was answered after the Write was placed (OR-07) */
		st_check(st_is(m->sb.v, LEN, i), "at once after the Read");
	}
	return 0;
}

static int run_read_barrier(struct st_pair *p)
{
	return with_mem(p, read_barrier);
}

static int test_barrier(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_read_barrier);
}

/*
 * TOs that the consumer chooses: any address with the right offset in a page (MR-08), zero-based
 * ones (MR-09), and a part of the mapping (MR-10).
 */
static int tos(struct st_pair *p, struct st_mem *m)
{
	static const struct {
		u64 iova;
		int flag;
	} rows[] = {
		{ 0xfffffffffffe0000ULL, 0 },
		{ 0, 0 },
		{ 0, IB_ZERO_BASED },
		{ BIT_ULL(40), 0 },
	};
	unsigned int i, off = m->sb.off;
	struct st_op reg, op, inv;
	struct ib_sge sge;

	st_try(st_register(&p->cli, m->cm, &m->cb, IB_ACCESS_LOCAL_WRITE));
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u64 to = rows[i].flag ? 0 : rows[i].iova + off;

		/* only srnic has the flag */
		if (rows[i].flag && !st_native(&p->srv))
			continue;
		next_key(m->sm);
		st_try(st_map(m->sm, &m->sb));
		m->sm->iova = rows[i].iova + off;
		m->sm->length = LEN - 1;
		st_try(st_reg(&p->srv, &reg, m->sm, m->sm->rkey, ALL_ACCESS | rows[i].flag));
		st_try(st_wait_ok(&p->srv, &reg));
		memset(m->sb.v, 0, LEN);
		st_fill(m->cb.v, LEN, i);
		sge = whole(m->cm);
		sge.addr += 1;
		sge.length = LEN - 2;
		st_try(st_rdma(&p->cli, &op, IB_WR_RDMA_WRITE, &sge, 1, to + 1, m->sm->rkey, 0));
		st_try(st_wait_ok(&p->cli, &op));
		/* a Send back, so that the Write has arrived */
		sge.length = 0;
		st_try(st_rdma(&p->cli, &op, IB_WR_RDMA_READ, &sge, 1, to, m->sm->rkey, 0));
		st_try(st_wait_ok(&p->cli, &op));
		st_check(!memcmp(m->sb.v + 1, m->cb.v + 1, LEN - 2), "case %u", i);
		st_check(!m->sb.v[0] && !m->sb.v[LEN - 1], "case %u, beside", i);
		st_try(st_inv(&p->srv, &inv, m->sm->rkey, 0));
		st_try(st_wait_ok(&p->srv, &inv));
	}
	return 0;
}

static int run_tos(struct st_pair *p)
{
	return with_mem(p, tos);
}

static int test_tos(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_tos);
}

/* Memory with gaps: a piece of each page, at an odd offset */
struct st_gaps {
	struct st_buf buf;
	struct scatterlist sg[5];
	struct ib_mr *mr;
	u32 piece;	/* octets */
	u8 all[7500];	/* the pieces, one after the other */
};

static int gaps_new(struct st_gaps *g, struct st_end *e, u32 piece)
{
	u32 i, pieces = sizeof(g->all) / piece;

	g->piece = piece;
	st_try(st_buf_new(&g->buf, e->dev, 0, pieces * PAGE_SIZE));
	sg_init_table(g->sg, pieces);
	for (i = 0; i < pieces; i++)
		sg_set_page(&g->sg[i], g->buf.pages[i], piece, 1 + 2 * i);
	st_check(ib_dma_map_sg(e->dev, g->sg, pieces, DMA_BIDIRECTIONAL) == pieces, "not mapped");
	g->mr = ib_alloc_mr(e->pd, IB_MR_TYPE_SG_GAPS, pieces);
	st_check(!IS_ERR(g->mr), "ib_alloc_mr: %ld", PTR_ERR(g->mr));
	return 0;
}

static void gaps_free(struct st_gaps *g)
{
	if (!IS_ERR_OR_NULL(g->mr))
		ib_dereg_mr(g->mr);
	st_buf_free(&g->buf);
}

/* The page size is ignored */
static int gaps_register(struct st_end *e, struct st_gaps *g)
{
	int n, pieces = g->buf.npages;
	struct st_op op;

	next_key(g->mr);
	n = ib_map_mr_sg(g->mr, g->sg, pieces, NULL, PAGE_SIZE);
	st_check(n == pieces, "%d of %d pieces mapped", n, pieces);
	st_check(g->mr->length == sizeof(g->all), "length %llu", (u64)g->mr->length);
	st_try(st_reg(e, &op, g->mr, g->mr->rkey, ALL_ACCESS));
	return st_wait_ok(e, &op);
}

static void gaps_put(struct st_gaps *g, u32 seed)
{
	u32 i;

	st_fill(g->all, sizeof(g->all), seed);
	memset(g->buf.v, 0x5a, g->buf.len);
	for (i = 0; i < g->buf.npages; i++)
		memcpy(g->buf.v + i * PAGE_SIZE + 1 + 2 * i, g->all + i * g->piece, g->piece);
}

/* What gaps_put() put elsewhere has arrived in the pieces, and nothing in the gaps */
static int gaps_check(struct st_gaps *g, u32 seed)
{
	u32 i;

	for (i = 0; i < g->buf.npages; i++) {
		u8 *piece = g->buf.v + i * PAGE_SIZE + 1 + 2 * i;

		memcpy(g->all + i * g->piece, piece, g->piece);
		memset(piece, 0x5a, g->piece);
	}
	st_check(st_is(g->all, sizeof(g->all), seed), "seed %u", seed);
	st_check(st_is_value(g->buf.v, g->buf.len, 0x5a), "octets beside are changed");
	return 0;
}

/* Data of @from->mr is sent, written, or read, to @to->mr; block ends of the two differ */
static int gaps_once(struct st_pair *p, struct st_gaps *c, struct st_gaps *s, u32 i)
{
	struct st_op recv, write, op, inv;
	struct ib_sge csge, ssge, none[1];

	st_try(gaps_register(&p->cli, c));
	st_try(gaps_register(&p->srv, s));
	csge = whole(c->mr);
	ssge = whole(s->mr);

	gaps_put(c, 3 * i);
	memset(s->buf.v, 0x5a, s->buf.len);
	st_try(st_recv(&p->srv, &recv, &ssge, 1));
	st_try(st_send(&p->cli, &op, &csge, 1, 0));
	st_try(st_wait_ok(&p->srv, &recv));
	st_try(st_wait_ok(&p->cli, &op));
	st_try(gaps_check(s, 3 * i));

	gaps_put(s, 3 * i + 1);
	memset(c->buf.v, 0x5a, c->buf.len);
	st_try(st_rdma(&p->cli, &op, IB_WR_RDMA_READ, &csge, 1, s->mr->iova, s->mr->rkey, 0));
	st_try(st_wait_ok(&p->cli, &op));
	st_try(gaps_check(c, 3 * i + 1));

	gaps_put(c, 3 * i + 2);
	memset(s->buf.v, 0x5a, s->buf.len);
	st_try(st_recv(&p->srv, &recv, none, 0));
	st_try(st_rdma(&p->cli, &write, IB_WR_RDMA_WRITE, &csge, 1, s->mr->iova, s->mr->rkey, 0));
	/* the peer's STag is Invalid when its receive has completed */
	st_try(st_send_inv(&p->cli, &op, none, 0, s->mr->rkey));
	st_try(st_wait_ok(&p->srv, &recv));
	st_try(st_wait_ok(&p->cli, &op));
	st_try(gaps_check(s, 3 * i + 2));
	st_try(st_inv(&p->cli, &inv, c->mr->rkey, IB_SEND_FENCE));
	return st_wait_ok(&p->cli, &inv);
}

static int run_gaps(struct st_pair *p)
{
	struct st_gaps *g;
	int i, err;

	if (!(p->cli.dev->attrs.kernel_cap_flags & IBK_SG_GAPS_REG))
		return 0;
	g = kcalloc(2, sizeof(*g), GFP_KERNEL);
	if (!g)
		return -ENOMEM;
	err = gaps_new(&g[0], &p->cli, 1500) ?: gaps_new(&g[1], &p->srv, 2500);
	for (i = 0; !err && i < CYCLES / 6; i++)
		err = gaps_once(p, &g[0], &g[1], i);
	st_pair_hang_up(p);
	gaps_free(&g[0]);
	gaps_free(&g[1]);
	kfree(g);
	return err;
}

static int test_gaps(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_gaps);
}

const struct st_test st_stag_tests[] = {
	{ "cycles", "register, be written to, invalidate, with all keys", test_cycles },
	{ "send_inv", "Send with Invalidate, register again at once", test_send_inv },
	{ "read_inv", "Read with Invalidate, register again at once", test_read_inv },
	{ "chain", "REG_MR, Send, LOCAL_INV in one list, unsignaled", test_chain },
	{ "fence", "fenced Sends and invalidates wait for Reads", test_fence },
	{ "barrier", "a Read of nothing from nowhere is a barrier", test_barrier },
	{ "tos", "tagged offsets chosen by the consumer", test_tos },
	{ "gaps", "regions of pieces of any length, at odd addresses", test_gaps },
	{ }
};
