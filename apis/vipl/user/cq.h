/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Completion queues: which queue of which VI has a descriptor that is done. */
#ifndef VIPL_CQ_H
#define VIPL_CQ_H

#include "nic.h"

/* @vi is a handle: the VI may be gone when it is read. */
struct vipl_cq_entry {
	VIP_VI_HANDLE vi;
	VIP_BOOLEAN recv;
};

/**
 * struct vipl_cq - a completion queue; all of it is under vipl_lock
 * @next: of the NIC's
 * @handle: what the program holds
 * @nic: its owner
 * @ring: of @size entries
 * @size: as the program asked for it
 * @first: the oldest
 * @count: that are in use
 * @users: queues of VIs that are bound to it
 * @notify: who is called when there is an entry, each for one
 */
struct vipl_cq {
	struct vipl_cq *next;
	void *handle;
	struct vipl_nic *nic;
	struct vipl_cq_entry *ring;
	unsigned long size;
	unsigned long first;
	unsigned long count;
	unsigned long users;
	struct vipl_call *notify;
};

void vipl_cq_add(struct vipl_cq *cq, VIP_VI_HANDLE vi, bool recv);
bool vipl_cq_take(struct vipl_cq *cq, struct vipl_cq_entry *entry);
void vipl_cq_notify(struct vipl_cq *cq);

#endif
