// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The access layer of the kernel (3.2): which RNICs there are, of whatever provider, and
 * which vector a handle has. It knows of a provider only what that says in ri_svc_attach().
 *
 * No lock is held while a provider or a client is called.
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
 * struct kal_vp - an RNIC that is attached
 * @link: kal_lock: of all
 * @refs: one for the list, one for each call
 * @hdl: the provider's handle
 * @dev_info: the network interface
 * @svcs: what else the provider said
 * @al: its vectors, but for what this layer has to see
 * @vp: likewise; without one that locks it is @al
 * @orig: what @al was made of
 * @vp_orig: what @vp was made of
 * @open: ri_rnic_open() has succeeded
 */
struct kal_vp {
	struct list_head link;
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
/* Clients, and the calls to them: outside of kal_lock */
static DEFINE_MUTEX(client_lock);
static LIST_HEAD(clients);
/* By handle of an RNIC or its provider: const ri_ops_t */
static DEFINE_XARRAY(vectors);

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
 * @handle: of an RNIC or its provider; anything else has a vector that refuses all
 *
 * Any context.
 *
 * Return: the vector, never NULL.
 */
const struct ri_ops *ri_svc_ops(void *handle)
{
	return xa_load(&vectors, (unsigned long)handle) ?: (void *)&ri_no_ops;
}
EXPORT_SYMBOL_GPL(ri_svc_ops);

/* ----- what is seen of the calls to a provider ----- */

static ri_api_return_t kal_open(ri_vp_handle_t vp_hdl, ri_pbl_mode_t mode, ri_os_data_t os_data,
				ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	ri_api_return_t ret;

	if (!vp)
		return ri_refuse(err_data, RI_RET_VP_INVALID_HANDLE);
	ret = vp->orig->ri_op_rnic_open(vp_hdl, mode, os_data, err_data);
	if (!ret)
		WRITE_ONCE(vp->open, true);
	put(vp);
	return ret;
}

static ri_api_return_t kal_close(ri_vp_handle_t vp_hdl, ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	ri_api_return_t ret;

	if (!vp)
		return ri_refuse(err_data, RI_RET_VP_INVALID_HANDLE);
	ret = vp->orig->ri_op_rnic_close(vp_hdl, err_data);
	if (!ret)
		WRITE_ONCE(vp->open, false);
	put(vp);
	return ret;
}

/*
 * The handle gets the vector that the call came by: the provider's own, which is there when
 * the RNIC is gone, too. What this layer has to see of it comes by the provider's handle.
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
		return ri_refuse(err_data, RI_RET_VP_INVALID_HANDLE);
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

static ri_api_return_t kal_get_hdl_al(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,
				      ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,
				      ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return get_hdl(vp_hdl, true, location, rnic, vp_data, os_data, err_data);
}

static ri_api_return_t kal_get_hdl_vp(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,
				      ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,
				      ri_os_data_t os_data, ri_err_data_t *err_data)
{
	return get_hdl(vp_hdl, false, location, rnic, vp_data, os_data, err_data);
}

static ri_api_return_t kal_free_hdl(ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic,
				    ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);
	ri_api_return_t ret;

	if (!vp)
		return ri_refuse(err_data, RI_RET_VP_INVALID_HANDLE);
	ret = vp->orig->ri_op_rnic_free_hdl(vp_hdl, rnic, err_data);
	if (!ret)
		xa_erase(&vectors, (unsigned long)rnic);
	put(vp);
	return ret;
}

static void fill_vector(ri_ops_t *to, const ri_ops_t *from, bool al)
{
	*to = *from;
	to->ri_op_rnic_open = kal_open;
	to->ri_op_rnic_close = kal_close;
	to->ri_op_rnic_get_hdl = al ? kal_get_hdl_al : kal_get_hdl_vp;
	to->ri_op_rnic_free_hdl = kal_free_hdl;
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

static void tell_clients(ri_vp_handle_t vp_hdl, bool attached)
{
	struct rix_client *client;

	mutex_lock(&client_lock);
	list_for_each_entry(client, &clients, link) {
		if (attached)
			client->attached(client, vp_hdl);
		else
			client->detaching(client, vp_hdl);
	}
	mutex_unlock(&client_lock);
}

/**
 * ri_svc_attach - an RNIC is there (ri_svc_attach)
 * @vp_hdl: the provider's handle of it, not NULL, which no other has
 * @dev_info: its network interface
 * @svcs: what the provider says of it
 * @al_locking_ops: its vector for callers that lock, in use until ri_svc_detach()
 * @vp_locking_ops: its vector that locks, or NULL
 * @err_data: may be NULL
 *
 * Clients are told, and call its functions, before this returns. May sleep.
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
		return ri_refuse(err_data, ret);
	vp = vp_new(vp_hdl, dev_info, svcs, al_locking_ops, vp_locking_ops);
	if (!vp)
		return ri_refuse(err_data, RI_RET_RESOURCE_SHORTAGE);
	mutex_lock(&kal_lock);
	/* also if it is a handle of another RNIC */
	err = xa_insert(&vectors, (unsigned long)vp_hdl, &vp->vp, GFP_KERNEL);
	if (!err)
		list_add_tail(&vp->link, &vps);
	mutex_unlock(&kal_lock);
	if (err) {
		put(vp);
		return ri_failed(err_data, err, RI_RET_RNIC_INUSE);
	}
	tell_clients(vp_hdl, true);
	return ri_done(err_data);
}
EXPORT_SYMBOL_GPL(ri_svc_attach);

static ri_api_return_t detach(ri_vp_handle_t vp_hdl, bool gone)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct kal_vp *vp;

	mutex_lock(&kal_lock);
	vp = find(vp_hdl);
	if (!vp)
		ret = RI_RET_VP_INVALID_HANDLE;
	else if (READ_ONCE(vp->open) && !gone)
		ret = RI_RET_RNIC_INUSE;
	if (!ret) {
		xa_erase(&vectors, (unsigned long)vp_hdl);
		list_del(&vp->link);
	}
	mutex_unlock(&kal_lock);
	if (!ret) {
		/* who looked a vector up may be about to use it */
		synchronize_rcu();
		put(vp);
	}
	return ret;
}

/**
 * ri_svc_detach - an RNIC is no more (ri_svc_detach)
 * @vp_hdl: of ri_svc_attach(); not open
 * @err_data: may be NULL
 *
 * May sleep. Nobody calls the provider when it returns, but who is in a call.
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
 * @vp_hdl: of ri_svc_attach()
 *
 * Clients end what they have of it. May sleep.
 */
void ri_kal_leaving(ri_vp_handle_t vp_hdl)
{
	tell_clients(vp_hdl, false);
}

/**
 * ri_kal_forget - an RNIC handle has no vector any more
 * @rnic: freed by the provider, not by its consumer
 *
 * May sleep.
 */
void ri_kal_forget(ri_rnic_handle_t rnic)
{
	xa_erase(&vectors, (unsigned long)rnic);
}

/**
 * ri_kal_gone - an RNIC is detached, open or not
 * @vp_hdl: of ri_svc_attach(); if somebody else has detached it, nothing happens
 *
 * As ri_svc_detach(), for a provider whose device goes. May sleep.
 */
void ri_kal_gone(ri_vp_handle_t vp_hdl)
{
	detach(vp_hdl, true);
}

/* ----- extensions ----- */

static ri_vp_handle_t nth_vp(unsigned int n)
{
	ri_vp_handle_t hdl = NULL;
	struct kal_vp *vp;

	mutex_lock(&kal_lock);
	list_for_each_entry(vp, &vps, link) {
		if (!n--) {
			hdl = vp->hdl;
			break;
		}
	}
	mutex_unlock(&kal_lock);
	return hdl;
}

/**
 * rix_client_register - be told of RNICs that come and go
 * @client: its functions are set; they are called for the RNICs that are there before this
 *	    returns
 *
 * May sleep.
 */
void rix_client_register(struct rix_client *client)
{
	ri_vp_handle_t hdl;
	unsigned int n;

	mutex_lock(&client_lock);
	list_add_tail(&client->link, &clients);
	for (n = 0; (hdl = nth_vp(n)); n++)
		client->attached(client, hdl);
	mutex_unlock(&client_lock);
}
EXPORT_SYMBOL_GPL(rix_client_register);

/**
 * rix_client_unregister - be told no more
 * @client: of rix_client_register(); told of the end of each RNIC that is still there
 *
 * May sleep. Its functions are not called any more when it returns.
 */
void rix_client_unregister(struct rix_client *client)
{
	ri_vp_handle_t hdl;
	unsigned int n;

	mutex_lock(&client_lock);
	list_del(&client->link);
	for (n = 0; (hdl = nth_vp(n)); n++)
		client->detaching(client, hdl);
	mutex_unlock(&client_lock);
}
EXPORT_SYMBOL_GPL(rix_client_unregister);

/**
 * rix_rnic_info - what a provider has said of an RNIC
 * @vp_hdl: of it
 * @dev_info: becomes the name of its network interface; may be NULL
 * @len: room in @dev_info
 * @svcs: becomes what ri_svc_attach() was told; may be NULL
 * @err_data: may be NULL
 *
 * May sleep. Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE
 */
ri_api_return_t rix_rnic_info(ri_vp_handle_t vp_hdl, char *dev_info, size_t len,
			      ri_services_dev_arg_t *svcs, ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);

	if (!vp)
		return ri_refuse(err_data, RI_RET_VP_INVALID_HANDLE);
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
 * @vp_hdl: of it
 * @al_locking_ops: for callers that lock; may be NULL
 * @vp_locking_ops: the vector that locks; may be NULL
 * @err_data: may be NULL
 *
 * The one whose ri_op_rnic_get_hdl makes an RNIC handle is the one that it has. They are
 * valid until the RNIC is detached. May sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE
 */
ri_api_return_t rix_rnic_vectors(ri_vp_handle_t vp_hdl, const ri_ops_t **al_locking_ops,
				 const ri_ops_t **vp_locking_ops, ri_err_data_t *err_data)
{
	struct kal_vp *vp = get(vp_hdl);

	if (!vp)
		return ri_refuse(err_data, RI_RET_VP_INVALID_HANDLE);
	if (al_locking_ops)
		*al_locking_ops = &vp->al;
	if (vp_locking_ops)
		*vp_locking_ops = &vp->vp;
	put(vp);
	return ri_done(err_data);
}
EXPORT_SYMBOL_GPL(rix_rnic_vectors);
