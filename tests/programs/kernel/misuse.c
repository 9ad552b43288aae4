// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Wrong uses: each case breaks one rule on a connection of its own. The completion (or event)
 * reports the error, and no octet has moved.
 */

#include <linux/bottom_half.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include "selftest.h"

#define ALL_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE)
#define LEN	6000
#define CANARY	0xc3

/* Statuses of the RDMAC verbs, Figure 36, as srnic's vendor_err numbers them */
enum {
	FLUSHED = 1, REMOTE_TERMINATION = 4, INVALID_STAG = 5, BOUNDS = 6, ACCESS = 7,
	INVALID_PD = 8, INVALIDATE = 10, NOT_INVALID = 13, FR_LENGTH = 18, FR_ACCESS = 19,
	INVALID_VA = 21,
};

/* The objects of a case; set up before it, undone after it */
struct st_case {
	struct st_pair *p;
	struct st_end *cli, *srv;
	struct st_buf cb, sb;
	struct ib_mr *cm, *sm;		/* regions of these, not registered yet */
	struct st_where elsewhere;
	struct st_pair *other;		/* another connection, with PDs of its own */
	struct ib_mr *fm;		/* a region of @other */
	struct st_op op, recv;
};

/* Another connection's region, at the client or the server */
static int foreign(struct st_case *c, bool at_client, bool valid)
{
	static const struct st_opt opt = { .poll = IB_POLL_SOFTIRQ };
	struct sockaddr_in *addr = (struct sockaddr_in *)&c->elsewhere.addr;
	struct st_end *e;

	/* the port is at the same place in an IPv6 address */
	c->elsewhere = *c->p->where;
	addr->sin_port = htons(ntohs(addr->sin_port) + 1);
	c->other = kzalloc(sizeof(*c->other), GFP_KERNEL);
	if (!c->other)
		return -ENOMEM;
	st_try(st_pair_open(c->other, &c->elsewhere, &opt));
	e = at_client ? &c->other->cli : &c->other->srv;
	c->fm = ib_alloc_mr(e->pd, IB_MR_TYPE_MEM_REG, c->sb.npages);
	st_check(!IS_ERR(c->fm), "region");
	return valid ? st_register(e, c->fm, at_client ? &c->cb : &c->sb, ALL_ACCESS) : 0;
}

/* --- WRs that fail at the poster --------------------------------------------- */

struct st_local {
	const char *name;
	enum ib_wc_status status;
	u32 native;
	int (*post)(struct st_case *c);
};

static struct ib_sge whole(const struct ib_mr *mr)
{
	return (struct ib_sge){ .addr = mr->iova, .length = mr->length, .lkey = mr->lkey };
}

static int reg_valid(struct st_case *c)
{
	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	return st_reg(c->cli, &c->op, c->cm, c->cm->rkey ^ 1, ALL_ACCESS);
}

static int reg_pd(struct st_case *c)
{
	st_try(foreign(c, true, false));
	st_try(st_map(c->fm, &c->cb));
	return st_reg(c->cli, &c->op, c->fm, c->fm->rkey, ALL_ACCESS);
}

static int reg_rights(struct st_case *c)
{
	st_try(st_map(c->cm, &c->cb));
	return st_reg(c->cli, &c->op, c->cm, c->cm->rkey, IB_ACCESS_REMOTE_WRITE);
}

static int reg_length(struct st_case *c)
{
	st_try(st_map(c->cm, &c->cb));
	c->cm->length = 2 * PAGE_SIZE - c->cb.off + 1;
	return st_reg(c->cli, &c->op, c->cm, c->cm->rkey, ALL_ACCESS);
}

static int reg_no_length(struct st_case *c)
{
	st_try(st_map(c->cm, &c->cb));
	c->cm->length = 0;
	return st_reg(c->cli, &c->op, c->cm, c->cm->rkey, ALL_ACCESS);
}

static int reg_va(struct st_case *c)
{
	st_try(st_map(c->cm, &c->cb));
	c->cm->iova++;
	return st_reg(c->cli, &c->op, c->cm, c->cm->rkey, ALL_ACCESS);
}

static int reg_wrap(struct st_case *c)
{
	st_try(st_map(c->cm, &c->cb));
	c->cm->iova = ~0ULL << PAGE_SHIFT | c->cb.off;
	return st_reg(c->cli, &c->op, c->cm, c->cm->rkey, ALL_ACCESS);
}

static int inv_unknown(struct st_case *c)
{
	return st_inv(c->cli, &c->op, c->cm->rkey ^ 0x55555500, 0);
}

static int inv_zero(struct st_case *c)
{
	return st_inv(c->cli, &c->op, 0, 0);
}

static int inv_key(struct st_case *c)
{
	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	return st_inv(c->cli, &c->op, c->cm->rkey ^ 1, 0);
}

static int inv_pd(struct st_case *c)
{
	st_try(foreign(c, true, true));
	return st_inv(c->cli, &c->op, c->fm->rkey, 0);
}

static int send_whole(struct st_case *c, struct ib_sge sge)
{
	struct ib_sge none[1];

	st_try(st_recv(c->srv, &c->recv, none, 0));
	return st_send(c->cli, &c->op, &sge, 1, 0);
}

static int sge_invalid(struct st_case *c)
{
	st_try(st_map(c->cm, &c->cb));
	return send_whole(c, whole(c->cm));
}

static int sge_invalidated(struct st_case *c)
{
	struct st_op inv;

	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	st_try(st_inv(c->cli, &inv, c->cm->rkey, 0));
	st_try(st_wait_ok(c->cli, &inv));
	return send_whole(c, whole(c->cm));
}

static int sge_key(struct st_case *c)
{
	struct ib_sge sge;

	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	sge = whole(c->cm);
	sge.lkey ^= 1;
	return send_whole(c, sge);
}

static int sge_old_key(struct st_case *c)
{
	struct ib_sge sge;
	struct st_op inv;

	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	sge = whole(c->cm);
	st_try(st_inv(c->cli, &inv, c->cm->rkey, 0));
	st_try(st_wait_ok(c->cli, &inv));
	ib_update_fast_reg_key(c->cm, c->cm->rkey + 1);
	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	return send_whole(c, sge);
}

static int sge_pd(struct st_case *c)
{
	st_try(foreign(c, true, true));
	return send_whole(c, whole(c->fm));
}

static int sge_bounds(struct st_case *c)
{
	struct ib_sge sge;

	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	/* in one segment, so that no part of it is sent */
	sge = whole(c->cm);
	sge.addr += LEN - 1;
	sge.length = 2;
	return send_whole(c, sge);
}

static int sink_zero(struct st_case *c)
{
	struct ib_sge sge;

	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	sge = (struct ib_sge){ .addr = sg_dma_address(c->cb.sg), .length = 8 };
	return st_rdma(c->cli, &c->op, IB_WR_RDMA_READ, &sge, 1, c->sm->iova, c->sm->rkey, 0);
}

static int sink_rights(struct st_case *c)
{
	struct ib_sge sge;

	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	st_try(st_register(c->cli, c->cm, &c->cb, 0));
	sge = whole(c->cm);
	return st_rdma(c->cli, &c->op, IB_WR_RDMA_READ, &sge, 1, c->sm->iova, c->sm->rkey, 0);
}

/*
 * Its owner invalidates the sink while a Read is under way: the response finds it Invalid (MR-39)
 */
static int sink_unfenced(struct st_case *c)
{
	struct ib_sge sge;
	struct st_op inv;
	int err;

	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	sge = whole(c->cm);
	/* on one host the response comes in a softirq of this CPU */
	local_bh_disable();
	err = st_rdma(c->cli, &c->op, IB_WR_RDMA_READ, &sge, 1, c->sm->iova, c->sm->rkey, 0);
	if (!err)
		err = st_inv(c->cli, &inv, c->cm->rkey, 0);
	local_bh_enable();
	st_try(err);
	/* must not complete before the Read */
	st_try(st_wait(c->cli, &inv));
	st_check(c->op.done && c->op.order < inv.order, "order");
	return 0;
}

static const struct st_local locals[] = {
	{ "REG_MR of a Valid region", IB_WC_MW_BIND_ERR, NOT_INVALID, reg_valid },
	{ "REG_MR of another PD's", IB_WC_LOC_PROT_ERR, INVALID_PD, reg_pd },
	{ "REG_MR, remote without local write", IB_WC_MW_BIND_ERR, FR_ACCESS, reg_rights },
	{ "REG_MR, longer than its list", IB_WC_MW_BIND_ERR, FR_LENGTH, reg_length },
	{ "REG_MR of nothing", IB_WC_MW_BIND_ERR, FR_LENGTH, reg_no_length },
	{ "REG_MR, TO does not fit the FBO", IB_WC_MW_BIND_ERR, INVALID_VA, reg_va },
	{ "REG_MR, TOs wrap", IB_WC_MW_BIND_ERR, INVALID_VA, reg_wrap },
	{ "LOCAL_INV of nothing", IB_WC_LOC_PROT_ERR, INVALID_STAG, inv_unknown },
	{ "LOCAL_INV of STag 0", IB_WC_LOC_PROT_ERR, INVALID_STAG, inv_zero },
	{ "LOCAL_INV, wrong key", IB_WC_LOC_PROT_ERR, INVALID_STAG, inv_key },
	{ "LOCAL_INV of another PD's", IB_WC_LOC_PROT_ERR, INVALID_PD, inv_pd },
	{ "SGE not registered yet", IB_WC_LOC_PROT_ERR, INVALID_STAG, sge_invalid },
	{ "SGE invalidated", IB_WC_LOC_PROT_ERR, INVALID_STAG, sge_invalidated },
	{ "SGE, wrong key", IB_WC_LOC_PROT_ERR, INVALID_STAG, sge_key },
	{ "SGE, last key", IB_WC_LOC_PROT_ERR, INVALID_STAG, sge_old_key },
	{ "SGE of another PD", IB_WC_LOC_PROT_ERR, INVALID_PD, sge_pd },
	{ "SGE out of bounds", IB_WC_LOC_PROT_ERR, BOUNDS, sge_bounds },
	{ "Read into STag 0", IB_WC_LOC_PROT_ERR, INVALID_STAG, sink_zero },
	{ "Read into a read-only region", IB_WC_LOC_PROT_ERR, ACCESS, sink_rights },
	{ "Read, sink invalidated meanwhile", IB_WC_LOC_PROT_ERR, INVALID_STAG, sink_unfenced },
};

/* --- WRs that the peer refuses --------------------------------------------- */

struct st_remote {
	const char *name;
	bool read;	/* a Read, whose WC reports it; else an event at the server */
	bool inv;	/* a Send with Invalidate, whose receive reports it */
	u32 native;	/* of the receive, with @inv */
	int (*post)(struct st_case *c);
};

static int tagged(struct st_case *c, bool read, u64 to, u32 rkey)
{
	struct ib_sge sge;

	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	sge = whole(c->cm);
	st_fill(c->cb.v, LEN, 9);
	return st_rdma(c->cli, &c->op, read ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE, &sge, 1,
		       to, rkey, 0);
}

static int write_key(struct st_case *c)
{
	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	return tagged(c, false, c->sm->iova, c->sm->rkey ^ 1);
}

static int write_revoked(struct st_case *c)
{
	struct st_op inv;

	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	st_try(st_inv(c->srv, &inv, c->sm->rkey, 0));
	st_try(st_wait_ok(c->srv, &inv));
	return tagged(c, false, c->sm->iova, c->sm->rkey);
}

/* The client has invalidated the region itself, and writes to it all the same (MR-36) */
static int write_given_up(struct st_case *c)
{
	struct ib_sge none[1];
	struct st_op send;

	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	st_try(st_recv(c->srv, &c->recv, none, 0));
	st_try(st_send_inv(c->cli, &send, none, 0, c->sm->rkey));
	return tagged(c, false, c->sm->iova, c->sm->rkey);
}

static int write_pd(struct st_case *c)
{
	st_try(foreign(c, false, true));
	return tagged(c, false, c->fm->iova, c->fm->rkey);
}

static int write_rights(struct st_case *c)
{
	st_try(st_register(c->srv, c->sm, &c->sb, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ));
	return tagged(c, false, c->sm->iova, c->sm->rkey);
}

static int write_bounds(struct st_case *c)
{
	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	return tagged(c, false, c->sm->iova - 1, c->sm->rkey);
}

/* STag 0 is for local use by its owner only (MM-09) */
static int write_dma_lkey(struct st_case *c)
{
	struct ib_sge sge;

	st_try(st_register(c->cli, c->cm, &c->cb, ALL_ACCESS));
	sge = whole(c->cm);
	return st_rdma(c->cli, &c->op, IB_WR_RDMA_WRITE, &sge, 1, sg_dma_address(c->sb.sg),
		       c->srv->pd->local_dma_lkey ?: 0x100, 0);
}

static int read_key(struct st_case *c)
{
	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	return tagged(c, true, c->sm->iova, c->sm->rkey ^ 1);
}

static int read_rights(struct st_case *c)
{
	st_try(st_register(c->srv, c->sm, &c->sb, IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE));
	return tagged(c, true, c->sm->iova, c->sm->rkey);
}

static int read_pd(struct st_case *c)
{
	st_try(foreign(c, false, true));
	return tagged(c, true, c->fm->iova, c->fm->rkey);
}

static int read_bounds(struct st_case *c)
{
	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	return tagged(c, true, c->sm->iova + 1, c->sm->rkey);
}

static int send_inv(struct st_case *c, u32 stag)
{
	struct ib_sge none[1];

	st_try(st_recv(c->srv, &c->recv, none, 0));
	return st_send_inv(c->cli, &c->op, none, 0, stag);
}

static int sinv_unknown(struct st_case *c)
{
	return send_inv(c, c->sm->rkey ^ 0x55555500);
}

static int sinv_zero(struct st_case *c)
{
	return send_inv(c, 0);
}

static int sinv_key(struct st_case *c)
{
	st_try(st_register(c->srv, c->sm, &c->sb, ALL_ACCESS));
	return send_inv(c, c->sm->rkey ^ 1);
}

static int sinv_local(struct st_case *c)
{
	st_try(st_register(c->srv, c->sm, &c->sb, IB_ACCESS_LOCAL_WRITE));
	return send_inv(c, c->sm->rkey);
}

static int sinv_pd(struct st_case *c)
{
	st_try(foreign(c, false, true));
	return send_inv(c, c->fm->rkey);
}

static const struct st_remote remotes[] = {
	{ "Write, wrong key", .post = write_key },
	{ "Write, revoked", .post = write_revoked },
	{ "Write, revoked by the writer", .post = write_given_up },
	{ "Write, another PD's", .post = write_pd },
	{ "Write, no right", .post = write_rights },
	{ "Write, out of bounds", .post = write_bounds },
	{ "Write to STag 0", .post = write_dma_lkey },
	{ "Read, wrong key", true, .post = read_key },
	{ "Read, no right", true, .post = read_rights },
	{ "Read, another PD's", true, .post = read_pd },
	{ "Read, out of bounds", true, .post = read_bounds },
	{ "Send with Invalidate of nothing", false, true, INVALID_STAG, sinv_unknown },
	{ "Send with Invalidate of STag 0", false, true, INVALID_STAG, sinv_zero },
	{ "Send with Invalidate, wrong key", false, true, INVALID_STAG, sinv_key },
	{ "Send with Invalidate, local region", false, true, INVALIDATE, sinv_local },
	{ "Send with Invalidate, another PD's", false, true, INVALIDATE, sinv_pd },
};

/* --- running the cases ----------------------------------------------------- */

static int case_new(struct st_case *c, struct st_pair *p)
{
	int err;

	c->p = p;
	c->cli = &p->cli;
	c->srv = &p->srv;
	err = st_buf_new(&c->cb, c->cli->dev, 11, LEN);
	if (!err)
		err = st_buf_new(&c->sb, c->srv->dev, 13, LEN);
	if (err)
		return err;
	memset(c->cb.v, CANARY, LEN);
	memset(c->sb.v, CANARY, LEN);
	c->cm = ib_alloc_mr(c->cli->pd, IB_MR_TYPE_MEM_REG, c->cb.npages);
	c->sm = ib_alloc_mr(c->srv->pd, IB_MR_TYPE_MEM_REG, c->sb.npages);
	st_check(!IS_ERR(c->cm) && !IS_ERR(c->sm), "regions");
	return 0;
}

static void case_free(struct st_case *c)
{
	if (c->other)
		st_pair_hang_up(c->other);
	if (!IS_ERR_OR_NULL(c->fm))
		ib_dereg_mr(c->fm);
	if (!IS_ERR_OR_NULL(c->cm))
		ib_dereg_mr(c->cm);
	if (!IS_ERR_OR_NULL(c->sm))
		ib_dereg_mr(c->sm);
	if (c->other)
		st_pair_close(c->other);
	kfree(c->other);
	st_buf_free(&c->cb);
	st_buf_free(&c->sb);
}

/* No octet has moved in either direction */
static int untouched(struct st_case *c)
{
	st_check(st_is_value(c->sb.v, LEN, CANARY), "the server's memory has changed");
	st_check(st_is_value(c->cb.v, LEN, CANARY) || st_is(c->cb.v, LEN, 9),
		 "the client's memory has changed");
	return 0;
}

static int run_local_case(struct st_case *c, const struct st_local *l)
{
	struct ib_sge none[1];
	struct st_op late;

	st_try(l->post(c));
	st_try(st_wait(c->cli, &c->op));
	st_try(st_check_wc(c->cli, &c->op, l->status, l->native));
	/* the QP is in Error: one WC has the error, all others are flushed (ST-35) */
	st_try(st_send(c->cli, &late, none, 0, 0));
	st_try(st_wait(c->cli, &late));
	st_try(st_check_wc(c->cli, &late, IB_WC_WR_FLUSH_ERR, FLUSHED));
	/* the WC reports it, so there is no event (AE-03); the peer received a Terminate */
	if (st_native(c->cli)) {
		st_check(!c->cli->qp_events, "event %d", c->cli->qp_event);
		st_try(st_wait_event(c->srv));
		st_check(c->srv->qp_event == IB_EVENT_QP_FATAL, "event %d", c->srv->qp_event);
	}
	return untouched(c);
}

static int run_remote_case(struct st_case *c, const struct st_remote *r)
{
	struct ib_sge none[1];
	struct st_op late;

	st_try(r->post(c));
	if (r->read) {
		st_try(st_wait(c->cli, &c->op));
		st_try(st_check_wc(c->cli, &c->op, IB_WC_REM_ACCESS_ERR, REMOTE_TERMINATION));
	}
	if (r->inv) {
		st_try(st_wait(c->srv, &c->recv));
		st_try(st_check_wc(c->srv, &c->recv, r->native == INVALIDATE ?
				   IB_WC_REM_INV_REQ_ERR : IB_WC_LOC_PROT_ERR, r->native));
	} else if (st_native(c->srv)) {
		st_try(st_wait_event(c->srv));
		st_check(c->srv->qp_event == IB_EVENT_QP_ACCESS_ERR, "event %d", c->srv->qp_event);
	}
	st_try(st_wait_flag(c->cli, &c->cli->disconnected));
	if (st_native(c->cli) && !r->read) {
		st_try(st_wait_event(c->cli));
		st_check(c->cli->qp_event == IB_EVENT_QP_FATAL, "event %d", c->cli->qp_event);
	}
	ib_drain_qp(c->cli->qp);
	st_try(st_send(c->cli, &late, none, 0, 0));
	st_try(st_wait(c->cli, &late));
	st_try(st_check_wc(c->cli, &late, IB_WC_WR_FLUSH_ERR, FLUSHED));
	return untouched(c);
}

/* On a connection of its own */
static int one_case(const struct st_where *where, const struct st_local *l,
		    const struct st_remote *r)
{
	static const struct st_opt opt = { .poll = IB_POLL_SOFTIRQ };
	struct st_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	struct st_case *c = kzalloc(sizeof(*c), GFP_KERNEL);
	int err = -ENOMEM;

	if (!p || !c)
		goto free;
	err = st_pair_open(p, where, &opt);
	if (!err)
		err = case_new(c, p);
	if (!err)
		err = l ? run_local_case(c, l) : run_remote_case(c, r);
	st_pair_hang_up(p);
	case_free(c);
	st_pair_close(p);
	if (err)
		st_log("case: %s\n", l ? l->name : r->name);
free:
	kfree(c);
	kfree(p);
	return err;
}

static int test_local(const struct st_where *where)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(locals); i++)
		st_try(one_case(where, &locals[i], NULL));
	return 0;
}

static int test_remote(const struct st_where *where)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(remotes); i++)
		st_try(one_case(where, NULL, &remotes[i]));
	return 0;
}

const struct st_test st_misuse_tests[] = {
	{ "local", "WRs that fail where they are posted: status and vendor_err", test_local },
	{ "remote", "what the peer may not do: event, receive, Terminate", test_remote },
	{ }
};
