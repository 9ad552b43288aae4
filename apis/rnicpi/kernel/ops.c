// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The vector, for both models of locking (4.3.1): its functions lock by themselves, and those
 * for any context do not sleep. So a caller that locks may use them as well.
 */

#include <linux/build_bug.h>
#include "rnicpi/kernel/rnic.h"

static_assert(sizeof(ri_ops_t) == 63 * sizeof(void *));

ri_ops_t ri_vector = {
#define RI_FUNCTION(name, ...) .ri_op_##name = ri_do_##name,
#include "rnicpi/shared/functions.h"
};
