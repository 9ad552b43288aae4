// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Atomic Request and Response headers, and the two operations (RFC 7306 5). */
#include "wire/atomic.h"

#define AOPCODE_MASK	0xf	/* the other 28 bits are reserved */

/**
 * rdmap_atomic_req_encode - write an Atomic Request header
 * @buf: room for RDMAP_ATOMIC_REQ_LEN bytes
 * @req: what to write; the caller sets fields that the operation does not use
 *	 as RFC 7306 5.2.1 demands
 *
 * Context: any.
 */
void rdmap_atomic_req_encode(u8 *buf, const struct rdmap_atomic_req *req)
{
	put_unaligned_be32(req->aopcode & AOPCODE_MASK, buf);
	put_unaligned_be32(req->id, buf + 4);
	put_unaligned_be32(req->stag, buf + 8);
	put_unaligned_be64(req->to, buf + 12);
	put_unaligned_be64(req->data, buf + 20);
	put_unaligned_be64(req->mask, buf + 28);
	put_unaligned_be64(req->compare, buf + 36);
	put_unaligned_be64(req->compare_mask, buf + 44);
}

/**
 * rdmap_atomic_req_decode - read an Atomic Request header
 * @buf: RDMAP_ATOMIC_REQ_LEN bytes
 * @req: filled; nothing is checked here, reserved bits are ignored
 *
 * Context: any.
 */
void rdmap_atomic_req_decode(const u8 *buf, struct rdmap_atomic_req *req)
{
	req->aopcode = get_unaligned_be32(buf) & AOPCODE_MASK;
	req->id = get_unaligned_be32(buf + 4);
	req->stag = get_unaligned_be32(buf + 8);
	req->to = get_unaligned_be64(buf + 12);
	req->data = get_unaligned_be64(buf + 20);
	req->mask = get_unaligned_be64(buf + 28);
	req->compare = get_unaligned_be64(buf + 36);
	req->compare_mask = get_unaligned_be64(buf + 44);
}

/**
 * rdmap_atomic_resp_encode - write an Atomic Response header
 * @buf: room for RDMAP_ATOMIC_RESP_LEN bytes
 * @resp: what to write
 *
 * Context: any.
 */
void rdmap_atomic_resp_encode(u8 *buf, const struct rdmap_atomic_resp *resp)
{
	put_unaligned_be32(resp->id, buf);
	put_unaligned_be64(resp->value, buf + 4);
}

/**
 * rdmap_atomic_resp_decode - read an Atomic Response header
 * @buf: RDMAP_ATOMIC_RESP_LEN bytes
 * @resp: filled; nothing is checked here
 *
 * Context: any.
 */
void rdmap_atomic_resp_decode(const u8 *buf, struct rdmap_atomic_resp *resp)
{
	resp->id = get_unaligned_be32(buf);
	resp->value = get_unaligned_be64(buf + 4);
}

/**
 * rdmap_atomic_places - is it an operation of srnic's own?
 * @aopcode: Atomic Operation Code
 *
 * Context: any. Return: true for Flush and Atomic Write.
 */
bool rdmap_atomic_places(u8 aopcode)
{
	return aopcode == RDMAP_FLUSH || aopcode == RDMAP_ATOMIC_WRITE;
}

/**
 * rdmap_flush_known - does a Flush ask for something that exists?
 * @req: a Flush
 *
 * Context: any. Return: false if it asks for nothing, or for more than that.
 */
bool rdmap_flush_known(const struct rdmap_atomic_req *req)
{
	return req->mask && !(req->mask & ~(RDMAP_FLUSH_GLOBAL | RDMAP_FLUSH_PERSISTENT)) &&
	       req->compare < RDMAP_FLUSH_LEVELS;
}

/**
 * rdmap_atomic_known - does RFC 7306 have this operation?
 * @aopcode: Atomic Operation Code
 *
 * Context: any.
 */
bool rdmap_atomic_known(u8 aopcode)
{
	return aopcode == RDMAP_FETCH_ADD || aopcode == RDMAP_CMP_SWAP;
}

/**
 * rdmap_atomic_result - compute the result of an atomic operation
 * @req: the operation, a known one
 * @value: the original value, in host order
 *
 * FetchAdd (RFC 7306 5.1.1) adds field by field: the carry out of a bit
 * that is set in the mask is lost. The bits below the top bits are added for all
 * fields at once. The top bit of a field is the exclusive or of both top bits and of
 * the carry from below. CmpSwap (5.1.2) leaves the value if the masked bits differ.
 * Context: any.
 *
 * Return: the new value.
 */
u64 rdmap_atomic_result(const struct rdmap_atomic_req *req, u64 value)
{
	u64 top = req->mask;

	if (req->aopcode == RDMAP_FETCH_ADD)
		return ((value & ~top) + (req->data & ~top)) ^
		       ((value ^ req->data) & top);
	if ((req->compare ^ value) & req->compare_mask)
		return value;
	return (value & ~req->mask) | (req->data & req->mask);
}
