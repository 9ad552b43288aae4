// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * placed: Flush and Atomic Write, on QPs that are connected by ibv_modify_qp(). The policies
 * ib_port and ib_ack are set; the case that is not listed wants ib_ack to be off. The installed
 * libibverbs need not have ibv_wr_flush(): an Atomic Write is posted, and made a Flush in its slot
 * before the QP is connected.
 *
 *	placed --list		names of the cases
 *	placed ADDR CASE	run one, over the device that has address ADDR
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "ibqp.h"
#include "region.h"

#define PSN		0x123456
#define LEN		64
#define ROUNDS		200
/* For how long a thread looks at Atomic Writes */
#define WHOLE_MS	2000
/* Numbers that verbs.h need not have */
#define FLUSH_GLOBAL	(1 << 8)	/* access flags */
#define FLUSH_PERSISTENT (1 << 9)
#define CAP_GLOBAL	(1ULL << 38)	/* of the device */
#define CAP_PERSISTENT	(1ULL << 39)
#define CAP_ATOMIC_WRITE (1ULL << 40)
#define ODP_FLUSH	(1 << 6)	/* of RC, on demand */
#define ODP_ATOMIC_WRITE (1 << 7)
#define WR_FLUSH	14
#define WR_ATOMIC_WRITE	15
#define WC_FLUSH	8
#define WC_ATOMIC_WRITE	9
#define EX_FLUSH	(1 << 11)
#define GLOBAL		1		/* placement types */
#define PERSISTENT	2
#define RANGE		0		/* levels */
#define REGION		1

/* An SQE: offsets of its fields, and the opcode (Documentation/uapi.rst) */
#define AT_OPCODE	8
#define AT_ARG		32
#define OP_FLUSH	15
#define RING_HDR	4096

static struct ibv_device_attr_ex device_attr(void)
{
	struct ibv_device_attr_ex attr;

	require(!ibv_query_device_ex(test_context(), NULL, &attr), "%s", strerror(errno));
	return attr;
}

static uint64_t device_caps(void)
{
	return device_attr().device_cap_flags_ex;
}

static bool has_odp(void)
{
	return device_attr().odp_caps.general_caps & IBV_ODP_SUPPORT;
}

static void open_qp(struct hand *h, int access)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = access };
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .cap = DEFAULT_CAP,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_ATOMIC_WRITE |
				  EX_FLUSH,
	};

	hand_qp(h);
	require(!ibv_destroy_qp(h->qp), "%s", strerror(errno));
	init.pd = h->pd;
	init.send_cq = init.recv_cq = h->cq;
	h->qp = ibv_create_qp_ex(test_context(), &init);
	require(h->qp, "%s", strerror(errno));
	require(!ibv_modify_qp(h->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_ACCESS_FLAGS), "%s", strerror(errno));
}

static void name_each_other(struct hand *a, struct hand *b)
{
	ib_rtr(a, &ib_gid, b->qp->qp_num, PSN);
	ib_rtr(b, &ib_gid, a->qp->qp_num, PSN);
}

static void connect_two(struct hand *a, struct hand *b)
{
	ib_rts(a, PSN, 0);
	ib_rts(b, PSN, 0);
}

/* What a has posted ends the connection, perhaps before b is in RTS: b is in Error then */
static void connect_refusing(struct hand *a, struct hand *b)
{
	struct ibv_qp_attr attr = ib_rts_attr(PSN, 0);

	ib_rts(a, PSN, 0);
	ibv_modify_qp(b->qp, &attr, RTS_MASK);
}

/* @access: of b's QP, which a writes to */
static void open_two(struct hand *a, struct hand *b, int access)
{
	ib_find_gid();
	open_qp(a, 0);
	open_qp(b, access);
	name_each_other(a, b);
}

static void close_two(struct hand *a, struct hand *b)
{
	hand_qp_end(a);
	hand_qp_end(b);
}

/* Returns what ibv_wr_complete() does */
static int atomic_write(struct hand *h, uint64_t wr_id, uint64_t to, uint32_t rkey, uint64_t octets)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(h->qp);

	ibv_wr_start(qpx);
	qpx->wr_id = wr_id;
	qpx->wr_flags = 0;
	ibv_wr_atomic_write(qpx, rkey, to, &octets);
	return ibv_wr_complete(qpx);
}

static void must_atomic_write(struct hand *from, struct hand *to, uint64_t wr_id, size_t off,
			      uint64_t octets)
{
	int err = atomic_write(from, wr_id, (uintptr_t)to->buf + off, to->mr->rkey, octets);

	require(!err, "%s", strerror(err));
}

static void post_write(struct hand *from, struct hand *to, uint64_t wr_id, size_t off)
{
	struct ibv_qp_ex *qpx = ibv_qp_to_qp_ex(from->qp);
	int err;

	ibv_wr_start(qpx);
	qpx->wr_id = wr_id;
	qpx->wr_flags = 0;
	ibv_wr_rdma_write(qpx, to->mr->rkey, (uintptr_t)to->buf + off);
	ibv_wr_set_sge(qpx, from->mr->lkey, (uintptr_t)from->buf, LEN);
	err = ibv_wr_complete(qpx);
	require(!err, "%s", strerror(err));
}

static void expect_opcode(struct hand *h, uint64_t wr_id, int opcode, const char *what)
{
	struct ibv_wc wc = wait_wc(h->cq, what);

	require(wc.wr_id == wr_id && !wc.status && (int)wc.opcode == opcode,
		"%s: wr_id %llu, '%s', opcode %d", what, (unsigned long long)wc.wr_id,
		ibv_wc_status_str(wc.status), wc.opcode);
}

/* Completed, and so in place: the octets as they are in memory, and no others */
static void case_write(void)
{
	struct hand a, b;
	uint64_t octets;

	open_two(&a, &b, ACCESS_ALL);
	connect_two(&a, &b);
	for (int i = 1; i <= ROUNDS; i++) {
		memset(&octets, i, sizeof(octets));
		memcpy(&octets, &i, sizeof(i));
		must_atomic_write(&a, &b, i, 8, octets);
		expect_opcode(&a, i, WC_ATOMIC_WRITE, "atomic write");
		require(!memcmp(b.buf + 8, &octets, 8), "round %d", i);
		require(!b.buf[7] && !b.buf[16], "beside it");
	}
	close_two(&a, &b);
}

/* Whoever sees the flag sees all that was written before it, and not yet what comes behind it */
static void case_order(void)
{
	struct hand a, b;

	open_two(&a, &b, ACCESS_ALL);
	connect_two(&a, &b);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		volatile uint64_t *flag = (void *)b.buf;
		uint64_t end = now_ms() + 10000;

		memset(a.buf, i, LEN);
		post_write(&a, &b, 3 * i, 64);
		must_atomic_write(&a, &b, 3 * i + 1, 0, i);
		post_write(&a, &b, 3 * i + 2, 1024);
		while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != i)
			require(now_ms() < end, "round %llu: no flag", (unsigned long long)i);
		for (int j = 0; j < LEN; j++)
			require(b.buf[64 + j] == (uint8_t)i, "round %llu: the flag is early",
				(unsigned long long)i);
		expect_wc(a.cq, 3 * i, IBV_WC_SUCCESS, "Write before");
		expect_wc(a.cq, 3 * i + 1, IBV_WC_SUCCESS, "atomic write");
		expect_wc(a.cq, 3 * i + 2, IBV_WC_SUCCESS, "Write behind");
		require(b.buf[1024] == (uint8_t)i, "the Write behind it");
	}
	close_two(&a, &b);
}

static void run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	require(!sched_setaffinity(0, sizeof(cpus), &cpus), "CPU %d: %s", cpu, strerror(errno));
}

static void *reader(void *arg)
{
	const uint64_t *at = arg;

	run_on(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	for (;;) {
		uint64_t seen = __atomic_load_n(at, __ATOMIC_ACQUIRE);

		if (seen == 0x5555555555555555)		/* the last one */
			return NULL;
		require(!seen || seen == ~0ULL, "%016llx", (unsigned long long)seen);
	}
}

/* A reader sees all of the octets, or none. A moment without all is short, so there are many */
static void case_whole(void)
{
	uint64_t i = 0, end;
	struct hand a, b;
	pthread_t thread;

	open_two(&a, &b, ACCESS_ALL);
	connect_two(&a, &b);
	require(!pthread_create(&thread, NULL, reader, b.buf), "thread");
	run_on(0);	/* the doorbell stores there, and not where the reader is */
	end = now_ms() + WHOLE_MS;
	do {
		i++;
		must_atomic_write(&a, &b, i, 0, i % 2 ? ~0ULL : 0);
		expect_wc(a.cq, i, IBV_WC_SUCCESS, "atomic write");
	} while (i < ROUNDS || now_ms() < end);
	must_atomic_write(&a, &b, ++i, 0, 0x5555555555555555);
	expect_wc(a.cq, i, IBV_WC_SUCCESS, "the last one");
	pthread_join(thread, NULL);
	note("%llu Atomic Writes", (unsigned long long)i);
	close_two(&a, &b);
}

/* One that is good, a bad one, and one behind it */
static void refused(int access, size_t off, uint32_t key, enum ibv_wc_status status,
		    const char *what)
{
	struct hand a, b;

	open_two(&a, &b, access);
	connect_two(&a, &b);
	if (access & IBV_ACCESS_REMOTE_WRITE) {
		must_atomic_write(&a, &b, 1, 0, 1);
		expect_wc(a.cq, 1, IBV_WC_SUCCESS, what);
	}
	require(!atomic_write(&a, 2, (uintptr_t)b.buf + off, b.mr->rkey ^ key, ~0ULL), "%s", what);
	must_atomic_write(&a, &b, 3, 0, 2);
	expect_wc(a.cq, 2, status, what);
	expect_wc(a.cq, 3, IBV_WC_WR_FLUSH_ERR, what);
	ib_expect_state(&a, IBV_QPS_ERR, what);
	for (size_t i = 8; i < BUF_SIZE; i++)
		require(!b.buf[i], "%s: octet %zu has changed", what, i);
	close_two(&a, &b);
}

static void case_misaligned(void)
{
	for (size_t off = 1; off < 8; off++)
		refused(ACCESS_ALL, 64 + off, 0, IBV_WC_REM_INV_REQ_ERR, "not aligned");
}

static void case_access(void)
{
	refused(ACCESS_ALL, 0, 0x100, IBV_WC_REM_ACCESS_ERR, "another rkey");
	refused(ACCESS_ALL, 0, 1, IBV_WC_REM_ACCESS_ERR, "another key");
	refused(ACCESS_ALL, BUF_SIZE, 0, IBV_WC_REM_ACCESS_ERR, "behind the region");
	refused(ACCESS_ALL, -8, 0, IBV_WC_REM_ACCESS_ERR, "before the region");
	refused(IBV_ACCESS_REMOTE_READ, 0, 0, IBV_WC_REM_ACCESS_ERR, "not on this QP");
}

static void case_read_only(void)
{
	struct ibv_mr *mr;
	struct hand a, b;

	open_two(&a, &b, ACCESS_ALL);
	connect_two(&a, &b);
	mr = ibv_reg_mr(b.pd, b.buf, LEN, IBV_ACCESS_REMOTE_READ);
	require(mr, "%s", strerror(errno));
	require(!atomic_write(&a, 1, (uintptr_t)b.buf, mr->rkey, 1), "post");
	expect_wc(a.cq, 1, IBV_WC_REM_ACCESS_ERR, "a region for reading");
	require(!*(uint64_t *)b.buf, "it was written");
	require(!ibv_dereg_mr(mr), "%s", strerror(errno));
	close_two(&a, &b);
}

/* ----- Flush ----- */

/* The slot of the WQE that was posted with @wr_id, which no other has */
static uint8_t *slot_of(uint64_t wr_id)
{
	struct mapping map[64];
	int n = uverbs_mappings(map, ARRAY_SIZE(map));

	for (int i = 0; i < n; i++)
		for (size_t at = RING_HDR; at < map[i].len; at += 16)
			if (!memcmp(map[i].at + at, &wr_id, sizeof(wr_id)))
				return map[i].at + at;
	die("no ring has the WQE");
}

#define FIRST_FLUSH	0x1122334455667788

/* Post a Flush before the QP is connected */
static void post_flush(struct hand *h, uint64_t to, uint32_t rkey, uint64_t len, uint64_t type,
		       uint64_t level)
{
	static uint64_t last = FIRST_FLUSH;
	const uint64_t args[] = { len, type, level };
	uint64_t wr_id = last++;
	uint8_t *slot;

	require(!atomic_write(h, wr_id, to, rkey, 0), "post");
	slot = slot_of(wr_id);
	slot[AT_OPCODE] = OP_FLUSH;
	memcpy(slot + AT_ARG, args, sizeof(args));
}

/* A region that may be flushed, or NULL: the kernel has no such flag, and says so */
static struct ibv_mr *flush_region(struct hand *h)
{
	struct ibv_mr *mr = ibv_reg_mr(h->pd, h->buf, BUF_SIZE, ACCESS_ALL | FLUSH_GLOBAL);

	if (device_caps() & CAP_GLOBAL)
		require(mr, "%s", strerror(errno));
	else
		require(!mr && (errno == EINVAL || errno == EOPNOTSUPP), "%s", strerror(errno));
	return mr;
}

/* @status: of a Flush of b's region, if that may be flushed at all */
static void flushed(int qp_access, size_t off, uint32_t key, uint64_t len, uint64_t type,
		    uint64_t level, enum ibv_wc_status status, const char *what)
{
	struct ibv_mr *mr;
	struct hand a, b;
	struct ibv_wc wc;

	open_two(&a, &b, qp_access);
	mr = flush_region(&b);
	post_flush(&a, (uintptr_t)b.buf + off, (mr ? mr->rkey : b.mr->rkey) ^ key, len, type,
		   level);
	if (!mr && status == IBV_WC_SUCCESS)
		status = IBV_WC_REM_ACCESS_ERR;
	if (status)
		connect_refusing(&a, &b);
	else
		connect_two(&a, &b);
	wc = wait_wc(a.cq, what);
	require(wc.status == status, "%s: '%s'", what, ibv_wc_status_str(wc.status));
	require(status || wc.opcode == WC_FLUSH, "%s: opcode %d", what, wc.opcode);
	require(!mr || !ibv_dereg_mr(mr), "%s", strerror(errno));
	close_two(&a, &b);
}

#define FLUSHABLE	(ACCESS_ALL | FLUSH_GLOBAL)

/* In a kernel without the flag the same ends with REM_ACCESS_ERR */
static void case_flush(void)
{
	flushed(FLUSHABLE, 0, 0, BUF_SIZE, GLOBAL, RANGE, IBV_WC_SUCCESS, "all");
	flushed(FLUSHABLE, BUF_SIZE - 1, 0, 1, GLOBAL, RANGE, IBV_WC_SUCCESS, "an octet");
	flushed(FLUSHABLE, 0, 0, 0, GLOBAL, RANGE, IBV_WC_SUCCESS, "nothing");
	flushed(FLUSHABLE, BUF_SIZE, 0, 1ULL << 40, GLOBAL, REGION, IBV_WC_SUCCESS, "the region");
}

static void case_flush_refused(void)
{
	struct hand a, b;

	flushed(FLUSHABLE, 0, 0x100, 8, GLOBAL, RANGE, IBV_WC_REM_ACCESS_ERR, "another rkey");
	flushed(FLUSHABLE, 1, 0, BUF_SIZE, GLOBAL, RANGE, IBV_WC_REM_ACCESS_ERR, "bounds");
	flushed(FLUSHABLE, 0, 0, 8, PERSISTENT, RANGE, IBV_WC_REM_ACCESS_ERR, "persistent");
	flushed(FLUSHABLE, 0, 0, 8, GLOBAL | PERSISTENT, REGION, IBV_WC_REM_ACCESS_ERR, "both");
	flushed(ACCESS_ALL, 0, 0, 8, GLOBAL, RANGE, IBV_WC_REM_ACCESS_ERR, "not on this QP");
	/* ibv_wr_flush() refuses these */
	flushed(FLUSHABLE, 0, 0, 8, 0, RANGE, IBV_WC_REM_INV_REQ_ERR, "of no type");
	flushed(FLUSHABLE, 0, 0, 8, 1ULL << 32 | GLOBAL, RANGE, IBV_WC_REM_INV_REQ_ERR, "type");
	flushed(FLUSHABLE, 0, 0, 8, GLOBAL, 2, IBV_WC_REM_INV_REQ_ERR, "level");

	open_two(&a, &b, FLUSHABLE);
	post_flush(&a, (uintptr_t)b.buf, b.mr->rkey, 8, GLOBAL, RANGE);
	connect_refusing(&a, &b);
	require(wait_wc(a.cq, "Flush").status == IBV_WC_REM_ACCESS_ERR,
		"a region without the flag");
	close_two(&a, &b);
}

/* Of pages that are not in memory, where the kernel has such memory; else of pinned ones */
static void case_on_demand(void)
{
	int access = ACCESS_ALL | (has_odp() ? IBV_ACCESS_ON_DEMAND : 0) |
		     (device_caps() & CAP_GLOBAL ? FLUSH_GLOBAL : 0);
	const size_t page = sysconf(_SC_PAGESIZE);
	struct ibv_mr *mr;
	struct hand a, b;
	uint8_t *mem;

	open_two(&a, &b, FLUSHABLE);
	mem = pages(4 * page, PROT_READ | PROT_WRITE);
	mr = region(b.pd, mem, 4 * page, access);
	if (access & FLUSH_GLOBAL)
		post_flush(&a, (uintptr_t)mem, mr->rkey, 4 * page, GLOBAL, RANGE);
	connect_two(&a, &b);
	if (access & FLUSH_GLOBAL)
		expect_opcode(&a, FIRST_FLUSH, WC_FLUSH, "Flush");
	for (uint64_t i = 1; i <= 4; i++) {
		uint64_t *at = (uint64_t *)(mem + page - 8 * (i % 2));

		require(!atomic_write(&a, i, (uintptr_t)at, mr->rkey, i), "post");
		expect_wc(a.cq, i, IBV_WC_SUCCESS, "Atomic Write");
		require(*at == i, "%llu", (unsigned long long)*at);
		if (has_odp()) {
			require(!madvise(mem, 4 * page, MADV_DONTNEED), "%s", strerror(errno));
			require(!*at, "the page is still here");
		}
	}
	note("%s", has_odp() ? "on demand" : "pinned: the kernel has no on-demand paging");
	end_region(mr);
	munmap(mem, 4 * page);
	close_two(&a, &b);
}

/* No memory of srnic is persistent */
static void case_persistent(void)
{
	struct hand h;

	hand_qp(&h);
	require(!(device_caps() & CAP_PERSISTENT), "the device says it is");
	errno = 0;
	require(!ibv_reg_mr(h.pd, h.buf, LEN, ACCESS_ALL | FLUSH_PERSISTENT) &&
		(errno == EINVAL || errno == EOPNOTSUPP), "%s", strerror(errno));
	hand_qp_end(&h);
}

/* ----- other peers ----- */

static void refused_at_post(struct hand *h, const char *what)
{
	int err = atomic_write(h, 1, 0x1000, 0x100, 1);

	require(err == EOPNOTSUPP, "%s: %s", what, strerror(err));
}

static void not_by_post_send(struct ibv_qp *qp, int opcode)
{
	struct ibv_send_wr wr = { .opcode = opcode }, *bad;
	int err = ibv_post_send(qp, &wr, &bad);

	require(err == EOPNOTSUPP, "opcode %d: %s", opcode, strerror(err));
}

/* Only a QP that knows its peer by ibv_modify_qp() takes them: EOPNOTSUPP at once */
static void case_other_peers(void)
{
	struct hand a, b;
	struct pair p;

	ib_find_gid();
	open_qp(&a, ACCESS_ALL);
	refused_at_post(&a, "without a peer");
	hand_qp_end(&a);

	/* struct ibv_send_wr has no room for what they need */
	open_two(&a, &b, ACCESS_ALL);
	not_by_post_send(a.qp, WR_FLUSH);
	not_by_post_send(a.qp, WR_ATOMIC_WRITE);
	close_two(&a, &b);

	pair_open(&p);
	not_by_post_send(p.a.qp, WR_FLUSH);
	not_by_post_send(p.a.qp, WR_ATOMIC_WRITE);
	pair_works(&p, "afterwards");
	pair_close(&p);
}

/* The peer does not acknowledge, so it takes none: that is known when the two have met */
static void case_unagreed(void)
{
	struct hand a, b;

	open_two(&a, &b, ACCESS_ALL);
	must_atomic_write(&a, &b, 1, 0, 1);
	connect_refusing(&a, &b);
	expect_wc(a.cq, 1, IBV_WC_LOC_QP_OP_ERR, "without the agreement");
	require(!b.buf[0], "it was written");
	close_two(&a, &b);
}

static bool kernel_is_from(unsigned int major, unsigned int minor)
{
	unsigned int is_major, is_minor;
	struct utsname name;

	require(!uname(&name) && sscanf(name.release, "%u.%u", &is_major, &is_minor) == 2, "uname");
	return is_major > major || (is_major == major && is_minor >= minor);
}

/* Verbs have the caps of the two since Linux 6.2, and those of on-demand paging since 6.16 */
static void case_caps(void)
{
	const uint64_t both = CAP_GLOBAL | CAP_ATOMIC_WRITE;
	const uint32_t odp_both = ODP_FLUSH | ODP_ATOMIC_WRITE;
	uint32_t odp = device_attr().odp_caps.per_transport_caps.rc_odp_caps & odp_both;
	uint64_t caps = device_caps() & both;

	require(caps == (kernel_is_from(6, 2) ? both : 0), "%#llx", (unsigned long long)caps);
	require(odp == (has_odp() && kernel_is_from(6, 16) ? odp_both : 0), "on demand: %#x", odp);
	note("the kernel has %s, and %s on demand", caps ? "both" : "neither",
	     odp ? "both" : "neither");
}

static const struct test_case cases[] = {
	{ "write", case_write, "an Atomic Write has completed: its octets are there" },
	{ "order", case_order, "an Atomic Write is seen after what was written before it" },
	{ "whole", case_whole, "a reader sees all of an Atomic Write, or nothing of it" },
	{ "misaligned", case_misaligned, "an Atomic Write that is not aligned: REM_INV_REQ_ERR" },
	{ "access", case_access, "an Atomic Write without the right: REM_ACCESS_ERR" },
	{ "read-only", case_read_only, "an Atomic Write to a region for reading: REM_ACCESS_ERR" },
	{ "flush", case_flush, "a Flush of a region that has the flag" },
	{ "flush-refused", case_flush_refused, "a Flush without the right, or of no meaning" },
	{ "on-demand", case_on_demand, "both, of memory that is paged on demand" },
	{ "persistent", case_persistent, "no region is for persistent Flushes" },
	{ "other-peers", case_other_peers, "towards another peer: EOPNOTSUPP at the post" },
	{ "caps", case_caps, "the device has both capabilities, where the kernel has them" },
	{ "unagreed", case_unagreed, "" },
};

static const struct test_program prog = {
	.usage = "placed --list | placed ADDR CASE",
	.timeout_env = "PLACED_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
