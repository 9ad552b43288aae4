// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * crossing: two programs that take their QPs to RTS at the same time, again and again. In each
 * round both send one message and receive one, over whichever connection stays.
 *
 *	crossing ADDR ROUNDS PORT		over the device that has ADDR; waits for
 *	crossing ADDR ROUNDS PORT SERVER	the other, which connects to it at SERVER
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ibqp.h"

#define LEN	100

struct number {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
};

static int meet(const char *addr, const char *port, bool server)
{
	struct sockaddr_storage name;
	int fd, one = 1, other;

	resolve(addr, atoi(port), &name);
	fd = socket(name.ss_family, SOCK_STREAM, 0);
	require(fd >= 0, "%s", strerror(errno));
	if (!server) {
		require(!connect(fd, (struct sockaddr *)&name, sizeof(name)), "%s",
			strerror(errno));
		return fd;
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	require(!bind(fd, (struct sockaddr *)&name, sizeof(name)) && !listen(fd, 1), "%s",
		strerror(errno));
	other = accept(fd, NULL, NULL);
	require(other >= 0, "%s", strerror(errno));
	close(fd);
	return other;
}

/* Returns when both ends have come to this point */
static struct number swap(int fd, const struct number *own)
{
	struct number peer;

	require(write(fd, own, sizeof(*own)) == sizeof(*own), "%s", strerror(errno));
	require(recv(fd, &peer, sizeof(peer), MSG_WAITALL) == sizeof(peer), "the other is gone");
	return peer;
}

static void post(struct hand *h, uint8_t fill)
{
	struct ibv_sge in = { (uintptr_t)h->buf + LEN, LEN, h->mr->lkey };
	struct ibv_recv_wr rwr = { .wr_id = 1, .sg_list = &in, .num_sge = 1 }, *bad_recv;
	struct ibv_sge out = { (uintptr_t)h->buf, LEN, h->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 2, .sg_list = &out, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;

	memset(h->buf, fill, LEN);
	memset(h->buf + LEN, ~fill, LEN);
	require(!ibv_post_recv(h->qp, &rwr, &bad_recv) && !ibv_post_send(h->qp, &wr, &bad),
		"%s", strerror(errno));
}

static void one_round(struct hand *h, int fd, int n)
{
	struct number own = { .gid = ib_gid, .qpn = h->qp->qp_num, .psn = n * 7 }, peer;
	struct ibv_wc wc;

	peer = swap(fd, &own);
	ib_rtr(h, &peer.gid, peer.qpn, peer.psn);
	ib_rts(h, own.psn, 0);
	post(h, n);
	for (int i = 0; i < 2; i++) {
		wc = wait_wc(h->cq, "message");
		require(wc.status == IBV_WC_SUCCESS, "round %d: WR %d: %s", n, (int)wc.wr_id,
			ibv_wc_status_str(wc.status));
	}
	require(h->buf[LEN] == (uint8_t)n && h->buf[2 * LEN - 1] == (uint8_t)n, "round %d", n);
	expect_no_wc(h->cq, 0, "a message more");
	swap(fd, &own);
	ib_reset(h);
}

int main(int argc, char **argv)
{
	struct hand h;
	int fd;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: crossing ADDR ROUNDS PORT [SERVER]\n");
		return 2;
	}
	test_addr = argv[1];
	deadline_set(env_uint("CROSSING_TIMEOUT", 170), NULL);
	ib_find_gid();
	hand_qp(&h);
	fd = meet(argc == 5 ? argv[4] : argv[1], argv[3], argc == 4);
	for (int n = 0; n < atoi(argv[2]); n++)
		one_round(&h, fd, n);
	hand_qp_end(&h);
	close(fd);
	return 0;
}
