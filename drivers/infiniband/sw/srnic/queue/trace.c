// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The tracepoints are made here. */

#define CREATE_TRACE_POINTS
#include "queue/trace.h"
