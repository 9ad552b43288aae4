// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Handles: numbers by which objects are looked up; creation and end of objects. */

#include <linux/slab.h>
#include "rnicpi/kernel/rnic.h"

/* Held while objects are created, changed and ended: see rnic.h */
DEFINE_MUTEX(ri_lock);

static DEFINE_XARRAY_ALLOC1(handles);
static u32 next_handle;

/**
 * ri_handle_new - give an object a handle
 * @obj: zero except for os_data and rnic
 * @kind: kind of the object
 *
 * Numbers are cyclic: one is used again only after all others. May sleep. Return: 0 or -ENOMEM.
 */
int ri_handle_new(struct rnic_obj *obj, enum ri_kind kind)
{
	u32 id;
	int err;

	obj->kind = kind;
	INIT_LIST_HEAD(&obj->link);
	err = xa_alloc_cyclic(&handles, &id, NULL, XA_LIMIT(1, U32_MAX), &next_handle,
			      GFP_KERNEL);
	if (err < 0)
		return -ENOMEM;
	obj->handle = (ri_handle_t)(uintptr_t)id;
	/* set the handle before a lookup can find the object; the entry is reserved */
	xa_store(&handles, id, obj, GFP_KERNEL);
	return 0;
}

/**
 * ri_enter - give a new object a handle, and add it to its RNIC handle
 * @obj: zero
 * @kind: kind of the object
 * @rnic: its RNIC handle
 * @os_data: the consumer's
 *
 * ri_lock is held. Return: 0 or -ENOMEM.
 */
int ri_enter(struct rnic_obj *obj, enum ri_kind kind, struct rnic *rnic, ri_os_data_t os_data)
{
	int err;

	obj->rnic = rnic;
	obj->os_data = os_data;
	err = ri_handle_new(obj, kind);
	if (err)
		return err;
	list_add_tail(&obj->link, &rnic->objects);
	rnic->obj.users++;
	return 0;
}

/**
 * ri_leave - remove an object
 * @obj: of ri_enter() or ri_handle_new(); freed after a grace period
 *
 * ri_lock is held.
 */
void ri_leave(struct rnic_obj *obj)
{
	xa_erase(&handles, (uintptr_t)obj->handle);
	list_del(&obj->link);
	if (obj->rnic)
		obj->rnic->obj.users--;
	kfree_rcu(obj, rcu);
}

/**
 * ri_look_up - the object of a handle
 * @kind: the expected kind
 * @handle: any value
 *
 * Any context. The object stays valid until it is ended, and in any case as long as the caller
 * stays in its RCU read-side section.
 *
 * Return: the object or NULL.
 */
struct rnic_obj *ri_look_up(enum ri_kind kind, ri_handle_t handle)
{
	uintptr_t id = (uintptr_t)handle;
	struct rnic_obj *obj;

	rcu_read_lock();
	obj = id && id <= U32_MAX ? xa_load(&handles, id) : NULL;
	if (obj && (obj->kind != kind || READ_ONCE(obj->hidden)))
		obj = NULL;
	rcu_read_unlock();
	return obj;
}

/**
 * ri_find - the object of an RNIC
 * @rnic: an RNIC handle
 * @kind: the expected kind
 * @handle: of the object
 * @ret: set to RI_RET_SUCCESS, or to the code of the invalid handle
 *
 * Any context, see ri_look_up(). Return: the object or NULL.
 */
struct rnic_obj *ri_find(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
			 ri_api_return_t *ret)
{
	struct rnic_obj *r = ri_look_up(RI_KIND_RNIC, rnic);
	struct rnic_obj *obj = r ? ri_look_up(kind, handle) : NULL;

	if (obj && obj->rnic != to_rnic(r))
		obj = NULL;
	*ret = obj ? RI_RET_SUCCESS : ri_invalid(r ? kind : RI_KIND_RNIC);
	return obj;
}

/**
 * ri_hide - begin to end an object: lookups of its handle fail from now on
 * @rnic: an RNIC handle
 * @kind: the expected kind
 * @handle: of the object
 * @inuse: the code if it has users
 * @ret: set to RI_RET_SUCCESS, @inuse, or the code of the invalid handle
 *
 * Takes ri_lock. Return: the object, which only the caller ends; or NULL.
 */
struct rnic_obj *ri_hide(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
			 ri_api_return_t inuse, ri_api_return_t *ret)
{
	struct rnic_obj *obj;

	mutex_lock(&ri_lock);
	obj = ri_find(rnic, kind, handle, ret);
	if (obj && obj->users) {
		*ret = inuse;
		obj = NULL;
	}
	if (obj)
		WRITE_ONCE(obj->hidden, true);
	mutex_unlock(&ri_lock);
	return obj;
}
