// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* DDP segment headers (RFC 5041 4). */
#include "wire/ddp.h"

/**
 * ddp_encode - write a DDP header
 * @buf: room for DDP_MAX_HDR bytes; DDP_TAGGED_LEN do for a tagged header
 * @hdr: what to write, @hdr->version included
 *
 * RFC 5041 4.2, 4.3. Reserved bits are zero (D-CTL-5). Context: any.
 *
 * Return: bytes written, ddp_hdr_len(@hdr->tagged).
 */
u32 ddp_encode(u8 *buf, const struct ddp_hdr *hdr)
{
	buf[0] = (hdr->tagged ? DDP_T : 0) | (hdr->last ? DDP_L : 0) |
		 (hdr->version & DDP_DV);
	buf[1] = hdr->ulp;
	if (hdr->tagged) {
		put_unaligned_be32(hdr->stag, buf + 2);
		put_unaligned_be64(hdr->to, buf + 6);
	} else {
		put_unaligned_be32(hdr->inv_stag, buf + 2);
		put_unaligned_be32(hdr->qn, buf + 6);
		put_unaligned_be32(hdr->msn, buf + 10);
		put_unaligned_be32(hdr->mo, buf + 14);
	}
	return ddp_hdr_len(hdr->tagged);
}

/**
 * ddp_decode - read a DDP header
 * @buf: ddp_hdr_len(@buf[0] & DDP_T) bytes
 * @hdr: filled; the fields of the other kind of header are zero
 *
 * RFC 5041 4.2, 4.3. Nothing is checked here (see rdmap_check_hdr());
 * reserved bits never are (D-CTL-5). Context: any.
 *
 * Return: bytes read, DDP_TAGGED_LEN or DDP_UNTAGGED_LEN.
 */
u32 ddp_decode(const u8 *buf, struct ddp_hdr *hdr)
{
	memset(hdr, 0, sizeof(*hdr));
	hdr->tagged = buf[0] & DDP_T;
	hdr->last = buf[0] & DDP_L;
	hdr->version = buf[0] & DDP_DV;
	hdr->ulp = buf[1];
	if (hdr->tagged) {
		hdr->stag = get_unaligned_be32(buf + 2);
		hdr->to = get_unaligned_be64(buf + 6);
	} else {
		hdr->inv_stag = get_unaligned_be32(buf + 2);
		hdr->qn = get_unaligned_be32(buf + 6);
		hdr->msn = get_unaligned_be32(buf + 10);
		hdr->mo = get_unaligned_be32(buf + 14);
	}
	return ddp_hdr_len(hdr->tagged);
}
