// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Checks of a connection at its end, and of the device between batches. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mutate.h"

static void check_recvs(struct conn *c)
{
	const struct prey_slot *s = c->slot;
	bool error = false, flushed = false;

	if (s->recv_done != s->recvs) {
		fail(c, "%d of %d receives completed", s->recv_done, s->recvs);
		return;
	}
	for (int i = 0; i < s->recvs; i++) {
		int status = s->recv_status[i];
		bool good = i < c->model.delivered;

		if (s->recv_order[i] != i) {
			fail(c, "receive %d completed as number %d", s->recv_order[i], i);
		} else if (good && status) {
			fail(c, "receive %d, of a good message: %s", i, ibv_wc_status_str(status));
		} else if (good && !c->model.any_bytes[i] &&
			   s->recv_bytes[i] != c->model.bytes[i]) {
			fail(c, "receive %d: %u octets, not %u", i, s->recv_bytes[i],
			     c->model.bytes[i]);
		} else if (!good && !status) {
			fail(c, "receive %d completed without a message", i);
		} else if (!good && status != IBV_WC_WR_FLUSH_ERR) {
			if (error || flushed || c->model.outcome != BAD)
				fail(c, "receive %d: %s", i, ibv_wc_status_str(status));
			error = true;
		} else if (!good) {
			flushed = true;
		}
	}
}

/* In order; success up to the last answered request; at most one error, then flushes */
static void check_sends(struct conn *c)
{
	const struct prey_slot *s = c->slot;
	int answered = s->ops, errors = 0;
	bool flushed = false;

	if (s->send_done != s->ops + (c->model.has_window ? 1 : 0)) {
		fail(c, "%d of %d sends completed", s->send_done, s->ops);
		return;
	}
	if (c->model.asked_head != c->model.asked_tail)
		answered = c->model.asked[c->model.asked_head].op;
	for (int i = 0; i < s->ops; i++) {
		int status = s->send_status[i];

		if (s->send_order[i + (c->model.has_window ? 1 : 0)] != i) {
			fail(c, "sends completed out of order");
		} else if (i < answered && status) {
			fail(c, "send %d, which was answered: %s", i, ibv_wc_status_str(status));
		} else if (i == answered && !status) {
			fail(c, "send %d completed without an answer", i);
		} else if (i >= answered && !status) {
			fail(c, "send %d completed behind one that did not", i);
		} else if (status && status != IBV_WC_WR_FLUSH_ERR) {
			if (flushed || errors++)
				fail(c, "send %d: %s", i, ibv_wc_status_str(status));
		} else if (status) {
			flushed = true;
		}
	}
}

/* Each octet of the memory is as in the model, except where it is undefined */
static void check_memory(struct conn *c)
{
	struct model *m = &c->model;
	uint64_t begin = c->slot->mem - prey.mem;
	uint64_t area_at = begin + areas[AREA_AT].off;

	/* an atomic without its answer may or may not have been executed */
	for (unsigned int i = m->owed_head; i != m->owed_tail; i++) {
		struct owed *o = &m->owed[i % ARRAY_SIZE(m->owed)];

		if (o->atomic)
			model_dirty(m, o->at_addr, 8);
	}
	for (unsigned int i = 0; i < m->dirties; i++)
		memcpy(shadow + m->dirty[i].off, prey.mem + m->dirty[i].off, m->dirty[i].len);
	if (m->dirties == ARRAY_SIZE(m->dirty))
		memcpy(shadow + area_at, prey.mem + area_at, areas[AREA_AT].len);
	if (!memcmp(shadow + begin, prey.mem + begin, SLOT_MEM))
		return;
	for (uint32_t i = 0; i < SLOT_MEM; i++) {
		const char *where = "beside the regions";

		if (shadow[begin + i] == prey.mem[begin + i])
			continue;
		for (int k = 0; k < AREA_COUNT; k++)
			if (i >= areas[k].off && i < areas[k].off + areas[k].len)
				where = areas[k].name;
		fail(c, "octet %u of the memory (%s) is %02x, not %02x", i, where,
		     prey.mem[begin + i], shadow[begin + i]);
		memcpy(shadow + begin, prey.mem + begin, SLOT_MEM);
		return;
	}
}

/* With any octets: memory that no peer may write, and no receive or sink has, does not change */
static void check_bounds(struct conn *c)
{
	uint64_t begin = c->slot->mem - prey.mem;

	for (uint32_t i = 0; i < SLOT_MEM; i++) {
		bool open = false;

		if (shadow[begin + i] == prey.mem[begin + i])
			continue;
		for (int k = 0; k < AREA_COUNT; k++)
			open |= i >= areas[k].off && i < areas[k].off + areas[k].len &&
				!areas[k].other_pd &&
				(k == AREA_LOCAL || areas[k].access & ~IBV_ACCESS_REMOTE_READ);
		if (!open) {
			fail_anyhow("connection %llu: octet %u of the memory is %02x, not %02x",
				    (unsigned long long)c->number, i, prey.mem[begin + i],
				    shadow[begin + i]);
			break;
		}
	}
	memcpy(shadow + begin, prey.mem + begin, SLOT_MEM);
}

static void check_hostile(struct conn *c)
{
	struct prey_slot *s = c->slot;

	if (s->accepted && !s->disconnected)
		fail_anyhow("connection %llu: the program is not told of the end",
			    (unsigned long long)c->number);
	check_bounds(c);
	prey_end(s);
}

/* FIN between messages, with no request outstanding */
static bool ended_well(const struct conn *c)
{
	return c->model.outcome == RUNNING && !c->early && !c->stopped &&
	       c->model.asked_head == c->model.asked_tail && c->kind != KIND_REPLY;
}

void check_prey(struct conn *c)
{
	struct prey_slot *s = c->slot;

	if (hostile) {
		check_hostile(c);
		return;
	}
	if (!c->failed && s->accepted && !s->disconnected)
		fail(c, "the program is not told of the end");
	if (!c->failed && s->requested && !c->may_accept)
		fail(c, "the program has met a bad Request");
	if (!c->failed && s->disconnected && s->established) {
		prey_poll();
		check_recvs(c);
		check_sends(c);
		/* an error causes at most one event; without an error there is none */
		if (s->events > 1 || (s->events && ended_well(c)))
			fail(c, "%d asynchronous events", s->events);
	}
	if (s->established || !c->closed)
		check_memory(c);
	prey_end(s);
}

/* Checks between batches --------------------------------------------------- */

static bool line_of(const char *command, char *line, size_t size)
{
	FILE *f = popen(command, "r");
	bool got;

	require(f, "%s", strerror(errno));
	got = fgets(line, size, f);
	pclose(f);
	return got;
}

/* sysfs does not show the device in the netns of the test */
static uint64_t counter(const char *name)
{
	static char command[128], line[4096];
	const char *at;

	snprintf(command, sizeof(command), "rdma statistic show link %s/1 | tr '\\n' ' '",
		 ibv_get_device_name(prey.ctx->device));
	require(line_of(command, line, sizeof(line)), "%s", command);
	at = strstr(line, name);
	require(at, "no counter %s in %s", name, line);
	return strtoull(at + strlen(name), NULL, 0);
}

/* The objects are those of the start, and each connection was counted */
void check_device(void)
{
	static char objects[512], now[512], command[128];
	static uint64_t passive;
	uint64_t end = now_ms() + PATIENCE;

	if (!objects[0]) {
		snprintf(command, sizeof(command), "rdma resource show %s",
			 ibv_get_device_name(prey.ctx->device));
		require(line_of(command, objects, sizeof(objects)), "%s", command);
		passive = counter("conn_passive ") - prey.accepts;
		return;
	}
	/* iw_cm frees an id some time after its end */
	do {
		require(line_of(command, now, sizeof(now)), "%s", command);
		if (!strcmp(now, objects))
			break;
		usleep(100000);
	} while (now_ms() < end);
	if (strcmp(now, objects))
		fail_anyhow("objects: %s  at first: %s", now, objects);
	if (counter("conn_passive ") - passive != prey.accepts)
		fail_anyhow("%llu accepted connections are counted as %llu",
		     (unsigned long long)prey.accepts,
		     (unsigned long long)(counter("conn_passive ") - passive));
}
