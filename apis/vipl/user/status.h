/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Status bits of VIA for completions of verbs. */
#ifndef VIPL_STATUS_H
#define VIPL_STATUS_H

#include "link.h"

uint32_t vipl_status_of(struct vipl_link *link, const struct vipl_work *work,
			enum ibv_wc_status status);

#endif
