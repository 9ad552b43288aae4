// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Sockets that are handed to QPs. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "handfd.h"
#include "method.h"

/* 0 or an errno */
int hand_over_raw(struct ibv_qp *qp, int fd, const void *req, size_t req_len, const void *msg,
		  size_t msg_len)
{
	struct method_call cmd = {
		.hdr = METHOD_HDR(UVERBS_OBJECT_QP, SRNIC_METHOD_QP_MODIFY, msg ? 4 : 3),
		.attr = {
			ATTR_NUMBER(SRNIC_ATTR_QP_MODIFY_QP, qp->handle),
			ATTR_BYTES(SRNIC_ATTR_QP_MODIFY_REQ, req, req_len),
			ATTR_NUMBER(SRNIC_ATTR_QP_MODIFY_STREAM_FD, fd),
			ATTR_BYTES(SRNIC_ATTR_QP_MODIFY_LAST_MSG, msg, msg_len),
		},
	};

	if (req_len <= sizeof(cmd.attr[1].data))
		memcpy(&cmd.attr[1].data, req, req_len);
	if (msg && msg_len <= sizeof(cmd.attr[3].data))
		memcpy(&cmd.attr[3].data, msg, msg_len);
	return call_method(qp->context, &cmd);
}

int hand_over(struct hand *h, uint32_t flags, const void *msg, size_t len)
{
	struct srnic_ureq_qp_modify req = HAND_RTS(flags);

	return hand_over_raw(h->qp, h->fd, &req, sizeof(req), msg, len);
}

/* Another QP, with the PD and CQ of the first one */
void hand_another_qp(struct hand *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = ACCESS_ALL };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
					 .send_cq = h->cq, .recv_cq = h->cq,
					 .cap = DEFAULT_CAP };

	h->qp = ibv_create_qp(h->pd, &init);
	require(h->qp, "%s", strerror(errno));
	require(!ibv_modify_qp(h->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_ACCESS_FLAGS), "%s", strerror(errno));
}

/* A QP of the device @ctx */
void hand_qp_of(struct hand *h, struct ibv_context *ctx)
{
	h->pd = ibv_alloc_pd(ctx);
	h->cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	require(h->pd && h->cq, "%s", strerror(errno));
	hand_another_qp(h);
	h->buf = calloc(1, BUF_SIZE);
	h->mr = ibv_reg_mr(h->pd, h->buf, BUF_SIZE, ACCESS_ALL);
	require(h->mr, "%s", strerror(errno));
}

void hand_qp(struct hand *h)
{
	hand_qp_of(h, test_context());
}

void hand_qp_end(struct hand *h)
{
	require(!ibv_destroy_qp(h->qp) && !ibv_destroy_cq(h->cq) && !ibv_dereg_mr(h->mr) &&
		!ibv_dealloc_pd(h->pd), "%s", strerror(errno));
	free(h->buf);
}

/* Two ends of a TCP connection from @addr to itself */
void hand_sockets(const char *addr, int *a, int *b)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int listener;

	resolve(addr, 0, &name);
	listener = socket(name.ss_family, SOCK_STREAM, 0);
	*a = socket(name.ss_family, SOCK_STREAM, 0);
	require(listener >= 0 && *a >= 0, "%s", strerror(errno));
	require(!bind(listener, (struct sockaddr *)&name, len) && !listen(listener, 1) &&
		!getsockname(listener, (struct sockaddr *)&name, &len) &&
		!connect(*a, (struct sockaddr *)&name, len), "%s", strerror(errno));
	*b = accept(listener, NULL, NULL);
	require(*b >= 0, "%s", strerror(errno));
	close(listener);
}

/* Two ends of a TCP conversation, each with a QP to which its socket may be handed */
void hand_open(struct hand *a, struct hand *b, const char *addr)
{
	hand_sockets(addr, &a->fd, &b->fd);
	hand_qp(a);
	hand_qp(b);
}

void hand_close(struct hand *a, struct hand *b)
{
	hand_qp_end(a);
	hand_qp_end(b);
	close(a->fd);
	close(b->fd);
}

/* At most as much as a socket's buffers take without a reader */
void hand_say(int from, int to, const void *data, size_t len)
{
	uint8_t got[1024];

	for (size_t done = 0; done < len;) {
		size_t n = len - done < sizeof(got) ? len - done : sizeof(got);

		require(send(from, data + done, n, MSG_NOSIGNAL) == (ssize_t)n, "%s",
			strerror(errno));
		require(recv(to, got, n, MSG_WAITALL) == (ssize_t)n, "%s", strerror(errno));
		require(!memcmp(got, data + done, n), "at %zu", done);
		done += n;
	}
}

static void is_sealed(long ret, const char *call)
{
	require(ret < 0 && errno == EOPNOTSUPP, "%s: %ld, %s", call, ret, strerror(errno));
}

#define SEALED(call) is_sealed((errno = 0, call), #call)

static void sealed_options(int fd)
{
	int val = AF_INET;
	socklen_t len = sizeof(val);

	SEALED(setsockopt(fd, IPPROTO_IPV6, IPV6_ADDRFORM, &val, sizeof(val)));
	val = 1;
	SEALED(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &val, sizeof(val)));
	SEALED(setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", 3));
	SEALED(setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &val, sizeof(val)));
	SEALED(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &val, &len));
}

static void sealed_pipe(int fd)
{
	int pipes[2];

	require(!pipe(pipes) && write(pipes[1], "x", 1) == 1, "%s", strerror(errno));
	SEALED(splice(fd, NULL, pipes[1], NULL, 100, SPLICE_F_NONBLOCK));
	SEALED(splice(pipes[0], NULL, fd, NULL, 1, SPLICE_F_NONBLOCK));
	close(pipes[0]);
	close(pipes[1]);
}

static void shows_info(int fd)
{
	char name[64], text[4096];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	file = fopen(name, "r");
	require(file && fread(text, 1, sizeof(text), file) > 0, "%s: %s", name, strerror(errno));
	fclose(file);
}

/* A QP's socket refuses calls, as Documentation/uapi.rst lists them */
void hand_sealed(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	struct sockaddr_storage name;
	struct sockaddr *addr = (struct sockaddr *)&name;
	socklen_t len = sizeof(name);
	char c = 0;
	int n;

	require(!getsockname(fd, addr, &len), "%s", strerror(errno));
	SEALED(recv(fd, &c, 1, MSG_DONTWAIT));
	SEALED(read(fd, &c, 1));
	SEALED(send(fd, &c, 1, MSG_NOSIGNAL));
	SEALED(write(fd, &c, 1));
	SEALED(shutdown(fd, SHUT_RDWR));
	SEALED(bind(fd, addr, len));
	SEALED(listen(fd, 1));
	SEALED(accept(fd, NULL, NULL));
	SEALED(ioctl(fd, FIONREAD, &n));
	SEALED(connect(fd, addr, len));
	addr->sa_family = AF_UNSPEC;
	SEALED(connect(fd, addr, len));
	sealed_options(fd);
	sealed_pipe(fd);
	shows_info(fd);
	require(poll(&p, 1, 0) == 1 && p.revents == (POLLERR | POLLHUP), "%x", p.revents);
}

void hand_sockets_work(int a, int b, const char *when)
{
	char got[6];

	for (int i = 0; i < 2; i++) {
		int from = i ? b : a, to = i ? a : b;

		require(send(from, "hello", 6, MSG_NOSIGNAL) == 6, "%s: %s", when,
			strerror(errno));
		require(recv(to, got, 6, MSG_WAITALL) == 6 && !memcmp(got, "hello", 6),
			"%s: %s", when, strerror(errno));
	}
}

static struct ibv_sge piece(struct hand *h, uint32_t off, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)h->buf + off, len, h->mr->lkey };
}

static void post_recv(struct hand *h, uint32_t len)
{
	struct ibv_sge sge = piece(h, BUF_SIZE / 2, len);
	struct ibv_recv_wr wr = { .wr_id = 100, .sg_list = &sge, .num_sge = 1 }, *bad;

	require(!ibv_post_recv(h->qp, &wr, &bad), "recv");
}

static void post_send(struct hand *h, struct hand *peer, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_sge sge = piece(h, op == IBV_WR_RDMA_READ ? BUF_SIZE / 2 : 0, len);
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = op }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)peer->buf + (op == IBV_WR_RDMA_READ ? 0 : BUF_SIZE / 2);
	wr.wr.rdma.rkey = peer->mr->rkey;
	require(!ibv_post_send(h->qp, &wr, &bad), "send");
}

static void one_way(struct hand *from, struct hand *to, enum ibv_wr_opcode op, uint32_t len)
{
	struct hand *sink = op == IBV_WR_RDMA_READ ? from : to;
	struct hand *source = op == IBV_WR_RDMA_READ ? to : from;
	static uint8_t salt;

	memset(sink->buf + BUF_SIZE / 2, 0, len);
	salt++;
	for (uint32_t i = 0; i < len; i++)
		source->buf[i] = i * 7 + salt;
	if (op == IBV_WR_SEND)
		post_recv(to, len);
	post_send(from, to, op, len);
	expect_wc(from->cq, 1, IBV_WC_SUCCESS, "sender");
	if (op == IBV_WR_SEND)
		expect_wc(to->cq, 100, IBV_WC_SUCCESS, "receiver");
	else if (op == IBV_WR_RDMA_WRITE)	/* it is there when a later message is */
		one_way(from, to, IBV_WR_RDMA_READ, 1);
	require(!memcmp(sink->buf + BUF_SIZE / 2, source->buf, len), "opcode %d", op);
}

/* @a sends first. Each kind of message of @len bytes, both ways */
void hand_exchange(struct hand *a, struct hand *b, uint32_t len)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		one_way(a, b, ops[i], len);
		one_way(b, a, ops[i], len);
	}
}
