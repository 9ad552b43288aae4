/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The lock of a NIC, under which all of its objects are, and waits for changes of these. */
#ifndef VIPL_LOCK_H
#define VIPL_LOCK_H

#include "kind.h"
#include "nic.h"

struct vipl_nic *vipl_nic_alloc(void);
void vipl_nic_free(struct vipl_nic *nic);
void *vipl_enter(enum vipl_kind kind, const void *handle, struct vipl_nic **nic);
void vipl_leave(struct vipl_nic *nic);
void *vipl_object(const struct vipl_nic *nic, enum vipl_kind kind, const void *handle);
void vipl_wake(struct vipl_nic *nic);
void vipl_wake_thread(const struct vipl_nic *nic);
bool vipl_wait(struct vipl_nic *nic, const struct vipl_deadline *deadline);
void vipl_fork_init(void);

#endif
