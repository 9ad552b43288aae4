/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory of the device, which programs allocate with ibv_alloc_dm(). */
#ifndef SRNIC_DM_H
#define SRNIC_DM_H

#include <rdma/ib_verbs.h>

struct srnic_device;
struct srnic_holder;

/**
 * struct srnic_dm - a piece of the device's memory
 * @ibdm: the verbs object; the core counts its regions
 * @dev: the device
 * @holder: the user that the piece is counted against
 * @memory: whole pages, zero at first
 * @length: bytes requested
 *
 * All fields are immutable; the contents of @memory are not.
 */
struct srnic_dm {
	struct ib_dm ibdm;
	struct srnic_device *dev;
	struct srnic_holder *holder;
	void *memory;
	u64 length;
};

static inline struct srnic_dm *to_srnic_dm(struct ib_dm *ibdm)
{
	return container_of(ibdm, struct srnic_dm, ibdm);
}

struct srnic_dm *srnic_dm_alloc(struct srnic_device *dev, struct srnic_holder *holder,
				u64 length, u32 log_align);
void srnic_dm_free(struct srnic_dm *dm);
void *srnic_dm_at(const struct srnic_dm *dm, u64 offset, u64 length);

#endif
