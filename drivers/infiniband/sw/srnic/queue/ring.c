// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Ring memory and its mapping into a user's address space. */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "queue/ring.h"
#include "srnic.h"

static struct srnic_mmap_entry *to_srnic_mmap_entry(struct rdma_user_mmap_entry *e)
{
	return container_of(e, struct srnic_mmap_entry, rdma_entry);
}

static void entry_free(struct srnic_mmap_entry *entry)
{
	vunmap(entry->memory);
	while (entry->npages)
		__free_page(entry->pages[--entry->npages]);
	kvfree(entry->pages);
	kfree(entry);
}

/*
 * Does what vmalloc_user() does, which charges no memory cgroup. Allocates page by page, since
 * __vmalloc() cannot make what a user may map. entry_free() frees the pages one by one, too, since
 * vfree() of pages that vmalloc has not made itself spoils its statistics in some kernels.
 */
static struct srnic_mmap_entry *entry_new(size_t bytes)
{
	struct srnic_mmap_entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	u32 n = bytes >> PAGE_SHIFT;

	if (!entry)
		return NULL;
	entry->pages = kvmalloc_array(n, sizeof(*entry->pages), SRNIC_GFP_USER);
	while (entry->pages && entry->npages < n) {
		struct page *page = alloc_page(SRNIC_GFP_USER | __GFP_ZERO);

		if (!page)
			break;
		entry->pages[entry->npages++] = page;
	}
	if (entry->npages == n)
		entry->memory = vmap(entry->pages, n, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	if (!entry->memory) {
		entry_free(entry);
		return NULL;
	}
	return entry;
}

/**
 * srnic_ring_alloc - make a zeroed ring
 * @ring: filled in
 * @entries: a power of two
 * @stride: bytes an entry
 * @uctx: the user that will map it, NULL for a kernel consumer
 *
 * Context: process, may sleep.
 *
 * Return: 0, -ENOMEM, or -EOVERFLOW if it would be too large to map.
 */
int srnic_ring_alloc(struct srnic_ring *ring, u32 entries, u32 stride,
		     struct ib_ucontext *uctx)
{
	struct srnic_mmap_entry *entry;
	size_t bytes;
	int err;

	if (check_mul_overflow((size_t)entries, (size_t)stride, &bytes) ||
	    check_add_overflow(bytes, (size_t)SRNIC_RING_HDR, &bytes) ||
	    bytes > U32_MAX)
		return -EOVERFLOW;

	memset(ring, 0, sizeof(*ring));
	ring->entries = entries;
	ring->stride = stride;
	ring->bytes = PAGE_ALIGN(bytes);

	if (!uctx) {
		ring->hdr = vzalloc(ring->bytes);
		return ring->hdr ? 0 : -ENOMEM;
	}

	entry = entry_new(ring->bytes);
	if (!entry)
		return -ENOMEM;
	err = rdma_user_mmap_entry_insert(uctx, &entry->rdma_entry, ring->bytes);
	if (err) {
		entry_free(entry);
		return err;
	}
	ring->hdr = entry->memory;
	ring->mmap = entry;
	return 0;
}

/**
 * srnic_ring_free - give a ring back
 * @ring: may be one that was never allocated (all zero)
 *
 * The kernel touches the memory no more; a user's mapping keeps the pages until
 * it goes. Context: process, may sleep.
 */
void srnic_ring_free(struct srnic_ring *ring)
{
	if (ring->mmap)
		rdma_user_mmap_entry_remove(&ring->mmap->rdma_entry);
	else
		vfree(ring->hdr);
	memset(ring, 0, sizeof(*ring));
}

/**
 * srnic_ring_describe - what the provider needs to map a ring
 * @ring: of a user, or one never allocated
 * @desc: filled in
 * Context: any.
 */
void srnic_ring_describe(const struct srnic_ring *ring, struct srnic_mmap *desc)
{
	desc->offset = ring->mmap ?
		rdma_user_mmap_get_offset(&ring->mmap->rdma_entry) : 0;
	desc->size = ring->bytes;
}

/**
 * srnic_ring_mmap - the mmap operation of a user context
 * @uctx: whose rings
 * @vma: asked for; must cover exactly one ring
 *
 * A child process does not get the mapping: it may have dropped the rights of its parent,
 * and closed its files. Nor can the mapping be made executable later.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL for an unknown offset, another length or an executable
 * or private mapping.
 */
int srnic_ring_mmap(struct ib_ucontext *uctx, struct vm_area_struct *vma)
{
	size_t size = vma->vm_end - vma->vm_start;
	struct rdma_user_mmap_entry *rdma_entry;
	int err;

	if (!(vma->vm_flags & VM_SHARED) || (vma->vm_flags & VM_EXEC))
		return -EINVAL;
	rdma_entry = rdma_user_mmap_entry_get(uctx, vma);
	if (!rdma_entry)
		return -EINVAL;
	if (size != rdma_entry->npages * PAGE_SIZE)
		err = -EINVAL;
	else
		err = remap_vmalloc_range(vma, to_srnic_mmap_entry(rdma_entry)->memory, 0);
	rdma_user_mmap_entry_put(rdma_entry);
	if (!err)
		vm_flags_mod(vma, VM_DONTCOPY, VM_MAYEXEC);
	return err;
}

/**
 * srnic_ring_mmap_free - the last user of a mapping entry is gone
 * @rdma_entry: of a ring
 * Context: process, may sleep.
 */
void srnic_ring_mmap_free(struct rdma_user_mmap_entry *rdma_entry)
{
	entry_free(to_srnic_mmap_entry(rdma_entry));
}
