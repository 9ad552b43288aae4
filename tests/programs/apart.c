// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * apart: each kind of message once, between two machines that may have different byte orders. Both
 * know what bytes must be where; numbers are numbers to each of them.
 *
 *	apart --server ADDR		on one host
 *	apart --client ADDR		on the other
 *
 * The client does all, and the server looks at what it got when a last message tells it to.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common.h"
#include "pattern.h"

#define PORT		7476
#define BUF_SIZE	65536
#define LIMIT		40

/* In the server's buffer; the client has the same length at the same place */
#define WORDS		0	/* for atomics: three of 64 bits, and only the middle one is used */
#define RECEIVED	64
#define SEND_LENGTH	3001
#define WRITTEN		8192
#define WRITE_LENGTH	5003
#define WRITTEN_IMM	16384
#define IMM_LENGTH	1429
#define SOURCE		32768
#define READ_LENGTH	20011

#define KEY_SEND	1
#define KEY_WRITE	2
#define KEY_IMM		3
#define KEY_SOURCE	4

/* No byte of these is another one's mirror image */
#define IMM		0x01020384u
#define FIRST		0x1122334455667789ULL
#define ADDEND		0x01020304050607f8ULL
#define SUM		0x122436485a6c7f81ULL
#define SWAPPED		0xfedcba9876543211ULL
#define NEIGHBOUR	0xa5a5a5a55a5a5a5aULL

/* Private data of the server's answer */
struct place {
	uint64_t addr;
	uint32_t rkey;
} __attribute__((packed));

static struct rdma_cm_id *id;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t buf[BUF_SIZE] __attribute__((aligned(4096)));
static struct place there;

static void open_qp(void)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	require(pd, "ibv_alloc_pd: %s", strerror(errno));
	cq = ibv_create_cq(id->verbs, 32, NULL, NULL, 0);
	require(cq, "ibv_create_cq: %s", strerror(errno));
	attr.send_cq = cq;
	attr.recv_cq = cq;
	require(!rdma_create_qp(id, pd, &attr), "rdma_create_qp: %s", strerror(errno));
	mr = ibv_reg_mr(pd, buf, BUF_SIZE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	require(mr, "ibv_reg_mr: %s", strerror(errno));
}

static struct ibv_wc complete(void)
{
	struct ibv_wc wc;
	int n;

	do
		n = ibv_poll_cq(cq, 1, &wc);
	while (!n);
	require(n == 1, "ibv_poll_cq: %d", n);
	require(wc.status == IBV_WC_SUCCESS, "WR %d: %s", (int)wc.wr_id, ibv_wc_status_str(wc.status));
	return wc;
}

static void expect_pattern(uint64_t key, uint32_t at, uint32_t len, const char *what)
{
	size_t where;
	uint8_t want;

	require(pattern_matches(buf + at, key, 0, len, &where, &want), "%s, byte %zu: %#x, not %#x",
		what, where, buf[at + where], want);
	require(buf[at + len] == GUARD_BYTE, "%s: beyond the end", what);
}

static uint64_t word_at(uint32_t at)
{
	uint64_t word;

	memcpy(&word, buf + at, sizeof(word));
	return word;
}

static void set_word(uint32_t at, uint64_t word)
{
	memcpy(buf + at, &word, sizeof(word));
}

/* The server */

static void post_receive(unsigned int i, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)buf + RECEIVED, len, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	require(!ibv_post_recv(id->qp, &wr, &bad), "ibv_post_recv");
}

static void serve(struct rdma_event_channel *ch)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct place here;
	struct ibv_wc wc;

	memset(buf, GUARD_BYTE, BUF_SIZE);
	open_qp();
	set_word(WORDS, NEIGHBOUR);
	set_word(WORDS + 8, FIRST);
	set_word(WORDS + 16, NEIGHBOUR);
	pattern_fill(buf + SOURCE, KEY_SOURCE, 0, READ_LENGTH);
	post_receive(0, SEND_LENGTH);
	post_receive(1, 0);
	post_receive(2, 0);
	here.addr = htobe64((uintptr_t)buf);
	here.rkey = htobe32(mr->rkey);
	param.private_data = &here;
	param.private_data_len = sizeof(here);
	require(!rdma_accept(id, &param), "rdma_accept: %s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_ESTABLISHED, NULL);

	wc = complete();
	require(wc.wr_id == 0 && wc.opcode == IBV_WC_RECV && wc.byte_len == SEND_LENGTH,
		"WR %d, %u bytes", (int)wc.wr_id, wc.byte_len);
	expect_pattern(KEY_SEND, RECEIVED, SEND_LENGTH, "Send");
	wc = complete();
	require(wc.wr_id == 1 && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.byte_len == IMM_LENGTH,
		"WR %d, opcode %d, %u bytes", (int)wc.wr_id, wc.opcode, wc.byte_len);
	require(wc.wc_flags & IBV_WC_WITH_IMM && ntohl(wc.imm_data) == IMM, "immediate data %#x",
		ntohl(wc.imm_data));
	expect_pattern(KEY_IMM, WRITTEN_IMM, IMM_LENGTH, "Write with immediate data");
	/* which comes last, as immediate data and no more */
	wc = complete();
	require(wc.wr_id == 2 && ntohl(wc.imm_data) == ~IMM, "WR %d, %#x", (int)wc.wr_id,
		ntohl(wc.imm_data));
	expect_pattern(KEY_WRITE, WRITTEN, WRITE_LENGTH, "Write");
	require(word_at(WORDS + 8) == SWAPPED, "%#llx", (unsigned long long)word_at(WORDS + 8));
	require(word_at(WORDS) == NEIGHBOUR && word_at(WORDS + 16) == NEIGHBOUR, "beside an atomic");
	/* the client disconnects once it has been told so */
	cm_expect(ch, RDMA_CM_EVENT_DISCONNECTED, NULL);
}

static void server(const char *addr)
{
	struct rdma_event_channel *ch = cm_channel(false);
	struct rdma_cm_id *listener;
	struct sockaddr_storage at;
	struct rdma_cm_event *ev;

	resolve(addr, PORT, &at);
	require(!rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP), "rdma_create_id");
	require(!rdma_bind_addr(listener, (struct sockaddr *)&at), "rdma_bind_addr: %s",
		strerror(errno));
	require(!rdma_listen(listener, 1), "rdma_listen: %s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST, &ev);
	id = ev->id;
	rdma_ack_cm_event(ev);
	serve(ch);
}

/* The client */

static struct ibv_wc post(struct ibv_send_wr *wr, uint32_t at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)buf + at, len, mr->lkey };
	struct ibv_send_wr *bad;

	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags = IBV_SEND_SIGNALED;
	require(!ibv_post_send(id->qp, wr, &bad), "ibv_post_send: opcode %d", wr->opcode);
	return complete();
}

static void send_some(void)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	pattern_fill(buf + RECEIVED, KEY_SEND, 0, SEND_LENGTH);
	post(&wr, RECEIVED, SEND_LENGTH);
}

static void write_to(enum ibv_wr_opcode opcode, uint64_t key, uint32_t imm, uint32_t at, uint32_t len)
{
	struct ibv_send_wr wr = {
		.opcode = opcode, .imm_data = htonl(imm),
		.wr.rdma = { there.addr + at, there.rkey },
	};

	pattern_fill(buf + at, key, 0, len);
	post(&wr, at, len);
}

static void read_from(uint32_t at, uint32_t len)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_RDMA_READ, .wr.rdma = { there.addr + at, there.rkey },
	};

	memset(buf + at, GUARD_BYTE, len + 1);
	post(&wr, at, len);
	expect_pattern(KEY_SOURCE, at, len, "Read");
}

/* The original value of the server's word must be @was */
static void atomic(enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap, uint64_t was)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.wr.atomic = { there.addr + WORDS + 8, compare_add, swap, there.rkey },
	};

	post(&wr, WORDS + 8, 8);
	require(word_at(WORDS + 8) == was, "opcode %d: %#llx, not %#llx", opcode,
		(unsigned long long)word_at(WORDS + 8), (unsigned long long)was);
}

static void connect_to(struct rdma_event_channel *ch, const char *addr)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4 };
	struct sockaddr_storage at;
	struct rdma_cm_event *ev;
	struct place place;

	resolve(addr, PORT, &at);
	require(!rdma_create_id(ch, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	require(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, 5000), "rdma_resolve_addr");
	cm_expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	require(!rdma_resolve_route(id, 5000), "rdma_resolve_route");
	cm_expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	memset(buf, GUARD_BYTE, BUF_SIZE);
	open_qp();
	require(!rdma_connect(id, &param), "rdma_connect: %s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_ESTABLISHED, &ev);
	require(ev->param.conn.private_data_len >= sizeof(place), "%u bytes of private data",
		ev->param.conn.private_data_len);
	memcpy(&place, ev->param.conn.private_data, sizeof(place));
	rdma_ack_cm_event(ev);
	there.addr = be64toh(place.addr);
	there.rkey = be32toh(place.rkey);
}

static void client(const char *addr)
{
	struct rdma_event_channel *ch = cm_channel(false);

	connect_to(ch, addr);
	send_some();
	write_to(IBV_WR_RDMA_WRITE, KEY_WRITE, 0, WRITTEN, WRITE_LENGTH);
	write_to(IBV_WR_RDMA_WRITE_WITH_IMM, KEY_IMM, IMM, WRITTEN_IMM, IMM_LENGTH);
	read_from(SOURCE, READ_LENGTH);
	atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, ADDEND, 0, FIRST);
	atomic(IBV_WR_ATOMIC_CMP_AND_SWP, SUM, SWAPPED, SUM);
	/* not equal, though its bytes in reverse are */
	atomic(IBV_WR_ATOMIC_CMP_AND_SWP, __builtin_bswap64(SWAPPED), FIRST, SWAPPED);
	write_to(IBV_WR_RDMA_WRITE_WITH_IMM, KEY_IMM, ~IMM, WRITTEN_IMM, 0);
	require(!rdma_disconnect(id), "rdma_disconnect: %s", strerror(errno));
	cm_expect(ch, RDMA_CM_EVENT_DISCONNECTED, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 3 || (strcmp(argv[1], "--server") && strcmp(argv[1], "--client"))) {
		fprintf(stderr, "usage: apart --server|--client ADDR\n");
		return EXIT_FAIL;
	}
	deadline_set(LIMIT, NULL);
	if (!strcmp(argv[1], "--server"))
		server(argv[2]);
	else
		client(argv[2]);
	puts("each message was as it must be");
	return EXIT_PASS;
}
