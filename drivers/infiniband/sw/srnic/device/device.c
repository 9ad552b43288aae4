// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The device: its creation, its end, and the attributes of it and its port. */

#include <linux/cpumask.h>
#include <linux/ethtool.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/iw_cm.h>
#include <rdma/iw_portmap.h>
#include <rdma/uverbs_ioctl.h>
#include "cm/cm.h"
#include "compat.h"
#include "device/device.h"
#include "device/gid.h"
#include "device/netdev.h"
#include "device/nldev.h"
#include "device/policy_sysfs.h"
#include "device/stats.h"
#include "ib/ib.h"
#include "queue/holder.h"
#include "queue/wqe.h"
#include "srnic.h"
#include "verbs/uverbs.h"
#include "verbs/verbs.h"

#define SRNIC_VENDOR_ID		0x73724e	/* "srN", a locally administered OUI */
#define SRNIC_VENDOR_PART_ID	1
#define SRNIC_HW_VER		1
#define SRNIC_PKEY		0xffff		/* iWARP has none: the default one */

/* Makes atomic the check that the interface has no srnic yet, and the registration of one */
static DEFINE_MUTEX(add_mutex);

/**
 * srnic_netdev_active - can the interface carry traffic?
 * @netdev: the interface
 *
 * Context: any.
 */
bool srnic_netdev_active(const struct net_device *netdev)
{
	return netif_running(netdev) && netif_carrier_ok(netdev) &&
	       !netif_dormant(netdev);
}

static int check_netdev(const char *name, const struct net_device *netdev)
{
	struct ib_device *other;

	switch (netdev->type) {
	case ARPHRD_ETHER:	/* and veth, dummy, VLAN, bridge, bond */
	case ARPHRD_LOOPBACK:
	case ARPHRD_NONE:	/* tun, and other tunnels of IP packets */
		break;
	default:
		netdev_warn(netdev, "srnic: no device on an interface of type %u\n",
			    netdev->type);
		return -EOPNOTSUPP;
	}

	/* with a longer name iw_cm fails each connect and listen */
	if (strlen(name) >= IWPM_DEVNAME_SIZE) {
		netdev_warn(netdev, "srnic: the name has more than %d characters\n",
			    IWPM_DEVNAME_SIZE - 1);
		return -ENAMETOOLONG;
	}

	other = ib_device_get_by_netdev((struct net_device *)netdev, SRNIC_DRIVER_ID);
	if (other) {
		netdev_warn(netdev, "srnic: the interface has %s already\n",
			    dev_name(&other->dev));
		ib_device_put(other);
		return -EEXIST;
	}
	return 0;
}

/* What other drivers have, and the exporter of Prometheus up to 1.5 cannot do without */
static ssize_t board_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "srnic\n");
}
static DEVICE_ATTR_RO(board_id);

static struct attribute *board_attrs[] = {
	&dev_attr_board_id.attr,
	NULL
};

static const struct attribute_group board_group = {
	.attrs = board_attrs,
};

static void init_ibdev(struct srnic_device *dev, u8 type)
{
	struct ib_device *ibdev = &dev->ibdev;

	ibdev->node_type = type;
	strscpy(ibdev->node_desc, "srnic software RNIC", sizeof(ibdev->node_desc));
	addrconf_addr_eui48((u8 *)&ibdev->node_guid, dev->gids[0].raw);
	ibdev->phys_port_cnt = 1;
	/* consumers spread CQs over the vectors; here a vector has no CPU */
	ibdev->num_comp_vectors = num_online_cpus();
	ibdev->local_dma_lkey = 0;
	/* doorbells; the rest of the data path uses shared memory */
	ibdev->uverbs_cmd_mask |= BIT_ULL(IB_USER_VERBS_CMD_POST_SEND) |
				  BIT_ULL(IB_USER_VERBS_CMD_POST_RECV);
	strscpy(ibdev->iw_ifname, dev->netdev->name, sizeof(ibdev->iw_ifname));
	ibdev->iw_driver_flags = IW_F_NO_PORT_MAP;
	/* behind those of the core and of ->device_group, which has a name; NULL ends them */
	ibdev->groups[2] = &board_group;
	/* each layer registers its own operations */
	ib_set_device_ops(ibdev, &srnic_device_ops);
	ib_set_device_ops(ibdev, &srnic_verbs_ops);
	if (IS_ENABLED(CONFIG_SRNIC_IB))
		ib_set_device_ops(ibdev, &srnic_ah_ops);
	if (type == RDMA_NODE_RNIC)
		ib_set_device_ops(ibdev, &srnic_cm_ops);
	if (IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS))
		ibdev->driver_def = srnic_uapi_defs;
}

static struct lock_class_key qps_lock_key;

static struct srnic_device *device_new(struct net_device *netdev, u8 type)
{
	struct srnic_device *dev;

	dev = ib_alloc_device(srnic_device, ibdev);
	if (!dev)
		return NULL;
	dev->counters = alloc_percpu(struct srnic_counters);
	if (!dev->counters) {
		ib_dealloc_device(&dev->ibdev);
		return NULL;
	}
	if (srnic_ib_device_new(dev)) {
		free_percpu(dev->counters);
		ib_dealloc_device(&dev->ibdev);
		return NULL;
	}
	dev->netdev = netdev;
	netdev_hold(netdev, &dev->netdev_ref, GFP_KERNEL);
	/* ACCOUNT: random STags allocate a node each, charged to the program that registers */
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_IRQ | XA_FLAGS_ACCOUNT);
	xa_init_flags(&dev->stags, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	/* irqs are off under the lock of @qps, and on under that of @stags: two lockdep classes */
	lockdep_set_class(&dev->qps.xa_lock, &qps_lock_key);
	srnic_policy_init(&dev->policy);
	/* a device that is no RNIC is for programs of InfiniBand */
	dev->policy.now.ib_ack = type != RDMA_NODE_RNIC;
	srnic_holders_init(dev);
	spin_lock_init(&dev->gid_lock);
	srnic_gid_sync(dev);
	dev->port_active = srnic_netdev_active(netdev);
	init_ibdev(dev, type);
	return dev;
}

/*
 * rdma_cm finds an iWARP device by its interface, if the RDMA core records the interface with the
 * GIDs; on Linux 6.1 by GID 0, which is the interface's hardware address, if it has one. The
 * device is of use without rdma_cm, so this is no error.
 */
static void warn_if_hidden(struct net_device *netdev)
{
	struct ib_device *ibdev = ib_device_get_by_netdev(netdev, SRNIC_DRIVER_ID);
	const struct ib_gid_attr *attr;

	if (!ibdev)
		return;
	attr = rdma_get_gid_attr(ibdev, 1, 0);
	if (!IS_ERR(attr)) {
		if (!rcu_access_pointer(attr->ndev) &&
		    memcmp(&attr->gid, netdev->dev_addr, ETH_ALEN))
			netdev_warn(netdev, "srnic: the interface has no hardware address, by which rdma_cm of this kernel would find %s\n",
				    dev_name(&ibdev->dev));
		rdma_put_gid_attr(attr);
	}
	ib_device_put(ibdev);
}

/**
 * srnic_device_add - make a device on an interface (`rdma link add`)
 * @name: of the device
 * @netdev: the interface; the caller holds a reference
 * @type: RDMA_NODE_RNIC; or RDMA_NODE_UNSPECIFIED, a device that rdma_cm does not use, for
 *	  programs that refuse an RNIC
 *
 * Context: may sleep, no RTNL.
 *
 * Return: 0; -EEXIST if the interface has an srnic or the name is in use;
 * -EOPNOTSUPP for a type of interface that cannot have one; -ENAMETOOLONG;
 * -ENOMEM.
 */
int srnic_device_add(const char *name, struct net_device *netdev, u8 type)
{
	struct srnic_device *dev;
	int err;

	mutex_lock(&add_mutex);
	err = check_netdev(name, netdev);
	if (err)
		goto unlock;
	dev = device_new(netdev, type);
	if (!dev) {
		err = -ENOMEM;
		goto unlock;
	}
	err = ib_device_set_netdev(&dev->ibdev, netdev, 1);
	if (!err)
		err = ib_register_device(&dev->ibdev, name, NULL);
	if (err) {
		ib_dealloc_device(&dev->ibdev);
		if (err == -ENFILE) {
			netdev_warn(netdev, "srnic: the name %s is in use\n", name);
			err = -EEXIST;
		}
		goto unlock;
	}
	if (type == RDMA_NODE_RNIC)
		warn_if_hidden(netdev);
	/* @dev may be gone already; the notifier has not seen events before the registration */
	rtnl_lock();
	srnic_netdev_sync(netdev);
	rtnl_unlock();
unlock:
	mutex_unlock(&add_mutex);
	return err;
}

/**
 * srnic_enable_driver - clients of the RDMA core are about to be added to the device
 * @ibdev: being registered, or moved to another namespace of the RDMA subsystem
 *
 * Return: 0.
 */
static int srnic_enable_driver(struct ib_device *ibdev)
{
	WRITE_ONCE(to_srnic_dev(ibdev)->phase, SRNIC_DEV_ENABLING);
	return 0;
}

/**
 * srnic_device_leave - the device is leaving: give up pending connections
 * @dev: the device
 *
 * Clients of the RDMA core wait for connections that are being made, and the peer may
 * be silent. So pending ones are given up, and new ones are refused. Context: process;
 * does not wait.
 */
void srnic_device_leave(struct srnic_device *dev)
{
	WRITE_ONCE(dev->phase, SRNIC_DEV_LEAVING);
	srnic_cm_drop_device(dev);
}

/* rdma_cm, of which the module uses a symbol, is an older client and was added before */
static int client_add(struct ib_device *ibdev)
{
	if (ibdev->ops.driver_id != SRNIC_DRIVER_ID)
		return -EOPNOTSUPP;
	cmpxchg(&to_srnic_dev(ibdev)->phase, SRNIC_DEV_ENABLING, SRNIC_DEV_UP);
	return 0;
}

/* Younger clients are removed first: rdma_cm and ib_uverbs, which wait, come after this one */
static void client_remove(struct ib_device *ibdev, void *data)
{
	srnic_device_leave(to_srnic_dev(ibdev));
}

static struct ib_client srnic_client = {
	.name = "srnic",
	.add = client_add,
	.remove = client_remove,
};

/**
 * srnic_client_init - follow devices as clients of the RDMA core come and go
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
 */
int srnic_client_init(void)
{
	return ib_register_client(&srnic_client);
}

/**
 * srnic_client_exit - at unload of the module: all devices leave
 * Context: process, may sleep.
 */
void srnic_client_exit(void)
{
	ib_unregister_client(&srnic_client);
}

/**
 * srnic_dealloc_driver - the end of a device
 * @ibdev: not registered any more; its clients and users are gone
 *
 * The core frees the memory some time afterwards. Context: may sleep.
 */
static void srnic_dealloc_driver(struct ib_device *ibdev)
{
	struct srnic_device *dev = to_srnic_dev(ibdev);

	srnic_device_leave(dev);
	srnic_cm_wait_device(dev);
	srnic_rdv_set_port(dev, 0);
	WARN_ON_ONCE(srnic_xa_has_entries(&dev->qps));
	WARN_ON_ONCE(srnic_xa_has_entries(&dev->stags));
	srnic_holders_exit(dev);
	srnic_ib_device_free(dev);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->stags);
	netdev_put(dev->netdev, &dev->netdev_ref);
	free_percpu(dev->counters);
	srnic_release_late(dev);
}

/* A UD QP cannot wait for a page that it receives into */
static void odp_caps(struct ib_device_attr *attr)
{
	attr->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	attr->odp_caps.general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	attr->odp_caps.per_transport_caps.rc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_WRITE |
		IB_ODP_SUPPORT_READ | IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV;
	if (!IS_ENABLED(CONFIG_SRNIC_IB))
		return;
	attr->odp_caps.per_transport_caps.rc_odp_caps |=
		IB_ODP_SUPPORT_FLUSH | IB_ODP_SUPPORT_ATOMIC_WRITE;
	attr->odp_caps.per_transport_caps.uc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV | IB_ODP_SUPPORT_WRITE;
	attr->odp_caps.per_transport_caps.ud_odp_caps = IB_ODP_SUPPORT_SEND;
}

/**
 * srnic_query_device - attributes of the device (RN-07 to RN-16)
 * @ibdev: the device
 * @attr: filled in
 * @udata: has neither request nor response; may be NULL
 *
 * Return: 0, or -EINVAL for a request that is not all 0.
 */
static int srnic_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	if (udata && udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;

	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = (u64)SRNIC_VERSION_MAJOR << 32 |
		       SRNIC_VERSION_MINOR << 16 | SRNIC_VERSION_PATCH;
	attr->sys_image_guid = ibdev->node_guid;
	attr->vendor_id = SRNIC_VENDOR_ID;
	attr->vendor_part_id = SRNIC_VENDOR_PART_ID;
	attr->hw_ver = SRNIC_HW_VER;
	attr->device_cap_flags = IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_SRQ_RESIZE | IB_DEVICE_RESIZE_MAX_WR |
				 IB_DEVICE_MEM_MGT_EXTENSIONS |
				 IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B;
	/* of QPs that ib/ connects */
	if (IS_ENABLED(CONFIG_SRNIC_IB))
		attr->device_cap_flags |= IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_ATOMIC_WRITE;
	attr->kernel_cap_flags = IBK_ALLOW_USER_UNREG | IBK_LOCAL_DMA_LKEY | IBK_SG_GAPS_REG;
	if (IS_ENABLED(CONFIG_INFINIBAND_ON_DEMAND_PAGING))
		odp_caps(attr);

	attr->max_mr_size = SRNIC_MAX_MR_SIZE;
	attr->page_size_cap = SRNIC_PAGE_SIZES;
	attr->max_qp = SRNIC_MAX_QP;
	attr->max_qp_wr = SRNIC_MAX_QP_WR;
	attr->max_send_sge = SRNIC_MAX_SGE;
	attr->max_recv_sge = SRNIC_MAX_SGE;
	attr->max_sge_rd = SRNIC_MAX_SGE;
	attr->max_srq = SRNIC_MAX_SRQ;
	attr->max_srq_wr = SRNIC_MAX_SRQ_WR;
	attr->max_srq_sge = SRNIC_MAX_SGE;
	attr->max_cq = SRNIC_MAX_CQ;
	attr->max_cqe = SRNIC_MAX_CQE;
	attr->max_mr = SRNIC_MAX_MR;
	attr->max_mw = SRNIC_MAX_MW;
	attr->max_fast_reg_page_list_len = SRNIC_MAX_FR_BLOCKS;
	attr->max_pd = SRNIC_MAX_PD;
	attr->max_ah = SRNIC_MAX_AH;
	attr->max_dm_size = SRNIC_MAX_DM;
	attr->max_qp_rd_atom = SRNIC_MAX_IRD;
	attr->max_qp_init_rd_atom = SRNIC_MAX_ORD;
	attr->max_res_rd_atom = SRNIC_MAX_QP * SRNIC_MAX_IRD;
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->max_pkeys = 1;
	/* of completions: ns, all of 64 bits */
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = NSEC_PER_SEC / 1000;	/* kHz */
	return 0;
}

/*
 * The slowest InfiniBand rate that is not slower than the interface. The core's
 * ib_get_eth_speed() is not used: it logs a line for each query of an interface
 * without a speed, and any user may query.
 */
static const struct {
	u32 mbps;
	u8 width;
	u16 speed;
} rates[] = {
	{ 2500, IB_WIDTH_1X, IB_SPEED_SDR },
	{ 5000, IB_WIDTH_1X, IB_SPEED_DDR },
	{ 10000, IB_WIDTH_1X, IB_SPEED_FDR10 },
	{ 20000, IB_WIDTH_4X, IB_SPEED_DDR },
	{ 25000, IB_WIDTH_1X, IB_SPEED_EDR },
	{ 40000, IB_WIDTH_4X, IB_SPEED_FDR10 },
	{ 50000, IB_WIDTH_1X, IB_SPEED_HDR },
	{ 100000, IB_WIDTH_4X, IB_SPEED_EDR },
	{ 200000, IB_WIDTH_4X, IB_SPEED_HDR },
	{ U32_MAX, IB_WIDTH_4X, IB_SPEED_NDR },
};

static void port_rate(struct net_device *netdev, struct ib_port_attr *attr)
{
	struct ethtool_link_ksettings link;
	u32 mbps = SPEED_1000;	/* if the speed is unknown; the core's default */
	int i = 0;

	rtnl_lock();
	if (netdev->reg_state == NETREG_REGISTERED &&
	    !__ethtool_get_link_ksettings(netdev, &link) &&
	    link.base.speed != (u32)SPEED_UNKNOWN)
		mbps = link.base.speed;
	rtnl_unlock();

	while (mbps > rates[i].mbps)
		i++;
	attr->active_width = rates[i].width;
	attr->active_speed = rates[i].speed;
}

/**
 * srnic_query_port - attributes of the port, from the interface's current ones
 * @ibdev: the device
 * @port: 1
 * @attr: filled in
 *
 * Context: may sleep, no RTNL.
 *
 * Return: 0.
 */
static int srnic_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr)
{
	struct net_device *netdev = to_srnic_dev(ibdev)->netdev;
	unsigned int max_mtu = READ_ONCE(netdev->max_mtu);

	memset(attr, 0, sizeof(*attr));
	if (srnic_netdev_active(netdev)) {
		attr->state = IB_PORT_ACTIVE;
		attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	} else {
		attr->state = IB_PORT_DOWN;
		attr->phys_state = netif_running(netdev) ?
			IB_PORT_PHYS_STATE_POLLING : IB_PORT_PHYS_STATE_DISABLED;
	}
	/* 0: the interface sets no limit */
	attr->max_mtu = !max_mtu || max_mtu > INT_MAX ?
			IB_MTU_4096 : ib_mtu_int_to_enum(max_mtu);
	attr->active_mtu = ib_mtu_int_to_enum(READ_ONCE(netdev->mtu));
	attr->max_msg_sz = SRNIC_MAX_MSG;
	attr->gid_tbl_len = SRNIC_MAX_GID;
	attr->pkey_tbl_len = 1;
	attr->port_cap_flags = IB_PORT_CM_SUP;
	port_rate(netdev, attr);
	return 0;
}

/**
 * srnic_get_port_immutable - attributes of the port that never change
 * @ibdev: the device
 * @port: 1
 * @immutable: filled in
 *
 * Return: 0.
 */
static int srnic_get_port_immutable(struct ib_device *ibdev, u32 port,
				    struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = SRNIC_MAX_GID;
	immutable->pkey_tbl_len = 1;
	if (ibdev->node_type == RDMA_NODE_RNIC)
		immutable->core_cap_flags = RDMA_CORE_PORT_IWARP;
	return 0;
}

/**
 * srnic_query_pkey - the P_Key of the port, for programs that read one
 * @ibdev: the device
 * @port: 1
 * @index: 0
 * @pkey: set to the default P_Key
 *
 * Return: 0, or -EINVAL for another index.
 */
static int srnic_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = SRNIC_PKEY;
	return 0;
}

/**
 * srnic_get_dev_fw_str - the module's version
 * @ibdev: the device
 * @str: IB_FW_VERSION_NAME_MAX octets, filled in
 */
static void srnic_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", SRNIC_VERSION_MAJOR,
		 SRNIC_VERSION_MINOR, SRNIC_VERSION_PATCH);
}

#ifdef SRNIC_HAVE_REPORT_PORT_EVENT
/* Empty: keeps the core from reporting port events, which netdev.c does, in more cases */
static void srnic_report_port_event(struct ib_device *ibdev, struct net_device *netdev,
				    unsigned long event)
{
}
#endif

/* Not static: unit tests call the operations */
const struct ib_device_ops srnic_device_ops = {
	.owner = THIS_MODULE,
	.driver_id = SRNIC_DRIVER_ID,
	.uverbs_abi_ver = SRNIC_ABI_VERSION,

	.alloc_hw_port_stats = srnic_alloc_hw_port_stats,
	.dealloc_driver = srnic_dealloc_driver,
	.device_group = &srnic_policy_group,
	.enable_driver = srnic_enable_driver,
	.fill_res_cq_entry = srnic_fill_res_cq_entry,
	.fill_res_mr_entry = srnic_fill_res_mr_entry,
	.fill_res_qp_entry = srnic_fill_res_qp_entry,
	.get_dev_fw_str = srnic_get_dev_fw_str,
	.get_hw_stats = srnic_get_hw_stats,
	.get_port_immutable = srnic_get_port_immutable,
	.port_groups = srnic_port_groups,
	.query_device = srnic_query_device,
	.query_gid = srnic_query_gid,
	.query_pkey = srnic_query_pkey,
	.query_port = srnic_query_port,
#ifdef SRNIC_HAVE_REPORT_PORT_EVENT
	.report_port_event = srnic_report_port_event,
#endif
};
