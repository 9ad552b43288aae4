// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages wait for receives, at RQs and at an SRQ. Meanwhile the queues are resized, their indices
 * jump, the QPs end in all ways, and the program is killed.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/ib_user_verbs.h>
#include "attack.h"

#define PAIRS	6
#define RINGS	64	/* more than there are */
/* A life is longer than usual, if nothing has been tried yet, by so much at most */
#define PATIENCE_MS	10000

static struct pair pairs[PAIRS];
static struct ibv_srq *srq;
static atomic_bool over;
static uint64_t end;
static atomic_uint received, rung, resized, ended;

/* Whether it waits or not, and whatever is in the ring */
static void ring_doorbell(struct ibv_qp *qp)
{
	uint32_t answer;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_post_recv cmd;
	} req = {
		.hdr = { IB_USER_VERBS_CMD_POST_RECV, sizeof(req) / 4, sizeof(answer) / 4 },
		.cmd = { .response = (uintptr_t)&answer, .qp_handle = qp->handle,
			 .wqe_size = sizeof(struct ib_uverbs_recv_wr) },
	};
	ssize_t n = write(qp->context->cmd_fd, &req, sizeof(req));

	require(n == sizeof(req) || errno == EINVAL, "a doorbell: %zd, %s", n, strerror(errno));
	rung++;
}

/* Mappings of the rings that the library does not know, and so does not unmap */
static int map_rings(volatile struct srnic_ring_hdr **to)
{
	struct mapping rings[RINGS];
	int n = uverbs_mappings(rings, RINGS), k = 0;

	for (int i = 0; i < n; i++) {
		void *at = mmap(NULL, rings[i].len, PROT_READ | PROT_WRITE, MAP_SHARED,
				test_context()->cmd_fd, rings[i].offset);

		if (at != MAP_FAILED)	/* a resize may have been faster */
			to[k++] = at;
	}
	require(k, "%s", strerror(errno));
	return k;
}

/* There seems to be a receive, and then there is none */
static void *flipper(void *arg)
{
	volatile struct srnic_ring_hdr *rings[RINGS];
	struct rng r = { *(uint64_t *)arg };
	int n = map_rings(rings);

	while (!over) {
		volatile struct srnic_ring_hdr *ring = rings[rng_below(&r, n)];

		ring->producer++;
		if (!rng_below(&r, 8))
			usleep(rng_below(&r, 200));
		ring->producer--;
		if (!rng_below(&r, 8))
			ring->flags = rng_below(&r, 4);
		usleep(rng_below(&r, 500));
	}
	return NULL;
}

/*
 * The SRQ and the first QP. The library goes on with the old rings of this QP: nothing that it
 * posts is seen
 */
static void *resizer(void *arg)
{
	struct srnic_uresp_qp_resize answer;
	struct rng r = { *(uint64_t *)arg };

	usleep(rng_below(&r, 100000));
	while (!over) {
		struct ibv_srq_attr attr = { .max_wr = 16u << rng_below(&r, 6) };
		struct srnic_ureq_qp_resize req = {
			.step = 1 + rng_below(&r, SRNIC_RESIZE_CANCEL),
			.max_send_wr = 64u << rng_below(&r, 2),
			.max_recv_wr = 64u << rng_below(&r, 2),
		};

		resized += !resize_qp(pairs[0].b.qp, &req, &answer);
		if (!rng_below(&r, 16))
			resized += !ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR);
		usleep(rng_below(&r, 5000));
	}
	return NULL;
}

static void receive(struct pair *p)
{
	struct ibv_sge sge = sge_of(&p->b, 0, 64);
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc[8];
	int n;

	if (p->b.srq)
		ibv_post_srq_recv(p->b.srq, &wr, &bad);
	else
		ibv_post_recv(p->b.qp, &wr, &bad);
	n = ibv_poll_cq(p->b.rcq, 8, wc);
	received += n > 0 ? n : 0;
}

static void end_it(struct pair *p, struct rng *r)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	switch (rng_below(r, 4)) {
	case 0:
		ibv_modify_qp(p->b.qp, &attr, IBV_QP_STATE);
		break;
	case 1:
		rdma_disconnect(p->b.id);
		break;
	case 2:
		rdma_disconnect(p->a.id);
		break;
	default:
		ibv_modify_qp(p->a.qp, &attr, IBV_QP_STATE);
	}
	ended++;
}

static void one_step(struct rng *r)
{
	struct pair *p = &pairs[rng_below(r, PAIRS)];
	struct ibv_qp_attr attr = { .rnr_retry = rng_below(r, 8), .min_rnr_timer = rng_below(r, 32) };
	struct ibv_sge sge = sge_of(&p->a, 0, rng_below(r, 64));
	struct ibv_wc wc[8];

	switch (rng_below(r, 8)) {
	case 0:
	case 1:
		post_wr(&p->a, IBV_WR_SEND, 1, &sge, 1, IBV_SEND_SIGNALED, 0, 0);
		ibv_poll_cq(p->a.scq, 8, wc);
		break;
	case 2:
	case 3:
		receive(p);
		break;
	case 4:
		ring_doorbell(p->b.qp);
		break;
	case 5:
		ibv_modify_qp(p->b.qp, &attr, IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER);
		break;
	case 6:
		if (!rng_below(r, 150))
			end_it(p, r);
		break;
	default:
		usleep(rng_below(r, 2000));
	}
}

static void open_all(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_pd *pd = ibv_alloc_pd(test_context());

	srq = pd ? ibv_create_srq(pd, &attr) : NULL;
	require(srq, "%s", strerror(errno));
	for (int i = 0; i < PAIRS; i++) {
		struct ibv_qp_cap cap = DEFAULT_CAP;

		pair_prepare(&pairs[i], &cap);
		if (i % 2)
			pairs[i].b.srq = srq;
		pair_connect(&pairs[i]);
	}
}

static void life(struct rng *r)
{
	uint64_t seeds[3] = { rng_next(r), rng_next(r), rng_next(r) }, killed = 0;
	pthread_t t[3];

	open_all();
	end = now_ms() + 500;
	if (!rng_below(r, 3))
		killed = now_ms() + rng_below(r, 500);
	for (int i = 0; i < 3; i++)
		t[i] = thread_of(i ? resizer : flipper, &seeds[i]);
	/* a machine that is busy may give the threads no time at first */
	while (now_ms() < end || (!(rung && resized) && now_ms() < end + PATIENCE_MS)) {
		one_step(r);
		if (killed && now_ms() >= killed)
			raise(SIGKILL);
	}
	over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	note("%u received, %u doorbells, %u steps of a resize, %u ends", received, rung, resized,
	     ended);
	require(rung && resized, "nothing was tried");
}

/* Other lives end because the library uses the changed indices */
void case_waits(void)
{
	struct lives lives = in_lives(life);

	require(lives.killed < lives.all || lives.all < 4, "all lives were killed");
}
