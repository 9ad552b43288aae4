/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Rules of ri_qp_modify() on iWARP, for librnicpi and rnicpi.ko. */
#ifndef RNICPI_RULES_H
#define RNICPI_RULES_H

#include <rnicpi/rnicpi.h>

/* Known bits of a mask (bits 5 to 9 have other meanings for InfiniBand) */
#define RI_KNOWN	(RI_QP_ATTR_NEXT_STATE | RI_QP_ATTR_SQ_SIZE | RI_QP_ATTR_RQ_SIZE |	\
			 RI_QP_ATTR_MAX_RDMA_READ_OUTGOING |					\
			 RI_QP_ATTR_MAX_RDMA_READ_INCOMING | RI_QP_ATTR_RQ_HIWAT |		\
			 RI_QP_ATTR_RQ_ARMED | RI_QP_ATTR_LLP_STREAM_HANDLE |			\
			 RI_QP_ATTR_STREAM_MSG_BUFFER | RI_QP_ATTR_MPA_ATTR)
/* Attributes of the receive queue of a QP with an SRQ */
#define RI_LIMIT	(RI_QP_ATTR_RQ_HIWAT | RI_QP_ATTR_RQ_ARMED)
/* Attributes of the stream; they can be set in Idle only */
#define RI_STREAM	(RI_QP_ATTR_LLP_STREAM_HANDLE | RI_QP_ATTR_STREAM_MSG_BUFFER |		\
			 RI_QP_ATTR_MPA_ATTR)

/* Bytes of a last message in streaming mode */
#define RI_MAX_LAST_MSG	65535

/* RDMAC verbs 6.2: transitions that a consumer may request */
static inline bool ri_may_move(ri_qp_state_t from, ri_qp_state_t to)
{
	switch (to) {
	case RI_QP_STATE_IDLE:
		return from == RI_QP_STATE_IDLE || from == RI_QP_STATE_ERROR;
	case RI_QP_STATE_READY_TO_SEND:
		return from == RI_QP_STATE_IDLE || from == RI_QP_STATE_READY_TO_SEND;
	case RI_QP_STATE_CLOSING:
	case RI_QP_STATE_TERMINATE:
		return from == RI_QP_STATE_READY_TO_SEND;
	default:
		return to == RI_QP_STATE_ERROR;
	}
}

/* Checks the stream of @iw for a QP in @state; @is_stream: its handle is valid */
static inline ri_api_return_t ri_check_stream(ri_qp_state_t state, uint32_t mask,
					      const ri_iwarp_qp_attr_t *iw, bool is_stream)
{
	if (mask & RI_STREAM && state != RI_QP_STATE_IDLE)
		return RI_RET_LLP_BAD_STATE;
	if (mask & RI_QP_ATTR_LLP_STREAM_HANDLE && !is_stream)
		return RI_RET_INVALID_LLP_HANDLE;
	if (mask & RI_QP_ATTR_STREAM_MSG_BUFFER &&
	    (!iw->stream_msg_buf || !iw->stream_msg_buf_length ||
	     iw->stream_msg_buf_length > RI_MAX_LAST_MSG))
		return RI_RET_INVALID_PARAMETER;
	if (mask & RI_QP_ATTR_MPA_ATTR && iw->mpa_attrs.ddp_rdmap_version != 1)
		return RI_RET_INVALID_DDP_RDMAP_VERSION;
	return RI_RET_SUCCESS;
}

/* Checks a move to the state of @attrs; @have_llp: the QP has a stream; @windows: their number */
static inline ri_api_return_t ri_check_move(ri_qp_state_t from, uint32_t mask,
					    const ri_qp_attr_t *attrs, bool have_llp,
					    uint32_t windows)
{
	bool to_rts = mask & RI_QP_ATTR_NEXT_STATE && attrs->state == RI_QP_STATE_READY_TO_SEND;

	if (mask & RI_QP_ATTR_NEXT_STATE && !ri_may_move(from, attrs->state))
		return RI_RET_QP_INVALID_STATE;
	if (mask & RI_QP_ATTR_NEXT_STATE && from == RI_QP_STATE_ERROR &&
	    attrs->state == RI_QP_STATE_IDLE && windows)
		return RI_RET_WINDOWS_BOUND;
	if (mask & RI_QP_ATTR_STREAM_MSG_BUFFER && !to_rts)
		return RI_RET_LLP_BAD_STATE;
	if (to_rts && from == RI_QP_STATE_IDLE && !have_llp &&
	    !(mask & RI_QP_ATTR_LLP_STREAM_HANDLE))
		return RI_RET_INVALID_LLP_HANDLE;
	return RI_RET_SUCCESS;
}

/* Stores the new attributes of a QP, except its stream */
static inline void ri_keep(ri_qp_attr_t *is, uint32_t mask, const ri_qp_attr_t *attrs)
{
	const ri_iwarp_qp_attr_t *iw = &attrs->qp_xport.qp_iwarp;

	if (mask & RI_QP_ATTR_MAX_RDMA_READ_OUTGOING)
		is->max_rdma_read_outgoing = attrs->max_rdma_read_outgoing;
	if (mask & RI_QP_ATTR_MAX_RDMA_READ_INCOMING)
		is->max_rdma_read_incoming = attrs->max_rdma_read_incoming;
	if (mask & RI_QP_ATTR_MPA_ATTR)
		is->qp_xport.qp_iwarp.mpa_attrs = iw->mpa_attrs;
	if (mask & RI_QP_ATTR_RQ_HIWAT)
		is->qp_xport.qp_iwarp.rq_hiwat = iw->rq_hiwat;
}

#endif
