/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The tx engine: SQ and inbound requests to FPDUs. */
#ifndef SRNIC_TX_H
#define SRNIC_TX_H

#include "linger.h"
#include "qp.h"

/* Staged FPDUs: many go to TCP in one call; holds one of the largest at least */
#define SRNIC_TX_BUF	(128 * 1024)
/* Of it, kept for a Terminate: its FPDU, with padding and a marker */
#define SRNIC_TX_TERM	128

/**
 * struct srnic_tx - state of the outbound direction; the tx kthread's alone
 * @memcg: charged for @buf; referenced
 * @buf: FPDUs, complete ones only; NULL while the QP has had nothing to send for a while
 * @len: octets in @buf
 * @sent: of them, handed to TCP
 * @cut: what comes after @buf begins a TCP segment
 * @mulpdu: largest ULPDU at present
 * @phase: where the next FPDU begins, if there are markers (see wire/mpa.h)
 * @msn: next MSN on each queue
 * @busy: a send WR is in progress; the next fields are its
 * @index: ring index
 * @sqe: copied once and checked
 * @data: its SGEs or inline data, copied once
 * @total: octets of the message
 * @off: octets staged; of a Read, octets asked for
 * @sge: current SGE
 * @sge_off: octets of it that are staged
 * @imm_due: all of a Write with immediate data is staged but the data
 * @locals: local WRs that were done in one go
 * @staged: ring index after the last WR that is staged as a whole
 * @marked: ring index up to which WRs handed to TCP were marked done
 * @responding: an inbound Read is being answered; the next fields are its
 * @in: the request
 * @rd_off: octets staged
 * @read_turn: inbound requests go first next time
 */
struct srnic_tx {
	struct mem_cgroup *memcg;
	u8 *buf;
	u32 len;
	u32 sent;
	bool cut;
	u32 mulpdu;
	u32 phase;
	u32 msn[DDP_QN_COUNT];

	bool busy;
	u32 index;
	struct srnic_sqe sqe;
	union {
		struct srnic_sge *sges;
		u8 *inl;
		void *data;
	};
	u32 total;
	u32 off;
	u32 sge;
	u32 sge_off;
	bool imm_due;
	u32 locals;
	u32 staged;
	u32 marked;

	bool responding;
	struct srnic_inbound in;
	u32 rd_off;
	bool read_turn;
};

struct srnic_tx *srnic_tx_new(const struct srnic_qp *qp);
void srnic_tx_free(struct srnic_tx *tx);
int srnic_tx_thread(void *arg);
bool srnic_tx_get_term_buf(struct srnic_qp *qp);
int srnic_tx_push(struct srnic_qp *qp);
struct srnic_words srnic_tx_rest(struct srnic_qp *qp);
void srnic_tx_untagged(struct srnic_qp *qp, u8 opcode, const void *payload, u32 len);
void srnic_tx_request(struct srnic_qp *qp, u8 opcode, const void *payload, u32 len,
		      const struct srnic_sge *sink, bool last);
int srnic_tx_terminate(struct srnic_qp *qp);

/* sqe.c */
int srnic_sqe_fetch(struct srnic_qp *qp, struct srnic_tx *tx,
		    enum srnic_wc_status *status);

/* read.c */
bool srnic_irq_empty(const struct srnic_qp *qp);
int srnic_irq_push(struct srnic_qp *qp, const struct srnic_inbound *in);
bool srnic_irq_head(struct srnic_qp *qp, struct srnic_inbound *in);
void srnic_irq_done(struct srnic_qp *qp);
u32 srnic_orq_count(const struct srnic_qp *qp);
u32 srnic_orq_limit(const struct srnic_qp *qp);
bool srnic_orq_full(const struct srnic_qp *qp);
void srnic_orq_push(struct srnic_qp *qp, const struct srnic_outbound *out);
bool srnic_orq_head(struct srnic_qp *qp, struct srnic_outbound *out);
void srnic_orq_done(struct srnic_qp *qp, enum srnic_wc_status status);

/* atomic.c */
enum srnic_wc_status srnic_atomic_request(struct srnic_qp *qp);
enum srnic_wc_status srnic_atomic_place(const struct srnic_qp *qp,
					const struct srnic_outbound *out, u64 value);
enum rdmap_err srnic_atomic_execute(const struct srnic_qp *qp,
				    const struct rdmap_atomic_req *req, u64 *was);
void srnic_atomic_respond(struct srnic_qp *qp, const struct srnic_inbound *in);

/* close.c */
void srnic_close(struct srnic_qp *qp);

#endif
