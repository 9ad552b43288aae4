// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The access layer of the kernel (3.2): the list of RNICs, of any provider, and the vector
 * of each handle. It knows a provider only by its ri_svc_attach().
 *
 * Providers are called without a lock, clients under client_lock. The list of RNICs changes under
 * client_lock, so each client is told of each RNIC once that it is there, and once that it goes.
 */

#include <linux/export.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/xarray.h>
#include "rnicpi/kernel/rnic.h"
#include <rnicpi/rix_kernel.h>

#define DEV_INFO_LEN	16

/**
 * struct kal_vp - an attached RNIC
 * @link: in the list of all: changes under client_lock and kal_lock
 * @leaving: client_lock: clients were told that it goes
 * @refs: one for the list, one for each call
 * @hdl: the provider's handle
 * @dev_info: name of the network interface
 * @svcs: other parameters of ri_svc_attach()
 * @al: the provider's vector, with this layer's functions for some calls
 * @vp: likewise, of the provider's vector that locks, or of @orig if it has none
 * @orig: the provider's own vector, for @al
 * @vp_orig: the provider's own vector, for @vp
 * @open: ri_rnic_open() has succeeded
 */
struct kal_vp {
	struct list_head link;
	bool leaving;
	refcount_t refs;
	ri_vp_handle_t hdl;
	char dev_info[DEV_INFO_LEN];
	ri_services_dev_arg_t svcs;
	ri_ops_t al;
	ri_ops_t vp;
	const ri_ops_t *orig;
	const ri_ops_t *vp_orig;
	bool open;
};

static DEFINE_MUTEX(kal_lock);
static LIST_HEAD(vps);
/* Serializes changes of both lists and calls to clients; outside kal_lock */
static DEFINE_MUTEX(client_lock);
static LIST_HEAD(clients);
/* const ri_ops_t, by RNIC handle and by the provider's handle */
static DEFINE_XARRAY(vectors);

/* Under client_lock or kal_lock */
static struct kal_vp *find(ri_vp_handle_t hdl)
{
	struct kal_vp *vp;

	list_for_each_entry(vp, &vps, link)
		if (vp->hdl == hdl)
			return vp;
	return NULL;
}

static struct kal_vp *get(ri_vp_handle_t hdl)
{
	struct kal_vp *vp;

	mutex_lock(&kal_lock);
	vp = find(hdl);
	if (vp)
		refcount_inc(&vp->refs);
	mutex_unlock(&kal_lock);
	return vp;
}

static void put(struct kal_vp *vp)
{
	if (refcount_dec_and_test(&vp->refs))
		kfree(vp);
}

/**
 * ri_svc_ops - the vector of a handle
 * @handle: a VP handle or an RNIC handle; for anything else each function of the vector refuses
 *
 * Context: any. The caller uses the vector without protection: the vector of a provider's handle
 * is this layer's own, and that of an RNIC handle the provider's, which outlives its consumers.
 *
 * Return: the vector, never NULL.
 */
const struct ri_ops *ri_svc_ops(void *handle)
{
	return xa_load(&vectors, (unsigned long)handle) ?: (void *)&ri_no_ops;
}
EXPORT_SYMBOL_GPL(ri_svc_ops);

/* ----- intercepted calls to a provider ----- */

static ri_api_return_t kal_rnic_open(ri_vp_handle_t vp_hdl, ri_pbl_mode_t mode,
				     ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	ri_api_return_t ret;

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	ret = vp->orig->ri_op_rnic_open(vp_hdl, mode, os_data, err_data);
	if (!ret)
		WRITE_ONCE(vp->open, true);
	put(vp);
	return ret;
}

static ri_api_return_t kal_rnic_close(ri_vp_handle_t vp_hdl, ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	ri_api_return_t ret;

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	ret = vp->orig->ri_op_rnic_close(vp_hdl, err_data);
	if (!ret)
		WRITE_ONCE(vp->open, false);
	put(vp);
	return ret;
}

/*
 * The RNIC handle gets the provider's own vector, of the model (al or vp) that was called: this
 * vector stays valid when the RNIC is gone. Calls that this layer intercepts have the provider's
 * handle.
 */
static ri_api_return_t get_hdl(ri_vp_handle_t vp_hdl, bool al, ri_consumer_domain_t location,
			       ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,
			       ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	const ri_ops_t *ops;
	ri_api_return_t ret;
	int err = 0;

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	ops = al ? vp->orig : vp->vp_orig;
	ret = ops->ri_op_rnic_get_hdl(vp_hdl, location, rnic, vp_data, os_data, err_data);
	if (!ret)
		err = xa_err(xa_store(&vectors, (unsigned long)*rnic, (void *)ops, GFP_KERNEL));
	if (err) {
		ops->ri_op_rnic_free_hdl(vp_hdl, *rnic, NULL);
		ret = ri_failed(err_data, err, RI_RET_FAIL);
	}
	put(vp);
	return ret;
}

static ri_api_return_t kal_rnic_get_hdl_al(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,
					   ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,
					   ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return get_hdl(vp_hdl, true, location, rnic, vp_data, os_data, err_data);
}

static ri_api_return_t kal_rnic_get_hdl(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,
					ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,
					ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return get_hdl(vp_hdl, false, location, rnic, vp_data, os_data, err_data);
}

static ri_api_return_t kal_rnic_free_hdl(ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic,
					 ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	ri_api_return_t ret;

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	ret = vp->orig->ri_op_rnic_free_hdl(vp_hdl, rnic, err_data);
	if (!ret)
		xa_erase(&vectors, (unsigned long)rnic);
	put(vp);
	return ret;
}

static ri_api_return_t kal_async_set_event_handler(ri_vp_handle_t vp_hdl,
						   ri_async_event_callback_t callback,
						   ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	ri_api_return_t ret;

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	ret = vp->vp_orig->ri_op_async_set_event_handler(vp_hdl, callback, err_data);
	put(vp);
	return ret;
}

static ri_api_return_t kal_cq_set_event_handler(ri_vp_handle_t vp_hdl,
						ri_cq_event_handler_id_t *handler_id,
						ri_cq_event_callback_t callback,
						ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	ri_api_return_t ret;

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	ret = vp->vp_orig->ri_op_cq_set_event_handler(vp_hdl, handler_id, callback, err_data);
	put(vp);
	return ret;
}

/* A provider's handle is no RNIC handle */
#define OF_VP(...)
#define OF_RNIC(name, ...)							\
	static ri_api_return_t kal_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{									\
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);		\
	}
#define RI_FUNCTION(name, handle, callers, ...) OF_##handle(name, __VA_ARGS__)
#include "rnicpi/shared/functions.h"

/* The vector of all providers' handles. Its functions look the RNIC up, which may be gone */
static const ri_ops_t vp_vector = {
#define RI_FUNCTION(name, ...) .ri_op_##name = kal_##name,
#include "rnicpi/shared/functions.h"
};

static void fill_vector(ri_ops_t *to, const ri_ops_t *from, bool al)
{
	*to = *from;
	to->ri_op_rnic_open = kal_rnic_open;
	to->ri_op_rnic_close = kal_rnic_close;
	to->ri_op_rnic_get_hdl = al ? kal_rnic_get_hdl_al : kal_rnic_get_hdl;
	to->ri_op_rnic_free_hdl = kal_rnic_free_hdl;
}

/* ----- attach and detach ----- */

static bool vector_is_whole(const ri_ops_t *ops)
{
	void *const *fn = (void *const *)ops;
	size_t i;

	for (i = 0; i < sizeof(*ops) / sizeof(*fn); i++)
		if (!fn[i])
			return false;
	return true;
}

static bool is_text(const char *text, size_t room)
{
	size_t len = strnlen(text, room);

	return len && len < room;
}

static ri_api_return_t check(ri_vp_handle_t vp_hdl, ri_dev_info_t dev_info,
			     const ri_services_dev_arg_t *svcs, const ri_ops_t *al,
			     const ri_ops_t *vp)
{
	if (!vp_hdl)
		return RI_RET_VP_INVALID_HANDLE;
	if (!svcs || !al || !vector_is_whole(al) || (vp && !vector_is_whole(vp)))
		return RI_RET_INVALID_PARAMETER;
	if (!dev_info || !is_text(dev_info, DEV_INFO_LEN))
		return RI_RET_INVALID_DEV_INFO;
	if (svcs->rnicpi_major_version != 1)
		return RI_RET_INVALID_VP_VERSION;
	if (!is_text(svcs->hw_path, sizeof(svcs->hw_path)))
		return RI_RET_INVALID_HW_PATH;
	return is_text(svcs->lib_path, sizeof(svcs->lib_path)) ? RI_RET_SUCCESS :
								 RI_RET_INVALID_LIB_PATH;
}

static struct kal_vp *vp_new(ri_vp_handle_t vp_hdl, const char *dev_info,
			     const ri_services_dev_arg_t *svcs, const ri_ops_t *al,
			     const ri_ops_t *vp_ops)
{
	struct kal_vp *vp = kzalloc(sizeof(*vp), GFP_KERNEL);

	if (!vp)
		return NULL;
	refcount_set(&vp->refs, 1);
	vp->hdl = vp_hdl;
	strscpy(vp->dev_info, dev_info, sizeof(vp->dev_info));
	vp->svcs = *svcs;
	vp->orig = al;
	vp->vp_orig = vp_ops ?: al;
	fill_vector(&vp->al, vp->orig, true);
	fill_vector(&vp->vp, vp->vp_orig, false);
	return vp;
}

/* Under client_lock. Lists an RNIC, and tells the clients that it is there */
static int enter(struct kal_vp *vp)
{
	struct rix_client *client;
	int err;

	/* fails also if the number is an RNIC handle */
	err = xa_insert(&vectors, (unsigned long)vp->hdl, (void *)&vp_vector, GFP_KERNEL);
	if (err)
		return err;
	mutex_lock(&kal_lock);
	list_add_tail(&vp->link, &vps);
	mutex_unlock(&kal_lock);
	list_for_each_entry(client, &clients, link)
		client->attached(client, vp->hdl);
	return 0;
}

/* Under client_lock. Tells the clients, once, that an RNIC is about to go */
static void begin_to_leave(struct kal_vp *vp)
{
	struct rix_client *client;

	if (vp->leaving)
		return;
	vp->leaving = true;
	list_for_each_entry(client, &clients, link)
		client->detaching(client, vp->hdl);
}

/**
 * ri_svc_attach - attach an RNIC of a provider
 * @vp_hdl: the provider's handle of it, unique, not NULL
 * @dev_info: its network interface
 * @svcs: its other parameters
 * @al_locking_ops: its vector for callers that lock, in use until ri_svc_detach()
 * @vp_locking_ops: its vector that locks, or NULL
 * @err_data: may be NULL
 *
 * Notifies clients, which may call its functions before this returns. Context: may sleep; not in a
 * callback of a client.
 *
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_INVALID_DEV_INFO, RI_RET_INVALID_VP_VERSION, RI_RET_INVALID_HW_PATH,
 * RI_RET_INVALID_LIB_PATH, RI_RET_RNIC_INUSE, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_svc_attach(ri_vp_handle_t vp_hdl, ri_dev_info_t dev_info,
			      ri_services_dev_arg_t *svcs, ri_ops_t *al_locking_ops,
			      ri_ops_t *vp_locking_ops, ri_err_data_t *err_data)
{
	ri_api_return_t ret = check(vp_hdl, dev_info, svcs, al_locking_ops, vp_locking_ops);
	struct kal_vp *vp;
	int err;

	if (ret)
		return ri_answer(err_data, ret);
	vp = vp_new(vp_hdl, dev_info, svcs, al_locking_ops, vp_locking_ops);
	if (!vp)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	mutex_lock(&client_lock);
	err = enter(vp);
	mutex_unlock(&client_lock);
	if (!err)
		return ri_done(err_data);
	put(vp);
	return ri_failed(err_data, err, RI_RET_RNIC_INUSE);
}
EXPORT_SYMBOL_GPL(ri_svc_attach);

static ri_api_return_t detach(ri_vp_handle_t vp_hdl, bool gone)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct kal_vp *vp;

	mutex_lock(&client_lock);
	vp = find(vp_hdl);
	if (!vp)
		ret = RI_RET_VP_INVALID_HANDLE;
	else if (READ_ONCE(vp->open) && !gone)
		ret = RI_RET_RNIC_INUSE;
	if (!ret) {
		begin_to_leave(vp);
		xa_erase(&vectors, (unsigned long)vp_hdl);
		mutex_lock(&kal_lock);
		list_del(&vp->link);
		mutex_unlock(&kal_lock);
		put(vp);
	}
	mutex_unlock(&client_lock);
	return ret;
}

/**
 * ri_svc_detach - detach an RNIC of a provider
 * @vp_hdl: of ri_svc_attach(); not open
 * @err_data: may be NULL
 *
 * Notifies clients that it goes. No new calls reach the provider after this; calls in progress
 * are not waited for. Context: may sleep; not in a callback of a client.
 *
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE, RI_RET_RNIC_INUSE
 */
ri_api_return_t ri_svc_detach(ri_vp_handle_t vp_hdl, ri_err_data_t *err_data)
{
	return ri_answer(err_data, detach(vp_hdl, false));
}
EXPORT_SYMBOL_GPL(ri_svc_detach);

/**
 * ri_kal_leaving - an RNIC is about to be detached
 * @vp_hdl: of ri_svc_attach(); nothing happens if it is detached already
 *
 * Notifies clients, which end their objects of it. Context: may sleep.
 */
void ri_kal_leaving(ri_vp_handle_t vp_hdl)
{
	struct kal_vp *vp;

	mutex_lock(&client_lock);
	vp = find(vp_hdl);
	if (vp)
		begin_to_leave(vp);
	mutex_unlock(&client_lock);
}

/**
 * ri_kal_forget - remove the vector of an RNIC handle
 * @rnic: freed by the provider, not by its consumer
 *
 * Context: may sleep.
 */
void ri_kal_forget(ri_rnic_handle_t rnic)
{
	xa_erase(&vectors, (unsigned long)rnic);
}

/**
 * ri_kal_gone - detach an RNIC, open or not
 * @vp_hdl: of ri_svc_attach(); does nothing if it is detached already
 *
 * As ri_svc_detach(), for a provider whose device is leaving. Context: may sleep.
 */
void ri_kal_gone(ri_vp_handle_t vp_hdl)
{
	detach(vp_hdl, true);
}

/* ----- extensions ----- */

/**
 * rix_client_register - register callbacks for RNICs that attach and detach
 * @client: with its callbacks; attached() is called for existing RNICs before this returns
 *
 * Context: may sleep; not in a callback of a client.
 */
void rix_client_register(struct rix_client *client)
{
	struct kal_vp *vp;

	mutex_lock(&client_lock);
	list_add_tail(&client->link, &clients);
	list_for_each_entry(vp, &vps, link)
		if (!vp->leaving)
			client->attached(client, vp->hdl);
	mutex_unlock(&client_lock);
}
EXPORT_SYMBOL_GPL(rix_client_register);

/**
 * rix_client_unregister - unregister the callbacks
 * @client: of rix_client_register(); detaching() is called for each RNIC that still exists
 *
 * Its callbacks are not called after this. Context: may sleep; not in a callback of a client.
 */
void rix_client_unregister(struct rix_client *client)
{
	struct kal_vp *vp;

	mutex_lock(&client_lock);
	list_del(&client->link);
	list_for_each_entry(vp, &vps, link)
		if (!vp->leaving)
			client->detaching(client, vp->hdl);
	mutex_unlock(&client_lock);
}
EXPORT_SYMBOL_GPL(rix_client_unregister);

/**
 * rix_rnic_info - parameters with which an RNIC was attached
 * @vp_hdl: the provider's handle of the RNIC
 * @dev_info: set to the name of its network interface; may be NULL
 * @len: size of @dev_info
 * @svcs: set to that of ri_svc_attach(); may be NULL
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE
 */
ri_api_return_t rix_rnic_info(ri_vp_handle_t vp_hdl, char *dev_info, size_t len,
			      ri_services_dev_arg_t *svcs, ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	if (dev_info && len)
		strscpy(dev_info, vp->dev_info, len);
	if (svcs)
		*svcs = vp->svcs;
	put(vp);
	return ri_done(err_data);
}
EXPORT_SYMBOL_GPL(rix_rnic_info);

/**
 * rix_rnic_vectors - the vectors of an RNIC
 * @vp_hdl: the provider's handle of the RNIC
 * @al_locking_ops: for callers that lock; may be NULL
 * @vp_locking_ops: the vector that locks; may be NULL
 * @err_data: may be NULL
 *
 * An RNIC handle has the vector whose ri_op_rnic_get_hdl made it. Both vectors are
 * valid until the RNIC is detached. Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE
 */
ri_api_return_t rix_rnic_vectors(ri_vp_handle_t vp_hdl, const ri_ops_t **al_locking_ops,
				 const ri_ops_t **vp_locking_ops, ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	if (al_locking_ops)
		*al_locking_ops = &vp->al;
	if (vp_locking_ops)
		*vp_locking_ops = &vp->vp;
	put(vp);
	return ri_done(err_data);
}
EXPORT_SYMBOL_GPL(rix_rnic_vectors);
