// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One message at a time. Send: a message there, one back. Write: the same, and each end looks at
 * the last byte of its memory. Read: a Read from an end that only waits, in the way of the case.
 * The first tenth of the time is not measured.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

#define SQ		128
#define SIGNAL		32	/* each of so many is signaled */
#define LAST		0xff	/* value of the byte that ends the game */

static void post(struct node *n, struct link *l, enum ibv_wr_opcode op)
{
	struct ibv_wc wc[CHUNK];
	int num;

	/* One signaled WR is under way at most, so that there is always room. */
	while (l->outstanding >= 2 * SIGNAL) {
		num = node_poll(n, wc);
		for (int i = 0; i < num; i++)
			if (link_done(n, &wc[i]))
				die("a message that was not waited for");
	}
	link_post(n, l, op, NULL, n->size, l->unsignaled + 1 == SIGNAL);
}

/* Its last byte */
static uint8_t wait_message(struct node *n, struct link *l)
{
	struct ibv_wc wc[CHUNK];
	bool got = false;
	uint8_t last;
	int num;

	while (!got) {
		num = node_wait(n, wc);
		for (int i = 0; i < num; i++)
			got |= link_done(n, &wc[i]);
	}
	last = l->in[n->size - 1];
	link_receive(n, l);
	return last;
}

static uint8_t wait_write(struct node *n, struct link *l, uint8_t old)
{
	volatile uint8_t *last = (uint8_t *)&l->in[n->size - 1];

	while (*last == old)
		;
	return *last;
}

/* Send and write: each byte is sent back. */
static uint8_t ball(struct node *n, struct link *l, bool write, uint8_t byte, uint8_t old)
{
	l->out[n->size - 1] = byte;
	post(n, l, write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND);
	return write ? wait_write(n, l, old) : wait_message(n, l);
}

static void read_once(struct node *n, struct link *l)
{
	struct ibv_wc wc[CHUNK];
	int num;

	link_post(n, l, IBV_WR_RDMA_READ, NULL, n->size, true);
	do {
		num = node_wait(n, wc);
		for (int i = 0; i < num; i++)
			link_done(n, &wc[i]);
	} while (l->outstanding);
}

static void client(struct node *n, struct link *l)
{
	const struct bench *b = n->b;
	uint64_t begin, at, now, end;
	uint32_t *samples = malloc(MAX_SAMPLES * sizeof(*samples));
	struct usage before, after;
	uint8_t byte = 0, old = 0;
	size_t num = 0, all = 0;

	require(samples, "%s", strerror(errno));
	memset(samples, 0, MAX_SAMPLES * sizeof(*samples));
	usage_now(&before);
	begin = now_ns() + b->ms * 100000ULL;
	end = begin + b->ms * 1000000ULL;
	for (at = now_ns(); at < end || !num; at = now, all++) {
		if (b->op == OP_READ) {
			read_once(n, l);
		} else {
			byte = byte % 200 + 1;
			old = ball(n, l, b->op == OP_WRITE, byte, old);
			require(old == byte, "%u came back", old);
		}
		now = now_ns();
		if (at >= begin && num < MAX_SAMPLES)
			samples[num++] = now - at;
	}
	usage_now(&after);
	n->event = false;	/* a message signals the end in any case */
	l->out[n->size - 1] = LAST;
	post(n, l, b->op == OP_WRITE ? IBV_WR_RDMA_WRITE : IBV_WR_SEND);
	result_begin(b);
	result_samples(samples, num, b->op == OP_READ ? 1 : 0.5);
	result_usage(&before, &after, b->op == OP_READ ? all : 2 * all, 0);
	result_end();
}

static void server(struct node *n, struct link *l)
{
	bool write = n->b->op == OP_WRITE;
	uint8_t byte = 0;

	while (1) {
		byte = write ? wait_write(n, l, byte) : wait_message(n, l);
		if (byte == LAST || n->b->op == OP_READ)
			return;
		l->out[n->size - 1] = byte;
		post(n, l, write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND);
	}
}

void verbs_latency(struct bench *b)
{
	struct node n;

	require(b->links == 1, "latency is that of one link");
	require(!b->event || b->op != OP_WRITE, "nobody is told of a Write");
	node_init(&n, b, SQ, SMALL_RQ);
	node_connect(&n);
	if (b->server)
		server(&n, &n.links[0]);
	else
		client(&n, &n.links[0]);
	node_end(&n);
}
