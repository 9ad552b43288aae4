/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Rings of WQEs and CQEs. The memory of a user's ring is mapped by the user
 * and can change at any time: indices read from it are checked here, entries
 * are copied by the caller before they are looked at.
 */
#ifndef SRNIC_RING_H
#define SRNIC_RING_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>

/**
 * struct srnic_ring - a ring, user's or kernel's
 * @hdr: indices and flags
 * @entries: count, a power of two
 * @stride: bytes from one entry to the next
 * @bytes: size of the memory, whole pages
 * @mmap: NULL for a kernel consumer's ring
 *
 * All immutable after srnic_ring_alloc(); what is behind @hdr is not.
 */
struct srnic_ring {
	struct srnic_ring_hdr *hdr;
	u32 entries;
	u32 stride;
	size_t bytes;
	struct srnic_mmap_entry *mmap;
};

/**
 * struct srnic_mmap_entry - what an mmap offset stands for
 * @rdma_entry: the core's part
 * @memory: the ring, in the kernel's address space
 * @pages: what it is made of, charged to the user; freed with the entry
 * @npages: how many
 */
struct srnic_mmap_entry {
	struct rdma_user_mmap_entry rdma_entry;
	void *memory;
	struct page **pages;
	u32 npages;
};

static inline void *srnic_ring_slot(const struct srnic_ring *ring, u32 index)
{
	return (u8 *)ring->hdr + SRNIC_RING_HDR +
	       (size_t)(index & (ring->entries - 1)) * ring->stride;
}

/**
 * srnic_ring_filled - entries between a trusted and an untrusted index
 * @ring: the ring
 * @producer: producer index
 * @consumer: consumer index
 *
 * Return: 0 to @ring->entries, or -EPROTO if the indices contradict each
 * other, that is, if a user scribbled over the shared one.
 */
static inline int srnic_ring_filled(const struct srnic_ring *ring,
				    u32 producer, u32 consumer)
{
	u32 n = producer - consumer;

	return n <= ring->entries ? (int)n : -EPROTO;
}

int srnic_ring_alloc(struct srnic_ring *ring, u32 entries, u32 stride,
		     struct ib_ucontext *uctx);
void srnic_ring_free(struct srnic_ring *ring);
void srnic_ring_describe(const struct srnic_ring *ring, struct srnic_mmap *desc);
int srnic_ring_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma);
void srnic_ring_mmap_free(struct rdma_user_mmap_entry *rdma_entry);

#endif
