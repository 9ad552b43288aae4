// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Rendezvous: private data of MPA start-up frames, and the rule for crossing attempts. */
#include "ib/rdv.h"

/* Offsets of the fields */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_CODE = 5,
	AT_OFFERS = 6,		/* and a byte that is 0 */
	AT_SRC_QPN = 8,
	AT_DST_QPN = 12,
	AT_SRC_PSN = 16,
	AT_DST_PSN = 20,
	AT_SRC_GID = 24,
	AT_DST_GID = 40,
};

/**
 * rdv_encode - write the private data of a Request or a Reply
 * @buf: RDV_LEN bytes
 * @hello: the fields
 *
 * Context: any.
 */
void rdv_encode(u8 *buf, const struct rdv_hello *hello)
{
	memset(buf, 0, RDV_LEN);
	put_unaligned_be32(RDV_MAGIC, buf + AT_MAGIC);
	buf[AT_VERSION] = RDV_VERSION;
	buf[AT_CODE] = hello->code;
	buf[AT_OFFERS] = hello->offers;
	put_unaligned_be32(hello->src_qpn, buf + AT_SRC_QPN);
	put_unaligned_be32(hello->dst_qpn, buf + AT_DST_QPN);
	put_unaligned_be32(hello->src_psn, buf + AT_SRC_PSN);
	put_unaligned_be32(hello->dst_psn, buf + AT_DST_PSN);
	memcpy(buf + AT_SRC_GID, hello->src_gid, RDV_GID_LEN);
	memcpy(buf + AT_DST_GID, hello->dst_gid, RDV_GID_LEN);
}

/**
 * rdv_decode - read the private data of a Request or a Reply
 * @buf: @len bytes
 * @len: length of the private data
 * @hello: filled in
 *
 * Context: any.
 *
 * Return: false if it is invalid: another length, magic or version, an unknown code,
 * or a number of more than 24 bits. The reserved byte is ignored.
 */
bool rdv_decode(const u8 *buf, u32 len, struct rdv_hello *hello)
{
	if (len != RDV_LEN || get_unaligned_be32(buf + AT_MAGIC) != RDV_MAGIC ||
	    buf[AT_VERSION] != RDV_VERSION)
		return false;
	hello->code = buf[AT_CODE];
	hello->offers = buf[AT_OFFERS];
	hello->src_qpn = get_unaligned_be32(buf + AT_SRC_QPN);
	hello->dst_qpn = get_unaligned_be32(buf + AT_DST_QPN);
	hello->src_psn = get_unaligned_be32(buf + AT_SRC_PSN);
	hello->dst_psn = get_unaligned_be32(buf + AT_DST_PSN);
	memcpy(hello->src_gid, buf + AT_SRC_GID, RDV_GID_LEN);
	memcpy(hello->dst_gid, buf + AT_DST_GID, RDV_GID_LEN);
	return hello->code < RDV_CODES &&
	       hello->src_qpn <= RDV_NUMBER_MAX && hello->dst_qpn <= RDV_NUMBER_MAX &&
	       hello->src_psn <= RDV_NUMBER_MAX && hello->dst_psn <= RDV_NUMBER_MAX;
}

/**
 * rdv_fits - do both ends name each other?
 * @own: this end's QPs
 * @peer: the peer's
 * @own_psn_known: @own->src_psn is set: this end is in RTS
 *
 * Context: any.
 */
bool rdv_fits(const struct rdv_hello *own, const struct rdv_hello *peer,
	      bool own_psn_known)
{
	return peer->src_qpn == own->dst_qpn && peer->dst_qpn == own->src_qpn &&
	       peer->src_psn == own->dst_psn &&
	       (!own_psn_known || peer->dst_psn == own->src_psn) &&
	       !memcmp(peer->src_gid, own->dst_gid, RDV_GID_LEN) &&
	       !memcmp(peer->dst_gid, own->src_gid, RDV_GID_LEN);
}

/**
 * rdv_own_attempt_lives - both ends connect at the same time: which attempt stays?
 * @own: this end's QPs, which differ
 *
 * As in RFC 4271 6.8: the attempt of the end with the higher address stays; if the
 * addresses are equal, that of the higher QP number. Both ends get the same result.
 * Context: any.
 *
 * Return: true if the attempt of this end stays.
 */
bool rdv_own_attempt_lives(const struct rdv_hello *own)
{
	int order = memcmp(own->src_gid, own->dst_gid, RDV_GID_LEN);

	return order ? order > 0 : own->src_qpn > own->dst_qpn;
}
