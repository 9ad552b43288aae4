// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* One connection after start-up: what is sent, what is received, how it ends. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "mutate.h"

static void trace(struct conn *c, enum class class, const uint8_t *octets, uint32_t len)
{
	struct trace *t = &c->trace[c->traces++ % ARRAY_SIZE(c->trace)];

	t->class = class;
	t->len = len;
	memcpy(t->octets, octets, len < sizeof(t->octets) ? len : sizeof(t->octets));
}

/* Send the frame, and give it to the model */
void emit(struct conn *c, const struct frame *f, enum class class, const struct fpdu_lies *lies)
{
	uint8_t plain[2 + ULPDU_MAX + 8];
	struct markers none = { 0 };
	enum outcome before = c->model.outcome;
	unsigned int owed = c->model.owed_tail;
	uint32_t n;

	if (c->wire_len + 2 * ULPDU_MAX > sizeof(c->wire))
		flush_wire(c);
	c->wire_len += fpdu_encode(c->wire + c->wire_len, f->u, f->len, lies, &c->out);
	n = fpdu_encode(plain, f->u, f->len, lies, &none);
	trace(c, class, plain, n);
	model_put(&c->model, plain, n, !lies->crc_xor && lies->flip < 0);
	c->proves = c->model.owed_tail != owed;
	stats.frames++;
	if (before != RUNNING) {
		stats.dropped++;
		return;
	}
	if (class == CLASS_VALID && !f->split)
		stats.honest++;
	else
		stats.mutated++;
	if (class == CLASS_VALID && f->split)
		class = CLASS_SPLIT;
	stats.class_frames[class]++;
	if (c->model.outcome == RUNNING) {
		/* later errors are blamed on the frame that broke the framing */
		if (!model_in_fpdu(&c->model))
			c->open_class = CLASS_VALID;
		else if (c->open_class == CLASS_VALID)
			c->open_class = class;
		return;
	}
	c->bad_class = c->open_class != CLASS_VALID ? c->open_class : class;
	stats.class_bad[c->bad_class]++;
}

static void put_octets(struct conn *c, const uint8_t *p, uint32_t len)
{
	enum way way = way_of(c, len);

	p = way_stage(c, way, p, len);
	while (len) {
		ssize_t n = way_send(c, way, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			/* the device may reset a bad stream, not a good one */
			if (c->model.outcome == RUNNING)
				fail(c, "send: %s", strerror(errno));
			c->stopped = true;
			return;
		}
		p += n;
		len -= n;
	}
}

/* Any segmentation is allowed (RFC 5044 5.1): whole, in pieces, in single octets at first */
void flush_wire(struct conn *c)
{
	uint32_t off = 0, max = c->wire_len, pieces = 0;

	if (chance(c, 10))
		max = 1 + below(c, 64);
	else if (chance(c, 15))
		max = 1 + below(c, 2000);
	while (off < c->wire_len) {
		uint32_t n = c->wire_len - off;

		if (max < n && pieces++ < 16)
			n = 1 + below(c, max);
		put_octets(c, c->wire + off, n);
		off += n;
	}
	c->wire_len = 0;
}

/* Reception --------------------------------------------------------------- */

static int code_of(uint8_t layer, uint8_t type, uint8_t code)
{
	for (int i = 0; i < CODE_COUNT; i++)
		if (code_rows[i].layer == layer && code_rows[i].type == type &&
		    code_rows[i].code == code)
			return i;
	return -1;
}

static void got_terminate(struct conn *c, const uint8_t *p, uint32_t len)
{
	uint32_t word;

	c->terminated = true;
	c->term_code = -1;
	if (len < 4) {
		fail(c, "a Terminate of %u octets", len);
		return;
	}
	word = get32(p);
	c->term_code = code_of(word >> 28, word >> 24 & 15, word >> 16 & 255);
	c->term_quote = word >> 13 & 7;
	c->term_len = len < sizeof(c->term) ? len : sizeof(c->term);
	memcpy(c->term, p, c->term_len);
	if (c->term_code < 0 && (word >> 24))
		fail(c, "Terminate %x/%x/%02x", word >> 28, word >> 24 & 15, word >> 16 & 255);
	if (word & 0x1fff)
		fail(c, "reserved bits of a Terminate");
}

static void got_read_response(struct conn *c, const uint8_t *u, uint32_t len)
{
	struct owed *o = &c->model.owed[c->model.owed_head % ARRAY_SIZE(c->model.owed)];
	uint32_t n = len - TAGGED_LEN;

	if (c->model.owed_head == c->model.owed_tail || o->atomic) {
		fail(c, "a Read Response that nobody asked for");
		return;
	}
	if (get32(u + 2) != o->sink_stag || get64(u + 6) != o->sink_to + c->rx_off) {
		fail(c, "a Read Response for %08x %#llx, not %08x %#llx", get32(u + 2),
		     (unsigned long long)get64(u + 6), o->sink_stag,
		     (unsigned long long)o->sink_to + c->rx_off);
		return;
	}
	if (n > o->size - c->rx_off || !!(u[0] & DDP_L) != (c->rx_off + n == o->size)) {
		fail(c, "a Read Response of %u octets at %u of %u, L %d", n, c->rx_off, o->size,
		     !!(u[0] & DDP_L));
		return;
	}
	if (o->data && o->writes == c->model.writes &&
	    memcmp(u + TAGGED_LEN, o->data + c->rx_off, n))
		fail(c, "a Read Response with other data than there is");
	c->rx_off += n;
	if (u[0] & DDP_L) {
		c->rx_off = 0;
		c->model.owed_head++;
	}
}

static void got_atomic_response(struct conn *c, const uint8_t *p, uint32_t len)
{
	struct owed *o = &c->model.owed[c->model.owed_head % ARRAY_SIZE(c->model.owed)];

	if (c->model.owed_head == c->model.owed_tail || !o->atomic)
		fail(c, "an Atomic Response that nobody asked for");
	else if (len != ATOMIC_RESP_LEN || get32(p) != o->id || get64(p + 4) != o->value)
		fail(c, "an Atomic Response of %u octets, %08x %#llx, not %08x %#llx", len,
		     get32(p), (unsigned long long)get64(p + 4), o->id,
		     (unsigned long long)o->value);
	else
		c->model.owed_head++;
}

/* The next of prey's operations that sends a request */
static int next_request(const struct conn *c)
{
	int n = c->requests;

	for (int i = 0; i < c->slot->ops; i++)
		if (c->slot->op[i].opcode != IBV_WR_SEND &&
		    c->slot->op[i].opcode != IBV_WR_RDMA_WRITE && !n--)
			return i;
	return -1;
}

static void got_request(struct conn *c, const uint8_t *p, uint32_t len, bool atomic)
{
	struct asked *a = &c->model.asked[c->model.asked_tail];

	if (len != (atomic ? ATOMIC_REQ_LEN : READ_REQ_LEN) ||
	    c->model.asked_tail == ARRAY_SIZE(c->model.asked)) {
		fail(c, "a request of %u octets", len);
		return;
	}
	*a = (struct asked){ .atomic = atomic, .op = -1 };
	if (atomic) {
		a->id = get32(p + 4);
	} else {
		a->sink_stag = get32(p);
		a->sink_to = get64(p + 4);
		a->size = get32(p + 12);
	}
	if (c->rtr_due) {
		if (atomic || a->size)
			fail(c, "an RTR that is none");
	} else {
		a->op = next_request(c);
		c->requests++;
		if (a->op < 0 || a->size > SINK_LEN)
			fail(c, "a request that the program did not make");
	}
	c->model.asked_tail++;
}

static void got_untagged(struct conn *c, const uint8_t *u, uint32_t len)
{
	static const int qns[16] = {
		[OP_READ_REQ] = 1, [OP_TERMINATE] = 2, [OP_ATOMIC_REQ] = 1, [OP_ATOMIC_RESP] = 3,
	};
	uint8_t op = u[1] & 15;
	uint32_t qn = get32(u + 6), mo = get32(u + 14), n = len - UNTAGGED_LEN;
	const uint8_t *p = u + UNTAGGED_LEN;

	if (op > OP_ATOMIC_RESP || op == OP_WRITE || op == OP_READ_RESP ||
	    qn != (uint32_t)qns[op] || get32(u + 10) != c->rx_msn[qn] ||
	    mo != (qn ? 0 : c->rx_mo) || (qn && !(u[0] & DDP_L))) {
		fail(c, "opcode %u with QN %u, MSN %u, MO %u, L %d", op, qn, get32(u + 10), mo,
		     !!(u[0] & DDP_L));
		return;
	}
	c->rx_mo = qn || (u[0] & DDP_L) ? 0 : mo + n;
	if (u[0] & DDP_L)
		c->rx_msn[qn]++;
	switch (op) {
	case OP_TERMINATE:
		got_terminate(c, p, n);
		return;
	case OP_ATOMIC_RESP:
		got_atomic_response(c, p, n);
		return;
	case OP_READ_REQ:
	case OP_ATOMIC_REQ:
		got_request(c, p, n, op == OP_ATOMIC_REQ);
		break;
	}
	c->messages += !!(u[0] & DDP_L);
	c->rtr_due = false;
}

static void got_fpdu(struct conn *c)
{
	const uint8_t *u = c->in.buf + 2;
	uint32_t len = get16(c->in.buf);

	if (c->in.bad) {
		fail(c, "%s", c->in.bad);
	} else if (c->terminated) {
		fail(c, "a segment after the Terminate");
	} else if (len < TAGGED_LEN || (!(u[0] & DDP_T) && len < UNTAGGED_LEN) ||
		   (u[0] & 0x3f) != 1 || (u[1] & 0xf0) != 0x40) {
		fail(c, "a segment of %u octets, %02x %02x", len, u[0], u[1]);
	} else if (!(u[0] & DDP_T)) {
		got_untagged(c, u, len);
	} else if ((u[1] & 15) == OP_READ_RESP) {
		got_read_response(c, u, len);
	} else if ((u[1] & 15) == OP_WRITE) {
		c->messages += !!(u[0] & DDP_L);
		c->rtr_due = false;
	} else {
		fail(c, "a tagged segment with opcode %u", u[1] & 15);
	}
	c->in.have = c->in.start = 0;
	c->in.crc = ~0U;
}

/* Read until @done returns true or the stream ends */
void pump(struct conn *c, bool (*done)(struct conn *))
{
	uint8_t buf[65536];

	while (!c->failed && !c->eof && !c->reset && !done(c)) {
		ssize_t n = recv(c->fd, buf, sizeof(buf), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			fail(c, "nothing comes in time, neither answer nor end");
			return;
		}
		if (n <= 0) {
			c->eof = !n;
			c->reset = n < 0;
			ways_spoil(c);
			if (c->in.have)
				fail(c, "%s inside of an FPDU from the device", n ? "RST" : "FIN");
			return;
		}
		for (ssize_t off = 0; off < n;) {
			bool complete;

			off += deframer_put(&c->in, buf + off, n - off, &complete);
			if (complete)
				got_fpdu(c);
		}
	}
}

/* The stream -------------------------------------------------------------- */

static unsigned int under_way(const struct conn *c)
{
	return c->model.owed_tail - c->model.owed_head;
}

static bool all_answered(struct conn *c)
{
	return !under_way(c);
}

static bool one_answered(struct conn *c)
{
	return under_way(c) < c->ird;
}

static const struct fpdu_lies honest = { .length = -1, .flip = -1 };

static void sync_answers(struct conn *c)
{
	flush_wire(c);
	pump(c, all_answered);
	if (all_answered(c) && c->proves)
		ways_spoil(c);
	/* the stream may end only where the model ends it */
	if (!all_answered(c) && !c->failed)
		fail(c, "the stream ended (%s%s) with %u answers owed",
		     c->terminated ? "Terminate " : "",
		     c->term_code >= 0 && c->terminated ? code_rows[c->term_code].name : "",
		     under_way(c));
}

/* Send a part of the frame, then end the stream */
static void cut_frame(struct conn *c, const struct frame *f, enum class class)
{
	uint8_t plain[2 + ULPDU_MAX + 8];
	struct markers none = { 0 };
	uint32_t n = fpdu_encode(plain, f->u, f->len, &honest, &none), cut;

	cut = chance(c, 30) ? below(c, n < 24 ? n : 24) : below(c, n);
	/*
	 * A RST may discard octets that are not read yet, so the device must have read all before
	 * it. Without an answer that shows this, send FIN.
	 */
	if (class == CLASS_RST && c->proves)
		sync_answers(c);
	else
		class = CLASS_FIN;
	if (c->failed)
		return;
	trace(c, class, plain, cut);
	if (!c->out.on) {
		memcpy(c->wire + c->wire_len, plain, cut);
		c->wire_len += cut;
	} else {
		uint8_t marked[2 * ULPDU_MAX];

		/* with markers the place of the cut makes no difference to the model */
		fpdu_encode(marked, f->u, f->len, &honest, &c->out);
		memcpy(c->wire + c->wire_len, marked, cut);
		c->wire_len += cut;
	}
	model_put(&c->model, plain, cut, false);
	model_cut(&c->model);
	stats.frames++;
	stats.mutated++;
	stats.class_frames[class]++;
	stats.class_bad[class] += cut > 0;
	c->bad_class = class;
	c->finish = class == CLASS_RST ? FINISH_RST : FINISH_CUT;
	c->stopped = true;
}

/* Leave the frame out: the sender continues as if it had been sent */
static void omit(struct conn *c, const struct frame *f)
{
	stats.mutated++;
	stats.class_frames[CLASS_OMIT]++;
	c->open_class = CLASS_OMIT;
	if (c->q_head == c->q_tail) {
		queue_message(c);
		for (unsigned int i = c->q_head; i != c->q_tail; i++) {
			struct frame *g = &c->queue[i % MAX_QUEUE];

			if (!(f->u[0] & DDP_T) && !(g->u[0] & DDP_T) &&
			    get32(f->u + 6) == get32(g->u + 6))
				put32(g->u + 10, get32(g->u + 10) + 1);
		}
	}
	c->force = c->q_tail - c->q_head;
}

static void send_one(struct conn *c, struct frame *f)
{
	struct fpdu_lies lies = honest;
	enum class class;
	struct frame *g;

	if (under_way(c) >= c->ird) {
		flush_wire(c);
		pump(c, one_answered);
		if (under_way(c) >= c->ird && !c->failed)
			fail(c, "the stream ended with %u answers owed", under_way(c));
		if (c->failed)
			return;
	}
	class = mutate_frame(c, f, &lies);
	c->frames--;
	switch (class) {
	case CLASS_OMIT:
		omit(c, f);
		return;
	case CLASS_SWAP:
		if (c->q_head == c->q_tail)
			queue_message(c);
		g = &c->queue[c->q_head++ % MAX_QUEUE];
		emit(c, g, class, &lies);
		if (c->model.outcome != RUNNING || under_way(c) >= c->ird)
			return;
		emit(c, f, class, &lies);
		return;
	case CLASS_DUP:
		emit(c, f, CLASS_VALID, &lies);
		if (c->model.outcome == RUNNING && under_way(c) < c->ird)
			emit(c, f, class, &lies);
		return;
	case CLASS_FIN:
	case CLASS_RST:
		cut_frame(c, f, class);
		return;
	default:
		emit(c, f, class, &lies);
	}
}

void send_frames(struct conn *c)
{
	ways_impatient(c);
	while (c->frames > 0 && c->model.outcome == RUNNING && !c->stopped && !c->failed) {
		struct frame f;
		bool async;

		if (c->q_head == c->q_tail)
			queue_message(c);
		f = c->queue[c->q_head++ % MAX_QUEUE];
		/*
		 * The frames behind a mutated one of the same message are often bad, too, and would
		 * end each stream in the same way: most of these are left out
		 */
		if (c->force) {
			c->force--;
		} else if (model_judge(&c->model, f.u, f.len, &async) && chance(c, 80)) {
			c->q_head = c->q_tail;
			continue;
		}
		send_one(c, &f);
	}
	if (c->failed)
		return;
	/* frames sent after the error are dropped, and do not overtake the Terminate */
	if (c->model.outcome == BAD && !c->model.async && !c->stopped && chance(c, 15))
		for (int n = 1 + below(c, 4); n; n--) {
			struct frame f;

			c->q_head = c->q_tail;
			queue_message(c);
			f = c->queue[c->q_head % MAX_QUEUE];
			emit(c, &f, CLASS_VALID, &honest);
		}
	flush_wire(c);
}

static bool never(struct conn *c)
{
	return false;
}

/* Answer all requests of the device, and wait for its answers */
static void settle(struct conn *c)
{
	struct frame f;

	while (c->model.open || c->model.asked_head != c->model.asked_tail) {
		c->q_head = c->q_tail;
		if (c->model.open) {
			queue_message(c);
			/* only the end of the Send */
			c->q_tail = c->q_head + 1;
		} else {
			queue_answer(c);
		}
		while (c->q_head != c->q_tail) {
			f = c->queue[c->q_head++ % MAX_QUEUE];
			emit(c, &f, CLASS_VALID, &honest);
		}
		if (c->model.outcome != RUNNING) {
			fail(c, "the peer's own answer is bad");
			return;
		}
	}
	sync_answers(c);
}

void finish_stream(struct conn *c)
{
	struct linger rst = { 1, 0 };

	if (c->failed)
		return;
	if (c->model.outcome == RUNNING && !c->stopped && !model_in_fpdu(&c->model) &&
	    chance(c, 90))
		settle(c);
	if (c->failed)
		return;
	switch (c->finish) {
	case FINISH_RST:
		flush_wire(c);
		setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &rst, sizeof(rst));
		c->reset = true;
		return;
	case FINISH_FIN:
	case FINISH_CUT:
		/* a Terminate must come without our FIN, too */
		if (c->model.outcome == RUNNING) {
			flush_wire(c);
			model_cut(&c->model);
			c->early = model_in_fpdu(&c->model) || c->model.open || under_way(c);
			shutdown(c->fd, SHUT_WR);
		}
		break;
	default:
		break;
	}
	pump(c, never);
}

static void check_quote(struct conn *c, int quote)
{
	const uint8_t *p = c->term + 4;
	uint32_t hdr = c->model.bad[0] & DDP_T ? TAGGED_LEN : UNTAGGED_LEN;

	if (c->term_quote != quote) {
		fail(c, "Terminate %s quotes %d, not %d (M 4, D 2, R 1)",
		     code_rows[c->term_code].name, c->term_quote, quote);
		return;
	}
	if (!quote)
		return;
	if (get16(p) != c->model.bad_ulpdu_len)
		fail(c, "Terminate with a segment length of %u, not %u", get16(p),
		     c->model.bad_ulpdu_len);
	else if (memcmp(p + 2, c->model.bad, hdr))
		fail(c, "Terminate quotes another DDP header");
	else if ((quote & QUOTE_R) && memcmp(p + 2 + hdr, c->model.bad + hdr, READ_REQ_LEN))
		fail(c, "Terminate quotes another Read Request");
}

static uint64_t due_codes(struct conn *c, bool *must)
{
	bool asked = c->model.asked_head != c->model.asked_tail;

	/* the device may see the peer's RST first */
	*must = c->model.outcome == BAD && c->finish != FINISH_RST;
	if (c->model.outcome == BAD)
		return c->model.codes;
	if (c->model.outcome == TERMINATED || c->finish == FINISH_RST)
		return 0;
	/* FIN: orderly only between messages (RFC 5040 6.2) */
	if (c->early)
		return B(LLP_LOST) | B(OP_STREAM);
	*must = asked;
	return asked ? B(OP_STREAM) | B(LLP_LOST) : 0;
}

void check_stream(struct conn *c)
{
	uint64_t codes;
	bool must;

	if (c->failed || c->closed)
		return;
	codes = due_codes(c, &must);
	if (c->model.outcome == BAD)
		stats.codes[c->bad_class][c->terminated && c->term_code >= 0 ? c->term_code :
					  CODE_COUNT]++;
	else if (c->stopped)
		stats.codes[c->bad_class][c->terminated && c->term_code >= 0 ? c->term_code :
					  CODE_COUNT]++;
	if (c->terminated && (c->term_code < 0 || !(codes >> c->term_code & 1)))
		fail(c, "Terminate %s is not one of the right ones (%#llx)",
		     c->term_code < 0 ? "local catastrophic" : code_rows[c->term_code].name,
		     (unsigned long long)codes);
	else if (!c->terminated && must)
		fail(c, "no Terminate (of %#llx), but %s", (unsigned long long)codes,
		     c->reset ? "RST" : "FIN");
	else if (c->terminated && c->model.outcome == BAD)
		check_quote(c, code_rows[c->term_code].layer == 2 ? 0 :
			    c->term_code <= CODE_PROT_WRAP ? c->model.quote :
			    c->model.quote & ~QUOTE_R);
	else if (c->model.async && under_way(c))
		fail(c, "Terminate with %u answers to earlier requests owed", under_way(c));
	else if (c->model.outcome == RUNNING && !c->stopped && c->reset && c->finish != FINISH_RST)
		fail(c, "RST in place of FIN");
}
