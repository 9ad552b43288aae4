// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Handles of a library's objects. A handle that a program has made up, has kept for too long or
 * has got from another kind of object must cause an error and not a crash. So it is an index into
 * a table, and the slot's generation.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include "handle.h"

#define INDEX_BITS	20
#define INDEX_MASK	((1u << INDEX_BITS) - 1)

/* Under @lock */
struct slot {
	void *object;
	unsigned int kind;
	uint32_t generation;
	uint32_t next_free;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static uint32_t num_slots = 1;		/* slot 0 is never used: no handle is NULL */
static uint32_t max_slots;
static uint32_t first_free;

/* Makes room for one more slot at the end. Return: false without memory */
static int grow(void)
{
	uint32_t max = max_slots ? max_slots * 2 : 64;
	struct slot *more;

	if (num_slots < max_slots)
		return 1;
	if (max > INDEX_MASK)
		return 0;
	more = realloc(slots, max * sizeof(*slots));
	if (!more)
		return 0;
	slots = more;
	max_slots = max;
	return 1;
}

/* Takes a free slot. Return: its index, 0 if there is none */
static uint32_t take_slot(void)
{
	uint32_t i = first_free;

	if (i) {
		first_free = slots[i].next_free;
		return i;
	}
	if (!grow())
		return 0;
	i = num_slots++;
	slots[i].generation = 1;
	return i;
}

static void *to_handle(uint32_t i)
{
	return (void *)((uintptr_t)slots[i].generation << INDEX_BITS | i);
}

/* The slot of a handle that is in use, or NULL */
static struct slot *find(const void *handle)
{
	uintptr_t value = (uintptr_t)handle;
	uint32_t i = value & INDEX_MASK;

	if (i == 0 || i >= num_slots || slots[i].generation != value >> INDEX_BITS)
		return NULL;
	return slots[i].object ? &slots[i] : NULL;
}

/**
 * handle_new() - Make a handle for an object
 * @kind: kind of @object, a number of the library
 * @object: not NULL
 *
 * Context: any thread; takes the lock of the handles.
 * Return: the handle, or NULL without memory or after a million handles at once.
 */
void *handle_new(unsigned int kind, void *object)
{
	void *handle = NULL;
	uint32_t i;

	pthread_mutex_lock(&lock);
	i = take_slot();
	if (i) {
		slots[i].object = object;
		slots[i].kind = kind;
		handle = to_handle(i);
	}
	pthread_mutex_unlock(&lock);
	return handle;
}

/**
 * handle_object() - Look up the object of a handle
 * @kind: the expected kind
 * @handle: any value that a program has passed
 *
 * Context: any thread; takes the lock of the handles.
 * Return: the object, or NULL if @handle is not a valid handle of @kind.
 */
void *handle_object(unsigned int kind, const void *handle)
{
	struct slot *slot;
	void *object;

	pthread_mutex_lock(&lock);
	slot = find(handle);
	object = slot && slot->kind == kind ? slot->object : NULL;
	pthread_mutex_unlock(&lock);
	return object;
}

/**
 * handle_owner() - Look up the owner of the object of a handle
 * @kind: the expected kind, whose objects begin with a pointer to their owner
 * @handle: any value that a program has passed
 *
 * Context: any thread; takes the lock of the handles. The object may be gone afterwards.
 * Return: the owner, or NULL if @handle is not a valid handle of @kind.
 */
void *handle_owner(unsigned int kind, const void *handle)
{
	struct slot *slot;
	void *owner;

	pthread_mutex_lock(&lock);
	slot = find(handle);
	owner = slot && slot->kind == kind ? *(void **)slot->object : NULL;
	pthread_mutex_unlock(&lock);
	return owner;
}

static void free_slot(struct slot *slot)
{
	slot->object = NULL;
	slot->generation++;
	slot->next_free = first_free;
	first_free = slot - slots;
}

/**
 * handle_free() - Make a handle invalid
 * @handle: valid
 *
 * Context: any thread; takes the lock of the handles.
 */
void handle_free(void *handle)
{
	struct slot *slot;

	pthread_mutex_lock(&lock);
	slot = find(handle);
	if (slot)
		free_slot(slot);
	pthread_mutex_unlock(&lock);
}

/**
 * handle_fork() - Keep the handles from changing while the process forks
 *
 * Context: any thread; takes the lock of the handles, until handle_forked().
 */
void handle_fork(void)
{
	pthread_mutex_lock(&lock);
}

/**
 * handle_forked() - Continue after a fork
 * @child: in the child: all handles become invalid, as they are the parent's
 *
 * Context: after handle_fork().
 */
void handle_forked(bool child)
{
	uint32_t i;

	for (i = 1; child && i < num_slots; i++)
		if (slots[i].object)
			free_slot(&slots[i]);
	pthread_mutex_unlock(&lock);
}
