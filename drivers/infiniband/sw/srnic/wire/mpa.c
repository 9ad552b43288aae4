// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * MPA start-up frames, their negotiation, and FPDUs: sizes, markers, CRC
 * (RFC 5044, RFC 6581).
 *
 * The start-up is three steps: mpa_request_init() at the initiator,
 * mpa_respond() or mpa_reject_init() at the responder, mpa_conclude() at the
 * initiator. Frames travel as struct mpa_hello; encode and decode are the
 * only places that know their bits.
 *
 * An end that sends no IRD and ORD (no enhanced data, or 0x3fff in it) keeps
 * its own. A hello without enhanced data holds
 * MPA_NO_NEGOTIATION in both, so that the two cases are one.
 */
#include "wire/mpa.h"

/* be16 at byte 16 (RFC 5044 7.1.1, RFC 6581 6) */
#define MPA_FLAG_M		0x8000
#define MPA_FLAG_C		0x4000
#define MPA_FLAG_R		0x2000
#define MPA_FLAG_S		0x1000
#define MPA_REV			0x00ff

/*
 * srnic's own, two of the bits that RFC 5044 reserves: they are 0 unless the policy wants large
 * FPDUs. The answer is another bit than the offer: a peer may echo bits that it does not know.
 */
#define MPA_FLAGS_LARGE		0x0300
static const u16 mpa_large[] = {
	[MPA_REQUEST] = 0x0100,
	[MPA_REPLY] = 0x0200,
};

/* the two be16 of the enhanced data (RFC 6581 9) */
#define MPA_IRD_A		0x8000	/* peer-to-peer */
#define MPA_IRD_B		0x4000	/* Send RTR */
#define MPA_ORD_C		0x8000	/* Write RTR */
#define MPA_ORD_D		0x4000	/* Read RTR */

#define MPA_MAX_REV		2

static const char mpa_keys[][MPA_KEY_LEN + 1] = {
	[MPA_REQUEST] = "MPA ID Req Frame",
	[MPA_REPLY] = "MPA ID Rep Frame",
};

/**
 * mpa_mulpdu - largest ULPDU that goes into one TCP segment
 * @emss: effective maximum segment size, bytes; any value
 * @markers: the sender inserts markers
 *
 * RFC 5044 4.5 (M-SIZ-1, M-SIZ-2, M-DDP-2). The floor may exceed what fits
 * into a tiny segment: an attacker that shrinks the path MTU cannot shrink
 * FPDUs. Context: any.
 *
 * Return: bytes, MPA_MIN_MULPDU to MPA_MAX_ULPDU.
 */
u32 mpa_mulpdu(u32 emss, bool markers)
{
	u32 overhead = MPA_LEN_FIELD + MPA_CRC_LEN + emss % 4;

	if (markers)
		overhead += 4 * (emss / MPA_MARKER_INTERVAL +
				 !!(emss % MPA_MARKER_INTERVAL));
	if (emss < overhead + MPA_MIN_MULPDU)
		return MPA_MIN_MULPDU;
	return min_t(u32, emss - overhead, MPA_MAX_ULPDU);
}

/* Bytes of an FPDU that come before the first marker in it */
static u32 marker_first(u32 phase)
{
	return -phase % MPA_MARKER_INTERVAL;
}

/**
 * mpa_marker_count - count the markers that belong to an FPDU
 * @phase: where it begins, 0 to MPA_MARKER_INTERVAL - 4, a multiple of 4
 * @len: its bytes without markers and CRC, more than 0
 *
 * A marker that is due before the length field belongs to the FPDU (M-MRK-5),
 * and so does a marker between PAD and CRC (M-MRK-7). Context: any. Return: their number.
 */
u32 mpa_marker_count(u32 phase, u32 len)
{
	u32 first = marker_first(phase);

	if (len < first)
		return 0;
	return (len - first) / (MPA_MARKER_INTERVAL - MPA_MARKER_LEN) + 1;
}

/**
 * mpa_marker_insert - put markers into an FPDU
 * @fpdu: the FPDU without its CRC; room for MPA_MARKER_LEN more bytes for
 *	  each of its markers
 * @len: its bytes, a multiple of 4
 * @phase: where it begins
 *
 * RFC 5044 4.3 (M-MRK-1 to M-MRK-7). The function works from the end to the
 * start, so that it moves each byte once and in place. Context: any.
 *
 * Return: bytes with the markers.
 */
u32 mpa_marker_insert(u8 *fpdu, u32 len, u32 phase)
{
	u32 first = marker_first(phase);
	u32 count = mpa_marker_count(phase, len);
	u32 end = len;
	u32 i;

	for (i = count; i--;) {
		/* bytes of the FPDU before the marker, and the marker's place */
		u32 before = first + i * (MPA_MARKER_INTERVAL - MPA_MARKER_LEN);
		u32 at = before + i * MPA_MARKER_LEN;
		/* counted from the length field, which may be behind the first marker */
		u32 ptr = first || !i ? at : at - MPA_MARKER_LEN;

		memmove(fpdu + at + MPA_MARKER_LEN, fpdu + before, end - before);
		put_unaligned_be16(0, fpdu + at);
		put_unaligned_be16(ptr, fpdu + at + 2);
		end = before;
	}
	return len + count * MPA_MARKER_LEN;
}

/**
 * mpa_marker_remove - take the markers out of an FPDU that was received
 * @fpdu: the FPDU as it came; if a marker precedes its length field, from that marker on
 * @len: its bytes with markers and CRC
 * @phase: where it begins
 * @good: set to whether each marker points to the start of the FPDU
 *
 * RFC 5044 4.3, the reverse of mpa_marker_insert(). Context: any.
 *
 * Return: bytes that are left.
 */
u32 mpa_marker_remove(u8 *fpdu, u32 len, u32 phase, bool *good)
{
	u32 from = marker_first(phase), to = min(from, len), markers = 0, n;

	*good = true;
	while (from + MPA_MARKER_LEN <= len) {
		*good &= mpa_marker_good(fpdu + from, to, markers);
		markers += to != 0;
		from += MPA_MARKER_LEN;
		n = min(len - from, (u32)(MPA_MARKER_INTERVAL - MPA_MARKER_LEN));
		memmove(fpdu + to, fpdu + from, n);
		from += n;
		to += n;
	}
	return to;
}

/**
 * mpa_fpdu_seal - make an FPDU of a ULPDU that is in place
 * @fpdu: ULPDU from byte MPA_LEN_FIELD on; mpa_fpdu_room() bytes of room
 * @ulpdu_len: bytes of the ULPDU, at most MPA_MAX_ULPDU
 * @crc: compute the CRC; else the field is 0
 * @phase: where it begins in the stream, set to where the next one does, if
 *	   there are markers; else NULL
 *
 * RFC 5044 4.1 to 4.4. Context: any.
 *
 * Return: bytes of the FPDU.
 */
u32 mpa_fpdu_seal(u8 *fpdu, u32 ulpdu_len, bool crc, u32 *phase)
{
	u32 len = MPA_LEN_FIELD + ulpdu_len;
	u32 pad = mpa_pad(ulpdu_len);
	u32 value = 0;

	put_unaligned_be16(ulpdu_len, fpdu);
	memset(fpdu + len, 0, pad);
	len += pad;
	if (phase) {
		len = mpa_marker_insert(fpdu, len, *phase);
		*phase = (*phase + len + MPA_CRC_LEN) % MPA_MARKER_INTERVAL;
	}
	if (crc)
		value = mpa_crc_final(mpa_crc_add(mpa_crc_start(), fpdu, len));
	put_unaligned_le32(value, fpdu + len);
	return len + MPA_CRC_LEN;
}

/**
 * mpa_hello_encode - write a Request or Reply up to the ULP's private data
 * @buf: room for MPA_HELLO_LEN + MPA_ENH_LEN bytes
 * @role: which frame it is; R goes into a Reply only
 * @hello: what to write; @hello->pd_len counts the enhanced data
 *
 * RFC 5044 7.1.1, RFC 6581 9. Reserved bits are zero but for mpa_large; without A, so
 * are B, C and D. The caller appends the ULP's private data. Context: any.
 *
 * Return: bytes written, MPA_HELLO_LEN or MPA_HELLO_LEN + MPA_ENH_LEN.
 */
u32 mpa_hello_encode(u8 *buf, enum mpa_role role, const struct mpa_hello *hello)
{
	u8 rtr = hello->p2p ? hello->rtr : 0;
	u16 flags = hello->rev;
	u16 word;

	flags |= hello->markers ? MPA_FLAG_M : 0;
	flags |= hello->crc ? MPA_FLAG_C : 0;
	flags |= hello->reject && role == MPA_REPLY ? MPA_FLAG_R : 0;
	flags |= hello->enhanced ? MPA_FLAG_S : 0;
	flags |= hello->large ? mpa_large[role] : 0;

	memcpy(buf, mpa_keys[role], MPA_KEY_LEN);
	put_unaligned_be16(flags, buf + MPA_KEY_LEN);
	put_unaligned_be16(hello->pd_len, buf + MPA_KEY_LEN + 2);
	if (!hello->enhanced)
		return MPA_HELLO_LEN;

	word = hello->ird & MPA_NO_NEGOTIATION;
	word |= hello->p2p ? MPA_IRD_A : 0;
	word |= rtr & MPA_RTR_SEND ? MPA_IRD_B : 0;
	put_unaligned_be16(word, buf + MPA_HELLO_LEN);

	word = hello->ord & MPA_NO_NEGOTIATION;
	word |= rtr & MPA_RTR_WRITE ? MPA_ORD_C : 0;
	word |= rtr & MPA_RTR_READ ? MPA_ORD_D : 0;
	put_unaligned_be16(word, buf + MPA_HELLO_LEN + 2);
	return MPA_HELLO_LEN + MPA_ENH_LEN;
}

/**
 * mpa_hello_decode - read and check the fixed part of a Request or Reply
 * @buf: MPA_HELLO_LEN bytes
 * @role: which frame is expected
 * @hello: filled, also if the result is not MPA_OK
 *
 * RFC 5044 7.1.1. Reserved bits are not checked, but see mpa_large, nor is R in a Request. S is
 * a reserved bit before revision 2. If @hello->enhanced comes out set,
 * MPA_ENH_LEN bytes follow for mpa_enhanced_decode(). Context: any.
 *
 * Return: MPA_OK, MPA_BAD_KEY, MPA_BAD_REV or MPA_BAD_PD_LEN, the first that
 * applies.
 */
enum mpa_status mpa_hello_decode(const u8 *buf, enum mpa_role role,
				 struct mpa_hello *hello)
{
	u16 flags = get_unaligned_be16(buf + MPA_KEY_LEN);

	memset(hello, 0, sizeof(*hello));
	hello->rev = flags & MPA_REV;
	hello->markers = flags & MPA_FLAG_M;
	hello->crc = flags & MPA_FLAG_C;
	hello->reject = role == MPA_REPLY && (flags & MPA_FLAG_R);
	hello->enhanced = hello->rev >= 2 && (flags & MPA_FLAG_S);
	hello->large = (flags & MPA_FLAGS_LARGE) == mpa_large[role];
	hello->pd_len = get_unaligned_be16(buf + MPA_KEY_LEN + 2);
	hello->ird = MPA_NO_NEGOTIATION;
	hello->ord = MPA_NO_NEGOTIATION;

	if (memcmp(buf, mpa_keys[role], MPA_KEY_LEN))
		return MPA_BAD_KEY;
	if (!hello->rev || hello->rev > MPA_MAX_REV)
		return MPA_BAD_REV;
	if (hello->pd_len > MPA_MAX_PD ||
	    (hello->enhanced && hello->pd_len < MPA_ENH_LEN))
		return MPA_BAD_PD_LEN;
	return MPA_OK;
}

/**
 * mpa_enhanced_decode - read the enhanced data that follows the fixed part
 * @buf: MPA_ENH_LEN bytes
 * @hello: from mpa_hello_decode(); completed
 *
 * RFC 6581 9. Without A, the flags B, C and D are ignored (V2-13).
 * Context: any.
 *
 * Return: MPA_OK, or MPA_BAD_ENHANCED if the frame has no enhanced data.
 */
enum mpa_status mpa_enhanced_decode(const u8 *buf, struct mpa_hello *hello)
{
	u16 ird = get_unaligned_be16(buf);
	u16 ord = get_unaligned_be16(buf + 2);

	if (!hello->enhanced)
		return MPA_BAD_ENHANCED;

	hello->ird = ird & MPA_NO_NEGOTIATION;
	hello->ord = ord & MPA_NO_NEGOTIATION;
	hello->p2p = ird & MPA_IRD_A;
	hello->rtr = 0;
	if (hello->p2p) {
		hello->rtr |= ird & MPA_IRD_B ? MPA_RTR_SEND : 0;
		hello->rtr |= ord & MPA_ORD_C ? MPA_RTR_WRITE : 0;
		hello->rtr |= ord & MPA_ORD_D ? MPA_RTR_READ : 0;
	}
	return MPA_OK;
}

/* Bytes of private data of a frame whose ULP part has @pd_len */
static u16 mpa_pd_len(bool enhanced, u16 pd_len)
{
	return pd_len + (enhanced ? MPA_ENH_LEN : 0);
}

/**
 * mpa_request_init - make the Request of an initiator
 * @req: filled
 * @policy: this end's policy
 * @rev: revision to try, 1 or 2; capped by @policy
 * @ird: inbound reads the ULP wants, or MPA_NO_NEGOTIATION
 * @ord: outbound reads the ULP wants, or MPA_NO_NEGOTIATION
 * @pd_len: bytes of the ULP's private data; the caller has checked that they
 *	    fit (MPA_MAX_PD, or MPA_ENH_LEN less if @req comes out enhanced)
 *
 * RFC 5044 7.1.1, RFC 6581 9. Revision 2 carries the enhanced data always,
 * revision 1 never (V2-18). @ird and @ord are capped by @policy and kept in
 * @req even if they do not travel: mpa_conclude() takes them from @req.
 * Context: any.
 */
void mpa_request_init(struct mpa_hello *req, const struct mpa_policy *policy,
		      u8 rev, u16 ird, u16 ord, u16 pd_len)
{
	memset(req, 0, sizeof(*req));
	req->rev = min(rev, policy->rev);
	req->enhanced = req->rev >= 2;
	req->markers = policy->rx_markers;
	req->crc = policy->crc != MPA_CRC_OFF;
	req->large = policy->large;
	req->pd_len = mpa_pd_len(req->enhanced, pd_len);
	req->p2p = req->enhanced && policy->p2p;
	req->rtr = req->p2p ? policy->rtr : 0;
	req->ird = ird == MPA_NO_NEGOTIATION ? ird : min(ird, policy->max_ird);
	req->ord = ord == MPA_NO_NEGOTIATION ? ord : min(ord, policy->max_ord);
}

/**
 * mpa_respond - the responder's side of an accepted connection
 * @policy: this end's policy; its max_ird and max_ord below MPA_NO_NEGOTIATION
 * @req: the decoded Request
 * @ird: inbound reads the ULP wants
 * @ord: outbound reads the ULP wants
 * @pd_len: bytes of the ULP's private data
 * @reply: filled: the Reply to send
 * @result: filled: settings of the connection; @result->rtr is the set of RTR
 *	    kinds the initiator may choose from
 *
 * The Reply has the Request's revision, S and A (V2-17, V2-14). CRC is on if
 * either end wants it (M-CRC-2). IRD and ORD, RFC 6581 9.1: never more
 * outbound reads than the initiator takes; as many inbound reads as the ULP
 * wants or, if more, the initiator wants, up to the policy's maximum. If the
 * RTR may be a Read there is room for it, or Read is not offered (V2-8).
 * RTR kinds: the common ones, or all of this end's if there is none (V2-14);
 * the initiator then ends the connection. Context: any.
 *
 * Return: MPA_OK, MPA_MARKERS_REFUSED, or MPA_BAD_PD_LEN if @pd_len is too
 * long for the Reply. If not MPA_OK, @reply and @result are not filled.
 */
enum mpa_status mpa_respond(const struct mpa_policy *policy,
			    const struct mpa_hello *req, u16 ird, u16 ord,
			    u16 pd_len, struct mpa_hello *reply,
			    struct mpa_result *result)
{
	/* V2-11: the initiator's ORD is about our IRD, and vice versa */
	bool fix_ird = req->enhanced && req->ord != MPA_NO_NEGOTIATION;
	bool fix_ord = req->enhanced && req->ird != MPA_NO_NEGOTIATION;
	bool p2p = req->enhanced && req->p2p;
	u8 rtr = p2p ? policy->rtr : 0;

	if (req->markers && !policy->tx_markers)
		return MPA_MARKERS_REFUSED;
	if (pd_len > MPA_MAX_PD - mpa_pd_len(req->enhanced, 0))
		return MPA_BAD_PD_LEN;

	ird = min(ird, policy->max_ird);
	ord = min(ord, policy->max_ord);
	if (fix_ird)
		ird = max(ird, min(req->ord, policy->max_ird));
	if (fix_ord)
		ord = min(ord, req->ird);

	if (!ird && !(fix_ird && policy->max_ird))
		rtr &= ~MPA_RTR_READ;
	if (rtr & req->rtr)
		rtr &= req->rtr;
	if (rtr & MPA_RTR_READ && !ird)
		ird = 1;

	memset(reply, 0, sizeof(*reply));
	reply->markers = policy->rx_markers;
	reply->crc = policy->crc == MPA_CRC_REQUIRED ||
		     (policy->crc == MPA_CRC_PREFERRED && req->crc);
	reply->enhanced = req->enhanced;
	reply->rev = req->rev;
	reply->pd_len = mpa_pd_len(req->enhanced, pd_len);
	reply->p2p = p2p;
	reply->rtr = rtr;
	reply->large = req->large && policy->large;
	reply->ird = fix_ird ? ird : MPA_NO_NEGOTIATION;
	reply->ord = fix_ord ? ord : MPA_NO_NEGOTIATION;

	memset(result, 0, sizeof(*result));
	result->crc = reply->crc || req->crc;
	result->tx_markers = req->markers;
	result->rx_markers = policy->rx_markers;
	result->p2p = p2p;
	result->rtr = p2p ? rtr & req->rtr : 0;
	result->ird = ird;
	result->ord = ord;
	if (reply->large)
		mpa_agree_large(result);
	return MPA_OK;
}

/**
 * mpa_reject_init - a Reply that rejects
 * @reply: filled
 * @req: the decoded Request
 * @ird: inbound reads the ULP would have given, for the initiator's ULP
 * @ord: outbound reads the ULP would have needed, for the initiator's ULP
 * @pd_len: bytes of the ULP's private data; the caller has checked that they
 *	    fit (MPA_MAX_PD, or MPA_ENH_LEN less if @req is enhanced)
 *
 * RFC 5044 7.1.2, RFC 6581 9.1 (V2-9, V2-12). Revision, S and A are the
 * Request's. No CRC and no markers are asked for: there will be no FPDU.
 * Context: any.
 */
void mpa_reject_init(struct mpa_hello *reply, const struct mpa_hello *req,
		     u16 ird, u16 ord, u16 pd_len)
{
	bool fix_ird = req->enhanced && req->ord != MPA_NO_NEGOTIATION;
	bool fix_ord = req->enhanced && req->ird != MPA_NO_NEGOTIATION;

	memset(reply, 0, sizeof(*reply));
	reply->reject = true;
	reply->enhanced = req->enhanced;
	reply->rev = req->rev;
	reply->pd_len = mpa_pd_len(req->enhanced, pd_len);
	reply->p2p = req->enhanced && req->p2p;
	reply->ird = fix_ird ? min_t(u16, ird, MPA_NO_NEGOTIATION - 1) :
			       MPA_NO_NEGOTIATION;
	reply->ord = fix_ord ? min_t(u16, ord, MPA_NO_NEGOTIATION - 1) :
			       MPA_NO_NEGOTIATION;
}

/*
 * The kind of RTR to send, out of the common ones, or 0. The policy chooses.
 * After that a Write comes first, since it costs nothing at either end. A Read
 * takes an inbound read slot of the responder and an outbound one of this end.
 * A Send may take a receive WQE if the responder reads V2-20 in another way.
 */
static u8 mpa_choose_rtr(const struct mpa_policy *policy, u8 common)
{
	int i;

	for (i = 0; i < MPA_RTR_KINDS; i++)
		if (common & policy->rtr_order[i])
			return policy->rtr_order[i];
	if (common & MPA_RTR_WRITE)
		return MPA_RTR_WRITE;
	if (common & MPA_RTR_READ)
		return MPA_RTR_READ;
	return common & MPA_RTR_SEND;
}

/**
 * mpa_conclude - settle the connection at the initiator, once the Reply has come
 * @policy: this end's policy
 * @req: the Request that was sent
 * @reply: the decoded Reply
 * @result: filled if the Reply accepts the connection: settings of the
 *	    connection. With MPA_NO_IRD and MPA_NO_RTR it serves to send the
 *	    Terminate.
 *
 * RFC 5044 7.1.2, RFC 6581 9.1 to 10. A Reply with R is a rejection whatever
 * else it says. Our ORD is at most the responder's IRD; our IRD is raised to
 * the responder's ORD if the policy allows it (V2-10). The connection model
 * must be the one asked for (V2-14). A Read as RTR needs an inbound read slot
 * at the responder; our ORD is raised to 1 for it. Context: any.
 *
 * Return: MPA_OK, or the first that applies of MPA_REJECTED, MPA_BAD_ENHANCED
 * (S is not the Request's, V2-17), MPA_BAD_REV (not the Request's),
 * MPA_MARKERS_REFUSED, MPA_NO_IRD, MPA_NO_RTR.
 */
enum mpa_status mpa_conclude(const struct mpa_policy *policy,
			     const struct mpa_hello *req,
			     const struct mpa_hello *reply,
			     struct mpa_result *result)
{
	u8 common;

	memset(result, 0, sizeof(*result));
	if (reply->reject)
		return MPA_REJECTED;
	if (reply->enhanced != req->enhanced)
		return MPA_BAD_ENHANCED;
	if (reply->rev != req->rev)
		return MPA_BAD_REV;
	if (reply->markers && !policy->tx_markers)
		return MPA_MARKERS_REFUSED;

	result->crc = req->crc || reply->crc;
	result->tx_markers = reply->markers;
	result->rx_markers = req->markers;
	result->ird = min(req->ird, policy->max_ird);
	result->ord = min(req->ord, policy->max_ord);
	if (req->large && reply->large)
		mpa_agree_large(result);
	if (!req->enhanced)
		return MPA_OK;

	if (reply->ird != MPA_NO_NEGOTIATION)
		result->ord = min(result->ord, reply->ird);
	if (reply->ord != MPA_NO_NEGOTIATION && reply->ord > result->ird) {
		if (reply->ord > policy->max_ird)
			return MPA_NO_IRD;
		result->ird = reply->ord;
	}

	if (reply->p2p != req->p2p)
		return MPA_NO_RTR;
	if (!req->p2p)
		return MPA_OK;

	common = policy->rtr & req->rtr & reply->rtr;
	if (!result->ord && (!policy->max_ord || !reply->ird ||
			     reply->ird == MPA_NO_NEGOTIATION))
		common &= ~MPA_RTR_READ;
	result->rtr = mpa_choose_rtr(policy, common);
	if (!result->rtr)
		return MPA_NO_RTR;
	if (result->rtr == MPA_RTR_READ && !result->ord)
		result->ord = 1;
	result->p2p = true;
	return MPA_OK;
}
