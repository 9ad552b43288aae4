// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * TCP inside the kernel (kernel/ktcp.c): the program only chooses sender and receiver. An open
 * file of /dev/srnic_bench is one end of one connection.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

#define DEVICE	"/dev/srnic_bench"

struct stream {
	const struct bench *b;
	int fd;
	pthread_t thread;
	uint16_t port;
	uint64_t ms, bytes;
};

static void command(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: %s: %s", DEVICE, text, strerror(errno));
}

static uint64_t outcome(int fd)
{
	char text[64];
	ssize_t n = read(fd, text, sizeof(text) - 1);

	require(n > 0, "%s: %s", DEVICE, n ? strerror(errno) : "ended");
	text[n] = 0;
	return strtoull(text, NULL, 10);
}

static int open_device(void)
{
	int fd = open(DEVICE, O_RDWR);

	if (fd < 0)
		die("%s: %s (module srnic_bench)", DEVICE, strerror(errno));
	return fd;
}

/* Returns when the receiver has received everything and has closed. */
static void *send_thread(void *arg)
{
	struct stream *s = arg;
	char text[128];

	snprintf(text, sizeof(text), "send %s %u %u %llu", s->b->addr, s->port, s->b->size,
		 (unsigned long long)s->ms);
	s->fd = open_device();
	command(s->fd, text);
	s->bytes = outcome(s->fd);
	close(s->fd);
	return NULL;
}

static void *receive_thread(void *arg)
{
	struct stream *s = arg;

	outcome(s->fd);
	close(s->fd);
	return NULL;
}

static void all(struct stream *s, void *(*part)(void *))
{
	uint32_t i;

	for (i = 0; i < s->b->links; i++)
		if (pthread_create(&s[i].thread, NULL, part, &s[i]))
			die("no thread");
	for (i = 0; i < s->b->links; i++)
		pthread_join(s[i].thread, NULL);
}

static uint64_t phase(struct stream *s, uint64_t ms)
{
	const struct bench *b = s->b;
	uint64_t bytes = 0;
	char text[128];
	uint32_t i;

	for (i = 0; i < b->links; i++) {
		s[i].ms = ms;
		if (b->server) {
			s[i].fd = open_device();
			snprintf(text, sizeof(text), "receive %s", b->addr);
			command(s[i].fd, text);
			control_say(b, "port", outcome(s[i].fd));
		} else {
			s[i].port = control_expect(b, "port");
		}
	}
	all(s, b->server ? receive_thread : send_thread);
	for (i = 0; i < b->links; i++)
		bytes += s[i].bytes;
	return bytes;
}

void ktcp_stream(struct bench *b)
{
	struct stream *s = calloc(b->links, sizeof(*s));
	struct usage before, after;
	uint64_t bytes;
	double seconds;

	require(s, "%s", strerror(errno));
	require(b->op != OP_READ, "there is no read");
	for (uint32_t i = 0; i < b->links; i++)
		s[i].b = b;
	begin_together(b);
	phase(s, b->ms / 8);
	usage_now(&before);
	bytes = phase(s, b->ms);
	usage_now(&after);
	control_meet(b);
	if (b->server)
		return;
	seconds = (after.ns - before.ns) / 1e9;
	result_begin(b);
	result_number("mib_s", bytes / seconds / 1048576);
	result_number("msg_s", bytes / b->size / seconds);
	result_usage(&before, &after, bytes / b->size, bytes);
	result_end();
}
