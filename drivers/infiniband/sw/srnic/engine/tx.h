/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The tx engine: SQ and inbound requests to FPDUs. */
#ifndef SRNIC_TX_H
#define SRNIC_TX_H

#include <linux/mm_types.h>
#include "engine/close.h"
#include "engine/read.h"
#include "engine/stream.h"
#include "memory/tpt.h"
#include "queue/sqe.h"
#include "queue/state.h"
#include "wire/ddp.h"

struct mem_cgroup;

/**
 * struct srnic_burst - messages that are sent together, see tx_burst.c
 * @on: the tx kthread has taken over, and naps
 * @rings: doorbells in the present run
 * @run: doorbells that make a burst; 0: BURST_RUN
 * @heard: FPDUs received when the run began
 * @since: when it began, in ns
 * @from: send WRs staged when the nap began
 * @naps: in the present burst
 * @poor: how many naps in a row gathered little
 */
struct srnic_burst {
	bool on;
	u32 rings;
	u32 run;
	u32 heard;
	u64 since;
	u32 from;
	u32 naps;
	u32 poor;
};

/**
 * struct srnic_poster - a kernel consumer's post
 * @task: that has posted, or was interrupted; not referenced, and only compared
 * @slept: so often until then
 * @awake: posts in a row for which it did not sleep before
 */
struct srnic_poster {
	const struct task_struct *task;
	unsigned long slept;
	u32 awake;
};

/* Whoever waits for each of its requests has slept before one of so many posts and the next one */
#define SRNIC_POSTER_AWAKE	32

/* Bytes that go to TCP in one call at most; a message that is longer is a large one */
#define SRNIC_TX_BATCH	(128 * 1024)
/* The FPDUs of an acknowledgment and a Terminate, with padding and markers */
#define SRNIC_TX_TERM	128

/**
 * struct srnic_tx - state of the outbound direction, of the owner of tx (SRNIC_QPF_TX_OWNED)
 * @burst: when small messages are sent, see tx_burst.c
 * @poster: of the last post that found tx free
 * @much: the last doorbell, or the last help, sent much, see tx_help.c
 * @helped: the tx kthread is counted in the help of the send CQ
 * @help_asked: ns of ktime when it was asked to; 0: it has begun
 * @help_from: bytes that TCP had taken then
 * @memcg: charged for what is staged; referenced
 * @frag: where the next FPDU is put; no page when the QP has had nothing to send for a while, and
 *	  the peer has acknowledged all
 * @batch: FPDUs that TCP has not taken, complete ones only
 * @locked: the owner has softirqs off, may not sleep, and sends with the socket's spinlock held
 * @nowait: the owner does not wait for memory that a WR names, or for accesses through an STag
 * @blocked: a WR may wait for a response; the owner of rx reads it
 * @starved: there was no memory for one more FPDU
 * @cut: what comes after @batch begins a TCP segment
 * @mulpdu_full: largest ULPDU at present: one that goes into a TCP segment, or of a large FPDU
 * @mulpdu_least: ULPDUs are as large if the message is: those that go into a TCP segment
 * @mulpdu: at most @mulpdu_full, and goes into @frag
 * @phase: where the next FPDU begins, if there are markers (see wire/mpa.h)
 * @msn: next MSN on each queue
 * @span: memory that the message in progress is copied from, see srnic_tx_copy()
 * @reached: @span is in use
 * @at: bytes of it that are copied
 * @busy: a send WR is in progress; the next fields are its
 * @wr: what was fetched
 * @off: bytes staged; of a Read, bytes asked for
 * @sge: of a Read, the current SGE
 * @imm_due: all of a Write with immediate data is staged except the immediate data
 * @rtr_due: an initiator's first message is not staged yet, and no other goes before it
 * @locals: local WRs that were done in this turn
 * @staged: ring index after the last WR that is staged as a whole
 * @marked: ring index up to which WRs handed to TCP were marked done
 * @responding: an inbound Read is being answered; the next fields are its
 * @in: the request
 * @rd_off: bytes staged
 * @read_turn: inbound requests go first next time
 * @messages: staged as a whole, of those that the peer acknowledges; the owner of rx reads it
 * @acked: number of the last acknowledgment that was staged; the owner of rx reads it
 */
struct srnic_tx {
	struct srnic_burst burst;
	struct srnic_poster poster;
	bool much;
	bool helped;
	u64 help_asked;
	u32 help_from;
	struct mem_cgroup *memcg;
	struct page_frag frag;
	struct srnic_batch *batch;
	bool locked;
	bool nowait;
	bool blocked;
	bool starved;
	bool cut;
	u32 mulpdu_full;
	u32 mulpdu_least;
	u32 mulpdu;
	u32 phase;
	u32 msn[DDP_QN_COUNT];
	struct srnic_span span;
	bool reached;
	u32 at;

	bool busy;
	struct srnic_fetched wr;
	u32 off;
	u32 sge;
	bool imm_due;
	bool rtr_due;
	u32 locals;
	u32 staged;
	u32 marked;

	bool responding;
	struct srnic_inbound in;
	u32 rd_off;
	bool read_turn;

	u32 messages;
	u32 acked;
};

/* tx.c */
struct srnic_tx *srnic_tx_new(const struct srnic_qp *qp);
void srnic_tx_free(struct srnic_tx *tx);
int srnic_tx_thread(void *arg);
void srnic_tx_begins(struct srnic_qp *qp);
void srnic_tx_opens(struct srnic_qp *qp);
enum srnic_wind srnic_tx_wind_down(struct srnic_qp *qp);
void srnic_tx_ends(struct srnic_qp *qp);
void srnic_tx_doorbell(struct srnic_qp *qp);
bool srnic_tx_post(struct srnic_qp *qp);
void srnic_tx_answer(struct srnic_qp *qp);
void srnic_tx_acknowledge(struct srnic_qp *qp);
void srnic_tx_prepare(struct srnic_qp *qp);
int srnic_tx_push(struct srnic_qp *qp);
struct srnic_batch *srnic_tx_rest(struct srnic_qp *qp);

/* tx_stage.c */
void srnic_tx_begin(struct srnic_qp *qp);
bool srnic_tx_has_room(struct srnic_qp *qp);
bool srnic_tx_get_term_room(struct srnic_qp *qp);
void srnic_tx_put_frag(struct srnic_tx *tx);
u8 *srnic_tx_header(struct srnic_qp *qp, const struct ddp_hdr *hdr);
void srnic_tx_seal(struct srnic_qp *qp, u32 ulpdu_len);
void srnic_tx_untagged(struct srnic_qp *qp, u8 opcode, const void *payload, u32 len);
bool srnic_tx_is_large(u32 bytes);
bool srnic_tx_cut_before(struct srnic_tx *tx, bool large);
void srnic_tx_cut_after(struct srnic_qp *qp, bool large_ends);
enum srnic_tpt_err srnic_tx_copy(struct srnic_qp *qp, struct srnic_access *rest, u8 *dst, u32 len);
void srnic_tx_let_go(struct srnic_tx *tx);

/* tx_wr.c */
bool srnic_tx_wr_blocked(const struct srnic_qp *qp);
bool srnic_tx_wr_begun(const struct srnic_tx *tx);
bool srnic_tx_stage_wr(struct srnic_qp *qp);
void srnic_tx_request(struct srnic_qp *qp, u8 opcode, const void *payload, u32 len,
		      const struct srnic_sge *sink, bool last);

/* tx_burst.c */
bool srnic_tx_burst_begins(struct srnic_qp *qp, u32 bytes);
bool srnic_tx_nap(struct srnic_qp *qp);

/* tx_help.c */
bool srnic_tx_help_begins(struct srnic_qp *qp);
void srnic_tx_help_runs(struct srnic_qp *qp);
void srnic_tx_help_ends(struct srnic_qp *qp);
void srnic_tx_help_is_over(struct srnic_qp *qp);
void srnic_tx_has_rung(struct srnic_qp *qp, u32 bytes);

/* tx_read.c */
bool srnic_tx_stage_response(struct srnic_qp *qp);

#endif
