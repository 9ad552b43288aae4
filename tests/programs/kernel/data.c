// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Data arrives unchanged, in each way in which a kernel consumer moves it. */

#include <rdma/rw.h>
#include "selftest.h"

#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)

/* Two buffers, one for each end */
struct bufs {
	struct st_buf cli, srv;
};

static int with_bufs(struct st_pair *p, unsigned int cli_off, unsigned int srv_off, u32 len,
		     int (*run)(struct st_pair *p, struct bufs *b))
{
	struct bufs b = { };
	int err;

	err = st_buf_new(&b.cli, p->cli.dev, cli_off, len);
	if (!err)
		err = st_buf_new(&b.srv, p->srv.dev, srv_off, len);
	if (!err)
		err = run(p, &b);
	/* no WR uses the memory any more */
	st_pair_hang_up(p);
	st_buf_free(&b.cli);
	st_buf_free(&b.srv);
	return err;
}

/* A Send of @len octets from @from into a receive at @to, both ways */
static int send_one(struct st_end *a, struct st_buf *ab, u32 from,
		    struct st_end *z, struct st_buf *zb, u32 to, u32 len, u32 seed)
{
	struct ib_sge s[ST_SGE], r[ST_SGE];
	struct st_op send, recv;
	int ns, nr;

	ns = st_sges(ab, s, ST_SGE, from, len);
	nr = st_sges(zb, r, ST_SGE, to, len);
	st_check(ns >= 0 && nr >= 0, "%d, %d SGEs", ns, nr);
	st_fill(ab->v + from, len, seed);
	memset(zb->v, 0x5a, zb->len);
	st_try(st_recv(z, &recv, r, nr));
	st_try(st_send(a, &send, s, ns, seed & 1 ? IB_SEND_SOLICITED : 0));
	st_try(st_wait_ok(z, &recv));
	st_try(st_wait_ok(a, &send));
	st_check(recv.wc.opcode == IB_WC_RECV && send.wc.opcode == IB_WC_SEND,
		 "opcodes %d, %d", recv.wc.opcode, send.wc.opcode);
	st_check(recv.wc.byte_len == len, "byte_len %u, not %u", recv.wc.byte_len, len);
	st_check(recv.wc.qp == z->qp && !(recv.wc.wc_flags & IB_WC_WITH_INVALIDATE), "flags");
	st_check(st_is(zb->v + to, len, seed), "seed %u, length %u", seed, len);
	st_check(st_is_value(zb->v, to, 0x5a) &&
		 st_is_value(zb->v + to + len, zb->len - to - len, 0x5a),
		 "octets beside are changed");
	return 0;
}

static int send_sizes(struct st_pair *p, struct bufs *b)
{
	static const u32 sizes[] = { 0, 1, 3, 64, 1400, 1448, 1500, 4095, 4096, 4097, 9001 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		st_try(send_one(&p->cli, &b->cli, 5, &p->srv, &b->srv, 7, sizes[i], i));
		st_try(send_one(&p->srv, &b->srv, 1, &p->cli, &b->cli, 3, sizes[i], i + 99));
	}
	return 0;
}

static int run_send(struct st_pair *p)
{
	return with_bufs(p, 1000, 77, 10000, send_sizes);
}

static int test_send(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_send);
}

/* Split @sge into as many parts as a Read may have here, some of them empty. Return: how many. */
static int cut(struct st_end *e, const struct ib_sge *sge, struct ib_sge part[ST_SGE])
{
	u32 max = min_t(u32, ST_SGE, e->dev->attrs.max_sge_rd);
	u64 at = sge->addr;
	u32 i, left = sge->length;

	for (i = 0; i < max; i++) {
		part[i] = *sge;
		part[i].addr = at;
		part[i].length = i == max - 1 ? left : left / (i + 2);
		at += part[i].length;
		left -= part[i].length;
	}
	return max;
}

/* Write to, then Read from, a region of more than 512 pages, in pieces of odd sizes */
static int big_move(struct st_pair *p, struct bufs *b, struct ib_mr *src, struct ib_mr *dst)
{
	struct ib_sge sge = { .lkey = src->lkey }, part[ST_SGE];
	struct st_op op;
	u32 at, n;

	st_try(st_register(&p->cli, src, &b->cli, ALL_ACCESS));
	st_try(st_register(&p->srv, dst, &b->srv, ALL_ACCESS));
	st_fill(b->cli.v, b->cli.len, 1);
	memset(b->srv.v, 0, b->srv.len);
	for (at = 0, n = 1; at < b->cli.len; at += n, n = n * 3 + 7) {
		n = min(n, b->cli.len - at);
		sge.addr = src->iova + at;
		sge.length = n;
		sge.lkey = src->lkey;
		st_try(st_rdma(&p->cli, &op, IB_WR_RDMA_WRITE, &sge, 1, dst->iova + at,
			       dst->rkey, 0));
		st_try(st_wait_ok(&p->cli, &op));
		st_check(op.wc.opcode == IB_WC_RDMA_WRITE, "opcode %d", op.wc.opcode);
	}
	/* a Read is answered after all earlier messages (OR-07) */
	memset(b->cli.v, 0, b->cli.len);
	for (at = 0, n = 11; at < b->cli.len; at += n, n = n * 5 + 3) {
		n = min(n, b->cli.len - at);
		sge.addr = src->iova + at;
		sge.length = n;
		sge.lkey = src->lkey;
		st_try(st_rdma(&p->cli, &op, IB_WR_RDMA_READ, part, cut(&p->cli, &sge, part),
			       dst->iova + at, dst->rkey, 0));
		st_try(st_wait_ok(&p->cli, &op));
		st_check(op.wc.opcode == IB_WC_RDMA_READ, "opcode %d", op.wc.opcode);
		st_check(op.wc.byte_len == n || !st_native(&p->cli), "byte_len %u, not %u",
			 op.wc.byte_len, n);
	}
	st_check(st_is(b->srv.v, b->srv.len, 1), "after the Writes");
	st_check(st_is(b->cli.v, b->cli.len, 1), "after the Reads");
	return 0;
}

static int big_moves(struct st_pair *p, struct bufs *b)
{
	struct ib_mr *src, *dst;
	int err;

	src = ib_alloc_mr(p->cli.pd, IB_MR_TYPE_MEM_REG, b->cli.npages);
	if (IS_ERR(src))
		return PTR_ERR(src);
	dst = ib_alloc_mr(p->srv.pd, IB_MR_TYPE_MEM_REG, b->srv.npages);
	if (IS_ERR(dst)) {
		ib_dereg_mr(src);
		return PTR_ERR(dst);
	}
	err = big_move(p, b, src, dst);
	st_pair_hang_up(p);
	ib_dereg_mr(dst);
	ib_dereg_mr(src);
	return err;
}

/* siw takes 256 pages at most */
static u32 big_pages(const struct st_end *e)
{
	return min(520U, e->dev->attrs.max_fast_reg_page_list_len);
}

static int run_big(struct st_pair *p)
{
	u32 pages = min(big_pages(&p->cli), big_pages(&p->srv));

	return with_bufs(p, 1, 4091, pages * PAGE_SIZE - 4092, big_moves);
}

static int test_big(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_big);
}

#define RW_LEN	(300 * 1024 + 5)

/* The server moves the client's memory with rdma_rw, as NVMe-oF and iSER targets do */
static int rw_once(struct st_pair *p, struct bufs *b, struct ib_mr *mr,
		   enum dma_data_direction direction)
{
	struct st_end *e = &p->srv;
	struct rdma_rw_ctx ctx;
	struct st_op op;
	int n, err;

	st_op_init(&op);
	n = rdma_rw_ctx_init(&ctx, e->qp, 1, b->srv.sg, b->srv.npages, 0, mr->iova,
			     mr->rkey, direction);
	st_check(n > 0, "rdma_rw_ctx_init: %d", n);
	err = rdma_rw_ctx_post(&ctx, e->qp, 1, &op.cqe, NULL);
	if (!err)
		err = st_wait_ok(e, &op);
	rdma_rw_ctx_destroy(&ctx, e->qp, 1, b->srv.sg, b->srv.npages, direction);
	return err;
}

static int rw_both(struct st_pair *p, struct bufs *b, struct ib_mr *mr)
{
	struct st_op op, op2;
	struct ib_sge none[1];
	u32 i;

	st_try(st_register(&p->cli, mr, &b->cli, ALL_ACCESS));
	for (i = 0; i < 8; i++) {
		st_fill(b->cli.v, RW_LEN, 2 * i);
		memset(b->srv.v, 0, RW_LEN);
		st_try(rw_once(p, b, mr, DMA_FROM_DEVICE));
		st_check(st_is(b->srv.v, RW_LEN, 2 * i), "Read %u", i);

		st_fill(b->srv.v, RW_LEN, 2 * i + 1);
		st_try(st_recv(&p->cli, &op2, none, 0));
		st_try(rw_once(p, b, mr, DMA_TO_DEVICE));
		/* the data is placed when a later Send has arrived (OR-05) */
		st_try(st_send(&p->srv, &op, none, 0, 0));
		st_try(st_wait_ok(&p->cli, &op2));
		st_try(st_wait_ok(&p->srv, &op));
		st_check(st_is(b->cli.v, RW_LEN, 2 * i + 1), "Write %u", i);
	}
	return 0;
}

static int rw_bufs(struct st_pair *p, struct bufs *b)
{
	struct ib_mr *mr = ib_alloc_mr(p->cli.pd, IB_MR_TYPE_MEM_REG, b->cli.npages);
	int err;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	err = rw_both(p, b, mr);
	st_pair_hang_up(p);
	ib_dereg_mr(mr);
	return err;
}

static int run_rw(struct st_pair *p)
{
	return with_bufs(p, 9, 3000, RW_LEN, rw_bufs);
}

static int test_rw(const struct st_where *where)
{
	static const struct st_opt opt = { .poll = IB_POLL_WORKQUEUE, .rdma_ctxs = 16 };

	return st_with_pair(where, &opt, run_rw);
}

const struct st_test st_data_tests[] = {
	{ "send", "Sends of all sizes with the local DMA lkey", test_send },
	{ "big", "Write and Read between fast-register regions of 520 pages", test_big },
	{ "rdma_rw", "rdma_rw_ctx_*(), 300 KiB each way", test_rw },
	{ }
};
