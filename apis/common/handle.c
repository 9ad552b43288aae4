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

/*
 * Under @lock. @calls: on the object, in progress; @enders: threads that wait for their end;
 * @closed: one thread alone has the object
 */
struct slot {
	void *object;
	unsigned int kind;
	uint32_t generation;
	uint32_t next_free;
	unsigned int calls;
	unsigned int enders;
	bool closed;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;	/* of calls and closed */
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
	if (max > INDEX_MASK + 1)
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
	slots[i] = (struct slot){ .generation = 1 };
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

/* The slot of a handle of @kind, whose object begins with a pointer to that of @owner, if any */
static struct slot *find_of(unsigned int kind, const void *handle, const void *owner)
{
	struct slot *slot = find(handle), *of = owner ? find(owner) : NULL;

	if (!slot || slot->kind != kind)
		return NULL;
	return !owner || (of && of->object == *(void **)slot->object) ? slot : NULL;
}

/**
 * handle_enter() - A call on an object begins
 * @kind: the expected kind
 * @handle: any value that a program has passed
 * @owner: handle of the object that the object of @handle begins with a pointer to, or NULL
 * @more: the caller is in a call on another object
 *
 * The object stays until handle_leave(). Waits for a thread that ends it; and, unless @more, for
 * one that waits to end it, so that calls which overlap do not keep that one for ever.
 *
 * Context: any thread; takes the lock of the handles; may wait.
 * Return: the object, or NULL if @handle is not a valid handle of @kind and @owner.
 */
void *handle_enter(unsigned int kind, const void *handle, const void *owner, bool more)
{
	void *object = NULL;
	struct slot *slot;

	pthread_mutex_lock(&lock);
	while (slot = find_of(kind, handle, owner),
	       slot && (slot->closed || (slot->enders && !more)))
		pthread_cond_wait(&changed, &lock);
	if (slot) {
		slot->calls++;
		object = slot->object;
	}
	pthread_mutex_unlock(&lock);
	return object;
}

/**
 * handle_leave() - A call on an object is done
 * @handle: of handle_enter()
 *
 * Context: any thread; takes the lock of the handles.
 */
void handle_leave(const void *handle)
{
	struct slot *slot;

	pthread_mutex_lock(&lock);
	slot = find(handle);
	if (slot && !--slot->calls && slot->enders)
		pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/**
 * handle_close() - Wait for the calls on an object, and keep others from beginning
 * @kind: the expected kind
 * @handle: any value that a program has passed
 * @owner: as handle_enter()
 *
 * Calls that begin wait for handle_reopen(), or for handle_free(), after which they find nothing.
 * One that looks the handle up with handle_object() or handle_owner() does not wait.
 *
 * Context: any thread that is in no call on the object; takes the lock of the handles; may wait.
 * Return: the object, the caller's alone, or NULL as handle_enter().
 */
void *handle_close(unsigned int kind, const void *handle, const void *owner)
{
	void *object = NULL;
	struct slot *slot;

	pthread_mutex_lock(&lock);
	while (slot = find_of(kind, handle, owner), slot && (slot->closed || slot->calls)) {
		slot->enders++;
		pthread_cond_wait(&changed, &lock);
		slot = find(handle);
		if (slot)
			slot->enders--;
	}
	if (slot) {
		slot->closed = true;
		object = slot->object;
	}
	pthread_mutex_unlock(&lock);
	return object;
}

/**
 * handle_reopen() - The object of a closed handle stays
 * @handle: of handle_close()
 *
 * Context: any thread; takes the lock of the handles.
 */
void handle_reopen(const void *handle)
{
	pthread_mutex_lock(&lock);
	find(handle)->closed = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/**
 * handle_of() - Find the objects of an owner
 * @kind: their kind; they begin with a pointer to their owner
 * @owner: the owner
 * @at: where to go on; 0 at first
 *
 * Context: any thread; takes the lock of the handles.
 * Return: the next handle, or NULL.
 */
void *handle_of(unsigned int kind, const void *owner, uint32_t *at)
{
	void *handle = NULL;

	pthread_mutex_lock(&lock);
	while (!handle && ++*at < num_slots)
		if (slots[*at].object && slots[*at].kind == kind &&
		    *(void **)slots[*at].object == owner)
			handle = to_handle(*at);
	pthread_mutex_unlock(&lock);
	return handle;
}

static void free_slot(struct slot *slot)
{
	*slot = (struct slot){ .generation = slot->generation + 1, .next_free = first_free };
	first_free = slot - slots;
}

/**
 * handle_free() - Make a handle invalid
 * @handle: valid, or closed
 *
 * Context: any thread; takes the lock of the handles.
 */
void handle_free(void *handle)
{
	struct slot *slot;

	pthread_mutex_lock(&lock);
	slot = find(handle);
	if (slot) {
		if (slot->closed)
			pthread_cond_broadcast(&changed);
		free_slot(slot);
	}
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
	if (child)
		changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_mutex_unlock(&lock);
}
