/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The rx engine: whole FPDUs, verified, then placed and delivered. */
#ifndef SRNIC_RX_H
#define SRNIC_RX_H

#include "engine/read.h"
#include "memory/tpt.h"
#include "queue/state.h"
#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

struct srnic_cursor;
struct srnic_rwr;

/* Headers kept of an FPDU: of a Terminate its whole content */
#define SRNIC_RX_HDR	(MPA_LEN_FIELD + DDP_UNTAGGED_LEN + RDMAP_MAX_TERM_LEN)

/**
 * struct srnic_rx - state of the inbound direction, of the holder of the socket lock
 * @discard: an error ended this direction, what still comes is dropped (D-VAL-4)
 * @heard: FPDUs received that are no acknowledgments; one more ends a run of doorbells, see
 *	   tx_burst.c
 * @need: bytes of the next FPDU, if it is incomplete; else 0
 * @part: an FPDU that is put together outside of TCP, or NULL; see srnic_rx_collect()
 * @part_have: bytes in @part
 * @part_whole: @part was found good, is without markers now, and its message waits for a
 *		receive
 * @phase: where in the stream the next FPDU begins, if there are markers (see wire/mpa.h)
 *
 * The FPDU at hand:
 *
 * @hdr: from ULPDU_Length on, up to the payload
 * @hdr_len: bytes in @hdr
 * @ulpdu_len: ULPDU_Length
 * @ddp: decoded header
 * @opcode: RDMAP opcode
 * @payload: bytes of payload in the segment
 * @err: what is wrong with it
 * @status: the completion status that goes with @err
 * @rtr_send: it is the peer's RTR, by Send
 * @rtr_write: ... by Write
 *
 * The messages it belongs to:
 *
 * @msn: MSN of the current or next message of each queue; the owner of tx reads that of Sends
 * @rtr_response: the response to our Read RTR is awaited
 * @write_len: bytes of the last Write message since the last one on QN 0
 * @write_ended: it is complete
 * @mo: bytes of the current message on QN 0 that were delivered
 * @rnr_since: jiffies: since then the next message waits for a receive; 0: no message waits
 * @missing: the access of the next FPDU whose pages the rx kthread takes in; no length: none
 * @taken_in: it has done so for the first so many accesses of the FPDU
 * @accesses: those that were tried
 * @reach: the access of this turn that was looked up last; its memory is kept, see
 *	   srnic_rx_let_go()
 * @span: the memory of @reach
 * @rwr_valid: @rwr is in use by the current message on QN 0
 * @rwr: its receive WR
 * @rd_valid: @rd is the Read or atomic that the peer is answering
 * @rd: the request
 * @rd_off: bytes of its response that were delivered
 * @delivered: messages delivered, of those that this end acknowledges; the owner of tx reads it
 * @ack_heard: number of the peer's last acknowledgment, in the order of the stream
 * @ahead: bytes of TCP's queue in which the acknowledgments are known
 */
struct srnic_rx {
	bool discard;
	u32 heard;
	u32 need;
	u8 *part;
	u32 part_have;
	bool part_whole;
	u32 phase;

	u8 hdr[SRNIC_RX_HDR];
	u32 hdr_len;
	u32 ulpdu_len;
	struct ddp_hdr ddp;
	u8 opcode;
	u32 payload;
	enum rdmap_err err;
	enum srnic_wc_status status;
	bool rtr_send;
	bool rtr_write;

	u32 msn[DDP_QN_COUNT];
	bool rtr_response;
	u32 write_len;
	bool write_ended;
	u32 mo;
	unsigned long rnr_since;
	struct srnic_access missing;
	u32 taken_in;
	u32 accesses;
	struct srnic_access reach;
	struct srnic_span span;
	bool rwr_valid;
	struct srnic_rwr *rwr;
	bool rd_valid;
	struct srnic_outbound rd;
	u32 rd_off;

	u32 delivered;
	u32 ack_heard;
	u32 ahead;
};

struct srnic_rx *srnic_rx_new(const struct srnic_qp *qp);
void srnic_rx_free(struct srnic_rx *rx);
int srnic_rx_thread(void *arg);
void srnic_rx_begins(struct srnic_qp *qp);
bool srnic_rx_ends(struct srnic_qp *qp);
void srnic_rx_ready(void *arg);
u32 srnic_rx_collect(struct srnic_qp *qp, struct srnic_cursor *cur, u32 avail);
void srnic_rx_flush(struct srnic_qp *qp);
void srnic_rx_look_ahead(struct srnic_qp *qp);

/* The current message is Immediate Data, with or without SE */
static inline bool srnic_rx_immediate(const struct srnic_rx *rx)
{
	return rx->opcode == RDMAP_IMMEDIATE || rx->opcode == RDMAP_IMMEDIATE_SE;
}

/* After an error, or when the QP has left its working states, what comes is dropped (TDN-10) */
static inline bool srnic_rx_discards(const struct srnic_qp *qp)
{
	return qp->rx->discard || srnic_qp_state(qp) == SRNIC_QP_TERMINATE ||
	       srnic_qp_state(qp) == SRNIC_QP_ERROR;
}

/*
 * The rx kthread is about to access memory of its QP. A page that is paged on demand may take long,
 * so it lets go of the socket before it takes the page in, see rx_nap(); once for each access of an
 * FPDU, as the SGEs of a receive are one each. If that was in vain the next try waits for the page,
 * or learns that there is none.
 */
static inline void srnic_rx_access(struct srnic_rx *rx, struct srnic_access *acc)
{
	acc->nofault = rx->accesses++ >= rx->taken_in;
}

/* Has it? Return: @err */
static inline enum srnic_tpt_err srnic_rx_accessed(struct srnic_rx *rx,
						   const struct srnic_access *acc,
						   enum srnic_tpt_err err)
{
	if (err == SRNIC_TPT_SLEEPS)
		rx->missing = *acc;
	return err;
}

/* place.c */
enum srnic_tpt_err srnic_place_receive(struct srnic_qp *qp, const struct srnic_rwr *rwr, u32 off,
				       struct srnic_cursor *cur, u32 len, bool may_sleep);
void srnic_rx_let_go(struct srnic_rx *rx);
bool srnic_rx_place(struct srnic_qp *qp, struct srnic_cursor *cur, bool may_sleep);

/* deliver.c */
void srnic_rx_fail(struct srnic_qp *qp, enum rdmap_err err, enum srnic_wc_status status);
bool srnic_rx_deliver(struct srnic_qp *qp, bool may_sleep);

#endif
