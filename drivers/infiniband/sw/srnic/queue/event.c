// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tables of completion statuses, of asynchronous events, and of the event for
 * each stream error; and how events are reported.
 */

#include <linux/kernel.h>
#include <rdma/ib_verbs.h>
#include "queue/cq.h"
#include "queue/event.h"
#include "queue/srq.h"
#include "queue/state.h"
#include "srnic.h"

/* RDMAC verbs Figure 36 and the verbs status that comes nearest (CP-06 to CP-12) */
static const struct {
	const char *name;
	enum ib_wc_status verbs;
} wc_table[SRNIC_WC_COUNT] = {
	[SRNIC_WC_SUCCESS]	      = { "success", IB_WC_SUCCESS },
	[SRNIC_WC_FLUSHED]	      = { "flushed", IB_WC_WR_FLUSH_ERR },
	[SRNIC_WC_INVALID_WQE]	      = { "invalid WQE", IB_WC_LOC_QP_OP_ERR },
	[SRNIC_WC_QP_CATASTROPHIC]    = { "local QP catastrophic error", IB_WC_FATAL_ERR },
	[SRNIC_WC_REMOTE_TERMINATION] = { "remote termination", IB_WC_REM_ACCESS_ERR },
	[SRNIC_WC_INVALID_STAG]	      = { "invalid STag", IB_WC_LOC_PROT_ERR },
	[SRNIC_WC_BOUNDS]	      = { "base or bounds violation", IB_WC_LOC_PROT_ERR },
	[SRNIC_WC_ACCESS]	      = { "access violation", IB_WC_LOC_PROT_ERR },
	[SRNIC_WC_INVALID_PD]	      = { "invalid PD", IB_WC_LOC_PROT_ERR },
	[SRNIC_WC_WRAP]		      = { "wrap error", IB_WC_LOC_PROT_ERR },
	[SRNIC_WC_INVALIDATE]	      = { "STag to invalidate refused", IB_WC_REM_INV_REQ_ERR },
	[SRNIC_WC_ZERO_ORD]	      = { "zero RDMA Read resources", IB_WC_LOC_QP_OP_ERR },
	[SRNIC_WC_NOT_PRIVILEGED]     = { "QP not in privileged mode", IB_WC_LOC_QP_OP_ERR },
	[SRNIC_WC_STAG_NOT_INVALID]   = { "STag not in Invalid state", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_PAGE_SIZE]	      = { "invalid page size", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_PBE_SIZE]	      = { "invalid physical buffer size", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_PBL_ENTRY]	      = { "invalid physical buffer list entry", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_FBO]		      = { "invalid FBO", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_FR_LENGTH]	      = { "invalid length of fast-register", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_FR_ACCESS]	      = { "invalid access rights", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_PBL_TOO_LONG]	      = { "physical buffer list too long", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_INVALID_VA]	      = { "invalid virtual address", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_INVALID_REGION]     = { "invalid region", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_INVALID_WINDOW]     = { "invalid window", IB_WC_MW_BIND_ERR },
	[SRNIC_WC_INVALID_LENGTH]     = { "invalid length", IB_WC_LOC_LEN_ERR },
	/* not in the RDMAC verbs, whose QPs have a peer before they are in RTS */
	[SRNIC_WC_NO_PEER]	      = { "no peer", IB_WC_RETRY_EXC_ERR },
	[SRNIC_WC_REMOTE_REQUEST]     = { "refused by the peer", IB_WC_REM_INV_REQ_ERR },
	[SRNIC_WC_REMOTE_OPERATION]   = { "failed at the peer", IB_WC_REM_OP_ERR },
	[SRNIC_WC_NO_RECEIVE]	      = { "no receive at the peer", IB_WC_RNR_RETRY_EXC_ERR },
};

/**
 * srnic_wc_verbs_status - a completion status as verbs have it
 * @status: native
 *
 * Context: any.
 * Return: enum ib_wc_status, which has the numbers of enum ibv_wc_status.
 */
u32 srnic_wc_verbs_status(enum srnic_wc_status status)
{
	return wc_table[status].verbs;
}

/**
 * srnic_wc_status_name - name a status in logs and traces
 * @status: native
 * Context: any. Return: the name, or "?".
 */
const char *srnic_wc_status_name(enum srnic_wc_status status)
{
	return status < SRNIC_WC_COUNT ? wc_table[status].name : "?";
}

/* -1: verbs have no event of this kind; iw_cm or a WC reports it */
#define NO_VERBS_EVENT	(-1)

/* RDMAC verbs Figure 37 */
static const struct {
	const char *name;
	int verbs;
} event_table[SRNIC_EV_COUNT] = {
	[SRNIC_EV_NONE]		       = { "none", NO_VERBS_EVENT },
	[SRNIC_EV_LLP_CLOSE_COMPLETE]  = { "LLP close complete", NO_VERBS_EVENT },
	[SRNIC_EV_TERMINATE_RECEIVED]  = { "Terminate received", IB_EVENT_QP_FATAL },
	[SRNIC_EV_LLP_RESET]	       = { "LLP connection reset", NO_VERBS_EVENT },
	[SRNIC_EV_LLP_LOST]	       = { "LLP connection lost", NO_VERBS_EVENT },
	[SRNIC_EV_LLP_SEGMENT_SIZE]    = { "LLP segment size invalid", IB_EVENT_QP_FATAL },
	[SRNIC_EV_LLP_CRC]	       = { "LLP CRC error", IB_EVENT_QP_FATAL },
	[SRNIC_EV_LLP_BAD_FPDU]	       = { "LLP bad FPDU", IB_EVENT_QP_FATAL },
	[SRNIC_EV_DDP_VERSION]	       = { "invalid DDP version", IB_EVENT_QP_FATAL },
	[SRNIC_EV_RDMAP_VERSION]       = { "invalid RDMAP version", IB_EVENT_QP_FATAL },
	[SRNIC_EV_OPCODE]	       = { "unexpected opcode", IB_EVENT_QP_FATAL },
	[SRNIC_EV_DDP_QN]	       = { "invalid DDP queue number", IB_EVENT_QP_FATAL },
	[SRNIC_EV_READ_NOT_ENABLED]    = { "RDMA Read not enabled", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_WRITE_NOT_ENABLED]   = { "RDMA Write not enabled", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_READ_REQUEST_SIZE]   = { "bad Read Request size", IB_EVENT_QP_REQ_ERR },
	[SRNIC_EV_NO_L_BIT]	       = { "no L bit when expected", IB_EVENT_QP_REQ_ERR },
	[SRNIC_EV_TAGGED_STAG]	       = { "tagged: invalid STag", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_TAGGED_BOUNDS]       = { "tagged: base or bounds", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_TAGGED_ACCESS]       = { "tagged: access rights", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_TAGGED_PD]	       = { "tagged: invalid PD", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_TAGGED_WRAP]	       = { "tagged: wrap", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_BAD_CLOSE]	       = { "bad close", IB_EVENT_QP_FATAL },
	[SRNIC_EV_BAD_LLP_CLOSE]       = { "bad LLP close", IB_EVENT_QP_FATAL },
	[SRNIC_EV_RQ_MSN_RANGE]	       = { "RQ: MSN range or no buffer", IB_EVENT_QP_FATAL },
	[SRNIC_EV_RQ_MSN_GAP]	       = { "RQ: MSN gap", IB_EVENT_QP_FATAL },
	[SRNIC_EV_IRRQ_TOO_MANY]       = { "IRRQ: too many Read Requests", IB_EVENT_QP_REQ_ERR },
	[SRNIC_EV_IRRQ_MSN_GAP]	       = { "IRRQ: MSN gap", IB_EVENT_QP_REQ_ERR },
	[SRNIC_EV_IRRQ_MSN_RANGE]      = { "IRRQ: MSN range", IB_EVENT_QP_REQ_ERR },
	[SRNIC_EV_IRRQ_STAG]	       = { "Read source: invalid STag", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_IRRQ_BOUNDS]	       = { "Read source: base or bounds", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_IRRQ_ACCESS]	       = { "Read source: access rights", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_IRRQ_PD]	       = { "Read source: invalid PD", IB_EVENT_QP_ACCESS_ERR },
	[SRNIC_EV_IRRQ_WRAP]	       = { "Read source: wrap", IB_EVENT_QP_ACCESS_ERR },
	/* not in the RDMAC verbs, which have no atomics: the peer asked for an unknown operation */
	[SRNIC_EV_ATOMIC_OPERATION]    = { "unsupported atomic operation", IB_EVENT_QP_REQ_ERR },
	[SRNIC_EV_CQ_SQ]	       = { "CQ error of the SQ", IB_EVENT_QP_FATAL },
	[SRNIC_EV_CQ_RQ]	       = { "CQ error of the RQ", IB_EVENT_QP_FATAL },
	[SRNIC_EV_SRQ_ON_QP]	       = { "SRQ error on a QP", IB_EVENT_QP_FATAL },
	[SRNIC_EV_QP_CATASTROPHIC]     = { "local QP catastrophic error", IB_EVENT_QP_FATAL },
	[SRNIC_EV_CQ_OVERFLOW]	       = { "CQ overflow", IB_EVENT_CQ_ERR },
	[SRNIC_EV_CQ_OPERATION]	       = { "CQ operation error", IB_EVENT_CQ_ERR },
	[SRNIC_EV_SRQ_LIMIT]	       = { "SRQ limit reached", IB_EVENT_SRQ_LIMIT_REACHED },
	[SRNIC_EV_RQ_LIMIT]	       = { "RQ limit reached", NO_VERBS_EVENT },
	[SRNIC_EV_SRQ_CATASTROPHIC]    = { "SRQ catastrophic error", IB_EVENT_SRQ_ERR },
	[SRNIC_EV_RNIC_CATASTROPHIC]   = { "RNIC catastrophic error", IB_EVENT_DEVICE_FATAL },
	[SRNIC_EV_LAST_WQE]	       = { "last WQE reached", IB_EVENT_QP_LAST_WQE_REACHED },
};

/**
 * srnic_event_name - name an event in logs and traces
 * @event: native
 * Context: any. Return: the name, or "?".
 */
const char *srnic_event_name(enum srnic_event event)
{
	return event < SRNIC_EV_COUNT ? event_table[event].name : "?";
}

/* RDMAC verbs Figure 24: the event a stream error raises if no WC carries it */
static const enum srnic_event err_event[RDMAP_ERR_COUNT] = {
	[RDMAP_E_DDP_VERSION_TAGGED]   = SRNIC_EV_DDP_VERSION,
	[RDMAP_E_DDP_VERSION_UNTAGGED] = SRNIC_EV_DDP_VERSION,
	[RDMAP_E_QN]		       = SRNIC_EV_DDP_QN,
	[RDMAP_E_NO_RQE]	       = SRNIC_EV_RQ_MSN_RANGE,
	[RDMAP_E_IRD]		       = SRNIC_EV_IRRQ_TOO_MANY,
	[RDMAP_E_MSN]		       = SRNIC_EV_RQ_MSN_GAP,
	[RDMAP_E_IRRQ_MSN]	       = SRNIC_EV_IRRQ_MSN_GAP,
	[RDMAP_E_MO]		       = SRNIC_EV_RQ_MSN_GAP,
	[RDMAP_E_TOO_LONG]	       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_TAGGED_STAG]	       = SRNIC_EV_TAGGED_STAG,
	[RDMAP_E_TAGGED_BOUNDS]	       = SRNIC_EV_TAGGED_BOUNDS,
	[RDMAP_E_TAGGED_STREAM]	       = SRNIC_EV_TAGGED_PD,
	[RDMAP_E_TAGGED_WRAP]	       = SRNIC_EV_TAGGED_WRAP,
	[RDMAP_E_TAGGED_ACCESS]	       = SRNIC_EV_TAGGED_ACCESS,
	[RDMAP_E_RDMAP_VERSION]	       = SRNIC_EV_RDMAP_VERSION,
	[RDMAP_E_OPCODE]	       = SRNIC_EV_OPCODE,
	[RDMAP_E_RESP_UNEXPECTED]      = SRNIC_EV_OPCODE,
	[RDMAP_E_RESP_STAG]	       = SRNIC_EV_TAGGED_STAG,
	[RDMAP_E_RESP_RANGE]	       = SRNIC_EV_TAGGED_BOUNDS,
	[RDMAP_E_READ_STAG]	       = SRNIC_EV_IRRQ_STAG,
	[RDMAP_E_READ_BOUNDS]	       = SRNIC_EV_IRRQ_BOUNDS,
	[RDMAP_E_READ_ACCESS]	       = SRNIC_EV_IRRQ_ACCESS,
	[RDMAP_E_READ_STREAM]	       = SRNIC_EV_IRRQ_PD,
	[RDMAP_E_READ_WRAP]	       = SRNIC_EV_IRRQ_WRAP,
	[RDMAP_E_READ_LONG]	       = SRNIC_EV_READ_REQUEST_SIZE,
	[RDMAP_E_READ_SHORT]	       = SRNIC_EV_READ_REQUEST_SIZE,
	[RDMAP_E_READ_MO]	       = SRNIC_EV_READ_REQUEST_SIZE,
	[RDMAP_E_READ_REVOKED]	       = SRNIC_EV_IRRQ_STAG,
	[RDMAP_E_INV_STAG]	       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_INV_STREAM]	       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_INV_SHARED]	       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_INV_BOUND]	       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_PLACEMENT]	       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_CQ_OVERFLOW]	       = SRNIC_EV_CQ_SQ,
	[RDMAP_E_RQ_CQ_OVERFLOW]       = SRNIC_EV_CQ_RQ,
	[RDMAP_E_LOCAL_WR]	       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_CRC]		       = SRNIC_EV_LLP_CRC,
	[RDMAP_E_FPDU_LENGTH]	       = SRNIC_EV_LLP_SEGMENT_SIZE,
	[RDMAP_E_MARKER]	       = SRNIC_EV_LLP_BAD_FPDU,
	[RDMAP_E_LLP_LOST]	       = SRNIC_EV_LLP_LOST,
	[RDMAP_E_ATOMIC_ALIGN]	       = SRNIC_EV_IRRQ_ACCESS,
	[RDMAP_E_ATOMIC_STAG]	       = SRNIC_EV_IRRQ_STAG,
	[RDMAP_E_ATOMIC_BOUNDS]	       = SRNIC_EV_IRRQ_BOUNDS,
	[RDMAP_E_ATOMIC_ACCESS]	       = SRNIC_EV_IRRQ_ACCESS,
	[RDMAP_E_ATOMIC_STREAM]	       = SRNIC_EV_IRRQ_PD,
	[RDMAP_E_ATOMIC_WRAP]	       = SRNIC_EV_IRRQ_WRAP,
	[RDMAP_E_ATOMIC_OPCODE]	       = SRNIC_EV_ATOMIC_OPERATION,
	[RDMAP_E_IMM_LENGTH]	       = SRNIC_EV_OPCODE,
	[RDMAP_E_BAD_CLOSE]	       = SRNIC_EV_BAD_LLP_CLOSE,
	[RDMAP_E_RQ_LOCAL]	       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_RING]		       = SRNIC_EV_QP_CATASTROPHIC,
	[RDMAP_E_SRQ]		       = SRNIC_EV_SRQ_ON_QP,
	[RDMAP_E_WRITE_DISABLED]       = SRNIC_EV_WRITE_NOT_ENABLED,
	[RDMAP_E_READ_DISABLED]	       = SRNIC_EV_READ_NOT_ENABLED,
	[RDMAP_E_NO_L_BIT]	       = SRNIC_EV_NO_L_BIT,
	[RDMAP_E_TERM_SHORT]	       = SRNIC_EV_LLP_SEGMENT_SIZE,
};

/**
 * srnic_event_of - the event of a stream error
 * @err: what went wrong
 * Context: any. Return: the event, or SRNIC_EV_NONE.
 */
enum srnic_event srnic_event_of(enum rdmap_err err)
{
	return err < RDMAP_ERR_COUNT ? err_event[err] : SRNIC_EV_NONE;
}

static void describe_qp(struct srnic_event_source *src, struct srnic_event_record *rec)
{
	struct srnic_qp *qp = container_of(src, struct srnic_qp, events);
	struct rdmap_term term;
	bool local, sent;

	rec->object = SRNIC_EVENT_OF_QP;
	rec->number = qp->ibqp.qp_num;
	rec->error = READ_ONCE(qp->error);
	if (!srnic_qp_terminate(qp, &term, &local, &sent))
		return;
	srnic_term_fill(&rec->term, &term, !local || sent);
	if (local)
		rec->flags |= SRNIC_EVENT_TERMINATE_SENT;
}

static void describe_cq(struct srnic_event_source *src, struct srnic_event_record *rec)
{
	rec->object = SRNIC_EVENT_OF_CQ;
	rec->number = container_of(src, struct srnic_cq, events)->ibcq.res.id;
}

static void describe_srq(struct srnic_event_source *src, struct srnic_event_record *rec)
{
	rec->object = SRNIC_EVENT_OF_SRQ;
	rec->number = container_of(src, struct srnic_srq, events)->ibsrq.res.id;
}

/**
 * srnic_qp_events_init - a QP can have events
 * @qp: new
 * @uctx: the user, NULL for a kernel consumer
 * Context: any.
 */
void srnic_qp_events_init(struct srnic_qp *qp, struct ib_ucontext *uctx)
{
	srnic_event_source_init(&qp->events, uctx, describe_qp);
}

/**
 * srnic_cq_events_init - a CQ can have events
 * @cq: new
 * @uctx: the user, NULL for a kernel consumer
 * Context: any.
 */
void srnic_cq_events_init(struct srnic_cq *cq, struct ib_ucontext *uctx)
{
	srnic_event_source_init(&cq->events, uctx, describe_cq);
}

/**
 * srnic_srq_events_init - an SRQ can have events
 * @srq: new
 * @uctx: the user, NULL for a kernel consumer
 * Context: any.
 */
void srnic_srq_events_init(struct srnic_srq *srq, struct ib_ucontext *uctx)
{
	srnic_event_source_init(&srq->events, uctx, describe_srq);
}

/**
 * srnic_qp_raise - report an event of a QP to its consumer
 * @qp: alive
 * @event: native; verbs need not have one of the kind
 *
 * Context: any, without the QP's locks.
 */
void srnic_qp_raise(struct srnic_qp *qp, enum srnic_event event)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
	};

	ibdev_dbg(qp->ibqp.device, "QP %u: %s\n", qp->ibqp.qp_num,
		  srnic_event_name(event));
	if (qp->native_event)
		qp->native_event(&qp->ibqp, event);
	srnic_event_source_add(&qp->events, event);
	if (event_table[event].verbs == NO_VERBS_EVENT)
		return;
	ev.event = event_table[event].verbs;
	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

/**
 * srnic_cq_raise - report an event of a CQ to its consumer
 * @cq: alive
 * @event: native, one of a CQ
 *
 * Context: any, without locks of the CQ or a QP.
 */
void srnic_cq_raise(struct srnic_cq *cq, enum srnic_event event)
{
	struct ib_event ev = {
		.device = cq->ibcq.device,
		.event = event_table[event].verbs,
		.element.cq = &cq->ibcq,
	};

	srnic_event_source_add(&cq->events, event);
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
}

/**
 * srnic_srq_raise - report an event of an SRQ to its consumer
 * @srq: alive
 * @event: native, one of an SRQ
 *
 * Context: any, without locks of the SRQ or a QP.
 */
void srnic_srq_raise(struct srnic_srq *srq, enum srnic_event event)
{
	struct ib_event ev = {
		.device = srq->ibsrq.device,
		.event = event_table[event].verbs,
		.element.srq = &srq->ibsrq,
	};

	ibdev_dbg(srq->ibsrq.device, "SRQ: %s\n", srnic_event_name(event));
	srnic_event_source_add(&srq->events, event);
	if (srq->ibsrq.event_handler)
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
}
