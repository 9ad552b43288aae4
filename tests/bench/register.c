// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Registering existing memory and deregistering it, one region after the other: microseconds for
 * each MiB. The connection provides a device, as in all other cases.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

#define MOST	(1u << 20)	/* samples */

static void client(struct node *n)
{
	const struct bench *b = n->b;
	uint32_t *reg = calloc(MOST, sizeof(*reg)), *dereg = calloc(MOST, sizeof(*dereg));
	double per_mib = 1048576.0 / n->size;
	uint64_t begin, at, made, gone, end;
	struct usage before, after;
	size_t num = 0, all = 0;
	struct ibv_mr *mr;

	require(reg && dereg, "%s", strerror(errno));
	usage_now(&before);
	begin = now_ns() + b->ms * 100000ULL;
	end = begin + b->ms * 1000000ULL;
	for (at = now_ns(); at < end || !num; at = gone, all++) {
		mr = ibv_reg_mr(n->pd, n->links[0].out, n->size, IBV_ACCESS_LOCAL_WRITE |
				IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
		made = now_ns();
		require(mr, "ibv_reg_mr of %u bytes: %s", n->size, strerror(errno));
		if (ibv_dereg_mr(mr))
			die("ibv_dereg_mr: %s", strerror(errno));
		gone = now_ns();
		if (at < begin || num == MOST)
			continue;
		reg[num] = made - at;
		dereg[num++] = gone - made;
	}
	usage_now(&after);
	result_begin(b);
	result_samples(reg, num, per_mib);
	result_number("dereg_us", samples_median(dereg, num) * per_mib);
	result_usage(&before, &after, all, all * n->size);
	result_end();
}

void verbs_register(struct bench *b)
{
	struct node n;

	node_init(&n, b, SMALL_RQ, SMALL_RQ);
	node_connect(&n);
	if (!b->server)
		client(&n);
	node_end(&n);
}
