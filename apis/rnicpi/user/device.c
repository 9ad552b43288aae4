// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The iWARP devices of this host, and their handles. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rnicpi/rix.h>
#include "rnic.h"

pthread_mutex_t ri_lock = PTHREAD_MUTEX_INITIALIZER;

/* Under ri_lock */
static struct rnic_vp *vps;

/**
 * ri_vp_is_known() - Whether a device uses a library
 * @lib_path: path of the library
 *
 * Context: ri_lock is held.
 * Return: true if a device that was listed uses it.
 */
bool ri_vp_is_known(const char *lib_path)
{
	struct rnic_vp *vp = vps;

	while (vp && strcmp(vp->lib_path, lib_path))
		vp = vp->next;
	return vp;
}

/**
 * ri_device_list() - List all devices
 *
 * Context: any thread; sleeps.
 * Return: for ibv_free_device_list(); NULL with errno
 */
struct ibv_device **ri_device_list(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list && errno == ENOSYS)
		errno = ENOMEM;		/* libibverbs says ENOSYS if memory is short, too */
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
 * @device: a device of verbs
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
 * ri_vps_renew() - Give all devices new handles
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
 * @vp_hdls: array of @num handles, filled in
 * @num: in: size of @vp_hdls; out: number of devices
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
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
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
	return i ? ri_answer(err_data, RI_RET_BUFFER_TOO_SMALL) : ri_done(err_data);
}

/**
 * rix_rnic_name() - The name of a device in verbs
 * @vp_hdl: of rix_rnic_list()
 *
 * Context: any thread.
 * Return: the name, never freed, or NULL.
 */
const char *rix_rnic_name(ri_vp_handle_t vp_hdl)
{
	struct rnic_vp *vp = handle_object(RI_KIND_VP, vp_hdl);

	return vp ? vp->name : NULL;
}

/**
 * ri_limits_of() - The limits of a device
 * @rnic: an RNIC handle
 *
 * Context: any thread.
 * Return: the limits.
 */
struct ri_limits ri_limits_of(const struct rnic *rnic)
{
	struct srnic_uresp_dev_query dev = rnic->dev, now;

	/* the administrator may have changed the policy */
	if (rnic->native && !srnicdv_query_device(rnic->ctx, &now, sizeof(now)))
		dev.flags = now.flags;
	return ri_limits_in(&dev, rnic->native);
}
