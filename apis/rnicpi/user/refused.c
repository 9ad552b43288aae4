// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Functions that always fail: all of an invalid handle, and those that programs may not call
 * or that iWARP does not have.
 */
#include "ops.h"
#include "rnic.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define REFUSE(name, code, ...)							\
	ri_api_return_t name(__VA_ARGS__, ri_err_data_t *err_data)		\
	{									\
		return ri_refuse(err_data, code);				\
	}

#define RI_FUNCTION(name, handle, who, ...)						\
	static REFUSE(none_##name, RI_RET_##handle##_INVALID_HANDLE, __VA_ARGS__)
#include "rnicpi/shared/functions.h"

/* The vector of an invalid handle */
const struct ri_ops ri_no_rnic_ops = {
#define RI_FUNCTION(name, ...) .ri_op_##name = none_##name,
#include "rnicpi/shared/functions.h"
};

/* Functions for the kernel or privileged callers (3.2.1), optional ones, and InfiniBand's (1.3) */
#define ONLY_ALL(...)
#define ONLY_KERNEL(name, ...)		REFUSE(name, RI_RET_NO_PERMISSION, __VA_ARGS__)
#define ONLY_MODIFY(name, ...)		REFUSE(name, RI_RET_NO_PERMISSION, __VA_ARGS__)
#define ONLY_OPTIONAL(name, ...)	REFUSE(name, RI_RET_OP_UNSUPPORTED, __VA_ARGS__)
#define ONLY_INFINIBAND(name, ...)	REFUSE(name, RI_RET_XPORT_UNSUPPORTED, __VA_ARGS__)
#define ONLY_ATOMICS(name, ...)		REFUSE(name, RI_RET_RNIC_ATOMICS_UNSUPPORTED, __VA_ARGS__)
#define ONLY_DATAGRAMS(name, ...)	REFUSE(name, RI_RET_WR_INVALID_TYPE, __VA_ARGS__)
#define RI_FUNCTION(name, handle, who, ...) ONLY_##who(ri_do_##name, __VA_ARGS__)
#include "rnicpi/shared/functions.h"
