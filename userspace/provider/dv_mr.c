// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The direct verbs: regions that share their memory, and the key of an STag. */
#include <errno.h>
#include <stdlib.h>

#include "srnic.h"
#include "srnicdv.h"

static int reg_shared(struct ibv_pd *pd, const struct ibv_mr *source, uint64_t iova,
		      uint32_t access, struct ibv_mr *mr)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_MR, SRNIC_METHOD_MR_REG_SHARED, 5);
	struct srnic_ureq_mr_reg_shared req = { .iova = iova, .access = access };
	struct ib_uverbs_attr *handle;

	handle = fill_attr_out_obj(cmd, SRNIC_ATTR_MR_REG_SHARED_HANDLE);
	fill_attr_in_obj(cmd, SRNIC_ATTR_MR_REG_SHARED_SOURCE, source->handle);
	fill_attr_in_obj(cmd, SRNIC_ATTR_MR_REG_SHARED_PD, pd->handle);
	fill_attr_in_ptr(cmd, SRNIC_ATTR_MR_REG_SHARED_REQ, &req);
	fill_attr_out_ptr(cmd, SRNIC_ATTR_MR_REG_SHARED_STAG, &mr->lkey);
	if (execute_ioctl(pd->context, cmd))
		return errno;
	mr->handle = read_attr_obj(SRNIC_ATTR_MR_REG_SHARED_HANDLE, handle);
	mr->rkey = mr->lkey;
	return 0;
}

/**
 * srnicdv_reg_shared_mr - register the memory of a region once more
 * @pd: protection domain of the new region
 * @source: of ibv_reg_mr(), or of this function
 * @iova: TO of the first byte, unless IBV_ACCESS_ZERO_BASED
 * @access: IBV_ACCESS_*
 *
 * From now on neither region can be invalidated. ibv_rereg_mr() of a region leaves the others as
 * they are. ibv_dereg_mr() ends each region; the end of the last one unpins the memory.
 *
 * Return: the region; NULL with errno as in Documentation/uapi.rst.
 */
struct ibv_mr *srnicdv_reg_shared_mr(struct ibv_pd *pd, struct ibv_mr *source, uint64_t iova,
				     int access)
{
	struct verbs_mr *vmr;
	int err = EOPNOTSUPP;

	if (!srnic_is_ours(pd->context->device) || source->context != pd->context)
		goto fail;
	err = ENOMEM;
	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		goto fail;
	err = reg_shared(pd, source, iova, access, &vmr->ibv_mr);
	if (err)
		goto free;
	vmr->mr_type = IBV_MR_TYPE_MR;
	vmr->access = access;
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.pd = pd;
	vmr->ibv_mr.addr = source->addr;
	vmr->ibv_mr.length = source->length;
	return &vmr->ibv_mr;
free:
	free(vmr);
fail:
	errno = err;
	return NULL;
}

/**
 * srnicdv_set_mr_key - give the STag of a region a key of the program's
 * @mr: of ibv_reg_mr() and the like, Valid, without windows
 * @key: the low 8 bits of its lkey and rkey, which change
 *
 * Return: 0; an errno as in Documentation/uapi.rst, and the region is as it was.
 */
int srnicdv_set_mr_key(struct ibv_mr *mr, uint8_t key)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_MR, SRNIC_METHOD_MR_SET_KEY, 3);
	uint32_t asked = key, stag;

	if (!srnic_is_ours(mr->context->device))
		return EOPNOTSUPP;
	fill_attr_in_obj(cmd, SRNIC_ATTR_MR_SET_KEY_HANDLE, mr->handle);
	fill_attr_in_ptr(cmd, SRNIC_ATTR_MR_SET_KEY_KEY, &asked);
	fill_attr_out_ptr(cmd, SRNIC_ATTR_MR_SET_KEY_STAG, &stag);
	if (execute_ioctl(mr->context, cmd))
		return errno;
	mr->lkey = stag;
	mr->rkey = stag;
	return 0;
}
