// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connections over rdma_cm, and the WRs posted on them. Nothing here depends on the type of
 * device; where devices differ, their attributes are queried.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "verbs.h"

#define RESOLVE_MS	5000
#define SHORT		64	/* a message that is sent inline */
#define READS		16	/* under way, if the case does not want more */

/*
 * The CQ of any end has at least this size. libsiw takes the offset 0x90000 of a queue in its
 * mapping for an error, and so cannot make one of some 40 QPs; the CQ, which is mapped first,
 * occupies that offset.
 */
#define MIN_CQE		20480

void node_init(struct node *n, const struct bench *b, uint32_t sq, uint32_t rq)
{
	memset(n, 0, sizeof(*n));
	n->b = b;
	n->sq = sq;
	n->rq = rq;
	n->event = b->event;
	n->num = b->links;
	n->size = b->size;
	n->stride = (2 * (size_t)b->size + 4095) & ~4095ULL;
	n->links = calloc(n->num, sizeof(*n->links));
	require(n->links, "%s", strerror(errno));
	n->cm = cm_channel(false);
}

/* With the first connection: the device, and memory for all connections. */
static void open_device(struct node *n, struct ibv_context *device)
{
	struct ibv_device_attr attr;
	size_t bytes = n->stride * n->num;
	uint32_t cqe = n->num * (n->sq + n->rq) + 1, most = READS;

	if (n->device)
		return;
	n->device = device;
	if (n->b->op == OP_READ && n->b->depth > most)
		most = n->b->depth;
	if (ibv_query_device(device, &attr))
		die("ibv_query_device: %s", strerror(errno));
	n->reads = attr.max_qp_rd_atom < attr.max_qp_init_rd_atom ?
		   attr.max_qp_rd_atom : attr.max_qp_init_rd_atom;
	if (n->reads > most)
		n->reads = most;
	n->pd = ibv_alloc_pd(device);
	require(n->pd, "ibv_alloc_pd: %s", strerror(errno));
	n->events = ibv_create_comp_channel(device);
	require(n->events, "ibv_create_comp_channel: %s", strerror(errno));
	if (cqe < MIN_CQE)
		cqe = MIN_CQE;
	if (cqe > (uint32_t)attr.max_cqe)
		cqe = attr.max_cqe;
	n->cq = ibv_create_cq(device, cqe, NULL, n->events, 0);
	require(n->cq, "ibv_create_cq of %u: %s", cqe, strerror(errno));
	n->mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	require(n->mem != MAP_FAILED, "%zu bytes: %s", bytes, strerror(errno));
	memset(n->mem, 0, bytes);
	n->mr = ibv_reg_mr(n->pd, n->mem, bytes, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	require(n->mr, "ibv_reg_mr of %zu bytes: %s", bytes, strerror(errno));
}

void link_make(struct node *n, struct link *l, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = n->sq, .max_recv_wr = n->rq, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = SHORT },
		.qp_type = IBV_QPT_RC,
	};

	open_device(n, id->verbs);
	attr.send_cq = n->cq;
	attr.recv_cq = n->cq;
	l->id = id;
	id->context = l;
	l->out = n->mem + (l - n->links) * n->stride;
	l->in = l->out + n->size;
	if (rdma_create_qp(id, n->pd, &attr))
		die("rdma_create_qp %zu: %s", l - n->links, strerror(errno));
	n->max_inline = attr.cap.max_inline_data < SHORT ? attr.cap.max_inline_data : SHORT;
	for (uint32_t i = 0; i < n->rq; i++)
		link_receive(n, l);
}

static struct rdma_conn_param param_of(struct node *n, struct link *l, struct greeting *g)
{
	*g = (struct greeting){ l - n->links, n->mr->rkey, (uintptr_t)l->in };
	return (struct rdma_conn_param){
		.private_data = g, .private_data_len = sizeof(*g),
		.initiator_depth = n->reads, .responder_resources = n->reads,
		.retry_count = 7, .rnr_retry_count = 7,
	};
}

void link_resolve(struct node *n, struct link *l, uint16_t port)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *id;

	resolve(n->b->addr, port, &addr);
	if (rdma_create_id(n->cm, &id, l, RDMA_PS_TCP))
		die("rdma_create_id: %s", strerror(errno));
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, RESOLVE_MS))
		die("rdma_resolve_addr %s: %s", n->b->addr, strerror(errno));
	cm_expect(n->cm, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	if (rdma_resolve_route(id, RESOLVE_MS))
		die("rdma_resolve_route: %s", strerror(errno));
	cm_expect(n->cm, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	link_make(n, l, id);
}

void link_connect(struct node *n, struct link *l)
{
	struct greeting g;
	struct rdma_conn_param param = param_of(n, l, &g);

	if (rdma_connect(l->id, &param))
		die("rdma_connect %zu: %s", l - n->links, strerror(errno));
}

static void greeted(struct link *l, const struct rdma_cm_event *ev)
{
	struct greeting g;

	require(ev->param.conn.private_data_len >= sizeof(g), "%u bytes of private data",
		ev->param.conn.private_data_len);
	memcpy(&g, ev->param.conn.private_data, sizeof(g));
	l->raddr = g.addr;
	l->rkey = g.rkey;
}

/* ESTABLISHED, at either end; the client's has the answer of the server. */
void link_established(struct node *n, struct rdma_cm_event *ev)
{
	struct link *l = ev->id->context;

	if (ev->event != RDMA_CM_EVENT_ESTABLISHED)
		die("%s (status %d) in place of ESTABLISHED, after %u connections",
		    rdma_event_str(ev->event), ev->status, n->up);
	if (!n->b->server)
		greeted(l, ev);
	n->up++;
	rdma_ack_cm_event(ev);
}

void node_listen(struct node *n)
{
	struct sockaddr_storage addr;
	int tries = 20;

	resolve(n->b->addr, 0, &addr);
	/* TCP may already use a port that rdma_cm chose */
	while (tries--) {
		if (rdma_create_id(n->cm, &n->listener, NULL, RDMA_PS_TCP))
			die("rdma_create_id: %s", strerror(errno));
		if (rdma_bind_addr(n->listener, (struct sockaddr *)&addr))
			die("rdma_bind_addr %s: %s", n->b->addr, strerror(errno));
		open_device(n, n->listener->verbs);
		if (!rdma_listen(n->listener, 1024)) {
			control_say(n->b, "port", ntohs(rdma_get_src_port(n->listener)));
			return;
		}
		rdma_destroy_id(n->listener);
	}
	die("rdma_listen: %s", strerror(errno));
}

/* Returns when all links are up. */
void node_accept(struct node *n)
{
	struct rdma_conn_param param;
	struct rdma_cm_event *ev;
	struct greeting g;
	struct link *l;

	while (n->up < n->num) {
		if (rdma_get_cm_event(n->cm, &ev))
			die("rdma_get_cm_event: %s", strerror(errno));
		if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
			link_established(n, ev);
			continue;
		}
		memcpy(&g, ev->param.conn.private_data, sizeof(g));
		require(g.index < n->num, "link %u", g.index);
		l = &n->links[g.index];
		greeted(l, ev);
		link_make(n, l, ev->id);
		rdma_ack_cm_event(ev);
		param = param_of(n, l, &g);
		if (rdma_accept(l->id, &param))
			die("rdma_accept %zu: %s", l - n->links, strerror(errno));
	}
}

/* A link that is resolved; returns when it is up. */
void link_up(struct node *n, struct link *l)
{
	struct rdma_cm_event *ev;

	link_connect(n, l);
	if (rdma_get_cm_event(n->cm, &ev))
		die("rdma_get_cm_event: %s", strerror(errno));
	link_established(n, ev);
}

/* All links, one after the other. */
void node_connect(struct node *n)
{
	uint16_t port;

	if (n->b->server) {
		node_listen(n);
		node_accept(n);
	} else {
		port = control_expect(n->b, "port");
		for (uint32_t i = 0; i < n->num; i++) {
			link_resolve(n, &n->links[i], port);
			link_up(n, &n->links[i]);
		}
	}
	begin_together(n->b);
	control_meet(n->b);
}

/* All links end; returns when this end knows it of all. */
void node_down(struct node *n)
{
	struct rdma_cm_event *ev;
	uint32_t down = 0;

	for (uint32_t i = 0; !n->b->server && i < n->num; i++)
		if (rdma_disconnect(n->links[i].id))
			die("rdma_disconnect %u: %s", i, strerror(errno));
	while (down < n->num) {
		if (rdma_get_cm_event(n->cm, &ev))
			die("rdma_get_cm_event: %s", strerror(errno));
		if (ev->event == RDMA_CM_EVENT_DISCONNECTED) {
			down++;
			if (n->b->server)
				rdma_disconnect(ev->id);
		} else if (ev->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			die("%s in place of DISCONNECTED", rdma_event_str(ev->event));
		}
		rdma_ack_cm_event(ev);
	}
}

/* Both ends are done: the end of the process frees the rest */
void node_end(struct node *n)
{
	control_meet(n->b);
	if (!n->b->server)
		for (uint32_t i = 0; i < n->num; i++)
			rdma_disconnect(n->links[i].id);
}

/* @data: a few bytes, or NULL for the link's out buffer */
void link_post(struct node *n, struct link *l, enum ibv_wr_opcode op, const void *data,
	       uint32_t len, bool signaled)
{
	struct ibv_sge sge = { (uintptr_t)(data ? data : l->out), len, n->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = op,
		.wr.rdma = { l->raddr, l->rkey },
	}, *bad;
	int err;

	if (op == IBV_WR_RDMA_READ)
		sge.addr = (uintptr_t)l->in;
	else if (len <= n->max_inline)
		wr.send_flags |= IBV_SEND_INLINE;
	else
		require(!data, "%u bytes do not fit inline", len);
	l->unsignaled++;
	l->outstanding++;
	/* A completion covers the WRs before it, too: their number is in its wr_id. */
	if (signaled) {
		wr.send_flags |= IBV_SEND_SIGNALED;
		wr.wr_id = (uint64_t)(l - n->links) << 32 | l->unsignaled;
		l->unsignaled = 0;
	}
	err = ibv_post_send(l->id->qp, &wr, &bad);
	require(!err, "ibv_post_send: %s", strerror(err));
}

void link_receive(struct node *n, struct link *l)
{
	struct ibv_sge sge = { (uintptr_t)l->in, n->size, n->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)(l - n->links) << 32, .sg_list = &sge,
				  .num_sge = 1 }, *bad;
	int err = ibv_post_recv(l->id->qp, &wr, &bad);

	require(!err, "ibv_post_recv: %s", strerror(err));
}

struct link *link_of(struct node *n, const struct ibv_wc *wc)
{
	return &n->links[wc->wr_id >> 32];
}

/* True for a receive. For a send: the SQ has room for as many WRs more. */
bool link_done(struct node *n, const struct ibv_wc *wc)
{
	struct link *l = link_of(n, wc);

	if (wc->status != IBV_WC_SUCCESS)
		die("link %zu: %s (vendor_err %#x)", l - n->links,
		    ibv_wc_status_str(wc->status), wc->vendor_err);
	if (wc->opcode & IBV_WC_RECV)
		return true;
	l->outstanding -= (uint32_t)wc->wr_id;
	return false;
}

int node_poll(struct node *n, struct ibv_wc *wc)
{
	int num = ibv_poll_cq(n->cq, CHUNK, wc);

	require(num >= 0, "ibv_poll_cq: %d", num);
	return num;
}

/* At least one completion */
int node_wait(struct node *n, struct ibv_wc *wc)
{
	struct ibv_cq *cq;
	void *context;
	int num;

	while (!(num = node_poll(n, wc))) {
		if (!n->event)
			continue;
		if (!n->armed) {
			if (ibv_req_notify_cq(n->cq, 0))
				die("ibv_req_notify_cq: %s", strerror(errno));
			n->armed = true;
			continue;	/* poll what came before the arm */
		}
		if (ibv_get_cq_event(n->events, &cq, &context))
			die("ibv_get_cq_event: %s", strerror(errno));
		ibv_ack_cq_events(cq, 1);
		n->armed = false;
	}
	return num;
}
