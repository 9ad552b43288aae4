// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handhostile: what a hostile program does with a socket during the hand-over and after it.
 *
 *	handhostile --list		names of the cases
 *	handhostile ADDR CASE		run one, over the device that has address ADDR
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "handfd.h"

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;
	int err = pthread_create(&thread, NULL, run, arg);

	require(!err, "%s", strerror(err));
	return thread;
}

/* An IPv6 socket that is connected over IPv4, and the other end of it, an IPv4 socket */
static int mapped_sockets(int *peer)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };
	struct sockaddr_storage name;
	struct sockaddr_in *sin = (struct sockaddr_in *)&name;
	socklen_t len = sizeof(*sin);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET6, SOCK_STREAM, 0);

	resolve(test_addr, 0, &name);
	require(listener >= 0 && fd >= 0 && !bind(listener, (struct sockaddr *)sin, len) &&
		!listen(listener, 1) && !getsockname(listener, (struct sockaddr *)sin, &len),
		"%s", strerror(errno));
	to.sin6_port = sin->sin_port;
	memset(to.sin6_addr.s6_addr + 10, 0xff, 2);
	memcpy(to.sin6_addr.s6_addr + 12, &sin->sin_addr, 4);
	require(!connect(fd, (struct sockaddr *)&to, sizeof(to)), "%s", strerror(errno));
	*peer = accept(listener, NULL, NULL);
	require(*peer >= 0, "%s", strerror(errno));
	close(listener);
	return fd;
}

/* Send until the socket has taken nothing for half a second */
static void fill(int fd)
{
	static char data[65536];
	int small = 4096;

	require(!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), "%s",
		strerror(errno));
	for (int still = 0; still < 10; still++) {
		while (send(fd, data, sizeof(data), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			still = 0;
		require(errno == EAGAIN, "%s", strerror(errno));
		usleep(50000);
	}
}

static void *drain(void *arg)
{
	char data[65536];

	while (recv(*(int *)arg, data, sizeof(data), 0) > 0)
		;
	return NULL;
}

/* A hand-over that waits for room to send its last message */
struct turn {
	struct hand hand;
	int err;
	atomic_bool done;
};

static void *turn_waiting(void *arg)
{
	static char last[20000];
	struct turn *turn = arg;

	turn->err = hand_over(&turn->hand, SRNIC_QP_MODIFY_CRC, last, sizeof(last));
	turn->done = true;
	return NULL;
}

static int to_ipv4(int fd)
{
	int v4 = AF_INET;

	return setsockopt(fd, IPPROTO_IPV6, IPV6_ADDRFORM, &v4, sizeof(v4)) ? errno : 0;
}

static void case_family(void)
{
	struct turn turn = { };
	pthread_t thread;
	int peer, err;

	hand_qp(&turn.hand);
	turn.hand.fd = mapped_sockets(&peer);
	fill(turn.hand.fd);
	thread = start(turn_waiting, &turn);
	usleep(500000);
	require(!turn.done, "it does not wait: %s", strerror(turn.err));
	err = to_ipv4(turn.hand.fd);
	start(drain, &peer);
	pthread_join(thread, NULL);
	require(!turn.err, "handing over: %s", strerror(turn.err));
	hand_sealed(turn.hand.fd);
	require(err == EBUSY, "IPV6_ADDRFORM: %s", strerror(err));
	close(turn.hand.fd);
	hand_qp_end(&turn.hand);
}

/* Repeated while time is left: one thread hands over, one changes the family */
static atomic_bool go;

static void *form(void *arg)
{
	while (!go)
		;
	to_ipv4(*(int *)arg);
	return NULL;
}

static void case_families(void)
{
	uint64_t end = now_ms() + 10000;
	unsigned int rounds = 0;

	for (; now_ms() < end; rounds++) {
		struct hand h;
		pthread_t thread;
		int peer, err;

		hand_qp(&h);
		h.fd = mapped_sockets(&peer);
		go = false;
		thread = start(form, &h.fd);
		go = true;
		for (volatile unsigned int i = 0; i < rounds % 64 * 200; i++)
			;
		err = hand_over(&h, SRNIC_QP_MODIFY_CRC, NULL, 0);
		pthread_join(thread, NULL);
		require(!err, "round %u: %s", rounds, strerror(err));
		hand_sealed(h.fd);
		hand_qp_end(&h);
		close(h.fd);
		close(peer);
	}
	note("%u rounds", rounds);
}

/* The protocol without a hand-over only keeps the socket's kind as it is */
static void case_marked(void)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct hand a, b;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	require(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_ULP, "srnic", 5) && errno == ENOTCONN,
		"not connected: %s", strerror(errno));
	close(fd);
	hand_qp(&a);
	hand_qp(&b);
	a.fd = mapped_sockets(&b.fd);
	require(!setsockopt(a.fd, IPPROTO_TCP, TCP_ULP, "srnic", 5), "%s", strerror(errno));
	require(setsockopt(a.fd, IPPROTO_TCP, TCP_ULP, "srnic", 5) && errno == EEXIST, "%s",
		strerror(errno));
	hand_sockets_work(a.fd, b.fd, "with the protocol");
	require(to_ipv4(a.fd) == EBUSY, "IPV6_ADDRFORM");
	require(connect(a.fd, &none, sizeof(none)) && errno == EOPNOTSUPP, "%s", strerror(errno));
	require(listen(a.fd, 1), "it listens");
	hand_sockets_work(a.fd, b.fd, "after all of this");
	require(!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0) &&
		!hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0), "handing over");
	hand_sealed(a.fd);
	hand_exchange(&a, &b, 100);
	hand_close(&a, &b);
}

/* A close with RST: with nothing sent, after a FIN of the peer, with data under way */
static void closes_at_once(int fd, int peer, const char *when)
{
	struct linger linger = { .l_onoff = 1 };
	struct timeval limit = { .tv_sec = 10 };
	static char data[65536];
	ssize_t n;

	require(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) &&
		!setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), "%s",
		strerror(errno));
	close(fd);
	while ((n = recv(peer, data, sizeof(data), 0)) > 0)
		;
	require(n < 0 && errno == ECONNRESET, "%s: %s", when, n ? strerror(errno) : "its end");
	close(peer);
}

static void case_reset(void)
{
	static const char *const when[] = { "as it is", "the peer has closed", "data is under way" };

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(when); i++) {
		int fd, peer;

		if (i % 2)
			fd = mapped_sockets(&peer);
		else
			hand_sockets(test_addr, &fd, &peer);
		require(!setsockopt(fd, IPPROTO_TCP, TCP_ULP, "srnic", 5), "%s", strerror(errno));
		if (i / 2 == 1) {
			char c;

			shutdown(peer, SHUT_WR);
			require(!recv(fd, &c, 1, 0), "%s", strerror(errno));
		} else if (i / 2 == 2) {
			fill(fd);
		}
		closes_at_once(fd, peer, when[i / 2]);
	}
}

static void read_all(int fd)
{
	char data[65536];

	for (int still = 0; still < 10; still++) {
		while (recv(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
			still = 0;
		require(errno == EAGAIN, "%s", strerror(errno));
		usleep(50000);
	}
}

/* The last message cannot be sent; then the hand-over is tried again */
static void case_failed(void)
{
	struct turn turn = { };
	struct hand b;

	hand_qp(&turn.hand);
	hand_qp(&b);
	turn.hand.fd = mapped_sockets(&b.fd);
	fill(turn.hand.fd);
	turn_waiting(&turn);
	require(turn.err == ETIMEDOUT, "%s", strerror(turn.err));
	read_all(b.fd);
	hand_sockets_work(turn.hand.fd, b.fd, "after a failure");
	require(to_ipv4(turn.hand.fd) == EBUSY, "IPV6_ADDRFORM");
	require(!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0) &&
		!hand_over(&turn.hand, SRNIC_QP_MODIFY_CRC, NULL, 0), "handing over");
	hand_exchange(&turn.hand, &b, 100);
	hand_close(&turn.hand, &b);
}

/* A thread that waits to receive since before the hand-over */
struct reader {
	int fd;
	atomic_bool done;
};

static void *read_one(void *arg)
{
	struct reader *r = arg;
	char c;

	recv(r->fd, &c, 1, 0);
	r->done = true;
	return NULL;
}

/* The QP closes, or resets its stream */
static void case_waiting(void)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };

	for (int way = 0; way < 2; way++) {
		struct reader r = { };
		struct hand a, b;
		pthread_t thread;

		hand_open(&a, &b, test_addr);
		r.fd = a.fd;
		thread = start(read_one, &r);
		usleep(300000);
		require(!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0) &&
			!hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0), "handing over");
		usleep(300000);
		require(!r.done, "it does not wait");
		require(!way || !ibv_modify_qp(a.qp, &error, IBV_QP_STATE), "%s", strerror(errno));
		hand_close(&a, &b);
		for (unsigned int i = 0; i < 100 && !r.done; i++)
			usleep(100000);
		require(r.done, "it waits after a %s", way ? "reset" : "close");
		pthread_join(thread, NULL);
	}
}

/* Calls of all kinds on a socket and its peer */
struct storm {
	int fd[2];
	uint64_t end;
	struct rng rng;
};

static void options(struct rng *r, int fd)
{
	static const struct {
		int level, name;
		unsigned int top;
	} opts[] = {
		{ IPPROTO_TCP, TCP_CORK, 2 }, { IPPROTO_TCP, TCP_USER_TIMEOUT, 2000 },
		{ IPPROTO_TCP, TCP_REPAIR, 4 }, { IPPROTO_TCP, TCP_REPAIR_QUEUE, 3 },
		{ IPPROTO_TCP, TCP_QUEUE_SEQ, ~0u }, { IPPROTO_TCP, TCP_WINDOW_CLAMP, 100000 },
		{ IPPROTO_TCP, TCP_MAXSEG, 2000 }, { IPPROTO_TCP, TCP_DEFER_ACCEPT, 3 },
		{ SOL_SOCKET, SO_RCVLOWAT, 100000 }, { SOL_SOCKET, SO_SNDBUF, 100000 },
		{ SOL_SOCKET, SO_RCVBUF, 100000 }, { SOL_SOCKET, SO_OOBINLINE, 2 },
		{ SOL_SOCKET, SO_ZEROCOPY, 2 }, { SOL_SOCKET, SO_KEEPALIVE, 2 },
		{ SOL_SOCKET, SO_BUSY_POLL, 100 }, { SOL_SOCKET, SO_PRIORITY, 7 },
		{ IPPROTO_IPV6, IPV6_ADDRFORM, 0 },
	};
	unsigned int i = rng_below(r, ARRAY_SIZE(opts));
	int val = opts[i].name == IPV6_ADDRFORM ? AF_INET : (int)rng_below(r, opts[i].top);

	setsockopt(fd, opts[i].level, opts[i].name, &val, sizeof(val));
}

static void message(struct rng *r, int fd)
{
	char data[4096] = { };
	struct iovec iov = { data, rng_below(r, sizeof(data)) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

	switch (rng_below(r, 6)) {
	case 0: send(fd, data, iov.iov_len, flags); break;
	case 1: send(fd, data, iov.iov_len, flags | (rng_below(r, 8) ? 0 : MSG_OOB)); break;
	case 2: sendmsg(fd, &msg, flags | MSG_ZEROCOPY); break;
	case 3: recv(fd, data, iov.iov_len, flags); break;
	case 4: recv(fd, data, iov.iov_len, flags | MSG_PEEK); break;
	default: recvmsg(fd, &msg, flags | MSG_ERRQUEUE);
	}
}

/* Calls that make a connection, or end it */
static void states(struct rng *r, int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct linger linger = { 1, rng_below(r, 3) };
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	resolve(test_addr, 0, &name);
	switch (rng_below(r, 8)) {
	case 0:
		if (!rng_below(r, 20))
			connect(fd, &none, sizeof(none));
		break;
	case 1:
		if (!rng_below(r, 20))
			shutdown(fd, rng_below(r, 3));
		break;
	case 2: listen(fd, 5); break;
	case 3: connect(fd, (struct sockaddr *)&name, len); break;
	case 4: bind(fd, (struct sockaddr *)&name, len); break;
	case 5: accept4(fd, NULL, NULL, SOCK_NONBLOCK); break;
	case 6: getsockname(fd, (struct sockaddr *)&name, &len); break;
	default: setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	}
}

static void through_pipe(struct rng *r, int fd)
{
	int pipes[2];

	if (pipe2(pipes, O_NONBLOCK))
		return;
	splice(fd, NULL, pipes[1], NULL, rng_below(r, 4096), SPLICE_F_NONBLOCK);
	splice(pipes[0], NULL, fd, NULL, 4096, SPLICE_F_NONBLOCK);
	close(pipes[0]);
	close(pipes[1]);
}

static void zerocopy(int fd)
{
	struct tcp_zerocopy_receive zc = { .length = 65536 };
	socklen_t len = sizeof(zc);
	void *map = mmap(NULL, 65536, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return;
	zc.address = (uintptr_t)map;
	getsockopt(fd, IPPROTO_TCP, TCP_ZEROCOPY_RECEIVE, &zc, &len);
	munmap(map, 65536);
}

static void *storm(void *arg)
{
	struct storm *s = arg;

	while (now_ms() < s->end) {
		int fd = s->fd[!rng_below(&s->rng, 4)];
		struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };

		switch (rng_below(&s->rng, 8)) {
		case 0: message(&s->rng, fd); break;
		case 1: states(&s->rng, fd); break;
		case 2: setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3); break;
		case 3: setsockopt(fd, IPPROTO_TCP, TCP_ULP, "srnic", 5); break;
		case 4: through_pipe(&s->rng, fd); break;
		case 5: zerocopy(fd); break;
		case 6: poll(&p, 1, 0); break;
		default: options(&s->rng, fd);
		}
	}
	return NULL;
}

/* The program can neither read nor write the stream of a QP's socket */
static void sealed(int fd)
{
	char octet;

	require(recv(fd, &octet, 1, MSG_DONTWAIT) < 0 && errno == EOPNOTSUPP,
		"a socket that was handed over is read: %s", strerror(errno));
	require(send(fd, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno == EOPNOTSUPP,
		"a socket that was handed over is written: %s", strerror(errno));
}

/* Return: whether the socket was handed over */
static bool over_and_sealed(struct hand *h, uint32_t flags, const void *last, uint32_t len)
{
	if (hand_over(h, flags, last, len))
		return false;
	sealed(h->fd);
	return true;
}

static void case_storm(void)
{
	uint64_t end = now_ms() + 15000;
	unsigned int rounds = 0, over = 0;

	signal(SIGPIPE, SIG_IGN);
	for (; now_ms() < end; rounds++) {
		struct storm s[3];
		pthread_t threads[ARRAY_SIZE(s)];
		char last[2000] = { };
		struct hand a, b;

		hand_qp(&a);
		hand_qp(&b);
		if (rounds % 2)
			a.fd = mapped_sockets(&b.fd);
		else
			hand_sockets(test_addr, &a.fd, &b.fd);
		/* splice() itself has no flag for it */
		fcntl(a.fd, F_SETFL, O_NONBLOCK);
		fcntl(b.fd, F_SETFL, O_NONBLOCK);
		for (size_t i = 0; i < ARRAY_SIZE(s); i++) {
			s[i] = (struct storm){ { a.fd, b.fd }, now_ms() + 60, { rounds * 3 + i + 1 } };
			threads[i] = start(storm, &s[i]);
		}
		usleep(rounds % 7 * 2000);
		over += over_and_sealed(&a, SRNIC_QP_MODIFY_CRC, rounds % 3 ? last : NULL,
					rounds % 3 ? sizeof(last) : 0);
		over += over_and_sealed(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0);
		for (size_t i = 0; i < ARRAY_SIZE(s); i++)
			pthread_join(threads[i], NULL);
		hand_close(&a, &b);
	}
	note("%u rounds, %u sockets handed over", rounds, over);
	require(over, "nothing was handed over");
}

/* For the script: the peer does not read, until the call ends */
static void case_stuck(void)
{
	struct turn turn = { };
	int peer;

	hand_qp(&turn.hand);
	hand_sockets(test_addr, &turn.hand.fd, &peer);
	fill(turn.hand.fd);
	puts("handing over");
	fflush(stdout);
	turn_waiting(&turn);
	puts(turn.err == ENODEV ? "ENODEV" : strerror(turn.err));
	fflush(stdout);
	_exit(EXIT_PASS);
}

/* One message, whose completion is not polled: so the kernel delays the end of the stream */
static void hello(struct hand *from, struct hand *to)
{
	struct ibv_sge sge = { (uintptr_t)to->buf, 64, to->mr->lkey };
	struct ibv_recv_wr rwr = { .sg_list = &sge, .num_sge = 1 }, *bad_rwr;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	ibv_post_recv(to->qp, &rwr, &bad_rwr);
	sge = (struct ibv_sge){ (uintptr_t)from->buf, 64, from->mr->lkey };
	ibv_post_send(from->qp, &wr, &bad);
}

/* A thread keeps a socket locked, by a test module */
static void *keep_locked(void *arg)
{
	int file = open("/sys/kernel/debug/srnic_selftest/lock", O_WRONLY);
	char text[16];

	snprintf(text, sizeof(text), "%d", *(int *)arg);
	require(file >= 0 && write(file, text, strlen(text)) < 0 && errno == EINTR, "%s",
		strerror(errno));
	return NULL;
}

static void lock_begins(int *fd)
{
	start(keep_locked, fd);
	usleep(500000);
}

static void open_and_lock(struct hand *a, struct hand *b)
{
	hand_open(a, b, test_addr);
	require(!hand_over(b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0) &&
		!hand_over(a, SRNIC_QP_MODIFY_CRC, NULL, 0), "handing over");
	hand_exchange(a, b, 100);
	lock_begins(&a->fd);
}

/* For the script, as root: nothing waits for a thread that keeps the socket locked */
static void case_lock(void)
{
	uint64_t limit = 10000, begin = now_ms();
	struct hand a, b, c, d;

	hand_open(&a, &b, test_addr);
	lock_begins(&a.fd);
	require(hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0) == EBUSY, "handing over");
	require(now_ms() - begin < limit, "handing over: %lu ms", now_ms() - begin);

	open_and_lock(&c, &d);
	begin = now_ms();
	hand_qp_end(&c);
	require(now_ms() - begin < limit, "destroy: %lu ms", now_ms() - begin);

	open_and_lock(&c, &d);
	begin = now_ms();
	hello(&c, &d);
	expect_wc(c.cq, 0, IBV_WC_WR_FLUSH_ERR, "a Send on a socket that is locked");
	require(now_ms() - begin < limit, "a Send: %lu ms", now_ms() - begin);
	hand_qp_end(&c);
	require(now_ms() - begin < limit, "destroy: %lu ms", now_ms() - begin);
	_exit(EXIT_PASS);
}

/* For the script, which deletes the device meanwhile */
static void case_locked(void)
{
	struct hand a, b;

	open_and_lock(&a, &b);
	puts("the socket is locked");
	fflush(stdout);
	pause();
}

static bool is_idle(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) || attr.qp_state <= IBV_QPS_INIT;
}

static void use(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c;

	poll(&p, 1, 0);
	recv(fd, &c, 1, MSG_DONTWAIT);
	send(fd, &c, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/*
 * For the script, which unloads the module meanwhile: a QP gets one socket after the other, until
 * a call fails. Then the last socket is used.
 */
static void case_loop(void)
{
	struct ibv_qp_attr closing = { .qp_state = IBV_QPS_SQD };
	unsigned int rounds;
	struct ibv_wc wc[64];
	struct hand a, b;
	int err;

	hand_open(&a, &b, test_addr);
	err = hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0);
	require(!err, "%s", strerror(err));
	puts("go");
	fflush(stdout);
	for (rounds = 0;; rounds++) {
		int fd, peer;

		err = hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0);
		if (err)
			break;
		hello(&a, &b);
		hand_sockets(test_addr, &fd, &peer);
		close(a.fd);
		close(b.fd);
		a.fd = fd;
		b.fd = peer;
		ibv_modify_qp(b.qp, &closing, IBV_QP_STATE);
		for (unsigned int i = 0; i < 2000 && !is_idle(a.qp); i++)
			usleep(200);
		err = hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0);
		if (err)
			break;
		ibv_poll_cq(a.cq, ARRAY_SIZE(wc), wc);
		ibv_poll_cq(b.cq, ARRAY_SIZE(wc), wc);
	}
	printf("%u rounds, then %s\n", rounds, strerror(err));
	/* the module may be gone by now */
	sleep(3);
	use(a.fd);
	use(b.fd);
	close(a.fd);
	close(b.fd);
	puts("closed");
	fflush(stdout);
	_exit(EXIT_PASS);
}

static const struct test_case cases[] = {
	{ "family", case_family, "a socket keeps its family while it is handed over" },
	{ "families", case_families, "threads change the family and hand over at once" },
	{ "marked", case_marked, "a socket that has the protocol works, and stays connected" },
	{ "reset", case_reset, "close() can reset a socket that has the protocol" },
	{ "failed", case_failed, "a socket works after it could not be handed over" },
	{ "waiting", case_waiting, "a thread in recv() returns when the QP has ended" },
	{ "storm", case_storm, "threads make any call while a socket is handed over" },
	{ "stuck", case_stuck, "" },
	{ "lock", case_lock, "" },
	{ "locked", case_locked, "" },
	{ "loop", case_loop, "" },
};

static const struct test_program prog = {
	.usage = "handhostile --list | handhostile ADDR CASE",
	.timeout_env = "HANDHOSTILE_TIMEOUT",
	.timeout = 120,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
