/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Who wants to be called when a descriptor is done. */
#ifndef VIPL_NOTIFY_H
#define VIPL_NOTIFY_H

#include "vi.h"

void vipl_notify_queue(struct vipl_vi *vi, struct vipl_queue *queue);
void vipl_notify_cq(struct vipl_cq *cq);

#endif
