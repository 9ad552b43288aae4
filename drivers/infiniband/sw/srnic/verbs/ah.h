/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Address handles. */
#ifndef SRNIC_AH_H
#define SRNIC_AH_H

#include <rdma/ib_verbs.h>
#include "ib/addr.h"

/**
 * struct srnic_ah - an address handle
 * @ibah: the verbs object
 * @av: its address vector, for UD QPs
 * @number: names it in WRs
 * @attr: as the program has created it, for query
 */
struct srnic_ah {
	struct ib_ah ibah;
	struct srnic_av av;
	u32 number;
	struct rdma_ah_attr attr;
};

static inline struct srnic_ah *to_srnic_ah(struct ib_ah *ibah)
{
	return container_of(ibah, struct srnic_ah, ibah);
}

int srnic_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata);
int srnic_destroy_ah(struct ib_ah *ibah, u32 flags);
int srnic_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr);

#endif
