// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * exchange: two programs that swap a greeting over RDMA, and GID and QP number before over a
 * TCP socket of their own. Nothing but libibverbs; the same program runs over InfiniBand and
 * RoCE. Over srnic the policy ib_port of both devices is set.
 *
 *	cc -o exchange exchange.c -libverbs
 *	exchange DEVICE GID-INDEX TCP-PORT		the server
 *	exchange DEVICE GID-INDEX TCP-PORT ADDRESS	the client, which connects to it
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#define SIZE	64
#define PSN	0x123

/* What each end tells the other: in the order of this host, for hosts of one kind */
struct address {
	union ibv_gid gid;
	uint32_t qpn;
	uint32_t psn;
};

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

/* Steps 1 to 3: a device by its name */
static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;

	check(list != NULL, "ibv_get_device_list");
	for (int i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	check(ctx != NULL, "ibv_open_device");
	ibv_free_device_list(list);
	return ctx;
}

/* A socket to the other program */
static int meet(const char *port, const char *server)
{
	struct addrinfo hints = { .ai_flags = server ? 0 : AI_PASSIVE,
				  .ai_socktype = SOCK_STREAM }, *ai;
	int fd, one = 1, listener;

	check(!getaddrinfo(server, port, &hints, &ai), "getaddrinfo");
	fd = socket(ai->ai_family, SOCK_STREAM, 0);
	check(fd >= 0, "socket");
	if (server) {
		check(!connect(fd, ai->ai_addr, ai->ai_addrlen), "connect");
	} else {
		listener = fd;
		setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		check(!bind(listener, ai->ai_addr, ai->ai_addrlen), "bind");
		check(!listen(listener, 1), "listen");
		fd = accept(listener, NULL, NULL);
		check(fd >= 0, "accept");
		close(listener);
	}
	freeaddrinfo(ai);
	return fd;
}

/* Step 10: from RESET to INIT */
static void to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS), "INIT");
}

/* Step 13: the other end is known now, and may send */
static void to_rtr(struct ibv_qp *qp, const struct address *peer, int gid_index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .dgid = peer->gid, .sgid_index = gid_index, .hop_limit = 64 },
		},
	};

	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER), "RTR");
}

/* Step 14: and so may this one. It need not wait for the other to be as far. */
static void to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.sq_psn = PSN, .max_rd_atomic = 1,
	};

	check(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

/* Steps 11 and 15 to 17: a receive is posted before the other end can send */
static void post_receive(struct ibv_qp *qp, struct ibv_mr *mr, char *buf)
{
	struct ibv_sge sge = { (uintptr_t)buf, SIZE, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	check(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

static void greet(struct ibv_qp *qp, struct ibv_mr *mr, char *buf)
{
	struct ibv_sge sge = { (uintptr_t)buf, SIZE, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	check(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	for (int done = 0; done < 2;) {
		int n = ibv_poll_cq(qp->send_cq, 1, &wc);

		check(n >= 0, "ibv_poll_cq");
		if (!n)
			continue;
		if (wc.status != IBV_WC_SUCCESS) {
			fprintf(stderr, "WR %d: %s\n", (int)wc.wr_id, ibv_wc_status_str(wc.status));
			exit(1);
		}
		done++;
	}
}

int main(int argc, char **argv)
{
	const char *server = argc == 5 ? argv[4] : NULL;
	static char buf[2 * SIZE];
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct address own = { .psn = PSN }, peer;
	struct ibv_context *ctx;
	struct ibv_port_attr port;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int fd, gid_index;
	char end;

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: exchange DEVICE GID-INDEX TCP-PORT [ADDRESS]\n");
		return 2;
	}
	gid_index = atoi(argv[2]);
	ctx = open_device(argv[1]);					/* 1, 2, 3 */
	check(!ibv_query_port(ctx, 1, &port) && port.state == IBV_PORT_ACTIVE, "port");	/* 4 */
	check(!ibv_query_gid(ctx, 1, gid_index, &own.gid), "GID");	/* 5 */
	pd = ibv_alloc_pd(ctx);						/* 6 */
	check(pd != NULL, "ibv_alloc_pd");
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);	/* 7 */
	check(mr != NULL, "ibv_reg_mr");
	cq = ibv_create_cq(ctx, 2, NULL, NULL, 0);			/* 8 */
	check(cq != NULL, "ibv_create_cq");
	init.send_cq = cq;
	init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);					/* 9 */
	check(qp != NULL, "ibv_create_qp");
	to_init(qp);							/* 10 */
	post_receive(qp, mr, buf + SIZE);				/* 11 */

	own.qpn = qp->qp_num;						/* 12 */
	fd = meet(argv[3], server);
	check(write(fd, &own, sizeof(own)) == sizeof(own), "write");
	check(recv(fd, &peer, sizeof(peer), MSG_WAITALL) == sizeof(peer), "recv");

	to_rtr(qp, &peer, gid_index);					/* 13 */
	to_rts(qp);							/* 14 */
	snprintf(buf, SIZE, "greetings from the %s", server ? "client" : "server");
	greet(qp, mr, buf);						/* 15, 16 */
	puts(buf + SIZE);						/* 17 */

	/* an end that leaves takes the connection away: both have what they wanted */
	check(write(fd, "", 1) == 1 && read(fd, &end, 1) == 1, "end");
	close(fd);
	check(!ibv_destroy_qp(qp), "ibv_destroy_qp");			/* 18 */
	check(!ibv_destroy_cq(cq) && !ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd), "end");	/* 19 */
	check(!ibv_close_device(ctx), "ibv_close_device");		/* 20 */
	return 0;
}
