// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Rings that the kernel and a program share: mapping, and children of fork(). */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring.h"

/*
 * A child does not inherit rings over fork(), and may map its own memory at their
 * addresses. So each ring has the number of the address space that it is mapped
 * in. The kernel clears this page in a child: an address space whose page is
 * clear has mapped no ring yet. Process ids would not do: processes that share
 * their memory have different ones, and two namespaces may have the same ones.
 */
static uint64_t *srnic_space;		/* NULL: the allocation has failed */
static uint64_t srnic_spaces;		/* atomic; last number assigned */

static void __attribute__((constructor)) srnic_space_init(void)
{
	long size = sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	if (madvise(page, size, MADV_WIPEONFORK))
		munmap(page, size);
	else
		srnic_space = page;
}

/* Return: the number of this address space, 0 if there is no page for it. */
static uint64_t srnic_space_get(void)
{
	uint64_t number = 0, new;

	if (!srnic_space)
		return 0;
	new = __atomic_add_fetch(&srnic_spaces, 1, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(srnic_space, &number, new, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return new;
	return number;
}

/**
 * srnic_ring_is_here - is a ring mapped in this address space?
 * @ring: an absent ring is not
 *
 * Any thread.
 */
bool srnic_ring_is_here(const struct srnic_ring *ring)
{
	return ring->hdr &&
	       ring->space == __atomic_load_n(srnic_space, __ATOMIC_RELAXED);
}

/**
 * srnic_ring_map - map a ring that the kernel has allocated
 * @ring: result; on error, or if @map has no size, the absent ring
 * @cmd_fd: the uverbs fd
 * @map: offset and size of the mapping
 * @entries: number of entries, from the kernel
 * @stride: bytes from one entry to the next, from the kernel
 *
 * The kernel marks the mapping so that a child of fork() does not inherit it.
 *
 * Return: 0, EPROTO if the kernel's numbers contradict each other, ENOMEM, or the errno of
 * mmap(2). Any thread, any number at a time.
 */
int srnic_ring_map(struct srnic_ring *ring, int cmd_fd,
		   const struct srnic_mmap *map, uint32_t entries,
		   uint32_t stride)
{
	uint64_t space;
	void *mem;

	memset(ring, 0, sizeof(*ring));
	if (!map->size)
		return 0;

	if (!entries || (entries & (entries - 1)) || !stride || stride % 8 ||
	    map->size > SIZE_MAX || map->size < SRNIC_RING_HDR ||
	    (map->size - SRNIC_RING_HDR) / stride < entries)
		return EPROTO;

	space = srnic_space_get();
	if (!space)
		return ENOMEM;
	mem = mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_SHARED, cmd_fd,
		   map->offset);
	if (mem == MAP_FAILED)
		return errno;

	ring->hdr = mem;
	ring->space = space;
	ring->slots = (uint8_t *)mem + SRNIC_RING_HDR;
	ring->map_size = map->size;
	ring->entries = entries;
	ring->stride = stride;
	return 0;
}

/**
 * srnic_ring_unmap - undo srnic_ring_map()
 * @ring: may be absent
 *
 * The ring must not be in use any more. In a child of the process that mapped it,
 * does nothing.
 */
void srnic_ring_unmap(struct srnic_ring *ring)
{
	if (srnic_ring_is_here(ring))
		munmap(ring->hdr, ring->map_size);
	memset(ring, 0, sizeof(*ring));
}
