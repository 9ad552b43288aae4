/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Establishing connections. */
#ifndef VIPL_ESTABLISH_H
#define VIPL_ESTABLISH_H

#include "link.h"

bool vipl_establish(struct vipl_vi *vi, const struct vipl_address *from,
		    const struct vipl_address *to, uint16_t port);
void vipl_establish_accept(struct vipl_link *link, struct vipl_vi *vi);
void vipl_establish_event(struct vipl_link *link, const struct vipl_event *event);

#endif
