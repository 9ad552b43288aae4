// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * tx_stage.c, rx.c: FPDUs of several TCP segments, up to 32 KiB, where both ends have agreed on
 * them. The stream has segments as on Ethernet.
 */
#include <kunit/test.h>
#include <linux/sizes.h>
#include "engine/tx.h"
#include "peer.h"
#include "wire/mpa.h"

#define SIGNAL	IB_SEND_SIGNALED
#define MSS	1448U	/* with TCP's timestamps */
#define LARGE	SZ_32K
/* Octets of an FPDU beside the payload of a Write: MPA's 2 and 4 (RFC 5044), DDP's 14 (RFC 5041) */
#define AROUND	20
#define BIG	100000U

struct pair {
	struct peer *p;
	u8 *mem;
	struct srnic_tpte *mr;
};

static struct pair connected(struct kunit *test, bool large, u32 window)
{
	struct pair t = { .mem = kunit_kmalloc(test, BIG, GFP_KERNEL) };
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, t.mem);	/* outlives the QP */
	for (i = 0; i < BIG; i++)
		t.mem[i] = i * 7 + i / 256;
	t.p = peer_idle(test);
	t.p->large = large;
	t.p->mss = MSS + 12;
	t.p->own_rcvbuf = window;
	t.mr = peer_region(t.p, t.p->pd, t.mem, BIG, SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE |
			   SRNIC_REMOTE_READ | SRNIC_REMOTE_WRITE);
	peer_connect(t.p, 1, 1);
	return t;
}

/* The FPDUs of a message, whose octets are those of the region. Return: their number */
static u32 message(struct kunit *test, const struct pair *t, u32 least, u32 most)
{
	u32 n = 0, got = 0, len;

	do {
		KUNIT_ASSERT_GT(test, peer_recv(t->p), 0);
		KUNIT_ASSERT_LE(test, got + t->p->data_len, BIG);
		KUNIT_EXPECT_EQ(test, 0, memcmp(t->p->data, t->mem + got, t->p->data_len));
		len = t->p->data_len + AROUND;
		KUNIT_EXPECT_LE(test, len, most);
		if (!t->p->hdr.last)
			KUNIT_EXPECT_GE(test, len, least);
		got += t->p->data_len;
		n++;
	} while (!t->p->hdr.last);
	KUNIT_EXPECT_EQ(test, got, BIG);
	return n;
}

static u32 write_big(struct kunit *test, const struct pair *t, u32 least, u32 most)
{
	struct ib_sge sge = peer_sge(t->mr, 0, BIG);
	u32 n;

	peer_post(t->p, IB_WR_RDMA_WRITE, 1, SIGNAL, &sge, 0, 0x2000);
	n = message(test, t, least, most);
	peer_wc(t->p, t->p->scq, 1, SRNIC_WC_SUCCESS);
	return n;
}

static void without_an_agreement_an_fpdu_fits_a_segment(struct kunit *test)
{
	struct pair t = connected(test, false, 0);

	KUNIT_EXPECT_GE(test, write_big(test, &t, MSS - 4, MSS), BIG / MSS);
	KUNIT_EXPECT_EQ(test, srnic_counter(t.p->dev, SRNIC_CNT_TX_SMALL_WINDOW), 0);
}

/* The peer's first window is of 64 KiB, or a segment less */
static void an_fpdu_has_32_kib_or_half_of_the_window(struct kunit *test)
{
	struct pair t = connected(test, true, 0);

	KUNIT_EXPECT_LE(test, write_big(test, &t, LARGE - MSS, LARGE), 4);
	peer_read_request(t.p, 1, 0x77, 0, BIG, t.mr->stag, t.mr->base);
	KUNIT_EXPECT_LE(test, message(test, &t, MSS, LARGE), 5);
	KUNIT_EXPECT_EQ(test, srnic_counter(t.p->dev, SRNIC_CNT_TX_SMALL_WINDOW), 0);
}

/* TCP's own segments have half of such a window, too */
static void a_window_too_small_for_it_leaves_segments(struct kunit *test)
{
	struct pair t = connected(test, true, 2 * MSS);

	KUNIT_EXPECT_GE(test, write_big(test, &t, 0, MSS), BIG / MSS);
	KUNIT_EXPECT_GT(test, srnic_counter(t.p->dev, SRNIC_CNT_TX_SMALL_WINDOW), 0);
}

/* A message of a few octets takes no more of a page than it has */
static void small_messages_share_a_page(struct kunit *test)
{
	struct pair t = connected(test, true, 0);
	struct ib_sge sge = peer_sge(t.mr, 0, 8);
	const struct page *page = NULL;
	unsigned long begin = jiffies;
	u32 i, other = 0;

	for (i = 0; i < 16; i++) {
		peer_post(t.p, IB_WR_RDMA_WRITE, i, SIGNAL, &sge, 0, 0x2000);
		peer_expect(t.p, ULP_WRITE, 8);
		peer_wc(t.p, t.p->scq, i, SRNIC_WC_SUCCESS);
		other += i && READ_ONCE(t.p->qp->tx->frag.page) != page;
		page = READ_ONCE(t.p->qp->tx->frag.page);
	}
	/* a page is put after a second */
	KUNIT_EXPECT_LE(test, other, (jiffies - begin) / HZ);
}

/* A Write of @payload octets in one FPDU, of which the first @len octets are sent */
static void send_write(struct kunit *test, const struct pair *t, u32 payload, u32 len)
{
	struct ddp_hdr hdr = HDR_WRITE(t->mr->stag, t->mr->base);
	u32 head = MPA_LEN_FIELD + ddp_hdr_len(true), at = head + payload;
	u8 *fpdu = kunit_kzalloc(test, mpa_fpdu_len(SZ_64K), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, fpdu);
	put_unaligned_be16(at - MPA_LEN_FIELD, fpdu);
	ddp_encode(fpdu + MPA_LEN_FIELD, &hdr);
	memset(fpdu + head, 0x3c, payload);
	at += -at & 3;
	put_unaligned_le32(mpa_crc_final(mpa_crc_add(mpa_crc_start(), fpdu, at)), fpdu + at);
	peer_send_octets(t->p, fpdu, min(len, at + MPA_CRC_LEN));
	kunit_kfree(test, fpdu);
}

static bool is_there(const struct pair *t, u32 len)
{
	return !memchr_inv(t->mem, 0x3c, len);
}

static void an_fpdu_of_32_kib_is_taken(struct kunit *test)
{
	struct pair t = connected(test, true, 0);

	send_write(test, &t, LARGE - AROUND, U32_MAX);
	KUNIT_EXPECT_TRUE(test, peer_until(is_there(&t, LARGE - AROUND)));
	KUNIT_EXPECT_EQ(test, srnic_qp_state(t.p->qp), SRNIC_QP_RTS);
}

static void without_an_agreement_any_fpdu_is_taken(struct kunit *test)
{
	struct pair t = connected(test, false, 0);

	send_write(test, &t, LARGE - AROUND + 1, U32_MAX);
	KUNIT_EXPECT_TRUE(test, peer_until(is_there(&t, LARGE - AROUND + 1)));
	KUNIT_EXPECT_EQ(test, srnic_qp_state(t.p->qp), SRNIC_QP_RTS);
}

/* RFC 5044 8: 2/0/03 (E-32), as soon as the length is known; nothing of it is placed */
static void too_long(struct kunit *test, const char *what, u32 payload, u32 len)
{
	struct pair t = connected(test, true, 0);

	send_write(test, &t, payload, len);
	peer_expect_terminate(t.p, what, 0x2003, 0);
	peer_close(t.p);
	peer_expect_closed(t.p, what, SRNIC_QP_ERROR);
	peer_expect_event(t.p, what, IB_EVENT_QP_FATAL);
	KUNIT_EXPECT_FALSE(test, is_there(&t, 1));
}

static void an_fpdu_longer_than_agreed_ends_the_stream(struct kunit *test)
{
	too_long(test, "by an octet", LARGE - AROUND + 1, U32_MAX);
	too_long(test, "the longest", U16_MAX - 14, U32_MAX);
	too_long(test, "the beginning of the longest", U16_MAX - 14, 40);
}

static struct kunit_case large_fpdu_cases[] = {
	KUNIT_CASE(without_an_agreement_an_fpdu_fits_a_segment),
	KUNIT_CASE(an_fpdu_has_32_kib_or_half_of_the_window),
	KUNIT_CASE(a_window_too_small_for_it_leaves_segments),
	KUNIT_CASE(small_messages_share_a_page),
	KUNIT_CASE(an_fpdu_of_32_kib_is_taken),
	KUNIT_CASE(without_an_agreement_any_fpdu_is_taken),
	KUNIT_CASE(an_fpdu_longer_than_agreed_ends_the_stream),
	{}
};

static struct kunit_suite large_fpdu_suite = {
	.name = "srnic-large-fpdu",
	.test_cases = large_fpdu_cases,
};

kunit_test_suite(large_fpdu_suite);
