/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Errors that no descriptor reports. */
#ifndef VIPL_ERROR_H
#define VIPL_ERROR_H

#include "link.h"

void vipl_error(struct vipl_nic *nic, const VIP_ERROR_DESCRIPTOR *error);
uint32_t vipl_error_of_peer(struct vipl_link *link);
void vipl_error_of_link(struct vipl_link *link);

#endif
