/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Modify QP as InfiniBand programs call it, which connect without rdma_cm. */
#ifndef SRNIC_IB_MODIFY_H
#define SRNIC_IB_MODIFY_H

#include <rdma/ib_verbs.h>

struct srnic_qp;

/* Attributes that only programs without rdma_cm set */
#define SRNIC_IB_QP_ATTRS (IB_QP_AV | IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_SQ_PSN)

int srnic_ib_modify_check(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask);
bool srnic_ib_modify_keeps(const struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask);
int srnic_ib_modify(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask);
u16 srnic_ib_ord(const struct srnic_qp *qp, const struct ib_qp_attr *attr);
void srnic_ib_query(const struct srnic_qp *qp, struct ib_qp_attr *attr);

#endif
