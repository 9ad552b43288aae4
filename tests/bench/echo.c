// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Messages both ways: the client keeps depth Sends under way, and the server sends each of them
 * back. Each message has a post, a receive and a completion of its own at either end. The first,
 * short phase is not measured.
 */
#include "verbs.h"

#define LAST	3		/* length of the message that ends it */

/* Process completions, at least one. Returns the number of messages that came. */
static uint32_t take(struct node *n, struct link *l, bool *ended)
{
	struct ibv_wc wc[CHUNK];
	int num = node_wait(n, wc);
	uint32_t came = 0;

	for (int i = 0; i < num; i++) {
		if (!link_done(n, &wc[i]))
			continue;
		link_receive(n, l);
		if (wc[i].byte_len == LAST) {
			*ended = true;
			continue;
		}
		require(wc[i].byte_len == n->size, "a message of %u bytes", wc[i].byte_len);
		came++;
	}
	return came;
}

/* Send what is owed, as far as the SQ has room. Returns the rest. */
static uint32_t give(struct node *n, struct link *l, uint32_t owed)
{
	uint32_t each = signal_each(n->b);

	while (owed && l->outstanding < n->sq) {
		link_post(n, l, IBV_WR_SEND, NULL, n->size, l->unsignaled + 1 >= each);
		owed--;
	}
	return owed;
}

/* Returns the number of messages, of both directions. */
static uint64_t phase(struct node *n, struct link *l, uint64_t ms)
{
	uint64_t end = now_ns() + ms * 1000000, back = 0;
	uint32_t under_way = n->b->depth, came, rounds = 0;
	uint32_t owed = give(n, l, under_way);
	bool over = false, ended = false;

	while (under_way) {
		came = take(n, l, &ended);
		require(!ended, "the server has ended");
		back += came;
		/* Reading the clock may be a system call. */
		over = over || (rounds++ % 16 == 0 && now_ns() >= end);
		if (over)
			under_way -= came;
		else
			owed += came;
		owed = give(n, l, owed);
	}
	return 2 * back;
}

static void client(struct node *n, struct link *l)
{
	static const char last[LAST];
	const struct bench *b = n->b;
	struct usage before, after;
	uint64_t messages;
	bool ended = false;

	phase(n, l, b->ms / 8);
	usage_now(&before);
	messages = phase(n, l, b->ms);
	usage_now(&after);
	result_begin(b);
	result_number("msg_s", messages * 1e9 / (after.ns - before.ns));
	result_usage(&before, &after, messages, 0);
	result_end();
	while (l->outstanding >= n->sq)
		take(n, l, &ended);
	link_post(n, l, IBV_WR_SEND, last, LAST, true);
}

static void server(struct node *n, struct link *l)
{
	bool ended = false;
	uint32_t owed = 0;

	while (!ended)
		owed = give(n, l, owed + take(n, l, &ended));
}

void verbs_echo(struct bench *b)
{
	struct node n;

	require(b->op == OP_SEND && b->links == 1, "an echo is of Sends on one link");
	/* A message that came back may be in the SQ still: its completion was not taken. */
	node_init(&n, b, 2 * b->depth + 2 * signal_each(b), b->depth + 2);
	node_connect(&n);
	if (b->server)
		server(&n, &n.links[0]);
	else
		client(&n, &n.links[0]);
	node_end(&n);
}
