// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Help for a program that sends much on several QPs. A doorbell copies what it sends, and on one
 * host it receives it, too: a thread that serves several QPs, one doorbell after the other, has no
 * use for more than its own CPU. So where its doorbells take more time than what is between them,
 * the tx kthread of one QP takes over, and runs beside the doorbells of the others. It sends what
 * is posted meanwhile, without doorbells, until nothing is left.
 *
 * QPs whose send WRs complete to the same CQ are taken for those of one thread. One QP alone gets
 * no help: its doorbell and its kthread would take turns, and each message would wait for a task.
 * A real-time thread has none, since it may have the kthread's CPU for itself.
 *
 * Nothing tells a module which CPUs are idle. Where a kthread has had to wait for one, the thread
 * does without help for a while.
 */

#include <linux/ktime.h>
#include <linux/sched/rt.h>
#include "engine/tx.h"
#include "queue/cq.h"

/* A doorbell that sends as many bytes sends much */
#define HELP_LEAST	(32 * 1024)
/* ns from one doorbell that sends much to the next, of a thread that does little else */
#define HELP_SOON	(100 * NSEC_PER_USEC)
/* ns until a kthread runs, if a CPU is idle */
#define HELP_WAKE	(200 * NSEC_PER_USEC)
/* After one that was later there is no help for so many times as long as it took */
#define HELP_ALONE	8

/**
 * srnic_tx_help_begins - is the tx kthread to take over? (owner of tx, in a doorbell)
 * @qp: with a stream
 *
 * If the QP's last messages were large, and the thread has just sent as much on another QP; if it
 * is not real-time, and no kthread was late a while ago; and if fewer kthreads help it than
 * there are other CPUs. Context: the owner of tx, in process.
 *
 * Return: true if so; srnic_tx_help_ends() is due when nothing is left to send, or
 * srnic_tx_help_is_over() when the stream ends.
 */
bool srnic_tx_help_begins(struct srnic_qp *qp)
{
	struct srnic_help *help = &qp->scq->help;
	struct srnic_tx *tx = qp->tx;
	u64 now;

	if (!tx->much || tx->helped || READ_ONCE(help->qpn) == qp->ibqp.qp_num)
		return false;
	if (rt_task(current))
		return false;
	now = ktime_get_ns();
	if (now > READ_ONCE(help->soon) || now < READ_ONCE(help->alone))
		return false;
	if (atomic_inc_return(&help->kthreads) >= num_online_cpus()) {
		atomic_dec(&help->kthreads);
		return false;
	}
	tx->helped = true;
	tx->help_asked = now;
	tx->help_from = srnic_stream_taken(qp->stream);
	return true;
}

/**
 * srnic_tx_help_runs - a kthread that was to take over has begun (tx kthread, owner of tx)
 * @qp: with a stream
 * Context: the tx kthread.
 */
void srnic_tx_help_runs(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	u64 now, took;

	if (!tx->helped || !tx->help_asked)
		return;
	now = ktime_get_ns();
	took = now - tx->help_asked;
	if (took > HELP_WAKE)
		WRITE_ONCE(qp->scq->help.alone, now + HELP_ALONE * took);
	tx->help_asked = 0;
}

/**
 * srnic_tx_help_ends - nothing is left to send (tx kthread, owner of tx)
 * @qp: with a stream
 * Context: the tx kthread.
 */
void srnic_tx_help_ends(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;

	if (!tx->helped)
		return;
	tx->much = srnic_stream_taken(qp->stream) - tx->help_from >= HELP_LEAST;
	srnic_tx_help_is_over(qp);
}

/**
 * srnic_tx_help_is_over - the tx kthread does not work beside doorbells any more
 * @qp: with a stream
 * Context: the owner of tx, in process.
 */
void srnic_tx_help_is_over(struct srnic_qp *qp)
{
	if (qp->tx->helped)
		atomic_dec(&qp->scq->help.kthreads);
	qp->tx->helped = false;
}

/**
 * srnic_tx_has_rung - a doorbell has done its work (owner of tx)
 * @qp: with a stream
 * @bytes: that it has sent
 * Context: the owner of tx, in process.
 */
void srnic_tx_has_rung(struct srnic_qp *qp, u32 bytes)
{
	struct srnic_help *help = &qp->scq->help;

	qp->tx->much = bytes >= HELP_LEAST;
	if (!qp->tx->much)
		return;
	WRITE_ONCE(help->qpn, qp->ibqp.qp_num);
	WRITE_ONCE(help->soon, ktime_get_ns() + HELP_SOON);
}
