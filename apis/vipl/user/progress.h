/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Completions: calls of the program take them; a thread takes those that no call takes. */
#ifndef VIPL_PROGRESS_H
#define VIPL_PROGRESS_H

#include "link.h"

void vipl_progress(struct vipl_nic *nic);
void vipl_progress_polled(struct vipl_nic *nic);
void vipl_progress_posted(const struct vipl_link *link);
void vipl_progress_awaited(struct vipl_nic *nic);
bool vipl_progress_start(struct vipl_nic *nic);
void vipl_progress_stop(struct vipl_nic *nic);

#endif
