/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Methods of the driver and of the core, by the ioctl: libibverbs has no call for them. */
#ifndef METHOD_H
#define METHOD_H

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>
#include <rdma/srnic-abi.h>

/* A call; its length is that of its attributes */
struct method_call {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attr[8];
};

#define METHOD_HDR(_object, _method, _attrs)					\
	{ .object_id = (_object), .method_id = (_method), .num_attrs = (_attrs), \
	  .driver_id = SRNIC_DRIVER_ID }

/* An attribute that is a number, as a handle is; and one that is @_len bytes at @_ptr */
#define ATTR_NUMBER(_id, _number)						\
	{ .attr_id = (_id), .flags = UVERBS_ATTR_F_MANDATORY, .data = (_number) }
#define ATTR_BYTES(_id, _ptr, _len)						\
	{ .attr_id = (_id), .flags = UVERBS_ATTR_F_MANDATORY, .len = (_len),	\
	  .data = (uintptr_t)(_ptr) }

int call_method(struct ibv_context *ctx, struct method_call *call);

#endif
