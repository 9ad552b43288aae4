// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls of all kinds on both ends of a conversation, by several threads, while the sockets
 * are handed over and afterwards.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "attack.h"

#define CALLERS	3

struct caller {
	int fd[2];
	uint64_t end, seed;
};

static void an_option(int fd, struct rng *r)
{
	static const struct option {
		int level, name;
		unsigned int top;
	} options[] = {
		{ IPPROTO_TCP, TCP_REPAIR, 4 }, { IPPROTO_TCP, TCP_REPAIR_QUEUE, 3 },
		{ IPPROTO_TCP, TCP_QUEUE_SEQ, ~0u }, { IPPROTO_TCP, TCP_CORK, 2 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, 2000 }, { IPPROTO_TCP, TCP_WINDOW_CLAMP, 100000 },
		{ IPPROTO_TCP, TCP_MAXSEG, 2000 }, { IPPROTO_TCP, TCP_DEFER_ACCEPT, 3 },
		{ SOL_SOCKET, SO_RCVLOWAT, 100000 }, { SOL_SOCKET, SO_SNDBUF, 100000 },
		{ SOL_SOCKET, SO_RCVBUF, 100000 }, { SOL_SOCKET, SO_OOBINLINE, 2 },
		{ SOL_SOCKET, SO_ZEROCOPY, 2 }, { SOL_SOCKET, SO_KEEPALIVE, 2 },
		{ SOL_SOCKET, SO_BUSY_POLL, 100 }, { SOL_SOCKET, SO_PRIORITY, 7 },
	};
	const struct option *o = &options[rng_below(r, ARRAY_SIZE(options))];
	int value = rng_below(r, o->top);

	setsockopt(fd, o->level, o->name, &value, sizeof(value));
}

static void a_filter(int fd)
{
	struct sock_filter drop_all = BPF_STMT(BPF_RET | BPF_K, 20);
	struct sock_fprog prog = { 1, &drop_all };

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

static void a_splice(int fd)
{
	int pipes[2];

	if (pipe2(pipes, O_NONBLOCK))
		return;
	splice(fd, NULL, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK);
	splice(pipes[0], NULL, fd, NULL, 4096, SPLICE_F_NONBLOCK);
	close(pipes[0]);
	close(pipes[1]);
}

/* TCP's own mapping of a receive queue; the structure is longer in newer headers */
static void a_mapping(int fd)
{
	void *m = mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0);
	struct tcp_zerocopy_receive zc = { .address = (uintptr_t)m, .length = 65536 };
	socklen_t len = sizeof(zc);

	if (m == MAP_FAILED)
		return;
	getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &zc, &len);
	munmap(m, 65536);
}

static void a_message(int fd, struct rng *r)
{
	static char buf[4096];
	struct iovec iov = { buf, rng_below(r, sizeof(buf)) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	switch (rng_below(r, 4)) {
	case 0:
		send(fd, buf, iov.iov_len, MSG_DONTWAIT | MSG_NOSIGNAL |
		     (rng_below(r, 8) ? 0 : MSG_OOB));
		break;
	case 1:
		sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_ZEROCOPY);
		break;
	case 2:
		recv(fd, buf, iov.iov_len, MSG_DONTWAIT | (rng_below(r, 2) ? MSG_PEEK : 0));
		break;
	default:
		recvmsg(fd, &msg, MSG_DONTWAIT | MSG_ERRQUEUE);
	}
}

static void a_state(int fd, struct rng *r)
{
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };
	struct linger linger = { rng_below(r, 2), 1 };
	struct sockaddr_storage name;
	struct sockaddr *addr = (struct sockaddr *)&name;
	socklen_t len = sizeof(struct sockaddr_in);

	resolve(test_addr, 0, &name);
	switch (rng_below(r, 8)) {
	case 0:
		if (!rng_below(r, 20))
			connect(fd, &unspec, sizeof(unspec));
		break;
	case 1:
		if (!rng_below(r, 20))
			shutdown(fd, rng_below(r, 3));
		break;
	case 2: listen(fd, 5); break;
	case 3: connect(fd, addr, len); break;
	case 4: bind(fd, addr, len); break;
	case 5: accept4(fd, NULL, NULL, SOCK_NONBLOCK); break;
	case 6: getsockname(fd, addr, &len); break;
	default: setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	}
}

static void *calls(void *arg)
{
	struct caller *c = arg;
	struct rng r = { c->seed };

	while (now_ms() < c->end) {
		int fd = c->fd[!rng_below(&r, 4)];
		struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

		switch (rng_below(&r, 8)) {
		case 0:
			if (!rng_below(&r, 10))
				a_filter(fd);
			break;
		case 1: a_splice(fd); break;
		case 2: a_mapping(fd); break;
		case 3: a_message(fd, &r); break;
		case 4: a_state(fd, &r); break;
		case 5: setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3); break;
		case 6: poll(&p, 1, 0); break;
		default: an_option(fd, &r);
		}
	}
	return NULL;
}

/* Once it is the QP's, no octet of the stream is the program's any more */
static void sealed(int fd)
{
	char octet;

	require(recv(fd, &octet, 1, MSG_DONTWAIT) < 0 && errno == EOPNOTSUPP,
		"a socket that was handed over is read: %s", strerror(errno));
	require(send(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EOPNOTSUPP,
		"a socket that was handed over is written: %s", strerror(errno));
}

void case_sockcalls(void)
{
	struct rng r = { env_uint("ATTACK_SEED", 1) };
	static const char last[2000];
	uint64_t end = attack_end();
	unsigned int rounds = 0, done = 0;

	signal(SIGPIPE, SIG_IGN);
	do {
		bool message = rng_below(&r, 3);
		struct caller c[CALLERS];
		pthread_t t[CALLERS];
		struct hand a, b;
		int err;

		hand_open(&a, &b, test_addr);
		fcntl(a.fd, F_SETFL, O_NONBLOCK);
		fcntl(b.fd, F_SETFL, O_NONBLOCK);
		for (int i = 0; i < CALLERS; i++) {
			c[i] = (struct caller){ { a.fd, b.fd }, now_ms() + 60, rng_next(&r) };
			t[i] = thread_of(calls, &c[i]);
		}
		usleep(rng_below(&r, 12000));
		err = hand_over(&a, SRNIC_QP_MODIFY_CRC, message ? last : NULL,
				message ? sizeof(last) : 0);
		if (!err) {
			done++;
			sealed(a.fd);
		}
		err = hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0);
		if (!err) {
			done++;
			sealed(b.fd);
		}
		for (int i = 0; i < CALLERS; i++)
			pthread_join(t[i], NULL);
		hand_close(&a, &b);
		rounds++;
	} while (now_ms() < end);
	note("%u rounds, %u sockets handed over", rounds, done);
	require(done, "nothing was handed over");
}
