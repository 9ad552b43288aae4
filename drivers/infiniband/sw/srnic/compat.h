/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Differences between kernels, found by feature. All of them stand here. */
#ifndef SRNIC_COMPAT_H
#define SRNIC_COMPAT_H

/* the block iterators have a header of their own in later kernels, and in late 6.1 ones */
#ifdef __CHECKER__	/* sparse knows no __has_include */
#include <rdma/iter.h>
#elif __has_include("rdma/iter.h")
#include <rdma/iter.h>
#else
#include <rdma/ib_umem.h>
#endif

#include <linux/mm.h>

/* as kernels from 6.3 on have it, where the flags are const; no macro tells of it */
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}

#endif
