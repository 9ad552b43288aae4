// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work requests and the ring of each direction. A header in front of each message has what
 * iWARP cannot say: immediate data, and that a message takes no descriptor.
 */
#include <endian.h>
#include <string.h>
#include "wr.h"

/**
 * vipl_wr_has_room() - Whether a ring takes more WRs
 * @ring: the ring
 * @wrs: how many
 *
 * Context: vipl_lock is held, as for all of them.
 * Return: true if it does.
 */
bool vipl_wr_has_room(const struct vipl_ring *ring, unsigned int wrs)
{
	return ring->size - ring->busy >= wrs;
}

/**
 * vipl_wr_acknowledges() - Whether a send is done when the peer has it, and not when it is sent
 * @link: the connection
 *
 * Context: vipl_lock is held.
 * Return: true if it is.
 */
bool vipl_wr_acknowledges(const struct vipl_link *link)
{
	return link->vi->attribs.ReliabilityLevel == VIP_SERVICE_RELIABLE_RECEPTION;
}

/**
 * vipl_wr_header_sge() - The memory of the header of a ring's next WR
 * @ring: the ring
 *
 * Context: vipl_lock is held.
 * Return: where it is.
 */
struct ibv_sge vipl_wr_header_sge(const struct vipl_ring *ring)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)&ring->headers[ring->next],
		.length = sizeof(struct vipl_header),
		.lkey = ring->link->mr->lkey,
	};
}

static uint64_t next_wr_id(struct vipl_ring *ring, struct vipl_work *work)
{
	struct vipl_slot *slot = &ring->slots[ring->next];

	slot->work = work;
	return (uintptr_t)slot;
}

/* The WR with next_wr_id() is posted */
static void took_slot(struct vipl_ring *ring)
{
	struct vipl_slot *slot = &ring->slots[ring->next];

	ring->next = (ring->next + 1) % ring->size;
	ring->busy++;
	if (slot->work)
		slot->work->wrs++;
}

/**
 * vipl_wr_send() - Post a WR that sends
 * @link: with a QP
 * @work: its descriptor, NULL if it is the library's own
 * @wr: all of it but its id
 *
 * Context: vipl_lock is held.
 * Return: false if the device does not take it.
 */
bool vipl_wr_send(struct vipl_link *link, struct vipl_work *work, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->wr_id = next_wr_id(&link->send, work);
	if (ibv_post_send(link->id->qp, wr, &bad))
		return false;
	took_slot(&link->send);
	return true;
}

/**
 * vipl_wr_recv() - Post a receive
 * @link: with a QP
 * @work: its descriptor, NULL if it is the library's own
 * @sge: where the message goes, its header in front
 * @n: of @sge
 *
 * Context: vipl_lock is held.
 * Return: false if the device does not take it.
 */
bool vipl_wr_recv(struct vipl_link *link, struct vipl_work *work, struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = n }, *bad;

	wr.wr_id = next_wr_id(&link->recv, work);
	if (ibv_post_recv(link->id->qp, &wr, &bad))
		return false;
	took_slot(&link->recv);
	return true;
}

/**
 * vipl_wr_header() - Write the header of the next message
 * @link: with room for it
 * @type: of the message
 * @work: its descriptor, NULL if it is the library's own
 *
 * Context: vipl_lock is held.
 * Return: the header, for what else is to be in it.
 */
struct vipl_header *vipl_wr_header(struct vipl_link *link, enum vipl_message type,
				   const struct vipl_work *work)
{
	struct vipl_header *header = &link->send.headers[link->send.next];

	memset(header, 0, sizeof(*header));
	header->type = type;
	if (work && work->cs.Control & VIP_CONTROL_IMMEDIATE) {
		header->flags = VIPL_HAS_IMM;
		header->imm = htole32(work->cs.ImmediateData);
	}
	return header;
}

/**
 * vipl_wr_flags() - The flags of a WR that sends
 * @link: where it goes
 *
 * An RDMA Read that has not come back may fail, and then what is behind it has no effect
 * (6.3.1.1).
 *
 * Context: vipl_lock is held.
 * Return: of enum ibv_send_flags.
 */
unsigned int vipl_wr_flags(const struct vipl_link *link)
{
	return vipl_wr_acknowledges(link) && link->reads ? IBV_SEND_FENCE : 0;
}

/**
 * vipl_wr_message() - Post a message behind vipl_wr_header()
 * @link: with a QP
 * @work: its descriptor, NULL if it is the library's own
 * @sge: its data from [1] on; [0] becomes the header
 * @n: of @sge
 *
 * Context: vipl_lock is held.
 * Return: false if the device does not take it.
 */
bool vipl_wr_message(struct vipl_link *link, struct vipl_work *work, struct ibv_sge *sge, int n)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND,
		.sg_list = sge,
		.num_sge = n,
		.send_flags = vipl_wr_flags(link),
	};

	sge[0] = vipl_wr_header_sge(&link->send);
	return vipl_wr_send(link, work, &wr);
}

static bool post_own(struct vipl_link *link, enum vipl_message type, uint32_t imm)
{
	struct ibv_sge sge;

	vipl_wr_header(link, type, NULL)->imm = htole32(imm);
	return vipl_wr_message(link, NULL, &sge, 1);
}

/**
 * vipl_wr_await_ready() - Post the receive of the client's first message
 * @link: passive, with a new QP
 *
 * Context: vipl_lock is held.
 * Return: false if the device does not take it.
 */
bool vipl_wr_await_ready(struct vipl_link *link)
{
	struct ibv_sge sge = vipl_wr_header_sge(&link->recv);

	return vipl_wr_recv(link, NULL, &sge, 1);
}

/**
 * vipl_wr_ready() - Tell the server that the client has its connection
 * @link: not passive, up
 *
 * MPA has the client send first (RFC 5044 7.1.2), VIA anybody.
 *
 * Context: vipl_lock is held.
 * Return: false if the device does not take it.
 */
bool vipl_wr_ready(struct vipl_link *link)
{
	return post_own(link, VIPL_MSG_READY, 0);
}

/**
 * vipl_wr_credits() - Tell the peer that buffers are free again
 * @link: of Unreliable Delivery, up
 * @credits: how many
 *
 * Context: vipl_lock is held.
 * Return: false if there is no room for it now.
 */
bool vipl_wr_credits(struct vipl_link *link, unsigned int credits)
{
	return vipl_wr_has_room(&link->send, 1) && post_own(link, VIPL_MSG_CREDITS, credits);
}
