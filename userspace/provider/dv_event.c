// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The direct verbs: events. */
#include <errno.h>

#include "srnic.h"
#include "srnicdv.h"

/**
 * srnicdv_open_events - open a descriptor for the events of a context's objects
 * @ctx: the device
 *
 * Each read(2) returns a struct srnic_event_record. Events before this call, and events of
 * destroyed objects, are not reported. The program closes the descriptor.
 *
 * Return: a file descriptor; -1 with errno, EBUSY if the context has one already.
 */
int srnicdv_open_events(struct ibv_context *ctx)
{
	DECLARE_COMMAND_BUFFER(cmd, SRNIC_OBJECT_EVENTS, SRNIC_METHOD_EVENTS_OPEN, 1);
	struct ib_uverbs_attr *fd;

	if (!srnic_is_ours(ctx->device)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	fd = fill_attr_out_fd(cmd, SRNIC_ATTR_EVENTS_OPEN_FD, 0);
	if (execute_ioctl(ctx, cmd))
		return -1;
	return read_attr_fd(SRNIC_ATTR_EVENTS_OPEN_FD, fd);
}

/**
 * srnicdv_arm_rq - arm an event for messages in progress above a limit
 * @qp: with an SRQ
 * @limit: number of messages; SRNIC_QP_RQ_DISARM disarms
 *
 * Each call causes one event SRNIC_EV_RQ_LIMIT at most.
 *
 * Return: 0 or an errno.
 */
int srnicdv_arm_rq(struct ibv_qp *qp, uint32_t limit)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_QP, SRNIC_METHOD_QP_ARM_RQ, 2);

	if (!srnic_is_ours(qp->context->device))
		return EOPNOTSUPP;
	fill_attr_in_obj(cmd, SRNIC_ATTR_QP_ARM_RQ_QP, qp->handle);
	fill_attr_in_ptr(cmd, SRNIC_ATTR_QP_ARM_RQ_LIMIT, &limit);
	return execute_ioctl(qp->context, cmd) ? errno : 0;
}
