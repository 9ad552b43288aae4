// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/mpa.c: the negotiation of a connection. */
#include <kunit/test.h>
#include "octets.h"
#include "wire/mpa.h"

#define NO_NEG	0x3fff

/* The default of most tests */
static const struct mpa_policy plain = {
	.crc = MPA_CRC_REQUIRED, .rev = 2, .rtr = MPA_RTR_WRITE | MPA_RTR_READ,
	.max_ird = 128, .max_ord = 128,
};

static const u16 depths[] = { 0, 1, 8, 255, 16382, NO_NEG };

/* The initiator's Request */

static void request_revision(struct kunit *test)
{
	struct mpa_policy policy = plain;
	struct mpa_hello req;
	u32 have, want;

	policy.p2p = true;
	for (have = 1; have <= 2; have++) {
		for (want = 1; want <= 2; want++) {
			bool two = have == 2 && want == 2;

			policy.rev = have;
			mpa_request_init(&req, &policy, want, 4, 5, 100);
			KUNIT_EXPECT_EQ(test, req.rev, two ? 2 : 1);
			KUNIT_EXPECT_EQ(test, req.enhanced, two);
			KUNIT_EXPECT_EQ(test, req.p2p, two);
			KUNIT_EXPECT_EQ(test, req.rtr,
					two ? MPA_RTR_WRITE | MPA_RTR_READ : 0);
			KUNIT_EXPECT_EQ(test, req.pd_len, two ? 104 : 100);
			KUNIT_EXPECT_EQ(test, req.ird, 4);
			KUNIT_EXPECT_EQ(test, req.ord, 5);
			KUNIT_EXPECT_FALSE(test, req.reject);
		}
	}
}

static void request_policy(struct kunit *test)
{
	static const struct {
		u16 want, max, get;
	} rows[] = {
		{ 0, 128, 0 }, { 1, 128, 1 }, { 127, 128, 127 }, { 128, 128, 128 },
		{ 129, 128, 128 }, { 16382, 128, 128 }, { NO_NEG, 128, NO_NEG },
		{ 0xffff, 128, 128 }, { 1, 0, 0 }, { NO_NEG, 0, NO_NEG },
	};
	struct mpa_policy policy = plain;
	struct mpa_hello req;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		policy.max_ird = rows[i].max;
		policy.max_ord = 77;
		mpa_request_init(&req, &policy, 2, rows[i].want, 77, 0);
		KUNIT_EXPECT_EQ_MSG(test, req.ird, rows[i].get, "IRD, row %u", i);
		KUNIT_EXPECT_EQ(test, req.ord, 77);

		policy.max_ird = 78;
		policy.max_ord = rows[i].max;
		mpa_request_init(&req, &policy, 2, 78, rows[i].want, 0);
		KUNIT_EXPECT_EQ_MSG(test, req.ord, rows[i].get, "ORD, row %u", i);
		KUNIT_EXPECT_EQ(test, req.ird, 78);
	}
	for (i = 0; i < 8; i++) {
		policy.crc = i & 1 ? MPA_CRC_REQUIRED : MPA_CRC_OFF;
		policy.rx_markers = i & 2;
		policy.p2p = i & 4;
		mpa_request_init(&req, &policy, 2, 0, 0, 0);
		KUNIT_EXPECT_EQ(test, req.crc, !!(i & 1));
		KUNIT_EXPECT_EQ(test, req.markers, policy.rx_markers);
		KUNIT_EXPECT_EQ(test, req.p2p, policy.p2p);
		KUNIT_EXPECT_EQ(test, req.rtr,
				policy.p2p ? MPA_RTR_WRITE | MPA_RTR_READ : 0);
	}
}

/* Both ends */

/*
 * RFC 5044 4.4, 7.1.1: CRC is used if either C is set, and not if none is
 * (M-CRC-2, M-CRC-3). An initiator that prefers it asks; a responder that
 * prefers it asks if the initiator does.
 */
static void crc_negotiation(struct kunit *test)
{
	static const struct {
		u8 initiator, responder;
		bool request, reply, used;
	} rows[] = {
		{ MPA_CRC_OFF, MPA_CRC_OFF,		false, false, false },
		{ MPA_CRC_OFF, MPA_CRC_PREFERRED,	false, false, false },
		{ MPA_CRC_OFF, MPA_CRC_REQUIRED,	false, true, true },
		{ MPA_CRC_PREFERRED, MPA_CRC_OFF,	true, false, true },
		{ MPA_CRC_PREFERRED, MPA_CRC_PREFERRED,	true, true, true },
		{ MPA_CRC_PREFERRED, MPA_CRC_REQUIRED,	true, true, true },
		{ MPA_CRC_REQUIRED, MPA_CRC_OFF,	true, false, true },
		{ MPA_CRC_REQUIRED, MPA_CRC_PREFERRED,	true, true, true },
		{ MPA_CRC_REQUIRED, MPA_CRC_REQUIRED,	true, true, true },
	};
	struct mpa_policy initiator = plain, responder = plain;
	struct mpa_result at_initiator, at_responder;
	struct mpa_hello req, reply;
	u32 i, rev;

	for (rev = 1; rev <= 2; rev++) {
		for (i = 0; i < ARRAY_SIZE(rows); i++) {
			initiator.crc = rows[i].initiator;
			responder.crc = rows[i].responder;
			mpa_request_init(&req, &initiator, rev, 1, 1, 0);
			KUNIT_EXPECT_EQ_MSG(test, req.crc, rows[i].request, "row %u", i);
			KUNIT_EXPECT_EQ(test, MPA_OK,
					mpa_respond(&responder, &req, 1, 1, 0, &reply,
						    &at_responder));
			KUNIT_EXPECT_EQ_MSG(test, reply.crc, rows[i].reply, "row %u", i);
			KUNIT_EXPECT_EQ(test, MPA_OK,
					mpa_conclude(&initiator, &req, &reply,
						     &at_initiator));
			KUNIT_EXPECT_EQ_MSG(test, at_initiator.crc, rows[i].used,
					    "row %u, initiator", i);
			KUNIT_EXPECT_EQ_MSG(test, at_responder.crc, rows[i].used,
					    "row %u, responder", i);
		}
	}
}

/*
 * Markers, each direction on its own: an end that wants them gets them (M-REQ-2), and there is no
 * connection if the other end cannot send them.
 */
static void marker_negotiation(struct kunit *test)
{
	u32 i, rev;

	for (rev = 1; rev <= 2; rev++) {
		for (i = 0; i < 16; i++) {
			bool initiator_wants = i & 1, initiator_can = i & 2;
			bool responder_wants = i & 4, responder_can = i & 8;
			struct mpa_policy initiator = plain, responder = plain;
			struct mpa_result at_initiator, at_responder;
			struct mpa_hello req, reply;
			enum mpa_status status;

			initiator.rx_markers = initiator_wants;
			initiator.tx_markers = initiator_can;
			responder.rx_markers = responder_wants;
			responder.tx_markers = responder_can;

			mpa_request_init(&req, &initiator, rev, 1, 1, 0);
			KUNIT_EXPECT_EQ(test, req.markers, initiator_wants);
			status = mpa_respond(&responder, &req, 1, 1, 0, &reply,
					     &at_responder);
			if (initiator_wants && !responder_can) {
				KUNIT_EXPECT_EQ(test, status, MPA_MARKERS_REFUSED);
				continue;
			}
			KUNIT_EXPECT_EQ(test, status, MPA_OK);
			KUNIT_EXPECT_EQ(test, reply.markers, responder_wants);
			KUNIT_EXPECT_EQ(test, at_responder.tx_markers, initiator_wants);
			KUNIT_EXPECT_EQ(test, at_responder.rx_markers, responder_wants);

			status = mpa_conclude(&initiator, &req, &reply, &at_initiator);
			if (responder_wants && !initiator_can) {
				KUNIT_EXPECT_EQ(test, status, MPA_MARKERS_REFUSED);
				continue;
			}
			KUNIT_EXPECT_EQ(test, status, MPA_OK);
			KUNIT_EXPECT_EQ(test, at_initiator.tx_markers, responder_wants);
			KUNIT_EXPECT_EQ(test, at_initiator.rx_markers, initiator_wants);
		}
	}
}

/* IRD and ORD at the responder (V2-7, V2-8, V2-11), policy's maximum 128 each */
static void respond_depths(struct kunit *test)
{
	static const struct {
		u16 req_ird, req_ord;		/* initiator's */
		u16 ird, ord;			/* responder's ULP's */
		u16 reply_ird, reply_ord;
		u16 have_ird, have_ord;
	} rows[] = {
		{ 8, 8, 8, 8,		8, 8, 8, 8 },
		{ 0, 0, 0, 0,		0, 0, 0, 0 },
		/* ORD never above the initiator's IRD */
		{ 0, 8, 8, 8,		8, 0, 8, 0 },
		{ 1, 8, 8, 8,		8, 1, 8, 1 },
		{ 4, 0, 8, 255,		8, 4, 8, 4 },
		{ 255, 0, 0, 255,	0, 128, 0, 128 },
		{ 16382, 0, 0, 16382,	0, 128, 0, 128 },
		{ 16382, 0, 0, 3,	0, 3, 0, 3 },
		/* IRD covers the initiator's ORD, up to the maximum */
		{ 0, 8, 0, 0,		8, 0, 8, 0 },
		{ 0, 8, 1, 0,		8, 0, 8, 0 },
		{ 0, 1, 8, 0,		8, 0, 8, 0 },
		{ 0, 255, 1, 0,		128, 0, 128, 0 },
		{ 0, 16382, 1, 0,	128, 0, 128, 0 },
		{ 0, 1, 255, 0,		128, 0, 128, 0 },
		{ 0, 1, 16382, 0,	128, 0, 128, 0 },
		/* no negotiation: the own value is kept, 0x3fff is answered */
		{ 8, NO_NEG, 5, 6,	NO_NEG, 6, 5, 6 },
		{ 4, NO_NEG, 5, 6,	NO_NEG, 4, 5, 4 },
		{ NO_NEG, 8, 5, 6,	8, NO_NEG, 8, 6 },
		{ NO_NEG, NO_NEG, 5, 6,	NO_NEG, NO_NEG, 5, 6 },
		{ NO_NEG, NO_NEG, 255, 16382, NO_NEG, NO_NEG, 128, 128 },
		{ NO_NEG, NO_NEG, 0, 0,	NO_NEG, NO_NEG, 0, 0 },
		/* a responder whose ULP gives no value gets the maximum */
		{ 8, 8, NO_NEG, NO_NEG,	128, 8, 128, 8 },
		{ NO_NEG, NO_NEG, NO_NEG, NO_NEG, NO_NEG, NO_NEG, 128, 128 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mpa_hello req = {
			.crc = true, .enhanced = true, .rev = 2, .pd_len = 4,
			.ird = rows[i].req_ird, .ord = rows[i].req_ord,
		};
		struct mpa_result result;
		struct mpa_hello reply;

		KUNIT_EXPECT_EQ(test, MPA_OK,
				mpa_respond(&plain, &req, rows[i].ird, rows[i].ord, 10,
					    &reply, &result));
		KUNIT_EXPECT_EQ_MSG(test, reply.ird, rows[i].reply_ird, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, reply.ord, rows[i].reply_ord, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, result.ird, rows[i].have_ird, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, result.ord, rows[i].have_ord, "row %u", i);
		KUNIT_EXPECT_TRUE(test, reply.enhanced);
		KUNIT_EXPECT_EQ(test, reply.rev, 2);
		KUNIT_EXPECT_EQ(test, reply.pd_len, 14);
		KUNIT_EXPECT_FALSE(test, reply.reject);
		KUNIT_EXPECT_FALSE(test, reply.p2p);
		KUNIT_EXPECT_FALSE(test, result.p2p);
		KUNIT_EXPECT_EQ(test, reply.rtr, 0);
	}
}

/* IRD and ORD at the initiator (V2-10, V2-11), policy's maximum 128 each */
static void conclude_depths(struct kunit *test)
{
	static const struct {
		u16 ird, ord;			/* initiator's */
		u16 reply_ird, reply_ord;
		enum mpa_status status;
		u16 have_ird, have_ord;
	} rows[] = {
		{ 8, 8, 8, 8,		MPA_OK, 8, 8 },
		{ 0, 0, 0, 0,		MPA_OK, 0, 0 },
		/* ORD at most the responder's IRD */
		{ 8, 8, 4, 8,		MPA_OK, 8, 4 },
		{ 8, 8, 0, 8,		MPA_OK, 8, 0 },
		{ 8, 8, 1, 8,		MPA_OK, 8, 1 },
		{ 8, 8, 255, 8,		MPA_OK, 8, 8 },
		{ 8, 8, 16382, 8,	MPA_OK, 8, 8 },
		{ 8, 0, 8, 8,		MPA_OK, 8, 0 },
		/* IRD at least the responder's ORD, within the maximum */
		{ 8, 8, 8, 0,		MPA_OK, 8, 8 },
		{ 8, 8, 8, 1,		MPA_OK, 8, 8 },
		{ 8, 8, 8, 9,		MPA_OK, 9, 8 },
		{ 0, 8, 8, 1,		MPA_OK, 1, 8 },
		{ 8, 8, 8, 128,		MPA_OK, 128, 8 },
		{ 8, 8, 8, 129,		MPA_NO_IRD, 8, 8 },
		{ 8, 8, 8, 255,		MPA_NO_IRD, 8, 8 },
		{ 128, 8, 4, 16382,	MPA_NO_IRD, 128, 4 },
		/* no negotiation: the own value is kept */
		{ 8, 9, NO_NEG, 8,	MPA_OK, 8, 9 },
		{ 8, 9, 4, NO_NEG,	MPA_OK, 8, 4 },
		{ 8, 9, NO_NEG, NO_NEG,	MPA_OK, 8, 9 },
		{ NO_NEG, 9, 9, NO_NEG,	MPA_OK, 128, 9 },
		{ 8, NO_NEG, NO_NEG, 8,	MPA_OK, 8, 128 },
		{ NO_NEG, NO_NEG, NO_NEG, NO_NEG, MPA_OK, 128, 128 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mpa_hello reply = {
			.crc = true, .enhanced = true, .rev = 2, .pd_len = 4,
			.ird = rows[i].reply_ird, .ord = rows[i].reply_ord,
		};
		struct mpa_result result;
		struct mpa_hello req;

		mpa_request_init(&req, &plain, 2, rows[i].ird, rows[i].ord, 0);
		KUNIT_EXPECT_EQ_MSG(test, mpa_conclude(&plain, &req, &reply, &result),
				    rows[i].status, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, result.ird, rows[i].have_ird, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, result.ord, rows[i].have_ord, "row %u", i);
		KUNIT_EXPECT_TRUE_MSG(test, result.crc, "row %u: for the Terminate", i);
	}
}

/* A Request or Reply as the peer receives it */
static void travel(struct kunit *test, enum mpa_role role,
		   const struct mpa_hello *sent, struct mpa_hello *got)
{
	u8 buf[MPA_HELLO_LEN + MPA_ENH_LEN];

	mpa_hello_encode(buf, role, sent);
	KUNIT_ASSERT_EQ(test, mpa_hello_decode(buf, role, got), MPA_OK);
	if (got->enhanced)
		KUNIT_ASSERT_EQ(test, mpa_enhanced_decode(buf + MPA_HELLO_LEN, got),
				MPA_OK);
}

static void one_pair(struct kunit *test, const struct mpa_policy *initiator,
		     const struct mpa_policy *responder, u32 rev,
		     u16 i_ird, u16 i_ord, u16 r_ird, u16 r_ord)
{
	struct mpa_hello req, req_got, reply, reply_got;
	struct mpa_result at_i, at_r;
	enum mpa_status status;
	bool bad = false;

	mpa_request_init(&req, initiator, rev, i_ird, i_ord, 0);
	travel(test, MPA_REQUEST, &req, &req_got);
	if (mpa_respond(responder, &req_got, r_ird, r_ord, 0, &reply, &at_r))
		bad = true;
	travel(test, MPA_REPLY, &reply, &reply_got);
	status = mpa_conclude(initiator, &req, &reply_got, &at_i);
	if (status)
		bad = true;

	/* never above an end's limit */
	bad |= at_i.ird > initiator->max_ird || at_i.ord > initiator->max_ord;
	bad |= at_r.ird > responder->max_ird || at_r.ord > responder->max_ord;
	if (rev == 2 && i_ord != NO_NEG)	/* V2-7 */
		bad |= at_i.ord > at_r.ird;
	if (rev == 2 && i_ird != NO_NEG)
		bad |= at_r.ord > at_i.ird;
	if (rev == 1) {				/* both keep their own values */
		bad |= at_i.ird != min(i_ird, initiator->max_ird);
		bad |= at_i.ord != min(i_ord, initiator->max_ord);
		bad |= at_r.ird != min(r_ird, responder->max_ird);
		bad |= at_r.ord != min(r_ord, responder->max_ord);
	}
	if (bad)
		KUNIT_FAIL(test, "rev %u, max %u/%u and %u/%u, want %u/%u and %u/%u: status %u",
			   rev, initiator->max_ird, initiator->max_ord,
			   responder->max_ird, responder->max_ord,
			   i_ird, i_ord, r_ird, r_ord, status);
}

/* Take one of @count choices off a number that counts through all combinations */
static u32 digit(u32 *number, u32 count)
{
	u32 value = *number % count;

	*number /= count;
	return value;
}

/* Both ends, all depths, several limits: the results of both ends agree */
static void pair_depths(struct kunit *test)
{
	static const u16 limits[] = { 0, 1, 8, 128, 16382 };
	struct mpa_policy initiator = plain, responder = plain;
	u32 number, i, rev;
	u16 want[4];

	for (number = 0; number < 2 * 5 * 5 * 6 * 6 * 6 * 6; number++) {
		i = number;
		rev = 1 + digit(&i, 2);
		initiator.max_ird = limits[digit(&i, 5)];
		initiator.max_ord = limits[digit(&i, 5)];
		responder.max_ird = initiator.max_ord;
		responder.max_ord = initiator.max_ird;
		want[0] = depths[digit(&i, 6)];
		want[1] = depths[digit(&i, 6)];
		want[2] = depths[digit(&i, 6)];
		want[3] = depths[i];
		one_pair(test, &initiator, &responder, rev,
			 want[0], want[1], want[2], want[3]);
	}
}

/* RTR kinds at the responder (V2-14); 7 stands for Send, Write and Read */
static void respond_rtr(struct kunit *test)
{
	u32 theirs, ours;

	for (theirs = 0; theirs < 8; theirs++) {
		for (ours = 1; ours < 8; ours++) {
			struct mpa_policy policy = plain;
			struct mpa_hello req = {
				.enhanced = true, .rev = 2, .pd_len = 4, .p2p = true,
				.rtr = theirs, .ird = 8, .ord = 8,
			};
			u8 want = theirs & ours ? theirs & ours : ours;
			struct mpa_result result;
			struct mpa_hello reply;

			policy.rtr = ours;
			KUNIT_EXPECT_EQ(test, MPA_OK,
					mpa_respond(&policy, &req, 8, 8, 0, &reply,
						    &result));
			KUNIT_EXPECT_TRUE(test, reply.p2p);
			KUNIT_EXPECT_TRUE(test, result.p2p);
			KUNIT_EXPECT_EQ_MSG(test, reply.rtr, want, "%u %u", theirs, ours);
			KUNIT_EXPECT_EQ_MSG(test, result.rtr, theirs & ours, "%u %u",
					    theirs, ours);

			/* A=0: client-server, whatever B to D are (V2-13) */
			req.p2p = false;
			KUNIT_EXPECT_EQ(test, MPA_OK,
					mpa_respond(&policy, &req, 8, 8, 0, &reply,
						    &result));
			KUNIT_EXPECT_FALSE(test, reply.p2p);
			KUNIT_EXPECT_FALSE(test, result.p2p);
			KUNIT_EXPECT_EQ(test, reply.rtr, 0);
			KUNIT_EXPECT_EQ(test, result.rtr, 0);
		}
	}
}

/* A Read as RTR needs an inbound read slot (V2-8) */
static void respond_rtr_room(struct kunit *test)
{
	static const struct {
		u8 req_rtr;
		u16 req_ord, ird, max_ird;
		u8 reply_rtr;
		u16 reply_ird, have_ird;
	} rows[] = {
		/* neither ULP uses Reads: IRD is raised to 1 for the RTR */
		{ MPA_RTR_READ, 0, 0, 128, MPA_RTR_READ, 1, 1 },
		{ MPA_RTR_READ | MPA_RTR_WRITE, 0, 0, 128,
		  MPA_RTR_READ | MPA_RTR_WRITE, 1, 1 },
		/* not if Read was not offered */
		{ MPA_RTR_WRITE, 0, 0, 128, MPA_RTR_WRITE, 0, 0 },
		/* IRD has room already */
		{ MPA_RTR_READ, 0, 1, 128, MPA_RTR_READ, 1, 1 },
		{ MPA_RTR_READ, 2, 0, 128, MPA_RTR_READ, 2, 2 },
		/* IRD cannot be raised: Read is not offered */
		{ MPA_RTR_READ | MPA_RTR_WRITE, 8, 8, 0, MPA_RTR_WRITE, 0, 0 },
		{ MPA_RTR_READ, 8, 8, 0, MPA_RTR_WRITE, 0, 0 },
		/* IRD must not be changed */
		{ MPA_RTR_READ | MPA_RTR_WRITE, NO_NEG, 0, 128, MPA_RTR_WRITE, NO_NEG, 0 },
		{ MPA_RTR_READ | MPA_RTR_WRITE, NO_NEG, 1, 128,
		  MPA_RTR_READ | MPA_RTR_WRITE, NO_NEG, 1 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mpa_policy policy = plain;
		struct mpa_hello req = {
			.enhanced = true, .rev = 2, .pd_len = 4, .p2p = true,
			.rtr = rows[i].req_rtr, .ird = 8, .ord = rows[i].req_ord,
		};
		struct mpa_result result;
		struct mpa_hello reply;

		policy.max_ird = rows[i].max_ird;
		KUNIT_EXPECT_EQ(test, MPA_OK,
				mpa_respond(&policy, &req, rows[i].ird, 8, 0, &reply,
					    &result));
		KUNIT_EXPECT_EQ_MSG(test, reply.rtr, rows[i].reply_rtr, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, reply.ird, rows[i].reply_ird, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, result.ird, rows[i].have_ird, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, result.rtr, rows[i].reply_rtr & rows[i].req_rtr,
				    "row %u", i);
	}
}

/* RTR kinds at the initiator (V2-15): Write, else Read, else Send, of those common */
static void conclude_rtr(struct kunit *test)
{
	static const u8 choice[8] = {
		[MPA_RTR_SEND] = MPA_RTR_SEND,
		[MPA_RTR_WRITE] = MPA_RTR_WRITE,
		[MPA_RTR_WRITE | MPA_RTR_SEND] = MPA_RTR_WRITE,
		[MPA_RTR_READ] = MPA_RTR_READ,
		[MPA_RTR_READ | MPA_RTR_SEND] = MPA_RTR_READ,
		[MPA_RTR_READ | MPA_RTR_WRITE] = MPA_RTR_WRITE,
		[MPA_RTR_READ | MPA_RTR_WRITE | MPA_RTR_SEND] = MPA_RTR_WRITE,
	};
	u32 theirs, ours;

	for (theirs = 0; theirs < 8; theirs++) {
		for (ours = 1; ours < 8; ours++) {
			struct mpa_policy policy = plain;
			struct mpa_hello reply = {
				.enhanced = true, .rev = 2, .pd_len = 4, .p2p = true,
				.rtr = theirs, .ird = 8, .ord = 8,
			};
			u8 want = choice[theirs & ours];
			struct mpa_result result;
			struct mpa_hello req;

			policy.p2p = true;
			policy.rtr = ours;
			mpa_request_init(&req, &policy, 2, 8, 8, 0);
			KUNIT_EXPECT_EQ(test, req.rtr, ours);
			KUNIT_EXPECT_EQ_MSG(test, want ? MPA_OK : MPA_NO_RTR,
					    mpa_conclude(&policy, &req, &reply, &result),
					    "%u %u", theirs, ours);
			KUNIT_EXPECT_EQ_MSG(test, result.rtr, want, "%u %u", theirs, ours);
			if (want)
				KUNIT_EXPECT_TRUE(test, result.p2p);
			KUNIT_EXPECT_TRUE(test, result.crc);
		}
	}
}

static void conclude_rtr_room(struct kunit *test)
{
	static const struct {
		u16 ord, max_ord, reply_ird;
		enum mpa_status status;
		u16 have_ord;
	} rows[] = {
		{ 8, 128, 8, MPA_OK, 8 },
		{ 8, 128, 1, MPA_OK, 1 },
		{ 8, 128, 0, MPA_NO_RTR, 0 },		/* no slot at the responder */
		{ 0, 128, 1, MPA_OK, 1 },		/* ORD raised for the RTR */
		{ 0, 128, 8, MPA_OK, 1 },
		{ 0, 0, 8, MPA_NO_RTR, 0 },		/* ORD cannot be raised */
		{ 8, 128, NO_NEG, MPA_OK, 8 },
		{ 0, 128, NO_NEG, MPA_NO_RTR, 0 },	/* ORD must not be changed */
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mpa_policy policy = plain;
		struct mpa_hello reply = {
			.enhanced = true, .rev = 2, .pd_len = 4, .p2p = true,
			.rtr = MPA_RTR_READ, .ird = rows[i].reply_ird, .ord = 8,
		};
		struct mpa_result result;
		struct mpa_hello req;

		policy.p2p = true;
		policy.max_ord = rows[i].max_ord;
		mpa_request_init(&req, &policy, 2, 8, rows[i].ord, 0);
		KUNIT_EXPECT_EQ_MSG(test, mpa_conclude(&policy, &req, &reply, &result),
				    rows[i].status, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, result.ord, rows[i].have_ord, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, result.rtr,
				    rows[i].status ? 0 : MPA_RTR_READ, "row %u", i);
	}
}

/* Both ends peer-to-peer, all kinds: they agree, or the initiator ends it */
static void pair_rtr(struct kunit *test)
{
	u32 theirs, ours, ord;

	for (theirs = 1; theirs < 8; theirs++) {
		for (ours = 1; ours < 8; ours++) {
			for (ord = 0; ord < 2; ord++) {
				struct mpa_policy initiator = plain, responder = plain;
				struct mpa_hello req, req_got, reply, reply_got;
				struct mpa_result at_i, at_r;
				enum mpa_status status;

				initiator.p2p = true;
				initiator.rtr = ours;
				responder.rtr = theirs;
				mpa_request_init(&req, &initiator, 2, 0, ord, 0);
				travel(test, MPA_REQUEST, &req, &req_got);
				KUNIT_EXPECT_EQ(test, MPA_OK,
						mpa_respond(&responder, &req_got, 0, 0, 0,
							    &reply, &at_r));
				travel(test, MPA_REPLY, &reply, &reply_got);
				status = mpa_conclude(&initiator, &req, &reply_got, &at_i);
				KUNIT_EXPECT_EQ_MSG(test, status,
						    theirs & ours ? MPA_OK : MPA_NO_RTR,
						    "%u %u", theirs, ours);
				if (status)
					continue;
				KUNIT_EXPECT_TRUE(test, at_i.rtr & at_r.rtr);
				KUNIT_EXPECT_LE(test, at_i.ord, at_r.ird);
				if (at_i.rtr == MPA_RTR_READ)
					KUNIT_EXPECT_GE(test, at_i.ord, 1);
			}
		}
	}
}

/* The initiator's choice among those in common (RFC 6581 9.2): its order of preference */
static void conclude_rtr_order(struct kunit *test)
{
	enum { W = MPA_RTR_WRITE, R = MPA_RTR_READ, S = MPA_RTR_SEND };
	static const struct {
		u8 order[3], common, choice;
	} rows[] = {
		{ { 0, 0, 0 }, W | R | S, W }, { { 0, 0, 0 }, R | S, R }, { { 0, 0, 0 }, S, S },
		{ { W, R, S }, W | R | S, W }, { { W, S, R }, R | S, S },
		{ { R, W, S }, W | R | S, R }, { { R, W, S }, W | S, W }, { { R, S, W }, W | S, S },
		{ { S, W, R }, W | R | S, S }, { { S, W, R }, W | R, W }, { { S, R, W }, W | R, R },
		{ { S, R, W }, W, W }, { { S, R, W }, 0, 0 },
	};
	struct mpa_policy policy = plain;
	struct mpa_result result;
	struct mpa_hello req;
	u32 i, ours;

	policy.p2p = true;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mpa_hello reply = {
			.enhanced = true, .rev = 2, .pd_len = 4, .p2p = true,
			.rtr = W | R | S, .ird = 8, .ord = 8,
		};

		memcpy(policy.rtr_order, rows[i].order, sizeof(policy.rtr_order));
		/* either end may lack a kind */
		for (ours = 0; ours < 2; ours++) {
			policy.rtr = ours ? rows[i].common : W | R | S;
			reply.rtr = ours ? W | R | S : rows[i].common;
			mpa_request_init(&req, &policy, 2, 8, 8, 0);
			KUNIT_EXPECT_EQ_MSG(test, mpa_conclude(&policy, &req, &reply, &result),
					    rows[i].choice ? MPA_OK : MPA_NO_RTR, "row %u", i);
			KUNIT_EXPECT_EQ_MSG(test, result.rtr, rows[i].choice, "row %u", i);
		}
	}
}

/* The Reply's connection model is not that of the Request (V2-14) */
static void conclude_model(struct kunit *test)
{
	struct mpa_policy policy = plain;
	struct mpa_hello reply = {
		.enhanced = true, .rev = 2, .pd_len = 4, .rtr = 0, .ird = 8, .ord = 8,
	};
	struct mpa_result result;
	struct mpa_hello req;

	policy.p2p = true;
	mpa_request_init(&req, &policy, 2, 8, 8, 0);
	KUNIT_EXPECT_EQ(test, mpa_conclude(&policy, &req, &reply, &result), MPA_NO_RTR);

	policy.p2p = false;
	mpa_request_init(&req, &policy, 2, 8, 8, 0);
	KUNIT_EXPECT_EQ(test, mpa_conclude(&policy, &req, &reply, &result), MPA_OK);
	KUNIT_EXPECT_FALSE(test, result.p2p);
	KUNIT_EXPECT_EQ(test, result.rtr, 0);

	reply.p2p = true;
	reply.rtr = MPA_RTR_WRITE;
	KUNIT_EXPECT_EQ(test, mpa_conclude(&policy, &req, &reply, &result), MPA_NO_RTR);
}

/* S=1 requires S=1, S=0 requires S=0 (V2-17), and the revision is echoed */
static void conclude_enhanced(struct kunit *test)
{
	static const struct {
		u8 req_rev;
		u8 rev;
		bool enhanced;
		enum mpa_status status;
	} rows[] = {
		{ 1, 1, false, MPA_OK },
		{ 1, 2, false, MPA_BAD_REV },
		{ 1, 2, true, MPA_BAD_ENHANCED },
		{ 2, 2, true, MPA_OK },
		{ 2, 2, false, MPA_BAD_ENHANCED },
		{ 2, 1, false, MPA_BAD_ENHANCED },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mpa_hello reply = {
			.crc = true, .rev = rows[i].rev, .enhanced = rows[i].enhanced,
			.ird = 8, .ord = 8,
		};
		struct mpa_result result;
		struct mpa_hello req;

		mpa_request_init(&req, &plain, rows[i].req_rev, 8, 8, 0);
		KUNIT_EXPECT_EQ_MSG(test, mpa_conclude(&plain, &req, &reply, &result),
				    rows[i].status, "row %u", i);
		reply.reject = true;
		KUNIT_EXPECT_EQ_MSG(test, mpa_conclude(&plain, &req, &reply, &result),
				    MPA_REJECTED, "row %u", i);
	}
}

/* A responder accepts any Request that decodes, in its own form (V2-2, V2-17) */
static void respond_echoes(struct kunit *test)
{
	u32 rev, s;

	for (rev = 1; rev <= 2; rev++) {
		for (s = 0; s < rev; s++) {
			struct mpa_hello req = {
				.rev = rev, .enhanced = s, .pd_len = s ? 4 : 0,
				.ird = s ? 3 : NO_NEG, .ord = s ? 3 : NO_NEG,
			};
			struct mpa_result result;
			struct mpa_hello reply;

			KUNIT_EXPECT_EQ(test, MPA_OK,
					mpa_respond(&plain, &req, 5, 6, 7, &reply, &result));
			KUNIT_EXPECT_EQ(test, reply.rev, rev);
			KUNIT_EXPECT_EQ(test, reply.enhanced, s);
			KUNIT_EXPECT_EQ(test, reply.pd_len, s ? 11 : 7);
			KUNIT_EXPECT_EQ(test, result.ird, 5);
			KUNIT_EXPECT_EQ(test, result.ord, s ? 3 : 6);
			KUNIT_EXPECT_FALSE(test, result.p2p);
		}
	}
}

static void respond_private_data(struct kunit *test)
{
	static const struct {
		bool enhanced;
		u16 len;
		enum mpa_status status;
	} rows[] = {
		{ false, 0, MPA_OK }, { false, 512, MPA_OK },
		{ false, 513, MPA_BAD_PD_LEN }, { false, 0xffff, MPA_BAD_PD_LEN },
		{ true, 0, MPA_OK }, { true, 508, MPA_OK },
		{ true, 509, MPA_BAD_PD_LEN }, { true, 512, MPA_BAD_PD_LEN },
		{ true, 0xffff, MPA_BAD_PD_LEN },
	};
	struct mpa_result result;
	struct mpa_hello reply;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mpa_hello req = {
			.rev = 2, .enhanced = rows[i].enhanced, .ird = 1, .ord = 1,
		};

		KUNIT_EXPECT_EQ_MSG(test, rows[i].status,
				    mpa_respond(&plain, &req, 1, 1, rows[i].len, &reply,
						&result),
				    "row %u", i);
	}
}

/* A rejection (V2-9, V2-12): the Request's revision, S and A, the ULP's depths */
static void reject(struct kunit *test)
{
	static const struct {
		struct mpa_hello req;
		u16 ird, ord;
		const char *hex;
	} rows[] = {
		{ { .rev = 1, .crc = true, .ird = NO_NEG, .ord = NO_NEG }, 8, 4,
		  "4d504120494420526570204672616d65 20010002" },
		{ { .rev = 2, .crc = true, .ird = NO_NEG, .ord = NO_NEG }, 8, 4,
		  "4d504120494420526570204672616d65 20020002" },
		{ { .rev = 2, .enhanced = true, .ird = 1, .ord = 1 }, 8, 4,
		  "4d504120494420526570204672616d65 30020006 00080004" },
		{ { .rev = 2, .enhanced = true, .p2p = true, .rtr = 7, .ird = 1, .ord = 1 },
		  8, 4, "4d504120494420526570204672616d65 30020006 80080004" },
		{ { .rev = 2, .enhanced = true, .ird = NO_NEG, .ord = 1 }, 8, 4,
		  "4d504120494420526570204672616d65 30020006 00083fff" },
		{ { .rev = 2, .enhanced = true, .ird = 1, .ord = NO_NEG }, 8, 4,
		  "4d504120494420526570204672616d65 30020006 3fff0004" },
		/* a value that is too large is not taken for "no negotiation" */
		{ { .rev = 2, .enhanced = true, .ird = 1, .ord = 1 }, NO_NEG, 0xffff,
		  "4d504120494420526570204672616d65 30020006 3ffe3ffe" },
	};
	struct mpa_hello reply, got, sent;
	struct mpa_result result;
	u8 buf[24];
	u32 i, len;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		char what[16];

		snprintf(what, sizeof(what), "row %u", i);
		mpa_reject_init(&reply, &rows[i].req, rows[i].ird, rows[i].ord, 2);
		len = mpa_hello_encode(buf, MPA_REPLY, &reply);
		octets_expect(test, what, buf, len, rows[i].hex);
		KUNIT_EXPECT_EQ(test, mpa_hello_decode(buf, MPA_REPLY, &got), MPA_OK);
		KUNIT_EXPECT_TRUE(test, got.reject);

		mpa_request_init(&sent, &plain, 2, 1, 1, 0);
		KUNIT_EXPECT_EQ(test, mpa_conclude(&plain, &sent, &got, &result),
				MPA_REJECTED);
	}
}

/* Both ends' policies have to want them, and no direction may have markers; in either revision */
static void large_fpdus_are_what_both_want(struct kunit *test)
{
	u32 i, rev;

	for (i = 0; i < 16; i++) {
		for (rev = 1; rev <= 2; rev++) {
			struct mpa_policy a = plain, b = plain;
			struct mpa_result at_a, at_b;
			struct mpa_hello req, reply;

			a.large = i & 1;
			b.large = i & 2;
			a.rx_markers = i & 4;
			b.rx_markers = i & 8;
			a.tx_markers = true;
			b.tx_markers = true;
			mpa_request_init(&req, &a, rev, 1, 1, 0);
			KUNIT_EXPECT_EQ(test, MPA_OK,
					mpa_respond(&b, &req, 1, 1, 0, &reply, &at_b));
			KUNIT_EXPECT_EQ(test, mpa_conclude(&a, &req, &reply, &at_a), MPA_OK);
			KUNIT_EXPECT_EQ_MSG(test, at_a.large, i == 3, "row %u", i);
			KUNIT_EXPECT_EQ_MSG(test, at_b.large, i == 3, "row %u", i);
		}
	}
}

static struct kunit_case mpa_negotiation_cases[] = {
	KUNIT_CASE(request_revision),
	KUNIT_CASE(request_policy),
	KUNIT_CASE(crc_negotiation),
	KUNIT_CASE(marker_negotiation),
	KUNIT_CASE(large_fpdus_are_what_both_want),
	KUNIT_CASE(respond_depths),
	KUNIT_CASE(conclude_depths),
	KUNIT_CASE(pair_depths),
	KUNIT_CASE(respond_rtr),
	KUNIT_CASE(respond_rtr_room),
	KUNIT_CASE(conclude_rtr),
	KUNIT_CASE(conclude_rtr_room),
	KUNIT_CASE(conclude_rtr_order),
	KUNIT_CASE(pair_rtr),
	KUNIT_CASE(conclude_model),
	KUNIT_CASE(conclude_enhanced),
	KUNIT_CASE(respond_echoes),
	KUNIT_CASE(respond_private_data),
	KUNIT_CASE(reject),
	{}
};

static struct kunit_suite mpa_negotiation_suite = {
	.name = "srnic-mpa-negotiation",
	.test_cases = mpa_negotiation_cases,
};

kunit_test_suite(mpa_negotiation_suite);
