// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * odp: regions of memory that is paged on demand.
 *
 *	odp --list		names of the cases
 *	odp ADDR CASE		run one, over the device that has address ADDR
 *	odp --measure ADDR	64 KiB Writes to memory on demand, and to pinned memory
 *	odp ADDR overcommit	in a cgroup with 12 MiB of memory, and with swap
 *	odp ADDR unsupported	on a kernel without on-demand paging
 *
 * Both ends of each connection are in one process. Exit status 0: passed, 1: failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cases.h"
#include "region.h"

/* What the kernel takes in one by one; 64 KiB on some processors */
#define PAGE		((size_t)sysconf(_SC_PAGESIZE))
#define LEN		(64 * PAGE)
#define RW		(PROT_READ | PROT_WRITE)
#define ODP		(ACCESS_ALL | IBV_ACCESS_ON_DEMAND)
/* Of accesses under way while the memory changes */
#define ROUNDS		150

/* A pair, and a region of b of memory that nobody has touched, which is returned */
static uint8_t *open_region(struct pair *p, struct ibv_mr **mr)
{
	uint8_t *mem = pages(LEN, RW);

	pair_open(p);
	*mr = region(p->b.pd, mem, LEN, ODP);
	return mem;
}

static void close_region(struct pair *p, struct ibv_mr *mr)
{
	end_region(mr);
	pair_close(p);
}

/* a writes @len octets of pattern @key to @to */
static void write_to(struct pair *p, void *to, uint32_t rkey, uint32_t len, uint64_t key)
{
	struct ibv_sge sge = sge_of(&p->a, 0, len);

	pattern_fill(p->a.buf, key, 0, len);
	require(!post_wr(&p->a, IBV_WR_RDMA_WRITE, 1, &sge, 1, IBV_SEND_SIGNALED, (uintptr_t)to,
			 rkey), "post");
	expect_wc(p->a.scq, 1, IBV_WC_SUCCESS, "WRITE");
}

/* a reads @len octets from @from, to the second half of its buffer: a READ follows its Writes */
static const uint8_t *read_from(struct pair *p, void *from, uint32_t rkey, uint32_t len)
{
	uint8_t *at = p->a.buf + BUF_SIZE / 2;
	struct ibv_sge sge = sge_of(&p->a, BUF_SIZE / 2, len);

	memset(at, POISON_BYTE, len);
	require(!post_wr(&p->a, IBV_WR_RDMA_READ, 2, &sge, 1, IBV_SEND_SIGNALED, (uintptr_t)from,
			 rkey), "post");
	expect_wc(p->a.scq, 2, IBV_WC_SUCCESS, "READ");
	return at;
}

/*
 * User Mode Linux with several CPUs shows a program the changes of its page table that another CPU
 * has made, as a new page for a Write after fork(), when the program comes out of the kernel next.
 */
static void must_match(const void *mem, uint64_t key, size_t len, const char *what)
{
	uint8_t want;
	size_t where;

	sched_yield();
	require(pattern_matches(mem, key, 0, len, &where, &want), "%s: octet %zu", what, where);
}

static void must_access(struct pair *p, uint8_t *mem, uint32_t rkey, uint32_t len, uint64_t key)
{
	write_to(p, mem, rkey, len, key);
	must_match(read_from(p, mem, rkey, len), key, len, "read back");
	must_match(mem, key, len, "in memory");
}

/* Memory that nobody has touched: target and source of Writes and Reads, at odd places */
static void case_remote(void)
{
	const uint32_t len = 30001;
	struct ibv_mr *mr;
	uint8_t *mem;
	struct pair p;

	mem = open_region(&p, &mr);
	must_match(read_from(&p, mem + 3 * PAGE + 9, mr->rkey, 0), 0, 0, "nothing");
	require(!*read_from(&p, mem + 40 * PAGE - 1, mr->rkey, 2), "a fresh page is zero");
	must_access(&p, mem + 1021, mr->rkey, len, 1);
	must_access(&p, mem + 1021, mr->rkey, len, 2);
	must_access(&p, mem + LEN - len, mr->rkey, len, 3);
	must_match(mem + 1021, 2, len, "beside it");
	require(!mem[1020] && !mem[1021 + len], "beside it");
	end_region(mr);
	must_match(mem + 1021, 2, len, "without the region");
	pair_works(&p, "after that");
	pair_close(&p);
}

/* Local memory: Sends, receives, sources of Writes, sinks of Reads */
static void case_local(void)
{
	const uint32_t len = 3 * 4096 + 5;
	struct ibv_mr *out, *in;
	struct ibv_sge sge;
	uint8_t *src, *dst;
	struct pair p;

	pair_open(&p);
	src = pages(LEN, RW);
	dst = pages(LEN, RW);
	out = region(p.a.pd, src, LEN, ODP);
	in = region(p.b.pd, dst, LEN, ODP);
	for (int i = 0; i < 3; i++) {
		pattern_fill(src + 77, i, 0, len);
		sge = (struct ibv_sge){ (uintptr_t)dst + 4000, len, in->lkey };
		require(!post_rwr(&p.b, 5, &sge, 1), "post");
		sge = (struct ibv_sge){ (uintptr_t)src + 77, len, out->lkey };
		require(!post_wr(&p.a, IBV_WR_SEND, 6, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
		expect_wc(p.a.scq, 6, IBV_WC_SUCCESS, "SEND");
		expect_wc(p.b.rcq, 5, IBV_WC_SUCCESS, "receive");
		must_match(dst + 4000, i, len, "received");
		/* lost, as the process says so; then it is taken in anew */
		require(!madvise(dst, LEN, MADV_DONTNEED) && !madvise(src, LEN, MADV_DONTNEED),
			"%s", strerror(errno));
	}
	pattern_fill(src, 9, 0, len);
	sge = (struct ibv_sge){ (uintptr_t)src, len, out->lkey };
	require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, 7, &sge, 1, 0, (uintptr_t)dst, in->rkey),
		"post");
	sge.addr += 20 * PAGE - 9;
	require(!post_wr(&p.a, IBV_WR_RDMA_READ, 8, &sge, 1, IBV_SEND_SIGNALED, (uintptr_t)dst,
			 in->rkey), "post");
	expect_wc(p.a.scq, 8, IBV_WC_SUCCESS, "READ");
	must_match(src + 20 * PAGE - 9, 9, len, "read back");
	end_region(out);
	end_region(in);
	pair_works(&p, "after that");
	pair_close(&p);
}

/*
 * A region eight times as large as what may be pinned. The end of the process closes the pair:
 * another user's ids cannot be destroyed
 */
static void eight_times(size_t pinned)
{
	const struct rlimit limit = { pinned, pinned };
	const size_t size = 8 * pinned, step = BUF_SIZE / 2;
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *mem;

	pair_open(&p);
	mem = pages(size, RW);
	madvise(mem, size, MADV_NOHUGEPAGE);
	require(!setrlimit(RLIMIT_MEMLOCK, &limit), "%s", strerror(errno));
	require(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534), "%s",
		strerror(errno));
	mr = ibv_reg_mr(p.b.pd, mem, size, ACCESS_ALL);
	require(!mr && errno == ENOMEM, "pinned: %s", mr ? "taken" : strerror(errno));
	mr = region(p.b.pd, mem, size, ODP);
	for (size_t at = 0; at < size; at += step)
		write_to(&p, mem + at, mr->rkey, step, at);
	for (size_t at = 0; at < size; at += step) {
		must_match(read_from(&p, mem + at, mr->rkey, step), at, step, "read back");
		must_match(mem + at, at, step, "in memory");
	}
	end_region(mr);
}

static void case_memlock(void)
{
	eight_times(1 << 20);
}

/* In a cgroup that has as much memory as may be pinned, and swap */
static void case_overcommit(void)
{
	eight_times(12 << 20);
	note("%ld MiB are swapped out", swapped_kib() >> 10);
	require(swapped_kib() > 64 << 10, "%ld KiB are swapped out", swapped_kib());
}

/* All of the address space, and what comes into it later */
static void case_implicit(void)
{
	struct ibv_mr *mr, *again;
	uint8_t *mem, *later;
	struct pair p;

	pair_open(&p);
	mem = pages(LEN, RW);
	mr = region(p.b.pd, NULL, SIZE_MAX, ODP);
	later = pages(LEN, RW);
	must_access(&p, mem + 5, mr->rkey, 9999, 1);
	must_access(&p, later + 7, mr->rkey, 9999, 2);
	again = region(p.b.pd, mem, LEN, ODP);
	must_access(&p, mem + 6, again->rkey, 999, 3);
	must_access(&p, mem + 6, mr->rkey, 9999, 4);
	end_region(again);
	munmap(later, LEN);
	must_be_refused(&p, (uintptr_t)later, mr->rkey, false, "unmapped");
	close_region(&p, mr);
}

/* Addresses that no process has, or has by another name: a tag is no part of an address */
static void case_beyond(void)
{
	uint8_t *mem = pages(LEN, RW);
	const uint64_t at[] = {
		(uintptr_t)mem | 1ull << 56, (uintptr_t)mem | 1ull << 63, 0xffffffffff600000,
		-(uint64_t)PAGE, 0,
	};

	memset(mem, 1, LEN);
	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(at); i++) {
		struct ibv_mr *mr;
		struct pair p;

		pair_open(&p);
		mr = region(p.b.pd, NULL, SIZE_MAX, ODP);
		must_access(&p, mem, mr->rkey, 9999, i);
		must_be_refused(&p, at[i / 2], mr->rkey, i % 2, "beyond");
		close_region(&p, mr);
	}
	munmap(mem, LEN);
}

enum { UNMAPPED, READ_ONLY, NO_ACCESS, SHORTER, WAYS };

/* What the process does not have ends the connection; what it has is there up to then */
static void gone(int way, bool read)
{
	uint8_t *mem;
	struct ibv_mr *mr;
	struct pair p;
	int fd;

	pair_open(&p);
	fd = memfd_create("odp", 0);
	require(fd >= 0 && !ftruncate(fd, LEN), "%s", strerror(errno));
	mem = way == SHORTER ? mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) :
			       pages(LEN, RW);
	require(mem != MAP_FAILED, "%s", strerror(errno));
	mr = region(p.b.pd, mem, LEN, ODP);
	must_access(&p, mem + 10 * PAGE, mr->rkey, 2 * 4096, 1);
	switch (way) {
	case UNMAPPED:
		munmap(mem + 10 * PAGE, PAGE);
		break;
	case READ_ONLY:
		mprotect(mem + 10 * PAGE, PAGE, PROT_READ);
		must_match(read_from(&p, mem + 10 * PAGE, mr->rkey, 4096), 1, 4096, "read-only");
		break;
	case NO_ACCESS:
		mprotect(mem + 10 * PAGE, PAGE, PROT_NONE);
		break;
	case SHORTER:
		require(!ftruncate(fd, 10 * PAGE), "%s", strerror(errno));
		break;
	}
	must_access(&p, mem + 9 * PAGE, mr->rkey, 4096, 2);
	must_be_refused(&p, (uintptr_t)(mem + 10 * PAGE), mr->rkey, read, "memory that is gone");
	end_region(mr);
	munmap(mem, LEN);
	close(fd);
	pair_close(&p);
}

static void case_gone(void)
{
	for (int way = 0; way < WAYS; way++) {
		gone(way, false);
		if (way != READ_ONLY)
			gone(way, true);
	}
}

/* Local memory that is gone: a Send that fails, a receive that fails */
static void case_gone_here(void)
{
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *mem;

	pair_open(&p);
	mem = pages(LEN, RW);
	mr = region(p.a.pd, mem, LEN, ODP);
	munmap(mem, LEN);
	sge = (struct ibv_sge){ (uintptr_t)mem, 100, mr->lkey };
	must_recv(&p.b, 3, 0, 100);
	require(!post_wr(&p.a, IBV_WR_SEND, 4, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
	expect_wc(p.a.scq, 4, IBV_WC_LOC_PROT_ERR, "SEND");
	expect_wc(p.b.rcq, 3, IBV_WC_WR_FLUSH_ERR, "receive");
	expect_disconnected(&p.a, "SEND");
	close_region(&p, mr);

	mem = open_region(&p, &mr);
	munmap(mem, LEN);
	sge = (struct ibv_sge){ (uintptr_t)mem, 100, mr->lkey };
	require(!post_rwr(&p.b, 5, &sge, 1), "post");
	sge = sge_of(&p.a, 0, 100);
	require(!post_wr(&p.a, IBV_WR_SEND, 6, &sge, 1, IBV_SEND_SIGNALED, 0, 0), "post");
	expect_wc(p.b.rcq, 5, IBV_WC_LOC_PROT_ERR, "receive");
	expect_disconnected(&p.b, "receive");
	close_region(&p, mr);
}

/* The next accesses find new memory at the same address, whatever was there */
static void case_anew(void)
{
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *mem;

	mem = open_region(&p, &mr);
	for (int i = 0; i < 20; i++) {
		must_access(&p, mem + 100, mr->rkey, 20000, i);
		if (i & 1) {
			require(!madvise(mem, LEN, MADV_DONTNEED), "%s", strerror(errno));
		} else {
			require(!munmap(mem, LEN), "%s", strerror(errno));
			require(mmap(mem, LEN, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mem,
				"%s", strerror(errno));
		}
		require(!read_from(&p, mem + 100, mr->rkey, 1)[0], "new memory is zero");
	}
	close_region(&p, mr);
}

/* A child has the memory of the moment of the fork; the region stays with the parent */
static void case_fork(void)
{
	int go[2], status;
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *mem;
	pid_t child;
	char c = 0;

	mem = open_region(&p, &mr);
	must_access(&p, mem + 50, mr->rkey, 10000, 1);
	require(!pipe(go), "%s", strerror(errno));
	child = fork();
	require(child >= 0, "%s", strerror(errno));
	if (!child) {
		uint8_t want;
		size_t where;

		if (read(go[0], &c, 1) != 1 || !pattern_matches(mem + 50, 1, 0, 10000, &where,
								&want))
			_exit(1);
		memset(mem, 0xff, LEN);
		_exit(0);
	}
	must_access(&p, mem + 50, mr->rkey, 10000, 2);
	require(write(go[1], &c, 1) == 1, "%s", strerror(errno));
	require(waitpid(child, &status, 0) == child && !status, "the child saw the Write");
	must_match(read_from(&p, mem + 50, mr->rkey, 10000), 2, 10000, "the child's memory");
	must_access(&p, mem + 50, mr->rkey, 10000, 3);
	close_region(&p, mr);
}

static bool ksm_set(const char *name, const char *value)
{
	char path[64];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/mm/ksm/%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	done = write(fd, value, strlen(value)) > 0;
	close(fd);
	return done;
}

/* Pages beside the first of their kind */
static int ksm_shared(void)
{
	FILE *f = fopen("/sys/kernel/mm/ksm/pages_sharing", "r");
	int n;

	require(f && fscanf(f, "%d", &n) == 1, "pages_sharing");
	fclose(f);
	return n;
}

#define SAME		8

static void must_be_the_same(struct pair *p, uint8_t *mem, uint32_t rkey, int but)
{
	for (int i = 0; i < SAME; i++) {
		if (i == but)
			continue;
		must_match(read_from(p, mem + i * PAGE, rkey, 4096), 1, 4096, "another page, read");
		must_match(mem + i * PAGE, 1, 4096, "another page");
	}
}

/* Pages with the same octets become one page, until one of them is written */
static void case_same(void)
{
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *mem;

	if (!ksm_set("run", "2"))
		skip("the kernel does not merge pages");
	mem = open_region(&p, &mr);
	for (int i = 0; i < SAME; i++)
		write_to(&p, mem + i * PAGE, mr->rkey, 4096, 1);
	must_be_the_same(&p, mem, mr->rkey, SAME);
	require(!madvise(mem, SAME * PAGE, MADV_MERGEABLE), "%s", strerror(errno));
	require(ksm_set("pages_to_scan", "1000") && ksm_set("sleep_millisecs", "5") &&
		ksm_set("run", "1"), "%s", strerror(errno));
	for (int i = 0; i < 400 && ksm_shared() < SAME - 1; i++)
		usleep(50000);
	require(ksm_shared() >= SAME - 1, "%d pages are merged", ksm_shared());
	must_be_the_same(&p, mem, mr->rkey, SAME);
	must_access(&p, mem + 3 * PAGE, mr->rkey, 4096, 2);
	must_be_the_same(&p, mem, mr->rkey, 3);
	require(ksm_set("run", "2") && ksm_set("run", "0"), "%s", strerror(errno));
	must_be_the_same(&p, mem, mr->rkey, 3);
	must_access(&p, mem + 4096 * 3, mr->rkey, 2 * 4096, 3);
	close_region(&p, mr);
}

static void must_be_unfit(uint8_t *mem, const char *what)
{
	struct ibv_mr *mr;
	struct pair p;

	pair_open(&p);
	mr = region(p.b.pd, mem, LEN, ODP);
	must_be_refused(&p, (uintptr_t)(mem + 5), mr->rkey, true, what);
	close_region(&p, mr);
}

/* Not every processor has it */
static int secret_memory(void)
{
#ifdef SYS_memfd_secret
	return syscall(SYS_memfd_secret, O_CLOEXEC);
#else
	return -1;
#endif
}

/* Pages that the program itself would have to fill, and pages that the kernel cannot touch */
static void case_unfit(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fill = syscall(SYS_userfaultfd, O_CLOEXEC);
	int secret = secret_memory();

	if (fill < 0 && secret < 0)
		skip("the kernel has no such memory");
	if (fill >= 0) {
		struct uffdio_register reg = {
			.range = { (uintptr_t)pages(LEN, RW), LEN },
			.mode = UFFDIO_REGISTER_MODE_MISSING,
		};

		require(!ioctl(fill, UFFDIO_API, &api) && !ioctl(fill, UFFDIO_REGISTER, &reg), "%s",
			strerror(errno));
		must_be_unfit((uint8_t *)(uintptr_t)reg.range.start, "a page to be filled");
		close(fill);
	}
	if (secret >= 0) {
		uint8_t *mem;

		require(!ftruncate(secret, LEN), "%s", strerror(errno));
		mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, secret, 0);
		require(mem != MAP_FAILED, "%s", strerror(errno));
		memset(mem, 1, LEN);
		must_be_unfit(mem, "a secret page");
		close(secret);
	}
}

/* ----- memory that changes under accesses ----- */

struct changer {
	uint8_t *mem;
	int way;
	atomic_bool stop;
	pthread_t thread;
};

/* Never is there a moment without memory */
static void *change(void *arg)
{
	struct changer *c = arg;

	for (unsigned int i = 0; !atomic_load(&c->stop); i++) {
		size_t off = i * 7 % 32 * PAGE;
		void *at;

		switch (c->way) {
		case 0:
			madvise(c->mem + off, 8 * PAGE, MADV_DONTNEED);
			break;
		case 1:
			if (mmap(c->mem + off, 8 * PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
				die("mmap: %s", strerror(errno));
			break;
		case 2:
			at = mremap(c->mem + off, 8 * PAGE, 8 * PAGE,
				    MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
			if (at == MAP_FAILED)
				die("mremap: %s", strerror(errno));
			munmap(at, 8 * PAGE);
			break;
		case 3:
			mprotect(c->mem + off, 8 * PAGE, PROT_READ);
			mprotect(c->mem + off, 8 * PAGE, PROT_READ | PROT_WRITE);
			break;
		case 4:
			if (!fork())
				_exit(0);
			waitpid(-1, NULL, 0);
			break;
		default:
			madvise(c->mem, LEN, i & 1 ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
			madvise(c->mem, LEN, MADV_PAGEOUT);
		}
	}
	return NULL;
}

static void change_begins(struct changer *c, uint8_t *mem, int way)
{
	*c = (struct changer){ .mem = mem, .way = way };
	require(!pthread_create(&c->thread, NULL, change, c), "pthread_create");
}

static void change_ends(struct changer *c)
{
	atomic_store(&c->stop, true);
	pthread_join(c->thread, NULL);
}

/* Ways after which the memory has what was written */
static bool keeps(int way)
{
	return way > 3;
}

static struct ibv_mr *one_or_all(struct ibv_pd *pd, uint8_t *mem, bool all)
{
	return region(pd, all ? NULL : mem, all ? SIZE_MAX : LEN, ODP);
}

/*
 * The region comes and goes, too. @way 3 takes the right away for a moment: Writes would be
 * refused
 */
static void churn(int way)
{
	struct changer c;
	struct ibv_mr *mr;
	struct pair p;
	uint8_t *mem;

	pair_open(&p);
	mem = pages(LEN, RW);
	mr = one_or_all(p.b.pd, mem, way & 1);
	change_begins(&c, mem, way);
	for (int i = 0; i < ROUNDS; i++) {
		uint8_t *at = mem + i % 31 * PAGE + i % 5;
		const uint8_t *back;

		if (way != 3)
			write_to(&p, at, mr->rkey, 20000, i);
		back = read_from(&p, at, mr->rkey, 20000);
		if (keeps(way)) {
			must_match(back, i, 20000, "read back");
			must_match(at, i, 20000, "in memory");
		}
		if (i % 10 == 5) {
			end_region(mr);
			mr = one_or_all(p.b.pd, mem, i & way & 1);
		}
	}
	change_ends(&c);
	/* the region has accesses behind it, and nothing of the pages that went since */
	for (int i = 0; i < 32; i += 6)
		must_access(&p, mem + i * PAGE + 11, mr->rkey, 30000, 4711 + i);
	end_region(mr);
	pair_works(&p, "after that");
	pair_close(&p);
}

static void case_churn(void)
{
	for (int way = 0; way < 6; way++)
		churn(way);
}

/* The process is killed while pages are taken in */
static void case_exit(void)
{
	struct pair p;

	for (int i = 0; i < 10; i++) {
		pid_t child = fork();
		int status;

		require(child >= 0, "%s", strerror(errno));
		if (!child) {
			struct changer c;
			struct ibv_mr *mr;
			uint8_t *mem;

			pair_open(&p);
			mem = pages(LEN, RW);
			mr = one_or_all(p.b.pd, mem, i & 1);
			change_begins(&c, mem, 0);
			for (int n = 0;; n++)
				write_to(&p, mem + n % 31 * PAGE, mr->rkey, 20000, n);
		}
		usleep(1000000 + i * 37000);
		require(!kill(child, SIGKILL), "%s", strerror(errno));
		require(waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
			WTERMSIG(status) == SIGKILL, "the child had ended: %#x", status);
	}
	pair_open(&p);
	pair_works(&p, "after that");
	pair_close(&p);
}

static void advise(struct ibv_mr *mr, void *at, uint32_t len, enum ibv_advise_mr_advice advice,
		   int want, const char *what)
{
	struct ibv_sge sge = { (uintptr_t)at, len, mr->lkey };
	int err = ibv_advise_mr(mr->pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);

	require(err == want, "%s: %s in place of %s", what, strerror(err), strerror(want));
}

static bool resident(uint8_t *mem)
{
	unsigned char in;

	require(!mincore(mem, PAGE, &in), "%s", strerror(errno));
	return in & 1;
}

static void case_advise(void)
{
	const enum ibv_advise_mr_advice rd = IBV_ADVISE_MR_ADVICE_PREFETCH;
	const enum ibv_advise_mr_advice wr = IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	const enum ibv_advise_mr_advice at_hand = IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT;
	struct ibv_mr *mr, *pinned, *ro, *all, alien;
	struct pair p;
	uint8_t *mem;

	pair_open(&p);
	mem = pages(LEN, RW);
	madvise(mem, LEN, MADV_NOHUGEPAGE);
	mr = region(p.b.pd, mem, LEN, ODP);
	pinned = region(p.b.pd, mem + 60 * PAGE, PAGE, ACCESS_ALL);
	ro = region(p.b.pd, mem, LEN, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND);
	all = region(p.b.pd, NULL, SIZE_MAX, ODP);

	advise(mr, mem, LEN, at_hand, 0, "what is at hand");
	require(!resident(mem + 5 * PAGE), "it was not at hand");
	advise(mr, mem + 5 * PAGE, 2, wr, 0, "a page");
	require(resident(mem + 5 * PAGE) && !resident(mem + 6 * PAGE), "one page");
	advise(mr, mem + 100, LEN - 100, wr, 0, "to write");
	require(resident(mem + 50 * PAGE), "to write");
	advise(mr, mem, LEN, rd, 0, "to read");
	advise(ro, mem, LEN, rd, 0, "to read, read-only");
	advise(all, mem, LEN, wr, 0, "anywhere");
	must_access(&p, mem + 3, mr->rkey, 9999, 1);

	advise(mr, mem, LEN + 1, rd, EFAULT, "behind the region");
	advise(ro, mem, PAGE, wr, EPERM, "to write, read-only");
	advise(pinned, mem + 60 * PAGE, PAGE, rd, EINVAL, "pinned");
	alien = *mr;
	alien.pd = p.a.pd;
	advise(&alien, mem, PAGE, rd, EPERM, "another PD");
	alien = *mr;
	alien.lkey ^= 0xff00;
	advise(&alien, mem, PAGE, rd, EFAULT, "no region");
	advise(mr, mem, PAGE, 77, EOPNOTSUPP, "no advice");
	require(!munmap(mem + 20 * PAGE, PAGE), "%s", strerror(errno));
	advise(mr, mem, LEN, rd, EFAULT, "a hole");
	advise(mr, mem, LEN, at_hand, 0, "a hole, and what is at hand");
	advise(all, NULL, PAGE, rd, EFAULT, "nothing");
	require(!mprotect(mem, PAGE, PROT_READ), "%s", strerror(errno));
	advise(mr, mem, PAGE, rd, 0, "a read-only page");
	advise(mr, mem, PAGE, wr, EFAULT, "a read-only page, to write");
	must_access(&p, mem + PAGE, mr->rkey, 9999, 2);
	end_region(all);
	end_region(ro);
	end_region(pinned);
	close_region(&p, mr);
}

/* To pinned memory and back; with the translation only */
static void case_rereg(void)
{
	const int trans = IBV_REREG_MR_CHANGE_TRANSLATION, access = IBV_REREG_MR_CHANGE_ACCESS;
	struct ibv_mr *mr;
	uint8_t *mem;
	struct pair p;

	pair_open(&p);
	mem = pages(LEN, RW);
	mr = region(p.b.pd, mem, LEN / 2, ODP);
	must_access(&p, mem + 9, mr->rkey, 9999, 1);
	require(ibv_rereg_mr(mr, access, NULL, NULL, 0, ACCESS_ALL) == IBV_REREG_MR_ERR_CMD &&
		errno == EINVAL, "to pinned memory, without a translation");
	must_access(&p, mem + 9, mr->rkey, 9999, 2);
	require(!ibv_rereg_mr(mr, trans, NULL, mem + LEN / 2, LEN / 2, 0), "%s", strerror(errno));
	must_access(&p, mem + LEN / 2 + 9, mr->rkey, 9999, 3);
	require(!ibv_rereg_mr(mr, access, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE |
			      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND), "%s",
		strerror(errno));
	must_match(read_from(&p, mem + LEN / 2 + 9, mr->rkey, 9999), 3, 9999, "read-only");
	require(!ibv_rereg_mr(mr, trans | access, NULL, mem, LEN, ACCESS_ALL), "%s",
		strerror(errno));
	must_access(&p, mem + 9, mr->rkey, 9999, 4);
	require(!madvise(mem, LEN, MADV_DONTNEED), "%s", strerror(errno));
	require(ibv_rereg_mr(mr, access, NULL, NULL, 0, ODP) == IBV_REREG_MR_ERR_CMD &&
		errno == EINVAL, "from pinned memory, without a translation");
	require(!ibv_rereg_mr(mr, trans | access, NULL, mem, LEN, ODP), "%s", strerror(errno));
	must_access(&p, mem + 9, mr->rkey, 9999, 5);
	close_region(&p, mr);
}

/* A window on a part, and on what is beside it */
static void case_window(void)
{
	struct ibv_mw_bind bind = { .wr_id = 5, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct pair p;
	uint8_t *mem;

	pair_open(&p);
	mem = pages(LEN, RW);
	mr = region(p.b.pd, mem, LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND |
		    IBV_ACCESS_ON_DEMAND);
	mw = ibv_alloc_mw(p.b.pd, IBV_MW_TYPE_1);
	require(mw, "%s", strerror(errno));
	bind.bind_info = (struct ibv_mw_bind_info){ mr, (uintptr_t)mem + 2 * PAGE + 5, 9 * PAGE,
		IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE };
	require(!ibv_bind_mw(p.b.qp, mw, &bind), "ibv_bind_mw");
	expect_wc(p.b.scq, 5, IBV_WC_SUCCESS, "ibv_bind_mw");
	must_access(&p, mem + 2 * PAGE + 5, mw->rkey, 30000, 1);
	require(!madvise(mem, LEN, MADV_DONTNEED), "%s", strerror(errno));
	must_access(&p, mem + 3 * PAGE, mw->rkey, 30000, 2);
	must_be_refused(&p, (uintptr_t)(mem + 2 * PAGE), mw->rkey, true, "before the window");
	require(!ibv_dealloc_mw(mw), "ibv_dealloc_mw");
	close_region(&p, mr);
}

static uint64_t fetch_add(struct pair *p, struct ibv_sge *sge, void *to, uint32_t rkey,
			  uint64_t add)
{
	struct ibv_send_wr wr = {
		.wr_id = 8, .sg_list = sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = { (uintptr_t)to, add, 0, rkey },
	}, *bad;

	require(!ibv_post_send(p->a.qp, &wr, &bad), "post");
	expect_wc(p->a.scq, 8, IBV_WC_SUCCESS, "atomic");
	return *(uint64_t *)(uintptr_t)sge->addr;
}

/* At the target, and where the value goes */
static void case_atomic(void)
{
	struct ibv_mr *mr, *sink;
	struct ibv_sge sge;
	uint8_t *mem, *in;
	struct pair p;

	pair_open(&p);
	mem = pages(LEN, RW);
	in = pages(LEN, RW);
	mr = region(p.b.pd, mem, LEN, ODP | IBV_ACCESS_REMOTE_ATOMIC);
	sink = region(p.a.pd, in, LEN, ODP);
	sge = (struct ibv_sge){ (uintptr_t)in + PAGE, 8, sink->lkey };
	require(!fetch_add(&p, &sge, mem + 8, mr->rkey, 5), "the first value");
	require(fetch_add(&p, &sge, mem + 8, mr->rkey, 6) == 5, "the second value");
	require(!madvise(in, LEN, MADV_DONTNEED), "%s", strerror(errno));
	require(fetch_add(&p, &sge, mem + 8, mr->rkey, 7) == 11, "the third value");
	require(*(uint64_t *)(mem + 8) == 18, "in memory");
	end_region(mr);
	end_region(sink);
	pair_close(&p);
}

/* What is written reaches the file, and the process's other view of it */
static void case_file(void)
{
	char path[] = "/var/tmp/odp-XXXXXX";
	int fd = mkstemp(path);
	uint8_t *mem, *other;
	struct ibv_mr *mr;
	struct pair p;

	require(fd >= 0 && !ftruncate(fd, LEN), "%s: %s", path, strerror(errno));
	unlink(path);
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = malloc(30000);
	require(mem != MAP_FAILED && other, "%s", strerror(errno));
	pair_open(&p);
	mr = region(p.b.pd, mem, LEN, ODP);
	for (int i = 0; i < 5; i++) {
		write_to(&p, mem + 2 * PAGE + 3, mr->rkey, 30000, i);
		must_match(read_from(&p, mem + 2 * PAGE + 3, mr->rkey, 30000), i, 30000, "read");
		require(!fsync(fd), "%s", strerror(errno));
		require(pread(fd, other, 30000, 2 * PAGE + 3) == 30000, "%s", strerror(errno));
		must_match(other, i, 30000, "in the file");
	}
	munmap(mem, LEN);
	require(pread(fd, other, 30000, 2 * PAGE + 3) == 30000, "%s", strerror(errno));
	must_match(other, 4, 30000, "in the file, unmapped");
	end_region(mr);
	free(other);
	close(fd);
	pair_close(&p);
}

/* Flags and ranges that are refused */
static void case_refused(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(test_context());
	uint8_t *mem = pages(LEN, RW);

	require(pd, "%s", strerror(errno));
	require(!ibv_reg_mr(pd, mem, LEN, IBV_ACCESS_HUGETLB) && errno == EOPNOTSUPP,
		"huge pages, pinned: %s", strerror(errno));
	require(!ibv_reg_mr(pd, mem, 0, ODP) && errno == EINVAL, "nothing: %s", strerror(errno));
	require(!ibv_reg_mr(pd, (void *)(0 - PAGE), 2 * PAGE, ODP) && errno == EINVAL, "wraps: %s",
		strerror(errno));
	require(!ibv_reg_mr(pd, NULL, SIZE_MAX, ACCESS_ALL), "all of the memory, pinned");
	require(!ibv_reg_mr_iova(pd, NULL, SIZE_MAX, PAGE, ODP) && errno == EINVAL,
		"all of the memory, moved: %s", strerror(errno));
	end_region(region(pd, mem, LEN, ODP | IBV_ACCESS_HUGETLB));
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

static uint64_t general_caps(void)
{
	struct ibv_device_attr_ex attr;

	require(!ibv_query_device_ex(test_context(), NULL, &attr), "%s", strerror(errno));
	return attr.odp_caps.general_caps;
}

static void case_caps(void)
{
	require(general_caps() == (IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT), "%#llx",
		(unsigned long long)general_caps());
}

static void case_unsupported(void)
{
	struct ibv_pd *pd = ibv_alloc_pd(test_context());
	uint8_t *mem = pages(LEN, RW);
	struct ibv_sge sge;
	struct ibv_mr *mr;

	require(pd, "%s", strerror(errno));
	require(!general_caps(), "%#llx", (unsigned long long)general_caps());
	require(!ibv_reg_mr(pd, mem, LEN, ODP), "taken");
	require(errno == EOPNOTSUPP, "%s", strerror(errno));
	require(!ibv_reg_mr(pd, NULL, SIZE_MAX, ODP), "taken");
	mr = region(pd, mem, LEN, ACCESS_ALL);
	sge = (struct ibv_sge){ (uintptr_t)mem, LEN, mr->lkey };
	require(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1) == EOPNOTSUPP,
		"advice");
	end_region(mr);
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

/* MiB/s of 64 KiB Writes, until the last one is in memory */
static double rate(struct pair *p, uint8_t *mem, uint32_t rkey)
{
	struct ibv_sge sge = sge_of(&p->a, 0, BUF_SIZE), one = sge_of(&p->a, 0, 1);
	const int writes = 1600, run = 8;
	struct timespec start, end;
	struct ibv_wc wc;

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 1; i <= writes; i++) {
		require(!post_wr(&p->a, IBV_WR_RDMA_WRITE, i, &sge, 1,
				 i % run ? 0 : IBV_SEND_SIGNALED,
				 (uintptr_t)mem + i % 64 * BUF_SIZE, rkey), "post");
		while (!(i % run) && !ibv_poll_cq(p->a.scq, 1, &wc))
			;
	}
	require(!post_wr(&p->a, IBV_WR_RDMA_READ, 0, &one, 1, IBV_SEND_SIGNALED, (uintptr_t)mem,
			 rkey), "post");
	while (!ibv_poll_cq(p->a.scq, 1, &wc))
		;
	require(!wc.wr_id && !wc.status, "%s", ibv_wc_status_str(wc.status));
	clock_gettime(CLOCK_MONOTONIC, &end);
	return writes / 16.0 / (end.tv_sec - start.tv_sec + (end.tv_nsec - start.tv_nsec) / 1e9);
}

static void measure(void)
{
	const size_t size = 64 * BUF_SIZE;
	struct ibv_mr *pinned, *odp;
	struct pair p;
	uint8_t *mem;

	pair_open(&p);
	mem = pages(size, RW);
	pinned = region(p.b.pd, mem, size, ACCESS_ALL);
	odp = region(p.b.pd, mem, size, ODP);
	for (int i = 0; i < 6; i++) {
		double by_odp = rate(&p, mem, odp->rkey), by_pins = rate(&p, mem, pinned->rkey);

		/* the first round takes the pages in */
		printf("%s: on demand %.0f MiB/s, pinned %.0f MiB/s: %.2f\n", i ? "warm" : "cold",
		       by_odp, by_pins, by_odp / by_pins);
	}
	end_region(pinned);
	end_region(odp);
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "caps", case_caps, "the device says what it can do" },
	{ "refused", case_refused, "flags and ranges that are refused" },
	{ "remote", case_remote, "Writes to and Reads of memory that nobody has touched" },
	{ "local", case_local, "Sends, receives, sources and sinks" },
	{ "memlock", case_memlock, "eight times what may be pinned" },
	{ "beyond", case_beyond, "addresses that no process has" },
	{ "implicit", case_implicit, "all of the address space" },
	{ "gone", case_gone, "memory that the process has no more ends the connection" },
	{ "gone-here", case_gone_here, "local memory that is gone ends the WR" },
	{ "anew", case_anew, "other memory at the same address is found" },
	{ "fork", case_fork, "a child does not see Writes to its parent" },
	{ "churn", case_churn, "memory that changes under accesses" },
	{ "exit", case_exit, "a process that is killed while pages are taken in" },
	{ "same", case_same, "pages with the same octets, which the kernel merges" },
	{ "unfit", case_unfit, "pages that only the program can fill, or touch" },
	{ "advise", case_advise, "pages are taken in before they are accessed" },
	{ "rereg", case_rereg, "registered anew, pinned and not" },
	{ "window", case_window, "a window on such a region" },
	{ "atomic", case_atomic, "atomics" },
	{ "file", case_file, "what is written to a file's page reaches the file" },
	{ "overcommit", case_overcommit, "" },
	{ "unsupported", case_unsupported, "" },
};

static const struct test_program prog = {
	.usage = "odp --list | ADDR CASE | --measure ADDR",
	.timeout_env = "ODP_TIMEOUT",
	.timeout = 100,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--measure")) {
		test_addr = argv[2];
		measure();
		return 0;
	}
	return run_cases(&prog, argc, argv);
}
