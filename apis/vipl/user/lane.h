/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* CQs of verbs, with room for the WRs of all their users. */
#ifndef VIPL_LANE_H
#define VIPL_LANE_H

#include "nic.h"

struct vipl_lane *vipl_lane_take(struct vipl_nic *nic, unsigned int entries);
void vipl_lanes_free(struct vipl_nic *nic);

#endif
