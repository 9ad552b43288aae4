// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls on objects, and the end of objects. The result is as if one call came after the other
 * (4.3): a call finds an object, which then stays until the call is done, or finds none.
 */
#include <stdlib.h>
#include "rnic.h"

static void *found(void *object, ri_rnic_handle_t rnic, enum ri_kind kind, ri_api_return_t *ret)
{
	*ret = RI_RET_SUCCESS;
	if (!object)
		*ret = ri_invalid(handle_object(RI_KIND_RNIC, rnic) ? kind : RI_KIND_RNIC);
	return object;
}

/**
 * ri_new_handle() - Make a handle that a program gets
 * @kind: kind of @object
 * @object: whole: other threads may use the handle at once
 * @handle: set if there is memory; else it is left as it is
 *
 * Context: any thread.
 * Return: whether there is a handle.
 */
bool ri_new_handle(enum ri_kind kind, void *object, ri_handle_t *handle)
{
	ri_handle_t new = handle_new(kind, object);

	if (new)
		*handle = new;
	return new;
}

/**
 * ri_enter() - A call on an object of an RNIC begins
 * @rnic: an RNIC handle
 * @kind: the expected kind; neither RI_KIND_VP nor RI_KIND_RNIC
 * @handle: of the object, also of handle_leave() at the end of the call
 * @ret: set to RI_RET_SUCCESS, or to the code of the invalid handle
 *
 * Context: any thread; may wait for a call that ends the object.
 * Return: the object, which stays until the call ends, as does its RNIC; or NULL.
 */
void *ri_enter(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle, ri_api_return_t *ret)
{
	return found(rnic ? handle_enter(kind, handle, rnic, false) : NULL, rnic, kind, ret);
}

/**
 * ri_enter_more() - As ri_enter(), in a call that is on another object, too
 * @rnic: as ri_enter()
 * @kind: as ri_enter()
 * @handle: as ri_enter()
 * @ret: as ri_enter()
 *
 * Context: as ri_enter().
 * Return: as ri_enter().
 */
void *ri_enter_more(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
		    ri_api_return_t *ret)
{
	return found(rnic ? handle_enter(kind, handle, rnic, true) : NULL, rnic, kind, ret);
}

/**
 * ri_enter_rnic() - A call on an RNIC handle begins
 * @rnic: an RNIC handle, also of handle_leave() at the end of the call
 *
 * Context: any thread; may wait for a call that frees it.
 * Return: the RNIC or NULL.
 */
struct rnic *ri_enter_rnic(ri_rnic_handle_t rnic)
{
	return handle_enter(RI_KIND_RNIC, rnic, NULL, false);
}

/**
 * ri_close() - Have an object of an RNIC alone
 * @rnic: an RNIC handle
 * @kind: as ri_enter()
 * @handle: of the object, also of handle_reopen() or handle_free() afterwards
 * @ret: as ri_enter()
 *
 * Context: any thread that is in no call; waits for the calls on the object.
 * Return: the object or NULL.
 */
void *ri_close(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle, ri_api_return_t *ret)
{
	return found(rnic ? handle_close(kind, handle, rnic) : NULL, rnic, kind, ret);
}

/**
 * ri_end() - End an object
 * @rnic: an RNIC handle
 * @kind: of the object
 * @handle: of the object
 * @end: ends it in verbs. Return: 0, RI_IN_USE, or an errno
 * @inuse: the code if it has users
 * @err_data: may be NULL
 *
 * Context: any thread that is in no call; waits for the calls on the object.
 * Return: RI_RET_SUCCESS, the code of an invalid handle, @inuse, or a code of ri_failed().
 */
ri_api_return_t ri_end(ri_rnic_handle_t rnic, enum ri_kind kind, ri_handle_t handle,
		       int (*end)(void *object), ri_api_return_t inuse, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	void *object = ri_close(rnic, kind, handle, &ret);
	int err;
	KEEP_ERRNO;

	if (ret)
		return ri_answer(err_data, ret);
	err = end(object);
	if (err) {
		handle_reopen(handle);
		return err == RI_IN_USE ? ri_answer(err_data, inuse) :
					  ri_failed(err_data, err, inuse);
	}
	handle_free(handle);
	free(object);
	return ri_done(err_data);
}
