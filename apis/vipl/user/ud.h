/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Unreliable Delivery: only messages without a place at the receiver are lost. */
#ifndef VIPL_UD_H
#define VIPL_UD_H

#include "link.h"

bool vipl_ud_alloc(struct vipl_link *link);
bool vipl_ud_post_all(struct vipl_link *link);
void vipl_ud_received(struct vipl_link *link, unsigned int slot, uint32_t len);
void vipl_ud_drop_bad(struct vipl_vi *vi);
void vipl_ud_give_back(struct vipl_link *link);

#endif
