/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRNIC_H
#define SRNIC_H

#include <pthread.h>
#include <stdint.h>

#include <infiniband/driver.h>
#include <infiniband/kern-abi.h>
#include <rdma/srnic-abi.h>
#include <kernel-abi/srnic-abi.h>

#include "ring.h"

DECLARE_DRV_CMD(srnic_cmd_alloc_ctx, IB_USER_VERBS_CMD_GET_CONTEXT,
		srnic_ureq_alloc_ctx, srnic_uresp_alloc_ctx);
DECLARE_DRV_CMD(srnic_cmd_create_cq, IB_USER_VERBS_CMD_CREATE_CQ,
		empty, srnic_uresp_create_cq);
DECLARE_DRV_CMD(srnic_cmd_create_cq_ex, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		empty, srnic_uresp_create_cq);
DECLARE_DRV_CMD(srnic_cmd_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		srnic_ureq_resize_cq, srnic_uresp_resize_cq);
DECLARE_DRV_CMD(srnic_cmd_create_qp, IB_USER_VERBS_CMD_CREATE_QP,
		srnic_ureq_create_qp, srnic_uresp_create_qp);
DECLARE_DRV_CMD(srnic_cmd_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, srnic_uresp_create_ah);
DECLARE_DRV_CMD(srnic_cmd_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		empty, srnic_uresp_create_srq);

/* STag: an index that the kernel chooses, and a key in the low bits */
#define SRNIC_STAG_KEY_BITS	8

/* Numbers of verbs that the verbs.h of an older release has no names for */
#define SRNIC_WR_FLUSH			14	/* IBV_WR_FLUSH, ... */
#define SRNIC_WR_ATOMIC_WRITE		15
#define SRNIC_QP_EX_WITH_FLUSH		(UINT64_C(1) << 11)
#define SRNIC_QP_EX_WITH_ATOMIC_WRITE	(UINT64_C(1) << 12)
#define SRNIC_WC_FLUSH			8
#define SRNIC_WC_ATOMIC_WRITE		9
#define SRNIC_FLUSH_TYPES		3	/* IBV_FLUSH_GLOBAL, IBV_FLUSH_PERSISTENT */
#define SRNIC_FLUSH_MR			1	/* the last level */

/* QP numbers have 24 bits; the table that finds a QP by number splits them. */
#define SRNIC_QPN_BITS		24
#define SRNIC_QPN_LEAF_BITS	12
#define SRNIC_QPN_LEAF_SIZE	(UINT32_C(1) << SRNIC_QPN_LEAF_BITS)
#define SRNIC_QPN_ROOT_SIZE	(1U << (SRNIC_QPN_BITS - SRNIC_QPN_LEAF_BITS))

struct srnic_device {
	struct verbs_device vdev;
};

struct srnic_qpn_leaf {
	unsigned int used;		/* qpn_lock */
	struct srnic_qp *qp[SRNIC_QPN_LEAF_SIZE];
};

struct srnic_ctx {
	struct verbs_context vctx;

	/*
	 * QP number -> QP. Writers hold qpn_lock. srnic_qpn_find() takes no
	 * lock: its comment says why.
	 */
	pthread_mutex_t qpn_lock;
	pthread_cond_t qpn_freed;
	struct srnic_qpn_leaf *qpn_root[SRNIC_QPN_ROOT_SIZE];

	unsigned int doorbells_due;	/* atomic: number of QPs with a doorbell due */
};

struct srnic_td {
	struct ibv_td td;
	unsigned int users;		/* atomic: parent domains */
};

/* A protection domain, or a parent domain of one. */
struct srnic_pd {
	struct ibv_pd pd;
	unsigned int users;		/* atomic: parent domains; objects of a parent domain */
	struct srnic_pd *protection;	/* immutable; of a parent domain */
	struct srnic_td *td;		/* immutable; of a parent domain, or NULL */

	/* immutable; of a parent domain with allocators, or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size,
		       size_t alignment, uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr,
		     uint64_t resource_type);
	void *pd_context;		/* immutable */
};

/* Resource types passed to an allocator (Documentation/uapi.rst) */
#define SRNIC_RES_TYPE(n)	((uint64_t)SRNIC_DRIVER_ID << 32 | (n))
#define SRNIC_RES_TYPE_QP	SRNIC_RES_TYPE(1)
#define SRNIC_RES_TYPE_CQ	SRNIC_RES_TYPE(2)
#define SRNIC_RES_TYPE_SRQ	SRNIC_RES_TYPE(3)

#define SRNIC_MEM_ALIGN		64	/* bytes, a cache line */

/* The allocator of an object's memory, and the parent domain that the object holds */
struct srnic_mem {
	struct srnic_pd *parent;	/* or NULL */
	bool given;			/* from the allocator of @parent */
};

struct srnic_cq {
	struct verbs_cq vcq;
	struct srnic_mem mem;		/* immutable */
	pthread_mutex_t resize;		/* one resize at a time; outermost */
	/*
	 * Mutexes, not spinlocks: a resize holds both during COMMIT, and a thread
	 * with a higher priority that spins could keep the holder from running.
	 */
	pthread_mutex_t lock;		/* of polling */
	pthread_mutex_t arm_lock;	/* of arming, taken after lock */
	struct srnic_ring ring;		/* changed under both locks */
	uint32_t tail;			/* lock; next CQE to poll */
	struct srnic_cqe current;	/* lock; from start_poll() on */
};

/*
 * One direction of a QP. Slots from tail to head are taken: posted, and not
 * yet covered by a polled completion (RDMAC verbs 8.2.1).
 */
struct srnic_wq {
	/* of posting; a mutex, as a resize holds it during COMMIT: see struct srnic_cq */
	pthread_mutex_t lock;
	struct srnic_ring ring;		/* lock */
	uint32_t max_wr;		/* lock */
	uint32_t max_sge;		/* immutable */
	uint32_t head;			/* written under lock */

	/* written by pollers, under the lock of the CQ; own cache line, apart from posters' */
	_Alignas(SRNIC_MEM_ALIGN) uint32_t tail;
};

/* Between ibv_wr_start() and ibv_wr_complete() or ibv_wr_abort() */
struct srnic_batch {
	uint32_t head;			/* slot of the next WR */
	int err;			/* the first error */
	struct srnic_sqe *sqe;		/* WR that still takes data, or NULL */
	enum ibv_wr_opcode opcode;	/* of that WR */
	struct srnic_sqe *unaddressed;	/* WR of a UD QP without an address */
};

struct srnic_srq {
	struct ibv_srq ibsrq;
	struct srnic_mem mem;		/* immutable */
	pthread_mutex_t lock;		/* of posting; held over a resize */
	struct srnic_ring ring;		/* lock */
	uint32_t head;			/* next WQE to post; lock */
	uint32_t max_sge;		/* immutable */

	/* atomic: completions polled; written by pollers, apart from posters' cache line */
	_Alignas(SRNIC_MEM_ALIGN) uint32_t polled;
};

/* An address handle: a destination of UD QPs */
struct srnic_ah {
	struct ibv_ah ibah;
	uint32_t number;		/* immutable; assigned by the kernel */
};

struct srnic_qp {
	struct verbs_qp vqp;
	struct srnic_mem mem;		/* immutable */
	struct srnic_srq *srq;		/* immutable; NULL without one */
	pthread_mutex_t resize;		/* one resize at a time; outermost */
	struct srnic_wq sq;
	struct srnic_wq rq;		/* no ring: receives come from an SRQ */
	uint32_t max_inline;		/* immutable */
	uint32_t max_write_sge;		/* immutable; sq.max_sge is of other WRs */
	bool sq_sig_all;		/* immutable */
	bool ud;			/* immutable */
	uint16_t kind;			/* immutable; the WRs that it takes */
	bool doorbell_ioctl;		/* atomic: the process may not use write(2) */
	bool names_peer;		/* ibv_modify_qp() to RTR had a QP number */
	bool doorbell_due;		/* atomic: the kernel has not taken the last doorbell */
	uint64_t send_ops;		/* immutable: IBV_QP_EX_WITH_* */
	struct srnic_batch batch;	/* sq.lock, from wr_start() on */
};

static inline struct srnic_ctx *to_srnic_ctx(struct ibv_context *ibctx)
{
	return container_of(ibctx, struct srnic_ctx, vctx.context);
}

static inline struct srnic_cq *to_srnic_cq(struct ibv_cq *ibcq)
{
	return container_of(ibcq, struct srnic_cq, vcq.cq);
}

static inline struct srnic_cq *to_srnic_cq_ex(struct ibv_cq_ex *ibcqx)
{
	return container_of(ibcqx, struct srnic_cq, vcq.cq_ex);
}

static inline struct srnic_qp *to_srnic_qp(struct ibv_qp *ibqp)
{
	return container_of(ibqp, struct srnic_qp, vqp.qp);
}

static inline struct srnic_qp *to_srnic_qp_ex(struct ibv_qp_ex *qpx)
{
	return container_of(qpx, struct srnic_qp, vqp.qp_ex);
}

static inline struct srnic_srq *to_srnic_srq(struct ibv_srq *ibsrq)
{
	return container_of(ibsrq, struct srnic_srq, ibsrq);
}

static inline struct verbs_dm *to_verbs_dm(struct ibv_dm *ibdm)
{
	return container_of(ibdm, struct verbs_dm, dm);
}

static inline struct srnic_ah *to_srnic_ah(struct ibv_ah *ibah)
{
	return container_of(ibah, struct srnic_ah, ibah);
}

/* srnic.c */
bool srnic_is_ours(struct ibv_device *ibdev);

/* pd.c */
struct ibv_pd *srnic_alloc_pd(struct ibv_context *ibctx);
int srnic_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *srnic_alloc_td(struct ibv_context *ibctx,
			      struct ibv_td_init_attr *attr);
int srnic_dealloc_td(struct ibv_td *ibtd);
struct ibv_pd *
srnic_alloc_parent_domain(struct ibv_context *ibctx,
			  struct ibv_parent_domain_init_attr *attr);
void *srnic_zalloc(struct srnic_mem *mem, struct ibv_pd *ibpd, size_t size,
		   uint64_t type);
void srnic_free(const struct srnic_mem *mem, void *ptr, uint64_t type);
struct ibv_pd *srnic_import_pd(struct ibv_context *ibctx, uint32_t handle);
void srnic_unimport_pd(struct ibv_pd *ibpd);

/* Windows of type 1 can be bound with ibv_bind_mw() only. */
static inline bool srnic_wr_bindable(const struct ibv_send_wr *wr)
{
	return wr->opcode != IBV_WR_BIND_MW ||
	       wr->bind_mw.mw->type == IBV_MW_TYPE_2;
}

/* ah.c */
struct ibv_ah *srnic_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int srnic_destroy_ah(struct ibv_ah *ibah);

/* cq.c */
struct ibv_cq *srnic_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector);
struct ibv_cq_ex *srnic_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr);
int srnic_destroy_cq(struct ibv_cq *ibcq);
int srnic_resize_cq(struct ibv_cq *ibcq, int cqe);
enum ibv_wc_opcode srnic_cqe_opcode(const struct srnic_cqe *cqe);
unsigned int srnic_cqe_wc_flags(const struct srnic_cqe *cqe);
int srnic_cq_waiting(const struct srnic_cq *cq);
void srnic_cq_empty(struct srnic_cq *cq);
void srnic_cq_take(struct srnic_cq *cq, struct srnic_cqe *cqe);
int srnic_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int srnic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
/* Completions of a QP that are in a CQ when it is reset or destroyed */
enum srnic_keep {
	SRNIC_KEEP_NONE,
	SRNIC_KEEP_RECEIVED,	/* those of messages that have arrived */
	SRNIC_KEEP_ALL,
};

void srnic_cq_purge(struct srnic_cq *cq, uint32_t qpn, enum srnic_keep keep);

/* cq_ex.c */
void srnic_cq_ex_init(struct srnic_cq *cq, uint64_t wc_flags);
int srnic_query_rt_values(struct ibv_context *ibctx,
			  struct ibv_values_ex *values);

/* qp.c */
struct ibv_qp *srnic_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *srnic_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *srnic_create_qp_sges(struct ibv_context *ibctx,
				    struct ibv_qp_init_attr_ex *attr,
				    uint32_t *max_write_sge);
int srnic_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
		   struct ibv_qp_init_attr *init_attr);
int srnic_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask);
int srnic_destroy_qp(struct ibv_qp *ibqp);
struct srnic_qp *srnic_qpn_find(struct srnic_ctx *ctx, uint32_t qpn);
void srnic_qpn_for_each(struct srnic_ctx *ctx, void (*fn)(struct srnic_qp *qp));

/* post.c */
int srnic_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int srnic_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);
void srnic_wq_free_to(struct srnic_wq *wq, uint32_t index);
bool srnic_wq_full(const struct srnic_wq *wq, uint32_t head);
bool srnic_wq_publish(const struct srnic_qp *qp, struct srnic_wq *wq,
		      uint32_t head);
int srnic_doorbell(struct srnic_qp *qp, bool send);
bool srnic_doorbell_clear(struct srnic_qp *qp);
void srnic_doorbell_all(struct srnic_ctx *ctx);
uint16_t srnic_wr_kind(enum ibv_qp_type type);
bool srnic_wr_known(enum ibv_wr_opcode opcode);
int srnic_put_head(const struct srnic_qp *qp, struct srnic_sqe *sqe,
		   const struct ibv_send_wr *wr);
void srnic_put_address(struct srnic_sqe *sqe, struct ibv_ah *ibah, uint32_t qpn,
		       uint32_t qkey);
int srnic_post_head(struct srnic_qp *qp, const struct ibv_send_wr *wr);
int srnic_put_sges(const struct srnic_qp *qp, struct srnic_sqe *sqe,
		   enum ibv_wr_opcode opcode, const struct ibv_sge *sgl,
		   size_t num);
int srnic_put_inline(const struct srnic_qp *qp, struct srnic_sqe *sqe,
		     enum ibv_wr_opcode opcode, const void *addr,
		     size_t length);
int srnic_put_recv(struct srnic_rqe *rqe, const struct ibv_recv_wr *wr,
		   uint32_t max_sge);

/* dm.c */
struct ibv_dm *srnic_alloc_dm(struct ibv_context *ibctx,
			      struct ibv_alloc_dm_attr *attr);
int srnic_free_dm(struct ibv_dm *ibdm);
struct ibv_dm *srnic_import_dm(struct ibv_context *ibctx, uint32_t handle);
void srnic_unimport_dm(struct ibv_dm *ibdm);
struct ibv_mr *srnic_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *ibdm,
			       uint64_t offset, size_t length,
			       unsigned int access);

/* mw.c */
struct ibv_mw *srnic_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int srnic_dealloc_mw(struct ibv_mw *mw);
int srnic_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		  struct ibv_mw_bind *mw_bind);

/* wr.c */
bool srnic_wr_ops_known(uint64_t ops);
void srnic_wr_prepare(struct srnic_qp *qp);
void srnic_wr_init(struct srnic_qp *qp, uint64_t ops);

/* srq.c */
struct ibv_srq *srnic_create_srq(struct ibv_pd *pd,
				 struct ibv_srq_init_attr *attr);
struct ibv_srq *srnic_create_srq_ex(struct ibv_context *ibctx,
				    struct ibv_srq_init_attr_ex *attr);
int srnic_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr,
		     int attr_mask);
int srnic_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr);
int srnic_destroy_srq(struct ibv_srq *ibsrq);
int srnic_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad_wr);
void srnic_srq_polled(struct srnic_srq *srq, uint32_t n);

#endif
