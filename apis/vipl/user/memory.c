// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Protection tags and registered memory (9.5, 9.8.4, 9.8.5). A tag is a protection
 * domain; a memory handle is the remote key of a memory region.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "lock.h"

/**
 * vipl_ptag_of() - Look up a tag
 * @nic: the only NIC for which it is valid (VIA-008)
 * @handle: any value that a program has passed
 *
 * Context: the NIC's lock is held.
 * Return: the tag, or NULL if @nic has no tag with that handle.
 */
struct vipl_ptag *vipl_ptag_of(struct vipl_nic *nic, VIP_PROTECTION_HANDLE handle)
{
	return vipl_object(nic, VIPL_PTAG, handle);
}

/* --- protection tags --- */

static VIP_RETURN ptag_create(struct vipl_nic *nic, VIP_PROTECTION_HANDLE *handle)
{
	struct vipl_ptag *ptag = calloc(1, sizeof(*ptag));

	if (!ptag)
		return VIP_ERROR_RESOURCE;
	ptag->nic = nic;
	ptag->pd = ibv_alloc_pd(nic->id->verbs);
	if (ptag->pd)
		ptag->handle = handle_new(VIPL_PTAG, ptag);
	if (!ptag->handle) {
		if (ptag->pd)
			ibv_dealloc_pd(ptag->pd);
		free(ptag);
		return VIP_ERROR_RESOURCE;
	}
	ptag->next = nic->ptags;
	nic->ptags = ptag;
	*handle = ptag->handle;
	return VIP_SUCCESS;
}

/**
 * vipl_default_ptag() - The tag for programs that pass none
 * @nic: the NIC
 *
 * Context: the NIC's lock is held; sleeps.
 * Return: the tag, NULL if the device has no more.
 */
VIP_PROTECTION_HANDLE vipl_default_ptag(struct vipl_nic *nic)
{
	if (!vipl_ptag_of(nic, nic->default_ptag) &&
	    ptag_create(nic, &nic->default_ptag))
		nic->default_ptag = NULL;
	return nic->default_ptag;
}

static void ptag_destroy(struct vipl_ptag *ptag)
{
	struct vipl_ptag **p = &ptag->nic->ptags;

	while (*p != ptag)
		p = &(*p)->next;
	*p = ptag->next;
	handle_free(ptag->handle);
	ibv_dealloc_pd(ptag->pd);
	free(ptag);
}

/**
 * VipCreatePtag() - Create a protection tag (9.5.1)
 * @NicHandle: of VipOpenNic()
 * @Ptag: the tag
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: the device has no more.
 */
VIP_RETURN VipCreatePtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE *Ptag)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;

	vipl_enter(VIPL_NIC, NicHandle, &nic);
	if (nic && Ptag)
		ret = ptag_create(nic, Ptag);
	vipl_leave(nic);
	return ret;
}

/**
 * VipDestroyPtag() - Destroy a protection tag (9.5.2)
 * @NicHandle: its NIC
 * @Ptag: of VipCreatePtag()
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER; VIP_ERROR_RESOURCE: it is in use (VIA-020).
 */
VIP_RETURN VipDestroyPtag(VIP_NIC_HANDLE NicHandle, VIP_PROTECTION_HANDLE Ptag)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_ptag *ptag = NULL;
	struct vipl_nic *nic;

	vipl_enter(VIPL_NIC, NicHandle, &nic);
	if (nic)
		ptag = vipl_ptag_of(nic, Ptag);
	if (ptag)
		ret = ptag->users ? VIP_ERROR_RESOURCE : VIP_SUCCESS;
	if (!ret)
		ptag_destroy(ptag);
	vipl_leave(nic);
	return ret;
}

/* --- the table of regions --- */

#define FIRST_BITS	6

static struct vipl_region **list_of(const struct vipl_regions *regions, VIP_MEM_HANDLE handle)
{
	/* the handles of a device may differ in their upper bits only, or in their lower ones */
	return &regions->lists[handle * 2654435761u >> (32 - regions->bits)];
}

static void insert(struct vipl_regions *regions, struct vipl_region *region)
{
	struct vipl_region **list = list_of(regions, region->mr->rkey);

	region->next = *list;
	*list = region;
}

/* Makes room for one more region. Return: false without memory */
static bool make_room(struct vipl_regions *regions)
{
	struct vipl_regions more = { .bits = regions->bits + 1, .count = regions->count };
	struct vipl_region *region;
	unsigned long i;

	if (!regions->lists)
		more.bits = FIRST_BITS;
	else if (regions->count < 1ul << regions->bits)
		return true;
	more.lists = calloc(1ul << more.bits, sizeof(*more.lists));
	if (!more.lists)
		return false;
	for (i = 0; regions->lists && i < 1ul << regions->bits; i++)
		while ((region = regions->lists[i])) {
			regions->lists[i] = region->next;
			insert(&more, region);
		}
	free(regions->lists);
	*regions = more;
	return true;
}

/* The place of the region with @handle. Return: NULL if there is none */
static struct vipl_region **place_of(struct vipl_nic *nic, VIP_MEM_HANDLE handle)
{
	struct vipl_region **p;

	if (!nic->regions.lists)
		return NULL;
	p = list_of(&nic->regions, handle);
	while (*p && (*p)->mr->rkey != handle)
		p = &(*p)->next;
	return *p ? p : NULL;
}

/* --- regions --- */

static struct vipl_region **find_region(struct vipl_nic *nic, const void *base,
					VIP_MEM_HANDLE handle)
{
	struct vipl_region **p = place_of(nic, handle);

	return p && (*p)->base == base ? p : NULL;
}

static int access_of(const VIP_MEM_ATTRIBUTES *attribs, bool read_only)
{
	return (read_only ? 0 : IBV_ACCESS_LOCAL_WRITE) |
	       (attribs->EnableRdmaWrite ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (attribs->EnableRdmaRead ? IBV_ACCESS_REMOTE_READ : 0);
}

/*
 * Registers whole pages (VIA-003). Read-only memory is registered for reading (VIA-015),
 * unless the program enables RDMA Writes into it.
 */
static bool register_pages(struct vipl_region *region)
{
	uintptr_t mask = sysconf(_SC_PAGESIZE) - 1;
	uintptr_t start = (uintptr_t)region->base & ~mask, end;

	if (__builtin_add_overflow((uintptr_t)region->base, region->length, &end) ||
	    __builtin_add_overflow(end, mask, &end))
		return false;
	end &= ~mask;
	region->mr = ibv_reg_mr(region->ptag->pd, (void *)start, end - start,
				access_of(&region->attribs, false));
	if (!region->mr && !region->attribs.EnableRdmaWrite &&
	    (errno == EFAULT || errno == EACCES || errno == EPERM)) {
		region->read_only = true;
		region->mr = ibv_reg_mr(region->ptag->pd, (void *)start, end - start,
					access_of(&region->attribs, true));
	}
	return region->mr;
}

/* Checks attributes of memory */
static VIP_RETURN check_attribs(struct vipl_nic *nic, const VIP_MEM_ATTRIBUTES *attribs)
{
	if (!vipl_ptag_of(nic, attribs->Ptag))
		return VIP_INVALID_PTAG;
	if (attribs->EnableRdmaRead && !nic->device.max_qp_rd_atom)
		return VIP_INVALID_RDMAREAD;
	return VIP_SUCCESS;
}

static VIP_RETURN region_register(struct vipl_nic *nic, void *base, size_t length,
				  const VIP_MEM_ATTRIBUTES *attribs, VIP_MEM_HANDLE *handle)
{
	struct vipl_region *region;
	VIP_RETURN ret = check_attribs(nic, attribs);

	if (ret)
		return ret;
	region = make_room(&nic->regions) ? calloc(1, sizeof(*region)) : NULL;
	if (!region)
		return VIP_ERROR_RESOURCE;
	region->base = base;
	region->length = length;
	region->attribs = *attribs;
	region->ptag = vipl_ptag_of(nic, attribs->Ptag);
	if (!register_pages(region)) {
		free(region);
		return VIP_ERROR_RESOURCE;
	}
	region->ptag->users++;
	insert(&nic->regions, region);
	nic->regions.count++;
	*handle = region->mr->rkey;
	return VIP_SUCCESS;
}

/* Removes the region at @p from the table and deregisters it. */
static void region_end(struct vipl_nic *nic, struct vipl_region **p)
{
	struct vipl_region *region = *p;

	*p = region->next;
	nic->regions.count--;
	region->ptag->users--;
	ibv_dereg_mr(region->mr);
	free(region);
}

/**
 * VipRegisterMem() - Register memory (9.5.3)
 * @NicHandle: of VipOpenNic()
 * @VirtualAddress: its beginning; whole pages are registered
 * @Length: in bytes, not 0
 * @MemAttribs: tag and enables
 * @MemHandle: the handle, 0 on failure
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER, VIP_INVALID_PTAG, VIP_INVALID_RDMAREAD;
 * VIP_ERROR_RESOURCE: there is no memory at the address, or the limit of locked memory is
 * exceeded.
 */
VIP_RETURN VipRegisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress, VIP_ULONG Length,
			  VIP_MEM_ATTRIBUTES *MemAttribs, VIP_MEM_HANDLE *MemHandle)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_nic *nic;

	if (!MemHandle)
		return ret;
	*MemHandle = 0;
	vipl_enter(VIPL_NIC, NicHandle, &nic);
	if (nic && VirtualAddress && Length && MemAttribs)
		ret = region_register(nic, VirtualAddress, Length, MemAttribs, MemHandle);
	vipl_leave(nic);
	return ret;
}

/**
 * VipDeregisterMem() - End the registration of memory (9.5.4)
 * @NicHandle: its NIC
 * @VirtualAddress: as it was registered
 * @MemHandle: of VipRegisterMem()
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipDeregisterMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID VirtualAddress,
			    VIP_MEM_HANDLE MemHandle)
{
	struct vipl_region **p = NULL;
	struct vipl_nic *nic;

	vipl_enter(VIPL_NIC, NicHandle, &nic);
	if (nic)
		p = find_region(nic, VirtualAddress, MemHandle);
	if (p)
		region_end(nic, p);
	vipl_leave(nic);
	return p ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

/* Changes the region in place: peers may have its handle, which stays (VIA-010). */
static VIP_RETURN region_change(struct vipl_nic *nic, struct vipl_region *region,
				const VIP_MEM_ATTRIBUTES *attribs)
{
	VIP_RETURN ret = check_attribs(nic, attribs);
	VIP_MEM_HANDLE handle = region->mr->rkey;
	struct vipl_ptag *ptag;

	if (ret)
		return ret;
	ptag = vipl_ptag_of(nic, attribs->Ptag);
	if (region->read_only && attribs->EnableRdmaWrite)
		return VIP_INVALID_PARAMETER;
	if (ibv_rereg_mr(region->mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS,
			 ptag->pd, NULL, 0, access_of(attribs, region->read_only)) ||
	    region->mr->rkey != handle)
		return VIP_INVALID_PARAMETER;
	region->ptag->users--;
	ptag->users++;
	region->ptag = ptag;
	region->attribs = *attribs;
	return VIP_SUCCESS;
}

/**
 * VipSetMemAttributes() - Change tag and enables of a region (9.8.4)
 * @NicHandle: its NIC
 * @Address: as it was registered
 * @MemHandle: of VipRegisterMem(); does not change (VIA-010)
 * @MemAttribs: the new ones
 *
 * Context: any thread; sleeps.
 * Return: VIP_SUCCESS, VIP_INVALID_PTAG, VIP_INVALID_RDMAREAD; VIP_INVALID_PARAMETER,
 * also if the device cannot change it in place, or if the pages are read-only.
 */
VIP_RETURN VipSetMemAttributes(VIP_NIC_HANDLE NicHandle, VIP_PVOID Address,
			       VIP_MEM_HANDLE MemHandle, VIP_MEM_ATTRIBUTES *MemAttribs)
{
	VIP_RETURN ret = VIP_INVALID_PARAMETER;
	struct vipl_region **p = NULL;
	struct vipl_nic *nic;

	vipl_enter(VIPL_NIC, NicHandle, &nic);
	if (nic && MemAttribs)
		p = find_region(nic, Address, MemHandle);
	if (p)
		ret = region_change(nic, *p, MemAttribs);
	vipl_leave(nic);
	return ret;
}

/**
 * VipQueryMem() - Attributes of a region (9.8.5)
 * @NicHandle: its NIC
 * @Address: as it was registered
 * @MemHandle: of VipRegisterMem()
 * @MemAttribs: tag and enables
 *
 * Context: any thread; takes the NIC's lock.
 * Return: VIP_SUCCESS, VIP_INVALID_PARAMETER
 */
VIP_RETURN VipQueryMem(VIP_NIC_HANDLE NicHandle, VIP_PVOID Address, VIP_MEM_HANDLE MemHandle,
		       VIP_MEM_ATTRIBUTES *MemAttribs)
{
	struct vipl_region **p = NULL;
	struct vipl_nic *nic;

	vipl_enter(VIPL_NIC, NicHandle, &nic);
	if (nic && MemAttribs)
		p = find_region(nic, Address, MemHandle);
	if (p)
		*MemAttribs = (*p)->attribs;
	vipl_leave(nic);
	return p ? VIP_SUCCESS : VIP_INVALID_PARAMETER;
}

static bool region_covers(const struct vipl_region *region, uintptr_t start, size_t len)
{
	uintptr_t base = (uintptr_t)region->mr->addr;

	return start >= base && len <= region->mr->length &&
	       start - base <= region->mr->length - len;
}

static struct vipl_region *region_of(struct vipl_nic *nic, VIP_MEM_HANDLE handle)
{
	struct vipl_region **p = place_of(nic, handle);

	return p ? *p : NULL;
}

/**
 * vipl_memory_covers() - Whether memory is registered
 * @nic: the NIC
 * @ptag: the required tag, NULL for any
 * @handle: any value that a program has passed
 * @start: the first byte
 * @len: in bytes
 *
 * Context: the NIC's lock is held.
 * Return: true if all of it is in the pages of the region with @handle, and writable.
 */
bool vipl_memory_covers(struct vipl_nic *nic, const struct vipl_ptag *ptag,
			VIP_MEM_HANDLE handle, const void *start, size_t len)
{
	struct vipl_region *region = region_of(nic, handle);

	if (!region || region->read_only || (ptag && region->ptag != ptag))
		return false;
	return region_covers(region, (uintptr_t)start, len);
}

/**
 * vipl_memory_key() - The local key of the memory of a data segment
 * @nic: the NIC
 * @ptag: the required tag
 * @seg: the segment, not empty
 * @write: the device writes to the segment
 * @lkey: set to the key
 *
 * Context: the NIC's lock is held.
 * Return: false if @seg is not in the pages of the region with its handle, or if the region has
 * another tag, or is not writable for @write.
 */
bool vipl_memory_key(struct vipl_nic *nic, const struct vipl_ptag *ptag,
		     const VIP_DATA_SEGMENT *seg, bool write, uint32_t *lkey)
{
	struct vipl_region *region = region_of(nic, seg->Handle);

	if (!region || region->ptag != ptag || (write && region->read_only) ||
	    !region_covers(region, seg->Data.AddressBits, seg->Length))
		return false;
	*lkey = region->mr->lkey;
	return true;
}

/**
 * vipl_memory_may_write() - Whether a peer may write to memory by RDMA
 * @nic: the NIC
 * @ptag: the tag of the VI
 * @target: the destination, not empty
 *
 * Context: the NIC's lock is held.
 * Return: true if all of it is in a region of that tag and handle that allows RDMA Writes.
 */
bool vipl_memory_may_write(struct vipl_nic *nic, const struct vipl_ptag *ptag,
			   const VIP_DATA_SEGMENT *target)
{
	struct vipl_region *region = region_of(nic, target->Handle);

	return region && region->ptag == ptag && region->attribs.EnableRdmaWrite &&
	       region_covers(region, target->Data.AddressBits, target->Length);
}

/**
 * vipl_memory_alloc() - Allocate and register memory of the library
 * @ptag: its tag
 * @len: in bytes, not 0
 *
 * Context: the NIC's lock is held; sleeps.
 * Return: zeroed memory, or NULL without memory.
 */
struct ibv_mr *vipl_memory_alloc(const struct vipl_ptag *ptag, size_t len)
{
	void *p = calloc(1, len);
	struct ibv_mr *mr = p ? ibv_reg_mr(ptag->pd, p, len, IBV_ACCESS_LOCAL_WRITE) : NULL;

	if (!mr)
		free(p);
	return mr;
}

/**
 * vipl_memory_free() - Free memory of the library
 * @mr: of vipl_memory_alloc(), or NULL
 *
 * Context: the NIC's lock is held; sleeps.
 */
void vipl_memory_free(struct ibv_mr *mr)
{
	void *p;

	if (!mr)
		return;
	p = mr->addr;
	ibv_dereg_mr(mr);
	free(p);
}

/**
 * vipl_memory_release() - Destroy all regions and tags of a NIC that is closing
 * @nic: the NIC
 *
 * Context: the NIC's lock is held; sleeps.
 */
void vipl_memory_release(struct vipl_nic *nic)
{
	unsigned long i;

	for (i = 0; nic->regions.lists && i < 1ul << nic->regions.bits; i++)
		while (nic->regions.lists[i])
			region_end(nic, &nic->regions.lists[i]);
	free(nic->regions.lists);
	while (nic->ptags)
		ptag_destroy(nic->ptags);
}
