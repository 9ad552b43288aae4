// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The lock of a NIC. A thread finds a NIC by the handle of one of its objects, and the NIC may be
 * closed before the thread has the lock. So the memory of a NIC is kept for other NICs and never
 * freed, and a thread that has the lock looks the handle up again.
 *
 * A child process does not have the threads of its parent's NICs, so all handles are invalid in it.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include "lock.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t closed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct vipl_nic *closed;		/* NICs that are not open */

/* --- memory of NICs --- */

static struct vipl_nic *take_closed(void)
{
	struct vipl_nic *nic;

	pthread_mutex_lock(&closed_lock);
	nic = closed;
	if (nic)
		closed = nic->next_closed;
	pthread_mutex_unlock(&closed_lock);
	return nic;
}

/**
 * vipl_nic_alloc() - Allocate a NIC
 *
 * Context: any.
 * Return: the NIC, zero except its lock, or NULL without memory.
 */
struct vipl_nic *vipl_nic_alloc(void)
{
	struct vipl_nic *nic = take_closed();

	if (nic) {
		memset(nic, 0, offsetof(struct vipl_nic, lock));
	} else {
		nic = calloc(1, sizeof(*nic));
		if (!nic)
			return NULL;
		pthread_mutex_init(&nic->lock, NULL);
		pthread_cond_init(&nic->changed, NULL);
	}
	nic->self = nic;
	return nic;
}

/**
 * vipl_nic_free() - Free a NIC, for vipl_nic_alloc() alone
 * @nic: without objects
 *
 * Context: the NIC's lock is not held; other threads may still be waiting for it.
 */
void vipl_nic_free(struct vipl_nic *nic)
{
	pthread_mutex_lock(&closed_lock);
	nic->next_closed = closed;
	closed = nic;
	pthread_mutex_unlock(&closed_lock);
}

/* --- the lock --- */

/**
 * vipl_enter() - Look up an object and take the lock of its NIC
 * @kind: the expected kind
 * @handle: any value that a program has passed
 * @nic: set to the NIC; NULL if @handle is not a valid handle of @kind
 *
 * Context: any thread; takes the NIC's lock, until vipl_leave().
 * Return: the object, or NULL.
 */
void *vipl_enter(enum vipl_kind kind, const void *handle, struct vipl_nic **nic)
{
	void *object;

	*nic = handle_owner(kind, handle);
	if (!*nic)
		return NULL;
	pthread_mutex_lock(&(*nic)->lock);
	object = vipl_object(*nic, kind, handle);
	if (object)
		return object;
	pthread_mutex_unlock(&(*nic)->lock);
	*nic = NULL;
	return NULL;
}

/**
 * vipl_leave() - Release the lock of a NIC
 * @nic: of vipl_enter(); NULL: does nothing
 *
 * Context: the NIC's lock is held.
 */
void vipl_leave(struct vipl_nic *nic)
{
	if (nic)
		pthread_mutex_unlock(&nic->lock);
}

/**
 * vipl_object() - Look up an object of a NIC
 * @nic: the NIC
 * @kind: the expected kind
 * @handle: any value that a program has passed
 *
 * Context: the NIC's lock is held.
 * Return: the object, or NULL if @nic has none of @kind with that handle.
 */
void *vipl_object(const struct vipl_nic *nic, enum vipl_kind kind, const void *handle)
{
	return handle_owner(kind, handle) == nic ? handle_object(kind, handle) : NULL;
}

/**
 * vipl_wake() - Let all waiting threads check their conditions
 * @nic: a descriptor is done, or a VI or CQ has ended
 *
 * Context: the NIC's lock is held.
 */
void vipl_wake(struct vipl_nic *nic)
{
	pthread_cond_broadcast(&nic->changed);
}

/**
 * vipl_wake_thread() - Let the NIC's own thread look after it at once
 * @nic: with a thread, which may be asleep until the next completion or event
 *
 * Context: the NIC's lock is held.
 */
void vipl_wake_thread(const struct vipl_nic *nic)
{
	eventfd_write(nic->wake, 1);
}

/**
 * vipl_wait() - Wait for any change of a NIC
 * @nic: may be closed meanwhile
 * @deadline: of vipl_deadline_in()
 *
 * Context: the NIC's lock is held; released while it sleeps; signals do not end it.
 * Return: false when @deadline has passed.
 */
bool vipl_wait(struct vipl_nic *nic, const struct vipl_deadline *deadline)
{
	if (deadline->never)
		return !pthread_cond_wait(&nic->changed, &nic->lock);
	return !pthread_cond_clockwait(&nic->changed, &nic->lock, CLOCK_MONOTONIC, &deadline->at);
}

/* --- fork() --- */

static void before(void)
{
	pthread_mutex_lock(&closed_lock);
	handle_fork();
}

static void in_parent(void)
{
	handle_forked(false);
	pthread_mutex_unlock(&closed_lock);
}

/* Threads that do not exist in the child may hold the locks of the parent's NICs. */
static void in_child(void)
{
	handle_forked(true);
	closed = NULL;
	pthread_mutex_unlock(&closed_lock);
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
