/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Descriptors as work requests of verbs, and back. */
#ifndef VIPL_TRANSFER_H
#define VIPL_TRANSFER_H

#include "link.h"

bool vipl_transfer_await_ready(struct vipl_link *link);
bool vipl_transfer_ready(struct vipl_link *link);
bool vipl_transfer_credits(struct vipl_link *link, unsigned int credits);
bool vipl_transfer_post_recv(struct vipl_link *link, struct vipl_work *work, struct ibv_sge *sge,
			     int n);
void vipl_transfer_push(struct vipl_vi *vi, struct vipl_queue *queue);
void vipl_transfer_rewind(struct vipl_queue *queue);
void vipl_transfer_retire(const struct ibv_wc *wc);

#endif
