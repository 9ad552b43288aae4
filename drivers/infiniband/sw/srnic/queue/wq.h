/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Work queues: send and receive WRs from their posting to their completion. */
#ifndef SRNIC_WQ_H
#define SRNIC_WQ_H

#include <linux/types.h>
#include <rdma/srnic-abi.h>

struct ib_qp_cap;
struct ib_ucontext;
struct srnic_device;
struct srnic_qp;
struct srnic_rwr;

/* States of a send WR in the kernel */
enum srnic_swr_state {
	SRNIC_SWR_FREE,
	SRNIC_SWR_ACTIVE,	/* fetched; the wire or a response is awaited */
	SRNIC_SWR_DONE,		/* can be completed when its turn comes */
};

/**
 * struct srnic_swr - a send WR that was fetched from the SQ
 * @wr_id: from the SQE
 * @opcode: enum srnic_opcode
 * @flags: SRNIC_SQE_* of its WQE; SIGNALED, too, if the QP signals all: success gives a CQE
 * @state: enum srnic_swr_state
 * @status: enum srnic_wc_status, valid when DONE
 * @byte_len: octets of a Read or an atomic
 * @acked_at: srnic_qp.sq_acked from which on the peer has acknowledged it
 */
struct srnic_swr {
	u64 wr_id;
	u8 opcode;
	u8 flags;
	u8 state;
	u8 status;
	u32 byte_len;
	u32 acked_at;
};

/**
 * struct srnic_wq_use - how much of its queues a QP uses
 * @sq_size: entries of the SQ
 * @rq_size: entries of the RQ; 0: it has none
 * @sq_fill: send WRs that were posted and have not completed; -EPROTO as srnic_sq_pending()
 * @rq_fill: receive WRs that were posted and not taken; -EPROTO as @sq_fill
 */
struct srnic_wq_use {
	u32 sq_size;
	u32 rq_size;
	int sq_fill;
	int rq_fill;
};

void srnic_sq_done(struct srnic_qp *qp, u32 index, enum srnic_wc_status status);
void srnic_sq_sent(struct srnic_qp *qp, u32 from, u32 to);
void srnic_sq_acked(struct srnic_qp *qp, u32 number);
bool srnic_sq_fail_first(struct srnic_qp *qp, enum srnic_wc_status status);
void srnic_sq_no_peer(struct srnic_qp *qp);
void srnic_sq_flush(struct srnic_qp *qp);
void srnic_rq_flush(struct srnic_qp *qp);
u32 srnic_sq_producer(const struct srnic_qp *qp);
u32 srnic_rq_producer(const struct srnic_qp *qp);
int srnic_sq_filled(const struct srnic_qp *qp, u32 producer);
int srnic_sq_pending(struct srnic_qp *qp);
void srnic_sq_set_wakeup(struct srnic_qp *qp, bool wanted);
bool srnic_sq_empty(struct srnic_qp *qp);
void srnic_wq_query(struct srnic_qp *qp, struct srnic_wq_use *use);
void srnic_wq_restart(struct srnic_qp *qp);
int srnic_rq_arm(struct srnic_qp *qp, u32 limit);
int srnic_rq_take(struct srnic_qp *qp, struct srnic_rwr *rwr);
void srnic_rq_complete(struct srnic_qp *qp, const struct srnic_rwr *rwr,
		       struct srnic_cqe *cqe, enum srnic_wc_status status);
void srnic_rq_await(struct srnic_qp *qp);
void srnic_rq_await_end(struct srnic_qp *qp);
bool srnic_rq_is_empty(struct srnic_qp *qp);
void srnic_qp_last_wqe(struct srnic_qp *qp);
void srnic_qp_doorbell(struct srnic_qp *qp);
void srnic_qp_polled(struct srnic_device *dev, const struct srnic_cqe *cqe);

/* wq_resize.c */
int srnic_wq_resize_prepare(struct srnic_qp *qp, const struct ib_qp_cap *cap,
			    struct ib_ucontext *uctx, struct srnic_uresp_qp_resize *resp);
int srnic_wq_resize_commit(struct srnic_qp *qp, const struct ib_qp_cap *cap);
void srnic_wq_resize_cancel(struct srnic_qp *qp);
int srnic_wq_resize(struct srnic_qp *qp, struct ib_qp_cap *cap);

#endif
