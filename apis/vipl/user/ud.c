// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Unreliable Delivery (2.5.1) on a stream that is reliable and breaks at each error. All
 * messages go to buffers of the library, and the library copies them to descriptors. It drops
 * a message for which no descriptor is posted, and an RDMA Write that VI or region refuse. The
 * sender knows how many buffers are free, and waits for one: no message is lost in transit.
 */
#include <endian.h>
#include "bounce.h"
#include "check.h"
#include "queue.h"
#include "ud.h"
#include "wr.h"

/* --- buffers --- */

static size_t buffer_bytes(const struct vipl_link *link)
{
	return sizeof(struct vipl_header) + link->vi->attribs.MaxTransferSize;
}

static void *buffer_of(const struct vipl_link *link, unsigned int slot)
{
	return (char *)link->buffers->addr + slot * buffer_bytes(link);
}

/**
 * vipl_ud_alloc() - Allocate the buffers of a link
 * @link: without a QP
 *
 * Context: the NIC's lock is held.
 * Return: false without memory.
 */
bool vipl_ud_alloc(struct vipl_link *link)
{
	link->buffers = vipl_memory_alloc(link->vi->ptag, VIPL_UD_RECVS * buffer_bytes(link));
	link->credits = VIPL_UD_CREDITS;
	return link->buffers;
}

static bool post_buffer(struct vipl_link *link)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buffer_of(link, link->recv.next),
		.length = buffer_bytes(link),
		.lkey = link->buffers->lkey,
	};

	return vipl_wr_recv(link, NULL, &sge, 1);
}

/**
 * vipl_ud_post_all() - Post receives for all buffers of a link
 * @link: with a new QP
 *
 * Context: the NIC's lock is held.
 * Return: false if a post fails.
 */
bool vipl_ud_post_all(struct vipl_link *link)
{
	unsigned int i;

	for (i = 0; i < VIPL_UD_RECVS; i++)
		if (!post_buffer(link))
			return false;
	return true;
}

/* --- descriptors --- */

static void end_head(struct vipl_vi *vi, const struct vipl_result *result)
{
	struct vipl_work *work = vi->recv.todo;

	vi->recv.todo = work->next;
	vipl_queue_end(vi, &vi->recv, work, result);
}

/**
 * vipl_ud_drop_bad() - Complete bad receives at the head of the queue, with an error
 * @vi: Connected
 *
 * Context: the NIC's lock is held.
 */
void vipl_ud_drop_bad(struct vipl_vi *vi)
{
	struct vipl_result result = { .op = VIP_STATUS_OP_RECEIVE };

	while (vi->recv.todo) {
		result.status = vipl_check_desc(vi, vi->recv.todo, true);
		if (!result.status)
			return;
		end_head(vi, &result);
	}
}

static void set_imm(struct vipl_result *result, const struct vipl_header *header)
{
	result->has_imm = header->flags & VIPL_HAS_IMM;
	result->imm = le32toh(header->imm);
}

/* --- messages --- */

static void drop(struct vipl_link *link)
{
	link->nic->counters.MessagesDropped++;
}

static void take_send(struct vipl_link *link, const struct vipl_header *header, uint32_t len)
{
	struct vipl_result result = { .op = VIP_STATUS_OP_RECEIVE, .length = len };
	struct vipl_vi *vi = link->vi;

	if (!vi->recv.todo) {
		drop(link);
		return;
	}
	set_imm(&result, header);
	if (len > vipl_data_bytes(vi->recv.todo))
		result.status = VIP_STATUS_LENGTH_ERROR;
	else if (!vipl_bounce_scatter(vi->recv.todo, header + 1, len))
		result.status = VIP_STATUS_PROTECTION_ERROR;
	if (result.status) {
		result.length = 0;
		result.has_imm = false;
	}
	end_head(vi, &result);
}

/* Checks as a device does: VI and region must allow Writes, and have the same tag (3.2.2) */
static bool place(struct vipl_link *link, const struct vipl_header *header, uint32_t len)
{
	struct vipl_vi *vi = link->vi;
	VIP_DATA_SEGMENT target = {
		.Data.AddressBits = le64toh(header->target),
		.Handle = le32toh(header->handle),
		.Length = len,
	};

	return vi->attribs.EnableRdmaWrite &&
	       (!len || (vipl_memory_may_write(vi->nic, vi->ptag, &target) &&
			 vipl_bounce_copy(&target, header + 1, len)));
}

static void take_write(struct vipl_link *link, const struct vipl_header *header, uint32_t len)
{
	struct vipl_result result = { .op = VIP_STATUS_OP_REMOTE_RDMA_WRITE };
	bool placed = place(link, header, len);

	set_imm(&result, header);
	if (!placed || (result.has_imm && !link->vi->recv.todo))
		drop(link);
	if (!result.has_imm || !link->vi->recv.todo)
		return;
	if (!placed) {
		result.status = VIP_STATUS_PROTECTION_ERROR;
		result.has_imm = false;
	}
	end_head(link->vi, &result);
}

static void take_credits(struct vipl_link *link, uint32_t credits)
{
	if (credits <= VIPL_UD_CREDITS - link->credits)
		link->credits += credits;
	else
		vipl_link_end(link, VIP_STATE_ERROR);
}

static void take(struct vipl_link *link, const struct vipl_header *header, uint32_t len)
{
	switch (header->type) {
	case VIPL_MSG_READY:
		if (!link->up)
			vipl_link_up(link);
		return;
	case VIPL_MSG_CREDITS:
		take_credits(link, le32toh(header->imm));
		return;
	case VIPL_MSG_SEND:
		take_send(link, header, len);
		break;
	case VIPL_MSG_WRITE:
		take_write(link, header, len);
		break;
	default:
		vipl_link_end(link, VIP_STATE_ERROR);
		return;
	}
	link->owed++;
}

/**
 * vipl_ud_received() - Handle a received message
 * @link: not ending
 * @slot: of its receive ring
 * @len: bytes of the message
 *
 * Context: the NIC's lock is held.
 */
void vipl_ud_received(struct vipl_link *link, unsigned int slot, uint32_t len)
{
	struct vipl_header *header = buffer_of(link, slot);

	/* The head may not be checked yet, or its memory may be gone since. */
	if (link->up)
		vipl_ud_drop_bad(link->vi);
	if (len >= sizeof(*header) && (link->up || header->type == VIPL_MSG_READY))
		take(link, header, len - sizeof(*header));
	else
		vipl_link_broken(link);
	if (!link->ending && !post_buffer(link))
		vipl_link_end(link, VIP_STATE_ERROR);
}

/**
 * vipl_ud_give_back() - Report free buffers to the peer
 * @link: up
 *
 * Reports half of the buffers at once: a report needs a buffer of the peer, which has a few extra
 * for them.
 *
 * Context: the NIC's lock is held.
 */
void vipl_ud_give_back(struct vipl_link *link)
{
	if (link->ending || link->owed < VIPL_UD_CREDITS / 2)
		return;
	if (vipl_wr_credits(link, link->owed))
		link->owed = 0;
}
