// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Below libibverbs: what a program can do to the uverbs device and to the memory it shares with
 * the driver. Nothing here knows the driver's ABI, so each misuse is tried on everything that the
 * driver has mapped.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include "badinput.h"

static void no_mmap(int fd, size_t size, int prot, int flags, uint64_t offset, const char *what)
{
	void *p;

	errno = 0;
	p = mmap(NULL, size, prot, flags, fd, offset);
	if (p != MAP_FAILED)
		die("%s: mmap of %#zx bytes at %#llx succeeded", what, size,
		    (unsigned long long)offset);
	if (errno != EINVAL && errno != EPERM && errno != EOVERFLOW)
		die("%s: %s (%d) in place of %s", what, strerror(errno), errno, strerror(EINVAL));
}

void case_mmap(void)
{
	static const uint64_t offsets[] = { 0, 0x1000, 0x10000, 0x100000, 1ULL << 32, 1ULL << 44 };
	const int rw = PROT_READ | PROT_WRITE;
	struct ibv_context *ctx, *other;
	struct mapping map[64];
	bool own;
	int n, fd;
	struct pair p;

	pair_open(&p);
	ctx = p.a.id->verbs;
	n = uverbs_mappings(map, ARRAY_SIZE(map));
	if (!n)
		skip("this driver shares no memory with programs");

	/* unused offsets */
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		own = false;
		for (int j = 0; j < n; j++)
			own |= map[j].offset <= offsets[i] &&
			       offsets[i] < map[j].offset + map[j].len;
		if (!own)
			no_mmap(ctx->cmd_fd, 4096, rw, MAP_SHARED, offsets[i], "foreign offset");
	}
	for (int i = 0; i < n; i++) {
		if (map[i].len > 4096) {
			no_mmap(ctx->cmd_fd, map[i].len - 4096, rw, MAP_SHARED, map[i].offset,
				"shortened ring");
			no_mmap(ctx->cmd_fd, map[i].len - 4096, rw, MAP_SHARED,
				map[i].offset + 4096, "tail of a ring");
		}
		no_mmap(ctx->cmd_fd, map[i].len + 4096, rw, MAP_SHARED, map[i].offset,
			"ring with a page more");
		no_mmap(ctx->cmd_fd, map[i].len + (1 << 30), rw, MAP_SHARED, map[i].offset,
			"ring with a gigabyte more");
		no_mmap(ctx->cmd_fd, map[i].len, rw, MAP_PRIVATE, map[i].offset,
			"private mapping");
	}

	/* another context of the same device, and a file without any context */
	other = ibv_open_device(ctx->device);
	require(other, "%s", strerror(errno));
	fd = open_uverbs();
	for (int i = 0; i < n; i++) {
		no_mmap(other->cmd_fd, map[i].len, rw, MAP_SHARED, map[i].offset,
			"ring of another context");
		no_mmap(fd, map[i].len, rw, MAP_SHARED, map[i].offset, "no context");
	}
	close(fd);
	ibv_close_device(other);
	pair_works(&p, "after bad mmaps");
	pair_close(&p);

	/* rings of a destroyed object cannot be mapped any more */
	for (int i = 0; i < n; i++)
		no_mmap(ctx->cmd_fd, map[i].len, rw, MAP_SHARED, map[i].offset,
			"ring of a destroyed object");
}

/* Commands ---------------------------------------------------------------- */

struct command {
	struct ib_uverbs_cmd_hdr hdr;
	union {
		struct ib_uverbs_get_context context;
		struct ib_uverbs_create_cq cq;
		struct ib_uverbs_resize_cq resize;
		struct ib_uverbs_create_qp qp;
		uint8_t raw[1024];
	};
};

static uint8_t response[4096] __attribute__((aligned(8)));

/* Returns 0 or the errno. @in and @out: bytes of command and response. */
static int command(int fd, struct command *c, uint32_t cmd, size_t in, size_t out, size_t written)
{
	c->hdr.command = cmd;
	c->hdr.in_words = (sizeof(c->hdr) + in) / 4;
	c->hdr.out_words = out / 4;
	errno = 0;
	return write(fd, c, written) == (ssize_t)written ? 0 : errno;
}

static void refused(int err, const char *what, size_t in, size_t out)
{
	if (!err)
		die("%s with %zu bytes in and %zu bytes out was accepted", what, in, out);
	if (err == EFAULT || err == EIO)
		die("%s with %zu bytes in and %zu bytes out: %s", what, in, out, strerror(err));
}

/*
 * The driver's part is missing, of the wrong size, or has contents that the driver does not know.
 * @core_in, @core_out: sizes of the core's part.
 */
static void spoil(int fd, uint32_t cmd, const struct command *good, size_t core_in,
		  size_t core_out, const char *what)
{
	struct command c;
	size_t n;

	/* no room for the whole of the core's response */
	for (n = 0; n < core_out; n += 4) {
		c = *good;
		refused(command(fd, &c, cmd, core_in, n, sizeof(c.hdr) + core_in), what, core_in, n);
	}
	/*
	 * No room, or not enough, for the driver's response; no driver's response fits 4 bytes.
	 * GET_CONTEXT is an exception: its driver's part may have any length, so that old and new
	 * drivers and providers work together.
	 */
	if (cmd == IB_USER_VERBS_CMD_GET_CONTEXT)
		goto question;
	for (n = 0; n <= 4; n += 4) {
		c = *good;
		refused(command(fd, &c, cmd, core_in, core_out + n, sizeof(c.hdr) + core_in), what,
			core_in, core_out + n);
	}
question:
	/* part of the core's request */
	for (n = 0; n < core_in; n += 4) {
		c = *good;
		refused(command(fd, &c, cmd, n, 256, sizeof(c.hdr) + n), what, n, 256);
	}
	/* a header that lies about the length */
	c = *good;
	refused(command(fd, &c, cmd, core_in + 4, 256, sizeof(c.hdr) + core_in), what, core_in, 256);
	c = *good;
	refused(command(fd, &c, cmd, 4 * 0xffff - 8, 4 * 0xffff, sizeof(c.hdr) + core_in), what,
		core_in, 0x3fffc);
	/* random bytes where a later version of the driver may have a field */
	c = *good;
	memset(c.raw + core_in, 0xff, 512);
	refused(command(fd, &c, cmd, core_in + 512, 1024, sizeof(c.hdr) + core_in + 512), what,
		core_in + 512, 1024);
}

void case_udata(void)
{
	struct ibv_context *ctx;
	struct command good = { 0 };
	struct pair p;
	int fd;

	pair_open(&p);
	ctx = p.a.id->verbs;

	memset(&good, 0, sizeof(good));
	good.context.response = (uintptr_t)response;
	fd = open_uverbs();
	spoil(fd, IB_USER_VERBS_CMD_GET_CONTEXT, &good, sizeof(good.context),
	      sizeof(struct ib_uverbs_get_context_resp), "GET_CONTEXT");
	close(fd);

	memset(&good, 0, sizeof(good));
	good.cq.response = (uintptr_t)response;
	good.cq.cqe = 16;
	good.cq.comp_channel = -1;
	spoil(ctx->cmd_fd, IB_USER_VERBS_CMD_CREATE_CQ, &good, sizeof(good.cq),
	      sizeof(struct ib_uverbs_create_cq_resp), "CREATE_CQ");

	memset(&good, 0, sizeof(good));
	good.resize.response = (uintptr_t)response;
	good.resize.cq_handle = p.a.scq->handle;
	good.resize.cqe = 64;
	spoil(ctx->cmd_fd, IB_USER_VERBS_CMD_RESIZE_CQ, &good, sizeof(good.resize),
	      sizeof(struct ib_uverbs_resize_cq_resp), "RESIZE_CQ");

	memset(&good, 0, sizeof(good));
	good.qp = (struct ib_uverbs_create_qp){
		.response = (uintptr_t)response,
		.pd_handle = p.a.pd->handle,
		.send_cq_handle = p.a.scq->handle,
		.recv_cq_handle = p.a.rcq->handle,
		.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 2,
		.qp_type = IB_UVERBS_QPT_RC,
	};
	spoil(ctx->cmd_fd, IB_USER_VERBS_CMD_CREATE_QP, &good, sizeof(good.qp),
	      sizeof(struct ib_uverbs_create_qp_resp), "CREATE_QP");

	/* a response that cannot be written undoes the creation */
	memset(&good, 0, sizeof(good));
	good.cq = (struct ib_uverbs_create_cq){ .response = 0x1000, .cqe = 16, .comp_channel = -1 };
	require(command(ctx->cmd_fd, &good, IB_USER_VERBS_CMD_CREATE_CQ, sizeof(good.cq), 256,
			sizeof(good.hdr) + sizeof(good.cq)) == EFAULT, "%s", strerror(errno));

	/* commands that consist of a header only */
	for (uint32_t cmd = 0; cmd < 64; cmd++) {
		memset(&good, 0, sizeof(good));
		require(command(ctx->cmd_fd, &good, cmd, 0, 0, sizeof(good.hdr)), "command %u",
			cmd);
	}
	pair_works(&p, "after bad commands");
	pair_close(&p);
}

/* Rings --------------------------------------------------------------------- */

/* Ring the doorbell, if the driver has one: POST_SEND and POST_RECV with no WR. */
static void ring_doorbells(struct ibv_qp *qp)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_send cmd;
		uint8_t room[256];
	} c = {
		.hdr = { IB_USER_VERBS_CMD_POST_SEND, (sizeof(c.hdr) + sizeof(c.cmd)) / 4,
			 sizeof(struct ib_uverbs_post_send_resp) / 4 },
		.cmd = { .response = (uintptr_t)response, .qp_handle = qp->handle,
			 .wqe_size = sizeof(struct ib_uverbs_send_wr) },
	};
	ssize_t n;

	n = write(qp->context->cmd_fd, &c, sizeof(c.hdr) + sizeof(c.cmd));
	c.hdr.command = IB_USER_VERBS_CMD_POST_RECV;
	c.cmd.wqe_size = sizeof(struct ib_uverbs_recv_wr);
	n += write(qp->context->cmd_fd, &c, sizeof(c.hdr) + sizeof(c.cmd));
	(void)n;	/* the driver may refuse it or not */
}

/* Hostile values for an index, a length or a flag */
static uint32_t hostile(struct rng *r, uint32_t old)
{
	switch (rng_below(r, 7)) {
	case 0: return old + 1;
	case 1: return old - 1;
	case 2: return old ^ 1U << rng_below(r, 32);
	case 3: return 0x7fffffff + rng_below(r, 3);
	case 4: return 0xffffffff;
	case 5: return rng_below(r, 64);
	default: return rng_next(r);
	}
}

/*
 * Work requests are posted correctly; meanwhile words of all rings are overwritten without the
 * provider's knowledge, with a doorbell now and then. This process may end in any way; it must
 * end when it is killed, without effect on the kernel and other processes.
 */
static void vandal(uint64_t seed)
{
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct rng r = { seed };
	struct mapping map[64];
	struct ibv_sge sge;
	struct pair p;
	uint64_t end;
	int n;

	pair_prepare(&p, &cap);
	pair_connect(&p);
	alarm(6);	/* a provider with broken rings may never end */
	end = now_ms() + 1200;	/* from here on: connecting takes long on a slow kernel */
	n = uverbs_mappings(map, ARRAY_SIZE(map));
	if (!n)
		_exit(EXIT_SKIP);
	while (now_ms() < end) {
		uint32_t len = rng_below(&r, 4096);

		sge = sge_of(&p.b, rng_below(&r, 1024), 4096 + rng_below(&r, 1024));
		post_rwr(&p.b, rng_next(&r), &sge, 1);
		sge = sge_of(&p.a, rng_below(&r, 1024), len);
		post_wr(&p.a, rng_below(&r, 3) * 2, rng_next(&r), &sge, 1,
			rng_next(&r) & (IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED),
			(uintptr_t)p.b.buf, p.b.mr->rkey);
		for (int i = rng_below(&r, 20); i; i--) {
			struct mapping *m = &map[rng_below(&r, n)];
			/* half of the words on the first page, where indices tend to be */
			size_t room = rng_below(&r, 2) ? 512 : m->len;
			volatile uint32_t *word = (uint32_t *)(m->at + rng_below(&r, room) / 4 * 4);

			*word = hostile(&r, *word);
			if (!rng_below(&r, 4))
				ring_doorbells(rng_below(&r, 2) ? p.a.qp : p.b.qp);
		}
		if (!rng_below(&r, 8)) {
			struct ibv_wc wc[4];

			ibv_poll_cq(p.a.scq, 4, wc);
			ibv_poll_cq(p.b.rcq, 4, wc);
			ibv_req_notify_cq(p.a.scq, rng_below(&r, 2));
		}
		if (!rng_below(&r, 16)) {
			ibv_resize_cq(rng_below(&r, 2) ? p.a.scq : p.b.rcq, 1 << rng_below(&r, 10));
			n = uverbs_mappings(map, ARRAY_SIZE(map));
		}
	}
	_exit(EXIT_PASS);
}

void case_rings(void)
{
	unsigned int rounds = env_uint("BADINPUT_ROUNDS", 6);
	uint64_t seed = env_uint("BADINPUT_SEED", 1);
	pid_t children[64];
	struct pair bystander;
	int status, skipped = 0;

	require(rounds <= 64, "%u", rounds);
	/*
	 * forked before anything is opened, so that the children share nothing with this process
	 */
	for (unsigned int i = 0; i < rounds; i++) {
		children[i] = fork_child();
		if (!children[i]) {
			raise(SIGSTOP);
			signal(SIGALRM, SIG_DFL);
			freopen("/dev/null", "w", stderr);
			vandal(seed + i);
		}
	}
	pair_open(&bystander);
	for (unsigned int i = 0; i < rounds; i++) {
		waitpid(children[i], NULL, WUNTRACED);
		kill(children[i], SIGCONT);
		usleep(500000);
		pair_works(&bystander, "beside a vandal");
		require(waitpid(children[i], &status, 0) == children[i], "%s", strerror(errno));
		skipped += WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP;
		pair_works(&bystander, "after a vandal");
	}
	pair_close(&bystander);
	if (skipped)
		skip("this driver shares no memory with programs");
}
