/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The rings shared with the kernel: the one place that touches their index
 * words. <rdma/srnic-abi.h> has the layout and the rules.
 */
#ifndef SRNIC_RING_H
#define SRNIC_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/srnic-abi.h>

struct srnic_ring {
	struct srnic_ring_hdr *hdr;	/* NULL: the ring is absent */
	uint8_t *slots;
	size_t map_size;
	uint64_t space;			/* address space of the mapping, see ring.c */
	uint32_t entries;		/* power of two, or 0 without a ring */
	uint32_t stride;		/* bytes from one entry to the next */
};

int srnic_ring_map(struct srnic_ring *ring, int cmd_fd,
		   const struct srnic_mmap *map, uint32_t entries,
		   uint32_t stride);
void srnic_ring_unmap(struct srnic_ring *ring);
bool srnic_ring_is_here(const struct srnic_ring *ring);

/* The entry at a free-running index. The ring must be present. */
static inline void *srnic_ring_entry(const struct srnic_ring *ring,
				     uint32_t index)
{
	return ring->slots +
	       (size_t)(index & (ring->entries - 1)) * ring->stride;
}

/* Hand all entries before index to the kernel. */
static inline void srnic_ring_produce(struct srnic_ring *ring, uint32_t index)
{
	__atomic_store_n(&ring->hdr->producer, index, __ATOMIC_RELEASE);
}

/* The kernel's producer index: all entries before it may be read. */
static inline uint32_t srnic_ring_produced(const struct srnic_ring *ring)
{
	return __atomic_load_n(&ring->hdr->producer, __ATOMIC_ACQUIRE);
}

/* Give all entries before index back to the kernel. */
static inline void srnic_ring_consume(struct srnic_ring *ring, uint32_t index)
{
	__atomic_store_n(&ring->hdr->consumer, index, __ATOMIC_RELEASE);
}

static inline uint32_t srnic_ring_consumed(const struct srnic_ring *ring)
{
	return __atomic_load_n(&ring->hdr->consumer, __ATOMIC_ACQUIRE);
}

/*
 * Does the kernel need a doorbell? The barrier orders the store of the producer
 * index before the load of the flag. The kernel sets the flag and then reads the
 * index once more before it sleeps. So either the kernel sees the index, or this
 * function sees the flag. The flag is loaded with acquire, as the kernel stores it
 * with release: the doorbell sees what the kernel stored before.
 */
static inline bool srnic_ring_wants_doorbell(const struct srnic_ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->hdr->flags, __ATOMIC_ACQUIRE) &
	       SRNIC_RING_NEED_WAKEUP;
}

/*
 * Add to the arm word. Bits of earlier arms stay: a later "solicited" does not
 * replace "next completion". The barrier orders the word before the poll that
 * has to follow.
 */
static inline void srnic_ring_arm(struct srnic_ring *ring, uint32_t bits)
{
	__atomic_fetch_or(&ring->hdr->flags, bits, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
