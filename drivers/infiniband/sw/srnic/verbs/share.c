// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls for memory regions that Linux verbs do not have: Register Shared Memory Region (RDMAC
 * verbs 9.2.6.6), and the key of an STag (7.2).
 */

#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_std_types.h>
#include "memory/mr.h"
#include "srnic.h"
#include "verbs/share.h"

#define UVERBS_MODULE_NAME srnic
#include <rdma/uverbs_named_ioctl.h>

static_assert(sizeof(struct srnic_ureq_mr_reg_shared) == 16);
static_assert(offsetof(struct srnic_ureq_mr_reg_shared, access) == 8);

/* Fills in the core's part of a region, as the core's methods do */
static void adopt(struct ib_uobject *uobj, struct ib_pd *pd, struct ib_mr *mr)
{
	mr->device = pd->device;
	mr->pd = pd;
	mr->type = IB_MR_TYPE_USER;
	mr->uobject = uobj;
	atomic_inc(&pd->usecnt);
	uobj->object = mr;
}

/* MR-26 */
static int UVERBS_HANDLER(SRNIC_METHOD_MR_REG_SHARED)(struct uverbs_attr_bundle *attrs)
{
	struct ib_uobject *uobj = uverbs_attr_get_uobject(attrs, SRNIC_ATTR_MR_REG_SHARED_HANDLE);
	struct ib_mr *source = uverbs_attr_get_obj(attrs, SRNIC_ATTR_MR_REG_SHARED_SOURCE);
	struct ib_pd *pd = uverbs_attr_get_obj(attrs, SRNIC_ATTR_MR_REG_SHARED_PD);
	struct srnic_ureq_mr_reg_shared req = { };
	struct ib_mr *mr;
	int err;

	if (IS_ERR(uobj) || IS_ERR(source) || IS_ERR(pd))
		return -EINVAL;
	err = uverbs_copy_from(&req, attrs, SRNIC_ATTR_MR_REG_SHARED_REQ);
	if (!err && req.reserved)
		err = -EOPNOTSUPP;
	if (!err)
		err = ib_check_mr_access(pd->device, req.access);
	if (err)
		return err;
	mr = srnic_mr_reg_shared(pd, source, req.iova, req.access);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	adopt(uobj, pd, mr);
	uverbs_finalize_uobj_create(attrs, SRNIC_ATTR_MR_REG_SHARED_HANDLE);
	return uverbs_copy_to(attrs, SRNIC_ATTR_MR_REG_SHARED_STAG, &mr->lkey, sizeof(mr->lkey));
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_MR_REG_SHARED,
			    UVERBS_ATTR_IDR(SRNIC_ATTR_MR_REG_SHARED_HANDLE, UVERBS_OBJECT_MR,
					    UVERBS_ACCESS_NEW, UA_MANDATORY),
			    UVERBS_ATTR_IDR(SRNIC_ATTR_MR_REG_SHARED_SOURCE, UVERBS_OBJECT_MR,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_IDR(SRNIC_ATTR_MR_REG_SHARED_PD, UVERBS_OBJECT_PD,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SRNIC_ATTR_MR_REG_SHARED_REQ,
					       UVERBS_ATTR_STRUCT(struct srnic_ureq_mr_reg_shared,
								  reserved),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SRNIC_ATTR_MR_REG_SHARED_STAG,
						UVERBS_ATTR_TYPE(__u32), UA_MANDATORY));

/* MM-02 */
static int UVERBS_HANDLER(SRNIC_METHOD_MR_SET_KEY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_mr *mr = uverbs_attr_get_obj(attrs, SRNIC_ATTR_MR_SET_KEY_HANDLE);
	u32 key;
	int err;

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	err = uverbs_copy_from(&key, attrs, SRNIC_ATTR_MR_SET_KEY_KEY);
	if (!err && key > U8_MAX)
		err = -EINVAL;
	if (!err)
		err = srnic_mr_set_key(mr, key);
	return err ?: uverbs_copy_to(attrs, SRNIC_ATTR_MR_SET_KEY_STAG, &mr->lkey,
				     sizeof(mr->lkey));
}

DECLARE_UVERBS_NAMED_METHOD(SRNIC_METHOD_MR_SET_KEY,
			    UVERBS_ATTR_IDR(SRNIC_ATTR_MR_SET_KEY_HANDLE, UVERBS_OBJECT_MR,
					    UVERBS_ACCESS_WRITE, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SRNIC_ATTR_MR_SET_KEY_KEY,
					       UVERBS_ATTR_TYPE(__u32), UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SRNIC_ATTR_MR_SET_KEY_STAG,
						UVERBS_ATTR_TYPE(__u32), UA_MANDATORY));

ADD_UVERBS_METHODS(srnic_mr_share_object, UVERBS_OBJECT_MR,
		   &UVERBS_METHOD(SRNIC_METHOD_MR_REG_SHARED),
		   &UVERBS_METHOD(SRNIC_METHOD_MR_SET_KEY));

const struct uapi_definition srnic_uapi_share_defs[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MR, &srnic_mr_share_object),
	{ },
};
