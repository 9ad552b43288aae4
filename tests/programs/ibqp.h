/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* QPs that are connected by ibv_modify_qp(). The device is that of the test's address. */
#ifndef IBQP_H
#define IBQP_H

#include "handfd.h"

/* Found by ib_find_gid() */
extern union ibv_gid ib_gid;
extern int ib_gid_index;

void ib_find_gid(void);
struct ibv_qp_attr ib_rtr_attr(const union ibv_gid *gid, uint32_t qpn, uint32_t psn);
struct ibv_qp_attr ib_rts_attr(uint32_t psn, uint8_t timeout);
void ib_rtr(struct hand *h, const union ibv_gid *gid, uint32_t qpn, uint32_t psn);
void ib_rts(struct hand *h, uint32_t psn, uint8_t timeout);
void ib_state(struct hand *h, enum ibv_qp_state state);
void ib_expect_state(struct hand *h, enum ibv_qp_state state, const char *when);
void ib_reset(struct hand *h);

#endif
