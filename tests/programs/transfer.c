// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The data-integrity program: one connection's memory, its operations and the
 * judgement on every completion and every byte.
 *
 * Buffers of an operation lie in slot number n % window of a region. A slot is filled with guard
 * bytes except for the operation's data, so that a byte too many is seen wherever it lands. It is
 * poisoned as soon as the operation is complete, so that a device that still reads it sends wrong
 * data.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "integrity.h"

static struct plan *plan = &t.opt.plan;

static void region_alloc(struct region *r, size_t size, int access, int stags)
{
	r->size = size;
	r->mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (r->mem == MAP_FAILED)
		die("no memory for a region of %zu bytes", size);
	memset(r->mem, GUARD_BYTE, size);
	for (int i = 0; i < stags; i++) {
		r->mr[i] = ibv_reg_mr(t.pd, r->mem, size, access);
		if (!r->mr[i])
			die("ibv_reg_mr of %zu bytes, access %#x: %s", size, access,
			    strerror(errno));
	}
	if (stags == 1)
		r->mr[1] = r->mr[0];
}

static void region_free(struct region *r)
{
	int err = ibv_dereg_mr(r->mr[0]);

	if (!err && r->mr[1] != r->mr[0])
		err = ibv_dereg_mr(r->mr[1]);
	require(!err, "ibv_dereg_mr: %s", strerror(err));
	munmap(r->mem, r->size);
}

static uint32_t any_lkey(const struct region *r)
{
	return r->mr[rng_below(&t.rng, 2)]->lkey;
}

/*
 * Cuts @len bytes into at most @max pieces at odd places, some of them empty.
 * The gaps between them remain guard bytes.
 */
static void sgl_make(struct sgl *s, uint32_t len, uint32_t max)
{
	uint32_t cut[MAX_SGE + 1], off;

	s->num = rng_below(&t.rng, 3) ? 1 + rng_below(&t.rng, max) : 1;
	cut[0] = 0;
	for (int i = 1; i < s->num; i++)
		cut[i] = rng_below(&t.rng, len + 1);
	cut[s->num] = len;
	for (int i = 1; i < s->num; i++)	/* insertion sort */
		for (int j = i; j > 1 && cut[j] < cut[j - 1]; j--) {
			uint32_t tmp = cut[j];

			cut[j] = cut[j - 1];
			cut[j - 1] = tmp;
		}
	off = SGE_GAP + rng_below(&t.rng, SGE_GAP);
	for (int i = 0; i < s->num; i++) {
		s->piece[i].off = off;
		s->piece[i].len = cut[i + 1] - cut[i];
		off += s->piece[i].len + rng_below(&t.rng, SGE_GAP);
	}
	/* an empty list may have no entry at all */
	if (!len && rng_below(&t.rng, 2))
		s->num = 0;
}

static uint32_t slot_size(uint32_t len)
{
	return (len + 2 * SGE_GAP + MAX_SGE * SGE_GAP + 63) & ~63;
}

/* The STag of a zero-length SGE is not checked (RDMAC verbs 8.1.3.2), so it is random here. */
static void sgl_to_sge(const struct sgl *s, struct ibv_sge *sge, const struct region *r,
		       uint8_t *slot)
{
	for (int i = 0; i < s->num; i++) {
		sge[i].addr = (uintptr_t)slot + s->piece[i].off;
		sge[i].length = s->piece[i].len;
		sge[i].lkey = s->piece[i].len ? any_lkey(r) : 0xdeadbeef;
	}
}

static void sgl_fill(const struct sgl *s, uint8_t *slot, uint64_t key, uint64_t off)
{
	for (int i = 0; i < s->num; i++) {
		pattern_fill(slot + s->piece[i].off, key, off, s->piece[i].len);
		off += s->piece[i].len;
	}
}

/*
 * The first @len bytes of the scattered buffer must be the pattern, everything
 * else in the slot guard bytes.
 */
static void sgl_check(const struct conn *c, const char *what, uint32_t n, const struct sgl *s,
		      const uint8_t *slot, uint32_t size, uint64_t key, uint64_t key_off,
		      uint32_t len)
{
	uint32_t end = 0, done = 0;
	size_t where;
	uint8_t want;

	for (int i = 0; i <= s->num; i++) {
		/* the gap before piece i, or the rest of the slot */
		uint32_t off = i < s->num ? s->piece[i].off : size;
		uint32_t room = i < s->num ? s->piece[i].len : 0;
		uint32_t used = room < len - done ? room : len - done;

		if (!all_bytes(slot + end, GUARD_BYTE, off - end, &where))
			die("QP %u: %s of operation %u (%u bytes): byte %zu of the slot, before piece %d of %d, was overwritten: %#x",
			    c->index, what, n, len, end + where, i, s->num,
			    slot[end + where]);
		if (!pattern_matches(slot + off, key, key_off + done, used, &where, &want))
			die("QP %u: %s of operation %u (%u bytes): byte %zu is %#x and should be %#x (piece %d of %d)",
			    c->index, what, n, len, done + where, slot[off + where], want,
			    i, s->num);
		done += used;
		end = off + used;
	}
	if (done != len)
		die("QP %u: %s of operation %u: only %u of %u bytes have room", c->index, what,
		    n, done, len);
	t.stats.bytes += len;
}

void conn_setup(struct conn *c, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_context = c,
		.send_cq = t.scq,
		.recv_cq = t.rcq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = plan->window + CTRL_ROOM,
			.max_recv_wr = plan->window + CTRL_ROOM,
			.max_send_sge = t.opt.sge,
			.max_recv_sge = t.opt.sge,
			.max_inline_data = t.opt.inline_size,
		},
	};
	struct ibv_qp_cap asked = attr.cap;
	const int local = IBV_ACCESS_LOCAL_WRITE;
	const int remote_write = local | IBV_ACCESS_REMOTE_WRITE;

	c->id = id;
	id->context = c;
	if (rdma_create_qp(id, t.pd, &attr))
		die("rdma_create_qp: %s", strerror(errno));
	require(attr.cap.max_send_wr >= asked.max_send_wr, "%u", attr.cap.max_send_wr);
	require(attr.cap.max_recv_wr >= asked.max_recv_wr, "%u", attr.cap.max_recv_wr);
	require(attr.cap.max_send_sge >= asked.max_send_sge, "%u", attr.cap.max_send_sge);
	require(attr.cap.max_recv_sge >= asked.max_recv_sge, "%u", attr.cap.max_recv_sge);
	require(attr.cap.max_inline_data >= asked.max_inline_data, "%u",
		attr.cap.max_inline_data);
	t.max_inline = attr.cap.max_inline_data;
	c->qpn = id->qp->qp_num;

	c->sq_size = asked.max_send_wr;
	c->rq_size = asked.max_recv_wr;
	c->sq = calloc(c->sq_size, sizeof(*c->sq));
	c->rq = calloc(c->rq_size, sizeof(*c->rq));
	c->out_sgl = calloc(plan->window, sizeof(*c->out_sgl));

	c->out_slot = slot_size(plan->max_size);
	c->recv_slot = slot_size(plan->max_size > sizeof(struct control) ?
				 plan->max_size : sizeof(struct control));
	/* iWARP: the sink of a READ needs remote write (RDMAC verbs 7.4.2) */
	region_alloc(&c->out, (size_t)c->out_slot * plan->window, remote_write, 2);
	region_alloc(&c->window, (size_t)window_slot_size(plan) * plan->window,
		     remote_write | IBV_ACCESS_REMOTE_READ, 1);
	region_alloc(&c->source, source_size(plan), IBV_ACCESS_REMOTE_READ, 1);
	region_alloc(&c->recv, (size_t)c->recv_slot * c->rq_size, local, 2);
	region_alloc(&c->control, sizeof(struct control) * CTRL_ROOM, 0, 1);
	pattern_fill(c->source.mem, plan_source_key(plan, my_side(), c->index), 0,
		     c->source.size);
}

void conn_release(struct conn *c)
{
	rdma_destroy_qp(c->id);
	region_free(&c->out);
	region_free(&c->window);
	region_free(&c->source);
	region_free(&c->recv);
	region_free(&c->control);
	free(c->sq);
	free(c->rq);
	free(c->out_sgl);
	if (rdma_destroy_id(c->id))
		die("rdma_destroy_id: %s", strerror(errno));
}

/* The peer has verified all operations of this end, and this end all of the peer's. */
bool conn_done(const struct conn *c)
{
	return c->retired == plan->ops && c->acked == plan->ops &&
	       c->ack_posted == plan->ops && c->sq_head == c->sq_tail;
}

/* The peer's last message has arrived: the peer may close the connection. */
static bool all_received(const struct conn *c)
{
	return c->rx_op == plan->ops && c->acked == plan->ops;
}

/* work request ids that do not look like a counter */
static uint64_t make_wr_id(const struct conn *c, uint64_t seq, bool recv)
{
	return mix64((uint64_t)c->qpn << 40 ^ seq << 1 ^ recv);
}

/* Receives ------------------------------------------------------------- */

static void post_one_recv(struct conn *c)
{
	uint32_t slot = c->rq_tail % c->rq_size;
	struct rq_entry *e = &c->rq[slot];
	uint8_t *mem = c->recv.mem + (size_t)slot * c->recv_slot;
	struct ibv_sge sge[MAX_SGE];
	struct ibv_recv_wr wr = { .sg_list = sge }, *bad;
	uint32_t least = sizeof(struct control);
	int err;

	e->capacity = plan->max_size > least ? plan->max_size : least;
	sgl_make(&e->sgl, e->capacity, t.opt.sge);
	/* the first message is the peer's zero-length SEND */
	if (!c->rq_posted && t.opt.empty_recv) {
		e->capacity = 0;
		e->sgl.num = 0;
	}
	memset(mem, GUARD_BYTE, c->recv_slot);
	sgl_to_sge(&e->sgl, sge, &c->recv, mem);
	e->wr_id = make_wr_id(c, c->rq_posted++, true);
	wr.wr_id = e->wr_id;
	wr.num_sge = e->sgl.num;
	err = ibv_post_recv(c->id->qp, &wr, &bad);
	if (err)
		die("QP %u: ibv_post_recv with %d SGEs: %s (%d)", c->index, wr.num_sge,
		    strerror(err), err);
	/* the call has copied what it needs */
	memset(sge, 0xff, sizeof(sge));
	c->rq_tail++;
}

void conn_post_recvs(struct conn *c)
{
	while (c->rq_tail - c->rq_head < c->rq_size)
		post_one_recv(c);
}

/* The data of WRITE n of the peer in its window slot; all other bytes there are unchanged. */
static void check_window(struct conn *c, uint32_t n, const struct op *op)
{
	uint32_t size = window_slot_size(plan);
	struct sgl s = { .num = 1, .piece[0] = { op->to, op->len } };

	sgl_check(c, "WRITE", n, &s, c->window.mem + (size_t)(n % plan->window) * size, size,
		  op->key, op->key_off, op->len);
}

static void clear_window(struct conn *c, uint32_t upto)
{
	uint32_t size = window_slot_size(plan);
	struct op op;

	for (; c->cleared < upto; c->cleared++) {
		plan_op(plan, !my_side(), c->index, c->cleared, &op);
		if (op_is_write(&op))
			memset(c->window.mem + (size_t)(c->cleared % plan->window) * size,
			       GUARD_BYTE, size);
	}
}

/* Returns whether the peer asked for a solicited event. */
static bool receive_data(struct conn *c, const struct rq_entry *e, const uint8_t *mem,
			 uint32_t len)
{
	struct op op;
	uint32_t n;

	/* skip operations that need no receive, up to the SEND that this must be */
	for (n = c->rx_op; n < plan->ops; n++) {
		plan_op(plan, !my_side(), c->index, n, &op);
		if (op_is_send(&op))
			break;
		if (op_is_write(&op))
			check_window(c, n, &op);
	}
	if (n == plan->ops)
		die("QP %u: a message of %u bytes after the peer's last operation", c->index,
		    len);
	if (len != op.len)
		die("QP %u: byte_len %u in the completion of %s %u of %u bytes", c->index, len,
		    op_name(op.kind), n, op.len);
	sgl_check(c, op_name(op.kind), n, &e->sgl, mem, c->recv_slot, op.key, op.key_off, len);
	c->rx_op = n + 1;
	if (op.commit) {
		clear_window(c, n + 1);
		c->ack_due = n + 1;
	}
	return op.solicited;
}

static bool receive_control(struct conn *c, const struct rq_entry *e, const uint8_t *mem,
			    uint32_t len)
{
	struct control msg;
	uint32_t done = 0;

	if (len != sizeof(msg))
		return false;
	for (int i = 0; i < e->sgl.num && done < len; i++) {
		uint32_t n = e->sgl.piece[i].len;

		n = n < len - done ? n : len - done;
		memcpy((uint8_t *)&msg + done, mem + e->sgl.piece[i].off, n);
		done += n;
	}
	msg.magic = be64toh(msg.magic);
	msg.acked = be64toh(msg.acked);
	msg.check = be64toh(msg.check);
	if (msg.magic != CONTROL_MAGIC)
		return false;
	if (msg.check != ~msg.acked || msg.acked <= c->acked || msg.acked > c->next_op)
		die("QP %u: acknowledgement of %llu after %u (check %s), %u posted", c->index,
		    (unsigned long long)msg.acked, c->acked,
		    msg.check == ~msg.acked ? "good" : "bad", c->next_op);
	c->acked = msg.acked;
	return true;
}

/* Returns whether the completion is one that a solicited arm waits for. */
static bool recv_completion(struct conn *c, const struct ibv_wc *wc)
{
	bool solicited = true;
	struct rq_entry e;
	const uint8_t *mem;

	if (c->rq_head == c->rq_tail)
		die("QP %u: receive completion (%s) with an empty receive queue", c->index,
		    ibv_wc_status_str(wc->status));
	e = c->rq[c->rq_head % c->rq_size];
	mem = c->recv.mem + (size_t)(c->rq_head % c->rq_size) * c->recv_slot;
	if (wc->wr_id != e.wr_id)
		die("QP %u: receive completion %llu has the wrong wr_id: out of order or doubled",
		    c->index, (unsigned long long)(c->rq_posted - (c->rq_tail - c->rq_head)));
	c->rq_head++;

	/* completions of own sends may still be in the other CQ */
	if (wc->status == IBV_WC_WR_FLUSH_ERR && all_received(c)) {
		c->flushed++;
		t.stats.flushes++;
		return true;
	}
	if (wc->status != IBV_WC_SUCCESS)
		die("QP %u: receive completed with %s, vendor_err %#x, %u of %u operations seen",
		    c->index, ibv_wc_status_str(wc->status), wc->vendor_err, c->rx_op,
		    plan->ops);
	if (wc->opcode != IBV_WC_RECV)
		die("QP %u: opcode %d (%s) in a receive completion", c->index, wc->opcode,
		    wc_opcode_name(wc->opcode));
	if (wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV))
		die("QP %u: wc_flags %#x in the completion of a plain receive", c->index,
		    wc->wc_flags);
	t.stats.recvs++;
	if (!receive_control(c, &e, mem, wc->byte_len))
		solicited = receive_data(c, &e, mem, wc->byte_len);
	/*
	 * Once all is received the peer may close, and a receive posted after that just stays on
	 * the RQ (RDMAC verbs 6.2.1).
	 */
	if (!all_received(c))
		post_one_recv(c);
	return solicited;
}

/* Sends ---------------------------------------------------------------- */

static struct sq_entry *sq_push(struct conn *c)
{
	struct sq_entry *e = &c->sq[c->sq_tail++ % c->sq_size];

	*e = (struct sq_entry){ .wr_id = make_wr_id(c, c->sq_posted++, false) };
	return e;
}

static uint32_t sq_room(const struct conn *c)
{
	return c->sq_size - (c->sq_tail - c->sq_head);
}

static uint8_t *out_slot(const struct conn *c, uint32_t n)
{
	return c->out.mem + (size_t)(n % plan->window) * c->out_slot;
}

static struct sgl *out_sgl(const struct conn *c, uint32_t n)
{
	return &c->out_sgl[n % plan->window];
}

/* Operation n of this end is complete: check the data of a READ, then poison the buffer. */
static void retire(struct conn *c, uint32_t n)
{
	uint32_t owner = n;
	struct op op;

	plan_op(plan, my_side(), c->index, n, &op);
	t.stats.ops[op.kind]++;
	if (op_is_read(&op))
		sgl_check(c, op_name(op.kind), n, out_sgl(c, n), out_slot(c, n), c->out_slot,
			  op.key, op.key_off, op.len);
	c->retired = n + 1;
	if (op.kind == OP_READ_CHAIN)
		return;			/* the next operation still sends it */
	if (op.kind == OP_SEND_CHAINED || op.kind == OP_WRITE_CHAINED)
		owner = n - 1;
	memset(out_slot(c, owner), POISON_BYTE, c->out_slot);
}

static void send_completion(struct conn *c, const struct ibv_wc *wc)
{
	struct sq_entry *e;

	if (wc->status != IBV_WC_SUCCESS)
		die("QP %u: send work request completed with %s, vendor_err %#x; %u operations complete, %u posted",
		    c->index, ibv_wc_status_str(wc->status), wc->vendor_err, c->retired,
		    c->next_op);
	/* a completion covers all unsignaled WRs before it */
	do {
		if (c->sq_head == c->sq_tail)
			die("QP %u: a send completion too many", c->index);
		e = &c->sq[c->sq_head++ % c->sq_size];
		if (e->signaled) {
			if (wc->wr_id != e->wr_id)
				die("QP %u: send completion has the wrong wr_id where operation %u (%s) is due: out of order, doubled, or of an unsignaled one",
				    c->index, e->op, wc_opcode_name(e->opcode));
			if (wc->opcode != e->opcode)
				die("QP %u: opcode %s in the completion of operation %u, a %s",
				    c->index, wc_opcode_name(wc->opcode), e->op,
				    wc_opcode_name(e->opcode));
			if (e->opcode == IBV_WC_RDMA_READ && wc->byte_len != e->len)
				die("QP %u: byte_len %u in the completion of READ %u of %u bytes",
				    c->index, wc->byte_len, e->op, e->len);
		}
		if (e->control)
			c->acks_in_flight--;
		else
			retire(c, e->op);
	} while (!e->signaled);
	t.stats.sends++;
}

static void describe_wr(struct conn *c, uint32_t n, const struct op *op, struct ibv_send_wr *wr)
{
	struct sq_entry *e = sq_push(c);

	e->op = n;
	e->len = op->len;
	e->signaled = op->commit || c->since_signal >= plan->window / 4 ||
		      rng_below(&t.rng, 2);
	c->since_signal = e->signaled ? 0 : c->since_signal + 1;
	if (!e->signaled)
		t.stats.unsignaled++;

	wr->wr_id = e->wr_id;
	wr->send_flags = (e->signaled ? IBV_SEND_SIGNALED : 0) |
			 (op->fence || t.opt.fence_all ? IBV_SEND_FENCE : 0);
	if (op_is_send(op)) {
		e->opcode = IBV_WC_SEND;
		wr->opcode = IBV_WR_SEND;
		wr->send_flags |= op->solicited ? IBV_SEND_SOLICITED : 0;
		/* which a SEND does not use, so the provider ignores it (RDMAC verbs 9.3.1.1) */
		wr->wr.rdma.remote_addr = ~e->wr_id;
		wr->wr.rdma.rkey = ~n;
		wr->invalidate_rkey = ~n;
		return;
	}
	if (op_is_write(op)) {
		e->opcode = IBV_WC_RDMA_WRITE;
		wr->opcode = IBV_WR_RDMA_WRITE;
	} else {
		e->opcode = IBV_WC_RDMA_READ;
		wr->opcode = IBV_WR_RDMA_READ;
	}
	if (op->kind == OP_READ || op->kind == OP_READ_CHAIN) {
		wr->wr.rdma.remote_addr = c->peer_source + op->to;
		wr->wr.rdma.rkey = c->peer_source_rkey;
	} else {
		uint32_t slot = op->kind == OP_READ_BACK ? op->ref : n;

		wr->wr.rdma.remote_addr = c->peer_window + op->to +
			(uint64_t)(slot % plan->window) * window_slot_size(plan);
		wr->wr.rdma.rkey = c->peer_window_rkey;
	}
}

/*
 * Fills in operation n. @scratch is unregistered memory for inline data; returns true if it was
 * used.
 */
static bool build_op(struct conn *c, uint32_t n, struct ibv_send_wr *wr, struct ibv_sge *sge,
		     uint8_t *scratch)
{
	struct sgl *s = out_sgl(c, n);
	uint8_t *slot = out_slot(c, n);
	bool inlined = false;
	struct op op;

	plan_op(plan, my_side(), c->index, n, &op);
	*wr = (struct ibv_send_wr){ .sg_list = sge };
	describe_wr(c, n, &op, wr);

	if (op.kind == OP_SEND_CHAINED || op.kind == OP_WRITE_CHAINED) {
		/* the data that READ n - 1 will have placed in its sink by then */
		s = out_sgl(c, n - 1);
		slot = out_slot(c, n - 1);
	} else if (op_is_read(&op)) {
		sgl_make(s, op.len, t.max_rd_sge);
		memset(slot, GUARD_BYTE, c->out_slot);
	} else {
		sgl_make(s, op.len, t.opt.sge);
		inlined = op.len <= t.max_inline && rng_below(&t.rng, 4);
		if (inlined) {
			slot = scratch;
			wr->send_flags |= IBV_SEND_INLINE;
			t.stats.inlined++;
		}
		sgl_fill(s, slot, op.key, op.key_off);
	}
	sgl_to_sge(s, sge, &c->out, slot);
	if (inlined)
		for (int i = 0; i < s->num; i++)
			sge[i].lkey = 0xdeadbeef;	/* inline data needs none */
	wr->num_sge = s->num;
	return inlined;
}

static bool may_post(const struct conn *c, uint32_t n)
{
	/* the slot is free, also if a chain began one operation earlier */
	return n < plan->ops && n < c->acked + plan->window &&
	       n + 2 <= c->retired + plan->window && sq_room(c) > CTRL_ROOM;
}

static int post_ops(struct conn *c)
{
	static uint8_t scratch[MAX_BATCH][4096];
	struct ibv_send_wr wr[MAX_BATCH], *bad;
	struct ibv_sge sge[MAX_BATCH][MAX_SGE];
	uint32_t batch = 1 + rng_below(&t.rng, MAX_BATCH), num = 0;
	int err;

	while (num < batch && may_post(c, c->next_op)) {
		build_op(c, c->next_op++, &wr[num], sge[num], scratch[num]);
		if (num)
			wr[num - 1].next = &wr[num];
		num++;
	}
	if (!num)
		return 0;
	err = ibv_post_send(c->id->qp, wr, &bad);
	if (err)
		die("QP %u: ibv_post_send of %u: %s (%d) at number %td, opcode %d, flags %#x, %d SGEs",
		    c->index, num, strerror(err), err, bad - wr, bad->opcode,
		    bad->send_flags, bad->num_sge);
	/* the call has copied work requests and inline data (RDMAC verbs 8.2.1) */
	memset(wr, 0xff, sizeof(wr));
	memset(sge, 0xff, sizeof(sge));
	memset(scratch, POISON_BYTE, sizeof(scratch));
	return num;
}

static int post_ack(struct conn *c)
{
	struct control *msg;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct sq_entry *e;
	int err;

	/* the peer's first receive is for operation 0 only */
	if (c->ack_due == c->ack_posted || !c->next_op)
		return 0;
	/* acknowledgements complete in order, so the oldest buffer is free first */
	if (!sq_room(c) || c->acks_in_flight == CTRL_ROOM)
		return 0;
	msg = (struct control *)c->control.mem + c->acks_posted++ % CTRL_ROOM;
	*msg = (struct control){
		htobe64(CONTROL_MAGIC), htobe64(c->ack_due), htobe64(~(uint64_t)c->ack_due)
	};
	sge = (struct ibv_sge){ (uintptr_t)msg, sizeof(*msg), c->control.mr[0]->lkey };
	c->acks_in_flight++;
	e = sq_push(c);
	e->control = true;
	e->signaled = true;
	e->opcode = IBV_WC_SEND;
	wr.wr_id = e->wr_id;
	wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED;
	c->ack_posted = c->ack_due;
	err = ibv_post_send(c->id->qp, &wr, &bad);
	if (err)
		die("QP %u: ibv_post_send of an acknowledgement: %s", c->index, strerror(err));
	return 1;
}

int conn_post(struct conn *c)
{
	return post_ack(c) + post_ops(c);
}

/* Completions ---------------------------------------------------------- */

static struct conn *find_conn(uint32_t qpn)
{
	for (uint32_t i = 0; i < plan->qps; i++)
		if (t.conns[i].id && t.conns[i].qpn == qpn)
			return &t.conns[i];
	die("completion with the unknown qp_num %u", qpn);
}

/* A SEND completion belongs to the SQ; the wr_id of a failed one tells its queue. */
static bool is_recv(const struct conn *c, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		return wc->opcode & IBV_WC_RECV;
	return c->rq_head != c->rq_tail && c->rq[c->rq_head % c->rq_size].wr_id == wc->wr_id;
}

/* @since_arm counts completions that may have caused an event of this CQ. */
static int drain_cq(struct ibv_cq *cq, uint64_t *since_arm)
{
	struct ibv_wc wc[8];
	int total = 0, n;

	while ((n = ibv_poll_cq(cq, ARRAY_SIZE(wc), wc)) > 0) {
		for (int i = 0; i < n; i++) {
			struct conn *c = find_conn(wc[i].qp_num);
			bool recv = is_recv(c, &wc[i]);

			if (!t.opt.one_cq)
				require(recv == (cq == t.rcq), "QP %u: completion on the wrong CQ",
					c->index);
			if (!recv)
				send_completion(c, &wc[i]);
			if (!recv || recv_completion(c, &wc[i]) || t.opt.one_cq)
				++*since_arm;
		}
		total += n;
	}
	if (n < 0)
		die("ibv_poll_cq: %d", n);
	return total;
}

int drain_cqs(void)
{
	int n = drain_cq(t.rcq, &t.r_since_arm);

	if (!t.opt.one_cq)
		n += drain_cq(t.scq, &t.s_since_arm);
	return n;
}
