// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Module load and unload, and `rdma link add`. */

#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <rdma/rdma_netlink.h>
#include <rdma/srnic-abi.h>
#include "cm/cm.h"
#include "device/device.h"
#include "device/netdev.h"
#include "engine/kthreads.h"
#include "engine/linger.h"
#include "engine/takeover.h"
#include "ib/ib.h"
#include "srnic.h"

#define VERSION	__stringify(SRNIC_VERSION_MAJOR) "." \
		__stringify(SRNIC_VERSION_MINOR) "." \
		__stringify(SRNIC_VERSION_PATCH)

static int new_rnic(const char *name, struct net_device *netdev)
{
	return srnic_device_add(name, netdev, RDMA_NODE_RNIC);
}

static int new_plain(const char *name, struct net_device *netdev)
{
	return srnic_device_add(name, netdev, RDMA_NODE_UNSPECIFIED);
}

static struct rdma_link_ops srnic_link_ops = {
	.type = "srnic",
	.newlink = new_rnic,
};

static struct rdma_link_ops srnic_plain_link_ops = {
	.type = "srnic_plain",
	.newlink = new_plain,
};

static int __init srnic_init(void)
{
	int err;

	err = srnic_release_init();
	if (err)
		return err;
	err = srnic_linger_init();
	if (err)
		goto release_exit;
	err = srnic_kthreads_init();
	if (err)
		goto linger_exit;
	err = srnic_ud_init();
	if (err)
		goto kthreads_exit;
	err = srnic_cm_init();
	if (err)
		goto ud_exit;
	err = srnic_rdv_init();
	if (err)
		goto cm_exit;
	err = srnic_netdev_init();
	if (err)
		goto rdv_exit;
	/*
	 * ib_uverbs waits for calls when a device leaves, so it has to be the older client, see
	 * device.c. Not a soft dependency: modprobe -r would remove ib_uverbs, too, and fail.
	 */
	request_module("ib_uverbs");
	err = srnic_client_init();
	if (err)
		goto netdev_exit;
	/* nothing fails after this: a socket may have the protocol, and hold the module */
	err = srnic_takeover_register();
	if (err)
		goto client_exit;
	rdma_link_register(&srnic_link_ops);
	if (IS_ENABLED(CONFIG_SRNIC_IB))
		rdma_link_register(&srnic_plain_link_ops);
	return 0;
client_exit:
	srnic_client_exit();
netdev_exit:
	srnic_netdev_exit();
rdv_exit:
	srnic_rdv_exit();
cm_exit:
	srnic_cm_exit();
ud_exit:
	srnic_ud_exit();
kthreads_exit:
	srnic_kthreads_exit();
linger_exit:
	srnic_linger_exit();
release_exit:
	srnic_release_exit();
	return err;
}

/*
 * No new devices, no new connections, then no devices. The notifier is removed after
 * the devices: its removal reports the end of every interface to it.
 */
static void __exit srnic_exit(void)
{
	if (IS_ENABLED(CONFIG_SRNIC_IB))
		rdma_link_unregister(&srnic_plain_link_ops);
	rdma_link_unregister(&srnic_link_ops);
	srnic_client_exit();
	ib_unregister_driver(SRNIC_DRIVER_ID);
	srnic_takeover_unregister();
	srnic_netdev_exit();
	srnic_rdv_exit();
	srnic_cm_exit();
	srnic_ud_exit();
	srnic_kthreads_exit();
	srnic_linger_exit();
	srnic_release_exit();
	rcu_barrier();
}

module_init(srnic_init);
module_exit(srnic_exit);

MODULE_DESCRIPTION("Software RNIC: iWARP over TCP");
MODULE_AUTHOR("The srnic authors");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(VERSION);
MODULE_ALIAS_RDMA_LINK("srnic");
MODULE_ALIAS_RDMA_LINK("srnic_plain");
