// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Deadlines of the monotonic clock, and threads of the library. */
#include <signal.h>
#include "wait.h"

#define FOREVER		0xffffffffUL	/* VIP_INFINITE of programs that store 32 bits */
#define NSEC_PER_SEC	1000000000L
#define NSEC_PER_MSEC	1000000L

static struct timespec from_now(VIP_ULONG msecs)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += msecs / 1000;
	t.tv_nsec += msecs % 1000 * NSEC_PER_MSEC;
	if (t.tv_nsec >= NSEC_PER_SEC) {
		t.tv_nsec -= NSEC_PER_SEC;
		t.tv_sec++;
	}
	return t;
}

/**
 * vipl_deadline_in() - The deadline of a wait
 * @msecs: in milliseconds; 0xffffffff and more, such as VIP_INFINITE: never
 *
 * Context: any.
 * Return: the deadline.
 */
struct vipl_deadline vipl_deadline_in(VIP_ULONG msecs)
{
	if (msecs >= FOREVER)
		return (struct vipl_deadline){ .never = true };
	return (struct vipl_deadline){ .at = from_now(msecs) };
}

/**
 * vipl_thread() - Start a thread of the library
 * @thread: the thread, to be joined
 * @run: its function
 * @arg: the function's argument
 *
 * Blocks all signals in the thread: the program's own threads handle them.
 *
 * Context: any.
 * Return: false if no thread can be created.
 */
bool vipl_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

/**
 * vipl_now_us() - The monotonic clock
 *
 * Context: any.
 * Return: in microseconds.
 */
uint64_t vipl_now_us(void)
{
	struct timespec t = from_now(0);

	return (uint64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/**
 * vipl_now() - The monotonic clock
 *
 * Context: any.
 * Return: in milliseconds.
 */
uint64_t vipl_now(void)
{
	return vipl_now_us() / 1000;
}

/**
 * vipl_is_over() - Whether a deadline has passed
 * @deadline: of vipl_deadline_in()
 *
 * Context: any.
 * Return: true if it has.
 */
bool vipl_is_over(const struct vipl_deadline *deadline)
{
	struct timespec now = from_now(0);

	return !deadline->never && (now.tv_sec > deadline->at.tv_sec ||
				    (now.tv_sec == deadline->at.tv_sec &&
				     now.tv_nsec >= deadline->at.tv_nsec));
}
