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
 * A number is used again only after all others. Context: may sleep. Return: 0 or -ENOMEM.
 */
int ri_handle_new(struct rnic_obj *obj, enum ri_kind kind)
{
	u32 id;
	int err;

	obj->kind = kind;
	INIT_LIST_HEAD(&obj->link);
	kref_init(&obj->ref);
	init_completion(&obj->idle);
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
 * Context: ri_lock is held. Return: 0 or -ENOMEM.
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
 * Context: ri_lock is held.
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
 * ri_look_up - look up the object of a handle
 * @kind: the expected kind
 * @handle: any value
 *
 * Context: any, in an RCU read section; or ri_lock is held. The object is valid until its end.
 *
 * Return: the object or NULL.
 */
struct rnic_obj *ri_look_up(enum ri_kind kind, ri_handle_t handle)
{
	uintptr_t id = (uintptr_t)handle;
	struct rnic_obj *obj;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held() && !lockdep_is_held(&ri_lock),
			 "an object of RNICPI is looked up without protection");
	obj = id && id <= U32_MAX ? xa_load(&handles, id) : NULL;
	/* pairs with ri_show() */
	return obj && obj->kind == kind && !smp_load_acquire(&obj->hidden) ? obj : NULL;
}

/**
 * ri_is_rnic - is this an RNIC handle?
 * @rnic: any value
 *
 * Context: any.
 */
bool ri_is_rnic(ri_rnic_handle_t rnic)
{
	bool is;

	rcu_read_lock();
	is = ri_look_up(RI_KIND_RNIC, rnic);
	rcu_read_unlock();
	return is;
}

/**
 * ri_find - look up an object of an RNIC
 * @rnic: an RNIC handle
 * @kind: the expected kind
 * @handle: of the object
 * @ret: set to RI_RET_SUCCESS, or to the code of the invalid handle
 *
 * Context: any, see ri_look_up(). Return: the object or NULL.
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
 * ri_get - hold the object of an RNIC for a call that sleeps
 * @rnic: an RNIC handle
 * @kind: the expected kind
 * @handle: of the object
 * @ret: set to RI_RET_SUCCESS, or to the code of the invalid handle
 *
 * Context: any.
 *
 * Return: the object, whose end waits for ri_put(); or NULL.
 */
struct rnic_obj *ri_get(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
			ri_api_return_t *ret)
{
	struct rnic_obj *obj;

	rcu_read_lock();
	obj = ri_find(rnic, kind, handle, ret);
	if (obj)
		kref_get(&obj->ref);
	rcu_read_unlock();
	return obj;
}

static void is_idle(struct kref *ref)
{
	complete(&container_of(ref, struct rnic_obj, ref)->idle);
}

/**
 * ri_put - let go of an object at the end of a call
 * @obj: of ri_get(); not to be used any more
 *
 * Context: any.
 */
void ri_put(struct rnic_obj *obj)
{
	kref_put(&obj->ref, is_idle);
}

/**
 * ri_quiesce - wait for the calls that have looked an object up
 * @obj: was hidden by the caller
 *
 * Context: may sleep, without ri_lock, as long as the longest of those calls.
 */
void ri_quiesce(struct rnic_obj *obj)
{
	/* after this no further call takes hold of the object */
	synchronize_rcu();
	ri_put(obj);
	wait_for_completion(&obj->idle);
}

/**
 * ri_show - make the handle valid again of an object that cannot be ended
 * @obj: of ri_quiesce()
 *
 * Context: takes ri_lock.
 */
void ri_show(struct rnic_obj *obj)
{
	mutex_lock(&ri_lock);
	kref_init(&obj->ref);
	reinit_completion(&obj->idle);
	/* the count before a lookup finds the object */
	smp_store_release(&obj->hidden, false);
	mutex_unlock(&ri_lock);
}

/**
 * ri_hide - begin to end an object: lookups of its handle fail from now on
 * @rnic: an RNIC handle
 * @kind: the expected kind
 * @handle: of the object
 * @inuse: the code if it has users
 * @ret: set to RI_RET_SUCCESS, @inuse, or the code of the invalid handle
 *
 * Context: takes ri_lock, and waits for calls on the object that are in progress.
 *
 * Return: the object, which only the caller knows, and ends; or NULL.
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
	if (obj)
		ri_quiesce(obj);
	return obj;
}
