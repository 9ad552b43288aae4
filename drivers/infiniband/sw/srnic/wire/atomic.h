/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Atomic operations (RFC 7306 5): headers, and what each does to a value.
 * Pure: no sockets, no locks, no allocation.
 */
#ifndef SRNIC_WIRE_ATOMIC_H
#define SRNIC_WIRE_ATOMIC_H

#include "wire/os.h"

/* RFC 7306 Figures 4 and 6; the text says 32 for the response, the figure is right */
#define RDMAP_ATOMIC_REQ_LEN	52
#define RDMAP_ATOMIC_RESP_LEN	12

/* Atomic Operation Codes (RFC 7306 10.1); 1 is reserved, it was Swap in drafts */
enum rdmap_aopcode {
	RDMAP_FETCH_ADD	= 0,
	RDMAP_CMP_SWAP	= 2,
};

/**
 * struct rdmap_atomic_req - Atomic Request header (RFC 7306 5.2.1)
 * @aopcode: four bits, enum rdmap_aopcode
 * @id: comes back in the response
 * @stag: region of the value
 * @to: TO of the value
 * @data: addend, or value to store
 * @mask: FetchAdd: the most significant bit of each field that is added for
 *	  itself; CmpSwap: the bits to swap in
 * @compare: CmpSwap: value to compare with
 * @compare_mask: CmpSwap: the bits that are compared
 */
struct rdmap_atomic_req {
	u8 aopcode;
	u32 id;
	u32 stag;
	u64 to;
	u64 data;
	u64 mask;
	u64 compare;
	u64 compare_mask;
};

/**
 * struct rdmap_atomic_resp - Atomic Response header (RFC 7306 5.2.2)
 * @id: of the request
 * @value: the original value
 */
struct rdmap_atomic_resp {
	u32 id;
	u64 value;
};

void rdmap_atomic_req_encode(u8 *buf, const struct rdmap_atomic_req *req);
void rdmap_atomic_req_decode(const u8 *buf, struct rdmap_atomic_req *req);
void rdmap_atomic_resp_encode(u8 *buf, const struct rdmap_atomic_resp *resp);
void rdmap_atomic_resp_decode(const u8 *buf, struct rdmap_atomic_resp *resp);
bool rdmap_atomic_known(u8 aopcode);
u64 rdmap_atomic_result(const struct rdmap_atomic_req *req, u64 value);

#endif
