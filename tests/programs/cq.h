/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The cases of cq; each returns if all is as it must be. */
#ifndef CQ_H
#define CQ_H

#include "pair.h"

/* cq.c: sizes, sharing, overflow */
void case_limits(void);
void case_vectors(void);
void case_shared(void);
void case_overflow(void);
void barrier(struct pair *p);
void send_plain(struct end *from, uint64_t wr_id, unsigned int flags);

/* cq_resize.c */
void case_resize(void);
void case_resize_busy(void);
void case_resize_child(void);
void case_resize_fifo(void);

/* cq_notify.c */
void case_notify(void);
void case_notify_busy(void);

/* cq_ex.c: ibv_create_cq_ex, ibv_start_poll, thread and parent domains */
void case_cq_ex(void);
void case_cq_ex_batch(void);
void case_cq_ex_full(void);
void case_domains(void);
void case_allocators(void);

/* qp_ex.c: ibv_create_qp_ex, ibv_wr_start */
void case_qp_ex(void);
void case_qp_ex_batch(void);

#endif
