// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The start of a stream, its memory and its kthreads. Making two kthreads takes as long as the
 * rest of a connection's set-up, and many QPs need none before their end: doorbells and softirq
 * do the work. So a work makes them when one of them is kicked for the first time. Until then
 * SRNIC_QPF_NO_KTHREADS is set. If the stream is at its end then, the work winds it down by itself.
 */

#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include "engine/kthreads.h"
#include "engine/read.h"
#include "engine/rx.h"
#include "engine/stream.h"
#include "engine/tx.h"
#include "srnic.h"

/* Of QPs of programs, and of kernel consumers, whose kthreads are urgent, too */
static struct workqueue_struct *kthreads_wq, *urgent_wq;

/*
 * A kernel consumer may be a disk: memory may be short when it needs the kthreads. Without
 * inline work the kthreads do everything.
 */
static bool wanted_at_once(const struct srnic_qp *qp)
{
	return qp->kernel || !qp->policy.inline_work || test_bit(SRNIC_QPF_DATA, &qp->flags);
}

/**
 * srnic_engine_alloc - allocate what the two directions of a stream need
 * @qp: to be attached; mpa is set
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM; srnic_engine_free() is due in both cases.
 */
int srnic_engine_alloc(struct srnic_qp *qp)
{
	u32 irqs = roundup_pow_of_two(max_t(u32, qp->mpa.ird, 1));
	u32 orqs = roundup_pow_of_two(max_t(u32, qp->mpa.ord, 1));

	qp->irq_mask = irqs - 1;
	qp->irq_head = 0;
	qp->irq_tail = 0;
	qp->orq_mask = orqs - 1;
	qp->orq_head = 0;
	qp->orq_tail = 0;
	qp->orq_out = 0;
	qp->irq = kcalloc(irqs, sizeof(*qp->irq), GFP_KERNEL_ACCOUNT);
	qp->orq = kcalloc(orqs, sizeof(*qp->orq), GFP_KERNEL_ACCOUNT);
	qp->tx = srnic_tx_new(qp);
	qp->rx = srnic_rx_new(qp);
	return qp->irq && qp->orq && qp->tx && qp->rx ? 0 : -ENOMEM;
}

/**
 * srnic_engine_free - free what the two directions of a stream have, and the stream
 * @qp: nothing runs on the stream any more
 * Context: process, may sleep.
 */
void srnic_engine_free(struct srnic_qp *qp)
{
	srnic_stream_free(qp->stream);
	qp->stream = NULL;
	srnic_tx_free(qp->tx);
	qp->tx = NULL;
	srnic_rx_free(qp->rx);
	qp->rx = NULL;
	kfree(qp->irq);
	qp->irq = NULL;
	kfree(qp->orq);
	qp->orq = NULL;
}

static void write_space(void *priv)
{
	struct srnic_qp *qp = priv;

	set_bit(SRNIC_QPF_WRITE_SPACE, &qp->flags);
	srnic_qp_kick_tx(qp);
}

static void state_change(void *priv)
{
	/* the rx kthread checks the stream's state; the next send of the owner of tx fails */
	srnic_qp_kick_rx(priv);
	write_space(priv);
}

static const struct srnic_stream_ops engine_ops = {
	.received = srnic_rx_ready,
	.write_space = write_space,
	.state_change = state_change,
};

/**
 * srnic_engine_start - start the engine on a stream (srnic_qp_attach(), owner of tx)
 * @qp: in RTS, with a stream
 *
 * From now on the socket's callbacks are the engine's. Processes what was received, sends the
 * RTR and what was posted. Afterwards the stream may end at any time. Context: process, may
 * sleep, never for the peer.
 */
void srnic_engine_start(struct srnic_qp *qp)
{
	srnic_stream_hook(qp->stream, &engine_ops, qp);
	srnic_rx_begins(qp);
	/* a kick before this has left its bit; the stream cannot end while this task owns tx */
	set_bit(SRNIC_QPF_NO_KTHREADS, &qp->flags);
	smp_mb__after_atomic();	/* the bit, then the kicks; see srnic_qp_want_kthreads() */
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
 * The kthread works for the task that made the QP, and takes no more of a CPU from others than
 * that task would. Other tasks wait for the kthread of a kernel consumer, which runs for a
 * moment each time: programs that poll on all CPUs must not delay it for a tick. Its allocations
 * wait for I/O if the task's do. Context: a kthread of the QP.
 */
void srnic_kthread_begins(const struct srnic_qp *qp)
{
	srnic_noio_begin(qp->noio);
	set_user_nice(current, qp->nice);
}

/**
 * srnic_kthreads_failed - there is no memory for the kthreads: end the stream
 * @qp: with a stream
 *
 * The QP goes to Error, with an event; but what is in Terminate ends as it would have, with its
 * message and its reason. Context: process, may sleep, never for the peer.
 */
void srnic_kthreads_failed(struct srnic_qp *qp)
{
	srnic_count(qp->dev, SRNIC_CNT_NO_KTHREADS);
	/* from there, too, a QP may go to Error, and then sends no Terminate */
	if (srnic_qp_state(qp) == SRNIC_QP_TERMINATE)
		srnic_qp_kick_tx(qp);
	else
		srnic_qp_leave(qp, SRNIC_QP_ERROR, SRNIC_EV_QP_CATASTROPHIC);
	srnic_tx_ends(qp);
	complete(&qp->tx_exit);
}

/* As soon as they are awake the QP may be freed */
static void make_kthreads(struct srnic_qp *qp)
{
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

/* Return: false if a kick was left before the bit said that the next one queues the work */
static bool await_kick(struct srnic_qp *qp)
{
	long left = qp->close_deadline - jiffies;

	queue_delayed_work(qp->kthreads_wq, &qp->close_late, max(left, 0L) + 1);
	set_bit(SRNIC_QPF_NO_KTHREADS, &qp->flags);
	smp_mb__after_atomic();	/* the bit, then the kicks; see srnic_qp_want_kthreads() */
	return !(test_bit(SRNIC_QPF_TX_KICK, &qp->flags) || test_bit(SRNIC_QPF_DATA, &qp->flags)) ||
	       !test_and_clear_bit(SRNIC_QPF_NO_KTHREADS, &qp->flags);
}

/* A kthread of the stream was kicked, and there is none */
static void kicked(struct work_struct *work)
{
	struct srnic_qp *qp = container_of(work, struct srnic_qp, kthreads);
	enum srnic_wind done;

	do {
		done = srnic_tx_wind_down(qp);
	} while (done == SRNIC_WIND_WAITS && !await_kick(qp));
	if (done == SRNIC_WIND_WAITS)
		return;
	cancel_delayed_work_sync(&qp->close_late);
	if (done == SRNIC_WIND_KTHREADS)
		make_kthreads(qp);
	else
		complete(&qp->tx_exit);
}

static void close_late(struct work_struct *work)
{
	srnic_qp_kick_tx(container_of(to_delayed_work(work), struct srnic_qp, close_late));
}

/**
 * srnic_kthreads_prepare - prepare the kthreads of the QP's streams
 * @qp: being created, by the task that the kthreads will work for
 * Context: process.
 */
void srnic_kthreads_prepare(struct srnic_qp *qp)
{
	qp->nice = qp->kernel ? MIN_NICE : task_nice(current);
	qp->noio = qp->kernel || current->flags & PF_MEMALLOC_NOIO;
	INIT_WORK(&qp->kthreads, kicked);
	INIT_DELAYED_WORK(&qp->close_late, close_late);
	srnic_tx_prepare(qp);
	qp->kthreads_wq = qp->kernel ? urgent_wq : kthreads_wq;
}

/**
 * srnic_kthreads_init - at load of the module
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int srnic_kthreads_init(void)
{
	/* with the nice values of srnic_kthread_begins(), but for programs that are not at 0 */
	kthreads_wq = alloc_workqueue("srnic_kthreads", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	urgent_wq = alloc_workqueue("srnic_urgent", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (kthreads_wq && urgent_wq)
		return 0;
	srnic_kthreads_exit();
	return -ENOMEM;
}

/**
 * srnic_kthreads_exit - at unload of the module
 *
 * There are no QPs any more, or none yet. Context: process, may sleep.
 */
void srnic_kthreads_exit(void)
{
	if (kthreads_wq)
		destroy_workqueue(kthreads_wq);
	if (urgent_wq)
		destroy_workqueue(urgent_wq);
}
