// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rx engine itself (rx.c, place.c, read.c, ack.c) on a stream of any octets, in pieces of any size,
 * compared with a model that sees the whole stream at once: MPA, DDP, RDMAP, each octet's place,
 * completions, and the first error. The engine's environment is faked here: the socket with its
 * callback and buffer size, the rx kthread, TPT and queues.
 *
 * Input: struct config, then the stream.
 */
#include <setjmp.h>
#include "fuzz.h"
#include "stream_model.h"
#include "engine/atomic.h"
#include "engine/close.h"
#include "engine/kthreads.h"
#include "engine/rx.h"
#include "engine/stream.h"
#include "engine/tx.h"
#include "memory/tpt.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "queue/wqe.h"
#include "srnic.h"

static struct srnic_qp *qp;
static struct srnic_counters counters;
static u32 wqe_taken;
static u32 wqe_done[MAX_WQE];
static u32 wqe_errors, request_errors;
static int spans;
static u32 random_state;
static bool in_softirq;
static bool in_thread;
static u32 no_memory;

/* The same numbers in each run of an input */
static u32 random_u16(void)
{
	random_state = random_state * 1103515245 + 12345;
	return random_state >> 16;
}

/* @nofault: no page is waited for. Without the kthread nobody would try again. */
static bool must_sleep(bool nofault)
{
	return (in_softirq || (in_thread && nofault)) && random_u16() % 256 < cfg.sleepy;
}

/* Memory and sleep */

void *fuzz_kvmalloc(size_t size)
{
	FUZZ_CHECK(!in_softirq);
	if (no_memory) {
		no_memory--;
		return NULL;
	}
	return malloc(size);
}

void fuzz_kvfree(void *p)
{
	FUZZ_CHECK(!in_softirq);
	free(p);
}

unsigned long jiffies;

/* The engine's time budget may end at any time */
u64 ktime_get_ns(void)
{
	static u64 now;

	now += random_u16() % 16 ? 1000 : 60000;
	return now;
}

long schedule_timeout_idle(long timeout)
{
	FUZZ_CHECK(!in_softirq && timeout > 0);
	return 0;
}

int schedule_hrtimeout_range(ktime_t *expires, u64 delta, int mode)
{
	FUZZ_CHECK(!in_softirq && *expires > 0 && qp->rx->rnr_since);
	jiffies++;
	return 0;
}

long fuzz_sleep_for(long timeout)
{
	FUZZ_CHECK(!in_softirq && timeout > 0 && timeout < LONG_MAX && qp->rx->rnr_since);
	jiffies++;
	return timeout - 1;
}

/* The rx kthread waits by leaving its function, which begins anew when it is woken */
static jmp_buf asleep;

void fuzz_sleep(void)
{
	longjmp(asleep, 1);
}

static void run_thread(void)
{
	in_thread = true;
	if (test_bit(SRNIC_QPF_DATA, &qp->flags) && !setjmp(asleep))
		srnic_rx_thread(qp);
	in_thread = false;
}

/* The socket. Its buffers are of exact size. */

struct sk_buff {
	struct sk_buff *next;
	u8 *data;
	u32 len;
};

struct sk_buff_head {
	struct sk_buff *first;
	struct sk_buff *last;
	u32 off;		/* bytes of the first buffer that are taken */
};

struct srnic_stream_fake {
	struct srnic_stream stream;
	struct sk_buff_head queue;
	u32 avail;
	u32 taken;
	bool locked;
	bool pressure;
	enum srnic_stream_state state;
};

static struct srnic_stream_fake tcp;

static void tcp_add(const u8 *data, u32 len)
{
	struct sk_buff *skb = calloc(1, sizeof(*skb));

	skb->data = malloc(len);
	skb->len = len;
	memcpy(skb->data, data, len);
	if (tcp.queue.first)
		tcp.queue.last->next = skb;
	else
		tcp.queue.first = skb;
	tcp.queue.last = skb;
	tcp.avail += len;
}

bool srnic_stream_lock(struct srnic_stream *stream)
{
	(void)stream;
	FUZZ_CHECK(!in_softirq && !tcp.locked);
	tcp.locked = true;
	return true;
}

void srnic_stream_unlock(struct srnic_stream *stream)
{
	(void)stream;
	FUZZ_CHECK(!in_softirq && tcp.locked);
	tcp.locked = false;
}

u32 srnic_stream_avail(const struct srnic_stream *stream)
{
	(void)stream;
	FUZZ_CHECK(tcp.locked);
	return tcp.avail;
}

struct srnic_cursor srnic_stream_first(const struct srnic_stream *stream)
{
	(void)stream;
	FUZZ_CHECK(tcp.locked);
	return (struct srnic_cursor){
		.queue = &tcp.queue, .skb = tcp.queue.first, .off = tcp.queue.off,
	};
}

void srnic_stream_take(struct srnic_stream *stream, u32 len)
{
	(void)stream;
	FUZZ_CHECK(tcp.locked && len <= tcp.avail);
	tcp.avail -= len;
	tcp.taken += len;
	tcp.queue.off += len;
	while (tcp.queue.first && tcp.queue.off >= tcp.queue.first->len) {
		struct sk_buff *skb = tcp.queue.first;

		tcp.queue.off -= skb->len;
		tcp.queue.first = skb->next;
		free(skb->data);
		free(skb);
	}
}

bool srnic_stream_is_stuck(const struct srnic_stream *stream, u32 need)
{
	(void)stream;
	FUZZ_CHECK(tcp.locked && need > tcp.avail);
	return tcp.pressure || need > cfg.window;
}

/* All requests have been sent */
u32 srnic_stream_taken(const struct srnic_stream *stream)
{
	(void)stream;
	return 0;
}

void srnic_tx_answer(struct srnic_qp *q)
{
	(void)q;
	FUZZ_CHECK(tcp.locked && in_softirq);
}

/* Acknowledgments: those received are ack.c's. Where they are sent is up to tx. */
void srnic_tx_acknowledge(struct srnic_qp *q)
{
	(void)q;
	FUZZ_CHECK(!tcp.locked && !in_softirq);
}

u8 *srnic_tx_header(struct srnic_qp *q, const struct ddp_hdr *hdr)
{
	(void)q;
	(void)hdr;
	FUZZ_CHECK(false);
	return NULL;
}

void srnic_tx_seal(struct srnic_qp *q, u32 len)
{
	(void)q;
	(void)len;
	FUZZ_CHECK(false);
}

/* Also of those that are looked at before their turn */
void srnic_sq_acked(struct srnic_qp *q, u32 number)
{
	FUZZ_CHECK(number && number <= cfg.acks);
	if (number > q->sq_acked)
		q->sq_acked = number;
}

bool srnic_sq_fail_first(struct srnic_qp *q, enum srnic_wc_status status)
{
	FUZZ_CHECK(q->acks && status != SRNIC_WC_SUCCESS);
	return q->sq_acked != cfg.acks;
}

void srnic_tx_opens(struct srnic_qp *q)
{
	FUZZ_CHECK(tcp.locked);
	set_bit(SRNIC_QPF_TX_OPEN, &q->flags);
}

void srnic_kthread_begins(const struct srnic_qp *of)
{
}

enum srnic_stream_state srnic_stream_state(const struct srnic_stream *stream)
{
	(void)stream;
	return tcp.state;
}

bool srnic_cursor_is_readable(struct srnic_cursor cur, u32 len)
{
	(void)cur;
	(void)len;
	return true;
}

void srnic_cursor_walk(struct srnic_cursor *cur, u32 len, srnic_stream_actor actor, void *ctx)
{
	if (cur->at) {
		actor(ctx, cur->at, len);
		cur->at += len;
		return;
	}
	while (len) {
		u32 n;

		while (cur->off >= cur->skb->len) {
			cur->off -= cur->skb->len;
			cur->skb = cur->skb->next;
		}
		n = min(len, cur->skb->len - cur->off);
		actor(ctx, cur->skb->data + cur->off, n);
		cur->off += n;
		len -= n;
	}
}

static void copy_actor(void *ctx, const u8 *data, u32 len)
{
	u8 **dst = ctx;

	memcpy(*dst, data, len);
	*dst += len;
}

void srnic_cursor_copy(struct srnic_cursor *cur, void *dst, u32 len)
{
	srnic_cursor_walk(cur, len, copy_actor, &dst);
}

/* The state machine */

static bool works(const struct srnic_qp *q)
{
	return q->state == SRNIC_QP_RTS || q->state == SRNIC_QP_CLOSING;
}

bool srnic_qp_fail(struct srnic_qp *q, enum rdmap_err err, const u8 *seg, u32 seg_len,
		   bool in_wc)
{
	u8 copy[SRNIC_RX_HDR];

	(void)in_wc;
	if (seg) {
		FUZZ_CHECK(seg_len <= sizeof(copy));
		memcpy(copy, seg, seg_len);
	}
	if (!works(q))
		return false;
	q->state = q->state == SRNIC_QP_RTS ? SRNIC_QP_TERMINATE : SRNIC_QP_ERROR;
	note(&real, FAILED, err, 0, 0);
	return true;
}

bool srnic_qp_leave(struct srnic_qp *q, enum srnic_qp_state next, enum srnic_event event)
{
	if (!works(q))
		return false;
	q->state = next;
	note(&real, LEFT, event, 0, 0);
	return true;
}

bool srnic_qp_terminated(struct srnic_qp *q, const struct rdmap_term *term, bool in_wc)
{
	(void)in_wc;
	FUZZ_CHECK(works(q));
	q->state = q->state == SRNIC_QP_RTS ? SRNIC_QP_TERMINATE : SRNIC_QP_ERROR;
	note(&real, TERMINATED, term->err.layer, term->err.etype, term->err.code);
	return true;
}

/* Queues */

int srnic_rq_take(struct srnic_qp *q, struct srnic_rwr *rwr)
{
	u32 at = wqe_taken * (cfg.sge[0] + cfg.sge[1]);

	if (wqe_taken == cfg.wqes || (cfg.late && random_u16() & 1))
		return -EAGAIN;
	/* a corrupt ring: no WQE is taken */
	if (cfg.take_error == -EPROTO)
		return -EPROTO;
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

/* The engine waits for a receive, which may be there at any look */
static bool awaited;

void srnic_rq_await(struct srnic_qp *q)
{
	FUZZ_CHECK(!in_softirq && !awaited && q->rx->rnr_since);
	awaited = true;
}

void srnic_rq_await_end(struct srnic_qp *q)
{
	(void)q;
	FUZZ_CHECK(awaited);
	awaited = false;
}

bool srnic_rq_is_empty(struct srnic_qp *q)
{
	(void)q;
	FUZZ_CHECK(awaited);
	return wqe_taken == cfg.wqes || random_u16() & 1;
}

bool srnic_srq_is_first(struct srnic_qp *q)
{
	(void)q;
	FUZZ_CHECK(awaited);
	return random_u16() & 1;
}

void srnic_rq_complete(struct srnic_qp *q, const struct srnic_rwr *rwr, struct srnic_cqe *cqe,
		       enum srnic_wc_status status)
{
	(void)q;
	FUZZ_CHECK(rwr->index < wqe_taken && !wqe_done[rwr->index]++);
	if (status == SRNIC_WC_SUCCESS)
		note(&real, RECEIVED, rwr->index | cqe->flags << 16, cqe->byte_len, cqe->data);
	else if (status != SRNIC_WC_FLUSHED)
		wqe_errors++;
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

/* TPT */

enum srnic_tpt_err srnic_tpt_get(struct srnic_device *dev, const struct srnic_access *acc,
				 struct srnic_span *span)
{
	bool remote = acc->stag == REMOTE_STAG;
	u64 base = remote ? REMOTE_BASE : 0;
	u64 len = remote ? cfg.remote_len : local_len();
	static struct srnic_tpte tpte;

	(void)dev;
	memset(span, 0, sizeof(*span));
	FUZZ_CHECK(acc->length && acc->nowait == in_softirq);
	FUZZ_CHECK(acc->need == SRNIC_LOCAL_WRITE || acc->need == SRNIC_REMOTE_WRITE ||
		   acc->need == SRNIC_READ_SINK);
	if (acc->need == SRNIC_LOCAL_WRITE ? acc->stag != LOCAL_STAG : !remote)
		return SRNIC_TPT_STAG;
	if (acc->to + acc->length < acc->to)
		return SRNIC_TPT_WRAP;
	if (acc->to < base || acc->to + acc->length > base + len)
		return SRNIC_TPT_BOUNDS;
	/* as for memory of a DMA buffer */
	if (must_sleep(false))
		return SRNIC_TPT_SLEEPS;
	span->tpte = &tpte;
	span->off = (uintptr_t)(remote ? real.remote : real.local) + (acc->to - base);
	span->left = base + len - acc->to;
	span->nofault = acc->nowait || acc->nofault;
	spans++;
	return SRNIC_TPT_OK;
}

void srnic_tpt_put(struct srnic_span *span)
{
	if (!span->tpte)
		return;
	span->tpte = NULL;
	spans--;
}

/* The page may have gone again when the access is made */
void srnic_tpt_take_in(struct srnic_device *dev, const struct srnic_access *acc)
{
	(void)dev;
	FUZZ_CHECK(!in_softirq && !tcp.locked && !spans);
	FUZZ_CHECK(acc->length && acc->nofault && qp->rx->missing.length);
}

enum srnic_tpt_err srnic_span_write(const struct srnic_span *span, u64 at, const void *src,
				    u32 len)
{
	/* memory that is paged on demand may end in the middle */
	bool sleeps = must_sleep(span->nofault);

	memcpy((u8 *)(uintptr_t)span->off + at, src, sleeps ? len / 2 : len);
	return sleeps ? SRNIC_TPT_SLEEPS : SRNIC_TPT_OK;
}

enum rdmap_err srnic_tpt_tagged_err(enum srnic_tpt_err err)
{
	FUZZ_CHECK(err < SRNIC_TPT_SLEEPS);
	return err == SRNIC_TPT_STAG ? RDMAP_E_TAGGED_STAG :
	       err == SRNIC_TPT_WRAP ? RDMAP_E_TAGGED_WRAP : RDMAP_E_TAGGED_BOUNDS;
}

enum srnic_wc_status srnic_tpt_wc_status(enum srnic_tpt_err err)
{
	FUZZ_CHECK(err < SRNIC_TPT_SLEEPS);
	return err ? SRNIC_WC_BOUNDS : SRNIC_WC_SUCCESS;
}

static enum srnic_inv_err invalidate(u32 stag, bool remote)
{
	if (!remote)
		return cfg.local_error ? SRNIC_INV_STAG : SRNIC_INV_OK;
	return stag == BAD_INV_STAG ? SRNIC_INV_STAG : SRNIC_INV_OK;
}

enum srnic_inv_err srnic_tpt_invalidate(struct srnic_qp *q, u32 stag, bool remote)
{
	(void)q;
	FUZZ_CHECK(!in_softirq);
	return invalidate(stag, remote);
}

enum srnic_inv_err srnic_tpt_try_invalidate(struct srnic_qp *q, u32 stag, bool remote)
{
	enum srnic_inv_err err = invalidate(stag, remote);

	(void)q;
	return !err && must_sleep(false) ? SRNIC_INV_BUSY : err;
}

enum rdmap_err srnic_inv_remote_err(enum srnic_inv_err err)
{
	FUZZ_CHECK(err < SRNIC_INV_COUNT);
	return RDMAP_E_INV_STAG;
}

enum srnic_wc_status srnic_inv_recv_status(enum srnic_inv_err err)
{
	FUZZ_CHECK(err < SRNIC_INV_COUNT);
	return SRNIC_WC_INVALIDATE;
}

enum srnic_wc_status srnic_inv_wc_status(enum srnic_inv_err err)
{
	FUZZ_CHECK(err < SRNIC_INV_COUNT);
	return SRNIC_WC_INVALIDATE;
}

enum srnic_tpt_err srnic_atomic_place(const struct srnic_qp *q,
				      const struct srnic_outbound *out, u64 value, bool may_sleep)
{
	(void)q;
	(void)out;
	(void)value;
	FUZZ_CHECK(may_sleep == !in_softirq);
	if (cfg.local_error)
		return SRNIC_TPT_BOUNDS;
	return must_sleep(false) ? SRNIC_TPT_SLEEPS : SRNIC_TPT_OK;
}

bool srnic_placement_execute(struct srnic_qp *q, const struct rdmap_atomic_req *req,
			     bool may_sleep, enum rdmap_err *bad)
{
	FUZZ_CHECK(q->placement && rdmap_atomic_places(req->aopcode));
	FUZZ_CHECK(may_sleep == !in_softirq);
	*bad = req->stag == REMOTE_STAG ? RDMAP_OK : RDMAP_E_ATOMIC_STAG;
	return *bad || !must_sleep(false);
}

/* Correct the CRCs and markers, so that a mutated frame gets past these checks */
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

/* Another context ends the QP once that many bytes have come. Return: whether it has now. */
static bool left_by_another(u32 fed)
{
	if (fed < cfg.leave_at || !works(qp))
		return false;
	qp->state = SRNIC_QP_ERROR;
	left = true;
	return true;
}

static u32 piece_len(u32 left)
{
	return min(left, cfg.chunk ? 1 + random_u16() % cfg.chunk : left);
}

static void collect(const u8 *data, u32 len)
{
	struct srnic_cursor cur = srnic_cursor_at(data);

	while (len && !qp->rx->discard) {
		if (!qp->rx->part)
			qp->rx->part = malloc(mpa_fpdu_room(U16_MAX, false));
		len -= srnic_rx_collect(qp, &cur, len);
	}
	srnic_rx_let_go(qp->rx);
}

/* Collect the pieces of the stream directly. Return: octets that came before the end. */
static u32 feed_pieces(const u8 *s, u32 len)
{
	u32 fed = 0, n;

	while (fed < len && !left_by_another(fed)) {
		struct fuzz_in piece;
		u8 *box;

		n = piece_len(len - fed);
		piece = (struct fuzz_in){ s + fed, n };
		box = fuzz_box(&piece, n);
		tcp.locked = true;
		collect(box, n);
		tcp.locked = false;
		free(box);
		fed += n;
	}
	return fed;
}

/* TCP's callback, or a change of its state; then the rx kthread if it was woken */
static void callback(bool data)
{
	tcp.pressure = cfg.pressure && random_u16() & 1;
	if (data) {
		in_softirq = true;
		tcp.locked = true;
		srnic_rx_ready(qp);
		tcp.locked = false;
		in_softirq = false;
	} else {
		srnic_qp_kick_rx(qp);
	}
	run_thread();
	/* the next callback can run the engine again */
	FUZZ_CHECK(!test_bit(SRNIC_QPF_RX_THREAD, &qp->flags) || qp->rx->part);
	FUZZ_CHECK(!qp->rx->part || qp->rx->part_have || cfg.markers);
}

/* The same through the socket, which takes no more than its window. Return: as above. */
static u32 feed_tcp(const u8 *s, u32 len)
{
	u32 fed = 0, limit = len, n;

	while (fed < len) {
		if (!left && left_by_another(fed))
			limit = fed;
		n = min(piece_len(len - fed), cfg.window - tcp.avail);
		/* otherwise neither TCP nor the engine could go on */
		FUZZ_CHECK(n);
		tcp_add(s + fed, n);
		fed += n;
		if (fed == len && cfg.with_data)
			tcp.state = cfg.end;
		callback(true);
		FUZZ_CHECK(tcp.taken + tcp.avail == fed);
		FUZZ_CHECK(counters.n[SRNIC_CNT_RX_BYTES] == tcp.taken || tcp.state);
	}
	if (!left)
		left_by_another(fed);
	if (tcp.state != cfg.end) {
		tcp.state = cfg.end;
		callback(false);
	}
	FUZZ_CHECK(test_bit(SRNIC_QPF_RX_DONE, &qp->flags) == (tcp.state != SRNIC_STREAM_UP));
	return limit;
}

/* Other properties of the QP at the end; each receive WR that was taken completes once */
static void check_end(u32 limit)
{
	bool ended = model_ended();
	u32 i;

	FUZZ_CHECK(!spans);
	FUZZ_CHECK(counters.n[SRNIC_CNT_RX_FPDU] == m.fpdus);
	if (cfg.collect || (!left && cfg.end == SRNIC_STREAM_UP))
		FUZZ_CHECK(qp->rx->discard == ended);
	if (!cfg.collect && (limit < view.raw_len || ended || cfg.end))
		FUZZ_CHECK(!tcp.avail && tcp.taken == view.raw_len);
	FUZZ_CHECK(test_bit(SRNIC_QPF_TX_OPEN, &qp->flags) == m.opened);
	FUZZ_CHECK(qp->rx->delivered == m.delivered);
	FUZZ_CHECK(qp->rx->ack_heard == m.acked && qp->sq_acked >= m.acked);
	FUZZ_CHECK(qp->irq_tail == m.irq);
	FUZZ_CHECK(qp->orq_head == m.request + request_errors);
	/* at most one WR has the error (ST-35) */
	FUZZ_CHECK(wqe_errors + request_errors <= (model_last() == FAILED || model_last() == TERMINATED));
	srnic_rx_flush(qp);
	for (i = 0; i < wqe_taken; i++)
		FUZZ_CHECK(wqe_done[i] == 1);
	tcp.locked = true;
	srnic_stream_take(qp->stream, tcp.avail);
}

/* The engine, with the fields of a QP that it uses */
static void run_engine(const u8 *s, u32 len)
{
	static struct srnic_device dev;
	static struct srnic_tx tx;
	struct srnic_outbound orq[MAX_REQ] = { };
	struct srnic_inbound irq[MAX_REQ];
	struct ib_pd pd;
	u32 i, limit;

	memset(&counters, 0, sizeof(counters));
	dev.counters = &counters;
	random_state = cfg.chunk;
	tcp = (struct srnic_stream_fake){ };
	qp = calloc(1, sizeof(*qp));
	qp->ibqp.pd = &pd;
	qp->ibqp.qp_num = 5;
	qp->dev = &dev;
	qp->tx = &tx;
	tx.messages = cfg.acks;
	qp->acks = cfg.acks;
	qp->placement = cfg.placement;
	qp->state = cfg.fin_sent ? SRNIC_QP_CLOSING : SRNIC_QP_RTS;
	qp->max_recv_sge = 2;
	qp->enables = cfg.enables;
	qp->policy.inline_work = true;
	/* 1 s, or 655 ms: a receive is posted in that time, or never */
	qp->policy.no_receive = cfg.late;
	qp->send_imm = cfg.send_imm;
	qp->version = cfg.rdmac ? RDMAP_RDMAC : RDMAP_IETF;
	qp->ib.paired = cfg.chunk & 1;
	qp->ib.rnr_retry = 1;
	qp->mpa.crc = cfg.crc;
	qp->mpa.rx_markers = cfg.markers;
	qp->mpa.ird = cfg.ird;
	qp->ird = MAX_REQ;
	qp->irq = irq;
	qp->irq_mask = MAX_REQ - 1;
	qp->orq = orq;
	qp->orq_mask = MAX_REQ - 1;
	qp->orq_tail = cfg.requests;
	qp->mpa.rtr = cfg.rtr;
	if (cfg.rtr_read) {
		qp->initiator = true;
		qp->mpa.rtr = MPA_RTR_READ;
		set_bit(SRNIC_QPF_RTR_READ, &qp->flags);
	}
	left = false;
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
	no_memory = cfg.no_memory ? 2 : 0;
	if (cfg.no_memory && cfg.markers)
		FUZZ_CHECK(!srnic_rx_new(qp));
	if (cfg.markers)
		no_memory = 0;
	qp->rx = srnic_rx_new(qp);
	FUZZ_CHECK(qp->rx);
	limit = cfg.collect ? feed_pieces(s, len) : feed_tcp(s, len);
	run_model(limit);
	check_end(limit);
	srnic_rx_free(qp->rx);
	free(qp);
}

static u8 *fresh(u32 len)
{
	u8 *box = malloc(len);

	memset(box, 0xee, len);
	return box;
}

static void begin_log(struct log *log)
{
	log->count = 0;
	log->remote = fresh(cfg.remote_len);
	log->local = fresh(local_len());
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
	cfg.placement = cfg.enables & 16;
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
	bits = fuzz_u8(in);
	cfg.collect = bits & 1;
	cfg.pressure = bits & 2;
	cfg.no_memory = bits & 4;
	cfg.with_data = bits & 8;
	cfg.end = cfg.collect ? SRNIC_STREAM_UP : bits >> 4 & 3;
	/* a connection that is lost does not wait for receives */
	cfg.late = bits & 64 && !cfg.collect && cfg.end <= SRNIC_STREAM_FIN;
	cfg.sleepy = fuzz_u8(in);
	bits = fuzz_u8(in);
	cfg.rtr = bits & (MPA_RTR_SEND | MPA_RTR_WRITE);
	cfg.send_imm = bits & 128;
	cfg.rdmac = bits & 64;
	cfg.acks = cfg.rdmac ? 0 : bits >> 2 & 15;
	cfg.placement &= cfg.acks != 0;
	if (cfg.rtr_read)	/* an initiator expects none */
		cfg.rtr = 0;
	cfg.window = fuzz_u16(in);
	if (cfg.window < 16)
		cfg.window = cfg.window ? 16 : MAX_STREAM;
	cfg.leave_at = fuzz_u16(in);
	if (!cfg.leave_at)
		cfg.leave_at = MAX_STREAM;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u32 len;
	u8 *s;

	configure(&in);
	len = in.left < MAX_STREAM ? in.left : MAX_STREAM;
	s = fuzz_box(&in, len);
	if (cfg.mend)
		mend(s, len);

	FUZZ_CHECK(~crc32c(~0U, "123456789", 9) == 0xe3069283);
	begin_log(&real);
	begin_log(&want);
	wqe_taken = wqe_errors = request_errors = 0;
	memset(wqe_done, 0, sizeof(wqe_done));
	spans = 0;
	make_view(s, len);
	run_engine(s, len);
	end_view();
	FUZZ_CHECK(real.count == want.count);
	FUZZ_CHECK(!memcmp(real.event, want.event, real.count * sizeof(real.event[0])));
	FUZZ_CHECK(!memcmp(real.remote, want.remote, cfg.remote_len));
	FUZZ_CHECK(!memcmp(real.local, want.local, local_len()));
	free(real.remote);
	free(real.local);
	free(want.remote);
	free(want.local);
	free(s);
	return 0;
}
