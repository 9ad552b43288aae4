// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* CQs, QPs and SRQs are resized in ways in which no library does it, while the rings' indices jump. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include "attack.h"

#define RINGS	32

static struct pair pair;
static uint64_t end;
static atomic_bool over;
static atomic_uint steps[SRNIC_RESIZE_CANCEL + 1];

static int resize(struct ibv_cq *cq, uint32_t cqe, uint32_t step, struct srnic_uresp_resize_cq *out)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_resize_cq cmd;
		struct srnic_ureq_resize_cq drv;
	} req = { 0 };
	struct {
		struct ib_uverbs_resize_cq_resp core;
		struct srnic_uresp_resize_cq drv;
	} answer = { 0 };

	req.hdr = (struct ib_uverbs_cmd_hdr){ IB_USER_VERBS_CMD_RESIZE_CQ, sizeof(req) / 4,
					      sizeof(answer) / 4 };
	req.cmd.response = (uintptr_t)&answer;
	req.cmd.cq_handle = cq->handle;
	req.cmd.cqe = cqe;
	req.drv.step = step;
	if (write(cq->context->cmd_fd, &req, sizeof(req)) != sizeof(req))
		return errno;
	*out = answer.drv;
	return 0;
}

/* The program can map the new ring as soon as it is made */
static void scribble(const struct srnic_mmap *ring, struct rng *r)
{
	uint32_t *m = mmap(NULL, ring->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			   pair.b.rcq->context->cmd_fd, ring->offset);

	if (m == MAP_FAILED)	/* another thread has committed or cancelled it */
		return;
	for (int i = 0; i < 50; i++)
		m[rng_below(r, ring->size / 4)] = rng_next(r);
	munmap(m, ring->size);
}

static void *resizer(void *arg)
{
	struct rng r = { *(uint64_t *)arg };
	struct srnic_uresp_resize_cq answer = { 0 };
	uint32_t cqe = 64;

	while (now_ms() < end) {
		uint32_t step = rng_below(&r, SRNIC_RESIZE_CANCEL + 2);
		int err;

		if (step == SRNIC_RESIZE_PREPARE)
			cqe = 1u << rng_below(&r, 14);
		err = resize(pair.b.rcq, cqe, step, &answer);
		if (!step || step > SRNIC_RESIZE_CANCEL)
			require(err == EINVAL || err == EOPNOTSUPP, "step %u: %s", step,
				strerror(err));
		else if (!err)
			steps[step]++;
		if (!err && step == SRNIC_RESIZE_PREPARE && rng_below(&r, 2))
			scribble(&answer.ring, &r);
	}
	over = true;
	return NULL;
}

/* Change consumer indices and arm words, at their places in struct srnic_ring_hdr */
static void *flipper(void *arg)
{
	struct rng r = { 4711 };
	struct mapping rings[RINGS];
	int n = uverbs_mappings(rings, RINGS);

	while (!over)
		for (int i = 0; i < n; i++) {
			volatile struct srnic_ring_hdr *ring = (void *)rings[i].at;

			ring->consumer = ring->producer - rng_below(&r, 64);
			ring->flags = rng_below(&r, 4);
		}
	return NULL;
}

static void note_steps(void)
{
	note("prepared %u, committed %u, cancelled %u times", steps[SRNIC_RESIZE_PREPARE],
	     steps[SRNIC_RESIZE_COMMIT], steps[SRNIC_RESIZE_CANCEL]);
}

static void life(struct rng *r)
{
	uint64_t seeds[2] = { rng_next(r), rng_next(r) };
	pthread_t t[3];

	pair_open(&pair);
	end = now_ms() + 500;
	t[0] = thread_of(resizer, &seeds[0]);
	t[1] = thread_of(resizer, &seeds[1]);
	t[2] = thread_of(flipper, NULL);
	while (!over) {
		struct ibv_sge sge = sge_of(&pair.a, 0, 10), recv = sge_of(&pair.b, 0, 100);
		struct ibv_wc wc[16];

		post_rwr(&pair.b, 9, &recv, 1);
		post_wr(&pair.a, IBV_WR_SEND, 1, &sge, 1, IBV_SEND_SIGNALED, 0, 0);
		ibv_poll_cq(pair.a.scq, 16, wc);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	note_steps();
	require(steps[SRNIC_RESIZE_PREPARE], "nothing was tried");
}

/* Some lives end because the library uses the changed indices */
void case_cq_steps(void)
{
	in_lives(life);
}

/* ----- queues of a QP ----- */

int resize_qp(struct ibv_qp *qp, const struct srnic_ureq_qp_resize *req,
		     struct srnic_uresp_qp_resize *resp)
{
	struct method_call call = {
		.hdr = METHOD_HDR(UVERBS_OBJECT_QP, SRNIC_METHOD_QP_RESIZE, 3),
		.attr = {
			ATTR_NUMBER(SRNIC_ATTR_QP_RESIZE_QP, qp->handle),
			ATTR_BYTES(SRNIC_ATTR_QP_RESIZE_REQ, req, sizeof(*req)),
			ATTR_BYTES(SRNIC_ATTR_QP_RESIZE_RESP, resp, sizeof(*resp)),
		},
	};

	return call_method(qp->context, &call);
}

/* Whatever is written into the rings begins then: a QP with an impossible index is not resized */
static bool qp_was_resized(void)
{
	return steps[SRNIC_RESIZE_PREPARE] && steps[SRNIC_RESIZE_COMMIT];
}

static void *qp_resizer(void *arg)
{
	struct rng r = { *(uint64_t *)arg };
	struct srnic_ureq_qp_resize req = { .max_send_wr = 64, .max_recv_wr = 64 };
	struct srnic_uresp_qp_resize answer = { 0 };

	while (now_ms() < end || !qp_was_resized()) {
		struct ibv_qp *qp = rng_below(&r, 2) ? pair.a.qp : pair.b.qp;
		int err;

		req.step = rng_below(&r, SRNIC_RESIZE_CANCEL + 2);
		if (req.step == SRNIC_RESIZE_PREPARE) {
			/* few sizes: a COMMIT is of those that either thread has prepared */
			req.max_send_wr = 64u << 6 * rng_below(&r, 2);
			req.max_recv_wr = 64u << 6 * rng_below(&r, 2);
		}
		err = resize_qp(qp, &req, &answer);
		if (!req.step || req.step > SRNIC_RESIZE_CANCEL)
			require(err == EINVAL, "step %u: %s", req.step, strerror(err));
		else if (!err)
			steps[req.step]++;
		if (!err && req.step == SRNIC_RESIZE_PREPARE && qp_was_resized() &&
		    rng_below(&r, 2)) {
			scribble(&answer.sq, &r);
			scribble(&answer.rq, &r);
		}
	}
	over = true;
	return NULL;
}

/* Producer indices and flags, of the library's rings, which after a COMMIT are not the QP's */
static void *qp_flipper(void *arg)
{
	struct rng r = { 815 };
	struct mapping rings[RINGS];
	int n = uverbs_mappings(rings, RINGS);

	while (!qp_was_resized())
		usleep(1000);
	while (!over)
		for (int i = 0; i < n; i++) {
			volatile struct srnic_ring_hdr *ring = (void *)rings[i].at;

			ring->producer += rng_below(&r, 3) - 1;
			ring->flags = rng_below(&r, 4);
		}
	return NULL;
}

/* Takes the rings away, under the library, the flipper and a resize */
static void *unmapper(void *arg)
{
	struct mapping rings[RINGS];
	int n;

	while (!qp_was_resized())
		usleep(1000);
	usleep(*(uint64_t *)arg % 300000);
	n = uverbs_mappings(rings, RINGS);
	for (int i = 0; i < n; i++)
		munmap(rings[i].at, rings[i].len);
	return NULL;
}

static void qp_life(struct rng *r)
{
	uint64_t seeds[3] = { rng_next(r), rng_next(r), rng_next(r) };
	pthread_t t[4];
	int n = 0;

	pair_open(&pair);
	end = now_ms() + 500;
	t[n++] = thread_of(qp_resizer, &seeds[0]);
	t[n++] = thread_of(qp_resizer, &seeds[1]);
	t[n++] = thread_of(qp_flipper, NULL);
	if (!rng_below(r, 3))
		t[n++] = thread_of(unmapper, &seeds[2]);
	while (!over)
		one_message(&pair, 1);
	while (n)
		pthread_join(t[--n], NULL);
	note_steps();
	require(qp_was_resized(), "nothing was tried");
}

/* Some lives end because the library uses rings that are gone, or indices that are changed */
void case_qp_steps(void)
{
	in_lives(qp_life);
}

/* ----- SRQs ----- */

/* The producer index jumps 2^31 ahead, and back */
static void *jumper(void *arg)
{
	volatile struct srnic_ring_hdr *ring = arg;

	while (!over) {
		ring->producer = 0x7fffffff;
		ring->producer = 0;
		ring->producer = 1024;
		ring->producer = 0xffffffff;
	}
	return NULL;
}

static int resize_srq(struct ibv_srq *srq, uint32_t max_wr)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_modify_srq cmd;
	} req = {
		.hdr = { IB_USER_VERBS_CMD_MODIFY_SRQ, sizeof(req) / 4, 0 },
		.cmd = { .srq_handle = srq->handle, .attr_mask = IBV_SRQ_MAX_WR, .max_wr = max_wr },
	};

	return write(srq->context->cmd_fd, &req, sizeof(req)) == sizeof(req) ? 0 : errno;
}

/* A loop from one index to the other would run 2^31 times: seconds with a lock held */
void case_srq_index(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1024, .max_sge = 1 } };
	struct ibv_context *ctx = test_context();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_srq *srq = pd ? ibv_create_srq(pd, &attr) : NULL;
	struct rng r = { env_uint("ATTACK_SEED", 1) };
	unsigned int n = 0, done = 0;
	struct mapping ring;
	uint64_t worst = 0;
	pthread_t t;

	require(srq, "%s", strerror(errno));
	require(uverbs_mappings(&ring, 1) == 1, "no ring is mapped");
	t = thread_of(jumper, ring.at);
	end = attack_end();
	do {
		uint64_t start = now_ms(), took;
		int err = resize_srq(srq, 1024 << rng_below(&r, 3));

		took = now_ms() - start;
		worst = took > worst ? took : worst;
		require(!err || err == EINVAL || err == ENOMEM, "%s", strerror(err));
		done += !err;
		n++;
	} while (now_ms() < end);
	over = true;
	pthread_join(t, NULL);
	note("%u resizes, %u of them done, %llu ms at worst", n, done, (unsigned long long)worst);
	require(worst < 1000 * env_uint("SRNIC_SLOW", 1), "a resize of %llu ms",
		(unsigned long long)worst);
	_exit(EXIT_PASS);
}
