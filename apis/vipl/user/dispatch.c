// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls of the program's functions. These may call the library, wait and take locks of the
 * program, so they run without a lock, in a thread of their own.
 */
#include <signal.h>
#include <stdlib.h>
#include "dispatch.h"
#include "lock.h"
#include "wait.h"

/**
 * vipl_calls_add() - Put a call at the end of a list
 * @list: its first call
 * @call: the call
 *
 * Context: the NIC's lock is held.
 */
void vipl_calls_add(struct vipl_call **list, struct vipl_call *call)
{
	while (*list)
		list = &(*list)->next;
	call->next = NULL;
	*list = call;
}

/**
 * vipl_calls_take() - Take the first call of a list
 * @list: its first call, or NULL
 *
 * Context: the NIC's lock is held.
 * Return: the call, or NULL if there is none.
 */
struct vipl_call *vipl_calls_take(struct vipl_call **list)
{
	struct vipl_call *call = *list;

	if (call)
		*list = call->next;
	return call;
}

/**
 * vipl_calls_cancel() - Drop calls
 * @list: its first call, or NULL
 * @owner: only calls of this object; NULL: all
 *
 * Context: the NIC's lock is held.
 */
void vipl_calls_cancel(struct vipl_call **list, const void *owner)
{
	struct vipl_call *call;

	while ((call = *list)) {
		if (owner && call->owner != owner) {
			list = &call->next;
			continue;
		}
		*list = call->next;
		free(call);
	}
}

static void run(struct vipl_nic *nic, struct vipl_call *call)
{
	if (call->desc_handler)
		call->desc_handler(call->context, nic->handle, call->vi, call->desc);
	else if (call->cq_handler)
		call->cq_handler(call->context, nic->handle, call->vi, call->recv);
	else
		call->error_handler(call->context, &call->error);
}

static void *make_calls(void *arg)
{
	struct vipl_nic *nic = arg;
	struct vipl_call *call;

	pthread_mutex_lock(&nic->lock);
	while (!__atomic_load_n(&nic->closing, __ATOMIC_ACQUIRE)) {
		call = vipl_calls_take(&nic->calls);
		if (!call) {
			pthread_cond_wait(&nic->called, &nic->lock);
			continue;
		}
		nic->calling = call;
		pthread_mutex_unlock(&nic->lock);
		run(nic, call);
		pthread_mutex_lock(&nic->lock);
		nic->calling = NULL;
		nic->called_times++;
		free(call);
		vipl_wake(nic);
	}
	pthread_mutex_unlock(&nic->lock);
	return NULL;
}

/**
 * vipl_dispatch_start() - Start the thread that makes calls, if it is not running
 * @nic: the NIC
 *
 * Context: the NIC's lock is held.
 * Return: false if the thread cannot be created.
 */
bool vipl_dispatch_start(struct vipl_nic *nic)
{
	if (!nic->dispatches)
		nic->dispatches = vipl_thread(&nic->dispatcher, make_calls, nic);
	return nic->dispatches;
}

/**
 * vipl_dispatch() - Queue a call for the thread
 * @nic: vipl_dispatch_start() was called for it
 * @call: freed after the call
 *
 * Context: the NIC's lock is held.
 */
void vipl_dispatch(struct vipl_nic *nic, struct vipl_call *call)
{
	vipl_calls_add(&nic->calls, call);
	pthread_cond_signal(&nic->called);
}

/**
 * vipl_dispatch_is_self() - Whether the calling thread is the one that makes calls
 * @nic: the NIC
 *
 * Context: the NIC's lock is held.
 * Return: true if it is.
 */
bool vipl_dispatch_is_self(const struct vipl_nic *nic)
{
	return nic->dispatches && pthread_equal(nic->dispatcher, pthread_self());
}

/**
 * vipl_dispatch_stop() - Stop the thread that makes calls, and wait for a call in progress
 * @nic: closing
 *
 * Context: the NIC's lock is held; released while it waits.
 */
void vipl_dispatch_stop(struct vipl_nic *nic)
{
	if (nic->dispatches) {
		pthread_cond_signal(&nic->called);
		pthread_mutex_unlock(&nic->lock);
		pthread_join(nic->dispatcher, NULL);
		pthread_mutex_lock(&nic->lock);
	}
	vipl_calls_cancel(&nic->calls, NULL);
}
