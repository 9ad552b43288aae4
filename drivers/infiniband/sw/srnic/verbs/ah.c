// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Address handles: destinations of a UD QP. A WR names one by its number. The kernel looks
 * it up, and checks its PD, when it sends.
 */

#include <rdma/ib_addr.h>
#include <rdma/srnic-abi.h>
#include "ib/addr.h"
#include "ib/ib_device.h"
#include "queue/holder.h"
#include "srnic.h"
#include "verbs/udata.h"
#include "verbs/verbs.h"

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

/* The destination is a unicast address, and of the same family as the source */
static int ah_check(const struct srnic_device *dev, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	struct sockaddr_storage from, to;

	if (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) || !grh->sgid_index || !grh->sgid_attr ||
	    grh->sgid_index >= SRNIC_MAX_GID)
		return -EINVAL;
	srnic_addr_of_gid(dev, &grh->sgid_attr->gid, 0, &from);
	srnic_addr_of_gid(dev, &grh->dgid, 0, &to);
	return from.ss_family != to.ss_family || !srnic_addr_is_unicast(&to) ? -EINVAL : 0;
}

static int ah_register(struct srnic_device *dev, struct srnic_ah *ah)
{
	struct srnic_holder *holder = srnic_pd_holder(ah->ibah.pd);
	int err = srnic_take(dev, holder, SRNIC_KIND_AH, 1);

	if (err)
		return err;
	err = xa_alloc_cyclic(&dev->ib->avs, &ah->number, &ah->av, xa_limit_31b,
			      &dev->ib->next_av, GFP_KERNEL_ACCOUNT);
	if (err < 0)
		srnic_give(dev, holder, SRNIC_KIND_AH, 1);
	return min(err, 0);
}

static int destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct srnic_device *dev = to_srnic_dev(ibah->device);

	/* a WR that names it and is not sent yet fails later */
	xa_erase(&dev->ib->avs, to_srnic_ah(ibah)->number);
	srnic_give(dev, srnic_pd_holder(ibah->pd), SRNIC_KIND_AH, 1);
	return 0;
}

/* -EOPNOTSUPP: the policy sets no ib_port; -EINVAL: invalid route; -EDQUOT: see srnic_take() */
static int create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(init->ah_attr);
	struct srnic_device *dev = to_srnic_dev(ibah->device);
	struct srnic_ah *ah = to_srnic_ah(ibah);
	struct srnic_uresp_create_ah resp = { };
	int err;

	if (!srnic_policy_get(&dev->policy).ib_port)
		return -EOPNOTSUPP;
	err = srnic_udata_check(udata, offsetofend(struct srnic_uresp_create_ah, reserved)) ?:
	      ah_check(dev, init->ah_attr);
	if (err)
		return err;
	ah->av = (struct srnic_av){
		.pd = ibah->pd,
		.sgid_index = grh->sgid_index,
		.sgid = grh->sgid_attr->gid,
		.dgid = grh->dgid,
	};
	ah->attr = *init->ah_attr;
	ah->attr.grh.sgid_attr = NULL;	/* the core's reference */
	err = ah_register(dev, ah);
	if (err)
		return err;
	resp.number = ah->number;
	err = srnic_udata_respond(udata, &resp, sizeof(resp));
	if (err)
		destroy_ah(ibah, 0);
	return err;
}

static int query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	*attr = to_srnic_ah(ibah)->attr;
	return 0;
}

/* Not static: device.c registers them */
const struct ib_device_ops srnic_ah_ops = {
	.create_user_ah = create_ah,
	.destroy_ah = destroy_ah,
	.query_ah = query_ah,

	INIT_RDMA_OBJ_SIZE(ib_ah, srnic_ah, ibah),
};
