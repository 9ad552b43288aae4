// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Functions with one answer: all of an invalid handle, those that iWARP does not have, those that
 * have nothing to do and, in librnicpi, those that programs may not call.
 */
#include "rnicpi/shared/answer.h"
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

#define ANSWER(name, code, ...)							\
	ri_api_return_t ri_do_##name(__VA_ARGS__, ri_err_data_t *err_data)	\
	{									\
		return ri_answer(err_data, code);				\
	}

/* By callers of functions.h: privileged (3.2.1), optional, InfiniBand's (1.3); L4395, L4446 */
#define ONLY_ALL(...)
#ifdef __KERNEL__
#define ONLY_KERNEL(...)
#define ONLY_MODIFY(name, ...)		ANSWER(name, RI_RET_XPORT_UNSUPPORTED, __VA_ARGS__)
#else
#define ONLY_KERNEL(name, ...)		ANSWER(name, RI_RET_NO_PERMISSION, __VA_ARGS__)
#define ONLY_MODIFY(name, ...)		ANSWER(name, RI_RET_NO_PERMISSION, __VA_ARGS__)
#endif
#define ONLY_COHERENT(name, ...)	ANSWER(name, RI_RET_SUCCESS, __VA_ARGS__)
#define ONLY_OPTIONAL(name, ...)	ANSWER(name, RI_RET_OP_UNSUPPORTED, __VA_ARGS__)
#define ONLY_INFINIBAND(name, ...)	ANSWER(name, RI_RET_XPORT_UNSUPPORTED, __VA_ARGS__)
#define ONLY_ATOMICS(name, ...)		ANSWER(name, RI_RET_RNIC_ATOMICS_UNSUPPORTED, __VA_ARGS__)
#define ONLY_DATAGRAMS(name, ...)	ANSWER(name, RI_RET_WR_INVALID_TYPE, __VA_ARGS__)
#define RI_FUNCTION(name, handle, who, ...) ONLY_##who(name, __VA_ARGS__)
#include "rnicpi/shared/functions.h"
