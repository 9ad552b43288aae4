// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The tx engine: its owners, and when they run it. A turn takes send WRs and inbound requests
 * alternately, a message at a time, stages them as FPDUs, and hands many of them to TCP in
 * one call: the call is what costs, not the segment.
 *
 * The owner of tx has set SRNIC_QPF_TX_OWNED; it runs the engine, and all of struct srnic_tx
 * is its own. The owner is srnic_qp_attach() at first; the program that posts, in its doorbell
 * call, so that no message waits for another task; the kernel consumer that posts, as far as that
 * may be done with softirqs off; the owner of rx, for the answers to Reads that are not large; or
 * the tx kthread, for what passes the others' budgets, for bursts (tx_burst.c) and help
 * (tx_help.c), for what waits for room or for a response, and the end of the stream. An
 * acknowledgment (ack.c) is sent by the owner of rx, or by the owner of tx that rx meets.
 * A context that needs the kthread sets SRNIC_QPF_TX_KICK, see srnic_qp_kick_tx(). An owner
 * looks at it after it has let go of tx, so no kick is lost.
 */

#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/slab.h>
#include "engine/ack.h"
#include "engine/close.h"
#include "engine/kthreads.h"
#include "engine/read.h"
#include "engine/rx.h"
#include "engine/tx.h"
#include "queue/cq.h"
#include "queue/wq.h"
#include "srnic.h"

/* A QP keeps a page for this long, and until its peer has acknowledged all */
#define TX_FRAG_TIME	HZ
/* Batches that a doorbell sends before the kthread goes on */
#define TX_INLINE	1
/* Bytes of Reads that are answered as their requests come in; the kthread answers others */
#define TX_ANSWER	(8 * 1024)
/* Jiffies that an acknowledgment waits for a message to go with, if nobody has asked for it */
#define ACK_LATE	1
/* Times that a doorbell acknowledges what came while it had the socket */
#define TX_HEED		3
/* Times that a doorbell looks again for the end of an answer, which takes some microseconds */
#define TX_SPINS	1000

/**
 * srnic_tx_new - state of an outbound direction
 * @qp: to be attached; mpa is set
 *
 * The memory cgroup of the caller is charged for what tx allocates, now and later.
 *
 * Return: the state, or NULL. Context: process, may sleep.
 */
struct srnic_tx *srnic_tx_new(const struct srnic_qp *qp)
{
	size_t data = max_t(size_t, qp->max_inline,
			    max3(qp->max_send_sge, qp->max_write_sge, 1U) *
			    sizeof(struct srnic_sge));
	struct srnic_tx *tx = kzalloc(sizeof(*tx), GFP_KERNEL_ACCOUNT);
	int qn;

	if (!tx)
		return NULL;
	tx->memcg = get_mem_cgroup_from_mm(current->mm);
	tx->wr.data = kzalloc(data, GFP_KERNEL_ACCOUNT);
	tx->batch = srnic_batch_new();
	if (!tx->batch || !tx->wr.data) {
		srnic_tx_free(tx);
		return NULL;
	}
	for (qn = 0; qn < DDP_QN_COUNT; qn++)
		tx->msn[qn] = 1;	/* D-UNT-3 */
	tx->rtr_due = qp->initiator && qp->mpa.rtr;
	tx->staged = qp->sq_fetched;
	tx->marked = qp->sq_fetched;
	return tx;
}

/**
 * srnic_tx_free - free the state of an outbound direction, whose stream is gone
 * @tx: may be NULL
 * Context: process, may sleep.
 */
void srnic_tx_free(struct srnic_tx *tx)
{
	if (!tx)
		return;
	srnic_tx_put_frag(tx);
	srnic_batch_free(tx->batch);
	kfree(tx->wr.data);
	mem_cgroup_put(tx->memcg);
	kfree(tx);
}

static bool tx_running(const struct srnic_qp *qp)
{
	enum srnic_qp_state state = srnic_qp_state(qp);

	return state == SRNIC_QP_RTS || state == SRNIC_QP_CLOSING;
}

/* TCP has all of the batch: the WRs in it are done, except those that await a response */
static void tx_mark_done(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;

	if (tx->marked == tx->staged)
		return;
	srnic_sq_sent(qp, tx->marked, tx->staged);
	tx->marked = tx->staged;
}

/* Local WRs in a turn: they take no room in the batch, and each may wait for a copy to end */
#define LOCAL_BATCH	256
/* WRs in a turn of tx_stage_posted(), maybe with softirqs off */
#define POSTED_BATCH	64

/*
 * The initiator's first FPDU tells the responder that it may send (V2-5, V2-15). Return: false
 * if there is no memory for it.
 */
static bool tx_stage_rtr(struct srnic_qp *qp)
{
	u8 req[RDMAP_READ_REQ_LEN] = { };
	struct ddp_hdr hdr = {
		.tagged = true,
		.last = true,
		.version = qp->version,
		.ulp = rdmap_control(qp->version, RDMAP_WRITE),
	};

	if (!qp->tx->rtr_due)
		return true;
	if (!srnic_tx_has_room(qp))
		return false;
	qp->tx->rtr_due = false;
	if (qp->mpa.rtr == MPA_RTR_READ) {
		set_bit(SRNIC_QPF_RTR_READ, &qp->flags);
		srnic_tx_untagged(qp, RDMAP_READ_REQUEST, req, sizeof(req));
	} else if (qp->mpa.rtr == MPA_RTR_WRITE) {
		srnic_tx_header(qp, &hdr);
		srnic_tx_seal(qp, DDP_TAGGED_LEN);
	} else {
		srnic_tx_untagged(qp, RDMAP_SEND, req, 0);
	}
	return true;
}

/* Fill the batch from SQ and IRQ, a message of each in turn */
static void tx_stage(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	bool more, ack;

	if (!test_bit(SRNIC_QPF_TX_OPEN, &qp->flags))
		return;
	srnic_tx_begin(qp);
	more = tx_stage_rtr(qp);
	ack = srnic_ack_due(qp);
	while (more && !tx->cut && tx->locals < LOCAL_BATCH && tx_running(qp) &&
	       srnic_tx_has_room(qp)) {
		/* one goes with the messages of a turn; each that is asked for */
		if ((ack || srnic_ack_asked(qp)) && !tx->responding && !srnic_tx_wr_begun(tx)) {
			srnic_ack_stage(qp);
			ack = false;
			continue;
		}
		/* what was begun goes on: no message inside another */
		if (tx->responding || (tx->read_turn && !srnic_tx_wr_begun(tx))) {
			more = srnic_tx_stage_response(qp);
			tx->read_turn = tx->responding;
			if (more || tx->responding)
				continue;
			more = srnic_tx_stage_wr(qp);
		} else {
			more = srnic_tx_stage_wr(qp);
			tx->read_turn = !srnic_tx_wr_begun(tx);
			if (!more)
				more = srnic_tx_stage_response(qp);
		}
	}
	srnic_tx_let_go(tx);
}

/**
 * srnic_tx_push - hand what is staged to TCP, without waiting (owner of tx)
 * @qp: with a stream
 *
 * Context: the owner of tx; sleeps for memory, unless tx->locked, and never for room.
 *
 * Return: 0 if nothing is staged any more, -EAGAIN, or another errno if the
 * connection is gone.
 */
int srnic_tx_push(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	int n;

	if (!tx->batch->len) {	/* local WRs alone leave nothing to send */
		tx_mark_done(qp);
		return 0;
	}
	clear_bit(SRNIC_QPF_WRITE_SPACE, &qp->flags);
	while (tx->batch->len) {
		srnic_count_often(qp->dev, SRNIC_CNT_TX_SENDMSG, 1);
		n = tx->locked ? srnic_stream_send_locked(qp->stream, tx->batch, tx->cut) :
				 srnic_stream_send(qp->stream, tx->batch, tx->cut);
		if (n <= 0)
			return n ?: -EPIPE;
		srnic_count_often(qp->dev, SRNIC_CNT_TX_BYTES, n);
	}
	tx->cut = false;
	srnic_orq_sent(qp);
	tx_mark_done(qp);
	return 0;
}

/**
 * srnic_tx_rest - take away what was staged and is not handed to TCP (owner of tx)
 * @qp: with a stream; nothing more will be staged
 *
 * Context: the owner of tx, in process.
 * Return: the batch, which is the caller's; NULL if nothing is left.
 */
struct srnic_batch *srnic_tx_rest(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	struct srnic_batch *rest = NULL;

	if (tx->batch->len)
		swap(rest, tx->batch);
	return rest;
}

/* Nothing of the SQ is left to send and no read is under way in either direction */
static bool tx_quiet(struct srnic_qp *qp)
{
	return !qp->tx->busy && !qp->tx->responding && !qp->tx->batch->len &&
	       !qp->tx->rtr_due && srnic_sq_empty(qp) && srnic_irq_empty(qp);
}

/* The FIN is as good as a question: no acknowledgment goes behind it */
static bool tx_has_ack(struct srnic_qp *qp)
{
	return srnic_ack_asked(qp) ||
	       (srnic_qp_state(qp) == SRNIC_QP_CLOSING && srnic_ack_due(qp));
}

static bool tx_can_stage(struct srnic_qp *qp)
{
	const struct srnic_tx *tx = qp->tx;

	if (!test_bit(SRNIC_QPF_TX_OPEN, &qp->flags))
		return false;
	if (tx->rtr_due || tx->responding || !srnic_irq_empty(qp) || tx_has_ack(qp))
		return true;
	if (tx->busy)
		return !srnic_tx_wr_blocked(qp);
	return srnic_sq_pending(qp) != 0 && !READ_ONCE(qp->ib.sqd);
}

/* Is there anything to do? (owner of tx) */
static bool tx_has_work(struct srnic_qp *qp)
{
	if (!tx_running(qp) || test_bit(SRNIC_QPF_FIN, &qp->flags))
		return true;
	if (qp->tx->batch->len)
		return test_bit(SRNIC_QPF_WRITE_SPACE, &qp->flags);
	return tx_can_stage(qp) ||
	       (srnic_qp_state(qp) == SRNIC_QP_CLOSING && tx_quiet(qp));
}

/*
 * Stage the RTR, the acknowledgment that is due, and WRs that were posted before, without waiting
 * for memory that a WR names: that is left to the kthread. With softirqs off nobody can. In a work
 * nobody should: the works of all programs share their queues, and a program's memory, of a file or
 * a DMA buffer, may be waited for as long as the program likes.
 */
static void tx_stage_posted(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	bool more;
	int n;

	tx->nowait = true;
	srnic_tx_begin(qp);
	more = tx_stage_rtr(qp);
	if (more && srnic_ack_due(qp) && srnic_tx_has_room(qp))
		srnic_ack_stage(qp);
	for (n = 0; more && n < POSTED_BATCH && !tx->cut && tx_running(qp) &&
	     srnic_tx_has_room(qp); n++)
		more = srnic_tx_stage_wr(qp);
	srnic_tx_let_go(tx);
	tx->nowait = false;
}

/* ----- owners ----- */

static bool tx_own(struct srnic_qp *qp)
{
	return !test_and_set_bit_lock(SRNIC_QPF_TX_OWNED, &qp->flags);
}

static void tx_disown(struct srnic_qp *qp)
{
	clear_bit_unlock(SRNIC_QPF_TX_OWNED, &qp->flags);
	smp_mb__after_atomic();	/* let go, then look, as srnic_qp_kick_tx() and tx_own() */
	if (test_bit(SRNIC_QPF_TX_KICK, &qp->flags))
		srnic_qp_wake_tx(qp);
	else if (test_bit(SRNIC_QPF_TX_ACK, &qp->flags))
		srnic_qp_kick_tx(qp);
}

/* Acknowledge soon what nobody has asked for (owner of rx); srnic_close() waits for the work */
static void tx_ack_later(struct srnic_qp *qp)
{
	if (srnic_ack_due(qp) && !srnic_ack_asked(qp) && !delayed_work_pending(&qp->ack_late))
		queue_delayed_work(qp->kthreads_wq, &qp->ack_late, ACK_LATE);
}

/* An acknowledgment is asked for: the owner of tx sends it, or the kthread if there is none */
static void tx_leave_ack(struct srnic_qp *qp)
{
	set_bit(SRNIC_QPF_TX_ACK, &qp->flags);
	smp_mb__after_atomic();	/* set the bit, then look; tx_disown() has it the other way round */
	if (tx_own(qp))
		tx_disown(qp);
}

/*
 * Publish what tx waits for, before the last look for it. If it waits for a post alone,
 * NEED_WAKEUP asks for a doorbell; if a WR may wait for a response, tx->blocked asks for a kick.
 * The socket and the peer kick in any case. User space stores the producer index before it
 * looks at the flag: one of the two sees the other.
 */
static void tx_enable_doorbell(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	bool post = test_bit(SRNIC_QPF_TX_OPEN, &qp->flags) && !tx->batch->len && !tx->busy;

	srnic_sq_set_wakeup(qp, post);
	WRITE_ONCE(tx->blocked, tx->busy);
	smp_mb();	/* flags, then index; see above and srnic_orq_done() */
}

/* While the owner of tx works no doorbell is needed */
static void tx_disable_doorbell(struct srnic_qp *qp)
{
	if (READ_ONCE(qp->sq_wakeup))
		srnic_sq_set_wakeup(qp, false);
	WRITE_ONCE(qp->tx->blocked, false);
}

/* Return: whether nothing is staged any more */
static bool tx_push(struct srnic_qp *qp)
{
	int err = srnic_tx_push(qp);

	if (err && err != -EAGAIN)
		srnic_qp_leave(qp, SRNIC_QP_ERROR, err == -EPIPE || err == -ECONNRESET ?
			       SRNIC_EV_LLP_RESET : SRNIC_EV_LLP_LOST);
	return !err;
}

static bool tx_may_stage(struct srnic_qp *qp)
{
	return tx_running(qp) && !test_bit(SRNIC_QPF_FIN, &qp->flags) && tx_can_stage(qp);
}

/* Push and stage in turns, until nothing can be done at present or @turns are over */
static void tx_run(struct srnic_qp *qp, unsigned int turns)
{
	while (tx_push(qp) && turns-- && tx_may_stage(qp))
		tx_stage(qp);
}

/*
 * What came while this task had the socket locked is acknowledged at once: the kthread would have
 * to be woken for it.
 */
static void tx_heed(struct srnic_qp *qp)
{
	int n;

	for (n = 0; n < TX_HEED && test_bit(SRNIC_QPF_TX_ACK, &qp->flags) &&
	     srnic_ack_asked(qp) && !qp->tx->batch->len; n++)
		tx_run(qp, 1);
}

/*
 * Own tx for a doorbell. An owner in softirq is on another CPU, and lets go within microseconds:
 * to wait for it is faster than to wake the kthread.
 */
static bool tx_own_soon(struct srnic_qp *qp)
{
	int n;

	for (n = 0; n < TX_SPINS; n++) {
		if (tx_own(qp))
			return true;
		if (!test_bit(SRNIC_QPF_TX_ANSWERS, &qp->flags))
			break;
		cpu_relax();
	}
	return tx_own(qp);
}

/* The owner of tx lets go: its page is put after a while, used or not, see frag_due() */
static void tx_leave_frag(struct srnic_qp *qp)
{
	if (qp->tx->frag.page && !delayed_work_pending(&qp->frag_due))
		queue_delayed_work(qp->kthreads_wq, &qp->frag_due, TX_FRAG_TIME);
}

static void frag_due(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(to_delayed_work(work), struct srnic_qp, frag_due);

	if (!tx_own(qp)) {	/* in use; or the stream ends, and srnic_close() cancels this */
		queue_delayed_work(qp->kthreads_wq, &qp->frag_due, TX_FRAG_TIME);
		return;
	}
	/*
	 * The batch has references of its own. But a peer that takes nothing is not to have another
	 * page, for each message of another second, until TCP's buffer is full.
	 */
	if (!srnic_stream_unacked(qp->stream))
		srnic_tx_put_frag(qp->tx);
	tx_leave_frag(qp);
	tx_disown(qp);
}

/* An owner other than the kthread ends, and leaves the kthread the rest */
static void tx_pass(struct srnic_qp *qp)
{
	tx_enable_doorbell(qp);
	tx_leave_frag(qp);
	/* the kthread does work beyond the budget, and the end */
	if (tx_has_work(qp))
		set_bit(SRNIC_QPF_TX_KICK, &qp->flags);
	tx_disown(qp);
}

/* The kthread takes over. NEED_WAKEUP is clear: it looks at the ring by itself */
static void tx_hand_over(struct srnic_qp *qp)
{
	set_bit(SRNIC_QPF_TX_KICK, &qp->flags);
	tx_disown(qp);
}

/**
 * srnic_tx_begins - the first turn of a stream (srnic_qp_attach(), owner of tx)
 * @qp: with a stream; TX_OWNED is set
 *
 * Sends the RTR and what was posted before, without waiting for memory that a WR names, and lets tx
 * go: afterwards the stream may end at any time. Context: process, may sleep, never for room or for
 * the peer.
 */
void srnic_tx_begins(struct srnic_qp *qp)
{
	unsigned int before = srnic_noio_begin(qp->noio);

	clear_bit(SRNIC_QPF_TX_KICK, &qp->flags);
	smp_mb__after_atomic();	/* clear the kick, then look for what it announced */
	if (qp->policy.inline_work && tx_may_stage(qp)) {
		tx_stage_posted(qp);
		tx_push(qp);
	}
	srnic_noio_end(before);
	/* a program that connects many QPs may not use them for long */
	srnic_tx_put_frag(qp->tx);
	tx_pass(qp);
}

/**
 * srnic_tx_opens - this end may send from now on (owner of rx)
 * @qp: with a stream
 *
 * From now on posts ring the doorbell. What was posted before is left to the kthread. Context:
 * the owner of rx, in process or softirq.
 */
void srnic_tx_opens(struct srnic_qp *qp)
{
	set_bit(SRNIC_QPF_TX_OPEN, &qp->flags);
	if (tx_own(qp)) {
		tx_disable_doorbell(qp);
		tx_pass(qp);
	} else {
		srnic_qp_kick_tx(qp);
	}
}

/**
 * srnic_tx_doorbell - a program has posted something (its doorbell call)
 * @qp: alive, with a stream or without
 *
 * Sends it at once, within the budget of a doorbell, if tx has no owner; else kicks the kthread.
 * The kthread takes over for a burst, or to help.
 * Context: process, may sleep, never for room or for the peer.
 */
void srnic_tx_doorbell(struct srnic_qp *qp)
{
	bool hands_over;
	u32 from, bytes;

	if (!qp->policy.inline_work || !tx_own_soon(qp)) {
		srnic_qp_kick_tx(qp);
		return;
	}
	tx_disable_doorbell(qp);
	hands_over = srnic_tx_help_begins(qp);
	if (!hands_over) {
		from = srnic_stream_taken(qp->stream);
		tx_run(qp, TX_INLINE);
		bytes = srnic_stream_taken(qp->stream) - from;
		srnic_tx_has_rung(qp, bytes);
		tx_heed(qp);
		hands_over = srnic_tx_burst_begins(qp, bytes);
	}
	if (hands_over)
		tx_hand_over(qp);
	else
		tx_pass(qp);
}

static void push(void *arg)
{
	tx_push(arg);
}

/* For a kernel consumer's post, see there (owner of tx, with softirqs off) */
static void tx_post(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;

	if (!tx_may_stage(qp) || tx->batch->len || tx->responding || !srnic_irq_empty(qp))
		return;
	tx->locked = true;
	tx_stage_posted(qp);
	/* whoever has the socket does not know of the batch: the kthread is to send it */
	if (!tx->batch->len)
		tx_push(qp);	/* local WRs alone */
	else if (!srnic_stream_try_call(qp->stream, push, qp))
		set_bit(SRNIC_QPF_WRITE_SPACE, &qp->flags);
	tx->locked = false;
}

/*
 * Is one request under way at most, if the QP's Sends are requests and answers (owner of tx)? Both
 * ends have sent as many before a request, and before an answer the peer has sent one more. After a
 * Send that nobody answers, such as the RTR, it never is.
 */
static bool tx_one_at_a_time(const struct srnic_qp *qp)
{
	return READ_ONCE(qp->rx->msn[DDP_QN_SEND]) - qp->tx->msn[DDP_QN_SEND] <= 1;
}

/*
 * Has the poster more to do than this (owner of tx)? The task has not slept since the last post to
 * this QP that found tx free, or a disk completes many requests in one softirq. Then the kthread
 * sends meanwhile, maybe on another CPU, and several messages at once. But the answer to the only
 * request may come before the task sleeps: whoever waits for each sleeps now and then, unless it
 * polls, and a CPU that was idle has nothing else to do. Tasks that post at the same time cost a
 * wrong choice.
 */
static bool tx_poster_is_busy(struct srnic_qp *qp)
{
	struct srnic_poster *poster = &qp->tx->poster;
	bool slept = poster->task != current || poster->slept != current->nvcsw;
	bool one = tx_one_at_a_time(qp);

	poster->task = current;
	poster->slept = current->nvcsw;
	poster->awake = slept || (one && is_idle_task(current)) ? 0 : poster->awake + 1;
	return poster->awake > (one ? SRNIC_POSTER_AWAKE : 0);
}

/**
 * srnic_tx_post - send what a kernel consumer has posted, if that can be done at once
 * @qp: of a kernel consumer, alive, with a stream or without
 *
 * Sends some FPDUs, see srnic_tx_has_room(), without waiting, if inline_work is on, tx has no
 * owner, no response is in the middle, nothing waits for room or for an answer, no other task waits
 * for the CPU, and this one has not more to do. The kthread is kicked for the rest, and what it was
 * kicked for goes first.
 *
 * The consumer may have locks of its own, which its handler of completions may take. So its CQ has
 * to be one of ib_alloc_cq(), which alone sets wc: the handler is the RDMA core's then, and leaves
 * all else to a softirq or a work. Softirqs are off until tx is let go: what they bring for this QP
 * would have to be left to the kthread meanwhile. With PREEMPT_RT they would run under the
 * consumer's locks. Context: any.
 *
 * Return: false if nothing was done, and srnic_qp_doorbell() is due.
 */
bool srnic_tx_post(struct srnic_qp *qp)
{
	bool own;

	smp_mb();	/* index, then flags; see tx_enable_doorbell() and sq_flush() */
	if (READ_ONCE(qp->sq_flushing) || !READ_ONCE(qp->sq_wakeup) || !qp->policy.inline_work ||
	    !qp->scq->ibcq.wc || irqs_disabled() || IS_ENABLED(CONFIG_PREEMPT_RT) ||
	    test_bit(SRNIC_QPF_TX_KICK, &qp->flags) || need_resched())
		return false;
	local_bh_disable();
	own = tx_own(qp);
	if (own) {
		tx_disable_doorbell(qp);
		if (tx_poster_is_busy(qp)) {
			tx_hand_over(qp);
		} else {
			tx_post(qp);
			tx_pass(qp);
		}
	}
	local_bh_enable();
	return own;
}

/* Is the oldest request a Read of @room bytes at most? Then its bytes are taken from @room. */
static bool tx_small_read(struct srnic_qp *qp, u32 *room)
{
	struct srnic_inbound in;

	if (!srnic_irq_head(qp, &in) || in.opcode != RDMAP_READ_REQUEST || in.read.size > *room)
		return false;
	*room -= in.read.size;
	return true;
}

/*
 * Has an answer left something to the kthread? It has not looked at the SQ: posts ring the
 * doorbell, or tx waits for room or a response, which kicks.
 */
static bool tx_answer_left(struct srnic_qp *qp)
{
	const struct srnic_tx *tx = qp->tx;

	if (!tx_running(qp) || test_bit(SRNIC_QPF_FIN, &qp->flags))
		return true;
	if (tx->batch->len)
		return test_bit(SRNIC_QPF_WRITE_SPACE, &qp->flags);
	return tx->responding || !srnic_irq_empty(qp) || tx_has_ack(qp);
}

/**
 * srnic_tx_answer - answer what the peer has asked for, and acknowledge (owner of rx)
 * @qp: with a stream
 *
 * In softirq, sends the responses of Reads of TX_ANSWER bytes in all at once, and the
 * acknowledgment that is due, if tx has no owner, no other message is in the middle and nothing
 * waits for room. All else is left to the kthread, which is kicked, or the acknowledgment to the
 * owner of tx. Posts ring the doorbell meanwhile, if they did before.
 * Context: the owner of rx: softirq, or a task that has the socket or processes its backlog.
 */
void srnic_tx_answer(struct srnic_qp *qp)
{
	bool requests = !srnic_irq_empty(qp);
	struct srnic_tx *tx = qp->tx;
	u32 room = TX_ANSWER;

	tx_ack_later(qp);
	if (!requests && !srnic_ack_asked(qp))
		return;
	if (srnic_stream_is_owned(qp->stream) || !tx_own(qp)) {
		if (requests)
			srnic_qp_kick_tx(qp);
		else
			tx_leave_ack(qp);
		return;
	}
	set_bit(SRNIC_QPF_TX_ANSWERS, &qp->flags);
	if (!tx->rtr_due && !tx->responding && !tx->batch->len && !tx->cut &&
	    !srnic_tx_wr_begun(tx)) {
		tx->locked = true;
		srnic_tx_begin(qp);
		/* stop at a request that fails, or whose access has to sleep */
		while (tx_running(qp) && !tx->responding && tx_small_read(qp, &room) &&
		       srnic_tx_has_room(qp))
			srnic_tx_stage_response(qp);
		if (tx_running(qp) && !tx->responding && srnic_ack_due(qp) &&
		    srnic_tx_has_room(qp))
			srnic_ack_stage(qp);
		srnic_tx_let_go(tx);
		tx_push(qp);
		tx->locked = false;
	}
	clear_bit(SRNIC_QPF_TX_ANSWERS, &qp->flags);
	tx_leave_frag(qp);
	if (tx_answer_left(qp))
		set_bit(SRNIC_QPF_TX_KICK, &qp->flags);
	tx_disown(qp);
}

/**
 * srnic_tx_acknowledge - acknowledge what was delivered (rx kthread)
 * @qp: with a stream; the socket is not locked
 *
 * As a doorbell does, if tx has no owner. Context: the rx kthread, may sleep, never for room or for
 * the peer.
 */
void srnic_tx_acknowledge(struct srnic_qp *qp)
{
	tx_ack_later(qp);
	if (!srnic_ack_asked(qp))
		return;
	if (!qp->policy.inline_work) {
		srnic_qp_kick_tx(qp);
		return;
	}
	if (!tx_own(qp)) {
		tx_leave_ack(qp);
		return;
	}
	tx_disable_doorbell(qp);
	tx_run(qp, 1);
	tx_pass(qp);
}

static void answer(void *arg)
{
	srnic_tx_answer(arg);
}

/* As softirq does: see tx_stage_posted(). A task that has the socket may wait for memory, too. */
static void ack_late(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(to_delayed_work(work), struct srnic_qp, ack_late);

	if (!srnic_ack_due(qp))
		return;
	set_bit(SRNIC_QPF_ACK_ASKED, &qp->flags);
	if (!qp->policy.inline_work)
		srnic_qp_kick_tx(qp);
	else if (!srnic_stream_call(qp->stream, answer, qp))
		tx_leave_ack(qp);
}

/**
 * srnic_tx_prepare - prepare what is done later for the QP's streams
 * @qp: being created
 * Context: process.
 */
void srnic_tx_prepare(struct srnic_qp *qp)
{
	INIT_DELAYED_WORK(&qp->ack_late, ack_late);
	INIT_DELAYED_WORK(&qp->frag_due, frag_due);
}

/* ----- the tx kthread ----- */

static bool tx_kicked(struct srnic_qp *qp)
{
	return test_bit(SRNIC_QPF_TX_KICK, &qp->flags) && tx_own(qp);
}

/* Let others own tx, until there is something to do for the kthread */
static void tx_sleep(struct srnic_qp *qp)
{
	/* no kick comes when Closing takes too long */
	long patience = srnic_qp_state(qp) == SRNIC_QP_CLOSING ? HZ / 2 : MAX_SCHEDULE_TIMEOUT;

	tx_enable_doorbell(qp);
	tx_leave_frag(qp);
	if (!tx_has_work(qp)) {
		srnic_tx_help_ends(qp);
		tx_disown(qp);
		while (!wait_event_idle_timeout(qp->tx_wait, tx_kicked(qp), patience) &&
		       !tx_own(qp))
			;
	}
	tx_disable_doorbell(qp);
}

/* Short of memory the QP waits: that is no error of its WRs or its stream */
static void tx_starve(struct srnic_qp *qp)
{
	srnic_count(qp->dev, SRNIC_CNT_TX_NO_MEMORY);
	schedule_timeout_idle(HZ / 50);
}

/*
 * The peer closed its direction. With nothing under way here that is the
 * normal end (ST-17), else it came too early (ST-18).
 */
static void tx_peer_closed(struct srnic_qp *qp)
{
	if (tx_quiet(qp) && !srnic_orq_count(qp))
		srnic_qp_leave(qp, SRNIC_QP_CLOSING, SRNIC_EV_NONE);
	else
		srnic_qp_fail(qp, RDMAP_E_BAD_CLOSE, NULL, 0, false);
}

/* All that was sent is marked done. Return: whether the stream is to be wound down. */
static bool tx_is_over(struct srnic_qp *qp)
{
	if (test_bit(SRNIC_QPF_FIN, &qp->flags) && srnic_qp_state(qp) == SRNIC_QP_RTS)
		tx_peer_closed(qp);
	if (srnic_qp_state(qp) == SRNIC_QP_CLOSING)
		return tx_quiet(qp) || test_bit(SRNIC_QPF_FIN, &qp->flags) ||
		       srnic_close_overdue(qp);
	return !tx_running(qp);
}

/* Neither kthread exists. See srnic_tx_wind_down() */
static enum srnic_wind tx_wind_down(struct srnic_qp *qp)
{
	if (!srnic_rx_ends(qp))
		return SRNIC_WIND_KTHREADS;
	/* after FIN nothing more is sent */
	if (!test_bit(SRNIC_QPF_FIN_SENT, &qp->flags)) {
		/* a message may have to wait for its memory, see tx_stage_posted() */
		if (tx_push(qp) && tx_may_stage(qp))
			return SRNIC_WIND_KTHREADS;
		if (!tx_is_over(qp))
			return SRNIC_WIND_KTHREADS;
	}
	return srnic_close_at_once(qp);
}

/**
 * srnic_tx_wind_down - end a stream without kthreads, as far as nothing has to be waited for
 * @qp: with a stream, and without kthreads
 *
 * Most QPs need no kthreads before their end, and few do for it. From the FIN on the caller owns tx
 * until the stream is gone, or the kthreads are to take over. Context: the work that makes the
 * kthreads. Return: what is to be done.
 */
enum srnic_wind srnic_tx_wind_down(struct srnic_qp *qp)
{
	enum srnic_wind done;
	unsigned int before;

	/* a program may have its own socket locked for long */
	if (qp->stream->file || (srnic_qp_state(qp) == SRNIC_QP_RTS &&
				 srnic_stream_state(qp->stream) == SRNIC_STREAM_UP))
		return SRNIC_WIND_KTHREADS;
	if (!test_bit(SRNIC_QPF_FIN_SENT, &qp->flags) && !tx_own(qp))
		return SRNIC_WIND_KTHREADS;
	before = srnic_noio_begin(qp->noio);
	tx_disable_doorbell(qp);
	clear_bit(SRNIC_QPF_TX_KICK, &qp->flags);
	clear_bit(SRNIC_QPF_DATA, &qp->flags);
	smp_mb__after_atomic();	/* clear the kicks, then look for what they announced */
	done = tx_wind_down(qp);
	if (done == SRNIC_WIND_KTHREADS) {
		set_bit(SRNIC_QPF_TX_KICK, &qp->flags);
		set_bit(SRNIC_QPF_DATA, &qp->flags);
		tx_disown(qp);
	}
	srnic_noio_end(before);
	return done;
}

/**
 * srnic_tx_ends - end a stream that has no tx kthread
 * @qp: with a stream, in Error; a kick is due
 *
 * Waits until tx has no owner, then calls srnic_close(). Context: the work that could not make
 * the kthreads.
 */
void srnic_tx_ends(struct srnic_qp *qp)
{
	wait_event_idle(qp->tx_wait, tx_kicked(qp));
	srnic_close(qp);
}

/**
 * srnic_tx_thread - the tx kthread of a QP
 * @arg: the QP, with a stream
 *
 * Context: the tx kthread. Works while the QP is in RTS, or in Closing with WRs left that were
 * posted before; then winds the stream down and ends by itself. It does not let tx go then, so
 * that no doorbell can own it.
 *
 * Return: does not; completes qp->tx_exit.
 */
int srnic_tx_thread(void *arg)
{
	struct srnic_qp *qp = arg;

	srnic_kthread_begins(qp);
	wait_event_idle(qp->tx_wait, tx_kicked(qp));
	tx_disable_doorbell(qp);
	for (;;) {
		clear_bit(SRNIC_QPF_TX_KICK, &qp->flags);
		clear_bit(SRNIC_QPF_TX_ACK, &qp->flags);
		smp_mb__after_atomic();	/* clear the kick, then look for what it announced */
		srnic_tx_help_runs(qp);
		qp->tx->starved = false;
		tx_run(qp, 1);
		if (tx_is_over(qp))
			break;
		if (qp->tx->starved)
			tx_starve(qp);
		else if (!srnic_tx_nap(qp))
			tx_sleep(qp);
		cond_resched();
	}
	srnic_close(qp);
	kthread_complete_and_exit(&qp->tx_exit, 0);
}
