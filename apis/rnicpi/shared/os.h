/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The surroundings of shared/: librnicpi's own objects, or those of rnicpi.ko. */
#ifndef RNICPI_OS_H
#define RNICPI_OS_H

#ifdef __KERNEL__
#include "rnicpi/kernel/rnic.h"
#define VERBS_STATE(name)	IB_QPS_##name
#else
#include <errno.h>
#include <rnicpi/user/rnic.h>
#define VERBS_STATE(name)	IBV_QPS_##name

static inline bool ri_is_vp(ri_vp_handle_t vp)
{
	return handle_object(RI_KIND_VP, vp);
}

static inline bool ri_is_rnic(ri_rnic_handle_t rnic)
{
	return handle_object(RI_KIND_RNIC, rnic);
}

#endif

#endif
