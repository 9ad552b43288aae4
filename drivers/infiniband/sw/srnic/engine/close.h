/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Winding a stream down. */
#ifndef SRNIC_CLOSE_H
#define SRNIC_CLOSE_H

#include <linux/types.h>

struct srnic_qp;

/* How far a stream without kthreads is wound down */
enum srnic_wind {
	SRNIC_WIND_DONE,	/* it is gone, and the QP may be */
	SRNIC_WIND_WAITS,	/* a kick goes on with it */
	SRNIC_WIND_KTHREADS,	/* it is not at its end, or something has to sleep */
};

bool srnic_close_overdue(const struct srnic_qp *qp);
unsigned long srnic_close_retry_time(const struct srnic_qp *qp);
enum srnic_wind srnic_close_at_once(struct srnic_qp *qp);
void srnic_close(struct srnic_qp *qp);

#endif
