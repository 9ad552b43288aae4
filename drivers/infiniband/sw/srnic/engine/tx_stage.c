// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Staging: FPDUs are made in pages of our own, of which TCP then gets references. Each is
 * complete, contiguous, and as long as a TCP segment at most, unless the peer has agreed on large
 * FPDUs: these cost both ends less, since there are fewer of them.
 *
 * Data is copied into the page, and the CRC is computed over the copy while it is in the
 * cache. So a buffer that its owner changes meanwhile cannot break an FPDU, and a
 * WR that is handed over can be completed (ORD-14).
 */

#include <linux/memcontrol.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include "engine/tx.h"
#include "memory/tpt.h"
#include "srnic.h"

/* Bytes of the largest page fragment; a longer TCP segment has several FPDUs */
#define FRAG_MAX	MPA_LARGE_FPDU

/* With so many bytes an owner with softirqs off begins no FPDU more; the kthread sends the rest */
#define TX_LOCKED	(16 * 1024)
/* For an owner of tx that may not sleep: the kthread waits for memory, if need be */
#define TX_GFP_LOCKED	(GFP_NOWAIT | __GFP_ACCOUNT | __GFP_NOWARN)

/* Charges the stream's memory cgroup in any context. Return: false if there is no memory */
static bool tx_refill(struct srnic_tx *tx, u32 len)
{
	struct mem_cgroup *old;
	bool good;

	/* skb_page_frag_refill() would take a new page each time if @len were more than it has */
	if (tx->frag.page && tx->frag.size - tx->frag.offset >= len)
		return true;
	old = set_active_memcg(tx->memcg);
	good = skb_page_frag_refill(len, &tx->frag, tx->locked ? TX_GFP_LOCKED : SRNIC_GFP_USER);
	set_active_memcg(old);
	return good;
}

/* A TCP segment is divided evenly among its FPDUs. Return: the part of each, @max bytes at most */
static u32 tx_share(u32 emss, u32 max)
{
	return emss / DIV_ROUND_UP(emss, max);
}

/* The largest ULPDU whose FPDU fits a TCP segment, and @max bytes with its markers */
static u32 tx_mulpdu(const struct srnic_qp *qp, u32 max)
{
	u32 set = qp->policy.max_fpdu;
	u32 emss = set && set != SRNIC_FPDU_AUTO ? set : srnic_stream_emss(qp->stream);
	/* mpa_fpdu_room() counts a marker more than there may be */
	u32 slack = qp->mpa.tx_markers ? 2 * MPA_MARKER_LEN : 0;

	return mpa_mulpdu(tx_share(emss, max - slack), qp->mpa.tx_markers);
}

/*
 * The peer takes an FPDU when it has all of it. So that more can come meanwhile, half of its window
 * is for one. Return: the largest ULPDU of such an FPDU
 */
static u32 tx_mulpdu_large(const struct srnic_qp *qp)
{
	u32 half = srnic_stream_window(qp->stream) / 2;

	return mpa_mulpdu(min_t(u32, half, MPA_LARGE_FPDU), false);
}

/**
 * srnic_tx_begin - begin a turn of staging (owner of tx)
 * @qp: with a stream
 *
 * Asks TCP for the size of its segments, which may have changed. Context: the owner of tx, in
 * process or softirq.
 */
void srnic_tx_begin(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;

	tx->locals = 0;
	tx->mulpdu_least = tx_mulpdu(qp, FRAG_MAX);
	tx->mulpdu_full = tx->mulpdu_least;
	if (!qp->mpa.large)
		return;
	tx->mulpdu_full = max(tx->mulpdu_least, tx_mulpdu_large(qp));
	if (tx->mulpdu_full == tx->mulpdu_least)
		srnic_count_often(qp->dev, SRNIC_CNT_TX_SMALL_WINDOW, 1);
}

/**
 * srnic_tx_has_room - make room for an FPDU, and set how large it may be (owner of tx)
 * @qp: with a stream, after srnic_tx_begin(); the result is in mulpdu
 *
 * Return: false if the batch has enough, or there is no memory. Context: the owner of tx, may
 * sleep unless tx->locked.
 */
bool srnic_tx_has_room(struct srnic_qp *qp)
{
	struct srnic_tx *tx = qp->tx;
	u32 room, most = tx->locked ? TX_LOCKED : SRNIC_TX_BATCH;
	u32 least = mpa_fpdu_room(tx->mulpdu_least, qp->mpa.tx_markers);

	/* a piece is left for a Terminate */
	if (tx->batch->len >= most - SRNIC_TX_TERM ||
	    tx->batch->end >= SRNIC_BATCH_PIECES - 1)
		return false;
	tx->mulpdu = tx->mulpdu_full;
	/* a small message is not to have a fragment for itself: then FPDUs end with the fragment */
	if (!tx_refill(tx, least <= FRAG_MAX / 2 ? least :
			   mpa_fpdu_room(tx_mulpdu(qp, SZ_4K), qp->mpa.tx_markers))) {
		tx->starved = true;
		return false;
	}
	room = tx->frag.size - tx->frag.offset;
	if (room >= mpa_fpdu_room(tx->mulpdu, qp->mpa.tx_markers))
		return true;
	/* the rest of a fragment, or, short of memory, one page */
	if (room < least)
		tx->mulpdu = tx_mulpdu(qp, room);
	else	/* a large FPDU ends with the fragment; there are no markers */
		tx->mulpdu = mpa_mulpdu(room, false);
	return true;
}

/**
 * srnic_tx_get_term_room - make room for a Terminate, with whatever else is staged (owner
 *			    of tx)
 * @qp: with a stream
 *
 * Return: false without memory. Context: the owner of tx, in process, may sleep.
 */
bool srnic_tx_get_term_room(struct srnic_qp *qp)
{
	return tx_refill(qp->tx, SRNIC_TX_TERM);
}

/**
 * srnic_tx_put_frag - let go of the page; the batch has references of its own (owner of tx)
 * @tx: of a QP with a stream
 * Context: the owner of tx, in process or softirq.
 */
void srnic_tx_put_frag(struct srnic_tx *tx)
{
	if (tx->frag.page)
		put_page(tx->frag.page);
	tx->frag.page = NULL;
}

static u8 *tx_at(const struct srnic_tx *tx)
{
	return page_address(tx->frag.page) + tx->frag.offset;
}

/**
 * srnic_tx_header - begin an FPDU (owner of tx)
 * @qp: with a stream; there is room
 * @hdr: its DDP header, which is written
 *
 * Context: the owner of tx, in process or softirq.
 * Return: where its payload goes.
 */
u8 *srnic_tx_header(struct srnic_qp *qp, const struct ddp_hdr *hdr)
{
	u8 *p = tx_at(qp->tx) + MPA_LEN_FIELD;

	return p + ddp_encode(p, hdr);
}

/**
 * srnic_tx_seal - complete the FPDU whose ULPDU is in place (owner of tx)
 * @qp: with a stream
 * @ulpdu_len: bytes of the ULPDU
 * Context: the owner of tx, in process or softirq.
 */
void srnic_tx_seal(struct srnic_qp *qp, u32 ulpdu_len)
{
	struct srnic_tx *tx = qp->tx;
	u32 len = mpa_fpdu_seal(tx_at(tx), ulpdu_len, qp->mpa.crc,
				qp->mpa.tx_markers ? &tx->phase : NULL);

	srnic_batch_add(tx->batch, tx->frag.page, tx->frag.offset, len);
	tx->frag.offset += len;
	srnic_count_often(qp->dev, SRNIC_CNT_TX_FPDU, 1);
}

/**
 * srnic_tx_untagged - stage a message of one untagged segment (owner of tx)
 * @qp: with a stream; there is room
 * @opcode: of a message that is all header; RDMAP_ASK with it
 * @payload: RDMAP header
 * @len: its bytes
 * Context: the owner of tx, in process or softirq.
 */
void srnic_tx_untagged(struct srnic_qp *qp, u8 opcode, const void *payload, u32 len)
{
	u32 qn = rdmap_op(opcode)->qn;
	struct ddp_hdr hdr = {
		.last = true,
		.version = qp->version,
		.ulp = rdmap_control(qp->version, opcode),
		.qn = qn,
		.msn = qp->tx->msn[qn]++,
	};

	memcpy(srnic_tx_header(qp, &hdr), payload, len);
	srnic_tx_seal(qp, DDP_UNTAGGED_LEN + len);
}

/**
 * srnic_tx_is_large - does a message take more than one batch?
 * @bytes: of it
 *
 * All FPDUs of a message except the last are as long as a TCP segment, or where segments have
 * more than half of a fragment, maybe end with the fragment. If the last one
 * shared a segment with the next message, no segment would begin with an FPDU until TCP
 * has sent all it has. So a large message is parted from others (M-TCP-1). That takes a
 * call to TCP for each, which is cheap for messages that take several anyway. Small
 * messages go to TCP many at a time. Where the batch is full the cut costs nothing. Large FPDUs
 * do not begin with a segment anyway. Context: any.
 */
bool srnic_tx_is_large(u32 bytes)
{
	return bytes > SRNIC_TX_BATCH;
}

/* Do FPDUs begin where TCP segments do? */
static bool tx_is_aligned(const struct srnic_tx *tx)
{
	return tx->mulpdu_full == tx->mulpdu_least;
}

/**
 * srnic_tx_cut_before - part a large message from what is staged (owner of tx)
 * @tx: of a QP with a stream
 * @large: a large message begins
 *
 * Context: the owner of tx, in process or softirq.
 * Return: true if what is staged has to go first.
 */
bool srnic_tx_cut_before(struct srnic_tx *tx, bool large)
{
	if (large && tx->batch->len && tx_is_aligned(tx))
		tx->cut = true;
	return tx->cut;
}

/**
 * srnic_tx_cut_after - part what was staged from what comes next, where that is due (owner
 *			of tx)
 * @qp: with a stream
 * @large_ends: a large message ends
 * Context: the owner of tx, may sleep unless tx->locked.
 */
void srnic_tx_cut_after(struct srnic_qp *qp, bool large_ends)
{
	if (tx_is_aligned(qp->tx) && (large_ends || !srnic_tx_has_room(qp)))
		qp->tx->cut = true;
}

/**
 * srnic_tx_let_go - release the memory that is copied from (owner of tx)
 * @tx: of a QP with a stream
 *
 * Called at the end of each SGE and of each turn at the latest, so that a deregistration
 * does not wait for long. Context: the owner of tx; sleeps only if the memory is a DMA buffer's.
 */
void srnic_tx_let_go(struct srnic_tx *tx)
{
	if (tx->reached)
		srnic_tpt_put(&tx->span);
	tx->reached = false;
}

/**
 * srnic_tx_copy - copy from registered memory (owner of tx)
 * @qp: with a stream
 * @rest: the access from the first byte to copy on. It is checked the first time, and kept
 *	  until srnic_tx_let_go(), which is called before another access
 * @dst: where to
 * @len: bytes, within @rest
 *
 * Context: the owner of tx; sleeps only if the memory is a DMA buffer's, or paged on demand, and
 * neither tx->locked nor tx->nowait.
 * Return: SRNIC_TPT_OK, or what is wrong, and nothing is kept; SRNIC_TPT_SLEEPS if the access
 * has to sleep and the owner does not.
 */
enum srnic_tpt_err srnic_tx_copy(struct srnic_qp *qp, struct srnic_access *rest, u8 *dst, u32 len)
{
	struct srnic_tx *tx = qp->tx;
	enum srnic_tpt_err err;

	if (!tx->reached) {
		rest->nowait = tx->locked || tx->nowait;
		err = srnic_tpt_get(qp->dev, rest, &tx->span);
		if (err)
			return err;
		tx->reached = true;
		tx->at = 0;
	}
	err = srnic_span_read(&tx->span, tx->at, dst, len);
	if (err)
		srnic_tx_let_go(tx);
	tx->at += len;
	return err;
}
