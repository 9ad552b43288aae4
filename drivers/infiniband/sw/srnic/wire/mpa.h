/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * MPA (RFC 5044) with the enhanced set-up of RFC 6581: start-up frames, their
 * negotiation, FPDU sizes and CRC. Pure: no sockets, no locks, no allocation.
 */
#ifndef SRNIC_WIRE_MPA_H
#define SRNIC_WIRE_MPA_H

#include "wire/os.h"

#define MPA_KEY_LEN		16
#define MPA_HELLO_LEN		20	/* Request or Reply without private data */
#define MPA_ENH_LEN		4	/* enhanced data, starts the private data (V2-3) */
#define MPA_MAX_PD		512	/* private data incl. MPA_ENH_LEN (M-REQ-6) */
#define MPA_MAX_HELLO		(MPA_HELLO_LEN + MPA_MAX_PD)

#define MPA_LEN_FIELD		2	/* ULPDU_Length */
#define MPA_CRC_LEN		4
#define MPA_MAX_ULPDU		64768	/* M-DDP-2 */
#define MPA_MIN_MULPDU		128	/* M-SIZ-2 */
#define MPA_MARKER_INTERVAL	512
#define MPA_MARKER_LEN		4
#define MPA_NO_NEGOTIATION	0x3fff	/* IRD or ORD: leave alone (V2-11) */
/* Bytes of the largest FPDU where both ends have agreed on FPDUs of several TCP segments */
#define MPA_LARGE_FPDU		(32 * 1024)

/* RTR kinds, as bits (RFC 6581 9.2) */
#define MPA_RTR_SEND		1
#define MPA_RTR_WRITE		2
#define MPA_RTR_READ		4
#define MPA_RTR_KINDS		3

enum mpa_role { MPA_REQUEST, MPA_REPLY };

/* Whether this end asks for CRC. CRC is used if either end asks (M-CRC-2). */
enum mpa_crc {
	MPA_CRC_OFF,		/* never: the peer decides */
	MPA_CRC_REQUIRED,	/* always: CRC is used whatever the peer asks for */
	MPA_CRC_PREFERRED,	/* as initiator; as responder only if the initiator asks, too */
};

/**
 * struct mpa_hello - a decoded MPA Request or Reply
 * @markers: M, the sender wants markers in what it receives
 * @crc: C
 * @reject: R, of a Reply only
 * @large: the sender offers large FPDUs, or takes the offer; see mpa_large
 * @enhanced: S, @p2p to @ord are valid
 * @rev: revision
 * @pd_len: bytes after the fixed part, incl. the enhanced data
 * @p2p: A
 * @rtr: B, C, D as MPA_RTR_*
 * @ird: 0 to MPA_NO_NEGOTIATION
 * @ord: 0 to MPA_NO_NEGOTIATION
 */
struct mpa_hello {
	bool markers;
	bool crc;
	bool reject;
	bool large;
	bool enhanced;
	u8 rev;
	u16 pd_len;
	bool p2p;
	u8 rtr;
	u16 ird;
	u16 ord;
};

/**
 * struct mpa_policy - what this end wants and can do
 * @crc: enum mpa_crc; REQUIRED unless an administrator decides otherwise (M-CRC-1)
 * @rx_markers: markers wanted in what we receive
 * @tx_markers: markers can be generated if the peer wants them
 * @large: offer large FPDUs, and take the offer
 * @rev: highest revision to use, 1 or 2
 * @p2p: ask for peer-to-peer set-up (as initiator)
 * @rtr: RTR kinds this end can send and accept, MPA_RTR_*; at least one (V2-14)
 * @rtr_order: kinds in @rtr that an initiator chooses first, in this order;
 *	       then Write, Read, Send
 * @max_ird: most inbound reads a connection may have; below MPA_NO_NEGOTIATION
 * @max_ord: most outbound reads a connection may have; below MPA_NO_NEGOTIATION
 */
struct mpa_policy {
	u8 crc;
	bool rx_markers;
	bool tx_markers;
	bool large;
	u8 rev;
	bool p2p;
	u8 rtr;
	u8 rtr_order[MPA_RTR_KINDS];
	u16 max_ird;
	u16 max_ord;
};

/**
 * struct mpa_result - settings of a connection that came up
 * @crc: CRC generated and checked
 * @tx_markers: insert markers
 * @rx_markers: expect markers
 * @p2p: peer-to-peer; the initiator's first FPDU is an RTR
 * @rtr: at the initiator the one RTR kind to send, at the responder the kinds
 *	 to expect one of; 0 if none
 * @ird: inbound reads this end provides
 * @ord: outbound reads this end may have
 * @large: FPDUs may have MPA_LARGE_FPDU bytes, in either direction; there are no markers then
 */
struct mpa_result {
	bool crc;
	bool tx_markers;
	bool rx_markers;
	bool p2p;
	u8 rtr;
	u16 ird;
	u16 ord;
	bool large;
};

/* Why a start-up failed; cm/ has an errno for each */
enum mpa_status {
	MPA_OK,
	MPA_BAD_KEY,		/* M-REQ-1, M-STA-5 */
	MPA_BAD_REV,		/* M-REQ-5 */
	MPA_BAD_PD_LEN,		/* M-REQ-6, or S set and no room for the enhanced data */
	MPA_REJECTED,		/* Reply with R */
	MPA_MARKERS_REFUSED,	/* the peer wants markers and we cannot make them */
	MPA_BAD_ENHANCED,	/* Reply's S differs from the Request's (V2-17) */
	MPA_NO_IRD,		/* V2-10: Terminate 2/0/06 */
	MPA_NO_RTR,		/* V2-15: Terminate 2/0/07 */
};

/*
 * Both ends have offered large FPDUs. With markers the agreement has no effect: these are for
 * receivers that find FPDUs in single segments.
 */
static inline void mpa_agree_large(struct mpa_result *result)
{
	result->large = !result->tx_markers && !result->rx_markers;
}

/* Bytes of PAD after a ULPDU of @ulpdu_len bytes (M-FPD-1) */
static inline u32 mpa_pad(u32 ulpdu_len)
{
	return -(ulpdu_len + MPA_LEN_FIELD) & 3;
}

/* Bytes of a whole FPDU without markers */
static inline u32 mpa_fpdu_len(u32 ulpdu_len)
{
	return MPA_LEN_FIELD + ulpdu_len + mpa_pad(ulpdu_len) + MPA_CRC_LEN;
}

/*
 * Markers. The phase of a position in the stream is the distance, modulo
 * MPA_MARKER_INTERVAL, between the position and the start of the first FPDU or
 * of the preceding marker. A marker is due at phase 0 (M-MRK-4). The length of
 * an FPDU is a multiple of four bytes, so a marker can be anywhere except within
 * the length field, PAD or CRC (M-MRK-7).
 */

/* Bytes of a whole FPDU with the most markers that can be in it */
static inline u32 mpa_fpdu_room(u32 ulpdu_len, bool markers)
{
	u32 len = mpa_fpdu_len(ulpdu_len);

	if (markers)
		len += MPA_MARKER_LEN *
		       (len / (MPA_MARKER_INTERVAL - MPA_MARKER_LEN) + 1);
	return len;
}

/*
 * Does a received marker point to the start of its FPDU? Before the marker came
 * @octets bytes of the FPDU, markers after the length field not counted, and
 * @markers markers. RESERVED and the low bits of FPDUPTR are ignored (M-MRK-1,
 * M-MRK-2).
 */
static inline bool mpa_marker_good(const u8 *marker, u32 octets, u32 markers)
{
	return (get_unaligned_be16(marker + 2) & ~3U) ==
	       octets + markers * MPA_MARKER_LEN;
}

/* CRC32c in MPA's form (M-CRC-4): start, add bytes, value to store little endian */
static inline u32 mpa_crc_start(void)
{
	return ~0U;
}

static inline u32 mpa_crc_add(u32 crc, const void *data, u32 len)
{
	return crc32c(crc, data, len);
}

static inline u32 mpa_crc_final(u32 crc)
{
	return ~crc;
}

u32 mpa_mulpdu(u32 emss, bool markers);
u32 mpa_marker_count(u32 phase, u32 len);
u32 mpa_marker_insert(u8 *fpdu, u32 len, u32 phase);
u32 mpa_marker_remove(u8 *fpdu, u32 len, u32 phase, bool *good);
u32 mpa_fpdu_seal(u8 *fpdu, u32 ulpdu_len, bool crc, u32 *phase);
u32 mpa_hello_encode(u8 *buf, enum mpa_role role, const struct mpa_hello *hello);
enum mpa_status mpa_hello_decode(const u8 *buf, enum mpa_role role,
				 struct mpa_hello *hello);
enum mpa_status mpa_enhanced_decode(const u8 *buf, struct mpa_hello *hello);
void mpa_request_init(struct mpa_hello *req, const struct mpa_policy *policy,
		      u8 rev, u16 ird, u16 ord, u16 pd_len);
enum mpa_status mpa_respond(const struct mpa_policy *policy,
			    const struct mpa_hello *req, u16 ird, u16 ord,
			    u16 pd_len, struct mpa_hello *reply,
			    struct mpa_result *result);
void mpa_reject_init(struct mpa_hello *reply, const struct mpa_hello *req,
		     u16 ird, u16 ord, u16 pd_len);
enum mpa_status mpa_conclude(const struct mpa_policy *policy,
			     const struct mpa_hello *req,
			     const struct mpa_hello *reply,
			     struct mpa_result *result);
#endif
