// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ring.h"

/**
 * srnic_ring_map - map a ring that the kernel made
 * @ring: result; on error, or if @map has no size, the absent ring
 * @cmd_fd: the uverbs fd
 * @map: where and how large
 * @entries: number of entries, as the kernel says
 * @stride: bytes from one entry to the next, as the kernel says
 *
 * The kernel marks the mapping: a child of fork() does not get it.
 *
 * Return: 0, EPROTO if the figures contradict each other, or the errno of
 * mmap(2). Any thread, any number at a time.
 */
int srnic_ring_map(struct srnic_ring *ring, int cmd_fd,
		   const struct srnic_mmap *map, uint32_t entries,
		   uint32_t stride)
{
	void *mem;

	memset(ring, 0, sizeof(*ring));
	if (!map->size)
		return 0;

	if (!entries || (entries & (entries - 1)) || !stride || stride % 8 ||
	    map->size > SIZE_MAX || map->size < SRNIC_RING_HDR ||
	    (map->size - SRNIC_RING_HDR) / stride < entries)
		return EPROTO;

	mem = mmap(NULL, map->size, PROT_READ | PROT_WRITE, MAP_SHARED, cmd_fd,
		   map->offset);
	if (mem == MAP_FAILED)
		return errno;

	ring->hdr = mem;
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
 * Nobody may use the ring any more.
 */
void srnic_ring_unmap(struct srnic_ring *ring)
{
	if (ring->hdr)
		munmap(ring->hdr, ring->map_size);
	memset(ring, 0, sizeof(*ring));
}
