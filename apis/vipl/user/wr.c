// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Work requests and the ring of each direction. A header before each message has fields that
 * iWARP lacks: immediate data, and whether a message uses a descriptor.
 */
#include <endian.h>
#include <string.h>
#include "wr.h"

/**
 * vipl_wr_has_room() - Whether a ring has room for more WRs
 * @ring: the ring
 * @wrs: their number
 *
 * Context: the NIC's lock is held.
 * Return: true if it has.
 */
bool vipl_wr_has_room(const struct vipl_ring *ring, unsigned int wrs)
{
	return ring->size - ring->busy >= wrs;
}

/**
 * vipl_wr_acknowledges() - Whether a send completes only when the peer has received it
 * @link: the connection
 *
 * Context: the NIC's lock is held.
 * Return: true with Reliable Reception.
 */
bool vipl_wr_acknowledges(const struct vipl_link *link)
{
	return link->vi->attribs.ReliabilityLevel == VIP_SERVICE_RELIABLE_RECEPTION;
}

/**
 * vipl_wr_header_sge() - The memory of the header of a ring's next WR
 * @ring: the ring
 *
 * Context: the NIC's lock is held.
 * Return: an SGE for it.
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

/* Counts the WR that was posted with next_wr_id() */
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
 * @wr: complete except for its id
 *
 * Context: the NIC's lock is held.
 * Return: false if the post fails.
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
 * @sge: destination of the header and of the message
 * @n: number of @sge
 *
 * Context: the NIC's lock is held.
 * Return: false if the post fails.
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
 * Context: the NIC's lock is held.
 * Return: the header; the caller may set other fields.
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
 * @link: its link
 *
 * A fence with Reliable Reception behind an outstanding RDMA Read: if the Read fails, WRs behind it
 * must have no effect (6.3.1.1).
 *
 * Context: the NIC's lock is held.
 * Return: enum ibv_send_flags.
 */
unsigned int vipl_wr_flags(const struct vipl_link *link)
{
	return vipl_wr_acknowledges(link) && link->reads ? IBV_SEND_FENCE : 0;
}

/**
 * vipl_wr_message() - Post a message after vipl_wr_header()
 * @link: with a QP
 * @work: its descriptor, NULL if it is the library's own
 * @sge: its data from [1] on; [0] is set to the header
 * @n: number of @sge
 *
 * Context: the NIC's lock is held.
 * Return: false if the post fails.
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
 * Context: the NIC's lock is held.
 * Return: false if the post fails.
 */
bool vipl_wr_await_ready(struct vipl_link *link)
{
	struct ibv_sge sge = vipl_wr_header_sge(&link->recv);

	return vipl_wr_recv(link, NULL, &sge, 1);
}

/**
 * vipl_wr_ready() - Send the client's first message, which shows the server that it is connected
 * @link: not passive, up
 *
 * MPA requires that the client sends first (RFC 5044 7.1.2); VIA does not.
 *
 * Context: the NIC's lock is held.
 * Return: false if the post fails.
 */
bool vipl_wr_ready(struct vipl_link *link)
{
	return post_own(link, VIPL_MSG_READY, 0);
}

/**
 * vipl_wr_credits() - Send the number of free buffers to the peer
 * @link: of Unreliable Delivery, up
 * @credits: their number
 *
 * Context: the NIC's lock is held.
 * Return: false if the ring has no room now.
 */
bool vipl_wr_credits(struct vipl_link *link, unsigned int credits)
{
	return vipl_wr_has_room(&link->send, 1) && post_own(link, VIPL_MSG_CREDITS, credits);
}
