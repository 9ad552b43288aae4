// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory of the device for programs. Linux verbs have no call that copies to and from
 * it: programs map the memory of a hardware device. Here a method copies.
 */

#include <linux/uaccess.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include "memory/dm.h"
#include "memory/mr.h"
#include "srnic.h"
#include "verbs/dm.h"

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

static_assert(sizeof(struct srnic_ureq_dm_copy) == 32);
static_assert(offsetof(struct srnic_ureq_dm_copy, addr) == 8);
static_assert(offsetof(struct srnic_ureq_dm_copy, length) == 16);
static_assert(offsetof(struct srnic_ureq_dm_copy, op) == 24);

/**
 * srnic_alloc_dm - allocate memory of the device
 * @ibdev: the device
 * @uctx: the program's context
 * @attr: length and log2 of the alignment, as the program has them
 * @attrs: of the command
 *
 * Context: process, may sleep.
 *
 * Return: as srnic_dm_alloc().
 */
struct ib_dm *srnic_alloc_dm(struct ib_device *ibdev, struct ib_ucontext *uctx,
			     struct ib_dm_alloc_attr *attr, struct uverbs_attr_bundle *attrs)
{
	struct srnic_dm *dm = srnic_dm_alloc(to_srnic_dev(ibdev), to_srnic_ucontext(uctx)->holder,
					     attr->length, attr->alignment);

	return IS_ERR(dm) ? ERR_CAST(dm) : &dm->ibdm;
}

/**
 * srnic_dealloc_dm - free memory of the device
 * @ibdm: without regions, which the core has checked
 * @attrs: of the command
 *
 * Context: process, may sleep.
 *
 * Return: 0.
 */
int srnic_dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	srnic_dm_free(to_srnic_dm(ibdm));
	return 0;
}

/**
 * srnic_reg_dm_mr - a region of memory of the device
 * @pd: protection domain
 * @ibdm: the memory
 * @attr: a part of it, which the core has checked, and IB_ACCESS_*, of which
 *	  IB_ZERO_BASED is one
 * @attrs: of the command
 *
 * Context: process, may sleep.
 *
 * Return: as srnic_mr_reg_dm().
 */
struct ib_mr *srnic_reg_dm_mr(struct ib_pd *pd, struct ib_dm *ibdm,
			      struct ib_dm_mr_attr *attr, struct uverbs_attr_bundle *attrs)
{
	return srnic_mr_reg_dm(pd, to_srnic_dm(ibdm), attr->offset, attr->length,
			       attr->access_flags);
}

/* Not atomic against accesses of peers and of other threads */
static int copy(const struct srnic_dm *dm, const struct srnic_ureq_dm_copy *req)
{
	void __user *program = u64_to_user_ptr(req->addr);
	void *at = srnic_dm_at(dm, req->offset, req->length);

	if (req->op > SRNIC_DM_READ || req->reserved)
		return -EOPNOTSUPP;
	if (!at)
		return -EINVAL;
	if (req->op == SRNIC_DM_WRITE)
		return copy_from_user(at, program, req->length) ? -EFAULT : 0;
	return copy_to_user(program, at, req->length) ? -EFAULT : 0;
}

static int UVERBS_HANDLER(SRNIC_METHOD_DM_COPY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, SRNIC_ATTR_DM_COPY_HANDLE);
	struct srnic_ureq_dm_copy req = { };
	int err;

	if (IS_ERR(ibdm))
		return PTR_ERR(ibdm);
	err = uverbs_copy_from(&req, attrs, SRNIC_ATTR_DM_COPY_REQ);
	return err ?: copy(to_srnic_dm(ibdm), &req);
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_DM_COPY,
			    UVERBS_ATTR_IDR(SRNIC_ATTR_DM_COPY_HANDLE, UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SRNIC_ATTR_DM_COPY_REQ,
					       UVERBS_ATTR_STRUCT(struct srnic_ureq_dm_copy,
								  reserved),
					       UA_MANDATORY));

ADD_UVERBS_METHODS(srnic_dm_object, UVERBS_OBJECT_DM, &UVERBS_METHOD(SRNIC_METHOD_DM_COPY));

const struct uapi_definition srnic_uapi_dm_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &srnic_dm_object),
	{ },
};
