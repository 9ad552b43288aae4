// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Thousands of connections in one guest: their memory while all are idle, and the speed of a
 * Write on each of them at the same time. They are made one after the other, since connect.c
 * measures the speed of that.
 */
#include <unistd.h>
#include "verbs.h"

void result_scale(const struct usage *before, const struct usage *up,
		  const struct usage *idle, uint32_t links)
{
	double kib = (double)idle->kernel_kib - before->kernel_kib;

	result_number("connect_s", (up->ns - before->ns) / 1e9);
	result_number("kernel_kib_per_conn", kib / links);
	result_number("threads_per_conn", ((double)idle->threads - before->threads) / links);
	result_number("kernel_mib_before", before->kernel_kib / 1024.0);
	result_number("kernel_mib_after", idle->kernel_kib / 1024.0);
	result_number("threads_before", before->threads);
	result_number("threads_after", idle->threads);
	result_number("idle_cpus_busy", (idle->cpu_us - up->cpu_us) * 1e3 / (idle->ns - up->ns));
}

void verbs_scale(struct bench *b)
{
	struct usage before, up, idle;
	struct node n;
	uint16_t port;
	uint32_t i;

	require(b->op == OP_WRITE, "what is measured is Writes");
	require(b->links > 1, "one connection is not many");
	node_init(&n, b, b->server ? SMALL_RQ : b->depth + 2, SMALL_RQ);
	if (b->server) {
		node_listen(&n);
		node_accept(&n);
		control_say(b, "up", n.up);
		stream_serve(&n);
		node_end(&n);
		return;
	}
	port = control_expect(b, "port");
	link_resolve(&n, &n.links[0], port);
	/* now both ends have the memory that all connections share */
	usage_now(&before);
	for (i = 0; i < n.num; i++) {
		if (i)
			link_resolve(&n, &n.links[i], port);
		link_up(&n, &n.links[i]);
	}
	control_expect(b, "up");
	usage_now(&up);
	usleep(IDLE_US);
	usage_now(&idle);
	result_begin(b);
	result_scale(&before, &up, &idle, n.num - 1);
	stream_measure(&n);
	result_end();
	node_end(&n);
}
