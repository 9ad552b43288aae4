/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions that qp.c and qp_modify.c share. */
#ifndef QP_H
#define QP_H

#include "rnicpi/kernel/rnic.h"
#include "srnic.h"

int ri_qp_arm(struct rnic_qp *qp, bool arm);
void ri_qp_look(struct rnic_qp *qp, struct srnic_native_qp *is);

#endif
