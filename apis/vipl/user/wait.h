/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Deadlines, and threads. */
#ifndef VIPL_WAIT_H
#define VIPL_WAIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <vipl.h>

/* @at of the monotonic clock; without a meaning if @never */
struct vipl_deadline {
	struct timespec at;
	bool never;
};

struct vipl_deadline vipl_deadline_in(VIP_ULONG msecs);
bool vipl_thread(pthread_t *thread, void *(*run)(void *), void *arg);
uint64_t vipl_now(void);
uint64_t vipl_now_us(void);
bool vipl_is_over(const struct vipl_deadline *deadline);

#endif
