// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Slots. A slot has the data of a WR that its completion has in RNICPI and not in verbs (op_type
 * after an error, the consumer's bits, the bytes of a Write). The wr_id of verbs is its place.
 */
#include <stdlib.h>
#include "rnic.h"

static bool ring_init(struct rnic_ring *ring, uint32_t slots)
{
	pthread_mutex_init(&ring->lock, NULL);
	ring->size = slots;
	ring->slots = calloc(slots, sizeof(*ring->slots));
	return ring->slots;
}

/* A power of two: places count modulo 2^32 */
static uint64_t slots_of(uint32_t size)
{
	uint64_t slots = 1;

	while (slots < 2 * (uint64_t)size)
		slots *= 2;
	return slots;
}

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
	return ring_init(ring, slots_of(size));
}

/**
 * ri_ring_grow() - Have slots for more WRs
 * @ring: of a QP
 * @size: number of WRs that the queue is to take; for fewer than before nothing changes
 *
 * Context: any thread; takes the ring's lock.
 * Return: false without memory.
 */
bool ri_ring_grow(struct rnic_ring *ring, uint32_t size)
{
	struct rnic_slot *more, *old;
	uint64_t slots = slots_of(size);
	uint32_t i;

	pthread_mutex_lock(&ring->lock);
	old = NULL;
	more = slots > ring->size ? calloc(slots, sizeof(*more)) : NULL;
	for (i = 0; more && i < ring->size; i++) {
		uint32_t place = ring->head - ring->size + i;

		more[place % slots] = ring->slots[place % ring->size];
	}
	if (more) {
		old = ring->slots;
		ring->slots = more;
		ring->size = slots;
	}
	pthread_mutex_unlock(&ring->lock);
	free(old);
	return slots <= ring->size;
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
	pthread_mutex_init(&ring->lock, NULL);
	return ri_srq_ring_grow(ring, size) == size;
}

/**
 * ri_srq_ring_grow() - Have slots for more WRs of an SRQ
 * @ring: of an SRQ
 * @size: number of WRs that the SRQ is to take; for fewer than before nothing changes, since the
 * slots of outstanding WRs are anywhere, and verbs refuses WRs beyond their number
 *
 * Context: any thread; takes the ring's lock.
 * Return: how many WRs have slots: @size, or without memory less.
 */
uint32_t ri_srq_ring_grow(struct rnic_ring *ring, uint32_t size)
{
	struct rnic_slot *more;
	uint32_t i, have;

	pthread_mutex_lock(&ring->lock);
	more = size > ring->size ? realloc(ring->slots, size * sizeof(*more)) : NULL;
	if (more) {
		for (i = size; i-- > ring->size; ring->head = i + 1)
			more[i] = (struct rnic_slot){ .next = ring->head };
		ring->slots = more;
		ring->size = size;
	}
	have = size < ring->size ? size : ring->size;
	pthread_mutex_unlock(&ring->lock);
	return have;
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
 * ri_ring_rest() - Free the slots of the WRs from before a QP came to rest
 * @ring: of a QP; the completions of these WRs are taken from verbs
 *
 * WRs that the program has posted since then keep their slots. verbs alone knows how many these
 * are; it has room for half as many as there are slots, or less.
 *
 * Context: any thread; takes the ring's lock.
 */
void ri_ring_rest(struct rnic_ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	if (ring->head - ring->tail > ring->size / 2)
		ring->tail = ring->head - ring->size / 2;
	pthread_mutex_unlock(&ring->lock);
}

/**
 * ri_ring_full() - Whether the slots of all WRs may still be needed
 * @ring: of a QP
 *
 * On srnic verbs refuses a WR earlier. Another device may take a WR before older ones are polled.
 *
 * Context: the ring's lock is held.
 * Return: true if the next WR has to wait for a completion.
 */
bool ri_ring_full(const struct rnic_ring *ring)
{
	return ring->head - ring->tail >= ring->size;
}

/**
 * ri_ring_take() - Take the slot of a WR that verbs has taken
 * @ring: of a QP; the place of the slot, for wr_id, is @head
 * @slot: its contents
 *
 * Context: the ring's lock is held since before the post.
 */
void ri_ring_take(struct rnic_ring *ring, const struct rnic_slot *slot)
{
	ring->slots[ring->head++ % ring->size] = *slot;
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

/* Earlier WRs are unsignaled and done */
static bool end_in_order(struct rnic_ring *ring, uint32_t place, struct rnic_slot *slot)
{
	if (ring->head - 1 - place >= ring->size)
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
 * Return: false if there is no such slot: the program has posted the WR by itself, to verbs.
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
