// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Establishing connections. The QP is created when it is needed: a VI may change its tag
 * between two connections, and a QP cannot.
 */
#include <stdlib.h>
#include "establish.h"
#include "lane.h"
#include "transfer.h"
#include "ud.h"
#include "wr.h"

#define RESOLVE_MS	2000
#define MAX_READS	16	/* outstanding in each direction */

/* --- the QP --- */

static bool ring_alloc(struct vipl_ring *ring, unsigned int size, struct vipl_header *headers)
{
	unsigned int i;

	ring->slots = calloc(size, sizeof(*ring->slots));
	ring->headers = headers;
	ring->size = size;
	for (i = 0; ring->slots && i < size; i++)
		ring->slots[i].ring = ring;
	return ring->slots;
}

static unsigned int recv_wrs(const struct vipl_link *link)
{
	return vipl_is_ud(link->vi) ? VIPL_UD_RECVS : VIPL_RECV_WRS;
}

/* Posts receives for messages that the peer may send before the VI is Connected */
static bool post_first(struct vipl_link *link)
{
	if (vipl_is_ud(link->vi))
		return vipl_ud_post_all(link);
	return !link->passive || vipl_wr_await_ready(link);
}

static bool make_rings(struct vipl_link *link)
{
	size_t len = (VIPL_SEND_WRS + VIPL_RECV_WRS) * sizeof(struct vipl_header);
	struct vipl_header *headers;

	link->mr = vipl_memory_alloc(link->vi->ptag, len);
	if (!link->mr)
		return false;
	headers = link->mr->addr;
	if (vipl_is_ud(link->vi) && !vipl_ud_alloc(link))
		return false;
	return ring_alloc(&link->send, VIPL_SEND_WRS, headers) &&
	       ring_alloc(&link->recv, recv_wrs(link), headers + VIPL_SEND_WRS);
}

/*
 * Withholds from the peer what the VI does not enable: rdma_cm allows all access, when it creates
 * a QP and again in rdma_accept(). Reliable Reception needs Reads. A QP that withholds nothing is
 * not changed: siw leaves what comes meanwhile unread until more comes, and a client waits after
 * its first message.
 */
static bool set_access(struct vipl_link *link)
{
	const VIP_VI_ATTRIBUTES *a = &link->vi->attribs;
	bool read = a->EnableRdmaRead || a->ReliabilityLevel == VIP_SERVICE_RELIABLE_RECEPTION;
	struct ibv_qp_attr attr = {
		.qp_access_flags = (a->EnableRdmaWrite ? IBV_ACCESS_REMOTE_WRITE : 0) |
				   (read ? IBV_ACCESS_REMOTE_READ : 0),
	};

	return (a->EnableRdmaWrite && read) ||
	       !ibv_modify_qp(link->id->qp, &attr, IBV_QP_ACCESS_FLAGS);
}

/*
 * A message that finds no descriptor breaks the connection (2.3.1): srnic is not to wait for one.
 * Devices of InfiniBand have that by rnr_retry_count of conn_param(), and may refuse this.
 */
static void without_rnr(struct vipl_link *link)
{
	struct ibv_qp_attr attr = { .rnr_retry = 0 };

	ibv_modify_qp(link->id->qp, &attr, IBV_QP_RNR_RETRY);
}

static bool make_qp(struct vipl_link *link)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = VIPL_SEND_WRS,
			.max_recv_wr = recv_wrs(link),
			.max_send_sge = link->nic->sges,
			.max_recv_sge = link->nic->sges,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	link->lane = vipl_lane_take(link->nic, VIPL_SEND_WRS + VIPL_RECV_WRS);
	if (!link->lane || !make_rings(link))
		return false;
	attr.send_cq = link->lane->cq;
	attr.recv_cq = link->lane->cq;
	if (rdma_create_qp(link->id, link->vi->ptag->pd, &attr))
		return false;
	without_rnr(link);
	return set_access(link) && post_first(link);
}

static struct rdma_conn_param conn_param(struct vipl_link *link, enum vipl_hello_kind kind,
					 void *data)
{
	struct ibv_device_attr *dev = &link->nic->device;
	struct vipl_hello hello = link->peer;

	hello.kind = kind;
	hello.attribs = link->vi->attribs;
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = vipl_hello_pack(&hello, data),
		.responder_resources = dev->max_qp_rd_atom < MAX_READS ?
				       dev->max_qp_rd_atom : MAX_READS,
		.initiator_depth = dev->max_qp_init_rd_atom < MAX_READS ?
				   dev->max_qp_init_rd_atom : MAX_READS,
	};
}

/* --- connecting --- */

static void bind_vi(struct vipl_link *link, struct vipl_vi *vi)
{
	link->vi = vi;
	vi->link = link;
	vi->outcome = VIPL_TRYING;
}

/**
 * vipl_establish() - Begin to connect to a peer
 * @vi: Pending, has no link
 * @from: the client's address
 * @to: the server's address
 * @port: one of the ports of @to
 *
 * The outcome is stored in @vi later. Unless it is VIPL_CONNECTED, the link is gone then.
 *
 * Context: the NIC's lock is held.
 * Return: false without resources.
 */
bool vipl_establish(struct vipl_vi *vi, const struct vipl_address *from,
		    const struct vipl_address *to, uint16_t port)
{
	struct sockaddr_in src = { .sin_family = AF_INET, .sin_addr = vi->nic->address };
	struct sockaddr_in dst = {
		.sin_family = AF_INET,
		.sin_addr = to->host,
		.sin_port = htons(port),
	};
	struct vipl_link *link;
	struct rdma_cm_id *id;

	if (rdma_create_id(vi->nic->channel, &id, NULL, RDMA_PS_TCP))
		return false;
	link = vipl_link_new(vi->nic, id);
	if (!link)
		return false;
	link->peer.from = from->disc;
	link->peer.to = to->disc;
	bind_vi(link, vi);
	if (rdma_resolve_addr(id, (struct sockaddr *)&src, (struct sockaddr *)&dst, RESOLVE_MS)) {
		vipl_link_give_up(link, VIPL_NOBODY);
		vipl_link_reap(link);
	}
	return true;
}

/*
 * Connects after all receives are posted, so that the peer's first message finds them. Some
 * devices report an absent server at once.
 */
static void call(struct vipl_link *link)
{
	char data[VIPL_HELLO_MAX];
	struct rdma_conn_param param;

	if (!make_qp(link)) {
		vipl_link_give_up(link, VIPL_FAILED);
		return;
	}
	vipl_transfer_push(link->vi, &link->vi->recv);
	param = conn_param(link, VIPL_REQUEST, data);
	if (rdma_connect(link->id, &param))
		vipl_link_give_up(link, VIPL_NOBODY);
}

/**
 * vipl_establish_accept() - Accept a request for a VI
 * @link: the request
 * @vi: Pending, has no link
 *
 * The outcome is stored in @vi as for vipl_establish().
 *
 * Context: the NIC's lock is held.
 */
void vipl_establish_accept(struct vipl_link *link, struct vipl_vi *vi)
{
	char data[VIPL_HELLO_MAX];
	struct rdma_conn_param param;

	bind_vi(link, vi);
	if (make_qp(link)) {
		vipl_transfer_push(vi, &vi->recv);
		param = conn_param(link, VIPL_ACCEPT, data);
		if (!rdma_accept(link->id, &param) && set_access(link))
			return;
	}
	vipl_link_give_up(link, VIPL_FAILED);
	vipl_link_reap(link);
}

/* --- events of rdma_cm --- */

static void rejected(struct vipl_link *link, const struct vipl_event *event)
{
	struct vipl_hello hello;

	vipl_link_give_up(link, vipl_hello_parse(event->data, event->len, &hello) &&
		      hello.kind == VIPL_REFUSE ? VIPL_REJECTED : VIPL_NOBODY);
}

/* A server has its connection when the client's first message comes. */
static void established(struct vipl_link *link, const struct vipl_event *event)
{
	struct vipl_hello hello;

	if (link->passive)
		return;
	if (!vipl_hello_parse(event->data, event->len, &hello) || hello.kind != VIPL_ACCEPT) {
		vipl_link_give_up(link, VIPL_NOBODY);
		return;
	}
	link->peer.attribs = hello.attribs;
	vipl_link_up(link);
	if (!vipl_wr_ready(link))
		vipl_link_end(link, VIP_STATE_ERROR);
}

/**
 * vipl_establish_event() - Handle an event of rdma_cm for a link
 * @link: may be gone afterwards
 * @event: not that of a request
 *
 * Context: the NIC's lock is held.
 */
void vipl_establish_event(struct vipl_link *link, const struct vipl_event *event)
{
	switch (event->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (!link->ending && rdma_resolve_route(link->id, RESOLVE_MS))
			vipl_link_give_up(link, VIPL_NOBODY);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (!link->ending)
			call(link);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (!link->ending)
			established(link, event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rejected(link, event);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (link->vi && !link->ending)
			vipl_link_end(link, VIP_STATE_ERROR);
		/* fall through */
	default:
		vipl_link_broken(link);
		vipl_link_abort(link);
	}
	vipl_link_reap(link);
}
