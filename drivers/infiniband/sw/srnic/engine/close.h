/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Winding a stream down. */
#ifndef SRNIC_CLOSE_H
#define SRNIC_CLOSE_H

#include <linux/types.h>

struct srnic_qp;

bool srnic_close_overdue(const struct srnic_qp *qp);
unsigned long srnic_close_retry_time(const struct srnic_qp *qp);
void srnic_close(struct srnic_qp *qp);

#endif
