// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DDP headers, and the checks of a segment by its header alone: any octets decode as RFC 5041 4
 * has it, encoding is the inverse, and the verdict is that of the model.
 *
 * Input: ULPDU_Length, header.
 */
#include "fuzz.h"
#include "model.h"

static void check_fields(const u8 *h, const struct ddp_hdr *hdr)
{
	FUZZ_CHECK(hdr->tagged == !!(h[0] & 0x80));
	FUZZ_CHECK(hdr->last == !!(h[0] & 0x40));
	FUZZ_CHECK(hdr->version == (h[0] & 3));
	FUZZ_CHECK(hdr->ulp == h[1]);
	if (hdr->tagged) {
		FUZZ_CHECK(hdr->stag == be32(h + 2));
		FUZZ_CHECK(hdr->to == ((u64)be32(h + 6) << 32 | be32(h + 10)));
		FUZZ_CHECK(!hdr->inv_stag && !hdr->qn && !hdr->msn && !hdr->mo);
	} else {
		FUZZ_CHECK(hdr->inv_stag == be32(h + 2));
		FUZZ_CHECK(hdr->qn == be32(h + 6));
		FUZZ_CHECK(hdr->msn == be32(h + 10));
		FUZZ_CHECK(hdr->mo == be32(h + 14));
		FUZZ_CHECK(!hdr->stag && !hdr->to);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u16 len = fuzz_u16(&in);
	u32 n = in.left && *in.p & 0x80 ? 14 : 18;
	u8 *h = fuzz_box(&in, n);
	struct ddp_hdr hdr;
	u8 *out = malloc(n);

	FUZZ_CHECK(ddp_decode(h, &hdr) == n);
	check_fields(h, &hdr);
	for (u32 v = 0; v < RDMAP_VERSIONS; v++) {
		FUZZ_CHECK(rdmap_check_hdr(&hdr, len, v) == model_header(h, len, v));
		/* lengths near the borders */
		FUZZ_CHECK(rdmap_check_hdr(&hdr, len % 96, v) == model_header(h, len % 96, v));
	}

	h[0] &= 0xc3;	/* reserved bits are sent as zero */
	FUZZ_CHECK(ddp_encode(out, &hdr) == n);
	FUZZ_CHECK(!memcmp(out, h, n));
	free(out);
	free(h);
	return 0;
}
