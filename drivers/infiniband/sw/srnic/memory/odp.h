/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* On-demand paging: user memory that is registered and not pinned. */
#ifndef SRNIC_ODP_H
#define SRNIC_ODP_H

#include <linux/err.h>
#include "memory/tpt.h"

/* What a page is taken in for */
enum srnic_odp_want {
	SRNIC_ODP_READ,		/* it is read */
	SRNIC_ODP_WRITE,	/* it is written, too */
	SRNIC_ODP_PRESENT,	/* it is read, and taken in only if the process has it at hand */
};

#ifdef CONFIG_INFINIBAND_ON_DEMAND_PAGING
struct srnic_odp *srnic_odp_new(struct srnic_device *dev, u64 start, u64 length);
void srnic_odp_free(struct srnic_odp *odp);
int srnic_odp_walk(struct srnic_odp *odp, u64 addr, u32 len, bool write, bool may_sleep,
		   srnic_span_fn fn, void *ctx);
int srnic_odp_prefetch(struct srnic_odp *odp, u64 addr, u64 len, enum srnic_odp_want want);
#else
static inline struct srnic_odp *srnic_odp_new(struct srnic_device *dev, u64 start, u64 length)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void srnic_odp_free(struct srnic_odp *odp)
{
}

static inline int srnic_odp_walk(struct srnic_odp *odp, u64 addr, u32 len, bool write,
				 bool may_sleep, srnic_span_fn fn, void *ctx)
{
	return -EOPNOTSUPP;
}

static inline int srnic_odp_prefetch(struct srnic_odp *odp, u64 addr, u64 len,
				     enum srnic_odp_want want)
{
	return -EOPNOTSUPP;
}
#endif

#endif
