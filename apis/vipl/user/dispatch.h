/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions of the program that the library calls, from a thread of their own. */
#ifndef VIPL_DISPATCH_H
#define VIPL_DISPATCH_H

#include "nic.h"

typedef void (*vipl_desc_handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR *);
typedef void (*vipl_cq_handler)(VIP_PVOID, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_BOOLEAN);
typedef void (*vipl_error_handler)(VIP_PVOID, VIP_ERROR_DESCRIPTOR *);

/**
 * struct vipl_call - one call, registered or due
 * @next: in its list
 * @owner: the VI or CQ whose end cancels it, or NULL
 * @context: the program's
 * @desc_handler: handler of a work queue; one of the three is not NULL
 * @cq_handler: handler of a CQ
 * @error_handler: handler of errors
 * @vi: VI of the descriptor
 * @desc: the completed descriptor
 * @recv: it is of the receive queue
 * @error: argument of @error_handler
 */
struct vipl_call {
	struct vipl_call *next;
	const void *owner;
	void *context;
	vipl_desc_handler desc_handler;
	vipl_cq_handler cq_handler;
	vipl_error_handler error_handler;
	VIP_VI_HANDLE vi;
	VIP_DESCRIPTOR *desc;
	VIP_BOOLEAN recv;
	VIP_ERROR_DESCRIPTOR error;
};

void vipl_calls_add(struct vipl_call **list, struct vipl_call *call);
struct vipl_call *vipl_calls_take(struct vipl_call **list);
void vipl_calls_cancel(struct vipl_call **list, const void *owner);

bool vipl_dispatch_start(struct vipl_nic *nic);
void vipl_dispatch(struct vipl_nic *nic, struct vipl_call *call);
bool vipl_dispatch_is_self(const struct vipl_nic *nic);
void vipl_dispatch_stop(struct vipl_nic *nic);

#endif
