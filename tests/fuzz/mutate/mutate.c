// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * mutate: a peer that sends mutated iWARP to a program behind the device (prey.c), and knows for
 * each frame how the RFCs require an RNIC to process it.
 *
 *	mutate [--seed N] [--frames N | --seconds N] [--conn N] [--conns N]
 *	       [--hostile] [--verbose] ADDRESS
 *
 * Each connection is made of the seed and its own number alone: "--seed S --conn N --conns 1"
 * repeats connection N. Exit status 0: no error was found.
 *
 * With --hostile a thread changes octets while the device reads them. Their value at that time is
 * unknown: only properties that hold for any value are checked.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "mutate.h"

#define MAX_FAILURES	5

struct stats stats;
bool verbose;
bool hostile;

struct conn conns[SLOTS];
static struct stag stags[SLOTS * AREA_COUNT + 1];
uint8_t *shadow;
uint64_t seed = 1;

static const char * const class_names[CLASS_COUNT] = {
#define X(name, text) [CLASS_##name] = text,
	CLASSES(X)
#undef X
};

void fail(struct conn *c, const char *fmt, ...)
{
	unsigned int n = c->traces < ARRAY_SIZE(c->trace) ? c->traces : ARRAY_SIZE(c->trace);
	va_list ap;

	if (c->failed)
		return;
	c->failed = true;
	if (hostile)
		return;
	stats.failures++;
	printf("FAIL: seed %llu, connection %llu, kind %d: ", (unsigned long long)seed,
	       (unsigned long long)c->number, c->kind);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n  revision %d, %d receives of %d, window %d, %d operations, IRD %u; sent %u frames:\n",
	       c->rev, c->slot->recvs, c->slot->recv_len, c->slot->window, c->slot->ops, c->ird,
	       c->traces);
	if (c->kind == KIND_REQUEST || c->kind == KIND_REPLY) {
		printf("  start-up frame:");
		for (uint32_t i = 0; i < c->hello_len && i < 48; i++)
			printf(" %02x", c->hello[i]);
		printf(" (%u octets)\n", c->hello_len);
	}
	for (unsigned int i = c->traces - n; i != c->traces; i++) {
		const struct trace *t = &c->trace[i % ARRAY_SIZE(c->trace)];

		printf("  %-12s %4u:", class_names[t->class], t->len);
		for (uint32_t k = 0; k < t->len && k < sizeof(t->octets); k++)
			printf("%s%02x", k % 4 == 2 ? " " : "", t->octets[k]);
		printf("\n");
	}
	fflush(stdout);
}

/* Reports an error that no stream may cause, whatever its octets are */
void fail_anyhow(const char *fmt, ...)
{
	va_list ap;

	stats.failures++;
	printf("FAIL: seed %llu: ", (unsigned long long)seed);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* Batches ----------------------------------------------------------------- */

static bool accepted(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < n; i++)
		if (conns[i].served && !conns[i].slot->established && !conns[i].slot->failed)
			return false;
	return true;
}

static bool all_ended(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < n; i++) {
		const struct prey_slot *s = conns[i].slot;

		if ((s->accepted && !s->disconnected && !s->failed) ||
		    (conns[i].kind >= KIND_ACTIVE && s->established && !s->disconnected))
			return false;
	}
	return true;
}

static bool all_decided(void *arg)
{
	int n = *(int *)arg;

	for (int i = 0; i < n; i++) {
		const struct conn *c = &conns[i];
		struct pollfd pfd = { .fd = c->fd, .events = POLLIN };

		if (!is_passive(c) || c->failed || c->slot->accepted || c->slot->failed)
			continue;
		/* a Reply that the program did not cause, or the end */
		if ((c->may_reject || c->may_close) && poll(&pfd, 1, 0) == 1)
			continue;
		return false;
	}
	return true;
}

/* Time spent in each phase, for --verbose */
enum phase { CONNECTING, BEING_CONNECTED, ACCEPTING, STARTING, ACTING, FRAMES, ENDING, CLOSING,
	     DESTROYING, PHASES };

static const char * const phase_names[PHASES] = {
	[CONNECTING] = "connecting", [BEING_CONNECTED] = "being connected",
	[ACCEPTING] = "accepting", [STARTING] = "starting", [ACTING] = "the program's own work",
	[FRAMES] = "frames", [ENDING] = "ends of streams", [CLOSING] = "closing",
	[DESTROYING] = "checking, destroying",
};

static uint64_t phase_us[PHASES], phase_start;

/* @n has ended; PHASES: start the clock */
static void phase(enum phase n)
{
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
	if (n < PHASES)
		phase_us[n] += now - phase_start;
	phase_start = now;
}

static void talk(int n)
{
	for (int i = 0; i < n; i++) {
		struct conn *c = &conns[i];

		if (c->failed || c->closed || !c->served)
			continue;
		act(c);
	}
	phase(ACTING);
	/* the streams overlap: several QPs have work at once */
	for (int i = 0; i < n; i++)
		if (!conns[i].failed && !conns[i].closed && conns[i].served &&
		    conns[i].kind != KIND_REQUEST)
			send_frames(&conns[i]);
	phase(FRAMES);
	for (int i = 0; i < n; i++)
		if (!conns[i].failed && !conns[i].closed && conns[i].served)
			finish_stream(&conns[i]);
}

static void batch(uint64_t first, int n)
{
	phase(PHASES);
	for (int i = 0; i < n; i++)
		plan(&conns[i], &prey.slot[i], first + i);
	for (int i = 0; i < n; i++)
		if (is_passive(&conns[i]))
			open_passive(&conns[i]);
	phase(CONNECTING);
	for (int i = 0; i < n; i++)
		if (!is_passive(&conns[i]))
			open_active(&conns[i]);
	phase(BEING_CONNECTED);
	prey.watched = 0;
	for (int i = 0; i < n; i++)
		if (is_passive(&conns[i]) && conns[i].may_close)
			prey.watch[prey.watched++] = (struct pollfd){ .fd = conns[i].fd,
								      .events = POLLIN };
	if (!prey_until(all_decided, &n, PATIENCE))
		for (int i = 0; i < n; i++)
			if (is_passive(&conns[i]) && !conns[i].slot->accepted)
				note("connection %llu: no decision",
				     (unsigned long long)conns[i].number);
	prey.watched = 0;
	phase(ACCEPTING);
	for (int i = 0; i < n; i++) {
		struct conn *c = &conns[i];

		if (!is_passive(c) || c->failed)
			continue;
		read_reply(c);
		if (c->served && !c->failed)
			send_first(c);
	}
	prey_until(accepted, &n, PATIENCE);
	phase(STARTING);
	talk(n);
	phase(ENDING);
	for (int i = 0; i < n; i++) {
		check_stream(&conns[i]);
		if (conns[i].fd >= 0)
			close(conns[i].fd);
	}
	prey_until(all_ended, &n, PATIENCE);
	phase(CLOSING);
	for (int i = 0; i < n; i++)
		check_prey(&conns[i]);
	if (prey.broken) {
		fail_anyhow("the program: %s", prey.broken);
		stats.failures += MAX_FAILURES;
	}
	stats.conns += n;
	phase(DESTROYING);
}

/* The run ----------------------------------------------------------------- */

static void learn_stags(void)
{
	struct ibv_mr *gone;
	int n = 0;

	for (int i = 0; i < SLOTS; i++)
		for (int k = 0; k < AREA_COUNT; k++)
			stags[n++] = (struct stag){
				.stag = prey.slot[i].mr[k]->rkey, .valid = true,
				.base = (uintptr_t)prey.slot[i].mem + areas[k].off,
				.len = areas[k].len, .access = areas[k].access,
				.other_pd = areas[k].other_pd, .is_all = k == AREA_ALL,
				.is_at = k == AREA_AT,
			};
	gone = ibv_reg_mr(prey.pd, prey.mem, 64, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_WRITE);
	require(gone, "%s", strerror(errno));
	stags[n++] = (struct stag){ .stag = gone->rkey, .base = (uintptr_t)prey.mem, .len = 64 };
	require(!ibv_dereg_mr(gone), "%s", strerror(errno));
	shadow = malloc(SLOTS * SLOT_MEM);
	memcpy(shadow, prey.mem, SLOTS * SLOT_MEM);
	for (int i = 0; i < SLOTS; i++) {
		conns[i].model.stags = stags;
		conns[i].model.stag_count = n;
		conns[i].model.shadow = shadow;
		conns[i].model.base = prey.mem;
	}
}

static void report(uint64_t ms)
{
	printf("# %-22s %9s %9s  answers to the bad ones\n", "mutation", "frames", "bad");
	for (int i = 0; i < CLASS_COUNT; i++) {
		if (!stats.class_frames[i])
			continue;
		printf("# %-22s %9llu %9llu ", class_names[i],
		       (unsigned long long)stats.class_frames[i],
		       (unsigned long long)stats.class_bad[i]);
		for (int k = 0; k < CODE_COUNT; k++)
			if (stats.codes[i][k])
				printf(" %u/%u/%02x:%llu", code_rows[k].layer, code_rows[k].type,
				       code_rows[k].code, (unsigned long long)stats.codes[i][k]);
		if (stats.codes[i][CODE_COUNT])
			printf(" closed:%llu", (unsigned long long)stats.codes[i][CODE_COUNT]);
		printf("\n");
	}
	printf("# octets that were copied %llu, of sendfile %llu, of splice %llu, of MSG_ZEROCOPY %llu\n",
	       (unsigned long long)stats.way_octets[WAY_COPY],
	       (unsigned long long)stats.way_octets[WAY_SENDFILE],
	       (unsigned long long)stats.way_octets[WAY_SPLICE],
	       (unsigned long long)stats.way_octets[WAY_ZEROCOPY]);
	if (verbose)
		for (int i = 0; i < PHASES; i++)
			printf("# %s: %llu ms\n", phase_names[i],
			       (unsigned long long)phase_us[i] / 1000);
	printf("# seed %llu: %llu connections, %llu mutated frames, %llu others, %llu behind an error; %.1f s, %.0f mutated frames/s, %.0f connections/s\n",
	       (unsigned long long)seed, (unsigned long long)stats.conns,
	       (unsigned long long)stats.mutated, (unsigned long long)stats.honest,
	       (unsigned long long)stats.dropped, ms / 1000.0, stats.mutated * 1000.0 / (ms ?: 1),
	       stats.conns * 1000.0 / (ms ?: 1));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "frames", required_argument, NULL, 'f' },
		{ "seconds", required_argument, NULL, 't' },
		{ "conn", required_argument, NULL, 'c' },
		{ "conns", required_argument, NULL, 'n' },
		{ "hostile", no_argument, NULL, 'h' },
		{ "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 }
	};
	uint64_t frames = 100000, seconds = 0, conn = 0, count = ~0ULL, start, last, now = 0;
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (o) {
		case 's': seed = strtoull(optarg, NULL, 0); break;
		case 'f': frames = strtoull(optarg, NULL, 0); break;
		case 't': seconds = strtoull(optarg, NULL, 0); frames = ~0ULL; break;
		case 'c': conn = strtoull(optarg, NULL, 0); break;
		case 'n': count = strtoull(optarg, NULL, 0); break;
		case 'h': hostile = true; break;
		case 'v': verbose = true; break;
		default: return EXIT_FAIL;
		}
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: mutate [--seed N] [--frames N | --seconds N] [--conn N] [--conns N] [--hostile] ADDRESS\n");
		return EXIT_FAIL;
	}
	prey_open(argv[optind], PREY_PORT);
	learn_stags();
	ways_open();
	listen_here();
	check_device();
	start = last = now_ms();
	while (stats.mutated < frames && stats.conns < count && stats.failures < MAX_FAILURES) {
		int n = count - stats.conns < SLOTS ? count - stats.conns : SLOTS;

		batch(conn + stats.conns, n);
		if (!(stats.conns % HONEST_EVERY))
			check_device();
		now = now_ms();
		if (seconds && now - start >= seconds * 1000)
			break;
		if (now - last >= 30000) {
			printf("# %llu mutated frames, %llu connections, %llu s\n",
			       (unsigned long long)stats.mutated, (unsigned long long)stats.conns,
			       (unsigned long long)(now - start) / 1000);
			fflush(stdout);
			last = now;
		}
	}
	check_device();
	report(now_ms() - start);
	prey_close();
	printf("# %llu failures\n", (unsigned long long)stats.failures);
	return stats.failures ? EXIT_FAIL : EXIT_PASS;
}
