// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* A peer that uses rdma_cm: to its device the turn is a normal connection. */
#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include "rnicpi.h"

#define BYTES	1000

static char room[BYTES], data[BYTES];

static struct rdma_cm_id *listen_cm(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP };
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 4, .max_recv_wr = 4,
						  .max_send_sge = 1, .max_recv_sge = 1 },
					 .sq_sig_all = 1 };
	struct rdma_addrinfo *ai;
	struct rdma_cm_id *id;

	require(!rdma_getaddrinfo(test_addr, "18521", &hints, &ai), "rdma_getaddrinfo");
	require(!rdma_create_ep(&id, ai, NULL, &attr) && !rdma_listen(id, 4), "listen");
	rdma_freeaddrinfo(ai);
	return id;
}

static void connect_to(struct end *e)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(18521) };

	require(inet_aton(test_addr, &addr.sin_addr), "%s", test_addr);
	e->fd = socket(AF_INET, SOCK_STREAM, 0);
	require(e->fd >= 0 && !connect(e->fd, (struct sockaddr *)&addr, sizeof(addr)), "connect");
}

static void say(struct rdma_cm_id *id, struct ibv_mr *mr_data)
{
	struct ibv_wc wc;

	require(rdma_get_recv_comp(id, &wc) == 1 && !wc.status && wc.byte_len == BYTES &&
		room[0] == 3 && room[BYTES - 1] == 3, "what a has sent: status %d", wc.status);
	memset(data, 4, BYTES);
	require(!rdma_post_send(id, NULL, data, BYTES, mr_data, 0) &&
		rdma_get_send_comp(id, &wc) == 1 && !wc.status, "send: status %d", wc.status);
}

static void one_round(struct rdma_cm_id *listener)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct ibv_mr *mr_room, *mr_data;
	struct rdma_cm_id *id;

	connect_to(&a);
	turn_ask(&a, false, true);
	require(!rdma_get_request(listener, &id), "a request");
	mr_room = rdma_reg_msgs(id, room, BYTES);
	mr_data = rdma_reg_msgs(id, data, BYTES);
	require(mr_room && mr_data && !rdma_post_recv(id, NULL, room, BYTES, mr_room), "a receive");
	param.private_data = "abc";
	param.private_data_len = 3;
	require(!rdma_accept(id, &param), "accept");
	turn_finish(&a, false, true);
	memset(a.buf, 3, BYTES);
	post_recv(&a, 2, 4096, BYTES);
	post_send(&a, 1, 0, BYTES);
	take(&a, a.scq, 1, RI_WC_TYPE_SEND, RI_WC_STATUS_SUCCESS);
	say(id, mr_data);
	take(&a, a.rcq, 2, RI_WC_TYPE_DATA_RECEIVED, RI_WC_STATUS_SUCCESS);
	require(a.buf[4096] == 4 && a.buf[4096 + BYTES - 1] == 4, "data");
	set_state(&a, RI_QP_STATE_CLOSING, RI_RET_SUCCESS);
	require_state(&a, RI_QP_STATE_IDLE);
	rdma_disconnect(id);
	rdma_dereg_mr(mr_room);
	rdma_dereg_mr(mr_data);
	rdma_destroy_ep(id);
	close(a.fd);
}

/* The peer's driver makes the Reply (RFC 5044 7.1) */
void to_cm(void)
{
	struct rdma_cm_id *listener = listen_cm();
	unsigned int i, rounds = env_uint("RNICPI_ROUNDS", 5);

	open_end(&a);
	for (i = 0; i < rounds; i++)
		one_round(listener);
	a.fd = -1;
	close_end(&a);
	rdma_destroy_ep(listener);
}
