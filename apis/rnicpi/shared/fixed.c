// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Functions with one answer: all of an invalid handle, those that iWARP does not have, those that
 * have nothing to do and, in librnicpi, those that programs may not call.
 */
#include "rnicpi/shared/os.h"
#include "rnicpi/shared/ops.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define RI_FUNCTION(name, handle, who, ...)						\
	static ri_api_return_t none_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{										\
		return ri_answer(err_data, RI_RET_##handle##_INVALID_HANDLE);		\
	}
#include "rnicpi/shared/functions.h"

const struct ri_ops ri_no_ops = {
#define RI_FUNCTION(name, ...) .ri_op_##name = none_##name,
#include "rnicpi/shared/functions.h"
};

#define IS_VALID_VP	ri_is_vp(vp_hdl)
#define IS_VALID_RNIC	ri_is_rnic(rnic)

/* The handle is checked first, even if the vector is called itself */
#define ANSWER(name, handle, code, ...)							\
	ri_api_return_t ri_do_##name(__VA_ARGS__, ri_err_data_t *err_data)		\
	{										\
		return ri_answer(err_data, IS_VALID_##handle ? code :			\
				 RI_RET_##handle##_INVALID_HANDLE);			\
	}

/* By callers of functions.h: privileged (3.2.1), optional, InfiniBand's (1.3); L4395, L4446 */
#define ONLY_ALL(...)
#ifdef __KERNEL__
#define ONLY_KERNEL(...)
#define ONLY_MODIFY(name, h, ...)	ANSWER(name, h, RI_RET_XPORT_UNSUPPORTED, __VA_ARGS__)
#else
#define ONLY_KERNEL(name, h, ...)	ANSWER(name, h, RI_RET_NO_PERMISSION, __VA_ARGS__)
#define ONLY_MODIFY(name, h, ...)	ANSWER(name, h, RI_RET_NO_PERMISSION, __VA_ARGS__)
#endif
#define ONLY_COHERENT(name, h, ...)	ANSWER(name, h, RI_RET_SUCCESS, __VA_ARGS__)
#define ONLY_OPTIONAL(name, h, ...)	ANSWER(name, h, RI_RET_OP_UNSUPPORTED, __VA_ARGS__)
#define ONLY_INFINIBAND(name, h, ...)	ANSWER(name, h, RI_RET_XPORT_UNSUPPORTED, __VA_ARGS__)
#define ONLY_ATOMICS(name, h, ...)	\
	ANSWER(name, h, RI_RET_RNIC_ATOMICS_UNSUPPORTED, __VA_ARGS__)
#define ONLY_DATAGRAMS(name, h, ...)	ANSWER(name, h, RI_RET_WR_INVALID_TYPE, __VA_ARGS__)
#define RI_FUNCTION(name, handle, who, ...) ONLY_##who(name, handle, __VA_ARGS__)
#include "rnicpi/shared/functions.h"
