/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Memory attributes: checks, and conversion to verbs, for librnicpi and rnicpi.ko. */
#ifndef RNICPI_MEMORY_H
#define RNICPI_MEMORY_H

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/srnic-abi.h>
#include <rnicpi/rnicpi.h>

#define RI_MEM_KNOWN	(RI_MEM_FLAGS_LOCAL | RI_MEM_FLAGS_REMOTE | RI_MEM_FLAGS_ATOMICS |	\
			 RI_MEM_FLAGS_BINDING | RI_MEM_FLAGS_CONSUMER_OWNS_KEY |		\
			 RI_MEM_FLAGS_ZBVA | RI_MEM_FLAGS_NONCOHERENT | RI_MEM_FLAGS_USER_VA |	\
			 RI_MEM_FLAGS_SHARED_REG_IOVA)
/* The least significant byte of an LTag or RTag is its key (L5819) */
#define RI_KEY_BITS	8
/* Attributes that only the registration knows. Atomics are irrelevant on iWARP (L5811) */
#define RI_MEM_KEPT	(RI_MEM_FLAGS_CONSUMER_OWNS_KEY | RI_MEM_FLAGS_NONCOHERENT |		\
			 RI_MEM_FLAGS_USER_VA | RI_MEM_FLAGS_ATOMICS)

/* Remote rights require an RTag (L3620) */
static inline ri_api_return_t ri_check_attr(ri_mem_attr_t attr, const ri_rtag_t *rtag)
{
	if (attr & ~RI_MEM_KNOWN)
		return RI_RET_MEM_INVALID_ACCESS;
	if (attr & RI_MEM_FLAGS_REMOTE_WRITE && !(attr & RI_MEM_FLAGS_LOCAL_WRITE))
		return RI_RET_MEM_INVALID_ACCESS;
	return attr & RI_MEM_FLAGS_REMOTE && !rtag ? RI_RET_INVALID_PARAMETER : RI_RET_SUCCESS;
}

/* Lengths are from 1 to @max, and no range wraps */
static inline ri_api_return_t ri_check_range(uint64_t va, uint64_t length, uint64_t max)
{
	if (!length || length > max)
		return RI_RET_MEM_INVALID_LENGTH;
	return va + (length - 1) < va ? RI_RET_MEM_INVALID_ADDRESS : RI_RET_SUCCESS;
}

/* NONCOHERENT is of the output of ri_mr_reg_shared() (L4058), and as the memory is (L5831) */
static inline ri_mem_attr_t ri_shared_attr(ri_mem_attr_t asked, ri_mem_attr_t source)
{
	return (ri_mem_attr_t)((asked & ~RI_MEM_FLAGS_NONCOHERENT) |
			       (source & RI_MEM_FLAGS_NONCOHERENT));
}

/* Does a rereg with this result leave the region? With any other the region is gone (L3782) */
static inline bool ri_leaves_mr(ri_api_return_t ret)
{
	return !ret || ret == RI_RET_WINDOWS_BOUND || ret == RI_RET_RNIC_INVALID_HANDLE ||
	       ret == RI_RET_MR_INVALID_HANDLE || ret == RI_RET_INVALID_PARAMETER;
}

/* LTag and RTag are one STag on iWARP (5.1) */
static inline void ri_tell_tags(uint32_t stag, ri_ltag_t *ltag, ri_rtag_t *rtag)
{
	*ltag = stag;
	if (rtag)
		*rtag = stag;
}

/* To access flags of verbs, which are the same in the kernel and in libibverbs */
static inline int ri_access_of(ri_mem_attr_t attr)
{
	return (attr & RI_MEM_FLAGS_LOCAL_WRITE ? IB_UVERBS_ACCESS_LOCAL_WRITE : 0) |
	       (attr & RI_MEM_FLAGS_REMOTE_WRITE ? IB_UVERBS_ACCESS_REMOTE_WRITE : 0) |
	       (attr & RI_MEM_FLAGS_REMOTE_READ ? IB_UVERBS_ACCESS_REMOTE_READ : 0) |
	       (attr & RI_MEM_FLAGS_BINDING ? IB_UVERBS_ACCESS_MW_BIND : 0) |
	       (attr & RI_MEM_FLAGS_ZBVA ? IB_UVERBS_ACCESS_ZERO_BASED : 0);
}

/* From SRNIC_STAG_* */
static inline ri_mem_attr_t ri_attr_of(uint32_t rights)
{
	return (ri_mem_attr_t)((rights & SRNIC_STAG_LOCAL_READ ? RI_MEM_FLAGS_LOCAL_READ : 0) |
			       (rights & SRNIC_STAG_LOCAL_WRITE ? RI_MEM_FLAGS_LOCAL_WRITE : 0) |
			       (rights & SRNIC_STAG_REMOTE_READ ? RI_MEM_FLAGS_REMOTE_READ : 0) |
			       (rights & SRNIC_STAG_REMOTE_WRITE ? RI_MEM_FLAGS_REMOTE_WRITE : 0) |
			       (rights & SRNIC_STAG_BINDABLE ? RI_MEM_FLAGS_BINDING : 0) |
			       (rights & SRNIC_STAG_ZERO_BASED ? RI_MEM_FLAGS_ZBVA : 0));
}

#endif
