// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The descriptor of a device is passed to another process, which tries all calls with it while
 * the giver destroys its objects. The giver has another context, opened separately: its objects
 * must not be found through the descriptor that was passed.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "attack.h"

#define HANDLES	16

static uint8_t mem[8192];

static void send_fd(int sock, int fd)
{
	char data = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &data, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *hdr = CMSG_FIRSTHDR(&msg);

	hdr->cmsg_level = SOL_SOCKET;
	hdr->cmsg_type = SCM_RIGHTS;
	hdr->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(hdr), &fd, sizeof(int));
	require(sendmsg(sock, &msg, 0) == 1, "%s", strerror(errno));
}

static int recv_fd(int sock)
{
	char data, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &data, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	require(recvmsg(sock, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg), "%s", strerror(errno));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* Use a PD by its number, or the object that the kernel finds under that number */
static void use_pd(struct ibv_context *ctx, uint32_t handle, struct rng *r)
{
	struct ibv_pd *pd = ibv_import_pd(ctx, handle);
	struct ibv_mr *own, *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp = NULL;

	if (!pd)
		return;
	mr = ibv_import_mr(pd, rng_below(r, HANDLES));
	own = ibv_reg_mr(pd, mem, sizeof(mem), ACCESS_ALL);
	cq = ibv_create_cq(ctx, 10, NULL, NULL, 0);
	if (cq) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq,
						 .recv_cq = cq, .cap = DEFAULT_CAP };

		qp = ibv_create_qp(pd, &init);
	}
	if (qp && rng_below(r, 2))
		ibv_destroy_qp(qp);
	if (own && rng_below(r, 2))
		ibv_dereg_mr(own);
	if (mr && rng_below(r, 2))
		ibv_dereg_mr(mr);
	if (rng_below(r, 4) == 0)
		ibv_dealloc_pd(pd);
}

static void receiver(int sock, struct rng *r)
{
	struct ibv_context *ctx = ibv_import_device(recv_fd(sock));

	if (!ctx)	/* the giver has closed it: this was the last reference */
		return;
	for (uint32_t handle = 0; handle < HANDLES; handle++)
		use_pd(ctx, handle, r);
	if (rng_below(r, 2))
		ibv_close_device(ctx);
}

void case_passfd(void)
{
	struct rng r = { env_uint("ATTACK_SEED", 1) };
	uint64_t end = attack_end();
	unsigned int passed = 0;
	struct pair own;

	pair_open(&own);
	do {
		struct rng other = { rng_next(&r) };
		struct ibv_context *ctx;
		struct ibv_mr *mr;
		struct ibv_pd *pd;
		int sock[2], status;
		pid_t pid;

		require(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock), "%s", strerror(errno));
		pid = fork_child();
		if (!pid) {
			deadline_set(20, NULL);
			receiver(sock[1], &other);
			_exit(EXIT_PASS);
		}
		ctx = ibv_open_device(test_context()->device);
		require(ctx, "%s", strerror(errno));
		pd = ibv_alloc_pd(ctx);
		mr = pd ? ibv_reg_mr(pd, mem, sizeof(mem), ACCESS_ALL) : NULL;
		require(mr, "%s", strerror(errno));
		send_fd(sock[0], ctx->cmd_fd);
		usleep(rng_below(&r, 3000));
		/* the receiver may have destroyed them, or their users may be left */
		ibv_dereg_mr(mr);
		ibv_dealloc_pd(pd);
		ibv_close_device(ctx);
		require(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
			"receiver %u: status %#x", passed, status);
		close(sock[0]);
		close(sock[1]);
		if (!(passed++ % 16))
			pair_works(&own, "beside a descriptor that was passed");
	} while (now_ms() < end);
	pair_works(&own, "at last");
	note("%u descriptors passed", passed);
	pair_close(&own);
}
