// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The two vectors (4.3.1). They have the same functions: verbs locks by itself, and a caller
 * that locks may use that as well. An RNIC handle has the vector that created it.
 */
#include <stddef.h>
#include "rnic.h"

#define GET_HDL(name, ops)								\
	static ri_api_return_t name(ri_vp_handle_t vp_hdl, ri_consumer_domain_t location,	\
				    ri_rnic_handle_t *rnic, ri_vp_data_t vp_data,		\
				    ri_os_data_t os_data, ri_err_data_t *err_data)		\
	{										\
		(void)vp_data;								\
		return ri_do_get_hdl(ops, vp_hdl, location, rnic, os_data, err_data);		\
	}

GET_HDL(get_hdl_al, &ri_al_ops)
GET_HDL(get_hdl_vp, &ri_vp_ops)

const struct ri_ops ri_al_ops = {
#define ri_do_rnic_get_hdl get_hdl_al
#define RI_FUNCTION(name, ...) .ri_op_##name = ri_do_##name,
#include "rnicpi/shared/functions.h"
#undef ri_do_rnic_get_hdl
};

const struct ri_ops ri_vp_ops = {
#define ri_do_rnic_get_hdl get_hdl_vp
#define RI_FUNCTION(name, ...) .ri_op_##name = ri_do_##name,
#include "rnicpi/shared/functions.h"
#undef ri_do_rnic_get_hdl
};

/* All 63 functions, in the order of the specification */
enum {
#define RI_FUNCTION(name, ...) AT_##name,
#include "rnicpi/shared/functions.h"
	AT_END
};

_Static_assert(AT_END == 63 && sizeof(struct ri_ops) == AT_END * sizeof(void *), "63 functions");

#define RI_FUNCTION(name, ...)							\
	_Static_assert(offsetof(struct ri_ops, ri_op_##name) == AT_##name * sizeof(void *), #name);
#include "rnicpi/shared/functions.h"
