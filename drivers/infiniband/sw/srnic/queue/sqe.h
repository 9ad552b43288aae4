/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Taking SQEs out of the SQ. */
#ifndef SRNIC_SQE_H
#define SRNIC_SQE_H

#include <linux/types.h>
#include <rdma/srnic-abi.h>

struct srnic_qp;

/**
 * struct srnic_fetched - a send WR that was taken out of the SQ
 * @index: ring index
 * @sqe: copied once and checked
 * @sges: its SGEs, copied once; room for as many as the QP allows
 * @inl: ... or its inline data, copied once; room for max_inline octets
 * @data: ... whichever it has; the memory is the fetcher's
 * @total: octets of the message
 */
struct srnic_fetched {
	u32 index;
	struct srnic_sqe sqe;
	union {
		struct srnic_sge *sges;
		u8 *inl;
		void *data;
	};
	u32 total;
};

int srnic_sqe_fetch(struct srnic_qp *qp, struct srnic_fetched *wr,
		    enum srnic_wc_status *status);

#endif
