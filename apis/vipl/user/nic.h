/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A VI NIC that a program has opened, and its objects. */
#ifndef VIPL_NIC_H
#define VIPL_NIC_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <rdma/rdma_cma.h>
#include <vipl.h>
#include "address.h"
#include "wait.h"

#define VIPL_MAX_DESCS		1000	/* in a queue of a VI */
#define VIPL_SGES		8	/* of a WR at most, with the header's */

struct vipl_call;
struct vipl_listener;
struct vipl_service;

/**
 * struct vipl_ptag - a protection tag
 * @nic: its owner
 * @next: in the NIC's list
 * @handle: the program's
 * @pd: its protection domain of verbs
 * @users: number of VIs and regions with this tag
 */
struct vipl_ptag {
	struct vipl_nic *nic;
	struct vipl_ptag *next;
	void *handle;
	struct ibv_pd *pd;
	unsigned long users;
};

/**
 * struct vipl_region - registered memory
 * @next: in its list of the NIC's table
 * @mr: its pages; the remote key is the memory handle
 * @base: as the program has passed it, as are @length and @attribs
 * @length: in bytes
 * @ptag: of @attribs
 * @attribs: its attributes
 * @read_only: its pages are read-only, so it cannot be a receive buffer
 */
struct vipl_region {
	struct vipl_region *next;
	struct ibv_mr *mr;
	void *base;
	size_t length;
	struct vipl_ptag *ptag;
	VIP_MEM_ATTRIBUTES attribs;
	bool read_only;
};

/**
 * struct vipl_regions - a table of regions by their handles, as each descriptor has several
 * @lists: 2^@bits lists, or NULL as long as there is no region
 * @bits: so many that there are at least as many lists as regions
 * @count: number of regions
 */
struct vipl_regions {
	struct vipl_region **lists;
	unsigned int bits;
	unsigned long count;
};

/**
 * struct vipl_lane - a CQ of verbs, which several connections share
 * @next: in the NIC's list
 * @cq: has room for the WRs of all its users
 * @free: entries that are not reserved
 */
struct vipl_lane {
	struct vipl_lane *next;
	struct ibv_cq *cq;
	unsigned int free;
};

/**
 * struct vipl_nic - a NIC; as in each of its objects, the first member is for handle_owner()
 * @self: the NIC
 * @handle: the program's
 * @channel: of @id and all connections, immutable as are @id, @device and @attribs
 * @id: bound to the NIC's address, and so to its device
 * @device: the limits of the device
 * @attribs: returned by VipQueryNic()
 * @sges: SGEs of a WR, as far as the library uses them
 * @address: the NIC address
 * @default_ptag: tag for programs that pass none, or NULL
 * @ptags: under the NIC's lock, as are @regions, @vis and @cqs
 * @regions: all regions
 * @vis: list of VIs
 * @cqs: list of CQs
 * @links: connections and requests, the oldest first
 * @listeners: listening ports
 * @services: discriminators that the library listens for
 * @lanes: CQs of verbs
 * @completions: completion channel of the lanes
 * @thread: takes events, and completions that no call takes
 * @events: a context of the device, for its events alone: that of @id is shared by all NICs
 * @gone: the device has gone
 * @wake: an eventfd that wakes @thread
 * @naps: @thread sleeps for a time, and no completion wakes it
 * @awaited: a call of the program waits for a completion since @thread looked last
 * @closing: @thread and @dispatcher have to return
 * @polls: how often calls of the program that do not wait have found nothing
 * @calls: calls of the program's functions that are due
 * @calling: the call that @dispatcher makes now, or NULL
 * @called_times: number of calls that it has made
 * @called: signalled when there is one, or @closing is set
 * @dispatcher: thread that makes them, if @dispatches
 * @dispatches: @dispatcher was started
 * @on_error: handler of errors; NULL: they are logged
 * @on_error_context: its first argument
 * @counters: since the NIC was opened
 * @shown: copy of VipQuerySystemManagementInfo()
 * @lock: protects all above and all objects of the NIC; kept in closed NICs
 * @changed: signalled when a descriptor is done, or a VI or CQ has ended
 * @next_closed: in the list of closed NICs
 */
struct vipl_nic {
	struct vipl_nic *self;
	void *handle;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_device_attr device;
	VIP_NIC_ATTRIBUTES attribs;
	int sges;
	struct in_addr address;

	VIP_PROTECTION_HANDLE default_ptag;
	struct vipl_ptag *ptags;
	struct vipl_regions regions;
	struct vipl_vi *vis;
	struct vipl_cq *cqs;
	struct vipl_link *links;
	struct vipl_listener *listeners;
	struct vipl_service *services;

	struct vipl_lane *lanes;
	struct ibv_comp_channel *completions;
	pthread_t thread;
	struct ibv_context *events;
	bool gone;
	int wake;
	bool naps;
	bool awaited;
	bool closing;
	unsigned long polls;

	struct vipl_call *calls;
	struct vipl_call *calling;
	unsigned long called_times;
	pthread_cond_t called;
	pthread_t dispatcher;
	bool dispatches;
	void (*on_error)(VIP_PVOID context, VIP_ERROR_DESCRIPTOR *error);
	void *on_error_context;

	VIP_SMI_COUNTERS counters;
	VIP_SMI_COUNTERS shown;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct vipl_nic *next_closed;
};

VIP_PROTECTION_HANDLE vipl_default_ptag(struct vipl_nic *nic);
struct vipl_ptag *vipl_ptag_of(struct vipl_nic *nic, VIP_PROTECTION_HANDLE handle);
bool vipl_memory_covers(struct vipl_nic *nic, const struct vipl_ptag *ptag,
			VIP_MEM_HANDLE handle, const void *start, size_t len);
bool vipl_memory_key(struct vipl_nic *nic, const struct vipl_ptag *ptag,
		     const VIP_DATA_SEGMENT *seg, bool write, uint32_t *lkey);
bool vipl_memory_may_write(struct vipl_nic *nic, const struct vipl_ptag *ptag,
			   const VIP_DATA_SEGMENT *target);
struct ibv_mr *vipl_memory_alloc(const struct vipl_ptag *ptag, size_t len);
void vipl_memory_free(struct ibv_mr *mr);
void vipl_memory_release(struct vipl_nic *nic);
void vipl_vi_disown(struct vipl_nic *nic);
void vipl_vi_release(struct vipl_nic *nic);
void vipl_cq_release(struct vipl_nic *nic);

#endif
