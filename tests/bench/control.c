// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The two ends of a case synchronize over a TCP connection of their own, which is idle during a
 * measurement: a word and a number at a time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bench.h"

struct line {
	char word[16];
	uint64_t value;
};

int control_listen(const char *port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	require(fd >= 0, "socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 64))
		die("cannot listen on port %s: %s", port, strerror(errno));
	return fd;
}

int control_connect(const char *host, const char *port)
{
	uint64_t end = now_ms() + 5000;
	struct sockaddr_storage addr;
	int on = 1, fd;

	resolve(host, atoi(port), &addr);
	while (1) {
		fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		require(fd >= 0, "socket: %s", strerror(errno));
		if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			break;
		close(fd);
		/* the server may not be listening yet */
		if (errno != ECONNREFUSED || now_ms() > end)
			die("no server at %s port %s: %s", host, port, strerror(errno));
		usleep(20000);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static void put(const struct bench *b, const void *what, size_t len)
{
	if (send(b->control, what, len, MSG_NOSIGNAL) != (ssize_t)len)
		die("the other end is gone: %s", strerror(errno));
}

static void get(const struct bench *b, void *what, size_t len)
{
	ssize_t n = recv(b->control, what, len, MSG_WAITALL);

	if (n != (ssize_t)len)
		die("the other end is gone%s%s", n < 0 ? ": " : "", n < 0 ? strerror(errno) : "");
}

void control_say(const struct bench *b, const char *word, uint64_t value)
{
	struct line line = { .value = value };

	strncpy(line.word, word, sizeof(line.word) - 1);
	put(b, &line, sizeof(line));
}

uint64_t control_expect(const struct bench *b, const char *word)
{
	struct line line;

	get(b, &line, sizeof(line));
	line.word[sizeof(line.word) - 1] = 0;
	if (strcmp(line.word, word))
		die("the other end says '%s' and not '%s'", line.word, word);
	return line.value;
}

/* Returns when both ends have come to this point. */
void control_meet(const struct bench *b)
{
	control_say(b, "meet", 0);
	control_expect(b, "meet");
}

/* The client sends the case, and the address at which it reached the server. */
void control_tell(const struct bench *b)
{
	put(b, b, sizeof(*b));
}

void control_ask(struct bench *b)
{
	static char text[INET_ADDRSTRLEN];
	struct sockaddr_in own;
	socklen_t len = sizeof(own);
	int fd = b->control;

	get(b, b, sizeof(*b));
	b->control = fd;
	b->server = true;
	if (getsockname(fd, (struct sockaddr *)&own, &len))
		die("getsockname: %s", strerror(errno));
	b->addr = inet_ntop(AF_INET, &own.sin_addr, text, sizeof(text));
}

bool control_is_readable(const struct bench *b)
{
	struct pollfd pfd = { .fd = b->control, .events = POLLIN };

	return poll(&pfd, 1, 0) > 0;
}
