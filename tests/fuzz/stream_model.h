/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The expected result of the rx engine: the whole stream at once, FPDU by FPDU, by the RFCs. An
 * incomplete FPDU, and one with a wrong CRC, marker, length or header, is not placed at all.
 */
#ifndef SRNIC_FUZZ_STREAM_MODEL_H
#define SRNIC_FUZZ_STREAM_MODEL_H

#include "fuzz.h"
#include "model.h"
#include "engine/stream.h"
#include "queue/event.h"
#include "queue/state.h"
#include "wire/mpa.h"

#define REMOTE_STAG	0x1000u		/* a region the peer may write to */
#define REMOTE_BASE	0x10000ull
#define LOCAL_STAG	0x2000u		/* the buffers of receive WQEs */
#define BAD_INV_STAG	0xbadu		/* an STag that cannot be invalidated */
#define MAX_WQE		8
#define MAX_REQ		8
#define MAX_STREAM	(40 * 1024)
#define MAX_EVENTS	(MAX_STREAM / 20 + 2)	/* one for each FPDU, and one for the end */

enum what { NOTHING, RECEIVED, REQUEST_DONE, FAILED, TERMINATED, LEFT };

/* An action of the engine, real or expected */
struct event {
	enum what what;
	u32 a, b, c;
};

struct log {
	u32 count;
	u8 *remote;
	u8 *local;
	struct event event[MAX_EVENTS];
};

static struct config {
	bool crc;
	bool mend;		/* CRCs and MSNs are corrected first */
	bool fin_sent;
	bool markers;
	bool rtr_read;
	bool read_inv;		/* the outstanding Reads are Reads with Invalidate */
	bool local_error;	/* the local part of a Read with Invalidate fails */
	u8 enables;
	int take_error;		/* of each receive WQE */
	u8 ird;
	u8 wqes;
	u8 requests;		/* that await their responses */
	u8 chunk;
	u16 sge[2];		/* octets of the two SGEs of each receive WQE */
	bool bad_sge;		/* the second SGE names no region */
	u16 remote_len;
	u32 read_len;
	u32 atomics;		/* which of the requests are atomics, as bits */
	bool collect;		/* the engine gets the stream in pieces, without the socket */
	bool pressure;		/* TCP is short of memory now and then */
	bool no_memory;		/* the first allocations of a part fail */
	bool with_data;		/* TCP reports the end together with the last piece */
	enum srnic_stream_state end;
	bool late;		/* receives are posted after the messages that need them */
	bool send_imm;		/* both ends have offered it */
	bool rdmac;		/* the stream has version 0 */
	u32 acks;		/* messages sent that the peer may acknowledge; 0: not agreed on */
	bool placement;		/* both ends have offered Flush and Atomic Write */
	u8 sleepy;		/* how often something must sleep, of 256 times */
	u8 rtr;			/* kinds that the peer may send, MPA_RTR_* */
	u32 window;		/* bytes that TCP buffers at most */
	u32 leave_at;		/* after that many bytes another context ends the QP */
} cfg;

static struct log real, want;
static bool left;		/* another context has ended the QP, see leave_at */

static u32 local_len(void)
{
	return MAX_WQE * (cfg.sge[0] + cfg.sge[1]);
}

/* The stream as received, and without markers: the place of each octet, and of the end */
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
	u32 acked;
	u32 delivered;		/* messages that the engine acknowledges */
	u32 fpdus;
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
		return RDMAP_E_WRITE_DISABLED;
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

/* RFC 6581 9.2, V2-20: the first FPDU, of a negotiated kind, and of length 0 */
static bool model_rtr(const u8 *h, u32 len, u8 opcode, u8 kind)
{
	return (cfg.rtr & kind) && !m.opened && (h[1] & 15) == opcode && h[0] & 0x40 && !len;
}

static enum rdmap_err model_send(const u8 *h, u32 len)
{
	u8 opcode = h[1] & 15;
	bool immediate = opcode == RDMAP_IMMEDIATE || opcode == RDMAP_IMMEDIATE_SE;

	if ((m.in_send && immediate) || (opcode >= 12 && !cfg.send_imm))
		return RDMAP_E_OPCODE;
	if (be32(h + 10) != m.msn[0])
		return RDMAP_E_MSN;
	if (model_rtr(h, len, RDMAP_SEND, MPA_RTR_SEND) && !be32(h + 14))
		return RDMAP_OK;
	if (!m.in_send) {
		if (m.wqe == cfg.wqes)
			return RDMAP_E_NO_RQE;
		if (cfg.take_error)
			return cfg.take_error == -EPROTO ? RDMAP_E_RING : RDMAP_E_RQ_LOCAL;
		m.in_send = true;
		m.mo = 0;
	}
	if (be32(h + 14) != m.mo)
		return RDMAP_E_MO;
	if ((u64)m.mo + len > (u64)cfg.sge[0] + cfg.sge[1])
		return RDMAP_E_TOO_LONG;
	/* detected at placement; the octets before it are placed */
	if (cfg.bad_sge && len && m.mo + len > cfg.sge[0])
		return RDMAP_E_RQ_LOCAL;
	return RDMAP_OK;
}

/* A Flush or an Atomic Write, which takes effect at once */
static bool model_places(const u8 *h)
{
	return cfg.placement && (h[1] & 15) == RDMAP_ATOMIC_REQUEST && (h[21] & 15) >= 14;
}

static enum rdmap_err model_single(const u8 *h, u32 qn)
{
	const u8 *rdmap = h + 18;

	if (be32(h + 10) != m.msn[qn])
		return qn == 1 ? RDMAP_E_IRRQ_MSN : RDMAP_E_MSN;
	if (be32(h + 14))
		return qn == 1 ? RDMAP_E_READ_MO : RDMAP_E_MO;
	switch (h[1] & 15) {
	case RDMAP_READ_REQUEST:
		if (be32(rdmap + 12) && !(cfg.enables & SRNIC_QP_READ_ENABLED))
			return RDMAP_E_READ_DISABLED;
		break;
	case RDMAP_ATOMIC_REQUEST:
		if (model_places(h))	/* as srnic_placement_execute() of the harness */
			return be32(rdmap + 8) == REMOTE_STAG ? RDMAP_OK : RDMAP_E_ATOMIC_STAG;
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

/* Its number is more than that of the last one, and not more than what was sent */
static enum rdmap_err model_ack(const u8 *h, u32 len)
{
	if (!cfg.acks)
		return RDMAP_E_OPCODE;
	if (be32(h + 10) != m.msn[3])
		return RDMAP_E_MSN;
	if (be32(h + 14))
		return RDMAP_E_MO;
	if (len)
		return RDMAP_E_IMM_LENGTH;
	if (!(h[0] & 0x40))
		return RDMAP_E_NO_L_BIT;
	return be32(h + 2) > m.acked && be32(h + 2) <= cfg.acks ? RDMAP_OK : RDMAP_E_OPCODE;
}

static enum rdmap_err model_check(const u8 *h, u32 len, u32 payload)
{
	enum rdmap_err err = model_header(h, len, !cfg.rdmac);

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
	case RDMAP_ACK:
		return model_ack(h, payload);
	default:
		return model_send(h, payload);
	}
}

/* The destination of the payload, if there is one. Not past a bad SGE. */
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
	bool immediate = opcode == RDMAP_IMMEDIATE || opcode == RDMAP_IMMEDIATE_SE;
	u32 flags = 0, data = 0;

	if (opcode == RDMAP_SEND_INV || opcode == RDMAP_SEND_SE_INV) {
		data = be32(h + 2);
		if (data == BAD_INV_STAG) {
			note(&want, FAILED, RDMAP_E_INV_STAG, 0, 0);
			return;
		}
		flags |= SRNIC_CQE_WITH_INV;
	}
	if (opcode == RDMAP_SEND_SE || opcode == RDMAP_SEND_SE_INV || opcode == RDMAP_IMMEDIATE_SE ||
	    opcode == RDMAP_SEND_SE_IMM)
		flags |= SRNIC_CQE_SOLICITED;
	if (immediate) {
		flags |= SRNIC_CQE_WITH_IMM;
		memcpy(&data, h + 18, 4);
	}
	if (opcode >= 12) {
		flags |= SRNIC_CQE_WITH_IMM;
		memcpy(&data, h + 2, 4);
	}
	note(&want, RECEIVED, m.wqe | flags << 16, immediate ? m.write_len : m.mo, data);
	m.wqe++;
	m.in_send = false;
	m.msn[0]++;
	m.write_len = 0;
	m.delivered++;
}

static void model_deliver(const u8 *h, u32 payload, bool rtr_write)
{
	bool last = h[0] & 0x40;

	switch (h[1] & 15) {
	case RDMAP_WRITE:
		m.write_len = payload + (m.write_ended ? 0 : m.write_len);
		m.write_ended = last;
		m.delivered += last && !rtr_write;
		break;
	case RDMAP_ACK:
		m.acked = be32(h + 2);
		m.msn[3]++;
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
		if (model_places(h)) {
			m.delivered++;
			m.msn[1]++;
			break;
		}
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

/* RFC 5044 4.3: each marker from the stream's octet @from up to @to points back to @length */
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

/*
 * One FPDU at octet @pos, all of which comes before octet @limit of the stream. Return: its
 * octets, 0 if it is incomplete, or ends the stream.
 */
static u32 model_fpdu(u32 pos, u32 limit)
{
	const u8 *s = view.octets + pos;
	u32 left = view.len - pos;
	u32 begin = pos ? view.at[pos - 1] + 1 : 0;
	u32 length = begin + (cfg.markers && begin % 512 == 0 ? 4 : 0);
	static const u8 headers[16] = { [1] = 28, [7] = 52, [8] = 8, [9] = 8, [10] = 52, [11] = 12 };
	u32 head, len, whole, payload, placed, crc_at;
	enum rdmap_err err;
	bool rtr, rtr_write;

	if (left < 2)
		return 0;
	len = s[0] << 8 | s[1];
	whole = 2 + len;
	whole = (whole + 3) / 4 * 4 + 4;
	if (left < whole || view.at[pos + whole - 1] >= limit)
		return 0;
	m.fpdus++;

	crc_at = view.at[pos + whole - 4];
	if (cfg.crc && ~crc32c(~0U, view.raw + begin, crc_at - begin) !=
	    ((u32)s[whole - 1] << 24 | s[whole - 2] << 16 | s[whole - 3] << 8 | s[whole - 4])) {
		note(&want, FAILED, RDMAP_E_CRC, 0, 0);
		return 0;
	}
	head = s[2] & 0x80 ? 14 : 18;
	if (!markers_good(begin, crc_at, length)) {
		note(&want, FAILED, RDMAP_E_MARKER, 0, 0);
		return 0;
	}
	if (len < head) {
		note(&want, FAILED, RDMAP_E_FPDU_LENGTH, 0, 0);
		return 0;
	}
	err = model_header(s + 2, len, !cfg.rdmac);
	payload = err || headers[s[3] & 15] ? 0 : len - head;
	if (cfg.fin_sent && (s[3] & 15) != RDMAP_TERMINATE) {
		if (err || !model_rtr(s + 2, payload, RDMAP_WRITE, MPA_RTR_WRITE)) {
			note(&want, LEFT, SRNIC_EV_BAD_CLOSE, 0, 0);
			return 0;
		}
		m.opened = true;
		return whole;
	}
	rtr = !err && model_rtr(s + 2, payload, RDMAP_SEND, MPA_RTR_SEND);
	rtr_write = !err && model_rtr(s + 2, payload, RDMAP_WRITE, MPA_RTR_WRITE);
	err = model_check(s + 2, len, payload);
	m.opened = true;
	if (payload && (!err || (err == RDMAP_E_RQ_LOCAL && !cfg.take_error))) {
		u8 *to;

		placed = payload;
		to = model_place(s + 2, &placed);
		memcpy(to, s + 2 + head, placed);
	}
	if (err)
		note(&want, FAILED, err, 0, 0);
	else if (rtr)
		m.msn[0]++;
	else
		model_deliver(s + 2, payload, rtr_write);
	return model_ended() ? 0 : whole;
}

/* @limit: octets behind it came after the QP's end */
static void run_model(u32 limit)
{
	u32 pos = 0, n;

	memset(&m, 0, sizeof(m));
	m.msn[0] = m.msn[1] = m.msn[2] = m.msn[3] = 1;
	m.rtr_read = cfg.rtr_read;
	do {
		n = model_fpdu(pos, limit);
		pos += n;
	} while (n);
	if (model_ended() || left)
		return;
	if (cfg.end == SRNIC_STREAM_RESET)
		note(&want, LEFT, SRNIC_EV_LLP_RESET, 0, 0);
	else if (cfg.end == SRNIC_STREAM_LOST)
		note(&want, LEFT, SRNIC_EV_LLP_LOST, 0, 0);
	else if (cfg.end == SRNIC_STREAM_FIN &&
		 (m.in_send || view.raw_len != (pos ? view.at[pos - 1] + 1 : 0)))
		note(&want, FAILED, RDMAP_E_LLP_LOST, 0, 0);
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

#endif
