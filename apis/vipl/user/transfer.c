// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Descriptors to work requests, and completions to descriptors. */
#include <endian.h>
#include "bounce.h"
#include "check.h"
#include "queue.h"
#include "status.h"
#include "transfer.h"
#include "ud.h"
#include "wr.h"

/* --- rings --- */

static bool is_recv(const struct vipl_ring *ring)
{
	return ring == &ring->link->recv;
}

static struct vipl_queue *queue_of(const struct vipl_ring *ring)
{
	struct vipl_vi *vi = ring->link->vi;

	return is_recv(ring) ? &vi->recv : &vi->send;
}

/* --- descriptors as WRs --- */

static bool post_send_desc(struct vipl_link *link, struct vipl_work *work)
{
	struct ibv_sge sge[VIPL_SGES];
	int n = vipl_bounce_out(link->vi, work, sge + 1, link->nic->sges - 1);

	vipl_wr_header(link, VIPL_MSG_SEND, work);
	return n >= 0 && vipl_wr_message(link, work, sge, n + 1);
}

/* An RDMA Write of Unreliable Delivery: a message that the peer's library places */
static bool post_write_message(struct vipl_link *link, struct vipl_work *work)
{
	const VIP_ADDRESS_SEGMENT *remote = &work->ds[0].Remote;
	struct ibv_sge sge[VIPL_SGES];
	int n = vipl_bounce_out(link->vi, work, sge + 1, link->nic->sges - 1);
	struct vipl_header *header = vipl_wr_header(link, VIPL_MSG_WRITE, work);

	header->target = htole64(remote->Data.AddressBits);
	header->handle = htole32(remote->Handle);
	return n >= 0 && vipl_wr_message(link, work, sge, n + 1);
}

static struct ibv_send_wr rdma_wr(const struct vipl_work *work, enum ibv_wr_opcode opcode,
				  struct ibv_sge *sge, int n)
{
	const VIP_ADDRESS_SEGMENT *remote = &work->ds[0].Remote;

	return (struct ibv_send_wr){
		.opcode = opcode,
		.sg_list = sge,
		.num_sge = n,
		.wr.rdma = {
			.remote_addr = remote->Data.AddressBits,
			.rkey = remote->Handle,
		},
	};
}

/* A message behind the Write shows the peer that the data is placed: RFC 5040 5.5 */
static bool post_write_desc(struct vipl_link *link, struct vipl_work *work)
{
	struct ibv_sge sge[VIPL_SGES];
	int n = vipl_bounce_out(link->vi, work, sge, link->nic->sges);
	struct ibv_send_wr wr = rdma_wr(work, IBV_WR_RDMA_WRITE, sge, n);

	wr.send_flags = vipl_wr_flags(link);
	if (n < 0 || !vipl_wr_send(link, work, &wr))
		return false;
	if (!(work->cs.Control & VIP_CONTROL_IMMEDIATE))
		return true;
	vipl_wr_header(link, VIPL_MSG_WRITTEN, work);
	return vipl_wr_message(link, work, sge, 1);
}

static bool post_read_desc(struct vipl_link *link, struct vipl_work *work)
{
	int max = link->nic->device.max_sge_rd < link->nic->sges ?
		  link->nic->device.max_sge_rd : link->nic->sges;
	struct ibv_sge sge[VIPL_SGES];
	int n = vipl_bounce_in(link->vi, work, sge, max);
	struct ibv_send_wr wr = rdma_wr(work, IBV_WR_RDMA_READ, sge, n);

	link->reads++;
	return n >= 0 && vipl_wr_send(link, work, &wr);
}

/*
 * Reliable Reception: a Read of length 0 completes when all data before it is placed
 * (RFC 5040 5.5), so its completion completes the descriptor.
 */
static bool post_acknowledge(struct vipl_link *link, struct vipl_work *work)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };

	return vipl_wr_send(link, work, &wr);
}

static bool post_recv_desc(struct vipl_link *link, struct vipl_work *work)
{
	struct ibv_sge sge[VIPL_SGES];
	int n = vipl_bounce_in(link->vi, work, sge + 1, link->nic->sges - 1);

	sge[0] = vipl_wr_header_sge(&link->recv);
	return n >= 0 && vipl_wr_recv(link, work, sge, n + 1);
}

static bool post_sent_desc(struct vipl_link *link, struct vipl_work *work)
{
	if (work->op == VIP_STATUS_OP_RDMA_READ)
		return post_read_desc(link, work);
	if (vipl_is_ud(link->vi)) {
		link->credits--;
		return work->op == VIP_STATUS_OP_RDMA_WRITE ? post_write_message(link, work) :
							      post_send_desc(link, work);
	}
	return (work->op == VIP_STATUS_OP_RDMA_WRITE ? post_write_desc(link, work) :
						       post_send_desc(link, work)) &&
	       (!vipl_wr_acknowledges(link) || post_acknowledge(link, work));
}

static bool post_desc(struct vipl_ring *ring, struct vipl_work *work)
{
	return is_recv(ring) ? post_recv_desc(ring->link, work) :
			       post_sent_desc(ring->link, work);
}

/* --- from the queue to the QP --- */

static void end_bad(struct vipl_ring *ring, struct vipl_work *work, uint32_t status)
{
	struct vipl_link *link = ring->link;
	struct vipl_result result = { .status = status, .op = work->op };

	vipl_queue_end(link->vi, queue_of(ring), work, &result);
	link->blamed = true;
	vipl_link_fault(link);
}

/* A fence waits for all descriptors before it, and not only for Reads: 6.3.1.2 */
static bool is_fenced(const struct vipl_ring *ring, const struct vipl_work *work)
{
	return !is_recv(ring) && work->cs.Control & VIP_CONTROL_QFENCE && ring->busy;
}

/* A descriptor takes up to three WRs; one more is for a message of the library's own. */
static bool may_post(const struct vipl_ring *ring)
{
	if (is_recv(ring))
		return vipl_wr_has_room(ring, 1);
	return vipl_wr_has_room(ring, 4) && (!vipl_is_ud(ring->link->vi) || ring->link->credits);
}

/* Return: false if the descriptor has to wait */
static bool push_one(struct vipl_ring *ring, struct vipl_work *work)
{
	uint32_t bad;

	if (!may_post(ring) || is_fenced(ring, work))
		return false;
	bad = vipl_check_desc(ring->link->vi, work, is_recv(ring));
	/* A bad descriptor ends after those before it, and not without a connection (5.2). */
	if (bad && (ring->busy || !ring->link->up))
		return false;
	if (bad)
		end_bad(ring, work, bad);
	else if (!post_desc(ring, work))
		vipl_link_end(ring->link, VIP_STATE_ERROR);
	return true;
}

/**
 * vipl_transfer_push() - Post work requests for the descriptors of a queue
 * @vi: without a link with a QP this does nothing
 * @queue: its send queue, if it is Connected, or its receive queue
 *
 * A descriptor in error breaks the connection when it is processed. The caller calls
 * vipl_link_reap().
 *
 * Context: the NIC's lock is held.
 */
void vipl_transfer_push(struct vipl_vi *vi, struct vipl_queue *queue)
{
	struct vipl_link *link = vi->link;
	struct vipl_work *work;

	if (!link || !link->id->qp)
		return;
	if (vipl_is_ud(vi) && queue == &vi->recv) {
		if (link->up && !link->ending)
			vipl_ud_drop_bad(vi);
		vipl_queue_notify(vi, queue);
		return;
	}
	while (!link->ending && (work = queue->todo)) {
		if (!push_one(queue == &vi->recv ? &link->recv : &link->send, work))
			break;
		queue->todo = work->next;
	}
	vipl_queue_notify(vi, queue);
}

/* --- from completions to descriptors --- */

static void read_header(const struct vipl_header *header, uint32_t len,
			struct vipl_result *result)
{
	bool sent = header->type == VIPL_MSG_SEND;

	result->op = sent ? VIP_STATUS_OP_RECEIVE : VIP_STATUS_OP_REMOTE_RDMA_WRITE;
	result->length = sent ? len - sizeof(*header) : 0;
	result->has_imm = header->flags & VIPL_HAS_IMM;
	result->imm = le32toh(header->imm);
}

static void end_work(struct vipl_ring *ring, struct vipl_work *work, struct vipl_result *result)
{
	if (!result->status && !vipl_bounce_back(work, result->length))
		result->status = VIP_STATUS_PROTECTION_ERROR;
	if (!vipl_queue_end(ring->link->vi, queue_of(ring), work, result))
		vipl_link_fault(ring->link);
	if (result->status && !ring->link->ending)
		vipl_link_end(ring->link, VIP_STATE_ERROR);
}

/* A WR of a descriptor is done; the last one completes the descriptor. */
static void retire_work(struct vipl_ring *ring, const struct vipl_slot *slot,
			const struct ibv_wc *wc)
{
	struct vipl_work *work = slot->work;
	struct vipl_result result = { .op = work->op };

	if (!work->failed)
		work->failed = vipl_status_of(ring->link, work, wc->status);
	ring->link->reads -= work->op == VIP_STATUS_OP_RDMA_READ;
	if (--work->wrs || !ring->link->up)
		return;
	result.status = work->failed;
	if (!result.status && is_recv(ring))
		read_header(&ring->headers[slot - ring->slots], wc->byte_len, &result);
	else if (!result.status)
		result.length = work->cs.Length;
	end_work(ring, work, &result);
}

/* Is this a message that the peer's library sends for such a receive? */
static bool is_message(const struct vipl_ring *ring, const struct vipl_slot *slot, uint32_t len)
{
	uint8_t type = ring->headers[slot - ring->slots].type;

	if (len < sizeof(struct vipl_header))
		return false;
	return slot->work ? type == VIPL_MSG_SEND || type == VIPL_MSG_WRITTEN :
			    type == VIPL_MSG_READY;
}

/* A receive is done. Any message that the peer's library does not send is an error. */
static void retire_recv(struct vipl_ring *ring, const struct vipl_slot *slot, struct ibv_wc *wc)
{
	struct vipl_link *link = ring->link;

	if (vipl_is_ud(link->vi)) {
		if (!wc->status && !link->ending)
			vipl_ud_received(link, slot - ring->slots, wc->byte_len);
		return;
	}
	if (!wc->status && !is_message(ring, slot, wc->byte_len))
		wc->status = IBV_WC_FATAL_ERR;
	if (slot->work)
		retire_work(ring, slot, wc);
	else if (!wc->status && !link->ending)
		vipl_link_up(link);
}

static void go_on(struct vipl_link *link)
{
	if (vipl_is_ud(link->vi))
		vipl_ud_give_back(link);
	vipl_transfer_push(link->vi, &link->vi->recv);
	vipl_transfer_push(link->vi, &link->vi->send);
}

/**
 * vipl_transfer_retire() - Take a completion of verbs
 * @wc: of any link of a NIC; the link may be gone afterwards
 *
 * Context: the NIC's lock is held.
 */
void vipl_transfer_retire(const struct ibv_wc *wc)
{
	const struct vipl_slot *slot = (const struct vipl_slot *)(uintptr_t)wc->wr_id;
	struct vipl_ring *ring = slot->ring;
	struct vipl_link *link = ring->link;
	struct ibv_wc copy = *wc;

	ring->busy--;
	if (is_recv(ring))
		retire_recv(ring, slot, &copy);
	else if (slot->work)
		retire_work(ring, slot, &copy);
	if (copy.status)
		vipl_link_broken(link);
	if (link->up)
		go_on(link);
	vipl_link_reap(link);
}
