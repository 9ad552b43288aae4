/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SRNIC_JOIN_H
#define SRNIC_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/srnic-abi.h>

/* Features that this provider knows */
#define SRNIC_FEATURES_KNOWN \
	((uint64_t)(SRNIC_FEAT_DOORBELL_FLAG | SRNIC_FEAT_ARM_WORD))
/* Features without which it cannot work */
#define SRNIC_FEATURES_REQUIRED	SRNIC_FEATURES_KNOWN

/* May a provider use a context that another one has opened? */
static inline bool srnic_may_join(uint64_t in_use, uint64_t known,
				  uint64_t required)
{
	return !(in_use & ~known) && (in_use & required) == required;
}

#endif
