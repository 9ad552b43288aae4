// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The data of a connection. Both ends know the contents of message number M (plan()), so neither
 * has to trust the other. Each completion must be the next one due: WRs are numbered, and the
 * numbers are in the wr_ids.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include "traffic.h"

#define WR_CONN(id)	((id) >> 56 & 0x7f)
#define WR_GEN(id)	((uint16_t)((id) >> 40))
#define WR_RECV		(1ULL << 39)
#define WR_SEQ(id)	((id) & 0x7fffffffff)

struct step { uint32_t kind, len; uint64_t key; };

static struct step plan(const struct conn *c, bool server, uint64_t msg)
{
	static const uint8_t kinds[8] = { MSG_SEND, MSG_SEND, MSG_SEND, MSG_SEND, MSG_WRITE,
					  MSG_WRITE, MSG_WRITE, MSG_WRITE_IMM };
	uint64_t h = mix64(mix64(c->seed + server) + msg);
	uint32_t max = h >> 60 & 3 ? 1024 : t.max_size;

	if (max > t.max_size)
		max = t.max_size;
	return (struct step){ kinds[h & 7], (h >> 8 & 0xffffff) % (max + 1), mix64(h) };
}

static uint64_t wr_id(const struct conn *c, uint64_t seq)
{
	return (uint64_t)c->index << 56 | (uint64_t)c->gen << 40 | seq;
}

int conn_post_recvs(struct conn *c)
{
	while (c->rq_tail - c->rq_head < RQ_DEPTH) {
		struct ibv_sge sge = {
			(uintptr_t)c->recv + c->rq_tail % RQ_DEPTH * t.slot, t.slot, c->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = wr_id(c, c->rq_tail) | WR_RECV,
					  .sg_list = &sge, .num_sge = 1 }, *bad;
		int err = ibv_post_recv(c->qp, &wr, &bad);

		if (err)
			return err;
		wr_posted(&c->j->rq_posted, &c->j->rq_open, &c->j->rq_next,
			  c->rq_tail++ % RQ_DEPTH);
	}
	return 0;
}

static uint8_t *send_slot(struct conn *c)
{
	return c->send + c->sq_tail % SQ_DEPTH * t.slot;
}

/* Posts the contents of send_slot(); fields that @wr lacks are filled in here. */
static int post(struct conn *c, struct ibv_send_wr *wr, struct sent s)
{
	struct ibv_sge sge = { (uintptr_t)send_slot(c), wr->num_sge ? s.len : 0, c->mr->lkey };
	struct ibv_send_wr *bad;
	int err;

	s.signaled = c->overflow || s.kind >= OP_READ || c->since_signal >= 4 ||
		     rng_below(&t.rng, 2);
	wr->wr_id = wr_id(c, c->sq_tail);
	if (wr->num_sge)
		wr->sg_list = &sge;
	if (s.signaled)
		wr->send_flags |= IBV_SEND_SIGNALED;
	if (s.len <= 64 && wr->num_sge && s.kind < OP_READ && rng_below(&t.rng, 2))
		wr->send_flags |= IBV_SEND_INLINE;
	err = ibv_post_send(c->qp, wr, &bad);
	if (err)
		return err;
	wr_posted(&c->j->sq_posted, &c->j->sq_open, &c->j->sq_next, c->sq_tail % SQ_DEPTH);
	c->sq[c->sq_tail++ % SQ_DEPTH] = s;
	c->since_signal = s.signaled ? 0 : c->since_signal + 1;
	return 0;
}

static uint32_t room(const struct conn *c)
{
	return SQ_DEPTH - 1 - (c->sq_tail - c->sq_head);	/* one slot is for the marker */
}

static int post_send(struct conn *c, uint32_t kind, uint64_t msg, const void *body, uint32_t len,
		     uint64_t key)
{
	struct header h = { .magic = MAGIC, .kind = kind, .msg = msg, .acked = c->rx_msg,
			    .len = len };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	uint32_t on_wire = kind == MSG_SEND || kind == MSG_HELLO ? len : 0;
	uint8_t *slot = send_slot(c);
	int err;

	memcpy(slot, &h, sizeof(h));
	if (body)
		memcpy(slot + sizeof(h), body, len);
	else if (on_wire)
		pattern_fill(slot + sizeof(h), key, 0, len);
	err = post(c, &wr, (struct sent){ .kind = kind, .len = sizeof(h) + on_wire });
	if (!err)
		c->rx_told = h.acked;
	return err;
}

static int say_hello(struct conn *c)
{
	struct hello hello = { (uintptr_t)c->window, (uintptr_t)c->source, (uintptr_t)c->counter,
			       c->mr_window->rkey, c->mr->rkey };
	int err;

	if (c->use_mw) {
		struct ibv_send_wr wr = {
			.opcode = IBV_WR_BIND_MW,
			.bind_mw = { c->mw, ibv_inc_rkey(c->mw->rkey),
				     { c->mr_window, (uintptr_t)c->window,
				       (uint64_t)WINDOW * t.slot, IBV_ACCESS_REMOTE_WRITE } },
		};

		err = post(c, &wr, (struct sent){ .kind = OP_BIND });
		if (err)
			return err;
		c->mw->rkey = wr.bind_mw.rkey;
		hello.window_rkey = c->mw->rkey;
	}
	err = post_send(c, MSG_HELLO, 0, &hello, sizeof(hello), 0);
	if (!err)
		c->said_hello = true;
	return err;
}

int conn_post_invalidate(struct conn *c)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV };

	if (!c->mw || !c->said_hello || !room(c))
		return EAGAIN;
	wr.invalidate_rkey = c->mw->rkey;
	return post(c, &wr, (struct sent){ .kind = OP_INVALIDATE });
}

static int post_message(struct conn *c)
{
	struct step s = plan(c, t.server, c->tx_msg);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .num_sge = 1 };
	int err;

	if (s.kind == MSG_SEND) {
		err = post_send(c, MSG_SEND, c->tx_msg, NULL, s.len, s.key);
		if (!err)
			c->tx_msg++;
		return err;
	}
	pattern_fill(send_slot(c), s.key, 0, s.len);
	wr.wr.rdma.remote_addr = c->peer.window + c->tx_msg % WINDOW * t.slot;
	wr.wr.rdma.rkey = c->peer.window_rkey;
	if (s.kind == MSG_WRITE_IMM) {
		wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr.imm_data = htonl(c->tx_msg);
	}
	err = post(c, &wr, (struct sent){ .kind = s.kind, .len = s.len });
	if (!err && s.kind == MSG_WRITE)
		err = post_send(c, MSG_WRITE, c->tx_msg, NULL, s.len, 0);
	if (!err)
		c->tx_msg++;
	return err;
}

static int post_read(struct conn *c)
{
	bool add = !rng_below(&t.rng, 3);
	struct sent s = { .kind = add ? OP_ADD : OP_READ, .arg = c->adds };
	struct ibv_send_wr wr = { .num_sge = 1 };
	int err;

	if (add) {
		s.len = 8;
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = c->peer.counter;
		wr.wr.atomic.rkey = c->peer.source_rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		s.len = 1 + rng_below(&t.rng, t.max_size);
		s.arg = rng_below(&t.rng, SOURCE - s.len);
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = c->peer.source + s.arg;
		wr.wr.rdma.rkey = c->peer.source_rkey;
	}
	memset(send_slot(c), 0xdd, s.len);
	err = post(c, &wr, s);
	if (!err) {
		c->reads++;
		c->adds += add;
	}
	return err;
}

/* Post as much as the budget allows. An error ends the connection, unless it is transient. */
void conn_post(struct conn *c)
{
	int err = 0;

	if (!c->said_hello)
		err = say_hello(c);
	/* in bursts, so that at times many messages are under way */
	if (c->budget >= c->burst) {
		c->burst = 1 + rng_below(&t.rng, 16);
		c->bursting = true;
	}
	while (!err && c->has_hello && c->said_hello && c->bursting && room(c) >= 4) {
		if (rng_below(&t.rng, 4) == 0) {
			if (c->reads < 2 * ORD)
				err = post_read(c);
		} else if (c->tx_msg - c->tx_acked < WINDOW) {
			err = post_message(c);
		}
		c->budget -= 1;
		c->bursting = c->budget >= 1;
	}
	if (!err && c->rx_msg - c->rx_told >= WINDOW / 2 && room(c))
		err = post_send(c, MSG_ACK, 0, NULL, 0, 0);
	failed(c, err, "posting");
	if (err)
		conn_drain(c);
}

/* An acknowledgement without contents */
void conn_post_empty(struct conn *c)
{
	post_send(c, MSG_ACK, 0, NULL, 0, 0);
}

/* --- completions ------------------------------------------------------------- */

static void check(const struct conn *c, const void *buf, uint64_t key, uint64_t off, uint32_t len,
		  const char *what)
{
	size_t where;
	uint8_t want;

	if (!pattern_matches(buf, key, off, len, &where, &want))
		violation("connection %u: %s of %u bytes: byte %zu is %#x, not %#x", c->index,
			  what, len, where, ((const uint8_t *)buf)[where], want);
	c->j->bytes += len;
}

static void sent_done(struct conn *c, const struct sent *s, const uint8_t *slot)
{
	uint64_t value;

	switch (s->kind) {
	case OP_READ:
		check(c, slot, mix64(c->seed + !t.server), s->arg, s->len, "a READ");
		c->reads--;
		break;
	case OP_ADD:
		memcpy(&value, slot, 8);
		if (value != s->arg)
			violation("connection %u: an atomic gave %llu after %llu of them", c->index,
				  (unsigned long long)value, (unsigned long long)s->arg);
		c->reads--;
		break;
	}
	c->j->ops++;
}

static void send_completion(struct conn *c, const struct ibv_wc *wc)
{
	uint64_t seq = WR_SEQ(wc->wr_id);
	struct sent *s = &c->sq[seq % SQ_DEPTH];

	if (seq < c->sq_head || seq >= c->sq_tail)
		violation("connection %u: completion of WR %llu, but %llu to %llu are posted (status %d)",
			  c->index, (unsigned long long)seq, (unsigned long long)c->sq_head,
			  (unsigned long long)c->sq_tail, wc->status);
	/* those before it are done if they were unsignaled and before any flush */
	for (; c->sq_head < seq; c->sq_head++) {
		if (c->sq[c->sq_head % SQ_DEPTH].signaled || c->flushing)
			violation("connection %u: completion of WR %llu, none of %llu",
				  c->index, (unsigned long long)seq,
				  (unsigned long long)c->sq_head);
		wr_done(&c->j->sq_silent, &c->j->sq_open, c->sq_head % SQ_DEPTH);
	}
	c->sq_head = seq + 1;
	if (wc->status == IBV_WC_SUCCESS) {
		if (c->flushing || s->kind == OP_MARKER)
			violation("connection %u: WR %llu has success after the end", c->index,
				  (unsigned long long)seq);
		if (!s->signaled)
			violation("connection %u: unsignaled WR %llu has a completion", c->index,
				  (unsigned long long)seq);
		wr_done(&c->j->sq_done, &c->j->sq_open, seq % SQ_DEPTH);
		sent_done(c, s, c->send + seq % SQ_DEPTH * t.slot);
		return;
	}
	if (wc->status == IBV_WC_WR_FLUSH_ERR) {
		wr_done(&c->j->sq_flushed, &c->j->sq_open, seq % SQ_DEPTH);
	} else {
		if (c->sq_failed)
			violation("connection %u: a second error, of WR %llu: %s", c->index,
				  (unsigned long long)seq, ibv_wc_status_str(wc->status));
		c->sq_failed = true;
		wr_done(&c->j->sq_error, &c->j->sq_open, seq % SQ_DEPTH);
		c->j->reason = wc->status;
	}
	c->flushing = true;
	if (s->kind == OP_MARKER)
		c->marked = true;
}

static void acked(struct conn *c, uint64_t n)
{
	if (n < c->tx_acked || n > c->tx_msg)
		violation("connection %u: %llu messages acknowledged, %llu sent", c->index,
			  (unsigned long long)n, (unsigned long long)c->tx_msg);
	c->tx_acked = n;
}

static void message(struct conn *c, const struct ibv_wc *wc, const uint8_t *buf)
{
	struct step s = plan(c, !t.server, c->rx_msg);
	uint8_t *place = c->window + c->rx_msg % WINDOW * t.slot;
	struct header h;

	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		if (s.kind != MSG_WRITE_IMM || ntohl(wc->imm_data) != (uint32_t)c->rx_msg)
			violation("connection %u: immediate data %u in place of message %llu",
				  c->index, ntohl(wc->imm_data), (unsigned long long)c->rx_msg);
		if (wc->byte_len != s.len)
			violation("connection %u: length %u, not %u, of a Write", c->index,
				  wc->byte_len, s.len);
	} else {
		memcpy(&h, buf, sizeof(h));
		if (wc->byte_len < sizeof(h) || h.magic != MAGIC)
			violation("connection %u: no header", c->index);
		acked(c, h.acked);
		if (h.kind == MSG_ACK)
			return;
		if (h.kind == MSG_HELLO) {
			if (c->has_hello)
				violation("connection %u: a second hello", c->index);
			memcpy(&c->peer, buf + sizeof(h), sizeof(c->peer));
			c->has_hello = true;
			return;
		}
		if (h.kind != s.kind || h.msg != c->rx_msg || h.len != s.len ||
		    wc->byte_len != sizeof(h) + (s.kind == MSG_SEND ? s.len : 0))
			violation("connection %u: message %llu of kind %u with %u bytes, not %llu of %u with %u",
				  c->index, (unsigned long long)h.msg, h.kind, h.len,
				  (unsigned long long)c->rx_msg, s.kind, s.len);
	}
	if (s.kind == MSG_SEND) {
		check(c, buf + sizeof(h), s.key, 0, s.len, "a Send");
	} else {
		check(c, place, s.key, 0, s.len, "a Write");
		memset(place, 0xee, s.len);
	}
	c->rx_msg++;
	c->j->ops++;
}

/*
 * @j: the counts of the queue, and its slot; @buf: the received message; the caller posts the WR
 * anew.
 */
static void recv_completion(struct conn *c, const struct ibv_wc *wc, const uint8_t *buf,
			    struct jconn *j, uint32_t slot)
{
	switch (wc->status) {
	case IBV_WC_SUCCESS:
		wr_done(&j->rq_done, &j->rq_open, slot);
		message(c, wc, buf);
		break;
	case IBV_WC_WR_FLUSH_ERR:
		wr_done(&j->rq_flushed, &j->rq_open, slot);
		break;
	default:
		wr_done(&j->rq_error, &j->rq_open, slot);
		c->j->reason = wc->status;
		break;
	}
}

static struct conn *conn_by_qpn(uint32_t qpn)
{
	for (uint32_t i = 0; i < CONNS; i++)
		if (t.conn[i].j->qpn == qpn)
			return &t.conn[i];
	violation("a completion of QP %u, which is gone", qpn);
}

static void completion(const struct ibv_wc *wc)
{
	struct conn *c;

	if (wc->wr_id >> 63) {
		uint32_t slot = (uint32_t)wc->wr_id;

		c = conn_by_qpn(wc->qp_num);
		srq_give_back(slot);
		recv_completion(c, wc, t.srq_mem + (size_t)slot * t.slot, &t.j->srq, slot);
		srq_feed();
	} else {
		uint64_t seq = WR_SEQ(wc->wr_id);

		c = &t.conn[WR_CONN(wc->wr_id) % CONNS];
		if (c->gen != WR_GEN(wc->wr_id) || wc->qp_num != c->j->qpn)
			violation("connection %u: a completion of QP %u, which is gone",
				  c->index, wc->qp_num);
		if (!(wc->wr_id & WR_RECV)) {
			send_completion(c, wc);
		} else {
			if (seq != c->rq_head || seq >= c->rq_tail)
				violation("connection %u: receive %llu completed, not %llu of %llu",
					  c->index, (unsigned long long)seq,
					  (unsigned long long)c->rq_head,
					  (unsigned long long)c->rq_tail);
			c->rq_head++;
			recv_completion(c, wc, c->recv + seq % RQ_DEPTH * t.slot, c->j,
					seq % RQ_DEPTH);
			if (wc->status == IBV_WC_SUCCESS && c->j->state != CONN_DRAINING) {
				int err = conn_post_recvs(c);

				failed(c, err, "posting a receive");
				if (err)
					conn_drain(c);
			}
		}
	}
	if (wc->status != IBV_WC_SUCCESS && c->j->state == CONN_UP)
		conn_drain(c);
}

static void poll_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc[16];
	int n;

	while ((n = ibv_poll_cq(cq, 16, wc)) > 0)
		for (int i = 0; i < n; i++)
			completion(&wc[i]);
	/* the rings go with the device, whose end an event reports */
}

void poll_cqs(void)
{
	if (t.cq)
		poll_cq(t.cq);
	for (uint32_t i = 0; i < CONNS; i++)
		if (t.conn[i].j->qpn && t.conn[i].own_cq && !t.conn[i].overflow)
			poll_cq(t.conn[i].scq);
}

/* --- the end of a connection --------------------------------------------------- */

/*
 * To Error; then a last WR, the marker, shows the end of the SQ: it must be flushed, and all WRs
 * before it must complete before it.
 */
void conn_drain(struct conn *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };
	int err;

	if (c->j->state != CONN_DRAINING) {
		c->j->state = CONN_DRAINING;
		c->deadline = now_ms() + 15000 * t.slow;
	}
	if (c->modified)
		return;
	err = ibv_modify_qp(c->qp, &attr, IBV_QP_STATE);
	failed(c, err, "to Error");
	if (err)
		return;		/* called again */
	err = post(c, &wr, (struct sent){ .kind = OP_MARKER });
	failed(c, err, "posting in Error");
	c->modified = !err;
}

/* For an SRQ an event reports it; uverbs drops the event without memory for it. */
static bool receives_are_back(const struct conn *c, bool late)
{
	if (!c->use_srq)
		return c->rq_head == c->rq_tail;
	return c->last_wqe || (late && t.j->may_miss);
}

bool conn_drained(struct conn *c)
{
	bool late = now_ms() > c->deadline;

	if (!c->modified)
		conn_drain(c);
	if (c->marked && receives_are_back(c, late)) {
		poll_cqs();	/* completions that precede LAST_WQE_REACHED */
		if (c->sq_head != c->sq_tail)
			violation("connection %u: WRs behind the last one", c->index);
		return true;
	}
	if (late)
		violation("connection %u: not flushed: SQ %llu of %llu (%s), RQ %llu of %llu%s",
			  c->index, (unsigned long long)c->sq_head, (unsigned long long)c->sq_tail,
			  c->marked ? "marker" : c->modified ? "no marker" : "not modified",
			  (unsigned long long)c->rq_head, (unsigned long long)c->rq_tail,
			  !c->use_srq ? "" : c->last_wqe ? ", last WQE" : ", no last WQE");
	return false;
}
