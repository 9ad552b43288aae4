// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The program behind the device, whose peer is hostile: see prey.h. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "prey.h"

struct prey prey;

#define RD IBV_ACCESS_REMOTE_READ
#define WR IBV_ACCESS_REMOTE_WRITE
#define AT IBV_ACCESS_REMOTE_ATOMIC

const struct area areas[AREA_COUNT] = {
	[AREA_ALL]   = { "all", 1027, 6000, RD | WR, false },
	[AREA_WO]    = { "write-only", 8191, 2000, WR, false },
	[AREA_RO]    = { "read-only", 11111, 5000, RD, false },
	[AREA_AT]    = { "atomic", 16448, 512, RD | AT, false },
	[AREA_LOCAL] = { "local", 17408, 12288, 0, false },
	[AREA_OTHER] = { "other PD", 30003, 2000, RD | WR, true },
};

#define WR_KIND_RECV	0
#define WR_KIND_SEND	1

static uint64_t wr_id(const struct prey_slot *s, int kind, int i)
{
	return s->tag << 16 | (uint64_t)s->index << 10 | kind << 8 | i;
}

static void broken(const char *what, long a, long b)
{
	if (prey.broken)
		return;
	snprintf(prey.why, sizeof(prey.why), "%s (%ld, %ld)", what, a, b);
	prey.broken = prey.why;
}

void prey_open(const char *addr, uint16_t port)
{
	require(prey.mem = mmap(NULL, SLOTS * SLOT_MEM, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), "%s", strerror(errno));
	resolve(addr, port, &prey.addr);
	prey.cm = cm_channel(true);
	require(!rdma_create_id(prey.cm, &prey.listener, NULL, RDMA_PS_TCP) &&
		!rdma_bind_addr(prey.listener, (struct sockaddr *)&prey.addr) &&
		!rdma_listen(prey.listener, 4 * SLOTS), "%s", strerror(errno));
	require(prey.listener->verbs, "no device has the address");
	prey.ctx = prey.listener->verbs;
	fcntl(prey.ctx->async_fd, F_SETFL, fcntl(prey.ctx->async_fd, F_GETFL) | O_NONBLOCK);
	prey.pd = ibv_alloc_pd(prey.ctx);
	prey.pd2 = ibv_alloc_pd(prey.ctx);
	prey.cq = ibv_create_cq(prey.ctx, SLOTS * (MAX_RECV + MAX_SEND + 1), NULL, NULL, 0);
	require(prey.pd && prey.pd2 && prey.cq, "%s", strerror(errno));
	memset(prey.mem, GUARD_BYTE, SLOTS * SLOT_MEM);
	for (int i = 0; i < SLOTS; i++) {
		struct prey_slot *s = &prey.slot[i];

		s->index = i;
		s->mem = prey.mem + i * SLOT_MEM;
		for (int k = 0; k < AREA_COUNT; k++) {
			const struct area *a = &areas[k];
			int access = IBV_ACCESS_LOCAL_WRITE | a->access;

			for (uint32_t j = 0; j < a->len; j++)
				s->mem[a->off + j] = (j * 7 + i * 31 + k) % 251;
			if (k == AREA_ALL)
				access |= IBV_ACCESS_MW_BIND;
			s->mr[k] = ibv_reg_mr(a->other_pd ? prey.pd2 : prey.pd, s->mem + a->off,
					      a->len, access);
			require(s->mr[k], "%s: %s", a->name, strerror(errno));
		}
	}
}

void prey_close(void)
{
	for (int i = 0; i < SLOTS; i++)
		for (int k = 0; k < AREA_COUNT; k++)
			require(!ibv_dereg_mr(prey.slot[i].mr[k]), "%s", strerror(errno));
	require(!ibv_destroy_cq(prey.cq) && !ibv_dealloc_pd(prey.pd) &&
		!ibv_dealloc_pd(prey.pd2), "%s", strerror(errno));
	rdma_destroy_id(prey.listener);
	rdma_destroy_event_channel(prey.cm);
}

/* Forget the last connection; the caller then fills in the wish */
void prey_wish(struct prey_slot *s, uint64_t tag)
{
	size_t begin = offsetof(struct prey_slot, tag);

	memset((uint8_t *)s + begin, 0, sizeof(*s) - begin);
	s->tag = tag;
}

static void post_recv(struct prey_slot *s, int i)
{
	uint32_t half = s->recv_len / 2;
	struct ibv_sge sge[2] = {
		{ (uintptr_t)prey_recv_at(s, i, 0), s->recv_sges == 2 ? half : (uint32_t)s->recv_len,
		  s->mr[AREA_LOCAL]->lkey },
		{ (uintptr_t)prey_recv_at(s, i, half), s->recv_len - half,
		  s->mr[AREA_LOCAL]->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = wr_id(s, WR_KIND_RECV, i), .sg_list = sge,
				  .num_sge = s->recv_sges };
	struct ibv_recv_wr *bad;

	require(!ibv_post_recv(s->id->qp, &wr, &bad), "receive %d", i);
}

static void make_qp(struct prey_slot *s)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = prey.cq,
		.recv_cq = prey.cq,
		.cap = { .max_send_wr = MAX_SEND + 1, .max_recv_wr = MAX_RECV,
			 .max_send_sge = 1, .max_recv_sge = 2 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	require(!rdma_create_qp(s->id, prey.pd, &attr), "%s", strerror(errno));
	s->has_qp = true;
	s->qpn = s->id->qp->qp_num;
	for (int i = 0; i < s->recvs; i++)
		post_recv(s, i);
}

static struct rdma_conn_param conn_param = {
	.responder_resources = PREY_IRD,
	.initiator_depth = PREY_ORD,
};

static void requested(struct rdma_cm_id *id)
{
	uint16_t port = be16toh(rdma_get_dst_port(id));
	struct prey_slot *s = NULL;

	for (int i = 0; i < SLOTS; i++)
		if (prey.slot[i].port == port && !prey.slot[i].id)
			s = &prey.slot[i];
	if (!s) {
		broken("a request from a port that has no connection", port, 0);
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	s->requested = true;
	s->id = id;
	id->context = s;
	make_qp(s);
	/* the peer may be gone by now */
	if (rdma_accept(id, &conn_param)) {
		s->failed = true;
		s->fail_status = errno;
		return;
	}
	s->accepted = true;
	prey.accepts++;
}

static void must(struct prey_slot *s, bool ok, const char *what)
{
	if (ok)
		return;
	s->failed = true;
	s->fail_status = errno;
	broken(what, errno, s->index);
}

static void handle(struct rdma_cm_event *ev)
{
	struct prey_slot *s = ev->id->context;
	struct rdma_cm_id *id = ev->id;
	enum rdma_cm_event_type type = ev->event;
	int status = ev->status;

	/* an id cannot be destroyed before its events are acknowledged */
	rdma_ack_cm_event(ev);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		requested(id);
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		must(s, !rdma_resolve_route(id, PATIENCE), "rdma_resolve_route");
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		make_qp(s);
		must(s, !rdma_connect(id, &conn_param), "rdma_connect");
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (s->established)
			broken("ESTABLISHED twice", s->index, 0);
		s->established = true;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (s->disconnected)
			broken("DISCONNECTED twice", s->index, 0);
		s->disconnected = true;
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		if (s->failed)
			broken("failed twice", s->index, type);
		s->failed = true;
		s->fail_status = status;
		break;
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		broken("an event that cannot be", type, status);
	}
}

static void take_async(void)
{
	struct ibv_async_event ev;

	while (!ibv_get_async_event(prey.ctx, &ev)) {
		prey.async_events++;
		switch (ev.event_type) {
		case IBV_EVENT_QP_FATAL:
		case IBV_EVENT_QP_REQ_ERR:
		case IBV_EVENT_QP_ACCESS_ERR:
			for (int i = 0; i < SLOTS; i++)
				if (prey.slot[i].has_qp && prey.slot[i].id->qp == ev.element.qp)
					prey.slot[i].events++;
			break;
		default:
			broken("asynchronous event", ev.event_type, 0);
		}
		ibv_ack_async_event(&ev);
	}
}

static void complete(const struct ibv_wc *wc)
{
	struct prey_slot *s = &prey.slot[wc->wr_id >> 10 & (SLOTS - 1)];
	int i = wc->wr_id & 0xff;

	if (wc->wr_id >> 16 != s->tag || !s->has_qp || wc->qp_num != s->qpn) {
		broken("a completion of no WR of this connection", wc->wr_id >> 16, wc->qp_num);
		return;
	}
	if ((wc->wr_id >> 8 & 3) == WR_KIND_RECV) {
		if (i >= s->recvs || s->recv_seen[i]++) {
			broken("a receive that completes once more", i, wc->status);
			return;
		}
		s->recv_status[i] = wc->status;
		s->recv_bytes[i] = wc->byte_len;
		s->recv_order[s->recv_done++] = i;
	} else {
		if (i > MAX_SEND || s->send_seen[i]++) {
			broken("a send that completes once more", i, wc->status);
			return;
		}
		s->send_status[i] = wc->status;
		s->send_order[s->send_done++] = i;
	}
}

void prey_poll(void)
{
	struct ibv_wc wc[16];
	int n;

	while ((n = ibv_poll_cq(prey.cq, 16, wc)) > 0)
		for (int i = 0; i < n; i++)
			complete(&wc[i]);
	if (n < 0)
		broken("ibv_poll_cq", n, 0);
}

/*
 * Let others run, and return when there may be news. A sleep lasts at least a tick; most waits
 * are shorter, and poll() does not wait for completions.
 */
static void breathe(unsigned int round)
{
	struct pollfd pfd[SLOTS + 1] = { { .fd = prey.cm->fd, .events = POLLIN } };

	if (round < 20) {
		sched_yield();
		return;
	}
	memcpy(pfd + 1, prey.watch, prey.watched * sizeof(*pfd));
	poll(pfd, 1 + prey.watched, 1);
}

/* Process events until @done returns true; false: not in time */
bool prey_until(bool (*done)(void *), void *arg, unsigned int ms)
{
	uint64_t end = now_ms() + ms;
	unsigned int round = 0;

	for (;;) {
		struct rdma_cm_event *ev;

		while (!rdma_get_cm_event(prey.cm, &ev))
			handle(ev);
		prey_poll();
		take_async();
		if (done(arg) || prey.broken)
			return true;
		if (now_ms() >= end)
			return false;
		breathe(round++);
	}
}

/* Connect to the peer, which listens on @port of the same host */
void prey_connect(struct prey_slot *s, uint16_t port)
{
	struct sockaddr_storage to = prey.addr;

	((struct sockaddr_in *)&to)->sin_port = htons(port);
	require(!rdma_create_id(prey.cm, &s->id, s, RDMA_PS_TCP), "%s", strerror(errno));
	prey.connects++;
	must(s, !rdma_resolve_addr(s->id, NULL, (struct sockaddr *)&to, PATIENCE),
	     "rdma_resolve_addr");
}

static bool bound(void *arg)
{
	struct prey_slot *s = arg;

	return s->send_seen[MAX_SEND] || s->disconnected;
}

/*
 * A window of type 2 over a part of AREA_ALL; waits until it is bound. @may_fail: the stream may
 * have ended before, or wait for the rest of an FPDU
 */
void prey_bind(struct prey_slot *s, bool may_fail)
{
	struct ibv_send_wr wr = { .wr_id = wr_id(s, WR_KIND_SEND, MAX_SEND),
				  .opcode = IBV_WR_BIND_MW }, *bad;

	s->mw = ibv_alloc_mw(prey.pd, IBV_MW_TYPE_2);
	require(s->mw, "%s", strerror(errno));
	wr.bind_mw.mw = s->mw;
	wr.bind_mw.rkey = ibv_inc_rkey(s->mw->rkey);
	wr.bind_mw.bind_info.mr = s->mr[AREA_ALL];
	wr.bind_mw.bind_info.addr = (uintptr_t)s->mem + areas[AREA_ALL].off + MW_OFF;
	wr.bind_mw.bind_info.length = MW_LEN;
	wr.bind_mw.bind_info.mw_access_flags = RD | WR;
	require(!ibv_post_send(s->id->qp, &wr, &bad), "%s", strerror(errno));
	s->mw->rkey = wr.bind_mw.rkey;
	if ((!prey_until(bound, s, may_fail ? 1000 : PATIENCE) || s->send_status[MAX_SEND]) &&
	    !may_fail)
		broken("a window is not bound", s->send_status[MAX_SEND], s->index);
}

/* Post the program's own operations */
void prey_act(struct prey_slot *s)
{
	for (int i = 0; i < s->ops; i++) {
		struct prey_op *op = &s->op[i];
		struct ibv_sge sge = { (uintptr_t)prey_sink(s, i), op->len,
				       s->mr[AREA_LOCAL]->lkey };
		struct ibv_send_wr wr = { .wr_id = wr_id(s, WR_KIND_SEND, i), .sg_list = &sge,
					  .num_sge = 1, .opcode = op->opcode }, *bad;

		if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
		    op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
			wr.wr.atomic.remote_addr = op->remote;
			wr.wr.atomic.rkey = op->rkey;
			wr.wr.atomic.compare_add = 0x0102030405060708;
			wr.wr.atomic.swap = 0x1112131415161718;
		} else {
			wr.wr.rdma.remote_addr = op->remote;
			wr.wr.rdma.rkey = op->rkey;
		}
		require(!ibv_post_send(s->id->qp, &wr, &bad), "operation %d: %s", i,
			strerror(errno));
	}
}

/* The connection is over: poll its last completions, and destroy its objects. */
void prey_end(struct prey_slot *s)
{
	prey_poll();
	take_async();
	if (s->mw && ibv_dealloc_mw(s->mw))
		broken("ibv_dealloc_mw", errno, s->index);
	if (s->has_qp)
		rdma_destroy_qp(s->id);
	if (s->id && rdma_destroy_id(s->id))
		broken("rdma_destroy_id", errno, s->index);
	s->id = NULL;
	s->mw = NULL;
	s->has_qp = false;
}
