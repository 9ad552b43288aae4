/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The device: one RNIC on one network interface. All layers include this. */
#ifndef SRNIC_H
#define SRNIC_H

#include <linux/bits.h>
#include <linux/bottom_half.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include "policy.h"

/* Shown as firmware version: <major>.<minor>.<patch> */
#define SRNIC_VERSION_MAJOR	0
#define SRNIC_VERSION_MINOR	1
#define SRNIC_VERSION_PATCH	0

/* Limits; all are what query_device reports and what create checks */
#define SRNIC_MAX_QP		(64 * 1024)
#define SRNIC_MAX_QP_WR		(16 * 1024)
#define SRNIC_MAX_SRQ		(64 * 1024)
#define SRNIC_MAX_SRQ_WR	(32 * 1024)
#define SRNIC_MAX_CQ		(64 * 1024)
#define SRNIC_MAX_CQE		(1024 * 1024)
#define SRNIC_MAX_MR_SIZE	((u64)U32_MAX << PAGE_SHIFT)
#define SRNIC_MAX_MR		(512 * 1024)
#define SRNIC_MAX_MW		(512 * 1024)
#define SRNIC_MAX_FR_BLOCKS	4096	/* PBL of a fast-register region */
#define SRNIC_MAX_PD		(64 * 1024)
#define SRNIC_MAX_AH		(64 * 1024)
#define SRNIC_MAX_DM		(16 * 1024 * 1024)	/* bytes, of all programs */
#define SRNIC_MAX_SGE		32
#define SRNIC_MAX_GID		32	/* at most BITS_PER_LONG */
#define SRNIC_MAX_INLINE	512	/* octets */
#define SRNIC_MAX_UD_USERS	256	/* users with UD QPs in RTR or RTS at a time */
#define SRNIC_MAX_IRD		128
#define SRNIC_MAX_ORD		128
/* Blocks of a PBL: from 4 KiB, which NVMe-oF and iSER use, whatever the size of the CPU's pages */
#define SRNIC_MIN_PAGE		SZ_4K
#define SRNIC_PAGE_SIZES	GENMASK(30, ilog2(SRNIC_MIN_PAGE))

/*
 * Memory whose size a user chooses is charged to the memory cgroup of the user. A
 * request for too much fails, without the OOM killer and without a line in the log.
 */
#define SRNIC_GFP_USER	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

struct srnic_event_queue;
struct srnic_holder;
struct srnic_ib_device;

enum srnic_counter {
#define SRNIC_COUNTER(_symbol, ...) SRNIC_CNT_##_symbol,
#include "counters.h"
#undef SRNIC_COUNTER
	SRNIC_CNT_COUNT,
};

/**
 * struct srnic_counters - what one CPU has counted
 * @n: by enum srnic_counter
 */
struct srnic_counters {
	u64 n[SRNIC_CNT_COUNT];
};

/* Kinds of objects with a limited number, SRNIC_MAX_* each; see queue/holder.c */
enum srnic_kind {
	SRNIC_KIND_PD,
	SRNIC_KIND_CQ,
	SRNIC_KIND_SRQ,
	SRNIC_KIND_QP,
	SRNIC_KIND_MR,
	SRNIC_KIND_MW,
	SRNIC_KIND_AH,
	SRNIC_KIND_DM,		/* bytes */
	SRNIC_KINDS,
};

/* Phases of a device's life; the RDMA core may take the device through them again */
enum srnic_device_phase {
	SRNIC_DEV_ENABLING,	/* clients of the RDMA core, such as rdma_cm, get to know it */
	SRNIC_DEV_UP,
	SRNIC_DEV_LEAVING,	/* they are about to forget it: no new connections */
};

/**
 * struct srnic_device - an RNIC
 * @ibdev: the verbs device; the core owns its lifetime
 * @netdev: the interface; referenced from creation to dealloc_driver
 * @netdev_ref: that reference
 * @qps: by QP number
 * @next_qpn: where the search for a free one starts
 * @stags: TPT entries by STag index; lookups under RCU
 * @ib: what InfiniBand's programs want; NULL without SRNIC_IB
 * @policy: of new connections
 * @held_users: objects of all users, by enum srnic_kind
 * @held_kernel: those of kernel consumers
 * @holders_lock: protects @holders
 * @holders: users that have it open: struct srnic_holder
 * @counters: of each CPU, so that CPUs do not write to the same line
 * @gid_lock: protects @gids; softirqs take it
 * @gids: of the port; zero: none at that index
 * @port_active: last port state that was reported, under RTNL
 * @phase: enum srnic_device_phase
 * @release_rcu: delays the release of the device, see device/release.c
 * @release_work: releases it after that
 */
struct srnic_device {
	struct ib_device ibdev;
	struct net_device *netdev;
	netdevice_tracker netdev_ref;
	struct xarray qps;
	u32 next_qpn;
	struct xarray stags;
	struct srnic_ib_device *ib;
	struct srnic_policy_owner policy;
	atomic_long_t held_users[SRNIC_KINDS];
	atomic_long_t held_kernel[SRNIC_KINDS];
	struct mutex holders_lock;	/* of holders */
	struct list_head holders;
	struct srnic_counters __percpu *counters;
	spinlock_t gid_lock;	/* of gids */
	union ib_gid gids[SRNIC_MAX_GID];
	bool port_active;
	int phase;
	struct rcu_head release_rcu;
	struct work_struct release_work;
};

/**
 * struct srnic_ucontext - an open device
 * @ibuc: the verbs object
 * @features: SRNIC_FEAT_* that both the program's provider and we know, immutable
 * @events: where its program reads events, see event_queue.c; NULL: nowhere
 * @holder: the user that has opened it
 */
struct srnic_ucontext {
	struct ib_ucontext ibuc;
	u64 features;
	struct srnic_event_queue *events;
	struct srnic_holder *holder;
};

static inline struct srnic_ucontext *to_srnic_ucontext(struct ib_ucontext *uctx)
{
	return container_of(uctx, struct srnic_ucontext, ibuc);
}

/**
 * struct srnic_pd - a protection domain
 * @ibpd: the verbs object
 * @holder: the user of the PD and of all that is in it; NULL: a kernel consumer's
 */
struct srnic_pd {
	struct ib_pd ibpd;
	struct srnic_holder *holder;
};

/* The user that the objects of a PD count against; NULL: a kernel consumer's */
static inline struct srnic_holder *srnic_pd_holder(struct ib_pd *ibpd)
{
	return container_of(ibpd, struct srnic_pd, ibpd)->holder;
}

static inline struct srnic_device *to_srnic_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct srnic_device, ibdev);
}

/* Not xa_empty(): an insertion that failed without memory may leave nodes without entries */
static inline bool srnic_xa_has_entries(struct xarray *xa)
{
	unsigned long index = 0;

	return xa_find(xa, &index, ULONG_MAX, XA_PRESENT);
}

static inline enum srnic_device_phase srnic_device_phase(const struct srnic_device *dev)
{
	return READ_ONCE(dev->phase);
}

/* What all CPUs have counted, at about the same time */
static inline u64 srnic_counter(const struct srnic_device *dev, enum srnic_counter c)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(dev->counters, cpu)->n[c]);
	return sum;
}

static inline void srnic_count(struct srnic_device *dev, enum srnic_counter c)
{
	this_cpu_inc(dev->counters->n[c]);
}

/*
 * As srnic_count(), for what is counted for each message, in a task or softirq with interrupts
 * on: this_cpu_inc() turns interrupts off on CPUs that have no instruction for it.
 */
static inline void srnic_count_often(struct srnic_device *dev,
				     enum srnic_counter c, u64 n)
{
	local_bh_disable();
	__this_cpu_add(dev->counters->n[c], n);
	local_bh_enable();
}

#endif
