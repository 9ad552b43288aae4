// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * paired: a program that connects a QP without rdma_cm, again and again, and lives with faults.
 * It swaps GIDs and QP numbers with its peer over a socket, and sends messages to and fro, whose
 * data is checked. After any failure it begins anew, except for wrong data.
 *
 *	paired COUNT-FILE DEVICE server|client ADDR PORT SLOW
 *
 * ADDR is the server's. The file has a number of 8 bytes, of the messages that were verified.
 * Status 1: wrong data; 4: begin anew in another process, the device may be another one.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <signal.h>
#include <unistd.h>
#include "../programs/common.h"
#include "../programs/pattern.h"

#define EXIT_LATER	4
#define LEN		4000
#define ROUNDS		200	/* messages of one connection, each way */
#define PATIENCE_MS	3000	/* for a message */
#define PATIENCE_S	2	/* for the peer's half of a step */
#define TRIES		5	/* connections in a row that fail */

struct name {
	union ibv_gid gid;
	uint32_t qpn, psn, seed;
};

struct link {
	int sock;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct name own, peer;
};

static struct ibv_context *ctx;
static uint8_t buf[2 * LEN];	/* to send, and to receive */
static volatile uint64_t *count;
static bool server;
static struct sockaddr_storage addr;
static unsigned int slow;

static void later(void)
{
	_exit(EXIT_LATER);
}

static void open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	if (!ctx)
		later();
	fcntl(ctx->async_fd, F_SETFL, O_NONBLOCK);
}

static void look_at_events(void)
{
	struct ibv_async_event ev;

	while (!ibv_get_async_event(ctx, &ev)) {
		if (ev.event_type == IBV_EVENT_DEVICE_FATAL)
			later();
		ibv_ack_async_event(&ev);
	}
	if (errno == EIO)
		later();
}

/* The first GID that is an IPv4 address */
static int find_gid(union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	for (int i = 1; !ibv_query_gid(ctx, 1, i, gid); i++)
		if (!memcmp(gid->raw, mapped, sizeof(mapped)))
			return i;
	return 0;
}

static bool make(struct link *l)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	l->pd = ibv_alloc_pd(ctx);
	l->cq = l->pd ? ibv_create_cq(ctx, 16, NULL, NULL, 0) : NULL;
	l->mr = l->cq ? ibv_reg_mr(l->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE) : NULL;
	init.send_cq = l->cq;
	init.recv_cq = l->cq;
	l->qp = l->mr ? ibv_create_qp(l->pd, &init) : NULL;
	return l->qp;
}

static void unmake(struct link *l)
{
	/* an object that cannot be destroyed for want of memory goes with the process */
	if ((l->qp && ibv_destroy_qp(l->qp)) || (l->mr && ibv_dereg_mr(l->mr)) ||
	    (l->cq && ibv_destroy_cq(l->cq)) || (l->pd && ibv_dealloc_pd(l->pd)))
		later();
	if (l->sock >= 0)
		close(l->sock);
}

/* A socket with a time limit on each call */
static int stream_socket(void)
{
	struct timeval limit = { .tv_sec = PATIENCE_S * slow };
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return sock;
}

/* An accepted socket inherits the limits of its listener */
static int meet(int listener)
{
	int sock;

	if (server)
		return accept(listener, NULL, NULL);
	sock = stream_socket();
	if (connect(sock, (struct sockaddr *)&addr, sizeof(struct sockaddr_in))) {
		close(sock);
		return -1;
	}
	return sock;
}

static bool swap(struct link *l)
{
	return send(l->sock, &l->own, sizeof(l->own), MSG_NOSIGNAL) == sizeof(l->own) &&
	       recv(l->sock, &l->peer, sizeof(l->peer), MSG_WAITALL) == sizeof(l->peer);
}

static bool up(struct link *l, int gid_index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = l->peer.qpn, .rq_psn = l->peer.psn, .sq_psn = l->own.psn,
		.min_rnr_timer = 12, .timeout = 16, .retry_cnt = 3, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = l->peer.gid, .sgid_index = gid_index,
				      .hop_limit = 1 } },
	};

	if (ibv_modify_qp(l->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			  IBV_QP_ACCESS_FLAGS))
		return false;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(l->qp, &attr, RTR_MASK))
		return false;
	attr.qp_state = IBV_QPS_RTS;
	return !ibv_modify_qp(l->qp, &attr, RTS_MASK);
}

static bool post_recv(struct link *l)
{
	struct ibv_sge sge = { (uintptr_t)buf + LEN, LEN, l->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	return !ibv_post_recv(l->qp, &wr, &bad);
}

static bool post_send(struct link *l, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)buf, len, l->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;

	return !ibv_post_send(l->qp, &wr, &bad);
}

/* The peer closes the socket when it begins anew */
static bool peer_left(const struct link *l)
{
	char byte;
	ssize_t n = recv(l->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/*
 * A completed Send may still be under way: it is lost if the QP is destroyed before the peer has
 * received it
 */
static void part(struct link *l)
{
	char byte = 0;

	if (send(l->sock, &byte, 1, MSG_NOSIGNAL) == 1)
		recv(l->sock, &byte, 1, 0);
}

/* One message each way: both have completed, or the connection has ended */
static bool wait_both(struct link *l, uint32_t len)
{
	uint64_t until = now_ms() + PATIENCE_MS * slow;
	struct ibv_wc wc;
	int due = 2;

	while (due) {
		int n = ibv_poll_cq(l->cq, 1, &wc);

		if (n < 0 || (n && wc.status))
			return false;
		if (n && wc.wr_id == 1 && wc.byte_len != len)
			die("%u bytes in place of %u", wc.byte_len, len);
		due -= n;
		if (n)
			continue;
		look_at_events();
		if (now_ms() > until || peer_left(l))
			return false;
		usleep(1000);
	}
	return true;
}

static void talk(struct link *l)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t len = 1 + (i * 997) % LEN;
		size_t where;
		uint8_t want;

		pattern_fill(buf, l->own.seed + i, 0, len);
		if (!post_send(l, len) || !wait_both(l, len))
			return;
		if (!pattern_matches(buf + LEN, l->peer.seed + i, 0, len, &where, &want))
			die("message %u of %u bytes: byte %zu is %#x, not %#x", i, len, where,
			    buf[LEN + where], want);
		++*count;
		/*
		 * the receive is posted before the peer sends the next message: the peer waits
		 * for this end's
		 */
		if (!post_recv(l))
			return;
		usleep(5000);
	}
	part(l);
}

static int listen_there(void)
{
	int sock = stream_socket(), on = 1;

	setsockopt(sock, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (sock < 0 || bind(sock, (struct sockaddr *)&addr, sizeof(struct sockaddr_in)) ||
	    listen(sock, 1))
		later();
	return sock;
}

static void once(int listener)
{
	struct link l = { .sock = -1 };
	int gid_index = find_gid(&l.own.gid);

	if (!gid_index || !make(&l))
		goto out;
	l.own.qpn = l.qp->qp_num;
	l.own.psn = getpid() & 0xffffff;
	l.own.seed = now_ms();
	l.sock = meet(listener);
	if (l.sock >= 0 && swap(&l) && up(&l, gid_index) && post_recv(&l))
		talk(&l);
out:
	unmake(&l);
	look_at_events();
}

int main(int argc, char **argv)
{
	int fd, listener = -1, vain = 0;

	if (argc != 7)
		die("usage: paired COUNT-FILE DEVICE server|client ADDR PORT SLOW");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open(argv[1], O_RDWR);
	count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	require(count != MAP_FAILED, "%s: %s", argv[1], strerror(errno));
	server = !strcmp(argv[3], "server");
	resolve(argv[4], atoi(argv[5]), &addr);
	slow = atoi(argv[6]);
	open_device(argv[2]);
	if (server)
		listener = listen_there();
	while (vain < TRIES) {
		uint64_t before = *count;

		once(listener);
		vain = *count == before ? vain + 1 : 0;
		usleep(20000);
	}
	later();
}
