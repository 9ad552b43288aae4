// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Work and completion queues: contexts, notification, draining, reuse of a QP. */

#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "selftest.h"

#define BATCH	64
#define LEN	256

/* Receives and sends that are under way at the same time */
struct st_many {
	u8 out[BATCH][LEN], in[BATCH][LEN];
	struct st_op recv[BATCH], send[BATCH];
};

static int with_many(struct st_pair *p, int (*run)(struct st_pair *p, struct st_many *m))
{
	struct st_many *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int err;

	if (!m)
		return -ENOMEM;
	err = run(p, m);
	st_pair_hang_up(p);
	kfree(m);
	return err;
}

static struct ib_sge piece(struct st_end *e, void *v)
{
	return (struct ib_sge){
		.addr = ib_dma_map_single(e->dev, v, LEN, DMA_BIDIRECTIONAL),
		.length = LEN,
		.lkey = e->pd->local_dma_lkey,
	};
}

static int post_recvs(struct st_end *e, struct st_many *m)
{
	int i;

	for (i = 0; i < BATCH; i++) {
		struct ib_sge sge = piece(e, m->in[i]);

		st_try(st_recv(e, &m->recv[i], &sge, 1));
	}
	return 0;
}

/* One list of Sends; only the last one is signaled, if @quiet */
static int post_list(struct st_end *e, struct st_many *m, u32 seed, bool quiet)
{
	struct ib_send_wr *wr = kcalloc(BATCH, sizeof(*wr), GFP_ATOMIC);
	struct ib_sge *sge = kcalloc(BATCH, sizeof(*sge), GFP_ATOMIC);
	int i, err = -ENOMEM;

	for (i = 0; wr && sge && i < BATCH; i++) {
		st_op_init(&m->send[i]);
		st_fill(m->out[i], LEN, seed + i);
		sge[i] = piece(e, m->out[i]);
		wr[i].wr_cqe = &m->send[i].cqe;
		wr[i].sg_list = &sge[i];
		wr[i].num_sge = 1;
		wr[i].opcode = IB_WR_SEND;
		wr[i].send_flags = quiet && i < BATCH - 1 ? 0 : IB_SEND_SIGNALED;
		wr[i].next = i < BATCH - 1 ? &wr[i + 1] : NULL;
	}
	if (wr && sge)
		err = ib_post_send(e->qp, wr, NULL);
	kfree(sge);
	kfree(wr);
	return err;
}

static int check_received(struct st_end *e, struct st_many *m, u32 seed)
{
	unsigned int before = 0;
	int i;

	for (i = 0; i < BATCH; i++) {
		st_try(st_wait_ok(e, &m->recv[i]));
		st_check(m->recv[i].order > before, "receive %d, order %u after %u", i,
			 m->recv[i].order, before);
		before = m->recv[i].order;
		st_check(st_is(m->in[i], LEN, seed + i), "message %d", i);
	}
	return 0;
}

/* Many rounds: slots of unsignaled WRs must be reused, too */
static int rounds(struct st_pair *p, struct st_many *m)
{
	int i;

	for (i = 0; i < 20; i++) {
		st_try(post_recvs(&p->srv, m));
		st_try(post_list(&p->cli, m, i, i & 1));
		st_try(st_wait_ok(&p->cli, &m->send[BATCH - 1]));
		st_check(m->send[0].done == !(i & 1), "signaled or not");
		st_try(check_received(&p->srv, m, i));
	}
	return 0;
}

static int run_rounds(struct st_pair *p)
{
	return with_many(p, rounds);
}

static int test_poll(const struct st_where *where)
{
	static const enum ib_poll_context contexts[] = {
		IB_POLL_DIRECT, IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE, IB_POLL_UNBOUND_WORKQUEUE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		struct st_opt opt = { .poll = contexts[i] };
		int err = st_with_pair(where, &opt, run_rounds);

		if (err) {
			st_log("poll context %u\n", contexts[i]);
			return err;
		}
	}
	return 0;
}

static DEFINE_SPINLOCK(post_lock);

/* Posting with a spinlock held and interrupts off, as many ULPs do */
static int atomically(struct st_pair *p, struct st_many *m)
{
	unsigned long flags;
	int i, err;

	for (i = 0; i < 20; i++) {
		struct ib_sge sge = piece(&p->srv, m->in[0]);
		int j;

		spin_lock_irqsave(&post_lock, flags);
		for (j = 0, err = 0; !err && j < BATCH; j++) {
			sge = piece(&p->srv, m->in[j]);
			err = st_recv(&p->srv, &m->recv[j], &sge, 1);
		}
		if (!err)
			err = post_list(&p->cli, m, i, true);
		spin_unlock_irqrestore(&post_lock, flags);
		st_try(err);
		st_try(st_wait_ok(&p->cli, &m->send[BATCH - 1]));
		st_try(check_received(&p->srv, m, i));
	}
	/* in Error a posted WR completes in the poster's context */
	ib_drain_qp(p->cli.qp);
	spin_lock_irqsave(&post_lock, flags);
	err = post_list(&p->cli, m, 0, true);
	spin_unlock_irqrestore(&post_lock, flags);
	st_try(err);
	for (i = 0; i < BATCH; i++) {
		st_try(st_wait(&p->cli, &m->send[i]));
		st_try(st_check_wc(&p->cli, &m->send[i], IB_WC_WR_FLUSH_ERR, 1));
	}
	return 0;
}

static int run_atomic(struct st_pair *p)
{
	return with_many(p, atomically);
}

static int test_atomic(const struct st_where *where)
{
	static const enum ib_poll_context contexts[] = { IB_POLL_DIRECT, IB_POLL_SOFTIRQ };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		struct st_opt opt = { .poll = contexts[i] };

		st_try(st_with_pair(where, &opt, run_atomic));
	}
	return 0;
}

/* Draining in RTS: all posted WRs complete, the receives as flushed */
static int drain_rts(struct st_pair *p, struct st_many *m)
{
	int i;

	st_try(post_recvs(&p->srv, m));
	ib_drain_rq(p->srv.qp);
	for (i = 0; i < BATCH; i++) {
		st_check(m->recv[i].done, "receive %d", i);
		st_try(st_check_wc(&p->srv, &m->recv[i], IB_WC_WR_FLUSH_ERR, 1));
	}
	ib_drain_sq(p->srv.qp);
	/* and once more, in Error */
	ib_drain_qp(p->srv.qp);

	/* the peer is in Error already, or enters it during the drain */
	st_try(post_list(&p->cli, m, 0, false));
	ib_drain_qp(p->cli.qp);
	for (i = 0; i < BATCH; i++)
		st_check(m->send[i].done, "send %d", i);
	return 0;
}

static int run_drain(struct st_pair *p)
{
	return with_many(p, drain_rts);
}

/* The peer closes: receives are flushed without a Modify QP (RDMAC verbs 6.2.5) */
static int drain_closed(struct st_pair *p, struct st_many *m)
{
	int i;

	st_try(post_recvs(&p->srv, m));
	rdma_disconnect(p->cli.id);
	st_try(st_wait_flag(&p->srv, &p->srv.disconnected));
	ib_drain_qp(p->srv.qp);
	for (i = 0; i < BATCH; i++) {
		st_check(m->recv[i].done, "receive %d", i);
		st_try(st_check_wc(&p->srv, &m->recv[i], IB_WC_WR_FLUSH_ERR, 1));
	}
	ib_drain_qp(p->cli.qp);
	return 0;
}

static int run_drain_closed(struct st_pair *p)
{
	return with_many(p, drain_closed);
}

static int test_drain(const struct st_where *where)
{
	static const enum ib_poll_context contexts[] = {
		IB_POLL_DIRECT, IB_POLL_SOFTIRQ, IB_POLL_WORKQUEUE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		struct st_opt opt = { .poll = contexts[i] };

		st_try(st_with_pair(where, &opt, run_drain));
		st_try(st_with_pair(where, &opt, run_drain_closed));
	}
	return 0;
}

/* Every WR completes once, in order, when the QP goes to Error amidst Sends */
static int flush(struct st_pair *p, struct st_many *m)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	unsigned int before = 0;
	bool flushed = false;
	int i;

	st_try(post_recvs(&p->srv, m));
	st_try(post_list(&p->cli, m, 0, false));
	st_try(ib_modify_qp(p->cli.qp, &attr, IB_QP_STATE));
	for (i = 0; i < BATCH; i++) {
		st_try(st_wait(&p->cli, &m->send[i]));
		st_check(m->send[i].order > before, "send %d", i);
		before = m->send[i].order;
		st_check(m->send[i].wc.status == IB_WC_WR_FLUSH_ERR ||
			 (!flushed && !m->send[i].wc.status), "send %d: %s", i,
			 ib_wc_status_msg(m->send[i].wc.status));
		flushed = m->send[i].wc.status;
	}
	/* a WR posted now is flushed at once, unsignaled or not */
	st_try(post_list(&p->cli, m, 0, true));
	for (i = 0; i < BATCH; i++) {
		st_try(st_wait(&p->cli, &m->send[i]));
		st_try(st_check_wc(&p->cli, &m->send[i], IB_WC_WR_FLUSH_ERR, 1));
	}
	return 0;
}

static int run_flush(struct st_pair *p)
{
	return with_many(p, flush);
}

static int test_flush(const struct st_where *where)
{
	return st_with_pair(where, NULL, run_flush);
}

/* A CQ of ib_create_cq(), armed and polled by hand */
struct st_hand {
	struct ib_cq *cq;
	struct completion comp;
	atomic_t upcalls;
};

static void hand_comp(struct ib_cq *cq, void *context)
{
	struct st_hand *h = context;

	atomic_inc(&h->upcalls);
	complete(&h->comp);
}

/* Arm, poll again, sleep: no completion may be missed (CN-11) */
static int hand_wait(struct st_hand *h, struct ib_wc *wc)
{
	for (;;) {
		int n = ib_poll_cq(h->cq, 1, wc);

		if (n)
			return n == 1 ? 0 : n;
		n = ib_req_notify_cq(h->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS);
		if (n > 0)
			continue;
		if (n < 0)
			return n;
		if (!wait_for_completion_timeout(&h->comp, ST_WAIT))
			return -ETIMEDOUT;
	}
}

static int hand_rounds(struct st_pair *p, struct st_hand *h)
{
	struct ib_recv_wr wr = { .wr_id = 0x1234567890abcdefULL };
	struct ib_sge none[1];
	struct st_op send;
	struct ib_wc wc;
	int i, before;

	for (i = 0; i < 500; i++) {
		wr.wr_id++;
		st_try(ib_post_recv(p->srv.qp, &wr, NULL));
		/* on one host the Send may have arrived when it is posted */
		if (i % 2)
			st_check(ib_req_notify_cq(h->cq, IB_CQ_NEXT_COMP) >= 0, "armed");
		st_try(st_send(&p->cli, &send, none, 0, 0));
		st_try(hand_wait(h, &wc));
		st_check(wc.wr_id == wr.wr_id && !wc.status, "wr_id, status %d", wc.status);
		st_try(st_wait_ok(&p->cli, &send));
	}
	/* an upcall may still be running */
	msleep(20);
	st_check(atomic_read(&h->upcalls) >= i / 2, "%d notifications in %d rounds",
		 atomic_read(&h->upcalls), i);
	st_check(atomic_read(&h->upcalls) <= i, "more notifications than completions");

	/* a solicited arm fires not on this Send, but on the next (CN-08) */
	while (ib_req_notify_cq(h->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0)
		;
	/* an upcall may still be running */
	msleep(20);
	reinit_completion(&h->comp);
	before = atomic_read(&h->upcalls);
	/* the arm left over from above fires once */
	st_try(ib_post_recv(p->srv.qp, &wr, NULL));
	st_try(st_send(&p->cli, &send, none, 0, 0));
	st_try(st_wait_ok(&p->cli, &send));
	st_check(wait_for_completion_timeout(&h->comp, ST_WAIT), "no notification");
	st_check(atomic_read(&h->upcalls) == before + 1, "not one notification");
	st_check(ib_poll_cq(h->cq, 1, &wc) == 1, "one completion");

	reinit_completion(&h->comp);
	before = atomic_read(&h->upcalls);
	st_check(!ib_req_notify_cq(h->cq, IB_CQ_SOLICITED | IB_CQ_REPORT_MISSED_EVENTS),
		 "the CQ is empty");
	st_try(ib_post_recv(p->srv.qp, &wr, NULL));
	st_try(ib_post_recv(p->srv.qp, &wr, NULL));
	st_try(st_send(&p->cli, &send, none, 0, 0));
	for (i = 0; i < 1000 && !ib_poll_cq(h->cq, 1, &wc); i++)
		usleep_range(100, 1000);
	st_check(i < 1000 && atomic_read(&h->upcalls) == before, "notified of what is unsolicited");
	st_try(st_wait_ok(&p->cli, &send));
	st_try(st_send(&p->cli, &send, none, 0, IB_SEND_SOLICITED));
	st_check(wait_for_completion_timeout(&h->comp, ST_WAIT), "no notification");
	st_check(ib_poll_cq(h->cq, 1, &wc) == 1, "the solicited one");
	return st_wait_ok(&p->cli, &send);
}

static struct ib_qp *hand_qp(struct st_end *e, struct st_hand *h)
{
	struct ib_qp_init_attr attr = {
		.event_handler = st_qp_event,
		.qp_context = e,
		.send_cq = e->cq,
		.recv_cq = h->cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IB_QPT_RC,
		.port_num = 1,
	};

	return ib_create_qp(e->pd, &attr);
}

/* iw_cm moves a QP that rdma_cm does not know from INIT to RTS */
static int qp_init(struct ib_qp *qp)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT, .port_num = 1,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE,
	};

	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX |
			    IB_QP_ACCESS_FLAGS);
}

/* The server's PD and CQ are made with the first connection: make one for them */
static int warm_up(struct st_pair *p)
{
	p->opt.no_qp = false;
	st_pair_hang_up(p);
	st_try(st_pair_connect(p, NULL, NULL));
	st_pair_hang_up(p);
	p->opt.no_qp = true;
	return 0;
}

/* Newer kernels let only users resize a CQ */
#ifdef HAVE_IB_RESIZE_CQ
static bool can_resize(const struct ib_device *dev) { return dev->ops.resize_cq; }
#else
static bool can_resize(const struct ib_device *dev) { return false; }
static int ib_resize_cq(struct ib_cq *cq, int cqe) { return -EOPNOTSUPP; }
#endif

/*
 * A kernel consumer's CQ grows and shrinks with completions in it, but not below their number
 * (CQ-08, CQ-10)
 */
static int hand_resize(struct st_pair *p, struct st_hand *h)
{
	struct ib_recv_wr wr = { };
	struct ib_sge none[1];
	struct st_op send;
	struct ib_wc wc;
	int i, err;

	if (!can_resize(p->srv.dev))
		return 0;
	for (i = 0; i < 8; i++) {
		wr.wr_id = i;
		st_try(ib_post_recv(p->srv.qp, &wr, NULL));
		st_try(st_send(&p->cli, &send, none, 0, 0));
		st_try(st_wait_ok(&p->cli, &send));
	}
	/* TCP has the Sends: let them arrive */
	msleep(200);
	err = ib_resize_cq(h->cq, 2);
	st_check(err, "made smaller than what is in it");
	st_try(ib_resize_cq(h->cq, 200));
	st_check(h->cq->cqe >= 200, "cqe %d", h->cq->cqe);
	st_try(ib_resize_cq(h->cq, 8));
	st_check(h->cq->cqe >= 8 && h->cq->cqe < 200, "cqe %d", h->cq->cqe);
	for (i = 0; i < 8; i++) {
		st_try(hand_wait(h, &wc));
		st_check(wc.wr_id == i && !wc.status, "completion %d: wr_id %llu", i, wc.wr_id);
	}
	return ib_resize_cq(h->cq, 64);
}

static int hand_connected(struct st_pair *p, struct st_hand *h)
{
	int err;

	p->cli.qp = st_qp_new(&p->cli);
	p->srv.qp = hand_qp(&p->srv, h);
	st_check(!IS_ERR(p->cli.qp) && !IS_ERR(p->srv.qp), "ib_create_qp");
	err = qp_init(p->cli.qp);
	if (!err)
		err = qp_init(p->srv.qp);
	if (!err)
		err = st_pair_connect(p, p->cli.qp, p->srv.qp);
	if (!err)
		err = hand_rounds(p, h);
	if (!err)
		err = hand_resize(p, h);
	st_pair_hang_up(p);
	ib_drain_qp(p->cli.qp);
	ib_destroy_qp(p->srv.qp);
	ib_destroy_qp(p->cli.qp);
	return err;
}

static int run_notify(struct st_pair *p)
{
	struct ib_cq_init_attr attr = { .cqe = 64 };
	struct st_hand h = { };
	int err;

	st_try(warm_up(p));
	init_completion(&h.comp);
	h.cq = ib_create_cq(p->srv.dev, hand_comp, NULL, &h, &attr);
	if (IS_ERR(h.cq))
		return PTR_ERR(h.cq);
	err = hand_connected(p, &h);
	ib_destroy_cq(h.cq);
	return err;
}

static int test_notify(const struct st_where *where)
{
	static const struct st_opt opt = { .poll = IB_POLL_SOFTIRQ, .no_qp = true };

	return st_with_pair(where, &opt, run_notify);
}

static int qp_reset(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };
	unsigned long end = jiffies + ST_WAIT;
	int err;

	/* the stream of the last connection may still be winding down */
	while ((err = ib_modify_qp(qp, &attr, IB_QP_STATE)) == -EBUSY && time_before(jiffies, end))
		usleep_range(100, 1000);
	return err;
}

/* The same QPs, connection after connection: Error, RESET, INIT, RTS (ST-03, QP-29) */
static int reuse(struct st_pair *p, struct st_many *m)
{
	int i;

	for (i = 0; i < 10; i++) {
		st_try(qp_init(p->cli.qp));
		st_try(qp_init(p->srv.qp));
		/* receives may be posted before */
		st_try(post_recvs(&p->srv, m));
		st_try(st_pair_connect(p, p->cli.qp, p->srv.qp));
		st_try(post_list(&p->cli, m, i, true));
		st_try(st_wait_ok(&p->cli, &m->send[BATCH - 1]));
		st_try(check_received(&p->srv, m, i));
		st_pair_hang_up(p);
		ib_drain_qp(p->cli.qp);
		ib_drain_qp(p->srv.qp);
		st_try(qp_reset(p->cli.qp));
		st_try(qp_reset(p->srv.qp));
	}
	return 0;
}

static int run_reuse(struct st_pair *p)
{
	int err;

	st_try(warm_up(p));
	p->cli.qp = st_qp_new(&p->cli);
	p->srv.qp = st_qp_new(&p->srv);
	st_check(!IS_ERR(p->cli.qp) && !IS_ERR(p->srv.qp), "ib_create_qp");
	err = with_many(p, reuse);
	st_pair_hang_up(p);
	ib_destroy_qp(p->srv.qp);
	ib_destroy_qp(p->cli.qp);
	return err;
}

static int test_reuse(const struct st_where *where)
{
	static const struct st_opt opt = { .poll = IB_POLL_SOFTIRQ, .no_qp = true };

	return st_with_pair(where, &opt, run_reuse);
}

/* A shared receive queue: its limit is reported once, when few receives are left (SR-25) */
static int shared(struct st_pair *p, struct st_many *m)
{
	struct ib_srq_attr attr = { .srq_limit = BATCH / 2 };
	struct st_end *e = &p->srv;
	int i;

	for (i = 0; i < 10; i++) {
		st_try(post_recvs(e, m));
		st_try(post_list(&p->cli, m, i, true));
		st_try(st_wait_ok(&p->cli, &m->send[BATCH - 1]));
		st_try(check_received(e, m, i));
		st_check(!e->srq_told, "event %d without a limit", e->srq_event);
	}
	st_try(post_recvs(e, m));
	st_try(ib_modify_srq(e->srq, &attr, IB_SRQ_LIMIT));
	st_try(post_list(&p->cli, m, i, true));
	st_try(check_received(e, m, i));
	st_try(st_wait_flag(e, &e->srq_told));
	st_check(e->srq_event == IB_EVENT_SRQ_LIMIT_REACHED, "event %d", e->srq_event);
	/* no second event until it is armed again */
	e->srq_told = false;
	st_try(post_recvs(e, m));
	st_try(post_list(&p->cli, m, i, true));
	st_try(check_received(e, m, i));
	msleep(50);
	st_check(!e->srq_told, "told twice");
	return 0;
}

static int run_srq(struct st_pair *p)
{
	return with_many(p, shared);
}

static int test_srq(const struct st_where *where)
{
	static const struct st_opt opt = { .poll = IB_POLL_SOFTIRQ, .srq = true };

	return st_with_pair(where, &opt, run_srq);
}

const struct st_test st_queue_tests[] = {
	{ "poll", "all poll contexts of ib_alloc_cq(), signaled and not", test_poll },
	{ "notify", "ib_req_notify_cq(): missed events, solicited; ib_resize_cq()", test_notify },
	{ "atomic", "posting with a spinlock held and interrupts off", test_atomic },
	{ "drain", "ib_drain_*() in RTS, Error, and after the peer's close", test_drain },
	{ "flush", "Error amidst Sends: each WR completes once, in order", test_flush },
	{ "srq", "a shared receive queue, and its limit", test_srq },
	{ "reuse", "the same QPs for ten connections", test_reuse },
	{ }
};
