// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The memory of a device, which the RDMA core frees with the last reference to it.
 *
 * rdma_cm puts its reference to a device and then, in cma_release_dev(), puts the GID that
 * it holds. If that is the last reference to the GID, a work frees it, and that work reads
 * the device's table of GIDs. Between the two puts the task that waits for rdma_cm's
 * reference may preempt it, and free the device before the GID. So srnic keeps one more
 * reference, until each task that was in the kernel when the device ended has left it or
 * slept (RCU tasks), and the works that were queued by then have run.
 */

#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include "device/device.h"
#include "srnic.h"

/* Without preemption call_rcu_tasks() is call_rcu() */
#ifndef CONFIG_TASKS_RCU
#define rcu_barrier_tasks	rcu_barrier
#endif

static struct workqueue_struct *release_wq;

static void release_work(struct work_struct *work)
{
	struct srnic_device *dev = container_of(work, struct srnic_device, release_work);

	flush_workqueue(ib_wq);
	put_device(&dev->ibdev.dev);
}

static void release_rcu(struct rcu_head *head)
{
	struct srnic_device *dev = container_of(head, struct srnic_device, release_rcu);

	queue_work(release_wq, &dev->release_work);
}

/**
 * srnic_release_late - keep the memory of a device for a while
 * @dev: not registered any more
 *
 * Context: may sleep, but does not wait.
 */
void srnic_release_late(struct srnic_device *dev)
{
	get_device(&dev->ibdev.dev);
	INIT_WORK(&dev->release_work, release_work);
	call_rcu_tasks(&dev->release_rcu, release_rcu);
}

/**
 * srnic_release_init - at load of the module
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int srnic_release_init(void)
{
	release_wq = alloc_workqueue("srnic_release", WQ_UNBOUND, 0);
	return release_wq ? 0 : -ENOMEM;
}

/**
 * srnic_release_exit - at unload of the module
 *
 * Waits until the callbacks of srnic_release_late() have run, and the last references are put.
 * Context: process, may sleep.
 */
void srnic_release_exit(void)
{
	rcu_barrier_tasks();
	destroy_workqueue(release_wq);
}
