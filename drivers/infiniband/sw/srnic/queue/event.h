/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Native RDMAC completion statuses and asynchronous events (RDMAC verbs 9.5). */
#ifndef SRNIC_EVENT_H
#define SRNIC_EVENT_H

#include <linux/types.h>
#include <rdma/srnic-abi.h>
#include "wire/rdmap.h"

struct ib_ucontext;
struct srnic_cq;
struct srnic_qp;
struct srnic_srq;

/* Number of completion statuses, which are in the uAPI: they travel as vendor_err */
#define SRNIC_WC_COUNT	(SRNIC_WC_NO_RECEIVE + 1)

/* ... and of asynchronous events */
#define SRNIC_EV_COUNT	(SRNIC_EV_LAST_WQE + 1)

u32 srnic_wc_verbs_status(enum srnic_wc_status status);
const char *srnic_wc_status_name(enum srnic_wc_status status);
const char *srnic_event_name(enum srnic_event event);
enum srnic_event srnic_event_of(enum rdmap_err err);
void srnic_qp_events_init(struct srnic_qp *qp, struct ib_ucontext *uctx);
void srnic_cq_events_init(struct srnic_cq *cq, struct ib_ucontext *uctx);
void srnic_srq_events_init(struct srnic_srq *srq, struct ib_ucontext *uctx);
void srnic_qp_raise(struct srnic_qp *qp, enum srnic_event event);
void srnic_cq_raise(struct srnic_cq *cq, enum srnic_event event);
void srnic_srq_raise(struct srnic_srq *srq, enum srnic_event event);

#endif
