// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Slots: data of a WR that a completion of RNICPI has, but not one of verbs (op_type after an
 * error, the consumer's bits, the bytes of a Write). The wr_id of verbs is the slot's place.
 */
#include <stdlib.h>
#include "rnic.h"

/**
 * ri_ring_init() - Allocate the slots of a queue of a QP
 * @ring: zero
 * @size: number of WRs that the queue takes; may be 0
 *
 * Context: any thread.
 * Return: false without memory.
 */
bool ri_ring_init(struct rnic_ring *ring, uint32_t size)
{
	pthread_mutex_init(&ring->lock, NULL);
	ring->size = size;
	ring->slots = calloc(size ? size : 1, sizeof(*ring->slots));
	return ring->slots;
}

/**
 * ri_srq_ring_init() - Allocate the slots of an SRQ, which are freed in any order
 * @ring: zero
 * @size: number of WRs that the SRQ takes
 *
 * Context: any thread.
 * Return: false without memory.
 */
bool ri_srq_ring_init(struct rnic_ring *ring, uint32_t size)
{
	uint32_t i;

	if (!ri_ring_init(ring, size))
		return false;
	for (i = 0; i < size; i++)
		ring->slots[i].next = i + 1 < size ? i + 2 : 0;
	ring->head = size ? 1 : 0;
	return true;
}

/**
 * ri_ring_free() - Free the slots of a queue
 * @ring: of ri_ring_init() or ri_srq_ring_init(), even if that failed, or zero
 *
 * Context: any thread.
 */
void ri_ring_free(struct rnic_ring *ring)
{
	free(ring->slots);
	ring->slots = NULL;
}

/**
 * ri_ring_reset() - Discard all WRs
 * @ring: of a QP that is Idle again, whose completions are discarded
 *
 * Context: any thread.
 */
void ri_ring_reset(struct rnic_ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->tail = ring->head;
	pthread_mutex_unlock(&ring->lock);
}

/**
 * ri_ring_next() - The slot of the next WR
 * @ring: of a QP; the caller increments @head after the post
 * @place: set to the slot's place, for wr_id
 *
 * Context: the ring's lock is held.
 * Return: the slot, or NULL if the queue is full.
 */
struct rnic_slot *ri_ring_next(struct rnic_ring *ring, uint64_t *place)
{
	if (!ring->size || ring->head - ring->tail >= ring->size)
		return NULL;
	*place = ring->head;
	return &ring->slots[ring->head % ring->size];
}

/**
 * ri_srq_ring_next() - The slot of the next WR of an SRQ
 * @ring: of an SRQ; the caller sets @head to the slot's @next after the post
 * @place: set to the slot's place, for wr_id
 *
 * Context: the ring's lock is held.
 * Return: the slot, or NULL if the SRQ is full.
 */
struct rnic_slot *ri_srq_ring_next(struct rnic_ring *ring, uint64_t *place)
{
	if (!ring->head)
		return NULL;
	*place = ring->head - 1;
	return &ring->slots[ring->head - 1];
}

/* Also frees the slots of earlier WRs, which are unsignaled and done. */
static bool end_in_order(struct rnic_ring *ring, uint32_t place, struct rnic_slot *slot)
{
	if (place - ring->tail >= ring->head - ring->tail)
		return false;
	*slot = ring->slots[place % ring->size];
	ring->tail = place + 1;
	return true;
}

static bool end_of_srq(struct rnic_ring *ring, uint32_t place, struct rnic_slot *slot)
{
	if (place >= ring->size)
		return false;
	*slot = ring->slots[place];
	ring->slots[place].next = ring->head;
	ring->head = place + 1;
	return true;
}

/**
 * ri_slot_end() - Free the slot of a completed WR
 * @qp: its QP
 * @wc: its completion
 * @slot: set to a copy
 *
 * Context: any thread; takes the ring's lock.
 * Return: false if the slot is not in use: the QP was reset since the post.
 */
bool ri_slot_end(struct rnic_qp *qp, const struct ibv_wc *wc, struct rnic_slot *slot)
{
	bool send = wc->wr_id & RI_SEND_ID, good;
	struct rnic_ring *ring = send ? &qp->sq : qp->srq ? &qp->srq->ring : &qp->rq;

	pthread_mutex_lock(&ring->lock);
	if (!send && qp->srq)
		good = end_of_srq(ring, (uint32_t)wc->wr_id, slot);
	else
		good = end_in_order(ring, (uint32_t)wc->wr_id, slot);
	pthread_mutex_unlock(&ring->lock);
	return good;
}
