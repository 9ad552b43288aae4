/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* The device: one RNIC on one network interface. */
#ifndef SRNIC_H
#define SRNIC_H

#include <linux/bits.h>
#include <linux/gfp.h>
#include <linux/netdevice.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/srnic-abi.h>
#include "policy.h"
#include "wqe.h"

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
#define SRNIC_MAX_MR		(512 * 1024)
#define SRNIC_MAX_MW		(512 * 1024)
#define SRNIC_MAX_FR_BLOCKS	4096	/* PBL of a fast-register region */
#define SRNIC_MAX_PD		(64 * 1024)
#define SRNIC_MAX_SGE		32
#define SRNIC_MAX_INLINE	512	/* octets */
#define SRNIC_MAX_IRD		128
#define SRNIC_MAX_ORD		128
#define SRNIC_PAGE_SIZES	GENMASK(30, PAGE_SHIFT)	/* blocks of a PBL */

/*
 * What a user can make large is charged to the memory cgroup that the user is
 * in. Who asks for too much gets an error, and neither the OOM killer nor a line
 * in the log.
 */
#define SRNIC_GFP_USER	(GFP_KERNEL_ACCOUNT | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* Counters, shown by `rdma statistic`; names in stats.c */
enum srnic_counter {
	SRNIC_CNT_TX_FPDU,
	SRNIC_CNT_TX_BYTES,
	SRNIC_CNT_TX_SENDMSG,
	SRNIC_CNT_TX_NO_MEMORY,		/* a QP with something to send waited for memory */
	SRNIC_CNT_RX_FPDU,
	SRNIC_CNT_RX_BYTES,
	SRNIC_CNT_TX_TERMINATE,
	SRNIC_CNT_RX_TERMINATE,
	SRNIC_CNT_CRC_ERROR,
	SRNIC_CNT_RX_PROTOCOL_ERROR,	/* any other error the peer made */
	SRNIC_CNT_RX_PROTECTION_ERROR,	/* STag, bounds, rights */
	SRNIC_CNT_RQ_EMPTY,
	SRNIC_CNT_LOCAL_WR_ERROR,
	SRNIC_CNT_MW_BIND,
	SRNIC_CNT_RING_CORRUPT,
	SRNIC_CNT_CQ_OVERFLOW,
	SRNIC_CNT_CONN_ACTIVE,
	SRNIC_CNT_CONN_PASSIVE,
	SRNIC_CNT_CONN_REJECTED,
	SRNIC_CNT_CONN_FAILED,		/* start-up failed: bad frame, time-out, reset */
	SRNIC_CNT_CONN_DROPPED,		/* refused for lack of room: backlog, memory */
	SRNIC_CNT_CONN_USER_LIMIT,	/* refused: the user has max_user_qps of them */
	SRNIC_CNT_LISTEN_WAIT,		/* a listener has no socket yet: its port is taken */
	SRNIC_CNT_CLOSE_GRACEFUL,
	SRNIC_CNT_CLOSE_ABORTED,
	SRNIC_CNT_CLOSE_LINGERED,	/* streams left to themselves, see linger.c */
	SRNIC_CNT_COUNT,
};

/* Where a device is between its making and its end; the core may take it through again */
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
 * @policy: of new connections
 * @num_qp: of SRNIC_MAX_QP
 * @num_srq: of SRNIC_MAX_SRQ
 * @num_cq: of SRNIC_MAX_CQ
 * @num_mr: of SRNIC_MAX_MR
 * @num_mw: of SRNIC_MAX_MW
 * @num_pd: of SRNIC_MAX_PD
 * @counters: enum srnic_counter
 * @raw_gid: MAC address, or a made-up one for an interface that has none;
 *	     written under RTNL once the device is registered
 * @port_active: last port state that was reported, under RTNL
 * @phase: enum srnic_device_phase
 */
struct srnic_device {
	struct ib_device ibdev;
	struct net_device *netdev;
	netdevice_tracker netdev_ref;
	struct xarray qps;
	u32 next_qpn;
	struct xarray stags;
	struct srnic_policy_owner policy;
	atomic_t num_qp;
	atomic_t num_srq;
	atomic_t num_cq;
	atomic_t num_mr;
	atomic_t num_mw;
	atomic_t num_pd;
	atomic64_t counters[SRNIC_CNT_COUNT];
	u8 raw_gid[16];
	bool port_active;
	int phase;
};

/**
 * struct srnic_ucontext - an open device
 * @ibuc: the verbs object
 * @features: SRNIC_FEAT_* that its opener's provider and we know, immutable
 */
struct srnic_ucontext {
	struct ib_ucontext ibuc;
	u64 features;
};

static inline struct srnic_ucontext *to_srnic_ucontext(struct ib_ucontext *uctx)
{
	return container_of(uctx, struct srnic_ucontext, ibuc);
}

struct srnic_pd {
	struct ib_pd ibpd;
};

static inline struct srnic_device *to_srnic_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct srnic_device, ibdev);
}

static inline enum srnic_device_phase srnic_device_phase(const struct srnic_device *dev)
{
	return READ_ONCE(dev->phase);
}

static inline void srnic_count(struct srnic_device *dev, enum srnic_counter c)
{
	atomic64_inc(&dev->counters[c]);
}

static inline void srnic_count_add(struct srnic_device *dev,
				   enum srnic_counter c, u64 n)
{
	atomic64_add(n, &dev->counters[c]);
}

/* verbs.c */
extern const struct ib_device_ops srnic_dev_ops;
extern const struct uapi_definition srnic_uapi_defs[];

/* post.c */
int srnic_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		    const struct ib_send_wr **bad_wr);
int srnic_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		    const struct ib_recv_wr **bad_wr);
int srnic_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
			const struct ib_recv_wr **bad_wr);

/* device.c */
int srnic_device_add(const char *name, struct net_device *netdev);
void srnic_dealloc_driver(struct ib_device *ibdev);
int srnic_enable_driver(struct ib_device *ibdev);
void srnic_device_leave(struct srnic_device *dev);
unsigned int srnic_devices_in(const struct net *net);
int srnic_client_init(void);
void srnic_client_exit(void);
bool srnic_device_set_gid(struct srnic_device *dev);
bool srnic_netdev_active(const struct net_device *netdev);
int srnic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		       struct ib_udata *udata);
int srnic_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int srnic_get_port_immutable(struct ib_device *ibdev, u32 port,
			     struct ib_port_immutable *immutable);
int srnic_query_gid(struct ib_device *ibdev, u32 port, int index, union ib_gid *gid);
int srnic_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
void srnic_get_dev_fw_str(struct ib_device *ibdev, char *str);

/* netdev.c */
int srnic_netdev_init(void);
void srnic_netdev_exit(void);
void srnic_netdev_sync(struct net_device *netdev);

/* nldev.c */
int srnic_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);
int srnic_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int srnic_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);

/* stats.c */
struct rdma_hw_stats *srnic_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int srnic_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		       u32 port, int index);

#endif
