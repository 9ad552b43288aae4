// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Limits of a device. Checks of new queues and of WRs: each has its own return code. */
#include "rnicpi/shared/os.h"
#include "rnicpi/shared/rules.h"

/**
 * ri_limits_in() - The limits of a device
 * @dev: its attributes
 * @rq_marks: the device reports the high water mark of a QP with an SRQ
 *
 * Context: any.
 * Return: the limits.
 */
struct ri_limits ri_limits_in(const struct srnic_uresp_dev_query *dev, bool rq_marks)
{
	return (struct ri_limits){
		.qp_wr = dev->max_qp_wr,
		.qp_sge = dev->max_send_sge,
		.srq_wr = dev->max_srq_wr,
		.srq_sge = dev->max_recv_sge,
		.ird = dev->max_ird,
		.ord = dev->max_ord,
		.rq_marks = rq_marks,
		.rdmac = dev->flags & SRNIC_DEV_RDMAC,
		.crc_required = dev->flags & SRNIC_DEV_CRC_REQUIRED,
		.resizes = dev->flags & SRNIC_DEV_CAN_RESIZE_QP,
	};
}

/**
 * ri_fill_rnic() - The attributes of a device, as RNICPI has them
 * @dev: its attributes
 * @a: filled in, except what only the library or only the module has
 *
 * Context: any.
 */
void ri_fill_rnic(const struct srnic_uresp_dev_query *dev, ri_rnic_attr_t *a)
{
	*a = (ri_rnic_attr_t){
		.mem_page_sizes_bit_mask = dev->page_sizes,
		.vendor_id = dev->vendor_id,
		.vendor_part_id = dev->vendor_part_id,
		.hw_version = dev->hw_ver,
		.max_pds = dev->max_pd,
		.max_qps = dev->max_qp,
		.max_wrs_qp = dev->max_qp_wr,
		.max_srq = dev->max_srq,
		.max_wrs_srq = dev->max_srq_wr,
		.max_sgl_send_recvqp = dev->max_recv_sge,
		.max_sgl_srq = dev->max_srq ? dev->max_recv_sge : 0,
		.max_sgl_rdma_write = dev->max_write_sge,
		.max_sgl_rdma_read = dev->max_read_sge,
		.max_unregistered_inline = dev->max_inline,
		.max_cqs = dev->max_cq,
		.max_cqes_per_cq = dev->max_cqe,
		.max_cq_event_handlers = 1,	/* at least (L5462) */
		.max_mrs = dev->max_mr,
		.max_mws = dev->max_mw,
		.max_pbl_size = dev->max_fast_reg_blocks,
		.max_ird = dev->max_device_ird,
		.max_ird_per_qp = dev->max_ird,
		.max_ord = dev->max_device_ord,
		.max_ord_per_qp = dev->max_ord,
		.transport_type = RI_RDMA_TRANSPORT_TYPE_IWARP,
		.rnic_flags = RI_RNIC_EXT_BMM | RI_RNIC_EXT_ZBVA | RI_RNIC_EXT_LIF |
			      RI_RNIC_RQ_OVERFLOW_CHECKING | RI_RNIC_CQ_OVERFLOW_CHECKING,
	};
	if (dev->max_srq)
		a->rnic_flags |= RI_RNIC_EXT_SRQ | RI_RNIC_SRQ_LAST_WQE_ASYNC;
	/* a device that resizes QPs resizes its SRQs (RDMAC verbs 6.3.2) */
	if (dev->flags & SRNIC_DEV_CAN_RESIZE_QP)
		a->rnic_flags |= RI_RNIC_CAN_RESIZE_QP |
				 (dev->max_srq ? RI_RNIC_CAN_RESIZE_SRQ : 0);
}

/**
 * ri_check_mpa() - Check the version and the CRC of a stream
 * @n: limits of its device
 * @mpa: the attributes; any markers are possible
 *
 * Version 0 always has CRC, whatever the attributes say (1.2.4).
 *
 * Context: any.
 * Return: RI_RET_SUCCESS, RI_RET_INVALID_DDP_RDMAP_VERSION; RI_RET_MPA_ATTR_UNSUPPORTED: the
 * device requires CRC
 */
ri_api_return_t ri_check_mpa(const struct ri_limits *n, const ri_mpa_attr_t *mpa)
{
	if (mpa->ddp_rdmap_version > 1 || (!mpa->ddp_rdmap_version && !n->rdmac))
		return RI_RET_INVALID_DDP_RDMAP_VERSION;
	if (mpa->ddp_rdmap_version && !mpa->crc_enabled && n->crc_required)
		return RI_RET_MPA_ATTR_UNSUPPORTED;
	return RI_RET_SUCCESS;
}

/**
 * ri_check_qp() - Check the attributes of a new QP
 * @n: limits of its device
 * @attrs: the attributes
 *
 * Context: any.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_RNIC_SG_LIMIT_EXCEEDED,
 * RI_RET_SRQ_LIMIT_OUT_OF_RANGE, RI_RET_RNIC_IRD_ORD_EXCEEDED, or as ri_check_mpa()
 */
ri_api_return_t ri_check_qp(const struct ri_limits *n, const ri_qp_attr_t *attrs)
{
	if (attrs->sq_size > n->qp_wr || (!attrs->srq_valid && attrs->rq_size > n->qp_wr))
		return RI_RET_RNIC_WR_LIMIT_EXCEEDED;
	if (attrs->sq_max_sges > n->qp_sge || attrs->sq_max_sges_rdmaw > n->qp_sge ||
	    attrs->rq_max_sges > n->qp_sge)
		return RI_RET_RNIC_SG_LIMIT_EXCEEDED;
	if (attrs->srq_valid && attrs->qp_xport.qp_iwarp.rq_hiwat > n->srq_wr)
		return RI_RET_SRQ_LIMIT_OUT_OF_RANGE;
	if (attrs->max_rdma_read_incoming > n->ird || attrs->max_rdma_read_outgoing > n->ord)
		return RI_RET_RNIC_IRD_ORD_EXCEEDED;
	/* A device without version 0 says so when the QP gets its stream */
	if (!attrs->qp_xport.qp_iwarp.mpa_attrs.ddp_rdmap_version && !n->rdmac)
		return RI_RET_SUCCESS;
	return ri_check_mpa(n, &attrs->qp_xport.qp_iwarp.mpa_attrs);
}

/**
 * ri_made_qp() - The attributes of a new QP, beside the numbers that the device has given
 * @attr: of the QP
 * @asked: as ri_qp_create() got them
 *
 * Attributes that are not valid in create are ignored (L6105). With an SRQ the QP gets all the
 * receives that were asked for (L2554): they are the SRQ's.
 *
 * Context: any.
 */
void ri_made_qp(ri_qp_attr_t *attr, const ri_qp_attr_t *asked)
{
	attr->qp_xport.qp_iwarp.mpa_attrs.recv_marker_enabled = 0;
	attr->qp_xport.qp_iwarp.mpa_attrs.xmit_marker_enabled = 0;
	attr->state = RI_QP_STATE_IDLE;
	if (asked->srq_valid) {
		attr->rq_size = asked->rq_size;
		attr->rq_max_sges = asked->rq_max_sges;
	}
}

/**
 * ri_check_srq() - Check the attributes of a new SRQ
 * @n: limits of its device
 * @attrs: the attributes
 *
 * Context: any.
 * Return: RI_RET_SUCCESS, RI_RET_SRQ_UNSUPPORTED, RI_RET_INVALID_PARAMETER,
 * RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_RNIC_SG_LIMIT_EXCEEDED, RI_RET_SRQ_LIMIT_OUT_OF_RANGE
 */
ri_api_return_t ri_check_srq(const struct ri_limits *n, const ri_srq_attr_t *attrs)
{
	if (!n->srq_wr)
		return RI_RET_SRQ_UNSUPPORTED;
	if (!attrs->max_wrs)
		return RI_RET_INVALID_PARAMETER;
	if (attrs->max_wrs > n->srq_wr)
		return RI_RET_RNIC_WR_LIMIT_EXCEEDED;
	if (attrs->max_sgl > n->srq_sge)
		return RI_RET_RNIC_SG_LIMIT_EXCEEDED;
	return attrs->lowat > attrs->max_wrs ? RI_RET_SRQ_LIMIT_OUT_OF_RANGE : RI_RET_SUCCESS;
}

/**
 * ri_change_srq() - Check new attributes of an SRQ
 * @n: limits of its device
 * @srq: in: its attributes; out: those that it is to have
 * @mask: in: which of @attrs; out: with RI_SRQ_ATTR_LOWAT if verbs' limit is another one then
 * @attrs: the attributes, or NULL
 *
 * An armed mark stays in range: of a smaller SRQ as well.
 *
 * Context: any.
 * Return: RI_RET_SUCCESS, RI_RET_INVALID_PARAMETER, RI_RET_SRQ_RESIZE_UNSUPPORTED,
 * RI_RET_RNIC_WR_LIMIT_EXCEEDED, RI_RET_SRQ_LIMIT_OUT_OF_RANGE
 */
ri_api_return_t ri_change_srq(const struct ri_limits *n, ri_srq_attr_t *srq, uint32_t *mask,
			      const ri_srq_attr_t *attrs)
{
	const uint32_t asked = *mask;
	const bool resize = asked & RI_SRQ_ATTR_MAX_WRS;

	if (!attrs || !asked || asked & ~(RI_SRQ_ATTR_LOWAT | RI_SRQ_ATTR_MAX_WRS))
		return RI_RET_INVALID_PARAMETER;
	if (resize && !n->resizes)
		return RI_RET_SRQ_RESIZE_UNSUPPORTED;
	if (resize && attrs->max_wrs > n->srq_wr)
		return RI_RET_RNIC_WR_LIMIT_EXCEEDED;
	/* ri_srq_limit() of a mark that was the size is another one in a larger SRQ */
	if (resize && srq->srq_armed && srq->lowat == srq->max_wrs)
		*mask |= RI_SRQ_ATTR_LOWAT;
	if (asked & RI_SRQ_ATTR_LOWAT) {
		srq->lowat = attrs->lowat;
		srq->srq_armed = attrs->lowat != 0;
	}
	if (resize)
		srq->max_wrs = attrs->max_wrs;
	if (!srq->srq_armed)
		return RI_RET_SUCCESS;
	if (srq->lowat > srq->max_wrs)
		return RI_RET_SRQ_LIMIT_OUT_OF_RANGE;
	/* verbs' limit is one more than the mark, and no more than the size */
	if (resize && srq->lowat == srq->max_wrs && srq->max_wrs < n->srq_wr)
		srq->max_wrs++;
	return RI_RET_SUCCESS;
}

/**
 * ri_srq_limit() - A low water mark as the limit of verbs
 * @lowat: the mark, which is inclusive, and verbs' is not (L6137). 0 does not arm (L3453)
 * @size: WRs of the SRQ
 *
 * Context: any.
 * Return: the limit.
 */
uint32_t ri_srq_limit(uint32_t lowat, uint32_t size)
{
	if (!lowat)
		return 0;
	return lowat < size ? lowat + 1 : size;
}

/* ----- WRs ----- */

#ifdef __KERNEL__
#define OWN		0
#define FMR		RI_RET_SUCCESS
#else
#define OWN		(RI_WR_CONSUMER_FLAG0 | RI_WR_CONSUMER_FLAG1)
#define FMR		RI_RET_NO_PERMISSION
#endif
/*
 * L3290. COALESCE is accepted and ignored (L6346), and LOCAL_SOLICITED (L3093), which is the
 * consumer's flag 2 in librnicpi
 */
#define RECVS		(RI_WR_COALESCE_FLAG | RI_WR_LOCAL_SOLICITED_FLAG)
#define ANY		(RI_WR_SIGNALED_FLAG | RECVS | OWN)
#define WRITES		(ANY | RI_WR_READ_FENCE_FLAG | RI_WR_INLINE_OK_FLAG)
#define SENDS		(WRITES | RI_WR_SOLICITED_EVENT_FLAG)
#define INVALIDATES	(ANY | RI_WR_LOCAL_FENCE_FLAG)

/* Allowed flags of a type (6.3, L6346), or the code if iWARP or this library does not have it */
static const struct rule {
	uint32_t flags;
	ri_api_return_t refused;
} rules[] = {
	[RI_WR_TYPE_SEND]			= { SENDS, RI_RET_SUCCESS },
	[RI_WR_TYPE_SEND_INVALIDATE]		= { SENDS, RI_RET_SUCCESS },
	[RI_WR_TYPE_RDMA_WRITE]			= { WRITES, RI_RET_SUCCESS },
	[RI_WR_TYPE_RDMA_READ]			= { ANY, RI_RET_SUCCESS },
	[RI_WR_TYPE_BIND]			= { ANY, RI_RET_SUCCESS },
	[RI_WR_TYPE_FAST_REGISTER]		= { ANY, FMR },
	[RI_WR_TYPE_LOCAL_INVALIDATE_MR]	= { INVALIDATES, RI_RET_SUCCESS },
	[RI_WR_TYPE_LOCAL_INVALIDATE_MW]	= { INVALIDATES, RI_RET_SUCCESS },
	[RI_WR_TYPE_RDMA_READ_LOCAL_INVALIDATE]	= { ANY, RI_RET_SUCCESS },
	[RI_WR_TYPE_COMPARE_AND_SWAP]		= { ANY, RI_RET_RNIC_ATOMICS_UNSUPPORTED },
	[RI_WR_TYPE_FETCH_AND_ADD]		= { ANY, RI_RET_RNIC_ATOMICS_UNSUPPORTED },
};

/* A type beyond the last is not one of an RC QP on iWARP */
static ri_api_return_t refused(uint32_t type)
{
	if (type > RI_WR_TYPE_FETCH_AND_ADD)
		return RI_RET_WR_INVALID_TYPE;
	return rules[type].refused;
}

/**
 * ri_check_wr() - Check type and flags of a WR
 * @wr: the WR
 *
 * Context: any.
 * Return: RI_RET_SUCCESS, RI_RET_WR_INVALID_TYPE, RI_RET_RNIC_ATOMICS_UNSUPPORTED,
 * RI_RET_WR_INVALID_FLAGS; RI_RET_NO_PERMISSION: a program may not post it
 */
ri_api_return_t ri_check_wr(const ri_wr_common_t *wr)
{
	ri_api_return_t ret = refused(wr->type);

	if (!ret && wr->flags & ~rules[wr->type].flags)
		ret = RI_RET_WR_INVALID_FLAGS;
	return ret;
}

/**
 * ri_check_single() - Check the type of a WR that is posted by its fields
 * @type: its type
 * @first: a type of the call
 * @second: another one
 *
 * Context: any.
 * Return: RI_RET_SUCCESS, RI_RET_WR_INVALID_TYPE, or the code of a type that cannot be posted
 */
ri_api_return_t ri_check_single(ri_wr_type_t type, ri_wr_type_t first, ri_wr_type_t second)
{
	ri_api_return_t ret = refused(type);

	return ret || type == first || type == second ? ret : RI_RET_WR_INVALID_TYPE;
}

/**
 * ri_check_list() - Check a list of SGEs
 * @list: the list
 * @num: their number
 * @max: the largest number
 *
 * Context: any.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_SG_LIMIT_EXCEEDED, RI_RET_WR_SG_INVALID_FORMAT
 */
ri_api_return_t ri_check_list(const ri_data_seg_t *list, uint_t num, uint32_t max)
{
	if (num > max)
		return RI_RET_RNIC_SG_LIMIT_EXCEEDED;
	return num && !list ? RI_RET_WR_SG_INVALID_FORMAT : RI_RET_SUCCESS;
}

/**
 * ri_check_recv() - Check a receive WR
 * @wr: the WR
 * @max_sge: the largest number of SGEs
 *
 * Context: any.
 * Return: as ri_check_list(); RI_RET_WR_INVALID_FLAGS
 */
ri_api_return_t ri_check_recv(const ri_wr_recv_t *wr, uint32_t max_sge)
{
	if (wr->flags & ~RECVS)
		return RI_RET_WR_INVALID_FLAGS;
	return ri_check_list(wr->sg_list, wr->num_sgls, max_sge);
}
