// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * srnic: protection domains, thread domains and parent domains. With a thread
 * domain the program promises to use one thread. The provider still locks: a lock
 * without contention costs next to nothing. The allocators of a parent domain
 * provide the memory of its objects for posting and polling. The kernel allocates
 * the rings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <util/util.h>

#include "srnic.h"

static struct srnic_pd *to_srnic_pd(struct ibv_pd *ibpd)
{
	return container_of(ibpd, struct srnic_pd, pd);
}

static struct srnic_td *to_srnic_td(struct ibv_td *ibtd)
{
	return container_of(ibtd, struct srnic_td, td);
}

static void srnic_get(unsigned int *users)
{
	__atomic_fetch_add(users, 1, __ATOMIC_RELAXED);
}

static void srnic_put(unsigned int *users)
{
	__atomic_fetch_sub(users, 1, __ATOMIC_RELEASE);
}

static bool srnic_used(unsigned int *users)
{
	return __atomic_load_n(users, __ATOMIC_ACQUIRE);
}

/**
 * srnic_alloc_pd - ibv_alloc_pd()
 * @ibctx: context
 *
 * Return: the PD, or NULL with errno: ENOMEM, or an errno of the kernel. Any
 * thread.
 */
struct ibv_pd *srnic_alloc_pd(struct ibv_context *ibctx)
{
	struct ib_uverbs_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct srnic_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ret = ibv_cmd_alloc_pd(ibctx, &pd->pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	return &pd->pd;
}

/**
 * srnic_dealloc_pd - ibv_dealloc_pd()
 * @ibpd: PD or parent domain that no other thread uses any more
 *
 * Return: 0, or an errno (EBUSY: it has users) and the PD is unchanged.
 */
int srnic_dealloc_pd(struct ibv_pd *ibpd)
{
	struct srnic_pd *pd = to_srnic_pd(ibpd);
	int ret;

	if (srnic_used(&pd->users))
		return EBUSY;
	if (pd->protection) {
		srnic_put(&pd->protection->users);
		if (pd->td)
			srnic_put(&pd->td->users);
	} else {
		ret = ibv_cmd_dealloc_pd(ibpd);
		if (ret)
			return ret;
	}
	free(pd);
	return 0;
}

/**
 * srnic_alloc_td - ibv_alloc_td()
 * @ibctx: context
 * @attr: see ibv_alloc_td(3)
 *
 * Return: the thread domain, or NULL with errno: EOPNOTSUPP (an unknown
 * attribute), ENOMEM. Any thread.
 */
struct ibv_td *srnic_alloc_td(struct ibv_context *ibctx,
			      struct ibv_td_init_attr *attr)
{
	struct srnic_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->td.context = ibctx;
	return &td->td;
}

/**
 * srnic_dealloc_td - ibv_dealloc_td()
 * @ibtd: thread domain
 *
 * Return: 0, or EBUSY: a parent domain uses it.
 */
int srnic_dealloc_td(struct ibv_td *ibtd)
{
	struct srnic_td *td = to_srnic_td(ibtd);

	if (srnic_used(&td->users))
		return EBUSY;
	free(td);
	return 0;
}

/**
 * srnic_alloc_parent_domain - ibv_alloc_parent_domain()
 * @ibctx: context
 * @attr: see ibv_alloc_parent_domain(3)
 *
 * The kernel knows the PD of the parent domain only.
 *
 * Return: the parent domain, or NULL with errno: EINVAL (no PD, or one allocator
 * without the other), EOPNOTSUPP (an unknown attribute), ENOMEM. Any thread.
 */
struct ibv_pd *
srnic_alloc_parent_domain(struct ibv_context *ibctx,
			  struct ibv_parent_domain_init_attr *attr)
{
	bool allocators = attr->comp_mask &
			  IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	struct srnic_pd *pd;

	if (!attr->pd || (allocators && !(attr->alloc && attr->free))) {
		errno = EINVAL;
		return NULL;
	}
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	pd->pd.context = ibctx;
	pd->pd.handle = attr->pd->handle;
	pd->protection = to_srnic_pd(attr->pd);
	srnic_get(&pd->protection->users);
	if (attr->td) {
		pd->td = to_srnic_td(attr->td);
		srnic_get(&pd->td->users);
	}
	if (allocators) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
	return &pd->pd;
}

/* Aligned, so that fields of different threads are in different cache lines. */
static void *srnic_zalloc_ours(size_t size)
{
	void *ptr;

	errno = posix_memalign(&ptr, SRNIC_MEM_ALIGN, size);
	return errno ? NULL : memset(ptr, 0, size);
}

/**
 * srnic_zalloc - allocate memory for an object
 * @mem: filled in for srnic_free()
 * @ibpd: PD of the object, or NULL
 * @size: bytes
 * @type: SRNIC_RES_TYPE_*
 *
 * The memory comes from the allocator of @ibpd, if @ibpd is a parent domain with
 * an allocator and the allocator does not decline. A parent domain stays as long as
 * the object.
 *
 * Return: zeroed memory, or NULL with errno ENOMEM. Any thread.
 */
void *srnic_zalloc(struct srnic_mem *mem, struct ibv_pd *ibpd, size_t size,
		   uint64_t type)
{
	struct srnic_pd *pd = ibpd ? to_srnic_pd(ibpd) : NULL;
	void *ptr = IBV_ALLOCATOR_USE_DEFAULT;

	*mem = (struct srnic_mem){};
	if (pd && pd->alloc)
		ptr = pd->alloc(ibpd, pd->pd_context, size, SRNIC_MEM_ALIGN,
				type);
	if (ptr == IBV_ALLOCATOR_USE_DEFAULT) {
		ptr = srnic_zalloc_ours(size);
	} else if (ptr) {
		mem->given = true;
		memset(ptr, 0, size);
	}
	if (!ptr) {
		errno = ENOMEM;
		return NULL;
	}
	if (pd && pd->protection) {
		srnic_get(&pd->users);
		mem->parent = pd;
	}
	return ptr;
}

/**
 * srnic_free - free memory of srnic_zalloc()
 * @mem: as srnic_zalloc() has filled it in; may be within the memory itself
 * @ptr: the memory
 * @type: as in srnic_zalloc()
 */
void srnic_free(const struct srnic_mem *mem, void *ptr, uint64_t type)
{
	struct srnic_pd *pd = mem->parent;

	if (mem->given)
		pd->free(&pd->pd, pd->pd_context, ptr, type);
	else
		free(ptr);
	if (pd)
		srnic_put(&pd->users);
}

/**
 * srnic_import_pd - ibv_import_pd()
 * @ibctx: imported context
 * @handle: of a PD of the context that was imported
 *
 * Return: the PD, or NULL with errno ENOMEM. A use of the PD fails if the handle is
 * invalid. Any thread.
 */
struct ibv_pd *srnic_import_pd(struct ibv_context *ibctx, uint32_t handle)
{
	struct srnic_pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return NULL;
	pd->pd.context = ibctx;
	pd->pd.handle = handle;
	return &pd->pd;
}

/**
 * srnic_unimport_pd - ibv_unimport_pd()
 * @ibpd: imported, and not used any more
 */
void srnic_unimport_pd(struct ibv_pd *ibpd)
{
	free(to_srnic_pd(ibpd));
}
