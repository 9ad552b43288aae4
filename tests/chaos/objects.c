// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Objects of a traffic program, which are made and destroyed again and again. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "traffic.h"

/* Transient errors that a fault may cause: the controller makes allocations fail. */
bool transient(int err)
{
	return err == ENOMEM || err == EAGAIN || err == EINTR || err == ENOBUFS;
}

/*
 * A count and the record of open WRs are separate, but change together: the controller allows for
 * a death in between.
 */
static void step(uint32_t on)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t.j->step = on;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void wr_posted(uint64_t *count, uint64_t *open, uint64_t *next, uint32_t slot)
{
	step(1);
	++*count;
	++*next;
	*open |= 1ULL << slot;
	step(0);
}

void wr_done(uint64_t *count, uint64_t *open, uint32_t slot)
{
	step(1);
	++*count;
	*open &= ~(1ULL << slot);
	step(0);
}

/* Open WRs go with the QP, so its queues begin anew. */
static void wrs_purged(struct jconn *j)
{
	step(1);
	j->purged += __builtin_popcountll(j->sq_open) + __builtin_popcountll(j->rq_open);
	j->sq_open = j->rq_open = 0;
	step(0);
}

static bool again(int err, int *tries, const char *what)
{
	if (!err)
		return false;
	failed(NULL, err, what);
	if (++*tries > 5000)
		violation("%s: %s", what, strerror(err));
	usleep(1000);
	return true;
}

/* Destruction may fail for want of memory, and then must succeed when tried again. */
#define until_done(call, what) do {				\
	int tries_ = 0;						\
	while (again((call), &tries_, what))			\
		;						\
} while (0)

/* Objects that the process has once. False: out of memory, try again. */
bool device_setup(struct ibv_context *verbs)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = SRQ_DEPTH, .max_sge = 1 } };
	size_t bytes = (size_t)SRQ_DEPTH * t.slot;

	if (t.verbs && t.verbs != verbs)
		violation("another device");
	t.verbs = verbs;
	fcntl(verbs->async_fd, F_SETFL, O_NONBLOCK);
	if (!t.pd)
		t.pd = ibv_alloc_pd(verbs);
	if (!t.comp)
		t.comp = ibv_create_comp_channel(verbs);
	if (!t.pd || !t.comp)
		return false;
	fcntl(t.comp->fd, F_SETFL, O_NONBLOCK);
	if (!t.cq)
		t.cq = ibv_create_cq(verbs, CONNS * (SQ_DEPTH + SRQ_DEPTH), NULL, t.comp, 0);
	if (!t.cq || !t.server)
		return t.cq;
	if (!t.srq)
		t.srq = ibv_create_srq(t.pd, &attr);
	if (!t.srq_mem)
		t.srq_mem = aligned_alloc(4096, (bytes + 4095) & ~4095UL);
	if (t.srq_mem && !t.srq_mr)
		t.srq_mr = ibv_reg_mr(t.pd, t.srq_mem, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!t.srq || !t.srq_mr)
		return false;
	srq_feed();
	return true;
}

/* WQEs are taken in order; once no QP is left, none completed while an earlier one did not. */
static void srq_is_whole(void)
{
	for (uint32_t i = 0; i < SRQ_DEPTH; i++)
		if (t.srq_seq[i] && t.srq_seq[i] < t.srq_newest)
			violation("WR %llu of the SRQ never completed, but %llu did",
				  (unsigned long long)t.srq_seq[i],
				  (unsigned long long)t.srq_newest);
}

void device_release(void)
{
	srq_is_whole();
	if (t.srq)
		until_done(ibv_destroy_srq(t.srq), "ibv_destroy_srq");
	if (t.srq_mr)
		until_done(ibv_dereg_mr(t.srq_mr), "ibv_dereg_mr of the SRQ");
	if (t.cq)
		until_done(ibv_destroy_cq(t.cq), "ibv_destroy_cq");
	if (t.comp)
		until_done(ibv_destroy_comp_channel(t.comp), "ibv_destroy_comp_channel");
	if (t.pd)
		until_done(ibv_dealloc_pd(t.pd), "ibv_dealloc_pd");
}

/* wr_id of an SRQ's WR: its slot, with a bit that no connection uses */
void srq_feed(void)
{
	for (uint32_t i = 0; t.srq && i < SRQ_DEPTH && !t.starving; i++) {
		struct ibv_sge sge = { (uintptr_t)t.srq_mem + (size_t)i * t.slot, t.slot,
				       t.srq_mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = 1ULL << 63 | i, .sg_list = &sge, .num_sge = 1 };
		struct ibv_recv_wr *bad;
		int err;

		if (t.srq_seq[i])
			continue;
		err = ibv_post_srq_recv(t.srq, &wr, &bad);
		failed(NULL, err, "ibv_post_srq_recv");
		if (err)
			return;		/* called again */
		t.srq_seq[i] = ++t.srq_next;
		wr_posted(&t.j->srq.rq_posted, &t.j->srq.rq_open, &t.j->srq.rq_next, i);
	}
}

void srq_give_back(uint32_t slot)
{
	if (slot >= SRQ_DEPTH || !t.srq_seq[slot])
		violation("a completion of SRQ slot %u, which is not posted", slot);
	if (t.srq_newest < t.srq_seq[slot])
		t.srq_newest = t.srq_seq[slot];
	t.srq_seq[slot] = 0;
}

static uint8_t *take(uint8_t **at, size_t bytes)
{
	uint8_t *p = *at;

	*at += (bytes + 63) & ~63UL;
	return p;
}

static bool make_memory(struct conn *c)
{
	size_t bytes = (size_t)(SQ_DEPTH + RQ_DEPTH + WINDOW) * t.slot + SOURCE + 4096;
	uint8_t *at;

	if (!c->mem)	/* kept for the next connection */
		c->mem = aligned_alloc(4096, (bytes + 4095) & ~4095UL);
	if (!c->mem)
		return false;
	at = c->mem;
	c->send = take(&at, (size_t)SQ_DEPTH * t.slot);
	c->recv = take(&at, (size_t)RQ_DEPTH * t.slot);
	c->window = take(&at, (size_t)WINDOW * t.slot);
	c->source = take(&at, SOURCE);
	c->counter = (uint64_t *)take(&at, 8);
	*c->counter = 0;
	memset(c->window, 0xee, (size_t)WINDOW * t.slot);
	pattern_fill(c->source, mix64(c->seed + t.server), 0, SOURCE);

	c->mr = ibv_reg_mr(t.pd, c->mem, at - c->mem, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	if (!c->mr)
		return false;
	c->mr_window = ibv_reg_mr(t.pd, c->window, (size_t)WINDOW * t.slot,
				  IBV_ACCESS_LOCAL_WRITE |
				  (c->use_mw ? IBV_ACCESS_MW_BIND : IBV_ACCESS_REMOTE_WRITE));
	if (!c->mr_window)
		return false;
	if (c->use_mw)
		c->mw = ibv_alloc_mw(t.pd, IBV_MW_TYPE_2);
	return !c->use_mw || c->mw;
}

/* Everything up to the QP with its receives. After an error the caller calls conn_unmake(). */
int conn_make(struct conn *c, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = c, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SQ_DEPTH, .max_recv_wr = RQ_DEPTH,
			 .max_send_sge = 2, .max_recv_sge = 1, .max_inline_data = 64 },
	};
	int small = c->overflow ? SMALL_CQ : SQ_DEPTH + RQ_DEPTH + 8;

	c->id = id;
	c->gen++;
	c->use_mw = c->index & 1;
	c->use_srq = t.server && c->index >= 2;
	c->own_cq = c->overflow || (c->index & 1);
	if (!make_memory(c))
		return errno ?: ENOMEM;
	c->scq = c->rcq = t.cq;
	if (c->own_cq) {
		c->scq = c->rcq = ibv_create_cq(t.verbs, small, c, t.comp, 0);
		if (!c->scq)
			return errno;
	}
	attr.send_cq = c->scq;
	attr.recv_cq = c->rcq;
	if (c->use_srq) {
		attr.srq = t.srq;
		attr.cap.max_recv_wr = attr.cap.max_recv_sge = 0;
	}
	if (rdma_create_qp(id, t.pd, &attr))
		return errno;
	c->qp = id->qp;
	c->j->qpn = c->qp->qp_num;
	return c->use_srq ? 0 : conn_post_recvs(c);
}

/* A bound window is destroyed first: it would keep the QP busy */
static void destroy_qp(struct conn *c)
{
	if (c->mw)
		until_done(ibv_dealloc_mw(c->mw), "ibv_dealloc_mw");
	c->mw = NULL;
	if (!c->qp)
		return;
	until_done(ibv_destroy_qp(c->qp), "ibv_destroy_qp");
	c->id->qp = NULL;
	c->qp = NULL;
}

/* Destroys the QP with WRs posted; of these only messages already received still complete. */
void conn_purge(struct conn *c)
{
	c->j->state = CONN_DRAINING;
	destroy_qp(c);
	poll_cqs();
	wrs_purged(c->j);
	conn_unmake(c);
}

/* Destroys everything, in any state; afterwards the CQ must have no completion. */
void conn_unmake(struct conn *c)
{
	uint8_t *mem = c->mem;

	/* completions are all polled: WRs without one show up in the balance */
	step(1);
	c->j->sq_open = c->j->rq_open = 0;
	c->j->sq_next = c->j->rq_next = 0;
	step(0);
	destroy_qp(c);
	if (c->own_cq && c->scq) {
		struct ibv_wc wc;

		if (!c->overflow && ibv_poll_cq(c->scq, 1, &wc))
			violation("connection %u: a completion after its QP was destroyed",
				  c->index);
		until_done(ibv_destroy_cq(c->scq), "ibv_destroy_cq");
	}
	if (c->mr_window)
		until_done(ibv_dereg_mr(c->mr_window), "ibv_dereg_mr of the window");
	if (c->mr)
		until_done(ibv_dereg_mr(c->mr), "ibv_dereg_mr");
	if (c->id)
		until_done(rdma_destroy_id(c->id) ? errno : 0, "rdma_destroy_id");

	*c = (struct conn){
		.j = c->j, .index = c->index, .gen = c->gen, .mem = mem,
		.want_overflow = c->want_overflow && !(c->overflow && c->established), .quit = c->quit,
		.retry_at = now_ms() + 50,
	};
	c->j->state = CONN_IDLE;
	c->j->qpn = 0;
}
