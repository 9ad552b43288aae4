/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How an RNIC must process a stream, by the RFCs: which octets are placed where, which messages
 * are delivered, which answers are sent, and which Terminates are right for an error. The judge
 * of mutate.c.
 */
#ifndef MUTATE_MODEL_H
#define MUTATE_MODEL_H

#include "wire.h"
#include "prey.h"

/* Terminate codes, as layer, type, code: RFC 5040 4.8, RFC 5041 7.2, RFC 5044 8 */
#define CODES(X)							\
	X(PROT_STAG, 0, 1, 0x00) X(PROT_BOUNDS, 0, 1, 0x01)		\
	X(PROT_ACCESS, 0, 1, 0x02) X(PROT_STREAM, 0, 1, 0x03)		\
	X(PROT_WRAP, 0, 1, 0x04) X(PROT_INVALIDATE, 0, 1, 0x09)		\
	X(OP_VERSION, 0, 2, 0x05) X(OP_OPCODE, 0, 2, 0x06)		\
	X(OP_STREAM, 0, 2, 0x07) X(OP_INVALIDATE, 0, 2, 0x09)		\
	X(OP_UNSPEC, 0, 2, 0xff)					\
	X(TAG_STAG, 1, 1, 0x00) X(TAG_BOUNDS, 1, 1, 0x01)		\
	X(TAG_STREAM, 1, 1, 0x02) X(TAG_WRAP, 1, 1, 0x03)		\
	X(TAG_VERSION, 1, 1, 0x04)					\
	X(UNT_QN, 1, 2, 0x01) X(UNT_NO_BUFFER, 1, 2, 0x02)		\
	X(UNT_MSN, 1, 2, 0x03) X(UNT_MO, 1, 2, 0x04)			\
	X(UNT_LONG, 1, 2, 0x05) X(UNT_VERSION, 1, 2, 0x06)		\
	X(LLP_LOST, 2, 0, 0x01) X(LLP_CRC, 2, 0, 0x02)			\
	X(LLP_LENGTH, 2, 0, 0x03)

enum code {
#define X(name, l, t, c) CODE_##name,
	CODES(X)
#undef X
	CODE_COUNT
};

struct code_row {
	uint8_t layer, type, code;
	const char *name;
};

extern const struct code_row code_rows[CODE_COUNT];

#define B(name) (1ULL << CODE_##name)

/* Headers that a Terminate quotes (RFC 5040 Figure 10) */
#define QUOTE_M 4
#define QUOTE_D 2
#define QUOTE_R 1

/* An STag that the peer may use */
struct stag {
	uint32_t stag;
	uint64_t base;
	uint32_t len;
	int access;
	bool other_pd;
	bool window;		/* of type 2: for one stream, which may invalidate it */
	uint32_t qpn;		/* of the window */
	bool valid;
	bool is_all;		/* memory that may be written while it is read */
	bool is_at;
};

/* An answer that the device owes */
struct owed {
	bool atomic;
	uint32_t sink_stag, size, id;
	uint64_t sink_to, value;
	const uint8_t *data;	/* in the shadow; NULL: undefined */
	uint64_t writes;	/* to AREA_ALL before it */
	uint64_t at_addr;	/* of an atomic */
};

/* A request of the device, which the peer has to answer */
struct asked {
	bool atomic;
	uint32_t sink_stag, size, id, off;
	uint64_t sink_to;
	int op;			/* index of prey's operation */
};

enum outcome {
	RUNNING,
	BAD,			/* a Terminate is due */
	TERMINATED,		/* the peer sent one: the device closes without one */
};

struct model {
	struct prey_slot *slot;
	const struct stag *stags;
	int stag_count;
	struct stag window;	/* the stream's own */
	bool has_window;
	uint8_t *shadow;	/* of all memory of prey */
	const uint8_t *base;	/* where that is in prey */
	uint32_t msn[4];
	bool open;		/* a Send has begun */
	uint32_t mo;
	int delivered;
	uint32_t bytes[MAX_RECV];
	bool any_bytes[MAX_RECV];
	uint64_t writes;
	struct owed owed[256];
	unsigned int owed_head, owed_tail;
	struct asked asked[MAX_SEND];
	unsigned int asked_head, asked_tail;
	/* the stream as it was sent, without markers */
	uint8_t in[FPDU_MAX * 2];
	uint32_t in_len, in_used;
	struct { uint32_t begin, end; bool good; } frame[512];
	unsigned int frames;
	uint32_t frame_base;
	/* the verdict */
	enum outcome outcome;
	uint64_t codes;
	bool async;		/* detected when the request is answered, not when it arrives */
	int quote;		/* QUOTE_* of codes that quote anything */
	uint8_t bad[TAGGED_LEN + 80];
	uint32_t bad_len, bad_ulpdu_len;
	bool may_lack_ird;
	/* ranges of memory with undefined contents */
	struct { uint64_t off; uint32_t len; } dirty[64];
	unsigned int dirties;
};

void model_start(struct model *m, struct prey_slot *slot);
void model_put(struct model *m, const uint8_t *fpdu, uint32_t len, bool good);
uint64_t model_judge(struct model *m, const uint8_t *ulpdu, uint32_t len, bool *async);
void model_dirty(struct model *m, uint64_t addr, uint32_t len);
bool model_in_fpdu(const struct model *m);
void model_cut(struct model *m);

#endif
