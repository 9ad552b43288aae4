/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared by the parts of the benchmark: a case, its two ends, its result. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common.h"

enum bench_net { NET_VERBS, NET_TCP, NET_KTCP, NET_VIPL };
enum bench_do { DO_LATENCY, DO_STREAM, DO_CONNECT, DO_SCALE, DO_REGISTER, DO_ECHO,
		DO_TURNOVER };
enum bench_op { OP_SEND, OP_WRITE, OP_READ };

/* One case; the client sends it to the server. */
struct bench {
	enum bench_net net;
	enum bench_do what;
	enum bench_op op;
	uint32_t size;		/* bytes of a message */
	uint32_t links;		/* connections */
	uint32_t depth;		/* messages under way on each */
	bool event;		/* sleeps while it waits, and does not poll */
	bool memory;		/* libvipl: looks for a status in memory, without a call */
	uint32_t ms;		/* how long to measure */
	uint32_t limit;		/* seconds that all the rest may take */
	bool pin;		/* client on the first CPU, server on the last */
	bool together;		/* one of several clients, which begin together */
	const char *addr;	/* of the server */
	int control;		/* a TCP socket to the other end */
	bool server;
};

/* control.c: the two ends agree, by lines of a word and a number. */
int control_listen(const char *port);
int control_connect(const char *addr, const char *port);
void control_say(const struct bench *b, const char *word, uint64_t value);
uint64_t control_expect(const struct bench *b, const char *word);
void control_meet(const struct bench *b);
void control_tell(const struct bench *b);
void control_ask(struct bench *b);
bool control_is_readable(const struct bench *b);

/* measure.c: time, and what the whole machine uses meanwhile. */
struct usage {
	uint64_t ns;		/* CLOCK_MONOTONIC */
	uint64_t cpu_us;	/* time of all CPUs that was not idle */
	uint64_t switches;	/* of context */
	uint64_t free_kib;
	uint64_t kernel_kib;	/* used by the kernel, without the page cache */
	uint64_t threads;
};

uint64_t now_ns(void);
void usage_now(struct usage *u);
void pin_to_cpu(const struct bench *b);
void begin_together(const struct bench *b);
void speed(void);

/* A result is a line of JSON, written piece by piece. */
void result_begin(const struct bench *b);
void result_number(const char *name, double value);
void result_usage(const struct usage *begin, const struct usage *end, uint64_t messages,
		  uint64_t bytes);
void result_samples(uint32_t *ns, size_t num, double factor);
double samples_median(uint32_t *ns, size_t num);
void result_scale(const struct usage *before, const struct usage *up,
		  const struct usage *idle, uint32_t links);
void result_end(void);

/* Samples of a latency test: at most as many. */
#define MAX_SAMPLES	(4u << 20)

/* Idle time, to measure the cost of idle connections */
#define IDLE_US		500000

/* latency.c to turnover.c: over verbs; tcp.c, ktcp.c, vipl.c: for comparison */
void verbs_latency(struct bench *b);
void verbs_stream(struct bench *b);
void verbs_connect(struct bench *b);
void verbs_scale(struct bench *b);
void verbs_register(struct bench *b);
void verbs_echo(struct bench *b);
void verbs_turnover(struct bench *b);
void tcp_latency(struct bench *b);
void tcp_stream(struct bench *b);
void tcp_connect(struct bench *b);
void tcp_scale(struct bench *b);
void tcp_echo(struct bench *b);
void ktcp_stream(struct bench *b);
void vipl_latency(struct bench *b);
void vipl_stream(struct bench *b);

#endif
