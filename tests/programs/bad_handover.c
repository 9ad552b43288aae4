// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Sockets that cannot become the stream of a QP, and calls that are wrong themselves. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "badinput.h"
#include "handfd.h"

static struct hand h;

static void refused(int fd, int want, const char *what)
{
	int err;

	h.fd = fd;
	err = hand_over(&h, SRNIC_QP_MODIFY_CRC, NULL, 0);
	require(err == want, "%s: %s in place of %s", what, strerror(err), strerror(want));
}

static void no_stream(int fd, int want, const char *what)
{
	require(fd >= 0, "%s: %s", what, strerror(errno));
	refused(fd, want, what);
	close(fd);
}

static void strangers(void)
{
	struct sockaddr_storage addr;
	int fd = socket(AF_INET, SOCK_STREAM, 0), pair[2];

	refused(-1, EBADF, "no descriptor");
	refused(9999, EBADF, "a descriptor that is not open");
	no_stream(open("/dev/null", O_RDWR), ENOTSOCK, "a file");
	no_stream(dup(h.qp->context->cmd_fd), ENOTSOCK, "the device itself");
	no_stream(socket(AF_INET, SOCK_DGRAM, 0), EPROTOTYPE, "UDP");
	no_stream(socket(AF_INET6, SOCK_DGRAM, 0), EPROTOTYPE, "UDP over IPv6");
	require(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "%s", strerror(errno));
	no_stream(pair[0], EPROTOTYPE, "AF_UNIX");
	close(pair[1]);
	no_stream(socket(AF_INET, SOCK_STREAM, 0), ENOTCONN, "a new socket");
	resolve(test_addr, 0, &addr);
	require(fd >= 0 && !bind(fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(fd, 1),
		"%s", strerror(errno));
	no_stream(fd, ENOTCONN, "a listener");
}

static void closed_sides(void)
{
	int a, b;
	char c;

	hand_sockets(test_addr, &a, &b);
	require(!shutdown(b, SHUT_WR) && !recv(a, &c, 1, 0), "%s", strerror(errno));
	refused(a, EPIPE, "CLOSE_WAIT");
	require(send(a, "x", 1, MSG_NOSIGNAL) == 1 && recv(b, &c, 1, 0) == 1, "CLOSE_WAIT, after");
	refused(b, EPIPE, "FIN_WAIT");
	close(a);
	close(b);
	hand_sockets(test_addr, &a, &b);
	require(!shutdown(a, SHUT_RD), "%s", strerror(errno));
	refused(a, EPIPE, "nothing is received any more");
	close(a);
	close(b);
}

static void urgent(void)
{
	int a, b;
	char c;

	hand_sockets(test_addr, &a, &b);
	require(send(b, "!", 1, MSG_OOB) == 1, "%s", strerror(errno));
	while (recv(a, &c, 1, MSG_OOB | MSG_PEEK) != 1)
		require(errno == EAGAIN || errno == EINVAL, "%s", strerror(errno));
	refused(a, EBADMSG, "urgent data");
	require(recv(a, &c, 1, MSG_OOB) == 1 && c == '!', "%s", strerror(errno));
	require(send(b, "x", 1, 0) == 1 && recv(a, &c, 1, 0) == 1 && c == 'x', "urgent, after");
	close(a);
	close(b);
}

/* In a network namespace of its own; without namespaces the test fails */
static void other_namespace(void)
{
	int home = open("/proc/self/ns/net", O_RDONLY), a, b;

	require(home >= 0 && !unshare(CLONE_NEWNET), "%s", strerror(errno));
	a = socket(AF_INET, SOCK_STREAM, 0);
	require(a >= 0 && !setns(home, CLONE_NEWNET), "%s", strerror(errno));
	no_stream(a, EXDEV, "another namespace");
	close(home);
	hand_sockets("127.0.0.1", &a, &b);
	refused(a, EADDRNOTAVAIL, "another interface");
	hand_sockets_work(a, b, "another interface, after");
	close(a);
	close(b);
}

/* A socket with kernel TLS, if the kernel has it, has another owner */
static void other_owner(int a, int b)
{
	if (setsockopt(a, IPPROTO_TCP, TCP_ULP, "tls", 3)) {
		note("no kernel TLS: %s", strerror(errno));
		return;
	}
	refused(a, EBUSY, "kernel TLS");
	hand_sockets_work(a, b, "kernel TLS, after");
}

static void taken(int a, int b)
{
	struct hand peer = { .fd = b }, third;

	hand_qp(&peer);
	hand_qp(&third);
	h.fd = a;
	require(!hand_over(&h, SRNIC_QP_MODIFY_CRC, NULL, 0) &&
		!hand_over(&peer, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0),
		"handing over");
	third.fd = a;
	require(hand_over(&third, SRNIC_QP_MODIFY_CRC, NULL, 0) == EBUSY, "a QP's socket");
	refused(a, EINVAL, "a QP that is in RTS");
	hand_exchange(&h, &peer, 100);
	hand_qp_end(&peer);
	hand_qp_end(&third);
}

void case_handover(void)
{
	int a, b;

	if (!on_srnic())
		skip("only srnic takes sockets");
	hand_qp(&h);
	strangers();
	closed_sides();
	urgent();
	other_namespace();
	hand_sockets(test_addr, &a, &b);
	other_owner(a, b);
	close(a);
	close(b);
	hand_sockets(test_addr, &a, &b);
	taken(a, b);
	close(a);
	close(b);
	hand_qp_end(&h);
}

/* One call with one error; the socket stays usable */
static void wrong(const struct srnic_ureq_qp_modify *req, size_t len, int want, const char *what)
{
	int err = hand_over_raw(h.qp, h.fd, req, len, NULL, 0);

	require(err == want, "%s: %s in place of %s", what, strerror(err), strerror(want));
}

static void requests(void)
{
	const struct srnic_ureq_qp_modify good = HAND_RTS(SRNIC_QP_MODIFY_CRC);
	struct { struct srnic_ureq_qp_modify req; uint32_t more[4]; } longer = { .req = good };
	struct srnic_ureq_qp_modify req = good;

	for (req.state = 0; req.state < 8; req.state++)
		if (req.state != SRNIC_QP_MODIFY_RTS)
			wrong(&req, sizeof(req), EOPNOTSUPP, "another state");
	req = good;
	for (unsigned int bit = 7; bit < 32; bit++) {
		req.flags = good.flags | 1U << bit;
		wrong(&req, sizeof(req), EOPNOTSUPP, "an unknown flag");
	}
	req = good;
	req.ird = 129;
	wrong(&req, sizeof(req), EINVAL, "IRD");
	req = good;
	req.ord = 0xffff;
	wrong(&req, sizeof(req), EINVAL, "ORD");
	req = good;
	req.keepalive = 7201;
	wrong(&req, sizeof(req), EINVAL, "keepalive");
	req = good;
	req.flags = 0;
	wrong(&req, sizeof(req), EPERM, "no CRC, where the policy wants one");
	for (size_t n = 0; n < sizeof(req); n++)
		wrong(&good, n, EINVAL, "a short request");
	wrong((void *)8, sizeof(req), EFAULT, "no request");
	longer.more[3] = 1;
	wrong(&longer.req, sizeof(longer), EOPNOTSUPP, "a longer request with something in it");
}

static void messages(void)
{
	const struct srnic_ureq_qp_modify good = HAND_RTS(SRNIC_QP_MODIFY_CRC);
	int err;

	err = hand_over_raw(h.qp, h.fd, &good, sizeof(good), "", 0);
	require(err == EINVAL, "an empty message: %s", strerror(err));
	err = hand_over_raw(h.qp, h.fd, &good, sizeof(good), (void *)8, 100);
	require(err == EFAULT, "no message: %s", strerror(err));
}

/* Random arguments: the call fails, or the socket is handed over */
static void rubbish(uint64_t seed)
{
	struct rng r = { seed };
	uint32_t req[16];

	for (unsigned int i = 0; i < 2000; i++) {
		for (size_t n = 0; n < ARRAY_SIZE(req); n++)
			req[n] = rng_below(&r, 2) ? rng_next(&r) : rng_below(&r, 4);
		req[0] = rng_below(&r, 8);
		hand_over_raw(h.qp, rng_below(&r, 40) - 1, req, rng_below(&r, sizeof(req)),
			      rng_below(&r, 2) ? (void *)req : NULL, rng_below(&r, sizeof(req)));
	}
}

void case_handover_abi(void)
{
	int a, b;

	if (!on_srnic())
		skip("only srnic takes sockets");
	hand_qp(&h);
	hand_sockets(test_addr, &a, &b);
	h.fd = a;
	requests();
	messages();
	hand_sockets_work(a, b, "after all of this");
	rubbish(env_uint("BADINPUT_SEED", 1));
	close(a);
	close(b);
	hand_qp_end(&h);
}
