// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* How an RNIC must process a stream: see model.h. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"

const struct code_row code_rows[CODE_COUNT] = {
#define X(name, l, t, c) [CODE_##name] = { l, t, c, #name },
	CODES(X)
#undef X
};

/* The verdict on a segment, before it takes effect */
struct verdict {
	uint64_t codes;		/* each of these is right */
	uint64_t async;		/* each is right, but only when the request is answered */
	bool quote_request;
};

/* The fields of a segment */
struct seg {
	const uint8_t *u;
	uint32_t len;
	bool tagged, last;
	uint8_t op, rv, dv;
	uint32_t stag, inv, qn, msn, mo;
	uint64_t to;
	const uint8_t *pay;
	uint32_t pay_len;
};

static void take_apart(struct seg *s, const uint8_t *u, uint32_t len)
{
	uint32_t hdr = u[0] & DDP_T ? TAGGED_LEN : UNTAGGED_LEN;

	*s = (struct seg){
		.u = u, .len = len, .tagged = u[0] & DDP_T, .last = u[0] & DDP_L,
		.dv = u[0] & 3, .rv = u[1] >> 6, .op = u[1] & 15,
		.pay = u + hdr, .pay_len = len - hdr,
	};
	if (s->tagged) {
		s->stag = get32(u + 2);
		s->to = get64(u + 6);
	} else {
		s->inv = get32(u + 2);
		s->qn = get32(u + 6);
		s->msn = get32(u + 10);
		s->mo = get32(u + 14);
	}
}

/* Opcodes by queue: -1 tagged, -2 none (RFC 5040 Figure 4, RFC 7306 Figure 2) */
static const int op_qn[16] = {
	[OP_WRITE] = -1, [OP_READ_REQ] = 1, [OP_READ_RESP] = -1, [OP_SEND] = 0,
	[OP_SEND_INV] = 0, [OP_SEND_SE] = 0, [OP_SEND_SE_INV] = 0, [OP_TERMINATE] = 2,
	[OP_IMM] = 0, [OP_IMM_SE] = 0, [OP_ATOMIC_REQ] = 1, [OP_ATOMIC_RESP] = 3,
	[12] = -2, [13] = -2, [14] = -2, [15] = -2,
};

static const struct stag *find(const struct model *m, uint32_t stag)
{
	if (m->has_window && m->window.stag == stag)
		return &m->window;
	for (int i = 0; i < m->stag_count; i++)
		if (m->stags[i].stag == stag)
			return &m->stags[i];
	return NULL;
}

static bool wraps(uint64_t to, uint64_t len)
{
	return to + len < to;
}

static bool outside(const struct stag *s, uint64_t to, uint64_t len)
{
	return wraps(to, len) || to < s->base || to + len > s->base + s->len;
}

/* RFC 5041 7.1, for a segment with octets. DDP has no code for rights. */
static uint64_t tagged_codes(const struct model *m, const struct seg *s, int need)
{
	const struct stag *st = find(m, s->stag);
	uint64_t codes = 0;

	if (!s->pay_len)
		return 0;
	if (wraps(s->to, s->pay_len))
		codes |= B(TAG_WRAP);
	if (!st || !st->valid)
		return codes | B(TAG_STAG);
	if (st->other_pd || (st->window && st->qpn != m->slot->qpn))
		codes |= B(TAG_STREAM);
	if (outside(st, s->to, s->pay_len))
		codes |= B(TAG_BOUNDS);
	if (need && !(st->access & need))
		codes |= B(TAG_STAG);
	return codes;
}

/* RFC 5040 7.2 and 5.2, of a Read Response: the continuation of the oldest request */
static uint64_t response_codes(const struct model *m, const struct seg *s)
{
	const struct asked *a = &m->asked[m->asked_head];
	uint64_t codes = 0;
	uint32_t left;

	if (m->asked_head == m->asked_tail || a->atomic)
		return B(OP_OPCODE) | tagged_codes(m, s, 0);
	left = a->size - a->off;
	if (!s->pay_len && !s->last)
		return 0;
	if (s->pay_len > left || s->last != (s->pay_len == left))
		codes |= B(TAG_BOUNDS);
	if (s->pay_len && s->stag != a->sink_stag)
		codes |= B(TAG_STAG);
	if (s->pay_len && s->to != a->sink_to + a->off)
		codes |= B(TAG_BOUNDS);
	return codes ? codes | tagged_codes(m, s, 0) : 0;
}

/* RFC 5040 7.2, of the source of a Read or the target of an atomic */
static uint64_t request_codes(const struct model *m, uint32_t stag, uint64_t to, uint32_t len,
			      int need)
{
	const struct stag *st = find(m, stag);
	uint64_t codes = 0;

	if (wraps(to, len))
		codes |= B(PROT_WRAP);
	if (!st || !st->valid)
		return codes | B(PROT_STAG);
	if (st->other_pd || (st->window && st->qpn != m->slot->qpn))
		codes |= B(PROT_STREAM);
	if (outside(st, to, len))
		codes |= B(PROT_BOUNDS);
	if (!(st->access & need))
		codes |= B(PROT_ACCESS);
	return codes;
}

static void judge_atomic_req(const struct model *m, const struct seg *s, struct verdict *v)
{
	uint64_t to = get64(s->pay + 12);
	int aop = s->pay[3] & 15;

	if (aop != 0 && aop != 2)	/* FetchAdd, CmpSwap */
		v->codes |= B(OP_OPCODE);
	v->async = request_codes(m, get32(s->pay + 8), to, 8, IBV_ACCESS_REMOTE_ATOMIC);
	if (to % 8)
		v->async |= B(OP_STREAM);
}

/* Errors in the RDMAP header of a message on its own queue */
static void judge_message(const struct model *m, const struct seg *s, struct verdict *v)
{
	static const uint32_t exact[16] = {
		[OP_READ_REQ] = READ_REQ_LEN, [OP_IMM] = 8, [OP_IMM_SE] = 8,
		[OP_ATOMIC_REQ] = ATOMIC_REQ_LEN, [OP_ATOMIC_RESP] = ATOMIC_RESP_LEN,
	};
	const struct asked *a = &m->asked[m->asked_head];

	if (s->op == OP_TERMINATE ? s->pay_len > TERM_MAX : exact[s->op] &&
	    s->pay_len > exact[s->op])
		v->codes |= s->op == OP_READ_REQ || s->op == OP_TERMINATE ? B(UNT_LONG) :
			    B(OP_UNSPEC) | B(UNT_LONG);
	if (s->op == OP_TERMINATE ? s->pay_len < 4 : s->pay_len < exact[s->op])
		v->codes |= B(OP_UNSPEC);
	/* only a header, so it is one segment: RFC 5040 has no code for a missing L */
	if ((exact[s->op] || s->op == OP_TERMINATE) && !s->last)
		v->codes |= B(OP_STREAM);
	if (exact[s->op] && s->pay_len != exact[s->op])
		return;
	if ((s->op == OP_IMM || s->op == OP_IMM_SE) && m->open)
		v->codes |= B(OP_OPCODE);
	if (s->op == OP_ATOMIC_REQ)
		judge_atomic_req(m, s, v);
	if (s->op == OP_ATOMIC_RESP && (m->asked_head == m->asked_tail || !a->atomic ||
					a->off || a->id != get32(s->pay)))
		v->codes |= B(OP_OPCODE);
	if (s->op == OP_READ_REQ && get32(s->pay + 12)) {
		v->async = request_codes(m, get32(s->pay + 16), get64(s->pay + 20),
					 get32(s->pay + 12), IBV_ACCESS_REMOTE_READ);
		v->quote_request = true;
	}
}

static bool is_send(uint8_t op)
{
	return op >= OP_SEND && op <= OP_SEND_SE_INV;
}

static void judge_untagged(const struct model *m, const struct seg *s, struct verdict *v)
{
	uint32_t mo = s->qn == 0 && m->open ? m->mo : 0;

	if (s->qn > 3) {
		v->codes |= B(UNT_QN);
		return;
	}
	if (s->msn != m->msn[s->qn])
		v->codes |= B(UNT_MSN);
	if (s->mo != mo)
		v->codes |= B(UNT_MO);
	if (s->qn == 0 && !m->open && m->delivered >= m->slot->recvs)
		v->codes |= B(UNT_NO_BUFFER);
	if (op_qn[s->op] != (int)s->qn) {
		v->codes |= B(OP_OPCODE);
		return;
	}
	if (is_send(s->op) && (uint64_t)s->mo + s->pay_len > (uint64_t)m->slot->recv_len)
		v->codes |= B(UNT_LONG);
	judge_message(m, s, v);
	if (v->codes || !s->last || (s->op != OP_SEND_INV && s->op != OP_SEND_SE_INV))
		return;
	/* RFC 5040 5.3: checked at delivery */
	const struct stag *st = find(m, s->inv);

	if (!st || !st->valid)
		v->codes |= B(OP_INVALIDATE);
	else if (!st->window || st->qpn != m->slot->qpn)
		v->codes |= B(PROT_INVALIDATE);
}

static void judge(const struct model *m, const struct seg *s, struct verdict *v)
{
	*v = (struct verdict){ 0 };
	if (s->dv != 1) {
		v->codes = s->tagged ? B(TAG_VERSION) : B(UNT_VERSION);
		return;
	}
	/* a message of another version is not delivered */
	if (s->rv != 1)
		v->codes |= B(OP_VERSION);
	if (!s->tagged)
		judge_untagged(m, s, v);
	else if (s->op == OP_WRITE)
		v->codes |= tagged_codes(m, s, IBV_ACCESS_REMOTE_WRITE);
	else if (s->op == OP_READ_RESP)
		v->codes |= response_codes(m, s);
	else
		v->codes |= B(OP_OPCODE) | tagged_codes(m, s, 0);
}

/* Would the device serve it? Codes of the errors, 0 if it would. */
uint64_t model_judge(struct model *m, const uint8_t *ulpdu, uint32_t len, bool *async)
{
	struct verdict v;
	struct seg s;

	*async = false;
	if (len < TAGGED_LEN || (!(ulpdu[0] & DDP_T) && len < UNTAGGED_LEN))
		return B(LLP_LENGTH);
	take_apart(&s, ulpdu, len);
	judge(m, &s, &v);
	if (v.codes)
		return v.codes;
	*async = v.async;
	return v.async;
}

/* Effects of a segment ---------------------------------------------------- */

static uint8_t *shadow_of(const struct model *m, uint64_t addr)
{
	return m->shadow + (addr - (uintptr_t)m->base);
}

void model_dirty(struct model *m, uint64_t addr, uint32_t len)
{
	if (!len || m->dirties == ARRAY_SIZE(m->dirty))
		return;
	m->dirty[m->dirties].off = addr - (uintptr_t)m->base;
	m->dirty[m->dirties++].len = len;
}

/* Octets are placed at @addr; @maybe: or not */
static void place(struct model *m, uint64_t addr, const uint8_t *data, uint32_t len, bool maybe)
{
	if (maybe)
		model_dirty(m, addr, len);
	else
		memcpy(shadow_of(m, addr), data, len);
}

static void place_send(struct model *m, uint32_t mo, const uint8_t *data, uint32_t len, bool maybe)
{
	uint32_t first = m->slot->recv_sges == 2 ? m->slot->recv_len / 2 : m->slot->recv_len;

	while (len) {
		uint32_t n = mo < first && len > first - mo ? first - mo : len;

		place(m, (uintptr_t)prey_recv_at(m->slot, m->delivered, mo), data, n, maybe);
		mo += n;
		data += n;
		len -= n;
	}
}

/* Place the octets of a segment whose header passed all checks */
static void place_seg(struct model *m, const struct seg *s, uint32_t len, bool maybe)
{
	if (s->tagged) {
		const struct stag *st = find(m, s->stag);

		place(m, s->to, s->pay, len, maybe);
		m->writes += st && st->is_all && len;
	} else if (is_send(s->op)) {
		place_send(m, s->mo, s->pay, len, maybe);
	}
}

/* RFC 7306 5.1.1: a sum of fields; the mask has the top bit of each */
static uint64_t fetch_add(uint64_t value, uint64_t add, uint64_t mask)
{
	uint64_t sum = 0, carry = 0;

	for (int i = 0; i < 64; i++) {
		uint64_t a = value >> i & 1, b = add >> i & 1;

		sum |= (a ^ b ^ carry) << i;
		carry = (a & b) | (a & carry) | (b & carry);
		if (mask >> i & 1)
			carry = 0;
	}
	return sum;
}

static void serve_atomic(struct model *m, const struct seg *s)
{
	uint64_t data = get64(s->pay + 20), mask = get64(s->pay + 28);
	uint64_t compare = get64(s->pay + 36), cmask = get64(s->pay + 44), value;
	struct owed *o = &m->owed[m->owed_tail++ % ARRAY_SIZE(m->owed)];
	uint64_t to = get64(s->pay + 12);

	memcpy(&value, shadow_of(m, to), 8);
	*o = (struct owed){ .atomic = true, .id = get32(s->pay + 4), .value = value,
			    .at_addr = to };
	if ((s->pay[3] & 15) == 0)
		value = fetch_add(value, data, mask);
	else if (!((value ^ compare) & cmask))
		value = (value & ~mask) | (data & mask);
	memcpy(shadow_of(m, to), &value, 8);
}

static void serve_read(struct model *m, const struct seg *s)
{
	struct owed *o = &m->owed[m->owed_tail++ % ARRAY_SIZE(m->owed)];
	const struct stag *st = find(m, get32(s->pay + 16));

	*o = (struct owed){
		.sink_stag = get32(s->pay), .sink_to = get64(s->pay + 4),
		.size = get32(s->pay + 12), .writes = m->writes,
	};
	/* a later atomic may be under way, but is not served before the Read */
	if (o->size && !st->is_at)
		o->data = shadow_of(m, get64(s->pay + 20));
}

static void serve_untagged(struct model *m, const struct seg *s)
{
	struct asked *a = &m->asked[m->asked_head];
	uint64_t value;

	switch (s->op) {
	case OP_READ_REQ:
		serve_read(m, s);
		break;
	case OP_ATOMIC_REQ:
		serve_atomic(m, s);
		break;
	case OP_ATOMIC_RESP:
		value = get64(s->pay + 4);
		place(m, (uintptr_t)prey_sink(m->slot, a->op), (uint8_t *)&value, 8, false);
		m->asked_head++;
		break;
	case OP_TERMINATE:
		m->outcome = TERMINATED;
		return;
	case OP_IMM:
	case OP_IMM_SE:
		m->any_bytes[m->delivered++] = true;
		break;
	default:
		m->open = !s->last;
		m->mo = s->last ? 0 : s->mo + s->pay_len;
		if (!s->last)
			return;
		m->bytes[m->delivered++] = s->mo + s->pay_len;
		if ((s->op == OP_SEND_INV || s->op == OP_SEND_SE_INV))
			m->window.valid = false;
	}
	m->msn[s->qn]++;
}

static void serve(struct model *m, const struct seg *s)
{
	struct asked *a = &m->asked[m->asked_head];

	place_seg(m, s, s->pay_len, false);
	if (!s->tagged) {
		serve_untagged(m, s);
	} else if (s->op == OP_READ_RESP) {
		a->off += s->pay_len;
		m->asked_head += s->last;
	}
}

/* The end of the stream; the Terminate may have to quote the header */
static void end(struct model *m, uint64_t codes, const uint8_t *u, uint32_t len)
{
	m->outcome = BAD;
	m->codes = codes;
	m->bad_ulpdu_len = len;
	m->bad_len = len < sizeof(m->bad) ? len : sizeof(m->bad);
	memcpy(m->bad, u, m->bad_len);
}

/* A segment with errors is not placed, except if the invalidation fails, after placement */
static bool is_placed(const struct verdict *v)
{
	return !(v->codes & ~(B(OP_INVALIDATE) | B(PROT_INVALIDATE)));
}

static void take_fpdu(struct model *m, const uint8_t *fpdu, bool good)
{
	uint32_t len = get16(fpdu);
	struct verdict v;
	struct seg s;

	if (len < TAGGED_LEN || (!(fpdu[2] & DDP_T) && len < UNTAGGED_LEN)) {
		end(m, B(LLP_LENGTH) | (good ? 0 : B(LLP_CRC)), fpdu + 2, 0);
		return;
	}
	take_apart(&s, fpdu + 2, len);
	judge(m, &s, &v);
	m->quote = QUOTE_M | QUOTE_D;
	if (!good) {
		/* octets with a valid destination may be placed before the CRC is checked */
		if (is_placed(&v))
			place_seg(m, &s, s.pay_len, true);
		end(m, B(LLP_CRC), s.u, s.len);
	} else if (v.codes) {
		if (is_placed(&v))
			place_seg(m, &s, s.pay_len, false);
		end(m, v.codes, s.u, s.len);
	} else if (v.async) {
		if (v.quote_request)
			m->quote |= QUOTE_R;
		m->async = true;
		end(m, v.async, s.u, s.len);
	} else {
		serve(m, &s);
	}
}

/* An FPDU as it was sent, without markers. @good: it ends with the correct CRC. */
void model_put(struct model *m, const uint8_t *fpdu, uint32_t len, bool good)
{
	if (m->outcome != RUNNING || m->in_len + len > sizeof(m->in))
		return;
	if (m->in_used == m->in_len) {
		m->in_used = m->in_len = 0;
		m->frames = 0;
	}
	if (m->frames < ARRAY_SIZE(m->frame)) {
		m->frame[m->frames].begin = m->in_len;
		m->frame[m->frames].end = m->in_len + len;
		m->frame[m->frames++].good = good;
	}
	memcpy(m->in + m->in_len, fpdu, len);
	m->in_len += len;

	while (m->outcome == RUNNING && m->in_len - m->in_used >= 2) {
		const uint8_t *p = m->in + m->in_used;
		uint32_t have = m->in_len - m->in_used, total = fpdu_len(get16(p));
		bool is_good = false;

		/* with the control octet an impossible length is detected */
		if (have < total && (have < 3 || get16(p) >= (p[2] & DDP_T ? TAGGED_LEN :
								       UNTAGGED_LEN)))
			break;
		for (unsigned int i = 0; i < m->frames; i++)
			if (m->frame[i].begin == m->in_used &&
			    m->frame[i].end == m->in_used + total)
				is_good = m->frame[i].good;
		take_fpdu(m, p, is_good);
		m->in_used += total < have ? total : have;
	}
}

/* The stream is within an FPDU */
bool model_in_fpdu(const struct model *m)
{
	return m->in_used < m->in_len;
}

/* The stream ends: octets of an incomplete FPDU may have been placed */
void model_cut(struct model *m)
{
	const uint8_t *p = m->in + m->in_used;
	uint32_t have = m->in_len - m->in_used, hdr;
	uint8_t u[UNTAGGED_LEN + 80] = { 0 };
	struct verdict v;
	struct seg s;

	if (m->outcome != RUNNING || have < 3)
		return;
	hdr = 2 + (p[2] & DDP_T ? TAGGED_LEN : UNTAGGED_LEN);
	if (have < hdr)
		return;
	memcpy(u, p + 2, have - 2 < sizeof(u) ? have - 2 : sizeof(u));
	take_apart(&s, u, get16(p));
	judge(m, &s, &v);
	if (is_placed(&v))
		place_seg(m, &s, s.pay_len < have - hdr ? s.pay_len : have - hdr, true);
}

void model_start(struct model *m, struct prey_slot *slot)
{
	size_t keep_stags = m->stag_count;
	const struct stag *stags = m->stags;
	uint8_t *shadow = m->shadow;
	const uint8_t *base = m->base;

	memset(m, 0, offsetof(struct model, in));
	m->in_len = m->in_used = m->frames = 0;
	memset(&m->outcome, 0, sizeof(*m) - offsetof(struct model, outcome));
	m->slot = slot;
	m->stags = stags;
	m->stag_count = keep_stags;
	m->shadow = shadow;
	m->base = base;
	for (int i = 0; i < 4; i++)
		m->msn[i] = 1;
}
