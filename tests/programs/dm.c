// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * dm: device memory (ibv_alloc_dm).
 *
 *	dm --list		names of the cases
 *	dm ADDR CASE		run one, over the device that has address ADDR
 *
 * The case "hold" takes all of it, prints a word, and stays until it is killed. Both ends of each
 * connection are in one process. Exit status 0: passed, 1: failed, 77: cannot be tested here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cases.h"
#include "pair.h"

#define LEN		20000	/* not whole pages */
#define DM_ACCESS	(ACCESS_ALL | IBV_ACCESS_ZERO_BASED)

static size_t max_dm(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex attr;

	require(!ibv_query_device_ex(ctx, NULL, &attr), "%s", strerror(errno));
	return attr.max_dm_size;
}

static struct ibv_dm *try_alloc(struct ibv_context *ctx, size_t length, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = log_align };

	errno = 0;
	return ibv_alloc_dm(ctx, &attr);
}

static struct ibv_dm *alloc(struct ibv_context *ctx, size_t length)
{
	struct ibv_dm *dm = try_alloc(ctx, length, 0);

	require(dm, "%zu bytes: %s", length, strerror(errno));
	return dm;
}

static void end(struct ibv_dm *dm)
{
	int err = ibv_free_dm(dm);

	require(!err, "ibv_free_dm: %s", strerror(err));
}

static struct ibv_mr *region(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t off, size_t len,
			     int access)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(pd, dm, off, len, access);

	require(mr, "ibv_reg_dm_mr: %s", strerror(errno));
	return mr;
}

static void holds(struct ibv_dm *dm, uint64_t off, uint64_t key, uint32_t len, const char *what)
{
	uint8_t *got = malloc(len);
	uint8_t want;
	size_t where;
	int err;

	require(got, "no memory");
	err = ibv_memcpy_from_dm(got, dm, off, len);
	require(!err, "%s: %s", what, strerror(err));
	require(pattern_matches(got, key, 0, len, &where, &want), "%s: byte %zu", what, where);
	free(got);
}

/* No error before the completion with @wr_id */
static void wait_for(struct ibv_cq *cq, uint64_t wr_id, const char *what)
{
	struct ibv_wc wc;

	do {
		wc = wait_wc(cq, what);
		require(!wc.status, "%s: %s", what, ibv_wc_status_str(wc.status));
	} while (wc.wr_id != wr_id);
}

/* WRITE and READ by the peer; memory beside the region does not change */
static void case_remote(void)
{
	struct ibv_sge out, in;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	struct pair p;
	uint8_t want;
	size_t where;

	pair_open(&p);
	dm = alloc(p.b.id->verbs, LEN);
	pattern_fill(p.b.buf, 1, 0, LEN);
	require(!ibv_memcpy_to_dm(dm, 0, p.b.buf, LEN), "ibv_memcpy_to_dm");
	mr = region(p.b.pd, dm, 4, LEN - 8, DM_ACCESS);
	require(!mr->addr, "a region that is not zero-based");

	pattern_fill(p.a.buf, 2, 0, 9000);
	out = sge_of(&p.a, 0, 9000);
	in = sge_of(&p.a, BUF_SIZE / 2, 9000);
	require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, 1, &out, 1, 0, 96, mr->rkey) &&
		!post_wr(&p.a, IBV_WR_RDMA_READ, 2, &in, 1, IBV_SEND_SIGNALED, 96, mr->rkey),
		"ibv_post_send");
	wait_for(p.a.scq, 2, "WRITE and READ");
	require(pattern_matches(p.a.buf + BUF_SIZE / 2, 2, 0, 9000, &where, &want),
		"byte %zu, read back", where);
	holds(dm, 100, 2, 9000, "what the peer wrote");
	require(!ibv_memcpy_from_dm(p.b.buf, dm, 0, LEN), "ibv_memcpy_from_dm");
	require(pattern_matches(p.b.buf, 1, 0, 100, &where, &want), "byte %zu in front", where);
	require(pattern_matches(p.b.buf + 9100, 1, 9100, LEN - 9100, &where, &want),
		"byte %zu behind", where);
	require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	end(dm);
	pair_close(&p);
}

/* As the source of a SEND and WRITE, where a SEND is received, and the sink of a READ */
static void case_local(void)
{
	struct ibv_mr *from, *to;
	struct ibv_dm *a, *b;
	struct ibv_sge sge;
	struct pair p;
	uint8_t want;
	size_t where;

	pair_open(&p);
	a = alloc(p.a.id->verbs, LEN);
	b = alloc(p.b.id->verbs, LEN);
	from = region(p.a.pd, a, 0, LEN, DM_ACCESS);
	to = region(p.b.pd, b, 0, LEN, DM_ACCESS);
	pattern_fill(p.a.buf, 3, 0, LEN);
	require(!ibv_memcpy_to_dm(a, 0, p.a.buf, LEN), "ibv_memcpy_to_dm");

	sge = (struct ibv_sge){ 0, LEN, to->lkey };
	require(!post_rwr(&p.b, 1, &sge, 1), "ibv_post_recv");
	sge = (struct ibv_sge){ 0, LEN, from->lkey };
	require(!post_wr(&p.a, IBV_WR_SEND, 2, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "ibv_post_send");
	expect_wc(p.a.scq, 2, IBV_WC_SUCCESS, "SEND");
	require(expect_wc(p.b.rcq, 1, IBV_WC_SUCCESS, "receive").byte_len == LEN, "length");
	holds(b, 0, 3, LEN, "received");

	pattern_fill(p.b.buf, 4, 0, LEN);
	require(!post_wr(&p.a, IBV_WR_RDMA_READ, 3, &sge, 1, IBV_SEND_SIGNALED,
			 (uintptr_t)p.b.buf, p.b.mr->rkey), "ibv_post_send");
	expect_wc(p.a.scq, 3, IBV_WC_SUCCESS, "READ");
	holds(a, 0, 4, LEN, "read");
	memset(p.b.buf, 0, LEN);
	require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, 4, &sge, 1, 0, (uintptr_t)p.b.buf,
			 p.b.mr->rkey) &&
		!post_wr(&p.a, IBV_WR_RDMA_READ, 5, &sge, 1, IBV_SEND_SIGNALED,
			 (uintptr_t)p.b.buf, p.b.mr->rkey), "ibv_post_send");
	wait_for(p.a.scq, 5, "WRITE and READ");
	require(pattern_matches(p.b.buf, 4, 0, LEN, &where, &want), "byte %zu, written", where);
	require(!ibv_dereg_mr(from) && !ibv_dereg_mr(to), "ibv_dereg_mr");
	end(a);
	end(b);
	pair_close(&p);
}

static void fetch_add(struct pair *p, struct ibv_mr *mr, uint64_t to, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&p->a, 0, 8);
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				  .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	wr.wr.atomic.remote_addr = to;
	wr.wr.atomic.rkey = mr->rkey;
	wr.wr.atomic.compare_add = 5;
	require(!ibv_post_send(p->a.qp, &wr, &bad), "ibv_post_send");
}

/* The memory must be aligned, not the address in the region (RFC 7306 5.1) */
static void case_atomic(void)
{
	uint64_t value = 37;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	struct pair p;

	pair_open(&p);
	dm = try_alloc(p.b.id->verbs, 4096, 3);
	require(dm, "%s", strerror(errno));
	require(!ibv_memcpy_to_dm(dm, 64, &value, 8), "ibv_memcpy_to_dm");
	mr = region(p.b.pd, dm, 4, 1000, DM_ACCESS | IBV_ACCESS_REMOTE_ATOMIC);
	fetch_add(&p, mr, 60, 1);
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, "FetchAdd");
	memcpy(&value, p.a.buf, 8);
	require(value == 37, "the value before: %llu", (unsigned long long)value);
	require(!ibv_memcpy_from_dm(&value, dm, 64, 8) && value == 42, "the value now: %llu",
		(unsigned long long)value);
	fetch_add(&p, mr, 64, 2);
	expect_wc(p.a.scq, 2, IBV_WC_REM_ACCESS_ERR, "not aligned");
	require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	end(dm);
	pair_close(&p);
}

static void must_be_refused(uint64_t to, uint32_t len, size_t region_len, int access)
{
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_dm *dm;
	struct pair p;

	pair_open(&p);
	dm = alloc(p.b.id->verbs, LEN);
	mr = region(p.b.pd, dm, 8, region_len, access);
	sge = sge_of(&p.a, 0, len);
	require(!post_wr(&p.a, IBV_WR_RDMA_READ, 1, &sge, 1, IBV_SEND_SIGNALED, to, mr->rkey),
		"ibv_post_send");
	expect_wc(p.a.scq, 1, IBV_WC_REM_ACCESS_ERR, "a READ that must be refused");
	expect_disconnected(&p.a, "refused");
	expect_disconnected(&p.b, "refused");
	require(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	end(dm);
	pair_close(&p);
}

static void case_bounds(void)
{
	must_be_refused(1000, 1, 1000, DM_ACCESS);
	must_be_refused(992, 9, 1000, DM_ACCESS);
	must_be_refused(-8, 8, 1000, DM_ACCESS);
	must_be_refused(0, 1, 0, DM_ACCESS);
	must_be_refused(0, 8, 1000, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);
}

static void no_alloc(struct ibv_context *ctx, size_t length, uint32_t log_align, int want)
{
	require(!try_alloc(ctx, length, log_align) && errno == want,
		"%zu bytes, alignment %u: %s in place of %s", length, log_align, strerror(errno),
		strerror(want));
}

static void case_limits(void)
{
	struct ibv_alloc_dm_attr unknown = { .length = 64, .comp_mask = 1 };
	struct ibv_context *ctx = test_context();
	size_t max = max_dm(ctx);
	struct ibv_dm *a, *b;

	require(max, "there is none");
	no_alloc(ctx, 0, 0, EINVAL);
	no_alloc(ctx, max + 1, 0, EINVAL);
	no_alloc(ctx, SIZE_MAX, 0, EINVAL);
	no_alloc(ctx, 64, 13, EINVAL);
	no_alloc(ctx, 64, UINT32_MAX, EINVAL);
	require(!ibv_alloc_dm(ctx, &unknown) && errno == EOPNOTSUPP, "comp_mask: %s",
		strerror(errno));
	a = try_alloc(ctx, max - 4096, 12);
	require(a, "%s", strerror(errno));
	no_alloc(ctx, 4097, 0, ENOMEM);
	b = alloc(ctx, 1);
	no_alloc(ctx, 1, 0, ENOMEM);
	end(a);
	end(b);
	/* an allocation that failed does not count */
	end(alloc(ctx, max));
}

/* A user has half of it at most, and gets back what it frees */
static void case_shared(void)
{
	struct ibv_context *ctx;

	require(!setuid(65534), "setuid: %s", strerror(errno));
	ctx = test_context();
	for (int i = 0; i < 2; i++) {
		struct ibv_dm *half = alloc(ctx, max_dm(ctx) / 2);

		no_alloc(ctx, 1, 0, EDQUOT);
		end(half);
	}
}

/* Device memory does not show its former contents */
static void case_zero(void)
{
	struct ibv_context *ctx = test_context();
	uint8_t *mem = malloc(LEN);
	size_t where;

	require(mem, "no memory");
	for (int i = 0; i < 20; i++) {
		struct ibv_dm *dm = alloc(ctx, LEN);

		require(!ibv_memcpy_from_dm(mem, dm, 0, LEN), "ibv_memcpy_from_dm");
		require(all_bytes(mem, 0, LEN, &where), "byte %zu", where);
		memset(mem, 0xa5, LEN);
		require(!ibv_memcpy_to_dm(dm, 0, mem, LEN), "ibv_memcpy_to_dm");
		end(dm);
	}
	free(mem);
}

static void no_copy(struct ibv_dm *dm, uint64_t off, void *mem, size_t len, int want)
{
	int to = ibv_memcpy_to_dm(dm, off, mem, len), from = ibv_memcpy_from_dm(mem, dm, off, len);

	require(to == want && from == want, "%zu bytes at %llu: to %s, from %s", len,
		(unsigned long long)off, strerror(to), strerror(from));
}

static void case_copies(void)
{
	static uint8_t mem[LEN + 8];
	struct ibv_dm *dm = alloc(test_context(), LEN);

	no_copy(dm, 0, mem, LEN + 4, EINVAL);
	no_copy(dm, LEN, mem, 4, EINVAL);
	no_copy(dm, LEN - 4, mem, 8, EINVAL);
	no_copy(dm, -4ULL, mem, 8, EINVAL);
	no_copy(dm, 4, mem, -4ULL, EINVAL);
	no_copy(dm, 1, mem, 4, EINVAL);
	no_copy(dm, 0, mem, 3, EINVAL);
	no_copy(dm, 0, (void *)8, 4, EFAULT);
	require(!ibv_memcpy_to_dm(dm, LEN, mem, 0) && !ibv_memcpy_from_dm(mem, dm, 0, 0),
		"nothing to copy");
	require(!ibv_memcpy_to_dm(dm, LEN - 4, mem, 4), "the last bytes");
	end(dm);
}

static void no_region(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t off, size_t len, int access)
{
	errno = 0;
	require(!ibv_reg_dm_mr(pd, dm, off, len, access) && errno == EINVAL,
		"%zu bytes at %llu, rights %#x: %s", len, (unsigned long long)off, access,
		strerror(errno));
}

static void case_regions(void)
{
	const int local = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED;
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_dm *dm = alloc(ctx, LEN);
	struct ibv_mr *one, *two;
	int err;

	require(pd, "%s", strerror(errno));
	no_region(pd, dm, 0, LEN, IBV_ACCESS_LOCAL_WRITE);
	no_region(pd, dm, 0, LEN, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED);
	no_region(pd, dm, 0, LEN, local | 1 << 19);
	no_region(pd, dm, 0, LEN + 1, local);
	no_region(pd, dm, LEN, 1, local);
	no_region(pd, dm, -1ULL, 2, local);
	one = region(pd, dm, 0, LEN, local);
	two = region(pd, dm, LEN, 0, local);
	require(ibv_rereg_mr(one, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, local) &&
		errno == EINVAL, "registered anew: %s", strerror(errno));
	for (int i = 0; i < 2; i++) {
		err = ibv_free_dm(dm);
		require(err == EBUSY, "with %d regions: %s", 2 - i, strerror(err));
		require(!ibv_dereg_mr(i ? two : one), "ibv_dereg_mr");
	}
	end(dm);
	require(!ibv_dealloc_pd(pd), "ibv_dealloc_pd");
}

static void case_import(void)
{
	struct ibv_context *ctx = test_context(), *other = ibv_import_device(dup(ctx->cmd_fd));
	struct ibv_dm *dm = alloc(ctx, LEN), *same, *none;
	static uint8_t mem[LEN];

	require(other, "ibv_import_device: %s", strerror(errno));
	same = ibv_import_dm(other, dm->handle);
	none = ibv_import_dm(other, dm->handle + 1000);
	require(same && none, "ibv_import_dm: %s", strerror(errno));
	pattern_fill(mem, 5, 0, LEN);
	require(!ibv_memcpy_to_dm(dm, 0, mem, LEN), "ibv_memcpy_to_dm");
	holds(same, 0, 5, LEN, "imported");
	no_copy(none, 0, mem, 4, ENOENT);
	ibv_unimport_dm(same);
	ibv_unimport_dm(none);
	holds(dm, 0, 5, LEN, "after the importer");
	end(dm);
	no_alloc(other, 0, 0, EINVAL);
	require(!ibv_close_device(other), "%s", strerror(errno));
}

/* All of the memory, in two pieces, one of them with a region */
static void case_hold(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_dm *dm = alloc(ctx, max_dm(ctx) / 2);

	alloc(ctx, max_dm(ctx) / 2);
	region(ibv_alloc_pd(ctx), dm, 0, 4096, DM_ACCESS);
	puts("held");
	fflush(stdout);
	pause();
}

static const struct test_case cases[] = {
	{ "remote", case_remote, "what the peer writes and reads" },
	{ "local", case_local, "what is sent, received, written and read from it" },
	{ "atomic", case_atomic, "atomics, aligned in the memory" },
	{ "bounds", case_bounds, "accesses outside of the region and its rights" },
	{ "limits", case_limits, "lengths and alignments; all pieces together" },
	{ "shared", case_shared, "a user has half of it, and no more" },
	{ "zero", case_zero, "it is zero at first" },
	{ "copies", case_copies, "copies outside of it, not aligned, from nowhere" },
	{ "regions", case_regions, "regions that cannot be; busy while there is one" },
	{ "import", case_import, "another context has it, too" },
	{ "hold", case_hold, "" },
};

static const struct test_program prog = {
	.usage = "dm --list | dm ADDR CASE",
	.timeout_env = "DM_TIMEOUT",
	.timeout = 60,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
