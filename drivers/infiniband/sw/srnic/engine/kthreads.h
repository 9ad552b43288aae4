/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The two kthreads of a stream. */
#ifndef SRNIC_KTHREADS_H
#define SRNIC_KTHREADS_H

#include "queue/state.h"

int srnic_engine_alloc(struct srnic_qp *qp);
void srnic_engine_free(struct srnic_qp *qp);
void srnic_engine_start(struct srnic_qp *qp);
void srnic_kthreads_failed(struct srnic_qp *qp);
void srnic_kthreads_prepare(struct srnic_qp *qp);
void srnic_kthread_begins(const struct srnic_qp *qp);
int srnic_kthreads_init(void);
void srnic_kthreads_exit(void);

#endif
