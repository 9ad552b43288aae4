/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Posting by kernel consumers, and the doorbells of programs. */
#ifndef SRNIC_POST_H
#define SRNIC_POST_H

#include <rdma/ib_verbs.h>

int srnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int srnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);
int srnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

#endif
