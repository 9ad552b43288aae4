// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* RDMAP opcodes (RFC 5040, RFC 7306), errors, Read Request and Terminate headers. */
#include "wire/rdmap.h"

#define RDMAP_TERM_CTRL_LEN	4
#define RDMAP_TERM_SEG_LEN	2

/* the be32 that starts a Terminate header (RFC 5040 4.8); the HdrCt bits are RDMAP_TERM_* */
#define RDMAP_TERM_LAYER_SHIFT	28
#define RDMAP_TERM_ETYPE_SHIFT	24
#define RDMAP_TERM_CODE_SHIFT	16
#define RDMAP_TERM_HDRCT	(RDMAP_TERM_M | RDMAP_TERM_D | RDMAP_TERM_R)

static const struct rdmap_op rdmap_ops[RDMAP_OPCODE_COUNT] = {
	[RDMAP_WRITE] = {
		.valid = true, .tagged = true, .payload = true,
	},
	[RDMAP_READ_REQUEST] = {
		.valid = true, .qn = DDP_QN_READ_REQUEST,
		.hdr_len = RDMAP_READ_REQ_LEN,
	},
	[RDMAP_READ_RESPONSE] = {
		.valid = true, .tagged = true, .payload = true,
	},
	[RDMAP_SEND] = {
		.valid = true, .qn = DDP_QN_SEND, .payload = true,
	},
	[RDMAP_SEND_INV] = {
		.valid = true, .qn = DDP_QN_SEND, .payload = true,
		.inval = true,
	},
	[RDMAP_SEND_SE] = {
		.valid = true, .qn = DDP_QN_SEND, .payload = true,
		.solicited = true,
	},
	[RDMAP_SEND_SE_INV] = {
		.valid = true, .qn = DDP_QN_SEND, .payload = true,
		.inval = true, .solicited = true,
	},
	[RDMAP_TERMINATE] = {
		.valid = true, .qn = DDP_QN_TERMINATE,
		.hdr_len = RDMAP_TERM_CTRL_LEN,
	},
	[RDMAP_IMMEDIATE] = {
		.valid = true, .since = RDMAP_IETF,
		.qn = DDP_QN_SEND, .hdr_len = RDMAP_IMM_LEN,
	},
	[RDMAP_IMMEDIATE_SE] = {
		.valid = true, .since = RDMAP_IETF,
		.qn = DDP_QN_SEND, .hdr_len = RDMAP_IMM_LEN,
		.solicited = true,
	},
	[RDMAP_ATOMIC_REQUEST] = {
		.valid = true, .since = RDMAP_IETF,
		.qn = DDP_QN_READ_REQUEST,
		.hdr_len = RDMAP_ATOMIC_REQ_LEN,
	},
	[RDMAP_ATOMIC_RESPONSE] = {
		.valid = true, .since = RDMAP_IETF,
		.qn = DDP_QN_ATOMIC_RESPONSE,
		.hdr_len = RDMAP_ATOMIC_RESP_LEN,
	},
	[RDMAP_SEND_IMM] = {
		.valid = true, .since = RDMAP_IETF,
		.qn = DDP_QN_SEND, .payload = true,
		.imm = true,
	},
	[RDMAP_SEND_SE_IMM] = {
		.valid = true, .since = RDMAP_IETF,
		.qn = DDP_QN_SEND, .payload = true,
		.imm = true, .solicited = true,
	},
	/* the engine checks that it has no payload, after the agreement */
	[RDMAP_ACK] = {
		.valid = true, .since = RDMAP_IETF,
		.qn = DDP_QN_ATOMIC_RESPONSE, .payload = true,
	},
};

/**
 * rdmap_op - look up an opcode
 * @opcode: RDMAP control field; only its opcode bits count
 *
 * RFC 5040 Figures 4 and 5, RFC 7306 Figures 2 and 3, and what srnic adds (@imm).
 * Context: any.
 *
 * Return: its row of the table, never NULL; @valid is false if the opcode is
 * not assigned or not supported.
 */
const struct rdmap_op *rdmap_op(u8 opcode)
{
	return &rdmap_ops[opcode & RDMAP_OPCODE];
}

/*
 * RFC 5040 Figures 9 and 10, RFC 5041 7.2, RFC 5044 8, RFC 6581 8. M, D and R
 * are what Figure 10 lets a Terminate with this code quote. Where Figures 23 and
 * 24 of the RDMAC verbs print another code, a row E0 has it for version 0.
 */
#define SEGMENT	(RDMAP_TERM_M | RDMAP_TERM_D)
#define REQUEST	(SEGMENT | RDMAP_TERM_R)
#define CODE(l, t, c, h) \
	{ .layer = (l), .etype = (t), .code = (c), .hdrct = (h) }
#define E0(name, l, t, c, h, l0, t0, c0, h0) \
	[RDMAP_##name] = { [RDMAP_IETF] = CODE(l, t, c, h), [RDMAP_RDMAC] = CODE(l0, t0, c0, h0) }
#define E(name, l, t, c, h) \
	[RDMAP_##name] = { [0 ... RDMAP_VERSIONS - 1] = CODE(l, t, c, h) }

static const struct rdmap_error rdmap_errors[RDMAP_ERR_COUNT][RDMAP_VERSIONS] = {
	E(OK,			0, 0, 0x00, 0),
	E0(E_DDP_VERSION_TAGGED, 1, 1, 0x04, SEGMENT, 1, 2, 0x06, SEGMENT),
	E(E_DDP_VERSION_UNTAGGED, 1, 2, 0x06, SEGMENT),
	E(E_QN,			1, 2, 0x01, SEGMENT),
	E(E_NO_RQE,		1, 2, 0x02, SEGMENT),
	E0(E_IRD,		1, 2, 0x02, SEGMENT, 1, 2, 0x03, SEGMENT),
	E0(E_MSN,		1, 2, 0x03, SEGMENT, 1, 2, 0x02, SEGMENT),
	E(E_MO,			1, 2, 0x04, SEGMENT),
	E0(E_TOO_LONG,		1, 2, 0x05, SEGMENT, 0, 0, 0x00, 0),
	E(E_TAGGED_STAG,	1, 1, 0x00, SEGMENT),
	E(E_TAGGED_BOUNDS,	1, 1, 0x01, SEGMENT),
	E(E_TAGGED_STREAM,	1, 1, 0x02, SEGMENT),
	E(E_TAGGED_WRAP,	1, 1, 0x03, SEGMENT),
	/* DDP has no code for access rights, and RDMAP's is not for Writes */
	E0(E_TAGGED_ACCESS,	1, 1, 0x00, SEGMENT, 1, 1, 0x02, SEGMENT),
	E(E_RDMAP_VERSION,	0, 2, 0x05, SEGMENT),
	E(E_OPCODE,		0, 2, 0x06, SEGMENT),
	E(E_RESP_UNEXPECTED,	0, 2, 0x06, SEGMENT),
	E(E_RESP_STAG,		1, 1, 0x00, SEGMENT),
	E(E_RESP_RANGE,		1, 1, 0x01, SEGMENT),
	E(E_READ_STAG,		0, 1, 0x00, REQUEST),
	E(E_READ_BOUNDS,	0, 1, 0x01, REQUEST),
	E(E_READ_ACCESS,	0, 1, 0x02, REQUEST),
	E(E_READ_STREAM,	0, 1, 0x03, REQUEST),
	E(E_READ_WRAP,		0, 1, 0x04, REQUEST),
	E(E_READ_LONG,		1, 2, 0x05, SEGMENT),
	E(E_READ_SHORT,		0, 2, 0xff, SEGMENT),
	E(E_READ_REVOKED,	0, 1, 0x00, REQUEST),
	E0(E_INV_STAG,		0, 2, 0x09, SEGMENT, 0, 1, 0x00, SEGMENT),
	E0(E_INV_STREAM,		0, 1, 0x09, SEGMENT, 0, 1, 0x03, SEGMENT),
	E0(E_INV_SHARED,		0, 1, 0x09, SEGMENT, 0, 1, 0x02, SEGMENT),
	E(E_PLACEMENT,		0, 0, 0x00, 0),
	/* the code of RDMAC verbs Figure 24 for errors of a CQ (AE-18) */
	E(E_CQ_OVERFLOW,	0, 2, 0x07, 0),
	E(E_RQ_CQ_OVERFLOW,	0, 2, 0x07, 0),
	E(E_LOCAL_WR,		0, 0, 0x00, 0),
	E0(E_CRC,		2, 0, 0x02, 0, 0, 2, 0x02, 0),
	E0(E_FPDU_LENGTH,	2, 0, 0x03, 0, 1, 0, 0x00, 0),
	E(E_LLP_LOST,		2, 0, 0x01, 0),
	E(E_MPA_HELLO,		2, 0, 0x04, 0),
	E(E_MPA_IRD,		2, 0, 0x06, 0),
	E(E_MPA_RTR,		2, 0, 0x07, 0),
	E(E_MPA_LOCAL,		2, 0, 0x05, 0),
	E(E_ATOMIC_ALIGN,	0, 2, 0x07, SEGMENT),
	/* RFC 7306 8.1: the header of an Atomic Request is never quoted */
	E(E_ATOMIC_STAG,	0, 1, 0x00, SEGMENT),
	E(E_ATOMIC_BOUNDS,	0, 1, 0x01, SEGMENT),
	E(E_ATOMIC_ACCESS,	0, 1, 0x02, SEGMENT),
	E(E_ATOMIC_STREAM,	0, 1, 0x03, SEGMENT),
	E(E_ATOMIC_WRAP,	0, 1, 0x04, SEGMENT),
	E(E_ATOMIC_OPCODE,	0, 2, 0x06, SEGMENT),
	E(E_IMM_LENGTH,		0, 2, 0xff, SEGMENT),
	E(E_BAD_CLOSE,		0, 2, 0x07, 0),
	E(E_RQ_LOCAL,		0, 0, 0x00, 0),
	E(E_NO_L_BIT,		0, 2, 0x07, SEGMENT),
	E(E_TERM_SHORT,		0, 2, 0xff, SEGMENT),
	E(E_SRQ,		0, 2, 0x07, 0),
	E0(E_WRITE_DISABLED,	1, 1, 0x00, SEGMENT, 1, 1, 0x02, SEGMENT),
	E0(E_READ_DISABLED,	0, 1, 0x02, REQUEST, 1, 2, 0x01, SEGMENT),
	E(E_IRRQ_MSN,		1, 2, 0x03, SEGMENT),
	E(E_INV_BOUND,		0, 1, 0x09, SEGMENT),
	E0(E_MARKER,		2, 0, 0x03, 0, 0, 2, 0x03, 0),
	E(E_READ_MO,		1, 2, 0x04, SEGMENT),
	E(E_RING,		0, 2, 0x07, 0),
};

#undef E
#undef E0
#undef CODE
#undef REQUEST
#undef SEGMENT

/**
 * rdmap_error - the Terminate code of an error
 * @err: what is wrong
 * @version: of the stream
 *
 * RFC 5040 4.8. @hdrct is what may be quoted; a sender that has less at hand
 * clears bits. Context: any.
 *
 * Return: its row of the table, never NULL; for RDMAP_OK and for numbers
 * outside of the enumeration Local Catastrophic (0/0/00), nothing quoted.
 */
const struct rdmap_error *rdmap_error(enum rdmap_err err, enum rdmap_version version)
{
	u32 row = err;

	return &rdmap_errors[row < RDMAP_ERR_COUNT ? row : RDMAP_OK][version];
}

static bool rdmap_op_in(const struct rdmap_op *op, enum rdmap_version version)
{
	return op->valid && op->since <= version;
}

static bool rdmap_qn_in_use(u32 qn, enum rdmap_version version)
{
	u32 i;

	for (i = 0; i < RDMAP_OPCODE_COUNT; i++)
		if (rdmap_op_in(&rdmap_ops[i], version) && !rdmap_ops[i].tagged &&
		    rdmap_ops[i].qn == qn)
			return true;
	return false;
}

/* The message is one RDMAP header and nothing else; @len bytes of it came */
static enum rdmap_err rdmap_check_header_only(u8 opcode, bool last, u32 len)
{
	if (opcode == RDMAP_TERMINATE) {
		if (len > RDMAP_MAX_TERM_LEN)
			return RDMAP_E_TOO_LONG;
		if (len < rdmap_ops[opcode].hdr_len)
			return RDMAP_E_TERM_SHORT;
	} else if (len != rdmap_ops[opcode].hdr_len) {
		if (opcode != RDMAP_READ_REQUEST)
			return RDMAP_E_IMM_LENGTH;
		return len > RDMAP_READ_REQ_LEN ? RDMAP_E_READ_LONG :
						  RDMAP_E_READ_SHORT;
	}
	return last ? RDMAP_OK : RDMAP_E_NO_L_BIT;
}

/**
 * rdmap_check_hdr - check a received segment as far as its header alone permits
 * @hdr: decoded header; it need not be complete if @ulpdu_len is too short
 *	 for it
 * @ulpdu_len: ULPDU_Length of the segment
 * @version: of the stream
 *
 * The checks that need no state of the stream, lower layers first: FPDU
 * length, DDP version, QN (RFC 5041 7.1), then RDMAP version, opcode
 * (RFC 5040 7.2), length of a message that is all header. RFC 5040 7.2 lists
 * the opcode before the version, without an order; opcodes have a meaning
 * in a known version only, so the version goes first. An opcode on the wrong queue
 * or with the wrong T is an unexpected opcode. A message that is all header
 * fits into any segment, so its first one must be its last. The engine checks
 * whether a Send with immediate data, or an acknowledgment, was offered.
 *
 * The checks that need state come later. If a segment has several errors, the
 * one in its header is reported.
 * Context: any.
 *
 * Return: RDMAP_OK, or the first of RDMAP_E_FPDU_LENGTH,
 * RDMAP_E_DDP_VERSION_TAGGED or RDMAP_E_DDP_VERSION_UNTAGGED, RDMAP_E_QN,
 * RDMAP_E_RDMAP_VERSION, RDMAP_E_OPCODE, RDMAP_E_READ_LONG,
 * RDMAP_E_READ_SHORT, RDMAP_E_TOO_LONG and RDMAP_E_TERM_SHORT (Terminate),
 * RDMAP_E_IMM_LENGTH (RFC 7306), RDMAP_E_NO_L_BIT.
 */
enum rdmap_err rdmap_check_hdr(const struct ddp_hdr *hdr, u32 ulpdu_len,
			       enum rdmap_version version)
{
	const struct rdmap_op *op = rdmap_op(hdr->ulp);
	bool fits = rdmap_op_in(op, version) && op->tagged == hdr->tagged &&
		    (op->tagged || op->qn == hdr->qn);

	if (ulpdu_len < ddp_hdr_len(hdr->tagged))
		return RDMAP_E_FPDU_LENGTH;
	if (hdr->version != version)
		return hdr->tagged ? RDMAP_E_DDP_VERSION_TAGGED :
				     RDMAP_E_DDP_VERSION_UNTAGGED;
	if (!fits && !hdr->tagged && !rdmap_qn_in_use(hdr->qn, version))
		return RDMAP_E_QN;
	if ((hdr->ulp & RDMAP_RV) != rdmap_control(version, 0))
		return RDMAP_E_RDMAP_VERSION;
	if (!fits)
		return RDMAP_E_OPCODE;
	if (op->payload)
		return RDMAP_OK;
	return rdmap_check_header_only(hdr->ulp & RDMAP_OPCODE, hdr->last,
				       ulpdu_len - ddp_hdr_len(hdr->tagged));
}

/**
 * rdmap_read_req_encode - write a Read Request header
 * @buf: room for RDMAP_READ_REQ_LEN bytes
 * @req: what to write
 *
 * RFC 5040 4.4. Context: any.
 */
void rdmap_read_req_encode(u8 *buf, const struct rdmap_read_req *req)
{
	put_unaligned_be32(req->sink_stag, buf);
	put_unaligned_be64(req->sink_to, buf + 4);
	put_unaligned_be32(req->size, buf + 12);
	put_unaligned_be32(req->src_stag, buf + 16);
	put_unaligned_be64(req->src_to, buf + 20);
}

/**
 * rdmap_read_req_decode - read a Read Request header
 * @buf: RDMAP_READ_REQ_LEN bytes
 * @req: filled; nothing is checked here
 *
 * RFC 5040 4.4. Context: any.
 */
void rdmap_read_req_decode(const u8 *buf, struct rdmap_read_req *req)
{
	req->sink_stag = get_unaligned_be32(buf);
	req->sink_to = get_unaligned_be64(buf + 4);
	req->size = get_unaligned_be32(buf + 12);
	req->src_stag = get_unaligned_be32(buf + 16);
	req->src_to = get_unaligned_be64(buf + 20);
}

/**
 * rdmap_term_encode - write a Terminate header
 * @buf: room for RDMAP_MAX_TERM_LEN bytes
 * @term: what to write. @term->err.hdrct says what is quoted; the length of
 *	  the quoted DDP header follows from its T bit, not from
 *	  @term->ddp_len.
 *
 * RFC 5040 4.8. What is not quoted is absent, not zero. The segment length is
 * there with M or D, the Read Request header only after a DDP header: R
 * without D is not sent. Context: any.
 *
 * Return: bytes written, 4 to RDMAP_MAX_TERM_LEN.
 */
u32 rdmap_term_encode(u8 *buf, const struct rdmap_term *term)
{
	u16 hdrct = term->err.hdrct & RDMAP_TERM_HDRCT;
	u32 len = RDMAP_TERM_CTRL_LEN;

	if (!(hdrct & RDMAP_TERM_D))
		hdrct &= ~RDMAP_TERM_R;
	put_unaligned_be32((u32)(term->err.layer & 0xf) << RDMAP_TERM_LAYER_SHIFT |
			   (u32)(term->err.etype & 0xf) << RDMAP_TERM_ETYPE_SHIFT |
			   (u32)term->err.code << RDMAP_TERM_CODE_SHIFT | hdrct,
			   buf);
	if (hdrct & (RDMAP_TERM_M | RDMAP_TERM_D)) {
		put_unaligned_be16(hdrct & RDMAP_TERM_M ? term->seg_len : 0,
				   buf + len);
		len += RDMAP_TERM_SEG_LEN;
	}
	if (hdrct & RDMAP_TERM_D) {
		u32 ddp_len = ddp_hdr_len(term->ddp[0] & DDP_T);

		memcpy(buf + len, term->ddp, ddp_len);
		len += ddp_len;
	}
	if (hdrct & RDMAP_TERM_R) {
		memcpy(buf + len, term->read_req, RDMAP_READ_REQ_LEN);
		len += RDMAP_READ_REQ_LEN;
	}
	return len;
}

/**
 * rdmap_term_decode - read a Terminate header
 * @buf: the Terminate message
 * @len: its bytes; no byte beyond is read
 * @term: filled; what is not quoted is zero
 *
 * RFC 5040 4.8. Any code is accepted. Reserved bits are ignored (TRM-7). If the
 * message is shorter than M, D and R promise, the bit of each incomplete part is
 * cleared in @term->err.hdrct. R without D is cleared, too. Bytes after the last
 * promised header are ignored, since some senders fill up with zeros (RFC 5040
 * 7.1). Context: any.
 *
 * Return: 0, or -EINVAL if there are less than 4 bytes; @term is zero then.
 */
int rdmap_term_decode(const u8 *buf, u32 len, struct rdmap_term *term)
{
	u32 word, ddp_len;
	u16 hdrct;

	memset(term, 0, sizeof(*term));
	if (len < RDMAP_TERM_CTRL_LEN)
		return -EINVAL;

	word = get_unaligned_be32(buf);
	buf += RDMAP_TERM_CTRL_LEN;
	len -= RDMAP_TERM_CTRL_LEN;
	term->err.layer = word >> RDMAP_TERM_LAYER_SHIFT & 0xf;
	term->err.etype = word >> RDMAP_TERM_ETYPE_SHIFT & 0xf;
	term->err.code = word >> RDMAP_TERM_CODE_SHIFT & 0xff;
	hdrct = word & RDMAP_TERM_HDRCT;

	if (!(hdrct & (RDMAP_TERM_M | RDMAP_TERM_D)) ||
	    len < RDMAP_TERM_SEG_LEN)
		return 0;
	if (hdrct & RDMAP_TERM_M) {
		term->seg_len = get_unaligned_be16(buf);
		term->err.hdrct |= RDMAP_TERM_M;
	}
	buf += RDMAP_TERM_SEG_LEN;
	len -= RDMAP_TERM_SEG_LEN;

	if (!(hdrct & RDMAP_TERM_D) || !len)
		return 0;
	ddp_len = ddp_hdr_len(buf[0] & DDP_T);
	if (len < ddp_len)
		return 0;
	memcpy(term->ddp, buf, ddp_len);
	term->ddp_len = ddp_len;
	term->err.hdrct |= RDMAP_TERM_D;
	buf += ddp_len;
	len -= ddp_len;

	if (!(hdrct & RDMAP_TERM_R) || len < RDMAP_READ_REQ_LEN)
		return 0;
	memcpy(term->read_req, buf, RDMAP_READ_REQ_LEN);
	term->err.hdrct |= RDMAP_TERM_R;
	return 0;
}
