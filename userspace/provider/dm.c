// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: memory of the device. It is kernel memory that is not mapped: a call copies.
 */
#include <errno.h>
#include <stdlib.h>

#include "srnic.h"

/* Hardware devices have this alignment, and the tests of rdma-core expect it */
#define DM_ALIGN	4	/* bytes */

static int dm_copy(struct ibv_dm *ibdm, uint32_t op, uint64_t offset, const void *addr,
		   size_t length)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, SRNIC_METHOD_DM_COPY, 2);
	struct srnic_ureq_dm_copy req = {
		.offset = offset,
		.addr = (uintptr_t)addr,
		.length = length,
		.op = op,
	};

	if (offset % DM_ALIGN || length % DM_ALIGN)
		return EINVAL;
	fill_attr_in_obj(cmd, SRNIC_ATTR_DM_COPY_HANDLE, ibdm->handle);
	fill_attr_in_ptr(cmd, SRNIC_ATTR_DM_COPY_REQ, &req);
	return execute_ioctl(ibdm->context, cmd) ? errno : 0;
}

static int dm_write(struct ibv_dm *ibdm, uint64_t offset, const void *addr, size_t length)
{
	return dm_copy(ibdm, SRNIC_DM_WRITE, offset, addr, length);
}

static int dm_read(void *addr, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	return dm_copy(ibdm, SRNIC_DM_READ, offset, addr, length);
}

static struct verbs_dm *dm_new(void)
{
	struct verbs_dm *dm = calloc(1, sizeof(*dm));

	if (!dm)
		return NULL;
	dm->dm.memcpy_to_dm = dm_write;
	dm->dm.memcpy_from_dm = dm_read;
	return dm;
}

/**
 * srnic_alloc_dm - ibv_alloc_dm()
 * @ibctx: context
 * @attr: see ibv_alloc_dm(3)
 *
 * Offset and length of copies to and from it have to be multiples of 4.
 *
 * Return: the memory, or NULL with errno: EOPNOTSUPP for a comp_mask, ENOMEM, or an errno of
 * the kernel. Any thread.
 */
struct ibv_dm *srnic_alloc_dm(struct ibv_context *ibctx, struct ibv_alloc_dm_attr *attr)
{
	struct verbs_dm *dm;
	int ret = EOPNOTSUPP;

	if (attr->comp_mask)
		goto fail;
	ret = ENOMEM;
	dm = dm_new();
	if (!dm)
		goto fail;
	ret = ibv_cmd_alloc_dm(ibctx, attr, dm, NULL);
	if (!ret)
		return &dm->dm;
	free(dm);
fail:
	errno = ret;
	return NULL;
}

/**
 * srnic_free_dm - ibv_free_dm()
 * @ibdm: memory
 *
 * Return: 0; EBUSY if there is a region over it, or another errno, and it is unchanged.
 */
int srnic_free_dm(struct ibv_dm *ibdm)
{
	struct verbs_dm *dm = to_verbs_dm(ibdm);
	int ret = ibv_cmd_free_dm(dm);

	if (!ret)
		free(dm);
	return ret;
}

/**
 * srnic_import_dm - ibv_import_dm()
 * @ibctx: context that was imported
 * @handle: of memory of another context of the same opened device
 *
 * Return: the memory, or NULL with errno ENOMEM. A use of the memory fails if the handle is
 * invalid. Any thread.
 */
struct ibv_dm *srnic_import_dm(struct ibv_context *ibctx, uint32_t handle)
{
	struct verbs_dm *dm = dm_new();

	if (!dm) {
		errno = ENOMEM;
		return NULL;
	}
	dm->handle = handle;
	dm->dm.handle = handle;
	dm->dm.comp_mask = IBV_DM_MASK_HANDLE;
	dm->dm.context = ibctx;
	return &dm->dm;
}

/**
 * srnic_unimport_dm - ibv_unimport_dm()
 * @ibdm: imported, and not used any more
 */
void srnic_unimport_dm(struct ibv_dm *ibdm)
{
	free(to_verbs_dm(ibdm));
}

/**
 * srnic_reg_dm_mr - ibv_reg_dm_mr()
 * @pd: protection domain
 * @ibdm: memory
 * @offset: of the region in it, bytes
 * @length: of the region, bytes
 * @access: IBV_ACCESS_*, of which IBV_ACCESS_ZERO_BASED is one
 *
 * Return: the region, or NULL with errno: ENOMEM, or an errno of the kernel. Any thread.
 */
struct ibv_mr *srnic_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm, uint64_t offset,
			       size_t length, unsigned int access)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));
	int ret;

	if (!vmr)
		return NULL;
	ret = ibv_cmd_reg_dm_mr(pd, to_verbs_dm(ibdm), offset, length, access, vmr, NULL);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}
