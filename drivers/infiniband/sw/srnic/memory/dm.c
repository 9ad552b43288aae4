// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of the device. A software device has kernel memory only: pages that are charged
 * to the program, up to a limit of the device, of which a user has half at most. No process
 * maps it. A region over it works as any other; the program copies to and from it with a call.
 */

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "memory/dm.h"
#include "queue/holder.h"
#include "srnic.h"

/**
 * srnic_dm_alloc - allocate a piece of a device's memory
 * @dev: the device
 * @holder: the user that the piece is counted against
 * @length: bytes, 1 to SRNIC_MAX_DM
 * @log_align: log2 of the alignment of its first byte, at most PAGE_SHIFT
 *
 * The memory is zeroed. Context: process, may sleep.
 *
 * Return: the piece or an ERR_PTR: -EINVAL for a length or an alignment out of range,
 * -ENOMEM, also if all pieces together, in whole pages, would exceed SRNIC_MAX_DM;
 * -EDQUOT, see srnic_take().
 */
struct srnic_dm *srnic_dm_alloc(struct srnic_device *dev, struct srnic_holder *holder,
				u64 length, u32 log_align)
{
	struct srnic_dm *dm;
	int err;

	if (!length || length > SRNIC_MAX_DM || log_align > PAGE_SHIFT)
		return ERR_PTR(-EINVAL);
	dm = kzalloc(sizeof(*dm), GFP_KERNEL_ACCOUNT);
	if (!dm)
		return ERR_PTR(-ENOMEM);
	dm->dev = dev;
	dm->length = length;
	dm->holder = holder;
	err = srnic_take(dev, holder, SRNIC_KIND_DM, PAGE_ALIGN(length));
	if (err) {
		kfree(dm);
		return ERR_PTR(err);
	}
	dm->memory = __vmalloc(PAGE_ALIGN(length), SRNIC_GFP_USER | __GFP_ZERO);
	if (!dm->memory) {
		srnic_dm_free(dm);
		return ERR_PTR(-ENOMEM);
	}
	return dm;
}

/**
 * srnic_dm_free - free a piece
 * @dm: no region uses it any more
 *
 * Context: process, may sleep.
 */
void srnic_dm_free(struct srnic_dm *dm)
{
	vfree(dm->memory);
	srnic_give(dm->dev, dm->holder, SRNIC_KIND_DM, PAGE_ALIGN(dm->length));
	kfree(dm);
}

/**
 * srnic_dm_at - a range of a piece
 * @dm: the piece
 * @offset: of the first byte in it
 * @length: bytes
 *
 * Context: any.
 * Return: the first byte; NULL if the range is not inside the piece.
 */
void *srnic_dm_at(const struct srnic_dm *dm, u64 offset, u64 length)
{
	return offset <= dm->length && length <= dm->length - offset ? dm->memory + offset : NULL;
}
