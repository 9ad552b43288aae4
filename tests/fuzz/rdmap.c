// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMAP headers: Terminate (RFC 5040 4.8) of any length and content, Read Request
 * (4.4), and the tables of opcodes and errors for any number.
 *
 * Input: numbers for the tables, Read Request, Terminate.
 */
#include "fuzz.h"
#include "wire/rdmap.h"

/* RFC 5040 Figure 9: quoted headers, as far as they are present */
static void check_term(const u8 *t, u32 len, const struct rdmap_term *term)
{
	bool m = t[2] & 0x80, d = t[2] & 0x40, r = t[2] & 0x20;
	u32 at = 4, head = 0;

	FUZZ_CHECK(term->err.layer == t[0] >> 4);
	FUZZ_CHECK(term->err.etype == (t[0] & 15));
	FUZZ_CHECK(term->err.code == t[1]);

	m = m && len >= at + 2;
	FUZZ_CHECK(term->seg_len == (m ? t[at] << 8 | t[at + 1] : 0));
	at += 2;
	if (d && len > at)
		head = t[at] & 0x80 ? 14 : 18;
	d = head && len >= at + head;
	FUZZ_CHECK(term->ddp_len == (d ? head : 0));
	FUZZ_CHECK(!d || !memcmp(term->ddp, t + at, head));
	at += head;
	r = r && d && len >= at + 28;
	FUZZ_CHECK(!r || !memcmp(term->read_req, t + at, 28));
	FUZZ_CHECK(term->err.hdrct == ((m ? 0x8000 : 0) | (d ? 0x4000 : 0) | (r ? 0x2000 : 0)));
}

static void check_terminate(struct fuzz_in *in)
{
	u32 len = in->left;
	struct rdmap_term term, again;
	u8 out[RDMAP_MAX_TERM_LEN];
	u8 *t = fuzz_box(in, len);
	u32 n;

	if (rdmap_term_decode(t, len, &term)) {
		FUZZ_CHECK(len < 4);
		FUZZ_CHECK(!term.err.layer && !term.err.hdrct && !term.ddp_len);
		free(t);
		return;
	}
	FUZZ_CHECK(len >= 4);
	check_term(t, len, &term);

	n = rdmap_term_encode(out, &term);
	FUZZ_CHECK(n >= 4 && n <= RDMAP_MAX_TERM_LEN);
	/* if all was decoded, encoding gives the same octets, except for reserved bits */
	if (term.err.hdrct == ((t[2] & 0xe0) << 8)) {
		t[2] &= 0xe0;
		t[3] = 0;
		if (!(term.err.hdrct & RDMAP_TERM_M) && n > 4)
			t[4] = t[5] = 0;
		FUZZ_CHECK(n <= len && !memcmp(out, t, n));
	}
	FUZZ_CHECK(!rdmap_term_decode(out, n, &again));
	FUZZ_CHECK(again.err.layer == term.err.layer && again.err.etype == term.err.etype &&
		   again.err.code == term.err.code && again.err.hdrct == term.err.hdrct &&
		   again.seg_len == term.seg_len && again.ddp_len == term.ddp_len &&
		   !memcmp(again.ddp, term.ddp, sizeof(term.ddp)) &&
		   !memcmp(again.read_req, term.read_req, sizeof(term.read_req)));
	/* an RDMAP header is not sent without the DDP header */
	term.err.hdrct = (term.err.hdrct & ~RDMAP_TERM_D) | RDMAP_TERM_R;
	n = rdmap_term_encode(out, &term);
	FUZZ_CHECK(n == (term.err.hdrct & RDMAP_TERM_M ? 6u : 4u) && !(out[2] & 0x60));
	free(t);
}

static void check_read_req(struct fuzz_in *in)
{
	u8 *h = fuzz_box(in, RDMAP_READ_REQ_LEN);
	u8 *out = malloc(RDMAP_READ_REQ_LEN);
	struct rdmap_read_req req;

	rdmap_read_req_decode(h, &req);
	FUZZ_CHECK(req.sink_stag == ((u32)h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3]));
	FUZZ_CHECK(req.sink_to >> 56 == h[4] && (req.sink_to & 255) == h[11]);
	FUZZ_CHECK(req.size == ((u32)h[12] << 24 | h[13] << 16 | h[14] << 8 | h[15]));
	FUZZ_CHECK(req.src_stag == ((u32)h[16] << 24 | h[17] << 16 | h[18] << 8 | h[19]));
	FUZZ_CHECK(req.src_to >> 56 == h[20] && (req.src_to & 255) == h[27]);
	rdmap_read_req_encode(out, &req);
	FUZZ_CHECK(!memcmp(out, h, RDMAP_READ_REQ_LEN));
	free(out);
	free(h);
}

static void check_tables(u8 opcode, u32 err, enum rdmap_version version)
{
	const struct rdmap_op *op = rdmap_op(opcode);
	const struct rdmap_error *e = rdmap_error(err, version);

	FUZZ_CHECK(op->valid == ((opcode & 15) <= 14));
	FUZZ_CHECK(op->since == ((opcode & 15) > 7 && op->valid));
	FUZZ_CHECK(op->imm == ((opcode & 15) == 12 || (opcode & 15) == 13));
	FUZZ_CHECK(op->hdr_len <= RDMAP_MAX_TERM_LEN);
	FUZZ_CHECK(!op->valid || op->payload == !op->hdr_len);
	FUZZ_CHECK(op->qn < DDP_QN_COUNT && !(op->tagged && op->qn));
	FUZZ_CHECK(e->layer <= 2 && e->etype <= 15);
	FUZZ_CHECK(!(e->hdrct & ~0xe000) && !(e->hdrct & 0x2000 && ~e->hdrct & 0x4000));
	if (err >= RDMAP_ERR_COUNT)
		FUZZ_CHECK(!e->layer && !e->etype && !e->code && !e->hdrct);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u32 err = fuzz_u32(&in);

	check_tables(fuzz_u8(&in), err, RDMAP_IETF);
	check_tables(0, err & 63, RDMAP_IETF);
	check_tables(0, err & 63, RDMAP_RDMAC);
	check_read_req(&in);
	check_terminate(&in);
	return 0;
}
