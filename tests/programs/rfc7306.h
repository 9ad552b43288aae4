/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The cases of rfc7306; each returns if all is as it must be. */
#ifndef RFC7306_H
#define RFC7306_H

#include "pair.h"

/* imm.c */
void case_imm_sizes(void);
void case_imm_order(void);
void case_imm_solicited(void);
void case_imm_no_receive(void);
void case_imm_bad_target(void);
void case_send_imm(void);

/* atomics.c */
void case_atomics(void);
void case_atomic_sum(void);
void case_atomic_lock(void);
void case_atomic_order(void);

/* bad_atomic.c */
void case_atomic_target(void);
void case_atomic_zero_based(void);
void case_atomic_sink(void);
void case_atomic_disabled(void);
void case_ord(void);
void case_ird(void);
void refused_by_peer(unsigned int port, const char *op);

int post_fetch_add(struct end *e, uint64_t wr_id, uint32_t off, uint64_t raddr,
		   uint32_t rkey, uint64_t add, unsigned int flags);
int post_cmp_swap(struct end *e, uint64_t wr_id, uint32_t off, uint64_t raddr,
		  uint32_t rkey, uint64_t compare, uint64_t swap, unsigned int flags);
uint64_t value_at(const struct end *e, uint32_t off);

#endif
