// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Devices, and the vectors that reach them. The kernel has each iWARP device open, in page
 * mode; rix_rnic_list() is how a program learns of them, which the text leaves out (3.2.3).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rnicpi/rix.h>
#include "rnic.h"

#define NATIVE_PATH	"libsrnic.so.1"
#define OTHER_PATH	"libibverbs.so.1"

pthread_mutex_t ri_lock = PTHREAD_MUTEX_INITIALIZER;

/* Both under ri_lock */
static struct rnic_vp *vps;
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

/* This library is the provider of all devices that nobody else has registered for. */
static __attribute__((constructor)) void register_own(void)
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
 * ri_svc_lib_reg() - Register the library of a verbs provider (ri_svc_lib_reg)
 * @lib_path: as a device names it
 * @al_locking_ops: its vector for callers that lock; no function is NULL
 * @vp_locking_ops: its vector that locks; NULL: it has none
 * @os_data: not looked at
 * @err_data: may be NULL
 *
 * Context: any thread; takes ri_lock.
 * Return: RI_RET_SUCCESS, RI_RET_INVALID_PARAMETER; RI_RET_INVALID_LIB_PATH: no device has
 * such a library; RI_RET_RNIC_INUSE: it is registered; RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_svc_lib_reg(char *lib_path, ri_ops_t *al_locking_ops, ri_ops_t *vp_locking_ops,
			       ri_os_data_t os_data, ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	KEEP_ERRNO;

	(void)os_data;
	if (!lib_path || !vector_is_whole(al_locking_ops) ||
	    (vp_locking_ops && !vector_is_whole(vp_locking_ops)))
		return ri_refuse(err_data, RI_RET_INVALID_PARAMETER);
	pthread_mutex_lock(&ri_lock);
	if (library_of(lib_path))
		ret = RI_RET_RNIC_INUSE;
	else if (!ri_vp_is_known(lib_path))
		ret = RI_RET_INVALID_LIB_PATH;
	else if (!library_add(lib_path, al_locking_ops, vp_locking_ops))
		ret = RI_RET_RESOURCE_SHORTAGE;
	pthread_mutex_unlock(&ri_lock);
	return ret ? ri_refuse(err_data, ret) : ri_done(err_data);
}

/* --- devices --- */

/**
 * ri_vp_is_known() - Whether a device has a library
 * @lib_path: its path
 *
 * Context: ri_lock is held.
 * Return: true if one that was listed has.
 */
bool ri_vp_is_known(const char *lib_path)
{
	struct rnic_vp *vp = vps;

	while (vp && strcmp(vp->lib_path, lib_path))
		vp = vp->next;
	return vp;
}

/**
 * ri_device_list() - All devices
 *
 * Context: any thread; sleeps.
 * Return: for ibv_free_device_list(); NULL with errno
 */
struct ibv_device **ri_device_list(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list && errno == ENOSYS)
		errno = ENOMEM;		/* so verbs says whatever ran out */
	return list;
}

static struct rnic_vp *vp_of(struct ibv_device *device)
{
	const char *name = ibv_get_device_name(device);
	struct rnic_vp *vp = vps;

	while (vp && strcmp(vp->name, name))
		vp = vp->next;
	if (vp)
		return vp;
	vp = calloc(1, sizeof(*vp));
	if (vp)
		vp->handle = handle_new(RI_KIND_VP, vp);
	if (!vp || !vp->handle) {
		free(vp);
		return NULL;
	}
	snprintf(vp->name, sizeof(vp->name), "%s", name);
	snprintf(vp->lib_path, sizeof(vp->lib_path), "%s",
		 srnicdv_is_supported(device) ? NATIVE_PATH : OTHER_PATH);
	vp->ops = &ri_vp_ops;
	vp->next = vps;
	vps = vp;
	return vp;
}

static bool is_iwarp(const struct ibv_device *device)
{
	return device->transport_type == IBV_TRANSPORT_IWARP;
}

/**
 * ri_vp_of() - The handle of a device
 * @device: of verbs
 *
 * Context: any thread; takes ri_lock.
 * Return: the handle, NULL without memory or for a device that is not iWARP.
 */
ri_vp_handle_t ri_vp_of(struct ibv_device *device)
{
	struct rnic_vp *vp;

	pthread_mutex_lock(&ri_lock);
	vp = is_iwarp(device) ? vp_of(device) : NULL;
	pthread_mutex_unlock(&ri_lock);
	return vp ? vp->handle : NULL;
}

/**
 * ri_vps_renew() - New handles for all devices
 *
 * Context: ri_lock is held; in a child, in which no handle is valid.
 */
void ri_vps_renew(void)
{
	struct rnic_vp *vp;

	for (vp = vps; vp; vp = vp->next)
		vp->handle = handle_new(RI_KIND_VP, vp);
}

/**
 * rix_rnic_list() - The iWARP devices of this host
 * @vp_hdls: @num of them at most are filled in
 * @num: room in @vp_hdls; becomes how many there are
 * @err_data: may be NULL
 *
 * A device keeps its handle as long as the program runs.
 *
 * Context: any thread; takes ri_lock.
 * Return: RI_RET_SUCCESS, RI_RET_INVALID_PARAMETER, RI_RET_RESOURCE_SHORTAGE;
 * RI_RET_BUFFER_TOO_SMALL: there are more
 */
ri_api_return_t rix_rnic_list(ri_vp_handle_t *vp_hdls, uint_t *num, ri_err_data_t *err_data)
{
	struct ibv_device **list;
	struct rnic_vp *vp;
	uint_t found = 0;
	int i;
	KEEP_ERRNO;

	if (!num || (*num && !vp_hdls))
		return ri_refuse(err_data, RI_RET_INVALID_PARAMETER);
	list = ri_device_list();
	if (!list)
		return ri_failed(err_data, errno, RI_RET_FAIL);
	pthread_mutex_lock(&ri_lock);
	for (i = 0; list[i]; i++) {
		vp = is_iwarp(list[i]) ? vp_of(list[i]) : NULL;
		if (vp && found++ < *num)
			vp_hdls[found - 1] = vp->handle;
	}
	pthread_mutex_unlock(&ri_lock);
	ibv_free_device_list(list);
	i = found > *num;
	*num = found;
	return i ? ri_refuse(err_data, RI_RET_BUFFER_TOO_SMALL) : ri_done(err_data);
}

/**
 * rix_rnic_name() - The name of a device in verbs
 * @vp_hdl: of rix_rnic_list()
 *
 * Context: any thread.
 * Return: the name, valid for ever, or NULL.
 */
const char *rix_rnic_name(ri_vp_handle_t vp_hdl)
{
	struct rnic_vp *vp = handle_object(RI_KIND_VP, vp_hdl);

	return vp ? vp->name : NULL;
}

/**
 * rix_rnic_vectors() - The vectors of a device's library
 * @vp_hdl: of rix_rnic_list()
 * @al_locking_ops: for callers that lock; may be NULL
 * @vp_locking_ops: the vector that locks; may be NULL
 * @err_data: may be NULL
 *
 * The one whose ri_op_rnic_get_hdl makes an RNIC handle is the one that it has.
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
		return ri_refuse(err_data, RI_RET_VP_INVALID_HANDLE);
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
 * @handle: of a device or an RNIC handle; anything else has a vector that refuses all
 *
 * Context: any thread.
 * Return: the vector, never NULL.
 */
const struct ri_ops *ri_svc_ops(void *handle)
{
	struct rnic *rnic = handle_object(RI_KIND_RNIC, handle);
	struct rnic_vp *vp;

	if (rnic)
		return rnic->ops;
	vp = handle_object(RI_KIND_VP, handle);
	return vp ? vp->ops : &ri_no_rnic_ops;
}
