/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Completion queues: entries name a VI and the queue that has a completed descriptor. */
#ifndef VIPL_CQ_H
#define VIPL_CQ_H

#include "nic.h"

/* @vi is a handle: the VI may be gone when the entry is taken. */
struct vipl_cq_entry {
	VIP_VI_HANDLE vi;
	VIP_BOOLEAN recv;
};

/**
 * struct vipl_cq - a completion queue; all of it is under the NIC's lock
 * @nic: its owner
 * @next: in the NIC's list
 * @handle: the program's
 * @ring: of @size entries
 * @size: as the program has requested
 * @first: index of the oldest entry
 * @count: entries in use
 * @users: number of queues that are bound to it
 * @notify: calls that wait for entries, one each
 */
struct vipl_cq {
	struct vipl_nic *nic;
	struct vipl_cq *next;
	void *handle;
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
