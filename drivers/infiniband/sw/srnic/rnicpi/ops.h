/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* What the vectors are made of: a function for each of rnicpi.h, by the type that it has there. */
#ifndef OPS_H
#define OPS_H

#include <rnicpi/rnicpi.h>

#define RI_FUNCTION(name, ...) extern typeof(*(ri_op_##name##_t)NULL) ri_do_##name;
#include <rnicpi/functions.h>

#endif
