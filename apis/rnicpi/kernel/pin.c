// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Pinning (5.2): kernel memory does not move, so pins have no effect. And mapping: a software
 * RNIC uses the CPU's physical addresses. Both are listed to check the calls that end them.
 */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/export.h>
#include <linux/vmalloc.h>
#include "rnicpi/kernel/rnic.h"

/**
 * struct pin - a pinned range
 * @link: in the list of all pins
 * @vaddr: its beginning
 * @len: bytes
 * @os_data: the consumer's
 * @count: number of pins
 */
struct pin {
	struct list_head link;
	ri_vaddr_t vaddr;
	ri_length_t len;
	ri_os_data_t os_data;
	unsigned int count;
};

static DEFINE_MUTEX(pin_lock);
static LIST_HEAD(pins);

/* Under pin_lock */
static struct pin *find(ri_vaddr_t vaddr, ri_length_t len, ri_os_data_t os_data)
{
	struct pin *pin;

	list_for_each_entry(pin, &pins, link)
		if (pin->vaddr == vaddr && pin->len == len && pin->os_data == os_data)
			return pin;
	return NULL;
}

static bool is_mapped(const void *vaddr)
{
	return is_vmalloc_addr(vaddr) ? !!vmalloc_to_page(vaddr) : virt_addr_valid(vaddr);
}

/**
 * ri_is_memory - does a whole range have pages in the kernel's mapping?
 * @vaddr: its beginning
 * @len: bytes
 *
 * Context: any.
 */
bool ri_is_memory(ri_vaddr_t vaddr, ri_length_t len)
{
	unsigned long at = (unsigned long)vaddr, last;

	if (!vaddr || !len || check_add_overflow(at, (unsigned long)len - 1, &last))
		return false;
	for (at &= PAGE_MASK; at <= last; at += PAGE_SIZE) {
		if (!is_mapped((void *)at))
			return false;
		if (at > ULONG_MAX - PAGE_SIZE)
			break;
	}
	return true;
}

/**
 * ri_svc_mem_pin - pin a range of kernel memory
 * @vaddr: its beginning
 * @len: bytes
 * @os_data: stored; ri_svc_mem_unpin() has to pass the same
 * @err_data: may be NULL
 *
 * Ranges may be pinned more than once, and may overlap. Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_RESOURCE_SHORTAGE; RI_RET_INVALID_PARAMETER: no such memory
 */
ri_api_return_t ri_svc_mem_pin(ri_vaddr_t vaddr, ri_length_t len, ri_os_data_t os_data,
			       ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct pin *pin;

	if (!ri_is_memory(vaddr, len))
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	mutex_lock(&pin_lock);
	pin = find(vaddr, len, os_data);
	if (!pin) {
		pin = kzalloc(sizeof(*pin), GFP_KERNEL);
		if (pin) {
			*pin = (struct pin){ .vaddr = vaddr, .len = len, .os_data = os_data };
			list_add(&pin->link, &pins);
		}
	}
	if (pin)
		pin->count++;
	else
		ret = RI_RET_RESOURCE_SHORTAGE;
	mutex_unlock(&pin_lock);
	return ri_answer(err_data, ret);
}
EXPORT_SYMBOL_GPL(ri_svc_mem_pin);

/**
 * ri_svc_mem_unpin - end a pin
 * @vaddr: as it was pinned
 * @len: likewise
 * @os_data: likewise
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS; RI_RET_INVALID_PARAMETER: there is no such pin
 */
ri_api_return_t ri_svc_mem_unpin(ri_vaddr_t vaddr, ri_length_t len, ri_os_data_t os_data,
				 ri_err_data_t *err_data)
{
	struct pin *pin;
	bool found;

	mutex_lock(&pin_lock);
	pin = find(vaddr, len, os_data);
	found = pin;
	if (pin && !--pin->count) {
		list_del(&pin->link);
		kfree(pin);
	}
	mutex_unlock(&pin_lock);
	return ri_answer(err_data, found ? RI_RET_SUCCESS : RI_RET_INVALID_PARAMETER);
}
EXPORT_SYMBOL_GPL(ri_svc_mem_unpin);

/**
 * ri_pin_exit - free all pins, at unload of the module
 * Context: process.
 */
void ri_pin_exit(void)
{
	struct pin *pin, *next;

	list_for_each_entry_safe(pin, next, &pins, link)
		kfree(pin);
	INIT_LIST_HEAD(&pins);
}

/* ----- the same with an RNIC handle, and mappings ----- */

/** ri_do_mem_pin - check the RNIC handle, then ri_svc_mem_pin(); Context and Return: as that */
ri_api_return_t ri_do_mem_pin(ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len,
			      ri_os_data_t os_data, ri_err_data_t *err_data)
{
	if (!ri_is_rnic(rnic))
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	return ri_svc_mem_pin(vaddr, len, os_data, err_data);
}

/** ri_do_mem_unpin - check the RNIC handle, then ri_svc_mem_unpin(); Context and Return: as that */
ri_api_return_t ri_do_mem_unpin(ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len,
				ri_os_data_t os_data, ri_err_data_t *err_data)
{
	if (!ri_is_rnic(rnic))
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	return ri_svc_mem_unpin(vaddr, len, os_data, err_data);
}

static phys_addr_t phys_of(const void *vaddr)
{
	if (is_vmalloc_addr(vaddr))
		return page_to_phys(vmalloc_to_page(vaddr)) + offset_in_page(vaddr);
	return virt_to_phys((void *)vaddr);
}

/* Number of physically contiguous bytes from @vaddr on, @len at most */
static u64 contiguous(const char *vaddr, u64 len)
{
	u64 n = PAGE_SIZE - offset_in_page(vaddr);

	while (n < len && is_mapped(vaddr + n) && phys_of(vaddr + n) == phys_of(vaddr) + n)
		n += PAGE_SIZE;
	return min(n, len);
}

/**
 * struct map - what one call has mapped
 * @link: in struct rnic.maps
 * @io: the answer
 * @os_data: the consumer's
 */
struct map {
	struct hlist_node link;
	ri_phys_buf_t io;
	ri_os_data_t os_data;
};

static void add_map(struct rnic *rnic, struct map *map)
{
	unsigned long flags;

	spin_lock_irqsave(&rnic->map_lock, flags);
	hash_add(rnic->maps, &map->link, map->io.phys_address);
	spin_unlock_irqrestore(&rnic->map_lock, flags);
}

/* Takes the map with these parameters out of the table. Return: NULL if there is none */
static struct map *take_map(struct rnic *rnic, const ri_phys_buf_t *io, ri_os_data_t os_data)
{
	struct map *map, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&rnic->map_lock, flags);
	hash_for_each_possible(rnic->maps, map, link, io->phys_address) {
		if (map->io.phys_address == io->phys_address &&
		    map->io.phys_len == io->phys_len && map->os_data == os_data) {
			hash_del(&map->link);
			found = map;
			break;
		}
	}
	spin_unlock_irqrestore(&rnic->map_lock, flags);
	return found;
}

/**
 * ri_maps_end - forget what an RNIC handle still maps
 * @rnic: nobody else knows it
 *
 * Context: any.
 */
void ri_maps_end(struct rnic *rnic)
{
	struct hlist_node *next;
	struct map *map;
	int i;

	hash_for_each_safe(rnic->maps, i, next, map, link)
		kfree(map);
	hash_init(rnic->maps);
}

/**
 * ri_do_mem_map - look up the physical address of pinned memory
 * @rnic: an RNIC handle
 * @vaddr: of the kernel, pinned
 * @len: bytes
 * @io: set to the physical address, and the number of contiguous bytes there (RI-59)
 * @os_data: stored; ri_mem_unmap() has to pass the same
 * @err_data: may be NULL
 *
 * Context: any. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_mem_map(ri_rnic_handle_t rnic, ri_vaddr_t vaddr, ri_length_t len,
			      ri_phys_buf_t *io, ri_os_data_t os_data, ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct rnic_obj *r;
	struct map *map;

	rcu_read_lock();
	r = ri_look_up(RI_KIND_RNIC, rnic);
	if (!r)
		ret = RI_RET_RNIC_INVALID_HANDLE;
	else if (!vaddr || !len || !io || !is_mapped(vaddr))
		ret = RI_RET_INVALID_PARAMETER;
	map = ret ? NULL : kmalloc(sizeof(*map), GFP_ATOMIC);
	if (map) {
		io->phys_address = phys_of(vaddr);
		io->phys_len = contiguous(vaddr, len);
		map->io = *io;
		map->os_data = os_data;
		add_map(to_rnic(r), map);
	} else if (!ret) {
		ret = RI_RET_RESOURCE_SHORTAGE;
	}
	rcu_read_unlock();
	return ri_answer(err_data, ret);
}

/**
 * ri_do_mem_unmap - end what ri_do_mem_map() began
 * @rnic: as of ri_do_mem_map()
 * @io: likewise
 * @os_data: likewise
 * @err_data: may be NULL
 *
 * Context: any. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE; RI_RET_INVALID_PARAMETER:
 * there is no such map
 */
ri_api_return_t ri_do_mem_unmap(ri_rnic_handle_t rnic, ri_phys_buf_t *io, ri_os_data_t os_data,
				ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_INVALID_PARAMETER;
	struct rnic_obj *r;
	struct map *map = NULL;

	rcu_read_lock();
	r = ri_look_up(RI_KIND_RNIC, rnic);
	if (!r)
		ret = RI_RET_RNIC_INVALID_HANDLE;
	else if (io)
		map = take_map(to_rnic(r), io, os_data);
	if (map)
		ret = RI_RET_SUCCESS;
	rcu_read_unlock();
	kfree(map);
	return ri_answer(err_data, ret);
}
