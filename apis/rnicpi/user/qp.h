/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef QP_H
#define QP_H

#include <sys/types.h>
#include "rnic.h"

void ri_qp_enter(struct rnic_qp *qp);
void ri_qp_leave(struct rnic_qp *qp);
int ri_qp_make_idle(struct rnic_qp *qp);
void ri_qp_lock_settled(struct rnic_qp *qp);
void ri_qp_closed(struct rnic_qp *qp);
ino_t ri_socket_of(int fd);

#endif
