/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Work requests of verbs, and the headers of messages. */
#ifndef VIPL_WR_H
#define VIPL_WR_H

#include "link.h"

bool vipl_wr_has_room(const struct vipl_ring *ring, unsigned int wrs);
bool vipl_wr_acknowledges(const struct vipl_link *link);
struct ibv_sge vipl_wr_header_sge(const struct vipl_ring *ring);
unsigned int vipl_wr_flags(const struct vipl_link *link);
struct vipl_header *vipl_wr_header(struct vipl_link *link, enum vipl_message type,
				   const struct vipl_work *work);
bool vipl_wr_send(struct vipl_link *link, struct vipl_work *work, struct ibv_send_wr *wr);
bool vipl_wr_message(struct vipl_link *link, struct vipl_work *work, struct ibv_sge *sge, int n);
bool vipl_wr_recv(struct vipl_link *link, struct vipl_work *work, struct ibv_sge *sge, int n);
bool vipl_wr_await_ready(struct vipl_link *link);
bool vipl_wr_ready(struct vipl_link *link);
bool vipl_wr_credits(struct vipl_link *link, unsigned int credits);

#endif
