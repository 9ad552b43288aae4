// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Datagrams: the header of a UD message, and its CRC. */
#include "ib/datagram.h"

/* Offsets of the fields; the message follows */
enum {
	DGM_AT_MAGIC = 0,
	DGM_AT_VERSION = 4,
	DGM_AT_FLAGS = 5,
	DGM_AT_LENGTH = 6,
	DGM_AT_SRC_QPN = 8,
	DGM_AT_DST_QPN = 12,
	DGM_AT_QKEY = 16,
	DGM_AT_PSN = 20,
	DGM_AT_IMM = 24,
	DGM_AT_CRC = 28,
};

/* CRC32c, as MPA's, of the header before the CRC, and of the message */
static u32 dgm_crc(const u8 *buf, u32 length)
{
	u32 crc = crc32c(~0U, buf, DGM_AT_CRC);

	return ~crc32c(crc, buf + DGM_HDR_LEN, length);
}

/**
 * dgm_seal - write the header of a datagram, and its CRC
 * @buf: DGM_HDR_LEN bytes, and @hdr->length bytes of message, which are already set
 * @hdr: the header
 *
 * Context: any.
 */
void dgm_seal(u8 *buf, const struct dgm_hdr *hdr)
{
	put_unaligned_be32(DGM_MAGIC, buf + DGM_AT_MAGIC);
	buf[DGM_AT_VERSION] = DGM_VERSION;
	buf[DGM_AT_FLAGS] = hdr->flags;
	put_unaligned_be16(hdr->length, buf + DGM_AT_LENGTH);
	put_unaligned_be32(hdr->src_qpn, buf + DGM_AT_SRC_QPN);
	put_unaligned_be32(hdr->dst_qpn, buf + DGM_AT_DST_QPN);
	put_unaligned_be32(hdr->qkey, buf + DGM_AT_QKEY);
	put_unaligned_be32(hdr->psn, buf + DGM_AT_PSN);
	put_unaligned_be32(hdr->imm, buf + DGM_AT_IMM);
	put_unaligned_le32(dgm_crc(buf, hdr->length), buf + DGM_AT_CRC);
}

/**
 * dgm_open - read the header of a datagram, and check its CRC
 * @buf: @len bytes
 * @len: length of the datagram
 * @hdr: filled in
 *
 * Context: any.
 *
 * Return: false if it is invalid: another magic or version, a length that is not the
 * header's, an unknown flag, a number of more than 24 bits, immediate data without its
 * flag, or a wrong CRC.
 */
bool dgm_open(const u8 *buf, u32 len, struct dgm_hdr *hdr)
{
	if (len < DGM_HDR_LEN || get_unaligned_be32(buf + DGM_AT_MAGIC) != DGM_MAGIC ||
	    buf[DGM_AT_VERSION] != DGM_VERSION)
		return false;
	hdr->flags = buf[DGM_AT_FLAGS];
	hdr->length = get_unaligned_be16(buf + DGM_AT_LENGTH);
	hdr->src_qpn = get_unaligned_be32(buf + DGM_AT_SRC_QPN);
	hdr->dst_qpn = get_unaligned_be32(buf + DGM_AT_DST_QPN);
	hdr->qkey = get_unaligned_be32(buf + DGM_AT_QKEY);
	hdr->psn = get_unaligned_be32(buf + DGM_AT_PSN);
	hdr->imm = get_unaligned_be32(buf + DGM_AT_IMM);
	return hdr->length <= DGM_MAX && len == DGM_HDR_LEN + hdr->length &&
	       !(hdr->flags & ~DGM_FLAGS) &&
	       (hdr->flags & DGM_IMMEDIATE || !hdr->imm) &&
	       hdr->src_qpn <= DGM_NUMBER_MAX && hdr->dst_qpn <= DGM_NUMBER_MAX &&
	       hdr->psn <= DGM_NUMBER_MAX &&
	       get_unaligned_le32(buf + DGM_AT_CRC) == dgm_crc(buf, hdr->length);
}
