/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Shared receive queues (RDMAC verbs 6.3). */
#ifndef SRNIC_SRQ_H
#define SRNIC_SRQ_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>
#include "queue/event_queue.h"
#include "queue/lock.h"
#include "queue/ring.h"

struct srnic_qp;
struct srnic_rwr;

/**
 * struct srnic_srq - a shared receive queue
 * @ibsrq: the verbs object; its PD is that of the SGEs (SR-19)
 * @kernel: the consumer is in the kernel; immutable, as @max_sge
 * @max_sge: SGEs of a WQE
 * @modifying: one Modify SRQ at a time; outside of @lock
 * @lock: protects what follows except @polled; innermost
 * @ring: RQEs; another one after a resize
 * @max_wr: WQEs that may be posted and not polled (kernel consumers)
 * @posted: kernel consumer: producer index
 * @taken: next RQE to take; never read back from shared memory
 * @limit: the SRQ limit as it was set last
 * @armed: the next WQE taken that leaves less than @limit raises the event
 * @broken: the ring was tampered with, nothing is taken any more (SR-24)
 * @lost: user: WQEs whose completion an overflowed CQ did not take
 * @waiters: QPs with a message that waits for a WQE; the first one polls
 * @polled: kernel consumer: WQEs whose completion was polled (SR-13)
 * @events: events that its program has not read
 */
struct srnic_srq {
	struct ib_srq ibsrq;
	bool kernel;
	u32 max_sge;
	struct mutex modifying;		/* see above */

	struct srnic_lock lock;		/* see above */
	struct srnic_ring ring;
	u32 max_wr;
	u32 posted;
	u32 taken;
	u32 limit;
	bool armed;
	bool broken;
	u32 lost;
	struct list_head waiters;

	atomic_t polled;
	struct srnic_event_source events;
};

static inline struct srnic_srq *to_srnic_srq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct srnic_srq, ibsrq);
}

int srnic_srq_create(struct srnic_srq *srq, struct ib_srq_attr *attr,
		     struct ib_ucontext *uctx);
void srnic_srq_destroy(struct srnic_srq *srq);
int srnic_srq_modify(struct srnic_srq *srq, struct ib_srq_attr *attr, u32 mask,
		     struct ib_ucontext *uctx);
void srnic_srq_query(struct srnic_srq *srq, struct ib_srq_attr *attr);
struct srnic_rqe *srnic_srq_next(struct srnic_srq *srq);
int srnic_srq_take(struct srnic_srq *srq, struct srnic_rwr *rwr);
bool srnic_srq_is_empty(struct srnic_srq *srq);
void srnic_srq_await(struct srnic_qp *qp);
void srnic_srq_await_end(struct srnic_qp *qp);
bool srnic_srq_is_first(struct srnic_qp *qp);
void srnic_srq_polled(struct srnic_srq *srq);
void srnic_srq_lose(struct srnic_srq *srq);

#endif
