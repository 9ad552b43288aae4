/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Messages that wait for a receive. */
#ifndef SRNIC_RNR_H
#define SRNIC_RNR_H

#include "queue/state.h"

u32 srnic_rnr_timer_us(u8 timer);
u64 srnic_ib_retry_us(const struct srnic_qp *qp);
bool srnic_rnr_waits(struct srnic_qp *qp);
void srnic_rnr_wait(struct srnic_qp *qp);

#endif
