// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* handover: the program does MPA's start-up itself, and its peer uses rdma_cm. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "handcm.h"
#include "handfd.h"

/* RFC 5044 7.1.1, RFC 6581 4: flags and bits of the enhanced data */
#define MPA_C		0x40
#define MPA_S		0x10
#define MPA_A		0x8000	/* of IRD: peer-to-peer */
#define MPA_RTR_WRITE	0x8000	/* of ORD */

struct mpa_frame {
	char key[16];
	uint8_t flags;
	uint8_t rev;
	uint16_t pd_len;
	uint16_t ird;
	uint16_t ord;
};

#define MPA_HELLO	20	/* bytes without private data */

static void read_all(int fd, void *buf, size_t len)
{
	require(recv(fd, buf, len, MSG_WAITALL) == (ssize_t)len, "%s", strerror(errno));
}

static int listen_tcp(uint16_t *port)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	int fd;

	resolve(test_addr, 0, &addr);
	fd = socket(addr.ss_family, SOCK_STREAM, 0);
	require(fd >= 0 && !bind(fd, (struct sockaddr *)&addr, len) && !listen(fd, 1) &&
		!getsockname(fd, (struct sockaddr *)&addr, &len), "%s", strerror(errno));
	*port = ntohs(((struct sockaddr_in *)&addr)->sin_port);
	return fd;
}

static int connect_tcp(uint16_t port)
{
	struct sockaddr_storage addr;
	int fd;

	resolve(test_addr, port, &addr);
	fd = socket(addr.ss_family, SOCK_STREAM, 0);
	require(fd >= 0 && !connect(fd, (struct sockaddr *)&addr, sizeof(addr)), "%s",
		strerror(errno));
	return fd;
}

static void message(struct ibv_qp *from, struct ibv_cq *from_cq, struct ibv_sge *data,
		    struct ibv_qp *to, struct ibv_cq *to_cq, struct ibv_sge *room)
{
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = data, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_recv_wr rwr = { .wr_id = 2, .sg_list = room, .num_sge = 1 }, *rbad;

	memset((void *)(uintptr_t)data->addr, 0x77, data->length);
	memset((void *)(uintptr_t)room->addr, 0, room->length);
	require(!ibv_post_recv(to, &rwr, &rbad) && !ibv_post_send(from, &wr, &bad), "post");
	expect_wc(from_cq, 1, IBV_WC_SUCCESS, "send");
	expect_wc(to_cq, 2, IBV_WC_SUCCESS, "receive");
	require(!memcmp((void *)(uintptr_t)data->addr, (void *)(uintptr_t)room->addr,
			data->length), "data");
}

/* The hand or the end sends first */
static void talk(struct hand *h, struct end *e, bool hand_first)
{
	struct ibv_sge ours = { (uintptr_t)h->buf, 3000, h->mr->lkey };
	struct ibv_sge theirs = sge_of(e, 0, 3000);

	for (unsigned int i = 0; i < 10; i++) {
		if (i || hand_first)
			message(h->qp, h->cq, &ours, e->qp, e->rcq, &theirs);
		message(e->qp, e->scq, &theirs, h->qp, h->cq, &ours);
	}
}

static void end_of(struct end *e)
{
	rdma_disconnect(e->id);
	rdma_destroy_qp(e->id);
	require(!ibv_dereg_mr(e->mr) && !ibv_destroy_cq(e->scq) && !ibv_destroy_cq(e->rcq) &&
		!ibv_destroy_comp_channel(e->rch) && !ibv_dealloc_pd(e->pd), "%s",
		strerror(errno));
	require(!rdma_destroy_id(e->id), "%s", strerror(errno));
}

/* The program connects to a server of rdma_cm. Revision 1: no peer-to-peer set-up */
void case_to_cm(void)
{
	struct mpa_frame req = { .key = "MPA ID Req Frame", .flags = MPA_C, .rev = 1 }, rep;
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct rdma_cm_id *listener;
	struct rdma_cm_event *ev;
	struct sockaddr_storage addr;
	struct end server = { .cm = cm_channel(false) };
	struct hand h;

	resolve(test_addr, 0, &addr);
	require(!rdma_create_id(server.cm, &listener, NULL, RDMA_PS_TCP) &&
		!rdma_bind_addr(listener, (struct sockaddr *)&addr) && !rdma_listen(listener, 1),
		"%s", strerror(errno));
	h.fd = connect_tcp(ntohs(rdma_get_src_port(listener)));
	hand_qp(&h);
	require(send(h.fd, &req, MPA_HELLO, 0) == MPA_HELLO, "%s", strerror(errno));
	cm_expect(server.cm, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	end_init(&server, ev->id, &cap);
	require(!rdma_accept(ev->id, &param), "%s", strerror(errno));
	rdma_ack_cm_event(ev);
	cm_expect(server.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);
	read_all(h.fd, &rep, MPA_HELLO);
	require(!memcmp(rep.key, "MPA ID Rep Frame", 16) && rep.flags == MPA_C && rep.rev == 1 &&
		!rep.pd_len, "the Reply: flags %x, revision %u", rep.flags, rep.rev);
	require(!hand_over(&h, SRNIC_QP_MODIFY_CRC, NULL, 0), "handing over");
	talk(&h, &server, true);
	hand_qp_end(&h);
	end_of(&server);
	rdma_destroy_id(listener);
	close(h.fd);
}

/* A client of rdma_cm connects to the program. Revision 2: its RTR is an empty Write */
void case_from_cm(void)
{
	struct mpa_frame rep = { .key = "MPA ID Rep Frame", .flags = MPA_C | MPA_S, .rev = 2,
				 .pd_len = htons(4), .ird = htons(MPA_A | 4),
				 .ord = htons(MPA_RTR_WRITE | 4) }, req;
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct ibv_qp_cap cap = DEFAULT_CAP;
	struct sockaddr_storage addr;
	struct end client = { .cm = cm_channel(false) };
	struct rdma_cm_id *id;
	struct hand h;
	uint16_t port;
	int listener = listen_tcp(&port), err;

	resolve(test_addr, port, &addr);
	require(!rdma_create_id(client.cm, &id, NULL, RDMA_PS_TCP) &&
		!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 20000), "%s",
		strerror(errno));
	cm_expect(client.cm, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	require(!rdma_resolve_route(id, 20000), "%s", strerror(errno));
	cm_expect(client.cm, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	end_init(&client, id, &cap);
	require(!rdma_connect(id, &param), "%s", strerror(errno));
	h.fd = accept(listener, NULL, NULL);
	hand_qp(&h);
	read_all(h.fd, &req, sizeof(req));
	require(!memcmp(req.key, "MPA ID Req Frame", 16) && req.rev == 2 &&
		req.pd_len == htons(4) && req.flags == rep.flags, "the Request: flags %x",
		req.flags);
	err = hand_over(&h, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, &rep, sizeof(rep));
	require(!err, "%s", strerror(err));
	cm_expect(client.cm, RDMA_CM_EVENT_ESTABLISHED, NULL);
	talk(&h, &client, false);
	hand_qp_end(&h);
	end_of(&client);
	close(h.fd);
	close(listener);
}
