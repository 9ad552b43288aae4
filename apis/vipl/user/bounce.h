/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The data of descriptors as scatter/gather elements, of which a WR has only a few. */
#ifndef VIPL_BOUNCE_H
#define VIPL_BOUNCE_H

#include "vi.h"

int vipl_bounce_out(struct vipl_vi *vi, struct vipl_work *work, struct ibv_sge *sge, int max);
int vipl_bounce_in(struct vipl_vi *vi, struct vipl_work *work, struct ibv_sge *sge, int max);
bool vipl_bounce_back(struct vipl_work *work, uint32_t len);
bool vipl_bounce_scatter(const struct vipl_work *work, const void *data, uint32_t len);
bool vipl_bounce_copy(const VIP_DATA_SEGMENT *to, const void *data, uint32_t len);
void vipl_bounce_free(struct vipl_vi *vi, struct vipl_work *work);
void vipl_bounce_release(struct vipl_vi *vi);

#endif
