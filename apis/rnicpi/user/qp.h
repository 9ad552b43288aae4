/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QP_H
#define QP_H

#include "rnic.h"

struct rnic_qp *ri_qp_find_settled(ri_rnic_handle_t rnic, ri_qp_handle_t qp, ri_api_return_t *ret);
void ri_qps_renew(void);
void ri_qp_free(struct rnic_qp *qp);
void ri_qp_enter(struct rnic *rnic, struct rnic_qp *qp);
int ri_qp_make_idle(struct rnic_qp *qp);

#endif
