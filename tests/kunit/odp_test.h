/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Called by odp.c in place of the kernel's functions, see Kbuild. */
#ifndef SRNIC_KUNIT_ODP_TEST_H
#define SRNIC_KUNIT_ODP_TEST_H

#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include "compat.h"

int odp_test_insert(struct mmu_interval_notifier *notifier, struct mm_struct *mm,
		    unsigned long start, unsigned long length,
		    const struct mmu_interval_notifier_ops *ops);
void odp_test_remove(struct mmu_interval_notifier *notifier);
unsigned long odp_test_begin(struct mmu_interval_notifier *notifier);
#ifdef SRNIC_HAVE_GUP_WITHOUT_VMAS
long odp_test_pages(struct mm_struct *mm, unsigned long start, unsigned long count,
		    unsigned int flags, struct page **pages, int *locked);
#else
long odp_test_pages(struct mm_struct *mm, unsigned long start, unsigned long count,
		    unsigned int flags, struct page **pages, struct vm_area_struct **vmas,
		    int *locked);
#endif

#endif
