// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bursts of small messages. Each doorbell costs a system call, a segment and an interrupt.
 * Where a program posts one message after the other, and the peer does not answer in between,
 * the tx kthread takes over: it keeps tx, so that posts need no doorbell, polls the ring after
 * each nap, and sends all that has gathered in one batch. As with interrupt moderation, a
 * message waits for a nap at most, and the CPU does not spin.
 *
 * A message that is answered never waits: an answer ends the run of doorbells that a burst
 * takes. Where naps gather little, the next burst takes a longer run.
 */

#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/wait.h>
#include "engine/rx.h"
#include "engine/tx.h"

/* A run is BURST_RUN doorbells at first, BURST_RUN_MAX at most... */
#define BURST_RUN	16
#define BURST_RUN_MAX	64
/* ... of which each takes BURST_PACE ns at most on average... */
#define BURST_PACE	(100 * NSEC_PER_USEC)
/* ... and sends BURST_SMALL bytes at most */
#define BURST_SMALL	1024
/* ns until the kthread looks again; the timer may be a little later */
#define BURST_NAP	(20 * NSEC_PER_USEC)
/* A burst ends after BURST_POOR naps in a row that gathered fewer WRs than BURST_LEAST */
#define BURST_LEAST	4
#define BURST_POOR	2
/* A burst of more naps than this was worth while */
#define BURST_GOOD	16

static void run_begins(struct srnic_tx *tx, u32 heard)
{
	tx->burst.rings = 0;
	tx->burst.heard = heard;
}

/**
 * srnic_tx_burst_begins - does a burst begin? (owner of tx, in a doorbell)
 * @qp: with a stream
 * @bytes: that the doorbell has sent
 *
 * Context: the owner of tx, in process.
 * Return: true if the kthread is to take over.
 */
bool srnic_tx_burst_begins(struct srnic_qp *qp, u32 bytes)
{
	struct srnic_tx *tx = qp->tx;
	u32 heard = READ_ONCE(qp->rx->heard);
	u32 run = max_t(u32, tx->burst.run, BURST_RUN);
	u64 now;

	if (!bytes || bytes > BURST_SMALL || heard != tx->burst.heard) {
		run_begins(tx, heard);
		return false;
	}
	if (!tx->burst.rings++)
		tx->burst.since = ktime_get_ns();
	if (tx->burst.rings < run)
		return false;
	now = ktime_get_ns();
	run_begins(tx, heard);
	/* without high-resolution timers a nap would take a tick */
	if (now - tx->burst.since > (u64)run * BURST_PACE || hrtimer_resolution > BURST_NAP)
		return false;
	tx->burst.naps = 0;
	tx->burst.poor = 0;
	tx->burst.from = tx->staged;
	tx->burst.on = true;
	return true;
}

static void burst_ends(struct srnic_tx *tx, u32 heard)
{
	tx->burst.on = false;
	run_begins(tx, heard);
	tx->burst.run = tx->burst.naps > BURST_GOOD ? BURST_RUN :
		min_t(u32, 2 * max_t(u32, tx->burst.run, BURST_RUN), BURST_RUN_MAX);
}

/**
 * srnic_tx_nap - in a burst, let WRs gather (tx kthread, owner of tx)
 * @qp: with a stream, with nothing left to do
 *
 * Context: the tx kthread. Sleeps for some tens of microseconds, or until it is kicked.
 *
 * Return: false if the burst is over, and the kthread is to let tx go.
 */
bool srnic_tx_nap(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;

	if (!tx->burst.on)
		return false;
	if (tx->burst.naps++)
		tx->burst.poor = tx->staged - tx->burst.from < BURST_LEAST ?
				 tx->burst.poor + 1 : 0;
	if (tx->burst.poor == BURST_POOR) {
		burst_ends(tx, READ_ONCE(qp->rx->heard));
		return false;
	}
	tx->burst.from = tx->staged;
	/* TASK_IDLE, so that the kthread does not count as load */
	__wait_event_hrtimeout(qp->tx_wait, test_bit(SRNIC_QPF_TX_KICK, &qp->flags),
			       ns_to_ktime(BURST_NAP), TASK_IDLE);
	return true;
}
