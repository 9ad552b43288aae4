// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * UD QPs: a message arrives whole, with the sender's address and number; one that must not arrive
 * is dropped and counted, without further effect. Both ends are in one process.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ibqp.h"
#include "ud.h"

/* IBV_MTU_1024, of an interface of 1500 bytes */
#define MTU	1024

/* A receive is posted, a message of @len is sent to it */
static struct ibv_wc one_message(struct ud *a, struct ud *b, uint32_t len, enum ibv_wr_opcode op,
				 unsigned int flags)
{
	struct ibv_wc wc;

	pattern_fill(a->buf, 7, 0, len);
	memset(b->buf + UD_IN, 0, UD_GRH + len);
	ud_recv(b, 1000 + len, UD_GRH + len);
	ud_post(a, b, len, op, flags | IBV_SEND_SIGNALED);
	wc = expect_wc(a->cq, len, IBV_WC_SUCCESS, "send");
	require(wc.opcode == IBV_WC_SEND && wc.qp_num == a->qp->qp_num, "opcode %d, QP %#x",
		wc.opcode, wc.qp_num);
	wc = expect_wc(b->cq, 1000 + len, IBV_WC_SUCCESS, "receive");
	require(wc.opcode == IBV_WC_RECV && wc.byte_len == UD_GRH + len &&
		wc.wc_flags & IBV_WC_GRH && wc.src_qp == a->qp->qp_num &&
		wc.qp_num == b->qp->qp_num, "opcode %d, %u bytes, flags %#x, from %#x, to %#x",
		wc.opcode, wc.byte_len, wc.wc_flags, wc.src_qp, wc.qp_num);
	require(!memcmp(b->buf + UD_IN + UD_GRH, a->buf, len), "%u bytes of data", len);
	return wc;
}

static void grh_is_right(const struct ud *b)
{
	const struct ibv_grh *grh = (const void *)(b->buf + UD_IN);

	require(ntohl(grh->version_tclass_flow) >> 28 == 6 && grh->next_hdr == 0x1b,
		"%#x, next header %#x", ntohl(grh->version_tclass_flow), grh->next_hdr);
	require(!memcmp(&grh->sgid, &ib_gid, 16) && !memcmp(&grh->dgid, &ib_gid, 16), "GIDs");
}

static void case_sizes(void)
{
	static const uint32_t sizes[] = { 0, 1, 39, 40, 41, 512, 1000, MTU - 1, MTU };
	struct ud a, b;

	ud_two(&a, &b);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		require(!(one_message(&a, &b, sizes[i], IBV_WR_SEND, 0).wc_flags &
			  IBV_WC_WITH_IMM), "immediate data");
		grh_is_right(&b);
		one_message(&b, &a, sizes[i], IBV_WR_SEND, 0);
	}
	ud_end_two(&a, &b);
}

static void case_imm(void)
{
	struct ud a, b;
	struct ibv_wc wc;

	ud_two(&a, &b);
	for (uint32_t len = 0; len < 100; len += 33) {
		wc = one_message(&a, &b, len, IBV_WR_SEND_WITH_IMM, IBV_SEND_SOLICITED);
		require(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == htonl(UD_IMM), "%#x",
			ntohl(wc.imm_data));
	}
	ud_end_two(&a, &b);
}

static void case_inline(void)
{
	struct ud a, b;

	ud_two(&a, &b);
	for (uint32_t len = 0; len <= 64; len += 16)
		one_message(&a, &b, len, IBV_WR_SEND, IBV_SEND_INLINE);
	ud_end_two(&a, &b);
}

static void case_unsignaled(void)
{
	struct ud a, b;

	ud_two(&a, &b);
	for (int i = 0; i < 3 * UD_DEPTH; i++) {
		ud_recv(&b, i, UD_GRH + 8);
		/* a signaled one now and then frees the slots of those before */
		ud_post(&a, &b, 8, IBV_WR_SEND, i % UD_DEPTH == UD_DEPTH - 1 ? IBV_SEND_SIGNALED : 0);
		expect_wc(b.cq, i, IBV_WC_SUCCESS, "receive");
		if (i % UD_DEPTH == UD_DEPTH - 1)
			expect_wc(a.cq, 8, IBV_WC_SUCCESS, "the signaled one");
	}
	expect_no_wc(a.cq, 100, "unsignaled");
	ud_end_two(&a, &b);
}

static void case_srq(void)
{
	struct ud a, b;

	ud_make(&a, false);
	ud_make(&b, true);
	ud_up(&a, UD_QKEY);
	ud_up(&b, UD_QKEY);
	one_message(&a, &b, 100, IBV_WR_SEND, 0);
	one_message(&a, &b, 1000, IBV_WR_SEND_WITH_IMM, 0);
	ud_end_two(&a, &b);
}

static void case_itself(void)
{
	struct ud a;

	ud_make(&a, false);
	ud_up(&a, UD_QKEY);
	pattern_fill(a.buf, 1, 0, 99);
	ud_recv(&a, 5, UD_GRH + 99);
	ud_post(&a, &a, 99, IBV_WR_SEND, 0);
	expect_wc(a.cq, 5, IBV_WC_SUCCESS, "receive");
	require(!memcmp(a.buf + UD_IN + UD_GRH, a.buf, 99), "data");
	ud_end(&a);
}

/* As a server does: answer the sender, with the address from the received message */
static void case_answer(void)
{
	struct ud a, b;
	struct ibv_wc wc;
	struct ibv_ah *ah;

	ud_two(&a, &b);
	wc = one_message(&a, &b, 77, IBV_WR_SEND, 0);
	ah = ibv_create_ah_from_wc(b.pd, &wc, (struct ibv_grh *)(b.buf + UD_IN), 1);
	require(ah, "%s", strerror(errno));
	ibv_destroy_ah(b.ah);
	b.ah = ah;
	one_message(&b, &a, 78, IBV_WR_SEND, 0);
	ud_end_two(&a, &b);
}

/* The message is dropped and counted; the next one arrives */
static void dropped(struct ud *a, struct ud *b, const char *counter, uint64_t before)
{
	ud_counted(counter, before + 1);
	expect_no_wc(b->cq, 50, counter);
	one_message(a, b, 10, IBV_WR_SEND, 0);
}

static void case_qkey(void)
{
	uint64_t before = ud_counter("ud_rx_wrong_qkey");
	struct ud a, b;

	ud_two(&a, &b);
	a.qkey = UD_QKEY + 1;
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	ud_counted("ud_rx_wrong_qkey", before + 1);
	/* the highest bit set: the sender QP's own Q_Key is used */
	a.qkey = 0x80000000;
	dropped(&a, &b, "ud_rx_wrong_qkey", before);
	ud_end_two(&a, &b);
}

static void case_qpn(void)
{
	uint64_t before = ud_counter("ud_rx_no_qp");
	struct ud a, b;

	ud_two(&a, &b);
	a.qpn = 0xfffff0;
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	a.qpn = 0;
	dropped(&a, &b, "ud_rx_no_qp", before);
	ud_end_two(&a, &b);
}

static void case_no_receive(void)
{
	uint64_t before = ud_counter("ud_rx_no_receive");
	struct ud a, b;

	ud_two(&a, &b);
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	dropped(&a, &b, "ud_rx_no_receive", before);
	ud_end_two(&a, &b);
}

static void case_too_long(void)
{
	struct ud a, b;

	ud_two(&a, &b);
	ud_post(&a, &b, MTU + 1, IBV_WR_SEND, 0);
	expect_wc(a.cq, MTU + 1, IBV_WC_LOC_LEN_ERR, "longer than the MTU");
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	expect_wc(a.cq, 10, IBV_WC_WR_FLUSH_ERR, "behind it");
	ud_expect_state(&a, IBV_QPS_ERR);
	expect_no_wc(b.cq, 50, "receiver");
	ud_state(&a, IBV_QPS_RESET);
	ud_up(&a, UD_QKEY);
	one_message(&a, &b, 10, IBV_WR_SEND, 0);
	ud_end_two(&a, &b);
}

static void case_short_receive(void)
{
	struct ud a, b;

	ud_two(&a, &b);
	ud_recv(&b, 3, UD_GRH + 9);
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	expect_wc(b.cq, 3, IBV_WC_LOC_LEN_ERR, "one byte short");
	ud_recv(&b, 4, UD_GRH - 1);
	ud_post(&a, &b, 0, IBV_WR_SEND, 0);
	expect_wc(b.cq, 4, IBV_WC_LOC_LEN_ERR, "without room for the GRH");
	one_message(&a, &b, 10, IBV_WR_SEND, 0);
	ud_end_two(&a, &b);
}

/* An invalid key, at the receiver and at the sender */
static void case_bad_key(void)
{
	struct ud a, b;
	uint32_t lkey;

	ud_two(&a, &b);
	lkey = b.lkey;
	b.lkey = lkey ^ 0x5500;
	ud_recv(&b, 3, UD_GRH + 10);
	b.lkey = lkey;
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	expect_wc(b.cq, 3, IBV_WC_LOC_PROT_ERR, "receive");
	ud_wait_state(&b, IBV_QPS_ERR);
	a.lkey ^= 0x5500;
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	expect_wc(a.cq, 10, IBV_WC_LOC_PROT_ERR, "send");
	ud_expect_state(&a, IBV_QPS_ERR);
	ud_end_two(&a, &b);
}

static void no_ah(struct ud *u, struct ibv_ah_attr attr, const char *what)
{
	require(!ibv_create_ah(u->pd, &attr) && (errno == EINVAL || errno == ENODATA), "%s: %s",
		what, strerror(errno));
}

static void case_ah(void)
{
	struct ibv_ah_attr good, attr;
	struct ud a, b;

	ud_two(&a, &b);
	good = ud_ah_attr(&ib_gid);
	attr = good;
	attr.grh.dgid.raw[0] = 0xfd;
	no_ah(&a, attr, "another family");
	attr = good;
	attr.grh.dgid.raw[12] = 224;
	no_ah(&a, attr, "multicast");
	memset(attr.grh.dgid.raw + 12, 0xff, 4);
	no_ah(&a, attr, "broadcast");
	memset(attr.grh.dgid.raw + 12, 0, 4);
	no_ah(&a, attr, "0.0.0.0");
	attr = good;
	attr.grh.sgid_index = 0;
	no_ah(&a, attr, "from the hardware address");
	attr.grh.sgid_index = 31;
	no_ah(&a, attr, "from no address");
	attr = good;
	attr.is_global = 0;
	no_ah(&a, attr, "no GRH");
	attr = good;
	attr.port_num = 2;
	no_ah(&a, attr, "port 2");
	/* of another PD: a sends with b's address handle */
	ibv_destroy_ah(a.ah);
	a.ah = ibv_create_ah(b.pd, &good);
	require(a.ah, "%s", strerror(errno));
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	expect_wc(a.cq, 10, IBV_WC_LOC_QP_OP_ERR, "the handle is of another PD");
	ud_end_two(&a, &b);
}

static void cannot_post(struct ud *a, struct ud *b, const char *state)
{
	require(ud_try_post(a, b, 10, IBV_WR_SEND, 0) == EINVAL, "%s", state);
}

static void case_states(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = UD_QKEY };
	struct ud a, b;

	ud_make(&a, false);
	ud_make(&b, false);
	ud_up(&b, UD_QKEY);
	ud_expect_state(&a, IBV_QPS_RESET);
	cannot_post(&a, &b, "RESET");
	require(ud_try_recv(&a, 1, 100) == EINVAL, "a receive in RESET");
	require(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT) == EINVAL,
		"INIT without a Q_Key");
	attr.port_num = 2;
	require(ibv_modify_qp(a.qp, &attr, UD_INIT_MASK) == EINVAL, "port 2");
	attr.port_num = 1;
	require(!ibv_modify_qp(a.qp, &attr, UD_INIT_MASK), "INIT");
	cannot_post(&a, &b, "INIT");
	ud_recv(&a, 8, UD_GRH + 10);
	ud_post(&b, &a, 10, IBV_WR_SEND, 0);
	expect_no_wc(a.cq, 50, "INIT");
	attr.qp_state = IBV_QPS_RTS;
	require(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == EINVAL, "INIT to RTS");
	ud_state(&a, IBV_QPS_RTR);
	cannot_post(&a, &b, "RTR");
	ud_post(&b, &a, 10, IBV_WR_SEND, 0);
	expect_wc(a.cq, 8, IBV_WC_SUCCESS, "RTR");
	require(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE) == EINVAL, "RTS without a PSN");
	require(!ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
	one_message(&a, &b, 10, IBV_WR_SEND, 0);
	ud_end_two(&a, &b);
}

/* In SQD nothing is sent, and all is received */
static void case_drain(void)
{
	struct ud a, b;

	ud_two(&a, &b);
	ud_state(&a, IBV_QPS_SQD);
	ud_recv(&b, 1, UD_GRH + 10);
	ud_post(&a, &b, 10, IBV_WR_SEND, IBV_SEND_SIGNALED);
	expect_no_wc(b.cq, 50, "SQD");
	one_message(&b, &a, 10, IBV_WR_SEND, 0);
	ud_state(&a, IBV_QPS_RTS);
	expect_wc(a.cq, 10, IBV_WC_SUCCESS, "RTS: send");
	expect_wc(b.cq, 1, IBV_WC_SUCCESS, "RTS: receive");
	ud_end_two(&a, &b);
}

static void case_flush(void)
{
	struct ud a, b;

	ud_two(&a, &b);
	for (int i = 0; i < UD_DEPTH; i++)
		ud_recv(&b, i, UD_GRH + 10);
	ud_state(&b, IBV_QPS_ERR);
	expect_flushes(b.cq, 0, UD_DEPTH, "receives");
	ud_recv(&b, 9, UD_GRH + 10);
	expect_wc(b.cq, 9, IBV_WC_WR_FLUSH_ERR, "a receive in Error");
	ud_post(&b, &a, 10, IBV_WR_SEND, 0);
	expect_wc(b.cq, 10, IBV_WC_WR_FLUSH_ERR, "a send in Error");
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	expect_no_wc(b.cq, 50, "Error");
	ud_state(&b, IBV_QPS_RESET);
	ud_up(&b, UD_QKEY);
	one_message(&a, &b, 10, IBV_WR_SEND, 0);
	/* RESET removes posted WRs, without completions */
	ud_recv(&b, 11, UD_GRH + 10);
	ud_state(&b, IBV_QPS_RESET);
	expect_no_wc(b.cq, 50, "RESET");
	ud_up(&b, UD_QKEY);
	one_message(&a, &b, 10, IBV_WR_SEND, 0);
	one_message(&b, &a, 10, IBV_WR_SEND, 0);
	ud_end_two(&a, &b);
}

static void case_resets(void)
{
	struct ud a, b;

	ud_two(&a, &b);
	for (int i = 0; i < 50; i++) {
		ud_recv(&b, i, UD_GRH + 10);
		ud_post(&a, &b, 10, IBV_WR_SEND, IBV_SEND_SIGNALED);
		expect_wc(a.cq, 10, IBV_WC_SUCCESS, "send");
		ud_state(&b, i % 2 ? IBV_QPS_RESET : IBV_QPS_ERR);
		if (!(i % 2))
			ud_state(&b, IBV_QPS_RESET);
		expect_no_wc(b.cq, 0, "RESET");
		ud_up(&b, UD_QKEY);
	}
	one_message(&a, &b, 10, IBV_WR_SEND, 0);
	ud_end_two(&a, &b);
}

/* Opcodes of connected QPs cannot be posted */
static void case_opcodes(void)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV,
		IBV_WR_LOCAL_INV,
	};
	struct ud a, b;

	ud_two(&a, &b);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		require(ud_try_post(&a, &b, 8, ops[i], 0) == EOPNOTSUPP, "%d", ops[i]);
	one_message(&a, &b, 10, IBV_WR_SEND, 0);
	ud_end_two(&a, &b);
}

/* A datagram to the number of a connected QP is dropped */
static void case_rc_qp(void)
{
	uint64_t before = ud_counter("ud_rx_no_qp");
	struct ud a, b;
	struct hand h;

	ud_two(&a, &b);
	hand_qp(&h);
	a.qpn = h.qp->qp_num;
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	a.qpn = 0;
	dropped(&a, &b, "ud_rx_no_qp", before);
	hand_qp_end(&h);
	ud_end_two(&a, &b);
}

/* The CQ of either end may overflow; the QP that uses it goes to Error, the other does not */
static void overflow(bool receiver)
{
	struct ibv_context *ctx = test_context();
	struct ibv_async_event event;
	bool cq_told = false, qp_told = false;
	struct ud a, b, *full = receiver ? &b : &a;

	ud_two(&a, &b);
	require(!ibv_resize_cq(full->cq, 4), "%s", strerror(errno));
	for (int i = 0; i < 5; i++) {
		ud_recv(&b, i, UD_GRH + 10);
		ud_post(&a, &b, 10, IBV_WR_SEND, receiver ? 0 : IBV_SEND_SIGNALED);
		if (!receiver)
			expect_wc(b.cq, i, IBV_WC_SUCCESS, "receive");
	}
	ud_wait_state(full, IBV_QPS_ERR);
	while (!cq_told || !qp_told) {
		require(!ibv_get_async_event(ctx, &event), "%s", strerror(errno));
		if (event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == full->cq)
			cq_told = true;
		else if (event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == full->qp)
			qp_told = true;
		else
			die("event %s", ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
	ud_expect_state(receiver ? &a : &b, IBV_QPS_RTS);
	ud_end_two(&a, &b);
}

static void case_overflow(void)
{
	overflow(true);
	overflow(false);
}

/* Hosts that do not exist: datagrams to them wait for neighbour resolution */
#define ABSENT	64

static void absent_hosts(struct ud *u, struct ibv_ah **ah)
{
	for (int i = 0; i < ABSENT; i++) {
		union ibv_gid gid = ib_gid;
		struct ibv_ah_attr attr;

		gid.raw[15] = 100 + i;
		attr = ud_ah_attr(&gid);
		ah[i] = ibv_create_ah(u->pd, &attr);
		require(ah[i], "%s", strerror(errno));
	}
}

/* A user keeps sending to them, until the script ends it */
static void case_starve(void)
{
	struct ibv_ah *ah[ABSENT];
	struct ud u;

	ud_make(&u, false);
	ud_up(&u, UD_QKEY);
	absent_hosts(&u, ah);
	puts("starve");
	fflush(stdout);
	for (unsigned int i = 0;; i++) {
		struct ibv_sge sge = { (uintptr_t)u.buf, 1024, u.lkey };
		struct ibv_send_wr *bad, wr = {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = { ah[i % ABSENT], 0x1234, 1 },
		};
		struct ibv_wc wc[UD_DEPTH];

		ibv_post_send(u.qp, &wr, &bad);
		ibv_poll_cq(u.cq, UD_DEPTH, wc);
	}
}

/* Messages that a doorbell sends, each of which may wait for room in the socket */
#define WAITING	1024

static struct ud waits;
static atomic_bool all_sent;

static void *one_doorbell(void *arg)
{
	struct ibv_sge sge = { (uintptr_t)waits.buf, 1024, waits.lkey };
	static struct ibv_send_wr wr[WAITING];
	struct ibv_ah **ah = arg;
	struct ibv_send_wr *bad;

	for (int i = 0; i < WAITING; i++)
		wr[i] = (struct ibv_send_wr) {
			.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
			.next = i < WAITING - 1 ? &wr[i + 1] : NULL,
			.wr.ud = { ah[i % ABSENT], 0x1234, 1 },
		};
	require(!ibv_post_send(waits.qp, wr, &bad), "%s", strerror(errno));
	all_sent = true;
	return NULL;
}

/* To Error or RESET while another thread's doorbell has WAITING messages to send */
static void ends_beside_doorbell(enum ibv_qp_state state)
{
	struct ibv_ah *ah[ABSENT];
	pthread_t thread;
	uint64_t begin;

	all_sent = false;
	ud_make_deep(&waits, false, WAITING);
	ud_up(&waits, UD_QKEY);
	absent_hosts(&waits, ah);
	require(!pthread_create(&thread, NULL, one_doorbell, ah), "no thread");
	usleep(500000);
	require(!all_sent, "the messages do not wait");
	begin = now_ms();
	ud_state(&waits, state);
	note("state %d: %llu ms", state, (unsigned long long)(now_ms() - begin));
	require(now_ms() - begin < 3000, "the QP waits for its messages");
	pthread_join(thread, NULL);
	for (int i = 0; i < ABSENT; i++)
		ibv_destroy_ah(ah[i]);
	ud_end(&waits);
}

/* A work that takes a QP to Error waits no longer, either: all users' works share a queue */
static void case_waiting(void)
{
	ends_beside_doorbell(IBV_QPS_ERR);
	ends_beside_doorbell(IBV_QPS_RESET);
}

/* Another user beside that one: no message is lost, and no post waits for the socket */
static void case_beside(void)
{
	uint64_t end, sum = 0, n = 0;
	struct ud u;

	ud_make(&u, false);
	ud_up(&u, UD_QKEY);
	end = now_ms() + 4000;
	for (; now_ms() < end; n++) {
		uint64_t begin;

		ud_recv(&u, 100, UD_GRH + 100);
		begin = now_ms();
		ud_post(&u, &u, 60, IBV_WR_SEND, IBV_SEND_SIGNALED);
		sum += now_ms() - begin;
		/* the Send's and the receive's, in either order */
		for (int done = 0; done < 2; done++) {
			struct ibv_wc wc = wait_wc(u.cq, "message");

			require(wc.status == IBV_WC_SUCCESS, "status %d", wc.status);
		}
	}
	note("%llu messages, %llu ms in posts", (unsigned long long)n, (unsigned long long)sum);
	require(n > 50, "%llu messages in 4 s", (unsigned long long)n);
	ud_end(&u);
}

/* For a script that removes something meanwhile, or kills it */
static void case_traffic(void)
{
	struct ud a, b;

	ud_two(&a, &b);
	puts("traffic");
	fflush(stdout);
	for (;;) {
		ud_recv(&b, 1, UD_GRH + 100);
		ud_post(&a, &b, 100, IBV_WR_SEND, IBV_SEND_SIGNALED);
		expect_wc(a.cq, 100, IBV_WC_SUCCESS, "send");
		expect_wc(b.cq, 1, IBV_WC_SUCCESS, "receive");
	}
}

/* For a script that changes the port meanwhile: a message that is lost is sent once more */
static void case_lossy(void)
{
	struct ud a, b;
	struct ibv_wc wc;

	ud_two(&a, &b);
	for (;;) {
		ud_recv(&b, 1, UD_GRH + 100);
		do {
			ud_post(&a, &b, 100, IBV_WR_SEND, IBV_SEND_SIGNALED);
			expect_wc(a.cq, 100, IBV_WC_SUCCESS, "send");
			usleep(20000);
		} while (!ibv_poll_cq(b.cq, 1, &wc));
		require(wc.status == IBV_WC_SUCCESS, "status %d", wc.status);
		puts("message");
		fflush(stdout);
	}
}

/* In another network namespace than the interface there is no RTR */
static void case_foreign(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = UD_QKEY };
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct ud a, b;

	ud_two(&a, &b);
	ud_state(&b, IBV_QPS_RESET);
	require(!ibv_modify_qp(b.qp, &attr, UD_INIT_MASK), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	require(home >= 0 && !unshare(CLONE_NEWNET), "%s", strerror(errno));
	require(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE) == EXDEV, "RTR in another namespace");
	require(!setns(home, CLONE_NEWNET), "%s", strerror(errno));
	close(home);
	ud_expect_state(&b, IBV_QPS_INIT);
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	expect_no_wc(b.cq, 50, "INIT");
	ud_state(&b, IBV_QPS_RESET);
	ud_up(&b, UD_QKEY);
	one_message(&a, &b, 10, IBV_WR_SEND, 0);
	ud_end_two(&a, &b);
}

/* For a script that moves the interface to another namespace meanwhile */
static void case_left_behind(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = UD_QKEY };
	struct ud a, b;

	ud_two(&a, &b);
	ud_recv(&b, 1, UD_GRH + 10);
	puts("ready");
	fflush(stdout);
	require(wait_wc(b.cq, "the interface moves").status == IBV_WC_WR_FLUSH_ERR, "no flush");
	ud_wait_state(&a, IBV_QPS_ERR);
	ud_wait_state(&b, IBV_QPS_ERR);
	ud_post(&a, &b, 10, IBV_WR_SEND, 0);
	expect_wc(a.cq, 10, IBV_WC_WR_FLUSH_ERR, "a send");
	puts("error");
	fflush(stdout);
	getchar();
	ud_state(&a, IBV_QPS_RESET);
	require(!ibv_modify_qp(a.qp, &attr, UD_INIT_MASK), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	require(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE) == EXDEV, "RTR");
	ud_end_two(&a, &b);
}

static const struct test_case cases[] = {
	{ "sizes", case_sizes, "each byte, number and address arrives, up to the MTU" },
	{ "imm", case_imm, "immediate data arrives" },
	{ "inline", case_inline, "inline data arrives" },
	{ "unsignaled", case_unsignaled, "an unsignaled Send has no completion" },
	{ "srq", case_srq, "receives are taken from an SRQ" },
	{ "itself", case_itself, "a QP sends to itself" },
	{ "answer", case_answer, "ibv_create_ah_from_wc() leads to the sender" },
	{ "qkey", case_qkey, "another Q_Key: dropped, counted" },
	{ "qpn", case_qpn, "no QP of that number: dropped, counted" },
	{ "rc_qp", case_rc_qp, "the number of an RC QP: dropped, counted" },
	{ "no_receive", case_no_receive, "no receive is posted: dropped, counted" },
	{ "too_long", case_too_long, "longer than the MTU: LOC_LEN_ERR, and the QP is in Error" },
	{ "short_receive", case_short_receive, "longer than the receive: LOC_LEN_ERR, and it goes on" },
	{ "bad_key", case_bad_key, "a key that is none: LOC_PROT_ERR, and the QP is in Error" },
	{ "ah", case_ah, "an address handle leads to a host, and is of the QP's PD" },
	{ "states", case_states, "what InfiniBand permits in each state, and nothing else" },
	{ "drain", case_drain, "RTS, SQD and RTS again" },
	{ "flush", case_flush, "ERR flushes, RESET forgets" },
	{ "resets", case_resets, "50 times RESET under traffic" },
	{ "opcodes", case_opcodes, "WRs of connected QPs are refused" },
	{ "forged", case_ud_forged, "datagrams that are none: dropped, counted" },
	{ "checksum", case_ud_checksum, "a wrong UDP checksum: dropped, counted" },
	{ "overflow", case_overflow, "its CQ is full: the QP is in Error, and an event tells" },
	{ "flood", case_ud_flood, "20000 forged datagrams, and messages between them" },
	{ "foreign", case_foreign, "in another network namespace: EXDEV at RTR" },
	{ "traffic", case_traffic, "" },
	{ "left_behind", case_left_behind, "" },
	{ "lossy", case_lossy, "" },
	{ "starve", case_starve, "" },
	{ "waiting", case_waiting, "" },
	{ "beside", case_beside, "" },
};

static const struct test_program prog = {
	.usage = "ud --list | ud ADDR CASE",
	.timeout_env = "UD_TIMEOUT",
	.timeout = 50,
	.cases = cases,
	.count = ARRAY_SIZE(cases),
};

int main(int argc, char **argv)
{
	return run_cases(&prog, argc, argv);
}
