/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The parts of the mutating peer: mutate.c. */
#ifndef MUTATE_H
#define MUTATE_H

#include "model.h"

/* Mutations of a frame */
#define CLASSES(X)							\
	X(VALID, "none") X(SPLIT, "segments") X(PAD, "PAD") X(RESERVED, "reserved bits") \
	X(PAYLOAD, "payload, sink, operands") X(PLACE, "edges of what is allowed") \
	X(BIT, "bit") X(OCTET, "octet") X(FIELD, "field") X(FIELDS, "several fields") \
	X(STAG, "STag of another") X(TRUNC, "ULPDU shorter") X(EXTEND, "ULPDU longer") \
	X(LENGTH, "ULPDU_Length") X(CRC, "CRC") X(UNCRC, "octet, not the CRC")	\
	X(DUP, "frame twice") X(OMIT, "frame left out") X(SWAP, "frames swapped") \
	X(MARKER, "marker") X(FIN, "FIN in a frame") X(RST, "RST in a frame")	\
	X(REQUEST, "MPA Request") X(REPLY, "MPA Reply")

enum class {
#define X(name, text) CLASS_##name,
	CLASSES(X)
#undef X
	CLASS_COUNT
};

#define PREY_PORT	7901
#define PEER_PORT	7902
#define HONEST_EVERY	256	/* connections: one must work, then the device is checked */

#define MAX_QUEUE	64
#define WIRE_MAX	(256 * 1024)

struct frame {
	uint8_t u[ULPDU_MAX];
	uint32_t len;
	bool split;		/* part of a message cut more often than needed */
};

enum kind { KIND_PASSIVE, KIND_ACTIVE, KIND_REQUEST, KIND_REPLY };

/* How the peer ends the stream */
enum finish { FINISH_FIN, FINISH_CUT, FINISH_RST, FINISH_NONE };

/* How a piece of the stream goes to TCP */
enum way { WAY_COPY, WAY_SENDFILE, WAY_SPLICE, WAY_ZEROCOPY, WAY_COUNT };

struct trace {
	enum class class;
	uint32_t len;
	uint8_t octets[64];
};

struct conn {
	uint64_t number;
	uint64_t rng;
	enum kind kind;
	struct prey_slot *slot;
	struct model model;
	int fd;
	int rev;
	bool crc, markers_in;	/* requested in the start-up frame */
	struct markers out;
	struct deframer in;
	unsigned int wild;	/* percentage of frames with a wild mutation */
	int frames;		/* still to be sent */
	bool honest;		/* without mutations: the device must serve all of it */
	uint32_t ird;
	/* frames to send, before mutation */
	struct frame queue[MAX_QUEUE];
	unsigned int q_head, q_tail;
	uint32_t next_msn[4];	/* MSNs of an honest sender */
	int next_recv;
	unsigned int force;	/* frames that are sent even if they are known to be bad */
	/* octets to send */
	uint8_t wire[WIRE_MAX];
	uint32_t wire_len;
	bool proves;		/* the answer to the last frame shows that all was read */
	bool stopped;		/* no more is sent */
	enum finish finish;
	bool early;		/* FIN with something under way */
	enum class bad_class, open_class;
	/* received from the device */
	uint32_t rx_msn[4], rx_mo, rx_off;
	int messages, requests;
	bool rtr_due, terminated, eof, reset;
	int term_code;		/* enum code, or -1 */
	int term_quote;
	uint8_t term[128];
	uint32_t term_len;
	/* MPA start-up */
	uint8_t hello[HELLO_MAX + 64];
	uint32_t hello_len;
	enum class hello_class;
	bool may_accept, may_reject, may_close, served, closed;
	/* for the report */
	struct trace trace[48];
	unsigned int traces;
	bool failed;
};

struct stats {
	uint64_t conns, frames, mutated, honest, dropped;
	uint64_t class_frames[CLASS_COUNT], class_bad[CLASS_COUNT];
	uint64_t codes[CLASS_COUNT][CODE_COUNT + 1];	/* the last: closed without a Terminate */
	uint64_t way_octets[WAY_COUNT];
	uint64_t failures;
};

extern struct conn conns[SLOTS];
extern uint8_t *shadow;		/* the expected contents of prey's memory */
extern uint64_t seed;
extern struct stats stats;
extern bool verbose;
extern bool hostile;	/* octets change while the device reads them */

static inline uint64_t rnd(struct conn *c)
{
	uint64_t z = c->rng += 0x9e3779b97f4a7c15;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static inline bool is_passive(const struct conn *c)
{
	return c->kind == KIND_PASSIVE || c->kind == KIND_REQUEST;
}

static inline uint32_t below(struct conn *c, uint32_t n)
{
	return n ? rnd(c) % n : 0;
}

static inline bool chance(struct conn *c, unsigned int percent)
{
	return below(c, 100) < percent;
}

void fail(struct conn *c, const char *fmt, ...) __printf_like(2, 3);
void fail_anyhow(const char *fmt, ...) __printf_like(1, 2);

/* frames.c */
void queue_message(struct conn *c);
void queue_answer(struct conn *c);
enum class mutate_frame(struct conn *c, struct frame *f, struct fpdu_lies *lies);
void plan_request(struct conn *c);
void plan_reply(struct conn *c, const uint8_t *request, uint32_t len);

/* stream.c */
void emit(struct conn *c, const struct frame *f, enum class class, const struct fpdu_lies *lies);
void flush_wire(struct conn *c);
void pump(struct conn *c, bool (*done)(struct conn *));
void send_frames(struct conn *c);
void finish_stream(struct conn *c);
void check_stream(struct conn *c);

/* ways.c */
void ways_open(void);
enum way way_of(struct conn *c, uint32_t len);
const uint8_t *way_stage(struct conn *c, enum way way, const uint8_t *p, uint32_t len);
ssize_t way_send(struct conn *c, enum way way, const uint8_t *p, size_t len);
void ways_spoil(struct conn *c);
void ways_impatient(struct conn *c);

/* setup.c */
void listen_here(void);
void plan(struct conn *c, struct prey_slot *s, uint64_t number);
void open_passive(struct conn *c);
void read_reply(struct conn *c);
void send_first(struct conn *c);
void open_active(struct conn *c);
void act(struct conn *c);

/* check.c */
void check_prey(struct conn *c);
void check_device(void);

#endif
