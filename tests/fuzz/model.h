/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The verdict on a segment's header: RFC 5040 4 and 5, RFC 5041 7 and RFC 7306 3
 * to 5 over the raw octets, as a second opinion on rdmap_check_hdr().
 */
#ifndef SRNIC_FUZZ_MODEL_H
#define SRNIC_FUZZ_MODEL_H

#include "wire/rdmap.h"

static inline u32 be32(const u8 *p)
{
	return (u32)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* RFC 5040 Figure 5, RFC 7306 Figure 3, and three of srnic alone: T and queue number of an opcode */
static inline bool right_place(u8 opcode, bool tagged, u32 qn)
{
	switch (opcode) {
	case 0: case 2:
		return tagged;
	case 1: case 10:
		return !tagged && qn == 1;
	case 3: case 4: case 5: case 6: case 8: case 9: case 12: case 13:
		return !tagged && qn == 0;
	case 7:
		return !tagged && qn == 2;
	case 11: case 14:
		return !tagged && qn == 3;
	default:
		return false;
	}
}

/* @version: of the stream; 0 has eight opcodes on three queues */
static inline enum rdmap_err model_header(const u8 *h, u32 len, u32 version)
{
	bool tagged = h[0] & 0x80;
	bool last = h[0] & 0x40;
	u32 head = tagged ? 14 : 18;
	u32 qn = tagged ? 0 : be32(h + 6);
	u8 opcode = h[1] & 15;
	u32 rest = len - head;

	if (len < head)
		return RDMAP_E_FPDU_LENGTH;
	if ((h[0] & 3) != version)
		return tagged ? RDMAP_E_DDP_VERSION_TAGGED : RDMAP_E_DDP_VERSION_UNTAGGED;
	if (!tagged && qn > 2 + version)
		return RDMAP_E_QN;
	if ((u32)h[1] >> 6 != version)
		return RDMAP_E_RDMAP_VERSION;
	if (!right_place(opcode, tagged, qn) || (!version && opcode > 7))
		return RDMAP_E_OPCODE;

	switch (opcode) {
	case 1:
		if (rest != 28)
			return rest > 28 ? RDMAP_E_READ_LONG : RDMAP_E_READ_SHORT;
		break;
	case 7:
		/* control, DDP segment length, longest DDP header, longest RDMAP header */
		if (rest > 4 + 2 + 18 + 28)
			return RDMAP_E_TOO_LONG;
		if (rest < 4)
			return RDMAP_E_TERM_SHORT;
		break;
	case 8: case 9:
		if (rest != 8)
			return RDMAP_E_IMM_LENGTH;
		break;
	case 10:
		if (rest != 52)
			return RDMAP_E_IMM_LENGTH;
		break;
	case 11:
		if (rest != 12)
			return RDMAP_E_IMM_LENGTH;
		break;
	default:
		return RDMAP_OK;
	}
	return last ? RDMAP_OK : RDMAP_E_NO_L_BIT;
}

#endif
