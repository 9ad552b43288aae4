// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Acknowledgments. iWARP has none: a Send or a Write completes when TCP has it. To a program of
 * InfiniBand its completion says that the message is in place, or why it is not. So two QPs that
 * ib/ has connected may agree to acknowledge each other's messages (RDMAP_ACK): the number is that
 * of the messages delivered since the stream began, Sends, Writes and Immediate Data. An
 * acknowledgment is no message of this count, so none is acknowledged itself.
 *
 * One is due whenever rx has delivered messages. The sender asks for it in a message that somebody
 * waits for (RDMAP_ASK): then it is sent at the end of rx' turn, for all of them, between two
 * messages of tx. Else it goes with the next message of tx, in one segment of TCP, or after a tick
 * or two: nobody waits for an acknowledgment that was not asked for, and everybody gets it. The
 * last one goes before a Terminate, so that the first WR without an acknowledgment is the one that
 * the peer has refused; and before the FIN. queue/wq.c holds completions back until the number has
 * come.
 */

#include "engine/ack.h"
#include "queue/wq.h"
#include "srnic.h"

/**
 * srnic_ack_stage - stage the acknowledgment of all that was delivered (owner of tx)
 * @qp: with a stream that has acknowledgments; there is room, and no message is in the middle
 *
 * Context: the owner of tx, in process or softirq.
 */
void srnic_ack_stage(struct srnic_qp *qp)
{
	u32 qn = DDP_QN_ATOMIC_RESPONSE;
	struct srnic_tx *tx = qp->tx;
	struct ddp_hdr hdr = {
		.last = true,
		.version = qp->version,
		.ulp = rdmap_control(qp->version, RDMAP_ACK),
		.qn = qn,
		.msn = tx->msn[qn]++,
	};

	clear_bit(SRNIC_QPF_ACK_ASKED, &qp->flags);
	clear_bit(SRNIC_QPF_TX_ACK, &qp->flags);
	smp_mb__after_atomic();	/* clear the bits, then look for what they announced */
	/* pairs with rx_delivered(): the octets are in place */
	hdr.inv_stag = smp_load_acquire(&qp->rx->delivered);
	srnic_tx_header(qp, &hdr);
	srnic_tx_seal(qp, DDP_UNTAGGED_LEN);
	WRITE_ONCE(tx->acked, hdr.inv_stag);
	srnic_count_often(qp->dev, SRNIC_CNT_TX_ACK, 1);
}

/**
 * srnic_ack_fits - can the peer acknowledge this? (owner of rx)
 * @qp: with a stream that has acknowledgments
 * @number: of messages
 *
 * Each acknowledgment says something new, and not more than what was sent. Context: the owner of
 * rx, in process or softirq. Return: false if it is an error of the peer.
 */
bool srnic_ack_fits(const struct srnic_qp *qp, u32 number)
{
	return (s32)(number - qp->rx->ack_heard) > 0 &&
	       (s32)(READ_ONCE(qp->tx->messages) - number) >= 0;
}

/* The WRs of messages up to @number complete; tx may wait for that behind a fence */
static void ack_take(struct srnic_qp *qp, u32 number)
{
	srnic_sq_acked(qp, number);
	smp_mb();	/* sq_completed, then tx->blocked; see tx_enable_doorbell() */
	if (READ_ONCE(qp->tx->blocked) || srnic_qp_state(qp) != SRNIC_QP_RTS)
		srnic_qp_kick_tx(qp);
}

/**
 * srnic_ack_received - deliver an acknowledgment (owner of rx)
 * @qp: with a stream, whose socket is locked; the acknowledgment is the FPDU at hand, and fits
 * Context: the owner of rx, in process or softirq.
 */
void srnic_ack_received(struct srnic_qp *qp)
{
	struct srnic_rx *rx = qp->rx;

	rx->msn[DDP_QN_ATOMIC_RESPONSE]++;
	rx->ack_heard = rx->ddp.inv_stag;
	srnic_count_often(qp->dev, SRNIC_CNT_RX_ACK, 1);
	ack_take(qp, rx->ack_heard);
}

/**
 * srnic_ack_ahead - take an acknowledgment before its turn (owner of rx)
 * @qp: with a stream that has acknowledgments
 * @number: of one that is still in TCP's queue; it is ignored if it does not fit
 * Context: the owner of rx, in process.
 */
void srnic_ack_ahead(struct srnic_qp *qp, u32 number)
{
	if (srnic_ack_fits(qp, number))
		ack_take(qp, number);
}

#define ANY	(-1)
/* With this code and a quoted header: without one the Terminate is not about a message */
#define QUOTED	0x100

/* What a Terminate says of the message that it refuses; the first row that fits */
static const struct {
	u8 layer;
	int etype;
	int code;
	enum srnic_wc_status status;
} term_status[] = {
	{ 0, 1, ANY, SRNIC_WC_REMOTE_TERMINATION },	/* STag to invalidate, or of a Flush */
	{ 0, 2, 0x09, SRNIC_WC_REMOTE_TERMINATION },	/* likewise */
	{ 0, 2, 0x05, SRNIC_WC_REMOTE_REQUEST },	/* RDMAP version */
	{ 0, 2, 0x06, SRNIC_WC_REMOTE_REQUEST },	/* opcode */
	{ 0, 2, 0x07 | QUOTED, SRNIC_WC_REMOTE_REQUEST },	/* alignment */
	{ 0, 2, 0xff, SRNIC_WC_REMOTE_REQUEST },	/* length */
	{ 0, ANY, ANY, SRNIC_WC_REMOTE_OPERATION },
	{ 1, 1, ANY, SRNIC_WC_REMOTE_TERMINATION },	/* tagged: STag, bounds, PD, wrap */
	{ 1, 2, 0x02, SRNIC_WC_NO_RECEIVE },
	{ 1, 2, ANY, SRNIC_WC_REMOTE_REQUEST },		/* untagged: length and the rest */
	{ 2, ANY, ANY, SRNIC_WC_NO_PEER },		/* the LLP: CRC and the like */
};

static bool code_fits(int code, const struct rdmap_error *err)
{
	if (code == ANY)
		return true;
	if (code & QUOTED && !(err->hdrct & RDMAP_TERM_D))
		return false;
	return (code & 0xff) == err->code;
}

static enum srnic_wc_status status_of(const struct rdmap_error *err)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(term_status); i++)
		if (term_status[i].layer == err->layer &&
		    (term_status[i].etype == ANY || term_status[i].etype == err->etype) &&
		    code_fits(term_status[i].code, err))
			return term_status[i].status;
	return SRNIC_WC_REMOTE_OPERATION;
}

/**
 * srnic_ack_terminated - the peer has ended the stream, and not because of a Read or an atomic
 * @qp: with a stream
 * @term: the Terminate
 *
 * The first WR that is not complete carries the error then. Context: the owner of rx, in process or
 * softirq.
 *
 * Return: false if none carries it: on a stream without acknowledgments, or if all are complete.
 */
bool srnic_ack_terminated(struct srnic_qp *qp, const struct rdmap_term *term)
{
	return qp->acks && srnic_sq_fail_first(qp, status_of(&term->err));
}
