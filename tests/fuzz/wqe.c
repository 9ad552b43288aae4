// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A slot of an SQ or RQ written by a user: SQEs and RQEs of any contents, for queues of any size.
 * The verdict follows the uAPI header and the RDMAC verbs, written down here once more; no octet
 * beyond the slot is read, none beyond the buffer written.
 *
 * Input: sizes of the queue, slot.
 */
#include "fuzz.h"
#include "queue/wqe.h"

_Static_assert(sizeof(struct srnic_sqe) == 64 && sizeof(struct srnic_rqe) == 16 &&
	       sizeof(struct srnic_sge) == 16, "the offsets below");

static u16 half(const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u32 word(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u64 lengths(const u8 *sges, u32 n)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < n; i++)
		sum += word(sges + 16 * i + 8);
	return sum;
}

static bool is_ud(u8 opcode)
{
	return opcode == SRNIC_OP_UD_SEND || opcode == SRNIC_OP_UD_SEND_IMM;
}

/* Octets of an SQE that its opcode uses, beside those that all opcodes use */
static bool has_use(u8 opcode, u32 at)
{
	bool places = opcode == SRNIC_OP_FLUSH || opcode == SRNIC_OP_ATOMIC_WRITE;
	bool remote = places || (opcode >= SRNIC_OP_WRITE && opcode <= SRNIC_OP_CMP_SWAP);

	if (places)		/* arg[1] and arg[2] are of a Flush */
		return at < 20 || (at >= 24 && at < (opcode == SRNIC_OP_FLUSH ? 56 : 40));
	if (at < 20)		/* rkey */
		return remote || opcode == SRNIC_OP_BIND_MW || is_ud(opcode);
	if (at < 24)		/* stag */
		return opcode == SRNIC_OP_SEND_INV || opcode == SRNIC_OP_WRITE_IMM ||
		       (opcode >= SRNIC_OP_LOCAL_INV && opcode != SRNIC_OP_UD_SEND);
	if (opcode == SRNIC_OP_SEND_IMM)
		return false;
	if (at < 32)		/* remote_addr */
		return remote;
	if (at < 40)		/* arg[0] */
		return opcode == SRNIC_OP_FETCH_ADD || opcode == SRNIC_OP_CMP_SWAP ||
		       opcode >= SRNIC_OP_BIND_MW;
	if (at < 48)		/* arg[1] */
		return opcode == SRNIC_OP_CMP_SWAP || opcode >= SRNIC_OP_BIND_MW;
	return at < 56 && opcode >= SRNIC_OP_BIND_MW && !is_ud(opcode);
}

static bool unused_clear(const u8 *s)
{
	u32 at;

	for (at = 16; at < 64; at++)
		if (s[at] && !has_use(s[8], at))
			return false;
	return !(s[9] & SRNIC_SQE_INLINE ? half(s + 10) : word(s + 12));
}

static enum srnic_wc_status model(const struct srnic_sq_caps *caps, const u8 *s, u32 *total)
{
	u8 opcode = s[8], flags = s[9];
	bool imm = opcode == SRNIC_OP_SEND_IMM;
	bool moves = imm || is_ud(opcode) || (opcode >= SRNIC_OP_SEND && opcode <= SRNIC_OP_CMP_SWAP);
	bool writes = opcode == SRNIC_OP_WRITE || opcode == SRNIC_OP_WRITE_IMM;
	bool sends = imm || is_ud(opcode) || opcode == SRNIC_OP_SEND || opcode == SRNIC_OP_SEND_INV ||
		     writes;
	bool reads = opcode == SRNIC_OP_READ || opcode == SRNIC_OP_READ_INV;
	bool atomic = opcode == SRNIC_OP_FETCH_ADD || opcode == SRNIC_OP_CMP_SWAP;
	bool names = reads || atomic || writes;
	u32 num_sge = half(s + 10), inline_len = word(s + 12), rkey = word(s + 16);
	const u8 *sges = s + 64;
	u64 octets;

	*total = 0;
	if (!opcode || opcode > SRNIC_OP_ATOMIC_WRITE)
		return SRNIC_WC_INVALID_WQE;
	if (opcode == SRNIC_OP_REG_MR && !caps->privileged)
		return SRNIC_WC_NOT_PRIVILEGED;
	if (is_ud(opcode) != caps->ud || (imm && caps->lacks & SRNIC_MSG_SEND_IMM) ||
	    (opcode > SRNIC_OP_UD_SEND_IMM && caps->lacks & SRNIC_MSG_PLACEMENT) ||
	    ((atomic || opcode == SRNIC_OP_WRITE_IMM) && caps->lacks & SRNIC_MSG_RFC7306))
		return SRNIC_WC_INVALID_WQE;
	if (flags > 15 || num_sge > (writes ? caps->max_write_sge : caps->max_sge) ||
	    (!moves && num_sge))
		return SRNIC_WC_INVALID_WQE;
	if (!unused_clear(s) || (opcode == SRNIC_OP_READ_INV && num_sge > 1) ||
	    (atomic && num_sge != 1))
		return SRNIC_WC_INVALID_WQE;
	if (flags & SRNIC_SQE_INLINE) {
		if (!sends || inline_len > caps->max_inline)
			return SRNIC_WC_INVALID_WQE;
		octets = inline_len;
	} else {
		octets = lengths(sges, num_sge);
		if (octets >= 1ULL << 32 || (atomic && octets != 8))
			return SRNIC_WC_INVALID_LENGTH;
		for (u32 i = 0; reads && i < num_sge; i++)
			if (word(sges + 16 * i + 8) && !word(sges + 16 * i + 12))
				return SRNIC_WC_INVALID_STAG;
	}
	if (octets && names && !rkey)
		return SRNIC_WC_INVALID_STAG;
	*total = octets;
	return SRNIC_WC_SUCCESS;
}

static void check_sqe(struct fuzz_in *in, const struct srnic_sq_caps *caps)
{
	u32 room = max(caps->max_sge, caps->max_write_sge) * sizeof(struct srnic_sge);
	u8 *slot, *data;
	struct srnic_sqe sqe;
	enum srnic_wc_status want, got;
	u32 total = 77, want_total;

	if (room < caps->max_inline)
		room = caps->max_inline;
	slot = fuzz_box(in, 64 + room);
	data = malloc(room);
	want = model(caps, slot, &want_total);
	got = srnic_sqe_copy(caps, slot, &sqe, data, &total);
	FUZZ_CHECK(got == want);
	FUZZ_CHECK(total == want_total);
	FUZZ_CHECK(!memcmp(&sqe, slot, sizeof(sqe)));
	if (!got) {
		if (sqe.flags & SRNIC_SQE_INLINE)
			FUZZ_CHECK(!memcmp(data, slot + 64, sqe.inline_len));
		else
			FUZZ_CHECK(!memcmp(data, slot + 64, 16 * sqe.num_sge));
	}
	free(data);
	free(slot);
}

static void check_rqe(struct fuzz_in *in, u32 max_sge)
{
	struct srnic_rwr *rwr = malloc(sizeof(*rwr) + max_sge * 16);
	u8 *slot = fuzz_box(in, 16 + max_sge * 16);
	u32 n = word(slot + 8);
	u64 octets = n <= max_sge ? lengths(slot + 16, n) : 0;
	bool good = n <= max_sge && octets < 1ULL << 32 && !word(slot + 12);

	FUZZ_CHECK(srnic_rqe_copy(rwr, slot, max_sge) == (good ? 0 : -EINVAL));
	FUZZ_CHECK(!memcmp(&rwr->wr_id, slot, 8));
	FUZZ_CHECK(rwr->num_sge == (good ? n : 0));
	FUZZ_CHECK(rwr->length == (good ? octets : 0));
	FUZZ_CHECK(!good || !memcmp(rwr->sge, slot + 16, 16 * n));
	free(slot);
	free(rwr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct srnic_sq_caps caps;
	struct fuzz_in again;
	u8 bits = fuzz_u8(&in);

	caps.privileged = bits & 1;
	caps.lacks = (bits & 2 ? 0 : SRNIC_MSG_SEND_IMM) | (bits & 8 ? SRNIC_MSG_RFC7306 : 0) |
		     (bits & 16 ? 0 : SRNIC_MSG_PLACEMENT);
	caps.ud = bits & 4;
	caps.max_sge = fuzz_u8(&in) % 33;
	caps.max_write_sge = fuzz_u8(&in) % 33;
	caps.max_inline = fuzz_u16(&in) % 513;
	again = in;
	check_sqe(&in, &caps);
	check_rqe(&again, caps.max_sge);
	return 0;
}
