/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The surroundings of shared/: librnicpi's own objects, or those of rnicpi.ko. */
#ifndef RNICPI_OS_H
#define RNICPI_OS_H

#ifdef __KERNEL__
#include "rnicpi/kernel/rnic.h"
#define VERBS_STATE(name)	IB_QPS_##name
#else
#include <rnicpi/user/rnic.h>
#define VERBS_STATE(name)	IBV_QPS_##name
#define HAS_SOCKET(llp)		((llp)->fd >= 0)
#endif

#endif
