// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* atomic.c: Flush and Atomic Write, and what a peer may do with them. */
#include <kunit/test.h>
#include "compat.h"
#include "engine/atomic.h"
#include "engine/read.h"
#include "peer.h"
#include "queue/lock.h"
#include "queue/ring.h"
#include "queue/state.h"
#include "queue/wq.h"
#include "verbs/verbs.h"

#define ALL	(SRNIC_LOCAL_READ | SRNIC_LOCAL_WRITE | SRNIC_REMOTE_READ | \
		 SRNIC_REMOTE_WRITE | SRNIC_READ_SINK | SRNIC_FLUSH_GLOBAL)
#define SIZE	64
#define RKEY	0x8765
#define FLUSH	14
#define WRITE8	15
#define ULP_ATOMIC_REQ	0x4a
#define ULP_ATOMIC_RESP	0x4b
#define ULP_ACK		0x4e
/* InfiniBand's numbers */
#define GLOBAL		1
#define PERSISTENT	2
#define REGION		1

#define HDR_REQ(_msn) \
	{ .last = true, .version = 1, .ulp = ULP_ATOMIC_REQ, .qn = 1, .msn = (_msn) }
#define HDR_ACK(_msn, _number) \
	{ .last = true, .version = 1, .ulp = ULP_ACK, .qn = 3, .msn = (_msn), \
	  .inv_stag = (_number) }

struct ends {
	struct peer *p;
	u8 *mem;
	struct srnic_tpte *mr;
	u32 msn;	/* of the next request that the test sends */
	u32 ack_msn;
};

static struct ends ends_begin(struct kunit *test, bool agreed, bool by_threads)
{
	struct ends e = { .mem = kunit_kzalloc(test, SIZE, GFP_KERNEL), .msn = 1, .ack_msn = 1 };

	KUNIT_ASSERT_NOT_NULL(test, e.mem);
	e.p = peer_idle(test);
	e.p->acks = true;
	e.p->placement = agreed;
	e.p->by_threads = by_threads;
	e.p->qp->enables |= SRNIC_QP_FLUSH_ENABLED;
	peer_connect(e.p, 2, 2);
	e.mr = peer_region(e.p, e.p->pd, e.mem, SIZE, ALL);
	return e;
}

static struct ends ends_open(struct kunit *test)
{
	return ends_begin(test, true, false);
}

/* As a program posts it: kernel consumers cannot */
static void post(struct ends *e, u8 opcode, u64 wr_id, u64 to, u64 arg0, u64 arg1, u64 arg2)
{
	struct srnic_qp *qp = e->p->qp;
	struct srnic_sqe sqe = {
		.wr_id = wr_id, .opcode = opcode, .flags = SRNIC_SQE_SIGNALED, .rkey = RKEY,
		.remote_addr = to, .arg = { arg0, arg1, arg2 },
	};
	unsigned long flags;

	flags = srnic_lock(&qp->sq_lock);
	memcpy(srnic_ring_slot(&qp->sq, qp->sq_posted), &sqe, sizeof(sqe));
	/* the SQE before the index */
	smp_store_release(&qp->sq_posted, qp->sq_posted + 1);
	srnic_unlock(&qp->sq_lock, flags);
	srnic_qp_doorbell(qp);
}

static void post_flush(struct ends *e, u64 wr_id)
{
	post(e, SRNIC_OP_FLUSH, wr_id, 0x1000, 8, GLOBAL, 0);
	peer_expect(e->p, ULP_ATOMIC_REQ, 52);
}

static void say_ack(struct ends *e, u32 number)
{
	struct ddp_hdr hdr = HDR_ACK(e->ack_msn++, number);

	peer_send(e->p, &hdr, NULL, 0);
}

static void request(struct ends *e, const struct rdmap_atomic_req *req)
{
	struct ddp_hdr hdr = HDR_REQ(e->msn++);
	u8 buf[52];

	rdmap_atomic_req_encode(buf, req);
	peer_send(e->p, &hdr, buf, sizeof(buf));
}

static void flush(struct ends *e, u64 off, u64 len, u64 type, u64 level)
{
	struct rdmap_atomic_req req = {
		.aopcode = FLUSH, .stag = e->mr->stag, .to = e->mr->base + off, .data = len,
		.mask = type, .compare = level,
	};

	request(e, &req);
}

static void write8(struct ends *e, u64 off, u64 octets)
{
	struct rdmap_atomic_req req = {
		.aopcode = WRITE8, .stag = e->mr->stag, .to = e->mr->base + off, .data = octets,
	};

	request(e, &req);
}

static void write_in(struct ends *e, u64 off, const char *octets)
{
	struct ddp_hdr hdr = HDR_WRITE(e->mr->stag, e->mr->base + off);

	peer_send(e->p, &hdr, octets, strlen(octets));
}

/* All @number messages are acknowledged, and nothing else is sent */
static void expect_acked(struct ends *e, u32 number)
{
	do {
		peer_expect(e->p, ULP_ACK, 0);
	} while ((s32)(number - e->p->hdr.inv_stag) > 0);
	KUNIT_EXPECT_EQ(e->p->test, e->p->hdr.inv_stag, number);
	peer_expect_nothing(e->p);
}

/* Atomic Requests with operation codes that RFC 7306 leaves free; fields as in its Figure 4 */
static void on_the_wire(struct kunit *test)
{
	struct ends e = ends_open(test);
	u64 octets;

	memcpy(&octets, "12345678", 8);
	post(&e, SRNIC_OP_FLUSH, 1, 0x1122334455667788, 0x1000000001, GLOBAL | PERSISTENT, REGION);
	post(&e, SRNIC_OP_ATOMIC_WRITE, 2, 0x1020304050607080, octets, 0, 0);
	peer_expect(e.p, ULP_ATOMIC_REQ, 52);
	KUNIT_EXPECT_TRUE(test, e.p->asked);
	KUNIT_EXPECT_EQ(test, e.p->hdr.qn, 1);
	KUNIT_EXPECT_EQ(test, e.p->hdr.msn, 1);
	octets_expect(test, "flush", e.p->data, 52,
		      "0000000e 00000000 00008765 1122334455667788 0000001000000001 "
		      "0000000000000003 0000000000000001 0000000000000000");
	peer_expect(e.p, ULP_ATOMIC_REQ, 52);
	KUNIT_EXPECT_EQ(test, e.p->hdr.msn, 2);
	octets_expect(test, "atomic write", e.p->data, 52,
		      "0000000f 00000001 00008765 1020304050607080 3132333435363738 "
		      "0000000000000000 0000000000000000 0000000000000000");
}

/* Each completes when it is acknowledged, and takes no place in the ORQ */
static void completions_wait(struct kunit *test)
{
	struct ends e = ends_open(test);
	u32 i;

	for (i = 1; i <= 5; i++)
		post_flush(&e, i);
	KUNIT_EXPECT_EQ(test, srnic_orq_count(e.p->qp), 0);
	peer_no_wc(e.p, e.p->scq);
	say_ack(&e, 1);
	peer_wc(e.p, e.p->scq, 1, SRNIC_WC_SUCCESS);
	peer_no_wc(e.p, e.p->scq);
	say_ack(&e, 5);
	for (i = 2; i <= 5; i++)
		peer_wc(e.p, e.p->scq, i, SRNIC_WC_SUCCESS);
}

static void executes(struct ends *e)
{
	struct kunit *test = e->p->test;

	write_in(e, 0, "ABCDEFGHIJ");
	write8(e, 0, 0x3132333435363738);
	flush(e, 0, SIZE, GLOBAL, 0);
	write_in(e, 4, "wxyz");
	write8(e, 8, 0x6162636465666768);
	expect_acked(e, 5);
	KUNIT_EXPECT_EQ(test, memcmp(e->mem, "1234wxyzabcdefgh\0", 17), 0);
	KUNIT_EXPECT_FALSE(test, srnic_tpt_in_use(e->mr));
	KUNIT_EXPECT_TRUE(test, srnic_irq_empty(e->p->qp));
}

/* In their order among Writes, with the octets as they are in memory; in softirq, or by kthreads */
static void executed_in_order(struct kunit *test)
{
	struct ends e = ends_open(test);

	executes(&e);
	e = ends_begin(test, true, true);
	executes(&e);
}

/* All of a region, whatever TO and length are; and of no length, at any place */
static void flushes(struct kunit *test)
{
	struct ends e = ends_open(test);

	flush(&e, 0, SIZE, GLOBAL, 0);
	flush(&e, SIZE - 1, 1, GLOBAL, 0);
	flush(&e, SIZE, 0, GLOBAL, 0);
	flush(&e, SIZE, 1ULL << 40, GLOBAL, REGION);
	flush(&e, -e.mr->base, U64_MAX, GLOBAL, REGION);
	expect_acked(&e, 5);
}

static void refused(struct kunit *test, const char *what, struct rdmap_atomic_req req, u16 rights,
		    u8 enables, u16 code)
{
	struct ends e = ends_open(test);
	bool set = req.aopcode == WRITE8;

	e.mr->rights = rights;
	e.p->qp->enables = enables;
	req.stag ^= e.mr->stag;
	req.to += e.mr->base;
	req.data = set ? U64_MAX : req.data;
	request(&e, &req);
	peer_expect_terminate(e.p, what, code, 0xc000);
	peer_expect_closed(e.p, what, SRNIC_QP_ERROR);
	KUNIT_EXPECT_PTR_EQ_MSG(test, memchr_inv(e.mem, 0, SIZE), NULL, "%s", what);
	KUNIT_EXPECT_FALSE_MSG(test, srnic_tpt_in_use(e.mr), "%s", what);
}

#define REQ_FLUSH(_len, _type, _level) \
	.aopcode = FLUSH, .data = (_len), .mask = (_type), .compare = (_level)

#define ON	(SRNIC_QP_WRITE_ENABLED | SRNIC_QP_FLUSH_ENABLED)

/* @stag is changed by that, and @to is relative; Terminate codes: RFC 7306 8.1 */
static void errors(struct kunit *test)
{
	static const struct {
		const char *what;
		struct rdmap_atomic_req req;
		u16 code;
		u16 rights;
		u8 enables;
	} rows[] = {
		{ "flush: STag", { REQ_FLUSH(8, GLOBAL, 0), .stag = 0x100 }, 0x0100, ALL, ON },
		{ "flush: key", { REQ_FLUSH(8, GLOBAL, REGION), .stag = 1 }, 0x0100, ALL, ON },
		{ "flush: bounds", { REQ_FLUSH(SIZE, GLOBAL, 0), .to = 1 }, 0x0101, ALL, ON },
		{ "flush: length", { REQ_FLUSH(1ULL << 32, GLOBAL, 0) }, 0x0101, ALL, ON },
		{ "flush: wrap", { REQ_FLUSH(U64_MAX, GLOBAL, 0) }, 0x0104, ALL, ON },
		{ "flush: right", { REQ_FLUSH(8, GLOBAL, 0) }, 0x0102, ALL & ~SRNIC_FLUSH_GLOBAL,
		  ON },
		{ "flush: persistent", { REQ_FLUSH(8, PERSISTENT, 0) }, 0x0102, ALL, ON },
		{ "flush: both", { REQ_FLUSH(8, GLOBAL | PERSISTENT, REGION) }, 0x0102, ALL, ON },
		{ "flush: not on this QP", { REQ_FLUSH(8, GLOBAL, 0) }, 0x0102, ALL,
		  SRNIC_QP_WRITE_ENABLED },
		{ "flush: of no type", { REQ_FLUSH(8, 0, 0) }, 0x0206, ALL, ON },
		{ "flush: type 4", { REQ_FLUSH(8, 4, 0) }, 0x0206, ALL, ON },
		{ "flush: type of 33 bits", { REQ_FLUSH(8, 1ULL << 32 | 1, 0) }, 0x0206, ALL, ON },
		{ "flush: level 2", { REQ_FLUSH(8, GLOBAL, 2) }, 0x0206, ALL, ON },
		{ "flush: level of 33 bits", { REQ_FLUSH(8, GLOBAL, 1ULL << 32) }, 0x0206, ALL,
		  ON },
		{ "write: alignment", { .aopcode = WRITE8, .to = 4 }, 0x0207, ALL, ON },
		{ "write: STag", { .aopcode = WRITE8, .stag = 0x100 }, 0x0100, ALL, ON },
		{ "write: bounds", { .aopcode = WRITE8, .to = SIZE - 4 }, 0x0101, ALL, ON },
		{ "write: before", { .aopcode = WRITE8, .to = -8 }, 0x0101, ALL, ON },
		{ "write: right", { .aopcode = WRITE8 }, 0x0102, ALL & ~SRNIC_REMOTE_WRITE, ON },
		{ "write: not on this QP", { .aopcode = WRITE8 }, 0x0102, ALL,
		  SRNIC_QP_FLUSH_ENABLED | SRNIC_QP_ATOMIC_ENABLED },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		refused(test, rows[i].what, rows[i].req, rows[i].rights, rows[i].enables,
			rows[i].code);
}

static void malformed(struct kunit *test, const char *what, struct ddp_hdr hdr, u32 len, u16 code)
{
	struct ends e = ends_open(test);
	struct rdmap_atomic_req req = {
		.aopcode = WRITE8, .stag = e.mr->stag, .to = e.mr->base, .data = 1,
	};
	u8 buf[53] = { };

	rdmap_atomic_req_encode(buf, &req);
	peer_send(e.p, &hdr, buf, len);
	peer_expect_terminate(e.p, what, code, 0xc000);
	peer_expect_closed(e.p, what, SRNIC_QP_ERROR);
	KUNIT_EXPECT_PTR_EQ_MSG(test, memchr_inv(e.mem, 0, SIZE), NULL, "%s", what);
}

/* They have MSNs of the Read Request queue, as other Atomic Requests */
static void of_another_form(struct kunit *test)
{
	struct ddp_hdr hdr = HDR_REQ(1);

	malformed(test, "MSN", (struct ddp_hdr)HDR_REQ(2), 52, 0x1203);
	malformed(test, "short", hdr, 51, 0x02ff);
	malformed(test, "long", hdr, 53, 0x02ff);
	hdr.mo = 8;
	malformed(test, "MO", hdr, 52, 0x1204);
	hdr.mo = 0;
	hdr.last = false;
	malformed(test, "L", hdr, 52, 0x0207);
}

static void other_peer(struct kunit *test, u8 opcode, u8 aopcode)
{
	struct ends e = ends_begin(test, false, false);
	struct rdmap_atomic_req req = {
		.aopcode = aopcode, .stag = e.mr->stag, .to = e.mr->base, .data = 8,
		.mask = GLOBAL,
	};

	request(&e, &req);
	peer_expect_terminate(e.p, "without the agreement", 0x0206, 0xc000);
	peer_expect_closed(e.p, "without the agreement", SRNIC_QP_ERROR);
	KUNIT_EXPECT_PTR_EQ(test, memchr_inv(e.mem, 0, SIZE), NULL);

	e = ends_begin(test, false, false);
	post(&e, opcode, 1, 0x1000, 8, aopcode == FLUSH ? GLOBAL : 0, 0);
	peer_wc(e.p, e.p->scq, 1, SRNIC_WC_INVALID_WQE);
	KUNIT_ASSERT_GT(test, peer_recv(e.p), 0);
	KUNIT_EXPECT_EQ(test, e.p->hdr.ulp, ULP_TERMINATE);
}

/* Where the ends have not agreed on them they are no operations, and no WRs */
static void without_the_agreement(struct kunit *test)
{
	other_peer(test, SRNIC_OP_FLUSH, FLUSH);
	other_peer(test, SRNIC_OP_ATOMIC_WRITE, WRITE8);
}

/* No kernel consumer's QP is connected so */
static void not_for_kernel_consumers(struct kunit *test)
{
	struct ends e = ends_open(test);

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, peer_post(e.p, IB_WR_FLUSH, 1, 0, NULL, 0x1000, RKEY));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			peer_post(e.p, IB_WR_ATOMIC_WRITE, 1, 0, NULL, 0x1000, RKEY));
	peer_expect_nothing(e.p);
}

/* They have no response: nobody has asked for one */
static void a_response(struct kunit *test)
{
	static const u8 resp[12] = { };
	struct ddp_hdr hdr = {
		.last = true, .version = 1, .ulp = ULP_ATOMIC_RESP, .qn = 3, .msn = 1,
	};
	struct ends e = ends_open(test);

	post_flush(&e, 1);
	peer_send(e.p, &hdr, resp, sizeof(resp));
	peer_expect_terminate(e.p, "a response", 0x0206, 0xc000);
	peer_flushes(e.p, e.p->scq, 1, 1);
}

/* A Terminate quotes the request with MSN @msn: the first one is a Flush, the second one a Read */
static void terminated(struct kunit *test, u32 msn, u16 code, enum ib_wc_status first,
		       enum ib_wc_status second)
{
	struct ends e = ends_open(test);
	struct ib_sge sge = peer_sge(e.mr, 0, 8);
	struct ddp_hdr hdr = HDR_TERMINATE, quoted = HDR_REQ(msn);
	u8 term[4 + 2 + 18] = { code >> 8, code, 0xc0, 0, 0, 18 + 52 };
	struct ib_cq *ibcq = &e.p->scq->cq.ibcq;
	struct ib_wc wc = { };

	ddp_encode(term + 6, &quoted);
	post_flush(&e, 1);
	KUNIT_ASSERT_EQ(test, 0, peer_post(e.p, IB_WR_RDMA_READ, 2, IB_SEND_SIGNALED, &sge, 0,
					   RKEY));
	peer_expect(e.p, ULP_READ_REQ, 28);
	if (msn == 2)
		say_ack(&e, 1);
	peer_send(e.p, &hdr, term, sizeof(term));
	KUNIT_ASSERT_TRUE(test, peer_until(srnic_verbs_ops.poll_cq(ibcq, 1, &wc)));
	KUNIT_EXPECT_EQ_MSG(test, wc.status, first, "%04x, MSN %u", code, msn);
	KUNIT_ASSERT_TRUE(test, peer_until(srnic_verbs_ops.poll_cq(ibcq, 1, &wc)));
	KUNIT_EXPECT_EQ_MSG(test, wc.status, second, "%04x, MSN %u", code, msn);
	peer_expect_closed(e.p, "Terminate", SRNIC_QP_ERROR);
}

/* The WR that the Terminate is about has InfiniBand's status, though both are on one queue */
static void a_terminate_is_of_one(struct kunit *test)
{
	terminated(test, 1, 0x0102, IB_WC_REM_ACCESS_ERR, IB_WC_WR_FLUSH_ERR);
	terminated(test, 1, 0x0207, IB_WC_REM_INV_REQ_ERR, IB_WC_WR_FLUSH_ERR);
	terminated(test, 1, 0x0206, IB_WC_REM_INV_REQ_ERR, IB_WC_WR_FLUSH_ERR);
	terminated(test, 2, 0x0102, IB_WC_SUCCESS, IB_WC_REM_ACCESS_ERR);
}

static struct kunit_case placement_cases[] = {
	KUNIT_CASE(on_the_wire),
	KUNIT_CASE(completions_wait),
	KUNIT_CASE(executed_in_order),
	KUNIT_CASE(flushes),
	KUNIT_CASE(errors),
	KUNIT_CASE(of_another_form),
	KUNIT_CASE(without_the_agreement),
	KUNIT_CASE(not_for_kernel_consumers),
	KUNIT_CASE(a_response),
	KUNIT_CASE(a_terminate_is_of_one),
	{}
};

static struct kunit_suite placement_suite = {
	.name = "srnic-placement",
	.test_cases = placement_cases,
};

kunit_test_suite(placement_suite);
