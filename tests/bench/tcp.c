// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The same cases on plain sockets, as in a program without RDMA: bytes there and back; a request
 * of a few bytes and an answer of SIZE (read); a stream of calls of SIZE bytes. For send and
 * write it is the same.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "bench.h"

#define REQUEST	16		/* bytes that ask for a read */
#define LAST	0xff
#define CHUNK	64

struct sock {
	int fd;
	uint64_t done;		/* bytes */
	uint64_t owed;		/* bytes that the other end has requested */
	uint32_t asked;		/* reads under way */
};

struct socks {
	const struct bench *b;
	int epoll;
	char *buf;
	struct sock *all;
	uint64_t done;		/* bytes, of all of them */
};

static int new_socket(const struct socks *s, bool nonblocking)
{
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | (nonblocking ? SOCK_NONBLOCK : 0), 0);

	require(fd >= 0, "socket: %s", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static void watch(struct socks *s, struct sock *k, uint32_t events, int op)
{
	struct epoll_event ev = { .events = events, .data.ptr = k };

	if (epoll_ctl(s->epoll, op, k->fd, &ev))
		die("epoll_ctl: %s", strerror(errno));
}

static void init(struct socks *s, const struct bench *b)
{
	s->b = b;
	s->all = calloc(b->links, sizeof(*s->all));
	s->buf = calloc(1, b->size < 65536 ? 65536 : b->size);
	s->epoll = epoll_create1(0);
	require(s->all && s->buf && s->epoll >= 0, "%s", strerror(errno));
}

static int tcp_listen(struct socks *s)
{
	struct sockaddr_storage addr;
	struct sockaddr_in own;
	socklen_t len = sizeof(own);
	int fd = new_socket(s, false);

	resolve(s->b->addr, 0, &addr);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 4096) ||
	    getsockname(fd, (struct sockaddr *)&own, &len))
		die("cannot listen: %s", strerror(errno));
	control_say(s->b, "port", ntohs(own.sin_port));
	return fd;
}

static void tcp_accept(struct socks *s, int listener)
{
	int on = 1;

	for (uint32_t i = 0; i < s->b->links; i++) {
		s->all[i].fd = accept(listener, NULL, NULL);
		require(s->all[i].fd >= 0, "accept: %s", strerror(errno));
		setsockopt(s->all[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
}

static void nonblocking(struct socks *s)
{
	for (uint32_t i = 0; i < s->b->links; i++)
		fcntl(s->all[i].fd, F_SETFL, fcntl(s->all[i].fd, F_GETFL) | O_NONBLOCK);
}

static void all_connected(struct socks *s)
{
	struct sockaddr_storage addr;
	uint16_t port;

	if (s->b->server) {
		tcp_accept(s, tcp_listen(s));
	} else {
		port = control_expect(s->b, "port");
		resolve(s->b->addr, port, &addr);
		for (uint32_t i = 0; i < s->b->links; i++) {
			s->all[i].fd = new_socket(s, false);
			if (connect(s->all[i].fd, (struct sockaddr *)&addr, sizeof(addr)))
				die("connect: %s", strerror(errno));
		}
	}
	begin_together(s->b);
	control_meet(s->b);
}

/* --- latency ------------------------------------------------------------- */

static void send_all(int fd, const void *buf, size_t len)
{
	for (ssize_t n; len; buf = (const char *)buf + n, len -= n) {
		n = send(fd, buf, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			n = 0;
		require(n >= 0, "send: %s", strerror(errno));
	}
}

/* Polls by repeated calls; or the call itself sleeps. */
static void receive_all(const struct bench *b, int fd, void *buf, size_t len)
{
	int flags = b->event ? MSG_WAITALL : MSG_DONTWAIT;

	for (ssize_t n; len; buf = (char *)buf + n, len -= n) {
		n = recv(fd, buf, len, flags);
		if (n < 0 && errno == EAGAIN)
			n = 0;
		else
			require(n > 0, "recv: %s", n ? strerror(errno) : "closed");
	}
}

void tcp_latency(struct bench *b)
{
	size_t request = b->op == OP_READ ? REQUEST : b->size, num = 0, all = 0;
	uint32_t *samples;
	struct usage before, after;
	uint64_t at, now, begin, end;
	struct socks s;
	int fd;

	init(&s, b);
	all_connected(&s);
	fd = s.all[0].fd;
	if (b->server) {
		do {
			receive_all(b, fd, s.buf, request);
			send_all(fd, s.buf, b->size);
		} while (*(uint8_t *)s.buf != LAST);
		control_meet(b);
		return;
	}
	samples = calloc(MAX_SAMPLES, sizeof(*samples));
	require(samples, "%s", strerror(errno));
	memset(samples, 0, MAX_SAMPLES * sizeof(*samples));
	usage_now(&before);
	begin = now_ns() + b->ms * 100000ULL;
	end = begin + b->ms * 1000000ULL;
	for (at = now_ns(); at < end || !num; at = now, all++) {
		send_all(fd, s.buf, request);
		receive_all(b, fd, s.buf, b->size);
		now = now_ns();
		if (at >= begin && num < MAX_SAMPLES)
			samples[num++] = now - at;
	}
	usage_now(&after);
	*s.buf = LAST;
	send_all(fd, s.buf, request);
	receive_all(b, fd, s.buf, b->size);
	result_begin(b);
	result_samples(samples, num, b->op == OP_READ ? 1 : 0.5);
	result_usage(&before, &after, 2 * all, 0);
	result_end();
	control_meet(b);
}

/* --- echo ---------------------------------------------------------------- */

/* Whole messages that have come since the last call; or -1: the other end has closed. */
static int take(struct socks *s, struct sock *k)
{
	uint64_t had = k->done / s->b->size;
	ssize_t n = recv(k->fd, s->buf, 65536, s->b->event ? 0 : MSG_DONTWAIT);

	if (!n)
		return -1;
	if (n < 0) {
		require(errno == EAGAIN || errno == EINTR, "recv: %s", strerror(errno));
		return 0;
	}
	k->done += n;
	return k->done / s->b->size - had;
}

/* A call for each, as a program has that answers one message after the other */
static void give(struct socks *s, struct sock *k, int num)
{
	while (num-- > 0)
		send_all(k->fd, s->buf, s->b->size);
}

/* Returns the number of messages, of both directions. */
static uint64_t echo_phase(struct socks *s, struct sock *k, uint64_t ms)
{
	uint64_t end = now_ns() + ms * 1000000, back = 0;
	int under_way = s->b->depth, came, rounds = 0;
	bool over = false;

	give(s, k, under_way);
	while (under_way) {
		came = take(s, k);
		require(came >= 0, "the server has ended");
		back += came;
		over = over || (rounds++ % 16 == 0 && now_ns() >= end);
		if (over)
			under_way -= came;
		else
			give(s, k, came);
	}
	return 2 * back;
}

void tcp_echo(struct bench *b)
{
	struct usage before, after;
	struct socks s;
	struct sock *k;
	uint64_t messages;
	int came;

	require(b->op == OP_SEND && b->links == 1, "an echo is of messages on one connection");
	init(&s, b);
	all_connected(&s);
	k = &s.all[0];
	if (b->server) {
		while ((came = take(&s, k)) >= 0)
			give(&s, k, came);
		control_meet(b);
		return;
	}
	echo_phase(&s, k, b->ms / 8);
	usage_now(&before);
	messages = echo_phase(&s, k, b->ms);
	usage_now(&after);
	shutdown(k->fd, SHUT_WR);
	result_begin(b);
	result_number("msg_s", messages * 1e9 / (after.ns - before.ns));
	result_usage(&before, &after, messages, 0);
	result_end();
	control_meet(b);
}

/* --- stream -------------------------------------------------------------- */

static bool would_block(ssize_t n)
{
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	require(n > 0, "%s", n ? strerror(errno) : "closed");
	return false;
}

/* Sends the bytes owed on @k, in calls of the size of a message; false: no room. */
static bool push(struct socks *s, struct sock *k)
{
	uint32_t rest = s->b->size - k->done % s->b->size;
	ssize_t n = send(k->fd, s->buf, rest, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (would_block(n))
		return false;
	k->done += n;
	s->done += n;
	return true;
}

static bool pull(struct socks *s, struct sock *k)
{
	ssize_t n = recv(k->fd, s->buf, 65536, MSG_DONTWAIT);

	if (would_block(n))
		return false;
	k->done += n;
	s->done += n;
	return true;
}

/*
 * The end that has the data sends until the time is over, and reports the number of bytes over
 * the control connection. The other end answers when it has received as many.
 */
static void source(struct socks *s, uint64_t ms)
{
	uint64_t end = now_ns() + ms * 1000000, rounds = 0;
	struct epoll_event evs[CHUNK];
	int n;

	while (rounds++ % 16 || now_ns() < end) {
		n = epoll_wait(s->epoll, evs, CHUNK, s->b->event ? 100 : 0);
		for (int i = 0; i < n; i++)
			for (int j = 0; j < 4 && push(s, evs[i].data.ptr); j++)
				;
	}
	/* whole messages only */
	for (uint32_t i = 0; i < s->b->links; i++)
		while (s->all[i].done % s->b->size)
			push(s, &s->all[i]);
	control_say(s->b, "sent", s->done);
	control_expect(s->b, "got");
}

static void sink(struct socks *s)
{
	uint64_t want = UINT64_MAX;
	struct epoll_event evs[CHUNK];
	int n;

	while (s->done < want) {
		n = epoll_wait(s->epoll, evs, CHUNK, s->b->event ? 100 : 0);
		for (int i = 0; i < n; i++) {
			if (evs[i].data.ptr)
				while (pull(s, evs[i].data.ptr))
					;
			else
				want = control_expect(s->b, "sent");
		}
	}
	control_say(s->b, "got", 0);
}

/* Read: the client keeps sending requests, and the server answers. */
static void ask(struct socks *s, uint64_t ms)
{
	uint64_t end = now_ns() + ms * 1000000, had;
	struct epoll_event evs[CHUNK];
	uint32_t busy = 0;
	bool over = false;
	int n;

	do {
		over = over || now_ns() >= end;
		for (uint32_t i = 0; i < s->b->links; i++) {
			struct sock *k = &s->all[i];

			while (!over && k->asked < s->b->depth) {
				send_all(k->fd, s->buf, REQUEST);
				busy += !k->asked++;
			}
		}
		n = epoll_wait(s->epoll, evs, CHUNK, s->b->event ? 100 : 0);
		for (int i = 0; i < n; i++) {
			struct sock *k = evs[i].data.ptr;

			while (k->asked) {
				had = k->done / s->b->size;
				if (!pull(s, k))
					break;
				k->asked -= k->done / s->b->size - had;
				busy -= !k->asked;
			}
		}
	} while (!over || busy);
}

static void answer(struct socks *s)
{
	struct epoll_event evs[CHUNK];
	char requests[REQUEST * CHUNK];
	ssize_t n;
	int num;

	while (1) {
		num = epoll_wait(s->epoll, evs, CHUNK, s->b->event ? 100 : 0);
		for (int i = 0; i < num; i++) {
			struct sock *k = evs[i].data.ptr;

			if (!k) {
				control_expect(s->b, "sent");
				return;
			}
			if (evs[i].events & EPOLLIN) {
				n = recv(k->fd, requests, sizeof(requests), MSG_DONTWAIT);
				if (!would_block(n))
					k->owed += n / REQUEST * s->b->size;
			}
			while (k->owed > k->done && push(s, k))
				;
			watch(s, k, EPOLLIN | (k->owed > k->done ? EPOLLOUT : 0), EPOLL_CTL_MOD);
		}
	}
}

static void ready(struct socks *s)
{
	const struct bench *b = s->b;

	nonblocking(s);
	for (struct sock *k = s->all; k < s->all + b->links; k++)
		watch(s, k, b->op != OP_READ && !b->server ? EPOLLOUT : EPOLLIN, EPOLL_CTL_ADD);
}

static void serve(struct socks *s)
{
	struct epoll_event ev = { .events = EPOLLIN };

	epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->b->control, &ev);
	if (s->b->op == OP_READ) {
		answer(s);
	} else {
		sink(s);
		sink(s);
	}
}

static void stream(struct socks *s)
{
	const struct bench *b = s->b;
	void (*part)(struct socks *s, uint64_t ms) = b->op == OP_READ ? ask : source;
	struct usage before, after;
	uint64_t bytes;
	double seconds;

	part(s, b->ms / 8);
	bytes = s->done;
	usage_now(&before);
	part(s, b->ms);
	usage_now(&after);
	bytes = s->done - bytes;
	if (b->op == OP_READ)
		control_say(b, "sent", 0);
	seconds = (after.ns - before.ns) / 1e9;
	result_number("mib_s", bytes / seconds / 1048576);
	result_number("msg_s", bytes / b->size / seconds);
	result_usage(&before, &after, bytes / b->size, bytes);
}

void tcp_stream(struct bench *b)
{
	struct socks s;

	init(&s, b);
	all_connected(&s);
	ready(&s);
	if (b->server) {
		serve(&s);
	} else {
		result_begin(b);
		stream(&s);
		result_end();
	}
	control_meet(b);
}

/* Many connections: idle, and then a stream on all of them */
void tcp_scale(struct bench *b)
{
	struct usage before, up, idle;
	struct socks s;

	init(&s, b);
	usage_now(&before);
	all_connected(&s);
	usage_now(&up);
	if (b->server) {
		control_meet(b);	/* the server starts polling only after this */
		ready(&s);
		serve(&s);
	} else {
		usleep(IDLE_US);
		usage_now(&idle);
		control_meet(b);
		ready(&s);
		result_begin(b);
		result_scale(&before, &up, &idle, b->links);
		stream(&s);
		result_end();
	}
	control_meet(b);
}

/* --- connect ------------------------------------------------------------- */

/* A connection is up when the server has accepted it and connect() has returned at the client. */
void tcp_connect(struct bench *b)
{
	struct usage before, begin, end, idle;
	struct sockaddr_storage addr;
	struct socks s;
	uint32_t i;
	char byte = 0;
	int listener;

	init(&s, b);
	if (b->server) {
		listener = tcp_listen(&s);
		control_meet(b);
		for (i = 0; i < b->links; i++) {
			s.all[i].fd = accept(listener, NULL, NULL);
			require(s.all[i].fd >= 0, "accept: %s", strerror(errno));
			send_all(s.all[i].fd, &byte, 1);
		}
		control_meet(b);
		return;
	}
	resolve(b->addr, control_expect(b, "port"), &addr);
	usage_now(&before);
	for (i = 0; i < b->links; i++)
		s.all[i].fd = new_socket(&s, true);
	control_meet(b);
	usage_now(&begin);
	for (i = 0; i < b->links; i++)
		if (connect(s.all[i].fd, (struct sockaddr *)&addr, sizeof(addr)) &&
		    errno != EINPROGRESS)
			die("connect: %s", strerror(errno));
	for (i = 0; i < b->links; i++) {
		struct pollfd pfd = { .fd = s.all[i].fd, .events = POLLIN };

		poll(&pfd, 1, -1);
		require(recv(pfd.fd, &byte, 1, 0) == 1, "connection %u: %s", i, strerror(errno));
	}
	usage_now(&end);
	usleep(IDLE_US);
	usage_now(&idle);
	result_begin(b);
	result_number("total_ms", (end.ns - begin.ns) / 1e6);
	result_number("conn_s", b->links / ((end.ns - begin.ns) / 1e9));
	result_number("kib_per_conn", ((double)before.free_kib - idle.free_kib) / b->links);
	result_number("kernel_kib_per_conn",
		      ((double)idle.kernel_kib - before.kernel_kib) / b->links);
	result_number("threads_per_conn", ((double)idle.threads - before.threads) / b->links);
	result_usage(&begin, &end, b->links, 0);
	result_end();
	control_meet(b);
}
