/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tracepoints: events of QPs and connections, and their errors. No tracepoint
 * is on the path of a good segment.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM srnic

#if !defined(SRNIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SRNIC_TRACE_H

#include <linux/in6.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include "queue/state.h"
#include "srnic.h"

TRACE_DEFINE_ENUM(SRNIC_QP_IDLE);
TRACE_DEFINE_ENUM(SRNIC_QP_RTS);
TRACE_DEFINE_ENUM(SRNIC_QP_CLOSING);
TRACE_DEFINE_ENUM(SRNIC_QP_TERMINATE);
TRACE_DEFINE_ENUM(SRNIC_QP_ERROR);

#define srnic_show_state(state)				\
	__print_symbolic(state,				\
		{ SRNIC_QP_IDLE,	"IDLE" },	\
		{ SRNIC_QP_RTS,		"RTS" },	\
		{ SRNIC_QP_CLOSING,	"CLOSING" },	\
		{ SRNIC_QP_TERMINATE,	"TERMINATE" },	\
		{ SRNIC_QP_ERROR,	"ERROR" })

/* a QP changed its state; @why is a short literal */
TRACE_EVENT(srnic_qp_state,
	    TP_PROTO(const struct srnic_qp *qp, enum srnic_qp_state from,
		     enum srnic_qp_state to, const char *why),
	    TP_ARGS(qp, from, to, why),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __array(char, why, 32)
			     __field(u32, qpn)
			     __field(u32, from)
			     __field(u32, to)),
	    TP_fast_assign(strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev),
				   IB_DEVICE_NAME_MAX);
			   __entry->qpn = qp->ibqp.qp_num;
			   strscpy(__entry->why, why, 32);
			   __entry->from = from;
			   __entry->to = to;),
	    TP_printk("%s qpn=%u %s -> %s (%s)", __entry->dev, __entry->qpn,
		      srnic_show_state(__entry->from),
		      srnic_show_state(__entry->to), __entry->why)
);

/* a Terminate was sent (@local) or received */
TRACE_EVENT(srnic_terminate,
	    TP_PROTO(const struct srnic_qp *qp, const struct rdmap_error *err,
		     bool local),
	    TP_ARGS(qp, err, local),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, qpn)
			     __field(u8, layer)
			     __field(u8, etype)
			     __field(u8, code)
			     __field(bool, local)),
	    TP_fast_assign(strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev),
				   IB_DEVICE_NAME_MAX);
			   __entry->qpn = qp->ibqp.qp_num;
			   __entry->layer = err->layer;
			   __entry->etype = err->etype;
			   __entry->code = err->code;
			   __entry->local = local;),
	    TP_printk("%s qpn=%u %s layer=%u etype=%u code=0x%02x",
		      __entry->dev, __entry->qpn,
		      __entry->local ? "sent" : "received",
		      __entry->layer, __entry->etype, __entry->code)
);

/* a WR completes with an error other than a flush */
TRACE_EVENT(srnic_wqe_error,
	    TP_PROTO(const struct srnic_qp *qp, u64 wr_id,
		     enum srnic_wc_status status),
	    TP_ARGS(qp, wr_id, status),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __array(char, name, 32)
			     __field(u64, wr_id)
			     __field(u32, qpn)
			     __field(u32, status)),
	    TP_fast_assign(strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev),
				   IB_DEVICE_NAME_MAX);
			   strscpy(__entry->name, srnic_wc_status_name(status), 32);
			   __entry->wr_id = wr_id;
			   __entry->qpn = qp->ibqp.qp_num;
			   __entry->status = status;),
	    TP_printk("%s qpn=%u wr_id=0x%llx status=%u (%s)", __entry->dev,
		      __entry->qpn, __entry->wr_id, __entry->status,
		      __entry->name)
);

/* a received segment is not valid; @err is the row of the error table */
TRACE_EVENT(srnic_fpdu_error,
	    TP_PROTO(const struct srnic_qp *qp, enum rdmap_err err,
		     u32 ulpdu_len),
	    TP_ARGS(qp, err, ulpdu_len),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __array(char, name, 32)
			     __field(u32, qpn)
			     __field(u32, err)
			     __field(u32, ulpdu_len)),
	    TP_fast_assign(strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev),
				   IB_DEVICE_NAME_MAX);
			   strscpy(__entry->name,
				   srnic_event_name(srnic_event_of(err)), 32);
			   __entry->qpn = qp->ibqp.qp_num;
			   __entry->err = err;
			   __entry->ulpdu_len = ulpdu_len;),
	    TP_printk("%s qpn=%u err=%u (%s) ulpdu_len=%u", __entry->dev,
		      __entry->qpn, __entry->err, __entry->name,
		      __entry->ulpdu_len)
);

/* no receive is posted: a message begins to wait for one (@begins), or its wait is over */
TRACE_EVENT(srnic_rnr_wait,
	    TP_PROTO(const struct srnic_qp *qp, bool begins),
	    TP_ARGS(qp, begins),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, qpn)
			     __field(bool, begins)),
	    TP_fast_assign(strscpy(__entry->dev, dev_name(&qp->dev->ibdev.dev),
				   IB_DEVICE_NAME_MAX);
			   __entry->qpn = qp->ibqp.qp_num;
			   __entry->begins = begins;),
	    TP_printk("%s qpn=%u %s", __entry->dev, __entry->qpn,
		      __entry->begins ? "begins" : "ends")
);

/*
 * A step in the life of a connection: @event is a short literal ("request",
 * "accepted", ...), @status 0 or an errno, @qpn 0 while there is no QP.
 */
TRACE_EVENT(srnic_conn,
	    TP_PROTO(const struct srnic_device *dev, u32 qpn, const char *event,
		     const struct sockaddr_storage *local,
		     const struct sockaddr_storage *remote, int status),
	    TP_ARGS(dev, qpn, event, local, remote, status),
	    TP_STRUCT__entry(__array(char, dev, IB_DEVICE_NAME_MAX)
			     __array(char, event, 24)
			     __array(u8, local, sizeof(struct sockaddr_in6))
			     __array(u8, remote, sizeof(struct sockaddr_in6))
			     __field(u32, qpn)
			     __field(int, status)),
	    TP_fast_assign(strscpy(__entry->dev, dev_name(&dev->ibdev.dev),
				   IB_DEVICE_NAME_MAX);
			   strscpy(__entry->event, event, 24);
			   memcpy(__entry->local, local,
				  sizeof(struct sockaddr_in6));
			   memcpy(__entry->remote, remote,
				  sizeof(struct sockaddr_in6));
			   /* a listener has no remote address: print zeros */
			   ((struct sockaddr *)__entry->remote)->sa_family =
				local->ss_family;
			   __entry->qpn = qpn;
			   __entry->status = status;),
	    TP_printk("%s qpn=%u %s %pISpc -> %pISpc status=%d", __entry->dev,
		      __entry->qpn, __entry->event, __entry->local,
		      __entry->remote, __entry->status)
);

/* a stream that lingered has ended; @end is a short literal: how */
TRACE_EVENT(srnic_linger,
	    TP_PROTO(const struct sockaddr_storage *local,
		     const struct sockaddr_storage *remote, const char *end),
	    TP_ARGS(local, remote, end),
	    TP_STRUCT__entry(__array(char, end, 16)
			     __array(u8, local, sizeof(struct sockaddr_in6))
			     __array(u8, remote, sizeof(struct sockaddr_in6))),
	    TP_fast_assign(strscpy(__entry->end, end, 16);
			   memcpy(__entry->local, local,
				  sizeof(struct sockaddr_in6));
			   memcpy(__entry->remote, remote,
				  sizeof(struct sockaddr_in6));),
	    TP_printk("%pISpc -> %pISpc %s", __entry->local, __entry->remote,
		      __entry->end)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH queue
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
