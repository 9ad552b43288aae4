/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Descriptors to work requests of verbs, and completions to descriptors. */
#ifndef VIPL_TRANSFER_H
#define VIPL_TRANSFER_H

#include "link.h"

void vipl_transfer_push(struct vipl_vi *vi, struct vipl_queue *queue);
void vipl_transfer_retire(const struct ibv_wc *wc);

#endif
