/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Driver attributes of objects. */
#ifndef SRNIC_NLDEV_H
#define SRNIC_NLDEV_H

struct ib_cq;
struct ib_mr;
struct ib_qp;
struct sk_buff;

int srnic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int srnic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int srnic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);

#endif
