// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA start-up frames: any octets decode as RFC 5044 7.1.1 and RFC 6581 9 have it bit by bit, and
 * encoding is the inverse. FPDU sizes.
 *
 * Input: role, frame, EMSS.
 */
#include "fuzz.h"
#include "wire/mpa.h"

static enum mpa_status model_status(const u8 *f, enum mpa_role role)
{
	u32 pd_len = f[18] << 8 | f[19];

	if (memcmp(f, role == MPA_REQUEST ? "MPA ID Req Frame" : "MPA ID Rep Frame", 16))
		return MPA_BAD_KEY;
	if (f[17] != 1 && f[17] != 2)
		return MPA_BAD_REV;
	if (pd_len > 512 || (f[17] == 2 && f[16] & 0x10 && pd_len < 4))
		return MPA_BAD_PD_LEN;
	return MPA_OK;
}

static void check_fixed(const u8 *f, enum mpa_role role, const struct mpa_hello *h)
{
	FUZZ_CHECK(h->markers == !!(f[16] & 0x80));
	FUZZ_CHECK(h->crc == !!(f[16] & 0x40));
	FUZZ_CHECK(h->reject == (role == MPA_REPLY && f[16] & 0x20));
	FUZZ_CHECK(h->enhanced == (f[17] >= 2 && f[16] & 0x10));
	FUZZ_CHECK(h->large == ((f[16] & 3) == (role == MPA_REPLY ? 2 : 1)));
	FUZZ_CHECK(h->rev == f[17]);
	FUZZ_CHECK(h->pd_len == (f[18] << 8 | f[19]));
	FUZZ_CHECK(!h->p2p && !h->rtr);
	FUZZ_CHECK(h->ird == 0x3fff && h->ord == 0x3fff);
}

static void check_enhanced(const u8 *e, const struct mpa_hello *h)
{
	bool a = e[0] & 0x80;

	FUZZ_CHECK(h->p2p == a);
	FUZZ_CHECK(!!(h->rtr & MPA_RTR_SEND) == (a && e[0] & 0x40));
	FUZZ_CHECK(!!(h->rtr & MPA_RTR_WRITE) == (a && e[2] & 0x80));
	FUZZ_CHECK(!!(h->rtr & MPA_RTR_READ) == (a && e[2] & 0x40));
	FUZZ_CHECK(h->ird == ((e[0] & 0x3f) << 8 | e[1]));
	FUZZ_CHECK(h->ord == ((e[2] & 0x3f) << 8 | e[3]));
}

/* The frame without the fields that a receiver ignores */
static void canonical(u8 *f, u8 *e, enum mpa_role role, bool enhanced)
{
	u8 large = role == MPA_REPLY ? 2 : 1;	/* alone of the reserved bits below */

	f[16] &= 0xc0 | (role == MPA_REPLY ? 0x20 : 0) | (enhanced ? 0x10 : 0) |
		 ((f[16] & 3) == large ? large : 0);
	if (!(e[0] & 0x80)) {
		e[0] &= 0x3f;
		e[2] &= 0x3f;
	}
}

static void check_frame(struct fuzz_in *in, enum mpa_role role)
{
	u8 *f = fuzz_box(in, MPA_HELLO_LEN);
	u8 *e = fuzz_box(in, MPA_ENH_LEN);
	u8 out[MPA_HELLO_LEN + MPA_ENH_LEN];
	enum mpa_status status;
	struct mpa_hello h, again;
	u32 len;

	status = mpa_hello_decode(f, role, &h);
	FUZZ_CHECK(status == model_status(f, role));
	check_fixed(f, role, &h);
	if (h.enhanced) {
		FUZZ_CHECK(mpa_enhanced_decode(e, &h) == MPA_OK);
		check_enhanced(e, &h);
	} else {
		FUZZ_CHECK(mpa_enhanced_decode(e, &h) == MPA_BAD_ENHANCED);
		check_fixed(f, role, &h);
	}

	if (status != MPA_BAD_KEY) {
		canonical(f, e, role, h.enhanced);
		len = mpa_hello_encode(out, role, &h);
		FUZZ_CHECK(len == MPA_HELLO_LEN + (h.enhanced ? MPA_ENH_LEN : 0u));
		FUZZ_CHECK(!memcmp(out, f, MPA_HELLO_LEN));
		FUZZ_CHECK(!h.enhanced || !memcmp(out + MPA_HELLO_LEN, e, MPA_ENH_LEN));

		FUZZ_CHECK(mpa_hello_decode(out, role, &again) == status);
		if (again.enhanced)
			mpa_enhanced_decode(out + MPA_HELLO_LEN, &again);
		FUZZ_CHECK(again.markers == h.markers && again.crc == h.crc &&
			   again.reject == h.reject && again.enhanced == h.enhanced &&
			   again.rev == h.rev && again.large == h.large && again.pd_len == h.pd_len &&
			   again.p2p == h.p2p && again.rtr == h.rtr &&
			   again.ird == h.ird && again.ord == h.ord);
	}
	free(e);
	free(f);
}

/* Octets of TCP that an FPDU takes: RFC 5044 4.5, a marker in front of each 512 octets */
static u64 fpdu_octets(u32 ulpdu, bool markers)
{
	u64 n = 2 + (u64)ulpdu;

	n = (n + 3) / 4 * 4 + 4;
	return markers ? n + 4 * ((n + 507) / 508) : n;
}

static void check_sizes(u32 emss, bool markers)
{
	u32 mulpdu = mpa_mulpdu(emss, markers);

	FUZZ_CHECK(mulpdu >= 128 && mulpdu <= 64768);
	FUZZ_CHECK(mulpdu == 128 || fpdu_octets(mulpdu, markers) <= emss);
	/* MULPDU is the largest: an FPDU of one word more does not fit */
	if (!markers && mulpdu > 128 && mulpdu < 64768)
		FUZZ_CHECK(fpdu_octets(mulpdu + 4, false) > emss);
	FUZZ_CHECK(mpa_fpdu_len(mulpdu) == fpdu_octets(mulpdu, false));
	FUZZ_CHECK(mpa_fpdu_len(emss & 0xffff) == fpdu_octets(emss & 0xffff, false));
	FUZZ_CHECK((2 + (emss & 0xffff) + mpa_pad(emss & 0xffff)) % 4 == 0);
	FUZZ_CHECK(mpa_pad(emss) < 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u8 role = fuzz_u8(&in);
	u32 emss;

	check_frame(&in, role & 1 ? MPA_REPLY : MPA_REQUEST);
	emss = fuzz_u32(&in);
	check_sizes(emss, false);
	check_sizes(emss, true);
	check_sizes(emss & 0x1ffff, false);
	check_sizes(emss & 0x1ffff, true);
	return 0;
}
