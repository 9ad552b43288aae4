// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * methods: programs that make random calls of the driver and uverbs: attribute lists that are
 * shuffled, repeated, cut and of other types; commands of any number and length; mappings at any
 * offset. Several threads do it concurrently, with objects of their own, of other kinds, and of
 * other programs, whose open devices they get.
 *
 *	methods [--seed N] [--seconds N] ADDRESS
 *
 * Each life is a process of its own, as of scribble: it may harm itself in any way, and must end
 * when it is killed. The seed and its number decide the calls of a life; their results vary.
 * Fails if a method has never succeeded: its code was not reached then.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/srnic-abi.h>
#include "common.h"
#include "methods.h"
#include "pair.h"

#define THREADS		3
#define LIVES		2	/* at a time, which share their open devices */
#define LIFE_MS		700
#define NOBODY		65534
#define AREA_LEN	(1 << 20)
/* ms: bound for the end of a killed process */
#define GONE_MS		(20000 * env_uint("SRNIC_SLOW", 1))

const char *test_addr;
_Atomic uint32_t handles[KINDS][HANDLES];
_Atomic int files[FILES];
uint8_t *area;
uint8_t *edge;
struct tally *tallies;
static struct tally *mappings;	/* behind those of the calls */
_Atomic unsigned long *left_out;	/* behind that */
static _Atomic bool stop;
static struct ibv_context *ctx;

uint32_t some_handle(struct rng *r, enum kind kind)
{
	if (chance(r, 4))
		kind = rng_below(r, KINDS);
	if (chance(r, 4))
		return chance(r, 90) ? rng_below(r, 200) : rng_next(r);
	return handles[kind][rng_below(r, HANDLES)];
}

void new_handle(struct rng *r, enum kind kind, uint32_t handle)
{
	handles[kind][rng_below(r, HANDLES)] = handle;
}

/* One life ---------------------------------------------------------------------- */

/* Objects to begin with, in each place of the table */
static void make_objects(void)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 8192 };
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	if (!pd)
		return;
	for (int i = 0; i < HANDLES; i++) {
		struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 8, .max_sge = 1 } };
		struct ibv_qp_init_attr qp_attr = { .qp_type = IBV_QPT_RC,
			.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
				 .max_recv_sge = 1 } };
		struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
		struct ibv_srq *srq = ibv_create_srq(pd, &srq_attr);
		struct ibv_mr *mr = ibv_reg_mr(pd, area + 4096, 4096, 7);
		struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
		struct ibv_dm *dm = ibv_alloc_dm(ctx, &dm_attr);
		struct ibv_qp *qp;

		if (!cq || !srq || !mr || !mw)
			return;
		qp_attr.send_cq = cq;
		qp_attr.recv_cq = cq;
		qp_attr.srq = i % 2 ? srq : NULL;
		qp = ibv_create_qp(pd, &qp_attr);
		handles[PD][i] = pd->handle;
		handles[CQ][i] = cq->handle;
		handles[SRQ][i] = srq->handle;
		handles[MR][i] = mr->handle;
		handles[MW][i] = mw->handle;
		handles[DM][i] = dm ? dm->handle : 0;
		handles[QP][i] = qp ? qp->handle : 0;
	}
}

/* Map a random offset, and write random words into the mapping */
static void random_mmap(struct rng *r)
{
	static const int prots[] = {
		PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE, PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	int prot = prots[chance(r, 80) ? 0 : rng_below(r, ARRAY_SIZE(prots))];
	uint64_t pages = chance(r, 97) ? rng_below(r, 400) : rng_next(r) >> rng_below(r, 64);
	size_t size = 4096 * (size_t)(chance(r, 80) ? 2 : 1 + rng_below(r, 20));
	uint32_t *m = mmap(NULL, size, prot, chance(r, 95) ? MAP_SHARED : MAP_PRIVATE,
			   files[rng_below(r, FILES)], pages * 4096);

	mappings->calls++;
	if (m == MAP_FAILED)
		return;
	mappings->good++;
	if (prot == prots[0])
		for (uint32_t i = rng_below(r, 64); i; i--)
			__atomic_store_n(&m[rng_below(r, size / 4)], chance(r, 50) ? rng_next(r) : rng_below(r, 20),
					 __ATOMIC_RELAXED);
	if (chance(r, 50))
		mprotect(m, size, prots[rng_below(r, ARRAY_SIZE(prots))]);
	munmap(m, chance(r, 90) ? size : 4096);
}

/* Open the device once more, in place of one that other threads may be using */
static void random_open(struct rng *r)
{
	struct ib_uverbs_get_context_resp *resp = (void *)(area + 4096 * rng_below(r, 8));
	struct {
		struct ib_uverbs_get_context core;
		struct srnic_ureq_alloc_ctx driver;
	} q = {
		.core.response = (uintptr_t)resp,
		.driver.features = chance(r, 80) ? 3 : rng_next(r),
	};
	char path[256];
	int fd, was;

	snprintf(path, sizeof(path), "/dev/infiniband/%s", ctx->device->dev_name);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!one_write(fd, IB_USER_VERBS_CMD_GET_CONTEXT, &q, sizeof(q),
		       sizeof(*resp) + sizeof(struct srnic_uresp_alloc_ctx)))
		close(resp->async_fd);
	/* the first stays open: without it there are no objects */
	was = atomic_exchange(&files[FILES - 1], fd);
	if (was >= 0 && was != files[0] && was != files[1])
		close(was);
}

static void *call_thread(void *arg)
{
	struct rng r = { (uintptr_t)arg };

	while (!stop) {
		for (int i = 0; i < 20; i++) {
			random_ioctl(&r);
			random_write(&r);
		}
		random_mmap(&r);
		if (chance(&r, 3))
			random_open(&r);
	}
	return NULL;
}

/* Swap open devices with the other life, over a socket */
static int exchange(int sock, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct timeval tv = { .tv_sec = 5 };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int got = -1;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (sendmsg(sock, &msg, MSG_NOSIGNAL) != 1 || recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&got, CMSG_DATA(c), sizeof(got));
	return got;
}

static void run_life(uint64_t seed, int sock, bool nobody)
{
	struct rng r = { seed };
	pthread_t thread;
	int fd;

	signal(SIGPIPE, SIG_IGN);
	if (nobody && (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(EXIT_FAIL);
	ctx = test_context();
	/* a response may be four times as long as its 16-bit length can count */
	area = mmap(NULL, AREA_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(area != MAP_FAILED, "%s", strerror(errno));
	edge = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(edge != MAP_FAILED && !munmap(edge + 4096, 4096), "%s", strerror(errno));
	edge += 4096;
	make_objects();
	fd = exchange(sock, ctx->cmd_fd);
	for (int i = 0; i < FILES; i++)
		files[i] = ctx->cmd_fd;
	if (fd >= 0)
		files[1] = fd;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, call_thread, (void *)(uintptr_t)rng_next(&r)))
			_exit(EXIT_FAIL);
	usleep(1000 * (LIFE_MS / 2 + rng_below(&r, LIFE_MS)));
	if (chance(&r, 50))
		_exit(EXIT_PASS);
	stop = true;
	usleep(20000);
	close(ctx->cmd_fd);
	_exit(EXIT_PASS);
}

/* All lives --------------------------------------------------------------------- */

static struct {
	unsigned long born, killed, crashed, failed;
} lives;

static pid_t start_life(uint64_t seed, int sock, bool nobody)
{
	pid_t pid;

	fflush(NULL);
	pid = fork_child();
	if (!pid) {
		alarm(0);
		run_life(seed, sock, nobody);
	}
	lives.born++;
	return pid;
}

static void end_life(pid_t pid, bool kill_it)
{
	uint64_t end = now_ms() + GONE_MS;
	int status;

	if (kill_it && !kill(pid, SIGKILL))
		lives.killed++;
	while (waitpid(pid, &status, WNOHANG) != pid) {
		require(now_ms() < end, "process %d does not end", pid);
		if (now_ms() > end - GONE_MS / 2)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		lives.crashed++;
	if (WIFEXITED(status) && WEXITSTATUS(status) != EXIT_PASS)
		lives.failed++;
}

/* Both lives see each other's devices; each may use what the other leaves open */
static void some_lives(uint64_t seed)
{
	struct rng r = { seed };
	pid_t pid[LIVES];
	int pair[2];

	require(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "%s", strerror(errno));
	for (int i = 0; i < LIVES; i++)
		pid[i] = start_life(rng_next(&r), pair[i], chance(&r, 50));
	close(pair[0]);
	close(pair[1]);
	usleep(1000 * (LIFE_MS / 2 + rng_below(&r, LIFE_MS)));
	for (int i = 0; i < LIVES; i++)
		end_life(pid[i], chance(&r, 30));
}

/* Return: whether each call that must succeed at times has succeeded */
static bool report(void)
{
	unsigned long calls = 0, good = 0;
	bool reached = mappings->good;

	for (unsigned int i = 0; i < num_calls; i++) {
		bool missed = call_must_succeed(i) && !tallies[i].good;

		printf("# %-20s %9lu calls %8lu succeeded%s\n", call_name(i), tallies[i].calls,
		       tallies[i].good, missed ? " NOT REACHED" : "");
		calls += tallies[i].calls;
		good += tallies[i].good;
		reached &= !missed;
	}
	printf("# %-20s %9lu calls %8lu succeeded%s\n", "mmap", mappings->calls, mappings->good,
	       mappings->good ? "" : " NOT REACHED");
	printf("# %-20s %9lu calls left out, of which the kernel may lose memory\n", "GET_CONTEXT",
	       *left_out);
	printf("# methods: %lu lives, %lu killed, %lu crashed, %lu failed; %lu calls, %lu succeeded\n",
	       lives.born, lives.killed, lives.crashed, lives.failed, calls, good);
	return reached;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	uint64_t seed = 1, seconds = 20, number = 0, end;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 't': seconds = strtoull(optarg, NULL, 0); break;
		default: die("usage: methods [--seed N] [--seconds N] ADDRESS");
		}
	}
	if (optind != argc - 1)
		die("usage: methods [--seed N] [--seconds N] ADDRESS");
	test_addr = argv[optind];
	tallies = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	require(tallies != MAP_FAILED && num_calls + 1 < 65536 / sizeof(*tallies), "%s",
		strerror(errno));
	mappings = &tallies[num_calls];
	left_out = &tallies[num_calls + 1].calls;

	printf("# seed %llu\n", (unsigned long long)seed);
	end = now_ms() + seconds * 1000;
	while (now_ms() < end)
		some_lives(seed * 0xd1342543de82ef95 + number++);
	require(report(), "a method was not reached");
	require(lives.failed <= lives.born / 10, "%lu of %lu lives could not begin", lives.failed,
		lives.born);
	return EXIT_PASS;
}
