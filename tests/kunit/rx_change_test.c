// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rx.c, place.c: the sender keeps writing to data it has sent. Its page is in the QP's receive
 * queue, and one octet changes between any two looks of the engine. The FPDU is then accepted as
 * it was at the look, or its CRC is wrong; it is never a mixture.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include "engine/rx.h"
#include "engine/stream.h"
#include "peer.h"
#include "rx_change.h"
#include "wire/mpa.h"

#define SIZE	SZ_4K
#define GUARD	0xa5
#define RIGHTS	(SRNIC_LOCAL_WRITE | SRNIC_REMOTE_READ | SRNIC_REMOTE_WRITE)
/* Offset of the FPDU's destination, and length of its payload */
#define OFF	100
#define LEN	46
/* Length of the FPDU sent behind it */
#define NEXT	1500

/* Octet @at of the sender's page changes after @after looks at TCP's buffers */
static struct {
	u8 *at;
	u8 flip;
	u32 after;
	u32 looks;
} change;

static void looked(const struct srnic_cursor *cur)
{
	/* pairs with send_changing() */
	u8 *at = smp_load_acquire(&change.at);

	if (!cur->at && at && change.looks++ == change.after)
		WRITE_ONCE(*at, *at ^ change.flip);
}

/* Called by rx.c and place.c in place of the functions of stream.c */
void rx_change_copy(struct srnic_cursor *cur, void *dst, u32 len)
{
	looked(cur);
	srnic_cursor_copy(cur, dst, len);
}

void rx_change_walk(struct srnic_cursor *cur, u32 len, srnic_stream_actor actor, void *ctx)
{
	looked(cur);
	srnic_cursor_walk(cur, len, actor, ctx);
}

/* A QP, its memory, and the page that is sent */
struct changing {
	struct kunit *test;
	struct peer *p;
	u8 *all;
	u8 *mem;
	u8 *other;
	struct srnic_tpte *mr;
	struct srnic_tpte *far;
	bool thread;
	u32 sent;
	struct page *page;
	u8 *fpdu;
};

/* A kind of message */
struct kind {
	const char *name;
	u32 (*make)(struct changing *c, u8 *fpdu);
	void (*taken)(struct changing *c, const char *what);
	void (*before)(struct changing *c);
};

static void open_it(struct changing *c)
{
	c->p = peer_idle(c->test);
	c->mr = peer_region(c->p, c->p->pd, c->mem, SIZE, RIGHTS);
	c->far = peer_region(c->p, c->p->pd, c->other, SIZE, RIGHTS);
	c->sent = 0;
	peer_connect(c->p, 1, 1);
}

static void close_it(struct changing *c)
{
	peer_close(c->p);
	srnic_qp_destroy(c->p->qp);
	c->p->qp = NULL;
	peer_unregister(c->p, c->mr);
	peer_unregister(c->p, c->far);
}

static u8 octet(u32 i)
{
	return i * 7 + i / 256 + 1;
}

static u32 make_fpdu(u8 *fpdu, const struct ddp_hdr *hdr, const u8 *data, u32 len)
{
	u32 head = ddp_encode(fpdu + MPA_LEN_FIELD, hdr), i;

	for (i = 0; i < len; i++)
		fpdu[MPA_LEN_FIELD + head + i] = data ? data[i] : octet(i);
	return mpa_fpdu_seal(fpdu, head + len, true, NULL);
}

/* The engine has processed @c's FPDU and the next one, or has found an error */
static bool over(const struct changing *c)
{
	return srnic_counter(c->p->dev, SRNIC_CNT_RX_FPDU) == c->sent ||
	       srnic_qp_state(c->p->qp) != SRNIC_QP_RTS;
}

/* Send the FPDU, whose octet @at changes after @after looks. Return: whether it was accepted. */
static bool send_changing(struct changing *c, const struct kind *kind, u32 at, u32 after)
{
	struct ddp_hdr next = HDR_WRITE(c->far->stag, c->far->base);
	char what[64];
	bool taken;
	u32 len;

	snprintf(what, sizeof(what), "%s, octet %u, after %u looks", kind->name, at, after);
	memset(c->all, GUARD, 5 * SIZE);
	if (kind->before)
		kind->before(c);
	len = kind->make(c, c->fpdu);
	len += make_fpdu(c->fpdu + len, &next, NULL, NEXT);
	c->sent += 2;
	if (c->thread) {
		srnic_stream_lock(c->p->qp->stream);
		set_bit(SRNIC_QPF_RX_THREAD, &c->p->qp->flags);
		srnic_stream_unlock(c->p->qp->stream);
	}
	/* a length larger by 512 octets, which are in the stream */
	change.flip = at ? 4 : 2;
	change.after = after;
	change.looks = 0;
	/* pairs with looked() */
	smp_store_release(&change.at, c->fpdu + at);
	peer_send_page(c->p, c->page, len);
	KUNIT_EXPECT_TRUE_MSG(c->test, peer_until(over(c)), "%s", what);
	WRITE_ONCE(change.at, NULL);

	taken = srnic_qp_state(c->p->qp) == SRNIC_QP_RTS;
	if (taken) {
		kind->taken(c, what);
		KUNIT_EXPECT_EQ_MSG(c->test, c->other[NEXT - 1], octet(NEXT - 1), "%s", what);
		memset(c->other, GUARD, NEXT);
	} else {
		peer_expect_terminate(c->p, what, 0x2002, 0);
		KUNIT_EXPECT_EQ_MSG(c->test, srnic_counter(c->p->dev, SRNIC_CNT_CRC_ERROR), 1,
				    "%s", what);
	}
	KUNIT_EXPECT_PTR_EQ_MSG(c->test, memchr_inv(c->all, GUARD, 5 * SIZE), NULL, "%s", what);
	return taken;
}

/* More looks than the engine takes at an FPDU */
#define LOOKS	12

static void change_all(struct kunit *test, const struct kind *kind, bool thread)
{
	/* length, control octets, STag or queue, TO or MSN, what follows, payload, CRC */
	static const u32 from_begin[] = { 0, 1, 2, 3, 4, 7, 8, 11, 12, 15, 16, 19, 20, 23, 40 };
	static const u32 from_end[] = { 8, 4, 1 };
	struct changing c = { .test = test, .thread = thread };
	u32 i, after, at, n = ARRAY_SIZE(from_begin);

	c.all = kunit_kzalloc(test, 5 * SIZE, GFP_KERNEL);
	c.page = alloc_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c.all);
	KUNIT_ASSERT_NOT_NULL(test, c.page);
	c.fpdu = page_address(c.page);
	c.mem = c.all + SIZE;
	c.other = c.all + 3 * SIZE;
	open_it(&c);
	for (i = 0; i < n + ARRAY_SIZE(from_end); i++) {
		for (after = 0; after <= LOOKS; after += 1 + (after >= 7) * 4) {
			bool taken;

			at = i < n ? from_begin[i] : kind->make(&c, c.fpdu) - from_end[i - n];
			taken = send_changing(&c, kind, at, after);
			/*
			 * changed before the first look it is damaged, after the last it is good
			 */
			if (!after || after == LOOKS)
				KUNIT_EXPECT_EQ_MSG(test, taken, !!after,
						    "%s, octet %u, after %u looks", kind->name, at,
						    after);
			if (taken)
				continue;
			close_it(&c);
			open_it(&c);
		}
	}
	close_it(&c);
	put_page(c.page);
}

static u32 make_write(struct changing *c, u8 *fpdu)
{
	struct ddp_hdr hdr = HDR_WRITE(c->mr->stag, c->mr->base + OFF);

	return make_fpdu(fpdu, &hdr, NULL, LEN);
}

/* The sender's octets, one of which may be new or old, and no others */
static void placed(struct changing *c, const char *what)
{
	u32 i, differ = 0;

	for (i = 0; i < LEN; i++)
		differ += c->mem[OFF + i] != octet(i);
	KUNIT_EXPECT_LE_MSG(c->test, differ, 1, "%s", what);
	memset(c->mem + OFF, GUARD, LEN);
}

static void a_write(struct kunit *test)
{
	static const struct kind kind = { "Write", make_write, placed };

	change_all(test, &kind, false);
}

static void a_write_by_the_thread(struct kunit *test)
{
	static const struct kind kind = { "Write", make_write, placed };

	change_all(test, &kind, true);
}

static u32 make_send(struct changing *c, u8 *fpdu)
{
	struct ddp_hdr hdr = HDR_SEND(c->sent / 2 + 1);

	return make_fpdu(fpdu, &hdr, NULL, LEN);
}

static void post_receive(struct changing *c)
{
	struct ib_sge sge = peer_sge(c->mr, OFF, SIZE - OFF);

	peer_post_recv(c->p, 7, &sge);
}

static void received(struct changing *c, const char *what)
{
	KUNIT_EXPECT_EQ_MSG(c->test, peer_wc(c->p, c->p->rcq, 7, SRNIC_WC_SUCCESS).byte_len, LEN,
			    "%s", what);
	placed(c, what);
}

static void a_send(struct kunit *test)
{
	static const struct kind kind = { "Send", make_send, received, post_receive };

	change_all(test, &kind, false);
}

static u32 make_read_request(struct changing *c, u8 *fpdu)
{
	struct ddp_hdr hdr = HDR_READ_REQ(c->sent / 2 + 1);
	u8 req[28];

	put_unaligned_be32(0x1234, req);
	put_unaligned_be64(0x5678, req + 4);
	put_unaligned_be32(LEN, req + 12);
	put_unaligned_be32(c->mr->stag, req + 16);
	put_unaligned_be64(c->mr->base + OFF, req + 20);
	return make_fpdu(fpdu, &hdr, req, sizeof(req));
}

/* The response shows what the engine read of the request */
static void answered(struct changing *c, const char *what)
{
	KUNIT_ASSERT_GT_MSG(c->test, peer_recv(c->p), 0, "%s", what);
	KUNIT_EXPECT_EQ_MSG(c->test, c->p->hdr.ulp, ULP_READ_RESP, "%s", what);
	KUNIT_EXPECT_EQ_MSG(c->test, c->p->hdr.stag, 0x1234, "%s", what);
	KUNIT_EXPECT_EQ_MSG(c->test, c->p->hdr.to, 0x5678, "%s", what);
	KUNIT_EXPECT_EQ_MSG(c->test, c->p->data_len, LEN, "%s", what);
	KUNIT_EXPECT_PTR_EQ_MSG(c->test, memchr_inv(c->p->data, GUARD, LEN), NULL, "%s", what);
}

static void a_read_request(struct kunit *test)
{
	static const struct kind kind = { "Read Request", make_read_request, answered };

	change_all(test, &kind, false);
}

static struct kunit_case rx_change_cases[] = {
	KUNIT_CASE(a_write),
	KUNIT_CASE(a_write_by_the_thread),
	KUNIT_CASE(a_send),
	KUNIT_CASE(a_read_request),
	{}
};

static struct kunit_suite rx_change_suite = {
	.name = "srnic-rx-change",
	.test_cases = rx_change_cases,
};

kunit_test_suite(rx_change_suite);
