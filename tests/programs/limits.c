// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * limits: what one user can take away from others. The script puts this program into control
 * groups, in which it makes objects.
 *
 *	limits ADDR CASE	over the device that has address ADDR
 *
 * Exit status 0: passed, 1: failed.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

#define WAITING	16

/* Messages that wait for a receive cost no CPU, and the kthreads have the program's nice value */
static void case_unreceived(void)
{
	struct hand a[WAITING] = { }, b[WAITING] = { };
	long before, ticks;
	int n = 0;

	require(nice(5) == 5, "%s", strerror(errno));
	ib_find_gid();
	for (int i = 0; i < WAITING; i++) {
		struct ibv_send_wr wr = { .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
		struct ibv_sge sge;

		hand_qp(&a[i]);
		hand_qp(&b[i]);
		for (int end = 0; end < 2; end++) {
			struct hand *h = end ? &b[i] : &a[i];
			struct ibv_qp_attr attr = ib_rtr_attr(&ib_gid, (end ? &a[i] : &b[i])->qp->qp_num,
							      1 + end);

			attr.min_rnr_timer = 1;	/* 10 us */
			require(!ibv_modify_qp(h->qp, &attr, RTR_MASK), "%s", strerror(errno));
		}
		ib_rts(&a[i], 2, 14);
		ib_rts(&b[i], 1, 14);
		sge = (struct ibv_sge){ (uintptr_t)a[i].buf, 4096, a[i].mr->lkey };
		wr.sg_list = &sge;
		require(!ibv_post_send(a[i].qp, &wr, &bad), "%s", strerror(errno));
	}
	for (int i = 0; i < 200 && n < WAITING; i++) {
		usleep(50000);
		kthreads(5, &n);
	}
	require(n >= WAITING, "%d kthreads are as nice as the program", n);
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

static const struct test_case cases[] = {
	{ "charged", case_charged, "" },
	{ "too-much", case_too_much, "" },
	{ "objects", case_objects, "" },
	{ "zeroed", case_zeroed, "" },
	{ "unreceived", case_unreceived, "" },
	{ "takes", case_takes, "" },
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
