/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Messages from a to b while other threads work on the objects that they use. */
#ifndef BUSY_H
#define BUSY_H

#include "pair.h"

#define DEPTH	16	/* of the traffic */

/* Shared by the threads */
struct busy {
	struct pair p;
	void (*send)(struct end *from, uint64_t n);	/* posts message n */
	bool stop;
	uint64_t sent;		/* set when all has been sent */
	uint64_t buffers;	/* receives that were posted */
};
extern struct busy busy;

struct busy_thread {
	void *(*run)(void *arg);
	void *arg;
};

/* The pair is made, and has receives */
void busy_open(void (*send)(struct end *from, uint64_t n));
/* The sender and @threads run for some seconds, and until all that was sent has completed */
void busy_run(const struct busy_thread *threads, int num, unsigned int seconds);

bool busy_stopped(void);
/* How many messages were sent; 0: not known yet */
uint64_t busy_total(void);
/* Completion @n of a queue; each comes once, in order */
void busy_in_order(const struct ibv_wc *wc, uint64_t n);
/* Message @n was received, and its buffer, from 64 * (n % DEPTH), is free again */
void busy_received(const struct ibv_wc *wc, uint64_t n);

#endif
