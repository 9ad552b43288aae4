// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Valid messages of all kinds, and mutations of their frames. */
#include <string.h>
#include "mutate.h"

static struct frame *new_frame(struct conn *c)
{
	struct frame *f = &c->queue[c->q_tail++ % MAX_QUEUE];

	f->len = 0;
	f->split = false;
	return f;
}

static unsigned int room(const struct conn *c)
{
	return MAX_QUEUE - (c->q_tail - c->q_head);
}

static void fill(struct conn *c, uint8_t *p, uint32_t len)
{
	uint64_t x = 0;

	for (uint32_t i = 0; i < len; i++) {
		if (!(i % 8))
			x = rnd(c);
		p[i] = x >> i % 8 * 8;
	}
}

/* How a message is cut: returns the octets of the next frame, *last: whether it is the last */
static uint32_t piece(struct conn *c, uint32_t left, bool split, bool *last)
{
	uint32_t n = left;

	if (split && chance(c, 60))
		n = chance(c, 15) ? 0 : below(c, left + 1);
	*last = n == left && (!split || chance(c, 80));
	return n;
}

static void queue_write(struct conn *c, uint32_t stag, uint64_t to, uint32_t len, enum op op,
			const uint8_t *data)
{
	bool split = chance(c, 25), last = false;
	uint32_t n;

	do {
		struct frame *f = new_frame(c);

		n = piece(c, len, split && room(c) > 8, &last);
		/* the frame with the last octets has L: their number is known from the request */
		if (op == OP_READ_RESP && n && n == len)
			last = true;
		if (n > ULPDU_MAX - 64) {
			n = ULPDU_MAX - 64;
			last = false;
		}
		f->split = split;
		f->len = tagged_hdr(f->u, op, last, stag, to);
		if (data)
			memcpy(f->u + f->len, data, n);
		else
			fill(c, f->u + f->len, n);
		f->len += n;
		to += n;
		len -= n;
		if (data)
			data += n;
	} while (!last);
}

static void queue_send(struct conn *c, enum op op, uint32_t inv, uint32_t len)
{
	bool split = chance(c, 30), last = false;
	uint32_t n, mo = 0;

	do {
		struct frame *f = new_frame(c);

		n = piece(c, len - mo, split && room(c) > 8, &last);
		f->split = split;
		f->len = untagged_hdr(f->u, op, last, inv, 0, c->next_msn[0], mo);
		fill(c, f->u + f->len, n);
		f->len += n;
		mo += n;
	} while (!last);
	c->next_msn[0]++;
	c->next_recv++;
}

static uint64_t base_of(const struct conn *c, enum area_id a)
{
	return (uintptr_t)c->slot->mem + areas[a].off;
}

/* A place of @len octets at most within a region, at its edges more often than not */
static uint64_t within(struct conn *c, enum area_id a, uint32_t *len)
{
	uint32_t off;

	if (*len > areas[a].len)
		*len = areas[a].len;
	off = below(c, areas[a].len - *len + 1);
	if (chance(c, 20))
		off = chance(c, 50) ? 0 : areas[a].len - *len;
	return base_of(c, a) + off;
}

static void message_write(struct conn *c)
{
	uint32_t len = chance(c, 10) ? 0 : below(c, chance(c, 10) ? 2000 : 300);
	const struct stag *w = &c->model.window;
	uint64_t to;

	if (!len && chance(c, 50)) {		/* STag and TO have no meaning then */
		queue_write(c, rnd(c), rnd(c), 0, OP_WRITE, NULL);
	} else if (c->model.has_window && w->valid && chance(c, 40)) {
		len = len > MW_LEN ? MW_LEN : len;
		to = w->base + below(c, MW_LEN - len + 1);
		queue_write(c, w->stag, to, len, OP_WRITE, NULL);
	} else {
		enum area_id a = chance(c, 70) ? AREA_ALL : AREA_WO;

		to = within(c, a, &len);
		queue_write(c, c->slot->mr[a]->rkey, to, len, OP_WRITE, NULL);
	}
}

static void message_send(struct conn *c)
{
	uint32_t len = below(c, c->slot->recv_len + 1);
	const struct stag *w = &c->model.window;

	if (chance(c, 15))
		len = c->slot->recv_len;
	/* not while it is being read: a Send may overtake an answer (RFC 5040 5.5) */
	if (c->model.has_window && w->valid && chance(c, 10) &&
	    c->model.owed_head == c->model.owed_tail)
		queue_send(c, chance(c, 50) ? OP_SEND_INV : OP_SEND_SE_INV, w->stag, len);
	else
		queue_send(c, chance(c, 70) ? OP_SEND : OP_SEND_SE, 0, len);
}

static void message_imm(struct conn *c)
{
	struct frame *f = new_frame(c);

	f->len = untagged_hdr(f->u, chance(c, 50) ? OP_IMM : OP_IMM_SE, true, 0, 0,
			      c->next_msn[0]++, 0);
	fill(c, f->u + f->len, 8);
	f->len += 8;
	c->next_recv++;
}

static void message_read(struct conn *c)
{
	uint32_t len = chance(c, 15) ? 0 : below(c, chance(c, 10) ? 5000 : 400), stag;
	const struct stag *w = &c->model.window;
	struct frame *f = new_frame(c);
	uint64_t to;
	uint8_t *p;

	if (!len) {
		stag = rnd(c);
		to = rnd(c);
	} else if (c->model.has_window && w->valid && chance(c, 30)) {
		len = len > MW_LEN ? MW_LEN : len;
		stag = w->stag;
		to = w->base + below(c, MW_LEN - len + 1);
	} else {
		enum area_id a = chance(c, 60) ? AREA_RO : chance(c, 70) ? AREA_ALL : AREA_AT;

		to = within(c, a, &len);
		stag = c->slot->mr[a]->rkey;
	}
	f->len = untagged_hdr(f->u, OP_READ_REQ, true, 0, 1, c->next_msn[1]++, 0);
	p = f->u + f->len;
	put32(p, rnd(c));
	put64(p + 4, rnd(c) >> below(c, 64));
	put32(p + 12, len);
	put32(p + 16, stag);
	put64(p + 20, to);
	f->len += READ_REQ_LEN;
}

static void message_atomic(struct conn *c)
{
	struct frame *f = new_frame(c);
	uint8_t *p;

	f->len = untagged_hdr(f->u, OP_ATOMIC_REQ, true, 0, 1, c->next_msn[1]++, 0);
	p = f->u + f->len;
	put32(p, chance(c, 50) ? 0 : 2);
	put32(p + 4, rnd(c));
	put32(p + 8, c->slot->mr[AREA_AT]->rkey);
	put64(p + 12, base_of(c, AREA_AT) + below(c, areas[AREA_AT].len / 8) * 8);
	fill(c, p + 20, 32);
	if (chance(c, 50)) {		/* without masks, and with the present contents */
		uint64_t now;

		memcpy(&now, c->model.shadow + (get64(p + 12) - (uintptr_t)c->model.base), 8);
		put64(p + 28, p[3] ? ~0ULL : 0);
		put64(p + 36, p[3] ? now : 0);
		put64(p + 44, ~0ULL);
	}
	f->len += ATOMIC_REQ_LEN;
}

static void message_terminate(struct conn *c)
{
	struct frame *f = new_frame(c);
	uint32_t n = 4 + below(c, 49);

	f->len = untagged_hdr(f->u, OP_TERMINATE, true, 0, 2, c->next_msn[2]++, 0);
	fill(c, f->u + f->len, n);
	f->len += n;
}

/* The valid answer to the device's oldest unanswered request */
void queue_answer(struct conn *c)
{
	const struct asked *a = &c->model.asked[c->model.asked_head];
	uint8_t data[SINK_LEN];
	struct frame *f;

	if (a->atomic) {
		f = new_frame(c);
		f->len = untagged_hdr(f->u, OP_ATOMIC_RESP, true, 0, 3, c->model.msn[3], 0);
		put32(f->u + f->len, a->id);
		put64(f->u + f->len + 4, rnd(c));
		f->len += ATOMIC_RESP_LEN;
		return;
	}
	fill(c, data, a->size);
	queue_write(c, a->sink_stag, a->sink_to + a->off, a->size - a->off, OP_READ_RESP, data);
}

/* Queue one or several messages, as an honest peer would send them */
void queue_message(struct conn *c)
{
	uint32_t kind = below(c, 100);

	/* an honest sender's MSNs are those that the device has served */
	memcpy(c->next_msn, c->model.msn, sizeof(c->next_msn));
	c->next_recv = c->model.delivered;
	if (c->model.open) {		/* a Send has no end yet: continue it */
		struct frame *f = new_frame(c);

		f->len = untagged_hdr(f->u, OP_SEND, true, 0, 0, c->model.msn[0], c->model.mo);
		return;
	}
	if (c->model.asked_head != c->model.asked_tail && chance(c, 25)) {
		queue_answer(c);
		return;
	}
	if (kind < 1 && !c->honest && chance(c, 20))
		message_terminate(c);
	else if (kind < 35 && c->next_recv < c->slot->recvs)
		message_send(c);
	else if (kind < 40 && c->next_recv < c->slot->recvs)
		message_imm(c);
	else if (kind < 60)
		message_read(c);
	else if (kind < 68)
		message_atomic(c);
	else
		message_write(c);
}

/* Mutation ---------------------------------------------------------------- */

struct field {
	uint8_t off, size;
};

static const struct field tagged_fields[] = {
	{ 0, 1 }, { 1, 1 }, { 2, 4 }, { 6, 8 }, { 6, 4 }, { 10, 4 },
};

static const struct field untagged_fields[] = {
	{ 0, 1 }, { 1, 1 }, { 2, 4 }, { 6, 4 }, { 10, 4 }, { 14, 4 },
};

static const struct field read_fields[] = {
	{ 18, 4 }, { 22, 8 }, { 30, 4 }, { 34, 4 }, { 38, 8 },
};

static const struct field atomic_fields[] = {
	{ 18, 4 }, { 22, 4 }, { 26, 4 }, { 30, 8 }, { 38, 8 }, { 46, 8 }, { 54, 8 }, { 62, 8 },
};

static const struct field resp_fields[] = {
	{ 18, 4 }, { 22, 8 },
};

static struct field pick_field(struct conn *c, const struct frame *f)
{
	uint8_t op = f->u[1] & 15;

	if (f->u[0] & DDP_T)
		return tagged_fields[below(c, ARRAY_SIZE(tagged_fields))];
	if (op == OP_READ_REQ && f->len >= 46 && chance(c, 50))
		return read_fields[below(c, ARRAY_SIZE(read_fields))];
	if (op == OP_ATOMIC_REQ && f->len >= 70 && chance(c, 50))
		return atomic_fields[below(c, ARRAY_SIZE(atomic_fields))];
	if (op == OP_ATOMIC_RESP && f->len >= 30 && chance(c, 50))
		return resp_fields[below(c, ARRAY_SIZE(resp_fields))];
	return untagged_fields[below(c, ARRAY_SIZE(untagged_fields))];
}

static uint64_t some_address(struct conn *c)
{
	enum area_id a = below(c, AREA_COUNT);
	uint64_t base = base_of(c, a);

	switch (below(c, 5)) {
	case 0: return base;
	case 1: return base - 1;
	case 2: return base + areas[a].len;
	case 3: return base + areas[a].len - 1;
	default: return base + below(c, areas[a].len);
	}
}

/* An edge value, or one near the valid one */
static uint64_t edge(struct conn *c, uint64_t was, int size)
{
	static const uint64_t values[] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 0x3fff, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
		0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
		0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffff8, 0xfffffffffffff000,
	};

	switch (below(c, 6)) {
	case 0: return was + 1;
	case 1: return was - 1;
	case 2: return was ^ 1ULL << below(c, 8 * size);
	case 3: return size == 8 && chance(c, 70) ? some_address(c) : rnd(c);
	default: return values[below(c, ARRAY_SIZE(values))];
	}
}

static void change_field(struct conn *c, struct frame *f)
{
	struct field fd = pick_field(c, f);
	uint64_t v;

	if ((uint32_t)fd.off + fd.size > f->len)
		return;
	switch (fd.size) {
	case 1:
		v = edge(c, f->u[fd.off], 1);
		/* a control octet has small fields: change one of them */
		if (fd.off == 0)
			f->u[0] ^= (uint8_t[]){ 1, 2, 3, 0x40, 0x80, 0xc0 }[below(c, 6)];
		else if (chance(c, 60))
			f->u[1] = (f->u[1] & 0xf0) | (v & 0xf);
		else
			f->u[1] = v;
		break;
	case 4:
		put32(f->u + fd.off, edge(c, get32(f->u + fd.off), 4));
		break;
	case 8:
		put64(f->u + fd.off, edge(c, get64(f->u + fd.off), 8));
		break;
	}
}

/* Where a frame refers to memory of the device: offset of the STag, of the TO, or 0 */
static uint32_t stag_at(const struct frame *f, uint32_t *to)
{
	uint8_t op = f->u[1] & 15;

	if (f->u[0] & DDP_T) {
		*to = 6;
		return 2;
	}
	if (op == OP_READ_REQ && f->len >= 46) {
		*to = 38;
		return 34;
	}
	if (op == OP_ATOMIC_REQ && f->len >= 70) {
		*to = 30;
		return 26;
	}
	*to = 0;
	return op == OP_SEND_INV || op == OP_SEND_SE_INV ? 2 : 0;
}

/* A known STag that is not valid for this access, with a place in its memory */
static void change_stag(struct conn *c, struct frame *f)
{
	const struct stag *st = &c->model.stags[below(c, c->model.stag_count)];
	uint32_t to, at = stag_at(f, &to);

	if (!at) {
		f->u[1] = (f->u[1] & 0xf0) | OP_SEND_INV;
		at = 2;
		to = 0;
	}
	if (chance(c, 50)) {	/* of this slot */
		enum area_id a = below(c, AREA_COUNT);

		put32(f->u + at, c->slot->mr[a]->rkey);
		if (to && chance(c, 80))
			put64(f->u + to, base_of(c, a) + below(c, 64) * 8);
		return;
	}
	/* another QP's memory must not change: choose a place behind it */
	put32(f->u + at, st->stag);
	if (to)
		put64(f->u + to, st->base + st->len);
}

/* Change the payload, or fields of an RDMAP header that may have any value */
static void change_payload(struct conn *c, struct frame *f)
{
	uint8_t op = f->u[1] & 15;
	uint32_t hdr = f->u[0] & DDP_T ? TAGGED_LEN : UNTAGGED_LEN;

	if (op == OP_READ_REQ) {
		if (chance(c, 50))
			put32(f->u + hdr, edge(c, get32(f->u + hdr), 4));
		else
			put64(f->u + hdr + 4, edge(c, get64(f->u + hdr + 4), 8));
	} else if (op == OP_ATOMIC_REQ) {
		uint32_t off = hdr + 20 + 8 * below(c, 4);

		if (chance(c, 30))
			put32(f->u + hdr + 4, rnd(c));
		put64(f->u + off, edge(c, get64(f->u + off), 8));
	} else if (op == OP_ATOMIC_RESP) {
		put64(f->u + hdr + 4, edge(c, get64(f->u + hdr + 4), 8));
	} else if (f->len > hdr) {
		for (int n = 1 + below(c, 4); n; n--)
			f->u[hdr + below(c, f->len - hdr)] ^= 1 << below(c, 8);
	}
}

/* A Write that ends at the edge of its region, a Read or atomic at the edge of its source */
static void change_place(struct conn *c, struct frame *f)
{
	uint8_t op = f->u[1] & 15;
	enum area_id a = chance(c, 50) ? AREA_ALL : AREA_WO;
	uint32_t len = f->len - TAGGED_LEN;

	if ((f->u[0] & DDP_T) && op == OP_WRITE && len <= areas[a].len) {
		put32(f->u + 2, c->slot->mr[a]->rkey);
		put64(f->u + 6, base_of(c, a) + (chance(c, 50) ? 0 : areas[a].len - len));
	} else if (op == OP_READ_REQ) {
		len = chance(c, 50) ? areas[AREA_RO].len : 1;
		put32(f->u + 30, len);
		put32(f->u + 34, c->slot->mr[AREA_RO]->rkey);
		put64(f->u + 38, base_of(c, AREA_RO) + areas[AREA_RO].len - len);
	} else if (op == OP_ATOMIC_REQ) {
		put64(f->u + 30, base_of(c, AREA_AT) + (chance(c, 50) ? 0 :
							areas[AREA_AT].len - 8));
	}
}

static void change_reserved(struct conn *c, struct frame *f)
{
	uint8_t op = f->u[1] & 15;

	f->u[0] |= below(c, 16) << 2;
	f->u[1] |= below(c, 4) << 4;
	if (!(f->u[0] & DDP_T) && op != OP_SEND_INV && op != OP_SEND_SE_INV)
		put32(f->u + 2, rnd(c));
	if (op == OP_ATOMIC_REQ && f->len >= 22)
		f->u[18] = rnd(c);
}

static void change_length(struct conn *c, struct frame *f, bool longer)
{
	uint32_t n;

	if (longer) {
		n = chance(c, 60) ? 1 + below(c, 4) : 1 + below(c, 200);
		if (f->len + n > ULPDU_MAX - 8)
			return;
		fill(c, f->u + f->len, n);
		f->len += n;
	} else {
		n = chance(c, 40) ? 1 + below(c, 4) : 1 + below(c, f->len);
		f->len -= n < f->len ? n : f->len;
	}
}

static enum class mild_class(struct conn *c)
{
	static const enum class classes[] = {
		CLASS_PAD, CLASS_RESERVED, CLASS_RESERVED, CLASS_PAYLOAD, CLASS_PAYLOAD,
		CLASS_PLACE, CLASS_PLACE,
	};

	return c->out.on && chance(c, 15) ? CLASS_MARKER : classes[below(c, ARRAY_SIZE(classes))];
}

static enum class wild_class(struct conn *c)
{
	static const enum class classes[] = {
		CLASS_BIT, CLASS_BIT, CLASS_OCTET, CLASS_OCTET, CLASS_FIELD, CLASS_FIELD,
		CLASS_FIELD, CLASS_FIELD, CLASS_FIELDS, CLASS_STAG, CLASS_STAG, CLASS_TRUNC,
		CLASS_EXTEND, CLASS_LENGTH, CLASS_CRC, CLASS_UNCRC, CLASS_DUP, CLASS_DUP,
		CLASS_OMIT, CLASS_SWAP, CLASS_SWAP, CLASS_FIN, CLASS_RST,
	};

	return classes[below(c, ARRAY_SIZE(classes))];
}

/* Change the frame, or decide what is done with it */
enum class mutate_frame(struct conn *c, struct frame *f, struct fpdu_lies *lies)
{
	static const int lengths[] = { 0, 1, 2, 13, 14, 15, 17, 18, 19, 127, 128, 0x7fff, 0x8000,
				       64768, 64769, 0xfffe, 0xffff };
	enum class class = c->honest ? CLASS_VALID : chance(c, c->wild) ? wild_class(c) :
			   chance(c, 92) ? mild_class(c) : CLASS_VALID;

	if (class == CLASS_UNCRC && c->out.on)
		class = CLASS_CRC;
	if (class == CLASS_PAD && (f->len + 2) % 4 == 0)
		class = CLASS_RESERVED;
	switch (class) {
	case CLASS_PAD:
		lies->pad = 1 + below(c, 255);
		break;
	case CLASS_RESERVED:
		change_reserved(c, f);
		break;
	case CLASS_PAYLOAD:
		change_payload(c, f);
		break;
	case CLASS_PLACE:
		change_place(c, f);
		break;
	case CLASS_BIT:
		f->u[chance(c, 70) ? below(c, f->len < 46 ? f->len : 46) : below(c, f->len)] ^=
			1 << below(c, 8);
		break;
	case CLASS_OCTET:
		f->u[chance(c, 70) ? below(c, f->len < 46 ? f->len : 46) : below(c, f->len)] =
			edge(c, rnd(c), 1);
		break;
	case CLASS_FIELD:
		change_field(c, f);
		break;
	case CLASS_FIELDS:
		for (int n = 2 + below(c, 3); n; n--)
			change_field(c, f);
		break;
	case CLASS_STAG:
		change_stag(c, f);
		break;
	case CLASS_TRUNC:
	case CLASS_EXTEND:
		change_length(c, f, class == CLASS_EXTEND);
		break;
	case CLASS_LENGTH:
		lies->length = chance(c, 50) ? lengths[below(c, ARRAY_SIZE(lengths))] :
			       (int)((f->len + below(c, 9) - 4) & 0xffff);
		break;
	case CLASS_CRC:
		lies->crc_xor = chance(c, 70) ? 1U << below(c, 32) : (uint32_t)rnd(c) | 1;
		break;
	case CLASS_UNCRC:
		lies->flip = below(c, fpdu_len(f->len));
		lies->flip_bits = 1 << below(c, 8);
		break;
	case CLASS_MARKER:
		lies->marker_reserved = true;
		break;
	default:
		break;
	}
	return class;
}

/* MPA start-up ------------------------------------------------------------ */

static void mutate_hello(struct conn *c)
{
	uint8_t *p = c->hello;

	for (int n = chance(c, 75) ? 1 : 2; n; n--) {
		switch (below(c, 9)) {
		case 0:
			p[below(c, 16)] ^= 1 << below(c, 8);
			break;
		case 1:
			p[16] ^= 1 << below(c, 8);
			break;
		case 2:
			p[17] = edge(c, p[17], 1);
			break;
		case 3:
			put16(p + 18, edge(c, get16(p + 18), 2));
			break;
		case 4:
			if (c->hello_len > 24)
				put16(p + 20 + 2 * below(c, 2), edge(c, get16(p + 20), 2));
			break;
		case 5:		/* more than PD_Length */
			fill(c, p + c->hello_len, 16);
			c->hello_len += 1 + below(c, 16);
			break;
		case 6:		/* less, and no more follows */
			c->hello_len -= 1 + below(c, c->hello_len - 1);
			return;
		case 7:		/* another amount of private data */
			c->hello_len = HELLO_LEN + below(c, 513);
			put16(p + 18, c->hello_len - HELLO_LEN);
			break;
		case 8:
			p[below(c, c->hello_len)] = rnd(c);
			break;
		}
	}
}

/* RFC 5044 7.1, RFC 6581 9 and 10: the allowed reactions to the Request */
void plan_request(struct conn *c)
{
	int enh[2] = { ENH_A | PREY_ORD, ENH_C | PREY_IRD };
	uint8_t pd[64];
	uint32_t n = below(c, sizeof(pd));
	const uint8_t *p = c->hello;

	fill(c, pd, n);
	c->hello_len = hello(c->hello, REQ_KEY, (c->crc ? MPA_C : 0) | (c->markers_in ? MPA_M : 0),
			     c->rev, c->rev == 2 ? enh : NULL, pd, n);
	c->may_accept = true;
	c->may_reject = c->markers_in;
	if (c->kind != KIND_REQUEST)
		return;
	c->hello_class = CLASS_REQUEST;
	memset(c->hello + c->hello_len, 0, sizeof(c->hello) - c->hello_len);
	mutate_hello(c);
	c->rev = p[17];
	c->markers_in = p[16] & MPA_M;
	c->may_reject = c->markers_in;
	if (c->hello_len < HELLO_LEN || memcmp(p, REQ_KEY, 16) || get16(p + 18) > 512 ||
	    HELLO_LEN + (uint32_t)get16(p + 18) != c->hello_len ||
	    (p[17] == 2 && (p[16] & MPA_S) && get16(p + 18) < 4)) {
		c->may_accept = false;
		c->may_close = true;
		/* the format of another revision is not known */
		c->may_reject = c->hello_len >= HELLO_LEN && !memcmp(p, REQ_KEY, 16) &&
				(p[17] == 0 || p[17] > 2);
	} else if (p[17] == 0 || p[17] > 2) {
		c->may_accept = false;
		c->may_reject = c->may_close = true;
	} else if (get16(p + 18) - (p[17] == 2 && (p[16] & MPA_S) ? 4 : 0) > 255) {
		/* more than iw_cm's events have room for */
		c->may_reject = c->may_close = true;
	}
	/*
	 * RFC 6581 9.1: a lower IRD lowers ORD. Reads beyond ORD wait; with ORD 0 they are errors
	 */
	if (c->may_accept && p[17] == 2 && (p[16] & MPA_S) &&
	    (get16(p + 20) & ENH_VALUE) < c->slot->ops)
		for (int i = 0; i < c->slot->ops; i++)
			c->slot->op[i].opcode = IBV_WR_SEND;
}

/* The Reply to a Request of the device, and the allowed reactions */
void plan_reply(struct conn *c, const uint8_t *request, uint32_t len)
{
	int enh[2] = { 0, 0 };
	uint8_t pd[64], *p = c->hello;
	uint32_t n = below(c, sizeof(pd));
	bool enhanced;

	fill(c, pd, n);
	c->rev = request[17];
	enhanced = c->rev == 2 && (request[16] & MPA_S) && len >= 24;
	if (enhanced) {
		enh[0] = (get16(request + 20) & ENH_A) | PREY_ORD;
		enh[1] = (get16(request + 22) & (chance(c, 60) ? ENH_C : ENH_C | ENH_D)) | PREY_IRD;
	}
	c->hello_len = hello(c->hello, REP_KEY, (c->crc ? MPA_C : 0) | (c->markers_in ? MPA_M : 0),
			     c->rev, enhanced ? enh : NULL, pd, n);
	c->may_accept = true;
	c->may_close = c->markers_in;
	if (c->kind != KIND_REPLY)
		return;
	c->hello_class = CLASS_REPLY;
	memset(c->hello + c->hello_len, 0, sizeof(c->hello) - c->hello_len);
	mutate_hello(c);
	c->markers_in = p[16] & MPA_M;
	/* octets behind a Reply are FPDUs, and IRD and ORD may be unacceptable */
	c->may_close = true;
	c->may_accept = c->hello_len >= HELLO_LEN && !memcmp(p, REP_KEY, 16) &&
			get16(p + 18) <= 512 && HELLO_LEN + (uint32_t)get16(p + 18) <= c->hello_len &&
			p[17] >= 1 && p[17] <= c->rev && !(p[16] & MPA_R) &&
			!(enhanced && p[17] == 2 && !(p[16] & MPA_S)) &&
			!(p[17] == 2 && (p[16] & MPA_S) && get16(p + 18) < 4);
}
