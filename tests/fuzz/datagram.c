// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Datagrams: opening any bytes, that sealing is the inverse of opening, and that a changed bit is
 * detected.
 *
 * Input: length, datagram; its CRC is corrected, unless the first byte says no.
 */
#include "fuzz.h"
#include "ib/datagram.h"

/* Computed here once more, over the two pieces that are sent */
static void put_crc(u8 *buf, u32 len)
{
	u32 crc = crc32c(crc32c(~0U, buf, 28), buf + 32, len - 32);

	put_unaligned_le32(~crc, buf + 28);
}

static void check_sealed(u8 *buf, u32 len, const struct dgm_hdr *hdr)
{
	u8 *copy = malloc(len);
	struct dgm_hdr again;

	memcpy(copy, buf, len);
	memset(copy, 0xee, DGM_HDR_LEN);
	dgm_seal(copy, hdr);
	FUZZ_CHECK(!memcmp(copy, buf, len));
	copy[len - 1] ^= 0x40;
	FUZZ_CHECK(!dgm_open(copy, len, &again));
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	u32 len = fuzz_u16(&in) % (DGM_HDR_LEN + DGM_MAX + 2);
	u8 *buf = fuzz_box(&in, len);
	struct dgm_hdr hdr;

	if (len >= DGM_HDR_LEN && buf[0] != 'n')
		put_crc(buf, len);
	if (dgm_open(buf, len, &hdr)) {
		FUZZ_CHECK(len == DGM_HDR_LEN + (u32)hdr.length && hdr.length <= DGM_MAX);
		FUZZ_CHECK(hdr.src_qpn < 1U << 24 && hdr.dst_qpn < 1U << 24);
		FUZZ_CHECK(!hdr.imm || hdr.flags & DGM_IMMEDIATE);
		check_sealed(buf, len, &hdr);
	}
	free(buf);
	return 0;
}
