/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* UD QPs of the device that has the test's address. */
#ifndef UD_H
#define UD_H

#include "pair.h"

#define UD_QKEY		0x11223344
#define UD_IMM		0x01020304
#define UD_GRH		40
#define UD_DEPTH	8
#define UD_BUF		8192
#define UD_IN		4096	/* where receives are */
#define UD_INIT_MASK	(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)

/* @qpn: if not 0, used in place of the receiver's */
struct ud {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	uint8_t *buf;
	uint32_t lkey;
	uint32_t qkey;
	uint32_t qpn;
};

void ud_make(struct ud *u, bool srq);
void ud_make_deep(struct ud *u, bool srq, uint32_t wrs);
void ud_up(struct ud *u, uint32_t qkey);
void ud_two(struct ud *a, struct ud *b);
void ud_end(struct ud *u);
void ud_end_two(struct ud *a, struct ud *b);
struct ibv_ah_attr ud_ah_attr(const union ibv_gid *gid);
int ud_try_recv(struct ud *u, uint64_t wr_id, uint32_t len);
void ud_recv(struct ud *u, uint64_t wr_id, uint32_t len);
int ud_try_post(struct ud *from, const struct ud *to, uint32_t len, enum ibv_wr_opcode op,
		unsigned int flags);
void ud_post(struct ud *from, const struct ud *to, uint32_t len, enum ibv_wr_opcode op,
	     unsigned int flags);
void ud_state(struct ud *u, enum ibv_qp_state state);
void ud_expect_state(struct ud *u, enum ibv_qp_state state);
void ud_wait_state(struct ud *u, enum ibv_qp_state state);
uint64_t ud_counter(const char *name);
void ud_counted(const char *name, uint64_t want);

/* udforge.c */
void case_ud_forged(void);
void case_ud_checksum(void);
void case_ud_flood(void);

#endif
