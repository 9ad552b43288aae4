// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Many connections at once. All QPs of the client and all routes are made before the time begins;
 * it ends when the last connection is established at both ends. The memory of a connection is
 * measured while all of them are idle. Then the client ends them all at once; that takes until each
 * end knows it of all.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "verbs.h"

/* Return: ms */
static double disconnect_all(struct node *n)
{
	struct usage begin, end;

	usage_now(&begin);
	node_down(n);
	control_expect(n->b, "down");
	usage_now(&end);
	return (end.ns - begin.ns) / 1e6;
}

void verbs_connect(struct bench *b)
{
	struct usage before, begin, end, idle;
	struct rdma_cm_event *ev;
	struct node n;
	uint16_t port;
	uint32_t i;

	node_init(&n, b, SMALL_RQ, SMALL_RQ);
	if (b->server) {
		node_listen(&n);
		control_meet(b);
		node_accept(&n);
		control_say(b, "up", n.up);
		node_down(&n);
		control_say(b, "down", n.num);
		control_meet(b);
		return;
	}
	require(n.num > 1, "one connection is not many");
	port = control_expect(b, "port");
	link_resolve(&n, &n.links[0], port);
	/* now both ends have the memory that all connections share */
	usage_now(&before);
	for (i = 1; i < n.num; i++)
		link_resolve(&n, &n.links[i], port);
	control_meet(b);
	usage_now(&begin);
	for (i = 0; i < n.num; i++)
		link_connect(&n, &n.links[i]);
	while (n.up < n.num) {
		if (rdma_get_cm_event(n.cm, &ev))
			die("rdma_get_cm_event: %s", strerror(errno));
		link_established(&n, ev);
	}
	control_expect(b, "up");
	usage_now(&end);
	usleep(IDLE_US);
	usage_now(&idle);
	result_begin(b);
	result_number("total_ms", (end.ns - begin.ns) / 1e6);
	result_number("conn_s", n.num / ((end.ns - begin.ns) / 1e9));
	result_number("kib_per_conn", ((double)before.free_kib - idle.free_kib) / (n.num - 1));
	result_number("kernel_kib_per_conn",
		      ((double)idle.kernel_kib - before.kernel_kib) / (n.num - 1));
	result_number("threads_per_conn", ((double)idle.threads - before.threads) / (n.num - 1));
	result_usage(&begin, &end, n.num, 0);
	result_number("disconnect_ms", disconnect_all(&n));
	result_end();
	control_meet(b);
}
