// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A message for which no receive is posted. iWARP has no "receiver not ready", as
 * InfiniBand has, and ends the connection. What a receiver does with a stream that it
 * cannot place is its own matter, though (RFC 5041 7.1, SR-18): it may leave the message in
 * TCP's queue until a receive is posted. TCP's window then stops the sender.
 *
 * Nothing tells of a receive that is posted: programs write it into a ring. So the rx
 * kthread looks, at the intervals at which an InfiniBand sender would try again.
 */

#include <linux/delay.h>
#include "engine/rnr.h"
#include "engine/rx.h"
#include "srnic.h"

/* Looked again after so many us, where the program did not say; and at the latest */
#define RNR_USUAL_US	1000
#define RNR_MOST_US	20000

/**
 * srnic_rnr_timer_us - the RNR NAK timer (the RNR NAK Timer field of InfiniBand)
 * @timer: min_rnr_timer, 0 to 31
 *
 * Return: us.
 */
u32 srnic_rnr_timer_us(u8 timer)
{
	u32 i = timer ?: 32;

	return 10 * (i & 1 ? (3u << i / 2) / 2 : 1u << i / 2);
}

/* jiffies that a message may wait; 0: without end */
static unsigned long rnr_bound(const struct srnic_qp *qp)
{
	u8 retry = READ_ONCE(qp->ib.rnr_retry);

	if (!qp->ib.paired || retry == SRNIC_RNR_WITHOUT_END)
		return 0;
	return usecs_to_jiffies(retry * srnic_rnr_timer_us(READ_ONCE(qp->ib.min_rnr_timer))) + 1;
}

/**
 * srnic_rnr_waits - no receive is posted: may the message wait for one?
 * @qp: with a stream, whose socket is locked
 *
 * Of a paired QP it waits as long as an InfiniBand sender with its min_rnr_timer and
 * rnr_retry would try; of others without end, if the policy no_receive says so.
 *
 * Does not sleep.
 *
 * Return: true if it stays where it is; false if that is an error.
 */
bool srnic_rnr_waits(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;
	unsigned long bound;

	if (!qp->wait_recv)
		return false;
	if (!rx->rnr_since) {
		rx->rnr_since = jiffies ?: 1;
		srnic_count(qp->dev, SRNIC_CNT_RX_RNR);
	}
	bound = rnr_bound(qp);
	return !bound || time_before(jiffies, rx->rnr_since + bound);
}

/**
 * srnic_rnr_nap - let some time go until there may be a receive
 * @qp: with a message that waits for one
 *
 * Context: the rx kthread, without the socket. Sleeps.
 */
void srnic_rnr_nap(const struct srnic_qp *qp)
{
	u32 us = RNR_USUAL_US;

	if (qp->ib.paired)
		us = min(srnic_rnr_timer_us(READ_ONCE(qp->ib.min_rnr_timer)), RNR_MOST_US);
	usleep_range_state(us, us + us / 4, TASK_IDLE);
}
