/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Completion queues (RDMAC verbs 5.3, 8.2.4, 8.2.5). */
#ifndef SRNIC_CQ_H
#define SRNIC_CQ_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <rdma/ib_verbs.h>
#include "queue/event.h"
#include "queue/event_queue.h"
#include "queue/lock.h"
#include "queue/ring.h"

struct srnic_holder;

/**
 * struct srnic_help - is the thread that sends on the QPs of a CQ to have help? Any context; a look
 * that is a little old does no harm
 * @qpn: the last QP whose doorbell sent much
 * @soon: ns of ktime: a thread that goes on until then does little else
 * @alone: ns of ktime: no help before then, as no CPU was idle
 * @kthreads: that help
 */
struct srnic_help {
	u32 qpn;
	u64 soon;
	u64 alone;
	atomic_t kthreads;
};

/**
 * struct srnic_cq - a completion queue
 * @ibcq: the verbs object
 * @kernel: the consumer is in the kernel
 * @times: CQEs have the time at which they were added
 * @holder: its user; NULL: a kernel consumer's
 * @help: for its thread, see engine/tx_help.c
 * @resize: protects @next, and the ring from being purged; taken before @lock
 * @next: ring of a resize that is under way
 * @lock: protects what follows, and the ring's kernel side
 * @ring: CQEs
 * @producer: next CQE to write; never read back from shared memory
 * @consumer: kernel consumer: next CQE to poll
 * @overflowed: an overflow was seen; nothing is added any more
 * @overflow_event: ... and its event is still to be raised
 * @events: events that its program has not read
 */
struct srnic_cq {
	struct ib_cq ibcq;
	bool kernel;
	bool times;
	struct srnic_holder *holder;

	struct srnic_help help;

	struct mutex resize;	/* see above */
	struct srnic_ring next;

	struct srnic_lock lock;	/* see above */
	struct srnic_ring ring;
	u32 producer;
	u32 consumer;
	bool overflowed;
	bool overflow_event;

	struct srnic_event_source events;
};

static inline struct srnic_cq *to_srnic_cq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct srnic_cq, ibcq);
}

/* Next CQE to poll. cq->lock is held. The index of a user is not to be trusted. */
static inline u32 srnic_cq_consumer(const struct srnic_cq *cq)
{
	srnic_assert_locked(&cq->lock);
	return cq->kernel ? cq->consumer : READ_ONCE(cq->ring.hdr->consumer);
}

/* cq.c */
bool srnic_cq_arm_fires(u32 before, u32 arm, u32 seen, bool taken);
int srnic_cq_add(struct srnic_cq *cq, struct srnic_cqe *cqe,
		 enum srnic_wc_status status, u32 *seen);
void srnic_cq_notify(struct srnic_cq *cq, u32 seen);
int srnic_cq_poll(struct srnic_cq *cq, struct srnic_cqe *cqe);
int srnic_cq_arm(struct srnic_cq *cq, u32 arm, bool report_missed);
void srnic_cq_purge(struct srnic_cq *cq, u32 qpn);
int srnic_cq_create(struct srnic_cq *cq, u32 entries, bool times,
		    struct ib_ucontext *uctx);
void srnic_cq_destroy(struct srnic_cq *cq);

/* cq_resize.c */
int srnic_cq_resize_prepare(struct srnic_cq *cq, u32 entries, struct ib_ucontext *uctx,
			    struct srnic_uresp_resize_cq *resp);
int srnic_cq_resize_commit(struct srnic_cq *cq, u32 entries);
void srnic_cq_resize_cancel(struct srnic_cq *cq);
int srnic_cq_resize(struct srnic_cq *cq, u32 entries);

#endif
