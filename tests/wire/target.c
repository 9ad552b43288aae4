// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The program behind the device when the peer is a script (peer.py): it accepts one connection
 * after the other, does what the private data asks for, and prints the result for the QP as a
 * line of JSON. With "rdmac" the connections are of plain TCP: the peer sends its wish in streaming
 * mode, the answer is the last message, and the stream has version 0.
 *
 *	target ADDRESS PORT [rdmac]
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common.h"
#include "handfd.h"
#include "lastterm.h"
#include "query.h"

#define BUF_LEN		(128 * 1024)
#define MAX_WR		64
#define IRD		4
#define TIMEOUT_MS	50000	/* the machine may be busy */

/* The peer's wish: private data of its Request, big endian */
struct wish {
	uint8_t recvs;		/* receives to post */
	uint8_t op;		/* to post once connected: enum wish_op */
	uint16_t recv_len;
	uint32_t len;
	uint32_t rkey;
	uint32_t enables;	/* 0, or IBV_ACCESS_* of the QP, with bit 31 set */
	uint64_t raddr;
} __attribute__((packed));

enum wish_op {
	WISH_NONE, WISH_READ, WISH_WRITE, WISH_SEND, WISH_BAD_SEND, WISH_CLOSE,
	WISH_FETCH_ADD,		/* of 5 */
	WISH_CMP_SWAP,		/* of 5 and 9 */
	WISH_READS = 16,	/* as many Reads as READS, one after the other in the buffer */
	WISH_BAD_RECV,		/* the receives are into memory that is not registered */
	WISH_REVOKE,		/* a region of its own, deregistered after the first receive */
	WISH_SMALL_CQ,		/* receives complete into a CQ that is too small for them */
	WISH_SCRIBBLE,		/* some Writes, whose buffer changes while they are under way */
	WISH_TOLD_WRITE,	/* longer than the buffer; a line reports its completion */
	WISH_TOLD_SEND,
	WISH_LIST,		/* Writes and Sends by turns, gathered from all over the buffer */
	WISH_SEEN,		/* the contents of the buffer when each receive completes */
	WISH_SPOILT,		/* a Send whose buffer changes as soon as it has completed */
	WISH_SEND_CLOSE,	/* some Sends, and at once the close */
	WISH_ECHO,		/* a Send, but only when the first receive has completed */
};

#define READS 16
#define GATHERED 3	/* SGEs of WISH_LIST */
#define PIECES 4	/* of a message that is longer than the buffer */

/* The target's STags: private data of the Reply, big endian */
struct offer {
	uint64_t addr;		/* of the buffer; the same for each region */
	uint32_t len;
	uint32_t all;		/* STags */
	uint32_t only_read;
	uint32_t only_write;
	uint32_t local;
	uint32_t other_pd;
	uint32_t stale;
	uint32_t atomic;
} __attribute__((packed));

/* Of plain TCP: the id has no channel, and nothing but the QP */
struct request {
	struct rdma_cm_id *id;
	int fd;
	struct wish wish;
};

const char *test_addr;

struct target {
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	int tcp;		/* listens in its place; 0: none */
	struct request requests[16];	/* not answered yet */
	unsigned int num_requests;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_pd *pd2;
	struct ibv_cq *cq;
	uint8_t *mem;		/* guard, buffer, guard */
	uint8_t *buf;
	struct ibv_mr *all, *only_read, *only_write, *local, *other_pd, *atomic;
	uint32_t stale;
	struct ibv_mr *doomed;	/* WISH_REVOKE */
	struct ibv_cq *small;	/* WISH_SMALL_CQ */
};

static struct ibv_mr *region(struct ibv_pd *pd, uint8_t *buf, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, BUF_LEN, access);

	require(mr, "%s", strerror(errno));
	return mr;
}

static void make_memory(struct target *tg)
{
	const int rd = IBV_ACCESS_REMOTE_READ, wr = IBV_ACCESS_REMOTE_WRITE;
	const int lw = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_mr *gone;

	tg->mem = mmap(NULL, 3 * BUF_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	require(tg->mem != MAP_FAILED, "%s", strerror(errno));
	tg->buf = tg->mem + BUF_LEN;
	tg->pd = ibv_alloc_pd(tg->ctx);
	tg->pd2 = ibv_alloc_pd(tg->ctx);
	tg->cq = ibv_create_cq(tg->ctx, 4 * MAX_WR, NULL, NULL, 0);
	require(tg->pd && tg->pd2 && tg->cq, "%s", strerror(errno));
	tg->all = region(tg->pd, tg->buf, lw | rd | wr);
	tg->only_read = region(tg->pd, tg->buf, lw | rd);
	tg->only_write = region(tg->pd, tg->buf, lw | wr);
	tg->local = region(tg->pd, tg->buf, lw);
	tg->other_pd = region(tg->pd2, tg->buf, lw | rd | wr);
	tg->atomic = region(tg->pd, tg->buf, lw | IBV_ACCESS_REMOTE_ATOMIC);
	gone = region(tg->pd, tg->buf, lw | rd | wr);
	tg->stale = gone->rkey;
	require(!ibv_dereg_mr(gone), "%s", strerror(errno));
}

/* Octet i of the buffer is i mod 251 at first, so that misplaced data is detected */
static void reset_memory(struct target *tg)
{
	memset(tg->mem, GUARD_BYTE, 3 * BUF_LEN);
	for (uint32_t i = 0; i < BUF_LEN; i++)
		tg->buf[i] = i % 251;
}

static void print_dirty(const struct target *tg)
{
	uint32_t first = BUF_LEN, last = 0;
	bool guards = true;

	for (uint32_t i = 0; i < BUF_LEN; i++) {
		guards &= tg->mem[i] == GUARD_BYTE && tg->buf[BUF_LEN + i] == GUARD_BYTE;
		if (tg->buf[i] == i % 251)
			continue;
		if (first == BUF_LEN)
			first = i;
		last = i;
	}
	printf("\"guards\": %s, \"dirty\": ", guards ? "true" : "false");
	if (first == BUF_LEN) {
		printf("null, ");
		return;
	}
	printf("[%u, %u], \"bytes\": \"", first, last);
	for (uint32_t i = first; i <= last && i < first + 256; i++)
		printf("%02x", tg->buf[i]);
	printf("\", ");
}

static void post_recvs(const struct target *tg, struct ibv_qp *qp, const struct wish *w)
{
	for (unsigned int i = 0; i < w->recvs && i < MAX_WR; i++) {
		/* receives fill the second half of the buffer from its end */
		uint32_t len = be16toh(w->recv_len);
		struct ibv_sge sge = {
			.addr = (uintptr_t)tg->buf + BUF_LEN - (i + 1) * len,
			.length = len,
			.lkey = w->op == WISH_BAD_RECV ? tg->stale : tg->local->lkey,
		};
		struct ibv_recv_wr wr = { .wr_id = 100 + i, .sg_list = &sge, .num_sge = 1 };
		struct ibv_recv_wr *bad;

		require(!ibv_post_recv(qp, &wr, &bad), "receive %u", i);
	}
}

static void do_reads(const struct target *tg, struct ibv_qp *qp, const struct wish *w)
{
	const uint32_t len = be32toh(w->len);

	for (unsigned int i = 0; i < READS; i++) {
		struct ibv_sge sge = {
			.addr = (uintptr_t)tg->buf + i * len,
			.length = len,
			.lkey = tg->local->lkey,
		};
		struct ibv_send_wr wr = {
			.wr_id = 1 + i,
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma.rkey = be32toh(w->rkey),
			.wr.rdma.remote_addr = be64toh(w->raddr) + i * len,
		}, *bad;

		require(!ibv_post_send(qp, &wr, &bad), "Read %u", i);
	}
}

/* Posted buffers belong to the RNIC; a program that writes to them harms only itself (ORD-7) */
static void scribble(const struct target *tg, struct ibv_qp *qp, const struct wish *w)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)tg->buf,
		.length = be32toh(w->len),
		.lkey = tg->local->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma.rkey = be32toh(w->rkey),
	}, *bad;
	uint64_t end = now_ms() + 1000;

	for (unsigned int i = 0; i < READS; i++)
		require(!ibv_post_send(qp, &wr, &bad), "Write %u", i);
	for (uint8_t n = 0; now_ms() < end; n++)
		memset(tg->buf, n, sge.length);
}

/* Deregister the region while answers are being sent from it and cannot proceed */
static void take_away(struct target *tg)
{
	uint64_t end = now_ms() + TIMEOUT_MS;
	struct ibv_wc wc;

	while (ibv_poll_cq(tg->cq, 1, &wc) != 1)
		require(now_ms() < end, "no receive");
	require(!ibv_dereg_mr(tg->doomed), "%s", strerror(errno));
	tg->doomed = NULL;
	printf("{\"revoked\": true}\n");
	fflush(stdout);
}

static void print_hex(const char *before, const uint8_t *at, unsigned int len)
{
	printf("%s", before);
	while (len--)
		printf("%02x", *at++);
	printf("\"");
}

static void print_wcs(struct target *tg, bool *first)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(tg->cq, 1, &wc) == 1) {
		printf("%s[%llu, %d, %u, %u, %d, %u, %u]", *first ? "" : ", ",
		       (unsigned long long)wc.wr_id, wc.status, wc.vendor_err,
		       wc.status ? 0 : wc.byte_len, wc.status ? -1 : (int)wc.opcode,
		       wc.status ? 0 : wc.wc_flags, wc.status ? 0 : be32toh(wc.imm_data));
		*first = false;
	}
}

/*
 * A message of PIECES times the beginning of the buffer: a line of its own reports the completion
 */
static void tell_completion(struct target *tg, struct ibv_qp *qp, const struct wish *w)
{
	struct ibv_sge sges[PIECES];
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = sges,
		.num_sge = PIECES,
		.opcode = w->op == WISH_TOLD_SEND ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma.rkey = be32toh(w->rkey),
		.wr.rdma.remote_addr = be64toh(w->raddr),
	}, *bad;
	uint64_t end = now_ms() + TIMEOUT_MS;
	bool first = true;

	for (unsigned int i = 0; i < PIECES; i++)
		sges[i] = (struct ibv_sge){ .addr = (uintptr_t)tg->buf,
					    .length = be32toh(w->len) / PIECES,
					    .lkey = tg->local->lkey };
	require(!ibv_post_send(qp, &wr, &bad), "%s", strerror(errno));
	printf("{\"told\": [");
	while (first && now_ms() < end) {
		print_wcs(tg, &first);
		usleep(1000);	/* with one CPU the other end must run, too */
	}
	printf("]}\n");
	fflush(stdout);
}

/*
 * A list of WRs, even ones Writes and odd ones Sends, each of GATHERED pieces that lie apart and
 * in the wrong order (the peer uses the same rule).
 */
static void post_gathered(const struct target *tg, struct ibv_qp *qp, const struct wish *w)
{
	const uint32_t len = be32toh(w->len);
	struct ibv_sge sges[READS][GATHERED];
	struct ibv_send_wr wrs[READS], *bad;

	for (unsigned int i = 0; i < READS; i++) {
		for (unsigned int j = 0; j < GATHERED; j++)
			sges[i][j] = (struct ibv_sge){
				.addr = (uintptr_t)tg->buf + (GATHERED - j) * 2 * len + i,
				.length = len,
				.lkey = tg->local->lkey,
			};
		wrs[i] = (struct ibv_send_wr){
			.wr_id = 1 + i,
			.next = i + 1 < READS ? &wrs[i + 1] : NULL,
			.sg_list = sges[i],
			.num_sge = GATHERED,
			.opcode = i & 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma.rkey = be32toh(w->rkey),
			.wr.rdma.remote_addr = be64toh(w->raddr) + i,
		};
	}
	require(!ibv_post_send(qp, wrs, &bad), "%s", strerror(errno));
}

static void await_wc(struct target *tg, struct ibv_wc *wc)
{
	uint64_t end = now_ms() + TIMEOUT_MS;

	while (ibv_poll_cq(tg->cq, 1, wc) != 1)
		require(now_ms() < end, "no completion");
}

/* The last octets of the Write before each Send, read when its receive has completed (WR-7) */
static void tell_seen(struct target *tg, const struct wish *w)
{
	const uint32_t len = be32toh(w->len);
	uint8_t seen[8];
	struct ibv_wc wc;

	for (unsigned int i = 0; i < w->recvs; i++) {
		await_wc(tg, &wc);
		memcpy(seen, tg->buf + len - sizeof(seen), sizeof(seen));
		printf("{\"seen\": [%llu, %d, ", (unsigned long long)wc.wr_id, wc.status);
		print_hex("\"", seen, sizeof(seen));
		printf("]}\n");
		fflush(stdout);
	}
}

/* A buffer belongs to the program again when its WR has completed (WR-25) */
static void spoil(struct target *tg, struct ibv_qp *qp, const struct wish *w)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)tg->buf,
		.length = be32toh(w->len),
		.lkey = tg->local->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_wc wc;

	require(!ibv_post_send(qp, &wr, &bad), "%s", strerror(errno));
	await_wc(tg, &wc);
	memset(tg->buf, 0xff, sge.length);
	printf("{\"spoilt\": %d}\n", wc.status);
	fflush(stdout);
}

static void disconnect(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

	if (id->channel)
		rdma_disconnect(id);
	else
		require(!ibv_modify_qp(id->qp, &attr, IBV_QP_STATE), "%s", strerror(errno));
}

static void send_and_close(struct target *tg, struct rdma_cm_id *id, const struct wish *w)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)tg->buf,
		.length = be32toh(w->len),
		.lkey = tg->local->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
	}, *bad;

	for (unsigned int i = 0; i < READS; i++)
		require(!ibv_post_send(id->qp, &wr, &bad), "Send %u", i);
	disconnect(id);
}

static void do_wish(struct target *tg, struct rdma_cm_id *id, const struct wish *w)
{
	static const enum ibv_wr_opcode opcode[] = {
		[WISH_READ] = IBV_WR_RDMA_READ,
		[WISH_WRITE] = IBV_WR_RDMA_WRITE,
		[WISH_SEND] = IBV_WR_SEND,
		[WISH_BAD_SEND] = IBV_WR_SEND,
		[WISH_FETCH_ADD] = IBV_WR_ATOMIC_FETCH_AND_ADD,
		[WISH_CMP_SWAP] = IBV_WR_ATOMIC_CMP_AND_SWP,
	};
	struct ibv_sge sge = {
		.addr = (uintptr_t)tg->buf,
		.length = be32toh(w->len),
		.lkey = w->op == WISH_BAD_SEND ? tg->stale : tg->local->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	if (w->op == WISH_CLOSE)
		disconnect(id);
	if (w->op == WISH_READS)
		do_reads(tg, id->qp, w);
	if (w->op == WISH_REVOKE)
		take_away(tg);
	if (w->op == WISH_SCRIBBLE)
		scribble(tg, id->qp, w);
	if (w->op == WISH_TOLD_WRITE || w->op == WISH_TOLD_SEND)
		tell_completion(tg, id->qp, w);
	if (w->op == WISH_LIST)
		post_gathered(tg, id->qp, w);
	if (w->op == WISH_SEEN)
		tell_seen(tg, w);
	if (w->op == WISH_SPOILT)
		spoil(tg, id->qp, w);
	if (w->op == WISH_SEND_CLOSE)
		send_and_close(tg, id, w);
	if (w->op == WISH_ECHO) {
		struct ibv_wc wc;

		await_wc(tg, &wc);
		wr.opcode = IBV_WR_SEND;
		require(!ibv_post_send(id->qp, &wr, &bad), "%s", strerror(errno));
	}
	if (w->op == WISH_NONE || w->op == WISH_CLOSE || w->op >= ARRAY_SIZE(opcode))
		return;
	wr.opcode = opcode[w->op];
	if (w->op == WISH_FETCH_ADD || w->op == WISH_CMP_SWAP) {
		wr.wr.atomic.rkey = be32toh(w->rkey);
		wr.wr.atomic.remote_addr = be64toh(w->raddr);
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 9;
	} else {
		wr.wr.rdma.rkey = be32toh(w->rkey);
		wr.wr.rdma.remote_addr = be64toh(w->raddr);
	}
	require(!ibv_post_send(id->qp, &wr, &bad), "%s", strerror(errno));
}

static void print_async(struct target *tg)
{
	struct pollfd pfd = { .fd = tg->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event ev;
	bool first = true;

	printf("\"async\": [");
	while (poll(&pfd, 1, 0) == 1 && !ibv_get_async_event(tg->ctx, &ev)) {
		printf("%s\"%s\"", first ? "" : ", ", ibv_event_type_str(ev.event_type));
		first = false;
		ibv_ack_async_event(&ev);
	}
	printf("], ");
}

static void print_terminate(const char *name, const struct srnic_terminate *t)
{
	printf("\"%s\": ", name);
	if (!t->state) {
		printf("null, ");
		return;
	}
	printf("[%u, %u, %u, %u, %u, %u, ", t->state, t->layer, t->etype, t->code, t->hdrct,
	       t->seg_len);
	print_hex("\"", t->ddp, t->ddp_len);
	print_hex(", \"", t->rdmap, t->rdmap_len);
	printf("], ");
}

/*
 * Wait for an event of one connection: true if it is this one, false if the connection has ended
 * or nothing came. Meanwhile a peer that is done with the last connection may send the next
 * request; it is kept.
 */
static bool next_event(struct target *tg, enum rdma_cm_event_type type,
		       const struct rdma_cm_id *id)
{
	uint64_t end = now_ms() + TIMEOUT_MS, now;
	struct rdma_cm_event *ev;

	while ((now = now_ms()) < end && cm_wait(tg->cm, end - now)) {
		enum rdma_cm_event_type got;
		bool ours;

		require(!rdma_get_cm_event(tg->cm, &ev), "%s", strerror(errno));
		got = ev->event;
		ours = ev->id == id;
		if (got == RDMA_CM_EVENT_CONNECT_REQUEST) {
			struct request *req = &tg->requests[tg->num_requests++];

			require(tg->num_requests <= ARRAY_SIZE(tg->requests), "requests");
			*req = (struct request){ .id = ev->id };
			if (ev->param.conn.private_data_len >= sizeof(req->wish))
				memcpy(&req->wish, ev->param.conn.private_data,
				       sizeof(req->wish));
		}
		rdma_ack_cm_event(ev);
		if (got == type && (ours || !id))
			return true;
		if (ours && (got == RDMA_CM_EVENT_CONNECT_ERROR ||
			     got == RDMA_CM_EVENT_DISCONNECTED))
			return false;
	}
	return false;
}

/* As next_event(), RDMA_CM_EVENT_DISCONNECTED */
static bool stream_ended(const struct ibv_qp *qp)
{
	uint64_t end = now_ms() + TIMEOUT_MS;
	struct srnic_uresp_qp_query is;

	do
		query(qp->context, UVERBS_OBJECT_QP, SRNIC_METHOD_QP_QUERY, qp->handle, &is,
		      sizeof(is));
	while (is.flags & SRNIC_QP_QUERY_STREAM && now_ms() < end && !usleep(1000));
	return !(is.flags & SRNIC_QP_QUERY_STREAM);
}

/* A connection of plain TCP, whose peer does not send a wish, is of no interest */
static struct request next_wish(struct target *tg)
{
	struct request req = { };

	do {
		if (req.fd)
			close(req.fd);
		req.fd = accept(tg->tcp, NULL, NULL);
		require(req.fd > 0, "%s", strerror(errno));
	} while (recv(req.fd, &req.wish, sizeof(req.wish), MSG_WAITALL) != sizeof(req.wish));
	req.id = calloc(1, sizeof(*req.id));
	return req;
}

static struct request next_request(struct target *tg)
{
	struct request req;

	if (tg->tcp)
		return next_wish(tg);
	/* a connection that does not start with a Request never gets here */
	while (!tg->num_requests)
		next_event(tg, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	req = tg->requests[0];
	memmove(tg->requests, tg->requests + 1, --tg->num_requests * sizeof(req));
	return req;
}

static void make_qp(struct target *tg, struct rdma_cm_id *id, const struct wish *w)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = tg->cq,
		.recv_cq = w->op == WISH_SMALL_CQ ? tg->small : tg->cq,
		.cap = { .max_send_wr = MAX_WR, .max_recv_wr = MAX_WR,
			 .max_send_sge = 4, .max_recv_sge = 4 },
		.qp_type = IBV_QPT_RC,
	};

	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = ACCESS_ALL };

	if (id->channel) {
		require(!rdma_create_qp(id, tg->pd, &attr), "%s", strerror(errno));
		return;
	}
	id->qp = ibv_create_qp(tg->pd, &attr);
	require(id->qp && !ibv_modify_qp(id->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					 IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "%s", strerror(errno));
}

/* Is the peer still connected? */
static bool accept_it(struct target *tg, const struct request *req)
{
	struct rdma_cm_id *id = req->id;
	struct hand hand = { .fd = req->fd, .qp = id->qp };
	struct offer offer = {
		.addr = htobe64((uintptr_t)tg->buf),
		.len = htobe32(BUF_LEN),
		.all = htobe32(tg->all->rkey),
		.only_read = htobe32(tg->only_read->rkey),
		.only_write = htobe32(tg->only_write->rkey),
		.local = htobe32(tg->local->rkey),
		.other_pd = htobe32(tg->other_pd->rkey),
		.stale = htobe32(tg->doomed ? tg->doomed->rkey : tg->stale),
		.atomic = htobe32(tg->atomic->rkey),
	};
	struct rdma_conn_param param = {
		.private_data = &offer,
		.private_data_len = sizeof(offer),
		.responder_resources = IRD,
		.initiator_depth = IRD,
	};

	if (id->channel)
		return !rdma_accept(id, &param);
	return !hand_over(&hand, SRNIC_QP_MODIFY_RESPONDER | SRNIC_QP_MODIFY_RDMAC, &offer,
			  sizeof(offer));
}

static void serve(struct target *tg)
{
	struct srnic_uresp_terminate last;
	struct ibv_qp_init_attr init;
	bool first = true, ended, refused;
	struct ibv_qp_attr attr;
	struct request req = next_request(tg);
	struct rdma_cm_id *id = req.id;
	struct wish w = req.wish;

	reset_memory(tg);
	if (w.op == WISH_REVOKE)
		tg->doomed = region(tg->pd, tg->buf, IBV_ACCESS_LOCAL_WRITE |
				    IBV_ACCESS_REMOTE_READ);
	if (w.op == WISH_SMALL_CQ)
		tg->small = ibv_create_cq(tg->ctx, 1, NULL, NULL, 0);
	make_qp(tg, id, &w);
	post_recvs(tg, id->qp, &w);
	if (accept_it(tg, &req)) {
		ended = id->channel && !next_event(tg, RDMA_CM_EVENT_ESTABLISHED, id);
		refused = false;
	} else {
		ended = refused = true;
	}
	if (!refused && be32toh(w.enables) & 1U << 31) {
		attr.qp_access_flags = be32toh(w.enables) & ~(1U << 31);
		require(!ibv_modify_qp(id->qp, &attr, IBV_QP_ACCESS_FLAGS), "%s",
			strerror(errno));
		/* the peer sends its segments after this line */
		printf("{\"enabled\": true}\n");
		fflush(stdout);
	}
	if (!ended)
		do_wish(tg, id, &w);

	printf("{\"wcs\": [");
	if (!ended)
		ended = id->channel ? next_event(tg, RDMA_CM_EVENT_DISCONNECTED, id) :
				      stream_ended(id->qp);
	print_wcs(tg, &first);
	printf("], ");
	print_async(tg);
	print_dirty(tg);
	last_terminate(id->qp, &last);
	print_terminate("sent", &last.sent);
	print_terminate("received", &last.received);
	require(!ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init), "%s", strerror(errno));
	/* the length identifies the wish */
	printf("\"state\": %d, \"len\": %u, \"refused\": %s, \"ended\": %s}\n", attr.qp_state,
	       be32toh(w.len), refused ? "true" : "false", ended ? "true" : "false");
	fflush(stdout);
	require(!ibv_destroy_qp(id->qp), "%s", strerror(errno));
	if (tg->doomed)
		require(!ibv_dereg_mr(tg->doomed), "%s", strerror(errno));
	if (tg->small)
		require(!ibv_destroy_cq(tg->small), "%s", strerror(errno));
	tg->doomed = NULL;
	tg->small = NULL;
	id->qp = NULL;
	if (id->channel) {
		rdma_destroy_id(id);
	} else {
		close(req.fd);
		free(id);
	}
}

static void listen_tcp(struct target *tg, const struct sockaddr_storage *addr)
{
	int on = 1;

	tg->tcp = socket(addr->ss_family, SOCK_STREAM, 0);
	require(tg->tcp > 0 &&
		!setsockopt(tg->tcp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
		!bind(tg->tcp, (const struct sockaddr *)addr, sizeof(*addr)) &&
		!listen(tg->tcp, 16), "%s", strerror(errno));
	tg->ctx = test_context();
}

static void listen_cm(struct target *tg, struct sockaddr_storage *addr)
{
	tg->cm = cm_channel(true);
	require(!rdma_create_id(tg->cm, &tg->listener, NULL, RDMA_PS_TCP) &&
		!rdma_bind_addr(tg->listener, (struct sockaddr *)addr) &&
		!rdma_listen(tg->listener, 16), "%s", strerror(errno));
	require(tg->listener->verbs, "no device has the address");
	tg->ctx = tg->listener->verbs;
}

int main(int argc, char **argv)
{
	struct sockaddr_storage addr;
	struct target tg = { 0 };

	if (argc < 3) {
		fprintf(stderr, "usage: target ADDRESS PORT [rdmac]\n");
		return EXIT_FAIL;
	}
	test_addr = argv[1];
	resolve(test_addr, atoi(argv[2]), &addr);
	if (argc > 3)
		listen_tcp(&tg, &addr);
	else
		listen_cm(&tg, &addr);
	make_memory(&tg);
	fprintf(stderr, "ready\n");
	for (;;)
		serve(&tg);
}
