// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rings of a QP and its CQs are registered as memory, and the peer writes into them while
 * they are in use. The program itself is to blame if its own QPs fail.
 */
#include <string.h>
#include <unistd.h>
#include "attack.h"

#define RINGS	16

static void rubbish(struct rng *r, uint8_t *p, uint32_t len)
{
	for (int i = 0; i < 64; i++)
		p[rng_below(r, len)] = rng_below(r, 3) ? rng_below(r, 8) : rng_next(r);
}

/* At the entries, or anywhere */
static uint64_t place(struct rng *r, const struct mapping *m)
{
	return rng_below(r, 2) ? 64 * rng_below(r, 4) : rng_below(r, m->len - 400);
}

static void life(struct rng *r)
{
	struct mapping rings[RINGS];
	struct ibv_mr *mr[RINGS];
	struct pair p;
	int n, k = 0;

	pair_open(&p);
	n = uverbs_mappings(rings, RINGS);
	for (int i = 0; i < n; i++) {
		mr[k] = ibv_reg_mr(p.b.pd, rings[i].at, rings[i].len, ACCESS_ALL);
		if (mr[k])
			rings[k++] = rings[i];
	}
	require(n, "no ring is mapped");
	if (!k)
		return;		/* this kernel does not pin such pages, which is as good */
	for (int i = 0; i < 60; i++) {
		struct ibv_sge sge = sge_of(&p.a, rng_below(r, 1000), 4 + rng_below(r, 300));
		struct ibv_sge recv = sge_of(&p.b, 0, 100);
		int which = rng_below(r, k);
		struct ibv_wc wc[8];

		rubbish(r, p.a.buf, 1500);
		post_wr(&p.a, IBV_WR_RDMA_WRITE, i, &sge, 1, IBV_SEND_SIGNALED,
			(uintptr_t)rings[which].at + place(r, &rings[which]), mr[which]->rkey);
		post_rwr(&p.b, 5, &recv, 1);
		sge = sge_of(&p.b, 0, 50);
		post_wr(&p.b, IBV_WR_SEND, i, &sge, 1, 0, 0, 0);
		ibv_poll_cq(p.a.scq, 8, wc);
		ibv_poll_cq(p.b.rcq, 8, wc);
		ibv_req_notify_cq(p.b.rcq, 0);
		usleep(200);
	}
}

void case_ringmr(void)
{
	in_lives(life);
}
