/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Functions for connections of client and server, and of two peers. */
#ifndef VIPL_CONNECT_H
#define VIPL_CONNECT_H

#include "link.h"
#include "lock.h"
#include "wait.h"

/**
 * struct vipl_request - a client's request
 * @nic: the NIC of the VI
 * @nic_handle: of @nic, for two peers
 * @vi: the VI to connect
 * @epoch: of @vi at the beginning
 * @local: the client's address
 * @remote: the server's
 * @deadline: of the attempts
 * @once: do not try an absent server again
 */
struct vipl_request {
	struct vipl_nic *nic;
	VIP_NIC_HANDLE nic_handle;
	VIP_VI_HANDLE vi;
	unsigned long epoch;
	struct vipl_address local;
	struct vipl_address remote;
	struct vipl_deadline deadline;
	bool once;
};

bool vipl_is_local(const struct vipl_nic *nic, const struct vipl_address *addr);
struct vipl_vi *vipl_still_pending(VIP_VI_HANDLE handle, unsigned long epoch);
VIP_RETURN vipl_accept(struct vipl_link *link, struct vipl_vi *vi);
VIP_RETURN vipl_request(const struct vipl_request *call);
VIP_RETURN vipl_connect_request(VIP_VI_HANDLE handle, VIP_NET_ADDRESS *local,
				VIP_NET_ADDRESS *remote, VIP_ULONG msecs,
				VIP_VI_ATTRIBUTES *attribs, bool once);

#endif
