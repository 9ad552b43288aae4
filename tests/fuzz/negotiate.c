// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA start-up between any two ends: their settings must agree, whatever their policies are (RFC
 * 5044 7.1, RFC 6581 9). And with a peer that sends any Request or Reply: settings stay within
 * the policy.
 *
 * Input: two policies, the ULPs' values, then a frame of a peer that is not srnic.
 */
#include "fuzz.h"
#include "wire/mpa.h"

#define NONE	0x3fff	/* RFC 6581 9: no negotiation of this */

/* An end and its ULP */
struct end {
	struct mpa_policy policy;
	u16 ird;
	u16 ord;
	u16 pd_len;
};

static u16 small_or_any(u16 v)
{
	/* most values are small, since these interact */
	return v & 0x8000 ? v & 0x3fff : v & 7;
}

static void make_end(struct fuzz_in *in, struct end *end)
{
	u8 bits = fuzz_u8(in);
	u8 crc = bits & 1 ? MPA_CRC_REQUIRED : fuzz_u8(in) & 1 ? MPA_CRC_PREFERRED : MPA_CRC_OFF;

	*end = (struct end){
		.policy = {
			.crc = crc, .rx_markers = bits & 2, .tx_markers = bits & 4,
			.rev = bits & 8 ? 2 : 1, .p2p = bits & 16,
			.rtr = (bits >> 5) ? bits >> 5 : 7,
		},
	};
	end->policy.large = fuzz_u8(in) & 1;
	end->policy.max_ird = min(small_or_any(fuzz_u16(in)), NONE - 1);
	end->policy.max_ord = min(small_or_any(fuzz_u16(in)), NONE - 1);
	end->ird = small_or_any(fuzz_u16(in));
	end->ord = small_or_any(fuzz_u16(in));
	end->pd_len = fuzz_u16(in) % 520;
}

/* The frame as the other end decodes it */
static void send(enum mpa_role role, const struct mpa_hello *from, struct mpa_hello *to)
{
	u8 *frame = malloc(MPA_HELLO_LEN + MPA_ENH_LEN);

	mpa_hello_encode(frame, role, from);
	FUZZ_CHECK(mpa_hello_decode(frame, role, to) == MPA_OK);
	FUZZ_CHECK(to->enhanced == from->enhanced);
	if (to->enhanced)
		FUZZ_CHECK(mpa_enhanced_decode(frame + MPA_HELLO_LEN, to) == MPA_OK);
	free(frame);
}

static bool one_bit(u8 v)
{
	return v && !(v & (v - 1));
}

static void check_within(const struct mpa_policy *policy, const struct mpa_result *r)
{
	FUZZ_CHECK(r->ird <= policy->max_ird);
	FUZZ_CHECK(r->ord <= policy->max_ord);
	FUZZ_CHECK(r->crc || policy->crc != MPA_CRC_REQUIRED);
	FUZZ_CHECK(!r->tx_markers || policy->tx_markers);
	FUZZ_CHECK(r->rx_markers == policy->rx_markers);
	FUZZ_CHECK(!(r->rtr & ~policy->rtr));
	FUZZ_CHECK(r->p2p || !r->rtr);
}

/* Is there a kind of RTR that both ends support? A Read needs IRD and ORD for it. */
static bool rtr_possible(const struct end *a, const struct end *b, u16 a_ord)
{
	u8 common = a->policy.rtr & b->policy.rtr;
	bool room = b->policy.max_ird && (b->ird || a_ord != NONE);

	if (!room || !a->policy.max_ord)
		common &= ~MPA_RTR_READ;
	return common;
}

static void check_pair(const struct end *a, const struct end *b, u8 rev)
{
	struct mpa_hello req, req_b, reply, reply_a;
	struct mpa_result ra, rb;
	enum mpa_status status;
	bool enhanced = rev == 2 && a->policy.rev == 2;
	u16 room = MPA_MAX_PD - (enhanced ? MPA_ENH_LEN : 0);
	u16 pd_len = min(a->pd_len, room);
	u16 a_ird, a_ord;

	mpa_request_init(&req, &a->policy, rev, a->ird, a->ord, pd_len);
	send(MPA_REQUEST, &req, &req_b);
	FUZZ_CHECK(req_b.enhanced == enhanced && req_b.rev == (enhanced ? 2 : 1));
	FUZZ_CHECK(req_b.pd_len == pd_len + (enhanced ? MPA_ENH_LEN : 0));
	FUZZ_CHECK(req_b.p2p == (enhanced && a->policy.p2p));
	a_ird = a->ird == NONE ? NONE : min(a->ird, a->policy.max_ird);
	a_ord = a->ord == NONE ? NONE : min(a->ord, a->policy.max_ord);
	FUZZ_CHECK(req_b.ird == (enhanced ? a_ird : NONE));
	FUZZ_CHECK(req_b.ord == (enhanced ? a_ord : NONE));

	status = mpa_respond(&b->policy, &req_b, b->ird, b->ord, b->pd_len, &reply, &rb);
	if (a->policy.rx_markers && !b->policy.tx_markers) {
		FUZZ_CHECK(status == MPA_MARKERS_REFUSED);
		return;
	}
	if (b->pd_len > room) {
		FUZZ_CHECK(status == MPA_BAD_PD_LEN);
		return;
	}
	FUZZ_CHECK(status == MPA_OK);
	check_within(&b->policy, &rb);
	send(MPA_REPLY, &reply, &reply_a);
	FUZZ_CHECK(!reply_a.reject && reply_a.rev == req_b.rev && reply_a.p2p == req_b.p2p);
	FUZZ_CHECK(reply_a.pd_len == b->pd_len + (enhanced ? MPA_ENH_LEN : 0));

	status = mpa_conclude(&a->policy, &req, &reply_a, &ra);
	if (b->policy.rx_markers && !a->policy.tx_markers) {
		FUZZ_CHECK(status == MPA_MARKERS_REFUSED);
		return;
	}
	/* settings that serve even for the first FPDU, which may be a Terminate */
	FUZZ_CHECK(ra.crc == (a->policy.crc != MPA_CRC_OFF || b->policy.crc == MPA_CRC_REQUIRED));
	FUZZ_CHECK(rb.crc == ra.crc);
	FUZZ_CHECK(ra.tx_markers == b->policy.rx_markers && ra.rx_markers == a->policy.rx_markers);
	FUZZ_CHECK(rb.tx_markers == ra.rx_markers && rb.rx_markers == ra.tx_markers);
	FUZZ_CHECK(ra.large == (a->policy.large && b->policy.large && !ra.tx_markers &&
				!ra.rx_markers));
	FUZZ_CHECK(rb.large == ra.large);
	if (req.p2p && !rtr_possible(a, b, a_ord)) {
		FUZZ_CHECK(status == MPA_NO_RTR);
		return;
	}
	FUZZ_CHECK(status == MPA_OK);
	check_within(&a->policy, &ra);

	FUZZ_CHECK(ra.p2p == rb.p2p && ra.p2p == req.p2p);
	FUZZ_CHECK(ra.p2p ? one_bit(ra.rtr) && ra.rtr & rb.rtr : !ra.rtr && !rb.rtr);
	if (ra.rtr == MPA_RTR_READ)
		FUZZ_CHECK(ra.ord && rb.ird);
	/* never more Reads outstanding than the other end has room for */
	if (enhanced && a_ord != NONE) {
		FUZZ_CHECK(ra.ord <= rb.ird);
		FUZZ_CHECK(rb.ird >= min(a_ord, b->policy.max_ird));
		FUZZ_CHECK(ra.ord >= min(a_ord, b->policy.max_ird));
	}
	if (enhanced && a_ird != NONE)
		FUZZ_CHECK(rb.ord <= ra.ird);
	FUZZ_CHECK(rb.ird >= min(b->ird, b->policy.max_ird));
	FUZZ_CHECK(rb.ord == min(min(b->ord, b->policy.max_ord),
				 enhanced && a_ird != NONE ? a_ird : NONE));
}

/* The Reply of b when its ULP rejects the connection */
static void check_reject(const struct end *a, const struct end *b, u8 rev)
{
	struct mpa_hello req, req_b, reply, reply_a;
	struct mpa_result ra;
	u16 room;

	mpa_request_init(&req, &a->policy, rev, a->ird, a->ord, 0);
	send(MPA_REQUEST, &req, &req_b);
	room = MPA_MAX_PD - (req_b.enhanced ? MPA_ENH_LEN : 0);
	mpa_reject_init(&reply, &req_b, b->ird, b->ord, min(b->pd_len, room));
	send(MPA_REPLY, &reply, &reply_a);
	FUZZ_CHECK(reply_a.reject && !reply_a.crc && !reply_a.markers);
	FUZZ_CHECK(reply_a.rev == req_b.rev && reply_a.p2p == req_b.p2p);
	FUZZ_CHECK(req_b.ord == NONE ? reply_a.ird == NONE : reply_a.ird < NONE);
	FUZZ_CHECK(req_b.ird == NONE ? reply_a.ord == NONE : reply_a.ord < NONE);
	FUZZ_CHECK(mpa_conclude(&a->policy, &req, &reply_a, &ra) == MPA_REJECTED);
}

/* Any frame that decodes, as Request to a and as Reply to a */
static void check_stranger(struct fuzz_in *in, const struct end *a, u8 rev)
{
	static const char keys[2][17] = { "MPA ID Req Frame", "MPA ID Rep Frame" };
	struct mpa_hello h, req, reply;
	struct mpa_result r;
	enum mpa_status status;
	u8 frame[MPA_HELLO_LEN + MPA_ENH_LEN];
	u32 i, role;

	for (i = MPA_KEY_LEN; i < sizeof(frame); i++)
		frame[i] = fuzz_u8(in);
	for (role = MPA_REQUEST; role <= MPA_REPLY; role++) {
		memcpy(frame, keys[role], MPA_KEY_LEN);
		if (mpa_hello_decode(frame, role, &h))
			return;
		if (h.enhanced)
			mpa_enhanced_decode(frame + MPA_HELLO_LEN, &h);
		if (role == MPA_REQUEST) {
			status = mpa_respond(&a->policy, &h, a->ird, a->ord, 0, &reply, &r);
			if (status != MPA_OK)
				continue;
			check_within(&a->policy, &r);
			/* the Reply contains the settings in use */
			FUZZ_CHECK(reply.ird == NONE || reply.ird == r.ird);
			FUZZ_CHECK(reply.ord == NONE || reply.ord == r.ord);
			FUZZ_CHECK(!h.enhanced || h.ird == NONE || r.ord <= h.ird);
			FUZZ_CHECK(!(r.rtr & ~h.rtr));
			continue;
		}
		mpa_request_init(&req, &a->policy, rev, a->ird, a->ord, 0);
		status = mpa_conclude(&a->policy, &req, &h, &r);
		if (h.reject)
			FUZZ_CHECK(status == MPA_REJECTED);
		if (status != MPA_OK)
			continue;
		check_within(&a->policy, &r);
		FUZZ_CHECK(h.rev == req.rev && h.enhanced == req.enhanced);
		FUZZ_CHECK(r.p2p == req.p2p);
		FUZZ_CHECK(r.p2p ? one_bit(r.rtr) && r.rtr & h.rtr & req.rtr : !r.rtr);
		if (h.enhanced && h.ird != NONE)
			FUZZ_CHECK(r.ord <= h.ird);
		if (h.enhanced && h.ord != NONE)
			FUZZ_CHECK(r.ird >= h.ord);
		if (r.rtr == MPA_RTR_READ)
			FUZZ_CHECK(r.ord);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct end a, b;
	u8 rev;

	make_end(&in, &a);
	make_end(&in, &b);
	rev = fuzz_u8(&in) & 1 ? 1 : 2;
	check_pair(&a, &b, rev);
	check_pair(&b, &a, rev);
	check_reject(&a, &b, rev);
	check_stranger(&in, &a, rev);
	return 0;
}
