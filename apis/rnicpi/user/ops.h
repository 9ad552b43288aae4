/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the vectors are made of: a function for each of rnicpi.h, by the type that it has there. */
#ifndef OPS_H
#define OPS_H

#include <stddef.h>
#include <rnicpi/rnicpi.h>

/* ri_rnic_get_hdl() is made of ri_do_get_hdl() */
#define RI_FUNCTION(name, ...) extern __typeof__(*(ri_op_##name##_t)NULL) ri_do_##name;
#include "rnicpi/shared/functions.h"

ri_api_return_t ri_do_get_hdl(const struct ri_ops *ops, ri_vp_handle_t vp_hdl, ri_rnic_handle_t *rnic,
			      ri_os_data_t os_data, ri_err_data_t *err_data);

#endif
