// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* ib/rdv.c: the private data of a rendezvous, and which of two attempts lives. */
#include <kunit/test.h>
#include "ib/rdv.h"
#include "octets.h"

#define GOLDEN	"73724942 01 02 8100 00000011 00fffffe 00123456 00abcdef " \
		"00000000 00000000 0000ffff 0a010101 fe800000 00000000 00000000 00000002"

static const struct rdv_hello golden = {
	.code = RDV_MISMATCH,
	.offers = 0x81,
	.src_qpn = 0x11,
	.dst_qpn = 0xfffffe,
	.src_psn = 0x123456,
	.dst_psn = 0xabcdef,
	.src_gid = { [10] = 0xff, 0xff, 10, 1, 1, 1 },
	.dst_gid = { 0xfe, 0x80, [15] = 2 },
};

static void encode_writes_each_field_at_its_place(struct kunit *test)
{
	u8 buf[RDV_LEN + 1];

	memset(buf, 0xa5, sizeof(buf));
	rdv_encode(buf, &golden);
	octets_expect(test, "frame", buf, RDV_LEN, GOLDEN);
	KUNIT_EXPECT_EQ(test, buf[RDV_LEN], 0xa5);
}

static void decode_gives_back_what_was_encoded(struct kunit *test)
{
	struct rdv_hello got = { };
	u8 buf[RDV_LEN];

	rdv_encode(buf, &golden);
	KUNIT_ASSERT_TRUE(test, rdv_decode(buf, RDV_LEN, &got));
	KUNIT_EXPECT_EQ(test, got.code, golden.code);
	KUNIT_EXPECT_EQ(test, got.offers, golden.offers);
	KUNIT_EXPECT_EQ(test, got.src_qpn, golden.src_qpn);
	KUNIT_EXPECT_EQ(test, got.dst_qpn, golden.dst_qpn);
	KUNIT_EXPECT_EQ(test, got.src_psn, golden.src_psn);
	KUNIT_EXPECT_EQ(test, got.dst_psn, golden.dst_psn);
	KUNIT_EXPECT_EQ(test, memcmp(got.src_gid, golden.src_gid, RDV_GID_LEN), 0);
	KUNIT_EXPECT_EQ(test, memcmp(got.dst_gid, golden.dst_gid, RDV_GID_LEN), 0);
}

static void decode_takes_one_length_only(struct kunit *test)
{
	u8 buf[RDV_LEN + 1] = { };
	struct rdv_hello got;

	rdv_encode(buf, &golden);
	KUNIT_EXPECT_FALSE(test, rdv_decode(buf, 0, &got));
	KUNIT_EXPECT_FALSE(test, rdv_decode(buf, RDV_LEN - 1, &got));
	KUNIT_EXPECT_FALSE(test, rdv_decode(buf, RDV_LEN + 1, &got));
}

/* The byte to change; its new value; whether the frame still decodes */
static const struct {
	u8 at;
	u8 to;
	bool good;
} changes[] = {
	{ 0, 0x72, false },	/* magic */
	{ 3, 0x43, false },
	{ 4, 0, false },	/* version */
	{ 4, 2, false },
	{ 5, 0, true },		/* code */
	{ 5, RDV_CODES - 1, true },
	{ 5, RDV_CODES, false },
	{ 5, 0xff, false },
	{ 6, 1, true },		/* offers, known or not */
	{ 7, 1, true },		/* reserved */
	{ 8, 1, false },	/* numbers of more than 24 bits */
	{ 12, 1, false },
	{ 16, 1, false },
	{ 20, 1, false },
};

static void decode_refuses_what_is_not_of_this_kind(struct kunit *test)
{
	struct rdv_hello got;
	u8 buf[RDV_LEN];
	int i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		rdv_encode(buf, &golden);
		buf[changes[i].at] = changes[i].to;
		KUNIT_EXPECT_EQ_MSG(test, rdv_decode(buf, RDV_LEN, &got), changes[i].good,
				    "row %d", i);
	}
}

static struct rdv_hello peer_of(const struct rdv_hello *own)
{
	struct rdv_hello peer = {
		.src_qpn = own->dst_qpn,
		.dst_qpn = own->src_qpn,
		.src_psn = own->dst_psn,
		.dst_psn = own->src_psn,
	};

	memcpy(peer.src_gid, own->dst_gid, RDV_GID_LEN);
	memcpy(peer.dst_gid, own->src_gid, RDV_GID_LEN);
	return peer;
}

static void ends_fit_if_each_number_and_address_does(struct kunit *test)
{
	struct rdv_hello peer = peer_of(&golden);

	KUNIT_EXPECT_TRUE(test, rdv_fits(&golden, &peer, true));
	peer.src_qpn++;
	KUNIT_EXPECT_FALSE(test, rdv_fits(&golden, &peer, true));
	peer = peer_of(&golden);
	peer.dst_qpn++;
	KUNIT_EXPECT_FALSE(test, rdv_fits(&golden, &peer, true));
	peer = peer_of(&golden);
	peer.src_psn++;
	KUNIT_EXPECT_FALSE(test, rdv_fits(&golden, &peer, true));
	peer = peer_of(&golden);
	peer.src_gid[15]++;
	KUNIT_EXPECT_FALSE(test, rdv_fits(&golden, &peer, true));
	peer = peer_of(&golden);
	peer.dst_gid[0]++;
	KUNIT_EXPECT_FALSE(test, rdv_fits(&golden, &peer, true));
}

static void own_psn_counts_from_rts_on(struct kunit *test)
{
	struct rdv_hello peer = peer_of(&golden);

	peer.dst_psn++;
	KUNIT_EXPECT_FALSE(test, rdv_fits(&golden, &peer, true));
	KUNIT_EXPECT_TRUE(test, rdv_fits(&golden, &peer, false));
}

/* RFC 4271 6.8: the attempt of the higher end lives, and both ends agree on it */
static void of_two_attempts_exactly_one_lives(struct kunit *test)
{
	struct rdv_hello low = golden, high;

	memset(low.src_gid, 1, RDV_GID_LEN);
	memset(low.dst_gid, 1, RDV_GID_LEN);
	low.dst_gid[15] = 2;
	low.src_qpn = 9;
	low.dst_qpn = 8;
	high = peer_of(&low);
	KUNIT_EXPECT_FALSE(test, rdv_own_attempt_lives(&low));
	KUNIT_EXPECT_TRUE(test, rdv_own_attempt_lives(&high));

	/* with one address the QP numbers decide, compared as numbers */
	low.dst_gid[15] = 1;
	low.src_qpn = 0xff;
	low.dst_qpn = 0x100;
	high = peer_of(&low);
	KUNIT_EXPECT_FALSE(test, rdv_own_attempt_lives(&low));
	KUNIT_EXPECT_TRUE(test, rdv_own_attempt_lives(&high));
}

static struct kunit_case rdv_cases[] = {
	KUNIT_CASE(encode_writes_each_field_at_its_place),
	KUNIT_CASE(decode_gives_back_what_was_encoded),
	KUNIT_CASE(decode_takes_one_length_only),
	KUNIT_CASE(decode_refuses_what_is_not_of_this_kind),
	KUNIT_CASE(ends_fit_if_each_number_and_address_does),
	KUNIT_CASE(own_psn_counts_from_rts_on),
	KUNIT_CASE(of_two_attempts_exactly_one_lives),
	{}
};

static struct kunit_suite rdv_suite = {
	.name = "srnic-rdv",
	.test_cases = rdv_cases,
};

kunit_test_suite(rdv_suite);
