/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Discriminators of servers, and their listening ports. */
#ifndef VIPL_LISTEN_H
#define VIPL_LISTEN_H

#include "link.h"

bool vipl_listen(struct vipl_nic *nic, const struct vipl_disc *disc);
void vipl_listen_end(struct vipl_nic *nic, const struct vipl_disc *disc);
bool vipl_listen_expire(struct vipl_nic *nic);
void vipl_listen_request(struct vipl_nic *nic, const struct vipl_event *event);
struct vipl_link *vipl_listen_next(struct vipl_nic *nic, const struct vipl_disc *disc,
				   const struct vipl_address *from);
void vipl_listen_release(struct vipl_nic *nic);
struct vipl_address vipl_client_of(struct vipl_link *link);

#endif
