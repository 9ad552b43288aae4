/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory of the device: verbs, and the method that copies. */
#ifndef SRNIC_VERBS_DM_H
#define SRNIC_VERBS_DM_H

#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition srnic_uapi_dm_defs[];

struct ib_dm *srnic_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *uctx,
			     struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs);
int srnic_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs);
struct ib_mr *srnic_reg_dm_mr(struct ib_pd *pd, struct ib_dm *ibdm,
			      struct ib_dm_mr_attr *attr, struct uverbs_attr_bundle *attrs);

#endif
