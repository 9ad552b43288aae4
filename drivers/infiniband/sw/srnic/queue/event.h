/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Native RDMAC completion statuses and asynchronous events (RDMAC verbs 9.5). */
#ifndef SRNIC_EVENT_H
#define SRNIC_EVENT_H

#include <linux/types.h>
#include <rdma/srnic-abi.h>
#include "wire/rdmap.h"

struct srnic_qp;
struct srnic_srq;

/* Number of completion statuses, which are in the uAPI: they travel as vendor_err */
#define SRNIC_WC_COUNT	(SRNIC_WC_NO_PEER + 1)

/*
 * Asynchronous events, RDMAC verbs Figure 37 (those of a QP, then the others),
 * and the one that only verbs have
 */
enum srnic_event {
	SRNIC_EV_NONE,
	SRNIC_EV_LLP_CLOSE_COMPLETE,
	SRNIC_EV_TERMINATE_RECEIVED,
	SRNIC_EV_LLP_RESET,
	SRNIC_EV_LLP_LOST,
	SRNIC_EV_LLP_SEGMENT_SIZE,
	SRNIC_EV_LLP_CRC,
	SRNIC_EV_LLP_BAD_FPDU,
	SRNIC_EV_DDP_VERSION,
	SRNIC_EV_RDMAP_VERSION,
	SRNIC_EV_OPCODE,
	SRNIC_EV_DDP_QN,
	SRNIC_EV_READ_NOT_ENABLED,
	SRNIC_EV_WRITE_NOT_ENABLED,
	SRNIC_EV_READ_REQUEST_SIZE,
	SRNIC_EV_NO_L_BIT,
	SRNIC_EV_TAGGED_STAG,
	SRNIC_EV_TAGGED_BOUNDS,
	SRNIC_EV_TAGGED_ACCESS,
	SRNIC_EV_TAGGED_PD,
	SRNIC_EV_TAGGED_WRAP,
	SRNIC_EV_BAD_CLOSE,
	SRNIC_EV_BAD_LLP_CLOSE,
	SRNIC_EV_RQ_MSN_RANGE,
	SRNIC_EV_RQ_MSN_GAP,
	SRNIC_EV_IRRQ_TOO_MANY,
	SRNIC_EV_IRRQ_MSN_GAP,
	SRNIC_EV_IRRQ_MSN_RANGE,
	SRNIC_EV_IRRQ_STAG,
	SRNIC_EV_IRRQ_BOUNDS,
	SRNIC_EV_IRRQ_ACCESS,
	SRNIC_EV_IRRQ_PD,
	SRNIC_EV_IRRQ_WRAP,
	SRNIC_EV_ATOMIC_OPERATION,
	SRNIC_EV_CQ_SQ,
	SRNIC_EV_CQ_RQ,
	SRNIC_EV_SRQ_ON_QP,
	SRNIC_EV_QP_CATASTROPHIC,
	SRNIC_EV_CQ_OVERFLOW,
	SRNIC_EV_CQ_OPERATION,
	SRNIC_EV_SRQ_LIMIT,
	SRNIC_EV_RQ_LIMIT,
	SRNIC_EV_SRQ_CATASTROPHIC,
	SRNIC_EV_RNIC_CATASTROPHIC,
	SRNIC_EV_LAST_WQE,
	SRNIC_EV_COUNT,
};

u32 srnic_wc_verbs_status(enum srnic_wc_status status);
const char *srnic_wc_status_name(enum srnic_wc_status status);
const char *srnic_event_name(enum srnic_event event);
enum srnic_event srnic_event_of(enum rdmap_err err);
void srnic_qp_raise(struct srnic_qp *qp, enum srnic_event event);
void srnic_srq_raise(struct srnic_srq *srq, enum srnic_event event);

#endif
