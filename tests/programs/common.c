// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Shared by the programs of the system tests: errors, time, connection events. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "common.h"

static void vsay(const char *prefix, const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "%s", prefix);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	fflush(stderr);
}

/*
 * _exit(): a failed test must not hang in a library's destructors, and the kernel's clean-up of
 * all that was left open is a test of its own.
 */
void die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay("FAIL: ", fmt, ap);
	va_end(ap);
	_exit(EXIT_FAIL);
}

void skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay("SKIP: ", fmt, ap);
	va_end(ap);
	_exit(EXIT_SKIP);
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsay("", fmt, ap);
	va_end(ap);
}

uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* What of this process is swapped out */
long swapped_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	long kib = 0;

	if (!f)
		die("/proc/self/status: %s", strerror(errno));
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmSwap: %ld", &kib);
	fclose(f);
	return kib;
}

static void (*deadline_report)(void);

/* Not async-signal-safe, but the program has failed already, and the state helps. */
static void deadline_passed(int sig)
{
	fprintf(stderr, "FAIL: time limit reached\n");
	if (deadline_report)
		deadline_report();
	fflush(stderr);
	_exit(EXIT_FAIL);
}

/*
 * A bound on all waiting: after @seconds, @report is called and the program fails. A slow kernel
 * gets more, as with all limits of lib.sh.
 */
void deadline_set(unsigned int seconds, void (*report)(void))
{
	deadline_report = report;
	signal(SIGALRM, deadline_passed);
	alarm(seconds * env_uint("SRNIC_SLOW", 1));
}

/* fork(), but the child does not outlive its parent, however the parent ends. */
pid_t fork_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid && (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent))
		_exit(EXIT_FAIL);
	return pid;
}

unsigned int env_uint(const char *name, unsigned int def)
{
	const char *s = getenv(name);

	return s ? strtoul(s, NULL, 0) : def;
}

/*
 * Where a specification leaves a choice, srnic must do what its documentation says. Another
 * device, named by SRNIC_TYPE, may do either.
 */
bool on_srnic(void)
{
	const char *type = getenv("SRNIC_TYPE");

	return !type || !strcmp(type, "srnic");
}

/* NULL: there is none of this name */
struct ibv_context *device_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	require(list, "%s", strerror(errno));
	for (int i = 0; list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return ibv_open_device(list[i]);
	return NULL;
}

const char *wc_opcode_name(int opcode)
{
	switch (opcode) {
	case IBV_WC_SEND:	return "SEND";
	case IBV_WC_RDMA_WRITE:	return "RDMA_WRITE";
	case IBV_WC_RDMA_READ:	return "RDMA_READ";
	case IBV_WC_RECV:	return "RECV";
	default:		return "other";
	}
}

struct rdma_event_channel *cm_channel(bool nonblocking)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	if (!ch)
		die("rdma_create_event_channel: %s", strerror(errno));
	if (nonblocking)
		fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK);
	return ch;
}

/* True if there is an event, false after @ms milliseconds without one. */
bool cm_wait(struct rdma_event_channel *ch, unsigned int ms)
{
	struct pollfd pfd = { .fd = ch->fd, .events = POLLIN };
	uint64_t end = now_ms() + ms;
	int n;

	do {
		uint64_t now = now_ms();

		n = poll(&pfd, 1, now < end ? end - now : 0);
	} while (n < 0 && errno == EINTR);
	return n > 0;
}

/* The next event must be of @type; it is stored in @out, or acknowledged here. */
void cm_expect(struct rdma_event_channel *ch, enum rdma_cm_event_type type,
	       struct rdma_cm_event **out)
{
	struct rdma_cm_event *ev;

	if (!cm_wait(ch, 20000))
		die("no %s within 20 s", rdma_event_str(type));
	if (rdma_get_cm_event(ch, &ev))
		die("rdma_get_cm_event: %s", strerror(errno));
	if (ev->event != type)
		die("%s (status %d) in place of %s", rdma_event_str(ev->event),
		    ev->status, rdma_event_str(type));
	if (out)
		*out = ev;
	else
		rdma_ack_cm_event(ev);
}

void resolve(const char *host, uint16_t port, struct sockaddr_storage *addr)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *ai;
	char service[8];
	int err;

	snprintf(service, sizeof(service), "%u", port);
	err = getaddrinfo(host, service, &hints, &ai);
	if (err)
		die("%s: %s", host ? host : "*", gai_strerror(err));
	memcpy(addr, ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(ai);
}
