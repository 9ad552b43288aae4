// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * bench: how fast is an RDMA device, and how fast is TCP on the same path?
 *
 *	bench server [PORT]
 *	bench client ADDR [NAME=VALUE...]
 *	bench speed
 *
 * The server serves one case after the other, each in a process of its own, until it is killed.
 * The client measures one case, prints the result as a line of JSON, and ends with status 0.
 * Names, and their default values:
 *
 *	net=verbs	verbs; tcp: sockets; ktcp: sockets inside the kernel, by the
 *			module srnic_bench
 *	do=latency	latency: one message at a time, there and back
 *			stream: as many as possible, in one direction
 *			connect: LINKS connections at once
 *			scale: LINKS connections, idle, and then a stream on all of them
 *			register: registering SIZE bytes, again and again
 *			echo: DEPTH messages under way, each of which comes back
 *			turnover: LINKS connections, each of which ends before the next one begins
 *	op=send		send, write or read. On TCP send and write are the same.
 *	size=64		bytes of a message
 *	links=1		connections
 *	depth=16	messages under way on each of them, for a stream or an echo
 *	wait=poll	poll: both ends poll; event: they sleep until there is something;
 *			memory: they look for a status in memory (libvipl)
 *	ms=1000		how long to measure
 *	limit=30	seconds that all the rest may take, such as connecting
 *	pin=0		1: the client on the first CPU, the server on the last
 *	together=0	1: says "ready" when it is connected, and measures from the end of
 *			its input: several clients begin at the same time
 *	control=18700	TCP port on which the server is asked
 *
 * Half of a round trip is one sample of the latency of send and write; a whole one is
 * that of read. Time is that of CLOCK_MONOTONIC.
 *
 * speed tells how often each CPU gets around a loop in a millisecond: whether other programs use
 * the machine.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"

#define CONTROL_PORT	"18700"

static const char *const nets[] = { "verbs", "tcp", "ktcp", "vipl", NULL };
static const char *const whats[] = { "latency", "stream", "connect", "scale", "register",
				     "echo", "turnover", NULL };
static const char *const ops[] = { "send", "write", "read", NULL };
static const char *const waits[] = { "poll", "event", "memory", NULL };

static unsigned int choice(const char *const *names, const char *value)
{
	for (unsigned int i = 0; names[i]; i++)
		if (!strcmp(names[i], value))
			return i;
	die("what is '%s'?", value);
}

static unsigned long number(const char *value)
{
	char *end;
	unsigned long n = strtoul(value, &end, 0);

	require(*value && !*end, "'%s' is no number", value);
	return n;
}

static void set_wait(struct bench *b, unsigned int wait)
{
	b->event = wait == 1;
	b->memory = wait == 2;
}

static void set(struct bench *b, const char *name, const char *value)
{
	if (!strcmp(name, "net"))
		b->net = choice(nets, value);
	else if (!strcmp(name, "do"))
		b->what = choice(whats, value);
	else if (!strcmp(name, "op"))
		b->op = choice(ops, value);
	else if (!strcmp(name, "size"))
		b->size = number(value);
	else if (!strcmp(name, "links"))
		b->links = number(value);
	else if (!strcmp(name, "depth"))
		b->depth = number(value);
	else if (!strcmp(name, "wait"))
		set_wait(b, choice(waits, value));
	else if (!strcmp(name, "ms"))
		b->ms = number(value);
	else if (!strcmp(name, "limit"))
		b->limit = number(value);
	else if (!strcmp(name, "pin"))
		b->pin = number(value);
	else if (!strcmp(name, "together"))
		b->together = number(value);
	else
		die("what is '%s'?", name);
}

void result_begin(const struct bench *b)
{
	printf("{\"net\": \"%s\", \"do\": \"%s\", \"op\": \"%s\", \"size\": %u, \"links\": %u, \"depth\": %u, \"wait\": \"%s\"",
	       nets[b->net], whats[b->what], ops[b->op], b->size, b->links, b->depth,
	       waits[b->memory ? 2 : b->event]);
}

static void run(struct bench *b)
{
	static void (*const how[4][7])(struct bench *) = {
		[NET_VERBS] = { verbs_latency, verbs_stream, verbs_connect, verbs_scale,
				verbs_register, verbs_echo, verbs_turnover },
		[NET_TCP] = { tcp_latency, tcp_stream, tcp_connect, tcp_scale, NULL, tcp_echo },
		[NET_KTCP] = { NULL, ktcp_stream },
		[NET_VIPL] = { vipl_latency, vipl_stream },
	};

	require(b->size >= 4 && b->links && b->depth, "size, links or depth is too small");
	require(how[b->net][b->what], "%s has no %s", nets[b->net], whats[b->what]);
	require(!b->memory || (b->net == NET_VIPL && b->what == DO_LATENCY), "nothing to look at");
	/* a bound, whatever happens */
	deadline_set(b->ms / 1000 + b->limit, NULL);
	if (b->pin)
		pin_to_cpu(b);
	how[b->net][b->what](b);
}

static void serve(const char *port)
{
	int listener = control_listen(port);

	signal(SIGCHLD, SIG_IGN);
	while (1) {
		struct bench b = { .server = true };

		b.control = accept(listener, NULL, NULL);
		if (b.control < 0 && errno == EINTR)
			continue;
		require(b.control >= 0, "accept: %s", strerror(errno));
		if (!fork_child()) {
			close(listener);
			control_ask(&b);
			run(&b);
			_exit(EXIT_PASS);
		}
		close(b.control);
	}
}

int main(int argc, char **argv)
{
	struct bench b = { .size = 64, .links = 1, .depth = 16, .ms = 1000, .limit = 30 };
	const char *port = CONTROL_PORT;
	struct rlimit files = { 65536, 65536 };

	setrlimit(RLIMIT_NOFILE, &files);
	if (argc >= 2 && argc <= 3 && !strcmp(argv[1], "server"))
		serve(argc == 3 ? argv[2] : port);
	if (argc == 2 && !strcmp(argv[1], "speed")) {
		speed();
		return EXIT_PASS;
	}
	if (argc < 3 || strcmp(argv[1], "client"))
		die("usage: bench server [PORT] | client ADDR [NAME=VALUE...] | speed; see bench.c");
	b.addr = argv[2];
	for (int i = 3; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		require(value, "'%s' is not NAME=VALUE", argv[i]);
		*value++ = 0;
		if (!strcmp(argv[i], "control"))
			port = value;
		else
			set(&b, argv[i], value);
	}
	b.control = control_connect(b.addr, port);
	control_tell(&b);
	run(&b);
	return EXIT_PASS;
}
