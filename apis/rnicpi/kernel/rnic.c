// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* RNIC handles, their attributes, and protection domains. */

#include <linux/build_bug.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "rnicpi/kernel/rnic.h"
#include "srnic.h"

#define PORT	1

/* ----- handles ----- */

static bool is_location(ri_consumer_domain_t location)
{
	return location == RI_CONSUMER_LOCATION_KERNEL || location == RI_CONSUMER_LOCATION_USER;
}

/* Under ri_lock */
static ri_api_return_t get_hdl(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,
			       ri_rnic_handle_t *handle, struct rnic *rnic, ri_os_data_t os_data)
{
	struct rnic_obj *obj = ri_look_up(RI_KIND_VP, vp_hdl);

	if (!obj)
		return RI_RET_VP_INVALID_HANDLE;
	if (!handle || !is_location(location))
		return RI_RET_INVALID_PARAMETER;
	if (to_vp(obj)->state != VP_OPEN || to_vp(obj)->leaving)
		return RI_RET_RNIC_NOT_OPEN;
	rnic->vp = to_vp(obj);
	rnic->obj.os_data = os_data;
	if (ri_handle_new(&rnic->obj, RI_KIND_RNIC))
		return RI_RET_RESOURCE_SHORTAGE;
	list_add_tail(&rnic->obj.link, &rnic->vp->rnics);
	*handle = rnic->obj.handle;
	return RI_RET_SUCCESS;
}

/**
 * ri_do_rnic_get_hdl - make an RNIC handle
 * @vp_hdl: of ri_rnic_open()
 * @location: one of the two; all consumers are in the kernel
 * @rnic: the handle
 * @vp_data: ignored
 * @os_data: stored
 * @err_data: may be NULL
 *
 * Context: takes ri_lock. Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER, RI_RET_RNIC_NOT_OPEN, RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_rnic_get_hdl(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,
				   ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,
				   ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic *r = kzalloc(sizeof(*r), GFP_KERNEL);
	ri_api_return_t ret;

	if (!r)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	INIT_LIST_HEAD(&r->objects);
	xa_init(&r->qps);
	spin_lock_init(&r->map_lock);
	hash_init(r->maps);
	mutex_lock(&ri_lock);
	ret = get_hdl(vp_hdl, location, rnic, r, os_data);
	mutex_unlock(&ri_lock);
	if (ret)
		kfree(r);
	return ri_answer(err_data, ret);
}

/**
 * ri_rnic_end - end an RNIC handle
 * @rnic: without objects; nobody else knows it
 *
 * No handler of its objects is running after this (L1841), unless the caller is in an upcall.
 * Context: takes ri_lock.
 */
void ri_rnic_end(struct rnic *rnic)
{
	ri_upcall_flush(rnic->vp);
	ri_maps_end(rnic);
	mutex_lock(&ri_lock);
	ri_leave(&rnic->obj);
	mutex_unlock(&ri_lock);
}

/**
 * ri_do_rnic_free_hdl - free an RNIC handle
 * @vp_hdl: the device of @rnic
 * @rnic: without objects
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE,
 * RI_RET_RNIC_INVALID_HANDLE; RI_RET_RNIC_INUSE: it has objects
 */
ri_api_return_t ri_do_rnic_free_hdl(ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic,
				    ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct rnic_obj *vp, *r;

	mutex_lock(&ri_lock);
	vp = ri_look_up(RI_KIND_VP, vp_hdl);
	r = ri_look_up(RI_KIND_RNIC, rnic);
	if (!vp)
		ret = RI_RET_VP_INVALID_HANDLE;
	else if (!r || to_rnic(r)->vp != to_vp(vp))
		ret = RI_RET_RNIC_INVALID_HANDLE;
	else if (r->users)
		ret = RI_RET_RNIC_INUSE;
	else
		WRITE_ONCE(r->hidden, true);
	mutex_unlock(&ri_lock);
	if (!ret) {
		ri_quiesce(r);
		ri_rnic_end(to_rnic(r));
	}
	return ri_answer(err_data, ret);
}

/* ----- attributes ----- */

/**
 * ri_limits_of - the limits of a device
 * @rnic: an RNIC handle
 *
 * Context: process. Return: the limits.
 */
struct ri_limits ri_limits_of(const struct rnic *rnic)
{
	struct srnic_uresp_dev_query dev;

	srnic_native_query(rnic->vp->ibdev, &dev);
	return ri_limits_in(&dev, true);
}

/* An answer is one buffer: attributes of RNIC, iWARP and port, and then the port's addresses */
struct answer {
	ri_rnic_attr_t rnic;
	ri_iwarp_rnic_attr_t iwarp;
	ri_iwarp_port_attr_t port;
};

static void fill_limits(const struct rnic_vp *vp, ri_rnic_attr_t *a)
{
	struct srnic_uresp_dev_query dev;

	srnic_native_query(vp->ibdev, &dev);
	ri_fill_rnic(&dev, a);
	a->block_size_low = RI_MIN_BLOCK;
	a->block_size_hi = RI_MAX_BLOCK;
	a->max_cq_event_handlers = RI_MAX_CQ_HANDLERS;
	a->rnic_flags |= RI_RNIC_EXT_INDEX_KEY_SPLIT;
	if (vp->mode == RI_PHYS_BLOCK_LIST_MODE)
		a->rnic_flags |= RI_RNIC_EXT_BLOCK_MODE;
	strscpy(a->addl_vendor_info, dev_name(&vp->ibdev->dev), sizeof(a->addl_vendor_info));
}

static void fill_iwarp(ri_iwarp_rnic_attr_t *iw)
{
	*iw = (ri_iwarp_rnic_attr_t){
		.protocol_version = 1,
		.num_ports = 1,
		.iwarp_rnic_flags = RI_IWARP_TCP_SUPPORTED | RI_IWARP_PREFER_CRC |
				    RI_IWARP_KEEPALIVE_SUPPORTED | RI_IWARP_IETF_PERMISSIVE,
	};
}

/* The addresses of the port: its GIDs except the first; fills in @room of them at most */
static u32 addresses(struct ib_device *ibdev, bool v4, void *out, u32 room)
{
	union ib_gid gid;
	u32 i, n = 0;

	for (i = 1; i < SRNIC_MAX_GID; i++) {
		const struct in6_addr *addr = (struct in6_addr *)gid.raw;

		if (rdma_query_gid(ibdev, PORT, i, &gid) ||
		    ipv6_addr_v4mapped(addr) != v4)
			continue;
		if (n < room && v4)
			((struct in_addr *)out)[n].s_addr = addr->s6_addr32[3];
		else if (n < room)
			((struct in6_addr *)out)[n] = *addr;
		n++;
	}
	return n;
}

static void fill_port(struct ib_device *ibdev, struct answer *a, u32 v4, u32 v6)
{
	struct in6_addr *six = (struct in6_addr *)(a + 1);
	struct in_addr *four = (struct in_addr *)(six + v6);

	a->iwarp.port_attrs = &a->port;
	/* an address may have been removed since they were counted */
	a->port = (ri_iwarp_port_attr_t){
		.port_num = PORT,
		.num_ipv6_addrs = min(addresses(ibdev, false, six, v6), v6),
		.num_ipv4_addrs = min(addresses(ibdev, true, four, v4), v4),
	};
	if (a->port.num_ipv6_addrs)
		a->port.ipv6_addrs = six;
	if (a->port.num_ipv4_addrs)
		a->port.ipv4_addrs = four;
}

static ri_api_return_t answer(const struct rnic_vp *vp, bool port, ri_rnic_attr_t *attrs,
			      uint_t *size)
{
	struct answer *a = (struct answer *)attrs;
	u32 v4 = port ? addresses(vp->ibdev, true, NULL, 0) : 0;
	u32 v6 = port ? addresses(vp->ibdev, false, NULL, 0) : 0;
	uint_t need = port ? sizeof(*a) : offsetof(struct answer, port);
	bool fits;

	need += v4 * sizeof(struct in_addr) + v6 * sizeof(struct in6_addr);
	fits = *size >= need;
	*size = need;
	if (!fits)
		return RI_RET_BUFFER_TOO_SMALL;
	fill_limits(vp, &a->rnic);
	fill_iwarp(&a->iwarp);
	a->rnic.trans_attr.iwarp = &a->iwarp;
	if (port)
		fill_port(vp->ibdev, a, v4, v6);
	return RI_RET_SUCCESS;
}

/**
 * ri_do_rnic_query - query the attributes of an RNIC
 * @rnic: an RNIC handle
 * @flags: RI_QUERY_RNIC_PORT_INFO, with the addresses of the port
 * @attrs: buffer for the attributes and all that they point to
 * @attr_size: in: size of @attrs, 0 to query only the size; out: the size needed
 * @err_data: may be NULL
 *
 * Context: process. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE,
 * RI_RET_INVALID_PARAMETER; RI_RET_BUFFER_TOO_SMALL: only @attr_size is set
 */
ri_api_return_t ri_do_rnic_query(ri_rnic_handle_t rnic, ri_rnic_query_flags_t flags,
				 ri_rnic_attr_t *attrs, uint_t *attr_size, ri_err_data_t *err_data)
{
	struct rnic_obj *r;
	ri_api_return_t ret;

	rcu_read_lock();
	r = ri_look_up(RI_KIND_RNIC, rnic);
	if (!r)
		ret = RI_RET_RNIC_INVALID_HANDLE;
	else if (!attrs || !attr_size || flags & ~RI_QUERY_RNIC_PORT_INFO)
		ret = RI_RET_INVALID_PARAMETER;
	else
		ret = answer(to_rnic(r)->vp, flags, attrs, attr_size);
	rcu_read_unlock();
	return ri_answer(err_data, ret);
}

/* ----- protection domains ----- */

static int pd_new(struct rnic *rnic, struct rnic_pd *pd, ri_os_data_t os_data)
{
	int err;

	pd->pd = ib_alloc_pd(rnic->vp->ibdev, 0);
	if (IS_ERR(pd->pd))
		return PTR_ERR(pd->pd);
	err = ri_enter(&pd->obj, RI_KIND_PD, rnic, os_data);
	if (err)
		ib_dealloc_pd(pd->pd);
	return err;
}

/**
 * ri_do_pd_alloc - allocate a PD
 * @rnic: an RNIC handle
 * @pd: the protection domain
 * @vp_data: ignored
 * @os_data: stored
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_pd_alloc(ri_rnic_handle_t rnic, ri_pd_handle_t *pd, ri_vp_data_t vp_data,
			       ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_pd *p = kzalloc(sizeof(*p), GFP_KERNEL);
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct rnic_obj *r;
	int err = 0;

	if (!p)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	mutex_lock(&ri_lock);
	r = ri_look_up(RI_KIND_RNIC, rnic);
	if (!r)
		ret = RI_RET_RNIC_INVALID_HANDLE;
	else if (!pd)
		ret = RI_RET_INVALID_PARAMETER;
	else
		err = pd_new(to_rnic(r), p, os_data);
	if (!ret && !err)
		*pd = p->obj.handle;
	mutex_unlock(&ri_lock);
	if (ret || err)
		kfree(p);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_answer(err_data, ret);
}

/**
 * ri_pd_end - end a PD
 * @pd: without users; nobody else knows it
 *
 * Context: takes ri_lock.
 */
void ri_pd_end(struct rnic_pd *pd)
{
	ib_dealloc_pd(pd->pd);
	mutex_lock(&ri_lock);
	ri_leave(&pd->obj);
	mutex_unlock(&ri_lock);
}

/**
 * ri_do_pd_dealloc - free a PD
 * @rnic: an RNIC handle
 * @pd: a PD of @rnic without objects
 * @err_data: may be NULL
 *
 * Context: may sleep. Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_PD_INVALID_HANDLE,
 * RI_RET_PD_INUSE
 */
ri_api_return_t ri_do_pd_dealloc(ri_rnic_handle_t rnic, ri_pd_handle_t pd, ri_err_data_t *err_data)
{
	ri_api_return_t ret;
	struct rnic_obj *obj = ri_hide(rnic, RI_KIND_PD, pd, RI_RET_PD_INUSE, &ret);

	if (obj)
		ri_pd_end(to_pd(obj));
	return ri_answer(err_data, ret);
}
