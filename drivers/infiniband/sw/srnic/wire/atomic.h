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
	/*
	 * srnic's own, of no RFC, valid only where both ends have offered them. They have no
	 * response: the peer acknowledges each, as it does a Write (RDMAP_ACK)
	 */
	RDMAP_FLUSH		= 14,
	RDMAP_ATOMIC_WRITE	= 15,
};

/* What a Flush asks for, and of which octets: the numbers of InfiniBand */
#define RDMAP_FLUSH_GLOBAL	1	/* each CPU and device sees them */
#define RDMAP_FLUSH_PERSISTENT	2	/* they survive a loss of power */

enum rdmap_flush_level {
	RDMAP_FLUSH_RANGE,
	RDMAP_FLUSH_REGION,		/* all of the region, whatever TO and length are */
	RDMAP_FLUSH_LEVELS,
};

/**
 * struct rdmap_atomic_req - Atomic Request header (RFC 7306 5.2.1)
 * @aopcode: four bits, enum rdmap_aopcode
 * @id: comes back in the response
 * @stag: region of the value
 * @to: TO of the value
 * @data: addend, or value to store; Flush: octets; Atomic Write: the octets, the first one the
 *	  most significant
 * @mask: FetchAdd: the most significant bit of each field that is added for
 *	  itself; CmpSwap: the bits to swap in; Flush: RDMAP_FLUSH_GLOBAL, _PERSISTENT
 * @compare: CmpSwap: value to compare with; Flush: enum rdmap_flush_level
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
bool rdmap_atomic_places(u8 aopcode);
bool rdmap_flush_known(const struct rdmap_atomic_req *req);
u64 rdmap_atomic_result(const struct rdmap_atomic_req *req, u64 value);

#endif
