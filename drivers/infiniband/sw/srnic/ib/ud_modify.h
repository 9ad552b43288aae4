/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Modify QP of UD QPs. */
#ifndef SRNIC_UD_MODIFY_H
#define SRNIC_UD_MODIFY_H

#include <linux/types.h>

struct ib_qp_attr;
struct srnic_qp;

int srnic_ud_modify(struct srnic_qp *qp, const struct ib_qp_attr *attr, int mask);
void srnic_ud_query(const struct srnic_qp *qp, struct ib_qp_attr *attr);

#endif
