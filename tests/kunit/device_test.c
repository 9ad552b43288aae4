// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* device.c: creating a device without enough memory. */
#include <kunit/test.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/srnic-abi.h>
#include "device/device.h"
#include "srnic.h"

#define NAME	"kunit%d"
/*
 * How many of the some thousand allocations fail: those of the RDMA core's clients come last, and
 * are left out. Uverbs loses memory if an allocation in its radix tree fails.
 */
#define MANY	200

static __maybe_unused struct ib_device *device_on(struct net_device *netdev)
{
	return ib_device_get_by_netdev(netdev, SRNIC_DRIVER_ID);
}

/*
 * RN-06: each of the first allocations of creating a device fails in turn. The RDMA core can do
 * without some of them. Any other failure is reported as ENOMEM and leaves nothing: no device is
 * found afterwards.
 */
static void no_memory(struct kunit *test)
{
#ifdef CONFIG_FAILSLAB
	struct net_device *netdev = dev_get_by_name(&init_net, "lo");
	unsigned int nth, failed = 0;
	struct ib_device *ibdev;
	int err;

	KUNIT_ASSERT_NOT_NULL(test, netdev);
	KUNIT_ASSERT_EQ(test, srnic_release_init(), 0);
	for (nth = 1; nth <= MANY; nth++) {
		current->fail_nth = nth;
		err = srnic_device_add(NAME, netdev, RDMA_NODE_RNIC);
		/* zero if an allocation has failed: scripts/kunit sets up fault injection */
		KUNIT_EXPECT_EQ_MSG(test, current->fail_nth, 0, "allocation %u", nth);
		current->fail_nth = 0;

		ibdev = device_on(netdev);
		if (err) {
			failed++;
			KUNIT_EXPECT_EQ_MSG(test, err, -ENOMEM, "allocation %u", nth);
			KUNIT_EXPECT_NULL_MSG(test, ibdev, "allocation %u", nth);
		} else {
			KUNIT_EXPECT_NOT_NULL_MSG(test, ibdev, "allocation %u", nth);
		}
		if (ibdev)
			ib_unregister_device_and_put(ibdev);
	}
	dev_put(netdev);
	srnic_release_exit();
	/* the device itself, its port, its name, ... */
	KUNIT_EXPECT_GT(test, failed, 10);
	kunit_info(test, "%u of %u allocations are needed\n", failed, MANY);
#else
	kunit_skip(test, "this kernel cannot make allocations fail");
#endif
}

static struct kunit_case device_cases[] = {
	KUNIT_CASE(no_memory),
	{}
};

static struct kunit_suite device_suite = {
	.name = "srnic-device",
	.test_cases = device_cases,
};

kunit_test_suite(device_suite);
