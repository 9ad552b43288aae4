// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The verbs provider of the kernel for srnic. It attaches each RNIC device of this driver in the
 * RDMA core as an RNIC, and is a client of the RDMA core as any other. When a device leaves, the
 * provider ends the objects that consumers have left.
 */

#include <linux/delay.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include "rnicpi/kernel/rnic.h"
#include "srnic.h"

#define LIB_PATH	"libsrnic.so.1"
/* room for some addresses; ri_rnic_query() returns the size needed if there are more */
#define QUERY_SIZE	1024

/* ----- open and close ----- */

/* Under ri_lock */
static struct rnic_vp *open_vp(ri_vp_handle_t vp_hdl)
{
	struct rnic_obj *obj = ri_look_up(RI_KIND_VP, vp_hdl);

	return obj && to_vp(obj)->state == VP_OPEN ? to_vp(obj) : NULL;
}

static ri_api_return_t open_locked(ri_vp_handle_t vp_hdl, ri_pbl_mode_t mode,
				   ri_os_data_t os_data)
{
	struct rnic_obj *obj = ri_look_up(RI_KIND_VP, vp_hdl);
	struct rnic_vp *vp = obj ? to_vp(obj) : NULL;

	if (!vp || vp->leaving)
		return RI_RET_VP_INVALID_HANDLE;
	if (mode != RI_PHYS_PAGE_LIST_MODE && mode != RI_PHYS_BLOCK_LIST_MODE)
		return RI_RET_INVALID_PARAMETER;
	if (vp->state != VP_CLOSED)
		return RI_RET_RNIC_INUSE;
	vp->state = VP_OPEN;
	vp->mode = mode;
	obj->os_data = os_data;
	return RI_RET_SUCCESS;
}

/**
 * ri_do_rnic_open - open a device
 * @vp_hdl: of ri_svc_attach()
 * @pbl_mode: whether physical buffers are pages or blocks
 * @os_data: passed to each upcall
 * @err_data: may be NULL
 *
 * Context: takes ri_lock. Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_RNIC_INUSE
 */
ri_api_return_t ri_do_rnic_open(ri_vp_handle_t vp_hdl, ri_pbl_mode_t pbl_mode,
				ri_os_data_t os_data, ri_err_data_t *err_data)
{
	ri_api_return_t ret;

	mutex_lock(&ri_lock);
	ret = open_locked(vp_hdl, pbl_mode, os_data);
	mutex_unlock(&ri_lock);
	return ri_answer(err_data, ret);
}

/* Under ri_lock. Upcalls find no handler from now on, and nobody can set one */
static void begin_to_close(struct rnic_vp *vp)
{
	unsigned int i;

	vp->state = VP_CLOSING;
	WRITE_ONCE(vp->async, NULL);
	for (i = 0; i < vp->cq_ids; i++)
		WRITE_ONCE(vp->cq_handlers[i], NULL);
	vp->cq_ids = 0;
}

/**
 * ri_do_rnic_close - close a device
 * @vp_hdl: of ri_rnic_open(); its RNIC handles are freed
 * @err_data: may be NULL
 *
 * Removes all handlers. None is running when this returns (RI-37), unless the caller is in an
 * upcall.
 * Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE, RI_RET_RNIC_INUSE
 */
ri_api_return_t ri_do_rnic_close(ri_vp_handle_t vp_hdl, ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct rnic_vp *vp;

	mutex_lock(&ri_lock);
	vp = open_vp(vp_hdl);
	if (!vp)
		ret = RI_RET_VP_INVALID_HANDLE;
	else if (!list_empty(&vp->rnics))
		ret = RI_RET_RNIC_INUSE;
	if (!ret) {
		begin_to_close(vp);
		kref_get(&vp->obj.ref);
	}
	mutex_unlock(&ri_lock);
	if (ret)
		return ri_answer(err_data, ret);
	ri_upcall_end(vp, NULL);
	ri_upcall_flush(vp);
	mutex_lock(&ri_lock);
	vp->state = VP_CLOSED;
	mutex_unlock(&ri_lock);
	ri_put(&vp->obj);
	return ri_done(err_data);
}

/* ----- handlers ----- */

/**
 * ri_do_async_set_event_handler - set the handler of a device's events
 * @vp_hdl: of ri_rnic_open()
 * @async_event_callback: called for events from now on, instead of the old handler; may sleep.
 *			  NULL: events are not reported
 * @err_data: may be NULL
 *
 * The old handler is not running when this returns, unless it makes this call. Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE
 */
ri_api_return_t ri_do_async_set_event_handler(ri_vp_handle_t vp_hdl,
					      ri_async_event_callback_t async_event_callback,
					      ri_err_data_t *err_data)
{
	struct rnic_vp *vp;

	mutex_lock(&ri_lock);
	vp = open_vp(vp_hdl);
	if (vp) {
		WRITE_ONCE(vp->async, async_event_callback);
		kref_get(&vp->obj.ref);
	}
	mutex_unlock(&ri_lock);
	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	if (current_work() != &vp->work)
		flush_work(&vp->work);
	ri_put(&vp->obj);
	return ri_done(err_data);
}

static ri_api_return_t set_handler(struct rnic_vp *vp, ri_cq_event_handler_id_t *id,
				   ri_cq_event_callback_t callback)
{
	if (*id > vp->cq_ids)
		return RI_RET_INVALID_HANDLER_ID;
	if (!*id && vp->cq_ids == RI_MAX_CQ_HANDLERS)
		return RI_RET_RESOURCE_SHORTAGE;
	if (!*id)
		*id = ++vp->cq_ids;
	WRITE_ONCE(vp->cq_handlers[*id - 1], callback);
	return RI_RET_SUCCESS;
}

/**
 * ri_do_cq_set_event_handler - set a handler of completions (RI-34)
 * @vp_hdl: of ri_rnic_open()
 * @handler_id: 0 is set to a new id; an existing id gets @cq_callback as its handler
 * @cq_callback: may sleep; NULL: completions are not notified
 * @err_data: may be NULL
 *
 * The old handler is not running any more when this returns, unless the caller is in an
 * upcall. Context: may sleep.
 *
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_INVALID_HANDLER_ID; RI_RET_RESOURCE_SHORTAGE: all ids are in use
 */
ri_api_return_t ri_do_cq_set_event_handler(ri_vp_handle_t vp_hdl,
					   ri_cq_event_handler_id_t *handler_id,
					   ri_cq_event_callback_t cq_callback,
					   ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_VP_INVALID_HANDLE;
	struct rnic_vp *vp;

	mutex_lock(&ri_lock);
	vp = open_vp(vp_hdl);
	if (vp)
		ret = handler_id ? set_handler(vp, handler_id, cq_callback) :
				   RI_RET_INVALID_PARAMETER;
	if (!ret)
		kref_get(&vp->obj.ref);
	mutex_unlock(&ri_lock);
	if (ret)
		return ri_answer(err_data, ret);
	ri_upcall_flush(vp);
	ri_put(&vp->obj);
	return ri_done(err_data);
}

/* ----- devices that come and go ----- */

static void device_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct rnic_vp *vp = container_of(handler, struct rnic_vp, handler);

	if (event->event == IB_EVENT_DEVICE_FATAL)
		ri_raise(vp, &vp->obj, RI_EVENT_RNIC_LOCAL_CATASTROPHIC_ERROR);
}

static ri_api_return_t attach(struct rnic_vp *vp)
{
	struct net_device *netdev = srnic_native_netdev(vp->ibdev);
	ri_services_dev_arg_t svcs = {
		.rnicpi_major_version = 1,
		.fw_major_version = SRNIC_VERSION_MAJOR,
		.fw_minor_version = SRNIC_VERSION_MINOR,
		.fw_sub_minor_version = SRNIC_VERSION_PATCH,
		.query_size = QUERY_SIZE,
		.lib_path = LIB_PATH,
	};
	char name[IFNAMSIZ];

	strscpy(name, netdev->name, sizeof(name));
	strscpy(svcs.hw_path, dev_name(&vp->ibdev->dev), sizeof(svcs.hw_path));
	return ri_svc_attach(vp->obj.handle, name, &svcs, &ri_vector, &ri_vector, NULL);
}

/* Without RNIC handles */
static void vp_free(struct rnic_vp *vp)
{
	mutex_lock(&ri_lock);
	WRITE_ONCE(vp->obj.hidden, true);
	mutex_unlock(&ri_lock);
	ri_quiesce(&vp->obj);
	ib_unregister_event_handler(&vp->handler);
	ri_upcall_end(vp, NULL);
	destroy_workqueue(vp->wq);
	mutex_lock(&ri_lock);
	ri_leave(&vp->obj);
	mutex_unlock(&ri_lock);
}

static struct ib_client kvp_client;

static int kvp_add(struct ib_device *ibdev)
{
	struct rnic_vp *vp;
	int err;

	/* a device of another node type is for programs that refuse an RNIC */
	if (!srnic_native(ibdev) || ibdev->node_type != RDMA_NODE_RNIC)
		return -EOPNOTSUPP;
	vp = kzalloc(sizeof(*vp), GFP_KERNEL);
	if (!vp)
		return -ENOMEM;
	vp->ibdev = ibdev;
	INIT_LIST_HEAD(&vp->rnics);
	err = ri_upcall_init(vp);
	if (err)
		goto free;
	err = ri_handle_new(&vp->obj, RI_KIND_VP);
	if (err)
		goto destroy;
	INIT_IB_EVENT_HANDLER(&vp->handler, ibdev, device_event);
	ib_register_event_handler(&vp->handler);
	if (attach(vp)) {
		vp_free(vp);
		return -ENOMEM;
	}
	ib_set_client_data(ibdev, &kvp_client, vp);
	return 0;
destroy:
	destroy_workqueue(vp->wq);
free:
	kfree(vp);
	return err;
}

/* Hides the last object of a kind, and returns it; nobody else knows it */
static struct rnic_obj *hide_last(struct rnic *rnic, enum ri_kind kind)
{
	struct rnic_obj *obj, *last = NULL;

	mutex_lock(&ri_lock);
	list_for_each_entry_reverse(obj, &rnic->objects, link) {
		if (obj->kind == kind && !obj->hidden) {
			WRITE_ONCE(obj->hidden, true);
			last = obj;
			break;
		}
	}
	mutex_unlock(&ri_lock);
	if (last)
		ri_quiesce(last);
	return last;
}

static void end(struct rnic_obj *obj)
{
	switch (obj->kind) {
	case RI_KIND_MW:
		ri_mw_end(to_mw(obj));
		break;
	case RI_KIND_QP:
		ri_qp_end(to_qp(obj));
		break;
	case RI_KIND_SRQ:
		ri_srq_end(to_srq(obj));
		break;
	case RI_KIND_CQ:
		ri_cq_end(to_cq(obj));
		break;
	case RI_KIND_MR:
		ri_mr_end(to_mr(obj));
		break;
	default:
		ri_pd_end(to_pd(obj));
	}
}

/* Users before the objects they use: windows use regions and QPs, QPs use CQs, SRQs and PDs */
static void end_objects(struct rnic *rnic)
{
	static const enum ri_kind order[] = {
		RI_KIND_MW, RI_KIND_QP, RI_KIND_SRQ, RI_KIND_CQ, RI_KIND_MR, RI_KIND_PD,
	};
	struct rnic_obj *obj;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		while ((obj = hide_last(rnic, order[i])))
			end(obj);
}

/*
 * Hides an RNIC handle that a client has left, and so all of its objects. @left: NULL if all are
 * hidden already. Return: false if the device has no RNIC handle.
 */
static bool hide_rnic(struct rnic_vp *vp, struct rnic **left)
{
	struct rnic *rnic;
	bool any;

	*left = NULL;
	mutex_lock(&ri_lock);
	any = !list_empty(&vp->rnics);
	list_for_each_entry(rnic, &vp->rnics, obj.link) {
		if (!rnic->obj.hidden) {
			WRITE_ONCE(rnic->obj.hidden, true);
			*left = rnic;
			break;
		}
	}
	mutex_unlock(&ri_lock);
	return any;
}

static bool has_objects(struct rnic *rnic)
{
	bool has;

	mutex_lock(&ri_lock);
	has = rnic->obj.users;
	mutex_unlock(&ri_lock);
	return has;
}

static void end_rnic(struct rnic *rnic)
{
	end_objects(rnic);
	/* a consumer's call may be ending an object, or fail and make it visible again */
	while (has_objects(rnic)) {
		usleep_range(100, 1000);
		end_objects(rnic);
	}
	ri_kal_forget(rnic->obj.handle);
	ri_quiesce(&rnic->obj);
	ri_rnic_end(rnic);
}

/*
 * Ends the RNIC handles that clients have left. Does not use the access layer's vector, which
 * is gone if a consumer has detached the device.
 */
static void end_rnics(struct rnic_vp *vp)
{
	struct rnic *rnic;

	while (hide_rnic(vp, &rnic)) {
		if (!rnic) {
			/* a consumer's call is freeing it */
			usleep_range(100, 1000);
			continue;
		}
		ibdev_warn_ratelimited(vp->ibdev, "an RNIC handle of RNICPI was left\n");
		end_rnic(rnic);
	}
	ri_do_rnic_close(vp->obj.handle, NULL);
}

/* RI-12: raises an event, lets clients end their objects, and ends the rest */
static void kvp_remove(struct ib_device *ibdev, void *data)
{
	struct rnic_vp *vp = data;

	ri_raise(vp, &vp->obj, RI_EVENT_RNIC_LOCAL_CATASTROPHIC_ERROR);
	flush_work(&vp->work);
	ri_kal_leaving(vp->obj.handle);
	mutex_lock(&ri_lock);
	vp->leaving = true;
	mutex_unlock(&ri_lock);
	end_rnics(vp);
	ri_kal_gone(vp->obj.handle);
	vp_free(vp);
}

static struct ib_client kvp_client = {
	.name = "rnicpi",
	.add = kvp_add,
	.remove = kvp_remove,
};

/**
 * ri_kvp_init - attach RNICs from now on
 *
 * Context: may sleep. Return: 0 or -ENOMEM.
 */
int ri_kvp_init(void)
{
	return ib_register_client(&kvp_client);
}

/**
 * ri_kvp_exit - detach all RNICs, and end all of their objects
 *
 * Context: may sleep.
 */
void ri_kvp_exit(void)
{
	ib_unregister_client(&kvp_client);
	ri_pin_exit();
	rcu_barrier();
}
