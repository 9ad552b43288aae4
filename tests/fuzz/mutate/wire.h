/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * iWARP on a byte stream, as the mutating peer sends it: MPA (RFC 5044, 6581), DDP (RFC 5041),
 * RDMAP (RFC 5040, 7306). Written from the RFCs, independently of the module: an error common to
 * both must be in the text.
 */
#ifndef MUTATE_WIRE_H
#define MUTATE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RFC 5040 Figure 4, RFC 7306 Figure 2 */
enum op {
	OP_WRITE, OP_READ_REQ, OP_READ_RESP, OP_SEND, OP_SEND_INV, OP_SEND_SE, OP_SEND_SE_INV,
	OP_TERMINATE, OP_IMM, OP_IMM_SE, OP_ATOMIC_REQ, OP_ATOMIC_RESP,
};

#define REQ_KEY		"MPA ID Req Frame"
#define REP_KEY		"MPA ID Rep Frame"
#define HELLO_LEN	20
#define HELLO_MAX	(HELLO_LEN + 512)
#define MPA_M		0x80
#define MPA_C		0x40
#define MPA_R		0x20
#define MPA_S		0x10
/* RFC 6581 Figure 4: the IRD word has A and B, the ORD word C and D */
#define ENH_A		0x8000
#define ENH_B		0x4000
#define ENH_C		0x8000
#define ENH_D		0x4000
#define ENH_VALUE	0x3fff

#define DDP_T		0x80
#define DDP_L		0x40
#define TAGGED_LEN	14
#define UNTAGGED_LEN	18
#define READ_REQ_LEN	28
#define ATOMIC_REQ_LEN	52
#define ATOMIC_RESP_LEN	12
#define TERM_MAX	52

#define ULPDU_MAX	2400	/* for frames of this peer; longer lengths are lies */
#define FPDU_MAX	(2 + 65535 + 3 + 4)
#define MARKER_GAP	512	/* RFC 5044 4.3 */

static inline uint16_t get16(const uint8_t *p)
{
	return p[0] << 8 | p[1];
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static inline uint64_t get64(const uint8_t *p)
{
	return (uint64_t)get32(p) << 32 | get32(p + 4);
}

static inline void put16(uint8_t *p, uint16_t v)
{
	p[0] = v >> 8;
	p[1] = v;
}

static inline void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v);
}

static inline void put64(uint8_t *p, uint64_t v)
{
	put32(p, v >> 32);
	put32(p + 4, v);
}

static inline uint32_t fpdu_len(uint32_t ulpdu_len)
{
	return ((2 + ulpdu_len + 3) & ~3U) + 4;
}

uint32_t crc32c(uint32_t crc, const void *data, size_t len);
uint32_t tagged_hdr(uint8_t *u, enum op op, bool last, uint32_t stag, uint64_t to);
uint32_t untagged_hdr(uint8_t *u, enum op op, bool last, uint32_t inv, uint32_t qn,
		      uint32_t msn, uint32_t mo);
uint32_t hello(uint8_t *p, const char *key, uint8_t flags, uint8_t rev, const int enh[2],
	       const void *pd, uint16_t pd_len);

/* Changes to an FPDU on its way to the wire, below the ULPDU */
struct fpdu_lies {
	int length;		/* ULPDU_Length in the frame, or -1 */
	uint32_t crc_xor;	/* 0: the right CRC */
	uint8_t pad;		/* value of PAD octets */
	int flip;		/* octet changed after the CRC was computed, or -1 */
	uint8_t flip_bits;
	bool marker_reserved;	/* set reserved octets of markers */
	int marker_off;		/* added to FPDUPTR */
};

/* One direction with or without markers, and its place in the stream */
struct markers {
	bool on;
	uint64_t pos;		/* octets of this direction, with markers */
};

uint32_t fpdu_encode(uint8_t *out, const uint8_t *ulpdu, uint32_t len,
		     const struct fpdu_lies *lies, struct markers *mk);

/* FPDUs from a stream; the CRC and all fixed fields are checked */
struct deframer {
	struct markers mk;
	uint8_t buf[FPDU_MAX];
	uint32_t have;		/* of the FPDU without markers */
	uint32_t start;		/* markers: octets since its length field, with markers */
	uint8_t marker[4];
	uint32_t marker_have;
	uint32_t crc;
	const char *bad;	/* the error of the stream */
	uint32_t marker_count;
};

void deframer_init(struct deframer *d, bool markers);
size_t deframer_put(struct deframer *d, const uint8_t *data, size_t len, bool *complete);

#endif
