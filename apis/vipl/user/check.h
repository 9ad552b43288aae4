/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Checks of descriptors. */
#ifndef VIPL_CHECK_H
#define VIPL_CHECK_H

#include "vi.h"

uint32_t vipl_check_desc(struct vipl_vi *vi, const struct vipl_work *work, bool recv);
unsigned int vipl_first_data(const struct vipl_work *work);
uint64_t vipl_data_bytes(const struct vipl_work *work);

#endif
