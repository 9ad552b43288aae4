// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The kthreads of a stream, and its beginning. To make two kthreads takes as long as all the
 * rest of a connection, and many a QP needs none before its end: doorbells and softirq do the
 * work. So they are made, by a work, when one of them is kicked for the first time. Until
 * then SRNIC_QPF_NO_KTHREADS is set.
 */

#include <linux/kthread.h>
#include <linux/sched.h>
#include "engine/kthreads.h"
#include "engine/rx.h"
#include "engine/tx.h"
#include "srnic.h"

static struct workqueue_struct *kthreads_wq;

/*
 * A kernel consumer may be a disk: memory may be short when it needs them. Without inline work
 * they do everything.
 */
static bool wanted_at_once(const struct srnic_qp *qp)
{
	return qp->kernel || !qp->inline_work || test_bit(SRNIC_QPF_DATA, &qp->flags);
}

/**
 * srnic_engine_start - begin with a stream (who attaches it, the owner of tx)
 * @qp: in RTS, with a stream whose callbacks are the QP's
 *
 * Takes what has come, sends the RTR and what was posted. Afterwards the stream may end at any
 * time. May sleep, but not for the peer.
 */
void srnic_engine_start(struct srnic_qp *qp)
{
	srnic_rx_begins(qp);
	/* a kick up to here has left its bit; tx, which is not let go yet, keeps the stream */
	set_bit(SRNIC_QPF_NO_KTHREADS, &qp->flags);
	if (wanted_at_once(qp))
		srnic_qp_want_kthreads(qp);
	srnic_tx_begins(qp);
}

static struct task_struct *make(struct srnic_qp *qp, int (*fn)(void *), const char *dir)
{
	return kthread_create(fn, qp, "srnic-%s/%u", dir, qp->ibqp.qp_num);
}

/**
 * srnic_kthread_begins - a kthread of a QP is about to begin its work
 * @qp: with a stream
 *
 * It works for whoever made the QP, and takes no more of a CPU from others than that task
 * would. Others wait for what a kernel consumer's does, for a moment each time: programs that
 * poll on all CPUs must not keep it from that for a tick.
 */
void srnic_kthread_begins(const struct srnic_qp *qp)
{
	set_user_nice(current, qp->nice);
}

/**
 * srnic_kthreads_failed - there is no memory for the kthreads: end the stream
 * @qp: with a stream
 *
 * The QP goes to Error, with an event. May sleep, but not for the peer.
 */
void srnic_kthreads_failed(struct srnic_qp *qp)
{
	srnic_count(qp->dev, SRNIC_CNT_NO_KTHREADS);
	srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_QP_CATASTROPHIC);
	srnic_tx_ends(qp);
	complete(&qp->tx_exit);
}

/* Once for each stream. The QP may be gone when its kthreads are awake. */
static void make_kthreads(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(work, struct srnic_qp, kthreads);
	struct task_struct *rx = make(qp, srnic_rx_thread, "rx");
	struct task_struct *tx = make(qp, srnic_tx_thread, "tx");

	if (!IS_ERR(rx) && !IS_ERR(tx)) {
		qp->rx_task = rx;
		wake_up_process(rx);
		wake_up_process(tx);
		return;
	}
	if (!IS_ERR(rx))
		kthread_stop(rx);
	if (!IS_ERR(tx))
		kthread_stop(tx);
	srnic_kthreads_failed(qp);
}

/**
 * srnic_kthreads_prepare - for the kthreads of the QP's streams
 * @qp: being created, by the task for which they are to work
 */
void srnic_kthreads_prepare(struct srnic_qp *qp)
{
	qp->nice = qp->kernel ? MIN_NICE : task_nice(current);
	INIT_WORK(&qp->kthreads, make_kthreads);
	qp->kthreads_wq = kthreads_wq;
}

/**
 * srnic_kthreads_init - at load of the module
 *
 * Return: 0 or -ENOMEM.
 */
int srnic_kthreads_init(void)
{
	/* a kernel consumer's kthreads are urgent, see srnic_kthread_begins() */
	kthreads_wq = alloc_workqueue("srnic_kthreads",
				      WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	return kthreads_wq ? 0 : -ENOMEM;
}

/**
 * srnic_kthreads_exit - at unload of the module
 *
 * There are no QPs any more.
 */
void srnic_kthreads_exit(void)
{
	destroy_workqueue(kthreads_wq);
}
