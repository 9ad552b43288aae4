// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Processes that fork. NICs belong to the process that has opened them: a child does not have
 * the NICs' threads, so all handles are invalid in it.
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

/* The parent's waiting threads do not exist in the child: resets the condition variable. */
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
 * vipl_fork_init() - Register the handlers for fork()
 *
 * Context: any thread.
 */
void vipl_fork_init(void)
{
	pthread_once(&once, register_handlers);
}
