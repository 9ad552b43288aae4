// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A child of fork() inherits the objects of its parent, but none of its rings. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi.h"

#define FILL	0x5a

static struct {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp, *on_srq;
} own;

static struct ibv_qp *new_qp(struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = own.cq, .recv_cq = own.cq, .srq = srq,
		.cap = DEFAULT_CAP,
	};
	struct ibv_qp *qp = ibv_create_qp(own.pd, &attr);

	require(qp, "%s", strerror(errno));
	return qp;
}

static void make_all(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_context *ctx = test_context();

	own.pd = ibv_alloc_pd(ctx);
	own.cq = ibv_create_cq(ctx, 16, NULL, NULL, 0);
	require(own.pd && own.cq, "%s", strerror(errno));
	own.srq = ibv_create_srq(own.pd, &attr);
	require(own.srq, "%s", strerror(errno));
	own.qp = new_qp(NULL);
	own.on_srq = new_qp(own.srq);
}

static void destroy_all(void)
{
	require(!ibv_destroy_qp(own.qp) && !ibv_destroy_qp(own.on_srq), "QP: %s",
		strerror(errno));
	require(!ibv_destroy_srq(own.srq), "SRQ: %s", strerror(errno));
	require(!ibv_destroy_cq(own.cq), "CQ: %s", strerror(errno));
}

/* Map the child's own memory at the addresses of the parent's rings */
static void take_places(const struct mapping *map, int n)
{
	for (int i = 0; i < n; i++) {
		void *mem = mmap(map[i].at, map[i].len, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		require(mem == map[i].at, "ring %d: %s", i, strerror(errno));
		memset(mem, FILL, map[i].len);
	}
}

static void places_are_kept(const struct mapping *map, int n)
{
	for (int i = 0; i < n; i++) {
		require(!msync(map[i].at, map[i].len, MS_ASYNC), "ring %d: unmapped", i);
		for (size_t k = 0; k < map[i].len; k++)
			require(map[i].at[k] == FILL, "ring %d: written to at %zu", i, k);
	}
}

static int child(const struct mapping *map, int n)
{
	struct mapping none[8];

	take_places(map, n);
	destroy_all();
	places_are_kept(map, n);
	/* the child maps and unmaps the rings of its own objects */
	make_all();
	require(uverbs_mappings(none, 8) == 5, "rings of the child's own");
	destroy_all();
	require(!uverbs_mappings(none, 8), "rings are left");
	places_are_kept(map, n);
	return EXIT_PASS;
}

/* The child may destroy inherited objects, and its own mappings stay unchanged. */
void case_fork(void)
{
	struct mapping map[8];
	int n, status;
	pid_t pid;

	make_all();
	n = uverbs_mappings(map, ARRAY_SIZE(map));
	require(n == 5, "%d rings", n);
	pid = fork_child();
	if (!pid)
		_exit(child(map, n));
	require(waitpid(pid, &status, 0) == pid, "%s", strerror(errno));
	require(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_PASS, "the child: status %#x",
		status);
	/* the parent's rings are still mapped, though their objects are gone */
	require(uverbs_mappings(map, ARRAY_SIZE(map)) == n, "rings of the parent");
}
