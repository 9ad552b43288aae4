// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Objects and memory that the device must refuse. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include "badinput.h"

static struct ibv_pd *pd;

static void no_mr(void *addr, size_t len, int access, int want, const char *what)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(pd, addr, len, access);
	if (mr)
		die("%s: registered", what);
	if (errno != want)
		die("%s: %s (%d) in place of %s", what, strerror(errno), errno, strerror(want));
}

static void some_mr(void *addr, size_t len, int access, const char *what)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, len, access);

	if (!mr)
		die("%s: %s", what, strerror(errno));
	require(!ibv_dereg_mr(mr), "%s", what);
}

void case_reg_mr(void)
{
	const size_t len = 4 * 4096;
	uint8_t *rw, *ro, *hole;

	pd = ibv_alloc_pd(test_context());
	require(pd, "%s", strerror(errno));
	rw = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ro = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	hole = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(rw != MAP_FAILED && ro != MAP_FAILED && hole != MAP_FAILED, "mmap");
	munmap(hole + 2 * 4096, 4096);

	/* ibv_reg_mr(3): remote write and atomics need local write */
	no_mr(rw, len, IBV_ACCESS_REMOTE_WRITE, EINVAL, "remote write without local write");
	no_mr(rw, len, IBV_ACCESS_REMOTE_ATOMIC, EINVAL, "remote atomic without local write");
	no_mr(NULL, len, IBV_ACCESS_LOCAL_WRITE, EFAULT, "unmapped memory");
	no_mr(hole, len, IBV_ACCESS_LOCAL_WRITE, EFAULT, "memory with a hole");
	no_mr(hole, len, 0, EFAULT, "memory with a hole, only to be read");
	no_mr(ro, len, IBV_ACCESS_LOCAL_WRITE, EFAULT, "read-only memory with local write");
	no_mr((void *)(UINTPTR_MAX - 8191), 4096, 0, EFAULT, "kernel memory");
	/* wrong in two ways, so either error may be returned */
	require(!ibv_reg_mr(pd, (void *)(UINTPTR_MAX - 4095), 8192, 0) &&
		(errno == EINVAL || errno == EFAULT), "a range that wraps: %s", strerror(errno));
	require(!ibv_reg_mr(pd, rw, SIZE_MAX - 8192, 0) &&
		(errno == EINVAL || errno == EFAULT || errno == ENOMEM),
		"a length that wraps: %s", strerror(errno));

	some_mr(ro, len, 0, "read-only memory to be read");
	some_mr(ro, len, IBV_ACCESS_REMOTE_READ, "read-only memory to be read by the peer");
	some_mr(rw + 1, 1, ACCESS_ALL, "one byte");
	some_mr(rw, len, ACCESS_ALL | IBV_ACCESS_RELAXED_ORDERING, "an optional access flag");
	some_mr(hole, 2 * 4096, ACCESS_ALL, "memory before a hole");
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

/*
 * Pinned memory counts against RLIMIT_MEMLOCK, for those without CAP_IPC_LOCK, until it is
 * deregistered.
 */
void case_memlock(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	struct ibv_context *ctx = test_context();
	uint8_t *mem;

	pd = ibv_alloc_pd(ctx);
	require(pd, "%s", strerror(errno));
	mem = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(mem != MAP_FAILED, "mmap");
	/* root may lock more */
	require(!setrlimit(RLIMIT_MEMLOCK, &limit), "%s", strerror(errno));
	some_mr(mem, 2 << 20, IBV_ACCESS_LOCAL_WRITE, "CAP_IPC_LOCK");

	require(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534), "%s",
		strerror(errno));
	no_mr(mem, 2 << 20, IBV_ACCESS_LOCAL_WRITE, ENOMEM, "twice the limit");
	for (int i = 0; i < 50; i++)
		some_mr(mem, 768 << 10, IBV_ACCESS_LOCAL_WRITE, "three quarters, again and again");

	struct ibv_mr *one = ibv_reg_mr(pd, mem, 768 << 10, IBV_ACCESS_LOCAL_WRITE);

	require(one, "%s", strerror(errno));
	no_mr(mem + (2 << 20), 768 << 10, IBV_ACCESS_LOCAL_WRITE, ENOMEM, "one and a half");
	require(!ibv_dereg_mr(one), "%s", strerror(errno));
	some_mr(mem + (2 << 20), 768 << 10, IBV_ACCESS_LOCAL_WRITE, "after the first is gone");
	require(!ibv_dealloc_pd(pd), "%s", strerror(errno));
}

void case_create_cq(void)
{
	struct ibv_context *ctx = test_context();
	struct ibv_device_attr attr;
	struct ibv_cq *cq;

	require(!ibv_query_device(ctx, &attr), "%s", strerror(errno));
	const int bad[] = { 0, -1, attr.max_cqe + 1, INT_MAX };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		errno = 0;
		cq = ibv_create_cq(ctx, bad[i], NULL, NULL, 0);
		require(!cq, "%d entries", bad[i]);
		require(errno == EINVAL, "%s (%d) for %d entries", strerror(errno), errno,
			bad[i]);
	}
	errno = 0;
	require(!ibv_create_cq(ctx, 16, NULL, NULL, ctx->num_comp_vectors), "no such vector");
	require(errno == EINVAL, "%s", strerror(errno));
	require(!ibv_create_cq(ctx, 16, NULL, NULL, -1), "no such vector");

	for (int n = 1; n <= 4096; n = n * 3 + 1) {	/* at least as many as asked for */
		cq = ibv_create_cq(ctx, n, NULL, NULL, 0);
		require(cq && cq->cqe >= n, "%d entries: %s", n, cq ? "fewer" : strerror(errno));
		require(!ibv_destroy_cq(cq), "%s", strerror(errno));
	}
}

static struct ibv_cq *some_cq;

static struct ibv_qp *try_qp(const struct ibv_qp_cap *cap, enum ibv_qp_type type,
			     struct ibv_qp_cap *got)
{
	struct ibv_qp_init_attr init = { .send_cq = some_cq, .recv_cq = some_cq,
					 .qp_type = type, .cap = *cap };
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(pd, &init);
	if (qp && got)
		*got = init.cap;
	return qp;
}

static void no_qp(const struct ibv_qp_cap *cap, enum ibv_qp_type type, const char *what)
{
	if (try_qp(cap, type, NULL))
		die("%s: created", what);
	if (errno != EINVAL && errno != EOPNOTSUPP)
		die("%s: %s (%d) in place of %s", what, strerror(errno), errno,
		    strerror(EINVAL));
}

void case_create_qp(void)
{
	struct ibv_context *ctx = test_context();
	const struct ibv_qp_cap good = DEFAULT_CAP;
	struct ibv_qp_cap cap, got;
	struct ibv_device_attr attr;
	struct ibv_qp *qp;

	require(!ibv_query_device(ctx, &attr), "%s", strerror(errno));
	pd = ibv_alloc_pd(ctx);
	some_cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	require(pd && some_cq, "%s", strerror(errno));

	/* the limits of query_device are exact: each can be reached, and one more is refused */
	static const struct {
		const char *name;
		size_t cap;
		size_t limit;
	} limits[] = {
		{ "max_send_wr", offsetof(struct ibv_qp_cap, max_send_wr),
		  offsetof(struct ibv_device_attr, max_qp_wr) },
		{ "max_recv_wr", offsetof(struct ibv_qp_cap, max_recv_wr),
		  offsetof(struct ibv_device_attr, max_qp_wr) },
		{ "max_send_sge", offsetof(struct ibv_qp_cap, max_send_sge),
		  offsetof(struct ibv_device_attr, max_sge) },
		{ "max_recv_sge", offsetof(struct ibv_qp_cap, max_recv_sge),
		  offsetof(struct ibv_device_attr, max_sge) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		uint32_t max = *(int *)((char *)&attr + limits[i].limit);
		uint32_t *value = (uint32_t *)((char *)&cap + limits[i].cap);

		cap = good;
		*value = max;
		qp = try_qp(&cap, IBV_QPT_RC, &got);
		require(qp, "%s %u: %s", limits[i].name, max, strerror(errno));
		require(got.max_send_wr >= cap.max_send_wr && got.max_recv_wr >= cap.max_recv_wr &&
			got.max_send_sge >= cap.max_send_sge &&
			got.max_recv_sge >= cap.max_recv_sge &&
			got.max_inline_data >= cap.max_inline_data, "%s %u: caps returned",
			limits[i].name, max);
		require(!ibv_destroy_qp(qp), "%s", strerror(errno));
		*value = max + 1;
		no_qp(&cap, IBV_QPT_RC, limits[i].name);
		*value = UINT32_MAX;
		no_qp(&cap, IBV_QPT_RC, limits[i].name);
	}
	cap = good;
	cap.max_inline_data = 1 << 20;
	no_qp(&cap, IBV_QPT_RC, "a megabyte of inline data");
	no_qp(&good, IBV_QPT_UD, "a UD QP on iWARP");
	no_qp(&good, IBV_QPT_UC, "a UC QP on iWARP");
	no_qp(&good, IBV_QPT_RAW_PACKET, "a raw packet QP");
	no_qp(&good, 99, "an unknown QP type");
	require(!ibv_destroy_cq(some_cq) && !ibv_dealloc_pd(pd), "%s", strerror(errno));
}

/* Objects in use cannot be destroyed (5.2.2, 5.3.4). */
void case_in_use(void)
{
	const struct ibv_qp_cap good = DEFAULT_CAP;
	struct ibv_context *ctx = test_context();
	static uint8_t mem[4096];
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	int err;

	pd = ibv_alloc_pd(ctx);
	some_cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, mem, sizeof(mem), ACCESS_ALL);
	qp = try_qp(&good, IBV_QPT_RC, NULL);
	require(pd && some_cq && mr && qp, "%s", strerror(errno));
	err = ibv_destroy_cq(some_cq);
	require(err == EBUSY, "CQ of a QP: %s", strerror(err));
	err = ibv_dealloc_pd(pd);
	require(err == EBUSY, "PD of a QP: %s", strerror(err));
	require(!ibv_destroy_qp(qp), "%s", strerror(errno));
	err = ibv_dealloc_pd(pd);
	require(err == EBUSY, "PD of an MR: %s", strerror(err));
	require(!ibv_dereg_mr(mr) && !ibv_destroy_cq(some_cq) && !ibv_dealloc_pd(pd), "%s",
		strerror(errno));
}
