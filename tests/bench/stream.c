// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * As many messages as possible, from the client (send, write) or to it (read), on each of the
 * links. A phase ends when the server has received everything: a last Send on each link, which
 * the server answers. The first, short phase is not measured.
 *
 * The receiver of Sends keeps RQ receives posted, and sends a credit when it has posted more. The
 * length of a message tells its meaning.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "verbs.h"

enum { CREDIT = 1, PHASE = 2, LAST = 3 };	/* lengths */

#define RQ	512		/* receives of an end that gets data */

/* Of so many Sends, Writes or Reads one is signaled. */
uint32_t signal_each(const struct bench *b)
{
	uint32_t each = b->depth / 4;

	return each > 16 ? 16 : each ? each : 1;
}

static const enum ibv_wr_opcode opcodes[] = {
	[OP_SEND] = IBV_WR_SEND, [OP_WRITE] = IBV_WR_RDMA_WRITE, [OP_READ] = IBV_WR_RDMA_READ,
};

static void say(struct node *n, struct link *l, uint32_t word, bool signaled)
{
	static const char text[LAST];

	link_post(n, l, IBV_WR_SEND, text, word, signaled);
}

/* Process completions: credits and answers. Returns the number of answers. */
static uint32_t take(struct node *n, bool wait)
{
	struct ibv_wc wc[CHUNK];
	int num = wait ? node_wait(n, wc) : node_poll(n, wc);
	uint32_t answers = 0;

	for (int i = 0; i < num; i++) {
		struct link *l = link_of(n, &wc[i]);

		if (!link_done(n, &wc[i]))
			continue;
		if (wc[i].byte_len == CREDIT)
			l->credit += RQ / 4;
		else
			answers++;
		link_receive(n, l);
	}
	return answers;
}

static bool fill(struct node *n, struct link *l, uint32_t each)
{
	const struct bench *b = n->b;
	bool any = false;

	while (l->outstanding < b->depth && (b->op != OP_SEND || l->sent < l->credit)) {
		link_post(n, l, opcodes[b->op], NULL, b->size, l->unsignaled + 1 >= each);
		l->sent++;
		any = true;
	}
	return any;
}

/* Returns the number of messages. */
static uint64_t phase(struct node *n, uint64_t ms, uint32_t word)
{
	uint64_t end = now_ns() + ms * 1000000, sent = 0;
	uint32_t each = signal_each(n->b), i, rounds = 0, answers = 0;
	bool any;

	for (i = 0; i < n->num; i++)
		sent -= n->links[i].sent;
	/* Reading the clock may be a system call. */
	while (rounds++ % 16 || now_ns() < end) {
		any = false;
		for (i = 0; i < n->num; i++)
			any |= fill(n, &n->links[i], each);
		require(!take(n, !any), "an answer to nothing");
	}
	for (i = 0; i < n->num; i++) {
		/* one more than depth, for which the SQ has room */
		say(n, &n->links[i], word, true);
		sent += n->links[i].sent;
	}
	while (answers < n->num)
		answers += take(n, true);
	return sent;
}

/* Measure a stream on connected links */
void stream_measure(struct node *n)
{
	const struct bench *b = n->b;
	struct usage before, after;
	uint64_t messages;
	double seconds;

	for (uint32_t i = 0; i < n->num; i++)
		n->links[i].credit = RQ - 2;
	phase(n, b->ms / 8, PHASE);
	usage_now(&before);
	messages = phase(n, b->ms, LAST);
	usage_now(&after);
	seconds = (after.ns - before.ns) / 1e9;
	result_number("mib_s", messages * b->size / seconds / 1048576);
	result_number("msg_s", messages / seconds);
	result_usage(&before, &after, messages, messages * b->size);
}

/* The server's part of it */
void stream_serve(struct node *n)
{
	struct ibv_wc wc[CHUNK];
	uint32_t ended = 0;

	/* Only words arrive, so polling is not needed. */
	if (n->b->op != OP_SEND)
		n->event = true;
	while (ended < n->num) {
		int num = node_wait(n, wc);

		for (int i = 0; i < num; i++) {
			struct link *l = link_of(n, &wc[i]);

			if (!link_done(n, &wc[i]))
				continue;
			link_receive(n, l);
			if (wc[i].byte_len > LAST) {
				if (++l->received % (RQ / 4) == 0)
					say(n, l, CREDIT, true);
				continue;
			}
			say(n, l, wc[i].byte_len, true);
			ended += wc[i].byte_len == LAST;
		}
	}
}

void verbs_stream(struct bench *b)
{
	struct node n;

	if (b->server)
		node_init(&n, b, SMALL_RQ, b->op == OP_SEND ? RQ : SMALL_RQ);
	else
		node_init(&n, b, b->depth + 2, SMALL_RQ);
	node_connect(&n);
	if (b->server) {
		stream_serve(&n);
	} else {
		result_begin(b);
		stream_measure(&n);
		result_end();
	}
	node_end(&n);
}
