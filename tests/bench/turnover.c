// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections one after the other, each of which ends at both ends before the next one begins:
 * whether the last ones are made as fast as the first ones, and whether memory stays behind. TCP's
 * does, for a minute: the client closes first, and keeps a socket in TIME_WAIT.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

/* Connections at the begin, and at the end, whose rates are compared */
#define EDGE	1000

/* The next connection is up; its only link is used again and again */
static void turn_up(struct node *n, uint16_t port)
{
	n->up = 0;
	if (n->b->server) {
		node_accept(n);
		return;
	}
	link_resolve(n, n->links, port);
	link_up(n, n->links);
}

static void turn_down(struct node *n)
{
	struct rdma_cm_id *id = n->links->id;

	node_down(n);
	rdma_destroy_qp(id);
	if (rdma_destroy_id(id))
		die("rdma_destroy_id: %s", strerror(errno));
	control_meet(n->b);
}

static double rate(const struct usage *from, const struct usage *to, uint32_t number)
{
	return number / ((to->ns - from->ns) / 1e9);
}

void verbs_turnover(struct bench *b)
{
	struct usage begin, early, late, end, idle;
	uint32_t *ns = calloc(b->links, sizeof(*ns));
	uint16_t port = 0;
	struct node n;

	require(b->links >= 2 * EDGE, "links: %u at least", 2 * EDGE);
	require(ns, "%s", strerror(errno));
	node_init(&n, b, SMALL_RQ, SMALL_RQ);
	n.num = 1;
	if (b->server)
		node_listen(&n);
	else
		port = control_expect(b, "port");
	usage_now(&begin);
	for (uint32_t i = 0; i < b->links; i++) {
		uint64_t from = now_ns(), took;

		if (i == EDGE)
			usage_now(&early);
		if (i == b->links - EDGE)
			usage_now(&late);
		turn_up(&n, port);
		turn_down(&n);
		took = now_ns() - from;
		ns[i] = took < UINT32_MAX ? took : UINT32_MAX;
	}
	usage_now(&end);
	usleep(IDLE_US);
	usage_now(&idle);
	if (!b->server) {
		result_begin(b);
		result_number("conn_s", rate(&begin, &end, b->links));
		result_number("conn_s_first", rate(&begin, &early, EDGE));
		result_number("conn_s_last", rate(&late, &end, EDGE));
		result_number("kib_left", ((double)idle.kernel_kib - early.kernel_kib) /
					  (b->links - EDGE));
		result_samples(ns, b->links, 1);
		result_usage(&begin, &end, b->links, 0);
		result_end();
	}
}
