/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Random calls of uverbs: what the parts of the program share. */
#ifndef METHODS_H
#define METHODS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "pattern.h"

static inline bool chance(struct rng *r, unsigned int percent)
{
	return rng_below(r, 100) < percent;
}

/* Kinds of objects, whose handles a life remembers */
enum kind {
	PD, CQ, QP, SRQ, MR, MW, AH, DM, KINDS
};

#define HANDLES		24	/* of a kind */
#define FILES		4	/* open devices of a life, its own and others' */
#define MAX_KINDS_OF_CALLS	96

/* Of one life; its threads use it without locks */
extern _Atomic uint32_t handles[KINDS][HANDLES];
extern _Atomic int files[FILES];
extern uint8_t *area;		/* calls point into its first quarter */
extern uint8_t *edge;		/* where a mapping ends */

/* Of all lives, in memory that they share */
struct tally {
	_Atomic unsigned long calls, good;
};

extern struct tally *tallies;
extern _Atomic unsigned long *left_out;	/* calls that leak memory on this kernel */

uint32_t some_handle(struct rng *r, enum kind kind);
void new_handle(struct rng *r, enum kind kind, uint32_t handle);

/* calls.c */
extern const unsigned int num_calls;
const char *call_name(unsigned int i);
bool call_must_succeed(unsigned int i);
void random_ioctl(struct rng *r);
void random_write(struct rng *r);
int one_write(int fd, uint32_t command, const void *core, uint32_t core_len, uint32_t out_len);

#endif
