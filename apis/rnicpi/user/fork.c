// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Processes that fork (4.5.1). RNIC handles and their objects belong to the process that created
 * them: in a child they are invalid. Handles of devices stay valid: a child can open its own.
 */
#include <pthread.h>
#include "rnic.h"

static void before(void)
{
	pthread_mutex_lock(&ri_lock);
	handle_fork();
}

static void in_parent(void)
{
	handle_forked(false);
	pthread_mutex_unlock(&ri_lock);
}

static void in_child(void)
{
	handle_forked(true);
	ri_vps_renew();
	pthread_mutex_unlock(&ri_lock);
}

static __attribute__((constructor)) void register_handlers(void)
{
	pthread_atfork(before, in_parent, in_child);
}
