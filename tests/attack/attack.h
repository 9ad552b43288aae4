/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A hostile user of the host: a program without any right except to open the files of uverbs and
 * rdma_cm. Each attack is a case in a file of its own, and is bounded in time. It fails itself if
 * a call returns what it must not. The script (tests/system/attack.sh) checks the effect on
 * others: it runs the attack as one user and work of another user beside it, and checks what is
 * left afterwards.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <pthread.h>
#include <stdatomic.h>
#include "handfd.h"
#include "method.h"
#include "pattern.h"

/* The time at which the attack ends, after ATTACK_SECONDS */
uint64_t attack_end(void);
pthread_t thread_of(void *(*fn)(void *), void *arg);

/* A message from a to b with @wr_id; polls completions that are there, and does not wait */
void one_message(struct pair *p, uint64_t wr_id);

/* An attack in lives: each is a child that runs @life and may end in any way */
struct lives {
	unsigned int all, killed;
};
struct lives in_lives(void (*life)(struct rng *r));

/* children.c */
void case_children(void);
/* events.c */
void case_events(void);
/* load.c */
void case_load(void);
void case_compute(void);
/* mappings.c */
void case_mappings(void);
/* passfd.c */
void case_passfd(void);
/* resize.c */
int resize_qp(struct ibv_qp *qp, const struct srnic_ureq_qp_resize *req,
	      struct srnic_uresp_qp_resize *resp);
void case_cq_steps(void);
void case_qp_steps(void);
void case_srq_index(void);
/* ringmr.c */
void case_ringmr(void);
/* share.c */
void case_share(void);
/* waits.c */
void case_waits(void);

#endif
