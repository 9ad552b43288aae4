/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Calls of the RDMAC verbs that Linux verbs do not have. The consumer creates its objects with
 * the RDMA core. Programs have the methods of query.c, qp_modify.c and share.c instead.
 */
#ifndef SRNIC_NATIVE_H
#define SRNIC_NATIVE_H

#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>
#include "cm/handover.h"
#include "qp/qp.h"
#include "queue/event.h"
#include "wire/rdmap.h"

/**
 * struct srnic_native_qp - a consistent snapshot of a QP
 * @state: its state
 * @ird: as set or negotiated
 * @ord: likewise
 * @windows: windows bound to it
 * @rq_armed: the limit of its receive queue is armed
 * @term_local: this end has made the Terminate
 * @term_len: bytes of @term; 0: none was sent or received
 * @term: the Terminate, as on the wire
 */
struct srnic_native_qp {
	enum srnic_qp_state state;
	u32 ird;
	u32 ord;
	u32 windows;
	bool rq_armed;
	bool term_local;
	u32 term_len;
	u8 term[RDMAP_MAX_TERM_LEN];
};

/**
 * struct srnic_native_stag - a consistent snapshot of a region or window
 * @stag: its STag
 * @valid: in Valid state; if a window is Invalid, the fields below are 0
 * @shared: of a region: other regions share its memory
 * @windows: of a region: windows bound to it
 * @rights: SRNIC_STAG_*
 * @base: TO of the first byte
 * @length: bytes
 */
struct srnic_native_stag {
	u32 stag;
	bool valid;
	bool shared;
	u32 windows;
	u32 rights;
	u64 base;
	u64 length;
};

typedef void srnic_native_event_fn(struct ib_qp *ibqp, enum srnic_event event);

bool srnic_native(const struct ib_device *ibdev);
struct net_device *srnic_native_netdev(const struct ib_device *ibdev);
void srnic_native_query(struct ib_device *ibdev, struct srnic_uresp_dev_query *is);

void srnic_native_qp_setup(struct ib_qp *ibqp, bool privileged, srnic_native_event_fn *event);
void srnic_native_qp_sges(struct ib_qp *ibqp, u32 send, u32 write);
void srnic_native_qp_enable(struct ib_qp *ibqp, u8 enables);
void srnic_native_qp_query(struct ib_qp *ibqp, struct srnic_native_qp *is);
int srnic_native_rq_arm(struct ib_qp *ibqp, u32 limit);
int srnic_native_handover(struct ib_qp *ibqp, const struct srnic_handover *req);
int srnic_native_post_send(struct ib_qp *ibqp, const struct srnic_sqe *sqe, const void *data);

int srnic_native_poll(struct ib_cq *ibcq, struct srnic_cqe *cqe);
int srnic_native_cq_resize(struct ib_cq *ibcq, u32 entries);
bool srnic_native_cq_overflowed(struct ib_cq *ibcq);
bool srnic_native_srq_query(struct ib_srq *ibsrq, bool *armed);

void srnic_native_mr_local_only(struct ib_mr *ibmr);
void srnic_native_mr_begin(struct ib_mr *ibmr, u32 modulus, u64 fbo);
int srnic_native_mr_add(struct ib_mr *ibmr, u64 addr, u64 length);
void srnic_native_mr_refuse(struct ib_mr *ibmr, enum srnic_wc_status status);
void srnic_native_mr_copy(struct ib_mr *to, struct ib_mr *from);
enum srnic_wc_status srnic_native_mr_register(struct ib_mr *ibmr, u64 iova, u64 length,
					      int access);
int srnic_native_mr_suspend(struct ib_mr *ibmr);
void srnic_native_mr_share(struct ib_mr *ibmr);
u32 srnic_native_mr_blocks(struct ib_mr *ibmr);
void srnic_native_mr_query(struct ib_mr *ibmr, struct srnic_native_stag *is);

struct ib_mw *srnic_native_mw_alloc(struct ib_pd *pd);
void srnic_native_mw_dealloc(struct ib_mw *ibmw);
void srnic_native_mw_query(struct ib_mw *ibmw, struct srnic_native_stag *is);

#endif
