/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The driver's query methods. */
#ifndef QUERY_H
#define QUERY_H

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/srnic-abi.h>
#include "pair.h"

#define NO_HANDLE	0xffffffffU	/* for a method of the device */
/* Bytes that the first version of a program has room for */
#define V1_DEV_QUERY	48
#define V1_QP_QUERY	48

int query_raw(struct ibv_context *ctx, uint16_t object, uint16_t method, uint32_t handle,
	      void *resp, size_t len);
void query(struct ibv_context *ctx, uint16_t object, uint16_t method, uint32_t handle,
	   void *resp, size_t len);

#endif
