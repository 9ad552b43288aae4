// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * handover: TCP conversations that turn into RDMA in the middle.
 *
 *	handover --list			names of the cases
 *	handover ADDR CASE		run one, over the device that has address ADDR
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>
#include "handcm.h"
#include "handfd.h"
#include "handtun.h"

/* In place of MPA's Request and Reply, which the program exchanges itself */
static const char request[] = "let us go on by RDMA", reply[] = "so be it";

static uint8_t *words(size_t len)
{
	uint8_t *data = malloc(len + 1);

	for (size_t i = 0; i < len; i++)
		data[i] = i * 13 + len;
	return data;
}

/* The usual way: the Request is streamed, the Reply is the last message */
static void turn(struct hand *a, struct hand *b, uint32_t a_flags, uint32_t b_flags)
{
	char got[sizeof(reply)];
	int err;

	hand_say(a->fd, b->fd, request, sizeof(request));
	err = hand_over(b, b_flags | SRNIC_QP_MODIFY_RESPONDER, reply, sizeof(reply));
	require(!err, "responder: %s", strerror(err));
	require(recv(a->fd, got, sizeof(got), MSG_WAITALL) == sizeof(got) &&
		!memcmp(got, reply, sizeof(got)), "the last message: %s", strerror(errno));
	err = hand_over(a, a_flags, NULL, 0);
	require(!err, "initiator: %s", strerror(err));
}

static void conversation(const char *addr, size_t len, uint32_t a_flags, uint32_t b_flags)
{
	uint8_t *data = words(len);
	struct hand a, b;

	hand_open(&a, &b, addr);
	hand_say(a.fd, b.fd, data, len);
	hand_say(b.fd, a.fd, data, len);
	turn(&a, &b, a_flags, b_flags);
	hand_exchange(&a, &b, 1);
	hand_exchange(&a, &b, 20000);
	hand_close(&a, &b);
	free(data);
}

static void each_length(uint32_t a_flags, uint32_t b_flags)
{
	static const size_t len[] = { 0, 1, 1000, 65536 };

	for (size_t i = 0; i < ARRAY_SIZE(len); i++)
		conversation(test_addr, len[i], a_flags, b_flags);
}

static void case_turn(void)
{
	each_length(SRNIC_QP_MODIFY_CRC, SRNIC_QP_MODIFY_CRC);
}

static void each_marker(uint32_t crc)
{
	for (unsigned int i = 1; i < 4; i++) {
		uint32_t to_b = i & 1, to_a = i & 2;

		each_length(crc | (to_b ? SRNIC_QP_MODIFY_TX_MARKERS : 0) |
			    (to_a ? SRNIC_QP_MODIFY_RX_MARKERS : 0),
			    crc | (to_a ? SRNIC_QP_MODIFY_TX_MARKERS : 0) |
			    (to_b ? SRNIC_QP_MODIFY_RX_MARKERS : 0));
	}
}

static void case_markers(void)
{
	each_marker(SRNIC_QP_MODIFY_CRC);
}

/* For the script, which changes the policy */
static void case_no_crc(void)
{
	each_length(0, 0);
	each_marker(0);
}

static void case_mapped(void)
{
	char addr[64];

	snprintf(addr, sizeof(addr), "::ffff:%s", test_addr);
	conversation(addr, 1000, SRNIC_QP_MODIFY_CRC, SRNIC_QP_MODIFY_CRC);
}

static void case_many(void)
{
	for (unsigned int i = 0; i < 100; i++)
		conversation(test_addr, i * 661 % 65536, SRNIC_QP_MODIFY_CRC,
			     SRNIC_QP_MODIFY_CRC);
}

/* FPDUs wait in the socket of an end that is not handed over yet */
static void case_early(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;
	struct hand a, b;
	int err;

	hand_open(&a, &b, test_addr);
	hand_say(a.fd, b.fd, request, sizeof(request));
	hand_say(b.fd, a.fd, reply, sizeof(reply));
	require(!hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0), "initiator");
	for (unsigned int i = 0; i < 10; i++) {
		memset(a.buf + i * 3000, i + 1, 3000);
		sge = (struct ibv_sge){ (uintptr_t)a.buf + i * 3000, 3000, a.mr->lkey };
		require(!ibv_post_send(a.qp, &wr, &bad), "send %u", i);
	}
	for (unsigned int i = 0; i < 10; i++)
		expect_wc(a.cq, 1, IBV_WC_SUCCESS, "sent before the other end has turned");
	for (unsigned int i = 0; i < 10; i++) {
		struct ibv_recv_wr rwr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *rbad;

		sge = (struct ibv_sge){ (uintptr_t)b.buf + i * 3000, 3000, b.mr->lkey };
		require(!ibv_post_recv(b.qp, &rwr, &rbad), "receive %u", i);
	}
	err = hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0);
	require(!err, "responder: %s", strerror(err));
	for (unsigned int i = 0; i < 10; i++)
		expect_wc(b.cq, i, IBV_WC_SUCCESS, "received after the turn");
	require(!memcmp(a.buf, b.buf, 30000), "in order");
	hand_exchange(&a, &b, 100);
	hand_close(&a, &b);
}

/* The responder's WRs wait for the first FPDU of its peer */
static void case_waits(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *rbad;
	struct hand a, b;
	char got[sizeof(reply) + 1];

	hand_open(&a, &b, test_addr);
	sge = (struct ibv_sge){ (uintptr_t)b.buf, 100, b.mr->lkey };
	require(!ibv_post_send(b.qp, &wr, &bad), "post");
	require(!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, reply,
			   sizeof(reply)), "responder");
	usleep(200000);
	require(recv(a.fd, got, sizeof(got), MSG_PEEK) == sizeof(reply),
		"something follows the last message");
	require(recv(a.fd, got, sizeof(reply), 0) == sizeof(reply), "reply");
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 100, a.mr->lkey };
	require(!ibv_post_recv(a.qp, &rwr, &rbad), "receive");
	require(!hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0), "initiator");
	sge = (struct ibv_sge){ (uintptr_t)b.buf, 100, b.mr->lkey };
	rwr.wr_id = 3;
	require(!ibv_post_recv(b.qp, &rwr, &rbad), "receive");
	expect_no_wc(b.cq, 200, "sent before the peer has");
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 100, a.mr->lkey };
	require(!ibv_post_send(a.qp, &wr, &bad), "send");
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "the first FPDU");
	expect_wc(a.cq, 2, IBV_WC_SUCCESS, "what waited for it");
	hand_close(&a, &b);
}

/* For the script, which changes the policy */
static void case_late_receive(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *rbad;
	struct hand a, b;

	hand_open(&a, &b, test_addr);
	turn(&a, &b, SRNIC_QP_MODIFY_CRC, SRNIC_QP_MODIFY_CRC);
	sge = (struct ibv_sge){ (uintptr_t)a.buf, 100, a.mr->lkey };
	require(!ibv_post_send(a.qp, &wr, &bad), "send");
	expect_wc(a.cq, 1, IBV_WC_SUCCESS, "a Send for which there is no receive");
	usleep(300000);
	sge = (struct ibv_sge){ (uintptr_t)b.buf, 100, b.mr->lkey };
	require(!ibv_post_recv(b.qp, &rwr, &rbad), "receive");
	expect_wc(b.cq, 2, IBV_WC_SUCCESS, "the receive that it waited for");
	hand_exchange(&a, &b, 100);
	hand_close(&a, &b);
}

static void case_sealed(void)
{
	struct hand a, b;
	int one = 1;

	hand_open(&a, &b, test_addr);
	/* socket options that would delay data */
	require(!setsockopt(a.fd, IPPROTO_TCP, TCP_CORK, &one, sizeof(one)), "%s",
		strerror(errno));
	one = 10000;
	require(!setsockopt(b.fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one)), "%s",
		strerror(errno));
	require(!hand_over(&b, SRNIC_QP_MODIFY_CRC | SRNIC_QP_MODIFY_RESPONDER, NULL, 0) &&
		!hand_over(&a, SRNIC_QP_MODIFY_CRC, NULL, 0), "handing over");
	hand_sealed(a.fd);
	hand_sealed(b.fd);
	hand_exchange(&a, &b, 100);
	close(a.fd);
	hand_exchange(&a, &b, 3000);
	a.fd = -1;
	/* the peer ends the stream: afterwards the program cannot read the socket, either */
	hand_qp_end(&a);
	usleep(200000);
	hand_sealed(b.fd);
	hand_qp_end(&b);
	hand_sealed(b.fd);
	close(b.fd);
}

/* The stream ends by Modify QP, and the same QP gets another socket */
static void case_again(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct hand a, b;
	int err;

	hand_open(&a, &b, test_addr);
	for (unsigned int i = 0; i < 3; i++) {
		if (i)
			hand_sockets(test_addr, &a.fd, &b.fd);
		turn(&a, &b, SRNIC_QP_MODIFY_CRC, SRNIC_QP_MODIFY_CRC);
		hand_exchange(&a, &b, 1000);
		attr.qp_state = IBV_QPS_SQD;
		err = ibv_modify_qp(a.qp, &attr, IBV_QP_STATE);
		require(!err, "closing: %s", strerror(err));
		close(a.fd);
		close(b.fd);
		for (unsigned int n = 0; n < 2; n++) {
			struct ibv_qp *qp = n ? b.qp : a.qp;
			uint64_t end = now_ms() + 20000;
			struct ibv_qp_init_attr init;

			do {
				require(now_ms() < end, "it does not come to Idle");
				usleep(1000);
				require(!ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), "query");
			} while (attr.qp_state != IBV_QPS_INIT && attr.qp_state != IBV_QPS_RESET);
		}
	}
	hand_close(&a, &b);
}

static const struct test_case cases[] = {
	{ "turn", case_turn, "a conversation of 0 to 64 KiB turns into RDMA" },
	{ "markers", case_markers, "with markers, one way and both" },
	{ "mapped", case_mapped, "a socket of IPv6 that is connected by IPv4" },
	{ "early", case_early, "FPDUs that come before the turn are taken up in order" },
	{ "waits", case_waits, "a responder sends the last message, and nothing before its peer" },
	{ "to-cm", case_to_cm, "a program that connects to a server of rdma_cm" },
	{ "from-cm", case_from_cm, "a client of rdma_cm that connects to a program" },
	{ "sealed", case_sealed, "what a program can do with its socket afterwards" },
	{ "again", case_again, "a QP is closed, and gets another socket" },
	{ "many", case_many, "100 conversations, one after the other" },
	{ "no-crc", case_no_crc, "" },
	{ "late-receive", case_late_receive, "" },
	{ "tunnel", case_tunnel, "" },
};

static const struct test_program prog = {
	.usage = "handover --list | handover ADDR CASE",
	.timeout_env = "HANDOVER_TIMEOUT",
	.timeout = 120,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
