// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* CQs of verbs, which several connections share. */
#include <stdlib.h>
#include "lane.h"

#define LANE_ENTRIES	8192

static struct vipl_lane *lane_new(struct vipl_nic *nic)
{
	struct vipl_lane *lane = calloc(1, sizeof(*lane));
	int entries = nic->device.max_cqe < LANE_ENTRIES ? nic->device.max_cqe : LANE_ENTRIES;

	if (lane)
		lane->cq = ibv_create_cq(nic->id->verbs, entries, lane, nic->completions, 0);
	if (!lane || !lane->cq) {
		free(lane);
		return NULL;
	}
	ibv_req_notify_cq(lane->cq, 0);
	lane->free = entries;
	lane->next = nic->lanes;
	nic->lanes = lane;
	return lane;
}

/**
 * vipl_lane_take() - Reserve room for completions, as a CQ of verbs must never overflow
 * @nic: the NIC
 * @entries: the most WRs in progress; the caller adds them to the lane's @free when it has
 * no more WRs
 *
 * Context: the NIC's lock is held.
 * Return: a lane, or NULL without resources.
 */
struct vipl_lane *vipl_lane_take(struct vipl_nic *nic, unsigned int entries)
{
	struct vipl_lane *lane = nic->lanes;

	while (lane && lane->free < entries)
		lane = lane->next;
	if (!lane)
		lane = lane_new(nic);
	if (!lane || lane->free < entries)
		return NULL;
	lane->free -= entries;
	return lane;
}

/**
 * vipl_lanes_free() - End all lanes of a NIC
 * @nic: without a link
 *
 * Context: the NIC's lock is held.
 */
void vipl_lanes_free(struct vipl_nic *nic)
{
	while (nic->lanes) {
		struct vipl_lane *lane = nic->lanes;

		nic->lanes = lane->next;
		ibv_destroy_cq(lane->cq);
		free(lane);
	}
}
