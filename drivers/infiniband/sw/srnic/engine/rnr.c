// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A message for which no receive is posted. iWARP has no "receiver not ready", as
 * InfiniBand has. But a receiver may decide what it does with a stream that it cannot place
 * (RFC 5041 7.1, SR-18): it leaves the message in TCP's queue until a receive is posted, for
 * a time. TCP's window then stops the sender. When the time is over the connection ends.
 *
 * The rx kthread sleeps until then. A post to an RQ rings the doorbell if NEED_WAKEUP is set.
 * A program's post to an SRQ rings none. Of the QPs that wait for the SRQ the first one polls it,
 * after naps that grow; when its wait ends it wakes the next one, which polls from then on.
 */

#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include "engine/rnr.h"
#include "engine/rx.h"
#include "engine/stream.h"
#include "queue/srq.h"
#include "queue/wq.h"
#include "srnic.h"

/* The first nap between two looks at an SRQ, and the longest one; us */
#define RNR_NAP_US	1000
#define RNR_NAP_MOST_US	20000

/**
 * srnic_rnr_timer_us - the RNR NAK timer (the RNR NAK Timer field of InfiniBand)
 * @timer: min_rnr_timer, 0 to 31
 *
 * Context: any.
 * Return: us.
 */
u32 srnic_rnr_timer_us(u8 timer)
{
	u32 i = timer ?: 32;

	return 10 * (i & 1 ? (3u << i / 2) / 2 : 1u << i / 2);
}

/**
 * srnic_ib_retry_us - for how long an InfiniBand sender tries to reach its peer
 * @qp: alive
 *
 * Once, and retry_cnt times more, each time for 4.096 us x 2^timeout.
 * Context: any.
 * Return: us; 0: without end.
 */
u64 srnic_ib_retry_us(const struct srnic_qp *qp)
{
	u8 timeout = READ_ONCE(qp->ib.timeout);

	return timeout ? (4096ULL << timeout) * (READ_ONCE(qp->ib.retry_cnt) + 1) / 1000 : 0;
}

/* jiffies that a message may wait, if it may; 0: without end */
static unsigned long rnr_bound(const struct srnic_qp *qp)
{
	bool paired = smp_load_acquire(&qp->ib.paired);	/* set after rnr_retry */
	u8 retry = READ_ONCE(qp->ib.rnr_retry);

	if (!paired)
		return qp->policy.no_receive == SRNIC_FOREVER ? 0 :
		       (unsigned long)qp->policy.no_receive * HZ;
	if (retry == SRNIC_RNR_WITHOUT_END)
		return 0;
	return usecs_to_jiffies(retry * srnic_rnr_timer_us(READ_ONCE(qp->ib.min_rnr_timer))) + 1;
}

/**
 * srnic_rnr_waits - no receive is posted: may the message wait for one?
 * @qp: with a stream, whose socket is locked
 *
 * On a paired QP it waits as long as an InfiniBand sender with its min_rnr_timer and
 * rnr_retry would retry; on others as long as no_receive says, which the policy or the program
 * has set.
 *
 * Context: the owner of rx, in process or softirq.
 *
 * Return: true if the message waits; false if the missing receive is an error.
 */
bool srnic_rnr_waits(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	unsigned long bound;

	if (!qp->policy.no_receive)
		return false;
	if (!rx->rnr_since) {
		rx->rnr_since = jiffies ?: 1;
		srnic_count(qp->dev, SRNIC_CNT_RX_RNR);
	}
	bound = rnr_bound(qp);
	return !bound || time_before(jiffies, rx->rnr_since + bound);
}

/* jiffies that the message may still wait; 0: none */
static long rnr_left(const struct srnic_qp *qp)
{
	unsigned long bound = rnr_bound(qp);

	if (!bound)
		return MAX_SCHEDULE_TIMEOUT;
	return max_t(long, qp->rx->rnr_since + bound - jiffies, 0);
}

/* Does the wait go on? Nothing of the stream can be taken before there is a receive. */
static bool rnr_goes_on(struct srnic_qp *qp)
{
	enum srnic_qp_state state = srnic_qp_state(qp);
	enum srnic_stream_state stream = srnic_stream_state(qp->stream);

	return !kthread_should_stop() &&
	       (state == SRNIC_QP_RTS || state == SRNIC_QP_CLOSING) &&
	       !test_bit(SRNIC_QPF_FIN_SENT, &qp->flags) &&
	       stream != SRNIC_STREAM_RESET && stream != SRNIC_STREAM_LOST &&
	       rnr_left(qp) && srnic_rq_is_empty(qp);
}

/* Sleep until the next kick. Data behind the message kicks, too, but does not end the wait. */
static void rnr_sleep(struct srnic_qp *qp)
{
	wait_event_idle_timeout(qp->rx_wait,
				test_bit(SRNIC_QPF_DATA, &qp->flags) || kthread_should_stop(),
				rnr_left(qp));
	clear_bit(SRNIC_QPF_DATA, &qp->flags);
	smp_mb__after_atomic();	/* clear the flag, then look */
}

/* kthread_stop() ends the nap: the QPs of a device that is deleted end one after the other */
static void rnr_nap(u32 us)
{
	ktime_t time = ns_to_ktime(us * NSEC_PER_USEC);

	set_current_state(TASK_IDLE);
	if (!kthread_should_stop())
		schedule_hrtimeout_range(&time, us * NSEC_PER_USEC / 4, HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
}

/**
 * srnic_rnr_wait - sleep until a receive may be posted, the time is over, or the stream ends
 * @qp: with a message that waits for one
 *
 * Context: the rx kthread; the socket is not locked. Sleeps.
 */
void srnic_rnr_wait(struct srnic_qp *qp)
{
	u32 nap = RNR_NAP_US;

	srnic_rq_await(qp);
	while (rnr_goes_on(qp)) {
		srnic_rx_look_ahead(qp);
		if (!qp->srq || !srnic_srq_is_first(qp)) {
			rnr_sleep(qp);
			continue;
		}
		rnr_nap(nap);
		nap = min_t(u32, 2 * nap, RNR_NAP_MOST_US);
	}
	srnic_rq_await_end(qp);
}
