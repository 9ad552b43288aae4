// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Asynchronous events (L1481). The specification has a handler in the kernel only, and leaves
 * open how a program gets events: here it reads them from a file descriptor.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <rnicpi/rix.h>
#include "qp.h"

#define RECORD(n, name)	[SRNIC_EV_##n] = RI_EVENT_##name

static const ri_async_event_type_t native_events[] = {
	RECORD(LLP_CLOSE_COMPLETE, QP_LLP_CLOSE_COMPLETE),
	RECORD(TERMINATE_RECEIVED, QP_TERMINATE_MESSAGE_RECEIVED),
	RECORD(LLP_RESET, QP_LLP_CONNECTION_RESET),
	RECORD(LLP_LOST, QP_LLP_CONNECTION_LOST),
	RECORD(LLP_SEGMENT_SIZE, QP_LLP_INTEGRITY_ERROR_SIZE),
	RECORD(LLP_CRC, QP_LLP_INTEGRITY_ERROR_CRC),
	RECORD(LLP_BAD_FPDU, QP_LLP_INTEGRITY_ERROR_BAD_FPDU),
	RECORD(DDP_VERSION, QP_REMOTE_OP_ERROR_DDP_VERSION),
	RECORD(RDMAP_VERSION, QP_REMOTE_OP_ERROR_RDMA_VERSION),
	RECORD(OPCODE, QP_REMOTE_OP_ERROR_OPCODE),
	RECORD(DDP_QN, QP_REMOTE_OP_ERROR_DDP_QN),
	RECORD(READ_NOT_ENABLED, QP_REMOTE_OP_ERROR_RDMA_RD_DISABLED),
	RECORD(WRITE_NOT_ENABLED, QP_REMOTE_OP_ERROR_RDMA_WR_RD_RESP_DISABLED),
	RECORD(READ_REQUEST_SIZE, QP_REMOTE_OP_ERROR_RDMA_RD_INVALID),
	RECORD(NO_L_BIT, QP_REMOTE_OP_ERROR_NO_L_BIT),
	RECORD(TAGGED_STAG, QP_PROTECTION_ERROR_STAG_QP_MISMATCH),
	RECORD(TAGGED_BOUNDS, QP_PROTECTION_ERROR_BOUNDS_VIOLATION),
	RECORD(TAGGED_ACCESS, QP_PROTECTION_ERROR_ACCESS_VIOLATION),
	RECORD(TAGGED_PD, QP_PROTECTION_ERROR_INVALID_PD),
	RECORD(TAGGED_WRAP, QP_PROTECTION_ERROR_WRAP_ERROR),
	RECORD(BAD_CLOSE, QP_BAD_CLOSE),
	RECORD(BAD_LLP_CLOSE, QP_BAD_LLP_CLOSE),
	RECORD(RQ_MSN_RANGE, QP_RQ_PROTECTION_ERROR_INVALID_MSN),
	RECORD(RQ_MSN_GAP, QP_RQ_PROTECTION_ERROR_MSN_GAP),
	RECORD(IRRQ_TOO_MANY, QP_IRRQ_PROTECTION_ERROR_TOO_MANY_RDMA_READS),
	RECORD(IRRQ_MSN_GAP, QP_IRRQ_PROTECTION_ERROR_MSN_GAP),
	RECORD(IRRQ_MSN_RANGE, QP_IRRQ_PROTECTION_ERROR_INVALID_MSN),
	RECORD(IRRQ_STAG, QP_IRRQ_PROTECTION_ERROR_INVALID_STAG),
	RECORD(IRRQ_BOUNDS, QP_IRRQ_PROTECTION_ERROR_BOUNDS_VIOLATION),
	RECORD(IRRQ_ACCESS, QP_IRRQ_PROTECTION_ERROR_ACCESS_VIOLATION),
	RECORD(IRRQ_PD, QP_IRRQ_PROTECTION_ERROR_INVALID_PD),
	RECORD(IRRQ_WRAP, QP_IRRQ_PROTECTION_ERROR_WRAP_ERROR),
	RECORD(ATOMIC_OPERATION, QP_REMOTE_OP_ERROR_OPCODE),	/* RNICPI has no atomics of iWARP */
	RECORD(CQ_SQ, QP_CQ_SQ_ERROR),
	RECORD(CQ_RQ, QP_CQ_RQ_ERROR),
	RECORD(SRQ_ON_QP, QP_SRQ_ERROR),
	RECORD(QP_CATASTROPHIC, QP_LOCAL_CATASTROPHIC_ERROR),
	RECORD(CQ_OVERFLOW, CQ_OVERFLOW_DETECTED),
	RECORD(CQ_OPERATION, CQ_OP_ERROR),
	RECORD(SRQ_LIMIT, SRQ_LIMIT_REACHED),
	RECORD(RQ_LIMIT, QP_RQ_LIMIT_REACHED),
	RECORD(SRQ_CATASTROPHIC, SRQ_CATASTROPHIC_ERROR),
	RECORD(RNIC_CATASTROPHIC, LOCAL_CATASTROPHIC_ERROR),
	RECORD(LAST_WQE, QP_LAST_WQE_REACHED),
};

_Static_assert(sizeof(native_events) / sizeof(native_events[0]) == SRNIC_EV_LAST_WQE + 1,
	       "each event of the driver");

/* The nearest events, for devices other than srnic */
static const struct {
	enum ibv_event_type verbs;
	uint32_t object;
	enum srnic_event native;
} foreign_events[] = {
	{ IBV_EVENT_QP_FATAL, SRNIC_EVENT_OF_QP, SRNIC_EV_QP_CATASTROPHIC },
	{ IBV_EVENT_QP_REQ_ERR, SRNIC_EVENT_OF_QP, SRNIC_EV_OPCODE },
	{ IBV_EVENT_QP_ACCESS_ERR, SRNIC_EVENT_OF_QP, SRNIC_EV_TAGGED_ACCESS },
	{ IBV_EVENT_QP_LAST_WQE_REACHED, SRNIC_EVENT_OF_QP, SRNIC_EV_LAST_WQE },
	{ IBV_EVENT_CQ_ERR, SRNIC_EVENT_OF_CQ, SRNIC_EV_CQ_OPERATION },
	{ IBV_EVENT_SRQ_ERR, SRNIC_EVENT_OF_SRQ, SRNIC_EV_SRQ_CATASTROPHIC },
	{ IBV_EVENT_SRQ_LIMIT_REACHED, SRNIC_EVENT_OF_SRQ, SRNIC_EV_SRQ_LIMIT },
	{ IBV_EVENT_DEVICE_FATAL, SRNIC_EVENT_OF_DEVICE, SRNIC_EV_RNIC_CATASTROPHIC },
};

static uint32_t number_of(uint32_t object, const struct ibv_async_event *event)
{
	switch (object) {
	case SRNIC_EVENT_OF_QP:
		return event->element.qp->qp_num;
	case SRNIC_EVENT_OF_CQ:
		return event->element.cq->handle;
	case SRNIC_EVENT_OF_SRQ:
		return event->element.srq->handle;
	default:
		return 0;
	}
}

/* Return: 0; ENOMSG: RNICPI does not have the event; EAGAIN: there is none; or an errno */
static int read_foreign(struct rnic *rnic, struct srnic_event_record *rec)
{
	struct ibv_async_event event;
	int err = ENOMSG;
	unsigned int i;

	if (ibv_get_async_event(rnic->ctx, &event))
		return errno;
	for (i = 0; i < sizeof(foreign_events) / sizeof(foreign_events[0]); i++) {
		if (foreign_events[i].verbs != event.event_type)
			continue;
		rec->event = foreign_events[i].native;
		rec->object = foreign_events[i].object;
		rec->number = number_of(rec->object, &event);
		err = 0;
	}
	ibv_ack_async_event(&event);
	return err;
}

static int read_record(struct rnic *rnic, struct srnic_event_record *rec)
{
	ssize_t n;

	memset(rec, 0, sizeof(*rec));
	if (!rnic->native)
		return read_foreign(rnic, rec);
	n = read(rnic->event_fd, rec, sizeof(*rec));	/* an older kernel returns less */
	if (n < 0)
		return errno;
	return rec->event <= SRNIC_EV_LAST_WQE ? 0 : ENOMSG;
}

/* --- the object of an event --- */

static bool os_data_of_cq(struct rnic *rnic, uint32_t number, ri_os_data_t *os_data)
{
	struct rnic_cq *cq = rnic->cqs;

	while (cq && cq->number != number)
		cq = cq->next;
	if (cq)
		*os_data = cq->os_data;
	return cq;
}

static bool os_data_of_srq(struct rnic *rnic, uint32_t number, ri_os_data_t *os_data)
{
	struct rnic_srq *srq = rnic->srqs;

	while (srq && srq->number != number)
		srq = srq->next;
	if (srq)
		*os_data = srq->os_data;
	return srq;
}

/* Return: false if the object is destroyed: its events are dropped (L2826) */
static bool find_os_data(struct rnic *rnic, const struct srnic_event_record *rec,
			 ri_os_data_t *os_data)
{
	switch (rec->object) {
	case SRNIC_EVENT_OF_QP:
		return ri_qp_handle_of(rnic, rec->number, os_data);
	case SRNIC_EVENT_OF_CQ:
		return os_data_of_cq(rnic, rec->number, os_data);
	case SRNIC_EVENT_OF_SRQ:
		return os_data_of_srq(rnic, rec->number, os_data);
	default:
		*os_data = rnic->os_data;
		return true;
	}
}

/* --- the calls --- */

static void fill(struct rix_event *event, const struct srnic_event_record *rec)
{
	event->record.event_type = native_events[rec->event];
	if (rec->error)
		event->record.err_data = (uint64_t)RI_ERR_LAYER_VP << 32 | rec->error;
	if (!rec->term.state)
		return;
	event->is_terminate_local = rec->flags & SRNIC_EVENT_TERMINATE_SENT;
	event->terminate_msg_length = ri_terminate_bytes(event->terminate_buffer, &rec->term);
}

/* Makes the queues of the QP as new before the program gets the event */
static void close_complete(struct rnic *rnic, uint32_t number)
{
	ri_os_data_t os_data;
	ri_qp_handle_t handle = ri_qp_handle_of(rnic, number, &os_data);
	struct rnic_qp *qp = handle_enter(RI_KIND_QP, handle, NULL, true);

	if (!qp)
		return;
	ri_qp_closed(qp);
	handle_leave(handle);
}

/* Return: 0 or an errno, EAGAIN if there is no event */
static int next_event(struct rnic *rnic, struct rix_event *event)
{
	struct srnic_event_record rec;
	int err;

	memset(event, 0, sizeof(*event));
	pthread_mutex_lock(&ri_lock);
	do {
		err = read_record(rnic, &rec);
	} while (err == ENOMSG || err == EINTR ||
		 (!err && !find_os_data(rnic, &rec, &event->record.event_data.resource_os_data)));
	pthread_mutex_unlock(&ri_lock);
	if (err)
		return err;
	if (rec.event == SRNIC_EV_LLP_CLOSE_COMPLETE)
		close_complete(rnic, rec.number);
	fill(event, &rec);
	return 0;
}

/* Under ri_lock */
static int open_events(struct rnic *rnic)
{
	int fd;

	if (rnic->event_fd >= 0)
		return rnic->event_fd;
	fd = rnic->native ? srnicdv_open_events(rnic->ctx) : rnic->ctx->async_fd;
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	rnic->event_fd = fd;
	return fd;
}

static bool has_events(struct rnic *rnic)
{
	bool has;

	pthread_mutex_lock(&ri_lock);
	has = rnic->event_fd >= 0;
	pthread_mutex_unlock(&ri_lock);
	return has;
}

/**
 * rix_event_fd() - File descriptor to wait for events of an RNIC handle and its objects
 * @rnic: an RNIC handle
 *
 * Events before the first call are not reported.
 *
 * Context: any thread; takes ri_lock.
 * Return: a file descriptor, readable when there is an event, for poll() and rix_get_event()
 * only; -1 if @rnic is invalid, or if there are too many descriptors.
 */
int rix_event_fd(ri_rnic_handle_t rnic)
{
	struct rnic *r = ri_enter_rnic(rnic);
	int fd;
	KEEP_ERRNO;

	if (!r)
		return -1;
	pthread_mutex_lock(&ri_lock);
	fd = open_events(r);
	pthread_mutex_unlock(&ri_lock);
	handle_leave(rnic);
	return fd;
}

/**
 * rix_get_event() - Take an event
 * @rnic: an RNIC handle, for which rix_event_fd() was called
 * @event: the event, with the os_data of its object; an event of the device has the os_data of
 * ri_rnic_get_hdl()
 * @err_data: may be NULL
 *
 * RI_EVENT_LOCAL_CATASTROPHIC_ERROR means that the device is gone. It ends @rnic and all of its
 * objects, as if the program had done so, and closes their descriptors.
 *
 * Context: any thread; does not wait; takes ri_lock.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER;
 * RI_RET_CQ_EMPTY: there is none
 */
ri_api_return_t rix_get_event(ri_rnic_handle_t rnic, struct rix_event *event,
			      ri_err_data_t *err_data)
{
	struct rnic *r = ri_enter_rnic(rnic);
	ri_api_return_t ret = RI_RET_SUCCESS;
	int err = 0;
	KEEP_ERRNO;

	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (!event || !has_events(r))
		ret = RI_RET_INVALID_PARAMETER;
	else
		err = next_event(r, event);
	handle_leave(rnic);
	if (ret || err == EAGAIN)
		return ri_answer(err_data, ret ? ret : RI_RET_CQ_EMPTY);
	if (err)
		return ri_failed(err_data, err, RI_RET_FAIL);
	if (event->record.event_type == RI_EVENT_LOCAL_CATASTROPHIC_ERROR)
		ri_end_all(rnic);
	return ri_done(err_data);
}
