// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * memory: regions of user memory, registered, and registered anew.
 *
 *	memory --list			names of the cases
 *	memory ADDR CASE		run one, over the device that has address ADDR
 *	memory --measure ADDR MIB	what registering costs, with small and huge pages
 *
 * Both ends of each connection are in one process. Exit status 0: passed, 1: failed, 77: cannot
 * be tested here.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "cases.h"
#include "region.h"

#define LEN	(5 * 4096)

/* What the kernel pins one by one; 64 KiB on some processors */
static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static void rereg(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *mem, size_t len,
		  int access)
{
	uint32_t lkey = mr->lkey, rkey = mr->rkey;
	int err = ibv_rereg_mr(mr, flags, pd, mem, len, access);

	require(!err, "flags %d: %d, %s", flags, err, strerror(errno));
	/* in place: the keys that the peer knows stay valid */
	require(mr->lkey == lkey && mr->rkey == rkey, "keys %#x %#x", mr->lkey, mr->rkey);
}

static void no_rereg(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *mem, size_t len,
		     int access, int want)
{
	int err;

	errno = 0;
	err = ibv_rereg_mr(mr, flags, pd, mem, len, access);
	require(err == IBV_REREG_MR_ERR_CMD, "%d", err);
	require(errno == want, "%s (%d) in place of %s", strerror(errno), errno, strerror(want));
}

/* a writes to b's memory and reads it back. Return: status of the WRITE or READ that failed */
static enum ibv_wc_status try_access(struct pair *p, uint64_t to, uint32_t rkey, uint32_t len,
				     uint64_t key)
{
	struct ibv_sge out = sge_of(&p->a, 0, len), in = sge_of(&p->a, BUF_SIZE / 2, len);
	struct ibv_wc wc;
	int err;

	pattern_fill(p->a.buf, key, 0, len);
	memset(p->a.buf + BUF_SIZE / 2, 0, len);
	err = post_wr(&p->a, IBV_WR_RDMA_WRITE, 1, &out, 1, 0, to, rkey) ?:
	      post_wr(&p->a, IBV_WR_RDMA_READ, 2, &in, 1, IBV_SEND_SIGNALED, to, rkey);
	require(!err, "post: %s", strerror(err));
	do
		wc = wait_wc(p->a.scq, "WRITE and READ");
	while (wc.wr_id != 2);
	return wc.status;
}

static void must_access(struct pair *p, uint64_t to, uint32_t rkey, uint32_t len,
			const void *mem, uint64_t key)
{
	enum ibv_wc_status status = try_access(p, to, rkey, len, key);
	uint8_t want;
	size_t where;

	require(!status, "%s", ibv_wc_status_str(status));
	require(pattern_matches(mem, key, 0, len, &where, &want), "octet %zu", where);
	require(pattern_matches(p->a.buf + BUF_SIZE / 2, key, 0, len, &where, &want),
		"octet %zu, read back", where);
}

/* MR-21: all combinations of flags; attributes without their flag are right from the start */
static void case_combinations(void)
{
	const int trans = IBV_REREG_MR_CHANGE_TRANSLATION, acc = IBV_REREG_MR_CHANGE_ACCESS;
	uint8_t *one, *two = pages(LEN, PROT_READ | PROT_WRITE);
	struct ibv_pd *pd;
	struct pair p;
	size_t where;

	one = pages(LEN, PROT_READ | PROT_WRITE);
	pair_open(&p);
	pd = ibv_alloc_pd(p.b.id->verbs);
	require(pd, "%s", strerror(errno));
	for (int flags = 1; flags < 8; flags++) {
		struct ibv_mr *mr = region(flags & IBV_REREG_MR_CHANGE_PD ? pd : p.b.pd,
					   (flags & trans ? one : two) + 3, LEN - 7,
					   flags & acc ? 0 : ACCESS_ALL);

		memset(one, GUARD_BYTE, LEN);
		rereg(mr, flags, flags & IBV_REREG_MR_CHANGE_PD ? p.b.pd : NULL,
		      flags & trans ? two + 5 : NULL, flags & trans ? LEN - 9 : 0,
		      flags & acc ? ACCESS_ALL : 0);
		must_access(&p, (uintptr_t)two + 6, mr->rkey, LEN - 10, two + 6, flags);
		require(all_bytes(one, GUARD_BYTE, LEN, &where), "octet %zu", where);
		end_region(mr);
		/* the region counts for the new PD, so the old one can go (PD-05) */
		require(!ibv_dealloc_pd(pd), "flags %d: %s", flags, strerror(errno));
		pd = ibv_alloc_pd(p.b.id->verbs);
		require(pd, "%s", strerror(errno));
	}
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
	pair_works(&p, "afterwards");
	pair_close(&p);
}

/* MR-21, MR-22: a thousand times, smaller and larger, and sometimes a SEND from the region */
static void case_thousand(void)
{
	uint8_t *mem = pages(64 * 4096, PROT_READ | PROT_WRITE);
	struct rng rng = { 1 };
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p);
	mr = region(p.a.pd, mem, 1, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < 1000; i++) {
		uint32_t off = rng_below(&rng, 63 * 4096), len = 1 + rng_below(&rng, 4096);

		rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem + off, len, 0);
		if (i % 10)
			continue;
		struct ibv_sge sge = { (uintptr_t)mem + off, len, mr->lkey };
		uint8_t want;
		size_t where;

		pattern_fill(mem + off, i, 0, len);
		must_recv(&p.b, i, 0, 4096);
		require(!post_wr(&p.a, IBV_WR_SEND, i, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
		expect_wc(p.b.rcq, i, IBV_WC_SUCCESS, "receive");
		expect_wc(p.a.scq, i, IBV_WC_SUCCESS, "SEND");
		require(pattern_matches(p.b.buf, i, 0, len, &where, &want), "octet %zu", where);
	}
	end_region(mr);
	pair_close(&p);
}

/* Rights taken away are gone: the old addresses, a right, the PD */
static void case_taken_away(void)
{
	for (int flags = 1; flags < 8; flags <<= 1) {
		uint8_t *one = pages(LEN, PROT_READ | PROT_WRITE);
		uint8_t *two = pages(LEN, PROT_READ | PROT_WRITE);
		struct ibv_pd *pd;
		struct ibv_mr *mr;
		struct pair p;

		pair_open(&p);
		pd = ibv_alloc_pd(p.b.id->verbs);
		require(pd, "%s", strerror(errno));
		mr = region(p.b.pd, one, LEN, ACCESS_ALL);
		must_access(&p, (uintptr_t)one, mr->rkey, LEN, one, flags);
		rereg(mr, flags, flags == IBV_REREG_MR_CHANGE_PD ? pd : NULL,
		      flags == IBV_REREG_MR_CHANGE_TRANSLATION ? two : NULL,
		      flags == IBV_REREG_MR_CHANGE_TRANSLATION ? LEN : 0,
		      flags == IBV_REREG_MR_CHANGE_ACCESS ?
		      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE : 0);
		must_be_refused(&p, (uintptr_t)one, mr->rkey, true, "refused");
		end_region(mr);
		require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
		pair_close(&p);
	}
}

/* MR-24: a failed call leaves the STag Invalid; one with an invalid parameter changes nothing */
static void case_failed(void)
{
	const int trans = IBV_REREG_MR_CHANGE_TRANSLATION, acc = IBV_REREG_MR_CHANGE_ACCESS;
	uint8_t *mem = pages(LEN, PROT_READ | PROT_WRITE), *none = pages(LEN, PROT_NONE);
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p);
	mr = region(p.b.pd, mem, LEN, ACCESS_ALL);
	/* the core checks it before it calls the device */
	no_rereg(mr, acc, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE, EINVAL);
	must_access(&p, (uintptr_t)mem, mr->rkey, LEN, mem, 1);
	/* these the device */
	no_rereg(mr, acc, NULL, NULL, 0, ACCESS_ALL | IBV_ACCESS_ZERO_BASED, EINVAL);
	no_rereg(mr, trans, NULL, mem, (size_t)1 << 50, 0, EINVAL);
	must_access(&p, (uintptr_t)mem, mr->rkey, LEN, mem, 3);
	no_rereg(mr, trans, NULL, none, LEN, 0, EFAULT);
	/* the region has no memory left, so it can get no other right */
	no_rereg(mr, acc, NULL, NULL, 0, ACCESS_ALL, EINVAL);
	rereg(mr, trans, NULL, mem, LEN, 0);
	must_access(&p, (uintptr_t)mem, mr->rkey, LEN, mem, 2);
	no_rereg(mr, trans, NULL, none, LEN, 0, EFAULT);
	must_be_refused(&p, (uintptr_t)mem, mr->rkey, true, "refused");
	end_region(mr);
	pair_close(&p);
}

/*
 * With an IOVA one page off the address, two adjacent pages of memory may not be one block of the
 * address space: both ways of listing them agree.
 */
static void case_iova(void)
{
	enum { PAGES = 256 };
	const size_t page = page_size();
	uint8_t *mem = pages(PAGES * page, PROT_READ | PROT_WRITE);
	uint8_t *other = pages(page, PROT_READ | PROT_WRITE);
	struct pair p;
	int i;

	pair_open(&p);
	/* EINVAL: the kernel has no huge pages */
	require(!madvise(mem, PAGES * page, MADV_NOHUGEPAGE) || errno == EINVAL, "madvise: %s",
		strerror(errno));
	for (i = 0; i < PAGES; i++) {
		/* from half way on, pages with odd numbers come where those with even ones did */
		if (i == PAGES / 2)
			*other = 1;
		mem[i * page] = 1;
	}
	for (i = 0; i + 2 <= PAGES; i++) {
		uint8_t *at = mem + i * page;
		uint64_t iova = (uintptr_t)at + page;
		struct ibv_mr *mr = ibv_reg_mr_iova(p.b.pd, at, 2 * page, iova,
						    IBV_ACCESS_REMOTE_READ);
		/* around the end of the first page */
		size_t off = page - 4096;

		require(mr, "ibv_reg_mr_iova: %s", strerror(errno));
		rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL);
		must_access(&p, iova + off, mr->rkey, 2 * 4096, at + off, i);
		end_region(mr);
	}
	pair_close(&p);
}

/* Memory that must not be written does not become writable */
static void case_read_only(void)
{
	uint8_t *mem = pages(LEN, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p);
	memset(mem, 1, LEN);
	require(!mprotect(mem, LEN, PROT_READ), "%s", strerror(errno));
	mr = region(p.b.pd, mem, LEN, IBV_ACCESS_REMOTE_READ);
	no_rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL, EFAULT);
	must_be_refused(&p, (uintptr_t)mem, mr->rkey, false, "refused");
	require(mem[0] == 1, "written to");
	end_region(mr);
	/* other memory at the same address is not the registered memory */
	mem = pages(LEN, PROT_READ | PROT_WRITE);
	memset(mem, 1, LEN);
	mr = region(p.b.pd, mem, LEN, IBV_ACCESS_REMOTE_READ);
	require(mmap(mem, LEN, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem, "mmap");
	no_rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL, EFAULT);
	end_region(mr);
	pair_close(&p);
}

/*
 * Nor if only a part differs: the first page of a huge page stays, the others are replaced.
 * MADV_COLD splits the huge page into small ones in place.
 */
static void case_read_only_part(void)
{
	enum { HUGE = 2 << 20 };
	const size_t page = page_size();
	uint8_t *mem = pages(2 * HUGE, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p);
	mem = (uint8_t *)(((uintptr_t)mem + HUGE - 1) & -(uintptr_t)HUGE);
	madvise(mem, HUGE, MADV_HUGEPAGE);
	memset(mem, 1, HUGE);
	require(!madvise(mem + HUGE / 2, page, MADV_COLD), "cold: %s", strerror(errno));
	mr = region(p.b.pd, mem, HUGE, IBV_ACCESS_REMOTE_READ);
	require(mmap(mem + page, HUGE - page, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem + page, "mmap");
	no_rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL, EFAULT);
	end_region(mr);
	pair_close(&p);
}

/* MR-23: with a window bound nothing changes */
static void case_window(void)
{
	uint8_t *mem = pages(LEN, PROT_READ | PROT_WRITE);
	struct ibv_mw_bind bind = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct pair p;
	int err;

	pair_open(&p);
	mr = region(p.b.pd, mem, LEN, ACCESS_ALL | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_1);
	if (!mw && errno == EOPNOTSUPP)
		skip("no memory windows");
	require(mw, "%s", strerror(errno));
	bind.bind_info = (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)mem, .length = LEN,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	err = ibv_bind_mw(p.b.qp, mw, &bind);
	require(!err, "ibv_bind_mw: %s", strerror(err));
	expect_wc(p.b.scq, 5, IBV_WC_SUCCESS, "bind");
	for (int flags = 1; flags < 8; flags++)
		no_rereg(mr, flags, flags & IBV_REREG_MR_CHANGE_PD ? p.b.pd : NULL,
			 flags & IBV_REREG_MR_CHANGE_TRANSLATION ? mem : NULL,
			 flags & IBV_REREG_MR_CHANGE_TRANSLATION ? LEN : 0,
			 flags & IBV_REREG_MR_CHANGE_ACCESS ? ACCESS_ALL : 0, EBUSY);
	must_access(&p, (uintptr_t)mem, mr->rkey, LEN, mem, 1);
	must_access(&p, (uintptr_t)mem, mw->rkey, LEN, mem, 2);
	require(!ibv_dealloc_mw(mw), "%s", strerror(errno));
	rereg(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ACCESS_ALL);
	must_access(&p, (uintptr_t)mem, mr->rkey, LEN, mem, 3);
	end_region(mr);
	pair_close(&p);
}

/* MR-25: a stream of WRITEs while the region moves; none goes to the old memory */
#define RACE_LEN 60000

struct race {
	struct pair p;
	uint32_t rkey;
	volatile bool stop;
};

static void *race_writer(void *arg)
{
	struct race *r = arg;
	struct ibv_sge sge = sge_of(&r->p.a, 0, RACE_LEN);

	memset(r->p.a.buf, 0x11, RACE_LEN);
	while (!r->stop) {
		struct ibv_wc wc;

		if (post_wr(&r->p.a, IBV_WR_RDMA_WRITE, 1, &sge, 1, IBV_SEND_SIGNALED, 0, r->rkey))
			break;
		while (!r->stop && !ibv_poll_cq(r->p.a.scq, 1, &wc))
			;
	}
	return NULL;
}

static void case_race(void)
{
	for (int round = 0; round < 12; round++) {
		uint8_t *one = pages(2 * BUF_SIZE, PROT_READ | PROT_WRITE);
		uint8_t *two = pages(2 * BUF_SIZE, PROT_READ | PROT_WRITE);
		struct race r = { .stop = false };
		struct ibv_mr *mr;
		pthread_t thread;
		size_t where;

		memset(two, GUARD_BYTE, 2 * BUF_SIZE);
		pair_open(&r.p);
		mr = region(r.p.b.pd, one + 100, RACE_LEN, ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
		r.rkey = mr->rkey;
		require(!pthread_create(&thread, NULL, race_writer, &r), "thread");
		usleep(1000 * (1 + round));
		rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, two + 300, RACE_LEN, 0);
		/* the old memory belongs to the program alone again */
		memset(one, POISON_BYTE, 2 * BUF_SIZE);
		usleep(20000);
		require(all_bytes(one, POISON_BYTE, 2 * BUF_SIZE, &where),
			"octet %zu of the old memory", where);
		require(all_bytes(two, GUARD_BYTE, 300, &where) &&
			all_bytes(two + 300 + RACE_LEN, GUARD_BYTE, 2 * BUF_SIZE - 300 - RACE_LEN,
				  &where), "octet %zu beside the new memory", where);
		r.stop = true;
		require(!pthread_join(thread, NULL), "join");
		end_region(mr);
		pair_close(&r.p);
		munmap(one, 2 * BUF_SIZE);
		munmap(two, 2 * BUF_SIZE);
	}
}

/* MR-09: TO 0 is the first octet, wherever in its page */
static void case_zero_based(void)
{
	static const uint32_t offs[] = { 0, 1, 123, 4095, 4096, 8191 };
	uint8_t *mem = pages(16 * 4096, PROT_READ | PROT_WRITE);
	struct ibv_mr *mr;
	struct pair p;
	size_t where;

	pair_open(&p);
	for (size_t i = 0; i < ARRAY_SIZE(offs); i++) {
		memset(mem, GUARD_BYTE, 16 * 4096);
		mr = region(p.b.pd, mem + offs[i], LEN, ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
		must_access(&p, 0, mr->rkey, LEN, mem + offs[i], i + 1);
		must_access(&p, LEN - 1, mr->rkey, 1, mem + offs[i] + LEN - 1, i);
		require(all_bytes(mem, GUARD_BYTE, offs[i], &where) &&
			all_bytes(mem + offs[i] + LEN, GUARD_BYTE, 16 * 4096 - offs[i] - LEN, &where),
			"octet %zu beside", where);
		end_region(mr);
	}
	mr = region(p.b.pd, mem + 123, LEN, ACCESS_ALL | IBV_ACCESS_ZERO_BASED);
	must_be_refused(&p, LEN - 99, mr->rkey, true, "refused");
	end_region(mr);
	pair_close(&p);
}

/* MR-13: each combination of rights, at registration and later */
static void case_rights(void)
{
	static const int rights[] = {
		IBV_ACCESS_LOCAL_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_WRITE,
	};
	uint8_t *mem = pages(LEN, PROT_READ | PROT_WRITE);
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_mr *any, *mr;

	require(pd, "%s", strerror(errno));
	any = region(pd, mem, LEN, 0);
	for (int set = 0; set < 8; set++) {
		int access = 0;
		bool good;

		for (int i = 0; i < 3; i++)
			access |= set & 1 << i ? rights[i] : 0;
		good = !(access & IBV_ACCESS_REMOTE_WRITE) || access & IBV_ACCESS_LOCAL_WRITE;
		mr = ibv_reg_mr(pd, mem, LEN, access);
		require(!mr == !good && (mr || errno == EINVAL), "rights %#x: %s", access,
			strerror(errno));
		if (mr)
			end_region(mr);
		if (good)
			rereg(any, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access);
		else
			no_rereg(any, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, access, EINVAL);
	}
	end_region(any);
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

/* Files that are truncated below their mapping, before and after registration */
static void case_file(void)
{
	char name[] = "/dev/shm/srnic-memory-XXXXXX";
	const size_t page = page_size(), size = 5 * page;
	int fd = mkstemp(name);
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *mem, *last;

	require(fd >= 0 && !unlink(name) && !ftruncate(fd, size), "%s", strerror(errno));
	mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require(mem != MAP_FAILED, "%s", strerror(errno));
	last = mem + size - LEN;
	pair_open(&p);
	mr = region(p.b.pd, mem, size, ACCESS_ALL);
	must_access(&p, (uintptr_t)last, mr->rkey, LEN, last, 1);
	require(!ftruncate(fd, page), "%s", strerror(errno));
	/* the pages stay pinned, though the file has them no more */
	require(!try_access(&p, (uintptr_t)last, mr->rkey, LEN, 2), "after the file is shorter");
	/* but they cannot be pinned again */
	no_rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, size, 0, EFAULT);
	end_region(mr);
	require(!ibv_reg_mr(p.b.pd, mem, size, ACCESS_ALL) && errno == EFAULT, "%s",
		strerror(errno));
	mr = region(p.b.pd, mem, page, ACCESS_ALL);
	must_access(&p, (uintptr_t)mem, mr->rkey, 4096, mem, 3);
	end_region(mr);
	pair_close(&p);
	close(fd);
}

/* The memory of the old translation is not charged any more when the new one is pinned */
static void case_memlock(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_mr *mr;
	uint8_t *mem;

	require(pd, "%s", strerror(errno));
	mem = pages(4 << 20, PROT_READ | PROT_WRITE);
	require(!setrlimit(RLIMIT_MEMLOCK, &limit), "%s", strerror(errno));
	require(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534), "%s",
		strerror(errno));
	mr = region(pd, mem, 768 << 10, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < 50; i++)
		rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem + (i << 12), 768 << 10, 0);
	no_rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, 2 << 20, 0, ENOMEM);
	rereg(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem, 768 << 10, 0);
	end_region(mr);
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void measure(size_t mib)
{
	struct ibv_pd *pd = ibv_alloc_pd(test_context());

	require(pd, "%s", strerror(errno));
	for (int huge = 0; huge < 2; huge++) {
		double start, end;
		struct ibv_mr *mr;
		uint8_t *mem;

		mem = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0), -1, 0);
		if (mem == MAP_FAILED) {
			printf("%s pages: %s\n", huge ? "huge" : "small", strerror(errno));
			continue;
		}
		if (!huge)
			madvise(mem, mib << 20, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < mib << 20; i += 4096)
			mem[i] = 1;
		start = seconds();
		mr = region(pd, mem, mib << 20, ACCESS_ALL);
		end = seconds();
		printf("%s pages: register %.1f us", huge ? "huge" : "small",
		       (end - start) * 1e6 / mib);
		end_region(mr);
		printf(", deregister %.1f us per MiB\n", (seconds() - end) * 1e6 / mib);
		munmap(mem, mib << 20);
	}
}

/*
 * Another context of the same open device, as in a process that got the file: it imports objects
 * that exist, and they outlive it.
 */
static void case_import(void)
{
	struct ibv_context *other;
	struct ibv_mr *mr, *own;
	struct ibv_sge sge;
	struct ibv_pd *pd;
	struct pair p;
	uint8_t *mem;

	pair_open(&p);
	other = ibv_import_device(dup(p.a.id->verbs->cmd_fd));
	require(other, "ibv_import_device: %s", strerror(errno));
	pd = ibv_import_pd(other, p.a.pd->handle);
	require(pd, "ibv_import_pd: %s", strerror(errno));
	mr = ibv_import_mr(pd, p.a.mr->handle);
	require(mr, "ibv_import_mr: %s", strerror(errno));
	require(mr->lkey == p.a.mr->lkey && mr->rkey == p.a.mr->rkey &&
		mr->length == p.a.mr->length, "another region");
	require(!ibv_import_mr(pd, 0x7ffffff0), "a region that there is not");

	/* one PD: a region made in the one is used with a QP of the other */
	mem = mmap(NULL, BUF_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(mem != MAP_FAILED, "mmap: %s", strerror(errno));
	own = ibv_reg_mr(pd, mem, BUF_SIZE, ACCESS_ALL);
	require(own, "ibv_reg_mr: %s", strerror(errno));
	memset(mem, 0x5a, 100);
	memset(p.b.buf, 0, 100);
	sge = (struct ibv_sge){ (uintptr_t)mem, 100, own->lkey };
	require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, 1, &sge, 1, IBV_SEND_SIGNALED,
			 (uintptr_t)p.b.buf, p.b.mr->rkey), "ibv_post_send");
	expect_wc(p.a.scq, 1, IBV_WC_SUCCESS, "from a region of the importer");
	pair_works(&p, "with an importer");
	require(p.b.buf[0] == 0x5a && p.b.buf[99] == 0x5a, "nothing was written");

	require(!ibv_dereg_mr(own), "%s", strerror(errno));
	ibv_unimport_mr(mr);
	ibv_unimport_pd(pd);
	require(!ibv_close_device(other), "%s", strerror(errno));
	munmap(mem, BUF_SIZE);
	pair_works(&p, "without the importer");
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "combinations", case_combinations, "translation, PD, access: changed in all combinations" },
	{ "thousand", case_thousand, "registered anew a thousand times" },
	{ "taken-away", case_taken_away, "old addresses, rights and PD are refused" },
	{ "failed", case_failed, "a region that could not be registered anew" },
	{ "read-only", case_read_only, "read-only memory stays that" },
	{ "read-only-part", case_read_only_part, "nor does memory that was put in its place" },
	{ "iova", case_iova, "regions with other addresses than their memory" },
	{ "window", case_window, "refused with a window bound" },
	{ "race", case_race, "registered anew under a stream of WRITEs" },
	{ "zero-based", case_zero_based, "zero-based regions at odd addresses" },
	{ "rights", case_rights, "each combination of rights" },
	{ "file", case_file, "files that get shorter" },
	{ "memlock", case_memlock, "the old memory does not count against RLIMIT_MEMLOCK" },
	{ "import", case_import, "PD and region of another context" },
};

static const struct test_program prog = {
	.usage = "memory --list | ADDR CASE | --measure ADDR MIB",
	.timeout_env = "MEMORY_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--measure")) {
		test_addr = argv[2];
		measure(atoi(argv[3]));
		return 0;
	}
	return run_cases(&prog, argc, argv);
}
