// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Upcalls: a workqueue calls the handlers of events and completions. So a handler may sleep,
 * and may make calls on the object it is called for. No handler of an object is called after
 * the call that ends the object has returned (4.7), except a handler that makes this call itself.
 */

#include <linux/slab.h>
#include "rnicpi/kernel/rnic.h"

/**
 * struct told - an event that waits for its upcall
 * @link: in struct rnic_vp.events
 * @obj: the object of the event
 * @record: passed to the handler
 */
struct told {
	struct list_head link;
	struct rnic_obj *obj;
	ri_event_record_t record;
};

/* Takes the next event, of @obj if that is not NULL. Return: NULL if there is none */
static struct told *take_event(struct rnic_vp *vp, const struct rnic_obj *obj)
{
	struct told *t, *found = NULL;
	unsigned long flags;

	spin_lock_irqsave(&vp->lock, flags);
	list_for_each_entry(t, &vp->events, link) {
		if (!obj || t->obj == obj) {
			found = t;
			list_del(&t->link);
			break;
		}
	}
	spin_unlock_irqrestore(&vp->lock, flags);
	return found;
}

static void tell_events(struct work_struct *work)
{
	struct rnic_vp *vp = container_of(work, struct rnic_vp, work);
	ri_async_event_callback_t async;
	struct told *t;

	while ((t = take_event(vp, NULL))) {
		async = READ_ONCE(vp->async);
		if (async)
			async(vp->obj.os_data, &t->record);
		kfree(t);
	}
}

/**
 * ri_upcall_init - initialize the upcalls of a device
 * @vp: zero except its ibdev
 *
 * Context: may sleep. Return: 0, and @vp->wq is to be destroyed; or -ENOMEM.
 */
int ri_upcall_init(struct rnic_vp *vp)
{
	spin_lock_init(&vp->lock);
	INIT_LIST_HEAD(&vp->events);
	INIT_WORK(&vp->work, tell_events);
	/* WQ_MEM_RECLAIM: the kernel may write memory back through a consumer to free it */
	vp->wq = alloc_workqueue("rnicpi-%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0,
				 dev_name(&vp->ibdev->dev));
	return vp->wq ? 0 : -ENOMEM;
}

/**
 * ri_raise - queue an event for the handler, if there is one (RI-35)
 * @vp: the device
 * @obj: the object of the event: a CQ, a QP, an SRQ, or the device
 * @type: of the event
 *
 * Context: any.
 */
void ri_raise(struct rnic_vp *vp, struct rnic_obj *obj, ri_async_event_type_t type)
{
	unsigned long flags;
	struct told *t;

	if (!READ_ONCE(vp->async))
		return;
	t = kmalloc(sizeof(*t), GFP_ATOMIC);
	if (!t) {
		ibdev_warn_ratelimited(vp->ibdev, "no memory: an event of RNICPI is lost\n");
		return;
	}
	t->obj = obj;
	t->record = (ri_event_record_t){
		.event_type = type,
		.event_data.resource_os_data = obj->os_data,
	};
	spin_lock_irqsave(&vp->lock, flags);
	list_add_tail(&t->link, &vp->events);
	spin_unlock_irqrestore(&vp->lock, flags);
	queue_work(vp->wq, &vp->work);
}

/**
 * ri_upcall_end - stop reporting events of an object (RI-37)
 * @vp: its device
 * @obj: an object that raises no more events; or NULL: drop all events of the device so far
 *
 * Waits for the upcall in progress, unless that makes the call. Context: may sleep, without a lock.
 */
void ri_upcall_end(struct rnic_vp *vp, struct rnic_obj *obj)
{
	struct told *t;

	while ((t = take_event(vp, obj)))
		kfree(t);
	if (current_work() != &vp->work)
		flush_work(&vp->work);
}

/* RNICPI's name of each event of a QP, in the order of RDMAC verbs Figure 37 */
static const ri_async_event_type_t qp_events[SRNIC_EV_COUNT] = {
	[SRNIC_EV_LLP_CLOSE_COMPLETE] = RI_EVENT_QP_LLP_CLOSE_COMPLETE,
	[SRNIC_EV_TERMINATE_RECEIVED] = RI_EVENT_QP_TERMINATE_MESSAGE_RECEIVED,
	[SRNIC_EV_LLP_RESET] = RI_EVENT_QP_LLP_CONNECTION_RESET,
	[SRNIC_EV_LLP_LOST] = RI_EVENT_QP_LLP_CONNECTION_LOST,
	[SRNIC_EV_LLP_SEGMENT_SIZE] = RI_EVENT_QP_LLP_INTEGRITY_ERROR_SIZE,
	[SRNIC_EV_LLP_CRC] = RI_EVENT_QP_LLP_INTEGRITY_ERROR_CRC,
	[SRNIC_EV_LLP_BAD_FPDU] = RI_EVENT_QP_LLP_INTEGRITY_ERROR_BAD_FPDU,
	[SRNIC_EV_DDP_VERSION] = RI_EVENT_QP_REMOTE_OP_ERROR_DDP_VERSION,
	[SRNIC_EV_RDMAP_VERSION] = RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_VERSION,
	[SRNIC_EV_OPCODE] = RI_EVENT_QP_REMOTE_OP_ERROR_OPCODE,
	[SRNIC_EV_DDP_QN] = RI_EVENT_QP_REMOTE_OP_ERROR_DDP_QN,
	[SRNIC_EV_READ_NOT_ENABLED] = RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_RD_DISABLED,
	[SRNIC_EV_WRITE_NOT_ENABLED] = RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_WR_RD_RESP_DISABLED,
	[SRNIC_EV_READ_REQUEST_SIZE] = RI_EVENT_QP_REMOTE_OP_ERROR_RDMA_RD_INVALID,
	[SRNIC_EV_NO_L_BIT] = RI_EVENT_QP_REMOTE_OP_ERROR_NO_L_BIT,
	[SRNIC_EV_TAGGED_STAG] = RI_EVENT_QP_PROTECTION_ERROR_STAG_QP_MISMATCH,
	[SRNIC_EV_TAGGED_BOUNDS] = RI_EVENT_QP_PROTECTION_ERROR_BOUNDS_VIOLATION,
	[SRNIC_EV_TAGGED_ACCESS] = RI_EVENT_QP_PROTECTION_ERROR_ACCESS_VIOLATION,
	[SRNIC_EV_TAGGED_PD] = RI_EVENT_QP_PROTECTION_ERROR_INVALID_PD,
	[SRNIC_EV_TAGGED_WRAP] = RI_EVENT_QP_PROTECTION_ERROR_WRAP_ERROR,
	[SRNIC_EV_BAD_CLOSE] = RI_EVENT_QP_BAD_CLOSE,
	[SRNIC_EV_BAD_LLP_CLOSE] = RI_EVENT_QP_BAD_LLP_CLOSE,
	[SRNIC_EV_RQ_MSN_RANGE] = RI_EVENT_QP_RQ_PROTECTION_ERROR_INVALID_MSN,
	[SRNIC_EV_RQ_MSN_GAP] = RI_EVENT_QP_RQ_PROTECTION_ERROR_MSN_GAP,
	[SRNIC_EV_IRRQ_TOO_MANY] = RI_EVENT_QP_IRRQ_PROTECTION_ERROR_TOO_MANY_RDMA_READS,
	[SRNIC_EV_IRRQ_MSN_GAP] = RI_EVENT_QP_IRRQ_PROTECTION_ERROR_MSN_GAP,
	[SRNIC_EV_IRRQ_MSN_RANGE] = RI_EVENT_QP_IRRQ_PROTECTION_ERROR_INVALID_MSN,
	[SRNIC_EV_IRRQ_STAG] = RI_EVENT_QP_IRRQ_PROTECTION_ERROR_INVALID_STAG,
	[SRNIC_EV_IRRQ_BOUNDS] = RI_EVENT_QP_IRRQ_PROTECTION_ERROR_BOUNDS_VIOLATION,
	[SRNIC_EV_IRRQ_ACCESS] = RI_EVENT_QP_IRRQ_PROTECTION_ERROR_ACCESS_VIOLATION,
	[SRNIC_EV_IRRQ_PD] = RI_EVENT_QP_IRRQ_PROTECTION_ERROR_INVALID_PD,
	[SRNIC_EV_IRRQ_WRAP] = RI_EVENT_QP_IRRQ_PROTECTION_ERROR_WRAP_ERROR,
	/* RNICPI has no atomics on iWARP */
	[SRNIC_EV_ATOMIC_OPERATION] = RI_EVENT_QP_REMOTE_OP_ERROR_OPCODE,
	[SRNIC_EV_CQ_SQ] = RI_EVENT_QP_CQ_SQ_ERROR,
	[SRNIC_EV_CQ_RQ] = RI_EVENT_QP_CQ_RQ_ERROR,
	[SRNIC_EV_SRQ_ON_QP] = RI_EVENT_QP_SRQ_ERROR,
	[SRNIC_EV_QP_CATASTROPHIC] = RI_EVENT_QP_LOCAL_CATASTROPHIC_ERROR,
	[SRNIC_EV_RQ_LIMIT] = RI_EVENT_QP_RQ_LIMIT_REACHED,
	[SRNIC_EV_LAST_WQE] = RI_EVENT_QP_LAST_WQE_REACHED,
};

/**
 * ri_qp_event - an event of a QP
 * @ibqp: of a struct rnic_qp
 * @event: what srnic.ko reports
 *
 * Context: any.
 */
void ri_qp_event(struct ib_qp *ibqp, enum srnic_event event)
{
	struct rnic_qp *qp = ibqp->qp_context;

	if (event != SRNIC_EV_NONE)
		ri_raise(qp->obj.rnic->vp, &qp->obj, qp_events[event]);
}

/**
 * ri_srq_event - an event of an SRQ
 * @event: of the RDMA core
 * @context: the struct rnic_srq
 *
 * Context: any.
 */
void ri_srq_event(struct ib_event *event, void *context)
{
	struct rnic_srq *srq = context;

	ri_raise(srq->obj.rnic->vp, &srq->obj, event->event == IB_EVENT_SRQ_LIMIT_REACHED ?
		 RI_EVENT_SRQ_LIMIT_REACHED : RI_EVENT_SRQ_CATASTROPHIC_ERROR);
}

/**
 * ri_cq_event - an event of a CQ
 * @event: of the RDMA core
 * @context: the struct rnic_cq
 *
 * Context: any.
 */
void ri_cq_event(struct ib_event *event, void *context)
{
	struct rnic_cq *cq = context;

	ri_raise(cq->obj.rnic->vp, &cq->obj, RI_EVENT_CQ_OVERFLOW_DETECTED);
}

/* ----- completions ----- */

static void tell_cq(struct work_struct *work)
{
	struct rnic_cq *cq = container_of(work, struct rnic_cq, work);
	struct rnic_vp *vp = cq->obj.rnic->vp;
	ri_cq_event_callback_t handler = READ_ONCE(vp->cq_handlers[cq->handler_id - 1]);

	if (handler)
		handler(vp->obj.os_data, cq->obj.os_data);
}

/**
 * ri_cq_ready - a completion that ri_cq_req_notification() has requested has come
 * @ibcq: of a struct rnic_cq with a handler id
 * @context: the struct rnic_cq
 *
 * Context: any.
 */
void ri_cq_ready(struct ib_cq *ibcq, void *context)
{
	struct rnic_cq *cq = context;

	if (cq->handler_id)
		queue_work(cq->obj.rnic->vp->wq, &cq->work);
}

/**
 * ri_cq_ready_init - initialize the upcalls of a CQ
 * @cq: new
 * Context: any.
 */
void ri_cq_ready_init(struct rnic_cq *cq)
{
	INIT_WORK(&cq->work, tell_cq);
}

/**
 * ri_cq_ready_end - stop the upcalls of a CQ (RI-37)
 * @cq: not used by a QP
 *
 * Waits for its handler, unless that makes the call. Context: may sleep, without a lock.
 */
void ri_cq_ready_end(struct rnic_cq *cq)
{
	if (current_work() == &cq->work)
		cancel_work(&cq->work);
	else
		cancel_work_sync(&cq->work);
}

/**
 * ri_upcall_flush - wait for the handlers that are running
 * @vp: its device
 *
 * Does not wait if the caller is in an upcall itself. Context: may sleep; no lock is held.
 */
void ri_upcall_flush(struct rnic_vp *vp)
{
	const struct work_struct *work = current_work();

	if (!work || (work->func != tell_cq && work->func != tell_events))
		flush_workqueue(vp->wq);
}
