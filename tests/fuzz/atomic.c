// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Atomic Request and Response (RFC 7306 5.2), and the results of the operations, compared with
 * the bit by bit loop of RFC 7306 5.1.
 *
 * Input: Request, Response, value before.
 */
#include "fuzz.h"
#include "wire/atomic.h"

static u64 be(const u8 *p, u32 octets)
{
	u64 v = 0;

	while (octets--)
		v = v << 8 | *p++;
	return v;
}

/* RFC 7306 5.1.1: no carry crosses a bit that the mask has */
static u64 fetch_add(u64 value, u64 data, u64 mask)
{
	u64 sum = 0;
	u32 carry = 0, bit;

	for (bit = 0; bit < 64; bit++) {
		u32 n = (value >> bit & 1) + (data >> bit & 1) + carry;

		sum |= (u64)(n & 1) << bit;
		carry = mask >> bit & 1 ? 0 : n >> 1;
	}
	return sum;
}

static u64 cmp_swap(u64 value, const u8 *h)
{
	u64 data = be(h + 20, 8), mask = be(h + 28, 8);
	u64 compare = be(h + 36, 8), compare_mask = be(h + 44, 8);
	u32 bit;

	for (bit = 0; bit < 64; bit++)
		if (compare_mask >> bit & 1 && (value >> bit & 1) != (compare >> bit & 1))
			return value;
	for (bit = 0; bit < 64; bit++)
		if (mask >> bit & 1)
			value = (value & ~(1ULL << bit)) | (data & 1ULL << bit);
	return value;
}

static void check_request(struct fuzz_in *in, u64 value)
{
	u8 *h = fuzz_box(in, RDMAP_ATOMIC_REQ_LEN);
	u8 *out = malloc(RDMAP_ATOMIC_REQ_LEN);
	struct rdmap_atomic_req req;

	rdmap_atomic_req_decode(h, &req);
	FUZZ_CHECK(req.aopcode == (h[3] & 15));
	FUZZ_CHECK(req.id == be(h + 4, 4) && req.stag == be(h + 8, 4) && req.to == be(h + 12, 8));
	FUZZ_CHECK(req.data == be(h + 20, 8) && req.mask == be(h + 28, 8));
	FUZZ_CHECK(req.compare == be(h + 36, 8) && req.compare_mask == be(h + 44, 8));
	FUZZ_CHECK(rdmap_atomic_known(req.aopcode) == (req.aopcode == 0 || req.aopcode == 2));

	FUZZ_CHECK(rdmap_atomic_places(req.aopcode) == (req.aopcode == 14 || req.aopcode == 15));
	/* of one range or of all of a region; global, persistent, or both */
	FUZZ_CHECK(rdmap_flush_known(&req) == (req.mask >= 1 && req.mask <= 3 && req.compare <= 1));

	h[0] = h[1] = h[2] = 0;		/* reserved */
	h[3] &= 15;
	rdmap_atomic_req_encode(out, &req);
	FUZZ_CHECK(!memcmp(out, h, RDMAP_ATOMIC_REQ_LEN));

	req.aopcode = RDMAP_FETCH_ADD;
	FUZZ_CHECK(rdmap_atomic_result(&req, value) == fetch_add(value, be(h + 20, 8), be(h + 28, 8)));
	req.aopcode = RDMAP_CMP_SWAP;
	FUZZ_CHECK(rdmap_atomic_result(&req, value) == cmp_swap(value, h));
	/* a comparison that holds */
	req.compare = value & req.compare_mask;
	FUZZ_CHECK(rdmap_atomic_result(&req, value) ==
		   ((value & ~req.mask) | (req.data & req.mask)));
	free(out);
	free(h);
}

static void check_response(struct fuzz_in *in)
{
	u8 *h = fuzz_box(in, RDMAP_ATOMIC_RESP_LEN);
	u8 *out = malloc(RDMAP_ATOMIC_RESP_LEN);
	struct rdmap_atomic_resp resp;

	rdmap_atomic_resp_decode(h, &resp);
	FUZZ_CHECK(resp.id == be(h, 4) && resp.value == be(h + 4, 8));
	rdmap_atomic_resp_encode(out, &resp);
	FUZZ_CHECK(!memcmp(out, h, RDMAP_ATOMIC_RESP_LEN));
	free(out);
	free(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u64 value = fuzz_u64(&in);

	check_request(&in, value);
	check_response(&in);
	return 0;
}
