// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * limits: what one user can take away from others. The script puts this program into control
 * groups, in which it makes objects, and runs it as several users.
 *
 *	limits ADDR CASE	over the device that has address ADDR
 *
 * Exit status 0: passed, 1: failed.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "cases.h"
#include "ibqp.h"
#include "pair.h"

#define MIB		(1024ul * 1024)
#define LARGE		(256 * 1024)	/* CQEs of 64 octets: 16 MiB */

/* A CPU has up to 64 pages charged in advance, and gives them back at any time */
#define IN_ADVANCE	(2 * MIB)

/* Memory charged to the process's own group, whose directory is in the environment */
static uint64_t charged(void)
{
	const char *dir = getenv("LIMITS_CGROUP");
	unsigned long long n;
	char path[256];
	FILE *f;

	require(dir, "LIMITS_CGROUP is not set");
	snprintf(path, sizeof(path), "%s/memory.current", dir);
	f = fopen(path, "r");
	require(f, "%s: %s", path, strerror(errno));
	require(fscanf(f, "%llu", &n) == 1, "%s", path);
	fclose(f);
	return n;
}

static struct ibv_cq *large_cq(struct ibv_context *ctx)
{
	errno = 0;
	return ibv_create_cq(ctx, LARGE, NULL, NULL, 0);
}

/* Each kind of ring is charged to the user, until the ring is gone */
static void case_charged(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 16384, .max_sge = 32 } };
	struct ibv_qp_init_attr qp_attr = {
		.cap = { .max_send_wr = 16384, .max_recv_wr = 16384, .max_send_sge = 32,
			 .max_recv_sge = 32 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	uint64_t before = charged(), now;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	require(pd, "%s", strerror(errno));
	cq = large_cq(ctx);
	require(cq, "%s", strerror(errno));
	now = charged();
	note("CQ of %u: %llu KiB", LARGE, (unsigned long long)(now - before) / 1024);
	require(now + IN_ADVANCE >= before + LARGE * 64ul, "%llu", (unsigned long long)(now - before));

	before = now;
	srq = ibv_create_srq(pd, &srq_attr);
	require(srq, "%s", strerror(errno));
	now = charged();
	note("SRQ: %llu KiB", (unsigned long long)(now - before) / 1024);
	require(now + IN_ADVANCE >= before + 16384 * 512ul, "%llu", (unsigned long long)(now - before));

	before = now;
	qp_attr.send_cq = cq;
	qp_attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &qp_attr);
	require(qp, "%s", strerror(errno));
	now = charged();
	note("QP: %llu KiB", (unsigned long long)(now - before) / 1024);
	require(now + IN_ADVANCE >= before + 2 * 16384 * 512ul, "%llu", (unsigned long long)(now - before));

	require(!ibv_destroy_qp(qp) && !ibv_destroy_srq(srq) && !ibv_destroy_cq(cq), "%s",
		strerror(errno));
	before = now;
	for (int i = 0; i < 100 && charged() + 16 * MIB > before; i++)
		usleep(100000);	/* pages are uncharged in batches */
	now = charged();
	note("afterwards: %llu KiB less", (unsigned long long)(before - now) / 1024);
	require(now + 16 * MIB + 3 * 16384 * 500ul <= before, "%llu still there",
		(unsigned long long)now);
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

/* The group has room for one CQ: the next one fails, and the process is not killed */
static void case_too_much(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_cq *cq[8];
	int n = 0;

	while (n < 8 && (cq[n] = large_cq(ctx)))
		n++;
	note("%d CQs of 16 MiB, then: %s", n, strerror(errno));
	require(n == 1 && errno == ENOMEM, "%d CQs, %s", n, strerror(errno));
	require(ibv_resize_cq(cq[0], 2 * LARGE) == ENOMEM, "%s", strerror(errno));
	/* a failed creation leaves nothing charged */
	for (int i = 0; i < 20; i++)
		require(!large_cq(ctx) && errno == ENOMEM, "%d: %s", i, strerror(errno));
	require(!ibv_destroy_cq(cq[0]), "%s", strerror(errno));
	cq[0] = large_cq(ctx);
	require(cq[0], "%s", strerror(errno));
	require(!ibv_destroy_cq(cq[0]), "%s", strerror(errno));
}

/* Objects of the group; those that librdmacm makes for itself count, too */
static int objects(void)
{
	const char *dir = getenv("LIMITS_CGROUP");
	char path[256], line[256];
	char *count;
	FILE *f;

	require(dir, "LIMITS_CGROUP is not set");
	snprintf(path, sizeof(path), "%s/rdma.current", dir);
	f = fopen(path, "r");
	require(f && fgets(line, sizeof(line), f), "%s: %s", path, strerror(errno));
	fclose(f);
	count = strstr(line, "hca_object=");
	require(count, "%s", line);
	return atoi(count + strlen("hca_object="));
}

/* rdma.max has hca_object=8 */
static void case_objects(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_cq *cq[16];
	static uint8_t mem[4096];
	int n = 0, room;

	require(pd, "%s", strerror(errno));
	room = 8 - objects();
	require(room > 2, "%d", room);
	while (n < 16 && (cq[n] = ibv_create_cq(ctx, 1, NULL, NULL, 0)))
		n++;
	note("%d CQs, then: %s", n, strerror(errno));
	require(n == room && errno == EAGAIN, "%d CQs, %s", n, strerror(errno));
	require(!ibv_reg_mr(pd, mem, sizeof(mem), 0) && errno == EAGAIN, "%s", strerror(errno));
	require(!ibv_destroy_cq(cq[--n]), "%s", strerror(errno));

	struct ibv_mr *mr = ibv_reg_mr(pd, mem, sizeof(mem), 0);

	require(mr && !ibv_dereg_mr(mr), "%s", strerror(errno));
	while (n)
		require(!ibv_destroy_cq(cq[--n]), "%s", strerror(errno));
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

/* A new ring does not show the former contents of its memory */
static void case_zeroed(void)
{
	struct ibv_context *ctx = test_context();
	uint8_t *mem;

	for (int i = 0; i < 4; i++) {
		struct mapping ring[2];
		struct ibv_cq *cq;
		int rings;

		/* pages that are freed with contents */
		mem = mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		require(mem != MAP_FAILED, "%s", strerror(errno));
		memset(mem, 0xa5, 64 * MIB);
		munmap(mem, 64 * MIB);

		/* not a power of two: the memory behind the last CQE is mapped, too */
		cq = ibv_create_cq(ctx, 100000, NULL, NULL, 0);
		require(cq, "%s", strerror(errno));
		rings = uverbs_mappings(ring, ARRAY_SIZE(ring));
		require(rings == 1, "%d rings", rings);
		for (size_t k = 0; k < ring->len; k++)
			require(!ring->at[k], "%#x at %#zx", ring->at[k], k);
		require(!ibv_destroy_cq(cq), "%s", strerror(errno));
	}
}

/* srnic's kthreads: CPU ticks they have used, and how many have this nice value */
static long kthreads(int nice, int *count)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	long ticks = 0;

	require(proc, "%s", strerror(errno));
	*count = 0;
	while ((entry = readdir(proc))) {
		char path[300], line[512] = "", *end;
		long user, sys, is;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		f = atoi(entry->d_name) ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		end = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		fclose(f);
		if (!end || (!strstr(line, "(srnic-rx/") && !strstr(line, "(srnic-tx/")))
			continue;
		require(sscanf(end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld "
				    "%*d %*d %*d %ld", &user, &sys, &is) == 3, "%s", line);
		ticks += user + sys;
		*count += is == nice;
	}
	closedir(proc);
	return ticks;
}

static void connect_two(struct hand *a, struct hand *b)
{
	for (int end = 0; end < 2; end++) {
		struct ibv_qp_attr attr = ib_rtr_attr(&ib_gid, (end ? a : b)->qp->qp_num, 1 + end);
		int err;

		attr.min_rnr_timer = 1;	/* 10 us */
		err = ibv_modify_qp((end ? b : a)->qp, &attr, RTR_MASK);
		require(!err, "%s", strerror(err));
	}
	ib_rts(a, 2, 14);
	ib_rts(b, 1, 14);
}

/* So many QPs, each with a message that waits for a receive. Their kthreads are there afterwards */
static void wait_all(struct hand *a, struct hand *b, int num, int nice)
{
	int n = 0;

	ib_find_gid();
	for (int i = 0; i < num; i++) {
		struct ibv_send_wr wr = { .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
		struct ibv_sge sge;

		hand_qp(&a[i]);
		hand_qp(&b[i]);
		connect_two(&a[i], &b[i]);
		sge = (struct ibv_sge){ (uintptr_t)a[i].buf, 4096, a[i].mr->lkey };
		wr.sg_list = &sge;
		require(!ibv_post_send(a[i].qp, &wr, &bad), "%s", strerror(errno));
	}
	for (int i = 0; i < 200 && n < 2 * num; i++) {
		usleep(50000);
		kthreads(nice, &n);
	}
	require(n >= 2 * num, "%d kthreads are as nice as the program", n);
}

#define WAITING	16

/* Messages that wait for a receive cost no CPU, and the kthreads have the program's nice value */
static void case_unreceived(void)
{
	struct hand a[WAITING] = { }, b[WAITING] = { };
	long before, ticks;
	int n;

	require(nice(5) == 5, "%s", strerror(errno));
	wait_all(a, b, WAITING, 5);
	sleep(1);
	before = kthreads(5, &n);
	sleep(3);
	ticks = kthreads(5, &n) - before;
	note("%d QPs: %ld ticks in 3 seconds", WAITING, ticks);
	require(ticks * 20 <= 3 * sysconf(_SC_CLK_TCK), "%ld ticks", ticks);
	/* each waiting message is received once there is a receive */
	for (int i = 0; i < WAITING; i++) {
		struct ibv_sge sge = { (uintptr_t)b[i].buf, 4096, b[i].mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		require(!ibv_post_recv(b[i].qp, &wr, &bad), "%s", strerror(errno));
		expect_wc(b[i].cq, i, IBV_WC_SUCCESS, "a receive");
	}
}

/* Until it is killed */
static void stay(const char *state)
{
	puts(state);
	fflush(stdout);
	pause();
}

#define QPS	64

/* QPs that wait for receives, of a program that sleeps */
static void case_waits(void)
{
	static struct hand a[QPS], b[QPS];

	wait_all(a, b, QPS, 0);
	stay("waits");
}

#define MUCH		(64 * MIB)	/* of each Write */
#define WRITES		16		/* as DEFAULT_CAP has it */

/* QPs that send 64 GiB to each other, of a program of nice 19 that sleeps */
static void case_runs(void)
{
	struct ibv_context *ctx = test_context();
	struct hand one = { .pd = ibv_alloc_pd(ctx) }, q[QPS];
	struct ibv_sge sge = { .length = MUCH };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE }, *bad;

	require(nice(19) == 19 && one.pd, "%s", strerror(errno));
	ib_find_gid();
	one.cq = ibv_create_cq(ctx, QPS * WRITES, NULL, NULL, 0);
	one.buf = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(one.cq && one.buf != MAP_FAILED, "%s", strerror(errno));
	one.mr = ibv_reg_mr(one.pd, one.buf, MUCH, ACCESS_ALL);
	require(one.mr, "%s", strerror(errno));
	sge.addr = (uintptr_t)one.buf;
	sge.lkey = one.mr->lkey;
	wr.wr.rdma.remote_addr = sge.addr;
	wr.wr.rdma.rkey = one.mr->rkey;
	for (int i = 0; i < QPS; i++) {
		q[i] = one;
		hand_another_qp(&q[i]);
		if (i % 2)
			connect_two(&q[i - 1], &q[i]);
	}
	for (int i = 0; i < QPS * WRITES; i++)
		require(!ibv_post_send(q[i % QPS].qp, &wr, &bad), "%s", strerror(errno));
	stay("runs");
}

#define LOOP_US		2000000

static uint64_t clock_us(clockid_t id)
{
	struct timespec t;

	require(!clock_gettime(id, &t), "%s", strerror(errno));
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

static void *loop(void *end_us)
{
	while (clock_us(CLOCK_MONOTONIC) < *(uint64_t *)end_us)
		;
	return NULL;
}

/*
 * A loop for each CPU. Prints how many thousandths of their time the kernel has given them: that
 * does not depend on what the machine beneath has given to the kernel.
 */
static void case_loops(void)
{
	const uint64_t start = clock_us(CLOCK_MONOTONIC), used = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t end = start + LOOP_US;
	pthread_t thread[cpus];

	for (long i = 1; i < cpus; i++)
		require(!pthread_create(&thread[i], NULL, loop, &end), "a thread");
	loop(&end);
	for (long i = 1; i < cpus; i++)
		pthread_join(thread[i], NULL);
	printf("%llu\n", 1000ull * (clock_us(CLOCK_PROCESS_CPUTIME_ID) - used) /
	       (clock_us(CLOCK_MONOTONIC) - start) / cpus);
}

/* A user takes as many PDs as it gets, and keeps them until it is killed */
static void case_takes(void)
{
	struct ibv_context *ctx = test_context();
	unsigned int n = 0;

	while (ibv_alloc_pd(ctx))
		n++;
	printf("%u PDs, then: %s\n", n, strerrorname_np(errno));
	fflush(stdout);
	pause();
}

#define STEP		((uint32_t)MIB)

/*
 * In a group that has 24 MiB, and swap: memory that the program has used goes there to make room,
 * for what it takes next and for what TCP takes to send
 */
static void case_swaps(void)
{
	const size_t size = 64 * MIB;
	struct ibv_mr *from, *to;
	uint8_t *mem, *buf;
	struct pair p;

	pair_open(&p);
	mem = mmap(NULL, size + 2 * STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		   0);
	require(mem != MAP_FAILED && !madvise(mem, size, MADV_NOHUGEPAGE), "%s", strerror(errno));
	buf = mem + size;
	from = ibv_reg_mr(p.a.pd, buf, STEP, ACCESS_ALL);
	to = ibv_reg_mr(p.b.pd, buf + STEP, STEP, ACCESS_ALL);
	require(from && to, "%s", strerror(errno));
	for (size_t at = 0; at < size; at += STEP) {
		struct ibv_sge sge = { (uintptr_t)buf, STEP, from->lkey };

		for (size_t page = at; page < at + STEP; page += 4096)
			memcpy(mem + page, &page, sizeof(page));
		require(!post_wr(&p.a, IBV_WR_RDMA_WRITE, at, &sge, 1, IBV_SEND_SIGNALED,
				 (uintptr_t)buf + STEP, to->rkey), "post");
		expect_wc(p.a.scq, at, IBV_WC_SUCCESS, "WRITE");
	}
	note("%ld MiB are swapped out", swapped_kib() >> 10);
	require(swapped_kib() >= 32 << 10, "%ld KiB are swapped out", swapped_kib());
	for (size_t page = 0; page < size; page += 4096)
		require(!memcmp(mem + page, &page, sizeof(page)), "at %zu", page);
	pair_works(&p, "after that");
	require(!ibv_dereg_mr(from) && !ibv_dereg_mr(to), "%s", strerror(errno));
	pair_close(&p);
}

static const struct test_case cases[] = {
	{ "charged", case_charged, "" },
	{ "too-much", case_too_much, "" },
	{ "objects", case_objects, "" },
	{ "zeroed", case_zeroed, "" },
	{ "unreceived", case_unreceived, "" },
	{ "waits", case_waits, "" },
	{ "runs", case_runs, "" },
	{ "loops", case_loops, "" },
	{ "takes", case_takes, "" },
	{ "swaps", case_swaps, "" },
};

static const struct test_program prog = {
	.usage = "limits ADDR CASE",
	.timeout_env = "LIMITS_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
