// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two connected QPs, both in this module: a client and a server, each in the network namespace
 * given by the caller. And WRs that are posted and waited for.
 */

#include <linux/delay.h>
#include <net/net_namespace.h>
#include <rdma/srnic-abi.h>
#include "selftest.h"

/**
 * st_native - is it srnic, whose vendor_err is a status of the RDMAC verbs?
 * @e: with a device
 */
bool st_native(const struct st_end *e)
{
	return (u32)e->dev->ops.driver_id == SRNIC_DRIVER_ID;
}

/**
 * st_qp_event - handler of a QP's events
 * @ev: which
 * @context: the end
 */
void st_qp_event(struct ib_event *ev, void *context)
{
	struct st_end *e = context;

	if (!e->qp_events)
		e->qp_event = ev->event;
	/* the event is written before the count, see st_wait_event() */
	smp_store_release(&e->qp_events, e->qp_events + 1);
}

static int cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct st_end *e = id->context;
	struct st_pair *p = e->pair;

	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		/* @id is new and has the listener's context, which is the server end */
		if (p->srv.id)
			return -EBUSY;
		e->id = id;
	}
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED)
		WRITE_ONCE(e->disconnected, true);
	e->cm_status = ev->status;
	/* all writes above come before cm_event, which is waited for */
	smp_store_release(&e->cm_event, ev->event);
	return 0;
}

static int wait_cm(struct st_end *e, enum rdma_cm_event_type want)
{
	unsigned long end = jiffies + ST_WAIT;
	int got;

	/* pairs with cm_handler() */
	while ((got = smp_load_acquire(&e->cm_event)) < 0 && time_before(jiffies, end))
		usleep_range(100, 1000);
	if (got != want) {
		st_log("CM event %d (status %d), not %d\n", got, e->cm_status, want);
		return -ENOTCONN;
	}
	e->cm_event = -1;
	return 0;
}

static void qp_attr(struct st_end *e, struct ib_qp_init_attr *attr)
{
	*attr = (struct ib_qp_init_attr){
		.event_handler = st_qp_event,
		.qp_context = e,
		.send_cq = e->cq,
		.recv_cq = e->rcq,
		.srq = e->srq,
		.cap = {
			.max_send_wr = ST_DEPTH,
			.max_recv_wr = ST_DEPTH,
			.max_send_sge = ST_SGE,
			.max_recv_sge = ST_SGE,
			.max_rdma_ctxs = e->pair->opt.rdma_ctxs,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
		.port_num = 1,
	};
}

/**
 * st_qp_new - a QP of the usual kind, not known to rdma_cm
 * @e: with PD and CQs
 *
 * Return: the QP or an ERR_PTR.
 */
struct ib_qp *st_qp_new(struct st_end *e)
{
	struct ib_qp_init_attr attr;

	qp_attr(e, &attr);
	return ib_create_qp(e->pd, &attr);
}

static void srq_event(struct ib_event *ev, void *context)
{
	struct st_end *e = context;

	e->srq_event = ev->event;
	/* the event is written before the flag, see st_wait_flag() */
	smp_store_release(&e->srq_told, true);
}

static int make_srq(struct st_end *e)
{
	struct ib_srq_init_attr attr = {
		.event_handler = srq_event,
		.srq_context = e,
		.attr = { .max_wr = ST_DEPTH, .max_sge = ST_SGE },
		.srq_type = IB_SRQT_BASIC,
	};
	struct ib_srq *srq = ib_create_srq(e->pd, &attr);

	if (IS_ERR(srq))
		return PTR_ERR(srq);
	e->srq = srq;
	return 0;
}

/* PD, CQ and QP on the device that rdma_cm found */
static int end_setup(struct st_end *e)
{
	struct ib_qp_init_attr attr;
	struct ib_cq *cq;

	if (!e->dev) {
		e->dev = e->id->device;
		e->pd = ib_alloc_pd(e->dev, 0);
		if (IS_ERR(e->pd)) {
			int err = PTR_ERR(e->pd);

			e->pd = NULL;
			return err;
		}
		/* twice the room: rdma_rw posts WRs of its own, and so does draining */
		cq = ib_alloc_cq(e->dev, NULL, 8 * ST_DEPTH + 16 * e->pair->opt.rdma_ctxs,
				 0, e->pair->opt.poll);
		if (IS_ERR(cq))
			return PTR_ERR(cq);
		e->cq = cq;
		e->rcq = cq;
		if (e->pair->opt.srq && e == &e->pair->srv)
			st_try(make_srq(e));
	}
	if (e->pair->opt.no_qp)
		return 0;
	qp_attr(e, &attr);
	st_try(rdma_create_qp(e->id, e->pd, &attr));
	e->qp = e->id->qp;
	return 0;
}

static void conn_param(struct rdma_conn_param *param, struct ib_qp *qp)
{
	*param = (struct rdma_conn_param){
		.responder_resources = ST_READS,
		.initiator_depth = ST_READS,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = qp ? qp->qp_num : 0,
	};
}

static struct rdma_cm_id *new_id(struct net *net, struct st_end *e)
{
	e->cm_event = -1;
	e->disconnected = false;
	return rdma_create_id(net, cm_handler, e, RDMA_PS_TCP, IB_QPT_RC);
}

static int start_listener(struct st_pair *p)
{
	struct sockaddr *addr = (struct sockaddr *)&p->where->addr;
	struct rdma_cm_id *id = new_id(p->where->srv_net, &p->srv);

	if (IS_ERR(id))
		return PTR_ERR(id);
	p->listener = id;
	st_try(rdma_bind_addr(id, addr));
	st_try(rdma_listen(id, 4));
	return 0;
}

static int client_start(struct st_pair *p)
{
	struct sockaddr *addr = (struct sockaddr *)&p->where->addr;
	struct rdma_cm_id *id = new_id(p->where->cli_net, &p->cli);

	if (IS_ERR(id))
		return PTR_ERR(id);
	p->cli.id = id;
	st_try(rdma_resolve_addr(id, NULL, addr, 1000));
	st_try(wait_cm(&p->cli, RDMA_CM_EVENT_ADDR_RESOLVED));
	st_try(rdma_resolve_route(id, 1000));
	return wait_cm(&p->cli, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/**
 * st_pair_connect - connect
 * @p: from st_pair_open(), not connected
 * @cli: client's QP where rdma_cm is not to make it, else NULL
 * @srv: likewise; NULL if @cli is
 *
 * Return: 0 or an error; st_pair_hang_up() or st_pair_close() cleans up.
 */
int st_pair_connect(struct st_pair *p, struct ib_qp *cli, struct ib_qp *srv)
{
	struct rdma_conn_param param;
	int err;

	p->srv.cm_event = -1;
	st_try(client_start(p));
	st_try(end_setup(&p->cli));
	conn_param(&param, cli);
	st_try(rdma_connect(p->cli.id, &param));
	st_try(wait_cm(&p->srv, RDMA_CM_EVENT_CONNECT_REQUEST));
	st_try(end_setup(&p->srv));
	conn_param(&param, srv);
	rdma_lock_handler(p->srv.id);
	err = rdma_accept(p->srv.id, &param);
	rdma_unlock_handler(p->srv.id);
	st_try(err);
	st_try(wait_cm(&p->cli, RDMA_CM_EVENT_ESTABLISHED));
	return wait_cm(&p->srv, RDMA_CM_EVENT_ESTABLISHED);
}

/**
 * st_pair_open - a listener, and two ends; connected unless @opt->no_qp
 * @p: filled in
 * @where: namespaces and address
 * @opt: how
 *
 * Return: 0 or an error. st_pair_close() is to be called in any case.
 */
int st_pair_open(struct st_pair *p, const struct st_where *where, const struct st_opt *opt)
{
	memset(p, 0, sizeof(*p));
	p->where = where;
	p->opt = *opt;
	p->cli.pair = p;
	p->srv.pair = p;
	p->cli.peer = &p->srv;
	p->srv.peer = &p->cli;
	st_try(start_listener(p));
	if (opt->no_qp) {
		/* once, for the devices */
		st_try(client_start(p));
		return end_setup(&p->cli);
	}
	return st_pair_connect(p, NULL, NULL);
}

static void end_hang_up(struct st_end *e)
{
	if (!e->id)
		return;
	rdma_disconnect(e->id);
	if (e->id->qp) {
		ib_drain_qp(e->id->qp);
		rdma_destroy_qp(e->id);
		e->qp = NULL;
	}
	rdma_destroy_id(e->id);
	e->id = NULL;
}

/**
 * st_pair_hang_up - end the connection; a QP that rdma_cm made is destroyed
 * @p: in any state
 */
void st_pair_hang_up(struct st_pair *p)
{
	end_hang_up(&p->cli);
	end_hang_up(&p->srv);
}

static void end_close(struct st_end *e)
{
	if (e->srq)
		ib_destroy_srq(e->srq);
	if (e->rcq && e->rcq != e->cq)
		ib_free_cq(e->rcq);
	if (e->cq)
		ib_free_cq(e->cq);
	if (e->pd)
		ib_dealloc_pd(e->pd);
}

/**
 * st_pair_close - take everything down
 * @p: in any state
 */
void st_pair_close(struct st_pair *p)
{
	st_pair_hang_up(p);
	if (p->listener)
		rdma_destroy_id(p->listener);
	end_close(&p->cli);
	end_close(&p->srv);
}

/**
 * st_with_pair - run something on a connected pair
 * @where: namespaces and address
 * @opt: how, or NULL for the usual
 * @run: returns 0 or an error
 *
 * Return: what @run did, or the error of connecting.
 */
int st_with_pair(const struct st_where *where, const struct st_opt *opt,
		 int (*run)(struct st_pair *p))
{
	/* draining a CQ that is polled directly takes the core a tenth of a second */
	static const struct st_opt usual = { .poll = IB_POLL_SOFTIRQ };
	struct st_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return -ENOMEM;
	err = st_pair_open(p, where, opt ?: &usual);
	if (!err)
		err = run(p);
	st_pair_close(p);
	kfree(p);
	return err;
}

static void op_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct st_op *op = container_of(wc->wr_cqe, struct st_op, cqe);
	struct st_end *e = wc->qp->qp_context;

	op->wc = *wc;
	op->order = atomic_inc_return(&e->pair->order);
	/* the completion is written before the flag */
	smp_store_release(&op->done, true);
}

/**
 * st_op_init - set up the wr_cqe of a WR that the test makes itself
 * @op: for its wr_cqe, which is &op->cqe
 */
void st_op_init(struct st_op *op)
{
	memset(op, 0, sizeof(*op));
	op->cqe.done = op_done;
}

/**
 * st_wait_flag - process completions until a flag is set
 * @e: connected
 * @flag: set by another context or a completion
 *
 * Return: 0 or -ETIMEDOUT.
 */
int st_wait_flag(struct st_end *e, const bool *flag)
{
	unsigned long end = jiffies + ST_WAIT;
	unsigned int tries = 0;

	/* pairs with op_done() */
	while (!smp_load_acquire(flag)) {
		if (e->cq->poll_ctx == IB_POLL_DIRECT)
			ib_process_cq_direct(e->cq, 16);
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		if (tries++ < 100)
			cond_resched();
		else
			usleep_range(50, 500);
	}
	return 0;
}

/**
 * st_wait - wait for a WR
 * @e: on which it was posted
 * @op: it
 *
 * Return: 0 or -ETIMEDOUT. Its status is in op->wc.
 */
int st_wait(struct st_end *e, struct st_op *op)
{
	int err = st_wait_flag(e, &op->done);

	if (err)
		st_log("a WR does not complete; CM event %d\n", e->cm_event);
	return err;
}

/**
 * st_wait_ok - wait for a WR, which must succeed
 * @e: on which it was posted
 * @op: it
 *
 * Return: 0, -ETIMEDOUT, -EIO.
 */
int st_wait_ok(struct st_end *e, struct st_op *op)
{
	st_try(st_wait(e, op));
	st_check(op->wc.status == IB_WC_SUCCESS, "status %s, vendor_err %u",
		 ib_wc_status_msg(op->wc.status), op->wc.vendor_err);
	return 0;
}

/**
 * st_wait_event - wait for an event of the QP
 * @e: its end
 *
 * Return: 0 or -ETIMEDOUT.
 */
int st_wait_event(struct st_end *e)
{
	unsigned long end = jiffies + ST_WAIT;

	/* pairs with st_qp_event() */
	while (!smp_load_acquire(&e->qp_events)) {
		if (time_after(jiffies, end)) {
			st_log("no event of the QP\n");
			return -ETIMEDOUT;
		}
		usleep_range(100, 1000);
	}
	return 0;
}

/**
 * st_check_wc - is a WR's status as it should be?
 * @e: on which it was posted
 * @op: done
 * @status: of verbs
 * @native: of the RDMAC verbs, RDMAC verbs Figure 36, as srnic numbers it
 *
 * Another driver than srnic has only to refuse.
 *
 * Return: 0 or -EIO.
 */
int st_check_wc(struct st_end *e, const struct st_op *op, enum ib_wc_status status,
		u32 native)
{
	if (!st_native(e)) {
		st_check(!status == !op->wc.status, "status %s", ib_wc_status_msg(op->wc.status));
		return 0;
	}
	st_check(op->wc.status == status && op->wc.vendor_err == native,
		 "status %s, vendor_err %u, not %s, %u", ib_wc_status_msg(op->wc.status),
		 op->wc.vendor_err, ib_wc_status_msg(status), native);
	return 0;
}

static void local_lkey(struct st_end *e, struct ib_sge *sge, int n)
{
	for (; n > 0; n--, sge++)
		if (!sge->lkey)
			sge->lkey = e->pd->local_dma_lkey;
}

/**
 * st_recv - post a receive, to the SRQ if there is one
 * @e: end
 * @op: set up
 * @sge: where lkey is 0 it gets the local DMA lkey
 * @n: SGEs
 */
int st_recv(struct st_end *e, struct st_op *op, struct ib_sge *sge, int n)
{
	struct ib_recv_wr wr = { .wr_cqe = &op->cqe, .sg_list = sge, .num_sge = n };

	st_op_init(op);
	local_lkey(e, sge, n);
	return e->srq ? ib_post_srq_recv(e->srq, &wr, NULL) : ib_post_recv(e->qp, &wr, NULL);
}

/**
 * st_send - post a Send
 * @e: end
 * @op: set up
 * @sge: as st_recv()
 * @n: SGEs
 * @flags: IB_SEND_*, beside signaled
 */
int st_send(struct st_end *e, struct st_op *op, struct ib_sge *sge, int n, int flags)
{
	struct ib_send_wr wr = {
		.wr_cqe = &op->cqe, .sg_list = sge, .num_sge = n,
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED | flags,
	};

	st_op_init(op);
	local_lkey(e, sge, n);
	return ib_post_send(e->qp, &wr, NULL);
}

/**
 * st_send_inv - post a Send with Invalidate
 * @e: end
 * @op: set up
 * @sge: as st_recv()
 * @n: SGEs
 * @stag: to be invalidated at the peer
 */
int st_send_inv(struct st_end *e, struct st_op *op, struct ib_sge *sge, int n, u32 stag)
{
	struct ib_send_wr wr = {
		.wr_cqe = &op->cqe, .sg_list = sge, .num_sge = n,
		.opcode = IB_WR_SEND_WITH_INV, .send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = stag,
	};

	st_op_init(op);
	local_lkey(e, sge, n);
	return ib_post_send(e->qp, &wr, NULL);
}

/**
 * st_rdma - post a Write or Read
 * @e: end
 * @op: set up
 * @opcode: RDMA_WRITE, RDMA_READ, RDMA_READ_WITH_INV
 * @sge: as st_recv(), but for Reads, whose sink has an STag of its own
 * @n: SGEs
 * @to: at the peer
 * @rkey: at the peer
 * @flags: IB_SEND_*, beside signaled
 */
int st_rdma(struct st_end *e, struct st_op *op, enum ib_wr_opcode opcode,
	    struct ib_sge *sge, int n, u64 to, u32 rkey, int flags)
{
	struct ib_rdma_wr wr = {
		.wr = {
			.wr_cqe = &op->cqe, .sg_list = sge, .num_sge = n,
			.opcode = opcode, .send_flags = IB_SEND_SIGNALED | flags,
		},
		.remote_addr = to,
		.rkey = rkey,
	};

	st_op_init(op);
	if (opcode == IB_WR_RDMA_WRITE)
		local_lkey(e, sge, n);
	if (opcode == IB_WR_RDMA_READ_WITH_INV)
		wr.wr.ex.invalidate_rkey = sge->lkey;
	return ib_post_send(e->qp, &wr.wr, NULL);
}

/**
 * st_inv - post a local invalidate
 * @e: end
 * @op: set up
 * @stag: which
 * @flags: IB_SEND_*, beside signaled
 */
int st_inv(struct st_end *e, struct st_op *op, u32 stag, int flags)
{
	struct ib_send_wr wr = {
		.wr_cqe = &op->cqe, .opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED | flags,
		.ex.invalidate_rkey = stag,
	};

	st_op_init(op);
	return ib_post_send(e->qp, &wr, NULL);
}

/**
 * st_reg - post a fast-register
 * @e: end
 * @op: set up
 * @mr: mapped
 * @key: the whole new STag
 * @access: IB_ACCESS_*
 */
int st_reg(struct st_end *e, struct st_op *op, struct ib_mr *mr, u32 key, int access)
{
	struct ib_reg_wr wr = {
		.wr = {
			.wr_cqe = &op->cqe, .opcode = IB_WR_REG_MR,
			.send_flags = IB_SEND_SIGNALED,
		},
		.mr = mr,
		.key = key,
		.access = access,
	};

	st_op_init(op);
	return ib_post_send(e->qp, &wr.wr, NULL);
}
