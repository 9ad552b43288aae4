// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rendezvous: decoding any bytes, that encoding is the inverse, and that of two matching ends
 * exactly one has the attempt that lives.
 *
 * Input: length, private data.
 */
#include "fuzz.h"
#include "ib/rdv.h"

static struct rdv_hello turned(const struct rdv_hello *own)
{
	struct rdv_hello peer = { own->code, own->offers, own->dst_qpn, own->src_qpn,
				  own->dst_psn, own->src_psn, { 0 }, { 0 } };

	memcpy(peer.src_gid, own->dst_gid, RDV_GID_LEN);
	memcpy(peer.dst_gid, own->src_gid, RDV_GID_LEN);
	return peer;
}

static void check_ends(const struct rdv_hello *own)
{
	struct rdv_hello peer = turned(own);

	FUZZ_CHECK(rdv_fits(own, &peer, true));
	FUZZ_CHECK(rdv_fits(&peer, own, true));
	if (own->src_qpn != own->dst_qpn || memcmp(own->src_gid, own->dst_gid, RDV_GID_LEN))
		FUZZ_CHECK(rdv_own_attempt_lives(own) != rdv_own_attempt_lives(&peer));
	peer.dst_psn ^= 1;
	FUZZ_CHECK(!rdv_fits(own, &peer, true) && rdv_fits(own, &peer, false));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u32 len = fuzz_u8(&in);
	u8 *buf = fuzz_box(&in, len);
	struct rdv_hello hello;
	u8 out[RDV_LEN];

	if (rdv_decode(buf, len, &hello)) {
		FUZZ_CHECK(len == RDV_LEN);
		buf[7] = 0;	/* reserved */
		rdv_encode(out, &hello);
		FUZZ_CHECK(!memcmp(out, buf, RDV_LEN));
		check_ends(&hello);
	}
	free(buf);
	return 0;
}
