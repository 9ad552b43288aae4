// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A sender on the same host that goes on writing to what it has sent. It connects by plain TCP to
 * a QP of its own, sends an FPDU by sendfile() out of a memory file, and a thread changes an
 * octet of the file, back and forth, while the FPDU is in the QP's receive queue. Each octet has
 * its turn; that of the length that makes it longer more often. However the QP processes it, no
 * octet outside of the FPDU's destination may change, and the kernel must not crash.
 *
 * usage: unstable ADDR SECONDS
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common.h"

#define PORT	7471
#define SINK	(1 << 17)
#define PAYLOAD	30000
#define HEADER	16	/* of a Write, with the length field */
#define ULPDU	(HEADER - 2 + PAYLOAD)
#define PAD	(-(ULPDU + 2) & 3)
#define FPDU	(2 + ULPDU + PAD + 4)
#define UNTOUCHED	0xee
#define SENT	0x41

static struct {
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
} server;

static uint8_t *sink;
static uint8_t *file;
/* The octet that changes, and the bits flipped; 0: none */
static volatile uint32_t target;
static volatile uint8_t bits;

static struct {
	unsigned long connections, looks, placed, refused, failed;
} count;

static void report(void)
{
	printf("%lu connections, looked at %lu times, placed %lu, refused %lu, not connected %lu\n",
	       count.connections, count.looks, count.placed, count.refused, count.failed);
}

static uint32_t crc32c(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;
	int bit;

	while (len--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

static void accept_one(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.send_cq = server.cq, .recv_cq = server.cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1 };

	if (rdma_create_qp(id, server.pd, &init)) {
		rdma_destroy_id(id);
	} else if (rdma_accept(id, &param)) {
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
	}
}

static void *serve(void *arg)
{
	struct rdma_cm_event *event;

	while (!rdma_get_cm_event(server.cm, &event)) {
		struct rdma_cm_id *id = event->id;
		enum rdma_cm_event_type type = event->event;
		struct ibv_wc wc[8];

		rdma_ack_cm_event(event);
		while (ibv_poll_cq(server.cq, 8, wc) > 0)
			;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			accept_one(id);
		} else if (id != server.listener && (type == RDMA_CM_EVENT_DISCONNECTED ||
						     type == RDMA_CM_EVENT_CONNECT_ERROR)) {
			rdma_destroy_qp(id);
			rdma_destroy_id(id);
		}
	}
	return NULL;
}

static void start_server(struct sockaddr *addr)
{
	pthread_t thread;

	server.cm = cm_channel(false);
	require(!rdma_create_id(server.cm, &server.listener, NULL, RDMA_PS_TCP), "%m");
	require(!rdma_bind_addr(server.listener, addr) && server.listener->verbs, "%m");
	require(!rdma_listen(server.listener, 16), "%m");
	server.pd = ibv_alloc_pd(server.listener->verbs);
	server.cq = ibv_create_cq(server.listener->verbs, 1000, NULL, NULL, 0);
	require(server.pd && server.cq, "%m");
	sink = mmap(NULL, SINK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(sink != MAP_FAILED, "%m");
	memset(sink, UNTOUCHED, SINK);
	server.mr = ibv_reg_mr(server.pd, sink, SINK,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	require(server.mr, "%m");
	require(!pthread_create(&thread, NULL, serve, NULL), "no thread");
}

/* About as long as a look at an FPDU or the computation of a CRC takes */
static void some_time(unsigned int *seed)
{
	volatile unsigned int i = rand_r(seed) % 8000;

	while (i)
		i--;
}

static void *change(void *arg)
{
	unsigned int seed = 1;

	for (;;) {
		uint32_t at = target;
		uint8_t flip = bits;

		/* an FPDU must be intact at times */
		*(volatile uint8_t *)(file + at) ^= flip;
		some_time(&seed);
		*(volatile uint8_t *)(file + at) ^= flip;
		some_time(&seed);
	}
	return NULL;
}

/* An RDMA Write to the begin of the sink */
static void make_fpdu(void)
{
	uint16_t len = htons(ULPDU);
	uint32_t stag = htonl(server.mr->rkey);
	uint64_t to = htobe64((uintptr_t)sink);
	uint32_t crc;

	memset(file, SENT, SINK);
	memcpy(file, &len, sizeof(len));
	file[2] = 0x80 | 0x40 | 1;	/* tagged, last, version of DDP */
	file[3] = 0x40;			/* version of RDMAP, Write */
	memcpy(file + 4, &stag, sizeof(stag));
	memcpy(file + 8, &to, sizeof(to));
	memset(file + 2 + ULPDU, 0, PAD);
	crc = htole32(crc32c(file, FPDU - 4));
	memcpy(file + FPDU - 4, &crc, sizeof(crc));
}

/* The octet for this turn: in every second turn the one that makes the length 2,048 longer */
static void choose_target(unsigned long turn)
{
	uint32_t at = turn / 2 % (HEADER + 8);

	bits = 0;
	if (turn % 2)
		at = 0;
	else if (at >= HEADER)	/* payload, PAD and CRC */
		at = at == HEADER ? HEADER : FPDU - (at - HEADER);
	target = at;
	bits = at ? 1 << turn % 8 : 0x08;
}

/* Return: a socket ready for FPDUs, or -1 */
static int connect_one(const struct sockaddr *addr, socklen_t addr_len)
{
	static const uint8_t request[20] = "MPA ID Req Frame\x40\x01";
	int sock = socket(addr->sa_family, SOCK_STREAM, 0), one = 1;
	struct timeval limit = { .tv_sec = 5 };
	uint8_t reply[20];

	require(sock >= 0, "%m");
	setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!connect(sock, addr, addr_len) &&
	    send(sock, request, sizeof(request), 0) == sizeof(request) &&
	    recv(sock, reply, sizeof(reply), MSG_WAITALL) == sizeof(reply) && !(reply[16] & 0x20))
		return sock;
	close(sock);
	return -1;
}

/* Send it, and octets that may be its end: with each octet the QP looks again */
static void send_one(int sock, int fd)
{
	off_t off = 0;
	int i;

	while (off < FPDU) {
		if (sendfile(sock, fd, &off, FPDU - off) <= 0) {
			count.refused++;
			return;
		}
	}
	for (i = 0; i < 400; i++) {
		struct pollfd answer = { .fd = sock, .events = POLLIN };

		if (*(volatile uint8_t *)(sink + PAYLOAD - 1) != UNTOUCHED) {
			count.placed++;
			return;
		}
		if (send(sock, "\xff", 1, MSG_DONTWAIT) != 1 || poll(&answer, 1, 0) > 0) {
			count.refused++;
			return;
		}
		count.looks++;
		usleep(20);
	}
}

static void check_sink(unsigned long turn)
{
	uint32_t i;

	for (i = PAYLOAD; i < SINK; i++)
		require(sink[i] == UNTOUCHED, "turn %lu, octet %u changed: octet %u of the sink",
			turn, target, i);
	memset(sink, UNTOUCHED, PAYLOAD);
}

int main(int argc, char **argv)
{
	struct sockaddr_storage addr;
	unsigned long turn;
	pthread_t thread;
	uint64_t end;
	int fd, sock;

	require(argc == 3, "usage: unstable ADDR SECONDS");
	signal(SIGPIPE, SIG_IGN);
	resolve(argv[1], PORT, &addr);
	start_server((struct sockaddr *)&addr);
	fd = memfd_create("unstable", 0);
	require(fd >= 0 && !ftruncate(fd, SINK), "%m");
	file = mmap(NULL, SINK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require(file != MAP_FAILED, "%m");
	make_fpdu();
	require(!pthread_create(&thread, NULL, change, NULL), "no thread");
	end = now_ms() + 1000 * strtoul(argv[2], NULL, 10);
	for (turn = 0; now_ms() < end; turn++) {
		choose_target(turn);
		sock = connect_one((struct sockaddr *)&addr, sizeof(struct sockaddr_in));
		if (sock < 0) {
			count.failed++;
			usleep(1000);
			continue;
		}
		count.connections++;
		send_one(sock, fd);
		close(sock);
		check_sink(turn);
	}
	report();
	require(count.placed && count.refused, "not both were seen");
	return EXIT_PASS;
}
