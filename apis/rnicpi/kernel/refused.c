// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Functions that always fail: all of an invalid handle, and those that iWARP does not have. */

#include "rnicpi/kernel/ops.h"
#include "rnicpi/kernel/rnic.h"

#define RI_FUNCTION(name, handle, who, ...)						\
	static ri_api_return_t none_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{									\
		return ri_refuse(err_data, RI_RET_##handle##_INVALID_HANDLE);	\
	}
#include "rnicpi/shared/functions.h"

/* The vector of an invalid handle */
const ri_ops_t ri_no_ops = {
#define RI_FUNCTION(name, ...) .ri_op_##name = none_##name,
#include "rnicpi/shared/functions.h"
};

#define REFUSE(name, code, ...)							\
	ri_api_return_t ri_do_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{									\
		return ri_refuse(err_data, code);				\
	}

/* Optional functions, and functions of InfiniBand (1.3): they change no state */
#define ONLY_ALL(...)
#define ONLY_KERNEL(...)
#define ONLY_OPTIONAL(name, ...)	REFUSE(name, RI_RET_OP_UNSUPPORTED, __VA_ARGS__)
#define ONLY_INFINIBAND(name, ...)	REFUSE(name, RI_RET_XPORT_UNSUPPORTED, __VA_ARGS__)
#define ONLY_MODIFY(name, ...)		REFUSE(name, RI_RET_XPORT_UNSUPPORTED, __VA_ARGS__)
#define ONLY_ATOMICS(name, ...)		REFUSE(name, RI_RET_RNIC_ATOMICS_UNSUPPORTED, __VA_ARGS__)
#define ONLY_DATAGRAMS(name, ...)	REFUSE(name, RI_RET_WR_INVALID_TYPE, __VA_ARGS__)
#define RI_FUNCTION(name, handle, who, ...) ONLY_##who(name, __VA_ARGS__)
#include "rnicpi/shared/functions.h"
