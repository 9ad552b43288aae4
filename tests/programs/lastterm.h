/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The driver's method that returns the last Terminate of a QP. */
#ifndef LASTTERM_H
#define LASTTERM_H

#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/srnic-abi.h>

int last_terminate_raw(struct ibv_context *ctx, uint32_t handle, void *resp, size_t len,
		       uint32_t driver_id);
void last_terminate(struct ibv_qp *qp, struct srnic_uresp_terminate *resp);

#endif
