// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Processes that fork. NICs are of the process that opened them: a child has no thread
 * that would look after them, so it finds all their handles invalid.
 */
#include <pthread.h>
#include "fork.h"
#include "kind.h"
#include "wait.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before(void)
{
	pthread_mutex_lock(&vipl_lock);
	handle_fork();
}

static void in_parent(void)
{
	handle_forked(false);
	pthread_mutex_unlock(&vipl_lock);
}

/* Who waited at the parent's does not wait here. */
static void in_child(void)
{
	pthread_cond_init(&vipl_changed, NULL);
	handle_forked(true);
	pthread_mutex_unlock(&vipl_lock);
}

static void register_handlers(void)
{
	pthread_atfork(before, in_parent, in_child);
}

/**
 * vipl_fork_init() - Be ready for a fork
 *
 * Context: any thread.
 */
void vipl_fork_init(void)
{
	pthread_once(&once, register_handlers);
}
