/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Queue pairs: the RDMAC state machine, the queues, and the life of the
 * stream that is attached to a QP.
 *
 * A QP gets its stream by srnic_qp_attach(), which knows nothing of who calls
 * it. From then on two kthreads own the two directions (tx.c, rx.c). The tx
 * kthread also winds the stream down when the QP leaves RTS: it sends the
 * Terminate, stops the rx kthread, leaves the stream to itself (linger.c),
 * flushes the queues and raises the events. Only in Closing does it wait for
 * the peer, within a bound.
 */
#ifndef SRNIC_QP_H
#define SRNIC_QP_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <rdma/ib_verbs.h>
#include "cq.h"
#include "event.h"
#include "ring.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"
#include "wqe.h"

struct srnic_device;
struct srnic_stream;
struct srnic_rx;
struct srnic_srq;
struct srnic_tx;

/* RDMAC verbs 6.2 */
enum srnic_qp_state {
	SRNIC_QP_IDLE,
	SRNIC_QP_RTS,
	SRNIC_QP_CLOSING,
	SRNIC_QP_TERMINATE,
	SRNIC_QP_ERROR,
	SRNIC_QP_STATES,
};

/* Who may make a transition; bits of the transition table */
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

/**
 * struct srnic_llp_ops - what the maker of a connection is told of it
 * @abort: the QP is being destroyed or goes to Error while the connection is
 *	   still being made: give it up. Called at most once between
 *	   srnic_qp_claim() and the end of the claim, under a spinlock with
 *	   irqs off: it must not sleep nor call back into the QP.
 * @closed: the attached stream is gone, the queues are flushed, the QP is in
 *	    its final state. @err: 0 after a graceful close, -ECONNRESET or
 *	    -ETIMEDOUT or another errno else. Called once for an attached
 *	    stream, from a kthread without locks; the claim is over.
 */
struct srnic_llp_ops {
	void (*abort)(void *priv);
	void (*closed)(void *priv, int err);
};

/**
 * struct srnic_attach - a connected stream for a QP
 * @stream: owned by the QP if srnic_qp_attach() succeeds, by the caller else
 * @initiator: this end sends the first FPDU; if not, this end sends none
 *	       before it has received a valid one (M-STA-4)
 * @mpa: negotiated settings
 * @max_fpdu: octets of the largest FPDU to send; 0: what fits a TCP segment
 * @last_msg: last message in streaming mode, sent before the switch to FPDUs
 *	      (an MPA Reply); NULL if none
 * @last_len: its octets
 * @timeout_ms: bound for sending it
 * @close_timeout: seconds that the peer has to close its side, see srnic_policy
 */
struct srnic_attach {
	struct srnic_stream *stream;
	bool initiator;
	struct mpa_result mpa;
	u32 max_fpdu;
	void *last_msg;
	u32 last_len;
	unsigned int timeout_ms;
	unsigned int close_timeout;
};

/* States of a send WR in the kernel */
enum srnic_swr_state {
	SRNIC_SWR_FREE,
	SRNIC_SWR_ACTIVE,	/* fetched; the wire or a response is awaited */
	SRNIC_SWR_DONE,		/* can be completed when its turn comes */
};

/**
 * struct srnic_swr - a send WR that was fetched from the SQ
 * @wr_id: from the SQE
 * @opcode: enum srnic_opcode
 * @signaled: success gives a CQE
 * @state: enum srnic_swr_state
 * @status: enum srnic_wc_status, valid when DONE
 * @byte_len: octets of a Read or an atomic
 */
struct srnic_swr {
	u64 wr_id;
	u8 opcode;
	bool signaled;
	u8 state;
	u8 status;
	u32 byte_len;
};

/**
 * struct srnic_outbound - a Read or atomic this end asked for, waiting for its response
 * @index: ring index of its WR
 * @end: sequence number behind it in the TCP stream
 * @last: the WR has no other that comes later
 * @opcode: of the WR, enum srnic_opcode
 * @length: octets of the response
 * @sink_stag: where they go
 * @sink_to: where they go
 */
struct srnic_outbound {
	u32 index;
	u32 end;
	bool last;
	u8 opcode;
	u32 length;
	u32 sink_stag;
	u64 sink_to;
};

/* A Read or atomic the peer asked for, waiting to be answered */
struct srnic_inbound {
	u8 opcode;				/* RDMAP_READ_REQUEST or RDMAP_ATOMIC_REQUEST */
	union {
		struct rdmap_read_req read;
		struct rdmap_atomic_req atomic;
	};
	u8 ddp[DDP_UNTAGGED_LEN];		/* as on the wire, for a Terminate */
};

/**
 * struct srnic_ib_attr - attributes of a QP that TCP takes care of here
 * @path_mtu: enum ib_mtu; 0: never set
 * @timeout: 0 to 31
 * @retry_cnt: 0 to 7
 * @rnr_retry: 0 to 7
 * @min_rnr_timer: 0 to 31
 */
struct srnic_ib_attr {
	u8 path_mtu;
	u8 timeout;
	u8 retry_cnt;
	u8 rnr_retry;
	u8 min_rnr_timer;
};

/**
 * struct srnic_qp - a queue pair
 *
 * Lock order: sq_lock or rq_lock, then cq->lock. @lock is innermost and is
 * never held over a call out of qp.c.
 */
struct srnic_qp {
	struct ib_qp ibqp;

	/* immutable after create */
	struct srnic_device *dev;
	bool kernel;
	bool sig_all;
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_inline;
	struct srnic_ring sq;
	struct srnic_ring rq;		/* none with an SRQ */
	struct srnic_srq *srq;		/* NULL: the QP has an RQ of its own */
	struct srnic_cq *scq;
	struct srnic_cq *rcq;

	/* verbs.c: which of the verbs' states Idle is called */
	enum ib_qp_state verbs_state;
	/* verbs.c: what means something to InfiniBand alone, as it was set; for Query */
	struct srnic_ib_attr ib;

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
	bool llp_aborted;
	unsigned int settling;		/* flushes out of Idle, returns to it under way */
	unsigned int windows;		/* bound to it: it is not destroyed (QP-28) */

	/* sq_lock: send WRs from fetch to completion, Reads and atomics on the wire */
	spinlock_t sq_lock;
	u32 sq_posted;			/* kernel consumer: producer index */
	u32 sq_freed;			/* kernel consumer: slots polled */
	u32 sq_fetched;			/* next SQE to fetch */
	u32 sq_completed;		/* next WR to complete */
	struct srnic_swr *swr;		/* by ring index */
	struct srnic_outbound *orq;	/* requests that await their response */
	u32 orq_mask;
	u32 orq_head;
	u32 orq_tail;
	bool sq_flushing;		/* whatever is posted is flushed at once */

	/* rq_lock */
	spinlock_t rq_lock;
	u32 rq_posted;
	u32 rq_freed;
	u32 rq_taken;			/* next RQE to take */
	bool rq_flushing;

	/* irq_lock: Reads and atomics the peer asked for */
	spinlock_t irq_lock;
	struct srnic_inbound *irq;
	u32 irq_mask;
	u32 irq_head;
	u32 irq_tail;

	/* while a stream is attached; made and taken down as tx.c says */
	struct srnic_stream *stream;
	struct mpa_result mpa;
	u32 max_fpdu;			/* octets to send; 0: what fits a TCP segment */
	bool initiator;
	unsigned long close_timeout;	/* jiffies (ST-29) */
	struct task_struct *rx_task;
	struct completion tx_exit;	/* the tx kthread left the module's code */
	bool tx_started;		/* ... and was not joined yet; attach and destroy only */
	wait_queue_head_t tx_wait;	/* the tx kthread sleeps here */
	wait_queue_head_t rx_wait;	/* the rx kthread sleeps here */
	unsigned long flags;		/* SRNIC_QPF_* */
	struct srnic_tx *tx;		/* owner: the tx kthread */
	struct srnic_rx *rx;		/* owner: the rx kthread */
};

/* srnic_qp.flags: messages between the kthreads and their callers */
enum {
	SRNIC_QPF_ATTACHED,	/* a stream is attached or being wound down */
	SRNIC_QPF_WRITE_SPACE,	/* the socket takes more */
	SRNIC_QPF_DATA,		/* the socket has data, FIN or an error */
	SRNIC_QPF_RX_DONE,	/* the rx kthread reads no more (FIN, error, stop) */
	SRNIC_QPF_FIN,		/* the peer sent FIN, on an FPDU boundary */
	SRNIC_QPF_TX_OPEN,	/* this end may send FPDUs (M-STA-4) */
	SRNIC_QPF_FIN_SENT,	/* no more is sent; data now means Bad Close */
	SRNIC_QPF_ABORT,	/* nobody waits for the peer */
	SRNIC_QPF_DELIVER,	/* no RST overtakes what the SQ has completed */
	SRNIC_QPF_RTR_READ,	/* our RTR was a Read Request, not answered yet */
	SRNIC_QPF_STREAM_BITS,	/* those above belong to one stream */
	SRNIC_QPF_DESTROY = SRNIC_QPF_STREAM_BITS,	/* nobody waits for the peer, or is told */
};

static inline struct srnic_qp *to_srnic_qp(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct srnic_qp, ibqp);
}

static inline enum srnic_qp_state srnic_qp_state(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->state);
}

bool srnic_qp_transition_ok(enum srnic_qp_state from, enum srnic_qp_state to, u8 by);
const char *srnic_qp_state_name(enum srnic_qp_state state);

/* life */
int srnic_qp_create(struct srnic_qp *qp, struct srnic_device *dev,
		    struct ib_qp_init_attr *init, struct ib_ucontext *uctx);
int srnic_qp_destroy(struct srnic_qp *qp);
struct srnic_qp *srnic_qp_find(struct srnic_device *dev, u32 qpn);
void srnic_qp_put(struct srnic_qp *qp);

/* state */
int srnic_qp_modify(struct srnic_qp *qp, enum srnic_qp_state next);
bool srnic_qp_fail(struct srnic_qp *qp, enum rdmap_err err, const u8 *seg,
		   u32 seg_len, bool in_wc);
bool srnic_qp_terminated(struct srnic_qp *qp, const struct rdmap_term *term, bool in_wc);
bool srnic_qp_terminate(struct srnic_qp *qp, struct rdmap_term *term, bool *local,
			bool *sent);
void srnic_qp_abort(struct srnic_qp *qp);
void srnic_qp_give_up(struct srnic_qp *qp);
bool srnic_qp_leave(struct srnic_qp *qp, enum srnic_qp_state next,
		    enum srnic_event event);
bool srnic_close_overdue(const struct srnic_qp *qp);

/* stream */
int srnic_qp_claim(struct srnic_qp *qp, const struct srnic_llp_ops *ops, void *priv);
void srnic_qp_unclaim(struct srnic_qp *qp, void *priv);
bool srnic_qp_abort_silent(struct srnic_qp *qp, void *priv);
int srnic_qp_attach(struct srnic_qp *qp, const struct srnic_attach *attach);
void srnic_qp_release_stream(struct srnic_qp *qp);

/* queues (wq.c) */
void srnic_sq_done(struct srnic_qp *qp, u32 index, enum srnic_wc_status status);
void srnic_sq_flush(struct srnic_qp *qp);
void srnic_rq_flush(struct srnic_qp *qp);
int srnic_sq_pending(const struct srnic_qp *qp);
bool srnic_sq_empty(struct srnic_qp *qp);
void srnic_wq_restart(struct srnic_qp *qp);
int srnic_rq_take(struct srnic_qp *qp, struct srnic_rwr *rwr);
void srnic_rq_complete(struct srnic_qp *qp, const struct srnic_rwr *rwr,
		       struct srnic_cqe *cqe, enum srnic_wc_status status);
void srnic_qp_last_wqe(struct srnic_qp *qp);
void srnic_qp_doorbell(struct srnic_qp *qp);
void srnic_qp_polled(struct srnic_device *dev, const struct srnic_cqe *cqe);

#endif
