// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rx engine itself (rx.c, place.c, read.c) on a stream of any octets, in
 * pieces of any size, against a model that sees the whole stream at once: MPA,
 * DDP, RDMAP, each octet's place, what is completed, and the first error. What is
 * below the engine, TPT and queues, is made here.
 *
 * Input: struct config, then the stream.
 */
#include "fuzz.h"
#include "model.h"
#include "rx.h"
#include "srnic.h"
#include "stream.h"
#include "tpt.h"
#include "tx.h"

#define REMOTE_STAG	0x1000u		/* a region the peer may write to */
#define REMOTE_BASE	0x10000ull
#define LOCAL_STAG	0x2000u		/* the buffers of receive WQEs */
#define BAD_INV_STAG	0xbadu		/* an STag that cannot be invalidated */
#define MAX_WQE		8
#define MAX_REQ		8
#define MAX_EVENTS	512
#define MAX_STREAM	65536

enum what { NOTHING, RECEIVED, REQUEST_DONE, FAILED, TERMINATED, LEFT };

/* What the engine did, or should have done */
struct event {
	enum what what;
	u32 a, b, c;
};

struct log {
	struct event event[MAX_EVENTS];
	u32 count;
	u8 *remote;
	u8 *local;
};

static struct config {
	bool crc;
	bool mend;		/* CRCs and MSNs are made right first */
	bool fin_sent;
	bool markers;
	bool rtr_read;
	bool read_inv;		/* the Reads that await their responses invalidate */
	bool local_error;	/* what is left to do with a response fails */
	u8 enables;
	int take_error;		/* of each receive WQE */
	u8 ird;
	u8 wqes;
	u8 requests;		/* that await their responses */
	u8 chunk;
	u16 sge[2];		/* octets of the two SGEs of each receive WQE */
	bool bad_sge;		/* the second one names no region */
	u16 remote_len;
	u32 read_len;
	u32 atomics;		/* which of the requests are atomics, as bits */
} cfg;

static struct log real, want;
static struct srnic_qp *qp;
static u32 wqe_taken;
static u32 wqe_errors, request_errors;
static int spans;

static u32 local_len(void)
{
	return MAX_WQE * (cfg.sge[0] + cfg.sge[1]);
}

/* The stream as it comes, and without markers: where each octet was, and one more */
static struct view {
	const u8 *raw;
	u32 raw_len;
	u8 *octets;
	u32 len;
	u32 *at;
} view;

static void note(struct log *log, enum what what, u32 a, u32 b, u32 c)
{
	FUZZ_CHECK(log->count < MAX_EVENTS);
	log->event[log->count++] = (struct event){ what, a, b, c };
}

/* The engine's surroundings */

bool srnic_qp_fail(struct srnic_qp *q, enum rdmap_err err, const u8 *seg, u32 seg_len,
		   bool in_wc)
{
	u8 copy[SRNIC_RX_HDR];

	(void)in_wc;
	if (seg) {
		FUZZ_CHECK(seg_len <= sizeof(copy));
		memcpy(copy, seg, seg_len);
	}
	q->state = SRNIC_QP_TERMINATE;
	note(&real, FAILED, err, 0, 0);
	return true;
}

bool srnic_qp_leave(struct srnic_qp *q, enum srnic_qp_state next, enum srnic_event event)
{
	q->state = next;
	note(&real, LEFT, event, 0, 0);
	return true;
}

bool srnic_qp_terminated(struct srnic_qp *q, const struct rdmap_term *term, bool in_wc)
{
	(void)in_wc;
	q->state = SRNIC_QP_TERMINATE;
	note(&real, TERMINATED, term->err.layer, term->err.etype, term->err.code);
	return true;
}

int srnic_rq_take(struct srnic_qp *q, struct srnic_rwr *rwr)
{
	u32 at = wqe_taken * (cfg.sge[0] + cfg.sge[1]);

	if (wqe_taken == cfg.wqes)
		return -EAGAIN;
	FUZZ_CHECK(q->max_recv_sge == 2);
	rwr->wr_id = wqe_taken;
	rwr->index = wqe_taken++;
	rwr->num_sge = 2;
	rwr->sge[0] = (struct srnic_sge){ at, cfg.sge[0], LOCAL_STAG };
	rwr->sge[1] = (struct srnic_sge){ at + cfg.sge[0], cfg.sge[1],
					  cfg.bad_sge ? 7 : LOCAL_STAG };
	rwr->length = (u64)cfg.sge[0] + cfg.sge[1];
	return cfg.take_error;
}

void srnic_rq_complete(struct srnic_qp *q, const struct srnic_rwr *rwr, struct srnic_cqe *cqe,
		       enum srnic_wc_status status)
{
	(void)q;
	if (status) {
		wqe_errors++;
		return;
	}
	note(&real, RECEIVED, rwr->index | cqe->flags << 16, cqe->byte_len, cqe->data);
}

void srnic_sq_done(struct srnic_qp *q, u32 index, enum srnic_wc_status status)
{
	(void)q;
	if (status) {
		request_errors++;
		return;
	}
	note(&real, REQUEST_DONE, index, 0, 0);
}

enum srnic_tpt_err srnic_tpt_get(struct srnic_device *dev, const struct srnic_access *acc,
				 struct srnic_span *span)
{
	bool remote = acc->stag == REMOTE_STAG;
	u64 base = remote ? REMOTE_BASE : 0;
	u64 len = remote ? cfg.remote_len : local_len();

	(void)dev;
	FUZZ_CHECK(acc->length);
	FUZZ_CHECK(acc->need == SRNIC_LOCAL_WRITE || acc->need == SRNIC_REMOTE_WRITE ||
		   acc->need == SRNIC_READ_SINK);
	if (acc->need == SRNIC_LOCAL_WRITE ? acc->stag != LOCAL_STAG : !remote)
		return SRNIC_TPT_STAG;
	if (acc->to + acc->length < acc->to)
		return SRNIC_TPT_WRAP;
	if (acc->to < base || acc->to + acc->length > base + len)
		return SRNIC_TPT_BOUNDS;
	span->off = (uintptr_t)(remote ? real.remote : real.local) + (acc->to - base);
	spans++;
	return SRNIC_TPT_OK;
}

void srnic_tpt_put(struct srnic_span *span)
{
	(void)span;
	spans--;
}

void srnic_span_write(const struct srnic_span *span, u64 at, const void *src, u32 len)
{
	memcpy((u8 *)(uintptr_t)span->off + at, src, len);
}

enum rdmap_err srnic_tpt_tagged_err(enum srnic_tpt_err err)
{
	return err == SRNIC_TPT_STAG ? RDMAP_E_TAGGED_STAG :
	       err == SRNIC_TPT_WRAP ? RDMAP_E_TAGGED_WRAP : RDMAP_E_TAGGED_BOUNDS;
}

enum srnic_wc_status srnic_tpt_wc_status(enum srnic_tpt_err err)
{
	return err ? SRNIC_WC_BOUNDS : SRNIC_WC_SUCCESS;
}

enum srnic_inv_err srnic_tpt_invalidate(struct srnic_qp *q, u32 stag, bool remote)
{
	(void)q;
	if (!remote)
		return cfg.local_error ? SRNIC_INV_STAG : SRNIC_INV_OK;
	return stag == BAD_INV_STAG ? SRNIC_INV_STAG : SRNIC_INV_OK;
}

enum rdmap_err srnic_inv_remote_err(enum srnic_inv_err err)
{
	(void)err;
	return RDMAP_E_INV_STAG;
}

enum srnic_wc_status srnic_inv_recv_status(enum srnic_inv_err err)
{
	(void)err;
	return SRNIC_WC_INVALIDATE;
}

enum srnic_wc_status srnic_inv_wc_status(enum srnic_inv_err err)
{
	(void)err;
	return SRNIC_WC_INVALIDATE;
}

enum srnic_wc_status srnic_atomic_place(const struct srnic_qp *q,
					const struct srnic_outbound *out, u64 value)
{
	(void)q;
	(void)out;
	(void)value;
	return cfg.local_error ? SRNIC_WC_BOUNDS : SRNIC_WC_SUCCESS;
}

int srnic_stream_read(struct srnic_stream *stream, srnic_stream_actor actor, void *ctx,
		      size_t budget)
{
	(void)stream;
	(void)actor;
	(void)ctx;
	(void)budget;
	return 0;
}

/* All requests are out */
u32 srnic_stream_taken(const struct srnic_stream *stream)
{
	(void)stream;
	return 0;
}

enum srnic_stream_state srnic_stream_state(const struct srnic_stream *stream)
{
	(void)stream;
	return SRNIC_STREAM_UP;
}

/* The model */

static struct model {
	u32 msn[4];
	u32 wqe;		/* the current one, or the next */
	bool in_send;
	u32 mo;
	u32 request;		/* the oldest that awaits its response */
	u32 read_off;
	u32 irq;
	u32 write_len;
	bool write_ended;
	bool rtr_read;
	bool opened;
	/* a segment that was not delivered: its octets may be in place or not */
	u8 *loose;
	u32 loose_len;
} m;

static u64 be64(const u8 *p)
{
	return (u64)be32(p) << 32 | be32(p + 4);
}

static bool is_atomic(u32 request)
{
	return cfg.atomics >> request & 1;
}

static u64 sink_to(u32 request)
{
	return REMOTE_BASE + 16 * request;
}

static enum rdmap_err model_region(u64 to, u32 len)
{
	if (to + len < to)
		return RDMAP_E_TAGGED_WRAP;
	if (to < REMOTE_BASE || to + len > REMOTE_BASE + cfg.remote_len)
		return RDMAP_E_TAGGED_BOUNDS;
	return RDMAP_OK;
}

static enum rdmap_err model_write(const u8 *h, u32 len)
{
	if (!len)
		return RDMAP_OK;
	if (!(cfg.enables & SRNIC_QP_WRITE_ENABLED))
		return RDMAP_E_TAGGED_ACCESS;
	if (be32(h + 2) != REMOTE_STAG)
		return RDMAP_E_TAGGED_STAG;
	return model_region(be64(h + 6), len);
}

static enum rdmap_err model_read_response(const u8 *h, u32 len)
{
	bool last = h[0] & 0x40;
	u32 left = cfg.read_len - m.read_off;

	if (m.rtr_read)
		return len || !last ? RDMAP_E_RESP_RANGE : RDMAP_OK;
	if (m.request == cfg.requests || is_atomic(m.request))
		return RDMAP_E_RESP_UNEXPECTED;
	if (!len && !last)
		return RDMAP_OK;
	if (len > left || last != (len == left))
		return RDMAP_E_RESP_RANGE;
	if (!len)
		return RDMAP_OK;
	if (be32(h + 2) != REMOTE_STAG)
		return RDMAP_E_RESP_STAG;
	if (be64(h + 6) != sink_to(m.request) + m.read_off)
		return RDMAP_E_RESP_RANGE;
	return model_region(be64(h + 6), len);
}

static enum rdmap_err model_send(const u8 *h, u32 len)
{
	bool immediate = (h[1] & 15) >= 8;

	if (m.in_send && immediate)
		return RDMAP_E_OPCODE;
	if (be32(h + 10) != m.msn[0])
		return RDMAP_E_MSN;
	if (!m.in_send) {
		if (m.wqe == cfg.wqes)
			return RDMAP_E_NO_RQE;
		if (cfg.take_error)
			return RDMAP_E_RQ_LOCAL;
		m.in_send = true;
		m.mo = 0;
	}
	if (be32(h + 14) != m.mo)
		return RDMAP_E_MO;
	if ((u64)m.mo + len > (u64)cfg.sge[0] + cfg.sge[1])
		return RDMAP_E_TOO_LONG;
	/* found out when the octets are placed; before that what is in front of it is */
	if (cfg.bad_sge && len && m.mo + len > cfg.sge[0])
		return RDMAP_E_RQ_LOCAL;
	return RDMAP_OK;
}

static enum rdmap_err model_single(const u8 *h, u32 qn)
{
	const u8 *rdmap = h + 18;

	if (be32(h + 10) != m.msn[qn])
		return RDMAP_E_MSN;
	if (be32(h + 14))
		return RDMAP_E_MO;
	switch (h[1] & 15) {
	case RDMAP_READ_REQUEST:
		if (be32(rdmap + 12) && !(cfg.enables & SRNIC_QP_READ_ENABLED))
			return RDMAP_E_READ_ACCESS;
		break;
	case RDMAP_ATOMIC_REQUEST:
		if ((rdmap[3] & 15) != 0 && (rdmap[3] & 15) != 2)
			return RDMAP_E_ATOMIC_OPCODE;
		if (!(cfg.enables & SRNIC_QP_ATOMIC_ENABLED))
			return RDMAP_E_ATOMIC_ACCESS;
		break;
	case RDMAP_ATOMIC_RESPONSE:
		if (m.rtr_read || m.read_off || m.request == cfg.requests ||
		    !is_atomic(m.request) || be32(rdmap) != m.request)
			return RDMAP_E_RESP_UNEXPECTED;
		break;
	}
	return RDMAP_OK;
}

static enum rdmap_err model_check(const u8 *h, u32 len, u32 payload)
{
	enum rdmap_err err = model_header(h, len);

	if (err)
		return err;
	switch (h[1] & 15) {
	case RDMAP_WRITE:
		return model_write(h, payload);
	case RDMAP_READ_RESPONSE:
		return model_read_response(h, payload);
	case RDMAP_READ_REQUEST: case RDMAP_ATOMIC_REQUEST:
		return model_single(h, 1);
	case RDMAP_TERMINATE:
		return model_single(h, 2);
	case RDMAP_ATOMIC_RESPONSE:
		return model_single(h, 3);
	default:
		return model_send(h, payload);
	}
}

/* Where the payload goes, if anywhere. Not past a bad SGE. */
static u8 *model_place(const u8 *h, u32 *len)
{
	u8 opcode = h[1] & 15;

	if (opcode == RDMAP_WRITE || opcode == RDMAP_READ_RESPONSE)
		return want.remote + (be64(h + 6) - REMOTE_BASE);
	if (cfg.bad_sge)
		*len = min(*len, m.mo < cfg.sge[0] ? cfg.sge[0] - m.mo : 0);
	return want.local + m.wqe * (cfg.sge[0] + cfg.sge[1]) + m.mo;
}

static void model_received(const u8 *h)
{
	u8 opcode = h[1] & 15;
	bool immediate = opcode >= 8;
	u32 flags = 0, data = 0;

	if (opcode == RDMAP_SEND_INV || opcode == RDMAP_SEND_SE_INV) {
		data = be32(h + 2);
		if (data == BAD_INV_STAG) {
			note(&want, FAILED, RDMAP_E_INV_STAG, 0, 0);
			return;
		}
		flags |= SRNIC_CQE_WITH_INV;
	}
	if (opcode == RDMAP_SEND_SE || opcode == RDMAP_SEND_SE_INV || opcode == RDMAP_IMMEDIATE_SE)
		flags |= SRNIC_CQE_SOLICITED;
	if (immediate) {
		flags |= SRNIC_CQE_WITH_IMM;
		memcpy(&data, h + 18, 4);
	}
	note(&want, RECEIVED, m.wqe | flags << 16, immediate ? m.write_len : m.mo, data);
	m.wqe++;
	m.in_send = false;
	m.msn[0]++;
	m.write_len = 0;
}

static void model_deliver(const u8 *h, u32 payload)
{
	bool last = h[0] & 0x40;

	switch (h[1] & 15) {
	case RDMAP_WRITE:
		m.write_len = payload + (m.write_ended ? 0 : m.write_len);
		m.write_ended = last;
		break;
	case RDMAP_READ_RESPONSE:
		if (m.rtr_read) {
			m.rtr_read = false;
			break;
		}
		m.read_off += payload;
		if (last && cfg.read_inv && cfg.local_error) {
			note(&want, FAILED, RDMAP_E_LOCAL_WR, 0, 0);
		} else if (last) {
			note(&want, REQUEST_DONE, m.request++, 0, 0);
			m.read_off = 0;
		}
		break;
	case RDMAP_READ_REQUEST: case RDMAP_ATOMIC_REQUEST:
		if (m.irq == cfg.ird) {
			note(&want, FAILED, RDMAP_E_IRD, 0, 0);
			break;
		}
		m.irq++;
		m.msn[1]++;
		break;
	case RDMAP_TERMINATE:
		note(&want, TERMINATED, h[18] >> 4, h[18] & 15, h[19]);
		break;
	case RDMAP_ATOMIC_RESPONSE:
		if (cfg.local_error) {
			note(&want, FAILED, RDMAP_E_LOCAL_WR, 0, 0);
			break;
		}
		note(&want, REQUEST_DONE, m.request++, 0, 0);
		m.msn[3]++;
		break;
	default:
		m.mo += payload;
		if (last)
			model_received(h);
	}
}

static enum what model_last(void)
{
	return want.count ? want.event[want.count - 1].what : NOTHING;
}

static bool model_ended(void)
{
	return model_last() == FAILED || model_last() == TERMINATED || model_last() == LEFT;
}

/* RFC 5044 4.3: each marker from the stream's octet @from up to @to says how far back @length is */
static bool markers_good(u32 from, u32 to, u32 length)
{
	u32 at = (from + 511) / 512 * 512;

	if (!cfg.markers)
		return true;
	for (; at < to && at + 4 <= view.raw_len; at += 512) {
		u32 ptr = (view.raw[at + 2] << 8 | view.raw[at + 3]) & 0xfffc;

		if (ptr != (at < length ? 0 : at - length))
			return false;
	}
	return true;
}

/* One FPDU at octet @pos. Return: its octets, 0 if it ends the stream. */
static u32 model_fpdu(u32 pos)
{
	const u8 *s = view.octets + pos;
	u32 left = view.len - pos;
	u32 begin = pos ? view.at[pos - 1] + 1 : 0;
	u32 length = begin + (cfg.markers && begin % 512 == 0 ? 4 : 0);
	static const u8 headers[16] = { [1] = 28, [7] = 52, [8] = 8, [9] = 8, [10] = 52, [11] = 12 };
	bool tagged = left > 2 && s[2] & 0x80;
	u32 head = tagged ? 14 : 18;
	u32 len, whole, payload = 0, placed;
	enum rdmap_err err;
	u32 crc_at;
	u8 *to;

	if (left < 3) {
		if (!cfg.crc && !markers_good(begin, view.raw_len, length))
			note(&want, FAILED, RDMAP_E_FPDU_LENGTH, 0, 0);
		return 0;
	}
	len = s[0] << 8 | s[1];
	if (len < head) {
		note(&want, FAILED, RDMAP_E_FPDU_LENGTH, 0, 0);
		return 0;
	}
	whole = 2 + len;
	whole = (whole + 3) / 4 * 4 + 4;
	crc_at = left >= whole ? view.at[pos + whole - 4] : view.raw_len;
	/* without a CRC nothing is more certain later on */
	if (!cfg.crc && !markers_good(begin, crc_at, length))
		note(&want, FAILED, RDMAP_E_FPDU_LENGTH, 0, 0);
	if (left < 2 + head)
		return 0;
	err = model_header(s + 2, len);
	if (!err)
		payload = headers[s[3] & 15] ? 0 : len - head;
	/* what is all header is looked at when it is all there */
	if (!err && left >= 2 + len - payload)
		err = model_check(s + 2, len, payload);
	if (payload && (!err || (err == RDMAP_E_RQ_LOCAL && !cfg.take_error))) {
		placed = payload;
		to = model_place(s + 2, &placed);
		m.loose = to;
		m.loose_len = placed;
		if (left >= whole)
			memcpy(to, s + 2 + head, placed);
	}
	if (left < whole || model_ended())
		return 0;

	if (cfg.crc && ~crc32c(~0U, view.raw + begin, crc_at - begin) !=
	    ((u32)s[whole - 1] << 24 | s[whole - 2] << 16 | s[whole - 3] << 8 | s[whole - 4])) {
		note(&want, FAILED, RDMAP_E_CRC, 0, 0);
		return 0;
	}
	if (!markers_good(begin, crc_at, length)) {
		note(&want, FAILED, RDMAP_E_FPDU_LENGTH, 0, 0);
		return 0;
	}
	if (cfg.fin_sent && (s[3] & 15) != RDMAP_TERMINATE) {
		note(&want, LEFT, SRNIC_EV_BAD_CLOSE, 0, 0);
		return 0;
	}
	m.loose_len = 0;
	m.opened = true;
	if (err) {
		note(&want, FAILED, err, 0, 0);
		return 0;
	}
	model_deliver(s + 2, payload);
	return model_ended() ? 0 : whole;
}

static void run_model(void)
{
	u32 pos = 0, n;

	memset(&m, 0, sizeof(m));
	m.msn[0] = m.msn[1] = m.msn[2] = m.msn[3] = 1;
	m.rtr_read = cfg.rtr_read;
	do {
		n = model_fpdu(pos);
		pos += n;
	} while (n);
}

static void make_view(const u8 *raw, u32 len)
{
	u32 i;

	view.raw = raw;
	view.raw_len = len;
	view.octets = malloc(len);
	view.at = malloc((len + 1) * sizeof(view.at[0]));
	view.len = 0;
	for (i = 0; i < len; i++) {
		if (cfg.markers && i % 512 < 4)
			continue;
		view.at[view.len] = i;
		view.octets[view.len++] = raw[i];
	}
	view.at[view.len] = len;
}

static void end_view(void)
{
	free(view.octets);
	free(view.at);
}

/* So that a change to a frame need not be found together with its CRC and markers */
static void mend(u8 *s, u32 len)
{
	u32 pos = 0, whole, crc, i, begin, length, crc_at;

	make_view(s, len);
	while (view.len - pos > 3) {
		whole = 2 + (view.octets[pos] << 8 | view.octets[pos + 1]);
		whole = (whole + 3) / 4 * 4 + 4;
		if (whole > view.len - pos)
			break;
		begin = pos ? view.at[pos - 1] + 1 : 0;
		length = view.at[pos];
		crc_at = view.at[pos + whole - 4];
		for (i = (begin + 511) / 512 * 512; cfg.markers && i < crc_at; i += 512) {
			s[i + 2] = i < length ? 0 : (i - length) >> 8;
			s[i + 3] = i < length ? 0 : i - length;
		}
		crc = ~crc32c(~0U, s + begin, crc_at - begin);
		for (i = 0; i < 4; i++)
			s[crc_at + i] = crc >> 8 * i;
		pos += whole;
	}
	end_view();
}

/* The engine, with as much of a QP as it looks at */
static void run_engine(const u8 *s, u32 len)
{
	static struct srnic_device dev;
	struct srnic_outbound orq[MAX_REQ] = { };
	struct srnic_inbound irq[MAX_REQ];
	struct ib_pd pd;
	u32 i, n, random = cfg.chunk;

	qp = calloc(1, sizeof(*qp));
	qp->ibqp.pd = &pd;
	qp->ibqp.qp_num = 5;
	qp->dev = &dev;
	qp->state = cfg.fin_sent ? SRNIC_QP_CLOSING : SRNIC_QP_RTS;
	qp->max_recv_sge = 2;
	qp->enables = cfg.enables;
	qp->mpa.crc = cfg.crc;
	qp->mpa.rx_markers = cfg.markers;
	qp->mpa.ird = cfg.ird;
	qp->ird = MAX_REQ;
	qp->irq = irq;
	qp->irq_mask = MAX_REQ - 1;
	qp->orq = orq;
	qp->orq_mask = MAX_REQ - 1;
	qp->orq_tail = cfg.requests;
	if (cfg.rtr_read) {
		qp->initiator = true;
		qp->mpa.rtr = MPA_RTR_READ;
		set_bit(SRNIC_QPF_RTR_READ, &qp->flags);
	}
	if (cfg.fin_sent)
		set_bit(SRNIC_QPF_FIN_SENT, &qp->flags);
	for (i = 0; i < cfg.requests; i++) {
		orq[i].index = i;
		orq[i].last = true;
		orq[i].opcode = is_atomic(i) ? SRNIC_OP_FETCH_ADD :
				cfg.read_inv ? SRNIC_OP_READ_INV : SRNIC_OP_READ;
		orq[i].length = is_atomic(i) ? 8 : cfg.read_len;
		orq[i].sink_stag = REMOTE_STAG;
		orq[i].sink_to = sink_to(i);
	}
	qp->rx = srnic_rx_new(qp);

	while (len) {
		struct fuzz_in piece = { s, len };
		u8 *box;

		random = random * 1103515245 + 12345;
		n = cfg.chunk ? 1 + (random >> 16) % cfg.chunk : len;
		n = min(n, len);
		box = fuzz_box(&piece, n);
		srnic_rx_octets(qp, box, n);
		free(box);
		s += n;
		len -= n;
	}
	FUZZ_CHECK(!spans);
	FUZZ_CHECK(qp->rx->discard == model_ended());
	FUZZ_CHECK(test_bit(SRNIC_QPF_TX_OPEN, &qp->flags) == m.opened);
	FUZZ_CHECK(qp->irq_tail == m.irq);
	FUZZ_CHECK(qp->orq_head == m.request + request_errors);
	/* with an error, and one at most (ST-35) */
	FUZZ_CHECK(wqe_errors + request_errors <= (model_last() == FAILED || model_last() == TERMINATED));
	srnic_rx_free(qp->rx);
	free(qp);
}

static void compare(u8 *got, u8 *expected, u32 len)
{
	if (m.loose_len && m.loose >= expected && m.loose < expected + len)
		memcpy(m.loose, got + (m.loose - expected), m.loose_len);
	FUZZ_CHECK(!memcmp(got, expected, len));
}

static u8 *fresh(u32 len)
{
	u8 *box = malloc(len);

	memset(box, 0xee, len);
	return box;
}

static void configure(struct fuzz_in *in)
{
	u8 bits = fuzz_u8(in);

	memset(&cfg, 0, sizeof(cfg));
	cfg.crc = bits & 1;
	cfg.mend = bits & 2;
	cfg.fin_sent = bits & 4;
	cfg.rtr_read = bits & 8;
	cfg.bad_sge = bits & 16;
	cfg.read_inv = bits & 32;
	cfg.local_error = bits & 64;
	cfg.markers = bits & 128;
	cfg.enables = fuzz_u8(in);
	if (cfg.enables & 128)
		cfg.take_error = cfg.enables & 64 ? -EPROTO : -EINVAL;
	cfg.enables &= 15;
	cfg.ird = fuzz_u8(in) % (MAX_REQ + 1);
	cfg.wqes = fuzz_u8(in) % (MAX_WQE + 1);
	cfg.requests = fuzz_u8(in) % (MAX_REQ + 1);
	cfg.atomics = fuzz_u8(in);
	cfg.chunk = fuzz_u8(in);
	cfg.sge[0] = fuzz_u16(in) % 1024;
	cfg.sge[1] = fuzz_u16(in) % 1024;
	cfg.remote_len = fuzz_u16(in) % 4096;
	cfg.read_len = fuzz_u16(in) % 2048;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u32 len;
	u8 *s;

	configure(&in);
	len = in.left < MAX_STREAM ? in.left : MAX_STREAM;
	if (len / 20 >= MAX_EVENTS)
		len = 20 * (MAX_EVENTS - 1);
	s = fuzz_box(&in, len);
	if (cfg.mend)
		mend(s, len);

	FUZZ_CHECK(~crc32c(~0U, "123456789", 9) == 0xe3069283);
	real = (struct log){ .remote = fresh(cfg.remote_len), .local = fresh(local_len()) };
	want = (struct log){ .remote = fresh(cfg.remote_len), .local = fresh(local_len()) };
	wqe_taken = wqe_errors = request_errors = 0;
	spans = 0;
	make_view(s, len);
	run_model();
	run_engine(s, len);
	end_view();
	FUZZ_CHECK(real.count == want.count);
	FUZZ_CHECK(!memcmp(real.event, want.event, real.count * sizeof(real.event[0])));
	compare(real.remote, want.remote, cfg.remote_len);
	compare(real.local, want.local, local_len());
	free(real.remote);
	free(real.local);
	free(want.remote);
	free(want.local);
	free(s);
	return 0;
}
