/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Atomic operations: request, execution, response. Flush and Atomic Write. */
#ifndef SRNIC_ATOMIC_H
#define SRNIC_ATOMIC_H

#include <linux/types.h>
#include <rdma/srnic-abi.h>
#include "memory/tpt.h"
#include "wire/rdmap.h"

struct srnic_inbound;
struct srnic_outbound;
struct srnic_qp;

enum srnic_wc_status srnic_atomic_request(struct srnic_qp *qp);
enum srnic_tpt_err srnic_atomic_place(const struct srnic_qp *qp,
				      const struct srnic_outbound *out, u64 value,
				      bool may_sleep);
enum rdmap_err srnic_atomic_execute(const struct srnic_qp *qp,
				    const struct rdmap_atomic_req *req, u64 *was);
void srnic_atomic_respond(struct srnic_qp *qp, const struct srnic_inbound *in);
void srnic_placement_request(struct srnic_qp *qp, u8 ask);
bool srnic_placement_execute(struct srnic_qp *qp, const struct rdmap_atomic_req *req,
			     bool may_sleep, enum rdmap_err *bad);

#endif
