/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Queue pairs: what a QP is, and the RDMAC state machine. */
#ifndef SRNIC_STATE_H
#define SRNIC_STATE_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include "policy.h"
#include "queue/event.h"
#include "queue/event_queue.h"
#include "queue/lock.h"
#include "queue/ring.h"
#include "queue/wqe.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

struct srnic_cq;
struct srnic_device;
struct srnic_inbound;
struct srnic_outbound;
struct srnic_rx;
struct srnic_srq;
struct srnic_stream;
struct srnic_swr;
struct srnic_tx;
struct srnic_ud;

/* RDMAC verbs 6.2 */
enum srnic_qp_state {
	SRNIC_QP_IDLE,
	SRNIC_QP_RTS,
	SRNIC_QP_CLOSING,
	SRNIC_QP_TERMINATE,
	SRNIC_QP_ERROR,
	SRNIC_QP_STATES,
};

/* What may make a transition; bits of the transition table */
#define SRNIC_QP_BY_MODIFY	1	/* Modify QP */
#define SRNIC_QP_BY_ATTACH	2	/* a stream is attached */
#define SRNIC_QP_BY_ITSELF	4	/* automatic */
/*
 * Modify QP to Error in Closing and Terminate: the RDMAC verbs refuse every
 * Modify there (ST-31, ST-49), but ib_drain_qp() and iw_cm count on it. It
 * hurries the transition to Error that is under way.
 */
#define SRNIC_QP_BY_FORCE	8

/* What a QP accepts from its peer; bits of srnic_qp.enables (QP-06) */
#define SRNIC_QP_READ_ENABLED	1
#define SRNIC_QP_WRITE_ENABLED	2
#define SRNIC_QP_BIND_ENABLED	4
#define SRNIC_QP_ATOMIC_ENABLED	8
#define SRNIC_QP_FLUSH_ENABLED	16

/**
 * struct srnic_llp_ops - callbacks to the maker of a connection
 * @abort: the QP is being destroyed or goes to Error while the connection is
 *	   still being made: give it up. Called at most once between
 *	   srnic_qp_claim() and the end of the claim, under a spinlock with
 *	   irqs off: it must not sleep nor call back into the QP.
 * @closed: the attached stream is gone, the queues are flushed, the QP is in
 *	    its final state. @err: 0 after a graceful close, -ECONNRESET or
 *	    -ETIMEDOUT or another errno else. Called once for an attached
 *	    stream, from a kthread or a work, without locks; the claim is over.
 * @keeps: closed() does not end the claim: its owner ends it with srnic_qp_unclaim()
 */
struct srnic_llp_ops {
	void (*abort)(void *priv);
	void (*closed)(void *priv, int err);
	bool keeps;
};

#define SRNIC_RNR_WITHOUT_END	7

/**
 * struct srnic_ib_attr - attributes of a QP that InfiniBand has
 * @paired: its program connects it by Modify QP
 * @av: route to the peer
 * @dest_qpn: the peer's QP
 * @rq_psn: PSN that the peer begins with
 * @sq_psn: PSN that this end begins with
 * @path_mtu: enum ib_mtu; 0: never set
 * @timeout: 0 to 31
 * @retry_cnt: 0 to 7
 * @sqd: the program has stopped the SQ: posted WRs wait
 * @rnr_retry: 0 to 7 (SRNIC_RNR_WITHOUT_END)
 * @min_rnr_timer: 0 to 31
 * @no_rnr: the program has asked for no wait, by @rnr_retry 0. @rnr_retry itself does not say
 *	    so: it is 0 in a new QP as well
 */
struct srnic_ib_attr {
	bool paired;
	bool sqd;
	struct rdma_ah_attr av;
	u32 dest_qpn;
	u32 rq_psn;
	u32 sq_psn;
	u8 path_mtu;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 min_rnr_timer;
	bool no_rnr;
};

/**
 * struct srnic_queues - the memory of a QP's queues
 * @sq: SQEs
 * @rq: RQEs; none with an SRQ
 * @swr: send WRs that were fetched, by the index of @sq
 */
struct srnic_queues {
	struct srnic_ring sq;
	struct srnic_ring rq;
	struct srnic_swr *swr;
};

/**
 * struct srnic_qp - a queue pair
 *
 * Lock order: resize, sq_lock, rq_lock, cq->lock. @lock is innermost; the only
 * callback with it held is abort() of struct srnic_llp_ops. These are the QP's locks.
 */
struct srnic_qp {
	struct ib_qp ibqp;

	/* immutable after create */
	struct srnic_device *dev;
	bool kernel;
	kuid_t owner;			/* effective user of the task that made it */
	bool privileged;		/* may use STag 0, fast-register; set before a stream */
	int nice;			/* of its kthreads: that of the program that made it */
	bool noio;			/* memory for it must not wait for I/O; engine/stream.h */
	bool sig_all;
	u32 max_send_sge;		/* of a WR that is no Write */
	u32 max_write_sge;
	u32 max_recv_sge;
	u32 max_inline;
	struct srnic_srq *srq;		/* NULL: the QP has an RQ of its own */
	struct list_head srq_waiting;	/* in its list of waiters; under its lock */
	struct srnic_cq *scq;
	struct srnic_cq *rcq;
	struct srnic_ud *ud;		/* of a UD QP, or NULL; see ib/ud.h */

	/* native_event() is of rnicpi.ko, or NULL; set before a stream. scripts/in-tree drops it */
	void (*native_event)(struct ib_qp *ibqp, enum srnic_event event);

	/* event_queue.c */
	struct srnic_event_source events;

	/* the state of verbs that a QP in Idle reports */
	enum ib_qp_state verbs_state;
	/* as the program has set them; on a QP that is not paired only no_rnr has an effect */
	struct srnic_ib_attr ib;
	struct mutex modify;		/* one Modify QP of a program at a time: some wait */
	struct mutex resize;		/* one step of a resize at a time; of next */
	struct srnic_queues next;	/* of a resize that is under way */

	/* lifetime: one for the creator, one for each iw_cm user and lookup */
	struct kref ref;
	struct completion freed;

	/* lock */
	spinlock_t lock;
	enum srnic_qp_state state;
	u8 enables;
	u16 ird;			/* inbound requests, as set or negotiated */
	u16 ord;
	enum rdmap_err error;		/* first error, RDMAP_OK if none */
	bool error_in_wc;		/* a WC carries it: no event (ST-33) */
	bool term_local;		/* @term was made here */
	bool term_valid;
	bool term_sent;			/* TCP took all of it */
	struct rdmap_term term;		/* Terminate sent or received (QP-15) */
	unsigned long close_deadline;	/* jiffies; of Closing */
	enum srnic_event close_event;	/* why the stream ended, if not by an error */
	const struct srnic_llp_ops *llp_ops;
	void *llp_priv;
	u32 llp_user;			/* whom the claim is charged to, see srnic_user_key() */
	bool llp_aborted;
	unsigned int idle_moves;	/* flushes out of Idle and returns to Idle under way */
	unsigned int windows;		/* bound to it: it is not destroyed (QP-28) */

	/* sq_lock: send WRs from fetch to completion, Reads and atomics on the wire */
	struct srnic_lock sq_lock;
	struct srnic_ring sq;		/* another one after a resize, as swr */
	bool sq_wakeup;			/* its flags ask for a doorbell */
	u32 sq_posted;			/* kernel consumer: producer index */
	u32 sq_freed;			/* kernel consumer: slots polled */
	u32 sq_fetched;			/* next SQE to fetch */
	u32 sq_completed;		/* next WR to complete */
	struct srnic_swr *swr;		/* by ring index */
	struct srnic_outbound *orq;	/* requests that await their response */
	u32 orq_mask;
	u32 orq_head;
	u32 orq_tail;
	u32 orq_out;			/* TCP has the requests before it; owner of tx */
	bool sq_flushing;		/* whatever is posted is flushed at once */
	enum srnic_wc_status sq_first;	/* status of the first WR flushed; 0: Flushed */
	u32 sq_messages;		/* of the WRs fetched; 0 if the stream has no @acks */
	u32 sq_acked;			/* messages that the peer has acknowledged; 0 as well */

	/* rq_lock */
	struct srnic_lock rq_lock;
	struct srnic_ring rq;		/* none with an SRQ; another one after a resize */
	u32 rq_posted;
	u32 rq_freed;
	u32 rq_taken;			/* next RQE to take */
	u32 rq_limit;			/* of messages in progress (SR-26) */
	bool rq_armed;			/* one more raises the event */
	bool rq_flushing;
	bool rq_awaited;		/* the rx kthread sleeps until a receive is posted */

	/* Reads and atomics the peer asked for; head: owner of tx, tail: owner of rx */
	struct srnic_inbound *irq;
	u32 irq_mask;
	u32 irq_head;
	u32 irq_tail;

	/* while a stream is attached, see srnic_qp_attach() and srnic_close() */
	struct srnic_stream *stream;
	struct mpa_result mpa;
	enum rdmap_version version;
	struct srnic_policy policy;	/* of the connection */
	bool initiator;
	bool keep_recv;			/* a graceful close leaves receives posted */
	bool send_imm;			/* Sends with immediate data were offered by both ends */
	bool acks;			/* each end acknowledges messages, see engine/ack.c */
	bool placement;			/* ... and takes Flush and Atomic Write, engine/atomic.c */
	struct delayed_work ack_late;	/* nobody has asked for what is due */
	struct delayed_work frag_due;	/* looks whether tx' page may go */
	bool no_responses;		/* a Read Response with data is an error (QP-06) */
	struct work_struct kthreads;	/* makes the kthreads, see engine/kthreads.c */
	struct delayed_work close_late;	/* Closing takes too long, and there are no kthreads */
	struct workqueue_struct *kthreads_wq;	/* ... here */
	struct task_struct *rx_task;	/* NULL: there are no kthreads */
	struct completion tx_exit;	/* the tx kthread, or the work in its place, is done */
	bool tx_started;		/* ... and was not joined yet, see srnic_qp_join_tx() */
	wait_queue_head_t tx_wait;	/* the tx kthread sleeps here */
	wait_queue_head_t rx_wait;	/* the rx kthread sleeps here */
	unsigned long flags;		/* SRNIC_QPF_* */
	struct srnic_tx *tx;		/* of the owner of tx: see SRNIC_QPF_TX_OWNED */
	struct srnic_rx *rx;		/* of the owner of rx: the holder of the socket lock */
};

/* srnic_qp.flags: messages between the contexts that work for a QP */
enum {
	SRNIC_QPF_ATTACHED,	/* a stream is attached, or being wound down outside of Idle */
	SRNIC_QPF_WRITE_SPACE,	/* the socket takes more */
	SRNIC_QPF_DATA,		/* the socket has data, FIN or an error */
	SRNIC_QPF_RX_DONE,	/* the rx kthread reads no more (FIN, error) */
	SRNIC_QPF_FIN,		/* the peer sent FIN, on an FPDU boundary */
	SRNIC_QPF_TX_OPEN,	/* this end may send FPDUs (M-STA-4) */
	SRNIC_QPF_FIN_SENT,	/* no more is sent; data now means Bad Close */
	SRNIC_QPF_ABORT,	/* Error was asked for: the end of the stream waits for nobody */
	SRNIC_QPF_DELIVER,	/* no RST overtakes what the SQ has completed */
	SRNIC_QPF_RTR_READ,	/* our RTR was a Read Request, not answered yet */
	SRNIC_QPF_RX_THREAD,	/* only the rx kthread takes what comes */
	SRNIC_QPF_TX_ACK,	/* rx has left an acknowledgment to the owner of tx */
	SRNIC_QPF_ACK_ASKED,	/* ... that is due is to go at once, see engine/ack.c */
	SRNIC_QPF_TX_ANSWERS,	/* the owner of tx is in softirq, and lets go soon */
	SRNIC_QPF_NO_KTHREADS,	/* no kthread was wanted yet: a kick queues the work */
	SRNIC_QPF_STREAM_BITS,	/* those above belong to one stream */
	SRNIC_QPF_DESTROY = SRNIC_QPF_STREAM_BITS,	/* as ABORT; no last event either */
	SRNIC_QPF_TX_OWNED,	/* the tx engine has an owner, or there is no stream */
	SRNIC_QPF_TX_KICK,	/* the tx kthread is to look */
};

static inline struct srnic_qp *to_srnic_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct srnic_qp, ibqp);
}

/* SGEs that a WR may have */
static inline u32 srnic_qp_max_sge(const struct srnic_qp *qp, u8 opcode)
{
	return srnic_op_is_write(opcode) ? qp->max_write_sge : qp->max_send_sge;
}

static inline enum srnic_qp_state srnic_qp_state(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->state);
}

/*
 * A kthread is wanted: the first call has them made. Any context. The caller has set a bit of
 * qp->flags before, with a full barrier behind it. If NO_KTHREADS is not set yet,
 * srnic_engine_start() or await_kick(), which set it, see that bit.
 */
static inline void srnic_qp_want_kthreads(struct srnic_qp *qp)
{
	if (test_bit(SRNIC_QPF_NO_KTHREADS, &qp->flags) &&
	    test_and_clear_bit(SRNIC_QPF_NO_KTHREADS, &qp->flags))
		queue_work(qp->kthreads_wq, &qp->kthreads);
}

/* The tx kthread has been kicked: wake it. Any context. */
static inline void srnic_qp_wake_tx(struct srnic_qp *qp)
{
	wake_up(&qp->tx_wait);
	srnic_qp_want_kthreads(qp);
}

/* Let the tx kthread look. Any context. */
static inline void srnic_qp_kick_tx(struct srnic_qp *qp)
{
	set_bit(SRNIC_QPF_TX_KICK, &qp->flags);
	smp_mb__after_atomic();	/* the kick, then NO_KTHREADS; see await_kick() */
	srnic_qp_wake_tx(qp);
}

/* Let the rx kthread look. Any context. */
static inline void srnic_qp_kick_rx(struct srnic_qp *qp)
{
	set_bit(SRNIC_QPF_DATA, &qp->flags);
	smp_mb__after_atomic();	/* likewise */
	wake_up(&qp->rx_wait);
	srnic_qp_want_kthreads(qp);
}

/*
 * If the rx kthread waits for a receive, let it look: there may be one, or the wait has another
 * bound. See srnic_rq_await(). Any context.
 */
static inline void srnic_qp_wake_rnr(struct srnic_qp *qp)
{
	smp_mb();	/* what has changed, then the flag */
	if (READ_ONCE(qp->rq_awaited))
		srnic_qp_kick_rx(qp);
}

bool srnic_qp_transition_ok(enum srnic_qp_state from, enum srnic_qp_state to, u8 by);
const char *srnic_qp_state_name(enum srnic_qp_state state);
bool srnic_qp_fail(struct srnic_qp *qp, enum rdmap_err err, const u8 *seg,
		   u32 seg_len, bool in_wc);
bool srnic_qp_terminated(struct srnic_qp *qp, const struct rdmap_term *term, bool in_wc);
bool srnic_qp_leave(struct srnic_qp *qp, enum srnic_qp_state next,
		    enum srnic_event event);
void srnic_term_fill(struct srnic_terminate *to, const struct rdmap_term *term, bool done);
bool srnic_qp_terminate(struct srnic_qp *qp, struct rdmap_term *term, bool *local,
			bool *sent);
int srnic_qp_claim(struct srnic_qp *qp, const struct srnic_llp_ops *ops, void *priv);
void srnic_qp_unclaim(struct srnic_qp *qp, void *priv);

#endif
