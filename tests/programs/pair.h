/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Two connected QPs in one process, to misuse one and check both. */
#ifndef PAIR_H
#define PAIR_H

#include "cases.h"
#include "common.h"
#include "pattern.h"

#define BUF_SIZE	65536
#define ACCESS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct end {
	struct rdma_event_channel *cm;
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	struct ibv_srq *srq;	/* may be set between pair_prepare() and pair_connect() */
	struct ibv_pd *pd;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_comp_channel *rch;	/* of rcq */
	struct ibv_qp_cap cap;
	uint8_t *buf;
	struct ibv_mr *mr;	/* of buf, all rights */
	bool pd_shared;		/* another end's */
	bool disconnected;
};

/* a connects, b listens */
struct pair {
	struct end a;
	struct end b;
	struct rdma_cm_id *listener;
};

#define DEFAULT_CAP { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4,	\
		      .max_recv_sge = 4, .max_inline_data = 16 }

/*
 * Set by a test that needs CQs or a QP unlike the default: called for each end before they are
 * made.
 */
extern void (*end_hook)(struct end *e, struct ibv_qp_init_attr_ex *attr);

struct ibv_context *test_context(void);
int open_uverbs(void);

/* A mapping of a uverbs device in this process, which is a ring */
struct mapping {
	uint8_t *at;
	size_t len;
	uint64_t offset;
};
int uverbs_mappings(struct mapping *map, int max);

void end_init(struct end *e, struct rdma_cm_id *id, const struct ibv_qp_cap *cap);
void pair_prepare(struct pair *p, const struct ibv_qp_cap *cap);
void pair_connect(struct pair *p);
void pair_open(struct pair *p);
void pair_open_with(struct pair *p, const struct pair *other);
void pair_close(struct pair *p);
void pair_works(struct pair *p, const char *when);
void child_gets(int (*call)(struct pair *), struct pair *p, int err);

/* Work requests; the callers may fill in invalid values. */
struct ibv_sge sge_of(struct end *e, uint32_t off, uint32_t len);
int post_wr(struct end *e, enum ibv_wr_opcode op, uint64_t wr_id, struct ibv_sge *sge,
	    int num, unsigned int flags, uint64_t raddr, uint32_t rkey);
int post_rwr(struct end *e, uint64_t wr_id, struct ibv_sge *sge, int num);
void must_recv(struct end *e, uint64_t wr_id, uint32_t off, uint32_t len);

/* Completions and events, each with a time limit of its own. */
struct ibv_wc wait_wc(struct ibv_cq *cq, const char *what);
struct ibv_wc expect_wc(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status,
			const char *what);
void expect_flushes(struct ibv_cq *cq, uint64_t first, int num, const char *what);
void expect_no_wc(struct ibv_cq *cq, unsigned int ms, const char *what);
void expect_disconnected(struct end *e, const char *what);
bool take_async(struct ibv_context *ctx, struct ibv_async_event *out, unsigned int ms);
void expect_qp_event(struct end *e, enum ibv_event_type type, const char *what);
void expect_state(struct end *e, enum ibv_qp_state state, const char *what);

#endif
