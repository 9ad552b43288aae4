/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the vectors are made of. ri_X() of rnicpi_osdfunc.h calls ri_do_X(), of type ri_op_X_t. */
#ifndef RNICPI_OPS_H
#define RNICPI_OPS_H

#include <rnicpi/rnicpi.h>

#define RI_FUNCTION(name, ...) extern __typeof__(*(ri_op_##name##_t)0) ri_do_##name;
#include "rnicpi/shared/functions.h"

/* The vector of an invalid handle */
extern const struct ri_ops ri_no_ops;

#endif
