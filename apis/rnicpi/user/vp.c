// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The vectors of devices and handles, and the libraries that provide them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rnicpi/rix.h>
#include "rnic.h"

/* Under ri_lock */
static struct library {
	struct library *next;
	char path[RI_MAX_LIB_PATH_LEN];
	const struct ri_ops *al, *vp;
} *libraries;

/* --- libraries --- */

static struct library *library_of(const char *path)
{
	struct library *lib = libraries;

	while (lib && strcmp(lib->path, path))
		lib = lib->next;
	return lib;
}

static bool library_add(const char *path, const struct ri_ops *al, const struct ri_ops *vp)
{
	struct library *lib = calloc(1, sizeof(*lib));

	if (!lib)
		return false;
	snprintf(lib->path, sizeof(lib->path), "%s", path);
	lib->al = al;
	lib->vp = vp;
	lib->next = libraries;
	libraries = lib;
	return true;
}

/* Registers this library as the provider of srnic and of all other devices. */
static __attribute__((constructor(101))) void register_own(void)
{
	library_add(NATIVE_PATH, &ri_al_ops, &ri_vp_ops);
	library_add(OTHER_PATH, &ri_al_ops, &ri_vp_ops);
}

static bool vector_is_whole(const struct ri_ops *ops)
{
	void (*const *fn)(void) = (void (*const *)(void))ops;
	size_t i;

	for (i = 0; ops && i < sizeof(*ops) / sizeof(fn[0]); i++)
		if (!fn[i])
			return false;
	return ops;
}

/**
 * ri_svc_lib_reg() - Register the library of a verbs provider
 * @lib_path: path, as in the attributes of a device
 * @al_locking_ops: its vector for callers that lock, without NULL functions
 * @vp_locking_ops: its vector that locks, or NULL
 * @os_data: ignored
 * @err_data: may be NULL
 *
 * Context: any thread; takes ri_lock.
 * Return: RI_RET_SUCCESS, RI_RET_INVALID_PARAMETER; RI_RET_INVALID_LIB_PATH: no device uses
 * this library; RI_RET_RNIC_INUSE: it is registered already; RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_svc_lib_reg(char *lib_path, ri_ops_t *al_locking_ops, ri_ops_t *vp_locking_ops,
			       ri_os_data_t os_data, ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	KEEP_ERRNO;

	(void)os_data;
	if (!lib_path || !vector_is_whole(al_locking_ops) ||
	    (vp_locking_ops && !vector_is_whole(vp_locking_ops)))
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	pthread_mutex_lock(&ri_lock);
	if (library_of(lib_path))
		ret = RI_RET_RNIC_INUSE;
	else if (!ri_vp_is_known(lib_path))
		ret = RI_RET_INVALID_LIB_PATH;
	else if (!library_add(lib_path, al_locking_ops, vp_locking_ops))
		ret = RI_RET_RESOURCE_SHORTAGE;
	pthread_mutex_unlock(&ri_lock);
	return ri_answer(err_data, ret);
}

/**
 * rix_rnic_vectors() - The vectors of a device's library
 * @vp_hdl: of rix_rnic_list()
 * @al_locking_ops: for callers that lock; may be NULL
 * @vp_locking_ops: the vector that locks; may be NULL
 * @err_data: may be NULL
 *
 * An RNIC handle has the vector whose ri_op_rnic_get_hdl made it.
 *
 * Context: any thread; takes ri_lock.
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE
 */
ri_api_return_t rix_rnic_vectors(ri_vp_handle_t vp_hdl, const ri_ops_t **al_locking_ops,
				 const ri_ops_t **vp_locking_ops, ri_err_data_t *err_data)
{
	struct rnic_vp *vp = handle_object(RI_KIND_VP, vp_hdl);
	struct library *lib;

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	pthread_mutex_lock(&ri_lock);
	lib = library_of(vp->lib_path);
	pthread_mutex_unlock(&ri_lock);
	if (al_locking_ops)
		*al_locking_ops = lib->al;
	if (vp_locking_ops)
		*vp_locking_ops = lib->vp;
	return ri_done(err_data);
}

/**
 * ri_svc_ops() - The vector of a handle
 * @handle: a VP handle or an RNIC handle; for anything else each function of the vector refuses
 *
 * Context: any thread.
 * Return: the vector, never NULL.
 */
const struct ri_ops *ri_svc_ops(void *handle)
{
	const struct ri_ops *ops = handle_owner(RI_KIND_RNIC, handle);	/* its first member */

	if (ops)
		return ops;
	return handle_object(RI_KIND_VP, handle) ? &ri_vp_ops : &ri_no_ops;
}
