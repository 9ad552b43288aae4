// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* RNIC handles, their attributes, and protection domains. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rnicpi/rix.h>
#include "rnic.h"

#define PORT	1

/* --- handles --- */

/* The first call of libibverbs reads this: then it frees the objects of a device that is gone */
static __attribute__((constructor)) void let_go(void)
{
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", false);
}

static struct ibv_context *open_named(const char *name)
{
	struct ibv_device **list = ri_device_list();
	struct ibv_context *ctx = NULL;
	int i;

	if (!list)
		return NULL;
	errno = ENODEV;
	for (i = 0; list[i] && !ctx; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	return ctx;
}

/* As much of Query RNIC as verbs report */
static void ask_verbs(struct srnic_uresp_dev_query *dev, const struct ibv_device_attr *d)
{
	*dev = (struct srnic_uresp_dev_query){
		.max_ird = d->max_qp_rd_atom,
		.max_ord = d->max_qp_init_rd_atom,
		.max_send_sge = d->max_sge,
		.max_write_sge = d->max_sge,
		.max_read_sge = d->max_sge_rd,
		.max_recv_sge = d->max_srq && d->max_srq_sge < d->max_sge ? d->max_srq_sge :
									    d->max_sge,
		.page_sizes = d->page_size_cap,
		.vendor_id = d->vendor_id,
		.vendor_part_id = d->vendor_part_id,
		.hw_ver = d->hw_ver,
		.max_qp = d->max_qp,
		.max_qp_wr = d->max_qp_wr,
		.max_srq = d->max_srq,
		.max_srq_wr = d->max_srq ? d->max_srq_wr : 0,
		.max_cq = d->max_cq,
		.max_cqe = d->max_cqe,
		.max_mr = d->max_mr,
		.max_mw = d->max_mw,
		.max_pd = d->max_pd,
	};
}

/* Return: 0 or an errno */
static int ask_device(struct rnic *rnic)
{
	struct srnic_uresp_dev_query dev;
	int err;

	rnic->native = srnicdv_is_supported(rnic->ctx->device);
	err = ibv_query_device(rnic->ctx, &rnic->attr);
	if (err)
		return err;
	ask_verbs(&rnic->dev, &rnic->attr);
	if (!rnic->native)
		return 0;
	err = srnicdv_query_device(rnic->ctx, &dev, sizeof(dev));
	if (err)
		return err;
	/* an older module reports what version 1 of the struct has */
	memcpy(&rnic->dev, &dev, dev.max_qp ? sizeof(dev) : offsetof(typeof(dev), vendor_id));
	return 0;
}

/**
 * ri_rnic_free() - Free an RNIC that has no handle any more
 * @rnic: the RNIC; if it has objects, only its descriptor for events is closed
 *
 * Context: any thread; sleeps.
 */
void ri_rnic_free(struct rnic *rnic)
{
	if (rnic->native && rnic->event_fd >= 0)
		close(rnic->event_fd);
	if (ri_is_used(&rnic->users))
		return;
	if (rnic->ctx)
		ibv_close_device(rnic->ctx);
	pthread_mutex_destroy(&rnic->qp_lock);
	free(rnic);
}

/**
 * ri_do_get_hdl() - Make an RNIC handle
 * @ops: its vector
 * @vp_hdl: of rix_rnic_list()
 * @location: either
 * @rnic: the handle
 * @os_data: returned in events of the device
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_RESOURCE_SHORTAGE, RI_RET_NO_PERMISSION; RI_RET_RNIC_NOT_OPEN: the device is gone
 */
ri_api_return_t ri_do_get_hdl(const struct ri_ops *ops, ri_vp_handle_t vp_hdl,
			      ri_consumer_domain_t location, ri_rnic_handle_t *rnic,
			      ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic_vp *vp = handle_object(RI_KIND_VP, vp_hdl);
	struct rnic *r;
	int err;
	KEEP_ERRNO;

	if (!vp)
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	if (!rnic || (location != RI_CONSUMER_LOCATION_USER &&
		      location != RI_CONSUMER_LOCATION_KERNEL))
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	r = calloc(1, sizeof(*r));
	if (!r)
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	pthread_mutex_init(&r->qp_lock, NULL);
	r->os_data = os_data;
	r->event_fd = -1;
	r->vp = vp;
	r->ops = ops;
	r->ctx = open_named(vp->name);
	err = r->ctx ? ask_device(r) : errno;
	if (err) {
		ri_rnic_free(r);
		return err == ENODEV ? ri_answer(err_data, RI_RET_RNIC_NOT_OPEN) :
				       ri_failed(err_data, err, RI_RET_FAIL);
	}
	if (!ri_new_handle(RI_KIND_RNIC, r, rnic)) {
		ri_rnic_free(r);
		return ri_answer(err_data, RI_RET_RESOURCE_SHORTAGE);
	}
	return ri_done(err_data);
}

/**
 * ri_do_rnic_free_hdl() - Free an RNIC handle
 * @vp_hdl: the device of @rnic
 * @rnic: without objects
 * @err_data: may be NULL
 *
 * Context: any thread; waits for the calls on @rnic.
 * Return: RI_RET_SUCCESS, RI_RET_VP_INVALID_HANDLE, RI_RET_RNIC_INVALID_HANDLE;
 * RI_RET_RNIC_INUSE: it has objects
 */
ri_api_return_t ri_do_rnic_free_hdl(ri_vp_handle_t vp_hdl, ri_rnic_handle_t rnic,
				    ri_err_data_t *err_data)
{
	ri_api_return_t ret = RI_RET_SUCCESS;
	struct rnic *r;
	KEEP_ERRNO;

	if (!handle_object(RI_KIND_VP, vp_hdl))
		return ri_answer(err_data, RI_RET_VP_INVALID_HANDLE);
	r = handle_close(RI_KIND_RNIC, rnic, NULL);
	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (r->vp->handle != vp_hdl)
		ret = RI_RET_RNIC_INVALID_HANDLE;
	else if (ri_is_used(&r->users))
		ret = RI_RET_RNIC_INUSE;
	if (ret) {
		handle_reopen(rnic);
	} else {
		handle_free(rnic);
		ri_rnic_free(r);
	}
	return ri_answer(err_data, ret);
}

/**
 * rix_to_ibv_context() - An RNIC handle in verbs
 * @rnic: an RNIC handle
 *
 * Context: any thread.
 * Return: the context, owned by the handle, or NULL.
 */
struct ibv_context *rix_to_ibv_context(ri_rnic_handle_t rnic)
{
	struct rnic *r = ri_enter_rnic(rnic);
	struct ibv_context *ctx = r ? r->ctx : NULL;

	if (r)
		handle_leave(rnic);
	return ctx;
}

/* --- attributes --- */

static void fill_limits(const struct rnic *r, ri_rnic_attr_t *a)
{
	ri_fill_rnic(&r->dev, a);
	a->rnic_flags |= RI_RNIC_CONSUMER0_OPAQUE | RI_RNIC_CONSUMER1_OPAQUE |
			 RI_RNIC_CONSUMER2_OPAQUE;
	if (r->native)
		a->rnic_flags |= RI_RNIC_EXT_INDEX_KEY_SPLIT;
	snprintf(a->addl_vendor_info, sizeof(a->addl_vendor_info), "%s", r->vp->name);
}

static void fill_iwarp(const struct rnic *r, ri_iwarp_rnic_attr_t *iw)
{
	iw->protocol_version = 1;
	iw->num_ports = 1;
	iw->iwarp_rnic_flags = RI_IWARP_TCP_SUPPORTED;
	if (r->native)
		iw->iwarp_rnic_flags |= RI_IWARP_PREFER_CRC | RI_IWARP_KEEPALIVE_SUPPORTED;
	if (r->dev.flags & SRNIC_DEV_RDMAC)
		iw->iwarp_rnic_flags |= RI_IWARP_IETF_PERMISSIVE;
}

/* An answer is one buffer: attributes of RNIC, iWARP and port, and then the port's addresses */
struct answer {
	ri_rnic_attr_t rnic;
	ri_iwarp_rnic_attr_t iwarp;
	ri_iwarp_port_attr_t port;
};

/* IPv6 addresses come first */
static void fill_port(struct answer *a, const struct in6_addr *addrs, unsigned int num,
		      unsigned int num_v4)
{
	struct in6_addr *six = (struct in6_addr *)(a + 1);
	struct in_addr *four = (struct in_addr *)(six + num - num_v4);
	unsigned int i;

	a->iwarp.port_attrs = &a->port;
	a->port.port_num = PORT;
	a->port.num_ipv6_addrs = num - num_v4;
	a->port.num_ipv4_addrs = num_v4;
	if (num > num_v4)
		a->port.ipv6_addrs = six;
	if (num_v4)
		a->port.ipv4_addrs = four;
	for (i = 0; i < num; i++) {
		if (IN6_IS_ADDR_V4MAPPED(&addrs[i]))
			memcpy(four++, &addrs[i].s6_addr[12], sizeof(*four));
		else
			*six++ = addrs[i];
	}
}

static ri_api_return_t answer(const struct rnic *r, bool port, ri_rnic_attr_t *attrs, uint_t *size)
{
	struct answer *a = (struct answer *)attrs;
	size_t need = port ? sizeof(*a) : offsetof(struct answer, port);
	struct in6_addr addrs[RI_MAX_ADDRS];
	unsigned int num = port ? ri_addresses_of(r->ctx->device, addrs) : 0, num_v4 = 0, i;
	bool fits;

	for (i = 0; i < num; i++)
		num_v4 += !!IN6_IS_ADDR_V4MAPPED(&addrs[i]);
	need += num_v4 * sizeof(struct in_addr) + (num - num_v4) * sizeof(struct in6_addr);
	fits = *size >= need;
	*size = need;
	if (!fits)
		return RI_RET_BUFFER_TOO_SMALL;
	memset(a, 0, need);
	fill_limits(r, &a->rnic);
	fill_iwarp(r, &a->iwarp);
	a->rnic.trans_attr.iwarp = &a->iwarp;
	if (port)
		fill_port(a, addrs, num, num_v4);
	return RI_RET_SUCCESS;
}

/**
 * ri_do_rnic_query() - Query the attributes of an RNIC
 * @rnic: an RNIC handle
 * @flags: RI_QUERY_RNIC_PORT_INFO, with the addresses of the port
 * @attrs: buffer for the attributes and all that they point to
 * @attr_size: in: size of @attrs, 0 to query only the size; out: the size needed
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER;
 * RI_RET_BUFFER_TOO_SMALL: only @attr_size is set
 */
ri_api_return_t ri_do_rnic_query(ri_rnic_handle_t rnic, ri_rnic_query_flags_t flags,
				 ri_rnic_attr_t *attrs, uint_t *attr_size, ri_err_data_t *err_data)
{
	struct rnic *r = ri_enter_rnic(rnic);
	ri_api_return_t ret;
	KEEP_ERRNO;

	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	if (!attrs || !attr_size || flags & ~RI_QUERY_RNIC_PORT_INFO)
		ret = RI_RET_INVALID_PARAMETER;
	else
		ret = answer(r, flags, attrs, attr_size);
	handle_leave(rnic);
	return ri_answer(err_data, ret);
}

/* --- protection domains --- */

static int pd_new(struct rnic *rnic, ri_pd_handle_t *handle)
{
	struct rnic_pd *pd = calloc(1, sizeof(*pd));
	int err;

	if (!pd)
		return ENOMEM;
	pd->rnic = rnic;
	pd->pd = ibv_alloc_pd(rnic->ctx);
	err = pd->pd ? 0 : errno;
	if (!err) {
		ri_use(&rnic->users, 1);
		pd->handle = handle_new(RI_KIND_PD, pd);
		if (pd->handle) {
			*handle = pd->handle;
			return 0;
		}
		ri_use(&rnic->users, -1);
		ibv_dealloc_pd(pd->pd);
		err = ENOMEM;
	}
	free(pd);
	return err;
}

/**
 * ri_do_pd_alloc() - Allocate a PD
 * @rnic: an RNIC handle
 * @pd: the protection domain
 * @vp_data: ignored
 * @os_data: ignored
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_INVALID_PARAMETER,
 * RI_RET_RESOURCE_SHORTAGE
 */
ri_api_return_t ri_do_pd_alloc(ri_rnic_handle_t rnic, ri_pd_handle_t *pd, ri_vp_data_t vp_data,
			       ri_os_data_t os_data, ri_err_data_t *err_data)
{
	struct rnic *r = ri_enter_rnic(rnic);
	int err;
	KEEP_ERRNO;

	(void)vp_data, (void)os_data;
	if (!r)
		return ri_answer(err_data, RI_RET_RNIC_INVALID_HANDLE);
	err = pd ? pd_new(r, pd) : 0;
	handle_leave(rnic);
	if (!pd)
		return ri_answer(err_data, RI_RET_INVALID_PARAMETER);
	return err ? ri_failed(err_data, err, RI_RET_FAIL) : ri_done(err_data);
}

/**
 * ri_pd_end() - End a PD except its memory
 * @pd: the caller's alone
 *
 * Context: any thread; sleeps.
 * Return: 0, an errno or RI_IN_USE.
 */
int ri_pd_end(void *pd)
{
	struct rnic_pd *p = pd;
	int err = ri_is_used(&p->users) ? RI_IN_USE : ibv_dealloc_pd(p->pd);

	if (!err)
		ri_use(&p->rnic->users, -1);
	return err;
}

/**
 * ri_do_pd_dealloc() - Free a PD
 * @rnic: an RNIC handle
 * @pd: a PD of @rnic without objects
 * @err_data: may be NULL
 *
 * Context: any thread; sleeps.
 * Return: RI_RET_SUCCESS, RI_RET_RNIC_INVALID_HANDLE, RI_RET_PD_INVALID_HANDLE,
 * RI_RET_PD_INUSE
 */
ri_api_return_t ri_do_pd_dealloc(ri_rnic_handle_t rnic, ri_pd_handle_t pd, ri_err_data_t *err_data)
{
	return ri_end(rnic, RI_KIND_PD, pd, ri_pd_end, RI_RET_PD_INUSE, err_data);
}

/* Objects that use others come first */
static const struct {
	enum ri_kind kind;
	int (*end)(void *object);
} ends[] = {
	{ RI_KIND_QP, ri_qp_end },
	{ RI_KIND_MW, ri_mw_end },
	{ RI_KIND_MR, ri_mr_end },
	{ RI_KIND_SRQ, ri_srq_end },
	{ RI_KIND_CQ, ri_cq_end },
	{ RI_KIND_PD, ri_pd_end },
};

#define KINDS	(sizeof(ends) / sizeof(ends[0]))

/**
 * ri_end_all() - End an RNIC handle whose device is gone, and all objects of it
 * @rnic: an RNIC handle
 *
 * What verbs does not end stays allocated, without a handle.
 *
 * Context: any thread that is in no call; waits for the calls on the objects.
 * Return: false if @rnic is invalid.
 */
bool ri_end_all(ri_rnic_handle_t rnic)
{
	struct rnic *r = handle_close(RI_KIND_RNIC, rnic, NULL);
	unsigned int i;
	uint32_t at;
	void *handle, *object;

	if (!r)
		return false;
	for (i = 0; i < KINDS; i++) {
		for (at = 0; (handle = handle_of(ends[i].kind, r, &at));) {
			object = handle_close(ends[i].kind, handle, NULL);
			if (!object)
				continue;
			if (ends[i].end(object))
				object = NULL;
			handle_free(handle);
			free(object);
		}
	}
	handle_free(rnic);
	if (!ri_is_used(&r->users))
		ri_rnic_free(r);
	return true;
}
