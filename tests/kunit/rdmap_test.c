// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* wire/rdmap.c: opcodes, error codes, Read Request, checks of a header. */
#include <kunit/test.h>
#include "octets.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

#define M	0x8000
#define D	0x4000
#define R	0x2000

/* Opcodes (RFC 5040 Figures 4 and 5, RFC 7306 Figures 2 and 3) */

static void opcode_table(struct kunit *test)
{
	static const struct rdmap_op want[16] = {
		/* valid, tagged, qn, inval, imm, solicited, hdr_len, payload */
		{ true, true, 0, false, false, false, 0, true },	/* Write */
		{ true, false, 1, false, false, false, 28, false },	/* Read Request */
		{ true, true, 0, false, false, false, 0, true },	/* Read Response */
		{ true, false, 0, false, false, false, 0, true },	/* Send */
		{ true, false, 0, true, false, false, 0, true },	/* Send with Invalidate */
		{ true, false, 0, false, false, true, 0, true },	/* Send with SE */
		{ true, false, 0, true, false, true, 0, true },	/* Send with SE and Invalidate */
		{ true, false, 2, false, false, false, 4, false },	/* Terminate */
		{ true, false, 0, false, false, false, 8, false },	/* Immediate Data */
		{ true, false, 0, false, false, true, 8, false },	/* Immediate Data with SE */
		{ true, false, 1, false, false, false, 52, false },	/* Atomic Request */
		{ true, false, 3, false, false, false, 12, false },	/* Atomic Response */
		{ true, false, 0, false, true, false, 0, true }, /* Send with immediate data */
		{ true, false, 0, false, true, true, 0, true },	/* the same with SE */
		{ true, false, 3, false, false, false, 0, true }, /* Acknowledgment */
	};
	u32 i;

	for (i = 0; i <= 0xff; i++) {
		const struct rdmap_op *got = rdmap_op(i), *row = &want[i & 15];

		KUNIT_EXPECT_EQ_MSG(test, got->valid, row->valid, "%02x", i);
		KUNIT_EXPECT_EQ_MSG(test, got->tagged, row->tagged, "%02x", i);
		KUNIT_EXPECT_EQ_MSG(test, got->qn, row->qn, "%02x", i);
		KUNIT_EXPECT_EQ_MSG(test, got->inval, row->inval, "%02x", i);
		KUNIT_EXPECT_EQ_MSG(test, got->solicited, row->solicited, "%02x", i);
		KUNIT_EXPECT_EQ_MSG(test, got->hdr_len, row->hdr_len, "%02x", i);
		KUNIT_EXPECT_EQ_MSG(test, got->payload, row->payload, "%02x", i);
		KUNIT_EXPECT_EQ_MSG(test, got->imm, row->imm, "%02x", i);
		/* those of the RDMA Consortium are the first eight */
		if (got->valid)
			KUNIT_EXPECT_EQ_MSG(test, got->since, (i & 15) > 7, "%02x", i);
	}
}

/* Errors: the rows of the requirement tables, once more */

static const struct {
	enum rdmap_err err;
	u8 layer, etype, code;
	u16 hdrct;
} errors[] = {
	{ RDMAP_E_DDP_VERSION_TAGGED,	1, 1, 0x04, M | D },		/* E-01 */
	{ RDMAP_E_DDP_VERSION_UNTAGGED,	1, 2, 0x06, M | D },		/* E-02 */
	{ RDMAP_E_QN,			1, 2, 0x01, M | D },		/* E-03 */
	{ RDMAP_E_NO_RQE,		1, 2, 0x02, M | D },		/* E-04 */
	{ RDMAP_E_IRD,			1, 2, 0x02, M | D },		/* E-05 */
	{ RDMAP_E_MSN,			1, 2, 0x03, M | D },		/* E-06 */
	{ RDMAP_E_MO,			1, 2, 0x04, M | D },		/* E-07 */
	{ RDMAP_E_TOO_LONG,		1, 2, 0x05, M | D },		/* E-08 */
	{ RDMAP_E_TAGGED_STAG,		1, 1, 0x00, M | D },		/* E-09 */
	{ RDMAP_E_TAGGED_BOUNDS,	1, 1, 0x01, M | D },		/* E-10 */
	{ RDMAP_E_TAGGED_STREAM,	1, 1, 0x02, M | D },		/* E-11 */
	{ RDMAP_E_TAGGED_WRAP,		1, 1, 0x03, M | D },		/* E-12 */
	{ RDMAP_E_TAGGED_ACCESS,	1, 1, 0x00, M | D },		/* E-13 */
	{ RDMAP_E_RDMAP_VERSION,	0, 2, 0x05, M | D },		/* E-14 */
	{ RDMAP_E_OPCODE,		0, 2, 0x06, M | D },		/* E-15 */
	{ RDMAP_E_RESP_UNEXPECTED,	0, 2, 0x06, M | D },		/* E-16 */
	{ RDMAP_E_RESP_STAG,		1, 1, 0x00, M | D },		/* E-17 */
	{ RDMAP_E_RESP_RANGE,		1, 1, 0x01, M | D },		/* E-17 */
	{ RDMAP_E_READ_STAG,		0, 1, 0x00, M | D | R },	/* E-18 */
	{ RDMAP_E_READ_BOUNDS,		0, 1, 0x01, M | D | R },	/* E-19 */
	{ RDMAP_E_READ_ACCESS,		0, 1, 0x02, M | D | R },	/* E-20 */
	{ RDMAP_E_READ_STREAM,		0, 1, 0x03, M | D | R },	/* E-21 */
	{ RDMAP_E_READ_WRAP,		0, 1, 0x04, M | D | R },	/* E-22 */
	{ RDMAP_E_READ_LONG,		1, 2, 0x05, M | D },		/* E-23 */
	{ RDMAP_E_READ_SHORT,		0, 2, 0xff, M | D },		/* E-23 */
	{ RDMAP_E_READ_REVOKED,		0, 1, 0x00, M | D | R },	/* E-24 */
	{ RDMAP_E_INV_STAG,		0, 2, 0x09, M | D },		/* E-25 */
	{ RDMAP_E_INV_STREAM,		0, 1, 0x09, M | D },		/* E-26 */
	{ RDMAP_E_INV_SHARED,		0, 1, 0x09, M | D },		/* E-27 */
	{ RDMAP_E_PLACEMENT,		0, 0, 0x00, 0 },		/* E-28 */
	{ RDMAP_E_CQ_OVERFLOW,		0, 2, 0x07, 0 },		/* E-29, AE-18 */
	{ RDMAP_E_RQ_CQ_OVERFLOW,	0, 2, 0x07, 0 },		/* E-29, AE-18 */
	{ RDMAP_E_LOCAL_WR,		0, 0, 0x00, 0 },		/* E-30, ST-21 */
	{ RDMAP_E_CRC,			2, 0, 0x02, 0 },		/* E-31 */
	{ RDMAP_E_FPDU_LENGTH,		2, 0, 0x03, 0 },		/* E-32 */
	{ RDMAP_E_LLP_LOST,		2, 0, 0x01, 0 },		/* E-33 */
	{ RDMAP_E_MPA_HELLO,		2, 0, 0x04, 0 },		/* E-34 */
	{ RDMAP_E_MPA_IRD,		2, 0, 0x06, 0 },		/* E-35 */
	{ RDMAP_E_MPA_RTR,		2, 0, 0x07, 0 },		/* E-36 */
	{ RDMAP_E_MPA_LOCAL,		2, 0, 0x05, 0 },		/* E-37 */
	{ RDMAP_E_ATOMIC_ALIGN,		0, 2, 0x07, M | D },		/* E-38 */
	{ RDMAP_E_ATOMIC_STAG,		0, 1, 0x00, M | D },		/* E-39 */
	{ RDMAP_E_ATOMIC_BOUNDS,	0, 1, 0x01, M | D },		/* E-39 */
	{ RDMAP_E_ATOMIC_ACCESS,	0, 1, 0x02, M | D },		/* E-39 */
	{ RDMAP_E_ATOMIC_STREAM,	0, 1, 0x03, M | D },		/* E-39 */
	{ RDMAP_E_ATOMIC_WRAP,		0, 1, 0x04, M | D },		/* E-39 */
	{ RDMAP_E_ATOMIC_OPCODE,	0, 2, 0x06, M | D },		/* E-40 */
	{ RDMAP_E_IMM_LENGTH,		0, 2, 0xff, M | D },		/* E-41 */
	{ RDMAP_E_BAD_CLOSE,		0, 2, 0x07, 0 },		/* ST-18, AE-14 */
	{ RDMAP_E_RQ_LOCAL,		0, 0, 0x00, 0 },		/* TC-02 */
	{ RDMAP_E_NO_L_BIT,		0, 2, 0x07, M | D },		/* AE-10 */
	{ RDMAP_E_TERM_SHORT,		0, 2, 0xff, M | D },		/* TER-6 */
	{ RDMAP_E_SRQ,			0, 2, 0x07, 0 },		/* AE-19, SR-24 */
	{ RDMAP_E_WRITE_DISABLED,	1, 1, 0x00, M | D },		/* E-13, AE-09 */
	{ RDMAP_E_READ_DISABLED,	0, 1, 0x02, M | D | R },	/* E-20, AE-09 */
	{ RDMAP_E_IRRQ_MSN,		1, 2, 0x03, M | D },		/* E-06 */
	{ RDMAP_E_INV_BOUND,		0, 1, 0x09, M | D },		/* E-27 */
	{ RDMAP_E_MARKER,		2, 0, 0x03, 0 },		/* E-32 */
	{ RDMAP_E_READ_MO,		1, 2, 0x04, M | D },		/* E-07 */
	{ RDMAP_E_RING,			0, 2, 0x07, 0 },		/* AE-19 */
};

/* RDMAC verbs Figures 23 and 24: all codes that are printed there */
static const struct {
	enum rdmap_err err;
	u16 code;
	u16 hdrct;
} rdmac_errors[] = {
	{ RDMAP_E_RQ_LOCAL,		0x0000, 0 },
	{ RDMAP_E_TOO_LONG,		0x0000, 0 },
	{ RDMAP_E_INV_STAG,		0x0100, M | D },
	{ RDMAP_E_INV_SHARED,		0x0102, M | D },
	{ RDMAP_E_INV_STREAM,		0x0103, M | D },
	{ RDMAP_E_INV_BOUND,		0x0109, M | D },
	{ RDMAP_E_LOCAL_WR,		0x0000, 0 },
	{ RDMAP_E_FPDU_LENGTH,		0x1000, 0 },
	{ RDMAP_E_CRC,			0x0202, 0 },
	{ RDMAP_E_MARKER,		0x0203, 0 },
	{ RDMAP_E_DDP_VERSION_TAGGED,	0x1206, M | D },
	{ RDMAP_E_DDP_VERSION_UNTAGGED,	0x1206, M | D },
	{ RDMAP_E_RDMAP_VERSION,	0x0205, M | D },
	{ RDMAP_E_OPCODE,		0x0206, M | D },
	{ RDMAP_E_RESP_UNEXPECTED,	0x0206, M | D },
	{ RDMAP_E_QN,			0x1201, M | D },
	{ RDMAP_E_READ_DISABLED,	0x1201, M | D },
	{ RDMAP_E_NO_L_BIT,		0x0207, M | D },
	{ RDMAP_E_TAGGED_STAG,		0x1100, M | D },
	{ RDMAP_E_RESP_STAG,		0x1100, M | D },
	{ RDMAP_E_TAGGED_BOUNDS,	0x1101, M | D },
	{ RDMAP_E_RESP_RANGE,		0x1101, M | D },
	{ RDMAP_E_TAGGED_ACCESS,	0x1102, M | D },
	{ RDMAP_E_WRITE_DISABLED,	0x1102, M | D },
	{ RDMAP_E_TAGGED_STREAM,	0x1102, M | D },
	{ RDMAP_E_TAGGED_WRAP,		0x1103, M | D },
	{ RDMAP_E_BAD_CLOSE,		0x0207, 0 },
	{ RDMAP_E_NO_RQE,		0x1202, M | D },
	{ RDMAP_E_MSN,			0x1202, M | D },
	{ RDMAP_E_READ_STAG,		0x0100, M | D | R },
	{ RDMAP_E_READ_REVOKED,		0x0100, M | D | R },
	{ RDMAP_E_READ_BOUNDS,		0x0101, M | D | R },
	{ RDMAP_E_READ_ACCESS,		0x0102, M | D | R },
	{ RDMAP_E_READ_STREAM,		0x0103, M | D | R },
	{ RDMAP_E_READ_WRAP,		0x0104, M | D | R },
	{ RDMAP_E_IRD,			0x1203, M | D },
	{ RDMAP_E_IRRQ_MSN,		0x1203, M | D },
	{ RDMAP_E_CQ_OVERFLOW,		0x0207, 0 },
	{ RDMAP_E_RQ_CQ_OVERFLOW,	0x0207, 0 },
	{ RDMAP_E_SRQ,			0x0207, 0 },
	{ RDMAP_E_RING,			0x0207, 0 },
};

static u16 code_of(const struct rdmap_error *err)
{
	return err->layer << 12 | err->etype << 8 | err->code;
}

/* In version 0 the codes of the verbs, and where these have none those of the RFCs */
static void rdmac_error_table(struct kunit *test)
{
	DECLARE_BITMAP(printed, RDMAP_ERR_COUNT) = { };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rdmac_errors); i++) {
		const struct rdmap_error *got = rdmap_error(rdmac_errors[i].err, RDMAP_RDMAC);

		KUNIT_EXPECT_EQ_MSG(test, code_of(got), rdmac_errors[i].code, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got->hdrct, rdmac_errors[i].hdrct, "row %u", i);
		set_bit(rdmac_errors[i].err, printed);
	}
	for (i = 0; i < RDMAP_ERR_COUNT; i++) {
		const struct rdmap_error *got = rdmap_error(i, RDMAP_RDMAC);
		const struct rdmap_error *ietf = rdmap_error(i, RDMAP_IETF);

		if (test_bit(i, printed))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, code_of(got), code_of(ietf), "error %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got->hdrct, ietf->hdrct, "error %u", i);
	}
}

static void error_table(struct kunit *test)
{
	u32 i;

	/* each error once */
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(errors), RDMAP_ERR_COUNT - 1);
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		const struct rdmap_error *got = rdmap_error(errors[i].err, RDMAP_IETF);

		KUNIT_EXPECT_EQ_MSG(test, errors[i].err, i + 1, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got->layer, errors[i].layer, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got->etype, errors[i].etype, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got->code, errors[i].code, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, got->hdrct, errors[i].hdrct, "row %u", i);
	}
}

/* No error, and numbers that are none: Local Catastrophic (ST-21) */
static void error_outside(struct kunit *test)
{
	static const u32 outside[] = {
		RDMAP_OK, RDMAP_ERR_COUNT, RDMAP_ERR_COUNT + 1, 0x7fffffff, 0xffffffff,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(outside); i++) {
		const struct rdmap_error *got = rdmap_error(outside[i], RDMAP_IETF);

		KUNIT_EXPECT_PTR_EQ(test, got, rdmap_error(RDMAP_OK, RDMAP_IETF));
		KUNIT_EXPECT_PTR_EQ(test, rdmap_error(outside[i], RDMAP_RDMAC),
				    rdmap_error(RDMAP_OK, RDMAP_RDMAC));
		KUNIT_EXPECT_EQ(test, got->layer, 0);
		KUNIT_EXPECT_EQ(test, got->etype, 0);
		KUNIT_EXPECT_EQ(test, got->code, 0);
		KUNIT_EXPECT_EQ(test, got->hdrct, 0);
	}
}

/* Codes that exist (RFC 5040 Figure 9, RFC 5041 7.2, RFC 5044 8, RFC 6581 8) */
static const struct {
	u8 layer, etype, code;
} registry[] = {
	{ 0, 0, 0x00 },
	{ 0, 1, 0x00 }, { 0, 1, 0x01 }, { 0, 1, 0x02 }, { 0, 1, 0x03 },
	{ 0, 1, 0x04 }, { 0, 1, 0x09 }, { 0, 1, 0xff },
	{ 0, 2, 0x05 }, { 0, 2, 0x06 }, { 0, 2, 0x07 }, { 0, 2, 0x08 },
	{ 0, 2, 0x09 }, { 0, 2, 0xff },
	{ 1, 0, 0x00 },
	{ 1, 1, 0x00 }, { 1, 1, 0x01 }, { 1, 1, 0x02 }, { 1, 1, 0x03 },
	{ 1, 1, 0x04 },
	{ 1, 2, 0x01 }, { 1, 2, 0x02 }, { 1, 2, 0x03 }, { 1, 2, 0x04 },
	{ 1, 2, 0x05 }, { 1, 2, 0x06 },
	{ 2, 0, 0x01 }, { 2, 0, 0x02 }, { 2, 0, 0x03 }, { 2, 0, 0x04 },
	{ 2, 0, 0x05 }, { 2, 0, 0x06 }, { 2, 0, 0x07 },
};

/* Each code that can be sent is registered (TRM-3) and quotes what Figure 10 allows */
static void error_registry(struct kunit *test)
{
	u32 err, i;

	for (err = 0; err < RDMAP_ERR_COUNT; err++) {
		const struct rdmap_error *got = rdmap_error(err, RDMAP_IETF);
		bool known = false;

		for (i = 0; i < ARRAY_SIZE(registry); i++)
			known |= registry[i].layer == got->layer &&
				 registry[i].etype == got->etype &&
				 registry[i].code == got->code;
		KUNIT_EXPECT_TRUE_MSG(test, known, "error %u: %u/%u/%02x", err,
				      got->layer, got->etype, got->code);

		/*
		 * DDP segment length and DDP header go together; an RDMAP header is that of a
		 * Read Request
		 */
		KUNIT_EXPECT_EQ_MSG(test, !(got->hdrct & M), !(got->hdrct & D),
				    "error %u", err);
		if (got->hdrct & R)
			KUNIT_EXPECT_TRUE_MSG(test, got->layer == 0 && got->etype == 1 &&
					      got->hdrct & D, "error %u", err);
		/* Local Catastrophic and LLP quote nothing, DDP and Protection always do */
		if (got->layer == 2 || !got->etype)
			KUNIT_EXPECT_EQ_MSG(test, got->hdrct, 0, "error %u", err);
		else if (got->layer == 1 || got->etype == 1)
			KUNIT_EXPECT_TRUE_MSG(test, got->hdrct & D, "error %u", err);
		KUNIT_EXPECT_EQ_MSG(test, got->hdrct & ~(M | D | R), 0, "error %u", err);
	}
}

/* Golden FPDUs */

#define READ_REQUEST	"a1a2a3a4 0000000000001000 00002000 b1b2b3b4 00007f0000001000 "
#define ATOMIC_1	"00000000 00000007 b1b2b3b4 0000000000001000 0000000000000005 "
#define ATOMIC_2	"0000000000000000 0000000000000000 ffffffffffffffff "

static const struct {
	const char *what;
	struct ddp_hdr hdr;
	const char *payload;
	const char *fpdu;
	enum rdmap_err check;
} golden[] = {
	{
		"Write, 4 octets",
		{ .tagged = true, .last = true, .version = 1, .ulp = 0x40,
		  .stag = 0x11223344, .to = 0x100000002 },
		"01020304",
		"0012 c140 11223344 0000000100000002 01020304 e398c573", RDMAP_OK,
	}, {
		"Write, zero length",
		{ .tagged = true, .last = true, .version = 1, .ulp = 0x40 },
		"",
		"000e c140 00000000 0000000000000000 a30572ab", RDMAP_OK,
	}, {
		"Read Request",
		{ .last = true, .version = 1, .ulp = 0x41, .qn = 1, .msn = 1 },
		READ_REQUEST,
		"002e 4141 00000000 00000001 00000001 00000000 " READ_REQUEST "6a6ffa6f",
		RDMAP_OK,
	}, {
		"Read Response, 3 octets",
		{ .tagged = true, .last = true, .version = 1, .ulp = 0x42,
		  .stag = 0xa1a2a3a4, .to = 0x1000 },
		"616263",
		"0011 c142 a1a2a3a4 0000000000001000 616263 00 04d53c20", RDMAP_OK,
	}, {
		"Send, 1 octet",
		{ .last = true, .version = 1, .ulp = 0x43, .msn = 1 },
		"5a",
		"0013 4143 00000000 00000000 00000001 00000000 5a 000000 13cd73e4",
		RDMAP_OK,
	}, {
		"Send with Invalidate, zero length",
		{ .last = true, .version = 1, .ulp = 0x44, .inv_stag = 0x55667788,
		  .msn = 2 },
		"",
		"0012 4144 55667788 00000000 00000002 00000000 9cc204ef", RDMAP_OK,
	}, {
		"Send with SE, zero length",
		{ .last = true, .version = 1, .ulp = 0x45, .msn = 3 },
		"",
		"0012 4145 00000000 00000000 00000003 00000000 331b7c71", RDMAP_OK,
	}, {
		"Send with SE and Invalidate, zero length",
		{ .last = true, .version = 1, .ulp = 0x46, .inv_stag = 0x55667788,
		  .msn = 4 },
		"",
		"0012 4146 55667788 00000000 00000004 00000000 ca1baac0", RDMAP_OK,
	}, {
		"Terminate 2/0/02",
		{ .last = true, .version = 1, .ulp = 0x47, .qn = 2, .msn = 1 },
		"20020000",
		"0016 4147 00000000 00000002 00000001 00000000 20020000 7fe42585",
		RDMAP_OK,
	}, {
		"Immediate Data",
		{ .last = true, .version = 1, .ulp = 0x48, .msn = 1 },
		"0102030405060708",
		"001a 4148 00000000 00000000 00000001 00000000 0102030405060708 06c22805",
		RDMAP_OK,
	}, {
		"Atomic Request",
		{ .last = true, .version = 1, .ulp = 0x4a, .qn = 1, .msn = 1 },
		ATOMIC_1 ATOMIC_2,
		"0046 414a 00000000 00000001 00000001 00000000 " ATOMIC_1 ATOMIC_2 "606cbceb",
		RDMAP_OK,
	}, {
		"Atomic Response",
		{ .last = true, .version = 1, .ulp = 0x4b, .qn = 3, .msn = 1 },
		"00000007 000000000000002a",
		"001e 414b 00000000 00000003 00000001 00000000 00000007 000000000000002a 4d18fffb",
		RDMAP_OK,
	}, {
		"Write of version 0",
		{ .tagged = true, .last = true, .ulp = 0x00, .stag = 0x11223344,
		  .to = 0x100000002 },
		"01020304",
		"0012 c000 11223344 0000000100000002 01020304 cfa2d9c2",
		RDMAP_E_DDP_VERSION_TAGGED,
	}, {
		"Read Request of version 0",
		{ .last = true, .ulp = 0x01, .qn = 1, .msn = 1 },
		READ_REQUEST,
		"002e 4001 00000000 00000001 00000001 00000000 " READ_REQUEST "4f6173f4",
		RDMAP_E_DDP_VERSION_UNTAGGED,
	}, {
		"Read Response of version 0",
		{ .tagged = true, .last = true, .ulp = 0x02, .stag = 0xa1a2a3a4, .to = 0x1000 },
		"616263",
		"0011 c002 a1a2a3a4 0000000000001000 616263 00 28ef2091",
		RDMAP_E_DDP_VERSION_TAGGED,
	}, {
		"Send of version 0",
		{ .last = true, .ulp = 0x03, .msn = 1 },
		"5a",
		"0013 4003 00000000 00000000 00000001 00000000 5a 000000 f4c3cdf4",
		RDMAP_E_DDP_VERSION_UNTAGGED,
	}, {
		"Send with SE and Invalidate of version 0",
		{ .last = true, .ulp = 0x06, .inv_stag = 0x55667788, .msn = 4 },
		"",
		"0012 4006 55667788 00000000 00000004 00000000 e621b671",
		RDMAP_E_DDP_VERSION_UNTAGGED,
	}, {
		"Terminate 0x0202 of version 0",
		{ .last = true, .ulp = 0x07, .qn = 2, .msn = 1 },
		"02020000",
		"0016 4007 00000000 00000002 00000001 00000000 02020000 92ddd9fd",
		RDMAP_E_DDP_VERSION_UNTAGGED,
	},
};

static void golden_encode(struct kunit *test)
{
	struct octets *ulpdu = kunit_kzalloc(test, sizeof(*ulpdu), GFP_KERNEL);
	struct octets *fpdu = kunit_kzalloc(test, sizeof(*fpdu), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, ulpdu);
	KUNIT_ASSERT_NOT_NULL(test, fpdu);
	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		ulpdu->len = ddp_encode(ulpdu->at, &golden[i].hdr);
		octets_add_hex(test, ulpdu, golden[i].payload);
		octets_fpdu(test, fpdu, ulpdu);
		octets_expect(test, golden[i].what, fpdu->at, fpdu->len, golden[i].fpdu);
		KUNIT_EXPECT_EQ_MSG(test, mpa_fpdu_len(ulpdu->len), fpdu->len, "%s",
				    golden[i].what);
	}
}

static void golden_decode(struct kunit *test)
{
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct ddp_hdr hdr;
	u32 i, len;

	KUNIT_ASSERT_NOT_NULL(test, o);
	for (i = 0; i < ARRAY_SIZE(golden); i++) {
		octets_from_hex(test, o, golden[i].fpdu);
		len = get_unaligned_be16(o->at);
		KUNIT_EXPECT_EQ_MSG(test, mpa_fpdu_len(len), o->len, "%s", golden[i].what);
		KUNIT_EXPECT_EQ_MSG(test, get_unaligned_le32(o->at + o->len - 4),
				    mpa_crc_final(mpa_crc_add(mpa_crc_start(), o->at,
							      o->len - 4)),
				    "%s", golden[i].what);
		ddp_decode(o->at + 2, &hdr);
		KUNIT_EXPECT_EQ_MSG(test, rdmap_check_hdr(&hdr, len, RDMAP_IETF), golden[i].check,
				    "%s", golden[i].what);
		if (!golden[i].hdr.version)
			KUNIT_EXPECT_EQ_MSG(test, rdmap_check_hdr(&hdr, len, RDMAP_RDMAC),
					    RDMAP_OK, "%s", golden[i].what);
	}
}

static void read_req_golden(struct kunit *test)
{
	static const struct rdmap_read_req req = {
		.sink_stag = 0xa1a2a3a4, .sink_to = 0x1000, .size = 0x2000,
		.src_stag = 0xb1b2b3b4, .src_to = 0x7f0000001000,
	};
	struct octets *o = kunit_kzalloc(test, sizeof(*o), GFP_KERNEL);
	struct rdmap_read_req got;
	u8 buf[29] = { };

	KUNIT_ASSERT_NOT_NULL(test, o);
	buf[28] = 0xa5;
	rdmap_read_req_encode(buf, &req);
	octets_expect(test, "header", buf, 28, READ_REQUEST);
	KUNIT_EXPECT_EQ(test, buf[28], 0xa5);

	octets_from_hex(test, o, READ_REQUEST);
	rdmap_read_req_decode(o->at, &got);
	KUNIT_EXPECT_EQ(test, got.sink_stag, req.sink_stag);
	KUNIT_EXPECT_EQ(test, got.sink_to, req.sink_to);
	KUNIT_EXPECT_EQ(test, got.size, req.size);
	KUNIT_EXPECT_EQ(test, got.src_stag, req.src_stag);
	KUNIT_EXPECT_EQ(test, got.src_to, req.src_to);
}

static void read_req_round_trip(struct kunit *test)
{
	u32 seed = 5040, i, j;
	u8 in[28], out[28];
	struct rdmap_read_req req;

	for (i = 0; i < 10000; i++) {
		for (j = 0; j < sizeof(in); j++)
			in[j] = octets_random(&seed);
		rdmap_read_req_decode(in, &req);
		rdmap_read_req_encode(out, &req);
		if (memcmp(in, out, sizeof(in)))
			KUNIT_FAIL(test, "round %u", i);
	}
}

/* rdmap_check_hdr() */

/* The properties of opcodes 0 to 14, written once more for the test */
static bool opcode_on_queue(u32 opcode, bool tagged, u32 qn)
{
	switch (opcode) {
	case 0:
	case 2:
		return tagged;
	case 1:
	case 10:
		return !tagged && qn == 1;
	case 3:
	case 4:
	case 5:
	case 6:
	case 8:
	case 9:
	case 12:
	case 13:
		return !tagged && qn == 0;
	case 7:
		return !tagged && qn == 2;
	case 11:
	case 14:
		return !tagged && qn == 3;
	}
	return false;
}

/* A valid ULPDU_Length for the opcode, if it has one */
static u32 good_length(u32 opcode)
{
	switch (opcode) {
	case 8:
	case 9:
		return 18 + 8;
	case 10:
		return 18 + 52;
	case 11:
		return 18 + 12;
	}
	return 46;
}

/* Each RDMAP control octet, DDP version, T and QN, with a valid length, on a stream of @version */
static void check_headers_on(struct kunit *test, enum rdmap_version version)
{
	static const u32 qns[] = { 0, 1, 2, 3, 4, 0x100, 0x10000, 0x80000000, 0xffffffff };
	u32 last_qn = version ? 3 : 2, last_opcode = version ? 15 : 7;
	u32 ulp, dv, q, tagged;

	for (tagged = 0; tagged < 2; tagged++) {
		for (dv = 0; dv < 4; dv++) {
			for (ulp = 0; ulp <= 0xff; ulp++) {
				for (q = 0; q < ARRAY_SIZE(qns); q++) {
					struct ddp_hdr hdr = {
						.tagged = tagged, .last = true,
						.version = dv, .ulp = ulp,
						.qn = qns[q], .inv_stag = 0xdeadbeef,
					};
					enum rdmap_err want, got;

					if (dv != version)
						want = tagged ? RDMAP_E_DDP_VERSION_TAGGED :
								RDMAP_E_DDP_VERSION_UNTAGGED;
					else if (!tagged && qns[q] > last_qn)
						want = RDMAP_E_QN;
					else if (ulp >> 6 != version)
						want = RDMAP_E_RDMAP_VERSION;
					else if ((ulp & 15) > last_opcode ||
						 !opcode_on_queue(ulp & 15, tagged, qns[q]))
						want = RDMAP_E_OPCODE;
					else
						want = RDMAP_OK;
					got = rdmap_check_hdr(&hdr, good_length(ulp & 15), version);
					if (got != want)
						KUNIT_FAIL(test, "%u: %u DV %u %02x QN %u: %u, not %u",
							   version, tagged, dv, ulp, qns[q],
							   got, want);
				}
			}
		}
	}
}

static void check_header(struct kunit *test)
{
	check_headers_on(test, RDMAP_IETF);
	check_headers_on(test, RDMAP_RDMAC);
}

/* Reserved bits of the control octet are ignored (CTL-7), so is Invalidate STag (CTL-8) */
static void check_ignores(struct kunit *test)
{
	struct ddp_hdr hdr = {
		.last = true, .version = 1, .ulp = 0x73, .inv_stag = 0xdeadbeef, .msn = 1,
	};

	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 18, RDMAP_IETF), RDMAP_OK);
	hdr.ulp = 0x53;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 18, RDMAP_IETF), RDMAP_OK);
	hdr.ulp = 0x63;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 18, RDMAP_IETF), RDMAP_OK);
}

static enum rdmap_err want_length(u32 opcode, u32 len)
{
	u32 hdr = opcode == 0 || opcode == 2 ? 14 : 18;

	if (len < hdr)
		return RDMAP_E_FPDU_LENGTH;
	if (opcode == 1)
		return len == 46 ? RDMAP_OK :
		       len < 46 ? RDMAP_E_READ_SHORT : RDMAP_E_READ_LONG;
	if (opcode == 7)
		return len < 22 ? RDMAP_E_TERM_SHORT :
		       len > 18 + 52 ? RDMAP_E_TOO_LONG : RDMAP_OK;
	if (opcode >= 8)
		return len == good_length(opcode) ? RDMAP_OK : RDMAP_E_IMM_LENGTH;
	return RDMAP_OK;
}

/* Each opcode with each ULPDU_Length (E-23, E-32, E-41) */
static void check_length(struct kunit *test)
{
	static const u8 queue[] = { 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 3 };
	u32 opcode, len;

	for (opcode = 0; opcode < 12; opcode++) {
		struct ddp_hdr hdr = {
			.tagged = opcode == 0 || opcode == 2, .last = true, .version = 1,
			.ulp = 0x40 | opcode, .qn = queue[opcode], .msn = 1,
		};

		for (len = 0; len <= 65535; len++) {
			enum rdmap_err got = rdmap_check_hdr(&hdr, len, RDMAP_IETF);

			if (got != want_length(opcode, len))
				KUNIT_FAIL(test, "opcode %u, %u octets: %u, not %u",
					   opcode, len, got, want_length(opcode, len));
		}
		KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 0xffffffff, RDMAP_IETF),
				want_length(opcode, 0xffffffff));
	}
}

/* A missing L is an error where a message is one segment (AE-10), and only there */
static void check_last(struct kunit *test)
{
	static const u8 queue[] = { 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 3 };
	u32 opcode;

	for (opcode = 0; opcode < 12; opcode++) {
		struct ddp_hdr hdr = {
			.tagged = opcode == 0 || opcode == 2, .version = 1,
			.ulp = 0x40 | opcode, .qn = queue[opcode], .msn = 1,
		};

		KUNIT_EXPECT_EQ_MSG(test, rdmap_check_hdr(&hdr, good_length(opcode), RDMAP_IETF),
				    opcode == 1 || opcode >= 7 ? RDMAP_E_NO_L_BIT : RDMAP_OK,
				    "opcode %u", opcode);
	}
}

/* A header with all errors at once, which are then corrected one by one */
static void check_precedence(struct kunit *test)
{
	struct ddp_hdr hdr = { .version = 2, .ulp = 0x8f, .qn = 9 };

	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 17, RDMAP_IETF), RDMAP_E_FPDU_LENGTH);
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 18, RDMAP_IETF), RDMAP_E_DDP_VERSION_UNTAGGED);
	hdr.version = 1;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 18, RDMAP_IETF), RDMAP_E_QN);
	hdr.qn = 1;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 18, RDMAP_IETF), RDMAP_E_RDMAP_VERSION);
	hdr.ulp = 0x4f;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 18, RDMAP_IETF), RDMAP_E_OPCODE);
	hdr.ulp = 0x41;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 18, RDMAP_IETF), RDMAP_E_READ_SHORT);
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 47, RDMAP_IETF), RDMAP_E_READ_LONG);
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 46, RDMAP_IETF), RDMAP_E_NO_L_BIT);
	hdr.last = true;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 46, RDMAP_IETF), RDMAP_OK);

	hdr.tagged = true;
	hdr.version = 0;
	hdr.ulp = 0x8f;
	hdr.last = false;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 13, RDMAP_IETF), RDMAP_E_FPDU_LENGTH);
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 14, RDMAP_IETF), RDMAP_E_DDP_VERSION_TAGGED);
	hdr.version = 1;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 14, RDMAP_IETF), RDMAP_E_RDMAP_VERSION);
	hdr.ulp = 0x43;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 14, RDMAP_IETF), RDMAP_E_OPCODE);
	hdr.ulp = 0x40;
	KUNIT_EXPECT_EQ(test, rdmap_check_hdr(&hdr, 14, RDMAP_IETF), RDMAP_OK);
}

static struct kunit_case rdmap_cases[] = {
	KUNIT_CASE(opcode_table),
	KUNIT_CASE(error_table),
	KUNIT_CASE(rdmac_error_table),
	KUNIT_CASE(error_outside),
	KUNIT_CASE(error_registry),
	KUNIT_CASE(golden_encode),
	KUNIT_CASE(golden_decode),
	KUNIT_CASE(read_req_golden),
	KUNIT_CASE(read_req_round_trip),
	KUNIT_CASE(check_header),
	KUNIT_CASE(check_ignores),
	KUNIT_CASE(check_length),
	KUNIT_CASE(check_last),
	KUNIT_CASE(check_precedence),
	{}
};

static struct kunit_suite rdmap_suite = {
	.name = "srnic-rdmap",
	.test_cases = rdmap_cases,
};

kunit_test_suite(rdmap_suite);
